//! The file in the state that the pending commit will give it.
//!
//! Bytes that the last commit uses are never overwritten before the next commit; their replacement waits in memory as a
//! *patch*. Everything else goes to *fresh* space, to which nothing of the last commit leads, and is written at once:
//!
//! | space | when it is written | when it is reused |
//! |---|---|---|
//! | in use since the last commit (live) | with the commit, as a patch | never |
//! | allocated since the last commit (fresh) | at once | as soon as it is freed |
//! | free | – | at any time |
//! | freed since the last commit | – | after the next commit |
//!
//! A [`commit`](Space::commit) makes the fresh bytes durable and then writes the patches in place. If they lie in one
//! sector, which the device writes completely or not at all, they are written directly, otherwise through the
//! [journal](sciformats_core::commit::journal).

mod commit;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use sciformats_core::arith::{add, fit, increase, present, sub};
use sciformats_core::commit::Session as Held;
use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::storage::check_range;
use sciformats_core::{Error, ReadAt, Result, bound};

use crate::space::output::Storage;
use crate::space::ranges::Ranges;
use crate::spec::Address;

/// What space is used for. In a file that is allocated in pages, both uses have pages of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Headers, B-trees, and heaps.
    Metadata,
    /// Elements.
    Data,
}

/// How far the data must have reached before a commit returns.
///
/// With every choice the process may be killed at any time: the file then has the state of the last commit or of the
/// one before.
///
/// ```
/// use hdf5_pure::Editor;
/// use hdf5_pure::options::Flush;
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("weather.h5");
/// # let mut made = hdf5_pure::Writer::create(&path)?;
/// # made.root().attribute("title", "a week in May")?;
/// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
/// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
/// # made.finish()?;
/// let mut file = Editor::open(&path)?;
/// file.root().attribute("title", "a week in June")?;
/// file.commit_with(Flush::None)?; // quick: the next one waits for both
/// file.root().attribute("version", 2)?;
/// file.commit_with(Flush::Durable)?;
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Flush {
    /// The commit does not wait for the device. A power failure may damage what was changed since the system last wrote
    /// to the device.
    None,
    /// The steps reach the device in their order. After a power failure the file has the state of this commit or an
    /// earlier one. The commit waits for the device four times, or once if everything that changes in place lies in one
    /// sector.
    #[default]
    Ordered,
    /// After a power failure the file has the state of this commit. The commit waits for the device once more.
    Durable,
}

/// The file that is being edited. Reads see the pending state.
pub(crate) struct Space(RwLock<State>);

struct State {
    session: Held<Box<dyn Storage>>,
    /// The number of bytes of the superblock.
    superblock: u64,
    /// The absolute offset of the superblock, from which addresses count.
    base: u64,
    /// The number of bytes per page, if space is allocated in pages.
    page: Option<u64>,
    /// The largest length of the file, counted from the superblock.
    most: u64,
    /// The end of the file at the last commit, and the end of what is allocated now.
    live_end: u64,
    end: u64,
    free: ByUse,
    /// What was freed since the last commit.
    freed: ByUse,
    /// What was allocated since the last commit.
    fresh: Ranges,
    /// The bytes that replace bytes of the last commit, by their addresses. No two patches are adjacent.
    patches: BTreeMap<u64, Vec<u8>>,
    /// Why a commit failed half way, after which the file has to be opened again.
    broken: Option<Error>,
}

#[derive(Clone, Debug, Default)]
struct ByUse {
    metadata: Ranges,
    data: Ranges,
}

impl ByUse {
    fn of(&mut self, usage: Use) -> &mut Ranges {
        match usage {
            Use::Metadata => &mut self.metadata,
            Use::Data => &mut self.data,
        }
    }

    fn touches(&self, start: u64, end: u64) -> bool {
        self.metadata.touches(start, end) || self.data.touches(start, end)
    }

    fn ending_at(&self, end: u64) -> Option<u64> {
        self.metadata.ending_at(end).or_else(|| self.data.ending_at(end))
    }

    fn cut(&mut self, end: u64) {
        self.metadata.remove(end, u64::MAX);
        self.data.remove(end, u64::MAX);
    }
}

impl Use {
    /// Returns the alignment of addresses. Elements of a mapped file can then be used in place. Structures are not
    /// aligned, because the gaps would be lost when they are freed.
    fn alignment(self) -> u64 {
        match self {
            Self::Metadata => 1,
            Self::Data => 8,
        }
    }
}

impl Space {
    /// Creates the state for the file in `storage`. Its superblock stands at `base`, and it ends at `end`, counted from
    /// there. It must not become longer than `most`.
    pub(crate) fn new(storage: Box<dyn Storage>, base: u64, end: u64, most: u64) -> Self {
        Self(RwLock::new(State {
            session: Held::over(storage),
            superblock: 0,
            base,
            page: None,
            most,
            live_end: end,
            end,
            free: ByUse::default(),
            freed: ByUse::default(),
            fresh: Ranges::default(),
            patches: BTreeMap::new(),
            broken: None,
        }))
    }

    /// Remembers the bytes of the superblock: a commit is refused if another program has changed one of them.
    ///
    /// # Errors
    /// Returns `Io`.
    pub(crate) fn watch_superblock(&self, len: u64) -> Result<()> {
        let mut state = self.change();
        state.superblock = len;
        state.watch(0, len)
    }

    /// Sets the number of bytes per page in which space is allocated.
    pub(crate) fn set_page(&self, bytes: Option<u64>) {
        self.change().page = bytes.filter(|&page| page > 0);
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) -> RwLockWriteGuard<'_, State> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a part of the file that is free according to its free-space managers.
    ///
    /// # Errors
    /// Returns `Malformed` if the part lies outside the file or is free already.
    pub(crate) fn add_free(&self, at: Address, len: u64, usage: Use) -> Result<()> {
        let mut state = self.change();
        let usage = state.shared(usage);
        let end = state.check(at, len, state.live_end)?;
        let taken = state.free.touches(at.0, end) || !state.free.of(usage).insert(at.0, end);
        if taken { Err(state.twice(at)) } else { Ok(()) }
    }

    /// Allocates `len` bytes.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the file would become longer than 2^63 bytes.
    pub(crate) fn allocate(&self, len: u64, usage: Use) -> Result<Address> {
        let mut state = self.change();
        let (list, unit, page) = (state.shared(usage), usage.alignment(), state.page);
        let place = |start: u64, end: u64| start_in((start, end), len, unit, page);
        let at = match state.free.of(list).take(len, place) {
            Some(at) => at,
            None => state.extend(len, list, unit).ok_or_else(too_long)?,
        };
        let end = add(at, len)?;
        state.fresh.insert(at, end);
        Ok(Address(at))
    }

    /// Allocates `len` bytes at the end of the file, where no other structure has been.
    ///
    /// # Errors
    /// Returns the errors of [`allocate`](Self::allocate).
    pub(crate) fn append(&self, len: u64) -> Result<Address> {
        let mut state = self.change();
        let at = state.extend(len, Use::Metadata, 1);
        let at = at.ok_or_else(too_long)?;
        let end = add(at, len)?;
        state.fresh.insert(at, end);
        Ok(Address(at))
    }

    /// Works like [`allocate`](Self::allocate), for bytes that will not all be written. They read as zeros.
    ///
    /// # Errors
    /// Returns the errors of [`allocate`](Self::allocate), and `Io`.
    pub(crate) fn allocate_zeroed(&self, len: u64, usage: Use) -> Result<Address> {
        const PIECE: u64 = 1 << 16;
        let at = self.allocate(len, usage)?;
        let mut state = self.change();
        // Bytes beyond the end of the storage will be zeros anyway.
        let mut offset = add(state.base, at.0)?;
        let end = add(offset, len)?.min(state.session.storage().size());
        while offset < end {
            let piece = sub(end, offset)?.min(PIECE);
            state.session.write_fresh(offset, &vec![0; fit(piece, "length of a piece")?])?;
            increase(&mut offset, piece)?;
        }
        Ok(at)
    }

    /// Frees `len` bytes. Bytes that were in use at the last commit become free only after the next one.
    ///
    /// # Errors
    /// Returns `Malformed` if they lie outside the file or are free already, which means that two structures of the
    /// file share them.
    pub(crate) fn free(&self, at: Address, len: u64, usage: Use) -> Result<()> {
        let mut state = self.change();
        let usage = state.shared(usage);
        let end = state.check(at, len, state.end)?;
        let start = at.0;
        if state.fresh.holds(start, end) {
            state.fresh.remove(start, end);
            state.free.of(usage).insert(start, end);
            return Ok(());
        }
        if state.fresh.touches(start, end)
            || state.free.touches(start, end)
            || state.freed.touches(start, end)
        {
            return Err(state.twice(at));
        }
        state.freed.of(usage).insert(start, end);
        state.unpatch(start, end);
        Ok(())
    }

    /// Returns whether the `len` bytes at `at` were allocated since the last commit.
    pub(crate) fn is_fresh(&self, at: Address, len: u64) -> bool {
        self.read().fresh.holds(at.0, bound::sum(at.0, len))
    }

    /// Writes `bytes` at `at`: at once if the space is fresh, and with the next commit if it is live.
    ///
    /// # Errors
    /// Returns `Io`, and `Malformed` if a byte lies outside the allocated space.
    pub(crate) fn write(&self, at: Address, bytes: &[u8]) -> Result<()> {
        let mut state = self.change();
        let end = state.check(at, bytes.len() as u64, state.end)?;
        // Adjacent writes are joined into one.
        for (start, end, fresh) in state.fresh.split(at.0, end) {
            let part = |of: u64| fit::<usize, _>(sub(of, at.0)?, "place of a part");
            let bytes = present(bytes.get(part(start)?..part(end)?), "part of what is written")?;
            if fresh {
                let offset = add(state.base, start)?;
                state.session.write_fresh(offset, bytes)?;
            } else if end > state.live_end
                || state.free.touches(start, end)
                || state.freed.touches(start, end)
            {
                return Err(state.twice(Address(start)));
            } else {
                state.patch(start, bytes)?;
            }
        }
        Ok(())
    }

    /// Works like [`write`](Self::write), at an absolute offset.
    ///
    /// # Errors
    /// Returns the errors of [`write`](Self::write).
    pub(crate) fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let base = self.read().base;
        self.write(Address(sub(offset, base)?), bytes)
    }

    /// Returns whether something waits for the commit.
    pub(crate) fn is_changed(&self) -> bool {
        !self.read().patches.is_empty()
    }

    /// Returns where the file will end, counted from its superblock, when free space at its end has been cut off.
    pub(crate) fn trimmed_end(&self) -> u64 {
        self.read().trimmed_end()
    }

    /// Returns the parts that will be free after the next commit, and what each was used for.
    pub(crate) fn free_after(&self) -> Vec<(u64, u64, Use)> {
        let state = self.read();
        let end = state.trimmed_end();
        let mut all = (state.free.clone(), state.freed.clone());
        let mut parts = Vec::new();
        for usage in [Use::Metadata, Use::Data] {
            let mut joined = std::mem::take(all.0.of(usage));
            for (start, end) in all.1.of(usage).iter() {
                joined.insert(start, end);
            }
            joined.remove(end, u64::MAX);
            parts.extend(joined.iter().map(|(start, end)| (start, end, usage)));
        }
        parts
    }

    /// Commits everything that is pending.
    ///
    /// # Errors
    /// Returns [`Error::Conflict`] if the file is not the one that was read; nothing is written then. After `Io`, the
    /// file is as the last commit left it. If the device failed while the patches were written in place, the next
    /// opening completes the commit, and every later commit returns the same error.
    pub(crate) fn commit(&self, flush: Flush) -> Result<()> {
        let mut state = self.change();
        if let Some(error) = &state.broken {
            return Err(error.clone());
        }
        let new_end = state.trimmed_end();
        if let Some(plan) = state.plan(new_end)? {
            state.apply(plan, flush)?;
        }
        let freed = std::mem::take(&mut state.freed);
        for (usage, ranges) in [(Use::Metadata, freed.metadata), (Use::Data, freed.data)] {
            for (start, end) in ranges.iter() {
                state.free.of(usage).insert(start, end);
            }
        }
        state.free.cut(new_end);
        state.fresh.clear();
        state.patches.clear();
        (state.end, state.live_end) = (new_end, new_end);
        Ok(())
    }
}

/// Returns a start for `len` bytes in a range: a multiple of `unit`, and with pages either inside one page or at the
/// start of one.
fn start_in((start, end): (u64, u64), len: u64, unit: u64, page: Option<u64>) -> Option<u64> {
    let mut at = start.checked_next_multiple_of(unit)?;
    if let Some(page) = page {
        let within = at.checked_rem(page)?;
        if within > 0 && bound::sum(within, len) > page {
            at = at.checked_next_multiple_of(page)?;
        }
    }
    Some(at).filter(|at| at.checked_add(len).is_some_and(|last| last <= end))
}

fn too_long() -> Error {
    Error::usage("file", "would become longer than its addresses can express")
}

impl State {
    /// Returns the end of `len` bytes at `at`. They must lie after the start of the superblock and before `bound`.
    fn check(&self, at: Address, len: u64, bound: u64) -> Result<u64> {
        match at.0.checked_add(len) {
            Some(end) if end <= bound => Ok(end),
            end => {
                let found = end.unwrap_or(u64::MAX); // a bound, in a message
                let fault =
                    Fault::new("the end of a structure", FaultKind::OutOfBounds { found, end: bound });
                Err(fault.at("file space", bound::sum(self.base, at.0)))
            }
        }
    }

    /// Returns the use whose free space is taken. Without pages, all uses share one.
    fn shared(&self, usage: Use) -> Use {
        if self.page.is_some() { usage } else { Use::Metadata }
    }

    fn twice(&self, at: Address) -> Error {
        let rule = FaultKind::Rule("belongs to two structures, or to one that was removed");
        Fault::new("part of the file", rule).at("file space", bound::sum(self.base, at.0))
    }

    /// Allocates `len` bytes at the end.
    fn extend(&mut self, len: u64, usage: Use, unit: u64) -> Option<u64> {
        let unit = self.page.unwrap_or(unit);
        let start = self.end.checked_next_multiple_of(unit)?;
        let used = start.checked_add(len)?;
        let end = match self.page {
            Some(page) => used.checked_next_multiple_of(page)?,
            None => used,
        };
        end.checked_add(self.base).filter(|&end| end < self.most)?;
        let before = std::mem::replace(&mut self.end, end);
        self.free.of(usage).insert(before, start);
        self.free.of(usage).insert(used, end);
        Some(start)
    }

    /// Removes patches, or parts of them, from `start .. end`.
    fn unpatch(&mut self, start: u64, end: u64) {
        let length = |bytes: &Vec<u8>| bytes.len() as u64;
        let first = self.patches.range(..start).next_back();
        let from =
            first.filter(|(at, bytes)| bound::sum(**at, length(bytes)) > start).map_or(start, |(at, _)| *at);
        let found: Vec<u64> = self.patches.range(from..end.max(from)).map(|(at, _)| *at).collect();
        for at in found {
            let Some(mut bytes) = self.patches.remove(&at) else { continue };
            let cut = |to: u64| bound::addressable(bound::left(to, at)).min(bytes.len());
            let (before, after) = (cut(start), cut(end));
            let tail = bytes.split_off(after);
            bytes.truncate(before);
            if !bytes.is_empty() {
                self.patches.insert(at, bytes);
            }
            if !tail.is_empty() {
                self.patches.insert(end, tail);
            }
        }
    }

    fn patch(&mut self, start: u64, bytes: &[u8]) -> Result<()> {
        let end = add(start, bytes.len() as u64)?;
        // If the new patch lies inside an older one, the older one stays in one piece.
        let around = self.patches.range_mut(..=start).next_back();
        if let Some((at, old)) = around {
            let from: usize = fit(sub(start, *at)?, "place of a patch")?;
            if let Some(to) = old.get_mut(from..add(from, bytes.len())?) {
                to.copy_from_slice(bytes);
                return Ok(());
            }
        }
        self.watch(start, bytes.len() as u64)?;
        self.unpatch(start, end);
        self.patches.insert(start, bytes.to_vec());
        Ok(())
    }

    fn trimmed_end(&self) -> u64 {
        let mut end = self.end;
        while let Some(start) = self.free.ending_at(end).or_else(|| self.freed.ending_at(end)) {
            let start = match self.page {
                Some(page) => start.checked_next_multiple_of(page).unwrap_or(end),
                None => start,
            };
            if start >= end {
                break;
            }
            end = start;
        }
        end
    }
}

impl ReadAt for Space {
    fn size(&self) -> u64 {
        let state = self.read();
        // This saturates, but allocation keeps the end of the file below 2^63.
        bound::sum(state.base, state.end)
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        check_range(self.size(), offset, len as u64)?;
        let mut out = sciformats_core::storage::zeroed(len)?;
        self.read_into(offset, &mut out)?;
        Ok(Cow::Owned(out))
    }

    fn read_into(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let state = self.read();
        let end = check_range(bound::sum(state.base, state.end), offset, out.len() as u64)?;
        let stored = state.session.storage().size().clamp(offset, end);
        let (below, beyond) =
            out.split_at_mut(bound::addressable(bound::left(stored, offset)).min(out.len()));
        if !below.is_empty() {
            state.session.storage().read_into(offset, below)?;
        }
        // Space that was allocated but not written yet reads as zeros.
        beyond.fill(0);
        let Some(from) = offset.checked_sub(state.base) else { return Ok(()) };
        let to = bound::left(end, state.base);
        let first = state.patches.range(..from).next_back().map_or(from, |(at, _)| *at);
        for (at, bytes) in state.patches.range(first..to.max(first)) {
            let start = (*at).max(from);
            let stop = add(*at, bytes.len() as u64)?.min(to);
            let part = |position: u64, of: u64| fit::<usize, _>(sub(position, of)?, "place of a patch");
            if start < stop {
                let new = present(bytes.get(part(start, *at)?..part(stop, *at)?), "bytes of a patch")?;
                let old = out.get_mut(part(start, from)?..part(stop, from)?);
                present(old, "place of a patch")?.copy_from_slice(new);
            }
        }
        Ok(())
    }
}
