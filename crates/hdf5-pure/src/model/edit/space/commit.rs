//! How the pending state becomes the file's.

use sciformats_core::commit::{SECTOR, apply, journal};
use sciformats_core::storage::Patch;
use sciformats_core::{Result, Step};

use super::{Flush, State};

impl State {
    /// The patches as a commit applies them: absolute, joined, without what is in the file already.
    fn changes(&self) -> Result<Vec<Patch>> {
        let mut changes: Vec<Patch> = Vec::new();
        for (at, bytes) in &self.patches {
            let offset = self.base.saturating_add(*at);
            let stored = self.storage.read_at(offset, bytes.len())?;
            let differs = |(new, old): (&u8, &u8)| new != old;
            let Some(first) = bytes.iter().zip(stored.iter()).position(differs) else { continue };
            let last = bytes.iter().zip(stored.iter()).rposition(differs).unwrap_or(first);
            let part = bytes.get(first..=last).unwrap_or_default();
            changes.push(Patch { offset: offset.saturating_add(first as u64), bytes: part.to_vec() });
        }
        Ok(changes)
    }

    /// What makes the pending state the file's, the fresh bytes being written.
    pub(super) fn plan(&self, new_end: u64) -> Result<Plan> {
        let patches = self.changes()?;
        let (old_len, new_len) = (self.base.saturating_add(self.live_end), self.base.saturating_add(new_end));
        let size = old_len.max(new_len);
        let (Some(first), Some(last)) = (patches.first(), patches.last()) else {
            return Ok(Plan { before: Vec::new(), after: Vec::new(), size });
        };
        let end = last.offset.saturating_add(last.bytes.len() as u64).saturating_sub(1);
        let one = first.offset.checked_div(SECTOR) == end.checked_div(SECTOR);
        let mut before = Vec::new();
        let length = self.storage.len();
        if length > size || one && length < size {
            // Behind the end of the file is what was taken and given back.
            before.push(Step::SetSize { size });
        }
        if !one {
            let mut steps = journal::plan(old_len, new_len, Vec::new(), &patches)?;
            // The pending state and the patches can be taken back; the third write says that they count.
            let writes = (0usize..).zip(&steps).filter(|(_, step)| matches!(step, Step::Write { .. }));
            let third = writes.map(|(index, _)| index).nth(2).unwrap_or(0);
            let after = steps.split_off(third);
            before.extend(steps);
            return Ok(Plan { before, after, size });
        }
        before.push(Step::Sync);
        // One write of all of them: what lies between is written as it is.
        let len = usize::try_from(end.saturating_add(1).saturating_sub(first.offset)).unwrap_or(0);
        let mut bytes = self.storage.read_at(first.offset, len)?.into_owned();
        for patch in &patches {
            let from = usize::try_from(patch.offset.saturating_sub(first.offset)).unwrap_or(usize::MAX);
            if let Some(to) = bytes.get_mut(from..from.saturating_add(patch.bytes.len())) {
                to.copy_from_slice(&patch.bytes);
            }
        }
        let mut after = vec![Step::write(first.offset, bytes), Step::Sync];
        if new_len < size {
            after.extend([Step::SetSize { size: new_len }, Step::Sync]);
        }
        Ok(Plan { before, after, size })
    }

    /// Does what was planned; a failure before the commit has taken place leaves the file as it was.
    pub(super) fn apply(&mut self, plan: Plan, flush: Flush) -> Result<()> {
        let Plan { mut before, mut after, size } = plan;
        match flush {
            Flush::None => {
                before.retain(|step| *step != Step::Sync);
                after.retain(|step| *step != Step::Sync);
            }
            Flush::Ordered => drop(after.pop_if(|step| *step == Step::Sync)),
            Flush::Durable => {}
        }
        if let Err(error) = apply(&before, &mut *self.storage) {
            // The file is the old one already; this only takes away what was to become the journal.
            let _ = self.storage.set_size(size);
            return Err(error);
        }
        apply(&after, &mut *self.storage).inspect_err(|_| self.broken = true)
    }
}

/// The steps of a commit: those that can be taken back, and those from the one that makes it count.
pub(super) struct Plan {
    before: Vec<Step<'static>>,
    after: Vec<Step<'static>>,
    /// Length of the file without a journal: fresh bytes stay, as the commit may be tried again.
    size: u64,
}
