//! Stored selections, which region references and virtual layouts contain ("Dataspace Encoding").
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | selection type: 0 none, 1 points, 2 hyperslab, 3 all |
//! | 4 | 4 | selection version |
//!
//! | type, version | fields that follow, where w is the width of each number |
//! |---|---|
//! | 0 or 3, 1 | reserved (4), length (4): 0 |
//! | 1, 1 | reserved (4), length (4), rank (4), number of points (4), coordinates of each point; w = 4 |
//! | 1, 2 | encode size w (1), rank (4), number of points, coordinates of each point |
//! | 2, 1 | reserved (4), length (4), rank (4), number of blocks (4), first and last coordinates of each block; w = 4 |
//! | 2, 2 | flags (1): 1 regular, length (4), rank (4), start, stride, count, block along each dimension; w = 8 |
//! | 2, 3 | flags (1), encode size w (1), rank (4), then the fields of version 2 if regular, otherwise those of version 1 |
//!
//! If all bits of a count or block are set, it is unlimited.

use nom::Parser;
use nom::bytes::complete::take;
use nom::multi::count;
use nom::number::complete::{le_u32, u8 as byte};
use sciformats_core::arith::{add, fit, mul, present};
use sciformats_core::fault::{FaultKind, Parsed, checked, fail, field};
use sciformats_core::{Range, Result, Slab, bound};

use super::{put_uint, uint};

/// A selection of elements of an array.
///
/// ```
/// use hdf5_pure::structure::Selection;
///
/// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
/// # made.root().attribute("title", "a week in May")?;
/// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
/// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
/// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
/// let temperature = file.dataset("surface/temperature")?;
/// let points = Selection::Points(vec![vec![1, 2], vec![0, 0]]);
/// assert_eq!(temperature.read_selection::<f64>(&points)?, [281.0, 281.5]);
/// let block = Selection::Blocks(vec![(vec![0, 1], vec![1, 2])]);
/// assert_eq!(temperature.read_selection::<f64>(&block)?, [282.0, 282.5, 280.5, 281.0]);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// No elements.
    None,
    /// All elements.
    All,
    /// Single elements in the given order. Each has one coordinate per dimension.
    Points(Vec<Vec<u64>>),
    /// Regularly spaced blocks, with one entry per dimension.
    Regular(Vec<Regular>),
    /// Rectangular blocks, given by their first and last coordinates, both inclusive.
    Blocks(Vec<(Vec<u64>, Vec<u64>)>),
}

/// A regular hyperslab in one dimension: `count` blocks of `block` elements, `stride` apart.
///
/// ```
/// use hdf5_pure::structure::{Regular, Selection};
///
/// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
/// # made.root().attribute("title", "a week in May")?;
/// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
/// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
/// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
/// let every_row = Regular { start: 0, stride: 1, count: None, block: Some(1) };
/// let outer_columns = Regular { start: 0, stride: 2, count: Some(2), block: Some(1) };
/// let selection = Selection::Regular(vec![every_row, outer_columns]);
/// let temperature = file.dataset("surface/temperature")?;
/// assert_eq!(temperature.read_selection::<f64>(&selection)?, [281.5, 282.5, 280.0, 281.0]);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Regular {
    /// The first element.
    pub start: u64,
    /// The distance between the starts of blocks.
    pub stride: u64,
    /// The number of blocks; `None` means unlimited.
    pub count: Option<u64>,
    /// The number of elements per block; `None` means unlimited.
    pub block: Option<u64>,
}

/// The stored value of a count or block that is unlimited.
const UNLIMITED: u64 = u64::MAX;

/// The largest number of dimensions of an array.
pub(crate) const MAX_RANK: u32 = 32;

impl Selection {
    /// Returns the number of dimensions of the selection, if it determines one.
    ///
    /// ```
    /// use hdf5_pure::structure::Selection;
    ///
    /// assert_eq!(Selection::Points(vec![vec![1, 2], vec![0, 0]]).rank(), Some(2));
    /// assert_eq!(Selection::All.rank(), None);
    /// ```
    pub fn rank(&self) -> Option<usize> {
        match self {
            Self::None | Self::All => None,
            Self::Points(points) => points.first().map(Vec::len),
            Self::Regular(dimensions) => Some(dimensions.len()),
            Self::Blocks(blocks) => blocks.first().map(|(start, _)| start.len()),
        }
    }

    pub(crate) fn parse(i: &[u8]) -> Parsed<'_, Self> {
        let (at, kind) = field("selection type", le_u32)(i)?;
        let (i, version) = field("selection version", le_u32)(at)?;
        match (kind, version) {
            (0, 1) => reserved(i).map(|(i, ())| (i, Self::None)),
            (3, 1) => reserved(i).map(|(i, ())| (i, Self::All)),
            (1, 1) => {
                let (i, ()) = reserved(i)?;
                points(i, 4)
            }
            (1, 2) => {
                let (i, width) = width(i)?;
                points(i, width)
            }
            (2, 1) => {
                let (i, ()) = reserved(i)?;
                let (i, rank) = rank(i)?;
                blocks(i, 4, rank)
            }
            (2, 2) => {
                let (i, regular) = flags(i)?;
                let (i, _) = field("length", le_u32)(i)?;
                hyperslab(i, 8, regular)
            }
            (2, 3) => {
                let (i, regular) = flags(i)?;
                let (i, width) = width(i)?;
                hyperslab(i, width, regular)
            }
            (0..=3, found) => {
                field("selection version", |i| fail(i, FaultKind::Undefined { found: found.into() }))(at)
            }
            (found, _) => {
                field("selection type", |i| fail(i, FaultKind::Undefined { found: found.into() }))(at)
            }
        }
    }
}

fn reserved(i: &[u8]) -> Parsed<'_, ()> {
    field("reserved and length", take(8usize)).map(|_: &[u8]| ()).parse(i)
}

fn rank(i: &[u8]) -> Parsed<'_, usize> {
    let (i, rank) = checked("rank", le_u32, |&rank| {
        (rank == 0 || rank > MAX_RANK).then_some(FaultKind::Undefined { found: rank.into() })
    })(i)?;
    Ok((i, bound::addressable(rank.into())))
}

fn width(i: &[u8]) -> Parsed<'_, usize> {
    let (i, width) = checked("encode size", byte, |&width| {
        (!matches!(width, 2 | 4 | 8)).then_some(FaultKind::Undefined { found: width.into() })
    })(i)?;
    Ok((i, width.into()))
}

fn flags(i: &[u8]) -> Parsed<'_, bool> {
    let (i, flags) =
        checked("flags", byte, |&flags| (flags > 1).then_some(FaultKind::Undefined { found: flags.into() }))(
            i,
        )?;
    Ok((i, flags == 1))
}

/// Checks that the rest of the input can contain `entries` of `size` bytes before memory is allocated for them.
fn entries(i: &[u8], entries: u64, size: usize) -> Parsed<'_, usize> {
    let needed = usize::try_from(entries).ok().and_then(|n| n.checked_mul(size));
    match (needed, usize::try_from(entries)) {
        (Some(needed), Ok(n)) if needed <= i.len() => Ok((i, n)),
        _ => field("number of entries", |i| fail(i, FaultKind::Truncated))(i),
    }
}

fn points(i: &[u8], width: usize) -> Parsed<'_, Selection> {
    let (i, rank) = rank(i)?;
    let (i, n) = field("number of points", uint(width))(i)?;
    let (i, n) = entries(i, n, bound::product(rank, width))?;
    let (i, points) = count(count(uint(width), rank), n).parse(i)?;
    Ok((i, Selection::Points(points)))
}

fn blocks(i: &[u8], width: usize, rank: usize) -> Parsed<'_, Selection> {
    let (i, n) = field("number of blocks", uint(width))(i)?;
    let (i, n) = entries(i, n, bound::product(bound::product(rank, width), 2))?;
    let block = (count(uint(width), rank), count(uint(width), rank));
    let at = i;
    let (i, blocks) = count(block, n).parse(i)?;
    if blocks.iter().any(|(first, last)| first.iter().zip(last).any(|(first, last)| first > last)) {
        return field("block", |i| fail(i, FaultKind::Rule("ends before it starts")))(at);
    }
    Ok((i, Selection::Blocks(blocks)))
}

fn hyperslab(i: &[u8], width: usize, regular: bool) -> Parsed<'_, Selection> {
    let (i, rank) = rank(i)?;
    if !regular {
        return blocks(i, width, rank);
    }
    let limited = |value: u64| {
        let unlimited = match width {
            2 => u64::from(u16::MAX),
            4 => u64::from(u32::MAX),
            _ => UNLIMITED,
        };
        (value != unlimited).then_some(value)
    };
    let dimension = (uint(width), uint(width), uint(width).map(limited), uint(width).map(limited));
    let (i, dimensions) =
        count(dimension.map(|(start, stride, count, block)| Regular { start, stride, count, block }), rank)
            .parse(i)?;
    Ok((i, Selection::Regular(dimensions)))
}

impl Selection {
    /// Returns the selection of the elements of a slab: a single block if the oldest version can hold it.
    pub(crate) fn of(slab: &Slab) -> Self {
        if slab.is_empty() {
            return Self::None;
        }
        let block = || -> Option<(Vec<u64>, Vec<u64>)> {
            let corners = slab.ranges().iter().map(|range| {
                let last = range.start.checked_add(range.count.checked_sub(1)?)?;
                (range.step == 1 && u32::try_from(last).is_ok()).then_some((range.start, last))
            });
            corners.collect()
        };
        if let Some(block) = block() {
            return Self::Blocks(vec![block]);
        }
        let regular = |range: &Range| Regular {
            start: range.start,
            stride: range.step,
            count: Some(range.count),
            block: Some(1),
        };
        Self::Regular(slab.ranges().iter().map(regular).collect())
    }

    /// Returns whether the selection is possible in an array of `rank` dimensions and can be written.
    pub(crate) fn is_of_rank(&self, rank: usize) -> bool {
        match self {
            Self::None | Self::All => true,
            Self::Points(points) => points.iter().all(|point| point.len() == rank),
            Self::Regular(dimensions) => {
                let said = |value: Option<u64>| value != Some(UNLIMITED);
                let sayable = |dimension: &Regular| said(dimension.count) && said(dimension.block);
                dimensions.len() == rank && rank > 0 && dimensions.iter().all(sayable)
            }
            Self::Blocks(blocks) => {
                blocks.iter().all(|(first, last)| first.len() == rank && last.len() == rank)
            }
        }
    }

    /// Returns whether the selection is an empty list, which has no rank that could be written.
    fn is_empty_list(&self) -> bool {
        match self {
            Self::Points(points) => points.is_empty(),
            Self::Blocks(blocks) => blocks.is_empty(),
            Self::None | Self::All | Self::Regular(_) => false,
        }
    }

    /// Appends the selection in the oldest version that can hold it.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) -> Result<()> {
        let head = |out: &mut Vec<u8>, kind: u32, version: u32| {
            out.extend(kind.to_le_bytes());
            out.extend(version.to_le_bytes());
        };
        let rank = |n: usize| fit::<u32, _>(n, "size of a selection").map(u32::to_le_bytes);
        match self {
            _ if self.is_empty_list() => return Self::None.encode(out),
            Self::None | Self::All => {
                head(out, if *self == Self::All { 3 } else { 0 }, 1);
                out.extend([0; 8]);
            }
            Self::Regular(dimensions) => {
                head(out, 2, 2);
                out.push(1);
                let len = add(mul(dimensions.len(), 32)?, 4)?;
                out.extend(rank(len)?);
                out.extend(rank(dimensions.len())?);
                for dimension in dimensions {
                    let limit = |value: Option<u64>| value.unwrap_or(UNLIMITED);
                    let Regular { start, stride, count, block } = *dimension;
                    [start, stride, limit(count), limit(block)]
                        .iter()
                        .for_each(|value| out.extend(value.to_le_bytes()));
                }
            }
            Self::Points(points) => {
                let width = coordinate_width(points.iter().flatten());
                head(out, 1, if width == 4 { 1 } else { 2 });
                let count = present(points.first(), "point of a selection")?.len();
                let len = add(mul(mul(points.len(), count)?, 4)?, 8)?;
                put_form(out, width, len)?;
                out.extend(rank(count)?);
                put_uint(out, points.len() as u64, width)?;
                points.iter().flatten().try_for_each(|&at| put_uint(out, at, width))?;
            }
            Self::Blocks(blocks) => {
                let width =
                    coordinate_width(blocks.iter().flat_map(|(first, last)| first.iter().chain(last)));
                head(out, 2, if width == 4 { 1 } else { 3 });
                let count = present(blocks.first(), "block of a selection")?.0.len();
                let len = add(mul(mul(blocks.len(), count)?, 8)?, 8)?;
                if width == 8 {
                    out.push(0); // not regular
                }
                put_form(out, width, len)?;
                out.extend(rank(count)?);
                put_uint(out, blocks.len() as u64, width)?;
                let mut corners = blocks.iter().flat_map(|(first, last)| first.iter().chain(last));
                corners.try_for_each(|&at| put_uint(out, at, width))?;
            }
        }
        Ok(())
    }
}

/// Returns the width of the coordinates in bytes: 4 in the oldest version, otherwise 8.
fn coordinate_width<'a>(mut coordinates: impl Iterator<Item = &'a u64>) -> usize {
    if coordinates.all(|&at| u32::try_from(at).is_ok()) { 4 } else { 8 }
}

/// Appends the fields before the rank: the length of what follows, or the width of the coordinates.
fn put_form(out: &mut Vec<u8>, width: usize, len: usize) -> Result<()> {
    if width == 4 {
        out.extend([0; 4]);
        out.extend(fit::<u32, _>(len, "size of a selection")?.to_le_bytes());
    } else {
        out.push(8);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::test::{both_ways, near};
    use super::*;

    const ALL: [u8; 16] = [
        3, 0, 0, 0, // selection type: all
        1, 0, 0, 0, // selection version
        0, 0, 0, 0, // reserved
        0, 0, 0, 0, // length
    ];

    const BLOCKS: [u8; 40] = [
        2, 0, 0, 0, // selection type: hyperslab
        1, 0, 0, 0, // selection version
        0, 0, 0, 0, // reserved
        0x18, 0, 0, 0, // length
        2, 0, 0, 0, // rank
        1, 0, 0, 0, // number of blocks
        1, 0, 0, 0, // first coordinates
        2, 0, 0, 0, // along dimension 1
        3, 0, 0, 0, // last coordinates
        4, 0, 0, 0, // along dimension 1
    ];

    const POINTS: [u8; 32] = [
        1, 0, 0, 0, // selection type: points
        1, 0, 0, 0, // selection version
        0, 0, 0, 0, // reserved
        0x10, 0, 0, 0, // length
        1, 0, 0, 0, // rank
        2, 0, 0, 0, // number of points
        7, 0, 0, 0, // point 0
        9, 0, 0, 0, // point 1
    ];

    const NARROW_POINTS: [u8; 19] = [
        1, 0, 0, 0, // selection type: points
        2, 0, 0, 0, // selection version
        2, // encode size
        1, 0, 0, 0, // rank
        2, 0, // number of points
        7, 0, // point 0
        9, 0, // point 1
    ];

    const REGULAR: [u8; 49] = [
        2, 0, 0, 0, // selection type: hyperslab
        2, 0, 0, 0, // selection version
        1, // flags: regular
        0x24, 0, 0, 0, // length
        1, 0, 0, 0, // rank
        0, 0, 0, 0, 0, 0, 0, 0, // start
        5, 0, 0, 0, 0, 0, 0, 0, // stride
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // count: without end
        2, 0, 0, 0, 0, 0, 0, 0, // block
    ];

    const NARROW_REGULAR: [u8; 22] = [
        2, 0, 0, 0, // selection type: hyperslab
        3, 0, 0, 0, // selection version
        1, // flags: regular
        2, // encode size
        1, 0, 0, 0, // rank
        0, 0, // start
        5, 0, // stride
        0xff, 0xff, // count: without end
        2, 0, // block
    ];

    const FAR_BLOCK: [u8; 38] = [
        2, 0, 0, 0, // selection type: hyperslab
        3, 0, 0, 0, // selection version
        0, // flags: not regular
        8, // encode size
        1, 0, 0, 0, // rank
        1, 0, 0, 0, 0, 0, 0, 0, // number of blocks
        1, 0, 0, 0, 0, 0, 0, 0, // first coordinate
        0, 0, 0, 0, 0, 1, 0, 0, // last coordinate
    ];

    #[test]
    fn selections_byte_by_byte() {
        let regular = Regular { start: 0, stride: 5, count: None, block: Some(2) };
        let written = [
            (&ALL[..], Selection::All),
            (&BLOCKS, Selection::Blocks(vec![(vec![1, 2], vec![3, 4])])),
            (&POINTS, Selection::Points(vec![vec![7], vec![9]])),
            (&REGULAR, Selection::Regular(vec![regular])),
            (&FAR_BLOCK, Selection::Blocks(vec![(vec![1], vec![1 << 40])])),
        ];
        for (bytes, selection) in written {
            both_ways(bytes, &selection, Selection::parse, Selection::encode);
        }
        // Forms that only other writers use.
        let points = Selection::Points(vec![vec![7], vec![9]]);
        assert_eq!(Selection::parse(&NARROW_POINTS), Ok((&[][..], points)));
        assert_eq!(Selection::parse(&NARROW_REGULAR), Ok((&[][..], Selection::Regular(vec![regular]))));
    }

    #[test]
    fn counts_that_lie() {
        let mut bytes = POINTS;
        bytes[20..24].fill(0xff);
        assert!(Selection::parse(&bytes).is_err());
    }

    #[test]
    fn encoded_and_parsed() {
        let far = 1u64 << 40;
        let regular = Regular { start: 1, stride: 2, count: Some(3), block: None };
        let all = [
            Selection::None,
            Selection::All,
            Selection::Points(vec![vec![1, 2], vec![3, 4]]),
            Selection::Points(vec![vec![far]]),
            Selection::Regular(vec![regular, Regular { count: None, ..regular }]),
            Selection::Blocks(vec![(vec![1, 2], vec![3, 4]), (vec![5, 6], vec![5, 6])]),
            Selection::Blocks(vec![(vec![1], vec![far])]),
        ];
        for selection in all {
            let mut bytes = Vec::new();
            selection.encode(&mut bytes).unwrap();
            assert_eq!(Selection::parse(&bytes).unwrap(), (&[][..], selection));
        }
    }

    fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            near(&ALL),
            near(&BLOCKS),
            near(&NARROW_POINTS),
            near(&REGULAR),
            near(&NARROW_REGULAR),
            near(&FAR_BLOCK)
        ]
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in any_bytes()) {
            if let Ok((_, selection)) = Selection::parse(&bytes) {
                let _ = (selection.rank(), selection.is_of_rank(1));
                let _ = selection.encode(&mut Vec::new());
            }
        }
    }
}
