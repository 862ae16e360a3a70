//! A map of heights, compressed in tiles: `heights [FILE]`, which is made if it is not there.
//!
//! Prints the mean height of a window. Only the blocks that the window touches are decompressed.
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::env;
use std::path::Path;

use cframe::{Array, ArrayParams, Codec, Result};

fn main() -> Result<()> {
    let path = env::args_os().nth(1).unwrap_or_else(|| "heights.b2nd".into());
    println!("{:.3} m above the sea", mean(&open(path.as_ref())?)?);
    Ok(())
}

/// Opens a map of 1000 × 1000 places. If it is not there, it is written first, one tile after the other.
pub(crate) fn open(path: &Path) -> Result<Array> {
    let params = ArrayParams::of::<f32>(&[1000, 1000])?.with_chunks(&[200, 200]).with_blocks(&[50, 50]);
    let params = params.with_codec(Codec::Lz4).with_level(9);
    Array::open_or_create(path, &params, |new| new.fill_with(|[y, x]| (x * y) as f32 / 256.0))
}

/// Returns the mean height of 100 × 100 places in the middle.
pub(crate) fn mean(heights: &Array) -> Result<f64> {
    let window: Vec<f64> = heights.read_slice((450..550, 450..550))?; // whatever the type of the elements
    Ok(window.iter().sum::<f64>() / window.len() as f64)
}
