//! Reads the elements of a dataset as they are stored.

use sciformats_core::arith::{add, fit, increase, mul, present, sub};
use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::storage::{Buffer, Purpose, read_into_threads};
use sciformats_core::{Error, Result, Slab, bound};

use crate::chunk::copy::{self, Rectangle};
use crate::chunk::index::StoredChunk;
use crate::chunk::places::Places;
use crate::dataset::virtual_layout::{self, Nesting};
use crate::dataset::{chunked, external};
use crate::file::open::Opened;
use crate::filter::{Buffers, Filtered};
use crate::object::header::Object;
use crate::space::context::Context;
use crate::spec::Address;
use crate::spec::message::MessageType;
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::datatype::Datatype;
use crate::spec::message::external_files::ExternalFiles;
use crate::spec::message::fill_value::{Fill, FillValue};
use crate::spec::message::filter_pipeline::Pipeline;
use crate::spec::message::layout::{Chunked, Layout};

/// What the messages of a dataset say.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) address: Address,
    pub(crate) dataspace: Dataspace,
    /// The shape that the file stores, if that of a virtual dataset follows from its sources.
    pub(crate) stored_shape: Option<Vec<u64>>,
    /// Why nobody knows the shape, if it follows from sources that cannot be asked.
    pub(crate) unsized_because: Option<Error>,
    pub(crate) datatype: Datatype,
    /// The storage, or an error if the messages that describe it are damaged. The shape and the datatype may be known
    /// all the same.
    pub(crate) storage: Result<Storage>,
    /// Where its chunks are, or `None` if the file may change while it is open.
    pub(crate) places: Option<Places>,
}

impl Content {
    pub(crate) fn storage(&self) -> Result<&Storage> {
        self.storage.as_ref().map_err(Clone::clone)
    }
}

/// Where and how the elements are stored.
#[derive(Clone, Debug)]
pub(crate) struct Storage {
    pub(crate) layout: Layout,
    pub(crate) fill: FillValue,
    pub(crate) pipeline: Pipeline,
    pub(crate) external: Option<ExternalFiles>,
}

/// Returns the shape and the datatype of the dataset `object`.
pub(crate) fn shape_and_type(opened: &Opened, object: &Object<'_>) -> Result<(Dataspace, Datatype)> {
    let context = &opened.context;
    let sizes = context.sizes;
    let space = object.parse(context, MessageType::Dataspace, |i| Dataspace::parse(i, sizes))?;
    let datatype = object.parse(context, MessageType::Datatype, Datatype::parse)?;
    let space =
        space.ok_or_else(|| object.missing(context, "lacks the dataspace message that a dataset needs"))?;
    let datatype =
        datatype.ok_or_else(|| object.missing(context, "lacks the datatype message that a dataset needs"))?;
    Ok((space, datatype))
}

/// Returns where and how the elements of the dataset `object` are stored.
pub(crate) fn storage(context: &Context, object: &Object<'_>) -> Result<Storage> {
    let sizes = context.sizes;
    let layout = object.parse(context, MessageType::Layout, |i| Layout::parse(i, sizes))?;
    let layout = layout
        .ok_or_else(|| object.missing(context, "lacks the data layout message that a dataset needs"))?;
    let fill = match object.parse(context, MessageType::FillValue, FillValue::parse)? {
        Some(fill) => fill,
        None => object.parse(context, MessageType::FillValueOld, FillValue::parse_old)?.unwrap_or_default(),
    };
    let pipeline = object.parse(context, MessageType::FilterPipeline, Pipeline::parse)?.unwrap_or_default();
    let external = object.parse(context, MessageType::ExternalFiles, |i| ExternalFiles::parse(i, sizes))?;
    Ok(Storage { layout, fill, pipeline, external })
}

/// Reads all messages of a dataset.
pub(crate) fn content(opened: &Opened, object: &Object<'_>) -> Result<Content> {
    let (dataspace, datatype) = shape_and_type(opened, object)?;
    let storage = storage(&opened.context, object);
    Ok(Content {
        address: object.address,
        dataspace,
        stored_shape: None,
        unsized_because: None,
        datatype,
        storage,
        places: None,
    })
}

/// Runs of adjacent elements of at least this many bytes are read with a system call of their own.
pub(crate) const LONG: u64 = 32 << 10;

/// A read of one dataset.
pub(crate) struct Reader<'a> {
    pub(crate) opened: &'a Opened,
    pub(crate) content: &'a Content,
    /// The virtual datasets that lead to this one.
    pub(crate) nesting: Nesting,
    /// The number of threads that may be used.
    pub(crate) threads: usize,
}

/// Buffers that are reused from chunk to chunk.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) stored: Buffer,
    pub(crate) buffers: Buffers,
}

impl<'a> Reader<'a> {
    /// Creates a read that uses at most `threads` threads.
    pub(crate) fn new(opened: &'a Opened, content: &'a Content, threads: usize) -> Self {
        Self { opened, content, nesting: Nesting::default(), threads }
    }

    pub(crate) fn element(&self) -> usize {
        bound::addressable(self.content.datatype.size.into())
    }

    /// Fills `out`, which must have exactly as many bytes as the selection.
    pub(crate) fn read(&self, slab: &Slab, out: &mut [u8]) -> Result<()> {
        // A virtual dataset whose sources cannot be asked for their shapes may have more elements than its file says, so that no
        // selection of it can be read, not even one without elements.
        let storage = self.content.storage()?;
        if out.is_empty() {
            return Ok(());
        }
        match &storage.layout {
            Layout::Compact(data) => self.compact(data, slab, out),
            Layout::Contiguous { address } => match (&storage.external, address) {
                (Some(files), _) => external::read(self, files, slab, out),
                (None, Some(at)) => self.contiguous(*at, slab, out),
                (None, None) => self.fill(out),
            },
            Layout::Chunked(layout) => chunked::read(self, layout, slab, out),
            Layout::Virtual(id) => virtual_layout::read(self, *id, slab, out),
        }
    }

    /// Fills `out` with the fill value.
    pub(crate) fn fill(&self, out: &mut [u8]) -> Result<()> {
        let value = match &self.content.storage()?.fill.value {
            Fill::Value(value) if value.len() != self.element() => {
                let kind = FaultKind::Mismatch { expected: self.element() as u64, found: value.len() as u64 };
                let fault = Fault::new("size", kind);
                return Err(self.opened.context.fault(
                    MessageType::FillValue.name(),
                    self.content.address,
                    fault,
                ));
            }
            Fill::Value(value) => Some(&value[..]),
            Fill::Default | Fill::Undefined => None,
        };
        copy::fill(out, value);
        Ok(())
    }

    fn compact(&self, data: &[u8], slab: &Slab, out: &mut [u8]) -> Result<()> {
        let rank = slab.of().len();
        let ranges = slab.ranges();
        let from = Rectangle {
            shape: slab.of().to_vec(),
            start: ranges.iter().map(|range| range.start).collect(),
            step: ranges.iter().map(|range| range.step).collect(),
        };
        let counts = slab.shape();
        let to = Rectangle { shape: counts.clone(), start: vec![0; rank], step: vec![1; rank] };
        copy::copy((data, &from), (out, &to), &counts, self.element()).ok_or_else(|| {
            let fault = Fault::new("compact data", FaultKind::Truncated);
            self.opened.context.fault(MessageType::Layout.name(), self.content.address, fault)
        })
    }

    /// Returns the number of bytes of all elements of a contiguous dataset, which must be in the file.
    pub(crate) fn extent(&self, at: Address) -> Result<u64> {
        let context = &self.opened.context;
        let total = self.content.dataspace.elements().and_then(|n| n.checked_mul(self.element() as u64));
        total.filter(|&total| total <= context.available(at)).ok_or_else(|| {
            let found = bound::sum(total.unwrap_or(u64::MAX), context.offset(at)); // a bound, in a message
            let kind = FaultKind::OutOfBounds { found, end: context.storage.size() };
            context.fault("contiguous dataset", at, Fault::new("the end of the elements", kind))
        })
    }

    fn contiguous(&self, at: Address, slab: &Slab, out: &mut [u8]) -> Result<()> {
        let context = &self.opened.context;
        let size = self.element();
        let total = self.extent(at)?;
        if let Some(all) = context.storage.as_slice()
            && is_dense(slab, size as u64)
        {
            let start = context.offset(at);
            let inside =
                fit(start, "place of the elements")?..fit(add(start, total)?, "end of the elements")?;
            return self.compact(present(all.get(inside), "elements of a dataset")?, slab, out);
        }
        if context.storage.read_ahead() == 0 {
            return Joined::new(self, context.offset(at), out).read(slab, size as u64);
        }
        let mut ahead = Ahead::new(context, context.offset(at), slab, size, out)?;
        runs(slab, size, out, |from, out| {
            ahead.next()?;
            read_into_threads(&*context.storage, add(context.offset(at), from)?, out, self.threads)
        })
    }

    pub(crate) fn layout_fault(&self, field: &'static str, kind: FaultKind) -> Error {
        self.opened.context.fault(MessageType::Layout.name(), self.content.address, Fault::new(field, kind))
    }

    /// Returns the `bytes` bytes of a chunk after undoing all filters.
    pub(crate) fn chunk<'s>(
        &'s self,
        layout: &Chunked,
        chunk: &StoredChunk,
        bytes: usize,
        scratch: &'s mut Scratch,
    ) -> Result<&'s [u8]> {
        let Scratch { stored, buffers } = scratch;
        let stored = self.opened.context.read_with("chunk", chunk.address, chunk.size, stored)?;
        self.decoded(layout, chunk, (stored, bytes), buffers)
    }

    /// Works like [`chunk`](Self::chunk) with the bytes `stored` of the chunk.
    pub(crate) fn decoded<'s>(
        &'s self,
        layout: &Chunked,
        chunk: &StoredChunk,
        (stored, bytes): (&'s [u8], usize),
        buffers: &'s mut Buffers,
    ) -> Result<&'s [u8]> {
        let context = &self.opened.context;
        let pipeline = &self.content.storage()?.pipeline;
        if self.is_plain(layout, chunk)? {
            return stored.get(..bytes).ok_or_else(|| {
                let kind = FaultKind::Mismatch { expected: bytes as u64, found: stored.len() as u64 };
                context.fault("chunk", chunk.address, Fault::new("stored size", kind))
            });
        }
        let offset = context.offset(chunk.address);
        let filtered = Filtered { pipeline, mask: chunk.filter_mask, len: bytes, offset };
        context.registry.decode_with(&filtered, stored, buffers)
    }

    /// Fills `out` with the bytes of a chunk, all of whose filters are undone. It must be stored with filters.
    pub(crate) fn chunk_into(
        &self,
        chunk: &StoredChunk,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let context = &self.opened.context;
        let Scratch { stored, buffers } = scratch;
        let stored = context.read_with("chunk", chunk.address, chunk.size, stored)?;
        let (offset, pipeline) = (context.offset(chunk.address), &self.content.storage()?.pipeline);
        let filtered = Filtered { pipeline, mask: chunk.filter_mask, len: out.len(), offset };
        context.registry.decode_into(&filtered, stored, buffers, out)
    }

    /// Returns `len` bytes of a chunk that is stored without filters, from the byte `start` on.
    pub(crate) fn piece<'s>(
        &'s self,
        chunk: &StoredChunk,
        (start, len): (usize, usize),
        scratch: &'s mut Scratch,
    ) -> Result<&'s [u8]> {
        let at = Address(add(chunk.address.0, start as u64)?);
        self.opened.context.read_with("chunk", at, len as u64, &mut scratch.stored)
    }

    /// Returns whether the elements of a chunk are stored without filters.
    pub(crate) fn is_plain(&self, layout: &Chunked, chunk: &StoredChunk) -> Result<bool> {
        let filters = &self.content.storage()?.pipeline.filters;
        Ok(filters.is_empty() || layout.unfiltered_edges && self.reaches_out(layout, chunk))
    }

    /// Returns whether a chunk extends beyond the dataset.
    fn reaches_out(&self, layout: &Chunked, chunk: &StoredChunk) -> bool {
        let shape = self.content.dataspace.shape();
        let mut ends = chunk.scaled.iter().zip(&layout.dimensions).zip(shape);
        ends.any(|((at, n), size)| bound::product(bound::sum(*at, 1), *n) > *size)
    }
}

/// Runs of a contiguous dataset that are close together and are read with one call.
pub(crate) struct Joined<'a> {
    reader: &'a Reader<'a>,
    /// The offset of the first element of the dataset.
    start: u64,
    /// The places in the dataset and the lengths of the runs that are not read yet, in bytes.
    runs: Vec<(u64, usize)>,
    /// The end of the last of them.
    end: u64,
    /// The part of the result that is not filled yet.
    rest: &'a mut [u8],
    buffer: Vec<u8>,
}

/// Copying so many bytes takes less time than a call.
pub(crate) const SHORT: usize = 4 << 10;

/// The largest number of bytes that are read to get several runs.
const SPAN: u64 = 64 << 10;

impl<'a> Joined<'a> {
    pub(crate) fn new(reader: &'a Reader<'a>, start: u64, out: &'a mut [u8]) -> Self {
        Self { reader, start, runs: Vec::new(), end: 0, rest: out, buffer: Vec::new() }
    }

    /// Reads the elements of a selection, which have `size` bytes each.
    fn read(mut self, slab: &Slab, size: u64) -> Result<()> {
        for run in slab.runs() {
            let (pieces, len) = if run.step == 1 { (1, run.len) } else { (run.len, 1) };
            let len = bound::addressable(bound::product(len, size)); // which the result has not
            for piece in 0..pieces {
                let from = mul(add(run.from, mul(piece, run.step)?)?, size)?;
                self.add(from, len)?;
            }
        }
        self.fill()
    }

    /// Adds a run, which must begin after those before it.
    pub(crate) fn add(&mut self, from: u64, len: usize) -> Result<()> {
        let end = add(from, len as u64)?;
        if let Some(&(first, longest)) = self.runs.first() {
            let near = bound::left(from, self.end) <= SHORT as u64 && bound::left(end, first) <= SPAN;
            if !near || len.max(longest) > SHORT {
                self.fill()?;
            }
        }
        self.runs.push((from, len));
        self.end = end;
        Ok(())
    }

    /// Fills the part of the result that belongs to the runs.
    pub(crate) fn fill(&mut self) -> Result<()> {
        let storage = &*self.reader.opened.context.storage;
        if let [_, _, ..] = self.runs[..]
            && let Some(&(first, _)) = self.runs.first()
        {
            let span = fit(sub(self.end, first)?, "bytes that several runs span")?;
            // If the bytes cannot be read, those between the runs may be at fault.
            if let Ok(bytes) = storage.read_with(add(self.start, first)?, span, &mut self.buffer) {
                for (from, len) in self.runs.drain(..) {
                    let at: usize = fit(sub(from, first)?, "place of a run")?;
                    let found = bytes.get(at..).and_then(|bytes| bytes.get(..len));
                    taken(&mut self.rest, len)?.copy_from_slice(present(found, "bytes of a run")?);
                }
            }
        }
        for (from, len) in self.runs.drain(..) {
            let part = taken(&mut self.rest, len)?;
            read_into_threads(storage, add(self.start, from)?, part, self.reader.threads)?;
        }
        Ok(())
    }
}

/// Takes the first `len` bytes of the rest of a result.
fn taken<'r>(rest: &mut &'r mut [u8], len: usize) -> Result<&'r mut [u8]> {
    let parts = std::mem::take(rest).split_at_mut_checked(len);
    let (part, after) =
        parts.ok_or_else(|| Error::usage("out", "must have as many bytes as the selection"))?;
    *rest = after;
    Ok(part)
}

/// The pieces of a contiguous dataset. They are announced to the storage a few at a time before they are read.
struct Ahead<'a> {
    context: &'a Context,
    pieces: Vec<std::ops::Range<u64>>,
    /// The number of pieces that were read, and the number that were announced.
    read: usize,
    announced: usize,
}

impl<'a> Ahead<'a> {
    /// Returns the pieces of `slab`, for elements that start at `base`. There are none if reads cost no round trip.
    fn new(context: &'a Context, base: u64, slab: &Slab, size: usize, out: &mut [u8]) -> Result<Self> {
        let mut pieces = Vec::new();
        if context.storage.read_ahead() > 0 {
            runs(slab, size, out, |from, part| {
                let start = add(base, from)?;
                pieces.push(start..add(start, part.len() as u64)?);
                Ok(())
            })?;
        }
        // A single piece is fetched when it is read; announcing it would gain nothing.
        if pieces.len() < 2 {
            pieces.clear();
        }
        Ok(Self { context, pieces, read: 0, announced: 0 })
    }

    /// Announces the next pieces if they were not announced before.
    fn next(&mut self) -> Result<()> {
        let number = self.read;
        increase(&mut self.read, 1)?;
        if number < self.announced || number >= self.pieces.len() {
            return Ok(());
        }
        let mut left = self.context.storage.read_ahead();
        let rest = self.pieces.get(number..).unwrap_or_default();
        let fits = rest.iter().take_while(|piece| {
            let before = left;
            left = bound::left(left, bound::left(piece.end, piece.start));
            before > 0
        });
        self.announced = add(number, fits.count())?;
        let pieces = self.pieces.get(number..self.announced).unwrap_or_default();
        self.context.storage.prefetch(pieces, Purpose::Elements)
    }
}

/// Returns whether the runs of adjacent elements are short and close together, or numerous. Reading a larger block and
/// picking them from memory is then cheaper than reading each run.
fn is_dense(slab: &Slab, size: u64) -> bool {
    /// The distance within which runs count as close: accessing a page of a map loads about this many bytes.
    const NEAR: u64 = 64 << 10;
    const MANY: u64 = 1000;
    let mut runs = slab.runs();
    let Some(first) = runs.next() else { return false };
    if first.step == 1 && bound::product(first.len, size) >= LONG {
        return false;
    }
    // If a run has no elements, there are no pieces.
    let pieces = slab.len().checked_div(if first.step == 1 { first.len } else { 1 }).unwrap_or_default();
    let distance = match runs.next() {
        _ if first.step != 1 => first.step,
        Some(second) => bound::left(second.from, first.from),
        None => first.len,
    };
    pieces > MANY || pieces > 1 && bound::product(distance, size) < NEAR
}

/// Calls `read` for each run of adjacent elements with its byte offset in the array.
pub(crate) fn runs(
    slab: &Slab,
    size: usize,
    out: &mut [u8],
    mut read: impl FnMut(u64, &mut [u8]) -> Result<()>,
) -> Result<()> {
    let element = size as u64;
    let mut rest = out;
    for run in slab.runs() {
        let pieces = if run.step == 1 { 1 } else { run.len };
        let len = if run.step == 1 { run.len } else { 1 };
        let bytes = bound::addressable(bound::product(len, element)); // which `out` has not
        for piece in 0..pieces {
            let from = mul(add(run.from, mul(piece, run.step)?)?, element)?;
            let Some((part, after)) = rest.split_at_mut_checked(bytes) else {
                return Err(Error::usage("out", "must have as many bytes as the selection"));
            };
            read(from, part)?;
            rest = after;
        }
    }
    Ok(())
}
