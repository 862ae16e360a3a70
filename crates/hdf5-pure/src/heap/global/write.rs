//! Writes global heap collections, one after another.

use sciformats_core::arith::{add, increase, mul, sub};
use sciformats_core::{Result, bound};

use crate::space::output::Output;
use crate::spec::Address;
use crate::spec::global_heap::{CollectionHeader, GlobalId, HeapObject, put_free};

/// The size of the first collection. Each later one is twice as large as the one before, up to the largest.
const FIRST: usize = 4096;
const LAST: usize = 65536;
/// The largest index. Indices have 16 bits, and 0 stands for the free space.
const MAX_INDEX: u16 = u16::MAX;

/// The collection to which objects are added.
pub(crate) struct GlobalHeapWriter {
    open: Option<Collection>,
    next_size: usize,
}

struct Collection {
    at: Address,
    size: usize,
    bytes: Vec<u8>,
    objects: u16,
}

impl GlobalHeapWriter {
    pub(crate) fn new() -> Self {
        Self { open: None, next_size: FIRST }
    }

    /// Stores an object.
    pub(crate) fn put(&mut self, output: &mut Output, data: &[u8]) -> Result<GlobalId> {
        let needed = HeapObject::size(data.len(), output.sizes)?;
        let fits =
            |open: &Collection| open.objects < MAX_INDEX && bound::sum(open.bytes.len(), needed) <= open.size;
        if !self.open.as_ref().is_some_and(fits) {
            self.close(output)?;
        }
        let open = match &mut self.open {
            Some(open) => open,
            none => {
                let size = self.next_size.max(add(needed, CollectionHeader::size_of(output.sizes))?);
                self.next_size = mul(self.next_size, 2)?.min(LAST);
                let mut bytes = Vec::with_capacity(size);
                CollectionHeader { size: size as u64 }.encode(&mut bytes, output.sizes)?;
                let at = output.allocate_data(size as u64)?;
                none.insert(Collection { at, size, bytes, objects: 0 })
            }
        };
        increase(&mut open.objects, 1)?;
        HeapObject { index: open.objects, data }.encode(&mut open.bytes, output.sizes)?;
        Ok(GlobalId { collection: open.at, index: open.objects.into() })
    }

    /// Writes the open collection.
    pub(crate) fn close(&mut self, output: &mut Output) -> Result<()> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        let left = sub(open.size, open.bytes.len())?;
        put_free(&mut open.bytes, left, output.sizes)?;
        output.write(open.at, &open.bytes)
    }
}
