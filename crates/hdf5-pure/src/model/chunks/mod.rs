//! The chunks of a dataset: one enumeration over all kinds of indexes.

pub(crate) mod arrays;
mod extensible;

use std::cmp::Ordering;
use std::ops::ControlFlow;

use sciformats_core::Result;
use sciformats_core::fault::{Fault, FaultKind, locate};

use self::arrays::Numbering;
use super::btree_v2::Tree;
use super::context::{Budget, Context};
use crate::spec::Address;
use crate::spec::btree_v1::{ChunkNode, Prefix};
use crate::spec::btree_v2::record::ChunkRecord;
use crate::spec::message::layout::{Chunked, IndexKind};

/// A chunk that is stored.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// file.dataset("temperature").max_shape([None]).chunks([2]).write(&[281.5f32, 282.0, 282.5])?;
/// let temperature = File::from_bytes(file.into_bytes()?)?.dataset("temperature")?;
/// let stored: u64 = temperature.chunks()?.iter().flatten().map(|chunk| chunk.size).sum();
/// assert_eq!(stored, 16); // two chunks of two elements
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredChunk {
    /// Which chunk, counted in chunks along each dimension.
    pub scaled: Vec<u64>,
    /// Where it is.
    pub address: Address,
    /// Bytes as stored.
    pub size: u64,
    /// Filters that were skipped when it was written, bit by bit.
    pub filter_mask: u32,
}

/// A box of chunks, first and last included.
pub(crate) struct Bounds {
    pub(crate) first: Vec<u64>,
    pub(crate) last: Vec<u64>,
}

impl Bounds {
    pub(crate) fn holds(&self, scaled: &[u64]) -> bool {
        scaled
            .iter()
            .zip(self.first.iter().zip(&self.last))
            .all(|(at, (first, last))| first <= at && at <= last)
    }

    /// Chunks in the box, if the number fits 64 bits.
    pub(crate) fn volume(&self) -> Option<u64> {
        let lengths =
            self.first.iter().zip(&self.last).map(|(first, last)| last.checked_sub(*first)?.checked_add(1));
        lengths.into_iter().try_fold(1u64, |product, n| product.checked_mul(n?))
    }
}

/// What the indexes need to know of a dataset.
pub(crate) struct Index<'a> {
    pub(crate) context: &'a Context,
    pub(crate) layout: &'a Chunked,
    pub(crate) dimensions: &'a [u64],
    pub(crate) maximum: &'a [Option<u64>],
    pub(crate) filtered: bool,
}

/// What a visit of chunks calls.
pub(crate) type Visit<'v> = dyn FnMut(Result<StoredChunk>) -> ControlFlow<()> + 'v;

/// Bytes of an unfiltered chunk, if they fit 64 bits.
pub(crate) fn chunk_bytes(layout: &Chunked) -> Option<u64> {
    layout.dimensions.iter().try_fold(layout.element_size, |product, &n| product.checked_mul(n))
}

const STRUCTURE: &str = "chunk index";

impl Index<'_> {
    /// Visits the stored chunks in `bounds`, each once in a sound file. An unreadable part of the index is one error.
    pub(crate) fn visit(&self, bounds: &Bounds, visit: &mut Visit<'_>) {
        let Some(at) = self.layout.address else { return };
        let result = match self.layout.index {
            IndexKind::BtreeV1 => {
                let _ = self.btree_v1(at, None, bounds, &mut Budget::new(self.context), visit);
                Ok(())
            }
            IndexKind::Single(filtered) => self.single(at, filtered, bounds, visit),
            IndexKind::Implicit => self.implicit(at, bounds, visit),
            IndexKind::FixedArray => self.fixed_array(at, bounds, visit),
            IndexKind::ExtensibleArray => self.extensible_array(at, bounds, visit),
            IndexKind::BtreeV2 => self.btree_v2(at, bounds, visit),
        };
        if let Err(error) = result {
            let _ = visit(Err(error));
        }
    }

    fn bytes(&self, at: Address) -> Result<u64> {
        chunk_bytes(self.layout).ok_or_else(|| {
            self.context.fault("data layout message", at, Fault::new("chunk size", FaultKind::Overflow))
        })
    }

    /// Bytes of the stored size in an element of an index of filtered chunks; 0 if they are not filtered.
    fn size_width(&self, at: Address) -> Result<usize> {
        if !self.filtered {
            return Ok(0);
        }
        if self.layout.wide_sizes {
            return Ok(self.context.sizes.lengths.into());
        }
        let bits = self.bytes(at)?.checked_ilog2().unwrap_or(0);
        Ok(usize::try_from(bits.saturating_add(8) / 8).unwrap_or(8).saturating_add(1).min(8))
    }

    /// Chunks along each dimension, as the linear number of a chunk counts them: of the maximum size where there is one.
    pub(crate) fn counts(&self) -> Vec<u64> {
        let sizes =
            self.maximum.iter().zip(self.dimensions).map(|(max, &size)| max.unwrap_or(size).max(size));
        sizes
            .zip(&self.layout.dimensions)
            .map(|(size, chunk)| size.div_ceil((*chunk).max(1)).max(1))
            .collect()
    }

    fn single(
        &self,
        at: Address,
        filtered: Option<(u64, u32)>,
        bounds: &Bounds,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let (size, filter_mask) = match filtered {
            Some(stored) => stored,
            None => (self.bytes(at)?, 0),
        };
        let scaled = vec![0; self.dimensions.len()];
        if bounds.holds(&scaled) {
            let _ = visit(Ok(StoredChunk { scaled, address: at, size, filter_mask }));
        }
        Ok(())
    }

    fn implicit(&self, at: Address, bounds: &Bounds, visit: &mut Visit<'_>) -> Result<()> {
        let numbering = Numbering::new(&self.counts(), None);
        let size = self.bytes(at)?;
        let (first, last) = numbering.range(bounds).ok_or_else(|| self.too_many(at))?;
        // All of them must be in the file, which also bounds the loop.
        let end = last.checked_add(1).and_then(|n| n.checked_mul(size)).ok_or_else(|| self.too_many(at))?;
        if end > self.context.available(at) {
            return Err(self.too_many(at));
        }
        for number in first..=last {
            let address = Address(at.0.saturating_add(number.saturating_mul(size)));
            let scaled = numbering.scaled(number);
            let chunk = StoredChunk { scaled, address, size, filter_mask: 0 };
            if bounds.holds(&chunk.scaled) && visit(Ok(chunk)).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn too_many(&self, at: Address) -> sciformats_core::Error {
        self.context.fault(STRUCTURE, at, FaultKind::Rule("does not hold as many chunks as the dataset has"))
    }

    fn btree_v1(
        &self,
        at: Address,
        level: Option<u8>,
        bounds: &Bounds,
        budget: &mut Budget,
        visit: &mut Visit<'_>,
    ) -> ControlFlow<()> {
        let node = match self.btree_v1_node(at, level) {
            Ok(node) => node,
            Err(error) => return visit(Err(error)),
        };
        let entries = node.children.len();
        let visited = ChunkNode::size(self.context.sizes, entries, self.dimensions.len())
            .and_then(|size| budget.visit(self.context, "chunk B-tree node", at, size as u64));
        if let Err(error) = visited {
            return visit(Err(error));
        }
        let scale = |offsets: &[u64]| -> Vec<u64> {
            offsets
                .iter()
                .zip(&self.layout.dimensions)
                .map(|(at, n)| at.checked_div(*n).unwrap_or(0))
                .collect()
        };
        let keys: Vec<Vec<u64>> = node.keys.iter().map(|key| scale(&key.offsets)).collect();
        let ends = keys.iter().skip(1);
        for (((key, scaled), end), child) in node.keys.iter().zip(&keys).zip(ends).zip(&node.children) {
            let Some(child) = *child else { continue };
            match node.level.checked_sub(1) {
                Some(below) if *end >= bounds.first && *scaled <= bounds.last => {
                    self.btree_v1(child, Some(below), bounds, budget, visit)?;
                }
                None if bounds.holds(scaled) => {
                    let (size, filter_mask) = (key.size.into(), key.filter_mask);
                    visit(Ok(StoredChunk { scaled: scaled.clone(), address: child, size, filter_mask }))?;
                }
                _ => {}
            }
        }
        ControlFlow::Continue(())
    }

    fn btree_v1_node(&self, at: Address, level: Option<u8>) -> Result<ChunkNode> {
        const NODE: &str = "chunk B-tree node";
        let (sizes, rank) = (self.context.sizes, self.dimensions.len());
        let start = self.context.read(NODE, at, Prefix::size(sizes) as u64)?;
        let prefix = locate(NODE, self.context.offset(at), &start, |i| ChunkNode::prefix(i, sizes))?;
        if let Some(expected) = level.filter(|&level| level != prefix.level) {
            let kind = FaultKind::Mismatch { expected: expected.into(), found: prefix.level.into() };
            return Err(self.context.fault(NODE, at, Fault::new("node level", kind)));
        }
        let len = ChunkNode::size(sizes, prefix.entries.into(), rank)? as u64;
        let node = self.context.parse(NODE, at, len, |i| ChunkNode::parse(i, sizes, rank))?;
        let aligned = |offsets: &[u64]| {
            offsets.iter().zip(&self.layout.dimensions).all(|(at, n)| at.checked_rem(*n) == Some(0))
        };
        let used = node.keys.iter().take(node.children.len());
        if !used.clone().all(|key| aligned(&key.offsets)) {
            let kind = FaultKind::Rule("is not a multiple of the chunk's size");
            return Err(self.context.fault(NODE, at, Fault::new("chunk offset", kind)));
        }
        Ok(node)
    }

    fn btree_v2(&self, at: Address, bounds: &Bounds, visit: &mut Visit<'_>) -> Result<()> {
        let tree = Tree::open(self.context, at, if self.filtered { &[11] } else { &[10] })?;
        let (width, bytes) = (self.size_width(at)?, self.bytes(at)?);
        let rank = self.dimensions.len();
        let parse = |record: &[u8]| {
            locate("chunk record", self.context.offset(at), record, |i| {
                ChunkRecord::parse(i, self.context.sizes, width, rank)
            })
        };
        tree.visit_range(
            &mut |record| {
                let scaled = parse(record)?.scaled;
                Ok(if scaled < bounds.first {
                    Ordering::Less
                } else if scaled > bounds.last {
                    Ordering::Greater
                } else {
                    Ordering::Equal
                })
            },
            &mut |record| match record.and_then(parse) {
                Ok(record) => {
                    let (size, filter_mask) = record.filtered.unwrap_or((bytes, 0));
                    match record.address.filter(|_| bounds.holds(&record.scaled)) {
                        Some(address) => {
                            Ok(visit(Ok(StoredChunk { scaled: record.scaled, address, size, filter_mask })))
                        }
                        None => Ok(ControlFlow::Continue(())),
                    }
                }
                Err(error) => Ok(visit(Err(error))),
            },
        )
    }
}
