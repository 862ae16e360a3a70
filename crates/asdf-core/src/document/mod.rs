//! Files that are created or changed, which are a tree and blocks, and the ways to store them.

mod arrays;
mod blocks;
mod text;

use std::path::Path;
use std::sync::Arc;

use sciformats_core::commit::Session;
use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::storage::Replacement;
use sciformats_core::{Result, WriteAt};

pub use arrays::View;
pub(crate) use blocks::{BlockData, Referred};
pub(crate) use text::Given;

use crate::model::ndarray::{self, NdArray, Source};
use crate::options::{OpenOptions, WriteOptions};
use crate::provenance::Software;
use crate::reader::Asdf;
use crate::spec::header_line::{Header, Version};
use crate::update::Read;
use crate::write;
use crate::yaml::edits::ReadText;
use crate::yaml::{ASDF_PREFIX, NodeId, Tree};

/// The newest version of the standard, which new files follow.
pub const NEWEST: Version = Version::new(1, 6, 0);

/// A file that is being created, or that was opened in order to change it.
///
/// ```
/// use asdf_core::{Asdf, Document, NewArray};
///
/// let mut document = Document::new();
/// document.set_array("image", NewArray::new(&[1u16, 2, 3, 4], &[2, 2])?)?;
/// document.set("title", &"a small image")?;
/// let file = Asdf::from_bytes(document.to_bytes()?)?;
/// assert_eq!(file.array("image")?.read::<u16>()?, [1, 2, 3, 4]);
/// # Ok::<(), asdf_core::Error>(())
/// ```
pub struct Document {
    pub(crate) header: Header,
    pub(crate) tree: Tree,
    pub(crate) blocks: Vec<BlockData>,
    pub(crate) origin: Option<Asdf>,
    /// The file as it was read, if it has a path.
    pub(crate) read: Option<Read>,
    /// The text from which the tree was parsed.
    pub(crate) text: Option<ReadText>,
    /// The text that the caller has given for the tree.
    pub(crate) given: Option<Given>,
    /// Whether the last block is written as one that extends to the end of the file.
    pub(crate) streamed: bool,
    /// Whether arrays may refer to blocks by numbers that count from the last one, because the tree was read.
    pub(crate) counts_back: bool,
    options: WriteOptions,
}

impl std::fmt::Debug for Document {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Document")
            .field("blocks", &self.blocks.len())
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

impl Default for Document {
    fn default() -> Self {
        Self::new()
    }
}

impl Document {
    /// Creates a document of the newest version of the standard, with an empty tree.
    ///
    /// ```
    /// use asdf_core::{Document, Version};
    ///
    /// let mut document = Document::new();
    /// document.set("meta/observer", "Hubble")?;
    /// assert_eq!(document.standard(), Version::new(1, 6, 0));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn new() -> Self {
        Self::with_standard(NEWEST)
    }

    /// Creates a document of a version of the standard.
    ///
    /// ```
    /// use asdf_core::{Document, Version};
    ///
    /// let document = Document::with_standard(Version::new(1, 5, 0)); // for readers that know no newer one
    /// assert!(document.to_bytes()?.starts_with(b"#ASDF 1.0.0\n#ASDF_STANDARD 1.5.0\n"));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn with_standard(standard: Version) -> Self {
        let mut tree = Tree::new();
        let version = if standard < Version::new(1, 2, 0) { "1.0.0" } else { "1.1.0" };
        tree.set_tag(tree.root(), format!("{ASDF_PREFIX}core/asdf-{version}"));
        let root = tree.root();
        let software = Software::this_library().to_node(&mut tree);
        // The root is a mapping.
        let _ = tree.insert(root, "asdf_library", software);
        let options = WriteOptions::default();
        Self {
            header: Header::new(standard),
            tree,
            blocks: Vec::new(),
            origin: None,
            read: None,
            text: None,
            given: None,
            streamed: false,
            counts_back: false,
            options,
        }
    }

    /// Opens a file in order to change it.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("image.asdf");
    /// # Document::new().save(&path)?;
    /// let mut document = Document::open(&path)?;
    /// document.set("meta/exposure", &30.0)?;
    /// document.update()?; // or `save`, into another file
    /// assert_eq!(Asdf::open(&path)?.tree().get_as::<f64>("meta/exposure")?, 30.0);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Asdf::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// Does the same as [`open`](Self::open), with options.
    ///
    /// ```no_run
    /// use asdf_core::{Document, External, OpenOptions};
    ///
    /// // Arrays may lie in files beside this one.
    /// let options = OpenOptions::default().with_external(External::SameFolder);
    /// let document = Document::open_with("exploded.asdf", &options)?;
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Asdf::open`].
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        let (mut document, seen) =
            Session::while_reading(path, || Asdf::open_with(path, options).map(Self::from_file))?;
        document.read = document.read.and_then(|read| read.with_seen(seen));
        Ok(document)
    }

    /// Creates a document from an open file. [`update`](Self::update) refuses to write if somebody has changed the file since it
    /// was opened.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document};
    ///
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// let mut copy = Document::from_file(file);
    /// copy.set("meta/exposure", &30.0)?;
    /// let file = Asdf::from_bytes(copy.to_bytes()?)?;
    /// assert_eq!(file.array("image")?.shape(), [2, 3]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn from_file(mut file: Asdf) -> Self {
        let read = Read::of(&file).ok().flatten();
        // The tree helps to find out whether blocks are missing. What is found is reported when blocks are used.
        let _ = file.check_first();
        let _ = file.check_last();
        Self {
            read,
            text: file.tree.read_text().cloned(),
            given: None,
            header: file.located.header().clone(),
            tree: std::mem::take(&mut file.tree),
            blocks: (0..file.block_count()).map(BlockData::Stored).collect(),
            streamed: file.located.is_streamed(),
            counts_back: true,
            origin: Some(file),
            options: WriteOptions::default(),
        }
    }

    /// Returns the version of the standard.
    pub fn standard(&self) -> Version {
        self.header.standard.unwrap_or(Version::new(1, 0, 0))
    }

    /// Returns the tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Returns the tree so that it can be changed.
    ///
    /// ```
    /// use asdf_core::Document;
    ///
    /// let mut document = Document::new();
    /// let tree = document.tree_mut();
    /// let unit = tree.add_str("km/s");
    /// tree.put("velocity/unit", unit)?;
    /// tree.remove("asdf_library")?;
    /// assert!(document.tree().get("velocity/unit").is_some());
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn tree_mut(&mut self) -> &mut Tree {
        &mut self.tree
    }

    /// Serializes a value and puts it at a path of the tree. The tag of the previous node is kept, as [`Tree::set`] says.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document};
    ///
    /// #[derive(serde::Serialize)]
    /// struct Instrument { name: String, filters: Vec<String> }
    ///
    /// let mut document = Document::new();
    /// document.set("meta/instrument", &Instrument { name: "cam".into(), filters: vec!["red".into()] })?;
    /// document.set("meta/exposure", &30.0)?;
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(file.tree().get_as::<String>("meta/instrument/filters/0")?, "red");
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Tree::set`].
    pub fn set<T: serde::Serialize + ?Sized>(&mut self, path: &str, value: &T) -> Result<NodeId> {
        self.tree.set(path, value)
    }

    /// Gives the node at a path a full tag, for example the one that says which type of a data model it is.
    ///
    /// ```
    /// use asdf_core::Document;
    ///
    /// let mut document = Document::new();
    /// document.set("roman/meta/telescope", "ROMAN")?;
    /// document.set_tag("roman", "asdf://stsci.edu/datamodels/roman/tags/wfi_image-1.2.0")?;
    /// assert!(document.tree_text()?.contains("roman: !<asdf://stsci.edu/datamodels/roman/tags/wfi_image-1.2.0>"));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NotFound` if the tree has nothing at this path.
    pub fn set_tag(&mut self, path: &str, tag: impl Into<Arc<str>>) -> Result<()> {
        let node = self.tree.get(path).ok_or_else(|| self.tree.not_found(path))?;
        self.tree.set_tag(node, tag);
        Ok(())
    }

    /// Returns the options with which it is written.
    pub fn options(&self) -> &WriteOptions {
        &self.options
    }

    /// Returns the options with which it is written, so that they can be changed.
    ///
    /// ```
    /// use asdf_core::{Asdf, Checksum, Document, NewArray};
    ///
    /// let mut document = Document::new();
    /// document.set_array("image", NewArray::new(&[1u16, 2], &[2])?)?;
    /// document.options_mut().checksums = false;
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(file.block(0)?.checksum()?, Checksum::Absent);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn options_mut(&mut self) -> &mut WriteOptions {
        &mut self.options
    }

    /// Checks that every node with the tag of an array is a valid description, and that the array is inside its block. Arrays in
    /// other files are not checked.
    ///
    /// ```
    /// use asdf_core::{Document, NewArray};
    ///
    /// let mut document = Document::new();
    /// let node = document.set_array("image", NewArray::new(&[1u16, 2], &[2])?)?;
    /// document.check_arrays()?;
    ///
    /// let nowhere = document.tree_mut().add_plain("7");
    /// document.tree_mut().insert(node, "source", nowhere)?;
    /// assert!(document.check_arrays().is_err()); // there is no block 7
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` for the first array that is not valid.
    pub fn check_arrays(&self) -> Result<()> {
        for node in self.tree.visible() {
            if !ndarray::is_ndarray(&self.tree, node) {
                continue;
            }
            let array = NdArray::from_node(&self.tree, node)?;
            let available = match &array.source {
                Source::Inline(bytes) => bytes.len() as u64,
                Source::External(_) => continue,
                Source::Block(number) => {
                    let block = self.block_at(*number).ok_or_else(|| {
                        let kind = FaultKind::Rule("is the index of a block that does not exist");
                        Fault::new("source", kind).at("ndarray", array.at)
                    })?;
                    self.data_size(block)?
                }
            };
            array.dimensions(available)?;
        }
        Ok(())
    }

    /// Returns the whole file.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document};
    ///
    /// let mut document = Document::new();
    /// document.set("target", "M31")?;
    /// let bytes = document.to_bytes()?;
    /// assert_eq!(Asdf::from_bytes(bytes)?.tree().get_as::<String>("target")?, "M31");
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Unsupported` if a compression is not part of this build; `Io` and other errors of reading stored blocks.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.write_to(&mut out)?;
        Ok(out)
    }

    /// Writes the whole file to an empty storage.
    ///
    /// ```
    /// use asdf_core::Document;
    ///
    /// let mut document = Document::new();
    /// document.set("target", "M31")?;
    /// let mut storage = Vec::new();
    /// document.write_to(&mut storage)?;
    /// assert_eq!(storage, document.to_bytes()?);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`to_bytes`](Self::to_bytes).
    pub fn write_to(&self, out: &mut dyn WriteAt) -> Result<()> {
        write::whole(self, out)
    }

    /// Writes the file to a path. An existing file is replaced in one step, so readers see the old file or the new one.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, NewArray};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("image.asdf");
    /// let mut document = Document::new();
    /// document.set_array("image", NewArray::new(&[1u16, 2, 3, 4], &[2, 2])?)?;
    /// document.save(&path)?;
    /// assert_eq!(Asdf::open(&path)?.array("image")?.read::<u16>()?, [1, 2, 3, 4]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`to_bytes`](Self::to_bytes); `Io`; `Conflict` if a writer has the file at `path` open, or if it is the file from which
    /// the document was opened and another program has changed it since. The file at `path` is unchanged then.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.saved(path.as_ref())?.finish(self.options.durability)
    }

    /// Writes the file beside the path at which it will be.
    pub(crate) fn saved(&self, path: &Path) -> Result<Replacement> {
        let mut replacement = Replacement::create(path)?;
        self.check_unchanged(path)?;
        self.write_to(&mut replacement)?;
        self.check_unchanged(path)?;
        Ok(replacement)
    }

    /// Writes the file to a path at which there must be nothing.
    pub(crate) fn save_new(&self, path: &Path) -> Result<()> {
        let mut file = Replacement::create_new(path)?;
        self.write_to(&mut file)?;
        file.finish(self.options.durability)
    }

    /// Checks that the file at a path, if it is the one from which the document was opened, has the same contents as then.
    fn check_unchanged(&self, path: &Path) -> Result<()> {
        match &self.read {
            Some(read) if read.is_changed(path) => Err(self.changed(path)),
            _ => Ok(()),
        }
    }
}
