//! A journal at the end of the file, for commits that overwrite bytes in use.
//!
//! While a commit is being applied, the file ends with one additional sector, which says what the rest means:
//!
//! ```text
//! 0        old_len            new_len      body            state sector      end of file
//! ├─ in use ──┤─ fresh bytes ────┤┄┄┄┄┄┄┄┄┄┄┤─ patches ─┤┄┄┄┤─ 512 bytes ─┤
//! ```
//!
//! | offset in the sector | size | field |
//! |---|---|---|
//! | 0 | 8 | signature `\x89SFJRNL\n` |
//! | 8 | 8 | state: 1 pending, 2 committed |
//! | 16 | 8 | `old_len`: length of the file before |
//! | 24 | 8 | `new_len`: length of the file after |
//! | 32 | 8 | `body`: offset of the patches |
//! | 40 | 8 | size of the patches in bytes |
//! | 48 | 8 | checksum of the patches (FNV-1a, 64 bits) |
//! | 56 | 448 | zeros |
//! | 504 | 8 | checksum of the 504 bytes before (FNV-1a, 64 bits) |
//!
//! The patches follow one another; each has an offset and a length of 8 bytes, and the bytes. Everything is
//! little-endian. The sector is aligned, so it is written completely or not at all. [`plan`] needs no other
//! assumption:
//!
//! | interrupted after | the file ends with | meaning |
//! |---|---|---|
//! | nothing, or 5 | no state sector | the old file, or the new one |
//! | 1 the state sector, pending, is durable | pending | the old file: `old_len` bytes |
//! | 2 fresh bytes and patches are durable | pending | the same |
//! | 3 the sector says committed, durable | committed | the new file: `new_len` bytes with the patches laid over |
//! | 4 the patches are in their places, durable | committed | the same, once more |
//!
//! A reader calls [`view`], and sees the old or the new file. A writer calls [`recover`] first, which
//! completes what was begun. At all other times there is no journal in the file.

use nom::number::complete::le_u64;
use nom::{Parser, multi::length_data};

use super::{SECTOR, Step, Steps};
use crate::bound;
use crate::error::{Error, Result};
use crate::fault::{FaultKind, Parsed, constant, fail, field, locate_all};
use crate::storage::{Overlay, Patch, ReadAt};

const SIGNATURE: u64 = u64::from_le_bytes(*b"\x89SFJRNL\n");
const SEALED: usize = SECTOR as usize - 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Pending,
    Committed,
}

/// The state sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Record {
    state: State,
    old_len: u64,
    new_len: u64,
    body: u64,
    body_size: u64,
    body_checksum: u64,
}

impl Record {
    fn parse(i: &[u8]) -> Parsed<'_, Self> {
        let (i, _) = constant("signature", le_u64, SIGNATURE)(i)?;
        let (i, state) = field("state", |i| match le_u64(i)? {
            (i, 1) => Ok((i, State::Pending)),
            (i, 2) => Ok((i, State::Committed)),
            (_, found) => fail(i, FaultKind::Undefined { found }),
        })(i)?;
        let (i, old_len) = field("old_len", le_u64)(i)?;
        let (i, new_len) = field("new_len", le_u64)(i)?;
        let (i, body) = field("body", le_u64)(i)?;
        let (i, body_size) = field("body size", le_u64)(i)?;
        let (i, body_checksum) = field("body checksum", le_u64)(i)?;
        Ok((i, Self { state, old_len, new_len, body, body_size, body_checksum }))
    }

    fn encode(&self) -> Vec<u8> {
        let state = match self.state {
            State::Pending => 1,
            State::Committed => 2,
        };
        let words =
            [SIGNATURE, state, self.old_len, self.new_len, self.body, self.body_size, self.body_checksum];
        let mut out: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        out.resize(SEALED, 0);
        let seal = checksum(&out);
        out.extend(seal.to_le_bytes());
        out
    }
}

fn patch(i: &[u8]) -> Parsed<'_, Patch> {
    let (i, offset) = field("offset of a patch", le_u64)(i)?;
    let (i, bytes) = field("bytes of a patch", length_data(length))(i)?;
    Ok((i, Patch { offset, bytes: bytes.to_vec() }))
}

/// Parses a length. If the machine cannot address it, it exceeds the file too, so it becomes the largest `usize`.
fn length(i: &[u8]) -> Parsed<'_, usize> {
    let (i, length) = le_u64(i)?;
    Ok((i, bound::addressable(length)))
}

fn encode_patches(patches: &[Patch]) -> Vec<u8> {
    let mut out = Vec::new();
    for patch in patches {
        out.extend(patch.offset.to_le_bytes());
        out.extend((patch.bytes.len() as u64).to_le_bytes());
        out.extend(&patch.bytes);
    }
    out
}

pub(super) fn checksum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Plans a commit that leaves the old file or the new one if it is interrupted at any point.
///
/// `fresh` are writes into `old_len .. new_len`, which nothing in the old file refers to; `patches` overwrite
/// bytes below `old_len`. The new file has `new_len` bytes, and may be shorter than the old one.
///
/// ```
/// use sciformats_core::commit::{Step, apply, journal};
/// use sciformats_core::storage::Patch;
///
/// let mut file = b"old header, old data".to_vec();
/// let fresh = vec![Step::write(20, &b" and more"[..])];
/// let patches = [Patch { offset: 0, bytes: b"new".to_vec() }];
/// let steps = journal::plan(20, 29, fresh, &patches)?;
/// apply(&steps, &mut file)?;
/// assert_eq!(file, b"new header, old data and more");
/// # Ok::<(), sciformats_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Usage`] if a write lies outside its part, or the file would be longer than 2^63 bytes.
pub fn plan<'a>(
    old_len: u64,
    new_len: u64,
    fresh: Vec<Step<'a>>,
    patches: &[Patch],
) -> Result<Vec<Step<'a>>> {
    parts(old_len, new_len, fresh, patches).map(Steps::into_list)
}

/// Does the same as [`plan`], with the steps grouped by their purpose.
pub(super) fn parts<'a>(
    old_len: u64,
    new_len: u64,
    fresh: Vec<Step<'a>>,
    patches: &[Patch],
) -> Result<Steps<'a>> {
    check(old_len, new_len, &fresh, patches)?;
    let body_bytes = encode_patches(patches);
    let body = old_len.max(new_len);
    let place = || {
        let end = body.checked_add(body_bytes.len() as u64)?;
        end.checked_next_multiple_of(SECTOR).filter(|&sector| sector < i64::MAX as u64)
    };
    let sector = place().ok_or_else(|| Error::usage("length", "exceeds the size of any file"))?;
    let pending = Record {
        state: State::Pending,
        old_len,
        new_len,
        body,
        body_size: body_bytes.len() as u64,
        body_checksum: checksum(&body_bytes),
    };
    let committed = Record { state: State::Committed, ..pending };

    let mut reversible = vec![Step::write(sector, pending.encode()), Step::Sync];
    reversible.extend(fresh);
    reversible.extend([Step::write(body, body_bytes), Step::Sync]);
    Ok(Steps {
        reversible,
        decisive: vec![Step::write(sector, committed.encode())],
        completion: std::iter::once(Step::Sync).chain(completion(new_len, patches.to_vec())).collect(),
    })
}

/// Returns the steps from the committed state to the plain file.
fn completion<'a>(new_len: u64, patches: Vec<Patch>) -> impl Iterator<Item = Step<'a>> {
    let writes = patches.into_iter().map(|patch| Step::write(patch.offset, patch.bytes));
    writes.chain([Step::Sync, Step::SetSize { size: new_len }, Step::Sync])
}

fn check(old_len: u64, new_len: u64, fresh: &[Step<'_>], patches: &[Patch]) -> Result<()> {
    let end = |offset: u64, bytes: &[u8]| bound::sum(offset, bytes.len() as u64);
    let fresh_is_fresh = fresh.iter().all(|step| match step {
        Step::Write { offset, bytes } => *offset >= old_len && end(*offset, bytes) <= new_len,
        Step::Sync => true,
        Step::SetSize { .. } => false,
    });
    let patched_is_old = patches.iter().all(|p| end(p.offset, &p.bytes) <= old_len.min(new_len));
    match (fresh_is_fresh, patched_is_old) {
        (true, true) => Ok(()),
        (false, _) => Err(Error::usage("fresh bytes", "must lie between the old length and the new one")),
        (_, false) => Err(Error::usage("patches", "must lie in both the old file and the new one")),
    }
}

/// The meaning of a file that may end with a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Meaning {
    /// The bytes as they are.
    Plain,
    /// The first `len` bytes, with the patches laid over.
    Journalled { len: u64, patches: Vec<Patch>, interrupted: Interrupted },
}

/// What the journal of an interrupted commit says about the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted {
    /// Length of the file before the commit.
    pub old_len: u64,
    /// Length of the file after it.
    pub new_len: u64,
    /// Whether the commit counts, so that the patches must be applied.
    pub committed: bool,
    /// Absolute offset of the state sector.
    pub offset: u64,
}

fn meaning(storage: &(impl ReadAt + ?Sized)) -> Result<Meaning> {
    let Some((record, at)) = state_sector(storage)? else { return Ok(Meaning::Plain) };
    let committed = record.state == State::Committed;
    let interrupted = Interrupted { old_len: record.old_len, new_len: record.new_len, committed, offset: at };
    if !committed {
        return Ok(Meaning::Journalled { len: record.old_len, patches: Vec::new(), interrupted });
    }
    let size = bound::addressable(record.body_size);
    let bytes = storage.read_at(record.body, size)?;
    let computed = checksum(&bytes);
    if computed != record.body_checksum {
        let kind = FaultKind::Checksum { stored: record.body_checksum, computed };
        return Err(crate::Fault::new("body checksum", kind).at("journal", at));
    }
    let patches = locate_all("journal", record.body, &bytes, nom::multi::many0(patch_or_end))?;
    Ok(Meaning::Journalled { len: record.new_len, patches, interrupted })
}

/// Does the same as [`patch`], but the end of the input ends the list instead of being an error.
fn patch_or_end(i: &[u8]) -> Parsed<'_, Patch> {
    if i.is_empty() { fail(i, FaultKind::Truncated) } else { nom::combinator::cut(patch).parse(i) }
}

/// Returns the state sector and its offset, if the file ends with a valid one.
///
/// Anything else at the end belongs to the file itself. A journal is recognised by its signature, its
/// checksum, and its position, which must be exactly where it says that the file ends.
fn state_sector(storage: &(impl ReadAt + ?Sized)) -> Result<Option<(Record, u64)>> {
    let len = storage.size();
    let Some(at) = len.checked_sub(SECTOR).filter(|_| len.is_multiple_of(SECTOR)) else { return Ok(None) };
    let bytes = storage.read_at(at, SECTOR as usize)?;
    if !bytes.starts_with(&SIGNATURE.to_le_bytes()) {
        return Ok(None);
    }
    let sealed =
        bytes.split_last_chunk::<8>().is_some_and(|(head, seal)| checksum(head) == u64::from_le_bytes(*seal));
    let Ok((_, record)) = Record::parse(&bytes) else { return Ok(None) };
    let place =
        record.body.checked_add(record.body_size).and_then(|end| end.checked_next_multiple_of(SECTOR));
    let stands = place == Some(at) && record.body == record.old_len.max(record.new_len);
    Ok((sealed && stands).then_some((record, at)))
}

/// Returns the file in the state of its last commit, for reading; it is unchanged if there is no journal.
///
/// ```
/// use sciformats_core::ReadAt;
/// use sciformats_core::commit::journal;
///
/// let plain = journal::view(b"no commit was cut".to_vec())?;
/// assert_eq!(plain.size(), 17);
/// # Ok::<(), sciformats_core::Error>(())
/// ```
///
/// # Errors
/// `Io`; [`Error::Malformed`] if a committed journal is damaged.
pub fn view<S: ReadAt>(storage: S) -> Result<Overlay<S>> {
    match meaning(&storage)? {
        Meaning::Plain => {
            let len = storage.size();
            Ok(Overlay::new(storage, len, Vec::new()))
        }
        Meaning::Journalled { len, patches, .. } => Ok(Overlay::new(storage, len, patches)),
    }
}

/// Returns whether a commit was interrupted, so that [`view`] differs from the plain bytes and [`recover`]
/// has something to do.
///
/// ```
/// assert!(!sciformats_core::commit::journal::is_interrupted(&b"no commit was cut"[..])?);
/// # Ok::<(), sciformats_core::Error>(())
/// ```
///
/// # Errors
/// Those of [`view`].
pub fn is_interrupted(storage: &(impl ReadAt + ?Sized)) -> Result<bool> {
    meaning(storage).map(|meaning| meaning != Meaning::Plain)
}

/// Returns what the journal says if a commit was interrupted. A caller that knows more about the file can
/// check whether the journal belongs to it.
///
/// ```
/// use sciformats_core::commit::{apply, journal};
/// use sciformats_core::storage::Patch;
///
/// let mut file = b"old header".to_vec();
/// let steps = journal::plan(10, 10, Vec::new(), &[Patch { offset: 0, bytes: b"new".to_vec() }])?;
/// apply(&steps[..2], &mut file)?; // and then the process is killed
/// let found = journal::interrupted(&file)?.ok_or_else(|| sciformats_core::Error::not_found("journal", "file"))?;
/// assert_eq!((found.old_len, found.committed), (10, false));
/// # Ok::<(), sciformats_core::Error>(())
/// ```
///
/// # Errors
/// Those of [`view`].
pub fn interrupted(storage: &(impl ReadAt + ?Sized)) -> Result<Option<Interrupted>> {
    Ok(match meaning(storage)? {
        Meaning::Plain => None,
        Meaning::Journalled { interrupted, .. } => Some(interrupted),
    })
}

/// Plans the completion or the removal of an interrupted commit; the plan is empty if there was none.
///
/// ```
/// use sciformats_core::commit::{apply, journal};
///
/// let mut file = b"no commit was cut".to_vec();
/// let steps = journal::recover(&file)?;
/// assert!(steps.is_empty());
/// apply(&steps, &mut file)?;
/// # Ok::<(), sciformats_core::Error>(())
/// ```
///
/// # Errors
/// Those of [`view`].
pub fn recover(storage: &(impl ReadAt + ?Sized)) -> Result<Vec<Step<'static>>> {
    Ok(match meaning(storage)? {
        Meaning::Plain => Vec::new(),
        Meaning::Journalled { len, patches, .. } => completion(len, patches).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commit::{apply, replay};

    fn content(storage: &[u8]) -> Vec<u8> {
        let view = view(storage).unwrap();
        view.read_at(0, view.size() as usize).unwrap().into_owned()
    }

    fn scenario(old: &[u8], new: &[u8], steps: &[Step<'_>]) -> replay::Cuts {
        replay::every_cut(old, steps, |cut, file| {
            let seen = content(file);
            assert!(seen == old || seen == new, "{cut:?}: neither the old file nor the new one");
            // The next writer recovers the file, and may be interrupted too.
            let recovery = recover(file).unwrap();
            replay::every_cut(file, &recovery, |again, file| {
                assert_eq!(content(file), seen, "{cut:?}, then {again:?}");
            });
            let mut recovered = file.to_vec();
            apply(&recovery, &mut recovered).unwrap();
            assert!(recovered == seen, "{cut:?}: recovery");
            assert!(!is_interrupted(&recovered).unwrap());
            if let Some(told) = interrupted(file).unwrap() {
                assert_eq!((told.old_len, told.new_len), (old.len() as u64, new.len() as u64));
                assert_eq!(if told.committed { new } else { old }, seen);
            }
        })
    }

    #[test]
    fn every_cut_leaves_the_old_file_or_the_new_one() {
        let old: Vec<u8> = (0..1500u32).map(|i| i as u8).collect();
        let patches =
            [Patch { offset: 3, bytes: vec![0xAA; 700] }, Patch { offset: 1490, bytes: vec![0xBB; 10] }];
        let overwrite = |mut file: Vec<u8>| {
            file[3..703].fill(0xAA);
            file[1490..].fill(0xBB);
            file
        };

        let mut longer = overwrite(old.clone());
        longer.extend([0xCC; 900]);
        let fresh = vec![Step::write(1500, vec![0xCC; 400]), Step::write(1900, vec![0xCC; 500])];
        let cuts = scenario(&old, &longer, &plan(1500, 2400, fresh, &patches).unwrap());
        assert!(cuts.prefixes > 9 && cuts.torn >= 5 && cuts.reordered >= 5, "{cuts:?}");

        scenario(&old, &overwrite(old.clone()), &plan(1500, 1500, Vec::new(), &patches).unwrap());
        let mut shorter = old[..1000].to_vec();
        shorter[3..703].fill(0xAA);
        scenario(&old, &shorter, &plan(1500, 1000, Vec::new(), &patches[..1]).unwrap());
        scenario(&[], b"first", &plan(0, 5, vec![Step::write(0, &b"first"[..])], &[]).unwrap());
    }

    #[test]
    fn writes_outside_their_part_are_refused() {
        let patch = |offset, len| Patch { offset, bytes: vec![0; len] };
        assert!(plan(100, 200, vec![Step::write(99, vec![0])], &[]).is_err());
        assert!(plan(100, 200, vec![Step::write(199, vec![0, 0])], &[]).is_err());
        assert!(plan(100, 200, Vec::new(), &[patch(100, 1)]).is_err());
        assert!(plan(100, 50, Vec::new(), &[patch(50, 1)]).is_err());
        assert!(plan(u64::MAX - 9, u64::MAX, Vec::new(), &[]).is_err());
    }

    #[test]
    fn what_only_looks_like_a_journal_belongs_to_the_file() {
        let mut file = vec![7; 1024];
        file[512..520].copy_from_slice(&SIGNATURE.to_le_bytes());
        assert!(!is_interrupted(&file).unwrap());
        // The record is valid, but not at the position that it declares.
        let record = Record {
            state: State::Pending,
            old_len: 600,
            new_len: 600,
            body: 600,
            body_size: 0,
            body_checksum: checksum(&[]),
        };
        file[512..].copy_from_slice(&record.encode());
        assert!(!is_interrupted(&file).unwrap());
    }

    #[test]
    fn a_damaged_body_is_an_error_with_a_place() {
        let old = vec![1; 600];
        let steps = plan(600, 600, Vec::new(), &[Patch { offset: 0, bytes: vec![2; 8] }]).unwrap();
        let mut file = old;
        apply(&steps[..6], &mut file).unwrap();
        file[620] ^= 1;
        let error = view(&file).unwrap_err().to_string();
        assert!(error.starts_with("malformed journal at offset 0x400: body checksum is"), "{error}");
    }
}
