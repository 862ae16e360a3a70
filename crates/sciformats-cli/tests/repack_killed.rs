//! A `repack` that is killed leaves the file that was there, or the whole new one.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints what it counted"
)]

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Instant;

use crate::common::{Program, fixtures};
use sciformats::File;
use sciformats_convert::compare::{self, compare};

/// Of each format the file that is repacked, and the one that it takes the place of.
const FILES: [(&str, &str, &str); 5] = [
    ("hdf5", "narrow-earliest.h5", "indexes-latest.h5"),
    ("asdf", "compression-zlib.asdf", "inline.asdf"),
    ("blosc2", "zstd.b2frame", "lz4.b2frame"),
    ("gsd", "grown.gsd", "layer-1.0.gsd"),
    ("rawarray", "f4.ra", "c8.ra"),
];

/// Kills of each format that came while the program ran.
const KILLS: u32 = 40;

#[test]
fn a_kill_leaves_the_old_file_or_the_new_one() {
    for (format, new, old) in FILES {
        let folder = tempfile::tempdir().unwrap();
        let (input, output) = (fixtures().join(format).join(new), folder.path().join(old));
        let before = fs::read(fixtures().join(format).join(old)).unwrap();
        fs::write(&output, &before).unwrap();
        let start = Instant::now();
        assert!(repack(folder.path(), &input, &output).wait().unwrap().success());
        let mut took = start.elapsed();
        assert_ne!(fs::read(&output).unwrap(), before, "{format}: one that is not killed makes the new file");
        assert!(same(&input, &output));
        let (mut kills, mut late) = (0, 0);
        while kills < KILLS {
            fs::write(&output, &before).unwrap();
            let mut child = repack(folder.path(), &input, &output);
            std::thread::sleep(took * kills / KILLS);
            child.kill().unwrap();
            if child.wait().unwrap().success() {
                // It was done before; another one is tried, a little earlier: the first run may have been a slow one.
                late += 1;
                took = took * 49 / 50;
                assert!(late < 100 * KILLS, "{format}: the kills come too late");
                continue;
            }
            kills += 1;
            assert!(
                fs::read(&output).unwrap() == before || same(&input, &output),
                "{format}, kill {kills}: neither the old file nor the new one"
            );
        }
        // What the kills left goes with the next run.
        assert!(repack(folder.path(), &input, &output).wait().unwrap().success());
        let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let left: Vec<_> = names.filter(|name| name.to_string_lossy().ends_with(".partial")).collect();
        assert!(left.is_empty(), "{format}: {left:?}");
        println!("crash matrix: {format}: files repacked: {KILLS} kills");
    }
}

fn repack(folder: &Path, input: &Path, output: &Path) -> Child {
    let mut command = Program::at(folder).command();
    command.args(["repack", "--force"]).args([input, output]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn same(one: &Path, other: &Path) -> bool {
    let (one, other) = (File::open(one).unwrap(), File::open(other).unwrap());
    compare(&one, &other, &compare::Options::exact(), &mut |_| ControlFlow::Continue(())).is_same()
}
