//! The elements of a dataset that is there: written, and their extent changed.
//!
//! | storage | what a write does |
//! |---|---|
//! | compact | the header's message changes |
//! | contiguous | a few elements wait for the commit; many are written with all others to fresh space |
//! | contiguous, not there yet | fresh space, filled |
//! | chunked | chunks go to fresh space as soon as they are complete, and their index is written anew with the commit |
//! | implicit chunks | wait for the commit, as their places are fixed |
//! | external | waits for the commit, which writes to the other files first |
//!
//! Chunks that the last commit leads to stay where they are until the next one. A commit that touches a chunked dataset
//! writes its index: some bytes for each of its chunks, whichever were written.

mod external;
mod shrink;

use sciformats_core::arith::{add, fit, increase, present, sub};
use sciformats_core::{Error, Result, Slab, bound};

use self::external::Outer;
use super::extents::Extent;
use super::session::{Session, release};
use super::space::Use;
use crate::model::chunks::{Index, chunk_bytes};
use crate::model::filters::Registry;
use crate::model::load;
use crate::model::object::Object;
use crate::model::read;
use crate::model::write::bound::Bound;
use crate::model::write::chunks::Info;
use crate::model::write::dataset::{Data, Dataset, too_large};
use crate::model::write::extensible_array::MAX_ELEMENTS;
use crate::model::write::output::Output;
use crate::spec::Address;
use crate::spec::message::MessageType;
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::layout::{IndexKind, Layout};

/// What is known of a dataset that was in the file before.
#[derive(Clone, Debug)]
pub(crate) struct Edited {
    /// What the header says of it.
    layout: Layout,
    dataspace: Dataspace,
    changed: bool,
    /// Bytes that wait for the commit.
    waiting: u64,
    /// An edit failed half way.
    broken: bool,
    /// The files that hold the elements, if others do.
    pub(crate) outer: Option<Outer>,
}

/// Elements in one piece wait for the commit up to so many bytes; then all of them move to fresh space.
const MOST_WAITING: u64 = 32 << 20;
/// Elements are moved so many bytes at a time.
const PIECE: u64 = 1 << 20;

/// The dataset with the header at `address`, to be changed and [settled](settle).
///
/// # Errors
/// What reading its messages or its index meets; `LimitExceeded` if its chunks are larger than the limits allow.
pub(crate) fn load(session: &Session, address: Address) -> Result<Dataset> {
    let (opened, context) = (&session.opened, session.context());
    let content = read::content(opened, &Object::read(context, address)?)?;
    let (layout, dataspace) = (content.storage()?.layout.clone(), content.dataspace.clone());
    let mut chunks = Vec::new();
    let mut skipped = 0;
    if let Layout::Chunked(layout) = &layout {
        context.limits.memory("bytes of a chunk", chunk_bytes(layout).unwrap_or(u64::MAX))?; // a bound
        chunks = load::chunks(context, &content, None)?;
        if layout.unfiltered_edges {
            let filters = fit(content.storage()?.pipeline.filters.len(), "number of filters")?;
            skipped = 1u32.unbounded_shl(filters).wrapping_sub(1);
        }
    }
    let mut dataset = load::dataset(context, content, opened.btree_k.chunk)?;
    let shape = dataset.shape().to_vec();
    if let Data::Chunked(chunked) = &mut dataset.data {
        for chunk in chunks {
            let mut stored = load::stored(&chunk);
            stored.live = chunked.implicit.is_none();
            // What is stored without filters because it reaches out of the shape says so from now on.
            let mut sides = chunk.scaled.iter().zip(chunked.dimensions.iter().zip(&shape));
            if sides.any(|(&at, (&n, &size))| bound::product(bound::sum(at, 1), n) > size) {
                stored.mask |= skipped;
            }
            chunked.stored.insert(chunk.scaled.into(), stored);
        }
    }
    let outer = match &dataset.data {
        Data::External(files) => Some(Outer::open(opened, files)?),
        _ => None,
    };
    dataset.edited = Some(Edited { layout, dataspace, changed: false, waiting: 0, broken: false, outer });
    Ok(dataset)
}

/// Writes everything that is pending of `dataset`, whose header is at `address`, and gives back what is not used any more.
///
/// # Errors
/// `Io`, and [`Error::Usage`] if an edit failed half way.
pub(crate) fn settle(
    session: &Session,
    output: &mut Output,
    registry: &Registry,
    (address, dataset): (Address, &mut Dataset),
) -> Result<()> {
    dataset.sound()?;
    let Some(edited) = &mut dataset.edited else { return Ok(()) };
    if !edited.changed {
        return Ok(());
    }
    let mut outer = edited.outer.take();
    outer.as_mut().map_or(Ok(()), Outer::write).inspect_err(|_| edited.broken = true)?;
    let edited = edited.clone();
    let layout = dataset.attempt(|dataset| dataset.put(session, output, registry, &edited))?;
    let mut header = session.header(address)?;
    if layout != edited.layout {
        let bytes = dataset.bytes()?;
        header.set(MessageType::Layout, 0, |out| layout.encode(out, output.sizes, bytes))?;
    }
    if dataset.dataspace != edited.dataspace {
        let version = header.find(MessageType::Dataspace).and_then(|message| message.body.first().copied());
        let dataspace = &dataset.dataspace;
        let version = present(version, "version of a dataspace")?;
        header.set(MessageType::Dataspace, 0, |out| dataspace.encode(out, output.sizes, version))?;
    }
    header.write(output)?;
    let dataspace = dataset.dataspace.clone();
    dataset.edited = Some(Edited { layout, dataspace, changed: false, waiting: 0, broken: false, outer });
    Ok(())
}

impl Dataset {
    /// Whether another shape, or another greatest one, is going to be written to its header.
    pub(crate) fn is_reshaped(&self) -> bool {
        self.edited.as_ref().is_some_and(|edited| edited.changed && edited.dataspace != self.dataspace)
    }

    /// Fails if an edit failed half way: what is pending must not be committed.
    pub(crate) fn sound(&self) -> Result<()> {
        if self.edited.as_ref().is_some_and(|edited| edited.broken) {
            let problem = "was changed by an edit that failed half way: its file has to be opened again";
            return Err(Error::usage("dataset", problem));
        }
        Ok(())
    }

    /// Keeps what failed half way from being committed.
    pub(crate) fn attempt<T>(&mut self, edit: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let result = edit(self);
        if let Some(edited) = &mut self.edited {
            edited.changed = true;
            edited.broken |= result.is_err();
        }
        result
    }

    /// Moves elements in one piece to fresh space, if that takes less than to let `len` more bytes wait for the commit.
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

    /// Takes away what lies beyond `new`, a shape inside the present one.
    pub(crate) fn shrink(&mut self, output: &mut Output, registry: &Registry, new: &[u64]) -> Result<()> {
        let (size, maximum) = (self.element_size(), self.maximum());
        let shape = self.shape().to_vec();
        let value = self.fill_bytes().map(<[u8]>::to_vec);
        let Data::Chunked(chunked) = &mut self.data else { return Ok(()) };
        let (pipeline, fill_value) = (&self.pipeline, value.as_deref());
        let info = Info { pipeline, registry, size, shape: &shape, maximum: &maximum, fill_value };
        chunked.shrink(output, &info, new)
    }

    /// Chooses another index where an array would have a place for far more chunks than there are, or not for all.
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

    /// Writes what is pending, the header left out; says where the elements are.
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
        let filtered = !self.pipeline.filters.is_empty();
        let old = index_space(session, edited, filtered)?;
        self.thin();
        let bound = match &self.data {
            Data::Chunked(chunked) if chunked.index == Some(IndexKind::BtreeV1) => Bound::Earliest,
            _ => Bound::V110,
        };
        let layout = self.close(output, registry, bound)?;
        release(output, &old)?;
        if let Data::Chunked(chunked) = &mut self.data {
            let live = chunked.implicit.is_none();
            chunked.stored.values_mut().for_each(|stored| stored.live = live);
        }
        Ok(layout)
    }
}

/// The place of the index that the header leads to.
fn index_space(session: &Session, edited: &Edited, filtered: bool) -> Result<Vec<Extent>> {
    let (Layout::Chunked(layout), Dataspace::Simple { dimensions, maximum }) =
        (&edited.layout, &edited.dataspace)
    else {
        return Ok(Vec::new());
    };
    let index = Index { context: session.context(), layout, dimensions, maximum, filtered };
    session.extents(|extents| extents.chunk_index(&index))
}
