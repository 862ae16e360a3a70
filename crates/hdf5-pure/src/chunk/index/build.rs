//! Builds chunk indexes from all stored chunks.

use sciformats_core::arith::{add, fit, mul, present, sub};
use sciformats_core::{Error, Result, bound};

use crate::chunk::index::extensible;
use crate::chunk::index::numbering::Numbering;
use crate::space::output::Output;
use crate::spec::fixed_array::Element;
use crate::spec::message::layout::IndexKind;
use crate::spec::{Address, Sizes};

/// Where a chunk is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) address: Address,
    /// The number of bytes as stored.
    pub(crate) size: u64,
    /// The filters that were skipped, or `None` for a chunk that is not filtered because it extends beyond the dataset.
    pub(crate) mask: Option<u32>,
    /// Whether the file leads to the chunk already, so that it must not be overwritten.
    pub(crate) live: bool,
}

impl Stored {
    /// Returns the filters that were skipped.
    pub(crate) fn skipped(&self) -> u32 {
        self.mask.unwrap_or(u32::MAX) // a bound: the bits of all filters
    }

    /// Returns the mask that an index stores. It says nothing of a chunk that extends beyond the dataset; readers know from its
    /// place that it is not filtered.
    pub(crate) fn listed(&self) -> u32 {
        self.mask.unwrap_or_default()
    }
}

/// The chunks of a dataset, and what indexes know about it.
pub(crate) struct Chunks<'a> {
    /// The stored chunks in the order of their coordinates.
    pub(crate) stored: Vec<(&'a [u64], Stored)>,
    /// The number of elements of a chunk along each dimension.
    pub(crate) dimensions: &'a [u64],
    /// The number of chunks along each dimension of the maximum shape.
    pub(crate) counts: Vec<u64>,
    /// The dimension without a maximum, if there is one.
    pub(crate) unlimited: Option<usize>,
    /// Whether there are filters.
    pub(crate) filtered: bool,
    /// The width of the stored size in the index, or 0 without filters.
    pub(crate) size_width: usize,
    /// Half the children of a node of a B-tree of chunks.
    pub(crate) k: u16,
    pub(crate) sizes: Sizes,
}

impl Chunks<'_> {
    /// Writes the index and returns its address.
    pub(crate) fn build(&self, output: &mut Output, kind: IndexKind) -> Result<Option<Address>> {
        if self.stored.is_empty() {
            return Ok(None);
        }
        Ok(match kind {
            IndexKind::Single(_) | IndexKind::Implicit => {
                self.stored.first().map(|(_, stored)| stored.address)
            }
            IndexKind::BtreeV1 => Some(self.btree_v1(output)?),
            IndexKind::BtreeV2 => Some(self.btree_v2(output)?),
            IndexKind::FixedArray => Some(self.fixed_array(output)?),
            IndexKind::ExtensibleArray => {
                Some(extensible::build(output, self.client(), &self.elements()?, &self.absent()?)?)
            }
        })
    }

    pub(crate) fn client(&self) -> u8 {
        u8::from(self.filtered)
    }

    /// Returns what an index stores about a filtered chunk.
    pub(crate) fn filters(&self, stored: Stored) -> Result<Option<(u64, u32)>> {
        if !self.filtered {
            return Ok(None);
        }
        counted(stored.size, self.size_width)?;
        Ok(Some((stored.size, stored.listed())))
    }

    pub(crate) fn absent(&self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        Element { address: None, filtered: None }.encode(&mut out, self.sizes, self.size_width)?;
        Ok(out)
    }

    /// Returns the elements of an array index, by their number.
    pub(crate) fn elements(&self) -> Result<Vec<(u64, Vec<u8>)>> {
        let numbering = Numbering::new(&self.counts, self.unlimited);
        let mut elements: Vec<(u64, Vec<u8>)> = self
            .stored
            .iter()
            .map(|&(scaled, stored)| {
                let mut out = Vec::new();
                let element = Element { address: Some(stored.address), filtered: self.filters(stored)? };
                element.encode(&mut out, self.sizes, self.size_width)?;
                Ok((present(numbering.number(scaled), "number of a chunk")?, out))
            })
            .collect::<Result<_>>()?;
        elements.sort_unstable_by_key(|&(number, _)| number);
        Ok(elements)
    }
}

/// Fails if a field of `width` bytes cannot express the size of a filtered chunk.
pub(crate) fn counted(size: u64, width: usize) -> Result<()> {
    let bits = u32::try_from(width).map_or(u32::MAX, |width| bound::product(width, 8)); // a bound
    if size.unbounded_shr(bits) == 0 {
        return Ok(());
    }
    let problem =
        format!("has {size} bytes after filtering, which its chunk index has no field wide enough to store");
    Err(Error::usage("chunk", problem))
}

/// Returns `n` elements starting with the number `first`. Missing ones are filled in.
pub(crate) fn dense(elements: &[(u64, Vec<u8>)], first: u64, n: u64, absent: &[u8]) -> Result<Vec<u8>> {
    let n: usize = fit(n, "elements of a block")?;
    mul(n, absent.len())?;
    let mut out = absent.repeat(n);
    for (number, bytes) in elements {
        let start = mul(fit(sub(*number, first)?, "place of an element")?, absent.len())?;
        let slot = out.get_mut(start..add(start, bytes.len())?).filter(|slot| slot.len() == absent.len());
        present(slot, "place of an element")?.copy_from_slice(bytes);
    }
    Ok(out)
}
