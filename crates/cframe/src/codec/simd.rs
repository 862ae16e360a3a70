//! The steps of shuffles that processors have instructions for. What each does is said by its twin in `plain`, which
//! stands in where there are no such instructions, and which the tests compare.

/// Bytes of a line.
pub(super) const LINE: usize = 64;

/// Eight lines of which bits change places.
pub(super) type Lines = [[u64; LINE / 8]; 8];

/// Interleaves the halves of N × 16 bytes, `rounds` times.
#[inline(always)]
pub(super) fn rotate<const N: usize>(bytes: [[u8; 16]; N], rounds: u32) -> [[u8; 16]; N] {
    #[cfg(target_arch = "x86_64")]
    return sse2::rotate(bytes, rounds);
    #[cfg(not(target_arch = "x86_64"))]
    plain::rotate(bytes, rounds)
}

/// Writes groups of 16 elements of N bytes into N planes, which have room for all.
pub(super) fn split<const N: usize>(groups: &[[[u8; 16]; N]], planes: &mut [&mut [u8]; N]) {
    let done = wide_split(groups, planes);
    for (g, group) in groups.iter().enumerate().skip(done) {
        for (plane, bytes) in planes.iter_mut().zip(rotate(*group, 4)) {
            if let Some(target) = plane.get_mut(16 * g..).and_then(<[u8]>::first_chunk_mut::<16>) {
                *target = bytes;
            }
        }
    }
}

/// Fills groups of 16 elements of N bytes from N planes, which hold enough for all.
pub(super) fn join<const N: usize>(planes: &[&[u8]; N], groups: &mut [[[u8; 16]; N]]) {
    let done = wide_join(planes, groups);
    for (g, group) in groups.iter_mut().enumerate().skip(done) {
        let from = planes.map(|plane| {
            plane.get(16 * g..).and_then(<[u8]>::first_chunk::<16>).copied().unwrap_or_default()
        });
        *group = rotate(from, N.trailing_zeros());
    }
}

/// Exchanges bit k of each byte of line j and bit j of the byte at the same place of line k.
pub(super) fn exchange_bits(lines: &mut Lines) {
    plain::exchange_bits(lines);
}

/// Turns a plane of bytes into eight lines, of which each goes to its row, from byte `at` on. `false` if nothing was
/// done, as there are no instructions for it.
pub(super) fn plane_to_rows(plane: &[u8; 8 * LINE], rows: &mut [u8], stride: usize, at: usize) -> bool {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the function needs AVX2 and nothing else, and the processor has it.
        #[allow(unsafe_code)]
        return unsafe { avx2::plane_to_rows(plane, rows, stride, at) };
    }
    let _ = (plane, rows, stride, at);
    false
}

/// The inverse of `plane_to_rows`.
pub(super) fn rows_to_plane(rows: &[u8], stride: usize, at: usize, plane: &mut [u8; 8 * LINE]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the function needs AVX2 and nothing else, and the processor has it.
        #[allow(unsafe_code)]
        return unsafe { avx2::rows_to_plane(rows, stride, at, plane) };
    }
    let _ = (rows, stride, at, plane);
    false
}

/// As `rotate` of 16 times 16 bytes, four rounds, of two such squares: lines `i` of both become columns `i`.
pub(super) fn transpose_pair(squares: &mut [[[u8; 16]; 16]; 2]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the function needs AVX2 and nothing else, and the processor has it.
        #[allow(unsafe_code)]
        unsafe {
            avx2::transpose_pair(squares);
        }
        return;
    }
    squares.iter_mut().for_each(|square| *square = rotate(*square, 4));
}

/// As `split`, with wider instructions; says how many groups it has done.
fn wide_split<const N: usize>(groups: &[[[u8; 16]; N]], planes: &mut [&mut [u8]; N]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the function needs AVX2 and nothing else, and the processor has it.
        #[allow(unsafe_code)]
        return unsafe { avx2::split(groups, planes) };
    }
    let _ = (groups, planes);
    0
}

/// As `join`, with wider instructions; says how many groups it has done.
fn wide_join<const N: usize>(planes: &[&[u8]; N], groups: &mut [[[u8; 16]; N]]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the function needs AVX2 and nothing else, and the processor has it.
        #[allow(unsafe_code)]
        return unsafe { avx2::join(planes, groups) };
    }
    let _ = (planes, groups);
    0
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::{__m128i, _mm_unpackhi_epi8, _mm_unpacklo_epi8};

    #[inline(always)]
    #[allow(unsafe_code)]
    pub(super) fn rotate<const N: usize>(bytes: [[u8; 16]; N], rounds: u32) -> [[u8; 16]; N] {
        let mut registers: [__m128i; N] = bytes.map(bytemuck::must_cast);
        for _ in 0..rounds {
            registers = std::array::from_fn(|i| {
                let (low, high) = (registers[i / 2], registers[i / 2 + N / 2]);
                // SAFETY: both functions need SSE2 and nothing else: they take and give values, no addresses. SSE2 is
                // part of every x86-64 processor.
                unsafe {
                    if i % 2 == 0 { _mm_unpacklo_epi8(low, high) } else { _mm_unpackhi_epi8(low, high) }
                }
            });
        }
        registers.map(bytemuck::must_cast)
    }
}

/// Two groups at once, one in each half of a register. Nothing here needs `unsafe`; calling it does, as the processor
/// must have the instructions.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m128i, __m256i, _mm256_and_si256, _mm256_permute2x128_si256, _mm256_set_m128i, _mm256_set1_epi8,
        _mm256_setzero_si256, _mm256_slli_epi64, _mm256_srli_epi64, _mm256_unpackhi_epi8,
        _mm256_unpacklo_epi8, _mm256_xor_si256,
    };

    use super::LINE;

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

    /// Two pieces of 16 bytes, one for each half.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn pair(low: [u8; 16], high: [u8; 16]) -> __m256i {
        let (low, high): (__m128i, __m128i) = (bytemuck::must_cast(low), bytemuck::must_cast(high));
        _mm256_set_m128i(high, low)
    }

    /// The low halves of two registers, and the high halves.
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

    #[target_feature(enable = "avx2")]
    pub(super) fn transpose_pair([low, high]: &mut [[[u8; 16]; 16]; 2]) {
        let mut registers = [_mm256_setzero_si256(); 16];
        for i in 0..16 {
            registers[i] = pair(low[i], high[i]);
        }
        registers = rotate(registers, 4);
        let (low, high) = (low.as_chunks_mut::<2>().0, high.as_chunks_mut::<2>().0);
        for i in 0..8 {
            (low[i], high[i]) = halves(registers[2 * i], registers[2 * i + 1]);
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

    /// As `plain::exchange_bits`.
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
}

mod plain {
    use super::Lines;

    /// Interleaves the halves of N × 16 bytes, `rounds` times.
    #[cfg(any(test, not(target_arch = "x86_64")))]
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

    /// Exchanges bit k of each byte of line j and bit j of the byte at the same place of line k.
    pub(super) fn exchange_bits(lines: &mut Lines) {
        let byte = |mask: u8| u64::from_ne_bytes([mask; 8]);
        for (distance, mask) in [(4, byte(0x0f)), (2, byte(0x33)), (1, byte(0x55))] {
            for k in (0..8).filter(|k| k & distance == 0) {
                for word in 0..lines[k].len() {
                    let (a, b) = (lines[k][word], lines[k + distance][word]);
                    let other = (a >> distance ^ b) & mask;
                    lines[k][word] = a ^ other << distance;
                    lines[k + distance][word] = b ^ other;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(i: usize) -> u8 {
        (i * 7 + i / 251) as u8
    }

    #[test]
    fn groups_of_every_size_equal_their_twin() {
        fn check<const N: usize>() {
            let groups: Vec<[[u8; 16]; N]> = (0..5)
                .map(|g| std::array::from_fn(|i| std::array::from_fn(|k| bytes((N * g + i) * 16 + k))))
                .collect();
            (0..=4)
                .for_each(|rounds| assert_eq!(rotate(groups[0], rounds), plain::rotate(groups[0], rounds)));
            let mut planes = vec![vec![0; 16 * groups.len()]; N];
            let mut targets = planes.iter_mut().map(Vec::as_mut_slice);
            split(&groups, &mut std::array::from_fn(|_| targets.next().unwrap()));
            for (g, group) in groups.iter().enumerate() {
                for (plane, line) in planes.iter().zip(plain::rotate(*group, 4)) {
                    assert_eq!(plane[16 * g..][..16], line, "size {N}");
                }
            }
            let mut again = vec![[[0; 16]; N]; groups.len()];
            join(&std::array::from_fn(|i| planes[i].as_slice()), &mut again);
            assert_eq!(again, groups, "size {N}");
        }
        check::<2>();
        check::<4>();
        check::<8>();
        check::<16>();
    }

    #[test]
    fn squares_are_transposed_as_in_the_twin() {
        let squares = std::array::from_fn(|s| {
            std::array::from_fn(|i| std::array::from_fn(|k| bytes(256 * s + 16 * i + k)))
        });
        let mut found = squares;
        transpose_pair(&mut found);
        assert_eq!(found, squares.map(|square| plain::rotate(square, 4)));
    }

    #[test]
    fn bits_change_places() {
        let lines: Lines = std::array::from_fn(|k| {
            std::array::from_fn(|word| {
                u64::from_le_bytes(std::array::from_fn(|i| bytes(64 * k + 8 * word + i)))
            })
        });
        let mut found = lines;
        exchange_bits(&mut found);
        let bit = |lines: &Lines, line: usize, k: u32| lines[line][3] >> (16 + k) & 1;
        for (line, k) in (0..8).flat_map(|line| (0..8).map(move |k| (line, k))) {
            assert_eq!(bit(&found, line, k), bit(&lines, k as usize, line as u32));
        }
    }

    #[test]
    fn planes_and_rows_are_as_by_the_twins() {
        let plane: [u8; 8 * LINE] = std::array::from_fn(bytes);
        let mut lines: Lines = [[0; LINE / 8]; 8];
        let targets = bytemuck::bytes_of_mut(&mut lines);
        for (k, byte) in plane.iter().enumerate() {
            targets[k % 8 * LINE + k / 8] = *byte;
        }
        exchange_bits(&mut lines);
        let (stride, at) = (100, 7);
        let mut rows = vec![0; 8 * stride];
        if plane_to_rows(&plane, &mut rows, stride, at) {
            for (row, line) in rows.chunks_exact(stride).zip(&lines) {
                assert_eq!(row[at..at + LINE], *bytemuck::bytes_of(line));
            }
            let mut again = [0; 8 * LINE];
            assert!(rows_to_plane(&rows, stride, at, &mut again));
            assert_eq!(again, plane);
            assert!(!rows_to_plane(&rows, stride, 50, &mut again));
        }
    }
}
