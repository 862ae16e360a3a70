//! Builds fractal heaps. Objects fill the direct blocks in order, and an object that is too large for a block is stored
//! by itself.

use sciformats_core::arith::{add, fit, increase, present, sub, sum};
use sciformats_core::{Error, Result, bound};

use crate::btree;
use crate::space::output::Output;
use crate::spec::btree_v2::record::HugeObject;
use crate::spec::fractal_heap::block::{BlockPlace, Child, IndirectBlock, direct_prefix, encode_direct};
use crate::spec::fractal_heap::{DoublingTable, FractalHeap, HeapId};
use crate::spec::{Address, Sizes};

/// The two kinds of heaps, with the parameters of the C library.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The links of a group.
    Links,
    /// The attributes of an object.
    Attributes,
}

/// The node size of the B-trees that belong to heaps.
pub(crate) const NODE_SIZE: u32 = 512;

fn empty(kind: Kind) -> FractalHeap {
    let (id_len, max_bits, start) = match kind {
        Kind::Links => (7, 32, 512),
        Kind::Attributes => (8, 40, 1024),
    };
    FractalHeap {
        id_len,
        flags: 2,
        max_managed: 4096,
        next_huge: 1, // keys count from 1
        huge_btree: None,
        free_space: 0,
        free_space_manager: None,
        statistics: [0; 8],
        table: DoublingTable { width: 4, start, max_direct: 65536, max_bits, start_rows: 1 },
        root: None,
        root_rows: 0,
        filters: None,
    }
}

/// Writes a heap of `objects`. Returns the address of its header and the heap ID of each object.
pub(crate) fn build<'a>(
    output: &mut Output,
    kind: Kind,
    objects: impl Iterator<Item = &'a [u8]>,
) -> Result<(Address, Vec<Vec<u8>>)> {
    let mut builder = Builder::new(output, kind)?;
    let mut add = |object| {
        let mut id = Vec::new();
        builder.add(output, object, &mut id).map(|()| id)
    };
    let ids = objects.map(&mut add).collect::<Result<_>>()?;
    Ok((builder.finish(output)?, ids))
}

/// A direct block that is being filled.
struct Open {
    offset: u64,
    size: u64,
    data: Vec<u8>,
}

/// A heap that is being written. Each block is written as soon as it is full.
pub(crate) struct Builder {
    heap: FractalHeap,
    header: Address,
    open: Option<Open>,
    /// The offset in the heap at which the next block starts.
    next: u64,
    /// The offset in the heap and the address of each direct block.
    blocks: Vec<(u64, Address)>,
    /// The records of the huge objects.
    huge: Vec<u8>,
    huge_bytes: u64,
    /// The number of bytes of objects in the blocks.
    used: u64,
}

impl Builder {
    /// Starts a heap.
    pub(crate) fn new(output: &mut Output, kind: Kind) -> Result<Self> {
        let heap = empty(kind);
        let mut bytes = Vec::new();
        heap.encode(&mut bytes, output.sizes)?;
        let header = output.allocate(bytes.len() as u64)?;
        let (blocks, huge) = (Vec::new(), Vec::new());
        Ok(Self { heap, header, open: None, next: 0, blocks, huge, huge_bytes: 0, used: 0 })
    }

    /// Adds an object, and appends its heap ID to `id`.
    pub(crate) fn add(&mut self, output: &mut Output, object: &[u8], id: &mut Vec<u8>) -> Result<()> {
        let len = object.len() as u64;
        if len > self.heap.max_managed.into() {
            return self.add_huge(output, object, id);
        }
        let prefix = direct_prefix(&self.heap, output.sizes) as u64;
        let fits = |open: &Open| bound::sum(bound::sum(prefix, open.data.len() as u64), len) <= open.size;
        if !self.open.as_ref().is_some_and(fits) {
            self.close(output)?;
            self.open_for(add(prefix, len)?)?;
        }
        let open = present(self.open.as_mut(), "open block of a heap")?;
        let offset = sum([open.offset, prefix, open.data.len() as u64])?;
        open.data.extend_from_slice(object);
        increase(&mut self.used, len)?;
        let [_, _, _, count, ..] = &mut self.heap.statistics;
        increase(count, 1)?;
        id.extend(HeapId::Managed { offset, length: len }.encode(&self.heap, output.sizes)?);
        Ok(())
    }

    fn add_huge(&mut self, output: &mut Output, object: &[u8], id: &mut Vec<u8>) -> Result<()> {
        let [.., huge_objects, _, _] = &mut self.heap.statistics;
        increase(huge_objects, 1)?;
        let key = *huge_objects;
        self.heap.next_huge = add(key, 1)?;
        let address = output.put(object)?;
        let stored = object.len() as u64;
        increase(&mut self.huge_bytes, stored)?;
        HugeObject { address, stored, filtered: None, key: Some(key) }
            .encode(&mut self.huge, output.sizes)?;
        id.extend(HeapId::HugeIndirect { key }.encode(&self.heap, output.sizes)?);
        Ok(())
    }

    /// Opens the next block that can hold `len` bytes. Smaller blocks before it are left out.
    fn open_for(&mut self, len: u64) -> Result<()> {
        loop {
            let (_, size) = self.heap.table.direct_block(self.next).ok_or_else(too_large)?;
            let end = self.next.checked_add(size).ok_or_else(too_large)?;
            if end.checked_shr(self.heap.table.max_bits.into()).is_some_and(|over| over > 0) {
                return Err(too_large());
            }
            let offset = std::mem::replace(&mut self.next, end);
            if size >= len {
                self.open = Some(Open { offset, size, data: Vec::new() });
                return Ok(());
            }
        }
    }

    fn close(&mut self, output: &mut Output) -> Result<()> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let mut bytes = Vec::new();
        let size = fit(open.size, "size of a direct block")?;
        let place = BlockPlace { header: self.header, offset: open.offset };
        encode_direct(&mut bytes, &self.heap, output.sizes, place, (&open.data, size))?;
        self.blocks.push((open.offset, output.put(&bytes)?));
        let [_, allocated, ..] = &mut self.heap.statistics;
        increase(allocated, open.size)
    }

    /// Completes the heap, and returns the address of its header.
    pub(crate) fn finish(mut self, output: &mut Output) -> Result<Address> {
        self.close(output)?;
        let table = self.heap.table;
        let prefix = direct_prefix(&self.heap, output.sizes) as u64;
        let (managed, room) = match self.blocks.last() {
            None => (0, 0),
            Some(&(0, address)) => {
                self.heap.root = Some(address);
                (table.start, sub(table.start, prefix)?)
            }
            Some(&(last, _)) => {
                let (row, _, _) = table.locate(last).ok_or_else(too_large)?;
                let most = present(table.most_rows(), "rows of a heap")?;
                let rows = add(row, 1)?.next_power_of_two().min(most);
                self.heap.root = Some(self.indirect(output, rows, 0, &self.blocks)?);
                self.heap.root_rows = fit(rows, "rows of the root block")?;
                let room = table.capacity(rows, prefix).ok_or_else(too_large)?;
                (table.row_offset(rows).ok_or_else(too_large)?, room)
            }
        };
        // The library considers all space used that is not counted here.
        self.heap.free_space = lengths(room.wrapping_sub(self.used), output.sizes);
        let [space, _, iterator, _, huge_bytes, ..] = &mut self.heap.statistics;
        (*space, *iterator, *huge_bytes) = (managed, self.next, self.huge_bytes);
        if !self.huge.is_empty() {
            self.heap.huge_btree =
                Some(btree::build(output, 1, NODE_SIZE, HugeObject::size(output.sizes), &self.huge)?);
        }
        let mut bytes = Vec::new();
        self.heap.encode(&mut bytes, output.sizes)?;
        output.write(self.header, &bytes)?;
        Ok(self.header)
    }

    /// Writes an indirect block of `rows` rows, which starts at the offset `start` of the heap and leads to `blocks`.
    fn indirect(
        &self,
        output: &mut Output,
        rows: u32,
        start: u64,
        blocks: &[(u64, Address)],
    ) -> Result<Address> {
        let table = self.heap.table;
        let mut children = Vec::new();
        let mut rest = blocks;
        let mut offset = start;
        for row in 0..rows {
            let size = table.block_size(row).ok_or_else(too_large)?;
            for _ in 0..table.width {
                let end = offset.checked_add(size).ok_or_else(too_large)?;
                let (below, after) = rest.split_at(rest.partition_point(|&(at, _)| at < end));
                rest = after;
                let address = match below.first() {
                    None => None,
                    Some(&(_, address)) if row < table.direct_rows() => Some(address),
                    Some(_) => {
                        let rows = table.rows(size).ok_or_else(too_large)?;
                        Some(self.indirect(output, rows, offset, below)?)
                    }
                };
                children.push(Child { address, filtered: None });
                offset = end;
            }
        }
        let mut bytes = Vec::new();
        let place = BlockPlace { header: self.header, offset: start };
        IndirectBlock { children }.encode(&mut bytes, &self.heap, output.sizes, place)?;
        output.put(&bytes)
    }
}

/// Returns a count that wraps at the width of lengths.
pub(super) fn lengths(count: u64, sizes: Sizes) -> u64 {
    match sizes.lengths {
        8.. => count,
        width => count & 1u64.unbounded_shl(u32::from(width) * 8).wrapping_sub(1),
    }
}

pub(super) fn too_large() -> Error {
    Error::usage("links or attributes", "need a larger fractal heap than the format allows")
}
