//! The positions of the parts of an open file, which are found with as few reads as the file allows.
//!
//! The standard lets readers trust a block index whose first and last entries are right, if they check each block that they use.
//! The headers of the first blocks are therefore read one after another, and if more blocks follow, the index is searched for at
//! the end of the file:
//!
//! | what is checked | when |
//! |---|---|
//! | the first [`WALKED`] entries are the blocks whose headers were read; for remote files, those in the first half MiB | when the file is opened |
//! | the offsets ascend, each by at least the size of a header | when the file is opened |
//! | a block begins at the last entry, and the index begins where this block ends | when the file is opened |
//! | only zeros follow the index | when the file is opened |
//! | a block begins at an entry, and ends at the next entry | when the block is used |
//!
//! If one of these checks fails, every header is read, as if there were no index.

use std::ops::Range;
use std::sync::OnceLock;

use sciformats_core::{Limits, ReadAt, Result, bound};

use super::layout::{BlockEntry, IndexState, Layout, Start, block, index_text};
use crate::spec::block_header::BlockHeader;
use crate::spec::block_index::BlockIndex;
use crate::spec::header_line::Header;

/// The number of headers that are read before the index is searched for.
pub(super) const WALKED: usize = 32;

/// The positions of the parts of a file. All blocks are known; their headers are read when they are needed.
#[derive(Debug)]
pub(crate) struct Located {
    start: Start,
    /// What the index says, unless something has contradicted it.
    indexed: Option<Indexed>,
    /// The positions of all parts, once all headers have been read.
    whole: OnceLock<Layout>,
    /// The positions of the parts before a header that is damaged.
    damaged: OnceLock<Layout>,
    limits: Limits,
}

/// What follows the last block, or the tree if there are no blocks. Each variant has the offset of its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// An index that does not agree with the blocks.
    Index(u64),
    /// The rest of a block whose start the tree has overwritten, if any of it is left, and the index that lists this block.
    Overwritten { start: u64, index: u64 },
    /// Bytes of an unknown meaning.
    Unknown(u64),
}

/// A block index that passed the checks at opening.
#[derive(Debug)]
struct Indexed {
    offsets: Vec<u64>,
    first: BlockEntry,
    last: BlockEntry,
    text: Range<u64>,
}

impl Located {
    /// Finds the parts of `storage`.
    ///
    /// # Errors
    /// Those of [`Layout::locate`].
    pub(crate) fn find(storage: &dyn ReadAt, limits: &Limits) -> Result<Self> {
        let start = Start::find(storage)?;
        let (blocks, more) = start.walk(storage, limits, WALKED)?;
        let indexed = if more { Indexed::find(storage, &blocks, limits)? } else { None };
        let whole = OnceLock::new();
        if indexed.is_none() {
            let blocks = if more { start.walk(storage, limits, usize::MAX)?.0 } else { blocks };
            let _ = whole.set(start.layout(storage, blocks, limits)?);
        }
        Ok(Self { start, indexed, whole, damaged: OnceLock::new(), limits: *limits })
    }

    fn index(&self) -> Option<&Indexed> {
        // The headers take precedence over the index.
        if self.whole.get().is_some() { None } else { self.indexed.as_ref() }
    }

    /// Returns the first line and the comments.
    pub(crate) fn header(&self) -> &Header {
        &self.start.header
    }

    /// Returns the position of the tree's text.
    pub(crate) fn tree(&self) -> Option<&Range<u64>> {
        self.start.tree.as_ref()
    }

    /// Returns the end of the tree, or of the header if there is no tree.
    pub(crate) fn head_end(&self) -> u64 {
        self.start.tree.as_ref().map_or(self.start.header_end, |tree| tree.end)
    }

    /// Returns the length of the file.
    pub(crate) fn len(&self) -> u64 {
        self.start.len
    }

    /// Returns the number of blocks.
    pub(crate) fn count(&self) -> usize {
        match self.index() {
            Some(index) => index.offsets.len(),
            None => self.known().len(),
        }
    }

    /// Returns the blocks whose headers have all been read.
    fn known(&self) -> &[BlockEntry] {
        self.whole.get().map(|layout| layout.blocks.as_slice()).unwrap_or_default()
    }

    /// Returns the offsets of the blocks in their order.
    pub(crate) fn offsets(&self) -> Vec<u64> {
        match self.index() {
            Some(index) => index.offsets.clone(),
            None => self.known().iter().map(|block| block.offset).collect(),
        }
    }

    /// Returns the first block.
    pub(crate) fn first(&self) -> Option<&BlockEntry> {
        self.index().map(|index| &index.first).or_else(|| self.known().first())
    }

    /// Returns the offset of bytes before the first block that are not zeros, and the block, unless the index says that it is the
    /// first one.
    pub(crate) fn doubt(&self) -> Option<(u64, &BlockEntry)> {
        let room = self.start.room?;
        if self.has_index() { None } else { Some((room, self.first()?)) }
    }

    /// Returns what follows the last block, or the tree if there are no blocks, if it is neither zeros nor the index that agrees with the
    /// blocks.
    pub(crate) fn tail(&self) -> Option<Tail> {
        // An index that is trusted begins where the last block ends.
        let layout = self.whole.get()?;
        match layout.index {
            IndexState::Rejected { offset, reason } if layout.blocks.is_empty() => {
                let start = layout.unexplained.unwrap_or(offset); // a position
                let is_dead = reason == IndexState::OVERWRITTEN;
                Some(if is_dead { Tail::Overwritten { start, index: offset } } else { Tail::Unknown(start) })
            }
            IndexState::Rejected { offset, .. } => Some(Tail::Index(offset)),
            _ => layout.unexplained.map(Tail::Unknown),
        }
    }

    /// Returns the last block.
    pub(crate) fn last(&self) -> Option<&BlockEntry> {
        self.index().map(|index| &index.last).or_else(|| self.known().last())
    }

    /// Returns whether the last block extends to the end of the file.
    pub(crate) fn is_streamed(&self) -> bool {
        self.last().is_some_and(|block| block.header.is_streamed())
    }

    /// Returns the end of the last block, or of the tree, or of the header.
    pub(crate) fn content_end(&self) -> u64 {
        self.last().map_or(self.head_end(), BlockEntry::end).min(self.len())
    }

    /// Returns whether the file ends before the space that is allocated to the last block. Nothing can then follow this block.
    pub(crate) fn ends_in_last_block(&self) -> bool {
        self.last().is_some_and(|block| block.end() > self.len())
    }

    /// Returns whether the file has a block index that is right, as far as this is known.
    pub(crate) fn has_index(&self) -> bool {
        self.index().is_some()
            || self.whole.get().is_some_and(|layout| matches!(layout.index, IndexState::Valid(_)))
    }

    /// Returns the headers that are known without reading: those of all blocks, or of the first and the last one.
    pub(crate) fn headers(&self) -> Vec<BlockEntry> {
        match self.index() {
            Some(index) => vec![index.first, index.last],
            None => self.known().to_vec(),
        }
    }

    /// Returns a block, or `None` if there are not as many blocks.
    ///
    /// # Errors
    /// Those of [`Layout::locate`], if the index is wrong about this block and a header is damaged; `Io`.
    pub(crate) fn block(&self, storage: &dyn ReadAt, number: usize) -> Result<Option<BlockEntry>> {
        if let Some(index) = self.index() {
            if let Some(found) = index.block(storage, number) {
                return found.map(Some);
            }
            // The index is wrong.
            self.all(storage)?;
        }
        Ok(self.known().get(number).copied())
    }

    /// Reads all headers, and returns the positions of all parts.
    ///
    /// # Errors
    /// Those of [`Layout::locate`].
    pub(crate) fn all(&self, storage: &dyn ReadAt) -> Result<&Layout> {
        if let Some(layout) = self.whole.get() {
            return Ok(layout);
        }
        let layout = self.start.whole(storage, &self.limits)?;
        Ok(self.whole.get_or_init(|| layout))
    }

    /// Does the same as [`all`](Self::all). If a header is damaged, the blocks end before it, and the unexplained bytes begin
    /// with it.
    pub(crate) fn layout(&self, storage: &dyn ReadAt) -> &Layout {
        self.all(storage).unwrap_or_else(|_| self.damaged.get_or_init(|| self.up_to_damage(storage)))
    }

    fn up_to_damage(&self, storage: &dyn ReadAt) -> Layout {
        let mut blocks: Vec<BlockEntry> = Vec::new();
        let index = self.indexed.as_ref();
        for number in 0..index.map_or(0, |index| index.offsets.len()) {
            match index.and_then(|index| index.block(storage, number)) {
                Some(Ok(block)) => blocks.push(block),
                _ => break,
            }
        }
        let content_end = blocks.last().map_or(self.head_end(), BlockEntry::end);
        let index = index.map_or(IndexState::Absent, |index| IndexState::Rejected {
            offset: index.text.start,
            reason: "does not list the blocks",
        });
        let Start { header, header_end, tree, len, .. } = self.start.clone();
        Layout { header, header_end, tree, blocks, index, content_end, unexplained: Some(content_end), len }
    }
}

impl Indexed {
    /// Returns the index of a file whose first blocks are known and followed by more; `None` if there is no index that can be
    /// trusted.
    ///
    /// # Errors
    /// `Io`, `LimitExceeded`.
    fn find(storage: &dyn ReadAt, blocks: &[BlockEntry], limits: &Limits) -> Result<Option<Self>> {
        let Some((first, after)) = blocks.first().zip(blocks.last().map(BlockEntry::end)) else {
            return Ok(None);
        };
        let Some((at, text)) = index_text(storage, after, limits)? else { return Ok(None) };
        let Ok((rest, BlockIndex { offsets })) = BlockIndex::parse(&text) else { return Ok(None) };
        let walked = blocks.iter().map(|block| block.offset);
        let header = BlockHeader::SIZE as u64;
        let right = offsets.len() > blocks.len()
            && walked.eq(offsets.iter().take(blocks.len()).copied())
            && offsets.is_sorted_by(|a, b| bound::sum(*a, header) <= *b)
            && rest.iter().all(|&b| b == 0);
        let Some(&last) = offsets.last().filter(|&&last| right && last < at) else { return Ok(None) };
        limits.items("blocks", offsets.len() as u64)?;
        let Ok(last) = block(storage, last) else { return Ok(None) };
        let found = !last.header.is_streamed() && last.end() == at;
        let end = bound::sum(at, bound::left(text.len(), rest.len()) as u64);
        Ok(found.then_some(Self { offsets, first: *first, last, text: at..end }))
    }

    /// Returns a block, or `None` if the index is wrong about it.
    fn block(&self, storage: &dyn ReadAt, number: usize) -> Option<Result<BlockEntry>> {
        let offset = *self.offsets.get(number)?;
        let next = number.checked_add(1).and_then(|next| self.offsets.get(next).copied());
        match block(storage, offset) {
            Ok(found) if !found.header.is_streamed() && found.end() == next.unwrap_or(self.text.start) => {
                Some(Ok(found))
            }
            Err(error @ sciformats_core::Error::Io { .. }) => Some(Err(error)),
            _ => None,
        }
    }
}
