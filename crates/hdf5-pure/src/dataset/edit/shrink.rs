//! Shrinks datasets: removes chunks, and clears the parts of chunks that are cut off.

use sciformats_core::{Result, bound};

use crate::chunk::copy::{Rectangle, copy, fill};
use crate::chunk::too_large;
use crate::chunk::write::{Chunked, Info, Open};
use crate::space::output::Output;

/// What happens to a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// None of its elements is left.
    Gone,
    /// Some of its elements are left.
    Cut,
    /// All of its elements are left.
    Whole,
}

/// Returns what happens to the chunk at `scaled` when a dataset of the size `old` gets the size `new`. `chunk` is the
/// shape of a chunk.
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
    /// Removes what lies beyond `new`, a shape inside that of `info`. The parts of chunks that are cut off get the fill
    /// value, because old elements must not reappear when the dataset grows again.
    ///
    /// # Errors
    /// Returns `Io`, and any error of reading a chunk.
    pub(crate) fn shrink(&mut self, output: &mut Output, info: &Info<'_>, new: &[u64]) -> Result<()> {
        // Chunks beyond the extent that the file has exist only in memory.
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
                // Chunks with an implicit index keep their places even if they have no elements. In a file that is
                // being edited they stay unchanged until they are inside again.
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

    /// Writes the fill value to chunks with an implicit index that come into the dataset as it grows to `new` from the
    /// shape of `info`. Their space holds older elements, or bytes that another program has left there.
    ///
    /// # Errors
    /// Returns `Io`.
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

    /// Returns the number of elements of a chunk along each dimension that lie inside `shape`.
    fn kept(&self, scaled: &[u64], shape: &[u64]) -> Vec<u64> {
        let sides = scaled.iter().zip(self.dimensions.iter().zip(shape));
        sides.map(|(&at, (&n, size))| bound::left(*size, bound::product(at, n)).min(n)).collect()
    }

    /// Returns the chunk with its first elements along each dimension unchanged, and the fill value elsewhere.
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
        assert_eq!(of(&[2, 2], &[10, 9]), Fate::Whole, "an edge chunk that keeps its elements stays whole");
        assert_eq!(of(&[2, 0], &[9, 9]), Fate::Cut);
        assert_eq!(of(&[1, 0], &[8, 9]), Fate::Whole);
        assert_eq!(of(&[2, 0], &[8, 9]), Fate::Gone);
        assert_eq!(of(&[0, 1], &[2, 3]), Fate::Gone);
        assert_eq!(of(&[0, 0], &[0, 9]), Fate::Gone);
    }
}
