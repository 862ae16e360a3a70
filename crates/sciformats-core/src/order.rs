//! Sorting with little code.
//!
//! The sort of the standard library is compiled once for each type and each comparison, at five kilobytes each. In WebAssembly, whose
//! readers wait for these bytes, one function sorts numbers of places for all types. Elsewhere these functions are those of the
//! standard library.

use std::cmp::Ordering;

use crate::bound;

/// Sorts items stably by a comparison.
///
/// ```
/// let mut names = ["b", "A", "a"];
/// sciformats_core::order::sort_by(&mut names, |a, b| a.to_lowercase().cmp(&b.to_lowercase()));
/// assert_eq!(names, ["A", "a", "b"]);
/// ```
pub fn sort_by<T>(items: &mut [T], compare: impl FnMut(&T, &T) -> Ordering) {
    if cfg!(target_family = "wasm") {
        by_places(items, compare);
    } else {
        items.sort_by(compare);
    }
}

/// Sorts items stably by a key, which is computed for each comparison.
///
/// ```
/// let mut pairs = [(2, 'a'), (1, 'b'), (2, 'c')];
/// sciformats_core::order::sort_by_key(&mut pairs, |pair| pair.0);
/// assert_eq!(pairs, [(1, 'b'), (2, 'a'), (2, 'c')]);
/// ```
pub fn sort_by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(items, |a, b| key(a).cmp(&key(b)));
}

/// Sorts items stably.
///
/// ```
/// let mut numbers = [3, 1, 2];
/// sciformats_core::order::sort(&mut numbers);
/// assert_eq!(numbers, [1, 2, 3]);
/// ```
pub fn sort<T: Ord>(items: &mut [T]) {
    sort_by(items, T::cmp);
}

fn by_places<T>(items: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    let order = ordered(items.len(), &mut |a, b| match (items.get(a), items.get(b)) {
        (Some(a), Some(b)) => compare(a, b),
        _ => Ordering::Equal,
    });
    arrange(order, &mut |a, b| items.swap(a, b));
}

/// Returns the places of items in their order, by merging runs of doubled length.
fn ordered(len: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..len).collect();
    if (1..len).all(|at| compare(bound::left(at, 1), at) != Ordering::Greater) {
        return order;
    }
    let mut merged = Vec::with_capacity(len);
    let mut width = 1usize;
    while width < len {
        let double = bound::product(width, 2);
        for pair in order.chunks(double) {
            let (mut left, mut right) = pair.split_at(width.min(pair.len()));
            while let (Some((&a, after_a)), Some((&b, after_b))) = (left.split_first(), right.split_first()) {
                if compare(b, a) == Ordering::Less {
                    merged.push(b);
                    right = after_b;
                } else {
                    merged.push(a);
                    left = after_a;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        std::mem::swap(&mut order, &mut merged);
        merged.clear();
        width = double;
    }
    order
}

/// Swaps items until each place has the one that `order` names for it. Each cycle of places is followed once.
fn arrange(mut order: Vec<usize>, swap: &mut dyn FnMut(usize, usize)) {
    for start in 0..order.len() {
        let mut at = start;
        while let Some(place) = order.get_mut(at) {
            let from = std::mem::replace(place, at);
            if from == start || from == at {
                break;
            }
            swap(at, from);
            at = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_ways_give_the_same(keys in prop::collection::vec(0u8..20, 0..200)) {
            let items: Vec<(u8, usize)> = keys.iter().copied().zip(0..).collect();
            let (mut own, mut other) = (items.clone(), items);
            by_places(&mut own, |a, b| a.0.cmp(&b.0));
            sort_by(&mut other, |a, b| a.0.cmp(&b.0));
            prop_assert_eq!(own, other);
        }
    }

    #[test]
    fn ordered_items_are_compared_once() {
        let mut compared = 0;
        by_places(&mut [1, 2, 2, 3], |a, b| {
            compared += 1;
            a.cmp(b)
        });
        assert_eq!(compared, 3);
        by_places(&mut [0u8; 0], Ord::cmp);
    }

    #[test]
    fn a_long_cycle_takes_one_swap_for_each_item() {
        let n = 1000;
        for order in
            [(0..n).map(|at| (at + 1) % n).collect::<Vec<_>>(), (0..n).map(|at| (at + n - 1) % n).collect()]
        {
            let mut items: Vec<usize> = (0..n).collect();
            let mut swaps = 0;
            arrange(order.clone(), &mut |a, b| {
                swaps += 1;
                items.swap(a, b);
            });
            assert_eq!((items, swaps), (order, n - 1));
        }
    }
}
