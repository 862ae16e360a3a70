//! Describes HDF5's datatypes as nested tuples, which `sciformats.h5._types` converts to NumPy types.

use hdf5_pure::structure::{ByteOrder, Class};
use hdf5_pure::structure::{CharacterSet, FloatOrder, ReferenceKind, VariableLength};
use hdf5_pure::{Datatype, ElementType};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

/// Describes a type as a tuple: its class, and then what NumPy needs to know about it.
///
/// # Errors
///
/// `NotSupported` and `FileDamaged` for a type that has no meaning.
pub(crate) fn describe<'py>(
    py: Python<'py>,
    of: &Datatype,
    raise: &dyn Fn(&hdf5_pure::Error) -> PyErr,
) -> PyResult<Bound<'py, PyAny>> {
    let size = of.size;
    let order = |order: ByteOrder| if order == ByteOrder::Big { ">" } else { "<" };
    match &of.class {
        Class::FixedPoint(fixed) => ("int", size, fixed.signed, order(fixed.order)).into_bound_py_any(py),
        Class::FloatingPoint(float) => {
            let big = float.order == FloatOrder::Big;
            ("float", size, if big { ">" } else { "<" }).into_bound_py_any(py)
        }
        Class::Time { .. } => ("time", size).into_bound_py_any(py),
        Class::String { charset, .. } => ("string", size, utf8(*charset)).into_bound_py_any(py),
        Class::BitField(field) => ("bits", size, order(field.order)).into_bound_py_any(py),
        Class::Opaque { tag } => ("opaque", size, tag.to_text()).into_bound_py_any(py),
        Class::Reference(kind) => {
            let word = if *kind == ReferenceKind::Region { "region" } else { "object" };
            ("reference", word).into_bound_py_any(py)
        }
        Class::VariableLength(VariableLength::String { charset, .. }) => {
            ("text", utf8(*charset)).into_bound_py_any(py)
        }
        Class::VariableLength(VariableLength::Sequence(base)) => {
            ("vlen", describe(py, base, raise)?).into_bound_py_any(py)
        }
        Class::Array { dimensions, base } => {
            ("array", describe(py, base, raise)?, dimensions.clone()).into_bound_py_any(py)
        }
        Class::Complex { base } => ("complex", describe(py, base, raise)?).into_bound_py_any(py),
        Class::Enumeration { base, .. } => {
            let members = match of.element_type().map_err(|error| raise(&error))? {
                ElementType::Enumeration { members, .. } => members,
                _ => Vec::new(),
            };
            let members: Vec<_> =
                members.iter().map(|(name, value)| (name.to_text().into_owned(), *value)).collect();
            ("enum", describe(py, base, raise)?, members).into_bound_py_any(py)
        }
        Class::Compound(members) => {
            let members = members.iter().map(|member| {
                let inner = describe(py, &member.datatype, raise)?;
                Ok((member.name.to_text().into_owned(), member.offset, inner))
            });
            ("compound", size, members.collect::<PyResult<Vec<_>>>()?).into_bound_py_any(py)
        }
    }
}

fn utf8(charset: CharacterSet) -> bool {
    charset == CharacterSet::Utf8
}

/// Returns whether NumPy can use the stored bytes directly, in either byte order.
pub(crate) fn is_direct(of: &Datatype) -> bool {
    match &of.class {
        Class::FixedPoint(fixed) => {
            let whole = u64::from(fixed.precision) == u64::from(of.size) * 8 && fixed.bit_offset == 0;
            whole && matches!(of.size, 1 | 2 | 4 | 8)
        }
        Class::FloatingPoint(float) => {
            float.order != FloatOrder::Vax && matches!(of.element_type(), Ok(ElementType::Float(_)))
        }
        Class::BitField(field) => field.bit_offset == 0 && matches!(of.size, 1 | 2 | 4 | 8),
        Class::String { .. } | Class::Opaque { .. } => true,
        Class::Enumeration { base, .. } | Class::Array { base, .. } | Class::Complex { base } => {
            is_direct(base)
        }
        Class::Compound(members) => members.iter().all(|member| is_direct(&member.datatype)),
        Class::Time { .. } | Class::Reference(_) | Class::VariableLength(_) => false,
    }
}
