//! A process that appends frames is killed at random moments, again and again. Nothing that it reported as committed
//! may be missing afterwards.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]
#![cfg(unix)]

mod common;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use common::{check, example, options};
use gsd_rs::{Reader, Version, Writer};

const KILLS: usize = 200;
/// Kills after which a new file is begun, so that checking every frame stays quick.
const PER_FILE: usize = 20;

/// Kills a process that appends this long after it was started or, with `awaited`, after its first commit. Gives the number of
/// frames that it last reported.
fn kill_one(path: &Path, after: Duration, awaited: bool) -> u64 {
    let mut child = Command::new(example("appends_until_killed"))
        .arg(path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (first, begun) = channel();
    let reader = std::thread::spawn(move || {
        // The last line may be cut; the one before it counts then.
        let lines = lines.map_while(Result::ok);
        let numbers = lines.filter_map(|line| line.strip_prefix("committed ")?.parse().ok());
        numbers.inspect(|_| first.send(()).unwrap_or_default()).max()
    });
    if awaited {
        begun.recv_timeout(Duration::from_secs(60)).expect("the process commits nothing");
    }
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap().unwrap_or(0)
}

#[test]
fn resilient_to_job_kills_200_times_without_losing_a_committed_frame() {
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
        // Half of them may be killed while they open the file.
        let awaited = round % 2 == 0;
        let committed = kill_one(&path, Duration::from_micros(random % 10_000), awaited);
        assert!(committed > frames || !awaited, "kill {round}: nothing was reported");
        let found = check(&Reader::open(&path).unwrap());
        assert!(found >= committed, "kill {round}: {committed} frames were committed, {found} are there");
        assert!(found >= frames, "kill {round}: frames of an earlier process are lost");
        acknowledged += committed.saturating_sub(frames);
        beyond += found - committed.max(frames);
        frames = found;
    }
    println!(
        "{KILLS} kills in {:.1} s: {acknowledged} frames reported as committed, 0 lost; {beyond} more were complete",
        start.elapsed().as_secs_f64()
    );
}
