//! Elements that Python passes to be written, and how they become bytes of their type.

use hdf5_pure::structure::{Class, ReferenceKind, VariableLength};
use hdf5_pure::values::Encoder;
use hdf5_pure::{Datatype, Error, ObjectId, Result, Value};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyInt, PyList, PyTuple};

use super::types;

/// An element, or several.
pub(crate) enum Item {
    /// The bytes of a text, or of elements that NumPy can represent.
    Bytes(PyBackedBytes),
    /// The address to which a reference leads; 0 means a null reference.
    Address(u64),
    /// The elements of a sequence or array, or the fields of a compound.
    List(Vec<Item>),
}

/// Takes elements from Python objects: `bytes`, numbers, lists and tuples.
pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Item> {
    if let Ok(bytes) = object.extract::<PyBackedBytes>() {
        return Ok(Item::Bytes(bytes));
    }
    if object.is_instance_of::<PyInt>() {
        return Ok(Item::Address(object.extract()?));
    }
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        let items = object.try_iter()?.map(|each| of(&each?)).collect::<PyResult<_>>()?;
        return Ok(Item::List(items));
    }
    Err(PyTypeError::new_err(format!("{} cannot be stored", object.get_type())))
}

/// Appends all elements: their bytes, or one item after the other.
pub(crate) fn put_all(datatype: &Datatype, items: &Item, to: &mut Encoder<'_>) -> Result<()> {
    match items {
        Item::List(items) => items.iter().try_for_each(|item| put(datatype, item, to)),
        whole => put(datatype, whole, to),
    }
}

/// Appends one element.
pub(crate) fn put(datatype: &Datatype, item: &Item, to: &mut Encoder<'_>) -> Result<()> {
    let wrong = || Err(Error::usage("element", "does not have the form of its type"));
    match (&datatype.class, item) {
        (Class::VariableLength(VariableLength::String { .. }), Item::Bytes(bytes)) => {
            to.sequence(bytes.len(), bytes)
        }
        (Class::VariableLength(VariableLength::Sequence(base)), Item::Bytes(bytes)) => {
            let size = usize::try_from(base.size).unwrap_or(usize::MAX); // a bound: no element is that large
            match bytes.len().checked_rem(size) {
                Some(0) => to.sequence(bytes.len() / size.max(1), bytes),
                _ => wrong(),
            }
        }
        (Class::VariableLength(VariableLength::Sequence(base)), Item::List(items)) => {
            to.sequence_of(items.len(), |to| items.iter().try_for_each(|item| put(base, item, to)))
        }
        (Class::Reference(ReferenceKind::Object), Item::Address(address)) => {
            to.bytes(&address.to_le_bytes());
            Ok(())
        }
        (Class::Reference(_), _) => Err(Error::unsupported("writing references to regions")),
        (Class::Compound(members), Item::List(items)) if members.len() == items.len() => {
            members.iter().zip(items).try_for_each(|(member, item)| put(&member.datatype, item, to))
        }
        (Class::Array { base, .. }, Item::List(items)) => {
            items.iter().try_for_each(|item| put(base, item, to))
        }
        (_, Item::Bytes(bytes)) if types::is_direct(datatype) => {
            to.bytes(bytes);
            Ok(())
        }
        _ => wrong(),
    }
}

/// The value of an attribute.
pub(crate) struct Given {
    pub(crate) datatype: Datatype,
    /// `None` means a null dataspace.
    pub(crate) shape: Option<Vec<u64>>,
    pub(crate) elements: Item,
    pub(crate) committed: Option<ObjectId>,
}

impl Value for Given {
    fn store(self, to: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)> {
        if self.shape.is_some() {
            put_all(&self.datatype, &self.elements, to)?;
        }
        Ok((self.datatype, self.shape))
    }

    fn committed(&self) -> Option<ObjectId> {
        self.committed
    }
}
