//! Checks that the workspace states the oldest Rust version that it needs, and not a newer one.
//!
//! The needed version is the largest `rust-version` of the dependencies, or the version of the standard
//! library that the workspace itself needs: `[workspace.metadata.msrv] std`. Clippy finds code that needs a
//! newer version (`incompatible_msrv`), so no other toolchain is needed here.

use serde_json::Value;

use crate::args::Args;
use crate::sh::{Result, cargo, metadata, run};

/// The task.
pub(crate) fn task(args: Args) -> Result {
    args.end()?;
    stated()?;
    // All other warnings are left to `lint`.
    let only = ["--", "-A", "warnings", "-D", "clippy::incompatible_msrv"];
    run(cargo().args(["clippy", "--workspace", "--all-features", "--quiet"]).args(only))
}

/// Compares the stated version with the needed one. `lint` checks the code as well, because the clippy lint
/// is on by default.
pub(crate) fn stated() -> Result {
    println!("{}", judge(&metadata("", true)?)?);
    Ok(())
}

/// Returns the numbers of a version; missing ones are 0.
fn numbers(version: &str) -> [u64; 3] {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    [(); 3].map(|()| parts.next().unwrap_or(0))
}

/// Returns the stated version with its reason, or an error if it is not the needed one.
fn judge(metadata: &Value) -> Result<String> {
    let packages = || metadata["packages"].as_array().into_iter().flatten();
    let members = metadata["workspace_members"].as_array().map_or(&[][..], Vec::as_slice);
    let (own, others): (Vec<&Value>, Vec<&Value>) =
        packages().partition(|package| members.contains(&package["id"]));

    let mut stated = own.iter().filter_map(|package| package["rust_version"].as_str());
    let version = stated.next().ok_or("no package states a rust-version")?;
    if stated.any(|other| other != version) || own.iter().any(|package| package["rust_version"].is_null()) {
        return Err("each package must state `rust-version.workspace = true`".into());
    }
    let dependencies = others.iter().filter_map(|package| {
        Some((package["rust_version"].as_str()?.to_owned(), package["name"].as_str()?.to_owned()))
    });
    let library = metadata["metadata"]["msrv"]["std"].as_str();
    let library = library.map(|version| (version.to_owned(), "the standard library".to_owned()));
    let needs = dependencies.chain(library).max_by_key(|(version, _)| numbers(version));
    let (needed, reason) = needs.ok_or("no dependency states which Rust it needs")?;
    if numbers(&needed) == numbers(version) {
        return Ok(format!("rust-version {version}: {reason} needs it"));
    }
    Err(format!("rust-version is {version}, but the needed version is {needed}, because of {reason}").into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn metadata(stated: &str, dependency: &str, library: Option<&str>) -> Value {
        json!({
            "workspace_members": ["own"],
            "metadata": { "msrv": { "std": library } },
            "packages": [
                { "id": "own", "name": "own", "rust_version": stated },
                { "id": "a", "name": "a", "rust_version": dependency },
                { "id": "b", "name": "b", "rust_version": null },
            ],
        })
    }

    #[test]
    fn the_stated_version_is_the_needed_one() {
        assert!(judge(&metadata("1.85", "1.85.0", None)).is_ok());
        assert!(judge(&metadata("1.89", "1.85", Some("1.89"))).unwrap().contains("standard library"));
    }

    #[test]
    fn neither_older_nor_newer_will_do() {
        assert!(judge(&metadata("1.85", "1.100", None)).is_err());
        assert!(judge(&metadata("1.90", "1.85", Some("1.89"))).is_err());
    }
}
