//! Families: HDF5 files that consist of several files, the members, all of the same size but the last one.
//!
//! A file that names the family driver tells the size of a member: after the eight characters `NCSAfami`, in the driver information
//! block of an old superblock, or in a message of the superblock extension of a newer one, which has the size of the information (2
//! bytes) in between.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use hdf5_pure::structure::{Carver, FamilyPath};
use sciformats_core::storage::{Access, check_range};
use sciformats_core::{ReadAt, Result, bound};

use crate::report::Cause;

const DRIVER: &[u8; 8] = b"NCSAfami";
/// The bytes after the start of a file in which its driver is named.
const HEAD: u64 = 64 << 10;
/// The most members that are looked for.
const MOST: u64 = 1 << 16;
/// The missing members that are named one by one.
const NAMED: usize = 10;

/// A family of which the first member was given.
pub(crate) struct Family {
    /// The members that there are, each at its place.
    pub(crate) storage: Arc<dyn ReadAt>,
    /// What is missing of it.
    pub(crate) cause: Option<Cause>,
}

/// Returns the family whose first member is at `path`; `None` if the file is no such member.
///
/// # Errors
/// Returns `Io` if a member cannot be read.
pub(crate) fn of(path: Option<&Path>, first: &Arc<dyn ReadAt>) -> Result<Option<Family>> {
    let Some((size, end)) = told(first) else { return Ok(None) };
    let count = end.div_ceil(size);
    let name = path.and_then(FamilyPath::of);
    let (mut members, mut missing) = (vec![Some(first.clone())], Vec::new());
    let mut short = Vec::new();
    for number in 1..count {
        let member = name.as_ref().map(|name| name.member(number));
        let found = match &member {
            Some(path) if path.is_file() => Some(Access::default().open(path)?),
            _ => None,
        };
        if found.is_none() {
            missing.push(match &member {
                Some(path) => path.display().to_string(),
                None => format!("number {number}"),
            });
        }
        members.push(found);
    }
    for (number, member) in members.iter().enumerate() {
        let start = bound::product(number as u64, size);
        let expected = bound::left(end, start).min(size);
        if let Some(found) = member.as_ref().map(ReadAt::size).filter(|found| *found < expected) {
            short.push(format!("member {number} has {found} of {expected} bytes"));
        }
    }
    while members.last().is_some_and(Option::is_none) {
        members.pop();
    }
    let family = format!("the file is the first of a family of {count} files of {size} bytes");
    let cause = match (missing.is_empty(), short.is_empty()) {
        (true, true) => None,
        (true, false) => {
            Some(Cause { kind: "cut off", evidence: format!("{family}, and {}", short.join(", ")) })
        }
        (false, _) => {
            let hidden = bound::left(missing.len(), NAMED);
            missing.truncate(NAMED);
            let more = if hidden > 0 { format!(" and {hidden} more") } else { String::new() };
            let short: String = short.iter().map(|short| format!("; {short}")).collect();
            let evidence =
                format!("{family}, of which these are missing: {}{more}{short}", missing.join(", "));
            Some(Cause { kind: "missing members", evidence })
        }
    };
    Ok(Some(Family { storage: Arc::new(Members { size, members }), cause }))
}

/// Returns the size of a member and that of the whole file, if a file says that it is one of several members.
fn told(first: &Arc<dyn ReadAt>) -> Option<(u64, u64)> {
    let (position, superblock) = Carver::find_superblock(&**first).ok()?;
    let head = first.read_at(0, bound::addressable(first.size().min(bound::sum(position, HEAD)))).ok()?;
    let at = head.windows(DRIVER.len()).position(|bytes| bytes == DRIVER)?.checked_add(DRIVER.len())?;
    let at = if superblock.version < 2 { at } else { at.checked_add(2)? };
    let size = u64::from_le_bytes(*head.get(at..)?.first_chunk()?);
    let end = bound::sum(bound::left(superblock.end_of_file, superblock.base), position);
    let count = end.checked_div(size)?;
    (size < end && first.size() <= size && count < MOST).then_some((size, end))
}

/// The members that there are. What others had reads as zeros.
struct Members {
    size: u64,
    members: Vec<Option<Arc<dyn ReadAt>>>,
}

impl ReadAt for Members {
    fn size(&self) -> u64 {
        let last = bound::left(self.members.len(), 1);
        let len =
            self.members.last().and_then(Option::as_ref).map_or(0, |member| member.size().min(self.size));
        bound::sum(bound::product(last as u64, self.size), len)
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        let end = check_range(self.size(), offset, len as u64)?;
        let mut out = Vec::with_capacity(len);
        let mut at = offset;
        while at < end {
            let (number, within) =
                (at.checked_div(self.size).unwrap_or(0), at.checked_rem(self.size).unwrap_or(0)); // bounds: no member is empty
            let piece = bound::left(self.size, within).min(bound::left(end, at));
            let member = self.members.get(bound::addressable(number)).and_then(Option::as_ref);
            if let Some(member) = member {
                let there = bound::left(member.size(), within).min(piece);
                if there > 0 {
                    out.extend_from_slice(&member.read_at(within, bound::addressable(there))?);
                }
            }
            at = bound::sum(at, piece);
            out.resize(bound::addressable(bound::left(at, offset)), 0);
        }
        Ok(Cow::Owned(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_member_is_zeros() {
        let part = |byte: u8, len: usize| Some(Arc::new(vec![byte; len]) as Arc<dyn ReadAt>);
        let all = Members { size: 4, members: vec![part(1, 4), None, part(3, 2)] };
        assert_eq!(all.size(), 10);
        assert_eq!(*all.read_at(2, 8).unwrap(), [1, 1, 0, 0, 0, 0, 3, 3]);
        assert!(all.read_at(8, 3).is_err());
    }
}
