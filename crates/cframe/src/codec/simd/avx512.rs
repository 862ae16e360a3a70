//! AVX-512 with VBMI and GFNI: 64 elements at once. Nothing here needs `unsafe`, but calling these functions does, because the
//! processor must have the instructions.
//!
//! A register of elements of N bytes is first sorted by the significance of its bytes, into N pieces. Then N registers exchange
//! their pieces, so that each has all pieces of one significance. Planes become elements by the same steps in reverse.
//!
//! Sixteen registers and the places from which their bytes come do not fit into the registers of the processor. For elements of 16
//! bytes, the halves of registers are interleaved instead, in quarters of 16 bytes, and quarters are exchanged.

use std::arch::x86_64::{
    __m512i, _mm512_gf2p8affine_epi64_epi8, _mm512_permutex2var_epi32, _mm512_permutexvar_epi8,
    _mm512_set1_epi64, _mm512_setzero_si512, _mm512_shuffle_epi8, _mm512_shuffle_i64x2, _mm512_unpackhi_epi8,
    _mm512_unpacklo_epi8,
};

use super::LINE;

/// The number of elements that are converted at once, and also the number of bytes of a register.
const WIDTH: usize = 64;
/// The number of groups of 16 elements that are converted at once.
const GROUPS: usize = WIDTH / 16;
/// The size of elements whose quarters are exchanged.
const SIXTEEN: usize = 16;
/// The number of registers of each plane that are collected before they are written, if planes are so far apart that all of them may
/// fall into the same few places of the processor's cache, which then has none left for the next lines.
const COLLECTED: usize = 8;
/// The length of planes that are so far apart.
const FAR: usize = 4096;

/// The places from which the bytes of a register come, if elements of `size` bytes become `size` pieces; or, with `back`, if
/// pieces become elements.
const fn sorting(size: usize, back: bool) -> [u8; WIDTH] {
    let count = WIDTH / size;
    let mut all = [0; WIDTH];
    let mut element = 0;
    while element < count {
        let mut byte = 0;
        while byte < size {
            let (packed, sorted) = (element * size + byte, byte * count + element);
            if back {
                all[packed] = sorted as u8;
            } else {
                all[sorted] = packed as u8;
            }
            byte += 1;
        }
        element += 1;
    }
    all
}

/// The places from which the words of two registers come, if the second half of each pair of pieces of `words` words in the first
/// register is exchanged with the first half in the second register. The words of the second register are those from 16 on.
const fn exchange(words: usize) -> [[u32; 16]; 2] {
    let mut all = [[0; 16]; 2];
    let mut at = 0;
    while at < 16 {
        let second = at & words != 0;
        all[0][at] = if second { 16 + at - words } else { at } as u32;
        all[1][at] = if second { 16 + at } else { at + words } as u32;
        at += 1;
    }
    all
}

/// For each N, how bytes are sorted and put back.
struct Order<const N: usize>;

impl<const N: usize> Order<N> {
    const SORTED: [u8; WIDTH] = sorting(N, false);
    const PACKED: [u8; WIDTH] = sorting(N, true);
}

/// Moves the bytes inside of each register.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn arrange<const N: usize>(mut registers: [__m512i; N], order: [u8; WIDTH]) -> [__m512i; N] {
    let order = bytemuck::must_cast(order);
    for register in &mut registers {
        *register = _mm512_permutexvar_epi8(order, *register);
    }
    registers
}

/// Exchanges piece i of register j with piece j of register i.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn transpose<const N: usize>(mut r: [__m512i; N]) -> [__m512i; N] {
    let mut distance = N / 2;
    while distance > 0 {
        let [low, high] = exchange(distance * 16 / N);
        let (low, high) = (bytemuck::must_cast(low), bytemuck::must_cast(high));
        for i in 0..N {
            if i & distance == 0 {
                let (a, b) = (r[i], r[i + distance]);
                r[i] = _mm512_permutex2var_epi32(a, low, b);
                r[i + distance] = _mm512_permutex2var_epi32(a, high, b);
            }
        }
        distance /= 2;
    }
    r
}

/// Interleaves the halves of 16 × 16 bytes four times, in each quarter of the registers. This exchanges byte i of a quarter of
/// register j with byte j of the same quarter of register i.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn interleave<const N: usize>(mut from: [__m512i; N]) -> [__m512i; N] {
    for _ in 0..4 {
        let mut to = from;
        for i in 0..N / 2 {
            to[2 * i] = _mm512_unpacklo_epi8(from[i], from[i + N / 2]);
            to[2 * i + 1] = _mm512_unpackhi_epi8(from[i], from[i + N / 2]);
        }
        from = to;
    }
    from
}

/// Exchanges quarter i of register j with quarter j of register i.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn exchange_quarters([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    const EVEN: i32 = 0b10_00_10_00;
    const ODD: i32 = 0b11_01_11_01;
    let even = [_mm512_shuffle_i64x2::<EVEN>(a, b), _mm512_shuffle_i64x2::<EVEN>(c, d)];
    let odd = [_mm512_shuffle_i64x2::<ODD>(a, b), _mm512_shuffle_i64x2::<ODD>(c, d)];
    [
        _mm512_shuffle_i64x2::<EVEN>(even[0], even[1]),
        _mm512_shuffle_i64x2::<EVEN>(odd[0], odd[1]),
        _mm512_shuffle_i64x2::<ODD>(even[0], even[1]),
        _mm512_shuffle_i64x2::<ODD>(odd[0], odd[1]),
    ]
}

/// Exchanges bit i of byte j with bit j of byte i, in each eight bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn exchange_bits(mut registers: [__m512i; 8]) -> [__m512i; 8] {
    const REVERSED: [u8; WIDTH] = {
        let mut all = [0; WIDTH];
        let mut at = 0;
        while at < WIDTH {
            all[at] = ((at % 16) ^ 7) as u8;
            at += 1;
        }
        all
    };
    let reversed = bytemuck::must_cast(REVERSED);
    // Byte k is the vector whose only bit is k. The product with a matrix of bits is its column k. The first row of a matrix
    // is in its last byte.
    let columns = _mm512_set1_epi64(0x8040_2010_0804_0201_u64.cast_signed());
    for register in &mut registers {
        let matrices = _mm512_shuffle_epi8(*register, reversed);
        *register = _mm512_gf2p8affine_epi64_epi8::<0>(columns, matrices);
    }
    registers
}

/// Converts 64 elements to a register of each plane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn split_one<const N: usize>(piece: &[[u8; WIDTH]; N]) -> [__m512i; N] {
    // A closure would be compiled without the instructions, and would pass registers through memory.
    let mut registers = [_mm512_setzero_si512(); N];
    for (register, source) in registers.iter_mut().zip(piece) {
        *register = bytemuck::must_cast(*source);
    }
    if N != SIXTEEN {
        return transpose(arrange::<N>(registers, Order::<N>::SORTED));
    }
    let mut quarters = registers;
    for q in 0..N / 4 {
        let exchanged = exchange_quarters([
            registers[q],
            registers[q + N / 4],
            registers[q + N / 2],
            registers[q + N / 4 * 3],
        ]);
        for (k, register) in exchanged.into_iter().enumerate() {
            quarters[4 * q + k] = register;
        }
    }
    interleave(quarters)
}

/// Converts a register of each plane to 64 elements.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn join_one<const N: usize>(registers: [__m512i; N], piece: &mut [[u8; WIDTH]; N]) {
    if N != SIXTEEN {
        let registers = arrange::<N>(transpose(registers), Order::<N>::PACKED);
        for (target, register) in piece.iter_mut().zip(registers) {
            *target = bytemuck::must_cast(register);
        }
        return;
    }
    let quarters = interleave(registers);
    for q in 0..N / 4 {
        let i = 4 * q;
        let exchanged = exchange_quarters([quarters[i], quarters[i + 1], quarters[i + 2], quarters[i + 3]]);
        for (k, register) in exchanged.into_iter().enumerate() {
            piece[N / 4 * k + q] = bytemuck::must_cast(register);
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn split<const N: usize>(groups: &[[[u8; 16]; N]], planes: &mut [&mut [u8]; N]) -> usize {
    let pieces = groups.as_flattened().as_flattened().as_chunks::<WIDTH>().0.as_chunks::<N>().0;
    let mut targets = planes.each_mut().map(|plane| plane.as_chunks_mut::<WIDTH>().0);
    let far = N == SIXTEEN && targets.iter().all(|target| target.len() >= FAR / WIDTH);
    let done = if far { split_far(pieces, &mut targets) } else { 0 };
    for (p, piece) in pieces.iter().enumerate().skip(done) {
        let registers = split_one(piece);
        for (target, register) in targets.iter_mut().zip(registers) {
            if let Some(target) = target.get_mut(p) {
                *target = bytemuck::must_cast(register);
            }
        }
    }
    GROUPS * pieces.len()
}

/// Splits as many pieces as fill whole lines of [`COLLECTED`] registers, and returns their number.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn split_far<const N: usize>(pieces: &[[[u8; WIDTH]; N]], targets: &mut [&mut [[u8; WIDTH]]; N]) -> usize {
    let tiles = pieces.as_chunks::<COLLECTED>().0;
    let mut collected = [[[0; WIDTH]; COLLECTED]; N];
    for (t, tile) in tiles.iter().enumerate() {
        for (p, piece) in tile.iter().enumerate() {
            let registers = split_one(piece);
            for i in 0..N {
                collected[i][p] = bytemuck::must_cast(registers[i]);
            }
        }
        for (target, lines) in targets.iter_mut().zip(&collected) {
            if let Some(target) = target.as_chunks_mut().0.get_mut(t) {
                *target = *lines;
            }
        }
    }
    COLLECTED * tiles.len()
}

/// Joins as many pieces as fill whole lines of [`COLLECTED`] registers, and returns their number.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn join_far<const N: usize>(sources: &[&[[u8; WIDTH]]; N], pieces: &mut [[[u8; WIDTH]; N]]) -> usize {
    let tiles = pieces.as_chunks_mut::<COLLECTED>().0;
    let mut collected = [[[0; WIDTH]; COLLECTED]; N];
    for (t, tile) in tiles.iter_mut().enumerate() {
        for (lines, source) in collected.iter_mut().zip(sources) {
            if let Some(source) = source.as_chunks().0.get(t) {
                *lines = *source;
            }
        }
        for (p, piece) in tile.iter_mut().enumerate() {
            let mut registers = [_mm512_setzero_si512(); N];
            for i in 0..N {
                registers[i] = bytemuck::must_cast(collected[i][p]);
            }
            join_one(registers, piece);
        }
    }
    COLLECTED * tiles.len()
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn join<const N: usize>(planes: &[&[u8]; N], groups: &mut [[[u8; 16]; N]]) -> usize {
    let bytes = groups.as_flattened_mut().as_flattened_mut();
    let pieces = bytes.as_chunks_mut::<WIDTH>().0.as_chunks_mut::<N>().0;
    let sources = planes.map(|plane| plane.as_chunks::<WIDTH>().0);
    let far = N == SIXTEEN && sources.iter().all(|source| source.len() >= FAR / WIDTH);
    let done = if far { join_far(&sources, pieces) } else { 0 };
    for (p, piece) in pieces.iter_mut().enumerate().skip(done) {
        let mut registers = [_mm512_setzero_si512(); N];
        for (register, source) in registers.iter_mut().zip(sources) {
            if let Some(source) = source.get(p) {
                *register = bytemuck::must_cast(*source);
            }
        }
        join_one(registers, piece);
    }
    GROUPS * pieces.len()
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn plane_to_rows(plane: &[u8; 8 * LINE], rows: &mut [u8], stride: usize, at: usize) -> bool {
    let mut registers = [_mm512_setzero_si512(); 8];
    for (register, source) in registers.iter_mut().zip(plane.as_chunks::<WIDTH>().0) {
        *register = bytemuck::must_cast(*source);
    }
    let registers = transpose(arrange::<8>(exchange_bits(registers), Order::<8>::SORTED));
    for (i, register) in registers.into_iter().enumerate() {
        let Some(target) = rows.get_mut(i * stride + at..).and_then(<[u8]>::first_chunk_mut::<LINE>) else {
            return false;
        };
        *target = bytemuck::must_cast(register);
    }
    true
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn rows_to_plane(rows: &[u8], stride: usize, at: usize, plane: &mut [u8; 8 * LINE]) -> bool {
    let mut registers = [_mm512_setzero_si512(); 8];
    for (i, register) in registers.iter_mut().enumerate() {
        let Some(source) = rows.get(i * stride + at..).and_then(<[u8]>::first_chunk::<LINE>) else {
            return false;
        };
        *register = bytemuck::must_cast(*source);
    }
    let registers = exchange_bits(arrange::<8>(transpose(registers), Order::<8>::PACKED));
    for (target, register) in plane.as_chunks_mut::<WIDTH>().0.iter_mut().zip(registers) {
        *target = bytemuck::must_cast(register);
    }
    true
}
