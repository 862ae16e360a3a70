//! Chunk indexes, built at once from the chunks that are stored.

use sciformats_core::Result;

use super::output::Output;
use super::{btree_v2, extensible_array};
use crate::model::chunks::arrays::Numbering;
use crate::spec::btree_v1::{ChunkKey, ChunkNode, Place};
use crate::spec::btree_v2::record::ChunkRecord;
use crate::spec::fixed_array::{self, Element, FixedArray};
use crate::spec::message::layout::{IndexKind, NODE_SIZE, PAGE_BITS};
use crate::spec::{Address, Sizes};

/// The mask of chunks that are not filtered since they reach out of the dataset. Indexes say nothing of it: readers know
/// from the place of the chunk.
pub(super) const EDGE: u32 = u32::MAX;

/// Where a chunk is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) address: Address,
    /// Bytes as stored.
    pub(crate) size: u64,
    /// Filters that were skipped.
    pub(crate) mask: u32,
    /// Whether the file leads to it already, so that it is not overwritten.
    pub(crate) live: bool,
}

/// The chunks of a dataset, and what indexes know of it.
pub(crate) struct Chunks<'a> {
    /// In the order of their coordinates.
    pub(crate) stored: Vec<(&'a [u64], Stored)>,
    /// Elements of a chunk along each dimension.
    pub(crate) dimensions: &'a [u64],
    /// Chunks along each dimension, at its largest.
    pub(crate) counts: Vec<u64>,
    /// The dimension without a maximum, if there is one.
    pub(crate) unlimited: Option<usize>,
    /// Whether there are filters.
    pub(crate) filtered: bool,
    /// Bytes of the stored size in an index, 0 without filters.
    pub(crate) size_width: usize,
    /// Half the children of a node of a chunk tree.
    pub(crate) k: u16,
    pub(crate) sizes: Sizes,
}

impl Chunks<'_> {
    /// Writes the index; returns its address.
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
                Some(extensible_array::build(output, self.client(), &self.elements(), &self.absent())?)
            }
        })
    }

    fn client(&self) -> u8 {
        u8::from(self.filtered)
    }

    fn filters(&self, stored: Stored) -> Option<(u64, u32)> {
        let mask = if stored.mask == EDGE { 0 } else { stored.mask };
        self.filtered.then_some((stored.size, mask))
    }

    fn absent(&self) -> Vec<u8> {
        let mut out = Vec::new();
        Element { address: None, filtered: None }.encode(&mut out, self.sizes, self.size_width);
        out
    }

    /// The elements of an array, by their number.
    fn elements(&self) -> Vec<(u64, Vec<u8>)> {
        let numbering = Numbering::new(&self.counts, self.unlimited);
        let mut elements: Vec<(u64, Vec<u8>)> = self
            .stored
            .iter()
            .filter_map(|&(scaled, stored)| {
                let mut out = Vec::new();
                let element = Element { address: Some(stored.address), filtered: self.filters(stored) };
                element.encode(&mut out, self.sizes, self.size_width);
                Some((numbering.number(scaled)?, out))
            })
            .collect();
        elements.sort_unstable_by_key(|&(number, _)| number);
        elements
    }

    fn fixed_array(&self, output: &mut Output) -> Result<Address> {
        let absent = self.absent();
        let total = self.counts.iter().fold(1u64, |product, &n| product.saturating_mul(n));
        let mut array = FixedArray {
            client: self.client(),
            element_size: u8::try_from(absent.len()).unwrap_or(u8::MAX),
            page_bits: PAGE_BITS,
            elements: total,
            block: None,
        };
        let elements = self.elements();
        let header = output.allocate(FixedArray::size(self.sizes) as u64)?;
        let mut bytes = Vec::new();
        if array.pages() == 0 {
            array.encode_block(&mut bytes, self.sizes, header, &dense(&elements, 0, total, &absent));
            array.block = Some(output.put(&bytes)?);
        } else {
            array.block = Some(self.pages(output, &array, header, &elements)?);
        }
        bytes.clear();
        array.encode(&mut bytes, self.sizes);
        output.write(header, &bytes)?;
        Ok(header)
    }

    /// Writes a data block that has pages.
    fn pages(
        &self,
        output: &mut Output,
        array: &FixedArray,
        header: Address,
        elements: &[(u64, Vec<u8>)],
    ) -> Result<Address> {
        let absent = self.absent();
        let mut bitmap = vec![0; usize::try_from(array.pages().div_ceil(8)).unwrap_or(0)];
        let page = array.page();
        for (number, _) in elements {
            fixed_array::set_page(&mut bitmap, number.checked_div(page).unwrap_or(0));
        }
        let mut bytes = Vec::new();
        array.encode_block(&mut bytes, self.sizes, header, &bitmap);
        let size = array.elements.saturating_mul(absent.len() as u64);
        let checksums = array.pages().saturating_mul(4);
        let len = size.saturating_add(checksums).saturating_add(bytes.len() as u64);
        let block = output.allocate(len)?;
        output.write_part(block, &bytes)?;
        let mut at = block.0.saturating_add(bytes.len() as u64);
        let mut rest = elements;
        for number in 0..array.pages() {
            let first = number.saturating_mul(page);
            let n = page.min(array.elements.saturating_sub(first));
            let end = first.saturating_add(n);
            let (own, after) = rest.split_at(rest.partition_point(|&(number, _)| number < end));
            rest = after;
            bytes.clear();
            fixed_array::encode_page(&mut bytes, &dense(own, first, n, &absent));
            output.write_part(Address(at), &bytes)?;
            at = at.saturating_add(bytes.len() as u64);
        }
        Ok(block)
    }

    fn btree_v2(&self, output: &mut Output) -> Result<Address> {
        let mut records = Vec::new();
        for &(scaled, stored) in &self.stored {
            let record = ChunkRecord {
                address: Some(stored.address),
                filtered: self.filters(stored),
                scaled: scaled.to_vec(),
            };
            record.encode(&mut records, self.sizes, self.size_width);
        }
        let address = usize::from(self.sizes.offsets);
        let (kind, filters) = if self.filtered { (11, self.size_width.saturating_add(4)) } else { (10, 0) };
        let size = self.dimensions.len().saturating_mul(8).saturating_add(address).saturating_add(filters);
        btree_v2::build(output, kind, NODE_SIZE, u16::try_from(size).unwrap_or(u16::MAX), &records)
    }

    fn btree_v1(&self, output: &mut Output) -> Result<Address> {
        let key = |(scaled, stored): &(&[u64], Stored)| ChunkKey {
            size: u32::try_from(stored.size).unwrap_or(u32::MAX),
            filter_mask: stored.mask,
            offsets: scaled.iter().zip(self.dimensions).map(|(&at, &n)| at.saturating_mul(n)).collect(),
        };
        let mut below: Vec<(ChunkKey, Address)> =
            self.stored.iter().map(|chunk| (key(chunk), chunk.1.address)).collect();
        // Greater than the key of any chunk.
        let last = ChunkKey {
            size: 0,
            filter_mask: 0,
            offsets: below.last().map_or(Vec::new(), |(key, _)| {
                key.offsets.iter().zip(self.dimensions).map(|(&at, &n)| at.saturating_add(n)).collect()
            }),
        };
        let rank = self.dimensions.len();
        let size = ChunkNode::size(self.sizes, u32::from(self.k) * 2, rank) as u64;
        let mut level = 0u8;
        loop {
            let parts: Vec<&[(ChunkKey, Address)]> =
                below.chunks(usize::from(self.k.max(1)).saturating_mul(2)).collect();
            let first = output.allocate(size.saturating_mul(parts.len() as u64))?;
            let at = |i: u64| Address(first.0.saturating_add(size.saturating_mul(i)));
            let mut above = Vec::new();
            for (i, part) in (0u64..).zip(&parts) {
                let next = i.saturating_add(1);
                let following = usize::try_from(next).ok().and_then(|next| parts.get(next)?.first());
                let end = following.map_or(&last, |(key, _)| key);
                let keys: Vec<ChunkKey> = part.iter().map(|(key, _)| key).chain([end]).cloned().collect();
                above.extend(keys.first().cloned().map(|key| (key, at(i))));
                let node =
                    ChunkNode { level, keys, children: part.iter().map(|&(_, child)| Some(child)).collect() };
                let right = following.map(|_| at(next));
                let mut bytes = Vec::new();
                let place = Place { level, left: i.checked_sub(1).map(at), right };
                node.encode(&mut bytes, self.sizes, self.k, rank, place);
                output.write(at(i), &bytes)?;
            }
            if above.len() <= 1 {
                return Ok(first);
            }
            below = above;
            level = level.saturating_add(1);
        }
    }
}

/// `n` elements from number `first` on, absent ones included.
pub(super) fn dense(elements: &[(u64, Vec<u8>)], first: u64, n: u64, absent: &[u8]) -> Vec<u8> {
    let mut out = absent.repeat(usize::try_from(n).unwrap_or(0));
    for (number, bytes) in elements {
        let at = usize::try_from(number.saturating_sub(first)).unwrap_or(usize::MAX);
        let start = at.saturating_mul(absent.len());
        if let Some(slot) = out.get_mut(start..start.saturating_add(absent.len())) {
            slot.iter_mut().zip(bytes).for_each(|(to, &from)| *to = from);
        }
    }
    out
}
