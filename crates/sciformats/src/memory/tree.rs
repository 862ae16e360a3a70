//! Presents a tree in memory as a source.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::{Error, Slab};

use super::{Body, Link, Memory, MemoryArray};
use crate::model::canonical::spans;
use crate::model::{ArrayInfo, Attribute, AttributeValue, Kind, Name, Object, ObjectId, Target};
use crate::source::{Attributes, Fact, Listed, Listing, Member, Members, Source, Structure};
use crate::{Format, Result};

/// The deepest nesting of groups that are compared with each other.
const DEPTH: usize = 64;

impl Memory {
    fn members_of(&self, group: ObjectId) -> Result<&BTreeMap<Name, Link>> {
        match &self.node(group)?.body {
            Body::Group(members) => Ok(members),
            _ => Err(Error::usage("object", "is not a group")),
        }
    }

    /// Returns whether everything at and below two links is alike, as [`Listed::alike`] defines it.
    fn alike(&self, a: &Link, b: &Link, depth: usize) -> bool {
        let node = |link: &Link| match link {
            Link::Hard(id) => self.node(*id).ok().filter(|node| node.links == 1),
            _ => None,
        };
        let (Some(a), Some(b)) = (node(a), node(b)) else { return false };
        a.attributes == b.attributes
            && match (&a.body, &b.body) {
                (Body::Group(a), Body::Group(b)) => {
                    depth < DEPTH
                        && a.len() == b.len()
                        && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && self.alike(a.1, b.1, depth + 1))
                }
                (Body::Array(a), Body::Array(b)) => placeless(&a.info) == placeless(&b.info),
                _ => false,
            }
    }
}

/// Returns the description of an array without its offset.
fn placeless(info: &ArrayInfo) -> ArrayInfo {
    let mut info = info.clone();
    info.facts.retain(|(key, _)| *key != "offset");
    info
}

/// Returns the number that a name stands for, which must have no leading zeros.
fn number(name: &Name) -> Option<u64> {
    let text = std::str::from_utf8(name.as_bytes()).ok()?;
    text.parse().ok().filter(|number: &u64| number.to_string() == text)
}

fn target(link: &Link) -> Target {
    match link {
        Link::Hard(id) => Target::Object(*id),
        Link::Soft(path) => Target::Soft(path.clone()),
        Link::External(file, target) => Target::External { file: file.clone(), target: target.clone() },
        Link::User(class) => Target::User(*class),
    }
}

fn damage() -> Error {
    Fault::from(FaultKind::Truncated).at("object", 0x40)
}

impl Source for Memory {
    fn format(&self) -> Format {
        self.format
    }

    fn slashes_in_names(&self) -> bool {
        self.format == Format::Gsd
    }

    fn facts(&self) -> Vec<Fact> {
        self.facts.clone()
    }

    fn root(&self) -> ObjectId {
        Self::root(self)
    }

    fn object(&self, id: ObjectId) -> Result<Object> {
        Ok(match &self.node(id)?.body {
            Body::Group(_) => Object::Group,
            Body::Array(array) => Object::Array(Box::new(array.info.clone())),
            Body::Datatype(element) => Object::Datatype(element.clone()),
            Body::Value(value) => Object::Value(value.clone()),
            Body::Damaged => Object::Damaged { kind: Kind::Array, error: damage() },
        })
    }

    fn members(&self, group: ObjectId) -> Result<Members<'_>> {
        let members = self.members_of(group)?.iter();
        Ok(Box::new(members.map(|(name, link)| Ok(Member { name: name.clone(), target: target(link) }))))
    }

    /// Members are sorted by number if all names are numbers.
    fn listing(&self, group: ObjectId) -> Result<Listing<'_>> {
        let members = self.members_of(group)?;
        let mut numbered: Vec<_> = members.iter().map(|(name, link)| (number(name), name, link)).collect();
        if numbered.iter().all(|(number, ..)| number.is_some()) {
            sciformats_core::order::sort_by_key(&mut numbered, |(number, ..)| *number);
        }
        let mut before: Option<(u64, &Link)> = None;
        Ok(Box::new(numbered.into_iter().map(move |(number, name, link)| {
            let last = std::mem::replace(&mut before, number.map(|number| (number, link)));
            let alike = last.zip(number).is_some_and(|((last, other), number)| {
                last.checked_add(1) == Some(number) && self.alike(other, link, 0)
            });
            Ok(Listed { member: Member { name: name.clone(), target: target(link) }, alike })
        })))
    }

    fn member(&self, group: ObjectId, name: &Name) -> Result<Option<Target>> {
        Ok(self.members_of(group)?.get(name).map(target))
    }

    fn attributes(&self, id: ObjectId) -> Result<Attributes<'_>> {
        let attributes = self.node(id)?.attributes.iter();
        Ok(Box::new(attributes.map(|(name, array)| {
            let MemoryArray { info, bytes } = array.clone();
            let value = AttributeValue { element: info.element, shape: info.shape, data: Ok(bytes) };
            Ok(Attribute { name: name.clone(), value: Ok(value) })
        })))
    }

    fn read(&self, array: ObjectId, slab: &Slab, out: &mut Vec<u8>) -> Result<()> {
        let Body::Array(array) = &self.node(array)?.body else {
            return Err(Error::usage("object", "is not an array"));
        };
        let elements = spans(&array.info.element, &array.bytes)?;
        let missing = || Fault::new("elements", FaultKind::Truncated).at("array in memory", 0);
        for run in slab.runs() {
            for i in 0..run.len {
                let index = run.step.checked_mul(i).and_then(|step| step.checked_add(run.from));
                let element = index.and_then(|i| elements.get(usize::try_from(i).ok()?));
                out.extend_from_slice(element.ok_or_else(missing)?);
            }
        }
        Ok(())
    }

    fn structures(&self, _visit: &mut dyn FnMut(Structure) -> ControlFlow<()>) -> Result<()> {
        Ok(())
    }
}
