//! How time and memory grow: every format over four decades of objects, chunks, frames or bytes, and with threads.

mod asdf;
mod blosc2;
mod facade;
mod gsd;
mod hdf5;
mod rawarray;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use harness::{Outcome, Scaling};

/// The most bytes and things that a file of a series has.
const BYTES: (u64, &str) = (1_000_000_000, "bytes");
const MOST: u64 = 100_000;

fn main() -> ExitCode {
    Scaling::default()
        .subject("HDF5", hdf5::objects().into_iter().chain(hdf5::chunks()).chain(hdf5::bytes()))
        .subject("ASDF", asdf::series())
        .subject("Blosc2", blosc2::series())
        .subject("GSD", gsd::series())
        .subject("RawArray", rawarray::series())
        .subject("sciformats", facade::series())
        .main()
}

fn expect(right: bool) -> Outcome {
    if right { Ok(()) } else { Err("other values".into()) }
}

/// Numbers that compress as measurements do.
fn numbers(count: u64) -> Vec<f32> {
    let mut state = 1u64;
    (0..count)
        .map(|i| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((i >> 6) * 4 + (state >> 60)) as f32
        })
        .collect()
}

/// A file that several series read is written once.
fn once(path: PathBuf, write: impl FnOnce(&Path) -> Outcome) -> Outcome {
    if path.exists() { Ok(()) } else { write(&path) }
}
