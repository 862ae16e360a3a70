//! Chunk shapes for those who do not choose one.
use sciformats_core::bound;

/// Chunks may always have this many bytes.
const SMALLEST: u64 = 64 << 10;
/// Chunks never have more bytes, unless one element does.
const LARGEST: u64 = 1 << 20;
/// What a dimension that may grow without end and is short now counts as.
const GROWING: u64 = 1024;

/// The shape of the chunks of a dataset of `shape` with elements of `size` bytes.
///
/// A chunk has at most a 256th of the dataset's bytes, or 64 KiB where that is less, or 1 MiB where it is more. Its longest
/// side is halved until it does, so that it extends alike in all dimensions, and sides divide the dataset's evenly: 1000
/// elements in two chunks are 500 and 500. A dimension without a maximum counts as 1024 elements at least.
pub(crate) fn automatic(shape: &[u64], maximum: &[Option<u64>], size: u64) -> Vec<u64> {
    let lengths: Vec<u64> = shape
        .iter()
        .zip(maximum)
        .map(|(&n, max)| {
            if max.is_none() { n.max(GROWING) } else { max.unwrap_or(n).min(n.max(GROWING)) }.max(1)
        })
        .collect();
    let bytes = |sides: &[u64]| sides.iter().fold(size, |product: u64, &n| bound::product(product, n));
    let target = (bytes(&lengths) >> 8).clamp(SMALLEST, LARGEST);
    let mut pieces = vec![1u64; lengths.len()];
    loop {
        let sides: Vec<u64> =
            lengths.iter().zip(&pieces).map(|(n, pieces)| n.div_ceil((*pieces).max(1))).collect();
        let longest =
            sides.iter().enumerate().max_by_key(|&(i, &n)| (n, std::cmp::Reverse(i))).map(|(i, _)| i);
        match longest.and_then(|i| Some((pieces.get_mut(i)?, sides.get(i)?))) {
            Some((pieces, &side)) if bytes(&sides) > target && side > 1 => {
                *pieces = bound::product(*pieces, 2);
            }
            _ => return sides,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::automatic;

    #[test]
    fn sides_are_alike_and_divide_evenly() {
        assert_eq!(automatic(&[1000], &[Some(1000)], 8), [1000]);
        assert_eq!(automatic(&[4096, 4096], &[Some(4096), Some(4096)], 8), [256, 256]);
        assert_eq!(automatic(&[0], &[None], 8), [1024]);
        assert_eq!(automatic(&[0, 3], &[None, Some(3)], 4), [1024, 3]);
        assert_eq!(automatic(&[10], &[Some(10)], 1 << 24), [1]);
        let sides = automatic(&[1_000_000, 3], &[Some(1_000_000), Some(3)], 8);
        assert!(sides[0] * 3 * 8 <= 1 << 20 && sides[0] * 3 * 8 >= 32 << 10, "{sides:?}");
    }
}
