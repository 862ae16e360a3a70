//! The conformance run, in which our program and an independent one exchange files.
//!
//! For a format F, the example `F_conformance` of its crate is our side, and `xtask/python/F_peer.py` is the
//! other. Both understand `write DIR` and `check DIR`, and print one line `{"case":"GROUP: detail",…}` per
//! check. If the peer writes a content manifest `NAME.jsonl` beside a file, the output of `sciformats
//! manifest NAME` must agree with it. Scripts `F_PART_conform.py` are given our example and a folder. They
//! call the example as they need, and print such lines too. The examples that are no side of this run have a
//! script of their own, which is given a folder with all of them. The scripts of the references and of
//! tables are given the program, and run in environments of their own.
//!
//! The results of a run over all formats are in `docs/conformance.md`.

mod conventions;
mod document;
mod examples;
mod lanes;
mod manifest;
mod matrix;
mod references;
mod rows;
mod tables;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use serde_json::Value;

use crate::args::Args;
use crate::counts::Counts;
use crate::formats::{Format, with_script};
use crate::python::Python;
use crate::sh::{About, Result, cargo, root, shown, target_folder};
#[cfg(test)]
pub(crate) use conventions::CONVENTIONS;
pub(crate) use examples::EXAMPLES;
use matrix::{Check, Matrix, Outcome, Peer, Way};
pub(crate) use references::REFERENCES;
pub(crate) use tables::{TABLES, python as tables_python};

/// The task. The last line is `N passed, N failed, N skipped`.
pub(crate) fn task(mut args: Args) -> Result {
    let allow_skipped = args.flag("--allow-skip");
    let check = args.flag("--check");
    let format = args.word();
    args.end()?;
    let counts = conform(format.as_deref(), check)?;
    println!("{counts}");
    counts.verdict(allow_skipped)
}

/// Runs the checks of one format, or of all formats that have a peer, and prints a matrix for each. If a run
/// over all formats has no failed and no skipped checks, the document is written or, with `check`, compared.
pub(crate) fn conform(asked: Option<&str>, check: bool) -> Result<Counts> {
    let formats = conventions::beside(asked, with_script)?;
    let python = Python::prepare();
    let zarr = formats.contains(&REFERENCES).then(references::python);
    let frames = formats.contains(&TABLES).then(tables::python);
    let programs = Programs::build()?;
    let mut found: Vec<(Format, Matrix)> =
        formats.iter().map(|format| (*format, Matrix::default())).collect();
    let mut parts = Vec::new();
    for (format, matrix) in &mut found {
        let own = match *format {
            REFERENCES => zarr.as_ref(),
            TABLES => frames.as_ref(),
            _ => None,
        };
        let python = own.unwrap_or(&python);
        let lacks = match python {
            Ok(python) => python.lacks(*format),
            Err(failure) => Some(failure.message.clone()),
        };
        match (python, lacks) {
            (Ok(python), None) => parts.extend(parts_of(*format, python, &programs)?),
            (_, reason) => {
                let reason = reason.unwrap_or_default();
                matrix.add(Way::WeReadTheirs, Check::skipped("everything", &reason));
            }
        }
    }
    // Most parts are one process that works or waits, so several run at the same time.
    for (format, part) in lanes::run(parts) {
        let part = part?;
        if let Some((_, matrix)) = found.iter_mut().find(|(known, _)| *known == format) {
            matrix.append(part);
        }
    }
    let mut counts = Counts::default();
    for (format, matrix) in &found {
        print!("{}", matrix.render(format.name));
        counts += matrix.counts();
    }
    if asked.is_none() && counts.verdict(false).is_ok() {
        document::document(&found, check)?;
    }
    Ok(counts)
}

/// Prepares the environments of the peers, so that a later run finds them. What fails is reported by that run.
pub(crate) fn prepare() {
    for python in [Python::prepare, references::python, tables::python] {
        let _ = python();
    }
}

/// A part of the run that does not depend on other parts, with its format.
type Part<'a> = Box<dyn FnOnce() -> (Format, Result<Matrix>) + Send + 'a>;

/// Returns the parts of one format: the four steps with the manifests, and each script that drives both sides
/// itself.
fn parts_of<'a>(format: Format, python: &'a Python, programs: &Programs) -> Result<Vec<Part<'a>>> {
    // `target/conform` belongs to cargo, which puts there what it builds with the profile of that name.
    let place = target_folder()?.join("conform-files").join(format.name);
    if place.exists() {
        fs::remove_dir_all(&place).about(&place)?;
    }
    fs::create_dir_all(&place).about(&place)?;
    let mut parts: Vec<Part<'a>> = Vec::new();
    let example = if format == EXAMPLES {
        examples::copies(programs, &place)?
    } else if format == REFERENCES || format == TABLES {
        programs.copy("sciformats", &place)?
    } else {
        let program = programs.copy("sciformats", &place)?;
        let example = programs.copy(&format.example(), &place)?;
        let (files, ours) = (place.clone(), example.clone());
        parts.push(Box::new(move || (format, exchange(format, python, &files, &program, &ours))));
        example
    };
    for script in scripts_of(format)? {
        let folder = place.join(script.file_stem().unwrap_or_default());
        fs::create_dir_all(&folder).about(&folder)?;
        let example = example.clone();
        parts.push(Box::new(move || {
            let mut matrix = Matrix::default();
            let mut command = python.script(&script);
            command.arg(&example).arg(&folder);
            step(&mut command, Way::TheyReadOurs, Lines::Required, &mut matrix);
            (format, Ok(matrix))
        }));
    }
    Ok(parts)
}

/// Runs the four steps, and compares the manifests.
fn exchange(format: Format, python: &Python, place: &Path, program: &Path, example: &Path) -> Result<Matrix> {
    let mut matrix = Matrix::default();
    let (ours, theirs) = (place.join("ours"), place.join("theirs"));
    for folder in [&ours, &theirs] {
        fs::create_dir_all(folder).about(folder)?;
    }
    let peer = || python.script(&format.script("peer"));
    if format.writes {
        step(Command::new(example).arg("write").arg(&ours), Way::TheyReadOurs, Lines::Optional, &mut matrix);
        step(peer().arg("check").arg(&ours), Way::TheyReadOurs, Lines::Required, &mut matrix);
    }
    step(peer().arg("write").arg(&theirs), Way::WeReadTheirs, Lines::Optional, &mut matrix);
    step(Command::new(example).arg("check").arg(&theirs), Way::WeReadTheirs, Lines::Required, &mut matrix);
    for check in manifest::check_all(program, &theirs)? {
        matrix.add(Way::WeReadTheirs, check);
    }
    Ok(matrix)
}

/// Returns the scripts `F_PART_conform.py`, which are given our side and a folder, and drive both sides
/// themselves.
fn scripts_of(format: Format) -> Result<Vec<PathBuf>> {
    let folder = root().join("xtask").join("python");
    let (start, end) = (format!("{}_", format.name), "_conform.py");
    let mut scripts = Vec::new();
    for entry in fs::read_dir(&folder).about(&folder)? {
        let path = entry.about(&folder)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with(&start) && name.ends_with(end) {
            scripts.push(path);
        }
    }
    scripts.sort();
    Ok(scripts)
}

/// Whether a step without a single check is a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lines {
    Optional,
    Required,
}

/// Runs one side and records what it prints. If the run ends early, that is a failed check too.
fn step(command: &mut Command, way: Way, lines: Lines, matrix: &mut Matrix) {
    let name = shown(command);
    eprintln!("$ {name}");
    let begin = Instant::now();
    let result = command.current_dir(root()).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    eprintln!("{:7.1} s  {name}", begin.elapsed().as_secs_f64());
    let (checks, peers) = judge(&name, result, lines);
    checks.into_iter().for_each(|check| matrix.add(way, check));
    matrix.peers.extend(peers);
}

fn judge(name: &str, result: io::Result<Output>, lines: Lines) -> (Vec<Check>, Vec<Peer>) {
    let output = match result {
        Ok(output) => output,
        Err(error) => {
            return (vec![Check::failed("the run itself", &format!("`{name}`: {error}"))], Vec::new());
        }
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let (mut checks, mut peers) = (Vec::new(), Vec::new());
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match read_line(line) {
            Line::Check(check) => checks.push(check),
            Line::Peer(peer) => peers.push(peer),
        }
    }
    if !output.status.success() {
        checks.push(Check::failed("the run itself", &format!("`{name}` ended with {}", output.status)));
    } else if checks.is_empty() && lines == Lines::Required {
        checks.push(Check::failed("the run itself", &format!("`{name}` checked nothing")));
    }
    (checks, peers)
}

/// What one line of a side says.
#[derive(Debug)]
enum Line {
    Check(Check),
    Peer(Peer),
}

/// `{"case":"GROUP: detail","ok":true}`, `{…,"ok":false,"why":"…"}` or `{…,"skipped":"reason"}`, with a `"way"` if it is
/// not that of the step; or `{"peer":"name and version"}`, or `{"peer":"name","varies":"version"}`.
fn read_line(line: &str) -> Line {
    let value: Value = serde_json::from_str(line).unwrap_or_default();
    if let Some(name) = value["peer"].as_str() {
        let varies = value["varies"].as_str().map(str::to_owned);
        return Line::Peer(Peer { name: name.to_owned(), varies });
    }
    let wrong = || Outcome::Failed(format!("this line is not a check: `{line}`"));
    let Some(case) = value["case"].as_str() else {
        return Line::Check(Check::new("the run itself", wrong()));
    };
    let way = value["way"].as_str().map(Way::named);
    let outcome = match (value["ok"].as_bool(), value["skipped"].as_str()) {
        (Some(true), None) => Outcome::Passed,
        (None, Some(reason)) => Outcome::Skipped(reason.to_owned()),
        (Some(false), None) => Outcome::Failed(value["why"].as_str().unwrap_or("no reason given").to_owned()),
        _ => wrong(),
    };
    // The name of the way is unknown.
    let outcome = if way == Some(None) { wrong() } else { outcome };
    Line::Check(Check { case: case.to_owned(), way: way.flatten(), outcome })
}

/// The run of cargo that builds all programs and examples of the workspace.
pub(crate) const BUILT: [&str; 5] = ["build", "--workspace", "--all-features", "--bins", "--examples"];

/// The program and our sides, built as the tests build them.
#[derive(Debug)]
pub(crate) struct Programs(Vec<(String, PathBuf)>);

impl Programs {
    /// Builds all of them with one run of cargo, with the features and the profile of the tests, so that each library is built
    /// once for both. Arithmetic that overflows is caught.
    pub(crate) fn build() -> Result<Self> {
        let mut command = cargo();
        command.args(BUILT).arg("--message-format=json-render-diagnostics");
        eprintln!("$ {}", shown(&command));
        let text = crate::sh::output(&mut command)?;
        let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let built = messages.filter_map(|message| {
            Some((message["target"]["name"].as_str()?.to_owned(), message["executable"].as_str()?.into()))
        });
        Ok(Self(built.collect()))
    }

    /// Copies one of them to the folder `place`, because a later build must not change the program under
    /// test.
    pub(crate) fn copy(&self, name: &str, place: &Path) -> Result<PathBuf> {
        let built = self.0.iter().find(|(known, _)| known == name);
        let (_, built) = built.ok_or_else(|| format!("cargo did not build {name}"))?;
        let copy = place.join(built.file_name().unwrap_or_default());
        fs::copy(built, &copy).about(&copy)?;
        Ok(copy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str) -> Check {
        match read_line(line) {
            Line::Check(check) => check,
            Line::Peer(peer) => panic!("{peer:?}"),
        }
    }

    #[test]
    fn lines_are_checks() {
        assert_eq!(check(r#"{"case":"types: f4","ok":true}"#), Check::passed("types: f4"));
        let edited = check(r#"{"case":"types: f4","way":"edited here","ok":true}"#);
        assert_eq!(edited.way, Some(Way::EditedHere));
        assert_eq!(
            check(r#"{"case":"types: f4","ok":false,"why":"3 is not 4"}"#),
            Check::failed("types: f4", "3 is not 4")
        );
        assert_eq!(
            check(r#"{"case":"types: f4","skipped":"no lz4"}"#),
            Check::skipped("types: f4", "no lz4")
        );
    }

    #[test]
    fn lines_name_peers() {
        let peer = |line| match read_line(line) {
            Line::Peer(Peer { name, varies }) => (name, varies),
            Line::Check(check) => panic!("{check:?}"),
        };
        assert_eq!(peer(r#"{"peer":"gsd 5"}"#), ("gsd 5".to_owned(), None));
        assert_eq!(peer(r#"{"peer":"h5ls","varies":"1.10"}"#), ("h5ls".to_owned(), Some("1.10".to_owned())));
    }

    #[test]
    fn what_is_no_check_fails() {
        for line in [
            "Traceback",
            r#"{"case":"a: b"}"#,
            r#"{"ok":true}"#,
            r#"{"case":"a: b","ok":true,"skipped":"x"}"#,
            r#"{"case":"a: b","way":"sideways","ok":true}"#,
        ] {
            assert!(matches!(check(line).outcome, Outcome::Failed(_)), "{line}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_run_that_checks_nothing_or_breaks_off_fails() {
        let run = |script: &str| Command::new("sh").args(["-c", script]).output();
        let judge = |script: &str, lines| judge("x", run(script), lines).0;
        assert!(judge("true", Lines::Optional).is_empty());
        assert_eq!(judge("true", Lines::Required).len(), 1);
        let line = r#"echo '{"case":"a: b","ok":true}'"#;
        assert_eq!(judge(line, Lines::Required)[0].outcome, Outcome::Passed);
        let broken = judge(&format!("{line}; exit 3"), Lines::Required);
        assert!(matches!(broken[1].outcome, Outcome::Failed(_)));
    }
}
