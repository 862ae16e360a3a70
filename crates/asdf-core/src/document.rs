//! Files that are made or changed: a tree and blocks, and the ways to store them.

use std::path::Path;
use std::sync::Arc;

use sciformats_core::endian::ByteOrder;
use sciformats_core::storage::{Durability, Replacement};
use sciformats_core::{Error, ReadAt, Result, WriteAt};

use crate::codec::Compression;
use crate::model::datatype::{self, Datatype, ScalarType};
use crate::model::{complex, ndarray};
use crate::new_array::{NewArray, NewMask, Storage};
use crate::options::OpenOptions;
use crate::reader::Asdf;
use crate::spec::block_header::BlockHeader;
use crate::spec::header_line::{Header, Version};
use crate::write;
use crate::yaml::resolve::float_text;
use crate::yaml::{ASDF_PREFIX, CollectionStyle, Node, NodeId, ScalarStyle, Tree};

/// The newest version of the standard, which new files follow.
pub const NEWEST: Version = Version::new(1, 6, 0);

/// How files are written.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Whether blocks get their MD5. Default: yes, as other writers do.
    pub checksums: bool,
    /// Whether a block index is written. Default: yes.
    pub index: bool,
    /// Bytes kept free after the tree, so that it can grow in place. Default: 0.
    pub tree_padding: u64,
    /// Bytes kept free in each new block. Default: 0.
    pub block_padding: u64,
    /// Threads for compression; 0 for as many as the machine runs at once.
    pub threads: usize,
    /// What a finished write must survive. Default: the end of the process.
    pub durability: Durability,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            checksums: true,
            index: true,
            tree_padding: 0,
            block_padding: 0,
            threads: 0,
            durability: Durability::Process,
        }
    }
}

/// A block of a document.
#[derive(Clone)]
pub(crate) enum BlockData {
    /// The block of this index in the file that the document was opened from.
    Stored(usize),
    /// Data to be stored, and how.
    New { data: Arc<dyn ReadAt>, compression: Compression, level: Option<u32> },
    /// Bytes that are compressed already, as a block of another file.
    Encoded { header: BlockHeader, stored: Arc<dyn ReadAt> },
}

/// A file in the making: new, or opened to be changed.
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
    /// Whether the last block is written as one that extends to the end of the file.
    pub(crate) streamed: bool,
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
    /// A new file of the newest version of the standard, with an empty tree.
    pub fn new() -> Self {
        Self::with_standard(NEWEST)
    }

    /// A new file of a version of the standard.
    pub fn with_standard(standard: Version) -> Self {
        let mut tree = Tree::new();
        let version = if standard < Version::new(1, 2, 0) { "1.0.0" } else { "1.1.0" };
        tree.set_tag(tree.root(), format!("{ASDF_PREFIX}core/asdf-{version}"));
        let pairs = [
            ("author", "The sciformats developers"),
            ("homepage", env!("CARGO_PKG_REPOSITORY")),
            ("name", env!("CARGO_PKG_NAME")),
            ("version", env!("CARGO_PKG_VERSION")),
        ];
        let entries = pairs.map(|(key, value)| (tree.add_str(key), tree.add_str(value))).to_vec();
        let software = tree.add_mapping(entries, CollectionStyle::Flow);
        tree.set_tag(software, format!("{ASDF_PREFIX}core/software-1.0.0"));
        let (key, root) = (tree.add_str("asdf_library"), tree.root());
        if let Some(Node { content: crate::yaml::Content::Mapping { entries, .. }, .. }) = tree.node_mut(root)
        {
            entries.push((key, software));
        }
        let options = WriteOptions::default();
        Self {
            header: Header::new(standard),
            tree,
            blocks: Vec::new(),
            origin: None,
            streamed: false,
            options,
        }
    }

    /// Opens a file to change it.
    ///
    /// # Errors
    /// As [`Asdf::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Self::from_file(Asdf::open(path)?))
    }

    /// As [`open`](Self::open), with options.
    ///
    /// # Errors
    /// As [`Asdf::open`].
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        Ok(Self::from_file(Asdf::open_with(path, options)?))
    }

    /// A document of an open file.
    pub fn from_file(file: Asdf) -> Self {
        let streamed = file.layout.blocks.last().is_some_and(|block| block.header.is_streamed());
        Self {
            header: file.layout.header.clone(),
            tree: file.tree.clone(),
            blocks: (0..file.layout.blocks.len()).map(BlockData::Stored).collect(),
            origin: Some(file),
            streamed,
            options: WriteOptions::default(),
        }
    }

    /// The version of the standard.
    pub fn standard(&self) -> Version {
        self.header.standard.unwrap_or(Version::new(1, 0, 0))
    }

    /// The tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The tree, to be changed.
    pub fn tree_mut(&mut self) -> &mut Tree {
        &mut self.tree
    }

    /// Serializes a value and puts it at a path of the tree.
    ///
    /// # Errors
    /// As [`Tree::set`].
    pub fn set<T: serde::Serialize + ?Sized>(&mut self, path: &str, value: &T) -> Result<NodeId> {
        self.tree.set(path, value)
    }

    /// How it is written.
    pub fn options(&self) -> &WriteOptions {
        &self.options
    }

    /// How it is written, to be changed.
    pub fn options_mut(&mut self) -> &mut WriteOptions {
        &mut self.options
    }

    /// The number of blocks.
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// Adds a block that a node may refer to by the index that is returned. It comes before a streamed last block.
    pub fn add_block(&mut self, data: impl ReadAt + 'static, compression: Compression) -> usize {
        self.push_block(BlockData::New { data: Arc::new(data), compression, level: None })
    }

    pub(crate) fn push_block(&mut self, block: BlockData) -> usize {
        // A streamed block stays last: arrays name it by −1, or by the index that it had.
        if self.streamed {
            let last = self.blocks.len().saturating_sub(1);
            self.blocks.insert(last, block);
            self.renumber(|index| if index == last { last.saturating_add(1) } else { index });
            return last;
        }
        self.blocks.push(block);
        self.blocks.len().saturating_sub(1)
    }

    /// Adds an array and puts it at a path of the tree. What was there is replaced; its block stays until
    /// [`drop_unused_blocks`](Self::drop_unused_blocks).
    ///
    /// # Errors
    /// As [`Tree::put`] and [`add_array`](Self::add_array).
    pub fn set_array(&mut self, path: &str, array: NewArray) -> Result<NodeId> {
        let node = self.add_array(array)?;
        self.tree.put(path, node)?;
        Ok(node)
    }

    /// Adds an array; the node that describes it is returned.
    ///
    /// # Errors
    /// `Usage` for a mask of another size, or inline elements that text cannot carry.
    pub fn add_array(&mut self, array: NewArray) -> Result<NodeId> {
        let NewArray { datatype, byteorder, shape, data, storage, compression, level, mask } = array;
        let mut pairs = Vec::new();
        match storage {
            Storage::Inline => {
                let size = usize::try_from(data.len())
                    .map_err(|_| Error::usage("data", "is too large for the tree"))?;
                let mut bytes = data.read_at(0, size)?.into_owned();
                datatype.swap_to_little(byteorder, &mut bytes);
                let mut rest = bytes.as_slice();
                let node = inline(&mut self.tree, &datatype, &shape, &mut rest)?;
                pairs.push(("data", node));
            }
            Storage::Block => {
                let index = self.push_block(BlockData::New { data, compression, level });
                pairs.push(("source", self.tree.add_plain(index.to_string())));
            }
        }
        pairs.extend(self.description(&datatype, byteorder, &shape));
        if let Some(mask) = mask {
            let node = match mask {
                NewMask::Value(value) => self.tree.add_plain(float_text(value)),
                NewMask::Elements(bytes) => {
                    let mask = NewArray::from_bytes(ScalarType::Bool8, ByteOrder::Big, &shape, bytes)?;
                    self.add_array(mask.with_storage(storage))?
                }
            };
            pairs.push(("mask", node));
        }
        Ok(self.ndarray_node(pairs))
    }

    /// Adds an array that looks at the block of another: an element at `offset`, others at `strides` from it.
    ///
    /// # Errors
    /// `NotFound` if there is no such block; `Usage` if `strides` are not one a dimension.
    pub fn add_view(&mut self, view: &View<'_>) -> Result<NodeId> {
        if view.block >= self.blocks.len() {
            return Err(Error::not_found("block", view.block.to_string()));
        }
        let mut pairs = vec![("source", self.tree.add_plain(view.block.to_string()))];
        pairs.extend(self.description(&view.datatype, view.byteorder, view.shape));
        if view.offset > 0 {
            pairs.push(("offset", self.tree.add_plain(view.offset.to_string())));
        }
        if let Some(strides) = view.strides {
            if strides.len() != view.shape.len() {
                return Err(Error::usage("strides", "are not one a dimension"));
            }
            pairs.push(("strides", datatype::numbers_node(&mut self.tree, strides)));
        }
        Ok(self.ndarray_node(pairs))
    }

    /// Makes the last block one that extends to the end of the file, and adds an array of as many rows as it has room
    /// for: see [`StreamWriter`](crate::StreamWriter).
    ///
    /// # Errors
    /// `Usage` if there is one already.
    pub(crate) fn add_stream(
        &mut self,
        datatype: &Datatype,
        byteorder: ByteOrder,
        row: &[u64],
    ) -> Result<NodeId> {
        if self.streamed {
            return Err(Error::usage("document", "has a streamed block already"));
        }
        self.push_block(BlockData::New {
            data: Arc::new(Vec::new()),
            compression: Compression::None,
            level: None,
        });
        self.streamed = true;
        let mut pairs = vec![("source", self.tree.add_plain("-1"))];
        pairs.extend(self.description(datatype, byteorder, row));
        if let Some((_, shape)) = pairs.iter().find(|(key, _)| *key == "shape") {
            let star = self.tree.add(Node::new(crate::yaml::Content::Scalar {
                text: "*".into(),
                style: ScalarStyle::Single,
            }));
            if let Some(Node { content: crate::yaml::Content::Sequence { items, .. }, .. }) =
                self.tree.node_mut(*shape)
            {
                items.insert(0, star);
            }
        }
        Ok(self.ndarray_node(pairs))
    }

    fn description(
        &mut self,
        datatype: &Datatype,
        byteorder: ByteOrder,
        shape: &[u64],
    ) -> [(&'static str, NodeId); 3] {
        let tree = &mut self.tree;
        [
            ("datatype", datatype.to_node(tree)),
            ("byteorder", tree.add_str(datatype::order_name(byteorder))),
            ("shape", datatype::numbers_node(tree, shape)),
        ]
    }

    fn ndarray_node(&mut self, pairs: Vec<(&'static str, NodeId)>) -> NodeId {
        let entries = pairs.into_iter().map(|(key, value)| (self.tree.add_str(key), value)).collect();
        let node = self.tree.add_mapping(entries, CollectionStyle::Block);
        let version = if self.standard() < Version::new(1, 6, 0) { "1.0.0" } else { "1.1.0" };
        self.tree.set_tag(node, format!("{ASDF_PREFIX}core/ndarray-{version}"));
        node
    }

    /// The mappings that are arrays by their tag, and the node of their `source`.
    pub(crate) fn sources(&self) -> Vec<(NodeId, NodeId)> {
        let is_array = |id: &NodeId| ndarray::is_ndarray(&self.tree, *id);
        let source = |id: NodeId| Some((id, self.tree.child(id, "source")?));
        self.tree.reachable().into_iter().filter(is_array).filter_map(source).collect()
    }

    /// The block that a `source` names.
    pub(crate) fn block_of(&self, source: NodeId) -> Option<usize> {
        let value = self.tree.value(source).ok()??;
        let index: i128 = value.as_int()?;
        let count = i128::try_from(self.blocks.len()).ok()?;
        let index = if index < 0 { index.checked_add(count)? } else { index };
        usize::try_from(index).ok().filter(|&index| index < self.blocks.len())
    }

    /// Gives the blocks that arrays name other numbers. Negative numbers are left: they count from the end.
    fn renumber(&mut self, new: impl Fn(usize) -> usize) {
        let mut done = std::collections::HashSet::new();
        for (array, source) in self.sources() {
            let text = self.tree.node(source).text().unwrap_or_default();
            if text.starts_with('-') || !done.insert(array) {
                continue;
            }
            if let Ok(Some(index)) =
                self.tree.value(source).map(|value| value.and_then(|value| value.as_int::<usize>()))
            {
                let node = self.tree.add_plain(new(index).to_string());
                let _ = self.tree.insert(array, "source", node);
            }
        }
    }

    /// Leaves out the blocks that no array refers to, and numbers the others anew. Blocks that only nodes with other
    /// tags know are left out too: their numbers have no meaning here.
    pub fn drop_unused_blocks(&mut self) {
        let used: std::collections::BTreeSet<usize> =
            self.sources().into_iter().filter_map(|(_, source)| self.block_of(source)).collect();
        let last = self.blocks.len().saturating_sub(1);
        self.streamed &= used.contains(&last);
        // Numbers from the end would change their meaning.
        for (array, source) in self.sources() {
            if let Some(index) = self.block_of(source)
                && !(self.streamed && index == last)
            {
                let node = self.tree.add_plain(index.to_string());
                let _ = self.tree.insert(array, "source", node);
            }
        }
        let order: Vec<usize> = used.iter().copied().collect();
        self.renumber(|index| order.iter().position(|&old| old == index).unwrap_or(index));
        let blocks = std::mem::take(&mut self.blocks);
        self.blocks = blocks
            .into_iter()
            .enumerate()
            .filter(|(index, _)| used.contains(index))
            .map(|(_, block)| block)
            .collect();
    }

    /// Stores every block with another compression.
    ///
    /// # Errors
    /// As [`Block::data`](crate::Block::data).
    pub fn recompress(&mut self, new: Compression, new_level: Option<u32>) -> Result<()> {
        let origin = self.origin.as_ref();
        let last = self.blocks.len().saturating_sub(1);
        for (index, block) in self.blocks.iter_mut().enumerate() {
            if self.streamed && index == last {
                continue;
            }
            match block {
                BlockData::New { compression, level, .. } => (*compression, *level) = (new, new_level),
                BlockData::Stored(stored) => {
                    let Some(origin) = origin else { continue };
                    let data = Arc::new(origin.block(*stored)?.data()?.into_owned());
                    *block = BlockData::New { data, compression: new, level: new_level };
                }
                BlockData::Encoded { .. } => {}
            }
        }
        Ok(())
    }

    /// The whole file.
    ///
    /// # Errors
    /// `Unsupported` for a compression that is not built in; `Io` and what else reading stored blocks gives.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.write_to(&mut out)?;
        Ok(out)
    }

    /// Writes the whole file to an empty storage.
    ///
    /// # Errors
    /// As [`to_bytes`](Self::to_bytes).
    pub fn write_to(&self, out: &mut dyn WriteAt) -> Result<()> {
        write::whole(self, out)
    }

    /// Writes the file at a path. A file that is there is replaced at once: readers see the old one or the new one.
    ///
    /// # Errors
    /// As [`to_bytes`](Self::to_bytes); `Io`. The file at `path` is then as it was.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let mut replacement = Replacement::create(path)?;
        self.write_to(&mut replacement)?;
        replacement.finish(self.options.durability)
    }
}

/// An array that looks at the block of another.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// The block's index.
    pub block: usize,
    /// The type of the elements.
    pub datatype: Datatype,
    /// Their byte order in the block.
    pub byteorder: ByteOrder,
    /// The dimensions, slowest first.
    pub shape: &'a [u64],
    /// Where the first element begins.
    pub offset: u64,
    /// Bytes from one index to the next; `None` for C order without gaps.
    pub strides: Option<&'a [i64]>,
}

/// Nested sequences of the elements that `bytes` begin with.
fn inline(tree: &mut Tree, datatype: &Datatype, shape: &[u64], bytes: &mut &[u8]) -> Result<NodeId> {
    let Some((&dimension, rest)) = shape.split_first() else {
        return inline_element(tree, datatype, bytes);
    };
    let items = (0..dimension).map(|_| inline(tree, datatype, rest, bytes)).collect::<Result<Vec<_>>>()?;
    Ok(tree.add_sequence(items, CollectionStyle::Flow))
}

fn inline_element(tree: &mut Tree, datatype: &Datatype, bytes: &mut &[u8]) -> Result<NodeId> {
    let scalar = match datatype {
        Datatype::Struct(fields) => {
            let fields = fields.iter().map(|field| inline(tree, &field.datatype, &field.shape, bytes));
            let items = fields.collect::<Result<Vec<_>>>()?;
            return Ok(tree.add_sequence(items, CollectionStyle::Flow));
        }
        Datatype::Scalar(scalar) => *scalar,
    };
    let size = scalar.size().and_then(|size| usize::try_from(size).ok());
    let Some((element, rest)) = size.and_then(|size| bytes.split_at_checked(size)) else {
        return Err(Error::usage("data", "is shorter than its shape"));
    };
    *bytes = rest;
    let part = |range: std::ops::Range<usize>, scalar| {
        element.get(range).and_then(|part| crate::element::number(scalar, part)).unwrap_or(f64::NAN)
    };
    let integer = |signed: bool| {
        let mut wide = [if signed && element.last().is_some_and(|b| b & 0x80 != 0) { 0xFF } else { 0 }; 16];
        wide.iter_mut().zip(element).for_each(|(wide, byte)| *wide = *byte);
        i128::from_le_bytes(wide).to_string()
    };
    Ok(match scalar {
        ScalarType::Int8 | ScalarType::Int16 | ScalarType::Int32 | ScalarType::Int64 => {
            tree.add_plain(integer(true))
        }
        ScalarType::UInt8 | ScalarType::UInt16 | ScalarType::UInt32 | ScalarType::UInt64 => {
            tree.add_plain(integer(false))
        }
        ScalarType::Float16 | ScalarType::Float32 | ScalarType::Float64 => {
            tree.add_plain(float_text(part(0..element.len(), scalar)))
        }
        ScalarType::Bool8 => tree.add_plain(element.iter().any(|&b| b != 0).to_string()),
        ScalarType::Complex64 | ScalarType::Complex128 => {
            let half =
                if scalar == ScalarType::Complex64 { ScalarType::Float32 } else { ScalarType::Float64 };
            let middle = element.len() / 2;
            let node =
                tree.add_plain(complex::text(part(0..middle, half), part(middle..element.len(), half)));
            tree.set_tag(node, format!("{ASDF_PREFIX}core/complex-1.0.0"));
            node
        }
        ScalarType::Ascii(_) | ScalarType::Ucs4(_) => {
            let text = crate::array::text(scalar, element)
                .ok_or_else(|| Error::usage("data", "has a text that is none"))?;
            tree.add_str(text)
        }
    })
}
