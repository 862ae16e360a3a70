//! Chunk indexes that are changed in place while others read the file.
//!
//! What a structure leads to is written before it, so that whoever reads at any moment finds what he is led to: elements
//! before the blocks that name their pages, blocks before the header. A block is not written in one piece, but ends in a
//! checksum, and a reader that finds it wrong reads once more. Space that was once reachable is not used again.

mod btree;
mod extensible;
pub(crate) mod file;
mod fixed;
mod leaves;
pub(crate) mod series;

use sciformats_core::arith::{add, fit, mul};
use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Error, Result};

use self::btree::LiveTree;
use self::extensible::LiveExtensible;
use self::fixed::LiveFixed;
use super::chunks::arrays::Numbering;
use super::write::chunk_index::{Stored, counted};
use super::write::output::{Output, SIZES};
use crate::spec::Address;
use crate::spec::btree_v2::record::ChunkRecord;
use crate::spec::fixed_array::{self, Element};
use crate::spec::message::layout::IndexKind;

/// Elements of a new array that has a place for each.
const MOST_ELEMENTS: u64 = 1 << 32;
/// Pages have at most two to this power of elements, super blocks and nodes of trees at most so many bytes.
const MOST_PAGE_BITS: u8 = 20;
const MOST_BYTES: u64 = 64 << 20;

/// What the elements of an index are.
pub(crate) struct Elements {
    /// 1 for filtered chunks.
    client: u8,
    /// Bytes of a stored size, 0 without filters.
    size_width: usize,
    /// An element without a chunk.
    absent: Vec<u8>,
}

impl Elements {
    pub(crate) fn new(size_width: usize) -> Result<Self> {
        let mut absent = Vec::new();
        Element { address: None, filtered: None }.encode(&mut absent, SIZES, size_width)?;
        Ok(Self { client: u8::from(size_width > 0), size_width, absent })
    }

    fn check(&self, structure: &'static str, offset: u64, client: u8, size: u8) -> Result<()> {
        if client == self.client && usize::from(size) == self.absent.len() {
            return Ok(());
        }
        Err(self.mismatch(structure, offset, self.absent.len() as u64, size.into()))
    }

    fn mismatch(&self, structure: &'static str, offset: u64, expected: u64, found: u64) -> Error {
        Fault::new("element size", FaultKind::Mismatch { expected, found }).at(structure, offset)
    }
}

/// A chunk index of a file that others read.
pub(crate) struct LiveIndex {
    kind: Kind,
    elements: Elements,
    numbering: Numbering,
}

enum Kind {
    Fixed(LiveFixed),
    Extensible(LiveExtensible),
    Tree(LiveTree),
}

/// What an index needs to know of its dataset.
pub(crate) struct Shape<'a> {
    /// Chunks along each dimension, at its largest.
    pub(crate) counts: &'a [u64],
    /// The dimension without a maximum, if there is one.
    pub(crate) unlimited: Option<usize>,
}

impl LiveIndex {
    /// The index at `at`, or a new one.
    ///
    /// # Errors
    /// `Unsupported` for indexes that a reader cannot follow.
    pub(crate) fn open(
        output: &mut Output,
        (kind, at): (IndexKind, Option<Address>),
        elements: Elements,
        shape: &Shape<'_>,
    ) -> Result<Self> {
        let rank = shape.counts.len();
        let mut unlimited = None;
        let kind = match (kind, at) {
            (IndexKind::FixedArray, Some(at)) => Kind::Fixed(LiveFixed::open(output, at, &elements)?),
            (IndexKind::FixedArray, None) => {
                let total = shape.counts.iter().try_fold(1u64, |product, &n| product.checked_mul(n));
                let total = total.filter(|&total| total <= MOST_ELEMENTS).ok_or_else(beyond)?;
                Kind::Fixed(LiveFixed::create(output, total, &elements)?)
            }
            (IndexKind::ExtensibleArray, at) => {
                unlimited = shape.unlimited;
                Kind::Extensible(match at {
                    Some(at) => LiveExtensible::open(output, at, &elements)?,
                    None => LiveExtensible::create(output, &elements)?,
                })
            }
            (IndexKind::BtreeV2, Some(at)) => Kind::Tree(LiveTree::open(output, at, &elements, rank)?),
            (IndexKind::BtreeV2, None) => Kind::Tree(LiveTree::create(output, &elements, rank)?),
            (kind, _) => {
                return Err(Error::unsupported(format!(
                    "writing for readers of a dataset whose index is {kind:?}"
                )));
            }
        };
        Ok(Self { kind, elements, numbering: Numbering::new(shape.counts, unlimited) })
    }

    /// Where the index begins.
    pub(crate) fn address(&self) -> Address {
        match &self.kind {
            Kind::Fixed(array) => array.header,
            Kind::Extensible(array) => array.header,
            Kind::Tree(tree) => tree.at,
        }
    }

    /// Says where a chunk is.
    pub(crate) fn set(&mut self, output: &mut Output, scaled: &[u64], stored: Stored) -> Result<()> {
        let width = self.elements.size_width;
        if width > 0 {
            counted(stored.size, width)?;
        }
        let filtered = (width > 0).then_some((stored.size, stored.mask));
        let mut bytes = Vec::new();
        if let Kind::Tree(tree) = &mut self.kind {
            let record = ChunkRecord { address: Some(stored.address), filtered, scaled: scaled.to_vec() };
            record.encode(&mut bytes, SIZES, width)?;
            return tree.set(output, &bytes);
        }
        Element { address: Some(stored.address), filtered }.encode(&mut bytes, SIZES, width)?;
        let number = self.numbering.number(scaled).ok_or_else(beyond)?;
        match &mut self.kind {
            Kind::Fixed(array) => array.set(output, number, &bytes),
            Kind::Extensible(array) => array.set(output, number, &bytes),
            Kind::Tree(_) => Ok(()),
        }
    }

    /// Writes what was changed, the header last.
    pub(crate) fn flush(&mut self, output: &mut Output) -> Result<()> {
        match &mut self.kind {
            Kind::Fixed(array) => array.flush(output),
            Kind::Extensible(array) => array.flush(output),
            Kind::Tree(tree) => tree.flush(output),
        }
    }
}

/// `n` absent elements.
fn repeated(absent: &[u8], n: u64) -> Result<Vec<u8>> {
    let n: usize = fit(n, "elements of a block")?;
    mul(n, absent.len())?;
    Ok(absent.repeat(n))
}

/// The elements of a page.
fn page(output: &mut Output, at: Address, len: usize) -> Result<Vec<u8>> {
    let bytes = output.read(at, add(len, 4)?)?;
    let base = add(output.base(), at.0)?;
    locate("chunk index page", base, &bytes, |i| fixed_array::page(i, len)).map(<[u8]>::to_vec)
}

fn beyond() -> Error {
    Error::usage("chunk", "has a number for which its index has no place")
}
