//! Changes the metadata of files and corrects their checksums. Every read must end, without a panic.
//!
//! Changed bytes alone would find few errors, because most structures end in a checksum.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

#[path = "support/exercise.rs"]
mod exercise;
#[path = "support/fixtures.rs"]
mod fixtures;
#[path = "support/memory.rs"]
mod memory;

use std::path::Path;

use fixtures::fixtures;
use hdf5_pure::File;
use hdf5_pure::structure::checksum;
use memory::resident;

/// The starts and ends of structures.
type Seals = Vec<(usize, usize)>;

/// Returns the structures that end in a checksum.
fn sealed(bytes: &[u8]) -> Seals {
    const MARKS: [&[u8; 4]; 19] = [
        b"OHDR", b"OCHK", b"BTHD", b"BTIN", b"BTLF", b"FRHP", b"FHIB", b"FAHD", b"FADB", b"EAHD", b"EAIB",
        b"EASB", b"EADB", b"SMTB", b"SMLI", b"FSHD", b"FSSE", b"MDCI", b"\x89HDF",
    ];
    let mut found = Vec::new();
    for start in 0..bytes.len().saturating_sub(8) {
        if !MARKS.iter().any(|mark| bytes[start..].starts_with(&mark[..])) {
            continue;
        }
        let ends = start + 8..bytes.len().saturating_sub(3).min(start + 2100);
        let end =
            ends.into_iter().find(|&end| bytes[end..end + 4] == checksum(&bytes[start..end]).to_le_bytes());
        found.extend(end.map(|end| (start, end)));
    }
    found
}

/// A small generator of pseudo-random numbers.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below.max(1)
    }
}

#[test]
fn five_thousand_mutants() {
    let mut numbers = Numbers(1);
    let files: Vec<(Vec<u8>, Seals)> = fixtures(".")
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .map(|bytes| {
            let sealed = sealed(&bytes);
            (bytes, sealed)
        })
        .collect();
    let before = resident("VmRSS:");
    let mut opened = 0;
    for number in 0..5000 {
        let (bytes, seals) = &files[number % files.len()];
        let mut mutant = bytes.clone();
        for _ in 0..1 + numbers.next(3) {
            let (start, end) = match seals.get(numbers.next(seals.len() + 1)) {
                Some(&part) => part,
                None => (0, mutant.len()),
            };
            let at = start + numbers.next(end - start);
            let value = [0, 1, 0x7f, 0x80, 0xff, numbers.next(256) as u8][numbers.next(6)];
            let width = [1, 1, 2, 4, 8][numbers.next(5)];
            mutant[at..end.min(at + width)].fill(value);
        }
        for &(start, end) in seals {
            let sum = checksum(&mutant[start..end]).to_le_bytes();
            mutant[end..end + 4].copy_from_slice(&sum);
        }
        if let Ok(file) = File::from_storage(mutant, &exercise::options()) {
            exercise::exercise(&file);
            opened += 1;
        }
    }
    assert!(opened > 1000, "{opened} mutants could be opened");
    let most = resident("VmHWM:").zip(before).map_or(0, |(most, before)| most.saturating_sub(before));
    println!("{opened} of 5000 mutants could be opened; memory grew by {} KiB at most", most >> 10);
    assert!(most < (64 << 20) + exercise::options().limits.memory, "{most}");
}

#[test]
fn hostile_files_end() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hdf5/hostile");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        if let Ok(file) = File::open_with(entry.unwrap().path(), &exercise::options()) {
            exercise::exercise(&file);
        }
        files += 1;
    }
    assert!(files > 10);
}
