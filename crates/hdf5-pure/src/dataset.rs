//! Datasets: shape, type, and reads of all or some of their elements.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

use sciformats_core::storage::zeroed;
use sciformats_core::{Error, Result, Slab};

use crate::attribute::Attribute;
use crate::canonical::Canonical;
use crate::element::{Element, Values};
use crate::file::File;
use crate::model::chunks::{Bounds, Index, StoredChunk, chunk_bytes};
use crate::model::object::Object;
use crate::model::read::{self, Content, Reader, Storage};
use crate::model::virtual_layout;
use crate::spec::Address;
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::datatype::Datatype;
use crate::spec::message::fill_value::FillValue;
use crate::spec::message::filter_pipeline::Pipeline;
use crate::spec::message::layout::{Chunked, Layout};
use crate::spec::virtual_mapping::Mapping;

/// A dataset of an open file.
#[derive(Clone, Debug)]
pub struct Dataset {
    file: File,
    content: Arc<Content>,
}

impl Dataset {
    pub(crate) fn open(file: File, object: &Object<'_>) -> Result<Self> {
        let mut content = read::content(file.opened(), object)?;
        if let Ok(Storage { layout: Layout::Virtual(id), .. }) = content.storage {
            match virtual_layout::shape(file.opened(), &content, id) {
                Ok(shape) => {
                    if let Dataspace::Simple { dimensions, .. } = &mut content.dataspace {
                        *dimensions = shape;
                    }
                }
                // The shape is the stored one; what keeps the sources from being asked keeps the elements from being read.
                Err(error) => content.storage = Err(error),
            }
        }
        Ok(Self { file, content: Arc::new(content) })
    }

    /// Where its header is.
    pub fn address(&self) -> Address {
        self.content.address
    }

    /// The file that it is in.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Its shape and what it may grow to.
    pub fn dataspace(&self) -> &Dataspace {
        &self.content.dataspace
    }

    /// Lengths of the dimensions, the slowest-varying first; none for a null dataspace.
    pub fn shape(&self) -> Option<&[u64]> {
        self.content.dataspace.shape()
    }

    /// What its elements are.
    pub fn datatype(&self) -> &Datatype {
        &self.content.datatype
    }

    /// Where its elements are.
    ///
    /// # Errors
    /// `Malformed` if the messages about the storage are.
    pub fn layout(&self) -> Result<&Layout> {
        self.content.storage().map(|storage| &storage.layout)
    }

    /// The filters of its chunks.
    ///
    /// # Errors
    /// `Malformed` if the messages about the storage are.
    pub fn filters(&self) -> Result<&Pipeline> {
        self.content.storage().map(|storage| &storage.pipeline)
    }

    /// What elements that were never written read as.
    ///
    /// # Errors
    /// `Malformed` if the messages about the storage are.
    pub fn fill_value(&self) -> Result<&FillValue> {
        self.content.storage().map(|storage| &storage.fill)
    }

    /// Where the elements of a virtual dataset come from; nothing for others.
    ///
    /// # Errors
    /// `Malformed` if the mappings are.
    pub fn mappings(&self) -> Result<Vec<Mapping>> {
        match *self.layout()? {
            Layout::Virtual(id) => virtual_layout::mappings(self.file.opened(), id),
            _ => Ok(Vec::new()),
        }
    }

    /// Its attributes, as [`File::attributes_at`] has them.
    ///
    /// # Errors
    /// As [`File::attributes_at`].
    pub fn attributes(&self) -> Result<Vec<Attribute>> {
        self.file.attributes_at(self.address())
    }

    /// The attribute `name`.
    ///
    /// # Errors
    /// As [`File::attribute_at`].
    pub fn attribute(&self, name: &str) -> Result<Attribute> {
        self.file.attribute_at(self.address(), name)
    }

    /// The selection of everything.
    ///
    /// # Errors
    /// [`Error::Usage`] for a null dataspace, which has no elements.
    pub fn all(&self) -> Result<Slab> {
        Slab::all(self.shape().ok_or_else(|| Error::usage("dataset", "has a null dataspace"))?)
    }

    fn element_size(&self) -> u64 {
        self.content.datatype.size.into()
    }

    /// The bytes that the elements of `slab` take as they are stored.
    fn raw_size(&self, slab: &Slab) -> Result<usize> {
        if Some(slab.of()) != self.shape() {
            return Err(Error::usage("slab", "is of an array of another shape"));
        }
        let bytes = slab.len().saturating_mul(self.element_size());
        self.file.opened().context.limits.memory("bytes of the selection", bytes)
    }

    /// The selected elements as they are stored, in C order.
    ///
    /// # Errors
    /// `Malformed`, `Unsupported` (a filter), `LimitExceeded`, `Io`; [`Error::Usage`] if the slab is of another shape.
    pub fn read_raw(&self, slab: &Slab) -> Result<Vec<u8>> {
        let mut out = zeroed(self.raw_size(slab)?);
        self.read_raw_into(slab, &mut out)?;
        Ok(out)
    }

    /// As [`read_raw`](Self::read_raw), into a buffer of exactly the size of the selection.
    ///
    /// # Errors
    /// As [`read_raw`](Self::read_raw).
    pub fn read_raw_into(&self, slab: &Slab, out: &mut [u8]) -> Result<()> {
        if self.raw_size(slab)? != out.len() {
            return Err(Error::usage("out", "has not the size of the selection"));
        }
        let opened = self.file.opened();
        Reader { opened, content: &self.content, depth: 0, threads: opened.threads() }.read(slab, out)
    }

    /// The selected elements by meaning only, see [`canonical`](crate::canonical).
    ///
    /// # Errors
    /// As [`read_raw`](Self::read_raw), and what is wrong with what the elements lead to.
    pub fn read_canonical(&self, slab: &Slab) -> Result<Vec<u8>> {
        let raw = self.read_raw(slab)?;
        Canonical::new(&self.file, &self.content.datatype)?.convert(raw, self.data_offset())
    }

    /// An offset to blame faults of elements on.
    fn data_offset(&self) -> u64 {
        let context = &self.file.opened().context;
        match self.layout() {
            Ok(Layout::Contiguous { address: Some(at) }) => context.offset(*at),
            _ => context.offset(self.content.address),
        }
    }

    /// All elements in C order.
    ///
    /// ```no_run
    /// let file = hdf5_pure::File::open("weather.h5")?;
    /// let temperatures: Vec<f32> = file.dataset("/t")?.read()?;
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`read_raw`](Self::read_raw); [`Error::Usage`] if the elements do not convert to `T`.
    pub fn read<T: Element>(&self) -> Result<Vec<T>> {
        match self.shape() {
            None => Ok(Vec::new()),
            Some(shape) => self.read_slab(&Slab::all(shape)?),
        }
    }

    /// The selected elements in C order.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_slab<T: Element>(&self, slab: &Slab) -> Result<Vec<T>> {
        let len = self.raw_size(slab)?.checked_div(size_of::<T>()).unwrap_or(0);
        if let Some(read) = T::read_direct(self.datatype(), len, &mut |out| self.read_raw_into(slab, out)) {
            return read;
        }
        let raw = self.read_raw(slab)?;
        T::read(&Values::new(&self.file, &self.content.datatype, &raw, self.data_offset()))
    }

    /// One member of the selected elements, which are compounds; `name` may lead to members of members: `position.x`.
    ///
    /// ```no_run
    /// let file = hdf5_pure::File::open("particles.h5")?;
    /// let energies: Vec<f64> = file.dataset("/particles")?.read_field("energy")?;
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`read`](Self::read), and [`Error::NotFound`] if there is no such member.
    pub fn read_field<T: Element>(&self, name: &str) -> Result<Vec<T>> {
        match self.shape() {
            None => Ok(Vec::new()),
            Some(shape) => self.read_field_slab(name, &Slab::all(shape)?),
        }
    }

    /// As [`read_field`](Self::read_field), of the selected elements.
    ///
    /// # Errors
    /// As [`read_field`](Self::read_field).
    pub fn read_field_slab<T: Element>(&self, name: &str, slab: &Slab) -> Result<Vec<T>> {
        let (offset, member) = self.datatype().member(name)?;
        let size = usize::try_from(member.size).unwrap_or(usize::MAX);
        self.raw_size(slab)?;
        let count = usize::try_from(slab.len()).unwrap_or(usize::MAX);
        let gather = |out: &mut [u8]| self.gather(slab, (offset, size), out);
        if let Some(read) = T::read_direct(member, count, &mut |out| gather(out)) {
            return read;
        }
        let mut raw = zeroed(count.saturating_mul(size));
        gather(&mut raw)?;
        T::read(&Values::new(&self.file, member, &raw, self.data_offset()))
    }

    /// Fills `out` with the `size` bytes at `offset` of each selected element, reading a piece at a time.
    fn gather(&self, slab: &Slab, (offset, size): (usize, usize), out: &mut [u8]) -> Result<()> {
        /// Small enough to stay in a processor's cache between the two steps.
        const PIECE: u64 = 1 << 18;
        let step = usize::try_from(self.element_size()).unwrap_or(usize::MAX);
        if let Some(bytes) = self.bytes().filter(|_| slab.is_all()) {
            return pick(bytes, step, (offset, size), out).map(drop);
        }
        let mut rest = out;
        let mut raw = Vec::new();
        for piece in slab.pieces((PIECE / self.element_size().max(1)).max(1)) {
            raw.resize(self.raw_size(&piece)?, 0);
            self.read_raw_into(&piece, &mut raw)?;
            rest = pick(&raw, step, (offset, size), rest)?;
        }
        Ok(())
    }

    /// The bytes of all elements, where they are contiguous and in memory.
    fn bytes(&self) -> Option<&[u8]> {
        let storage = self.content.storage().ok()?;
        let Layout::Contiguous { address: Some(at) } = storage.layout else { return None };
        if storage.external.is_some() {
            return None;
        }
        let context = &self.file.opened().context;
        let start = usize::try_from(context.offset(at)).ok()?;
        let bytes = self.content.dataspace.elements()?.checked_mul(self.element_size())?;
        context.storage.as_slice()?.get(start..start.checked_add(usize::try_from(bytes).ok()?)?)
    }

    /// The dataset a piece after the other, each of at most `elements` elements (at least one), in C order: for arrays that
    /// are larger than memory.
    ///
    /// ```no_run
    /// let file = hdf5_pure::File::open("weather.h5")?;
    /// let mut sum = 0.0;
    /// for piece in file.dataset("/t")?.pieces::<f64>(1 << 20)? {
    ///     let (_slab, values) = piece?;
    ///     sum += values.iter().sum::<f64>();
    /// }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] for a null dataspace. What goes wrong with a piece is an item.
    pub fn pieces<T: Element>(
        &self,
        elements: u64,
    ) -> Result<impl Iterator<Item = Result<(Slab, Vec<T>)>> + use<'_, T>> {
        let pieces = self.all()?.pieces(elements);
        Ok(pieces.map(|slab| self.read_slab(&slab).map(|values| (slab, values))))
    }

    /// Single elements in the order given, each by as many coordinates as there are dimensions.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_points<T: Element>(&self, points: &[Vec<u64>]) -> Result<Vec<T>> {
        let shape = self.shape().unwrap_or_default();
        let size = usize::try_from(self.element_size()).unwrap_or(usize::MAX);
        let mut raw = zeroed(points.len().saturating_mul(size));
        for (point, out) in points.iter().zip(raw.chunks_exact_mut(size.max(1))) {
            let ranges: Vec<_> = point.iter().map(|&at| sciformats_core::Range::new(at, 1)).collect();
            self.read_raw_into(&Slab::new(shape, ranges)?, out)?;
        }
        T::read(&Values::new(&self.file, &self.content.datatype, &raw, self.data_offset()))
    }

    /// All elements without a copy: where they are contiguous, in memory, aligned, and stored as this machine has them.
    pub fn as_slice<T: Element + bytemuck::AnyBitPattern>(&self) -> Option<&[T]> {
        let bytes = self.bytes().filter(|_| T::is_stored_as(&self.content.datatype))?;
        bytemuck::try_cast_slice(bytes).ok()
    }

    fn chunked(&self) -> Result<&Chunked> {
        match self.layout()? {
            Layout::Chunked(chunked) => Ok(chunked),
            _ => Err(Error::usage("dataset", "is not stored in chunks")),
        }
    }

    /// The chunks that are stored, in the order of the index; parts of it that cannot be read are items that are errors.
    ///
    /// # Errors
    /// [`Error::Usage`] if the dataset has no chunks, `Malformed` if the messages about the storage are.
    pub fn chunks(&self) -> Result<Vec<Result<StoredChunk>>> {
        let mut found = Vec::new();
        let layout = self.chunked()?;
        let Dataspace::Simple { dimensions, maximum } = &self.content.dataspace else { return Ok(found) };
        if dimensions.contains(&0) || dimensions.len() != layout.dimensions.len() {
            return Ok(found);
        }
        let last = dimensions.iter().zip(&layout.dimensions);
        let last = last.map(|(size, n)| size.saturating_sub(1).checked_div(*n).unwrap_or(0)).collect();
        let bounds = Bounds { first: vec![0; dimensions.len()], last };
        let filtered = !self.filters()?.filters.is_empty();
        let context = &self.file.opened().context;
        Index { context, layout, dimensions, maximum, filtered }.visit(&bounds, &mut |chunk| {
            found.push(chunk);
            ControlFlow::Continue(())
        });
        Ok(found)
    }

    /// The bytes of a chunk as they are stored.
    ///
    /// # Errors
    /// `Malformed` if it is not in the file.
    pub fn chunk_raw(&self, chunk: &StoredChunk) -> Result<Cow<'_, [u8]>> {
        self.file.opened().context.read("chunk", chunk.address, chunk.size)
    }

    /// The elements of a chunk, its filters undone.
    ///
    /// # Errors
    /// As [`read_raw`](Self::read_raw); [`Error::Usage`] if the dataset has no chunks.
    pub fn chunk_decoded(&self, chunk: &StoredChunk) -> Result<Vec<u8>> {
        let layout = self.chunked()?;
        let opened = self.file.opened();
        let bytes =
            opened.context.limits.memory("bytes of a chunk", chunk_bytes(layout).unwrap_or(u64::MAX))?;
        let reader = Reader { opened, content: &self.content, depth: 0, threads: 1 };
        reader.chunk(layout, chunk, bytes).map(Cow::into_owned)
    }
}

/// Copies a part of each element; returns what of `out` is left.
fn pick<'o>(
    elements: &[u8],
    step: usize,
    (offset, size): (usize, usize),
    out: &'o mut [u8],
) -> Result<&'o mut [u8]> {
    let count = elements.len().checked_div(step).unwrap_or(0);
    let room = count.saturating_mul(size);
    let Some((into, rest)) = out.split_at_mut_checked(room) else {
        return Err(Error::usage("out", "has not the size of the selection"));
    };
    // A size that is known compiles to a move.
    match size {
        1 => parts::<1>(elements, step, offset, into),
        2 => parts::<2>(elements, step, offset, into),
        4 => parts::<4>(elements, step, offset, into),
        8 => parts::<8>(elements, step, offset, into),
        _ => {
            for (element, out) in elements.chunks_exact(step).zip(into.chunks_exact_mut(size.max(1))) {
                if let Some(part) = element.get(offset..offset.saturating_add(size)) {
                    out.copy_from_slice(part);
                }
            }
        }
    }
    Ok(rest)
}

fn parts<const N: usize>(elements: &[u8], step: usize, offset: usize, out: &mut [u8]) {
    let (out, _) = out.as_chunks_mut::<N>();
    for (element, out) in elements.chunks_exact(step).zip(out) {
        if let Some(part) = element.get(offset..).and_then(<[u8]>::first_chunk::<N>) {
            *out = *part;
        }
    }
}
