//! `convert` to CSV, JSON and npz; several files in `cat`, `stats` and `find`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;

use crate::common::{Program, cells, climate};
use serde_json::Value as Json;

fn program() -> (tempfile::TempDir, Program) {
    let dir = tempfile::tempdir().unwrap();
    climate(&dir.path().join("climate.nc"));
    cells(&dir.path().join("cells.h5ad"));
    let program = Program::at(dir.path());
    (dir, program)
}

#[test]
fn csv_has_columns_for_coordinates() {
    let (dir, program) = program();
    let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    // Without a choice the columns are what the file is about.
    assert!(program.stdout(0, &["convert", "climate.nc", "tas.csv"]).contains("written"));
    let text = read("tas.csv");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1 + 48);
    assert_eq!(lines[0], "time,lat (degrees_north),lon (degrees_east),tas (K)");
    assert_eq!(lines[1], "2001-07-01T00:00:00,50.0,0.0,280.0");
    assert_eq!(lines[6], "2001-07-01T00:00:00,52.5,2.5,nan");
    assert_eq!(lines[48], "2001-07-04T00:00:00,55.0,7.5,291.75");
    assert!(program.stderr(2, &["convert", "climate.nc", "tas.csv"]).contains("exists already"));
    program.stdout(0, &["convert", "climate.nc", "sky.csv", "--select", "/sky"]);
    assert_eq!(read("sky.csv"), "lat (degrees_north),sky\n50.0,clear\n52.5,rain\n55.0,cloudy\n");
    program.stdout(0, &["convert", "cells.h5ad", "obs.csv", "--select", "/obs"]);
    assert_eq!(read("obs.csv"), program.stdout(0, &["cat", "cells.h5ad", "/obs", "--csv"]));
    let wrong = program.stderr(1, &["convert", "cells.h5ad", "all.csv"]);
    assert!(wrong.contains("choose some of /X, /obs with --select"), "{wrong}");
    assert!(program.stderr(3, &["convert", "climate.nc", "no.csv", "--select", "/no"]).contains("no object"));
    assert!(
        program.stderr(2, &["convert", "climate.nc", "x.csv", "--filter", "zstd"]).contains("no meaning")
    );
    assert!(!dir.path().join("all.csv").exists() && !dir.path().join("x.csv").exists());
}

#[test]
fn csv_has_all_that_is_selected() {
    let (_dir, program) = program();
    let selected = |more: &[&str]| {
        let mut args = vec!["convert", "climate.nc", "-", "--to", "csv", "--select", "/tas"];
        args.extend(more);
        program.stdout(0, &args)
    };
    // The values of an array with fewer dimensions are repeated.
    let text = selected(&["--select", "/sky"]);
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let sky = lines[0].iter().position(|head| *head == "sky").unwrap();
    assert_eq!((lines.len(), lines[0].len()), (1 + 48, 5), "{text}");
    assert_eq!(
        [lines[1][sky], lines[5][sky], lines[9][sky], lines[13][sky]],
        ["clear", "rain", "cloudy", "clear"]
    );
    // The coordinates are columns already.
    assert_eq!(selected(&["--select", "/time"]), selected(&[]));
}

#[test]
fn what_a_table_leaves_out_is_told() {
    use sciformats::hdf5_pure::Writer;
    let dir = tempfile::tempdir().unwrap();
    let mut file = Writer::create(dir.path().join("session.nwb")).unwrap();
    let mut root = file.root();
    root.attribute("nwb_version", "2.7.0").unwrap();
    let mut units = root.group("units").unwrap();
    units.attribute("colnames", ["quality", "short"]).unwrap();
    let mut series = root.group("ts").unwrap();
    series.attribute("neurodata_type", "TimeSeries").unwrap();
    file.dataset("units/id").write(&[0i64, 1]).unwrap();
    file.dataset("units/quality").write(&[0.5f64, 1.5]).unwrap();
    file.dataset("units/short").write(&[7i32]).unwrap();
    file.dataset("ts/data").write(&[1i32, 2]).unwrap();
    let start =
        file.dataset("ts/starting_time").shape([]).attribute("rate", 4.0f64).attribute("unit", "seconds");
    start.write(&[2.5f64]).unwrap();
    file.finish().unwrap();
    let program = Program::at(dir.path());
    let units = ["convert", "session.nwb", "units.csv", "--select", "/units"];
    assert!(program.stdout(1, &units).contains("/units/short: it does not have 2 rows"));
    assert!(!dir.path().join("units.csv").exists());
    program.stdout(0, &[units.as_slice(), &["--lossy"]].concat());
    assert!(
        program
            .stderr(0, &["cat", "session.nwb", "/units", "--csv"])
            .contains("the column short is not shown")
    );
    // An array of another length stands beside the table where this is possible.
    program.stdout(0, &["convert", "session.nwb", "units.json", "--select", "/units"]);
    let json = fs::read_to_string(dir.path().join("units.json")).unwrap();
    let json: Json = serde_json::from_str(&json).unwrap();
    assert_eq!(json["arrays"]["/units/short"]["values"], serde_json::json!([7]));
    // Coordinates that only have a start and a distance are coordinates too.
    let text = program.stdout(0, &["convert", "session.nwb", "-", "--to", "csv", "--select", "/ts/data"]);
    assert_eq!(text, "time (seconds),data\n2.5,1\n2.75,2\n");
}

#[test]
fn json_has_dimensions_units_and_values() {
    let (dir, program) = program();
    program.stdout(0, &["convert", "climate.nc", "climate.json", "--quiet"]);
    let text = fs::read_to_string(dir.path().join("climate.json")).unwrap();
    let json: Json = serde_json::from_str(&text).unwrap();
    assert_eq!(json["convention"], "CF 1.11");
    let tas = &json["arrays"]["/tas"];
    assert_eq!((&tas["units"], &tas["shape"]), (&"K".into(), &serde_json::json!([4, 3, 4])));
    assert_eq!(tas["dimensions"], serde_json::json!(["time", "lat", "lon"]));
    assert_eq!(tas["values"][0][0], serde_json::json!([280.0, 280.25, 280.5, 280.75]));
    assert_eq!(json["arrays"]["/time"]["values"][1], "2001-07-02T00:00:00");
    assert_eq!(json["arrays"]["/height"]["values"], 2.0);
    assert!(json["arrays"].get("/bnds").is_none(), "a dimension has no values");
    program.stdout(0, &["convert", "cells.h5ad", "-f", "cells.json", "--to", "json"]);
    let text = fs::read_to_string(dir.path().join("cells.json")).unwrap();
    let json: Json = serde_json::from_str(&text).unwrap();
    let paths: Vec<&String> = json["arrays"].as_object().unwrap().keys().collect();
    assert_eq!(paths, ["/X", "/obs"]);
    assert_eq!(json["arrays"]["/X"]["values"][1], serde_json::json!([2.0, 0.0, 0.0]));
    assert_eq!(json["arrays"]["/obs"]["values"][1]["kind"], "B cell");
}

#[test]
fn npz_has_one_member_per_array() {
    let (dir, program) = program();
    let line = program.stdout(0, &["convert", "climate.nc", "climate.npz", "--json"]);
    let line: Json = serde_json::from_str(&line).unwrap();
    assert_eq!((&line["arrays"], &line["written"]), (&6.into(), &true.into()));
    let bytes = fs::read(dir.path().join("climate.npz")).unwrap();
    for name in ["tas.npy", "time.npy", "sky.npy"] {
        assert!(bytes.windows(name.len()).any(|part| part == name.as_bytes()), "{name}");
    }
    let dry = program.stdout(0, &["convert", "climate.nc", "dry.npz", "--dry-run"]);
    assert!(dry.contains("not written") && !dir.path().join("dry.npz").exists());
}

#[test]
fn commands_take_several_files() {
    let (dir, program) = program();
    climate(&dir.path().join("other.nc"));
    let text = program.stdout(0, &["cat", "climate.nc", "other.nc", "/sky"]);
    assert_eq!(text.matches("climate.nc\n").count() + text.matches("other.nc\n").count(), 2, "{text}");
    let lines = program.stdout(0, &["cat", "climate.nc", "other.nc", "/height", "--json"]);
    assert_eq!(lines, "2.0\n2.0\n");
    assert!(program.stderr(2, &["cat", "climate.nc", "other.nc", "/sky", "--format", "npy"]).contains("npy"));
    let lines = program.stdout(0, &["stats", "climate.nc", "other.nc", "/tas", "--json"]);
    assert_eq!(lines.lines().count(), 2);
    let failed = program.stderr(3, &["cat", "climate.nc", "cells.h5ad", "/sky"]);
    assert!(failed.contains("cells.h5ad"), "{failed}");
    let found = program.stdout(0, &["find", "climate.nc", "cells.h5ad", "other.nc", "sky"]);
    assert_eq!(found.lines().filter(|line| line.contains(":/sky")).count(), 2, "{found}");
    program.stdout(1, &["find", "climate.nc", "other.nc", "nothing of that name"]);
    let shapes = program.stdout(0, &["find", "climate.nc", "other.nc", "--shape", "4,3,4"]);
    assert_eq!(shapes.lines().count(), 2, "{shapes}");
    assert!(program.stderr(2, &["find", "climate.nc"]).contains("what to find is missing"));
}

#[test]
fn what_is_written_to_stdout() {
    let (dir, _) = program();
    let passing = dir.path().join("passing");
    fs::create_dir(&passing).unwrap();
    let program = Program::at(dir.path()).with("TMPDIR", passing.to_str().unwrap());
    let bytes = |args: &[&str]| {
        let output = program.run(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let csv = bytes(&["convert", "climate.nc", "-", "--to", "csv"]);
    program.stdout(0, &["convert", "climate.nc", "tas.csv"]);
    assert_eq!(csv, fs::read(dir.path().join("tas.csv")).unwrap());
    // A file that is put together out of order, and is then passed on.
    let asdf = bytes(&["convert", "climate.nc", "-", "--to", "asdf", "--lossy"]);
    assert!(asdf.starts_with(b"#ASDF"));
    fs::write(dir.path().join("passed.asdf"), asdf).unwrap();
    assert!(program.stdout(0, &["ls", "passed.asdf"]).contains("tas"));
    let repacked = bytes(&["repack", "cells.h5ad", "-"]);
    fs::write(dir.path().join("repacked.h5ad"), repacked).unwrap();
    program.stdout(0, &["diff", "cells.h5ad", "repacked.h5ad"]);
    assert!(bytes(&["convert", "climate.nc", "-", "--to", "npz", "--select", "/tas"]).starts_with(b"PK"));
    let unknown = program.stderr(2, &["convert", "climate.nc", "-"]);
    assert!(
        unknown.contains("stdout: the ending of this name selects no format; choose one with --to"),
        "{unknown}"
    );
    // What is lost is told on stderr, and nothing is written.
    let output = program.run(&["convert", "climate.nc", "-", "--to", "npy"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{output:?}");
    assert_eq!(fs::read_dir(&passing).unwrap().count(), 0);
}

#[test]
fn netcdf_from_other_formats() {
    let fixtures = Program::in_fixtures();
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let nc = path("run.nc");
    let text = fixtures.stdout(0, &["convert", "gsd/hoomd-log.gsd", &nc, "--lossy"]);
    assert!(text.contains("written"), "{text}");
    let listed = fixtures.stdout(0, &["ls", &nc]);
    assert!(listed.contains("frame: unlimited 5") && listed.contains("log_energy"), "{listed}");
    let energy = |file: &str, path: &str| fixtures.stdout(0, &["cat", file, path, "--csv"]);
    assert_eq!(energy(&nc, "/log_energy"), energy("gsd/hoomd-log.gsd", "/log/energy"));
    let grid = path("grid.nc");
    fixtures.stdout(0, &["convert", "blosc2/grid.b2nd", &grid, "--filter", "zlib", "--lossy"]);
    assert_eq!(energy(&grid, "/data"), energy("blosc2/grid.b2nd", "/"));
    assert!(fixtures.stdout(0, &["ls", "-l", &grid]).contains("deflate"), "not compressed");
    let refused = fixtures.stderr(2, &["convert", "blosc2/grid.b2nd", &path("x.nc"), "--filter", "zstd"]);
    assert!(refused.contains("zlib"), "{refused}");
    // What is HDF5 already stays as it is.
    let copy = path("copy.nc");
    fixtures.stdout(0, &["convert", "hdf5/filters.h5", &copy, "-q"]);
    fixtures.stdout(0, &["diff", "hdf5/filters.h5", &copy]);
}

/// What the netCDF library fails at is not copied into a file with its ending.
#[test]
fn netcdf_from_hdf5_has_types_that_netcdf_has() {
    use sciformats::hdf5_pure::{Datatype, File, Writer};
    let dir = tempfile::tempdir().unwrap();
    let program = Program::at(dir.path());
    let make = |name: &str, add: &dyn Fn(&mut Writer)| {
        let mut file = Writer::create(dir.path().join(name)).unwrap();
        file.dataset("full").write(&[1.0f32, 2.0]).unwrap();
        add(&mut file);
        file.finish().unwrap();
    };
    let half = |file: &mut Writer| {
        let bytes = [0, 0x3c, 0, 0xc0];
        file.dataset("g/half").shape([2]).datatype(Datatype::float16()).write_raw(&bytes).map(drop).unwrap();
    };
    make("half.h5", &half);
    let told = program.stdout(1, &["convert", "half.h5", "half.nc"]);
    assert!(told.contains("/g/half: has elements of type float16, which become float32"), "{told}");
    program.stdout(0, &["convert", "half.h5", "half.nc", "--lossy"]);
    let copy = File::open(dir.path().join("half.nc")).unwrap();
    let values = copy.dataset("/g_half").unwrap();
    assert_eq!((values.datatype(), values.read::<f32>().unwrap()), (&Datatype::float32(), vec![1.0, -2.0]));
    program.stdout(0, &["convert", "half.h5", "full.nc4", "--select", "/full"]);
    program.stdout(0, &["convert", "half.h5", "same.nc", "--to", "hdf5"]);
    program.stdout(0, &["diff", "half.h5", "same.nc"]);
    let mut piped = program.command();
    piped.args(["convert", "-", "piped.nc"]).stdin(fs::File::open(dir.path().join("half.h5")).unwrap());
    let piped = piped.output().unwrap();
    let told = String::from_utf8_lossy(&piped.stderr);
    assert!(piped.status.code() == Some(1) && told.contains("--to netcdf"), "{told}");
    assert!(!dir.path().join("piped.nc").exists());
    // A type with a name, of which netCDF would make one of its own, keeps the library from opening the file.
    make("named.h5", &|file| {
        file.root().commit("t", &Datatype::float32()).unwrap();
    });
    let told = program.stdout(1, &["convert", "named.h5", "named.nc"]);
    assert!(told.contains("/t: is a named datatype"), "{told}");
    program.stdout(0, &["convert", "named.h5", "named.nc", "--lossy"]);
    assert!(File::open(dir.path().join("named.nc")).unwrap().object("/t").is_err());
    make("other.h5", &|file| {
        file.dataset("o").shape([1]).datatype(Datatype::opaque(2, "")).write_raw(&[1, 2]).map(drop).unwrap();
    });
    let told = program.stderr(0, &["convert", "other.h5", "other.nc"]);
    assert!(told.contains("does not list /o (opaque(2))"), "{told}");
}

/// Whether the ending or an option says it, a table of another program becomes the same JSON.
#[cfg(feature = "tables")]
#[test]
fn a_table_of_another_program_becomes_json() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("t.csv"), "a,b\n1,x\n").unwrap();
    let program = Program::at(dir.path());
    let lines = "{\"a\":1,\"b\":\"x\"}\n";
    assert_eq!(program.stdout(0, &["convert", "t.csv", "-", "--to", "json"]), lines);
    program.stdout(0, &["convert", "t.csv", "t.json"]);
    program.stdout(0, &["convert", "t.csv", "t.txt", "--to", "json"]);
    for name in ["t.json", "t.txt"] {
        assert_eq!(fs::read_to_string(dir.path().join(name)).unwrap(), lines, "{name}");
    }
}

#[test]
fn a_hyphen_is_stdin_and_stdout() {
    let dir = tempfile::tempdir().unwrap();
    crate::common::climate(&dir.path().join("climate.nc"));
    crate::common::spiral(&dir.path().join("spiral.h5"));
    let program = Program::at(dir.path());
    let before = fs::read_dir(dir.path()).unwrap().count();
    let out = |args: &[&str]| {
        let output = program.run(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    assert!(out(&["references", "climate.nc", "-o", "-"]).starts_with(b"{"));
    assert!(out(&["combine", "climate.nc", "-o", "-"]).starts_with(b"{"));
    assert!(out(&["salvage", "spiral.h5", "-"]).starts_with(b"\x89HDF"));
    assert!(out(&["salvage", "spiral.h5", "--map", "-"]).starts_with(b"<svg"));
    if cfg!(feature = "tables") {
        let csv = out(&["convert", "spiral.h5:/spiral", "-", "--to", "csv"]);
        assert!(csv.starts_with(b"x,y,t\r\n"));
        assert_eq!(out(&["sql", "SELECT * FROM \"spiral.h5:/spiral\"", "-o", "-", "-F", "csv"]), csv);
        assert!(out(&["convert", "spiral.h5:/spiral", "-", "--to", "parquet"]).starts_with(b"PAR1"));
        fs::write(dir.path().join("spiral.csv"), &csv).unwrap();
        assert!(out(&["convert", "spiral.csv", "-", "--to", "hdf5"]).starts_with(b"\x89HDF"));
        fs::remove_file(dir.path().join("spiral.csv")).unwrap();
        let mut command = program.command();
        let stdin = fs::File::open(dir.path().join("spiral.h5")).unwrap();
        let piped = command.args(["sql", "SELECT * FROM \"-:/spiral\"", "-F", "csv"]).stdin(stdin).output();
        assert_eq!(piped.unwrap().stdout, csv);
    }
    for args in [
        &["advise", "-"][..],
        &["salvage", "-"],
        &["explode", "-"],
        &["implode", "-"],
        &["edit", "-", "set", "/", "a", "1"],
        &["combine", "-", "-o", "x.json"],
        &["references", "-", "-o", "x.json"],
        &["combine", "climate.nc", "-o", "-", "--add"],
        &["salvage", "spiral.h5", "-", "--map", "-"],
    ] {
        let said = program.stderr(2, args);
        assert!(said.contains("std"), "{args:?}: {said}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), before);
}

#[test]
fn tables_with_a_wrong_checksum_are_not_copied() {
    let place = tempfile::tempdir().unwrap();
    let mut file = sciformats::hdf5_pure::Writer::create(place.path().join("a.h5")).unwrap();
    file.dataset("u").write(&[1.0, 123.25]).unwrap();
    file.finish().unwrap();
    let program = Program::at(place.path());
    program.stdout(0, &["convert", "a.h5", "a.asdf"]);
    let path = place.path().join("a.asdf");
    let mut bytes = fs::read(&path).unwrap();
    let wanted = 123.25f64.to_le_bytes();
    let at = bytes.windows(8).position(|part| part == wanted).unwrap();
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1;
    }
    fs::write(&path, bytes).unwrap();
    let error = program.stderr(3, &["sql", "SELECT u FROM \"a.asdf:/u\"", "-o", "u.parquet"]);
    assert!(error.contains("checksum") && !place.path().join("u.parquet").exists(), "{error}");
}

/// A file with one sound dataset, and one whose header is damaged.
fn half_damaged(path: &std::path::Path) {
    use sciformats::hdf5_pure::options::Bound;
    use sciformats::hdf5_pure::{CreateOptions, File, Writer};
    let options = CreateOptions::default().with_bound(Bound::LATEST);
    let mut file = Writer::overwrite_with(path, &options).unwrap();
    file.dataset("good").write(&[1.5f64, 2.5]).unwrap();
    file.dataset("bad").write(&[3.5f64]).unwrap();
    file.finish().unwrap();
    let header = File::open(path).unwrap().dataset("bad").unwrap().address();
    let mut bytes = fs::read(path).unwrap();
    bytes[usize::try_from(header.0).unwrap() + 8] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn what_cannot_be_read_does_not_vanish() {
    let dir = tempfile::tempdir().unwrap();
    half_damaged(&dir.path().join("run.h5"));
    let program = Program::at(dir.path());
    for new in ["new.json", "new.npz", "new.csv"] {
        let told = program.stdout(1, &["convert", "run.h5", new]);
        assert!(told.contains("/bad: ") && told.contains("not written"), "{told}");
        assert!(!dir.path().join(new).exists());
        assert!(program.stdout(0, &["convert", "run.h5", new, "--lossy"]).contains("/bad: "));
        assert!(dir.path().join(new).exists());
        let only = ["convert", "run.h5", "only.json", "--select", "/bad"];
        assert!(program.stderr(3, &only).contains("/bad: "));
        program.stdout(0, &["convert", "run.h5", &format!("good-{new}"), "--select", "/good"]);
    }
    let lines = program.stdout(1, &["stats", "run.h5", "--json"]);
    let lines: Vec<Json> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let paths: Vec<&str> = lines.iter().map(|line| line["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["/bad", "/good"]);
    assert!(lines[0]["error"].is_string() && lines[1]["max"] == 2.5, "{lines:?}");
    let found = program.run(&["find", "run.h5", "good"]);
    assert_eq!(found.status.code(), Some(3));
    assert!(String::from_utf8(found.stdout).unwrap().contains("/good"));
    let told = String::from_utf8(found.stderr).unwrap();
    assert!(told.contains("run.h5: /bad: ") && told.lines().count() == 1, "{told}");
}

#[test]
fn a_file_that_changes_while_it_is_exported_is_an_error() {
    use sciformats::hdf5_pure::Writer;
    use std::io::Read;
    use std::process::Stdio;
    use std::time::SystemTime;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.h5");
    let mut file = Writer::create(&path).unwrap();
    file.dataset("u").write(&vec![0.5f64; 300_000]).unwrap();
    file.finish().unwrap();
    let touch = |time: SystemTime| {
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    };
    for args in [
        &["convert", "run.h5", "-", "--to", "csv"][..],
        &["head", "run.h5", "/u", "-n", "300000", "--csv"],
        &["sql", "SELECT * FROM \"run.h5:/u\"", "-F", "csv"],
    ] {
        if args.contains(&"sql") && !cfg!(feature = "tables") {
            continue;
        }
        touch(SystemTime::UNIX_EPOCH);
        let mut command = Program::at(dir.path()).command();
        command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut [0]).unwrap();
        // It waits for its reader, long before the end.
        touch(SystemTime::now());
        out.read_to_end(&mut Vec::new()).unwrap();
        let ended = child.wait_with_output().unwrap();
        let told = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(3), "{args:?}: {told}");
        assert!(told.contains("another program changed it"), "{args:?}: {told}");
    }
}

#[test]
fn no_row_of_csv_is_a_line_without_characters() {
    use sciformats::hdf5_pure::Writer;
    let dir = tempfile::tempdir().unwrap();
    let mut file = Writer::create(dir.path().join("names.h5")).unwrap();
    file.dataset("names").write(&["Vega", "", "Deneb"]).unwrap();
    file.dataset("column").shape([2, 1]).write(&["", "Mira"]).unwrap();
    file.dataset("pairs").shape([2, 2]).write(&["", "", "a", ""]).unwrap();
    file.finish().unwrap();
    let program = Program::at(dir.path());
    for (path, lines) in
        [("/names", "Vega\n\"\"\nDeneb\n"), ("/column", "\"\"\nMira\n"), ("/pairs", ",\na,\n")]
    {
        assert_eq!(program.stdout(0, &["cat", "names.h5", path, "--csv"]), lines);
    }
}

#[cfg(feature = "tables")]
#[test]
fn a_table_in_a_file_does_not_depend_on_the_terminal() {
    let dir = tempfile::tempdir().unwrap();
    crate::common::spiral(&dir.path().join("spiral.h5"));
    let program = Program::at(dir.path()).with("COLUMNS", "12");
    let query = "SELECT x, y, t FROM \"spiral.h5:/spiral\" LIMIT 2";
    program.stdout(0, &["sql", query, "-o", "spiral.txt", "--color", "always"]);
    let text = fs::read_to_string(dir.path().join("spiral.txt")).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["x", "y", "t"], "{text}");
    assert!(lines.len() == 3 && lines.iter().all(|line| line.len() == 3), "{text}");
}

/// Of two values with one key, readers of JSON keep one.
#[cfg(feature = "tables")]
#[test]
fn columns_of_one_name_are_not_written_as_json() {
    let dir = tempfile::tempdir().unwrap();
    let program = Program::at(dir.path());
    fs::write(dir.path().join("t.csv"), "k,n,k\n1,2,3\n").unwrap();
    let refused = program.stderr(1, &["convert", "t.csv", "t.json"]);
    assert!(refused.contains("the name k") && !dir.path().join("t.json").exists(), "{refused}");
    let query = ["sql", "SELECT * FROM \"t.csv\"", "-F", "json"];
    assert_eq!(program.stdout(0, &query), "{\"k\":1,\"n\":2,\"k_1\":3}\n");
}

#[cfg(feature = "tables")]
#[test]
fn missing_values_without_a_type_are_not_nan() {
    let dir = tempfile::tempdir().unwrap();
    let program = Program::at(dir.path());
    let shown = program.stdout(0, &["sql", "SELECT NULL AS a, 7 AS b"]);
    assert!(shown.contains('7') && !shown.contains("NaN"), "{shown}");
}
