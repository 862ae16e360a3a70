//! Writes ASDF. Groups become mappings, or sequences if the names of their members are 0, 1, 2 …. Scalars are
//! in the tree, and arrays are in blocks. The attribute `mask` of an array becomes its mask.

mod wide;

use std::path::{Path, PathBuf};

use asdf_core::yaml::{self, CollectionStyle, Content, Node};
use asdf_core::{ByteOrder, Compression, Datatype, Document, Field, NewArray, NodeId, ScalarType};
use sciformats_core::Error;

use super::{Elements, Filters, Handle, New, Place, Sink, WriteOptions, refuse_options, refused, rules};
use sciformats::model::{AttributeValue, Datum, Decoder, ElementType, Name, Value};
use sciformats::{Format, Result};

struct Writing {
    /// The path of the new file; `None` if nothing is written.
    path: Option<PathBuf>,
    document: Document,
    compression: Compression,
    level: Option<u32>,
    groups: Vec<NodeId>,
    begun: bool,
}

pub(super) fn create(path: Option<&Path>, options: &WriteOptions) -> Result<Box<dyn Sink>> {
    refuse_options(Format::Asdf, options, Filters::Possible)?;
    let mut document = Document::new();
    // The entry about the library that wrote the file is part of the tree, and comes from there.
    let root = document.tree().root();
    if let Some(Node { content: Content::Mapping { entries, .. }, .. }) = document.tree_mut().node_mut(root) {
        entries.clear();
    }
    document.options_mut().threads = options.threads;
    Ok(Box::new(Writing {
        path: path.map(Path::to_owned),
        document,
        compression: compression(options.filter.as_deref().unwrap_or("none"))?,
        level: options.level,
        groups: Vec::new(),
        begun: false,
    }))
}

/// Returns the compression with this name.
pub(crate) fn compression(word: &str) -> Result<Compression> {
    Ok(match word {
        "none" => Compression::None,
        "zlib" => Compression::Zlib,
        "bzp2" | "bzip2" => Compression::Bzp2,
        "lz4" => Compression::Lz4,
        "lz4f" => Compression::Lz4Frame,
        "zstd" => Compression::Zstd,
        other => {
            return Err(Error::usage(
                "filter",
                format!("{other} is unknown; choose none, zlib, bzp2, lz4, lz4f or zstd"),
            ));
        }
    })
}

impl Writing {
    fn node(&self, Handle(id): Handle) -> Result<NodeId> {
        let node = u32::try_from(id).ok().and_then(|number| self.document.tree().id(number));
        node.ok_or_else(|| Error::usage("place", "is in no group"))
    }

    fn new_node(&mut self, object: &New<'_>) -> Result<NodeId> {
        Ok(match object {
            New::Group => {
                let node = self.document.tree_mut().add_mapping(Vec::new(), CollectionStyle::Block);
                self.groups.push(node);
                node
            }
            New::Value(value) => self.value(value),
            New::Hard(target) => self.node(*target)?,
            New::Array(_) => return Err(Error::internal("an array is added as another object")),
            _ => return Err(refused(Format::Asdf, "a link by path or a committed datatype")),
        })
    }

    fn new_array(&self, elements: &Elements) -> Result<NewArray> {
        rules(Format::Asdf)?.check(elements)?;
        let array = match self.path {
            Some(_) => array(elements)?,
            // Whether it can be compressed does not depend on its elements.
            None => NewArray::from_bytes(ScalarType::UInt8, ByteOrder::Little, &[0], Vec::new())?,
        };
        let array = array.with_compression(self.compression);
        Ok(match self.level {
            Some(level) => array.with_level(level),
            None => array,
        })
    }

    fn value(&mut self, value: &Value) -> NodeId {
        if let Value::List(values) = value {
            let items = values.iter().map(|value| self.value(value)).collect();
            return self.document.tree_mut().add_sequence(items, CollectionStyle::Flow);
        }
        let tree = self.document.tree_mut();
        match value {
            Value::Text(text) => tree.add_str(text.as_str()),
            Value::Float(value) => tree.add_value(&yaml::Value::Float(*value)),
            other => tree.add_plain(other.to_json()),
        }
    }

    fn push(&mut self, parent: NodeId, name: &Name, value: NodeId) -> Result<()> {
        let key = self.document.tree_mut().add_str(key(name));
        match self.document.tree_mut().node_mut(parent) {
            Some(Node { content: Content::Mapping { entries, .. }, .. }) => {
                entries.push((key, value));
                Ok(())
            }
            _ => Err(Error::usage("place", "is in no group")),
        }
    }

    /// Turns mappings whose keys are 0, 1, 2 … into sequences.
    fn number(&mut self) {
        let tree = self.document.tree_mut();
        for group in std::mem::take(&mut self.groups) {
            let Content::Mapping { entries, .. } = &tree.node(group).content else { continue };
            let mut items = vec![None; entries.len()];
            for (key, value) in entries {
                let canonical = tree.with(*key, |tree, key| {
                    let text = tree.node(key).text()?;
                    text.parse::<usize>().ok().filter(|index| index.to_string() == text)
                });
                let Some(item) = canonical.and_then(|index| items.get_mut(index)) else { break };
                *item = Some(*value);
            }
            let items: Option<Vec<NodeId>> = items.into_iter().collect();
            let Some(items) = items.filter(|items| !items.is_empty()) else { continue };
            if let Some(node) = tree.node_mut(group) {
                node.content = Content::Sequence { items, style: CollectionStyle::Block };
            }
        }
    }
}

impl Sink for Writing {
    fn add(&mut self, place: Place<'_>, object: New<'_>) -> Result<Handle> {
        let node = match (place, &object) {
            (Place::Root, New::Group) if !self.begun => {
                self.begun = true;
                self.document.tree().root()
            }
            (Place::Root, _) => return Err(refused(Format::Asdf, "anything but a group at the root")),
            (Place::In(parent, name), New::Array(elements)) => {
                let (parent, array) = (self.node(parent)?, self.new_array(elements)?);
                self.document.push_array(parent, &key(name), array)?
            }
            (Place::In(parent, name), _) => {
                let parent = self.node(parent)?;
                let node = self.new_node(&object)?;
                self.push(parent, name, node)?;
                node
            }
        };
        Ok(Handle(node.number().into()))
    }

    fn attribute(&mut self, object: Handle, name: &Name, value: &AttributeValue) -> Result<()> {
        let node = self.node(object)?;
        let (b"mask", ElementType::Bool, Some(shape), Ok(data)) =
            (name.as_bytes(), &value.element, &value.shape, &value.data)
        else {
            return Err(refused(Format::Asdf, format!("an attribute such as {name}")));
        };
        let mask = NewArray::from_bytes(ScalarType::Bool8, ByteOrder::Little, shape, data.clone())?;
        let mask = self.document.add_array(mask.with_compression(self.compression))?;
        self.push(node, &"mask".into(), mask)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        let Some(path) = self.path.take() else { return Ok(()) };
        self.number();
        self.document.save(&path)
    }
}

/// Returns the key of a mapping that is shown as `name`.
fn key(name: &Name) -> String {
    let name = name.to_utf8();
    // The empty key has a name of its own.
    if name == "~2" { String::new() } else { name.replace("~1", "/").replace("~0", "~") }
}

fn array(elements: &Elements) -> Result<NewArray> {
    let shape = elements.dimensions()?.to_vec();
    let forms = elements.info.texts.as_deref().unwrap_or_default();
    if elements.info.element == ElementType::Text && forms.is_empty() {
        return NewArray::from_strings(&texts(elements)?, &shape);
    }
    if elements.info.element.size().is_none() {
        let (datatype, bytes) = wide::fixed((&elements.info.element, forms), &elements.to_bytes()?)?;
        return NewArray::from_bytes(datatype, ByteOrder::Little, &shape, bytes);
    }
    let datatype = datatype(&elements.info.element, &mut std::iter::empty())?;
    match elements.storage_of_file()? {
        Some(bytes) => NewArray::from_bytes(datatype, ByteOrder::Little, &shape, bytes),
        None => NewArray::from_bytes(datatype, ByteOrder::Little, &shape, elements.clone().into_storage()?),
    }
}

fn texts(elements: &Elements) -> Result<Vec<String>> {
    let bytes = elements.to_bytes()?;
    let mut texts = Vec::new();
    for datum in Decoder::new(&elements.info.element, &bytes) {
        let Datum::Text(text) = datum? else { continue };
        texts.push(wide::unicode(text)?.to_owned());
    }
    Ok(texts)
}

/// Returns the type of elements in a file; `texts` are the types of the texts in them.
fn datatype(element: &ElementType, texts: &mut dyn Iterator<Item = ScalarType>) -> Result<Datatype> {
    use ElementType as T;
    let scalar = match element {
        T::Int(1) => ScalarType::Int8,
        T::Int(2) => ScalarType::Int16,
        T::Int(4) => ScalarType::Int32,
        T::Int(8) => ScalarType::Int64,
        T::UInt(1) => ScalarType::UInt8,
        T::UInt(2) => ScalarType::UInt16,
        T::UInt(4) => ScalarType::UInt32,
        T::UInt(8) => ScalarType::UInt64,
        T::F16 => ScalarType::Float16,
        T::F32 => ScalarType::Float32,
        T::F64 => ScalarType::Float64,
        T::Complex(8) => ScalarType::Complex64,
        T::Complex(16) => ScalarType::Complex128,
        T::Bool => ScalarType::Bool8,
        T::Text => texts.next().unwrap_or(ScalarType::Ucs4(1)),
        T::Compound(fields) => {
            let fields = fields.iter().map(|(name, element)| {
                let (element, shape) = match element {
                    T::Array { element, shape } => (&**element, shape.clone()),
                    plain => (plain, Vec::new()),
                };
                let field = Field::new(name.to_utf8(), datatype(element, texts)?, ByteOrder::Little);
                Ok(Field { shape, ..field })
            });
            return Ok(Datatype::Struct(fields.collect::<Result<_>>()?));
        }
        other => return Err(refused(Format::Asdf, format!("elements of type {other}"))),
    };
    Ok(scalar.into())
}
