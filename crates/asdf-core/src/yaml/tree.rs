//! A tree of nodes in an arena. A node that is reached by more than one way has one id: an alias is the id of its anchor's node.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use sciformats_core::{Error, Limits, Result};

use super::resolve::{self, Value};
use super::{ASDF_PREFIX, YAML_PREFIX};

/// Pairs that merge keys may unfold to, above the number of all nodes.
const MAX_MERGED: u64 = 1 << 12;

/// A node of one [`Tree`]. An id means nothing in another tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(super) u32);

impl NodeId {
    /// Its number: those of one tree are the numbers below [`Tree::len`], and [`Tree::id`] takes them back.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarStyle {
    /// `text`: its type follows from the text.
    Plain,
    /// `'text'`
    Single,
    /// `"text"`
    Double,
    /// `|` and lines as they are.
    Literal,
    /// `>` and lines that are joined.
    Folded,
}

/// How a sequence or a mapping is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CollectionStyle {
    /// By indentation, one entry a line.
    Block,
    /// In brackets or braces.
    Flow,
}

/// What a node holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A text whose meaning [`Tree::value`] resolves.
    Scalar {
        /// The text, without quotes and escapes.
        text: String,
        /// How it is written.
        style: ScalarStyle,
    },
    /// Nodes in order.
    Sequence {
        /// The nodes.
        items: Vec<NodeId>,
        /// How it is written.
        style: CollectionStyle,
    },
    /// Pairs of key and value in the order of the file, merge keys and repeated keys as they stand.
    Mapping {
        /// The pairs.
        entries: Vec<(NodeId, NodeId)>,
        /// How it is written.
        style: CollectionStyle,
    },
}

/// A node: a tag and an anchor, if it has them, and its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The tag in full: handles are resolved, `!!int` is `tag:yaml.org,2002:int`.
    pub tag: Option<Arc<str>>,
    /// The name of its anchor. A node that is shared and has none gets one when it is written.
    pub anchor: Option<Box<str>>,
    /// The content.
    pub content: Content,
    /// Where it begins in the file it was read from; 0 for a node that was made.
    pub offset: u64,
}

impl Node {
    /// A node without tag and anchor.
    pub fn new(content: Content) -> Self {
        Self { tag: None, anchor: None, content, offset: 0 }
    }

    /// The text, if it is a scalar.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }
}

/// A YAML document: directives and nodes.
#[derive(Clone, Debug)]
pub struct Tree {
    pub(super) nodes: Vec<Node>,
    pub(super) root: NodeId,
    /// The `%TAG` directives: handle and prefix.
    pub(super) handles: Vec<(String, String)>,
    pub(super) limits: Limits,
}

impl Default for Tree {
    fn default() -> Self {
        Self::new()
    }
}

impl Tree {
    /// A tree whose root is an empty mapping, with the handle `!` for the standard's tags.
    pub fn new() -> Self {
        let mut tree = Self {
            nodes: Vec::new(),
            root: NodeId(0),
            handles: vec![("!".into(), ASDF_PREFIX.into())],
            limits: Limits::default(),
        };
        tree.root =
            tree.add(Node::new(Content::Mapping { entries: Vec::new(), style: CollectionStyle::Block }));
        tree
    }

    /// Parses a document: directives, `---`, one node, and `...` or the end.
    ///
    /// # Errors
    /// [`Error::Malformed`] in the `tree` at the offset in `text`; `LimitExceeded` for nesting and node counts.
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Self> {
        Self::parse_at(text.as_ref(), 0, &Limits::default())
    }

    /// As [`parse`](Self::parse), of a text that stands at `base` in its file, within `limits`.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_at(text: &[u8], base: u64, limits: &Limits) -> Result<Self> {
        super::parse::document(text, base, limits)
    }

    /// The root.
    pub fn root(&self) -> NodeId {
        self.root
    }

    /// Makes another node the root.
    pub fn set_root(&mut self, root: NodeId) {
        self.root = root;
    }

    /// The limits it was read within, which walks over it obey too.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Nodes that a walk which copies aliases may visit: far more than any real tree shares, far fewer than a tree made
    /// to unfold without end.
    pub(crate) fn unfolding_limit(&self) -> u64 {
        const FLOOR: u64 = 1 << 20;
        const FACTOR: u64 = 16;
        (self.nodes.len() as u64).saturating_mul(FACTOR).max(FLOOR).min(self.limits.items)
    }

    /// The `%TAG` directives: handles and prefixes.
    pub fn handles(&self) -> &[(String, String)] {
        &self.handles
    }

    /// Adds a `%TAG` directive, so that tags with `prefix` are written with `handle` (`!name!`).
    ///
    /// # Errors
    /// [`Error::Usage`] if the handle is not `!`, or letters, digits and hyphens between two `!`.
    pub fn add_handle(&mut self, handle: &str, prefix: &str) -> Result<()> {
        if !is_handle(handle) || prefix.is_empty() || prefix.bytes().any(|b| b <= b' ') {
            return Err(Error::usage(
                "tag handle",
                "is not `!` or a word between two `!`, or its prefix is no URI",
            ));
        }
        self.handles.retain(|(existing, _)| existing != handle);
        self.handles.push((handle.into(), prefix.into()));
        Ok(())
    }

    /// The number of nodes, those that nothing refers to any more included.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The id of a number; `None` from [`len`](Self::len) on.
    pub fn id(&self, number: u32) -> Option<NodeId> {
        ((number as usize) < self.nodes.len()).then_some(NodeId(number))
    }

    /// The node of an id.
    pub fn node(&self, id: NodeId) -> &Node {
        self.nodes.get(id.0 as usize).unwrap_or(&ABSENT)
    }

    /// The node of an id, to be changed; `None` for the id of another tree.
    pub fn node_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.nodes.get_mut(id.0 as usize)
    }

    /// Adds a node that nothing refers to yet.
    pub fn add(&mut self, node: Node) -> NodeId {
        // Four billion nodes are 400 GB; the arena cannot get there.
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(node);
        id
    }

    /// Adds a string, in quotes if its text would mean something else.
    pub fn add_str(&mut self, text: impl Into<String>) -> NodeId {
        let text = text.into();
        let style = if resolve::is_plain_string(&text) { ScalarStyle::Plain } else { ScalarStyle::Single };
        self.add(Node::new(Content::Scalar { text, style }))
    }

    /// Adds a plain scalar: a number, `null`, or any text that means by itself what it should.
    pub fn add_plain(&mut self, text: impl Into<String>) -> NodeId {
        self.add(Node::new(Content::Scalar { text: text.into(), style: ScalarStyle::Plain }))
    }

    /// Adds a scalar of a value.
    pub fn add_value(&mut self, value: &Value<'_>) -> NodeId {
        if let Value::Str(text) = value {
            return self.add_str(text.as_ref());
        }
        let id = self.add_plain(value.to_string());
        if let (Value::Bytes(_), Some(node)) = (value, self.node_mut(id)) {
            node.tag = Some(format!("{YAML_PREFIX}binary").into());
        }
        id
    }

    /// Adds a sequence.
    pub fn add_sequence(&mut self, items: Vec<NodeId>, style: CollectionStyle) -> NodeId {
        self.add(Node::new(Content::Sequence { items, style }))
    }

    /// Adds a mapping.
    pub fn add_mapping(&mut self, entries: Vec<(NodeId, NodeId)>, style: CollectionStyle) -> NodeId {
        self.add(Node::new(Content::Mapping { entries, style }))
    }

    /// Gives a node a tag, in full.
    pub fn set_tag(&mut self, id: NodeId, tag: impl Into<Arc<str>>) {
        if let Some(node) = self.node_mut(id) {
            node.tag = Some(tag.into());
        }
    }

    /// The tag of a node, in full.
    pub fn tag(&self, id: NodeId) -> Option<&str> {
        self.node(id).tag.as_deref()
    }

    /// The part after the standard's prefix, of a node that has one of its tags: `core/ndarray-1.1.0`.
    pub fn asdf_tag(&self, id: NodeId) -> Option<&str> {
        self.tag(id)?.strip_prefix(ASDF_PREFIX)
    }

    /// What a scalar means; `None` for sequences and mappings.
    ///
    /// # Errors
    /// [`Error::Malformed`] at the node for a text that its type does not allow, as `2001-02-30`.
    pub fn value(&self, id: NodeId) -> Result<Option<Value<'_>>> {
        let node = self.node(id);
        match &node.content {
            Content::Scalar { text, style } => {
                resolve::resolve(text, *style == ScalarStyle::Plain, node.tag.as_deref())
                    .map(Some)
                    .map_err(|fault| fault.at("scalar", node.offset))
            }
            _ => Ok(None),
        }
    }

    /// The items of a sequence; `None` for other nodes.
    pub fn items(&self, id: NodeId) -> Option<&[NodeId]> {
        match &self.node(id).content {
            Content::Sequence { items, .. } => Some(items),
            _ => None,
        }
    }

    /// The pairs of a mapping as they stand in the file; `None` for other nodes.
    pub fn entries(&self, id: NodeId) -> Option<&[(NodeId, NodeId)]> {
        match &self.node(id).content {
            Content::Mapping { entries, .. } => Some(entries),
            _ => None,
        }
    }

    /// The pairs of a mapping as readers see them: of a repeated key the last value at the first place, and merge keys
    /// (`<<`) unfolded before the mapping's own keys; `None` for other nodes.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a merge key whose value is no mapping; `LimitExceeded`.
    pub fn pairs(&self, id: NodeId) -> Result<Option<Vec<(NodeId, NodeId)>>> {
        let Some(entries) = self.entries(id) else { return Ok(None) };
        let mut all = Vec::with_capacity(entries.len());
        self.unfold(id, (0, &mut 0), &mut all)?;
        let mut unique: Vec<(NodeId, NodeId)> = Vec::with_capacity(all.len());
        let mut places = HashMap::new();
        for (key, value) in all {
            let place = *places.entry(self.key_identity(key)).or_insert(unique.len());
            match unique.get_mut(place) {
                Some(pair) => pair.1 = value,
                None => unique.push((key, value)),
            }
        }
        Ok(Some(unique))
    }

    /// `level` and `visits` are how deep this mapping is merged, and how many were before it.
    fn unfold(
        &self,
        id: NodeId,
        (level, visits): (usize, &mut u64),
        out: &mut Vec<(NodeId, NodeId)>,
    ) -> Result<()> {
        let limit = (self.nodes.len() as u64).saturating_add(MAX_MERGED);
        *visits = visits.saturating_add(1);
        sciformats_core::limits::within("merged mappings", *visits, limit)?;
        self.limits.depth("levels of merged mappings", level)?;
        let entries = self.entries(id).unwrap_or_default();
        let merge = |pair: &&(NodeId, NodeId)| self.is_merge_key(pair.0);
        for (_, merged) in entries.iter().filter(merge) {
            // Of several mappings the first wins: it comes last.
            let list = std::slice::from_ref(merged);
            for &mapping in self.items(*merged).unwrap_or(list).iter().rev() {
                if self.entries(mapping).is_none() {
                    let kind = sciformats_core::FaultKind::Rule("is merged, but is no mapping");
                    return Err(
                        sciformats_core::Fault::new("value", kind).at("tree", self.node(mapping).offset)
                    );
                }
                self.unfold(mapping, (level.saturating_add(1), &mut *visits), out)?;
            }
        }
        out.extend(entries.iter().filter(|pair| !merge(pair)));
        sciformats_core::limits::within("entries of merged mappings", out.len() as u64, limit).map(drop)
    }

    fn is_merge_key(&self, key: NodeId) -> bool {
        let node = self.node(key);
        let plain = |style: &ScalarStyle| *style == ScalarStyle::Plain && node.tag.is_none();
        matches!(&node.content, Content::Scalar { text, style } if text == "<<" && plain(style))
    }

    /// What makes two keys the same: the value of a scalar, or the node itself.
    fn key_identity(&self, key: NodeId) -> Result<(u8, String), NodeId> {
        match self.value(key) {
            Ok(Some(value)) => Ok((value.kind(), value.to_string())),
            _ => Err(key),
        }
    }

    /// The value under a string key of a mapping.
    pub fn child(&self, mapping: NodeId, key: &str) -> Option<NodeId> {
        let entries = self.entries(mapping)?;
        let own = entries.iter().rev().find(|(k, _)| self.is_string(*k, key)).map(|(_, value)| *value);
        if own.is_some() || !entries.iter().any(|(k, _)| self.is_merge_key(*k)) {
            return own;
        }
        let mut all = Vec::new();
        self.unfold(mapping, (0, &mut 0), &mut all).ok()?;
        all.iter().rev().find(|(k, _)| self.is_string(*k, key)).map(|(_, value)| *value)
    }

    /// Whether a node is the string `text`.
    fn is_string(&self, id: NodeId, text: &str) -> bool {
        self.node(id).text() == Some(text) && matches!(self.value(id), Ok(Some(Value::Str(_))))
    }

    /// Puts `value` under a string key of a mapping: in the place of the value there, or at the end.
    ///
    /// # Errors
    /// [`Error::Usage`] if `mapping` is none.
    pub fn insert(&mut self, mapping: NodeId, key: &str, value: NodeId) -> Result<()> {
        let place = self
            .entries(mapping)
            .and_then(|entries| entries.iter().rposition(|(k, _)| self.is_string(*k, key)));
        let new_key = if place.is_none() { Some(self.add_str(key)) } else { None };
        let Some(Node { content: Content::Mapping { entries, style }, .. }) = self.node_mut(mapping) else {
            return Err(Error::usage("node", "is no mapping"));
        };
        if let Some(pair) = place.and_then(|place| entries.get_mut(place)) {
            pair.1 = value;
        } else if let Some(key) = new_key {
            if entries.is_empty() {
                *style = CollectionStyle::Block;
            }
            entries.push((key, value));
        }
        Ok(())
    }

    /// The nodes that can be reached from the root, each once, in the order of the text.
    pub fn reachable(&self) -> Vec<NodeId> {
        let mut seen = HashSet::new();
        let mut order = Vec::new();
        let mut todo = vec![self.root];
        while let Some(id) = todo.pop() {
            if !seen.insert(id) {
                continue;
            }
            order.push(id);
            match &self.node(id).content {
                Content::Scalar { .. } => {}
                Content::Sequence { items, .. } => todo.extend(items.iter().rev()),
                Content::Mapping { entries, .. } => {
                    todo.extend(entries.iter().rev().flat_map(|(key, value)| [*value, *key]));
                }
            }
        }
        order
    }

    /// Whether two trees are the same document: directives aside, the same nodes with the same tags, texts and sharing.
    pub fn is_same(&self, other: &Self) -> bool {
        let mut known = HashMap::new();
        let mut todo = vec![(self.root, other.root)];
        while let Some((a, b)) = todo.pop() {
            match known.get(&a) {
                Some(&image) if image == b => continue,
                Some(_) => return false,
                None => known.insert(a, b),
            };
            let (left, right) = (self.node(a), other.node(b));
            let same = left.tag == right.tag
                && match (&left.content, &right.content) {
                    (Content::Scalar { .. }, Content::Scalar { .. }) => self.same_scalar(a, other, b),
                    (Content::Sequence { items: l, .. }, Content::Sequence { items: r, .. }) => {
                        todo.extend(l.iter().copied().zip(r.iter().copied()));
                        l.len() == r.len()
                    }
                    (Content::Mapping { entries: l, .. }, Content::Mapping { entries: r, .. }) => {
                        for ((lk, lv), (rk, rv)) in l.iter().zip(r) {
                            todo.extend([(*lk, *rk), (*lv, *rv)]);
                        }
                        l.len() == r.len()
                    }
                    _ => false,
                };
            if !same {
                return false;
            }
        }
        true
    }

    fn same_scalar(&self, a: NodeId, other: &Self, b: NodeId) -> bool {
        match (self.value(a), other.value(b)) {
            (Ok(Some(left)), Ok(Some(right))) => {
                left.kind() == right.kind() && left.to_string() == right.to_string()
            }
            (Err(_), Err(_)) => self.node(a).text() == other.node(b).text(),
            _ => false,
        }
    }
}

/// What an id of another tree gives.
static ABSENT: Node = Node {
    tag: None,
    anchor: None,
    content: Content::Scalar { text: String::new(), style: ScalarStyle::Plain },
    offset: 0,
};

pub(super) fn is_handle(handle: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    match handle.strip_prefix('!') {
        Some("") => true,
        Some(rest) => rest.strip_suffix('!').is_some_and(|name| name.bytes().all(word)),
        None => false,
    }
}
