//! Changes of a file in place.
//!
//! The new tree is written in the place of the old one, remaining blocks are not touched, new blocks follow the last one, and
//! the block index follows them. All bytes that overwrite others go through a journal at the end of the file. If the change is
//! interrupted at any point, this library sees the old file or the new one, and completes or takes back the change when it
//! writes next. If the new tree does not fit, or if a block changes its size, the whole file is written beside the old one, and
//! takes its place in one step.

use std::borrow::Cow;
use std::path::Path;

use sciformats_core::arith::{add, fit, sub, sum};
use sciformats_core::commit::{self, Decisive, Generation, SECTOR, Session, Step, Syncs, Write};
use sciformats_core::error::Within;
use sciformats_core::storage::{FileStorage, Patch, Replacement, Seen};
use sciformats_core::{Clash, Error, ReadAt, Result, WriteAt, bound};

use crate::document::{BlockData, Document};
use crate::model::layout::BlockEntry;
use crate::model::located::Tail;
use crate::reader::Asdf;
use crate::spec::block_index::TOKEN;
use crate::write;
use crate::yaml::edits::NewScalar;

/// The largest number of bytes that go through the journal, which writes them twice. Larger changes write a new file.
const MAX_JOURNAL: u64 = 64 << 20;

/// The end of a block index.
const END: &[u8] = b"\n...";

/// How a file was changed.
///
/// ```
/// use asdf_core::{Document, Update};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("image.asdf");
/// # let mut document = asdf_core::Document::new();
/// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
/// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
/// document.options_mut().tree_padding = Some(1024); // room for the tree to grow
/// document.save(&path)?;
/// let mut document = Document::open(&path)?;
/// assert_eq!(document.update()?, Update::Unchanged);
/// document.set("meta/exposure", &30.0)?;
/// assert!(matches!(document.update()?, Update::InPlace { bytes } if bytes < 4096));
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// Nothing had to be written.
    Unchanged,
    /// In place: this many bytes were written over or after the old ones.
    InPlace {
        /// The number of bytes of the tree, the new blocks and the index.
        bytes: u64,
    },
    /// The whole file was written again.
    Rewritten,
}

/// A change of a file in place that can be applied.
struct Plan {
    old_len: u64,
    new_len: u64,
    patches: Vec<Patch>,
    /// Bytes after the old end of the file.
    fresh: Vec<(u64, Vec<u8>)>,
}

impl Document {
    /// Writes the changes to the file from which the document was opened, in place if possible, and then reads the file again.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, NewArray, Update};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("image.asdf");
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// # document.options_mut().tree_padding = Some(1024);
    /// # document.save(&path)?;
    /// let mut document = Document::open(&path)?;
    /// document.set("meta/exposure", &30.0)?;
    /// document.set_array("dark", NewArray::new(&[0.5f32; 4], &[2, 2])?)?;
    /// assert!(matches!(document.update()?, Update::InPlace { .. })); // the image that is there is not written again
    /// assert_eq!(Asdf::open(&path)?.blocks().len(), 2);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the document was not opened by a path, or if the file ends with bytes that are neither those of a block nor an index,
    /// and would not stay; `Conflict` if another writer has the file open, or has changed it since the document was opened; and those
    /// of [`save`](Self::save). The file is then unchanged. If the device failed so that even this was impossible, the file is the old
    /// one or the new one.
    ///
    /// If the file was changed, but cannot be read again, this is no error: the document stays as it was written, and further updates
    /// of it are refused with a `Conflict`.
    ///
    /// In place, a change of the elements of a block by another program is no conflict, because they stay. If the whole file is
    /// written again, it is one, and it is known by the times of the file.
    pub fn update(&mut self) -> Result<Update> {
        let origin = self.origin.as_ref();
        let path = origin
            .and_then(Asdf::path)
            .ok_or_else(|| Error::usage("document", "was not opened from a file"))?;
        let path = path.to_owned();
        let read = self.read.as_ref();
        // A writer had the file open while it was read, so it may have been in an intermediate state.
        let read = read.ok_or_else(|| Error::conflict(Clash::Held).in_file(&path, None))?;
        if read.is_older {
            return Err(Error::conflict(Clash::Changed { offset: 0 }).in_file(&path, None));
        }
        let mut session = Session::open_seen(&path, &read.seen)?;
        let is_as_read = Seen::of(&path)? == read.seen;
        session.recover()?;
        let (known, found) = (read.len, session.storage().size());
        if known != found {
            return Err(Error::conflict(Clash::Resized { known, found }).in_file(&path, None));
        }
        session.expect(&read.generation);
        let scalars = self.scalars_in_place()?;
        let plan = match &scalars {
            Some(scalars) => Some(self.plan_of_scalars(scalars)?),
            None => {
                self.check_tail().within(Some(&path), None)?;
                self.plan()?
            }
        };
        let done = match plan {
            Some(plan) if plan.is_empty() => {
                session.verify()?;
                Update::Unchanged
            }
            Some(plan) => {
                let bytes = plan.bytes();
                session.commit(plan.into_commit(), Syncs::Durable)?;
                Update::InPlace { bytes }
            }
            None => {
                // The tree has grown once, so leave space for it to grow again.
                let padding = self.options().tree_padding;
                let room = write::head(self)?.len().div_ceil(10).next_multiple_of(4096) as u64;
                self.options_mut().tree_padding = Some(padding.unwrap_or_default().max(room));
                let saved =
                    if is_as_read { self.rewrite(&path, &mut session) } else { Err(self.changed(&path)) };
                self.options_mut().tree_padding = padding;
                saved?;
                Update::Rewritten
            }
        };
        // The lock is held until the file has been read again, so that no other writer can come in between.
        let read = match scalars {
            Some(scalars) => self.go_on(&path, &scalars),
            None => self.read_again(&path),
        };
        // The change is in the file, so this is no error of the change. It is one of whoever wants to change the file again.
        if let (Err(_), Some(read)) = (read, &mut self.read) {
            read.is_older = true;
        }
        drop(session);
        Ok(done)
    }

    /// Checks that nothing of somebody else follows the last block and the index, where the new index is written and the file ends.
    fn check_tail(&self) -> Result<()> {
        let Some(origin) = &self.origin else { return Ok(()) };
        let (located, storage) = (&origin.located, &*origin.storage);
        let start = match located.tail() {
            Some(Tail::Unknown(start)) => start,
            Some(Tail::Overwritten { index, .. }) => after_index(storage, index)?,
            _ => after_index(storage, located.content_end())?,
        };
        let left = bound::left(located.len(), start);
        if left == 0 {
            return Ok(());
        }
        let problem = format!(
            "ends with {left} bytes from offset {start:#x} on that belong to no block, and that an update would remove; `save` writes \
             it without them"
        );
        Err(Error::usage("file", problem))
    }

    fn read_again(&mut self, path: &Path) -> Result<()> {
        let options = *self.options();
        let open = self.origin.as_ref().map(|origin| origin.options.clone()).unwrap_or_default();
        *self = Self::from_file(Asdf::open_with(path, &open)?);
        *self.options_mut() = options;
        Ok(())
    }

    /// Continues after scalars were overwritten. All positions are the same, so only the changed bytes are read again.
    fn go_on(&mut self, path: &Path, scalars: &[NewScalar]) -> Result<()> {
        self.tree.accept_edits(scalars);
        self.text = self.tree.read_text().cloned();
        if let Some(origin) = &mut self.origin {
            origin.reopen(path)?;
            self.read = Read::of(origin)?;
        }
        Ok(())
    }

    /// Writes the whole file again. The elements of all blocks take part in this, but they are not read when the file is opened, so
    /// the times of the file tell whether another program has changed them, before and while they are copied.
    fn rewrite(&mut self, path: &Path, session: &mut Session<FileStorage>) -> Result<()> {
        session.verify()?;
        let before = Seen::of(path)?;
        if let Some(origin) = &mut self.origin {
            // Nothing that was read earlier is copied, if the clock of the file system was too coarse to tell of a change.
            origin.reopen(path)?;
        }
        let mut new = Replacement::of_held(session.storage().path())?;
        self.write_to(&mut new)?;
        if Seen::of(path)? != before {
            return Err(self.changed(path));
        }
        session.replace(new, self.options().durability)
    }

    /// Returns the error for elements of blocks that another program has changed.
    pub(crate) fn changed(&self, path: &Path) -> Error {
        let first = self.origin.as_ref().and_then(|origin| origin.located.first());
        let offset = first.map_or(0, BlockEntry::data_offset);
        Error::conflict(Clash::Changed { offset }).in_file(path, None)
    }

    /// Returns the steps of [`update`](Self::update) for the present file in place; `None` if the whole file must be written
    /// again.
    ///
    /// # Errors
    /// Those of [`update`](Self::update).
    #[doc(hidden)]
    pub fn update_steps(&self) -> Result<Option<Vec<Step<'static>>>> {
        let plan = match self.scalars_in_place()? {
            Some(scalars) => Some(self.plan_of_scalars(&scalars)?),
            None => self.plan()?,
        };
        let Some(plan) = plan else { return Ok(None) };
        let stored = plan.old_len;
        Ok(Some(plan.into_commit().steps(stored)?.into_list()))
    }

    /// Returns the scalars that have new values, if nothing else has changed and if each of them fits in the place of the old
    /// text and the blanks after it.
    fn scalars_in_place(&self) -> Result<Option<Vec<NewScalar>>> {
        let Some(origin) = &self.origin else { return Ok(None) };
        origin.check_first()?;
        origin.check_last()?;
        let located = &origin.located;
        let (Some(tree), true) =
            (located.tree(), self.text.is_some() && self.text.as_ref() == self.tree.read_text())
        else {
            return Ok(None);
        };
        let indexed = located.count() > 0 && !located.is_streamed() && self.options().index;
        let is_rest_as_it_was = self.header == *located.header()
            && self.blocks.len() == located.count()
            && self.keeps_first(located.count())
            && self.streamed == located.is_streamed()
            && indexed == located.has_index();
        let Some(mut scalars) = self.tree.new_scalars().filter(|_| is_rest_as_it_was) else {
            return Ok(None);
        };
        for scalar in &mut scalars {
            let size = add(add(scalar.old.len(), scalar.new.len())?, 2)?;
            let left = bound::addressable(bound::left(tree.end, scalar.offset));
            let text = origin.storage.read_at(scalar.offset, size.min(left))?;
            let Some(room) = room(&text, scalar.old.as_bytes()) else { return Ok(None) };
            let Some(blanks) = room.checked_sub(scalar.new.len()) else { return Ok(None) };
            // Overwrite the rest of the old text, but not blanks that are already there.
            let blanks = blanks.min(bound::left(scalar.old.len(), scalar.new.len()));
            scalar.new.extend(std::iter::repeat_n(' ', blanks));
        }
        Ok(Some(scalars))
    }

    fn plan_of_scalars(&self, scalars: &[NewScalar]) -> Result<Plan> {
        let origin =
            self.origin.as_ref().ok_or_else(|| Error::usage("document", "was not opened from a file"))?;
        let len = origin.located.len();
        let mut plan = Plan { old_len: len, new_len: len, patches: Vec::new(), fresh: Vec::new() };
        for scalar in scalars {
            plan.put(&*origin.storage, scalar.offset, scalar.new.clone().into_bytes())?;
        }
        Ok(plan)
    }

    /// Returns whether the first blocks are the same as in the file.
    fn keeps_first(&self, count: usize) -> bool {
        let stays = |(index, block): (usize, &BlockData)| matches!(block, BlockData::Stored(stored) if *stored == index);
        self.blocks.iter().enumerate().take(count).all(stays)
    }

    fn plan(&self) -> Result<Option<Plan>> {
        let Some(origin) = &self.origin else { return Ok(None) };
        let located = &origin.located;
        let kept = located.count();
        let appends = self.blocks.len() > kept;
        let was_streamed = located.is_streamed();
        if self.blocks.len() < kept
            || !self.keeps_first(kept)
            || was_streamed && appends
            || self.streamed && !was_streamed
            || located.ends_in_last_block()
        {
            return Ok(None);
        }
        let mut head = write::head(self)?;
        let old_end = located.head_end();
        let room = located.first().map_or(head.len() as u64, |block| block.offset);
        if head.len() as u64 > room {
            return Ok(None);
        }
        if kept > 0 {
            // Overwrite the rest of a longer tree.
            head.resize(head.len().max(fit(old_end, "end of the tree")?), 0);
        }
        let mut tail = Vec::new();
        let tail_start = if kept > 0 { located.content_end() } else { head.len() as u64 };
        if appends || kept == 0 || !was_streamed {
            let mut offsets = located.offsets();
            let mut shifted = Shifted { base: tail_start, bytes: &mut tail };
            let (new, _) = write::blocks(self, kept..self.blocks.len(), tail_start, &mut shifted)?;
            offsets.extend(new);
            tail.extend(write::index(self, offsets).unwrap_or_default()); // there may be no index
        }
        let old_len = located.len();
        let new_len = if was_streamed { old_len } else { add(tail_start, tail.len() as u64)? };
        let mut plan = Plan { old_len, new_len, patches: Vec::new(), fresh: Vec::new() };
        plan.put(&*origin.storage, 0, head)?;
        plan.put(&*origin.storage, tail_start, tail)?;
        let patched = sum(plan.patches.iter().map(|patch| patch.bytes.len() as u64))?;
        Ok((patched <= MAX_JOURNAL).then_some(plan))
    }
}

impl Plan {
    /// Plans to write `bytes` at `offset`, except for those that do not change.
    fn put(&mut self, old: &dyn ReadAt, offset: u64, mut bytes: Vec<u8>) -> Result<()> {
        let inside = bound::addressable(bound::left(self.old_len, offset)).min(bytes.len());
        let fresh = bytes.split_off(inside);
        let before = if bytes.is_empty() { Cow::default() } else { old.read_at(offset, bytes.len())? };
        // Bytes that are the same at both ends are not written.
        let same = before.iter().zip(&bytes).take_while(|(a, b)| a == b).count();
        if same < bytes.len() {
            let rest = before.iter().zip(&bytes).skip(same).rev();
            let after = rest.take_while(|(a, b)| a == b).count();
            bytes.truncate(sub(bytes.len(), after)?);
            let offset = add(offset, same as u64)?;
            self.patches.push(Patch { offset, bytes: bytes.split_off(same) });
        }
        if !fresh.is_empty() {
            self.fresh.push((add(offset, inside as u64)?, fresh));
        }
        Ok(())
    }
}

/// Returns the offset of what follows the index at `start`, besides white space and zeros; the end of the file if there is no index.
fn after_index(storage: &dyn ReadAt, start: u64) -> Result<u64> {
    let size = bound::left(storage.size(), start).min(MAX_JOURNAL);
    let bytes = storage.read_at(start, bound::addressable(size))?;
    let end = bytes.windows(END.len()).position(|window| window == END).filter(|_| bytes.starts_with(TOKEN));
    let Some(end) = end else { return Ok(storage.size()) };
    let rest = bytes.iter().skip(bound::sum(end, END.len()));
    match rest.clone().position(|byte| !byte.is_ascii_whitespace() && *byte != 0) {
        Some(gap) => Ok(sum([start, end as u64, END.len() as u64, gap as u64])?),
        None => Ok(storage.size()),
    }
}

/// Returns the number of bytes of `old` and of the blanks that follow it in `text`; `None` if `text` does not begin with `old`,
/// or continues differently.
pub(crate) fn room(text: &[u8], old: &[u8]) -> Option<usize> {
    let rest = text.strip_prefix(old)?;
    let blanks = rest.iter().take_while(|&&b| b == b' ').count();
    match rest.get(blanks) {
        // A comment must follow a blank.
        Some(b'#') => sub(add(old.len(), blanks).ok()?, 1).ok().filter(|&room| room >= old.len()),
        Some(b'\n' | b'\r' | b',' | b']' | b'}') => add(old.len(), blanks).ok(),
        // There may be more blanks after the bytes that were read.
        None if blanks > 0 => add(old.len(), blanks).ok().and_then(|room| sub(room, 1).ok()),
        _ => None,
    }
}

impl Plan {
    fn is_empty(&self) -> bool {
        self.patches.is_empty() && self.fresh.is_empty() && self.new_len == self.old_len
    }

    fn bytes(&self) -> u64 {
        let patched = self.patches.iter().map(|patch| patch.bytes.len());
        patched.chain(self.fresh.iter().map(|(_, bytes)| bytes.len())).sum::<usize>() as u64
    }

    fn into_commit(self) -> commit::Plan<'static> {
        let Self { old_len, new_len, mut patches, fresh } = self;
        let last = |patch: &Patch| patch.offset.checked_add(patch.bytes.len() as u64)?.checked_sub(1);
        let is_one = matches!(patches.as_slice(), [patch] if fresh.is_empty()
            && new_len == old_len
            && last(patch).is_some_and(|last| patch.offset / SECTOR == last / SECTOR));
        // A device writes a sector completely or not at all, so what is within one sector needs no journal.
        let decisive = match patches.pop_if(|_| is_one) {
            Some(Patch { offset, bytes }) => Decisive::OneSector(Write::new(offset, bytes)),
            None => Decisive::Journal(patches),
        };
        let fresh = fresh.into_iter().map(|(offset, bytes)| Write::new(offset, bytes)).collect();
        commit::Plan { fresh, decisive, old_len, new_len }
    }
}

/// A file as it was read, which is what an update builds upon.
pub(crate) struct Read {
    seen: Seen,
    /// Whether the file was opened, and changed by somebody, before it became a document, whose tree is the old one.
    is_older: bool,
    len: u64,
    /// The tree, the headers of the blocks, and what follows the blocks.
    generation: Generation,
}

impl Read {
    /// Returns whether the file that was read is at `path` now, with other contents than those that were read.
    pub(crate) fn is_changed(&self, path: &Path) -> bool {
        Seen::of(path).is_ok_and(|now| now.is_same_file(&self.seen) && now != self.seen)
    }

    /// Returns the same for the file that was seen; `None` if no file was seen.
    pub(crate) fn with_seen(self, seen: Option<Seen>) -> Option<Self> {
        Some(Self { seen: seen?, ..self })
    }

    /// Returns this for a file that has a path.
    pub(crate) fn of(file: &Asdf) -> Result<Option<Self>> {
        let (Some(path), Some(seen)) = (file.path(), &file.seen) else { return Ok(None) };
        let located = &file.located;
        let head = located.first().map_or(located.content_end(), |block| block.offset);
        // If there are many blocks, the first and the last are enough, because an update does not write existing blocks.
        let headers = located.headers();
        let headers =
            headers.iter().map(|block| (block.offset, bound::left(block.data_offset(), block.offset)));
        let tail = (located.content_end(), bound::left(located.len(), located.content_end()));
        let ranges = std::iter::once((0, head)).chain(headers).chain([tail]);
        let generation = Generation::of(&*file.storage, ranges)?;
        Ok(Some(Self {
            seen: seen.clone(),
            is_older: Seen::of(path)? != *seen,
            len: located.len(),
            generation,
        }))
    }
}

/// A part of a file that is collected in memory. Its positions are those of the file.
struct Shifted<'a> {
    base: u64,
    bytes: &'a mut Vec<u8>,
}

impl WriteAt for Shifted<'_> {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.bytes.write_at(sub(offset, self.base)?, bytes)
    }

    fn set_size(&mut self, size: u64) -> Result<()> {
        self.bytes.set_size(sub(size, self.base)?)
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }
}
