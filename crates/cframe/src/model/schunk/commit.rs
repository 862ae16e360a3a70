//! Writing a super-chunk completely, or writing its changes to its place.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use sciformats_core::arith::{add, increase, sub};
use sciformats_core::commit::{Session, Syncs};
use sciformats_core::error::Within;
use sciformats_core::storage::{Durability, FileStorage, Replacement};
use sciformats_core::{Clash, Error, Result, WriteAt};

use super::SChunk;
use super::home::{Hold, Home};
use crate::model::compress::special;
use crate::model::frame::{Frame, SPARSE_INDEX, chunk_file, chunk_number};
use crate::model::layout::{self, Entry, Place, Space, Stored};
use crate::spec::frame_header::ChunkSize;
use crate::spec::offset::Offset;

impl SChunk {
    /// Writes all edits to the place of the super-chunk. A super-chunk in memory becomes a frame in memory. A frame without bytes
    /// has no chunks, so if all chunks are empty, they are removed.
    ///
    /// ```
    /// use cframe::{Frame, Params, SChunk};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("frames.b2frame");
    /// let mut schunk = SChunk::create(&path, Params::new(4))?;
    /// schunk.append(&[1; 4000])?;
    /// schunk.commit()?;
    /// schunk.append(&[2; 4000])?; // in memory only
    /// assert_eq!(Frame::open(&path)?.chunks(), 1);
    /// schunk.commit()?;
    /// assert_eq!(Frame::open(&path)?.chunks(), 2);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Conflict`] if another writer has the frame open, or has changed it since it was read here; `Usage` if bytes follow the
    /// frame in its file that are not known to be those of an earlier commit; `Io`. The frame is then unchanged. If the device failed
    /// so that even this was impossible, it is the old one or the new one.
    pub fn commit(&mut self) -> Result<()> {
        if !self.changed {
            return Ok(());
        }
        match self.home.clone() {
            Home::Memory => {
                let frame = Frame::from_bytes_with(self.to_bytes()?, &self.options())?;
                self.rebase(frame, None);
                Ok(())
            }
            Home::File(path) => self.commit_file(&path),
            Home::Folder(path) => self.commit_folder(&path),
        }
    }

    /// Writes the whole frame again without holes, and replaces the old one. Bytes that followed it in its file are removed.
    ///
    /// ```
    /// use cframe::{Frame, Params, SChunk};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("frames.b2frame");
    /// # let mut made = SChunk::create(&path, Params::new(4))?;
    /// # for day in 0..20u32 {
    /// #     made.append(&(day..day + 1000).flat_map(|i| (i * i).to_le_bytes()).collect::<Vec<_>>())?;
    /// # }
    /// # made.commit()?;
    /// # let frame_len = Frame::open(&path)?.frame_len();
    /// let mut schunk = SChunk::open(&path)?;
    /// schunk.remove(0)?;
    /// schunk.compact()?;
    /// assert!(Frame::open(&path)?.frame_len() < frame_len);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`.
    pub fn compact(&mut self) -> Result<()> {
        self.entries()?;
        match self.home.clone() {
            Home::File(path) => self.rewrite(&path),
            Home::Memory | Home::Folder(_) => self.commit(),
        }
    }

    /// Returns everything as the bytes of a contiguous frame.
    ///
    /// ```
    /// use cframe::{Frame, Params, SChunk};
    ///
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.append(&[21; 4000])?;
    /// let bytes = schunk.to_bytes()?;
    /// assert_eq!(Frame::from_bytes(bytes)?.chunk(0)?.decode()?, [21; 4000]);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of reading the chunks.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.write_frame(&mut out)?;
        Ok(out)
    }

    /// Writes everything as a contiguous frame to a file, and replaces an existing file.
    ///
    /// ```
    /// use cframe::{Frame, Params, SChunk};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("copy.b2frame");
    /// let mut schunk = SChunk::new(Params::new(4));
    /// schunk.append(&[21; 4000])?;
    /// schunk.save(&path)?;
    /// assert_eq!(Frame::open(&path)?.nbytes(), 4000);
    /// # Ok::<(), cframe::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`; those of reading the chunks.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let mut file = Replacement::create(path)?;
        self.write_frame(&mut file)?;
        file.finish(Durability::Process)
    }

    /// Returns how each chunk is stored.
    fn stored(&self, entry: &Entry, chunksize: ChunkSize) -> Result<Stored> {
        match (&entry.place, &self.base) {
            (Place::New(bytes), _) => layout::stored(bytes, chunksize, self.limits()),
            (Place::Stored(offset @ Offset::Special(_)), _) if matches!(chunksize, ChunkSize::Fixed(_)) => {
                Ok(Stored::Nothing(*offset))
            }
            (Place::Stored(offset), Some(base)) => {
                let chunk = base.chunk_of(*offset, Some(entry.nbytes))?;
                layout::stored(&Arc::new(chunk.stored()?.into_owned()), chunksize, self.limits())
            }
            (Place::Stored(_), None) => Err(Error::usage("chunk", "has no frame")),
        }
    }

    /// Writes a contiguous frame without holes: chunks, offsets and trailer, and then the header.
    fn write_frame(&self, out: &mut dyn WriteAt) -> Result<()> {
        self.params.check()?;
        let entries = self.listed()?;
        let mut header = self.header.clone();
        header.frame_type &= 0xf0;
        layout::describe(&mut header, &entries)?;
        header.has_vlmeta = !self.trailer.layers.is_empty();
        let header_len = header.encode()?.len() as u64;
        let mut at = header_len;
        let mut offsets = Vec::with_capacity(entries.len());
        for entry in &entries {
            match self.stored(entry, header.chunksize)? {
                Stored::Nothing(offset) => offsets.push(offset),
                Stored::Bytes(bytes) => {
                    out.write_at(at, &bytes)?;
                    offsets.push(Offset::At(sub(at, header_len)?));
                    increase(&mut at, bytes.len() as u64)?;
                }
            }
        }
        header.cbytes = sub(at, header_len)?;
        let mut index = layout::encode_offsets(&offsets, header.nbytes)?;
        index.extend(self.trailer.encode()?);
        if header.nbytes == 0 {
            header.cbytes = 0;
            at = header_len;
        }
        out.write_at(at, &index)?;
        header.frame_len = add(at, index.len() as u64)?;
        out.write_at(0, &header.encode()?)
    }

    fn commit_file(&mut self, path: &Path) -> Result<()> {
        self.params.check()?;
        if let Some(frame) = self.base.as_ref().filter(|_| !self.knows_tail) {
            frame.check_tail().within(Some(path), None)?;
        }
        let mut header = self.header.clone();
        header.has_vlmeta = !self.trailer.layers.is_empty();
        let len = header.encode()?.len() as u64;
        let same = |frame: &&Frame| u64::from(frame.header().header_len) == len;
        let Some(frame) = self.base.as_ref().filter(same) else { return self.rewrite(path) };
        let mut entries = self.listed()?;
        let chunksize = layout::chunk_size(entries.iter().map(|entry| entry.nbytes));
        if chunksize == ChunkSize::Variable {
            store_specials(&mut entries, self.header.typesize)?;
        }
        let mut hold = self.hold()?;
        let layout::Plan { plan, space } = layout::plan(frame, &self.space, &entries, header, &self.trailer)?;
        hold.session.commit(plan, Syncs::Durable)?;
        self.reopen(Some(space), hold)
    }

    /// Locks the frame from which this was read, in order to change it.
    fn hold(&self) -> Result<Hold> {
        match (&self.base, &self.known) {
            (Some(_), None) => {
                // A writer had the frame open while it was read, so it may have been in an intermediate state.
                let error = Error::conflict(Clash::Held);
                Err(match &self.home {
                    Home::File(path) | Home::Folder(path) => error.in_file(path, None),
                    Home::Memory => error,
                })
            }
            (_, known) => self.home.hold(known.as_ref()),
        }
    }

    /// Does the same as [`hold`](Self::hold) if there is a frame. A new frame may also be written where there is none.
    fn hold_if_there(&self) -> Result<Option<Hold>> {
        match &self.base {
            None if self.replaces => self.home.hold_if_there(),
            None => self.home.absent().map(|()| None),
            Some(_) => self.hold().map(Some),
        }
    }

    /// Writes the whole frame, and replaces an existing one.
    fn rewrite(&mut self, path: &Path) -> Result<()> {
        let hold = self.hold_if_there()?;
        let is_new = self.base.is_none() && !self.replaces;
        let mut new = if is_new { Replacement::create_new(path)? } else { Replacement::of_held(path)? };
        self.write_frame(&mut new)?;
        let hold = put(new, Durability::Process, hold)?;
        self.reopen(None, hold)
    }

    fn commit_folder(&mut self, folder: &Path) -> Result<()> {
        let hold = self.hold_if_there()?;
        let steps = self.plan_folder(folder)?;
        let hold = apply_folder(folder, &steps, hold)?;
        match hold {
            Some(hold) => self.reopen(None, hold),
            None => Err(Error::usage("commit", "has no index")),
        }
    }

    /// Plans a commit to the folder of a sparse frame. New chunks become new files, then the index replaces the old one, and then
    /// the files to which it does not refer are removed. If there is an old frame that could be lost, each of these steps reaches
    /// the device before the next begins.
    fn plan_folder(&self, folder: &Path) -> Result<Vec<FolderStep>> {
        self.params.check()?;
        let mut entries = self.listed()?;
        let mut header = self.header.clone();
        header.has_vlmeta = !self.trailer.layers.is_empty();
        header.frame_type = (header.frame_type & 0xf0) | 1;
        layout::describe(&mut header, &entries)?;
        if header.chunksize == ChunkSize::Variable {
            store_specials(&mut entries, header.typesize)?;
        }
        let io = |action, e| folder_error(action, e, folder);
        let old = if folder.is_dir() { chunk_files(folder).map_err(|e| io("list", e))? } else { Vec::new() };
        let mut next = old.iter().max().map_or(Ok(0), |&last| add(last, 1))?;
        let mut steps = Vec::new();
        let mut offsets = Vec::with_capacity(entries.len());
        let mut stored_bytes = 0u64;
        for entry in &entries {
            let numbered = match (&entry.place, &self.base) {
                (Place::Stored(offset @ Offset::At(number)), Some(base)) if base.is_in(folder) => {
                    let file = std::fs::metadata(folder.join(chunk_file(*number)));
                    Some((*offset, file.map_err(|e| io("read", e))?.len()))
                }
                _ => None,
            };
            let (offset, size) = match numbered {
                Some(known) => known,
                None => match self.stored(entry, header.chunksize)? {
                    Stored::Nothing(offset) => (offset, 0),
                    Stored::Bytes(bytes) => {
                        let (number, size) = (next, bytes.len() as u64);
                        steps.push(FolderStep::Create(number, bytes));
                        increase(&mut next, 1)?;
                        (Offset::At(number), size)
                    }
                },
            };
            offsets.push(offset);
            increase(&mut stored_bytes, size)?;
        }
        header.cbytes = stored_bytes;
        let mut index = layout::encode_offsets(&offsets, header.nbytes)?;
        index.extend(self.trailer.encode()?);
        header.frame_len = add(header.encode()?.len() as u64, index.len() as u64)?;
        let mut bytes = header.encode()?;
        bytes.extend(index);
        let replaces = folder.join(SPARSE_INDEX).exists();
        if replaces && !steps.is_empty() {
            let created = steps.iter().filter_map(FolderStep::created);
            steps.push(FolderStep::Sync(created.collect()));
        }
        let durability = if replaces { Durability::Power } else { Durability::Process };
        steps.push(FolderStep::Index(bytes, durability));
        let named: HashSet<u64> = offsets
            .iter()
            .filter_map(|offset| if let Offset::At(number) = offset { Some(*number) } else { None })
            .collect();
        steps.extend(old.into_iter().filter(|number| !named.contains(number)).map(FolderStep::Remove));
        Ok(steps)
    }

    /// Reads what has been written, before others can change it.
    fn reopen(&mut self, space: Option<Space>, mut hold: Hold) -> Result<()> {
        hold.advance()?;
        let (frame, known) = self.home.reopen(&self.options(), &hold)?;
        self.rebase(frame, space);
        self.known = Some(known);
        Ok(())
    }

    fn rebase(&mut self, frame: Frame, space: Option<Space>) {
        self.header = frame.header().clone();
        self.trailer = frame.trailer().clone();
        self.context = frame.context().clone();
        self.space = space.unwrap_or_else(|| Space::of(&frame));
        self.base = Some(frame);
        self.entries = None;
        self.knows_tail = true;
        self.changed = false;
    }
}

/// A change of the folder of a sparse frame.
#[derive(Debug)]
enum FolderStep {
    /// Creates a new chunk file.
    Create(u64, Arc<Vec<u8>>),
    /// Waits until new chunk files and their names are on the device.
    Sync(Vec<u64>),
    /// Replaces the index. From here on, the frame is the new one.
    Index(Vec<u8>, Durability),
    /// Removes a chunk file to which the index does not refer.
    Remove(u64),
}

impl FolderStep {
    fn created(&self) -> Option<u64> {
        match self {
            Self::Create(number, _) => Some(*number),
            _ => None,
        }
    }
}

/// Replaces the locked file by a new one, or puts the new file where there is none.
pub(super) fn put(new: Replacement, durability: Durability, hold: Option<Hold>) -> Result<Hold> {
    match hold {
        Some(mut hold) => {
            hold.session.replace(new, durability)?;
            Ok(hold)
        }
        None => Ok(Hold::of(Session::over(new.finish_open(durability)?))),
    }
}

/// Carries out the steps under the lock. If this fails before the new index is in place, the new chunks are removed.
fn apply_folder(folder: &Path, steps: &[FolderStep], mut hold: Option<Hold>) -> Result<Option<Hold>> {
    let io = |action, e| folder_error(action, e, folder);
    std::fs::create_dir_all(folder).map_err(|e| io("create", e))?;
    let mut created = Vec::new();
    let mut is_new = false;
    for step in steps {
        let done = match step {
            FolderStep::Create(number, bytes) => {
                let path = folder.join(chunk_file(*number));
                FileStorage::create_new(&path).and_then(|mut file| {
                    created.push(path);
                    file.write_at(0, bytes)
                })
            }
            FolderStep::Sync(numbers) => numbers
                .iter()
                .try_for_each(|number| FileStorage::edit(folder.join(chunk_file(*number)))?.sync())
                .and_then(|()| sync_names(folder).map_err(|e| io("sync", e))),
            FolderStep::Index(bytes, durability) => {
                let place = Replacement::of_held(folder.join(SPARSE_INDEX));
                let written = place.and_then(|mut file| file.write_at(0, bytes).map(|()| file));
                written.and_then(|file| put(file, *durability, hold.take())).map(|held| {
                    (hold, is_new) = (Some(held), true);
                })
            }
            FolderStep::Remove(number) => {
                // The frame is the new one already. A file that cannot be removed does no harm, and the next commit tries it again.
                let _ = std::fs::remove_file(folder.join(chunk_file(*number)));
                Ok(())
            }
        };
        if let Err(error) = done {
            is_new |= matches!(step, FolderStep::Index(bytes, _) if may_be_in_place(folder, bytes));
            if !is_new {
                // Nothing refers to files that cannot be removed.
                created.iter().for_each(|path| drop(std::fs::remove_file(path)));
            }
            return Err(error);
        }
    }
    Ok(hold)
}

/// Returns whether the index of a folder may be this one after it could not be put there without an error. It is in its place if the
/// device only failed to make its name durable.
pub(super) fn may_be_in_place(folder: &Path, index: &[u8]) -> bool {
    match std::fs::read(folder.join(SPARSE_INDEX)) {
        Ok(there) => there == index,
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}

pub(super) fn folder_error(action: &'static str, error: std::io::Error, folder: &Path) -> Error {
    Error::io(action, error).in_file(folder, None)
}

#[cfg(unix)]
pub(super) fn sync_names(folder: &Path) -> std::io::Result<()> {
    std::fs::File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
pub(super) fn sync_names(_: &Path) -> std::io::Result<()> {
    Ok(()) // Syncing a file makes its name durable too.
}

/// Returns the numbers of the chunk files in a folder.
pub(super) fn chunk_files(folder: &Path) -> std::io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name();
        numbers.extend(name.to_str().and_then(chunk_number));
    }
    Ok(numbers)
}

/// Turns chunks that stored nothing but their kind into ordinary ones. If sizes vary, nothing else contains their length.
pub(super) fn store_specials(entries: &mut [Entry], typesize: u32) -> Result<()> {
    for entry in entries {
        if let Place::Stored(Offset::Special(kind)) = entry.place {
            entry.place = Place::New(Arc::new(special(kind, &[], (typesize, 0), entry.nbytes)?));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params;
    use crate::spec::chunk_header::Special;

    fn copy(from: &Path, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
    }

    fn content(folder: &Path) -> (Vec<u8>, Vec<(String, Vec<u8>)>) {
        let schunk = SChunk::open(folder).unwrap();
        let mut bytes = vec![0; usize::try_from(schunk.nbytes()).unwrap()];
        schunk.read_bytes(0, &mut bytes).unwrap();
        let names = schunk.vlmeta_names().map(|name| (name.to_owned(), schunk.vlmeta(name).unwrap()));
        (bytes, names.collect())
    }

    /// Simulates a loss of power: a file that was created and not synced may be empty or missing.
    fn without_power(folder: &Path, steps: &[FolderStep], gone: bool) {
        let synced: HashSet<u64> = steps
            .iter()
            .flat_map(|step| if let FolderStep::Sync(numbers) = step { numbers.clone() } else { Vec::new() })
            .collect();
        for number in steps.iter().filter_map(FolderStep::created).filter(|number| !synced.contains(number)) {
            let path = folder.join(chunk_file(number));
            if gone { std::fs::remove_file(path) } else { std::fs::write(path, []) }.unwrap();
        }
    }

    /// Carries out `steps` up to each of them, and new files only in part, and examines the remaining folder.
    fn cut(folder: &Path, steps: &[FolderStep], check: &dyn Fn(&Path)) -> usize {
        let mut cuts = 0;
        for end in 0..=steps.len() {
            let partial: Vec<Option<usize>> = match steps.get(end) {
                Some(FolderStep::Create(_, bytes)) => vec![None, Some(0), Some(bytes.len() / 2)],
                _ => vec![None],
            };
            for part in partial {
                let left = tempfile::tempdir().unwrap();
                copy(folder, left.path());
                apply_folder(left.path(), &steps[..end], None).unwrap();
                if let (Some(len), Some(FolderStep::Create(number, bytes))) = (part, steps.get(end)) {
                    std::fs::write(left.path().join(chunk_file(*number)), &bytes[..len]).unwrap();
                }
                check(left.path());
                for gone in [false, true] {
                    let left = tempfile::tempdir().unwrap();
                    copy(folder, left.path());
                    apply_folder(left.path(), &steps[..end], None).unwrap();
                    without_power(left.path(), &steps[..end], gone);
                    check(left.path());
                }
                // Files to which nothing refers do not disturb the next commit.
                let mut again = SChunk::open(left.path()).unwrap();
                again.append(&[7; 400]).unwrap();
                again.commit().unwrap();
                assert_eq!(content(left.path()).0.len() as u64, again.nbytes());
                cuts += 1;
            }
        }
        cuts
    }

    #[test]
    fn every_cut_of_a_commit_to_a_folder_leaves_the_old_frame_or_the_new_one() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("f.b2frame");
        let data = |seed: u8| -> Vec<u8> { (0..400u32).map(|i| (i * i / 3) as u8 ^ seed).collect() };
        let mut schunk = SChunk::create_sparse(&folder, Params::new(1)).unwrap();
        (0..3).for_each(|i| schunk.append(&data(i)).unwrap());
        schunk.commit().unwrap();
        let mut cuts = 0;
        let edits: [&dyn Fn(&mut SChunk); 8] = [
            &|s| (3..6).for_each(|i| s.append(&data(i)).unwrap()),
            &|s| s.update(1, &data(9)).unwrap(),
            &|s| s.insert(0, &data(10)).unwrap(),
            &|s| s.remove(2).unwrap(),
            &|s| s.write_bytes(390, &[5; 420]).unwrap(),
            &|s| s.append_special(Special::Zeros, &[], 400).unwrap(),
            &|s| s.set_vlmeta("note", &data(11)).unwrap(),
            &|s| (0..7).for_each(|_| s.remove(0).unwrap()),
        ];
        for edit in edits {
            let mut schunk = SChunk::open(&folder).unwrap();
            edit(&mut schunk);
            let steps = schunk.plan_folder(&folder).unwrap();
            let old = content(&folder);
            let done = tempfile::tempdir().unwrap();
            copy(&folder, done.path());
            apply_folder(done.path(), &steps, None).unwrap();
            let new = content(done.path());
            assert_ne!(old, new);
            cuts += cut(&folder, &steps, &|left| {
                let seen = content(left);
                assert!(seen == old || seen == new, "neither the old frame nor the new one");
            });
            schunk.commit().unwrap();
            assert_eq!(content(&folder), new);
        }
        println!("crash matrix: blosc2: commits to folders: {cuts} prefixes");
        assert!(cuts > 40, "{cuts}");
    }
}
