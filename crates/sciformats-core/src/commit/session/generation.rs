//! The bytes that commits build upon, which must be the same when a commit writes.

use crate::commit::journal;
use crate::error::{Error, Result};
use crate::storage::ReadAt;

/// Bytes that a commit builds upon, as they were when a file was read, for a writer that takes the lock
/// later.
///
/// ```
/// use sciformats_core::commit::{Generation, Session};
/// use sciformats_core::Error;
///
/// let read = b"version 7, and more".to_vec();
/// let generation = Generation::of(&read, [(8, 1)])?;
/// let mut session = Session::over(b"version 8, and more".to_vec());
/// session.expect(&generation);
/// assert!(matches!(session.verify(), Err(Error::Conflict { .. })));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Generation(pub(super) Vec<Watched>);

impl Generation {
    /// Reads these ranges of `storage`, each of which is an offset and a length.
    ///
    /// # Errors
    /// Those of [`ReadAt::read_at`].
    pub fn of(
        storage: &(impl ReadAt + ?Sized),
        ranges: impl IntoIterator<Item = (u64, u64)>,
    ) -> Result<Self> {
        let watched = ranges.into_iter().map(|(offset, len)| Watched::of(storage, offset, len));
        watched.collect::<Result<_>>().map(Self)
    }
}

/// Bytes that a commit builds upon.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watched {
    pub(super) offset: u64,
    pub(super) len: usize,
    pub(super) hash: u64,
}

impl Watched {
    pub(super) fn of(storage: &(impl ReadAt + ?Sized), offset: u64, len: u64) -> Result<Self> {
        let len = usize::try_from(len)
            .map_err(|_| Error::usage("watched range", "is longer than this machine can address"))?;
        let hash = digest(&storage.read_at(offset, len)?);
        Ok(Self { offset, len, hash })
    }
}

/// Hashes bytes that are read again later within this process. It processes 32 bytes at a time in four
/// independent chains, because the text of a whole tree may be watched. Each step is reversible, so bytes
/// that differ in one word never have the same hash.
pub(super) fn digest(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let step = |chain: u64, word: u64| (chain ^ word).wrapping_mul(FACTOR).rotate_left(29);
    let (blocks, rest) = bytes.as_chunks::<32>();
    let mut chains = [1u64, 2, 3, 4];
    for block in blocks {
        for (chain, word) in chains.iter_mut().zip(block.as_chunks::<8>().0) {
            *chain = step(*chain, u64::from_le_bytes(*word));
        }
    }
    chains.into_iter().fold(journal::checksum(rest), step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_sees_each_byte() {
        let bytes: Vec<u8> = (0..200u8).collect();
        for len in [0, 1, 7, 31, 32, 33, 64, 95, 200] {
            let of = digest(&bytes[..len]);
            for at in 0..len {
                let mut other = bytes[..len].to_vec();
                other[at] ^= 0x10;
                assert_ne!(digest(&other), of, "byte {at} of {len}");
            }
        }
    }
}
