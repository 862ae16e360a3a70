//! File space info message (IV.A.2.x): how the file manages its free space.
//!
//! | offset | size | field of version 0 |
//! |---|---|---|
//! | 0 | 1 | version: 0 |
//! | 1 | 1 | strategy: 1 and 2 mean 0 of version 1, with free space persisting (1) or not (2); 3 means 2, 4 means 3 |
//! | 2 | L | threshold: size of the smallest section that is tracked |
//! | 2 + L | 6·O | addresses of free-space managers, or none (strategy 1) |
//!
//! | offset | size | field of version 1 |
//! |---|---|---|
//! | 0 | 1 | version: 1 |
//! | 1 | 1 | strategy: 0 free-space managers and aggregators, 1 pages, 2 aggregators, 3 none |
//! | 2 | 1 | persisting free space: 1 if free space is still tracked after the file is closed |
//! | 3 | L | free-space section threshold |
//! | 3 + L | L | file space page size |
//! | 3 + 2·L | 2 | page-end metadata threshold |
//! | 5 + 2·L | O | end of address: the end of the file without its free-space managers |
//! | 5 + 2·L + O | 12·O | addresses of free-space managers, or none (if free space persists) |

use nom::Parser;
use nom::bytes::complete::take;
use nom::combinator::cond;
use nom::multi::count;
use nom::number::complete::{le_u16, u8 as byte};
use sciformats_core::Result;
use sciformats_core::arith::present;
use sciformats_core::fault::{FaultKind, Parsed, fail, field};

use super::super::{Address, Sizes, address, length, put_address, put_length};

/// The default page size in bytes.
pub(crate) const PAGE: u64 = 4096;

/// How a file manages its free space.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer};
/// use hdf5_pure::options::FileSpace;
///
/// let options = CreateOptions::default().with_file_space(FileSpace::Paged { size: 4096, tracked: true });
/// let file = File::from_bytes(Writer::in_memory(&options)?.into_bytes()?)?;
/// let info = file.file_space().map(|info| (info.strategy, info.persist, info.page_size));
/// assert_eq!(info, Some((1, true, Some(4096))));
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSpaceInfo {
    /// The strategy: 0 free-space managers and aggregators, 1 pages, 2 aggregators, 3 none.
    pub strategy: u8,
    /// Whether the file keeps track of its free space when it is closed.
    pub persist: bool,
    /// The size of the smallest free part that is tracked.
    pub threshold: u64,
    /// The number of bytes per page, if space is allocated in pages.
    pub page_size: Option<u64>,
    /// The addresses of the free-space managers, by what they manage.
    pub managers: Vec<Option<Address>>,
}

impl FileSpaceInfo {
    /// The strategy that allocates space in pages.
    pub(crate) const PAGES: u8 = 1;

    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        let (at, version) = field("version", byte)(i)?;
        let (at, strategy) = field("strategy", byte)(at)?;
        match version {
            0 => {
                // Version 0 counted strategies from 1, and had a separate strategy for free space that persists.
                let (strategy, persist) = match strategy {
                    1 => (0, true),
                    2 => (0, false),
                    3 => (2, false),
                    4 => (3, false),
                    found => {
                        let kind = FaultKind::Undefined { found: found.into() };
                        return field("strategy", |i| fail(i, kind))(i);
                    }
                };
                let (at, threshold) = field("threshold", length(sizes))(at)?;
                let list = field("free-space manager address", count(address(sizes), 6usize));
                let (at, managers) = cond(persist, list).parse(at)?;
                let managers = managers.unwrap_or_default();
                Ok((at, Self { strategy, persist, threshold, page_size: None, managers }))
            }
            1 => {
                let (at, persist) = field("persisting free-space", byte)(at)?;
                let (at, threshold) = field("free-space section threshold", length(sizes))(at)?;
                let (at, page_size) = field("file space page size", length(sizes))(at)?;
                let (at, _) = field("page-end metadata threshold", le_u16)(at)?;
                let (at, _) = field("end of address", take(sizes.offsets)).parse(at)?;
                let list = field("free-space manager address", count(address(sizes), 12usize));
                let (at, managers) = cond(persist != 0, list).parse(at)?;
                let managers = managers.unwrap_or_default();
                let persist = persist != 0;
                Ok((at, Self { strategy, persist, threshold, page_size: Some(page_size), managers }))
            }
            found => field("version", |i| fail(i, FaultKind::Undefined { found: found.into() }))(i),
        }
    }

    /// Appends version 1 of the message. `end` is the end of the file without its free-space managers.
    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes, end: Option<Address>) -> Result<()> {
        out.extend([1, self.strategy, u8::from(self.persist)]);
        put_length(out, self.threshold, sizes)?;
        put_length(out, self.page_size.unwrap_or(PAGE), sizes)?;
        out.extend([0; 2]);
        put_address(out, end.filter(|_| self.persist), sizes)?;
        if self.persist {
            let mut managers = self.managers.iter().copied().chain(std::iter::repeat(None)).take(12);
            managers.try_for_each(|manager| put_address(out, manager, sizes))?;
        }
        Ok(())
    }
}

/// Returns the body of a message in which one manager replaces all others, or in which there is no manager. `manager` is its
/// address and the end of the file without it.
pub(crate) fn with_manager(body: &[u8], manager: Option<(Address, u64)>, sizes: Sizes) -> Result<Vec<u8>> {
    // These fields are kept: version, strategy and threshold; or version, strategy, persistence, threshold, page size, page-end
    // threshold.
    let (old, kept) = match body.first() {
        Some(0) => (true, sizes.bytes(0, 1, 2)),
        _ => (false, sizes.bytes(0, 2, 5)),
    };
    let mut new = present(body.get(..kept), "fields before the managers")?.to_vec();
    if !old {
        put_address(&mut new, manager.map(|(_, end)| Address(end)), sizes)?;
    }
    // The first manager is that of metadata. It also manages raw data, because raw data has no manager of its own.
    put_address(&mut new, manager.map(|(at, _)| at), sizes)?;
    new.resize(body.len().max(new.len()), 0xff);
    Ok(new)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::test::{SIZES, any_sizes, both_ways, near};
    use super::*;

    const VERSION_0: [u8; 58] = [
        0, // version
        1, // strategy: free space is kept
        1, 0, 0, 0, 0, 0, 0, 0, // threshold
        0, 1, 0, 0, 0, 0, 0, 0, // free-space manager 0
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // free-space manager 1: none
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // free-space manager 2: none
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // free-space manager 3: none
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // free-space manager 4: none
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // free-space manager 5: none
    ];

    const VERSION_1: [u8; 125] = [
        1, // version
        0, // strategy: free-space managers
        1, // persisting free-space
        1, 0, 0, 0, 0, 0, 0, 0, // free-space section threshold
        0, 0x10, 0, 0, 0, 0, 0, 0, // file space page size
        0, 0, // page-end metadata threshold
        0, 8, 0, 0, 0, 0, 0, 0, // end of address
        1, 0, 0, 0, 0, 0, 0, 0, // free-space manager 0
        2, 0, 0, 0, 0, 0, 0, 0, // free-space manager 1
        3, 0, 0, 0, 0, 0, 0, 0, // free-space manager 2
        4, 0, 0, 0, 0, 0, 0, 0, // free-space manager 3
        5, 0, 0, 0, 0, 0, 0, 0, // free-space manager 4
        6, 0, 0, 0, 0, 0, 0, 0, // free-space manager 5
        7, 0, 0, 0, 0, 0, 0, 0, // free-space manager 6
        8, 0, 0, 0, 0, 0, 0, 0, // free-space manager 7
        9, 0, 0, 0, 0, 0, 0, 0, // free-space manager 8
        0x0a, 0, 0, 0, 0, 0, 0, 0, // free-space manager 9
        0x0b, 0, 0, 0, 0, 0, 0, 0, // free-space manager 10
        0x0c, 0, 0, 0, 0, 0, 0, 0, // free-space manager 11
    ];

    fn managers(addresses: impl IntoIterator<Item = u64>) -> Vec<Option<Address>> {
        addresses.into_iter().map(|address| Some(Address(address))).collect()
    }

    #[test]
    fn both_versions() {
        let managers_0 = [managers([0x100]), vec![None; 5]].concat();
        let old =
            FileSpaceInfo { strategy: 0, persist: true, threshold: 1, page_size: None, managers: managers_0 };
        assert_eq!(FileSpaceInfo::parse(&VERSION_0, SIZES), Ok((&[][..], old.clone())));
        let new = FileSpaceInfo { page_size: Some(4096), managers: managers(1..=12), ..old };
        both_ways(
            &VERSION_1,
            &new,
            |i| FileSpaceInfo::parse(i, SIZES),
            |info, out| info.encode(out, SIZES, Some(Address(0x800))),
        );
    }

    #[test]
    fn managers_are_taken_out() {
        let (_, info) = FileSpaceInfo::parse(&VERSION_1, SIZES).unwrap();
        let without = with_manager(&VERSION_1, None, SIZES).unwrap();
        let (_, after) = FileSpaceInfo::parse(&without, SIZES).unwrap();
        assert_eq!(after, FileSpaceInfo { managers: vec![None; 12], ..info });
        assert_eq!(without.len(), VERSION_1.len());
        let (_, one) =
            FileSpaceInfo::parse(&with_manager(&without, Some((Address(77), 60)), SIZES).unwrap(), SIZES)
                .unwrap();
        assert_eq!(one.managers.iter().flatten().count(), 1);
        assert_eq!(one.managers[0], Some(Address(77)));
    }

    #[test]
    fn encoded_and_parsed() {
        for (strategy, persist) in [(0, true), (1, false), (1, true), (3, false)] {
            let managers = if persist { vec![None; 12] } else { Vec::new() };
            let info = FileSpaceInfo { strategy, persist, threshold: 1, page_size: Some(512), managers };
            let mut bytes = Vec::new();
            info.encode(&mut bytes, SIZES, Some(Address(77))).unwrap();
            assert_eq!(bytes.len(), if persist { 125 } else { 29 });
            assert_eq!(FileSpaceInfo::parse(&bytes, SIZES).unwrap().1, info);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(old in near(&VERSION_0), new in near(&VERSION_1), sizes in any_sizes()) {
            for bytes in [old, new] {
                let _ = FileSpaceInfo::parse(&bytes, sizes);
                let _ = with_manager(&bytes, None, sizes);
            }
        }
    }
}
