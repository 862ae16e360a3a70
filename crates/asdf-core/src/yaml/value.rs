//! Conversion between trees and `serde_yaml::Value`.
//!
//! The following is lost in such a value: anchors and cycles (aliases become copies), the style and text of scalars (`0x1F`
//! becomes 31), repeated keys and merge keys (they are expanded), numbers of more than 64 bits, dates and bytes (they become
//! strings), and the `%TAG` directives.

use sciformats_core::arith::add;
use sciformats_core::{Error, Result};
use serde_yaml::value::{Tag, TaggedValue};

use super::node::{CollectionStyle, NodeId};
use super::resolve::Value;
use super::tree::Tree;

impl Tree {
    /// Returns a subtree as a `serde_yaml::Value`. Tags other than YAML's own are kept in full.
    ///
    /// ```
    /// use asdf_core::Tree;
    ///
    /// let tree = Tree::parse("gain: 0x1F\nfilters: [red, blue]\n")?;
    /// let value = tree.to_yaml_value(tree.root())?;
    /// assert_eq!((value["gain"].as_i64(), value["filters"][1].as_str()), (Some(31), Some("blue")));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `LimitExceeded` if there is a cycle, or if aliases expand to more than the tree's limits allow; `Malformed` if the types
    /// of scalars do not allow their texts.
    pub fn to_yaml_value(&self, node: NodeId) -> Result<serde_yaml::Value> {
        self.yaml_value(node, (0, &mut 0))
    }

    fn yaml_value(&self, id: NodeId, (level, visits): (usize, &mut u64)) -> Result<serde_yaml::Value> {
        self.limits().depth("levels of the tree", level)?;
        *visits = add(*visits, 1)?;
        sciformats_core::limits::within("unfolded nodes", *visits, self.unfolding_limit())?;
        let level = add(level, 1)?;
        let mut below = |id| self.yaml_value(id, (level, &mut *visits));
        let plain = if let Some(items) = self.items(id) {
            serde_yaml::Value::Sequence(items.iter().map(|&item| below(item)).collect::<Result<_>>()?)
        } else if let Some(pairs) = self.pairs(id)? {
            let pairs = pairs.into_iter().map(|(key, value)| Ok((below(key)?, below(value)?)));
            serde_yaml::Value::Mapping(pairs.collect::<Result<_>>()?)
        } else {
            match self.value(id)?.unwrap_or(Value::Null) {
                Value::Null => serde_yaml::Value::Null,
                Value::Bool(value) => value.into(),
                Value::Int(value) => match (i64::try_from(value), u64::try_from(value)) {
                    (Ok(value), _) => value.into(),
                    (_, Ok(value)) => value.into(),
                    _ => value.to_string().into(),
                },
                Value::Float(value) => value.into(),
                other => other.to_string().into(),
            }
        };
        let own = |tag: &&str| !tag.starts_with(super::YAML_PREFIX) && *tag != "!";
        Ok(match self.tag(id).filter(own) {
            Some(tag) => {
                serde_yaml::Value::Tagged(Box::new(TaggedValue { tag: Tag::new(tag), value: plain }))
            }
            None => plain,
        })
    }

    /// Adds a node for a `serde_yaml::Value`. Its tags are taken as full tags.
    ///
    /// ```
    /// use asdf_core::Tree;
    ///
    /// let mut tree = Tree::new();
    /// let node = tree.add_yaml_value(&serde_yaml::Value::from(vec!["red", "blue"]))?;
    /// tree.put("filters", node)?;
    /// assert_eq!(tree.get_as::<Vec<String>>("filters")?, ["red", "blue"]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `LimitExceeded` if the nesting exceeds the tree's limits.
    pub fn add_yaml_value(&mut self, value: &serde_yaml::Value) -> Result<NodeId> {
        self.yaml_node(value, 0)
    }

    fn yaml_node(&mut self, value: &serde_yaml::Value, level: usize) -> Result<NodeId> {
        self.limits().depth("levels of the tree", level)?;
        let level = add(level, 1)?;
        Ok(match value {
            serde_yaml::Value::Null => self.add_plain("null"),
            serde_yaml::Value::Bool(value) => self.add_plain(value.to_string()),
            serde_yaml::Value::Number(number) => {
                let value = match (number.as_i64(), number.as_u64(), number.as_f64()) {
                    (Some(value), ..) => Value::Int(value.into()),
                    (_, Some(value), _) => Value::Int(value.into()),
                    (.., Some(value)) => Value::Float(value),
                    _ => {
                        return Err(Error::unsupported(
                            "a number that is neither an integer nor a floating-point number",
                        ));
                    }
                };
                self.add_value(&value)
            }
            serde_yaml::Value::String(text) => self.add_str(text.as_str()),
            serde_yaml::Value::Sequence(items) => {
                let items = items.iter().map(|item| self.yaml_node(item, level)).collect::<Result<_>>()?;
                self.add_sequence(items, CollectionStyle::Block)
            }
            serde_yaml::Value::Mapping(pairs) => {
                let pair = |(key, value)| Ok((self.yaml_node(key, level)?, self.yaml_node(value, level)?));
                let entries = pairs.iter().map(pair).collect::<Result<_>>()?;
                self.add_mapping(entries, CollectionStyle::Block)
            }
            serde_yaml::Value::Tagged(tagged) => {
                let node = self.yaml_node(&tagged.value, level)?;
                // `Display` writes a `!` before every tag.
                let shown = tagged.tag.to_string();
                let tag = shown.strip_prefix('!').filter(|tag| tag.contains(':')).unwrap_or(&shown);
                self.set_tag(node, tag);
                node
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_carried_comes_back() {
        let text = "%TAG ! tag:x,2020:\n---\na: !t {b: [1, -2, 18446744073709551615, 2.5, true, null, 'no', '1e5']}\n1: x\n";
        let tree = Tree::parse(text).unwrap();
        let value = tree.to_yaml_value(tree.root()).unwrap();
        let mut again = Tree::new();
        let root = again.add_yaml_value(&value).unwrap();
        again.set_root(root);
        assert!(again.is_same(&tree), "{}", again.to_text().unwrap());
        let cycle = Tree::parse("&a [*a]\n").unwrap();
        assert!(cycle.to_yaml_value(cycle.root()).is_err());
    }
}
