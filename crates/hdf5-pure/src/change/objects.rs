//! The objects of a [`Tree`](crate::change::tree::Tree) by number, and which of them a commit has to look at.

use std::collections::BTreeSet;

use sciformats_core::arith::present;
use sciformats_core::{Result, bound};

use crate::change::emit::Parts;
use crate::change::tree::Object;
use crate::object::id::ObjectId;
use crate::spec::Address;

/// The objects. A session may create very many, but a commit only costs what was touched since the last one.
#[derive(Default)]
pub(crate) struct Objects {
    all: Vec<Object>,
    /// The address of each object that the file has.
    addresses: Vec<Option<Address>>,
    /// The number of objects at the last commit. New objects come after them.
    settled: usize,
    /// The older objects that may have been changed, and those that stay in memory.
    touched: BTreeSet<usize>,
}

impl Objects {
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the number of objects at the last commit. None of them is new.
    pub(crate) fn settled(&self) -> usize {
        self.settled
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Object> {
        self.all.get(index)
    }

    /// Returns the object in order to change it.
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut Object> {
        if index < self.settled {
            self.touched.insert(index);
        }
        self.all.get_mut(index)
    }

    pub(crate) fn push(&mut self, object: Object) {
        self.addresses.push(object.origin.as_ref().map(|origin| origin.address));
        self.all.push(object);
    }

    /// Removes the last object if it was added after the last commit.
    pub(crate) fn pop(&mut self) -> Option<Object> {
        if self.all.len() <= self.settled {
            return None;
        }
        self.addresses.pop();
        self.all.pop()
    }

    /// Returns the numbers of the new objects and of those that may have been changed.
    pub(crate) fn open(&self) -> Vec<usize> {
        self.touched.iter().copied().chain(self.settled..self.all.len()).collect()
    }

    /// Returns the new objects and those that may have been changed, with their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Object)> {
        let touched = self.touched.iter().filter_map(|&index| Some((index, self.all.get(index)?)));
        touched.chain((self.settled..).zip(self.all.get(self.settled..).unwrap_or_default()))
    }

    /// Returns all objects in order to change them, with the address of each in the file.
    pub(crate) fn split(&mut self) -> (&mut [Object], &[Option<Address>]) {
        (&mut self.all, &self.addresses)
    }

    /// Returns the addresses of all objects; `parts` has those of the new ones.
    pub(crate) fn places<'a>(&'a self, parts: &'a NewParts) -> Places<'a> {
        Places { stored: &self.addresses, parts }
    }

    /// Starts anew after a commit. `settle` returns the address that each object has now, and whether it stays in
    /// memory.
    pub(crate) fn settle(&mut self, mut settle: impl FnMut(usize, &mut Object) -> (Option<Address>, bool)) {
        let open = self.open();
        self.touched.clear();
        for index in open {
            let (Some(object), Some(address)) = (self.all.get_mut(index), self.addresses.get_mut(index))
            else {
                continue;
            };
            let (place, stays) = settle(index, object);
            *address = place;
            if stays {
                self.touched.insert(index);
            }
        }
        self.settled = self.all.len();
    }
}

/// What is known about the new objects to which something leads.
#[derive(Default)]
pub(crate) struct NewParts {
    /// The number of the first new object.
    pub(crate) first: usize,
    pub(crate) parts: Vec<Option<Parts>>,
}

impl NewParts {
    pub(crate) fn get(&self, index: usize) -> Option<&Parts> {
        self.parts.get(index.checked_sub(self.first)?)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut Parts> {
        self.parts.get_mut(index.checked_sub(self.first)?)?.as_mut()
    }

    /// Returns the new objects with their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Parts)> {
        let numbered = (self.first..).zip(&self.parts);
        numbered.filter_map(|(index, part)| Some((index, part.as_ref()?)))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut Parts)> {
        let numbered = (self.first..).zip(&mut self.parts);
        numbered.filter_map(|(index, part)| Some((index, part.as_mut()?)))
    }

    pub(crate) fn push(&mut self, part: Option<Parts>) {
        self.parts.push(part);
    }

    pub(crate) fn with_room(first: usize, end: usize) -> Self {
        Self { first, parts: Vec::with_capacity(bound::left(end, first)) }
    }
}

/// The addresses of the headers of all objects. An object to which nothing leads has none.
#[derive(Clone, Copy)]
pub(crate) struct Places<'a> {
    stored: &'a [Option<Address>],
    parts: &'a NewParts,
}

impl<'a> Places<'a> {
    pub(crate) fn new(stored: &'a [Option<Address>], parts: &'a NewParts) -> Self {
        Self { stored, parts }
    }

    /// Returns the address of the header of an object.
    pub(crate) fn of(&self, id: ObjectId) -> Result<Address> {
        let stored = self.stored.get(id.index()).copied().flatten();
        let new = || self.parts.get(id.index()).and_then(|part| part.address().ok());
        present(stored.or_else(new), "address of an object")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::tree::{Kind, Origin};
    use crate::object::attributes::AttributeList;
    use crate::object::creation::CreationProperties;

    fn object(address: Option<u64>) -> Object {
        Object {
            kind: Kind::Stored,
            attributes: AttributeList::default(),
            comment: None,
            properties: CreationProperties::default(),
            reserved: None,
            origin: address.map(|address| Origin { address: Address(address), attributes: None }),
        }
    }

    /// Does what a commit does. The first new object gets the address `next`.
    fn commit(objects: &mut Objects, mut next: u64) {
        objects.settle(|_, object| {
            let address = object.origin.as_ref().map_or_else(
                || {
                    next += 8;
                    Address(next)
                },
                |origin| origin.address,
            );
            object.origin = Some(Origin { address, attributes: None });
            (Some(address), false)
        });
    }

    #[test]
    fn a_commit_looks_at_what_is_new_and_what_was_touched() {
        let mut objects = Objects::default();
        (0..1000).for_each(|_| objects.push(object(None)));
        assert_eq!(objects.open().len(), 1000);
        commit(&mut objects, 0);
        assert!(objects.open().is_empty() && objects.iter().next().is_none());
        objects.get_mut(17).unwrap();
        objects.push(object(None));
        assert_eq!(objects.open(), [17, 1000]);
        assert_eq!(objects.iter().map(|(index, _)| index).collect::<Vec<_>>(), [17, 1000]);
        commit(&mut objects, 8000);
        assert!(objects.open().is_empty());
        let parts = NewParts::default();
        let of = |index| objects.places(&parts).of(ObjectId::of(index));
        assert_eq!(
            (of(0).unwrap(), of(17).unwrap(), of(1000).unwrap()),
            (Address(8), Address(144), Address(8008))
        );
        assert!(of(1001).is_err());
    }

    #[test]
    fn only_what_is_new_is_taken_back() {
        let mut objects = Objects::default();
        objects.push(object(Some(8)));
        assert!(objects.pop().is_some());
        objects.push(object(Some(8)));
        commit(&mut objects, 0);
        assert!(objects.pop().is_none() && objects.len() == 1);
    }
}
