//! Indexes of `PyTables`: the values of a column in ascending order, and where in the table each of them is.
//!
//! Source: the program itself (`index.py`), since its users' guide does not describe them. The index of the column `x` of
//! the table `/run/log` is the group `/run/_i_log/x`. Values are sorted within slices of equal length; the rows after the
//! last whole slice are in arrays of their own.
//!
//! | array or attribute | what it is |
//! |---|---|
//! | `sorted` | slices × values in ascending order, of which only each `reduction`-th is stored |
//! | `indices` | slices × places: rows with 8 bytes (`full`); buckets of rows with 4 (`medium`), with 2 from the beginning of a block of slices (`light`), and with 1 from the beginning of the slice (`ultralight`) |
//! | `bounds` | slices × the first value of each chunk of `sorted` but the first |
//! | `sortedLR` | the values of the last rows, the first value of each chunk, and the largest value; attribute `nelements` |
//! | `indicesLR` | the places of the last rows; attribute `nelements` |
//! | `DIRTY` | whether the table has changed since |
//!
//! Nothing in an index proves that it belongs to the table. Therefore the structures are compared with each other, the ends
//! of each range of values are read from `sorted` itself, and the rows that are found are compared with the table: every
//! part has as many values as the index says, places beside the ends have the values that the index says, and some of the
//! rows that the index excludes are read. If anything differs, the index is not used, and neither is one whose arrays have no
//! checksums; those that the program compresses by zlib, as it does unless it is told otherwise, have some.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range as Rows;

use sciformats::{Datum, Decoder, ElementType, Range, Result, Slab};

use crate::node::Node;
use crate::table::{Column, Table};
use crate::undecoded::Undecoded;

/// A stored value, as indexes order them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StoredValue {
    /// An integer.
    Int(i128),
    /// A floating-point number. Those that are no number are larger than all others.
    Float(f64),
    /// The bytes of a text without its padding.
    Text(Vec<u8>),
}

impl StoredValue {
    fn of(datum: &Datum<'_>) -> Option<Self> {
        Some(match datum {
            Datum::Float(value, _) => Self::Float(*value),
            Datum::Text(text) => {
                let end = text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                Self::Text(text.get(..end)?.to_vec())
            }
            other => Self::Int(other.to_i128()?),
        })
    }

    /// Returns the order of two values; `None` if they have different types.
    fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(one), Self::Int(other)) => Some(one.cmp(other)),
            (Self::Text(one), Self::Text(other)) => Some(one.cmp(other)),
            (Self::Float(one), Self::Float(other)) => {
                Some(one.partial_cmp(other).unwrap_or_else(|| one.is_nan().cmp(&other.is_nan())))
            }
            _ => None,
        }
    }
}

/// Tells whether a stored value is before, in or after a range of values. No value that is before or in the range may
/// be larger than one that is after it, and no value that is before it may be larger than one that is in it.
pub type Placing<'a> = dyn Fn(&StoredValue) -> Ordering + 'a;

/// The index of a column.
#[derive(Clone, Debug)]
pub struct TableIndex {
    column: Column,
    rows: u64,
    sorted: Part,
    indices: Part,
    bounds: Part,
    last_sorted: Part,
    last_indices: Part,
    /// The number of whole slices, and of rows in each.
    slices: u64,
    slice: u64,
    /// The number of rows in a chunk of `indices`.
    chunk: u64,
    /// Of how many values one is stored.
    reduction: u64,
    /// The number of rows after the last whole slice.
    last: u64,
    kind: Kind,
    /// The number of rows in a bucket.
    bucket: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ultralight,
    /// The number of slices in a block.
    Light(u64),
    Medium,
    Full,
}

/// An array of an index.
#[derive(Clone, Debug)]
struct Part {
    node: Node,
    element: ElementType,
    shape: Vec<u64>,
    chunk: Vec<u64>,
}

/// More slices are not searched, because each of them takes some reading.
const MOST_SLICES: u64 = 1 << 16;
/// The number of places that are read at once.
const PIECE: u64 = 1 << 16;
/// How many values beside the ends of ranges are compared with the table, at most.
const PAIRS: u64 = 64;
/// How many buckets that the index excludes are compared with the table, at least, if there are so many.
const EXCLUDED: u64 = 8;

impl Part {
    fn of(group: &Node, name: &str) -> Result<Option<Self>> {
        let Some(node) = group.child(name)? else { return Ok(None) };
        let Some(info) = node.info()? else { return Ok(None) };
        let (Some(shape), Some(chunk)) = (info.shape, info.chunks) else { return Ok(None) };
        // Without a checksum, no comparison finds every damage.
        if !info.filters.iter().any(|filter| filter.starts_with("deflate") || filter == "fletcher32") {
            return Ok(None);
        }
        Ok(Some(Self { node, element: info.element, shape, chunk }))
    }

    /// Reads `count` elements from `first` on, of a slice if there are several.
    fn read(&self, slice: Option<u64>, first: u64, count: u64) -> Result<Option<Vec<StoredValue>>> {
        let mut ranges: Vec<Range> = slice.map(|slice| Range::new(slice, 1)).into_iter().collect();
        ranges.push(Range::new(first, count));
        let slab = Slab::new(&self.shape, ranges)?;
        let file = self.node.file();
        file.limits()
            .memory("values of an index", slab.len().saturating_mul(size_of::<StoredValue>() as u64))?; // a bound
        let mut bytes = Vec::new();
        file.read(self.node.id(), &slab, &mut bytes)?;
        values(&self.element, &bytes)
    }

    /// Returns the number of elements in a slice, and in a chunk of it.
    fn slice(&self) -> Option<(u64, u64)> {
        Some((*self.shape.last()?, *self.chunk.last()?))
    }
}

/// Decodes elements. Returns `None` if one of them has no order.
fn values(element: &ElementType, bytes: &[u8]) -> Result<Option<Vec<StoredValue>>> {
    let mut found = Vec::new();
    for datum in Decoder::new(element, bytes) {
        match StoredValue::of(&datum?) {
            Some(value) => found.push(value),
            None => return Ok(None),
        }
    }
    Ok(Some(found))
}

/// Where a slice is: one of the whole ones, or that of the last rows.
#[derive(Clone, Copy, Debug)]
struct Slice {
    number: u64,
    /// The number of rows.
    rows: u64,
    is_last: bool,
}

/// What an index says about a bucket: how many of its rows have values in the range, at least and at most.
#[derive(Clone, Copy, Debug, Default)]
struct Claim {
    least: u64,
    most: u64,
}

/// What an index says about a range of values.
#[derive(Debug, Default)]
struct Claims {
    buckets: BTreeMap<u64, Claim>,
    /// Rows, each with a value that one of them has.
    pairs: Vec<(Rows<u64>, StoredValue)>,
}

impl TableIndex {
    /// Returns the index of a column of a table with so many rows; `None` if there is none, or if it is out of date, of
    /// an unknown version, or contradictory.
    ///
    /// # Errors
    ///
    /// An error if what describes the index cannot be read.
    pub fn of(column: &Column, rows: u64) -> Result<Option<Self>> {
        let Some((table, field)) = column.record_field() else { return Ok(None) };
        if table.text("CLASS")?.as_deref() != Some("TABLE") {
            return Ok(None);
        }
        let Some(parent) = table.parent()? else { return Ok(None) };
        let Some(group) = parent.child(&format!("_i_{}", table.name()))? else { return Ok(None) };
        let Some(group) = group.child(&field)? else { return Ok(None) };
        let is_index = group.text("CLASS")?.as_deref() == Some("INDEX");
        if !is_index || group.text("VERSION")?.as_deref() != Some("2.1") || dirty(&group)? {
            return Ok(None);
        }
        let chunks = table.info()?.and_then(|info| info.chunks).unwrap_or_default();
        let Some(&in_chunk) = chunks.first() else { return Ok(None) };
        Self::checked(column, &group, (rows, in_chunk))
    }

    /// Compares the structures of an index with each other.
    fn checked(column: &Column, group: &Node, (rows, in_chunk): (u64, u64)) -> Result<Option<Self>> {
        let part = |name: &str| Part::of(group, name);
        let (Some(sorted), Some(indices), Some(bounds)) =
            (part("sorted")?, part("indices")?, part("bounds")?)
        else {
            return Ok(None);
        };
        let (Some(last_sorted), Some(last_indices)) = (part("sortedLR")?, part("indicesLR")?) else {
            return Ok(None);
        };
        let number = |node: &Node, name: &str| -> Result<u64> {
            let found = node.integers(name)?.and_then(|found| u64::try_from(*found.first()?).ok());
            Ok(found.unwrap_or_default())
        };
        let (slice, chunk) = (number(group, "slicesize")?, number(group, "chunksize")?);
        let (block, reduction) = (number(group, "blocksize")?, number(group, "reduction")?);
        let last = number(&last_indices.node, "nelements")?;
        let stored_last = number(&last_sorted.node, "nelements")?;
        let (&[slices, in_sorted], &[also, in_indices]) = (sorted.shape.as_slice(), indices.shape.as_slice())
        else {
            return Ok(None);
        };
        let ElementType::UInt(width) = indices.element else { return Ok(None) };
        let ordinary = [slice, chunk, block, reduction].iter().all(|&size| (1..=1 << 40).contains(&size))
            && slices == also
            && slices < MOST_SLICES
            && in_chunk > 0
            && in_indices == slice
            && in_sorted.checked_mul(reduction) == Some(slice)
            && indices.chunk == [1, chunk]
            && last_indices.chunk == [chunk]
            && chunk.is_multiple_of(reduction)
            && sorted.chunk == [1, chunk / reduction]
            && last_sorted.chunk == [chunk / reduction]
            && block.is_multiple_of(slice)
            && last <= slice
            && stored_last == last.div_ceil(reduction)
            && last_indices.shape == [slice]
            && last_indices.element == indices.element
            && sorted.element == last_sorted.element
            && sorted.element == bounds.element
            && slices.checked_mul(slice).and_then(|whole| whole.checked_add(last)) == Some(rows);
        if !ordinary || bounds.shape != [slices, (in_sorted - 1) / (chunk / reduction)] {
            return Ok(None);
        }
        let mut bucket = in_chunk.min(chunk);
        let kind = match width {
            1 => Kind::Ultralight,
            2 => Kind::Light(block / slice),
            4 => Kind::Medium,
            8 => Kind::Full,
            _ => return Ok(None),
        };
        // Narrow numbers need larger buckets. Where the program would run out of numbers, the index is wrong.
        let (numbers, reach) = match kind {
            Kind::Ultralight => (1 << 8, slice),
            Kind::Light(_) => (1 << 16, block),
            Kind::Medium | Kind::Full => (u64::MAX, 0),
        };
        if reach / bucket >= numbers {
            bucket = reach.div_ceil(numbers);
        }
        if reach > 0 && reach.div_ceil(bucket) + u64::from(!slice.is_multiple_of(bucket)) > numbers {
            return Ok(None);
        }
        let column = column.clone();
        Ok(Some(Self {
            column,
            rows,
            sorted,
            indices,
            bounds,
            last_sorted,
            last_indices,
            slices,
            slice,
            chunk,
            reduction,
            last,
            kind,
            bucket,
        }))
    }

    /// Returns the rows that can have values in a range, as ranges in ascending order; `None` if they are not few, or
    /// if the index contradicts itself or the table.
    ///
    /// # Errors
    ///
    /// An error if the index or the column cannot be read.
    pub fn rows(&self, place: &Placing<'_>) -> Result<Option<Vec<Rows<u64>>>> {
        let Some(claims) = self.search(place)? else { return Ok(None) };
        let mut parts: Vec<(Rows<u64>, Claim)> = Vec::new();
        let mut all = 0u64;
        for (&bucket, claim) in &claims.buckets {
            let Some(rows) = self.rows_of(bucket) else { return Ok(None) };
            all = all.saturating_add(rows.end - rows.start); // a bound
            match parts.last_mut() {
                Some((before, sum)) if before.end == rows.start => {
                    before.end = rows.end;
                    sum.least = sum.least.saturating_add(claim.least); // a bound: no table has more rows
                    sum.most = sum.most.saturating_add(claim.most); // a bound: no table has more rows
                }
                _ => parts.push((rows, *claim)),
            }
        }
        if all > self.rows / 2 {
            return Ok(None);
        }
        for (rows, claim) in &parts {
            let Some(count) = self.count(rows, place)? else { return Ok(None) };
            if count < claim.least || count > claim.most {
                return Ok(None);
            }
        }
        if !self.has_pairs(&claims.pairs)? || !self.excludes(&claims.buckets, place)? {
            return Ok(None);
        }
        Ok(Some(parts.into_iter().map(|(rows, _)| rows).collect()))
    }

    fn rows_of(&self, bucket: u64) -> Option<Rows<u64>> {
        let start = bucket.checked_mul(self.bucket).filter(|&start| start < self.rows)?;
        Some(start..start.saturating_add(self.bucket).min(self.rows)) // a bound
    }

    /// Returns the values of some rows of the table.
    fn values(&self, rows: &Rows<u64>) -> Result<Option<Vec<StoredValue>>> {
        let count = rows.end.saturating_sub(rows.start); // a bound: no range ends before it starts
        match Table::read_undecoded(&[&self.column], (rows.start, count))?.pop() {
            Some(Undecoded::Stored { element, bytes, .. }) => values(&element, &bytes),
            Some(Undecoded::Padded { size, padding, bytes, .. }) => {
                let texts = bytes.chunks_exact(size.max(1)).map(|text| {
                    // What the index has lost of a text that ends in zeros is not compared either.
                    StoredValue::of(&Datum::Text(padding.without(text)))
                });
                Ok(texts.collect())
            }
            _ => Ok(None),
        }
    }

    /// Returns how many rows have values in the range.
    fn count(&self, rows: &Rows<u64>, place: &Placing<'_>) -> Result<Option<u64>> {
        let mut count = 0u64;
        let mut start = rows.start;
        while start < rows.end {
            let end = start.saturating_add(PIECE).min(rows.end); // a bound
            let Some(values) = self.values(&(start..end))? else { return Ok(None) };
            count = count.saturating_add(values.iter().filter(|value| place(value).is_eq()).count() as u64); // a bound
            start = end;
        }
        Ok(Some(count))
    }

    /// Returns whether rows have the values that the index says.
    fn has_pairs(&self, pairs: &[(Rows<u64>, StoredValue)]) -> Result<bool> {
        let step = (pairs.len() as u64).div_ceil(PAIRS).max(1);
        let step = usize::try_from(step).unwrap_or(usize::MAX); // a bound
        for (rows, value) in pairs.iter().step_by(step) {
            let Some(values) = self.values(rows)? else { return Ok(false) };
            if !values.iter().any(|of| of.order(value).is_some_and(Ordering::is_eq)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns whether some of the excluded buckets have no value in the range.
    fn excludes(&self, found: &BTreeMap<u64, Claim>, place: &Placing<'_>) -> Result<bool> {
        let buckets = self.rows.div_ceil(self.bucket);
        let step = (buckets / EXCLUDED).max(1);
        let mut bucket = 0;
        while bucket < buckets {
            if !found.contains_key(&bucket)
                && let Some(rows) = self.rows_of(bucket)
                && self.count(&rows, place)? != Some(0)
            {
                return Ok(false);
            }
            bucket = bucket.saturating_add(step); // a bound
        }
        Ok(true)
    }

    /// Looks for a range of values in all slices; `None` if it has many rows, or if the index contradicts itself.
    fn search(&self, place: &Placing<'_>) -> Result<Option<Claims>> {
        let mut claims = Claims::default();
        let mut found = 0u64;
        let sampled = (self.slices / 4).max(1);
        let whole = (0..self.slices).map(|number| Slice { number, rows: self.slice, is_last: false });
        let rest = Slice { number: self.slices, rows: self.last, is_last: true };
        for slice in whole.chain((self.last > 0).then_some(rest)) {
            let length = slice.rows.div_ceil(self.reduction);
            let bounds = if slice.is_last {
                let Some((_, chunk)) = self.last_sorted.slice() else { return Ok(None) };
                // The first value of the first chunk is there too.
                let count = length.div_ceil(chunk);
                let Some(mut firsts) = self.last_sorted.read(None, length, count)? else { return Ok(None) };
                firsts.remove(0);
                firsts
            } else {
                let count = self.bounds.shape.last().copied().unwrap_or_default();
                let Some(bounds) = self.bounds.read(Some(slice.number), 0, count)? else { return Ok(None) };
                bounds
            };
            let mut chunks = Chunks { index: self, slice, length, held: BTreeMap::new() };
            let start = chunks.cut(&bounds, &|value| place(value).is_lt())?;
            let stop = chunks.cut(&bounds, &|value| !place(value).is_gt())?;
            let (Some(start), Some(stop)) = (start, stop) else { return Ok(None) };
            if stop < start {
                return Ok(None);
            }
            // Between two stored values there are others.
            let reduction = self.reduction;
            let from = start.saturating_sub(1).saturating_mul(reduction).saturating_add(u64::from(start > 0)); // a bound
            let to = stop.saturating_mul(reduction).min(slice.rows); // a bound
            let first = start.saturating_mul(reduction); // a bound
            let sure = first..if stop > start {
                (stop - 1).saturating_mul(reduction).saturating_add(1) // a bound
            } else {
                0
            }; // a bound
            found = found.saturating_add(to.saturating_sub(from)); // a bound
            if found > self.rows / 4 {
                return Ok(None);
            }
            if !self.claim(slice, from..to, &sure, &mut claims)? {
                return Ok(None);
            }
            if slice.is_last || slice.number.is_multiple_of(sampled) {
                for stored in [start.checked_sub(1), Some(start), stop.checked_sub(1), Some(stop)] {
                    let Some(stored) = stored.filter(|&stored| stored < length) else { continue };
                    let Some(value) = chunks.value(stored)? else { return Ok(None) };
                    let at = stored.saturating_mul(reduction); // a bound: it is within the slice
                    let mut alone = Claims::default();
                    let next = at.saturating_add(1); // a bound: it is within the slice
                    if !self.claim(slice, at..next, &(0..0), &mut alone)? {
                        return Ok(None);
                    }
                    let ends = alone.buckets.first_key_value().zip(alone.buckets.last_key_value());
                    let rows = ends.and_then(|((&first, _), (&last, _))| {
                        Some(self.rows_of(first)?.start..self.rows_of(last)?.end)
                    });
                    claims.pairs.extend(rows.map(|rows| (rows, value)));
                }
            }
        }
        Ok(Some(claims))
    }

    /// Adds the buckets of some places of a slice; returns whether all of them are in the table.
    fn claim(&self, slice: Slice, places: Rows<u64>, sure: &Rows<u64>, claims: &mut Claims) -> Result<bool> {
        let mut start = places.start;
        while start < places.end {
            let end = start.saturating_add(PIECE).min(places.end); // a bound
            let read = match slice.is_last {
                true => self.last_indices.read(None, start, end - start)?,
                false => self.indices.read(Some(slice.number), start, end - start)?,
            };
            let Some(read) = read else { return Ok(false) };
            for (at, place) in (start..end).zip(read) {
                let StoredValue::Int(place) = place else { return Ok(false) };
                let Some((bucket, also)) =
                    u64::try_from(place).ok().and_then(|place| self.bucket_of(slice, place))
                else {
                    return Ok(false);
                };
                let claim = claims.buckets.entry(bucket).or_default();
                claim.most = claim.most.saturating_add(1); // a bound
                claim.least = claim.least.saturating_add(u64::from(sure.contains(&at))); // a bound
                if let Some(also) = also {
                    claims.buckets.entry(also).or_default();
                }
            }
            start = end;
        }
        Ok(true)
    }

    /// Returns the bucket that a place of a slice means, and the next one if the numbers could be meant either way.
    fn bucket_of(&self, slice: Slice, place: u64) -> Option<(u64, Option<u64>)> {
        let bucket = match self.kind {
            Kind::Full => place / self.bucket,
            Kind::Medium => place,
            Kind::Light(in_block) => {
                let block = in_block.checked_mul(self.slice)?;
                let before = (slice.number / in_block.max(1)).checked_mul(block)?;
                let bucket = place.checked_add(before / self.bucket)?;
                // If blocks end within buckets, their beginnings are rounded.
                if !before.is_multiple_of(self.bucket) {
                    let next = bucket.checked_add(1).filter(|&next| self.rows_of(next).is_some());
                    return self.rows_of(bucket).map(|_| (bucket, next));
                }
                bucket
            }
            Kind::Ultralight => place.checked_add(slice.number.checked_mul(self.slice)? / self.bucket)?,
        };
        self.rows_of(bucket).map(|_| (bucket, None))
    }
}

/// The chunks of the sorted values of one slice.
struct Chunks<'a> {
    index: &'a TableIndex,
    slice: Slice,
    /// The number of values.
    length: u64,
    held: BTreeMap<u64, Vec<StoredValue>>,
}

impl Chunks<'_> {
    /// Returns the number of values in a chunk.
    fn size(&self) -> u64 {
        (self.index.chunk / self.index.reduction.max(1)).max(1)
    }

    /// Reads a chunk; `None` if its values are not in ascending order.
    fn read(&mut self, chunk: u64) -> Result<Option<&[StoredValue]>> {
        if !self.held.contains_key(&chunk) {
            let start = chunk.saturating_mul(self.size()).min(self.length); // a bound
            let count = self.size().min(self.length - start);
            let read = match self.slice.is_last {
                true => self.index.last_sorted.read(None, start, count)?,
                false => self.index.sorted.read(Some(self.slice.number), start, count)?,
            };
            let Some(read) = read.filter(|read| !read.is_empty()) else { return Ok(None) };
            if !read.is_sorted_by(|one, next| one.order(next).is_some_and(Ordering::is_le)) {
                return Ok(None);
            }
            self.held.insert(chunk, read);
        }
        Ok(self.held.get(&chunk).map(Vec::as_slice))
    }

    fn value(&mut self, at: u64) -> Result<Option<StoredValue>> {
        let size = self.size();
        let within = usize::try_from(at % size).unwrap_or(usize::MAX); // a position that no chunk has
        Ok(self.read(at / size)?.and_then(|chunk| chunk.get(within).cloned()))
    }

    /// Returns how many values are before an end, and has seen the values on both sides of it; `None` if the index
    /// contradicts itself.
    fn cut(&mut self, bounds: &[StoredValue], before: &dyn Fn(&StoredValue) -> bool) -> Result<Option<u64>> {
        let chunk = bounds.partition_point(before) as u64;
        let size = self.size();
        let Some(values) = self.read(chunk)? else { return Ok(None) };
        let (count, at) = (values.len(), values.partition_point(before));
        // The first value of the chunk is the bound that led here.
        if at == 0 && chunk > 0 {
            return Ok(None);
        }
        let cut = chunk.saturating_mul(size).saturating_add(at as u64); // a bound
        if at == count && cut < self.length {
            let Some(next) = self.read(chunk.saturating_add(1))? else { return Ok(None) }; // a bound
            if next.first().is_none_or(before) {
                return Ok(None);
            }
        }
        Ok(Some(cut))
    }
}

/// Returns whether the index says that it is out of date, or says something that is not understood.
fn dirty(group: &Node) -> Result<bool> {
    let Some(_) = group.attribute("DIRTY")? else { return Ok(false) };
    let marks = group.integers("DIRTY")?.unwrap_or_default();
    Ok(marks.as_slice() != [0])
}
