//! Chunk indexes, built at once from the chunks that are stored.

use sciformats_core::arith::{add, div, fit, increase, mul, present, product, sub, sum};
use sciformats_core::{Error, Result, bound};

use super::dataset::too_large;
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
                Some(extensible_array::build(output, self.client(), &self.elements()?, &self.absent()?)?)
            }
        })
    }

    fn client(&self) -> u8 {
        u8::from(self.filtered)
    }

    /// What an index says of a filtered chunk.
    fn filters(&self, stored: Stored) -> Result<Option<(u64, u32)>> {
        if !self.filtered {
            return Ok(None);
        }
        counted(stored.size, self.size_width)?;
        let mask = if stored.mask == EDGE { 0 } else { stored.mask };
        Ok(Some((stored.size, mask)))
    }

    fn absent(&self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        Element { address: None, filtered: None }.encode(&mut out, self.sizes, self.size_width)?;
        Ok(out)
    }

    /// The elements of an array, by their number.
    fn elements(&self) -> Result<Vec<(u64, Vec<u8>)>> {
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

    fn fixed_array(&self, output: &mut Output) -> Result<Address> {
        let absent = self.absent()?;
        let total = product(self.counts.iter().copied())?;
        let mut array = FixedArray {
            client: self.client(),
            element_size: fit(absent.len(), "size of an element")?,
            page_bits: PAGE_BITS,
            elements: total,
            block: None,
        };
        let elements = self.elements()?;
        let header = output.allocate(FixedArray::size(self.sizes) as u64)?;
        let mut bytes = Vec::new();
        if array.pages() == 0 {
            array.encode_block(&mut bytes, self.sizes, header, &dense(&elements, 0, total, &absent)?)?;
            array.block = Some(output.put(&bytes)?);
        } else {
            array.block = Some(self.pages(output, &array, header, &elements)?);
        }
        bytes.clear();
        array.encode(&mut bytes, self.sizes)?;
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
        let absent = self.absent()?;
        let mut bitmap = vec![0; fit(array.pages().div_ceil(8), "size of a bitmap")?];
        let page = array.page();
        for (number, _) in elements {
            fixed_array::set_page(&mut bitmap, div(*number, page)?)?;
        }
        let mut bytes = Vec::new();
        array.encode_block(&mut bytes, self.sizes, header, &bitmap)?;
        let size = mul(array.elements, absent.len() as u64)?;
        let len = sum([size, mul(array.pages(), 4)?, bytes.len() as u64])?;
        let block = output.allocate(len)?;
        output.write_part(block, &bytes)?;
        let mut at = add(block.0, bytes.len() as u64)?;
        let mut rest = elements;
        for number in 0..array.pages() {
            let first = mul(number, page)?;
            let n = page.min(sub(array.elements, first)?);
            let end = add(first, n)?;
            let (own, after) = rest.split_at(rest.partition_point(|&(number, _)| number < end));
            rest = after;
            bytes.clear();
            fixed_array::encode_page(&mut bytes, &dense(own, first, n, &absent)?)?;
            output.write_part(Address(at), &bytes)?;
            increase(&mut at, bytes.len() as u64)?;
        }
        Ok(block)
    }

    fn btree_v2(&self, output: &mut Output) -> Result<Address> {
        let mut records = Vec::new();
        for &(scaled, stored) in &self.stored {
            let record = ChunkRecord {
                address: Some(stored.address),
                filtered: self.filters(stored)?,
                scaled: scaled.to_vec(),
            };
            record.encode(&mut records, self.sizes, self.size_width)?;
        }
        let (kind, filters) = if self.filtered { (11, add(self.size_width, 4)?) } else { (10, 0) };
        let size = sum([mul(self.dimensions.len(), 8)?, self.sizes.bytes(1, 0, 0), filters])?;
        btree_v2::build(output, kind, NODE_SIZE, fit(size, "size of a record")?, &records)
    }

    fn btree_v1(&self, output: &mut Output) -> Result<Address> {
        let key = |(scaled, stored): &(&[u64], Stored)| {
            let offsets = scaled.iter().zip(self.dimensions).map(|(&at, &n)| mul(at, n));
            let large =
                |_| Error::usage("chunk", "has 4 GiB or more, which a version 1 B-tree does not count");
            Ok(ChunkKey {
                size: u32::try_from(stored.size).map_err(large)?,
                filter_mask: stored.mask,
                offsets: offsets.collect::<Result<_>>()?,
            })
        };
        let mut below: Vec<(ChunkKey, Address)> =
            self.stored.iter().map(|chunk| Ok((key(chunk)?, chunk.1.address))).collect::<Result<_>>()?;
        // Greater than the key of any chunk.
        let last = ChunkKey {
            size: 0,
            filter_mask: 0,
            offsets: present(below.last(), "last chunk")?
                .0
                .offsets
                .iter()
                .zip(self.dimensions)
                .map(|(at, &n)| at.checked_add(n).ok_or_else(too_large))
                .collect::<Result<_>>()?,
        };
        let rank = self.dimensions.len();
        let size = ChunkNode::size(self.sizes, usize::from(self.k) * 2, rank)? as u64;
        let mut level = 0u8;
        loop {
            let parts: Vec<&[(ChunkKey, Address)]> = below.chunks(usize::from(self.k.max(1)) * 2).collect();
            let first = output.allocate(mul(size, parts.len() as u64)?)?;
            let at = |i: u64| Ok(Address(add(first.0, mul(size, i)?)?));
            let mut above = Vec::new();
            for (i, part) in (0u64..).zip(&parts) {
                let next = add(i, 1)?;
                let following = usize::try_from(next).ok().and_then(|next| parts.get(next)?.first());
                let end = following.map_or(&last, |(key, _)| key);
                let keys: Vec<ChunkKey> = part.iter().map(|(key, _)| key).chain([end]).cloned().collect();
                above.push((present(keys.first(), "first key of a node")?.clone(), at(i)?));
                let node =
                    ChunkNode { level, keys, children: part.iter().map(|&(_, child)| Some(child)).collect() };
                let right = following.map(|_| at(next)).transpose()?;
                let mut bytes = Vec::new();
                let place = Place { level, left: i.checked_sub(1).map(at).transpose()?, right };
                node.encode(&mut bytes, self.sizes, self.k, rank, place)?;
                output.write(at(i)?, &bytes)?;
            }
            if above.len() <= 1 {
                return Ok(first);
            }
            below = above;
            increase(&mut level, 1)?;
        }
    }
}

/// Fails if a field of `width` bytes does not count the bytes of a filtered chunk.
pub(crate) fn counted(size: u64, width: usize) -> Result<()> {
    let bits = u32::try_from(width).map_or(u32::MAX, |width| bound::product(width, 8)); // a bound
    if size.unbounded_shr(bits) == 0 {
        return Ok(());
    }
    let problem = format!("has {size} bytes after its filters, more than the index of its dataset counts");
    Err(Error::usage("chunk", problem))
}

/// `n` elements from number `first` on, absent ones included.
pub(super) fn dense(elements: &[(u64, Vec<u8>)], first: u64, n: u64, absent: &[u8]) -> Result<Vec<u8>> {
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
