//! Which nodes get an anchor when a tree is written.

use std::collections::HashSet;

use sciformats_core::bound;

use super::node::{Content, NodeId};
use super::tree::Tree;

/// The anchors to write: of nodes that are shared, and of those that had one.
#[derive(Default)]
pub(super) struct Anchors {
    /// For each node up to the last with a name the number of its name, from 1 on; 0 for none.
    places: Vec<u32>,
    names: Vec<String>,
    /// Whether the node with each name has been written.
    written: Vec<bool>,
}

impl Anchors {
    pub(super) fn of(tree: &Tree) -> Self {
        let order = tree.visible();
        let mut anchors = Self::default();
        let mut taken = HashSet::new();
        let is_name = |name: &str| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        };
        for &id in &order {
            if tree.nodes.is_unread(id.number() as usize) {
                continue;
            }
            if let Some(name) = tree.node(id).anchor.as_deref().filter(|name| is_name(name))
                && taken.insert(name.to_owned())
            {
                anchors.set(id, name.to_owned());
            }
        }
        let mut numbered = (1u64..).map(|number| format!("id{number:03}"));
        for id in shared(tree, &order) {
            if anchors.place(id).is_some() {
                continue;
            }
            if let Some(name) = numbered.find(|name| taken.insert(name.clone())) {
                anchors.set(id, name);
            }
        }
        anchors
    }

    fn set(&mut self, id: NodeId, name: String) {
        self.names.push(name);
        self.written.push(false);
        let place = id.0 as usize;
        if place >= self.places.len() {
            self.places.resize(bound::sum(place, 1), 0); // a bound of all ids
        }
        if let (Some(place), Ok(number)) =
            (self.places.get_mut(id.0 as usize), u32::try_from(self.names.len()))
        {
            *place = number;
        }
    }

    fn place(&self, id: NodeId) -> Option<usize> {
        let number = *self.places.get(id.0 as usize)?;
        usize::try_from(number).ok()?.checked_sub(1)
    }

    /// Whether a node has an anchor.
    pub(super) fn has(&self, id: NodeId) -> bool {
        self.place(id).is_some()
    }

    pub(super) fn is_written(&self, id: NodeId) -> bool {
        self.place(id).and_then(|place| self.written.get(place).copied()).unwrap_or(false)
    }

    /// Returns the name of a node's anchor, if it has one, and whether this is the first call for it.
    pub(super) fn write(&mut self, id: NodeId) -> Option<(&str, bool)> {
        let place = self.place(id)?;
        let was_written = std::mem::replace(self.written.get_mut(place)?, true);
        Some((self.names.get(place)?, !was_written))
    }
}

/// Returns the nodes to which several places refer, in the order of the text.
fn shared(tree: &Tree, order: &[NodeId]) -> Vec<NodeId> {
    let mut counts = vec![0u8; tree.len()];
    let mut count = |id: NodeId| {
        if let Some(count) = counts.get_mut(id.0 as usize) {
            *count = bound::sum(*count, 1); // it only matters whether there are several
        }
    };
    count(tree.root());
    for &id in order.iter().filter(|id| !tree.nodes.is_unread(id.0 as usize)) {
        match &tree.node(id).content {
            Content::Scalar { .. } => {}
            Content::Sequence { items, .. } => items.iter().for_each(|&item| count(item)),
            Content::Mapping { entries, .. } => entries.iter().for_each(|&(key, value)| {
                count(key);
                count(value);
            }),
        }
    }
    let is_shared = |id: &NodeId| counts.get(id.0 as usize).is_some_and(|&count| count > 1);
    order.iter().copied().filter(is_shared).collect()
}
