//! Compiles the library crates for another target: a small one, a big-endian one, one without files.

use std::path::Path;

use serde_json::Value;

use crate::args::Args;
use crate::sh::{Failure, Result, cargo, metadata, output, root, run};

/// The verb.
pub(crate) fn task(mut args: Args) -> Result {
    let if_available = args.flag("--if-available");
    let target = args.word().ok_or_else(|| {
        Failure::setup(
            "which target? wasm32-unknown-unknown, i686-unknown-linux-gnu, s390x-unknown-linux-gnu, …",
        )
    })?;
    args.end()?;
    cross(&target, if_available)
}

/// `cargo check` of every library for the target, without default features: some of these compile C, and few machines
/// have a C compiler for another target.
fn cross(target: &str, if_available: bool) -> Result {
    let sysroot =
        output(std::process::Command::new("rustc").args(["--print", "sysroot"]).current_dir(root()))?;
    if !has_standard_library(Path::new(sysroot.trim()), target) {
        let message =
            format!("Rust's standard library for {target} is missing here: rustup target add {target}");
        return if if_available {
            println!("SKIPPED {message}");
            Ok(())
        } else {
            Err(Failure::setup(message))
        };
    }
    let libraries = libraries(&metadata("", false)?);
    let packages = libraries.iter().flat_map(|name| ["--package", name]);
    run(cargo().args(["check", "--lib", "--no-default-features", "--target", target]).args(packages))
}

fn has_standard_library(sysroot: &Path, target: &str) -> bool {
    sysroot.join("lib").join("rustlib").join(target).join("lib").exists()
}

/// The packages with a library.
fn libraries(metadata: &Value) -> Vec<String> {
    let is_library = |target: &Value| {
        target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "lib"))
    };
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let with_library =
        packages.filter(|package| package["targets"].as_array().is_some_and(|t| t.iter().any(is_library)));
    with_library.filter_map(|package| package["name"].as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_target_is_there_if_its_library_is() {
        let sysroot = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(sysroot.path().join("lib/rustlib/s390x-unknown-linux-gnu/lib")).unwrap();
        assert!(has_standard_library(sysroot.path(), "s390x-unknown-linux-gnu"));
        assert!(!has_standard_library(sysroot.path(), "wasm32-unknown-unknown"));
    }

    #[test]
    fn libraries_are_packages_with_a_library() {
        let metadata = json!({ "packages": [
            { "name": "a", "targets": [{ "kind": ["lib"] }, { "kind": ["example"] }] },
            { "name": "b", "targets": [{ "kind": ["bin"] }] },
        ] });
        assert_eq!(libraries(&metadata), ["a"]);
    }
}
