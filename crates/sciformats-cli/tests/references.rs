//! The command `references`: what it writes, what it says, and how it ends.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::fs;

use crate::common::{Program, climate};
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
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let (notes, told): (Vec<_>, Vec<_>) = lines.partition(|line| line["note"].is_string());
    assert!(told.iter().all(|line| line["treatment"].is_string()), "{told:?}");
    assert_eq!(told.iter().filter(|line| line["attribute"].is_null()).count(), arrays);
    assert!(notes.iter().all(|note| note["path"].is_string()), "{notes:?}");
}

#[test]
fn an_existing_file_is_kept_and_what_is_refused_is_the_exit_status() {
    let folder = tempfile::tempdir().unwrap();
    let values = vec![1.5f64; 1 << 10];
    crate::common::raw_array(&folder.path().join("a.ra"), &[1 << 10], &values);
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

#[test]
fn a_repository_needs_its_program_and_the_error_says_which() {
    let folder = tempfile::tempdir().unwrap();
    climate(&folder.path().join("climate.nc"));
    let program = Program::at(folder.path()).with("PATH", "");
    let said = program.stderr(2, &["references", "climate.nc", "-o", "icechunk:store"]);
    assert!(said.contains("cargo install") && said.contains("to_icechunk"), "{said}");
    let said = program.stderr(2, &["combine", "climate.nc", "-o", "icechunk:store", "--add"]);
    assert!(said.contains("not with Icechunk"), "{said}");
    assert!(fs::read_dir(folder.path()).unwrap().count() == 1, "something was left");
}

/// A program in place of `sciformats-icechunk`: it keeps what it is told, and ends with a status.
#[cfg(unix)]
fn stand_in(folder: &std::path::Path, script: &str) -> Program {
    use std::os::unix::fs::PermissionsExt;

    let programs = folder.join("programs");
    fs::create_dir_all(&programs).unwrap();
    let place = programs.join("sciformats-icechunk");
    fs::write(&place, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
    Program::at(folder).with("PATH", format!("{}:/usr/bin:/bin", programs.display()))
}

#[cfg(unix)]
#[test]
fn a_repository_is_told_all_chunks_with_the_time_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    climate(&folder.path().join("climate.nc"));
    let program = stand_in(folder.path(), "cat > \"$1/repo\"");
    program.stderr(0, &["references", "climate.nc", "-o", "icechunk:store"]);
    let text = fs::read_to_string(folder.path().join("store").join("repo")).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let file = &lines[0]["files"][0];
    assert!(file["url"].as_str().unwrap().ends_with("/climate.nc") && file["modified"].is_u64(), "{file}");
    assert_eq!(lines.last().unwrap()["end"], true);
    let arrays = lines.iter().filter(|line| line["value"]["node_type"] == "array").count();
    program.stderr(0, &["references", "climate.nc", "-o", "climate.json"]);
    let json: Value = serde_json::from_slice(&fs::read(folder.path().join("climate.json")).unwrap()).unwrap();
    let refs = json["refs"].as_object().unwrap();
    assert_eq!(arrays, refs.keys().filter(|key| key.ends_with("/.zarray")).count());
    let ranges = refs.values().filter(|value| value.is_array()).count();
    assert_eq!(ranges, lines.iter().filter(|line| line.is_array()).count());
    // An existing repository is kept, or replaced.
    program.stderr(2, &["references", "climate.nc", "-o", "icechunk:store"]);
    program.stderr(0, &["references", "climate.nc", "-o", "icechunk:store", "--force"]);
}

#[cfg(unix)]
#[test]
fn a_repository_that_fails_leaves_nothing_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    climate(&folder.path().join("climate.nc"));
    for script in
        ["echo 'sciformats-icechunk: no room' >&2; exit 4", "cat > /dev/null; echo 'no room' >&2; exit 4"]
    {
        let program = stand_in(folder.path(), script);
        let said = program.stderr(4, &["references", "climate.nc", "-o", "icechunk:store"]);
        assert!(said.contains("no room"), "{said}");
        let left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.len() == 2, "{left:?}");
    }
}

/// A day of a field, whose time counts from the beginning of that day.
fn day(path: &std::path::Path, number: i32, since: &str) {
    let mut made = sciformats::hdf5_pure::Writer::overwrite(path).unwrap();
    let hours: Vec<i32> = (0..6).map(|i| if since.contains("01-01") { number * 6 + i } else { i }).collect();
    let time = made.dataset("time").attribute("units", since).write(&hours).unwrap();
    let place = made.dataset("place").write(&[10i32, 20]).unwrap();
    let heat: Vec<f32> = (0..12).map(|i| (number * 12 + i) as f32).collect();
    let chunks = [2, 2 - u64::from(number == 1)];
    let heat = made
        .dataset("heat")
        .shape([6, 2])
        .chunks(chunks)
        .deflate(3)
        .attribute("units", "K")
        .write(&heat)
        .unwrap();
    made.make_scale(time, "time").unwrap();
    made.make_scale(place, "place").unwrap();
    made.attach_scale(heat, 0, time).unwrap();
    made.attach_scale(heat, 1, place).unwrap();
    made.finish().unwrap();
}

#[test]
fn many_files_are_shown_by_one_of_hdf5_and_later_ones_are_added() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::create_dir(path("days")).unwrap();
    let hours = "hours since 2026-01-01";
    for number in 0..3 {
        day(&path(&format!("days/{number}.nc")), number, hours);
    }
    day(&path("days/3.nc"), 3, "hours since 2026-01-01 18:00");
    day(&path("days/4.nc"), 4, hours);
    let program = Program::at(folder.path());
    // The chunks of the second day differ, which references refuse and virtual datasets do not.
    program.stderr(1, &["combine", "days/0.nc", "days/1.nc", "-o", "two.json", "--inline", "10"]);
    let said = program.stderr(0, &["combine", "days/0.nc", "days/1.nc", "-o", "all.h5"]);
    assert!(said.ends_with("0 refused\n"), "{said}");
    let wanted = |days: i32| (0..days * 12).map(|i| i as f32).collect::<Vec<_>>();
    let read = |name: &str| {
        let file = sciformats::open(path("all.h5")).unwrap();
        file.array(name).unwrap().read::<f32>().unwrap()
    };
    assert_eq!(read("/heat"), wanted(2));
    program.stderr(2, &["combine", "days/2.nc", "-o", "all.h5"]);
    program.stderr(0, &["combine", "days/2.nc", "-o", "all.h5", "--add"]);
    assert_eq!(read("/heat"), wanted(3));
    let size = std::fs::metadata(path("all.h5")).unwrap().len();
    assert!(size < 20_000, "{size}");
    // A day that counts from another hour: its time is converted and stored.
    let said = program.stderr(2, &["combine", "days/2.nc", "-o", "all.h5", "--add"]);
    assert!(said.contains("are not in order"), "{said}");
    day(&path("days/3.nc"), 3, "hours since 2026-01-01 00:00");
    program.stderr(0, &["combine", "days/3.nc", "-o", "all.h5", "--add"]);
    program.stderr(0, &["combine", "days/4.nc", "-o", "all.h5", "--add"]);
    assert_eq!(read("/heat"), wanted(5));
    assert_eq!(read("/time"), (0..30).map(|i| i as f32).collect::<Vec<_>>());
    // JSON that grows has the same references as JSON of all files.
    let days: Vec<String> = [0, 2, 4].iter().map(|number| format!("days/{number}.nc")).collect();
    let days: Vec<&str> = days.iter().map(String::as_str).collect();
    program.stderr(0, &[&["combine"], &days[..], &["-o", "whole.json"]].concat());
    program.stderr(0, &["combine", days[0], "-o", "grown.json"]);
    for later in &days[1..] {
        program.stderr(0, &["combine", later, "-o", "grown.json", "--add"]);
    }
    let json = |name: &str| serde_json::from_slice::<Value>(&fs::read(path(name)).unwrap()).unwrap();
    let refs = |name: &str| json(name)["refs"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(refs("whole.json"), refs("grown.json"));
    let said = program.stderr(2, &["combine", days[0], "-o", "grown.json", "--add"]);
    assert!(said.contains("among the files already"), "{said}");
}

#[test]
fn advice_is_given_and_can_be_followed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.h5");
    let mut made = sciformats::hdf5_pure::Writer::create(&path).unwrap();
    let values: Vec<f32> = (0..3000 * 64).map(|i| ((i / 64) as f32 / 50.0).sin()).collect();
    made.dataset("tas").shape([3000, 64]).max_shape([None, Some(64)]).chunks([1, 64]).write(&values).unwrap();
    made.finish().unwrap();
    let program = Program::at(folder.path());
    let text = program.stdout(1, &["advise", "old.h5"]);
    assert!(
        text.contains("tiny-chunks") && text.contains("sciformats repack old.h5 OUT --chunk /tas="),
        "{text}"
    );
    let told: Value = serde_json::from_str(&program.stdout(1, &["advise", "old.h5", "--json"])).unwrap();
    let mut words = vec!["repack", "old.h5", "new.h5"];
    words.extend(told["plan"]["arguments"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()));
    program.stdout(0, &words);
    let after: Value = serde_json::from_str(&program.stdout(0, &["advise", "new.h5", "--json"])).unwrap();
    assert_eq!(after["suits"], true);
    let size = |of: &Value| of.as_f64().unwrap();
    assert!((size(&told["plan"]["size"]) / size(&after["size"]) - 1.0).abs() < 0.05, "{told} {after}");
    // Each rounding is checked against its bound.
    program.stdout(0, &["repack", "old.h5", "rounded.h5", "--keep-digits", "2", "--filter", "zlib"]);
    program.stdout(
        0,
        &["repack", "old.h5", "bits.h5", "--keep-bits", "5", "--page-size", "1M", "--metadata-first"],
    );
    program.stderr(2, &["repack", "old.h5", "bad.h5", "--keep-bits", "60"]);
    program.stderr(2, &["repack", "old.h5", "bad.h5", "--page-size", "100"]);
    program.stderr(2, &["advise", "old.h5", "--bandwidth", "0"]);
    program.stderr(3, &["advise", "none.h5"]);
}

#[test]
fn a_coordinate_that_is_refused_leaves_its_dimension_and_is_not_lost_by_adding() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let program = Program::at(folder.path());
    let made = |name: &str, calendar: &str, (start, narrow): (i32, bool)| {
        let mut made = sciformats::hdf5_pure::Writer::overwrite(path(name)).unwrap();
        let time = made.dataset("time").attribute("calendar", calendar);
        let time = time.attribute("units", "days since 2026-01-01");
        let time = match narrow {
            true => time.write(&[start, start + 1]).unwrap(),
            false => time.write(&[f64::from(start), f64::from(start + 1)]).unwrap(),
        };
        let heat = made.dataset("heat").write(&[1.0f32, 2.0]).unwrap();
        let cold = made.dataset("cold").attribute("units", name).write(&[1.0f32, 2.0]).unwrap();
        made.make_scale(time, "time").unwrap();
        made.attach_scale(heat, 0, time).unwrap();
        made.attach_scale(cold, 0, time).unwrap();
        made.finish().unwrap();
    };
    made("a.nc", "standard", (0, true));
    made("b.nc", "gregorian", (2, true));
    made("c.nc", "standard", (2, false));
    // Two names of one calendar.
    let said = program.stderr(1, &["combine", "a.nc", "b.nc", "-o", "ab.h5"]);
    assert!(said.contains("/cold: refused") && said.contains("1 refused"), "{said}");
    // netCDF does not open a file in which only some dimensions of a dataset have scales.
    let said = program.stderr(1, &["combine", "a.nc", "c.nc", "-o", "ac.h5"]);
    assert!(said.contains("/time: refused") && said.contains("2 refused"), "{said}");
    let file = sciformats::hdf5_pure::File::open(path("ac.h5")).unwrap();
    let scales = sciformats::hdf5_pure::conventions::scales(&file.dataset("heat").unwrap()).unwrap();
    assert_eq!(scales[0][0].shape(), [4]);
    let name = sciformats::hdf5_pure::conventions::scale_name(&scales[0][0]).unwrap().unwrap();
    assert!(name.starts_with("This is a netCDF dimension but not a netCDF variable"), "{name}");
    assert!(scales[0][0].attribute("units").is_err());
    let list = file.dataset("time").unwrap().attribute("REFERENCE_LIST").unwrap();
    assert_eq!(list.dataspace().unwrap().shape(), [1], "the dataset that was refused is not in the list");
    // What is only a dimension stays one when files are added.
    made("d.nc", "standard", (4, true));
    let said = program.stderr(1, &["combine", "d.nc", "-o", "ac.h5", "--add"]);
    assert!(said.contains("/time: refused, because it is a dimension without a variable in ac.h5"), "{said}");
    let file = sciformats::hdf5_pure::File::open(path("ac.h5")).unwrap();
    let heat = sciformats::open(path("ac.h5")).unwrap().array("/heat").unwrap().read::<f32>().unwrap();
    assert_eq!(heat, [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]);
    let scales = sciformats::hdf5_pure::conventions::scales(&file.dataset("heat").unwrap()).unwrap();
    let name = sciformats::hdf5_pure::conventions::scale_name(&scales[0][0]).unwrap().unwrap();
    assert!(scales[0][0].shape() == [6] && name.trim_end_matches('\0').ends_with(" 6"), "{name:?}");
    // Files are added whole, or not at all.
    program.stderr(0, &["combine", "a.nc", "-o", "grown.h5"]);
    let before = fs::read(path("grown.h5")).unwrap();
    let said = program.stderr(2, &["combine", "c.nc", "-o", "grown.h5", "--add"]);
    assert!(said.contains("/cold would be lost: the unit differs in c.nc"), "{said}");
    assert_eq!(fs::read(path("grown.h5")).unwrap(), before);
    let left = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.into_iter().all(|name| !name.to_string_lossy().starts_with('.')));
}

#[test]
fn a_variable_that_is_shorter_than_its_dimension_keeps_its_times() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::at(folder.path());
    for (name, start) in [("a.nc", 0), ("b.nc", 4)] {
        let mut made = sciformats::hdf5_pure::Writer::create(folder.path().join(name)).unwrap();
        let times: Vec<i32> = (start..start + 4).collect();
        let time = made.dataset("time").max_shape([None]).write(&times).unwrap();
        let heat = made.dataset("heat").max_shape([None]).fill(-1i32).write(&times[..2]).unwrap();
        made.make_scale(time, "time").unwrap();
        made.attach_scale(heat, 0, time).unwrap();
        made.finish().unwrap();
    }
    program.stderr(0, &["combine", "a.nc", "b.nc", "-o", "all.h5"]);
    let all = sciformats::open(folder.path().join("all.h5")).unwrap();
    let read = |file: &sciformats::File| file.array("/heat").unwrap().read::<i32>().unwrap();
    assert_eq!(read(&all), [0, 1, -1, -1, 4, 5, -1, -1]);
    program.stderr(0, &["combine", "a.nc", "-o", "grown.h5"]);
    program.stderr(0, &["combine", "b.nc", "-o", "grown.h5", "--add"]);
    assert_eq!(read(&sciformats::open(folder.path().join("grown.h5")).unwrap()), read(&all));
    let said = program.stderr(1, &["combine", "a.nc", "b.nc", "-o", "all.json"]);
    assert!(
        said.contains("/heat: refused, because it has only 2 of the 4 elements of time in a.nc"),
        "{said}"
    );
}

#[test]
fn values_of_an_enumeration_and_references_are_not_joined_blindly() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::at(folder.path());
    for (name, start, members) in [("a.h5", 0, ["calm", "storm"]), ("b.h5", 2, ["storm", "calm"])] {
        let mut made = sciformats::hdf5_pure::Writer::create(folder.path().join(name)).unwrap();
        let time = made.dataset("time").write(&[start, start + 1]).unwrap();
        let named = sciformats::hdf5_pure::Datatype::enumeration(
            &sciformats::hdf5_pure::Datatype::signed(4),
            members.into_iter().zip(0..),
        );
        let state = made.dataset("state").datatype(named.unwrap()).write(&[0i32, 1]).unwrap();
        made.make_scale(time, "time").unwrap();
        made.attach_scale(state, 0, time).unwrap();
        made.finish().unwrap();
    }
    let said = program.stderr(1, &["combine", "a.h5", "b.h5", "-o", "all.json"]);
    assert!(said.contains("/state: refused, because the names of its values differ in b.h5"), "{said}");
}

#[test]
fn what_a_store_of_zarr_says_is_not_changed_in_silence() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let array = |name: &str, data_type: Value, fill: Value, attributes: Value| {
        let codec = if data_type == "string" { "vlen-utf8" } else { "bytes" };
        let metadata = serde_json::json!({
            "zarr_format": 3, "node_type": "array", "shape": [2], "data_type": data_type, "fill_value": fill,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
            "chunk_key_encoding": {"name": "default"}, "codecs": [codec], "attributes": attributes,
        });
        fs::create_dir_all(path("s.zarr").join(name)).unwrap();
        fs::write(path("s.zarr").join(name).join("zarr.json"), metadata.to_string()).unwrap();
    };
    let record = serde_json::json!({"name": "struct", "configuration": {"fields": [
        {"name": "a", "data_type": "int16"}, {"name": "b", "data_type": "float32"},
    ]}});
    array("heat", "float32".into(), 0.into(), serde_json::json!({"_FillValue": "AAAAAICHw8A="}));
    array("half", "float16".into(), 0.5.into(), serde_json::json!({}));
    array("records", record, serde_json::json!({"a": 3, "b": 0.5}), serde_json::json!({}));
    array("texts", "string".into(), "Vega".into(), serde_json::json!({}));
    let group = |attributes: Value| {
        let group = serde_json::json!({"zarr_format": 3, "node_type": "group", "attributes": attributes});
        fs::write(path("s.zarr/zarr.json"), group.to_string()).unwrap();
    };
    group(serde_json::json!({"ok": true, "large": u64::MAX, "flags": [true, false]}));
    let program = Program::at(folder.path());
    program.stdout(0, &["convert", "s.zarr", "s.h5"]);
    let file = sciformats::hdf5_pure::File::open(path("s.h5")).unwrap();
    let root = file.root().unwrap();
    assert_eq!(root.attribute("large").unwrap().read::<u64>().unwrap(), [u64::MAX]);
    assert_eq!(root.attribute("flags").unwrap().read::<bool>().unwrap(), [true, false]);
    let mark = file.dataset("heat").unwrap().attribute("_FillValue").unwrap();
    assert_eq!(mark.datatype().unwrap(), file.dataset("heat").unwrap().datatype());
    assert_eq!(mark.read::<f32>().unwrap(), [-9999.0]);
    assert_eq!(file.dataset("half").unwrap().read::<f32>().unwrap(), [0.5, 0.5]);
    sciformats::hdf5_pure::compound! {
        struct Pair {
            a: i16,
            b: f32,
        }
    }
    let pairs: Vec<Pair> = file.dataset("records").unwrap().read().unwrap();
    assert_eq!((pairs[1].a, pairs[1].b), (3, 0.5));
    // HDF5 ends a text at a zero, and has no type of more than 64 bits for these.
    array("texts", "string".into(), "Ve\0ga".into(), serde_json::json!({}));
    group(
        serde_json::json!({"text": "a\0b", "mixed": [u64::MAX, -1], "rounded": [u64::MAX, 0.5], "kept": "a"}),
    );
    program.stderr(1, &["convert", "s.zarr", "lost.h5"]);
    let said = program.stdout(0, &["convert", "s.zarr", "lost.h5", "--lossy"]);
    for lost in
        ["/: the attribute text", "/: the attribute mixed", "/: the attribute rounded", "/texts: the text"]
    {
        assert!(said.contains(lost), "{said}");
    }
    let file = sciformats::hdf5_pure::File::open(path("lost.h5")).unwrap();
    assert!(file.dataset("texts").is_err() && file.dataset("heat").is_ok());
    assert_eq!(file.root().unwrap().attributes().unwrap().len(), 1);
}

#[test]
fn scales_of_any_form_leave_their_dimension() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for number in 0..2u8 {
        let mut made = sciformats::hdf5_pure::Writer::create(path(&format!("{number}.h5"))).unwrap();
        let time = made.dataset("time").write(&[f64::from(number)]).unwrap();
        let texts = [format!("a{number}"), "b".to_owned(), "c".to_owned()];
        let label = made.dataset("label").write(&texts).unwrap();
        let plane = made.dataset("plane").shape([2, 2]).write(&[number, 1, 2, 3]).unwrap();
        let heat = made.dataset("heat").shape([1, 3, 2]).write(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        for (axis, (scale, name)) in
            [(time, "time"), (label, "label"), (plane, "plane")].into_iter().enumerate()
        {
            made.make_scale(scale, name).unwrap();
            made.attach_scale(heat, axis, scale).unwrap();
        }
        made.finish().unwrap();
    }
    let program = Program::at(folder.path());
    let said = program.stderr(1, &["combine", "0.h5", "1.h5", "-o", "all.h5"]);
    assert!(said.contains("/label: refused") && said.contains("/plane: refused"), "{said}");
    let file = sciformats::hdf5_pure::File::open(path("all.h5")).unwrap();
    let heat = file.dataset("heat").unwrap();
    let values = sciformats::open(path("all.h5")).unwrap().array("/heat").unwrap().read::<f32>().unwrap();
    assert_eq!(values, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0].repeat(2));
    let scales = sciformats::hdf5_pure::conventions::scales(&heat).unwrap();
    let shapes: Vec<_> = scales.iter().map(|scales| scales[0].shape().to_vec()).collect();
    assert_eq!(shapes, [[2], [3], [2]]);
    let time = sciformats::open(path("all.h5")).unwrap().array("/time").unwrap().read::<f64>().unwrap();
    assert_eq!(time, [0.0, 1.0]);
    assert!(fs::read_dir(folder.path()).unwrap().count() == 3, "something was left");
}

#[test]
fn what_readers_of_a_store_of_zarr_see_otherwise_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut made = sciformats::hdf5_pure::Writer::create(folder.path().join("a.h5")).unwrap();
    let x = made.dataset("x").write(&[0.0, 1.0, 2.0]).unwrap();
    let short = made.dataset("short").write(&[1i32, 2]).unwrap();
    made.make_scale(x, "x").unwrap();
    made.attach_scale(short, 0, x).unwrap();
    made.finish().unwrap();
    let program = Program::at(folder.path());
    let note = "its dimension 0 is called dim_2, because x has another length or is already used";
    let said = program.stdout(0, &["convert", "a.h5", "a.zarr"]);
    assert!(said.contains(&format!("  note    /short: {note}")) && said.contains(": 2 arrays"), "{said}");
    let said = program.stdout(0, &["convert", "a.h5", "b.zarr", "--json"]);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&said["arrays"], &said["notes"][0]["note"]), (&2.into(), &note.into()));
}

#[test]
fn parquet_with_groups_says_how_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let mut made = sciformats::hdf5_pure::Writer::create(folder.path().join("a.h5")).unwrap();
    made.dataset("g/a").write(&[0.0, 1.0, 2.0]).unwrap();
    made.finish().unwrap();
    let program = Program::at(folder.path());
    let said = program.stderr(0, &["references", "a.h5", "-o", "a.parquet", "--url", "s3://b/a.h5"]);
    assert!(said.contains("with remote_protocol=\"s3\" only"), "{said}");
}

#[test]
fn scalars_of_a_tree_are_no_refused_arrays() {
    let folder = tempfile::tempdir().unwrap();
    let text = b"#ASDF 1.0.0\n#ASDF_STANDARD 1.5.0\n%YAML 1.1\n--- {name: run, steps: 3}\n...\n";
    fs::write(folder.path().join("run.asdf"), text).unwrap();
    let program = Program::at(folder.path());
    let said = program.stderr(0, &["references", "run.asdf", "-o", "run.json"]);
    assert_eq!(
        said,
        "run.asdf: 0 referenced, 0 inlined, 0 links not followed, 0 refused, 2 scalars of the tree left out\n"
    );
    let lines = program.stderr(0, &["references", "run.asdf", "-o", "run.json", "--force", "--json"]);
    assert_eq!(lines.matches("\"treatment\":\"scalar\"").count(), 2, "{lines}");
}

#[test]
fn advice_of_long_paths_is_in_columns() {
    let folder = tempfile::tempdir().unwrap();
    let mut made = sciformats::hdf5_pure::Writer::create(folder.path().join("long.h5")).unwrap();
    let name = "a name that is longer than any column was";
    made.dataset(name).shape([64, 64]).chunks([8, 64]).write(&[0.5f32; 64 * 64]).unwrap();
    made.finish().unwrap();
    let output = Program::at(folder.path()).run(&["advise", "long.h5"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let accesses = text.lines().filter_map(|line| Some(&line[..line.find(" request")?]));
    let columns: Vec<usize> = accesses.map(|line| line.rfind("  ").unwrap()).collect();
    assert!(columns.len() > 3 && columns.iter().all(|column| *column == columns[0]), "{text}");
}

#[test]
fn an_index_that_is_none_is_named() {
    let folder = tempfile::tempdir().unwrap();
    crate::common::raw_array(&folder.path().join("a.ra"), &[1], &[0.5]);
    let said = Program::at(folder.path()).stderr(3, &["ls", "https://none.example/x.h5", "--index", "a.ra"]);
    assert!(said.starts_with("sciformats: a.ra: the file is no index"), "{said}");
}

#[test]
fn numbers_and_marks_of_attributes_are_those_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let program = Program::at(folder.path());
    let mut made = sciformats::hdf5_pure::Writer::create(path("a.h5")).unwrap();
    let heat = made.dataset("heat").attribute("scale_factor", 0.1f32).attribute("valid", [f32::NAN, 2.0]);
    heat.attribute("_FillValue", f32::NAN).write(&[1.0f32, 2.0]).unwrap();
    made.dataset("names").attribute("_FillValue", "none").write(&["a", "none"]).unwrap();
    made.finish().unwrap();
    program.stderr(0, &["references", "a.h5", "-o", "a.json"]);
    let json: Value = serde_json::from_slice(&fs::read(path("a.json")).unwrap()).unwrap();
    // Python reads bare words as numbers, and narrow numbers as binary64.
    let told = json["refs"]["heat/.zattrs"].as_str().unwrap();
    let number = r#""scale_factor":0.10000000149011612"#;
    assert!(told.contains(number) && told.contains(r#""valid":[NaN,2.0]"#), "{told}");
    let said = program.stdout(0, &["convert", "a.h5", "a.zarr"]);
    let told = fs::read_to_string(path("a.zarr/heat/zarr.json")).unwrap();
    let valid = told.split("\"valid\": ").nth(1).unwrap();
    assert!(valid.split_whitespace().collect::<String>().starts_with("[NaN,2.0]"), "{told}");
    assert!(told.contains(r#""_FillValue": "AAAAAAAA+H8=""#), "{told}");
    let told = fs::read_to_string(path("a.zarr/names/zarr.json")).unwrap();
    assert!(told.contains(r#""missing_value": "none""#) && !told.contains("_FillValue"), "{told} {said}");
    program.stdout(0, &["convert", "a.zarr", "b.h5"]);
    let heat = sciformats::hdf5_pure::File::open(path("b.h5")).unwrap().dataset("heat").unwrap();
    let read = |name: &str| heat.attribute(name).unwrap().read::<f64>().unwrap();
    assert!(read("valid")[0].is_nan() && read("_FillValue")[0].is_nan());
    assert_eq!((read("valid")[1], read("scale_factor")), (2.0, vec![f64::from(0.1f32)]));
}
