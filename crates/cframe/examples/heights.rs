//! A map of heights, compressed in tiles: `heights [FILE]`, which is made if it is not there.
//!
//! Prints the mean height of a window. Only the blocks that the window touches are decompressed.
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::env;
use std::path::{Path, PathBuf};

use cframe::{Array, ArrayParams, Codec, Result};

fn main() -> Result<()> {
    let path = PathBuf::from(env::args_os().nth(1).unwrap_or_else(|| "heights.b2nd".into()));
    if !path.exists() {
        make(&path)?;
    }
    println!("{:.3} m above the sea", mean(&path)?);
    Ok(())
}

/// Returns the mean height of 100 × 100 places in the middle.
pub(crate) fn mean(path: &Path) -> Result<f64> {
    let heights: Vec<f64> = Array::open(path)?.read_slice((450..550, 450..550))?; // of any type
    Ok(heights.iter().sum::<f64>() / heights.len() as f64)
}

/// Writes 1000 × 1000 places, one row of tiles after the other.
pub(crate) fn make(path: &Path) -> Result<()> {
    let params = ArrayParams::of::<f32>(&[1000, 1000])?.with_chunks(&[200, 200]).with_blocks(&[50, 50]);
    let mut map = Array::create(path, &params.with_codec(Codec::Lz4).with_level(9))?;
    for rows in (0..1000).step_by(200).map(|row| row..row + 200) {
        let height = |y| (0..1000).map(move |x| (x * y) as f32 / 256.0);
        map.write_slice(rows.clone(), &rows.flat_map(height).collect::<Vec<_>>())?;
    }
    map.commit()
}
