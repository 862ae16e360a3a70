//! Writing a super-chunk: as a whole, or what has changed to where it lives.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use sciformats_core::commit::{apply, journal};
use sciformats_core::storage::{Durability, FileStorage, Replacement};
use sciformats_core::{Error, Result, WriteAt};

use super::{Home, SChunk, open_home};
use crate::model::compress::special;
use crate::model::frame::{Frame, SPARSE_INDEX, chunk_file};
use crate::model::layout::{self, Entry, Place, Space, Stored};
use crate::spec::frame_header::ChunkSize;
use crate::spec::offset::Offset;

impl SChunk {
    /// Writes all edits to where the super-chunk lives. One in memory becomes a frame in memory. A frame without bytes has
    /// no chunks: if all are empty, they are gone.
    ///
    /// ```
    /// use cframe::{Frame, Params, SChunk};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("frames.b2frame");
    /// let mut schunk = SChunk::create(&path, Params::new(4));
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
    /// `Io`; the frame is then the old one or the new one, and can be opened again. `Usage` if another writer holds the
    /// file.
    pub fn commit(&mut self) -> Result<()> {
        if !self.changed {
            return Ok(());
        }
        match self.home.clone() {
            Home::Memory => {
                let frame = Frame::from_bytes_with(self.to_bytes()?, &self.options())?;
                self.rebase(frame, None);
            }
            Home::File(path) => self.commit_file(&path)?,
            Home::Folder(path) => self.commit_folder(&path)?,
        }
        Ok(())
    }

    /// Writes the whole frame anew in place of the old one, without holes.
    ///
    /// ```
    /// use cframe::{Frame, Params, SChunk};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("frames.b2frame");
    /// # let mut made = SChunk::create(&path, Params::new(4));
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
            Home::File(path) => {
                self.save(&path)?;
                self.reopen(None)
            }
            Home::Memory | Home::Folder(_) => self.commit(),
        }
    }

    /// The whole as the bytes of a contiguous frame.
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

    /// Writes the whole as a contiguous frame to a file, in place of one that may be there.
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

    /// The bytes of each chunk as they are stored.
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

    /// Writes a contiguous frame without holes: chunks, offsets and trailer, then the header.
    fn write_frame(&self, out: &mut dyn WriteAt) -> Result<()> {
        let entries = self.listed()?;
        let mut header = self.header.clone();
        header.frame_type &= 0xf0;
        layout::describe(&mut header, &entries);
        header.has_vlmeta = !self.trailer.layers.is_empty();
        let header_len = header.encode().len() as u64;
        let mut at = header_len;
        let mut offsets = Vec::with_capacity(entries.len());
        for entry in &entries {
            match self.stored(entry, header.chunksize)? {
                Stored::Nothing(offset) => offsets.push(offset),
                Stored::Bytes(bytes) => {
                    out.write_at(at, &bytes)?;
                    offsets.push(Offset::At(at.saturating_sub(header_len)));
                    at = at.saturating_add(bytes.len() as u64);
                }
            }
        }
        header.cbytes = at.saturating_sub(header_len);
        let mut index = layout::encode_offsets(&offsets, header.nbytes)?;
        index.extend(self.trailer.encode());
        if header.nbytes == 0 {
            header.cbytes = 0;
            at = header_len;
        }
        out.write_at(at, &index)?;
        header.frame_len = at.saturating_add(index.len() as u64);
        out.write_at(0, &header.encode())
    }

    fn commit_file(&mut self, path: &Path) -> Result<()> {
        let mut header = self.header.clone();
        header.has_vlmeta = !self.trailer.layers.is_empty();
        let len = header.encode().len() as u64;
        let same = |frame: &&Frame| u64::from(frame.header().header_len) == len;
        let Some(frame) = self.base.as_ref().filter(same) else {
            self.save(path)?;
            return self.reopen(None);
        };
        let mut entries = self.listed()?;
        let chunksize = layout::chunk_size(entries.iter().map(|entry| entry.nbytes));
        if chunksize == ChunkSize::Variable {
            store_specials(&mut entries, self.header.typesize)?;
        }
        let mut file = FileStorage::edit(path)?;
        file.try_lock()?;
        let steps = journal::recover(&file)?;
        apply(&steps, &mut file)?;
        if sciformats_core::ReadAt::len(&file) < frame.frame_len() {
            return Err(Error::usage("file", "has become shorter since it was opened"));
        }
        let plan = layout::plan(frame, &self.space, &entries, header, &self.trailer)?;
        apply(&plan.steps, &mut file)?;
        self.reopen(Some(plan.space))
    }

    fn commit_folder(&mut self, folder: &Path) -> Result<()> {
        apply_folder(folder, &self.plan_folder(folder)?)?;
        self.reopen(None)
    }

    /// What a commit does to the folder of a sparse frame: new chunks become new files, then the index takes the place of
    /// the old one, then what it does not name goes. Where there is an old frame to lose, each of these reaches the device
    /// before the next begins.
    fn plan_folder(&self, folder: &Path) -> Result<Vec<FolderStep>> {
        let mut entries = self.listed()?;
        let mut header = self.header.clone();
        header.has_vlmeta = !self.trailer.layers.is_empty();
        header.frame_type = (header.frame_type & 0xf0) | 1;
        layout::describe(&mut header, &entries);
        if header.chunksize == ChunkSize::Variable {
            store_specials(&mut entries, header.typesize)?;
        }
        let io = |action, e| Error::io(action, e).in_file(folder, None);
        let old = if folder.is_dir() { chunk_files(folder).map_err(|e| io("list", e))? } else { Vec::new() };
        let mut next = old.iter().max().map_or(0, |last| last.saturating_add(1));
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
                        next = next.saturating_add(1);
                        (Offset::At(number), size)
                    }
                },
            };
            offsets.push(offset);
            stored_bytes = stored_bytes.saturating_add(size);
        }
        header.cbytes = stored_bytes;
        let mut index = layout::encode_offsets(&offsets, header.nbytes)?;
        index.extend(self.trailer.encode());
        header.frame_len = (header.encode().len() as u64).saturating_add(index.len() as u64);
        let mut bytes = header.encode();
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

    fn reopen(&mut self, space: Option<Space>) -> Result<()> {
        let frame = open_home(&self.home, &self.options())?;
        self.rebase(frame, space);
        Ok(())
    }

    fn rebase(&mut self, frame: Frame, space: Option<Space>) {
        self.header = frame.header().clone();
        self.trailer = frame.trailer().clone();
        self.context = frame.context().clone();
        self.space = space.unwrap_or_else(|| Space::of(&frame));
        self.base = Some(frame);
        self.entries = None;
        self.changed = false;
    }
}

/// One change of the folder of a sparse frame.
#[derive(Debug)]
enum FolderStep {
    /// A new chunk file.
    Create(u64, Arc<Vec<u8>>),
    /// New chunk files, and their names, reach the device.
    Sync(Vec<u64>),
    /// The index, in place of the old one: from here on the frame is the new one.
    Index(Vec<u8>, Durability),
    /// A chunk file that the index does not name.
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

fn apply_folder(folder: &Path, steps: &[FolderStep]) -> Result<()> {
    let io = |action, e| Error::io(action, e).in_file(folder, None);
    std::fs::create_dir_all(folder).map_err(|e| io("create", e))?;
    for step in steps {
        match step {
            FolderStep::Create(number, bytes) => {
                FileStorage::create_new(folder.join(chunk_file(*number)))?.write_at(0, bytes)?;
            }
            FolderStep::Sync(numbers) => {
                for number in numbers {
                    FileStorage::edit(folder.join(chunk_file(*number)))?.sync()?;
                }
                sync_names(folder).map_err(|e| io("sync", e))?;
            }
            FolderStep::Index(bytes, durability) => {
                let mut file = Replacement::create(folder.join(SPARSE_INDEX))?;
                file.write_at(0, bytes)?;
                file.finish(*durability)?;
            }
            FolderStep::Remove(number) => std::fs::remove_file(folder.join(chunk_file(*number)))
                .map_err(|e| io("remove a chunk from", e))?,
        }
    }
    Ok(())
}

#[cfg(unix)]
fn sync_names(folder: &Path) -> std::io::Result<()> {
    std::fs::File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_names(_: &Path) -> std::io::Result<()> {
    Ok(()) // The name is part of what syncing the file makes durable.
}

/// Numbers of the chunk files in a folder.
fn chunk_files(folder: &Path) -> std::io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".chunk"));
        numbers.extend(number.and_then(|digits| u64::from_str_radix(digits, 16).ok()));
    }
    Ok(numbers)
}

/// Makes chunks of what has so far been only a kind: where sizes vary, nothing else says how long they are.
pub(super) fn store_specials(entries: &mut [Entry], typesize: u32) -> Result<()> {
    for entry in entries {
        if let Place::Stored(Offset::Special(kind)) = entry.place {
            entry.place = Place::New(Arc::new(special(kind, &[], typesize, entry.nbytes)?));
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

    /// The folder after a loss of power: a file that was created and not synced since may hold nothing, or be gone.
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

    /// Does `steps` up to each of them, and of new files only a part, and looks at the folder that is left.
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
                apply_folder(left.path(), &steps[..end]).unwrap();
                if let (Some(len), Some(FolderStep::Create(number, bytes))) = (part, steps.get(end)) {
                    std::fs::write(left.path().join(chunk_file(*number)), &bytes[..len]).unwrap();
                }
                check(left.path());
                for gone in [false, true] {
                    let left = tempfile::tempdir().unwrap();
                    copy(folder, left.path());
                    apply_folder(left.path(), &steps[..end]).unwrap();
                    without_power(left.path(), &steps[..end], gone);
                    check(left.path());
                }
                // Files that nobody names do no harm to the next commit.
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
        let mut schunk = SChunk::create_sparse(&folder, Params::new(1));
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
            apply_folder(done.path(), &steps).unwrap();
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
