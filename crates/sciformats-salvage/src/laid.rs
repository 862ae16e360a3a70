//! A damaged file over which rebuilt structures are laid.

use std::borrow::Cow;
use std::sync::Arc;

use sciformats_core::fault::FaultKind;
use sciformats_core::storage::Patch;
use sciformats_core::{Fault, ReadAt, Result};

/// The bytes of a damaged file, in which patches replace bytes, and after which new structures follow at a distance. What lies
/// between the end of the file and the new structures is missing, and reading it is an error.
pub(crate) struct Laid {
    source: Arc<dyn ReadAt>,
    patches: Vec<Patch>,
    /// The patches by their offsets: the offset, the largest end of this one and all before it, and the number of the patch.
    order: Vec<(u64, u64, usize)>,
    len: u64,
}

impl Laid {
    /// Lays `patches` over `source`. Later patches win.
    pub(crate) fn new(source: Arc<dyn ReadAt>, patches: Vec<Patch>) -> Self {
        let len = patches.iter().map(end).fold(source.size(), u64::max);
        let mut order: Vec<(u64, u64, usize)> =
            patches.iter().enumerate().map(|(i, patch)| (patch.offset, end(patch), i)).collect();
        order.sort_unstable();
        let mut most = 0;
        for (_, end, _) in &mut order {
            most = most.max(*end);
            *end = most;
        }
        Self { source, patches, order, len }
    }

    /// Returns the numbers of the patches that have bytes of a range, in their order.
    fn touched(&self, offset: u64, stop: u64) -> Vec<usize> {
        let before = self.order.partition_point(|(start, ..)| *start < stop);
        let near = self.order.get(..before).unwrap_or_default().iter().rev();
        let near = near.take_while(|(_, most, _)| *most > offset).map(|(.., i)| *i);
        let mut found: Vec<usize> =
            near.filter(|i| self.patches.get(*i).is_some_and(|patch| end(patch) > offset)).collect();
        found.sort_unstable();
        found
    }
}

fn end(patch: &Patch) -> u64 {
    patch.offset.saturating_add(patch.bytes.len() as u64) // a bound: where a patch ends
}

impl ReadAt for Laid {
    fn size(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        let stop = offset.saturating_add(len as u64); // a bound: checked against the lengths below
        let numbers = self.touched(offset, stop);
        let touched = || numbers.iter().filter_map(|&i| Some((i, self.patches.get(i)?)));
        if numbers.is_empty() && stop <= self.source.size() {
            return self.source.read_at(offset, len);
        }
        let missing = || {
            let kind = FaultKind::OutOfBounds { found: stop, end: self.source.size() };
            Fault::new("the end of the bytes", kind).at("file", offset)
        };
        // One patch that holds everything is the usual case of a structure that was made.
        let holds = |patch: &Patch| patch.offset <= offset && end(patch) >= stop;
        let part = |position: u64, base: u64| usize::try_from(position.checked_sub(base)?).ok();
        let last_whole = touched().rfind(|(_, patch)| holds(patch));
        let mut out = match last_whole {
            Some((_, patch)) => {
                let start = part(offset, patch.offset);
                let found = start.and_then(|start| patch.bytes.get(start..start.checked_add(len)?));
                Cow::Borrowed(found.ok_or_else(missing)?)
            }
            None if stop > self.source.size() => return Err(missing()),
            None => self.source.read_at(offset, len)?,
        };
        let after = last_whole.map(|(i, _)| i);
        for (_, patch) in touched().filter(|(i, _)| after.is_none_or(|after| *i > after)) {
            let (from, to) = (patch.offset.max(offset), end(patch).min(stop));
            let place = part(from, offset).zip(part(to, offset));
            let source = part(from, patch.offset).zip(part(to, patch.offset));
            let to = place.and_then(|(from, to)| out.to_mut().get_mut(from..to)).ok_or_else(missing)?;
            to.copy_from_slice(source.and_then(|(from, to)| patch.bytes.get(from..to)).ok_or_else(missing)?);
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn patches_replace_and_the_gap_is_missing() {
        let patches = vec![
            Patch { offset: 2, bytes: b"xy".to_vec() },
            Patch { offset: 100, bytes: b"before".to_vec() },
            Patch { offset: 100, bytes: b"after".to_vec() },
            Patch { offset: 4, bytes: b"z".to_vec() },
        ];
        let laid = Laid::new(Arc::new(b"abcdefgh".to_vec()), patches);
        assert_eq!(*laid.read_at(0, 8).unwrap(), *b"abxyzfgh");
        assert_eq!(*laid.read_at(101, 3).unwrap(), *b"fte");
        assert_eq!(*laid.read_at(4, 2).unwrap(), *b"zf");
        assert!(laid.read_at(6, 4).is_err(), "bytes behind the end are never made up");
        assert!(laid.read_at(98, 4).is_err());
        assert_eq!(laid.size(), 106);
    }
}
