//! The blocks of a fractal heap that is being edited. Blocks that were looked at stay in memory together with their
//! changes.
//!
//! Blocks keep their addresses, and new ones go to fresh space; only a root that needs more rows moves. Of a direct
//! block, only the bytes of new objects and the checksum are written, so that a small object costs little even in a
//! large block.

use std::collections::BTreeMap;
use std::ops::Range;

use sciformats_core::arith::{add, fit, increase, mul, present, sub};
use sciformats_core::fault::{FaultKind, locate};
use sciformats_core::{Error, Result};

use crate::heap::fractal::build::{lengths, too_large};
use crate::space::context::Context;
use crate::space::output::Output;
use crate::space::pending::Use;
use crate::spec::Address;
use crate::spec::fractal_heap::FractalHeap;
use crate::spec::fractal_heap::block::{
    BlockPlace, Child, IndirectBlock, check_direct, direct_prefix, encode_direct, seal_direct,
};

const HEADER: &str = "fractal heap header";
const DIRECT: &str = "fractal heap direct block";
const INDIRECT: &str = "fractal heap indirect block";

/// The largest block that new objects go to, if they fit. The checksum covers the whole block, so each new object in a
/// larger block would require reading all of it. Other writers may have made larger blocks; single objects in them are
/// read without the rest and without verifying the checksum. This is safe for looking up a name, because a wrong name
/// does not have the hash that is stored in the B-tree.
pub(super) const LARGEST: u64 = 8 << 10;

/// The blocks.
pub(super) struct Blocks<'c> {
    context: &'c Context,
    /// The address of the heap's header.
    at: Address,
    pub(super) header: FractalHeap,
    /// The direct blocks by the offset of their first byte in the heap.
    direct: BTreeMap<u64, Direct>,
    /// The indirect blocks by the offset of their first byte in the heap. The root is at 0, and no other indirect block
    /// starts at the same offset as its parent.
    indirect: BTreeMap<u64, Indirect>,
}

struct Direct {
    address: Address,
    bytes: Vec<u8>,
    /// The parts that differ from the file.
    changed: Vec<Range<usize>>,
    /// Whether the block is not in the file yet.
    new: bool,
}

struct Indirect {
    address: Address,
    rows: u32,
    block: IndirectBlock,
    changed: bool,
}

impl<'c> Blocks<'c> {
    pub(super) fn new(context: &'c Context, at: Address, header: FractalHeap) -> Self {
        Self { context, at, header, direct: BTreeMap::new(), indirect: BTreeMap::new() }
    }

    /// Returns the number of bytes before the objects of a direct block.
    pub(super) fn prefix(&self) -> u64 {
        direct_prefix(&self.header, self.context.sizes) as u64
    }

    pub(super) fn broken(&self, rule: &'static str) -> Error {
        self.context.fault(HEADER, self.at, FaultKind::Rule(rule))
    }

    fn outside(&self) -> Error {
        self.broken("does not hold the object that a heap ID refers to")
    }

    /// Returns the start and the size of the block that contains bytes of the heap. The bytes must lie after the prefix
    /// of the block.
    pub(super) fn block_of(&self, offset: u64, len: u64) -> Result<(u64, u64)> {
        let (start, size) = self.header.table.direct_block(offset).ok_or_else(|| self.outside())?;
        let first = add(start, self.prefix())?;
        let end = start.checked_add(size).zip(offset.checked_add(len));
        match end.filter(|(block, object)| object <= block && offset >= first) {
            Some(_) => Ok((start, size)),
            None => Err(self.outside()),
        }
    }

    /// Returns the absolute offset and the bytes of an object.
    pub(super) fn read(&mut self, offset: u64, len: u64) -> Result<(u64, Vec<u8>)> {
        let (start, size) = self.block_of(offset, len)?;
        let within = sub(offset, start)?;
        if !self.direct.contains_key(&start) {
            let address = self.find(start, size)?.ok_or_else(|| self.outside())?;
            let known = self.context.verified.read().is_ok_and(|verified| verified.contains(&address));
            if known || size > LARGEST {
                let place = Address(add(address.0, within)?);
                return Ok((self.context.offset(place), self.context.read(DIRECT, place, len)?.into_owned()));
            }
            self.load(start, size, address)?;
        }
        let block = present(self.direct.get(&start), "direct block of a heap")?;
        let (from, len): (usize, usize) =
            (fit(within, "place of an object")?, fit(len, "length of an object")?);
        let bytes = present(block.bytes.get(from..add(from, len)?), "object of a heap")?;
        Ok((self.context.offset(Address(add(block.address.0, within)?)), bytes.to_vec()))
    }

    /// Loads the whole block that starts at `start`. Returns `false` if there is no such block.
    pub(super) fn have(&mut self, start: u64, size: u64) -> Result<bool> {
        if self.direct.contains_key(&start) {
            return Ok(true);
        }
        match self.find(start, size)? {
            Some(address) => self.load(start, size, address).map(|()| true),
            None => Ok(false),
        }
    }

    fn load(&mut self, start: u64, size: u64, address: Address) -> Result<()> {
        let (context, header) = (self.context, &self.header);
        let bytes = context.read(DIRECT, address, size)?.into_owned();
        locate(DIRECT, context.offset(address), &bytes, |i| check_direct(i, header, context.sizes))?;
        if let Ok(mut verified) = context.verified.write() {
            verified.insert(address);
        }
        self.direct.insert(start, Direct { address, bytes, changed: Vec::new(), new: false });
        Ok(())
    }

    /// Returns the address of the direct block that starts at `start`, or `None` if there is no such block.
    fn find(&mut self, start: u64, size: u64) -> Result<Option<Address>> {
        let Some(root) = self.header.root else { return Ok(None) };
        if self.header.root_rows == 0 {
            return Ok(Some(root).filter(|_| start == 0 && size == self.header.table.start));
        }
        let Some((above, number)) = self.above(start, None)? else { return Ok(None) };
        Ok(self.children(above)?.get(number).and_then(|child| child.address))
    }

    fn children(&mut self, above: u64) -> Result<&mut Vec<Child>> {
        Ok(&mut present(self.indirect.get_mut(&above), "indirect block of a heap")?.block.children)
    }

    /// Returns the indirect block above the direct block that starts at `start`, and the number of the direct block in
    /// it. If there is an `output`, missing blocks on the path are created.
    fn above(&mut self, start: u64, mut output: Option<&mut Output>) -> Result<Option<(u64, usize)>> {
        let table = self.header.table;
        let (mut at, mut left) = (0u64, start);
        let mut rows = u32::from(self.header.root_rows);
        let mut address = self.header.root;
        loop {
            self.have_indirect(at, rows, present(address, "indirect block of a heap")?)?;
            let (row, column, before) = table.locate(left).ok_or_else(|| self.outside())?;
            if row >= rows {
                return Ok(None);
            }
            let number = add(mul(u64::from(row), table.width.into())?, column)?;
            let number = fit(number, "number of a heap block")?;
            if row < table.direct_rows() {
                return Ok(Some((at, number)));
            }
            let size = table.block_size(row).ok_or_else(|| self.outside())?;
            let child_rows = table.rows(size).ok_or_else(|| self.outside())?;
            let below = add(at, before)?;
            let child = self.children(at)?.get(number).and_then(|child| child.address);
            address = match (child, &mut output) {
                (Some(child), _) => Some(child),
                (None, None) => return Ok(None),
                (None, Some(output)) => {
                    let new = self.new_indirect(output, below, child_rows, Vec::new())?;
                    self.set_child(at, number, new)?;
                    Some(new)
                }
            };
            (at, rows, left) = (below, child_rows, sub(left, before)?);
        }
    }

    fn have_indirect(&mut self, at: u64, rows: u32, address: Address) -> Result<()> {
        if self.indirect.contains_key(&at) {
            return Ok(());
        }
        let (header, sizes) = (&self.header, self.context.sizes);
        let len = IndirectBlock::size(header, sizes, rows);
        let bytes = self.context.read(INDIRECT, address, len)?;
        let block = locate(INDIRECT, self.context.offset(address), &bytes, |i| {
            IndirectBlock::parse(i, header, sizes, rows)
        })?;
        self.indirect.insert(at, Indirect { address, rows, block, changed: false });
        Ok(())
    }

    fn new_indirect(
        &mut self,
        output: &mut Output,
        at: u64,
        rows: u32,
        mut children: Vec<Child>,
    ) -> Result<Address> {
        let len = IndirectBlock::size(&self.header, self.context.sizes, rows);
        let address = output.allocate(len)?;
        let all = mul(u64::from(rows), self.header.table.width.into())?;
        children.resize(fit(all, "children of a heap block")?, Child { address: None, filtered: None });
        self.indirect
            .insert(at, Indirect { address, rows, block: IndirectBlock { children }, changed: true });
        Ok(address)
    }

    fn set_child(&mut self, above: u64, number: usize, address: Address) -> Result<()> {
        let above = present(self.indirect.get_mut(&above), "indirect block of a heap")?;
        above.changed = true;
        present(above.block.children.get_mut(number), "child of a heap block")?.address = Some(address);
        Ok(())
    }

    /// Creates a direct block with room for an object of `len` bytes. Returns the offset of its first free byte and the
    /// number of free bytes.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the heap has its maximum size, and the errors of the output.
    pub(super) fn add_direct(&mut self, output: &mut Output, len: u64) -> Result<(u64, u64)> {
        let (table, prefix) = (self.header.table, self.prefix());
        let need = add(len, prefix)?;
        if self.header.root.is_none() && need <= table.start {
            let address = self.new_direct(output, 0, table.start)?;
            self.header.root = Some(address);
            let [space, ..] = &mut self.header.statistics;
            *space = table.start;
            self.more_room(sub(table.start, prefix)?);
            return Ok((prefix, sub(table.start, prefix)?));
        }
        let [_, _, iterator, ..] = self.header.statistics;
        let mut next = iterator;
        if self.header.root_rows == 0 {
            next = if self.header.root.is_some() { table.start } else { 0 };
        }
        let largest = need.checked_next_power_of_two().ok_or_else(too_large)?.max(LARGEST).max(table.start);
        loop {
            let (start, size) = table.direct_block(next).ok_or_else(too_large)?;
            next = start.checked_add(size).ok_or_else(too_large)?;
            if size < need || size > largest {
                continue;
            }
            self.have_rows(output, next)?;
            let Some((above, number)) = self.above(start, Some(output))? else { continue };
            // The header of another writer may count differently, so the block may exist already.
            if self.children(above)?.get(number).is_some_and(|child| child.address.is_some()) {
                continue;
            }
            let address = self.new_direct(output, start, size)?;
            self.set_child(above, number, address)?;
            return Ok((add(start, prefix)?, sub(size, prefix)?));
        }
    }

    fn new_direct(&mut self, output: &mut Output, start: u64, size: u64) -> Result<Address> {
        let address = output.allocate(size)?;
        let mut bytes = Vec::new();
        let place = BlockPlace { header: self.at, offset: start };
        let len = fit(size, "size of a direct block")?;
        encode_direct(&mut bytes, &self.header, self.context.sizes, place, (&[], len))?;
        self.direct.insert(start, Direct { address, bytes, changed: Vec::new(), new: true });
        let [_, allocated, iterator, ..] = &mut self.header.statistics;
        increase(allocated, size)?;
        *iterator = add(start, size)?;
        Ok(address)
    }

    fn more_room(&mut self, bytes: u64) {
        self.header.free_space = lengths(self.header.free_space.wrapping_add(bytes), self.context.sizes);
    }

    /// Adds to the number of bytes that objects take, or subtracts from it.
    pub(super) fn used(&mut self, bytes: u64) {
        self.header.free_space = lengths(self.header.free_space.wrapping_sub(bytes), self.context.sizes);
    }

    pub(super) fn unused(&mut self, bytes: u64) {
        self.more_room(bytes);
    }

    /// Returns the number of bytes of objects in direct blocks, as far as the header is right.
    pub(super) fn in_use(&self) -> Option<u64> {
        let (table, prefix) = (self.header.table, self.prefix());
        let room = match self.header.root_rows {
            0 => table.start.checked_sub(prefix)?,
            rows => table.capacity(rows.into(), prefix)?,
        };
        Some(lengths(room.wrapping_sub(self.header.free_space), self.context.sizes))
    }

    /// Adds rows to the root until the heap extends to `end`. If the root is a direct block, it becomes the first child
    /// of an indirect block.
    fn have_rows(&mut self, output: &mut Output, end: u64) -> Result<()> {
        let (table, prefix) = (self.header.table, self.prefix());
        let rows = u32::from(self.header.root_rows);
        let reach = |rows: u32| table.row_offset(rows).ok_or_else(too_large);
        if rows > 0 && reach(rows)? >= end {
            return Ok(());
        }
        let most = table.most_rows().ok_or_else(too_large)?;
        let mut more = mul(rows, 2)?.max(table.start_rows.into()).clamp(1, most.max(1));
        while reach(more)? < end {
            increase(&mut more, 1)?;
        }
        if more > most {
            return Err(too_large());
        }
        let room = |rows| table.capacity(rows, prefix).ok_or_else(too_large);
        let (children, before) = match (self.header.root, rows) {
            (None, _) => (Vec::new(), 0),
            (Some(root), 0) => {
                (vec![Child { address: Some(root), filtered: None }], sub(table.start, prefix)?)
            }
            (Some(root), rows) => {
                self.have_indirect(0, rows, root)?;
                let old = present(self.indirect.remove(&0), "root of a heap")?;
                let len = IndirectBlock::size(&self.header, self.context.sizes, old.rows);
                output.free(old.address, len, Use::Metadata)?;
                (old.block.children, room(rows)?)
            }
        };
        let root = self.new_indirect(output, 0, more, children)?;
        self.header.root = Some(root);
        self.header.root_rows = fit(more, "rows of the root block")?;
        let [space, ..] = &mut self.header.statistics;
        *space = lengths(reach(more)?, self.context.sizes);
        self.more_room(room(more)?.wrapping_sub(before));
        Ok(())
    }

    /// Writes an object into a block in memory.
    pub(super) fn put(&mut self, offset: u64, object: &[u8]) -> Result<()> {
        let (start, _) = self.block_of(offset, object.len() as u64)?;
        let block = present(self.direct.get_mut(&start), "direct block of a heap")?;
        let from: usize = fit(sub(offset, start)?, "place of an object")?;
        let range = from..add(from, object.len())?;
        present(block.bytes.get_mut(range.clone()), "room of an object")?.copy_from_slice(object);
        block.changed.push(range);
        Ok(())
    }

    /// Writes what has changed.
    ///
    /// # Errors
    /// Returns the errors of the output.
    pub(super) fn write(&mut self, output: &mut Output) -> Result<()> {
        let prefix = direct_prefix(&self.header, self.context.sizes);
        for block in self.direct.values_mut() {
            let changed = std::mem::take(&mut block.changed);
            if changed.is_empty() && !block.new {
                continue;
            }
            let seal = seal_direct(&mut block.bytes, prefix)?;
            if std::mem::take(&mut block.new) {
                output.write(block.address, &block.bytes)?;
                continue;
            }
            for part in std::iter::once(seal).chain(changed) {
                let at = Address(add(block.address.0, part.start as u64)?);
                output.write_part(at, present(block.bytes.get(part), "part of a direct block")?)?;
            }
        }
        for (&offset, block) in &mut self.indirect {
            if std::mem::take(&mut block.changed) {
                let mut bytes = Vec::new();
                let place = BlockPlace { header: self.at, offset };
                block.block.encode(&mut bytes, &self.header, output.sizes, place)?;
                output.write(block.address, &bytes)?;
            }
        }
        Ok(())
    }
}
