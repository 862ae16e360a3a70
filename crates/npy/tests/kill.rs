//! A process that edits a file is killed at random moments, again and again. Everything that it reported as committed must be in
//! the file afterwards.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test fails by panicking")]
#![cfg(unix)]

use std::time::Duration;

use npy::{Editor, Reader};
use sciformats_core::commit::kill::{example, killed};

const KILLS: usize = 200;
/// The number of kills after which a new file is begun, so that checking every row stays fast.
const PER_FILE: usize = 20;
const ROW: u64 = 100;

#[test]
fn a_killed_editor_loses_nothing_that_it_committed() {
    let program = example("edits_until_killed").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (mut rows, mut acknowledged) = (0, 0);
    let mut random = 0x9E37_79B9_7F4A_7C15u64;
    for round in 0..KILLS {
        let path = dir.path().join(format!("{}.npy", round / PER_FILE));
        if round % PER_FILE == 0 {
            npy::write(&path, &[1, ROW], &(0..ROW).collect::<Vec<_>>()).unwrap();
            rows = 1;
        }
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // Half of the processes may be killed while they open the file.
        let awaited = round % 2 == 0;
        let committed = killed(&program, &path, Duration::from_micros(random % 10_000), awaited).unwrap();
        assert!(committed >= rows || !awaited, "kill {round}: nothing was reported");
        // Readers see a complete array both before and after the next editor recovers the file.
        let mut found = 0;
        for recovered in [false, true] {
            if recovered {
                drop(Editor::open(&path).unwrap());
                assert_eq!(Reader::open(&path).unwrap().leftover(), 0);
            }
            let reader = Reader::open(&path).unwrap();
            found = reader.shape()[0];
            let elements = reader.read::<u64>().unwrap();
            assert!(elements.iter().skip(1).copied().eq(1..found * ROW), "kill {round}");
            // A process that was killed between its two edits has appended a row without recording it.
            assert!(elements[0] < found, "kill {round}: {} of {found}", elements[0]);
            assert!(elements[0] >= committed, "kill {round}: {committed} were committed");
        }
        assert!(
            found > committed && found >= rows,
            "kill {round}: {committed} were committed, {found} rows are there"
        );
        acknowledged += found - rows;
        rows = found;
    }
    assert!(acknowledged > 0);
    println!("crash matrix: npy: edits in place: {KILLS} kills");
}
