//! Virtual datasets, whose elements are those of other datasets.

mod extent;
mod rows;
mod wanted;

pub(crate) use extent::update;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sciformats_core::arith::{add, mul};
use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Error, Result, Slab, bound};

use crate::dataset::virtual_layout::rows::Rows;

use crate::dataset::external;
use crate::dataset::read::{self, Content, Reader};
use crate::file::open::Opened;
use crate::group::path::{self, Found, Met};
use crate::heap::global::GlobalHeap;
use crate::object::header::Object;
use crate::spec::global_heap::GlobalId;
use crate::spec::message::layout::Layout;
use crate::spec::selection::{Regular, Selection};
use crate::spec::virtual_mapping::{self, Mapping};
use crate::spec::{Address, Name};
use crate::value::region::Numbered;

/// The largest depth to which virtual datasets of virtual datasets are followed.
const MAX_DEPTH: usize = 8;

/// The largest number of sources that are opened for one read if they are virtual datasets themselves.
const MAX_NESTED: u64 = 1 << 20;

/// The largest number of external links in a row that are followed.
const MAX_FILES: usize = 16;

const STRUCTURE: &str = "virtual dataset";

/// Returns the mappings in the global heap object `id`.
pub(crate) fn mappings(opened: &Opened, id: Option<GlobalId>) -> Result<Vec<Mapping>> {
    let Some(id) = id else { return Ok(Vec::new()) };
    let context = &opened.context;
    let mut heap = GlobalHeap::new(context);
    let base = context.offset(id.collection);
    locate("virtual dataset mappings", base, heap.get(id)?, |i| virtual_mapping::mappings(i, context.sizes))
}

/// The virtual datasets that lead to a dataset.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nesting {
    depth: usize,
    /// The number of datasets that were opened on the way, in all branches together.
    met: Arc<AtomicU64>,
}

/// A source that was found.
struct Source {
    opened: Option<Arc<Opened>>,
    content: Content,
}

/// The sources of one read.
struct Sources<'a> {
    opened: &'a Opened,
    /// The address of the dataset that is read.
    of: Address,
    /// The virtual datasets that lead to the sources.
    nesting: Nesting,
    files: RefCell<HashMap<PathBuf, Arc<Opened>>>,
}

impl<'a> Sources<'a> {
    /// Returns the sources of the dataset `content`.
    fn new(opened: &'a Opened, content: &Content, nesting: &Nesting) -> Result<Self> {
        if nesting.depth >= MAX_DEPTH {
            let kind = FaultKind::Rule("passes through too many nested virtual datasets");
            return Err(opened.context.fault(STRUCTURE, content.address, Fault::new("source", kind)));
        }
        let nesting = Nesting { depth: add(nesting.depth, 1)?, met: nesting.met.clone() };
        Ok(Self { opened, of: content.address, nesting, files: RefCell::default() })
    }

    /// Returns the dataset of a mapping, or `None` if it or its file does not exist.
    fn open(&self, file: &[u8], dataset: &[u8]) -> Result<Option<Source>> {
        let mut other = match file {
            b"." => None,
            name => match self.file(self.opened, name)? {
                None => return Ok(None),
                found => found,
            },
        };
        let mut path = dataset.to_vec();
        for followed in 0..MAX_FILES {
            let opened = other.as_deref().unwrap_or(self.opened);
            let mut met = Met::default();
            let address = match path::resolve(opened, opened.root, &path, &mut met)? {
                // As in the C library, a dataset that does not exist has fill values, and a way to it must exist, unless an
                // external link has led there.
                None if met.gap && followed == 0 => return Err(no_way(dataset)),
                None => return Ok(None),
                Some(Found::Here(address)) => address,
                Some(Found::Elsewhere { file, path: to, rest }) => {
                    path = [&b"/"[..], &to, &rest].concat();
                    let Some(next) = self.file(opened, &file)? else {
                        return if rest.is_empty() { Ok(None) } else { Err(no_way(dataset)) };
                    };
                    other = Some(next);
                    continue;
                }
            };
            self.count()?;
            let mut content = read::content(opened, &Object::read(&opened.context, address)?)?;
            extent::update(opened, &mut content, &self.nesting)?;
            return Ok(Some(Source { opened: other, content }));
        }
        let limit = MAX_FILES as u64;
        let declared = bound::sum(limit, 1);
        Err(Error::limit_exceeded("external links in a row", declared, limit))
    }

    /// Returns the file that `from` calls `name`. It is opened only once.
    fn file(&self, from: &Opened, name: &[u8]) -> Result<Option<Arc<Opened>>> {
        let Some(path) = external::find(from, name)? else { return Ok(None) };
        if let Some(opened) = self.files.borrow().get(&path) {
            return Ok(Some(opened.clone()));
        }
        let opened = Arc::new(from.open_beside(&path)?);
        self.files.borrow_mut().insert(path, opened.clone());
        Ok(Some(opened))
    }

    /// Returns the error for a mapping whose target ends beyond 64 bits.
    fn too_far(&self) -> Error {
        self.opened.context.fault(STRUCTURE, self.of, Fault::new("selection", FaultKind::Overflow))
    }

    /// Returns the error for a mapping whose dataset does not exist.
    fn lacks(file: &[u8], dataset: &[u8]) -> Error {
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let name = match file {
            b"." => text(dataset),
            _ => format!("{} in {}", text(dataset), text(file)),
        };
        Error::missing("source of a virtual dataset", name, "does not exist")
    }

    /// Records that the dataset of a mapping does not exist.
    fn missing(&self, file: &[u8], dataset: &[u8]) -> Result<()> {
        self.opened.missing(Self::lacks(file, dataset))
    }

    /// Counts an opened source. Virtual datasets with many sources that are virtual datasets themselves form a tree
    /// whose size is exponential in its depth, so the total number must be bounded.
    fn count(&self) -> Result<()> {
        if self.nesting.depth < 2 {
            return Ok(());
        }
        let limit = self.opened.context.limits.items.min(MAX_NESTED);
        let declared = bound::sum(self.nesting.met.fetch_add(1, Ordering::Relaxed), 1);
        if declared > limit {
            return Err(Error::limit_exceeded("sources of nested virtual datasets", declared, limit));
        }
        Ok(())
    }
}

/// Returns the error for a path that leads to no source because of something before its last part.
fn no_way(dataset: &[u8]) -> Error {
    let name = String::from_utf8_lossy(dataset).into_owned();
    Error::missing("source of a virtual dataset", name, "is in something that does not exist or is no group")
}

/// Reads the selected elements. Elements without a source have the fill value.
pub(crate) fn read(reader: &Reader<'_>, id: Option<GlobalId>, slab: &Slab, out: &mut [u8]) -> Result<()> {
    let sources = Sources::new(reader.opened, reader.content, &reader.nesting)?;
    let mappings = mappings(reader.opened, id)?;
    reader.fill(out)?;
    let mut late = Ok(());
    for mapping in &mappings {
        let from = &mapping.source;
        let read = match unlimited(&mapping.target).filter(|_| unlimited(from).is_none()) {
            Some(axis) => {
                // A mapping that alone gives the dataset its extent has all the blocks that are within.
                let several = mappings.len() > 1;
                read_blocks(reader, &sources, (mapping, several), axis, (slab, out))
            }
            None => {
                let (file, dataset) = names(mapping);
                copy(reader, &sources, (&file, &dataset), (from, &mapping.target), (slab, out))
            }
        };
        unless_late(read, &mut late)?;
    }
    late
}

/// Keeps the error of a source whose bytes are on their way, so that those of the others are asked for too.
fn unless_late(read: Result<()>, late: &mut Result<()>) -> Result<()> {
    match read {
        Err(Error::Io { ref source, .. }) if source.kind() == std::io::ErrorKind::WouldBlock => {
            *late = read;
            Ok(())
        }
        read => read,
    }
}

/// Checks that all sources exist and may be opened. No elements are read.
///
/// # Errors
/// Returns an error for the first source that may not be opened, or that is missing, unless missing sources are accepted.
pub(crate) fn reach(opened: &Opened, content: &Content, nesting: &Nesting) -> Result<()> {
    let Layout::Virtual(id) = content.storage()?.layout else { return Ok(()) };
    let sources = Sources::new(opened, content, nesting)?;
    for mapping in mappings(opened, id)? {
        // The shape of the dataset follows from those numbered sources that exist, so none of them counts as missing.
        if unlimited(&mapping.target).is_some() && unlimited(&mapping.source).is_none() {
            continue;
        }
        let (file, dataset) = names(&mapping);
        match sources.open(&file, &dataset)? {
            None => sources.missing(&file, &dataset)?,
            Some(source) => {
                let opened = source.opened.as_deref().unwrap_or(opened);
                external::reach(opened, &source.content)?;
                reach(opened, &source.content, &sources.nesting)?;
            }
        }
    }
    Ok(())
}

/// Returns the dimension in which a selection is unlimited.
fn unlimited(selection: &Selection) -> Option<usize> {
    let Selection::Regular(dimensions) = selection else { return None };
    dimensions.iter().position(|dimension| dimension.count.is_none() || dimension.block.is_none())
}

/// Returns the names of the file and the dataset of a mapping without numbered sources.
fn names(mapping: &Mapping) -> (Vec<u8>, Vec<u8>) {
    (spelled(&mapping.file, None), spelled(&mapping.dataset, None))
}

/// Returns the names of the file and the dataset that have a block of a mapping with numbered sources.
fn numbered(mapping: &Mapping, block: u64) -> (Vec<u8>, Vec<u8>) {
    (spelled(&mapping.file, Some(block)), spelled(&mapping.dataset, Some(block)))
}

/// Replaces `%%` by a percent sign, and `%b` by the number of a block if there is one.
fn spelled(name: &Name, block: Option<u64>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = name.as_bytes().iter();
    while let Some(&byte) = bytes.next() {
        match (byte, bytes.as_slice().first(), block) {
            (b'%', Some(b'b'), Some(block)) => out.extend(block.to_string().bytes()),
            (b'%', Some(b'%'), _) => out.push(b'%'),
            _ => {
                out.push(byte);
                continue;
            }
        }
        bytes.next();
    }
    out
}

/// Returns the number of numbered sources before the first one that does not exist.
fn available(sources: &Sources<'_>, mapping: &Mapping) -> Result<u64> {
    let mut block = 0u64;
    loop {
        let (file, dataset) = numbered(mapping, block);
        if sources.open(&file, &dataset)?.is_none() {
            return Ok(block);
        }
        block = add(block, 1)?;
        // Names without a number lead to one source.
        if (file, dataset) == numbered(mapping, block) {
            return Ok(block);
        }
    }
}

/// Returns the target of block number `block` alone.
fn block_of(target: &Selection, axis: usize, block: u64) -> Option<Selection> {
    let Selection::Regular(dimensions) = target else { return None };
    let mut dimensions = dimensions.clone();
    let dimension = dimensions.get_mut(axis)?;
    let start = dimension.start.checked_add(dimension.stride.checked_mul(block)?)?;
    *dimension = Regular { start, count: Some(1), ..*dimension };
    Some(Selection::Regular(dimensions))
}

/// Returns what numbered sources have that are selected as a whole: the elements that the first source has, because all of them had
/// one shape. `None` if they are not selected as a whole, or if the first one does not fill a block.
fn whole_of_first(sources: &Sources<'_>, mapping: &Mapping, axis: usize) -> Result<Option<Selection>> {
    let block = block_of(&mapping.target, axis, 0);
    let (Selection::All, Some(Selection::Regular(block))) = (&mapping.source, block) else { return Ok(None) };
    let (file, dataset) = numbered(mapping, 0);
    let Some(first) = sources.open(&file, &dataset)? else { return Ok(None) };
    let shape = first.content.dataspace.shape();
    let had = shape.iter().try_fold(1u64, |all, &side| all.checked_mul(side));
    let wanted =
        block.iter().try_fold(1u64, |all, side| all.checked_mul(side.count?)?.checked_mul(side.block?));
    if shape.is_empty() || had.is_none() || had != wanted {
        return Ok(None);
    }
    let side = |&n: &u64| Regular { start: 0, stride: n, count: Some(1), block: Some(n) };
    Ok(Some(Selection::Regular(shape.iter().map(side).collect())))
}

/// Reads from numbered sources, each of which has one block of the target.
fn read_blocks(
    reader: &Reader<'_>,
    sources: &Sources<'_>,
    (mapping, several): (&Mapping, bool),
    axis: usize,
    (slab, out): (&Slab, &mut [u8]),
) -> Result<()> {
    let Selection::Regular(dimensions) = &mapping.target else { return Ok(()) };
    let (Some(dimension), Some(range)) = (dimensions.get(axis), slab.ranges().get(axis)) else {
        return Ok(());
    };
    // As in the C library, the blocks end at the first source that does not exist, even if other mappings give the dataset a larger
    // extent.
    let end = if several { available(sources, mapping)? } else { u64::MAX };
    let first = whole_of_first(sources, mapping, axis)?;
    let from = first.as_ref().unwrap_or(&mapping.source);
    let (mut done, mut late) = (None, Ok(()));
    for k in 0..range.count {
        let index = add(range.start, mul(k, range.step)?)?;
        let Some(distance) = index.checked_sub(dimension.start) else { continue };
        // Without a stride there is only one block, the first.
        let block = distance.checked_div(dimension.stride).unwrap_or_default();
        if block >= end {
            break;
        }
        if done.replace(block) == Some(block) {
            continue;
        }
        let Some(target) = block_of(&mapping.target, axis, block) else { continue };
        let (file, dataset) = numbered(mapping, block);
        let read = copy(reader, sources, (&file, &dataset), (from, &target), (slab, out));
        unless_late(read, &mut late)?;
    }
    late
}

/// Copies the elements that `from` selects of the source to the places that `to` selects, as far as the request
/// includes them.
fn copy(
    reader: &Reader<'_>,
    sources: &Sources<'_>,
    (file, dataset): (&[u8], &[u8]),
    (from, to): (&Selection, &Selection),
    (slab, out): (&Slab, &mut [u8]),
) -> Result<()> {
    let wrong = |rule| {
        let fault = Fault::new("selection", FaultKind::Rule(rule));
        reader.opened.context.fault(STRUCTURE, reader.content.address, fault)
    };
    let axes = (unlimited(from), unlimited(to));
    let all = *from == Selection::All;
    let mut to =
        Numbered::new(to, slab.of()).ok_or_else(|| wrong("does not fit the dataspace of the dataset"))?;
    // A source of which no element is wanted is not opened.
    if wanted::visit(&to, slab, &mut |_, _, _| None).is_some() {
        return Ok(());
    }
    let Some(source) = sources.open(file, dataset)? else { return sources.missing(file, dataset) };
    // Such elements refer to data in the file that holds them, and would be looked up in the wrong file.
    if source.opened.is_some() && source.content.datatype.is_indirect() {
        return Err(Error::unsupported(
            "a virtual dataset whose source in another file holds references or variable-length elements",
        ));
    }
    let shape = source.content.dataspace.shape();
    let unfit = || wrong("does not fit the dataspace of the source");
    // What the source has now of the selection.
    let Some(last) = Numbered::new(from, shape).ok_or_else(unfit)?.last() else { return Ok(()) };
    let mut from = Numbered::whole(from, shape).ok_or_else(unfit)?;
    if let (Some(source), Some(target)) = axes {
        // Other mappings may have given the dataset a larger extent than this source fills.
        let most = from.taken(source).zip(to.taken(target)).map_or(0, |(here, there)| here.min(there));
        from.shorten(source, most);
        to.shorten(target, most);
    }
    let has_all = from.count() == to.count() && !source.content.dataspace.is_null();
    if all && !has_all && !is_prefix(shape, &to) {
        return Err(wrong("has another number of elements than the source"));
    }
    let nested = Reader {
        opened: source.opened.as_deref().unwrap_or(reader.opened),
        content: &source.content,
        nesting: sources.nesting.clone(),
        threads: reader.threads,
    };
    let mut rows = Rows::new(&nested, last, &reader.content.datatype)?;
    let size = reader.element();
    let mut failed = Ok(());
    let done = wanted::visit(&to, slab, &mut |mut number, mut count, place| {
        let bytes = |n: u64| usize::try_from(n).ok()?.checked_mul(size);
        let mut out = out.get_mut(bytes(place)?..)?;
        while count > 0 {
            // If the source has fewer elements than the target selection, the others keep the fill value.
            if let Some(len) = from.beyond(number) {
                let len = len.min(count);
                out = out.get_mut(bytes(len)?..)?;
                (number, count) = (number.checked_add(len)?, count.checked_sub(len)?);
                continue;
            }
            let Some(run) = from.locate(number) else { break };
            let len = run.len.min(count);
            let (part, rest) = out.split_at_mut_checked(bytes(len)?)?;
            failed = rows.copy(run.from, part);
            failed.is_ok().then_some(())?;
            (out, number, count) = (rest, number.checked_add(len)?, count.checked_sub(len)?);
        }
        Some(())
    });
    failed?;
    done.ok_or_else(|| wrong("extends beyond the dataset"))
}

/// Returns whether a source that is selected as a whole, and of another length than the target, still has its elements in their
/// places: only the slowest dimension has another length.
fn is_prefix(shape: &[u64], to: &Numbered) -> bool {
    let mut sides = shape.iter().enumerate().skip(1);
    !shape.is_empty() && (shape.len() == 1 || sides.all(|(axis, &n)| to.taken(axis) == Some(n)))
}
