//! The bytes of a new file: the header, the encoded payload and the metadata.

use std::borrow::Cow;

use sciformats_core::arith::{div, fit, increase, mul, sum};
use sciformats_core::endian::ByteOrder;
use sciformats_core::{Error, Result, WriteAt, slab};

use super::element_type::ElementType;
use super::layout::{Encoding, size_of_bits};
use crate::codec::{bits, leb128, lz4};
use crate::spec::{ElementKind, Flags, Header};

/// The size of the buffer for elements whose bytes must be reversed when they are written.
const BUFFER: usize = 1 << 20;

/// Elements in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elements<'a> {
    pub(crate) element: ElementType,
    pub(crate) bytes: &'a [u8],
    /// The byte order of the elements in memory.
    pub(crate) order: ByteOrder,
}

impl<'a> Elements<'a> {
    /// Returns the bytes in the order `target`.
    pub(crate) fn in_order(self, target: ByteOrder) -> Cow<'a, [u8]> {
        let width = self.element.swap_width();
        let mut bytes = Cow::Borrowed(self.bytes);
        if self.order != target && width > 1 {
            self.order.convert(target, bytes.to_mut(), width);
        }
        bytes
    }

    /// Passes the bytes in the order `target` to `write`, in pieces if they must be reversed.
    pub(crate) fn in_pieces(
        self,
        target: ByteOrder,
        mut write: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let width = self.element.swap_width();
        if self.order == target || width <= 1 {
            return write(self.bytes);
        }
        let size = mul(div(BUFFER, width)?.max(1), width)?;
        let mut buffer = Vec::with_capacity(size.min(self.bytes.len()));
        self.bytes.chunks(size).try_for_each(|piece| {
            buffer.clear();
            buffer.extend_from_slice(piece);
            self.order.convert(target, &mut buffer, width);
            write(&buffer)
        })
    }
}

/// The content of a file to write.
#[derive(Debug)]
pub(crate) struct Image<'a> {
    header: Header,
    payload: Payload<'a>,
    metadata: &'a [u8],
}

#[derive(Debug)]
enum Payload<'a> {
    /// Unencoded elements, and the byte order in which they are written.
    Raw(Elements<'a>, ByteOrder),
    Encoded(Vec<u8>),
}

impl<'a> Image<'a> {
    /// Encodes an array.
    pub(crate) fn new(
        elements: Elements<'a>,
        dims: &[u64],
        (encoding, order): (Encoding, ByteOrder),
        metadata: &'a [u8],
    ) -> Result<Self> {
        let Elements { element, bytes, .. } = elements;
        check_size(element, dims, bytes.len())?;
        let (flags, payload) = match encoding {
            Encoding::Raw => (order_flag(order), Payload::Raw(elements, order)),
            Encoding::Lz4 => compressed(elements, order)?,
            Encoding::Leb128 => {
                if !metadata.is_empty() {
                    let problem = "cannot follow a LEB128 payload, which extends to the end of the file";
                    return Err(Error::usage("metadata", problem));
                }
                (Flags::ENCODED, Payload::Encoded(numbers(elements)?))
            }
            Encoding::Bits => {
                if element != ElementType::Bool {
                    let problem =
                        format!("is only possible for truth values, but the elements are {element}");
                    return Err(Error::usage("encoding", problem));
                }
                let mut words = bits::pack(bytes);
                ByteOrder::Little.convert(order, &mut words, bits::WORD);
                (order_flag(order) | Flags::BITS, Payload::Encoded(words))
            }
        };
        let elbyte = if flags.contains(Flags::BITS) { bits::WORD as u64 } else { element.size() };
        let size = match &payload {
            Payload::Encoded(payload) if encoding == Encoding::Lz4 => payload.len() as u64,
            _ if encoding == Encoding::Bits => size_of_bits(bytes.len() as u64),
            _ => bytes.len() as u64,
        };
        let header = Header { flags, eltype: element.kind(), elbyte, size, dims: dims.to_vec() };
        Ok(Self { header, payload, metadata })
    }

    /// Returns the length of the file.
    pub(crate) fn len(&self) -> Result<u64> {
        let payload = match &self.payload {
            Payload::Raw(elements, _) => elements.bytes,
            Payload::Encoded(bytes) => bytes,
        };
        sum([self.header.end(), payload.len() as u64, self.metadata.len() as u64])
    }

    /// Writes the file.
    pub(crate) fn write(&self, storage: &mut (impl WriteAt + ?Sized)) -> Result<()> {
        let mut head = Vec::new();
        self.header.encode(&mut head);
        let mut at = 0u64;
        let mut write = |bytes: &[u8]| {
            let offset = at;
            increase(&mut at, bytes.len() as u64)?;
            if bytes.is_empty() { Ok(()) } else { storage.write_at(offset, bytes) }
        };
        write(&head)?;
        match &self.payload {
            Payload::Raw(elements, order) => elements.in_pieces(*order, &mut write)?,
            Payload::Encoded(bytes) => write(bytes)?,
        }
        write(self.metadata)
    }
}

/// Checks that an array of this type and these dimensions has `size` bytes.
fn check_size(element: ElementType, dims: &[u64], size: usize) -> Result<()> {
    let expected = slab::elements(dims).and_then(|count| count.checked_mul(element.size()));
    match expected {
        Some(expected) if expected == size as u64 => Ok(()),
        Some(expected) => {
            let problem = format!(
                "have {size} bytes, but an array of {element} with the dimensions {dims:?} has {expected}"
            );
            Err(Error::usage("elements", problem))
        }
        None => Err(Error::usage("dims", "have a product of more than 2^64 bytes")),
    }
}

pub(crate) fn order_flag(order: ByteOrder) -> Flags {
    match order {
        ByteOrder::Little => Flags::NONE,
        ByteOrder::Big => Flags::BIG_ENDIAN,
    }
}

/// Returns the payload as an LZ4 block if the block is smaller. Otherwise readers, which recognize a block by its size, could not
/// tell it from raw elements.
fn compressed(elements: Elements<'_>, order: ByteOrder) -> Result<(Flags, Payload<'_>)> {
    let block = lz4::compress(&elements.in_order(order))?;
    Ok(if block.len() < elements.bytes.len() {
        (order_flag(order) | Flags::ENCODED, Payload::Encoded(block))
    } else {
        (order_flag(order), Payload::Raw(elements, order))
    })
}

fn numbers(elements: Elements<'_>) -> Result<Vec<u8>> {
    let element = elements.element;
    let width = fit(element.size(), "size of an element")?;
    let signed = element.kind() == ElementKind::Int;
    if !(signed || element.kind() == ElementKind::UInt) || width > leb128::WIDEST {
        let problem =
            format!("is only possible for integers of at most 16 bytes, but the elements are {element}");
        return Err(Error::usage("encoding", problem));
    }
    Ok(leb128::encode(&elements.in_order(ByteOrder::Little), width, signed))
}
