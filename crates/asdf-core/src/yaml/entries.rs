//! Entries of a block collection that are arrays or the like: a tag, and a block mapping of plain values and short lists.
//!
//! ```text
//! flux: !core/ndarray-1.1.0
//!   source: 0
//!   datatype: float32
//!   byteorder: little
//!   shape: [640, 480]
//! ```
//!
//! Their nodes are numbered in the order of the text: the key, the value, and then what is in the value. So the number of
//! each follows from the text alone, and it is parsed when a node of it is asked for. One entry can be parsed by itself,
//! without keeping its nodes.

use std::sync::{Arc, OnceLock};

use sciformats_core::{Limits, bound};

use super::arena::{Arena, PAGE};
use super::edits::Edits;
use super::keys::Keys;
use super::node::{Content, Node, NodeId, ScalarStyle};
use super::tree::{Handles, Tree};
use super::{parse, simple};

/// Some entries of one collection: as many as have up to [`PAGE`] nodes.
#[derive(Clone, Debug)]
pub(super) struct Entries {
    /// Whole lines, the first with its indentation.
    text: String,
    /// Where they begin in the file; `None` if they were made.
    offset: Option<u64>,
    /// The column of the keys, or of the `-` of items.
    column: usize,
    is_item: bool,
    /// Bit `n` is set if the node `n` begins an entry.
    starts: u128,
    /// Where each entry ends in the text.
    ends: Vec<u32>,
    len: usize,
    /// Whether entries may be appended.
    is_open: bool,
    /// What the handles of the tags in the text stand for.
    handles: Arc<Handles>,
    /// The tag of all values, if it is known and the same.
    tag: Option<Arc<str>>,
    nodes: OnceLock<Vec<Node>>,
}

/// Where entries stand.
#[derive(Clone, Copy)]
pub(super) struct Standing {
    /// The column of the keys, or of the `-` of items.
    pub(super) column: usize,
    pub(super) is_item: bool,
}

/// The sizes of entries that follow each other.
#[derive(Clone, Copy, Default)]
pub(super) struct Sizes {
    starts: u128,
    len: usize,
}

impl Sizes {
    /// With an entry of so many nodes after the others; `None` if a page has no room for it.
    pub(super) fn and(self, nodes: usize) -> Option<Self> {
        let len = self.len.checked_add(nodes).filter(|&len| len <= PAGE)?;
        let bit = u32::try_from(self.len).ok().and_then(|place| 1u128.checked_shl(place))?;
        Some(Self { starts: self.starts | bit, len })
    }

    pub(super) fn nodes(self) -> usize {
        self.len
    }

    pub(super) fn firsts(self) -> impl Iterator<Item = usize> {
        (0..self.len).filter(move |&place| is_set(self.starts, place))
    }
}

fn is_set(bits: u128, place: usize) -> bool {
    u32::try_from(place).ok().and_then(|place| bits.checked_shr(place)).is_some_and(|bits| bits & 1 == 1)
}

/// A place in the text of a page, which no parser makes longer than 4 GiB.
pub(super) fn bound_of(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX) // a bound: the text of what is behind it is not found
}

impl Entries {
    /// Entries that stand at `offset` in a file.
    pub(super) fn new(
        (text, offset): (&str, u64),
        standing: Standing,
        (sizes, ends): (Sizes, Vec<u32>),
        handles: &Arc<Handles>,
    ) -> Self {
        let (Standing { column, is_item }, Sizes { starts, len }) = (standing, sizes);
        Self {
            text: text.into(),
            offset: Some(offset),
            column,
            is_item,
            starts,
            ends,
            len,
            is_open: false,
            handles: Arc::clone(handles),
            tag: None,
            nodes: OnceLock::new(),
        }
    }

    /// The same, whose values all have this tag.
    pub(super) fn with_tag(self, tag: Option<Arc<str>>) -> Self {
        Self { tag, ..self }
    }

    /// An entry of so many nodes that was made.
    pub(super) fn made((text, nodes): (&str, usize), is_item: bool, handles: &Arc<Handles>) -> Self {
        let handles = Arc::clone(handles);
        let (text, nodes) = (text.to_owned(), nodes.min(PAGE));
        let (column, is_open) = (0, true);
        let (offset, starts, tag) = (None, 1, None);
        let (len, nodes) = (nodes, OnceLock::new());
        let ends = vec![bound_of(text.len())];
        Self { text, offset, column, is_item, starts, ends, len, is_open, handles, tag, nodes }
    }

    /// Adds an entry that was made like the others; returns the place of its first node. `None` if it cannot be added.
    pub(super) fn append(
        &mut self,
        (text, nodes): (&str, usize),
        is_item: bool,
        handles: &Arc<Handles>,
    ) -> Option<usize> {
        let is_like = self.is_open && self.is_item == is_item && Arc::ptr_eq(&self.handles, handles);
        let place = self.len;
        let sizes = Sizes { starts: self.starts, len: place };
        let sizes = sizes.and(nodes).filter(|_| is_like && self.is_unread())?;
        self.text.push_str(text);
        self.ends.push(bound_of(self.text.len()));
        (self.starts, self.len) = (sizes.starts, sizes.len);
        Some(place)
    }

    /// Nothing is going to be appended.
    pub(super) fn close(&mut self) {
        self.is_open = false;
        self.shrink();
    }

    /// Gives back memory that the text does not need.
    pub(super) fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_unread(&self) -> bool {
        self.nodes.get().is_none()
    }

    /// Whether the text of a key may be there. Keys have no quotes and escapes inside, so it stands there as it is.
    pub(super) fn may_have(&self, key: &str) -> bool {
        self.text.contains(key)
    }

    /// Whether the node is a key or a value of the collection itself, and not inside a value.
    pub(super) fn is_entry(&self, place: usize) -> bool {
        let before = place.checked_sub(1);
        is_set(self.starts, place) || !self.is_item && before.is_some_and(|key| is_set(self.starts, key))
    }

    /// All nodes; the number of the first is `first`.
    pub(super) fn nodes(&self, first: usize) -> &Vec<Node> {
        self.nodes.get_or_init(|| {
            let read = self.parsed(&self.text, self.offset.unwrap_or_default());
            let mut nodes = read.map_or_else(Vec::new, |tree| tree.nodes.into_nodes());
            // The first node of the fragment is the collection, which is another node here.
            let image = |id: &mut NodeId| {
                let place = bound::left(id.0 as usize, 1);
                id.0 = u32::try_from(bound::sum(first, place)).unwrap_or(u32::MAX); // a bound of all ids
            };
            nodes.drain(..nodes.len().min(1));
            for node in &mut nodes {
                match &mut node.content {
                    Content::Scalar { .. } => {}
                    Content::Sequence { items, .. } => items.iter_mut().for_each(image),
                    Content::Mapping { entries, .. } => entries.iter_mut().for_each(|(key, value)| {
                        image(key);
                        image(value);
                    }),
                }
            }
            nodes
        })
    }

    /// As [`nodes`](Self::nodes), which are the caller's then.
    pub(super) fn take(&mut self, first: usize) -> Vec<Node> {
        self.nodes(first);
        self.nodes.take().unwrap_or_default()
    }

    /// The tag of a node, if that is known without parsing.
    fn tag(&self, place: usize) -> Option<Option<&str>> {
        let tag = self.tag.as_deref()?;
        let is_value = self.is_entry(place) && (self.is_item || !is_set(self.starts, place));
        Some(is_value.then_some(tag))
    }

    /// The entry that a node is in: its text, where that begins in the text of all entries, and the place of its first node.
    fn entry(&self, place: usize) -> Option<(&str, usize, usize)> {
        let last = u32::try_from(place).ok().filter(|&place| place < u128::BITS)?;
        let before = self.starts & (u128::MAX >> u128::BITS.checked_sub(last.checked_add(1)?)?);
        let number = usize::try_from(before.count_ones().checked_sub(1)?).ok()?;
        let first = usize::try_from(before.ilog2()).ok()?;
        let start = number.checked_sub(1).map_or(Some(0), |last| self.ends.get(last).copied())? as usize;
        Some((self.text.get(start..*self.ends.get(number)? as usize)?, start, first))
    }

    /// The text of a value that was made, from its tag on, if tags are still written with the same handles. It is what the
    /// value is written as, but for its indentation.
    pub(super) fn made_value(&self, place: usize, handles: &Arc<Handles>) -> Option<&str> {
        let is_value = self.is_entry(place) && (self.is_item || !is_set(self.starts, place));
        let is_as_written = is_value && self.offset.is_none() && Arc::ptr_eq(&self.handles, handles);
        let (text, ..) = self.entry(place).filter(|_| is_as_written)?;
        let (line, _) = text.split_once('\n')?;
        text.get(line.rfind(" !")?..)
    }

    /// The text of a key that was made, and of its `:`.
    pub(super) fn made_key(&self, place: usize) -> Option<&str> {
        let is_key = !self.is_item && is_set(self.starts, place) && self.offset.is_none();
        let (text, ..) = self.entry(place).filter(|_| is_key)?;
        let (line, _) = text.split_once('\n')?;
        line.get(..line.rfind(" !")?)
    }

    /// The entry that a node is in, as a tree of its own, and the place of its first node.
    fn one(&self, place: usize) -> Option<(Tree, usize)> {
        let (text, start, first) = self.entry(place)?;
        let offset = bound::sum(self.offset.unwrap_or_default(), start as u64); // a position
        Some((self.parsed(text, offset)?, first))
    }

    /// The key of an entry by itself, if that is the node.
    fn key(&self, place: usize) -> Option<Node> {
        let is_key = !self.is_item && is_set(self.starts, place);
        let (text, start, _) = self.entry(place).filter(|_| is_key)?;
        let text = text.get(self.column..)?;
        let content = match text.strip_prefix('\'') {
            Some(text) => {
                let (text, _) = text.split_once('\'')?;
                Content::Scalar { text: text.into(), style: ScalarStyle::Single }
            }
            None => {
                let (text, _) = text.split_once(':')?;
                Content::Scalar { text: text.into(), style: ScalarStyle::Plain }
            }
        };
        let place = bound::sum(start, self.column) as u64;
        let offset = self.offset.map_or(0, |offset| bound::sum(offset, place)); // a position
        Some(Node { offset, ..Node::new(content) })
    }

    fn parsed(&self, text: &str, offset: u64) -> Option<Tree> {
        let mut tree = parse::fragment((text, offset), &self.handles, self.is_item).ok()?;
        if self.offset.is_none() {
            tree.nodes.forget_offsets();
        }
        Some(tree)
    }
}

impl Tree {
    /// Lets `look` see a node and everything in it. If the node is in text that has not been parsed yet, that part of the
    /// text is parsed for this call alone, and `look` gets a tree of its own with another id for the node. A walk over very
    /// many nodes takes little memory this way.
    ///
    /// ```
    /// use asdf_core::Tree;
    ///
    /// let tree = Tree::parse("flux: {unit: km/s}\n")?;
    /// let flux = tree.get("flux").unwrap_or(tree.root());
    /// let unit = tree.with(flux, |tree, flux| tree.child(flux, "unit").and_then(|id| tree.node(id).text().map(str::to_owned)));
    /// assert_eq!(unit.as_deref(), Some("km/s"));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn with<T>(&self, id: NodeId, look: impl FnOnce(&Self, NodeId) -> T) -> T {
        let entries = self.nodes.unread_entries(id.0 as usize);
        if let Some(key) = entries.and_then(|(entries, place)| entries.key(place)) {
            let tree = Self { limits: self.limits, ..Self::of_one(key, &self.handles) };
            return look(&tree, tree.root);
        }
        match self.apart(id) {
            Some((tree, local)) => look(&tree, local),
            None => look(self, id),
        }
    }

    /// The tag of a node that has not been looked at, if that is known without parsing.
    pub(crate) fn known_tag(&self, id: NodeId) -> Option<Option<&str>> {
        let (entries, place) = self.nodes.unread_entries(id.0 as usize)?;
        entries.tag(place)
    }

    /// The text of a value that was made, from the blank before its tag on, as it is written in the first column.
    pub(super) fn made_value(&self, id: NodeId) -> Option<&str> {
        let (entries, place) = self.nodes.unread_entries(id.0 as usize)?;
        entries.made_value(place, &self.handles)
    }

    /// The text of a key that was made, as it is written, with its `:`.
    pub(super) fn made_key(&self, id: NodeId) -> Option<&str> {
        let (entries, place) = self.nodes.unread_entries(id.0 as usize)?;
        entries.made_key(place)
    }

    /// Whether the node is in text that is parsed for each look at it.
    pub(crate) fn is_apart(&self, id: NodeId) -> bool {
        self.nodes.unread_entries(id.0 as usize).is_some()
    }

    /// A tree of one node.
    fn of_one(node: Node, handles: &Arc<Handles>) -> Self {
        let mut nodes = Arena::default();
        nodes.push(node);
        let (keys, edits) = (Keys::default(), Edits::default());
        let (root, limits, handles) = (NodeId(0), Limits::default(), Arc::clone(handles));
        Self { nodes, root, handles, limits, keys, edits, has_anchors: false }
    }

    /// A node that has not been looked at, in a tree of its own.
    pub(crate) fn apart(&self, id: NodeId) -> Option<(Self, NodeId)> {
        let (entries, place) = self.nodes.unread_entries(id.0 as usize)?;
        let (mut tree, first) = entries.one(place)?;
        tree.limits = self.limits;
        tree.handles = Arc::clone(&self.handles);
        // The collection is the first node of the fragment.
        let local = place.checked_sub(first)?.checked_add(1)?;
        Some((tree, NodeId(u32::try_from(local).ok()?)))
    }

    /// Adds an entry of a block collection as its text, if that is simple enough; returns its first node, which is the key,
    /// or else the item.
    pub(crate) fn add_entry(&mut self, text: &str, is_item: bool) -> Option<NodeId> {
        let entry = simple::entry(text.as_bytes(), 0, Standing { column: 0, is_item }, Default::default())?;
        if entry.end != text.len() || entry.nodes > PAGE {
            return None;
        }
        let number = self.nodes.push_entry((text, entry.nodes), is_item, &self.handles);
        u32::try_from(number).ok().map(NodeId)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEAD: &str = "%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n---\n";

    fn array(begin: &str, indent: usize, source: usize) -> String {
        let at = " ".repeat(indent);
        let inner = format!("{at}  ");
        format!(
            "{at}{begin} !core/ndarray-1.1.0\n{inner}source: {source}\n{inner}datatype: [ascii, {source}]\n\
             {inner}byteorder: 'little'\n{inner}shape: [2, '*']  \n"
        )
    }

    fn many(begin: impl Fn(usize) -> String, indent: usize, count: usize) -> String {
        (0..count).map(|i| array(&begin(i), indent, i)).collect()
    }

    fn unread(tree: &Tree) -> usize {
        (0..tree.len()).filter(|&number| tree.nodes.is_unread(number)).count()
    }

    /// The nodes in the order of the text, without their ids.
    fn flat(tree: &Tree) -> Vec<(Option<String>, u64, String)> {
        let node = |id: NodeId| {
            let node = tree.node(id);
            let content = match &node.content {
                Content::Scalar { text, style } => format!("{text} {style:?}"),
                Content::Sequence { items, style } => format!("{} {style:?}", items.len()),
                Content::Mapping { entries, style } => format!("{} {style:?}", entries.len()),
            };
            (node.tag.as_deref().map(str::to_owned), node.offset, content)
        };
        tree.reachable().into_iter().map(node).collect()
    }

    /// A text gives the same nodes whether parts of it are kept as text or not; returns how many nodes were kept as text.
    fn check(text: &str) -> usize {
        let (kept, nodes) = (
            Tree::parse_at(text.as_bytes(), 100, &Default::default()),
            parse::document_of_nodes(text.as_bytes(), 100),
        );
        let (kept, nodes) = match (kept, nodes) {
            (Ok(kept), Ok(nodes)) => (kept, nodes),
            (kept, nodes) => {
                assert_eq!(
                    kept.map(drop).map_err(|e| e.to_string()),
                    nodes.map(drop).map_err(|e| e.to_string()),
                    "{text}"
                );
                return 0;
            }
        };
        let count = unread(&kept);
        assert_eq!(kept.count(), nodes.count());
        assert_eq!(kept.to_text().unwrap(), nodes.to_text().unwrap());
        assert_eq!(unread(&kept), count, "writing makes no nodes");
        assert!(kept.visible().len() <= nodes.reachable().len());
        for id in kept.visible() {
            let apart = kept.with(id, |tree, id| (tree.node(id).offset, tree.tag(id).map(str::to_owned)));
            assert_eq!(unread(&kept), count);
            let copy = kept.clone();
            assert_eq!(apart, (copy.node(id).offset, copy.tag(id).map(str::to_owned)));
        }
        assert_eq!(flat(&kept), flat(&nodes), "{text}");
        assert_eq!(unread(&kept), 0);
        assert!(kept.is_same(&nodes));
        count
    }

    #[test]
    fn arrays_are_kept_as_text() {
        let keys = |i: usize| if i.is_multiple_of(2) { format!("'{i:05}':") } else { format!("a{i}@n:") };
        for text in [
            many(keys, 0, 40),
            format!("a: 1\nb:\n{}c: 2\n", many(keys, 2, 40)),
            format!("a: 1\nb:\n{}c: 2\n", many(|_| "-".into(), 0, 40)),
            format!("b:\n  c:\n{}{}", many(|_| "-".into(), 4, 40), many(|i| format!("k{i}:"), 2, 40)),
            many(|_| "-".into(), 0, 40),
        ] {
            let count = check(&format!("{HEAD}{text}..."));
            assert!(count > 300, "{count}: {text}");
        }
        assert_eq!(check(&format!("{HEAD}{}", many(keys, 0, 3))), 0);
    }

    #[test]
    fn what_is_not_simple_is_parsed() {
        let many = many(|i| format!("k{i}:"), 0, 20);
        for odd in [
            "k: !core/x\n  a: 1\n   b: 2\n",
            "k: !core/x\n  a: one\n    two\n",
            "k: !core/x\n  a: one\n\n    two\n",
            "k: !core/x\n  a: one # comment\n",
            "k: !core/x\n  a: [1,\n 2]\n",
            "k: !core/x\n  a: &n 1\nl: *n\n",
            "k: !other!x\n  a: 1\n",
            "k: !core/x\n  a: [1, [2]]\n",
            "k: !core/x\n  a: 1\n\tb: 2\n",
            "k: !core/x\n  a: 1\n# comment\n  b: 2\n",
            "k: !core/x\n  a: 1\n b: 2\n",
            "k: !core/x {a: 1}\n",
            "k: !core/x\n  'a': 1\n",
            "k: !core/x\n  - 1\n",
            "k: !core/x\n  a: 1",
        ] {
            check(&format!("{HEAD}{many}{odd}"));
            check(&format!("{HEAD}{odd}{many}"));
            check(&format!("{HEAD}{many}{odd}{many}"));
        }
    }

    #[test]
    fn a_search_in_vain_makes_no_nodes() {
        let tree = Tree::parse(format!("{HEAD}{}", many(|i| format!("k{i}:"), 0, 300))).unwrap();
        let count = unread(&tree);
        assert!(count > 1000);
        for _ in 0..5 {
            assert_eq!((tree.get("none"), tree.get("7/none")), (None, None));
        }
        assert_eq!(unread(&tree), count);
        assert!(tree.get("k299/source").is_some());
    }

    #[test]
    fn nodes_inside_may_be_shared_later() {
        let text = format!("{HEAD}arrays:\n{}", many(|_| "-".into(), 0, 40));
        let mut tree = Tree::parse(&text).unwrap();
        let array = tree.get("arrays").and_then(|arrays| tree.items(arrays)).unwrap()[3];
        tree.put("again", array).unwrap();
        let inside = tree.id(array.number() + 4).unwrap();
        tree.put("inside", inside).unwrap();
        assert!(unread(&tree) > 300);
        let written = tree.to_text().unwrap();
        let read = Tree::parse(&written).unwrap();
        assert_eq!(read.get("arrays/3"), read.get("again"), "{written}");
        assert!(read.get("inside").is_some());
        assert!(read.is_same(&tree), "{written}");
    }

    #[test]
    fn arrays_that_are_added_are_text() {
        let mut tree = Tree::new();
        let root = tree.root();
        let mut nodes = Vec::new();
        for i in 0..100 {
            let key = tree.add_entry(&array(&format!("k{i}:"), 0, i), false).unwrap();
            let value = tree.id(key.number() + 1).unwrap();
            tree.push_entry(root, key, value).unwrap();
            nodes.push(tree.add_entry(&array("-", 0, i), true).unwrap());
            let plain = tree.add_plain(i.to_string());
            tree.put(&format!("n{i}"), plain).unwrap();
        }
        let list = tree.add_sequence(nodes, super::super::CollectionStyle::Block);
        tree.put("list", list).unwrap();
        let written = tree.to_text().unwrap();
        let read = Tree::parse(&written).unwrap();
        assert!(unread(&tree) >= 2000);
        assert!(read.is_same(&tree));
        assert_eq!(tree.node(tree.get("list/7/source").unwrap()).offset, 0);
        assert_eq!(tree.node(tree.get("k7/source").unwrap()).text(), Some("7"));
        assert_eq!(tree.node(tree.get("n7").unwrap()).text(), Some("7"));
    }

    proptest! {
        #[test]
        fn any_lines_are_parsed_alike(
            lines in proptest::collection::vec((0usize..4, 0usize..12), 1..12),
            at in 0usize..30,
        ) {
            const PARTS: [&str; 12] = [
                "a: 1", "b: [1, 'x']", "- !core/x", "k: !core/x", "- 2", "c:", "'q': !y", "d: two words", "#", "", "e: []", "- !core/x ",
            ];
            let odd: String = lines.iter().map(|&(indent, part)| format!("{}{}\n", "  ".repeat(indent), PARTS[part])).collect();
            let keys: Vec<String> = (0..30).map(|i| array(&format!("k{i}:"), 0, i)).collect();
            let (before, after) = keys.split_at(at);
            check(&format!("{HEAD}{}{odd}{}", before.concat(), after.concat()));
            let items: Vec<String> = (0..30).map(|i| array("-", 0, i)).collect();
            let (before, after) = items.split_at(at);
            check(&format!("{HEAD}{}{odd}{}", before.concat(), after.concat()));
        }
    }
}
