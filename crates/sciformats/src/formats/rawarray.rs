//! RawArray: one array at `/`, with its dimensions reversed into C order. The bytes after the data are a fact
//! about the file.

use std::ops::ControlFlow;

use rawarray::{ByteOrder, Encoding, Reader};
use sciformats_core::arith::{add, mul};
use sciformats_core::{Error, Limits, Slab};

use crate::file::Storage;
use crate::model::{ArrayInfo, ElementType, Name, Object, ObjectId, Target, Value};
use crate::options::OpenOptions;
use crate::pieces::grow;
use crate::source::{Extent, Fact, Members, Source, Structure};
use crate::{Format, Result};

/// The number of bytes after the data that are shown, if they are text.
const SHOWN: u64 = 256;

struct Adapter {
    reader: Reader,
    limits: Limits,
}

pub(super) fn open(storage: Storage, options: &OpenOptions) -> Result<Box<dyn Source>> {
    let read =
        rawarray::OpenOptions::default().with_limits(options.limits).with_unfinished(options.unfinished);
    let reader = Reader::from_storage(storage, &read)?;
    Ok(Box::new(Adapter { reader, limits: options.limits }))
}

fn element(of: rawarray::ElementType) -> ElementType {
    use rawarray::ElementType as Stored;
    let small = |bytes: u64| u16::try_from(bytes).ok();
    match of {
        Stored::Int(bytes) => small(bytes).map_or(ElementType::Opaque(bytes), ElementType::Int),
        Stored::UInt(bytes) => small(bytes).map_or(ElementType::Opaque(bytes), ElementType::UInt),
        Stored::Float(2) => ElementType::F16,
        Stored::Float(4) => ElementType::F32,
        Stored::Float(8) => ElementType::F64,
        Stored::BFloat16 => ElementType::BF16,
        Stored::Complex(4) => ElementType::Complex(4),
        Stored::Complex(8) => ElementType::Complex(8),
        Stored::Complex(16) => ElementType::Complex(16),
        Stored::Bool => ElementType::Bool,
        // Floats of other sizes have several layouts, and the file does not say which one it uses.
        Stored::Float(bytes) | Stored::Complex(bytes) | Stored::Opaque(bytes) => ElementType::Opaque(bytes),
    }
}

fn encoding(of: Encoding) -> Option<&'static str> {
    match of {
        Encoding::Raw => None,
        Encoding::Lz4 => Some("lz4"),
        Encoding::Leb128 => Some("leb128"),
        Encoding::Bits => Some("bits"),
        _ => Some("encoded"),
    }
}

fn byte_order(of: ByteOrder) -> &'static str {
    match of {
        ByteOrder::Little => "little-endian",
        ByteOrder::Big => "big-endian",
    }
}

impl Adapter {
    fn metadata_shown(&self) -> Option<Value> {
        let len = self.reader.metadata_len();
        let text = (len <= SHOWN).then(|| self.reader.metadata().ok()).flatten();
        let text = text.and_then(|bytes| String::from_utf8(bytes.into_owned()).ok());
        let shown = text.filter(|text| !text.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
        (len > 0).then(|| shown.map_or_else(|| format!("{len} bytes").into(), Value::from))
    }
}

impl Source for Adapter {
    fn format(&self) -> Format {
        Format::RawArray
    }

    fn facts(&self) -> Vec<Fact> {
        let header = self.reader.header();
        let mut facts: Vec<Fact> = vec![
            ("flags", header.flags.bits().into()),
            ("byte order", byte_order(self.reader.byte_order()).into()),
            ("encoding", encoding(self.reader.encoding()).unwrap_or("none").into()),
        ];
        facts.extend(self.metadata_shown().map(|metadata| ("metadata", metadata)));
        facts
    }

    fn root(&self) -> ObjectId {
        ObjectId(0)
    }

    fn object(&self, _id: ObjectId) -> Result<Object> {
        let reader = &self.reader;
        let mut info = ArrayInfo::new(element(reader.element()), reader.shape());
        info.filters.extend(encoding(reader.encoding()).map(String::from));
        info.stored = Some(reader.stored_size());
        info.facts = vec![("byte order", byte_order(reader.byte_order()).into())];
        if let (
            rawarray::ElementType::Float(_) | rawarray::ElementType::Complex(_),
            ElementType::Opaque(size),
        ) = (reader.element(), &info.element)
        {
            info.facts.push(("numbers", format!("floating-point, {size} bytes").into()));
        }
        Ok(Object::Array(Box::new(info)))
    }

    fn members(&self, _group: ObjectId) -> Result<Members<'_>> {
        Ok(Box::new(std::iter::empty()))
    }

    fn member(&self, _group: ObjectId, _name: &Name) -> Result<Option<Target>> {
        Ok(None)
    }

    fn extent(&self, _array: ObjectId) -> Result<Option<Extent>> {
        let reader = &self.reader;
        if reader.encoding() != Encoding::Raw || reader.element() == rawarray::ElementType::Bool {
            return Ok(None);
        }
        let offset = add(48, mul(reader.dims().len() as u64, 8)?)?;
        let (length, order) = (reader.stored_size(), reader.byte_order());
        Ok(Some(Extent { offset, length, order, columns: false, compression: None }))
    }

    fn read(&self, _array: ObjectId, slab: &Slab, out: &mut Vec<u8>) -> Result<()> {
        let size = slab.len().checked_mul(self.reader.element().size());
        let size = size.ok_or_else(|| Error::usage("selection", "has more than 2^64 bytes"))?;
        let size = self.limits.memory("bytes of the selected elements", size)?;
        self.reader.read_slab_bytes_into(slab, grow(out, size)?)
    }

    fn read_into(&self, _array: ObjectId, slab: &Slab, out: &mut [u8]) -> Result<()> {
        self.reader.read_slab_bytes_into(slab, out)
    }

    fn metadata(&self) -> Result<Vec<u8>> {
        self.limits.memory("bytes after the elements", self.reader.metadata_len())?;
        self.reader.metadata().map(std::borrow::Cow::into_owned)
    }

    fn may_be_shared(&self, _id: ObjectId) -> bool {
        false
    }

    fn structures(&self, visit: &mut dyn FnMut(Structure) -> ControlFlow<()>) -> Result<()> {
        let header = self.reader.header();
        let dims = &header.dims;
        let end = add(48, mul(dims.len() as u64, 8)?)?;
        let structure = |name: &'static str, offset: u64, size: u64, fields: Vec<(&'static str, Value)>| {
            let fields = fields.into_iter().map(|(key, value)| (key.into(), value)).collect();
            Structure { name: name.into(), offset, size, depth: 0, fields }
        };
        let fields = vec![
            ("magic", "rawarray".into()),
            ("flags", header.flags.bits().into()),
            ("eltype", header.eltype.code().into()),
            ("elbyte", header.elbyte.into()),
            ("size", header.size.into()),
            ("ndims", dims.len().into()),
            ("dims", Value::List(dims.iter().map(|&n| n.into()).collect())),
        ];
        let stored = self.reader.stored_size();
        let encoding = encoding(self.reader.encoding()).unwrap_or("none");
        let metadata = self.reader.metadata_len();
        let mut parts = vec![
            structure("header", 0, end, fields),
            structure("data", end, stored, vec![("encoding", encoding.into())]),
        ];
        if metadata > 0 {
            parts.push(structure("metadata", add(end, stored)?, metadata, Vec::new()));
        }
        // If the caller stops, nothing has to be cleaned up.
        let _ = parts.into_iter().try_for_each(visit);
        Ok(())
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::File;

    fn bytes(eltype: u64, elbyte: u64, dims: &[u64], data: &[u8], tail: &[u8]) -> Vec<u8> {
        let mut bytes = b"rawarray".to_vec();
        for word in [0, eltype, elbyte, data.len() as u64, dims.len() as u64] {
            bytes.extend(word.to_le_bytes());
        }
        dims.iter().for_each(|dim| bytes.extend(dim.to_le_bytes()));
        bytes.extend(data);
        bytes.extend(tail);
        bytes
    }

    fn open(bytes: Vec<u8>) -> File {
        File::from_bytes(bytes).unwrap()
    }

    #[test]
    fn one_array_with_its_dimensions_reversed() {
        let file = open(bytes(1, 2, &[3, 2], &[1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0], b"note"));
        assert_eq!(file.format(), Format::RawArray);
        let array = file.array("/").unwrap();
        assert_eq!(array.shape(), [2, 3]);
        assert_eq!(array.read::<i64>().unwrap(), [1, 2, 3, 4, 5, 6]);
        assert!(file.array("/x").is_err());
        assert_eq!(file.source().facts().last(), Some(&("metadata", "note".into())));
        let mut ends = Vec::new();
        file.source()
            .structures(&mut |s| {
                ends.push((s.name.into_owned(), s.offset + s.size));
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(ends, [("header".into(), 64), ("data".into(), 76), ("metadata".into(), 80)]);
    }

    #[test]
    fn what_has_no_type_of_its_own_is_opaque() {
        for (eltype, elbyte, expected) in [
            (0, 3, ElementType::Opaque(3)),
            (1, 16, ElementType::Int(16)),
            (3, 16, ElementType::Opaque(16)),
            (4, 4, ElementType::Complex(4)),
            (5, 1, ElementType::Bool),
            (5, 2, ElementType::BF16),
            (9, 2, ElementType::Opaque(2)),
        ] {
            let file = open(bytes(eltype, elbyte, &[1], &vec![0; elbyte as usize], b""));
            assert_eq!(file.array("/").unwrap().element(), &expected);
        }
    }
}
