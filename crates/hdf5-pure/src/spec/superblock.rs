//! The superblock (II.A), which leads to everything else in the file.
//!
//! | offset | size | field of versions 0 and 1 |
//! |---|---|---|
//! | 0 | 8 | signature: `\x89HDF\r\n\x1a\n` |
//! | 8 | 1 | version: 0 or 1 |
//! | 9 | 1 | version of the free space: 0 |
//! | 10 | 1 | version of the root group entry: 0 |
//! | 11 | 1 | reserved |
//! | 12 | 1 | version of the shared header message format: 0 |
//! | 13 | 1 | size of offsets: 2, 4, 8, 16 or 32 |
//! | 14 | 1 | size of lengths: 2, 4, 8, 16 or 32 |
//! | 15 | 1 | reserved |
//! | 16 | 2 | group leaf node K, not 0 |
//! | 18 | 2 | group internal node K, not 0 |
//! | 20 | 4 | file consistency flags |
//! | 24 | 2 | indexed storage internal node K, not 0 (version 1 only; 32 in version 0) |
//! | 26 | 2 | reserved (version 1 only) |
//! | | O | base address |
//! | | O | address of file free space info: none |
//! | | O | end of file address |
//! | | O | driver information block address, or none |
//! | | | root group symbol table entry: [`symbol_table`](super::symbol_table) |
//!
//! | offset | size | field of versions 2 and 3 |
//! |---|---|---|
//! | 0 | 8 | signature |
//! | 8 | 1 | version: 2 or 3 |
//! | 9 | 1 | size of offsets |
//! | 10 | 1 | size of lengths |
//! | 11 | 1 | file consistency flags |
//! | 12 | O | base address |
//! | 12 + O | O | superblock extension address, or none |
//! | 12 + 2·O | O | end of file address |
//! | 12 + 3·O | O | root group object header address |
//! | 12 + 4·O | 4 | checksum |

use nom::Parser;
use nom::bytes::complete::{tag, take};
use nom::number::complete::{le_u16, le_u32, u8 as byte};
use sciformats_core::Result;
use sciformats_core::fault::{FaultKind, Parsed, checked, constant, fail, field};

use super::symbol_table::Entry;
use super::{Address, Sizes, address, defined, put_address, put_checksum, put_uint, sealed, uint};

/// The bytes at the start of an HDF5 file, or after its user block.
pub const SIGNATURE: [u8; 8] = *b"\x89HDF\r\n\x1a\n";

/// The superblock of a file.
///
/// ```
/// use hdf5_pure::structure::Rest;
///
/// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
/// # made.root().attribute("title", "a week in May")?;
/// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
/// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
/// # let bytes = made.into_bytes()?;
/// let len = bytes.len() as u64;
/// let file = hdf5_pure::File::from_bytes(bytes)?;
/// let superblock = file.superblock();
/// assert_eq!((superblock.version, superblock.end_of_file), (3, len));
/// assert!(matches!(superblock.rest, Rest::New { root, .. } if root == file.root()?.address()));
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// The version: 0 to 3.
    pub version: u8,
    /// The sizes of addresses and lengths.
    pub sizes: Sizes,
    /// Bit 0 is set if the file is open for writing or was not closed properly. Bit 2 is set if a SWMR writer has it
    /// open.
    pub consistency_flags: u32,
    /// The base address to which all other addresses are relative, as it is stored.
    pub base: u64,
    /// The length of the file, counted from its first byte.
    pub end_of_file: u64,
    /// The fields that differ between the old and the new versions.
    pub rest: Rest,
}

/// The fields of a superblock that depend on its version.
///
/// ```
/// use hdf5_pure::structure::Rest;
/// use hdf5_pure::{CreateOptions, File, Writer};
/// use hdf5_pure::options::Bound;
///
/// let file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::Earliest))?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// assert!(matches!(file.superblock().rest, Rest::Old { group_leaf_k: 4, .. }));
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rest {
    /// The fields of versions 0 and 1.
    Old {
        /// Half the number of entries of a symbol table node.
        group_leaf_k: u16,
        /// Half the number of children of a group's B-tree node.
        group_internal_k: u16,
        /// Half the number of children of a chunk B-tree node.
        chunk_k: u16,
        /// The address of free-space information, which no library writes.
        free_space: Option<Address>,
        /// The address of the driver information block.
        driver_info: Option<Address>,
        /// The entry of the root group.
        root: Entry,
    },
    /// The fields of versions 2 and 3.
    New {
        /// The address of an object header with messages about the whole file.
        extension: Option<Address>,
        /// The address of the root group's object header.
        root: Address,
    },
}

impl Superblock {
    /// The size of the longest superblock in bytes.
    pub(crate) const MAX_SIZE: usize = 8 + 16 + 8 + 4 * 32 + 2 * 32 + 24;

    /// The consistency flags that are set while a program writes to the file (bit 0), possibly with concurrent readers (bit 2).
    const WRITTEN: u32 = 0b101;

    /// Returns whether a program is writing to the file, or was killed while it did.
    pub(crate) fn is_written(&self) -> bool {
        self.version >= 3 && self.consistency_flags & Self::WRITTEN != 0
    }

    pub(crate) fn parse(i: &[u8]) -> Parsed<'_, Self> {
        let (at, _) = field("signature", tag(&SIGNATURE[..])).parse(i)?;
        match field("version", byte)(at)?.1 {
            0 | 1 => old(i),
            2 | 3 => sealed(new)(i),
            found => field("version", |i| fail(i, FaultKind::Undefined { found: found.into() }))(at),
        }
    }

    /// Returns the address of the root group's object header.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// assert_eq!(file.superblock().root(), Some(file.root()?.address()));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn root(&self) -> Option<Address> {
        match &self.rest {
            Rest::Old { root, .. } => root.header,
            Rest::New { root, .. } => Some(*root),
        }
    }
}

fn width<'a>(name: &'static str) -> impl FnMut(&'a [u8]) -> Parsed<'a, u8> {
    checked(name, byte, |&found| {
        (!matches!(found, 2 | 4 | 8 | 16 | 32)).then_some(FaultKind::Undefined { found: found.into() })
    })
}

fn old(i: &[u8]) -> Parsed<'_, Superblock> {
    let (i, _) = take(SIGNATURE.len())(i)?;
    let (i, version) = field("version", byte)(i)?;
    let (i, _) = constant("version of the free space", byte, 0)(i)?;
    let (i, _) = constant("version of the root group entry", byte, 0)(i)?;
    let (i, _) = byte(i)?;
    let (i, _) = constant("version of the shared header message format", byte, 0)(i)?;
    let (i, offsets) = width("size of offsets")(i)?;
    let (i, lengths) = width("size of lengths")(i)?;
    let sizes = Sizes { offsets, lengths };
    let (i, _) = byte(i)?;
    let (i, group_leaf_k) = checked("group leaf node K", le_u16, zero)(i)?;
    let (i, group_internal_k) = checked("group internal node K", le_u16, zero)(i)?;
    let (i, consistency_flags) = field("file consistency flags", le_u32)(i)?;
    let (i, chunk_k) = match version {
        0 => (i, 32),
        _ => {
            let (i, k) = checked("indexed storage internal node K", le_u16, zero)(i)?;
            let (i, _) = take(2usize)(i)?;
            (i, k)
        }
    };
    let (i, base) = field("base address", uint(usize::from(offsets)))(i)?;
    let (i, free_space) = field("address of file free space info", address(sizes))(i)?;
    let (i, end_of_file) = field("end of file address", defined(sizes))(i)?;
    let (i, driver_info) = field("driver information block address", address(sizes))(i)?;
    let (i, root) = Entry::parse(i, sizes)?;
    let rest = Rest::Old { group_leaf_k, group_internal_k, chunk_k, free_space, driver_info, root };
    Ok((i, Superblock { version, sizes, consistency_flags, base, end_of_file: end_of_file.0, rest }))
}

fn zero(k: &u16) -> Option<FaultKind> {
    (*k == 0).then_some(FaultKind::Undefined { found: 0 })
}

fn new(i: &[u8]) -> Parsed<'_, Superblock> {
    let (i, _) = take(SIGNATURE.len())(i)?;
    let (i, version) = field("version", byte)(i)?;
    let (i, offsets) = width("size of offsets")(i)?;
    let (i, lengths) = width("size of lengths")(i)?;
    let sizes = Sizes { offsets, lengths };
    let (i, flags) = field("file consistency flags", byte)(i)?;
    let (i, base) = field("base address", uint(usize::from(offsets)))(i)?;
    let (i, extension) = field("superblock extension address", address(sizes))(i)?;
    let (i, end_of_file) = field("end of file address", defined(sizes))(i)?;
    let (i, root) = field("root group object header address", defined(sizes))(i)?;
    let rest = Rest::New { extension, root };
    let end_of_file = end_of_file.0;
    Ok((i, Superblock { version, sizes, consistency_flags: flags.into(), base, end_of_file, rest }))
}

impl Superblock {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        let Sizes { offsets, lengths } = self.sizes;
        out.extend(SIGNATURE);
        out.push(self.version);
        match &self.rest {
            Rest::Old { group_leaf_k, group_internal_k, chunk_k, free_space, driver_info, root } => {
                out.extend([0, 0, 0, 0, offsets, lengths, 0]);
                out.extend(group_leaf_k.to_le_bytes());
                out.extend(group_internal_k.to_le_bytes());
                out.extend(self.consistency_flags.to_le_bytes());
                if self.version == 1 {
                    out.extend(chunk_k.to_le_bytes());
                    out.extend([0, 0]);
                }
                put_uint(out, self.base, offsets.into())?;
                put_address(out, *free_space, self.sizes)?;
                put_uint(out, self.end_of_file, offsets.into())?;
                put_address(out, *driver_info, self.sizes)?;
                root.encode(out, self.sizes)?;
            }
            Rest::New { extension, root } => {
                let [flags, ..] = self.consistency_flags.to_le_bytes();
                out.extend([offsets, lengths, flags]);
                put_uint(out, self.base, offsets.into())?;
                put_address(out, *extension, self.sizes)?;
                put_uint(out, self.end_of_file, offsets.into())?;
                put_address(out, Some(*root), self.sizes)?;
                put_checksum(out, start)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::symbol_table::Cache;
    use super::super::test::{SIZES, both_ways, near, near_sealed, seal};
    use super::*;

    const VERSION_0: [u8; 96] = [
        0x89, b'H', b'D', b'F', 0x0d, 0x0a, 0x1a, 0x0a, // signature
        0,    // version
        0,    // version of the free space
        0,    // version of the root group entry
        0,    // reserved
        0,    // version of the shared header message format
        8,    // size of offsets
        8,    // size of lengths
        0,    // reserved
        4, 0, // group leaf node K
        0x10, 0, // group internal node K
        0, 0, 0, 0, // file consistency flags
        0, 0, 0, 0, 0, 0, 0, 0, // base address
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // address of file free space info: none
        0x20, 3, 0, 0, 0, 0, 0, 0, // end of file address
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // driver information block address: none
        0, 0, 0, 0, 0, 0, 0, 0, // root group: link name offset
        0x60, 0, 0, 0, 0, 0, 0, 0, // object header address
        1, 0, 0, 0, // cache type: a group
        0, 0, 0, 0, // reserved
        0x88, 0, 0, 0, 0, 0, 0, 0, // scratch-pad: B-tree
        0xa8, 2, 0, 0, 0, 0, 0, 0, // local heap
    ];

    /// A superblock without its checksum.
    const VERSION_3: [u8; 44] = [
        0x89, b'H', b'D', b'F', 0x0d, 0x0a, 0x1a, 0x0a, // signature
        3,    // version
        8,    // size of offsets
        8,    // size of lengths
        5,    // file consistency flags: written to, others read
        0, 0, 0, 0, 0, 0, 0, 0, // base address
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // superblock extension address: none
        0x78, 0, 0, 0, 0, 0, 0, 0, // end of file address
        0x30, 0, 0, 0, 0, 0, 0, 0, // root group object header address
    ];

    fn encode(superblock: &Superblock, out: &mut Vec<u8>) -> Result<()> {
        superblock.encode(out)
    }

    #[test]
    fn version_3() {
        let bytes = seal(VERSION_3.to_vec());
        assert_eq!(bytes.len(), 48);
        let expected = Superblock {
            version: 3,
            sizes: SIZES,
            consistency_flags: 5,
            base: 0,
            end_of_file: 0x78,
            rest: Rest::New { extension: None, root: Address(0x30) },
        };
        assert!(expected.is_written());
        both_ways(&bytes, &expected, Superblock::parse, encode);
        for at in 8..48 {
            let mut broken = bytes.clone();
            broken[at] ^= 4;
            assert!(Superblock::parse(&broken).is_err(), "byte {at}");
        }
    }

    #[test]
    fn versions_0_and_1() {
        let cache = Cache::Group { btree: Some(Address(0x88)), heap: Some(Address(0x2a8)) };
        let rest = |chunk_k| Rest::Old {
            group_leaf_k: 4,
            group_internal_k: 16,
            chunk_k,
            free_space: None,
            driver_info: None,
            root: Entry { name: 0, header: Some(Address(0x60)), cache: cache.clone() },
        };
        let mut expected = Superblock {
            version: 0,
            sizes: SIZES,
            consistency_flags: 0,
            base: 0,
            end_of_file: 0x320,
            rest: rest(32),
        };
        assert_eq!(expected.root(), Some(Address(0x60)));
        both_ways(&VERSION_0, &expected, Superblock::parse, encode);
        (expected.version, expected.rest) = (1, rest(7));
        let mut bytes = VERSION_0.to_vec();
        bytes[8] = 1;
        bytes.splice(24..24, [7, 0, 0, 0]);
        both_ways(&bytes, &expected, Superblock::parse, encode);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(old in near(&VERSION_0), new in near_sealed(&VERSION_3)) {
            let _ = Superblock::parse(&old);
            let _ = Superblock::parse(&new);
        }
    }
}
