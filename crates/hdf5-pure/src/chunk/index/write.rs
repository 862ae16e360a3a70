//! Changes chunk indexes in place. Changing one chunk costs what lies between it and the root, however many chunks
//! there are.
//!
//! | index | what a change writes | used by |
//! |---|---|---|
//! | fixed array | an element and the checksum of its page | editors and SWMR writers |
//! | extensible array | the same, and new blocks as the array grows | editors and SWMR writers |
//! | version 2 B-tree | the nodes on the path to the record, to fresh space, and the header | editors and SWMR writers |
//! | version 1 B-tree | changed bytes of the nodes on the path to the chunk, and new nodes where nodes are split | editors |
//!
//! An editor commits everything at once. A SWMR writer has readers at any moment, so a structure is written after
//! everything that it leads to: elements before the blocks that mark their pages as used, and blocks before the header.
//! A block may be half written when it is read; it ends in a checksum, and a reader that finds a wrong checksum reads
//! it again. Space that readers could reach is not reused.

use sciformats_core::arith::{add, fit, mul};
use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Error, Result};

use crate::chunk::index::btree1::write::{Btree1Writer, Shape as Btree1Shape};
use crate::chunk::index::btree2::write::Btree2Writer;
use crate::chunk::index::build::{Stored, counted};
use crate::chunk::index::extensible::write::ExtensibleWriter;
use crate::chunk::index::fixed::write::FixedWriter;
use crate::chunk::index::numbering::Numbering;
use crate::space::output::Output;
use crate::spec::btree_v2::record::ChunkRecord;
use crate::spec::fixed_array::{self, Element};
use crate::spec::message::layout::IndexKind;
use crate::spec::{Address, Sizes};

/// The largest number of elements of a new array that has space for each.
pub(crate) const MOST_ELEMENTS: u64 = 1 << 32;
/// An index is not changed in place if its pages have more than two to this power of elements, or if its super blocks
/// or nodes have more than `MOST_BYTES` bytes.
pub(crate) const MOST_PAGE_BITS: u8 = 20;
pub(crate) const MOST_BYTES: u64 = 64 << 20;

/// How the elements of an index are stored.
pub(crate) struct Elements {
    pub(crate) sizes: Sizes,
    /// The client ID, which is 1 for filtered chunks.
    pub(crate) client: u8,
    /// The width of a stored size, or 0 without filters.
    pub(crate) size_width: usize,
    /// The bytes of an element without a chunk.
    pub(crate) absent: Vec<u8>,
    /// The number of bytes of a chunk that is not filtered.
    chunk: u64,
}

impl Elements {
    /// Returns the form of elements for chunks of `chunk` bytes, whose stored sizes are `size_width` bytes wide.
    pub(crate) fn new(sizes: Sizes, size_width: usize, chunk: u64) -> Result<Self> {
        let mut absent = Vec::new();
        Element { address: None, filtered: None }.encode(&mut absent, sizes, size_width)?;
        Ok(Self { sizes, client: u8::from(size_width > 0), size_width, absent, chunk })
    }

    pub(crate) fn check(&self, structure: &'static str, offset: u64, client: u8, size: u8) -> Result<()> {
        if client == self.client && usize::from(size) == self.absent.len() {
            return Ok(());
        }
        Err(self.mismatch(structure, offset, self.absent.len() as u64, size.into()))
    }

    pub(crate) fn mismatch(&self, structure: &'static str, offset: u64, expected: u64, found: u64) -> Error {
        Fault::new("element size", FaultKind::Mismatch { expected, found }).at(structure, offset)
    }

    /// Returns what an index stores about a chunk beside its address.
    fn filtered(&self, stored: Stored) -> Result<Option<(u64, u32)>> {
        if self.size_width == 0 {
            return Ok(None);
        }
        counted(stored.size, self.size_width)?;
        Ok(Some((stored.size, stored.listed())))
    }

    /// Returns the chunk of an element or a record, if it leads to one.
    fn stored(&self, address: Option<Address>, filtered: Option<(u64, u32)>) -> Option<Stored> {
        let (size, mask) = filtered.unwrap_or((self.chunk, 0));
        address.map(|address| Stored { address, size, mask: Some(mask), live: true })
    }

    /// Returns the chunk of an encoded element.
    fn parse(&self, element: &[u8], header: Address) -> Result<Option<Stored>> {
        let parse = |i| Element::parse(i, self.sizes, self.size_width);
        let found = locate("chunk index element", header.0, element, parse)?;
        Ok(self.stored(found.address, found.filtered))
    }
}

/// The index of a dataset, which can be changed and [flushed](Self::flush).
pub(crate) struct IndexWriter {
    kind: Kind,
    elements: Elements,
    numbering: Numbering,
}

enum Kind {
    Fixed(FixedWriter),
    Extensible(ExtensibleWriter),
    Btree1(Btree1Writer),
    Btree2(Btree2Writer),
}

/// What an index needs to know about its dataset.
pub(crate) struct Shape<'a> {
    /// The number of elements of a chunk along each dimension.
    pub(crate) chunk: &'a [u64],
    /// The number of chunks along each dimension of the maximum shape.
    pub(crate) counts: &'a [u64],
    /// The dimension without a maximum, if there is one.
    pub(crate) unlimited: Option<usize>,
    /// Half the children of a node of a version 1 B-tree.
    pub(crate) k: u16,
}

impl IndexWriter {
    /// Opens the index at `at`, or creates a new one. Returns `None` if it has parameters with which it cannot be
    /// changed in place.
    ///
    /// # Errors
    /// Returns `Malformed` if the first structure of the index is damaged, and `Unsupported` for a kind of index
    /// without structures of its own.
    pub(crate) fn open(
        output: &mut Output,
        (kind, at): (IndexKind, Option<Address>),
        elements: Elements,
        shape: &Shape<'_>,
    ) -> Result<Option<Self>> {
        let rank = shape.counts.len();
        let mut unlimited = None;
        let kind = match (kind, at) {
            (IndexKind::FixedArray, Some(at)) => FixedWriter::open(output, at, &elements)?.map(Kind::Fixed),
            (IndexKind::FixedArray, None) => {
                let total = shape.counts.iter().try_fold(1u64, |product, &n| product.checked_mul(n));
                let total = total.filter(|&total| total <= MOST_ELEMENTS).ok_or_else(beyond)?;
                Some(Kind::Fixed(FixedWriter::create(output, total, &elements)?))
            }
            (IndexKind::ExtensibleArray, at) => {
                unlimited = shape.unlimited;
                let array = match at {
                    Some(at) => ExtensibleWriter::open(output, at, &elements)?,
                    None => Some(ExtensibleWriter::create(output, &elements)?),
                };
                array.map(Kind::Extensible)
            }
            (IndexKind::BtreeV1, Some(at)) => {
                let Shape { chunk, k, .. } = *shape;
                let shape = Btree1Shape { sizes: elements.sizes, chunk: chunk.to_vec(), k };
                Some(Kind::Btree1(Btree1Writer::new(at, shape)))
            }
            (IndexKind::BtreeV2, Some(at)) => {
                Btree2Writer::open(output, at, &elements, rank)?.map(Kind::Btree2)
            }
            (IndexKind::BtreeV2, None) => Some(Kind::Btree2(Btree2Writer::create(output, &elements, rank)?)),
            (kind, _) => {
                return Err(Error::unsupported(format!(
                    "changing a chunk index of the kind {kind:?} in place"
                )));
            }
        };
        let numbering = Numbering::new(shape.counts, unlimited);
        Ok(kind.map(|kind| Self { kind, elements, numbering }))
    }

    /// Returns the address of the index.
    pub(crate) fn address(&self) -> Address {
        match &self.kind {
            Kind::Fixed(array) => array.header,
            Kind::Extensible(array) => array.header,
            Kind::Btree1(tree) => tree.root,
            Kind::Btree2(tree) => tree.at,
        }
    }

    /// Returns whether it has no place for any chunk yet, so that another kind of index can be created instead.
    pub(crate) fn is_blank(&self) -> bool {
        matches!(&self.kind, Kind::Fixed(array) if array.is_blank())
    }

    /// Returns where a chunk is stored, if it is. The structures that lead to it stay in memory.
    pub(crate) fn find(&mut self, output: &mut Output, scaled: &[u64]) -> Result<Option<Stored>> {
        let element = match &mut self.kind {
            Kind::Btree1(tree) => return tree.get(output, scaled),
            Kind::Btree2(tree) => {
                let record = tree.get(output, scaled)?;
                return self.of_record(record);
            }
            Kind::Fixed(array) => {
                let number = self.numbering.number(scaled).ok_or_else(beyond)?;
                array.get(output, number)?
            }
            Kind::Extensible(array) => {
                let number = self.numbering.number(scaled).ok_or_else(beyond)?;
                array.get(output, number)?
            }
        };
        let header = self.address();
        element.map_or(Ok(None), |element| self.elements.parse(&element, header))
    }

    /// Sets where a chunk is stored. Returns its old place, if it had one.
    pub(crate) fn insert(
        &mut self,
        output: &mut Output,
        scaled: &[u64],
        stored: Stored,
    ) -> Result<Option<Stored>> {
        if let Kind::Btree1(tree) = &mut self.kind {
            return tree.insert(output, scaled, stored);
        }
        let (address, filtered) = (Some(stored.address), self.elements.filtered(stored)?);
        let Elements { sizes, size_width: width, .. } = self.elements;
        let mut bytes = Vec::new();
        match &mut self.kind {
            Kind::Btree2(tree) => {
                let record = ChunkRecord { address, filtered, scaled: scaled.to_vec() };
                record.encode(&mut bytes, sizes, width)?;
                let before = tree.insert(output, &bytes)?;
                return self.of_record(before);
            }
            _ => Element { address, filtered }.encode(&mut bytes, sizes, width)?,
        }
        self.set(output, scaled, Some(&bytes))
    }

    /// Removes a chunk. Returns its place, if it had one.
    pub(crate) fn remove(&mut self, output: &mut Output, scaled: &[u64]) -> Result<Option<Stored>> {
        match &mut self.kind {
            Kind::Btree1(tree) => tree.remove(output, scaled),
            Kind::Btree2(tree) => {
                let before = tree.remove(output, scaled)?;
                self.of_record(before)
            }
            Kind::Fixed(_) | Kind::Extensible(_) => self.set(output, scaled, None),
        }
    }

    /// Replaces the element of an array. Without an `element`, it stores that there is no chunk.
    fn set(&mut self, output: &mut Output, scaled: &[u64], element: Option<&[u8]>) -> Result<Option<Stored>> {
        let number = self.numbering.number(scaled).ok_or_else(beyond)?;
        let before = match &mut self.kind {
            Kind::Fixed(array) => array.replace(output, number, element)?,
            Kind::Extensible(array) => array.replace(output, number, element)?,
            Kind::Btree1(_) | Kind::Btree2(_) => None,
        };
        let header = self.address();
        before.map_or(Ok(None), |before| self.elements.parse(&before, header))
    }

    /// Returns the chunk of an encoded record.
    fn of_record(&self, record: Option<Vec<u8>>) -> Result<Option<Stored>> {
        let Some(record) = record else { return Ok(None) };
        let Elements { sizes, size_width, .. } = self.elements;
        let rank = self.numbering.rank();
        let parse = |i| ChunkRecord::parse(i, sizes, size_width, rank);
        let found = locate("chunk record", self.address().0, &record, parse)?;
        Ok(self.elements.stored(found.address, found.filtered))
    }

    /// Writes what was changed, the header last.
    pub(crate) fn flush(&mut self, output: &mut Output) -> Result<()> {
        match &mut self.kind {
            Kind::Fixed(array) => array.flush(output),
            Kind::Extensible(array) => array.flush(output),
            Kind::Btree1(tree) => tree.flush(output),
            Kind::Btree2(tree) => tree.flush(output),
        }
    }
}

/// Returns `n` elements without a chunk.
pub(crate) fn repeated(absent: &[u8], n: u64) -> Result<Vec<u8>> {
    let n: usize = fit(n, "elements of a block")?;
    mul(n, absent.len())?;
    Ok(absent.repeat(n))
}

/// Reads a page of `len` bytes of elements, its checksum included.
pub(crate) fn page(output: &mut Output, at: Address, len: usize) -> Result<Vec<u8>> {
    const PAGE: &str = "chunk index page";
    let bytes = output.read_stored(PAGE, at, add(len, 4)? as u64)?;
    let base = add(output.base(), at.0)?;
    locate(PAGE, base, &bytes, |i| fixed_array::page(i, len))?;
    Ok(bytes)
}

pub(crate) fn beyond() -> Error {
    Error::usage("chunk", "lies outside the range that its chunk index can hold")
}
