//! Formatting, clippy and rustdoc, for the workspace and for the two small workspaces beside it.

use std::path::Path;
use std::process::Command;

use crate::args::Args;
use crate::sh::{Result, cargo, root, run};

/// The verb.
pub(crate) fn task(args: Args) -> Result {
    args.end()?;
    lint()
}

/// Everything that must not warn.
pub(crate) fn lint() -> Result {
    run(cargo().args(["fmt", "--all", "--check"]))?;
    clippy(&[])?;
    clippy(&["--no-default-features"])?;
    // Libraries only: the program has the name of one of them, and its docs would take that one's place.
    let doc = ["doc", "--workspace", "--lib", "--all-features", "--no-deps"];
    run(cargo().args(doc).env("RUSTDOCFLAGS", "-D warnings"))?;
    // `fmt --all` would look at the crates of the workspace once more, as dependencies.
    for (beside, packages) in
        [("fuzz", &["sciformats-fuzz"][..]), ("bench", &["harness", "sciformats-bench"])]
    {
        let packages = packages.iter().flat_map(|name| ["--package", name]);
        run(cargo().arg("fmt").args(packages).arg("--check").current_dir(root().join(beside)))?;
        run(&mut clippy_beside(beside))?;
    }
    Ok(())
}

fn clippy(features: &[&str]) -> Result {
    let features = if features.is_empty() { &["--all-features"] } else { features };
    run(cargo()
        .args(["clippy", "--workspace", "--all-targets"])
        .args(features)
        .args(["--", "-D", "warnings"]))
}

/// Clippy of `fuzz` or `bench`. The fuzz targets are looked at as the fuzzer would build them, but nothing is linked,
/// so that no C++ compiler is needed: `libfuzzer-sys` builds no library of its own when it is told of another.
fn clippy_beside(folder: &str) -> Command {
    let mut command = cargo();
    command.args(["clippy", "--workspace", "--all-targets"]).current_dir(root().join(folder));
    if folder == "fuzz" {
        command.env("CUSTOM_LIBFUZZER_PATH", Path::new("unlinked").join("libfuzzer.a"));
        command.env("RUSTFLAGS", "--cfg fuzzing");
    }
    command.args(["--", "-D", "warnings"]);
    command
}
