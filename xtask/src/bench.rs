//! Builds and runs the benches of `bench/`, one program for each format.

use std::fs;
use std::path::Path;

use crate::args::Args;
use crate::formats::name_of;
use crate::python::Python;
use crate::sh::{About, Failure, Result, cargo, root, run, target_folder};

/// The bench of the harness itself runs only when it is asked for.
const SELF_TEST: &str = "selftest";

/// The verb. Fails if a goal is missed.
pub(crate) fn task(mut args: Args) -> Result {
    let asked = args.word().map(|word| name_of(&word).to_owned());
    args.end()?;
    let folder = root().join("bench");
    let all = programs(&folder.join("src").join("bin"))?;
    let chosen: Vec<&String> = match &asked {
        None => all.iter().filter(|name| *name != SELF_TEST).collect(),
        Some(asked) => all.iter().filter(|name| *name == asked).collect(),
    };
    if let (Some(asked), true) = (&asked, chosen.is_empty()) {
        return Err(Failure::setup(format!("no bench {asked}; there are: {}", all.join(", "))));
    }
    let place = target_folder()?.join("bench-files");
    fs::create_dir_all(&place).about(&place)?;
    let python = Python::prepare();
    if let Err(failure) = &python {
        eprintln!("the Python peers will not run: {failure}");
    }
    let mut missed = Vec::new();
    for name in chosen {
        let mut command = cargo();
        command.args(["run", "--release", "--bin", name]).current_dir(&folder);
        command.env("SCIFORMATS_BENCH_DIR", &place);
        if let Ok(python) = &python {
            command.env("SCIFORMATS_PYTHON", python.interpreter());
        }
        if run(&mut command).is_err() {
            missed.push(name.as_str());
        }
    }
    if missed.is_empty() { Ok(()) } else { Err(format!("not all well: {}", missed.join(", ")).into()) }
}

/// The names of the programs, sorted.
fn programs(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).about(folder)? {
        let entry = entry.about(folder)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().join("main.rs").is_file() {
            names.push(name);
        } else {
            names.extend(name.strip_suffix(".rs").map(str::to_owned));
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_and_each_folder_with_a_main_file_is_a_program() {
        let place = tempfile::tempdir().unwrap();
        for folder in ["hdf5", "empty"] {
            fs::create_dir(place.path().join(folder)).unwrap();
        }
        fs::write(place.path().join("hdf5/main.rs"), "").unwrap();
        for name in ["gsd.rs", "asdf.rs", "notes.md"] {
            fs::write(place.path().join(name), "").unwrap();
        }
        assert_eq!(programs(place.path()).unwrap(), ["asdf", "gsd", "hdf5"]);
    }
}
