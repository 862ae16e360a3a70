//! Fractal heaps whose objects are added and removed one by one.
//!
//! An object goes to a free part of a direct block, or to a new block after the existing ones. An object that is too
//! large for blocks is stored by itself and found through the B-tree of huge objects. A removed object leaves its bytes
//! where they are: only the counts in the header and the list of free parts change.

use std::cmp::Ordering;

use sciformats_core::arith::{add, increase};
use sciformats_core::fault::locate;
use sciformats_core::{Error, Result, bound};

use crate::btree::EditedTree;
use crate::heap::fractal::NODE_SIZE;
use crate::heap::fractal::blocks::{Blocks, LARGEST};
use crate::heap::fractal::free::{FreeParts, twice};
use crate::space::context::Context;
use crate::space::output::Output;
use crate::space::pending::Use;
use crate::spec::Address;
use crate::spec::btree_v2::Header as TreeHeader;
use crate::spec::btree_v2::record::HugeObject;
use crate::spec::fractal_heap::{FractalHeap, HeapId};

const HEADER: &str = "fractal heap header";
/// A heap with fewer bytes in blocks counts as small, however little of them is used.
const SMALL: u64 = 64 << 10;
/// The record type of huge objects that are found by a key and have no filters.
const BY_KEY: u8 = 1;

/// A heap that is being edited.
pub(crate) struct EditedHeap<'c> {
    context: &'c Context,
    at: Address,
    blocks: Blocks<'c>,
    /// The free parts. They are loaded when something changes for the first time.
    free: Option<FreeParts>,
    huge: Option<EditedTree>,
}

impl<'c> EditedHeap<'c> {
    /// Opens the heap at `at`. Returns `None` if it can only be written as a whole, because it has filters, blocks
    /// without checksums, or another form of heap IDs.
    ///
    /// # Errors
    /// Returns `Malformed` if its header is damaged.
    pub(crate) fn open(context: &'c Context, at: Address) -> Result<Option<Self>> {
        let start = context.read_some(HEADER, at, FractalHeap::MAX_SIZE)?;
        let size = locate(HEADER, context.offset(at), &start, |i| FractalHeap::size(i, context.sizes))?;
        let header = context.parse(HEADER, at, size as u64, |i| FractalHeap::parse(i, context.sizes))?;
        /// The flag of a heap in which the keys of huge objects have wrapped around.
        const WRAPPED: u8 = 1;
        let id_len = bound::sum(bound::sum(header.table.offset_width(), header.length_width()), 1);
        let editable = header.filters.is_none()
            && header.direct_checksums()
            && header.flags & WRAPPED == 0
            && header.has_huge_keys(context.sizes)
            && usize::from(header.id_len) >= id_len;
        let blocks = Blocks::new(context, at, header);
        Ok(editable.then_some(Self { context, at, blocks, free: None, huge: None }))
    }

    /// Returns whether so little of the blocks is in use that the heap should be written again. The heap is then
    /// written once for at least as many objects as were removed.
    pub(crate) fn is_sparse(&self) -> bool {
        let [_, allocated, ..] = self.blocks.header.statistics;
        let used = self.blocks.in_use().unwrap_or(u64::MAX); // a bound: if the count is wrong, the heap is not rewritten
        allocated >= SMALL && bound::product(used, 4) < allocated
    }

    fn id(&self, id: &[u8]) -> Result<HeapId> {
        let (header, sizes) = (&self.blocks.header, self.context.sizes);
        locate("fractal heap ID", self.context.offset(self.at), id, |i| HeapId::parse(i, header, sizes))
    }

    /// Returns the absolute offset and the bytes of an object.
    ///
    /// # Errors
    /// Returns `Malformed` if there is no object with that heap ID.
    pub(crate) fn get(&mut self, id: &[u8]) -> Result<(u64, Vec<u8>)> {
        const HUGE: &str = "huge fractal heap object";
        match self.id(id)? {
            HeapId::Managed { offset, length } => self.blocks.read(offset, length),
            HeapId::Tiny(bytes) => Ok((self.context.offset(self.at), bytes)),
            HeapId::Huge { address, stored, .. } => {
                let bytes = self.context.read(HUGE, address, stored)?.into_owned();
                Ok((self.context.offset(address), bytes))
            }
            HeapId::HugeIndirect { key } => {
                let (context, sizes) = (self.context, self.context.sizes);
                let found = self.huge_tree()?.find(&mut { context }, &mut by_key(context, key))?;
                let record = found.ok_or_else(|| self.lost())?;
                let (_, object) = HugeObject::parse(&record, sizes, BY_KEY).map_err(|_| self.lost())?;
                let bytes = context.read(HUGE, object.address, object.stored)?.into_owned();
                Ok((context.offset(object.address), bytes))
            }
        }
    }

    fn lost(&self) -> Error {
        self.blocks.broken("does not hold the object that a heap ID refers to")
    }

    fn huge_tree(&mut self) -> Result<&mut EditedTree> {
        let tree = match self.huge.take() {
            Some(tree) => tree,
            None => {
                let at = self.blocks.header.huge_btree.ok_or_else(|| self.lost())?;
                EditedTree::open(&mut { self.context }, at, &[BY_KEY])?
            }
        };
        Ok(self.huge.insert(tree))
    }

    fn free(&mut self) -> Result<&mut FreeParts> {
        let free = match self.free.take() {
            Some(free) => free,
            None => FreeParts::load(self.context, self.blocks.header.free_space_manager)?,
        };
        Ok(self.free.insert(free))
    }

    /// Adds an object and returns its heap ID.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the heap is full, `Malformed` if a structure that is read is damaged, and the errors
    /// of the output. After an error the heap must not be written.
    pub(crate) fn insert(&mut self, output: &mut Output, object: &[u8]) -> Result<Vec<u8>> {
        let length = object.len() as u64;
        if length > self.blocks.header.max_managed.into() {
            return self.insert_huge(output, object);
        }
        let offset = self.place(output, length)?;
        self.blocks.put(offset, object)?;
        self.blocks.used(length);
        let [_, _, _, objects, ..] = &mut self.blocks.header.statistics;
        increase(objects, 1)?;
        HeapId::Managed { offset, length }.encode(&self.blocks.header, self.context.sizes)
    }

    /// Allocates so many bytes in a block that is in memory.
    fn place(&mut self, output: &mut Output, length: u64) -> Result<u64> {
        let table = self.blocks.header.table;
        let small =
            |at: u64| table.direct_block(at).is_some_and(|(_, size)| size <= LARGEST.max(table.start));
        while let Some(at) = self.free()?.take(length, small) {
            let (start, size) = self.blocks.block_of(at, length)?;
            if self.blocks.have(start, size)? {
                return Ok(at);
            }
            // The manager lists free space in a block that does not exist.
            self.free()?.forget(start, add(start, size)?);
        }
        let (at, free) = self.blocks.add_direct(output, length)?;
        let (context, place) = (self.context, self.at);
        let rest = free.checked_sub(length).ok_or_else(|| Error::internal("a new block is too small"))?;
        self.free()?.add(add(at, length)?, rest).ok_or_else(|| twice(context, place))?;
        Ok(at)
    }

    fn insert_huge(&mut self, output: &mut Output, object: &[u8]) -> Result<Vec<u8>> {
        let (context, sizes) = (self.context, self.context.sizes);
        let key = add(self.blocks.header.next_huge, 1)?;
        self.blocks.header.next_huge = key;
        // If the heap ID has no room for the key, the caller writes the whole heap again, and keys start at 1.
        let id = HeapId::HugeIndirect { key }.encode(&self.blocks.header, sizes)?;
        if self.blocks.header.huge_btree.is_none() {
            let tree = EditedTree::create(output, BY_KEY, NODE_SIZE, HugeObject::size(sizes))?;
            self.blocks.header.huge_btree = Some(tree.address());
            self.huge = Some(tree);
        }
        let stored = object.len() as u64;
        let address = output.put(object)?;
        // Huge objects are read through the file, so bytes that are still collected in the output must be written
        // first.
        output.flush()?;
        let mut record = Vec::new();
        HugeObject { address, stored, filtered: None, key: Some(key) }.encode(&mut record, sizes)?;
        let replaced = self.huge_tree()?.insert(&mut { context }, &record, &mut by_key(context, key))?;
        if replaced.is_some() {
            return Err(self.blocks.broken("has two huge objects with the same key"));
        }
        let [.., bytes, objects, _, _] = &mut self.blocks.header.statistics;
        increase(bytes, stored)?;
        increase(objects, 1)?;
        Ok(id)
    }

    /// Removes an object.
    ///
    /// # Errors
    /// Returns the errors of [`insert`](Self::insert).
    pub(crate) fn remove(&mut self, output: &mut Output, id: &[u8]) -> Result<()> {
        match self.id(id)? {
            HeapId::Managed { offset, length } => {
                self.blocks.block_of(offset, length)?;
                let (context, at) = (self.context, self.at);
                if length > 0 {
                    self.free()?.add(offset, length).ok_or_else(|| twice(context, at))?;
                }
                self.blocks.unused(length);
                let [_, _, _, objects, ..] = &mut self.blocks.header.statistics;
                *objects = bound::left(*objects, 1); // another writer may have stored a wrong count
                Ok(())
            }
            HeapId::Tiny(bytes) => {
                let [.., space, objects] = &mut self.blocks.header.statistics;
                *space = bound::left(*space, bytes.len() as u64); // see above
                *objects = bound::left(*objects, 1); // see above
                Ok(())
            }
            HeapId::HugeIndirect { key } => self.remove_huge(output, key),
            HeapId::Huge { .. } => Err(self.lost()),
        }
    }

    fn remove_huge(&mut self, output: &mut Output, key: u64) -> Result<()> {
        let (context, sizes) = (self.context, self.context.sizes);
        let removed = self.huge_tree()?.remove(&mut { context }, &mut by_key(context, key))?;
        let record = removed.ok_or_else(|| self.lost())?;
        let (_, object) = HugeObject::parse(&record, sizes, BY_KEY).map_err(|_| self.lost())?;
        output.free(object.address, object.stored, Use::Metadata)?;
        let [.., bytes, objects, _, _] = &mut self.blocks.header.statistics;
        *bytes = bound::left(*bytes, object.stored); // another writer may have stored a wrong count
        *objects = bound::left(*objects, 1); // see above
        Ok(())
    }

    /// Writes what has changed, the header last.
    ///
    /// # Errors
    /// Returns the errors of the output.
    pub(crate) fn write(&mut self, output: &mut Output) -> Result<()> {
        if let Some(tree) = &mut self.huge {
            tree.write(output)?;
            // In the library, a heap without huge objects has no B-tree for them.
            if tree.len() == 0 {
                output.free(tree.address(), TreeHeader::size(output.sizes) as u64, Use::Metadata)?;
                self.blocks.header.huge_btree = None;
                self.huge = None;
            }
        }
        self.blocks.write(output)?;
        if let Some(free) = &mut self.free {
            let table = self.blocks.header.table;
            self.blocks.header.free_space_manager = free.write(output, &table)?;
        }
        let mut bytes = Vec::new();
        self.blocks.header.encode(&mut bytes, output.sizes)?;
        output.write(self.at, &bytes)
    }
}

/// Returns a comparison that finds the record of the huge object with a key.
fn by_key(context: &Context, key: u64) -> impl FnMut(&[u8]) -> Result<Ordering> {
    move |record| {
        let object =
            locate("huge object record", 0, record, |i| HugeObject::parse(i, context.sizes, BY_KEY))?;
        Ok(object.key.cmp(&Some(key)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::{Arc, RwLock};

    use sciformats_core::Limits;

    use super::*;
    use crate::filter::Registry;
    use crate::heap::fractal::{Kind, build};
    use crate::space::output::Target;
    use crate::space::pending::Space;
    use crate::spec::Sizes;
    use crate::spec::btree_v1::BtreeK;
    use crate::spec::fractal_heap::block::direct_prefix;

    fn edited(sizes: Sizes) -> (Context, Output) {
        let space = Arc::new(Space::new(Box::new(Vec::new()), 0, 0, 1 << 31));
        let mut output = Output::new(Target::Edited(space.clone()), 0);
        output.sizes = sizes;
        let context = Context {
            storage: space,
            base: 0,
            sizes,
            btree_k: BtreeK::default(),
            limits: Limits::default(),
            registry: Registry::default(),
            shared: Vec::new(),
            verified: RwLock::default(),
        };
        (context, output)
    }

    /// Checks every object, and the counts in the header.
    fn check(context: &Context, at: Address, model: &BTreeMap<Vec<u8>, Vec<u8>>) {
        let mut heap = EditedHeap::open(context, at).unwrap().unwrap();
        for (id, object) in model {
            assert_eq!(heap.get(id).unwrap().1, *object);
        }
        let header = &heap.blocks.header;
        let managed = || model.values().filter(|object| object.len() <= 4096);
        let huge = || model.values().filter(|object| object.len() > 4096);
        let bytes =
            |objects: &mut dyn Iterator<Item = &Vec<u8>>| objects.map(|o| o.len() as u64).sum::<u64>();
        let [space, allocated, iterator, objects, huge_bytes, huge_objects, ..] = header.statistics;
        assert_eq!((objects, huge_objects), (managed().count() as u64, huge().count() as u64));
        assert_eq!(huge_bytes, bytes(&mut huge()));
        assert_eq!(heap.blocks.in_use(), Some(bytes(&mut managed())));
        assert!(allocated <= space && iterator <= space, "{allocated} and {iterator} of {space}");
        let prefix = direct_prefix(header, context.sizes) as u64;
        let room = match header.root_rows {
            0 => header.table.start - prefix,
            rows => header.table.capacity(rows.into(), prefix).unwrap(),
        };
        assert_eq!(room, header.free_space + bytes(&mut managed()));
        assert_eq!(header.huge_btree.is_some(), huge_objects > 0);
    }

    #[test]
    fn objects_come_and_go() {
        for (sizes, kind) in [
            (Sizes { offsets: 8, lengths: 8 }, Kind::Links),
            (Sizes { offsets: 8, lengths: 8 }, Kind::Attributes),
            (Sizes { offsets: 4, lengths: 4 }, Kind::Links),
        ] {
            let (context, mut output) = edited(sizes);
            let first: Vec<Vec<u8>> = (0..20u8).map(|i| vec![i; 30]).collect();
            let (at, ids) = build(&mut output, kind, first.iter().map(|object| &object[..])).unwrap();
            output.flush().unwrap();
            let mut model: BTreeMap<_, _> = ids.into_iter().zip(first).collect();
            check(&context, at, &model);
            let mut state = 0x9E37_79B9_7F4A_7C15u64;
            let mut random = |n: u64| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 9) % n
            };
            for round in 0..60u8 {
                let mut heap = EditedHeap::open(&context, at).unwrap().unwrap();
                for _ in 0..[1, 7, 60][usize::from(round % 3)] {
                    let grows = if round < 35 { 8 } else { 3 };
                    if random(10) < grows {
                        let len = match random(60) {
                            0 => 4000,
                            1 => 9000,
                            2 => 800,
                            _ => 12 + random(60),
                        };
                        let object = vec![round; usize::try_from(len).unwrap()];
                        let id = heap.insert(&mut output, &object).unwrap();
                        assert_eq!(heap.get(&id).unwrap().1, object);
                        assert!(model.insert(id, object).is_none());
                    } else if !model.is_empty() {
                        let number = usize::try_from(random(model.len() as u64)).unwrap();
                        let id = model.keys().nth(number).unwrap().clone();
                        heap.remove(&mut output, &id).unwrap();
                        assert!(heap.remove(&mut output, &id).is_err(), "is gone already");
                        model.remove(&id);
                    }
                }
                heap.write(&mut output).unwrap();
                output.flush().unwrap();
                check(&context, at, &model);
            }
            let mut heap = EditedHeap::open(&context, at).unwrap().unwrap();
            model.keys().for_each(|id| heap.remove(&mut output, id).unwrap());
            heap.write(&mut output).unwrap();
            output.flush().unwrap();
            check(&context, at, &BTreeMap::new());
        }
    }
}
