//! The byte order of packed elements.

/// The order of the bytes of a number in a file.
///
/// ```
/// use sciformats_core::endian::ByteOrder;
///
/// let mut bytes = [0, 0, 1, 0];
/// ByteOrder::Big.convert(ByteOrder::Little, &mut bytes, 4);
/// assert_eq!(u32::from_le_bytes(bytes), 256);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ByteOrder {
    /// Least significant byte first.
    #[default]
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    /// The order of the present machine.
    pub const NATIVE: Self = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };

    /// Converts elements of `width` bytes from this order to `target`, in place. Bytes after the last whole
    /// element are unchanged.
    pub fn convert(self, target: Self, bytes: &mut [u8], width: usize) {
        if self != target {
            swap(bytes, width);
        }
    }
}

/// Reverses the bytes of each element of `width` bytes, in place. Bytes after the last whole element are
/// unchanged.
///
/// ```
/// let mut bytes = [1, 2, 3, 4, 5];
/// sciformats_core::endian::swap(&mut bytes, 2);
/// assert_eq!(bytes, [2, 1, 4, 3, 5]);
/// ```
pub fn swap(bytes: &mut [u8], width: usize) {
    // The fixed widths compile to byte-shuffle instructions; other widths are rare.
    match width {
        0 | 1 => {}
        2 => bytes
            .as_chunks_mut::<2>()
            .0
            .iter_mut()
            .for_each(|e| *e = u16::from_ne_bytes(*e).swap_bytes().to_ne_bytes()),
        4 => bytes
            .as_chunks_mut::<4>()
            .0
            .iter_mut()
            .for_each(|e| *e = u32::from_ne_bytes(*e).swap_bytes().to_ne_bytes()),
        8 => bytes
            .as_chunks_mut::<8>()
            .0
            .iter_mut()
            .for_each(|e| *e = u64::from_ne_bytes(*e).swap_bytes().to_ne_bytes()),
        _ => bytes.chunks_exact_mut(width).for_each(<[u8]>::reverse),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_equals_plain_reversal() {
        for width in 1..=17 {
            let original: Vec<u8> = (0..width as u8 * 5 + 3).collect();
            let mut swapped = original.clone();
            swap(&mut swapped, width);
            for (a, b) in original.chunks(width).zip(swapped.chunks(width)) {
                let mut expected = a.to_vec();
                if a.len() == width {
                    expected.reverse();
                }
                assert_eq!(b, expected);
            }
        }
    }
}
