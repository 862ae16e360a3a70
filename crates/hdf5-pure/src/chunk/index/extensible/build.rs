//! Builds extensible arrays. Only blocks that hold an element exist.

use sciformats_core::Result;
use sciformats_core::arith::{add, div, fit, increase, mul, sub};

use crate::chunk::index::build::dense;
use crate::space::output::Output;
use crate::spec::extensible_array::{BlockPlace, ExtensibleArray, IndexBlock, SuperBlock};
use crate::spec::message::layout::{
    INDEX_ELEMENTS, MAX_BITS, MIN_DATA_ELEMENTS, MIN_SUPER_POINTERS, PAGE_BITS,
};
use crate::spec::{Address, fixed_array};

/// The elements by their number, in order.
type Elements<'a> = &'a [(u64, Vec<u8>)];

/// The number of elements that an array can hold.
pub(crate) const MAX_ELEMENTS: u64 = 1 << MAX_BITS;

/// Writes an array of `elements` and returns the address of its header.
pub(crate) fn build(
    output: &mut Output,
    client: u8,
    elements: Elements<'_>,
    absent: &[u8],
) -> Result<Address> {
    let array = ExtensibleArray {
        client,
        element_size: fit(absent.len(), "size of an element")?,
        max_bits: MAX_BITS,
        index_elements: INDEX_ELEMENTS,
        min_data_elements: MIN_DATA_ELEMENTS,
        min_super_pointers: MIN_SUPER_POINTERS,
        page_bits: PAGE_BITS,
        max_index_set: elements.last().map_or(Ok(0), |&(number, _)| add(number, 1))?,
        index_block: None,
    };
    let header = output.allocate(ExtensibleArray::size(output.sizes) as u64)?;
    let mut builder = Builder { array, header, absent, statistics: [0; 6] };
    let index_block = Some(builder.index_block(output, elements)?);
    let mut bytes = Vec::new();
    ExtensibleArray { index_block, ..array }.encode(&mut bytes, output.sizes, builder.statistics)?;
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
            let (within, after) = split(rest, array.first_of(add(u, 1)?));
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
        let elements = dense(first, 0, own, self.absent)?;
        let block = IndexBlock { elements: &elements, data_blocks, super_blocks };
        let mut bytes = Vec::new();
        block.encode(&mut bytes, &array, output.sizes, self.header)?;
        output.put(&bytes)
    }

    /// Writes the data blocks of the super block `u`. Returns their addresses and the bitmap of their pages.
    fn blocks(
        &mut self,
        output: &mut Output,
        u: u32,
        elements: Elements<'_>,
    ) -> Result<(Vec<Option<Address>>, Vec<u8>)> {
        let array = self.array;
        let n = array.block_elements(u);
        let mut bitmap = vec![0; fit(array.bitmap_size(u), "size of a bitmap")?];
        let mut rest = elements;
        let mut addresses = Vec::new();
        for j in 0..ExtensibleArray::blocks(u) {
            let first = add(array.first_of(u), mul(j, n)?)?;
            let (within, after) = split(rest, add(first, n)?);
            rest = after;
            if within.is_empty() {
                addresses.push(None);
                continue;
            }
            for (number, _) in within {
                let page = div(sub(*number, first)?, array.page())?;
                if array.pages(n) > 0 {
                    fixed_array::set_page(&mut bitmap, add(mul(j, array.pages(n))?, page)?)?;
                }
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
        let content = dense(elements, first, n, self.absent)?;
        let place = BlockPlace { header: self.header, first: sub(first, array.index_elements.into())? };
        let mut bytes = Vec::new();
        if array.pages(n) == 0 {
            array.encode_data_block(&mut bytes, output.sizes, place, &content)?;
        } else {
            array.encode_data_block(&mut bytes, output.sizes, place, &[])?;
            let page = mul(fit(array.page(), "elements of a page")?, self.absent.len())?.max(1);
            content.chunks(page).try_for_each(|page| fixed_array::encode_page(&mut bytes, page))?;
        }
        let [_, _, blocks, size, _, realized] = &mut self.statistics;
        increase(blocks, 1)?;
        increase(size, bytes.len() as u64)?;
        increase(realized, n)?;
        output.put(&bytes)
    }

    fn super_block(&mut self, output: &mut Output, u: u32, elements: Elements<'_>) -> Result<Address> {
        let (data_blocks, bitmap) = self.blocks(output, u, elements)?;
        let first = sub(self.array.first_of(u), self.array.index_elements.into())?;
        let mut bytes = Vec::new();
        let block = SuperBlock { bitmap: &bitmap, data_blocks };
        block.encode(&mut bytes, &self.array, output.sizes, BlockPlace { header: self.header, first })?;
        let [blocks, size, ..] = &mut self.statistics;
        increase(blocks, 1)?;
        increase(size, bytes.len() as u64)?;
        output.put(&bytes)
    }
}

/// Splits the elements at the number `end`.
fn split(elements: Elements<'_>, end: u64) -> (Elements<'_>, Elements<'_>) {
    elements.split_at(elements.partition_point(|&(number, _)| number < end))
}
