//! Runs the fuzz targets, each for some time, starting with the fixtures of its format. The inputs that it
//! found are kept in `fuzz/corpus` and minimised: every input reaches code that no other input reaches.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use crate::args::Args;
use crate::fixtures::{files_below, hex};
use crate::formats::{FORMATS, name_of};
use crate::reliability;
use crate::sh::{About, Failure, Result, root, run, target_folder};
use sha2::{Digest, Sha256};

/// How long each target runs unless `--seconds` is given.
const SECONDS: u64 = 60;

/// The memory above which libFuzzer stops an input. The limit of the targets themselves is far lower.
const MEGABYTES: u64 = 2048;

/// The longest inputs of some targets, in bytes: what follows is not used, or only takes long. The fuzzer makes no longer ones,
/// and longer fixtures are cut for targets that write, and left out for targets that read.
const LONGEST: &[(&str, usize)] = &[("gsd_read", 32 << 10), ("hdf5_round_trip", 24)];

/// Targets that reach so much code that weighing their inputs by the rarity of what they reach takes longer than the gain is worth.
const UNWEIGHED: &[&str] = &["hdf5_round_trip"];

/// The first word of targets that cover all formats.
pub(crate) const FACADE: &str = "facade";

/// A target that ran for its time and found no fault.
#[derive(Debug)]
pub(crate) struct Fuzzed {
    pub(crate) target: String,
    pub(crate) seconds: u64,
    /// The number of fixtures that it started with.
    pub(crate) seeds: usize,
    /// How often it was called.
    pub(crate) runs: u64,
    /// The number of inputs in its minimised corpus.
    pub(crate) kept: usize,
}

/// The task.
pub(crate) fn task(mut args: Args) -> Result {
    let seconds = args.number("--seconds")?.unwrap_or(SECONDS);
    let jobs = args.number("--jobs")?.unwrap_or(1).max(1);
    let (every, publish) = (args.flag("--all"), args.flag("--publish"));
    let asked: Vec<String> = std::iter::from_fn(|| args.word()).collect();
    args.end()?;
    if every != asked.is_empty() {
        return Err(Failure::setup("a target is missing: give names, or `--all`"));
    }
    let all = every_target()?;
    if let Some(unknown) = asked.iter().find(|asked| !all.contains(asked)) {
        return Err(Failure::setup(format!(
            "there is no fuzz target {unknown}; the targets are {}",
            all.join(", ")
        )));
    }
    let chosen: Vec<&String> = all.iter().filter(|name| every || asked.contains(name)).collect();
    needs_tools()?;
    // All targets are built first, because parallel jobs would wait for each other's builds.
    run(&mut cargo_fuzz("build", &[]))?;
    let queue = Mutex::new(chosen.into_iter());
    let (clean, failed) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let next = || queue.lock().ok()?.next();
    let job = || {
        while let Some(target) = next() {
            match fuzz(target, seconds) {
                Ok(fuzzed) => {
                    let Fuzzed { seconds, seeds, runs, kept, .. } = fuzzed;
                    println!(
                        "{target}: clean, {seconds} s, {runs} runs from {seeds} fixtures; {kept} inputs kept"
                    );
                    clean.lock().map(|mut clean| clean.push(fuzzed)).unwrap_or_default();
                }
                Err(error) => {
                    eprintln!("{target}: {}", error.message);
                    failed.lock().map(|mut failed| failed.push(target.as_str())).unwrap_or_default();
                }
            }
        }
    };
    std::thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(job))));
    let failed = failed.into_inner().unwrap_or_default();
    if !failed.is_empty() {
        return Err(format!("failed: {}", failed.join(", ")).into());
    }
    let clean = clean.into_inner().unwrap_or_default();
    if publish { reliability::publish_fuzzing(&all, &clean) } else { Ok(()) }
}

/// Returns the names of all targets.
pub(crate) fn every_target() -> Result<Vec<String>> {
    let manifest = root().join("fuzz").join("Cargo.toml");
    targets(&fs::read_to_string(&manifest).about(&manifest)?)
}

/// Runs a target, then minimises its corpus. The output of both goes to a file in `target/fuzz`.
fn fuzz(target: &str, seconds: u64) -> Result<Fuzzed> {
    let corpus = root().join("fuzz").join("corpus").join(target);
    let seeds = seed(target, &root().join("fixtures"), &corpus)?;
    let place = target_folder()?.join("fuzz");
    fs::create_dir_all(&place).about(&place)?;
    let place = place.join(format!("{target}.log"));
    let log = fs::File::create(&place).about(&place)?;
    let logged = |command: &mut Command| {
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone().about(&place)?)
            .stderr(log.try_clone().about(&place)?);
        run(command).map_err(|error| Failure::from(format!("{}; see {}", error.message, place.display())))
    };
    let (time, memory) = (format!("-max_total_time={seconds}"), format!("-rss_limit_mb={MEGABYTES}"));
    let mut words = vec![target, "--", &time, &memory, "-timeout=10", "-print_final_stats=1"];
    let longest = longest(target).map(|longest| format!("-max_len={longest}"));
    words.extend(longest.as_deref());
    words.extend(UNWEIGHED.contains(&target).then_some("-entropic=0"));
    logged(&mut cargo_fuzz("run", &words))?;
    let runs = runs(&fs::read_to_string(&place).about(&place)?);
    logged(&mut cargo_fuzz("cmin", &[target]))?;
    let kept = fs::read_dir(&corpus).about(&corpus)?.count();
    Ok(Fuzzed { target: target.to_owned(), seconds, seeds, runs, kept })
}

/// The longest input of a target, if it has one.
fn longest(target: &str) -> Option<usize> {
    LONGEST.iter().find(|(name, _)| *name == target).map(|(_, longest)| *longest)
}

/// Returns how often libFuzzer reports to have called the target.
fn runs(log: &str) -> u64 {
    let count = |line: &str| line.strip_prefix("stat::number_of_executed_units:")?.trim().parse().ok();
    log.lines().find_map(count).unwrap_or(0)
}

/// `cargo fuzz VERB WORDS`
fn cargo_fuzz(verb: &str, words: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(["+nightly", "fuzz", verb]).args(words);
    // A C compiler that turns a constant of a function into a global one, as in zstd, makes the sanitizer
    // report a use after scope.
    command.env("CFLAGS", "-fno-sanitize-address-use-after-scope");
    // The toolchain that runs this task must not be the one that builds the targets.
    command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN").current_dir(root().join("fuzz"));
    command
}

/// Returns the format of a target: the part of its name before the first `_` is the name of a format or of
/// its crate.
pub(crate) fn format_of(target: &str) -> &str {
    match target.split('_').next().unwrap_or(target) {
        // Chunks use the fixtures of frames.
        "chunk" => "blosc2",
        word => name_of(word),
    }
}

/// Returns the names of the `[[bin]]` tables.
pub(crate) fn targets(manifest: &str) -> Result<Vec<String>> {
    let table: toml::Table = manifest.parse().map_err(|error: toml::de::Error| error.to_string())?;
    let bins = table.get("bin").and_then(toml::Value::as_array).into_iter().flatten();
    Ok(bins.filter_map(|bin| bin.get("name").and_then(toml::Value::as_str).map(str::to_owned)).collect())
}

/// Copies the fixtures of the target's format into its corpus, or those of all formats for the facade. The
/// copies are named by content, so that a changed fixture is a new seed and the corpus keeps the old one.
fn seed(target: &str, fixtures: &Path, corpus: &Path) -> Result<usize> {
    fs::create_dir_all(corpus).about(corpus)?;
    let format = format_of(target);
    let formats = FORMATS.iter().filter(|known| known.name == format || format == FACADE);
    let mut seeds = 0;
    for folder in formats.map(|format| fixtures.join(format.name)).filter(|folder| folder.exists()) {
        seeds += seed_from(&folder, corpus, target)?;
    }
    Ok(seeds)
}

fn seed_from(folder: &Path, corpus: &Path, target: &str) -> Result<usize> {
    let mut seeds = 0;
    for file in files_below(folder)?.iter().filter(|file| !file.starts_with("expected/")) {
        let path = folder.join(file);
        let mut bytes = fs::read(&path).about(&path)?;
        match longest(target) {
            Some(longest) if bytes.len() > longest && target.ends_with("_read") => continue,
            Some(longest) => bytes.truncate(longest),
            None => {}
        }
        let name = corpus.join(hex(&Sha256::digest(&bytes)));
        fs::write(&name, bytes).about(&name)?;
        seeds += 1;
    }
    Ok(seeds)
}

/// Fails with a message that says how to install missing tools.
fn needs_tools() -> Result {
    let there = |words: &[&str]| {
        let mut command = Command::new("cargo");
        command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
        command.status().is_ok_and(|status| status.success())
    };
    let mut missing = Vec::new();
    if !there(&["+nightly", "--version"]) {
        missing.push("the nightly toolchain: rustup toolchain install nightly --profile minimal");
    }
    if !there(&["fuzz", "--version"]) {
        missing.push("cargo-fuzz: cargo install cargo-fuzz --locked");
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::setup(format!("fuzzing needs\n  {}", missing.join("\n  "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_the_bins_of_the_manifest() {
        let text = "[[bin]]\nname = \"gsd_read\"\npath = \"a.rs\"\n[[bin]]\nname = \"gsd_round_trip\"\npath = \"b.rs\"\n";
        assert_eq!(targets(text).unwrap(), ["gsd_read", "gsd_round_trip"]);
        assert!(targets("[package]\nname = \"x\"").unwrap().is_empty());
    }

    #[test]
    fn the_number_of_runs_is_libfuzzers() {
        let log = "Done 17 runs in 1 second(s)\nstat::number_of_executed_units: 17\nstat::average_exec_per_sec:     8\n";
        assert_eq!((runs(log), runs("")), (17, 0));
    }

    #[test]
    fn it_is_some_targets_or_all() {
        let task = |words: &[&str]| task(Args::new(words.iter().map(|word| (*word).to_owned())));
        assert_eq!(task(&[]).unwrap_err().status, 2);
        assert_eq!(task(&["--all", "gsd_read"]).unwrap_err().status, 2);
        assert_eq!(task(&["gsd_read", "gsd_none"]).unwrap_err().status, 2);
    }

    #[test]
    fn the_corpus_begins_with_the_formats_fixtures_but_not_their_expected_manifests() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("fixtures").join("gsd");
        for (sub, name) in [("hostile", "a.gsd"), ("expected", "a.gsd.jsonl")] {
            fs::create_dir_all(folder.join(sub)).unwrap();
            fs::write(folder.join(sub).join(name), name).unwrap();
        }
        let corpus = place.path().join("corpus");
        assert_eq!(seed("gsd_read", &place.path().join("fixtures"), &corpus).unwrap(), 1);
        let files = files_below(&corpus).unwrap();
        assert_eq!(fs::read(corpus.join(&files[0])).unwrap(), b"a.gsd");
        fs::write(folder.join("hostile").join("b.gsd"), vec![1; 33 << 10]).unwrap();
        assert_eq!(seed("gsd_read", &place.path().join("fixtures"), &corpus).unwrap(), 1);
        assert_eq!(seed("gsd_round_trip", &place.path().join("fixtures"), &corpus).unwrap(), 2);
        fs::remove_file(folder.join("hostile").join("b.gsd")).unwrap();
        assert_eq!(seed("asdf_read", &place.path().join("fixtures"), &corpus).unwrap(), 0);
        assert_eq!(seed("facade_read", &place.path().join("fixtures"), &corpus).unwrap(), 1);
    }
}
