//! Commits: what is to be written, in which order, and what must be durable in between.
//!
//! A change of a file is planned as a list of [`Step`]s, a pure function of the state, and only then applied. The order
//! is therefore data that a test can cut at every point ([`replay`], with the feature of that name).
//!
//! Two orders keep a file whole without more: new bytes go to fresh space, are synced, and one write inside one
//! sector makes them part of the file. Where bytes in use must be overwritten, [`journal`] keeps the new ones at the
//! end of the file until they are all in place. A [`Plan`] says which of its writes can be taken back and which decide,
//! and a [`Session`] carries it out: locked, only on the file that was read, and whole or not at all.

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

pub use plan::{Decisive, Plan, Steps, Write};
pub use session::{Fate, Generation, Session, Syncs};

use crate::error::Result;
use crate::storage::WriteAt;

/// Bytes that a device writes whole or not at all, if they are aligned to it.
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
    /// Write `bytes` from `offset` on, growing the file if need be.
    Write {
        /// Absolute byte offset.
        offset: u64,
        /// What to write.
        bytes: Cow<'a, [u8]>,
    },
    /// Everything before must be durable before anything after.
    Sync,
    /// Cut or extend the file.
    SetSize {
        /// Its new size in bytes.
        size: u64,
    },
}

impl<'a> Step<'a> {
    /// A [`Step::Write`].
    pub fn write(offset: u64, bytes: impl Into<Cow<'a, [u8]>>) -> Self {
        Self::Write { offset, bytes: bytes.into() }
    }
}

/// Does the steps in order, up to the first that fails.
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
/// Those of the storage. The file then is what a cut after that step would have left.
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
