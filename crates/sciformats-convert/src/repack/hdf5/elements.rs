//! Copies elements as they are stored. Only those that lead to other places in the file are changed.

use std::collections::HashSet;

use hdf5_pure::references::{Reference, RegionReference, StandardReference};
use hdf5_pure::structure::{
    CharacterSet, Class, Dataspace, Member, ReferenceKind, Selection, VariableLength,
};
use hdf5_pure::values::Encoder;
use hdf5_pure::{Attribute, Datatype, Name, ObjectId, Store, Value};

use sciformats_core::arith::{add, fit, mul, sub};

use crate::convert::references::kept;
use crate::sink::hdf5_encode::{self as canonical, References};
use sciformats::ElementType;
use sciformats::formats::hdf5::{element, is_canonical, leads_elsewhere};
use sciformats::model::canonical::skip;
use sciformats::{Error, Result};

/// A type as it is stored in the source, and how its elements are written. Elements that lead elsewhere have another size if the
/// addresses of the source do not have 8 bytes; the writer gives them their size, and everything else stays as it is.
pub(crate) struct Stored {
    source: hdf5_pure::File,
    datatype: Datatype,
    /// The type of the canonical bytes, unless the stored bytes are sufficient.
    element: Option<ElementType>,
}

impl Stored {
    pub(crate) fn new(source: &hdf5_pure::File, datatype: &Datatype) -> Result<Self> {
        if !leads_elsewhere(datatype) {
            return Ok(Self { source: source.clone(), datatype: datatype.clone(), element: None });
        }
        let element = element(&datatype.element_type()?);
        Ok(Self { source: source.clone(), datatype: datatype.clone(), element: Some(element) })
    }

    pub(crate) fn datatype(&self) -> &Datatype {
        &self.datatype
    }

    /// Returns whether the stored bytes are sufficient.
    pub(crate) fn is_direct(&self) -> bool {
        self.element.is_none()
    }

    /// Returns whether elements lead to objects.
    pub(crate) fn refers(&self) -> bool {
        self.element.as_ref().is_some_and(ElementType::refers)
    }

    /// Returns canonical elements whose references lead to one of the `places`, if these are given, or are
    /// null; and the number of references that became null.
    pub(crate) fn leading(
        &self,
        canonical: Vec<u8>,
        places: Option<&HashSet<Vec<u8>>>,
    ) -> Result<(Vec<u8>, u64)> {
        match (&self.element, places) {
            (Some(element), places) if element.refers() => {
                let known = |path: &[u8]| places.is_some_and(|places| places.contains(path));
                let path_in = |text: &[u8]| path_in(&self.source, text, &known).len();
                let newer = has_standard(&self.datatype).then_some(&path_in as &dyn Fn(&[u8]) -> usize);
                kept(element, &canonical, (places, newer))
            }
            _ => Ok((canonical, 0)),
        }
    }

    /// Appends elements from their stored bytes, and from the canonical ones if they are not
    /// [direct](Self::is_direct).
    pub(crate) fn encode(
        &self,
        (raw, canonical): (&[u8], &[u8]),
        references: &References,
        to: &mut Encoder<'_>,
    ) -> Result<()> {
        let Some(element) = &self.element else {
            to.bytes(raw);
            return Ok(());
        };
        let mut writing = Writing { source: &self.source, rest: canonical, references, to };
        let size = fit::<usize, _>(self.datatype.size, "size of an element")?.max(1);
        raw.chunks_exact(size).try_for_each(|raw| writing.one((&self.datatype, element), raw))
    }
}

/// An attribute that is written as it is stored.
pub(crate) struct Kept<'a> {
    pub(crate) stored: &'a Stored,
    /// The shape; `None` for an attribute without elements.
    pub(crate) shape: Option<Vec<u64>>,
    /// The maximum shape, if it is stored and differs from the shape.
    pub(crate) maximum: Option<Vec<Option<u64>>>,
    /// The stored bytes, and the canonical ones if they are needed.
    pub(crate) bytes: (&'a [u8], &'a [u8]),
    pub(crate) references: &'a References,
    pub(crate) committed: Option<ObjectId>,
    pub(crate) characters: CharacterSet,
}

/// The shape of an attribute, or `None` if it has no elements, and the maximum shape if it differs from the shape.
pub(crate) type Extents = (Option<Vec<u64>>, Option<Vec<Option<u64>>>);

/// Returns the shape and the maximum shape that a dataspace says.
pub(crate) fn extents(dataspace: &Dataspace) -> Extents {
    match dataspace {
        Dataspace::Null => (None, None),
        Dataspace::Scalar => (Some(Vec::new()), None),
        Dataspace::Simple { dimensions, maximum } => {
            let differs = dimensions.iter().zip(maximum).any(|(&length, most)| *most != Some(length));
            (Some(dimensions.clone()), differs.then(|| maximum.clone()))
        }
    }
}

impl Value for Kept<'_> {
    fn store(self, to: &mut Encoder<'_>) -> Result<(Datatype, Option<Vec<u64>>)> {
        if self.shape.is_some() {
            self.stored.encode(self.bytes, self.references, to)?;
        }
        Ok((self.stored.datatype.clone(), self.shape))
    }

    fn committed(&self) -> Option<ObjectId> {
        self.committed
    }

    fn character_set(&self) -> Option<CharacterSet> {
        Some(self.characters)
    }

    fn max_shape(&self) -> Option<Vec<Option<u64>>> {
        self.maximum.clone()
    }
}

/// Elements that are being written: the rest of their canonical bytes, and the output.
struct Writing<'a, 'e, 'o> {
    source: &'a hdf5_pure::File,
    rest: &'a [u8],
    references: &'a References,
    to: &'e mut Encoder<'o>,
}

impl Writing<'_, '_, '_> {
    fn one(&mut self, (datatype, element): (&Datatype, &ElementType), raw: &[u8]) -> Result<()> {
        if !leads_elsewhere(datatype) {
            self.to.bytes(raw);
            return skip(element, &mut self.rest);
        }
        match (&datatype.class, element) {
            (Class::Compound(members), ElementType::Compound(fields)) => self.compound(members, fields, raw),
            (Class::Array { base, .. }, ElementType::Array { element, .. }) => {
                let size = fit::<usize, _>(base.size, "size of an element")?.max(1);
                raw.chunks_exact(size).try_for_each(|raw| self.one((base, element), raw))
            }
            // Numbers in other forms would differ from their canonical bytes.
            (Class::VariableLength(VariableLength::Sequence(base)), ElementType::Vlen(element))
                if !is_canonical(base) =>
            {
                let (size, unused) = item(base)?;
                let bytes = self.source.sequence_bytes(raw, size)?;
                let count = sciformats::model::canonical::length(&mut self.rest)?;
                if count.checked_mul(size as u64) != Some(bytes.len() as u64) {
                    return Err(Error::internal(
                        "the stored length of a sequence differs from its decoded length",
                    ));
                }
                let Self { source, rest, references, to } = self;
                to.sequence_of(bytes.len() / size, |to| {
                    let mut inner = Writing { source, rest, references, to };
                    bytes.chunks_exact(size).try_for_each(|raw| inner.one((base, element), raw))?;
                    *rest = inner.rest;
                    to.bytes(&vec![0; mul(unused, bytes.len() / size)?]);
                    Ok(())
                })
            }
            (Class::Reference(ReferenceKind::Standard), _) => {
                let text = sciformats::model::canonical::text(&mut self.rest)?;
                // Without a text, the reference leads nowhere.
                let external = if text.is_empty() { None } else { self.source.external_reference(raw)? };
                let reference = match external {
                    Some(external) => StandardReference::External(external),
                    None => standard(text, self.source, self.references)?,
                };
                StandardReference::encode(&[reference], self.to)
            }
            // A null pointer is not an empty text.
            (Class::VariableLength(VariableLength::String { .. }), _) if self.source.is_null(raw)? => {
                skip(element, &mut self.rest)?;
                self.to.sequence(0, &[])
            }
            _ => canonical::one(element, &mut self.rest, self.references, self.to),
        }
    }

    /// Writes the members in the order of their offsets, with the bytes between them.
    fn compound(
        &mut self,
        members: &[Member],
        fields: &[(sciformats::Name, ElementType)],
        raw: &[u8],
    ) -> Result<()> {
        let mut parts = Vec::with_capacity(members.len());
        for (member, (_, element)) in members.iter().zip(fields) {
            parts.push((member, element, self.rest));
            skip(element, &mut self.rest)?;
        }
        let end = self.rest;
        parts.sort_by_key(|(member, ..)| member.offset);
        let mut at = 0;
        let overlap = || Error::unsupported("writing compounds whose members share bytes");
        for (member, element, canonical) in parts {
            let start = fit(member.offset, "offset of a member")?;
            let size = fit(member.datatype.size, "size of a member")?;
            self.to.bytes(raw.get(at..start).ok_or_else(overlap)?);
            at = add(start, size)?;
            self.rest = canonical;
            self.one((&member.datatype, element), raw.get(start..at).ok_or_else(overlap)?)?;
        }
        self.to.bytes(raw.get(at..).ok_or_else(overlap)?);
        self.rest = end;
        Ok(())
    }
}

/// Returns whether elements contain references of the newer kind, which may lead into other files.
fn has_standard(datatype: &Datatype) -> bool {
    match &datatype.class {
        Class::Reference(kind) => *kind == ReferenceKind::Standard,
        Class::Compound(members) => members.iter().any(|member| has_standard(&member.datatype)),
        Class::Array { base, .. } | Class::VariableLength(VariableLength::Sequence(base)) => {
            has_standard(base)
        }
        _ => false,
    }
}

/// Returns the distance between the items of a sequence, and how many bytes more are stored for each behind all items.
fn item(base: &Datatype) -> Result<(usize, usize)> {
    let declared = fit::<usize, _>(base.size, "size of an element")?.max(1);
    if base.class != Class::Reference(ReferenceKind::Standard) {
        return Ok((declared, 0));
    }
    let size = fit(StandardReference::datatype().size, "size of a reference")?;
    Ok((size, sub(declared, size)?))
}

/// Returns a reference of the newer kind from its text, which is the path of an object, with an optional
/// selection or name of an attribute.
fn standard(text: &[u8], source: &hdf5_pure::File, references: &References) -> Result<StandardReference> {
    if text.is_empty() || text == b"?" {
        return Ok(StandardReference::Object(Reference::default()));
    }
    if let Some(object) = canonical::target(references, text) {
        return Ok(StandardReference::Object(object));
    }
    let path = path_in(source, text, &|path| references.contains_key(path));
    let (Some(object), Some(part)) = (canonical::target(references, path), text.get(add(path.len(), 1)?..))
    else {
        return Err(Error::unsupported(format!("writing the reference {}", super::shown(text))));
    };
    Ok(match selected(part) {
        Some(selection) => {
            let rank = canonical::rank(&selection);
            StandardReference::Region(RegionReference::of(object, selection, rank))
        }
        None => StandardReference::Attribute(object, part.into()),
    })
}

fn selected(part: &[u8]) -> Option<Selection> {
    std::str::from_utf8(part).ok().and_then(canonical::selection)
}

/// Returns the path in the text of a reference of the newer kind. A selection or the name of an attribute may follow it after a space,
/// and names may contain spaces, too: it is the longest path of an object of the source that has such a part. `known` says that there
/// is an object at a path.
fn path_in<'t>(source: &hdf5_pure::File, text: &'t [u8], known: &dyn Fn(&[u8]) -> bool) -> &'t [u8] {
    let spaces = text.iter().enumerate().filter(|(_, byte)| **byte == b' ');
    let mut shorter = spaces.filter_map(|(at, _)| text.split_at_checked(at));
    // The address of an object without a path.
    if text.starts_with(b"?") {
        return shorter.next().map_or(text, |(path, _)| path);
    }
    let is_object = |path: &[u8]| known(path) || source.object(&Name::from(path)).is_ok();
    if is_object(text) {
        return text;
    }
    let has = |path: &[u8], part: &[u8]| {
        let named = |one: &Attribute| one.name().is_some_and(|name| name.as_bytes() == part);
        let attributes = || source.attributes_at(source.object(&Name::from(path))?.address());
        selected(part).is_some() || attributes().is_ok_and(|all| all.iter().any(named))
    };
    let objects: Vec<_> = shorter.filter(|(path, _)| is_object(path)).collect();
    let mut whole = objects.iter().rev().filter(|(path, part)| has(path, part.get(1..).unwrap_or_default()));
    // An attribute that is referred to need not exist.
    whole.next().or(objects.first()).map_or(text, |(path, _)| *path)
}
