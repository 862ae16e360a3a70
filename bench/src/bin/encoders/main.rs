//! Encoders of deflate and LZ4 beside those of other libraries, at equal compressed size.
//!
//! A level of one encoder says nothing about a level of another, so times at equal levels cannot be compared. Each peer
//! therefore makes streams that are as large as ours: a part of the chunks is encoded at one of its levels and the rest at the
//! next weaker one, as many as it takes to meet our size. Where the strongest level of a peer stays larger than ours by more
//! than one percent, the row says by how much and has no ratio. Where its weakest level is smaller, that level is used.

mod data;
mod own;
mod peers;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, OnceLock, PoisonError};

use harness::{Bench, Case, Outcome, Watch};

use data::{CHUNK, KINDS};
use peers::{Encode, Peer};

/// Rounds of a row: each is short, and the machine may be in use.
const ROUNDS: usize = 11;
/// How often the chunks are encoded in one round.
const TIMES: usize = 2;
/// How much larger than ours the streams of a peer may be and still count as equally large.
const TOLERANCE: f64 = 1.01;

/// One of our encoders, at the levels of which there are rows.
struct Ours {
    name: &'static str,
    levels: &'static [u32],
    goal: f64,
    encoder: fn() -> Encode,
    peers: &'static [Peer],
    /// Whether zlib-ng is a peer too. It is called from Python, whose packages contain it built.
    with_zlib_ng: bool,
}

fn main() -> ExitCode {
    let mut bench = Bench::new("encoders", "python/encoders.py");
    for ours in own::ENCODERS {
        for kind in KINDS {
            for &level in ours.levels {
                bench = bench.case(case(ours, kind, level));
            }
        }
    }
    bench.main()
}

fn case(ours: &'static Ours, kind: &'static str, level: u32) -> Case {
    // The name lives as long as the program.
    let name: &'static str = format!("{} {level}, {kind}", ours.name).leak();
    let form = if kind.ends_with("shuffled") { "shuffled" } else { "plain" };
    let mut case = Case::new(name, ours.goal)
        .rounds(ROUNDS)
        .cell(format!("{}, {form} data", ours.name), kind, format!("level {level}"))
        .prepare(move |folder| data::write(folder, kind))
        .ours(move |folder, watch| {
            let data = data::read(folder, kind)?;
            let size = encode(ours.encoder, &vec![level; data.len().div_ceil(CHUNK)], data, watch)?;
            Ok(std::fs::write(size_file(folder, name), size.to_string())?)
        });
    for peer in ours.peers {
        case = case.rust(peer.name, move |folder, watch| {
            let data = data::read(folder, kind)?;
            encode(peer.encoder, equal(name, peer, folder, data)?, data, watch).map(drop)
        });
    }
    if ours.with_zlib_ng { case.python("zlib-ng") } else { case }
}

fn size_file(folder: &Path, case: &str) -> PathBuf {
    folder.join(format!("size of {}", case.replace(['/', ','], "")))
}

/// Encodes each chunk at its level. Returns the number of bytes.
fn encode(encoder: fn() -> Encode, levels: &[u32], data: &[u8], watch: &mut Watch) -> Outcome<usize> {
    static KEPT: Mutex<Option<(Encode, Vec<u8>)>> = Mutex::new(None);
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let (encode, out) = kept.get_or_insert_with(|| (encoder(), vec![1; 2 * CHUNK]));
    let mut size = 0;
    watch.time(|| -> Outcome {
        for _ in 0..TIMES {
            size = 0;
            for (chunk, level) in data.chunks(CHUNK).zip(levels) {
                size += encode(*level, chunk, out)?;
            }
        }
        Ok(())
    })?;
    Ok(size)
}

/// The level of each chunk with which the peer meets our size.
fn equal(case: &str, peer: &Peer, folder: &Path, data: &[u8]) -> Outcome<&'static [u32]> {
    static LEVELS: OnceLock<Vec<u32>> = OnceLock::new();
    if let Some(levels) = LEVELS.get() {
        return Ok(levels);
    }
    let target: usize = std::fs::read_to_string(size_file(folder, case))?.parse()?;
    let mut encode = (peer.encoder)();
    let mut out = vec![1; 2 * CHUNK];
    let mut sizes = |level| -> Outcome<Vec<usize>> {
        data.chunks(CHUNK).map(|chunk| encode(level, chunk, &mut out)).collect()
    };
    let mut weaker: Option<(u32, Vec<usize>)> = None;
    let mut smallest = usize::MAX;
    for &level in peer.levels {
        let stronger = sizes(level)?;
        let all: usize = stronger.iter().sum();
        smallest = smallest.min(all);
        if all as f64 > TOLERANCE * target as f64 {
            weaker = Some((level, stronger));
            continue;
        }
        let mut levels = vec![level; stronger.len()];
        let mut size = all;
        if let Some((weak, weak_sizes)) = weaker {
            // As many chunks as possible stay at the weaker level.
            for (slot, (weak_size, strong_size)) in levels.iter_mut().zip(weak_sizes.iter().zip(&stronger)) {
                if size + weak_size > target.max(all) + strong_size {
                    break;
                }
                size = size + weak_size - strong_size;
                *slot = weak;
            }
        }
        let first = levels[0];
        eprintln!(
            "{}: levels {first} and {level}, {:.4} of our size",
            peer.name,
            size as f64 / target as f64
        );
        return Ok(LEVELS.get_or_init(|| levels));
    }
    Err(format!("its smallest size is {:.3} of ours", smallest as f64 / target as f64).into())
}
