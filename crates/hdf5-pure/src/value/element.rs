//! Rust types as which elements can be read.
//!
//! Numbers are converted where no value changes. A number that does not fit is reported with its position;
//! [`Conversion`] selects other rules. Enumerations and bit fields are read as their integers.

use sciformats_core::arith::{fit, present};
use sciformats_core::endian::ByteOrder;
use sciformats_core::number::{Number, NumberType};
use sciformats_core::{Conversion, Error, Misfit, Result, bound, spelling};

use crate::file::open::Opened;
use crate::heap::global::GlobalHeap;
use crate::spec::message::datatype::{Class, Datatype, ReferenceKind, VariableLength};
use crate::spec::reference::Reference;
use crate::spec::{Address, trimmed};
use crate::value::canonical::{self, unpadded};
use crate::value::convert;

/// Elements in their stored form, together with their datatype.
///
/// ```
/// use hdf5_pure::{CreateOptions, Datatype, Element, File, Result, Writer};
/// use hdf5_pure::values::Values;
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
    opened: &'a Opened,
    datatype: &'a Datatype,
    raw: &'a [u8],
    offset: u64,
    conversion: Conversion,
}

impl<'a> Values<'a> {
    pub(crate) fn new(opened: &'a Opened, datatype: &'a Datatype, raw: &'a [u8], offset: u64) -> Self {
        Self { opened, datatype, raw, offset, conversion: Conversion::Exact }
    }

    pub(crate) fn with_conversion(self, conversion: Conversion) -> Self {
        Self { conversion, ..self }
    }

    pub(crate) fn opened(&self) -> &'a Opened {
        self.opened
    }

    /// Returns how the caller wants the elements to be converted.
    pub fn conversion(&self) -> Conversion {
        self.conversion
    }

    /// Returns the datatype of the elements.
    pub fn datatype(&self) -> &'a Datatype {
        self.datatype
    }

    /// Returns an iterator over the bytes of each element.
    pub fn elements(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        self.raw.chunks_exact(bound::addressable(self.datatype.size.into()).max(1))
    }

    pub(crate) fn mismatch(&self, wanted: &'static str) -> Error {
        let found = match self.datatype.element_type() {
            Ok(found) => found.to_string(),
            Err(error) => return error,
        };
        Error::usage("element type", format!("{wanted} cannot hold elements of the type {found}"))
    }
}

/// A type as which elements can be read.
///
/// Numbers are converted where no value changes: `300` can be read as `f32` and as `u16`, but not as `u8`; `0.5` can be
/// read as `f32`, but `0.1` stored as binary64 cannot. NaN stays NaN and cannot be read as an integer. A number that
/// does not fit is an [`Error::Misfit`] with its position and value.
/// [`Dataset::with_conversion`](crate::Dataset::with_conversion) selects another [`Conversion`].
///
/// | type | elements that it can read |
/// |---|---|
/// | integers, `f32`, `f64`, `half::f16`, `half::bf16` | integers, floating-point numbers, bit fields, enumerations |
/// | `bool` | the same, if they are 0 or 1; this includes the booleans of h5py |
/// | `num_complex::Complex` | complex numbers, compounds of `r` and `i`, and real numbers |
/// | `String` | strings that are valid UTF-8 |
/// | `Vec<u8>` | strings without their padding, and opaque elements |
/// | `Vec<T>` | sequences and arrays |
/// | `Reference`, `Option<structure::Reference>`, `Option<Address>` | references |
/// | structures with `#[derive(Record)]`, or declared with [`compound!`](crate::compound) or [`record!`](crate::record) | compounds |
///
/// ```
/// use hdf5_pure::{Element, Result};
/// use hdf5_pure::values::Values;
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
    /// Returns [`Error::Usage`] if elements of this datatype cannot be read as the type, and an error if the data that
    /// they refer to cannot be read.
    fn read(values: &Values<'_>) -> Result<Vec<Self>>;

    /// Reads elements directly into their final place if they are stored in the form that this machine uses. `fill`
    /// writes the bytes of `len` elements. Returns `None` if the elements must be converted.
    fn read_direct(
        _: &Datatype,
        _: usize,
        _: &mut dyn FnMut(&mut [u8]) -> Result<()>,
    ) -> Option<Result<Vec<Self>>> {
        None
    }

    /// Returns whether elements are stored exactly in the form that this machine uses for the type.
    fn is_stored_as(_: &Datatype) -> bool {
        false
    }

    /// Returns the bytes of `out` if elements are stored exactly in the form that this machine uses for the type.
    fn bytes_of<'o>(_: &Datatype, _: &'o mut [Self]) -> Option<&'o mut [u8]> {
        None
    }

    /// Whether a value of this type consists of several elements.
    #[doc(hidden)]
    const LIST: bool = false;

    /// Returns the value that the elements of a whole attribute make up. By default this is its only element.
    #[doc(hidden)]
    fn of_shape(values: &Values<'_>, shape: &[u64]) -> Result<Self> {
        only(Self::read(values)?, shape)
    }
}

/// Returns the numbers in `values`.
pub(crate) fn numbers<T: Number>(values: &Values<'_>) -> Result<Vec<T>> {
    let elements = values.elements();
    let mut out = T::zeroed(elements.len())?;
    if let Some((stored, order)) = convert::stored(values.datatype) {
        let raw = values.raw.get(..bound::product(out.len(), stored.size())).unwrap_or_default();
        T::read(stored, order, raw, values.conversion, &mut out)?;
        return Ok(out);
    }
    for ((index, raw), out) in elements.enumerate().zip(&mut out) {
        let real = convert::number(values.datatype, raw).unwrap_or_else(|| Err(values.mismatch(T::NAME)))?;
        *out = match values.conversion {
            Conversion::Exact => {
                T::exact(real).ok_or_else(|| Error::Misfit(Misfit::new(index as u64, &real, T::NAME)))?
            }
            Conversion::Lossy => T::nearest(real),
            Conversion::None => return Err(values.mismatch(T::NAME)),
        };
    }
    match convert::is_number(values.datatype) {
        true => Ok(out),
        false => Err(values.mismatch(T::NAME)),
    }
}

/// Implements the direct path for numbers that are stored in the form that this machine uses.
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

macro_rules! numbers {
    ($($name:ident)*) => {$(
        impl Element for $name {
            fn read(values: &Values<'_>) -> Result<Vec<Self>> {
                if Self::is_stored_as(values.datatype) {
                    return Ok(bytemuck::pod_collect_to_vec(values.raw));
                }
                numbers(values)
            }

            as_stored!();

            fn is_stored_as(datatype: &Datatype) -> bool {
                let native = |(stored, order): (NumberType, ByteOrder)| {
                    Self::STORED == Some(stored) && (order == ByteOrder::NATIVE || size_of::<Self>() == 1)
                };
                convert::stored(datatype).is_some_and(native)
            }
        }
    )*};
}
numbers!(i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64);

/// Reads strings. Bytes that are not valid UTF-8 can be read as `Vec<u8>`.
impl Element for String {
    fn read(values: &Values<'_>) -> Result<Vec<Self>> {
        let text = |index: usize, bytes: &[u8]| match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) if values.conversion == Conversion::Lossy => Ok(Self::from_utf8_lossy(bytes).into_owned()),
            Err(_) => Err(Error::Misfit(Misfit::text(index as u64, bytes))),
        };
        match values.texts(text) {
            Some(texts) => texts,
            None => Err(values.mismatch("String")),
        }
    }
}

impl Values<'_> {
    /// Applies `convert` to the number and the bytes of each string. Returns `None` if the elements are not strings.
    fn texts<T>(&self, convert: impl Fn(usize, &[u8]) -> Result<T>) -> Option<Result<Vec<T>>> {
        let texts = self.elements().enumerate();
        match &self.datatype.class {
            Class::String { padding, .. } => {
                Some(texts.map(|(index, raw)| convert(index, unpadded(raw, *padding))).collect())
            }
            Class::VariableLength(VariableLength::String { .. }) => {
                Some(sequences(self, 1, |index, bytes| convert(index, trimmed(bytes))))
            }
            _ => None,
        }
    }
}

/// Applies `convert` to the number and the bytes of each element of variable length, whose items have `size` bytes
/// each.
fn sequences<T>(
    values: &Values<'_>,
    size: usize,
    convert: impl Fn(usize, &[u8]) -> Result<T>,
) -> Result<Vec<T>> {
    let context = &values.opened.context;
    let mut heap = GlobalHeap::new(context);
    heap.gather(values.elements().filter_map(|raw| canonical::collection(values.opened, raw, 4)))?;
    let mut total = 0u64;
    let mut all = Vec::with_capacity(values.elements().len());
    for (index, raw) in values.elements().enumerate() {
        let bytes = canonical::sequence(values.opened, &mut heap, raw, size, values.offset)?;
        total = bound::sum(total, bytes.len() as u64);
        context.limits.memory("bytes of sequences", total)?;
        all.push(convert(index, bytes)?);
    }
    Ok(all)
}

/// Returns the only element of a shape.
pub(crate) fn only<T>(elements: Vec<T>, shape: &[u64]) -> Result<T> {
    let count = elements.len();
    let mut elements = elements.into_iter();
    match (elements.next(), elements.next()) {
        (Some(only), None) => Ok(only),
        _ => {
            let problem =
                format!("has {count} elements in the shape {shape:?}, not one: ask for a list or an array");
            Err(Error::usage("value", problem))
        }
    }
}

impl Values<'_> {
    /// Returns whether one element consists of several values of `T`.
    fn holds_lists<T: Element>(&self) -> bool {
        match self.datatype.class {
            Class::VariableLength(VariableLength::Sequence(_))
            | Class::Array { .. }
            | Class::Opaque { .. } => true,
            Class::VariableLength(VariableLength::String { .. }) | Class::String { .. } => {
                T::is_stored_as(&Datatype::unsigned(1))
            }
            _ => false,
        }
    }

    /// Returns one value per row, each made of the elements of the shape `rest`.
    pub(crate) fn rows<T: Element>(&self, rows: u64, rest: &[u64]) -> Result<Vec<T>> {
        let width = sciformats_core::slab::elements(rest).and_then(|n| usize::try_from(n).ok());
        let bytes = width.and_then(|n| n.checked_mul(bound::addressable(self.datatype.size.into())));
        let Some((width, bytes @ 1..)) = width.zip(bytes) else { return Ok(Vec::new()) };
        let rows = self.raw.chunks_exact(bytes).take(bound::addressable(rows)).zip(0u64..);
        rows.map(|(raw, row)| {
            let before = bound::product(row, width as u64);
            T::of_shape(&Values { raw, ..*self }, rest).map_err(|error| error.after(before))
        })
        .collect()
    }
}

/// Reads sequences of any length, arrays of fixed shape, and the bytes of strings and opaque elements.
impl<T: Element> Element for Vec<T> {
    const LIST: bool = true;

    fn of_shape(values: &Values<'_>, shape: &[u64]) -> Result<Self> {
        match shape {
            [] if values.holds_lists::<T>() => only(Self::read(values)?, shape),
            [rows, rest @ ..] if T::LIST && !rest.is_empty() => values.rows(*rows, rest),
            _ => T::read(values),
        }
    }

    fn read(values: &Values<'_>) -> Result<Vec<Self>> {
        let part = |datatype: &Datatype, index: usize, raw: &[u8]| {
            T::read(&Values { datatype, raw, ..*values }).map_err(|error| error.part_of(index as u64))
        };
        let each = values.elements().enumerate();
        let byte = Datatype::unsigned(1);
        match &values.datatype.class {
            Class::VariableLength(VariableLength::Sequence(base)) => {
                let size = canonical::item_size(base, values.opened.context.sizes);
                let item = Datatype { size: fit(size, "size of an item")?, ..(**base).clone() };
                sequences(values, size, |index, raw| part(&item, index, raw))
            }
            Class::Array { base, .. } => each.map(|(index, raw)| part(base, index, raw)).collect(),
            Class::Opaque { .. } if T::is_stored_as(&byte) => {
                each.map(|(index, raw)| part(&byte, index, raw)).collect()
            }
            _ if T::is_stored_as(&byte) => {
                let texts = values.texts(|index, raw| part(&byte, index, raw));
                texts.unwrap_or_else(|| Err(values.mismatch("Vec")))
            }
            _ => Err(values.mismatch("Vec")),
        }
    }
}

/// Reads references. A null reference is `None`.
impl Element for Option<Reference> {
    fn read(values: &Values<'_>) -> Result<Vec<Self>> {
        let Class::Reference(kind) = values.datatype.class else { return Err(values.mismatch("Reference")) };
        let mut heap = GlobalHeap::new(&values.opened.context);
        if kind == ReferenceKind::Region {
            heap.gather(values.elements().filter_map(|raw| canonical::collection(values.opened, raw, 0)))?;
        }
        values
            .elements()
            .map(|raw| canonical::target(values.opened, &mut heap, kind, raw, values.offset))
            .collect()
    }
}

/// Reads object references. A null reference is `None`.
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
    /// Reads one member of compound elements.
    ///
    /// ```
    /// use hdf5_pure::{Element, Result};
    /// use hdf5_pure::values::Values;
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
    /// Returns [`Error::NotFound`] if there is no such member, and the errors of [`Element::read`].
    pub fn member<T: Element>(&self, name: &str) -> Result<Vec<T>> {
        self.part(self.datatype.member(name)?)
    }

    /// Reads the part of each element that starts at an offset and has a datatype of its own.
    pub(crate) fn part<T: Element>(
        &self,
        (offset, datatype): (impl TryInto<usize>, &Datatype),
    ) -> Result<Vec<T>> {
        const WHAT: &str = "the part of an element";
        let start = present(offset.try_into().ok(), WHAT)?;
        let end = bound::sum(start, bound::addressable(datatype.size.into()));
        let mut raw = Vec::new();
        for element in self.elements() {
            raw.extend_from_slice(present(element.get(start..end), WHAT)?);
        }
        T::read(&Values { datatype, raw: &raw, ..*self })
    }
}

impl Datatype {
    /// Returns the offset and the datatype of a member of a compound. The `name` may lead to a nested member, as in
    /// `position.x`.
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
    /// Returns [`Error::NotFound`] if there is no such member, and [`Error::Usage`] if the datatype is not a compound.
    pub fn member(&self, name: &str) -> Result<(usize, &Datatype)> {
        let Class::Compound(members) = &self.class else {
            return Err(Error::usage("datatype", "is not a compound datatype"));
        };
        let wide = |offset: u32| bound::addressable(offset.into());
        if let Some(member) = members.iter().find(|member| member.name == *name) {
            return Ok((wide(member.offset), &member.datatype));
        }
        // The name of a member may itself contain points, so the longest name that exists is taken.
        let splits = name.match_indices('.').rev().map(|(at, _)| (&name[..at], &name[at + 1..]));
        for (outer, inner) in splits {
            if let Some(member) = members.iter().find(|member| member.name == *outer) {
                let (offset, datatype) = member.datatype.member(inner)?;
                return Ok((bound::sum(wide(member.offset), offset), datatype));
            }
        }
        let there: Vec<_> = members.iter().map(|member| member.name.to_text()).collect();
        let near = spelling::nearest(name, there.iter().map(AsRef::as_ref));
        Err(Error::not_found("member", name).with_nearest(near))
    }
}

/// Declares a struct as which compound elements can be read. Each field takes the member of the same name, converted to
/// the type of the field. Members without a field are ignored.
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
            fn read(values: &$crate::values::Values<'_>) -> $crate::Result<::std::vec::Vec<Self>> {
                $(let mut $field = values.member::<$type>($crate::field_name(stringify!($field)))?.into_iter();)*
                let rows = values.elements().map_while(|_| {
                    ::std::option::Option::Some(Self { $($field: $field.next()?,)* })
                });
                ::std::result::Result::Ok(rows.collect())
            }
        }
    };
}
