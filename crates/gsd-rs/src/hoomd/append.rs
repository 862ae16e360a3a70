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
    /// Creates a trajectory, which must not exist yet.
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
    /// As [`Writer::create`].
    pub fn create(path: impl AsRef<Path>, application: &str) -> Result<Self> {
        Self::on(Writer::create(path, &CreateOptions::new(application, "hoomd", CURRENT))?)
    }

    /// Creates a trajectory in the place of whatever is there.
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
    /// As [`Writer::overwrite`].
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
    /// As [`Writer::append_to`] and [`Trajectory::open`](super::Trajectory::open).
    pub fn append_to(path: impl AsRef<Path>) -> Result<Self> {
        Self::on(Writer::append_to(path)?)
    }
}

impl<S: ReadAt + WriteAt> TrajectoryWriter<S> {
    /// Appends to a file that is open, whose schema is `hoomd`; one created with a version before 2.0 takes single
    /// precision only.
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
    /// As [`Trajectory::open`](super::Trajectory::open).
    pub fn on(mut writer: Writer<S>) -> Result<Self> {
        check_schema(writer.header())?;
        writer.flush()?;
        let initial = if writer.frames() > 0 { Some(first_frame(writer.storage())?) } else { None };
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
    /// As [`Writer::flush`].
    pub fn flush(&mut self) -> Result<()> {
        self.writer.flush()
    }

    /// The file layer: for its settings, and for chunks beside the schema, which become part of the next frame.
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
    /// As [`Writer::finish`].
    pub fn finish(self) -> Result<()> {
        self.writer.finish()
    }
}

impl TrajectoryWriter<Vec<u8>> {
    /// As [`finish`](Self::finish), and returns the file.
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
    let mut copy = Writer::create_in(Vec::new(), &CreateOptions::new("", "hoomd", CURRENT))?;
    let mut names = HashSet::new();
    for item in opened.index.of_frame(storage, 0, 0)? {
        let (position, entry) = item?;
        let chunk = Chunk::new(&opened, position, &entry)?;
        // Of two chunks with the same name the first counts, as in a look-up.
        if names.insert(chunk.name) {
            let range = chunk.range(&(0..chunk.n), storage.size())?;
            let bytes = storage.read_at(range.start, size_of_range(&range)?)?;
            copy.write_bytes(chunk.name, chunk.element, chunk.m, &bytes)?;
        }
    }
    copy.end_frame()?;
    Ok(Initial { reader: Reader::from_bytes(copy.into_bytes()?)?, cache: Cache::default() })
}
