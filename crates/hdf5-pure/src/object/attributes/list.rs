//! The attributes of an object, which can be found by name.

use std::collections::HashMap;

use sciformats_core::bound;

use crate::object::attributes::Attribute;

/// Lists up to this length are searched linearly, which is faster than hashing.
const SHORT: usize = 16;

/// The slots of attributes by their names.
struct Slots(HashMap<Box<[u8]>, usize>);

/// Attributes of different names, in their creation order if it is tracked.
#[derive(Default)]
pub(crate) struct AttributeList {
    /// The attributes. A removed one leaves an empty slot.
    places: Vec<Option<Attribute>>,
    /// The slots of the names. Only longer lists have this index, since most lists are short.
    names: Option<Box<Slots>>,
    len: usize,
}

impl AttributeList {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Attribute> {
        self.places.iter().flatten()
    }

    fn find(&self, name: &[u8]) -> Option<usize> {
        let is_it = |place: &Option<Attribute>| place.as_ref().is_some_and(|other| *other.name == *name);
        match self.names.as_deref() {
            Some(Slots(names)) => names.get(name).copied(),
            None => self.places.iter().position(is_it),
        }
    }

    pub(crate) fn holds(&self, name: &[u8]) -> bool {
        self.find(name).is_some()
    }

    pub(crate) fn get_mut(&mut self, name: &[u8]) -> Option<&mut Attribute> {
        let place = self.find(name)?;
        self.places.get_mut(place)?.as_mut()
    }

    /// Adds an attribute, whose name must not exist yet.
    pub(crate) fn push(&mut self, attribute: Attribute) {
        if let Some(Slots(names)) = self.names.as_deref_mut() {
            names.insert(attribute.name.clone(), self.places.len());
        }
        self.places.push(Some(attribute));
        self.len = bound::sum(self.len, 1); // this saturates, but no list in memory is that long
        if self.names.is_none() && self.places.len() > SHORT {
            let named =
                |(place, other): (usize, &Option<Attribute>)| Some((other.as_ref()?.name.clone(), place));
            self.names = Some(Box::new(Slots(self.places.iter().enumerate().filter_map(named).collect())));
        }
    }

    pub(crate) fn remove(&mut self, name: &[u8]) -> Option<Attribute> {
        let place = self.find(name)?;
        if let Some(Slots(names)) = self.names.as_deref_mut() {
            names.remove(name);
        }
        self.len = bound::left(self.len, 1);
        let removed = self.places.get_mut(place)?.take();
        if self.len == 0 {
            self.places.clear();
            self.names = None;
        }
        removed
    }

    /// Renames the attribute `name`. The new name must not exist yet. `message` is the new message, which must not be a
    /// shared one.
    pub(crate) fn rename(&mut self, name: &[u8], to: &[u8], message: Vec<u8>) {
        let Some(place) = self.find(name) else { return };
        if let Some(Slots(names)) = self.names.as_deref_mut()
            && names.remove(name).is_some()
        {
            names.insert(to.into(), place);
        }
        if let Some(Some(attribute)) = self.places.get_mut(place) {
            (attribute.name, attribute.message, attribute.shared) = (to.into(), message, None);
        }
    }
}

impl FromIterator<Attribute> for AttributeList {
    fn from_iter<I: IntoIterator<Item = Attribute>>(attributes: I) -> Self {
        let mut list = Self::default();
        attributes.into_iter().for_each(|attribute| list.push(attribute));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(name: &str) -> Attribute {
        Attribute {
            name: name.as_bytes().into(),
            message: Vec::new(),
            creation_order: None,
            committed: None,
            shared: None,
        }
    }

    fn names(list: &AttributeList) -> Vec<String> {
        list.iter().map(|attribute| String::from_utf8_lossy(&attribute.name).into_owned()).collect()
    }

    #[test]
    fn long_lists_and_short_ones_find_the_same() {
        for n in [3, SHORT, SHORT + 1, 500] {
            let mut list: AttributeList = (0..n).map(|i| attribute(&i.to_string())).collect();
            assert_eq!(list.len(), n);
            assert!(list.remove(b"1").is_some() && list.remove(b"1").is_none() && !list.holds(b"1"));
            list.rename(b"2", b"two", vec![7]);
            assert!(!list.holds(b"2") && list.get_mut(b"two").is_some_and(|found| found.message == [7]));
            list.push(attribute("1"));
            assert_eq!(list.len(), n);
            let mut expected = vec!["0".to_owned(), "two".to_owned()];
            expected.extend((3..n).map(|i| i.to_string()));
            expected.push("1".to_owned());
            assert_eq!(names(&list), expected, "{n}");
            // Removes everything, and goes on from an empty list.
            expected.iter().for_each(|name| assert!(list.remove(name.as_bytes()).is_some(), "{name}"));
            assert_eq!((list.len(), list.iter().count()), (0, 0));
            list.push(attribute("again"));
            assert!(list.holds(b"again") && !list.holds(b"0"));
        }
    }
}
