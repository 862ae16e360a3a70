//! The nodes of a tree.

use std::sync::Arc;

#[cfg(doc)]
use super::tree::Tree;

/// A node of one [`Tree`]. An id has no meaning in another tree.
///
/// ```
/// use asdf_core::Tree;
///
/// let tree = Tree::parse("dark: &d [0, 1]\nsame: *d\n")?;
/// assert_eq!(tree.get("dark"), tree.get("same")); // an alias is the node itself
/// assert_eq!(tree.id(tree.root().number()), Some(tree.root()));
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(super) u32);

impl NodeId {
    /// Returns its number. Those of one tree are the numbers below [`Tree::len`]; [`Tree::id`] is the inverse.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// How a scalar is written.
///
/// ```
/// use asdf_core::yaml::{Content, Node, ScalarStyle, Tree};
///
/// let mut tree = Tree::new();
/// let note = Content::Scalar { text: "first line\nsecond line\n".into(), style: ScalarStyle::Literal };
/// let node = tree.add(Node::new(note));
/// tree.put("note", node)?;
/// assert!(tree.to_text()?.contains("note: |\n  first line\n  second line\n"));
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarStyle {
    /// `text`, whose type follows from the text.
    Plain,
    /// `'text'`
    Single,
    /// `"text"`
    Double,
    /// `|` and lines that are kept.
    Literal,
    /// `>` and lines that are folded.
    Folded,
}

/// How a sequence or a mapping is written.
///
/// ```
/// use asdf_core::yaml::{CollectionStyle, Tree};
///
/// let mut tree = Tree::parse("filters: [red, blue]\n")?;
/// let filters = tree.get("filters").unwrap_or(tree.root());
/// tree.set_style(filters, CollectionStyle::Block);
/// assert_eq!(tree.to_text()?, "%YAML 1.1\n---\nfilters:\n- red\n- blue\n...\n");
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CollectionStyle {
    /// With indentation, one entry per line.
    Block,
    /// In brackets or braces.
    Flow,
}

/// The content of a node.
///
/// ```
/// use asdf_core::yaml::{Content, Tree};
///
/// let tree = Tree::parse("filters: [red, blue]\n")?;
/// let sizes: Vec<usize> = tree.reachable().into_iter().map(|node| match &tree.node(node).content {
///     Content::Scalar { text, .. } => text.len(),
///     Content::Sequence { items, .. } => items.len(),
///     Content::Mapping { entries, .. } => entries.len(),
/// }).collect();
/// assert_eq!(sizes, [1, 7, 2, 3, 4]); // the mapping, its key, the sequence, its items
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A text. [`Tree::value`] returns its meaning.
    Scalar {
        /// The text without quotes and escapes.
        text: String,
        /// How it is written.
        style: ScalarStyle,
    },
    /// A list of nodes.
    Sequence {
        /// The nodes.
        items: Vec<NodeId>,
        /// How it is written.
        style: CollectionStyle,
    },
    /// Pairs of key and value in the order of the file, including merge keys and repeated keys.
    Mapping {
        /// The pairs.
        entries: Vec<(NodeId, NodeId)>,
        /// How it is written.
        style: CollectionStyle,
    },
}

/// A node: its content, and its tag and anchor if it has them.
///
/// ```
/// use asdf_core::Tree;
///
/// let tree = Tree::parse("dark: !!str &d 017\n")?;
/// let node = tree.node(tree.get("dark").unwrap_or(tree.root()));
/// assert_eq!((node.text(), node.tag.as_deref()), (Some("017"), Some("tag:yaml.org,2002:str")));
/// assert_eq!(node.anchor.as_deref(), Some("d"));
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The full tag: handles are resolved, so `!!int` is `tag:yaml.org,2002:int`.
    pub tag: Option<Arc<str>>,
    /// The name of its anchor. A shared node without a name gets one when it is written.
    pub anchor: Option<Box<str>>,
    /// The content.
    pub content: Content,
    /// Its offset in the file from which it was read; 0 for a node that was created.
    pub offset: u64,
}

impl Node {
    /// Returns a node without tag and anchor.
    pub fn new(content: Content) -> Self {
        Self { tag: None, anchor: None, content, offset: 0 }
    }

    /// Returns the text, if it is a scalar.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }
}
