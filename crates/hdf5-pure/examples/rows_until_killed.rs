//! Appends to the datasets `rows` and `flat` of a file until it is killed: `rows_until_killed FILE`.
#![allow(clippy::print_stderr, reason = "the error is printed for the test that runs the program")]

#[path = "hdf5_conformance/data.rs"]
mod data;

use std::process::ExitCode;

fn main() -> ExitCode {
    let file = std::env::args().nth(1).unwrap_or_default();
    match data::run(&["data-append", &file]) {
        Some(Err(error)) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
