//! Builds the wheel of the Python package, installs it in an environment of its own, and runs its test suites
//! there, and the suites of h5py, h5netcdf and anndata in which `sciformats.h5` takes the place of h5py.
//!
//! A word selects a part: the name of a suite, `h5py`, `threads` (reading, each test in several threads at once) or
//! `types` (mypy and pyright). The suites of `h5netcdf` and `anndata`, which take long, only run if they are named.
//! `--installed` tests the wheel that is installed already.
//!
//! pip builds the wheel, as it does for users, but with a profile that finds overflowing arithmetic; `--release` builds what
//! users get. `--quick` builds the library in the same way as the tests and the conformance run, which have built nearly all
//! of it, and puts it into a wheel without pip; this is the step of `cargo xtask ci`. A wheel that was installed before is
//! removed first, so that nothing of it is tested.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::args::Args;
use crate::python::Python;
use crate::sh::{About, Result, cargo, metadata, output, root, run, shown, target_folder};

/// Returns the folder of the package.
fn package() -> PathBuf {
    root().join("crates").join("sciformats-python")
}

/// The task.
pub(crate) fn task(mut args: Args) -> Result {
    let (release, kept, fast) = (args.flag("--release"), args.flag("--installed"), args.flag("--quick"));
    let suite = args.word();
    args.end()?;
    let python = match (kept, fast) {
        (true, _) => environment()?,
        (false, true) => put_together()?,
        (false, false) => installed(if release { "release" } else { "conform" })?,
    };
    match suite.as_deref() {
        Some("h5py") => theirs(&python),
        Some(name) if USERS.contains(&name) => user(&python, name),
        Some("types") => types(&python),
        Some("threads") => threads(&python),
        Some(name) => test(&python, Some(name)),
        None => every(&python),
    }
}

fn every(python: &Python) -> Result {
    test(python, None)?;
    threads(python)?;
    theirs(python)?;
    types(python)
}

/// Builds the wheel as users get it, and returns an environment with it and with its peers.
pub(crate) fn released() -> Result<Python> {
    installed("release")
}

/// The step of `cargo xtask ci`: the suites that are quick, with the library as the tests build it.
pub(crate) fn quick() -> Result {
    let python = put_together()?;
    test_all_but(&python, &SLOW)?;
    theirs(&python)
}

/// The run of cargo that builds the library of the package. An example is named because cargo then chooses the features of all
/// dependencies as it does for the tests and for the conformance run, so that nothing is built twice.
const LIBRARY: [&str; 6] = ["build", "--workspace", "--all-features", "--lib", "--example", "usage"];

/// Builds the library in the same way as the tests, puts it into a wheel, and installs it.
fn put_together() -> Result<Python> {
    if !cfg!(target_os = "linux") {
        // Elsewhere, maturin knows how such a library is linked.
        return installed("dev");
    }
    let python = environment()?;
    let mut command = cargo();
    command.args(LIBRARY).arg("--message-format=json-render-diagnostics");
    eprintln!("$ {}", shown(&command));
    let text = output(&mut command)?;
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let library = messages.filter(|message| message["target"]["name"] == "_sciformats").find_map(|message| {
        let files = message["filenames"].as_array()?;
        files.iter().filter_map(Value::as_str).find(|name| name.ends_with(".so")).map(str::to_owned)
    });
    let library = library.ok_or("cargo did not build the library of the Python package")?;
    let folder = wheels()?;
    let mut command = python.script(&root().join("xtask").join("python").join("wheel_of_library.py"));
    command.arg(library).arg(version()?).arg(package()).arg(&folder);
    let wheel = PathBuf::from(output(&mut command)?.trim());
    install(&python, &wheel)?;
    Ok(python)
}

/// The version of the package.
fn version() -> Result<String> {
    let metadata = metadata("", false)?;
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let package = packages.find(|package| package["name"] == "sciformats-python");
    let version = package.and_then(|package| package["version"].as_str().map(str::to_owned));
    version.ok_or_else(|| "cargo metadata names no version of sciformats-python".into())
}

/// Returns the folder of the wheels, which is empty.
fn wheels() -> Result<PathBuf> {
    let folder = target_folder()?.join("wheels");
    if folder.exists() {
        fs::remove_dir_all(&folder).about(&folder)?;
    }
    Ok(folder)
}

fn installed(profile: &str) -> Result<Python> {
    let python = environment()?;
    let wheel = build(&python, profile)?;
    println!("{}", wheel.display());
    install(&python, &wheel)?;
    Ok(python)
}

/// Returns the environment with what is installed in it already.
pub(crate) fn environment() -> Result<Python> {
    let python = Python::prepare_in("venv-wheel", "requirements-wheel.txt")?;
    if let Some((pin, reason)) = python.missing().next() {
        return Err(format!("{pin} cannot be installed: {reason}").into());
    }
    Ok(python)
}

/// Builds the wheel and returns its path. `pip` does it in the same way for `pip install .` in the folder of the crate.
fn build(python: &Python, profile: &str) -> Result<PathBuf> {
    let folder = wheels()?;
    let mut command = Command::new(python.interpreter());
    command.args(["-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]);
    command.args(["--quiet", ".", "--wheel-dir"]).arg(&folder).current_dir(package());
    command.env("MATURIN_PEP517_ARGS", format!("--profile {profile} --locked"));
    // Without isolation, pip finds maturin's program only on the path.
    command.env("PATH", first_on_path(python.interpreter())?);
    run(&mut command)?;
    let entries = fs::read_dir(&folder).about(&folder)?;
    let wheels = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let wheel = wheels.into_iter().find(|path| path.extension().is_some_and(|kind| kind == "whl"));
    wheel.ok_or_else(|| format!("pip did not write a wheel into {}", folder.display()).into())
}

/// Returns the path for programs with the folder of an interpreter first.
fn first_on_path(interpreter: &Path) -> Result<OsString> {
    let folder = interpreter.parent().map(Path::to_path_buf);
    let others = std::env::var_os("PATH").unwrap_or_default();
    let folders = folder.into_iter().chain(std::env::split_paths(&others));
    std::env::join_paths(folders).map_err(|error| format!("PATH cannot be extended: {error}").into())
}

fn install(python: &Python, wheel: &Path) -> Result {
    let mut command = Command::new(python.interpreter());
    command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    run(command.args(["--no-deps", "--force-reinstall"]).arg(wheel))
}

/// Runs the test suites, or one of them. They only see the installed package, because the folder they run in
/// contains none of its sources.
fn test(python: &Python, suite: Option<&str>) -> Result {
    let tests = package().join("tests");
    let chosen = suite.map_or_else(|| tests.clone(), |name| tests.join(format!("test_{name}.py")));
    run(pytest(python, &tests).arg(chosen))
}

/// Returns the command that runs tests in a folder.
fn pytest(python: &Python, tests: &Path) -> Command {
    let mut command = Command::new(python.interpreter());
    command.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).current_dir(tests);
    command.env("PYTHONDONTWRITEBYTECODE", "1").env("SCIFORMATS_FIXTURES", root().join("fixtures"));
    command
}

/// The suites that take minutes, which only run in the nightly workflow.
const SLOW: [&str; 1] = ["dask"];

/// Runs all test suites except for some.
fn test_all_but(python: &Python, left_out: &[&str]) -> Result {
    let tests = package().join("tests");
    let mut command = pytest(python, &tests);
    command.args(left_out.iter().map(|name| format!("--ignore=test_{name}.py"))).arg(".");
    run(&mut command)
}

/// Runs the suite that comes with h5py on `sciformats.h5`. What fails must be in a table with its reason.
fn theirs(python: &Python) -> Result {
    let script = root().join("xtask").join("python").join("h5py_suite.py");
    let mut command = python.script(&script);
    command.arg(target_folder()?.join("h5py-suite")).arg(package().join("tests").join("h5py_suite.toml"));
    run(&mut command)
}

/// The programs for h5py whose suites run on `sciformats.h5`.
const USERS: [&str; 2] = ["h5netcdf", "anndata"];

/// Runs the suite of a program for h5py on `sciformats.h5`. What fails must be in a table with its reason.
fn user(python: &Python, name: &str) -> Result {
    let script = root().join("xtask").join("python").join("h5py_users.py");
    let mut command = python.script(&script);
    command.arg(name).arg(target_folder()?.join(format!("{name}-suite")));
    run(command.arg(package().join("tests").join(format!("{name}_suite.toml"))))
}

/// Runs the suite of reading in threads with each test in several threads at once.
fn threads(python: &Python) -> Result {
    let mut command = pytest(python, &package().join("tests"));
    run(command.args(["--parallel-threads=8", "--iterations=2", "test_parallel.py"]))
}

/// Checks with mypy and with pyright that the type annotations of the package agree with its code.
fn types(python: &Python) -> Result {
    let cache = target_folder()?.join("mypy");
    let mut command = Command::new(python.interpreter());
    command.args(["-m", "mypy", "--cache-dir"]).arg(cache).current_dir(package());
    run(&mut command)?;
    let mut command = Command::new(python.interpreter());
    command.args(["-m", "pyright", "--pythonpath"]).arg(python.interpreter()).current_dir(package());
    run(command.env("PYRIGHT_PYTHON_IGNORE_WARNINGS", "1"))
}
