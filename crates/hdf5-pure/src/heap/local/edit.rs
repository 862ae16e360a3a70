//! Local heaps whose names are added and removed one by one.
//!
//! A name goes to a free block of the data segment, and the bytes of a removed name become a free block. If no block
//! has room, the data move to a segment of twice the size, so that each byte is copied only a few times, however many
//! names follow. The free blocks form a linked list. Only its first blocks are examined, and a large block is kept at
//! its head.

use sciformats_core::arith::{add, fit, mul, sub, sum};
use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::{Error, Result};

use crate::heap::local::{self, HEAP};
use crate::space::context::Context;
use crate::space::output::Output;
use crate::space::pending::Use;
use crate::spec::local_heap::{FreeBlock, LocalHeap};
use crate::spec::{Address, pad8, put_padded_name};

/// The number of free blocks that are examined for a name.
const TRIED: usize = 64;
/// The number of bytes that are copied at a time.
const PIECE: u64 = 64 << 10;
/// The number of bytes that are read first for a name. Most names are shorter.
const USUAL_NAME: u64 = 64;

/// The names of an old-style group that is being edited. What is written can be read again at once.
pub(crate) struct EditedNames<'c> {
    context: &'c Context,
    at: Address,
    heap: LocalHeap,
}

impl<'c> EditedNames<'c> {
    /// Opens the heap at `at`.
    ///
    /// # Errors
    /// Returns `Malformed` if its header is damaged, or its data segment extends beyond the file.
    pub(crate) fn open(context: &'c Context, at: Address) -> Result<Self> {
        let heap = local::header(context, at)?;
        context.checked("local heap data segment", heap.data, heap.size)?;
        Ok(Self { context, at, heap })
    }

    fn place(&self, offset: u64) -> Result<Address> {
        Ok(Address(add(self.heap.data.0, offset)?))
    }

    fn outside(&self, offset: u64) -> Error {
        local::outside(self.context, (self.heap.data, self.heap.size), offset)
    }

    /// Returns the bytes from `offset` to the next NUL.
    ///
    /// # Errors
    /// Returns `Malformed` if there is no NUL.
    pub(crate) fn get(&self, offset: u64) -> Result<Vec<u8>> {
        let left = self.heap.size.checked_sub(offset).ok_or_else(|| self.outside(offset))?;
        let mut len = left.min(USUAL_NAME);
        loop {
            let bytes = self.context.read(HEAP, self.place(offset)?, len)?;
            if let Some(name) = bytes.split(|&byte| byte == 0).next().filter(|name| name.len() < bytes.len())
            {
                return Ok(name.to_vec());
            }
            if len == left {
                return Err(self.outside(offset));
            }
            // Each further read doubles the length, so a long name takes few reads.
            len = left.min(mul(len, 2)?);
        }
    }

    fn block(&self, offset: u64) -> Result<FreeBlock> {
        let (sizes, at) = (self.context.sizes, self.place(offset)?);
        let len = FreeBlock::size_of(sizes) as u64;
        if offset.checked_add(len).is_none_or(|end| end > self.heap.size) {
            return Err(self.outside(offset));
        }
        let block = self.context.parse(HEAP, at, len, |i| FreeBlock::parse(i, sizes))?;
        match offset.checked_add(block.size) {
            Some(end) if end <= self.heap.size && block.size >= len => Ok(block),
            _ => {
                let kind = FaultKind::OutOfBounds { found: block.size, end: self.heap.size };
                Err(self.context.fault(HEAP, at, Fault::new("size of free block", kind)))
            }
        }
    }

    fn write_block(&self, output: &mut Output, offset: u64, block: FreeBlock) -> Result<()> {
        let mut bytes = Vec::new();
        block.encode(&mut bytes, output.sizes)?;
        output.write_part(self.place(offset)?, &bytes)
    }

    fn write_header(&self, output: &mut Output) -> Result<()> {
        let mut bytes = Vec::new();
        self.heap.encode(&mut bytes, output.sizes)?;
        output.write_part(self.at, &bytes)?;
        output.flush()
    }

    /// Returns the smallest of the first blocks of the list that has `need` bytes, and the block before it in the list.
    /// The rest of the block must be empty or large enough for another free block.
    fn find(&self, need: u64) -> Result<Option<(u64, FreeBlock, Option<u64>)>> {
        let rest = FreeBlock::size_of(self.context.sizes) as u64;
        let (mut at, mut before) = (self.heap.free_list, None);
        let mut best: Option<(u64, FreeBlock, Option<u64>)> = None;
        for _ in 0..TRIED {
            if at == FreeBlock::NONE {
                break;
            }
            let block = self.block(at)?;
            let fits = block.size == need || block.size.checked_sub(rest).is_some_and(|room| room >= need);
            if fits && best.is_none_or(|(_, other, _)| block.size < other.size) {
                best = Some((at, block, before));
            }
            (before, at) = (Some(at), block.next);
        }
        Ok(best)
    }

    /// Adds a name and returns its offset.
    ///
    /// # Errors
    /// Returns `Malformed` if the list of free blocks is damaged, and the errors of the output.
    pub(crate) fn insert(&mut self, output: &mut Output, name: &[u8]) -> Result<u64> {
        let mut bytes = Vec::new();
        put_padded_name(&mut bytes, name)?;
        let need = bytes.len() as u64;
        let (at, block, before) = match self.find(need)? {
            Some(found) => found,
            None => {
                self.grow(output, need)?;
                self.find(need)?.ok_or_else(|| Error::internal("a heap that has grown has no room"))?
            }
        };
        let left = sub(block.size, need)?;
        let next = if left == 0 { block.next } else { add(at, need)? };
        if left > 0 {
            self.write_block(output, next, FreeBlock { next: block.next, size: left })?;
        }
        match before {
            None => {
                self.heap.free_list = next;
                self.write_header(output)?;
            }
            Some(before) => {
                let block = self.block(before)?;
                self.write_block(output, before, FreeBlock { next, ..block })?;
            }
        }
        output.write_part(self.place(at)?, &bytes)?;
        output.flush()?;
        Ok(at)
    }

    /// Removes the name at `offset`.
    ///
    /// # Errors
    /// Returns `Malformed` if it does not exist, and the errors of the output.
    pub(crate) fn remove(&mut self, output: &mut Output, offset: u64) -> Result<()> {
        let len = self.get(offset)?.len();
        let size = (pad8(add(len, 1)?)? as u64).min(sub(self.heap.size, offset)?);
        // The space of a very short name has no room for the fields of a free block. The library leaves such space
        // unused too.
        if size < FreeBlock::size_of(output.sizes) as u64 {
            return Ok(());
        }
        let head = self.heap.free_list;
        let first = if head == FreeBlock::NONE { None } else { Some(self.block(head)?) };
        match first.filter(|first| first.size >= size) {
            Some(first) => {
                self.write_block(output, offset, FreeBlock { next: first.next, size })?;
                self.write_block(output, head, FreeBlock { next: offset, ..first })?;
                output.flush()
            }
            None => {
                self.write_block(output, offset, FreeBlock { next: head, size })?;
                self.heap.free_list = offset;
                self.write_header(output)
            }
        }
    }

    /// Moves the data to a segment of at least twice the size, with room for `need` more bytes.
    fn grow(&mut self, output: &mut Output, need: u64) -> Result<()> {
        let old = self.heap;
        let fields = FreeBlock::size_of(output.sizes) as u64;
        let more = old.size.max(sum([need, fields, 8])?).next_multiple_of(8);
        let size = add(old.size, more)?;
        let data = output.allocate(size)?;
        let mut at = 0;
        while at < old.size {
            let len = PIECE.min(sub(old.size, at)?);
            let bytes = self.context.read(HEAP, self.place(at)?, len)?.into_owned();
            output.write_part(Address(add(data.0, at)?), &bytes)?;
            at = add(at, len)?;
        }
        self.heap = LocalHeap { size, free_list: old.size, data };
        self.write_block(output, old.size, FreeBlock { next: old.free_list, size: more })?;
        // Bytes beyond the end of what was written cannot be read, so the rest is filled with zeros.
        let zeros = vec![0; fit(sub(more, fields)?, "room of a heap")?];
        output.write_part(self.place(add(old.size, fields)?)?, &zeros)?;
        output.free(old.data, old.size, Use::Metadata)?;
        self.write_header(output)
    }
}
