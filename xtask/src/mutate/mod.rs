//! Damages fixtures at random and lets the program read, convert, repack, compare, edit, salvage and refer to them. The program
//! may refuse a file, but it must not crash, hang, or use unlimited memory, and a file that it refuses to
//! edit must not change.
//!
//! The damage depends only on the seed and on the number of the mutant, so a reported mutant can be created
//! again. Mutants that did harm stay in `target/mutants/FORMAT`.

mod damage;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::args::Args;
use crate::conform::Programs;
use crate::counts::Counts;
use crate::fixtures::files_below;
use crate::formats::{FORMATS, Format, name_of};
use crate::reliability;
use crate::sh::{About, Failure, Result, root, target_folder};

/// The number of mutants per format unless `--count` is given.
const COUNT: u64 = 1000;

/// How long a command may take for one mutant.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// The address space that the program may use, in KiB, and in words.
const KIBIBYTES: u64 = 1 << 20;
pub(crate) const MEMORY: &str = "1 GiB of address space";

/// The highest exit status that the program documents; a panic has another one.
const HIGHEST_STATUS: i32 = 4;

/// The task. The last line is `N passed, N failed, N skipped`.
pub(crate) fn task(mut args: Args) -> Result {
    let count = args.number("--count")?.unwrap_or(COUNT);
    let seed = args.number("--seed")?.unwrap_or(1);
    let publish = args.flag("--publish");
    let asked = args.word().map(|word| name_of(&word).to_owned());
    args.end()?;
    let sweeps = sweep_all(asked.as_deref(), count, seed)?;
    if publish && asked.is_none() {
        reliability::publish_sweeps(&sweeps)?;
    }
    let counts = counts(&sweeps);
    println!("{counts}");
    counts.verdict(false)
}

/// The results for the mutants of one format.
#[derive(Debug)]
pub(crate) struct Sweep {
    pub(crate) format: &'static str,
    /// The number of fixtures that were damaged.
    pub(crate) originals: usize,
    pub(crate) count: u64,
    /// The number of mutants that the program read without an error.
    pub(crate) read: u64,
    /// One line per mutant that did harm.
    pub(crate) harm: Vec<String>,
}

/// Tests `count` mutants of each format, or of one.
pub(crate) fn mutate(asked: Option<&str>, count: u64, seed: u64) -> Result<Counts> {
    Ok(counts(&sweep_all(asked, count, seed)?))
}

pub(crate) fn counts(sweeps: &[Sweep]) -> Counts {
    let mut counts = Counts::default();
    for sweep in sweeps {
        let failed = u64::try_from(sweep.harm.len()).unwrap_or(u64::MAX);
        counts += Counts { passed: sweep.count.saturating_sub(failed), failed, skipped: 0 };
    }
    counts
}

/// Tests `count` mutants of each format, or of one, and prints the result for each format.
pub(crate) fn sweep_all(asked: Option<&str>, count: u64, seed: u64) -> Result<Vec<Sweep>> {
    let chosen: Vec<&Format> =
        FORMATS.iter().filter(|format| asked.is_none_or(|asked| asked == format.name)).collect();
    if chosen.is_empty() {
        return Err(Failure::setup(format!("there is no format {}", asked.unwrap_or_default())));
    }
    let place = target_folder()?.join("mutants");
    fs::create_dir_all(&place).about(&place)?;
    let program = Programs::build()?.copy("sciformats", &place)?;
    let mut sweeps = Vec::new();
    for format in chosen {
        let begin = Instant::now();
        let sweep = sweep(format.name, &program, &place.join(format.name), count, seed)?;
        let (read, failed) = (sweep.read, sweep.harm.len());
        println!(
            "{:8}  {count} mutants, {read} could be read, {failed} did harm, {:.0?}",
            format.name,
            begin.elapsed()
        );
        sweep.harm.iter().for_each(|line| println!("  {line}"));
        sweeps.push(sweep);
    }
    Ok(sweeps)
}

/// Tests the mutants of one format.
fn sweep(format: &'static str, program: &Path, place: &Path, count: u64, seed: u64) -> Result<Sweep> {
    let originals = originals(format)?;
    if originals.is_empty() {
        return Err(format!("fixtures/{format} contains no file").into());
    }
    if place.exists() {
        fs::remove_dir_all(place).about(place)?;
    }
    fs::create_dir_all(place).about(place)?;
    let (next, sound, harm) = (AtomicU64::new(0), AtomicU64::new(0), Mutex::new(Vec::new()));
    let worker = || -> Result {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return Ok(());
            }
            let mutant = damage::mutant(&originals, seed, number);
            let path = place.join(format!("{number}"));
            fs::write(&path, mutant).about(&path)?;
            match read(program, &path, number)? {
                End::Harm(what) => {
                    harm.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(format!("{}: {what}", path.display()));
                    continue;
                }
                End::Read => drop(sound.fetch_add(1, Ordering::Relaxed)),
                End::Refused => {}
            }
            fs::remove_file(&path).about(&path)?;
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(outcome) => outcome,
            Err(_) => Err("a thread of the sweep panicked".into()),
        })
    })?;
    let mut harm = harm.into_inner().unwrap_or_else(PoisonError::into_inner);
    harm.sort();
    Ok(Sweep { format, originals: originals.len(), count, read: sound.into_inner(), harm })
}

/// Reads the fixtures of a format, including the hostile ones.
fn originals(format: &str) -> Result<Vec<Vec<u8>>> {
    let folder = root().join("fixtures").join(format);
    let files: Vec<PathBuf> = files_below(&folder)?
        .iter()
        .filter(|file| !file.starts_with("expected/"))
        .map(|file| folder.join(file))
        .collect();
    files.iter().map(|path| fs::read(path).about(path)).collect()
}

/// What the program did with a mutant.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Read,
    Refused,
    Harm(String),
}

/// Lets the program process one file.
fn read(program: &Path, file: &Path, number: u64) -> Result<End> {
    let before = fs::read(file).about(file)?;
    let new = file.with_extension("new");
    let (command, arguments) = command(number, file, &new);
    let mut end = run(limited(program).args(&arguments), command)?;
    if command == "references"
        && new.is_file()
        && let Err(harm) = within(&fs::read(&new).about(&new)?, before.len() as u64)
    {
        end = End::Harm(harm);
    }
    // Removes what it has written, and anything that it left.
    let _ = if new.is_dir() { fs::remove_dir_all(&new) } else { fs::remove_file(&new) };
    if end == End::Refused && fs::read(file).about(file)? != before {
        return Ok(End::Harm(format!("`{command}` was refused, and changed the file")));
    }
    Ok(end)
}

/// Returns the command for a mutant; the commands take turns.
fn command(number: u64, file: &Path, new: &Path) -> (&'static str, Vec<OsString>) {
    let word = |word: &str| OsString::from(word);
    let (file, new) = (OsString::from(file), OsString::from(new));
    match number % 10 {
        0 | 4 => ("manifest", vec![word("manifest"), file]),
        1 | 5 => ("verify", vec![word("verify"), file]),
        2 => ("convert", vec![word("convert"), file, new, word("--to"), word("hdf5"), word("--lossy")]),
        3 => ("repack", vec![word("repack"), file, new, word("--lossy")]),
        6 => ("diff", vec![word("diff"), word("--storage"), file.clone(), file]),
        8 => ("salvage", vec![word("salvage"), file, new]),
        9 => ("references", vec![word("references"), file, word("-o"), new, word("--codecs")]),
        _ => ("edit", vec![word("edit"), file, word("set"), word("/"), word("added"), word("1")]),
    }
}

/// Checks that every reference is within a file of that size.
fn within(json: &[u8], size: u64) -> std::result::Result<(), String> {
    let told: serde_json::Value = serde_json::from_slice(json)
        .map_err(|error| format!("`references` wrote what is not JSON: {error}"))?;
    let refs = told.get("refs").and_then(serde_json::Value::as_object);
    for (key, place) in refs.ok_or("`references` wrote no references")? {
        let Some(place) = place.as_array() else { continue };
        let number = |at: usize| place.get(at).and_then(serde_json::Value::as_u64);
        let end = number(1).zip(number(2)).and_then(|(offset, length)| offset.checked_add(length));
        if end.is_none_or(|end| end > size) {
            return Err(format!("`references` wrote {key} outside of the file: {place:?}"));
        }
    }
    Ok(())
}

fn run(program: &mut Command, command: &str) -> Result<End> {
    let mut child = program
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .about(Path::new(command))?;
    let begin = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait().about(Path::new(command))? {
            return Ok(end(status, command));
        }
        if begin.elapsed() > PATIENCE {
            // The process may have ended meanwhile, but it was still late.
            let _ = child.kill();
            child.wait().about(Path::new(command))?;
            return Ok(End::Harm(format!("`{command}` took longer than {PATIENCE:?}")));
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

fn end(status: ExitStatus, command: &str) -> End {
    match status.code() {
        Some(0) => End::Read,
        Some(1..=HIGHEST_STATUS) => End::Refused,
        _ => End::Harm(format!("`{command}` ended with {status}")),
    }
}

/// Returns the program with bounded memory, if the system has a shell that can set the bound.
fn limited(program: &Path) -> Command {
    if cfg!(unix) {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -v {KIBIBYTES} && exec \"$@\""), "sh"]).arg(program);
        return command;
    }
    Command::new(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_outside_of_a_file_are_harm() {
        let json = br#"{"refs": {".zgroup": "{}", "a/0": ["{{u}}", 90, 10]}}"#;
        assert_eq!(within(json, 100), Ok(()));
        assert!(within(json, 99).unwrap_err().contains("a/0"));
        assert!(within(br#"{"refs": {"a/0": ["{{u}}", 18446744073709551615, 2]}}"#, 100).is_err());
        assert!(within(b"{", 100).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn documented_ends_are_no_harm_and_others_are() {
        let run = |script: &str| Command::new("sh").args(["-c", script]).status().unwrap();
        assert_eq!(end(run("exit 0"), "verify"), End::Read);
        for status in 1..=HIGHEST_STATUS {
            assert_eq!(end(run(&format!("exit {status}")), "verify"), End::Refused);
        }
        for script in ["exit 101", "kill -ABRT $$"] {
            assert!(matches!(end(run(script), "verify"), End::Harm(_)), "{script}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn memory_is_bounded() {
        let output = limited(Path::new("sh")).args(["-c", "ulimit -v"]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), KIBIBYTES.to_string());
    }

    #[test]
    fn each_format_has_originals() {
        for format in FORMATS {
            assert!(!originals(format.name).unwrap().is_empty(), "{}", format.name);
        }
    }
}
