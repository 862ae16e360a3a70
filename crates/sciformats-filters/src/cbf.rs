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

/// Decodes numbers of `N` bytes until `out` is full.
fn numbers<const N: usize>(data: &[u8], out: &mut [u8]) -> Result<(), Fault> {
    const SIGNS: u64 = 0x8080_8080_8080_8080;
    let put = |number: &mut [u8; N], last: i64| {
        number.iter_mut().zip(last.to_le_bytes()).for_each(|(to, from)| *to = from);
    };
    let (mut rest, mut last) = (data, 0i64);
    let (numbers, mut at) = (out.as_chunks_mut::<N>().0, 0);
    while at < numbers.len() {
        if let Some((bytes, after)) = rest.split_first_chunk::<8>()
            && let Some(eight) = numbers.get_mut(at..).and_then(|numbers| numbers.first_chunk_mut::<8>())
        {
            // No byte is 80 if each of them is different from it in some bit.
            let differ = u64::from_le_bytes(*bytes) ^ SIGNS;
            if differ.wrapping_sub(SIGNS >> 7) & !differ & SIGNS == 0 {
                for (number, byte) in eight.iter_mut().zip(bytes) {
                    last = last.wrapping_add(byte.cast_signed().into());
                    put(number, last);
                }
                (rest, at) = (after, at + 8);
                continue;
            }
        }
        let (after, step) = difference(rest).map_err(|_| truncated("difference"))?;
        last = last.wrapping_add(step);
        if let Some(number) = numbers.get_mut(at) {
            put(number, last);
        }
        (rest, at) = (after, at + 1);
    }
    Ok(())
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
                // As long as the data say at most: each number has a byte.
                if data.len() < len / size {
                    return Err(truncated("difference"));
                }
                let mut out = vec![0; len];
                match size {
                    1 => numbers::<1>(data, &mut out),
                    2 => numbers::<2>(data, &mut out),
                    4 => numbers::<4>(data, &mut out),
                    _ => numbers::<8>(data, &mut out),
                }?;
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
        // The same between many differences of one byte, at each place.
        for before in 0..20u32 {
            let values = [0x70, 0, 1, 0, 4, 1, 0, before + 6 + 20, 1, 1];
            let bytes = [&vec![2; before as usize][..], &bytes, &[0xfd; 20]].concat();
            let first = (1..=before).map(|i| 2 * i as i32);
            let middle = numbers.iter().map(|number| number + 2 * before as i32);
            let last = (1..=20).map(|i| 70_431 + 2 * before as i32 - 3 * i);
            let wanted: Vec<u8> = first.chain(middle).chain(last).flat_map(i32::to_le_bytes).collect();
            assert_eq!(Cbf.decode(&values, &bytes, wanted.len()).unwrap(), wanted);
        }
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
