//! Sparse frames, which are folders of one file per chunk.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cframe::{Array, Chunk, ChunkSize, Frame, Params, Places, SChunk};
use sciformats_core::storage::Access;
use sciformats_core::{Error, ReadAt, Result, bound};

use super::extents::Extents;
use super::frame::{readable_vlmeta, size_of, unsized_by};
use super::{CHUNKS, Place, Saved, decoded, finish, options};
use crate::others::{Found, Notes, object, spoil};
use crate::report::{Confidence, ObjectReport, State};
use crate::scan::Scan;

/// The file of a sparse frame that has everything but the chunks.
const SPARSE_INDEX: &str = "chunks.b2frame";

/// Examines the folder of a sparse frame.
pub(crate) fn examine_folder(folder: &Path) -> Result<Found> {
    let empty: Arc<dyn ReadAt> = Arc::new(Vec::new());
    let mut notes = Notes::new(&empty, Scan::default());
    let mut report = object("/", 0, "array");
    let files = chunk_files(folder)?;
    *notes.structures.entry("chunk file").or_insert(0) += files.len() as u64;
    let index = Access::default().open(folder.join(SPARSE_INDEX));
    let frame = index.and_then(|_| Frame::open_with(folder, &options(Access::default())));
    let saved = match &frame {
        Ok(frame) => indexed(folder, frame, &files, (&mut notes, &mut report)),
        Err(error) => unindexed(&files, error, (&mut notes, &mut report))?,
    };
    let lost: Vec<u64> = (0..)
        .zip(&saved.chunks)
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
        let typesize = frame.as_ref().map_or(1, |frame| u64::from(frame.typesize()));
        let extents = Extents::new(shape, typesize, saved.chunks.iter().map(|(_, size)| size));
        report.missing.extend(lost.iter().filter_map(|&index| extents.of(index)));
    }
    let (total, lost) = (saved.chunks.len() as u64, lost.len() as u64);
    report.chunks = Some((total - lost, total));
    if total > 0 && lost == total || total == 0 && frame.is_err() {
        report.state = State::Metadata;
    }
    finish(notes, report, saved)
}

/// Returns the files of chunks in a folder, by their numbers.
fn chunk_files(folder: &Path) -> Result<BTreeMap<u64, PathBuf>> {
    let mut files = BTreeMap::new();
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
    Ok(files)
}

/// Returns the bytes of a file with a chunk, and the decoded size of the chunk.
fn chunk_in(path: &Path, expected: Option<u32>) -> Result<(Vec<u8>, u32)> {
    let storage = Access::default().open(path)?;
    let bytes = storage.read_at(0, bound::addressable(storage.size()))?.into_owned();
    decoded(&bytes, expected)?;
    let size = u32::try_from(Chunk::new(&bytes).map_or(0, |chunk| chunk.nbytes())).unwrap_or(0);
    Ok((bytes, size))
}

/// Finds the chunks of a folder as its index says.
fn indexed(
    folder: &Path,
    frame: &Frame,
    files: &BTreeMap<u64, PathBuf>,
    (notes, report): (&mut Notes, &mut ObjectReport),
) -> Saved {
    let total = frame.chunks().min(CHUNKS);
    let named = match frame.rescued() {
        Some(left) => without_index(frame, left.places, (total, files), (notes, report)),
        None => BTreeMap::new(),
    };
    let place = |index: u64| match frame.chunk_place(index) {
        Ok(cframe::ChunkPlace::File(name)) => Place::File(folder.join(name)),
        Ok(cframe::ChunkPlace::Nowhere(kind)) => Place::Nothing(kind),
        _ => Place::Lost,
    };
    let places: BTreeMap<u64, Place> =
        (0..total).map(|index| (index, named.get(&index).cloned().unwrap_or_else(|| place(index)))).collect();
    let unsized_by = unsized_by(frame);
    let is_fixed = matches!(frame.chunk_size(), ChunkSize::Fixed(_));
    let mut chunks = Vec::new();
    for (&index, place) in &places {
        let size = match (place, &unsized_by) {
            _ if is_fixed => size_of(frame, index, &places),
            (Place::Nothing(_), None) => size_of(frame, index, &places),
            _ => 0,
        };
        let found = match (place, &unsized_by) {
            (Place::File(path), _) => chunk_in(path, is_fixed.then_some(size)).map(|(_, size)| size),
            (_, Some(error)) => Err(error.clone()),
            (_, None) => Ok(size),
        };
        chunks.push(match found {
            Ok(size) => (place.clone(), size),
            Err(error) => {
                spoil(report, State::Partial, format!("chunk {index}: {error}"));
                (Place::Lost, size)
            }
        });
    }
    let metalayers = frame.metalayers().map(|(name, content)| (name.to_owned(), content.to_vec())).collect();
    let vlmeta = readable_vlmeta(frame, report);
    let params = SChunk::from_frame(frame.clone()).params();
    Saved { source: None, params, metalayers, vlmeta, chunks, missing: Vec::new(), damage: None }
}

/// Takes the chunks of a folder without an index in the order of the names of their files.
fn unindexed(
    files: &BTreeMap<u64, PathBuf>,
    error: &Error,
    (notes, report): (&mut Notes, &mut ObjectReport),
) -> Result<Saved> {
    notes.cause("lost index", format!("{SPARSE_INDEX}: {error}"));
    let reason = "the chunks are taken in the order of the names of their files";
    notes.act("make an index", 0, reason, Confidence::Speculative);
    spoil(
        report,
        State::Partial,
        "the index of the folder is lost, and with it the shape, the order of the chunks and what says which were not stored",
    );
    let mut typesize = 1;
    let mut chunks = Vec::new();
    for (number, path) in files {
        match chunk_in(path, None) {
            Ok((bytes, size)) => {
                typesize = bytes.get(3).copied().map_or(1, u32::from).max(1);
                chunks.push((Place::File(path.clone()), size));
            }
            Err(error) => spoil(report, State::Partial, format!("file {number:08X}: {error}")),
        }
    }
    let params = Params::new(typesize);
    Ok(Saved {
        source: None,
        params,
        metalayers: Vec::new(),
        vlmeta: Vec::new(),
        chunks,
        missing: Vec::new(),
        damage: None,
    })
}

/// Says what is lost with the end of the index, and returns where chunks are if it does not say it any more. New chunks get the next
/// number, so the files of a frame that only grew have the numbers of its chunks, unless there are chunks that are not stored.
fn without_index(
    frame: &Frame,
    known: Places,
    (total, files): (u64, &BTreeMap<u64, PathBuf>),
    (notes, report): (&mut Notes, &mut ObjectReport),
) -> BTreeMap<u64, Place> {
    notes.cause("lost index", format!("the end of {SPARSE_INDEX} cannot be read"));
    if frame.header().has_vlmeta {
        spoil(report, State::Partial, "the metalayers at the end of the frame are lost");
    }
    if known == Places::Indexed {
        notes.act("read the index without the trailer", 0, "the trailer alone is lost", Confidence::High);
        return BTreeMap::new();
    }
    let is_counted = files.keys().copied().eq(0..total);
    let (reason, confidence) = if is_counted {
        ("there are as many files as the frame has chunks", Confidence::Medium)
    } else {
        spoil(
            report,
            State::Partial,
            "the index of the folder is lost; a chunk that was not stored would have moved those behind it",
        );
        ("the numbers of the files are taken for those of the chunks", Confidence::Speculative)
    };
    notes.act("find the chunks by the names of their files", 0, reason, confidence);
    files.iter().map(|(&number, path)| (number, Place::File(path.clone()))).collect()
}
