//! Rust types that can be stored as elements.

use sciformats_core::arith::{add, fit, present};
use sciformats_core::{Conversion, Error, Result, bound};

use crate::heap::global::GlobalHeapWriter;
use crate::object::bound::Bound;
use crate::space::output::Output;
use crate::spec::message::datatype::{Class, Datatype, EnumMember, Padding, ReferenceKind, VariableLength};
use crate::spec::put_uint;

/// Receives elements in the form in which they are stored.
///
/// ```
/// use hdf5_pure::{CreateOptions, Datatype, File, Slab, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// let row = Datatype::compound([("station", Datatype::string()), ("height", Datatype::float64())]);
/// let mut rows = file.dataset("stations").datatype(row).shape([1]).create_encoded()?;
/// rows.write_encoded(&Slab::all(&[1])?, |to| {
///     to.sequence(5, b"north")?;
///     to.bytes(&412.5f64.to_le_bytes());
///     Ok(())
/// })?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// assert_eq!(file.dataset("stations")?.read_field::<f64>("height")?, [412.5]);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
pub struct Encoder<'a> {
    out: Vec<u8>,
    output: &'a mut Output,
    heap: &'a mut GlobalHeapWriter,
    pub(crate) bound: Bound,
    /// Elements of variable length that have not been stored yet, because they may become text of a fixed length. In the
    /// element, the number of such an element in this list stands for its heap ID.
    kept: Option<Vec<Vec<u8>>>,
}

/// Stands for the index of the heap ID in an element that is not stored yet. Where there is no element, it is 0.
const KEPT: [u8; 4] = [1, 0, 0, 0];

impl std::fmt::Debug for Encoder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder").field("bytes", &self.out.len()).finish_non_exhaustive()
    }
}

impl Encoder<'_> {
    /// Appends bytes of an element.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Slab, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let mut counts = file.dataset("counts").datatype(Datatype::unsigned(2)).shape([2]).create_encoded()?;
    /// counts.write_encoded(&Slab::all(&[2])?, |to| {
    ///     to.bytes(&[1, 0]);
    ///     to.bytes(&[3, 2]);
    ///     Ok(())
    /// })?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("counts")?.read::<u16>()?, [1, 515]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Returns the number of bytes of an address.
    pub(crate) fn address_width(&self) -> usize {
        self.output.sizes.offsets.into()
    }

    /// Appends an address.
    pub(crate) fn address(&mut self, address: u64) -> Result<()> {
        let width = self.address_width();
        put_uint(&mut self.out, address, width)
    }

    /// Appends an element of variable length: `count` items, given by their bytes. [`text`](Self::text) appends strings.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Slab, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let visits = Datatype::sequence(&Datatype::unsigned(2));
    /// let mut visits = file.dataset("visits").datatype(visits).shape([2]).create_encoded()?;
    /// visits.write_encoded(&Slab::all(&[2])?, |to| {
    ///     to.sequence(2, &[3, 0, 5, 0])?;
    ///     to.sequence(0, &[])
    /// })?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("visits")?.read::<Vec<u16>>()?, [vec![3, 5], vec![]]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Io`, and [`Error::Usage`] for a sequence of 2^32 items or more.
    pub fn sequence(&mut self, count: usize, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            self.out.extend(length(count)?);
            self.out.resize(self.out.len() + self.address_width() + 4, 0);
            return Ok(());
        }
        self.item(count, bytes)
    }

    /// Appends a string of variable length, whose bytes must not include a NUL. Unlike an empty sequence, which is a null
    /// pointer for programs in C, an empty string is stored and has a pointer.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Slab, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let mut names = file.dataset("stations").datatype(Datatype::string()).shape([2]).create_encoded()?;
    /// names.write_encoded(&Slab::all(&[2])?, |to| {
    ///     to.text(b"north")?;
    ///     to.text(b"")
    /// })?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("stations")?.read::<String>()?, ["north", ""]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`sequence`](Self::sequence).
    pub fn text(&mut self, bytes: &[u8]) -> Result<()> {
        self.item(bytes.len(), bytes)
    }

    /// Appends an element of variable length that is stored even if it is empty.
    fn item(&mut self, count: usize, bytes: &[u8]) -> Result<()> {
        self.out.extend(length(count)?);
        if let Some(kept) = &mut self.kept {
            let number = kept.len() as u64;
            kept.push(bytes.to_vec());
            self.address(number)?;
            self.out.extend(KEPT);
            return Ok(());
        }
        self.heap_object(bytes)
    }

    /// Stores an object in the global heap of the file, and appends its heap ID.
    pub(crate) fn heap_object(&mut self, bytes: &[u8]) -> Result<()> {
        self.heap.put(self.output, bytes)?.encode(&mut self.out, self.output.sizes)
    }

    /// Appends an element of variable length, whose items are encoded from `values`.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Slab, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let tracks = Datatype::sequence(&Datatype::float32());
    /// let mut tracks = file.dataset("tracks").datatype(tracks).shape([2]).create_encoded()?;
    /// tracks.write_encoded(&Slab::all(&[2])?, |to| {
    ///     to.nested(&[0.5f32, 0.25])?;
    ///     to.nested(&[1.5f32])
    /// })?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("tracks")?.read::<Vec<f32>>()?, [vec![0.5, 0.25], vec![1.5]]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`sequence`](Self::sequence).
    pub fn nested<T: Store>(&mut self, values: &[T]) -> Result<()> {
        if let Some(bytes) = T::as_bytes(values) {
            return self.sequence(values.len(), bytes);
        }
        self.sequence_of(values.len(), |to| T::encode(values, to))
    }

    /// Appends an element of variable length: `count` items that `encode` appends.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Slab, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let names = Datatype::sequence(&Datatype::string());
    /// let mut names = file.dataset("stations").datatype(names).shape([1]).create_encoded()?;
    /// names.write_encoded(&Slab::all(&[1])?, |to| {
    ///     to.sequence_of(2, |to| {
    ///         to.sequence(5, b"north")?;
    ///         to.sequence(5, b"south")
    ///     })
    /// })?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("stations")?.read::<Vec<String>>()?, [["north", "south"]]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`sequence`](Self::sequence) and of `encode`.
    pub fn sequence_of(&mut self, count: usize, encode: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let outer = std::mem::take(&mut self.out);
        // What is inside of an element of variable length is not converted.
        let kept = self.kept.take();
        let result = encode(self);
        self.kept = kept;
        let inner = std::mem::replace(&mut self.out, outer);
        result?;
        self.sequence(count, &inner)
    }
}

/// A type whose values can be stored as elements.
///
/// ```
/// use hdf5_pure::{CreateOptions, Datatype, File, Result, Store, Writer};
/// use hdf5_pure::values::Encoder;
///
/// struct Kelvin(f32);
/// impl Store for Kelvin {
///     fn datatype() -> Datatype {
///         Datatype::float32()
///     }
///     fn encode(values: &[Self], to: &mut Encoder<'_>) -> Result<()> {
///         values.iter().for_each(|value| to.bytes(&value.0.to_le_bytes()));
///         Ok(())
///     }
/// }
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// file.dataset("temperature").write(&[Kelvin(281.5), Kelvin(282.0)])?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// assert_eq!(file.dataset("temperature")?.read::<f32>()?, [281.5, 282.0]);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
pub trait Store: Sized {
    /// Returns the datatype of the elements.
    fn datatype() -> Datatype;

    /// Appends elements in [`datatype`](Self::datatype).
    ///
    /// # Errors
    /// Returns the errors of the [`Encoder`].
    fn encode(values: &[Self], to: &mut Encoder<'_>) -> Result<()>;

    /// Returns the bytes of the elements if they are in memory in the form in which they are stored.
    fn as_bytes(_: &[Self]) -> Option<&[u8]> {
        None
    }

    /// Returns the text of a string, which may be stored in a datatype of fixed length.
    fn text(&self) -> Option<&str> {
        None
    }

    /// Returns the type inside nested arrays, and appends the lengths of the arrays to `shape`.
    #[doc(hidden)]
    fn innermost(_shape: &mut Vec<u64>) -> Datatype {
        Self::datatype()
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
    i8 Datatype::signed(1);
    i16 Datatype::signed(2);
    i32 Datatype::signed(4);
    i64 Datatype::signed(8);
    u8 Datatype::unsigned(1);
    u16 Datatype::unsigned(2);
    u32 Datatype::unsigned(4);
    u64 Datatype::unsigned(8);
    f32 Datatype::float32();
    f64 Datatype::float64();
}

/// Returns the datatype of `bool`: an enumeration with the names that h5py uses.
fn boolean() -> Datatype {
    let member = |name: &str, value| EnumMember { name: name.into(), value: vec![value] };
    let base = Box::new(Datatype::signed(1));
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
                    // Readers take the first NUL of a variable-length string as its end.
                    if text.contains('\0') {
                        return Err(Error::usage("string", "contains a NUL character"));
                    }
                    to.text(text.as_bytes())
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
        Datatype::array(
            &[u32::try_from(N).unwrap_or(u32::MAX) /* a bound, as no such type is written */],
            &T::datatype(),
        )
    }

    fn innermost(shape: &mut Vec<u64>) -> Datatype {
        shape.push(N as u64);
        T::innermost(shape)
    }

    fn encode(values: &[Self], to: &mut Encoder<'_>) -> Result<()> {
        T::encode(values.as_flattened(), to)
    }

    fn as_bytes(values: &[Self]) -> Option<&[u8]> {
        T::as_bytes(values.as_flattened())
    }
}

/// Fails if the elements of a datatype refer to data elsewhere, so that bytes alone do not make up an element.
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
        return Err(Error::usage(
            "datatype",
            "refers to data outside the elements, so they cannot be written as bytes",
        ));
    }
    Ok(())
}

/// The place where the data that elements refer to is written.
pub(crate) struct Elsewhere<'a> {
    pub(crate) output: &'a mut Output,
    pub(crate) heap: &'a mut GlobalHeapWriter,
    pub(crate) bound: Bound,
}

impl Elsewhere<'_> {
    fn encoded<T>(self, encode: impl FnOnce(&mut Encoder<'_>) -> Result<T>) -> Result<(T, Vec<u8>)> {
        let Elsewhere { output, heap, bound } = self;
        let mut encoder = Encoder { out: Vec::new(), output, heap, bound, kept: None };
        let result = encode(&mut encoder)?;
        Ok((result, encoder.out))
    }
}

/// Encodes elements and returns their bytes.
pub(crate) fn encoded<T>(
    to: Elsewhere<'_>,
    encode: impl FnOnce(&mut Encoder<'_>) -> Result<T>,
) -> Result<(T, Vec<u8>)> {
    to.encoded(encode)
}

/// Converts the elements to `datatype`.
pub(crate) fn convert<T: Store>(
    to: Elsewhere<'_>,
    values: &[T],
    (datatype, conversion): (&Datatype, Conversion),
) -> Result<Vec<u8>> {
    let own = to.bound.datatype(&T::datatype(), to.output.sizes)?;
    let encoded = |to: Elsewhere<'_>| to.encoded(|to| T::encode(values, to)).map(|((), bytes)| bytes);
    if crate::value::convert::same(&own, datatype) {
        return encoded(to);
    }
    match &datatype.class {
        Class::String { padding, .. } => fixed_strings(values, datatype.size, *padding),
        Class::VariableLength(VariableLength::String { .. })
            if values.first().is_none_or(|v| v.text().is_some()) =>
        {
            encoded(to)
        }
        _ if crate::value::convert::changes_texts(&own, datatype) => {
            let Elsewhere { output, heap, bound } = to;
            let mut encoder = Encoder { out: Vec::new(), output, heap, bound, kept: Some(Vec::new()) };
            T::encode(values, &mut encoder)?;
            let raw = std::mem::take(&mut encoder.out);
            let kept = encoder.kept.take().unwrap_or_default();
            let mut kept = Kept { kept, to: encoder };
            crate::value::convert::kept_elements(&own, datatype, raw, conversion, Some(&mut kept))
        }
        _ => crate::value::convert::elements(&own, datatype, encoded(to)?, conversion),
    }
}

/// Elements of variable length that are not stored yet, and the place where they will be.
pub(crate) struct Kept<'a> {
    kept: Vec<Vec<u8>>,
    to: Encoder<'a>,
}

impl Kept<'_> {
    /// Returns the number of items, and the bytes, of an element of variable length, or `None` if there is none.
    pub(crate) fn get<'s>(&'s self, element: &[u8]) -> Result<Option<(usize, &'s [u8])>> {
        const WHAT: &str = "an element of variable length";
        let (count, rest) = present(element.split_first_chunk::<4>(), WHAT)?;
        let count: usize = fit(u32::from_le_bytes(*count), WHAT)?;
        let (address, index) = present(rest.split_at_checked(self.to.address_width()), WHAT)?;
        if index != KEPT {
            return Ok(None);
        }
        let mut number = [0u8; 8];
        number.iter_mut().zip(address).for_each(|(to, &from)| *to = from);
        let number: usize = fit(u64::from_le_bytes(number), WHAT)?;
        Ok(Some((count, present(self.kept.get(number), WHAT)?)))
    }

    /// Stores an element of variable length, and returns the element that refers to it.
    pub(crate) fn put(&mut self, element: &[u8]) -> Result<Vec<u8>> {
        match self.get(element)? {
            Some((count, bytes)) => {
                let bytes = bytes.to_vec();
                self.to.item(count, &bytes)?;
            }
            None => self.to.sequence(0, &[])?,
        }
        Ok(std::mem::take(&mut self.to.out))
    }

    /// Does the same for a text that does not come from the list.
    pub(crate) fn put_text(&mut self, text: &[u8]) -> Result<Vec<u8>> {
        self.to.text(text)?;
        Ok(std::mem::take(&mut self.to.out))
    }
}

/// Returns the length of an element of variable length as it is stored.
fn length(count: usize) -> Result<[u8; 4]> {
    match u32::try_from(count) {
        Ok(len) => Ok(len.to_le_bytes()),
        Err(_) => Err(Error::usage("sequence", "is too long: it must have fewer than 2^32 elements")),
    }
}

pub(crate) fn fixed_strings<T: Store>(values: &[T], size: u32, padding: Padding) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for value in values {
        let Some(text) = value.text() else {
            return Err(Error::usage("values", "must be strings, as the dataset holds strings"));
        };
        fixed_string(text.as_bytes(), size, padding, &mut out)?;
    }
    Ok(out)
}

/// Appends a string of fixed length.
pub(crate) fn fixed_string(text: &[u8], size: u32, padding: Padding, out: &mut Vec<u8>) -> Result<()> {
    let size = bound::addressable(size.into());
    if text.len() > size {
        return Err(Error::usage(
            "values",
            format!("include a string of {} bytes, but the datatype has room for {size}", text.len()),
        ));
    }
    let end = add(out.len(), size)?;
    out.extend_from_slice(text);
    out.resize(end, if padding == Padding::SpacePadded { b' ' } else { 0 });
    Ok(())
}
