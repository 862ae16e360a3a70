//! Local heaps, which hold the names of old-style groups and of external files.

mod edit;

pub(crate) use self::edit::EditedNames;

use std::borrow::Cow;

use sciformats_core::arith::{add, increase, sub};
use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::{Error, Result};

use crate::space::context::Context;
use crate::space::output::Output;
use crate::spec::local_heap::{FreeBlock, LocalHeap};
use crate::spec::{Address, Sizes, pad8, put_padded_name};

const HEAP: &str = "local heap";

/// The names of a group, or of a list of external files.
pub(crate) struct Names<'a> {
    context: &'a Context,
    data: Address,
    bytes: Cow<'a, [u8]>,
}

impl<'a> Names<'a> {
    pub(crate) fn open(context: &'a Context, heap: Address) -> Result<Self> {
        let heap = header(context, heap)?;
        let bytes = context.read("local heap data segment", heap.data, heap.size)?;
        Ok(Self { context, data: heap.data, bytes })
    }

    /// Returns the bytes from `offset` to the next NUL.
    pub(crate) fn get(&self, offset: u64) -> Result<&[u8]> {
        let start = usize::try_from(offset).ok().and_then(|offset| self.bytes.get(offset..));
        let end = start.and_then(|start| start.iter().position(|&byte| byte == 0));
        let found = start.zip(end).and_then(|(start, end)| start.get(..end));
        found.ok_or_else(|| outside(self.context, (self.data, self.bytes.len() as u64), offset))
    }
}

/// Reads the header of the heap at `at`.
///
/// # Errors
/// Returns `Malformed` if it cannot be read.
pub(crate) fn header(context: &Context, at: Address) -> Result<LocalHeap> {
    let len = LocalHeap::size_of(context.sizes) as u64;
    context.parse(HEAP, at, len, |i| LocalHeap::parse(i, context.sizes))
}

/// Returns the error of a name that lies outside the data segment.
pub(crate) fn outside(context: &Context, (data, size): (Address, u64), found: u64) -> Error {
    context.fault(HEAP, data, Fault::new("name offset", FaultKind::OutOfBounds { found, end: size }))
}

/// Appends a name to a local heap and returns its offset.
pub(crate) fn push_name(heap: &mut Vec<u8>, name: &[u8]) -> Result<u64> {
    let at = heap.len() as u64;
    put_padded_name(heap, name)?;
    Ok(at)
}

/// Writes a local heap with the data segment `data`.
pub(crate) fn build(output: &mut Output, data: &[u8]) -> Result<Address> {
    let mut heap = Builder::new(output, data.len(), None)?;
    heap.put(output, data)?;
    heap.finish(output)
}

/// A local heap that is being written, name by name.
pub(crate) struct Builder {
    header: Address,
    /// The address at which the next bytes are written.
    next: Address,
    left: usize,
    /// The bytes that are not written yet.
    bytes: Vec<u8>,
}

/// Bytes are written when there are at least this many.
const PIECE: usize = 64 << 10;

impl Builder {
    /// Starts a heap whose data segment has `len` bytes. Its header is at `place`, or directly before the data.
    pub(crate) fn new(output: &mut Output, len: usize, place: Option<Address>) -> Result<Self> {
        let size = LocalHeap::size_of(output.sizes);
        let at = output.allocate(match place {
            None => add(size, len)? as u64,
            Some(_) => len as u64,
        })?;
        let mut heap = Self { header: at, next: at, left: len, bytes: Vec::new() };
        match place {
            None => {
                let data = Address(add(at.0, size as u64)?);
                heap.bytes = encode_header(len, data, output.sizes)?;
                heap.left = add(len, size)?;
            }
            Some(place) => {
                output.write(place, &encode_header(len, at, output.sizes)?)?;
                heap.header = place;
            }
        }
        Ok(heap)
    }

    /// Adds bytes.
    pub(crate) fn put(&mut self, output: &mut Output, bytes: &[u8]) -> Result<()> {
        self.bytes.extend_from_slice(bytes);
        self.relieve(output)
    }

    /// Adds a name.
    pub(crate) fn push_name(&mut self, output: &mut Output, name: &[u8]) -> Result<()> {
        push_name(&mut self.bytes, name)?;
        self.relieve(output)
    }

    fn relieve(&mut self, output: &mut Output) -> Result<()> {
        if self.bytes.len() >= PIECE && self.bytes.len() < self.left {
            output.write_part(self.next, &self.bytes)?;
            increase(&mut self.next.0, self.bytes.len() as u64)?;
            self.left = sub(self.left, self.bytes.len())?;
            self.bytes.clear();
        }
        Ok(())
    }

    /// Writes the remaining bytes, and returns the address of the header.
    pub(crate) fn finish(self, output: &mut Output) -> Result<Address> {
        if self.bytes.len() != self.left {
            return Err(Error::internal("the names of a heap do not have the length that was planned"));
        }
        output.write(self.next, &self.bytes)?;
        Ok(self.header)
    }
}

/// Returns the number of bytes that a name takes in a heap.
pub(crate) fn name_size(name: &[u8]) -> Result<usize> {
    pad8(add(name.len(), 1)?)
}

pub(crate) fn encode_header(len: usize, data: Address, sizes: Sizes) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    LocalHeap { size: len as u64, free_list: FreeBlock::NONE, data }.encode(&mut bytes, sizes)?;
    Ok(bytes)
}
