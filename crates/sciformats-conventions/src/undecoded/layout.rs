//! Where the fields of records are, and how they are read side by side: a piece of the records that stays in the
//! cache of a processor is read, the bytes of the requested fields are copied out of it, and the next piece takes
//! its place. Of long records, only the parts with these fields are read.

use sciformats::{ElementType, Error, Range, Result, Slab};
use sciformats_core::storage::Buffer;

use super::{TextPadding, Undecoded};
use crate::decoding::Decoding;
use crate::table::Records;

/// Where the fields of records are in the bytes of a record.
#[derive(Debug)]
pub(crate) struct Layout {
    /// The size of a record in bytes.
    pub(super) row: usize,
    /// The number of records that are stored together.
    pub(super) chunk: Option<u64>,
    /// The fields in order; `None` for those whose bytes have to be converted first.
    pub(super) fields: Vec<Option<Place>>,
    pub(super) origin: Origin,
}

/// A field, or one element of a field with several elements.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(super) offset: usize,
    pub(super) size: usize,
    pub(super) form: Form,
}

#[derive(Clone, Debug)]
#[cfg_attr(
    not(feature = "hdf5"),
    allow(dead_code, reason = "only HDF5 stores fields in other bytes than canonical ones")
)]
pub(super) enum Form {
    /// The bytes are canonical ones.
    Canonical(ElementType),
    /// The bytes are canonical ones in reverse, element by element: the size of an element.
    Reversed(ElementType, usize),
    Text(TextPadding),
    /// Several texts, of which one is read: their padding, and the size of each.
    Texts(TextPadding, usize),
}

/// Where records are read.
pub(super) enum Origin {
    /// As canonical bytes.
    Canonical,
    /// As they are stored in an HDF5 file.
    #[cfg(feature = "hdf5")]
    Hdf5(Box<sciformats::hdf5_pure::Dataset>),
}

impl std::fmt::Debug for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Origin")
    }
}

/// The size of the pieces in which records are read.
const PIECE: u64 = 1 << 18;

/// The size of the parts of a piece that are divided into fields one after another: the nearest cache of a processor holds one.
const NEAR: usize = 1 << 14;

/// Bytes between two fields are read with them if there are at most so many: to copy them takes less time than another call.
const NEAR_FIELDS: usize = 4 << 10;

pub(super) fn place(number: u64) -> Option<usize> {
    usize::try_from(number).ok()
}

impl Layout {
    /// Returns the layout of records; `None` if they differ in size and have to be converted as a whole.
    pub(crate) fn of(records: &Records) -> Option<Self> {
        #[cfg(feature = "hdf5")]
        if let Some(layout) = super::hdf5::layout(records) {
            return Some(layout);
        }
        let row = records.element().size().filter(|&row| row > 0)?;
        let mut offset = 0u64;
        let mut fields = Vec::new();
        for (_, field) in records.fields() {
            let size = field.size()?;
            fields.push(Some(Place {
                offset: place(offset)?,
                size: place(size)?,
                form: Form::Canonical(field.clone()),
            }));
            offset = offset.checked_add(size)?;
        }
        Some(Self { row: place(row)?, chunk: None, fields, origin: Origin::Canonical })
    }

    /// Returns the place of a field, or of one element of it.
    pub(crate) fn place(&self, field: usize, inner: Option<u64>) -> Option<Place> {
        let found = self.fields.get(field)?.clone()?;
        if let Form::Texts(padding, size) = found.form {
            let start = place(inner?)?.checked_mul(size)?;
            let fits = start.checked_add(size)? <= found.size;
            let offset = found.offset.checked_add(start)?;
            return fits.then_some(Place { offset, size, form: Form::Text(padding) });
        }
        let Some(inner) = inner else { return Some(found) };
        let (element, reversed) = match &found.form {
            Form::Canonical(ElementType::Array { element, .. }) => (element, None),
            Form::Reversed(ElementType::Array { element, .. }, width) => (element, Some(*width)),
            // A field that is not an array has only itself.
            _ => return (inner == 0).then_some(found),
        };
        let size = element.size()?;
        let offset = place(inner.checked_mul(size)?)?.checked_add(found.offset)?;
        let end = found.offset.checked_add(found.size)?;
        let size = place(size)?;
        let form = match reversed {
            None => Form::Canonical((**element).clone()),
            Some(width) => Form::Reversed((**element).clone(), width),
        };
        (offset.checked_add(size)? <= end).then_some(Place { offset, size, form })
    }

    /// Reads the bytes of some fields of `count` records.
    pub(crate) fn read(
        &self,
        records: &Records,
        places: &[Place],
        (first, count): (u64, u64),
    ) -> Result<Vec<Vec<u8>>> {
        let file = records.node().file();
        let rows = place(count).ok_or_else(too_many)?;
        let mut wanted = 0u64;
        let mut columns = Vec::new();
        for of in places {
            let size = rows.checked_mul(of.size).ok_or_else(too_many)?;
            wanted = wanted.checked_add(size as u64).ok_or_else(too_many)?;
            file.limits().memory("bytes of the columns to read", wanted)?;
            columns.push(sciformats_core::storage::zeroed::<u8>(size)?);
        }
        let mut left: Vec<&mut [u8]> = columns.iter_mut().map(Vec::as_mut_slice).collect();
        match self.groups(places) {
            Some(groups) => self.apart(records, places, &groups, (first, count), &mut left)?,
            None => self.together(records, places, (first, count), &mut left)?,
        }
        for (of, column) in places.iter().zip(&mut columns) {
            if let Form::Reversed(_, width) = of.form {
                column.chunks_exact_mut(width.max(1)).for_each(<[u8]>::reverse);
            }
        }
        Ok(columns)
    }

    /// Reads the bytes of some fields from whole records.
    fn together(
        &self,
        records: &Records,
        places: &[Place],
        (first, count): (u64, u64),
        left: &mut [&mut [u8]],
    ) -> Result<()> {
        let mut raw = Buffer::default();
        let near = (NEAR / self.row.max(1)).max(1).saturating_mul(self.row.max(1)); // a bound
        let mut at = first;
        let end = first.checked_add(count).ok_or_else(too_many)?;
        while at < end {
            let next = self.step(at).min(end);
            let slab = Slab::new(&[records.rows()], [Range::new(at, next - at)])?;
            self.fill(records, &slab, &mut raw)?;
            for part in raw.chunks(near) {
                for (of, left) in places.iter().zip(left.iter_mut()) {
                    pick(part, self.row, (of.offset, of.size), left)?;
                }
            }
            at = next;
        }
        Ok(())
    }

    /// Returns whether parts of records can be read alone, and whether records are so long that this is worth it.
    fn reads_parts(&self) -> bool {
        match &self.origin {
            Origin::Canonical => false,
            #[cfg(feature = "hdf5")]
            Origin::Hdf5(dataset) => self.row > NEAR_FIELDS && dataset.has_separate_parts(),
        }
    }

    /// Returns the parts of a record that have to be read for some fields: fields that are close together are in one part.
    /// `None` if records are read as a whole, because they are stored in such a way, or because hardly anything is
    /// between the parts.
    fn groups(&self, places: &[Place]) -> Option<Vec<Group>> {
        if !self.reads_parts() {
            return None;
        }
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by_key(|&at| places.get(at).map(|of| of.offset));
        let mut groups: Vec<Group> = Vec::new();
        for at in order {
            let of = places.get(at)?;
            let end = of.offset.checked_add(of.size)?;
            let near = |group: &&mut Group| of.offset <= group.end.saturating_add(NEAR_FIELDS); // a bound
            match groups.last_mut().filter(near) {
                Some(group) => {
                    group.end = group.end.max(end);
                    group.places.push(at);
                }
                None => groups.push(Group { start: of.offset, end, places: vec![at] }),
            }
        }
        let whole = |group: &Group| group.end.saturating_sub(group.start).saturating_add(NEAR_FIELDS); // a bound
        let apart = groups.len() > 1 || groups.first().is_some_and(|group| whole(group) < self.row);
        apart.then_some(groups)
    }

    /// Reads the canonical bytes of a field without the rest of the records; `None` if records are read as a whole.
    pub(crate) fn alone(&self, records: &Records, field: usize, slab: &Slab) -> Option<Result<Vec<u8>>> {
        match &self.origin {
            #[cfg(feature = "hdf5")]
            Origin::Hdf5(dataset) if self.reads_parts() => {
                let read = dataset.read_member_canonical(field, slab);
                if let Ok(bytes) = &read {
                    records.node().file().count_read(bytes.len() as u64);
                }
                Some(read)
            }
            _ => {
                let _ = (records, field, slab);
                None
            }
        }
    }

    /// Reads the bytes of some fields without those between them.
    fn apart(
        &self,
        records: &Records,
        places: &[Place],
        groups: &[Group],
        (first, count): (u64, u64),
        left: &mut [&mut [u8]],
    ) -> Result<()> {
        let end = first.checked_add(count).ok_or_else(too_many)?;
        let width = groups.iter().map(|group| group.end.saturating_sub(group.start)).max(); // a bound
        let step = (PIECE / (width.unwrap_or_default() as u64).max(1)).max(1);
        let mut raw = Buffer::default();
        let mut at = first;
        while at < end {
            let next = at.saturating_add(step).min(end); // a bound
            let slab = Slab::new(&[records.rows()], [Range::new(at, next - at)])?;
            for group in groups {
                let size = group.end.saturating_sub(group.start); // a bound
                self.fill_part(records, &slab, group.start..group.end, &mut raw)?;
                for &at in &group.places {
                    if let (Some(of), Some(left)) = (places.get(at), left.get_mut(at)) {
                        pick(&raw, size, (of.offset.saturating_sub(group.start), of.size), left)?; // a bound
                    }
                }
            }
            at = next;
        }
        Ok(())
    }

    /// Returns the end of the piece that begins at a row: pieces end where chunks end.
    fn step(&self, at: u64) -> u64 {
        let rows = (PIECE / (self.row as u64).max(1)).max(1);
        match self.chunk {
            None => at.saturating_add(rows), // a bound
            Some(chunk) => {
                let chunk = chunk.max(1);
                let rows = (rows / chunk).max(1).saturating_mul(chunk); // a bound
                (at / chunk).saturating_mul(chunk).saturating_add(rows) // a bound
            }
        }
    }

    /// Reads a part of some records.
    fn fill_part(
        &self,
        records: &Records,
        slab: &Slab,
        part: std::ops::Range<usize>,
        raw: &mut Vec<u8>,
    ) -> Result<()> {
        match &self.origin {
            #[cfg(feature = "hdf5")]
            Origin::Hdf5(dataset) => {
                let file = records.node().file();
                let size = place(slab.len()).and_then(|rows| rows.checked_mul(part.len()));
                let size = size.ok_or_else(too_many)?;
                file.limits().memory("bytes of the selected elements", size as u64)?;
                raw.resize(size, 0);
                dataset.read_raw_part_into(slab, &part, raw)?;
                file.count_read(size as u64);
                Ok(())
            }
            Origin::Canonical => {
                let _ = (records, slab, part, raw);
                Err(Error::internal("parts of records that are not stored as they are"))
            }
        }
    }

    fn fill(&self, records: &Records, slab: &Slab, raw: &mut Vec<u8>) -> Result<()> {
        let node = records.node();
        match &self.origin {
            Origin::Canonical => {
                raw.clear();
                node.file().read(node.id(), slab, raw)
            }
            #[cfg(feature = "hdf5")]
            Origin::Hdf5(dataset) => {
                let size =
                    place(slab.len()).and_then(|rows| rows.checked_mul(self.row)).ok_or_else(too_many)?;
                node.file().limits().memory("bytes of the selected elements", size as u64)?;
                raw.resize(size, 0);
                dataset.read_raw_into(slab, raw)?;
                node.file().count_read(size as u64);
                Ok(())
            }
        }
    }
}

/// A part of a record that is read alone, and the fields in it.
struct Group {
    start: usize,
    end: usize,
    places: Vec<usize>,
}

fn too_many() -> Error {
    Error::usage("rows", "are too many for this machine")
}

impl Place {
    /// Returns the elements of a column from their bytes.
    pub(crate) fn undecoded(&self, bytes: Vec<u8>, decoding: Decoding) -> Undecoded {
        match &self.form {
            Form::Canonical(element) | Form::Reversed(element, _) => {
                Undecoded::Stored { element: element.clone(), bytes, decoding, missing: None }
            }
            Form::Text(padding) | Form::Texts(padding, _) => {
                Undecoded::Padded { size: self.size, padding: *padding, bytes, decoding }
            }
        }
    }
}

/// Copies a field of all records to the beginning of `left`, of which the rest remains.
fn pick(raw: &[u8], row: usize, (offset, size): (usize, usize), left: &mut &mut [u8]) -> Result<()> {
    let rows = raw.len().checked_div(row).unwrap_or_default();
    let room = rows.checked_mul(size).ok_or_else(too_many)?;
    let (into, rest) = std::mem::take(left)
        .split_at_mut_checked(room)
        .ok_or_else(|| Error::usage("canonical bytes", "are not those of the records"))?;
    *left = rest;
    // If the size is known to the compiler, a copy is one instruction.
    match size {
        1 => parts::<1>(raw, row, offset, into),
        2 => parts::<2>(raw, row, offset, into),
        4 => parts::<4>(raw, row, offset, into),
        8 => parts::<8>(raw, row, offset, into),
        16 => parts::<16>(raw, row, offset, into),
        size => {
            for (record, out) in raw.chunks_exact(row.max(1)).zip(into.chunks_exact_mut(size.max(1))) {
                if let Some(part) = record.get(offset..).and_then(|rest| rest.get(..size)) {
                    out.copy_from_slice(part);
                }
            }
        }
    }
    Ok(())
}

fn parts<const N: usize>(raw: &[u8], row: usize, offset: usize, into: &mut [u8]) {
    let (into, _) = into.as_chunks_mut::<N>();
    for (record, out) in raw.chunks_exact(row.max(1)).zip(into) {
        if let Some(part) = record.get(offset..).and_then(<[u8]>::first_chunk::<N>) {
            *out = *part;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_any_size_are_picked() {
        let raw = [1u8, 2, 3, 4, 5, 6, 7, 8, 9, 10];
        let mut out = [0; 6];
        let mut left = out.as_mut_slice();
        pick(&raw, 5, (1, 3), &mut left).unwrap();
        assert!(left.is_empty());
        assert_eq!(out, [2, 3, 4, 7, 8, 9]);
        let mut out = [0; 2];
        pick(&raw, 5, (4, 1), &mut out.as_mut_slice()).unwrap();
        assert_eq!(out, [5, 10]);
        assert!(pick(&raw, 5, (0, 2), &mut [0; 3].as_mut_slice()).is_err());
    }
}
