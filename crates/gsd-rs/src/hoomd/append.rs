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

/// A trajectory to which frames are appended. Each frame stores what differs from frame 0 and from the defaults.
///
/// ```
/// use gsd_rs::hoomd::{Frame, Trajectory, TrajectoryWriter};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("trajectory.gsd");
/// let mut writer = TrajectoryWriter::create(&path, "my program")?;
/// let mut frame = Frame::new(2);
/// for step in 0..3 {
///     frame.configuration.step = step;
///     frame.particles.position = vec![step as f32, 0.0, 0.0, 1.0, 1.0, 1.0].into();
///     writer.append(&frame)?;
/// }
/// writer.finish()?;
/// assert_eq!(Trajectory::open(&path)?.steps()?, [0, 1, 2]);
/// # Ok::<(), gsd_rs::Error>(())
/// ```
pub struct TrajectoryWriter<S: ReadAt + WriteAt = FileStorage> {
    writer: Writer<S>,
    initial: Option<Initial>,
}

/// The version of the schema that is written.
const CURRENT: Version = Version::new(2, 0);

impl TrajectoryWriter {
    /// Creates a trajectory. The file must not exist yet.
    ///
    /// ```no_run
    /// use gsd_rs::hoomd::{Frame, TrajectoryWriter};
    ///
    /// let mut writer = TrajectoryWriter::create("trajectory.gsd", "my program")?;
    /// writer.append(&Frame::new(100))?;
    /// writer.finish()?;
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Writer::create`].
    pub fn create(path: impl AsRef<Path>, application: &str) -> Result<Self> {
        Self::on(Writer::create(path, &CreateOptions::new(application, "hoomd", CURRENT))?)
    }

    /// Creates a trajectory, and replaces an existing file.
    ///
    /// ```
    /// use gsd_rs::hoomd::{Frame, Trajectory, TrajectoryWriter};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("trajectory.gsd");
    /// for n in [3, 5] {
    ///     let mut writer = TrajectoryWriter::overwrite(&path, "my program")?;
    ///     writer.append(&Frame::new(n))?;
    ///     writer.finish()?;
    /// }
    /// assert_eq!(Trajectory::open(&path)?.frame(0)?.particles.n, 5);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Writer::overwrite`].
    pub fn overwrite(path: impl AsRef<Path>, application: &str) -> Result<Self> {
        Self::on(Writer::overwrite(path, &CreateOptions::new(application, "hoomd", CURRENT))?)
    }

    /// Opens a trajectory to append to it.
    ///
    /// ```
    /// use gsd_rs::hoomd::{Frame, Trajectory, TrajectoryWriter};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("trajectory.gsd");
    /// # let mut writer = TrajectoryWriter::create(&path, "my program")?;
    /// # writer.append(&Frame::new(3))?;
    /// # writer.finish()?;
    /// let mut writer = TrajectoryWriter::append_to(&path)?; // it has one frame
    /// writer.append(&Frame::new(3))?;
    /// writer.finish()?;
    /// assert_eq!(Trajectory::open(&path)?.len(), 2);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Writer::append_to`] and [`Trajectory::open`](super::Trajectory::open).
    pub fn append_to(path: impl AsRef<Path>) -> Result<Self> {
        Self::on(Writer::append_to(path)?)
    }
}

impl<S: ReadAt + WriteAt> TrajectoryWriter<S> {
    /// Appends to an open file whose schema is `hoomd`. If its version of the schema is below 2.0, only single precision is
    /// possible.
    ///
    /// ```
    /// use gsd_rs::hoomd::{Frame, Trajectory, TrajectoryWriter};
    /// use gsd_rs::{CreateOptions, Reader, Version, Writer};
    ///
    /// // In memory, and of a version that older programs read.
    /// let options = CreateOptions::new("my program", "hoomd", Version::new(1, 4)).with_layer(Version::new(1, 0));
    /// let mut writer = TrajectoryWriter::on(Writer::create_in(Vec::new(), &options)?)?;
    /// writer.append(&Frame::new(3))?;
    /// let trajectory = Trajectory::new(Reader::from_bytes(writer.into_bytes()?)?)?;
    /// assert_eq!(trajectory.frame(0)?.particles.n, 3);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Trajectory::open`](super::Trajectory::open).
    pub fn on(mut writer: Writer<S>) -> Result<Self> {
        check_schema(writer.header())?;
        writer.flush()?;
        let mut trajectory = Self { writer, initial: None };
        trajectory.begin()?;
        Ok(trajectory)
    }

    /// Returns the number of frames.
    pub fn len(&self) -> u64 {
        self.writer.frames()
    }

    /// Returns whether there are no frames.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a frame. The first frame is committed at once, and later ones by [`flush`](Self::flush).
    ///
    /// ```
    /// use gsd_rs::hoomd::Frame;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "hoomd", gsd_rs::Version::new(2, 0));
    /// # let mut writer = gsd_rs::hoomd::TrajectoryWriter::on(gsd_rs::Writer::create_in(Vec::new(), &options)?)?;
    /// let mut frame = Frame::new(2);
    /// frame.particles.position = vec![0.0f32, 0.0, 0.0, 1.0, 1.0, 1.0].into();
    /// writer.append(&frame)?;
    /// frame.particles.position = vec![0.0f32; 3].into(); // of one particle
    /// assert!(writer.append(&frame).is_err());
    /// assert_eq!(writer.len(), 1);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`](crate::Error::Usage), and nothing is appended, if a list has the wrong length, a typeid is not that of a
    /// type, a group contains a particle that does not exist, the log contains a quantity that frame 0 lacks, or values have
    /// double precision in a version before 2.0; `Io`. If [`len`](Self::len) has grown nevertheless, the frame is complete, and
    /// the next commit contains it.
    pub fn append(&mut self, frame: &Frame) -> Result<()> {
        let doubles = self.writer.header().schema_version >= Version::new(2, 0);
        frame.validate(doubles)?;
        self.begin()?;
        let mut sink = Sink { writer: &mut self.writer, initial: self.initial.as_ref(), stored: 0 };
        if let Err(error) = frame.store(&mut sink) {
            self.writer.discard_frame();
            return Err(error);
        }
        self.writer.end_frame()?;
        self.begin()
    }

    /// Commits frame 0 if it is complete, and reads what the other frames inherit from it. If this fails, it is done again before
    /// another frame is written.
    fn begin(&mut self) -> Result<()> {
        if self.writer.frames() == 0 {
            // All frames may have been removed.
            self.initial = None;
        } else if self.initial.is_none() {
            self.writer.flush()?;
            self.initial = Some(first_frame(self.writer.storage())?);
        }
        Ok(())
    }

    /// Commits the frames that were appended.
    ///
    /// ```
    /// use gsd_rs::hoomd::{Frame, Trajectory, TrajectoryWriter};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("trajectory.gsd");
    /// let mut writer = TrajectoryWriter::create(&path, "my program")?;
    /// for _ in 0..10 {
    ///     writer.append(&Frame::new(2))?;
    /// }
    /// writer.flush()?; // from here on readers have all ten
    /// assert_eq!(Trajectory::open(&path)?.len(), 10);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Writer::flush`].
    pub fn flush(&mut self) -> Result<()> {
        self.writer.flush()
    }

    /// Returns the file layer. It has settings, and can add chunks that are not part of the schema to the next frame.
    ///
    /// ```
    /// use gsd_rs::Reader;
    /// use gsd_rs::hoomd::{Frame, Trajectory};
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "hoomd", gsd_rs::Version::new(2, 0));
    /// # let mut writer = gsd_rs::hoomd::TrajectoryWriter::on(gsd_rs::Writer::create_in(Vec::new(), &options)?)?;
    /// writer.writer().write("user/temperature", 1, &[293.15f64])?;
    /// writer.append(&Frame::new(2))?;
    ///
    /// let trajectory = Trajectory::new(Reader::from_bytes(writer.into_bytes()?)?)?;
    /// assert!(trajectory.reader().find(0, "user/temperature")?.is_some());
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    pub fn writer(&mut self) -> &mut Writer<S> {
        &mut self.writer
    }

    /// Commits and closes the file.
    ///
    /// ```
    /// use gsd_rs::hoomd::{Frame, Trajectory, TrajectoryWriter};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("trajectory.gsd");
    /// let mut writer = TrajectoryWriter::create(&path, "my program")?;
    /// writer.append(&Frame::new(2))?;
    /// writer.finish()?; // dropping it does the same, but cannot tell of a failure
    /// assert_eq!(Trajectory::open(&path)?.len(), 1);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Writer::finish`].
    pub fn finish(self) -> Result<()> {
        self.writer.finish()
    }
}

impl TrajectoryWriter<Vec<u8>> {
    /// Does the same as [`finish`](Self::finish), and returns the file.
    ///
    /// ```
    /// use gsd_rs::hoomd::{Frame, Trajectory};
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "hoomd", gsd_rs::Version::new(2, 0));
    /// # let mut writer = gsd_rs::hoomd::TrajectoryWriter::on(gsd_rs::Writer::create_in(Vec::new(), &options)?)?;
    /// writer.append(&Frame::new(2))?;
    /// let trajectory = Trajectory::new(gsd_rs::Reader::from_bytes(writer.into_bytes()?)?)?;
    /// assert_eq!(trajectory.len(), 1);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`finish`](Self::finish).
    pub fn into_bytes(self) -> Result<Vec<u8>> {
        self.writer.into_bytes()
    }
}

impl<S: ReadAt + WriteAt> std::fmt::Debug for TrajectoryWriter<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TrajectoryWriter").field("writer", &self.writer).finish_non_exhaustive()
    }
}

/// Returns frame 0 of the file in `storage`.
fn first_frame(storage: &dyn ReadAt) -> Result<Initial> {
    let opened = open(storage)?;
    let mut copy = Writer::create_in(Vec::new(), &CreateOptions::new("", "hoomd", CURRENT))?;
    let mut names = HashSet::new();
    for item in opened.index.of_frame(storage, 0, 0)? {
        let (position, entry) = item?;
        let chunk = Chunk::new(&opened, position, &entry)?;
        // If two chunks have the same name, the first one counts, as in a look-up.
        if names.insert(chunk.name) {
            let range = chunk.range(&(0..chunk.n), storage.size())?;
            let bytes = storage.read_at(range.start, size_of_range(&range)?)?;
            copy.write_bytes(chunk.name, chunk.element, chunk.m, &bytes)?;
        }
    }
    copy.end_frame()?;
    Ok(Initial { reader: Reader::from_bytes(copy.into_bytes()?)?, cache: Cache::default() })
}
