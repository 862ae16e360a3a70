//! Builds the tables of `DataFusion`, runs clippy and their tests, and compares the answers of two workers and of the Python package
//! `datafusion` with those of pandas. `DataFusion` needs a newer compiler than the rest, and the build takes long: it is a workspace of its own.

use std::path::Path;

use crate::args::Args;
use crate::conform::TABLES;
use crate::counts::Counts;
use crate::lint;
use crate::python::Python;
use crate::sh::{About, Failure, Result, cargo, root, run, target_folder};

/// The task. The last line is `N passed, N failed, N skipped`, of the comparisons.
pub(crate) fn task(mut args: Args) -> Result {
    let compared = !args.flag("--tests");
    args.end()?;
    let folder = root().join("engines").join("datafusion");
    let built = target_folder()?.join("datafusion");
    lint::engine(&folder, &built)?;
    for words in [["test", "--workspace"], ["build", "--workspace"]] {
        run(cargo().args(words).args(["--locked", "--target-dir"]).arg(&built).current_dir(&folder))?;
    }
    if !compared {
        return Ok(());
    }
    let counts = compare(&built)?;
    println!("{counts}");
    counts.verdict(false)
}

fn compare(built: &Path) -> Result<Counts> {
    let python = Python::prepare_in("venv-datafusion", "requirements-datafusion.txt")?;
    if let Some(lack) = python.lacks(TABLES) {
        return Err(Failure::setup(lack));
    }
    let place = target_folder()?.join("datafusion-run");
    let module = place.join("module");
    std::fs::create_dir_all(&module).about(&module)?;
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let library = built.join("debug").join(format!("{prefix}sciformats_datafusion_python{suffix}"));
    let name = if cfg!(windows) { "sciformats_datafusion.pyd" } else { "sciformats_datafusion.abi3.so" };
    std::fs::copy(&library, module.join(name)).about(&library)?;
    let program = format!("sciformats-datafusion{}", std::env::consts::EXE_SUFFIX);
    let mut script = python.script(&root().join("xtask").join("python").join("tables_datafusion.py"));
    script.arg(built.join("debug").join(program)).arg(&module).arg(&place);
    Counts::of_script(&mut script)
}
