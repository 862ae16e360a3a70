//! NumPy's `.npy`: one array at `/`.

use std::ops::ControlFlow;

use npy::{ByteOrder, DType, Kind, Reader};
use sciformats_core::{Error, Fault, FaultKind, Slab, endian};

use crate::file::Storage;
use crate::model::{ArrayInfo, ElementType, Name, Object, ObjectId, Target, TextForm, Value};
use crate::options::OpenOptions;
use crate::pieces::{copied, grow};
use crate::source::{Extent, Fact, Finding, Members, Source, Structure};
use crate::{Format, Result};

struct Adapter {
    reader: Reader,
}

pub(super) fn open(storage: Storage, options: &OpenOptions) -> Result<Box<dyn Source>> {
    let read = npy::OpenOptions::default().with_limits(options.limits).with_access(options.access);
    Ok(Box::new(Adapter { reader: Reader::from_storage(storage, &read)? }))
}

/// Returns whether there are dates or time spans in elements. The common model has the integers that they are stored as, so their unit
/// is a fact about the array.
fn has_times(of: &DType) -> bool {
    match of {
        DType::Scalar { kind, .. } => matches!(kind, Kind::DateTime(_) | Kind::TimeDelta(_)),
        DType::Record(fields) => fields.iter().any(|field| has_times(&field.dtype)),
        DType::Array { item, .. } => has_times(item),
        _ => false,
    }
}

/// Returns the element type for a data type. Dates and time spans are the integers that they are stored as.
fn element(of: &DType) -> ElementType {
    match of {
        DType::Scalar { kind, size, .. } => {
            let small = u16::try_from(*size).ok();
            match (kind, size) {
                (Kind::Bool, _) => ElementType::Bool,
                (Kind::Int | Kind::DateTime(_) | Kind::TimeDelta(_), _) => {
                    small.map_or(ElementType::Opaque(*size), ElementType::Int)
                }
                (Kind::UInt, _) => small.map_or(ElementType::Opaque(*size), ElementType::UInt),
                (Kind::Float, 2) => ElementType::F16,
                (Kind::Float, 4) => ElementType::F32,
                (Kind::Float, 8) => ElementType::F64,
                (Kind::Complex, 8) => ElementType::Complex(8),
                (Kind::Complex, 16) => ElementType::Complex(16),
                (Kind::Bytes | Kind::Text, _) => ElementType::Text,
                // Wider floating-point numbers differ between machines.
                _ => ElementType::Opaque(*size),
            }
        }
        DType::Record(fields) => {
            let named = fields.iter().filter(|field| !field.name.is_empty());
            ElementType::Compound(
                named.map(|field| (Name::of_utf8(&field.name), element(&field.dtype))).collect(),
            )
        }
        DType::Array { item, shape } => {
            ElementType::Array { element: Box::new(element(item)), shape: shape.clone() }
        }
        _ => ElementType::Opaque(of.size().unwrap_or_default()),
    }
}

/// Appends how the texts in elements are stored.
fn texts(of: &DType, forms: &mut Vec<TextForm>) {
    match of {
        DType::Scalar { kind: Kind::Bytes, size, .. } => forms.push(TextForm::Bytes(*size)),
        DType::Scalar { kind: Kind::Text, size, .. } => forms.push(TextForm::Characters(*size / 4)),
        DType::Record(fields) => {
            let named = fields.iter().filter(|field| !field.name.is_empty());
            named.for_each(|field| texts(&field.dtype, forms));
        }
        DType::Array { item, .. } => texts(item, forms),
        _ => {}
    }
}

/// Returns the width of the numbers in an element whose bytes are in the wrong order, or 1 if none are;
/// `None` for elements that are not numbers.
fn word(kind: &Kind, size: u64, order: ByteOrder) -> Option<usize> {
    let size = match (kind, size) {
        (Kind::Bool | Kind::Bytes | Kind::Text, _) => return None,
        (Kind::Void | Kind::Object, _) => 1,
        (Kind::Complex, 8 | 16) => size / 2,
        (Kind::Int | Kind::UInt | Kind::DateTime(_) | Kind::TimeDelta(_), _) | (Kind::Float, 2 | 4 | 8) => {
            size
        }
        _ => 1,
    };
    if order == ByteOrder::Big { usize::try_from(size).ok() } else { Some(1) }
}

/// Returns whether stored elements are canonical bytes already.
fn is_canonical(of: &DType) -> bool {
    match of {
        DType::Scalar { kind, size, order } => word(kind, *size, *order) == Some(1),
        DType::Record(fields) => {
            fields.iter().all(|field| !field.name.is_empty() && is_canonical(&field.dtype))
        }
        DType::Array { item, .. } => is_canonical(item),
        _ => false,
    }
}

/// Appends the canonical bytes of the element at the start of `bytes`, and advances `bytes` past it. `at` is
/// the offset of the array, for errors.
fn append(of: &DType, bytes: &mut &[u8], at: u64, out: &mut Vec<u8>) -> Result<()> {
    match of {
        DType::Record(fields) => {
            let mut padding = Vec::new();
            for field in fields {
                let to = if field.name.is_empty() { &mut padding } else { &mut *out };
                append(&field.dtype, bytes, at, to)?;
            }
            Ok(())
        }
        DType::Array { item, shape } => {
            let count = sciformats_core::slab::elements(shape).ok_or_else(short)?;
            (0..count).try_for_each(|_| append(item, bytes, at, out))
        }
        other => {
            let size = other.size().and_then(|size| usize::try_from(size).ok()).ok_or_else(short)?;
            let (one, rest) = bytes.split_at_checked(size).ok_or_else(short)?;
            *bytes = rest;
            scalar(other, one, at, out)
        }
    }
}

fn short() -> Error {
    Error::internal("an element extends beyond the bytes that were read for it")
}

fn scalar(of: &DType, bytes: &[u8], at: u64, out: &mut Vec<u8>) -> Result<()> {
    let DType::Scalar { kind, size, order } = of else { return Err(short()) };
    match (kind, word(kind, *size, *order)) {
        (_, Some(width)) => {
            let start = out.len();
            out.extend_from_slice(bytes);
            endian::swap(out.get_mut(start..).unwrap_or_default(), width);
        }
        (Kind::Bytes, _) => {
            let end = bytes.iter().rposition(|&byte| byte != 0);
            text(end.and_then(|last| bytes.get(..=last)).unwrap_or_default(), out);
        }
        (Kind::Text, _) => {
            let mut decoded = String::new();
            for &code in bytes.as_chunks::<4>().0 {
                let big = *order == ByteOrder::Big;
                let code = if big { u32::from_be_bytes(code) } else { u32::from_le_bytes(code) };
                let fault = || Fault::new("element", FaultKind::Encoding).at("array", at);
                decoded.push(char::from_u32(code).ok_or_else(fault)?);
            }
            text(decoded.trim_end_matches('\0').as_bytes(), out);
        }
        _ => out.extend(bytes.iter().map(|&byte| u8::from(byte != 0))),
    }
    Ok(())
}

fn text(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

impl Source for Adapter {
    fn format(&self) -> Format {
        Format::Npy
    }

    fn facts(&self) -> Vec<Fact> {
        let (major, minor) = self.reader.version();
        let order = if self.reader.header().fortran_order { "Fortran" } else { "C" };
        vec![("version", format!("{major}.{minor}").into()), ("order", order.into())]
    }

    fn root(&self) -> ObjectId {
        ObjectId(0)
    }

    fn object(&self, _: ObjectId) -> Result<Object> {
        let mut info = ArrayInfo::new(element(self.reader.dtype()), self.reader.shape());
        info.stored = Some(self.reader.stored_size());
        info.width = self.reader.dtype().size();
        info.facts = vec![("offset", self.reader.data_offset().into())];
        if has_times(self.reader.dtype()) {
            // The type of elements does not say it.
            info.facts.push(("dtype", self.reader.dtype().to_string().into()));
        }
        let mut forms = Vec::new();
        texts(self.reader.dtype(), &mut forms);
        Ok(Object::Array(Box::new(info.with_texts(forms))))
    }

    fn members(&self, _: ObjectId) -> Result<Members<'_>> {
        Ok(Box::new(std::iter::empty()))
    }

    fn member(&self, _: ObjectId, _: &Name) -> Result<Option<Target>> {
        Ok(None)
    }

    fn extent(&self, _: ObjectId) -> Result<Option<Extent>> {
        let reader = &self.reader;
        let DType::Scalar { kind, order, .. } = reader.dtype() else { return Ok(None) };
        if matches!(kind, Kind::Bool | Kind::Bytes | Kind::Text) {
            return Ok(None);
        }
        let (offset, length) = (reader.data_offset(), reader.stored_size());
        let columns = reader.header().fortran_order;
        Ok(Some(Extent { offset, length, order: *order, columns, compression: None }))
    }

    fn read(&self, _: ObjectId, slab: &Slab, out: &mut Vec<u8>) -> Result<()> {
        let dtype = self.reader.dtype();
        if is_canonical(dtype) {
            return self.reader.read_slab_bytes_into(slab, grow(out, self.reader.bytes_of(slab)?)?);
        }
        let stored = self.reader.read_slab_bytes(slab)?;
        let mut rest = stored.as_slice();
        (0..slab.len()).try_for_each(|_| append(dtype, &mut rest, self.reader.data_offset(), out))
    }

    fn read_into(&self, id: ObjectId, slab: &Slab, out: &mut [u8]) -> Result<()> {
        if is_canonical(self.reader.dtype()) {
            return self.reader.read_slab_bytes_into(slab, out);
        }
        let mut bytes = Vec::new();
        self.read(id, slab, &mut bytes)?;
        copied(&bytes, out)
    }

    fn may_be_shared(&self, _: ObjectId) -> bool {
        false
    }

    fn check(&self, visit: &mut dyn FnMut(Finding)) {
        let left = self.reader.leftover();
        if left > 0 {
            let fault = Fault::new("elements", FaultKind::Leftover { bytes: left });
            let end = sciformats_core::bound::sum(self.reader.data_offset(), self.reader.stored_size());
            visit(Finding { path: None, error: fault.at("array", end) });
        }
    }

    fn structures(&self, visit: &mut dyn FnMut(Structure) -> ControlFlow<()>) -> Result<()> {
        let structure = |name: &'static str, offset, size, fields: Vec<(&'static str, Value)>| {
            let fields = fields.into_iter().map(|(key, value)| (key.into(), value)).collect();
            Structure { name: name.into(), offset, size, depth: 0, fields }
        };
        let (header, (major, minor)) = (self.reader.header(), self.reader.version());
        let shape = Value::List(header.shape.iter().map(|&n| n.into()).collect());
        let swapped = match &header.dtype {
            DType::Scalar { kind, size, order } => word(kind, *size, *order).is_some_and(|width| width > 1),
            _ => false,
        };
        let order = if swapped { ", big-endian" } else { "" };
        let fields = vec![
            ("version", format!("{major}.{minor}").into()),
            ("descr", format!("{}{order}", element(&header.dtype)).into()),
            ("fortran_order", header.fortran_order.into()),
            ("shape", shape),
        ];
        let parts = [
            structure("header", 0, self.reader.data_offset(), fields),
            structure("array", self.reader.data_offset(), self.reader.stored_size(), Vec::new()),
        ];
        // If the caller stops, nothing has to be cleaned up.
        let _ = parts.into_iter().try_for_each(visit);
        Ok(())
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::{ElementType, File, Range};

    /// A file of version 1.0 with a header as NumPy writes it.
    fn bytes(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let dictionary = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\0".to_vec();
        bytes.extend(u16::try_from(dictionary.len()).unwrap().to_le_bytes());
        bytes.extend(dictionary.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn open(bytes: Vec<u8>) -> Result<File> {
        File::from_bytes(bytes)
    }

    #[test]
    fn types_and_orders() {
        let file = open(bytes("'>i2'", "False", "(2, 2)", &[0, 1, 0, 2, 0, 3, 255, 252])).unwrap();
        let array = file.array("/").unwrap();
        assert_eq!(array.read::<i16>().unwrap(), [1, 2, 3, -4]);
        let slab = Slab::new(&[2, 2], [Range::all(2), Range::new(1, 1)]).unwrap();
        assert_eq!(array.read_slab::<i16>(&slab).unwrap(), [2, -4]);

        // Column after column: 1 3 5, 2 4 6.
        let file = open(bytes("'|u1'", "True", "(3, 2)", &[1, 3, 5, 2, 4, 6])).unwrap();
        let array = file.array("/").unwrap();
        assert_eq!(array.read::<u8>().unwrap(), [1, 2, 3, 4, 5, 6]);
        let slab = Slab::new(&[3, 2], [Range::new(0, 2).by(2), Range::new(1, 1)]).unwrap();
        assert_eq!(array.read_slab::<u8>(&slab).unwrap(), [2, 6]);

        let file = open(bytes("'>U2'", "False", "(2,)", b"\0\0\0a\0\0\0\xb5\0\0\0b\0\0\0\0")).unwrap();
        assert_eq!(file.array("/").unwrap().read::<String>().unwrap(), ["aµ", "b"]);
        let file = open(bytes("'|S3'", "False", "()", b"ab\0")).unwrap();
        assert_eq!(file.array("/").unwrap().read::<String>().unwrap(), ["ab"]);
    }

    #[test]
    fn units_of_times_are_told() {
        for (descr, told) in [
            ("'<M8[ns]'", Some("'<M8[ns]'")),
            ("'>m8'", Some("'>m8'")),
            ("[('t', '<M8[25s]')]", Some("[('t', '<M8[25s]')]")),
            ("'<i8'", None),
        ] {
            let file = open(bytes(descr, "False", "()", &[0, 0, 0, 0, 0, 0, 0, 1])).unwrap();
            let array = file.array("/").unwrap();
            let fact = array.info().facts.iter().find(|(name, _)| *name == "dtype");
            assert_eq!(fact.map(|(_, value)| value.to_string()).as_deref(), told, "{descr}");
        }
    }

    #[test]
    fn compounds_without_their_padding() {
        let descr = "[('a', '|u1'), ('', '|V3'), (('title', 'b'), '>f4', (2,))]";
        let data = [7, 9, 9, 9, 0x3F, 0x80, 0, 0, 0x40, 0, 0, 0];
        let file = open(bytes(descr, "False", "(1,)", &data)).unwrap();
        let array = file.array("/").unwrap();
        assert_eq!(array.element().to_string(), "{a: uint8, b: float32[2]}");
        let canonical = array.bytes(&array.all().unwrap()).unwrap();
        assert_eq!(canonical, [7, 0, 0, 0x80, 0x3F, 0, 0, 0, 0x40]);
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (file, message) in [
            (
                bytes("'<i4'", "False", "(2,)", &[0; 7]),
                "malformed file at offset 0x4b: it is cut short: 75 of 76 bytes",
            ),
            (bytes("'|O8'", "False", "()", &[0; 8]), "an array of Python objects is not supported"),
            (
                bytes("'<x4'", "False", "()", &[0; 8]),
                "malformed header at offset 0xa: header has a descr that is not a type",
            ),
            (
                bytes("'<i4'", "7", "()", &[0; 8]),
                "malformed header at offset 0xa: header lacks the key fortran_order, or its value is neither True nor False",
            ),
            (
                bytes("'<i4'", "False", "(9999999999, 9999999999)", &[]),
                "malformed array at offset 0x58: elements is truncated",
            ),
            (b"\x93NUMPY\x04\0aaaa".to_vec(), "version 4.0 of the npy format is not supported"),
            (
                b"\x93NUMPY\x01\0\xff".to_vec(),
                "malformed header at offset 0x8: length of the header is truncated",
            ),
        ] {
            assert_eq!(open(file).unwrap_err().to_string(), message);
        }
        assert_eq!(
            open(bytes("'|V0'", "False", "(3,)", &[])).unwrap().array("/").unwrap().element(),
            &ElementType::Opaque(0)
        );
    }
}
