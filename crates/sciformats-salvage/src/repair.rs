//! Faults that can be mended without loss: stale flags and sizes, counts, and checksums of structures whose other bytes are right. The
//! plan is data; it is applied to a copy, or to the file itself through the journal.

use std::path::Path;
use std::sync::Arc;

use hdf5_pure::Address;
use hdf5_pure::structure::{BtreeK, Carver, Sizes, checksum};
use sciformats::{File, Format, OpenOptions};
use sciformats_convert::verify::verify;
use sciformats_core::commit::{Decisive, Plan, Session, Syncs, Write};
use sciformats_core::storage::{Access, Durability, Overlay, Patch, Replacement};
use sciformats_core::{Error, FaultKind, ReadAt, Result, WriteAt, bound};
use serde_json::{Value, json};

use crate::flips::flipped;
use crate::map::Part;
use crate::report::{Confidence, State};

/// How often a file is verified while faults are mended.
const ROUNDS: usize = 64;
/// The bytes that are copied at a time.
const PIECE: usize = 4 << 20;

/// One change of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// What is changed.
    pub kind: &'static str,
    /// The absolute offset of the first byte.
    pub offset: u64,
    /// The bytes that must be there.
    pub old: Vec<u8>,
    /// The bytes that take their place; more or fewer only at the end of the file.
    pub new: Vec<u8>,
    /// Why it is right.
    pub reason: String,
    /// How certain it is.
    pub confidence: Confidence,
}

/// The changes that mend a file.
///
/// ```
/// use sciformats_salvage::RepairPlan;
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("flags.h5");
/// # let options = hdf5_pure::CreateOptions::default().with_bound(hdf5_pure::options::Bound::LATEST);
/// let mut file = hdf5_pure::Writer::in_memory(&options)?;
/// file.dataset("energy").write(&[0.5, 0.25])?;
/// let mut bytes = file.into_bytes()?;
/// bytes[44] ^= 1; // a bit of the superblock's checksum
/// std::fs::write(&path, &bytes).unwrap();
/// let plan = RepairPlan::of(&path)?;
/// assert_eq!((plan.repairs[0].offset, plan.repairs[0].kind, plan.after), (44, "correct a checksum", 0));
/// # Ok::<(), sciformats_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairPlan {
    /// The changes, in the order in which they are applied.
    pub repairs: Vec<Repair>,
    /// The length of the file, and the one that it gets.
    pub lengths: (u64, u64),
    /// The number of faults of the file.
    pub before: u64,
    /// The number of faults that remain.
    pub after: u64,
}

impl RepairPlan {
    /// Plans the repair of the file at `path`. The file is only read.
    ///
    /// # Errors
    /// Returns `Io` if the file cannot be read, and `NotThisFormat` if it has none of the formats.
    pub fn of(path: impl AsRef<Path>) -> Result<Self> {
        Self::of_storage(&Access::default().open(path)?)
    }

    /// Does the same as [`of`](Self::of) for a file in any storage.
    ///
    /// # Errors
    /// Returns the errors of [`of`](Self::of).
    pub fn of_storage(storage: &Arc<dyn ReadAt>) -> Result<Self> {
        let format = Format::detect(&**storage)?
            .ok_or_else(|| Error::not_this_format("HDF5, ASDF, Blosc2, GSD, RawArray or npy", &**storage))?;
        let size = storage.size();
        let mut plan = Self { repairs: Vec::new(), lengths: (size, size), before: 0, after: 0 };
        let (before, _) = faults(storage)?;
        plan.before = before;
        match format {
            Format::Hdf5 => plan.hdf5(storage)?,
            Format::Asdf => plan.asdf(storage)?,
            Format::RawArray => plan.raw_array(storage)?,
            _ => {}
        }
        plan.after = if plan.repairs.is_empty() { before } else { faults(&plan.view(storage))?.0 };
        Ok(plan)
    }

    /// Returns the file as it will be.
    fn view(&self, storage: &Arc<dyn ReadAt>) -> Arc<dyn ReadAt> {
        let patches =
            self.repairs.iter().map(|repair| Patch { offset: repair.offset, bytes: repair.new.clone() });
        Arc::new(Overlay::new(storage.clone(), self.lengths.1, patches.collect()))
    }

    /// Adds a change, if it changes anything. A further change of the same kind at the same place takes the place of the one before.
    fn change(
        &mut self,
        storage: &Arc<dyn ReadAt>,
        (kind, offset): (&'static str, u64),
        new: Vec<u8>,
        (reason, confidence): (String, Confidence),
    ) -> Result<bool> {
        let view = self.view(storage);
        let old = view.read_at(offset, new.len())?.into_owned();
        if old == new {
            return Ok(false);
        }
        let same =
            |repair: &Repair| repair.offset == offset && repair.kind == kind && repair.new.len() == new.len();
        if let Some(at) = self.repairs.iter().position(same) {
            let before = self.repairs.remove(at);
            if before.old != new {
                self.repairs.push(Repair { kind, offset, old: before.old, new, reason, confidence });
            }
            return Ok(true);
        }
        self.repairs.push(Repair { kind, offset, old, new, reason, confidence });
        Ok(true)
    }

    fn hdf5(&mut self, storage: &Arc<dyn ReadAt>) -> Result<()> {
        self.checksums(storage)?;
        let Ok((base, superblock)) = Carver::find_superblock(&*self.view(storage)) else { return Ok(()) };
        let is_new = superblock.version >= 2;
        let is_open = superblock.version >= 3 && superblock.consistency_flags & 5 != 0;
        let ends = self.end_of_file(storage, base, (&superblock, is_open))?;
        // The flags keep other programs from writing behind a wrong end, over what is there.
        if is_open && ends {
            let cleared = u8::try_from(superblock.consistency_flags & 0xff & !5).unwrap_or_default();
            let reason = format!(
                "the flags {} say that a writer has the file open; while one has, it must not be repaired",
                superblock.consistency_flags
            );
            let place = ("clear the status flags", bound::sum(base, 11));
            self.change(storage, place, vec![cleared], (reason, Confidence::Medium))?;
        }
        self.counts(storage, base, superblock.sizes)?;
        if is_new {
            // The fields of the superblock are followed by its checksum.
            let len = 12 + 4 * usize::from(superblock.sizes.offsets);
            let bytes = self.view(storage).read_at(base, len)?.into_owned();
            let place = ("correct a checksum", bound::sum(base, len as u64));
            let reason = "the superblock was changed".to_owned();
            let new = checksum(&bytes).to_le_bytes().to_vec();
            self.change(storage, place, new, (reason, Confidence::High))?;
        }
        self.checksums(storage)
    }

    /// Corrects the end of the file in the superblock, if structures that can be read are behind it. In a file that a writer has left
    /// open, everything behind it may belong to something that cannot be read yet. Returns whether the end is right then.
    fn end_of_file(
        &mut self,
        storage: &Arc<dyn ReadAt>,
        base: u64,
        (superblock, is_open): (&hdf5_pure::structure::Superblock, bool),
    ) -> Result<bool> {
        let size = storage.size();
        let end = bound::sum(bound::left(superblock.end_of_file, superblock.base), base);
        if size <= end || superblock.base != base {
            return Ok(size == end && superblock.base == base);
        }
        let found = crate::hdf5::examine(&self.view(storage), 1)?.report;
        let reached = found.map.parts().iter().filter(|(.., part)| *part == Part::Reached);
        let last = reached.map(|&(_, end, _)| end).max().unwrap_or(0).max(end);
        let whole = found.objects.iter().all(|object| object.state <= State::Unchecked);
        let new = if whole { last } else { size };
        if new == end || last == end && !is_open {
            return Ok(true);
        }
        let (first, offsets) = match superblock.version {
            0 => (24u64, superblock.sizes.offsets),
            1 => (28, superblock.sizes.offsets),
            _ => (12, superblock.sizes.offsets),
        };
        let bytes = bound::sum(bound::left(new, base), superblock.base).to_le_bytes();
        let (bytes, rest) = bytes.split_at_checked(offsets.into()).unwrap_or((&bytes, &[]));
        if rest.iter().any(|&byte| byte != 0) {
            return Ok(false);
        }
        // Two addresses are before it.
        let at = bound::sum(first, bound::product(2, u64::from(offsets)));
        let place = ("correct the end of the file", bound::sum(base, at));
        let reason = match whole {
            true => format!("the superblock declares {end}, and parts that can be read end at {last}"),
            false => format!(
                "the superblock declares {end}, and the file, of which not all can be read, ends at {size}"
            ),
        };
        self.change(storage, place, bytes.to_vec(), (reason, Confidence::Medium))?;
        Ok(true)
    }

    /// Corrects the numbers of messages of headers of version 1.
    fn counts(&mut self, storage: &Arc<dyn ReadAt>, base: u64, sizes: Sizes) -> Result<()> {
        let view = self.view(storage);
        let carver = Carver::new(view.clone(), base, sizes, BtreeK::default());
        let found = crate::hdf5::examine(&view, 1)?.report;
        for object in &found.objects {
            let Ok(header) = carver.header(Address(object.address)) else { continue };
            let [Error::Malformed { fault, .. }] = header.lost.as_slice() else { continue };
            let FaultKind::Mismatch { found, .. } = fault.kind else { continue };
            let Ok(count) = u16::try_from(found) else { continue };
            if header.version != 1 || fault.field != Some("total number of header messages") {
                continue;
            }
            let place =
                ("correct the number of messages", bound::sum(carver.offset(Address(object.address)), 2));
            let reason = format!("the header of {} has {count} messages", object.path);
            self.change(storage, place, count.to_le_bytes().to_vec(), (reason, Confidence::Medium))?;
        }
        Ok(())
    }

    /// Corrects checksums of structures, as long as this reveals no other fault of the same structure.
    fn checksums(&mut self, storage: &Arc<dyn ReadAt>) -> Result<()> {
        for _ in 0..ROUNDS {
            let view = self.view(storage);
            let (mut count, found) = faults(&view)?;
            let mut changed = false;
            for Wrong { structure, offset, stored, computed } in found {
                let there = view.read_at(offset, 4).map(|bytes| bytes.to_vec()).unwrap_or_default();
                if there != stored.to_le_bytes()
                    || structure.contains("filter")
                    || structure.contains("chunk B")
                {
                    continue;
                }
                let before = self.repairs.clone();
                let did = match flipped(&*view, (offset, stored, computed)) {
                    // A bit of the checksum itself is corrected below.
                    Some(flip) if flip.offset < offset => {
                        let reason = format!(
                            "of all single bits of the {structure}, only this one makes its checksum right"
                        );
                        let place = ("correct a flipped bit", flip.offset);
                        self.change(storage, place, vec![flip.new], (reason, Confidence::High))?
                    }
                    _ => {
                        let reason =
                            format!("the {structure} stores {stored:#x}, and its bytes have {computed:#x}");
                        let place = ("correct a checksum", offset);
                        let new = computed.to_le_bytes().to_vec();
                        self.change(storage, place, new, (reason, Confidence::Medium))?
                    }
                };
                // Bytes of the structure that were changed would now be taken for right ones.
                let now = if did { faults(&self.view(storage))?.0 } else { count };
                if now > count {
                    self.repairs = before;
                } else {
                    count = now;
                    changed |= did;
                }
            }
            if !changed {
                break;
            }
        }
        Ok(())
    }

    /// Writes a block index that does not list the blocks anew.
    fn asdf(&mut self, storage: &Arc<dyn ReadAt>) -> Result<()> {
        use asdf_core::structure::IndexState;

        let Ok(file) = asdf_core::Asdf::from_storage(storage.clone(), &asdf_core::OpenOptions::default())
        else {
            return Ok(());
        };
        let layout = file.layout();
        let IndexState::Rejected { offset, reason } = &layout.index else { return Ok(()) };
        if layout.unexplained.is_some() || reason.contains("followed") {
            return Ok(());
        }
        let lines: String = layout.blocks.iter().map(|block| format!("- {}\n", block.offset)).collect();
        let new = format!("#ASDF BLOCK INDEX\n%YAML 1.1\n---\n{lines}...\n").into_bytes();
        let old =
            storage.read_at(*offset, bound::addressable(bound::left(storage.size(), *offset)))?.into_owned();
        self.lengths.1 = bound::sum(*offset, new.len() as u64);
        let reason = format!("the block index {reason}");
        let kind = "write the block index anew";
        self.repairs.push(Repair { kind, offset: *offset, old, new, reason, confidence: Confidence::High });
        self.before += 1;
        Ok(())
    }

    /// Corrects the size of the data, if it contradicts the dimensions and the type, and these agree with the length of the file.
    fn raw_array(&mut self, storage: &Arc<dyn ReadAt>) -> Result<()> {
        let opened = rawarray::Reader::from_storage(storage.clone(), &rawarray::OpenOptions::default());
        let Err(Error::Malformed { fault, .. }) = opened else { return Ok(()) };
        let (Some("size"), FaultKind::Mismatch { expected, found }) = (fault.field, fault.kind) else {
            return Ok(());
        };
        let dims = u64::from_le_bytes(*storage.read_at(40, 8)?.first_chunk().unwrap_or(&[0; 8]));
        let end = bound::sum(bound::sum(bound::product(dims, 8), 48), expected);
        if end > storage.size() {
            return Ok(());
        }
        let reason =
            format!("the size is {found}, and the dimensions and the type are those of {expected} bytes");
        let confidence = if end == storage.size() { Confidence::High } else { Confidence::Medium };
        self.change(storage, ("correct the size", 32), expected.to_le_bytes().to_vec(), (reason, confidence))
            .map(drop)
    }

    /// Writes a repaired copy of the file at `path` to `output`.
    ///
    /// # Errors
    /// Returns `Io`, and `Conflict` if the file is not the one that was planned for.
    pub fn copy(&self, path: impl AsRef<Path>, output: impl AsRef<Path>) -> Result<()> {
        let source = Access::default().open(path)?;
        self.check(&*source)?;
        let view = self.view(&source);
        let mut new = Replacement::create(output)?;
        let storage = new.storage()?;
        let mut at = 0;
        while at < view.size() {
            let len = bound::addressable(view.size() - at).min(PIECE);
            storage.write_at(at, &view.read_at(at, len)?)?;
            at += len as u64;
        }
        new.finish(Durability::Power)
    }

    /// Repairs the file at `path` itself. The changes go through a journal at its end, so that the file is the old one or the new one
    /// whenever this is interrupted.
    ///
    /// # Errors
    /// Returns `Conflict` if a writer has the file open, or if it is not the one that was planned for; `Io`.
    pub fn apply(&self, path: impl AsRef<Path>) -> Result<()> {
        let mut session = Session::open(path)?;
        session.settle()?;
        self.check(session.storage())?;
        let old_len = self.lengths.0;
        let (mut fresh, mut patches) = (Vec::new(), Vec::new());
        for repair in &self.repairs {
            let inside = bound::addressable(bound::left(old_len, repair.offset)).min(repair.new.len());
            let (over, behind) = repair.new.split_at(inside);
            patches.push(Patch { offset: repair.offset, bytes: over.to_vec() });
            if !behind.is_empty() {
                fresh.push(Write::new(old_len, behind.to_vec()));
            }
        }
        let plan = Plan { fresh, decisive: Decisive::Journal(patches), old_len, new_len: self.lengths.1 };
        session.commit(plan, Syncs::Durable)
    }

    /// Fails if the bytes that are to be changed are not what they were.
    fn check(&self, storage: &dyn ReadAt) -> Result<()> {
        let changed = || Error::usage("file", "has changed since its repair was planned");
        if storage.size() != self.lengths.0 {
            return Err(changed());
        }
        let mut done: Vec<&Repair> = Vec::new();
        for repair in &self.repairs {
            let mut there = storage.read_at(repair.offset, repair.old.len())?.into_owned();
            // A repair may change what an earlier one has changed.
            let places = (repair.offset..).zip(&mut there);
            for (at, byte) in places {
                let earlier = done.iter().rev();
                let mut news = earlier
                    .filter_map(|other| other.new.get(bound::addressable(at.checked_sub(other.offset)?)));
                *byte = news.next().copied().unwrap_or(*byte);
            }
            if there != repair.old {
                return Err(changed());
            }
            done.push(repair);
        }
        Ok(())
    }

    /// Returns the plan as JSON, with bytes as hexadecimal digits.
    pub fn json(&self) -> Value {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let repairs = self.repairs.iter().map(|repair| {
            json!({
                "action": repair.kind,
                "offset": repair.offset,
                "old": hex(&repair.old),
                "new": hex(&repair.new),
                "reason": repair.reason,
                "confidence": repair.confidence.word(),
            })
        });
        json!({
            "repairs": repairs.collect::<Vec<_>>(),
            "length": self.lengths.1,
            "faults": self.before,
            "remaining": self.after,
        })
    }
}

/// A checksum that is not that of the bytes before it.
struct Wrong {
    structure: &'static str,
    offset: u64,
    stored: u32,
    computed: u32,
}

/// Returns the number of faults of a file, and those of checksums.
fn faults(storage: &Arc<dyn ReadAt>) -> Result<(u64, Vec<Wrong>)> {
    let mut wrong = Vec::new();
    let mut note = |error: &Error| {
        if let (Error::Malformed { structure, fault, .. }, Some(offset)) = (error, error.offset())
            && let FaultKind::Checksum { stored, computed } = fault.kind
            && let (Ok(stored), Ok(computed)) = (u32::try_from(stored), u32::try_from(computed))
        {
            wrong.push(Wrong { structure, offset, stored, computed });
        }
    };
    let file = match File::from_storage(storage.clone(), &OpenOptions::default()) {
        Ok(file) => file,
        Err(error @ Error::Io { .. }) => return Err(error),
        Err(error) => {
            note(&error);
            return Ok((1, wrong));
        }
    };
    let summary = verify(&file, &mut |finding| note(&finding.error));
    Ok((summary.findings, wrong))
}
