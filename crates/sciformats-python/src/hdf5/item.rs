//! Elements that Python passes to be written, and how they become bytes of their type.

use hdf5_pure::references::{Reference, RegionReference};
use hdf5_pure::structure::{Class, ReferenceKind, Selection, VariableLength};
use hdf5_pure::values::Encoder;
use hdf5_pure::{Address, Datatype, Error, ObjectId, Result, Value};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyInt, PyList, PyTuple};

use super::{stored, types};

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
    let wrong = || Err(Error::usage("element", "does not match its datatype"));
    match (&datatype.class, item) {
        (Class::VariableLength(VariableLength::String { .. }), Item::Bytes(bytes)) => to.text(bytes),
        (Class::VariableLength(VariableLength::Sequence(base)), Item::Bytes(bytes)) => {
            let size = usize::try_from(base.size).unwrap_or(usize::MAX); // a bound: no element is that large
            match bytes.len().checked_rem(size) {
                Some(0) if types::is_direct(base) => {
                    let mut bytes = bytes.to_vec();
                    stored::pad(base, &mut bytes);
                    to.sequence(bytes.len() / size.max(1), &bytes)
                }
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
        (Class::Reference(ReferenceKind::Region), item) => region(item)?.store(to).map(drop),
        (Class::Reference(_), _) => {
            Err(Error::unsupported("writing references of the type that HDF5 1.12 introduced"))
        }
        (Class::Compound(members), Item::List(items)) if members.len() == items.len() => {
            let mut parts: Vec<_> = members.iter().zip(items).collect();
            parts.sort_by_key(|(member, _)| member.offset);
            // Between the members there may be bytes that mean nothing.
            let mut end = 0;
            let gap = |from: u32, at: u32| {
                let len = at.checked_sub(from).and_then(|len| usize::try_from(len).ok());
                len.map(|len| vec![0; len])
                    .ok_or_else(|| Error::usage("compound", "has members that overlap"))
            };
            for (member, item) in parts {
                to.bytes(&gap(end, member.offset)?);
                put(&member.datatype, item, to)?;
                end = member.offset.saturating_add(member.datatype.size); // a bound: such a compound has no room
            }
            to.bytes(&gap(end, datatype.size)?);
            Ok(())
        }
        (Class::Array { base, .. }, Item::List(items)) => {
            items.iter().try_for_each(|item| put(base, item, to))
        }
        (_, Item::Bytes(bytes)) if types::is_direct(datatype) => {
            if stored::is_padded(datatype) {
                let mut bytes = bytes.to_vec();
                stored::pad(datatype, &mut bytes);
                to.bytes(&bytes);
            } else {
                to.bytes(bytes);
            }
            Ok(())
        }
        (_, Item::Bytes(bytes)) if stored::is_number(datatype) => {
            to.bytes(&stored::number(datatype, bytes)?);
            Ok(())
        }
        _ => wrong(),
    }
}

/// Returns a reference to a region: the address of the dataset, the number of its dimensions, and a list of blocks or of points.
/// Each block has the list of its first and the list of its last indices, and each point has one list. An empty list selects
/// nothing, and the address 0 is a null reference.
fn region(item: &Item) -> Result<RegionReference> {
    let wrong = || {
        Error::usage(
            "reference to a region",
            "must be the address of the dataset, its rank, and a list of blocks or points",
        )
    };
    let number = |item: &Item| match item {
        Item::Address(number) => Ok(*number),
        _ => Err(wrong()),
    };
    let numbers = |item: &Item| match item {
        Item::List(items) => items.iter().map(number).collect::<Result<Vec<_>>>(),
        _ => Err(wrong()),
    };
    match item {
        Item::Address(0) => Ok(RegionReference::of(Reference::default(), Selection::None, 0)),
        Item::List(parts) => {
            let [address, rank, Item::List(blocks)] = &parts[..] else { return Err(wrong()) };
            let (address, rank) =
                (Address(number(address)?), usize::try_from(number(rank)?).map_err(|_| wrong())?);
            let block = |item: &Item| match item {
                Item::List(corners) => corners.iter().map(numbers).collect::<Result<Vec<_>>>(),
                _ => Err(wrong()),
            };
            let blocks = blocks.iter().map(block).collect::<Result<Vec<_>>>()?;
            if blocks.iter().flatten().any(|corner| corner.len() != rank) {
                return Err(wrong());
            }
            let selection = if blocks.is_empty() {
                Selection::None
            } else if rank == 0 {
                Selection::All
            } else if blocks.iter().all(|corners| corners.len() == 1) {
                Selection::Points(blocks.into_iter().flatten().collect())
            } else {
                let both = |corners: Vec<Vec<u64>>| <[Vec<u64>; 2]>::try_from(corners).map_err(|_| wrong());
                let blocks =
                    blocks.into_iter().map(|corners| both(corners).map(|[first, last]| (first, last)));
                Selection::Blocks(blocks.collect::<Result<_>>()?)
            };
            Ok(RegionReference::of(address.into(), selection, rank))
        }
        _ => Err(wrong()),
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
