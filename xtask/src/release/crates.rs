//! Checks the crates as the registry would: each is packed and, if requested, built from its package, in the order in which
//! they would be published.
//!
//! Some names belong to others on crates.io. Publishing therefore happens from a copy of the tree, in which these crates have
//! a prefix. Only the name of the package changes: the library keeps its name, so the code of users is the same, and the
//! crates of the project find each other by `package = "…"`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::sh::{About, Result, cargo, metadata, output, root, run, target_folder};

/// The prefix of crates whose own name is taken.
const PREFIX: &str = "sciformats-";

/// Names of the project that belong to others on crates.io, as of November 2026, and what they are there.
const TAKEN: &[(&str, &str)] = &[
    ("asdf-core", "a library for ASDF by others"),
    ("hdf5-pure", "a library for HDF5 by others"),
    ("npy", "a library for NumPy's files by others"),
    ("rawarray", "the reference library of RawArray"),
    ("sciformats", "a library for scientific formats by others"),
];

/// The name of the facade, for which the prefix alone would be no name.
const FACADE: &str = "facade";

/// Checks all crates; with `verify`, each is also built from what was packed.
pub(crate) fn check(verify: bool) -> Result {
    let order = order(&metadata("", false)?)?;
    println!("the crates in the order of publishing:");
    for name in &order {
        let published = published(name);
        match TAKEN.iter().find(|(taken, _)| taken == name) {
            Some((_, what)) => println!("  {published}  (`{name}` is taken: {what})"),
            None => println!("  {published}"),
        }
    }
    let place = target_folder()?.join("release-tree");
    stage(&place, &order)?;
    let mut publish = cargo();
    publish.args(["publish", "--workspace", "--dry-run", "--allow-dirty", "--target-dir"]);
    publish.arg(target_folder()?.join("release-packages"));
    if !verify {
        publish.arg("--no-verify");
    }
    run(publish.current_dir(&place))?;
    println!(
        "{} crates were packed{}",
        order.len(),
        if verify { " and built from their packages" } else { "" }
    );
    Ok(())
}

/// The name under which a crate is published.
fn published(name: &str) -> String {
    match TAKEN.iter().any(|(taken, _)| *taken == name) {
        true if PREFIX.trim_end_matches('-') == name => format!("{PREFIX}{FACADE}"),
        true => format!("{PREFIX}{name}"),
        false => name.to_owned(),
    }
}

/// The crates that are published, each after those that it needs.
fn order(metadata: &Value) -> Result<Vec<String>> {
    let mut open = BTreeMap::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        // `publish = false` is an empty list of registries.
        let Some(name) = package["name"].as_str().filter(|_| package["publish"].is_null()) else { continue };
        let needed: Vec<&str> = package["dependencies"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|dependency| dependency["kind"] != "dev" && dependency["path"].is_string())
            .filter_map(|dependency| dependency["name"].as_str())
            .collect();
        open.insert(name, needed);
    }
    let mut order: Vec<String> = Vec::new();
    while !open.is_empty() {
        let ready = open.iter().find(|(_, needed)| needed.iter().all(|name| !open.contains_key(name)));
        let Some(name) = ready.map(|(name, _)| *name) else { return Err("crates need each other".into()) };
        open.remove(name);
        order.push(name.to_owned());
    }
    Ok(order)
}

/// Copies the files under version control, with the names that publishing uses.
fn stage(place: &Path, order: &[String]) -> Result {
    if place.exists() {
        fs::remove_dir_all(place).about(place)?;
    }
    let mut git = std::process::Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root());
    let files = output(&mut git)?;
    for file in files.split('\0').filter(|file| !file.is_empty()) {
        let (from, to) = (root().join(file), place.join(file));
        if !from.is_file() {
            continue;
        }
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder).about(folder)?;
        }
        if file == "Cargo.toml" || (file.starts_with("crates/") && file.ends_with("/Cargo.toml")) {
            let text = fs::read_to_string(&from).about(&from)?;
            fs::write(&to, renamed(&text, order)).about(&to)?;
        } else {
            fs::copy(&from, &to).about(&from)?;
        }
        // Each package has the texts of the licences.
        if let Some(folder) =
            to.parent().filter(|_| file.starts_with("crates/") && file.ends_with("/Cargo.toml"))
        {
            for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
                fs::copy(root().join(licence), folder.join(licence)).about(folder)?;
            }
        }
    }
    Ok(())
}

/// A manifest in which the crates have the names that publishing uses.
fn renamed(manifest: &str, crates: &[String]) -> String {
    let mut text = String::new();
    let mut table = String::new();
    let mut library = None;
    let has_name = manifest.split("[lib]").nth(1).is_some_and(|rest| {
        rest.lines().take_while(|line| !line.starts_with('[')).any(|line| line.starts_with("name = "))
    });
    for line in manifest.lines() {
        if line.starts_with('[') {
            line.clone_into(&mut table);
        }
        let name = line.split(" = ").next().unwrap_or_default();
        let value = line.split('"').nth(1).unwrap_or_default();
        if table == "[package]"
            && name == "name"
            && published(value) != value
            && crates.iter().any(|c| c == value)
        {
            text.push_str(&format!("name = \"{}\"\n", published(value)));
            library = Some(value.replace('-', "_"));
            continue;
        }
        let is_path = line.contains("{ path = ");
        if table.contains("dependencies") && is_path && published(name) != name {
            text.push_str(&line.replacen(
                "{ path",
                &format!("{{ package = \"{}\", path", published(name)),
                1,
            ));
            text.push('\n');
            continue;
        }
        text.push_str(line);
        text.push('\n');
        if table == "[lib]"
            && line == "[lib]"
            && !has_name
            && let Some(library) = library.take()
        {
            text.push_str(&format!("name = \"{library}\"\n"));
        }
    }
    if let Some(library) = library.filter(|_| !has_name) {
        text.push_str(&format!("\n[lib]\nname = \"{library}\"\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn crates_come_after_those_that_they_need() {
        let dependency = |name: &str, kind: Value| json!({ "name": name, "path": "/x", "kind": kind });
        let metadata = json!({ "packages": [
            { "name": "a", "publish": null, "dependencies": [dependency("b", Value::Null), dependency("c", json!("dev"))] },
            { "name": "b", "publish": null, "dependencies": [{ "name": "serde", "kind": null }] },
            { "name": "c", "publish": null, "dependencies": [dependency("a", Value::Null)] },
            { "name": "x", "publish": [], "dependencies": [] },
        ] });
        assert_eq!(order(&metadata).unwrap(), ["b", "a", "c"]);
        let ring = json!({ "packages": [
            { "name": "a", "publish": null, "dependencies": [dependency("a", Value::Null)] },
        ] });
        assert!(order(&ring).is_err());
    }

    #[test]
    fn taken_names_get_the_prefix_and_libraries_keep_theirs() {
        assert_eq!(published("hdf5-pure"), "sciformats-hdf5-pure");
        assert_eq!(published("sciformats"), "sciformats-facade");
        assert_eq!(published("gsd-rs"), "gsd-rs");
        let crates = ["hdf5-pure".to_owned()];
        let manifest = "[package]\nname = \"hdf5-pure\"\n\n[dependencies]\nnpy.workspace = true\n";
        let new = renamed(manifest, &crates);
        assert!(new.starts_with("[package]\nname = \"sciformats-hdf5-pure\"\n"), "{new}");
        assert!(
            new.contains("npy.workspace = true") && new.ends_with("[lib]\nname = \"hdf5_pure\"\n"),
            "{new}"
        );
        let root =
            "[workspace.dependencies]\nnpy = { path = \"crates/npy\", version = \"0.1.0\" }\nnom = \"8\"\n";
        let new = renamed(root, &crates);
        assert!(new.contains("npy = { package = \"sciformats-npy\", path = \"crates/npy\""), "{new}");
        assert!(new.contains("nom = \"8\""));
    }

    #[test]
    fn a_library_with_a_table_of_its_own_gets_the_name_there() {
        let manifest = "[package]\nname = \"npy\"\n\n[lib]\ndoctest = false\n";
        let new = renamed(manifest, &["npy".to_owned()]);
        assert!(new.contains("[lib]\nname = \"npy\"\ndoctest = false"), "{new}");
    }
}
