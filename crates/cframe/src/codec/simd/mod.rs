//! The steps of shuffles for which processors have instructions. Each has an equivalent in `plain`, which defines it, replaces it
//! on processors without the instructions, and is compared with it by the tests.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod plain;

/// The number of bytes of a line.
pub(super) const LINE: usize = 64;

/// Eight lines between which bits are exchanged.
pub(super) type Lines = [[u64; LINE / 8]; 8];

/// Returns whether the processor has the instructions of `avx512`, which those with 64 bytes at once and byte permutations have.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn has_avx512() -> bool {
    std::arch::is_x86_feature_detected!("avx512vbmi")
        && std::arch::is_x86_feature_detected!("avx512bw")
        && std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("gfni")
}

/// Interleaves the halves of N × 16 bytes, `rounds` times.
#[inline(always)]
pub(super) fn rotate<const N: usize>(bytes: [[u8; 16]; N], rounds: u32) -> [[u8; 16]; N] {
    #[cfg(target_arch = "x86_64")]
    return sse2::rotate(bytes, rounds);
    #[cfg(target_arch = "aarch64")]
    return neon::rotate(bytes, rounds);
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    plain::rotate(bytes, rounds)
}

/// Writes groups of 16 elements of N bytes to N planes, which must have space for all.
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

/// Fills groups of 16 elements of N bytes from N planes, which must contain enough for all.
pub(super) fn join<const N: usize>(planes: &[&[u8]; N], groups: &mut [[[u8; 16]; N]]) {
    let done = wide_join(planes, groups);
    for (g, group) in groups.iter_mut().enumerate().skip(done) {
        let from = planes.map(|plane| {
            plane.get(16 * g..).and_then(<[u8]>::first_chunk::<16>).copied().unwrap_or_default()
        });
        *group = rotate(from, N.trailing_zeros());
    }
}

/// Exchanges bit k of each byte of line j with bit j of the byte at the same position of line k.
pub(super) fn exchange_bits(lines: &mut Lines) {
    plain::exchange_bits(lines);
}

/// Converts a plane of bytes to eight lines, each of which is written to its row from byte `at` on. Returns `false`, without
/// doing anything, if there are no instructions for it.
pub(super) fn plane_to_rows(plane: &[u8; 8 * LINE], rows: &mut [u8], stride: usize, at: usize) -> bool {
    #[cfg(target_arch = "x86_64")]
    if has_avx512() {
        // SAFETY: the function needs nothing but the instructions that `has_avx512` has found.
        #[allow(unsafe_code)]
        return unsafe { avx512::plane_to_rows(plane, rows, stride, at) };
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the function needs nothing but AVX2, which the processor has.
        #[allow(unsafe_code)]
        return unsafe { avx2::plane_to_rows(plane, rows, stride, at) };
    }
    let _ = (plane, rows, stride, at);
    false
}

/// Does the reverse of `plane_to_rows`.
pub(super) fn rows_to_plane(rows: &[u8], stride: usize, at: usize, plane: &mut [u8; 8 * LINE]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if has_avx512() {
        // SAFETY: the function needs nothing but the instructions that `has_avx512` has found.
        #[allow(unsafe_code)]
        return unsafe { avx512::rows_to_plane(rows, stride, at, plane) };
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the function needs nothing but AVX2, which the processor has.
        #[allow(unsafe_code)]
        return unsafe { avx2::rows_to_plane(rows, stride, at, plane) };
    }
    let _ = (rows, stride, at, plane);
    false
}

/// A part of each element, beginning at a column: 16 bytes, or all bytes if there are fewer.
#[derive(Clone, Copy)]
pub(super) struct Part {
    /// The size of an element in bytes.
    pub(super) size: usize,
    /// The first byte of the part.
    pub(super) column: usize,
    /// The distance between the starts of planes, and the position of the first element in each plane.
    pub(super) stride: usize,
    pub(super) at: usize,
    /// The number of groups of 16 elements, which is even. At least 16 bytes must follow the start of each element.
    pub(super) groups: usize,
}

/// Writes a part of elements to its planes.
pub(super) fn split_part(elements: &[u8], planes: &mut [u8], part: Part) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the function needs nothing but AVX2, which the processor has.
        #[allow(unsafe_code)]
        return unsafe { avx2::split_part(elements, planes, part) };
    }
    narrow_split_part(elements, planes, part);
}

/// Fills a part of elements from its planes. Bytes after a short element change; they must belong to the next element.
pub(super) fn join_part(planes: &[u8], elements: &mut [u8], part: Part) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the function needs nothing but AVX2, which the processor has.
        #[allow(unsafe_code)]
        return unsafe { avx2::join_part(planes, elements, part) };
    }
    narrow_join_part(planes, elements, part);
}

/// Does the same as `split_part`, with instructions that every processor has.
fn narrow_split_part(elements: &[u8], planes: &mut [u8], part: Part) {
    let Part { size, column, stride, at, groups } = part;
    for g in 0..groups {
        let mut from = elements.get(16 * g * size + column..).unwrap_or_default();
        let square: [[u8; 16]; 16] = std::array::from_fn(|_| {
            let line = from.first_chunk().copied().unwrap_or_default();
            from = from.get(size..).unwrap_or_default();
            line
        });
        for (k, line) in rotate(square, 4).into_iter().enumerate().take(size) {
            let plane = planes.get_mut((column + k) * stride + at + 16 * g..);
            if let Some(target) = plane.and_then(<[u8]>::first_chunk_mut) {
                *target = line;
            }
        }
    }
}

/// Does the same as `join_part`, with instructions that every processor has.
fn narrow_join_part(planes: &[u8], elements: &mut [u8], part: Part) {
    let Part { size, column, stride, at, groups } = part;
    for g in 0..groups {
        let square: [[u8; 16]; 16] = std::array::from_fn(|k| {
            let plane = planes.get((column + k) * stride + at + 16 * g..);
            plane.and_then(<[u8]>::first_chunk).filter(|_| k < size).copied().unwrap_or_default()
        });
        let mut to = elements.get_mut(16 * g * size + column..).unwrap_or_default();
        for line in rotate(square, 4) {
            if let Some(target) = to.first_chunk_mut() {
                *target = line;
            }
            to = to.get_mut(size..).unwrap_or_default();
        }
    }
}

/// Does the same as `split` with wider instructions, and returns how many groups it has done.
fn wide_split<const N: usize>(groups: &[[[u8; 16]; N]], planes: &mut [&mut [u8]; N]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if has_avx512() {
        // SAFETY: the function needs nothing but the instructions that `has_avx512` has found.
        #[allow(unsafe_code)]
        return unsafe { avx512::split(groups, planes) };
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the function needs nothing but AVX2, which the processor has.
        #[allow(unsafe_code)]
        return unsafe { avx2::split(groups, planes) };
    }
    let _ = (groups, planes);
    0
}

/// Does the same as `join` with wider instructions, and returns how many groups it has done.
fn wide_join<const N: usize>(planes: &[&[u8]; N], groups: &mut [[[u8; 16]; N]]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if has_avx512() {
        // SAFETY: the function needs nothing but the instructions that `has_avx512` has found.
        #[allow(unsafe_code)]
        return unsafe { avx512::join(planes, groups) };
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the function needs nothing but AVX2, which the processor has.
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
                // SAFETY: both functions need nothing but SSE2, because they take and return values and no addresses. SSE2 is
                // part of every x86-64 processor.
                unsafe {
                    if i % 2 == 0 { _mm_unpacklo_epi8(low, high) } else { _mm_unpackhi_epi8(low, high) }
                }
            });
        }
        registers.map(bytemuck::must_cast)
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use std::arch::aarch64::{uint8x16_t, vzip1q_u8, vzip2q_u8};

    #[inline(always)]
    #[allow(unsafe_code)]
    pub(super) fn rotate<const N: usize>(bytes: [[u8; 16]; N], rounds: u32) -> [[u8; 16]; N] {
        let mut registers: [uint8x16_t; N] = bytes.map(bytemuck::must_cast);
        for _ in 0..rounds {
            registers = std::array::from_fn(|i| {
                let (low, high) = (registers[i / 2], registers[i / 2 + N / 2]);
                // SAFETY: both functions need nothing but NEON, because they take and return values and no addresses. NEON is
                // part of the targets for which this is compiled.
                unsafe { if i % 2 == 0 { vzip1q_u8(low, high) } else { vzip2q_u8(low, high) } }
            });
        }
        registers.map(bytemuck::must_cast)
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
            let groups: Vec<[[u8; 16]; N]> = (0..11)
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
    fn parts_of_every_size_equal_their_twin() {
        for size in (3..40).chain([255]) {
            let (groups, count, at) = (4, 80, 5);
            let elements: Vec<u8> = (0..count * size + 16).map(bytes).collect();
            let stride = count + at;
            let columns = (0..size.div_ceil(16)).map(|part| (part * 16).min(size.saturating_sub(16)));
            let parts: Vec<Part> = columns.map(|column| Part { size, column, stride, at, groups }).collect();
            let mut planes = [vec![0xEE; size * stride], vec![0xEE; size * stride]];
            parts.iter().for_each(|part| split_part(&elements, &mut planes[0], *part));
            parts.iter().for_each(|part| narrow_split_part(&elements, &mut planes[1], *part));
            assert!(planes[0] == planes[1], "size {size}");
            assert_eq!(planes[0][stride + at + 63], elements[63 * size + 1]);
            let mut again = [vec![0; elements.len()], vec![0; elements.len()]];
            parts.iter().for_each(|part| join_part(&planes[0], &mut again[0], *part));
            parts.iter().for_each(|part| narrow_join_part(&planes[0], &mut again[1], *part));
            for again in again {
                assert!(again[..64 * size] == elements[..64 * size], "size {size}");
            }
        }
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

    /// Where a processor has wider instructions, nothing else runs the narrower ones.
    #[cfg(target_arch = "x86_64")]
    #[test]
    #[allow(unsafe_code)]
    fn each_width_of_instructions_equals_the_twin() {
        fn check<const N: usize>(count: usize) {
            let groups: Vec<[[u8; 16]; N]> = (0..count)
                .map(|g| std::array::from_fn(|i| std::array::from_fn(|k| bytes((N * g + i) * 16 + k))))
                .collect();
            let mut expected = vec![Vec::new(); N];
            for group in &groups {
                expected
                    .iter_mut()
                    .zip(plain::rotate(*group, 4))
                    .for_each(|(plane, line)| plane.extend(line));
            }
            for wide in [false, true] {
                if !std::arch::is_x86_feature_detected!("avx2") || (wide && !has_avx512()) {
                    continue;
                }
                let mut planes = vec![vec![0; 16 * groups.len()]; N];
                let mut targets = planes.iter_mut().map(Vec::as_mut_slice);
                let mut targets = std::array::from_fn(|_| targets.next().unwrap());
                // SAFETY: the processor has the instructions.
                let done = unsafe {
                    if wide {
                        avx512::split(&groups, &mut targets)
                    } else {
                        avx2::split(&groups, &mut targets)
                    }
                };
                assert!(done == groups.len() && planes == expected, "size {N}, {wide}");
                let sources = std::array::from_fn(|i| expected[i].as_slice());
                let mut again = vec![[[0; 16]; N]; groups.len()];
                // SAFETY: the processor has the instructions.
                let done = unsafe {
                    if wide { avx512::join(&sources, &mut again) } else { avx2::join(&sources, &mut again) }
                };
                assert!(done == groups.len() && again == groups, "size {N}, {wide}");
            }
        }
        // Few groups, and so many that planes of the largest elements are written in tiles.
        for count in [8, 292] {
            check::<2>(count);
            check::<4>(count);
            check::<8>(count);
            check::<16>(count);
        }
        if std::arch::is_x86_feature_detected!("avx2") && has_avx512() {
            let plane: [u8; 8 * LINE] = std::array::from_fn(bytes);
            let mut rows = [vec![0; 800], vec![0; 800]];
            let mut again = [[0; 8 * LINE]; 2];
            // SAFETY: the processor has the instructions.
            unsafe {
                assert!(avx2::plane_to_rows(&plane, &mut rows[0], 100, 7));
                assert!(avx512::plane_to_rows(&plane, &mut rows[1], 100, 7));
                assert!(avx2::rows_to_plane(&rows[1], 100, 7, &mut again[0]));
                assert!(avx512::rows_to_plane(&rows[0], 100, 7, &mut again[1]));
                assert!(!avx512::rows_to_plane(&rows[0], 100, 50, &mut [0; 8 * LINE]));
            }
            assert!(rows[0] == rows[1] && again == [plane; 2]);
        }
    }
}
