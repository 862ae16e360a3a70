//! Rust values as attributes.

use std::borrow::Cow;

use sciformats_core::arith::present;
use sciformats_core::{Conversion, Error, Result};

use crate::change::tree::Tree;
use crate::object::attributes::Attribute;
use crate::object::id::ObjectId;
use crate::spec::Name;
use crate::spec::message::attribute::NewAttribute;
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::datatype::{CharacterSet, Datatype};
use crate::spec::message::shared::Shared;
use crate::value::references::{Reference, RegionReference, StandardReference};
use crate::value::store::{Encoder, Store, encoded, refuse_indirect};

/// A string that is stored with a fixed number of bytes, as an attribute.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, FixedString, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// file.root().attribute("station", FixedString("north"))?; // as MATLAB has it
/// let station = File::from_bytes(file.into_bytes()?)?.root()?.attribute("station")?;
/// assert_eq!((station.read::<String>()?, station.datatype()?.size), (vec!["north".to_owned()], 5));
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedString<'a>(pub &'a str);

/// An attribute without elements, only a type.
///
/// ```
/// use hdf5_pure::structure::Dataspace;
/// use hdf5_pure::{CreateOptions, Datatype, Empty, File, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// file.root().attribute("calibrated", Empty(Datatype::float64()))?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// assert_eq!(*file.root()?.attribute("calibrated")?.dataspace()?, Dataspace::Null);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Empty(pub Datatype);

/// An attribute of any type: elements as they are stored, row by row.
///
/// ```
/// use hdf5_pure::{CreateOptions, Datatype, File, Raw, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// let datatype = Datatype::integer(false, 2).big_endian();
/// file.root().attribute("shape", Raw { datatype, shape: vec![2], bytes: &[0, 1, 2, 3] })?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// assert_eq!(file.root()?.attribute("shape")?.read::<u16>()?, [1, 515]);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw<'a> {
    /// What the elements are. Types of variable length and region references have their elements elsewhere and cannot be given so.
    pub datatype: Datatype,
    /// The shape; without dimensions there is one element.
    pub shape: Vec<u64>,
    /// The elements' bytes.
    pub bytes: &'a [u8],
}

/// A value that is converted to a committed datatype, which the attribute then has. What that type cannot hold is an
/// [`Error::Misfit`].
///
/// ```
/// use hdf5_pure::{Committed, CreateOptions, Datatype, File, Writer};
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
    /// The datatype: what [`GroupWriter::commit`](crate::GroupWriter::commit) gave.
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

/// What attributes are made of: numbers, strings, slices and arrays of them, structs of [`record!`](crate::record), arrays of
/// `ndarray` with that feature, and [`FixedString`], [`Empty`], [`Raw`] and [`Committed`]. Arrays within arrays are more
/// dimensions.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, FixedString, Writer};
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
    /// Type, shape (none for no elements at all) and elements.
    ///
    /// # Errors
    /// Those of the [`Encoder`].
    fn store(self, to: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)>;

    /// The committed datatype that the attribute has, if it has one.
    fn committed(&self) -> Option<ObjectId> {
        None
    }

    /// The character set that the attribute says its name is in. By default that is what its characters need.
    fn character_set(&self) -> Option<CharacterSet> {
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
        let size =
            u32::try_from(self.0.len()).map_err(|_| Error::usage("string", "has 2^32 bytes or more"))?;
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

/// Makes the attribute message of a value.
pub(crate) fn attribute(tree: &mut Tree, name: &str, value: impl Value) -> Result<Attribute> {
    let committed = value.committed();
    let utf8 = value.character_set().map_or(!name.is_ascii(), |set| set == CharacterSet::Utf8);
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
        Some(shape) => crate::api::writer::layout::simple(&shape, None)?,
    };
    let elements = present(dataspace.elements(), "number of elements")?;
    if elements.checked_mul(size.into()) != Some(data.len() as u64) {
        let problem = format!("has {} bytes, not those of {elements} elements", data.len());
        return Err(Error::usage("attribute", problem));
    }
    // The oldest version has no place for a committed datatype, nor the second for the character set of a name.
    let oldest = if committed.is_some() { 2 } else { 1 };
    let version = if utf8 { 3 } else { bound.version(oldest, 3) };
    let (mut spaces, mut message) = (Vec::new(), Vec::new());
    dataspace.encode(&mut spaces, tree.output.sizes, bound.version(1, 2))?;
    if name.len() >= usize::from(u16::MAX) || types.len() > usize::from(u16::MAX) {
        return Err(Error::usage("attribute", "has a name or a datatype of 64 KiB or more"));
    }
    let new = NewAttribute {
        name: name.as_bytes(),
        utf8,
        datatype: &types,
        shared_datatype: committed.is_some(),
        shared_dataspace: false,
        dataspace: &spaces,
        data: &data,
    };
    new.encode(&mut message, version)?;
    Ok(Attribute { name: name.as_bytes().into(), message, committed, creation_order: None, shared: None })
}

/// A comment as it is stored.
pub(crate) fn comment(text: &str) -> Result<Name> {
    if text.contains('\0') {
        return Err(Error::usage("comment", "holds a NUL"));
    }
    Ok(text.into())
}

/// Checks the parts of a link's value.
pub(crate) fn link_value(what: &'static str, parts: &[&str]) -> Result<()> {
    let len: usize = parts.iter().map(|part| part.len() + 1).sum();
    if parts.iter().any(|part| part.is_empty() || part.contains('\0')) || len > 65_000 {
        return Err(Error::usage(what, "leads to a name that is empty, holds a NUL or is too long"));
    }
    Ok(())
}
