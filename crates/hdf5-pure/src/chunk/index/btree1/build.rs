//! Builds version 1 B-trees of chunks.

use crate::chunk::index::build::{Chunks, Stored};
use crate::chunk::too_large;
use crate::space::output::Output;
use crate::spec::Address;
use crate::spec::btree_v1::{ChunkKey, ChunkNode, Place};
use sciformats_core::arith::{add, increase, mul, present};
use sciformats_core::{Error, Result};

impl Chunks<'_> {
    pub(crate) fn btree_v1(&self, output: &mut Output) -> Result<Address> {
        let entry = |&(scaled, stored): &(&[u64], Stored)| {
            Ok((key(scaled, stored, self.dimensions)?, stored.address))
        };
        let mut below: Vec<(ChunkKey, Address)> = self.stored.iter().map(entry).collect::<Result<_>>()?;
        let last = end(&present(below.last(), "last chunk")?.0, self.dimensions)?;
        let rank = self.dimensions.len();
        let size = ChunkNode::size(self.sizes, usize::from(self.k) * 2, rank)? as u64;
        let mut level = 0u8;
        loop {
            let parts: Vec<&[(ChunkKey, Address)]> = below.chunks(usize::from(self.k.max(1)) * 2).collect();
            let first = output.allocate(mul(size, parts.len() as u64)?)?;
            let at = |i: u64| Ok(Address(add(first.0, mul(size, i)?)?));
            let mut above = Vec::new();
            for (i, part) in (0u64..).zip(&parts) {
                let next = add(i, 1)?;
                let following = usize::try_from(next).ok().and_then(|next| parts.get(next)?.first());
                let after = following.map_or(&last, |(key, _)| key);
                let keys: Vec<ChunkKey> = part.iter().map(|(key, _)| key).chain([after]).cloned().collect();
                above.push((present(keys.first(), "first key of a node")?.clone(), at(i)?));
                let node =
                    ChunkNode { level, keys, children: part.iter().map(|&(_, child)| Some(child)).collect() };
                let right = following.map(|_| at(next)).transpose()?;
                let mut bytes = Vec::new();
                let place = Place { level, left: i.checked_sub(1).map(at).transpose()?, right };
                node.encode(&mut bytes, self.sizes, self.k, rank, place)?;
                output.write(at(i)?, &bytes)?;
            }
            if above.len() <= 1 {
                return Ok(first);
            }
            below = above;
            increase(&mut level, 1)?;
        }
    }
}

/// Returns the key of a chunk of `dimensions` elements.
pub(crate) fn key(scaled: &[u64], stored: Stored, dimensions: &[u64]) -> Result<ChunkKey> {
    let large = |_| Error::usage("chunk", "has 4 GiB or more, which a version 1 B-tree cannot store");
    let size = u32::try_from(stored.size).map_err(large)?;
    Ok(ChunkKey { size, filter_mask: stored.skipped(), offsets: offsets(scaled, dimensions)?, byte: 0 })
}

/// Returns the first element of a chunk of `dimensions` elements.
pub(crate) fn offsets(scaled: &[u64], dimensions: &[u64]) -> Result<Vec<u64>> {
    scaled.iter().zip(dimensions).map(|(&at, &n)| mul(at, n)).collect()
}

/// Returns the key after the last chunk, which is greater than the key of every chunk.
pub(crate) fn end(last: &ChunkKey, dimensions: &[u64]) -> Result<ChunkKey> {
    let offsets = last.offsets.iter().zip(dimensions).map(|(at, &n)| at.checked_add(n).ok_or_else(too_large));
    Ok(ChunkKey { size: 0, filter_mask: 0, offsets: offsets.collect::<Result<_>>()?, byte: 0 })
}
