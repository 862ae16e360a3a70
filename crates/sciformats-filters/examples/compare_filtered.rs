//! Compares filtered files of other programs with what they should contain: `FILTERED.h5 PLAIN.h5`, or `ARRAY.b2nd RAW`, where the
//! second file ends with the elements.

use std::error::Error;

use cframe::Array;
use hdf5_pure::{File, OpenOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let [filtered, plain] = &files[..] else { return Err("give two files".into()) };
    if filtered.ends_with(".b2nd") {
        let options = cframe::OpenOptions::default().with_registry(sciformats_filters::blosc2::registry());
        let found = Array::open_with(filtered, &options)?.read_bytes()?;
        if !std::fs::read(plain)?.ends_with(&found) {
            return Err(format!("{filtered}: the elements differ").into());
        }
        return Ok(());
    }
    let options = OpenOptions::default().with_registry(sciformats_filters::hdf5::registry());
    let (filtered, plain) = (File::open_with(filtered, &options)?, File::open(plain)?);
    let mut compared = 0;
    for visited in plain.walk() {
        let path = String::from_utf8(visited.path)?;
        let Ok(dataset) = plain.dataset(&path) else { continue };
        let all = hdf5_pure::Slab::all(dataset.shape())?;
        let (found, expected) = (filtered.dataset(&path)?.read_raw(&all)?, dataset.read_raw(&all)?);
        if found != expected {
            return Err(format!("{path}: the elements differ").into());
        }
        compared += 1;
    }
    if compared == 0 { Err("there is no dataset to compare".into()) } else { Ok(()) }
}
