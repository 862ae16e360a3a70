//! Objects of global heap collections.

use std::borrow::Cow;
use std::collections::HashMap;

use sciformats_core::Result;
use sciformats_core::fault::{Fault, FaultKind, locate};

use super::context::Context;
use crate::spec::Address;
use crate::spec::global_heap::{CollectionHeader, GlobalId, object};

const STRUCTURE: &str = "global heap collection";

/// The collections that were read, the last ones only.
pub(crate) struct GlobalHeap<'a> {
    context: &'a Context,
    collections: HashMap<Address, Collection<'a>>,
    /// Bytes that the collections take where they are not borrowed.
    held: usize,
}

struct Collection<'a> {
    bytes: Cow<'a, [u8]>,
    /// Start and length of each object by its index; length 0 with start 0 means none.
    objects: HashMap<u32, (usize, usize)>,
}

/// More bytes of collections than this are not held at once.
const HELD: usize = 16 << 20;

impl<'a> GlobalHeap<'a> {
    pub(crate) fn new(context: &'a Context) -> Self {
        Self { context, collections: HashMap::new(), held: 0 }
    }

    /// The bytes of an object.
    pub(crate) fn get(&mut self, id: GlobalId) -> Result<&[u8]> {
        if !self.collections.contains_key(&id.collection) {
            let collection = self.load(id.collection)?;
            let size = collection.bytes.len().saturating_add(collection.objects.len().saturating_mul(32));
            if self.held.saturating_add(size) > HELD {
                self.collections.clear();
                self.held = 0;
            }
            self.held = self.held.saturating_add(size);
            self.collections.insert(id.collection, collection);
        }
        let found = self.collections.get(&id.collection).and_then(|collection| {
            let &(start, len) = collection.objects.get(&id.index)?;
            collection.bytes.get(start..start.checked_add(len)?)
        });
        found.ok_or_else(|| {
            let kind = FaultKind::Rule("is not in the collection");
            self.context.fault(STRUCTURE, id.collection, Fault::new("object index", kind))
        })
    }

    fn load(&self, at: Address) -> Result<Collection<'a>> {
        let sizes = self.context.sizes;
        let len = CollectionHeader::size_of(sizes);
        let header = self.context.parse(STRUCTURE, at, len as u64, |i| CollectionHeader::parse(i, sizes))?;
        let bytes = self.context.read(STRUCTURE, at, header.size.max(len as u64))?;
        let mut objects = HashMap::new();
        let mut rest = bytes.get(len..).unwrap_or_default();
        while !rest.is_empty() {
            let start = bytes.len().saturating_sub(rest.len());
            let base = self.context.offset(at).saturating_add(start as u64);
            let (next, found) = locate(STRUCTURE, base, rest, |i| {
                object(i, sizes).map(|(rest, found)| (rest, (rest.len(), found)))
            })?;
            let Some(found) = found else { break };
            let data = start.saturating_add(usize::from(sizes.lengths)).saturating_add(8);
            objects.insert(found.index.into(), (data, found.data.len()));
            rest = rest.get(rest.len().saturating_sub(next)..).unwrap_or_default();
        }
        Ok(Collection { bytes, objects })
    }
}
