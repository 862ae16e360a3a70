//! Reads objects of global heap collections.

use std::borrow::Cow;
use std::collections::HashMap;

use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Result, bound};

use crate::space::context::{AddressSet, Context};
use crate::spec::Address;
use crate::spec::global_heap::{CollectionHeader, GlobalId, object};

const STRUCTURE: &str = "global heap collection";

/// The collections that were read most recently.
pub(crate) struct GlobalHeap<'a> {
    context: &'a Context,
    /// The collection that was used last. Neighbouring elements usually refer to the same one.
    current: Option<(Address, Collection<'a>)>,
    others: HashMap<Address, Collection<'a>>,
    /// The number of bytes of the other collections.
    held: usize,
}

struct Collection<'a> {
    bytes: Cow<'a, [u8]>,
    /// The start and the end of each object by its index. Both are 0 if there is no such object.
    objects: Vec<(usize, usize)>,
}

impl Collection<'_> {
    fn size(&self) -> usize {
        bound::sum(self.bytes.len(), bound::product(self.objects.len(), 16))
    }
}

/// The largest number of bytes of collections that are kept in memory.
const HELD: usize = 16 << 20;

impl<'a> GlobalHeap<'a> {
    pub(crate) fn new(context: &'a Context) -> Self {
        Self { context, current: None, others: HashMap::new(), held: 0 }
    }

    /// Fetches collections that will be read, all in one batch, if reads cost a round trip.
    pub(crate) fn gather(&self, collections: impl Iterator<Item = Address>) -> Result<()> {
        if self.context.storage.read_ahead() == 0 {
            return Ok(());
        }
        let all: AddressSet = collections.collect();
        self.context.together(|| all.iter().for_each(|&at| drop(self.load(at))))
    }

    /// Returns the bytes of an object.
    pub(crate) fn get(&mut self, id: GlobalId) -> Result<&[u8]> {
        if self.current.as_ref().is_none_or(|(at, _)| *at != id.collection) {
            self.change(id.collection)?;
        }
        let found = self.current.as_ref().and_then(|(_, collection)| {
            let &(start, end) = collection.objects.get(usize::try_from(id.index).ok()?)?;
            (start > 0).then(|| collection.bytes.get(start..end))?
        });
        found.ok_or_else(|| {
            let kind = FaultKind::Rule("is not in the collection");
            self.context.fault(STRUCTURE, id.collection, Fault::new("object index", kind))
        })
    }

    /// Makes the collection at `at` the current one.
    fn change(&mut self, at: Address) -> Result<()> {
        let next = match self.others.remove(&at) {
            Some(known) => {
                self.held = bound::left(self.held, known.size());
                known
            }
            None => self.load(at)?,
        };
        if let Some((before, collection)) = self.current.replace((at, next)) {
            self.held = bound::sum(self.held, collection.size());
            if self.held > HELD {
                self.others.clear();
                self.held = collection.size();
            }
            self.others.insert(before, collection);
        }
        Ok(())
    }

    fn load(&self, at: Address) -> Result<Collection<'a>> {
        let sizes = self.context.sizes;
        let len = CollectionHeader::size_of(sizes);
        let header = self.context.parse(STRUCTURE, at, len as u64, |i| CollectionHeader::parse(i, sizes))?;
        let bytes = self.context.read(STRUCTURE, at, header.size.max(len as u64))?;
        let mut objects: Vec<(usize, usize)> = Vec::new();
        let mut rest = bytes.get(len..).unwrap_or_default();
        while !rest.is_empty() {
            let start = bound::left(bytes.len(), rest.len());
            let base = bound::sum(self.context.offset(at), start as u64);
            let (next, found) = locate(STRUCTURE, base, rest, |i| {
                object(i, sizes).map(|(rest, found)| (rest, (rest.len(), found)))
            })?;
            let Some(found) = found else { break };
            let data = bound::sum(start, len);
            let index = usize::from(found.index);
            if index >= objects.len() {
                objects.resize(bound::sum(index, 1), (0, 0));
            }
            if let Some(slot) = objects.get_mut(index) {
                *slot = (data, bound::sum(data, found.data.len()));
            }
            rest = rest.get(bound::left(rest.len(), next)..).unwrap_or_default();
        }
        Ok(Collection { bytes, objects })
    }
}
