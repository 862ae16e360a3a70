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

/// Objects from this size on that do not fit into the open collection get one of their own. What is left of the open
/// one is then still used, and for smaller objects it is little.
const LARGE: usize = LAST / 4;

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
    /// How many of the bytes are in the file already. Free space follows them there.
    written: usize,
}

impl GlobalHeapWriter {
    pub(crate) fn new() -> Self {
        Self { open: None, next_size: FIRST }
    }

    /// Stores an object.
    pub(crate) fn put(&mut self, output: &mut Output, data: &[u8]) -> Result<GlobalId> {
        let needed = HeapObject::size(data.len(), output.sizes)?;
        let whole = add(needed, CollectionHeader::size_of(output.sizes))?;
        let fits =
            |open: &Collection| open.objects < MAX_INDEX && bound::sum(open.bytes.len(), needed) <= open.size;
        if !self.open.as_ref().is_some_and(fits) {
            if needed >= LARGE {
                let mut own = Collection::new(output, whole)?;
                let id = own.put(output, data)?;
                own.write(output)?;
                return Ok(id);
            }
            self.close(output)?;
        }
        let open = match &mut self.open {
            Some(open) => open,
            none => {
                let size = self.next_size.max(whole);
                self.next_size = mul(self.next_size, 2)?.min(LAST);
                none.insert(Collection::new(output, size)?)
            }
        };
        open.put(output, data)
    }

    /// Writes what is not written yet of the open collection, and goes on to add objects to it.
    pub(crate) fn settle(&mut self, output: &mut Output) -> Result<()> {
        self.open.as_mut().map_or(Ok(()), |open| open.write(output))
    }

    /// Writes the open collection, to which no more objects are added.
    pub(crate) fn close(&mut self, output: &mut Output) -> Result<()> {
        self.settle(output)?;
        self.open = None;
        Ok(())
    }
}

impl Collection {
    /// Allocates a collection of `size` bytes.
    fn new(output: &mut Output, size: usize) -> Result<Self> {
        let mut bytes = Vec::with_capacity(size);
        CollectionHeader { size: size as u64 }.encode(&mut bytes, output.sizes)?;
        let at = output.allocate_data(size as u64)?;
        Ok(Self { at, size, bytes, objects: 0, written: 0 })
    }

    /// Adds an object, for which there is room.
    fn put(&mut self, output: &Output, data: &[u8]) -> Result<GlobalId> {
        increase(&mut self.objects, 1)?;
        HeapObject { index: self.objects, data }.encode(&mut self.bytes, output.sizes)?;
        Ok(GlobalId { collection: self.at, index: self.objects.into() })
    }

    /// Writes the objects that are not written yet, and the free space after them.
    fn write(&mut self, output: &mut Output) -> Result<()> {
        let new = self.bytes.get(self.written..).filter(|new| !new.is_empty());
        let Some(mut new) = new.map(<[u8]>::to_vec) else { return Ok(()) };
        let used = new.len();
        put_free(&mut new, sub(self.size, self.bytes.len())?, output.sizes)?;
        if self.written == 0 {
            output.write(self.at, &new)?;
        } else {
            // The free space consists of zeros since the first time, except its header.
            new.truncate(add(used, CollectionHeader::size_of(output.sizes))?);
            output.write_part(Address(add(self.at.0, self.written as u64)?), &new)?;
        }
        self.written = self.bytes.len();
        Ok(())
    }
}
