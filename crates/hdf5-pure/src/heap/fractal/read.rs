//! Reads objects of a fractal heap by their heap IDs.

use std::borrow::Cow;
use std::ops::ControlFlow;

use sciformats_core::fault::{FaultKind, locate};
use sciformats_core::{Result, bound};

use crate::btree::Tree;
use crate::space::context::{AddressMap, Context};
use crate::spec::Address;
use crate::spec::btree_v2::record::HugeObject;
use crate::spec::fractal_heap::block::{Child, IndirectBlock, check_direct};
use crate::spec::fractal_heap::{FractalHeap, HeapId};

const HEADER: &str = "fractal heap header";
const DIRECT: &str = "fractal heap direct block";
const INDIRECT: &str = "fractal heap indirect block";

/// A fractal heap, and those of its blocks that were read.
pub(crate) struct Heap<'a> {
    context: &'a Context,
    address: Address,
    header: FractalHeap,
    /// The number of bytes of objects that may still be returned. Objects do not overlap, so together they cannot have
    /// more bytes than the file.
    left: u64,
    direct: AddressMap<Cow<'a, [u8]>>,
    /// The root if it is an indirect block, because it is on the path to every object.
    top: Option<IndirectBlock>,
    indirect: AddressMap<IndirectBlock>,
}

impl<'a> Heap<'a> {
    pub(crate) fn open(context: &'a Context, address: Address) -> Result<Self> {
        let start = context.read_some(HEADER, address, FractalHeap::MAX_SIZE)?;
        let base = context.offset(address);
        let size = locate(HEADER, base, &start, |i| FractalHeap::size(i, context.sizes))?;
        let header = context.parse(HEADER, address, size as u64, |i| FractalHeap::parse(i, context.sizes))?;
        // Filters can unfold blocks to more bytes than the file has, so the memory limit applies.
        let left = if header.filters.is_some() { context.limits.memory } else { context.storage.size() };
        Ok(Self {
            context,
            address,
            header,
            left,
            direct: AddressMap::default(),
            top: None,
            indirect: AddressMap::default(),
        })
    }

    /// Returns the absolute offset and the bytes of the object with the heap ID `id`. The bytes are borrowed from
    /// blocks if these were read before.
    pub(crate) fn get(&mut self, id: &[u8]) -> Result<(u64, Cow<'_, [u8]>)> {
        let base = self.context.offset(self.address);
        let id = locate("fractal heap ID", base, id, |i| HeapId::parse(i, &self.header, self.context.sizes))?;
        let (offset, bytes) = match id {
            HeapId::Managed { offset, length } => return self.managed(offset, length),
            HeapId::Tiny(bytes) => (base, Cow::Owned(bytes)),
            HeapId::Huge { address, stored, filtered } => self.huge(address, stored, filtered)?,
            HeapId::HugeIndirect { key } => {
                let object = self.find_huge(key)?;
                self.huge(object.address, object.stored, object.filtered)?
            }
        };
        self.give(bytes.len() as u64)?;
        Ok((offset, bytes))
    }

    /// Counts bytes that are returned.
    fn give(&mut self, bytes: u64) -> Result<()> {
        let kind = FaultKind::Rule(
            "is asked for more bytes of objects than it holds: heap IDs refer to the same object many times",
        );
        let left = self.left.checked_sub(bytes);
        self.left = left.ok_or_else(|| self.context.fault(HEADER, self.address, kind))?;
        Ok(())
    }

    fn out_of_bounds(&self) -> sciformats_core::Error {
        self.context.fault(
            HEADER,
            self.address,
            FaultKind::Rule("does not hold the object that a heap ID refers to"),
        )
    }

    fn managed(&mut self, offset: u64, length: u64) -> Result<(u64, Cow<'_, [u8]>)> {
        let (block, within) = self.find_block(offset)?;
        self.give(length)?;
        let range = usize::try_from(within)
            .ok()
            .zip(within.checked_add(length).and_then(|end| usize::try_from(end).ok()));
        let bytes = self.direct.get(&block).zip(range).and_then(|(bytes, (from, to))| bytes.get(from..to));
        match bytes {
            Some(bytes) => Ok((bound::sum(self.context.offset(block), within), Cow::Borrowed(bytes))),
            None => Err(self.out_of_bounds()),
        }
    }

    /// Reads the direct block that contains byte `offset` of the heap. Returns its address and the offset in it.
    fn find_block(&mut self, offset: u64) -> Result<(Address, u64)> {
        let table = self.header.table;
        let root = self.header.root.ok_or_else(|| self.out_of_bounds())?;
        if self.header.root_rows == 0 {
            let filtered = self.header.filters.as_ref().map(|filters| (filters.root_size, filters.root_mask));
            self.load_direct(Child { address: Some(root), filtered }, table.start)?;
            return Ok((root, offset));
        }
        let (mut at, mut rows, mut left) = (root, u32::from(self.header.root_rows), offset);
        for _ in 0..64 {
            let (row, column, before) = table.locate(left).ok_or_else(|| self.out_of_bounds())?;
            let size = table.block_size(row).ok_or_else(|| self.out_of_bounds())?;
            let number = bound::sum(bound::product(u64::from(row), table.width.into()), column);
            let child = self.indirect(at, rows)?.children.get(bound::addressable(number)).copied();
            let child = child.filter(|_| row < rows).ok_or_else(|| self.out_of_bounds())?;
            let address = child.address.ok_or_else(|| self.out_of_bounds())?;
            left = bound::left(left, before);
            if row < table.direct_rows() {
                self.load_direct(child, size)?;
                return Ok((address, left));
            }
            rows = table.rows(size).ok_or_else(|| self.out_of_bounds())?;
            at = address;
        }
        Err(self.out_of_bounds())
    }

    fn indirect(&mut self, at: Address, rows: u32) -> Result<&IndirectBlock> {
        let lost = |context: &Context| context.fault(INDIRECT, at, FaultKind::Truncated);
        if self.header.root == Some(at) {
            if self.top.is_none() {
                self.top = Some(self.load_indirect(at, rows)?);
            }
            return self.top.as_ref().ok_or_else(|| lost(self.context));
        }
        if !self.indirect.contains_key(&at) {
            let block = self.load_indirect(at, rows)?;
            self.indirect.insert(at, block);
        }
        self.indirect.get(&at).ok_or_else(|| lost(self.context))
    }

    fn load_indirect(&self, at: Address, rows: u32) -> Result<IndirectBlock> {
        let sizes = self.context.sizes;
        let len = IndirectBlock::size(&self.header, sizes, rows);
        self.context.parse(INDIRECT, at, len, |i| IndirectBlock::parse(i, &self.header, sizes, rows))
    }

    fn load_direct(&mut self, child: Child, size: u64) -> Result<()> {
        let Some(at) = child.address.filter(|at| !self.direct.contains_key(at)) else { return Ok(()) };
        let known = || self.context.verified.read().is_ok_and(|verified| verified.contains(&at));
        let bytes = match (&self.header.filters, child.filtered) {
            (Some(filters), Some((stored, mask))) => {
                let len = self.context.limits.memory("bytes of a heap block", size)?;
                let bytes = self.context.read(DIRECT, at, stored)?;
                self.context.unfilter(&filters.pipeline, mask, at, bytes, len)?
            }
            _ => self.context.read(DIRECT, at, size)?,
        };
        if !known() {
            let check = |i| check_direct(i, &self.header, self.context.sizes);
            locate(DIRECT, self.context.offset(at), &bytes, check)?;
            if let Ok(mut verified) = self.context.verified.write() {
                verified.insert(at);
            }
        }
        self.direct.insert(at, bytes);
        Ok(())
    }

    fn find_huge(&self, key: u64) -> Result<HugeObject> {
        let tree = self.header.huge_btree.ok_or_else(|| self.out_of_bounds())?;
        let tree = Tree::open(self.context, tree, &[1, 2])?;
        let parse = |record: &[u8]| {
            locate("huge object record", self.context.offset(self.address), record, |i| {
                HugeObject::parse(i, self.context.sizes, tree.kind())
            })
        };
        let mut found = None;
        tree.search(
            |record| Ok(parse(record)?.key.cmp(&Some(key))),
            |record| {
                found = Some(parse(record)?);
                Ok(ControlFlow::Break(()))
            },
        )?;
        found.ok_or_else(|| self.out_of_bounds())
    }

    fn huge(&self, at: Address, stored: u64, filtered: Option<(u32, u64)>) -> Result<(u64, Cow<'a, [u8]>)> {
        let bytes = self.context.read("huge fractal heap object", at, stored)?;
        let offset = self.context.offset(at);
        match (&self.header.filters, filtered) {
            (Some(filters), Some((mask, size))) => {
                let len = self.context.limits.memory("bytes of a heap object", size)?;
                let bytes = self.context.unfilter(&filters.pipeline, mask, at, bytes, len)?;
                Ok((offset, bytes))
            }
            _ => Ok((offset, bytes)),
        }
    }
}
