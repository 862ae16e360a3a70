//! Files and arrays of any format.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use numpy::{IntoPyArray, PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyDict, PyList};
use sciformats::{
    Access, ArrayInfo, AttributeValue, Error, External, Object, ObjectId, OpenOptions, Range, Slab, Target,
};

use crate::element::{self, name};
use crate::error::{closed, raise};
use crate::process;
use crate::remote::{self, Place, Seen};
use crate::storage::Buffer;

/// An open file, which all of its objects share. Closing it affects all of them.
struct Handle {
    file: RwLock<Option<Opened>>,
    place: Place,
    shown: Option<String>,
    options: OpenOptions,
    seen: Seen,
}

#[derive(Clone)]
struct Opened {
    file: Arc<sciformats::File>,
    /// The process that opened the file. Threads that decode chunks do not exist in a forked process.
    process: u32,
}

impl Handle {
    fn raise(&self, error: &Error) -> PyErr {
        raise(error, self.shown.as_deref())
    }

    /// Returns the open file. A forked process opens it again, for a single thread.
    fn file(&self) -> PyResult<Arc<sciformats::File>> {
        let opened = self.file.read().unwrap_or_else(PoisonError::into_inner).clone();
        let opened = opened.ok_or_else(closed)?;
        if opened.process == process::current() {
            return Ok(opened.file);
        }
        let options = self.options.clone().with_threads(1);
        let now = self.place.seen();
        let file = self.place.open(&options).map_err(|error| self.raise(&error))?;
        let Some(file) = file else { return Ok(opened.file) };
        let now = file.remote().map_or(now, |remote| Seen::Remote(remote::state(remote)));
        self.seen.check(&now, self.shown.as_deref())?;
        let file = Arc::new(file);
        let anew = Opened { file: Arc::clone(&file), process: process::current() };
        *self.file.write().unwrap_or_else(PoisonError::into_inner) = Some(anew);
        Ok(file)
    }
}

/// An open file of any format, which is the base of `sciformats.File`.
#[pyclass(frozen, module = "sciformats._sciformats")]
pub(crate) struct File(Arc<Handle>);

#[pymethods]
impl File {
    /// Opens the file at `path`.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let options = read_options(options)?;
        let shown = path.to_string_lossy().into_owned();
        let seen = Seen::at(&path);
        let file = py.detach(|| sciformats::open_with(&path, &options));
        let file = file.map_err(|error| raise(&error, Some(&shown)))?;
        Ok(Self::new(file, Place::Path(path), seen, options))
    }

    /// Opens the file at a URL.
    #[staticmethod]
    fn open_url(
        py: Python<'_>,
        url: String,
        storage: &Bound<'_, PyDict>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let (options, remote) = (read_options(options)?, remote::remote_options(storage)?);
        let file = py.detach(|| sciformats::File::open_url(&url, &options, &remote));
        let file = file.map_err(|error| raise(&error, Some(&sciformats_remote::shown(&url))))?;
        let seen = file.remote().map_or(Seen::Nothing, |remote| Seen::Remote(remote::state(remote)));
        Ok(Self::new(file, Place::Url(url, Box::new(remote)), seen, options))
    }

    /// Opens the file whose bytes are `buffer`, without copying them.
    #[staticmethod]
    fn of_bytes(py: Python<'_>, buffer: PyBackedBytes, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let options = read_options(options)?;
        let file = py.detach(|| sciformats::File::from_storage(Buffer(buffer), &options));
        let file = file.map_err(|error| raise(&error, None))?;
        Ok(Self::new(file, Place::Memory, Seen::Nothing, options))
    }

    /// Closes the file for all objects that read it.
    fn close(&self, py: Python<'_>) {
        let file = self.0.file.write().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| drop(file));
    }

    #[getter]
    fn closed(&self) -> bool {
        self.0.file.read().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    #[getter]
    fn format(&self) -> PyResult<&'static str> {
        Ok(self.0.file()?.format().word())
    }

    /// Returns the size, the entity tag and the date of the last change of a remote file.
    #[getter]
    fn state(&self) -> PyResult<Option<remote::State>> {
        Ok(self.0.file()?.remote().map(remote::state))
    }

    /// Returns the numbers of batches of requests, of requests, and of bytes that were fetched from a remote file.
    #[getter]
    fn statistics(&self) -> PyResult<Option<(u64, u64, u64)>> {
        let file = self.0.file()?;
        let statistics = file.remote().map(sciformats_remote::Remote::statistics);
        Ok(statistics.map(|found| (found.batches, found.requests, found.bytes)))
    }

    /// Returns what is known about the file as a whole.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let file = self.0.file()?;
        facts(py, &py.detach(|| file.source().facts()))
    }

    /// Returns the id of the object at `path`, following links.
    fn resolve(&self, py: Python<'_>, path: &str) -> PyResult<u64> {
        let file = self.0.file()?;
        Ok(py.detach(|| file.resolve(path)).map_err(|error| self.0.raise(&error))?.0)
    }

    /// Returns the kind of an object, and an `Array` or a value if it is one.
    fn object<'py>(&self, py: Python<'py>, id: u64) -> PyResult<(&'static str, Bound<'py, PyAny>)> {
        let file = self.0.file()?;
        let object = py.detach(|| file.source().object(ObjectId(id)));
        let object = object.map_err(|error| self.0.raise(&error))?;
        let kind = object.kind().word();
        let content = match object {
            Object::Group => py.None().into_bound(py),
            Object::Array(info) => {
                Bound::new(py, Array { handle: Arc::clone(&self.0), id, info: *info })?.into_any()
            }
            Object::Datatype(of) => element::describe(py, &of)?,
            Object::Value(value) => element::value(py, &value)?,
            Object::Damaged { error, .. } => return Err(self.0.raise(&error)),
        };
        Ok((kind, content))
    }

    /// Returns the members of a group: the name, the kind of link (`"hard"`, `"soft"`, …), and the target of
    /// each.
    fn members<'py>(&self, py: Python<'py>, id: u64) -> PyResult<Bound<'py, PyList>> {
        let file = self.0.file()?;
        let members: Result<Vec<_>, Error> =
            py.detach(|| file.source().members(ObjectId(id)).and_then(Iterator::collect));
        let list = PyList::empty(py);
        for member in members.map_err(|error| self.0.raise(&error))? {
            let shown = name(&member.name);
            match member.target {
                Target::Object(id) => list.append((shown, "hard", id.0))?,
                Target::Soft(path) => list.append((shown, "soft", name(&path)))?,
                Target::External { file, target } => {
                    list.append((shown, "external", (name(&file), name(&target))))?;
                }
                Target::User(class) => list.append((shown, "user", class))?,
                Target::Damaged(error) => {
                    list.append((shown, "damaged", self.0.raise(&error).into_value(py)))?;
                }
            }
        }
        Ok(list)
    }

    /// Returns the attributes of an object: the name, element type, shape and elements of each. If an
    /// attribute cannot be read, there is an exception in place of its elements.
    fn attributes<'py>(&self, py: Python<'py>, id: u64) -> PyResult<Bound<'py, PyList>> {
        let file = self.0.file()?;
        let attributes: Result<Vec<_>, Error> =
            py.detach(|| file.source().attributes(ObjectId(id)).and_then(Iterator::collect));
        let list = PyList::empty(py);
        for attribute in attributes.map_err(|error| self.0.raise(&error))? {
            let shown = name(&attribute.name);
            match attribute.value {
                Err(error) => {
                    list.append((shown, py.None(), py.None(), self.0.raise(&error).into_value(py)))?;
                }
                Ok(AttributeValue { element, shape, data }) => {
                    let data = match data {
                        Ok(bytes) => elements(py, &element, bytes, &self.0)?,
                        Err(error) => self.0.raise(&error).into_value(py).into_bound(py).into_any(),
                    };
                    list.append((shown, element::describe(py, &element)?, shape, data))?;
                }
            }
        }
        Ok(list)
    }
}

impl File {
    fn new(file: sciformats::File, place: Place, seen: Seen, options: OpenOptions) -> Self {
        let opened = Opened { file: Arc::new(file), process: process::current() };
        let shown = place.shown();
        let seen = if options.access == Access::direct() { Seen::Nothing } else { seen };
        Self(Arc::new(Handle { file: RwLock::new(Some(opened)), place, shown, options, seen }))
    }
}

/// An array of a file, which is the base of `sciformats.Array`.
#[pyclass(frozen, module = "sciformats._sciformats")]
pub(crate) struct Array {
    handle: Arc<Handle>,
    id: u64,
    info: ArrayInfo,
}

#[pymethods]
impl Array {
    /// Returns the element type; see `sciformats._dtypes`.
    #[getter]
    fn element<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        element::describe(py, &self.info.element)
    }

    /// Returns whether all elements have one size, so that `read` returns their bytes.
    #[getter]
    fn fixed(&self) -> bool {
        element::is_fixed(&self.info.element)
    }

    #[getter]
    fn shape(&self) -> Option<Vec<u64>> {
        self.info.shape.clone()
    }

    #[getter]
    fn chunks(&self) -> Option<Vec<u64>> {
        self.info.chunks.clone()
    }

    #[getter]
    fn filters(&self) -> Vec<String> {
        self.info.filters.clone()
    }

    /// Returns the number of bytes that are stored for the array, if it is known.
    #[getter]
    fn stored(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        Ok(self.measured(py)?.stored)
    }

    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        facts(py, &self.measured(py)?.facts)
    }

    /// Returns the canonical bytes of elements that were never written.
    fn fill<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<u8>>>> {
        let file = self.handle.file()?;
        Ok(file.source().fill(ObjectId(self.id)).map(|bytes| bytes.into_pyarray(py)))
    }

    /// Reads the selected elements. If they all have one size, the result is their bytes as an array of
    /// `uint8`, and otherwise a list of objects. A range is the first index, the number of indices, and the
    /// step.
    fn read<'py>(&self, py: Python<'py>, ranges: Vec<(u64, u64, u64)>) -> PyResult<Bound<'py, PyAny>> {
        let bytes = self.bytes(py, ranges)?;
        elements(py, &self.info.element, bytes, &self.handle)
    }

    /// Does the same as `read`, but reads into the bytes of an existing array.
    fn read_into(
        &self,
        py: Python<'_>,
        ranges: Vec<(u64, u64, u64)>,
        out: &Bound<'_, PyArray1<u8>>,
    ) -> PyResult<()> {
        let bytes = self.bytes(py, ranges)?;
        let mut out = out
            .try_readwrite()
            .map_err(|_| PyValueError::new_err("out is read-only, or in use by another thread"))?;
        let out = out.as_slice_mut()?;
        if out.len() != bytes.len() {
            let (needed, found) = (bytes.len(), out.len());
            return Err(PyValueError::new_err(format!(
                "out has {found} bytes, but the selection has {needed}"
            )));
        }
        py.detach(|| out.copy_from_slice(&bytes));
        Ok(())
    }
}

impl Array {
    /// Returns the description with what takes all chunks to know.
    fn measured(&self, py: Python<'_>) -> PyResult<ArrayInfo> {
        let file = self.handle.file()?;
        let object = py.detach(|| file.source().measured(ObjectId(self.id)));
        Ok(match object.map_err(|error| self.handle.raise(&error))? {
            Object::Array(info) => *info,
            _ => self.info.clone(),
        })
    }

    fn bytes(&self, py: Python<'_>, ranges: Vec<(u64, u64, u64)>) -> PyResult<Vec<u8>> {
        let file = self.handle.file()?;
        let ranges: Vec<Range> =
            ranges.into_iter().map(|(start, count, step)| Range::new(start, count).by(step)).collect();
        let read = || {
            let slab = Slab::new(self.info.shape.as_deref().unwrap_or_default(), ranges)?;
            let mut bytes = Vec::new();
            file.read(ObjectId(self.id), &slab, &mut bytes)?;
            Ok(bytes)
        };
        py.detach(read).map_err(|error: Error| self.handle.raise(&error))
    }
}

/// Returns elements in a form for NumPy: bytes, which become an array without a copy, or objects.
fn elements<'py>(
    py: Python<'py>,
    of: &sciformats::ElementType,
    bytes: Vec<u8>,
    handle: &Handle,
) -> PyResult<Bound<'py, PyAny>> {
    if element::is_fixed(of) {
        return Ok(bytes.into_pyarray(py).into_any());
    }
    Ok(element::objects(py, of, &bytes, element::Text::Str, &|error| handle.raise(error))?.into_any())
}

fn facts<'py>(py: Python<'py>, facts: &[(&'static str, sciformats::Value)]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, value) in facts {
        dict.set_item(key, element::value(py, value)?)?;
    }
    Ok(dict)
}

/// Reads the options of `sciformats.open` by their names.
pub(crate) fn read_options(given: &Bound<'_, PyDict>) -> PyResult<OpenOptions> {
    let mut options = OpenOptions::default();
    for (key, value) in given {
        let key: String = key.extract()?;
        options = match key.as_str() {
            "threads" => options.with_threads(value.extract()?),
            "memory" => {
                let limits = options.limits.with_memory(value.extract()?);
                options.with_limits(limits)
            }
            "external" => options.with_external(match value.extract::<String>()?.as_str() {
                "never" => External::None,
                "same folder" => External::SameFolder,
                "anywhere" => External::Anywhere,
                other => {
                    let message = format!(
                        "external is {other:?}; it must be \"never\", \"same folder\" or \"anywhere\""
                    );
                    return Err(PyValueError::new_err(message));
                }
            }),
            "cut" => options.with_cut(value.extract()?),
            "changing" if value.extract()? => options.with_access(Access::direct()),
            "changing" => options,
            _ => return Err(PyTypeError::new_err(format!("open() has no option {key:?}"))),
        };
    }
    Ok(options)
}
