//! Access to chunks as they are stored.

use std::borrow::Cow;
use std::ops::ControlFlow;

use sciformats_core::{Error, Range, Result, Slab, bound};

use crate::api::dataset::Dataset;
use crate::chunk::index::{Bounds, Index, StoredChunk, chunk_bytes};
use crate::dataset::read::{Reader, Scratch};
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::layout::{Chunked, Layout};

impl Dataset {
    pub(super) fn chunked(&self) -> Result<&Chunked> {
        match self.layout()? {
            Layout::Chunked(chunked) => Ok(chunked),
            _ => Err(Error::usage("dataset", "does not store its elements in chunks")),
        }
    }

    /// Returns the stored chunks in the order of the chunk index. If a part of the index cannot be read, its item is
    /// the error.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("temperature").shape([2, 4]).chunks([2, 2]).write(&[281.5f32; 8])?;
    /// let temperature = File::from_bytes(file.into_bytes()?)?.dataset("temperature")?;
    /// let mut places = Vec::new();
    /// for chunk in temperature.chunks()? {
    ///     let chunk = chunk?;
    ///     places.push((chunk.scaled, chunk.size));
    /// }
    /// assert_eq!(places, [(vec![0, 0], 16), (vec![0, 1], 16)]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the dataset is not chunked, and `Malformed` if the messages that describe its
    /// storage are damaged.
    pub fn chunks(&self) -> Result<Vec<Result<StoredChunk>>> {
        let mut found = Vec::new();
        let layout = self.chunked()?;
        let shape = self.shape();
        if shape.is_empty() || shape.contains(&0) || shape.len() != layout.dimensions.len() {
            return Ok(found);
        }
        let last = shape.iter().zip(&layout.dimensions);
        let last = last.map(|(size, n)| bound::left(*size, 1) / (*n).max(1)).collect();
        let bounds = Bounds { first: vec![0; shape.len()], last };
        self.visit_chunks(&bounds, &mut |chunk| {
            found.push(chunk);
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    /// Calls `visit` with each stored chunk that has elements of `within`, in the order of the chunk index. Only the parts of the
    /// index that lead to them are read, and no list of them is made. Visiting ends when `visit` breaks.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// use hdf5_pure::{CreateOptions, File, Slab, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("temperature").shape([2, 4]).chunks([2, 2]).write(&[281.5f32; 8])?;
    /// let temperature = File::from_bytes(file.into_bytes()?)?.dataset("temperature")?;
    /// let mut places = Vec::new();
    /// temperature.for_each_chunk(&Slab::new(&[2, 4], [(0..1).into(), (3..4).into()])?, &mut |chunk| {
    ///     places.push(chunk.scaled);
    ///     Ok(ControlFlow::Continue(()))
    /// })?;
    /// assert_eq!(places, [[0, 1]]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`chunks`](Self::chunks) and of `visit`, `Malformed` if a part of the index is damaged, and
    /// [`Error::Usage`] if `within` was made for another shape.
    pub fn for_each_chunk(
        &self,
        within: &Slab,
        visit: &mut dyn FnMut(StoredChunk) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let layout = self.chunked()?;
        if within.of() != self.shape() {
            return Err(Error::usage("selection", "was made for another shape"));
        }
        if within.is_empty() || self.shape().is_empty() || self.shape().len() != layout.dimensions.len() {
            return Ok(());
        }
        let places = |at: fn(&Range) -> u64| -> Vec<u64> {
            let sides = within.ranges().iter().zip(&layout.dimensions);
            sides.map(|(range, side)| at(range).checked_div(*side).unwrap_or(0)).collect() // a bound: no side is 0
        };
        let last =
            |range: &Range| bound::sum(range.start, bound::product(bound::left(range.count, 1), range.step));
        let bounds = Bounds { first: places(|range| range.start), last: places(last) };
        let mut ended = Ok(());
        self.visit_chunks(&bounds, &mut |chunk| match chunk.and_then(&mut *visit) {
            Ok(way) => way,
            Err(error) => {
                ended = Err(error);
                ControlFlow::Break(())
            }
        })?;
        ended
    }

    /// Visits the stored chunks that lie within bounds.
    pub(super) fn visit_chunks(
        &self,
        bounds: &Bounds,
        visit: &mut dyn FnMut(Result<StoredChunk>) -> ControlFlow<()>,
    ) -> Result<()> {
        let layout = self.chunked()?;
        let Dataspace::Simple { dimensions, maximum } = &self.content.dataspace else { return Ok(()) };
        let filtered = !self.filters()?.filters.is_empty();
        let opened = self.file.opened();
        let index = Index { context: &opened.context, layout, dimensions, maximum, filtered };
        if opened.live.is_some() {
            // An index that is half written is read again before any of its chunks is passed on.
            if let Ok(all) = opened.attempts(|| index.collect(bounds, |chunk| chunk)) {
                let _ = all.into_iter().try_for_each(|chunk| visit(Ok(chunk)));
                return Ok(());
            }
        }
        index.visit(bounds, visit);
        Ok(())
    }

    /// Returns the bytes of a chunk as they are stored.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").chunks([2]).shuffle().write(&[1u16, 515])?;
    /// let counts = File::from_bytes(file.into_bytes()?)?.dataset("counts")?;
    /// for chunk in counts.chunks()? {
    ///     assert_eq!(*counts.chunk_raw(&chunk?)?, [1, 3, 0, 2]); // the low bytes, then the high ones
    /// }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if the chunk extends beyond the end of the file.
    pub fn chunk_raw(&self, chunk: &StoredChunk) -> Result<Cow<'_, [u8]>> {
        let opened = self.file.opened();
        self.within(opened.attempts(|| opened.context.read("chunk", chunk.address, chunk.size)))
    }

    /// Appends the bytes of several chunks as they are stored, one chunk after another. Chunks that are adjacent in the
    /// file are read together.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").chunks([2]).shuffle().write(&[1u16, 515, 2, 3])?;
    /// let counts = File::from_bytes(file.into_bytes()?)?.dataset("counts")?;
    /// let chunks = counts.chunks()?.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// let mut bytes = Vec::new();
    /// counts.chunks_raw(&chunks, &mut bytes)?;
    /// assert_eq!(bytes, [1, 3, 0, 2, 2, 3, 0, 0]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if one of the chunks extends beyond the end of the file, and `Io` if there is not enough
    /// memory for all of them.
    pub fn chunks_raw(&self, chunks: &[StoredChunk], out: &mut Vec<u8>) -> Result<()> {
        let context = &self.file.opened().context;
        context.announce(chunks.iter().map(|chunk| (chunk.address, chunk.size)))?;
        let mut rest = chunks;
        while let Some(first) = rest.first() {
            let (mut size, mut count) = (context.checked("chunk", first.address, first.size)?, 1);
            for chunk in rest.iter().skip(1) {
                let next = first.address.0.checked_add(size as u64);
                let len = context.checked("chunk", chunk.address, chunk.size)?;
                match size.checked_add(len).filter(|_| next == Some(chunk.address.0)) {
                    Some(sum) => (size, count) = (sum, count + 1),
                    None => break,
                }
            }
            let start = out.len();
            out.try_reserve(size)
                .map_err(|_| Error::io("allocate", std::io::ErrorKind::OutOfMemory.into()))?;
            out.resize(start + size, 0);
            context.read_into("chunk", first.address, out.get_mut(start..).unwrap_or_default())?;
            rest = rest.get(count..).unwrap_or_default();
        }
        Ok(())
    }

    /// Returns the bytes of the elements of a chunk after undoing its filters.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").chunks([2]).shuffle().write(&[1u16, 515])?;
    /// let counts = File::from_bytes(file.into_bytes()?)?.dataset("counts")?;
    /// for chunk in counts.chunks()? {
    ///     assert_eq!(counts.chunk_decoded(&chunk?)?, [1, 0, 3, 2]);
    /// }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`read_raw`](Self::read_raw), and [`Error::Usage`] if the dataset is not chunked.
    pub fn chunk_decoded(&self, chunk: &StoredChunk) -> Result<Vec<u8>> {
        let layout = self.chunked()?;
        let opened = self.file.opened();
        let bytes =
            opened.context.limits.memory("bytes of a chunk", chunk_bytes(layout).unwrap_or(u64::MAX))?; // a bound
        let reader = Reader::new(opened, &self.content, 1);
        let mut scratch = Scratch::default();
        let mut decode = || reader.chunk(layout, chunk, bytes, &mut scratch).map(<[u8]>::to_vec);
        let decoded = opened.attempts(&mut decode);
        self.within(decoded)
    }
}
