//! Datasets that are written: their elements go to the file as they come, chunks as soon as they are complete.

use std::collections::BTreeMap;

use sciformats_core::{Error, Result, Slab};

use super::bound::Bound;
use super::chunk_index::{Chunks, Stored};
use super::extensible_array::MAX_ELEMENTS;
use super::output::{Output, SIZES};
use super::pipeline;
use super::tree::ObjectId;
use crate::model::chunks::arrays::Numbering;
use crate::model::copy::{Rectangle, copy, fill};
use crate::model::filters::Registry;
use crate::spec::Address;
use crate::spec::global_heap::GlobalId;
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::datatype::Datatype;
use crate::spec::message::external_files::ExternalFiles;
use crate::spec::message::fill_value::{Fill, FillValue};
use crate::spec::message::filter_pipeline::Pipeline;
use crate::spec::message::layout::{self, IndexKind, Layout};

/// A dataset that is written.
pub(crate) struct Dataset {
    pub(crate) datatype: Datatype,
    /// The committed datatype that is its own.
    pub(crate) committed: Option<ObjectId>,
    pub(crate) dataspace: Dataspace,
    pub(crate) fill: FillValue,
    pub(crate) pipeline: Pipeline,
    pub(crate) data: Data,
}

/// Where the elements are.
pub(crate) enum Data {
    /// In the header.
    Compact(Vec<u8>),
    /// One after another.
    Contiguous(Option<Address>),
    /// In chunks.
    Chunked(Chunked),
    /// In other files, as they are.
    External(ExternalFiles),
    /// In other datasets.
    Virtual(GlobalId),
}

/// The chunks of a dataset.
pub(crate) struct Chunked {
    /// Elements along each dimension.
    pub(crate) dimensions: Vec<u64>,
    /// The index that was asked for.
    pub(crate) index: Option<IndexKind>,
    /// Chunks beyond 4 GiB.
    pub(crate) wide: bool,
    /// What is stored, by chunk coordinates.
    pub(crate) stored: BTreeMap<Box<[u64]>, Stored>,
    /// Chunks that are not complete yet.
    pub(crate) open: BTreeMap<Box<[u64]>, Open>,
    /// The place of all chunks, if it was allocated at once.
    pub(crate) implicit: Option<Address>,
}

/// A chunk in memory, and how many elements were put into it.
pub(crate) struct Open {
    bytes: Vec<u8>,
    elements: u64,
}

/// Chunks that are not complete may take this many bytes before they are stored as they are.
const OPEN_BYTES: u64 = 32 << 20;
/// Chunks that are complete are encoded together, up to this many bytes.
const BATCH_BYTES: u64 = 16 << 20;

impl Dataset {
    fn element_size(&self) -> u64 {
        self.datatype.size.into()
    }

    pub(crate) fn shape(&self) -> &[u64] {
        self.dataspace.shape().unwrap_or_default()
    }

    /// The largest size of each dimension.
    fn maximum(&self) -> Vec<Option<u64>> {
        match &self.dataspace {
            Dataspace::Simple { maximum, .. } => maximum.clone(),
            _ => Vec::new(),
        }
    }

    /// Bytes of all elements.
    pub(crate) fn bytes(&self) -> Result<u64> {
        let elements = self.dataspace.elements();
        elements.and_then(|n| n.checked_mul(self.element_size())).ok_or_else(too_large)
    }

    /// The fill value's bytes, if it is not zeros.
    fn fill_bytes(&self) -> Option<&[u8]> {
        match &self.fill.value {
            Fill::Value(bytes) => Some(bytes),
            Fill::Default | Fill::Undefined => None,
        }
    }

    /// Sets the size of each dimension.
    pub(crate) fn resize(&mut self, shape: &[u64]) -> Result<()> {
        let chunked = matches!(self.data, Data::Chunked(_));
        let Dataspace::Simple { dimensions, maximum } = &mut self.dataspace else {
            return Err(Error::usage("shape", "of a scalar does not change"));
        };
        let fits = |(n, max): (&u64, &Option<u64>)| max.is_none_or(|max| *n <= max);
        if shape.len() != dimensions.len() || !shape.iter().zip(maximum.iter()).all(fits) {
            return Err(Error::usage("shape", "passes the maximum of the dataset"));
        }
        if shape.iter().zip(dimensions.iter()).any(|(new, old)| new < old) {
            return Err(Error::unsupported("shrinking a dataset while its file is written"));
        }
        if !chunked && shape != &dimensions[..] {
            return Err(Error::usage("shape", "changes only where elements are stored in chunks"));
        }
        sciformats_core::slab::elements(shape).ok_or_else(too_large)?;
        dimensions.copy_from_slice(shape);
        Ok(())
    }

    /// Writes the elements of `slab`, whose packed bytes are `bytes`.
    pub(crate) fn write(
        &mut self,
        output: &mut Output,
        registry: &Registry,
        slab: &Slab,
        bytes: &[u8],
    ) -> Result<()> {
        let expected = slab.len().checked_mul(self.element_size()).ok_or_else(too_large)?;
        if bytes.len() as u64 != expected {
            let problem = format!("have {} bytes, the selection {expected}", bytes.len());
            return Err(Error::usage("values", problem));
        }
        if slab.of() != self.shape() {
            return Err(Error::usage("selection", "is that of another shape"));
        }
        if slab.is_empty() {
            return Ok(());
        }
        let (size, total) = (self.element_size(), self.bytes()?);
        let shape = self.shape().to_vec();
        let maximum = self.maximum();
        let fill_value = self.fill_bytes().map(<[u8]>::to_vec);
        match &mut self.data {
            Data::Compact(data) => runs(slab, size, |at, part| {
                let start = usize::try_from(at).unwrap_or(usize::MAX);
                let from = bytes.get(part).unwrap_or_default();
                if let Some(to) = data.get_mut(start..start.saturating_add(from.len())) {
                    to.copy_from_slice(from);
                }
                Ok(())
            }),
            Data::Contiguous(place) => {
                let address = match place {
                    Some(address) => *address,
                    None => allocate(output, total, fill_value.as_deref().filter(|_| !slab.is_all()))?,
                };
                *place = Some(address);
                runs(slab, size, |at, part| {
                    let at = Address(address.0.saturating_add(at));
                    output.write_part(at, bytes.get(part).unwrap_or_default())
                })
            }
            Data::Chunked(chunked) => {
                let pipeline = &self.pipeline;
                let fill_value = fill_value.as_deref();
                let info = Info { pipeline, registry, size, shape: &shape, maximum: &maximum, fill_value };
                chunked.write(output, &info, slab, bytes)
            }
            Data::External(_) | Data::Virtual(_) => {
                Err(Error::usage("dataset", "has its elements in other files or datasets"))
            }
        }
    }

    /// Puts the fill value into elements that are kept in the header.
    pub(crate) fn fill_compact(&mut self) {
        let value = self.fill_bytes().map(<[u8]>::to_vec);
        if let Data::Compact(data) = &mut self.data {
            fill(data, value.as_deref());
        }
    }

    /// Takes the space of all chunks at once.
    pub(crate) fn allocate_chunks(&mut self, output: &mut Output) -> Result<()> {
        let size = self.element_size();
        let maximum: Vec<u64> =
            self.maximum().into_iter().zip(self.shape()).map(|(max, &n)| max.unwrap_or(n)).collect();
        let value = self.fill_bytes().map(<[u8]>::to_vec);
        match &mut self.data {
            Data::Chunked(chunked) => chunked.allocate_all(output, size, &maximum, value.as_deref()),
            _ => Ok(()),
        }
    }

    /// Stores what is in memory, writes the index, and says where the elements are.
    pub(crate) fn close(&mut self, output: &mut Output, registry: &Registry, bound: Bound) -> Result<Layout> {
        let (size, total) = (self.element_size(), self.bytes()?);
        let (shape, maximum) = (self.shape().to_vec(), self.maximum());
        let fill_value = self.fill_bytes().map(<[u8]>::to_vec);
        Ok(match &mut self.data {
            Data::Compact(data) => Layout::Compact(data.clone()),
            Data::Contiguous(place) => {
                const EARLY: u8 = 1;
                if place.is_none() && self.fill.allocation_time == EARLY && total > 0 {
                    *place = Some(allocate(output, total, fill_value.as_deref())?);
                }
                Layout::Contiguous { address: *place }
            }
            Data::Chunked(chunked) => {
                let fill_value = fill_value.as_deref();
                let info = Info {
                    pipeline: &self.pipeline,
                    registry,
                    size,
                    shape: &shape,
                    maximum: &maximum,
                    fill_value,
                };
                chunked.flush(output, &info)?;
                Layout::Chunked(chunked.close(output, &info, bound)?)
            }
            Data::External(_) => Layout::Contiguous { address: None },
            Data::Virtual(id) => Layout::Virtual(Some(*id)),
        })
    }
}

/// Takes space for all elements and fills it where there is a value.
fn allocate(output: &mut Output, total: u64, fill_value: Option<&[u8]>) -> Result<Address> {
    let address = output.allocate(total)?;
    let Some(value) = fill_value.filter(|value| !value.is_empty()) else { return Ok(address) };
    let piece = value.repeat((64usize << 10).checked_div(value.len()).unwrap_or(0).max(1));
    let mut at = 0;
    while at < total {
        let len = usize::try_from(total.saturating_sub(at)).unwrap_or(usize::MAX).min(piece.len());
        output.write_part(Address(address.0.saturating_add(at)), piece.get(..len).unwrap_or_default())?;
        at = at.saturating_add(len as u64);
    }
    Ok(address)
}

/// Calls `write` with the byte offset of each run of adjacent elements and its bytes' range among the packed ones.
fn runs(
    slab: &Slab,
    size: u64,
    mut write: impl FnMut(u64, std::ops::Range<usize>) -> Result<()>,
) -> Result<()> {
    let wide = |n: u64| usize::try_from(n).map_err(|_| too_large());
    for run in slab.runs() {
        let (pieces, len) = if run.step == 1 { (1, run.len) } else { (run.len, 1) };
        for piece in 0..pieces {
            let element = run.from.saturating_add(piece.saturating_mul(run.step));
            let start = wide(run.to.saturating_add(piece).saturating_mul(size))?;
            let end = start.saturating_add(wide(len.saturating_mul(size))?);
            write(element.saturating_mul(size), start..end)?;
        }
    }
    Ok(())
}

fn too_large() -> Error {
    Error::usage("shape", "has more bytes than a file holds")
}

/// What writing chunks needs to know of the dataset.
struct Info<'a> {
    pipeline: &'a Pipeline,
    registry: &'a Registry,
    size: u64,
    shape: &'a [u64],
    maximum: &'a [Option<u64>],
    fill_value: Option<&'a [u8]>,
}

/// The indices of a range that lie in one chunk.
#[derive(Clone, Copy)]
struct Part {
    chunk: u64,
    /// First index of the range, and how many.
    first: u64,
    count: u64,
    /// The first index in the chunk.
    within: u64,
}

/// What goes to one chunk.
struct Task {
    scaled: Box<[u64]>,
    from: Rectangle,
    to: Rectangle,
    counts: Vec<u64>,
}

/// A chunk that is encoded.
struct Encoded {
    scaled: Box<[u64]>,
    bytes: Vec<u8>,
    mask: u32,
}

impl Chunked {
    /// Bytes of a chunk.
    fn chunk_bytes(&self, info: &Info<'_>) -> Result<usize> {
        let bytes = self.dimensions.iter().try_fold(info.size, |product, &n| product.checked_mul(n));
        bytes.and_then(|bytes| usize::try_from(bytes).ok()).ok_or_else(too_large)
    }

    /// Elements of a chunk that lie inside the largest extent.
    fn complete(&self, info: &Info<'_>, scaled: &[u64]) -> u64 {
        let lengths = scaled.iter().zip(self.dimensions.iter().zip(info.maximum));
        lengths.fold(1, |product: u64, (&at, (&n, max))| {
            let left = max.map_or(n, |max| max.saturating_sub(at.saturating_mul(n)));
            product.saturating_mul(left.min(n))
        })
    }

    fn write(&mut self, output: &mut Output, info: &Info<'_>, slab: &Slab, bytes: &[u8]) -> Result<()> {
        let chunk_bytes = self.chunk_bytes(info)?;
        let parts: Vec<Vec<Part>> =
            slab.ranges().iter().zip(&self.dimensions).map(|(range, &chunk)| parts(*range, chunk)).collect();
        let batch = BATCH_BYTES.checked_div(chunk_bytes as u64).unwrap_or(1).max(1);
        let mut tasks = Vec::new();
        let mut position = vec![0usize; parts.len()];
        loop {
            let task = self.task(slab, &parts, &position);
            let elements = task.counts.iter().fold(1u64, |product, &n| product.saturating_mul(n));
            let untouched = !self.open.contains_key(&task.scaled);
            if untouched && elements >= self.complete(info, &task.scaled) {
                tasks.push(task);
                if tasks.len() as u64 >= batch {
                    self.store_whole(output, info, std::mem::take(&mut tasks), bytes)?;
                }
            } else {
                self.put(output, info, &task, bytes, elements)?;
            }
            if !advance(&mut position, &parts) {
                break;
            }
        }
        self.store_whole(output, info, tasks, bytes)?;
        let open = (self.open.len() as u64).saturating_mul(chunk_bytes as u64);
        if open > OPEN_BYTES { self.flush(output, info) } else { Ok(()) }
    }

    fn task(&self, slab: &Slab, parts: &[Vec<Part>], position: &[usize]) -> Task {
        let none = Part { chunk: 0, first: 0, count: 0, within: 0 };
        let part: Vec<Part> =
            parts.iter().zip(position).map(|(parts, &at)| parts.get(at).copied().unwrap_or(none)).collect();
        let of = |value: fn(&Part) -> u64| -> Vec<u64> { part.iter().map(value).collect() };
        Task {
            scaled: of(|part| part.chunk).into(),
            from: Rectangle { shape: slab.shape(), start: of(|part| part.first), step: vec![1; part.len()] },
            to: Rectangle {
                shape: self.dimensions.clone(),
                start: of(|part| part.within),
                step: slab.ranges().iter().map(|range| range.step).collect(),
            },
            counts: of(|part| part.count),
        }
    }

    /// Encodes and stores chunks whose every element is among `bytes`.
    fn store_whole(
        &mut self,
        output: &mut Output,
        info: &Info<'_>,
        tasks: Vec<Task>,
        bytes: &[u8],
    ) -> Result<()> {
        let len = self.chunk_bytes(info)?;
        let encode = |task: Task| -> Result<Encoded> {
            let mut chunk = vec![0; len];
            let whole = task.counts == task.to.shape;
            if !whole {
                fill(&mut chunk, info.fill_value);
            }
            scatter(info, &task, bytes, &mut chunk)?;
            let (bytes, mask) = pipeline::encode(info.pipeline, info.registry, chunk)?;
            Ok(Encoded { scaled: task.scaled, bytes, mask })
        };
        pipeline::each(tasks, encode, |encoded| self.store(output, encoded))
    }

    /// Puts elements into a chunk that stays in memory until it is complete.
    fn put(
        &mut self,
        output: &mut Output,
        info: &Info<'_>,
        task: &Task,
        bytes: &[u8],
        elements: u64,
    ) -> Result<()> {
        if !self.open.contains_key(&task.scaled) {
            let chunk = self.load(output, info, &task.scaled)?;
            self.open.insert(task.scaled.clone(), Open { bytes: chunk, elements: 0 });
        }
        let complete = self.complete(info, &task.scaled);
        let Some(open) = self.open.get_mut(&task.scaled) else { return Ok(()) };
        scatter(info, task, bytes, &mut open.bytes)?;
        open.elements = open.elements.saturating_add(elements);
        if open.elements < complete {
            return Ok(());
        }
        match self.open.remove(&task.scaled) {
            Some(open) => {
                let (bytes, mask) = pipeline::encode(info.pipeline, info.registry, open.bytes)?;
                self.store(output, Encoded { scaled: task.scaled.clone(), bytes, mask })
            }
            None => Ok(()),
        }
    }

    /// The elements of a chunk as they are so far.
    fn load(&self, output: &mut Output, info: &Info<'_>, scaled: &[u64]) -> Result<Vec<u8>> {
        let len = self.chunk_bytes(info)?;
        if let Some(stored) = self.stored.get(scaled) {
            let size = usize::try_from(stored.size).map_err(|_| too_large())?;
            let bytes = output.read(stored.address, size)?;
            let at = output.base().saturating_add(stored.address.0);
            let decoded = info.registry.decode(info.pipeline, stored.mask, bytes.into(), len, at)?;
            return Ok(decoded.into_owned());
        }
        let mut chunk = vec![0; len];
        fill(&mut chunk, info.fill_value);
        Ok(chunk)
    }

    fn store(&mut self, output: &mut Output, encoded: Encoded) -> Result<()> {
        let Encoded { scaled, bytes, mask } = encoded;
        let size = bytes.len() as u64;
        let address = match (self.stored.get(&scaled), self.implicit) {
            (Some(stored), _) if stored.size >= size => {
                output.write_part(stored.address, &bytes)?;
                stored.address
            }
            _ => output.put(&bytes)?,
        };
        self.stored.insert(scaled, Stored { address, size, mask });
        Ok(())
    }

    /// Stores the chunks that are in memory.
    fn flush(&mut self, output: &mut Output, info: &Info<'_>) -> Result<()> {
        let open: Vec<_> = std::mem::take(&mut self.open).into_iter().collect();
        let encode = |(scaled, open): (Box<[u64]>, Open)| -> Result<Encoded> {
            let (bytes, mask) = pipeline::encode(info.pipeline, info.registry, open.bytes)?;
            Ok(Encoded { scaled, bytes, mask })
        };
        pipeline::each(open, encode, |encoded| self.store(output, encoded))
    }

    /// Takes the place of all chunks at once, in the order of their numbers.
    pub(crate) fn allocate_all(
        &mut self,
        output: &mut Output,
        size: u64,
        maximum: &[u64],
        fill_value: Option<&[u8]>,
    ) -> Result<()> {
        let counts: Vec<u64> = maximum
            .iter()
            .zip(&self.dimensions)
            .map(|(max, chunk)| max.div_ceil((*chunk).max(1)).max(1))
            .collect();
        let chunk = self
            .dimensions
            .iter()
            .try_fold(size, |product, &n| product.checked_mul(n))
            .ok_or_else(too_large)?;
        let total =
            counts.iter().try_fold(1u64, |product, &n| product.checked_mul(n)).ok_or_else(too_large)?;
        let bytes = total.checked_mul(chunk).ok_or_else(too_large)?;
        let address = allocate(output, bytes, fill_value)?;
        self.implicit = Some(address);
        let numbering = Numbering::new(&counts, None);
        for number in 0..total {
            let address = Address(address.0.saturating_add(number.saturating_mul(chunk)));
            self.stored.insert(numbering.scaled(number).into(), Stored { address, size: chunk, mask: 0 });
        }
        Ok(())
    }

    fn close(&mut self, output: &mut Output, info: &Info<'_>, bound: Bound) -> Result<layout::Chunked> {
        let largest = info.maximum.iter().zip(info.shape).map(|(max, &n)| max.unwrap_or(n));
        let counts: Vec<u64> =
            largest.zip(&self.dimensions).map(|(n, chunk)| n.div_ceil((*chunk).max(1)).max(1)).collect();
        let filtered = !info.pipeline.filters.is_empty();
        let index = self.index_kind(info, bound, &counts);
        let size_width = match (filtered, self.wide) {
            (false, _) => 0,
            (true, true) => SIZES.lengths.into(),
            (true, false) => size_width(self.chunk_bytes(info)? as u64),
        };
        let chunks = Chunks {
            stored: self.stored.iter().map(|(scaled, &stored)| (&scaled[..], stored)).collect(),
            dimensions: &self.dimensions,
            counts,
            unlimited: info.maximum.iter().position(Option::is_none),
            filtered,
            size_width,
        };
        let address = chunks.build(output, index)?;
        let index = match index {
            IndexKind::Single(_) if filtered => {
                let first = self.stored.values().next();
                IndexKind::Single(Some(first.map_or((0, 0), |stored| (stored.size, stored.mask))))
            }
            other => other,
        };
        Ok(layout::Chunked {
            dimensions: self.dimensions.clone(),
            element_size: info.size,
            unfiltered_edges: false,
            wide_sizes: self.wide,
            index,
            address,
        })
    }

    fn index_kind(&self, info: &Info<'_>, bound: Bound, counts: &[u64]) -> IndexKind {
        if bound < Bound::V110 {
            return IndexKind::BtreeV1;
        }
        if let Some(index) = self.index {
            return index;
        }
        let chunks = counts.iter().fold(1u64, |product, &n| product.saturating_mul(n));
        // An array of which little is used would be larger than a tree.
        let sparse = chunks > 1 << 16 && chunks >> 4 > self.stored.len() as u64;
        match info.maximum.iter().filter(|max| max.is_none()).count() {
            0 if info.shape == self.dimensions
                && info.maximum.iter().zip(info.shape).all(|(max, &n)| *max == Some(n)) =>
            {
                IndexKind::Single(None)
            }
            0 if !sparse => IndexKind::FixedArray,
            1 if !sparse && chunks < MAX_ELEMENTS => IndexKind::ExtensibleArray,
            _ => IndexKind::BtreeV2,
        }
    }
}

/// Bytes of a stored size, for chunks of `bytes` bytes.
fn size_width(bytes: u64) -> usize {
    let bits = bytes.checked_ilog2().unwrap_or(0);
    usize::try_from(bits.saturating_add(8) / 8).unwrap_or(8).saturating_add(1).min(8)
}

fn scatter(info: &Info<'_>, task: &Task, bytes: &[u8], chunk: &mut [u8]) -> Result<()> {
    let size = usize::try_from(info.size).map_err(|_| too_large())?;
    copy((bytes, &task.from), (chunk, &task.to), &task.counts, size).ok_or_else(too_large)
}

/// The chunks that a range touches.
fn parts(range: sciformats_core::Range, chunk: u64) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut first = 0;
    while first < range.count {
        let index = range.start.saturating_add(first.saturating_mul(range.step));
        let at = index.checked_div(chunk).unwrap_or(0);
        let within = index.checked_rem(chunk).unwrap_or(0);
        let room = chunk.saturating_sub(within).div_ceil(range.step.max(1));
        let count = room.min(range.count.saturating_sub(first)).max(1);
        parts.push(Part { chunk: at, first, count, within });
        first = first.saturating_add(count);
    }
    parts
}

/// Moves on to the next combination, the last dimension fastest.
fn advance(position: &mut [usize], parts: &[Vec<Part>]) -> bool {
    for (at, parts) in position.iter_mut().zip(parts).rev() {
        *at = at.saturating_add(1);
        if *at < parts.len() {
            return true;
        }
        *at = 0;
    }
    false
}
