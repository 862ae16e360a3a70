//! Sparse frames, which are folders of one file per chunk.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cframe::{Array, Chunk, ChunkSize, Frame, Params, Places, SChunk};
use sciformats_core::storage::Access;
use sciformats_core::{Error, ReadAt, Result, bound};

use super::{CHUNKS, Extents, Place, Saved, decoded, finish, options, readable_vlmeta, size_of, unsized_by};
use crate::others::{Found, Notes, object, spoil};
use crate::report::{Confidence, ObjectReport, State};
use crate::scan::Scan;

/// The file of a sparse frame that has everything but the chunks.
const SPARSE_INDEX: &str = "chunks.b2frame";

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
            let places = match frame.rescued() {
                Some(left) => without_index(frame, left.places, (total, &files), (&mut notes, &mut report)),
                None => BTreeMap::new(),
            };
            let indexed = |index: u64| match frame.chunk_place(index) {
                Ok(cframe::ChunkPlace::File(name)) => Place::File(folder.join(name)),
                Ok(cframe::ChunkPlace::Nowhere(kind)) => Place::Nothing(kind),
                _ => Place::Lost,
            };
            let places: BTreeMap<u64, Place> = (0..total)
                .map(|index| (index, places.get(&index).cloned().unwrap_or_else(|| indexed(index))))
                .collect();
            let unsized_by = unsized_by(frame);
            for (index, place) in &places {
                let size = match (frame.chunk_size(), place, &unsized_by) {
                    (ChunkSize::Fixed(_), ..) | (_, Place::Nothing(_), None) => {
                        size_of(frame, *index, &places)
                    }
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
                    other => match &unsized_by {
                        Some(error) => {
                            spoil(&mut report, State::Partial, format!("chunk {index}: {error}"));
                            (Place::Lost, 0)
                        }
                        None => (other.clone(), size),
                    },
                };
                chunks.push(kept);
            }
            let metalayers =
                frame.metalayers().map(|(name, content)| (name.to_owned(), content.to_vec())).collect();
            let vlmeta = readable_vlmeta(frame, &mut report);
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
        let extents = Extents::new(shape, typesize, chunks.iter().map(|(_, size)| size));
        report.missing.extend(lost.iter().filter_map(|&index| extents.of(index)));
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
