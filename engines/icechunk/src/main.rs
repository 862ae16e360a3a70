//! `sciformats-icechunk DIR` reads references from its standard input and makes an Icechunk repository of them in a folder that is empty or
//! does not exist. The program `sciformats` starts it, and writes the input; the module `icechunk` of the crate `sciformats-references`
//! describes its lines. Nothing is committed before the last line has come.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing))]

mod stream;
mod target;

use std::io::BufReader;
use std::path::PathBuf;
use std::process::ExitCode;

/// The bytes of the input that are read at once.
const BUFFER: usize = 1 << 18;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let folder = match words.as_slice() {
        [word] if word == "--version" => {
            println!("sciformats-icechunk {}", env!("CARGO_PKG_VERSION"));
            return ExitCode::SUCCESS;
        }
        [folder] => PathBuf::from(folder),
        _ => {
            eprintln!("usage: sciformats-icechunk DIR < REFERENCES");
            return ExitCode::from(2);
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("sciformats-icechunk: {error}");
            return ExitCode::from(4);
        }
    };
    let input = BufReader::with_capacity(BUFFER, std::io::stdin());
    match runtime.block_on(target::written(input, &folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("sciformats-icechunk: {reason}");
            ExitCode::from(4)
        }
    }
}
