//! The block starts of a chunk: where the streams of each block begin, counted from the chunk's first byte.
//!
//! | offset | size | field |
//! |---|---|---|
//! | header size + 4·i | 4 | start of block i, little-endian |
//!
//! The starts need not be in ascending order, because writers with several threads finish blocks in any order.

use nom::Parser;
use nom::multi::count;
use nom::number::complete::le_u32;
use sciformats_core::fault::{FaultKind, Parsed, checked};

/// The size of a start in bytes.
pub(crate) const SIZE: usize = 4;

/// Parses the starts of `bytes.len() / 4` blocks. Each must be between `first`, which is the end of the starts themselves, and
/// `end`, which is the end of the chunk.
pub(crate) fn parse(i: &[u8], first: u32, end: u32) -> Parsed<'_, Vec<u32>> {
    let start = checked("block start", le_u32, |&start| {
        (start < first || start >= end)
            .then_some(FaultKind::OutOfBounds { found: start.into(), end: end.into() })
    });
    count(start, i.len().div_ceil(SIZE)).parse(i)
}

/// Appends the starts.
pub(crate) fn encode(starts: &[u32], out: &mut Vec<u8>) {
    out.extend(starts.iter().flat_map(|start| start.to_le_bytes()));
}

/// Returns the end of the block of each start, which is the next larger start, or the end of the chunk.
pub(crate) fn ends(starts: &[u32], end: u32) -> Vec<u32> {
    let ascending = || starts.windows(2).all(|pair| pair.first() < pair.last());
    if ascending() {
        return starts.iter().skip(1).copied().chain([end]).take(starts.len()).collect();
    }
    let mut sorted = starts.to_vec();
    sciformats_core::order::sort(&mut sorted);
    let next = |start: &u32| sorted.partition_point(|other| other <= start);
    starts.iter().map(|start| sorted.get(next(start)).copied().unwrap_or(end)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sciformats_core::fault::locate_all;

    use super::*;

    #[test]
    fn starts_lie_behind_themselves_and_inside_the_chunk() {
        let bytes = [
            48, 0, 0, 0, // block 0
            40, 0, 0, 0, // block 1: stored first
        ];
        let starts = locate_all("block starts", 32, &bytes, |i| parse(i, 40, 60)).unwrap();
        assert_eq!(starts, [48, 40]);
        assert_eq!(ends(&starts, 60), [60, 48]);
        let mut out = Vec::new();
        encode(&starts, &mut out);
        assert_eq!(out, bytes);
        let error = locate_all("block starts", 32, &bytes, |i| parse(i, 41, 60)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "malformed block starts at offset 0x24: block start is 40, out of bounds (end 60)"
        );
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, first: u32, end: u32) {
            if let Ok((_, starts)) = parse(&bytes, first, end) {
                prop_assert_eq!(ends(&starts, end).len(), starts.len());
            }
        }

        #[test]
        fn round_trip_and_ends(starts in proptest::collection::vec(100u32..1000, 1..20)) {
            let mut bytes = Vec::new();
            encode(&starts, &mut bytes);
            prop_assert_eq!(&parse(&bytes, 100, 1000).unwrap().1, &starts);
            for (start, end) in starts.iter().zip(ends(&starts, 1000)) {
                let expected = starts.iter().copied().filter(|s| s > start).min().unwrap_or(1000);
                prop_assert_eq!(end, expected);
            }
        }
    }
}
