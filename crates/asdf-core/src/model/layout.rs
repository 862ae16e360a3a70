//! The positions of the tree and the blocks of a file, which are found without reading the data of any block.
//!
//! A [`Layout`] is made by reading the headers of all blocks in order. The block index is then compared with the result. This
//! costs one small read per block, and an index that is wrong, outdated or hostile cannot mislead it. Opening a file needs less;
//! see [`located`](super::located).

use std::ops::Range;

use sciformats_core::arith::{add, sub};
use sciformats_core::fault::{FaultKind, locate};
use sciformats_core::{Error, Fault, Limits, ReadAt, Result, bound};

use crate::spec::block_header::{BlockHeader, MAGIC};
use crate::spec::block_index::{self, BlockIndex};
use crate::spec::header_line::{Header, TOKEN};
use crate::spec::yaml_frame;

/// The number of bytes that are read at a time while searching for an end.
const PIECE: usize = 64 << 10;
/// The largest piece of a tree that is read at a time while its end is searched for.
const LARGEST_PIECE: usize = 4 << 20;
/// The number of bytes at the end of a piece that may be the beginning of a magic token.
const OVERLAP: usize = MAGIC.len() - 1;

/// If each read costs a round trip, the headers of further blocks are only read up to this offset when a file is opened.
const NEAR: u64 = 512 << 10;

/// One block of a file.
///
/// ```
/// # let mut document = asdf_core::Document::new();
/// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
/// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
/// let entry = file.block(0)?.entry();
/// assert_eq!((entry.stored, entry.data_size()), (24, 24));
/// assert_eq!(entry.data_offset(), entry.offset + 54); // behind the header
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockEntry {
    /// The offset of its magic token.
    pub offset: u64,
    /// Its header as it is stored.
    pub header: BlockHeader,
    /// The number of bytes stored from [`data_offset`](Self::data_offset) on: the used size, or everything up to the end if
    /// streamed.
    pub stored: u64,
}

impl BlockEntry {
    /// Returns the offset of its stored bytes. A block that was found is inside its file. For a block that a caller made up, the
    /// result is a bound that no file reaches.
    pub fn data_offset(&self) -> u64 {
        bound::sum(self.offset, self.header.size())
    }

    /// Returns the end of the space that is allocated to it. Like [`data_offset`](Self::data_offset), this can be a bound. The file may
    /// end before it, if this is the last block and has room to grow.
    ///
    /// ```
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// let entry = file.block(0)?.entry();
    /// assert!(entry.end() >= entry.data_offset() + entry.stored); // it may have room to grow
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn end(&self) -> u64 {
        let size = if self.header.is_streamed() { self.stored } else { self.header.allocated_size };
        bound::sum(self.data_offset(), size)
    }

    /// Returns the number of bytes after decoding.
    pub fn data_size(&self) -> u64 {
        if self.header.is_streamed() { self.stored } else { self.header.data_size }
    }
}

/// The state of the block index.
///
/// ```
/// use asdf_core::structure::IndexState;
///
/// # let mut document = asdf_core::Document::new();
/// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
/// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
/// let IndexState::Valid(range) = &file.layout().index else { unreachable!() };
/// assert_eq!(range.start, file.layout().content_end);
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexState {
    /// There is no index. It is optional.
    Absent,
    /// The index agrees with the blocks. The range is that of its text.
    Valid(Range<u64>),
    /// The index does not agree with the blocks, and is ignored.
    Rejected {
        /// The offset of the index.
        offset: u64,
        /// The reason, which completes the sentence "the block index …".
        reason: &'static str,
    },
}

/// The positions of all parts of a file.
///
/// ```
/// # let mut document = asdf_core::Document::new();
/// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
/// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
/// let layout = file.layout();
/// assert_eq!(layout.blocks.len(), 1);
/// assert_eq!(layout.tree.as_ref().map(|tree| tree.start), Some(layout.header_end));
/// assert_eq!(layout.unexplained, None);
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The first line and the comments.
    pub header: Header,
    /// The end of the header, which is the start of the tree if there is one.
    pub header_end: u64,
    /// The text of the tree, from `%YAML` to the line that ends it.
    pub tree: Option<Range<u64>>,
    /// The blocks in the order in which they are in the file.
    pub blocks: Vec<BlockEntry>,
    /// The state of the block index.
    pub index: IndexState,
    /// The end of the last block, or of the tree, or of the header.
    pub content_end: u64,
    /// The offset of bytes after the content that are neither the index nor zeros, if there are any.
    pub unexplained: Option<u64>,
    /// The length of the file.
    pub len: u64,
}

impl IndexState {
    /// The reason for rejecting an index whose first offset is that of another block.
    pub(crate) const OTHER_FIRST: &str = "does not begin with the first block";
    /// The reason for rejecting an index that is right, but for its first blocks, in whose place the tree is now.
    pub(crate) const OVERWRITTEN: &str = "begins with blocks that the tree has overwritten";
}

impl Layout {
    /// Finds all parts of `storage`.
    ///
    /// ```
    /// use asdf_core::Limits;
    /// use asdf_core::structure::Layout;
    ///
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// let bytes = document.to_bytes()?;
    /// let layout = Layout::locate(&bytes, &Limits::default())?; // the tree is not parsed
    /// assert_eq!(layout.blocks[0].data_size(), 24);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Malformed`] if the standard does not allow a header, tree or block; `LimitExceeded` if there are more blocks than
    /// `limits.items`; `Io`.
    pub fn locate(storage: &dyn ReadAt, limits: &Limits) -> Result<Self> {
        Start::find(storage)?.whole(storage, limits)
    }

    /// Returns the offset up to which the tree can grow: the first block, or the end of the file.
    ///
    /// ```
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// let layout = file.layout();
    /// let room = layout.tree.as_ref().map(|tree| layout.tree_room_end() - tree.start);
    /// assert!(room > Some(100)); // what the text of a new tree may have
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn tree_room_end(&self) -> u64 {
        self.blocks.first().map_or(self.len, |block| block.offset)
    }

    /// Checks that nothing could follow the last block if its header had the usual size. Otherwise this size is damaged, and the
    /// data of the block would seem to be elsewhere.
    fn check_last(&self, storage: &dyn ReadAt) -> Result<()> {
        let Some(last) = self.blocks.last().filter(|last| !last.header.is_streamed()) else { return Ok(()) };
        if last.header.size() == BlockHeader::SIZE as u64
            || self.unexplained.is_none() && last.end() <= self.len
        {
            return Ok(());
        }
        let usual = bound::sum(bound::sum(last.offset, BlockHeader::SIZE as u64), last.header.allocated_size);
        let next = storage
            .read_at(usual.min(self.len), clamped(bound::left(self.len, usual), block_index::TOKEN.len()))?;
        if usual == self.len || next.starts_with(&MAGIC) || *next == *block_index::TOKEN {
            let rule = FaultKind::Rule("does not lead to what follows, and the usual size does");
            return Err(Fault::new("header_size", rule).at("block header", bound::sum(last.offset, 4)));
        }
        Ok(())
    }

    fn read_index(&mut self, storage: &dyn ReadAt, limits: &Limits) -> Result<()> {
        let at = self.content_end;
        let Some(last) = self.blocks.last() else { return self.read_lone_index(storage, limits) };
        if last.header.is_streamed() {
            return Ok(());
        }
        let left = sub(self.len, at)?;
        let token = storage.read_at(at, clamped(left, block_index::TOKEN.len()))?;
        if *token != *block_index::TOKEN {
            self.unexplained = first_non_zero(storage, at)?;
            return Ok(());
        }
        let rejected = |reason| IndexState::Rejected { offset: at, reason };
        let last = last.offset;
        // An index has at most 23 bytes per block, so a much longer text is not one and need not be read.
        let plausible = bound::sum(bound::product(self.blocks.len() as u64, 64), 1 << 12);
        let size = limits.memory("bytes of the block index", left.min(plausible))?;
        let text = storage.read_at(at, size)?;
        self.index = match BlockIndex::parse(&text) {
            Err(_) => rejected("cannot be read"),
            Ok((rest, index)) => {
                let end = add(at, sub(text.len(), rest.len())? as u64)?;
                let ascends = index.offsets.is_sorted_by(|a, b| a < b);
                let found = self.blocks.iter().map(|block| block.offset);
                let (overwritten, listed) = self.overwritten(&index);
                match listed {
                    _ if !ascends => rejected("is not in ascending order"),
                    [] if !overwritten.is_empty() => rejected(IndexState::OTHER_FIRST),
                    [first, ..] if self.blocks.first().is_some_and(|b| b.offset != *first) => {
                        rejected(IndexState::OTHER_FIRST)
                    }
                    [.., stored] if *stored != last => rejected("does not end with the last block"),
                    listed if !listed.iter().copied().eq(found) => rejected("does not list the blocks"),
                    _ if first_non_zero(storage, end)?.is_some() => rejected("is followed by other bytes"),
                    _ if !overwritten.is_empty() => rejected(IndexState::OVERWRITTEN),
                    _ => IndexState::Valid(at..end),
                }
            }
        };
        Ok(())
    }

    /// Looks for an index at the end of a file without blocks. A tree that has grown over all blocks leaves the rest of the last one, and
    /// the index behind it.
    fn read_lone_index(&mut self, storage: &dyn ReadAt, limits: &Limits) -> Result<()> {
        let is_blank = |byte: u8| byte == 0 || byte.is_ascii_whitespace();
        let Some(rest) = first_other(storage, self.content_end, is_blank)? else { return Ok(()) };
        self.unexplained = Some(rest);
        let Some((offset, text)) = index_text(storage, self.content_end, limits)? else { return Ok(()) };
        let parsed = BlockIndex::parse(&text).ok().filter(|(after, _)| after.iter().all(|&b| b == 0));
        let Some((after, index)) = parsed else { return Ok(()) };
        let (overwritten, listed) = self.overwritten(&index);
        let end = sub(self.len, after.len() as u64)?;
        self.unexplained = Some(rest).filter(|&rest| rest < offset);
        self.index = match (overwritten, listed) {
            ([], []) => IndexState::Valid(offset..end),
            (_, []) => IndexState::Rejected { offset, reason: IndexState::OVERWRITTEN },
            _ => IndexState::Rejected { offset, reason: IndexState::OTHER_FIRST },
        };
        Ok(())
    }

    /// Divides the offsets of an index in those in the header and the tree, and those behind them.
    fn overwritten<'a>(&self, index: &'a BlockIndex) -> (&'a [u64], &'a [u64]) {
        let head = self.tree.as_ref().map_or(self.header_end, |tree| tree.end);
        let inside = index.offsets.iter().take_while(|&&offset| offset < head).count();
        index.offsets.split_at_checked(inside).unwrap_or_default()
    }
}

/// The parts before the blocks.
#[derive(Clone, Debug)]
pub(super) struct Start {
    pub(super) header: Header,
    pub(super) header_end: u64,
    pub(super) tree: Option<Range<u64>>,
    /// The offset of the first block, if there is one.
    pub(super) first: Option<u64>,
    /// The offset of bytes between the tree and the first block that are not zeros, if there are any.
    pub(super) room: Option<u64>,
    /// The length of the file.
    pub(super) len: u64,
}

impl Start {
    pub(super) fn find(storage: &dyn ReadAt) -> Result<Self> {
        let size = bound::addressable(storage.size()).min(TOKEN.len());
        if *storage.read_at(0, size)? != *TOKEN {
            return Err(Error::not_this_format("ASDF", storage));
        }
        let (header, header_end) = header(storage)?;
        let tree = tree(storage, header_end)?;
        let (first, room) = match &tree {
            Some(tree) => first_block(storage, tree.end)?.map_or((None, None), |(at, room)| (Some(at), room)),
            None => ((header_end < storage.size()).then_some(header_end), None),
        };
        Ok(Self { header, header_end, tree, first, room, len: storage.size() })
    }

    /// Reads the headers of at most `count` blocks, and returns whether more blocks follow. If each read costs a round trip, fewer
    /// headers are read when `count` is limited: those near the front of the file, which are fetched anyway.
    pub(super) fn walk(
        &self,
        storage: &dyn ReadAt,
        limits: &Limits,
        count: usize,
    ) -> Result<(Vec<BlockEntry>, bool)> {
        let mut blocks = Vec::new();
        let mut next = self.first;
        let near = if count == usize::MAX || storage.read_ahead() == 0 { u64::MAX } else { NEAR };
        while let Some(at) = next.filter(|_| blocks.len() < count) {
            let entry = block(storage, at)?;
            blocks.push(entry);
            limits.items("blocks", blocks.len() as u64)?;
            let end = entry.end();
            let has_room = bound::left(storage.size(), end) >= MAGIC.len() as u64;
            if end >= near {
                return Ok((blocks, has_room && !entry.header.is_streamed()));
            }
            let is_last =
                entry.header.is_streamed() || !has_room || *storage.read_at(end, MAGIC.len())? != MAGIC;
            next = (!is_last).then_some(end);
        }
        Ok((blocks, next.is_some()))
    }

    /// Reads the headers of all blocks, and returns the positions of all parts.
    pub(super) fn whole(&self, storage: &dyn ReadAt, limits: &Limits) -> Result<Layout> {
        let (blocks, _) = self.walk(storage, limits, usize::MAX)?;
        self.layout(storage, blocks, limits)
    }

    /// Returns the positions of all parts; `blocks` are all blocks.
    pub(super) fn layout(
        &self,
        storage: &dyn ReadAt,
        blocks: Vec<BlockEntry>,
        limits: &Limits,
    ) -> Result<Layout> {
        let Self { header, header_end, tree, len, .. } = self.clone();
        let after = tree.as_ref().map_or(header_end, |tree| tree.end);
        let content_end = blocks.last().map_or(after, BlockEntry::end).min(len);
        let index = IndexState::Absent;
        let mut layout =
            Layout { header, header_end, tree, blocks, index, content_end, unexplained: None, len };
        layout.read_index(storage, limits)?;
        layout.check_last(storage)?;
        Ok(layout)
    }
}

/// Returns `left`, but at most `size`.
fn clamped(left: u64, size: usize) -> usize {
    bound::addressable(left).min(size)
}

/// Parses the header lines. They are read in pieces until a line follows that is not a comment.
fn header(storage: &dyn ReadAt) -> Result<(Header, u64)> {
    let mut size = 4 << 10;
    loop {
        let bytes = storage.read_at(0, clamped(storage.size(), size))?;
        let whole = bytes.len() as u64 == storage.size();
        let parsed = locate("header", 0, &bytes, |i| {
            Header::parse(i).map(|(rest, header)| (rest, (header, rest.len())))
        });
        match parsed {
            Ok((header, rest)) if whole || rest > block_index::TOKEN.len() => {
                return Ok((header, sub(bytes.len(), rest)? as u64));
            }
            Err(e) if whole || !bytes.contains(&b'\n') && bytes.len() >= PIECE => return Err(e),
            Err(e) if bytes.contains(&b'\n') && !bytes.starts_with(b"#ASDF") => return Err(e),
            _ => size = bound::product(size, 2),
        }
    }
}

fn tree(storage: &dyn ReadAt, start: u64) -> Result<Option<Range<u64>>> {
    let left = sub(storage.size(), start)?;
    let head = storage.read_at(start, clamped(left, yaml_frame::TOKEN.len()))?;
    if head.is_empty() || head.starts_with(&MAGIC) {
        return Ok(None);
    }
    if *head != *yaml_frame::TOKEN {
        let rule = FaultKind::Rule("is neither `%YAML` nor a block, nor a comment");
        return Err(Fault::new("what follows the header", rule).at("tree", start));
    }
    if let Some(all) = storage.as_slice() {
        let text = usize::try_from(start).ok().and_then(|start| all.get(start..)).unwrap_or_default();
        return end_of_tree(start, yaml_frame::size(text, 0).map(|size| size as u64));
    }
    // The text from the start of the last line on, and the number of bytes before it.
    let (mut text, mut before, mut size) = (Vec::new(), 0_u64, PIECE);
    loop {
        let done = text.len();
        let at = add(start, add(before, done as u64)?)?;
        let piece = storage.read_at(at, clamped(bound::left(storage.size(), at), size))?;
        text.extend_from_slice(&piece);
        let whole = add(at, piece.len() as u64)? >= storage.size();
        let end = |size: usize| add(before, size as u64).and_then(|size| end_of_tree(start, Some(size)));
        match yaml_frame::size(&text, done) {
            Some(size) if whole || yaml_frame::is_complete(&text, size) => return end(size),
            None if whole => return end_of_tree(start, None),
            _ => {}
        }
        let line = text.iter().rposition(|&b| b == b'\n').map_or(0, |newline| bound::sum(newline, 1));
        text.drain(..line);
        before = add(before, line as u64)?;
        // Pieces double in size, so that a long tree is read with few calls.
        size = bound::product(size, 2).min(LARGEST_PIECE);
    }
}

fn end_of_tree(start: u64, size: Option<u64>) -> Result<Option<Range<u64>>> {
    match size {
        Some(size) => Ok(Some(start..add(start, size)?)),
        None => Err(Fault::new("end line `...`", FaultKind::Rule("is missing")).at("tree", start)),
    }
}

/// Returns the first block at or after `from`. Padding may precede it, and may contain bytes that look like its magic token.
///
/// A token directly after the tree always starts a block. A token inside padding counts if a valid header follows that fits the
/// file; if there is none, the error of the first token is returned. The offset of the first byte of the padding that is not zero is
/// returned too.
fn first_block(storage: &dyn ReadAt, from: u64) -> Result<Option<(u64, Option<u64>)>> {
    let mut at = from;
    let (mut rejected, mut room) = (None, None);
    while at < storage.size() {
        let piece = storage.read_at(at, clamped(bound::left(storage.size(), at), PIECE))?;
        let other = || piece.iter().position(|&b| b != 0);
        room = room.or_else(|| other().map(|i| bound::sum(at, i as u64)));
        for (i, _) in piece.windows(MAGIC.len()).enumerate().filter(|(_, window)| *window == MAGIC) {
            let offset = add(at, i as u64)?;
            if offset == from {
                return Ok(Some((offset, None)));
            }
            match block(storage, offset) {
                Ok(_) => return Ok(Some((offset, room.filter(|&at| at < offset)))),
                Err(e @ Error::Io { .. }) => return Err(e),
                Err(e) => rejected.get_or_insert(e),
            };
        }
        // A token may be at the border between two pieces.
        let Some(before) = piece.len().checked_sub(OVERLAP).filter(|&before| before > 0) else {
            break;
        };
        at = add(at, before as u64)?;
        if bound::sum(at, MAGIC.len() as u64) > storage.size() {
            break;
        }
    }
    rejected.map_or(Ok(None), Err)
}

pub(super) fn block(storage: &dyn ReadAt, offset: u64) -> Result<BlockEntry> {
    let left = bound::left(storage.size(), offset);
    let bytes = storage.read_at(offset, clamped(left, BlockHeader::SIZE))?;
    let header = locate("block header", offset, &bytes, BlockHeader::parse)?;
    let room = left.checked_sub(header.size()).ok_or_else(|| {
        let kind = FaultKind::OutOfBounds { found: header.header_size.into(), end: left };
        Fault::new("header_size", kind).at("block header", bound::sum(offset, 4))
    })?;
    if header.is_streamed() {
        return Ok(BlockEntry { offset, header, stored: room });
    }
    if header.allocated_size > room && !is_last(storage, offset, &header, room)? {
        let kind = FaultKind::OutOfBounds { found: header.allocated_size, end: bound::sum(room, 1) };
        return Err(Fault::new("allocated_size", kind).at("block header", bound::sum(offset, 14)));
    }
    Ok(BlockEntry { offset, header, stored: header.used_size })
}

/// Returns whether nothing follows the used bytes of a block, for which there is not as much room as its header says. Some writers leave
/// out the room for the last block to grow. If anything follows, this may be other blocks, and the size in the header is damaged.
fn is_last(storage: &dyn ReadAt, offset: u64, header: &BlockHeader, room: u64) -> Result<bool> {
    let start = add(offset, header.size())?;
    // No file has room for 2^63 bytes.
    let has_end = start.checked_add(header.allocated_size).is_some_and(|end| i64::try_from(end).is_ok());
    if header.used_size > room || !has_end {
        return Ok(false);
    }
    let end = add(start, header.used_size)?;
    Ok(first_non_zero(storage, end)?.is_none())
}

fn first_non_zero(storage: &dyn ReadAt, from: u64) -> Result<Option<u64>> {
    first_other(storage, from, |byte| byte == 0)
}

/// Returns the offset of the first byte that does not count as blank.
fn first_other(storage: &dyn ReadAt, from: u64, is_blank: impl Fn(u8) -> bool) -> Result<Option<u64>> {
    let mut at = from;
    while at < storage.size() {
        let piece = storage.read_at(at, clamped(bound::left(storage.size(), at), PIECE))?;
        if let Some(i) = piece.iter().position(|&b| !is_blank(b)) {
            return Ok(Some(add(at, i as u64)?));
        }
        at = add(at, piece.len() as u64)?;
    }
    Ok(None)
}

/// Returns the text of the index at the end of the file, and its offset, which is at least `after`. Zeros may follow the text.
pub(super) fn index_text(
    storage: &dyn ReadAt,
    after: u64,
    limits: &Limits,
) -> Result<Option<(u64, Vec<u8>)>> {
    // The data is not searched for an index: the bytes at the end must look like one.
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
        // There may be zeros at the end of the file.
        let zeros = if seen == text.len() { head.iter().rev().take_while(|&&b| b == 0).count() } else { 0 };
        let looked_at = bound::left(seen, zeros);
        if looked_at == 0 || !head.iter().take(looked_at).all(is_text) {
            return Ok(None);
        }
    }
    Ok(None)
}
