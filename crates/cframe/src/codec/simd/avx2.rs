//! AVX2: two groups at once, one in each half of a register. Nothing here needs `unsafe`, but calling these functions does,
//! because the processor must have the instructions.

use std::arch::x86_64::{
    __m128i, __m256i, _mm256_and_si256, _mm256_blend_epi32, _mm256_castsi256_si128, _mm256_extracti128_si256,
    _mm256_permute2x128_si256, _mm256_set_m128i, _mm256_set1_epi8, _mm256_setzero_si256,
    _mm256_shuffle_epi32, _mm256_slli_epi64, _mm256_srli_epi64, _mm256_unpackhi_epi8, _mm256_unpacklo_epi8,
    _mm256_xor_si256,
};

use super::{LINE, Part};

#[inline]
#[target_feature(enable = "avx2")]
fn rotate<const N: usize>(mut from: [__m256i; N], rounds: u32) -> [__m256i; N] {
    for _ in 0..rounds {
        let mut to = from;
        for i in 0..N / 2 {
            to[2 * i] = _mm256_unpacklo_epi8(from[i], from[i + N / 2]);
            to[2 * i + 1] = _mm256_unpackhi_epi8(from[i], from[i + N / 2]);
        }
        from = to;
    }
    from
}

/// Loads two pieces of 16 bytes, one into each half.
#[inline]
#[target_feature(enable = "avx2")]
fn pair(low: [u8; 16], high: [u8; 16]) -> __m256i {
    let (low, high): (__m128i, __m128i) = (bytemuck::must_cast(low), bytemuck::must_cast(high));
    _mm256_set_m128i(high, low)
}

/// Returns the low halves of two registers, and the high halves.
#[inline]
#[target_feature(enable = "avx2")]
fn halves(a: __m256i, b: __m256i) -> ([[u8; 16]; 2], [[u8; 16]; 2]) {
    let (low, high) = (_mm256_permute2x128_si256::<0x20>(a, b), _mm256_permute2x128_si256::<0x31>(a, b));
    (bytemuck::must_cast(low), bytemuck::must_cast(high))
}

#[target_feature(enable = "avx2")]
pub(super) fn split<const N: usize>(groups: &[[[u8; 16]; N]], planes: &mut [&mut [u8]; N]) -> usize {
    let pairs = groups.as_chunks::<2>().0;
    for (p, [low, high]) in pairs.iter().enumerate() {
        let mut registers = [_mm256_setzero_si256(); N];
        for i in 0..N {
            registers[i] = pair(low[i], high[i]);
        }
        registers = rotate(registers, 4);
        for i in 0..N {
            if let Some(target) = planes[i].as_chunks_mut::<32>().0.get_mut(p) {
                *target = bytemuck::must_cast(registers[i]);
            }
        }
    }
    2 * pairs.len()
}

#[target_feature(enable = "avx2")]
pub(super) fn join<const N: usize>(planes: &[&[u8]; N], groups: &mut [[[u8; 16]; N]]) -> usize {
    let pairs = groups.as_chunks_mut::<2>().0;
    for (p, [low, high]) in pairs.iter_mut().enumerate() {
        let mut registers = [_mm256_setzero_si256(); N];
        for i in 0..N {
            if let Some(source) = planes[i].as_chunks::<32>().0.get(p) {
                registers[i] = bytemuck::must_cast(*source);
            }
        }
        registers = rotate(registers, N.trailing_zeros());
        let (low, high) = (low.as_chunks_mut::<2>().0, high.as_chunks_mut::<2>().0);
        for i in 0..N / 2 {
            (low[i], high[i]) = halves(registers[2 * i], registers[2 * i + 1]);
        }
    }
    2 * pairs.len()
}

/// Does the same as `narrow_split_part`.
#[target_feature(enable = "avx2")]
pub(super) fn split_part(elements: &[u8], planes: &mut [u8], part: Part) {
    // If the number of bytes is constant, the compiler omits unnecessary steps.
    match part.size {
        3 => split_some::<3>(elements, planes, part),
        5 => split_some::<5>(elements, planes, part),
        6 => split_some::<6>(elements, planes, part),
        7 => split_some::<7>(elements, planes, part),
        9 => split_some::<9>(elements, planes, part),
        10 => split_some::<10>(elements, planes, part),
        11 => split_some::<11>(elements, planes, part),
        12 => split_some::<12>(elements, planes, part),
        13 => split_some::<13>(elements, planes, part),
        14 => split_some::<14>(elements, planes, part),
        15 => split_some::<15>(elements, planes, part),
        _ => split_some::<16>(elements, planes, part),
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn split_some<const N: usize>(elements: &[u8], planes: &mut [u8], part: Part) {
    let Part { column, stride, at, groups, .. } = part;
    let size = if N < 16 { N } else { part.size };
    for p in 0..groups / 2 {
        let begin = 32 * p * size + column;
        let Some(window) = elements.get(begin..begin + 31 * size + 16) else { return };
        let line =
            |i: usize| window.get(i * size..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default();
        let mut registers = [_mm256_setzero_si256(); 16];
        for (i, register) in registers.iter_mut().enumerate() {
            *register = pair(line(i), line(i + 16));
        }
        registers = rotate(registers, 4);
        for (k, register) in registers.iter().enumerate().take(N.min(size)) {
            let plane = planes.get_mut((column + k) * stride + at + 32 * p..);
            if let Some(target) = plane.and_then(<[u8]>::first_chunk_mut::<32>) {
                *target = bytemuck::must_cast(*register);
            }
        }
    }
}

/// Does the same as `narrow_join_part`.
#[target_feature(enable = "avx2")]
pub(super) fn join_part(planes: &[u8], elements: &mut [u8], part: Part) {
    match part.size {
        3 => join_some::<3>(planes, elements, part),
        5 => join_some::<5>(planes, elements, part),
        6 => join_some::<6>(planes, elements, part),
        7 => join_some::<7>(planes, elements, part),
        9 => join_some::<9>(planes, elements, part),
        10 => join_some::<10>(planes, elements, part),
        11 => join_some::<11>(planes, elements, part),
        12 => join_words(planes, elements, part),
        13 => join_some::<13>(planes, elements, part),
        14 => join_some::<14>(planes, elements, part),
        15 => join_some::<15>(planes, elements, part),
        _ => join_some::<16>(planes, elements, part),
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn join_some<const N: usize>(planes: &[u8], elements: &mut [u8], part: Part) {
    let Part { column, stride, at, groups, .. } = part;
    let size = if N < 16 { N } else { part.size };
    for p in 0..groups / 2 {
        let mut registers = [_mm256_setzero_si256(); 16];
        for (k, register) in registers.iter_mut().enumerate().take(N.min(size)) {
            let plane = planes.get((column + k) * stride + at + 32 * p..);
            if let Some(source) = plane.and_then(<[u8]>::first_chunk::<32>) {
                *register = bytemuck::must_cast(*source);
            }
        }
        registers = rotate(registers, 4);
        let begin = 32 * p * size + column;
        let Some(window) = elements.get_mut(begin..begin + 31 * size + 16) else { return };
        // Bytes after a short element belong to the next element, which is written after it.
        for i in 0..32 {
            let half = if i < 16 {
                _mm256_castsi256_si128(registers[i])
            } else {
                _mm256_extracti128_si256::<1>(registers[i - 16])
            };
            if let Some(target) = window.get_mut(i * size..).and_then(<[u8]>::first_chunk_mut::<16>) {
                *target = bytemuck::must_cast(half);
            }
        }
    }
}

/// Does the same as `narrow_join_part` for elements of three words. Four planes make the first words of all elements, four the
/// second words, and four the third words; these are interleaved.
#[inline]
#[target_feature(enable = "avx2")]
fn join_words(planes: &[u8], elements: &mut [u8], part: Part) {
    const SIZE: usize = 12;
    let Part { column, stride, at, groups, .. } = part;
    for p in 0..groups / 2 {
        let mut words = [[_mm256_setzero_si256(); 4]; 3];
        for (k, register) in words.as_flattened_mut().iter_mut().enumerate() {
            let plane = planes.get((column + k) * stride + at + 32 * p..);
            if let Some(source) = plane.and_then(<[u8]>::first_chunk::<32>) {
                *register = bytemuck::must_cast(*source);
            }
        }
        let [a, b, c] = [rotate(words[0], 2), rotate(words[1], 2), rotate(words[2], 2)];
        let begin = 32 * p * SIZE + column;
        let Some(window) = elements.get_mut(begin..begin + 32 * SIZE) else { return };
        let (low, high) = window.as_chunks_mut::<16>().0.split_at_mut(SIZE);
        for i in 0..4 {
            // Each word is moved to where one of the three registers needs it: a0 b0 c0 a1, b1 c1 a2 b2, c2 a3 b3 c3.
            let a = _mm256_shuffle_epi32::<0b01_10_11_00>(a[i]);
            let b = _mm256_shuffle_epi32::<0b10_11_00_01>(b[i]);
            let c = _mm256_shuffle_epi32::<0b11_00_01_10>(c[i]);
            let made = [
                _mm256_blend_epi32::<0x44>(_mm256_blend_epi32::<0x22>(a, b), c),
                _mm256_blend_epi32::<0x22>(_mm256_blend_epi32::<0x99>(a, b), c),
                _mm256_blend_epi32::<0x99>(_mm256_blend_epi32::<0x44>(a, b), c),
            ];
            for (j, register) in made.into_iter().enumerate() {
                low[3 * i + j] = bytemuck::must_cast(_mm256_castsi256_si128(register));
                high[3 * i + j] = bytemuck::must_cast(_mm256_extracti128_si256::<1>(register));
            }
        }
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn plane_to_rows(plane: &[u8; 8 * LINE], rows: &mut [u8], stride: usize, at: usize) -> bool {
    let parts = plane.as_chunks::<16>().0.as_chunks::<8>().0.as_chunks::<2>().0;
    for (part, [low, high]) in parts.iter().enumerate() {
        let mut registers = [_mm256_setzero_si256(); 8];
        for i in 0..8 {
            registers[i] = pair(low[i], high[i]);
        }
        registers = exchange(rotate(registers, 4));
        for (i, register) in registers.iter().enumerate() {
            let begin = i * stride + at + 32 * part;
            let Some(target) = rows.get_mut(begin..).and_then(<[u8]>::first_chunk_mut::<32>) else {
                return false;
            };
            *target = bytemuck::must_cast(*register);
        }
    }
    true
}

#[target_feature(enable = "avx2")]
pub(super) fn rows_to_plane(rows: &[u8], stride: usize, at: usize, plane: &mut [u8; 8 * LINE]) -> bool {
    let parts = plane.as_chunks_mut::<16>().0.as_chunks_mut::<8>().0.as_chunks_mut::<2>().0;
    for (part, [low, high]) in parts.iter_mut().enumerate() {
        let mut registers = [_mm256_setzero_si256(); 8];
        for (i, register) in registers.iter_mut().enumerate() {
            let begin = i * stride + at + 32 * part;
            let Some(source) = rows.get(begin..).and_then(<[u8]>::first_chunk::<32>) else {
                return false;
            };
            *register = bytemuck::must_cast(*source);
        }
        registers = rotate(exchange(registers), 3);
        let (low, high) = (low.as_chunks_mut::<2>().0, high.as_chunks_mut::<2>().0);
        for i in 0..4 {
            (low[i], high[i]) = halves(registers[2 * i], registers[2 * i + 1]);
        }
    }
    true
}

/// Does the same as `plain::exchange_bits`.
#[inline]
#[target_feature(enable = "avx2")]
fn exchange(mut r: [__m256i; 8]) -> [__m256i; 8] {
    let masks = [_mm256_set1_epi8(0x0f), _mm256_set1_epi8(0x33), _mm256_set1_epi8(0x55)];
    for k in 0..4 {
        (r[k], r[k + 4]) = swap::<4>(r[k], r[k + 4], masks[0]);
    }
    for k in [0, 1, 4, 5] {
        (r[k], r[k + 2]) = swap::<2>(r[k], r[k + 2], masks[1]);
    }
    for k in [0, 2, 4, 6] {
        (r[k], r[k + 1]) = swap::<1>(r[k], r[k + 1], masks[2]);
    }
    r
}

/// Exchanges the bits of `a` that are `D` above the mask with those of `b` in the mask.
#[inline]
#[target_feature(enable = "avx2")]
fn swap<const D: i32>(a: __m256i, b: __m256i, mask: __m256i) -> (__m256i, __m256i) {
    let other = _mm256_and_si256(_mm256_xor_si256(_mm256_srli_epi64::<D>(a), b), mask);
    (_mm256_xor_si256(a, _mm256_slli_epi64::<D>(other)), _mm256_xor_si256(b, other))
}
