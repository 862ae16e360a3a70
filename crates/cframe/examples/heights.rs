//! A map of heights, compressed in tiles: `heights [FILE]`, which is made if it is not there.
//!
//! Prints the mean height of a window. Only the blocks that the window touches are decompressed.
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::env;
use std::path::{Path, PathBuf};

use cframe::{Array, ArrayParams, Codec, Params, Range, Result, Slab};

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
    let map = Array::open(path)?;
    let window = Slab::new(map.shape(), [Range::new(450, 100), Range::new(450, 100)])?;
    let heights: Vec<f64> = map.read_slab(&window)?; // whatever numbers the file has
    Ok(heights.iter().sum::<f64>() / heights.len() as f64)
}

/// Writes 1000 × 1000 places, one row of tiles after the other.
pub(crate) fn make(path: &Path) -> Result<()> {
    let compression = Params::new(4).with_codec(Codec::Lz4).with_level(9);
    let params = ArrayParams::of::<f32>(&[1000, 1000])?.with_chunks(&[200, 200]).with_blocks(&[50, 50]);
    let mut map = Array::create(path, &params.with_params(compression))?;
    for row in (0..1000).step_by(200) {
        let heights: Vec<f32> =
            (row..row + 200).flat_map(|y| (0..1000).map(move |x| (x * y) as f32 / 256.0)).collect();
        map.write_slab(&Slab::new(map.shape(), [Range::new(row, 200), Range::all(1000)])?, &heights)?;
    }
    map.commit()
}
