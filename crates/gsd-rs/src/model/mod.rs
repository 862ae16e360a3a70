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

use crate::spec::{Header, Version, name_list};

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
}
