//! Arrays whose element type is only known at run time.

use std::fmt;

use sciformats_core::{Conversion, Error, IntoSelection, Slab, bound};

use crate::array::Array;
use crate::model::{Datum, Decoder, ElementType, FloatKind, Value, write_text};
use crate::{Element, Result};

/// Elements and their shape.
///
/// ```
/// use sciformats::Shaped;
///
/// let u = Shaped::new(vec![2, 3], vec![1, 2, 3, 4, 5, 6])?;
/// assert_eq!((u.shape(), u.values()[4]), (&[2, 3][..], 5));
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Shaped<T> {
    shape: Vec<u64>,
    values: Vec<T>,
}

impl<T> Shaped<T> {
    /// Gives elements in C order a shape.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the shape has another number of elements.
    pub fn new(shape: Vec<u64>, values: Vec<T>) -> Result<Self> {
        if sciformats_core::slab::elements(&shape) == Some(values.len() as u64) {
            return Ok(Self { shape, values });
        }
        Err(Error::usage("shape", format!("is {shape:?}, but there are {} elements", values.len())))
    }

    /// Returns the length of each dimension, the slowest first.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Returns the elements in C order.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Returns the elements in C order, owned.
    pub fn into_values(self) -> Vec<T> {
        self.values
    }

    /// Returns the elements as an array.
    ///
    /// ```
    /// let u = sciformats::Shaped::new(vec![2, 2], vec![1, 2, 3, 4])?.into_ndarray()?;
    /// assert_eq!(u[[1, 0]], 3);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the shape is larger than this machine can address.
    #[cfg(feature = "ndarray")]
    pub fn into_ndarray(self) -> Result<ndarray::ArrayD<T>> {
        sciformats_core::nd::array(self.values, &self.shape)
    }
}

/// An array of any element type, as [`Array::read_dyn`] returns it.
///
/// `Display` and [`to_json`](Self::to_json) write it as nested lists.
///
/// ```
/// use sciformats::memory::{Memory, array, texts};
/// use sciformats::{DynArray, File, Format, Result};
///
/// fn describe(file: &File) -> Result<String> {
///     Ok(match file.array("/")?.read_dyn()? {
///         DynArray::F64(values) => format!("numbers, of which the first is {}", values.values()[0]),
///         DynArray::Text(names) => format!("the names {}", names.values().join(", ")),
///         other => format!("something else: {other}"),
///     })
/// }
/// let numbers = File::from(Memory::single(Format::Npy, array::<f64>(&[2], &[0.5, 1.5])));
/// assert_eq!(describe(&numbers)?, "numbers, of which the first is 0.5");
/// let names = File::from(Memory::single(Format::Hdf5, texts(&[2], &["Vega", "Deneb"])));
/// assert_eq!(describe(&names)?, "the names Vega, Deneb");
/// let counts = File::from(Memory::single(Format::Npy, array::<u8>(&[2, 2], &[1, 2, 3, 4])));
/// assert_eq!(describe(&counts)?, "something else: [[1, 2], [3, 4]]");
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum DynArray {
    /// Truth values, including the enumerations of `FALSE` and `TRUE` in which h5py stores them.
    Bool(Shaped<bool>),
    /// Signed integers of 8 bits.
    I8(Shaped<i8>),
    /// Signed integers of 9 to 16 bits.
    I16(Shaped<i16>),
    /// Signed integers of 17 to 32 bits.
    I32(Shaped<i32>),
    /// Signed integers of 33 to 64 bits.
    I64(Shaped<i64>),
    /// Signed integers of 65 to 128 bits.
    I128(Shaped<i128>),
    /// Unsigned integers of 8 bits.
    U8(Shaped<u8>),
    /// Unsigned integers of 9 to 16 bits.
    U16(Shaped<u16>),
    /// Unsigned integers of 17 to 32 bits.
    U32(Shaped<u32>),
    /// Unsigned integers of 33 to 64 bits.
    U64(Shaped<u64>),
    /// Unsigned integers of 65 to 128 bits.
    U128(Shaped<u128>),
    /// Floating-point numbers of 32 bits, and those of 16 bits, which all of them can hold.
    F32(Shaped<f32>),
    /// Floating-point numbers of 64 bits, and all other floating-point numbers.
    F64(Shaped<f64>),
    /// Complex numbers of two 32-bit numbers: the real and the imaginary part.
    Complex32(Shaped<[f32; 2]>),
    /// Complex numbers of two 64-bit numbers.
    Complex64(Shaped<[f64; 2]>),
    /// Text, and the paths of references.
    Text(Shaped<String>),
    /// Bytes without a known meaning.
    Bytes(Shaped<Vec<u8>>),
    /// Everything else: compounds, lists, enumerations, and text that is not UTF-8.
    Value(Shaped<Value>),
}

/// Applies an expression to the elements of any type.
macro_rules! any {
    ($array:expr, $values:ident => $result:expr) => {
        match $array {
            DynArray::Bool($values) => $result,
            DynArray::I8($values) => $result,
            DynArray::I16($values) => $result,
            DynArray::I32($values) => $result,
            DynArray::I64($values) => $result,
            DynArray::I128($values) => $result,
            DynArray::U8($values) => $result,
            DynArray::U16($values) => $result,
            DynArray::U32($values) => $result,
            DynArray::U64($values) => $result,
            DynArray::U128($values) => $result,
            DynArray::F32($values) => $result,
            DynArray::F64($values) => $result,
            DynArray::Complex32($values) => $result,
            DynArray::Complex64($values) => $result,
            DynArray::Text($values) => $result,
            DynArray::Bytes($values) => $result,
            DynArray::Value($values) => $result,
        }
    };
}

impl DynArray {
    /// Returns the length of each dimension, the slowest first.
    pub fn shape(&self) -> &[u64] {
        any!(self, values => values.shape())
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        any!(self, values => values.values().len())
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the array as JSON: nested lists, and a single element if there is no dimension.
    ///
    /// ```
    /// use sciformats::memory::{Memory, array};
    /// use sciformats::{File, Format};
    ///
    /// let file = File::from(Memory::single(Format::Npy, array::<f32>(&[2, 1], &[0.1, f32::NAN])));
    /// assert_eq!(file.array("/")?.read_dyn()?.to_json(), r#"[[0.1],["NaN"]]"#);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn to_json(&self) -> String {
        any!(self, values => {
            let mut out = String::new();
            let mut place = 0usize;
            nested(shown(values), ",", &mut out, &mut |out| {
                if let Some(value) = values.values().get(place) {
                    value.json(out);
                }
                place = bound::sum(place, 1);
            });
            out
        })
    }
}

impl fmt::Display for DynArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        any!(self, values => {
            let mut place = 0usize;
            nested(shown(values), ", ", &mut out, &mut |out| {
                if let Some(value) = values.values().get(place) {
                    value.show(out);
                }
                place = bound::sum(place, 1);
            });
        });
        f.pad(&out)
    }
}

/// Returns the shape of the lists. Without elements there is one empty list, however large the other
/// dimensions are.
fn shown<T>(array: &Shaped<T>) -> &[u64] {
    if array.values.is_empty() { &[0] } else { &array.shape }
}

/// Writes nested lists of this shape; `element` writes the next element.
fn nested(shape: &[u64], comma: &str, out: &mut String, element: &mut dyn FnMut(&mut String)) {
    let Some((&count, rest)) = shape.split_first() else { return element(out) };
    out.push('[');
    for number in 0..count {
        if number > 0 {
            out.push_str(comma);
        }
        nested(rest, comma, out, element);
    }
    out.push(']');
}

/// An element as text.
trait Written {
    fn json(&self, out: &mut String);
    fn show(&self, out: &mut String);
}

macro_rules! written {
    ($($type:ty),*) => {$(
        impl Written for $type {
            fn json(&self, out: &mut String) {
                out.push_str(&self.to_string());
            }

            fn show(&self, out: &mut String) {
                out.push_str(&self.to_string());
            }
        }
    )*};
}
written!(bool, i8, i16, i32, i64, i128, u8, u16, u32, u64, u128);

macro_rules! floats {
    ($($type:ty: $kind:expr),*) => {$(
        impl Written for $type {
            fn json(&self, out: &mut String) {
                Datum::Float((*self).into(), $kind).write_json(out);
            }

            fn show(&self, out: &mut String) {
                out.push_str(&$kind.digits((*self).into()));
            }
        }

        impl Written for [$type; 2] {
            fn json(&self, out: &mut String) {
                let [real, imaginary] = *self;
                Datum::Complex(real.into(), imaginary.into(), $kind).write_json(out);
            }

            fn show(&self, out: &mut String) {
                let [real, imaginary] = *self;
                out.push_str(&Datum::Complex(real.into(), imaginary.into(), $kind).to_string());
            }
        }
    )*};
}
floats!(f32: FloatKind::F32, f64: FloatKind::F64);

impl Written for String {
    fn json(&self, out: &mut String) {
        write_text(out, self);
    }

    fn show(&self, out: &mut String) {
        write_text(out, self);
    }
}

impl Written for Vec<u8> {
    fn json(&self, out: &mut String) {
        Datum::Bytes(self).write_json(out);
    }

    fn show(&self, out: &mut String) {
        out.push_str(&Datum::Bytes(self).to_string());
    }
}

impl Written for Value {
    fn json(&self, out: &mut String) {
        self.write_json(out);
    }

    fn show(&self, out: &mut String) {
        match self {
            Self::Text(text) => write_text(out, text),
            other => out.push_str(&other.to_string()),
        }
    }
}

impl Array<'_> {
    /// Reads all elements as they are, whatever their type.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the array has no shape; otherwise the error of reading the elements.
    pub fn read_dyn(&self) -> Result<DynArray> {
        let all = self.all()?;
        self.read_dyn_of(&all, all.shape())
    }

    /// As [`read_dyn`](Self::read_dyn), for the selected elements.
    ///
    /// ```
    /// use sciformats::memory::{Memory, array};
    /// use sciformats::{File, Format};
    ///
    /// let file = File::from(Memory::single(Format::Npy, array::<i32>(&[2, 3], &[1, 2, 3, 4, 5, 6])));
    /// assert_eq!(file.array("/")?.read_slice_dyn((.., -1))?.to_string(), "[3, 6]");
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`read_slice`](Self::read_slice).
    pub fn read_slice_dyn(&self, part: impl IntoSelection) -> Result<DynArray> {
        let selection = part.into_selection(self.all()?.of())?;
        let mut found = self.read_dyn_of(selection.slab(), selection.shape())?;
        any!(&mut found, shaped => selection.turn(&mut shaped.values));
        Ok(found)
    }

    fn read_dyn_of(&self, slab: &Slab, shape: Vec<u64>) -> Result<DynArray> {
        let exact = self.clone().with_conversion(Conversion::Exact);
        exact.read_as_stored(slab, shape)
    }

    fn read_as_stored(&self, slab: &Slab, shape: Vec<u64>) -> Result<DynArray> {
        Ok(match self.element() {
            ElementType::Bool => DynArray::Bool(self.shaped(slab, shape)?),
            truth if is_truth(truth) => DynArray::Bool(self.shaped(slab, shape)?),
            ElementType::Int(1) => DynArray::I8(self.shaped(slab, shape)?),
            ElementType::Int(2) => DynArray::I16(self.shaped(slab, shape)?),
            ElementType::Int(3 | 4) => DynArray::I32(self.shaped(slab, shape)?),
            ElementType::Int(5..=8) => DynArray::I64(self.shaped(slab, shape)?),
            ElementType::Int(9..=16) => DynArray::I128(self.shaped(slab, shape)?),
            ElementType::UInt(1) | ElementType::Bits(1) => DynArray::U8(self.shaped(slab, shape)?),
            ElementType::UInt(2) | ElementType::Bits(2) => DynArray::U16(self.shaped(slab, shape)?),
            ElementType::UInt(3 | 4) | ElementType::Bits(3 | 4) => DynArray::U32(self.shaped(slab, shape)?),
            ElementType::UInt(5..=8) | ElementType::Bits(5..=8) => DynArray::U64(self.shaped(slab, shape)?),
            ElementType::UInt(9..=16) | ElementType::Bits(9..=16) => {
                DynArray::U128(self.shaped(slab, shape)?)
            }
            ElementType::F16 | ElementType::BF16 | ElementType::F32 => {
                DynArray::F32(self.shaped(slab, shape)?)
            }
            ElementType::F64 | ElementType::FloatOther => DynArray::F64(self.shaped(slab, shape)?),
            ElementType::Complex(4 | 8) => DynArray::Complex32(self.shaped(slab, shape)?),
            ElementType::Complex(_) => DynArray::Complex64(self.shaped(slab, shape)?),
            ElementType::Opaque(_) => DynArray::Bytes(self.shaped(slab, shape)?),
            ElementType::Text | ElementType::Reference | ElementType::Region => {
                match self.shaped(slab, shape.clone()) {
                    Err(Error::Misfit(_)) => DynArray::Value(self.values(slab, shape)?),
                    texts => DynArray::Text(texts?),
                }
            }
            _ => DynArray::Value(self.values(slab, shape)?),
        })
    }

    fn shaped<T: Element>(&self, slab: &Slab, shape: Vec<u64>) -> Result<Shaped<T>> {
        Shaped::new(shape, self.read_slab(slab)?)
    }

    fn values(&self, slab: &Slab, shape: Vec<u64>) -> Result<Shaped<Value>> {
        let bytes = self.bytes(slab)?;
        let data = Decoder::new(self.element(), &bytes);
        let values = data.map(|datum| datum.map(|datum| value(self.element(), datum)));
        Shaped::new(shape, values.collect::<Result<_>>()?)
    }
}

/// Returns whether the type is the enumeration in which h5py stores truth values.
fn is_truth(element: &ElementType) -> bool {
    let ElementType::Enum { members, .. } = element else { return false };
    let has = |name: &str, value: i128| {
        members.iter().any(|(of, number)| of.as_bytes() == name.as_bytes() && *number == value)
    };
    members.len() == 2 && has("FALSE", 0) && has("TRUE", 1)
}

/// Returns an element as a value.
fn value(element: &ElementType, datum: Datum<'_>) -> Value {
    match (element, datum) {
        (truth, Datum::Member(number @ (0 | 1), _)) if is_truth(truth) => Value::Bool(number == 1),
        (_, Datum::Member(_, Some(name))) => Value::Text(name.shown().into_owned()),
        (_, Datum::Int(number) | Datum::Member(number, None)) => number.into(),
        (_, Datum::UInt(number)) => number.into(),
        (_, Datum::Float(number, _)) => number.into(),
        (_, Datum::Complex(real, imaginary, _)) => Value::Complex(real, imaginary),
        (_, Datum::Bool(truth)) => truth.into(),
        (_, Datum::Text(text)) => match std::str::from_utf8(text) {
            Ok(text) => text.into(),
            Err(_) => Value::Bytes(text.to_vec()),
        },
        (_, Datum::Bytes(bytes)) => Value::Bytes(bytes.to_vec()),
        (ElementType::Array { element, .. } | ElementType::Vlen(element), Datum::List(list)) => {
            Value::List(list.into_iter().map(|datum| value(element, datum)).collect())
        }
        (_, Datum::List(list)) => Value::List(list.into_iter().map(|datum| value(element, datum)).collect()),
        (ElementType::Compound(fields), Datum::Record(record)) => {
            let fields = fields.iter().zip(record);
            Value::Record(
                fields.map(|((name, field), (_, datum))| (name.clone(), value(field, datum))).collect(),
            )
        }
        (_, Datum::Record(record)) => {
            let fields = record.into_iter();
            Value::Record(fields.map(|(name, datum)| (name.clone(), value(element, datum))).collect())
        }
    }
}
