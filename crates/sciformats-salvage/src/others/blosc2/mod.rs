//! Blosc2: chunks have headers with their sizes, so that they are found without the offsets chunk; a sparse frame has one file per
//! chunk.

mod extents;
mod folder;
mod frame;
mod marks;
mod search;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cframe::{Frame, OpenOptions, Params, SChunk, Special};
use sciformats_convert::convert::Loss;
use sciformats_core::storage::{Access, Durability, Scratch};
use sciformats_core::{Error, ReadAt, Result, bound};

pub(crate) use self::folder::examine_folder;
use self::frame::framed;
use self::search::carved;
use super::{Found, Notes, Output};
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

fn decoded(bytes: &[u8], expected: Option<u32>) -> Result<()> {
    let whole = cframe::decompress_with(bytes, &options(Access::default()))?;
    match expected {
        Some(expected) if whole.len() as u64 != u64::from(expected) => {
            Err(Error::usage("chunk", format!("has {} bytes in place of {expected}", whole.len())))
        }
        _ => Ok(()),
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
