//! Which process this is. The system is asked once, because to ask it takes as long as to copy many elements.

use std::sync::atomic::{AtomicU32, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The number of this process, or zero while it is not known.
static CURRENT: AtomicU32 = AtomicU32::new(0);

/// Returns the number of this process. It is another one in a forked process if Python has forked it, as it always does in
/// programs that go on with Python.
pub(crate) fn current() -> u32 {
    let known = CURRENT.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    let id = std::process::id();
    CURRENT.store(id, Ordering::Relaxed);
    id
}

/// Tells a process that it has just been forked.
#[pyfunction]
fn forked() {
    CURRENT.store(0, Ordering::Relaxed);
}

/// Asks Python to call `forked` in each process that it forks, if the system has such processes.
pub(crate) fn watch(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let os = py.import("os")?;
    let Some(register) = os.getattr_opt("register_at_fork")? else { return Ok(()) };
    let named = PyDict::new(py);
    named.set_item("after_in_child", wrap_pyfunction!(forked, module)?)?;
    register.call((), Some(&named)).map(drop)
}
