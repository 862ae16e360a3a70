//! The objects of a [`Tree`](crate::change::tree::Tree) by number, and which of them a commit has to look at.

use std::collections::BTreeSet;

use sciformats_core::Result;
use sciformats_core::arith::present;

use crate::change::emit::Parts;
use crate::change::tree::Object;
use crate::object::id::Id;
use crate::spec::Address;

/// The objects. A session may have created very many of them; the cost of a commit depends on those that were used since the
/// last commit. Of an object of a new file that is written already, only the address and the number of links are in memory.
#[derive(Default)]
pub(crate) struct Objects {
    all: Vec<Option<Box<Object>>>,
    /// The address of the header of each object, or `NOWHERE` if it is not known yet.
    addresses: Vec<u64>,
    /// The number of links of groups in memory that lead to each object.
    links: Vec<u32>,
    /// The number of objects at the last commit. Objects after these are new.
    settled: usize,
    /// The older objects that may have been changed since the last commit.
    touched: BTreeSet<usize>,
}

/// Stands for an unknown address, because no file is that long.
const NOWHERE: u64 = u64::MAX;

impl Objects {
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the number of objects at the last commit. None of them is new.
    pub(crate) fn settled(&self) -> usize {
        self.settled
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Object> {
        self.all.get(index)?.as_deref()
    }

    /// Returns the object in order to change it.
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut Object> {
        if index < self.settled {
            self.touched.insert(index);
        }
        self.all.get_mut(index)?.as_deref_mut()
    }

    pub(crate) fn push(&mut self, object: Object) {
        self.addresses.push(object.origin.as_ref().map_or(NOWHERE, |origin| origin.address.0));
        self.links.push(0);
        self.all.push(Some(Box::new(object)));
    }

    /// Removes the last object if it did not exist at the last commit.
    pub(crate) fn pop(&mut self) -> Option<Box<Object>> {
        if self.all.len() <= self.settled {
            return None;
        }
        self.addresses.pop();
        self.links.pop();
        self.all.pop().flatten()
    }

    /// Returns the address of an object's header, if it is known.
    fn address(&self, index: usize) -> Option<Address> {
        self.addresses.get(index).filter(|&&at| at != NOWHERE).copied().map(Address)
    }

    pub(crate) fn set_address(&mut self, index: usize, address: Option<Address>) {
        if let Some(at) = self.addresses.get_mut(index) {
            *at = address.map_or(NOWHERE, |address| address.0);
        }
    }

    /// Returns the address of an object's header if the object has been written and is not in memory.
    pub(crate) fn written(&self, index: usize) -> Option<Address> {
        match self.all.get(index)? {
            Some(_) => None,
            None => self.address(index),
        }
    }

    /// Replaces an object in memory and returns the old one. `None` stands for an object that is not in memory.
    pub(crate) fn replace(&mut self, index: usize, object: Option<Box<Object>>) -> Option<Box<Object>> {
        std::mem::replace(self.all.get_mut(index)?, object)
    }

    /// Returns the number of links of groups in memory that lead to an object.
    pub(crate) fn links(&self, index: usize) -> u32 {
        self.links.get(index).copied().unwrap_or_default()
    }

    /// Sets the number of links of groups in memory that lead to an object.
    pub(crate) fn set_links(&mut self, index: usize, links: u32) {
        if let Some(count) = self.links.get_mut(index) {
            *count = links;
        }
    }

    /// Adds `more` to the number of links of groups in memory that lead to an object.
    pub(crate) fn count_link(&mut self, id: Id, more: i32) -> Result<()> {
        let count = self.links(id.index()).checked_add_signed(more);
        self.set_links(id.index(), present(count, "number of links to an object")?);
        Ok(())
    }

    /// Returns the numbers of the new objects and of those that may have been changed.
    pub(crate) fn open(&self) -> Vec<usize> {
        self.touched.iter().copied().chain(self.settled..self.all.len()).collect()
    }

    /// Returns the new objects and those that may have been changed, with their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Object)> {
        let all = self.touched.iter().copied().chain(self.settled..self.all.len());
        all.filter_map(|index| Some((index, self.get(index)?)))
    }

    /// Returns all objects, which can be changed, and their addresses.
    pub(crate) fn split(&mut self) -> (&mut [Option<Box<Object>>], Places<'_>) {
        (&mut self.all, Places(&self.addresses))
    }

    /// Returns the addresses of all objects.
    pub(crate) fn places(&self) -> Places<'_> {
        Places(&self.addresses)
    }

    /// Starts anew after a commit. `settle` returns the address that each object has now. What it leaves in memory is looked at
    /// again when it has been used again.
    pub(crate) fn settle(&mut self, mut settle: impl FnMut(usize, &mut Object) -> Option<Address>) {
        let open = self.open();
        self.touched.clear();
        for index in open {
            let Some(object) = self.all.get_mut(index).and_then(Option::as_deref_mut) else { continue };
            let place = settle(index, object);
            self.set_address(index, place);
        }
        self.settled = self.all.len();
    }
}

/// What is known about the objects that are being written.
#[derive(Default)]
pub(crate) struct NewParts(Vec<(usize, Parts)>);

impl NewParts {
    /// Returns an empty list with room for `count` objects.
    pub(crate) fn of(count: usize) -> Self {
        Self(Vec::with_capacity(count))
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Parts> {
        let at = self.0.binary_search_by_key(&index, |&(index, _)| index).ok()?;
        self.0.get(at).map(|(_, part)| part)
    }

    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut Parts> {
        let at = self.0.binary_search_by_key(&index, |&(index, _)| index).ok()?;
        self.0.get_mut(at).map(|(_, part)| part)
    }

    /// Returns the new objects with their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Parts)> {
        self.0.iter().map(|(index, part)| (*index, part))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut Parts)> {
        self.0.iter_mut().map(|(index, part)| (*index, part))
    }

    /// Adds what is known about an object. Its number must be larger than those before it.
    pub(crate) fn push(&mut self, index: usize, part: Parts) {
        self.0.push((index, part));
    }
}

/// The addresses of the headers of all objects. An object to which nothing leads has none.
#[derive(Clone, Copy)]
pub(crate) struct Places<'a>(&'a [u64]);

impl Places<'_> {
    /// Returns the address of an object's header.
    pub(crate) fn of(&self, id: Id) -> Result<Address> {
        let known = self.0.get(id.index()).filter(|&&at| at != NOWHERE);
        present(known.copied().map(Address), "address of an object")
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
            place: None,
            origin: address.map(|address| Box::new(Origin { address: Address(address), attributes: None })),
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
            object.origin = Some(Box::new(Origin { address, attributes: None }));
            Some(address)
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
        let of = |index| objects.places().of(Id::of(index));
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
