//! Columns of a table as elements that are not decoded yet, for libraries that decode them into memory of their
//! own.
//!
//! Fields of records are read side by side: a piece of the records that stays in the cache of a processor is
//! read, the bytes of the requested fields are copied out of it, and the next piece takes its place.

use std::sync::Arc;

use sciformats::{ElementType, Error, Range, Result, Slab};
use sciformats_core::storage::Buffer;

use crate::decoding::Decoding;
use crate::table::Records;
use crate::values::Values;

/// The elements of a column in some rows, before they are decoded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Undecoded {
    /// Elements in canonical bytes, and how they become values.
    Stored {
        /// The type of the elements.
        element: ElementType,
        /// The canonical bytes of all elements.
        bytes: Vec<u8>,
        /// How they become values.
        decoding: Decoding,
        /// For each element whether it is missing; `None` if no element is marked.
        missing: Option<Vec<bool>>,
    },
    /// Texts with the same number of bytes each, which are padded.
    Padded {
        /// The number of bytes of each text.
        size: usize,
        /// How texts are padded.
        padding: TextPadding,
        /// The bytes of all texts.
        bytes: Vec<u8>,
        /// How they become values.
        decoding: Decoding,
    },
    /// Values that are decoded already.
    Decoded(Values),
    /// Values of which each can be that of any number of rows.
    Spread {
        /// The values.
        of: Box<Undecoded>,
        /// For each row the place of its value.
        places: Vec<usize>,
    },
}

impl Undecoded {
    /// Returns the decoded values.
    pub(crate) fn values(self) -> Result<Values> {
        match self {
            Self::Stored { element, bytes, decoding, missing } => {
                let values = decoding.decode(&element, bytes)?;
                missing.map_or(Ok(values.clone()), |missing| values.without(&missing))
            }
            Self::Padded { size, padding, bytes, decoding } => {
                let mut texts = Vec::new();
                for text in bytes.chunks_exact(size.max(1)) {
                    // The bytes need not be UTF-8.
                    let text = padding.without(text);
                    texts.extend((text.len() as u64).to_le_bytes());
                    texts.extend(text);
                }
                decoding.decode(&ElementType::Text, texts)
            }
            Self::Decoded(values) => Ok(values),
            Self::Spread { of, places } => of.values()?.at(&places),
        }
    }

    /// Appends the elements of the same column in the rows that follow.
    pub(crate) fn followed_by(self, next: Self) -> Result<Self> {
        Ok(match (self, next) {
            (
                Self::Stored { element, mut bytes, decoding, missing: None },
                Self::Stored { bytes: more, missing: None, .. },
            ) => {
                bytes.extend(more);
                Self::Stored { element, bytes, decoding, missing: None }
            }
            (Self::Decoded(values), Self::Decoded(more)) => Self::Decoded(values.followed_by(more)?),
            _ => return Err(Error::internal("parts of a column in different forms")),
        })
    }
}

/// What stands after a text that is shorter than its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextPadding {
    /// The text ends before the first zero.
    Terminated,
    /// Zeros at the end.
    Zeros,
    /// Spaces at the end.
    Spaces,
}

impl TextPadding {
    /// Returns a text without its padding.
    ///
    /// ```
    /// use sciformats_conventions::TextPadding;
    ///
    /// assert_eq!(TextPadding::Terminated.without(b"ab\0c"), b"ab");
    /// assert_eq!(TextPadding::Zeros.without(b"a\0b\0\0"), b"a\0b");
    /// assert_eq!(TextPadding::Spaces.without(b"a b  "), b"a b");
    /// ```
    pub fn without(self, bytes: &[u8]) -> &[u8] {
        let end = match self {
            Self::Terminated => bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len()),
            Self::Zeros => bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1),
            Self::Spaces => bytes.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1),
        };
        bytes.get(..end).unwrap_or_default()
    }
}

/// Where the fields of records are in the bytes of a record.
#[derive(Debug)]
pub(crate) struct Layout {
    /// The size of a record in bytes.
    row: usize,
    /// The number of records that are stored together.
    chunk: Option<u64>,
    /// The fields in order; `None` for those whose bytes have to be converted first.
    fields: Vec<Option<Place>>,
    origin: Origin,
}

/// A field, or one element of a field with several elements.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    offset: usize,
    size: usize,
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    /// The bytes are canonical ones.
    Canonical(ElementType),
    /// The bytes are canonical ones in reverse, element by element: the size of an element.
    Reversed(ElementType, usize),
    Text(TextPadding),
    /// Several texts, of which one is read: their padding, and the size of each.
    Texts(TextPadding, usize),
}

/// Where records are read.
enum Origin {
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

fn place(number: u64) -> Option<usize> {
    usize::try_from(number).ok()
}

impl Layout {
    /// Returns the layout of records; `None` if they differ in size and have to be converted as a whole.
    pub(crate) fn of(records: &Records) -> Option<Self> {
        #[cfg(feature = "hdf5")]
        if let Some(layout) = hdf5::layout(records) {
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

    /// Returns the parts of a record that have to be read for some fields: fields that are close together are in one part.
    /// `None` if records are read as a whole, because they are stored in such a way, or because hardly anything is
    /// between the parts.
    fn groups(&self, places: &[Place]) -> Option<Vec<Group>> {
        match &self.origin {
            #[cfg(feature = "hdf5")]
            Origin::Hdf5(dataset) if self.row > NEAR_FIELDS && dataset.has_separate_parts() => {}
            _ => return None,
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
            Origin::Hdf5(dataset) if self.row > NEAR_FIELDS && dataset.has_separate_parts() => {
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

/// The layout of records in HDF5 files, whose fields need not be canonical.
#[cfg(feature = "hdf5")]
mod hdf5 {
    use sciformats::formats::hdf5::{dataset, element, is_canonical};
    use sciformats::hdf5_pure::Datatype;
    use sciformats::hdf5_pure::structure::{ByteOrder, Class, FloatOrder, Layout as Stored, Padding};

    use super::{ElementType, Form, Layout, Origin, Place, Records, TextPadding, place};

    pub(super) fn layout(records: &Records) -> Option<Layout> {
        let node = records.node();
        let dataset = dataset(node.file().source(), node.id())?.ok()?;
        let row = place(dataset.datatype().size.into()).filter(|&row| row > 0)?;
        let Class::Compound(members) = &dataset.datatype().class else { return None };
        if members.len() != records.fields().len() {
            return None;
        }
        let fields = members.iter().map(|member| {
            let form = form(&member.datatype)?;
            Some(Place {
                offset: place(member.offset.into())?,
                size: place(member.datatype.size.into())?,
                form,
            })
        });
        let fields: Vec<Option<Place>> = fields.collect();
        let chunk = match dataset.layout().ok()? {
            Stored::Chunked(chunked) => chunked.dimensions.first().copied(),
            _ => None,
        };
        Some(Layout { row, chunk, fields, origin: Origin::Hdf5(Box::new(dataset)) })
    }

    /// Returns how the bytes of a type differ from the canonical ones; `None` if they have to be converted.
    fn form(datatype: &Datatype) -> Option<Form> {
        let typed = || -> Option<ElementType> { Some(element(&datatype.element_type().ok()?)) };
        let padded = |padding: &Padding| match padding {
            Padding::NullTerminated => TextPadding::Terminated,
            Padding::NullPadded => TextPadding::Zeros,
            Padding::SpacePadded => TextPadding::Spaces,
        };
        match &datatype.class {
            Class::String { padding, .. } => return Some(Form::Text(padded(padding))),
            Class::Array { base, .. } => {
                if let Class::String { padding, .. } = &base.class {
                    return Some(Form::Texts(padded(padding), place(base.size.into())?));
                }
            }
            _ => {}
        }
        if is_plain(datatype) {
            return Some(Form::Canonical(typed()?));
        }
        let base = match &datatype.class {
            Class::Array { base, .. } => base,
            _ => datatype,
        };
        let mut turned = base.clone();
        match &mut turned.class {
            Class::FixedPoint(fixed) if fixed.order == ByteOrder::Big => fixed.order = ByteOrder::Little,
            Class::FloatingPoint(float) if float.order == FloatOrder::Big => float.order = FloatOrder::Little,
            _ => return None,
        }
        if is_canonical(&turned) { Some(Form::Reversed(typed()?, place(base.size.into())?)) } else { None }
    }

    /// Returns whether the bytes of elements are canonical ones.
    fn is_plain(datatype: &Datatype) -> bool {
        match &datatype.class {
            Class::Enumeration { base, .. } | Class::Array { base, .. } => is_plain(base),
            // The only bits of one byte; more bytes have an order.
            Class::BitField(field) => datatype.size == 1 && field.precision == 8 && field.bit_offset == 0,
            Class::Compound(members) => {
                let mut end = 0;
                let dense = members.iter().all(|member| {
                    let adjacent = member.offset == end && is_plain(&member.datatype);
                    end = member.offset.saturating_add(member.datatype.size); // a bound
                    adjacent
                });
                dense && end == datatype.size
            }
            _ => is_canonical(datatype),
        }
    }
}

/// Reads what several columns need of the same records: for each of them, its records, its field, one element of
/// it, and its decoding.
#[allow(clippy::type_complexity, reason = "the parts are named where they are used")]
pub(crate) fn of_records(
    wanted: &[Option<(&Arc<Records>, usize, Option<u64>, &Decoding)>],
    rows: (u64, u64),
) -> Result<Vec<Option<Undecoded>>> {
    let mut found: Vec<Option<Undecoded>> = wanted.iter().map(|_| None).collect();
    for at in 0..wanted.len() {
        let Some(Some((records, ..))) = wanted.get(at) else { continue };
        if found.get(at).is_some_and(Option::is_some) {
            continue;
        }
        let Some(layout) = records.layout() else { continue };
        // All columns of these records are read together, and only once.
        let first = wanted.iter().position(|of| of.is_some_and(|(of, ..)| Arc::ptr_eq(of, records)));
        if first != Some(at) {
            continue;
        }
        let mut places = Vec::new();
        let mut columns = Vec::new();
        for (column, of) in wanted.iter().enumerate() {
            let Some((of, field, inner, decoding)) = of.filter(|(of, ..)| Arc::ptr_eq(of, records)) else {
                continue;
            };
            debug_assert!(Arc::ptr_eq(of, records));
            if let Some(place) = layout.place(field, inner) {
                places.push(place);
                columns.push((column, decoding));
            }
        }
        if places.is_empty() {
            continue;
        }
        let read = layout.read(records, &places, rows)?;
        for ((bytes, place), (column, decoding)) in read.into_iter().zip(&places).zip(columns) {
            if let Some(slot) = found.get_mut(column) {
                let found = place.undecoded(bytes, decoding.clone());
                // Whoever takes bytes of texts takes them for UTF-8.
                let latin = matches!(decoding, Decoding::Latin1Text { .. });
                *slot = Some(if latin { Undecoded::Decoded(found.values()?) } else { found });
            }
        }
    }
    Ok(found)
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
