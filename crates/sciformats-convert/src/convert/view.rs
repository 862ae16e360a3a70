//! The tree as the target will hold it: a source whose elements come from another file.

use std::any::Any;
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sciformats_core::arith::{fit, mul, present};
use sciformats_core::number::{BFloat16, Float16};
use sciformats_core::{Error, Range, Slab, bound};

use super::references::{Places, kept};
use super::rescue::{Origin, Rescue};
use super::split;
use super::table::{Body, Link, Node, Table, Taken};
use crate::sink::{Rules, elements_of};
use sciformats::model::canonical::spans;
use sciformats::model::{ArrayInfo, Attribute, AttributeValue, ElementType, Name, Object, ObjectId, Target};
use sciformats::source::{Attributes, Fact, Member, Members, Source, Structure};
use sciformats::{File, Format, Opened, Result};

pub(super) struct View {
    pub(super) format: Format,
    pub(super) origin: Arc<File>,
    pub(super) cancel: Option<Arc<AtomicBool>>,
    pub(super) table: Table,
    pub(super) rules: Rules,
    /// The paths that references may lead to, if some references lead elsewhere; those become null.
    pub(super) places: Option<Places>,
    pub(super) rescue: Arc<Rescue>,
    /// The file that elements come from, as it was when it was opened.
    pub(super) opened: Option<Opened>,
}

/// Returns the innermost elements of elements that are arrays, and the dimensions of these arrays, slowest
/// first.
pub(super) fn peeled(mut element: &ElementType) -> (&ElementType, Vec<u64>) {
    let mut dimensions = Vec::new();
    while let ElementType::Array { element: inner, shape } = element {
        dimensions.extend(shape);
        element = inner;
    }
    (element, dimensions)
}

impl Taken {
    /// Returns the type of the elements if the dimensions of array elements become dimensions of the array.
    pub(super) fn element(&self) -> &ElementType {
        if self.inner().is_empty() { &self.origin.element } else { peeled(&self.origin.element).0 }
    }
}

impl View {
    fn node(&self, ObjectId(id): ObjectId) -> Result<&Node> {
        let node = usize::try_from(id).ok().and_then(|id| self.table.node(id));
        node.ok_or_else(|| Error::not_found("object", id.to_string()))
    }

    /// Returns the name that a member of the source has in the target.
    pub(super) fn name(&self, shown: &str) -> Name {
        let name = Name::from_shown(shown);
        // The keys of ASDF have escapes of their own for such names.
        if !self.rules.name(&name) && self.format != Format::Asdf {
            return Name::from(shown);
        }
        // ASDF permits slashes in names, and escapes them.
        match (self.origin.format() == Format::Asdf, self.format == Format::Asdf) {
            (false, true) if shown.contains('~') => Name::from_shown(&shown.replace('~', "~0")),
            (true, false) if shown.contains("~0") => Name::from_shown(&shown.replace("~0", "~")),
            _ => name,
        }
    }

    /// Returns how the source shows the name that a member has in the target: the inverse of [`name`](Self::name).
    fn shown(&self, name: &Name) -> String {
        let text = std::str::from_utf8(name.as_bytes()).unwrap_or_default(); // other names are as they were
        if text.contains(r"\x") && self.format != Format::Asdf && !self.rules.name(&Name::from_shown(text)) {
            return text.into();
        }
        let shown = name.shown();
        match (self.origin.format() == Format::Asdf, self.format == Format::Asdf) {
            (false, true) => shown.replace("~0", "~"),
            (true, false) => shown.replace('~', "~0"),
            _ => shown.into_owned(),
        }
    }

    /// Returns the object at a path of the source.
    pub(super) fn find(&self, path: &str) -> Option<usize> {
        if path == "/" {
            return Some(0);
        }
        let (parent, name) = split(path);
        self.table.placed(self.find(parent)?, self.name(name).as_bytes())
    }

    /// Returns the path of the source that an object was put at.
    pub(super) fn path(&self, node: usize) -> String {
        let names: Vec<Name> = self.table.way(node).collect();
        let names = names.iter().rev();
        let path = names.fold(String::new(), |path, name| path + "/" + &self.shown(name));
        if path.is_empty() { "/".into() } else { path }
    }

    /// Returns the path of an array in the source.
    fn origin_path(&self, node: usize, taken: &Taken) -> String {
        let known = taken.rare.as_ref().and_then(|rare| rare.path.as_deref());
        known.map_or_else(|| self.path(node), str::to_owned)
    }

    /// Reads from the origin, and converts 16-bit floats to wider ones if necessary. The selection refers to
    /// the array with the dimensions of its elements.
    fn fetch(&self, (path, taken): (&str, &Taken), slab: &Slab) -> Result<Vec<u8>> {
        let from = Origin { file: &self.origin, path, id: taken.id, info: &taken.origin };
        let element = taken.element();
        let bytes = if taken.inner().is_empty() {
            self.rescue.read(from, slab)?
        } else {
            let outer = taken.origin.shape.as_deref().unwrap_or_default();
            let (ranges, inner) = slab.ranges().split_at_checked(outer.len()).unwrap_or_default();
            let bytes = self.rescue.read(from, &Slab::new(outer, ranges)?)?;
            picked((element, taken.inner()), inner, bytes)?
        };
        // Many formats ask for the last elements when the file is about to take its place. Nothing is partly old and partly new.
        self.opened.as_ref().map_or(Ok(()), Opened::check_unchanged)?;
        Ok(match (element, &taken.info.element) {
            (ElementType::F16, ElementType::F32) | (ElementType::Complex(4), ElementType::Complex(8)) => {
                widen(&bytes, |bits| Float16(bits).into())
            }
            (ElementType::BF16, ElementType::F32) => widen(&bytes, |bits| BFloat16(bits).into()),
            (element, _) => match &self.places {
                Some(places) if element.refers() => kept(element, &bytes, (Some(places), None))?.0,
                _ => bytes,
            },
        })
    }
}

/// Returns what `ranges` select in each element, where the elements are arrays of `shape`.
fn picked((element, shape): (&ElementType, &[u64]), ranges: &[Range], bytes: Vec<u8>) -> Result<Vec<u8>> {
    let inner = Slab::new(shape, ranges)?;
    if inner.is_all() {
        return Ok(bytes);
    }
    let each = spans(element, &bytes)?;
    let count = present(sciformats_core::slab::elements(shape), "number of parts of an element")?;
    let count: usize = fit(count, "number of parts of an element")?;
    let mut out = Vec::new();
    for one in each.chunks(count.max(1)) {
        for run in inner.runs() {
            for i in 0..run.len {
                let index: usize = fit(run.step * i + run.from, "index of a part of an element")?;
                out.extend_from_slice(present(one.get(index), "part of an element")?);
            }
        }
    }
    Ok(out)
}

fn widen(bytes: &[u8], value: impl Fn(u16) -> f32) -> Vec<u8> {
    bytes.as_chunks().0.iter().flat_map(|&bits| value(u16::from_le_bytes(bits)).to_le_bytes()).collect()
}

/// Returns the whole rows of an array of `shape` that contain a selection of its two-dimensional form.
fn rows(shape: &[u64], slab: &Slab) -> Result<Slab> {
    let mut ranges: Vec<Range> = shape.iter().map(|&length| Range::all(length)).collect();
    if let (Some(first), Some(wanted)) = (ranges.first_mut(), slab.ranges().first()) {
        *first = *wanted;
    }
    Slab::new(shape, ranges)
}

impl Source for View {
    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn format(&self) -> Format {
        self.format
    }

    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }

    fn root(&self) -> ObjectId {
        ObjectId(0)
    }

    fn object(&self, id: ObjectId) -> Result<Object> {
        Ok(match &self.node(id)?.body {
            Body::Group => Object::Group,
            Body::Array(taken) => Object::Array(Box::new(ArrayInfo::clone(&taken.info))),
            Body::Made(made) => Object::Array(Box::new(ArrayInfo::clone(&made.info))),
            Body::Datatype(element) => Object::Datatype((**element).clone()),
            Body::Value(value) => Object::Value((**value).clone()),
        })
    }

    fn members(&self, group: ObjectId) -> Result<Members<'_>> {
        let Body::Group = &self.node(group)?.body else {
            return Err(Error::usage("object", "is not a group"));
        };
        let members = self.table.members(fit(group.0, "number of an object")?);
        Ok(Box::new(members.map(|(name, link)| Ok(Member { name, target: link.into() }))))
    }

    fn member(&self, group: ObjectId, name: &Name) -> Result<Option<Target>> {
        let group = fit(group.0, "number of an object")?;
        Ok(self.table.member(group, name.as_bytes()).map(Target::from))
    }

    fn attributes(&self, id: ObjectId) -> Result<Attributes<'_>> {
        self.node(id)?;
        let attributes = self.table.attributes(fit(id.0, "number of an object")?);
        Ok(Box::new(attributes.map(|(name, info, bytes)| {
            let (element, shape) = (info.element.clone(), info.shape.clone());
            let value = AttributeValue { element, shape, data: Ok(bytes.to_vec()) };
            Ok(Attribute { name: name.clone(), value: Ok(value) })
        })))
    }

    fn read(&self, array: ObjectId, slab: &Slab, out: &mut Vec<u8>) -> Result<()> {
        if self.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            return Err(Error::io("convert", ErrorKind::Interrupted.into()));
        }
        let taken = match &self.node(array)?.body {
            Body::Array(taken) => taken,
            Body::Made(made) => return elements_of(&made.info.element, self.table.bytes(made), slab, out),
            _ => return Err(Error::usage("object", "is not an array")),
        };
        if slab.is_empty() {
            return Ok(());
        }
        let path = self.origin_path(fit(array.0, "number of an object")?, taken);
        let info = &taken.info;
        let shape = taken.origin.shape.as_deref().map(|shape| [shape, taken.inner()].concat());
        let Some(shape) = shape.filter(|shape| Some(shape) != info.shape.as_ref()) else {
            out.append(&mut self.fetch((&path, taken), slab)?);
            return Ok(());
        };
        let bytes = self.fetch((&path, taken), &rows(&shape, slab)?)?;
        let columns = slab.ranges().get(1).zip(slab.of().get(1));
        let Some((columns, &width)) = columns.filter(|(columns, width)| columns.count < **width) else {
            out.extend_from_slice(&bytes);
            return Ok(());
        };
        // Only some columns of the whole rows are selected.
        let size: usize = fit(present(info.element.size(), "size of an element")?, "size of an element")?;
        let width: usize = fit(width, "number of columns")?;
        let (start, count): (usize, usize) =
            (fit(columns.start, "first column")?, fit(columns.count, "number of columns")?);
        let step = bound::addressable(columns.step.max(1));
        if size == 0 {
            return Ok(());
        }
        for row in bytes.chunks_exact(mul(width, size)?) {
            let picked = row.chunks_exact(size).skip(start).step_by(step).take(count);
            picked.for_each(|one| out.extend_from_slice(one));
        }
        Ok(())
    }

    fn may_be_shared(&self, id: ObjectId) -> bool {
        self.node(id).is_ok_and(|node| node.shared)
    }

    fn slashes_in_names(&self) -> bool {
        self.format == Format::Gsd
    }

    fn structures(&self, _: &mut dyn FnMut(Structure) -> ControlFlow<()>) -> Result<()> {
        Ok(())
    }
}

impl From<Link> for Target {
    fn from(link: Link) -> Self {
        match link {
            Link::Hard(node) => Self::Object(ObjectId(node as u64)),
            Link::Soft(path) => Self::Soft(path),
            Link::External(file, target) => Self::External { file, target },
        }
    }
}
