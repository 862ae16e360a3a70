//! The elements of an array as bytes: from its block, its part of the tree, or another file.

use std::borrow::Cow;

use sciformats_core::arith::{add, fit, mul};
use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::storage::zeroed;
use sciformats_core::{Error, Range, ReadAt, Result, Slab};

use super::{Array, Place};
use crate::codec::Compression;
use crate::model::ndarray::Source;
use crate::model::strided::{Dimension, Strided};
use crate::reader::{Asdf, Data};

impl Array<'_> {
    /// Reads all elements as packed little-endian bytes in C order. Bytes of `bool8` are as stored.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, NewArray};
    ///
    /// let mut document = Document::new();
    /// document.set_array("counts", NewArray::new(&[1u16, 300], &[2])?)?;
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(file.array("counts")?.read_bytes()?, [1, 0, 0x2c, 1]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`; `Malformed`, `Unsupported` or `LimitExceeded` if its block cannot be decoded.
    pub fn read_bytes(&self) -> Result<Vec<u8>> {
        self.read_slab_bytes(&Slab::all(&self.shape)?)
    }

    /// Reads the elements of a selection as packed little-endian bytes in C order. If the block is not compressed, only the
    /// necessary parts of it are read.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, NewArray, Range, Slab};
    ///
    /// # let mut document = Document::new();
    /// # document.set_array("counts", NewArray::new(&[1u16, 2, 300], &[3])?)?;
    /// # let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// let counts = file.array("counts")?;
    /// let last = Slab::new(counts.shape(), [Range::new(2, 1)])?;
    /// assert_eq!(counts.read_slab_bytes(&last)?, [0x2c, 1]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the selection is one of another shape; and those of [`read_bytes`](Self::read_bytes).
    pub fn read_slab_bytes(&self, slab: &Slab) -> Result<Vec<u8>> {
        let size = self.element_size()?;
        let bytes = slab
            .len()
            .checked_mul(size)
            .ok_or_else(|| Error::usage("selection", "has more than 2^64 bytes"))?;
        // If elements overlap or repeat, the selection can be larger than what is stored.
        let mut out = zeroed(self.file.options.limits.memory("bytes of the selection", bytes)?)?;
        self.read_slab_bytes_into(slab, &mut out)?;
        Ok(out)
    }

    /// Does the same as [`read_slab_bytes`](Self::read_slab_bytes), but writes to `out`, which must have the size of the
    /// selection.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, NewArray, Range, Slab};
    ///
    /// # let mut document = Document::new();
    /// # document.set_array("frames", NewArray::new(&[1u8, 2, 3, 4, 5, 6], &[3, 2])?)?;
    /// # let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// let frames = file.array("frames")?;
    /// let (mut frame, mut sums) = ([0; 2], Vec::new());
    /// for i in 0..3 {
    ///     frames.read_slab_bytes_into(&Slab::new(frames.shape(), [Range::new(i, 1), Range::all(2)])?, &mut frame)?;
    ///     sums.push(frame[0] + frame[1]);
    /// }
    /// assert_eq!(sums, [3, 7, 11]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if `out` has another size; and those of [`read_slab_bytes`](Self::read_slab_bytes).
    pub fn read_slab_bytes_into(&self, slab: &Slab, out: &mut [u8]) -> Result<()> {
        if slab.of() != self.shape {
            return Err(Error::usage("selection", "selects from another shape than that of the array"));
        }
        let size = self.element_size()?;
        if slab.len().checked_mul(size) != Some(out.len() as u64) {
            return Err(Error::usage("buffer", "does not have the size of the selection"));
        }
        self.gather(slab.ranges(), size, out).map_err(|error| self.file.within(self.node, error))?;
        if !matches!(self.place, Place::Inline) {
            self.description.datatype.swap_to_little(self.description.byteorder, out);
        }
        Ok(())
    }

    pub(super) fn element_size(&self) -> Result<u64> {
        let overflow = || Fault::new("datatype", FaultKind::Overflow).at("ndarray", self.description.at);
        self.description.datatype.size().ok_or_else(overflow)
    }

    fn gather(&self, ranges: &[Range], size: u64, out: &mut [u8]) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        let (mut start, mut dimensions) = (self.description.offset, Vec::with_capacity(ranges.len()));
        for (range, &stride) in ranges.iter().zip(&self.strides) {
            // The whole array is inside its block, so no position in it exceeds 64 bits.
            let factor = |by: u64| mul(fit(by, "index of a selection")?, stride);
            start = start.wrapping_add_signed(factor(range.start)?);
            // No index follows a single one, so its step has no effect.
            let stride = if range.count > 1 { factor(range.step)? } else { 0 };
            dimensions.push(Dimension { count: range.count, stride });
        }
        let strided = Strided { start, size, dimensions }.joined()?;
        let threads = self.file.options.thread_count();
        match (&self.place, &self.description.source) {
            (Place::Inline, Source::Inline(bytes)) => strided.read(bytes, out, threads),
            (Place::Inline, _) => Ok(()),
            (Place::Block(index), _) => read_block(self.file, *index, strided, out, threads),
            (Place::Other(other), _) => read_block(other, 0, strided, out, threads),
        }
    }

    /// Returns the decoded bytes that contain the array's elements, for a caller that gathers the elements itself.
    ///
    /// ```
    /// use asdf_core::{Asdf, Compression, Document, NewArray};
    ///
    /// let mut document = Document::new();
    /// document.set_array("counts", NewArray::new(&[7u8; 100], &[10, 10])?.with_compression(Compression::Zlib))?;
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(*file.array("counts")?.source_bytes()?, [7; 100]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read_bytes`](Self::read_bytes).
    pub fn source_bytes(&self) -> Result<Cow<'_, [u8]>> {
        let owned = |data| match data {
            Data::Stored(bytes) => bytes,
            Data::Decoded(bytes) => Cow::Owned(Vec::clone(&bytes)),
        };
        match (&self.place, &self.description.source) {
            (Place::Inline, Source::Inline(bytes)) => Ok(Cow::Borrowed(bytes)),
            (Place::Inline, _) => Ok(Cow::Borrowed(&[])),
            (Place::Block(index), _) => self.file.block_data(*index).map(owned),
            (Place::Other(other), _) => other.block_data(0).map(owned),
        }
    }
}

fn read_block(file: &Asdf, index: usize, mut strided: Strided, out: &mut [u8], threads: usize) -> Result<()> {
    let block = file.block(index)?;
    let entry = block.entry();
    if Compression::from_label(entry.header.compression.0) == Compression::None {
        strided.start = add(strided.start, entry.data_offset())?;
        return strided.read(&*file.storage, out, threads);
    }
    let data = file.block_data(index)?;
    strided.read(&&*data as &dyn ReadAt, out, threads)
}
