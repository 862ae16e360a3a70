//! Virtual datasets: elements that are those of other datasets.

mod extent;
mod rows;
mod wanted;

pub(crate) use extent::shape;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Error, Result, Slab};

use self::rows::Rows;
use self::wanted::Wanted;
use super::global_heap::GlobalHeap;
use super::object::Object;
use super::open::{self, Opened};
use super::read::{self, Content, Reader};
use super::region;
use crate::spec::Name;
use crate::spec::global_heap::GlobalId;
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
    // Such elements mean places in the file that holds them.
    if source.opened.is_some() && source.content.datatype.is_indirect() {
        return Err(Error::unsupported("a virtual dataset of references or sequences in another file"));
    }
    let size = usize::try_from(reader.content.datatype.size).unwrap_or(usize::MAX);
    let wrong = |rule| {
        let fault = Fault::new("selection", FaultKind::Rule(rule));
        reader.opened.context.fault(STRUCTURE, reader.content.address, fault)
    };
    let pieces = pieces(to, slab, size).ok_or_else(|| wrong("leaves the dataset"))?;
    let shape = source.content.dataspace.shape().unwrap_or_default();
    let rows = region::rows(from, shape).or_else(|| shape.is_empty().then_some((0, 0)));
    let Some((_, last)) = rows.filter(|_| !pieces.is_empty()) else { return Ok(()) };
    let nested = Reader {
        opened: source.opened.as_deref().unwrap_or(reader.opened),
        content: &source.content,
        depth: reader.depth.saturating_add(1),
        threads: reader.threads,
    };
    let mut rows = Rows::new(&nested, last, &reader.content.datatype);
    let mut failed = None;
    let mut left = &pieces[..];
    let mut number = 0u64;
    let done = region::runs(from, shape, &mut |run| {
        let end = number.checked_add(run.len)?;
        while let Some((piece, after)) = left.split_first() {
            let (low, high) = (piece.number.max(number), piece.number.checked_add(piece.count)?.min(end));
            if low < high {
                let part = piece.part(low, high, size, out)?;
                let start = run.from.checked_add(low.checked_sub(number)?)?;
                if let Err(error) = rows.copy(start, part) {
                    failed = Some(error);
                    return None;
                }
            }
            if piece.number.checked_add(piece.count)? > end {
                break;
            }
            left = after;
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

/// Elements that are adjacent in a selection and in the request's buffer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Piece {
    /// Number of the first in the selection.
    number: u64,
    count: u64,
    /// Its place in the buffer, in bytes.
    place: usize,
}

impl Piece {
    /// The bytes of the buffer for the numbers `low` to `high`.
    fn part<'a>(&self, low: u64, high: u64, size: usize, out: &'a mut [u8]) -> Option<&'a mut [u8]> {
        let bytes = |n: u64| usize::try_from(n).ok()?.checked_mul(size);
        let start = self.place.checked_add(bytes(low.checked_sub(self.number)?)?)?;
        out.get_mut(start..start.checked_add(bytes(high.checked_sub(low)?)?)?)
    }
}

/// Where the request takes the elements of a selection, ascending; `None` if the selection leaves the array.
fn pieces(selection: &Selection, slab: &Slab, size: usize) -> Option<Vec<Piece>> {
    let wanted = Wanted::new(slab);
    let mut pieces = Vec::new();
    let mut number = 0u64;
    region::runs(selection, slab.of(), &mut |run| {
        wanted.intersect(run, &mut |skip, count, place| {
            let place = usize::try_from(place).ok()?.checked_mul(size)?;
            pieces.push(Piece { number: number.checked_add(skip)?, count, place });
            Some(())
        })?;
        number = number.checked_add(run.len)?;
        Some(())
    })?;
    pieces.sort_unstable();
    Some(pieces)
}
