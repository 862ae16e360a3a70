//! Crash tests: a commit is interrupted wherever a crash could interrupt it, and the remaining file is
//! examined.
//!
//! A crash can leave the following, from the mildest to the worst:
//!
//! 1. **prefixes**: the steps up to some point are done, and the others are not (the process was killed);
//! 2. **torn writes**: of the last write, only the sectors before some sector boundary of the file arrived;
//! 3. **reordered writes**: of the writes since the last [`Step::Sync`], any subset arrived (power was lost).
//!
//! [`FullDisk`] and [`FailingDisk`] are storages that fail on purpose.

use std::borrow::Cow;

use super::{Plan, SECTOR, Step, apply};
use crate::bound;
use crate::error::{Error, Result};
use crate::storage::{ReadAt, WriteAt};

/// The point where a commit was interrupted.
///
/// ```
/// use sciformats_core::commit::{Step, replay::{Cut, every_cut}};
///
/// let mut cuts = Vec::new();
/// every_cut(&[], &[Step::write(0, &b"a"[..]), Step::write(1, &b"b"[..])], |cut, file| {
///     cuts.push((cut.clone(), file.to_vec()));
/// });
/// assert!(cuts.contains(&(Cut::Prefix(1), b"a".to_vec())));
/// assert!(cuts.contains(&(Cut::Reordered { since: 0, arrived: vec![1] }, b"\0b".to_vec())));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// This many steps are done.
    Prefix(usize),
    /// The steps before this one are done, and `bytes` of its write have arrived.
    Torn {
        /// Index of the step.
        step: usize,
        /// Bytes of it that arrived.
        bytes: usize,
    },
    /// The steps before `since` are done and durable. Of the later writes, only those in `arrived` have taken
    /// effect.
    Reordered {
        /// Index of the first step that is not durable.
        since: usize,
        /// Indices of the later steps that took effect.
        arrived: Vec<usize>,
    },
}

/// How many interruptions of each kind were tried.
///
/// ```
/// use sciformats_core::commit::replay::Cuts;
///
/// let mut tried = Cuts::default();
/// tried += Cuts { prefixes: 12, torn: 3, reordered: 40 };
/// assert_eq!(tried.to_string(), "12 prefixes, 3 torn, 40 reordered");
/// assert_eq!(tried.total(), 55);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cuts {
    /// Whole steps.
    pub prefixes: usize,
    /// Torn last writes.
    pub torn: usize,
    /// Subsets of unsynced writes.
    pub reordered: usize,
}

impl Cuts {
    /// Returns the total number.
    pub fn total(&self) -> usize {
        self.prefixes + self.torn + self.reordered
    }
}

impl std::fmt::Display for Cuts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} prefixes, {} torn, {} reordered", self.prefixes, self.torn, self.reordered)
    }
}

impl std::ops::AddAssign for Cuts {
    fn add_assign(&mut self, other: Self) {
        self.prefixes += other.prefixes;
        self.torn += other.torn;
        self.reordered += other.reordered;
    }
}

/// Interrupts `steps`, applied to `initial`, in each of these ways, and passes each remaining file to
/// `check`.
///
/// Between two syncs with at most 8 writes, every subset is tried. If there are more, each write is tried as
/// the only missing one and as the only present one.
///
/// ```
/// use sciformats_core::commit::{Step, replay::every_cut};
///
/// // A record behind its length: the length, written last, is what makes it count.
/// let steps = [Step::write(8, &b"record"[..]), Step::Sync, Step::write(0, &[6u8][..])];
/// let cuts = every_cut(&[0; 8], &steps, |cut, file| {
///     let len = usize::from(file[0]);
///     assert!(len == 0 || file[8..8 + len] == *b"record", "{cut:?}");
/// });
/// assert_eq!((cuts.prefixes, cuts.torn), (4, 0)); // short writes cannot be torn
/// ```
pub fn every_cut(initial: &[u8], steps: &[Step<'_>], mut check: impl FnMut(&Cut, &[u8])) -> Cuts {
    let mut cuts = Cuts::default();
    let mut done = initial.to_vec();
    check(&Cut::Prefix(0), &done);
    cuts.prefixes += 1;
    for (index, step) in steps.iter().enumerate() {
        if let Step::Write { offset, bytes } = step {
            for arrived in tears(*offset, bytes.len()) {
                let mut file = done.clone();
                run(&[Step::write(*offset, bytes.get(..arrived).unwrap_or_default())], &mut file);
                check(&Cut::Torn { step: index, bytes: arrived }, &file);
                cuts.torn += 1;
            }
        }
        run(std::slice::from_ref(step), &mut done);
        check(&Cut::Prefix(index + 1), &done);
        cuts.prefixes += 1;
    }
    cuts.reordered = reorderings(initial, steps, &mut check);
    cuts
}

/// Does the same as [`every_cut`], for the steps of any [`Plan`].
///
/// ```
/// use sciformats_core::commit::{Decisive, Plan, Write, replay::every_cut_of};
///
/// let decisive = Decisive::OneSector(Write::new(0, [6].as_slice()));
/// let plan = Plan { fresh: vec![Write::new(8, b"record".as_slice())], decisive, old_len: 8, new_len: 14 };
/// let cuts = every_cut_of(&[0; 8], plan, |cut, file| {
///     let len = usize::from(file[0]);
///     assert!(len == 0 || file[8..8 + len] == *b"record", "{cut:?}");
/// })?;
/// assert_eq!(cuts.prefixes, 5);
/// # Ok::<(), sciformats_core::Error>(())
/// ```
///
/// # Errors
/// Those of [`Plan::steps`].
pub fn every_cut_of(initial: &[u8], plan: Plan<'_>, check: impl FnMut(&Cut, &[u8])) -> Result<Cuts> {
    let steps = plan.steps(initial.len() as u64)?.into_list();
    Ok(every_cut(initial, &steps, check))
}

/// Returns the lengths at which a write at `offset` can be torn.
fn tears(offset: u64, len: usize) -> impl Iterator<Item = usize> {
    let first = (SECTOR - offset % SECTOR) as usize;
    (first..len).step_by(SECTOR as usize)
}

fn reorderings(initial: &[u8], steps: &[Step<'_>], check: &mut impl FnMut(&Cut, &[u8])) -> usize {
    let mut tried = 0;
    let mut durable = initial.to_vec();
    let mut since = 0;
    while since < steps.len() {
        let rest = steps.get(since..).unwrap_or_default();
        let epoch: Vec<usize> = (since..)
            .zip(rest)
            .take_while(|(_, step)| **step != Step::Sync)
            .map(|(index, _)| index)
            .collect();
        for arrived in subsets(&epoch) {
            let mut file = durable.clone();
            arrived
                .iter()
                .filter_map(|&index| steps.get(index))
                .for_each(|step| run(std::slice::from_ref(step), &mut file));
            check(&Cut::Reordered { since, arrived }, &file);
            tried += 1;
        }
        let end = since + epoch.len() + 1;
        run(steps.get(since..end.min(steps.len())).unwrap_or_default(), &mut durable);
        since = end;
    }
    tried
}

/// Returns the subsets that are not prefixes, because prefixes are tried anyway.
fn subsets(epoch: &[usize]) -> Vec<Vec<usize>> {
    let pick = |keep: &dyn Fn(usize) -> bool| -> Vec<usize> {
        epoch.iter().enumerate().filter(|(i, _)| keep(*i)).map(|(_, &index)| index).collect()
    };
    let all: Vec<Vec<usize>> = if epoch.len() <= 8 {
        (0..1usize << epoch.len()).map(|mask| pick(&|i| mask >> i & 1 == 1)).collect()
    } else {
        (0..epoch.len()).flat_map(|only| [pick(&|i| i == only), pick(&|i| i != only)]).collect()
    };
    all.into_iter().filter(|subset| !epoch.starts_with(subset)).collect()
}

fn run(steps: &[Step<'_>], file: &mut Vec<u8>) {
    // Memory only refuses lengths that it cannot address; a plan with such a length is a fault of its
    // planner.
    let result = apply(steps, file);
    debug_assert!(result.is_ok(), "{result:?}");
}

/// Applies `steps` to disks with a decreasing amount of room for the growth of `initial`, passes each
/// remaining file to `check`, and returns the number of disks. The room ends within each write that extends
/// the file, and before it.
///
/// ```
/// use sciformats_core::commit::{Step, replay::every_full_disk};
///
/// let steps = [Step::write(8, &b"record"[..]), Step::write(0, &[6u8][..])];
/// let disks = every_full_disk(&[0; 8], &steps, |file| assert_eq!(file[0], 0));
/// assert!(disks > 0);
/// ```
pub fn every_full_disk(initial: &[u8], steps: &[Step<'_>], mut check: impl FnMut(&[u8])) -> usize {
    let mut disks = 0;
    for step in steps {
        let Step::Write { offset, bytes } = step else { continue };
        let Ok(offset) = usize::try_from(*offset) else { continue };
        for room in [0, bytes.len() / 2, bound::left(bytes.len(), 1)] {
            let capacity = bound::sum(offset, room);
            if capacity < initial.len() {
                continue;
            }
            let mut disk = FullDisk { bytes: initial.to_vec(), capacity };
            if apply(steps, &mut disk).is_err() {
                check(&disk.bytes);
                disks += 1;
            }
        }
    }
    disks
}

/// A disk of fixed size. A write beyond its end stores what fits, and fails like a full device.
///
/// ```
/// use sciformats_core::WriteAt;
/// use sciformats_core::commit::replay::FullDisk;
///
/// let mut disk = FullDisk { bytes: Vec::new(), capacity: 4 };
/// assert!(disk.write_at(0, b"record").is_err());
/// assert_eq!(disk.bytes, b"reco"); // as much as there was room for
/// ```
#[derive(Clone, Debug)]
pub struct FullDisk {
    /// The stored bytes.
    pub bytes: Vec<u8>,
    /// The capacity in bytes.
    pub capacity: usize,
}

impl WriteAt for FullDisk {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        let room = bound::left(self.capacity as u64, offset);
        let fits = bytes.len().min(bound::addressable(room));
        if fits > 0 {
            self.bytes.write_at(offset, bytes.get(..fits).unwrap_or_default())?;
        }
        if fits == bytes.len() {
            Ok(())
        } else {
            Err(Error::io("write", std::io::ErrorKind::StorageFull.into()))
        }
    }

    fn set_size(&mut self, size: u64) -> Result<()> {
        if size > self.capacity as u64 {
            return Err(Error::io("resize", std::io::ErrorKind::StorageFull.into()));
        }
        self.bytes.set_size(size)
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A disk on which every operation fails after a given number of them.
///
/// ```
/// use sciformats_core::WriteAt;
/// use sciformats_core::commit::replay::FailingDisk;
///
/// let mut disk = FailingDisk { bytes: Vec::new(), operations: 1 };
/// disk.write_at(0, b"record")?;
/// assert!(disk.sync().is_err());
/// # Ok::<(), sciformats_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FailingDisk {
    /// The stored bytes.
    pub bytes: Vec<u8>,
    /// The number of operations that still succeed.
    pub operations: usize,
}

impl FailingDisk {
    fn spend(&mut self) -> Result<()> {
        let broken = || Error::io("write", std::io::Error::other("the device failed"));
        self.operations = self.operations.checked_sub(1).ok_or_else(broken)?;
        Ok(())
    }
}

impl WriteAt for FailingDisk {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.spend()?;
        self.bytes.write_at(offset, bytes)
    }

    fn set_size(&mut self, size: u64) -> Result<()> {
        self.spend()?;
        self.bytes.set_size(size)
    }

    fn sync(&mut self) -> Result<()> {
        self.spend()
    }
}

/// A disk on which one operation, counted from 0, fails, and all others succeed.
///
/// ```
/// use sciformats_core::WriteAt;
/// use sciformats_core::commit::replay::FlakyDisk;
///
/// let mut disk = FlakyDisk { bytes: Vec::new(), failing: 1 };
/// disk.write_at(0, b"record")?;
/// assert!(disk.sync().is_err());
/// disk.sync()?;
/// # Ok::<(), sciformats_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FlakyDisk {
    /// The stored bytes.
    pub bytes: Vec<u8>,
    /// The number of operations before the one that fails.
    pub failing: usize,
}

impl FlakyDisk {
    fn count(&mut self) -> Result<()> {
        match self.failing.checked_sub(1) {
            Some(left) => self.failing = left,
            None => {
                self.failing = usize::MAX;
                return Err(Error::io("write", std::io::Error::other("the device failed once")));
            }
        }
        Ok(())
    }
}

impl ReadAt for FlakyDisk {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        self.bytes.read_at(offset, len)
    }
}

impl WriteAt for FlakyDisk {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        if let Err(error) = self.count() {
            // As on a full disk, the first bytes may have been written.
            let (first, _) = bytes.split_at(bytes.len() / 2);
            return self.bytes.write_at(offset, first).and(Err(error));
        }
        self.bytes.write_at(offset, bytes)
    }

    fn set_size(&mut self, size: u64) -> Result<()> {
        self.count()?;
        self.bytes.set_size(size)
    }

    fn sync(&mut self) -> Result<()> {
        self.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A commit that forgets the sync between the bytes and what refers to them must be caught.
    #[test]
    fn a_missing_sync_is_found() {
        let safe = [Step::write(8, &b"data"[..]), Step::Sync, Step::write(0, &[1u8][..]), Step::Sync];
        let unsafe_order = [Step::write(8, &b"data"[..]), Step::write(0, &[1u8][..]), Step::Sync];
        let broken = |steps: &[Step<'_>]| {
            let mut broken = 0;
            every_cut(&[0; 8], steps, |_, file| {
                broken += usize::from(file[0] == 1 && file.get(8..12) != Some(b"data"));
            });
            broken
        };
        assert_eq!(broken(&safe), 0);
        assert_eq!(broken(&unsafe_order), 1);
    }

    #[test]
    fn writes_tear_at_the_sectors_of_the_file() {
        assert_eq!(tears(0, 1025).collect::<Vec<_>>(), [512, 1024]);
        assert_eq!(tears(500, 600).collect::<Vec<_>>(), [12, 524]);
        assert_eq!(tears(512, 512).collect::<Vec<_>>(), []);
        let mut torn = Vec::new();
        every_cut(&[9; 4], &[Step::write(510, &[1u8; 4][..])], |cut, file| {
            if matches!(cut, Cut::Torn { .. }) {
                torn.push(file.len());
            }
        });
        assert_eq!(torn, [512]);
    }

    #[test]
    fn a_full_disk_stores_what_fits() {
        let mut disk = FullDisk { bytes: Vec::new(), capacity: 10 };
        disk.write_at(0, &[1; 6]).unwrap();
        let error = disk.write_at(6, &[2; 6]).unwrap_err();
        assert!(
            matches!(error, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull)
        );
        assert_eq!(disk.bytes, [1, 1, 1, 1, 1, 1, 2, 2, 2, 2]);
    }

    #[test]
    fn disks_are_full_before_and_within_each_write() {
        let steps = [Step::write(4, &b"data"[..]), Step::Sync, Step::write(0, &[1u8][..]), Step::Sync];
        let mut left = Vec::new();
        assert_eq!(every_full_disk(&[0; 4], &steps, |file| left.push(file.to_vec())), 3);
        assert_eq!(left, [&b"\0\0\0\0"[..], b"\0\0\0\0da", b"\0\0\0\0dat"]);
    }
}
