//! Opening and reading of files.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sciformats_core::arith::{add, fit};
use sciformats_core::commit::journal;
use sciformats_core::error::Within;
use sciformats_core::fault::FaultKind;
use sciformats_core::limits::within;
use sciformats_core::storage::{length, zeroed};
use sciformats_core::{Error, Fault, ReadAt, Result, bound};

use crate::array::Array;
use crate::codec::{self, Compression};
use crate::model::layout::{BlockEntry, Layout};
use crate::model::located::Located;
use crate::model::ndarray::{self, NdArray};
use crate::options::{self, OpenOptions};
use crate::pieces;
use crate::spec::header_line::Version;
use crate::yaml::{NodeId, Tree};

/// Blocks of at least this size are decoded while they are read. For smaller blocks, another thread costs more than it saves.
const OVERLAPPED: u64 = 1 << 20;

/// An open file with its tree. Blocks are read on demand.
///
/// ```
/// use asdf_core::{Asdf, Version};
///
/// # let mut document = asdf_core::Document::new();
/// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
/// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
/// assert_eq!(file.standard(), Some(Version::new(1, 6, 0)));
/// assert_eq!(file.array("image")?.shape(), [2, 3]);
/// assert_eq!(file.blocks().map(|block| block.data_size()).sum::<u64>(), 24);
/// # Ok::<(), asdf_core::Error>(())
/// ```
pub struct Asdf {
    pub(crate) storage: Arc<dyn ReadAt>,
    pub(crate) located: Located,
    pub(crate) tree: Tree,
    pub(crate) options: OpenOptions,
    pub(crate) path: Option<PathBuf>,
    /// The compressed block that was decoded last, because several slabs of one array are often read one after another.
    decoded: Mutex<Option<(usize, Arc<Vec<u8>>)>>,
    others: Mutex<HashMap<PathBuf, Arc<Asdf>>>,
    /// The array that was described last: several things are asked of one array after another.
    described: Mutex<Option<(NodeId, NdArray)>>,
}

impl fmt::Debug for Asdf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asdf")
            .field("path", &self.path)
            .field("blocks", &self.located.count())
            .finish_non_exhaustive()
    }
}

impl Asdf {
    /// Opens a file with the default options.
    ///
    /// ```no_run
    /// let file = asdf_core::Asdf::open("image.asdf")?;
    /// let target: String = file.tree().get_as("meta/target")?;
    /// let image: Vec<f32> = file.array("image")?.read()?;
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`; `Malformed`, `LimitExceeded` or `Unsupported` if the file cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// Opens a file.
    ///
    /// ```no_run
    /// use asdf_core::{Access, Asdf, OpenOptions};
    ///
    /// // SAFETY: nobody edits the file meanwhile, so it may be mapped.
    /// let mapped = OpenOptions::default().with_access(unsafe { Access::mapped() });
    /// let file = Asdf::open_with("image.asdf", &mapped)?;
    /// if let Some(image) = file.array("image")?.as_slice::<f32>() {
    ///     println!("{}", image.iter().sum::<f32>());
    /// }
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        let storage = options.external.open(path, options.access)?;
        let storage = journal::view(storage).within(Some(path), None)?;
        Self::read(Arc::new(storage), options, Some(path.into())).within(Some(path), None)
    }

    /// Opens a file in memory.
    ///
    /// ```
    /// use asdf_core::Asdf;
    ///
    /// let file = Asdf::from_bytes("#ASDF 1.0.0\n%YAML 1.1\n---\ntarget: M31\n...\n")?;
    /// assert_eq!(file.tree().get_as::<String>("target")?, "M31");
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self> {
        Self::from_storage(bytes.into(), &OpenOptions::default())
    }

    /// Opens a file in any storage.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use asdf_core::{Asdf, OpenOptions};
    ///
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// let shared = Arc::new(document.to_bytes()?);
    /// let file = Asdf::from_storage(shared, &OpenOptions::default())?;
    /// assert_eq!(file.array("image")?.len(), 6);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn from_storage(storage: impl ReadAt + 'static, options: &OpenOptions) -> Result<Self> {
        Self::read(Arc::new(journal::view(storage)?), options, None)
    }

    fn read(storage: Arc<dyn ReadAt>, options: &OpenOptions, path: Option<PathBuf>) -> Result<Self> {
        let located = Located::find(&*storage, &options.limits)?;
        let tree = match located.tree() {
            Some(range) => {
                let size = options.limits.memory("bytes of the tree", length(range))?;
                Tree::parse_at(&storage.read_at(range.start, size)?, range.start, &options.limits)?
            }
            None => Tree::new(),
        };
        let (decoded, others, described) = (Mutex::default(), Mutex::default(), Mutex::default());
        Ok(Self { storage, located, tree, options: options.clone(), path, decoded, others, described })
    }

    /// Continues with the file at a path, in which everything has the same position as before.
    pub(crate) fn reopen(&mut self, path: &Path) -> Result<()> {
        self.storage = Arc::new(journal::view(self.options.access.open(path)?)?);
        Ok(())
    }

    /// Returns the tree, which is an empty mapping if the file has none.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Returns whether the file has a tree.
    pub fn has_tree(&self) -> bool {
        self.located.tree().is_some()
    }

    /// Returns the positions of all parts of the file. The headers of all blocks are read for this. If a header is damaged, the
    /// blocks end before it, and `unexplained` is its offset.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, NewArray};
    ///
    /// let mut document = Document::new();
    /// document.set_array("flux", NewArray::new(&[1.0f32, 2.0], &[2])?)?;
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// let block = &file.layout().blocks[0];
    /// assert_eq!((block.data_size(), block.data_offset()), (8, block.offset + block.header.size()));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn layout(&self) -> &Layout {
        self.located.layout(&*self.storage)
    }

    /// Returns the version of the standard that the file declares.
    pub fn standard(&self) -> Option<Version> {
        self.located.header().standard
    }

    /// Returns the path by which it was opened.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the node at a path; see [`Tree::get`].
    ///
    /// ```
    /// use asdf_core::Asdf;
    ///
    /// let file = Asdf::from_bytes("#ASDF 1.0.0\n%YAML 1.1\n---\nmeta: {filters: [red, blue]}\n...\n")?;
    /// let node = file.get("meta/filters/1");
    /// assert_eq!(node.and_then(|node| file.tree().node(node).text()), Some("blue"));
    /// assert_eq!(file.get("meta/filters/2"), None);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn get(&self, path: &str) -> Option<NodeId> {
        self.tree.get(path)
    }

    /// Returns the number of blocks according to the headers, or to a block index that agrees with the first and the last of
    /// them.
    ///
    /// ```
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(file.block_count(), 1); // no header is read for it
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn block_count(&self) -> usize {
        self.located.count()
    }

    /// Returns the blocks in their order. All headers are read for this, as by [`layout`](Self::layout).
    ///
    /// ```
    /// use asdf_core::Compression;
    ///
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// for block in file.blocks() {
    ///     assert_eq!((block.index(), block.compression(), block.data_size()), (0, Compression::None, 24));
    /// }
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = Block<'_>> {
        let blocks = self.layout().blocks.iter().enumerate();
        blocks.map(|(index, entry)| Block { file: self, index, entry: *entry })
    }

    /// Returns the block with this index.
    ///
    /// ```
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(file.block(0)?.data()?.len(), 24);
    /// assert!(file.block(1).is_err());
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NotFound`; `Malformed` if its header or an earlier one is damaged; `Io`.
    pub fn block(&self, index: usize) -> Result<Block<'_>> {
        let entry = self.located.block(&*self.storage, index)?;
        let entry = entry.ok_or_else(|| Error::not_found("block", index.to_string()))?;
        Ok(Block { file: self, index, entry })
    }

    /// Returns the array at a path.
    ///
    /// ```
    /// let file = asdf_core::Asdf::from_bytes("#ASDF 1.0.0\n%YAML 1.1\n---\na: !<tag:stsci.edu:asdf/core/ndarray-1.1.0> [1, 2]\n...\n")?;
    /// assert_eq!(file.array("a")?.read::<i64>()?, [1, 2]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NotFound` with the most similar paths; and those of [`array_at`](Self::array_at).
    pub fn array(&self, path: &str) -> Result<Array<'_>> {
        let node = self.get(path).ok_or_else(|| self.tree.not_found(path))?;
        Array::new(self, node).within(self.path(), Some(path))
    }

    /// Returns the array that a node describes, whatever its tag.
    ///
    /// ```
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// for node in file.tree().reachable() {
    ///     if file.is_array(node) {
    ///         assert_eq!(file.array_at(node)?.shape(), [2, 3]);
    ///     }
    /// }
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `WrongType` if the node is something else; `Malformed` if it has the tag of an array but does not describe one, or if the
    /// array does not fit its block; `Usage` if the array is in another file that may not be opened.
    pub fn array_at(&self, node: NodeId) -> Result<Array<'_>> {
        Array::new(self, node).map_err(|error| self.within(node, error))
    }

    /// Adds the file and the path of a node to an error.
    pub(crate) fn within(&self, node: NodeId, error: Error) -> Error {
        match error.place() {
            Some(place) if place.object().is_none() => {
                error.within(self.path(), Some(&self.tree.path_of(node)))
            }
            _ => error,
        }
    }

    /// Returns whether a node has the tag of an array.
    ///
    /// ```
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// let arrays = file.tree().reachable().into_iter().filter(|&node| file.is_array(node));
    /// assert_eq!(arrays.count(), 1);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn is_array(&self, node: NodeId) -> bool {
        ndarray::is_ndarray(&self.tree, node)
    }

    /// Returns the other file to which a URI refers, if the options allow it to be opened. The same URI always returns the same
    /// file.
    ///
    /// ```
    /// use asdf_core::{Asdf, External, OpenOptions};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("image.asdf");
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// document.explode(&path)?; // `image.asdf` and `image0000.asdf`
    /// let file = Asdf::open_with(&path, &OpenOptions::default().with_external(External::SameFolder))?;
    /// assert_eq!(file.external("image0000.asdf")?.block(0)?.data_size(), 24);
    /// assert!(file.external("../elsewhere.asdf").is_err());
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if it may not be opened; and those of [`open`](Self::open).
    pub fn external(&self, uri: &str) -> Result<Arc<Asdf>> {
        let name = uri.split('#').next().unwrap_or_default();
        let path = options::resolve(&self.options.external, self.path(), name)?;
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = others.get(&path) {
            return Ok(known.clone());
        }
        let other = Arc::new(Self::open_with(&path, &self.options)?);
        others.insert(path, other.clone());
        Ok(other)
    }

    /// Returns the target of a mapping with `$ref`: another file, or `None` for this file, and the node in it.
    ///
    /// ```
    /// use asdf_core::{Asdf, Error};
    ///
    /// let file = Asdf::from_bytes("#ASDF 1.0.0\n%YAML 1.1\n---\nflux: 1.5\nsame: {$ref: '#/flux'}\n...\n")?;
    /// let node = file.get("same").ok_or(Error::not_found("node", "same"))?;
    /// let (other, target) = file.reference(node)?;
    /// assert!(other.is_none()); // in this file
    /// assert_eq!(file.tree().node(target).text(), Some("1.5"));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if `node` is not a reference, or refers to a file that may not be opened; `NotFound` if the target does not exist.
    pub fn reference(&self, node: NodeId) -> Result<(Option<Arc<Asdf>>, NodeId)> {
        let target = self.tree.child(node, "$ref").and_then(|target| self.tree.node(target).text());
        let uri = target
            .ok_or_else(|| Error::usage("node", "is not a mapping with `$ref`, so it refers to nothing"))?;
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

    /// Returns what a node says about an array.
    pub(crate) fn described(&self, node: NodeId) -> Result<NdArray> {
        // Inline elements are not copied to be kept.
        if !self.tree.is_apart(node) {
            return NdArray::from_node(&self.tree, node);
        }
        let known = self.described.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, array)) = known.as_ref().filter(|(known, _)| *known == node) {
            return Ok(array.clone());
        }
        drop(known);
        let array = NdArray::from_node(&self.tree, node)?;
        *self.described.lock().unwrap_or_else(PoisonError::into_inner) = Some((node, array.clone()));
        Ok(array)
    }

    /// Returns the data of a block. It is borrowed if it is uncompressed and in memory.
    pub(crate) fn block_data(&self, index: usize) -> Result<Data<'_>> {
        let block = self.block(index)?;
        if block.compression() == Compression::None {
            let size = within("bytes of a block", block.entry.stored, u64::MAX)?;
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
///
/// ```
/// use asdf_core::{Checksum, Compression};
///
/// # let mut document = asdf_core::Document::new();
/// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
/// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
/// let block = file.block(0)?;
/// assert_eq!((block.compression(), block.stored_size(), block.data_size()), (Compression::None, 24, 24));
/// assert_eq!(block.checksum()?, Checksum::Stored);
/// assert_eq!(block.data()?[..4], 1.0f32.to_ne_bytes());
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Block<'a> {
    file: &'a Asdf,
    index: usize,
    entry: BlockEntry,
}

impl fmt::Debug for Block<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block").field("index", &self.index).field("entry", &self.entry).finish()
    }
}

/// The result of checking a block's checksum.
///
/// ```
/// use asdf_core::{Asdf, Checksum};
///
/// # let mut document = asdf_core::Document::new();
/// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
/// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
/// let mut bytes = document.to_bytes()?;
/// let at = file.block(0)?.entry().data_offset() as usize;
/// bytes[at] ^= 1; // a flipped bit
/// assert_eq!(file.block(0)?.checksum()?, Checksum::Stored);
/// assert_eq!(Asdf::from_bytes(bytes)?.block(0)?.checksum()?, Checksum::Wrong);
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// There is no checksum, or the block is streamed.
    Absent,
    /// The checksum is that of the stored bytes, as the standard requires.
    Stored,
    /// The checksum is that of the decoded bytes, as older writers computed it.
    Decoded,
    /// The checksum is that of neither, so it or the block is damaged.
    Wrong,
}

impl<'a> Block<'a> {
    /// Returns its index.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns its header and its position.
    pub fn entry(&self) -> BlockEntry {
        self.entry
    }

    /// Returns how it is compressed.
    pub fn compression(&self) -> Compression {
        Compression::from_label(self.entry.header.compression.0)
    }

    /// Returns the number of stored bytes.
    pub fn stored_size(&self) -> u64 {
        self.entry.stored
    }

    /// Returns the number of bytes after decoding.
    pub fn data_size(&self) -> u64 {
        self.entry.data_size()
    }

    /// Returns its bytes as they are stored.
    ///
    /// ```
    /// use asdf_core::{Asdf, Compression, Document};
    ///
    /// let mut document = Document::new();
    /// document.add_block(vec![7; 1000], Compression::Zlib);
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// assert!(file.block(0)?.stored()?.len() < 100);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`; `LimitExceeded` if this machine cannot address as many bytes.
    pub fn stored(&self) -> Result<Cow<'a, [u8]>> {
        let size = within("bytes of a block", self.entry.stored, u64::MAX)?;
        self.file.storage.read_at(self.entry.data_offset(), size)
    }

    /// Returns its decoded data.
    ///
    /// ```
    /// use asdf_core::{Asdf, Compression, Document};
    ///
    /// let mut document = Document::new();
    /// document.add_block(vec![7; 1000], Compression::Zlib);
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(*file.block(0)?.data()?, [7; 1000]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` if the decoded bytes do not have the declared size; `Unsupported`, `LimitExceeded`, `Io`.
    pub fn data(&self) -> Result<Cow<'a, [u8]>> {
        if self.compression() == Compression::None { self.stored() } else { self.decode().map(Cow::Owned) }
    }

    fn decode(&self) -> Result<Vec<u8>> {
        let size =
            self.file.options.limits.memory("bytes of the decoded block", self.entry.header.data_size)?;
        let (storage, at) = (&*self.file.storage, self.entry.data_offset());
        if let Some(error) = self.compression().obstacle() {
            return Err(codec::DecodeError::Unsupported(error).at(at));
        }
        let mut out = zeroed(size)?;
        let threads = self.file.options.thread_count();
        let is_large = self.entry.stored >= OVERLAPPED && !cfg!(target_family = "wasm");
        if is_large && threads > 1 && storage.as_slice().is_none() && self.compression().is_stream() {
            let decoded = pieces::overlapped(storage, at..add(at, self.entry.stored)?, |stored| {
                codec::decode_stream(self.compression(), stored, &mut out, threads)
            })?;
            decoded.map_err(|error| error.at(at))?;
            return Ok(out);
        }
        codec::decode(self.compression(), &self.stored()?, &mut out, threads)
            .map_err(|error| error.at(at))?;
        Ok(out)
    }

    /// Decodes the data piece by piece. A piece has at most 1 MiB, so that a block can be larger than the memory. Blosc is the
    /// exception: it needs all of a block at once.
    ///
    /// ```
    /// use asdf_core::{Asdf, Compression, Document};
    ///
    /// let mut document = Document::new();
    /// document.add_block(vec![7; 3_000_000], Compression::Lz4);
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// let mut sum = 0;
    /// file.block(0)?.for_each_piece(|piece| {
    ///     sum += piece.iter().map(|&byte| u64::from(byte)).sum::<u64>();
    ///     Ok(())
    /// })?;
    /// assert_eq!(sum, 21_000_000);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// An error of `take` ends the work and is returned. Otherwise the errors are those of [`data`](Self::data). If there is an
    /// error, the pieces before it may be wrong as well.
    pub fn for_each_piece(&self, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let (storage, at) = (&*self.file.storage, self.entry.data_offset());
        if !self.compression().is_read_in_pieces() {
            return take(&self.data()?);
        }
        let (size, range) = (self.data_size(), at..add(at, self.entry.stored)?);
        if let Some(error) = self.compression().obstacle() {
            return Err(codec::DecodeError::Unsupported(error).at(at));
        }
        if cfg!(target_family = "wasm") {
            return codec::decode_pieces(self.compression(), &mut &*self.stored()?, (size, at), &mut take);
        }
        pieces::overlapped(storage, range, |stored| {
            codec::decode_pieces(self.compression(), stored, (size, at), &mut take)
        })?
    }

    /// Compares the checksum with the stored bytes, and if they differ with the decoded ones.
    ///
    /// ```
    /// use asdf_core::Checksum;
    ///
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(file.block(0)?.checksum()?, Checksum::Stored);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`. If a block cannot be decoded, this is not an error, and the checksum counts as wrong.
    pub fn checksum(&self) -> Result<Checksum> {
        let expected = self.entry.header.checksum;
        if expected == [0; 16] || self.entry.header.is_streamed() {
            return Ok(Checksum::Absent);
        }
        if self.md5_of_stored()? == expected {
            return Ok(Checksum::Stored);
        }
        if self.compression() != Compression::None {
            let mut sum = codec::Md5Sum::default();
            let decoded = self.for_each_piece(|piece| {
                sum.update(piece);
                Ok(())
            });
            if decoded.is_ok() && sum.finish() == expected {
                return Ok(Checksum::Decoded);
            }
        }
        Ok(Checksum::Wrong)
    }

    /// The block is read in pieces, because it may be larger than the memory.
    fn md5_of_stored(&self) -> Result<[u8; 16]> {
        const PIECE: u64 = 1 << 20;
        let mut sum = codec::Md5Sum::default();
        let mut at = self.entry.data_offset();
        let end = add(at, self.entry.stored)?;
        while at < end {
            let size = PIECE.min(end - at);
            sum.update(&self.file.storage.read_at(at, fit(size, "length of a piece")?)?);
            at += size;
        }
        Ok(sum.finish())
    }

    /// Fails if the checksum is wrong.
    ///
    /// ```
    /// use asdf_core::Asdf;
    ///
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// # let mut bytes = document.to_bytes()?;
    /// # let at = file.block(0)?.entry().data_offset() as usize;
    /// bytes[at] ^= 1; // a flipped bit in the data of the block
    /// assert!(Asdf::from_bytes(bytes)?.block(0)?.check().is_err());
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed`, with the first halves of both checksums; `Io`.
    pub fn check(&self) -> Result<Checksum> {
        match self.checksum()? {
            Checksum::Wrong => {
                let half = |sum: [u8; 16]| sum.first_chunk::<8>().map_or(0, |half| u64::from_be_bytes(*half));
                let kind = FaultKind::Checksum {
                    stored: half(self.entry.header.checksum),
                    computed: half(self.md5_of_stored()?),
                };
                Err(Fault::new("checksum", kind).at("block header", bound::sum(self.entry.offset, 38)))
            }
            right => Ok(right),
        }
    }
}
