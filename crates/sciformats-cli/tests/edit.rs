//! `edit` of HDF5 and Blosc2 files: attributes, metalayers, objects and links.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::Program;
use sciformats::Format;
use sciformats::hdf5_pure::references::Reference;
use sciformats::hdf5_pure::structure::{CharacterSet, Class, Padding};
use sciformats::hdf5_pure::values::{Committed, Raw};
use sciformats::hdf5_pure::{Datatype, File, Node, Writer};
use sciformats_convert::sink::{self, New, Place};
use serde_json::Value as Json;

/// One test at a time: a program that another thread starts holds the lock of a file that is being written, until it has begun.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn hdf5(path: &Path) {
    let mut file = Writer::create(path).unwrap();
    file.dataset("fields/u").attribute("units", "m/s").write(&[1.5, 2.5]).unwrap();
    file.dataset("v").write(&[1i32, 2, 3]).unwrap();
    let datatype = Datatype::signed(2).big_endian();
    file.root().attribute("count", Raw { datatype, shape: vec![], bytes: &[0, 7] }).unwrap();
    let u = file.root().group("fields").unwrap().id();
    let reference: Reference = file.reference(u).unwrap();
    file.root().attribute("where", reference).unwrap();
    file.finish().unwrap();
}

fn blosc2(path: &Path) {
    let u = sciformats::memory::array::<f32>(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let mut file = sink::overwrite(path, Format::Blosc2, &Default::default()).unwrap();
    file.add(Place::Root, New::Array(u.into())).unwrap();
    file.finish().unwrap();
}

#[test]
fn an_attribute_keeps_its_type_as_it_is_stored() {
    let _alone = alone();
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.h5");
    let mut file = Writer::create(&path).unwrap();
    let mut spaces = Datatype::fixed_string(6);
    spaces.class = Class::String { padding: Padding::SpacePadded, charset: CharacterSet::Ascii };
    let spaced = Raw { datatype: spaces.clone(), shape: vec![2], bytes: b"ab    c     " };
    file.root().attribute("spaced", spaced).unwrap();
    let committed = file.root().commit("count", &Datatype::signed(4).big_endian()).unwrap();
    file.root().attribute("counted", Committed { datatype: committed, value: 5 }).unwrap();
    file.finish().unwrap();
    let before = File::open(&path).unwrap();
    let program = Program::at(place.path());
    program.stdout(0, &["edit", "a.h5", "set", "/", "spaced", "[\"xy\", \"z\"]"]);
    program.stdout(0, &["edit", "a.h5", "set", "/", "counted", "7"]);
    for (text, why) in [("longer text", "there is room for 6"), ("süd", "is not ASCII")] {
        let error = program.stderr(2, &["edit", "a.h5", "set", "/", "spaced", text]);
        assert!(error.contains(why), "{error}");
    }
    let file = File::open(&path).unwrap();
    let root = file.root().unwrap();
    let spaced = root.attribute("spaced").unwrap();
    assert_eq!((spaced.datatype().unwrap(), spaced.raw().unwrap()), (&spaces, &b"xy    z     "[..]));
    let counted = root.attribute("counted").unwrap();
    assert_eq!((counted.committed().unwrap().is_some(), counted.raw().unwrap()), (true, &[0, 0, 0, 7][..]));
    let uses = |file: &File| {
        let Node::Datatype(count) = file.object("count").unwrap() else { panic!("it is a datatype") };
        file.object_info(count.address()).unwrap().references
    };
    assert_eq!(uses(&file), uses(&before));
}

#[test]
fn attributes_are_set_unset_and_renamed() {
    let _alone = alone();
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.h5");
    hdf5(&path);
    let program = Program::at(place.path());
    let edit = |args: &[&str]| program.stdout(0, &[&["edit", "a.h5"], args].concat());
    assert_eq!(
        edit(&["set", "/fields/u", "range", "[0, 1e3]", "--type", "float32"]),
        "a.h5 /fields/u range = [0,1000.0] (float32)  written\n"
    );
    edit(&["set", "/", "title", "a week in May"]);
    edit(&["set", "/", "grid", "[[1, 2, 3], [4, 5, 6]]"]);
    edit(&["set", "/", "names", "[\"north\", \"süd\"]"]);
    edit(&["set", "/", "code", "N7", "--type", "fixed"]);
    edit(&["set", "/", "ok", "true"]);
    edit(&["set", "/", "nothing", "null", "--type", "int8"]);
    edit(&["set", "/", "count", "-8"]);
    edit(&["set", "/", "below", "-1.5"]);
    let file = File::open(&path).unwrap();
    let root = file.root().unwrap();
    let range = file.dataset("fields/u").unwrap().attribute("range").unwrap();
    assert_eq!(
        (range.datatype().unwrap(), range.read::<f32>().unwrap()),
        (&Datatype::float32(), vec![0.0, 1000.0])
    );
    let get = |name: &str| root.attribute(name).unwrap();
    assert_eq!(get("title").read::<String>().unwrap(), ["a week in May"]);
    assert_eq!(get("grid").dataspace().unwrap().shape(), [2, 3]);
    assert_eq!(get("grid").read::<i64>().unwrap(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(get("names").read::<String>().unwrap(), ["north", "süd"]);
    assert_eq!(*get("code").datatype().unwrap(), Datatype::fixed_string(2));
    assert_eq!(get("ok").read::<bool>().unwrap(), [true]);
    assert_eq!(get("below").read::<f64>().unwrap(), [-1.5]);
    assert!(get("nothing").dataspace().unwrap().is_null());
    // A type that was there stays, byte order and all.
    assert_eq!(*get("count").datatype().unwrap(), Datatype::signed(2).big_endian());
    assert_eq!(get("count").raw().unwrap(), [255, 248]);
    drop((file, root));

    edit(&["rename", "/fields/u", "units", "unit"]);
    edit(&["unset", "/", "grid"]);
    let json: Json = serde_json::from_str(&edit(&["set", "/", "n", "7", "--json"])).unwrap();
    assert_eq!(
        json,
        serde_json::json!({
            "file": "a.h5", "change": "set", "path": "/", "name": "n", "type": "int64", "value": 7, "written": true
        })
    );
    let attributes = program.stdout(0, &["attrs", "a.h5", "/fields/u"]);
    assert!(attributes.contains("unit ") && !attributes.contains("units"), "{attributes}");
    assert!(!program.stdout(0, &["attrs", "a.h5"]).contains("grid"));
    program.stdout(0, &["verify", "a.h5"]);
}

#[test]
fn objects_and_links_are_moved_deleted_and_made() {
    let _alone = alone();
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.h5");
    hdf5(&path);
    let program = Program::at(place.path());
    let edit = |args: &[&str]| program.stdout(0, &[&["edit", "a.h5"], args].concat());
    assert_eq!(edit(&["move", "/v", "/fields/deep/v"]), "a.h5 /v is now /fields/deep/v  written\n");
    edit(&["link", "/hard", "/fields/u"]);
    edit(&["link", "--soft", "/soft", "/fields/deep/v"]);
    edit(&["link", "/out", "/x", "--in", "other.h5"]);
    let listed = program.stdout(0, &["ls", "-r", "a.h5"]);
    for line in ["soft → /fields/deep/v", "out → other.h5 : /x"] {
        assert!(listed.contains(line), "{listed}");
    }
    assert_eq!(program.stdout(0, &["cat", "a.h5", "/soft"]), "[1 2 3]\n");
    assert_eq!(program.stdout(0, &["cat", "a.h5", "/hard"]), "[1.5 2.5]\n");
    edit(&["delete", "/fields/u"]);
    assert_eq!(program.stdout(0, &["cat", "a.h5", "/hard"]), "[1.5 2.5]\n");
    let error = program.stderr(2, &["edit", "a.h5", "delete", "/fields"]);
    assert!(error.contains("/fields is a group with 1 member; --recursive deletes them too"), "{error}");
    edit(&["delete", "-r", "/fields"]);
    edit(&["delete", "/soft"]);
    let listed = program.stdout(0, &["ls", "-r", "a.h5"]);
    assert!(!listed.contains("fields") && !listed.contains("soft"), "{listed}");
    program.stdout(0, &["verify", "a.h5"]);
}

#[test]
fn what_cannot_be_done_says_why_and_changes_nothing() {
    let _alone = alone();
    let place = tempfile::tempdir().unwrap();
    let (path, frame) = (place.path().join("a.h5"), place.path().join("u.b2nd"));
    hdf5(&path);
    blosc2(&frame);
    fs::copy(common::fixtures().join("gsd/hoomd-log.gsd"), place.path().join("a.gsd")).unwrap();
    fs::copy(common::fixtures().join("asdf/views.asdf"), place.path().join("a.asdf")).unwrap();
    let before = [fs::read(&path).unwrap(), fs::read(&frame).unwrap()];
    let program = Program::at(place.path());
    for (status, args, why) in [
        (2, &["a.h5"][..], "no change was given for this HDF5 file"),
        (2, &["u.b2nd"], "no change was given for this Blosc2 file"),
        (1, &["a.gsd"], "GSD files cannot be edited"),
        (1, &["a.gsd", "set", "/", "a", "1"], "GSD files cannot be edited"),
        (1, &["a.asdf", "set", "/", "a", "1"], "is edited as text; run `sciformats edit a.asdf`"),
        (2, &["a.h5", "--drop-blocks", "unset", "/", "count"], "--drop-blocks applies only"),
        (3, &["a.h5", "set", "/field/u", "a", "1"], "did you mean /fields/u?"),
        (3, &["a.h5", "unset", "/", "none"], "/: no attribute named \"none\" (`sciformats attrs a.h5 /`"),
        (3, &["a.h5", "rename", "/", "none", "some"], "no attribute named \"none\""),
        (
            1,
            &["a.h5", "rename", "/", "count", "where"],
            "(`sciformats edit a.h5 unset / where` removes that one)",
        ),
        (1, &["a.h5", "rename", "/", "count", "count"], "/: the new name is the same as the old one\n"),
        (1, &["a.h5", "move", "/v", "v/"], "/v: the new name is the same as the old one\n"),
        (1, &["a.h5", "link", "/v", "/v"], "/v: the new name is the same as the old one\n"),
        (3, &["a.h5", "delete", "/none"], "no object named \"/none\""),
        (2, &["a.h5", "delete", "/"], "/ is the root of the file, which cannot be deleted"),
        (2, &["a.h5", "move", "/", "/some"], "/ is the root of the file, which cannot be moved"),
        (3, &["a.h5", "move", "/none", "/some"], "no object named \"/none\""),
        (3, &["a.h5", "move", "/field/u", "/some"], "did you mean /fields/u?"),
        (
            1,
            &["a.h5", "move", "/v", "/fields/u"],
            "exists already in the group (`sciformats edit a.h5 delete /fields/u`",
        ),
        (1, &["a.h5", "move", "/fields", "/fields/u/x"], "/fields: "),
        (1, &["a.h5", "link", "/v", "/fields/u"], "(`sciformats edit a.h5 delete /v` removes that one)"),
        (3, &["a.h5", "link", "/w", "/none"], "no object named"),
        (
            2,
            &["a.h5", "set", "/", "count", "40000"],
            "40000 is not a value of type int16, which is the type of the existing attribute (--type",
        ),
        (
            2,
            &["a.h5", "set", "/", "where", "x"],
            "has the type Reference, in which values cannot be given; choose another one with --type",
        ),
        (2, &["a.h5", "set", "/", "x", "[1, [2]]"], "nested lists have different"),
        (2, &["u.b2nd", "set", "/x", "a", "1"], "whose path is /"),
        (2, &["u.b2nd", "delete", "/"], "has no links"),
        (2, &["u.b2nd", "set", "/", "a", "1", "--type", "int8"], "takes its type from the value"),
        (3, &["u.b2nd", "unset", "/", "none"], "none"),
        (1, &["u.b2nd", "unset", "/", "meta:b2nd"], "b2nd"),
        (1, &["u.b2nd", "set", "/", "meta:b2nd", "1"], "b2nd"),
        (3, &["none.h5", "set", "/", "a", "1"], "none.h5"),
    ] {
        let error = program.stderr(status, &[&["edit"], args].concat());
        assert!(error.contains(why), "{args:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{args:?}: {error}");
        let after = [fs::read(&path).unwrap(), fs::read(&frame).unwrap()];
        assert!(after == before, "{args:?}");
        // What is refused is refused of a draft, too.
        program.stderr(status, &[&["edit", "--dry-run"], args].concat());
    }
}

#[test]
fn a_dry_run_writes_nothing() {
    let _alone = alone();
    let place = tempfile::tempdir().unwrap();
    let (path, frame) = (place.path().join("a.h5"), place.path().join("u.b2nd"));
    hdf5(&path);
    blosc2(&frame);
    let before = [fs::read(&path).unwrap(), fs::read(&frame).unwrap()];
    let program = Program::at(place.path());
    for args in [
        &["a.h5", "set", "/", "title", "x"][..],
        &["a.h5", "unset", "/", "count"],
        &["a.h5", "move", "/v", "/w"],
        &["a.h5", "delete", "/v"],
        &["a.h5", "link", "/w", "/v"],
        &["u.b2nd", "set", "/", "units", "K"],
    ] {
        let text = program.stdout(0, &[&["edit", "--dry-run"], args].concat());
        assert!(text.ends_with("  not written, because of --dry-run\n"), "{text}");
        let after = [fs::read(&path).unwrap(), fs::read(&frame).unwrap()];
        assert!(after == before, "{args:?}");
    }
}

#[test]
fn metalayers_are_set_unset_and_renamed() {
    let _alone = alone();
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("u.b2nd");
    blosc2(&path);
    let program = Program::at(place.path());
    let edit = |args: &[&str]| program.stdout(0, &[&["edit", "u.b2nd"], args].concat());
    assert_eq!(edit(&["set", "/", "units", "K"]), "u.b2nd / units = \"K\"  written\n");
    edit(&["set", "/", "vlmeta:offset", "273.15"]);
    edit(&["set", "/", "meta:station", "{\"name\": \"north\", \"rows\": [1, 2]}"]);
    edit(&["rename", "/", "units", "unit"]);
    let told = program.stdout(0, &["attrs", "u.b2nd"]);
    for part in [
        "vlmeta:unit ",
        "\"K\"",
        "vlmeta:offset",
        "273.15",
        "meta:station",
        "{\"name\":\"north\",\"rows\":[1,2]}",
    ] {
        assert!(told.contains(part), "{told}");
    }
    edit(&["rename", "/", "meta:station", "place"]);
    edit(&["unset", "/", "offset"]);
    let told = program.stdout(0, &["attrs", "u.b2nd"]);
    assert!(told.contains("vlmeta:place") && !told.contains("station") && !told.contains("offset"), "{told}");
    assert_eq!(program.stdout(0, &["cat", "u.b2nd"]), "[[1.0 2.0]\n [3.0 4.0]]\n");
    program.stdout(0, &["verify", "u.b2nd"]);
}

/// The limit of the size of a file stands for a full disk: a part of the bytes is written before the error.
#[cfg(unix)]
#[test]
fn an_edit_that_finds_the_disk_full_leaves_the_file_as_it_was() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let program = Program::at(dir.path());
    hdf5(&dir.path().join("a.h5"));
    blosc2(&dir.path().join("u.b2nd"));
    // Metalayers of variable length are compressed, so that a text without repetitions is needed.
    let mut state = 1u64;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + (state >> 60) as u8)
    };
    let long: String = (0..40_000).map(|_| letter()).collect();
    let long = format!("\"{long}\"");
    for (file, name) in [("a.h5", "long"), ("u.b2nd", "vlmeta:long")] {
        let path = dir.path().join(file);
        let before = fs::read(&path).unwrap();
        let blocks = before.len() / 512 + 4;
        let edit = format!("ulimit -f {blocks}; exec \"$0\" edit {file} set / {name} '{long}'");
        let own = program.command();
        let mut shell = std::process::Command::new("sh");
        shell.arg("-c").arg(edit).arg(own.get_program()).current_dir(dir.path());
        let output = shell.output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{file}: {error}");
        assert!(fs::read(&path).unwrap() == before, "{file} has changed");
    }
}
