//! How the pending state becomes the file's.

use sciformats_core::Result;
use sciformats_core::commit::{Decisive, Fate, Plan, SECTOR, Syncs, Write};
use sciformats_core::storage::Patch;

use super::{Flush, State};

impl State {
    /// The patches as a commit applies them: absolute, joined, without what is in the file already.
    fn changes(&self) -> Result<Vec<Patch>> {
        let mut changes: Vec<Patch> = Vec::new();
        for (at, bytes) in &self.patches {
            let offset = self.base.saturating_add(*at);
            let stored = self.session.storage().read_at(offset, bytes.len())?;
            let differs = |(new, old): (&u8, &u8)| new != old;
            let Some(first) = bytes.iter().zip(stored.iter()).position(differs) else { continue };
            let last = bytes.iter().zip(stored.iter()).rposition(differs).unwrap_or(first);
            let part = bytes.get(first..=last).unwrap_or_default();
            changes.push(Patch { offset: offset.saturating_add(first as u64), bytes: part.to_vec() });
        }
        Ok(changes)
    }

    /// What makes the pending state the file's, the fresh bytes being written; nothing if it is that already.
    pub(super) fn plan(&self, new_end: u64) -> Result<Option<Plan<'static>>> {
        let patches = self.changes()?;
        let (Some(first), Some(last)) = (patches.first(), patches.last()) else { return Ok(None) };
        let end = last.offset.saturating_add(last.bytes.len() as u64).saturating_sub(1);
        let one = first.offset.checked_div(SECTOR) == end.checked_div(SECTOR);
        let decisive = if one {
            Decisive::OneSector(self.joined(&patches, first.offset, end)?)
        } else {
            Decisive::Journal(patches)
        };
        let (old_len, new_len) = (self.base.saturating_add(self.live_end), self.base.saturating_add(new_end));
        Ok(Some(Plan { fresh: Vec::new(), decisive, old_len, new_len }))
    }

    /// One write of all patches, up to the byte at `last`: what lies between is written as it is.
    fn joined(&self, patches: &[Patch], start: u64, last: u64) -> Result<Write<'static>> {
        let len = usize::try_from(last.saturating_add(1).saturating_sub(start)).unwrap_or(0);
        let mut bytes = self.session.storage().read_at(start, len)?.into_owned();
        for patch in patches {
            let from = usize::try_from(patch.offset.saturating_sub(start)).unwrap_or(usize::MAX);
            if let Some(to) = bytes.get_mut(from..from.saturating_add(patch.bytes.len())) {
                to.copy_from_slice(&patch.bytes);
            }
        }
        Ok(Write::new(start, bytes))
    }

    /// Does what was planned; a failure leaves the file as it was. Fresh bytes stay, as the commit may be tried again.
    pub(super) fn apply(&mut self, plan: Plan<'_>, flush: Flush) -> Result<()> {
        let syncs = match flush {
            Flush::None => Syncs::None,
            Flush::Ordered => Syncs::Ordered,
            Flush::Durable => Syncs::Durable,
        };
        let done = self.session.commit(plan, syncs);
        self.broken = self.session.fate() == Fate::Unknown;
        done?;
        self.watch(0, self.superblock)
    }

    /// Remembers `len` bytes of the last commit, upon which the next one builds. What the file is too short for is zeros to
    /// everybody.
    pub(super) fn watch(&mut self, at: u64, len: u64) -> Result<()> {
        let offset = self.base.saturating_add(at);
        let stored = self.session.storage().len().saturating_sub(offset).min(len);
        if stored > 0 { self.session.watch(offset, stored) } else { Ok(()) }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // What no commit followed goes. If that cannot be done, it lies where nothing refers to.
        let _ = self.session.roll_back();
    }
}
