//! Commits: what is written, in which order, and what must be durable in between.
//!
//! A change of a file is first planned as a list of [`Step`]s by a pure function of the state, and then
//! applied. The order is therefore data, which a test can interrupt at every point ([`replay`], with the
//! feature of that name).
//!
//! There are two safe orders. New bytes are written to unused space and synced, and then one write within one
//! sector makes them part of the file. If bytes in use must be overwritten, [`journal`] keeps the new ones at
//! the end of the file until all of them are in place. A [`Plan`] says which of its writes can be taken back
//! and which of them decide. A [`Session`] carries the plan out: under a lock, only on the file that was
//! read, and completely or not at all.

mod edited;
pub mod journal;
#[cfg(feature = "replay")]
pub mod kill;
mod plan;
#[cfg(any(test, feature = "replay"))]
pub mod replay;
#[cfg(feature = "replay")]
pub mod rivals;
mod session;

use std::borrow::Cow;

pub use edited::{Edited, Head, check_elements};
pub use plan::{Decisive, Plan, Steps, Write};
pub use session::{Fate, Generation, Session, Syncs};

use crate::error::Result;
use crate::storage::WriteAt;

/// The number of aligned bytes that a device writes completely or not at all.
pub const SECTOR: u64 = 512;

/// One step of a commit.
///
/// ```
/// use sciformats_core::Step;
///
/// // A record, and the count that makes it part of the file only when it is there.
/// let steps = [Step::write(16, b"record".as_slice()), Step::Sync, Step::write(0, [1].as_slice())];
/// assert_eq!(steps[2], Step::Write { offset: 0, bytes: [1].as_slice().into() });
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// Write `bytes` at `offset`, and extend the file if necessary.
    Write {
        /// Absolute byte offset.
        offset: u64,
        /// What to write.
        bytes: Cow<'a, [u8]>,
    },
    /// Everything before this step must be durable before anything after it.
    Sync,
    /// Truncate or extend the file.
    SetSize {
        /// Its new size in bytes.
        size: u64,
    },
}

impl<'a> Step<'a> {
    /// Creates a [`Step::Write`].
    pub fn write(offset: u64, bytes: impl Into<Cow<'a, [u8]>>) -> Self {
        Self::Write { offset, bytes: bytes.into() }
    }
}

/// Applies the steps in order, up to the first one that fails.
///
/// ```
/// use sciformats_core::commit::{Step, apply};
///
/// let mut file = b"0123456789".to_vec();
/// apply(&[Step::write(8, &b"ABC"[..]), Step::Sync, Step::write(0, &b"a"[..])], &mut file)?;
/// assert_eq!(file, b"a1234567ABC");
/// # Ok::<(), sciformats_core::Error>(())
/// ```
///
/// # Errors
///
/// Those of the storage. The file is then in the state of an interruption after that step.
pub fn apply(steps: &[Step<'_>], storage: &mut (impl WriteAt + ?Sized)) -> Result<()> {
    steps.iter().try_for_each(|step| match step {
        Step::Write { offset, bytes } => storage.write_at(*offset, bytes),
        Step::Sync => storage.sync(),
        Step::SetSize { size } => storage.set_size(*size),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_apply_in_order() {
        let mut file = b"0123456789".to_vec();
        let steps = [
            Step::write(8, &b"abcd"[..]),
            Step::Sync,
            Step::SetSize { size: 11 },
            Step::write(0, vec![b'x']),
        ];
        apply(&steps, &mut file).unwrap();
        assert_eq!(file, b"x1234567abc");
    }
}
