//! Blosc2: chunks have headers with their sizes, so that they are found without the offsets chunk; a sparse frame has one file per
//! chunk.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cframe::{Array, Chunk, ChunkSize, Frame, OpenOptions, Params, Places, SChunk, Special, Value};
use sciformats_convert::convert::Loss;
use sciformats_core::storage::{Access, Durability, Scratch};
use sciformats_core::{Error, ReadAt, Result, bound};

use super::{Found, Notes, Output, ZEROS, object, spoil};
use crate::boxes::{boxes, chunk as chunk_box};
use crate::map::Part;
use crate::report::{Confidence, ObjectReport, State};
use crate::scan::Scan;

/// The file of a sparse frame that has everything but the chunks.
const SPARSE_INDEX: &str = "chunks.b2frame";
/// The size of the long header of a chunk.
const HEADER: u64 = 32;
/// The bytes that are looked at together.
const WINDOW: u64 = 4 << 20;
/// The bytes that may be decoded for each byte of the file, and how many more, while chunks are searched for; and the headers that may be
/// read.
const PER_BYTE: u64 = 64;
const BUDGET: u64 = 256 << 20;
/// The most chunks.
const CHUNKS: u64 = 10_000_000;
/// The metalayers of variable length that say what is missing.
const MISSING: &str = "missing";
const DAMAGE: &str = "damage";

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
                let size = chunk_head(&**source, at).map(|(_, size)| size);
                size.map_or(Place::Lost, |size| Place::At(at, size.into()))
            }
            Ok(cframe::ChunkPlace::Nowhere(kind)) => Place::Nothing(kind),
            _ => Place::Lost,
        };
        places.insert(index, place);
    }
    if frame.rescued().is_some_and(|left| left.places != Places::Indexed) {
        resync(source, frame, &mut places, &mut notes);
    }
    let sizes: Vec<u32> = (0..total.min(CHUNKS)).map(|index| size_of(frame, index, &places)).collect();
    let judge = |place: &Place, index: u64| -> Result<()> {
        if matches!(place, Place::Nothing(_)) {
            return Ok(());
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
    let mut failed = Vec::new();
    for (&index, place) in &places {
        let size = sizes.get(bound::addressable(index)).copied().unwrap_or(0);
        let mut kept = place.clone();
        if let Err(error) = judge(place, index) {
            failed.push((index, error.to_string()));
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
    let array = Array::from_frame(frame.clone()).ok();
    let fits = array.as_ref().is_none_or(|array| fits(array, frame));
    if !fits {
        notes.cause("damaged header", "the shapes of chunks and blocks are not those of the stored chunks");
        spoil(&mut report, State::Partial, "the shape is lost, because it does not fit the chunks");
    }
    let shape = array.filter(|_| fits).map(|array| (array.shape().to_vec(), array.chunk_shape().to_vec()));
    let typesize = u64::from(frame.typesize()).max(1);
    let slab = |index: u64| -> Vec<(Vec<u64>, Vec<u64>)> {
        match &shape {
            Some((shape, chunk)) => vec![chunk_box(shape, chunk, &scaled(shape, chunk, index))],
            None => {
                let start: u64 =
                    sizes.iter().take(bound::addressable(index)).map(|&size| u64::from(size)).sum();
                let size = sizes.get(bound::addressable(index)).copied().unwrap_or(0);
                boxes(
                    &[frame.nbytes() / typesize],
                    start / typesize,
                    (start + u64::from(size)).div_ceil(typesize),
                )
            }
        }
    };
    let mut found = 0u64;
    for (index, (place, _)) in chunks.iter().enumerate() {
        let index = index as u64;
        if matches!(place, Place::Lost) {
            report.missing.extend(slab(index));
            let why = failed.iter().find(|(at, _)| *at == index).map(|(_, why)| why.clone());
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
                report.missing.extend(slab(index));
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
    let mut vlmeta = Vec::new();
    for name in frame.vlmeta_names() {
        match frame.vlmeta(name) {
            Ok(content) => vlmeta.push((name.to_owned(), content)),
            Err(error) => spoil(&mut report, State::Partial, format!("the metalayer {name}: {error}")),
        }
    }
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

/// Returns the decoded and the stored size of the chunk that begins at an offset, if one can begin there and is all in the file.
fn chunk_head(source: &dyn ReadAt, at: u64) -> Option<(u32, u32)> {
    let left = bound::left(source.size(), at);
    let head = source.read_at(at, bound::addressable(left.min(HEADER))).ok()?;
    let (nbytes, cbytes) = head_of(&head)?;
    (u64::from(cbytes) <= left).then_some((nbytes, cbytes))
}

fn head_of(head: &[u8]) -> Option<(u32, u32)> {
    let word = |at: usize| head.get(at..)?.first_chunk().map(|word| u32::from_le_bytes(*word));
    let (version, typesize) = (*head.first()?, *head.get(3)?);
    let (nbytes, blocksize, cbytes) = (word(4)?, word(8)?, word(12)?);
    let right = (1..=6).contains(&version)
        && typesize > 0
        && nbytes < i32::MAX.unsigned_abs()
        && cbytes >= 16
        && u64::from(cbytes) <= u64::from(nbytes) + 4096 + u64::from(blocksize)
        && (blocksize <= nbytes.max(1) || version == 6);
    right.then_some((nbytes, cbytes))
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

/// Looks for chunks behind one that cannot be read. Their numbers are known if exactly so many follow up to the end as the frame
/// still should have.
fn resync(source: &Arc<dyn ReadAt>, frame: &Frame, places: &mut BTreeMap<u64, Place>, notes: &mut Notes) {
    let ChunkSize::Fixed(size) = frame.chunk_size() else { return };
    let total = frame.chunks();
    let Some((&first, _)) = places.iter().find(|(_, place)| matches!(place, Place::Lost)) else { return };
    if places.values().any(|place| matches!(place, Place::Nothing(_))) {
        return;
    }
    let from = match first.checked_sub(1).and_then(|before| places.get(&before)) {
        Some(Place::At(at, len)) => bound::sum(*at, *len),
        None => frame.header().header_len.into(),
        _ => return,
    };
    let end = bound::sum(u64::from(frame.header().header_len), frame.cbytes()).min(source.size());
    let last = bound::left(frame.nbytes(), bound::product(total - 1, size.into()));
    let fits = |nbytes: u32| nbytes == size || u64::from(nbytes) == last;
    // Every place behind the lost chunk from which a chain of chunks leads exactly to the end of the chunks.
    let mut at = from + 1;
    let mut headers = bound::sum(1 << 20, bound::product(2, source.size() / 16));
    while at + 16 <= end {
        let len = bound::addressable((end - at).min(WINDOW + HEADER));
        let Ok(bytes) = source.read_at(at, len) else { return };
        for (i, head) in bytes.windows(16).enumerate() {
            if !head_of(head).is_some_and(|(nbytes, _)| fits(nbytes)) {
                continue;
            }
            let mut chain = Vec::new();
            let mut next = at + i as u64;
            while next < end {
                let Some((_, cbytes)) = chunk_head(&**source, next).filter(|(nbytes, _)| fits(*nbytes))
                else {
                    break;
                };
                headers = match headers.checked_sub(1) {
                    Some(left) => left,
                    None => return,
                };
                chain.push((next, u64::from(cbytes)));
                next += u64::from(cbytes);
            }
            let count = chain.len() as u64;
            // One chunk or more are lost between the first ones and these, each of which was stored, because the sizes say so.
            if next == end && count > 0 && count + first < total {
                let whole = chain.iter().all(|&(place, len)| {
                    source
                        .read_at(place, bound::addressable(len))
                        .is_ok_and(|bytes| decoded(&bytes, None).is_ok())
                });
                if whole && count + first + 1 == total {
                    let reason = format!("{count} chunks lead from here to the end of the chunks");
                    notes.act("go on behind a lost chunk", at + i as u64, reason, Confidence::Medium);
                    for (back, (place, len)) in chain.into_iter().rev().enumerate() {
                        places.insert(total - 1 - back as u64, Place::At(place, len));
                    }
                }
                return;
            }
        }
        at += (len as u64).saturating_sub(15).max(1); // a bound: the windows overlap
    }
}

/// Looks for chunks in a file without a header of a frame.
fn carved(source: &Arc<dyn ReadAt>, mut notes: Notes) -> Result<Found> {
    let size = source.size();
    let mut best: Vec<(u64, u32, u32)> = Vec::new();
    let mut at = 0;
    let mut skip = 0;
    let mut budget = bound::sum(BUDGET, bound::product(PER_BYTE, size));
    let mut spend = |nbytes: u32, cbytes: u32| {
        let cost = bound::sum(u64::from(nbytes), u64::from(cbytes));
        let left = budget.checked_sub(cost);
        budget = left.unwrap_or(0);
        left.is_some()
    };
    while at < size {
        let len = bound::addressable((size - at).min(WINDOW + HEADER));
        let bytes = source.read_at(at, len)?;
        for (i, head) in bytes.windows(16).enumerate() {
            let place = at + i as u64;
            if place < skip || i as u64 >= WINDOW {
                continue;
            }
            let Some(first) =
                head_of(head).filter(|&(nbytes, cbytes)| nbytes > 0 && u64::from(cbytes) <= size - place)
            else {
                continue;
            };
            if !spend(first.0, first.1) {
                break;
            }
            let whole = source.read_at(place, bound::addressable(first.1.into()))?;
            if decoded(&whole, None).is_err() {
                continue;
            }
            let mut chain = Vec::new();
            let mut next = place;
            while let Some((nbytes, cbytes)) = chunk_head(&**source, next) {
                if !spend(nbytes, cbytes) {
                    break;
                }
                let whole = source.read_at(next, bound::addressable(cbytes.into()))?;
                if decoded(&whole, None).is_err() {
                    break;
                }
                chain.push((next, nbytes, cbytes));
                next = bound::sum(next, cbytes.into());
            }
            skip = next;
            if chain.len() > best.len() {
                best = chain;
            }
        }
        at += WINDOW;
    }
    // The last one is the index, if it has one offset for each of the others.
    if let Some(&(_, nbytes, _)) = best.last()
        && best.len() > 1
        && u64::from(nbytes) == 8 * (best.len() as u64 - 1)
    {
        best.pop();
    }
    if best.is_empty() {
        return Ok(notes.found("blosc2", Output::Nothing));
    }
    let start = best.first().map_or(0, |&(at, ..)| at);
    notes.act(
        "make a frame of chunks",
        start,
        format!("{} chunks follow each other", best.len()),
        Confidence::Speculative,
    );
    let typesize = source.read_at(start + 3, 1)?.first().copied().unwrap_or(1);
    let mut report = object("/", start, "array");
    spoil(
        &mut report,
        State::Partial,
        "the header of the frame is lost, and with it the shape and what says which chunks were not stored",
    );
    report.chunks = Some((best.len() as u64, best.len() as u64));
    let chunks = best
        .iter()
        .map(|&(at, nbytes, cbytes)| {
            notes.structure("chunk", (at, bound::sum(at, cbytes.into())), Part::Carved);
            (Place::At(at, cbytes.into()), nbytes)
        })
        .collect();
    let params = Params::new(u32::from(typesize).max(1));
    let saved = Saved {
        source: Some(source.clone()),
        params,
        metalayers: Vec::new(),
        vlmeta: Vec::new(),
        chunks,
        missing: Vec::new(),
        damage: None,
    };
    finish(notes, report, saved)
}

/// Examines the folder of a sparse frame.
pub(crate) fn examine_folder(folder: &Path) -> Result<Found> {
    let empty: Arc<dyn ReadAt> = Arc::new(Vec::new());
    let mut notes = Notes::new(&empty, Scan::default());
    let mut files: BTreeMap<u64, PathBuf> = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(|error| Error::io("read", error))? {
        let path = entry.map_err(|error| Error::io("read", error))?.path();
        let number =
            path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".chunk"));
        if let Some(number) =
            number.filter(|name| name.len() == 8).and_then(|name| u64::from_str_radix(name, 16).ok())
        {
            files.insert(number, path);
        }
    }
    let index = Access::default().open(folder.join(SPARSE_INDEX));
    let frame = index.and_then(|_| Frame::open_with(folder, &options(Access::default())));
    let mut report = object("/", 0, "array");
    let mut chunks: Vec<(Place, u32)> = Vec::new();
    let read = |path: &Path| -> Result<Vec<u8>> {
        let storage = Access::default().open(path)?;
        Ok(storage.read_at(0, bound::addressable(storage.size()))?.into_owned())
    };
    let check = |path: &Path, expected: Option<u32>| -> Result<u32> {
        let bytes = read(path)?;
        decoded(&bytes, expected)?;
        Ok(u32::try_from(Chunk::new(&bytes).map_or(0, |chunk| chunk.nbytes())).unwrap_or(0))
    };
    let (params, metalayers, vlmeta) = match &frame {
        Ok(frame) => {
            let total = frame.chunks().min(CHUNKS);
            let mut places = BTreeMap::new();
            for index in 0..total {
                let place = match frame.chunk_place(index) {
                    Ok(cframe::ChunkPlace::File(name)) => Place::File(folder.join(name)),
                    Ok(cframe::ChunkPlace::Nowhere(kind)) => Place::Nothing(kind),
                    _ => Place::Lost,
                };
                places.insert(index, place);
            }
            for (index, place) in &places {
                let size = match frame.chunk_size() {
                    ChunkSize::Fixed(_) => size_of(frame, *index, &places),
                    _ => 0,
                };
                let fixed = matches!(frame.chunk_size(), ChunkSize::Fixed(_)).then_some(size);
                let kept = match place {
                    Place::File(path) => match check(path, fixed) {
                        Ok(size) => (place.clone(), size),
                        Err(error) => {
                            spoil(&mut report, State::Partial, format!("chunk {index}: {error}"));
                            (Place::Lost, size)
                        }
                    },
                    other => (other.clone(), size),
                };
                chunks.push(kept);
            }
            let metalayers =
                frame.metalayers().map(|(name, content)| (name.to_owned(), content.to_vec())).collect();
            let vlmeta = frame
                .vlmeta_names()
                .filter_map(|name| Some((name.to_owned(), frame.vlmeta(name).ok()?)))
                .collect();
            (SChunk::from_frame(frame.clone()).params(), metalayers, vlmeta)
        }
        Err(error) => {
            notes.cause("lost index", format!("{SPARSE_INDEX}: {error}"));
            notes.act(
                "make an index",
                0,
                "the chunks are taken in the order of the names of their files",
                Confidence::Speculative,
            );
            spoil(
                &mut report,
                State::Partial,
                "the index of the folder is lost, and with it the shape, the order of the chunks and what says which were not stored",
            );
            let mut typesize = 1;
            for (number, path) in &files {
                match check(path, None) {
                    Ok(size) => {
                        typesize = read(path)?.get(3).copied().map_or(1, u32::from).max(1);
                        chunks.push((Place::File(path.clone()), size));
                    }
                    Err(error) => spoil(&mut report, State::Partial, format!("file {number:08X}: {error}")),
                }
            }
            (Params::new(typesize), Vec::new(), Vec::new())
        }
    };
    let lost: Vec<u64> = (0..)
        .zip(&chunks)
        .filter(|(_, (place, _))| matches!(place, Place::Lost))
        .map(|(index, _)| index)
        .collect();
    if !lost.is_empty() {
        notes.cause("lost files", format!("{} chunks have no file that can be read", lost.len()));
        let shape = frame
            .as_ref()
            .ok()
            .and_then(|frame| Array::from_frame(frame.clone()).ok())
            .map(|array| (array.shape().to_vec(), array.chunk_shape().to_vec()));
        let typesize = frame.as_ref().map_or(1, |frame| u64::from(frame.typesize())).max(1);
        for &index in &lost {
            match &shape {
                Some((shape, chunk)) => {
                    report.missing.push(chunk_box(shape, chunk, &scaled(shape, chunk, index)));
                }
                None => {
                    let start: u64 =
                        chunks.iter().take(bound::addressable(index)).map(|(_, size)| u64::from(*size)).sum();
                    let size = chunks.get(bound::addressable(index)).map_or(0, |(_, size)| u64::from(*size));
                    report.missing.push((vec![start / typesize], vec![size.div_ceil(typesize)]));
                }
            }
        }
    }
    *notes.structures.entry("chunk file").or_insert(0) += files.len() as u64;
    let total = chunks.len() as u64;
    report.chunks = Some((total - lost.len() as u64, total));
    if total > 0 && lost.len() as u64 == total || total == 0 && frame.is_err() {
        report.state = State::Metadata;
    }
    finish(
        notes,
        report,
        Saved { source: None, params, metalayers, vlmeta, chunks, missing: Vec::new(), damage: None },
    )
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
        for (name, content) in &self.vlmeta {
            frame.set_vlmeta(name, content)?;
        }
        if let Some(damage) = &self.damage {
            frame.set_vlmeta_value(DAMAGE, &Value::Text(damage.clone()))?;
        }
        if !self.missing.is_empty() {
            let row = |(start, count): &(Vec<u64>, Vec<u64>)| {
                Value::List(start.iter().chain(count).map(|&n| Value::Int(n.into())).collect())
            };
            frame.set_vlmeta_value(
                MISSING,
                &Value::List(self.missing.iter().take(100_000).map(row).collect()),
            )?;
        }
        frame.commit()?;
        drop(frame);
        scratch.finish(Durability::Power)?;
        Ok(losses)
    }
}
