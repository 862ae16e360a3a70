//! `log/…`: quantities of any type and shape, by name.

use std::collections::BTreeMap;

use sciformats_core::{Error, ReadAt, Result, WriteAt, bound};

use super::source::{Budget, Initial, Sink, Source};
use crate::{Chunk, Element, ElementType, Reader, Writer};

/// The prefix of the names of logged chunks.
pub(crate) const PREFIX: &str = "log/";

/// Values of one type.
///
/// ```
/// use gsd_rs::ElementType;
/// use gsd_rs::hoomd::Data;
///
/// let data = Data::I16(vec![-1, 2, 3]);
/// assert_eq!((data.len(), data.element()), (3, ElementType::I16));
/// assert_eq!(data.to_f64(), Some(vec![-1.0, 2.0, 3.0]));
/// assert_eq!(Data::Text("NVT".into()).to_f64(), None);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the variants are named after their types")]
pub enum Data {
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    /// UTF-8 text.
    Text(String),
}

/// Does the same for each type of numbers, where `$values` is the list, and something else for text.
macro_rules! each {
    ($data:expr, $values:ident => $do:expr, $text:ident => $other:expr) => {
        match $data {
            Data::U8($values) => $do,
            Data::U16($values) => $do,
            Data::U32($values) => $do,
            Data::U64($values) => $do,
            Data::I8($values) => $do,
            Data::I16($values) => $do,
            Data::I32($values) => $do,
            Data::I64($values) => $do,
            Data::F32($values) => $do,
            Data::F64($values) => $do,
            Data::Text($text) => $other,
        }
    };
}

impl Data {
    /// Returns the number of values. For a text, this is its length in bytes.
    pub fn len(&self) -> usize {
        each!(self, values => values.len(), text => text.len())
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the values as floating-point numbers, rounded if they are integers beyond 2^53; `None` for text.
    ///
    /// ```
    /// use gsd_rs::hoomd::Data;
    ///
    /// assert_eq!(Data::U8(vec![1, 2]).to_f64(), Some(vec![1.0, 2.0]));
    /// assert_eq!(Data::Text("NVT".into()).to_f64(), None);
    /// ```
    #[expect(clippy::unnecessary_cast, reason = "one of the types is f64 already")]
    pub fn to_f64(&self) -> Option<Vec<f64>> {
        Some(each!(self, values => values.iter().map(|&value| value as f64).collect(), _text => return None))
    }

    /// Returns the type of the values.
    pub fn element(&self) -> ElementType {
        fn of<T: Element>(_: &[T]) -> ElementType {
            T::TYPE
        }
        each!(self, values => of(values), _text => ElementType::Character)
    }

    fn read(reader: &Reader, chunk: &Chunk<'_>) -> Result<Self> {
        fn list<T: Element>(reader: &Reader, chunk: &Chunk<'_>) -> Result<Vec<T>> {
            Ok(reader.read::<T>(chunk)?.into_owned())
        }
        match chunk.element {
            ElementType::U8 => list(reader, chunk).map(Self::U8),
            ElementType::U16 => list(reader, chunk).map(Self::U16),
            ElementType::U32 => list(reader, chunk).map(Self::U32),
            ElementType::U64 => list(reader, chunk).map(Self::U64),
            ElementType::I8 => list(reader, chunk).map(Self::I8),
            ElementType::I16 => list(reader, chunk).map(Self::I16),
            ElementType::I32 => list(reader, chunk).map(Self::I32),
            ElementType::I64 => list(reader, chunk).map(Self::I64),
            ElementType::F32 => list(reader, chunk).map(Self::F32),
            ElementType::F64 => list(reader, chunk).map(Self::F64),
            // Reading an unknown type fails with an error that names it.
            ElementType::Character | ElementType::Unknown(_) => {
                reader.text(chunk).map(|text| Self::Text(text.into_owned()))
            }
        }
    }

    /// Appends the values of `other` if they have the same type and are not text. Returns whether it did.
    fn extend(&mut self, other: &Self) -> bool {
        match (self, other) {
            (Self::U8(a), Self::U8(b)) => a.extend(b),
            (Self::U16(a), Self::U16(b)) => a.extend(b),
            (Self::U32(a), Self::U32(b)) => a.extend(b),
            (Self::U64(a), Self::U64(b)) => a.extend(b),
            (Self::I8(a), Self::I8(b)) => a.extend(b),
            (Self::I16(a), Self::I16(b)) => a.extend(b),
            (Self::I32(a), Self::I32(b)) => a.extend(b),
            (Self::I64(a), Self::I64(b)) => a.extend(b),
            (Self::F32(a), Self::F32(b)) => a.extend(b),
            (Self::F64(a), Self::F64(b)) => a.extend(b),
            _ => return false,
        }
        true
    }

    /// Returns the values as bytes of this machine.
    fn bits(&self) -> &[u8] {
        each!(self, values => bytemuck::cast_slice(values), text => text.as_bytes())
    }

    fn same(&self, other: &Self) -> bool {
        self.element() == other.element() && self.bits() == other.bits()
    }
}

/// A logged quantity of one frame: rows × columns values, or a text.
///
/// ```
/// use gsd_rs::hoomd::{Data, Frame, Quantity};
///
/// let mut frame = Frame::new(2);
/// frame.log.insert("energy".into(), (-1.5).into());
/// frame.log.insert("ensemble".into(), "NVT".into());
/// frame.log.insert("particles/force".into(), Quantity::new(3, Data::F32(vec![0.0; 6]))?);
/// assert_eq!(frame.log["ensemble"].as_text(), Some("NVT"));
/// assert_eq!(frame.log["particles/force"].rows(), 2);
/// # Ok::<(), gsd_rs::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    columns: u32,
    data: Data,
}

impl Quantity {
    /// Creates a quantity from its values, row by row, with `columns` values each.
    ///
    /// ```
    /// use gsd_rs::hoomd::{Data, Quantity};
    ///
    /// let force = Quantity::new(3, Data::F32(vec![0.0, 0.0, -9.81, 0.0, 0.0, -9.81]))?;
    /// assert_eq!((force.rows(), force.columns()), (2, 3));
    /// assert!(Quantity::new(4, Data::F32(vec![0.0; 6])).is_err());
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if the values are not whole rows.
    pub fn new(columns: u32, data: Data) -> Result<Self> {
        let len = data.len() as u64;
        if len.checked_rem(columns.into()) == Some(0) {
            Ok(Self { columns, data })
        } else {
            Err(Error::usage(
                "values",
                format!("are {len} in number, which is not a multiple of the {columns} columns"),
            ))
        }
    }

    /// Returns the number of rows. For a text, this is its length in bytes.
    pub fn rows(&self) -> u64 {
        // Without columns there are no rows.
        (self.data.len() as u64).checked_div(self.columns.into()).map_or(0, |rows| rows)
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> u32 {
        self.columns
    }

    /// Returns the values.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// Returns the text, if it is one.
    ///
    /// ```
    /// use gsd_rs::hoomd::Quantity;
    ///
    /// assert_eq!(Quantity::from("NVT").as_text(), Some("NVT"));
    /// assert_eq!(Quantity::from(1.5).as_text(), None);
    /// ```
    pub fn as_text(&self) -> Option<&str> {
        match &self.data {
            Data::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the number, if the quantity is a single number.
    ///
    /// ```
    /// use gsd_rs::hoomd::Quantity;
    ///
    /// assert_eq!(Quantity::from(vec![300u16]).as_f64(), Some(300.0));
    /// assert_eq!(Quantity::from(vec![1.0, 2.0]).as_f64(), None); // two numbers
    /// ```
    pub fn as_f64(&self) -> Option<f64> {
        match self.data.to_f64()?.as_slice() {
            [value] => Some(*value),
            _ => None,
        }
    }

    fn read(reader: &Reader, chunk: &Chunk<'_>) -> Result<Self> {
        Ok(Self { columns: chunk.m, data: Data::read(reader, chunk)? })
    }

    fn write<S: ReadAt + WriteAt>(&self, writer: &mut Writer<S>, name: &str) -> Result<()> {
        each!(
            &self.data,
            values => writer.write(name, self.columns, values),
            text => writer.write_text(name, text)
        )
    }

    fn same(&self, other: &Self) -> bool {
        self.columns == other.columns && self.data.same(&other.data)
    }
}

impl From<f64> for Quantity {
    fn from(value: f64) -> Self {
        vec![value].into()
    }
}

impl From<&str> for Quantity {
    fn from(text: &str) -> Self {
        Self { columns: 1, data: Data::Text(text.into()) }
    }
}

macro_rules! from_list {
    ($($type:ty: $data:ident),*) => {$(
        /// Creates a quantity of one column.
        impl From<Vec<$type>> for Quantity {
            fn from(values: Vec<$type>) -> Self {
                Self { columns: 1, data: Data::$data(values) }
            }
        }
    )*};
}
from_list!(u8: U8, u16: U16, u32: U32, u64: U64, i8: I8, i16: I16, i32: I32, i64: I64, f32: F32, f64: F64);

/// Returns the names of all logged quantities of a file, without the prefix.
pub(crate) fn names(reader: &Reader) -> impl Iterator<Item = &str> {
    // A name that is not valid text cannot be used to find a chunk.
    reader.names_with_prefix(PREFIX).filter_map(|name| std::str::from_utf8(name).ok()?.strip_prefix(PREFIX))
}

pub(crate) fn load(source: &Source<'_>) -> Result<BTreeMap<String, Quantity>> {
    let mut log = BTreeMap::new();
    for name in names(source.reader) {
        if let Some(chunk) = source.chunk(&format!("{PREFIX}{name}"))? {
            source.budget.spend_chunk(&chunk)?;
            log.insert(name.to_owned(), Quantity::read(source.reader, &chunk)?);
        }
    }
    Ok(log)
}

pub(crate) fn store<S: ReadAt + WriteAt>(
    log: &BTreeMap<String, Quantity>,
    sink: &mut Sink<'_, S>,
) -> Result<()> {
    for (name, quantity) in log {
        let name = format!("{PREFIX}{name}");
        let inherited = match sink.initial {
            None => false,
            Some(Initial { reader, .. }) => {
                let missing = || {
                    let problem = format!("contains {name:?}, which frame 0 lacks; log it in frame 0 too");
                    Error::usage("log", problem)
                };
                let chunk = reader.find(0, &name)?.ok_or_else(missing)?;
                quantity.same(&Quantity::read(reader, &chunk)?)
            }
        };
        sink.store(inherited, |writer| quantity.write(writer, &name))?;
    }
    Ok(())
}

/// A logged quantity over all frames.
///
/// ```
/// use gsd_rs::Reader;
/// use gsd_rs::hoomd::{Column, Data, Trajectory};
///
/// # let options = gsd_rs::CreateOptions::new("docs", "hoomd", gsd_rs::Version::new(2, 0));
/// # let mut writer = gsd_rs::hoomd::TrajectoryWriter::on(gsd_rs::Writer::create_in(Vec::new(), &options)?)?;
/// # for step in 0..3u32 {
/// #     let mut frame = gsd_rs::hoomd::Frame::new(1);
/// #     frame.configuration.step = u64::from(step) * 1000;
/// #     frame.particles.position = vec![step as f32, 0.0, 0.0].into();
/// #     frame.log.insert("energy".into(), f64::from(step).into());
/// #     writer.append(&frame)?;
/// # }
/// # let trajectory = Trajectory::new(Reader::from_bytes(writer.into_bytes()?)?)?;
/// let Column::Regular { rows, columns, data } = trajectory.log_column("energy")? else { unreachable!() };
/// assert_eq!((rows, columns), (1, 1));
/// assert_eq!(data, Data::F64(vec![0.0, 1.0, 2.0])); // one energy a frame
/// # Ok::<(), gsd_rs::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// The same type and shape in every frame: frames × rows × columns values.
    Regular {
        /// The number of rows in each frame.
        rows: u64,
        /// The number of columns in each frame.
        columns: u32,
        /// The values of all frames, one after another.
        data: Data,
    },
    /// Texts, or quantities whose type or shape differs. It is `None` if neither the frame nor frame 0 has the quantity.
    Varying(Vec<Option<Quantity>>),
}

impl Column {
    /// Returns all values as floating-point numbers, frame after frame, if the column is regular.
    ///
    /// ```
    /// use gsd_rs::hoomd::{Column, Data};
    ///
    /// let pressure = Column::Regular { rows: 1, columns: 3, data: Data::F32(vec![0.5; 6]) }; // of two frames
    /// assert_eq!(pressure.to_f64(), Some(vec![0.5; 6]));
    /// assert_eq!(Column::Varying(vec![None]).to_f64(), None);
    /// ```
    pub fn to_f64(&self) -> Option<Vec<f64>> {
        match self {
            Self::Regular { data, .. } => data.to_f64(),
            Self::Varying(_) => None,
        }
    }

    /// Reads the quantity `name`, which includes the prefix, over all frames of a file.
    pub(crate) fn read(reader: &Reader, name: &str, budget: &Budget) -> Result<Self> {
        let frames = reader.options().limits.items("frames", reader.frames())?;
        let initial = reader.find(0, name)?.map(|chunk| Quantity::read(reader, &chunk)).transpose()?;
        let inherited = initial.as_ref().map_or(0, |quantity| quantity.data.bits().len());
        let each = bound::sum(inherited as u64, size_of::<Option<Quantity>>() as u64);
        budget.spend("bytes of a logged quantity", bound::product(each, frames as u64))?;

        let mut values: Vec<Option<Quantity>> = Vec::with_capacity(frames);
        for chunk in reader.history(name) {
            let chunk = chunk?;
            let frame = bound::addressable(chunk.frame).min(frames);
            while values.len() < frame {
                values.push(initial.clone());
            }
            // If two chunks of a frame have the same name, the first one counts, as in a look-up.
            if values.len() == frame {
                budget.spend_chunk(&chunk)?;
                values.push(Some(Quantity::read(reader, &chunk)?));
            }
        }
        values.resize(frames, initial);
        Ok(Self::joined(&values).unwrap_or(Self::Varying(values)))
    }

    fn joined(values: &[Option<Quantity>]) -> Option<Self> {
        let (first, rest) = values.split_first()?;
        let mut all = first.clone()?;
        let shape = |quantity: &Quantity| (quantity.rows(), quantity.columns);
        let (rows, columns) = shape(&all);
        for quantity in rest {
            let quantity = quantity.as_ref().filter(|quantity| shape(quantity) == (rows, columns))?;
            if !all.data.extend(&quantity.data) {
                return None;
            }
        }
        (all.as_text().is_none()).then_some(Self::Regular { rows, columns, data: all.data })
    }
}
