//! Local heaps, which hold the names of old-style groups and of external files.

mod edit;

pub(crate) use self::edit::EditedNames;

use std::borrow::Cow;

use sciformats_core::arith::add;
use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::{Error, Result};

use crate::space::context::Context;
use crate::space::output::Output;
use crate::spec::local_heap::{FreeBlock, LocalHeap};
use crate::spec::{Address, Sizes, put_padded_name};

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
    let size = LocalHeap::size_of(output.sizes);
    let at = output.allocate(add(size, data.len())? as u64)?;
    let place = Address(add(at.0, size as u64)?);
    let mut bytes = encode_header(data.len(), place, output.sizes)?;
    bytes.extend_from_slice(data);
    output.write(at, &bytes)?;
    Ok(at)
}

pub(crate) fn encode_header(len: usize, data: Address, sizes: Sizes) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    LocalHeap { size: len as u64, free_list: FreeBlock::NONE, data }.encode(&mut bytes, sizes)?;
    Ok(bytes)
}
