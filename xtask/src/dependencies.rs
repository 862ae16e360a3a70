//! Checks the public interfaces for broken promises, and the dependencies for licences and advisories.

use std::process::Stdio;

use crate::args::Args;
use crate::sh::{Failure, Result, cargo, root, run};

/// The workspaces whose programs and libraries are for users.
const WORKSPACES: [&str; 3] = ["", "engines/datafusion", "engines/icechunk"];

/// The task `deny`.
pub(crate) fn deny(args: Args) -> Result {
    args.end()?;
    needs("deny", "cargo-deny")?;
    // Each workspace has its own list of locked versions.
    let results = WORKSPACES.map(|folder| {
        let manifest = root().join(folder).join("Cargo.toml");
        let mut command = cargo();
        command.args(["deny", "--locked", "--manifest-path"]).arg(manifest);
        run(command.args(["check", "--config"]).arg(root().join("deny.toml")))
    });
    let failed: Vec<String> =
        results.into_iter().filter_map(Result::err).map(|failure| failure.message).collect();
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n").into()) }
}

/// The task `semver`, which compares each published crate with itself at a revision of the repository.
pub(crate) fn semver(mut args: Args) -> Result {
    let revision =
        args.word().ok_or_else(|| Failure::setup("a revision is missing: a tag, a branch or a commit"))?;
    args.end()?;
    needs("semver-checks", "cargo-semver-checks")?;
    run(cargo().args(["semver-checks", "--workspace", "--exclude", "xtask", "--baseline-rev", &revision]))
}

/// Fails with a message that says how to install a missing tool.
fn needs(subcommand: &str, package: &str) -> Result {
    let mut command = cargo();
    command.args([subcommand, "--version"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if command.status().is_ok_and(|status| status.success()) {
        return Ok(());
    }
    Err(Failure::setup(format!("this needs {package}: cargo install {package} --locked")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let failure = needs("no-such-subcommand", "cargo-none").unwrap_err();
        assert_eq!((failure.status, failure.message.contains("cargo install cargo-none")), (2, true));
        assert_eq!(semver(Args::new([])).unwrap_err().status, 2);
    }
}
