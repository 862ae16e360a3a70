//! What files mean, as the program shows it: decoded values, names of dimensions, dates, tables.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use crate::common::{Program, cells, climate};
use serde_json::Value as Json;

/// A folder with both files, and the program in it.
fn program() -> (tempfile::TempDir, Program) {
    let dir = tempfile::tempdir().unwrap();
    climate(&dir.path().join("climate.nc"));
    cells(&dir.path().join("cells.h5ad"));
    let program = Program::at(dir.path());
    (dir, program)
}

/// Without the spaces that only align.
fn words(text: &str) -> String {
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect()
}

#[test]
fn lists_tell_what_is_meant() {
    let (_dir, program) = program();
    let text = words(&program.stdout(0, &["ls", "climate.nc"]));
    for line in [
        "tas(time: unlimited 4, lat: 3, lon: 4) float64 ← int16, K ",
        "time(time: unlimited 4) time ← float64 2001-07-01 … 2001-07-04",
        " days since 2001-07-01\n",
        "near-surface air temperature",
        "lat(lat: 3) float32, degrees_north ",
        "50.0 … 55.0",
        "sky(lat: 3) int8 clear, cloudy, rain",
        "height float64, m = 2.0 ",
        "bnds(bnds: 2) dimension",
        "CF 1.11",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    // A file alone is listed too.
    assert_eq!(words(&program.stdout(0, &["climate.nc"])), text);
    let lines = program.stdout(0, &["ls", "--json", "climate.nc"]);
    let lines: Vec<Json> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let tas = lines.iter().find(|line| line["path"] == "/tas").unwrap();
    assert_eq!((&tas["type"], &tas["values"], &tas["units"]), (&"i2".into(), &"float64".into(), &"K".into()));
    assert_eq!(tas["dimensions"][0], serde_json::json!({"name": "time", "length": 4, "unlimited": true}));
}

#[test]
fn a_file_says_what_it_is() {
    let (_dir, program) = program();
    let text = words(&program.stdout(0, &["info", "climate.nc"]));
    for line in [
        "convention CF 1.11",
        "title four days in July",
        "time 4, unlimited 2001-07-01 … 2001-07-04",
        "lat 3 50 … 55 degrees_north",
        "/tas(time: unlimited 4, lat: 3, lon: 4) float64 ← int16, K near-surface air temperature",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let text = words(&program.stdout(0, &["info", "cells.h5ad"]));
    for line in ["convention AnnData 0.1.0", "/obs table, 4 rows, 4 columns", "/X sparse matrix, 4 × 3"] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let json: Json = serde_json::from_str(&program.stdout(0, &["info", "--json", "climate.nc"])).unwrap();
    assert_eq!(json["conventions"], serde_json::json!(["CF 1.11"]));
    assert_eq!(json["types"]["i2"], 1);
}

#[test]
fn values_are_those_that_are_meant() {
    let (_dir, program) = program();
    let cat = |args: &[&str]| program.stdout(0, &[&["cat", "climate.nc"], args].concat());
    assert_eq!(
        cat(&["/tas", "-s", "0"]),
        "[[280.0  280.25 280.5  280.75]\n [281.0     nan 281.5  281.75]\n [282.0  282.25 282.5  282.75]]\n"
    );
    assert_eq!(cat(&["/tas", "-s", "0,1", "--raw"]), "[     4 -32767      6      7]\n");
    assert_eq!(cat(&["/tas", "-s", "0,1", "--json"]), "[281.0,\"NaN\",281.5,281.75]\n");
    assert_eq!(cat(&["/tas", "-s", "0,1", "--csv"]), "281.0\nnan\n281.5\n281.75\n");
    assert_eq!(
        cat(&["/time"]),
        "[2001-07-01T00:00:00 2001-07-02T00:00:00 2001-07-03T00:00:00 2001-07-04T00:00:00]\n"
    );
    assert_eq!(cat(&["/time", "--csv", "-s", "-1"]), "2001-07-04T00:00:00\n");
    assert_eq!(cat(&["/time", "--raw"]), "[0.0 1.0 2.0 3.0]\n");
    assert_eq!(cat(&["/sky"]), "[clear  rain cloudy]\n".replace("[clear  rain", "[ clear   rain"));
    assert_eq!(cat(&["/sky", "--json", "--raw"]), "[0,2,1]\n");
    // Bytes as they are: those that are stored.
    let raw = program.run(&["cat", "climate.nc", "/sky", "--format", "raw"]).stdout;
    assert_eq!(raw, [0, 2, 1]);
    let npy = program.run(&["cat", "climate.nc", "/tas", "--format", "npy"]).stdout;
    assert!(String::from_utf8_lossy(&npy).contains("'descr': '<f8'"));
}

#[test]
fn parts_by_names_and_coordinates() {
    let (_dir, program) = program();
    let cat = |args: &[&str]| program.stdout(0, &[&["cat", "climate.nc", "/tas"], args].concat());
    assert_eq!(cat(&["--slice", "time=0,lat=0"]), "[280.0  280.25 280.5  280.75]\n");
    assert_eq!(cat(&["--slice", "lon=-1, time=1:3, lat=::-2"]), "[[285.75 283.75]\n [288.75 286.75]]\n");
    let output = program.run(&["cat", "climate.nc", "/tas", "--at", "time=2001-07-02T10:00,lat=53,lon=362"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "284.25\n");
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "time = 2001-07-02T00:00:00, index 1 of 4\nlat = 52.5 degrees_north, index 1 of 3\n\
         lon = 2.5 degrees_east, index 1 of 4\n"
    );
    assert_eq!(cat(&["-q", "--at", "lat=90", "--slice", "time=0"]), "[282.0  282.25 282.5  282.75]\n");
    for (args, problem) in [
        (
            &["--slice", "height=0"][..],
            "names the dimension height, which does not exist; the dimensions are time, lat, lon",
        ),
        (&["--at", "time=tomorrow"], "whose coordinates are dates"),
        (&["--at", "lat=north"], "whose coordinates are numbers"),
        (&["--at", "lat=nan"], "whose coordinates are numbers"),
        (&["--at", "lat=inf"], "whose coordinates are numbers"),
        (&["--at", "lat=50", "--slice", "0"], "must name dimensions if --at"),
    ] {
        let error = program.stderr(2, &[&["cat", "climate.nc", "/tas"], args].concat());
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn tables_and_sparse_matrices() {
    let (_dir, program) = program();
    let cat = |args: &[&str]| program.stdout(0, &[&["cat", "cells.h5ad"], args].concat());
    assert_eq!(
        cat(&["/obs"]),
        "cell  kind    count  few\nAAC   T cell    0.5  7\nAAG   B cell    1.5\nACT             nan  9\n\
         CGA   T cell    3.5  1\n"
    );
    assert_eq!(cat(&["/obs", "--csv", "-s", "1:3"]), "cell,kind,count,few\nAAG,B cell,1.5,\nACT,,nan,9\n");
    let json: Json = serde_json::from_str(&cat(&["/obs", "--json"])).unwrap();
    assert_eq!(json[1], serde_json::json!({"cell": "AAG", "kind": "B cell", "count": 1.5, "few": "NaN"}));
    assert_eq!(cat(&["/X"]), "[[0.0 0.0 1.0]\n [2.0 0.0 0.0]\n [0.0 0.0 0.0]\n [0.0 5.0 0.0]]\n");
    assert_eq!(cat(&["/obs/kind"]), "[\"T cell\" \"B cell\"       \"\" \"T cell\"]\n");
    let error = program.stderr(1, &["cat", "cells.h5ad", "/obs", "--raw"]);
    assert!(error.contains("is a group, not an array"), "{error}");
}

#[test]
fn both_ends_of_arrays_and_tables() {
    let (_dir, program) = program();
    let with = |args: &[&str]| program.stdout(0, args);
    assert_eq!(
        with(&["head", "cells.h5ad", "/obs", "-n", "2", "--csv"]),
        "cell,kind,count,few\nAAC,T cell,0.5,7\nAAG,B cell,1.5,\n"
    );
    assert_eq!(
        with(&["tail", "cells.h5ad", "/obs", "-n", "1", "--csv"]),
        "cell,kind,count,few\nCGA,T cell,3.5,1\n"
    );
    assert_eq!(
        with(&["tail", "climate.nc", "/time", "-n", "2", "--csv"]),
        "2001-07-03T00:00:00\n2001-07-04T00:00:00\n"
    );
    assert_eq!(with(&["tail", "climate.nc", "/time", "-n", "2", "--raw"]), "[2.0 3.0]\n");
    assert_eq!(with(&["head", "climate.nc", "/tas", "-n", "1", "--json"]).matches("28").count(), 11);
    // All rows if there are fewer; none if none are wanted; a number has no rows.
    let all = with(&["cat", "cells.h5ad", "/X"]);
    assert_eq!(
        (with(&["head", "cells.h5ad", "/X"]), with(&["tail", "cells.h5ad", "/X", "-n", "99"])),
        (all.clone(), all)
    );
    assert_eq!(with(&["head", "climate.nc", "/time", "-n", "0", "--json"]), "[]\n");
    assert_eq!(with(&["tail", "climate.nc", "/height"]), with(&["cat", "climate.nc", "/height"]));
    assert!(program.stderr(2, &["head", "climate.nc", "/tas", "-n", "few"]).contains("few"));
}

#[test]
fn some_levels_of_groups_and_folders() {
    let (dir, program) = program();
    let ls = |args: &[&str]| program.stdout(0, &[&["ls"], args].concat());
    assert_eq!(ls(&["cells.h5ad", "--depth", "1"]), ls(&["cells.h5ad"]));
    assert_eq!(ls(&["cells.h5ad", "--depth", "9"]), ls(&["cells.h5ad", "-r"]));
    let two = ls(&["cells.h5ad", "--depth", "2"]);
    assert!(two.contains("kind") && !two.contains("codes"), "{two}");
    assert_eq!(ls(&["cells.h5ad", "-r", "--depth", "2"]), two);
    assert_eq!(ls(&["cells.h5ad", "/obs", "--depth", "2"]), ls(&["cells.h5ad", "/obs", "-r"]));
    std::fs::create_dir_all(dir.path().join("a/b")).unwrap();
    climate(&dir.path().join("a/one.nc"));
    climate(&dir.path().join("a/b/two.nc"));
    let found = |args: &[&str]| {
        let text = ls(args);
        ["climate.nc", "one.nc", "two.nc"].map(|name| text.contains(name))
    };
    assert_eq!(found(&["."]), [true, false, false]);
    assert_eq!(found(&[".", "--depth", "2"]), [true, true, false]);
    assert_eq!(found(&[".", "--depth", "3"]), [true, true, true]);
    assert!(program.stderr(2, &["ls", ".", "--depth", "0"]).contains("0"));
}

#[test]
fn a_file_may_come_from_stdin() {
    let (dir, program) = program();
    for args in
        [&["ls", "-"][..], &["cat", "-", "/tas"], &["info", "-"], &["head", "-", "/time", "-n", "1"], &["-"]]
    {
        let stdin = std::fs::File::open(dir.path().join("climate.nc")).unwrap();
        let output = program.command().args(args).stdin(stdin).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?} {}", String::from_utf8_lossy(&output.stderr));
        if args[0] == "cat" {
            assert_eq!(
                String::from_utf8_lossy(&output.stdout),
                program.stdout(0, &["cat", "climate.nc", "/tas"])
            );
        } else {
            let text = String::from_utf8_lossy(&output.stdout);
            let expected =
                if args[0] == "head" { "[2001-07-01T00:00:00]" } else { "near-surface air temperature" };
            assert!(text.contains(expected), "{args:?} {text}");
        }
    }
    let stdin = std::fs::File::open(dir.path().join("climate.nc")).unwrap();
    let output =
        program.command().args(["cat", "-", "/tas", "--limit-memory", "1000"]).stdin(stdin).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("1001 bytes of stdin"), "{output:?}");
    // Nothing on stdin is none of the formats.
    let output = program.command().args(["ls", "-"]).stdin(std::process::Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}

#[test]
fn a_file_and_a_path_may_be_one_word_and_files_several() {
    let (_dir, program) = program();
    for (one, two) in [
        (&["cat", "climate.nc:/sky"][..], &["cat", "climate.nc", "/sky"][..]),
        (&["climate.nc:/tas"], &["ls", "climate.nc", "/tas"]),
        (&["stats", "--json", "climate.nc:/tas"], &["stats", "--json", "climate.nc", "/tas"]),
        (&["head", "-n", "1", "cells.h5ad:/obs"], &["head", "-n", "1", "cells.h5ad", "/obs"]),
        (&["attrs", "climate.nc:/tas"], &["attrs", "climate.nc", "/tas"]),
    ] {
        assert_eq!(program.stdout(0, one), program.stdout(0, two), "{one:?}");
    }
    let each = ["climate.nc", "cells.h5ad"].map(|file| program.stdout(0, &["ls", file]));
    assert_eq!(program.stdout(0, &["ls", "climate.nc", "cells.h5ad"]), each.join("\n"));
    let each =
        ["climate.nc", "cells.h5ad", "climate.nc"].map(|file| program.stdout(0, &["ls", "--json", file]));
    assert_eq!(program.stdout(0, &["ls", "--json", "climate.nc", "cells.h5ad", "climate.nc"]), each.concat());
    // One that is missing does not hide the others.
    let output = program.run(&["ls", "none.h5", "climate.nc", "cells.h5ad"]);
    assert!(output.status.code().is_some_and(|status| status != 0), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("none.h5"), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("climate.nc") && text.contains("cells.h5ad"), "{text}");
}

#[test]
fn pictures_of_what_is_meant() {
    let (_dir, program) = program();
    let json = |args: &[&str]| -> Json {
        serde_json::from_str(&program.stdout(0, &[&["plot", "--json", "climate.nc"], args].concat())).unwrap()
    };
    // What the file is about, the north above, in its units; what is missing is left out.
    let image = json(&[]);
    assert_eq!((&image["kind"], &image["title"]), (&"image".into(), &"/tas[time=0]".into()));
    assert_eq!(image["values"]["label"], "near-surface air temperature (K)");
    assert_eq!((&image["image"][0][0], &image["image"][2][3]), (&282.0.into(), &280.75.into()));
    assert_eq!((&image["y"]["low"], &image["y"]["high"]), (&56.25.into(), &48.75.into()));
    assert_eq!((&image["x"]["label"], &image["not_finite"]), (&"lon (degrees_east)".into(), &1.into()));
    // Dates along the axis.
    let line = json(&["/tas", "--slice", "lat=0,lon=0"]);
    assert_eq!(line["x"]["dates"], serde_json::json!(["2001-07-01T00:00:00", "2001-07-04T00:00:00"]));
    assert_eq!(line["lines"][0]["first"], serde_json::json!([280.0, 283.0, 286.0, 289.0]));
    let raw = json(&["/tas", "--raw", "--slice", "lat=0,lon=0"]);
    assert_eq!(raw["lines"][0]["first"], serde_json::json!([0.0, 12.0, 24.0, 36.0]));
    assert_eq!(raw["x"]["high"], 3.0);
    let text = program.stdout(0, &["plot", "climate.nc", "/tas", "--at", "lat=52,lon=2", "-q"]);
    assert!(text.contains("2001-07-01") && text.contains("near-surface air temperature (K)"), "{text}");
    assert!(text.contains("1 value is missing"), "{text}");
    let time = json(&["/time"]);
    assert_eq!(time["lines"][0]["last"], serde_json::json!([0.0, 1.0, 2.0, 3.0]));
}

#[test]
fn statistics_of_what_is_meant() {
    let (_dir, program) = program();
    let text = words(&program.stdout(0, &["stats", "climate.nc", "/tas"]));
    for line in ["values 47", "missing 1", "min 280 K", "max 291.75 K", "median 286 K"] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let text = words(&program.stdout(0, &["stats", "climate.nc"]));
    assert!(text.contains("/tas 280 291.8 286") && text.contains("/lat 50 55 52.5"), "{text}");
    assert!(!text.contains("bnds"), "{text}");
    let json = program.stdout(0, &["stats", "--json", "climate.nc", "/tas", "--at", "time=2001-07-01"]);
    let json: Json = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&json["count"], &json["missing"], &json["quantiles"]["0.5"]),
        (&11.into(), &1.into(), &281.5.into())
    );
    let raw: Json =
        serde_json::from_str(&program.stdout(0, &["stats", "--json", "--raw", "climate.nc", "/tas"]))
            .unwrap();
    assert_eq!((&raw["min"], &raw["missing"]), (&(-32767.0).into(), &0.into()));
}

#[test]
fn objects_are_found() {
    let (_dir, program) = program();
    let text = words(&program.stdout(0, &["find", "climate.nc", "TEMPERATURE"]));
    assert_eq!(text, "/tas int16 @long_name = near-surface air temperature\n");
    let text = words(&program.stdout(0, &["find", "climate.nc", "l?t"]));
    assert!(text.starts_with("/lat float32 lat(lat: 3)\n"), "{text}");
    assert_eq!(program.stdout(1, &["find", "climate.nc", "nothing like it"]), "");
    let text = words(&program.stdout(0, &["find", ".", "--type", "int16"]));
    assert_eq!(text.lines().count(), 1, "{text}");
    let line: Json =
        serde_json::from_str(&program.stdout(0, &["find", "--json", "climate.nc", "rain"])).unwrap();
    assert_eq!(line["path"], "/sky");
    // By types, shapes, and attributes with their values.
    let paths = |args: &[&str]| -> Vec<String> {
        let text = program.stdout(0, &[&["find", "climate.nc", "--json"], args].concat());
        let line =
            |line: &str| serde_json::from_str::<Json>(line).unwrap()["path"].as_str().unwrap().to_owned();
        text.lines().map(line).collect()
    };
    assert_eq!(paths(&["--type", "Int*"]), ["/sky", "/tas"]);
    // The type that is meant, and the whole of what `ls` prints.
    assert_eq!(paths(&["--type", "time"]), ["/time"]);
    assert_eq!(paths(&["--type", "float64 ← int16"]), ["/tas"]);
    assert_eq!(paths(&["--type", "float64 ← int16, K"]), ["/tas"]);
    assert_eq!(paths(&["--shape", "4,..."]), ["/lon", "/tas", "/time"]);
    assert_eq!(paths(&["--shape", "*,3,4"]), ["/tas"]);
    assert_eq!(paths(&["--shape", ""]), ["/height"]);
    assert_eq!(paths(&["--attr", "UNITS=degrees"]), ["/lat", "/lon"]);
    assert_eq!(paths(&["--attr", "flag_*", "--type", "int8"]), ["/sky"]);
    assert_eq!(paths(&["/l?n", "--attr", "units", "--shape", "4"]), ["/lon"]);
    let text = words(&program.stdout(0, &["find", "climate.nc", "--attr", "units=K"]));
    assert_eq!(text, "/tas int16 @units = K\n");
    assert_eq!(program.stdout(1, &["find", "climate.nc", "--attr", "units=m", "--shape", "4"]), "");
    assert!(program.stderr(2, &["find", "climate.nc", "--shape", "a"]).contains("`a` is neither a length"));
}

#[test]
fn large_integers_are_not_rounded() {
    use sciformats_conventions::write::NetCdf;
    let dir = tempfile::tempdir().unwrap();
    let mut file = NetCdf::create(dir.path().join("axis.nc")).unwrap();
    let i = file.dimension("i", 4).unwrap();
    let start = 1i64 << 53;
    let places: Vec<i64> = (0..4).map(|at| start + 2 * at + 1).collect();
    file.variable("i", &[i], &places, None).unwrap();
    file.variable("v", &[i], &[0.0f32, 1.0, 2.0, 3.0], None).unwrap();
    file.finish().unwrap();
    let program = Program::at(dir.path());
    for (at, place) in places.iter().enumerate() {
        let output = program.run(&["cat", "axis.nc", "/v", "--at", &format!("i={place}")]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{at}.0\n"));
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(told, format!("i = {place}, index {at} of 4\n"));
    }
    assert_eq!(program.stdout(0, &["cat", "-q", "axis.nc", "/v", "--at", "i=9.1e15"]), "3.0\n");
    let text = words(&program.stdout(0, &["stats", "axis.nc", "/i"]));
    for line in [
        "min 9007199254740993",
        "max 9007199254740999",
        "mean 9007199254740996",
        "deviation 2.23606797749979",
        "median 9007199254740996",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    for args in [&["stats", "--json", "axis.nc", "/i"][..], &["stats", "--json", "axis.nc"]] {
        let json = program.stdout(0, args);
        assert!(json.contains(r#""min":9007199254740993,"max":9007199254740999,"#), "{json}");
    }
}

#[test]
fn edges_of_cells_and_distances_are_coordinates() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = sciformats::hdf5_pure::Writer::create(dir.path().join("hist.nxs")).unwrap();
    let mut root = file.root();
    let mut entry = root.group("entry").unwrap();
    entry.attribute("NX_class", "NXentry").unwrap();
    let mut data = entry.group("data").unwrap();
    data.attribute("NX_class", "NXdata").unwrap().attribute("signal", "counts").unwrap();
    data.attribute("axes", ["tof"]).unwrap();
    file.dataset("entry/data/counts").write(&[5i32, 6, 7]).unwrap();
    file.dataset("entry/data/tof").attribute("units", "us").write(&[0.0f32, 10.0, 100.0, 1000.0]).unwrap();
    file.finish().unwrap();
    let program = Program::at(dir.path());
    let csv = ["convert", "hist.nxs", "-", "--to", "csv", "--select", "/entry/data/counts"];
    assert_eq!(program.stdout(0, &csv), "tof middle (us),counts\n5.0,5\n55.0,6\n550.0,7\n");
    let json: Json =
        serde_json::from_str(&program.stdout(0, &["plot", "--json", "hist.nxs", "/entry/data"])).unwrap();
    assert_eq!((&json["x"]["label"], &json["x"]["high"]), (&"tof, middle (us)".into(), &550.0.into()));
    // 120 is in the last cell, though the middle of the one before is nearer.
    let output = program.run(&["cat", "hist.nxs", "/entry/data/counts", "--at", "tof=120"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "7\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "tof = 100 … 1000 us, index 2 of 3\n");
}

#[test]
fn values_for_programs_are_not_changed() {
    let dir = tempfile::tempdir().unwrap();
    let text = "red \u{1b}[31mtext\u{7}\u{7f}\u{9b}2J";
    let mut file = sciformats::hdf5_pure::Writer::create(dir.path().join("escapes.h5")).unwrap();
    file.dataset("s").write(&[text, "b"]).unwrap();
    file.finish().unwrap();
    let program = Program::at(dir.path());
    for args in [
        &["cat", "escapes.h5", "/s", "--csv"][..],
        &["head", "escapes.h5", "/s", "--csv"],
        &["watch", "escapes.h5", "/s", "--csv", "--idle", "0.1"],
    ] {
        assert_eq!(program.stdout(0, args), format!("{text}\nb\n"), "{args:?}");
    }
    let json = program.stdout(0, &["cat", "escapes.h5", "/s", "--json"]);
    assert!(json.bytes().all(|byte| byte == b'\n' || (b' '..0x7f).contains(&byte)), "{json:?}");
    assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), [text, "b"]);
    let mut file = sciformats::hdf5_pure::Writer::create(dir.path().join("names.h5")).unwrap();
    file.dataset("a\u{7f}b\u{9b}2J").write(&[1]).unwrap();
    file.finish().unwrap();
    let json = program.stdout(0, &["salvage", "names.h5", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    let objects = report["objects"].as_array().unwrap();
    assert!(objects.iter().any(|object| object["path"] == "/a\u{7f}b\u{9b}2J"), "{json}");
}

#[cfg(unix)]
#[test]
fn values_for_programs_send_no_commands_to_the_terminal() {
    use portable_pty::{CommandBuilder, PtySize, native_pty_system};
    use std::io::Read;
    let dir = tempfile::tempdir().unwrap();
    let mut file = sciformats::hdf5_pure::Writer::create(dir.path().join("escapes.h5")).unwrap();
    file.dataset("s").write(&["a\u{1b}]52;c;x\u{7}", "\u{9b}2J"]).unwrap();
    file.finish().unwrap();
    for args in [
        &["cat", "escapes.h5", "/s", "--csv"][..],
        &["convert", "escapes.h5", "-", "--to", "csv", "--select", "/s"],
        &["cat", "escapes.h5", "/s", "--json"],
        &["sql", "--format", "csv", "SELECT * FROM \"escapes.h5:/s\""],
        &["sql", "--json", "SELECT * FROM \"escapes.h5:/s\""],
    ] {
        let pair = native_pty_system().openpty(PtySize::default()).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_sciformats"));
        command.cwd(dir.path());
        command.args(args);
        let mut child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let mut shown = Vec::new();
        // The end is an error on some systems.
        let _ = reader.read_to_end(&mut shown);
        let shown = String::from_utf8(shown).unwrap();
        assert!(child.wait().unwrap().success(), "{args:?} {shown:?}");
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{9b}']), "{args:?} {shown:?}");
        assert!(shown.contains("]52;c;x"), "{args:?} {shown:?}");
        if args.contains(&"--json") {
            for line in shown.lines() {
                assert!(serde_json::from_str::<Json>(line).is_ok(), "{args:?} {line:?}");
            }
        }
    }
}

#[test]
fn statistics_of_dates_are_dates() {
    let (_dir, program) = program();
    let text = words(&program.stdout(0, &["stats", "climate.nc", "/time"]));
    for line in
        ["min 2001-07-01", "max 2001-07-04", "mean 2001-07-02T12:00:00", "deviation 1.118033988749895 days"]
    {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let text = words(&program.stdout(0, &["stats", "climate.nc"]));
    assert!(text.contains("/time 2001-07-01 2001-07-04"), "{text}");
    let json: Json =
        serde_json::from_str(&program.stdout(0, &["stats", "--json", "climate.nc", "/time"])).unwrap();
    assert!(json["min"].is_number() && json["dates"]["max"] == "2001-07-04", "{json}");
}

#[test]
fn statistics_of_all_arrays_include_those_of_one_value() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = sciformats::hdf5_pure::Writer::create(dir.path().join("p.h5")).unwrap();
    file.dataset("E/y").write(&[1.0, 2.0]).unwrap();
    file.root().attribute("openPMD", "1.1.0").unwrap();
    let mut root = file.root();
    let mut field = root.group("E").unwrap();
    field.attribute("unitDimension", [0.0; 7]).unwrap();
    let mut constant = field.group("x").unwrap();
    constant.attribute("value", 2.5).unwrap();
    constant.attribute("shape", [5u64]).unwrap();
    file.finish().unwrap();
    let lines = Program::at(dir.path()).stdout(0, &["stats", "p.h5", "--json"]);
    let lines: Vec<Json> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found = |path: &str| lines.iter().find(|line| line["path"] == path).unwrap();
    assert_eq!((found("/E/x")["mean"].as_f64(), found("/E/x")["count"].as_u64()), (Some(2.5), Some(5)));
    assert_eq!(found("/E/y")["max"].as_f64(), Some(2.0));
}

#[test]
fn lists_and_statistics_for_programs_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.h5");
    let mut file = sciformats::hdf5_pure::Writer::create(&path).unwrap();
    file.root().external_link("other", "b.h5", "/x").unwrap();
    file.dataset("u").write(&[1.5f64; 400]).unwrap();
    file.finish().unwrap();
    let program = Program::at(dir.path());
    let lines = program.stdout(0, &["ls", "--json", "run.h5"]);
    let link: Json =
        serde_json::from_str(lines.lines().find(|line| line.contains("extlink")).unwrap()).unwrap();
    assert_eq!((&link["file"], &link["target_file"]), (&"run.h5".into(), &"b.h5".into()));
    // A file that was cut short says so, and what to do.
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 100]).unwrap();
    let next = "`sciformats salvage run.h5` says what is in them";
    let output = program.run(&["ls", "run.h5"]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(program.run(&["info", "run.h5", "--quiet"]).status.code(), Some(3));
    assert_eq!(program.run(&["verify", "run.h5"]).status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains(", cut short"), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains(next), "{output:?}");
    let wide = Program::at(dir.path()).with("COLUMNS", "200");
    assert!(wide.stdout(3, &["info", "run.h5"]).contains(next));
    let root = program.stdout(3, &["ls", "--json", "run.h5"]);
    let root: Json = serde_json::from_str(root.lines().next().unwrap()).unwrap();
    assert_eq!(root["truncated"], true);
    // An array that cannot be read is a line of JSON like the others.
    let mut file = sciformats::hdf5_pure::Writer::overwrite(&path).unwrap();
    let summed = sciformats::hdf5_pure::filters::Filters::new().fletcher32();
    file.dataset("u").chunks([4]).filters(summed).write(&[1.5f64; 4]).unwrap();
    file.finish().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(8).position(|eight| eight == 1.5f64.to_le_bytes()).unwrap();
    bytes[at] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let output = program.run(&["stats", "--json", "run.h5"]);
    let line: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &line["path"]), (Some(1), &"/u".into()));
    assert!(line["error"].is_string(), "{line}");
}

#[test]
fn a_frame_that_cannot_be_read_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = sciformats::hdf5_pure::Writer::create(dir.path().join("frame.h5")).unwrap();
    let mut root = file.root();
    root.attribute("PYTABLES_FORMAT_VERSION", "2.1").unwrap();
    let mut frame = root.group("k").unwrap();
    frame.attribute("pandas_type", "frame").unwrap().attribute("encoding", "utf-16").unwrap();
    file.dataset("k/axis0").attribute("kind", "string").write(&["a", "b"]).unwrap();
    file.finish().unwrap();
    let program = Program::at(dir.path());
    for command in ["cat", "head"] {
        let error = program.stderr(3, &[command, "frame.h5", "/k"]);
        assert!(error.contains("the encoding of the texts of this frame"), "{error}");
    }
}

#[test]
fn what_is_none_of_the_formats_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let program = Program::at(dir.path());
    std::fs::create_dir(dir.path().join("store.zarr")).unwrap();
    std::fs::write(dir.path().join("store.zarr/zarr.json"), "{}").unwrap();
    for (name, bytes, expected) in [
        ("page.h5", &b"<!DOCTYPE html><html>404"[..], "it is a web page (HTML) (perhaps an error message"),
        ("old.nc", b"CDF\x02\0\0\0\0", "it is classic netCDF (`nccopy -k nc4 old.nc new.nc`"),
        ("none.h5", b"", "it is empty ("),
        ("words.txt", b"a note", "it is text (perhaps a message in place of the file, so look at it)"),
        (
            "lfs.h5",
            b"version https://git-lfs.github.com/spec/v1\noid x",
            "(`git lfs pull` downloads the file itself)",
        ),
    ] {
        std::fs::write(dir.path().join(name), bytes).unwrap();
        for command in ["info", "ls", "cat", "plot"] {
            let error = program.stderr(3, &[command, name]);
            assert!(error.contains(expected) && error.lines().count() == 1, "{error}");
        }
    }
    for command in ["info", "ls", "cat"] {
        assert!(program.stderr(3, &[command, "store.zarr"]).contains("it is a folder of Zarr"));
    }
    // In a list of files, each has its line; a file without the name of ours has none.
    std::fs::write(dir.path().join("notes.txt"), "text").unwrap();
    climate(&dir.path().join("ours.nc"));
    let wide = Program::at(dir.path()).with("COLUMNS", "200");
    let text = words(&wide.stdout(0, &["ls", "."]));
    let lines: Vec<&str> = text.lines().collect();
    for (line, expected) in lines.iter().zip([
        "./lfs.h5 it is a pointer of Git LFS (`git lfs pull` downloads the file itself)",
        "./none.h5 it is empty (writing or copying it was probably interrupted)",
        "./old.nc it is classic netCDF (`nccopy -k nc4 ./old.nc new.nc` converts it to netCDF-4, which is HDF5)",
        "./ours.nc HDF5",
        "./page.h5 it is a web page (HTML) (perhaps an error message",
        "./store.zarr it is a folder of Zarr (`sciformats convert ./store.zarr out.h5` makes an HDF5 file of it)",
    ]) {
        assert!(line.starts_with(expected), "{line}\n{expected}");
    }
    assert_eq!(lines.len(), 6, "{text}");
    let lines = program.stdout(0, &["ls", ".", "--json"]);
    let page = lines.lines().find(|line| line.contains("page.h5")).unwrap();
    let page: Json = serde_json::from_str(page).unwrap();
    assert!(page["error"].as_str().unwrap().starts_with("it is a web page") && page["format"].is_null());
}
