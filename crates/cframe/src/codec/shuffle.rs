//! Byte shuffle: bytes of equal significance become adjacent.
//!
//! A block of n elements of `size` bytes becomes `size` planes of n bytes. Bytes after the last whole element are unchanged.
//!
//! The fast kernels see 16 elements of a power-of-two size as a sequence of bytes, and interleave its two halves. This rotates
//! the bits of each byte's index by one. Repeated log2(size) times, it converts planes to elements; repeated four times, it
//! converts elements to planes. Elements of other sizes are padded to 16 bytes, or are seen as overlapping parts of 16 bytes.

use sciformats_core::bound;

use super::simd::{self, Part};

/// The number of elements that a kernel processes at once, and also the number of bytes of each element.
const GROUP: usize = 16;

/// Converts elements to planes. `out` must be as long as `input`.
pub(crate) fn shuffle(input: &[u8], size: usize, out: &mut [u8]) {
    let count = input.len() / size.max(1);
    let (elements, tail) = input.split_at(count * size);
    let (planes, rest) = out.split_at_mut(count * size);
    to_planes(elements, size, planes, count, 0);
    rest.copy_from_slice(tail);
}

/// Converts planes to elements. `out` must be as long as `input`.
pub(crate) fn unshuffle(input: &[u8], size: usize, out: &mut [u8]) {
    let count = input.len() / size.max(1);
    let (planes, tail) = input.split_at(count * size);
    let (elements, rest) = out.split_at_mut(count * size);
    to_elements(planes, size, elements, count, 0);
    rest.copy_from_slice(tail);
}

/// Writes elements to planes that are `stride` bytes apart, beginning at byte `at` of each plane.
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

/// Fills elements from planes that are `stride` bytes apart, beginning at byte `at` of each plane.
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

/// Splits elements of any size: two groups of sixteen elements at once, and the rest one by one.
fn split_any(elements: &[u8], size: usize, planes: &mut [u8], stride: usize, at: usize) {
    let groups = groups(elements.len(), size) / 2 * 2;
    for column in columns(size) {
        simd::split_part(elements, planes, Part { size, column, stride, at, groups });
    }
    for (e, element) in elements.chunks_exact(size).enumerate().skip(GROUP * groups) {
        for (k, byte) in element.iter().enumerate() {
            if let Some(target) = planes.get_mut(k * stride + at + e) {
                *target = *byte;
            }
        }
    }
}

/// Joins elements of any size: two groups of sixteen elements at once, and the rest one by one.
fn join_any(planes: &[u8], size: usize, elements: &mut [u8], stride: usize, at: usize) {
    let groups = groups(elements.len(), size) / 2 * 2;
    for column in columns(size) {
        simd::join_part(planes, elements, Part { size, column, stride, at, groups });
    }
    for (e, element) in elements.chunks_exact_mut(size).enumerate().skip(GROUP * groups) {
        for (k, byte) in element.iter_mut().enumerate() {
            *byte = planes.get(k * stride + at + e).copied().unwrap_or(0); // a bound: the byte exists
        }
    }
}

/// Returns the number of groups of elements with at least 16 bytes after the start of their last element.
fn groups(len: usize, size: usize) -> usize {
    let padding = bound::left(GROUP, size);
    bound::left(len, padding) / (GROUP * size)
}

/// Returns the starts of the parts of 16 bytes that make up an element. The last part may overlap the one before.
fn columns(size: usize) -> impl Iterator<Item = usize> {
    let last = bound::left(size, GROUP);
    (0..size.div_ceil(GROUP)).map(move |part| (part * GROUP).min(last))
}

/// Splits sixteen elements at once, and the rest one by one.
fn split<const N: usize>(elements: &[u8], planes: &mut [u8], stride: usize, at: usize) {
    let count = elements.len() / N;
    let mut planes = planes.chunks_mut(stride.max(1));
    let mut targets: [&mut [u8]; N] = std::array::from_fn(|_| {
        planes.next().and_then(|plane| plane.get_mut(at..at + count)).unwrap_or_default()
    });
    let groups = elements.as_chunks::<GROUP>().0.as_chunks::<N>().0;
    simd::split(groups, &mut targets);
    for (k, byte) in elements.iter().enumerate().skip(groups.len() * GROUP * N) {
        if let Some(target) = targets.get_mut(k % N).and_then(|target| target.get_mut(k / N)) {
            *target = *byte;
        }
    }
}

/// Joins sixteen elements at once, and the rest one by one.
fn join<const N: usize>(planes: &[u8], elements: &mut [u8], stride: usize, at: usize) {
    let count = elements.len() / N;
    let mut planes = planes.chunks(stride.max(1));
    let sources: [&[u8]; N] = std::array::from_fn(|_| {
        planes.next().and_then(|plane| plane.get(at..at + count)).unwrap_or_default()
    });
    join_planes(&sources, elements);
}

/// Converts planes to elements. There are as many elements as bytes in each plane.
pub(crate) fn join_planes<const N: usize>(sources: &[&[u8]; N], elements: &mut [u8]) {
    let groups = elements.as_chunks_mut::<GROUP>().0.as_chunks_mut::<N>().0;
    simd::join(sources, groups);
    let done = groups.len() * GROUP * N;
    for (k, byte) in elements.iter_mut().enumerate().skip(done) {
        *byte = sources.get(k % N).and_then(|source| source.get(k / N)).copied().unwrap_or(0); // a bound: the byte exists
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shuffles as the definition says, without optimizations.
    fn defined(input: &[u8], size: usize) -> Vec<u8> {
        let count = input.len() / size;
        let mut out = input.to_vec();
        for (i, byte) in input.iter().enumerate().take(count * size) {
            out[i % size * count + i / size] = *byte;
        }
        out
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
