//! Byte shuffle: bytes of equal significance stand together.
//!
//! A block of n elements of `size` bytes becomes `size` planes of n bytes. Bytes after the last whole element stay.
//!
//! The fast kernels see 16 elements of a power-of-two size as a sequence of bytes and interleave its two halves. Doing
//! that rotates the bits of each byte's index by one: as often as the size has bits, it turns planes into elements;
//! four times, elements into planes.

/// Elements that the slow kernel moves at a time, so that all planes' lines stay in the cache.
const TILE: usize = 512;

/// Elements to planes. `out` is as long as `input`.
pub(crate) fn shuffle(input: &[u8], size: usize, out: &mut [u8]) {
    let count = input.len() / size.max(1);
    let (elements, tail) = input.split_at(count * size);
    let (planes, rest) = out.split_at_mut(count * size);
    to_planes(elements, size, planes, count, 0);
    rest.copy_from_slice(tail);
}

/// Planes to elements. `out` is as long as `input`.
pub(crate) fn unshuffle(input: &[u8], size: usize, out: &mut [u8]) {
    let count = input.len() / size.max(1);
    let (planes, tail) = input.split_at(count * size);
    let (elements, rest) = out.split_at_mut(count * size);
    to_elements(planes, size, elements, count, 0);
    rest.copy_from_slice(tail);
}

/// Writes elements into planes that are `stride` bytes apart, from byte `at` of each plane on.
pub(crate) fn to_planes(elements: &[u8], size: usize, planes: &mut [u8], stride: usize, at: usize) {
    match size {
        0 => {}
        1 => {
            if let Some(plane) = planes.get_mut(at..at + elements.len()) {
                plane.copy_from_slice(elements);
            }
        }
        2 => split::<2>(elements, planes, stride, at),
        4 => split::<4>(elements, planes, stride, at),
        8 => split::<8>(elements, planes, stride, at),
        16 => split::<16>(elements, planes, stride, at),
        _ => split_any(elements, size, planes, stride, at),
    }
}

/// Fills elements from planes that are `stride` bytes apart, from byte `at` of each plane on.
pub(crate) fn to_elements(planes: &[u8], size: usize, elements: &mut [u8], stride: usize, at: usize) {
    match size {
        0 => {}
        1 => {
            if let Some(plane) = planes.get(at..at + elements.len()) {
                elements.copy_from_slice(plane);
            }
        }
        2 => join::<2>(planes, elements, stride, at),
        4 => join::<4>(planes, elements, stride, at),
        8 => join::<8>(planes, elements, stride, at),
        16 => join::<16>(planes, elements, stride, at),
        _ => join_any(planes, size, elements, stride, at),
    }
}

/// Any size, one plane after another.
fn split_any(elements: &[u8], size: usize, planes: &mut [u8], stride: usize, at: usize) {
    for (tile, elements) in elements.chunks(TILE * size).enumerate() {
        let at = at + tile * TILE;
        for (j, plane) in planes.chunks_mut(stride).enumerate() {
            let target = plane.get_mut(at..at + elements.len() / size).unwrap_or_default();
            for (byte, element) in target.iter_mut().zip(elements.chunks_exact(size)) {
                *byte = element.get(j).copied().unwrap_or(0);
            }
        }
    }
}

/// Any size, one plane after another.
fn join_any(planes: &[u8], size: usize, elements: &mut [u8], stride: usize, at: usize) {
    for (tile, elements) in elements.chunks_mut(TILE * size).enumerate() {
        let at = at + tile * TILE;
        for (j, plane) in planes.chunks(stride).enumerate() {
            let source = plane.get(at..at + elements.len() / size).unwrap_or_default();
            for (byte, element) in source.iter().zip(elements.chunks_exact_mut(size)) {
                if let Some(target) = element.get_mut(j) {
                    *target = *byte;
                }
            }
        }
    }
}

/// Sixteen elements at once, and the rest one by one.
fn split<const N: usize>(elements: &[u8], planes: &mut [u8], stride: usize, at: usize) {
    let (groups, rest) = elements.as_chunks::<16>();
    let count = elements.len() / N;
    let mut planes = planes.chunks_mut(stride.max(1));
    let mut targets: [&mut [u8]; N] = std::array::from_fn(|_| {
        planes.next().and_then(|plane| plane.get_mut(at..at + count)).unwrap_or_default()
    });
    let whole = groups.len() / N;
    let (groups, odd) = groups.split_at(whole * N);
    for (g, group) in groups.as_chunks::<N>().0.iter().enumerate() {
        let made = kernel::rotate::<N>(*group, 4);
        for (target, plane) in targets.iter_mut().zip(made) {
            if let Some(target) = target.get_mut(16 * g..).and_then(<[u8]>::first_chunk_mut::<16>) {
                *target = plane;
            }
        }
    }
    let odd = odd.as_flattened().iter().chain(rest);
    for (k, byte) in odd.enumerate() {
        if let Some(target) = targets.get_mut(k % N).and_then(|target| target.get_mut(whole * 16 + k / N)) {
            *target = *byte;
        }
    }
}

/// Sixteen elements at once, and the rest one by one.
fn join<const N: usize>(planes: &[u8], elements: &mut [u8], stride: usize, at: usize) {
    let count = elements.len() / N;
    let mut planes = planes.chunks(stride.max(1));
    let sources: [&[u8]; N] = std::array::from_fn(|_| {
        planes.next().and_then(|plane| plane.get(at..at + count)).unwrap_or_default()
    });
    let whole = count / 16;
    let (groups, rest) = elements.split_at_mut(whole * 16 * N);
    for (g, group) in groups.as_chunks_mut::<16>().0.as_chunks_mut::<N>().0.iter_mut().enumerate() {
        let from = sources.map(|source| {
            source.get(16 * g..).and_then(<[u8]>::first_chunk::<16>).copied().unwrap_or_default()
        });
        *group = kernel::rotate::<N>(from, N.trailing_zeros());
    }
    for (k, byte) in rest.iter_mut().enumerate() {
        let source = sources.get(k % N).and_then(|source| source.get(whole * 16 + k / N));
        *byte = source.copied().unwrap_or(0);
    }
}

/// Interleaves the halves of N × 16 bytes, `rounds` times.
#[cfg(target_arch = "x86_64")]
mod kernel {
    use std::arch::x86_64::{__m128i, _mm_unpackhi_epi8, _mm_unpacklo_epi8};

    #[inline(always)]
    #[allow(unsafe_code)]
    pub(super) fn rotate<const N: usize>(bytes: [[u8; 16]; N], rounds: u32) -> [[u8; 16]; N] {
        let mut registers: [__m128i; N] = bytes.map(bytemuck::must_cast);
        for _ in 0..rounds {
            registers = std::array::from_fn(|i| {
                let (low, high) = (registers[i / 2], registers[i / 2 + N / 2]);
                // SAFETY: both functions need SSE2 and nothing else: they take and give values, no addresses. SSE2 is
                // part of every x86-64 processor. The twin in `plain` does the same, and the tests compare them.
                unsafe {
                    if i % 2 == 0 { _mm_unpacklo_epi8(low, high) } else { _mm_unpackhi_epi8(low, high) }
                }
            });
        }
        registers.map(bytemuck::must_cast)
    }
}

#[cfg(not(target_arch = "x86_64"))]
use plain as kernel;

/// Interleaves the halves of N × 16 bytes, `rounds` times.
#[cfg(any(test, not(target_arch = "x86_64")))]
mod plain {
    #[inline(always)]
    pub(super) fn rotate<const N: usize>(mut bytes: [[u8; 16]; N], rounds: u32) -> [[u8; 16]; N] {
        for _ in 0..rounds {
            bytes = std::array::from_fn(|i| {
                let (low, high) = (bytes[i / 2], bytes[i / 2 + N / 2]);
                let from = 8 * (i % 2);
                std::array::from_fn(|k| if k % 2 == 0 { low[from + k / 2] } else { high[from + k / 2] })
            });
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition.
    fn defined(input: &[u8], size: usize) -> Vec<u8> {
        let count = input.len() / size;
        let mut out = input.to_vec();
        for (i, byte) in input.iter().enumerate().take(count * size) {
            out[i % size * count + i / size] = *byte;
        }
        out
    }

    #[test]
    fn the_kernel_equals_its_twin() {
        fn check<const N: usize>() {
            let bytes: [[u8; 16]; N] = std::array::from_fn(|i| std::array::from_fn(|k| (16 * i + k) as u8));
            (0..=4)
                .for_each(|rounds| assert_eq!(kernel::rotate(bytes, rounds), plain::rotate(bytes, rounds)));
        }
        check::<2>();
        check::<4>();
        check::<8>();
        check::<16>();
    }

    #[test]
    fn every_size_equals_the_definition() {
        for size in (1..=20).chain([31, 32, 64, 255]) {
            for len in [0, 1, size, 15 * size, 16 * size, 33 * size + size / 2, 600 * size + 1] {
                let input: Vec<u8> = (0..len).map(|i| (i * 7 + i / 251) as u8).collect();
                let (mut out, mut again) = (vec![0; len], vec![0; len]);
                shuffle(&input, size, &mut out);
                assert!(out == defined(&input, size), "size {size}, {len} bytes");
                unshuffle(&out, size, &mut again);
                assert!(again == input, "size {size}, {len} bytes");
            }
        }
    }
}
