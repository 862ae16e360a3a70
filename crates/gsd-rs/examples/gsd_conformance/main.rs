//! Our side of the conformance run. It writes files for another program to check, and checks the files of that program.
//!
//! `gsd_conformance write DIR`, `gsd_conformance check DIR`. Both sides list the same cases and compute the contents with the
//! same formula, so neither side compares only what it wrote itself.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the checks are printed")]

mod hoomd;
mod layer;

use std::path::Path;
use std::process::ExitCode;

use gsd_rs::{Error, Result};

/// The result of a check: nothing, or the reason why it failed.
pub(crate) type Verdict = std::result::Result<(), String>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let result = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", folder] => write(Path::new(folder)),
        ["check", folder] => {
            layer::check(Path::new(folder));
            hoomd::check(Path::new(folder));
            Ok(())
        }
        _ => Err(Error::usage("arguments", "must be `write DIR` or `check DIR`")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn write(folder: &Path) -> Result<()> {
    layer::write(folder)?;
    hoomd::write(folder)
}

/// Prints one check of a file that the other side wrote.
pub(crate) fn say(group: &str, detail: &str, verdict: Verdict) {
    went("we read theirs", group, detail, verdict);
}

/// Prints one check; `way` says which side wrote, changed and read the file.
pub(crate) fn went(way: &str, group: &str, detail: &str, verdict: Verdict) {
    match verdict {
        Ok(()) => println!(r#"{{"case":"{group}: {detail}","way":"{way}","ok":true}}"#),
        Err(why) => println!(r#"{{"case":"{group}: {detail}","way":"{way}","ok":false,"why":{why:?}}}"#),
    }
}

/// Checks that two values are equal.
pub(crate) fn equal<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Verdict {
    if found == expected {
        return Ok(());
    }
    let short = |value: &T| format!("{value:?}").chars().take(90).collect::<String>();
    Err(format!("{what} is {}, expected {}", short(found), short(expected)))
}
