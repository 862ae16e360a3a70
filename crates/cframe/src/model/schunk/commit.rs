//! Writing a super-chunk completely, or writing its changes to its place.

use std::path::Path;
use std::sync::Arc;

use sciformats_core::arith::{add, increase, sub};
use sciformats_core::commit::{Session, Syncs};
use sciformats_core::error::Within;
use sciformats_core::storage::{Durability, Replacement};
use sciformats_core::{Clash, Error, Result, WriteAt};

use super::SChunk;
use super::home::{Hold, Home};
use crate::model::compress::special;
use crate::model::frame::Frame;
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
            Home::Folder(path) => {
                self.check_tail(&path)?;
                self.commit_folder(&path)
            }
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
            Home::Folder(path) => self.commit_folder(&path),
            Home::Memory => self.commit(),
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
    pub(super) fn stored(&self, entry: &Entry, chunksize: ChunkSize) -> Result<Stored> {
        match (&entry.place, &self.base) {
            (Place::New(bytes), _) => layout::stored(bytes, (chunksize, self.header.typesize), self.limits()),
            (Place::Stored(offset @ Offset::Special(_)), _) if matches!(chunksize, ChunkSize::Fixed(_)) => {
                Ok(Stored::Nothing(*offset))
            }
            (Place::Stored(offset), Some(base)) => {
                let chunk = base.chunk_of(*offset, Some(entry.nbytes))?;
                let bytes = Arc::new(chunk.stored()?.into_owned());
                layout::stored(&bytes, (chunksize, self.header.typesize), self.limits())
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

    /// Checks that a commit removes nothing of somebody else behind the frame, unless an earlier one of this writer has found out.
    fn check_tail(&self, path: &Path) -> Result<()> {
        match self.base.as_ref().filter(|_| !self.knows_tail) {
            Some(frame) => frame.check_tail().within(Some(path), None),
            None => Ok(()),
        }
    }

    fn commit_file(&mut self, path: &Path) -> Result<()> {
        self.params.check()?;
        self.check_tail(path)?;
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
    pub(super) fn hold(&self) -> Result<Hold> {
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
    pub(super) fn hold_if_there(&self) -> Result<Option<Hold>> {
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

    /// Reads what has been written, before others can change it.
    pub(super) fn reopen(&mut self, space: Option<Space>, mut hold: Hold) -> Result<()> {
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

/// Turns chunks that stored nothing but their kind into ordinary ones. If sizes vary, nothing else contains their length.
pub(super) fn store_specials(entries: &mut [Entry], typesize: u32) -> Result<()> {
    for entry in entries {
        if let Place::Stored(Offset::Special(kind)) = entry.place {
            entry.place = Place::New(Arc::new(special(kind, &[], (typesize, 0), entry.nbytes)?));
        }
    }
    Ok(())
}
