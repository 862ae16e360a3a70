//! Rust values that can be stored as attributes.

use std::borrow::Cow;

use sciformats_core::arith::present;
use sciformats_core::{Conversion, Error, Result};

use crate::api::writer::layout::{self, Growth};
use crate::change::tree::Tree;
use crate::object::attributes::Attribute;
use crate::object::id::ObjectId;
use crate::spec::is_utf8;
use crate::spec::message::attribute::NewAttribute;
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::datatype::{CharacterSet, Datatype};
use crate::spec::message::shared::Shared;
use crate::value::references::{Reference, RegionReference, StandardReference};
use crate::value::store::{Encoder, Store, encoded, refuse_indirect};

/// A string attribute that is stored with a fixed number of bytes.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer};
/// use hdf5_pure::values::FixedString;
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// file.root().attribute("station", FixedString("north"))?; // as MATLAB has it
/// let station = File::from_bytes(file.into_bytes()?)?.root()?.attribute("station")?;
/// assert_eq!((station.read::<String>()?, station.datatype()?.size), (vec!["north".to_owned()], 5));
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedString<'a>(pub &'a str);

/// An attribute with a null dataspace: it has a datatype, but no elements.
///
/// ```
/// use hdf5_pure::structure::Dataspace;
/// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
/// use hdf5_pure::values::Empty;
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// file.root().attribute("calibrated", Empty(Datatype::float64()))?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// assert_eq!(*file.root()?.attribute("calibrated")?.dataspace()?, Dataspace::Null);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Empty(pub Datatype);

/// An attribute of any datatype, given as the bytes of its elements in C order.
///
/// ```
/// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
/// use hdf5_pure::values::Raw;
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// let datatype = Datatype::unsigned(2).big_endian();
/// file.root().attribute("shape", Raw { datatype, shape: vec![2], bytes: &[0, 1, 2, 3] })?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// assert_eq!(file.root()?.attribute("shape")?.read::<u16>()?, [1, 515]);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw<'a> {
    /// The datatype of the elements. Elements of variable length and region references refer to data elsewhere, so they
    /// cannot be given as bytes.
    pub datatype: Datatype,
    /// The shape. If it has no dimensions, there is one element.
    pub shape: Vec<u64>,
    /// The bytes of the elements.
    pub bytes: &'a [u8],
}

/// A value that is converted to a committed datatype, which becomes the attribute's datatype. A value that it cannot
/// hold is an [`Error::Misfit`].
///
/// ```
/// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
/// use hdf5_pure::values::Committed;
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// let kelvin = file.root().commit("kelvin", &Datatype::float32())?;
/// file.root().attribute("mean", Committed { datatype: kelvin, value: 281.5 })?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// assert_eq!(*file.root()?.attribute("mean")?.datatype()?, Datatype::float32());
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed<T> {
    /// The identifier of the datatype, from [`GroupWriter::commit`](crate::GroupWriter::commit).
    pub datatype: ObjectId,
    /// The value.
    pub value: T,
}

impl<T: Value> Value for Committed<T> {
    fn store(self, to: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)> {
        self.value.store(to)
    }

    fn committed(&self) -> Option<ObjectId> {
        Some(self.datatype)
    }
}

/// A value that can be stored as an attribute: numbers, strings, slices and arrays of them, structs of
/// [`record!`](crate::record), arrays of `ndarray` (with that feature), [`FixedString`], [`Empty`], [`Raw`] and
/// [`Committed`]. Arrays within arrays give further dimensions.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer};
/// use hdf5_pure::values::FixedString;
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// let mut root = file.root();
/// root.attribute("year", 2026)?.attribute("height", 412.5)?.attribute("calibrated", true)?;
/// root.attribute("title", "a week in May")?.attribute("code", FixedString("N7"))?;
/// root.attribute("valid range", [250.0, 320.0])?.attribute("stations", vec!["north", "south"])?;
/// root.attribute("rotation", [[0, -1], [1, 0]])?; // of shape 2 × 2
/// let root = File::from_bytes(file.into_bytes()?)?.root()?;
/// assert_eq!(root.attribute("stations")?.read::<String>()?, ["north", "south"]);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
pub trait Value: Sized {
    /// Appends the elements, and returns the datatype and the shape; `None` means a null dataspace.
    ///
    /// # Errors
    /// Returns the errors of the [`Encoder`].
    fn store(self, to: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)>;

    /// Returns the committed datatype of the attribute, if it has one.
    fn committed(&self) -> Option<ObjectId> {
        None
    }

    /// Returns the character set that is stored for the attribute's name. By default it follows from the characters of
    /// the name.
    fn character_set(&self) -> Option<CharacterSet> {
        None
    }

    /// Returns the maximum length of each dimension, where `None` has no maximum, if the attribute stores it. It has no effect,
    /// because attributes never grow.
    fn max_shape(&self) -> Option<Vec<Option<u64>>> {
        None
    }
}

macro_rules! scalars {
    ($($name:ty)*) => {$(
        impl Value for $name {
            fn store(self, to: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)> {
                Self::encode(&[self], to)?;
                Ok((Self::datatype(), Some(Vec::new())))
            }
        }
    )*};
}
scalars!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 bool String &str Reference RegionReference StandardReference);

#[cfg(feature = "half")]
scalars!(half::f16 half::bf16);

#[cfg(feature = "num-complex")]
impl<T: Store + Copy> Value for num_complex::Complex<T> {
    fn store(self, to: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)> {
        Self::encode(&[self], to)?;
        Ok((Self::datatype(), Some(Vec::new())))
    }
}

impl Value for &&str {
    fn store(self, to: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)> {
        (*self).store(to)
    }
}

impl Value for &String {
    fn store(self, to: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)> {
        self.as_str().store(to)
    }
}

impl Value for Cow<'_, str> {
    fn store(self, to: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)> {
        (&*self).store(to)
    }
}

impl<T: Store> Value for &[T] {
    fn store(self, to: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)> {
        T::encode(self, to)?;
        let mut shape = vec![self.len() as u64];
        Ok((T::innermost(&mut shape), Some(shape)))
    }
}

impl<T: Store> Value for Vec<T> {
    fn store(self, to: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)> {
        self.as_slice().store(to)
    }
}

impl<T: Store> Value for &Vec<T> {
    fn store(self, to: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)> {
        self.as_slice().store(to)
    }
}

impl<T: Store, const N: usize> Value for [T; N] {
    fn store(self, to: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)> {
        self.as_slice().store(to)
    }
}

impl<T: Store, const N: usize> Value for &[T; N] {
    fn store(self, to: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)> {
        self.as_slice().store(to)
    }
}

impl Value for FixedString<'_> {
    fn store(self, to: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)> {
        let size = u32::try_from(self.0.len())
            .map_err(|_| Error::usage("string", "is too long: it must have less than 2^32 bytes"))?;
        to.bytes(self.0.as_bytes());
        if size == 0 {
            to.bytes(&[0]);
        }
        Ok((Datatype::fixed_string(size.max(1)), Some(Vec::new())))
    }
}

impl Value for Empty {
    fn store(self, _: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)> {
        Ok((self.0, None))
    }
}

impl Value for Raw<'_> {
    fn store(self, to: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)> {
        refuse_indirect(&self.datatype)?;
        to.bytes(self.bytes);
        Ok((self.datatype, Some(self.shape)))
    }
}

/// Builds the attribute message of a value.
pub(crate) fn attribute(tree: &mut Tree, name: &[u8], value: impl Value) -> Result<Attribute> {
    let committed = value.committed().map(|id| tree.owner.find(id)).transpose()?;
    let maximum = value.max_shape();
    let utf8 = value.character_set().map_or_else(|| is_utf8(name), |set| set == CharacterSet::Utf8);
    let ((datatype, shape), mut data) = encoded(tree.elsewhere(), |to| value.store(to))?;
    let bound = tree.settings.bound;
    let datatype = bound.datatype(&datatype, tree.output.sizes)?;
    datatype.check()?;
    let mut types = Vec::new();
    let size = match committed {
        None => {
            datatype.encode(&mut types)?;
            datatype.size
        }
        Some(id) => {
            let wanted = tree.committed(id)?.clone();
            data = crate::value::convert::elements(&datatype, &wanted, data, Conversion::Exact)?;
            let sizes = tree.output.sizes;
            Shared::Committed(tree.address(id)?).encode(&mut types, sizes, bound.version(2, 3))?;
            wanted.size
        }
    };
    let dataspace = match shape {
        None => Dataspace::Null,
        Some(shape) if shape.is_empty() => Dataspace::Scalar,
        Some(shape) => layout::simple(&shape, &maximum.map_or(Growth::Fixed, Growth::UpTo))?,
    };
    let elements = present(dataspace.elements(), "number of elements")?;
    if elements.checked_mul(size.into()) != Some(data.len() as u64) {
        let problem = format!("has {} bytes, which do not make {elements} elements", data.len());
        return Err(Error::usage("attribute", problem));
    }
    // Version 1 of the message cannot refer to a committed datatype, and version 2 cannot give the character set of the
    // name.
    let oldest = if committed.is_some() { 2 } else { 1 };
    let version = if utf8 { 3 } else { bound.version(oldest, 3) };
    let (mut spaces, mut message) = (Vec::new(), Vec::new());
    dataspace.encode(&mut spaces, tree.output.sizes, bound.version(1, 2))?;
    if name.len() >= usize::from(u16::MAX) || types.len() > usize::from(u16::MAX) {
        return Err(Error::usage(
            "attribute",
            "cannot be stored: its name and its encoded datatype must each be shorter than 64 KiB",
        ));
    }
    let new = NewAttribute {
        name,
        utf8,
        datatype: &types,
        shared_datatype: committed.is_some(),
        shared_dataspace: false,
        dataspace: &spaces,
        data: &data,
    };
    new.encode(&mut message, version)?;
    Ok(Attribute { name: name.into(), message, committed, creation_order: None, shared: None })
}

/// Checks the parts of a link's value.
pub(crate) fn link_value(what: &'static str, parts: &[&[u8]]) -> Result<()> {
    let len: usize = parts.iter().map(|part| part.len() + 1).sum();
    if parts.iter().any(|part| part.is_empty() || part.contains(&0)) || len > 65_000 {
        return Err(Error::usage(
            what,
            "has a target that is empty, contains a NUL character or is too long",
        ));
    }
    Ok(())
}
