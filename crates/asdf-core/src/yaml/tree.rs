//! A tree of nodes in an arena. A node that is reached by more than one way has one id: an alias is the id of its anchor's node.

use std::sync::Arc;

use sciformats_core::{Error, Limits, Result};

use super::keys::Keys;
use super::resolve::{self, Value};
use super::{ASDF_PREFIX, YAML_PREFIX};

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
    pub(super) keys: Keys,
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
            keys: Keys::default(),
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
        self.keys.forget(id);
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

    /// Gives a sequence or a mapping another style; scalars stay as they are.
    pub fn set_style(&mut self, id: NodeId, new: CollectionStyle) {
        let content = self.node_mut(id).map(|node| &mut node.content);
        if let Some(Content::Sequence { style, .. } | Content::Mapping { style, .. }) = content {
            *style = new;
        }
    }

    /// Appends an item to a sequence.
    ///
    /// # Errors
    /// [`Error::Usage`] if the node is no sequence.
    pub fn push(&mut self, sequence: NodeId, item: NodeId) -> Result<()> {
        match self.nodes.get_mut(sequence.0 as usize).map(|node| &mut node.content) {
            Some(Content::Sequence { items, .. }) => {
                items.push(item);
                Ok(())
            }
            _ => Err(Error::usage("node", "is no sequence")),
        }
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
