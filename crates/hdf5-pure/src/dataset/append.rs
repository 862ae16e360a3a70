//! A dataset that grows while others read it. Each flush writes the chunks first, then their index, then the shape.

use sciformats_core::arith::{fit, mul, product, sub};
use sciformats_core::{Error, Result, Slab, bound};

use crate::chunk::index::write::{Elements, IndexWriter, Shape, beyond};
use crate::chunk::index::{Bounds, StoredChunk, chunk_bytes};
use crate::chunk::write::{Chunked, counts};
use crate::dataset::load;
use crate::dataset::read::{self, Content};
use crate::dataset::write::{Data, Dataset};
use crate::file::open::Opened;
use crate::filter::Registry;
use crate::object::header::{Message, Now, Object};
use crate::space::output::{Output, SIZES};
use crate::spec::message::layout::{IndexKind, Layout};
use crate::spec::message::{MessageType, dataspace};
use crate::spec::object_header::{SHAREABLE, SHARED, Version, v2};
use crate::spec::{Address, put_address, put_checksum};

/// A dataset of a file that others read.
pub(crate) struct Series {
    pub(crate) dataset: Dataset,
    header: LiveHeader,
    index: Option<IndexWriter>,
    /// The address of the index in the object header.
    root: Option<Address>,
    /// The shape that readers see.
    seen: Vec<u64>,
    /// Whether a flush has begun that did not end.
    flushing: bool,
}

impl Series {
    /// Opens the dataset with this header.
    ///
    /// # Errors
    /// Returns `Unsupported` for datasets that readers could not follow, and any error of reading.
    pub(crate) fn open(opened: &Opened, address: Address, output: &mut Output) -> Result<Self> {
        let object = Object::read(&opened.context, address)?;
        let content = read::content(opened, &object)?;
        let layout = content.storage()?.layout.clone();
        let root = match &layout {
            Layout::Chunked(layout) if layout.unfiltered_edges => {
                return Err(unfollowed("whose partial edge chunks are not filtered"));
            }
            Layout::Chunked(layout) => {
                let bytes = chunk_bytes(layout).unwrap_or(u64::MAX); // a bound
                opened.context.limits.memory("bytes of a chunk", bytes)?;
                layout.address
            }
            Layout::Contiguous { address: Some(_) } => None,
            _ => return Err(unfollowed("that is neither chunked nor contiguous with allocated space")),
        };
        if let Layout::Chunked(layout) = &layout
            && !matches!(
                layout.index,
                IndexKind::FixedArray | IndexKind::ExtensibleArray | IndexKind::BtreeV2
            )
        {
            return Err(unfollowed(&format!("whose chunk index is {:?}", layout.index)));
        }
        let header = LiveHeader::open(output, &object, &layout)?;
        let seen = content.dataspace.shape().to_vec();
        let dataset = load::dataset(&opened.context, content, opened.context.btree_k.chunk)?;
        let mut series = Self { dataset, header, index: None, root, seen, flushing: false };
        if let Data::Chunked(chunked) = &mut series.dataset.data {
            chunked.overwrites = series.dataset.pipeline.filters.is_empty();
        }
        Ok(series)
    }

    /// Writes elements. `fetch` reads the messages and the chunk index of the dataset as they are in the file.
    pub(crate) fn write(
        &mut self,
        output: &mut Output,
        registry: &Registry,
        (slab, bytes): (&Slab, &[u8]),
        fetch: &dyn Fn(&Bounds) -> Result<Vec<StoredChunk>>,
    ) -> Result<()> {
        if let Data::Chunked(chunked) = &mut self.dataset.data
            && slab.of().len() == chunked.dimensions.len()
            && let Some(bounds) = before(slab, &chunked.dimensions, &self.seen)
            && !holds(chunked, &bounds)
        {
            output.flush()?;
            for chunk in fetch(&bounds)? {
                let stored = load::stored(&chunk);
                chunked.stored.entry(chunk.scaled.into()).or_insert(stored);
            }
        }
        self.dataset.write(output, registry, slab, bytes)
    }

    /// Returns whether something is not in the file yet.
    pub(crate) fn is_changed(&self) -> bool {
        let chunks = match &self.dataset.data {
            Data::Chunked(chunked) => {
                !chunked.open.is_empty() || chunked.stored.values().any(|stored| !stored.live)
            }
            _ => false,
        };
        self.flushing || chunks || self.seen != self.dataset.shape()
    }

    /// Begins a flush. If it fails, the next one has to do everything that this one did not.
    pub(crate) fn begin(&mut self) {
        self.flushing = self.is_changed();
    }

    /// Ends a flush that has written everything.
    pub(crate) fn end(&mut self) {
        self.flushing = false;
    }

    /// Writes the chunks that are in memory.
    pub(crate) fn store(&mut self, output: &mut Output, registry: &Registry) -> Result<()> {
        self.dataset.flush_chunks(output, registry)
    }

    /// Writes the chunk index for chunks that were stored.
    pub(crate) fn index(&mut self, output: &mut Output) -> Result<()> {
        let element = self.dataset.element_size();
        let (shape, maximum) = (self.dataset.shape().to_vec(), self.dataset.maximum());
        let filtered = !self.dataset.pipeline.filters.is_empty();
        let Data::Chunked(chunked) = &mut self.dataset.data else { return Ok(()) };
        if self.index.is_none() && chunked.stored.values().all(|stored| stored.live) {
            return Ok(());
        }
        let index = match &mut self.index {
            Some(index) => index,
            none => {
                let bytes = mul(product(chunked.dimensions.iter().copied())?, element)?;
                let elements = Elements::new(SIZES, chunked.size_width(filtered, SIZES, bytes), bytes)?;
                let counts = counts(&maximum, &shape, &chunked.dimensions);
                let unlimited = maximum.iter().position(Option::is_none);
                let shape = Shape { chunk: &chunked.dimensions, counts: &counts, unlimited, k: chunked.k };
                let place = (chunked.index.unwrap_or(IndexKind::BtreeV2), self.root);
                let index = IndexWriter::open(output, place, elements, &shape)?;
                none.insert(index.ok_or_else(beyond)?)
            }
        };
        for (scaled, stored) in chunked.stored.iter_mut().filter(|(_, stored)| !stored.live) {
            index.insert(output, scaled, *stored)?;
            stored.live = true;
        }
        chunked.left.clear();
        index.flush(output)?;
        // A chunk stays in memory only if it is not full and can still be filled as the dataset grows. All others will
        // not be written again.
        let dimensions = chunked.dimensions.clone();
        chunked.stored.retain(|scaled, _| {
            let sides = scaled.iter().zip(&dimensions).zip(shape.iter().zip(&maximum));
            sides.into_iter().any(|((&at, &n), (&size, max))| {
                max.is_none_or(|max| size < max) && bound::product(bound::sum(at, 1), n) > size
            })
        });
        Ok(())
    }

    /// Writes the shape, and the address of the chunk index. As in other changes of an object, the times that its header stores
    /// are renewed; `now` is asked only if there are any.
    pub(crate) fn publish(&mut self, output: &mut Output, now: Now<'_>) -> Result<()> {
        if let Some(index) = self.index.as_ref().map(IndexWriter::address).filter(|at| self.root != Some(*at))
        {
            self.header.set_index(index)?;
            if self.root.is_none() {
                self.header.renew_times(now)?;
            }
            self.root = Some(index);
        }
        if self.seen != self.dataset.shape() {
            self.header.set_shape(self.dataset.shape())?;
            self.header.renew_times(now)?;
            self.seen = self.dataset.shape().to_vec();
        }
        self.header.flush(output)
    }
}

/// Returns the chunks of `slab` of which readers see an element.
fn before(slab: &Slab, chunk: &[u64], seen: &[u64]) -> Option<Bounds> {
    let mut bounds = Bounds { first: Vec::new(), last: Vec::new() };
    for ((range, n), size) in slab.ranges().iter().zip(chunk).zip(seen) {
        let last = range.count.checked_sub(1)?.checked_mul(range.step)?.checked_add(range.start)?;
        let first = range.start.checked_div(*n)?;
        let last = last.checked_div(*n)?.min(size.checked_sub(1)?.checked_div(*n)?);
        if last < first {
            return None;
        }
        bounds.first.push(first);
        bounds.last.push(last);
    }
    Some(bounds)
}

/// Returns whether all chunks in `bounds` are known. If there are too many, they are not checked.
fn holds(chunked: &Chunked, bounds: &Bounds) -> bool {
    const MANY: u64 = 256;
    let volume = bounds.volume().unwrap_or(u64::MAX); // a bound
    if volume > MANY {
        return false;
    }
    let inside = |scaled: &[u64]| bounds.holds(scaled);
    let known = chunked.stored.keys().filter(|scaled| inside(scaled)).count();
    let open = chunked.open.keys().filter(|scaled| inside(scaled) && !chunked.stored.contains_key(*scaled));
    bound::sum(known as u64, open.count() as u64) >= volume
}

fn unfollowed(what: &str) -> Error {
    Error::unsupported(format!("SWMR writing to a dataset {what}"))
}

/// The parts of an object header that change while others read it.
struct LiveHeader {
    /// The address and the bytes of each chunk of the header, without the checksum, and whether it was changed.
    parts: Vec<(Address, Vec<u8>, bool)>,
    space: Spot,
    layout: Spot,
}

/// The position of a message: the part, and the offset in it.
#[derive(Clone, Copy)]
struct Spot {
    part: usize,
    start: usize,
    len: usize,
}

impl LiveHeader {
    fn open(output: &mut Output, object: &Object<'_>, layout: &Layout) -> Result<Self> {
        if matches!(object.prefix.version, Version::V1 { .. }) {
            return Err(unfollowed("whose object header has version 1"));
        }
        let base = output.base();
        let mut parts = Vec::new();
        for (offset, len) in object.blocks() {
            let at = Address(sub(offset, base)?);
            let mut bytes = output.read(at, fit(len, "size of an object header")?)?;
            bytes.truncate(sub(bytes.len(), 4)?);
            parts.push((at, bytes, false));
        }
        let spot = |kind: MessageType| -> Result<Spot> {
            let message = object.find(kind).filter(|message| message.flags & (SHARED | SHAREABLE) == 0);
            let found = message.and_then(|message| spot(object, message));
            found.ok_or_else(|| unfollowed("whose dataspace or layout message is shared"))
        };
        let (space, place) = (spot(MessageType::Dataspace)?, spot(MessageType::Layout)?);
        let header = Self { parts, space, layout: place };
        if matches!(layout, Layout::Chunked(_)) {
            // The address of the index is the last field of the message.
            let mut expected = Vec::new();
            layout.encode(&mut expected, SIZES, 0)?;
            let found = header.parts.get(place.part).and_then(|(_, bytes, _)| bytes.get(place.range()));
            if found != Some(&expected[..]) {
                return Err(unfollowed("whose chunk index has unusual parameters"));
            }
        }
        Ok(header)
    }

    fn set_shape(&mut self, shape: &[u64]) -> Result<()> {
        let message = self.message(self.space).ok_or_else(|| unfollowed("without a shape"))?;
        dataspace::put_dimensions(message, shape, SIZES).ok_or_else(|| unfollowed("without a shape"))
    }

    fn set_index(&mut self, at: Address) -> Result<()> {
        let mut bytes = Vec::new();
        put_address(&mut bytes, Some(at), SIZES)?;
        let message = self.message(self.layout).and_then(|message| message.last_chunk_mut::<8>());
        let place = message.ok_or_else(|| unfollowed("without a layout"))?;
        place.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        Ok(())
    }

    /// Renews the times of access and of change, if the header stores times.
    fn renew_times(&mut self, now: Now<'_>) -> Result<()> {
        match self.parts.first_mut() {
            // The prefix begins the first part; its flags are the byte after the signature and the version.
            Some((_, bytes, changed)) if bytes.get(5).is_some_and(|flags| flags & v2::TIMES != 0) => {
                *changed = true;
                v2::put_change(bytes, now()?)
            }
            _ => Ok(()),
        }
    }

    fn message(&mut self, spot: Spot) -> Option<&mut [u8]> {
        let (_, bytes, changed) = self.parts.get_mut(spot.part)?;
        *changed = true;
        bytes.get_mut(spot.range())
    }

    /// Writes what was changed. The part with the shape comes last, so that the new shape becomes visible only when the
    /// rest is complete.
    fn flush(&mut self, output: &mut Output) -> Result<()> {
        let last = self.space.part;
        let order = (0..self.parts.len()).filter(|part| *part != last).chain([last]);
        for part in order {
            let Some((at, bytes, changed)) = self.parts.get_mut(part).filter(|(_, _, changed)| *changed)
            else {
                continue;
            };
            let mut bytes = bytes.clone();
            put_checksum(&mut bytes, 0)?;
            output.write_part(*at, &bytes)?;
            *changed = false;
        }
        Ok(())
    }
}

impl Spot {
    fn range(self) -> std::ops::Range<usize> {
        self.start..bound::sum(self.start, self.len)
    }
}

fn spot(object: &Object<'_>, message: &Message) -> Option<Spot> {
    let holds = |start, len| message.offset >= start && bound::left(message.offset, start) < len;
    let (part, (start, _)) = object.blocks().enumerate().find(|&(_, (start, len))| holds(start, len))?;
    let start = usize::try_from(message.offset.checked_sub(start)?).ok()?;
    Some(Spot { part, start, len: usize::try_from(message.len()).ok()? })
}

/// Returns the content of the dataset at `address`.
pub(crate) fn content(opened: &Opened, address: Address) -> Result<Content> {
    read::content(opened, &Object::read(&opened.context, address)?)
}
