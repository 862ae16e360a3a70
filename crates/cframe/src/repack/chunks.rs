//! Dividing items into chunks of another size.

use sciformats_core::arith::{add, div, fit, mul, present, sub};
use sciformats_core::storage::zeroed;
use sciformats_core::{Error, Result, bound};

use super::job::Job;
use crate::model::frame::StoredChunk;
use crate::model::params::Params;
use crate::spec::chunk_header::MAX_NBYTES;

/// The number of bytes that are read at once if chunks are smaller, so that a block of the old chunks is used for many new ones.
const GROUP: u64 = 16 << 20;

impl Job<'_> {
    /// Writes the items in chunks of `bytes` bytes.
    pub(super) fn cut(&self, bytes: u32) -> Result<()> {
        for index in 0..self.from.chunks() {
            if matches!(self.from.stored(index)?, StoredChunk::Bytes { header, .. } if header.has_vl_blocks())
            {
                return Err(Error::unsupported("other chunks for blocks that vary in length"));
            }
        }
        let (size, nbytes) = (self.from.typesize(), self.from.nbytes());
        let bytes = bound::product(div(bytes, size.max(1))?.max(1), size).min(MAX_NBYTES);
        // If the number of bytes does not fit 32 bits, the size of the chunks is smaller.
        let bytes = u32::try_from(nbytes).map_or(bytes, |nbytes| nbytes.min(bytes)).max(1);
        let limits = self.from.limits();
        let count = nbytes.div_ceil(bytes.into());
        limits.items("chunks", count)?;
        limits.memory("bytes of a chunk", bytes.into())?;
        let params = self.params()?;
        let params = if params.blocksize > bytes { Params { blocksize: 0, ..params } } else { params };
        let mut out = self.begin(self.cut_header(&params, (bytes, nbytes)), count)?;
        let together = div(GROUP, bytes.into())?.max(1);
        let mut data = Vec::new();
        let mut first = 0;
        while first < count {
            self.go_on()?;
            let end = bound::sum(first, together).min(count);
            let start = mul(first, bytes.into())?;
            let len = sub(bound::product(end, bytes.into()).min(nbytes), start)?;
            let mut read = false;
            for index in first..end {
                let at = mul(index, bytes.into())?;
                let stop = bound::sum(at, bytes.into()).min(nbytes);
                let chunks = self.from.chunk_at(at)?..=self.from.chunk_at(sub(stop, 1)?)?;
                let len_here: u32 = fit(sub(stop, at)?, "bytes of a chunk")?;
                if let Some(kind) = self.uniform(chunks)?.filter(|_| len_here.is_multiple_of(size)) {
                    self.alike(&mut out, index, &kind, len_here)?;
                    continue;
                }
                if !read {
                    let len = limits.memory("bytes of the chunks", len)?;
                    if data.len() != len {
                        data = zeroed(len)?;
                    }
                    self.from.read_bytes(start, &mut data)?;
                    read = true;
                }
                let skip: usize = fit(sub(at, start)?, "place in the bytes")?;
                let until = add(skip, fit(len_here, "bytes of a chunk")?)?;
                let items = present(data.get(skip..until), "items of a chunk")?;
                self.compressed(&mut out, index, items, (&params, self.from.context()))?;
            }
            first = end;
        }
        out.finish()
    }
}
