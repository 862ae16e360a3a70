//! Builds the program that makes Icechunk repositories, runs clippy and its tests, and lets Python's Icechunk, zarr and xarray read what it
//! makes. Both need newer versions than the rest: the program is a workspace of its own, and the environment needs Python 3.12.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::args::Args;
use crate::conform::REFERENCES;
use crate::counts::Counts;
use crate::lint;
use crate::python::Python;
use crate::sh::{About, Failure, Result, cargo, root, run, target_folder};

/// Names of interpreters that may be new enough, the best known first.
const INTERPRETERS: [&str; 5] = ["python3.13", "python3.12", "python3.14", "python3", "python"];

/// The task. The last line is `N passed, N failed, N skipped`.
pub(crate) fn task(mut args: Args) -> Result {
    let optional = args.flag("--if-available");
    args.end()?;
    let counts = match interpreter() {
        Some(python) => icechunk(&python)?,
        None if optional => {
            println!("SKIPPED Python 3.12 was not found");
            Counts { skipped: 1, ..Counts::default() }
        }
        None => {
            return Err(Failure::setup("Python 3.12 or newer was not found; set PYTHON to an interpreter"));
        }
    };
    println!("{counts}");
    counts.verdict(optional)
}

fn icechunk(base: &Path) -> Result<Counts> {
    let python = Python::prepare_with(base, "venv-icechunk", "requirements-icechunk.txt")?;
    if let Some(lack) = python.lacks(REFERENCES) {
        return Err(Failure::setup(lack));
    }
    let target = target_folder()?;
    let folder = root().join("engines").join("icechunk");
    let built = target.join("icechunk");
    lint::engine(&folder, &built)?;
    for verb in ["test", "build"] {
        run(cargo().args([verb, "--locked", "--target-dir"]).arg(&built).current_dir(&folder))?;
    }
    run(cargo().args(["build", "--package", "sciformats-cli"]).current_dir(root()))?;
    let place = target.join("icechunk-run");
    std::fs::create_dir_all(&place).about(&place)?;
    let program =
        |folder: PathBuf, name: &str| folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let mut script = python.script(&root().join("xtask").join("python").join("references_icechunk.py"));
    script.arg(program(target.join("debug"), "sciformats"));
    script.arg(program(built.join("debug"), "sciformats-icechunk")).arg(&place);
    Counts::of_script(&mut script)
}

/// Returns `PYTHON`, or the first of the usual names, that is new enough for Icechunk.
fn interpreter() -> Option<PathBuf> {
    let own = std::env::var("PYTHON").ok();
    let names = own.iter().map(String::as_str).chain(INTERPRETERS);
    let new_enough = "import sys; sys.exit(sys.version_info < (3, 12))";
    let works = |name: &&str| {
        let mut command = Command::new(name);
        command.args(["-c", new_enough]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    names.into_iter().find(works).map(PathBuf::from)
}
