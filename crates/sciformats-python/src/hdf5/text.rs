//! Names in Python. In HDF5 they are bytes, and some are not UTF-8: each byte that is none becomes a lone surrogate, as the error handler
//! `surrogateescape` of Python defines it, and leads back to the byte. The Python part makes `bytes` of such texts where h5py does.

use hdf5_pure::{AsName, Name};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// A name, or a path of names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Text(Name);

impl Text {
    /// Returns the bytes as they are stored.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl AsName for Text {
    fn name_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl From<&Name> for Text {
    fn from(name: &Name) -> Self {
        Self(name.clone())
    }
}

impl From<&[u8]> for Text {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl From<Text> for Name {
    fn from(text: Text) -> Self {
        text.0
    }
}

impl<'py> FromPyObject<'_, 'py> for Text {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let text = object.cast::<PyString>()?;
        if let Ok(text) = text.to_str() {
            return Ok(Self(text.into()));
        }
        let bytes = text.call_method1(pyo3::intern!(object.py(), "encode"), ("utf-8", "surrogateescape"))?;
        Ok(Self(bytes.cast::<PyBytes>()?.as_bytes().into()))
    }
}

impl<'py> IntoPyObject<'py> for Text {
    type Target = PyString;
    type Output = Bound<'py, PyString>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        if let Ok(text) = std::str::from_utf8(self.as_bytes()) {
            return Ok(PyString::new(py, text));
        }
        let bytes = PyBytes::new(py, self.as_bytes());
        let text = bytes.call_method1(pyo3::intern!(py, "decode"), ("utf-8", "surrogateescape"))?;
        Ok(text.cast_into::<PyString>()?)
    }
}
