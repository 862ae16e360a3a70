//! Converting any serde type to a node.

use std::fmt;

use serde::ser::{self, Serialize};

use super::node::{CollectionStyle, NodeId};
use super::resolve::{Value, float_text};
use super::tree::Tree;
use super::{ASDF_PREFIX, YAML_PREFIX};
use sciformats_core::{Error, Result};

/// The reason why a value cannot be a node, or a node cannot be a value.
#[derive(Debug)]
pub(super) struct SerdeError(pub(super) String);

impl fmt::Display for SerdeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SerdeError {}

impl ser::Error for SerdeError {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Self(text.to_string())
    }
}

/// Returns whether the name of a type is the tag of its values. Names of Rust have no colon, and every full tag has one, so a
/// type chooses its tag with `#[serde(rename = "asdf://…")]`.
pub(super) fn is_tag(name: &str) -> bool {
    name.contains(':')
}

impl Tree {
    /// Adds a node for any value that serde can serialize. Structs and maps become mappings, unit variants become strings, and
    /// other variants become mappings with one pair.
    ///
    /// If the name of a struct is a full tag, its node gets this tag. If the name of a variant is a full tag, its node is that of
    /// the content with this tag, so that an enumeration stands for values of different types.
    ///
    /// ```
    /// #[derive(serde::Serialize, serde::Deserialize)]
    /// #[serde(rename = "asdf://example.org/tags/camera-1.0.0")]
    /// struct Camera { name: String, gain: f64 }
    ///
    /// let mut tree = asdf_core::Tree::new();
    /// let camera = tree.set("camera", &Camera { name: "WFC3".into(), gain: 1.5 })?;
    /// assert_eq!(tree.tag(camera), Some("asdf://example.org/tags/camera-1.0.0"));
    /// assert_eq!(tree.get_as::<Camera>("camera")?.gain, 1.5);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// ```
    /// use asdf_core::Tree;
    ///
    /// let mut tree = Tree::new();
    /// let filters = tree.add_serialized(&["red", "blue"])?;
    /// tree.put("meta/filters", filters)?;
    /// assert_eq!(tree.get_as::<Vec<String>>("meta/filters")?, ["red", "blue"]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the value's own serialization fails.
    pub fn add_serialized<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<NodeId> {
        value
            .serialize(Serializer { tree: self, style: CollectionStyle::Block })
            .map_err(|e| Error::usage("value", e.0))
    }

    /// Serializes a value and puts it at a path; see [`put`](Tree::put). If the previous node has the same kind (a mapping, a
    /// sequence, or a scalar), the new node gets its tag, and so do the values of the same keys in it. The type in a data model
    /// is therefore kept, until [`set_tag`](Tree::set_tag) sets another one. Types of YAML itself, such as `!!str`, are not kept.
    ///
    /// ```
    /// use asdf_core::Tree;
    ///
    /// let mut tree = Tree::parse("instrument: !<asdf://example.org/tags/camera-1.0.0> {name: WFC3, gain: 1.5}\n")?;
    /// tree.set("meta/exposure", &30.0)?;
    /// let camera = tree.set("instrument", &std::collections::BTreeMap::from([("name", "ACS")]))?;
    /// assert_eq!(tree.tag(camera), Some("asdf://example.org/tags/camera-1.0.0"));
    /// assert_eq!(tree.get_as::<f64>("meta/exposure")?, 30.0);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`add_serialized`](Self::add_serialized) and [`put`](Tree::put).
    pub fn set<T: Serialize + ?Sized>(&mut self, path: &str, value: &T) -> Result<NodeId> {
        let before = self.get(path);
        let node = self.add_serialized(value)?;
        if let Some(before) = before {
            self.inherit(before, node);
        }
        self.put(path, node)?;
        Ok(node)
    }

    /// Gives a new node the tag of the previous node, and does the same for the nodes inside.
    fn inherit(&mut self, before: NodeId, new: NodeId) {
        if let Some(tag) = self.node(before).tag.clone().filter(|tag| self.may_have(tag, (before, new))) {
            self.set_tag(new, tag);
        }
        if let (Some(before), Some(new)) = (self.items(before), self.items(new)) {
            // If all items have the same type, this is the type of every item. Otherwise it is not known which item is which.
            let is_some = |id| self.tag(id).is_some() || self.node(id).text().is_none();
            let alike = |first| before.iter().all(|item| self.tag(*item) == self.tag(first));
            let first = before.first().copied().filter(|&first| is_some(first) && alike(first));
            let pairs: Vec<_> = new.iter().copied().zip(before.iter().copied()).collect();
            let rest: Vec<_> = new.iter().skip(before.len()).copied().collect();
            if let Some(first) = first {
                pairs.into_iter().for_each(|(new, before)| self.inherit(before, new));
                rest.into_iter().for_each(|new| self.inherit(first, new));
            }
            return;
        }
        let pairs = self.entries(new).unwrap_or_default().iter();
        let pairs: Vec<_> = pairs
            .filter_map(|(key, new)| Some((self.child(before, self.node(*key).text()?)?, *new)))
            .collect();
        pairs.into_iter().for_each(|(before, new)| self.inherit(before, new));
    }

    /// Returns whether a new node may have the tag of the previous one. Both must have the same kind, and the rules of the
    /// standard for its own tags must be satisfied.
    fn may_have(&self, tag: &str, (before, new): (NodeId, NodeId)) -> bool {
        let kind = |id| (self.items(id).is_some(), self.entries(id).is_some());
        if self.tag(new).is_some() || tag.starts_with(YAML_PREFIX) || kind(before) != kind(new) {
            return false;
        }
        match tag.strip_prefix(ASDF_PREFIX) {
            Some(array) if array.starts_with("core/ndarray-") && self.entries(new).is_some() => {
                self.child(new, "source").or(self.child(new, "data")).is_some()
            }
            Some(complex) if complex.starts_with("core/complex-") => {
                matches!(self.value(new), Ok(Some(Value::Int(_) | Value::Float(_))))
            }
            _ => true,
        }
    }
}

struct Serializer<'t> {
    tree: &'t mut Tree,
    style: CollectionStyle,
}

type Done = Result<NodeId, SerdeError>;

macro_rules! plain {
    ($($method:ident: $type:ty),*) => {$(
        fn $method(self, value: $type) -> Done {
            Ok(self.tree.add_plain(value.to_string()))
        }
    )*};
}

impl<'t> ser::Serializer for Serializer<'t> {
    type Ok = NodeId;
    type Error = SerdeError;
    type SerializeSeq = Items<'t>;
    type SerializeTuple = Items<'t>;
    type SerializeTupleStruct = Items<'t>;
    type SerializeTupleVariant = Items<'t>;
    type SerializeMap = Pairs<'t>;
    type SerializeStruct = Pairs<'t>;
    type SerializeStructVariant = Pairs<'t>;

    plain!(serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
           serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128);

    fn serialize_f32(self, value: f32) -> Done {
        // The conversion goes through the shortest text, so that 0.1 stays 0.1.
        let wide = if value.is_finite() {
            value.to_string().parse().unwrap_or(f64::from(value))
        } else {
            f64::from(value)
        };
        self.serialize_f64(wide)
    }

    fn serialize_f64(self, value: f64) -> Done {
        Ok(self.tree.add_plain(float_text(value)))
    }

    fn serialize_char(self, value: char) -> Done {
        Ok(self.tree.add_str(value))
    }

    fn serialize_str(self, value: &str) -> Done {
        Ok(self.tree.add_str(value))
    }

    fn serialize_bytes(self, value: &[u8]) -> Done {
        Ok(self.tree.add_value(&Value::Bytes(value.to_vec())))
    }

    fn serialize_none(self) -> Done {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Done {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Done {
        Ok(self.tree.add_plain("null"))
    }

    fn serialize_unit_struct(self, _: &'static str) -> Done {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Done {
        if is_tag(variant) {
            let node = self.tree.add_plain("null");
            return Ok(tagged(self.tree, Some(variant), node));
        }
        Ok(self.tree.add_str(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Done {
        let node = value.serialize(Serializer { tree: self.tree, style: self.style })?;
        Ok(tagged(self.tree, Some(name), node))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Done {
        let node = value.serialize(Serializer { tree: self.tree, style: self.style })?;
        Ok(variant_node(self.tree, variant, node, self.style))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'t>, SerdeError> {
        Ok(Items { tree: self.tree, style: self.style, name: None, variant: None, items: Vec::new() })
    }

    fn serialize_tuple(self, len: usize) -> Result<Items<'t>, SerdeError> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_struct(self, name: &'static str, len: usize) -> Result<Items<'t>, SerdeError> {
        self.serialize_seq(Some(len)).map(|items| Items { name: Some(name), ..items })
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Items<'t>, SerdeError> {
        self.serialize_seq(Some(len)).map(|items| Items { variant: Some(variant), ..items })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Pairs<'t>, SerdeError> {
        let (tree, style) = (self.tree, self.style);
        Ok(Pairs { tree, style, name: None, variant: None, entries: Vec::new(), key: None })
    }

    fn serialize_struct(self, name: &'static str, len: usize) -> Result<Pairs<'t>, SerdeError> {
        self.serialize_map(Some(len)).map(|pairs| Pairs { name: Some(name), ..pairs })
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Pairs<'t>, SerdeError> {
        self.serialize_map(Some(len)).map(|pairs| Pairs { variant: Some(variant), ..pairs })
    }
}

/// Gives a node the name of its type as its tag, if the name is one.
fn tagged(tree: &mut Tree, name: Option<&'static str>, node: NodeId) -> NodeId {
    if let Some(name) = name.filter(|name| is_tag(name)) {
        tree.set_tag(node, name);
    }
    node
}

fn variant_node(tree: &mut Tree, variant: &'static str, node: NodeId, style: CollectionStyle) -> NodeId {
    if is_tag(variant) {
        return tagged(tree, Some(variant), node);
    }
    let key = tree.add_str(variant);
    tree.add_mapping(vec![(key, node)], style)
}

struct Items<'t> {
    tree: &'t mut Tree,
    style: CollectionStyle,
    /// The name of the type, which may be a tag.
    name: Option<&'static str>,
    variant: Option<&'static str>,
    items: Vec<NodeId>,
}

impl Items<'_> {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), SerdeError> {
        let node = value.serialize(Serializer { tree: self.tree, style: self.style })?;
        self.items.push(node);
        Ok(())
    }

    fn finish(self) -> Done {
        // Lists of scalars, such as coordinates, are easiest to read on one line.
        let flat = self
            .items
            .iter()
            .all(|&item| self.tree.node(item).text().is_some_and(|text| !text.contains('\n')));
        let style = if flat && self.items.len() <= 16 { CollectionStyle::Flow } else { self.style };
        let node = self.tree.add_sequence(self.items, style);
        let node = tagged(self.tree, self.name, node);
        Ok(match self.variant {
            Some(variant) => variant_node(self.tree, variant, node, self.style),
            None => node,
        })
    }
}

macro_rules! items {
    ($($trait:ident::$method:ident),*) => {$(
        impl ser::$trait for Items<'_> {
            type Ok = NodeId;
            type Error = SerdeError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), SerdeError> {
                self.push(value)
            }

            fn end(self) -> Done {
                self.finish()
            }
        }
    )*};
}
items!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

struct Pairs<'t> {
    tree: &'t mut Tree,
    style: CollectionStyle,
    /// The name of the type, which may be a tag.
    name: Option<&'static str>,
    variant: Option<&'static str>,
    entries: Vec<(NodeId, NodeId)>,
    key: Option<NodeId>,
}

impl Pairs<'_> {
    fn node<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        value.serialize(Serializer { tree: self.tree, style: self.style })
    }

    fn push<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), SerdeError> {
        let value = self.node(value)?;
        let key = self.tree.add_str(key);
        self.entries.push((key, value));
        Ok(())
    }

    fn finish(self) -> Done {
        let node = self.tree.add_mapping(self.entries, self.style);
        let node = tagged(self.tree, self.name, node);
        Ok(match self.variant {
            Some(variant) => variant_node(self.tree, variant, node, self.style),
            None => node,
        })
    }
}

impl ser::SerializeMap for Pairs<'_> {
    type Ok = NodeId;
    type Error = SerdeError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), SerdeError> {
        self.key = Some(self.node(key)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), SerdeError> {
        let value = self.node(value)?;
        let key =
            self.key.take().ok_or_else(|| SerdeError("a map serialized a value without a key".into()))?;
        self.entries.push((key, value));
        Ok(())
    }

    fn end(self) -> Done {
        self.finish()
    }
}

macro_rules! pairs {
    ($($trait:ident),*) => {$(
        impl ser::$trait for Pairs<'_> {
            type Ok = NodeId;
            type Error = SerdeError;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), SerdeError> {
                self.push(key, value)
            }

            fn end(self) -> Done {
                self.finish()
            }
        }
    )*};
}
pairs!(SerializeStruct, SerializeStructVariant);
