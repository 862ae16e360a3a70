//! Plans the conversion into a format with frames of chunks.

use std::collections::{HashMap, HashSet};

use sciformats_core::bound;

use super::plan::Builder;
use super::table::{Body, Link};
use super::{Remark, scalar, split};
use sciformats::memory::MemoryArray;
use sciformats::model::{Datum, Decoder, ElementType, Name, Object, ObjectId, Value};
use sciformats::walk::{Entry, Found};
use sciformats::{Format, Result};

/// The number of empty frames that are permitted per chunk; more are probably a mistake.
const EMPTY: u64 = 1024;

pub(super) fn arrange(builder: &mut Builder, entries: Vec<Entry>) {
    let mut frames = Frames::new(builder, &entries);
    for Entry { path, what } in entries {
        match what {
            Found::Object(id, Object::Group) => frames.group(builder, &path, id),
            Found::Object(id, Object::Array(info)) => {
                if let Some(body) = builder.array(&path, id, &info) {
                    frames.put(builder, (&path, &path), body);
                    frames.attributes(builder, (&path, false), id);
                }
            }
            Found::Object(_, Object::Value(value)) => frames.value(builder, &path, &value),
            other => builder.leave_out(&path, &other),
        }
    }
    frames.fill(builder);
    if builder.view.origin.source().metadata().map_or(true, |bytes| !bytes.is_empty()) {
        builder.lose("/", "has bytes after its array, which are left out");
    }
}

struct Frames {
    /// The groups that contain arrays at any depth.
    holding: HashSet<String>,
    /// The node of each frame.
    nodes: HashMap<u64, usize>,
    /// The node of the group of all frames.
    all: usize,
    last: u64,
}

/// Returns the frame that a path is in, and the rest of the path.
fn frame(path: &str) -> Option<(u64, &str)> {
    let rest = path.strip_prefix("/frames/")?;
    let (number, name) = rest.split_once('/').unwrap_or((rest, ""));
    let frame: u64 = number.parse().ok()?;
    (frame.to_string() == number).then_some((frame, name))
}

impl Frames {
    fn new(builder: &mut Builder, entries: &[Entry]) -> Self {
        let table = &mut builder.view.table;
        let (root, all) = (table.add(Body::Group), table.add(Body::Group));
        table.link(root, &"frames".into(), Link::Hard(all));
        let mut holding = HashSet::new();
        let mut count = 0u64;
        for entry in entries.iter().filter(|entry| matches!(entry.what, Found::Object(_, Object::Array(_)))) {
            count += 1;
            let mut path = entry.path.as_str();
            while path != "/" {
                path = split(path).0;
                if !holding.insert(path.to_owned()) {
                    break;
                }
            }
        }
        if builder.view.origin.format() == Format::Gsd {
            let facts = builder.view.origin.source().facts().into_iter();
            let kept = facts.filter(|(key, _)| matches!(*key, "application" | "schema"));
            builder.facts.extend(kept.map(|(key, value)| (key.to_owned(), value)));
        }
        Self { holding, nodes: HashMap::new(), all, last: bound::product(count + 64, EMPTY) }
    }

    fn group(&mut self, builder: &mut Builder, path: &str, id: ObjectId) {
        match frame(path) {
            Some((frame, "")) => {
                if self.frame(builder, frame).is_none() {
                    return builder.lose(path, "is left out: it is a frame after too many empty ones");
                }
            }
            _ if matches!(path, "/" | "/frames") || self.holding.contains(path) => {}
            _ => builder.lose(path, "is left out: it is a group without arrays"),
        }
        self.attributes(builder, (path, true), id);
    }

    /// Returns the node of a frame, which is created if it does not exist.
    fn frame(&mut self, builder: &mut Builder, frame: u64) -> Option<usize> {
        if frame >= self.last {
            return None;
        }
        if let Some(&node) = self.nodes.get(&frame) {
            return Some(node);
        }
        let table = &mut builder.view.table;
        let node = table.add(Body::Group);
        table.link(self.all, &frame.to_string().into(), Link::Hard(node));
        self.nodes.insert(frame, node);
        Some(node)
    }

    /// Creates the frames that have no arrays, because a file has all frames up to its last.
    fn fill(&mut self, builder: &mut Builder) {
        let end = self.nodes.keys().max().map_or(0, |last| last + 1);
        for number in 0..end {
            self.frame(builder, number);
        }
    }

    /// Adds an array to the frame that its path names, or to frame 0.
    fn put(&mut self, builder: &mut Builder, (from, path): (&str, &str), body: Body) {
        let (number, name) = match frame(path) {
            Some((number, name)) if !name.is_empty() => (number, name.to_owned()),
            _ => {
                builder.remark(Remark::Moved);
                let name = if path == "/" { "data" } else { path.trim_start_matches('/') };
                (0, name.to_owned())
            }
        };
        let name = Name::from_shown(&name);
        if !builder.rules.name(&name) {
            return builder.lose(from, "is left out: its name is not UTF-8");
        }
        let Some(frame) = self.frame(builder, number) else {
            return builder.lose(from, "is left out: its frame follows too many empty ones");
        };
        if builder.put(frame, (from, &name), body).is_none() {
            builder.lose(from, "is left out: another object has its name");
        }
    }

    fn attributes(&mut self, builder: &mut Builder, (path, is_group): (&str, bool), id: ObjectId) {
        for (name, array) in builder.attributes(path, id) {
            if is_group && path == "/" && self.fact(builder, &name.shown(), &array) {
                continue;
            }
            let shown = name.shown();
            let slash = if is_group && path != "/" { "/" } else { "" };
            let place = format!("{path}{slash}@{shown}");
            if let Some(body) = builder.made(&place, array) {
                builder.remark(Remark::AttributeAsMember);
                self.put(builder, (&place, &place), body);
            }
        }
    }

    fn value(&mut self, builder: &mut Builder, path: &str, value: &Value) {
        let Some(array) = scalar::to_array(value) else {
            return builder.lose(path, format!("is left out: it is the scalar {value}"));
        };
        if let Some(name) = path.strip_prefix("/@")
            && self.fact(builder, name, &array)
        {
            return;
        }
        if let Some(body) = builder.made(path, array) {
            self.put(builder, (path, path), body);
        }
    }

    /// Takes over what a GSD file recorded about itself before it was converted to another format.
    fn fact(&mut self, builder: &mut Builder, name: &str, array: &MemoryArray) -> bool {
        let Some(key @ ("application" | "schema")) = name.strip_prefix("gsd:") else { return false };
        let text = |datum: Result<Datum<'_>>| match datum {
            Ok(Datum::Text(text)) => String::from_utf8(text.to_vec()).ok(),
            _ => None,
        };
        let is_text = array.info.element == ElementType::Text;
        let text = Decoder::new(&array.info.element, &array.bytes).next().filter(|_| is_text).and_then(text);
        match text {
            Some(text) => {
                builder.facts.push((key.to_owned(), text.into()));
                true
            }
            None => false,
        }
    }
}
