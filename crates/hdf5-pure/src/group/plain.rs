//! Links that have nothing but a name, an object and a number. They take so little memory that there can be very many.
//!
//! A link takes eight bytes beside its name, and a few bytes in the table that finds names. Its number follows from its place
//! in the list.

use std::hash::BuildHasher;

use sciformats_core::bound;

use crate::object::id::Id;
use crate::space::hash::Seed;

/// Lists up to this length are searched linearly.
const SHORT: usize = 12;
/// Stands for the object of a place that has no link, or no longer has one.
const NONE: u32 = u32::MAX;

/// A link: the end of its name in the list of names, which starts where the previous name ends; and its object.
#[derive(Clone, Copy, Debug)]
struct Place {
    end: u32,
    object: u32,
}

/// Links with consecutive numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plain {
    /// The number of the first place.
    first: i64,
    places: Vec<Place>,
    names: Vec<u8>,
    /// A hash table of places plus one, by the hashes of names; 0 means that a slot is free. It is empty if the list is short.
    table: Box<[u32]>,
    len: usize,
}

impl Plain {
    /// Returns the number of links.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of places, including those without a link.
    pub(crate) fn places(&self) -> usize {
        self.places.len()
    }

    /// Returns the number of the link at a place.
    pub(crate) fn number(&self, place: usize) -> i64 {
        // `push` refuses links whose number would overflow.
        bound::sum(self.first, i64::try_from(place).unwrap_or(i64::MAX)) // a bound
    }

    fn place_of(&self, number: i64) -> Option<usize> {
        usize::try_from(number.checked_sub(self.first)?).ok()
    }

    /// Returns the name and the object of the link at a place.
    pub(crate) fn at(&self, place: usize) -> Option<(&[u8], Id)> {
        let Place { object, .. } = *self.places.get(place)?;
        (object != NONE).then_some(())?;
        Some((self.name(place)?, Id::of(object)))
    }

    fn name(&self, place: usize) -> Option<&[u8]> {
        let end = self.places.get(place)?.end;
        let start = match place.checked_sub(1) {
            Some(before) => self.places.get(before)?.end,
            None => 0,
        };
        self.names.get(start as usize..end as usize)
    }

    /// Returns the links with their places.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (usize, &[u8], Id)> {
        let link = |place| self.at(place).map(|(name, object)| (place, name, object));
        (0..self.places.len()).filter_map(link)
    }

    /// Returns whether there is a link with that number.
    pub(crate) fn has(&self, number: i64) -> bool {
        self.place_of(number).is_some_and(|place| self.at(place).is_some())
    }

    /// Returns the place of the link of that name.
    pub(crate) fn find(&self, name: &[u8]) -> Option<usize> {
        let is_it = |place: usize| self.at(place).is_some_and(|(other, _)| other == name);
        if self.table.is_empty() {
            return (0..self.places.len()).find(|&place| is_it(place));
        }
        for slot in self.probes(name) {
            match self.table.get(slot).copied()?.checked_sub(1) {
                None => return None,
                Some(place) if is_it(place as usize) => return Some(place as usize),
                Some(_) => {}
            }
        }
        None
    }

    /// Returns the slots of the table in which a name may be, in the order in which they are searched.
    fn probes(&self, name: &[u8]) -> impl Iterator<Item = usize> + use<> {
        let mask = bound::left(self.table.len(), 1);
        let start = bound::addressable(Seed::default().hash_one(name)) & mask;
        (0..=mask).map(move |step| start.wrapping_add(step) & mask)
    }

    /// Adds a link whose name and number do not exist yet. Returns `false` if the list cannot hold it. At most `gap` places
    /// before it are left empty.
    pub(crate) fn push(&mut self, number: i64, name: &[u8], object: Id, gap: usize) -> bool {
        let end = self.names.len().checked_add(name.len()).and_then(|end| u32::try_from(end).ok());
        let Some(end) = end.filter(|_| object.number() != NONE) else { return false };
        if self.places.is_empty() {
            self.first = number;
        }
        let place = self.place_of(number).filter(|&place| place >= self.places.len());
        let Some(place) = place.filter(|&place| bound::left(place, self.places.len()) <= gap) else {
            return false;
        };
        // The table counts places from 1.
        if u32::try_from(place).ok().and_then(|place| place.checked_add(1)).is_none() {
            return false;
        }
        let last = self.places.last().map_or(0, |place| place.end);
        self.places.resize(place, Place { end: last, object: NONE });
        self.names.extend_from_slice(name);
        self.places.push(Place { end, object: object.number() });
        self.len = bound::sum(self.len, 1); // this saturates, but no list in memory is that long
        match () {
            () if bound::product(self.places.len(), 2) > self.table.len().max(SHORT) => self.index(),
            () if !self.table.is_empty() => self.enter(place),
            () => {}
        }
        true
    }

    /// Builds the table anew, with room for the list to double.
    fn index(&mut self) {
        let len = bound::product(self.places.len(), 4).checked_next_power_of_two();
        // The old table is freed before the new one is allocated.
        self.table = Box::default();
        self.table = vec![0; len.unwrap_or_default()].into();
        (0..self.places.len()).for_each(|place| self.enter(place));
    }

    fn enter(&mut self, place: usize) {
        let Some((name, _)) = self.at(place) else { return };
        let free = self.probes(name).find(|&slot| self.table.get(slot) == Some(&0));
        // A bound: `push` refuses the last place, so this never overflows.
        let entry = u32::try_from(bound::sum(place, 1)).unwrap_or_default();
        if let Some(slot) = free.and_then(|slot| self.table.get_mut(slot)) {
            *slot = entry;
        }
    }

    /// Removes the link at a place, and returns its object. The place stays empty.
    pub(crate) fn remove(&mut self, place: usize) -> Option<Id> {
        let found = self.places.get_mut(place).filter(|place| place.object != NONE)?;
        let object = std::mem::replace(&mut found.object, NONE);
        self.len = bound::left(self.len, 1);
        Some(Id::of(object))
    }

    /// Frees the memory of the table. Names can still be found, but slowly.
    pub(crate) fn forget_table(&mut self) {
        self.table = Box::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_lists_of_any_length() {
        for n in [0, 1, SHORT, SHORT + 1, 1000] {
            let mut list = Plain::default();
            for (number, i) in (7..).zip(0..n) {
                let name = format!("{i}");
                assert!(list.find(name.as_bytes()).is_none());
                assert!(list.push(number, name.as_bytes(), Id::of(5), 0));
            }
            assert_eq!((list.len(), list.places()), (n, n));
            for (number, i) in (7..).zip(0..n) {
                let place = list.find(format!("{i}").as_bytes()).unwrap();
                assert_eq!((place, list.number(place)), (i, number));
            }
            assert!(list.find(b"no").is_none() && list.find(b"").is_none());
            list.forget_table();
            assert!((0..n).all(|i| list.find(format!("{i}").as_bytes()) == Some(i)));
        }
    }

    #[test]
    fn what_is_taken_out_leaves_its_place() {
        let mut list = Plain::default();
        (0..100i64).for_each(|i| assert!(list.push(i, format!("{i}").as_bytes(), Id::of(5), 0)));
        assert_eq!(list.remove(50), Some(Id::of(5)));
        assert!(list.remove(50).is_none() && list.find(b"50").is_none() && !list.has(50) && list.has(51));
        // The same name is added again with another number.
        assert!(list.push(102, b"50", Id::of(6), 2) && list.has(102) && !list.has(101));
        let last = list.iter().next_back();
        assert_eq!((list.len(), last), (100, Some((102, &b"50"[..], Id::of(6)))));
    }

    #[test]
    fn only_numbers_behind_the_last_have_a_place() {
        let mut list = Plain::default();
        assert!(list.push(10, b"a", Id::of(1), 0));
        for (number, gap) in [(9, 9), (10, 9), (12, 0), (i64::MAX, 1000), (i64::MIN, 1000)] {
            assert!(!list.push(number, b"b", Id::of(1), gap), "{number}");
        }
        assert!(!list.push(11, b"b", Id::of(u32::MAX), 0));
        assert!(list.push(12, b"b", Id::of(1), 1));
        assert_eq!(list.iter().map(|(place, ..)| list.number(place)).collect::<Vec<_>>(), [10, 12]);
    }
}
