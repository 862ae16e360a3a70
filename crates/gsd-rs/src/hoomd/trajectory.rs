//! Reading a trajectory.

use std::collections::BTreeMap;
use std::ops::{Bound, Range, RangeBounds};
use std::path::Path;

use sciformats_core::{Error, Result, bound};

use super::log::{self, PREFIX};
use super::source::{Budget, Cache, Source};
use super::{Column, Frame};
use crate::{Chunk, Reader};

/// An open file of the schema `hoomd`.
///
/// ```no_run
/// use gsd_rs::hoomd::Trajectory;
///
/// let trajectory = Trajectory::open("trajectory.gsd")?;
/// for frame in trajectory.frames(..) {
///     let frame = frame?;
///     println!("{}: {:?}", frame.configuration.step, frame.particles.position.get(0));
/// }
/// # Ok::<(), gsd_rs::Error>(())
/// ```
pub struct Trajectory {
    reader: Reader,
    cache: Cache,
}

impl std::fmt::Debug for Trajectory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Trajectory").field(&self.reader).finish()
    }
}

/// The newest major version of the schema that is known.
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
    /// ```no_run
    /// let trajectory = gsd_rs::hoomd::Trajectory::open("trajectory.gsd")?;
    /// println!("{} frames, hoomd {}", trajectory.len(), trajectory.reader().header().schema_version);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Reader::open`]; [`Error::Unsupported`] if it has another schema, or a version other than 1.x and 2.x.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::new(Reader::open(path)?)
    }

    /// Reads an open file as a trajectory.
    ///
    /// ```
    /// use gsd_rs::hoomd::Trajectory;
    /// use gsd_rs::{Limits, OpenOptions, Reader};
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "hoomd", gsd_rs::Version::new(2, 0));
    /// # let mut writer = gsd_rs::hoomd::TrajectoryWriter::on(gsd_rs::Writer::create_in(Vec::new(), &options)?)?;
    /// # writer.append(&gsd_rs::hoomd::Frame::new(2))?;
    /// # let bytes = writer.into_bytes()?;
    /// let options = OpenOptions::default().with_limits(Limits::default().with_memory(1 << 20));
    /// let trajectory = Trajectory::new(Reader::from_storage(bytes, &options)?)?;
    /// assert_eq!(trajectory.len(), 1);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn new(reader: Reader) -> Result<Self> {
        check_schema(reader.header())?;
        Ok(Self { reader, cache: Cache::default() })
    }

    /// Returns the file, which also gives access to chunks that are not part of the schema.
    ///
    /// ```
    /// use gsd_rs::Reader;
    /// use gsd_rs::hoomd::Trajectory;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "hoomd", gsd_rs::Version::new(2, 0));
    /// # let mut writer = gsd_rs::hoomd::TrajectoryWriter::on(gsd_rs::Writer::create_in(Vec::new(), &options)?)?;
    /// # for step in 0..3u32 {
    /// #     let mut frame = gsd_rs::hoomd::Frame::new(1);
    /// #     frame.configuration.step = u64::from(step) * 1000;
    /// #     frame.particles.position = vec![step as f32, 0.0, 0.0].into();
    /// #     frame.log.insert("energy".into(), f64::from(step).into());
    /// #     writer.append(&frame)?;
    /// # }
    /// # let trajectory = Trajectory::new(Reader::from_bytes(writer.into_bytes()?)?)?;
    /// let stored: Result<Vec<&str>, _> = trajectory.reader().chunks(1).map(|chunk| chunk.map(|c| c.name)).collect();
    /// assert_eq!(stored?, ["log/energy", "configuration/step", "particles/position"]); // what frame 1 changes
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Returns the number of frames.
    pub fn len(&self) -> u64 {
        self.reader.frames()
    }

    /// Returns whether there are no frames.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Includes frames that were committed in the meantime, and returns the number of frames.
    ///
    /// ```
    /// use gsd_rs::hoomd::{Frame, Trajectory, TrajectoryWriter};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("trajectory.gsd");
    /// let mut writer = TrajectoryWriter::create(&path, "my program")?;
    /// writer.append(&Frame::new(2))?;
    /// let mut trajectory = Trajectory::open(&path)?;
    ///
    /// writer.append(&Frame::new(2))?; // or another process does
    /// writer.flush()?;
    /// assert_eq!(trajectory.refresh()?, 2);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Reader::refresh`].
    pub fn refresh(&mut self) -> Result<u64> {
        self.cache = Cache::default();
        self.reader.refresh()
    }

    pub(super) fn source(&self, frame: u64) -> Result<Source<'_>> {
        if frame < self.len() {
            Ok(Source { cache: Some(&self.cache), ..Source::new(&self.reader, frame) })
        } else {
            Err(Error::usage(
                "frame",
                format!("{frame} does not exist, because the file has {} frames", self.len()),
            ))
        }
    }

    /// Reads a frame. What it does not store is filled in from frame 0 and from the defaults.
    ///
    /// ```
    /// use gsd_rs::Reader;
    /// use gsd_rs::hoomd::Trajectory;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "hoomd", gsd_rs::Version::new(2, 0));
    /// # let mut writer = gsd_rs::hoomd::TrajectoryWriter::on(gsd_rs::Writer::create_in(Vec::new(), &options)?)?;
    /// # for step in 0..3u32 {
    /// #     let mut frame = gsd_rs::hoomd::Frame::new(1);
    /// #     frame.configuration.step = u64::from(step) * 1000;
    /// #     frame.particles.position = vec![step as f32, 0.0, 0.0].into();
    /// #     frame.log.insert("energy".into(), f64::from(step).into());
    /// #     writer.append(&frame)?;
    /// # }
    /// # let trajectory = Trajectory::new(Reader::from_bytes(writer.into_bytes()?)?)?;
    /// let frame = trajectory.frame(2)?;
    /// assert_eq!(frame.particles.position.to_f64(), [2.0, 0.0, 0.0]);
    /// assert_eq!(frame.particles.mass.to_f64(), [1.0]); // the default
    /// assert!(trajectory.frame(3).is_err());
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such frame; [`Error::Malformed`] if the type or the shape of a chunk contradicts the
    /// schema; [`Error::LimitExceeded`] if the defaults for the declared number of particles exceed the limit.
    pub fn frame(&self, frame: u64) -> Result<Frame> {
        Frame::load(&self.source(frame)?)
    }

    /// Reads frames one after another, all of them with `..`.
    ///
    /// ```
    /// use gsd_rs::Reader;
    /// use gsd_rs::hoomd::Trajectory;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "hoomd", gsd_rs::Version::new(2, 0));
    /// # let mut writer = gsd_rs::hoomd::TrajectoryWriter::on(gsd_rs::Writer::create_in(Vec::new(), &options)?)?;
    /// # for step in 0..3u32 {
    /// #     let mut frame = gsd_rs::hoomd::Frame::new(1);
    /// #     frame.configuration.step = u64::from(step) * 1000;
    /// #     frame.particles.position = vec![step as f32, 0.0, 0.0].into();
    /// #     frame.log.insert("energy".into(), f64::from(step).into());
    /// #     writer.append(&frame)?;
    /// # }
    /// # let trajectory = Trajectory::new(Reader::from_bytes(writer.into_bytes()?)?)?;
    /// let mut way = 0.0;
    /// for frame in trajectory.frames(1..) {
    ///     way += frame?.particles.position.get(0).unwrap_or(0.0);
    /// }
    /// assert_eq!(way, 3.0);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    pub fn frames(&self, frames: impl RangeBounds<u64>) -> impl Iterator<Item = Result<Frame>> {
        self.numbers(frames).map(move |frame| self.frame(frame))
    }

    /// Returns the numbers of frames in a range, which need not exist.
    pub(super) fn numbers(&self, frames: impl RangeBounds<u64>) -> Range<u64> {
        // Sums are bounds: no file has so many frames.
        let start = match frames.start_bound() {
            Bound::Included(&first) => first,
            Bound::Excluded(&before) => bound::sum(before, 1),
            Bound::Unbounded => 0,
        };
        let end = match frames.end_bound() {
            Bound::Included(&last) => bound::sum(last, 1),
            Bound::Excluded(&end) => end,
            Bound::Unbounded => self.len(),
        };
        start..end
    }

    /// Returns the chunk that contains a value of a frame: that of the frame, or if it has none, that of frame 0. Per-particle
    /// values of frame 0 only count if they have the right number of rows. `None` means that the default counts.
    ///
    /// ```
    /// use gsd_rs::Reader;
    /// use gsd_rs::hoomd::Trajectory;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "hoomd", gsd_rs::Version::new(2, 0));
    /// # let mut writer = gsd_rs::hoomd::TrajectoryWriter::on(gsd_rs::Writer::create_in(Vec::new(), &options)?)?;
    /// # for step in 0..3u32 {
    /// #     let mut frame = gsd_rs::hoomd::Frame::new(1);
    /// #     frame.configuration.step = u64::from(step) * 1000;
    /// #     frame.particles.position = vec![step as f32, 0.0, 0.0].into();
    /// #     frame.log.insert("energy".into(), f64::from(step).into());
    /// #     writer.append(&frame)?;
    /// # }
    /// # let trajectory = Trajectory::new(Reader::from_bytes(writer.into_bytes()?)?)?;
    /// let chunk = trajectory.chunk(2, "particles/position")?;
    /// assert_eq!(chunk.map(|chunk| (chunk.frame, chunk.n, chunk.m)), Some((2, 1, 3)));
    /// let inherited = trajectory.chunk(2, "particles/N")?;
    /// assert_eq!(inherited.map(|chunk| chunk.frame), Some(0));
    /// assert_eq!(trajectory.chunk(2, "particles/mass")?, None); // the default
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Reader::find`]; [`Error::Usage`] if there is no such frame.
    pub fn chunk(&self, frame: u64, name: &str) -> Result<Option<Chunk<'_>>> {
        self.source(frame)?.chunk(name)
    }

    /// Returns the names of the logged quantities, without `log/`, in byte order.
    ///
    /// ```
    /// use gsd_rs::Reader;
    /// use gsd_rs::hoomd::Trajectory;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "hoomd", gsd_rs::Version::new(2, 0));
    /// # let mut writer = gsd_rs::hoomd::TrajectoryWriter::on(gsd_rs::Writer::create_in(Vec::new(), &options)?)?;
    /// # for step in 0..3u32 {
    /// #     let mut frame = gsd_rs::hoomd::Frame::new(1);
    /// #     frame.configuration.step = u64::from(step) * 1000;
    /// #     frame.particles.position = vec![step as f32, 0.0, 0.0].into();
    /// #     frame.log.insert("energy".into(), f64::from(step).into());
    /// #     writer.append(&frame)?;
    /// # }
    /// # let trajectory = Trajectory::new(Reader::from_bytes(writer.into_bytes()?)?)?;
    /// assert_eq!(trajectory.log_names().collect::<Vec<_>>(), ["energy"]);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    pub fn log_names(&self) -> impl Iterator<Item = &str> {
        log::names(&self.reader)
    }

    /// Returns a logged quantity in all frames.
    ///
    /// ```
    /// use gsd_rs::Reader;
    /// use gsd_rs::hoomd::Trajectory;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "hoomd", gsd_rs::Version::new(2, 0));
    /// # let mut writer = gsd_rs::hoomd::TrajectoryWriter::on(gsd_rs::Writer::create_in(Vec::new(), &options)?)?;
    /// # for step in 0..3u32 {
    /// #     let mut frame = gsd_rs::hoomd::Frame::new(1);
    /// #     frame.configuration.step = u64::from(step) * 1000;
    /// #     frame.particles.position = vec![step as f32, 0.0, 0.0].into();
    /// #     frame.log.insert("energy".into(), f64::from(step).into());
    /// #     writer.append(&frame)?;
    /// # }
    /// # let trajectory = Trajectory::new(Reader::from_bytes(writer.into_bytes()?)?)?;
    /// assert_eq!(trajectory.log_column("energy")?.to_f64(), Some(vec![0.0, 1.0, 2.0]));
    /// assert!(trajectory.log_column("pressure").is_err()); // never logged
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`] if nothing was logged under this name; and those of [`frame`](Self::frame).
    pub fn log_column(&self, name: &str) -> Result<Column> {
        let chunk = format!("{PREFIX}{name}");
        if self.reader.history(&chunk).next().is_none() {
            return Err(Error::not_found("logged quantity", name));
        }
        Column::read(&self.reader, &chunk, &Budget::new(&self.reader))
    }

    /// Returns all logged quantities in all frames. The keys are their names without `log/`.
    ///
    /// ```
    /// use gsd_rs::Reader;
    /// use gsd_rs::hoomd::Trajectory;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "hoomd", gsd_rs::Version::new(2, 0));
    /// # let mut writer = gsd_rs::hoomd::TrajectoryWriter::on(gsd_rs::Writer::create_in(Vec::new(), &options)?)?;
    /// # for step in 0..3u32 {
    /// #     let mut frame = gsd_rs::hoomd::Frame::new(1);
    /// #     frame.configuration.step = u64::from(step) * 1000;
    /// #     frame.particles.position = vec![step as f32, 0.0, 0.0].into();
    /// #     frame.log.insert("energy".into(), f64::from(step).into());
    /// #     writer.append(&frame)?;
    /// # }
    /// # let trajectory = Trajectory::new(Reader::from_bytes(writer.into_bytes()?)?)?;
    /// for (name, column) in trajectory.read_log()? {
    ///     assert_eq!((name.as_str(), column.to_f64()), ("energy", Some(vec![0.0, 1.0, 2.0])));
    /// }
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`frame`](Self::frame).
    pub fn read_log(&self) -> Result<BTreeMap<String, Column>> {
        let mut columns = BTreeMap::new();
        let budget = Budget::new(&self.reader);
        for name in self.log_names() {
            let chunk = format!("{PREFIX}{name}");
            // The name list may contain names of frames that were never committed.
            if self.reader.history(&chunk).next().is_some() {
                columns.insert(name.to_owned(), Column::read(&self.reader, &chunk, &budget)?);
            }
        }
        Ok(columns)
    }

    /// Returns the time steps of all frames.
    ///
    /// ```
    /// use gsd_rs::Reader;
    /// use gsd_rs::hoomd::Trajectory;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "hoomd", gsd_rs::Version::new(2, 0));
    /// # let mut writer = gsd_rs::hoomd::TrajectoryWriter::on(gsd_rs::Writer::create_in(Vec::new(), &options)?)?;
    /// # for step in 0..3u32 {
    /// #     let mut frame = gsd_rs::hoomd::Frame::new(1);
    /// #     frame.configuration.step = u64::from(step) * 1000;
    /// #     frame.particles.position = vec![step as f32, 0.0, 0.0].into();
    /// #     frame.log.insert("energy".into(), f64::from(step).into());
    /// #     writer.append(&frame)?;
    /// # }
    /// # let trajectory = Trajectory::new(Reader::from_bytes(writer.into_bytes()?)?)?;
    /// assert_eq!(trajectory.steps()?, [0, 1000, 2000]);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`frame`](Self::frame).
    pub fn steps(&self) -> Result<Vec<u64>> {
        let frames = self.reader.options().limits.items("frames", self.len())? as u64;
        (0..frames).map(|frame| super::configuration::step(&self.source(frame)?)).collect()
    }
}
