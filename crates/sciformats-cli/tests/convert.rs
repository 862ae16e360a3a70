//! `convert` and `repack` as users run them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use crate::common::{Program, climate, fixtures};

#[track_caller]
fn stdout(dir: &Path, status: i32, args: &[&str]) -> String {
    Program::at(dir).stdout(status, args)
}

#[track_caller]
fn stderr(dir: &Path, status: i32, args: &[&str]) -> String {
    Program::at(dir).stderr(status, args)
}

/// A folder with copies of some fixtures.
fn folder(files: &[&str]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for file in files {
        let name = Path::new(file).file_name().unwrap();
        fs::copy(fixtures().join(file), dir.path().join(name)).unwrap();
    }
    dir
}

/// The names in a folder, hidden ones too.
fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The manifest without its first line.
fn manifest(dir: &Path, file: &str) -> String {
    stdout(dir, 0, &["manifest", file]).split_once('\n').unwrap().1.to_owned()
}

#[test]
fn a_trajectory_there_and_back() {
    let dir = folder(&["gsd/hoomd-log.gsd"]);
    let dir = dir.path();
    let out = stdout(dir, 0, &["convert", "hoomd-log.gsd", "run.asdf", "--check", "--filter", "zlib"]);
    assert!(out.starts_with("hoomd-log.gsd GSD → run.asdf ASDF\n  writes  "), "{out}");
    assert!(out.contains("run.asdf: written and checked"), "{out}");
    assert!(stdout(dir, 0, &["diff", "hoomd-log.gsd", "run.asdf"]).starts_with("same  "));
    stdout(dir, 0, &["diff", "run.asdf", "hoomd-log.gsd"]);
    stdout(dir, 0, &["convert", "run.asdf", "back.gsd", "--check"]);
    assert_eq!(manifest(dir, "hoomd-log.gsd"), manifest(dir, "back.gsd"));
    let schema = stdout(dir, 0, &["info", "back.gsd"]);
    assert!(schema.contains("hoomd 2.0"), "{schema}");
    assert_eq!(names(dir), ["back.gsd", "hoomd-log.gsd", "run.asdf"]);
}

#[test]
fn an_array_for_numpy_and_back() {
    let dir = folder(&["rawarray/lz4.ra"]);
    let dir = dir.path();
    // Bytes after the array have no place in a npy file.
    let out = stdout(dir, 1, &["convert", "lz4.ra", "a.npy"]);
    assert!(out.contains("loses   / has bytes after its array"), "{out}");
    assert!(out.contains("a.npy: not written"), "{out}");
    assert_eq!(names(dir), ["lz4.ra"]);
    stdout(dir, 0, &["convert", "lz4.ra", "a.npy", "--lossy"]);
    assert!(fs::read(dir.join("a.npy")).unwrap().starts_with(b"\x93NUMPY\x01\0"));
    stdout(dir, 0, &["diff", "lz4.ra", "a.npy"]);
    stdout(dir, 0, &["convert", "a.npy", "b.ra", "--filter", "lz4"]);
    stdout(dir, 0, &["diff", "a.npy", "b.ra"]);
    let info = stdout(dir, 0, &["info", "a.npy"]);
    assert!(info.lines().any(|line| line.split_whitespace().eq(["format", "npy"])), "{info}");
}

#[test]
fn what_is_lost_is_listed_for_programs_too() {
    let dir = folder(&["gsd/hoomd-log.gsd"]);
    let dir = dir.path();
    let err = stderr(dir, 1, &["convert", "hoomd-log.gsd", "x.npy"]);
    assert!(err.contains("arrays, but npy holds only one; select one by its path"), "{err}");
    let select = "/frames/0/particles/N";
    let json =
        stdout(dir, 0, &["convert", "hoomd-log.gsd", "x.npy", "--select", select, "--json", "--check"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["arrays"], &json["losses"]), (&1.into(), &0.into()));
    assert_eq!((&json["written"], &json["checked"]), (&true.into(), &true.into()));
    let plan = stdout(dir, 0, &["convert", "hoomd-log.gsd", "y.npy", "--select", select, "--dry-run"]);
    assert!(plan.ends_with("y.npy: not written, because of --dry-run\n"), "{plan}");
    assert_eq!(names(dir), ["hoomd-log.gsd", "x.npy"]);
}

#[test]
fn what_is_left_of_a_cut_file_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let values: Vec<f64> = (0..1000).map(f64::from).collect();
    crate::common::raw_array(&dir.join("u.ra"), &[50, 20], &values);
    let bytes = fs::read(dir.join("u.ra")).unwrap();
    fs::write(dir.join("u.ra"), &bytes[..bytes.len() - 100]).unwrap();
    let cut = "cut short: 7,964 of 8,064 bytes";
    assert!(stdout(dir, 1, &["verify", "u.ra"]).contains(cut));
    assert!(stderr(dir, 3, &["cat", "u.ra"]).contains(cut));
    let plan = stdout(dir, 1, &["convert", "u.ra", "u.npy"]);
    assert!(plan.contains(cut) && plan.contains("u.npy: not written"), "{plan}");
    let json = stdout(dir, 0, &["convert", "u.ra", "u.npy", "--lossy", "--json", "--check"]);
    let lines: Vec<serde_json::Value> =
        json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let lost = lines.iter().find(|line| line["reason"].is_string()).unwrap();
    assert_eq!((&lost["path"], &lost["elements"], &lost["bytes"]), (&"/".into(), &13.into(), &104.into()));
    assert_eq!(lost["first"], serde_json::json!([19, 37]));
    assert_eq!(lines.last().unwrap()["checked"], true);
    let rest = stdout(dir, 0, &["cat", "u.npy", "--slice", "19, 35:39"]);
    assert_eq!(rest.trim(), "[985.0 986.0   0.0   0.0]");
}

#[test]
fn a_cut_file_that_lies_about_its_length_is_not_searched_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut bytes = b"#ASDF 1.0.0\n%YAML 1.1\n--- {a: 1}\n...\n \xd3BLK\0\x10".to_vec();
    bytes.extend([0; 8]);
    // Sizes in the header: allocated, used and that of the data, an exbibyte.
    (0..3).for_each(|_| bytes.extend((1u64 << 60).to_be_bytes()));
    bytes.extend([0; 16]);
    fs::write(dir.join("lies.asdf"), bytes).unwrap();
    let err = stderr(dir, 3, &["convert", "lies.asdf", "a.h5", "--lossy"]);
    assert!(err.contains("cut short"), "{err}");
    assert_eq!(names(dir), ["lies.asdf"]);
}

#[test]
fn what_is_there_stays_there() {
    let dir = folder(&["rawarray/lz4.ra"]);
    let dir = dir.path();
    fs::write(dir.join("a.npy"), b"precious").unwrap();
    let args = ["convert", "lz4.ra", "a.npy", "--lossy"];
    assert!(stderr(dir, 2, &args).contains("exists already"));
    let forced: Vec<&str> = args.iter().copied().chain(["--force"]).collect();
    // An option that the format does not know is told before anything is touched.
    let odd: Vec<&str> = forced.iter().copied().chain(["--filter", "zip"]).collect();
    stderr(dir, 2, &odd);
    assert_eq!(fs::read(dir.join("a.npy")).unwrap(), b"precious");
    stdout(dir, 0, &forced);
    stdout(dir, 0, &["verify", "a.npy"]);
    assert!(stderr(dir, 2, &["convert", "lz4.ra", "a.xyz"]).contains("choose one with --to"));
    assert!(stderr(dir, 3, &["convert", "none.ra", "b.npy"]).contains("none.ra"));
    stderr(dir, 4, &["convert", "lz4.ra", "no/where.npy", "--lossy"]);
    assert_eq!(names(dir), ["a.npy", "lz4.ra"]);
}

#[test]
fn repacked_files_hold_the_same() {
    let dir = folder(&["gsd/hoomd-log.gsd", "rawarray/lz4.ra"]);
    let dir = dir.path();
    let out = stdout(dir, 0, &["repack", "hoomd-log.gsd", "named-wrongly.h5", "--dry-run"]);
    assert!(out.contains("the file has the ending of HDF5, but its format is still GSD"), "{out}");
    let out = stdout(dir, 0, &["repack", "hoomd-log.gsd", "small.gsd"]);
    assert!(out.starts_with("small.gsd: written and checked"), "{out}");
    assert_eq!(manifest(dir, "hoomd-log.gsd"), manifest(dir, "small.gsd"));
    stdout(dir, 0, &["convert", "hoomd-log.gsd", "a.asdf"]);
    stdout(dir, 0, &["repack", "a.asdf", "b.asdf", "--filter", "zlib", "--level", "9"]);
    assert_eq!(manifest(dir, "a.asdf"), manifest(dir, "b.asdf"));
    assert!(stdout(dir, 0, &["ls", "-rl", "b.asdf"]).contains("zlib"));
    stdout(dir, 0, &["convert", "lz4.ra", "a.b2nd", "--lossy", "--filter", "lz4", "--chunks", "4"]);
    stdout(dir, 0, &["repack", "a.b2nd", "b.b2nd", "--filter", "zlib", "--chunks", "7", "--level", "9"]);
    assert_eq!(stdout(dir, 0, &["diff", "a.b2nd", "b.b2nd", "-q"]), "");
    assert_eq!(stdout(dir, 0, &["diff", "lz4.ra", "b.b2nd", "-q"]), "");
}

#[test]
fn repacked_hdf5_files_are_stored_alike() {
    let dir = folder(&["hdf5/filters.h5"]);
    let dir = dir.path();
    let listed = |file: &str| stdout(dir, 0, &["ls", "-rl", file]).split_once('\n').unwrap().1.to_owned();
    let before = (listed("filters.h5"), manifest(dir, "filters.h5"));
    let told = stdout(dir, 0, &["repack", "filters.h5", "same.h5", "--dry-run"]);
    assert!(told.contains("can be written") && !dir.join("same.h5").exists(), "{told}");
    stdout(dir, 0, &["repack", "filters.h5", "same.h5"]);
    assert_eq!((listed("same.h5"), manifest(dir, "same.h5")), before);
    // In the place of the file itself, too.
    let json =
        stdout(dir, 0, &["repack", "--json", "--force", "filters.h5", "filters.h5", "--filter", "zstd"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["file"], &json["same"]), (&"filters.h5".into(), &true.into()));
    assert!(
        listed("filters.h5").lines().all(|line| line.contains("shuffle, zstd 3")),
        "{}",
        listed("filters.h5")
    );
    assert_eq!(manifest(dir, "filters.h5"), before.1);
    stdout(dir, 0, &["repack", "same.h5", "old.h5", "--bound", "earliest"]);
    assert!(stdout(dir, 0, &["info", "old.h5"]).contains("superblock  0"));
    assert!(stderr(dir, 2, &["repack", "same.h5", "x.h5", "--bound", "1.9"]).contains("earliest, 1.8"));
    // Chunks that cannot be unpacked are copied as they are, as damaged as they were; nothing is written where they would have to
    // be stored in another way, and no file is replaced.
    let mut bytes = fs::read(dir.join("same.h5")).unwrap();
    for line in stdout(dir, 0, &["inspect", "--json", "same.h5"]).lines() {
        let structure: serde_json::Value = serde_json::from_str(line).unwrap();
        if structure["structure"] == "chunk" {
            let at = structure["offset"].as_u64().unwrap() as usize;
            bytes[at..][..structure["size"].as_u64().unwrap() as usize].fill(0xFF);
        }
    }
    fs::write(dir.join("damaged.h5"), bytes).unwrap();
    stderr(dir, 3, &["repack", "damaged.h5", "new.h5", "--dry-run", "--filter", "zlib"]);
    let out = stderr(dir, 3, &["repack", "damaged.h5", "old.h5", "--force", "--filter", "zlib"]);
    assert!(out.contains("damaged.h5"), "{out}");
    stdout(dir, 0, &["verify", "old.h5"]);
    stdout(dir, 0, &["repack", "damaged.h5", "copy.h5"]);
    let damage = |file| stdout(dir, 1, &["verify", file]).matches("chunk").count();
    assert_eq!(damage("copy.h5"), damage("damaged.h5"));
    assert_eq!(names(dir), ["copy.h5", "damaged.h5", "filters.h5", "old.h5", "same.h5"]);
}

/// Ctrl-C, as a signal: nothing half done is left.
#[cfg(unix)]
#[test]
fn interrupted_nothing_is_left() {
    use std::io::Write;
    use std::process::Command;
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    // Large enough that it can be met at work.
    let mut header = b"rawarray".to_vec();
    for word in [0u64, 3, 8, 8 << 25, 1, 1 << 25] {
        header.extend(word.to_le_bytes());
    }
    let mut file = fs::File::create(dir.join("a.ra")).unwrap();
    file.write_all(&header).unwrap();
    file.set_len(header.len() as u64 + (8 << 25)).unwrap();
    let mut child = Program::at(dir).command().args(["convert", "a.ra", "a.npy", "-q"]).spawn().unwrap();
    // It is at work once its temporary file is there.
    while names(dir).len() < 2 && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let id = child.id().to_string();
    // If it has ended already, there is nobody to interrupt.
    let _ = Command::new("kill").args(["-INT", &id]).status().unwrap();
    let status = child.wait().unwrap();
    // It may have been quicker; then the file is whole.
    if status.success() {
        assert_eq!(names(dir), ["a.npy", "a.ra"]);
    } else {
        assert_eq!(status.code(), Some(130));
        assert_eq!(names(dir), ["a.ra"]);
    }
}

#[test]
fn a_selection_of_nothing_is_an_error() {
    let dir = folder(&["hdf5/filters.h5", "gsd/hoomd-log.gsd", "rawarray/f4.ra"]);
    let dir = dir.path();
    for (from, wrong, right) in
        [("hoomd-log.gsd", "/framez/0", "/frames/0"), ("filters.h5", "/none of them", "/")]
    {
        for to in ["x.asdf", "x.h5", "x.gsd", "x.csv", "x.json", "x.npz", "x.npy"] {
            // One pattern that matches does not make up for the other.
            let args = ["convert", from, to, "--lossy", "--select", wrong, "--select", right];
            let said = stderr(dir, 3, &args);
            assert!(said.contains(wrong), "{to}: {said}");
            assert!(!dir.join(to).exists(), "{to}");
        }
    }
    let said = stderr(dir, 3, &["convert", "hoomd-log.gsd", "x.asdf", "--select", "/framez/0"]);
    assert!(said.contains("did you mean /frames/0?"), "{said}");
    // A format without compression has no level of it.
    let said = stderr(dir, 2, &["convert", "f4.ra", "x.npy", "--lossy", "--level", "3"]);
    assert!(said.contains("level has no meaning in npy"), "{said}");
    assert_eq!(names(dir), ["f4.ra", "filters.h5", "hoomd-log.gsd"]);
}

/// An option is obeyed or refused.
#[test]
fn options_of_other_formats_are_refused() {
    let dir = folder(&["rawarray/f4.ra"]);
    let dir = dir.path();
    std::fs::write(dir.join("t.csv"), "a,b\n1,2\n").unwrap();
    let options =
        [["--bound", "1.8"], ["--chunks", "2"], ["--filter", "zstd"], ["--level", "3"], ["--shards", "4"]];
    for option in options {
        for to in ["x.npy", "x.ra", "x.csv", "x.json", "x.npz", "x.png"] {
            for more in [&[][..], &["--lossy"]] {
                let said = stderr(dir, 2, &[&["convert", "f4.ra", to], &option[..], more].concat());
                assert!(said.contains(option[0].trim_start_matches('-')), "{to}: {said}");
            }
        }
        #[cfg(feature = "tables")]
        for to in ["x.parquet", "x.arrow"] {
            let said = stderr(dir, 2, &["convert", "t.csv", to, option[0], option[1]]);
            assert!(said.contains(option[0]), "{to}: {said}");
        }
    }
    for option in [["--bound", "1.8"], ["--shards", "4"]] {
        for to in ["x.asdf", "x.b2nd", "x.gsd", "x.nc"] {
            let said = stderr(dir, 2, &["convert", "f4.ra", to, "--lossy", option[0], option[1]]);
            assert!(said.contains(option[0].trim_start_matches('-')), "{to}: {said}");
        }
        #[cfg(feature = "tables")]
        if option[0] == "--bound" {
            let said = stderr(dir, 2, &["convert", "t.csv", "x.h5", option[0], option[1]]);
            assert!(said.contains(option[0]), "{said}");
        }
    }
    #[cfg(feature = "tables")]
    stderr(dir, 1, &["convert", "t.csv", "x.h5", "--to", "asdf"]);
    assert_eq!(names(dir), ["f4.ra", "t.csv"]);
}

#[test]
fn a_view_is_converted_as_a_table() {
    let dir = folder(&["gsd/hoomd-log.gsd"]);
    let dir = dir.path();
    for args in [
        &["convert", "hoomd-log.gsd:/log", "x.h5"][..],
        &["convert", "hoomd-log.gsd", "x.csv", "--select", "/log"],
    ] {
        let said = stderr(dir, 1, args);
        assert!(said.contains("`sciformats convert hoomd-log.gsd:/log OUT`"), "{said}");
    }
    if cfg!(feature = "tables") {
        stdout(dir, 0, &["convert", "hoomd-log.gsd:/log", "x.csv"]);
    }
}

#[test]
fn the_array_of_a_tree_is_found_among_its_texts() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut file = sciformats::hdf5_pure::Writer::create(dir.join("x.h5")).unwrap();
    file.dataset("title").write_scalar("a week in May").unwrap();
    file.dataset("n").write_scalar(5).unwrap();
    file.dataset("data").write(&[281.5, 282.0]).unwrap();
    file.finish().unwrap();
    let told = stdout(dir, 1, &["convert", "x.h5", "x.npy"]);
    assert!(told.contains("loses   /title is left out: it is a single value"), "{told}");
    stdout(dir, 0, &["convert", "x.h5", "x.npy", "--lossy"]);
    assert_eq!(stdout(dir, 0, &["cat", "x.npy", "--format", "csv"]).matches("28").count(), 2);
}

#[test]
fn a_dry_run_refuses_the_options_that_a_run_refuses() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut file = sciformats::hdf5_pure::Writer::create(dir.join("x.h5")).unwrap();
    file.dataset("x").shape([10, 10]).write(&[1.5f64; 100]).unwrap();
    file.finish().unwrap();
    let mut file = sciformats::hdf5_pure::Writer::create(dir.join("tree.h5")).unwrap();
    file.dataset("g/x").shape([10, 10]).write(&[1.5f64; 100]).unwrap();
    file.dataset("g/y").write(&[1i16, 2, 3]).unwrap();
    file.finish().unwrap();
    fs::write(dir.join("t.csv"), "a,b\n1,2\n").unwrap();
    stdout(dir, 0, &["convert", "x.h5", "x.zarr"]);
    let options = "--bound 1.8|--bound 9|--chunks 5|--chunks 5,5|--chunks 5,5,5|--chunks 5,5 --lossy|--filter zlib --level 6|\
                   --filter zlib --level 99|--filter lz4 --level 1|--filter zstd --level 99|--filter leb128|--filter bits|\
                   --filter none --level 3|--filter unknown|--level 5|--keep-digits 99|--form pytables|--shards 5,5|--check";
    let options: Vec<Vec<&str>> = options.split('|').map(|these| these.split(' ').collect()).collect();
    let outputs = "o.h5 o.asdf o.b2nd o.gsd o.ra o.npy o.nc o.zarr o.csv o.json o.npz o.png o.parquet";
    let run = |args: &[&str]| {
        let output = Program::at(dir).run(args);
        let written: Vec<String> = names(dir).into_iter().filter(|name| name.starts_with("o.")).collect();
        for name in &written {
            let path = dir.join(name);
            if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
        }
        (output.status.code(), String::from_utf8(output.stderr).unwrap(), written.len())
    };
    for input in ["x.h5", "tree.h5", "t.csv", "x.zarr"] {
        for output in outputs.split(' ') {
            for these in &options {
                let args = [&["convert", input, output], these.as_slice()].concat();
                let (status, said, _) = run(&args);
                let predicted = run(&[args.as_slice(), &["--dry-run"]].concat());
                assert_eq!(predicted, (status, said, 0), "{args:?}");
            }
        }
    }
    for input in ["x.h5", "tree.h5"] {
        for these in options.iter().filter(|these| !matches!(these[0], "--form" | "--shards" | "--check")) {
            let args = [&["repack", input, "o.h5"], these.as_slice()].concat();
            let (status, said, _) = run(&args);
            assert_eq!(run(&[args.as_slice(), &["--dry-run"]].concat()), (status, said, 0), "{args:?}");
        }
    }
}

#[test]
fn pages_that_were_asked_for_are_no_difference() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    climate(&dir.join("run.h5"));
    let pages = |file: &str| {
        let info = stdout(dir, 0, &["info", file]);
        let line = info.lines().find(|line| line.trim_start().starts_with("page size"));
        line.map(|line| line.split_whitespace().last().unwrap().to_owned())
    };
    for (from, to, options) in [
        ("run.h5", "small.h5", &["--page-size", "4096"][..]),
        ("small.h5", "large.h5", &["--page-size", "8192"]),
        ("large.h5", "first.h5", &["--page-size", "4096", "--metadata-first"]),
    ] {
        let out = stdout(dir, 0, &[&["repack", from, to], options].concat());
        assert!(out.contains("written and checked"), "{out}");
        let size = pages(to).unwrap().replace(',', "");
        assert_eq!(size, options[1], "{to}");
        stdout(dir, 0, &["diff", from, to]);
    }
    // What was not asked for still has to stay.
    stdout(dir, 0, &["repack", "large.h5", "same.h5"]);
    assert_eq!(pages("same.h5"), pages("large.h5"));
}

#[test]
fn filters_that_readers_need_a_package_for_are_noted_everywhere() {
    let dir = folder(&["rawarray/lz4.ra"]);
    let dir = dir.path();
    climate(&dir.join("run.h5"));
    let needs = |filter: &str| match filter {
        "zlib" | "lzf" => None,
        "vbz" => Some("the package vbz-h5py-plugin"),
        "lzo" => Some("a build of PyTables that has LZO"),
        "snappy" => Some("a plug-in that hdf5plugin does not have"),
        _ => Some("the package hdf5plugin"),
    };
    for filter in
        ["zlib", "zstd", "bitshuffle", "zfp", "vbz", "fcidecomp", "lzo", "snappy", "zstd+fletcher32"]
    {
        let note = needs(filter).map(|package| {
            let filter = filter.trim_end_matches("+fletcher32");
            format!("  note    Python's h5py reads {filter} only with {package}; zlib needs no package\n")
        });
        let of = format!("/tas={filter}");
        for args in [
            &["convert", "run.h5", "new.h5", "--force", "--filter", filter][..],
            &["repack", "run.h5", "new.h5", "--force", "--filter", filter],
            &["repack", "run.h5", "new.h5", "--force", "--filter-of", &of],
            &["convert", "lz4.ra", "new.h5", "--force", "--lossy", "--filter", filter],
        ] {
            let out = stdout(dir, 0, args);
            assert_eq!(out.matches("h5py reads").count(), usize::from(note.is_some()), "{args:?}: {out}");
            assert!(note.as_ref().is_none_or(|note| out.contains(note)), "{args:?}: {out}");
        }
    }
}
