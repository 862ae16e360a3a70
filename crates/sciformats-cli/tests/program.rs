//! The program as its users run it: screens, exit statuses, pipes, JSON.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::common::{Program, fixtures};
use serde_json::Value as Json;

fn program() -> Command {
    Program::in_fixtures().command()
}

fn run(args: &[&str]) -> Output {
    Program::in_fixtures().run(args)
}

#[track_caller]
fn stdout(status: i32, args: &[&str]) -> String {
    Program::in_fixtures().stdout(status, args)
}

#[track_caller]
fn stderr(status: i32, args: &[&str]) -> String {
    Program::in_fixtures().stderr(status, args)
}

fn raw_array(folder: &Path, name: &str, dims: &[u64], values: &[f64]) -> PathBuf {
    let path = folder.join(name);
    crate::common::raw_array(&path, dims, values);
    path
}

#[test]
fn info_on_one_screen() {
    assert_eq!(
        stdout(0, &["info", "rawarray/lz4.ra"]),
        "\
rawarray/lz4.ra
  format      RawArray
  size        179 B
  flags       2
  byte order  little-endian
  encoding    lz4
  metadata    9 bytes
  contents    1 array
  types       float32
  filters     lz4
  data        2.3 KiB  stored in 106 B, ratio 22.64
"
    );
    let gsd = stdout(0, &["info", "gsd/hoomd-log.gsd"]);
    assert!(gsd.contains("\n  schema           hoomd 2.0\n  frames           5\n"), "{gsd}");
}

#[test]
fn every_manifest_is_as_expected() {
    let mut compared = 0;
    for format in ["asdf", "blosc2", "gsd", "hdf5", "rawarray"] {
        for expected in fs::read_dir(fixtures().join(format).join("expected")).unwrap() {
            let expected = expected.unwrap().path();
            let name = expected.file_stem().unwrap().to_str().unwrap();
            let text = stdout(0, &["manifest", &format!("{format}/{name}")]);
            let parse = |text: &str| -> Vec<Json> {
                text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
            };
            assert_eq!(parse(&text), parse(&fs::read_to_string(&expected).unwrap()), "{name}");
            compared += 1;
        }
    }
    assert!(compared >= 50, "{compared}");
}

#[test]
fn the_first_command_of_the_readme() {
    // Some of the hostile files cannot be read.
    let text = stdout(3, &["ls", "-r", "."]);
    assert!(text.contains("./rawarray/hostile/"), "{text}");
    // One line for each RawArray file, sound or not, and no line ends in a space.
    let files = |folder: &str| {
        let names = fs::read_dir(fixtures().join(folder)).unwrap().map(|entry| entry.unwrap().path());
        names.filter(|path| path.extension().is_some_and(|ending| ending == "ra")).count()
    };
    let lines = text.lines().filter(|line| line.starts_with("./rawarray/")).count();
    assert_eq!(lines, files("rawarray") + files("rawarray/hostile"));
    assert!(text.lines().all(|line| !line.ends_with(' ')));
    assert!(!text.contains('\x1b'));
    assert!(text.contains("└── frames/"));
}

#[test]
fn a_tree() {
    assert_eq!(
        stdout(0, &["ls", "-r", "gsd/hoomd-log.gsd", "/frames/0"]).lines().next(),
        Some("gsd/hoomd-log.gsd /frames/0  GSD 2.1, hoomd 2.0, 5 frames  5.3 KiB")
    );
    let members = stdout(0, &["ls", "gsd/hoomd-log.gsd", "/frames"]);
    assert_eq!(members.lines().skip(1).collect::<Vec<_>>(), ["├── 0/", "└── 1…4/"]);
    assert!(run(&["--color", "always", "ls", "gsd"]).stdout.starts_with(b"\x1b["));
}

#[test]
fn frames_that_are_alike() {
    assert_eq!(
        stdout(0, &["ls", "-rl", "gsd/frames-beyond-the-entries.gsd"]),
        "\
gsd/frames-beyond-the-entries.gsd  GSD 2.1, 22 frames  1.4 KiB
└── frames/
    ├── 0/
    │   └── only  float32  4 × 3  48 B  of 48 B  offset 1376
    ├── 1…20/
    └── 21/
        └── only  float32  4 × 3  48 B  of 48 B  offset 1424
"
    );
    assert_eq!(
        stdout(0, &["ls", "-rl", "gsd/hoomd-log.gsd"]),
        "\
gsd/hoomd-log.gsd  GSD 2.1, hoomd 2.0, 5 frames  5.3 KiB
└── frames/
    ├── 0/
    │   ├── log/energy          float64  1                     8 B  of 8 B  offset 5380
    │   ├── log/text            string   = \"only in frame 0\"  15 B          offset 5388
    │   └── particles/N         uint32   1                     4 B  of 4 B  offset 5376
    └── 1…4/
        ├── configuration/step  uint64   1                     8 B  of 8 B
        └── log/energy          float64  1                     8 B  of 8 B
"
    );
    let lines = stdout(0, &["ls", "--json", "gsd/frames-beyond-the-entries.gsd", "/frames"]);
    let paths: Vec<String> = lines
        .lines()
        .map(|line| serde_json::from_str::<Json>(line).unwrap()["path"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(paths[1..], (0..22).map(|frame| format!("/frames/{frame}")).collect::<Vec<_>>());
}

#[test]
fn a_trajectory_over_all_frames() {
    let info = stdout(0, &["info", "gsd/hoomd-log.gsd"]);
    let expected = "  lost bytes       0
  view             /log
  contents         7 groups, 11 arrays
  types            float64 (5), uint64 (4), string, uint32
  data             76 B  stored in 91 B, ratio 0.84
  look first at
    /log  table, 5 rows, 4 columns  logged quantities
  arrays by name
    configuration/step  4 ×  uint64   1   32 B
    log/energy          5 ×  float64  1   40 B
    log/text            1 ×  text     15  15 B
    particles/N         1 ×  uint32   1    4 B
";
    assert!(info.ends_with(expected), "{info}");
    let info = stdout(0, &["info", "gsd/hoomd-single.gsd"]);
    assert!(info.contains("\n    particles/position        3 ×  float32  5…7 × 3  204 B\n"), "{info}");
    let json: Json = serde_json::from_str(&stdout(0, &["info", "--json", "gsd/hoomd-single.gsd"])).unwrap();
    let names = json["names"].as_array().unwrap();
    let position = names.iter().find(|name| name["name"] == "particles/position").unwrap();
    assert_eq!(position["shape"], serde_json::json!([[5, 7], [3, 3]]));

    let csv = "frame,configuration/step,log/energy,log/text
0,0,0.0,only in frame 0
1,1,0.25,only in frame 0
2,2,0.5,only in frame 0
3,3,0.75,only in frame 0
4,4,1.0,only in frame 0
";
    assert_eq!(stdout(0, &["cat", "gsd/hoomd-log.gsd", "/log", "--format", "csv"]), csv);
    assert_eq!(stdout(0, &["cat", "gsd/hoomd-log.gsd", "/log", "--csv"]), csv);
    let last = stdout(0, &["cat", "gsd/hoomd-log.gsd", "/log", "--format", "csv", "-s", "-1:"]);
    assert_eq!(last.lines().nth(1), csv.lines().last());
    assert_eq!(stdout(0, &["cat", "gsd/hoomd-log.gsd", "/log/energy"]), "[0.0  0.25 0.5  0.75 1.0 ]\n");
    assert!(stderr(3, &["cat", "gsd/types.gsd", "/log"]).contains("no object named \"/log\""));
}

#[test]
fn frames_that_all_differ() {
    let text = stdout(0, &["ls", "gsd/grown.gsd", "/frames"]);
    let lines: Vec<&str> = text.lines().skip(16).collect();
    let expected = ["├── 15/", "├── … 21 more; --all lists them", "├── 37/", "├── 38/", "└── 39/"];
    assert_eq!(lines, expected);
    for args in
        [&["ls", "--all", "gsd/grown.gsd", "/frames"][..], &["ls", "--json", "gsd/grown.gsd", "/frames"]]
    {
        assert_eq!(stdout(0, args).lines().count(), 41);
    }
}

#[test]
fn a_log_with_gaps_and_small_arrays() {
    use sciformats::gsd_rs::{CreateOptions, Version, Writer};

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.gsd");
    let mut writer = Writer::create(&path, &CreateOptions::new("test", "hoomd", Version::new(1, 4))).unwrap();
    for frame in 0..3u8 {
        writer.write("log/stress", 1, &[f32::from(frame), 0.5]).unwrap();
        if frame == 1 {
            writer.write("log/late", 1, &[7u8]).unwrap();
            writer.write_text("log/note", "a, b").unwrap();
        }
        writer.end_frame().unwrap();
    }
    writer.finish().unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(
        stdout(0, &["cat", path, "/log", "--format", "csv"]),
        "frame,log/late,log/note,log/stress[0],log/stress[1]\n0,,,0.0,0.5\n1,7,\"a, b\",1.0,0.5\n2,,,2.0,0.5\n"
    );
    assert_eq!(stdout(0, &["cat", path, "/log/stress", "-s", "1:"]), "[[1.0 0.5]\n [2.0 0.5]]\n");
    let text = stdout(0, &["ls", path, "/frames"]);
    assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), ["├── 0/", "├── 1/", "└── 2/"]);
}

#[test]
fn values_as_text_csv_and_json() {
    let dir = tempfile::tempdir().unwrap();
    let path = raw_array(dir.path(), "a.ra", &[3, 2], &[1.0, -2.5, 3.0, 4.0, f64::NAN, 6.0]);
    let path = path.to_str().unwrap();
    assert_eq!(stdout(0, &["cat", path]), "[[ 1.0 -2.5  3.0]\n [ 4.0  nan  6.0]]\n");
    assert_eq!(stdout(0, &["cat", path, "/", "--slice", "::-1, -1"]), "[6.0 3.0]\n");
    assert_eq!(stdout(0, &["cat", path, "-s", "0, 1"]), "-2.5\n");
    assert_eq!(stdout(0, &["cat", path, "--format", "csv"]), "1.0,-2.5,3.0\n4.0,nan,6.0\n");
    assert_eq!(stdout(0, &["cat", path, "-s", ":, 0", "--format", "csv"]), "1.0\n4.0\n");
    assert_eq!(stdout(0, &["cat", path, "--json"]), "[[1.0,-2.5,3.0],[4.0,\"NaN\",6.0]]\n");
    assert_eq!(stdout(0, &["cat", path, "--format", "json", "-s", "0,0"]), "1.0\n");
    assert_eq!(stdout(0, &["cat", path, "-s", "2:2"]), "[[]]\n");
    assert_eq!(stdout(0, &["cat", path, "-s", "0:0", "--json"]), "[]\n");
}

#[test]
fn npy_byte_by_byte() {
    let dir = tempfile::tempdir().unwrap();
    let path = raw_array(dir.path(), "a.ra", &[2], &[1.0, -2.0]);
    let output = run(&["cat", path.to_str().unwrap(), "--format", "npy"]);
    let mut expected = b"\x93NUMPY\x01\x00\x76\x00".to_vec(); // magic, version 1.0, header of 118 bytes
    expected.extend(b"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }");
    expected.resize(127, b' '); // padded so that the elements begin at 128
    expected.push(b'\n');
    expected.extend(1f64.to_le_bytes());
    expected.extend((-2f64).to_le_bytes());
    assert_eq!(output.stdout, expected);
    let raw = run(&["cat", path.to_str().unwrap(), "--format", "raw", "-s", "::-1"]);
    assert_eq!(raw.stdout, [(-2f64).to_le_bytes(), 1f64.to_le_bytes()].concat());
}

#[test]
fn differences_and_tolerances() {
    let dir = tempfile::tempdir().unwrap();
    let a = raw_array(dir.path(), "a.ra", &[3], &[1.0, 2.0, 3.0]);
    let b = raw_array(dir.path(), "b.ra", &[3], &[1.0, 2.5, 3.0]);
    let c = raw_array(dir.path(), "c.ra", &[2], &[1.0, 2.0]);
    let (a, b, c) = (a.to_str().unwrap(), b.to_str().unwrap(), c.to_str().unwrap());
    assert_eq!(stdout(0, &["diff", a, a]), "same  1 object compared\n");
    assert_eq!(
        stdout(1, &["diff", a, b]),
        "/  1 of 3 elements differs, by up to 0.5 (relative 0.2)\n  [1]  2.0 ≠ 2.5\ndiffer  1 different\n"
    );
    assert_eq!(stdout(0, &["diff", a, b, "--rtol", "0.2", "--quiet"]), "");
    // What nothing matches would be found equal in silence.
    let none = stderr(3, &["diff", a, b, "--only", "/x", "--only", "/"]);
    assert!(none.contains("--only: no object named \"/x\""), "{none}");
    assert_eq!(stdout(1, &["diff", "-q", a, c]), "/  shape 3 ≠ 2\n");
    let (one, other) =
        (raw_array(dir.path(), "one.ra", &[], &[1.0]), raw_array(dir.path(), "other.ra", &[], &[2.0]));
    let scalars = stdout(1, &["diff", one.to_str().unwrap(), other.to_str().unwrap()]);
    assert!(scalars.contains("1 of 1 element differs, ") && scalars.contains("\n  1.0 ≠ 2.0\n"), "{scalars}");
    let lines: Vec<Json> = stdout(1, &["diff", "--json", a, b])
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["first"][0]["index"], serde_json::json!([1]));
    assert_eq!(lines[1], serde_json::json!({"same": 0, "different": 1, "incomparable": 0}));
}

#[test]
fn sound_and_damaged_files() {
    assert_eq!(stdout(0, &["verify", "rawarray/lz4.ra"]), "rawarray/lz4.ra: sound  1 object, 2.3 KiB read\n");
    let hostile = "rawarray/hostile/bits-cut.ra";
    let text = stdout(1, &["verify", hostile, "rawarray/f4.ra"]);
    let cut = "bits-cut.ra /: malformed file at offset 0x47: it is cut short: 71 of 72 bytes";
    assert!(text.starts_with(&format!("rawarray/hostile/{cut}")), "{text}");
    assert!(text.contains("bits-cut.ra: 1 fault") && text.contains("f4.ra: sound"), "{text}");
    let lines = stdout(1, &["verify", "--json", "gsd/hostile/chunk-past-the-end.gsd"]);
    let lines: Vec<Json> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines[0]["offset"].is_u64() && lines[0]["path"].as_str().unwrap().starts_with("/frames/"));
    assert_eq!(lines.last().unwrap()["ok"], false);
}

#[test]
fn structures_with_offsets() {
    let text = stdout(0, &["inspect", "rawarray/scalar.ra"]);
    assert!(text.starts_with("header  0x0 … 0x30, 48 bytes\n  magic   rawarray\n  flags   0\n"), "{text}");
    let at = stdout(0, &["inspect", "rawarray/scalar.ra", "--at", "0x30"]);
    assert_eq!(at, "data  0x30 … 0x38, 8 bytes\n  encoding  none\n");
    assert!(stderr(2, &["inspect", "rawarray/scalar.ra", "--at", "999"]).contains("beyond the end"));
}

#[test]
fn exit_statuses_and_what_to_do() {
    for args in [
        &["nonsense"][..],
        &[],
        &["cat"],
        &["cat", "rawarray/f4.ra", "-s", "1,2,3"],
        &["diff", "rawarray/f4.ra", "rawarray/f4.ra", "--rtol", "-1"],
        &["ls", "rawarray", "/x"],
        &["--limit-memory", "lots", "info", "rawarray/f4.ra"],
    ] {
        stderr(2, args);
    }
    // The contents of the file do not permit these.
    for args in [
        &["cat", "gsd/hoomd-log.gsd", "/frames"][..],
        &["stats", "blosc2/text.b2nd"],
        &["plot", "blosc2/text.b2nd"],
    ] {
        stderr(1, args);
    }
    for args in [
        &["info", "no such file"][..],
        &["cat", "rawarray/f4.ra", "/x"],
        &["info", "MANIFEST.toml"],
        &["cat", "rawarray/lz4.ra", "--limit-memory", "16"],
        &["ls", "no such folder"],
        &["verify", "MANIFEST.toml"],
    ] {
        let err = stderr(3, args);
        assert_eq!(err.lines().count(), 1, "{err}");
        assert!(err.starts_with("sciformats: "), "{err}");
    }
    assert_eq!(
        stderr(3, &["cat", "rawarray/f4.ra", "/x"]),
        "sciformats: rawarray/f4.ra: no object named \"/x\" (`sciformats ls -r rawarray/f4.ra` lists what there is)\n"
    );
    assert_eq!(
        stderr(3, &["cat", "gsd/hoomd-log.gsd", "/frames/0/partcles/N"]),
        "sciformats: gsd/hoomd-log.gsd: no object named \"/frames/0/partcles/N\" (did you mean /frames/0/particles/N?)\n"
    );
    assert!(stderr(3, &["cat", "rawarray/lz4.ra", "--limit-memory", "16"]).contains("--limit-memory"));
    let none = stderr(3, &["nofile.h5"]);
    assert_eq!(none, "sciformats: cannot open nofile.h5: no such file, and no command has this name\n");
    if cfg!(feature = "tables") {
        let sql = |from: &str| stderr(3, &["sql", &format!("SELECT * FROM {from}")]);
        let named = sql("\"gsd/hoomd-log\"");
        assert!(named.contains("hoomd-log.gsd") && named.contains("\"FILE:/PATH\""), "{named}");
        let near = sql("\"gsd/hoomd-log.gsd:/lag\"");
        assert!(near.contains("gsd/hoomd-log.gsd:/lag"), "{near}");
    }
    // One file that cannot be read does not keep the others from being told.
    let output = run(&["info", "--json", "no such file", "rawarray/f4.ra"]);
    assert_eq!(output.status.code(), Some(3));
    let json: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["format"], "rawarray");
}

#[test]
fn json_is_json_on_every_command() {
    for args in [
        &["info", "--json", "gsd/types.gsd"][..],
        &["ls", "--json", "--attrs", "gsd/types.gsd", "/frames/0"],
        &["cat", "--json", "gsd/types.gsd", "/frames/0/u16"],
        &["attrs", "--json", "gsd/types.gsd"],
        &["verify", "--json", "gsd/types.gsd"],
        &["inspect", "--json", "gsd/types.gsd"],
        &["manifest", "--json", "gsd/types.gsd"],
        &["diff", "--json", "gsd/types.gsd", "gsd/types.gsd"],
        &["plot", "--json", "gsd/types.gsd", "/frames/0/u16"],
        &["convert", "--json", "--dry-run", "gsd/types.gsd", "x.h5"],
    ] {
        for line in stdout(0, args).lines() {
            assert!(serde_json::from_str::<Json>(line).is_ok(), "{args:?}: {line}");
        }
    }
    // Some files of the folder cannot be read.
    for line in stdout(3, &["ls", "--json", "-rl", "."]).lines() {
        assert!(serde_json::from_str::<Json>(line).is_ok(), "{line}");
    }
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let dir = tempfile::tempdir().unwrap();
    let path = raw_array(dir.path(), "large.ra", &[1 << 18], &vec![0.0; 1 << 18]);
    let mut child = program()
        .args(["cat", "--all", path.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut start = [0; 4];
    child.stdout.take().unwrap().read_exact(&mut start).unwrap(); // dropped here: the pipe is closed
    assert_eq!(&start, b"[0.0");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_status_4() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = program().args(["info", "rawarray/f4.ra"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stderr).contains("the output cannot be written"));
    assert_eq!(run(&["man", "/proc/nowhere"]).status.code(), Some(4));
}

#[test]
fn completions_and_manual_pages() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(stdout(0, &["completions", shell]).contains("manifest"), "{shell}");
    }
    let dir = tempfile::tempdir().unwrap();
    stdout(0, &["man", dir.path().to_str().unwrap()]);
    let mut pages: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|page| page.unwrap().file_name().into_string().unwrap())
        .collect();
    pages.sort();
    assert!(
        pages.contains(&"sciformats.1".to_owned()) && pages.contains(&"sciformats-cat.1".to_owned()),
        "{pages:?}"
    );
    let commands = [
        "info",
        "ls",
        "cat",
        "attrs",
        "manifest",
        "diff",
        "verify",
        "inspect",
        "plot",
        "stats",
        "find",
        "view",
        "convert",
        "repack",
        "explode",
        "implode",
        "edit",
        "completions",
        "man",
    ];
    for command in commands {
        assert!(stdout(0, &[command, "--help"]).contains("Example"), "{command}");
        assert!(pages.contains(&format!("sciformats-{command}.1")), "{command}");
    }
}

#[test]
fn folders_are_verified_file_by_file() {
    let text = stdout(0, &["verify", "blosc2/sparse.b2frame"]);
    assert!(text.starts_with("blosc2/sparse.b2frame: sound"), "{text}");
    let text = stdout(0, &["verify", "blosc2/sparse.b2frame", "rawarray/f4.ra"]);
    assert_eq!(text.lines().count(), 2);
    // All of a folder, damaged ones too, and some that are of no format; programs are told who is to blame.
    let lines: Vec<Json> = stdout(3, &["verify", "--json", "gsd"])
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(lines.iter().any(|line| line["file"] == "gsd/hoomd-log.gsd" && line["ok"] == true));
    assert!(lines.iter().any(|line| line["ok"] == false));
    assert!(lines.iter().filter(|line| line["error"].is_string()).all(|line| line["blame"].is_string()));
}

#[test]
fn a_file_and_a_path_in_one_word() {
    let log = "gsd/hoomd-log.gsd:/log/energy";
    let energy = stdout(0, &["cat", "gsd/hoomd-log.gsd", "/log/energy"]);
    assert_eq!(stdout(0, &["cat", log]), energy);
    let both = stdout(0, &["cat", log, "rawarray/scalar.ra"]);
    assert!(both.contains(energy.trim_end()) && both.contains("rawarray/scalar.ra"), "{both}");
    let listed = stdout(0, &["ls", "gsd/hoomd-log.gsd:/frames/0", "gsd/types.gsd:/frames/0"]);
    assert_eq!(listed.matches(" /frames/0").count(), 2, "{listed}");
    let dir = tempfile::tempdir().unwrap();
    let new = dir.path().join("new.h5");
    let new = new.to_str().unwrap();
    stdout(0, &["convert", "gsd/hoomd-log.gsd:/frames/1", new, "--lossy"]);
    let there = stdout(0, &["ls", "-r", "--json", new]);
    assert!(there.contains("\"/frames/1/") && !there.contains("\"/frames/2"), "{there}");
    for command in ["manifest", "inspect"] {
        let said = stderr(3, &[command, log]);
        assert!(said.contains("write gsd/hoomd-log.gsd without /log/energy"), "{command}: {said}");
    }
    stdout(0, &["info", log]);
    stdout(0, &["verify", log]);
    let said = stderr(2, &["cat", "rawarray/f4.ra", "/no file", "rawarray/f4.ra"]);
    assert!(said.contains("comes last"), "{said}");
}

#[test]
fn paths_for_the_completion_of_shells() {
    let of = |words: &[&str]| stdout(0, &[&["--quiet", "paths", "--"], words].concat());
    let gsd = "gsd/hoomd-log.gsd";
    assert_eq!(of(&["cat", gsd, "/f"]), "/frames/\n");
    assert!(of(&["cat", gsd, ""]).contains("/log\n"));
    assert!(of(&["cat", gsd, "/frames/0/particles/N"]).starts_with("/frames/0/particles/N"));
    assert!(of(&["convert", gsd, "x.h5", "--select", "/fr"]).contains("/frames/\n"));
    assert_eq!(stdout(1, &["paths", "--", "plot", gsd, "--kind", ""]), "");
}

#[test]
fn one_cut_is_one_fault() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cut.h5");
    let whole = fs::read(fixtures().join("hdf5/filters.h5")).unwrap();
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let text = stdout(1, &["verify", path.to_str().unwrap()]);
    let mut lines: Vec<&str> = text.lines().collect();
    let last = lines.pop().unwrap();
    let told = lines.len();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(told, lines.len(), "{text}");
    assert!(last.contains(&format!("{told} fault")), "{text}");
}

#[test]
fn a_cut_file_in_a_folder_is_told_after_the_others_were_listed() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().to_str().unwrap();
    let whole = fs::read(fixtures().join("hdf5/filters.h5")).unwrap();
    fs::write(dir.path().join("z.h5"), &whole).unwrap();
    stdout(0, &["ls", folder]);
    fs::write(dir.path().join("a.h5"), &whole[..whole.len() - 1]).unwrap();
    for options in [&["ls", folder][..], &["ls", "-r", folder], &["ls", "--json", folder]] {
        assert!(stderr(3, options).contains("a.h5: it was cut short"));
        let listed = stdout(3, options);
        assert!(listed.contains("a.h5") && listed.contains("z.h5"), "{listed}");
    }
}

#[test]
fn notes_losses_and_advice_fit_the_terminal() {
    let narrow = Program::in_fixtures().with("COLUMNS", "80");
    let folder = tempfile::tempdir().unwrap();
    let new = folder.path().join("new.asdf").display().to_string();
    let said = narrow.stdout(1, &["convert", "--dry-run", "hdf5/types-latest.h5", &new]);
    // The names of the files stand on lines of their own.
    let told = said.lines().filter(|line| line.starts_with("  "));
    assert!(told.clone().count() > 5 && told.clone().all(|line| line.chars().count() <= 80), "{said}");
    let note = "truth values are an enumeration in HDF5 and `bool` in other formats  1 time";
    let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>().join(" ");
    assert!(words(&said).contains(&words(note)), "{said}");
    let said = narrow.stdout(1, &["advise", "hdf5/indexes-earliest.h5"]);
    // The command of the plan is to be copied.
    let long: Vec<&str> = said.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(long.iter().all(|line| line.starts_with("  sciformats repack ")) && long.len() == 1, "{long:#?}");
    assert!(words(&said).contains("warning filter /single: its elements take"), "{said}");
}
