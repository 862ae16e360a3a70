//! Members whose names are numbers.

use crate::model::Name;
use sciformats_core::bound;

/// Returns the numbers below `end` in the byte order of their decimal digits: 0, 1, 10, 100, 11, 2 …
pub(super) fn decimal_order(end: u64) -> impl Iterator<Item = u64> {
    std::iter::successors((end > 0).then_some(0u64), move |&last| {
        if last == 0 {
            return (end > 1).then_some(1);
        }
        if let Some(deeper) = last.checked_mul(10).filter(|&deeper| deeper < end) {
            return Some(deeper);
        }
        let mut at = last;
        while at % 10 == 9 || bound::sum(at, 1) >= end {
            at /= 10;
            if at == 0 {
                return None;
            }
        }
        at.checked_add(1)
    })
}

/// Returns the number that a name stands for, which must have no leading zeros.
pub(super) fn number(name: &Name) -> Option<u64> {
    let text = std::str::from_utf8(name.as_bytes()).ok()?;
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_the_byte_order_of_their_digits() {
        for end in [0u64, 1, 2, 9, 10, 11, 19, 20, 100, 101, 1234] {
            let mut expected: Vec<u64> = (0..end).collect();
            expected.sort_by_key(u64::to_string);
            assert_eq!(decimal_order(end).collect::<Vec<_>>(), expected, "{end}");
        }
        assert_eq!(decimal_order(u64::MAX).take(3).collect::<Vec<_>>(), [0, 1, 10]);
    }

    #[test]
    fn numbers_are_written_in_one_way_only() {
        assert_eq!(number(&"10".into()), Some(10));
        for name in ["", "01", "+1", "-1", "1 ", "99999999999999999999"] {
            assert_eq!(number(&name.into()), None);
        }
    }
}
