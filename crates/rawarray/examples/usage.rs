//! Frames of a camera as one array: `usage [FILE]`, which is made if it is not there. Each run adds a frame.
//!
//! Prints the mean of each row of the last frame. The rest of the file is not read.
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::env;
use std::path::{Path, PathBuf};

use rawarray::{Editor, Error, RawArray, Reader, Result};

fn main() -> Result<()> {
    let path = PathBuf::from(env::args_os().nth(1).unwrap_or_else(|| "camera.ra".into()));
    if !path.exists() {
        make(&path)?;
    }
    Editor::open(&path)?.append(&[100u16, 110, 120, 200, 210, 220])?; // a crash leaves the old file or the new one
    println!("{:?}", means(&path)?);
    Ok(())
}

/// Returns the mean of each row of the last frame.
pub(crate) fn means(path: &Path) -> Result<Vec<f64>> {
    let frames = Reader::open(path)?;
    let [_, _, columns] = frames.shape()[..] else {
        return Err(Error::usage("array", "has other dimensions than frames, rows and columns"));
    };
    let last: Vec<f64> = frames.read_slice(-1)?;
    Ok(last.chunks(columns.max(1) as usize).map(|row| row.iter().sum::<f64>() / columns as f64).collect())
}

/// Writes a dark frame of 2 × 3 pixels. RawArray lists the dimension that varies fastest first.
pub(crate) fn make(path: &Path) -> Result<()> {
    RawArray::new([3, 2, 1], vec![0u16; 6])?.with_metadata(*b"camera 3").write(path)
}
