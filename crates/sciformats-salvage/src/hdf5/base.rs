//! Finds the place from which the addresses of a file count, if the superblock is not where it should be or is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hdf5_pure::Address;
use hdf5_pure::structure::{BtreeK, Carved, Carver, SIGNATURE, Sizes, Superblock};
use sciformats_core::inflate::Inflater;
use sciformats_core::{ReadAt, bound};

use super::streams::inflated;
use crate::spliced::Spliced;

/// The bytes of a structure in which addresses are looked for, and those of a structure whose length is unknown.
const LONGEST: u64 = 4096;
const SHORTEST: u64 = 32;
/// The most structures in which addresses are looked for.
const STRUCTURES: usize = 20_000;
/// The most numbers that are compared with the places of structures, and the most pairs.
const NUMBERS: usize = 200_000;
const PAIRS: usize = 4_000_000;
/// The nodes of trees of chunks, and the chunks of each, in which streams of deflate are looked for.
const NODES: usize = 256;
const CHUNKS: usize = 4;
/// The bytes that may be read or decoded for this.
const BUDGET: u64 = 1 << 30;
/// The structures that have to be where addresses say if the base is at a place where a superblock cannot be.
const HITS: usize = 3;

/// Returns whether readers look for a superblock at an offset: 0, 512, 1024 and so on.
pub(super) fn is_usual(offset: u64) -> bool {
    offset == 0 || offset >= 512 && offset.is_power_of_two()
}

/// Returns the bytes of a file from `base` on as a file of their own.
pub(super) fn from_base(source: Arc<dyn ReadAt>, base: u64) -> Arc<dyn ReadAt> {
    let len = bound::left(source.size(), base);
    let mut part = Spliced::new(source);
    part.range(base, len);
    Arc::new(part)
}

/// Returns the superblock at an unusual place before all other structures, as after bytes that were put before the file.
pub(super) fn moved_superblock(
    source: &Arc<dyn ReadAt>,
    candidates: &[u64],
    carved: &[Carved],
) -> Option<(u64, Superblock)> {
    let first = carved.iter().map(|carved| carved.address.0).min();
    candidates
        .iter()
        .copied()
        .take_while(|&at| first.is_none_or(|first| at < first))
        .filter(|&at| source.read_at(at, SIGNATURE.len()).is_ok_and(|bytes| *bytes == SIGNATURE))
        .find_map(|at| match Carver::find_superblock(&*from_base(source.clone(), at)) {
            Ok((0, found)) => Some((at, found)),
            _ => None,
        })
}

/// Returns the base for which most numbers in structures are addresses at which others begin; `None` if there is no such base, or if
/// several are equally likely. `carved` are the structures with their absolute offsets.
pub(super) fn likely(source: &dyn ReadAt, carved: &[Carved]) -> Option<u64> {
    let places: BTreeSet<u64> = carved.iter().map(|carved| carved.address.0).collect();
    let first = *places.first()?;
    let mut numbers = BTreeSet::new();
    for one in carved.iter().take(STRUCTURES) {
        let len = one.len.clamp(SHORTEST, LONGEST).min(bound::left(source.size(), one.address.0));
        let Ok(bytes) = source.read_at(one.address.0, bound::addressable(len)) else { continue };
        // A structure does not name its own signature.
        let words = bytes.windows(8).skip(4).filter_map(|word| word.first_chunk());
        numbers.extend(words.map(|word| u64::from_le_bytes(*word)).filter(|&n| n > 0 && n < source.size()));
        if numbers.len() > NUMBERS {
            break;
        }
    }
    let mut hits: BTreeMap<u64, usize> = BTreeMap::new();
    let mut pairs = 0usize;
    for number in numbers {
        // Every structure is behind the superblock, which is at the base.
        for &place in places.range(number..=bound::sum(number, first)) {
            let count = hits.entry(place - number).or_insert(0);
            *count = bound::sum(*count, 1);
            pairs = bound::sum(pairs, 1);
        }
        if pairs > PAIRS {
            break;
        }
    }
    let rank = |(&base, &count): (&u64, &usize)| match is_usual(base) {
        true => Some((bound::sum(bound::product(count, 2), 1), base)),
        false => (count >= HITS).then_some((bound::product(count, 2), base)),
    };
    let mut ranked: Vec<(usize, u64)> = hits.iter().filter_map(rank).collect();
    ranked.sort_unstable_by(|a, b| b.cmp(a));
    match ranked.as_slice() {
        [(best, _), (second, _), ..] if best == second => None,
        [(_, base), ..] => Some(*base),
        [] => None,
    }
}

/// Returns the usual place for a superblock from which the addresses of chunks lead to a stream of deflate of which the checksum is right.
/// `carved` are the structures with their absolute offsets.
pub(super) fn of_streams(source: &Arc<dyn ReadAt>, carved: &[Carved]) -> Option<u64> {
    let nodes = carved.iter().filter(|carved| carved.structure == "chunk B-tree node").take(NODES);
    let nodes: Vec<u64> = nodes.map(|carved| carved.address.0).collect();
    let first = *nodes.first()?;
    let usual = std::iter::once(0).chain((9..u64::BITS).map(|bit| 1 << bit));
    let (mut inflater, mut out, mut budget) = (Inflater::new(), Vec::new(), BUDGET);
    usual.take_while(|&base| base < first).find(|&base| {
        let sizes = Sizes { offsets: 8, lengths: 8 };
        let carver = Carver::new(source.clone(), base, sizes, BtreeK::default());
        let loose = nodes.iter().filter_map(|&at| carver.loose_node(Address(bound::left(at, base))));
        let mut chunks = loose.flat_map(|found| found.node.chunks.into_iter().take(CHUNKS));
        chunks.any(|chunk| {
            let Some(left) = budget.checked_sub(chunk.size) else { return false };
            budget = left;
            let len = bound::addressable(chunk.size);
            let bytes = source.read_at(carver.offset(chunk.address), len);
            bytes.is_ok_and(|bytes| inflated(&mut inflater, &bytes, &mut out, &mut budget).is_some())
        })
    })
}
