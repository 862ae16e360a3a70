//! The objects of a plan, in compact columns: there may be very many of them.
//!
//! An object takes 48 bytes, a link 24 bytes and its name, an attribute 32 bytes and its elements. Descriptions of arrays
//! and names of attributes are shared, and no path is stored: the link that an object was put at leads to its group, and
//! so on up to the root. While a plan is made, links and attributes are in the order in which they were added. They are
//! sorted once, when the plan is complete.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::Arc;

use sciformats::model::{ArrayInfo, ElementType, Name, ObjectId, Value};
use sciformats_core::bound;

/// An object of the target, and how it is reached.
pub(super) struct Node {
    pub(super) body: Body,
    /// The link that it was put at; `None` for the root.
    place: Option<u32>,
    /// Whether several hard links lead to the object.
    pub(super) shared: bool,
}

pub(super) enum Body {
    Group,
    Array(Taken),
    /// An array that is not an array in the origin.
    Made(Made),
    Datatype(Box<ElementType>),
    Value(Box<Value>),
}

/// An array of the origin.
pub(super) struct Taken {
    pub(super) id: ObjectId,
    /// Its description in the origin, and in the target.
    pub(super) origin: Arc<ArrayInfo>,
    pub(super) info: Arc<ArrayInfo>,
    /// What few arrays have.
    pub(super) rare: Option<Box<Rare>>,
}

/// What few arrays have.
#[derive(Default)]
pub(super) struct Rare {
    /// The path in the origin, if it is not the path in the target.
    pub(super) path: Option<Box<str>>,
    /// The dimensions of elements that are arrays themselves, if they become dimensions of the array.
    pub(super) inner: Vec<u64>,
}

/// An array whose canonical bytes are in the table.
#[derive(Clone)]
pub(super) struct Made {
    pub(super) info: Arc<ArrayInfo>,
    bytes: Range<usize>,
}

impl Taken {
    /// The dimensions of elements that are arrays themselves, if they become dimensions of the array.
    pub(super) fn inner(&self) -> &[u64] {
        self.rare.as_ref().map(|rare| rare.inner.as_slice()).unwrap_or_default()
    }
}

/// What a name leads to.
#[derive(Clone, Debug)]
pub(super) enum Link {
    Hard(usize),
    Soft(Name),
    External(Name, Name),
}

#[derive(Clone, Copy)]
enum Target {
    Node(u32),
    /// A link of another kind, by its place in the list of these.
    Other(u32),
}

struct Entry {
    group: u32,
    target: Target,
    /// Where the name begins in the text of all names, and its length.
    name: usize,
    len: u32,
}

struct Attribute {
    node: u32,
    /// The name's place in the list of names.
    name: u32,
    info: Arc<ArrayInfo>,
    bytes: Range<usize>,
}

/// All objects.
#[derive(Default)]
pub(super) struct Table {
    nodes: Vec<Node>,
    links: Vec<Entry>,
    /// The links of other kinds than hard ones.
    others: Vec<Link>,
    names: Vec<u8>,
    hasher: RandomState,
    /// The links by the hashes of their groups and names. If two of them have the same hash, the second one has the next.
    by_name: HashMap<u64, u32>,
    /// The links, sorted by group and name.
    sorted: Vec<u32>,
    attributes: Vec<Attribute>,
    attribute_names: Vec<Name>,
    attribute_numbers: HashMap<Name, u32>,
    /// The canonical bytes of attributes and small arrays.
    bytes: Vec<u8>,
}

/// A number of a node, link or name. Memory ends before there are so many that one does not fit.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX) // a bound that memory ends before
}

/// The number of the root, which is the object that is added first.
const ROOT: usize = 0;

impl Table {
    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub(super) fn node(&self, node: usize) -> Option<&Node> {
        self.nodes.get(node)
    }

    pub(super) fn node_mut(&mut self, node: usize) -> Option<&mut Node> {
        self.nodes.get_mut(node)
    }

    /// Adds an object that no link leads to yet; returns its number.
    pub(super) fn add(&mut self, body: Body) -> usize {
        self.nodes.push(Node { body, place: None, shared: false });
        bound::left(self.nodes.len(), 1)
    }

    /// Removes the object that was added last, to which no link leads.
    pub(super) fn remove_last(&mut self) {
        self.nodes.pop();
    }

    /// Adds canonical bytes of an array.
    pub(super) fn made(&mut self, info: Arc<ArrayInfo>, bytes: &[u8]) -> Made {
        Made { info, bytes: self.store(bytes) }
    }

    fn store(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len()
    }

    /// The canonical bytes of an array.
    pub(super) fn bytes(&self, made: &Made) -> &[u8] {
        self.bytes.get(made.bytes.clone()).unwrap_or_default()
    }

    fn name(&self, entry: &Entry) -> &[u8] {
        let end = bound::sum(entry.name, entry.len as usize);
        self.names.get(entry.name..end).unwrap_or_default()
    }

    fn is_group(&self, node: usize) -> bool {
        matches!(self.nodes.get(node), Some(Node { body: Body::Group, .. }))
    }

    /// The link of this name, or the hash that a new one gets.
    fn find(&self, group: u32, name: &[u8]) -> Result<&Entry, u64> {
        let mut hash = self.hasher.hash_one((group, name));
        while let Some(entry) = self.by_name.get(&hash).and_then(|&link| self.links.get(link as usize)) {
            if entry.group == group && self.name(entry) == name {
                return Ok(entry);
            }
            hash = hash.wrapping_add(1); // the hash that follows the largest one is 0
        }
        Err(hash)
    }

    /// The link of this name, before and after the links are sorted.
    fn entry(&self, group: u32, name: &[u8]) -> Option<&Entry> {
        if self.sorted.is_empty() {
            return self.find(group, name).ok();
        }
        let link = |link: &u32| self.links.get(*link as usize);
        let key = |one: &u32| link(one).map(|entry| (entry.group, self.name(entry)));
        let at = self.sorted.binary_search_by(|one| key(one).cmp(&Some((group, name)))).ok()?;
        link(self.sorted.get(at)?)
    }

    /// What a name in a group leads to.
    pub(super) fn member(&self, group: usize, name: &[u8]) -> Option<Link> {
        self.entry(number(group), name).map(|entry| self.link_of(entry))
    }

    /// The object that was put at a name in a group. Another link to an object does not count.
    pub(super) fn placed(&self, group: usize, name: &[u8]) -> Option<usize> {
        let entry = self.entry(number(group), name)?;
        let Target::Node(node) = entry.target else { return None };
        let place = self.nodes.get(node as usize)?.place?;
        let is_place = self.links.get(place as usize).is_some_and(|place| std::ptr::eq(place, entry));
        is_place.then_some(node as usize)
    }

    fn link_of(&self, entry: &Entry) -> Link {
        let other = |place: u32| self.others.get(place as usize).cloned();
        match entry.target {
            Target::Node(node) => Link::Hard(node as usize),
            Target::Other(place) => other(place).unwrap_or(Link::Soft(Name::default())),
        }
    }

    /// Adds a link to a group. Returns false if the name was taken, or the node is not a group.
    pub(super) fn link(&mut self, group: usize, name: &Name, link: Link) -> bool {
        let Err(hash) = self.find(number(group), name.as_bytes()) else { return false };
        if !self.is_group(group) {
            return false;
        }
        let place = number(self.links.len());
        let target = match link {
            Link::Hard(node) => {
                // A link that leads back to the root is not where the root is.
                if let Some(node) = self.nodes.get_mut(node).filter(|_| node != ROOT) {
                    node.place.get_or_insert(place);
                }
                Target::Node(number(node))
            }
            other => {
                self.others.push(other);
                Target::Other(number(bound::left(self.others.len(), 1)))
            }
        };
        let (start, len) = (self.names.len(), number(name.as_bytes().len()));
        self.names.extend_from_slice(name.as_bytes());
        self.links.push(Entry { group: number(group), target, name: start, len });
        self.by_name.insert(hash, place);
        true
    }

    /// The names on the way from the root to an object, from the last to the first.
    pub(super) fn way(&self, node: usize) -> impl Iterator<Item = Name> {
        let mut next = self.nodes.get(node).and_then(|node| node.place);
        std::iter::from_fn(move || {
            let entry = self.links.get(next? as usize)?;
            next = self.nodes.get(entry.group as usize).and_then(|group| group.place);
            Some(Name::from(self.name(entry)))
        })
    }

    /// The number of links that are not hard links.
    pub(super) fn other_links(&self) -> usize {
        self.others.len()
    }

    /// Adds an attribute. Of several with the same name, an object keeps the last one.
    pub(super) fn attach(&mut self, node: usize, name: Name, info: Arc<ArrayInfo>, bytes: &[u8]) {
        let place = match self.attribute_numbers.get(&name) {
            Some(place) => *place,
            None => {
                let place = number(self.attribute_names.len());
                self.attribute_names.push(name.clone());
                self.attribute_numbers.insert(name, place);
                place
            }
        };
        let bytes = self.store(bytes);
        self.attributes.push(Attribute { node: number(node), name: place, info, bytes });
    }

    /// Sorts everything, when nothing will be added any more.
    pub(super) fn sort(&mut self) {
        let mut sorted: Vec<u32> = (0..number(self.links.len())).collect();
        let key = |link: &u32| self.links.get(*link as usize).map(|entry| (entry.group, self.name(entry)));
        // Groups and names mostly come in their order, which this sort makes use of.
        sorted.sort_by(|a, b| key(a).cmp(&key(b)));
        self.sorted = sorted;
        // From now on, links are found in their order.
        self.by_name = HashMap::new();
        let names = &self.attribute_names;
        let key = |one: &Attribute| (one.node, names.get(one.name as usize));
        self.attributes.sort_by(|a, b| key(a).cmp(&key(b)));
        self.attributes.dedup_by(|later, earlier| {
            let is_same = (later.node, later.name) == (earlier.node, earlier.name);
            if is_same {
                std::mem::swap(later, earlier);
            }
            is_same
        });
        self.attribute_numbers = HashMap::new();
        self.nodes.shrink_to_fit();
        self.links.shrink_to_fit();
        self.names.shrink_to_fit();
        self.bytes.shrink_to_fit();
        self.attributes.shrink_to_fit();
    }

    /// The members of a group, in byte order of their names.
    pub(super) fn members(&self, group: usize) -> impl Iterator<Item = (Name, Link)> {
        let group_of = |link: &u32| self.links.get(*link as usize).map(|entry| entry.group);
        let start = self.sorted.partition_point(|link| group_of(link) < Some(number(group)));
        let members = self.sorted.get(start..).unwrap_or_default().iter();
        members
            .map_while(move |link| {
                self.links.get(*link as usize).filter(|entry| entry.group as usize == group)
            })
            .map(|entry| (Name::from(self.name(entry)), self.link_of(entry)))
    }

    /// The attributes of an object, in byte order of their names.
    pub(super) fn attributes(&self, node: usize) -> impl Iterator<Item = (&Name, &Arc<ArrayInfo>, &[u8])> {
        let attributes = self.attributes.get(self.attributes_of(node)).unwrap_or_default();
        attributes.iter().filter_map(|one| {
            let bytes = self.bytes.get(one.bytes.clone()).unwrap_or_default();
            Some((self.attribute_names.get(one.name as usize)?, &one.info, bytes))
        })
    }

    fn attributes_of(&self, node: usize) -> Range<usize> {
        let start = self.attributes.partition_point(|one| (one.node as usize) < node);
        let end = self.attributes.partition_point(|one| one.node as usize <= node);
        start..end
    }

    pub(super) fn attribute_count(&self) -> usize {
        self.attributes.len()
    }

    /// Gives attributes whose type satisfies `applies` the bytes that `change` returns. It is given the node, the name, the
    /// type and the bytes.
    pub(super) fn change_attributes(
        &mut self,
        applies: impl Fn(&ElementType) -> bool,
        mut change: impl FnMut(usize, &Name, &ElementType, &[u8]) -> Option<Vec<u8>>,
    ) {
        let Self { attributes, attribute_names, bytes, .. } = self;
        for one in attributes.iter_mut().filter(|one| applies(&one.info.element)) {
            let Some(name) = attribute_names.get(one.name as usize) else { continue };
            let old = bytes.get(one.bytes.clone()).unwrap_or_default();
            if let Some(new) = change(one.node as usize, name, &one.info.element, old) {
                let start = bytes.len();
                bytes.extend_from_slice(&new);
                one.bytes = start..bytes.len();
            }
        }
    }

    pub(super) fn has_attributes_of(&self, applies: impl Fn(&ElementType) -> bool) -> bool {
        self.attributes.iter().any(|one| applies(&one.info.element))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(table: &Table, group: usize) -> Vec<String> {
        table.members(group).map(|(name, link)| format!("{name} {link:?}")).collect()
    }

    #[test]
    fn links_are_found_and_listed_in_order() {
        let mut table = Table::default();
        let root = table.add(Body::Group);
        let group = table.add(Body::Group);
        let value = table.add(Body::Value(Box::new(Value::Null)));
        assert!(table.link(root, &"z".into(), Link::Hard(group)));
        assert!(table.link(group, &"b".into(), Link::Hard(value)));
        assert!(table.link(root, &"a".into(), Link::Soft("/z".into())));
        assert!(table.link(group, &"a".into(), Link::Hard(value)));
        assert!(!table.link(group, &"a".into(), Link::Hard(root)), "the name is taken");
        assert!(!table.link(value, &"a".into(), Link::Hard(root)), "this is not a group");
        assert!(table.link(group, &"up".into(), Link::Hard(root)));
        table.sort();
        assert_eq!(table.way(root).count(), 0, "a link back to the root is not its place");
        assert_eq!(names(&table, root), [r#"a Soft("/z")"#, "z Hard(1)"]);
        assert_eq!(names(&table, group), ["a Hard(2)", "b Hard(2)", "up Hard(0)"]);
        assert_eq!(names(&table, value), [""; 0]);
        let way: Vec<String> = table.way(value).map(|name| name.to_string()).collect();
        assert_eq!(way, ["b", "z"], "an object is where it was put first");
        assert!(matches!(table.member(root, b"z"), Some(Link::Hard(1))));
        assert!(table.member(root, b"b").is_none());
        assert_eq!(table.other_links(), 1);
    }

    #[test]
    fn the_last_attribute_of_a_name_counts() {
        let mut table = Table::default();
        let (root, other) = (table.add(Body::Group), table.add(Body::Group));
        let info = Arc::new(ArrayInfo::new(ElementType::UInt(1), [1]));
        for (node, name, byte) in
            [(other, "b", 1), (root, "z", 2), (other, "a", 3), (other, "b", 4), (root, "z", 5)]
        {
            table.attach(node, name.into(), Arc::clone(&info), &[byte]);
        }
        table.sort();
        let all = |table: &Table, node| -> Vec<(String, Vec<u8>)> {
            table.attributes(node).map(|(name, _, bytes)| (name.to_string(), bytes.to_vec())).collect()
        };
        assert_eq!(all(&table, root), [("z".to_owned(), vec![5])]);
        assert_eq!(all(&table, other), [("a".to_owned(), vec![3]), ("b".to_owned(), vec![4])]);
        assert_eq!(table.attribute_count(), 3);
        table
            .change_attributes(|_| true, |node, _, _, bytes| (node == 1 && bytes == [3]).then(|| vec![7, 8]));
        assert_eq!(all(&table, other), [("a".to_owned(), vec![7, 8]), ("b".to_owned(), vec![4])]);
    }
}
