//! Our side of the conformance run: writes the files that another program checks, and checks those that it wrote.
//!
//! `gsd_conformance write DIR`, `gsd_conformance check DIR`. Both sides list the same cases and know the contents
//! from the same formula, so neither compares what it wrote itself.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the checks are printed")]

mod hoomd;
mod layer;

use std::path::Path;
use std::process::ExitCode;

use gsd_rs::{Error, Result};

/// What a check finds: nothing, or why it fails.
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
        _ => Err(Error::usage("arguments", "are `write DIR` or `check DIR`")),
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

/// Prints one check of a file as they wrote it.
pub(crate) fn say(group: &str, detail: &str, verdict: Verdict) {
    went("we read theirs", group, detail, verdict);
}

/// Prints one check, with the way that the file went.
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
