//! Finding nodes by path: `meta/instrument/0` is also a JSON pointer without its first slash.

use std::borrow::Cow;
use std::collections::HashSet;

use sciformats_core::{Error, Result, spelling};

use super::node::{CollectionStyle, NodeId};
use super::resolve::Value;
use super::tree::Tree;

/// The number of nodes, from the root on, that are searched for similar paths.
const LOOKED_AT: usize = 20_000;

/// How the empty name is written in a path, in which an empty step may be overlooked, and is not a step at the beginning.
const EMPTY: &str = "~2";

/// Returns the name that a step of a path stands for: `~1` is `/`, `~0` is `~`, and `~2` is the empty name.
fn unescaped(step: &str) -> Cow<'_, str> {
    if step == EMPTY {
        return Cow::Borrowed("");
    }
    if step.contains('~') { step.replace("~1", "/").replace("~0", "~").into() } else { step.into() }
}

/// Returns a name as one step of a path.
///
/// ```
/// use asdf_core::Tree;
/// use asdf_core::yaml::path::escaped;
///
/// let tree = Tree::parse("{km/s: 7}\n")?;
/// assert!(tree.get(&escaped("km/s")).is_some());
/// assert_eq!((escaped("km/s"), escaped("")), ("km~1s".into(), "~2".into()));
/// # Ok::<(), asdf_core::Error>(())
/// ```
pub fn escaped(name: &str) -> String {
    if name.is_empty() {
        return EMPTY.into();
    }
    name.replace('~', "~0").replace('/', "~1")
}

fn steps(path: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let path = path.strip_prefix('/').unwrap_or(path);
    let whole = !path.is_empty();
    path.split('/').filter(move |_| whole).map(unescaped)
}

impl Tree {
    /// Returns the node at a path from the root. The steps are keys of mappings and indices of sequences, with slashes between
    /// them. In a key, `/` is written as `~1` and `~` is written as `~0`; the empty key is written as `~2`, or as nothing. A slash
    /// before the first step is ignored. The empty path is the root.
    ///
    /// ```
    /// let tree = asdf_core::yaml::Tree::parse("meta: {filters: [red, blue]}\n")?;
    /// let node = tree.get("meta/filters/1").unwrap();
    /// assert_eq!(tree.node(node).text(), Some("blue"));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn get(&self, path: &str) -> Option<NodeId> {
        steps(path).try_fold(self.root(), |at, step| self.step(at, &step))
    }

    /// Does the same as [`get`](Self::get), but starts from another node.
    ///
    /// ```
    /// use asdf_core::{Error, Tree};
    ///
    /// let tree = Tree::parse("stars: [{name: Vega, flux: [1.5, 2.5]}]\n")?;
    /// let star = tree.get("stars/0").ok_or(Error::not_found("node", "stars/0"))?;
    /// assert_eq!(tree.get_from(star, "flux/1"), tree.get("stars/0/flux/1"));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn get_from(&self, start: NodeId, path: &str) -> Option<NodeId> {
        steps(path).try_fold(start, |at, step| self.step(at, &step))
    }

    fn step(&self, at: NodeId, step: &str) -> Option<NodeId> {
        if let Some(items) = self.items(at) {
            return items.get(step.parse::<usize>().ok()?).copied();
        }
        // A key that is a number or a boolean is found by its text.
        self.child(at, step).or_else(|| {
            let place = match self.find_key(at, step) {
                Some(found) => found.other,
                None => self.other_place(at, step),
            };
            self.entries(at)?.get(place?).map(|(_, value)| *value)
        })
    }

    /// Returns up to `most` paths with their nodes, level by level from the root. A shared node has the first of its paths. Items
    /// of sequences are left out if they are scalars.
    ///
    /// ```
    /// use asdf_core::Tree;
    ///
    /// let tree = Tree::parse("{dark: {gain: 1.5}, sizes: [1, 2]}\n")?;
    /// let paths: Vec<String> = tree.paths(100).into_iter().map(|(path, _)| path).collect();
    /// assert_eq!(paths, ["", "dark", "sizes", "dark/gain"]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn paths(&self, most: usize) -> Vec<(String, NodeId)> {
        let mut found = vec![(String::new(), self.root())];
        let mut seen = HashSet::from([self.root()]);
        for at in 0..most {
            let Some((path, id)) = found.get(at).cloned() else { break };
            let items = self.items(id).unwrap_or_default().iter().enumerate();
            let items = items.filter(|(_, item)| self.node(**item).text().is_none());
            let items = items.map(|(index, item)| (index.to_string(), *item));
            let entries = self.entries(id).unwrap_or_default().iter();
            let entries = entries.filter_map(|(key, value)| Some((escaped(self.node(*key).text()?), *value)));
            for (step, child) in items.chain(entries) {
                if found.len() >= most {
                    return found;
                }
                if seen.insert(child) {
                    found.push((if path.is_empty() { step } else { format!("{path}/{step}") }, child));
                }
            }
        }
        found
    }

    /// Returns a path of a node, or its number if it has no path that can be written.
    pub(crate) fn path_of(&self, id: NodeId) -> String {
        let path = self.paths(LOOKED_AT).into_iter().find(|(_, found)| *found == id);
        path.map_or_else(|| format!("node {}", id.number()), |(path, _)| path)
    }

    /// Returns the error for a path that does not exist, with similar paths.
    pub(crate) fn not_found(&self, path: &str) -> Error {
        let paths = self.paths(LOOKED_AT);
        let there = paths.iter().skip(1).map(|(path, _)| path.as_str());
        Error::not_found("node", path).with_nearest(spelling::nearest(path.trim_matches('/'), there))
    }

    /// Returns a description of a node.
    pub(crate) fn told(&self, id: NodeId) -> String {
        let many = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let kind = match (self.items(id), self.entries(id), self.value(id)) {
            (Some(items), ..) => format!("a sequence of {}", many(items.len(), "item")),
            (_, Some(entries), _) => format!("a mapping with {}", many(entries.len(), "key")),
            (.., Ok(Some(Value::Null))) => "null".into(),
            (.., Ok(Some(Value::Bool(_)))) => "a truth value".into(),
            (.., Ok(Some(Value::Int(_) | Value::BigInt(_) | Value::Float(_)))) => "a number".into(),
            (.., Ok(Some(Value::Str(_)))) => "a text".into(),
            (.., Ok(Some(Value::Bytes(_)))) => "bytes".into(),
            (.., Ok(Some(Value::Timestamp(_)))) => "a time".into(),
            _ => "a scalar".into(),
        };
        match self.tag(id) {
            Some(tag) => format!("{kind} and the tag {tag}"),
            None => kind,
        }
    }

    /// Puts a node at a path. Missing mappings on the way are created. The index after the last one of a sequence appends to the
    /// sequence.
    ///
    /// ```
    /// use asdf_core::Tree;
    ///
    /// let mut tree = Tree::parse("filters: [red]\n")?;
    /// let (blue, exposure) = (tree.add_str("blue"), tree.add_plain("30.0"));
    /// tree.put("filters/1", blue)?; // one past the end: appends
    /// tree.put("meta/exposure", exposure)?; // makes `meta`
    /// assert_eq!(tree.get_as::<Vec<String>>("filters")?, ["red", "blue"]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if the path is empty, or leads through a scalar or beyond the end of a sequence.
    pub fn put(&mut self, path: &str, value: NodeId) -> Result<()> {
        let steps: Vec<String> = steps(path).map(Cow::into_owned).collect();
        let Some((last, way)) = steps.split_last() else {
            return Err(Error::usage("path", "is empty"));
        };
        let mut at = self.root();
        for step in way {
            at = match self.step(at, step) {
                Some(next) => next,
                None => {
                    let next = self.add_mapping(Vec::new(), CollectionStyle::Block);
                    self.put_child(at, step, next)?;
                    next
                }
            };
        }
        self.put_child(at, last, value)
    }

    fn put_child(&mut self, at: NodeId, step: &str, value: NodeId) -> Result<()> {
        let Some(len) = self.items(at).map(<[NodeId]>::len) else {
            return self.insert(at, step, value);
        };
        let index = step.parse::<usize>().ok().filter(|&index| index <= len);
        let index = index.ok_or_else(|| {
            Error::usage("path", format!("has the index {step:?}, but the sequence has {len} items"))
        })?;
        let node = self.nodes.get_mut(at.number() as usize);
        if let Some(super::Node { content: super::Content::Sequence { items, .. }, .. }) = node {
            match items.get_mut(index) {
                Some(item) => {
                    self.edits.replace(at, index, *item, value);
                    *item = value;
                }
                None => {
                    items.push(value);
                    self.edits.touch(at);
                }
            }
        }
        Ok(())
    }

    /// Removes the entry at a path from its mapping or sequence, and returns its node. Of a key that is repeated, no entry stays.
    ///
    /// ```
    /// use asdf_core::Tree;
    ///
    /// let mut tree = Tree::parse("{gain: 1.5, dark: 0}\n")?;
    /// let dark = tree.remove("dark")?;
    /// assert_eq!((tree.node(dark).text(), tree.get("dark")), (Some("0"), None));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NotFound`; [`Error::Usage`] if the entry is in another mapping, from which a merge key (`<<`) takes it.
    pub fn remove(&mut self, path: &str) -> Result<NodeId> {
        let (parent, last) = path.rsplit_once('/').unwrap_or(("", path));
        let parent = self.get(parent).ok_or_else(|| self.not_found(path))?;
        let last = unescaped(last);
        let node = self.step(parent, &last).ok_or_else(|| self.not_found(path))?;
        if self.items(parent).is_none() {
            self.remove_key(parent, &last)?;
            return Ok(node);
        }
        match self.node_mut(parent).map(|node| &mut node.content) {
            Some(super::Content::Sequence { items, .. }) => {
                if let Ok(index) = last.parse::<usize>() {
                    items.remove(index);
                }
            }
            _ => return Err(Error::internal("an entry is not in a collection")),
        }
        Ok(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_through_a_tree() {
        let tree = Tree::parse("a/b: {~c: [x, {1: y}]}\n\"\": z\n").unwrap();
        let text = |path: &str| tree.get(path).and_then(|id| tree.node(id).text());
        assert_eq!(text("a~1b/~0c/0"), Some("x"));
        assert_eq!(text("/a~1b/~0c/1/1"), Some("y"));
        assert_eq!((text("//"), text("~2")), (None, Some("z")));
        assert_eq!(tree.get(""), Some(tree.root()));
        assert_eq!(text("a~1b/~0c/2"), None);
        assert_eq!(escaped("a/~"), "a~1~0");
        let tree = Tree::parse("k: {\"\": {k2: 1}, k2: 2}\n").unwrap();
        assert_eq!((tree.get("k/~2/k2"), tree.get("k//k2")), (tree.get("k//k2"), tree.get("/k/~2/k2")));
        for (path, node) in tree.paths(10) {
            assert_eq!(tree.get(&path), Some(node), "{path}");
        }
    }

    #[test]
    fn the_entry_of_the_key_is_removed_and_no_other_one() {
        let text = |tree: &Tree| tree.to_text().unwrap().replace("%YAML 1.1\n---\n", "").replace("...\n", "");
        let removed = |from: &str, path: &str| {
            let mut tree = Tree::parse(from).unwrap();
            tree.remove(path).map(|_| text(&tree))
        };
        // The same node under other keys.
        assert_eq!(removed("a: &x 5\nb: *x\nc: *x\n", "a").unwrap(), "b: &x 5\nc: *x\n");
        assert_eq!(removed("a: &x 5\nb: *x\nc: *x\n", "b").unwrap(), "a: &x 5\nc: *x\n");
        assert_eq!(
            removed("a: &x {k: 1}\nb: {c: *x, d: *x}\n", "b/c").unwrap(),
            "a: &x {k: 1}\nb: {d: *x}\n"
        );
        // An earlier entry of a repeated key does not take the place of the last one.
        assert_eq!(removed("a: 1\nb: 2\na: 3\n", "a").unwrap(), "b: 2\n");
        // The text before the number, which is the text of another key.
        assert_eq!(removed("'1': text\n1: number\n", "1").unwrap(), "1: number\n");
        assert_eq!(removed("1: number\ntrue: 2\n", "1").unwrap(), "true: 2\n");
        // An entry of another mapping.
        let merged = "base: &b {gain: 1, dark: 0}\ncam: {<<: *b, gain: 2}\n";
        let refused = removed(merged, "cam/dark").unwrap_err();
        assert!(matches!(refused, Error::Usage { argument: "path", .. }), "{refused}");
        assert_eq!(removed(merged, "cam/gain").unwrap(), "base: &b {gain: 1, dark: 0}\ncam: {<<: *b}\n");
        assert_eq!(removed(merged, "cam/<<").unwrap(), "base: &b {gain: 1, dark: 0}\ncam: {gain: 2}\n");
    }

    #[test]
    fn edits_leave_the_rest() {
        let mut tree = Tree::parse("a: 0x1F\nb: [1, 2]\nc: 'q'\n").unwrap();
        let value = tree.add_str("new");
        tree.put("b/1", value).unwrap();
        tree.put("b/2", value).unwrap();
        tree.put("d/e", value).unwrap();
        assert!(
            tree.put("b/9", value).is_err()
                && tree.put("a/x", value).is_err()
                && tree.put("", value).is_err()
        );
        tree.remove("c").unwrap();
        assert!(tree.remove("c").is_err());
        assert_eq!(
            tree.to_text().unwrap(),
            "%YAML 1.1\n---\na: 0x1F\nb: [1, &id001 new, *id001]\nd:\n  e: *id001\n...\n"
        );
    }
}
