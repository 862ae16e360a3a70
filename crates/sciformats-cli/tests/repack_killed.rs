//! A `repack` that is killed leaves the file that was there, or the whole new one.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints what it counted"
)]

mod common;

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use common::{Program, fixtures};
use sciformats::File;
use sciformats::compare::{self, compare};

/// Of each format the file that is repacked, and the one that it takes the place of.
const FILES: [(&str, &str, &str); 5] = [
    ("hdf5", "narrow-earliest.h5", "indexes-latest.h5"),
    ("asdf", "compression-zlib.asdf", "inline.asdf"),
    ("blosc2", "zstd.b2frame", "lz4.b2frame"),
    ("gsd", "grown.gsd", "layer-1.0.gsd"),
    ("rawarray", "f4.ra", "c8.ra"),
];

const KILLS: u32 = 40;

#[test]
fn a_kill_leaves_the_old_file_or_the_new_one() {
    for (format, new, old) in FILES {
        let folder = tempfile::tempdir().unwrap();
        let (input, output) = (fixtures().join(format).join(new), folder.path().join(old));
        let before = fs::read(fixtures().join(format).join(old)).unwrap();
        let mut kept = 0;
        for round in 0..KILLS {
            fs::write(&output, &before).unwrap();
            let mut command = Program::at(folder.path()).command();
            command.args(["repack", "--force"]).args([&input, &output]).stdin(Stdio::null());
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(Duration::from_micros(250) * round);
            child.kill().unwrap();
            child.wait().unwrap();
            if fs::read(&output).unwrap() == before {
                kept += 1;
            } else {
                assert!(same(&input, &output), "{format}, kill {round}");
            }
        }
        assert!(kept > 0, "{format}: no kill came in time");
        println!("crash matrix: {format}: files repacked: {KILLS} kills");
    }
}

fn same(one: &Path, other: &Path) -> bool {
    let (one, other) = (File::open(one).unwrap(), File::open(other).unwrap());
    compare(&one, &other, &compare::Options::exact(), &mut |_| ControlFlow::Continue(())).is_same()
}
