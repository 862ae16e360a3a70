//! Our side of the ASDF conformance run.
//!
//! ```text
//! asdf_conformance write DIR     write the matrix of files
//! asdf_conformance check DIR     read the files that the peer wrote, and compare every value
//! ```
//!
//! The contents are formulas, which are written both here and in `xtask/python/asdf_peer.py`.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::indexing_slicing)]

mod check;
mod values;
mod write;

use std::error::Error;
use std::path::Path;

use check::check;
use write::write;

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["write", dir] => {
            std::fs::create_dir_all(dir)?;
            write(Path::new(dir))
        }
        ["check", dir] => {
            check(Path::new(dir));
            Ok(())
        }
        _ => Err("usage: asdf_conformance write DIR | check DIR".into()),
    }
}
