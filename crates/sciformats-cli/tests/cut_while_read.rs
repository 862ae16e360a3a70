//! Another program cuts a file short, or writes something else over it, while the program reads it: that is an error, and
//! never the end of the process.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints what it counted"
)]

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::common::Program;

/// Each format, the ending of its files, and where its array is.
const FORMATS: [(&str, &str, &str); 5] = [
    ("hdf5", "h5", "/data"),
    ("asdf", "asdf", "/data"),
    ("blosc2", "b2nd", "/"),
    ("gsd", "gsd", "/frames/0/data"),
    ("rawarray", "ra", "/"),
];

/// What reads the file `f`; `g` is the same, and stays.
const COMMANDS: [&[&str]; 5] = [
    &["manifest", "f"],
    &["verify", "f"],
    &["cat", "f", "PATH", "--format", "raw"],
    &["diff", "f", "g"],
    &["repack", "f", "o"],
];

/// Changes of each format and command that came while the program ran.
const CHANGES: u32 = 100;

/// The highest exit status that the program documents.
const HIGHEST: i32 = 4;

#[test]
fn files_that_are_cut_while_they_are_read_are_errors() {
    std::thread::scope(|scope| {
        for formats in [&FORMATS[..2], &FORMATS[2..]] {
            scope.spawn(move || formats.iter().for_each(|format| cut(*format)));
        }
    });
}

fn cut((format, ending, path): (&str, &str, &str)) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    // Numbers that no codec makes small.
    let values: Vec<f64> =
        (0..1 << 16).map(|i: u64| f64::from_bits(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 2)).collect();
    crate::common::raw_array(&folder.join("a.ra"), &[256, 256], &values);
    let program = Program::at(folder);
    let made = format!("g.{ending}");
    let extra: &[&str] =
        if matches!(format, "hdf5" | "blosc2") { &["--chunks", "16,256", "--filter", "zlib"] } else { &[] };
    match format {
        "rawarray" => drop(fs::copy(folder.join("a.ra"), folder.join(&made)).unwrap()),
        _ => drop(program.stdout(0, &[&["convert", "a.ra", &made], extra].concat())),
    }
    let whole = fs::read(folder.join(&made)).unwrap();
    for command in COMMANDS {
        let named = |word: &&str| match *word {
            "f" | "g" | "o" => format!("{word}.{ending}"),
            "PATH" => path.to_owned(),
            word => word.to_owned(),
        };
        let args: Vec<String> = command.iter().map(named).collect();
        let mut counts = Counts::default();
        let start = Instant::now();
        fs::write(folder.join(format!("f.{ending}")), &whole).unwrap();
        assert!(started(folder, &args).wait().unwrap().success(), "{args:?}");
        let took = start.elapsed();
        while counts.changes < CHANGES {
            changed(folder, (&args, ending), &whole, took, &mut counts);
        }
        assert!(counts.errors > 0, "{format}, {args:?}: no change was met, of {CHANGES}");
        println!("crash matrix: {format}: files read by the program: {} truncations", counts.changes);
    }
}

#[derive(Default)]
struct Counts {
    /// Changes that came while the program ran.
    changes: u32,
    /// Of these, those that it met.
    errors: u32,
    /// Changes that came too late.
    late: u32,
}

/// Starts the program, changes the file soon, and looks at how it ends.
fn changed(
    folder: &Path,
    (args, ending): (&[String], &str),
    whole: &[u8],
    took: Duration,
    counts: &mut Counts,
) {
    let (input, output) = (folder.join(format!("f.{ending}")), folder.join(format!("o.{ending}")));
    let _ = fs::remove_file(&output);
    fs::write(&input, whole).unwrap();
    let mut child = started(folder, args);
    std::thread::sleep(took * ((counts.changes + counts.late) % CHANGES) / CHANGES);
    // Some place that follows from the number alone.
    let place = whole.len() as u64 * (u64::from(counts.changes) * 37 % 100) / 100;
    let mut file = OpenOptions::new().write(true).open(&input).unwrap();
    file.set_len(place).unwrap();
    if counts.changes % 2 == 1 {
        file.write_all(&whole[whole.len() / 2..]).unwrap();
    }
    let ended = child.try_wait().unwrap();
    let status = child.wait().unwrap();
    if ended.is_some() {
        counts.late += 1;
        assert!(counts.late < 100 * CHANGES, "{args:?}: the changes come too late");
        return;
    }
    counts.changes += 1;
    let code = status.code();
    assert!(code.is_some_and(|code| code <= HIGHEST), "{args:?}: {status}");
    counts.errors += u32::from(code != Some(0));
    if args.first().is_some_and(|name| name == "repack") {
        assert_eq!(output.exists(), code == Some(0), "{args:?}: what is wrong is not written");
    }
}

fn started(folder: &Path, args: &[String]) -> Child {
    let mut command = Program::at(folder).command();
    command.args(args).args(["--threads", "1"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}
