//! The module `sciformats_datafusion` of Python: tables of scientific files for the package `datafusion`, which reads them through the C
//! interface of DataFusion.

use std::sync::OnceLock;

use std::sync::Arc;

use datafusion_ffi::proto::logical_extension_codec::FFI_LogicalExtensionCodec;
use datafusion_ffi::table_provider::FFI_TableProvider;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tables::datafusion::catalog::TableProvider;
use tables::{FileTable, TableOptions};
use tokio::runtime::Runtime;

/// The name of the capsule with the codec of a session.
const CODEC: &std::ffi::CStr = c"datafusion_logical_extension_codec";

/// A table in a scientific file, in all files of a folder, or in those that match a pattern: `Table("runs/*.h5", "/log")`. It is registered
/// with `SessionContext.register_table`, and read by queries: only the columns that they use, and rows that can satisfy their conditions.
#[pyclass(frozen, module = "sciformats_datafusion")]
struct Table {
    table: Arc<FileTable>,
}

/// Threads that run the asynchronous parts of reading.
fn runtime() -> PyResult<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let made = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let made = made.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    Ok(RUNTIME.get_or_init(|| made))
}

#[pymethods]
impl Table {
    /// Opens the first file, whose columns are those of the table.
    #[new]
    #[pyo3(signature = (location, path = None, *, file_column = None, sorted = None, piece_rows = None))]
    fn new(
        py: Python<'_>,
        location: String,
        path: Option<String>,
        file_column: Option<String>,
        sorted: Option<String>,
        piece_rows: Option<u64>,
    ) -> PyResult<Self> {
        let mut options = TableOptions::new(location);
        if let Some(path) = path {
            options = options.with_path(path);
        }
        if let Some(name) = file_column {
            options = options.with_file_column(name);
        }
        if let Some(name) = sorted {
            options = options.with_sorted(name);
        }
        if let Some(rows) = piece_rows {
            options = options.with_piece_rows(rows);
        }
        let table = py.detach(|| FileTable::open(options));
        let table = table.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { table: Arc::new(table) })
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.table.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The table for a session of the package `datafusion`.
    fn __datafusion_table_provider__<'py>(
        &self,
        py: Python<'py>,
        session: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        same_version(py)?;
        let capsule = match session.getattr_opt("__datafusion_logical_extension_codec__")? {
            Some(method) => method.call0()?.cast_into::<PyCapsule>()?,
            None => return Err(PyTypeError::new_err("the session is not one of the package datafusion")),
        };
        let pointer = capsule.pointer_checked(Some(CODEC))?;
        // SAFETY: The capsule has the name of this type, which `pointer_checked` compares, and comes from a package of the same major version,
        // within which the type has one layout. The capsule owns the value and is held here until the clone is made.
        #[allow(unsafe_code, reason = "the package datafusion lends its codec by a pointer")]
        let codec = unsafe { pointer.cast::<FFI_LogicalExtensionCodec>().as_ref() }.clone();
        let handle = runtime()?.handle().clone();
        let provider = Arc::clone(&self.table) as Arc<dyn TableProvider>;
        let provider = FFI_TableProvider::new_with_ffi_codec(provider, true, Some(handle), codec);
        PyCapsule::new_with_value(py, provider, c"datafusion_table_provider")
    }
}

/// Checks that the package `datafusion` has the interface of this module.
fn same_version(py: Python<'_>) -> PyResult<()> {
    let found: String = py.import("datafusion")?.getattr("__version__")?.extract()?;
    let wanted = tables::datafusion::DATAFUSION_VERSION;
    if found.split('.').next() == wanted.split('.').next() {
        return Ok(());
    }
    let problem = format!(
        "the package datafusion has version {found}, but this module is for that of DataFusion {wanted}"
    );
    Err(PyRuntimeError::new_err(problem))
}

/// Tables of scientific files for the package `datafusion`.
#[pymodule]
fn sciformats_datafusion(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Table>()
}
