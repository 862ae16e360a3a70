//! Files that were cut short: their original length, as far as they contain it, and access to the remaining
//! part.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sciformats_core::bound;
use sciformats_core::{Error, Fault, FaultKind, ReadAt};

use crate::file::Storage;
use crate::options::OpenOptions;
use crate::source::Source;
use crate::{Format, Result, formats};

/// Returns the error for a file that has `found` of `whole` bytes.
pub(crate) fn error(found: u64, whole: u64) -> Error {
    Fault::from(FaultKind::Cut { found, whole }).at("file", found)
}

/// Says of an error that the cut is its reason, where it is: what should be there ends behind what is left of the file.
pub(crate) fn named(error: Error, size: u64, whole: impl FnOnce() -> Option<u64>) -> Error {
    let Error::Malformed { structure, offset, fault, place } = error else { return error };
    let whole = match fault.kind {
        FaultKind::OutOfBounds { found, end } if end == size && found > end => {
            whole().filter(|&whole| found <= whole)
        }
        _ => None,
    };
    let cut = whole.map(|whole| Fault::from(FaultKind::Cut { found: size, whole }));
    cut.unwrap_or(fault).at(structure, offset).within(place.path(), place.object())
}

/// Returns the number of bytes that a file should have; `None` if its beginning does not say so.
pub(crate) fn whole(storage: &dyn ReadAt, format: Format) -> Option<u64> {
    match format {
        Format::RawArray => raw_array(storage),
        Format::Npy => npy::whole_size(storage),
        Format::Blosc2 => frame(storage),
        Format::Asdf => asdf(storage),
        _ => None,
    }
}

fn word<const N: usize>(storage: &dyn ReadAt, offset: u64) -> Option<[u8; N]> {
    storage.read_at(offset, N).ok()?.as_ref().try_into().ok()
}

/// The header contains the number of bytes after its dimensions, unless they are encoded in base 128.
fn raw_array(storage: &dyn ReadAt) -> Option<u64> {
    let field = |offset| word(storage, offset).map(u64::from_le_bytes);
    if field(8)? & 2 != 0 {
        return None;
    }
    let dimensions = field(40)?.checked_mul(8)?.checked_add(48)?;
    // If the dimensions are missing, the length is unknown.
    field(32)?.checked_add(dimensions).filter(|_| dimensions <= storage.size())
}

/// The header of a frame is an array of `MessagePack` that contains the length of the frame at a fixed
/// position.
fn frame(storage: &dyn ReadAt) -> Option<u64> {
    (*storage.read_at(2, 8).ok()? == *b"b2frame\0").then(|| word(storage, 16).map(u64::from_be_bytes))?
}

/// Returns the end of the block that is cut. The blocks before it are complete, and the positions of the
/// blocks after it are unknown.
fn asdf(storage: &dyn ReadAt) -> Option<u64> {
    const MAGIC: &[u8] = b"\xd3BLK";
    const PART: usize = 1 << 16;
    let mut at = 0u64;
    // The tree is text, which cannot contain these bytes.
    let mut block = loop {
        let left = bound::addressable(storage.size().checked_sub(at)?);
        let part = storage.read_at(at, left.min(PART)).ok()?;
        if let Some(found) = part.windows(MAGIC.len()).position(|bytes| bytes == MAGIC) {
            break at.checked_add(found as u64)?;
        }
        at = at.checked_add((PART - MAGIC.len()) as u64).filter(|_| left > PART)?;
    };
    loop {
        if storage.read_at(block, MAGIC.len()).ok()?.as_ref() != MAGIC {
            return None;
        }
        let header = u16::from_be_bytes(word(storage, block.checked_add(4)?)?);
        let streamed = word::<4>(storage, block.checked_add(6)?)?.last()? & 1 != 0;
        let allocated = u64::from_be_bytes(word(storage, block.checked_add(14)?)?);
        if streamed {
            return None;
        }
        let end = block.checked_add(6)?.checked_add(header.into())?.checked_add(allocated)?;
        if end > storage.size() {
            return Some(end);
        }
        block = end;
    }
}

/// The number of bytes after the end that may be read in one step.
const BEYOND: usize = 4 << 20;

/// The remaining part of a file, presented with its original length. Reading the missing part is an error.
pub(crate) struct Cut {
    storage: Storage,
    whole: u64,
    /// Whether missing bytes read as zeros, which is permitted while a reader searches for existing ones.
    looking: AtomicBool,
}

impl Cut {
    /// Opens the remaining part of a file that had `whole` bytes.
    pub(crate) fn open(
        (format, storage): (Format, Storage),
        whole: u64,
        options: &OpenOptions,
    ) -> Result<Box<dyn Source>> {
        let found = storage.size();
        // The reader searches for the blocks of an ASDF file in large pieces, which extend beyond the blocks.
        let looking = AtomicBool::new(format == Format::Asdf);
        let cut = Arc::new(Self { storage, whole, looking });
        let left: Storage = Arc::<Self>::clone(&cut);
        let source = formats::open(format, left, None, options).map_err(|_| error(found, whole))?;
        cut.looking.store(false, Ordering::Relaxed);
        Ok(source)
    }
}

impl ReadAt for Cut {
    fn size(&self) -> u64 {
        self.whole
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        sciformats_core::storage::check_range(self.whole, offset, len as u64)?;
        let left = bound::addressable(bound::left(self.storage.size(), offset));
        if left >= len {
            return self.storage.read_at(offset.min(self.storage.size()), len);
        }
        // A piece may extend beyond the remaining part, but only by as much as readers examine in one step. A
        // piece that starts there is not part of the file; otherwise a search for a missing end mark would
        // never end and would take all memory.
        if left == 0 || bound::left(len, left) > BEYOND || !self.looking.load(Ordering::Relaxed) {
            return Err(error(self.storage.size(), self.whole));
        }
        let mut bytes = self.storage.read_at(offset.min(self.storage.size()), left)?.into_owned();
        bytes.resize(len, 0);
        Ok(Cow::Owned(bytes))
    }
}

#[cfg(all(test, feature = "asdf"))]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_is_not_there_is_not_looked_for_without_end() {
        // Comments that would go on for 2^60 bytes, and a block among them that says so.
        let mut bytes = b"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n#".to_vec();
        bytes.extend(b"\xd3BLK\x00\x30\0\0\0\0\0\0\0\0");
        bytes.extend((1u64 << 60).to_be_bytes());
        bytes.extend([0; 40]);
        let (left, whole) = (bytes.len() as u64, asdf(&bytes).unwrap());
        assert!(whole > 1 << 60);
        let storage: Storage = Arc::new(bytes);
        let cut = Cut { storage: storage.clone(), whole, looking: AtomicBool::new(true) };
        assert_eq!(cut.read_at(0, 4096).unwrap().len(), 4096);
        assert!(cut.read_at(0, 1 << 30).is_err() && cut.read_at(left, 1).is_err());
        assert!(Cut::open((Format::Asdf, storage), whole, &OpenOptions::default()).is_err());
    }
}
