//! Data layout message (IV.A.2.i): where the elements of a dataset are.
//!
//! | offset | size | field of versions 1 and 2 |
//! |---|---|---|
//! | 0 | 1 | version |
//! | 1 | 1 | dimensionality, n; for chunks, this is one more than the dataset has |
//! | 2 | 1 | layout class: 0 compact, 1 contiguous, 2 chunked |
//! | 3 | 5 | reserved |
//! | 8 | O | address, or none (absent in class 0) |
//! | | 4·n | dimensions; for chunks, the last one is the size of an element |
//! | | 4 | compact data size (class 0) |
//! | | | compact data (class 0) |
//!
//! | offset | size | field of versions 3 to 5 |
//! |---|---|---|
//! | 0 | 1 | version: 3; 4 for virtual storage and the new chunk indexes; 5 if these indexes have wide chunk sizes |
//! | 1 | 1 | layout class: 0 compact, 1 contiguous, 2 chunked, 3 virtual (from version 4 on) |
//! | 2 | | properties of the class |
//!
//! | class | bytes of the properties |
//! |---|---|
//! | compact | size (2), raw data |
//! | contiguous | address (O, or none), size (L) |
//! | chunked, version 3 | dimensionality plus 1 (1), address of the v1 B-tree (O, or none), dimension sizes and element size (4 each) |
//! | chunked, later | flags (1), dimensionality plus 1 (1), dimension size encoded length w (1), dimension sizes and element size (w each), chunk indexing type (1), parameters of the index, address (O, or none) |
//! | virtual | address of the [global heap](super::super::global_heap) collection (O, or none), index (4) |
//!
//! | chunk indexing type | bytes of its parameters |
//! |---|---|
//! | 1 single chunk | with flag 2: size of filtered chunk (L), filters for chunk (4) |
//! | 2 implicit | none |
//! | 3 fixed array | page bits (1) |
//! | 4 extensible array | max bits, index elements, min pointers, min elements, page bits (1 each) |
//! | 5 version 2 B-tree | node size (4), split percent (1), merge percent (1) |
//!
//! Flag 1 means that chunks that extend beyond the dataset are stored without filters.

use nom::Parser;
use nom::bytes::complete::take;
use nom::multi::count;
use nom::number::complete::{le_u16, le_u32, u8 as byte};
use sciformats_core::Result;
use sciformats_core::arith::fit;
use sciformats_core::fault::{FaultKind, Parsed, checked, fail, field};

use super::super::global_heap::GlobalId;
use super::super::{
    Address, Sizes, address, length, put_address, put_length, put_uint, short, uint, width_for,
};

/// Where and how the elements of a dataset are stored.
///
/// ```
/// use hdf5_pure::structure::Layout;
///
/// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
/// # made.root().attribute("title", "a week in May")?;
/// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
/// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
/// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
/// match file.dataset("surface/temperature")?.layout()? {
///     Layout::Contiguous { address } => assert!(address.is_some()),
///     Layout::Chunked(chunked) => println!("chunks of {:?}", chunked.dimensions),
///     other => println!("{other:?}"),
/// }
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The elements are in the message itself.
    Compact(Vec<u8>),
    /// The elements are contiguous. Without an address, nothing is stored, or external files contain the elements.
    Contiguous {
        /// The address of the first byte.
        address: Option<Address>,
    },
    /// The elements are in chunks of equal size.
    Chunked(Chunked),
    /// The elements are in other datasets. The mappings are in the global heap; without an ID there are no mappings.
    Virtual(Option<GlobalId>),
}

/// How the elements of a chunked dataset are stored.
///
/// ```
/// use hdf5_pure::structure::Layout;
/// use hdf5_pure::{CreateOptions, File, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// file.dataset("frames").shape([10, 8, 8]).chunks([1, 8, 8]).write(&[0u16; 640])?;
/// let frames = File::from_bytes(file.into_bytes()?)?.dataset("frames")?;
/// if let Layout::Chunked(chunked) = frames.layout()? {
///     assert_eq!((&chunked.dimensions[..], chunked.element_size), (&[1, 8, 8][..], 2));
/// }
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunked {
    /// The number of elements of a chunk along each dimension.
    pub dimensions: Vec<u64>,
    /// The size of an element in bytes.
    pub element_size: u64,
    /// Whether chunks that extend beyond the dataset are stored without filters.
    pub unfiltered_edges: bool,
    /// Whether stored sizes in the index have the width of a length (version 5 of the message).
    pub wide_sizes: bool,
    /// The kind of chunk index.
    pub index: IndexKind,
    /// The address of the index, or of the chunks if the index has no structure of its own; `None` if nothing is
    /// stored.
    pub address: Option<Address>,
}

/// The kinds of chunk index.
///
/// ```
/// use hdf5_pure::structure::{IndexKind, Layout};
/// use hdf5_pure::{CreateOptions, File, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// file.dataset("energy").max_shape([None]).chunks([64]).write(&[0.5; 100])?;
/// let energy = File::from_bytes(file.into_bytes()?)?.dataset("energy")?;
/// assert!(matches!(energy.layout()?, Layout::Chunked(chunked) if chunked.index == IndexKind::ExtensibleArray));
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// A version 1 B-tree.
    BtreeV1,
    /// A single chunk. If it is filtered, its stored size and the skipped filters are in the message.
    Single(Option<(u64, u32)>),
    /// All chunks are stored, one after another.
    Implicit,
    /// A fixed array.
    FixedArray,
    /// An extensible array.
    ExtensibleArray,
    /// A version 2 B-tree.
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
            // The size of an element follows the dimensions as an additional field, which not every writer counts in the
            // dimensionality.
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

/// Separates the size of an element from the dimensions, if there are dimensions and none of them is 0.
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

/// The node size of version 2 B-trees of chunks that the C library uses.
pub(crate) const NODE_SIZE: u32 = 2048;
/// The binary logarithm of the page size of arrays that the C library uses.
pub(crate) const PAGE_BITS: u8 = 10;
/// The default parameters of extensible arrays: bits of an index, elements of the index block, and the numbers of pointers and
/// elements of the smallest blocks.
pub(crate) const MAX_BITS: u8 = 32;
pub(crate) const INDEX_ELEMENTS: u8 = 4;
pub(crate) const MIN_SUPER_POINTERS: u8 = 4;
pub(crate) const MIN_DATA_ELEMENTS: u8 = 16;

impl Layout {
    /// Appends a message of the oldest version that can hold the layout. `bytes` is the size of all elements.
    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes, bytes: u64) -> Result<()> {
        match self {
            Self::Compact(data) => {
                out.extend([3, 0]);
                out.extend(short(data.len(), "size of compact data")?.to_le_bytes());
                out.extend(data);
            }
            Self::Contiguous { address } => {
                out.extend([3, 1]);
                put_address(out, *address, sizes)?;
                put_length(out, bytes, sizes)?;
            }
            Self::Chunked(chunked) => chunked.encode(out, sizes)?,
            Self::Virtual(id) => {
                out.extend([4, 3]);
                put_address(out, id.map(|id| id.collection), sizes)?;
                out.extend(id.map_or(0, |id| id.index).to_le_bytes());
            }
        }
        Ok(())
    }
}

impl Chunked {
    fn encode(&self, out: &mut Vec<u8>, sizes: Sizes) -> Result<()> {
        let dimensions = || self.dimensions.iter().chain([&self.element_size]).copied();
        let count = fit(dimensions().count(), "dimensionality of chunks")?;
        if self.index == IndexKind::BtreeV1 {
            out.extend([3, 2, count]);
            put_address(out, self.address, sizes)?;
            dimensions().try_for_each(|size| put_uint(out, size, 4))?;
            return Ok(());
        }
        let filtered_single = matches!(self.index, IndexKind::Single(Some(_)));
        let flags = u8::from(self.unfiltered_edges) | u8::from(filtered_single) << 1;
        let width = width_for(dimensions().fold(0, u64::max));
        out.extend([if self.wide_sizes { 5 } else { 4 }, 2, flags, count]);
        out.push(fit(width, "dimension size encoded length")?);
        dimensions().try_for_each(|size| put_uint(out, size, width))?;
        match self.index {
            IndexKind::Single(filtered) => {
                out.push(1);
                if let Some((size, mask)) = filtered {
                    put_length(out, size, sizes)?;
                    out.extend(mask.to_le_bytes());
                }
            }
            IndexKind::Implicit => out.push(2),
            IndexKind::FixedArray => out.extend([3, PAGE_BITS]),
            IndexKind::ExtensibleArray => {
                out.extend([4, MAX_BITS, INDEX_ELEMENTS, MIN_SUPER_POINTERS, MIN_DATA_ELEMENTS, PAGE_BITS]);
            }
            IndexKind::BtreeV2 | IndexKind::BtreeV1 => {
                out.push(5);
                out.extend(NODE_SIZE.to_le_bytes());
                out.extend([100, 40]);
            }
        }
        put_address(out, self.address, sizes)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::test::{SIZES, any_sizes, both_ways, hex, near};
    use super::*;

    const CHUNKED_1: [u8; 24] = [
        1, // version
        2, // dimensionality
        2, // layout class: chunked
        0, 0, 0, 0, 0, // reserved
        0, 0x10, 0, 0, 0, 0, 0, 0, // address
        0x14, 0, 0, 0, // dimension 0
        4, 0, 0, 0, // element size
    ];

    const COMPACT_1: [u8; 18] = [
        1, // version
        1, // dimensionality
        0, // layout class: compact
        0, 0, 0, 0, 0, // reserved
        2, 0, 0, 0, // dimension 0
        2, 0, 0, 0, // compact data size
        1, 2, // compact data
    ];

    const COMPACT: [u8; 6] = [
        3, // version
        0, // layout class: compact
        2, 0, // size
        1, 2, // raw data
    ];

    const CONTIGUOUS: [u8; 18] = [
        3, // version
        1, // layout class: contiguous
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // address: none
        0x30, 0, 0, 0, 0, 0, 0, 0, // size
    ];

    const CHUNKED_3: [u8; 19] = [
        3, // version
        2, // layout class: chunked
        2, // dimensionality and 1
        0, 0x10, 0, 0, 0, 0, 0, 0, // address
        0x14, 0, 0, 0, // dimension size
        4, 0, 0, 0, // element size
    ];

    const FIXED_ARRAY: [u8; 17] = [
        4,    // version
        2,    // layout class: chunked
        0,    // flags
        2,    // dimensionality and 1
        1,    // dimension size encoded length
        0x14, // dimension size
        4,    // element size
        3,    // chunk indexing type: fixed array
        0x0a, // page bits
        0, 0x10, 0, 0, 0, 0, 0, 0, // address
    ];

    const SINGLE: [u8; 30] = [
        5, // version
        2, // layout class: chunked
        3, // flags: edges are not filtered, the single chunk is filtered
        2, // dimensionality and 1
        2, // dimension size encoded length
        0x2c, 1, // dimension size
        4, 0, // element size
        1, // chunk indexing type: single chunk
        0xbc, 2, 0, 0, 0, 0, 0, 0, // size of filtered chunk
        1, 0, 0, 0, // filters for chunk
        0, 0x10, 0, 0, 0, 0, 0, 0, // address
    ];

    const EXTENSIBLE_ARRAY: [u8; 21] = [
        4,    // version
        2,    // layout class: chunked
        0,    // flags
        2,    // dimensionality and 1
        1,    // dimension size encoded length
        0x14, // dimension size
        4,    // element size
        4,    // chunk indexing type: extensible array
        0x20, // max bits
        4,    // index elements
        4,    // min pointers
        0x10, // min elements
        0x0a, // page bits
        0, 0x10, 0, 0, 0, 0, 0, 0, // address
    ];

    const BTREE: [u8; 22] = [
        4,    // version
        2,    // layout class: chunked
        0,    // flags
        2,    // dimensionality and 1
        1,    // dimension size encoded length
        0x14, // dimension size
        4,    // element size
        5,    // chunk indexing type: version 2 B-tree
        0, 8, 0, 0,    // node size
        0x64, // split percent
        0x28, // merge percent
        0, 0x10, 0, 0, 0, 0, 0, 0, // address
    ];

    const VIRTUAL: [u8; 14] = [
        4, // version
        3, // layout class: virtual
        0, 0x10, 0, 0, 0, 0, 0, 0, // address of the collection
        3, 0, 0, 0, // index
    ];

    fn chunked(index: IndexKind) -> Chunked {
        Chunked {
            dimensions: vec![20],
            element_size: 4,
            unfiltered_edges: false,
            wide_sizes: false,
            index,
            address: Some(Address(0x1000)),
        }
    }

    #[test]
    fn byte_by_byte() {
        let single = Chunked {
            dimensions: vec![300],
            unfiltered_edges: true,
            wide_sizes: true,
            ..chunked(IndexKind::Single(Some((700, 1))))
        };
        let written = [
            (&COMPACT[..], Layout::Compact(vec![1, 2])),
            (&CONTIGUOUS, Layout::Contiguous { address: None }),
            (&CHUNKED_3, Layout::Chunked(chunked(IndexKind::BtreeV1))),
            (&SINGLE, Layout::Chunked(single)),
            (&FIXED_ARRAY, Layout::Chunked(chunked(IndexKind::FixedArray))),
            (&EXTENSIBLE_ARRAY, Layout::Chunked(chunked(IndexKind::ExtensibleArray))),
            (&BTREE, Layout::Chunked(chunked(IndexKind::BtreeV2))),
            (&VIRTUAL, Layout::Virtual(Some(GlobalId { collection: Address(0x1000), index: 3 }))),
        ];
        for (bytes, layout) in written {
            both_ways(
                bytes,
                &layout,
                |i| Layout::parse(i, SIZES),
                |layout, out| layout.encode(out, SIZES, 48),
            );
        }
        // Versions that are not written any more.
        let old = Layout::Chunked(chunked(IndexKind::BtreeV1));
        assert_eq!(Layout::parse(&CHUNKED_1, SIZES), Ok((&[][..], old)));
        assert_eq!(Layout::parse(&COMPACT_1, SIZES), Ok((&[][..], Layout::Compact(vec![1, 2]))));
    }

    #[test]
    fn what_is_no_layout() {
        let parse = |text| Layout::parse(&hex(text), SIZES).map(|(_, layout)| layout).ok();
        assert_eq!(parse("03 03 ffffffffffffffff 00000000"), None, "virtual layouts came with version 4");
        assert_eq!(parse("04 02 00 02 01 00 04 03 0a 0010000000000000"), None, "a chunk of no elements");
        assert_eq!(parse("06 00 0000"), None, "a version to come");
    }

    #[test]
    fn encoded_and_parsed() {
        let kinds = [
            IndexKind::BtreeV1,
            IndexKind::Single(None),
            IndexKind::Single(Some((70_000, 1))),
            IndexKind::Implicit,
            IndexKind::FixedArray,
            IndexKind::ExtensibleArray,
            IndexKind::BtreeV2,
        ];
        let of = |index| Layout::Chunked(Chunked { dimensions: vec![20, 300], ..chunked(index) });
        for layout in kinds.into_iter().map(of) {
            let mut bytes = Vec::new();
            layout.encode(&mut bytes, SIZES, 3).unwrap();
            assert_eq!(Layout::parse(&bytes, SIZES).unwrap(), (&[][..], layout));
        }
    }

    fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            near(&CHUNKED_1),
            near(&COMPACT_1),
            near(&CONTIGUOUS),
            near(&CHUNKED_3),
            near(&SINGLE),
            near(&EXTENSIBLE_ARRAY),
            near(&BTREE),
            near(&VIRTUAL),
        ]
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in any_bytes(), sizes in any_sizes()) {
            let _ = Layout::parse(&bytes, sizes);
        }
    }
}
