//! NumPy's `.npy`: one array at `/`.

use std::ops::ControlFlow;

use sciformats_core::{Error, Fault, FaultKind, Limits, Range, Slab};

use crate::file::Storage;
use crate::model::{ArrayInfo, Name, Object, ObjectId, Target, Value};
use crate::npy::{Header, Scalar, Stored};
use crate::options::OpenOptions;
use crate::source::{Fact, Finding, Members, Source, Structure};
use crate::{Format, Result};

struct Adapter {
    storage: Storage,
    header: Header,
    limits: Limits,
}

pub(super) fn open(storage: Storage, options: &OpenOptions) -> Result<Box<dyn Source>> {
    let header = Header::read(&*storage)?;
    Ok(Box::new(Adapter { storage, header, limits: options.limits }))
}

impl Adapter {
    fn data_size(&self) -> u64 {
        let count = sciformats_core::slab::elements(&self.header.shape).unwrap_or(0);
        self.header.stored.size().unwrap_or(0).saturating_mul(count)
    }

    /// The distance from one index to the next, per dimension, in elements.
    fn strides(&self) -> Vec<u64> {
        let mut strides = vec![1u64; self.header.shape.len()];
        let mut next = 1u64;
        let step = |(stride, length): (&mut u64, &u64)| {
            *stride = next;
            next = next.saturating_mul(*length);
        };
        let pairs = strides.iter_mut().zip(&self.header.shape);
        if self.header.fortran {
            pairs.for_each(step);
        } else {
            pairs.rev().for_each(step);
        }
        strides
    }

    /// Appends the elements at `positions`, which count from the first one of `bytes`, whose offset is `at`.
    fn gather(
        &self,
        (bytes, at): (&[u8], u64),
        positions: impl Iterator<Item = u64>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let size = self.header.stored.size().unwrap_or(0);
        for position in positions {
            let start = position.saturating_mul(size);
            let mut one =
                usize::try_from(start).ok().and_then(|start| bytes.get(start..)).unwrap_or_default();
            self.header.stored.append(&mut one, at.saturating_add(start), out)?;
        }
        Ok(())
    }

    /// Appends the selected elements of an array whose first index varies fastest.
    fn read_fortran(&self, slab: &Slab, size: u64, out: &mut Vec<u8>) -> Result<()> {
        let strides = self.strides();
        let ranges = slab.ranges();
        let place = |index: &dyn Fn(&Range) -> u64| {
            let terms =
                ranges.iter().zip(&strides).map(|(range, stride)| index(range).saturating_mul(*stride));
            terms.fold(0u64, u64::saturating_add)
        };
        let first = place(&|range| range.start);
        let last = place(&|range| {
            range.count.saturating_sub(1).saturating_mul(range.step).saturating_add(range.start)
        });
        let len = last.saturating_sub(first).saturating_add(1).saturating_mul(size);
        let len = self.limits.memory("bytes that the selected elements span", len)?;
        let at = self.header.data.saturating_add(first.saturating_mul(size));
        let bytes = self.storage.read_at(at, len)?;
        let shape = slab.shape();
        let positions = (0..slab.len()).map(|mut rest| {
            let mut position = 0u64;
            for ((range, stride), count) in ranges.iter().zip(&strides).zip(&shape).rev() {
                let index = rest.checked_rem(*count).unwrap_or(0).saturating_mul(range.step);
                position = position.saturating_add(index.saturating_mul(*stride));
                rest = rest.checked_div(*count).unwrap_or(0);
            }
            position
        });
        self.gather((&bytes, at), positions, out)
    }
}

impl Source for Adapter {
    fn format(&self) -> Format {
        Format::Npy
    }

    fn facts(&self) -> Vec<Fact> {
        let (major, minor) = self.header.version;
        let order = if self.header.fortran { "Fortran" } else { "C" };
        vec![("version", format!("{major}.{minor}").into()), ("order", order.into())]
    }

    fn root(&self) -> ObjectId {
        ObjectId(0)
    }

    fn object(&self, _: ObjectId) -> Result<Object> {
        let mut info = ArrayInfo::new(self.header.stored.element(), self.header.shape.clone());
        info.stored = Some(self.data_size());
        info.facts = vec![("offset", self.header.data.into())];
        Ok(Object::Array(Box::new(info)))
    }

    fn members(&self, _: ObjectId) -> Result<Members<'_>> {
        Ok(Box::new(std::iter::empty()))
    }

    fn member(&self, _: ObjectId, _: &Name) -> Result<Option<Target>> {
        Ok(None)
    }

    fn read(&self, _: ObjectId, slab: &Slab, out: &mut Vec<u8>) -> Result<()> {
        if slab.of() != self.header.shape {
            return Err(Error::usage("selection", "is of another shape than the array"));
        }
        let size = self.header.stored.size().unwrap_or(0);
        let wide = || Error::usage("selection", "has more than 2^64 bytes");
        self.limits
            .memory("bytes of the selected elements", slab.len().checked_mul(size).ok_or_else(wide)?)?;
        if slab.is_empty() {
            return Ok(());
        }
        if !self.header.fortran {
            for run in slab.runs() {
                let last = run.len.saturating_sub(1).saturating_mul(run.step);
                let len = last.saturating_add(1).saturating_mul(size);
                let len = self.limits.memory("bytes of the selected elements", len)?;
                let at = self.header.data.saturating_add(run.from.saturating_mul(size));
                let bytes = self.storage.read_at(at, len)?;
                if run.step == 1 && self.header.stored.is_canonical() {
                    out.extend_from_slice(&bytes);
                } else {
                    self.gather((&bytes, at), (0..run.len).map(|i| i.saturating_mul(run.step)), out)?;
                }
            }
            return Ok(());
        }
        self.read_fortran(slab, size, out)
    }

    fn may_be_shared(&self, _: ObjectId) -> bool {
        false
    }

    fn check(&self, visit: &mut dyn FnMut(Finding)) {
        let end = self.header.data.saturating_add(self.data_size());
        let left = self.storage.len().saturating_sub(end);
        if left > 0 {
            let fault = Fault::new("elements", FaultKind::Leftover { bytes: left });
            visit(Finding { path: None, error: fault.at("array", end) });
        }
    }

    fn structures(&self, visit: &mut dyn FnMut(Structure) -> ControlFlow<()>) -> Result<()> {
        let structure = |name: &'static str, offset, size, fields: Vec<(&'static str, Value)>| {
            let fields = fields.into_iter().map(|(key, value)| (key.into(), value)).collect();
            Structure { name: name.into(), offset, size, depth: 0, fields }
        };
        let shape = Value::List(self.header.shape.iter().map(|&n| n.into()).collect());
        let kind = match &self.header.stored {
            Stored::Scalar(Scalar::Number(element, swapped)) => {
                let order = if swapped.is_some() { ", big-endian" } else { "" };
                format!("{element}{order}")
            }
            other => other.element().to_string(),
        };
        let header = vec![
            ("version", format!("{}.{}", self.header.version.0, self.header.version.1).into()),
            ("descr", kind.into()),
            ("fortran_order", self.header.fortran.into()),
            ("shape", shape),
        ];
        let parts = [
            structure("header", 0, self.header.data, header),
            structure("array", self.header.data, self.data_size(), Vec::new()),
        ];
        // The caller has seen enough if it breaks; there is nothing to clean up.
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
    fn compounds_without_their_padding() {
        let descr = "[('a', '|u1'), ('', '|V3'), (('title', 'b'), '>f4', (2,))]";
        let data = [7, 9, 9, 9, 0x3F, 0x80, 0, 0, 0x40, 0, 0, 0];
        let file = open(bytes(descr, "False", "(1,)", &data)).unwrap();
        let array = file.array("/").unwrap();
        assert_eq!(array.element().to_string(), "{a: u1, b: f4[2]}");
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
                "malformed header at offset 0xa: header has a descr that is no type",
            ),
            (
                bytes("'<i4'", "7", "()", &[0; 8]),
                "malformed header at offset 0xa: header does not say the order of the elements",
            ),
            (
                bytes("'<i4'", "False", "(9999999999, 9999999999)", &[]),
                "malformed array at offset 0x58: elements is truncated",
            ),
            (b"\x93NUMPY\x04\0aaaa".to_vec(), "version 4.0 of the npy format is not supported"),
            (
                b"\x93NUMPY\x01\0\xff".to_vec(),
                "malformed header at offset 0x9: length of the header is truncated",
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
