//! The bytes that follow a frame in its file. Commits write there, so it must be known whose they are.
//!
//! | what a commit of this crate or of the C library leaves after the frame | how it is recognised |
//! |---|---|
//! | an index that is not in use any more, because the new one was written before it | the file ends with its trailer, and no other frame is between |
//! | new chunks and a new index, if the process was killed before the header named them | chunks one after another, and then a trailer; the last one may be cut, and zeros may be in the place of the rest |
//! | space that was reserved | zeros |

use sciformats_core::{Error, Result, bound};

use super::Frame;
use crate::spec::chunk_header::{ChunkHeader, VERSION, VERSION_VL};
use crate::spec::frame_header::FrameHeader;
use crate::spec::offset::Offset;
use crate::spec::trailer::Trailer;

/// The number of bytes that are examined at a time.
const PIECE: u64 = 64 << 10;

impl Frame {
    /// Checks that the next commit may overwrite what follows the frame.
    ///
    /// # Errors
    /// `Usage` if these bytes are not what commits leave there.
    pub(crate) fn check_tail(&self) -> Result<()> {
        let left = bound::left(self.storage_len(), self.frame_len());
        if left == 0 || self.is_cut_commit()? || self.is_old_index()? || self.is_zeros(self.frame_len())? {
            return Ok(());
        }
        let problem = format!(
            "is followed by {left} bytes in its file that are not known to be those of an earlier commit, and that a commit would \
             overwrite; `compact` removes them"
        );
        Err(Error::usage("frame", problem))
    }

    /// Returns whether bytes from `end` to the end of the file may stay there after a commit, because the next one recognises them.
    pub(crate) fn may_leave(&self, end: u64) -> Result<bool> {
        Ok(bound::left(self.storage_len(), end) >= u64::from(Trailer::MIN) && self.ends_with_trailer(end)?)
    }

    /// Returns whether chunks and an index follow, of which the end may be missing.
    fn is_cut_commit(&self) -> Result<bool> {
        let end = self.storage_len();
        let mut at = self.frame_len();
        let mut is_first = true;
        while at < end {
            let left = bound::left(end, at);
            let head = self.storage.read_at(at, bound::addressable(left.min(ChunkHeader::LONG.into())))?;
            match ChunkHeader::parse(&head) {
                Ok((_, header)) if self.may_write(&header) => at = bound::sum(at, header.cbytes.into()),
                _ if is_first => return Ok(false),
                Err(_)
                    if left < ChunkHeader::LONG.into()
                        && matches!(head.first(), Some(&(VERSION | VERSION_VL))) =>
                {
                    return Ok(true);
                }
                _ if !Trailer::begins(&head) => return self.is_zeros(at),
                _ => {
                    let trailer = self.storage.read_at(at, bound::addressable(left))?;
                    return Ok(Trailer::parse(&trailer).map_or(true, |(after, _)| after.is_empty()));
                }
            }
            is_first = false;
        }
        Ok(true)
    }

    /// Returns whether a new chunk of this frame, or its offsets chunk, may have this header.
    fn may_write(&self, header: &ChunkHeader) -> bool {
        let of_frame = u8::try_from(self.header.typesize).unwrap_or(1); // as the format says
        matches!(header.version, VERSION | VERSION_VL)
            && header.extension.is_some()
            && (header.typesize == of_frame || u32::from(header.typesize) == Offset::SIZE)
    }

    /// Returns whether an old index is at the end of the file, and no frame of somebody else.
    fn is_old_index(&self) -> Result<bool> {
        if !self.ends_with_trailer(self.frame_len())? {
            return Ok(false);
        }
        let is_magic = |bytes: &[u8]| bytes.windows(FrameHeader::SIGNATURE).any(FrameHeader::begins);
        Ok(!self.any_piece(self.frame_len(), FrameHeader::SIGNATURE, is_magic)?)
    }

    /// Returns whether a trailer ends at the end of the file, and its last part is after `start`. What is before may be overwritten.
    fn ends_with_trailer(&self, start: u64) -> Result<bool> {
        let end = self.storage_len();
        let at = end.checked_sub(Trailer::TAIL as u64).filter(|&at| at >= start);
        let Some(at) = at else { return Ok(false) };
        let tail = self.storage.read_at(at, Trailer::TAIL)?;
        let len = Trailer::parse_tail(&tail).map(|(_, (len, _))| len);
        Ok(len.is_ok_and(|len| len >= Trailer::MIN && u64::from(len) < end))
    }

    /// Returns whether there are only zeros from `start` on.
    fn is_zeros(&self, start: u64) -> Result<bool> {
        Ok(!self.any_piece(start, 1, |bytes| bytes.iter().any(|&byte| byte != 0))?)
    }

    /// Returns whether this is true for a piece of what is from `start` on. Pieces overlap, so that `len` bytes that follow one another
    /// are always together in one of them.
    fn any_piece(&self, start: u64, len: usize, is: impl Fn(&[u8]) -> bool) -> Result<bool> {
        let end = self.storage_len();
        let mut at = start;
        while at < end {
            let size = bound::left(end, at).min(bound::sum(PIECE, len as u64));
            if is(&self.storage.read_at(at, bound::addressable(size))?) {
                return Ok(true);
            }
            at = bound::sum(at, PIECE);
        }
        Ok(false)
    }
}
