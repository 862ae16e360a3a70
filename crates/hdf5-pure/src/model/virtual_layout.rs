//! Virtual datasets: elements that are those of other datasets.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Error, Range, Result, Slab};

use super::global_heap::GlobalHeap;
use super::object::Object;
use super::open::{self, Opened};
use super::read::{self, Content, Reader};
use super::region::{self, Run};
use crate::convert;
use crate::spec::Name;
use crate::spec::global_heap::GlobalId;
use crate::spec::message::datatype::Datatype;
use crate::spec::selection::{Regular, Selection};
use crate::spec::virtual_mapping::{self, Mapping};

/// Virtual datasets of virtual datasets are followed so far.
const MAX_DEPTH: usize = 8;

const STRUCTURE: &str = "virtual dataset";

/// The mappings in the object `id`.
pub(crate) fn mappings(opened: &Opened, id: Option<GlobalId>) -> Result<Vec<Mapping>> {
    let Some(id) = id else { return Ok(Vec::new()) };
    let context = &opened.context;
    let mut heap = GlobalHeap::new(context);
    let base = context.offset(id.collection);
    locate("virtual dataset mappings", base, heap.get(id)?, |i| virtual_mapping::mappings(i, context.sizes))
}

/// A source that was found.
struct Source {
    opened: Option<Arc<Opened>>,
    content: Content,
}

/// Sources of one read.
struct Sources<'a> {
    reader: &'a Reader<'a>,
    files: HashMap<PathBuf, Arc<Opened>>,
}

impl Sources<'_> {
    fn open(&mut self, file: &[u8], dataset: &[u8]) -> Result<Option<Source>> {
        let here = self.reader.opened;
        let other = match file {
            b"." => None,
            name => match here.outside.find(here.folder(), name)? {
                None => return Ok(None),
                Some(path) => match self.files.get(&path) {
                    Some(opened) => Some(opened.clone()),
                    None => {
                        let opened = Arc::new(here.open_beside(&path)?);
                        self.files.insert(path, opened.clone());
                        Some(opened)
                    }
                },
            },
        };
        let opened = other.as_deref().unwrap_or(here);
        let content = match open::lookup(opened, dataset)? {
            None => return Ok(None),
            Some(address) => read::content(opened, &Object::read(&opened.context, address)?)?,
        };
        Ok(Some(Source { opened: other, content }))
    }
}

/// Reads the selected elements; those without a source read as the fill value.
pub(crate) fn read(reader: &Reader<'_>, id: Option<GlobalId>, slab: &Slab, out: &mut [u8]) -> Result<()> {
    let here = reader.opened;
    if reader.depth >= MAX_DEPTH {
        let kind = FaultKind::Rule("leads through too many virtual datasets");
        return Err(here.context.fault(STRUCTURE, reader.content.address, Fault::new("source", kind)));
    }
    let mappings = mappings(here, id)?;
    let mut sources = Sources { reader, files: HashMap::new() };
    reader.fill(out)?;
    for mapping in &mappings {
        match printf(mapping) {
            true => read_blocks(reader, &mut sources, mapping, slab, out)?,
            false => {
                let Some(source) = sources.open(mapping.file.as_bytes(), mapping.dataset.as_bytes())? else {
                    continue;
                };
                copy(reader, &source, &mapping.source, &mapping.target, (slab, out))?;
            }
        }
    }
    Ok(())
}

/// The dimension in which a selection is unlimited.
fn unlimited(selection: &Selection) -> Option<usize> {
    let Selection::Regular(dimensions) = selection else { return None };
    dimensions.iter().position(|dimension| dimension.count.is_none() || dimension.block.is_none())
}

/// Whether each block of the mapping has a source of its own.
fn printf(mapping: &Mapping) -> bool {
    unlimited(&mapping.target).is_some() && unlimited(&mapping.source).is_none()
}

/// Replaces `%b` by the number of a block, and `%%` by a percent sign.
fn numbered(name: &Name, block: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = name.as_bytes().iter();
    while let Some(&byte) = bytes.next() {
        match (byte, bytes.as_slice().first()) {
            (b'%', Some(b'b')) => out.extend(block.to_string().bytes()),
            (b'%', Some(b'%')) => out.push(b'%'),
            _ => {
                out.push(byte);
                continue;
            }
        }
        bytes.next();
    }
    out
}

/// The target of block number `block` alone.
fn block_of(target: &Selection, axis: usize, block: u64) -> Option<Selection> {
    let Selection::Regular(dimensions) = target else { return None };
    let mut dimensions = dimensions.clone();
    let dimension = dimensions.get_mut(axis)?;
    let start = dimension.start.checked_add(dimension.stride.checked_mul(block)?)?;
    *dimension = Regular { start, count: Some(1), ..*dimension };
    Some(Selection::Regular(dimensions))
}

fn read_blocks(
    reader: &Reader<'_>,
    sources: &mut Sources<'_>,
    mapping: &Mapping,
    slab: &Slab,
    out: &mut [u8],
) -> Result<()> {
    let shape = slab.of();
    let Some(axis) = unlimited(&mapping.target) else { return Ok(()) };
    let size = shape.get(axis).copied().unwrap_or(0);
    for block in 0.. {
        let Some(target) = block_of(&mapping.target, axis, block) else { break };
        let inside = match &target {
            Selection::Regular(dimensions) => {
                dimensions.get(axis).is_some_and(|dimension| dimension.start < size)
            }
            _ => false,
        };
        if !inside {
            break;
        }
        let (file, dataset) = (numbered(&mapping.file, block), numbered(&mapping.dataset, block));
        // Missing blocks read as fill values; those after them are tried all the same.
        if let Some(source) = sources.open(&file, &dataset)? {
            copy(reader, &source, &mapping.source, &target, (slab, out))?;
        }
    }
    Ok(())
}

/// Copies the elements that `from` selects of the source to where `to` and the request both select.
fn copy(
    reader: &Reader<'_>,
    source: &Source,
    from: &Selection,
    to: &Selection,
    (slab, out): (&Slab, &mut [u8]),
) -> Result<()> {
    let size = usize::try_from(reader.content.datatype.size).unwrap_or(usize::MAX);
    // Such elements mean places in the file that holds them.
    if source.opened.is_some() && source.content.datatype.is_indirect() {
        return Err(Error::unsupported("a virtual dataset of references or sequences in another file"));
    }
    let wrong = |rule| {
        reader.opened.context.fault(
            STRUCTURE,
            reader.content.address,
            Fault::new("selection", FaultKind::Rule(rule)),
        )
    };
    let from_shape = source.content.dataspace.shape().unwrap_or_default();
    // Where the request takes the elements of the target: runs of them, by their number in the selection.
    let wanted = Wanted::new(slab);
    let mut pieces: Vec<(u64, u64, usize)> = Vec::new(); // number in the selection, count, place in `out`
    let mut number = 0u64;
    region::runs(to, slab.of(), &mut |run| {
        wanted.intersect(run, &mut |skip, len, place| {
            pieces.push((number.checked_add(skip)?, len, usize::try_from(place).ok()?.checked_mul(size)?));
            Some(())
        })?;
        number = number.checked_add(run.len)?;
        Some(())
    })
    .ok_or_else(|| wrong("leaves the dataset"))?;
    if pieces.is_empty() {
        return Ok(());
    }
    pieces.sort_unstable();
    let rows = region::rows(from, from_shape).or_else(|| from_shape.is_empty().then_some((0, 0)));
    let Some((_, last)) = rows else { return Ok(()) };
    let nested = Reader {
        opened: source.opened.as_deref().unwrap_or(reader.opened),
        content: &source.content,
        depth: reader.depth.saturating_add(1),
        threads: reader.threads,
    };
    // Only elements of the source that fall into the pieces are read, run by run.
    let mut number = 0u64;
    let mut next = 0usize;
    let mut rows = Rows::new(&nested, last, &reader.content.datatype);
    let mut failed = None;
    let done = region::runs(from, from_shape, &mut |run| {
        let end = number.checked_add(run.len)?;
        while let Some(&(at, len, place)) = pieces.get(next) {
            let (low, high) = (at.max(number), at.checked_add(len)?.min(end));
            if low < high {
                let place =
                    place.checked_add(usize::try_from(low.checked_sub(at)?).ok()?.checked_mul(size)?)?;
                let bytes = usize::try_from(high.checked_sub(low)?).ok()?.checked_mul(size)?;
                let part = out.get_mut(place..place.checked_add(bytes)?)?;
                let start = run.from.checked_add(low.checked_sub(number)?)?;
                if let Err(error) = rows.copy(start, part) {
                    failed = Some(error);
                    return None;
                }
            }
            if at.checked_add(len)? > end {
                break;
            }
            next = next.checked_add(1)?;
        }
        number = end;
        Some(())
    });
    match (failed, done) {
        (Some(error), _) => Err(error),
        (None, None) => Err(wrong("does not fit its source")),
        (None, Some(())) => Ok(()),
    }
}

/// The elements of a request by their linear index in the array.
struct Wanted<'a> {
    slab: &'a Slab,
    strides: Vec<u64>,
}

impl<'a> Wanted<'a> {
    fn new(slab: &'a Slab) -> Self {
        let mut stride = 1u64;
        let mut strides: Vec<u64> = slab
            .of()
            .iter()
            .rev()
            .map(|&n| {
                let this = stride;
                stride = stride.saturating_mul(n.max(1));
                this
            })
            .collect();
        strides.reverse();
        Self { slab, strides }
    }

    /// Calls `found` with the parts of `run` that are wanted: elements skipped in the run, count, number in the request.
    /// A run may span several rows.
    fn intersect(&self, run: Run, found: &mut dyn FnMut(u64, u64, u64) -> Option<()>) -> Option<()> {
        let width = self.slab.of().last().copied().unwrap_or(1).max(1);
        let mut at = run.from;
        let end = run.from.checked_add(run.len)?;
        while at < end {
            let row_end = at.checked_sub(at.checked_rem(width)?)?.checked_add(width)?.min(end);
            self.row(run.from, at, row_end, found)?;
            at = row_end;
        }
        Some(())
    }

    fn row(
        &self,
        base: u64,
        from: u64,
        to: u64,
        found: &mut dyn FnMut(u64, u64, u64) -> Option<()>,
    ) -> Option<()> {
        let mut rest = from;
        let mut place = 0u64;
        let Some((last, outer)) = self.slab.ranges().split_last() else { return found(0, 1, 0) };
        for (range, &stride) in outer.iter().zip(&self.strides) {
            let index = rest.checked_div(stride)?;
            rest = rest.checked_rem(stride)?;
            let Some(k) = position(range, index) else { return Some(()) };
            place = place.checked_mul(range.count)?.checked_add(k)?;
        }
        place = place.checked_mul(last.count)?;
        // `rest` is now the index in the last dimension.
        let end = rest.checked_add(to.checked_sub(from)?)?;
        let first = rest.saturating_sub(last.start).div_ceil(last.step);
        let skip = |index: u64| from.checked_sub(base)?.checked_add(index.checked_sub(rest)?);
        if last.step == 1 {
            let (low, high) = (rest.max(last.start), end.min(last.start.checked_add(last.count)?));
            return if low < high {
                found(skip(low)?, high.checked_sub(low)?, place.checked_add(low.checked_sub(last.start)?)?)
            } else {
                Some(())
            };
        }
        for k in first..last.count {
            let index = last.start.checked_add(k.checked_mul(last.step)?)?;
            if index >= end {
                break;
            }
            found(skip(index)?, 1, place.checked_add(k)?)?;
        }
        Some(())
    }
}

fn position(range: &Range, index: u64) -> Option<u64> {
    let distance = index.checked_sub(range.start)?;
    let k = distance.checked_div(range.step)?;
    (distance.checked_rem(range.step)? == 0 && k < range.count).then_some(k)
}

/// Rows of a source, of which some are held.
struct Rows<'a> {
    reader: &'a Reader<'a>,
    /// Elements of a row.
    width: u64,
    last: u64,
    /// What the elements become.
    datatype: &'a Datatype,
    size: usize,
    /// Linear index of the first element held.
    from: u64,
    held: Vec<u8>,
}

/// Bytes of a source that are held at once, if a row is not larger.
const WINDOW: u64 = 4 << 20;

impl<'a> Rows<'a> {
    fn new(reader: &'a Reader<'a>, last: u64, datatype: &'a Datatype) -> Self {
        let shape = reader.content.dataspace.shape().unwrap_or_default();
        let width = shape.iter().skip(1).fold(1u64, |product, &n| product.saturating_mul(n));
        let size = usize::try_from(datatype.size).unwrap_or(usize::MAX);
        Self { reader, width, last, datatype, size, from: 0, held: Vec::new() }
    }

    /// Copies the elements from linear index `start` on.
    fn copy(&mut self, mut start: u64, out: &mut [u8]) -> Result<()> {
        let mut out = out;
        while !out.is_empty() {
            let skip = start.checked_sub(self.from).and_then(|n| usize::try_from(n).ok());
            let skip = skip.and_then(|n| n.checked_mul(self.size)).filter(|&n| n < self.held.len());
            let Some(held) = skip.and_then(|skip| self.held.get(skip..)) else {
                self.load(start)?;
                continue;
            };
            let len = held.len().min(out.len());
            let (part, rest) = out.split_at_mut(len);
            part.iter_mut().zip(held).for_each(|(to, &from)| *to = from);
            start = start.saturating_add(len.checked_div(self.size).unwrap_or(0) as u64);
            out = rest;
        }
        Ok(())
    }

    /// Reads rows from the one of element `start` on.
    fn load(&mut self, start: u64) -> Result<()> {
        let shape = self.reader.content.dataspace.shape().unwrap_or_default();
        let row_bytes = self.width.saturating_mul(self.size as u64).max(1);
        let mut ranges: Vec<Range> = shape.iter().map(|&n| Range::all(n)).collect();
        self.from = 0;
        if let Some(range) = ranges.first_mut() {
            let row = start.checked_div(self.width).unwrap_or(0);
            let left = self.last.saturating_add(1).saturating_sub(row).max(1);
            let count = WINDOW.checked_div(row_bytes).unwrap_or(1).clamp(1, left);
            *range = Range::new(row, count);
            self.from = row.saturating_mul(self.width);
        }
        let slab = Slab::new(shape, ranges)?;
        let from = &self.reader.content.datatype;
        let len = slab.len().saturating_mul(from.size.into());
        let len = self.reader.opened.context.limits.memory("bytes of a source's rows", len)?;
        let mut raw = vec![0; len];
        self.reader.read(&slab, &mut raw)?;
        self.held = convert::elements(from, self.datatype, raw)?;
        if self.held.is_empty() {
            let kind = FaultKind::Truncated;
            let address = self.reader.content.address;
            return Err(self.reader.opened.context.fault(STRUCTURE, address, Fault::new("source", kind)));
        }
        Ok(())
    }
}

/// The shape of a virtual dataset whose sources may have grown: unlimited mappings follow them.
pub(crate) fn shape(opened: &Opened, content: &Content, id: Option<GlobalId>) -> Result<Vec<u64>> {
    let mut shape = content.dataspace.shape().unwrap_or_default().to_vec();
    let mappings = mappings(opened, id)?;
    let mut extents: HashMap<usize, u64> = HashMap::new();
    let reader = Reader { opened, content, depth: 0, threads: 1 };
    let mut sources = Sources { reader: &reader, files: HashMap::new() };
    for mapping in &mappings {
        let Some(axis) = unlimited(&mapping.target) else { continue };
        let Selection::Regular(target) = &mapping.target else { continue };
        let Some(target) = target.get(axis) else { continue };
        let extent = match unlimited(&mapping.source) {
            None => printf_extent(&mut sources, mapping, target)?,
            Some(from_axis) => match sources.open(mapping.file.as_bytes(), mapping.dataset.as_bytes())? {
                None => 0,
                Some(source) => unlimited_extent(mapping, &source, from_axis, target),
            },
        };
        let entry = extents.entry(axis).or_default();
        *entry = (*entry).max(extent);
    }
    for (axis, extent) in extents {
        if let Some(size) = shape.get_mut(axis) {
            *size = extent;
        }
    }
    Ok(shape)
}

/// Where the last block of a numbered source that exists ends.
fn printf_extent(sources: &mut Sources<'_>, mapping: &Mapping, target: &Regular) -> Result<u64> {
    let mut extent = 0;
    for block in 0u64.. {
        let (file, dataset) = (numbered(&mapping.file, block), numbered(&mapping.dataset, block));
        let constant = file == mapping.file.as_bytes() && dataset == mapping.dataset.as_bytes();
        if sources.open(&file, &dataset)?.is_none() {
            break;
        }
        let start = target.start.saturating_add(target.stride.saturating_mul(block));
        extent = start.saturating_add(target.block.unwrap_or(1));
        if constant {
            break;
        }
    }
    Ok(extent)
}

/// How far the target reaches when it has as many elements as the source has along its unlimited dimension.
fn unlimited_extent(mapping: &Mapping, source: &Source, axis: usize, target: &Regular) -> u64 {
    let Selection::Regular(from) = &mapping.source else { return 0 };
    let size = source.content.dataspace.shape().and_then(|shape| shape.get(axis)).copied().unwrap_or(0);
    let Some(from) = from.get(axis) else { return 0 };
    let elements = selected(from, size);
    if elements == 0 {
        return 0;
    }
    match (target.count, target.block) {
        (_, None) => target.start.saturating_add(elements),
        (_, Some(block)) => {
            let whole = elements.checked_div(block).unwrap_or(0);
            let part = elements.checked_rem(block).unwrap_or(0);
            let (blocks, last) = if part == 0 { (whole.saturating_sub(1), block) } else { (whole, part) };
            target.start.saturating_add(blocks.saturating_mul(target.stride)).saturating_add(last)
        }
    }
}

/// Elements of one dimension that a regular selection takes from an array of `size`.
fn selected(dimension: &Regular, size: u64) -> u64 {
    let Regular { start, stride, count, block } = region::limit(dimension, size);
    let (count, block) = (count.unwrap_or(0), block.unwrap_or(0));
    let room = size.saturating_sub(start);
    let inside = room.checked_div(stride).map_or(u64::from(room > 0), |n| n.min(count));
    let cut = match stride {
        0 => 0,
        _ if inside < count => room.saturating_sub(inside.saturating_mul(stride)).min(block),
        _ => 0,
    };
    if stride == 0 { block.min(room) } else { inside.saturating_mul(block).saturating_add(cut) }
}
