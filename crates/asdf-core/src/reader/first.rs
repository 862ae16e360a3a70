//! Whether the first block that was found is the first block of the file, and the last one the last.
//!
//! Blocks are told by their numbers, and the space before the first one may contain anything. If the header of a block is damaged,
//! it looks like a part of this space, and each of the blocks after it would be taken for another one. Bytes in this space that are
//! not zeros are therefore compared with everything that knows more about the blocks:
//!
//! | what | what it says if a block is missing |
//! |---|---|
//! | the tree | an array is in a block whose number is too large, or is given from the start for a block that is streamed |
//! | the block index | it begins with an offset in the space; offsets in the tree do not count, because the tree has overwritten these blocks |
//! | the space | a header with a damaged token or a damaged size leads to the block that was found |
//!
//! What follows the last block that was found may begin with a damaged block in the same way. If it is neither zeros nor the block index,
//! it is examined before a file is written, which would lack this block and all blocks after it.

use sciformats_core::fault::FaultKind;
use sciformats_core::{Fault, ReadAt, Result, bound};

use super::Asdf;
use crate::model::located::Tail;
use crate::model::ndarray::Source;
use crate::spec::block_header::{BlockHeader, MAGIC};
use crate::spec::block_index::TOKEN;
use crate::structure::IndexState;

/// The number of bytes that are read at a time.
const PIECE: usize = 64 << 10;

/// The size of a header after the field of this name, as all programs write it.
const USUAL: u64 = 48;

impl Asdf {
    /// Checks that no damaged block precedes the first one that was found. Without bytes that could be one, nothing is read.
    ///
    /// # Errors
    /// `Malformed` with the offset of the bytes; `Io`.
    pub(crate) fn check_first(&self) -> Result<()> {
        let Some((start, first)) = self.located.doubt() else { return Ok(()) };
        if let Some(known) = self.first.get() {
            return known.clone();
        }
        let reason = match self.contradiction() {
            Some(reason) => Some((start, reason)),
            None => damaged_header(&*self.storage, start, first.offset)?
                .map(|at| (at, "is damaged, because its sizes lead to the block that follows")),
        };
        let found = match reason {
            Some((at, reason)) => {
                Err(Fault::new("magic token", FaultKind::Rule(reason)).at("block header", at))
            }
            None => Ok(()),
        };
        self.first.get_or_init(|| found).clone()
    }

    /// Checks that no damaged block follows the last one that was found.
    ///
    /// # Errors
    /// `Malformed` with the offset of the bytes; `Io`.
    pub(crate) fn check_last(&self) -> Result<()> {
        if let Some(known) = self.last.get() {
            return known.clone();
        }
        let (start, is_index, hides) = match self.located.tail() {
            Some(Tail::Unknown(start)) => (start, false, true),
            Some(Tail::Overwritten { start, .. }) => (start, true, true),
            Some(Tail::Index(start)) => (start, true, false),
            None => return Ok(()),
        };
        let reason = match self.names_more().filter(|_| hides) {
            Some(reason) => Some(reason),
            None => has_more(&*self.storage, start, is_index)?
                .then_some("is damaged, because other blocks or the block index follow"),
        };
        let found = match reason {
            Some(reason) => Err(Fault::new("magic token", FaultKind::Rule(reason)).at("block header", start)),
            None => Ok(()),
        };
        self.last.get_or_init(|| found).clone()
    }

    /// Returns what contradicts the number of blocks, as the end of a sentence about the bytes before the first one.
    fn contradiction(&self) -> Option<&'static str> {
        if let IndexState::Rejected { reason: IndexState::OTHER_FIRST, .. } = self.layout().index {
            return Some("is damaged, because the block index begins with another block");
        }
        self.names_more()
    }

    /// Returns the same if the tree names more blocks than there are.
    fn names_more(&self) -> Option<&'static str> {
        let blocks = i128::try_from(self.located.count()).unwrap_or(i128::MAX); // a bound
        let streamed = if self.located.is_streamed() { 1 } else { 0 };
        let nodes = self.tree.visible().into_iter().filter(|&node| self.is_array(node));
        let mut sources = nodes.filter_map(|node| Some(self.described(node).ok()?.source));
        let lacks = |source: Source| match source {
            Source::Block(number) => {
                let number = i128::from(number);
                number.saturating_add(streamed) >= blocks || number.saturating_add(blocks) < 0 // a bound
            }
            _ => false,
        };
        sources.any(lacks).then_some("is damaged, because the tree names more blocks than there are")
    }
}

/// Returns whether there is a block or a block index anywhere from `start` on, or a header of which one field may be damaged and whose
/// block ends with the file. If another index begins at `start`, only blocks count.
fn has_more(storage: &dyn ReadAt, start: u64, is_index: bool) -> Result<bool> {
    let mut at = start;
    while at < storage.size() {
        let size = bound::addressable(bound::left(storage.size(), at)).min(PIECE);
        let piece = storage.read_at(at, size)?;
        let has = |token: &[u8]| piece.windows(token.len()).any(|window| window == token);
        if has(&MAGIC) || !is_index && has(TOKEN) {
            return Ok(true);
        }
        // A token may be at the border between two pieces.
        let done = bound::left(size, TOKEN.len() - 1);
        if done == 0 {
            break;
        }
        at = bound::sum(at, done as u64);
    }
    Ok(!is_index && damaged_header(storage, start, storage.size())?.is_some())
}

/// Returns the offset of a damaged header between `start` and a block at `first`: its sizes lead there, and what is not damaged is as
/// in any header.
///
/// ```
/// use asdf_core::structure::{BlockHeader, Label, damaged_header};
///
/// let header = BlockHeader {
///     header_size: 48,
///     flags: 0,
///     compression: Label::NONE,
///     allocated_size: 8,
///     used_size: 8,
///     data_size: 8,
///     checksum: [0; 16],
/// };
/// let mut bytes = Vec::new();
/// header.encode(&mut bytes);
/// bytes.extend([7; 8]);
/// bytes[1] ^= 4; // the token
/// let next = bytes.len() as u64;
/// assert_eq!(damaged_header(&bytes, 0, next)?, Some(0));
/// # Ok::<(), asdf_core::Error>(())
/// ```
///
/// # Errors
/// `Io`.
pub fn damaged_header(storage: &dyn ReadAt, start: u64, first: u64) -> Result<Option<u64>> {
    // A token may begin before the first byte that is not zero only if that byte is one of the token.
    let mut at = bound::left(start, MAGIC.len() as u64);
    while bound::sum(at, BlockHeader::SIZE as u64) <= first {
        let size = bound::addressable(bound::left(first, at)).min(PIECE);
        let piece = storage.read_at(at, size)?;
        for (offset, bytes) in (at..).zip(piece.windows(BlockHeader::SIZE)) {
            if leads(bytes, bound::left(first, offset)) {
                return Ok(Some(offset));
            }
        }
        // A header may be at the border between two pieces.
        at = bound::sum(at, bound::left(piece.len(), BlockHeader::SIZE - 1) as u64);
    }
    Ok(None)
}

/// Returns whether these bytes are a header of which one field may be damaged, and whose block has this length.
fn leads(bytes: &[u8], length: u64) -> bool {
    let number = |at: usize| {
        let field = bytes.get(at..).and_then(|rest| rest.first_chunk());
        field.map_or(0, |field| u64::from_be_bytes(*field))
    };
    let size = bytes
        .get(4..)
        .and_then(|rest| rest.first_chunk())
        .map_or(0, |two| u64::from(u16::from_be_bytes(*two)));
    let (allocated, used) = (number(14), number(22));
    let is_usual = size == USUAL;
    let has_token = bytes.starts_with(&MAGIC);
    let reaches = |size: u64, room: u64| room > 0 && bound::sum(bound::sum(6, size), room) == length;
    match (has_token, is_usual) {
        (false, true) => reaches(size, allocated) && used <= allocated,
        // The room of the block is damaged, but what is stored has its place.
        (true, true) => used > 0 && bound::sum(bound::sum(6, size), used) <= length,
        (true, false) => reaches(USUAL, allocated),
        (false, false) => false,
    }
}

#[cfg(test)]
mod tests {
    use sciformats_core::Error;

    use crate::Asdf;

    const TREE: &str = "#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n---\n";
    const ARRAY: &str = "!core/ndarray-1.1.0 {datatype: uint8, byteorder: little, shape: [8], source: ";

    fn block(value: u8, flags: u8) -> Vec<u8> {
        let mut block = b"\xd3BLK\x00\x30\x00\x00\x00".to_vec();
        block.push(flags);
        block.extend([0; 4]);
        for size in [64u64, 8, 8] {
            block.extend(size.to_be_bytes());
        }
        block.extend([0; 16]);
        block.extend([value; 64]);
        block
    }

    /// A file with two or three blocks, of which the tree names the first ones, and room after the tree.
    fn file(named: usize, blocks: &[Vec<u8>]) -> (Vec<u8>, usize) {
        let arrays: String = (0..named).map(|at| format!("a{at}: {ARRAY}{at}}}\n")).collect();
        let mut bytes = format!("{TREE}{arrays}...\n").into_bytes();
        bytes.extend([b' '; 40]);
        bytes.extend([0; 300]);
        let first = bytes.len();
        blocks.iter().for_each(|block| bytes.extend(block));
        (bytes, first)
    }

    #[test]
    fn blocks_after_a_damaged_one_do_not_take_its_number() {
        let three = [block(1, 0), block(2, 0), block(3, 0)];
        let streamed = [block(1, 0), block(2, 0), block(3, 1)];
        for (named, blocks) in [(3, &three), (2, &three), (1, &three), (2, &streamed)] {
            let (sound, first) = file(named, blocks);
            let read = |bytes: Vec<u8>, path: &str| Asdf::from_bytes(bytes)?.array(path)?.read::<u8>();
            assert_eq!(read(sound.clone(), "a0").unwrap(), [1; 8]);
            // Each byte of the token and of the sizes.
            for at in (0..6).chain(14..22) {
                for flip in [0x01, 0x80, 0xff] {
                    let mut damaged = sound.clone();
                    damaged[first + at] ^= flip;
                    for number in 0..named {
                        match read(damaged.clone(), &format!("a{number}")) {
                            Ok(found) => assert_eq!(found, [number as u8 + 1; 8], "{named} {at} {flip}"),
                            Err(error) => assert!(matches!(error, Error::Malformed { .. }), "{error}"),
                        }
                    }
                    let file = Asdf::from_bytes(damaged);
                    assert!(file.is_err() || !file.unwrap().verify().unwrap().is_empty());
                }
            }
        }
    }

    #[test]
    fn room_that_looks_like_a_block_is_room() {
        for room in [&b"\xd3BLK"[..], b"old text: !core/ndarray-1.1.0 {source: 7}\n"] {
            let (mut bytes, first) = file(2, &[block(1, 0), block(2, 0)]);
            bytes[first - 200..first - 200 + room.len()].copy_from_slice(room);
            let file = Asdf::from_bytes(bytes).unwrap();
            assert_eq!(file.array("a1").unwrap().read::<u8>().unwrap(), [2; 8]);
            assert!(file.verify().unwrap().is_empty());
        }
    }
}
