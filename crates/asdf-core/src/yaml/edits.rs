//! What was changed in a tree since it was read, as far as single entries were given new values: then the rest of the text
//! stays as it is in the file.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::tree::{Content, Node, NodeId, ScalarStyle, Tree};
use super::{emit, resolve};

/// Which text a tree was read from, and what has become of its entries since then.
#[derive(Clone, Debug, Default)]
pub(super) struct Edits {
    /// Only a tree that was read has one, and its copies.
    text: Option<ReadText>,
    /// The values that were replaced, by mapping or sequence and place: the node that was read, and the one that is there now.
    replaced: BTreeMap<(NodeId, usize), (NodeId, NodeId)>,
}

/// One reading of one text: equal to itself and its copies alone.
#[derive(Clone, Debug)]
pub(crate) struct ReadText(Arc<()>, usize);

impl PartialEq for ReadText {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A scalar of the file that has another value now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewScalar {
    /// The node that is there now.
    pub(crate) node: NodeId,
    /// Where the old text begins in the file.
    pub(crate) offset: u64,
    /// The old text as it is written there, quotes included.
    pub(crate) old: String,
    /// The new one.
    pub(crate) new: String,
}

impl Edits {
    /// Of a tree that has just been read and has so many nodes.
    pub(super) fn none(nodes: usize) -> Self {
        Self { text: Some(ReadText(Arc::new(()), nodes)), replaced: BTreeMap::new() }
    }

    /// Something else than the values of single entries has changed.
    pub(super) fn lose(&mut self) {
        self.text = None;
    }

    /// A node may change.
    pub(super) fn touch(&mut self, node: NodeId) {
        // One that was added is looked at when the tree is written.
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
    /// Returns the reading that this tree is of, if nothing but values of entries has changed since.
    pub(crate) fn read_text(&self) -> Option<&ReadText> {
        self.edits.text.as_ref()
    }

    /// Returns the changes since the tree was read, if they are all of scalars that stand on one line and are named once.
    pub(crate) fn new_scalars(&self) -> Option<Vec<NewScalar>> {
        let text = self.edits.text.as_ref()?;
        let mut all = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for &(old, new) in self.edits.replaced.values().filter(|(old, new)| old != new) {
            // A node that was there before has other places, and would need an anchor.
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

    /// The changes are in the file now: the new nodes begin where the old ones did.
    pub(crate) fn accept_edits(&mut self, scalars: &[NewScalar]) {
        for scalar in scalars {
            if let Some(node) = self.nodes.get_mut(scalar.node.number() as usize) {
                node.offset = scalar.offset;
            }
        }
        self.edits = Edits::none(self.nodes.len());
    }
}

/// Returns the text of a scalar without tag and anchor.
fn bare_scalar(node: &Node) -> Option<&str> {
    node.text().filter(|_| node.tag.is_none() && node.anchor.is_none())
}

fn node_style(node: &Node) -> Option<ScalarStyle> {
    match node.content {
        Content::Scalar { style, .. } => Some(style),
        _ => None,
    }
}

/// Returns a scalar as it stands in the file it was read from, if it stands on one line there; the caller compares.
fn written(node: &Node) -> Option<String> {
    let text = bare_scalar(node).filter(|text| resolve::is_one_line(text))?;
    match node_style(node)? {
        ScalarStyle::Plain if !text.is_empty() => Some(text.into()),
        ScalarStyle::Single => Some(format!("'{}'", text.replace('\'', "''"))),
        ScalarStyle::Double if !text.contains(['"', '\\']) => Some(format!("\"{text}\"")),
        _ => None,
    }
}
