//! Converts element types and elements to Python objects.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyComplex, PyList, PyTuple};
use sciformats::{Datum, Decoder, ElementType, Name, Value};

/// Returns a name as `str`. Bytes that are not UTF-8 are escaped in the same way as in the program.
pub(crate) fn name(of: &Name) -> String {
    of.shown().into_owned()
}

/// Describes an element type as nested tuples, which `sciformats._dtypes` converts to NumPy types: `("int",
/// 4)`, `("text",)`, `("compound", [("x", ("f8",)), …])`.
pub(crate) fn describe<'py>(py: Python<'py>, element: &ElementType) -> PyResult<Bound<'py, PyAny>> {
    let sized = |word: &str, size: u64| (word, size).into_bound_py_any(py);
    let plain = |word: &str| PyTuple::new(py, [word]).map(Bound::into_any);
    match element {
        ElementType::Int(size) => sized("int", (*size).into()),
        ElementType::UInt(size) => sized("uint", (*size).into()),
        ElementType::F16 => sized("float", 2),
        ElementType::F32 => sized("float", 4),
        ElementType::F64 | ElementType::FloatOther => sized("float", 8),
        ElementType::BF16 => plain("bfloat16"),
        ElementType::Complex(size) => sized("complex", (*size).into()),
        ElementType::Bool => plain("bool"),
        ElementType::Text => plain("text"),
        ElementType::Opaque(size) => sized("opaque", *size),
        ElementType::Bits(size) => sized("bits", *size),
        ElementType::Time(size) => sized("time", *size),
        ElementType::Reference => plain("reference"),
        ElementType::Region => plain("region"),
        ElementType::Vlen(base) => ("vlen", describe(py, base)?).into_bound_py_any(py),
        ElementType::Array { element, shape } => {
            ("array", describe(py, element)?, shape.clone()).into_bound_py_any(py)
        }
        ElementType::Enum { base, members } => {
            let members: Vec<(String, i128)> = members.iter().map(|(of, value)| (name(of), *value)).collect();
            ("enum", describe(py, base)?, members).into_bound_py_any(py)
        }
        ElementType::Compound(fields) => {
            let fields = fields.iter().map(|(of, field)| Ok((name(of), describe(py, field)?)));
            ("compound", fields.collect::<PyResult<Vec<_>>>()?).into_bound_py_any(py)
        }
        // A type that was added after this code was written.
        _ => sized("opaque", element.size().unwrap_or_default()),
    }
}

/// Returns whether all elements have the same number of bytes, so that NumPy can use them directly.
pub(crate) fn is_fixed(element: &ElementType) -> bool {
    element.size().is_some()
}

/// How texts are converted.
#[derive(Clone, Copy)]
pub(crate) enum Text {
    /// To `str`, decoded in the way of Python's file names: text that is not UTF-8 can be encoded again.
    Str,
    /// To `bytes`.
    Bytes,
}

/// Returns the elements in canonical bytes as a list of objects: texts, a `list` for each sequence, a `tuple`
/// for each compound, and numbers.
pub(crate) fn objects<'py>(
    py: Python<'py>,
    element: &ElementType,
    bytes: &[u8],
    text: Text,
    raise: &dyn Fn(&sciformats::Error) -> PyErr,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for datum in Decoder::new(element, bytes) {
        list.append(object(py, &datum.map_err(|error| raise(&error))?, text)?)?;
    }
    Ok(list)
}

fn object<'py>(py: Python<'py>, datum: &Datum<'_>, how: Text) -> PyResult<Bound<'py, PyAny>> {
    match datum {
        Datum::Int(value) | Datum::Member(value, _) => value.into_bound_py_any(py),
        Datum::UInt(value) => value.into_bound_py_any(py),
        Datum::Float(value, _) => value.into_bound_py_any(py),
        Datum::Complex(real, imaginary, _) => Ok(PyComplex::from_doubles(py, *real, *imaginary).into_any()),
        Datum::Bool(value) => value.into_bound_py_any(py),
        Datum::Text(text) => {
            let bytes = PyBytes::new(py, text);
            match how {
                Text::Str => bytes.call_method1("decode", ("utf-8", "surrogateescape")),
                Text::Bytes => Ok(bytes.into_any()),
            }
        }
        Datum::Bytes(bytes) => Ok(PyBytes::new(py, bytes).into_any()),
        Datum::List(items) => {
            let items = items.iter().map(|item| object(py, item, how)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, items)?.into_any())
        }
        Datum::Record(fields) => {
            let fields =
                fields.iter().map(|(_, item)| object(py, item, how)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyTuple::new(py, fields)?.into_any())
        }
    }
}

/// Converts a scalar of a document to a Python object.
pub(crate) fn value<'py>(py: Python<'py>, of: &Value) -> PyResult<Bound<'py, PyAny>> {
    match of {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(value) => value.into_bound_py_any(py),
        Value::Integer(digits) => py.import("builtins")?.call_method1("int", (&**digits,)),
        Value::Float(value) => value.into_bound_py_any(py),
        Value::Text(text) => text.as_str().into_bound_py_any(py),
        Value::List(items) => {
            let items = items.iter().map(|item| value(py, item)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, items)?.into_any())
        }
    }
}
