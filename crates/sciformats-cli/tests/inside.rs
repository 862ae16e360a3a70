//! Objects as one word, `FILE:/PATH`, in the commands that otherwise take whole files.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::path::Path;

use crate::common::Program;
use sciformats::hdf5_pure::Writer;
use serde_json::Value as Json;

/// A file with two groups that are alike except for one element.
fn made(path: &Path) {
    let mut file = Writer::create(path).unwrap();
    for (group, last) in [("one", 3.0), ("two", 4.0)] {
        file.dataset(&format!("{group}/u")).attribute("units", "m").write(&[1.0, 2.0, last]).unwrap();
        file.dataset(&format!("{group}/same")).write(&[1i32, 2]).unwrap();
    }
    file.finish().unwrap();
}

fn lines(text: &str) -> Vec<Json> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn objects_are_described() {
    let place = tempfile::tempdir().unwrap();
    made(&place.path().join("a.h5"));
    let program = Program::at(place.path());
    let text = program.stdout(0, &["info", "a.h5:/one"]);
    assert!(text.starts_with("a.h5:/one\n") && text.contains("1 group, 2 arrays"), "{text}");
    let text = program.stdout(0, &["info", "a.h5:/one/u"]);
    assert!(text.contains("float64") && text.contains("@units"), "{text}");
    let found = lines(&program.stdout(0, &["info", "--json", "a.h5:/one/u", "a.h5:/two", "a.h5"]));
    assert_eq!((&found[0]["kind"], &found[0]["shape"][0]), (&"array".into(), &3.into()));
    assert_eq!((&found[1]["arrays"], &found[2]["arrays"]), (&2.into(), &4.into()));
    assert!(program.stderr(3, &["info", "a.h5:/on/u"]).contains("did you mean"));
}

#[test]
fn parts_are_searched_verified_and_compared() {
    let place = tempfile::tempdir().unwrap();
    made(&place.path().join("a.h5"));
    made(&place.path().join("b.h5"));
    let program = Program::at(place.path());
    let found = lines(&program.stdout(0, &["find", "--json", "a.h5:/two", "b.h5", "same"]));
    let paths: Vec<&str> = found.iter().map(|line| line["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["/two/same", "/one/same", "/two/same"]);
    let text = program.stdout(0, &["verify", "a.h5:/one", "a.h5"]);
    assert!(
        text.contains("a.h5:/one: sound  3 objects") && text.contains("a.h5: sound  7 objects"),
        "{text}"
    );
    program.stdout(0, &["diff", "a.h5:/one", "b.h5:/one"]);
    let text = program.stdout(1, &["diff", "a.h5:/one", "b.h5:/two"]);
    assert!(
        text.contains("/one/u  1 of 3 elements differs") && text.contains("3 same, 1 different"),
        "{text}"
    );
    program.stdout(0, &["diff", "a.h5:/one/u", "a.h5:/two/u", "--atol", "1"]);
    assert!(program.stderr(3, &["diff", "a.h5:/one", "b.h5:/none"]).contains("b.h5"));
    assert!(program.stderr(3, &["verify", "a.h5:/none"]).contains("none"));
}

#[test]
fn damage_elsewhere_is_not_that_of_a_part() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.h5");
    let mut file = Writer::create(&path).unwrap();
    file.dataset("good").chunks([2]).fletcher32().write(&[1.0, 2.0]).unwrap();
    file.dataset("bad").chunks([2]).fletcher32().write(&[123.25, 2.0]).unwrap();
    file.finish().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let wrong = 123.25f64.to_le_bytes();
    let at = bytes.windows(8).position(|part| part == wrong).unwrap();
    bytes[at] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let program = Program::at(place.path());
    program.stdout(0, &["verify", "a.h5:/good"]);
    program.stdout(1, &["verify", "a.h5:/bad"]);
    program.stdout(1, &["verify", "a.h5"]);
}

#[test]
fn a_part_is_referenced_and_its_attributes_are_edited() {
    let place = tempfile::tempdir().unwrap();
    made(&place.path().join("a.h5"));
    let program = Program::at(place.path());
    let references: Json =
        serde_json::from_str(&program.stdout(0, &["references", "a.h5:/one", "-o", "-", "--quiet"])).unwrap();
    let keys = references["refs"].as_object().unwrap();
    assert!(keys.contains_key("one/u/.zarray") && keys.contains_key(".zgroup"), "{references}");
    assert!(!keys.keys().any(|key| key.starts_with("two")), "{references}");
    program.stdout(0, &["edit", "a.h5:/one/u", "set", "units", "km"]);
    assert!(program.stdout(0, &["attrs", "a.h5", "/one/u"]).contains("km"));
    let error = program.stderr(3, &["inspect", "a.h5:/one"]);
    assert!(error.contains("takes a whole file; write a.h5 without /one"), "{error}");
}
