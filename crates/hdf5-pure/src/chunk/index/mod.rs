//! The chunks of a dataset: one enumeration over all kinds of chunk indexes.

mod btree1;
pub(crate) mod btree2;
pub(crate) mod build;
pub(crate) mod extensible;
pub(crate) mod fixed;
mod implicit;
pub(crate) mod leaves;
pub(crate) mod numbering;
mod single;
pub(crate) mod write;

use std::ops::ControlFlow;

use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::{Result, bound};

use crate::space::context::{Budget, Context};
use crate::spec::Address;
use crate::spec::message::layout::{Chunked, IndexKind};

/// A stored chunk.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// file.dataset("temperature").max_shape([None]).chunks([2]).write(&[281.5f32, 282.0, 282.5])?;
/// let temperature = File::from_bytes(file.into_bytes()?)?.dataset("temperature")?;
/// let stored: u64 = temperature.chunks()?.iter().flatten().map(|chunk| chunk.size).sum();
/// assert_eq!(stored, 16); // two chunks of two elements
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredChunk {
    /// The position of the chunk, counted in chunks along each dimension.
    pub scaled: Vec<u64>,
    /// The address of the chunk.
    pub address: Address,
    /// The number of bytes as stored.
    pub size: u64,
    /// The filters that were skipped when the chunk was written, one bit per filter.
    pub filter_mask: u32,
}

/// A box of chunks, with its first and last chunk inclusive.
pub(crate) struct Bounds {
    pub(crate) first: Vec<u64>,
    pub(crate) last: Vec<u64>,
}

impl Bounds {
    pub(crate) fn holds(&self, scaled: &[u64]) -> bool {
        scaled
            .iter()
            .zip(self.first.iter().zip(&self.last))
            .all(|(at, (first, last))| first <= at && at <= last)
    }

    /// Returns the chunks in the box, in order.
    pub(crate) fn each(&self) -> Vec<Vec<u64>> {
        self.first.iter().zip(&self.last).fold(vec![Vec::new()], |before, (&first, &last)| {
            let with = |start: Vec<u64>| (first..=last).map(move |at| [&start[..], &[at]].concat());
            before.into_iter().flat_map(with).collect()
        })
    }

    /// Returns the number of chunks in the box, if it fits into 64 bits.
    pub(crate) fn volume(&self) -> Option<u64> {
        let lengths =
            self.first.iter().zip(&self.last).map(|(first, last)| last.checked_sub(*first)?.checked_add(1));
        lengths.into_iter().try_fold(1u64, |product, n| product.checked_mul(n?))
    }
}

/// What indexes need to know about a dataset.
pub(crate) struct Index<'a> {
    pub(crate) context: &'a Context,
    pub(crate) layout: &'a Chunked,
    pub(crate) dimensions: &'a [u64],
    pub(crate) maximum: &'a [Option<u64>],
    pub(crate) filtered: bool,
}

/// The function that a visit of chunks calls.
pub(crate) type Visit<'v> = dyn FnMut(Result<StoredChunk>) -> ControlFlow<()> + 'v;

/// Returns the size of an unfiltered chunk, if it fits into 64 bits.
pub(crate) fn chunk_bytes(layout: &Chunked) -> Option<u64> {
    layout.dimensions.iter().try_fold(layout.element_size, |product, &n| product.checked_mul(n))
}

const STRUCTURE: &str = "chunk index";

impl Index<'_> {
    /// Visits the stored chunks in `bounds`. In a valid file each comes once. A part of the index that cannot be read
    /// is reported as one error.
    pub(crate) fn visit(&self, bounds: &Bounds, visit: &mut Visit<'_>) {
        // One level of the index is read at a time, so that its nodes can be fetched together.
        let gathered = self.context.together(|| self.visit_each(bounds, &mut |_| ControlFlow::Continue(())));
        match gathered {
            Ok(()) => self.visit_each(bounds, visit),
            Err(error) => drop(visit(Err(error))),
        }
    }

    /// Returns what `of` makes of the stored chunks in `bounds`.
    ///
    /// # Errors
    /// Returns the first error of a part of the index that cannot be read.
    pub(crate) fn collect<T>(&self, bounds: &Bounds, mut of: impl FnMut(StoredChunk) -> T) -> Result<Vec<T>> {
        let (mut all, mut failed) = (Vec::new(), None);
        self.visit(bounds, &mut |chunk| match chunk {
            Ok(chunk) => {
                all.push(of(chunk));
                ControlFlow::Continue(())
            }
            Err(error) => {
                failed.get_or_insert(error);
                ControlFlow::Break(())
            }
        });
        failed.map_or(Ok(all), Err)
    }

    fn visit_each(&self, bounds: &Bounds, visit: &mut Visit<'_>) {
        let Some(at) = self.layout.address else { return };
        let result = match self.layout.index {
            IndexKind::BtreeV1 => {
                let _ = self.btree_v1(at, None, bounds, &mut Budget::new(self.context), visit);
                Ok(())
            }
            IndexKind::Single(filtered) => self.single(at, filtered, bounds, visit),
            IndexKind::Implicit => self.implicit(at, bounds, visit),
            IndexKind::FixedArray => self.fixed_array(at, bounds, visit),
            IndexKind::ExtensibleArray => self.extensible_array(at, bounds, visit),
            IndexKind::BtreeV2 => self.btree_v2(at, bounds, visit),
        };
        if let Err(error) = result {
            let _ = visit(Err(error));
        }
    }

    pub(crate) fn bytes(&self, at: Address) -> Result<u64> {
        chunk_bytes(self.layout).ok_or_else(|| {
            self.context.fault("data layout message", at, Fault::new("chunk size", FaultKind::Overflow))
        })
    }

    /// Returns the width of the stored size in an element of the index, or 0 if chunks are not filtered.
    pub(crate) fn size_width(&self, at: Address) -> Result<usize> {
        if !self.filtered {
            return Ok(0);
        }
        if self.layout.wide_sizes {
            return Ok(self.context.sizes.lengths.into());
        }
        let bits = self.bytes(at)?.max(1).ilog2();
        Ok(bound::sum(bits as usize / 8, 2).min(8))
    }

    /// Returns the number of chunks along each dimension that the linear number of a chunk is based on. It follows from
    /// the maximum shape where there is one.
    pub(crate) fn counts(&self) -> Vec<u64> {
        let sizes =
            self.maximum.iter().zip(self.dimensions).map(|(max, &size)| max.unwrap_or(size).max(size));
        sizes
            .zip(&self.layout.dimensions)
            .map(|(size, chunk)| size.div_ceil((*chunk).max(1)).max(1))
            .collect()
    }

    pub(crate) fn check_elements(
        &self,
        header: &'static str,
        at: Address,
        client: u8,
        size: u8,
    ) -> Result<()> {
        let width = match self.size_width(at)? {
            0 => 0,
            width => bound::sum(width, 4),
        };
        let expected = bound::sum(width, self.context.sizes.offsets.into());
        if usize::from(size) != expected || (client == 1) != self.filtered {
            let kind = FaultKind::Mismatch { expected: expected as u64, found: size.into() };
            return Err(self.context.fault(header, at, Fault::new("element size", kind)));
        }
        Ok(())
    }

    /// Returns `start + number * each`. Fails if the numbers in the file are so large that this overflows.
    pub(crate) fn place(&self, at: Address, start: u64, (number, each): (u64, u64)) -> Result<u64> {
        let place = number.checked_mul(each).and_then(|offset| offset.checked_add(start));
        place.ok_or_else(|| self.context.fault(STRUCTURE, at, Fault::new("place", FaultKind::Overflow)))
    }

    pub(crate) fn too_many(&self, at: Address) -> sciformats_core::Error {
        self.context.fault(STRUCTURE, at, FaultKind::Rule("holds fewer elements than the dataset has chunks"))
    }
}
