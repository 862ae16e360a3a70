//! Changes a dataset that the file already has: its elements and its shape.
//!
//! | storage | effect of a write |
//! |---|---|
//! | compact | the layout message in the header changes |
//! | contiguous | a few elements wait for the commit; if there are many, all elements move to fresh space |
//! | contiguous, not allocated | fresh space is allocated and filled |
//! | chunked | chunks go to fresh space as soon as they are complete, and the commit changes what leads to them |
//! | implicit index | the elements wait for the commit, because the places of the chunks are fixed |
//! | external | the elements wait for the commit, which writes the external files first |
//!
//! Chunks of the last commit stay where they are until the next one. Edits and commits read and write only those parts
//! of a chunk index that lead to the touched chunks, unless the dataset needs another kind of index.

mod external;
mod shrink;

use sciformats_core::arith::{add, fit, increase, present, sub};
use sciformats_core::{Error, Result, Slab, bound};

use crate::chunk::before::Before;
use crate::chunk::index::extensible::MAX_ELEMENTS;
use crate::chunk::index::{Index, chunk_bytes};
use crate::chunk::too_large;
use crate::chunk::write::Info;
use crate::dataset::edit::external::Outer;
use crate::dataset::write::{Data, Dataset};
use crate::dataset::{load, read};
use crate::file::session::Session;
use crate::filter::Registry;
use crate::object::bound::Bound;
use crate::object::header::{Now, Object};
use crate::space::extents::Extent;
use crate::space::output::Output;
use crate::space::pending::Use;
use crate::spec::Address;
use crate::spec::message::MessageType;
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::layout::{Chunked, IndexKind, Layout};

/// What is known about a dataset that was in the file before.
#[derive(Clone, Debug)]
pub(crate) struct Edited {
    /// The layout in the header.
    layout: Layout,
    dataspace: Dataspace,
    changed: bool,
    /// The number of bytes that wait for the commit.
    waiting: u64,
    /// Why an edit failed half way.
    broken: Option<Error>,
    /// The external files that hold the elements, if there are any.
    pub(crate) outer: Option<Outer>,
}

/// The largest number of bytes of contiguous elements that wait for the commit. If there are more, all elements move to
/// fresh space.
const MOST_WAITING: u64 = 32 << 20;
/// The number of bytes that are moved at a time.
const PIECE: u64 = 1 << 20;

/// Loads the dataset with the header at `address`, so that it can be changed and [settled](settle).
///
/// # Errors
/// Returns any error of reading its messages, and `LimitExceeded` if its chunks are larger than the limits allow.
pub(crate) fn load(session: &Session, address: Address) -> Result<Dataset> {
    let (opened, context) = (&session.opened, session.context());
    let content = read::content(opened, &Object::read(context, address)?)?;
    let (layout, dataspace) = (content.storage()?.layout.clone(), content.dataspace.clone());
    let mut before = None;
    if let (Layout::Chunked(layout), Dataspace::Simple { dimensions, maximum }) = (&layout, &dataspace) {
        context.limits.memory("bytes of a chunk", chunk_bytes(layout).unwrap_or(u64::MAX))?; // a bound
        let filters = content.storage()?.pipeline.filters.len();
        let all = 1u32.unbounded_shl(fit(filters, "number of filters")?).wrapping_sub(1);
        let skipped = if layout.unfiltered_edges { all } else { 0 };
        let extent = (&dimensions[..], &maximum[..]);
        before = Some(Before::new(context.for_lookups(), layout.clone(), extent, filters > 0, skipped));
    }
    let mut dataset = load::dataset(context, content, opened.context.btree_k.chunk)?;
    if let Data::Chunked(chunked) = &mut dataset.data {
        chunked.before = before.map(Box::new);
    }
    let outer = match &dataset.data {
        Data::External(files) => Some(Outer::open(opened, files)?),
        _ => None,
    };
    dataset.edited = Some(Edited { layout, dataspace, changed: false, waiting: 0, broken: None, outer });
    Ok(dataset)
}

/// Writes everything that is pending for `dataset`, whose header is at `address`, and frees what is not used any more. As with the C
/// library, a header that stores times gets a new one if it changes, and not if only elements do.
///
/// # Errors
/// Returns `Io`, and the error of an edit that failed half way.
pub(crate) fn settle(
    session: &Session,
    output: &mut Output,
    registry: &Registry,
    (address, dataset): (Address, &mut Dataset),
    now: Now<'_>,
) -> Result<()> {
    dataset.sound()?;
    let Some(edited) = &mut dataset.edited else { return Ok(()) };
    if !edited.changed {
        return Ok(());
    }
    let mut outer = edited.outer.take();
    outer.as_mut().map_or(Ok(()), Outer::write).inspect_err(|error| edited.broken = Some(error.clone()))?;
    let edited = edited.clone();
    let layout = dataset.attempt(|dataset| dataset.put(session, output, registry, &edited))?;
    let mut header = session.header(address)?;
    if layout != edited.layout {
        let bytes = dataset.bytes()?;
        header.set(MessageType::Layout, 0, |out| layout.encode(out, output.sizes, bytes))?;
    }
    if dataset.dataspace != edited.dataspace {
        let version = header.find(MessageType::Dataspace).and_then(|message| message.body.first().copied());
        let version = present(version, "version of a dataspace")?;
        header.set(MessageType::Dataspace, 0, |out| dataset.encode_dataspace(out, output.sizes, version))?;
    }
    if dataset.dataspace != edited.dataspace || differ(&edited.layout, &layout) {
        header.renew_times(now)?;
    }
    header.write(output)?;
    let dataspace = dataset.dataspace.clone();
    dataset.edited = Some(Edited { layout, dataspace, changed: false, waiting: 0, broken: None, outer });
    Ok(())
}

impl Dataset {
    /// Returns whether another shape or maximum shape is going to be written to its header.
    pub(crate) fn is_reshaped(&self) -> bool {
        self.edited.as_ref().is_some_and(|edited| edited.changed && edited.dataspace != self.dataspace)
    }

    /// Fails with the error of an edit that failed half way, because the pending state is incomplete and must not be committed.
    pub(crate) fn sound(&self) -> Result<()> {
        let broken = self.edited.as_ref().and_then(|edited| edited.broken.as_ref());
        broken.map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Runs an edit, and marks the dataset if it fails half way, so that it cannot be committed.
    pub(crate) fn attempt<T>(&mut self, edit: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let result = edit(self);
        if let Some(edited) = &mut self.edited {
            edited.changed = true;
            if let (Err(error), None) = (&result, &edited.broken) {
                edited.broken = Some(error.clone());
            }
        }
        result
    }

    /// Moves contiguous elements to fresh space if that costs less than letting `len` more bytes wait for the commit.
    pub(crate) fn relocate(&mut self, output: &mut Output, slab: &Slab, len: u64) -> Result<()> {
        let total = self.bytes()?;
        let Some(edited) = &mut self.edited else { return Ok(()) };
        let (Data::Contiguous(Some(place)), Layout::Contiguous { address: Some(before) }) =
            (&mut self.data, &edited.layout)
        else {
            return Ok(());
        };
        edited.waiting = bound::sum(edited.waiting, len);
        if place != before || edited.waiting <= MOST_WAITING.min(total / 2) {
            return Ok(());
        }
        let moved = output.allocate_data(total)?;
        let mut at = 0;
        while at < total && !slab.is_all() {
            let len = sub(total, at)?.min(PIECE);
            let from = Address(add(before.0, at)?);
            let piece = output.read(from, usize::try_from(len).map_err(|_| too_large())?)?;
            output.write_part(Address(add(moved.0, at)?), &piece)?;
            increase(&mut at, len)?;
        }
        output.free(*before, total, Use::Data)?;
        *place = moved;
        Ok(())
    }

    /// Gives the dataset the shape `new`. New elements get the fill value, and lost elements are removed from memory.
    pub(crate) fn reshape(&mut self, output: &mut Output, registry: &Registry, new: &[u64]) -> Result<()> {
        let (size, maximum) = (self.element_size(), self.maximum());
        let shape = self.shape().to_vec();
        let value = self.fill_bytes().map(<[u8]>::to_vec);
        let Data::Chunked(chunked) = &mut self.data else { return Ok(()) };
        let (pipeline, fill_value) = (&self.pipeline, value.as_deref());
        let smaller: Vec<u64> = shape.iter().zip(new).map(|(&old, &new)| old.min(new)).collect();
        let mut info = Info { pipeline, registry, size, shape: &shape, maximum: &maximum, fill_value };
        if smaller != shape {
            chunked.shrink(output, &info, &smaller)?;
        }
        info.shape = &smaller;
        chunked.grow(output, &info, new)
    }

    /// Chooses another kind of index if an array index would be far larger than the number of chunks, or could not hold
    /// all of them.
    fn thin(&mut self) {
        let (maximum, shape) = (self.maximum(), self.shape().to_vec());
        let Data::Chunked(chunked) = &mut self.data else { return };
        let sides = maximum.iter().zip(&shape).zip(&chunked.dimensions);
        let all = sides.fold(1u64, |product, ((max, &size), &n)| {
            bound::product(product, max.unwrap_or(size).div_ceil(n.max(1)).max(1))
        });
        let known = bound::sum(chunked.stored.len(), chunked.open.len()) as u64;
        let unfit = match chunked.index {
            Some(IndexKind::FixedArray) => all > 1 << 16 && all >> 4 > known,
            Some(IndexKind::ExtensibleArray) => all >= MAX_ELEMENTS,
            _ => false,
        };
        if unfit {
            chunked.index = Some(IndexKind::BtreeV2);
        }
    }

    /// Writes what is pending, except the header. Returns where the elements are.
    fn put(
        &mut self,
        session: &Session,
        output: &mut Output,
        registry: &Registry,
        edited: &Edited,
    ) -> Result<Layout> {
        if matches!(self.data, Data::External(_) | Data::Virtual(_)) {
            return Ok(edited.layout.clone());
        }
        self.flush_tail(output, registry)?;
        self.flush_chunks(output, registry)?;
        if self.update(output, registry)? {
            self.renew(&edited.layout);
            return Ok(edited.layout.clone());
        }
        let old = index_space(session, edited, !self.pipeline.filters.is_empty())?;
        if let Data::Chunked(chunked) = &mut self.data {
            chunked.recall()?;
        }
        self.thin();
        let bound = match &self.data {
            Data::Chunked(chunked) if chunked.index == Some(IndexKind::BtreeV1) => Bound::Earliest,
            _ => Bound::V110,
        };
        let layout = self.close(output, registry, bound)?;
        output.release(&old)?;
        self.renew(&layout);
        Ok(layout)
    }

    /// Changes the chunk index in place. Returns `false` if there is no index or another kind is needed.
    fn update(&mut self, output: &mut Output, registry: &Registry) -> Result<bool> {
        let (size, maximum) = (self.element_size(), self.maximum());
        let shape = self.shape().to_vec();
        let Data::Chunked(chunked) = &mut self.data else { return Ok(false) };
        let pipeline = &self.pipeline;
        let info = Info { pipeline, registry, size, shape: &shape, maximum: &maximum, fill_value: None };
        chunked.update(output, &info)
    }

    /// Takes what was written as the state of the file.
    fn renew(&mut self, layout: &Layout) {
        let shape = self.shape().to_vec();
        if let (Data::Chunked(chunked), Layout::Chunked(layout)) = (&mut self.data, layout) {
            chunked.renew(layout, &shape);
        }
    }
}

/// Returns whether two layouts differ in more than the places they lead to. Here elements move more often than with the C library, for
/// which only their first place is a change of the dataset.
fn differ(old: &Layout, new: &Layout) -> bool {
    match (old, new) {
        (Layout::Contiguous { address: old }, Layout::Contiguous { address: new }) => {
            old.is_some() != new.is_some()
        }
        (Layout::Chunked(old), Layout::Chunked(new)) => {
            old.address.is_some() != new.address.is_some()
                || *old != Chunked { address: old.address, ..new.clone() }
        }
        (old, new) => old != new,
    }
}

/// Returns the extents of the index that the header leads to.
fn index_space(session: &Session, edited: &Edited, filtered: bool) -> Result<Vec<Extent>> {
    let (Layout::Chunked(layout), Dataspace::Simple { dimensions, maximum }) =
        (&edited.layout, &edited.dataspace)
    else {
        return Ok(Vec::new());
    };
    let index = Index { context: session.context(), layout, dimensions, maximum, filtered };
    session.extents(|extents| extents.chunk_index(&index))
}
