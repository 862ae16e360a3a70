//! Data layout message (IV.A.2.i): where the elements of a dataset are.
//!
//! Versions 1 and 2: version, rank, class, 5 reserved, [address], dimensions (4 each), [size and data if compact].
//! Versions 3 to 5: version, class (0 compact, 1 contiguous, 2 chunked, 3 virtual), properties.

use nom::Parser;
use nom::bytes::complete::take;
use nom::multi::count;
use nom::number::complete::{le_u16, le_u32, u8 as byte};
use sciformats_core::fault::{FaultKind, Parsed, checked, fail, field};

use super::super::global_heap::GlobalId;
use super::super::{Address, Sizes, address, length, uint};

/// Where the elements of a dataset are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// In the message itself.
    Compact(Vec<u8>),
    /// In one piece; without an address nothing is stored, or external files hold it.
    Contiguous {
        /// First byte.
        address: Option<Address>,
    },
    /// In chunks of equal size.
    Chunked(Chunked),
    /// In other datasets; the mappings are in the global heap. Without an object there are none.
    Virtual(Option<GlobalId>),
}

/// The chunks of a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunked {
    /// Elements along each dimension.
    pub dimensions: Vec<u64>,
    /// Bytes of an element.
    pub element_size: u64,
    /// Chunks that reach beyond the dataset are stored without filters.
    pub unfiltered_edges: bool,
    /// Stored sizes in the index are of the width of a length (version 5).
    pub wide_sizes: bool,
    /// How chunks are found.
    pub index: IndexKind,
    /// The index, or the chunks themselves where there is none to it; none if nothing is stored.
    pub address: Option<Address>,
}

/// How chunks are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// Version 1 B-tree.
    BtreeV1,
    /// There is only one: stored size and filters skipped, if it is filtered.
    Single(Option<(u64, u32)>),
    /// All are stored, one after another.
    Implicit,
    /// Fixed array.
    FixedArray,
    /// Extensible array.
    ExtensibleArray,
    /// Version 2 B-tree.
    BtreeV2,
}

impl Layout {
    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        let (at, version) = field("version", byte)(i)?;
        match version {
            1 | 2 => old(at, sizes),
            3..=5 => {
                let (at, class) = field("layout class", byte)(at)?;
                match (class, version) {
                    (0, _) => {
                        let (at, size) = field("size", le_u16)(at)?;
                        field("raw data", take(size))
                            .map(|data: &[u8]| Self::Compact(data.to_vec()))
                            .parse(at)
                    }
                    (1, _) => {
                        let (at, address) = field("address", address(sizes))(at)?;
                        let (at, _) = field("size", length(sizes))(at)?;
                        Ok((at, Self::Contiguous { address }))
                    }
                    (2, 3) => chunked_v3(at, sizes),
                    (2, _) => chunked_v4(at, sizes, version == 5),
                    (3, 4..) => {
                        let (at, id) = field("address", |i| GlobalId::parse_optional(i, sizes))(at)?;
                        Ok((at, Self::Virtual(id)))
                    }
                    _ => field("layout class", |i| fail(i, FaultKind::Undefined { found: class.into() }))(i),
                }
            }
            found => field("version", |i| fail(i, FaultKind::Undefined { found: found.into() }))(i),
        }
    }
}

fn old(i: &[u8], sizes: Sizes) -> Parsed<'_, Layout> {
    let (i, rank) = rank(i)?;
    let (i, class) = field("layout class", byte)(i)?;
    let (i, _) = field("reserved", take(5usize)).parse(i)?;
    let (i, address) = match class {
        0 => (i, None),
        _ => field("address", address(sizes))(i)?,
    };
    let (after, dimensions) = field("dimension", count(le_u32, rank)).parse(i)?;
    match class {
        0 => {
            let (at, size) = field("compact data size", le_u32)(after)?;
            field("compact data", take(size)).map(|data: &[u8]| Layout::Compact(data.to_vec())).parse(at)
        }
        1 => Ok((after, Layout::Contiguous { address })),
        2 => {
            // The element size is one more field behind the dimensions, which its rank does not always count.
            chunked(after, i, &dimensions.into_iter().map(u64::from).collect::<Vec<_>>(), address)
        }
        found => field("layout class", |i| fail(i, FaultKind::Undefined { found: found.into() }))(i),
    }
}

fn chunked_v3(i: &[u8], sizes: Sizes) -> Parsed<'_, Layout> {
    let (i, rank) = rank(i)?;
    let (at, address) = field("address", address(sizes))(i)?;
    let (after, dimensions) = field("dimension size", count(le_u32, rank)).parse(at)?;
    chunked(after, at, &dimensions.into_iter().map(u64::from).collect::<Vec<_>>(), address)
}

fn rank(i: &[u8]) -> Parsed<'_, usize> {
    let (i, rank) = checked("dimensionality", byte, |&rank| {
        (rank > 33).then_some(FaultKind::OutOfBounds { found: rank.into(), end: 34 })
    })(i)?;
    Ok((i, rank.into()))
}

fn chunked<'a>(
    after: &'a [u8],
    at: &'a [u8],
    dimensions: &[u64],
    address: Option<Address>,
) -> Parsed<'a, Layout> {
    let Some((element_size, dimensions)) = split(dimensions) else {
        return field("dimension size", |i| fail(i, FaultKind::Undefined { found: 0 }))(at);
    };
    let index = IndexKind::BtreeV1;
    let chunked =
        Chunked { dimensions, element_size, unfiltered_edges: false, wide_sizes: false, index, address };
    Ok((after, Layout::Chunked(chunked)))
}

/// Element size and dimensions, if there are some and none is 0.
fn split(dimensions: &[u64]) -> Option<(u64, Vec<u64>)> {
    let (&element_size, dimensions) = dimensions.split_last()?;
    (element_size > 0 && !dimensions.is_empty() && !dimensions.contains(&0))
        .then(|| (element_size, dimensions.to_vec()))
}

fn chunked_v4(i: &[u8], sizes: Sizes, wide_sizes: bool) -> Parsed<'_, Layout> {
    let (i, flags) =
        checked("flags", byte, |&flags| (flags > 3).then_some(FaultKind::Undefined { found: flags.into() }))(
            i,
        )?;
    let (i, rank) = rank(i)?;
    let (at, width) = checked("dimension size encoded length", byte, |&width| {
        (width == 0 || width > 8).then_some(FaultKind::Undefined { found: width.into() })
    })(i)?;
    let (i, dimensions) = field("dimension size", count(uint(width.into()), rank)).parse(at)?;
    let Some((element_size, dimensions)) = split(&dimensions) else {
        return field("dimension size", |i| fail(i, FaultKind::Undefined { found: 0 }))(at);
    };
    let (i, index) = index(i, sizes, flags)?;
    let (i, address) = field("address", address(sizes))(i)?;
    let unfiltered_edges = flags & 1 != 0;
    Ok((
        i,
        Layout::Chunked(Chunked { dimensions, element_size, unfiltered_edges, wide_sizes, index, address }),
    ))
}

fn index(i: &[u8], sizes: Sizes, flags: u8) -> Parsed<'_, IndexKind> {
    let (at, kind) = field("chunk indexing type", byte)(i)?;
    match kind {
        1 if flags & 2 != 0 => {
            let (at, size) = field("size of filtered chunk", length(sizes))(at)?;
            let (at, mask) = field("filters for chunk", le_u32)(at)?;
            Ok((at, IndexKind::Single(Some((size, mask)))))
        }
        1 => Ok((at, IndexKind::Single(None))),
        2 => Ok((at, IndexKind::Implicit)),
        3 => field("page bits", take(1usize)).map(|_: &[u8]| IndexKind::FixedArray).parse(at),
        4 => field("extensible array parameters", take(5usize))
            .map(|_: &[u8]| IndexKind::ExtensibleArray)
            .parse(at),
        5 => field("B-tree parameters", take(6usize)).map(|_: &[u8]| IndexKind::BtreeV2).parse(at),
        found => field("chunk indexing type", |i| fail(i, FaultKind::Undefined { found: found.into() }))(i),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::test::{SIZES, hex};
    use super::*;

    #[test]
    fn chunks_of_version_3_and_4() {
        let (rest, v3) =
            Layout::parse(&hex("03 02 02 0010000000000000 14000000 04000000"), SIZES).map(own).unwrap();
        let chunked = Chunked {
            dimensions: vec![20],
            element_size: 4,
            unfiltered_edges: false,
            wide_sizes: false,
            index: IndexKind::BtreeV1,
            address: Some(Address(0x1000)),
        };
        assert_eq!((rest, v3), (0, Layout::Chunked(chunked.clone())));
        let (rest, v4) =
            Layout::parse(&hex("04 02 00 02 01 14 04 03 0a 0010000000000000"), SIZES).map(own).unwrap();
        assert_eq!((rest, v4), (0, Layout::Chunked(Chunked { index: IndexKind::FixedArray, ..chunked })));
        assert!(Layout::parse(&hex("04 02 00 02 01 00 04 03 0a 0010000000000000"), SIZES).is_err());
    }

    #[test]
    fn compact_and_contiguous() {
        let parse = |text| Layout::parse(&hex(text), SIZES).map(own).ok();
        assert_eq!(parse("03 00 0200 0102"), Some((0, Layout::Compact(vec![1, 2]))));
        assert_eq!(
            parse("03 01 ffffffffffffffff 0000000000000000"),
            Some((0, Layout::Contiguous { address: None }))
        );
        assert_eq!(parse("03 03 ffffffffffffffff 00000000"), None, "virtual layouts came with version 4");
    }

    fn own((rest, layout): (&[u8], Layout)) -> (usize, Layout) {
        (rest.len(), layout)
    }
}
