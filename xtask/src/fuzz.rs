//! Runs the fuzz targets, each for a while, beginning with the fixtures of its format. What was found is kept in
//! `fuzz/corpus`, minimised: no input whose code another one reaches.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::args::Args;
use crate::fixtures::{files_below, hex};
use crate::formats::{FORMATS, name_of};
use crate::sh::{About, Failure, Result, root, run};
use sha2::{Digest, Sha256};

/// How long each target runs unless `--seconds` says otherwise.
const SECONDS: u64 = 60;

/// Memory above which libFuzzer gives up on an input. The targets' own bound is far below.
const MEGABYTES: u64 = 2048;

/// The first word of targets that know all formats.
pub(crate) const FACADE: &str = "facade";

/// The verb.
pub(crate) fn task(mut args: Args) -> Result {
    let seconds = args.number("--seconds")?.unwrap_or(SECONDS);
    let (every, asked) = (args.flag("--all"), args.word());
    args.end()?;
    if every == asked.is_some() {
        return Err(Failure::setup("which target? One by its name, or `--all`"));
    }
    let manifest = root().join("fuzz").join("Cargo.toml");
    let all = targets(&fs::read_to_string(&manifest).about(&manifest)?)?;
    let chosen: Vec<&String> =
        all.iter().filter(|name| asked.as_ref().is_none_or(|asked| asked == *name)).collect();
    if let (Some(asked), true) = (&asked, chosen.is_empty()) {
        return Err(Failure::setup(format!("no fuzz target {asked}; there are: {}", all.join(", "))));
    }
    needs_tools()?;
    let mut failed = Vec::new();
    for target in chosen {
        let corpus = root().join("fuzz").join("corpus").join(target);
        let seeds = seed(target, &root().join("fixtures"), &corpus)?;
        println!("{target}: {seeds} fixtures, {seconds} s");
        let mut fuzz = cargo_fuzz("run", target);
        fuzz.arg(format!("-max_total_time={seconds}")).arg(format!("-rss_limit_mb={MEGABYTES}"));
        fuzz.args(["-timeout=10", "-print_final_stats=1"]);
        if run(&mut fuzz).and_then(|()| run(&mut cargo_fuzz("cmin", target))).is_err() {
            failed.push(target.as_str());
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", ")).into()) }
}

/// `cargo fuzz VERB TARGET --`
fn cargo_fuzz(verb: &str, target: &str) -> Command {
    let mut command = Command::new("cargo");
    command.args(["+nightly", "fuzz", verb, target, "--"]);
    // A C compiler that makes a constant of a function a global one (zstd has such) keeps saying that it leaves its scope.
    command.env("CFLAGS", "-fno-sanitize-address-use-after-scope");
    // The toolchain that runs this task must not be the one that builds the targets.
    command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN").current_dir(root().join("fuzz"));
    command
}

/// The format of a target: the part of its name before the first `_` is a format's name or its crate's.
pub(crate) fn format_of(target: &str) -> &str {
    match target.split('_').next().unwrap_or(target) {
        // Chunks are those of the frames.
        "chunk" => "blosc2",
        word => name_of(word),
    }
}

/// The names of the `[[bin]]` tables.
pub(crate) fn targets(manifest: &str) -> Result<Vec<String>> {
    let table: toml::Table = manifest.parse().map_err(|error: toml::de::Error| error.to_string())?;
    let bins = table.get("bin").and_then(toml::Value::as_array).into_iter().flatten();
    Ok(bins.filter_map(|bin| bin.get("name").and_then(toml::Value::as_str).map(str::to_owned)).collect())
}

/// Copies the fixtures of the target's format into its corpus; those of all formats for the facade. They are named by content, so that a changed fixture is a
/// new seed and the corpus keeps the old one.
fn seed(target: &str, fixtures: &Path, corpus: &Path) -> Result<usize> {
    fs::create_dir_all(corpus).about(corpus)?;
    let format = format_of(target);
    let formats = FORMATS.iter().filter(|known| known.name == format || format == FACADE);
    let mut seeds = 0;
    for folder in formats.map(|format| fixtures.join(format.name)).filter(|folder| folder.exists()) {
        seeds += seed_from(&folder, corpus)?;
    }
    Ok(seeds)
}

fn seed_from(folder: &Path, corpus: &Path) -> Result<usize> {
    let mut seeds = 0;
    for file in files_below(folder)?.iter().filter(|file| !file.starts_with("expected/")) {
        let path = folder.join(file);
        let bytes = fs::read(&path).about(&path)?;
        let name = corpus.join(hex(&Sha256::digest(&bytes)));
        fs::write(&name, bytes).about(&name)?;
        seeds += 1;
    }
    Ok(seeds)
}

/// Says exactly what is missing and how to get it.
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
    fn it_is_one_target_or_all() {
        let task = |words: &[&str]| task(Args::new(words.iter().map(|word| (*word).to_owned())));
        assert_eq!(task(&[]).unwrap_err().status, 2);
        assert_eq!(task(&["--all", "gsd_read"]).unwrap_err().status, 2);
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
        assert_eq!(seed("asdf_read", &place.path().join("fixtures"), &corpus).unwrap(), 0);
        assert_eq!(seed("facade_read", &place.path().join("fixtures"), &corpus).unwrap(), 1);
    }
}
