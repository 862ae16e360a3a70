//! The positions of keys in large mappings, so that finding many keys does not search all entries each time.
//!
//! The positions are recorded after a mapping has been searched a few times. They are kept while keys are added, and discarded
//! when a node changes in a way that may matter. No thread waits: while one thread records them, others search all entries.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock};

use sciformats_core::bound;

use super::node::NodeId;
use super::resolve::Value;
use super::tree::Tree;

/// Smaller mappings are searched as fast without recorded positions.
const LARGE: usize = 16;
/// The number of searches of all entries before the positions are recorded.
const PATIENCE: u8 = 3;

/// The recorded positions of the mappings of a tree. A copy of the tree starts without them.
#[derive(Default)]
pub(super) struct Keys {
    mappings: RwLock<HashMap<NodeId, Known>>,
    /// Nodes with this number or a larger one are neither recorded mappings nor their keys.
    below: AtomicU32,
}

enum Known {
    Searches(u8),
    Places(Places),
}

/// The positions of keys in a mapping. A repeated key has its last position.
struct Places {
    by_text: HashMap<Box<str>, Found>,
    has_merge_key: bool,
}

/// The last entry whose key is the string, and the last entry whose key is another scalar with this text, such as `1` or `true`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) string: Option<usize>,
    pub(super) other: Option<usize>,
    /// Whether the mapping has a merge key.
    pub(super) merges: bool,
}

impl Clone for Keys {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys")
    }
}

impl Keys {
    /// A node may change.
    pub(super) fn forget(&mut self, node: NodeId, is_single: bool) {
        // Nodes that were read as text have numbers of their own.
        if !is_single || node.number() < *self.below.get_mut() {
            self.known().clear();
            *self.below.get_mut() = 0;
        }
    }

    /// A mapping has other entries.
    pub(super) fn forget_mapping(&mut self, mapping: NodeId) {
        self.known().remove(&mapping);
    }

    /// A mapping has a new entry at the end, whose key is a string; new nodes have numbers from `nodes` on.
    pub(super) fn added(&mut self, mapping: NodeId, text: &str, place: usize, nodes: usize) {
        if let Some(Known::Places(places)) = self.known().get_mut(&mapping) {
            places.by_text.entry(text.into()).or_default().string = Some(place);
            self.know_below(nodes);
        }
    }

    fn known(&mut self) -> &mut HashMap<NodeId, Known> {
        self.mappings.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    fn know_below(&self, nodes: usize) {
        self.below.fetch_max(u32::try_from(nodes).unwrap_or(u32::MAX), Ordering::Relaxed); // a bound of all ids
    }
}

impl Tree {
    /// Returns the position of a key in a mapping if it is known. Otherwise the entries must be searched.
    pub(super) fn find_key(&self, mapping: NodeId, text: &str) -> Option<Found> {
        if self.entries(mapping)?.len() < LARGE {
            return None;
        }
        match self.keys.mappings.try_read().ok()?.get(&mapping) {
            Some(Known::Places(places)) => return Some(places.find(text)),
            Some(Known::Searches(_)) | None => {}
        }
        let mut known = self.keys.mappings.try_write().ok()?;
        let known = known.entry(mapping).or_insert(Known::Searches(0));
        match known {
            Known::Searches(searches) if *searches < PATIENCE => {
                *searches = bound::sum(*searches, 1);
                None
            }
            Known::Searches(_) => {
                let places = self.places(mapping)?;
                let found = places.find(text);
                *known = Known::Places(places);
                self.keys.know_below(self.nodes.next());
                Some(found)
            }
            Known::Places(places) => Some(places.find(text)),
        }
    }

    fn places(&self, mapping: NodeId) -> Option<Places> {
        let mut places = Places { by_text: HashMap::new(), has_merge_key: false };
        for (place, (key, _)) in self.entries(mapping)?.iter().enumerate() {
            places.has_merge_key |= self.is_merge_key(*key);
            self.with(*key, |tree, key| {
                let Ok(Some(value)) = tree.value(key) else { return };
                match (tree.node(key).text(), value) {
                    (Some(text), Value::Str(_)) => {
                        places.by_text.entry(text.into()).or_default().string = Some(place);
                    }
                    (_, value) => {
                        places.by_text.entry(value.to_string().into()).or_default().other = Some(place);
                    }
                }
            });
        }
        Some(places)
    }
}

impl Places {
    fn find(&self, text: &str) -> Found {
        Found { merges: self.has_merge_key, ..self.by_text.get(text).copied().unwrap_or_default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::CollectionStyle;

    /// Returns a mapping of strings and numbers in which one key occurs twice.
    fn tree() -> Tree {
        let entries: String = (0..20).map(|i| format!("k{i}: {i}\n{i}: n{i}\n")).collect();
        Tree::parse(format!("{entries}k3: last\n")).unwrap()
    }

    /// Returns what is found under a path, which must be the same before, when and after the positions are recorded.
    fn always(tree: &Tree, path: &str) -> Option<String> {
        let texts: Vec<_> = (0..3 + PATIENCE)
            .map(|_| tree.get(path).map(|found| tree.node(found).text().unwrap().to_owned()))
            .collect();
        assert!(texts.iter().all(|text| *text == texts[0]), "{path}: {texts:?}");
        texts[0].clone()
    }

    #[test]
    fn known_places_give_what_looking_gives() {
        let tree = tree();
        assert_eq!(always(&tree, "k7").as_deref(), Some("7"));
        assert_eq!(always(&tree, "k3").as_deref(), Some("last"));
        assert_eq!(always(&tree, "12").as_deref(), Some("n12"));
        assert_eq!(always(&tree, "absent"), None);
        assert!(tree.find_key(tree.root(), "k7").is_some());
        assert_eq!(always(&tree.clone(), "k7").as_deref(), Some("7"));
    }

    #[test]
    fn merged_keys_are_found() {
        let entries: String = (0..20).map(|i| format!("  k{i}: {i}\n")).collect();
        let tree = Tree::parse(format!("a: &a {{x: merged}}\nb:\n  <<: *a\n{entries}")).unwrap();
        assert_eq!(always(&tree, "b/x").as_deref(), Some("merged"));
        assert_eq!(always(&tree, "b/k1").as_deref(), Some("1"));
    }

    #[test]
    fn what_changes_is_seen() {
        let mut tree = tree();
        assert_eq!(always(&tree, "new"), None);
        let value = tree.add_str("v");
        tree.put("new", value).unwrap();
        assert_eq!(always(&tree, "new").as_deref(), Some("v"));
        tree.put("k7", value).unwrap();
        assert_eq!(always(&tree, "k7").as_deref(), Some("v"));
        // One key is replaced by another.
        let (key, _) = tree.entries(tree.root()).unwrap()[0];
        tree.node_mut(key).unwrap().content = tree.node(value).content.clone();
        assert_eq!(always(&tree, "k0"), None);
        assert_eq!(always(&tree, "v").as_deref(), Some("0"));
        tree.remove("k8").unwrap();
        assert_eq!(always(&tree, "k8"), None);
        assert_eq!(always(&tree, "k9").as_deref(), Some("9"));
        tree.set_tag(key, "tag:yaml.org,2002:null");
        assert_eq!(always(&tree, "v"), None);
    }

    #[test]
    fn a_key_that_was_added_may_change_too() {
        let mut tree = tree();
        assert_eq!(always(&tree, "k1").as_deref(), Some("1"));
        let value = tree.add_mapping(Vec::new(), CollectionStyle::Flow);
        tree.put("added", value).unwrap();
        assert_eq!(tree.get("added"), Some(value));
        let (key, _) = *tree.entries(tree.root()).unwrap().last().unwrap();
        *tree.node_mut(key).unwrap() = tree.node(tree.entries(tree.root()).unwrap()[0].0).clone();
        assert_eq!(tree.get("added"), None);
        assert_eq!(tree.get("k0"), Some(value));
    }
}
