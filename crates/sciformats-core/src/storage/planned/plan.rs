//! Conversion of ranges to requests, which are sorted, joined over small gaps, and limited in size; and of their responses to the
//! bytes of the ranges.

use std::ops::Range;

use crate::bound;
use crate::storage::length;

/// When two ranges are fetched by one request.
///
/// A request costs a round trip. With a bandwidth of `b` bytes per second and a latency of `l` seconds, this corresponds to `b ·
/// l` bytes, so it is worth reading over gaps that are shorter.
///
/// ```
/// use sciformats_core::storage::Joining;
///
/// let joining = Joining { gap: 100, share: 0, always: 0, longest: 1000 };
/// let requests = joining.plan(&[500..600, 0..200, 250..300, 200..210], 5000);
/// assert_eq!(requests, [0..300, 500..600]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joining {
    /// The longest gap that is ever read over, in bytes.
    pub gap: u64,
    /// A limit for all gaps together: at most one byte is read over for each `share` requested bytes, beginning with the shortest
    /// gaps; 0 means that there is no such limit.
    pub share: u64,
    /// Gaps of up to this length are always read over, because separate requests would cost more.
    pub always: u64,
    /// The largest size of a request in bytes. Longer ranges are requested in several parts, which can be fetched simultaneously.
    pub longest: u64,
}

impl Joining {
    /// Returns the requests for all of `ranges` of an object of `size` bytes. They are sorted, disjoint and not empty. Bytes
    /// outside of the object are left out.
    pub fn plan(&self, ranges: &[Range<u64>], size: u64) -> Vec<Range<u64>> {
        let wanted = merged(ranges, size);
        let mut longest_gap = self.gap;
        if self.share > 0 {
            longest_gap = affordable(&wanted, self.gap, self.share).max(self.always);
        }
        let mut joined: Vec<Range<u64>> = Vec::with_capacity(wanted.len());
        // Merged ranges are in ascending order and do not touch each other.
        for range in wanted {
            match joined.last_mut() {
                Some(last) if range.start - last.end <= longest_gap => last.end = range.end,
                _ => joined.push(range),
            }
        }
        joined.into_iter().flat_map(|range| parts(range, self.longest.max(1))).collect()
    }
}

/// Returns the ranges in order, clipped at `size`. Overlapping and adjacent ranges are merged.
pub(super) fn merged(ranges: &[Range<u64>], size: u64) -> Vec<Range<u64>> {
    let mut sorted: Vec<Range<u64>> = ranges
        .iter()
        .map(|range| range.start..range.end.min(size))
        .filter(|range| range.start < range.end)
        .collect();
    crate::order::sort_by_key(&mut sorted, |range| (range.start, range.end));
    let mut merged: Vec<Range<u64>> = Vec::with_capacity(sorted.len());
    for range in sorted {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Returns the longest gap that is read over, if all gaps up to this length may cost one byte for each `share` requested bytes.
fn affordable(wanted: &[Range<u64>], gap: u64, share: u64) -> u64 {
    let total: u64 = wanted.iter().map(length).sum();
    let Some(mut budget) = total.checked_div(share) else { return gap };
    let mut gaps: Vec<u64> = wanted
        .windows(2)
        .filter_map(|pair| pair.get(1)?.start.checked_sub(pair.first()?.end))
        .filter(|&length| length <= gap)
        .collect();
    crate::order::sort(&mut gaps);
    let mut longest = 0;
    // Of gaps of equal length, either all are read over, or none.
    for equal in gaps.chunk_by(|a, b| a == b) {
        let Some(&length) = equal.first() else { break };
        let cost = length * equal.len() as u64; // all of them are inside the object
        let Some(left) = budget.checked_sub(cost) else { break };
        (budget, longest) = (left, length);
    }
    longest
}

/// Divides a range into parts of about equal length, none of which is longer than `longest`.
fn parts(range: Range<u64>, longest: u64) -> impl Iterator<Item = Range<u64>> {
    let length = length(&range);
    let count = length.div_ceil(longest).max(1);
    let each = length.div_ceil(count).max(1);
    (0..count).filter_map(move |number| {
        let start = range.start.checked_add(number.checked_mul(each)?)?;
        let end = bound::sum(start, each).min(range.end);
        (start < end).then_some(start..end)
    })
}

/// Joins adjacent pieces.
pub(super) fn whole(requests: &[Range<u64>], pieces: &[Vec<u8>]) -> Vec<(u64, Vec<u8>)> {
    let mut found: Vec<(u64, Vec<u8>)> = Vec::new();
    for (request, piece) in requests.iter().zip(pieces) {
        match found.last_mut() {
            Some((start, bytes)) if *start + bytes.len() as u64 == request.start => {
                bytes.extend_from_slice(piece);
            }
            _ => found.push((request.start, piece.clone())),
        }
    }
    found
}

/// Returns the bytes of `range`, clipped at `size`, from sorted requests and their responses.
pub(super) fn slice(
    range: &Range<u64>,
    size: u64,
    requests: &[Range<u64>],
    pieces: &[Vec<u8>],
) -> Option<Vec<u8>> {
    let end = range.end.min(size);
    let mut at = range.start;
    let mut bytes = Vec::with_capacity(usize::try_from(end.checked_sub(at)?).ok()?);
    let mut number = requests.partition_point(|request| request.end <= at);
    while at < end {
        let (request, piece) = (requests.get(number)?, pieces.get(number)?);
        let from = usize::try_from(at.checked_sub(request.start)?).ok()?;
        let to = usize::try_from(end.min(request.end).checked_sub(request.start)?).ok()?;
        bytes.extend_from_slice(piece.get(from..to)?);
        at = request.end;
        number += 1;
    }
    Some(bytes)
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "one range is meant")]
mod tests {
    use proptest::prelude::{Strategy, prop_assert, prop_assert_eq};

    use super::*;

    #[test]
    fn the_shortest_gaps_are_read_over_first() {
        let joining = Joining { gap: 50, share: 10, always: 0, longest: 10_000 };
        // 400 requested bytes allow for 40: the gaps of 5 and 30, but not also that of 31.
        let requests = joining.plan(&[0..100, 131..231, 236..336, 366..466], 1000);
        assert_eq!(requests, [0..100, 131..466]);
        assert_eq!(Joining { always: 31, ..joining }.plan(&[0..100, 131..231], 1000), [0..231]);
        assert_eq!(Joining { share: 0, ..joining }.plan(&[0..100, 131..231], 1000), [0..231]);
    }

    #[test]
    fn long_ranges_are_asked_for_in_equal_parts() {
        let joining = Joining { gap: 0, share: 0, always: 0, longest: 4 };
        assert_eq!(joining.plan(&[1..10], 100), [1..4, 4..7, 7..10]);
        assert_eq!(joining.plan(&[u64::MAX - 2..u64::MAX], u64::MAX), [u64::MAX - 2..u64::MAX]);
        assert!(joining.plan(&[5..5, 100..200], 100).is_empty());
    }

    fn ranges() -> impl Strategy<Value = Vec<Range<u64>>> {
        proptest::collection::vec((0u64..300, 0u64..40).prop_map(|(start, len)| start..start + len), 0..12)
    }

    proptest::proptest! {
        #[test]
        fn requests_are_sorted_disjoint_bounded_and_bring_what_is_wanted(
            ranges in ranges(), gap in 0u64..40, share in 0u64..20, longest in 1u64..50, size in 0u64..320,
        ) {
            let requests = Joining { gap, share, always: 0, longest }.plan(&ranges, size);
            prop_assert!(requests.windows(2).all(|pair| pair[0].end <= pair[1].start));
            prop_assert!(requests.iter().all(|r| r.start < r.end && r.end <= size && r.end - r.start <= longest));
            let brought = |at: u64| requests.iter().any(|request| request.contains(&at));
            let wanted = |at: u64| ranges.iter().any(|range| range.contains(&at));
            let (mut bytes, mut waste) = (0, 0);
            for at in 0..size {
                prop_assert!(!wanted(at) || brought(at));
                bytes += u64::from(wanted(at));
                waste += u64::from(brought(at) && !wanted(at));
            }
            if share > 0 {
                prop_assert!(waste * share <= bytes);
            }
            if gap == 0 {
                prop_assert_eq!(waste, 0);
            }
        }
    }
}
