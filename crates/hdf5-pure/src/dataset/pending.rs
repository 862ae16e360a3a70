//! Reads elements of a dataset that is being written, with everything that was written so far.

use sciformats_core::arith::{add, fit, present};
use sciformats_core::{Error, Result, Slab};

use crate::chunk::copy::fill;
use crate::chunk::write::Info;
use crate::dataset::write::{Data, Dataset, runs};
use crate::filter::Registry;
use crate::space::output::Output;
use crate::spec::Address;

impl Dataset {
    /// Reads the elements of `slab` into `out`, in the form in which they are stored.
    ///
    /// # Errors
    /// Returns `Usage` if `slab` was made for another shape or `out` has another size, `Unsupported` if the elements are
    /// in other files or datasets, and any error of reading them.
    pub(crate) fn read_pending(
        &mut self,
        output: &mut Output,
        registry: &Registry,
        slab: &Slab,
        out: &mut [u8],
    ) -> Result<()> {
        self.check(slab, out)?;
        if slab.is_empty() {
            return Ok(());
        }
        self.flush_tail(output, registry)?;
        let size = self.element_size();
        let shape = self.shape().to_vec();
        let maximum = self.maximum();
        let fill_value = self.fill_bytes().map(<[u8]>::to_vec);
        match &mut self.data {
            Data::Compact(data) => runs(slab, size, |at, part| {
                let start: usize = fit(at, "place of compact elements")?;
                let to = present(out.get_mut(part), "bytes of a run")?;
                let from = data.get(start..add(start, to.len())?);
                to.copy_from_slice(present(from, "place of compact elements")?);
                Ok(())
            }),
            Data::Contiguous(None) => {
                fill(out, fill_value.as_deref());
                Ok(())
            }
            Data::Contiguous(Some(address)) => runs(slab, size, |at, part| {
                let to = present(out.get_mut(part), "bytes of a run")?;
                let found = output.read_stored("elements", Address(add(address.0, at)?), to.len() as u64)?;
                to.copy_from_slice(&found);
                Ok(())
            }),
            Data::Chunked(chunked) => {
                let (pipeline, fill_value) = (&self.pipeline, fill_value.as_deref());
                let info = Info { pipeline, registry, size, shape: &shape, maximum: &maximum, fill_value };
                chunked.read(output, &info, slab, out)
            }
            Data::External(_) => Err(Error::unsupported("reading pending elements of external files")),
            Data::Virtual(_) => Err(Error::unsupported("reading pending elements of a virtual dataset")),
        }
    }
}
