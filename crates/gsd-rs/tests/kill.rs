//! A process that appends frames is killed at random moments, again and again. All frames that it reported as committed must be
//! in the file afterwards.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test fails by panicking")]
#![cfg(unix)]

use std::time::{Duration, Instant};

use crate::common::{check, options};
use gsd_rs::{Reader, Version, Writer};
use sciformats_core::commit::kill::{example, killed};

const KILLS: usize = 200;
/// The number of kills after which a new file is begun, so that checking every frame stays fast.
const PER_FILE: usize = 20;

#[test]
fn resilient_to_job_kills_200_times_without_losing_a_committed_frame() {
    let program = example("appends_until_killed").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let start = Instant::now();
    let (mut acknowledged, mut beyond, mut frames) = (0, 0, 0);
    let mut random = 0x9E37_79B9_7F4A_7C15u64;
    for round in 0..KILLS {
        let path = dir.path().join(format!("{}.gsd", round / PER_FILE));
        if round % PER_FILE == 0 {
            let layer =
                if (round / PER_FILE).is_multiple_of(2) { Version::new(2, 1) } else { Version::new(1, 0) };
            Writer::create(&path, &options().with_layer(layer)).unwrap().finish().unwrap();
            frames = 0;
        }
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // Half of the processes may be killed while they open the file.
        let awaited = round % 2 == 0;
        let committed = killed(&program, &path, Duration::from_micros(random % 10_000), awaited).unwrap();
        assert!(committed > frames || !awaited, "kill {round}: nothing was reported");
        let found = check(&Reader::open(&path).unwrap());
        assert!(found >= committed, "kill {round}: {committed} frames were committed, {found} are there");
        assert!(found >= frames, "kill {round}: frames of an earlier process are lost");
        acknowledged += committed.saturating_sub(frames);
        beyond += found - committed.max(frames);
        frames = found;
    }
    println!("crash matrix: gsd: appended frames: {KILLS} kills");
    println!(
        "{KILLS} kills in {:.1} s: {acknowledged} frames reported as committed, 0 lost; {beyond} more were complete",
        start.elapsed().as_secs_f64()
    );
}

#[test]
fn a_file_that_cannot_be_created_leaves_nothing() {
    let program = example("hoomd").unwrap();
    let dir = tempfile::tempdir().unwrap();
    // A process that may not write a single byte to a file meets the same as one on a full device.
    let mut shell = std::process::Command::new("sh");
    shell
        .args(["-c", r#"trap "" XFSZ; ulimit -f 0; exec "$0" "$1""#])
        .arg(program)
        .arg(dir.path().join("a.gsd"));
    assert!(!shell.output().unwrap().status.success());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}
