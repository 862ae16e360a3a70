//! One body for one thread and for many.

use sciformats_core::Result;

/// Which threads code blocks and chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Threads {
    /// The calling one.
    One,
    /// Those of rayon's current pool, with the feature `parallel`; otherwise the calling one.
    #[default]
    Pool,
}

/// Work below so many bytes is done by the calling thread: handing it over costs more than it saves.
#[cfg(feature = "parallel")]
const WORTH_SHARING: usize = 128 << 10;

impl Threads {
    /// Does `work` for each piece of `size` bytes of `out` (the last may be shorter) and its number. `state` makes what
    /// each thread keeps from one piece to the next.
    pub(crate) fn each_piece<S>(
        self,
        out: &mut [u8],
        size: usize,
        state: impl Fn() -> S + Send + Sync,
        work: impl Fn(&mut S, usize, &mut [u8]) -> Result<()> + Send + Sync,
    ) -> Result<()> {
        let size = size.max(1);
        #[cfg(feature = "parallel")]
        if self.shares(out.len(), out.len().div_ceil(size)) {
            use rayon::prelude::*;
            return out
                .par_chunks_mut(size)
                .enumerate()
                .try_for_each_init(&state, |state, (index, piece)| work(state, index, piece));
        }
        let mut state = state();
        out.chunks_mut(size).enumerate().try_for_each(|(index, piece)| work(&mut state, index, piece))
    }

    /// Does `work` for each number below `count`, which stands for about `bytes` bytes in all, and collects the results
    /// in order.
    pub(crate) fn collect<S, T: Send>(
        self,
        count: usize,
        bytes: usize,
        state: impl Fn() -> S + Send + Sync,
        work: impl Fn(&mut S, usize) -> Result<T> + Send + Sync,
    ) -> Result<Vec<T>> {
        #[cfg(feature = "parallel")]
        if self.shares(bytes, count) {
            use rayon::prelude::*;
            return (0..count).into_par_iter().map_init(&state, work).collect();
        }
        let _ = bytes;
        let mut state = state();
        (0..count).map(|index| work(&mut state, index)).collect()
    }

    /// As `each_piece`, with threads, where each piece has a result of its own; `false` if it is not worth sharing and
    /// nothing was done.
    pub(crate) fn share<S, T: Send>(
        self,
        (out, size): (&mut [u8], usize),
        results: &mut [T],
        state: impl Fn() -> S + Send + Sync,
        work: impl Fn(&mut S, usize, &mut [u8]) -> Result<T> + Send + Sync,
    ) -> Result<bool> {
        #[cfg(feature = "parallel")]
        if self.shares(out.len(), results.len()) {
            use rayon::prelude::*;
            out.par_chunks_mut(size.max(1)).zip(results).enumerate().try_for_each_init(
                &state,
                |state, (index, (piece, result))| {
                    *result = work(state, index, piece)?;
                    Ok::<(), sciformats_core::Error>(())
                },
            )?;
            return Ok(true);
        }
        let _ = (out, size, results, &state, &work);
        Ok(false)
    }

    #[cfg(feature = "parallel")]
    fn shares(self, bytes: usize, pieces: usize) -> bool {
        self == Self::Pool && pieces > 1 && bytes >= WORTH_SHARING && rayon::current_num_threads() > 1
    }
}
