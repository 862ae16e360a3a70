//! How the structures form a file: how entries and names are found, what a commit writes, and in which order.
#![warn(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]

pub(crate) mod commit;
pub(crate) mod index;
pub(crate) mod names;
pub(crate) mod open;

use sciformats_core::{Fault, FaultKind, Result, bound};

use crate::spec::{Header, IndexEntry, Version, name_list};

/// The layer that this library writes by default.
pub(crate) const CURRENT: Version = Version::new(2, 1);
/// The older layer that this library can also write.
pub(crate) const LEGACY: Version = Version::new(1, 0);

/// Returns whether files of this layer can be read: 0.3, 1.x and 2.x. A minor version does not change existing structures.
pub(crate) fn is_readable(version: Version) -> bool {
    version == Version::new(0, 3) || matches!(version.major(), 1 | 2)
}

impl Header {
    /// Returns how the layer stores names.
    pub(crate) fn encoding(&self) -> name_list::Encoding {
        if self.version.major() < 2 { name_list::Encoding::Slots } else { name_list::Encoding::Packed }
    }

    /// Returns how the layer sorts its index.
    pub(crate) fn order(&self) -> index::Order {
        if self.version.major() < 2 { index::Order::Frame } else { index::Order::FrameAndId }
    }

    /// Checks that the header and the two blocks have no bytes in common.
    pub(crate) fn check_apart(&self) -> Result<()> {
        let size = |allocated, unit| bound::product(allocated, unit);
        let index = (self.index.location, size(self.index.allocated, IndexEntry::SIZE as u64));
        let names = (self.names.location, size(self.names.allocated, name_list::UNIT));
        let meet = |(a, a_len), (b, b_len)| {
            a_len > 0 && b_len > 0 && a < bound::sum(b, b_len) && b < bound::sum(a, a_len)
        };
        let head = (0, Self::SIZE as u64);
        let fault = |field, rule, at| Err(Fault::new(field, FaultKind::Rule(rule)).at("header", at));
        if meet(index, head) {
            return fault("index block", "overlaps the header", Self::INDEX_OFFSET);
        }
        if meet(names, head) {
            return fault("name list block", "overlaps the header", Self::NAMES_OFFSET);
        }
        if meet(names, index) {
            return fault("name list block", "overlaps the index block", Self::NAMES_OFFSET);
        }
        Ok(())
    }
}
