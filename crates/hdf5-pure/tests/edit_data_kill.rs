//! Kills a process that appends to datasets at random moments, many times. Nothing that it reported as committed may be missing
//! afterwards, and all parts of a commit must agree.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]
#![cfg(unix)]

use std::path::Path;
use std::time::{Duration, Instant};

use hdf5_pure::options::Bound;
use hdf5_pure::{CreateOptions, File, Writer};
use sciformats_core::commit::kill::{example, killed};

const KILLS: usize = 200;
/// The number of kills after which a new file is created.
const PER_FILE: usize = 20;

fn create(path: &Path, round: usize) {
    let bound = if round.is_multiple_of(2) { Bound::V110 } else { Bound::Earliest };
    let mut file = Writer::create_with(path, &CreateOptions::default().with_bound(bound)).unwrap();
    let rows = file.dataset("rows").shape([0, 4]).max_shape([None, Some(4)]).chunks([8, 3]);
    let rows = if round.is_multiple_of(4) { rows.shuffle().fletcher32() } else { rows };
    rows.create::<u64>().unwrap();
    file.dataset("flat").write(&[0u64; 600]).unwrap();
    file.finish().unwrap();
}

/// Returns the number of rows in the file, after checking that all its parts agree.
fn check(path: &Path) -> u64 {
    let file = File::open(path).unwrap();
    let dataset = file.dataset("rows").unwrap();
    let rows = dataset.shape()[0];
    let expected: Vec<u64> = (0..rows).flat_map(|row| (0..4).map(move |column| row * 7 + column)).collect();
    assert_eq!(dataset.read::<u64>().unwrap(), expected);
    assert_eq!(file.dataset("flat").unwrap().read::<u64>().unwrap(), [rows; 600]);
    rows
}

#[test]
fn killed_200_times_without_losing_a_committed_row() {
    let program = example("rows_until_killed").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let start = Instant::now();
    let (mut acknowledged, mut beyond, mut rows) = (0, 0, 0);
    let mut random = 0x9E37_79B9_7F4A_7C15u64;
    for round in 0..KILLS {
        let path = folder.path().join(format!("{}.h5", round / PER_FILE));
        if round % PER_FILE == 0 {
            create(&path, round / PER_FILE);
            rows = 0;
        }
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // Half of the processes may be killed while they open the file.
        let awaited = round % 2 == 0;
        let committed = killed(&program, &path, Duration::from_micros(random % 10_000), awaited).unwrap();
        assert!(committed > rows || !awaited, "kill {round}: nothing was reported");
        let found = check(&path);
        assert!(found >= committed, "kill {round}: {committed} rows were committed, {found} were found");
        assert!(found >= rows, "kill {round}: rows of an earlier process are lost");
        acknowledged += committed.saturating_sub(rows);
        beyond += found - committed.max(rows);
        rows = found;
    }
    println!("crash matrix: hdf5: elements and extents: {KILLS} kills");
    println!(
        "{KILLS} kills in {:.1} s: {acknowledged} rows reported as committed, 0 lost; {beyond} more were complete",
        start.elapsed().as_secs_f64()
    );
}
