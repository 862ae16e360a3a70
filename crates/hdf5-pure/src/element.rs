//! Rust types that elements are read as.
//!
//! Numbers convert as the C library converts them: integers that do not fit take the nearest value that does, fractions
//! are cut off, and a number that is not one becomes 0 as an integer. Enumerations and bit fields read as their integers.

use sciformats_core::{Error, Result};

use crate::canonical;
use crate::convert::{self, Number};
use crate::element_type::ElementType;
use crate::file::File;
use crate::model::global_heap::GlobalHeap;
use crate::spec::Address;
use crate::spec::message::datatype::{Class, Datatype, Padding, ReferenceKind, VariableLength};
use crate::spec::reference::Reference;
use crate::spec::trimmed;

/// Elements as they are stored, and what they are.
///
/// ```
/// use hdf5_pure::{CreateOptions, Datatype, Element, File, Result, Values, Writer};
///
/// /// Two bytes that mean something to its maker.
/// struct Mark(Vec<u8>);
/// impl Element for Mark {
///     fn read(values: &Values<'_>) -> Result<Vec<Self>> {
///         Ok(values.elements().map(|bytes| Mark(bytes.to_vec())).collect())
///     }
/// }
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// file.dataset("marks").datatype(Datatype::opaque(2, "marks")).shape([2]).write_raw(b"okno")?;
/// let marks = File::from_bytes(file.into_bytes()?)?.dataset("marks")?.read::<Mark>()?;
/// assert_eq!(marks[1].0, b"no");
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Values<'a> {
    file: &'a File,
    datatype: &'a Datatype,
    raw: &'a [u8],
    offset: u64,
}

impl<'a> Values<'a> {
    pub(crate) fn new(file: &'a File, datatype: &'a Datatype, raw: &'a [u8], offset: u64) -> Self {
        Self { file, datatype, raw, offset }
    }

    /// What the elements are.
    pub fn datatype(&self) -> &'a Datatype {
        self.datatype
    }

    /// The elements, each as its bytes.
    pub fn elements(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        self.raw.chunks_exact(usize::try_from(self.datatype.size).unwrap_or(usize::MAX).max(1))
    }

    pub(crate) fn mismatch(&self, wanted: &'static str) -> Error {
        let found = match self.datatype.element_type() {
            Ok(found) => format!("{found:?}"),
            Err(error) => return error,
        };
        Error::usage("element type", format!("{wanted} does not take elements of the type {found}"))
    }
}

/// A type that elements can be read as.
///
/// ```
/// use hdf5_pure::{Element, Result, Values};
///
/// struct Celsius(f64);
/// impl Element for Celsius {
///     fn read(values: &Values<'_>) -> Result<Vec<Self>> {
///         Ok(f64::read(values)?.into_iter().map(|kelvin| Celsius(kelvin - 273.15)).collect())
///     }
/// }
/// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
/// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
/// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
/// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
/// # let temperature = file.dataset("surface/temperature")?;
/// let celsius: Vec<Celsius> = temperature.read()?;
/// assert!((celsius[0].0 - 8.35).abs() < 1e-9);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
pub trait Element: Sized {
    /// Converts elements.
    ///
    /// # Errors
    /// [`Error::Usage`] if the elements are of another kind, and what is wrong with what they lead to.
    fn read(values: &Values<'_>) -> Result<Vec<Self>>;

    /// Reads elements straight into their place, where they are stored as this machine has them: `fill` writes the bytes
    /// of `len` elements. `None` if they need to be converted.
    fn read_direct(
        _: &Datatype,
        _: usize,
        _: &mut dyn FnMut(&mut [u8]) -> Result<()>,
    ) -> Option<Result<Vec<Self>>> {
        None
    }

    /// Whether elements are stored exactly as this machine has values of the type.
    fn is_stored_as(_: &Datatype) -> bool {
        false
    }

    /// The bytes of `out`, for elements that are stored exactly as this machine has values of the type.
    fn bytes_of<'o>(_: &Datatype, _: &'o mut [Self]) -> Option<&'o mut [u8]> {
        None
    }
}

/// The numbers of `values`, as `of` makes them.
fn numbers<T>(values: &Values<'_>, wanted: &'static str, of: impl Fn(Number) -> T) -> Result<Vec<T>> {
    let elements = values.elements();
    let mut numbers = Vec::with_capacity(elements.len());
    for raw in elements {
        let number = convert::number(values.datatype, raw);
        numbers.push(of(number.unwrap_or_else(|| Err(values.mismatch(wanted)))?));
    }
    Ok(numbers)
}

/// How numbers are read that are stored as this machine has them.
macro_rules! as_stored {
    () => {
        fn read_direct(
            datatype: &Datatype,
            len: usize,
            fill: &mut dyn FnMut(&mut [u8]) -> Result<()>,
        ) -> Option<Result<Vec<Self>>> {
            Self::is_stored_as(datatype).then(|| {
                let mut out = sciformats_core::storage::zeroed::<Self>(len)?;
                fill(bytemuck::cast_slice_mut(&mut out)).map(|()| out)
            })
        }

        fn bytes_of<'o>(datatype: &Datatype, out: &'o mut [Self]) -> Option<&'o mut [u8]> {
            Self::is_stored_as(datatype).then(|| bytemuck::cast_slice_mut(out))
        }
    };
}

macro_rules! integers {
    ($($name:ident)*) => {$(
        impl Element for $name {
            fn read(values: &Values<'_>) -> Result<Vec<Self>> {
                if Self::is_stored_as(values.datatype) {
                    return Ok(bytemuck::pod_collect_to_vec(values.raw));
                }
                let convert = |number| match number {
                    Number::Integer(value) => {
                        let clamped: i128 = i128::clamp(value, Self::MIN.into(), Self::MAX.into());
                        Self::try_from(clamped).unwrap_or_default()
                    }
                    // The conversion of the language is the one that is wanted: cut off, clamped, NaN is 0.
                    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                    Number::Float(value) => value as Self,
                };
                numbers(values, stringify!($name), convert)
            }

            as_stored!();

            fn is_stored_as(datatype: &Datatype) -> bool {
                let datatype = match &datatype.class {
                    Class::Enumeration { base, .. } => base,
                    _ => datatype,
                };
                let native = sciformats_core::endian::ByteOrder::NATIVE;
                match &datatype.class {
                    Class::FixedPoint(fixed) => {
                        usize::try_from(datatype.size) == Ok(size_of::<Self>())
                            && fixed.signed == (Self::MIN != 0)
                            && (fixed.order == native || size_of::<Self>() == 1)
                            && fixed.bit_offset == 0
                            && u32::from(fixed.precision) == Self::BITS
                    }
                    _ => false,
                }
            }
        }
    )*};
}
integers!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! floats {
    ($($name:ident $size:literal)*) => {$(
        impl Element for $name {
            fn read(values: &Values<'_>) -> Result<Vec<Self>> {
                if Self::is_stored_as(values.datatype) {
                    return Ok(bytemuck::pod_collect_to_vec(values.raw));
                }
                #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
                let convert = |number| match number {
                    Number::Integer(value) => value as Self,
                    Number::Float(value) => value as Self,
                };
                numbers(values, stringify!($name), convert)
            }

            as_stored!();

            fn is_stored_as(datatype: &Datatype) -> bool {
                use crate::spec::message::datatype::FloatOrder;
                let native = if cfg!(target_endian = "big") { FloatOrder::Big } else { FloatOrder::Little };
                match &datatype.class {
                    Class::FloatingPoint(float) => {
                        float.order == native && matches!(datatype.element_type(), Ok(ElementType::Float($size)))
                    }
                    _ => false,
                }
            }
        }
    )*};
}
floats!(f32 4 f64 8);

/// Strings; bytes that are not UTF-8 become replacement characters.
impl Element for String {
    fn read(values: &Values<'_>) -> Result<Vec<Self>> {
        // Nearly all text is what it says it is, which is found out faster than where it is not.
        let text = |bytes: &[u8]| match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => String::from_utf8_lossy(bytes).into_owned(),
        };
        match &values.datatype.class {
            Class::String { padding, .. } => Ok(values
                .elements()
                .map(|raw| {
                    let end = |pad: u8| raw.iter().rposition(|&byte| byte != pad).map_or(0, |last| last + 1);
                    text(match padding {
                        Padding::NullTerminated => trimmed(raw),
                        Padding::NullPadded => raw.get(..end(0)).unwrap_or(raw),
                        Padding::SpacePadded => raw.get(..end(b' ')).unwrap_or(raw),
                    })
                })
                .collect()),
            Class::VariableLength(VariableLength::String { .. }) => {
                sequences(values, 1, |bytes| Ok(text(trimmed(bytes))))
            }
            _ => Err(values.mismatch("String")),
        }
    }
}

/// What `convert` makes of the bytes of each element of variable length, `size` bytes to an element of its own.
fn sequences<T>(values: &Values<'_>, size: usize, convert: impl Fn(&[u8]) -> Result<T>) -> Result<Vec<T>> {
    let context = &values.file.opened().context;
    let mut heap = GlobalHeap::new(context);
    let mut total = 0u64;
    let mut all = Vec::with_capacity(values.elements().len());
    for raw in values.elements() {
        let bytes = canonical::sequence(values.file, &mut heap, raw, size, values.offset)?;
        total = total.saturating_add(bytes.len() as u64);
        context.limits.memory("bytes of sequences", total)?;
        all.push(convert(bytes)?);
    }
    Ok(all)
}

/// Sequences of any length, and arrays of fixed shape.
impl<T: Element> Element for Vec<T> {
    fn read(values: &Values<'_>) -> Result<Vec<Self>> {
        match &values.datatype.class {
            Class::VariableLength(VariableLength::Sequence(base)) => {
                let size = usize::try_from(base.size).unwrap_or(usize::MAX);
                sequences(values, size, |raw| T::read(&Values { datatype: base, raw, ..*values }))
            }
            Class::Array { base, .. } => {
                values.elements().map(|raw| T::read(&Values { datatype: base, raw, ..*values })).collect()
            }
            _ => Err(values.mismatch("Vec")),
        }
    }
}

/// References; null ones are none.
impl Element for Option<Reference> {
    fn read(values: &Values<'_>) -> Result<Vec<Self>> {
        let Class::Reference(kind) = values.datatype.class else { return Err(values.mismatch("Reference")) };
        let mut heap = GlobalHeap::new(&values.file.opened().context);
        values
            .elements()
            .map(|raw| canonical::target(values.file, &mut heap, kind, raw, values.offset))
            .collect()
    }
}

/// Object references; null ones are none.
impl Element for Option<Address> {
    fn read(values: &Values<'_>) -> Result<Vec<Self>> {
        match values.datatype.class {
            Class::Reference(ReferenceKind::Object | ReferenceKind::Standard) => {
                let all = <Option<Reference> as Element>::read(values)?;
                Ok(all.into_iter().map(|reference| reference.map(|reference| reference.object)).collect())
            }
            _ => Err(values.mismatch("Address")),
        }
    }
}

impl Values<'_> {
    /// One member of compound elements.
    ///
    /// ```
    /// use hdf5_pure::{Element, Result, Values};
    ///
    /// /// The length of a vector.
    /// struct Speed(f64);
    /// impl Element for Speed {
    ///     fn read(values: &Values<'_>) -> Result<Vec<Self>> {
    ///         let (x, y) = (values.member::<f64>("x")?, values.member::<f64>("y")?);
    ///         Ok(x.iter().zip(y).map(|(x, y)| Speed(x.hypot(y))).collect())
    ///     }
    /// }
    /// # hdf5_pure::record! { struct Wind { x: f64, y: f32 } }
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.dataset("wind").write(&[Wind { x: 3.0, y: 4.0 }])?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// assert_eq!(file.dataset("wind")?.read::<Speed>()?[0].0, 5.0);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is none of this name, and as [`Element::read`].
    pub fn member<T: Element>(&self, name: &str) -> Result<Vec<T>> {
        self.part(self.datatype.member(name)?)
    }

    /// The part of each element that begins at an offset and is of a type.
    pub(crate) fn part<T: Element>(
        &self,
        (offset, datatype): (impl TryInto<usize>, &Datatype),
    ) -> Result<Vec<T>> {
        let start = offset.try_into().unwrap_or(usize::MAX);
        let end = start.saturating_add(usize::try_from(datatype.size).unwrap_or(usize::MAX));
        let raw: Vec<u8> = self.elements().filter_map(|raw| raw.get(start..end)).flatten().copied().collect();
        T::read(&Values { datatype, raw: &raw, ..*self })
    }
}

impl Datatype {
    /// Offset and type of a member of a compound; `name` may lead to members of members: `position.x`.
    ///
    /// ```
    /// use hdf5_pure::Datatype;
    ///
    /// let position = Datatype::compound([("x", Datatype::float32()), ("y", Datatype::float32())]);
    /// let particle = Datatype::compound([("mass", Datatype::float64()), ("position", position)]);
    /// let (offset, datatype) = particle.member("position.y")?;
    /// assert_eq!((offset, datatype), (12, &Datatype::float32()));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is none of this name, [`Error::Usage`] if this is no compound.
    pub fn member(&self, name: &str) -> Result<(usize, &Datatype)> {
        let Class::Compound(members) = &self.class else {
            return Err(Error::usage("datatype", "is not a compound"));
        };
        let wide = |offset: u32| usize::try_from(offset).unwrap_or(usize::MAX);
        if let Some(member) = members.iter().find(|member| member.name == *name) {
            return Ok((wide(member.offset), &member.datatype));
        }
        // Names may have points of their own: the longest one that is there counts.
        let splits = name.match_indices('.').rev().map(|(at, _)| (&name[..at], &name[at + 1..]));
        for (outer, inner) in splits {
            if let Some(member) = members.iter().find(|member| member.name == *outer) {
                let (offset, datatype) = member.datatype.member(inner)?;
                return Ok((wide(member.offset).saturating_add(offset), datatype));
            }
        }
        Err(Error::not_found("member", name))
    }
}

/// Declares a struct that compound elements can be read as: each field takes the member of its name, converted to the
/// field's type. Members without a field are left out.
///
/// ```
/// hdf5_pure::compound! {
///     /// A measurement.
///     #[derive(Debug, Clone)]
///     pub struct Sample {
///         /// Seconds.
///         pub time: f64,
///         pub counts: Vec<u32>,
///         pub label: String,
///     }
/// }
/// # fn read(file: &hdf5_pure::File) -> hdf5_pure::Result<Vec<Sample>> {
/// file.dataset("/samples")?.read::<Sample>()
/// # }
/// ```
#[macro_export]
macro_rules! compound {
    ($(#[$meta:meta])* $visibility:vis struct $name:ident {
        $($(#[$field_meta:meta])* $field_visibility:vis $field:ident : $type:ty),* $(,)?
    }) => {
        $(#[$meta])*
        $visibility struct $name {
            $($(#[$field_meta])* $field_visibility $field: $type,)*
        }

        impl $crate::Element for $name {
            fn read(values: &$crate::Values<'_>) -> $crate::Result<::std::vec::Vec<Self>> {
                $(let mut $field = values.member::<$type>(stringify!($field))?.into_iter();)*
                let rows = values.elements().map_while(|_| {
                    ::std::option::Option::Some(Self { $($field: $field.next()?,)* })
                });
                ::std::result::Result::Ok(rows.collect())
            }
        }
    };
}
