//! Truncation: low bits become zeros, so that the data compresses better. Decoding does nothing.
//!
//! | filter | what is truncated | parameter |
//! |---|---|---|
//! | 4 `trunc_prec` | the mantissa of 4-byte and 8-byte floats, 23 and 52 bits | bits kept, or −bits dropped |
//! | 36 `int_trunc` | integers of 1, 2, 4 or 8 bytes | bits kept, or −bits dropped |

/// Sets low bits of the mantissa to zero. `None` if the filter does not support the size or the parameter.
pub(crate) fn mantissa(input: &[u8], size: usize, meta: u8, out: &mut [u8]) -> Option<()> {
    let bits = match size {
        4 => 23,
        8 => 52,
        _ => return None,
    };
    low_bits(input, size, dropped(bits, meta)?, out)
}

/// Sets low bits of integers to zero. `None` if the filter does not support the size or the parameter.
pub(crate) fn integer(input: &[u8], size: usize, meta: u8, out: &mut [u8]) -> Option<()> {
    if !matches!(size, 1 | 2 | 4 | 8) {
        return None;
    }
    low_bits(input, size, dropped(8 * size as u32, meta)?, out)
}

fn dropped(bits: u32, meta: u8) -> Option<u32> {
    let meta = i32::from(meta.cast_signed());
    let dropped = if meta >= 0 { bits.checked_sub(meta.cast_unsigned())? } else { meta.unsigned_abs() };
    (dropped < bits).then_some(dropped)
}

fn low_bits(input: &[u8], size: usize, dropped: u32, out: &mut [u8]) -> Option<()> {
    let mask = (u64::MAX << dropped).to_le_bytes();
    out.copy_from_slice(input);
    for element in out.chunks_exact_mut(size) {
        element.iter_mut().zip(mask).for_each(|(byte, mask)| *byte &= mask);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_bits_go() {
        let input = 1.2345f32.to_le_bytes();
        let mut out = [0; 4];
        mantissa(&input, 4, 10, &mut out).unwrap();
        assert_eq!(f32::from_le_bytes(out).to_bits(), 1.2345f32.to_bits() & !0x1fff);
        let mut same = [0; 4];
        mantissa(&input, 4, (-13i8).cast_unsigned(), &mut same).unwrap();
        assert_eq!(same, out);
        assert_eq!(mantissa(&input, 4, 24, &mut out), None);
        assert_eq!(mantissa(&input, 2, 1, &mut out), None);
        let mut two = [0; 3];
        integer(&[0xff, 0xff, 0xff], 2, 12, &mut two).unwrap();
        assert_eq!(two, [0xf0, 0xff, 0xff]);
    }
}
