//! Reads chunks of a dataset that is being written, whether they are stored or still in memory.

use sciformats_core::arith::present;
use sciformats_core::{Result, Slab};

use crate::chunk::copy::copy;
use crate::chunk::too_large;
use crate::chunk::write::{Chunked, Info, advance};
use crate::space::output::Output;

impl Chunked {
    /// Reads the elements of `slab`, which is not empty, into `out`, which has exactly their bytes.
    ///
    /// Chunks that are in memory stay there, so nothing is encoded. Other chunks are decoded once for each call.
    pub(crate) fn read(
        &mut self,
        output: &mut Output,
        info: &Info<'_>,
        slab: &Slab,
        out: &mut [u8],
    ) -> Result<()> {
        let size = usize::try_from(info.size).map_err(|_| too_large())?;
        let parts = self.parts(slab)?;
        self.look(&parts)?;
        let mut position = vec![0usize; parts.len()];
        loop {
            let task = self.task(slab, &parts, &position)?;
            // What a write copies from the selected elements to the chunk goes the other way here.
            let mut gather =
                |chunk: &[u8]| copy((chunk, &task.to), (&mut *out, &task.from), &task.counts, size);
            let found = match self.open.get(&task.scaled) {
                Some(open) => gather(&open.bytes),
                None => gather(&self.load(output, info, &task.scaled)?),
            };
            present(found, "place of elements in a chunk")?;
            if !advance(&mut position, &parts)? {
                return Ok(());
            }
        }
    }
}
