//! Reading a trajectory.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use sciformats_core::{Error, Result};

use super::log::{self, PREFIX};
use super::source::{Budget, Cache, Source};
use super::{Column, Frame};
use crate::{Chunk, Reader};

/// A file of the schema `hoomd`, open for reading.
pub struct Trajectory {
    reader: Reader,
    cache: Cache,
}

impl std::fmt::Debug for Trajectory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Trajectory").field(&self.reader).finish()
    }
}

/// The newest version of the schema that is known.
pub(crate) const MAJOR: u16 = 2;

pub(crate) fn check_schema(header: &crate::Header) -> Result<()> {
    if header.schema.as_bytes() != b"hoomd" {
        return Err(Error::unsupported(format!("schema {:?}", header.schema)));
    }
    if !(1..=MAJOR).contains(&header.schema_version.major()) {
        return Err(Error::unsupported(format!("schema hoomd {}", header.schema_version)));
    }
    Ok(())
}

impl Trajectory {
    /// Opens a file.
    ///
    /// # Errors
    /// As [`Reader::open`]; [`Error::Unsupported`] if it has another schema, or a version other than 1.x and 2.x.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::new(Reader::open(path)?)
    }

    /// The trajectory in an open file.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn new(reader: Reader) -> Result<Self> {
        check_schema(reader.header())?;
        Ok(Self { reader, cache: Cache::default() })
    }

    /// The file, for chunks that are not part of the schema.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The number of frames.
    pub fn len(&self) -> u64 {
        self.reader.frames()
    }

    /// Whether there are no frames.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sees frames that were committed meanwhile, and returns their number.
    ///
    /// # Errors
    /// As [`Reader::refresh`].
    pub fn refresh(&mut self) -> Result<u64> {
        self.cache = Cache::default();
        self.reader.refresh()
    }

    fn source(&self, frame: u64) -> Result<Source<'_>> {
        if frame < self.len() {
            Ok(Source { cache: Some(&self.cache), ..Source::new(&self.reader, frame) })
        } else {
            Err(Error::usage("frame", format!("{frame} is not there, the file has {}", self.len())))
        }
    }

    /// Reads a frame; what it does not store is filled in from frame 0 and the defaults.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such frame; [`Error::Malformed`] if a chunk has another type or shape than the
    /// schema says; [`Error::LimitExceeded`] if the defaults of a declared number of particles pass the limit.
    pub fn frame(&self, frame: u64) -> Result<Frame> {
        Frame::load(&self.source(frame)?)
    }

    /// Reads frames one after another.
    pub fn frames(&self, frames: Range<u64>) -> impl Iterator<Item = Result<Frame>> {
        frames.map(move |frame| self.frame(frame))
    }

    /// The chunk that holds a value of a frame: its own or, if it has none, frame 0's. For per-particle values the
    /// latter counts only if it has the right number of rows. `None` stands for the default.
    ///
    /// # Errors
    /// As [`Reader::find`]; [`Error::Usage`] if there is no such frame.
    pub fn chunk(&self, frame: u64, name: &str) -> Result<Option<Chunk<'_>>> {
        self.source(frame)?.chunk(name)
    }

    /// The names of the logged quantities, without `log/`, in byte order.
    pub fn log_names(&self) -> impl Iterator<Item = &str> {
        log::names(&self.reader)
    }

    /// A logged quantity over all frames.
    ///
    /// # Errors
    /// [`Error::NotFound`] if nothing of that name was logged; as [`frame`](Self::frame).
    pub fn log_column(&self, name: &str) -> Result<Column> {
        let chunk = format!("{PREFIX}{name}");
        if self.reader.history(&chunk).next().is_none() {
            return Err(Error::not_found("logged quantity", name));
        }
        Column::read(&self.reader, &chunk, &Budget::new(&self.reader))
    }

    /// All logged quantities over all frames, by their names without `log/`.
    ///
    /// # Errors
    /// As [`frame`](Self::frame).
    pub fn read_log(&self) -> Result<BTreeMap<String, Column>> {
        let mut columns = BTreeMap::new();
        let budget = Budget::new(&self.reader);
        for name in self.log_names() {
            let chunk = format!("{PREFIX}{name}");
            // A name can be left of a frame that was never committed.
            if self.reader.history(&chunk).next().is_some() {
                columns.insert(name.to_owned(), Column::read(&self.reader, &chunk, &budget)?);
            }
        }
        Ok(columns)
    }

    /// The time steps of all frames.
    ///
    /// # Errors
    /// As [`frame`](Self::frame).
    pub fn steps(&self) -> Result<Vec<u64>> {
        let frames = self.reader.options().limits.items("frames", self.len())? as u64;
        (0..frames).map(|frame| super::configuration::step(&self.source(frame)?)).collect()
    }
}
