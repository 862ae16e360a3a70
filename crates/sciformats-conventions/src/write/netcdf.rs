//! netCDF-4 files with shared dimensions in the form that the netCDF library requires.
//!
//! Source: "File Format Specifications" in the netCDF users' guide.

use std::path::Path;

use sciformats::hdf5_pure::structure::Class;
use sciformats::hdf5_pure::{CreateOptions, DatasetBuilder, ObjectId, Store, Value, Writer};
use sciformats::{Error, Result, Slab};

/// A dimension of a file that is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DimensionId(usize);

#[derive(Debug)]
struct Planned {
    name: String,
    length: u64,
    unlimited: bool,
    /// The variable with the same name along this dimension.
    coordinate: Option<ObjectId>,
}

/// A netCDF-4 file that is being written: first its dimensions, and then variables along them.
///
/// ```no_run
/// use sciformats_conventions::write::NetCdf;
///
/// let mut file = NetCdf::create("weather.nc")?;
/// let time = file.unlimited("time", 2)?;
/// let place = file.dimension("place", 3)?;
/// let hours = file.variable("time", &[time], &[0.0, 6.0], None)?;
/// file.attribute(hours, "units", "hours since 2001-01-01")?;
/// let tas = file.packed("tas", &[time, place], (&[281.5, 282.0, f64::NAN, 280.0, 280.5, 281.0], 0.01, 273.15))?;
/// file.attribute(tas, "units", "K")?;
/// file.finish()?;
/// # Ok::<(), sciformats_conventions::sciformats::Error>(())
/// ```
#[derive(Debug)]
pub struct NetCdf {
    writer: Writer,
    dimensions: Vec<Planned>,
    variables: Vec<(ObjectId, Vec<DimensionId>)>,
    /// The level at which the elements of variables are compressed.
    level: Option<u32>,
}

/// The lengths of dimensions, and the largest ones; `None` is unlimited.
struct Shape(Vec<u64>, Vec<Option<u64>>);

/// Gives a dataset its shape. It consists of chunks if it can grow, or if that is wanted.
fn shaped<'w>(dataset: DatasetBuilder<'w>, Shape(shape, most): Shape, chunked: bool) -> DatasetBuilder<'w> {
    let grows = most.contains(&None);
    // There is nothing to divide into chunks.
    let chunked = chunked && !shape.contains(&0);
    let dataset = dataset.shape(shape);
    match (grows, chunked) {
        (true, _) => dataset.max_shape(most).automatic_chunks(),
        (false, true) => dataset.automatic_chunks(),
        (false, false) => dataset,
    }
}

/// Fails if netCDF has no type for the elements of a variable: floating-point numbers of another size than four or eight bytes.
fn readable<T: Store>(name: &str) -> Result<()> {
    let datatype = T::datatype();
    match &datatype.class {
        Class::FloatingPoint(_) if !matches!(datatype.size, 4 | 8) => Err(Error::unsupported(format!(
            "the variable {name} of floating-point numbers of {} bytes in netCDF",
            datatype.size
        ))),
        _ => Ok(()),
    }
}

/// The value of packed integers that are missing.
const MISSING: i16 = -32_767;

impl NetCdf {
    /// Starts a new file, which appears at `path` when it is [finished](Self::finish). There must not be a file
    /// yet; [`overwrite`](Self::overwrite) replaces one.
    ///
    /// # Errors
    ///
    /// `Io` if the file exists or cannot be created.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        Writer::create_with(path, &CreateOptions::default().with_track_order(true)).map(Self::over)
    }

    /// As [`create`](Self::create), but replaces an existing file when the new one is
    /// [finished](Self::finish).
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if a writer has the existing file open; `Io` if the file cannot be created.
    pub fn overwrite(path: impl AsRef<Path>) -> Result<Self> {
        Writer::overwrite_with(path, &CreateOptions::default().with_track_order(true)).map(Self::over)
    }

    fn over(writer: Writer) -> Self {
        Self { writer, dimensions: Vec::new(), variables: Vec::new(), level: None }
    }

    fn add(&mut self, name: &str, length: u64, unlimited: bool) -> Result<DimensionId> {
        if self.dimensions.iter().any(|known| known.name == name) {
            return Err(Error::usage("dimension", format!("{name} exists already")));
        }
        self.dimensions.push(Planned { name: name.to_owned(), length, unlimited, coordinate: None });
        Ok(DimensionId(self.dimensions.len() - 1))
    }

    /// Adds a dimension with a fixed length.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the name exists already.
    pub fn dimension(&mut self, name: &str, length: u64) -> Result<DimensionId> {
        self.add(name, length, false)
    }

    /// Adds an unlimited dimension with its present length.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the name exists already.
    pub fn unlimited(&mut self, name: &str, length: u64) -> Result<DimensionId> {
        self.add(name, length, true)
    }

    fn planned(&self, dimension: DimensionId) -> Result<&Planned> {
        self.dimensions.get(dimension.0).ok_or_else(|| Error::usage("dimension", "belongs to another file"))
    }

    /// Compresses the variables that are added from now on with deflate at a level from 1 to 9, after shuffling their bytes.
    /// Texts and single values are not compressed.
    pub fn deflate(&mut self, level: u32) {
        self.level = Some(level);
    }

    /// Adds a variable whose values are [put](Self::put) in later, part by part. Elements that are never put in are `fill`,
    /// or zero without it.
    ///
    /// ```no_run
    /// use sciformats_conventions::sciformats::{Range, Slab};
    /// use sciformats_conventions::write::NetCdf;
    ///
    /// let mut file = NetCdf::create("long.nc")?;
    /// let (time, place) = (file.unlimited("time", 1000)?, file.dimension("place", 3)?);
    /// let u = file.define("u", &[time, place], Some(f32::NAN))?;
    /// for step in 0..1000 {
    ///     let row = Slab::new(&[1000, 3], [Range::new(step, 1), Range::all(3)])?;
    ///     file.put(u, &row, &[0.5f32, 1.5, 2.5])?;
    /// }
    /// file.finish()?;
    /// # Ok::<(), sciformats_conventions::sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if a dimension of another variable has this name; [`Error::Unsupported`] for floating-point numbers of
    /// two bytes, which netCDF does not have.
    pub fn define<T: Store + Copy>(
        &mut self,
        name: &str,
        dimensions: &[DimensionId],
        fill: Option<T>,
    ) -> Result<ObjectId> {
        readable::<T>(name)?;
        let (shape, coordinate) = self.place(name, dimensions)?;
        let scalar = shape.0.is_empty();
        let level = self.level.filter(|_| !scalar);
        let mut dataset = shaped(self.writer.dataset(name), shape, level.is_some());
        if let Some(level) = level {
            dataset = dataset.shuffle().deflate(level);
        }
        if let Some(fill) = fill {
            dataset = dataset.fill(fill).attribute("_FillValue", [fill]);
        }
        let id = dataset.create::<T>()?.id();
        self.remember(id, dimensions, coordinate);
        Ok(id)
    }

    /// As [`define`](Self::define), for texts of any length.
    ///
    /// # Errors
    ///
    /// As [`define`](Self::define).
    pub fn define_texts(&mut self, name: &str, dimensions: &[DimensionId]) -> Result<ObjectId> {
        let (shape, coordinate) = self.place(name, dimensions)?;
        let id = shaped(self.writer.dataset(name), shape, false).create::<&str>()?.id();
        self.remember(id, dimensions, coordinate);
        Ok(id)
    }

    /// Puts values into a part of a variable, in C order.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the part is one of another shape, or if the number of values is not its own.
    pub fn put<T: Store>(&mut self, variable: ObjectId, part: &Slab, values: &[T]) -> Result<()> {
        self.writer.open_id(variable)?.write_slab(part, values).map(drop)
    }

    /// Returns the shape of a variable along these dimensions, and the dimension whose coordinates it contains.
    fn place(&self, name: &str, dimensions: &[DimensionId]) -> Result<(Shape, Option<DimensionId>)> {
        let (mut shape, mut most) = (Vec::new(), Vec::new());
        for &dimension in dimensions {
            let planned = self.planned(dimension)?;
            shape.push(planned.length);
            most.push((!planned.unlimited).then_some(planned.length));
        }
        let coordinate = match *dimensions {
            [one] if self.planned(one)?.name == name => Some(one),
            _ => None,
        };
        if coordinate.is_none() && self.dimensions.iter().any(|known| known.name == name) {
            return Err(Error::usage(
                "variable",
                format!("{name} has the name of a dimension that is not its own"),
            ));
        }
        Ok((Shape(shape, most), coordinate))
    }

    fn remember(&mut self, id: ObjectId, dimensions: &[DimensionId], coordinate: Option<DimensionId>) {
        self.variables.push((id, dimensions.to_vec()));
        if let Some(planned) = coordinate.and_then(|one| self.dimensions.get_mut(one.0)) {
            planned.coordinate = Some(id);
        }
    }

    /// Adds a variable with its values in C order. If it has the name of its only dimension, it contains the
    /// coordinates along it. With `fill`, elements of this value are missing, and so are elements that are
    /// never written.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the number of values does not match the dimensions; [`Error::Unsupported`] as
    /// [`define`](Self::define); otherwise the error of writing.
    pub fn variable<T: Store + Copy>(
        &mut self,
        name: &str,
        dimensions: &[DimensionId],
        values: &[T],
        fill: Option<T>,
    ) -> Result<ObjectId> {
        readable::<T>(name)?;
        let (shape, coordinate) = self.place(name, dimensions)?;
        let mut dataset = shaped(self.writer.dataset(name), shape, false);
        if let Some(fill) = fill {
            dataset = dataset.fill(fill).attribute("_FillValue", [fill]);
        }
        let id = dataset.write(values)?;
        self.remember(id, dimensions, coordinate);
        Ok(id)
    }

    /// Adds numbers that are packed into integers of two bytes. Each is stored as the integer nearest to
    /// `(value - offset) / scale`, and NaN is stored as the fill value.
    ///
    /// # Errors
    ///
    /// As [`variable`](Self::variable); [`Error::Usage`] if a number is too far from the offset.
    pub fn packed(
        &mut self,
        name: &str,
        dimensions: &[DimensionId],
        (values, scale, offset): (&[f64], f64, f64),
    ) -> Result<ObjectId> {
        let pack = |&value: &f64| {
            let stored = ((value - offset) / scale).round_ties_even();
            let inside = stored > f64::from(MISSING) && stored <= f64::from(i16::MAX);
            match (value.is_nan(), inside) {
                (true, _) => Ok(MISSING),
                // The bounds are checked above.
                (false, true) => Ok(stored as i16),
                (false, false) => {
                    Err(Error::usage("packed value", format!("{value} does not fit in 16 bits")))
                }
            }
        };
        let packed = values.iter().map(pack).collect::<Result<Vec<i16>>>()?;
        let id = self.variable(name, dimensions, &packed, Some(MISSING))?;
        self.attribute(id, "scale_factor", [scale])?;
        self.attribute(id, "add_offset", [offset])?;
        Ok(id)
    }

    /// Adds an attribute to a variable.
    ///
    /// # Errors
    ///
    /// An error if there is no such variable, or if the value cannot be stored.
    pub fn attribute(&mut self, variable: ObjectId, name: &str, value: impl Value) -> Result<()> {
        self.writer.attribute(variable, name, value)
    }

    /// Adds an attribute to the file: `Conventions`, `title`.
    ///
    /// # Errors
    ///
    /// An error if the value cannot be stored.
    pub fn global(&mut self, name: &str, value: impl Value) -> Result<()> {
        self.writer.root().attribute(name, value).map(drop)
    }

    /// Writes the dimensions without coordinates, links variables with their dimensions, and completes the
    /// file.
    ///
    /// # Errors
    ///
    /// An error if it cannot be written.
    pub fn finish(mut self) -> Result<()> {
        let mut scales = Vec::new();
        for (number, planned) in self.dimensions.iter().enumerate() {
            let id = match planned.coordinate {
                Some(id) => {
                    self.writer.make_scale(id, &planned.name)?;
                    id
                }
                None => {
                    let most = (!planned.unlimited).then_some(planned.length);
                    let mut dataset = self.writer.dataset(&planned.name).shape([planned.length]);
                    if planned.unlimited {
                        dataset = dataset.max_shape([most]).automatic_chunks();
                    }
                    let id = dataset.create::<f32>()?.id();
                    let name =
                        format!("This is a netCDF dimension but not a netCDF variable.{:10}", planned.length);
                    self.writer.make_scale(id, &name)?;
                    id
                }
            };
            let number = i32::try_from(number).map_err(|_| Error::usage("dimensions", "are too many"))?;
            self.writer.attribute(id, "_Netcdf4Dimid", number)?;
            scales.push(id);
        }
        for (variable, dimensions) in &self.variables {
            if scales.contains(variable) {
                continue;
            }
            for (axis, dimension) in dimensions.iter().enumerate() {
                let scale = scales
                    .get(dimension.0)
                    .ok_or_else(|| Error::usage("dimension", "belongs to another file"))?;
                self.writer.attach_scale(*variable, axis, *scale)?;
            }
        }
        self.writer.finish().map(drop)
    }
}
