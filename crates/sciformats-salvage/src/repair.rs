//! Faults that can be mended without loss: flipped bits and checksums of structures, stale flags and sizes, and counts. Only what is
//! proven is changed. The plan is data; it is applied to a copy, or to the file itself through the journal.

use std::collections::BTreeSet;
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

use crate::flips::{Flip, flipped};
use crate::map::Part;
use crate::proof;
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
    /// What is wrong and stays so, and why it cannot be mended without loss, as far as it was thought of.
    pub kept: Vec<String>,
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
        let mut plan =
            Self { repairs: Vec::new(), lengths: (size, size), before: 0, after: 0, kept: Vec::new() };
        plan.before = faults(storage)?.count;
        match format {
            Format::Hdf5 => plan.hdf5(storage)?,
            Format::Asdf => plan.asdf(storage)?,
            Format::RawArray => plan.raw_array(storage)?,
            _ => {}
        }
        plan.after = if plan.repairs.is_empty() { plan.before } else { faults(&plan.view(storage))?.count };
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
        self.flips(storage)?;
        self.checksums(storage)?;
        let Ok((base, superblock)) = Carver::find_superblock(&*self.view(storage)) else {
            return self.keep(storage);
        };
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
        self.checksums(storage)?;
        self.keep(storage)
    }

    /// Corrects bits of structures that objects need, also those of sizes, without which nothing tells where a checksum is. Something
    /// that looks like a structure but belongs to no object stays as it is.
    fn flips(&mut self, storage: &Arc<dyn ReadAt>) -> Result<()> {
        let mut known = faults(&self.view(storage))?;
        if known.count == 0 {
            return Ok(());
        }
        let mut flips = match crate::hdf5::examine(&self.view(storage), 1) {
            Ok(found) => found.flips,
            Err(error @ Error::Io { .. }) => return Err(error),
            // Nothing is left that could be mended.
            Err(_) => return Ok(()),
        };
        for _ in 0..ROUNDS {
            let before = flips.len();
            let mut rest = Vec::new();
            for Flip { offset, old, new } in flips {
                let repairs = self.repairs.clone();
                let reason = "of all single bits of the structure, only this one makes its checksum right";
                let place = ("correct a flipped bit", offset);
                let is_there = *self.view(storage).read_at(offset, 1)? == [old];
                // A checksum itself is corrected below.
                let is_checksum =
                    known.wrong.iter().any(|wrong| (wrong.offset..).take(4).any(|at| at == offset));
                if is_there
                    && !is_checksum
                    && self.change(storage, place, vec![new], (reason.into(), Confidence::High))?
                {
                    let now = faults(&self.view(storage))?;
                    if now.count <= known.count && !known.places.is_subset(&now.places) {
                        known = now;
                        continue;
                    }
                }
                self.repairs = repairs;
                rest.push(Flip { offset, old, new });
            }
            flips = rest;
            if flips.len() == before {
                break;
            }
        }
        Ok(())
    }

    /// Notes the checksums that stay wrong.
    fn keep(&mut self, storage: &Arc<dyn ReadAt>) -> Result<()> {
        for Wrong { structure, offset, stored, computed } in faults(&self.view(storage))?.wrong {
            self.kept.push(format!(
                "the {structure} stores the checksum {stored:#x} at {offset:#x}, and its bytes have {computed:#x}: nothing tells which of its bytes were changed"
            ));
        }
        Ok(())
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
        // What was recognised may belong to something that is not an object, such as tables of shared messages.
        let carved = found.map.parts().iter().filter(|(.., part)| *part == Part::Carved);
        let held = carved.map(|&(_, end, _)| end).max().unwrap_or(0).max(last);
        let new = if !whole {
            size
        } else if last > end || is_open {
            held
        } else {
            last
        };
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
            true => format!("the superblock declares {end}, and parts that can be read end at {new}"),
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
            let FaultKind::Mismatch { expected, found } = fault.kind else { continue };
            let Ok(count) = u16::try_from(found) else { continue };
            if header.version != 1 || fault.field != Some("total number of header messages") {
                continue;
            }
            let at = (base, sizes, object.address);
            if let Some(why) = proof::other_than_count(&view, at, (&header, expected, found)) {
                let path = &object.path;
                self.kept.push(format!(
                    "the header of {path} says that it has {expected} messages, and has {found}: {why}"
                ));
                continue;
            }
            let place =
                ("correct the number of messages", bound::sum(carver.offset(Address(object.address)), 2));
            let reason = format!("the header of {} has {count} messages", object.path);
            self.change(storage, place, count.to_le_bytes().to_vec(), (reason, Confidence::Medium))?;
        }
        Ok(())
    }

    /// Corrects what checksums of structures prove, as long as this reveals no other fault of the same structure.
    fn checksums(&mut self, storage: &Arc<dyn ReadAt>) -> Result<()> {
        for _ in 0..ROUNDS {
            let view = self.view(storage);
            let Faults { mut count, wrong, .. } = faults(&view)?;
            let mut changed = false;
            for wrong in wrong {
                let before = self.repairs.clone();
                let did = self.checksum(storage, &view, &wrong)?;
                // Bytes of the structure that were changed would now be taken for right ones.
                let now = if did { faults(&self.view(storage))?.count } else { count };
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

    /// Corrects the one bit with which a structure has its checksum, or the checksum, if most of it proves that the structure is right.
    fn checksum(&mut self, storage: &Arc<dyn ReadAt>, view: &Arc<dyn ReadAt>, wrong: &Wrong) -> Result<bool> {
        let Wrong { structure, offset, stored, computed } = *wrong;
        let there = view.read_at(offset, 4).map(|bytes| bytes.to_vec()).unwrap_or_default();
        if there != stored.to_le_bytes() || structure.contains("filter") || structure.contains("chunk B") {
            return Ok(false);
        }
        if proof::is_checksum_changed(stored, computed) {
            let reason = format!("the {structure} stores {stored:#x}, and its bytes have {computed:#x}");
            let place = ("correct a checksum", offset);
            let new = computed.to_le_bytes().to_vec();
            return self.change(storage, place, new, (reason, Confidence::High));
        }
        if let Some(flip) = flipped(&**view, (offset, stored, computed)).filter(|flip| flip.offset < offset) {
            let reason =
                format!("of all single bits of the {structure}, only this one makes its checksum right");
            let place = ("correct a flipped bit", flip.offset);
            return self.change(storage, place, vec![flip.new], (reason, Confidence::High));
        }
        if let Some((at, end)) = proof::end_of_file(&**view, (offset, stored)) {
            let reason = "the checksum of the superblock is right with the end of the file itself".to_owned();
            let place = ("correct the end of the file", at);
            return self.change(storage, place, end, (reason, Confidence::High));
        }
        Ok(false)
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
        let offsets: Vec<u64> = layout.blocks.iter().map(|block| block.offset).collect();
        if !proof::is_index_changed(&**storage, &old, &offsets) {
            self.kept
                .push(format!("the block index {reason}, and may be right, because other bytes are wrong"));
            return Ok(());
        }
        let reason = format!("the block index {reason}");
        let kind = "write the block index anew";
        self.lengths.1 = bound::sum(*offset, new.len() as u64);
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
        // The dimensions or the type may be the wrong ones, or the flag that says that elements are compressed.
        let first = if end == storage.size() { 16 } else { 8 };
        let fields = [(first, 32 - first), (40, bound::sum(8, bound::product(dims, 8)))];
        let is_right = |laid| rawarray::Reader::from_storage(laid, &rawarray::OpenOptions::default()).is_ok();
        if end > storage.size()
            || (expected ^ found).count_ones() != 1 && end < storage.size()
            || proof::is_bit_of(storage, &fields, is_right)
        {
            self.kept.push(format!(
                "the size is {found}, and the dimensions and the type are those of {expected} bytes: nothing tells which of them is wrong"
            ));
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
            "kept": self.kept,
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

/// The faults of a file.
#[derive(Default)]
struct Faults {
    count: u64,
    /// Those of checksums.
    wrong: Vec<Wrong>,
    /// Which part is wrong of what, and where.
    places: BTreeSet<(String, &'static str, Option<&'static str>, u64)>,
}

impl Faults {
    fn note(&mut self, path: Option<&str>, error: &Error) {
        let (Error::Malformed { structure, fault, .. }, Some(offset)) = (error, error.offset()) else {
            return;
        };
        self.places.insert((path.unwrap_or_default().to_owned(), structure, fault.field, offset));
        if let FaultKind::Checksum { stored, computed } = fault.kind
            && let (Ok(stored), Ok(computed)) = (u32::try_from(stored), u32::try_from(computed))
        {
            self.wrong.push(Wrong { structure, offset, stored, computed });
        }
    }
}

/// Returns the faults of a file.
fn faults(storage: &Arc<dyn ReadAt>) -> Result<Faults> {
    let mut found = Faults::default();
    let file = match File::from_storage(storage.clone(), &OpenOptions::default()) {
        Ok(file) => file,
        Err(error @ Error::Io { .. }) => return Err(error),
        Err(error) => {
            found.note(None, &error);
            found.count = 1;
            return Ok(found);
        }
    };
    let summary = verify(&file, &mut |finding| found.note(finding.path.as_deref(), &finding.error));
    found.count = summary.findings;
    Ok(found)
}
