//! Commits the pending state to the file.

use sciformats_core::arith::{add, fit, present, sub};
use sciformats_core::commit::{Decisive, Fate, Plan, SECTOR, Syncs, Write};
use sciformats_core::storage::Patch;
use sciformats_core::{Result, bound};

use crate::space::pending::{Flush, State};

impl State {
    /// Returns the patches in the form in which a commit applies them: with absolute offsets, joined, and without bytes
    /// that the file has already.
    fn changes(&self) -> Result<Vec<Patch>> {
        let mut changes: Vec<Patch> = Vec::new();
        for (at, bytes) in &self.patches {
            let offset = add(self.base, *at)?;
            let stored = self.session.storage().read_at(offset, bytes.len())?;
            let differs = |(new, old): (&u8, &u8)| new != old;
            let (mut first, mut last) = (bytes.iter().zip(stored.iter()), bytes.iter().zip(stored.iter()));
            let (Some(first), Some(last)) = (first.position(differs), last.rposition(differs)) else {
                continue;
            };
            let part = present(bytes.get(first..=last), "bytes of a patch")?;
            changes.push(Patch { offset: add(offset, first as u64)?, bytes: part.to_vec() });
        }
        Ok(changes)
    }

    /// Returns the plan that commits the pending state after the fresh bytes were written, or `None` if the file has
    /// this state already.
    pub(crate) fn plan(&self, new_end: u64) -> Result<Option<Plan<'static>>> {
        let patches = self.changes()?;
        let (Some(first), Some(last)) = (patches.first(), patches.last()) else { return Ok(None) };
        let end = sub(add(last.offset, last.bytes.len() as u64)?, 1)?;
        let one = first.offset / SECTOR == end / SECTOR;
        let decisive = if one {
            Decisive::OneSector(self.joined(&patches, first.offset, end)?)
        } else {
            Decisive::Journal(patches)
        };
        let (old_len, new_len) = (add(self.base, self.live_end)?, add(self.base, new_end)?);
        Ok(Some(Plan { fresh: Vec::new(), decisive, old_len, new_len }))
    }

    /// Returns one write of all patches up to the byte at `last`. The bytes between them are written unchanged.
    fn joined(&self, patches: &[Patch], start: u64, last: u64) -> Result<Write<'static>> {
        let len = fit(sub(add(last, 1)?, start)?, "length of a sector's change")?;
        let mut bytes = self.session.storage().read_at(start, len)?.into_owned();
        for patch in patches {
            let from: usize = fit(sub(patch.offset, start)?, "place of a patch")?;
            let to = bytes.get_mut(from..add(from, patch.bytes.len())?);
            present(to, "place of a patch")?.copy_from_slice(&patch.bytes);
        }
        Ok(Write::new(start, bytes))
    }

    /// Executes a plan. After a failure the file is as before. Fresh bytes stay, because the commit may be tried again.
    pub(crate) fn apply(&mut self, plan: Plan<'_>, flush: Flush) -> Result<()> {
        let syncs = match flush {
            Flush::None => Syncs::None,
            Flush::Ordered => Syncs::Ordered,
            Flush::Durable => Syncs::Durable,
        };
        let done = self.session.commit(plan, syncs);
        if self.session.fate() == Fate::Unknown {
            self.broken = done.as_ref().err().cloned();
        }
        done?;
        self.watch(0, self.superblock)
    }

    /// Remembers `len` bytes of the last commit that the next commit builds on. Bytes beyond the end of the file count
    /// as zeros.
    pub(crate) fn watch(&mut self, at: u64, len: u64) -> Result<()> {
        let offset = add(self.base, at)?;
        let stored = bound::left(self.session.storage().size(), offset).min(len);
        if stored > 0 { self.session.watch(offset, stored) } else { Ok(()) }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // Fresh bytes without a commit are removed. If that fails, they do no harm, because nothing refers to them.
        let _ = self.session.roll_back();
    }
}
