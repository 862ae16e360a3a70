//! The superblock (II.A): where everything else starts.
//!
//! | size | versions 0 and 1 | size | versions 2 and 3 |
//! |---|---|---|---|
//! | 8 | signature | 8 | signature |
//! | 1 | version | 1 | version |
//! | 1 | version of the free space (0) | 1 | size of offsets |
//! | 1 | version of the root entry (0) | 1 | size of lengths |
//! | 1 | reserved | 1 | consistency flags |
//! | 1 | version of shared headers (0) | O | base address |
//! | 1 | size of offsets | O | superblock extension |
//! | 1 | size of lengths | O | end of file |
//! | 1 | reserved | O | root group's header |
//! | 2 | group leaf K | 4 | checksum |
//! | 2 | group internal K | | |
//! | 4 | consistency flags | | |
//! | 2+2 | chunk K and reserved (version 1) | | |
//! | 4·O | base, free space, end of file, driver information | | |
//! | | root group's symbol table entry | | |

use nom::Parser;
use nom::bytes::complete::{tag, take};
use nom::number::complete::{le_u16, le_u32, u8 as byte};
use sciformats_core::Result;
use sciformats_core::fault::{FaultKind, Parsed, checked, constant, fail, field};

use super::symbol_table::Entry;
use super::{Address, Sizes, address, defined, put_address, put_checksum, put_uint, sealed, uint};

/// The bytes that an HDF5 file, or what follows its user block, begins with.
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
    /// The address to which all others are relative, as stored.
    pub base: u64,
    /// The length of the file, counted from its very beginning.
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
        /// Free space, which no library writes.
        free_space: Option<Address>,
        /// The driver information block.
        driver_info: Option<Address>,
        /// The root group.
        root: Entry,
    },
    /// The fields of versions 2 and 3.
    New {
        /// An object header with messages about the whole file.
        extension: Option<Address>,
        /// The root group's object header.
        root: Address,
    },
}

impl Superblock {
    /// No superblock is longer.
    pub(crate) const MAX_SIZE: usize = 8 + 16 + 8 + 4 * 32 + 2 * 32 + 24;

    /// The consistency flags of a file that a program has open for writing, and of one that others may read meanwhile.
    const WRITTEN: u32 = 0b101;

    /// Whether a program writes to the file, or was killed while it did.
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
    use super::super::test::{hex, seal};
    use super::*;

    #[test]
    fn version_3() {
        let bytes = seal(hex(
            "89484446 0d0a1a0a  03 08 08 00  0000000000000000 ffffffffffffffff 7800000000000000 3000000000000000",
        ));
        assert_eq!(bytes.len(), 48);
        let (rest, superblock) = Superblock::parse(&bytes).unwrap();
        assert!(rest.is_empty());
        assert_eq!(superblock.end_of_file, 0x78);
        let mut encoded = Vec::new();
        superblock.encode(&mut encoded).unwrap();
        assert_eq!(encoded, bytes);
        assert_eq!(superblock.rest, Rest::New { extension: None, root: Address(0x30) });
        for at in 8..48 {
            let mut broken = bytes.clone();
            broken[at] ^= 4;
            assert!(Superblock::parse(&broken).is_err(), "byte {at}");
        }
    }

    #[test]
    fn version_0() {
        let bytes = hex("89484446 0d0a1a0a  00 00 00 00 00 08 08 00  0400 1000 00000000 \
             0000000000000000 ffffffffffffffff 2003000000000000 ffffffffffffffff \
             0000000000000000 6000000000000000 01000000 00000000 8800000000000000 a802000000000000");
        assert_eq!(bytes.len(), 96);
        let (rest, superblock) = Superblock::parse(&bytes).unwrap();
        assert!(rest.is_empty());
        assert_eq!(superblock.root(), Some(Address(0x60)));
        assert_eq!(superblock.end_of_file, 0x320);
        let mut encoded = Vec::new();
        superblock.encode(&mut encoded).unwrap();
        assert_eq!(encoded, bytes);
    }
}
