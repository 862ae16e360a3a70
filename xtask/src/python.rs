//! The virtual environment of the Python peers, in `target/venv`.
//!
//! It is created once and used again until `requirements.txt` changes. All requirements are installed
//! together. If that fails, they are installed one by one, so that a package without a wheel for this machine
//! only affects the checks of its formats.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::args::Args;
use crate::conform::EXAMPLES;
use crate::fixtures::hex;
use crate::formats::Format;
use crate::sh::{About, Failure, Result, output, quiet, root};

/// One line of `requirements.txt`: the requirement for pip, and the formats that need it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    pin: String,
    formats: Vec<String>,
}

/// A Python environment with everything that could be installed.
#[derive(Debug)]
pub(crate) struct Python {
    interpreter: PathBuf,
    requirements: Vec<Requirement>,
    /// The requirements that could not be installed, with the last line of pip's error.
    missing: BTreeMap<String, String>,
}

/// The task.
pub(crate) fn task(args: Args) -> Result {
    args.end()?;
    let python = Python::prepare()?;
    for (pin, reason) in python.missing() {
        eprintln!("missing: {pin}: {reason}");
    }
    println!("{}", python.interpreter.display());
    Ok(())
}

impl Python {
    /// Creates the environment of the peers, or uses the existing one if nothing changed.
    pub(crate) fn prepare() -> Result<Self> {
        Self::prepare_in("venv", "requirements.txt")
    }

    /// Creates the environment `target/<folder>` with the requirements of a list in `xtask/python`, or uses
    /// the existing one if nothing changed.
    pub(crate) fn prepare_in(folder: &str, list: &str) -> Result<Self> {
        Self::prepare_with(&base_interpreter()?, folder, list)
    }

    /// Does the same as [`prepare_in`](Self::prepare_in), with an interpreter of a version that the list needs.
    pub(crate) fn prepare_with(base: &Path, folder: &str, list: &str) -> Result<Self> {
        let target = root().join("target");
        fs::create_dir_all(&target).about(&target)?;
        // Two tasks must not install into the same folder at the same time.
        let lock = File::create(target.join(format!("{folder}.lock"))).about(&target)?;
        lock.lock().about(&target)?;

        let folder = target.join(folder);
        let list = root().join("xtask").join("python").join(list);
        let text = fs::read_to_string(&list).about(&list)?;
        let requirements = parse(&text)?;
        let stamp_file = folder.join("stamp.json");
        let stamp = stamp(&text, &output(Command::new(base).arg("-VV"))?);

        let old: Value =
            fs::read(&stamp_file).ok().and_then(|b| serde_json::from_slice(&b).ok()).unwrap_or_default();
        let mut python =
            Self { interpreter: interpreter_in(&folder), requirements, missing: BTreeMap::new() };
        let complete = old["missing"].as_object().is_some_and(serde_json::Map::is_empty);
        if old["stamp"] == stamp.as_str() && complete && python.interpreter.exists() {
            return Ok(python);
        }
        if old["stamp"] != stamp.as_str() || !python.interpreter.exists() {
            if folder.exists() {
                fs::remove_dir_all(&folder).about(&folder)?;
            }
            eprintln!("creating {}", folder.display());
            make(base, &folder)?;
        }
        python.missing = install(&python.interpreter, &python.requirements);
        fs::write(&stamp_file, json!({ "stamp": stamp, "missing": python.missing }).to_string())
            .about(&stamp_file)?;
        Ok(python)
    }

    /// Returns what could not be installed, with the last line of pip's error.
    pub(crate) fn missing(&self) -> impl Iterator<Item = (&str, &str)> {
        self.missing.iter().map(|(pin, reason)| (pin.as_str(), reason.as_str()))
    }

    /// Returns why the scripts of a format cannot run here, if they cannot. The examples are of all formats.
    pub(crate) fn lacks(&self, format: Format) -> Option<String> {
        let needs = |name: &String| name == format.name || format == EXAMPLES;
        let needed = self.requirements.iter().filter(|r| r.formats.iter().any(needs));
        let missing: Vec<String> = needed
            .filter_map(|r| {
                self.missing.get(&r.pin).map(|reason| format!("{} cannot be installed: {reason}", r.pin))
            })
            .collect();
        (!missing.is_empty()).then(|| missing.join("; "))
    }

    /// Returns a command that runs a script. The script leaves no files beside itself, and hashes of strings
    /// are the same in each run.
    pub(crate) fn script(&self, script: &Path) -> Command {
        let mut command = Command::new(&self.interpreter);
        command.arg(script).current_dir(root());
        command.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONHASHSEED", "0").env("PYTHONUTF8", "1");
        command
    }

    /// Returns the interpreter of the environment.
    pub(crate) fn interpreter(&self) -> &Path {
        &self.interpreter
    }
}

fn parse(text: &str) -> Result<Vec<Requirement>> {
    let mut requirements = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (pin, formats) =
            line.split_once('#').ok_or_else(|| format!("requirements.txt: `{line}` names no format"))?;
        if !pin.contains("==") {
            return Err(format!("requirements.txt: `{line}` has no exact version").into());
        }
        let formats = formats.split_whitespace().map(str::to_owned).collect();
        requirements.push(Requirement { pin: pin.trim().to_owned(), formats });
    }
    Ok(requirements)
}

fn stamp(requirements: &str, version: &str) -> String {
    hex(&Sha256::digest(format!("{version}\n{requirements}")))
}

fn interpreter_in(folder: &Path) -> PathBuf {
    if cfg!(windows) { folder.join("Scripts").join("python.exe") } else { folder.join("bin").join("python") }
}

/// Returns `PYTHON`, or the first of the usual names that runs and is new enough for the requirements.
fn base_interpreter() -> Result<PathBuf> {
    let names = match std::env::var("PYTHON") {
        Ok(name) => vec![name],
        Err(_) => vec!["python3".to_owned(), "python".to_owned()],
    };
    let new_enough = "import sys; sys.exit(sys.version_info < (3, 11))";
    for name in &names {
        let mut command = Command::new(name);
        command.args(["-c", new_enough]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if command.status().is_ok_and(|status| status.success()) {
            return Ok(PathBuf::from(name));
        }
    }
    Err(Failure::setup(format!(
        "Python 3.11 or newer was not found (tried {}); in Debian, run apt-get install python3 python3-venv; \
         or set PYTHON to an interpreter",
        names.join(", ")
    )))
}

/// Runs `python -m venv`, or `virtualenv` if the standard module is missing or incomplete.
fn make(base: &Path, folder: &Path) -> Result {
    let Err(venv) = quiet(Command::new(base).args(["-m", "venv"]).arg(folder)) else { return Ok(()) };
    if quiet(Command::new(base).args(["-m", "virtualenv"]).arg(folder)).is_ok()
        || quiet(Command::new("virtualenv").arg("--python").arg(base).arg(folder)).is_ok()
    {
        return Ok(());
    }
    Err(Failure::setup(format!(
        "{} cannot create a virtual environment; install one of\n\
         \x20 python3-venv   (Debian: apt-get install python3-venv)\n\
         \x20 virtualenv     (pip install --user virtualenv)\n\
         The first attempt reported: {}",
        base.display(),
        last_line(&venv.message)
    )))
}

/// Installs the requirements and returns those that could not be installed.
fn install(interpreter: &Path, requirements: &[Requirement]) -> BTreeMap<String, String> {
    let pip = |pins: &[&str]| {
        let mut command = Command::new(interpreter);
        command
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--prefer-binary"])
            .args(pins);
        quiet(&mut command)
    };
    let all: Vec<&str> = requirements.iter().map(|requirement| requirement.pin.as_str()).collect();
    eprintln!("installing {}", all.join(" "));
    if pip(&all).is_ok() {
        return BTreeMap::new();
    }
    let mut missing = BTreeMap::new();
    for pin in all {
        if let Err(failure) = pip(&[pin]) {
            let reason = last_line(&failure.message);
            eprintln!("cannot install {pin}: {reason}");
            missing.insert(pin.to_owned(), reason);
        }
    }
    missing
}

fn last_line(text: &str) -> String {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no reason given").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conform::{CONVENTIONS, REFERENCES, TABLES};
    use crate::formats::FORMATS;

    #[test]
    fn the_projects_requirements_are_pinned_and_name_known_formats() {
        let lists = [
            include_str!("../python/requirements.txt"),
            include_str!("../python/requirements-datafusion.txt"),
            include_str!("../python/requirements-icechunk.txt"),
            include_str!("../python/requirements-references.txt"),
            include_str!("../python/requirements-release.txt"),
            include_str!("../python/requirements-tables.txt"),
            include_str!("../python/requirements-wheel.txt"),
        ];
        let requirements = lists.map(|list| parse(list).unwrap());
        assert!(requirements.iter().all(|list| !list.is_empty()));
        for requirement in requirements.into_iter().flatten() {
            assert!(!requirement.formats.is_empty(), "{} names no format", requirement.pin);
            for name in requirement.formats {
                let known = FORMATS
                    .iter()
                    .chain([&CONVENTIONS, &REFERENCES, &TABLES])
                    .any(|format| format.name == name);
                assert!(known, "{name} is no format");
            }
        }
    }

    #[test]
    fn loose_requirements_are_refused() {
        assert!(parse("numpy>=2  # gsd").is_err());
        assert!(parse("numpy==2").is_err());
    }

    #[test]
    fn a_missing_requirement_concerns_its_formats_only() {
        let python = Python {
            interpreter: PathBuf::new(),
            requirements: parse("numpy==2 # gsd rawarray\nlz4==4 # rawarray").unwrap(),
            missing: BTreeMap::from([("lz4==4".to_owned(), "no wheel".to_owned())]),
        };
        let by_name = |name| *FORMATS.iter().find(|format| format.name == name).unwrap();
        assert_eq!(python.lacks(by_name("gsd")), None);
        assert_eq!(python.lacks(by_name("rawarray")).unwrap(), "lz4==4 cannot be installed: no wheel");
    }
}
