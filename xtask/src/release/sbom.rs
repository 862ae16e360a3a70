//! The list of the components of a program, in the form of `CycloneDX` 1.6: every crate that becomes a part of it or is needed
//! to build it, with its version, licence, source and checksum, and which crate needs which.
//!
//! `cargo tree` says which crates these are, on one target; `cargo metadata` and `Cargo.lock` have the rest. The list
//! contains neither a time nor a random number, so the same tree has the same list.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::{Map, Value, json};

use crate::sh::{About, Result, cargo, metadata, output, root};

/// The list of a package.
pub(crate) fn of(package: &str, target: &str) -> Result<String> {
    let mut tree = cargo();
    tree.args(["tree", "--locked", "--package", package, "--target", target, "--edges", "normal,build"]);
    tree.args(["--prefix", "none", "--format", "{p}"]);
    let chosen: BTreeSet<(String, String)> =
        output(&mut tree)?.lines().filter_map(name_and_version).collect();
    let metadata = metadata("", true)?;
    let path = root().join("Cargo.lock");
    let sums = checksums(&fs::read_to_string(&path).about(&path)?)?;
    let list = document(package, &chosen, &metadata, &sums)?;
    let text = serde_json::to_string_pretty(&list).map_err(|error| error.to_string())?;
    Ok(text + "\n")
}

/// `name v1.2.3 (…)`
fn name_and_version(line: &str) -> Option<(String, String)> {
    let mut words = line.split(' ');
    Some((words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
}

/// The checksums of the lock file, by name and version.
fn checksums(lock: &str) -> Result<BTreeMap<(String, String), String>> {
    let lock: toml::Table = lock.parse().map_err(|error| format!("Cargo.lock: {error}"))?;
    let packages = lock.get("package").and_then(toml::Value::as_array).into_iter().flatten();
    let word = |package: &toml::Value, key: &str| Some(package.get(key)?.as_str()?.to_owned());
    Ok(packages
        .filter_map(|package| {
            Some(((word(package, "name")?, word(package, "version")?), word(package, "checksum")?))
        })
        .collect())
}

fn document(
    package: &str,
    chosen: &BTreeSet<(String, String)>,
    metadata: &Value,
    sums: &BTreeMap<(String, String), String>,
) -> Result<Value> {
    let mut references = BTreeMap::new();
    let mut components = BTreeMap::new();
    let mut main = None;
    for entry in metadata["packages"].as_array().into_iter().flatten() {
        let (Some(name), Some(version), Some(id)) =
            (entry["name"].as_str(), entry["version"].as_str(), entry["id"].as_str())
        else {
            continue;
        };
        let key = (name.to_owned(), version.to_owned());
        if !chosen.contains(&key) {
            continue;
        }
        let reference = format!("pkg:cargo/{name}@{version}");
        references.insert(id, reference.clone());
        let component = component(entry, &reference, sums.get(&key));
        if name == package {
            main = Some(component);
        } else {
            components.insert(reference, component);
        }
    }
    let Some(mut main) = main else { return Err(format!("cargo tree does not list {package}").into()) };
    main["type"] = json!("application");
    let mut dependencies = BTreeMap::new();
    for node in metadata["resolve"]["nodes"].as_array().into_iter().flatten() {
        let Some(reference) = node["id"].as_str().and_then(|id| references.get(id)) else { continue };
        let needed: BTreeSet<&String> = node["deps"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|dependency| kinds(dependency).any(|kind| kind != "dev"))
            .filter_map(|dependency| references.get(dependency["pkg"].as_str()?))
            .collect();
        dependencies.insert(reference, json!({ "ref": reference, "dependsOn": needed }));
    }
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": main },
        "components": components.into_values().collect::<Vec<_>>(),
        "dependencies": dependencies.into_values().collect::<Vec<_>>(),
    }))
}

/// The kinds of a dependency: `normal`, `build` or `dev`.
fn kinds(dependency: &Value) -> impl Iterator<Item = &str> {
    let all = dependency["dep_kinds"].as_array().into_iter().flatten();
    all.map(|kind| kind["kind"].as_str().unwrap_or("normal"))
}

fn component(entry: &Value, reference: &str, sum: Option<&String>) -> Value {
    let mut component = Map::new();
    component.insert("type".to_owned(), json!("library"));
    component.insert("bom-ref".to_owned(), json!(reference));
    for (key, from) in [("name", "name"), ("version", "version"), ("description", "description")] {
        if let Some(text) = entry[from].as_str() {
            component.insert(key.to_owned(), json!(text.split_whitespace().collect::<Vec<_>>().join(" ")));
        }
    }
    component.insert("purl".to_owned(), json!(reference));
    if let Some(licence) = entry["license"].as_str() {
        // Old manifests write `/` for "or".
        component.insert("licenses".to_owned(), json!([{ "expression": licence.replace('/', " OR ") }]));
    }
    if let Some(sum) = sum {
        component.insert("hashes".to_owned(), json!([{ "alg": "SHA-256", "content": sum }]));
    }
    if let Some(url) = entry["repository"].as_str() {
        component.insert("externalReferences".to_owned(), json!([{ "type": "vcs", "url": url }]));
    }
    Value::Object(component)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_the_chosen_crates_and_what_needs_what() {
        let metadata = json!({
            "packages": [
                { "id": "p", "name": "program", "version": "1.0.0", "license": "MIT" },
                { "id": "a", "name": "a", "version": "2.0.0", "license": "MIT/Apache-2.0", "repository": "https://a.example" },
                { "id": "t", "name": "tests", "version": "3.0.0" },
            ],
            "resolve": { "nodes": [
                { "id": "p", "deps": [
                    { "pkg": "a", "dep_kinds": [{ "kind": null }] },
                    { "pkg": "t", "dep_kinds": [{ "kind": "dev" }] },
                ] },
                { "id": "a", "deps": [] },
            ] },
        });
        let chosen = ["program v1.0.0 (/x)", "a v2.0.0", "a v2.0.0 (*)"];
        let chosen = chosen.iter().filter_map(|line| name_and_version(line)).collect();
        let lock = "[[package]]\nname = \"a\"\nversion = \"2.0.0\"\nchecksum = \"12ab\"\n\n[[package]]\nname = \"program\"\nversion = \"1.0.0\"\n";
        let list = document("program", &chosen, &metadata, &checksums(lock).unwrap()).unwrap();
        assert_eq!(list["metadata"]["component"]["type"], "application");
        assert_eq!(list["components"].as_array().unwrap().len(), 1);
        let a = &list["components"][0];
        assert_eq!(a["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(a["hashes"][0]["content"], "12ab");
        assert_eq!(a["purl"], "pkg:cargo/a@2.0.0");
        assert_eq!(list["dependencies"][1]["dependsOn"], json!(["pkg:cargo/a@2.0.0"]));
        assert!(document("other", &chosen, &metadata, &BTreeMap::new()).is_err());
    }
}
