//! `NeXus` files: entries with `NXdata`, which say what their signal and their axes are.
//!
//! Source: <https://manual.nexusformat.org/classes/base_classes/NXdata.html>, in the form of 2014.

use std::path::Path;

use sciformats::hdf5_pure::{ObjectId, Store, Value, Writer};
use sciformats::{Error, Result};

use super::counted;

/// A `NeXus` file that is being written.
///
/// ```no_run
/// use sciformats_conventions::write::NeXus;
///
/// let mut file = NeXus::create("scan.nxs")?;
/// let mut data = file.data("entry", "data")?;
/// data.signal("counts", &[2, 3], &[1i32, 2, 3, 4, 5, 6])?;
/// data.errors(&[1.0, 1.4, 1.7, 2.0, 2.2, 2.4])?;
/// data.axis(0, "angle", &[10.0, 20.0])?;
/// data.attribute("angle", "units", "degree")?;
/// data.axis(1, "channel", &[0i32, 1, 2])?;
/// data.finish()?;
/// file.finish()?;
/// # Ok::<(), sciformats_conventions::sciformats::Error>(())
/// ```
#[derive(Debug)]
pub struct NeXus {
    writer: Writer,
    entries: Vec<String>,
}

/// An `NXdata` that is being written: a signal, and its axes.
#[derive(Debug)]
pub struct NxData<'w> {
    writer: &'w mut Writer,
    path: String,
    /// The arrays that were written.
    arrays: Vec<(String, ObjectId)>,
    /// The name and the shape of the signal.
    signal: Option<(String, Vec<u64>)>,
    /// The name of the axis of each dimension.
    axes: Vec<(usize, String)>,
}

impl NeXus {
    /// Starts a new file, which appears at `path` when it is [finished](Self::finish). There must not be a file yet.
    ///
    /// # Errors
    ///
    /// `Io` if the file exists or cannot be created.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        Self::over(Writer::create(path)?)
    }

    /// As [`create`](Self::create), but replaces an existing file when the new one is
    /// [finished](Self::finish).
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if a writer has the existing file open; `Io` if the file cannot be created.
    pub fn overwrite(path: impl AsRef<Path>) -> Result<Self> {
        Self::over(Writer::overwrite(path)?)
    }

    fn over(mut writer: Writer) -> Result<Self> {
        writer.root().attribute("NX_class", "NXroot")?;
        Ok(Self { writer, entries: Vec::new() })
    }

    /// Adds an `NXdata` to an entry, which is created if it does not exist. The first entry is the default of the
    /// file, and the first data are the default of their entry.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the group exists already or has no valid name.
    pub fn data(&mut self, entry: &str, name: &str) -> Result<NxData<'_>> {
        if !self.entries.iter().any(|known| known == entry) {
            if self.entries.is_empty() {
                self.writer.root().attribute("default", entry)?;
            }
            let mut group = self.writer.group(entry)?;
            group.attribute("NX_class", "NXentry")?.attribute("default", name)?;
            self.entries.push(entry.to_owned());
        }
        let path = format!("{entry}/{name}");
        self.writer.group(&path)?.attribute("NX_class", "NXdata")?;
        Ok(NxData { writer: &mut self.writer, path, arrays: Vec::new(), signal: None, axes: Vec::new() })
    }

    /// Returns the writer of the file, for whatever else it contains.
    pub fn writer(&mut self) -> &mut Writer {
        &mut self.writer
    }

    /// Completes the file.
    ///
    /// # Errors
    ///
    /// An error if it cannot be written.
    pub fn finish(self) -> Result<()> {
        self.writer.finish().map(drop)
    }
}

impl NxData<'_> {
    fn array<T: Store>(&mut self, name: &str, shape: &[u64], values: &[T]) -> Result<()> {
        counted(name, shape, values.len())?;
        let id = self.writer.dataset(&format!("{}/{name}", self.path)).shape(shape).write(values)?;
        self.arrays.push((name.to_owned(), id));
        Ok(())
    }

    /// Writes the signal, with its values in C order.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if there is a signal already, or if the number of values does not match the shape;
    /// otherwise the error of writing.
    pub fn signal<T: Store>(&mut self, name: &str, shape: &[u64], values: &[T]) -> Result<&mut Self> {
        if self.signal.is_some() {
            return Err(Error::usage("signal", "exists already"));
        }
        self.array(name, shape, values)?;
        self.signal = Some((name.to_owned(), shape.to_vec()));
        Ok(self)
    }

    /// Writes the uncertainties of the signal: the standard deviations of its values.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if there is no signal yet, or if it has another number of values.
    pub fn errors<T: Store>(&mut self, values: &[T]) -> Result<&mut Self> {
        let (name, shape) = self
            .signal
            .clone()
            .ok_or_else(|| Error::usage("errors", "need a signal, which has not been set"))?;
        self.array(&format!("{name}_errors"), &shape, values)?;
        Ok(self)
    }

    /// Writes the positions along a dimension of the signal. There may be one more than elements, because they may
    /// be the edges of bins.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if there is no signal yet, if it has no such dimension or another length along it, or if the
    /// dimension has an axis already.
    pub fn axis<T: Store>(&mut self, dimension: usize, name: &str, values: &[T]) -> Result<&mut Self> {
        let length = self.signal.as_ref().and_then(|(_, shape)| shape.get(dimension)).copied();
        let length = length.ok_or_else(|| Error::usage("dimension", "does not belong to the signal"))?;
        let count = values.len() as u64;
        if count != length && count.checked_sub(1) != Some(length) {
            return Err(Error::usage(
                "values",
                format!("{name} has {count} of them, and the signal has {length} elements along it"),
            ));
        }
        if self.axes.iter().any(|(known, _)| *known == dimension) {
            return Err(Error::usage("dimension", format!("{dimension} has an axis already")));
        }
        let index = i32::try_from(dimension).map_err(|_| Error::usage("dimension", "is too large"))?;
        self.array(name, &[count], values)?;
        self.writer.group(&self.path)?.attribute(&format!("{name}_indices"), index)?;
        self.axes.push((dimension, name.to_owned()));
        Ok(self)
    }

    /// Adds an attribute to the signal, its errors, or an axis: `units`, `long_name`.
    ///
    /// # Errors
    ///
    /// An error if there is no such array, or if the value cannot be stored.
    pub fn attribute(&mut self, name: &str, attribute: &str, value: impl Value) -> Result<&mut Self> {
        let found = self.arrays.iter().find(|(known, _)| known == name);
        let (_, id) = found.ok_or_else(|| Error::not_found("array", name))?;
        self.writer.attribute(*id, attribute, value)?;
        Ok(self)
    }

    /// Writes a title.
    ///
    /// # Errors
    ///
    /// An error if it exists already.
    pub fn title(&mut self, title: &str) -> Result<&mut Self> {
        self.writer.dataset(&format!("{}/title", self.path)).write_scalar(title)?;
        Ok(self)
    }

    /// Writes which arrays are the signal and its axes. Dimensions without an axis are marked by a dot.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if there is no signal.
    pub fn finish(mut self) -> Result<()> {
        let (name, shape) = self.signal.take().ok_or_else(|| Error::usage("NXdata", "has no signal"))?;
        let mut group = self.writer.group(&self.path)?;
        group.attribute("signal", name.as_str())?;
        let named = |dimension: usize| {
            let found = self.axes.iter().find(|(known, _)| *known == dimension);
            found.map_or(".", |(_, name)| name.as_str())
        };
        let axes: Vec<&str> = (0..shape.len()).map(named).collect();
        if !axes.is_empty() {
            group.attribute("axes", axes)?;
        }
        Ok(())
    }
}
