//! Walks over whole trees.

use std::collections::HashMap;

use super::node::{Content, NodeId};
use super::tree::Tree;

impl Tree {
    /// Returns the nodes that can be reached from the root, without duplicates and in the order of the text.
    ///
    /// ```
    /// use asdf_core::Tree;
    ///
    /// let mut tree = Tree::parse("{gain: 1.5, dark: 0}\n")?;
    /// tree.remove("dark")?;
    /// let texts: Vec<&str> = tree.reachable().into_iter().filter_map(|node| tree.node(node).text()).collect();
    /// assert_eq!(texts, ["gain", "1.5"]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn reachable(&self) -> Vec<NodeId> {
        self.walk(|_| false)
    }

    /// The nodes that can be reached from the root, without those inside values that have not been looked at: only what is
    /// inside these values refers to them. Such a value is a mapping with a tag, and nothing inside it has a tag.
    pub(crate) fn visible(&self) -> Vec<NodeId> {
        loop {
            let mut all_at_ends = true;
            let order = self.walk(|id| {
                let is_unread = self.nodes.is_unread(id.0 as usize);
                let entries = self.nodes.unread_entries(id.0 as usize);
                if entries.is_some_and(|(entries, place)| !entries.is_entry(place)) {
                    // Something refers to a node inside the value: the nodes of the value are made.
                    self.node(id);
                    all_at_ends = false;
                }
                is_unread
            });
            if all_at_ends {
                return order;
            }
        }
    }

    /// Returns the nodes that can be reached from the root, without what is inside those for which `is_end` is true.
    fn walk(&self, mut is_end: impl FnMut(NodeId) -> bool) -> Vec<NodeId> {
        let mut seen = vec![false; self.nodes.len()];
        let mut order = Vec::new();
        let mut todo = vec![self.root];
        while let Some(id) = todo.pop() {
            match seen.get_mut(id.0 as usize) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            order.push(id);
            if is_end(id) {
                continue;
            }
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
    ///
    /// ```
    /// use asdf_core::Tree;
    ///
    /// let tree = Tree::parse("{gain: 1.5}\n")?;
    /// assert!(tree.is_same(&Tree::parse("gain: 1.5 # in another style\n")?));
    /// assert!(!tree.is_same(&Tree::parse("{gain: '1.5'}\n")?)); // a text
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
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
