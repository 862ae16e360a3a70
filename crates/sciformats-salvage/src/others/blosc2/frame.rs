//! Frames whose header can be read.

use std::collections::BTreeMap;
use std::sync::Arc;

use cframe::{Array, ChunkSize, Frame, Places, SChunk};
use sciformats_core::{Error, ReadAt, Result, bound};

use super::extents::Extents;
use super::search::{chunk_head, resync};
use super::{CHUNKS, Place, Saved, decoded, finish};
use crate::map::Part;
use crate::others::{Found, Notes, ZEROS, object, spoil};
use crate::report::{Confidence, ObjectReport, State};

/// Examines a frame whose header can be read.
pub(super) fn framed(source: &Arc<dyn ReadAt>, frame: &Frame, mut notes: Notes) -> Result<Found> {
    let header = u64::from(frame.header().header_len);
    notes.cut_off(frame.frame_len());
    notes.structure("frame header", (0, header.min(source.size())), Part::Reached);
    let doubt = without_index(frame, header, &mut notes);
    let mut places = places(&**source, frame);
    if frame.rescued().is_some_and(|left| left.places != Places::Indexed) {
        resync(source, frame, &mut places, &mut notes);
    }
    let damaged = !notes.causes.is_empty();
    let judged = Judged::new(&**source, frame, &places, &mut notes);
    if !judged.failed.is_empty() && !damaged {
        notes.cause("changed bytes", "chunks cannot be decoded");
    }
    let mut report = object("/", header, "array");
    let (shape, fits) = shape(frame, &mut notes, &mut report);
    let sizes = judged.chunks.iter().map(|(_, size)| size);
    let extents = Extents::new(shape, u64::from(frame.typesize()), sizes);
    let found = judged.found(&extents, damaged, &notes, &mut report);
    if let Some(doubt) = doubt.filter(|_| found > 0) {
        spoil(&mut report, State::Partial, doubt);
    }
    let total = frame.chunks();
    if total > CHUNKS {
        spoil(&mut report, State::Partial, "the frame declares more chunks than are examined");
    }
    report.chunks = Some((found, total));
    if found == 0 && total > 0 {
        report.state = State::Metadata;
    }
    let metalayers = frame
        .metalayers()
        .filter(|(name, _)| fits || !matches!(*name, "b2nd" | "caterva"))
        .map(|(name, content)| (name.to_owned(), content.to_vec()))
        .collect();
    let vlmeta = readable_vlmeta(frame, &mut report);
    if frame.header().has_vlmeta && vlmeta.is_empty() {
        spoil(&mut report, State::Partial, "the metalayers at the end of the frame are lost");
    }
    let saved = Saved {
        source: Some(source.clone()),
        params: SChunk::from_frame(frame.clone()).params(),
        metalayers,
        vlmeta,
        chunks: judged.chunks,
        missing: Vec::new(),
        damage: None,
    };
    finish(notes, report, saved)
}

/// Says how chunks are found if the index of a frame cannot be read, and returns the doubt that remains.
fn without_index(frame: &Frame, header: u64, notes: &mut Notes) -> Option<&'static str> {
    let left = frame.rescued()?;
    if notes.causes.is_empty() {
        notes.cause(
            "changed bytes",
            "the end of the frame, which has the index of the chunks, cannot be read",
        );
    }
    let (reason, confidence) = match left.places {
        Places::Indexed => ("the trailer alone is lost", Confidence::High),
        Places::Counted => ("there are as many chunks as the header declares", Confidence::Medium),
        Places::Assumed => ("the chunks are taken for the first ones of the frame", Confidence::Speculative),
        _ => ("some chunks are not stored, and nothing says which", Confidence::Speculative),
    };
    notes.act("find the chunks by their headers", header, reason, confidence);
    (left.places == Places::Assumed).then_some(
        "the index of the chunks is lost; a chunk of zeros, which is not stored, would have moved those behind it",
    )
}

/// Returns where the chunks of a frame are, as the frame says.
fn places(source: &dyn ReadAt, frame: &Frame) -> BTreeMap<u64, Place> {
    let place = |index| match frame.chunk_place(index) {
        Ok(cframe::ChunkPlace::At(at)) => {
            // The index leads to it, so it need not look like a chunk to those who search for one.
            let read = frame.chunk(index).ok().map(|chunk| chunk.cbytes() as u64);
            let size = read.or_else(|| chunk_head(source, at).map(|(_, size)| size.into()));
            size.map_or(Place::Lost, |size| Place::At(at, size))
        }
        Ok(cframe::ChunkPlace::Nowhere(kind)) => Place::Nothing(kind),
        _ => Place::Lost,
    };
    (0..frame.chunks().min(CHUNKS)).map(|index| (index, place(index))).collect()
}

/// The chunks of a frame after each of them was decoded.
struct Judged {
    /// Each chunk's place and decoded size. One that cannot be decoded is lost.
    chunks: Vec<(Place, u32)>,
    /// Why chunks cannot be decoded.
    failed: BTreeMap<u64, String>,
}

impl Judged {
    fn new(source: &dyn ReadAt, frame: &Frame, places: &BTreeMap<u64, Place>, notes: &mut Notes) -> Self {
        let unsized_by = unsized_by(frame);
        let (mut chunks, mut failed) = (Vec::new(), BTreeMap::new());
        for (&index, place) in places {
            let size = if unsized_by.is_some() { 0 } else { size_of(frame, index, places) };
            let found = match (place, &unsized_by) {
                (Place::Nothing(_), Some(error)) => Err(error.clone()),
                (Place::Nothing(_), None) => Ok(()),
                _ => decoded_at(source, frame, (index, place), size),
            };
            let mut kept = place.clone();
            if let Err(error) = found {
                failed.insert(index, error.to_string());
                kept = Place::Lost;
            } else if let Place::At(at, size) = place {
                notes.structure("chunk", (*at, bound::sum(*at, *size)), Part::Reached);
            }
            chunks.push((kept, size));
        }
        Self { chunks, failed }
    }

    /// Counts the chunks that were found, and lists the elements of the others. Of a damaged file, zeros are doubted.
    fn found(&self, extents: &Extents, damaged: bool, notes: &Notes, report: &mut ObjectReport) -> u64 {
        let mut found = 0;
        for (index, (place, _)) in (0..).zip(&self.chunks) {
            if matches!(place, Place::Lost) {
                report.missing.extend(extents.of(index));
                let why = self.failed.get(&index).cloned();
                spoil(report, State::Partial, why.unwrap_or_else(|| "chunks were not found".into()));
                continue;
            }
            found += 1;
            if let Place::At(at, size) = place
                && (damaged || !self.failed.is_empty())
            {
                let mut zeros = false;
                notes.zeros_in(*at, *size, &mut |_, _| zeros = true);
                if zeros {
                    report.missing.extend(extents.of(index));
                    spoil(report, State::Partial, ZEROS);
                }
            }
        }
        found
    }
}

/// Decodes a chunk that is stored.
fn decoded_at(source: &dyn ReadAt, frame: &Frame, (index, place): (u64, &Place), size: u32) -> Result<()> {
    // The frame knows the shape of blocks, which some codecs need, but not where chunks are that were searched for.
    let found = frame.chunk(index).and_then(|chunk| chunk.decode().map(drop));
    match place {
        Place::At(at, len) if found.is_err() => {
            decoded(&source.read_at(*at, bound::addressable(*len))?, Some(size))
        }
        _ => found,
    }
}

/// The shape of an array and of its chunks.
type Shape = (Vec<u64>, Vec<u64>);

/// Returns the shape of the array that a frame has, if there is one that can be read, and whether it fits the chunks.
fn shape(frame: &Frame, notes: &mut Notes, report: &mut ObjectReport) -> (Option<Shape>, bool) {
    let declared = frame.metalayer("b2nd").or_else(|| frame.metalayer("caterva")).is_some();
    let array = declared.then(|| Array::from_frame(frame.clone())).transpose();
    if let Err(error @ (Error::Unsupported { .. } | Error::LimitExceeded { .. })) = &array {
        spoil(report, State::Partial, format!("the shape cannot be read: {error}"));
    }
    let fits = match &array {
        Ok(array) => array.as_ref().is_none_or(|array| fits(array, frame)),
        Err(error) => matches!(error, Error::Unsupported { .. } | Error::LimitExceeded { .. }),
    };
    if !fits {
        notes.cause("damaged header", "the shapes of chunks and blocks are not those of the stored chunks");
        spoil(report, State::Partial, "the shape is lost, because it does not fit the chunks");
    }
    let array = array.ok().flatten().filter(|_| fits);
    (array.map(|array| (array.shape().to_vec(), array.chunk_shape().to_vec())), fits)
}

/// Returns the metalayers of variable length that can be read.
pub(super) fn readable_vlmeta(frame: &Frame, report: &mut ObjectReport) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for name in frame.vlmeta_names() {
        match frame.vlmeta(name) {
            Ok(content) => found.push((name.to_owned(), content)),
            Err(error) => spoil(report, State::Partial, format!("the metalayer {name}: {error}")),
        }
    }
    found
}

/// Returns whether the chunks of an array have the size that its shapes declare: whole blocks.
fn fits(array: &Array, frame: &Frame) -> bool {
    let ChunkSize::Fixed(size) = frame.chunk_size() else { return true };
    let lengths = array.chunk_shape().iter().zip(array.block_shape());
    let items = lengths.fold(1, |items, (&chunk, &block)| {
        let block = block.max(1);
        bound::product(items, bound::product(chunk.div_ceil(block), block))
    });
    let counts = array.shape().iter().zip(array.chunk_shape());
    let chunks = counts.fold(1, |chunks, (&n, &chunk)| bound::product(chunks, n.div_ceil(chunk.max(1))));
    bound::product(items, frame.typesize().into()) == u64::from(size) && chunks == frame.chunks()
}

/// Returns why the sizes of chunks that vary are not known, if they are not. One that is not stored has what the others leave.
pub(super) fn unsized_by(frame: &Frame) -> Option<Error> {
    match frame.chunk_size() {
        ChunkSize::Fixed(_) => None,
        _ if frame.chunks() == 0 => None,
        _ => frame.chunk_range(0).err(),
    }
}

pub(super) fn size_of(frame: &Frame, index: u64, places: &BTreeMap<u64, Place>) -> u32 {
    match frame.chunk_size() {
        ChunkSize::Fixed(size) => {
            let left = bound::left(frame.nbytes(), bound::product(index, size.into()));
            u32::try_from(left).map_or(size, |left| left.min(size))
        }
        _ => match places.get(&index) {
            Some(Place::At(..) | Place::Nothing(_)) => frame
                .chunk_range(index)
                .map_or(0, |range| u32::try_from(bound::left(range.end, range.start)).unwrap_or(0)),
            _ => 0,
        },
    }
}
