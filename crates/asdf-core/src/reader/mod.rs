//! Opening and reading of files.

mod block;
mod first;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use sciformats_core::commit::journal;
use sciformats_core::error::Within;
use sciformats_core::limits::within;
use sciformats_core::storage::{Seen, length};
use sciformats_core::{Error, ReadAt, Result};

pub use self::block::{Block, Checksum};
pub use self::first::damaged_header;
use crate::array::Array;
use crate::codec::Compression;
use crate::document::Document;
use crate::model::layout::Layout;
use crate::model::located::Located;
use crate::model::ndarray::{self, NdArray};
use crate::options::{self, OpenOptions};
use crate::spec::header_line::Version;
use crate::yaml::{NodeId, Tree, parse};

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
    /// The file at the path, as it was before anything of it was read.
    pub(crate) seen: Option<Seen>,
    /// The compressed block that was decoded last, because several slabs of one array are often read one after another.
    decoded: Mutex<Option<(usize, Arc<Vec<u8>>)>>,
    others: Mutex<HashMap<PathBuf, Arc<Asdf>>>,
    /// The array that was described last: several things are asked of one array after another.
    described: Mutex<Option<(NodeId, NdArray)>>,
    /// The blocks whose checksums were compared for somebody who copies them.
    checked: Mutex<HashMap<usize, Result<Checksum>>>,
    /// Whether a damaged block precedes the first one that was found, once this was in doubt.
    first: OnceLock<Result<()>>,
    /// Whether a damaged block follows the last one that was found, once this was in doubt.
    last: OnceLock<Result<()>>,
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
        let seen = Seen::of(path).ok();
        let storage = options.external.open(path, options.access)?;
        let storage = journal::view(storage).within(Some(path), None)?;
        let file = Self::read(Arc::new(storage), options, Some(path.into())).within(Some(path), None)?;
        Ok(Self { seen, ..file })
    }

    /// Opens a file with the default options. If it does not exist, it is created first, with the contents that `create` puts
    /// into the new document. This suits programs that compute a file once.
    ///
    /// ```
    /// use asdf_core::{Asdf, NewArray};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("dark.asdf");
    /// for _ in 0..2 { // the same program, twice
    ///     let file = Asdf::open_or_create(&path, |new| {
    ///         new.set("exposure", &30.0)?;
    ///         new.set_array("dark", NewArray::new(&[0.5f32; 4], &[2, 2])?).map(drop)
    ///     })?;
    ///     assert_eq!(file.array("dark")?.shape(), [2, 2]);
    /// }
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`open`](Self::open), `create` and [`Document::to_bytes`]. If `create` fails, there is no file. If a file
    /// appears meanwhile, it stays, and the error is `Io`.
    pub fn open_or_create(
        path: impl AsRef<Path>,
        create: impl FnOnce(&mut Document) -> Result<()>,
    ) -> Result<Self> {
        let path = path.as_ref();
        match Self::open(path) {
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                let mut new = Document::new();
                create(&mut new)?;
                new.save_new(path)?;
                Self::open(path)
            }
            opened => opened,
        }
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
        Ok(Self {
            storage,
            located,
            tree,
            options: options.clone(),
            path,
            seen: None,
            decoded: Mutex::default(),
            others: Mutex::default(),
            described: Mutex::default(),
            checked: Mutex::default(),
            first: OnceLock::new(),
            last: OnceLock::new(),
        })
    }

    /// Continues with the file at a path, in which everything has the same position as before.
    pub(crate) fn reopen(&mut self, path: &Path) -> Result<()> {
        self.seen = Seen::of(path).ok();
        self.storage = Arc::new(journal::view(self.options.access.open(path)?)?);
        *self.decoded.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        self.checked.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
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

    /// Returns whether there are comments in the text of the tree. The whole text is parsed for this, if it has a `#` at all.
    ///
    /// ```
    /// use asdf_core::Asdf;
    ///
    /// let file = |tree: &str| Asdf::from_bytes(format!("#ASDF 1.0.0\n%YAML 1.1\n---\n{tree}\n...\n"));
    /// assert!(file("exposure: 30.0  # in seconds")?.has_comments()?);
    /// assert!(!file("title: 'exposure # 7'")?.has_comments()?);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`; `Malformed` if the file has changed since it was opened.
    pub fn has_comments(&self) -> Result<bool> {
        match self.tree_text()? {
            Some(text) => parse::has_comments(&text, self.tree.limits()),
            None => Ok(false),
        }
    }

    /// Returns the text of the tree as it is in the file; `None` if it has none.
    pub(crate) fn tree_text(&self) -> Result<Option<Cow<'_, [u8]>>> {
        let Some(range) = self.located.tree() else { return Ok(None) };
        let size = self.options.limits.memory("bytes of the tree", length(range))?;
        self.storage.read_at(range.start, size).map(Some)
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
        self.check_first()?;
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

    /// Compares the checksum of a block, if it has one, as [`Block::check`] does. A block is only gone through once, so this can be
    /// called for each array in it.
    ///
    /// # Errors
    /// Those of [`Block::check`].
    pub(crate) fn check_block(&self, index: usize) -> Result<Checksum> {
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = checked.get(&index) {
            return known.clone();
        }
        let found = self.block(index).and_then(|block| block.check());
        let found = found.within(self.path(), Some(&format!("block {index}")));
        checked.insert(index, found.clone());
        found
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
