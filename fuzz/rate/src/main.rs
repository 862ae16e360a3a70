//! Runs the bodies of the slowest fuzz targets, without the fuzzer, and prints how many runs a second they make.
//!
//! The inputs are the seeds of the target, and mutants of them: bytes changed, pieces removed, inserted and copied, as a
//! fuzzer would make them. The slowest inputs are named, because they say what to look at.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[path = "../../../crates/hdf5-pure/tests/support/arbitrary.rs"]
mod arbitrary;
#[path = "../../../crates/hdf5-pure/tests/support/array.rs"]
mod array;
#[path = "../../bodies/gsd_read.rs"]
mod gsd_read;
#[path = "../../bodies/hdf5_round_trip.rs"]
mod hdf5_round_trip;
#[path = "../../../crates/hdf5-pure/tests/support/recorded.rs"]
#[allow(dead_code, reason = "room and steps are of use to tests")]
mod recorded;

/// A target: its name, its body, and where its seeds are.
type Target = (&'static str, fn(&[u8]), Option<&'static str>);

const TARGETS: [Target; 2] = [
    ("gsd_read", gsd_read::run, Some("../../fixtures/gsd")),
    ("hdf5_round_trip", hdf5_round_trip::run, None),
];

fn main() {
    let mut words = env::args().skip(1);
    let wanted = words.next();
    let seconds = words.next().and_then(|word| word.parse().ok()).unwrap_or(10);
    for (name, body, seeds) in TARGETS {
        if wanted.as_ref().is_none_or(|wanted| wanted == name) {
            measure(name, body, seeds, Duration::from_secs(seconds));
        }
    }
}

/// Half of the inputs are mutants of the seeds, and half are mutants of the slowest inputs so far, because a fuzzer keeps these
/// too: whatever takes long usually reaches more code.
fn measure(name: &str, body: fn(&[u8]), seeds: Option<&str>, time: Duration) {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut inputs = match seeds {
        Some(folder) => files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)),
        None => (0..50).map(|_| ("random".to_owned(), (0..300).map(|_| random.byte()).collect())).collect(),
    };
    let seeds = inputs.clone();
    let mut slowest: Vec<(Duration, String, Vec<u8>)> = Vec::new();
    let mut times = [Vec::new(), Vec::new()];
    let begin = Instant::now();
    while begin.elapsed() < time {
        let from_slowest = inputs.is_empty() && random.below(2) == 1;
        let (seed, input) = match inputs.pop() {
            Some(whole) => whole,
            None if from_slowest => {
                let (_, seed, bytes) = &slowest[random.below(slowest.len())];
                (seed.clone(), random.mutant(bytes))
            }
            None => {
                let (seed, bytes) = &seeds[random.below(seeds.len())];
                (seed.clone(), random.mutant(bytes))
            }
        };
        let start = Instant::now();
        body(&input);
        let took = start.elapsed();
        times[usize::from(from_slowest)].push(took);
        let place = slowest.partition_point(|(other, ..)| *other > took);
        if place < KEPT {
            slowest.insert(place, (took, seed, input));
            slowest.truncate(KEPT);
        }
    }
    println!("{name}:");
    for (from, mut times) in ["seeds", "slowest inputs"].into_iter().zip(times) {
        times.sort();
        let sum: Duration = times.iter().sum();
        let rate = times.len() as f64 / sum.as_secs_f64().max(f64::MIN_POSITIVE);
        let middle = times.get(times.len() / 2).copied().unwrap_or_default();
        println!("  mutants of {from}: {} runs, {rate:.0} a second, median {middle:?}", times.len());
    }
    for (took, seed, input) in slowest.iter().take(5) {
        println!("  {took:?}  {} bytes  from {seed}", input.len());
    }
}

/// How many of the slowest inputs are kept.
const KEPT: usize = 30;

/// The files below a folder, but for expected manifests.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::from(folder)];
    while let Some(folder) = open.pop() {
        let entries = fs::read_dir(&folder).expect("the fixtures are there");
        for path in entries.map(|entry| entry.expect("a folder can be read").path()) {
            if path.is_dir() {
                if !path.ends_with("expected") {
                    open.push(path);
                }
            } else {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                found.push((name, fs::read(&path).expect("a fixture can be read")));
            }
        }
    }
    found.sort();
    found
}

/// Numbers that are the same in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }

    fn mutant(&mut self, seed: &[u8]) -> Vec<u8> {
        let mut bytes = seed.to_vec();
        for _ in 0..1 + self.below(4) {
            if bytes.is_empty() {
                return bytes;
            }
            let at = self.below(bytes.len());
            let end = (at + 1 + self.below(16)).min(bytes.len());
            match self.below(5) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = self.byte(),
                2 => drop(bytes.drain(at..end)),
                3 => {
                    let piece = bytes[at..end].to_vec();
                    let to = self.below(bytes.len());
                    bytes.splice(to..to, piece);
                }
                _ => bytes.truncate(at.max(1)),
            }
        }
        bytes
    }
}
