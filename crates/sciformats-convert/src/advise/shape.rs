//! Shapes of chunks that serve several accesses.

use sciformats_core::bound;

/// Returns the shape of chunks of about `target` bytes that reading along the first dimension and reading across it touch equally
/// often.
///
/// If the array has K chunks, the first dimension is divided into √K parts, and the others together into √K. Sides divide the
/// dimensions into parts of equal size, and are multiples of the sides that the file has, if those are shorter.
pub(super) fn balanced(shape: &[u64], element: u64, target: u64, stored: Option<&[u64]>) -> Vec<u64> {
    let total = bytes(shape, element);
    if total <= target || shape.is_empty() {
        return shape.iter().map(|n| (*n).max(1)).collect();
    }
    let count = total as f64 / target.max(1) as f64;
    let dimensions = shape.len();
    // Axes that are shorter than the parts they should be divided into leave more to the others.
    let mut parts = vec![1.0f64; dimensions];
    let mut left = count;
    if let (Some(first), Some(length)) = (parts.first_mut(), shape.first()) {
        *first = if dimensions == 1 { left } else { left.sqrt() }.min(*length as f64);
        left /= *first;
    }
    let mut open: Vec<usize> = (1..dimensions).collect();
    while !open.is_empty() {
        let each = left.powf(1.0 / open.len() as f64);
        let short = open.iter().position(|axis| shape.get(*axis).is_some_and(|n| (*n as f64) < each));
        match short {
            Some(at) => {
                let axis = open.remove(at);
                let length = shape.get(axis).copied().unwrap_or(1).max(1) as f64;
                if let Some(part) = parts.get_mut(axis) {
                    *part = length;
                }
                left /= length;
            }
            None => {
                for axis in open.drain(..) {
                    if let Some(part) = parts.get_mut(axis) {
                        *part = each;
                    }
                }
            }
        }
    }
    let mut sides: Vec<u64> = shape.iter().zip(&parts).map(|(n, parts)| side(*n, *parts)).collect();
    // Multiples of the stored sides make the way there cheap, unless they are much too large.
    for ((side, n), stored) in sides.iter_mut().zip(shape).zip(stored.unwrap_or_default()) {
        if *stored > 1 && *stored < *side {
            *side = bound::product(side.div_ceil(*stored), *stored).min(*n);
        } else if *stored > *side && *stored <= bound::product(*side, 2) {
            *side = (*stored).min(*n);
        }
    }
    // Rounding up must not make chunks of several times the size.
    while bytes(&sides, element) > bound::product(target, 2) {
        let Some(longest) = sides.iter_mut().max() else { break };
        if *longest <= 1 {
            break;
        }
        *longest = longest.div_ceil(2);
    }
    sides
}

/// Returns the shape of chunks that hold whole maps: as few indices of the first dimension as make `least` bytes.
pub(super) fn maps(shape: &[u64], element: u64, least: u64) -> Vec<u64> {
    let mut sides: Vec<u64> = shape.iter().map(|n| (*n).max(1)).collect();
    let map = bytes(sides.get(1..).unwrap_or_default(), element).max(1);
    if let Some(first) = sides.first_mut() {
        *first = least.div_ceil(map).clamp(1, *first);
    }
    sides
}

/// The side of an axis of `length` that is divided into about `parts`.
fn side(length: u64, parts: f64) -> u64 {
    let length = length.max(1);
    // Casts of numbers out of range stop at the range, and NaN becomes 0.
    let parts = (parts.round() as u64).clamp(1, length);
    length.div_ceil(parts)
}

/// The size of a box in bytes; a bound.
pub(super) fn bytes(sides: &[u64], element: u64) -> u64 {
    sides.iter().fold(element, |all, side| bound::product(all, (*side).max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn series_and_maps_touch_as_many_chunks() {
        // 98128 hours of a grid of 277 x 349, the example of those who taught the rule.
        let sides = balanced(&[98_128, 277, 349], 4, 1 << 20, None);
        let touched = |side: u64, n: u64| n.div_ceil(side);
        let series = touched(sides[0], 98_128);
        let map = touched(sides[1], 277) * touched(sides[2], 349);
        assert!(series.max(map) <= 2 * series.min(map), "{sides:?}: {series} and {map}");
        assert_eq!(balanced(&[10, 10], 4, 1 << 20, None), [10, 10]);
        assert_eq!(balanced(&[], 4, 1 << 20, None), [0u64; 0]);
        let line = balanced(&[1 << 24], 4, 1 << 20, None);
        assert_eq!(line, [1 << 18]);
        assert_eq!(maps(&[1000, 180, 360], 4, 4 << 20), [17, 180, 360]);
        assert_eq!(maps(&[12, 3], 4, 4 << 20), [12, 3]);
    }

    proptest! {
        #[test]
        fn chunks_have_about_the_size_that_was_asked_for(
            shape in proptest::collection::vec(1u64..5000, 1..5),
            element in prop_oneof![Just(1u64), Just(4), Just(8)],
            stored in proptest::collection::vec(1u64..300, 4),
        ) {
            let target = 1 << 20;
            let sides = balanced(&shape, element, target, Some(&stored));
            prop_assert!(sides.iter().zip(&shape).all(|(side, n)| (1..=*n).contains(side)));
            let size = bytes(&sides, element);
            prop_assert!(size <= 2 * target);
            prop_assert!(size >= bytes(&shape, element).min(target / 16), "{sides:?} of {shape:?}");
        }
    }
}
