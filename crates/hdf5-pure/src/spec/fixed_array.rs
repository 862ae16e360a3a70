//! Fixed arrays ("The Fixed Array Index"): the index of a chunked dataset that cannot grow.
//!
//! | offset | size | field of the header |
//! |---|---|---|
//! | 0 | 4 | signature: `FAHD` |
//! | 4 | 1 | version: 0 |
//! | 5 | 1 | client ID: 0 chunks without filters, 1 filtered chunks |
//! | 6 | 1 | entry size in bytes |
//! | 7 | 1 | page bits: the binary logarithm of the number of elements of a page |
//! | 8 | L | maximum number of entries |
//! | 8 + L | O | data block address, or none |
//! | 8 + L + O | 4 | checksum |
//!
//! | offset | size | field of the data block |
//! |---|---|---|
//! | 0 | 4 | signature: `FADB` |
//! | 4 | 1 | version: 0 |
//! | 5 | 1 | client ID |
//! | 6 | O | header address |
//! | 6 + O | | elements; if they do not fit one page, a bitmap of the pages in use instead, with the highest bit first |
//! | | 4 | checksum |
//! | | | pages, if there are any: elements and a checksum each |
//!
//! | offset | size | field of an element |
//! |---|---|---|
//! | 0 | O | address of the chunk, or none |
//! | O | as the layout says | chunk size: stored bytes (client 1) |
//! | | 4 | filter mask (client 1) |

use nom::Parser;
use nom::bytes::complete::take;
use nom::number::complete::{le_u32, u8 as byte};
use sciformats_core::Result;
use sciformats_core::arith::{fit, present};
use sciformats_core::fault::{FaultKind, Parsed, checked, field};

use super::{
    Address, Sizes, address, defined, length, put_address, put_checksum, put_length, put_uint, sealed,
    signature, uint, version,
};

/// The header of a fixed array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FixedArray {
    /// 0 for unfiltered chunks, 1 for filtered chunks.
    pub(crate) client: u8,
    /// The size of an element in bytes.
    pub(crate) element_size: u8,
    /// The binary logarithm of the number of elements of a page.
    pub(crate) page_bits: u8,
    /// The number of elements.
    pub(crate) elements: u64,
    /// The address of the data block.
    pub(crate) block: Option<Address>,
}

impl FixedArray {
    pub(crate) fn size(sizes: Sizes) -> usize {
        sizes.bytes(1, 1, 12)
    }

    pub(crate) fn parse(i: &[u8], sizes: Sizes) -> Parsed<'_, Self> {
        sealed(|i| {
            let (i, ()) = signature(b"FAHD")(i)?;
            let (i, _) = version(0)(i)?;
            let (i, client) = client(i)?;
            let (i, element_size) = field("entry size", byte)(i)?;
            let (i, page_bits) = checked("page bits", byte, |&bits| {
                (bits > 63).then_some(FaultKind::Undefined { found: bits.into() })
            })(i)?;
            let (i, elements) = field("maximum number of entries", length(sizes))(i)?;
            let (i, block) = field("data block address", address(sizes))(i)?;
            Ok((i, Self { client, element_size, page_bits, elements, block }))
        })(i)
    }

    /// Returns the number of elements of a full page.
    pub(crate) fn page(&self) -> u64 {
        1u64.unbounded_shl(self.page_bits.into()).max(1)
    }

    /// Returns the number of pages; 0 if the elements are in the data block itself.
    pub(crate) fn pages(&self) -> u64 {
        if self.elements <= self.page() { 0 } else { self.elements.div_ceil(self.page()) }
    }

    /// Returns the number of bytes before the elements or the bitmap of the data block.
    pub(crate) fn prefix(sizes: Sizes) -> usize {
        sizes.bytes(1, 0, 6)
    }

    /// Parses the data block up to its first checksum: `len` bytes of elements, or of the bitmap.
    pub(crate) fn parse_block(i: &[u8], sizes: Sizes, len: usize) -> Parsed<'_, &[u8]> {
        sealed(|i| {
            let (i, ()) = signature(b"FADB")(i)?;
            let (i, _) = version(0)(i)?;
            let (i, _) = client(i)?;
            let (i, _) = field("header address", defined(sizes))(i)?;
            field("elements", take(len)).parse(i)
        })(i)
    }
}

/// Parses the client ID, which says which chunks an array indexes: 0 unfiltered chunks, 1 filtered chunks.
pub(crate) fn client(i: &[u8]) -> Parsed<'_, u8> {
    checked("client ID", byte, |&id| (id > 1).then_some(FaultKind::Undefined { found: id.into() }))(i)
}

/// Parses a page of `len` bytes of elements.
pub(crate) fn page(i: &[u8], len: usize) -> Parsed<'_, &[u8]> {
    sealed(field("elements", take(len)))(i)
}

/// Returns whether bit `index` of a bitmap is set. The most significant bit of a byte is the first.
pub(crate) fn page_is_used(bitmap: &[u8], index: u64) -> bool {
    let byte = usize::try_from(index / 8).ok().and_then(|at| bitmap.get(at));
    byte.is_some_and(|byte| byte & page_bit(index) != 0)
}

/// An element, which says where a chunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    /// The address of the chunk, or `None` if it is not stored.
    pub(crate) address: Option<Address>,
    /// The stored size in bytes and the mask of the filters that were skipped, if the chunks are filtered.
    pub(crate) filtered: Option<(u64, u32)>,
}

impl Element {
    /// Parses an element whose chunk size is `size_width` bytes wide; this is 0 without filters.
    pub(crate) fn parse(i: &[u8], sizes: Sizes, size_width: usize) -> Parsed<'_, Self> {
        let (i, address) = field("address", address(sizes))(i)?;
        let (i, filtered) = match size_width {
            0 => (i, None),
            _ => (field("chunk size", uint(size_width)), field("filter mask", le_u32)).map(Some).parse(i)?,
        };
        Ok((i, Self { address, filtered }))
    }
}

impl FixedArray {
    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes) -> Result<()> {
        let start = out.len();
        out.extend(b"FAHD\0");
        out.extend([self.client, self.element_size, self.page_bits]);
        put_length(out, self.elements, sizes)?;
        put_address(out, self.block, sizes)?;
        put_checksum(out, start)?;
        Ok(())
    }

    /// Appends a data block: its elements, or the bitmap of its pages.
    pub(crate) fn encode_block(
        &self,
        out: &mut Vec<u8>,
        sizes: Sizes,
        header: Address,
        content: &[u8],
    ) -> Result<()> {
        let start = out.len();
        out.extend(b"FADB\0");
        out.push(self.client);
        put_address(out, Some(header), sizes)?;
        out.extend(content);
        put_checksum(out, start)?;
        Ok(())
    }
}

/// Appends a page of elements.
pub(crate) fn encode_page(out: &mut Vec<u8>, elements: &[u8]) -> Result<()> {
    let start = out.len();
    out.extend(elements);
    put_checksum(out, start)?;
    Ok(())
}

/// Marks page `index` as in use.
pub(crate) fn set_page(bitmap: &mut [u8], index: u64) -> Result<()> {
    let byte = present(bitmap.get_mut(fit::<usize, _>(index / 8, "number of a page")?), "bit of a page")?;
    *byte |= page_bit(index);
    Ok(())
}

/// Returns the bit of page `index` within its byte.
fn page_bit(index: u64) -> u8 {
    let [in_byte, ..] = (index % 8).to_le_bytes();
    0x80u8.unbounded_shr(in_byte.into())
}

impl Element {
    pub(crate) fn encode(&self, out: &mut Vec<u8>, sizes: Sizes, size_width: usize) -> Result<()> {
        put_address(out, self.address, sizes)?;
        if size_width > 0 {
            // A chunk that is not stored has no size.
            let none = self.address.is_none().then_some((0, 0));
            let (size, mask) = present(self.filtered.or(none), "size of a filtered chunk")?;
            put_uint(out, size, size_width)?;
            out.extend(mask.to_le_bytes());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::test::{SIZES, any_sizes, both_ways, near, near_sealed, seal};
    use super::*;

    /// A header without its checksum. The block has no checksum either.
    const HEADER: [u8; 24] = [
        b'F', b'A', b'H', b'D', // signature
        0,    // version
        0,    // client ID
        8,    // entry size
        0x0a, // page bits
        5, 0, 0, 0, 0, 0, 0, 0, // maximum number of entries
        0, 0x10, 0, 0, 0, 0, 0, 0, // data block address
    ];

    const BLOCK: [u8; 30] = [
        b'F', b'A', b'D', b'B', // signature
        0,    // version
        0,    // client ID
        0, 8, 0, 0, 0, 0, 0, 0, // header address
        0, 0x20, 0, 0, 0, 0, 0, 0, // element 0
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // element 1: none
    ];

    const FILTERED: [u8; 14] = [
        0, 0x20, 0, 0, 0, 0, 0, 0, // address
        0x2c, 1, // chunk size
        1, 0, 0, 0, // filter mask
    ];

    const ARRAY: FixedArray =
        FixedArray { client: 0, element_size: 8, page_bits: 10, elements: 5, block: Some(Address(0x1000)) };

    #[test]
    fn a_header() {
        let bytes = seal(HEADER.to_vec());
        assert_eq!(bytes.len(), FixedArray::size(SIZES));
        both_ways(&bytes, &ARRAY, |i| FixedArray::parse(i, SIZES), |array, out| array.encode(out, SIZES));
        assert_eq!((ARRAY.pages(), ARRAY.page()), (0, 1024));
    }

    #[test]
    fn a_block_a_page_and_their_elements() {
        let (bytes, elements) = (seal(BLOCK.to_vec()), &BLOCK[14..]);
        assert_eq!(FixedArray::prefix(SIZES), 14);
        both_ways(
            &bytes,
            &elements,
            |i| FixedArray::parse_block(i, SIZES, 16),
            |elements, out| ARRAY.encode_block(out, SIZES, Address(0x800), elements),
        );
        let bytes = seal(elements.to_vec());
        both_ways(&bytes, &elements, |i| page(i, 16), |elements, out| encode_page(out, elements));
        let plain = Element { address: Some(Address(0x2000)), filtered: None };
        let none = Element { address: None, filtered: None };
        for (bytes, element) in [(&elements[..8], plain), (&elements[8..], none)] {
            both_ways(
                bytes,
                &element,
                |i| Element::parse(i, SIZES, 0),
                |element, out| element.encode(out, SIZES, 0),
            );
        }
        let filtered = Element { filtered: Some((300, 1)), ..plain };
        both_ways(
            &FILTERED,
            &filtered,
            |i| Element::parse(i, SIZES, 2),
            |element, out| element.encode(out, SIZES, 2),
        );
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            head in near_sealed(&HEADER),
            block in near_sealed(&BLOCK),
            element in near(&FILTERED),
            sizes in any_sizes(),
            (len, width) in (0usize..40, 0usize..9),
        ) {
            if let Ok((_, array)) = FixedArray::parse(&head, sizes) {
                let _ = (array.page(), array.pages());
            }
            let _ = FixedArray::parse_block(&block, sizes, len);
            let _ = page(&block, len);
            let _ = Element::parse(&element, sizes, width);
        }
    }

    #[test]
    fn bitmaps_start_at_the_high_bit() {
        assert!(page_is_used(&[0x80, 0x01], 0));
        assert!(!page_is_used(&[0x80, 0x01], 7));
        assert!(page_is_used(&[0x80, 0x01], 15));
        assert!(!page_is_used(&[0x80, 0x01], 16));
        let mut bitmap = [0; 2];
        [0, 15].into_iter().for_each(|page| set_page(&mut bitmap, page).unwrap());
        assert_eq!(bitmap, [0x80, 0x01]);
    }
}
