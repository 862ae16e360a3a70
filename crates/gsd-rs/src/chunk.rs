//! A chunk of a frame, as the index describes it.

use std::ops::Range;

use sciformats_core::arith::{add, mul, sub};
use sciformats_core::{Error, Fault, FaultKind, Result, bound, limits};

use crate::ElementType;
use crate::model::open::Opened;
use crate::spec::IndexEntry;

/// An N×M array in a frame: its name, type, shape and position. Its data is read through the [`Reader`](crate::Reader) that
/// returned it.
///
/// ```
/// use gsd_rs::{ElementType, Reader};
///
/// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
/// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
/// writer.write("position", 3, &[0.5f32; 30])?;
/// writer.end_frame()?;
/// # let reader = Reader::from_bytes(writer.into_bytes()?)?;
/// for chunk in reader.chunks(0) {
///     let chunk = chunk?;
///     assert_eq!((chunk.name, chunk.element, chunk.n, chunk.m), ("position", ElementType::F32, 10, 3));
///     assert_eq!((chunk.elements(), chunk.size()), (Some(30), Some(120)));
/// }
/// # Ok::<(), gsd_rs::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// The frame that it belongs to.
    pub frame: u64,
    /// Its name.
    pub name: &'a str,
    /// The position of the name in the name list.
    pub id: u16,
    /// The type of its elements.
    pub element: ElementType,
    /// The number of rows.
    pub n: u64,
    /// The number of columns. The column varies fastest.
    pub m: u32,
    /// The byte offset of its data.
    pub location: u64,
    /// The byte offset of its index entry.
    pub(crate) entry: u64,
}

impl<'a> Chunk<'a> {
    /// Returns what the entry at a position of the index describes.
    pub(crate) fn new(opened: &'a Opened, position: u64, entry: &IndexEntry) -> Result<Self> {
        let at = opened.index.offset(position)?;
        let fault =
            |field, kind, offset: u64| Fault::new(field, kind).at("index entry", bound::sum(at, offset));
        let location = u64::try_from(entry.location).ok().filter(|&location| location > 0);
        let location = location.ok_or_else(|| {
            fault("location", FaultKind::Rule("is not positive"), IndexEntry::LOCATION_OFFSET)
        })?;
        let names = &opened.names;
        let name = names.get(entry.id).ok_or_else(|| {
            let kind = FaultKind::OutOfBounds { found: entry.id.into(), end: names.len() as u64 };
            fault("id", kind, IndexEntry::ID_OFFSET)
        })?;
        let name = std::str::from_utf8(name).map_err(|_| {
            Fault::new("name", FaultKind::Encoding).at("name list", names.offset(entry.id.into()))
        })?;
        let IndexEntry { frame, n, m, id, element, .. } = *entry;
        Ok(Self { frame, name, id, element, n, m, location, entry: at })
    }

    /// Returns the number of elements, or `None` if it does not fit 64 bits, which only happens in damaged files.
    pub fn elements(&self) -> Option<u64> {
        self.n.checked_mul(self.m.into())
    }

    /// Returns the size of the data in bytes, or `None` if the type is unknown or the size does not fit 64 bits.
    pub fn size(&self) -> Option<u64> {
        self.elements()?.checked_mul(self.element.size()? as u64)
    }

    /// Returns the position of the bytes of `rows` in a file of `file_size` bytes, which must contain these rows. Others may
    /// be missing from a file that was cut short.
    pub(crate) fn range(&self, rows: &Range<u64>, file_size: u64) -> Result<Range<u64>> {
        let fault = |field, kind, offset: u64| {
            Fault::new(field, kind).at("index entry", bound::sum(self.entry, offset))
        };
        let Some(element_size) = self.element.size() else {
            let what = format!("element type {}", self.element.code());
            return Err(Error::unsupported_at(what, bound::sum(self.entry, IndexEntry::TYPE_OFFSET)));
        };
        let size = self.size().ok_or_else(|| fault("N × M", FaultKind::Overflow, 8))?;
        let end = self
            .location
            .checked_add(size)
            .ok_or_else(|| fault("end of the data", FaultKind::Overflow, IndexEntry::LOCATION_OFFSET))?;
        if rows.start > rows.end || rows.end > self.n {
            let problem = format!(
                "{}..{} are out of range: there are {} rows in {:?}",
                rows.start, rows.end, self.n, self.name
            );
            return Err(Error::usage("rows", problem));
        }
        // The rows are inside the chunk, whose size was checked.
        let row = mul(u64::from(self.m), element_size as u64)?;
        let at = |row_index: u64| add(self.location, mul(row_index, row)?);
        let range = at(rows.start)?..at(rows.end)?;
        if range.end > file_size {
            let kind = FaultKind::OutOfBounds { found: end, end: file_size };
            return Err(fault("end of the data", kind, IndexEntry::LOCATION_OFFSET));
        }
        Ok(range)
    }
}

/// Returns the size of a range of bytes inside the file.
pub(crate) fn size_of_range(range: &Range<u64>) -> Result<usize> {
    limits::within("bytes of a chunk", sub(range.end, range.start)?, u64::MAX)
}
