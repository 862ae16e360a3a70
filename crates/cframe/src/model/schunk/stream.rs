//! Writing a frame chunk by chunk, without keeping the chunks in memory.

use std::path::{Path, PathBuf};

use sciformats_core::arith::{add, increase, present, sub};
use sciformats_core::storage::{Durability, FileStorage, Replacement};
use sciformats_core::{Result, WriteAt, bound};

use super::SChunk;
use super::commit::put;
use super::folder::{chunk_files, folder_error, is_high, may_be_in_place, sync_names};
use super::home::{Hold, Home};
use crate::model::frame::{SPARSE_INDEX, chunk_file};
use crate::model::layout;
use crate::model::source::Source;
use crate::spec::chunk_header::Special;
use crate::spec::frame_header::FrameHeader;
use crate::spec::offset::Offset;
use crate::spec::trailer::Trailer;

/// The number of bytes that are read or written at a time.
const PIECE: u64 = 1 << 20;

/// A frame that is being written to its place, where it will replace an existing one. If this is dropped before the end, the old
/// frame stays.
pub(crate) struct Stream {
    hold: Option<Hold>,
    header: FrameHeader,
    trailer: Trailer,
    out: Out,
    offsets: Vec<Offset>,
}

enum Out {
    File(Contiguous),
    Folder(Folder),
}

impl Stream {
    /// Begins a frame of `chunks` chunks. `header` declares their common properties, their size, and the number of bytes of all
    /// of them.
    pub(crate) fn begin(
        target: &Path,
        sparse: bool,
        (header, trailer): (FrameHeader, Trailer),
        chunks: usize,
    ) -> Result<Self> {
        let home = if sparse { Home::Folder(target.into()) } else { Home::File(target.into()) };
        let hold = home.hold_if_there()?;
        let kind = u8::from(sparse);
        let header = FrameHeader {
            frame_type: (header.frame_type & 0xf0) | kind,
            has_vlmeta: !trailer.layers.is_empty(),
            ..header
        };
        let out = if sparse {
            Out::Folder(Folder::begin(target)?)
        } else {
            let start = header.encode()?.len() as u64;
            Out::File(Contiguous {
                file: Replacement::of_held(target)?,
                start,
                end: start,
                waiting: Vec::new(),
            })
        };
        Ok(Self { hold, header, trailer, out, offsets: vec![Offset::Special(Special::Zeros); chunks] })
    }

    pub(crate) fn header(&self) -> &FrameHeader {
        &self.header
    }

    /// Stores nothing but the kind of chunk `index`.
    pub(crate) fn kind(&mut self, index: u64, kind: Special) {
        self.place(index, Offset::Special(kind));
    }

    /// Stores that chunk `index` is the same as another one.
    pub(crate) fn place(&mut self, index: u64, offset: Offset) {
        let entry = usize::try_from(index).ok().and_then(|index| self.offsets.get_mut(index));
        if let Some(entry) = entry {
            *entry = offset;
        }
    }

    /// Copies chunk `index` from `source`. `go_on` is called before each piece, and can end the copy.
    pub(crate) fn chunk(
        &mut self,
        index: u64,
        source: &Source<'_>,
        go_on: &dyn Fn() -> Result<()>,
    ) -> Result<Offset> {
        let offset = self.out.begin_chunk()?;
        let mut at = 0;
        while at < source.len() {
            go_on()?;
            let len = sub(source.len(), at)?.min(PIECE);
            self.out.append(at, &source.read(at, len)?)?;
            increase(&mut at, len)?;
        }
        self.place(index, offset);
        Ok(offset)
    }

    /// Writes the index and the header, and puts the frame in its place.
    pub(crate) fn finish(self) -> Result<()> {
        let Self { hold, mut header, trailer, out, offsets, .. } = self;
        let mut index = layout::encode_offsets(&offsets, header.nbytes)?;
        index.extend(trailer.encode()?);
        let index_len = index.len() as u64;
        let mut lowered = None;
        let mut hold = match out {
            Out::File(mut out) => {
                // A frame without bytes has no chunks.
                header.cbytes = if header.nbytes == 0 { 0 } else { sub(out.end, out.start)? };
                let index_at = add(out.start, header.cbytes)?;
                header.frame_len = add(index_at, index_len)?;
                out.flush()?;
                out.file.write_at(index_at, &index)?;
                out.file.write_at(0, &header.encode()?)?;
                put(out.file, Durability::Process, hold)?
            }
            Out::Folder(out) => {
                header.cbytes = out.stored;
                lowered = offsets.iter().any(|&at| is_high(at, out.stored)).then(|| out.path.clone());
                let mut bytes = header.encode()?;
                header.frame_len = add(bytes.len() as u64, index_len)?;
                bytes = header.encode()?;
                bytes.extend(index);
                out.finish(&bytes, hold)?
            }
        };
        hold.advance()?;
        drop(hold);
        // The frame is in its place, and whole. The next commit tries this again.
        if let Some(folder) = lowered {
            let _ = SChunk::open(&folder).and_then(|mut schunk| schunk.lower(&folder));
        }
        Ok(())
    }
}

impl Out {
    fn begin_chunk(&mut self) -> Result<Offset> {
        match self {
            Self::File(out) => sub(out.end, out.start).map(Offset::At),
            Self::Folder(out) => out.begin_chunk().map(Offset::At),
        }
    }

    fn append(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        match self {
            Self::File(out) => out.append(bytes),
            Self::Folder(out) => out.append(at, bytes),
        }
    }
}

/// Chunks in the file of the frame, one after another.
struct Contiguous {
    file: Replacement,
    /// The offset of the first chunk.
    start: u64,
    end: u64,
    /// The last bytes before `end`, which are not written yet.
    waiting: Vec<u8>,
}

impl Contiguous {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        if bound::sum(self.waiting.len(), bytes.len()) as u64 > PIECE {
            self.flush()?;
        }
        if bytes.len() as u64 >= PIECE {
            self.file.write_at(self.end, bytes)?;
        } else {
            self.waiting.extend_from_slice(bytes);
        }
        increase(&mut self.end, bytes.len() as u64)
    }

    fn flush(&mut self) -> Result<()> {
        let at = sub(self.end, self.waiting.len() as u64)?;
        self.file.write_at(at, &self.waiting)?;
        self.waiting.clear();
        Ok(())
    }
}

/// Chunks in files of a folder, with numbers that are free.
struct Folder {
    path: PathBuf,
    next: u64,
    /// The numbers of the files of the existing frame.
    old: Vec<u64>,
    replaces: bool,
    file: Option<FileStorage>,
    stored: u64,
    created: Created,
}

/// Files that are removed unless the frame is finished. Nothing refers to files that cannot be removed.
#[derive(Default)]
struct Created {
    files: Vec<PathBuf>,
    folder: Option<PathBuf>,
}

impl Drop for Created {
    fn drop(&mut self) {
        self.files.iter().for_each(|path| drop(std::fs::remove_file(path)));
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

impl Folder {
    fn begin(path: &Path) -> Result<Self> {
        let is_new = !path.exists();
        std::fs::create_dir_all(path).map_err(|e| folder_error("create", e, path))?;
        let created = Created { files: Vec::new(), folder: is_new.then(|| path.into()) };
        let old = chunk_files(path).map_err(|e| folder_error("list", e, path))?;
        Ok(Self {
            path: path.into(),
            next: old.iter().max().map_or(Ok(0), |&last| add(last, 1))?,
            old,
            replaces: path.join(SPARSE_INDEX).exists(),
            file: None,
            stored: 0,
            created,
        })
    }

    fn begin_chunk(&mut self) -> Result<u64> {
        self.complete()?;
        let number = self.next;
        let path = self.path.join(chunk_file(number));
        self.file = Some(FileStorage::create_new(&path)?);
        self.created.files.push(path);
        increase(&mut self.next, 1)?;
        Ok(number)
    }

    fn append(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        increase(&mut self.stored, bytes.len() as u64)?;
        present(self.file.as_mut(), "file of a chunk")?.write_at(at, bytes)
    }

    /// Ends the file of a chunk. If there is an old frame that could be lost, the file reaches the device before the new index
    /// does.
    fn complete(&mut self) -> Result<()> {
        match self.file.take() {
            Some(mut file) if self.replaces => file.sync(),
            _ => Ok(()),
        }
    }

    fn finish(mut self, index: &[u8], hold: Option<Hold>) -> Result<Hold> {
        self.complete()?;
        if self.replaces {
            sync_names(&self.path).map_err(|e| folder_error("sync", e, &self.path))?;
        }
        let mut file = Replacement::of_held(self.path.join(SPARSE_INDEX))?;
        file.write_at(0, index)?;
        let put = put(file, if self.replaces { Durability::Power } else { Durability::Process }, hold);
        if put.is_ok() || may_be_in_place(&self.path, index) {
            self.created.files.clear();
            self.created.folder = None;
        }
        let hold = put?;
        // The frame is the new one already. A file that cannot be removed does no harm, and the next commit tries it again.
        for number in &self.old {
            let _ = std::fs::remove_file(self.path.join(chunk_file(*number)));
        }
        Ok(hold)
    }
}
