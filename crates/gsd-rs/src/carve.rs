//! Reads structures of a damaged file one by one, wherever they are.

use sciformats_core::fault::locate;
use sciformats_core::{Result, bound};

use crate::spec::name_list::MAX_NAMES;
use crate::spec::{ElementType, Header, IndexEntry};

/// An index entry at any place of a file.
///
/// ```
/// use gsd_rs::structure::FoundEntry;
///
/// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
/// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
/// writer.write("step", 1, &[1000u64])?;
/// writer.end_frame()?;
/// # let at = writer.header().index.location as usize;
/// let bytes = writer.into_bytes()?;
/// let found = FoundEntry::from_bytes(&bytes[at..]).unwrap();
/// assert_eq!((found.frame, found.n, found.m, found.size()), (0, 1, 1, Some(8)));
/// assert!(FoundEntry::from_bytes(&[0; 32]).is_none()); // an entry that is not used
/// # Ok::<(), gsd_rs::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundEntry {
    /// The frame of the chunk.
    pub frame: u64,
    /// The number of rows.
    pub n: u64,
    /// The number of columns.
    pub m: u32,
    /// The byte offset of the data, which is not 0.
    pub location: u64,
    /// The position of the name in the name list.
    pub id: u16,
    /// The type of the elements, which is one that the format defines.
    pub element: ElementType,
}

impl FoundEntry {
    /// The size of an entry in bytes.
    pub const SIZE: usize = IndexEntry::SIZE;

    /// Returns the entry at the start of `bytes`; `None` if these are no entry, or one that is not used.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (_, IndexEntry { frame, n, location, m, id, element }) = IndexEntry::parse(bytes).ok()?;
        let location = u64::try_from(location).ok().filter(|&location| location > 0)?;
        element.size()?;
        Some(Self { frame, n, m, location, id, element })
    }

    /// Returns the number of bytes of the chunk, or `None` if it does not fit 64 bits.
    pub fn size(&self) -> Option<u64> {
        let element = self.element.size()? as u64;
        self.n.checked_mul(self.m.into())?.checked_mul(element)
    }
}

/// Parses the header at the start of `bytes`. Whether its blocks are inside of the file is not checked.
///
/// # Errors
/// `Malformed`.
pub fn header(bytes: &[u8]) -> Result<Header> {
    locate("header", 0, bytes, Header::parse)
}

/// Returns the names in a block of names, as far as they can be read: up to the end of `bytes`, and at most as many as an id can refer
/// to. A name that is not text is `None`, and so is an empty one that others follow.
///
/// ```
/// use gsd_rs::Version;
/// use gsd_rs::structure::names;
///
/// let found = names(b"step\0\xff\0position\0\0\0", Version::new(2, 0));
/// assert_eq!(found, [Some("step".to_owned()), None, Some("position".to_owned())]);
/// ```
pub fn names(bytes: &[u8], version: crate::Version) -> Vec<Option<String>> {
    const SLOT: usize = 64;
    let text =
        |name: &[u8]| std::str::from_utf8(name).ok().filter(|name| !name.is_empty()).map(str::to_owned);
    let mut found: Vec<Option<String>> = if version.major() >= 2 {
        bytes.split(|&byte| byte == 0).take(MAX_NAMES).map(text).collect()
    } else {
        let ended = |slot: &[u8]| text(slot.split(|&byte| byte == 0).next().unwrap_or_default());
        bytes.chunks(SLOT).take(MAX_NAMES).map(ended).collect()
    };
    let used = found.iter().rposition(Option::is_some).map_or(0, |last| bound::sum(last, 1));
    found.truncate(used);
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn slots_of_old_layers() {
        let mut bytes = vec![0; 192];
        bytes[..4].copy_from_slice(b"step");
        bytes[128..131].copy_from_slice(b"box");
        let found = names(&bytes, crate::Version::new(1, 0));
        assert_eq!(found, [Some("step".to_owned()), None, Some("box".to_owned())]);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = FoundEntry::from_bytes(&bytes);
            let _ = header(&bytes);
            let _ = names(&bytes, crate::Version::new(2, 0));
            let _ = names(&bytes, crate::Version::new(1, 0));
        }
    }
}
