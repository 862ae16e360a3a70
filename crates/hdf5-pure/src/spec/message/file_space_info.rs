//! File space info message (IV.A.2.x): how the file manages its free space.

use nom::Parser;
use nom::bytes::complete::take;
use nom::combinator::cond;
use nom::multi::count;
use nom::number::complete::{le_u16, u8 as byte};
use sciformats_core::fault::{FaultKind, Parsed, fail, field};

use super::super::{Address, Sizes, address, length};

/// How a file manages its free space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSpaceInfo {
    /// 0 free-space managers and aggregators, 1 pages, 2 aggregators, 3 none.
    pub strategy: u8,
    /// Free space is kept when the file is closed.
    pub persist: bool,
    /// Smallest part that is tracked.
    pub threshold: u64,
    /// Bytes of a page, where space is managed in pages.
    pub page_size: Option<u64>,
    /// Free-space managers by what they manage; none where there is none.
    pub managers: Vec<Option<Address>>,
}

impl FileSpaceInfo {
    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        let (at, version) = field("version", byte)(i)?;
        let (at, strategy) = field("strategy", byte)(at)?;
        match version {
            0 => {
                // The first form counted strategies from 1, persistence being one of its own.
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
}
