//! Commits: what is written when frames become part of the file, and in which order.
//!
//! A commit happens in the header, and nowhere else. The header is inside one sector, and its declared number of entries is an
//! upper bound of the entries that count. While a writer has the file open, this number is exactly the number of entries in use.
//! The file is then *sealed*, and whatever follows these entries does not count.
//!
//! | step | in place | with a new index block |
//! |---|---|---|
//! | 1, once | seal: header, sync | – |
//! | 2 | data, names, entries after the sealed end, sync | data, names, all entries in a block at the end, sync |
//! | 3 | header: the new number of entries (and a new name block), sync | header: the new block, sync |
//! | 4, at the end | header: the whole allocated block, whose rest is zeros, sync | the same |
//!
//! If the first entries of a session are within one sector, one sync can be saved: the seal is written together with the data
//! and the names, and the entries together with the header of step 3. The entries arrive completely or not at all, and if they
//! do not, zeros are in their place.
//!
//! If the process is interrupted anywhere, and whichever sectors between two syncs have arrived, the file has the entries of
//! step 1 or all those of step 3. No reader ever sees half a frame, because each stops at the declared number. An index without
//! entries cannot be sealed, because some readers read the first entry without asking. An empty index is sealed by declaring its
//! last entry alone, which consists of zeros.
//!
//! A writer that was killed leaves the file sealed. The next writer finds a full index and moves it once, because the file does
//! not say how much space follows the entries. Names after those in use do no harm.

use sciformats_core::arith::{add, fit, increase, mul, present, sub};
use sciformats_core::commit::{Decisive, Plan, SECTOR, Write};
use sciformats_core::{Error, ReadAt, Result, bound};

use super::index::{Index, Order};
use super::names::Names;
use super::open::Opened;
use super::{CURRENT, LEGACY};
use crate::spec::{Block, Header, IndexEntry, Version};

const SIZE: u64 = IndexEntry::SIZE as u64;

/// The alignment of new blocks, which ensures that no entry is in two sectors.
const ALIGNMENT: u64 = 64;

/// What the writer does after a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// It commits more frames.
    Continue,
    /// It closes the file, so that the index also gets space for other programs to append.
    Close,
}

/// The state of an open file as of the last commit.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// The header in the file.
    pub(crate) header: Header,
    pub(crate) index: Index,
    /// The number of entries for which the index block has space. The header may declare fewer.
    pub(crate) capacity: u64,
    pub(crate) frames: u64,
    /// Whether a commit failed halfway, so that the header in the file may be different.
    pub(crate) uncertain: bool,
}

/// What the next commit adds.
#[derive(Debug)]
pub(crate) struct Pending<'a, 'n> {
    /// The position of `data` in the file.
    pub(crate) data_at: u64,
    /// Chunks that are not in the file yet. Their end is the end of the used part of the file.
    pub(crate) data: &'a [u8],
    /// Entries of finished frames, in the order of their frames.
    pub(crate) entries: &'n [IndexEntry],
    pub(crate) names: &'n Names,
    /// The number of frames after the commit.
    pub(crate) frames: u64,
}

/// A commit: its plans in order, and the state after them. Only the last plan changes what readers see.
pub(crate) struct Commit<'a> {
    pub(crate) plans: Vec<Plan<'a>>,
    pub(crate) state: State,
    pub(crate) names: Block,
    /// The end of the used part of the file.
    pub(crate) end: u64,
}

impl State {
    /// Returns the state of an opened file. If there are bytes other than zeros after the entries in use, as a loss of power may
    /// leave them, the block counts as full.
    pub(crate) fn new(opened: &Opened, storage: &dyn ReadAt) -> Result<Self> {
        let Opened { header, index, frames, .. } = opened;
        let end = index.offset(header.index.allocated)?;
        let clean = is_zero(storage, index.offset(index.used)?, end)?;
        let capacity = if clean { header.index.allocated } else { index.used };
        Ok(Self { header: header.clone(), index: *index, capacity, frames: *frames, uncertain: false })
    }

    /// Plans to write the header as it is known. The file has `old_len` bytes before and `new_len` bytes after.
    pub(crate) fn plan_header(&self, (old_len, new_len): (u64, u64)) -> Result<Plan<'static>> {
        let decisive = Decisive::OneSector(Write::new(0, encode(&self.header)?));
        Ok(Plan { fresh: Vec::new(), decisive, old_len, new_len })
    }

    /// Returns the bytes that a commit builds upon: the header, and the place of the next entry. Another writer would change one
    /// of them, or the length of the file.
    pub(crate) fn generation(&self) -> Result<[(u64, u64); 2]> {
        let next = if self.index.used < self.capacity { SIZE } else { 0 };
        Ok([(0, Header::SIZE as u64), (self.index.offset(self.index.used)?, next)])
    }

    /// Returns the block that declares exactly the entries in use.
    fn sealed(&self) -> Result<Block> {
        Ok(match (self.index.used, self.capacity.checked_sub(1)) {
            (0, Some(last)) => Block { location: self.index.offset(last)?, allocated: 1 },
            (used, _) => Block { location: self.index.location, allocated: used },
        })
    }

    /// Returns the block that declares everything that is allocated.
    fn whole(&self) -> Block {
        Block { location: self.index.location, allocated: self.capacity }
    }

    /// Plans a commit to the file in `storage`.
    pub(crate) fn plan<'a>(
        &self,
        pending: &Pending<'a, '_>,
        then: Then,
        storage: &dyn ReadAt,
    ) -> Result<Commit<'a>> {
        let mut next = Self { frames: pending.frames, uncertain: false, ..self.clone() };
        if !pending.entries.is_empty() {
            next.header.version = written_version(next.header.version);
        }
        let mut end = add(pending.data_at, pending.data.len() as u64)?;
        let data = Some(Write::new(pending.data_at, pending.data)).filter(|data| !data.bytes.is_empty());
        let mut fresh: Vec<Write<'a>> = data.into_iter().collect();
        let (names, block) = pending.names.plan(self.header.names, align(end)?)?;
        next.header.names = block;
        let behind = |names: &Write<'_>| present(names.end(), "end of the names");
        end = end.max(names.as_ref().map_or(Ok(end), behind)?);
        fresh.extend(names);

        next.index.used = add(self.index.used, pending.entries.len() as u64)?;
        let capacity = capacity_for(next.index.used, next.frames, self.capacity)?;
        let entries = self.encode(pending.entries)?;
        let mut declared = self.header.clone();
        let mut plans = Vec::new();
        let mut in_one_sector = None;
        if entries.is_empty() {
            // The index stays where it is.
        } else if capacity == self.capacity {
            let at = self.index.offset(self.index.used)?;
            let is_sealed = !self.uncertain && self.header.index == self.sealed()?;
            declared.index = if is_sealed { declared.index } else { self.sealed()? };
            let seal = Write::new(0, encode(&declared)?);
            if is_sealed {
                fresh.push(Write::new(at, entries));
            } else if sectors(at, entries.len())? == 1 {
                fresh.insert(0, seal);
                in_one_sector = Some(Write::new(at, entries));
            } else {
                plans.push(plan_in(storage, Vec::new(), Decisive::OneSector(seal))?);
                fresh.push(Write::new(at, entries));
            }
        } else {
            next.capacity = capacity;
            next.index.location = align(end)?;
            let old = stored_entries(&self.index, storage)?;
            fresh.extend(block_writes(next.index.location, capacity, [old, entries])?);
            end = block_end(next.index.location, capacity)?;
        }
        if i64::try_from(end).is_err() {
            return Err(Error::usage("file", "would be longer than 2^63 bytes"));
        }

        next.header.index = match then {
            Then::Close => next.whole(),
            Then::Continue => next.sealed()?,
        };
        let header = Write::new(0, encode(&next.header)?);
        match in_one_sector {
            Some(entries) => plans.push(plan_in(storage, fresh, Decisive::Sectors(vec![entries, header]))?),
            None if self.uncertain || next.header != declared => {
                plans.push(plan_in(storage, fresh, Decisive::OneSector(header))?);
            }
            // Data without a complete frame waits for this frame.
            None => {}
        }
        Ok(Commit { plans, state: next, names: block, end })
    }

    fn encode(&self, entries: &[IndexEntry]) -> Result<Vec<u8>> {
        let mut entries = entries.to_vec();
        if self.index.order == Order::FrameAndId {
            entries.sort_by_key(|entry| (entry.frame, entry.id));
        }
        encode_entries(&entries)
    }

    /// Plans to upgrade a file of an older layer to the current one. The data stays, and the index (now sorted) and the names
    /// (now packed) are written to new blocks after `end`.
    pub(crate) fn plan_upgrade(
        &self,
        names: &Names,
        end: u64,
        storage: &dyn ReadAt,
    ) -> Result<Commit<'static>> {
        let entries = self.index.entries(storage, 0..self.index.used);
        let mut entries = entries.map(|item| item.map(|(_, entry)| entry)).collect::<Result<Vec<_>>>()?;
        entries.sort_by_key(|entry| (entry.frame, entry.id));

        let (names, block) = names.plan_block(1, align(end)?)?;
        let location = align(present(names.end(), "end of the names")?)?;
        let mut next = Self {
            index: Index { location, order: Order::FrameAndId, ..self.index },
            capacity: capacity_for(self.index.used, self.frames, self.capacity)?,
            uncertain: false,
            ..self.clone()
        };
        next.header = Header { index: next.whole(), names: block, version: CURRENT, ..next.header };

        let mut fresh = vec![names];
        fresh.extend(block_writes(location, next.capacity, [encode_entries(&entries)?, Vec::new()])?);
        let header = Write::new(0, encode(&next.header)?);
        let end = block_end(location, next.capacity)?;
        let plans = vec![plan_in(storage, fresh, Decisive::OneSector(header))?];
        Ok(Commit { plans, state: next, names: block, end })
    }

    /// Plans to remove all frames. The header first refers to empty blocks after `end`, and then, once they are empty, to the
    /// blocks where a new file has them.
    pub(crate) fn plan_truncation(&self, end: u64, storage: &dyn ReadAt) -> Result<Commit<'static>> {
        let header = Header { version: CURRENT, ..self.header.clone() };
        let (blank, empty) = new_file(&header)?;
        let temporary = align(end.max(empty.end))?;
        let shift = sub(temporary, Header::SIZE as u64)?;
        let moved = |block: Block| Ok(Block { location: add(block.location, shift)?, ..block });
        let aside = Header {
            index: moved(empty.state.header.index)?,
            names: moved(empty.state.header.names)?,
            ..empty.state.header.clone()
        };
        let blocks = present(blank.get(Header::SIZE..), "blocks of a new file")?.to_vec();
        let first = Decisive::OneSector(Write::new(0, encode(&aside)?));
        let first = plan_in(storage, vec![Write::new(temporary, blocks.clone())], first)?;
        let second = Plan {
            fresh: vec![Write::new(Header::SIZE as u64, blocks)],
            decisive: Decisive::OneSector(Write::new(0, encode(&empty.state.header)?)),
            old_len: first.new_len,
            new_len: empty.end,
        };
        Ok(Commit { plans: vec![first, second], ..empty })
    }
}

/// Returns a plan for the file in `storage`, whose new length follows from the writes.
fn plan_in<'a>(storage: &dyn ReadAt, fresh: Vec<Write<'a>>, decisive: Decisive<'a>) -> Result<Plan<'a>> {
    let mut len = storage.size();
    for write in &fresh {
        len = len.max(present(write.end(), "end of a write")?);
    }
    Ok(Plan { fresh, decisive, old_len: len, new_len: len })
}

/// Returns the bytes of a file without frames, and its state.
pub(crate) fn new_file(header: &Header) -> Result<(Vec<u8>, Commit<'static>)> {
    let index = Block { location: Header::SIZE as u64, allocated: 128 };
    // These are the sizes that other writers use: 128 slots, or 1 KiB of packed names.
    let units = if header.version < Version::new(2, 0) { 128 } else { 16 };
    let names_at = block_end(index.location, index.allocated)?;
    let names = Block { location: names_at, allocated: units };
    let end = add(names_at, mul(units, crate::spec::name_list::UNIT)?)?;
    let header = Header { index, names, ..header.clone() };
    let mut bytes = encode(&header)?;
    bytes.resize(fit(end, "length of a new file")?, 0);
    let state = State {
        index: Index { location: index.location, used: 0, order: header.order() },
        capacity: index.allocated,
        frames: 0,
        uncertain: false,
        header,
    };
    Ok((bytes, Commit { plans: Vec::new(), state, names, end }))
}

/// Returns the layer of a file after a commit: 2.0 becomes 2.1, and all others stay.
fn written_version(version: Version) -> Version {
    if version == Version::new(2, 0) { CURRENT } else { version }
}

/// Returns where a block of `capacity` entries ends.
fn block_end(location: u64, capacity: u64) -> Result<u64> {
    add(location, mul(capacity, SIZE)?)
}

/// Returns whether new files of this layer can be written.
pub(crate) fn is_writable(version: Version) -> bool {
    version == CURRENT || version == LEGACY
}

/// The number of frames up to which a block is enlarged for readers that refuse frame numbers above the number of entries. If
/// there are few chunks in many frames, this costs at most one MiB.
const SPARSE: u64 = 1 << 14;

/// Returns the size of the block, which is doubled until at least one entry stays free.
fn capacity_for(used: u64, frames: u64, capacity: u64) -> Result<u64> {
    let needed = if frames <= SPARSE { used.max(frames) } else { used };
    let mut capacity = capacity.max(1);
    while capacity <= needed {
        capacity = mul(capacity, 2)?;
    }
    Ok(capacity)
}

/// Writes a block of `capacity` entries that begins with `parts` and is filled with zeros.
fn block_writes(location: u64, capacity: u64, parts: [Vec<u8>; 2]) -> Result<Vec<Write<'static>>> {
    static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
    let mut writes = Vec::new();
    let mut at = location;
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        let start = at;
        increase(&mut at, part.len() as u64)?;
        writes.push(Write::new(start, part));
    }
    let end = block_end(location, capacity)?;
    while at < end {
        let size = bound::addressable(sub(end, at)?).min(ZEROS.len());
        writes.push(Write::new(at, present(ZEROS.get(..size), "zeros of a block")?));
        increase(&mut at, size as u64)?;
    }
    Ok(writes)
}

fn is_zero(storage: &dyn ReadAt, mut at: u64, end: u64) -> Result<bool> {
    const PART: usize = 1 << 16;
    let mut buffer = sciformats_core::storage::zeroed::<u8>(PART)?;
    while at < end {
        let size = bound::addressable(sub(end, at)?).min(PART);
        let part = present(buffer.get_mut(..size), "part of a block")?;
        storage.read_into(at, part)?;
        // Without an early exit, the compiler can compare many bytes at a time.
        if part.iter().fold(0, |all, &byte| all | byte) != 0 {
            return Ok(false);
        }
        increase(&mut at, size as u64)?;
    }
    Ok(true)
}

/// Returns the number of sectors that a write touches.
fn sectors(at: u64, size: usize) -> Result<u64> {
    let end = add(at, size as u64)?.div_ceil(SECTOR);
    sub(end, at / SECTOR)
}

fn stored_entries(index: &Index, storage: &dyn ReadAt) -> Result<Vec<u8>> {
    let size = mul(index.used, SIZE)?;
    let size = sciformats_core::limits::within("bytes of the index", size, u64::MAX)?;
    Ok(storage.read_at(index.location, size)?.into_owned())
}

fn encode_entries(entries: &[IndexEntry]) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(mul(entries.len(), IndexEntry::SIZE)?);
    entries.iter().for_each(|entry| entry.encode(&mut out));
    Ok(out)
}

fn encode(header: &Header) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(Header::SIZE);
    header.encode(&mut out);
    if out.len() != Header::SIZE {
        return Err(Error::internal("a header has another size"));
    }
    Ok(out)
}

fn align(offset: u64) -> Result<u64> {
    let too_long = || Error::usage("file", "would be longer than 2^63 bytes");
    offset.checked_next_multiple_of(ALIGNMENT).ok_or_else(too_long)
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
mod tests {
    use sciformats_core::Step;
    use sciformats_core::commit::apply;

    use super::super::open::open;
    use super::*;
    use crate::spec::{ElementType, Label};

    /// Returns a new file, its state and its names.
    fn blank() -> (Vec<u8>, State, Names) {
        let nowhere = Block { location: 0, allocated: 0 };
        let label = Label::new("t").unwrap();
        let (bytes, commit) = new_file(&Header {
            index: nowhere,
            names: nowhere,
            schema_version: Version::new(1, 0),
            version: CURRENT,
            application: label,
            schema: label,
            reserved: [0; 80],
        })
        .unwrap();
        let names = Names::new(&bytes, &commit.state.header).unwrap();
        (bytes, commit.state, names)
    }

    /// Commits a frame with `count` chunks of one byte each, and returns a description of the steps.
    fn commit((bytes, state, names): &mut (Vec<u8>, State, Names), count: u16, then: Then) -> Vec<String> {
        let data = vec![7; count.into()];
        let at = bytes.len() as u64;
        (0..count).for_each(|i| assert_eq!(names.intern(&format!("n{i}")).unwrap(), i));
        let entry = |i: u16| IndexEntry {
            frame: state.frames,
            n: 1,
            location: (at + u64::from(i)).cast_signed(),
            m: 1,
            id: i,
            element: ElementType::U8,
        };
        let entries: Vec<_> = (0..count).rev().map(entry).collect();
        let pending = Pending {
            data_at: at,
            data: &data,
            entries: &entries,
            names,
            frames: state.frames + u64::from(count > 0),
        };
        let Commit { plans, state: next, names: block, .. } = state.plan(&pending, then, bytes).unwrap();
        let stored = bytes.len() as u64;
        let steps: Vec<_> =
            plans.into_iter().flat_map(|plan| plan.steps(stored).unwrap().into_list()).collect();
        let shown = steps.iter().map(|step| show(step, state, &next, at)).collect();
        apply(&steps, bytes).unwrap();
        names.store(block);
        *state = next;
        let opened = open(bytes).unwrap();
        assert_eq!((opened.index, opened.frames), (state.index, state.frames));
        shown
    }

    fn show(step: &Step<'_>, state: &State, next: &State, end: u64) -> String {
        let Step::Write { offset, bytes } = step else { return "sync".into() };
        let index = next.index.location..next.index.location + next.capacity * SIZE;
        let names =
            state.header.names.location..state.header.names.location + state.header.names.allocated * 64;
        match *offset {
            0 => {
                let (_, header) = Header::parse(bytes).unwrap();
                format!("header with {} at {}", header.index.allocated, header.index.location)
            }
            at if index.contains(&at) => format!("entries {}", bytes.len() / IndexEntry::SIZE),
            at if names.contains(&at) => "names".into(),
            at if at == end => "data".into(),
            at => format!("{at}?"),
        }
    }

    #[test]
    fn the_first_commit_seals_and_the_next_does_not() {
        let mut file = blank();
        let seal = "header with 1 at 4320"; // the last entry of the block alone
        let first = [seal, "data", "names", "sync", "entries 3", "header with 3 at 256", "sync"];
        assert_eq!(commit(&mut file, 3, Then::Continue), first);
        assert_eq!(
            commit(&mut file, 2, Then::Continue),
            ["data", "entries 2", "sync", "header with 5 at 256", "sync"]
        );
        assert_eq!(commit(&mut file, 0, Then::Continue), [""; 0]);
        assert_eq!(commit(&mut file, 0, Then::Close), ["header with 128 at 256", "sync"]);
        assert_eq!(commit(&mut file, 0, Then::Close), [""; 0]);
        let again = ["header with 5 at 256", "data", "sync", "entries 1", "header with 128 at 256", "sync"];
        assert_eq!(commit(&mut file, 1, Then::Close), again);
        // These entries extend into the next sector, so half of them could arrive.
        let across =
            ["header with 6 at 256", "sync", "data", "entries 3", "sync", "header with 9 at 256", "sync"];
        assert_eq!(commit(&mut file, 3, Then::Continue), across);
    }

    #[test]
    fn an_index_without_room_moves_and_needs_no_seal() {
        let mut file = blank();
        commit(&mut file, 100, Then::Close);
        let place = align(file.0.len() as u64 + 28).unwrap();
        let declared = format!("header with 256 at {place}");
        assert_eq!(
            commit(&mut file, 28, Then::Close),
            ["data", "entries 100", "entries 28", "entries 128", "sync", &declared, "sync"]
        );
        assert_eq!((file.1.capacity, file.1.index.used), (256, 128));
    }

    #[test]
    fn an_entry_always_stays_free() {
        assert_eq!(capacity_for(127, 1, 128).unwrap(), 128);
        assert_eq!(capacity_for(128, 1, 128).unwrap(), 256);
        assert_eq!(capacity_for(600, 1, 128).unwrap(), 1024);
        // Readers that refuse frame numbers above the number of entries can open the file.
        assert_eq!(capacity_for(2, 202, 128).unwrap(), 256);
        assert_eq!(capacity_for(2, SPARSE + 1, 128).unwrap(), 128);
        assert_eq!(capacity_for(0, 0, 0).unwrap(), 1);
    }
}
