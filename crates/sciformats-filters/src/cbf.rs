//! CBF (filter 32006) with byte offsets, the compression of X-ray detectors, in which each number is the difference to the one before it.
//!
//! The client data values: compression, a reserved one, the number and the padding of the binary section, bytes of an element, whether
//! it has a sign, whether it is a float, and three dimensions, the fastest first. A chunk is a binary section of a CBF file, with a
//! header of text that ends in the bytes `0C 1A 04 D5`, or only its data:
//!
//! | first byte | difference |
//! |---|---|
//! | other | the byte |
//! | `80` | the two bytes after it, if these are not `8000` |
//! | `80 0080` | the four bytes after these, if they are not `80000000` |
//! | `80 0080 00000080` | the eight bytes after these |

use nom::number::complete::{le_i8, le_i16, le_i32, le_i64};
use sciformats_core::fault::{Parsed, field};
use sciformats_core::{Fault, FaultKind, bound};

use crate::Filter;
use crate::filter::{truncated, value, within};

/// The filter.
pub(crate) struct Cbf;

/// The number of the compression by byte offsets.
const BYTE_OFFSET: u32 = 0x70;
/// The number of no compression.
const NONE: u32 = 0x40;
/// The bytes between the header of a section and its data.
const START: &[u8] = b"\x0c\x1a\x04\xd5";
/// The bytes among which they are looked for.
const HEADER: usize = 8192;

/// Parses one difference.
fn difference(i: &[u8]) -> Parsed<'_, i64> {
    let (i, one) = field("difference", le_i8)(i)?;
    if one != i8::MIN {
        return Ok((i, one.into()));
    }
    let (i, two) = field("difference", le_i16)(i)?;
    if two != i16::MIN {
        return Ok((i, two.into()));
    }
    let (i, four) = field("difference", le_i32)(i)?;
    if four != i32::MIN {
        return Ok((i, four.into()));
    }
    field("difference", le_i64)(i)
}

impl Filter for Cbf {
    fn id(&self) -> u16 {
        32006
    }

    fn name(&self) -> &'static str {
        "cbf"
    }

    fn writes(&self) -> bool {
        false
    }

    fn decode(&self, values: &[u32], input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
        let compression = value(values, 0)?;
        let size = bound::addressable(value(values, 4)?.into());
        let count = (7..10).try_fold(1u64, |count, at| {
            let length = u64::from(values.get(at).copied().unwrap_or(1).max(1));
            count.checked_mul(length).ok_or_else(|| Fault::new("dimensions", FaultKind::Overflow))
        })?;
        if !matches!(size, 1 | 2 | 4 | 8) {
            return Err(Fault::new("bytes of an element", FaultKind::Undefined { found: size as u64 }));
        }
        let len = within("dimensions", count.saturating_mul(size as u64), max)?; // a bound: more than any chunk
        let head = input.get(..HEADER.min(input.len())).unwrap_or_default();
        let start = head.windows(START.len()).position(|four| four == START);
        let data = start.and_then(|at| input.get(at + START.len()..)).unwrap_or(input);
        match compression & 0xff {
            NONE => data.get(..len).map(<[u8]>::to_vec).ok_or_else(|| truncated("section")),
            BYTE_OFFSET => {
                let (mut out, mut rest, mut last) = (Vec::with_capacity(len), data, 0i64);
                while out.len() < len {
                    let (after, step) = difference(rest).map_err(|_| truncated("difference"))?;
                    last = last.wrapping_add(step);
                    out.extend_from_slice(last.to_le_bytes().get(..size).unwrap_or_default());
                    rest = after;
                }
                Ok(out)
            }
            _ => Err(Fault::new("compression", FaultKind::Undefined { found: compression.into() })),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const VALUES: [u32; 10] = [0x70, 0, 1, 0, 4, 1, 0, 3, 2, 1];

    #[test]
    fn differences_of_each_width() {
        let bytes = [
            5,    // 5
            0xff, // 4
            0x80, 0x2c, 0x01, // 304
            0x80, 0x00, 0x80, 0x70, 0x11, 0x01, 0x00, // 70304
            0x80, 0x00, 0x80, 0x00, 0x00, 0x00, 0x80, 0, 0, 0, 0, 1, 0, 0, 0,    // the same in 32 bits
            0x7f, // 70431
        ];
        let numbers = [5i32, 4, 304, 70_304, 70_304, 70_431];
        let wanted: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        assert_eq!(Cbf.decode(&VALUES, &bytes, 24).unwrap(), wanted);
        let section =
            [b"--CIF-BINARY-FORMAT-SECTION--\r\nX-Binary-Size: 29\r\n\r\n", START, &bytes, &[0; 9]].concat();
        assert_eq!(Cbf.decode(&VALUES, &section, 24).unwrap(), wanted);
        assert!(Cbf.decode(&VALUES, &bytes[..bytes.len() - 1], 24).is_err());
        assert!(Cbf.decode(&VALUES, &bytes, 23).is_err());
        assert!(Cbf.decode(&[0x60, 0, 1, 0, 4, 1, 0, 3, 2, 1], &bytes, 24).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(values: Vec<u32>, input: Vec<u8>) {
            let _ = Cbf.decode(&values, &input, 1000);
            let _ = Cbf.decode(&VALUES, &input, 1000);
        }
    }
}
