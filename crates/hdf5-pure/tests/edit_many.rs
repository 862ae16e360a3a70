//! Adds and removes links and attributes of large groups and objects in random order, a few with each commit. The file must
//! always have the same contents as a sorted map.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::{BTreeMap, BTreeSet};

use crate::fixtures::fixtures;
use crate::recorded::Recorded;
use hdf5_pure::options::Bound;
use hdf5_pure::structure::{BtreeK, Target};
use hdf5_pure::walk::Found;
use hdf5_pure::{CreateOptions, EditOptions, Editor, File, Node, Writer};
use sciformats_core::commit::replay::every_cut;

/// A generator of pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % n as u64) as usize
    }
}

/// The links of the group and its attributes, as they should be.
#[derive(Clone, Default, Debug, PartialEq)]
struct Model {
    links: BTreeMap<String, String>,
    attributes: BTreeMap<String, Vec<u32>>,
}

impl Model {
    fn of(file: &File) -> Self {
        let group = file.group("many").unwrap();
        let links = group.links().unwrap().into_iter().map(|link| {
            let link = link.unwrap();
            match link.target {
                Target::Soft(path) => (link.name.to_text().into_owned(), path.to_text().into_owned()),
                Target::Hard(_) => (link.name.to_text().into_owned(), "hard".into()),
                other => panic!("{other:?}"),
            }
        });
        let attributes = group.attributes().unwrap();
        let attributes = attributes
            .iter()
            .map(|attribute| (attribute.name().unwrap().to_string(), attribute.read::<u32>().unwrap()));
        Self { links: links.collect(), attributes: attributes.collect() }
    }
}

fn name(random: &mut Random, names: usize) -> String {
    let number = random.below(names);
    // Some names are long, and some are too long for the blocks of a heap.
    let tail = match number % 50 {
        0 => "long ".repeat(40),
        1 => "very long ".repeat(450),
        _ => String::new(),
    };
    format!("n{number} {tail}")
}

fn any<V>(random: &mut Random, map: &BTreeMap<String, V>) -> Option<String> {
    let number = random.below(map.len().max(1));
    map.keys().nth(number).cloned()
}

/// Makes one change of a link and one of an attribute. If `growing` is set, most changes add something.
fn change(editor: &mut Editor, model: &mut Model, random: &mut Random, growing: usize) {
    let link = name(random, 4000);
    match random.below(10) {
        what if what < growing && !model.links.contains_key(&link) => {
            if what % 3 == 0 {
                let target = editor.id("target").unwrap();
                editor.root().hard_link(&format!("many/{link}"), target).unwrap();
                model.links.insert(link, "hard".into());
            } else {
                let path = "/x".repeat(random.below(30) + 1);
                editor.root().soft_link(&format!("many/{link}"), &path).unwrap();
                model.links.insert(link, path);
            }
        }
        what => {
            if let Some(old) = any(random, &model.links) {
                if what % 2 == 0 && !model.links.contains_key(&link) {
                    editor.move_link(&format!("many/{old}"), &format!("many/{link}")).unwrap();
                    let target = model.links.remove(&old).unwrap();
                    model.links.insert(link, target);
                } else {
                    editor.unlink(&format!("many/{old}")).unwrap();
                    model.links.remove(&old);
                }
            }
        }
    }
    let attribute = name(random, 1500);
    let mut group = editor.object("many").unwrap();
    if random.below(10) < growing {
        let value = vec![random.below(1000) as u32; random.below(40) + 1];
        group.attribute(&attribute, value.as_slice()).unwrap();
        model.attributes.insert(attribute, value);
    } else if let Some(old) = any(random, &model.attributes) {
        if random.below(2) == 0 && !model.attributes.contains_key(&attribute) {
            group.rename_attribute(&old, &attribute).unwrap();
            let value = model.attributes.remove(&old).unwrap();
            model.attributes.insert(attribute, value);
        } else {
            group.remove_attribute(&old).unwrap();
            model.attributes.remove(&old);
        }
    }
}

fn start(bound: Bound, tracked: bool, n: usize) -> (Vec<u8>, Model) {
    start_with(&CreateOptions::default().with_bound(bound).with_track_order(tracked), n)
}

fn start_with(options: &CreateOptions, n: usize) -> (Vec<u8>, Model) {
    let mut file = Writer::in_memory(options).unwrap();
    let target = file.dataset("target").write(&[1]).unwrap();
    for i in 0..n {
        file.group("many").unwrap().hard_link(&format!("first {i}"), target).unwrap();
        file.group("many").unwrap().attribute(&format!("first {i}"), i as u32).unwrap();
    }
    file.group("many").unwrap();
    let bytes = file.into_bytes().unwrap();
    let model = Model::of(&File::from_bytes(bytes.clone()).unwrap());
    (bytes, model)
}

/// Returns the hard links that the target counts: its own link, and those of the group.
fn references(file: &File) -> u64 {
    let target = file.dataset("target").unwrap();
    u64::from(file.object_info(target.address()).unwrap().references)
}

#[test]
fn links_and_attributes_come_and_go() {
    for (bound, tracked, first) in [
        (Bound::V110, false, 0),
        (Bound::V110, true, 0),
        (Bound::V110, true, 1200),
        (Bound::V18, false, 300),
        (Bound::Earliest, false, 0),
        (Bound::Earliest, false, 600),
    ] {
        let about = format!("{bound:?}, tracked {tracked}, {first} at first");
        let options = CreateOptions::default().with_bound(bound).with_track_order(tracked);
        come_and_go(&options, first, &about);
    }
}

#[test]
fn members_of_deep_trees_come_and_go() {
    for (group_leaf, group_internal) in [(1, 1), (2, 1), (1, 2), (3, 5)] {
        let k = BtreeK { chunk: 32, group_internal, group_leaf };
        let options = CreateOptions::default().with_bound(Bound::Earliest).with_btree_k(k);
        come_and_go(&options, 200, &format!("{k:?}"));
    }
}

fn come_and_go(options: &CreateOptions, first: usize, about: &str) {
    let (bytes, mut model) = start_with(options, first);
    let recorded = Recorded::new(bytes);
    let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ first as u64);
    let mut editor = Editor::in_storage(Box::new(recorded.clone()), &EditOptions::default()).unwrap();
    let mut unused = editor.unaccounted().unwrap();
    for round in 0..120 {
        // The group grows, keeps its size, and shrinks until it is almost empty.
        let growing = if round < 50 {
            8
        } else if round < 70 {
            5
        } else {
            1
        };
        for _ in 0..[1, 3, 40][round % 3] {
            change(&mut editor, &mut model, &mut random, growing);
        }
        editor.commit().unwrap();
        let file = File::from_bytes(recorded.bytes()).unwrap();
        assert!(Model::of(&file) == model, "{about}: round {round}");
        file.check_space().unwrap();
        let hard = model.links.values().filter(|target| *target == "hard").count() as u64;
        assert_eq!(references(&file), hard + 1, "{about}: round {round}");
        if round % 10 == 9 {
            let lost = editor.unaccounted().unwrap();
            assert!(lost <= unused, "{about}, round {round}: {lost} bytes of no structure, {unused} before");
            drop(editor);
            editor = Editor::in_storage(Box::new(recorded.clone()), &EditOptions::default()).unwrap();
            // A new session does not know which space was free.
            unused = editor.unaccounted().unwrap();
        }
    }
    editor.unlink("many").unwrap();
    editor.commit().unwrap();
    drop(editor);
    let file = File::from_bytes(recorded.bytes()).unwrap();
    assert_eq!(references(&file), 1);
    file.check_space().unwrap();
}

#[test]
fn a_changed_group_can_be_taken_out_before_the_commit() {
    for bound in [Bound::V110, Bound::Earliest] {
        let (bytes, _) = start(bound, false, 100);
        let recorded = Recorded::new(bytes);
        let mut editor = Editor::in_storage(Box::new(recorded.clone()), &EditOptions::default()).unwrap();
        let unused = editor.unaccounted().unwrap();
        editor.unlink("many/first 7").unwrap();
        editor.move_link("many/first 8", "many/first 7").unwrap();
        editor.root().soft_link("many/soft", "/target").unwrap();
        editor
            .object("many")
            .unwrap()
            .remove_attribute("first 3")
            .unwrap()
            .attribute("first 4", 17u8)
            .unwrap();
        editor.unlink("many").unwrap();
        editor.commit().unwrap();
        assert!(editor.unaccounted().unwrap() <= unused);
        let file = File::from_bytes(recorded.bytes()).unwrap();
        assert_eq!(references(&file), 1, "{bound:?}");
        file.check_space().unwrap();
    }
}

#[test]
fn a_link_that_was_taken_out_can_come_again() {
    for bound in [Bound::V110, Bound::Earliest] {
        let (bytes, mut model) = start(bound, true, 50);
        let recorded = Recorded::new(bytes);
        let mut editor = Editor::in_storage(Box::new(recorded.clone()), &EditOptions::default()).unwrap();
        editor.unlink("many/first 7").unwrap();
        assert!(editor.unlink("many/first 7").is_err());
        editor.root().soft_link("many/first 7", "/a").unwrap();
        assert!(editor.root().soft_link("many/first 7", "/b").is_err());
        editor.unlink("many/first 7").unwrap();
        editor.root().soft_link("many/first 7", "/c").unwrap();
        assert!(editor.root().soft_link("many/first 8", "/b").is_err(), "the name is in the file");
        let mut group = editor.object("many").unwrap();
        group.remove_attribute("first 9").unwrap();
        assert!(group.remove_attribute("first 9").is_err());
        group.attribute("first 9", 5u32).unwrap().attribute("first 9", 6u32).unwrap();
        assert!(group.rename_attribute("first 9", "first 10").is_err(), "the name is in the file");
        assert!(group.rename_attribute("first 1", "first 9").is_err(), "the name is in memory");
        group.rename_attribute("first 1", "again").unwrap().rename_attribute("again", "first 1").unwrap();
        editor.commit().unwrap();
        model.links.insert("first 7".into(), "/c".into());
        model.attributes.insert("first 9".into(), vec![6]);
        assert_eq!(Model::of(&File::from_bytes(recorded.bytes()).unwrap()), model);
    }
}

#[test]
fn every_cut_leaves_the_last_commit_or_the_next() {
    for (bound, tracked) in [(Bound::V110, true), (Bound::V110, false), (Bound::Earliest, false)] {
        let (mut bytes, mut model) = start(bound, tracked, 400);
        let mut random = Random(17);
        for round in 0..12 {
            let recorded = Recorded::new(bytes.clone());
            let mut editor = Editor::in_storage(Box::new(recorded.clone()), &EditOptions::default()).unwrap();
            let before = model.clone();
            for _ in 0..1 + round % 3 {
                change(&mut editor, &mut model, &mut random, 5);
            }
            editor.commit().unwrap();
            drop(editor);
            let (old, new) = (bytes, recorded.bytes());
            every_cut(&old, &recorded.take_steps(), |cut, cut_file| {
                let found = Model::of(&File::from_bytes(cut_file.to_vec()).unwrap());
                assert!(
                    found == before || found == model,
                    "{bound:?}, round {round}: {cut:?} leaves neither"
                );
            });
            bytes = new;
        }
    }
}

/// Returns the names of the links and of the attributes of a group.
fn names(file: &File, path: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let group = file.group(path).unwrap();
    let links = group.links().unwrap().into_iter().map(|link| link.unwrap().name.to_text().into_owned());
    let attributes = group.attributes().unwrap();
    let attributes = attributes.iter().map(|attribute| attribute.name().unwrap().to_string());
    (links.collect(), attributes.collect())
}

#[test]
fn groups_that_the_library_has_made() {
    let mut edited = 0;
    for path in fixtures(".") {
        let bytes = std::fs::read(&path).unwrap();
        let file = File::from_bytes(bytes.clone()).unwrap();
        let mut groups = vec!["/".to_owned()];
        groups.extend(file.walk().filter_map(|visited| match visited.what {
            Found::Object(address) if matches!(file.object_at(address), Ok(Node::Group(_))) => {
                String::from_utf8(visited.path).ok()
            }
            _ => None,
        }));
        groups.retain(|group| {
            let (links, attributes) = names(&file, group);
            links.len() > 8 || attributes.len() > 8
        });
        let recorded = Recorded::new(bytes);
        let Ok(mut editor) = Editor::in_storage(Box::new(recorded.clone()), &EditOptions::default()) else {
            continue;
        };
        for group in groups {
            edited += 1;
            let (mut links, mut attributes) = names(&file, &group);
            let about = format!("{}: {group}", path.display());
            let before = (links.clone(), attributes.clone());
            for round in 0..12 {
                for i in 0..25 {
                    let name = format!("new link {round} {i}");
                    editor.root().soft_link(&format!("{group}/{name}"), "/x").unwrap();
                    links.insert(name);
                    let name = format!("new attribute {round} {i}");
                    editor.object(&group).unwrap().attribute(&name, [i; 9]).unwrap();
                    attributes.insert(name);
                }
                editor.commit().unwrap();
                let file = File::from_bytes(recorded.bytes()).unwrap();
                file.check_space().unwrap();
                assert!(
                    names(&file, &group) == (links.clone(), attributes.clone()),
                    "{about}, round {round}"
                );
            }
            for (i, name) in links.iter().filter(|name| name.starts_with("new link")).enumerate() {
                editor.unlink(&format!("{group}/{name}")).unwrap();
                if i % 20 == 0 {
                    editor.commit().unwrap();
                }
            }
            for name in attributes.iter().filter(|name| name.starts_with("new attribute")) {
                editor.object(&group).unwrap().remove_attribute(name).unwrap();
            }
            editor.commit().unwrap();
            let file = File::from_bytes(recorded.bytes()).unwrap();
            file.check_space().unwrap();
            assert!(names(&file, &group) == before, "{about}");
        }
    }
    assert!(edited > 10, "{edited} groups were edited");
}
