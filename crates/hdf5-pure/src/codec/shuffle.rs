//! Shuffle (filter 2): the first bytes of all elements come first, then their second bytes, and so on.

/// Reassembles elements of `size` bytes in `out`. Bytes after the last whole element stay as they are.
pub(crate) fn decode(size: usize, input: &[u8], out: &mut Vec<u8>) {
    out.resize(input.len(), 0);
    decode_to(size, input, out);
}

/// As [`decode`], to a place that is as long as the input.
pub(crate) fn decode_to(size: usize, input: &[u8], out: &mut [u8]) {
    let n = input.len().checked_div(size).unwrap_or_default();
    if size <= 1 || n <= 1 {
        out.copy_from_slice(input);
        return;
    }
    let (planes, tail) = input.split_at(n * size);
    let (elements, rest) = out.split_at_mut(planes.len());
    match size {
        2 => fixed::<2>(planes, n, elements),
        4 => fixed::<4>(planes, n, elements),
        8 => fixed::<8>(planes, n, elements),
        _ => any(planes, n, size, elements),
    }
    rest.copy_from_slice(tail);
}

/// Sixteen bytes at once, which WebAssembly can interleave. Its module is compiled for size, so that a loop over bytes stays one.
#[cfg(any(test, target_family = "wasm"))]
mod sixteen {
    #[cfg(all(target_family = "wasm", target_feature = "simd128"))]
    mod register {
        use std::arch::wasm32::{i8x16_shuffle, u64x2, u64x2_extract_lane, v128};

        pub(super) type Register = v128;

        #[inline(always)]
        pub(super) fn of(bytes: &[u8; 16]) -> Register {
            let whole = u128::from_le_bytes(*bytes);
            u64x2(whole as u64, (whole >> 64) as u64)
        }

        #[inline(always)]
        pub(super) fn bytes(register: Register) -> [u8; 16] {
            let (low, high) = (u64x2_extract_lane::<0>(register), u64x2_extract_lane::<1>(register));
            (u128::from(low) | u128::from(high) << 64).to_le_bytes()
        }

        /// Interleaves the first halves.
        #[inline(always)]
        pub(super) fn low(a: Register, b: Register) -> Register {
            i8x16_shuffle::<0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23>(a, b)
        }

        /// Interleaves the second halves.
        #[inline(always)]
        pub(super) fn high(a: Register, b: Register) -> Register {
            i8x16_shuffle::<8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31>(a, b)
        }
    }

    #[cfg(not(all(target_family = "wasm", target_feature = "simd128")))]
    mod register {
        pub(super) type Register = [u8; 16];

        pub(super) fn of(bytes: &[u8; 16]) -> Register {
            *bytes
        }

        pub(super) fn bytes(register: Register) -> [u8; 16] {
            register
        }

        pub(super) fn low(a: Register, b: Register) -> Register {
            std::array::from_fn(|k| if k % 2 == 0 { a[k / 2] } else { b[k / 2] })
        }

        pub(super) fn high(a: Register, b: Register) -> Register {
            std::array::from_fn(|k| if k % 2 == 0 { a[8 + k / 2] } else { b[8 + k / 2] })
        }
    }

    use register::{Register, bytes, high, low, of};

    /// Reassembles as many elements as possible, and returns their number. `planes` and `out` are as in `fixed`.
    pub(super) fn elements<const SIZE: usize>(planes: &[&[u8]; SIZE], out: &mut [[u8; SIZE]]) -> usize {
        let planes = planes.map(|plane| plane.as_chunks::<16>().0);
        let parts = out.as_flattened_mut().as_chunks_mut::<16>().0;
        let groups = parts.len() / SIZE;
        for group in 0..groups {
            let read = |byte: usize| planes.get(byte).and_then(|plane| plane.get(group)).map(of);
            let mut write = |part: usize, register: Register| {
                if let Some(place) = parts.get_mut(group * SIZE + part) {
                    *place = bytes(register);
                }
            };
            match SIZE {
                2 => {
                    let (Some(a), Some(b)) = (read(0), read(1)) else { break };
                    write(0, low(a, b));
                    write(1, high(a, b));
                }
                4 => {
                    let (Some(a), Some(b), Some(c), Some(d)) = (read(0), read(1), read(2), read(3)) else {
                        break;
                    };
                    let (e, f, g, h) = (low(a, c), high(a, c), low(b, d), high(b, d));
                    write(0, low(e, g));
                    write(1, high(e, g));
                    write(2, low(f, h));
                    write(3, high(f, h));
                }
                8 => {
                    let (Some(a), Some(b), Some(c), Some(d)) = (read(0), read(1), read(2), read(3)) else {
                        break;
                    };
                    let (Some(e), Some(f), Some(g), Some(h)) = (read(4), read(5), read(6), read(7)) else {
                        break;
                    };
                    let all = again(again([a, b, c, d, e, f, g, h]));
                    for (part, register) in again(all).into_iter().enumerate() {
                        write(part, register);
                    }
                }
                _ => return 0,
            }
        }
        groups * 16
    }

    /// Interleaves the halves of eight registers.
    #[inline(always)]
    fn again([a, b, c, d, e, f, g, h]: [Register; 8]) -> [Register; 8] {
        [low(a, e), high(a, e), low(b, f), high(b, f), low(c, g), high(c, g), low(d, h), high(d, h)]
    }
}

/// Does the same with a width that the compiler knows, and with slices that it sees to be equally long, so that it can
/// use vector instructions. `planes` has `n` bytes for each byte of an element, and `out` has as many bytes.
fn fixed<const SIZE: usize>(planes: &[u8], n: usize, out: &mut [u8]) {
    let (elements, _) = out.as_chunks_mut::<SIZE>();
    let elements = &mut elements[..n];
    let planes: [&[u8]; SIZE] = std::array::from_fn(|byte| &planes[byte * n..][..n]);
    #[cfg(target_family = "wasm")]
    let done = sixteen::elements(&planes, elements);
    #[cfg(not(target_family = "wasm"))]
    let done = 0;
    for i in done..n {
        let mut element = [0; SIZE];
        for (byte, plane) in element.iter_mut().zip(&planes) {
            *byte = plane[i];
        }
        elements[i] = element;
    }
}

fn any(planes: &[u8], n: usize, size: usize, out: &mut [u8]) {
    for (byte, plane) in planes.chunks_exact(n).enumerate() {
        for (element, &value) in out.chunks_exact_mut(size).zip(plane) {
            if let Some(slot) = element.get_mut(byte) {
                *slot = value;
            }
        }
    }
}

/// Rearranges bytes so that the first bytes of all elements come first, then their second bytes. Bytes after the last
/// whole element stay as they are.
pub(crate) fn encode(size: usize, input: &[u8]) -> Vec<u8> {
    let mut out = vec![0; input.len()];
    encode_to(size, input, &mut out);
    out
}

/// As [`encode`], to a place that is as long as the input.
pub(crate) fn encode_to(size: usize, input: &[u8], out: &mut [u8]) {
    let n = input.len().checked_div(size).unwrap_or_default();
    if size <= 1 || n <= 1 {
        out.copy_from_slice(input);
        return;
    }
    let (elements, tail) = input.split_at(n * size);
    let (out, rest) = out.split_at_mut(elements.len());
    match size {
        2 => spread::<2>(elements, n, out),
        4 => spread::<4>(elements, n, out),
        8 => spread::<8>(elements, n, out),
        _ => {
            for (byte, plane) in out.chunks_exact_mut(n).enumerate() {
                let column = elements.iter().skip(byte).step_by(size);
                plane.iter_mut().zip(column).for_each(|(to, &from)| *to = from);
            }
        }
    }
    rest.copy_from_slice(tail);
}

/// Does the same with a width that the compiler knows, in blocks that fit into the cache.
fn spread<const SIZE: usize>(elements: &[u8], n: usize, out: &mut [u8]) {
    const BLOCK: usize = 4096;
    let (elements, _) = elements.as_chunks::<SIZE>();
    for (block, part) in elements.chunks(BLOCK).enumerate() {
        for (byte, plane) in out.chunks_exact_mut(n).enumerate() {
            let plane = plane.get_mut(block * BLOCK..).unwrap_or_default();
            for (to, element) in plane.iter_mut().zip(part) {
                *to = element.get(byte).copied().unwrap_or(0); // a bound: an element always has this byte
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn sixteen_at_once_are_the_same() {
        fn check<const SIZE: usize>() {
            for n in [0, 1, 15, 16, 17, 50, 64] {
                let planes: Vec<u8> = (0..n * SIZE).map(|i| (i * 7 + i / 251) as u8).collect();
                let mut wanted = vec![0; planes.len()];
                super::fixed::<SIZE>(&planes, n, &mut wanted);
                let mut found = vec![[0; SIZE]; n];
                let done = super::sixteen::elements::<SIZE>(
                    &std::array::from_fn(|k| &planes[k * n..][..n]),
                    &mut found,
                );
                assert_eq!(done, n / 16 * 16);
                assert_eq!(
                    found.as_flattened()[..done * SIZE],
                    wanted[..done * SIZE],
                    "size {SIZE}, {n} elements"
                );
            }
        }
        check::<2>();
        check::<4>();
        check::<8>();
    }

    #[test]
    fn planes_of_any_width() {
        for size in [2usize, 3, 4, 8] {
            let n = 5000;
            let elements: Vec<u8> = (0..n * size).map(|i| (i * 7 + i / 256) as u8).collect();
            let mut shuffled: Vec<u8> =
                (0..size).flat_map(|b| (0..n).map(move |e| e * size + b)).map(|i| elements[i]).collect();
            shuffled.push(9);
            let mut decoded = vec![7; size * 3];
            super::decode(size, &shuffled, &mut decoded);
            assert_eq!(decoded.len(), shuffled.len());
            assert_eq!(decoded[..n * size], elements);
            assert_eq!(decoded[n * size], 9);
        }
    }
}
