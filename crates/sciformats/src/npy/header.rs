//! The header as it is read.

use sciformats_core::{Error, Fault, FaultKind, ReadAt};

use super::MAGIC;
use super::literal::{self, Literal};
use super::types::{Stored, dimensions};
use crate::Result;

/// What a file says of its array.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    /// The version of the format.
    pub(crate) version: (u8, u8),
    pub(crate) stored: Stored,
    /// Whether the first index varies fastest.
    pub(crate) fortran: bool,
    pub(crate) shape: Vec<u64>,
    /// Where the elements begin.
    pub(crate) data: u64,
}

impl Header {
    /// Reads the header of a file, all of whose elements are there.
    pub(crate) fn read(storage: &dyn ReadAt) -> Result<Self> {
        Self::parsed(storage)?.check(storage)
    }

    /// Reads the header of a file, whatever follows it.
    pub(crate) fn parsed(storage: &dyn ReadAt) -> Result<Self> {
        let fault = |field, offset, kind| Fault::new(field, kind).at("header", offset);
        let truncated = |field| fault(field, storage.len(), FaultKind::Truncated);
        let take = |offset: u64, len: usize, field: &'static str| {
            let end = offset.checked_add(len as u64).filter(|&end| end <= storage.len());
            end.map_or_else(|| Err(truncated(field)), |_| storage.read_at(offset, len))
        };
        if *take(0, 6, "magic")? != MAGIC[..] {
            return Err(fault("magic", 0, FaultKind::Rule("is not that of an npy file")));
        }
        let version = take(6, 2, "version")?;
        let version = (version.first().copied().unwrap_or(0), version.get(1).copied().unwrap_or(0));
        let width = match version {
            (1, 0) => 2,
            (2 | 3, 0) => 4,
            (major, minor) => {
                return Err(Error::unsupported(format!("version {major}.{minor} of the npy format")));
            }
        };
        let length = take(8, width, "length of the header")?;
        let length = length.iter().rev().fold(0u64, |length, &byte| (length << 8) | u64::from(byte));
        let start = 8u64.saturating_add(width as u64);
        let bytes = take(start, usize::try_from(length).unwrap_or(usize::MAX), "header")?;
        // Version 1 and 2 are Latin-1; what they hold is nearly always ASCII.
        let text = match std::str::from_utf8(&bytes) {
            Ok(text) if version.0 == 3 || text.is_ascii() => text.to_owned(),
            Err(_) if version.0 == 3 => return Err(fault("header", start, FaultKind::Encoding)),
            _ => bytes.iter().map(|&byte| char::from(byte)).collect(),
        };
        let wrong = |rule| fault("header", start, FaultKind::Rule(rule));
        let Some(Literal::Dictionary(pairs)) = literal::parse(&text) else {
            return Err(wrong("is no Python dictionary"));
        };
        let value = |key: &str| {
            pairs.iter().find(|(name, _)| *name == Literal::Text(key.into())).map(|(_, value)| value)
        };
        let descr = value("descr").ok_or_else(|| wrong("has no descr"))?;
        let stored = Stored::parse(descr)?.ok_or_else(|| wrong("has a descr that is no type"))?;
        let Some(Literal::Bool(fortran)) = value("fortran_order") else {
            return Err(wrong("does not say the order of the elements"));
        };
        let shape = value("shape").and_then(dimensions).ok_or_else(|| wrong("has no shape"))?;
        Ok(Self { version, stored, fortran: *fortran, shape, data: start.saturating_add(length) })
    }

    /// Where the elements end.
    pub(crate) fn end(&self) -> Option<u64> {
        let count = sciformats_core::slab::elements(&self.shape)?;
        self.data.checked_add(count.checked_mul(self.stored.size()?)?)
    }

    fn check(self, storage: &dyn ReadAt) -> Result<Self> {
        let end = self.end();
        if end.is_none_or(|end| end > storage.len()) {
            return Err(Fault::new("elements", FaultKind::Truncated).at("array", storage.len()));
        }
        Ok(self)
    }
}
