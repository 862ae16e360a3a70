//! Datasets that are being written. Elements go to the file as they come, and chunks as soon as they are complete.

use sciformats_core::arith::{add, div, fit, mul, present, product, sub};
use sciformats_core::{Error, Range, Result, Slab, bound};

use crate::chunk::copy::fill;
use crate::chunk::too_large;
use crate::chunk::write::{Chunked, Info};
use crate::dataset::edit::Edited;
use crate::filter::{self, Registry};
use crate::object::bound::Bound;
use crate::object::id::Id;
use crate::space::output::Output;
use crate::spec::global_heap::GlobalId;
use crate::spec::message::dataspace::{Dataspace, check_lengths};
use crate::spec::message::datatype::Datatype;
use crate::spec::message::external_files::ExternalFiles;
use crate::spec::message::fill_value::{Fill, FillValue};
use crate::spec::message::filter_pipeline::Pipeline;
use crate::spec::message::layout::{IndexKind, Layout};
use crate::spec::{Address, Sizes};

/// A dataset that is being written.
pub(crate) struct Dataset {
    pub(crate) datatype: Datatype,
    /// The committed datatype that the dataset uses.
    pub(crate) committed: Option<Id>,
    pub(crate) dataspace: Dataspace,
    pub(crate) fill: FillValue,
    pub(crate) pipeline: Pipeline,
    pub(crate) data: Data,
    /// What is known about the dataset if it was in the file before.
    pub(crate) edited: Option<Edited>,
    /// The last rows that were appended and are not in chunks yet.
    pub(crate) tail: Vec<u8>,
}

/// The largest number of bytes of rows that are collected because they do not fill a chunk.
const TAIL_BYTES: usize = 1 << 20;

/// Where the elements are.
pub(crate) enum Data {
    /// In the object header.
    Compact(Vec<u8>),
    /// Contiguous, one after another.
    Contiguous(Option<Address>),
    /// In chunks.
    Chunked(Chunked),
    /// In external files, which are not touched.
    External(ExternalFiles),
    /// In other datasets.
    Virtual(GlobalId),
}

impl Dataset {
    /// Returns the shape of the chunks, if the elements are in chunks.
    pub(crate) fn chunk_shape(&self) -> Option<&[u64]> {
        match &self.data {
            Data::Chunked(chunked) => Some(&chunked.dimensions),
            _ => None,
        }
    }

    pub(crate) fn element_size(&self) -> u64 {
        self.datatype.size.into()
    }

    pub(crate) fn shape(&self) -> &[u64] {
        self.dataspace.shape()
    }

    /// Appends the dataspace message, with the maximum shape if the elements are stored so that the shape can change.
    pub(crate) fn encode_dataspace(&self, out: &mut Vec<u8>, sizes: Sizes, version: u8) -> Result<()> {
        match &self.data {
            Data::Compact(_) | Data::Contiguous(_) => self.dataspace.encode(out, sizes, version),
            _ => self.dataspace.encode_with_maximum(out, sizes, version),
        }
    }

    /// Returns the maximum size of each dimension.
    pub(crate) fn maximum(&self) -> Vec<Option<u64>> {
        match &self.dataspace {
            Dataspace::Simple { maximum, .. } => maximum.clone(),
            _ => Vec::new(),
        }
    }

    /// Returns the number of bytes of all elements.
    pub(crate) fn bytes(&self) -> Result<u64> {
        let elements = self.dataspace.elements();
        elements.and_then(|n| n.checked_mul(self.element_size())).ok_or_else(too_large)
    }

    /// Returns the space that the elements take, with that of chunks that were removed and are not given back yet.
    pub(crate) fn space(&self) -> Result<Vec<(Address, u64)>> {
        Ok(match &self.data {
            Data::Contiguous(Some(address)) => vec![(*address, self.bytes()?)],
            Data::Chunked(chunked) => {
                let all = chunked.stored.values().chain(&chunked.left);
                all.map(|stored| (stored.address, stored.size)).collect()
            }
            _ => Vec::new(),
        })
    }

    /// Returns the bytes of the fill value, unless they are all zero.
    pub(crate) fn fill_bytes(&self) -> Option<&[u8]> {
        match &self.fill.value {
            Fill::Value(bytes) => Some(bytes),
            Fill::Default | Fill::Undefined => None,
        }
    }

    /// Sets the size of each dimension. Elements beyond it are removed, and new elements have the fill value.
    pub(crate) fn resize(&mut self, output: &mut Output, registry: &Registry, shape: &[u64]) -> Result<()> {
        self.flush_tail(output, registry)?;
        let chunked = matches!(self.data, Data::Chunked(_));
        let Dataspace::Simple { dimensions, maximum } = &self.dataspace else {
            return Err(Error::usage("shape", "of a scalar cannot be changed"));
        };
        let fits = |(n, max): (&u64, &Option<u64>)| max.is_none_or(|max| *n <= max);
        if shape.len() != dimensions.len() || !shape.iter().zip(maximum).all(fits) {
            return Err(Error::usage(
                "shape",
                "must have as many dimensions as the dataset and stay within its maximum shape",
            ));
        }
        if shape == &dimensions[..] {
            return Ok(());
        }
        if !chunked {
            return Err(Error::usage(
                "shape",
                "cannot be changed: the dataset does not store its elements in chunks",
            ));
        }
        sciformats_core::slab::elements(shape).ok_or_else(too_large)?;
        check_lengths(shape, output.sizes)?;
        self.attempt(|dataset| {
            dataset.reshape(output, registry, shape)?;
            if let Dataspace::Simple { dimensions, .. } = &mut dataset.dataspace {
                dimensions.copy_from_slice(shape);
            }
            if let Data::Chunked(chunked) = &mut dataset.data
                && matches!(chunked.index, Some(IndexKind::Single(_)))
                && shape.iter().zip(&chunked.dimensions).any(|(size, n)| size > n)
            {
                // The dataset has more than one chunk from now on, so a single-chunk index is not possible any more.
                chunked.index = None;
            }
            Ok(())
        })
    }

    /// Fails unless `bytes` are the elements of `slab` and can be written.
    pub(crate) fn check(&self, slab: &Slab, bytes: &[u8]) -> Result<()> {
        self.sound()?;
        let expected = slab.len().checked_mul(self.element_size()).ok_or_else(too_large)?;
        if bytes.len() as u64 != expected {
            let problem = format!("have {} bytes, but the selection needs {expected}", bytes.len());
            return Err(Error::usage("values", problem));
        }
        if slab.of() != self.shape() {
            return Err(Error::usage("selection", "was made for another shape than the dataset's"));
        }
        if self.dataspace == Dataspace::Null {
            return Err(Error::usage("dataset", "has a null dataspace, which holds no elements"));
        }
        match &self.data {
            Data::Virtual(_) => Err(Error::unsupported("writing to the sources of a virtual dataset")),
            Data::External(_) => {
                let outer = self.edited.as_ref().and_then(|edited| edited.outer.as_ref());
                let end = mul(end_of(slab)?, self.element_size())?;
                outer.ok_or_else(outside)?.check(end)
            }
            _ => Ok(()),
        }
    }

    /// Writes the elements of `slab`, whose packed bytes are `bytes`.
    pub(crate) fn write(
        &mut self,
        output: &mut Output,
        registry: &Registry,
        slab: &Slab,
        bytes: &[u8],
    ) -> Result<()> {
        self.check(slab, bytes)?;
        if slab.is_empty() {
            return Ok(());
        }
        filter::check(&self.pipeline, registry)?;
        self.flush_tail(output, registry)?;
        self.change(output, registry, slab, bytes)
    }

    /// Stores a chunk that has passed through its filters already, except for those in `mask`.
    pub(crate) fn write_chunk(
        &mut self,
        output: &mut Output,
        registry: &Registry,
        scaled: &[u64],
        (mask, bytes): (u32, &[u8]),
    ) -> Result<()> {
        let mask = self.check_chunk(output, registry, scaled, (mask, bytes.len() as u64))?;
        self.attempt(|dataset| match &mut dataset.data {
            Data::Chunked(chunked) => chunked.put_filtered(output, scaled, (mask, bytes)),
            _ => Err(Error::internal("the elements of a dataset have left its chunks")),
        })
    }

    /// Allocates the space of a chunk of `len` bytes, and returns its address. Its bytes are zeros, or what it had before.
    pub(crate) fn reserve_chunk(
        &mut self,
        output: &mut Output,
        registry: &Registry,
        scaled: &[u64],
        (mask, len): (u32, u64),
    ) -> Result<Address> {
        let mask = self.check_chunk(output, registry, scaled, (mask, len))?;
        let mut address = None;
        self.attempt(|dataset| match &mut dataset.data {
            Data::Chunked(chunked) => {
                address = Some(chunked.reserve(output, scaled, (mask, len))?);
                Ok(())
            }
            _ => Err(Error::internal("the elements of a dataset have left its chunks")),
        })?;
        present(address, "address of a chunk")
    }

    /// Allocates the space of elements that are stored one after another. They are zeros, or what was written before.
    pub(crate) fn reserve(&mut self, output: &mut Output) -> Result<()> {
        let total = self.bytes()?;
        match &mut self.data {
            Data::Contiguous(place) if place.is_none() && total > 0 => {
                *place = Some(output.allocate_zeroed(total)?);
                // What leads to the space has to be written, even if nothing else changes.
                self.attempt(|_| Ok(()))
            }
            // Compact elements are a part of the header.
            Data::Contiguous(_) | Data::Compact(_) => Ok(()),
            _ => Err(Error::usage("dataset", "does not store its elements one after another")),
        }
    }

    /// Checks that a chunk of `len` bytes after its filters can be stored. Returns the mask of the filters that it skipped, or
    /// `None` for a chunk at the edge that has no filters.
    fn check_chunk(
        &mut self,
        output: &mut Output,
        registry: &Registry,
        scaled: &[u64],
        (mask, len): (u32, u64),
    ) -> Result<Option<u32>> {
        let wrong = |problem: &'static str| Err(Error::usage("chunk", problem));
        self.sound()?;
        self.flush_tail(output, registry)?;
        let shape = self.shape().to_vec();
        let (filtered, size) = (!self.pipeline.filters.is_empty(), self.element_size());
        let Data::Chunked(chunked) = &self.data else {
            return wrong("cannot be written: the dataset does not store its elements in chunks");
        };
        let mut sides = scaled.iter().zip(&chunked.dimensions).zip(&shape);
        if scaled.len() != shape.len()
            || sides.any(|((at, &side), &n)| at.checked_mul(side).is_none_or(|at| at >= n))
        {
            return wrong("lies outside the dataset");
        }
        let all = chunked.dimensions.iter().try_fold(size, |product, &n| product.checked_mul(n));
        let edge = chunked.unfiltered_edges && chunked.reaches_out(&shape, scaled);
        if (!filtered || edge) && all != Some(len) {
            return wrong("does not have the number of bytes of its elements");
        }
        let all = present(all, "bytes of a chunk")?;
        let width = match chunked.index {
            Some(IndexKind::BtreeV1) => 4,
            Some(_) if chunked.wide => chunked.size_width(filtered, output.sizes, all),
            Some(_) => chunked.size_width(filtered, output.sizes, all).min(4),
            // The kind of a new index is chosen when the file is completed, which checks the sizes then.
            None => 8,
        };
        let bits = bound::product(8, width);
        if filtered && len.checked_shr(fit(bits, "width of a chunk size")?).is_some_and(|over| over > 0) {
            return wrong("has far more bytes than its elements, and its size does not fit into the index");
        }
        Ok((!edge).then_some(mask))
    }

    /// Extends a new dataset along its first dimension by `rows` rows with the packed bytes `bytes`. Rows that do not
    /// fill a chunk are collected. After an error the dataset has the rows that it had before.
    pub(crate) fn append(
        &mut self,
        output: &mut Output,
        registry: &Registry,
        rows: u64,
        bytes: &[u8],
    ) -> Result<()> {
        filter::check(&self.pipeline, registry)?;
        if bytes.len() > TAIL_BYTES {
            self.flush_tail(output, registry)?;
        }
        let wrong = |problem: &'static str| Error::usage("shape", problem);
        let Data::Chunked(Chunked { dimensions: chunk, .. }) = &self.data else {
            return Err(wrong("cannot be changed: the dataset does not store its elements in chunks"));
        };
        let size = u64::from(self.datatype.size);
        let Dataspace::Simple { dimensions, maximum } = &mut self.dataspace else {
            return Err(wrong("of a scalar cannot be changed"));
        };
        let (Some((first, inner)), Some(&chunk)) = (dimensions.split_first_mut(), chunk.first()) else {
            return Err(wrong("has no dimension to grow along"));
        };
        let row =
            sciformats_core::slab::elements(inner).and_then(|n| n.checked_mul(size)).ok_or_else(too_large)?;
        if rows.checked_mul(row) != Some(bytes.len() as u64) {
            return Err(Error::usage("values", "must make up whole rows of the dataset"));
        }
        let end =
            first.checked_add(rows).filter(|&end| end.checked_mul(row).is_some()).ok_or_else(too_large)?;
        if maximum.first().copied().flatten().is_some_and(|max| end > max) {
            return Err(wrong("would exceed the maximum shape of the dataset"));
        }
        check_lengths(&[end], output.sizes)?;
        let begin = sub(*first, gathered(&self.tail, row)?)?;
        let before = std::mem::replace(first, end);
        let fills = end.checked_div(chunk) > begin.checked_div(chunk);
        if !fills && bound::sum(self.tail.len(), bytes.len()) <= TAIL_BYTES {
            self.tail.extend_from_slice(bytes);
            return Ok(());
        }
        let held = self.tail.len();
        let stored = if held == 0 {
            self.last_rows(rows).and_then(|slab| self.change(output, registry, &slab, bytes))
        } else {
            self.tail.extend_from_slice(bytes);
            self.flush_tail(output, registry)
        };
        if stored.is_err() {
            self.tail.truncate(held);
            let mut shape = self.shape().to_vec();
            shape.iter_mut().take(1).for_each(|first| *first = before);
            self.take_back(output, registry, &shape);
        }
        stored
    }

    /// Gives a dataset of a new file, or of one that others read, the smaller `shape` that it had before elements could not be
    /// appended, so that they can be appended again.
    pub(crate) fn take_back(&mut self, output: &mut Output, registry: &Registry, shape: &[u64]) {
        // If those of the elements that were stored cannot be removed either, they lie beyond the shape, and nobody sees them.
        let _ = self.reshape(output, registry, shape);
        if let Dataspace::Simple { dimensions, .. } = &mut self.dataspace {
            dimensions.iter_mut().zip(shape).for_each(|(size, before)| *size = *before);
        }
    }

    /// Moves the collected rows into chunks. After an error they are still collected.
    pub(crate) fn flush_tail(&mut self, output: &mut Output, registry: &Registry) -> Result<()> {
        if self.tail.is_empty() {
            return Ok(());
        }
        let inner = present(self.shape().get(1..), "rows of a dataset")?;
        let row = mul(product(inner.iter().copied())?, self.element_size())?;
        let slab = self.last_rows(gathered(&self.tail, row)?)?;
        let mut tail = std::mem::take(&mut self.tail);
        let moved = self.change(output, registry, &slab, &tail);
        if moved.is_ok() {
            tail.clear();
        }
        self.tail = tail;
        moved
    }

    /// Returns the selection of the last `rows` rows.
    fn last_rows(&self, rows: u64) -> Result<Slab> {
        let shape = self.shape();
        let mut ranges: Vec<Range> = shape.iter().map(|&n| Range::all(n)).collect();
        if let Some(range) = ranges.first_mut() {
            *range = Range::new(sub(range.count, rows)?, rows);
        }
        Slab::new(shape, ranges)
    }

    /// Writes elements that were checked.
    fn change(&mut self, output: &mut Output, registry: &Registry, slab: &Slab, bytes: &[u8]) -> Result<()> {
        self.attempt(|dataset| {
            dataset.relocate(output, slab, bytes.len() as u64)?;
            dataset.store(output, registry, slab, bytes)
        })
    }

    fn store(&mut self, output: &mut Output, registry: &Registry, slab: &Slab, bytes: &[u8]) -> Result<()> {
        let (size, total) = (self.element_size(), self.bytes()?);
        let shape = self.shape().to_vec();
        let maximum = self.maximum();
        let fill_value = self.fill_bytes().map(<[u8]>::to_vec);
        match &mut self.data {
            Data::Compact(data) => runs(slab, size, |at, part| {
                let start: usize = fit(at, "place of compact elements")?;
                let from = present(bytes.get(part), "bytes of a run")?;
                let to = data.get_mut(start..add(start, from.len())?);
                present(to, "place of compact elements")?.copy_from_slice(from);
                Ok(())
            }),
            Data::Contiguous(place) => {
                let address = match place {
                    Some(address) => *address,
                    None => {
                        output.allocate_filled(total, fill_value.as_deref().filter(|_| !slab.is_all()))?
                    }
                };
                *place = Some(address);
                if slab.is_all() {
                    return output.write(address, bytes);
                }
                runs(slab, size, |at, part| {
                    let at = Address(add(address.0, at)?);
                    output.write_part(at, present(bytes.get(part), "bytes of a run")?)
                })
            }
            Data::Chunked(chunked) => {
                let pipeline = &self.pipeline;
                let fill_value = fill_value.as_deref();
                let info = Info { pipeline, registry, size, shape: &shape, maximum: &maximum, fill_value };
                chunked.write(output, &info, slab, bytes)
            }
            Data::External(_) => {
                let outer = self.edited.as_mut().and_then(|edited| edited.outer.as_mut());
                let outer = outer.ok_or_else(outside)?;
                runs(slab, size, |at, part| {
                    outer.put(at, present(bytes.get(part), "bytes of a run")?);
                    Ok(())
                })
            }
            Data::Virtual(_) => Err(Error::internal("elements of a virtual dataset are written")),
        }
    }

    /// Writes the fill value to elements in the object header.
    pub(crate) fn fill_compact(&mut self) {
        let value = self.fill_bytes().map(<[u8]>::to_vec);
        if let Data::Compact(data) = &mut self.data {
            fill(data, value.as_deref());
        }
    }

    /// Allocates the space of all chunks at once.
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

    /// Stores the chunks that are in memory.
    pub(crate) fn flush_chunks(&mut self, output: &mut Output, registry: &Registry) -> Result<()> {
        let size = self.element_size();
        let (shape, maximum) = (self.shape().to_vec(), self.maximum());
        let fill_value = self.fill_bytes().map(<[u8]>::to_vec);
        match &mut self.data {
            Data::Chunked(chunked) => {
                let (pipeline, fill_value) = (&self.pipeline, fill_value.as_deref());
                let info = Info { pipeline, registry, size, shape: &shape, maximum: &maximum, fill_value };
                chunked.flush(output, &info)
            }
            _ => Ok(()),
        }
    }

    /// Stores what is in memory, writes the index, and returns where the elements are.
    pub(crate) fn close(&mut self, output: &mut Output, registry: &Registry, bound: Bound) -> Result<Layout> {
        self.flush_tail(output, registry)?;
        let (size, total) = (self.element_size(), self.bytes()?);
        let (shape, maximum) = (self.shape().to_vec(), self.maximum());
        let fill_value = self.fill_bytes().map(<[u8]>::to_vec);
        Ok(match &mut self.data {
            Data::Compact(data) => Layout::Compact(data.clone()),
            Data::Contiguous(place) => {
                const EARLY: u8 = 1;
                if place.is_none() && self.fill.allocation_time == EARLY && total > 0 {
                    *place = Some(output.allocate_filled(total, fill_value.as_deref())?);
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

/// Returns the error for elements in external files that may not be written.
fn outside() -> Error {
    Error::usage("dataset", "stores its elements in external files, which cannot be written here")
}

/// Returns the number of elements up to the last one of a selection.
fn end_of(slab: &Slab) -> Result<u64> {
    if slab.is_empty() {
        return Ok(0);
    }
    let mut last = 0;
    for (range, &side) in slab.ranges().iter().zip(slab.of()) {
        let index = add(range.start, mul(sub(range.count, 1)?, range.step)?)?;
        last = add(mul(last, side)?, index)?;
    }
    add(last, 1)
}

/// Returns how many rows of `row` bytes were collected, which is none if rows have no bytes.
fn gathered(tail: &[u8], row: u64) -> Result<u64> {
    match row {
        0 if tail.is_empty() => Ok(0),
        0 => Err(Error::internal("rows without bytes were gathered")),
        row => div(tail.len() as u64, row),
    }
}

/// Calls `write` with the byte offset of each run of adjacent elements, and its range among the packed bytes.
pub(super) fn runs(
    slab: &Slab,
    size: u64,
    mut write: impl FnMut(u64, std::ops::Range<usize>) -> Result<()>,
) -> Result<()> {
    let wide = |n: u64| usize::try_from(n).map_err(|_| too_large());
    for run in slab.runs() {
        let (pieces, len) = if run.step == 1 { (1, run.len) } else { (run.len, 1) };
        for piece in 0..pieces {
            let element = add(run.from, mul(piece, run.step)?)?;
            let start = wide(mul(add(run.to, piece)?, size)?)?;
            let end = add(start, wide(mul(len, size)?)?)?;
            write(mul(element, size)?, start..end)?;
        }
    }
    Ok(())
}
