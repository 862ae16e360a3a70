//! Reads a slab of a climate model's output: `climate [FILE]`. The file is created if it does not exist.
//!
//! The values are packed as 16-bit integers with `scale_factor` and `add_offset`, as NetCDF files often are.
#![allow(clippy::print_stdout, reason = "printing is the purpose of the example")]

use std::env;
use std::path::{Path, PathBuf};

use hdf5_pure::{File, Result, Writer};

fn main() -> Result<()> {
    let path = PathBuf::from(env::args_os().nth(1).unwrap_or_else(|| "climate.nc".into()));
    if !path.exists() {
        make(&path)?;
    }
    println!("{:.2} K in the tropics at the last hour", tropics(&path)?);
    Ok(())
}

/// Returns the mean over a band of latitudes at the last hour.
pub(crate) fn tropics(path: &Path) -> Result<f64> {
    let temperature = File::open(path)?.dataset("t2m")?; // hours × latitudes × longitudes
    let packed: Vec<f64> = temperature.read_slice((-1, 30..60, ..))?;
    let mean = packed.iter().sum::<f64>() / packed.len() as f64;
    Ok(mean * temperature.attr_or("scale_factor", 1.0)? + temperature.attr_or("add_offset", 0.0)?)
}

/// Creates a file with two days of hourly values on a grid of two degrees.
pub(crate) fn make(path: &Path) -> Result<()> {
    let mut file = Writer::create(path)?;
    file.root().attribute("Conventions", "CF-1.8")?;
    let t2m = file.dataset("t2m").rows([90, 180]).chunks([1, 90, 180]).shuffle().deflate(4);
    let t2m = t2m.attribute("units", "K").attribute("scale_factor", 0.01).attribute("add_offset", 273.15);
    let mut hours = t2m.create::<i16>()?;
    for hour in 0..48i16 {
        let field: Vec<i16> = (0..90).flat_map(|latitude| vec![latitude * 10 + hour; 180]).collect();
        hours.append(&field)?;
    }
    file.finish()
}
