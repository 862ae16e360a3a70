//! The command `references`: what it writes, what it says, and how it ends.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod common;

use std::fs;

use common::{Program, climate};
use serde_json::Value;

#[test]
fn references_are_written_and_told() {
    let folder = tempfile::tempdir().unwrap();
    climate(&folder.path().join("climate.nc"));
    let program = Program::at(folder.path());
    let said =
        program.stderr(0, &["references", "climate.nc", "-o", "all.json", "--url", "s3://bucket/climate.nc"]);
    assert!(said.ends_with("0 refused\n"), "{said}");
    let json: Value = serde_json::from_slice(&fs::read(folder.path().join("all.json")).unwrap()).unwrap();
    assert_eq!((&json["version"], &json["templates"]["u"]), (&1.into(), &"s3://bucket/climate.nc".into()));
    let refs = json["refs"].as_object().unwrap();
    assert!(refs.contains_key(".zgroup"));
    let arrays = refs.keys().filter(|key| key.ends_with("/.zarray")).count();
    let lines = program.stderr(0, &["references", "climate.nc", "-o", "all.json", "--force", "--json"]);
    let treated = lines.lines().filter(|line| !line.contains("\"attribute\"")).count();
    assert_eq!(treated, arrays);
    for line in lines.lines() {
        assert!(serde_json::from_str::<Value>(line).unwrap()["treatment"].is_string(), "{line}");
    }
}

#[test]
fn an_existing_file_is_kept_and_what_is_refused_is_the_exit_status() {
    let folder = tempfile::tempdir().unwrap();
    let values = vec![1.5f64; 1 << 10];
    common::raw_array(&folder.path().join("a.ra"), &[1 << 10], &values);
    let program = Program::at(folder.path());
    // Chunks of Blosc2 are inlined or refused.
    program.stderr(0, &["convert", "a.ra", "a.b2nd"]);
    let said = program.stderr(1, &["references", "a.b2nd", "-o", "a.json", "--inline", "1K"]);
    assert!(said.contains("/: refused, because "), "{said}");
    program.stderr(0, &["references", "a.ra", "-o", "b.json"]);
    let before = fs::read(folder.path().join("b.json")).unwrap();
    program.stderr(2, &["references", "a.ra", "-o", "b.json"]);
    assert_eq!(fs::read(folder.path().join("b.json")).unwrap(), before);
    program.stderr(3, &["references", "none.h5", "-o", "c.json"]);
    assert!(!folder.path().join("c.json").exists());
}
