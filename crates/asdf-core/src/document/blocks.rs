//! The blocks of a document: their order, the arrays that refer to them, and how they will be stored.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use sciformats_core::{Error, ReadAt, Result};

use super::Document;
use crate::codec::Compression;
use crate::model::ndarray;
use crate::reader::{Asdf, Block};
use crate::spec::block_header::BlockHeader;
use crate::yaml::{NodeId, Tree, Value};

/// A block of a document.
#[derive(Clone)]
pub(crate) enum BlockData {
    /// The block with this index in the file from which the document was opened.
    Stored(usize),
    /// The data of such a block, which will be compressed in another way.
    Recoded { stored: usize, compression: Compression, level: Option<u32> },
    /// New data, and how it will be stored.
    New { data: Arc<dyn ReadAt>, compression: Compression, level: Option<u32> },
    /// Bytes that are already compressed, as in a block of another file.
    Encoded { header: Box<BlockHeader>, stored: Arc<dyn ReadAt> },
}

/// What the `source` of an array refers to.
pub(crate) enum Referred {
    /// A block of the file by its number. Negative numbers count from the last block.
    Block(i64),
    /// A block of another file, by its URI.
    Elsewhere(String),
}

impl Referred {
    fn of(tree: &Tree, array: NodeId) -> Option<Self> {
        match tree.value(tree.child(array, "source")?).ok()?? {
            Value::Str(uri) => Some(Self::Elsewhere(uri.to_string())),
            value => value.as_int().map(Self::Block),
        }
    }
}

impl Document {
    /// Returns the number of blocks.
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// Adds a block. A node can refer to it by the index that is returned. A streamed block stays the last one.
    ///
    /// ```
    /// use asdf_core::{Asdf, Compression, Document};
    ///
    /// let mut document = Document::new();
    /// let index = document.add_block(b"bytes of any kind".to_vec(), Compression::None);
    /// document.set("thumbnail", &index)?; // a number that only your own program knows to be a block's
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(*file.block(index)?.data()?, *b"bytes of any kind");
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn add_block(&mut self, data: impl ReadAt + 'static, compression: Compression) -> usize {
        self.push_block(BlockData::New { data: Arc::new(data), compression, level: None })
    }

    pub(crate) fn push_block(&mut self, block: BlockData) -> usize {
        self.count_forward();
        // A streamed block stays last, because arrays refer to it as −1, or by the index that it had.
        if let Some(last) = self.streamed_block() {
            self.blocks.insert(last, block);
            self.renumber(|index| if index == last { last + 1 } else { index });
            return last;
        }
        self.blocks.push(block);
        self.blocks.len() - 1
    }

    /// Returns the last block, if it extends to the end of the file.
    fn streamed_block(&self) -> Option<usize> {
        self.blocks.len().checked_sub(1).filter(|_| self.streamed)
    }

    /// Returns the header of a block of the file that was opened, and where it is.
    pub(crate) fn stored_block(&self, stored: usize) -> Result<Block<'_>> {
        let origin = self.origin.as_ref().ok_or_else(|| Error::not_found("block", stored.to_string()))?;
        origin.block(stored)
    }

    /// Returns the size of a block's data in bytes.
    pub(crate) fn data_size(&self, block: usize) -> Result<u64> {
        Ok(match self.blocks.get(block) {
            Some(BlockData::Stored(stored) | BlockData::Recoded { stored, .. }) => {
                self.stored_block(*stored)?.data_size()
            }
            Some(BlockData::New { data, .. }) => data.size(),
            Some(BlockData::Encoded { header, .. }) => header.data_size,
            None => return Err(Error::not_found("block", block.to_string())),
        })
    }

    /// Returns the size of all blocks in bytes, as far as it is known before compression.
    ///
    /// # Errors
    /// `Malformed` if a header in the opened file is invalid; `Usage` if the sum exceeds the size of any file.
    pub(crate) fn bytes_of_blocks(&self) -> Result<u64> {
        let sizes = self.blocks.iter().map(|block| match block {
            BlockData::Stored(index) | BlockData::Recoded { stored: index, .. } => {
                self.stored_block(*index).map(|block| block.stored_size())
            }
            BlockData::New { data, .. } => Ok(data.size()),
            BlockData::Encoded { stored, .. } => Ok(stored.size()),
        });
        sizes.into_iter().try_fold(0u64, |sum, size| {
            let sum = sum.checked_add(size?);
            sum.ok_or_else(|| Error::usage("blocks", "are together larger than a file can be (2^64 bytes)"))
        })
    }

    /// Returns the nodes with the tag of an array, and what their `source` refers to. Descriptions that are still text
    /// stay text.
    pub(crate) fn sources(&self) -> Vec<(NodeId, Referred)> {
        let is_array = |id: &NodeId| ndarray::is_ndarray(&self.tree, *id);
        let source = |id: NodeId| Some((id, self.tree.with(id, Referred::of)?));
        self.tree.visible().into_iter().filter(is_array).filter_map(source).collect()
    }

    /// Returns the block with a number, which counts from the last block if it is negative.
    pub(crate) fn block_at(&self, number: i64) -> Option<usize> {
        let count = i64::try_from(self.blocks.len()).ok()?;
        let index = if number < 0 { number.checked_add(count)? } else { number };
        usize::try_from(index).ok().filter(|&index| index < self.blocks.len())
    }

    /// Returns the block to which a `source` refers.
    pub(crate) fn block_of(&self, source: &Referred) -> Option<usize> {
        match source {
            Referred::Block(number) => self.block_at(*number),
            Referred::Elsewhere(_) => None,
        }
    }

    /// Returns the indices of the blocks to which no array refers. Nodes with other tags may refer to them.
    ///
    /// ```
    /// use asdf_core::{Document, NewArray};
    ///
    /// let mut document = Document::new();
    /// document.set_array("image", NewArray::new(&[1u16, 2], &[2])?)?;
    /// assert!(document.unused_blocks().is_empty());
    /// document.set("image", "lost")?;
    /// assert!(document.unused_blocks().into_iter().eq([0]));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn unused_blocks(&self) -> BTreeSet<usize> {
        let sources = self.sources();
        let used: HashSet<usize> = sources.iter().filter_map(|(_, source)| self.block_of(source)).collect();
        (0..self.blocks.len()).filter(|index| !used.contains(index)).collect()
    }

    /// Makes the numbers of blocks count from the first one, before other blocks change the meaning of those that count from the last
    /// one. A streamed block stays the last one, so its number stays.
    fn count_forward(&mut self) {
        if !std::mem::take(&mut self.counts_back) {
            return;
        }
        let streamed = self.streamed_block();
        for (array, source) in self.sources() {
            if let Referred::Block(..0) = source
                && let Some(index) = self.block_of(&source)
                && streamed != Some(index)
            {
                let node = self.tree.add_plain(index.to_string());
                let _ = self.tree.insert(array, "source", node);
            }
        }
    }

    /// Changes the indices by which arrays refer to blocks. Negative indices stay, because they count from the end.
    fn renumber(&mut self, new: impl Fn(usize) -> usize) {
        for (array, source) in self.sources() {
            let Referred::Block(number) = source else { continue };
            if let Ok(index) = usize::try_from(number)
                && new(index) != index
            {
                let node = self.tree.add_plain(new(index).to_string());
                let _ = self.tree.insert(array, "source", node);
            }
        }
    }

    /// Removes the blocks to which no array refers, and renumbers the others. Blocks to which only nodes with other tags refer
    /// are removed too, because the meaning of their numbers is not known here.
    ///
    /// ```
    /// use asdf_core::{Document, NewArray};
    ///
    /// let mut document = Document::new();
    /// document.set_array("image", NewArray::new(&[1u16, 2], &[2])?)?;
    /// document.set_array("image", NewArray::new(&[3u16, 4], &[2])?)?; // a new one in its place
    /// assert_eq!(document.block_count(), 2);
    /// document.drop_unused_blocks();
    /// assert_eq!(document.block_count(), 1);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn drop_unused_blocks(&mut self) {
        let sources = self.sources();
        let used: BTreeSet<usize> = sources.iter().filter_map(|(_, source)| self.block_of(source)).collect();
        self.streamed = self.streamed_block().is_some_and(|last| used.contains(&last));
        self.counts_back = true;
        self.count_forward();
        let places: HashMap<usize, usize> = used.iter().copied().zip(0..).collect();
        self.renumber(|index| places.get(&index).copied().unwrap_or(index));
        let mut index = 0usize..;
        self.blocks.retain(|_| index.next().is_some_and(|index| used.contains(&index)));
    }

    /// Stores every block with another compression. Blocks of the opened file are decoded when the document is written, and those that
    /// were [taken in](Self::implode) from other files at once.
    ///
    /// ```
    /// use asdf_core::{Asdf, Compression, Document};
    ///
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// let mut document = Document::from_file(file);
    /// document.recompress(Compression::Zlib, Some(9))?;
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(file.block(0)?.compression(), Compression::Zlib);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the compression does not have the level; those of [`Block::check`] and [`Block::data`]. The document is unchanged then.
    pub fn recompress(&mut self, new: Compression, new_level: Option<u32>) -> Result<()> {
        new.check_level(new_level)?;
        let streamed = self.streamed_block();
        let mut blocks = self.blocks.clone();
        for (index, block) in blocks.iter_mut().enumerate() {
            if streamed == Some(index) {
                continue;
            }
            match block {
                BlockData::New { compression, level, .. } | BlockData::Recoded { compression, level, .. } => {
                    (*compression, *level) = (new, new_level);
                }
                BlockData::Stored(stored) => {
                    *block = BlockData::Recoded { stored: *stored, compression: new, level: new_level };
                }
                BlockData::Encoded { .. } => {
                    let data = Arc::new(self.decoded(block)?);
                    *block = BlockData::New { data, compression: new, level: new_level };
                }
            }
        }
        self.blocks = blocks;
        Ok(())
    }

    /// Returns the data of a block of another file, if it agrees with its checksum.
    fn decoded(&self, block: &BlockData) -> Result<Vec<u8>> {
        let mut part = Self::new();
        part.blocks.push(block.clone());
        let options = self.origin.as_ref().map(|origin| origin.options.clone()).unwrap_or_default();
        let file = Asdf::from_storage(part.to_bytes()?, &options)?;
        file.check_block(0)?;
        Ok(file.block(0)?.data()?.into_owned())
    }
}
