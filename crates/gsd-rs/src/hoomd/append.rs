//! Writing a trajectory.

use std::collections::HashSet;
use std::path::Path;

use sciformats_core::storage::FileStorage;
use sciformats_core::{ReadAt, Result, WriteAt};

use super::Frame;
use super::source::{Cache, Initial, Sink};
use super::trajectory::check_schema;
use crate::chunk::size_of_range;
use crate::model::open::open;
use crate::{Chunk, CreateOptions, Reader, Version, Writer};

/// A trajectory that frames are appended to. Each stores what differs from frame 0 and from the defaults.
pub struct TrajectoryWriter<S: ReadAt + WriteAt = FileStorage> {
    writer: Writer<S>,
    initial: Option<Initial>,
}

/// The version of the schema that is written.
const CURRENT: Version = Version::new(2, 0);

impl TrajectoryWriter {
    /// Creates a trajectory, which must not exist yet.
    ///
    /// # Errors
    /// As [`Writer::create`].
    pub fn create(path: impl AsRef<Path>, application: &str) -> Result<Self> {
        Self::on(Writer::create(path, &CreateOptions::new(application, "hoomd", CURRENT))?)
    }

    /// Creates a trajectory in the place of whatever is there.
    ///
    /// # Errors
    /// As [`Writer::overwrite`].
    pub fn overwrite(path: impl AsRef<Path>, application: &str) -> Result<Self> {
        Self::on(Writer::overwrite(path, &CreateOptions::new(application, "hoomd", CURRENT))?)
    }

    /// Opens a trajectory to append to it.
    ///
    /// # Errors
    /// As [`Writer::append`] and [`Trajectory::open`](super::Trajectory::open).
    pub fn append_to(path: impl AsRef<Path>) -> Result<Self> {
        Self::on(Writer::append(path)?)
    }
}

impl<S: ReadAt + WriteAt> TrajectoryWriter<S> {
    /// Appends to a file that is open, whose schema is `hoomd`; one created with a version before 2.0 takes single
    /// precision only.
    ///
    /// # Errors
    /// As [`Trajectory::open`](super::Trajectory::open).
    pub fn on(mut writer: Writer<S>) -> Result<Self> {
        check_schema(writer.header())?;
        writer.flush()?;
        let initial = if writer.frames() > 0 { Some(first_frame(&writer.storage)?) } else { None };
        Ok(Self { writer, initial })
    }

    /// The number of frames.
    pub fn len(&self) -> u64 {
        self.writer.frames()
    }

    /// Whether there are no frames.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a frame. The first is committed at once, later ones with [`flush`](Self::flush).
    ///
    /// # Errors
    /// [`Error::Usage`](crate::Error::Usage) if a list has the wrong length, a typeid no type, a group a particle that is not there, a log
    /// a quantity that frame 0 lacks, or double precision meets a version before 2.0: nothing is appended then. `Io`.
    pub fn append(&mut self, frame: &Frame) -> Result<()> {
        let doubles = self.writer.header().schema_version >= Version::new(2, 0);
        frame.validate(doubles)?;
        let mut sink = Sink { writer: &mut self.writer, initial: self.initial.as_ref(), stored: 0 };
        if let Err(error) = frame.store(&mut sink) {
            self.writer.discard_frame();
            return Err(error);
        }
        self.writer.end_frame()?;
        if self.initial.is_none() {
            self.writer.flush()?;
            self.initial = Some(first_frame(&self.writer.storage)?);
        }
        Ok(())
    }

    /// Commits the frames that were appended.
    ///
    /// # Errors
    /// As [`Writer::flush`].
    pub fn flush(&mut self) -> Result<()> {
        self.writer.flush()
    }

    /// The file layer: for its settings, and for chunks beside the schema, which become part of the next frame.
    pub fn writer(&mut self) -> &mut Writer<S> {
        &mut self.writer
    }

    /// Commits and closes the file.
    ///
    /// # Errors
    /// As [`Writer::finish`].
    pub fn finish(self) -> Result<()> {
        self.writer.finish()
    }
}

impl TrajectoryWriter<Vec<u8>> {
    /// As [`finish`](Self::finish), and returns the file.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn into_bytes(self) -> Result<Vec<u8>> {
        self.writer.into_bytes()
    }
}

impl<S: ReadAt + WriteAt> std::fmt::Debug for TrajectoryWriter<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TrajectoryWriter").field("writer", &self.writer).finish_non_exhaustive()
    }
}

/// Frame 0 of the file in `storage`.
fn first_frame(storage: &dyn ReadAt) -> Result<Initial> {
    let opened = open(storage)?;
    let mut copy = Writer::create_on(Vec::new(), &CreateOptions::new("", "hoomd", CURRENT))?;
    let mut names = HashSet::new();
    for item in opened.index.of_frame(storage, 0, 0)? {
        let (position, entry) = item?;
        let chunk = Chunk::new(&opened, position, &entry)?;
        // Of two chunks with the same name the first counts, as in a look-up.
        if names.insert(chunk.name) {
            let range = chunk.range(&(0..chunk.n), storage.len())?;
            let bytes = storage.read_at(range.start, size_of_range(&range)?)?;
            copy.write_bytes(chunk.name, chunk.element, chunk.m, &bytes)?;
        }
    }
    copy.end_frame()?;
    Ok(Initial { reader: Reader::from_bytes(copy.into_bytes()?)?, cache: Cache::default() })
}
