//! A property of many frames as one array.

use std::ops::RangeBounds;

use sciformats_core::arith::{fit, mul};
use sciformats_core::endian::ByteOrder;
use sciformats_core::number::{Number, NumberType};
use sciformats_core::storage::machine_threads;
use sciformats_core::{Conversion, Error, Result, bound, limits};

use super::source::{Shape, Source, expect};
use super::{Trajectory, bonds, configuration, particles};
use crate::Chunk;

/// The size in bytes from which on several threads read. Below it, threads cost more than they save.
const LARGE: u64 = 4 << 20;

/// A property of several frames: an array of frames × rows × columns, in which the column varies fastest.
///
/// ```
/// use gsd_rs::Reader;
/// use gsd_rs::hoomd::Trajectory;
///
/// # let options = gsd_rs::CreateOptions::new("docs", "hoomd", gsd_rs::Version::new(2, 0));
/// # let mut writer = gsd_rs::hoomd::TrajectoryWriter::on(gsd_rs::Writer::create_in(Vec::new(), &options)?)?;
/// # for step in 0..3u32 {
/// #     let mut frame = gsd_rs::hoomd::Frame::new(2);
/// #     frame.particles.position = vec![0.0, 0.0, step as f32, 1.0, 1.0, 1.0].into();
/// #     writer.append(&frame)?;
/// # }
/// # let trajectory = Trajectory::new(Reader::from_bytes(writer.into_bytes()?)?)?;
/// let position = trajectory.property::<f32>("particles/position", 0..3)?;
/// assert_eq!(position.shape(), [3, 2, 3]); // frames, particles, coordinates
/// let height: Vec<f32> = position.frames().map(|particles| particles[2]).collect(); // z of the first particle
/// assert_eq!(height, [0.0, 1.0, 2.0]);
/// # Ok::<(), gsd_rs::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Property<T> {
    values: Vec<T>,
    shape: [u64; 3],
}

impl<T> Property<T> {
    /// Returns the numbers of frames, rows (particles, bonds) and columns.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Returns all elements.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Returns all elements as an owned list.
    pub fn into_values(self) -> Vec<T> {
        self.values
    }

    /// Returns all elements as a view of frames × rows × columns.
    ///
    /// ```
    /// use gsd_rs::Reader;
    /// use gsd_rs::hoomd::Trajectory;
    /// use ndarray::s;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "hoomd", gsd_rs::Version::new(2, 0));
    /// # let mut writer = gsd_rs::hoomd::TrajectoryWriter::on(gsd_rs::Writer::create_in(Vec::new(), &options)?)?;
    /// # for step in 0..3u32 {
    /// #     let mut frame = gsd_rs::hoomd::Frame::new(2);
    /// #     frame.particles.position = vec![0.0, 0.0, step as f32, 1.0, 1.0, 1.0].into();
    /// #     writer.append(&frame)?;
    /// # }
    /// # let trajectory = Trajectory::new(Reader::from_bytes(writer.into_bytes()?)?)?;
    /// let position = trajectory.property::<f32>("particles/position", 0..3)?;
    /// let heights = position.ndarray()?; // frames, particles, coordinates
    /// assert_eq!(heights.slice(s![.., 0, 2]).to_vec(), [0.0, 1.0, 2.0]);
    /// assert_eq!(position.into_ndarray()?.mean_axis(ndarray::Axis(0)).unwrap()[[0, 2]], 1.0);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if this machine cannot address such an array.
    #[cfg(feature = "ndarray")]
    pub fn ndarray(&self) -> Result<ndarray::ArrayView3<'_, T>> {
        let [frames, rows, columns] = self.shape.map(bound::addressable);
        ndarray::ArrayView3::from_shape((frames, rows, columns), &self.values)
            .map_err(|error| Error::usage("array", error.to_string()))
    }

    /// Returns all elements as an array of frames × rows × columns. No element is moved.
    ///
    /// # Errors
    /// Those of [`ndarray`](Self::ndarray).
    #[cfg(feature = "ndarray")]
    pub fn into_ndarray(self) -> Result<ndarray::Array3<T>> {
        sciformats_core::nd::array(self.values, &self.shape)
    }

    /// Returns the elements of each frame, row by row.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = &[T]> {
        let [frames, ..] = self.shape;
        let count = bound::addressable(frames);
        let row = self.values.len().checked_div(count).unwrap_or_default(); // without frames there are no elements
        (0..count).map(move |frame| self.values.get(frame * row..(frame + 1) * row).unwrap_or_default())
    }
}

impl Trajectory {
    /// Returns a property of some frames, or of all with `..`, as one array. Elements are converted if no value changes. If a frame does not store the
    /// property, the value of frame 0 or the default of the schema counts, as in [`frame`](Self::frame). A value of the
    /// configuration is one row.
    ///
    /// ```
    /// use gsd_rs::Reader;
    /// use gsd_rs::hoomd::Trajectory;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "hoomd", gsd_rs::Version::new(2, 0));
    /// # let mut writer = gsd_rs::hoomd::TrajectoryWriter::on(gsd_rs::Writer::create_in(Vec::new(), &options)?)?;
    /// # for step in 0..3u32 {
    /// #     let mut frame = gsd_rs::hoomd::Frame::new(2);
    /// #     frame.particles.velocity = vec![step as f32; 6].into();
    /// #     writer.append(&frame)?;
    /// # }
    /// # let trajectory = Trajectory::new(Reader::from_bytes(writer.into_bytes()?)?)?;
    /// assert_eq!(trajectory.property::<f64>("particles/velocity", 1..3)?.values()[6..], [2.0; 6]);
    /// assert_eq!(trajectory.property::<u8>("particles/mass", ..1)?.values(), [1, 1]); // the default
    /// assert_eq!(trajectory.property::<f64>("particles/velocity", ..)?.shape(), [3, 2, 3]);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if there are no such frames, or if the number of particles (or bonds) differs between them;
    /// [`Error::NotFound`] for a chunk that neither the schema nor the file contains; [`Error::Misfit`] with the index in the
    /// array of the first element that `T` cannot hold; [`Error::LimitExceeded`]; and those of [`frame`](Self::frame).
    pub fn property<T: Number>(&self, name: &str, frames: impl RangeBounds<u64>) -> Result<Property<T>> {
        let frames = self.numbers(frames);
        if frames.start > frames.end || frames.end > self.len() {
            let problem = format!(
                "{}..{} are out of range, because the file has {} frames",
                frames.start,
                frames.end,
                self.len()
            );
            return Err(Error::usage("frames", problem));
        }
        let limits = &self.reader().options().limits;
        let kind = Kind::of(name);
        let count = limits.items("frames", frames.end - frames.start)?;
        let mut chunks = Vec::new();
        let mut common = None;
        for frame in frames.clone() {
            let (chunk, shape) = kind.find(&self.source(frame)?, name)?;
            let (n, m) = *common.get_or_insert(shape);
            if shape != (n, m) {
                let found = format!("{} × {} in frame {frame}", shape.0, shape.1);
                let problem =
                    format!("have {n} × {m} elements of {name} in frame {}, but {found}", frames.start);
                return Err(Error::usage("frames", problem));
            }
            chunks.push(chunk);
        }
        let (n, m) = common.unwrap_or_default();
        let each = bound::product(n, m.into());
        let bytes = bound::product(bound::product(each, count as u64), size_of::<T>() as u64);
        // Stored elements may always be read, whatever their size.
        let most = bound::sum(limits.memory, self.reader().file_size());
        limits::within("bytes of a property", bytes, most)?;
        let each: usize = fit(each, "elements of a frame")?;
        let mut values = T::zeroed(mul(each, count)?)?;
        let default = if chunks.contains(&None) { kind.default()? } else { Vec::new() };
        if each > 0 && count > 0 {
            self.fill(&chunks, &default, (each, bytes), &mut values)?;
        }
        Ok(Property { values, shape: [count as u64, n, m.into()] })
    }

    /// Reads the chunks of all frames, with `each` elements each. If they have many `bytes`, several threads read them.
    fn fill<T: Number>(
        &self,
        chunks: &[Option<Chunk<'_>>],
        default: &[T],
        (each, bytes): (usize, u64),
        values: &mut [T],
    ) -> Result<()> {
        let alone = bytes < LARGE || cfg!(target_family = "wasm");
        let threads = if alone { 1 } else { machine_threads().min(chunks.len()) };
        let share = chunks.len().div_ceil(threads);
        let read = |(part, (chunks, out)): (usize, (&[Option<Chunk<'_>>], &mut [T]))| {
            for (index, (chunk, out)) in chunks.iter().zip(out.chunks_mut(each)).enumerate() {
                let before = (part * share + index) * each;
                self.fill_frame(chunk.as_ref(), default, out).map_err(|error| error.after(before as u64))?;
            }
            Ok(())
        };
        let parts = chunks.chunks(share).zip(values.chunks_mut(share * each)).enumerate();
        if alone {
            return parts.into_iter().try_for_each(read);
        }
        std::thread::scope(|scope| {
            let read = &read;
            let readers: Vec<_> = parts.map(|part| scope.spawn(move || read(part))).collect();
            readers.into_iter().try_for_each(|reader| match reader.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })
    }

    fn fill_frame<T: Number>(&self, chunk: Option<&Chunk<'_>>, default: &[T], out: &mut [T]) -> Result<()> {
        let Some(chunk) = chunk else {
            out.iter_mut().zip(default.iter().cycle()).for_each(|(out, default)| *out = *default);
            return Ok(());
        };
        let elements = self.reader().read::<T>(chunk)?;
        if elements.len() != out.len() {
            return Err(Error::internal("the number of elements of a chunk differs from its shape"));
        }
        out.copy_from_slice(&elements);
        Ok(())
    }
}

/// What the schema says about a chunk.
enum Kind {
    /// One row per particle or bond. This chunk contains their number.
    Rows(Shape, String),
    /// One row.
    Fixed(Shape),
    /// The chunk is not part of the schema.
    Other,
}

impl Kind {
    fn of(name: &str) -> Self {
        let known = name.split_once('/').and_then(|(group, property)| match group {
            "configuration" => configuration::shape(property).map(Self::Fixed),
            "particles" => particles::shape(property).map(|shape| Self::Rows(shape, "particles/N".into())),
            group => bonds::shape(group, property).map(|shape| Self::Rows(shape, format!("{group}/N"))),
        });
        known.unwrap_or(Self::Other)
    }

    /// Returns the chunk that a frame has or inherits, and the number of rows and columns of the value.
    fn find<'a>(&self, source: &Source<'a>, name: &str) -> Result<(Option<Chunk<'a>>, (u64, u32))> {
        let chunk = source.chunk(name)?;
        match self {
            Self::Rows(shape, count) => {
                let n = u64::from(source.count(count)?);
                // A value of frame 0 is not inherited if it is for another number of particles.
                let chunk = chunk.filter(|chunk| chunk.frame == source.frame || chunk.n == n);
                chunk.map_or(Ok(()), |chunk| expect(&chunk, n, shape.columns))?;
                Ok((chunk, (n, shape.columns)))
            }
            Self::Fixed(shape) => {
                let wrong = chunk.filter(|chunk| chunk.elements() != Some(shape.columns.into()));
                wrong.map_or(Ok(()), |chunk| expect(&chunk, shape.columns.into(), 1))?;
                Ok((chunk, (1, shape.columns)))
            }
            Self::Other => {
                let chunk = chunk.ok_or_else(|| Error::not_found("chunk", name))?;
                Ok((Some(chunk), (chunk.n, chunk.m)))
            }
        }
    }

    /// Returns one row of the default.
    fn default<T: Number>(&self) -> Result<Vec<T>> {
        let (Self::Rows(shape, _) | Self::Fixed(shape)) = self else {
            return Err(Error::internal("the default of an unknown chunk is missing"));
        };
        let row = shape.row();
        let bytes: Vec<u8> = row.iter().flat_map(|value| value.to_le_bytes()).collect();
        let mut values = T::zeroed(row.len())?;
        T::read(NumberType::F64, ByteOrder::Little, &bytes, Conversion::Exact, &mut values)?;
        Ok(values)
    }
}
