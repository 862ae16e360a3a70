//! What the tests share: storages that record what is written, and frames whose contents follow from their number.
#![allow(dead_code, unused_imports, reason = "every test program uses a part of it")]

mod frames;

use std::borrow::Cow;

use gsd_rs::{CreateOptions, Element, Reader, Result, Version, Writer};
use sciformats_core::commit::SECTOR;
use sciformats_core::{ReadAt, Step, WriteAt};

pub(crate) use self::frames::{chunks_in, name, values, write_frame};

pub(crate) fn options() -> CreateOptions {
    CreateOptions::new("test", "none", Version::new(1, 2))
}

/// Checks every frame of a file against the formula, and that there is nothing else. Returns the number of frames.
#[track_caller]
pub(crate) fn check(reader: &Reader) -> u64 {
    examine(reader).unwrap_or_else(|problem| panic!("{problem}"))
}

/// Does the same as [`check`], but returns what is wrong.
pub(crate) fn examine(reader: &Reader) -> Result<u64, String> {
    reader.verify().map_err(|e| e.to_string())?;
    for frame in 0..reader.frames() {
        let count = reader.chunks(frame).count() as u64;
        if count != chunks_in(frame) {
            return Err(format!("{count} chunks in frame {frame}"));
        }
        for chunk in 0..chunks_in(frame) {
            let found = reader.find(frame, &name(frame, chunk)).map_err(|e| e.to_string())?;
            let found = found.ok_or_else(|| format!("chunk {chunk} is not in frame {frame}"))?;
            let read = reader.read::<u32>(&found).map_err(|e| e.to_string())?;
            if (found.m, &*read) != (2, &values(frame, chunk)) {
                return Err(format!("frame {frame}, chunk {chunk}: {read:?}"));
            }
        }
    }
    Ok(reader.frames())
}

pub(crate) fn read<T: Element>(reader: &Reader, chunk: &gsd_rs::Chunk<'_>) -> Vec<T> {
    reader.read::<T>(chunk).unwrap().into_owned()
}

/// A file in memory that records what is done to it. Each write is recorded sector by sector.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder {
    pub(crate) bytes: Vec<u8>,
    pub(crate) steps: Vec<Step<'static>>,
}

impl ReadAt for Recorder {
    fn size(&self) -> u64 {
        ReadAt::size(&self.bytes)
    }
    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        self.bytes.read_at(offset, len)
    }
}

impl WriteAt for Recorder {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.bytes.write_at(offset, bytes)?;
        let (mut at, mut rest) = (offset, bytes);
        while !rest.is_empty() {
            let (part, after) = rest.split_at(rest.len().min((SECTOR - at % SECTOR) as usize));
            self.steps.push(Step::write(at, part.to_vec()));
            at += part.len() as u64;
            rest = after;
        }
        Ok(())
    }
    fn set_size(&mut self, size: u64) -> Result<()> {
        self.steps.push(Step::SetSize { size });
        self.bytes.set_size(size)
    }
    fn sync(&mut self) -> Result<()> {
        self.steps.push(Step::Sync);
        Ok(())
    }
}
