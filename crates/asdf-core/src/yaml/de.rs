//! Converting a node to any serde type.

use std::cell::Cell;
use std::fmt;

use sciformats_core::{Error, Result, bound};
use serde::de::{self, DeserializeOwned, IntoDeserializer, Visitor};

use super::node::{Content, NodeId};
use super::resolve::Value;
use super::ser::{SerdeError, is_tag};
use super::tree::Tree;

impl de::Error for SerdeError {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Self(text.to_string())
    }
}

impl Tree {
    /// Returns the subtree of a node as a value of any type that serde can deserialize. Aliases become copies, merge keys are
    /// expanded, and tags other than YAML's own are ignored, unless the name of a type is one.
    ///
    /// If the name of a struct is a full tag, a node with another tag is refused. The versions at the end of tags, and nodes
    /// without a tag, make no difference. If the names of variants are full tags, the tag of the node selects the variant.
    ///
    /// ```
    /// #[derive(serde::Deserialize, Debug, PartialEq)]
    /// enum Detector {
    ///     #[serde(rename = "asdf://example.org/tags/ccd-1.0.0")]
    ///     Ccd { gain: f64 },
    ///     #[serde(rename = "asdf://example.org/tags/bolometer-1.0.0")]
    ///     Bolometer { kelvin: f64 },
    /// }
    ///
    /// let text = "- !<asdf://example.org/tags/bolometer-1.0.0> {kelvin: 0.1}\n- !<asdf://example.org/tags/ccd-1.1.0> {gain: 2.0}\n";
    /// let tree = asdf_core::Tree::parse(text)?;
    /// let detectors: Vec<Detector> = tree.deserialize(tree.root())?;
    /// assert_eq!(detectors, [Detector::Bolometer { kelvin: 0.1 }, Detector::Ccd { gain: 2.0 }]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// ```
    /// #[derive(serde::Deserialize)]
    /// struct Instrument { name: String, filters: Vec<String> }
    ///
    /// let tree = asdf_core::Tree::parse("meta: {instrument: {name: cam, filters: [red, blue]}}\n")?;
    /// let instrument: Instrument = tree.get_as("meta/instrument")?;
    /// assert_eq!((instrument.name.as_str(), instrument.filters.len()), ("cam", 2));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the subtree does not fit the type, or if it expands to more nodes than the tree's limits allow.
    pub fn deserialize<T: DeserializeOwned>(&self, node: NodeId) -> Result<T> {
        let budget = Cell::new(self.unfolding_limit());
        T::deserialize(Deserializer { tree: self, node, level: 0, is_expected: false, budget: &budget })
            .map_err(|e| Error::usage("node", e.0))
    }

    /// Does the same as [`deserialize`](Self::deserialize), for the node at a path.
    ///
    /// ```
    /// use asdf_core::Tree;
    ///
    /// let tree = Tree::parse("meta: {exposure: 30.0, filters: [red, blue]}\n")?;
    /// assert_eq!(tree.get_as::<f64>("meta/exposure")?, 30.0);
    /// assert_eq!(tree.get_as::<Vec<String>>("meta/filters")?, ["red", "blue"]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NotFound`; and those of [`deserialize`](Self::deserialize).
    pub fn get_as<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        self.deserialize(self.get(path).ok_or_else(|| self.not_found(path))?)
    }
}

#[derive(Clone, Copy)]
struct Deserializer<'t> {
    tree: &'t Tree,
    node: NodeId,
    level: usize,
    /// Whether the type asks for the tag of the node, which therefore does not tell how its text is read.
    is_expected: bool,
    /// The number of nodes that may still be visited. Aliases become copies, and copies of copies could go on without end.
    budget: &'t Cell<u64>,
}

impl<'t> Deserializer<'t> {
    fn at(self, node: NodeId) -> Result<Self, SerdeError> {
        let level = bound::sum(self.level, 1);
        self.tree.limits.depth("levels of the tree", level).map_err(|e| SerdeError(e.to_string()))?;
        let left = self.budget.get().checked_sub(1);
        self.budget.set(left.ok_or_else(|| {
            SerdeError(format!("expands to more than {} nodes", self.tree.unfolding_limit()))
        })?);
        Ok(Self { node, level, is_expected: false, ..self })
    }

    fn scalar(self) -> Result<Option<Value<'t>>, SerdeError> {
        let value = match self.is_expected {
            true => self.tree.value_without_tag(self.node),
            false => self.tree.value(self.node),
        };
        value.map_err(|e| SerdeError(e.to_string()))
    }

    /// Fails if the name of a type is a tag, and the node has the tag of another type.
    fn of_type(self, name: &'static str) -> Result<Self, SerdeError> {
        match self.tree.tag(self.node) {
            Some(tag) if is_tag(name) && !is_same_type(tag, name) => {
                Err(SerdeError(format!("has the tag {tag:?}, not {name:?}")))
            }
            _ => Ok(Self { is_expected: is_tag(name), ..self }),
        }
    }

    fn pairs(self) -> Result<Vec<(NodeId, NodeId)>, SerdeError> {
        self.tree.pairs(self.node).map(Option::unwrap_or_default).map_err(|e| SerdeError(e.to_string()))
    }
}

impl<'de, 't> de::Deserializer<'de> for Deserializer<'t> {
    type Error = SerdeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match &self.tree.node(self.node).content {
            Content::Sequence { items, .. } => visitor.visit_seq(Items { at: self, items: items.iter() }),
            Content::Mapping { .. } => {
                visitor.visit_map(Pairs { at: self, pairs: self.pairs()?.into_iter(), value: None })
            }
            Content::Scalar { .. } => match self.scalar()?.unwrap_or(Value::Null) {
                Value::Null => visitor.visit_unit(),
                Value::Bool(value) => visitor.visit_bool(value),
                Value::Int(value) => match (i64::try_from(value), u64::try_from(value)) {
                    (Ok(value), _) => visitor.visit_i64(value),
                    (_, Ok(value)) => visitor.visit_u64(value),
                    _ => visitor.visit_i128(value),
                },
                Value::Float(value) => visitor.visit_f64(value),
                Value::Str(text) => visitor.visit_str(&text),
                Value::Bytes(bytes) => visitor.visit_byte_buf(bytes),
                // Other numbers and times are passed as their text.
                Value::BigInt(number) => visitor.visit_string(number.to_string()),
                Value::Timestamp(stamp) => visitor.visit_string(stamp.to_string()),
            },
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match self.scalar()? {
            Some(Value::Null) => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        visitor.visit_newtype_struct(self.of_type(name)?)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        self.of_type(name)?.deserialize_any(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        self.of_type(name)?.deserialize_any(visitor)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        self.of_type(name)?.deserialize_any(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        let tag = self.tree.tag(self.node);
        let of_tag = |variant: &&&str| is_tag(variant) && tag.is_some_and(|tag| is_same_type(tag, variant));
        if let Some(variant) = variants.iter().find(of_tag) {
            return visitor.visit_enum(Variant {
                name: (*variant).to_owned(),
                value: Self { is_expected: true, ..self },
            });
        }
        if let Some(Value::Str(text)) = self.scalar()? {
            return visitor.visit_enum(text.into_owned().into_deserializer());
        }
        match self.pairs()?.as_slice() {
            [(key, value)] => {
                let name = self.tree.node(*key).text().unwrap_or_default().to_owned();
                visitor.visit_enum(Variant { name, value: self.at(*value)? })
            }
            _ => Err(SerdeError("is neither a string nor a mapping of one pair, as a variant is".into())),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit seq tuple map identifier
        ignored_any
    }
}

/// Returns whether two tags are those of one type, in any version. A version follows the last hyphen, and begins with a digit.
fn is_same_type(a: &str, b: &str) -> bool {
    let name = |tag| match str::rsplit_once(tag, '-') {
        Some((name, version)) if version.starts_with(|first: char| first.is_ascii_digit()) => name,
        _ => tag,
    };
    name(a) == name(b)
}

struct Items<'t> {
    at: Deserializer<'t>,
    items: std::slice::Iter<'t, NodeId>,
}

impl<'de> de::SeqAccess<'de> for Items<'_> {
    type Error = SerdeError;

    fn next_element_seed<T: de::DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, SerdeError> {
        self.items.next().map(|&item| seed.deserialize(self.at.at(item)?)).transpose()
    }
}

struct Pairs<'t> {
    at: Deserializer<'t>,
    pairs: std::vec::IntoIter<(NodeId, NodeId)>,
    value: Option<NodeId>,
}

impl<'de> de::MapAccess<'de> for Pairs<'_> {
    type Error = SerdeError;

    fn next_key_seed<K: de::DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, SerdeError> {
        let Some((key, value)) = self.pairs.next() else { return Ok(None) };
        self.value = Some(value);
        seed.deserialize(self.at.at(key)?).map(Some)
    }

    fn next_value_seed<V: de::DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, SerdeError> {
        let value =
            self.value.take().ok_or_else(|| SerdeError("a value was requested before its key".into()))?;
        seed.deserialize(self.at.at(value)?)
    }
}

struct Variant<'t> {
    name: String,
    value: Deserializer<'t>,
}

impl<'de, 't> de::EnumAccess<'de> for Variant<'t> {
    type Error = SerdeError;
    type Variant = Deserializer<'t>;

    fn variant_seed<V: de::DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Deserializer<'t>), SerdeError> {
        let name: de::value::StringDeserializer<SerdeError> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self.value))
    }
}

impl<'de> de::VariantAccess<'de> for Deserializer<'_> {
    type Error = SerdeError;

    fn unit_variant(self) -> Result<(), SerdeError> {
        de::Deserialize::deserialize(self)
    }

    fn newtype_variant_seed<T: de::DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, SerdeError> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, SerdeError> {
        de::Deserializer::deserialize_any(self, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        de::Deserializer::deserialize_any(self, visitor)
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Shape {
        Point,
        Circle(f32),
        Box { width: u64, label: Option<String> },
        Pair(i8, bool),
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Sample {
        name: String,
        shapes: Vec<Shape>,
        nothing: Option<u8>,
        map: std::collections::BTreeMap<i32, String>,
        text: char,
    }

    #[test]
    fn values_come_back() {
        let sample = Sample {
            name: "no".into(),
            shapes: vec![
                Shape::Point,
                Shape::Circle(0.1),
                Shape::Box { width: u64::MAX, label: Some("1e5".into()) },
                Shape::Pair(-1, true),
            ],
            nothing: None,
            map: [(1, "a\nb".into()), (-2, String::new())].into(),
            text: '~',
        };
        let mut tree = Tree::new();
        tree.set("sample", &sample).unwrap();
        let text = tree.to_text().unwrap();
        let again = Tree::parse(&text).unwrap();
        assert_eq!(again.get_as::<Sample>("sample").unwrap(), sample, "{text}");
        assert!(again.get_as::<Vec<u8>>("sample").is_err());
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename = "asdf://example.org/tags/pair-2.0.0")]
    struct Pair(i32, i32);

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename = "tag:example.org:name-1.0.0")]
    struct Name(String);

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename = "tag:example.org:kelvin-1.0.0")]
    struct Kelvin(f64);

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Thing {
        #[serde(rename = "tag:example.org:nothing-1.0.0")]
        Nothing,
        #[serde(rename = "tag:example.org:name-1.0.0")]
        Named(String),
        #[serde(rename = "asdf://example.org/tags/pair-2.0.0")]
        Pair(i32, i32),
        #[serde(rename = "asdf://example.org/tags/box-1.0.0")]
        Box {
            width: u8,
        },
        Plain(u8),
    }

    #[test]
    fn names_with_a_colon_are_tags() {
        let mut tree = Tree::new();
        let things = [
            Thing::Nothing,
            Thing::Named("a".into()),
            Thing::Pair(1, 2),
            Thing::Box { width: 3 },
            Thing::Plain(4),
        ];
        tree.set("things", &things).unwrap();
        tree.set("pair", &Pair(5, 6)).unwrap();
        tree.set("name", &Name("b".into())).unwrap();
        tree.set("kelvin", &Some(Kelvin(2.5))).unwrap();
        let again = Tree::parse(tree.to_text().unwrap()).unwrap();
        assert_eq!(again.get_as::<Option<Kelvin>>("kelvin").unwrap(), Some(Kelvin(2.5)));
        assert_eq!(again.get_as::<[Thing; 5]>("things").unwrap(), things);
        assert_eq!(again.get_as::<Pair>("pair").unwrap(), Pair(5, 6));
        assert_eq!(again.get_as::<Name>("name").unwrap(), Name("b".into()));
        assert_eq!(again.get_as::<Thing>("name").unwrap(), Thing::Named("b".into()));
        assert_eq!(again.tag(again.get("things/3").unwrap()), Some("asdf://example.org/tags/box-1.0.0"));
        let other = again.get_as::<Pair>("things/3").unwrap_err().to_string();
        let expected = "node has the tag \"asdf://example.org/tags/box-1.0.0\", not \"asdf://example.org/tags/pair-2.0.0\"";
        assert_eq!(other, expected);
        // Another version, and no tag at all.
        let loose = Tree::parse("- !<asdf://example.org/tags/pair-3.1.0> [1, 2]\n- [3, 4]\n").unwrap();
        assert_eq!(loose.deserialize::<Vec<Pair>>(loose.root()).unwrap(), [Pair(1, 2), Pair(3, 4)]);
    }

    #[test]
    fn copies_of_copies_end() {
        let bomb: String = (1..40).map(|i| format!("a{i}: &a{i} [*a{}, *a{}]\n", i - 1, i - 1)).collect();
        let limits = sciformats_core::Limits::default().with_items(1000);
        let tree = Tree::parse_at(format!("a0: &a0 x\n{bomb}").as_bytes(), 0, &limits).unwrap();
        let shown = tree.get_as::<serde::de::IgnoredAny>("a39").unwrap_err().to_string();
        assert_eq!(shown, "node expands to more than 1000 nodes");
        let cycle = Tree::parse("&a\nself: *a\n").unwrap();
        assert!(cycle.deserialize::<serde::de::IgnoredAny>(cycle.root()).is_err());
    }
}
