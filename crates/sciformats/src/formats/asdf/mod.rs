//! ASDF: mappings and sequences of the tree are groups, and scalars are values. Nodes with the tag of an
//! array are arrays, whose children are not listed. The mask of an array is its attribute `mask`.
//!
//! A node that several aliases lead to is one object. The items of a sequence are named `0`, `1`, …. In a
//! key, `~0` stands for `~` and `~1` for `/`; the empty key is named `~2`, because a path has no empty names.
//! Keys that are not strings are named by their value: `1`, `true`. Keys are UTF-8: one such as `caf\xe9` is how a name with another
//! byte is written ([`Name::of_utf8`]).

mod canonical;
mod inspect;

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use asdf_core::structure::{Mask, Source as Stored};
use asdf_core::yaml::Value as Scalar;
use asdf_core::{Array, Asdf, ByteOrder, Compression, Datatype, NodeId, ScalarType};
use sciformats_core::arith::{add, fit, mul, present};
use sciformats_core::{Error, Fault, FaultKind, Limits, Slab};

use super::numbers::{decimal_order, number};
use crate::details::Details;
use crate::file::Storage;
use crate::model::{
    ArrayInfo, Attribute, AttributeValue, ElementType, Kind, Name, Object, ObjectId, Target, Value,
};
use crate::options::OpenOptions;
use crate::pieces::{copied, grow};
use crate::source::{Attributes, Extent, Fact, Finding, Listed, Listing, Member, Members, Source, Structure};
use crate::{Format, Result};

/// Returns whether elements at these distances are in C order without gaps.
fn is_packed(strides: &[i64], shape: &[u64], size: u64) -> bool {
    let mut packed = Some(size);
    let sides = shape.iter().zip(strides).rev();
    sides.into_iter().all(|(&count, &stride)| {
        let fits = count < 2 || packed == u64::try_from(stride).ok();
        packed = packed.and_then(|packed| packed.checked_mul(count));
        fits
    })
}

struct Adapter {
    file: Asdf,
    limits: Limits,
    /// The inline array that was read last, so that its text is not read again for every piece.
    inline: Mutex<Option<Arc<Inline>>>,
}

/// An array whose elements are in the tree.
struct Inline {
    node: NodeId,
    datatype: Datatype,
    /// The elements, packed and little-endian.
    bytes: Vec<u8>,
}

/// Opens a file. If it has a path, its arrays may be in files beside it.
pub(super) fn open(storage: Storage, path: Option<&Path>, options: &OpenOptions) -> Result<Box<dyn Source>> {
    let read = asdf_core::OpenOptions::default()
        .with_limits(options.limits)
        .with_threads(options.threads())
        .with_access(options.access)
        .with_external(options.external.clone());
    let file = match path {
        Some(path) => Asdf::open_with(path, &read)?,
        None => Asdf::from_storage(storage, &read)?,
    };
    Ok(Box::new(Adapter { file, limits: options.limits, inline: Mutex::default() }))
}

fn id(node: NodeId) -> ObjectId {
    ObjectId(node.number().into())
}

fn member(name: impl Into<Name>, node: NodeId) -> Member {
    Member { name: name.into(), target: Target::Object(id(node)) }
}

/// Returns a key as the name of a member.
fn escaped(key: &str) -> Name {
    Name::of_utf8(&asdf_core::yaml::path::escaped(key))
}

impl Adapter {
    fn node(&self, ObjectId(id): ObjectId) -> Result<NodeId> {
        let node = u32::try_from(id).ok().and_then(|number| self.file.tree().id(number));
        node.ok_or_else(|| Error::not_found("node", id.to_string()))
    }

    /// Returns the name that a key gives to a member; `None` if the key is not a scalar.
    fn name(&self, key: NodeId) -> Option<Name> {
        // The text of very many arrays is not kept as nodes only because their names are listed.
        self.file.tree().with(key, |tree, key| {
            let text = tree.node(key).text()?;
            Some(match tree.value(key) {
                Ok(Some(value @ (Scalar::Null | Scalar::Bool(_) | Scalar::Int(_) | Scalar::BigInt(_)))) => {
                    escaped(&value.to_string())
                }
                _ => escaped(text),
            })
        })
    }

    fn value(&self, node: NodeId) -> Result<Value> {
        let text = self.file.tree().node(node).text().unwrap_or_default();
        Ok(match self.file.tree().value(node)?.unwrap_or(Scalar::Null) {
            Scalar::Null => Value::Null,
            Scalar::Bool(value) => value.into(),
            Scalar::Int(value) => value.into(),
            Scalar::BigInt(value) => Value::Integer(value.to_string().into()),
            Scalar::Float(value) => value.into(),
            Scalar::Str(text) => text.into_owned().into(),
            // The name is the text in the file, because the same date can be written in several ways.
            Scalar::Bytes(_) | Scalar::Timestamp(_) => text.into(),
        })
    }

    /// Returns the pairs of a mapping as members, in byte order of their names.
    fn pairs(&self, mapping: NodeId) -> Result<Members<'_>> {
        let pairs = self.file.tree().pairs(mapping)?.unwrap_or_default();
        let mut members = Vec::with_capacity(pairs.len());
        let mut failure = None;
        for (key, value) in pairs {
            match self.name(key) {
                Some(name) => members.push((name, value)),
                None => failure = Some("a key that is a mapping or a sequence"),
            }
        }
        sciformats_core::order::sort_by(&mut members, |a, b| a.0.cmp(&b.0));
        let before = members.len();
        members.dedup_by(|a, b| a.0 == b.0);
        if members.len() < before {
            failure = Some("a mapping with keys that only differ in their types");
        }
        let failure = failure.map(|what| Err(Error::unsupported(what)));
        Ok(Box::new(members.into_iter().map(|(name, node)| Ok(member(name, node))).chain(failure)))
    }

    /// Returns the numbers of a sequence's items as members, in the given order.
    fn items<'a>(items: &'a [NodeId], order: impl Iterator<Item = u64> + 'a) -> Members<'a> {
        let item = |index: u64| usize::try_from(index).ok().and_then(|index| items.get(index));
        Box::new(order.filter_map(move |index| item(index).map(|node| Ok(member(index.to_string(), *node)))))
    }

    fn info(&self, node: NodeId) -> Result<ArrayInfo> {
        let array = self.file.array_at(node)?;
        let datatype = array.datatype();
        let mut forms = Vec::new();
        canonical::texts(datatype, &mut forms);
        let mut info = ArrayInfo::new(canonical::element(datatype), array.shape()).with_texts(forms);
        info.width = datatype.size();
        let packed = datatype.size().and_then(|size| size.checked_mul(array.len()));
        let available = self.place(&array, packed, &mut info)?;
        if datatype.size() == Some(0) || packed.is_none_or(|packed| packed > available) {
            // A few bytes, or none, are repeated for every element.
            let most = canonical::most(datatype).and_then(|most| most.checked_mul(array.len()));
            self.limits.memory("bytes of repeated elements", most.unwrap_or(u64::MAX))?; // a bound
        }
        let description = array.description();
        if description.byteorder == ByteOrder::Big
            && datatype.scalar().is_some_and(|scalar| scalar.word() > 1)
        {
            info.facts.push(("byte order", "big-endian".into()));
        }
        if let Some(strides) = &description.strides {
            let strides = strides.iter().map(|&stride| stride.into()).collect();
            info.facts.push(("strides", Value::List(strides)));
        }
        Ok(info)
    }

    /// Adds how an array is stored to `info`, and returns the number of decoded bytes there. `packed` is the
    /// size of its elements.
    fn place(&self, array: &Array<'_>, packed: Option<u64>, info: &mut ArrayInfo) -> Result<u64> {
        let other;
        let (block, start) = match (array.block(), &array.description().source) {
            (Some(index), _) => {
                info.facts.push(("block", index.into()));
                (self.file.block(index)?, array.description().offset)
            }
            (None, Stored::External(uri)) => {
                info.facts.push(("file", uri.as_str().into()));
                other = self.file.external(uri)?;
                (other.block(0)?, array.description().offset)
            }
            (None, _) => {
                info.facts.push(("holds", "inline".into()));
                return Ok(u64::MAX);
            }
        };
        let entry = block.entry();
        if entry.header.compression.is_none() {
            info.stored = packed.map(|packed| packed.min(block.stored_size()));
            info.facts.push(("offset", add(entry.data_offset(), start)?.into()));
        } else {
            info.filters.push(entry.header.compression.to_string());
            info.stored = Some(block.stored_size());
            info.facts.push(("offset", entry.data_offset().into()));
        }
        if entry.header.is_streamed() {
            info.facts.push(("holds", "stream".into()));
        }
        Ok(block.data_size())
    }

    /// Returns the elements of an array in the tree; `None` for other arrays.
    fn inline(&self, node: NodeId) -> Result<Option<Arc<Inline>>> {
        let mut last = self.inline.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = last.as_ref().filter(|known| known.node == node) {
            return Ok(Some(known.clone()));
        }
        let array = self.file.array_at(node)?;
        if !matches!(array.description().source, Stored::Inline(_)) {
            return Ok(None);
        }
        let datatype = array.datatype().clone();
        let read = Arc::new(Inline { node, datatype, bytes: array.read_bytes()? });
        *last = Some(read.clone());
        Ok(Some(read))
    }

    /// Returns the number of bytes of the selected elements in memory, and checks their canonical size
    /// against the limit.
    fn size(&self, datatype: &Datatype, slab: &Slab) -> Result<usize> {
        let bytes = |one: Option<u64>| one.and_then(|one| one.checked_mul(slab.len())).unwrap_or(u64::MAX); // a bound
        if !canonical::is_packed(datatype) {
            self.limits.memory("bytes of the selected elements", bytes(canonical::most(datatype)))?;
        }
        self.limits.memory("bytes of the selected elements", bytes(datatype.size()))
    }
}

/// Nodes have tags, and no attributes except the mask of an array.
impl Details for Adapter {
    fn attribute(&self, id: ObjectId, name: &Name) -> Result<Option<Attribute>> {
        let mut found = self.attributes(id)?.filter_map(Result::ok);
        Ok(found.find(|attribute| attribute.name == *name))
    }

    fn attribute_names(&self, id: ObjectId) -> Result<Vec<Name>> {
        self.attributes(id)?.map(|attribute| attribute.map(|attribute| attribute.name)).collect()
    }

    fn created(&self, group: ObjectId) -> Result<Option<Vec<Name>>> {
        let pairs = self.file.tree().pairs(self.node(group)?)?;
        Ok(pairs.map(|pairs| pairs.iter().filter_map(|(key, _)| self.name(*key)).collect()))
    }

    fn tag(&self, id: ObjectId) -> Option<String> {
        self.node(id).ok().and_then(|node| self.file.tree().tag(node)).map(str::to_owned)
    }
}

impl Source for Adapter {
    fn format(&self) -> Format {
        Format::Asdf
    }

    fn facts(&self) -> Vec<Fact> {
        inspect::facts(&self.file)
    }

    fn headline(&self) -> String {
        let layout = self.file.layout();
        let standard = layout.header.standard.map(|version| format!(", standard {version}"));
        let blocks = match layout.blocks.len() {
            0 => String::new(),
            1 => ", 1 block".into(),
            n => format!(", {n} blocks"),
        };
        format!("{}{}{blocks}", layout.header.format, standard.unwrap_or_default())
    }

    fn measures(&self) -> Result<Vec<Fact>> {
        Ok(inspect::measures(&self.file))
    }

    fn root(&self) -> ObjectId {
        id(self.file.tree().root())
    }

    fn object(&self, id: ObjectId) -> Result<Object> {
        let node = self.node(id)?;
        if self.file.is_array(node) {
            let info = self.info(node).map(|info| Object::Array(Box::new(info)));
            return Ok(info.unwrap_or_else(|error| Object::Damaged { kind: Kind::Array, error }));
        }
        if self.file.tree().node(node).text().is_none() {
            return Ok(Object::Group);
        }
        let value = self.value(node).map(Object::Value);
        Ok(value.unwrap_or_else(|error| Object::Damaged { kind: Kind::Value, error }))
    }

    fn members(&self, group: ObjectId) -> Result<Members<'_>> {
        let node = self.node(group)?;
        if self.file.is_array(node) || self.file.tree().node(node).text().is_some() {
            return Err(Error::usage("object", "is not a group"));
        }
        match self.file.tree().items(node) {
            Some(items) => Ok(Self::items(items, decimal_order(items.len() as u64))),
            None => self.pairs(node),
        }
    }

    fn listing(&self, group: ObjectId) -> Result<Listing<'_>> {
        let node = self.node(group)?;
        let members = match self.file.tree().items(node) {
            Some(items) if !self.file.is_array(node) => Self::items(items, 0..items.len() as u64),
            _ => self.members(group)?,
        };
        Ok(Box::new(members.map(|member| member.map(|member| Listed { member, alike: false }))))
    }

    fn member(&self, group: ObjectId, name: &Name) -> Result<Option<Target>> {
        let node = self.node(group)?;
        if self.file.is_array(node) {
            return Ok(None);
        }
        let found = match self.file.tree().items(node) {
            Some(items) => number(name)
                .and_then(|index| usize::try_from(index).ok())
                .and_then(|index| items.get(index).copied()),
            None => {
                let pairs = self.file.tree().pairs(node)?.unwrap_or_default();
                pairs
                    .into_iter()
                    .find(|(key, _)| self.name(*key).as_ref() == Some(name))
                    .map(|(_, node)| node)
            }
        };
        Ok(found.map(|node| Target::Object(id(node))))
    }

    fn attributes(&self, id: ObjectId) -> Result<Attributes<'_>> {
        let node = self.node(id)?;
        // If an array cannot be read, that error is its only description.
        let array = self.file.is_array(node).then(|| self.file.array_at(node).ok()).flatten();
        let masked = array.filter(|array| array.description().mask != Mask::None);
        Ok(Box::new(masked.into_iter().map(|array| {
            let data = array.read_mask().map(Option::unwrap_or_default);
            let value =
                AttributeValue { element: ElementType::Bool, shape: Some(array.shape().into()), data };
            Ok(Attribute { name: "mask".into(), value: Ok(value) })
        })))
    }

    fn extent(&self, array: ObjectId) -> Result<Option<Extent>> {
        let node = self.node(array)?;
        if self.inline(node)?.is_some() {
            return Ok(None);
        }
        let array = self.file.array_at(node)?;
        let description = array.description();
        let (Some(block), Datatype::Scalar(scalar)) = (array.block(), array.datatype()) else {
            return Ok(None);
        };
        let is_number = !matches!(scalar, ScalarType::Bool8 | ScalarType::Ascii(_) | ScalarType::Ucs4(_));
        let Some(size) = scalar.size().filter(|_| is_number) else { return Ok(None) };
        if description.strides.as_ref().is_some_and(|strides| !is_packed(strides, array.shape(), size)) {
            return Ok(None);
        }
        let (block, size) = (self.file.block(block)?, mul(array.len(), size)?);
        let compression = match block.compression() {
            Compression::None => None,
            Compression::Zlib => Some("zlib"),
            Compression::Bzp2 => Some("bz2"),
            _ => return Ok(None),
        };
        let start = block.entry().data_offset();
        let (offset, length) = match compression {
            None => (add(start, description.offset)?, size),
            // All of the block is decoded.
            Some(_) if description.offset == 0 && block.data_size() == size => (start, block.stored_size()),
            Some(_) => return Ok(None),
        };
        let inside = add(offset, length)? <= add(start, block.stored_size())?;
        let order = description.byteorder;
        Ok(inside.then_some(Extent { offset, length, order, columns: false, compression }))
    }

    fn read(&self, array: ObjectId, slab: &Slab, out: &mut Vec<u8>) -> Result<()> {
        let node = self.node(array)?;
        if let Some(inline) = self.inline(node)? {
            let size = self.size(&inline.datatype, slab)?;
            let one = present(inline.datatype.size(), "bytes of an inline element")?;
            let one = fit(one, "bytes of an inline element")?;
            let mut packed = Vec::with_capacity(size);
            super::gather(&inline.bytes, one, slab, &mut packed)?;
            let at = self.file.tree().node(node).offset;
            return canonical::append(&inline.datatype, slab.len(), &mut &*packed, at, out);
        }
        let array = self.file.array_at(node)?;
        let at = array.description().at;
        let size = self.size(array.datatype(), slab)?;
        if canonical::is_packed(array.datatype()) {
            return array.read_slab_bytes_into(slab, grow(out, size)?);
        }
        let packed = array.read_slab_bytes(slab)?;
        canonical::append(array.datatype(), slab.len(), &mut &*packed, at, out)
    }

    fn read_into(&self, id: ObjectId, slab: &Slab, out: &mut [u8]) -> Result<()> {
        let node = self.node(id)?;
        if self.inline(node)?.is_none() {
            let array = self.file.array_at(node)?;
            if canonical::is_packed(array.datatype()) {
                return array.read_slab_bytes_into(slab, out);
            }
        }
        let mut bytes = Vec::new();
        self.read(id, slab, &mut bytes)?;
        copied(&bytes, out)
    }

    fn sound(&self, array: ObjectId) -> Result<()> {
        self.file.array_at(self.node(array)?)?.check()
    }

    fn may_be_shared(&self, id: ObjectId) -> bool {
        // Scalars with aliases are listed at each of their places.
        let tree = self.file.tree();
        tree.has_anchors() && self.node(id).is_ok_and(|node| tree.node(node).text().is_none())
    }

    fn check(&self, visit: &mut dyn FnMut(Finding)) {
        let findings = match self.file.verify() {
            Ok(findings) => findings,
            Err(error) => return visit(Finding { path: None, error }),
        };
        // If a block cannot be decoded, its checksum is not reported separately.
        let mut told = HashSet::new();
        for finding in findings {
            let error = match finding {
                asdf_core::Finding::Block { error, .. }
                | asdf_core::Finding::Array { error, .. }
                | asdf_core::Finding::Reference { error, .. } => error,
                asdf_core::Finding::Index { offset, reason } => {
                    Fault::from(FaultKind::Rule(reason)).at("block index", offset)
                }
                asdf_core::Finding::Unexplained { offset } => {
                    Fault::from(FaultKind::Rule("has no meaning")).at("end of the file", offset)
                }
                // Old writers computed the checksum of the decoded bytes, which is accepted.
                _ => continue,
            };
            if told.insert(error.to_string()) {
                visit(Finding { path: None, error });
            }
        }
    }

    fn details(&self) -> Option<&dyn Details> {
        Some(self)
    }

    fn structures(&self, visit: &mut dyn FnMut(Structure) -> ControlFlow<()>) -> Result<()> {
        // If the caller stops, nothing has to be cleaned up.
        let _ = inspect::structures(&self.file, visit);
        Ok(())
    }
}
