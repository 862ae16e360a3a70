//! Groups of integers at once, with the byte shuffles of AVX2. The plain loops of the module above define what these do, replace them on
//! other processors, and are compared with them by the tests.
//!
//! Integers of 1 and 2 bytes are taken in groups of eight, whose codes have 1 or 2 bytes each, and integers of 4 bytes in groups of four.

use super::{Sink, Source};

/// Decodes groups of integers of `N` bytes, and stops at one that needs more bytes than are left, or codes that integers of this size do
/// not need. Returns `false`, without doing anything, if the processor has no instructions for it.
pub(super) fn decode<const N: usize>(source: &mut Source<'_>, out: &mut Vec<u8>) -> bool {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the functions consist of safe code, and need nothing but AVX2, which the processor has.
        #[allow(unsafe_code)]
        unsafe {
            match N {
                4 => avx2::decode_long(source, out),
                _ => avx2::decode_short::<N>(source, out),
            }
        }
        return true;
    }
    let _ = (source, out);
    false
}

/// Encodes all whole groups of integers of `N` bytes.
pub(super) fn encode<const N: usize>(input: &mut &[u8], sink: &mut Sink<'_>) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the functions consist of safe code, and need nothing but AVX2, which the processor has.
        #[allow(unsafe_code)]
        unsafe {
            match N {
                4 => avx2::encode_long(input, sink),
                _ => avx2::encode_short::<N>(input, sink),
            }
        }
    }
    let _ = (input, sink);
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m128i, _mm_add_epi16, _mm_add_epi32, _mm_alignr_epi8, _mm_and_si128, _mm_cmpeq_epi8,
        _mm_cmpeq_epi32, _mm_cvtepi8_epi16, _mm_cvtepu8_epi16, _mm_movemask_epi8, _mm_packs_epi16,
        _mm_packs_epi32, _mm_packus_epi16, _mm_set1_epi16, _mm_set1_epi32, _mm_setzero_si128,
        _mm_shuffle_epi8, _mm_shuffle_epi32, _mm_slli_epi16, _mm_slli_epi32, _mm_slli_si128, _mm_srai_epi16,
        _mm_srai_epi32, _mm_srli_epi16, _mm_srli_epi32, _mm_sub_epi16, _mm_sub_epi32, _mm_xor_si128,
    };

    use super::{Sink, Source};

    /// The most bytes of a group of codes, and what is read and written at once.
    const GROUP: usize = 16;

    /// The groups that are put together before they are appended.
    const BLOCK: usize = 128;

    /// For shuffles: no byte.
    const NONE: u8 = 0x80;

    /// Where the bytes of eight codes are. The key has one bit per code, which is set if the code has two bytes: the bits of the first four
    /// codes are the even ones, and those of the others the odd ones.
    const APART_SHORT: [[u8; GROUP]; 256] = {
        let mut table = [[NONE; GROUP]; 256];
        let mut key = 0;
        while key < 256 {
            let (mut i, mut at) = (0, 0);
            while i < 8 {
                table[key][2 * i] = at;
                at += 1;
                if key >> (2 * (i % 4) + i / 4) & 1 == 1 {
                    table[key][2 * i + 1] = at;
                    at += 1;
                }
                i += 1;
            }
            key += 1;
        }
        table
    };

    /// The reverse, with the bits in the order of the codes.
    const TOGETHER_SHORT: [[u8; GROUP]; 256] = {
        let mut table = [[NONE; GROUP]; 256];
        let mut key = 0;
        while key < 256 {
            let (mut i, mut at) = (0, 0);
            while i < 8 {
                table[key][at] = 2 * i as u8;
                at += 1;
                if key >> i & 1 == 1 {
                    table[key][at] = 2 * i as u8 + 1;
                    at += 1;
                }
                i += 1;
            }
            key += 1;
        }
        table
    };

    /// Where the bytes of four codes are, by their control byte, and the reverse.
    const APART_LONG: [[u8; GROUP]; 256] = long(true);
    const TOGETHER_LONG: [[u8; GROUP]; 256] = long(false);

    const fn long(apart: bool) -> [[u8; GROUP]; 256] {
        let mut table = [[NONE; GROUP]; 256];
        let mut control = 0;
        while control < 256 {
            let (mut i, mut at) = (0, 0);
            while i < 4 {
                let mut byte = 0;
                while byte <= control >> (2 * i) & 3 {
                    if apart {
                        table[control][4 * i + byte] = at as u8;
                    } else {
                        table[control][at] = (4 * i + byte) as u8;
                    }
                    at += 1;
                    byte += 1;
                }
                i += 1;
            }
            control += 1;
        }
        table
    }

    /// The bytes of four codes, by their control byte.
    const SIZES: [u8; 256] = {
        let mut sizes = [4; 256];
        let mut control = 0;
        while control < 256 {
            sizes[control] += (control & 3) as u8 + (control >> 2 & 3) as u8;
            sizes[control] += (control >> 4 & 3) as u8 + (control >> 6) as u8;
            control += 1;
        }
        sizes
    };

    /// Four bits with a zero after each.
    const SPREAD: [u8; 16] = {
        let mut spread = [0; 16];
        let mut bits = 0;
        while bits < 16 {
            spread[bits] = (bits & 1 | (bits & 2) << 1 | (bits & 4) << 2 | (bits & 8) << 3) as u8;
            bits += 1;
        }
        spread
    };

    #[inline(always)]
    fn register(bytes: [u8; 16]) -> __m128i {
        bytemuck::must_cast(bytes)
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn decode_short<const N: usize>(source: &mut Source<'_>, out: &mut Vec<u8>) {
        let pairs = source.controls.as_chunks::<2>().0;
        let groups = pairs.len().min(source.count / 8);
        let ones = _mm_set1_epi16(1);
        let low = _mm_set1_epi16(0xff);
        let last = register([14, 15, 14, 15, 14, 15, 14, 15, 14, 15, 14, 15, 14, 15, 14, 15]);
        let mut before = _mm_set1_epi16(source.before as i16);
        let (mut data, mut done) = (source.data, 0);
        let mut block = [0; BLOCK * GROUP];
        'all: for pairs in pairs.get(..groups).unwrap_or_default().chunks(BLOCK) {
            let mut decoded = 0;
            for (place, &[first, second]) in block.chunks_exact_mut(8 * N).zip(pairs) {
                let Some(bytes) = data.first_chunk::<GROUP>() else { break };
                if (first | second) & 0xaa != 0 {
                    break;
                }
                let key = first | second << 1;
                let codes = _mm_shuffle_epi8(register(*bytes), register(APART_SHORT[usize::from(key)]));
                data = data.get(8 + key.count_ones() as usize..).unwrap_or_default();
                let numbers = if source.differences {
                    let sign = _mm_sub_epi16(_mm_setzero_si128(), _mm_and_si128(codes, ones));
                    let mut sums = _mm_xor_si128(_mm_srli_epi16::<1>(codes), sign);
                    sums = _mm_add_epi16(sums, _mm_slli_si128::<2>(sums));
                    sums = _mm_add_epi16(sums, _mm_slli_si128::<4>(sums));
                    sums = _mm_add_epi16(sums, _mm_slli_si128::<8>(sums));
                    let numbers = _mm_add_epi16(sums, before);
                    before = _mm_add_epi16(before, _mm_shuffle_epi8(sums, last));
                    numbers
                } else {
                    codes
                };
                if N == 2 {
                    place.copy_from_slice(bytemuck::bytes_of(&numbers));
                } else {
                    let packed = _mm_packus_epi16(_mm_and_si128(numbers, low), _mm_setzero_si128());
                    let (bytes, _) = bytemuck::bytes_of(&packed).split_at(8 * N);
                    place.copy_from_slice(bytes);
                }
                decoded += 1;
            }
            out.extend_from_slice(block.get(..decoded * 8 * N).unwrap_or_default());
            done += decoded;
            if decoded < pairs.len() {
                break 'all;
            }
        }
        let [number, ..]: [u16; 8] = bytemuck::must_cast(before);
        source.before = number.into();
        source.data = data;
        source.skip(2 * done, 8 * done);
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn decode_long(source: &mut Source<'_>, out: &mut Vec<u8>) {
        let groups = source.controls.len().min(source.count / 4);
        let ones = _mm_set1_epi32(1);
        let mut before = _mm_set1_epi32(source.before.cast_signed());
        let (mut data, mut done) = (source.data, 0);
        let mut block = [[0; GROUP]; BLOCK];
        for controls in source.controls.get(..groups).unwrap_or_default().chunks(BLOCK) {
            let mut decoded = 0;
            for (place, &control) in block.iter_mut().zip(controls) {
                let Some(bytes) = data.first_chunk::<GROUP>() else { break };
                let at = usize::from(control);
                let codes = _mm_shuffle_epi8(register(*bytes), register(APART_LONG[at]));
                data = data.get(SIZES[at].into()..).unwrap_or_default();
                let numbers = if source.differences {
                    let sign = _mm_sub_epi32(_mm_setzero_si128(), _mm_and_si128(codes, ones));
                    let mut sums = _mm_xor_si128(_mm_srli_epi32::<1>(codes), sign);
                    sums = _mm_add_epi32(sums, _mm_slli_si128::<4>(sums));
                    sums = _mm_add_epi32(sums, _mm_slli_si128::<8>(sums));
                    let numbers = _mm_add_epi32(sums, before);
                    before = _mm_add_epi32(before, _mm_shuffle_epi32::<0xff>(sums));
                    numbers
                } else {
                    codes
                };
                *place = bytemuck::must_cast(numbers);
                decoded += 1;
            }
            out.extend_from_slice(block.get(..decoded).unwrap_or_default().as_flattened());
            done += decoded;
            if decoded < controls.len() {
                break;
            }
        }
        let [number, ..]: [u32; 4] = bytemuck::must_cast(before);
        source.before = number;
        source.data = data;
        source.skip(done, 4 * done);
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn encode_short<const N: usize>(input: &mut &[u8], sink: &mut Sink<'_>) {
        let mut before = _mm_set1_epi16(sink.before as i16);
        let zero = _mm_setzero_si128();
        let whole = input.len() / (8 * N) * (8 * N);
        let (groups, rest) = input.split_at(whole);
        *input = rest;
        let mut block = [0; (BLOCK + 1) * GROUP];
        for groups in groups.chunks(BLOCK * 8 * N) {
            let (mut at, mut controls, mut count) = (0, [0; 2 * BLOCK], 0);
            let places = controls.as_chunks_mut::<2>().0;
            for (group, control) in groups.chunks_exact(8 * N).zip(places) {
                let mut bytes = [0; GROUP];
                bytes.iter_mut().zip(group).for_each(|(to, from)| *to = *from);
                let numbers = match N {
                    2 => register(bytes),
                    _ if sink.differences => _mm_cvtepi8_epi16(register(bytes)),
                    _ => _mm_cvtepu8_epi16(register(bytes)),
                };
                let codes = if sink.differences {
                    let difference = _mm_sub_epi16(numbers, _mm_alignr_epi8::<14>(numbers, before));
                    before = numbers;
                    _mm_xor_si128(_mm_slli_epi16::<1>(difference), _mm_srai_epi16::<15>(difference))
                } else {
                    numbers
                };
                // The high bytes, as zeros or all ones: whether they are zero.
                let short = _mm_cmpeq_epi8(_mm_packus_epi16(_mm_srli_epi16::<8>(codes), zero), zero);
                let key = !_mm_movemask_epi8(short) as usize & 0xff;
                *control = [SPREAD[key & 15], SPREAD[key >> 4]];
                let together = _mm_shuffle_epi8(codes, register(TOGETHER_SHORT[key]));
                if let Some(place) = block.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<GROUP>) {
                    *place = bytemuck::must_cast(together);
                }
                at += 8 + key.count_ones() as usize;
                count += 2;
            }
            sink.push(controls.get(..count).unwrap_or_default(), block.get(..at).unwrap_or_default());
        }
        let last: [i16; 8] = bytemuck::must_cast(before);
        sink.before = i32::from(last[7]).cast_unsigned();
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn encode_long(input: &mut &[u8], sink: &mut Sink<'_>) {
        let mut before = _mm_set1_epi32(sink.before.cast_signed());
        let zero = _mm_setzero_si128();
        let (groups, rest) = input.as_chunks::<GROUP>();
        *input = rest;
        let mut block = [0; (BLOCK + 1) * GROUP];
        for groups in groups.chunks(BLOCK) {
            let (mut at, mut controls) = (0, [0; BLOCK]);
            for (group, control) in groups.iter().zip(&mut controls) {
                let numbers = register(*group);
                let codes = if sink.differences {
                    let difference = _mm_sub_epi32(numbers, _mm_alignr_epi8::<12>(numbers, before));
                    before = numbers;
                    _mm_xor_si128(_mm_slli_epi32::<1>(difference), _mm_srai_epi32::<31>(difference))
                } else {
                    numbers
                };
                // Four bytes per code, which are -1 if it fits one, two, three or four bytes.
                let fits = _mm_packs_epi16(
                    _mm_packs_epi32(
                        _mm_cmpeq_epi32(_mm_srli_epi32::<8>(codes), zero),
                        _mm_cmpeq_epi32(_mm_srli_epi32::<16>(codes), zero),
                    ),
                    _mm_packs_epi32(_mm_cmpeq_epi32(_mm_srli_epi32::<24>(codes), zero), zero),
                );
                let beyond = !_mm_movemask_epi8(fits) as usize;
                *control = SPREAD[beyond & 15] + SPREAD[beyond >> 4 & 15] + SPREAD[beyond >> 8 & 15];
                let key = usize::from(*control);
                let together = _mm_shuffle_epi8(codes, register(TOGETHER_LONG[key]));
                if let Some(place) = block.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<GROUP>) {
                    *place = bytemuck::must_cast(together);
                }
                at += usize::from(SIZES[key]);
            }
            let controls = controls.get(..groups.len()).unwrap_or_default();
            sink.push(controls, block.get(..at).unwrap_or_default());
        }
        let last: [u32; 4] = bytemuck::must_cast(before);
        sink.before = last[3];
    }
}
