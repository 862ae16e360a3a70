//! Mappings as readers see them: keys are compared by their meaning, and merge keys are expanded.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use sciformats_core::arith::add;
use sciformats_core::{Error, Result, bound};

use super::arena::PAGE;
use super::node::{CollectionStyle, Content, Node, NodeId, ScalarStyle};
use super::resolve::Value;
use super::tree::Tree;

/// The number of pairs, in addition to the number of all nodes, to which merge keys may expand.
const MAX_MERGED: u64 = 1 << 12;

impl Tree {
    /// Returns the pairs of a mapping as readers see them. A repeated key has its last value and its first position. Merge keys
    /// (`<<`) are expanded before the mapping's own keys. The result is `None` for other nodes.
    ///
    /// ```
    /// use asdf_core::{Error, Tree};
    ///
    /// let tree = Tree::parse("base: &b {gain: 1, dark: 0}\ncam: {<<: *b, gain: 2}\n")?;
    /// let cam = tree.get("cam").ok_or(Error::not_found("node", "cam"))?;
    /// let mut pairs = Vec::new();
    /// for (key, value) in tree.pairs(cam)?.unwrap_or_default() {
    ///     pairs.push((tree.node(key).text(), tree.node(value).text()));
    /// }
    /// assert_eq!(pairs, [(Some("gain"), Some("2")), (Some("dark"), Some("0"))]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Malformed`] if the value of a merge key is not a mapping; `LimitExceeded`.
    pub fn pairs(&self, id: NodeId) -> Result<Option<Vec<(NodeId, NodeId)>>> {
        let Some(entries) = self.entries(id) else { return Ok(None) };
        let mut all = Vec::with_capacity(entries.len());
        self.unfold(id, (0, &mut 0), &mut all)?;
        let mut unique: Vec<(NodeId, NodeId)> = Vec::with_capacity(all.len());
        // The places of keys by the hashes of their identities, which are not kept: there may be very many.
        let (hasher, mut places) = (RandomState::new(), HashMap::new());
        for (key, value) in all {
            let identity = self.identity(key);
            let mut hash = hasher.hash_one(&identity);
            let found = loop {
                let place = places.get(&hash).copied();
                match place.and_then(|place: usize| Some((place, unique.get(place)?.0))) {
                    None => break None,
                    Some((place, other)) if self.identity(other) == identity => break Some(place),
                    Some(_) => hash = hash.wrapping_add(1), // the hash that follows the largest one is 0
                }
            };
            if let Some(pair) = found.and_then(|place| unique.get_mut(place)) {
                pair.1 = value;
                continue;
            }
            places.insert(hash, unique.len());
            unique.push((key, value));
        }
        Ok(Some(unique))
    }

    /// Checks what merge keys of a mapping unfold to.
    ///
    /// # Errors
    /// As [`pairs`](Self::pairs).
    pub(crate) fn check_merges(&self, id: NodeId) -> Result<()> {
        let merges = self.entries(id).unwrap_or_default().iter().any(|(key, _)| self.is_merge_key(*key));
        if merges { self.unfold(id, (0, &mut 0), &mut Vec::new()) } else { Ok(()) }
    }

    fn identity(&self, key: NodeId) -> Result<(u8, String), NodeId> {
        self.with(key, |tree, local| tree.key_identity(local).map_err(|_| key))
    }

    /// `level` and `visits` are how deep this mapping is merged, and how many were before it.
    fn unfold(
        &self,
        id: NodeId,
        (level, visits): (usize, &mut u64),
        out: &mut Vec<(NodeId, NodeId)>,
    ) -> Result<()> {
        let limit = bound::sum(self.nodes.len() as u64, MAX_MERGED);
        *visits = add(*visits, 1)?;
        sciformats_core::limits::within("merged mappings", *visits, limit)?;
        self.limits.depth("levels of merged mappings", level)?;
        let entries = self.entries(id).unwrap_or_default();
        let merge = |pair: &&(NodeId, NodeId)| self.is_merge_key(pair.0);
        for (_, merged) in entries.iter().filter(merge) {
            // The first of several mappings takes precedence, so it is merged last.
            let list = std::slice::from_ref(merged);
            for &mapping in self.items(*merged).unwrap_or(list).iter().rev() {
                if self.entries(mapping).is_none() {
                    let kind = sciformats_core::FaultKind::Rule("is merged by `<<`, but is not a mapping");
                    return Err(
                        sciformats_core::Fault::new("value", kind).at("tree", self.node(mapping).offset)
                    );
                }
                self.unfold(mapping, (add(level, 1)?, &mut *visits), out)?;
            }
        }
        out.extend(entries.iter().filter(|pair| !merge(pair)));
        sciformats_core::limits::within("entries of merged mappings", out.len() as u64, limit).map(drop)
    }

    pub(super) fn is_merge_key(&self, key: NodeId) -> bool {
        if self.nodes.is_unread(key.number() as usize) {
            return false;
        }
        let node = self.node(key);
        let plain = |style: &ScalarStyle| *style == ScalarStyle::Plain && node.tag.is_none();
        matches!(&node.content, Content::Scalar { text, style } if text == "<<" && plain(style))
    }

    /// Returns what identifies a key: the value of a scalar, or the node itself.
    fn key_identity(&self, key: NodeId) -> Result<(u8, String), NodeId> {
        match self.value(key) {
            Ok(Some(value)) => Ok((value.kind(), value.to_string())),
            _ => Err(key),
        }
    }

    /// Returns the value under a string key of a mapping.
    ///
    /// ```
    /// use asdf_core::Tree;
    ///
    /// let tree = Tree::parse("{gain: 1.5, a/b: 2}\n")?;
    /// let value = tree.child(tree.root(), "a/b"); // a key as it is, no path
    /// assert_eq!(value.and_then(|value| tree.node(value).text()), Some("2"));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn child(&self, mapping: NodeId, key: &str) -> Option<NodeId> {
        let entries = self.entries(mapping)?;
        let found = self.find_key(mapping, key);
        let place = found.map_or_else(|| self.string_place(mapping, key), |found| found.string);
        let own = place.and_then(|place| entries.get(place)).map(|(_, value)| *value);
        let merges =
            || found.map_or_else(|| entries.iter().any(|(k, _)| self.is_merge_key(*k)), |found| found.merges);
        if own.is_some() || !merges() {
            return own;
        }
        let mut all = Vec::new();
        self.unfold(mapping, (0, &mut 0), &mut all).ok()?;
        all.iter().rev().find(|(k, _)| self.is_string(*k, key)).map(|(_, value)| *value)
    }

    /// Searches all entries for the last one with a string key.
    fn string_place(&self, mapping: NodeId, key: &str) -> Option<usize> {
        // A page of lines is searched once, as text. Keys are only looked at, one by one, if it contains this one.
        let mut without = None;
        self.entries(mapping)?.iter().rposition(|(k, _)| {
            let page = Some(k.number() as usize / PAGE);
            if without != page && self.nodes.is_unread_without(k.number() as usize, key) {
                without = page;
            }
            without != page && self.with(*k, |tree, k| tree.is_string(k, key))
        })
    }

    /// Returns whether a node is the string `text`.
    fn is_string(&self, id: NodeId, text: &str) -> bool {
        self.node(id).text() == Some(text) && matches!(self.value(id), Ok(Some(Value::Str(_))))
    }

    /// Puts `value` under a string key of a mapping. It replaces an existing value, or is added at the end.
    ///
    /// ```
    /// use asdf_core::Tree;
    ///
    /// let mut tree = Tree::new();
    /// let (root, unit) = (tree.root(), tree.add_str("km/s"));
    /// tree.insert(root, "unit", unit)?;
    /// assert_eq!(tree.get_as::<String>("unit")?, "km/s");
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if `mapping` is not a mapping.
    pub fn insert(&mut self, mapping: NodeId, key: &str, value: NodeId) -> Result<()> {
        let found = self.find_key(mapping, key);
        let place = found.map_or_else(|| self.string_place(mapping, key), |found| found.string);
        let new_key = if place.is_none() { Some(self.add_str(key)) } else { None };
        // What is known of the keys stays known.
        let nodes = self.nodes.next();
        let node = self.nodes.get_mut(mapping.number() as usize);
        let Some(Node { content: Content::Mapping { entries, style }, .. }) = node else {
            return Err(Error::usage("node", "is not a mapping, so it has no keys"));
        };
        if let Some((place, pair)) = place.and_then(|place| Some((place, entries.get_mut(place)?))) {
            self.edits.replace(mapping, place, pair.1, value);
            pair.1 = value;
        } else if let Some(key_node) = new_key {
            if entries.is_empty() {
                *style = CollectionStyle::Block;
            }
            let place = entries.len();
            entries.push((key_node, value));
            self.edits.touch(mapping);
            self.keys.added(mapping, key, place, nodes);
        }
        Ok(())
    }

    /// Searches all entries for the last one whose key is no string and has this text, such as `1` or `true`.
    pub(super) fn other_place(&self, mapping: NodeId, text: &str) -> Option<usize> {
        // Keys that are still text are looked at without becoming nodes, which would stay in memory.
        let is_key = |tree: &Self, key| match tree.value(key) {
            Ok(Some(Value::Str(_))) => false,
            Ok(Some(value)) => value.to_string() == text,
            _ => false,
        };
        self.entries(mapping)?.iter().rposition(|(key, _)| self.with(*key, is_key))
    }

    /// Removes the entries of a mapping that have the key to which a step of a path leads. An earlier entry of a repeated key would
    /// take the place of the last one otherwise.
    ///
    /// # Errors
    /// [`Error::Usage`] if only another mapping, from which a merge key takes it, has this entry.
    pub(super) fn remove_key(&mut self, mapping: NodeId, step: &str) -> Result<()> {
        let is_string = self.string_place(mapping, step).is_some();
        if !is_string && self.child(mapping, step).is_some() {
            let problem = format!(
                "leads to {step:?}, which is in another mapping: a merge key (`<<`) takes it from there"
            );
            return Err(Error::usage("path", problem));
        }
        let next = |tree: &Self| match is_string {
            true => tree.string_place(mapping, step),
            false => tree.other_place(mapping, step),
        };
        while let Some(place) = next(self) {
            match self.node_mut(mapping).map(|node| &mut node.content) {
                Some(Content::Mapping { entries, .. }) if place < entries.len() => {
                    entries.remove(place);
                }
                _ => return Err(Error::internal("an entry is not in a mapping")),
            }
        }
        Ok(())
    }
}
