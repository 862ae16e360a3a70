//! AVX-512 with VBMI and GFNI: 64 elements at once. Nothing here needs `unsafe`, but calling these functions does, because the
//! processor must have the instructions.
//!
//! A register of elements of N bytes is first sorted by the significance of its bytes, into N pieces. Then N registers exchange
//! their pieces, so that each has all pieces of one significance. Planes become elements by the same steps in reverse.

use std::arch::x86_64::{
    __m512i, _mm512_gf2p8affine_epi64_epi8, _mm512_permutex2var_epi32, _mm512_permutexvar_epi8,
    _mm512_set1_epi64, _mm512_setzero_si512, _mm512_shuffle_epi8,
};

use super::LINE;

/// The number of elements that are converted at once, and also the number of bytes of a register.
const WIDTH: usize = 64;
/// The number of groups of 16 elements that are converted at once.
const GROUPS: usize = WIDTH / 16;

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

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn split<const N: usize>(groups: &[[[u8; 16]; N]], planes: &mut [&mut [u8]; N]) -> usize {
    let pieces = groups.as_flattened().as_flattened().as_chunks::<WIDTH>().0.as_chunks::<N>().0;
    let mut targets = planes.each_mut().map(|plane| plane.as_chunks_mut::<WIDTH>().0);
    for (p, piece) in pieces.iter().enumerate() {
        // A closure would be compiled without the instructions, and would pass registers through memory.
        let mut registers = [_mm512_setzero_si512(); N];
        for (register, source) in registers.iter_mut().zip(piece) {
            *register = bytemuck::must_cast(*source);
        }
        let registers = transpose(arrange::<N>(registers, Order::<N>::SORTED));
        for (target, register) in targets.iter_mut().zip(registers) {
            if let Some(target) = target.get_mut(p) {
                *target = bytemuck::must_cast(register);
            }
        }
    }
    GROUPS * pieces.len()
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn join<const N: usize>(planes: &[&[u8]; N], groups: &mut [[[u8; 16]; N]]) -> usize {
    let bytes = groups.as_flattened_mut().as_flattened_mut();
    let pieces = bytes.as_chunks_mut::<WIDTH>().0.as_chunks_mut::<N>().0;
    let sources = planes.map(|plane| plane.as_chunks::<WIDTH>().0);
    for (p, piece) in pieces.iter_mut().enumerate() {
        let mut registers = [_mm512_setzero_si512(); N];
        for (register, source) in registers.iter_mut().zip(sources) {
            if let Some(source) = source.get(p) {
                *register = bytemuck::must_cast(*source);
            }
        }
        let registers = arrange::<N>(transpose(registers), Order::<N>::PACKED);
        for (target, register) in piece.iter_mut().zip(registers) {
            *target = bytemuck::must_cast(register);
        }
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
