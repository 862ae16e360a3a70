//! Changes in a tree since it was read, as long as only values of single entries have changed. The rest of the text in the file
//! can then stay.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::node::{Content, Node, NodeId, ScalarStyle};
use super::tree::Tree;
use super::{emit, resolve};

/// The text from which a tree was read, and the changes of its entries since then.
#[derive(Clone, Debug, Default)]
pub(super) struct Edits {
    /// The text. Only trees that were read, and their copies, have one.
    text: Option<ReadText>,
    /// The replaced values. The key is the mapping or sequence and the position in it; the value is the old node and the new one.
    replaced: BTreeMap<(NodeId, usize), (NodeId, NodeId)>,
}

/// A single reading of a text. It equals only itself and its copies.
#[derive(Clone, Debug)]
pub(crate) struct ReadText(Arc<()>, usize);

impl PartialEq for ReadText {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A scalar of the file that has a new value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewScalar {
    /// The new node.
    pub(crate) node: NodeId,
    /// The offset of the old text in the file.
    pub(crate) offset: u64,
    /// The old text as it is written there, including quotes.
    pub(crate) old: String,
    /// The new text.
    pub(crate) new: String,
}

impl Edits {
    /// Creates the record of a tree that has just been read and has this many nodes.
    pub(super) fn none(nodes: usize) -> Self {
        Self { text: Some(ReadText(Arc::new(()), nodes)), replaced: BTreeMap::new() }
    }

    /// Records that something other than the value of a single entry has changed.
    pub(super) fn lose(&mut self) {
        self.text = None;
    }

    /// Records that a node may change.
    pub(super) fn touch(&mut self, node: NodeId) {
        // A node that was added is examined when the tree is written.
        if self.is_read(node) {
            self.lose();
        }
    }

    fn is_read(&self, node: NodeId) -> bool {
        self.text.as_ref().is_some_and(|text| (node.number() as usize) < text.1)
    }

    pub(super) fn replace(&mut self, parent: NodeId, place: usize, old: NodeId, new: NodeId) {
        if self.is_read(parent) {
            self.replaced.entry((parent, place)).or_insert((old, new)).1 = new;
        }
    }
}

impl Tree {
    /// Returns the reading that produced this tree, if only values of entries have changed since.
    pub(crate) fn read_text(&self) -> Option<&ReadText> {
        self.edits.text.as_ref()
    }

    /// Returns the changes since the tree was read, if all of them are scalars that are on one line and occur once.
    pub(crate) fn new_scalars(&self) -> Option<Vec<NewScalar>> {
        let text = self.edits.text.as_ref()?;
        let mut all = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for &(old, new) in self.edits.replaced.values().filter(|(old, new)| old != new) {
            // A node that existed before is also used elsewhere, and would need an anchor.
            if (new.number() as usize) < text.1 || !seen.insert(new) {
                return None;
            }
            let (old, node) = (self.node(old), self.node(new));
            all.push(NewScalar {
                node: new,
                offset: old.offset,
                old: written(old)?,
                new: emit::on_one_line(bare_scalar(node)?, node_style(node)?),
            });
        }
        Some(all)
    }

    /// Records that the changes are in the file now. The new nodes begin where the old ones did.
    pub(crate) fn accept_edits(&mut self, scalars: &[NewScalar]) {
        for scalar in scalars {
            if let Some(node) = self.nodes.get_mut(scalar.node.number() as usize) {
                node.offset = scalar.offset;
            }
        }
        self.edits = Edits::none(self.nodes.len());
    }
}

/// Returns the text of a scalar that has neither a tag nor an anchor.
fn bare_scalar(node: &Node) -> Option<&str> {
    node.text().filter(|_| node.tag.is_none() && node.anchor.is_none())
}

fn node_style(node: &Node) -> Option<ScalarStyle> {
    match node.content {
        Content::Scalar { style, .. } => Some(style),
        _ => None,
    }
}

/// Returns a scalar as it may be written in the file from which it was read, if it is on one line; the caller compares.
fn written(node: &Node) -> Option<String> {
    let text = bare_scalar(node).filter(|text| resolve::is_one_line(text))?;
    match node_style(node)? {
        ScalarStyle::Plain if !text.is_empty() => Some(text.into()),
        ScalarStyle::Single => Some(format!("'{}'", text.replace('\'', "''"))),
        ScalarStyle::Double if !text.contains(['"', '\\']) => Some(format!("\"{text}\"")),
        _ => None,
    }
}
