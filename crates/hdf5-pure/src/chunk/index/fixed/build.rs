//! Builds fixed arrays of chunks.

use crate::chunk::index::build::{Chunks, dense};
use crate::space::output::Output;
use crate::spec::Address;
use crate::spec::fixed_array::{self, FixedArray};
use crate::spec::message::layout::PAGE_BITS;
use sciformats_core::Result;
use sciformats_core::arith::{add, div, fit, increase, mul, product, sub, sum};

impl Chunks<'_> {
    pub(crate) fn fixed_array(&self, output: &mut Output) -> Result<Address> {
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
}
