//! The session of one writer with a file, from the lock to the last commit.
//!
//! | step | what a session does |
//! |---|---|
//! | [open](Session::open) | takes the lock of a writer, and checks that it is the lock of the file at that path |
//! | [recover](Session::recover) | completes a commit that was interrupted, or takes it back |
//! | [watch](Session::watch) | remembers the bytes that commits build upon: the generation of the file |
//! | [write_fresh](Session::write_fresh) | writes to space that nothing refers to, remembering what was there |
//! | [commit](Session::commit) | checks that the file is still the one that was read, and then writes everything or nothing |
//! | [roll_back](Session::roll_back) | takes back what was written since the last commit |

mod file;
mod generation;

use std::path::PathBuf;

use super::plan::{Plan, Steps};
use super::{Step, apply, journal};
use crate::bound;
use crate::error::{Clash, Error, Result};
use crate::storage::{Patch, ReadAt, WriteAt};

pub use generation::Generation;
use generation::{Watched, digest};

/// How durable a commit is when it returns. In each case, if the process ends, the file is in the state
/// before or after the commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Syncs {
    /// The device is not waited for. A loss of power may damage bytes that have not been written back.
    None,
    /// Steps reach the device in order. A loss of power leaves this state or an earlier one.
    #[default]
    Ordered,
    /// A loss of power after the call leaves this state.
    Durable,
}

/// What is known about the file after a failed commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Fate {
    /// The file is in the state of the last commit.
    #[default]
    Kept,
    /// The device failed in such a way that the new or the old state may count; opening the file again shows
    /// which.
    Unknown,
}

/// The exclusive access of one writer to a file, or to bytes in memory, which need no lock.
///
/// ```
/// use sciformats_core::commit::{Decisive, Plan, Session, Syncs, Write};
/// use sciformats_core::Error;
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("count.bin");
/// std::fs::write(&path, [0; 8]).unwrap();
/// let mut session = Session::open(&path)?;
/// assert!(matches!(Session::open(&path), Err(Error::Conflict { .. }))); // one at a time
/// session.watch(0, 8)?;
///
/// let record = || Plan {
///     fresh: vec![Write::new(8, b"record".as_slice())],
///     decisive: Decisive::OneSector(Write::new(0, [1].as_slice())),
///     old_len: 8,
///     new_len: 14,
/// };
/// std::fs::write(&path, [7; 8]).unwrap(); // by somebody who asks for no lock
/// assert!(matches!(session.commit(record(), Syncs::Durable), Err(Error::Conflict { .. })));
/// assert_eq!(std::fs::read(&path).unwrap(), [7; 8]);
///
/// session.renew()?; // what is there now has been looked at
/// session.watch(0, 8)?;
/// session.commit(record(), Syncs::Durable)?;
/// assert_eq!(std::fs::read(&path).unwrap(), b"\x01\x07\x07\x07\x07\x07\x07\x07record");
/// # Ok::<(), sciformats_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Session<S> {
    storage: S,
    /// The path of the file in errors.
    path: Option<PathBuf>,
    /// The length of the storage after the last commit.
    kept_len: u64,
    /// The bytes that were overwritten since then, in the order of writing.
    undo: Vec<Patch>,
    /// Whether fresh bytes were written and not synced.
    unsynced: bool,
    watched: Vec<Watched>,
    fate: Fate,
    lost: bool,
}

impl<S: ReadAt + WriteAt> Session<S> {
    /// Creates a session over a storage that is locked already, or that nobody else can access.
    pub fn over(storage: S) -> Self {
        Self {
            kept_len: storage.size(),
            storage,
            path: None,
            undo: Vec::new(),
            unsynced: false,
            watched: Vec::new(),
            fate: Fate::Kept,
            lost: false,
        }
    }

    /// Returns the storage.
    pub fn storage(&self) -> &S {
        &self.storage
    }

    /// Ends the session and returns the storage. The lock of a file lasts as long as its storage.
    pub fn into_storage(self) -> S {
        self.storage
    }

    /// Returns what is known about the file after a failed commit.
    pub fn fate(&self) -> Fate {
        self.fate
    }

    /// Returns whether the device has ever failed to sync. It may have lost bytes without reporting it again.
    pub fn has_lost_bytes(&self) -> bool {
        self.lost
    }

    /// Returns the length after the last commit or after opening.
    pub fn kept_len(&self) -> u64 {
        self.kept_len
    }

    /// Completes an interrupted commit, or takes it back, as the journal at the end of the file says.
    ///
    /// # Errors
    /// `Io`; [`Error::Malformed`] if the journal is damaged.
    pub fn recover(&mut self) -> Result<()> {
        let steps = journal::recover(&self.storage)?;
        if !steps.is_empty() {
            apply(&steps, &mut self.storage)?;
            self.keep();
        }
        Ok(())
    }

    /// Resolves a commit whose [`fate`](Self::fate) is unknown. If it counts, it is completed; otherwise it
    /// is taken back, together with everything since the previous commit.
    ///
    /// # Errors
    /// Those of [`recover`](Self::recover).
    pub fn settle(&mut self) -> Result<()> {
        if self.fate == Fate::Kept {
            return Ok(());
        }
        if journal::is_interrupted(&self.storage)? {
            return self.recover();
        }
        take_back(&self.undo, self.kept_len, &mut self.storage)?;
        self.keep();
        Ok(())
    }

    /// Remembers `len` bytes at `offset`. A commit is refused if they have changed by then.
    ///
    /// # Errors
    /// Those of [`ReadAt::read_at`].
    pub fn watch(&mut self, offset: u64, len: u64) -> Result<()> {
        self.watched.push(Watched::of(&self.storage, offset, len)?);
        Ok(())
    }

    /// Does the same as [`watch`](Self::watch), for bytes as they were when the file was read, before the session began.
    pub fn expect(&mut self, generation: &Generation) {
        self.watched.extend(&generation.0);
    }

    /// Makes everything that was written to fresh space part of the file, so that it cannot be taken back any
    /// more. This is for formats in which bytes at the end count because of their position.
    pub fn accept(&mut self) {
        self.keep();
    }

    /// Forgets the watched bytes, for a new generation.
    pub fn unwatch(&mut self) {
        self.watched.clear();
    }

    /// Checks that the file is the one that was read: its path leads to it, its length is unchanged, and so
    /// are the watched bytes.
    ///
    /// # Errors
    /// [`Error::Conflict`] that says what has changed; `Io`.
    pub fn verify(&self) -> Result<()> {
        self.storage.check_unchanged()?;
        for watched in &self.watched {
            let Watched { offset, len, hash } = *watched;
            let end = bound::sum(offset, len as u64);
            if end > self.storage.size() || digest(&self.storage.read_at(offset, len)?) != hash {
                return Err(self.conflict(Clash::Changed { offset }));
            }
        }
        Ok(())
    }

    /// Writes to space that nothing in use refers to. The old bytes are remembered, and restored if no commit
    /// follows.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if somebody else has replaced, truncated or extended the file, so that the space
    /// may be in use; `Io`. In these cases nothing is written.
    pub fn write_fresh(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.storage.check_unchanged()?;
        let before = self.storage.size();
        let noted = self.undo.len();
        save(&self.storage, self.kept_len, offset, bytes.len(), &mut self.undo)?;
        self.unsynced = true;
        self.storage.write_at(offset, bytes).inspect_err(|_| {
            // The part that arrived is removed. If that fails too, nothing refers to it.
            let undo = self.undo.split_off(noted);
            let _ = take_back(&undo, before, &mut self.storage);
        })
    }

    /// Returns when everything written before will survive a loss of power.
    ///
    /// # Errors
    /// `Io`.
    pub fn sync(&mut self) -> Result<()> {
        self.run(&[Step::Sync])
    }

    /// Extends the storage to at least `size` bytes.
    ///
    /// # Errors
    /// `Io`.
    pub fn extend_to(&mut self, size: u64) -> Result<()> {
        if size > self.storage.size() { self.storage.set_size(size) } else { Ok(()) }
    }

    /// Carries out a plan. After an error the file is in the state before the call, unless
    /// [`fate`](Self::fate) says that this is unknown because the device failed.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if the file is not the one that was read; `Io`; [`Error::Usage`] if the plan is
    /// invalid.
    pub fn commit(&mut self, plan: Plan<'_>, syncs: Syncs) -> Result<()> {
        self.verify()?;
        let before = self.storage.size();
        let Steps { mut reversible, decisive, mut completion } = plan.steps(before)?;
        if self.unsynced && !reversible.contains(&Step::Sync) {
            reversible.push(Step::Sync);
        }
        match syncs {
            Syncs::None => {
                reversible.retain(|step| *step != Step::Sync);
                completion.retain(|step| *step != Step::Sync);
            }
            Syncs::Ordered => drop(completion.pop_if(|step| *step == Step::Sync)),
            Syncs::Durable => {}
        }
        // If the first sync after the decisive writes fails, these are taken back too.
        let rest = completion.split_off(usize::from(completion.first() == Some(&Step::Sync)));
        let mut undo = Vec::new();
        if let Err(error) = self.reversibly(&[reversible, decisive, completion], &mut undo) {
            if take_back(&undo, before, &mut self.storage).is_err() {
                self.fate = Fate::Unknown;
                self.undo.extend(undo);
            }
            return Err(error);
        }
        self.watched.clear();
        // The new state counts. The journal contains everything that is not in its place yet.
        if let Err(error) = self.run(&rest) {
            let again = journal::recover(&self.storage).and_then(|steps| self.run(&steps));
            if again.is_err() {
                self.fate = Fate::Unknown;
                return Err(error);
            }
        }
        self.keep();
        Ok(())
    }

    /// Takes back everything since the last commit, unless somebody else has written meanwhile: the
    /// overwritten bytes and the length are restored.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if somebody else has changed the file, which then remains as it is; `Io`.
    pub fn roll_back(&mut self) -> Result<()> {
        if self.fate == Fate::Unknown || self.undo.is_empty() && self.storage.size() == self.kept_len {
            return Ok(());
        }
        self.verify()?;
        let undo = std::mem::take(&mut self.undo);
        self.unsynced = false;
        take_back(&undo, self.kept_len, &mut self.storage)
    }

    fn conflict(&self, clash: Clash) -> Error {
        let error = Error::conflict(clash);
        self.path.iter().fold(error, |error, path| error.in_file(path, None))
    }

    /// The next commit starts from the present contents of the storage.
    fn keep(&mut self) {
        self.kept_len = self.storage.size();
        self.undo.clear();
        self.unsynced = false;
        self.fate = Fate::Kept;
    }

    /// Applies steps, and records the old bytes.
    fn reversibly(&mut self, steps: &[Vec<Step<'_>>], undo: &mut Vec<Patch>) -> Result<()> {
        for step in steps.iter().flatten() {
            let here = self.storage.size();
            match step {
                Step::Write { offset, bytes } => save(&self.storage, here, *offset, bytes.len(), undo)?,
                Step::SetSize { size } => {
                    // Bytes beyond this point were written since the last commit and have been removed.
                    let end = here.min(self.kept_len);
                    let cut = usize::try_from(bound::left(end, *size));
                    let cut = cut.map_err(|_| Error::usage("plan", "makes the file too short"))?;
                    save(&self.storage, end, *size, cut, undo)?;
                }
                Step::Sync => {}
            }
            self.run(std::slice::from_ref(step))?;
        }
        Ok(())
    }

    fn run(&mut self, steps: &[Step<'_>]) -> Result<()> {
        for step in steps {
            let lost = *step == Step::Sync;
            apply(std::slice::from_ref(step), &mut self.storage).inspect_err(|_| self.lost |= lost)?;
        }
        Ok(())
    }
}

/// Records the bytes below `end` that a write is going to replace.
fn save(
    storage: &(impl ReadAt + ?Sized),
    end: u64,
    offset: u64,
    len: usize,
    undo: &mut Vec<Patch>,
) -> Result<()> {
    let len = bound::left(end, offset).min(len as u64);
    if len > 0 {
        let len = usize::try_from(len).map_err(|_| Error::usage("write", "is too long"))?;
        undo.push(Patch { offset, bytes: storage.read_at(offset, len)?.into_owned() });
    }
    Ok(())
}

/// Restores the old bytes, the last ones first.
fn take_back(undo: &[Patch], len: u64, storage: &mut (impl ReadAt + WriteAt)) -> Result<()> {
    let restored = undo.iter().rev().try_for_each(|patch| storage.write_at(patch.offset, &patch.bytes));
    // Bytes beyond the end are removed, even if restoring other bytes failed.
    let cut = if storage.size() == len { Ok(()) } else { storage.set_size(len) };
    restored.and(cut)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::commit::replay::{FlakyDisk, every_cut_of};
    use crate::commit::{Decisive, Write};
    use crate::storage::{Durability, FileStorage, Replacement};

    const OLD: &[u8] = &[1; 1500];

    /// Plans of all kinds for a file that holds [`OLD`].
    fn plans() -> Vec<Plan<'static>> {
        let fresh = || vec![Write::new(1500, vec![2; 700]), Write::new(600, vec![3; 100])];
        let patches = |end: u64| {
            vec![Patch { offset: 0, bytes: vec![4; 10] }, Patch { offset: end - 10, bytes: vec![5; 10] }]
        };
        let plan = |fresh, decisive, new_len| Plan { fresh, decisive, old_len: 1500, new_len };
        vec![
            plan(fresh(), Decisive::OneSector(Write::new(8, vec![6; 8])), 2200),
            plan(Vec::new(), Decisive::OneSector(Write::new(8, vec![6; 8])), 1500),
            plan(Vec::new(), Decisive::OneSector(Write::new(8, vec![6; 8])), 1000),
            plan(
                fresh(),
                Decisive::Sectors(vec![Write::new(8, vec![6; 8]), Write::new(512, vec![7; 8])]),
                2200,
            ),
            plan(fresh()[..1].to_vec(), Decisive::Journal(patches(1500)), 2200),
            plan(Vec::new(), Decisive::Journal(patches(900)), 900),
        ]
    }

    #[test]
    fn an_operation_that_fails_leaves_everything_as_it_was() {
        let (mut refused, mut done) = (0, 0);
        for plan in plans() {
            for syncs in [Syncs::None, Syncs::Ordered, Syncs::Durable] {
                let mut new = Session::over(OLD.to_vec());
                new.commit(plan.clone(), syncs).unwrap();
                let new = new.into_storage();
                for failing in 0.. {
                    let disk = FlakyDisk { bytes: OLD.to_vec(), failing };
                    let mut session = Session::over(disk);
                    let result = session.commit(plan.clone(), syncs);
                    let left = &session.storage().bytes;
                    match result {
                        Err(_) => assert!(left == OLD, "{plan:?}, operation {failing}"),
                        Ok(()) => assert!(left.starts_with(&new), "{plan:?}, operation {failing}"),
                    }
                    refused += usize::from(result.is_err());
                    done += usize::from(result.is_ok());
                    if failing > 20 {
                        break;
                    }
                }
            }
        }
        assert!(refused > 50 && done > 50, "{refused} {done}");
    }

    #[test]
    fn every_cut_of_a_plan_is_old_or_new() {
        for plan in plans() {
            let mut new = Session::over(OLD.to_vec());
            new.commit(plan.clone(), Syncs::Durable).unwrap();
            let (new, sectors) = (new.into_storage(), matches!(plan.decisive, Decisive::Sectors(_)));
            let cuts = every_cut_of(OLD, plan, |cut, left| {
                let seen = journal::view(left.to_vec()).unwrap();
                let seen = seen.read_at(0, usize::try_from(seen.size()).unwrap()).unwrap();
                // Fresh space and bytes after the end do not count.
                let part = |of: &[u8]| [of[..600].to_vec(), of[700..900].to_vec()].concat();
                let (seen, old, new) = (part(&seen), part(OLD), part(&new));
                assert!(sectors || seen == old || seen == new, "{cut:?}");
            });
            assert!(cuts.unwrap().prefixes > 1);
        }
    }

    #[test]
    fn what_was_written_before_a_commit_can_be_taken_back() {
        let mut session = Session::over(OLD.to_vec());
        session.write_fresh(100, &[9; 50]).unwrap();
        session.write_fresh(120, &[8; 50]).unwrap();
        session.write_fresh(1490, &[7; 50]).unwrap();
        session.extend_to(5000).unwrap();
        session.roll_back().unwrap();
        assert_eq!(session.storage(), OLD);
        session.write_fresh(1500, &[7; 50]).unwrap();
        let decisive = Decisive::OneSector(Write::new(0, vec![6; 8]));
        session
            .commit(Plan { fresh: Vec::new(), decisive, old_len: 1500, new_len: 1550 }, Syncs::None)
            .unwrap();
        session.roll_back().unwrap();
        assert_eq!((session.storage().len(), session.storage()[0]), (1550, 6));
    }

    #[test]
    fn a_file_that_is_another_is_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let commit = |session: &mut Session<FileStorage>| session.commit(plans().swap_remove(0), Syncs::None);
        type Case = (fn(&Path), fn(Clash) -> bool);
        let changes: [Case; 5] = [
            (|path| std::fs::remove_file(path).unwrap(), |clash| clash == Clash::Gone),
            (
                |path| {
                    std::fs::write(path.with_extension("new"), OLD).unwrap();
                    std::fs::rename(path.with_extension("new"), path).unwrap();
                },
                |clash| clash == Clash::Replaced || cfg!(not(unix)),
            ),
            (
                |path| std::fs::write(path, [1; 1600]).unwrap(),
                |clash| clash == Clash::Resized { known: 1500, found: 1600 },
            ),
            (
                |path| std::fs::write(path, [1; 10]).unwrap(),
                |clash| clash == Clash::Resized { known: 1500, found: 10 },
            ),
            (
                |path| FileStorage::edit(path).unwrap().write_at(9, b"x").unwrap(),
                |clash| clash == Clash::Changed { offset: 8 },
            ),
        ];
        for (change, expected) in changes {
            std::fs::write(&path, OLD).unwrap();
            let mut session = Session::open(&path).unwrap();
            session.watch(8, 8).unwrap();
            change(&path);
            let there = std::fs::read(&path).ok();
            match commit(&mut session) {
                Err(Error::Conflict { clash, .. }) => assert!(expected(clash), "{clash:?}"),
                other => panic!("{other:?}"),
            }
            assert_eq!(std::fs::read(&path).ok(), there);
        }
    }

    #[test]
    fn a_replaced_file_is_edited_further_under_its_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, OLD).unwrap();
        let mut session = Session::open(&path).unwrap();
        let mut new = Replacement::of_held(&path).unwrap();
        new.write_at(0, OLD).unwrap();
        session.replace(new, Durability::Process).unwrap();
        assert!(matches!(Session::open(&path), Err(Error::Conflict { clash: Clash::Held, .. })));
        session.commit(plans().swap_remove(0), Syncs::None).unwrap();
        assert_eq!(std::fs::read(&path).unwrap().len(), 2200);
        drop(session);
        Session::open(&path).unwrap();
    }
}
