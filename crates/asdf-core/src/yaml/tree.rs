//! A tree of nodes in an arena. A node that can be reached in several ways has one id: an alias is the id of the node with the
//! anchor.

use std::sync::Arc;

use sciformats_core::{Error, Limits, Result, bound};

use super::arena::Arena;
use super::edits::Edits;
use super::keys::Keys;
use super::node::{CollectionStyle, Content, Node, NodeId, ScalarStyle};
use super::resolve::{self, Value};
use super::{ASDF_PREFIX, YAML_PREFIX};

/// Handles and their prefixes.
pub(super) type Handles = Vec<(String, String)>;

/// A YAML document: directives and nodes.
///
/// ```
/// use asdf_core::Tree;
///
/// let mut tree = Tree::parse("meta: {exposure: 30.0, filters: [red, blue]}\n")?;
/// assert_eq!(tree.get_as::<f64>("meta/exposure")?, 30.0);
/// tree.set("meta/observer", "Hubble")?;
/// let root = tree.to_text()?;
/// assert!(root.contains("{exposure: 30.0, filters: [red, blue], observer: Hubble}"));
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tree {
    pub(super) nodes: Arena,
    pub(super) root: NodeId,
    /// The `%TAG` directives: handle and prefix.
    pub(super) handles: Arc<Handles>,
    pub(super) limits: Limits,
    pub(super) keys: Keys,
    pub(super) edits: Edits,
    /// Whether the text that was read has an anchor.
    pub(super) has_anchors: bool,
}

impl Default for Tree {
    fn default() -> Self {
        Self::new()
    }
}

impl Tree {
    /// Creates a tree whose root is an empty mapping, with the handle `!` for the standard's tags.
    ///
    /// ```
    /// use asdf_core::Tree;
    ///
    /// let mut tree = Tree::new();
    /// tree.set("target", "M31")?;
    /// assert_eq!(tree.to_text()?, "%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n---\ntarget: M31\n...\n");
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn new() -> Self {
        let mut tree = Self {
            nodes: Arena::default(),
            root: NodeId(0),
            handles: Arc::new(vec![("!".into(), ASDF_PREFIX.into())]),
            limits: Limits::default(),
            keys: Keys::default(),
            edits: Edits::default(),
            has_anchors: false,
        };
        tree.root =
            tree.add(Node::new(Content::Mapping { entries: Vec::new(), style: CollectionStyle::Block }));
        tree
    }

    /// Parses a document: directives, `---`, one node, and `...` or the end.
    ///
    /// ```
    /// use asdf_core::Tree;
    ///
    /// let tree = Tree::parse("%YAML 1.1\n---\ntarget: M31\n...\n")?;
    /// assert_eq!(tree.get_as::<String>("target")?, "M31");
    /// assert_eq!(Tree::parse("a: [1, 2\n").unwrap_err().offset(), Some(9)); // where the bracket is missed
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Malformed`] in the `tree` at the offset in `text`; `LimitExceeded` if the nesting or the number of nodes is too
    /// large.
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Self> {
        Self::parse_at(text.as_ref(), 0, &Limits::default())
    }

    /// Does the same as [`parse`](Self::parse), for a text at the offset `base` of its file, within `limits`.
    ///
    /// ```
    /// use asdf_core::{Limits, Tree};
    ///
    /// let tree = Tree::parse_at(b"target: M31\n", 1000, &Limits::default())?;
    /// assert_eq!(tree.node(tree.root()).offset, 1000);
    /// assert_eq!(tree.get("target").map(|node| tree.node(node).offset), Some(1008));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse).
    pub fn parse_at(text: &[u8], base: u64, limits: &Limits) -> Result<Self> {
        super::parse::document(text, base, limits)
    }

    /// Returns the root.
    pub fn root(&self) -> NodeId {
        self.root
    }

    /// Makes another node the root.
    pub fn set_root(&mut self, root: NodeId) {
        self.edits.lose();
        self.root = root;
    }

    /// Returns the limits within which it was read. Walks over the tree obey them too.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the number of nodes that a walk which copies aliases may visit. It is far above what practical trees need, and far
    /// below what a tree can reach that expands without end.
    pub(crate) fn unfolding_limit(&self) -> u64 {
        const FLOOR: u64 = 1 << 20;
        const FACTOR: u64 = 16;
        bound::product(self.nodes.len() as u64, FACTOR).max(FLOOR).min(self.limits.items)
    }

    /// Returns the `%TAG` directives, which are handles and prefixes.
    pub fn handles(&self) -> &[(String, String)] {
        &self.handles
    }

    /// Adds a `%TAG` directive, so that tags with `prefix` are written with `handle` (`!name!`).
    ///
    /// ```
    /// use asdf_core::Tree;
    ///
    /// let mut tree = Tree::new();
    /// tree.add_handle("!survey!", "tag:example.org:survey/")?;
    /// let node = tree.set("star", "Vega")?;
    /// tree.set_tag(node, "tag:example.org:survey/star-1.0.0");
    /// assert!(tree.to_text()?.contains("star: !survey!star-1.0.0 Vega"));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if the handle is neither `!` nor letters, digits and hyphens between two `!`.
    pub fn add_handle(&mut self, handle: &str, prefix: &str) -> Result<()> {
        if !is_handle(handle) || prefix.is_empty() || prefix.bytes().any(|b| b <= b' ') {
            return Err(Error::usage(
                "tag handle",
                "is not `!` or a word between two `!`, or its prefix is not a URI",
            ));
        }
        self.edits.lose();
        let handles = Arc::make_mut(&mut self.handles);
        handles.retain(|(existing, _)| existing != handle);
        handles.push((handle.into(), prefix.into()));
        Ok(())
    }

    /// One more than the largest number of a node, nodes that nothing refers to any more included. Where a text has many
    /// arrays, not every number below it belongs to a node.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The number of nodes, nodes that nothing refers to any more included.
    ///
    /// ```
    /// assert_eq!(asdf_core::Tree::parse("gain: 1.5\n")?.count(), 3); // a mapping, a key and a value
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn count(&self) -> usize {
        self.nodes.count()
    }

    /// Whether the text that the tree was read from has an anchor. Without one, each of its nodes is reached in one way.
    ///
    /// ```
    /// use asdf_core::Tree;
    ///
    /// assert!(Tree::parse("dark: &d 0\nsame: *d\n")?.has_anchors());
    /// assert!(!Tree::parse("dark: 0\n")?.has_anchors());
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn has_anchors(&self) -> bool {
        self.has_anchors
    }

    /// Returns whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() == 0
    }

    /// Returns the id of a number; `None` if the number is not below [`len`](Self::len).
    pub fn id(&self, number: u32) -> Option<NodeId> {
        ((number as usize) < self.nodes.len()).then_some(NodeId(number))
    }

    /// Returns the node with an id.
    pub fn node(&self, id: NodeId) -> &Node {
        self.nodes.get(id.0 as usize).unwrap_or(&ABSENT)
    }

    /// Returns the node with an id so that it can be changed; `None` for the id of another tree.
    ///
    /// ```
    /// use asdf_core::Tree;
    ///
    /// let mut tree = Tree::new();
    /// let dark = tree.set("dark", &[0, 1])?;
    /// if let Some(node) = tree.node_mut(dark) {
    ///     node.anchor = Some("dark".into());
    /// }
    /// tree.put("same", dark)?;
    /// assert!(tree.to_text()?.contains("same: *dark"));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn node_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.keys.forget(id, self.nodes.is_single(id.0 as usize));
        self.edits.touch(id);
        self.nodes.get_mut(id.0 as usize)
    }

    /// Adds a node to which nothing refers yet.
    ///
    /// ```
    /// use asdf_core::yaml::{Content, Node, ScalarStyle, Tree};
    ///
    /// let mut tree = Tree::new();
    /// let node = tree.add(Node::new(Content::Scalar { text: "M31".into(), style: ScalarStyle::Double }));
    /// tree.put("target", node)?; // now something refers to it
    /// assert!(tree.to_text()?.contains("target: \"M31\""));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn add(&mut self, node: Node) -> NodeId {
        // Four billion nodes would need 400 GB, so the arena cannot become that large.
        NodeId(u32::try_from(self.nodes.push(node)).unwrap_or(u32::MAX)) // a bound, which no memory reaches
    }

    /// Adds a string. It is in quotes if its text would have another meaning without them.
    ///
    /// ```
    /// use asdf_core::Tree;
    ///
    /// let mut tree = Tree::new();
    /// let (name, code) = (tree.add_str("Vega"), tree.add_str("017"));
    /// tree.put("name", name)?;
    /// tree.put("code", code)?;
    /// assert!(tree.to_text()?.contains("name: Vega\ncode: '017'\n"));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn add_str(&mut self, text: impl Into<String>) -> NodeId {
        let text = text.into();
        let style = if resolve::is_plain_string(&text) { ScalarStyle::Plain } else { ScalarStyle::Single };
        self.add(Node::new(Content::Scalar { text, style }))
    }

    /// Adds a plain scalar: a number, `null`, or any text whose meaning without quotes is intended.
    ///
    /// ```
    /// use asdf_core::Tree;
    /// use asdf_core::yaml::Value;
    ///
    /// let mut tree = Tree::new();
    /// let gain = tree.add_plain("0x1F");
    /// assert_eq!(tree.value(gain)?, Some(Value::Int(31)));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn add_plain(&mut self, text: impl Into<String>) -> NodeId {
        self.add(Node::new(Content::Scalar { text: text.into(), style: ScalarStyle::Plain }))
    }

    /// Adds a scalar with this value.
    ///
    /// ```
    /// use asdf_core::Tree;
    /// use asdf_core::yaml::Value;
    ///
    /// let mut tree = Tree::new();
    /// let node = tree.add_value(&Value::Bytes(b"raw".to_vec()));
    /// assert_eq!(tree.value(node)?, Some(Value::Bytes(b"raw".to_vec())));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
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
    ///
    /// ```
    /// use asdf_core::yaml::{CollectionStyle, Tree};
    ///
    /// let mut tree = Tree::new();
    /// let items = ["red", "blue"].map(|name| tree.add_str(name)).to_vec();
    /// let filters = tree.add_sequence(items, CollectionStyle::Flow);
    /// tree.put("filters", filters)?;
    /// assert!(tree.to_text()?.contains("filters: [red, blue]"));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn add_sequence(&mut self, items: Vec<NodeId>, style: CollectionStyle) -> NodeId {
        self.add(Node::new(Content::Sequence { items, style }))
    }

    /// Adds a mapping.
    ///
    /// ```
    /// use asdf_core::yaml::{CollectionStyle, Tree};
    ///
    /// let mut tree = Tree::new();
    /// let pair = (tree.add_str("gain"), tree.add_plain("1.5"));
    /// let camera = tree.add_mapping(vec![pair], CollectionStyle::Flow);
    /// tree.put("camera", camera)?;
    /// assert!(tree.to_text()?.contains("camera: {gain: 1.5}"));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn add_mapping(&mut self, entries: Vec<(NodeId, NodeId)>, style: CollectionStyle) -> NodeId {
        self.add(Node::new(Content::Mapping { entries, style }))
    }

    /// Gives a sequence or a mapping another style. Scalars are not changed.
    ///
    /// ```
    /// use asdf_core::yaml::{CollectionStyle, Tree};
    ///
    /// let mut tree = Tree::new();
    /// let shape = tree.set("shape", &[640, 480])?;
    /// tree.set_style(shape, CollectionStyle::Flow);
    /// assert!(tree.to_text()?.contains("shape: [640, 480]"));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn set_style(&mut self, id: NodeId, new: CollectionStyle) {
        let content = self.node_mut(id).map(|node| &mut node.content);
        if let Some(Content::Sequence { style, .. } | Content::Mapping { style, .. }) = content {
            *style = new;
        }
    }

    /// Appends an item to a sequence.
    ///
    /// ```
    /// use asdf_core::Tree;
    ///
    /// let mut tree = Tree::new();
    /// let filters = tree.set("filters", &["red"])?;
    /// let blue = tree.add_str("blue");
    /// tree.push(filters, blue)?;
    /// assert_eq!(tree.get_as::<Vec<String>>("filters")?, ["red", "blue"]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if the node is not a sequence.
    pub fn push(&mut self, sequence: NodeId, item: NodeId) -> Result<()> {
        self.edits.touch(sequence);
        match self.nodes.get_mut(sequence.0 as usize).map(|node| &mut node.content) {
            Some(Content::Sequence { items, .. }) => {
                items.push(item);
                Ok(())
            }
            _ => Err(Error::usage("node", "is not a sequence, so nothing can be appended to it")),
        }
    }

    /// Adds an entry at the end of a mapping.
    ///
    /// # Errors
    /// [`Error::Usage`] if the node is no mapping.
    pub(crate) fn push_entry(&mut self, mapping: NodeId, key: NodeId, value: NodeId) -> Result<()> {
        self.keys.forget_mapping(mapping);
        self.edits.touch(mapping);
        match self.nodes.get_mut(mapping.0 as usize).map(|node| &mut node.content) {
            Some(Content::Mapping { entries, .. }) => {
                entries.push((key, value));
                Ok(())
            }
            _ => Err(Error::usage("node", "is not a mapping")),
        }
    }

    /// Gives a node a tag, which must be the full tag.
    ///
    /// ```
    /// use asdf_core::Tree;
    /// use asdf_core::yaml::ASDF_PREFIX;
    ///
    /// let mut tree = Tree::new();
    /// let unit = tree.set("unit", "km/s")?;
    /// tree.set_tag(unit, format!("{ASDF_PREFIX}unit/unit-1.0.0"));
    /// assert!(tree.to_text()?.contains("unit: !unit/unit-1.0.0 km/s"));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn set_tag(&mut self, id: NodeId, tag: impl Into<Arc<str>>) {
        if let Some(node) = self.node_mut(id) {
            node.tag = Some(tag.into());
        }
    }

    /// Returns the full tag of a node.
    ///
    /// ```
    /// use asdf_core::Tree;
    ///
    /// let tree = Tree::parse("%TAG ! tag:stsci.edu:asdf/\n---\n!unit/unit-1.0.0 km/s\n")?;
    /// assert_eq!(tree.tag(tree.root()), Some("tag:stsci.edu:asdf/unit/unit-1.0.0"));
    /// assert_eq!(tree.asdf_tag(tree.root()), Some("unit/unit-1.0.0"));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn tag(&self, id: NodeId) -> Option<&str> {
        self.node(id).tag.as_deref()
    }

    /// Returns the part of a tag after the standard's prefix, such as `core/ndarray-1.1.0`; `None` if the node has no such tag.
    pub fn asdf_tag(&self, id: NodeId) -> Option<&str> {
        self.tag(id)?.strip_prefix(ASDF_PREFIX)
    }

    /// Returns the meaning of a scalar; `None` for sequences and mappings.
    ///
    /// ```
    /// use asdf_core::Tree;
    /// use asdf_core::yaml::Value;
    ///
    /// let tree = Tree::parse("[0x1F, '0x1F']\n")?;
    /// let items = tree.items(tree.root()).unwrap_or_default();
    /// assert_eq!(tree.value(items[0])?, Some(Value::Int(31)));
    /// assert_eq!(tree.value(items[1])?, Some(Value::Str("0x1F".into())));
    /// assert_eq!(tree.value(tree.root())?, None);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Malformed`] at the node if its type does not allow the text, such as `2001-02-30`.
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

    /// Returns the value of a scalar as if it had no tag.
    pub(super) fn value_without_tag(&self, id: NodeId) -> Result<Option<Value<'_>>> {
        let node = self.node(id);
        let Content::Scalar { text, style } = &node.content else { return Ok(None) };
        let value = resolve::resolve(text, *style == ScalarStyle::Plain, None);
        value.map(Some).map_err(|fault| fault.at("scalar", node.offset))
    }

    /// Returns the items of a sequence; `None` for other nodes.
    ///
    /// ```
    /// use asdf_core::Tree;
    ///
    /// let tree = Tree::parse("[red, blue]\n")?;
    /// let items = tree.items(tree.root()).unwrap_or_default();
    /// let names: Vec<_> = items.iter().map(|&item| tree.node(item).text()).collect();
    /// assert_eq!(names, [Some("red"), Some("blue")]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn items(&self, id: NodeId) -> Option<&[NodeId]> {
        match &self.node(id).content {
            Content::Sequence { items, .. } => Some(items),
            _ => None,
        }
    }

    /// Returns the pairs of a mapping as they are in the file; `None` for other nodes.
    ///
    /// ```
    /// use asdf_core::Tree;
    ///
    /// let tree = Tree::parse("{gain: 1.5, dark: 0}\n")?;
    /// let entries = tree.entries(tree.root()).unwrap_or_default();
    /// let keys: Vec<_> = entries.iter().map(|(key, _)| tree.node(*key).text()).collect();
    /// assert_eq!(keys, [Some("gain"), Some("dark")]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn entries(&self, id: NodeId) -> Option<&[(NodeId, NodeId)]> {
        match &self.node(id).content {
            Content::Mapping { entries, .. } => Some(entries),
            _ => None,
        }
    }
}

/// The node that is returned for an id of another tree.
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
