//! Extensible arrays, built at once: only blocks that hold an element exist.

use sciformats_core::Result;

use super::chunk_index::dense;
use super::output::Output;
use crate::spec::Address;
use crate::spec::extensible_array::{BlockPlace, ExtensibleArray, IndexBlock, SuperBlock};
use crate::spec::fixed_array;
use crate::spec::message::layout::{
    INDEX_ELEMENTS, MAX_BITS, MIN_DATA_ELEMENTS, MIN_SUPER_POINTERS, PAGE_BITS,
};

/// Elements by their number, in order.
type Elements<'a> = &'a [(u64, Vec<u8>)];

/// Elements with this number or a higher one have no place.
pub(crate) const MAX_ELEMENTS: u64 = 1 << MAX_BITS;

/// Writes an array of `elements`; returns the address of its header.
pub(crate) fn build(
    output: &mut Output,
    client: u8,
    elements: Elements<'_>,
    absent: &[u8],
) -> Result<Address> {
    let array = ExtensibleArray {
        client,
        element_size: u8::try_from(absent.len()).unwrap_or(u8::MAX),
        max_bits: MAX_BITS,
        index_elements: INDEX_ELEMENTS,
        min_data_elements: MIN_DATA_ELEMENTS,
        min_super_pointers: MIN_SUPER_POINTERS,
        page_bits: PAGE_BITS,
        max_index_set: elements.last().map_or(0, |&(number, _)| number.saturating_add(1)),
        index_block: None,
    };
    let header = output.allocate(ExtensibleArray::size(output.sizes) as u64)?;
    let mut builder = Builder { array, header, absent, statistics: [0; 6] };
    let index_block = Some(builder.index_block(output, elements)?);
    let mut bytes = Vec::new();
    ExtensibleArray { index_block, ..array }.encode(&mut bytes, output.sizes, builder.statistics);
    output.write(header, &bytes)?;
    Ok(header)
}

struct Builder<'a> {
    array: ExtensibleArray,
    header: Address,
    absent: &'a [u8],
    statistics: [u64; 6],
}

impl Builder<'_> {
    fn index_block(&mut self, output: &mut Output, elements: Elements<'_>) -> Result<Address> {
        let array = self.array;
        let own = u64::from(array.index_elements);
        let (first, mut rest) = split(elements, own);
        let [.., max_index, realized] = &mut self.statistics;
        (*max_index, *realized) = (array.max_index_set, own);
        let mut data_blocks = Vec::new();
        let mut super_blocks = Vec::new();
        for u in 0..array.super_blocks() {
            let (within, after) = split(rest, array.first_of(u.saturating_add(1)));
            rest = after;
            if u < array.direct_super_blocks() {
                data_blocks.extend(self.blocks(output, u, within)?.0);
            } else {
                super_blocks.push(match within.is_empty() {
                    true => None,
                    false => Some(self.super_block(output, u, within)?),
                });
            }
        }
        let elements = dense(first, 0, own, self.absent);
        let block = IndexBlock { elements: &elements, data_blocks, super_blocks };
        let mut bytes = Vec::new();
        block.encode(&mut bytes, &array, output.sizes, self.header);
        output.put(&bytes)
    }

    /// Writes the data blocks of super block `u`; returns their addresses and the bitmap of their pages.
    fn blocks(
        &mut self,
        output: &mut Output,
        u: u32,
        elements: Elements<'_>,
    ) -> Result<(Vec<Option<Address>>, Vec<u8>)> {
        let array = self.array;
        let n = array.block_elements(u);
        let mut bitmap = vec![0; usize::try_from(array.bitmap_size(u)).unwrap_or(0)];
        let mut rest = elements;
        let mut addresses = Vec::new();
        for j in 0..ExtensibleArray::blocks(u) {
            let first = array.first_of(u).saturating_add(j.saturating_mul(n));
            let (within, after) = split(rest, first.saturating_add(n));
            rest = after;
            if within.is_empty() {
                addresses.push(None);
                continue;
            }
            for (number, _) in within {
                let page = number.saturating_sub(first).checked_div(array.page()).unwrap_or(0);
                fixed_array::set_page(&mut bitmap, j.saturating_mul(array.pages(n)).saturating_add(page));
            }
            addresses.push(Some(self.data_block(output, (first, n), within)?));
        }
        Ok((addresses, bitmap))
    }

    fn data_block(
        &mut self,
        output: &mut Output,
        (first, n): (u64, u64),
        elements: Elements<'_>,
    ) -> Result<Address> {
        let array = self.array;
        let content = dense(elements, first, n, self.absent);
        let place =
            BlockPlace { header: self.header, first: first.saturating_sub(array.index_elements.into()) };
        let mut bytes = Vec::new();
        if array.pages(n) == 0 {
            array.encode_data_block(&mut bytes, output.sizes, place, &content);
        } else {
            array.encode_data_block(&mut bytes, output.sizes, place, &[]);
            let page = usize::try_from(array.page()).unwrap_or(1).saturating_mul(self.absent.len()).max(1);
            content.chunks(page).for_each(|page| fixed_array::encode_page(&mut bytes, page));
        }
        let [_, _, blocks, size, _, realized] = &mut self.statistics;
        *blocks = blocks.saturating_add(1);
        *size = size.saturating_add(bytes.len() as u64);
        *realized = realized.saturating_add(n);
        output.put(&bytes)
    }

    fn super_block(&mut self, output: &mut Output, u: u32, elements: Elements<'_>) -> Result<Address> {
        let (data_blocks, bitmap) = self.blocks(output, u, elements)?;
        let first = self.array.first_of(u).saturating_sub(self.array.index_elements.into());
        let mut bytes = Vec::new();
        let block = SuperBlock { bitmap: &bitmap, data_blocks };
        block.encode(&mut bytes, &self.array, output.sizes, BlockPlace { header: self.header, first });
        let [blocks, size, ..] = &mut self.statistics;
        *blocks = blocks.saturating_add(1);
        *size = size.saturating_add(bytes.len() as u64);
        output.put(&bytes)
    }
}

/// The elements before number `end`, and those from it on.
fn split(elements: Elements<'_>, end: u64) -> (Elements<'_>, Elements<'_>) {
    elements.split_at(elements.partition_point(|&(number, _)| number < end))
}
