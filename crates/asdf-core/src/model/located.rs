//! Where the parts of an open file are, found with as few reads as the file allows.
//!
//! The standard lets readers trust a block index whose first and last entries are right, if they check each block that
//! they use. So the headers of the first blocks are read one after another, and where more follow, the index is looked
//! for at the end of the file:
//!
//! | what is checked | when |
//! |---|---|
//! | the first [`WALKED`] entries are the blocks that were found by walking | when the file is opened |
//! | the offsets ascend, each at least a header behind the one before | when the file is opened |
//! | a block begins at the last entry, and the index begins where that block ends | when the file is opened |
//! | nothing but zeros follows the index | when the file is opened |
//! | a block begins at an entry and ends where the next entry says | when the block is used |
//!
//! If anything is not so, every header is read, as if there were no index.

use std::ops::Range;
use std::sync::OnceLock;

use sciformats_core::{Limits, ReadAt, Result, bound};

use super::layout::{BlockEntry, IndexState, Layout, Start, block};
use crate::spec::block_header::BlockHeader;
use crate::spec::block_index::{self, BlockIndex};
use crate::spec::header_line::Header;

/// So many headers are read before the index is asked.
pub(super) const WALKED: usize = 32;

/// How much is read at a time while the beginning of the index is searched for.
const PIECE: usize = 64 << 10;

/// Where the parts of a file are. Which blocks there are is known; their headers are read when they are asked for.
#[derive(Debug)]
pub(crate) struct Located {
    start: Start,
    /// What the index says, as long as nothing has contradicted it.
    indexed: Option<Indexed>,
    /// Everything, once all headers have been read.
    whole: OnceLock<Layout>,
    /// What there is of it where a header in the middle is bad.
    damaged: OnceLock<Layout>,
    limits: Limits,
}

/// A block index that has passed the checks of opening.
#[derive(Debug)]
struct Indexed {
    offsets: Vec<u64>,
    first: BlockEntry,
    last: BlockEntry,
    text: Range<u64>,
}

impl Located {
    /// Finds everything in `storage`.
    ///
    /// # Errors
    /// As [`Layout::locate`].
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
        // What all headers say counts more.
        if self.whole.get().is_some() { None } else { self.indexed.as_ref() }
    }

    /// The first line and the comments.
    pub(crate) fn header(&self) -> &Header {
        &self.start.header
    }

    /// The tree's text.
    pub(crate) fn tree(&self) -> Option<&Range<u64>> {
        self.start.tree.as_ref()
    }

    /// The end of the tree, or of the header where there is none.
    pub(crate) fn head_end(&self) -> u64 {
        self.start.tree.as_ref().map_or(self.start.header_end, |tree| tree.end)
    }

    /// The length of the file.
    pub(crate) fn len(&self) -> u64 {
        self.start.len
    }

    /// The number of blocks.
    pub(crate) fn count(&self) -> usize {
        match self.index() {
            Some(index) => index.offsets.len(),
            None => self.known().len(),
        }
    }

    /// The blocks whose headers have all been read.
    fn known(&self) -> &[BlockEntry] {
        self.whole.get().map(|layout| layout.blocks.as_slice()).unwrap_or_default()
    }

    /// Where the blocks begin, in their order.
    pub(crate) fn offsets(&self) -> Vec<u64> {
        match self.index() {
            Some(index) => index.offsets.clone(),
            None => self.known().iter().map(|block| block.offset).collect(),
        }
    }

    /// The first block.
    pub(crate) fn first(&self) -> Option<&BlockEntry> {
        self.index().map(|index| &index.first).or_else(|| self.known().first())
    }

    /// The last block.
    pub(crate) fn last(&self) -> Option<&BlockEntry> {
        self.index().map(|index| &index.last).or_else(|| self.known().last())
    }

    /// Whether the last block extends to the end of the file.
    pub(crate) fn is_streamed(&self) -> bool {
        self.last().is_some_and(|block| block.header.is_streamed())
    }

    /// The end of the last block, or of the tree, or of the header.
    pub(crate) fn content_end(&self) -> u64 {
        self.last().map_or(self.head_end(), BlockEntry::end)
    }

    /// Whether the file has a block index that is right, as far as that is known.
    pub(crate) fn has_index(&self) -> bool {
        self.index().is_some()
            || self.whole.get().is_some_and(|layout| matches!(layout.index, IndexState::Valid(_)))
    }

    /// The headers that are known without reading any: of all blocks, or of the first and the last.
    pub(crate) fn headers(&self) -> Vec<BlockEntry> {
        match self.index() {
            Some(index) => vec![index.first, index.last],
            None => self.known().to_vec(),
        }
    }

    /// A block; `None` if there are not so many.
    ///
    /// # Errors
    /// As [`Layout::locate`], if the index is wrong about this block and the walk over all headers meets a bad one; `Io`.
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

    /// Everything, all headers read.
    ///
    /// # Errors
    /// As [`Layout::locate`].
    pub(crate) fn all(&self, storage: &dyn ReadAt) -> Result<&Layout> {
        if let Some(layout) = self.whole.get() {
            return Ok(layout);
        }
        let layout = Layout::locate(storage, &self.limits)?;
        Ok(self.whole.get_or_init(|| layout))
    }

    /// As [`all`](Self::all). Where a header in the middle is bad, the blocks end before it, and it begins the bytes that
    /// nothing explains.
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
    /// The index of a file whose first blocks are known and followed by more; `None` if there is none that can be trusted.
    ///
    /// # Errors
    /// `Io`, `LimitExceeded`.
    fn find(storage: &dyn ReadAt, blocks: &[BlockEntry], limits: &Limits) -> Result<Option<Self>> {
        let Some((first, after)) = blocks.first().zip(blocks.last().map(BlockEntry::end)) else {
            return Ok(None);
        };
        let Some((at, text)) = text(storage, after, limits)? else { return Ok(None) };
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

    /// A block; `None` if the index is wrong about it.
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

/// The text of the index at the end of the file, and where it begins: behind `after`. Zeros may follow it.
fn text(storage: &dyn ReadAt, after: u64, limits: &Limits) -> Result<Option<(u64, Vec<u8>)>> {
    // Data is not gone through in search of an index: what stands at the end must look like one.
    let is_text = |b: &u8| b.is_ascii_digit() || b.is_ascii_uppercase() || b" -,.#%[]\r\n\t".contains(b);
    let mut text: Vec<u8> = Vec::new();
    let mut start = storage.size();
    while start > after {
        let size = bound::addressable(bound::left(start, after)).min(text.len().max(PIECE));
        start = bound::left(start, size as u64);
        limits.memory("bytes of the block index", bound::left(storage.size(), start))?;
        let mut piece = storage.read_at(start, size)?.into_owned();
        let seen = piece.len();
        piece.extend_from_slice(&text);
        text = piece;
        let reach = bound::sum(seen, block_index::TOKEN.len()).min(text.len());
        let head = text.get(..reach).unwrap_or_default();
        if let Some(found) =
            head.windows(block_index::TOKEN.len()).rposition(|window| window == block_index::TOKEN)
        {
            return Ok(Some((bound::sum(start, found as u64), text.split_off(found))));
        }
        // Zeros may stand at the end of the file.
        let zeros = if seen == text.len() { head.iter().rev().take_while(|&&b| b == 0).count() } else { 0 };
        let looked_at = bound::left(seen, zeros);
        if looked_at == 0 || !head.iter().take(looked_at).all(is_text) {
            return Ok(None);
        }
    }
    Ok(None)
}
