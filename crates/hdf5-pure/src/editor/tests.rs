//! Random edits: the file holds what a model of it says, and no byte of it belongs to two structures.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::model::edit::group;
use crate::model::object::Object;
use crate::spec::message::link::Target;
use crate::writer::{CreateOptions, Writer};
use crate::{Met, Node};

/// All objects that links lead to.
fn reachable(session: &Session) -> BTreeSet<Address> {
    let mut found = BTreeSet::from([session.opened.root]);
    let mut queue = vec![session.opened.root];
    while let Some(address) = queue.pop() {
        if !group::is_group(&Object::read(session.context(), address).unwrap()) {
            continue;
        }
        let all =
            crate::model::links::all(session.context(), &Object::read(session.context(), address).unwrap());
        for link in all.unwrap() {
            if let Target::Hard(target) = link.unwrap().target
                && found.insert(target)
            {
                queue.push(target);
            }
        }
    }
    found
}

/// Fails if two structures share a byte, or one of them is called free; gives the bytes that belong to nothing.
fn lost_bytes(editor: &Editor) -> u64 {
    let session = editor.tree.session().unwrap();
    let mut parts: Vec<(u64, u64)> = vec![(0, 48)];
    for address in reachable(session).into_iter().chain(session.extension()) {
        let extents = session.extents(|extents| extents.object(address)).unwrap();
        parts.extend(extents.iter().map(|extent| (extent.at.0, extent.at.0 + extent.len)));
    }
    parts.extend(session.space.free_after().iter().map(|&(start, end, _)| (start, end)));
    parts.sort_unstable();
    let mut lost = 0;
    for pair in parts.windows(2) {
        assert!(pair[0].1 <= pair[1].0, "{pair:x?} overlap");
        lost += pair[1].0 - pair[0].1;
    }
    lost
}

#[derive(Clone, Debug, PartialEq)]
enum Is {
    Group,
    Data(Vec<u16>),
    Soft(String),
}

/// What is at each path, and its attributes.
type Model = BTreeMap<String, (Is, BTreeMap<String, Vec<u32>>)>;

fn found(file: &File) -> Model {
    let mut model = Model::new();
    for visited in file.walk() {
        let path = String::from_utf8(visited.path).unwrap();
        if path == "/" {
            continue;
        }
        let (is, attributes) = match visited.what {
            Met::SoftLink(text) => (Is::Soft(text.to_text().into_owned()), Vec::new()),
            Met::Object(address) => match file.object_at(address).unwrap() {
                Node::Group(group) => (Is::Group, group.attributes().unwrap()),
                Node::Dataset(dataset) => (Is::Data(dataset.read().unwrap()), dataset.attributes().unwrap()),
                Node::Datatype(_) => panic!("{path} is a datatype"),
            },
            other => panic!("{path}: {other:?}"),
        };
        let value = |a: &crate::Attribute| (a.name().unwrap().to_text().into_owned(), a.read().unwrap());
        model.insert(path, (is, attributes.iter().map(value).collect()));
    }
    model
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    fn pick<'a>(&mut self, model: &'a Model, wanted: fn(&Is) -> bool) -> Option<&'a String> {
        let all: Vec<&String> =
            model.iter().filter(|(_, (is, _))| wanted(is)).map(|(path, _)| path).collect();
        if all.is_empty() { None } else { Some(all[self.below(all.len() as u64) as usize]) }
    }
}

fn step(editor: &mut Editor, model: &mut Model, random: &mut Random, number: usize) {
    let base = random.pick(model, |is| *is == Is::Group).cloned().unwrap_or_default();
    let new = format!("{base}/n{number}");
    match random.below(12) {
        0 | 1 => {
            editor.group(&new).unwrap();
            model.insert(new, (Is::Group, BTreeMap::new()));
        }
        2 | 3 => {
            let values: Vec<u16> = (0..random.below(3000) as u16).collect();
            let builder = editor.dataset(&new).shape([values.len() as u64]);
            let chunked = random.below(2) == 0 && !values.is_empty();
            let builder = if chunked { builder.chunks([100]).max_shape([None]) } else { builder };
            builder.write(&values).unwrap();
            model.insert(new, (Is::Data(values), BTreeMap::new()));
        }
        4 | 5 => {
            for i in 0..random.below(12) {
                let (path, target) = (format!("{new}_{i}"), format!("/{i}"));
                editor.root().soft_link(&path, &target).unwrap();
                model.insert(path, (Is::Soft(target), BTreeMap::new()));
            }
        }
        6 | 7 => {
            let Some(path) = random.pick(model, |is| !matches!(is, Is::Soft(_))).cloned() else { return };
            for _ in 0..random.below(12) {
                let (name, len) = (format!("a{}", random.below(30)), random.below(40) as u32);
                let value: Vec<u32> = (0..len * len).collect();
                editor.object(&path).unwrap().attribute(&name, &value).unwrap();
                model.get_mut(&path).unwrap().1.insert(name, value);
            }
        }
        8 => {
            let Some(path) = random.pick(model, |is| !matches!(is, Is::Soft(_))).cloned() else { return };
            let attributes = &mut model.get_mut(&path).unwrap().1;
            while attributes.len() as u64 > random.below(6) {
                let name = attributes.keys().next().unwrap().clone();
                attributes.remove(&name);
                editor.object(&path).unwrap().remove_attribute(&name).unwrap();
            }
        }
        9 => {
            let Some(path) = random.pick(model, |is| !matches!(is, Is::Group)).cloned() else { return };
            editor.move_link(&path, &new).unwrap();
            let moved = model.remove(&path).unwrap();
            model.insert(new, moved);
        }
        _ => {
            let Some(path) = random.pick(model, |_| true).cloned() else { return };
            editor.unlink(&path).unwrap();
            model.retain(|other, _| *other != path && !other.starts_with(&format!("{path}/")));
        }
    }
}

#[test]
fn random_edits_leave_what_was_meant_and_nothing_belongs_to_two() {
    for bound in [Bound::Earliest, Bound::V18, Bound::V110] {
        for tracked in [false, true] {
            let options = CreateOptions { bound, track_order: tracked, ..CreateOptions::default() };
            let bytes = Writer::in_memory(&options).unwrap().into_bytes().unwrap();
            let options = EditOptions { bound: Some(bound), track_order: tracked, ..EditOptions::default() };
            let mut editor = Editor::in_storage(Box::new(bytes), &options).unwrap();
            let (mut model, mut random) = (Model::new(), Random(0x1234_5678_9ABC_DEF1));
            for number in 0..240 {
                step(&mut editor, &mut model, &mut random, number);
                if random.below(8) == 0 {
                    assert_eq!(found(&editor.file().unwrap()), model, "{bound:?}, pending, step {number}");
                }
                if random.below(6) == 0 {
                    editor.commit_with(Flush::None).unwrap();
                    assert_eq!(found(&editor.file().unwrap()), model, "{bound:?}, step {number}");
                    lost_bytes(&editor);
                }
            }
            for path in model.keys().filter(|path| path.matches('/').count() == 1) {
                editor.unlink(path).unwrap();
            }
            editor.commit_with(Flush::None).unwrap();
            let lost = lost_bytes(&editor);
            assert!(lost < 512, "{bound:?}: {lost} bytes belong to nothing");
        }
    }
}
