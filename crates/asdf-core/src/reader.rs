//! Opening and reading files.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sciformats_core::commit::journal;
use sciformats_core::fault::FaultKind;
use sciformats_core::storage::{FileStorage, Mapped, zeroed};
use sciformats_core::{Error, Fault, ReadAt, Result};

use crate::array::Array;
use crate::codec::{self, Compression};
use crate::model::layout::{BlockEntry, Layout};
use crate::model::ndarray;
use crate::options::OpenOptions;
use crate::pieces;
use crate::spec::header_line::Version;
use crate::yaml::{NodeId, Tree};

/// Blocks from this size on are decoded while they are being read: below it another thread costs more than it saves.
const OVERLAPPED: u64 = 1 << 20;

/// An open file: its tree, and its blocks on demand.
pub struct Asdf {
    pub(crate) storage: Arc<dyn ReadAt>,
    pub(crate) layout: Layout,
    pub(crate) tree: Tree,
    pub(crate) options: OpenOptions,
    pub(crate) path: Option<PathBuf>,
    /// The compressed block that was decoded last: slabs of one array are often read one after another.
    decoded: Mutex<Option<(usize, Arc<Vec<u8>>)>>,
    others: Mutex<HashMap<PathBuf, Arc<Asdf>>>,
}

impl fmt::Debug for Asdf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asdf")
            .field("path", &self.path)
            .field("blocks", &self.layout.blocks.len())
            .finish_non_exhaustive()
    }
}

impl Asdf {
    /// Opens a file with the default options.
    ///
    /// # Errors
    /// `Io`; `Malformed`, `LimitExceeded` or `Unsupported` for a file that cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// Opens a file.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        let storage: Arc<dyn ReadAt> = if options.mapped {
            Arc::new(journal::view(Mapped::open(path)?)?)
        } else {
            Arc::new(journal::view(FileStorage::open(path)?)?)
        };
        Self::read(storage, options, Some(path.into()))
    }

    /// Reads a file that is in memory.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self> {
        Self::from_storage(bytes.into(), &OpenOptions::default())
    }

    /// Reads a file from any storage.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_storage(storage: impl ReadAt + 'static, options: &OpenOptions) -> Result<Self> {
        Self::read(Arc::new(journal::view(storage)?), options, None)
    }

    fn read(storage: Arc<dyn ReadAt>, options: &OpenOptions, path: Option<PathBuf>) -> Result<Self> {
        let layout = Layout::locate(&*storage, &options.limits)?;
        let tree = match &layout.tree {
            Some(range) => {
                let size =
                    options.limits.memory("bytes of the tree", range.end.saturating_sub(range.start))?;
                Tree::parse_at(&storage.read_at(range.start, size)?, range.start, &options.limits)?
            }
            None => Tree::new(),
        };
        let (decoded, others) = (Mutex::default(), Mutex::default());
        Ok(Self { storage, layout, tree, options: *options, path, decoded, others })
    }

    /// The tree; an empty mapping if the file has none.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Whether the file has a tree.
    pub fn has_tree(&self) -> bool {
        self.layout.tree.is_some()
    }

    /// Where everything is.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The version of the standard that the file names.
    pub fn standard(&self) -> Option<Version> {
        self.layout.header.standard
    }

    /// The path it was opened by.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The node at a path; see [`Tree::get`].
    pub fn get(&self, path: &str) -> Option<NodeId> {
        self.tree.get(path)
    }

    /// The blocks in their order.
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = Block<'_>> {
        self.layout.blocks.iter().enumerate().map(|(index, entry)| Block { file: self, index, entry })
    }

    /// A block by its index.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn block(&self, index: usize) -> Result<Block<'_>> {
        let entry =
            self.layout.blocks.get(index).ok_or_else(|| Error::not_found("block", index.to_string()))?;
        Ok(Block { file: self, index, entry })
    }

    /// The array at a path.
    ///
    /// ```
    /// let file = asdf_core::Asdf::from_bytes("#ASDF 1.0.0\n%YAML 1.1\n---\na: !<tag:stsci.edu:asdf/core/ndarray-1.1.0> [1, 2]\n...\n")?;
    /// assert_eq!(file.array("a")?.read::<i64>()?, [1, 2]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NotFound`; as [`array_at`](Self::array_at).
    pub fn array(&self, path: &str) -> Result<Array<'_>> {
        self.array_at(self.get(path).ok_or_else(|| Error::not_found("node", path))?)
    }

    /// The array that a node describes, whatever its tag.
    ///
    /// # Errors
    /// `Malformed` if the node describes none, or one that its block has no room for; `Usage` if it lies in another
    /// file that may not be opened.
    pub fn array_at(&self, node: NodeId) -> Result<Array<'_>> {
        Array::new(self, node)
    }

    /// Whether a node is an array by its tag.
    pub fn is_array(&self, node: NodeId) -> bool {
        ndarray::is_ndarray(&self.tree, node)
    }

    /// The other file that a URI names, opened if the options allow it; of one URI always the same file.
    ///
    /// # Errors
    /// `Usage` if it may not be opened; as [`open`](Self::open).
    pub fn external(&self, uri: &str) -> Result<Arc<Asdf>> {
        let name = uri.split('#').next().unwrap_or_default();
        let path = self.options.external.resolve(self.path(), name)?;
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = others.get(&path) {
            return Ok(known.clone());
        }
        let other = Arc::new(Self::open_with(&path, &self.options)?);
        others.insert(path, other.clone());
        Ok(other)
    }

    /// What a mapping with `$ref` leads to: another file, or `None` for this one, and the node in it.
    ///
    /// # Errors
    /// `Usage` if `node` is no reference, or names a file that may not be opened; `NotFound` if nothing is there.
    pub fn reference(&self, node: NodeId) -> Result<(Option<Arc<Asdf>>, NodeId)> {
        let target = self.tree.child(node, "$ref").and_then(|target| self.tree.node(target).text());
        let uri = target.ok_or_else(|| Error::usage("node", "is no reference"))?;
        let (name, pointer) = uri.split_once('#').unwrap_or((uri, ""));
        let pointer = crate::options::percent_decoded(pointer);
        let missing = || Error::not_found("referenced node", uri);
        if name.is_empty() {
            return Ok((None, self.tree.get(&pointer).ok_or_else(missing)?));
        }
        let other = self.external(name)?;
        let node = other.tree.get(&pointer).ok_or_else(missing)?;
        Ok((Some(other), node))
    }

    /// The data of a block: borrowed if it is stored as it is and in memory.
    pub(crate) fn block_data(&self, index: usize) -> Result<Data<'_>> {
        let block = self.block(index)?;
        if block.compression() == Compression::None {
            let size = usize::try_from(block.entry.stored).unwrap_or(usize::MAX);
            return self.storage.read_at(block.entry.data_offset(), size).map(Data::Stored);
        }
        let cached = || self.decoded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, data)) = &*cached()
            && *known == index
        {
            return Ok(Data::Decoded(data.clone()));
        }
        let data = Arc::new(block.decode()?);
        *cached() = Some((index, data.clone()));
        Ok(Data::Decoded(data))
    }
}

/// The data of a block.
pub(crate) enum Data<'a> {
    Stored(Cow<'a, [u8]>),
    Decoded(Arc<Vec<u8>>),
}

impl std::ops::Deref for Data<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Stored(bytes) => bytes,
            Self::Decoded(bytes) => bytes,
        }
    }
}

/// A block of an open file.
#[derive(Clone, Copy)]
pub struct Block<'a> {
    file: &'a Asdf,
    index: usize,
    entry: &'a BlockEntry,
}

impl fmt::Debug for Block<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block").field("index", &self.index).field("entry", self.entry).finish()
    }
}

/// What a block's checksum says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// There is none, or the block is streamed.
    Absent,
    /// It is that of the stored bytes, as the standard says.
    Stored,
    /// It is that of the decoded bytes, as older writers made it.
    Decoded,
    /// It is neither: the block, or its checksum, is damaged.
    Wrong,
}

impl<'a> Block<'a> {
    /// Its index.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Its header, and where it is.
    pub fn entry(&self) -> &'a BlockEntry {
        self.entry
    }

    /// How it is compressed.
    pub fn compression(&self) -> Compression {
        Compression::from_label(self.entry.header.compression.0)
    }

    /// Bytes stored.
    pub fn stored_size(&self) -> u64 {
        self.entry.stored
    }

    /// Bytes after decoding.
    pub fn data_size(&self) -> u64 {
        self.entry.data_size()
    }

    /// Its bytes as stored.
    ///
    /// # Errors
    /// `Io`.
    pub fn stored(&self) -> Result<Cow<'a, [u8]>> {
        let size = usize::try_from(self.entry.stored).unwrap_or(usize::MAX);
        self.file.storage.read_at(self.entry.data_offset(), size)
    }

    /// Its data, decoded.
    ///
    /// # Errors
    /// `Malformed` if the stored bytes do not decode to the declared size; `Unsupported`, `LimitExceeded`, `Io`.
    pub fn data(&self) -> Result<Cow<'a, [u8]>> {
        if self.compression() == Compression::None { self.stored() } else { self.decode().map(Cow::Owned) }
    }

    fn decode(&self) -> Result<Vec<u8>> {
        let size =
            self.file.options.limits.memory("bytes of the decoded block", self.entry.header.data_size)?;
        let (storage, at) = (&*self.file.storage, self.entry.data_offset());
        if let Some(error) = self.compression().obstacle() {
            return Err(codec::Problem::Unsupported(error).at(at));
        }
        let mut out = zeroed(size)?;
        let threads = self.file.options.thread_count();
        let is_large = self.entry.stored >= OVERLAPPED && !cfg!(target_family = "wasm");
        if is_large && threads > 1 && storage.as_slice().is_none() && self.compression().is_stream() {
            let decoded = pieces::overlapped(storage, at..at.saturating_add(self.entry.stored), |stored| {
                codec::decode_stream(self.compression(), stored, &mut out)
            })?;
            decoded.map_err(|problem| problem.at(at))?;
            return Ok(out);
        }
        codec::decode(self.compression(), &self.stored()?, &mut out, threads)
            .map_err(|problem| problem.at(at))?;
        Ok(out)
    }

    /// Compares the checksum with the stored bytes, and if they differ with the decoded ones.
    ///
    /// # Errors
    /// `Io`. A block that cannot be decoded has a wrong checksum.
    pub fn checksum(&self) -> Result<Checksum> {
        let expected = self.entry.header.checksum;
        if expected == [0; 16] || self.entry.header.is_streamed() {
            return Ok(Checksum::Absent);
        }
        if self.md5_of_stored()? == expected {
            return Ok(Checksum::Stored);
        }
        if self.compression() != Compression::None
            && let Ok(data) = self.decode()
            && codec::md5(&data) == expected
        {
            return Ok(Checksum::Decoded);
        }
        Ok(Checksum::Wrong)
    }

    /// Piece by piece: a block may be larger than the memory.
    fn md5_of_stored(&self) -> Result<[u8; 16]> {
        const PIECE: u64 = 1 << 20;
        let mut sum = codec::Md5Sum::default();
        let (mut at, end) =
            (self.entry.data_offset(), self.entry.data_offset().saturating_add(self.entry.stored));
        while at < end {
            let size = PIECE.min(end.saturating_sub(at));
            sum.update(&self.file.storage.read_at(at, usize::try_from(size).unwrap_or(usize::MAX))?);
            at = at.saturating_add(size);
        }
        Ok(sum.finish())
    }

    /// Fails if the checksum is wrong.
    ///
    /// # Errors
    /// `Malformed` with the first halves of both sums; `Io`.
    pub fn check(&self) -> Result<Checksum> {
        match self.checksum()? {
            Checksum::Wrong => {
                let half = |sum: [u8; 16]| sum.first_chunk::<8>().map_or(0, |half| u64::from_be_bytes(*half));
                let kind = FaultKind::Checksum {
                    stored: half(self.entry.header.checksum),
                    computed: half(self.md5_of_stored()?),
                };
                Err(Fault::new("checksum", kind).at("block header", self.entry.offset.saturating_add(38)))
            }
            right => Ok(right),
        }
    }
}
