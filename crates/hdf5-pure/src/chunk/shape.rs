//! Chooses a chunk shape if the caller does not give one.
use sciformats_core::bound;

/// The limit that small datasets get: every chunk may have this many bytes.
const SMALLEST: u64 = 64 << 10;
/// The largest limit, unless a single element is larger.
const LARGEST: u64 = 1 << 20;
/// The length that a dimension counts as at least if it can grow without limit.
const GROWING: u64 = 1024;

/// Returns the chunk shape for a dataset of `shape` with elements of `size` bytes.
///
/// The limit for a chunk is a 256th of the dataset's bytes, but at least 64 KiB and at most 1 MiB. The longest side of
/// the chunk is halved until the limit is met, so that its sides are of similar length. Sides divide the dataset
/// evenly: two chunks for 1000 elements have 500 and 500. A dimension without a maximum counts as at least 1024
/// elements.
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
