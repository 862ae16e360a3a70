//! What shrinking a dataset takes away, and what it leaves of the chunks that are cut.

use sciformats_core::{Result, bound};

use crate::chunk::copy::{Rectangle, copy, fill};
use crate::chunk::too_large;
use crate::chunk::write::{Chunked, Info, Open};
use crate::space::output::Output;

/// What becomes of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// No element of it is left.
    Gone,
    /// Elements of it are left, others are not.
    Cut,
    /// It stays as it is.
    Whole,
}

/// What becomes of the chunk `scaled` of chunks of `chunk` elements when a dataset of `old` gets the size `new`.
fn fate(scaled: &[u64], chunk: &[u64], old: &[u64], new: &[u64]) -> Fate {
    let mut fate = Fate::Whole;
    for ((&at, &n), (&old, &new)) in scaled.iter().zip(chunk).zip(old.iter().zip(new)) {
        let start = bound::product(at, n);
        if start >= new {
            return Fate::Gone;
        }
        if new < old && bound::sum(start, n) > new {
            fate = Fate::Cut;
        }
    }
    fate
}

impl Chunked {
    /// Takes away what lies beyond `new`, a shape inside that of `info`. What is cut off of a chunk takes the fill value, as
    /// it must not come back when the dataset grows again.
    ///
    /// # Errors
    /// `Io`, and what reading a chunk meets.
    pub(crate) fn shrink(&mut self, output: &mut Output, info: &Info<'_>, new: &[u64]) -> Result<()> {
        // What lies beyond the extent that the file has is in memory only.
        if let Some(stored) = self.before.as_ref().map(|before| before.shape().to_vec()) {
            self.recall_between(output, info, (new, &stored))?;
        }
        let mut chunks: Vec<(Box<[u64]>, Fate)> = Vec::new();
        for scaled in self.stored.keys().chain(self.open.keys().filter(|&at| !self.stored.contains_key(at))) {
            match fate(scaled, &self.dimensions, info.shape, new) {
                Fate::Whole => {}
                fate => chunks.push((scaled.clone(), fate)),
            }
        }
        for (scaled, fate) in chunks {
            let kept = match (fate, self.implicit) {
                (Fate::Gone, None) => {
                    self.forget(&scaled);
                    continue;
                }
                // Chunks that have their places by their numbers stay, without an element; those of a file that is edited until
                // they come back.
                (Fate::Gone, Some(_)) if self.before.is_some() => {
                    self.open.remove(&scaled);
                    continue;
                }
                (Fate::Gone, Some(_)) => vec![0; scaled.len()],
                _ => self.kept(&scaled, new),
            };
            let bytes = match self.open.remove(&scaled) {
                Some(open) => open.bytes,
                None => self.load(output, info, &scaled)?,
            };
            let bytes = self.cut(info, &bytes, &kept)?;
            self.open.insert(scaled, Open { bytes, elements: 0 });
            self.relieve(output, info)?;
        }
        Ok(())
    }

    /// Puts the fill value into chunks that have their places by their numbers, and come into the dataset as it grows to `new`
    /// from the shape of `info`: they hold what was in them before, or what another program has left there.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn grow(&mut self, output: &mut Output, info: &Info<'_>, new: &[u64]) -> Result<()> {
        if self.implicit.is_none() || self.before.is_none() || new.contains(&0) || new == info.shape {
            return Ok(());
        }
        self.recall_between(output, info, (info.shape, new))?;
        let comes = |scaled: &[u64]| {
            let starts = || scaled.iter().zip(&self.dimensions).map(|(&at, &n)| bound::product(at, n));
            starts().zip(new).all(|(start, size)| start < *size)
                && starts().zip(info.shape).any(|(start, size)| start >= *size)
        };
        let chunks: Vec<Box<[u64]>> = self.stored.keys().filter(|scaled| comes(scaled)).cloned().collect();
        for scaled in chunks {
            let mut bytes = vec![0; self.chunk_bytes(info)?];
            fill(&mut bytes, info.fill_value);
            self.open.insert(scaled, Open { bytes, elements: 0 });
            self.relieve(output, info)?;
        }
        Ok(())
    }

    /// The elements of a chunk along each dimension that lie inside `shape`.
    fn kept(&self, scaled: &[u64], shape: &[u64]) -> Vec<u64> {
        let sides = scaled.iter().zip(self.dimensions.iter().zip(shape));
        sides.map(|(&at, (&n, size))| bound::left(*size, bound::product(at, n)).min(n)).collect()
    }

    /// The chunk with its first elements along each dimension as they are, and the fill value elsewhere.
    fn cut(&self, info: &Info<'_>, bytes: &[u8], kept: &[u64]) -> Result<Vec<u8>> {
        let mut out = vec![0; bytes.len()];
        fill(&mut out, info.fill_value);
        let size = usize::try_from(info.size).map_err(|_| too_large())?;
        let rank = kept.len();
        let corner = Rectangle { shape: self.dimensions.clone(), start: vec![0; rank], step: vec![1; rank] };
        copy((bytes, &corner), (&mut out, &corner), kept, size).ok_or_else(too_large)?;
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_that_are_cut_or_go() {
        let of = |scaled: &[u64], new: &[u64]| fate(scaled, &[4, 3], &[10, 9], new);
        assert_eq!(of(&[0, 0], &[10, 9]), Fate::Whole);
        assert_eq!(of(&[2, 2], &[10, 9]), Fate::Whole, "reaching out of the shape is no reason");
        assert_eq!(of(&[2, 0], &[9, 9]), Fate::Cut);
        assert_eq!(of(&[1, 0], &[8, 9]), Fate::Whole);
        assert_eq!(of(&[2, 0], &[8, 9]), Fate::Gone);
        assert_eq!(of(&[0, 1], &[2, 3]), Fate::Gone);
        assert_eq!(of(&[0, 0], &[0, 9]), Fate::Gone);
    }
}
