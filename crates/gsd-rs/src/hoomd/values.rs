//! The kinds of values in chunks of the schema, and how each is read, compared, filled with a default and written.

use sciformats_core::arith::{add, fit};
use sciformats_core::{Error, Fault, FaultKind, ReadAt, Result, WriteAt, bound};

use super::{List, Reals};
use crate::{Chunk, Element, ElementType, Reader, Writer};

/// Rows of values in a chunk.
pub(crate) trait Values: Clone + Send + Sync + 'static {
    /// The size of one value in memory.
    const SIZE: u64;

    /// Reads a chunk. Its type must be one that the schema allows here.
    fn read(reader: &Reader, chunk: &Chunk<'_>) -> Result<Self>;
    /// Returns `rows` copies of the default of a row.
    fn filled(row: &[f64], rows: usize) -> Self;
    /// Returns the number of values.
    fn count(&self) -> usize;
    /// Returns whether the values are equal, bit by bit. The precision does not matter.
    fn same(&self, other: &Self) -> bool;
    fn write<S: ReadAt + WriteAt>(&self, writer: &mut Writer<S>, name: &str, columns: u32) -> Result<()>;
}

/// Returns the error for a chunk of a type that the schema does not allow here.
fn wrong_type(chunk: &Chunk<'_>) -> Error {
    let kind = FaultKind::Undefined { found: chunk.element.code().into() };
    Fault::new("type", kind).at("index entry", bound::sum(chunk.entry, 30))
}

fn read_as<T: Element>(reader: &Reader, chunk: &Chunk<'_>) -> Result<List<T>> {
    if chunk.element == T::TYPE {
        Ok(reader.read::<T>(chunk)?.into_owned().into())
    } else {
        Err(wrong_type(chunk))
    }
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Values for List<$type> {
            const SIZE: u64 = size_of::<$type>() as u64;

            fn read(reader: &Reader, chunk: &Chunk<'_>) -> Result<Self> {
                read_as::<$type>(reader, chunk)
            }
            fn filled(row: &[f64], rows: usize) -> Self {
                // All defaults are small integers, so the conversion is exact.
                row.iter().map(|&value| value as $type).collect::<Vec<_>>().repeat(rows).into()
            }
            fn count(&self) -> usize {
                self.len()
            }
            fn same(&self, other: &Self) -> bool {
                self.is(other) || self == other
            }
            fn write<S: ReadAt + WriteAt>(&self, writer: &mut Writer<S>, name: &str, columns: u32) -> Result<()> {
                writer.write(name, columns, self)
            }
        }
    )*};
}
integers!(u8, u32, u64, i32);

impl Values for Reals {
    const SIZE: u64 = 8;

    fn read(reader: &Reader, chunk: &Chunk<'_>) -> Result<Self> {
        if chunk.element == ElementType::F64 {
            return read_as(reader, chunk).map(Self::F64);
        }
        read_as(reader, chunk).map(Self::F32)
    }

    fn filled(row: &[f64], rows: usize) -> Self {
        row.iter().map(|&value| value as f32).collect::<Vec<_>>().repeat(rows).into()
    }

    fn count(&self) -> usize {
        self.len()
    }

    fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::F32(a), Self::F32(b)) if a.is(b) => true,
            (Self::F32(a), Self::F32(b)) => {
                bytemuck::cast_slice::<_, u32>(a) == bytemuck::cast_slice::<_, u32>(b)
            }
            _ => {
                self.len() == other.len() && self.iter().map(f64::to_bits).eq(other.iter().map(f64::to_bits))
            }
        }
    }

    fn write<S: ReadAt + WriteAt>(&self, writer: &mut Writer<S>, name: &str, columns: u32) -> Result<()> {
        match self {
            Self::F32(values) => writer.write(name, columns, values),
            Self::F64(values) => writer.write(name, columns, values),
        }
    }
}

/// Members of groups. Older files store them as signed numbers.
impl<const M: usize> Values for List<[u32; M]> {
    const SIZE: u64 = 4;

    fn read(reader: &Reader, chunk: &Chunk<'_>) -> Result<Self> {
        let groups = |members: &[u32]| members.as_chunks::<M>().0.to_vec().into();
        if chunk.element != ElementType::I32 {
            return Ok(groups(&read_as::<u32>(reader, chunk)?));
        }
        let negative =
            || Fault::new("particle", FaultKind::Rule("is negative")).at("data chunk", chunk.location);
        let members = reader.read::<i32>(chunk)?;
        let members = members.iter().map(|&value| u32::try_from(value).map_err(|_| negative()));
        Ok(groups(&members.collect::<Result<Vec<_>>>()?))
    }

    fn filled(_: &[f64], rows: usize) -> Self {
        vec![[0; M]; rows].into()
    }

    fn count(&self) -> usize {
        bound::product(self.len(), M) // memory holds them all
    }

    fn same(&self, other: &Self) -> bool {
        self.is(other) || self == other
    }

    fn write<S: ReadAt + WriteAt>(&self, writer: &mut Writer<S>, name: &str, columns: u32) -> Result<()> {
        writer.write(name, columns, self.as_flattened())
    }
}

/// Reads a list of texts, one per row, each terminated or padded with zeros. The schema requires UTF-8. If a text is not valid,
/// the file is malformed at its first invalid byte.
pub(crate) fn read_texts(reader: &Reader, chunk: &Chunk<'_>) -> Result<Vec<String>> {
    if !matches!(chunk.element, ElementType::I8 | ElementType::U8 | ElementType::Character) {
        return Err(wrong_type(chunk));
    }
    let bytes = reader.read_bytes(chunk, 0..chunk.n)?;
    let width: usize = fit(chunk.m, "bytes of a text")?;
    if width == 0 {
        let kind = FaultKind::Rule("is 0, so that texts have no space");
        return if chunk.n == 0 {
            Ok(Vec::new())
        } else {
            Err(Fault::new("M", kind).at("index entry", chunk.entry))
        };
    }
    let text = |(row, bytes): (usize, &[u8])| {
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        let text = bytes.get(..end).unwrap_or(bytes);
        std::str::from_utf8(text).map(str::to_owned).map_err(|error| {
            let within = bound::sum(bound::product(row, width), error.valid_up_to()) as u64;
            let at = bound::sum(chunk.location, within); // a position in a message
            Fault::new("text", FaultKind::Encoding).at("data chunk", at)
        })
    };
    bytes.chunks(width).enumerate().map(text).collect()
}

/// Writes a list of texts as rows that are one byte longer than the longest text.
pub(crate) fn write_texts<S: ReadAt + WriteAt>(
    writer: &mut Writer<S>,
    name: &str,
    texts: &[String],
) -> Result<()> {
    if let Some(text) = texts.iter().find(|text| text.contains('\0')) {
        return Err(Error::usage("text", format!("{text:?} of {name} contains a NUL")));
    }
    let width = add(texts.iter().map(String::len).max().unwrap_or_default(), 1)?;
    let columns = u32::try_from(width).map_err(|_| Error::usage("text", format!("of {name} is too long")))?;
    let mut bytes = Vec::new();
    for text in texts {
        let end = add(bytes.len(), width)?;
        bytes.extend(text.as_bytes());
        bytes.resize(end, 0);
    }
    writer.write_bytes(name, ElementType::I8, columns, &bytes)
}
