//! Items in chunks of another size.

use sciformats_core::storage::zeroed;
use sciformats_core::{Error, Result};

use super::job::Job;
use crate::model::frame::StoredChunk;
use crate::model::params::Params;
use crate::spec::chunk_header::MAX_NBYTES;

/// Bytes that are read at once, as long as chunks are smaller: a block of the old chunks serves many new ones.
const GROUP: u64 = 16 << 20;

impl Job<'_> {
    /// The items in chunks of `bytes` bytes.
    pub(super) fn cut(&self, bytes: u32) -> Result<()> {
        for index in 0..self.from.chunks() {
            if matches!(self.from.stored(index)?, StoredChunk::Bytes { header, .. } if header.has_vl_blocks())
            {
                return Err(Error::unsupported("other chunks for blocks that vary in length"));
            }
        }
        let (size, nbytes) = (self.from.typesize(), self.from.nbytes());
        let bytes = bytes.checked_div(size).unwrap_or(0).max(1).saturating_mul(size).min(MAX_NBYTES);
        let bytes = u32::try_from(nbytes).unwrap_or(u32::MAX).min(bytes).max(1);
        let limits = self.from.limits();
        let count = nbytes.div_ceil(bytes.into());
        limits.items("chunks", count)?;
        limits.memory("bytes of a chunk", bytes.into())?;
        let params = self.params()?;
        let params = if params.blocksize > bytes { Params { blocksize: 0, ..params } } else { params };
        let mut out = self.begin(self.cut_header(&params, (bytes, nbytes)), count)?;
        let together = GROUP.checked_div(bytes.into()).unwrap_or(1).max(1);
        let mut data = Vec::new();
        let mut first = 0;
        while first < count {
            self.go_on()?;
            let end = first.saturating_add(together).min(count);
            let start = first.saturating_mul(bytes.into());
            let len = end.saturating_mul(bytes.into()).min(nbytes).saturating_sub(start);
            let mut read = false;
            for index in first..end {
                let at = index.saturating_mul(bytes.into());
                let stop = at.saturating_add(bytes.into()).min(nbytes);
                let chunks = self.from.chunk_at(at)?..=self.from.chunk_at(stop.saturating_sub(1))?;
                let len_here = u32::try_from(stop.saturating_sub(at)).unwrap_or(bytes);
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
                let skip = usize::try_from(at.saturating_sub(start)).unwrap_or(usize::MAX);
                let until = skip.saturating_add(usize::try_from(len_here).unwrap_or(usize::MAX));
                let items = data.get(skip..until).unwrap_or_default();
                self.compressed(&mut out, index, items, (&params, self.from.context()))?;
            }
            first = end;
        }
        out.finish()
    }
}
