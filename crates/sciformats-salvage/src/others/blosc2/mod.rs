//! Blosc2: chunks have headers with their sizes, so that they are found without the offsets chunk; a sparse frame has one file per
//! chunk.

mod folder;
mod marks;
mod search;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cframe::{Array, ChunkSize, Frame, OpenOptions, Params, Places, SChunk, Special};
use sciformats_convert::convert::Loss;
use sciformats_core::storage::{Access, Durability, Scratch};
use sciformats_core::{Error, ReadAt, Result, bound};

pub(crate) use self::folder::examine_folder;
use self::search::{carved, chunk_head, resync};
use super::{Found, Notes, Output, ZEROS, object, spoil};
use crate::boxes::chunk as chunk_box;
use crate::map::Part;
use crate::report::{Confidence, ObjectReport, State};
use crate::scan::Scan;

/// The most chunks.
const CHUNKS: u64 = 10_000_000;

/// Where a chunk is.
#[derive(Clone, Debug)]
enum Place {
    /// At an offset of the file, with its length.
    At(u64, u64),
    /// In a file.
    File(PathBuf),
    /// It consists of one value.
    Nothing(Special),
    /// It is lost.
    Lost,
}

/// The clean frame that is left.
pub(crate) struct Saved {
    source: Option<Arc<dyn ReadAt>>,
    params: Params,
    metalayers: Vec<(String, Vec<u8>)>,
    vlmeta: Vec<(String, Vec<u8>)>,
    /// Each chunk's place and decoded size.
    chunks: Vec<(Place, u32)>,
    missing: Vec<(Vec<u64>, Vec<u64>)>,
    damage: Option<String>,
}

fn options(access: Access) -> OpenOptions {
    OpenOptions::default()
        .with_registry(sciformats_filters::blosc2::registry())
        .with_access(access)
        .with_rescue(true)
}

/// Returns whether fields of a frame's header are where they should be although the magic number may be damaged.
pub(crate) fn looks_like(source: &dyn ReadAt) -> bool {
    let Ok(head) = source.read_at(0, bound::addressable(source.size().min(87))) else { return false };
    // The marks of MessagePack before the fields.
    let marks = [
        (0, 0x9e),
        (1, 0xa8),
        (10, 0xd2),
        (15, 0xcf),
        (24, 0xa4),
        (29, 0xd3),
        (38, 0xd3),
        (47, 0xd2),
        (52, 0xd2),
        (69, 0xd8),
    ];
    head.len() == 87 && marks.iter().filter(|&&(at, mark)| head.get(at) == Some(&mark)).count() >= 8
}

/// Examines a contiguous frame.
pub(crate) fn examine(source: &Arc<dyn ReadAt>, scan: Scan) -> Result<Found> {
    let mut notes = Notes::new(source, scan);
    let mut head = source.read_at(0, bound::addressable(source.size().min(10)))?.into_owned();
    if head != *b"\x9e\xa8b2frame\0" {
        notes.cause("overwritten head", "the magic number is not that of a frame");
    }
    head.clear();
    let patch = sciformats_core::storage::Patch { offset: 0, bytes: b"\x9e\xa8b2frame\0".to_vec() };
    let view: Arc<dyn ReadAt> = match notes.causes.is_empty() {
        true => source.clone(),
        false => Arc::new(crate::laid::Laid::new(source.clone(), vec![patch])),
    };
    match Frame::from_storage(view, 0, &options(Access::default())) {
        Ok(frame) => {
            if !notes.causes.is_empty() {
                notes.act(
                    "write the magic number",
                    0,
                    "the fields after it are those of a frame",
                    Confidence::Medium,
                );
            }
            framed(source, &frame, notes)
        }
        Err(error @ (Error::Io { .. } | Error::LimitExceeded { .. })) => Err(error),
        Err(error) => {
            notes.cause("damaged header", error.to_string());
            carved(source, notes)
        }
    }
}

/// Examines a frame whose header can be read.
fn framed(source: &Arc<dyn ReadAt>, frame: &Frame, mut notes: Notes) -> Result<Found> {
    let header = u64::from(frame.header().header_len);
    notes.cut_off(frame.frame_len());
    notes.structure("frame header", (0, header.min(source.size())), Part::Reached);
    let total = frame.chunks();
    let mut places: BTreeMap<u64, Place> = BTreeMap::new();
    let mut doubt = None;
    if let Some(left) = frame.rescued() {
        if notes.causes.is_empty() {
            notes.cause(
                "changed bytes",
                "the end of the frame, which has the index of the chunks, cannot be read",
            );
        }
        let (reason, confidence) = match left.places {
            Places::Indexed => ("the trailer alone is lost", Confidence::High),
            Places::Counted => ("there are as many chunks as the header declares", Confidence::Medium),
            Places::Assumed => {
                ("the chunks are taken for the first ones of the frame", Confidence::Speculative)
            }
            _ => ("some chunks are not stored, and nothing says which", Confidence::Speculative),
        };
        notes.act("find the chunks by their headers", header, reason, confidence);
        if left.places == Places::Assumed {
            doubt = Some(
                "the index of the chunks is lost; a chunk of zeros, which is not stored, would have moved those behind it",
            );
        }
    }
    for index in 0..total.min(CHUNKS) {
        let place = match frame.chunk_place(index) {
            Ok(cframe::ChunkPlace::At(at)) => {
                // The index leads to it, so it need not look like a chunk to those who search for one.
                let read = frame.chunk(index).ok().map(|chunk| chunk.cbytes() as u64);
                let size = read.or_else(|| chunk_head(&**source, at).map(|(_, size)| size.into()));
                size.map_or(Place::Lost, |size| Place::At(at, size))
            }
            Ok(cframe::ChunkPlace::Nowhere(kind)) => Place::Nothing(kind),
            _ => Place::Lost,
        };
        places.insert(index, place);
    }
    if frame.rescued().is_some_and(|left| left.places != Places::Indexed) {
        resync(source, frame, &mut places, &mut notes);
    }
    let unsized_by = unsized_by(frame);
    let sizes: Vec<u32> = (0..total.min(CHUNKS))
        .map(|index| if unsized_by.is_some() { 0 } else { size_of(frame, index, &places) })
        .collect();
    let judge = |place: &Place, index: u64| -> Result<()> {
        if matches!(place, Place::Nothing(_)) {
            return unsized_by.clone().map_or(Ok(()), Err);
        }
        // The frame knows the shape of blocks, which some codecs need, but not where chunks are that were searched for.
        let found = frame.chunk(index).and_then(|chunk| chunk.decode().map(drop));
        match place {
            Place::At(at, size) if found.is_err() => {
                let bytes = source.read_at(*at, bound::addressable(*size))?;
                decoded(&bytes, sizes.get(bound::addressable(index)).copied())
            }
            _ => found,
        }
    };
    let mut chunks = Vec::new();
    let damaged = !notes.causes.is_empty();
    let mut failed = BTreeMap::new();
    for (&index, place) in &places {
        let size = sizes.get(bound::addressable(index)).copied().unwrap_or(0);
        let mut kept = place.clone();
        if let Err(error) = judge(place, index) {
            failed.insert(index, error.to_string());
            kept = Place::Lost;
        } else if let Place::At(at, size) = place {
            notes.structure("chunk", (*at, bound::sum(*at, *size)), Part::Reached);
        }
        chunks.push((kept, size));
    }
    if !failed.is_empty() && !damaged {
        notes.cause("changed bytes", "chunks cannot be decoded");
    }
    let mut report = object("/", header, "array");
    let declared = frame.metalayer("b2nd").or_else(|| frame.metalayer("caterva")).is_some();
    let array = declared.then(|| Array::from_frame(frame.clone())).transpose();
    if let Err(error @ (Error::Unsupported { .. } | Error::LimitExceeded { .. })) = &array {
        spoil(&mut report, State::Partial, format!("the shape cannot be read: {error}"));
    }
    let fits = match &array {
        Ok(array) => array.as_ref().is_none_or(|array| fits(array, frame)),
        Err(error) => matches!(error, Error::Unsupported { .. } | Error::LimitExceeded { .. }),
    };
    let array = array.ok().flatten();
    if !fits {
        notes.cause("damaged header", "the shapes of chunks and blocks are not those of the stored chunks");
        spoil(&mut report, State::Partial, "the shape is lost, because it does not fit the chunks");
    }
    let shape = array.filter(|_| fits).map(|array| (array.shape().to_vec(), array.chunk_shape().to_vec()));
    let typesize = u64::from(frame.typesize()).max(1);
    let extents = Extents::new(shape, typesize, &sizes);
    let mut found = 0u64;
    for (index, (place, _)) in chunks.iter().enumerate() {
        let index = index as u64;
        if matches!(place, Place::Lost) {
            report.missing.extend(extents.of(index));
            let why = failed.get(&index).cloned();
            spoil(&mut report, State::Partial, why.unwrap_or_else(|| "chunks were not found".into()));
            continue;
        }
        found += 1;
        if let Place::At(at, size) = place
            && (damaged || !failed.is_empty())
        {
            let mut zeros = false;
            notes.zeros_in(*at, *size, &mut |_, _| zeros = true);
            if zeros {
                report.missing.extend(extents.of(index));
                spoil(&mut report, State::Partial, ZEROS);
            }
        }
    }
    if let Some(doubt) = doubt.filter(|_| found > 0) {
        spoil(&mut report, State::Partial, doubt);
    }
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
    let params = SChunk::from_frame(frame.clone()).params();
    finish(
        notes,
        report,
        Saved {
            source: Some(source.clone()),
            params,
            metalayers,
            vlmeta,
            chunks,
            missing: Vec::new(),
            damage: None,
        },
    )
}

/// Returns the metalayers of variable length that can be read.
fn readable_vlmeta(frame: &Frame, report: &mut ObjectReport) -> Vec<(String, Vec<u8>)> {
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

/// Completes what is to be written by what the report says.
fn finish(mut notes: Notes, report: ObjectReport, mut saved: Saved) -> Result<Found> {
    if report.state > State::Unchecked {
        saved.damage = Some(format!("{}: {}", report.state.word(), report.reasons.join("; ")));
        saved.missing.clone_from(&report.missing);
        // Chunks that are lost at the end are not written, because nothing tells how many the frame really had.
        let nothing = report.state == State::Metadata;
        if nothing {
            notes.objects.push(report);
            return Ok(notes.found("blosc2", Output::Nothing));
        }
    }
    notes.objects.push(report);
    Ok(notes.found("blosc2", Output::Blosc2(Box::new(saved))))
}

/// Which elements each chunk has.
enum Extents {
    /// Those of a part of an array, of which this is the shape and that of the chunks.
    Grid(Vec<u64>, Vec<u64>),
    /// Those that follow those of the chunks before it: its first and its last byte, and the size of an element.
    Line(Vec<(u64, u64)>, u64),
}

impl Extents {
    /// Describes chunks with these numbers of bytes. Without the shapes of the array and of its chunks they are one line.
    fn new<'a>(
        shape: Option<(Vec<u64>, Vec<u64>)>,
        typesize: u64,
        sizes: impl IntoIterator<Item = &'a u32>,
    ) -> Self {
        if let Some((shape, chunk)) = shape {
            return Self::Grid(shape, chunk);
        }
        let parts = sizes.into_iter().scan(0, |end, &size| {
            let start = *end;
            *end = bound::sum(start, u64::from(size));
            Some((start, *end))
        });
        Self::Line(parts.collect(), typesize.max(1))
    }

    /// Returns the box of the elements of a chunk; `None` if it has none.
    fn of(&self, index: u64) -> Option<(Vec<u64>, Vec<u64>)> {
        match self {
            Self::Grid(shape, chunk) => Some(chunk_box(shape, chunk, &scaled(shape, chunk, index))),
            Self::Line(parts, typesize) => {
                let (start, end) = parts.get(bound::addressable(index))?;
                let (first, last) = (start / typesize, end.div_ceil(*typesize));
                let count = last.checked_sub(first).filter(|&count| count > 0)?;
                Some((vec![first], vec![count]))
            }
        }
    }
}

/// Returns the index of a chunk in the grid of an array.
fn scaled(shape: &[u64], chunk: &[u64], mut index: u64) -> Vec<u64> {
    let mut found: Vec<u64> = shape
        .iter()
        .zip(chunk)
        .rev()
        .map(|(size, n)| {
            let count = size.div_ceil((*n).max(1)).max(1);
            let at = index % count;
            index /= count;
            at
        })
        .collect();
    found.reverse();
    found
}

fn decoded(bytes: &[u8], expected: Option<u32>) -> Result<()> {
    let whole = cframe::decompress_with(bytes, &options(Access::default()))?;
    match expected {
        Some(expected) if whole.len() as u64 != u64::from(expected) => {
            Err(Error::usage("chunk", format!("has {} bytes in place of {expected}", whole.len())))
        }
        _ => Ok(()),
    }
}

/// Returns why the sizes of chunks that vary are not known, if they are not. One that is not stored has what the others leave.
fn unsized_by(frame: &Frame) -> Option<Error> {
    match frame.chunk_size() {
        ChunkSize::Fixed(_) => None,
        _ if frame.chunks() == 0 => None,
        _ => frame.chunk_range(0).err(),
    }
}

fn size_of(frame: &Frame, index: u64, places: &BTreeMap<u64, Place>) -> u32 {
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

impl Saved {
    /// Writes a contiguous frame. Chunks are copied as they are stored.
    pub(super) fn write(&self, path: &Path, written: u64) -> Result<Vec<Loss>> {
        /// The bytes after which chunks go into the file, so that they do not gather in memory.
        const HELD: u64 = 256 << 20;
        let scratch = Scratch::beside(path)?;
        let mut frame = SChunk::create(scratch.path(), self.params)?;
        for (name, content) in &self.metalayers {
            frame.set_metalayer(name, content)?;
        }
        let mut losses = Vec::new();
        let (mut held, mut made) = (0, 0);
        let limit =
            written.max(bound::product(self.source.as_ref().map_or(0, sciformats_core::ReadAt::size), 1032));
        for (index, (place, size)) in self.chunks.iter().enumerate() {
            let bytes = match place {
                Place::At(at, len) => match &self.source {
                    Some(source) => source.read_at(*at, bound::addressable(*len))?.into_owned(),
                    None => continue,
                },
                Place::File(path) => {
                    let storage = Access::default().open(path)?;
                    storage.read_at(0, bound::addressable(storage.size()))?.into_owned()
                }
                Place::Nothing(_) | Place::Lost => {
                    let kind = if let Place::Nothing(kind) = place { *kind } else { Special::Zeros };
                    made = bound::sum(made, u64::from(*size));
                    if made > limit {
                        losses.push(Loss {
                            path: "/".into(),
                            what: format!("chunks from number {index} on are left out"),
                            lost: None,
                        });
                        break;
                    }
                    if *size > 0 {
                        frame.append_special(kind, &[], *size)?;
                    } else if matches!(place, Place::Lost) {
                        let what =
                            format!("chunk {index} is left out: its size is lost, and those behind it move");
                        losses.push(Loss { path: "/".into(), what, lost: None });
                    }
                    continue;
                }
            };
            held += bytes.len() as u64;
            frame.insert_chunk(frame.chunks(), bytes)?;
            if held > HELD {
                frame.commit()?;
                held = 0;
            }
        }
        losses.extend(self.write_vlmeta(&mut frame)?);
        frame.commit()?;
        drop(frame);
        scratch.finish(Durability::Power)?;
        Ok(losses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chunk_has_its_elements() {
        let line = Extents::new(None, 4, &[8, 0, 6, 12]);
        let found: Vec<_> = (0..5).map(|index| line.of(index)).collect();
        let part = |first, count| Some((vec![first], vec![count]));
        // A chunk that ends within an element has the whole of it.
        assert_eq!(found, [part(0, 2), None, part(2, 2), part(3, 4), None]);
        let grid = Extents::new(Some((vec![3, 5], vec![2, 4])), 4, &[]);
        assert_eq!(grid.of(3), Some((vec![2, 4], vec![1, 1])));
    }

    #[test]
    fn many_lost_chunks_take_no_longer_each() {
        // With the sum of the sizes for each of them, this would take hours.
        let line = Extents::new(None, 1, &vec![1; 3_000_000]);
        assert!((0..3_000_000).all(|index| line.of(index) == Some((vec![index], vec![1]))));
    }
}
