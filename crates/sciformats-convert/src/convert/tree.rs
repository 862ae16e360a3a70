//! Plans the conversion into a format with nested groups.

use super::plan::{Builder, had_members_for_attributes};
use super::table::{Body, Link, Taken};
use super::{METADATA, Remark, scalar, split, within};
use sciformats::memory::{MemoryArray, texts};
use sciformats::model::{ArrayInfo, Datum, Decoder, ElementType, Name, Object, ObjectId, Value};
use sciformats::walk::{Entry, Found};
use sciformats::{Format, Result};

/// Attributes of at least this size stay members, because not every version of every format can hold them as
/// attributes.
const LARGE: usize = 32 << 10;

/// Where an ASDF tree tells which program wrote the file, and what was done to it. The standard wants texts of the tree there, and
/// the package `asdf` refuses to open a file with arrays of one text, which they are after a way through another format.
const PROVENANCE: [&str; 2] = ["/asdf_library/", "/history/"];

pub(super) fn begin(builder: &mut Builder) {
    builder.view.table.add(Body::Group);
    if builder.view.origin.format() == Format::Gsd {
        header(builder);
    }
}

/// Adds what a GSD file records about itself as attributes of the root.
fn header(builder: &mut Builder) {
    let facts = builder.view.origin.source().facts();
    for (key, value) in facts.into_iter().filter(|(key, _)| matches!(*key, "application" | "schema")) {
        let text = texts(&[], &[&value.to_string()]);
        attribute(builder, ("/", true), &Name::from(format!("gsd:{key}")), text);
    }
}

/// Adds the bytes after the elements of a RawArray file as an attribute of the root, as text if they are
/// text.
fn metadata(builder: &mut Builder) {
    let bytes = match builder.view.origin.source().metadata() {
        Ok(bytes) if bytes.is_empty() => return,
        Ok(bytes) => bytes,
        Err(error) => {
            return builder.lose("/", format!("has bytes after its array that cannot be read: {error}"));
        }
    };
    let text = std::str::from_utf8(&bytes).ok().filter(|text| !text.contains('\0'));
    let array = match text {
        _ if bytes.len() >= LARGE => None,
        Some(text) => Some(texts(&[], &[text])),
        // In a format without attributes, they would become another array.
        None if !builder.rules.attributes => None,
        None => {
            let info = ArrayInfo::new(ElementType::UInt(1), [bytes.len() as u64]);
            Some(MemoryArray { info, bytes })
        }
    };
    let Some(array) = array else {
        return builder.lose("/", "has bytes after its array, which are left out");
    };
    builder.remark(Remark::Metadata);
    attribute(builder, ("/", true), &METADATA.into(), array);
}

/// Puts one object into its place. Only the first object may be the root.
pub(super) fn one(builder: &mut Builder, entry: Entry, is_first: bool) {
    let Entry { path, what } = entry;
    if !is_first && path.ends_with('/') {
        return builder.lose(&path, "has a name that is empty");
    }
    match what {
        Found::Object(id, object) => {
            let object = match object {
                Object::Group => {
                    if group(builder, &path).is_none() {
                        return builder.lose(&path, "is left out: an array has the same name");
                    }
                    return attributes(builder, (&path, true), (&path, id));
                }
                other => other,
            };
            if let Object::Array(info) = object {
                if let Some(array) = as_attribute(builder, &path, |builder| whole(builder, id)) {
                    return done(builder, array);
                }
                let place = if path == "/" { "/data" } else { &path };
                if path == "/" {
                    builder.remark(Remark::Moved);
                }
                let body = match provenance(builder, &path, (id, &info)) {
                    Some(text) => {
                        builder.remark(Remark::TextInTree);
                        Some(Body::Value(Box::new(text)))
                    }
                    None => builder.array(&path, id, &info),
                };
                let Some(body) = body else { return };
                if put(builder, (&path, place), body) {
                    attributes(builder, (place, false), (&path, id));
                }
                if path == "/" {
                    metadata(builder);
                }
                return;
            }
            plain(builder, &path, object);
        }
        Found::HardLink(first) => hard(builder, &path, &first),
        Found::Soft(target) if builder.rules.soft_links => by_path(builder, &path, Link::Soft(target)),
        Found::External { file, target } if builder.rules.soft_links => {
            by_path(builder, &path, Link::External(file, target));
        }
        other => builder.leave_out(&path, &other),
    }
}

/// Returns an array of one text as a text of the tree, if the target is an ASDF file that wants it so.
fn provenance(builder: &Builder, path: &str, (id, info): (ObjectId, &ArrayInfo)) -> Option<Value> {
    let is_text = info.element == ElementType::Text && info.shape.as_deref() == Some(&[]);
    let is_there = PROVENANCE.iter().any(|start| path.starts_with(start));
    if builder.rules.format != Format::Asdf || !is_text || !is_there {
        return None;
    }
    let array = whole(builder, id)?;
    let Datum::Text(text) = Decoder::new(&array.info.element, &array.bytes).next()?.ok()? else {
        return None;
    };
    Some(Value::Text(std::str::from_utf8(text).ok()?.to_owned()))
}

/// Handles scalars and committed datatypes.
fn plain(builder: &mut Builder, path: &str, object: Object) {
    let body = match object {
        Object::Value(value) => {
            let array = scalar::to_array(&value);
            if let Some(array) = as_attribute(builder, path, |_| array.clone()) {
                return done(builder, array);
            }
            if builder.rules.values {
                Body::Value(Box::new(value))
            } else {
                let Some(array) = array else {
                    return builder.lose(path, format!("is left out: it is the scalar {value}"));
                };
                let Some(body) = builder.made(path, array) else { return };
                builder.remark(Remark::ScalarAsArray);
                body
            }
        }
        Object::Datatype(element) if builder.rules.datatypes => Body::Datatype(Box::new(element)),
        Object::Datatype(_) => return builder.lose(path, "is left out: it is a committed datatype"),
        _ => return,
    };
    put(builder, (path, path), body);
}

/// Returns the group at a path of the target, which is created if it does not exist.
fn group(builder: &mut Builder, path: &str) -> Option<usize> {
    if let Some(node) = builder.view.find(path) {
        let is_group = builder.view.table.node(node).is_some_and(|node| matches!(node.body, Body::Group));
        return is_group.then_some(node);
    }
    let (parent, name) = split(path);
    let parent = group(builder, parent)?;
    let name = named(builder, path, name);
    builder.put(parent, (path, &name), Body::Group)
}

/// Returns the name of a member in the target.
fn named(builder: &mut Builder, path: &str, shown: &str) -> Name {
    let (name, same) = (builder.view.name(shown), Name::from_shown(shown));
    if !builder.rules.name(&same) {
        builder.lose(path, escaped("name that", &same));
    } else if name != same
        || builder.rules.format == Format::Asdf && same.to_utf8().as_bytes() != same.as_bytes()
    {
        builder.remark(Remark::Escaped);
    }
    if builder.view.origin.format() == Format::Asdf && std::str::from_utf8(name.as_bytes()).is_err() {
        builder.remark(Remark::Unescaped);
    }
    name
}

/// Says what becomes of a name that is not UTF-8.
pub(super) fn escaped(what: &str, name: &Name) -> String {
    format!("has a {what} is not UTF-8, which becomes the text {}", name.to_utf8())
}

/// Puts the object from the first path, in the source, to the second path, in the target.
fn put(builder: &mut Builder, (from, to): (&str, &str), body: Body) -> bool {
    let name = named(builder, from, split(to).1);
    put_as(builder, (from, to), &name, body)
}

/// Does the same as [`put`], with a name that is not the last part of the path.
fn put_as(builder: &mut Builder, (from, to): (&str, &str), name: &Name, body: Body) -> bool {
    let parent = split(to).0;
    let Some(parent) = group(builder, parent) else {
        builder.lose(from, "is left out: an array is where its group would be");
        return false;
    };
    let is_free = builder.put(parent, (from, name), body).is_some();
    if !is_free {
        builder.lose(from, "is left out: another object has its name");
    }
    is_free
}

fn hard(builder: &mut Builder, path: &str, first: &str) {
    let (parent, name) = split(path);
    let cyclic = path.strip_prefix(first).is_some_and(|rest| first == "/" || rest.starts_with('/'));
    let target = builder.view.find(first);
    let target =
        target.filter(|_| builder.rules.hard_links && !(cyclic && builder.rules.format == Format::Asdf));
    let Some(target) = target else {
        return builder.leave_out(path, &Found::HardLink(first.into()));
    };
    let name = named(builder, path, name);
    let linked = group(builder, parent)
        .is_some_and(|parent| builder.view.table.link(parent, &name, Link::Hard(target)));
    if !linked {
        return builder.lose(path, "is left out: another object has its name");
    }
    if let Some(node) = builder.view.table.node_mut(target) {
        node.shared = true;
    }
}

fn by_path(builder: &mut Builder, path: &str, link: Link) {
    let (parent, name) = split(path);
    let name = named(builder, path, name);
    if !group(builder, parent).is_some_and(|parent| builder.view.table.link(parent, &name, link)) {
        builder.lose(path, "is left out: another object has its name");
    }
}

/// Adds the attributes of an object; the first path is the one in the target.
fn attributes(builder: &mut Builder, (to, is_group): (&str, bool), (from, id): (&str, ObjectId)) {
    for (name, array) in builder.attributes(from, id) {
        attribute(builder, (to, is_group), &name, array);
    }
}

fn attribute(builder: &mut Builder, (to, is_group): (&str, bool), name: &Name, array: MemoryArray) {
    let node = builder.view.find(to);
    let of = node.and_then(|node| builder.view.table.node(node));
    let shape = of.and_then(|node| match &node.body {
        Body::Array(taken) => taken.info.shape.clone(),
        _ => None,
    });
    if builder.rules.attribute(name, &array.info, shape.as_deref()) {
        let path = format!("{to}@{}", name.shown());
        let Some(fitted) = builder.fit(&path, &array.info) else { return };
        if !builder.attribute_fits(&path, &array) {
            return;
        }
        let attribute = MemoryArray { info: fitted, bytes: array.bytes };
        if let Some(node) = node {
            builder.attach(node, name.clone(), attribute);
        }
        return;
    }
    // The name is escaped like names in ASDF, which may contain slashes.
    let shown = name.shown().replace('~', "~0").replace('/', "~1");
    let last = Name::from_shown(&shown);
    let (place, member) = if is_group {
        (within(to, &format!("@{shown}")), [b"@", last.as_bytes()].concat())
    } else {
        let base = builder.view.name(split(to).1);
        (format!("{to}@{shown}"), [base.as_bytes(), b"@", last.as_bytes()].concat())
    };
    if !builder.rules.name(name) {
        builder.lose(&format!("{to}@{}", name.shown()), escaped("name that", name));
    }
    let Some(body) = builder.made(&place, array) else { return };
    if put_as(builder, (&place, &place), &Name::from(member), body) {
        builder.remark(Remark::AttributeAsMember);
    }
}

/// An attribute that was a member in a format without attributes: the node that it belongs to, its name, and
/// its value.
struct Former {
    node: usize,
    path: String,
    name: Name,
    array: MemoryArray,
}

fn as_attribute(
    builder: &mut Builder,
    path: &str,
    array: impl FnOnce(&Builder) -> Option<MemoryArray>,
) -> Option<Former> {
    if !builder.rules.attributes || !had_members_for_attributes(builder.view.origin.source()) {
        return None;
    }
    let (parent, last) = split(path);
    let (of, name) = last.split_once('@').filter(|(_, name)| !name.is_empty())?;
    let of = if of.is_empty() { parent.to_owned() } else { within(parent, of) };
    let node = builder.view.find(&of)?;
    // A masked array has an attribute of this name already.
    if name == "mask"
        && let Some(Body::Array(Taken { id, .. })) = builder.view.table.node(node).map(|node| &node.body)
        && has_attributes(builder, *id)
    {
        return None;
    }
    let array = array(builder).filter(|array| array.bytes.len() < LARGE)?;
    let name = Name::from_shown(&name.replace("~1", "/").replace("~0", "~"));
    Some(Former { node, path: path.into(), name, array })
}

fn done(builder: &mut Builder, found: Former) {
    let Former { node, path, name, array } = found;
    let Some(fitted) = builder.fit(&path, &array.info) else { return };
    if !builder.attribute_fits(&path, &array) {
        return;
    }
    builder.remark(Remark::MemberAsAttribute);
    builder.attach(node, name, MemoryArray { info: fitted, bytes: array.bytes });
}

/// Returns whether an object has attributes of its own.
fn has_attributes(builder: &Builder, id: ObjectId) -> bool {
    builder.view.origin.source().attributes(id).is_ok_and(|mut all| all.next().is_some())
}

/// Returns a small array with its elements; `None` if it is large, cannot be read, or has attributes, which another attribute could not
/// have.
fn whole(builder: &Builder, id: ObjectId) -> Option<MemoryArray> {
    let origin = &builder.view.origin;
    let Ok(Object::Array(info)) = origin.source().object(id) else { return None };
    let large = info.logical().is_some_and(|size| size >= LARGE as u64) || info.elements()? >= LARGE as u64;
    if large || has_attributes(builder, id) {
        return None;
    }
    let read = || -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let slab = sciformats_core::Slab::all(info.shape.as_deref().unwrap_or_default())?;
        origin.read(id, &slab, &mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().ok()?;
    Some(MemoryArray { info: *info, bytes })
}
