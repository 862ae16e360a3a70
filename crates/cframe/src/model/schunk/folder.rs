//! Writing the changes of a super-chunk to the folder of a sparse frame.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use sciformats_core::arith::{add, increase};
use sciformats_core::storage::{Durability, FileStorage, Replacement};
use sciformats_core::{Error, Result, WriteAt, bound};

use super::SChunk;
use super::commit::{put, store_specials};
use super::home::Hold;
use crate::model::frame::{SPARSE_INDEX, chunk_file, chunk_number};
use crate::model::layout::{self, Entry, Place, Stored};
use crate::spec::frame_header::ChunkSize;
use crate::spec::offset::Offset;

/// The size of the longest header of a chunk.
const CHUNK_HEADER: u64 = 32;

impl SChunk {
    pub(super) fn commit_folder(&mut self, folder: &Path) -> Result<()> {
        let hold = self.hold_if_there()?;
        self.carry_out(folder, Numbers::after, hold)?;
        // The frame is the new one already, and whole. The next commit tries this again.
        if self.lower(folder).is_err() {
            self.entries = None;
            self.changed = false;
        }
        Ok(())
    }

    fn carry_out(
        &mut self,
        folder: &Path,
        numbers: fn(&[u64]) -> Result<Numbers>,
        hold: Option<Hold>,
    ) -> Result<()> {
        let steps = self.plan_folder(folder, numbers)?;
        match apply_folder(folder, &steps, hold)? {
            Some(hold) => self.reopen(None, hold),
            None => Err(Error::usage("commit", "has no index")),
        }
    }

    /// Gives lower numbers to chunk files whose numbers are high.
    pub(super) fn lower(&mut self, folder: &Path) -> Result<()> {
        let Some(entries) = self.high()? else { return Ok(()) };
        self.entries = Some(entries);
        let hold = self.hold_if_there()?;
        self.carry_out(folder, Numbers::lowest, hold)
    }

    /// Returns the chunks of the base with those in memory that have a high number, if there are any.
    fn high(&self) -> Result<Option<Vec<Entry>>> {
        let Some(base) = &self.base else { return Ok(None) };
        let cbytes = base.header().cbytes;
        let is_high = |offset: Offset| is_high(offset, cbytes);
        let mut found = false;
        for index in 0..base.chunks() {
            found |= is_high(base.offset(index)?);
        }
        if !found {
            return Ok(None);
        }
        let mut entries = self.listed()?;
        for entry in &mut entries {
            if let Place::Stored(offset) = entry.place
                && is_high(offset)
            {
                let bytes = base.chunk_of(offset, Some(entry.nbytes))?.stored()?.into_owned();
                entry.place = Place::New(Arc::new(bytes));
            }
        }
        Ok(Some(entries))
    }

    /// Plans a commit to the folder of a sparse frame. New chunks become new files, then the index replaces the old one, and then
    /// the files to which it does not refer are removed. If there is an old frame that could be lost, each of these steps reaches
    /// the device before the next begins.
    fn plan_folder(&self, folder: &Path, numbers: fn(&[u64]) -> Result<Numbers>) -> Result<Vec<FolderStep>> {
        self.params.check()?;
        let mut entries = self.listed()?;
        let mut header = self.header.clone();
        header.has_vlmeta = !self.trailer.layers.is_empty();
        header.frame_type = (header.frame_type & 0xf0) | 1;
        layout::describe(&mut header, &entries)?;
        if header.chunksize == ChunkSize::Variable {
            store_specials(&mut entries, header.typesize)?;
        }
        let listed = if folder.is_dir() { chunk_files(folder) } else { Ok(Vec::new()) };
        let old = listed.map_err(|e| folder_error("list", e, folder))?;
        let mut numbers = numbers(&old)?;
        let mut steps = Vec::new();
        let mut offsets = Vec::with_capacity(entries.len());
        header.cbytes = 0;
        for entry in &entries {
            let (offset, size) = match self.numbered(entry, folder)? {
                Some(known) => known,
                None => match self.stored(entry, header.chunksize)? {
                    Stored::Nothing(offset) => (offset, 0),
                    Stored::Bytes(bytes) => {
                        let (number, size) = (numbers.take()?, bytes.len() as u64);
                        steps.push(FolderStep::Create(number, bytes));
                        (Offset::At(number), size)
                    }
                },
            };
            offsets.push(offset);
            increase(&mut header.cbytes, size)?;
        }
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
        let number = |offset: &Offset| if let Offset::At(number) = offset { Some(*number) } else { None };
        let named: HashSet<u64> = offsets.iter().filter_map(number).collect();
        steps.extend(old.into_iter().filter(|number| !named.contains(number)).map(FolderStep::Remove));
        Ok(steps)
    }

    /// Returns the number and the size of the file of a chunk that is in this folder already.
    fn numbered(&self, entry: &Entry, folder: &Path) -> Result<Option<(Offset, u64)>> {
        match (&entry.place, &self.base) {
            (Place::Stored(offset @ Offset::At(number)), Some(base)) if base.is_in(folder) => {
                let file = std::fs::metadata(folder.join(chunk_file(*number)));
                let file = file.map_err(|e| folder_error("read", e, folder))?;
                Ok(Some((*offset, file.len())))
            }
            _ => Ok(None),
        }
    }
}

/// Returns whether c-blosc2 3.3 refuses the number of a chunk file in a frame whose chunks have `cbytes` bytes. It takes the number
/// for a position, behind which the header of a chunk must fit.
pub(super) fn is_high(offset: Offset, cbytes: u64) -> bool {
    matches!(offset, Offset::At(number) if number > bound::left(cbytes, CHUNK_HEADER))
}

/// The numbers of new chunk files.
struct Numbers {
    used: HashSet<u64>,
    next: u64,
}

impl Numbers {
    /// Returns numbers after all those in use, so that who reads an old index finds no other chunk there.
    fn after(old: &[u64]) -> Result<Self> {
        let next = old.iter().max().map_or(Ok(0), |&last| add(last, 1))?;
        Ok(Self { used: HashSet::new(), next })
    }

    /// Returns the lowest numbers that are free.
    fn lowest(old: &[u64]) -> Result<Self> {
        Ok(Self { used: old.iter().copied().collect(), next: 0 })
    }

    fn take(&mut self) -> Result<u64> {
        while self.used.contains(&self.next) {
            increase(&mut self.next, 1)?;
        }
        let number = self.next;
        increase(&mut self.next, 1)?;
        Ok(number)
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
            let steps = schunk.plan_folder(&folder, Numbers::after).unwrap();
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
    fn numbers(folder: &Path) -> Vec<u64> {
        let mut numbers = chunk_files(folder).unwrap();
        numbers.sort_unstable();
        numbers
    }

    #[test]
    fn numbers_of_chunk_files_stay_where_c_blosc2_opens_the_frame() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("f.b2frame");
        let mut schunk = SChunk::create_sparse(&folder, Params::new(1)).unwrap();
        (0..9).for_each(|i| schunk.append(&[i, 1]).unwrap());
        schunk.commit().unwrap();
        (0..8).for_each(|_| schunk.remove(0).unwrap());
        for i in 0..40 {
            schunk.update(0, &[i, 2]).unwrap();
            schunk.commit().unwrap();
            let frame = schunk.base.as_ref().unwrap();
            assert!(!is_high(frame.offset(0).unwrap(), frame.header().cbytes), "{:?}", numbers(&folder));
            assert_eq!((numbers(&folder).len(), content(&folder).0), (1, vec![i, 2]));
        }
    }

    #[test]
    fn every_cut_of_a_change_of_numbers_leaves_the_frame() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("f.b2frame");
        let mut schunk = SChunk::create_sparse(&folder, Params::new(1)).unwrap();
        (0..90).for_each(|i| schunk.append(&[i; 400].map(|byte| byte | 1)).unwrap());
        (0..90).for_each(|i| schunk.update(i, &[u8::try_from(i).unwrap(), 3].repeat(200)).unwrap());
        schunk.commit().unwrap();
        (0..88).for_each(|_| schunk.remove(1).unwrap());
        let steps = schunk.plan_folder(&folder, Numbers::after).unwrap();
        let hold = schunk.hold().unwrap();
        let hold = apply_folder(&folder, &steps, Some(hold)).unwrap().unwrap();
        schunk.reopen(None, hold).unwrap();
        assert_eq!(numbers(&folder), [0, 89]);
        schunk.entries = schunk.high().unwrap();
        let steps = schunk.plan_folder(&folder, Numbers::lowest).unwrap();
        let old = content(&folder);
        cut(&folder, &steps, &|left| assert!(content(left) == old, "another frame"));
        schunk.lower(&folder).unwrap();
        assert_eq!((numbers(&folder), content(&folder)), (vec![0, 1], old));
    }
}
