//! A commit as data: the writes that can be taken back, and the ones that decide.

use std::borrow::Cow;

use super::{SECTOR, Step, journal};
use crate::error::{Error, Result};
use crate::storage::Patch;

/// Bytes and their position.
///
/// ```
/// use sciformats_core::commit::Write;
///
/// let write = Write::new(16, b"record".as_slice());
/// assert_eq!(write.end(), Some(22));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write<'a> {
    /// Absolute byte offset.
    pub offset: u64,
    /// What to write.
    pub bytes: Cow<'a, [u8]>,
}

impl<'a> Write<'a> {
    /// Creates a write of `bytes` at `offset`.
    pub fn new(offset: u64, bytes: impl Into<Cow<'a, [u8]>>) -> Self {
        Self { offset, bytes: bytes.into() }
    }

    /// Returns the end of the write, if it fits 64 bits.
    pub fn end(&self) -> Option<u64> {
        self.offset.checked_add(self.bytes.len() as u64)
    }

    fn into_step(self) -> Step<'a> {
        Step::Write { offset: self.offset, bytes: self.bytes }
    }

    fn is_in_one_sector(&self) -> bool {
        let Some(end) = self.end() else { return false };
        // The last byte, or the position itself for a write without bytes.
        let last = if end == self.offset { end } else { end - 1 };
        self.offset / SECTOR == last / SECTOR
    }
}

/// What makes a commit count.
///
/// ```
/// use sciformats_core::commit::{Decisive, Plan, Write};
///
/// // A record behind its count: once the count is written, the record is part of the file.
/// let decisive = Decisive::OneSector(Write::new(0, [1].as_slice()));
/// let plan = Plan { fresh: vec![Write::new(8, b"record".as_slice())], decisive, old_len: 8, new_len: 14 };
/// let steps = plan.steps(8)?;
/// assert_eq!((steps.reversible.len(), steps.decisive.len()), (2, 1)); // the record, a sync; the count
/// # Ok::<(), sciformats_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decisive<'a> {
    /// One write within one sector, which arrives completely or not at all.
    OneSector(Write<'a>),
    /// Several writes, each within one sector. Any subset of them leaves the old state or the new one.
    Sectors(Vec<Write<'a>>),
    /// Bytes to overwrite, which are kept in a [`journal`] until all are in place.
    Journal(Vec<Patch>),
}

/// A planned commit. Everything in `fresh` can be taken back until `decisive` is done.
///
/// A plan is computed by a pure function. A [`Session`](super::Session) applies it, and crash tests interrupt
/// it wherever a crash could.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan<'a> {
    /// Writes to space that nothing in use refers to, or writes that do not change the meaning of the file.
    pub fresh: Vec<Write<'a>>,
    /// The writes that make them part of the file.
    pub decisive: Decisive<'a>,
    /// The end of the used part of the file before the commit.
    pub old_len: u64,
    /// The end of the used part afterwards.
    pub new_len: u64,
}

/// The steps of a commit, grouped by their purpose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Steps<'a> {
    /// A failure in these steps leaves the old state, and the steps can be taken back.
    pub reversible: Vec<Step<'a>>,
    /// After these steps the new state counts.
    pub decisive: Vec<Step<'a>>,
    /// Steps that make the new state durable, and remove the journal.
    pub completion: Vec<Step<'a>>,
}

impl<'a> Steps<'a> {
    /// Returns all steps in order.
    pub fn into_list(self) -> Vec<Step<'a>> {
        [self.reversible, self.decisive, self.completion].concat()
    }
}

impl<'a> Plan<'a> {
    /// Returns the steps that carry out the plan in a storage of `stored` bytes, which is `old_len`, or more
    /// if fresh bytes were written before.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if a decisive write is not within one sector, or if a write of a commit with a
    /// journal is outside of its part of the file.
    pub fn steps(self, stored: u64) -> Result<Steps<'a>> {
        let Self { fresh, decisive, old_len, new_len } = self;
        let size = old_len.max(new_len);
        let mut fresh: Vec<_> = fresh.into_iter().map(Write::into_step).collect();
        let writes = match decisive {
            Decisive::OneSector(write) => vec![write],
            Decisive::Sectors(writes) => writes,
            Decisive::Journal(patches) => {
                let mut steps = journal::parts(old_len, new_len, fresh, &patches)?;
                if stored > size {
                    // The journal must be at the end of the file.
                    steps.reversible.insert(0, Step::SetSize { size });
                }
                return Ok(steps);
            }
        };
        if writes.iter().any(|write| !write.is_in_one_sector()) {
            return Err(Error::usage("plan", "has a decisive write that is not within one sector"));
        }
        let end = fresh.iter().try_fold(stored, |end, step| Some(end.max(end_of(step)?)));
        let end = end.ok_or_else(|| Error::usage("plan", "has a write that ends beyond 2^64 bytes"))?;
        let mut completion = vec![Step::Sync];
        if end < size {
            fresh.push(Step::SetSize { size });
        }
        if end.max(size) > new_len {
            completion.extend([Step::SetSize { size: new_len }, Step::Sync]);
        }
        if !fresh.is_empty() {
            fresh.push(Step::Sync);
        }
        let decisive = writes.into_iter().map(Write::into_step).collect();
        Ok(Steps { reversible: fresh, decisive, completion })
    }
}

/// Returns the end of the bytes of a step, or 0 if it has none.
fn end_of(step: &Step<'_>) -> Option<u64> {
    match step {
        Step::Write { offset, bytes } => offset.checked_add(bytes.len() as u64),
        Step::Sync | Step::SetSize { .. } => Some(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_that_end_nowhere_are_no_plan() {
        let decisive = |offset| Decisive::OneSector(Write::new(offset, [1, 2].as_slice()));
        let plan = |fresh, decisive| Plan { fresh, decisive, old_len: 8, new_len: 8 }.steps(8);
        let beyond = plan(vec![Write::new(u64::MAX, [1, 2].as_slice())], decisive(0)).unwrap_err();
        assert_eq!(beyond.to_string(), "plan has a write that ends beyond 2^64 bytes");
        let decides = plan(Vec::new(), decisive(u64::MAX)).unwrap_err();
        assert_eq!(decides.to_string(), "plan has a decisive write that is not within one sector");
        assert!(plan(Vec::new(), decisive(510)).is_ok() && plan(Vec::new(), decisive(511)).is_err());
    }
}
