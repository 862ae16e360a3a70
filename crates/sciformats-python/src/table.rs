//! Tables as streams of Arrow, which other libraries take over without a copy.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCapsule, PyDict, PyFloat, PyInt, PyString};
use sciformats::Error;
use sciformats_arrow::arrow_array::RecordBatchReader;
use sciformats_arrow::arrow_array::ffi::FFI_ArrowSchema;
use sciformats_arrow::arrow_array::ffi_stream::FFI_ArrowArrayStream;
use sciformats_arrow::sciformats_conventions::Dataset;
use sciformats_arrow::sql::{SqlOptions, Tables, query};
use sciformats_arrow::{Comparison, Files, Open, Options, Predicate, Scalar, Scan, Whole, open_file};

use crate::error::raise;
use crate::file::read_options;
use crate::remote::remote_options;

/// A table in a file, which can be read several times. It is the base of `sciformats.Table`.
#[pyclass(frozen, subclass, module = "sciformats._sciformats")]
pub(crate) struct Table {
    scan: Arc<dyn Scan>,
    shown: String,
}

/// Returns how files are opened.
fn opener(options: &Bound<'_, PyDict>) -> PyResult<Open> {
    let options = read_options(options)?;
    Ok(Arc::new(move |path| Dataset::open_with(path, &options)))
}

/// Opens the table at a path in a file, or in all of several files. A file behind a URL is a single one.
#[pyfunction]
#[pyo3(signature = (files, path, column, options, remote = None))]
#[allow(clippy::needless_pass_by_value, reason = "Python passes values")]
pub(crate) fn open_table(
    py: Python<'_>,
    files: Vec<PathBuf>,
    path: Option<String>,
    column: Option<String>,
    options: &Bound<'_, PyDict>,
    remote: Option<(String, Bound<'_, PyDict>)>,
) -> PyResult<Table> {
    if let Some((url, how)) = remote {
        let (options, how) = (read_options(options)?, remote_options(&how)?);
        let scan = py.detach(|| {
            let data = Dataset::new(sciformats::File::open_url(&url, &options, &how)?);
            Whole::new(&data, path.as_deref().unwrap_or("/"))
        });
        let shown = sciformats_remote::shown(&url);
        let scan = scan.map_err(|error| raise(&error, Some(&shown)))?;
        return Ok(Table { scan: Arc::new(scan), shown });
    }
    let open = opener(options)?;
    let shown = files.first().map(|file| file.to_string_lossy().into_owned()).unwrap_or_default();
    let scan = py.detach(|| -> Result<Arc<dyn Scan>, Error> {
        match (files.as_slice(), &column) {
            ([file], None) => open_file(file, path.as_deref(), &open),
            _ => {
                let column = column.as_deref().unwrap_or("file");
                Ok(Arc::new(Files::new(files.clone(), path.as_deref(), column, &open)?))
            }
        }
    });
    let scan = scan.map_err(|error| raise(&error, Some(&shown)))?;
    Ok(Table { scan, shown })
}

fn capsule_of_schema<'py>(
    py: Python<'py>,
    schema: &sciformats_arrow::arrow_schema::Schema,
) -> PyResult<Bound<'py, PyCapsule>> {
    let schema =
        FFI_ArrowSchema::try_from(schema).map_err(|error| PyValueError::new_err(error.to_string()))?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

fn capsule_of_stream(
    py: Python<'_>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), c"arrow_array_stream")
}

#[pymethods]
impl Table {
    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.scan.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The number of rows, or `None` if they have to be counted.
    #[getter]
    fn rows(&self) -> Option<u64> {
        self.scan.rows()
    }

    /// The schema, for libraries that take one of Arrow.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule_of_schema(py, &self.scan.schema())
    }

    /// All rows as a stream of Arrow. A requested schema is not followed, which the protocol permits.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let reader = self.scan.scan(&Options::default()).map_err(|error| raise(&error, Some(&self.shown)))?;
        capsule_of_stream(py, reader)
    }

    /// A part of the table: some columns, the rows that satisfy all conditions (each a column, a comparison and a
    /// value), and no more rows than the limit.
    #[pyo3(signature = (columns = None, conditions = None, limit = None, batch_rows = None, ordered = None, threads = 0))]
    #[allow(clippy::too_many_arguments, reason = "Python names each of them")]
    fn part(
        &self,
        columns: Option<Vec<String>>,
        conditions: Option<Vec<(String, String, Bound<'_, PyAny>)>>,
        limit: Option<u64>,
        batch_rows: Option<u64>,
        ordered: Option<String>,
        threads: usize,
    ) -> PyResult<Part> {
        let mut options = Options::default().with_threads(threads);
        options.columns = columns;
        options.limit = limit;
        options.sorted = ordered;
        if let Some(rows) = batch_rows {
            options.batch_rows = rows;
        }
        for (column, comparison, value) in conditions.unwrap_or_default() {
            options =
                options.with_filter(Predicate::new(column, self::comparison(&comparison)?, scalar(&value)?));
        }
        // What does not fit is an error now, not when the part is read.
        let reader = self.scan.scan(&options).map_err(|error| raise(&error, Some(&self.shown)))?;
        let schema = reader.schema();
        Ok(Part { scan: Arc::clone(&self.scan), options, schema, shown: self.shown.clone() })
    }
}

/// A part of a table, which can be read several times.
#[pyclass(frozen, module = "sciformats._sciformats")]
pub(crate) struct Part {
    scan: Arc<dyn Scan>,
    options: Options,
    schema: sciformats_arrow::arrow_schema::SchemaRef,
    shown: String,
}

#[pymethods]
impl Part {
    /// The schema, for libraries that take one of Arrow.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule_of_schema(py, &self.schema)
    }

    /// The rows as a stream of Arrow.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let reader = self.scan.scan(&self.options).map_err(|error| raise(&error, Some(&self.shown)))?;
        capsule_of_stream(py, reader)
    }
}

/// The result of a query, which can be read once.
#[pyclass(frozen, module = "sciformats._sciformats")]
pub(crate) struct Answer {
    reader: std::sync::Mutex<Option<Box<dyn RecordBatchReader + Send>>>,
    schema: sciformats_arrow::arrow_schema::SchemaRef,
}

#[pymethods]
impl Answer {
    /// Which columns there are, of which types, and whether they were read already.
    fn __repr__(&self) -> String {
        let fields = self.schema.fields().iter();
        let columns: Vec<_> = fields.map(|field| format!("{} {}", field.name(), field.data_type())).collect();
        let left = self.reader.lock().unwrap_or_else(std::sync::PoisonError::into_inner).is_some();
        let after = if left { "" } else { "; it was read already" };
        format!("<the result of a query, a stream of Arrow: {}{after}>", columns.join(", "))
    }

    /// The schema, for libraries that take one of Arrow.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule_of_schema(py, &self.schema)
    }

    /// The rows as a stream of Arrow.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let reader = self.reader.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        let reader = reader.ok_or_else(|| PyValueError::new_err("the result of a query can be read once"))?;
        capsule_of_stream(py, reader)
    }
}

/// Runs a query. `find` gives, for the name of a table, its files, the path in them, and the column that names the
/// files if there is one.
#[pyfunction]
pub(crate) fn run_query(
    py: Python<'_>,
    text: &str,
    find: Py<PyAny>,
    options: &Bound<'_, PyDict>,
) -> PyResult<Answer> {
    struct Found {
        find: Py<PyAny>,
        open: Open,
    }
    impl Tables for Found {
        fn table(&self, name: &str) -> Result<Arc<dyn Scan>, Error> {
            type Place = (Vec<PathBuf>, Option<String>, Option<String>);
            let place = Python::attach(|py| self.find.call1(py, (name,))?.extract::<Place>(py));
            let (files, path, column) = place.map_err(|error| Error::usage("table", error.to_string()))?;
            match (files.as_slice(), column) {
                ([], _) => Err(Error::not_found("file of the table", name)),
                ([file], None) => open_file(file, path.as_deref(), &self.open),
                (_, column) => {
                    let column = column.as_deref().unwrap_or("file").to_owned();
                    Ok(Arc::new(Files::new(files, path.as_deref(), &column, &self.open)?))
                }
            }
        }
    }
    let tables = Found { find, open: opener(options)? };
    let reader = py.detach(|| query(text, &tables, &SqlOptions::default()));
    let reader = reader.map_err(|error| raise(&error, None))?;
    let schema = reader.schema();
    Ok(Answer { reader: std::sync::Mutex::new(Some(reader)), schema })
}

fn comparison(mark: &str) -> PyResult<Comparison> {
    Ok(match mark {
        "=" | "==" => Comparison::Equal,
        "!=" | "<>" => Comparison::NotEqual,
        "<" => Comparison::Less,
        "<=" => Comparison::LessOrEqual,
        ">" => Comparison::Greater,
        ">=" => Comparison::GreaterOrEqual,
        _ => return Err(PyValueError::new_err(format!("{mark:?} is none of =, !=, <, <=, > and >="))),
    })
}

fn scalar(value: &Bound<'_, PyAny>) -> PyResult<Scalar> {
    if value.is_instance_of::<PyBool>() {
        Ok(Scalar::from(value.extract::<bool>()?))
    } else if value.is_instance_of::<PyInt>() {
        Ok(Scalar::Int(value.extract::<i128>()?))
    } else if value.is_instance_of::<PyFloat>() {
        Ok(Scalar::from(value.extract::<f64>()?))
    } else if value.is_instance_of::<PyString>() {
        Ok(Scalar::from(value.extract::<String>()?))
    } else {
        let kind = value.get_type().name()?.to_string();
        Err(PyTypeError::new_err(format!("a value of type {kind} cannot be compared with those of a column")))
    }
}
