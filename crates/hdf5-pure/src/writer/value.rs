//! Rust values as elements and attributes.

use sciformats_core::{Error, Result, Slab};

use crate::model::write::attributes::Attribute;
use crate::model::write::bound::Bound;
use crate::model::write::global_heap::GlobalHeap;
use crate::model::write::output::{Output, SIZES};
use crate::model::write::tree::Tree;
use crate::spec::message::attribute::NewAttribute;
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::datatype::{
    CharacterSet, Class, Datatype, EnumMember, Padding, ReferenceKind, VariableLength,
};
use crate::spec::selection::Selection;
use crate::spec::{Name, put_uint};

/// Takes elements in the form in which they are stored.
pub struct Encoder<'a> {
    out: Vec<u8>,
    output: &'a mut Output,
    heap: &'a mut GlobalHeap,
    bound: Bound,
}

impl std::fmt::Debug for Encoder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder").field("bytes", &self.out.len()).finish_non_exhaustive()
    }
}

impl Encoder<'_> {
    /// Appends bytes of an element.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Appends an element of variable length: `count` elements whose bytes are `bytes`.
    ///
    /// # Errors
    /// `Io`, or [`Error::Usage`] for a sequence of 2^32 elements or more.
    pub fn sequence(&mut self, count: usize, bytes: &[u8]) -> Result<()> {
        let len = u32::try_from(count).map_err(|_| Error::usage("sequence", "has 2^32 elements or more"))?;
        self.out.extend(len.to_le_bytes());
        if bytes.is_empty() {
            self.out.extend([0; 12]);
            return Ok(());
        }
        self.heap.put(self.output, bytes)?.encode(&mut self.out, SIZES);
        Ok(())
    }

    /// Appends an element of variable length whose `values` are encoded themselves.
    ///
    /// # Errors
    /// As [`sequence`](Self::sequence).
    pub fn nested<T: Store>(&mut self, values: &[T]) -> Result<()> {
        if let Some(bytes) = T::as_bytes(values) {
            return self.sequence(values.len(), bytes);
        }
        self.sequence_of(values.len(), |to| T::encode(values, to))
    }

    /// Appends an element of variable length: `count` elements that `encode` appends.
    ///
    /// # Errors
    /// As [`sequence`](Self::sequence), and those of `encode`.
    pub fn sequence_of(&mut self, count: usize, encode: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let outer = std::mem::take(&mut self.out);
        let result = encode(self);
        let inner = std::mem::replace(&mut self.out, outer);
        result?;
        self.sequence(count, &inner)
    }
}

/// Types that are stored as elements.
pub trait Store: Sized {
    /// What the elements are.
    fn datatype() -> Datatype;

    /// Appends elements of [`datatype`](Self::datatype).
    ///
    /// # Errors
    /// Those of the [`Encoder`].
    fn encode(values: &[Self], to: &mut Encoder<'_>) -> Result<()>;

    /// The elements' bytes, where they are in memory as they are stored.
    fn as_bytes(_: &[Self]) -> Option<&[u8]> {
        None
    }

    /// The text of a string, which may be stored in a type of fixed length.
    fn text(&self) -> Option<&str> {
        None
    }
}

macro_rules! numbers {
    ($($name:ident $datatype:expr;)*) => {$(
        impl Store for $name {
            fn datatype() -> Datatype {
                $datatype
            }

            fn encode(values: &[Self], to: &mut Encoder<'_>) -> Result<()> {
                match Self::as_bytes(values) {
                    Some(bytes) => to.bytes(bytes),
                    None => values.iter().for_each(|value| to.bytes(&value.to_le_bytes())),
                }
                Ok(())
            }

            fn as_bytes(values: &[Self]) -> Option<&[u8]> {
                cfg!(target_endian = "little").then(|| bytemuck::cast_slice(values))
            }
        }
    )*};
}
numbers! {
    i8 Datatype::integer(true, 1);
    i16 Datatype::integer(true, 2);
    i32 Datatype::integer(true, 4);
    i64 Datatype::integer(true, 8);
    u8 Datatype::integer(false, 1);
    u16 Datatype::integer(false, 2);
    u32 Datatype::integer(false, 4);
    u64 Datatype::integer(false, 8);
    f32 Datatype::float32();
    f64 Datatype::float64();
}

/// The two values of `bool`, named as h5py names them.
fn boolean() -> Datatype {
    let member = |name: &str, value| EnumMember { name: name.into(), value: vec![value] };
    let base = Box::new(Datatype::integer(true, 1));
    let class = Class::Enumeration { base, members: vec![member("FALSE", 0), member("TRUE", 1)] };
    Datatype { version: 1, size: 1, class }
}

impl Store for bool {
    fn datatype() -> Datatype {
        boolean()
    }

    fn encode(values: &[Self], to: &mut Encoder<'_>) -> Result<()> {
        values.iter().for_each(|&value| to.bytes(&[value.into()]));
        Ok(())
    }
}

macro_rules! strings {
    ($($name:ty)*) => {$(
        impl Store for $name {
            fn datatype() -> Datatype {
                Datatype::string()
            }

            fn encode(values: &[Self], to: &mut Encoder<'_>) -> Result<()> {
                values.iter().try_for_each(|text| {
                    // Readers take a NUL for the end.
                    if text.contains('\0') {
                        return Err(Error::usage("string", "holds a NUL"));
                    }
                    to.sequence(text.len(), text.as_bytes())
                })
            }

            fn text(&self) -> Option<&str> {
                Some(self)
            }
        }
    )*};
}
strings!(String & str);

impl<T: Store> Store for Vec<T> {
    fn datatype() -> Datatype {
        Datatype::sequence(&T::datatype())
    }

    fn encode(values: &[Self], to: &mut Encoder<'_>) -> Result<()> {
        values.iter().try_for_each(|values| to.nested(values))
    }
}

impl<T: Store, const N: usize> Store for [T; N] {
    fn datatype() -> Datatype {
        Datatype::array(&[u32::try_from(N).unwrap_or(u32::MAX)], &T::datatype())
    }

    fn encode(values: &[Self], to: &mut Encoder<'_>) -> Result<()> {
        T::encode(values.as_flattened(), to)
    }

    fn as_bytes(values: &[Self]) -> Option<&[u8]> {
        T::as_bytes(values.as_flattened())
    }
}

/// A reference to an object of the file, or to none: made by [`Writer::reference`](crate::Writer::reference).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Reference(pub(super) Option<u64>);

impl Reference {
    pub(crate) fn to(address: u64) -> Self {
        Self(Some(address))
    }
}

impl Store for Reference {
    fn datatype() -> Datatype {
        Datatype { version: 1, size: 8, class: Class::Reference(ReferenceKind::Object) }
    }

    fn encode(values: &[Self], to: &mut Encoder<'_>) -> Result<()> {
        values.iter().for_each(|reference| to.bytes(&reference.0.unwrap_or(0).to_le_bytes()));
        Ok(())
    }
}

/// A reference to a part of a dataset of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionReference {
    object: Reference,
    slab: Slab,
}

impl RegionReference {
    /// A reference to the elements of `slab` of the dataset that `dataset` refers to.
    pub fn new(dataset: Reference, slab: Slab) -> Self {
        Self { object: dataset, slab }
    }
}

impl Store for RegionReference {
    fn datatype() -> Datatype {
        Datatype { version: 1, size: 12, class: Class::Reference(ReferenceKind::Region) }
    }

    fn encode(values: &[Self], to: &mut Encoder<'_>) -> Result<()> {
        for value in values {
            let Some(object) = value.object.0 else {
                to.bytes(&[0; 12]);
                continue;
            };
            let mut bytes = Vec::new();
            put_uint(&mut bytes, object, SIZES.offsets.into());
            let selection = Selection::of(&value.slab);
            if matches!(selection, Selection::Regular(_)) {
                to.bound.needs(Bound::V110, "selections with steps or beyond 2^32 elements")?;
            }
            selection.encode(&mut bytes);
            to.heap.put(to.output, &bytes)?.encode(&mut to.out, SIZES);
        }
        Ok(())
    }
}

/// A string that is stored with a fixed number of bytes, as an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedString<'a>(pub &'a str);

/// An attribute without elements, only a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Empty(pub Datatype);

/// An attribute of any type: elements as they are stored, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw<'a> {
    /// What the elements are. Types of variable length and region references have their elements elsewhere and cannot be given so.
    pub datatype: Datatype,
    /// The shape; without dimensions there is one element.
    pub shape: Vec<u64>,
    /// The elements' bytes.
    pub bytes: &'a [u8],
}

/// What attributes are made of: numbers, strings, slices and arrays of them, and [`FixedString`], [`Empty`] and [`Raw`].
pub trait Value: Sized {
    /// Type, shape (none for no elements at all) and elements.
    ///
    /// # Errors
    /// Those of the [`Encoder`].
    fn store(self, to: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)>;
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
scalars!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 bool String &str Reference RegionReference);

impl<T: Store> Value for &[T] {
    fn store(self, to: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)> {
        T::encode(self, to)?;
        Ok((T::datatype(), Some(vec![self.len() as u64])))
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

/// Fails if the elements of a type lie elsewhere: bytes alone do not make one.
pub(crate) fn refuse_indirect(datatype: &Datatype) -> Result<()> {
    let elsewhere = match &datatype.class {
        Class::VariableLength(_) | Class::Reference(ReferenceKind::Region | ReferenceKind::Standard) => true,
        Class::Compound(members) => {
            return members.iter().try_for_each(|member| refuse_indirect(&member.datatype));
        }
        Class::Array { base, .. } => return refuse_indirect(base),
        _ => false,
    };
    if elsewhere {
        return Err(Error::usage("datatype", "has elements that are not bytes alone"));
    }
    Ok(())
}

/// Where that is written which elements lead to.
pub(crate) struct Elsewhere<'a> {
    pub(crate) output: &'a mut Output,
    pub(crate) heap: &'a mut GlobalHeap,
    pub(crate) bound: Bound,
}

impl Elsewhere<'_> {
    fn encoded<T>(self, encode: impl FnOnce(&mut Encoder<'_>) -> Result<T>) -> Result<(T, Vec<u8>)> {
        let Elsewhere { output, heap, bound } = self;
        let mut encoder = Encoder { out: Vec::new(), output, heap, bound };
        let result = encode(&mut encoder)?;
        Ok((result, encoder.out))
    }
}

fn elsewhere(tree: &mut Tree) -> Elsewhere<'_> {
    Elsewhere { output: &mut tree.output, heap: &mut tree.heap, bound: tree.settings.bound }
}

/// Encodes elements; returns their bytes.
pub(super) fn encoded<T>(
    tree: &mut Tree,
    encode: impl FnOnce(&mut Encoder<'_>) -> Result<T>,
) -> Result<(T, Vec<u8>)> {
    elsewhere(tree).encoded(encode)
}

/// The elements as `datatype` has them, where that is another type than their own.
pub(super) fn converted<T: Store>(tree: &mut Tree, values: &[T], datatype: &Datatype) -> Result<Vec<u8>> {
    convert(elsewhere(tree), values, datatype)
}

/// The elements as `datatype` has them.
pub(crate) fn convert<T: Store>(to: Elsewhere<'_>, values: &[T], datatype: &Datatype) -> Result<Vec<u8>> {
    let own = to.bound.datatype(&T::datatype())?;
    let encoded = |to: Elsewhere<'_>| to.encoded(|to| T::encode(values, to)).map(|((), bytes)| bytes);
    if crate::convert::same(&own, datatype) {
        return encoded(to);
    }
    match &datatype.class {
        Class::String { padding, .. } => fixed_strings(values, datatype.size, *padding),
        Class::VariableLength(VariableLength::String { .. })
            if values.first().is_none_or(|v| v.text().is_some()) =>
        {
            encoded(to)
        }
        _ => crate::convert::elements(&own, datatype, encoded(to)?),
    }
}

fn fixed_strings<T: Store>(values: &[T], size: u32, padding: Padding) -> Result<Vec<u8>> {
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let mut out = Vec::new();
    for value in values {
        let Some(text) = value.text() else {
            return Err(Error::usage("values", "are not strings, which the dataset has"));
        };
        if text.len() > size {
            return Err(Error::usage(
                "values",
                format!("hold a string of {} bytes, more than {size}", text.len()),
            ));
        }
        let end = out.len() + size;
        out.extend_from_slice(text.as_bytes());
        out.resize(end, if padding == Padding::SpacePadded { b' ' } else { 0 });
    }
    Ok(out)
}

/// Makes the attribute message of a value.
pub(crate) fn attribute(tree: &mut Tree, name: &str, value: impl Value) -> Result<Attribute> {
    let ((datatype, shape), data) = encoded(tree, |to| value.store(to))?;
    let bound = tree.settings.bound;
    let datatype = bound.datatype(&datatype)?;
    let dataspace = match shape {
        None => Dataspace::Null,
        Some(shape) if shape.is_empty() => Dataspace::Scalar,
        Some(shape) => super::layout::simple(&shape, None)?,
    };
    let elements = dataspace.elements().unwrap_or(u64::MAX);
    if elements.checked_mul(datatype.size.into()) != Some(data.len() as u64) {
        let problem = format!("has {} bytes, not those of {elements} elements", data.len());
        return Err(Error::usage("attribute", problem));
    }
    let version = if name.is_ascii() { bound.version(1, 3) } else { 3 };
    let (mut types, mut spaces, mut message) = (Vec::new(), Vec::new(), Vec::new());
    datatype.encode(&mut types);
    dataspace.encode(&mut spaces, SIZES, bound.version(1, 2));
    if name.len() >= usize::from(u16::MAX) || types.len() > usize::from(u16::MAX) {
        return Err(Error::usage("attribute", "has a name or a datatype of 64 KiB or more"));
    }
    let new = NewAttribute {
        name: name.as_bytes(),
        datatype: &types,
        shared_datatype: false,
        dataspace: &spaces,
        shared_dataspace: false,
        data: &data,
    };
    new.encode(&mut message, version);
    Ok(Attribute { name: name.as_bytes().into(), message, creation_order: None })
}

/// Checks the parts of a link's value.
pub(super) fn link_value(what: &'static str, parts: &[&str]) -> Result<()> {
    let len: usize = parts.iter().map(|part| part.len() + 1).sum();
    if parts.iter().any(|part| part.is_empty() || part.contains('\0')) || len > 65_000 {
        return Err(Error::usage(what, "leads to a name that is empty, holds a NUL or is too long"));
    }
    Ok(())
}

/// The names of a type as they are stored.
pub(super) fn names(datatype: &Datatype) -> Vec<&Name> {
    match &datatype.class {
        Class::Compound(members) => members.iter().map(|member| &member.name).collect(),
        Class::Enumeration { members, .. } => members.iter().map(|member| &member.name).collect(),
        _ => Vec::new(),
    }
}

/// The character set of a text.
pub(super) const UTF8: CharacterSet = CharacterSet::Utf8;
