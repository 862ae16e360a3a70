//! Checks that each version is stated in one place: that of the project and those of other crates in the
//! root's `Cargo.toml`, those of Python packages in `requirements.txt`, and that of the toolchain in
//! `rust-toolchain.toml`.

use toml::{Table, Value};

use super::Finding;
use super::tree::Tree;

const ROOT: &str = "Cargo.toml";

/// Checks manifests, documents and workflows.
pub(crate) fn rule(tree: &Tree) -> Vec<Finding> {
    let Some(root) = tree.text(ROOT).and_then(|text| text.parse::<Table>().ok()) else { return Vec::new() };
    let workspace = root.get("workspace");
    let version = workspace.and_then(|w| w.get("package")?.get("version")?.as_str()).unwrap_or("");
    let mut findings = Vec::new();
    let shared = workspace.and_then(|w| w.get("dependencies")?.as_table()).into_iter().flatten();
    for (name, own) in shared.filter(|(_, value)| value.get("path").is_some()) {
        if own.get("version").and_then(Value::as_str).is_some_and(|own| own != version) {
            findings.push(Finding::new(
                ROOT,
                0,
                format!("{name} is required in another version than {version}"),
            ));
        }
    }
    for (folder, manifest) in tree.packages() {
        let path = format!("{folder}/Cargo.toml");
        findings
            .extend(manifest_versions(&manifest).into_iter().map(|message| Finding::new(&path, 0, message)));
    }
    let names: Vec<String> = tree.packages().filter_map(|(_, manifest)| package_name(&manifest)).collect();
    for (path, text) in tree.documents() {
        findings.extend(document_versions(path, text, &names, version));
    }
    findings
}

fn package_name(manifest: &Table) -> Option<String> {
    Some(manifest.get("package")?.get("name")?.as_str()?.to_owned())
}

/// Checks that a package takes its version and those of its dependencies from the workspace.
fn manifest_versions(manifest: &Table) -> Vec<String> {
    let mut messages = Vec::new();
    let package = manifest.get("package");
    let published = package.and_then(|p| p.get("publish")).and_then(Value::as_bool) != Some(false);
    if published && package.and_then(|p| p.get("version")).is_some_and(Value::is_str) {
        messages.push("write `version.workspace = true`".to_owned());
    }
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flatten();
    let tables = targets.filter_map(|(_, value)| value.as_table()).chain([manifest]);
    for table in tables {
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let dependencies = table.get(kind).and_then(Value::as_table).into_iter().flatten();
            for (name, _) in
                dependencies.filter(|(_, value)| value.is_str() || value.get("version").is_some())
            {
                messages.push(format!(
                    "{name}: state the version in the workspace, write `{name}.workspace = true`"
                ));
            }
        }
    }
    messages
}

/// Checks that documents show the right version of the project, and no version of a Python package.
fn document_versions(path: &str, text: &str, names: &[String], version: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some((name, value)) = line.split_once(" = ") {
            let stated = value.split('"').nth(1).unwrap_or("");
            let plain = value.starts_with('"') || value.starts_with("{ version = \"");
            if names.iter().any(|known| known == name.trim()) && plain && !is_prefix(stated, version) {
                findings.push(Finding::new(path, index + 1, format!("{} is at {version}", name.trim())));
            }
        }
        if line.match_indices("==").any(|(at, _)| is_pin(line, at)) {
            findings.push(Finding::new(
                path,
                index + 1,
                "versions of Python packages must only be in requirements.txt",
            ));
        }
    }
    findings
}

/// Returns whether a version is a prefix of another, as `0.1` is of `0.1.0`.
fn is_prefix(stated: &str, version: &str) -> bool {
    let mut parts = version.split('.');
    stated.split('.').all(|part| parts.next() == Some(part))
}

/// Returns whether this is a pin such as `name==1`.
fn is_pin(line: &str, at: usize) -> bool {
    let before = line.get(..at).and_then(|text| text.chars().next_back());
    let after = line.get(at + 2..).and_then(|text| text.chars().next());
    before.is_some_and(char::is_alphanumeric) && after.is_some_and(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKSPACE: &str = "[workspace.package]\nversion = \"0.2.1\"\n[workspace.dependencies]\n\
                             a = { path = \"crates/a\", version = \"0.2.1\" }\nnom = \"8\"\n";

    fn findings(root: &str, manifest: &str, document: &str) -> Vec<String> {
        let tree =
            Tree::of(&[("Cargo.toml", root), ("crates/a/Cargo.toml", manifest), ("README.md", document)]);
        rule(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn versions_from_the_workspace_pass() {
        let manifest = "[package]\nname = \"a\"\nversion.workspace = true\n[dependencies]\nnom.workspace = true\n\
                        a = { path = \".\" }\n";
        let document = "a = \"0.2\"\na = { version = \"0.2.1\", features = [\"x\"] }\nlet a == 1\n";
        assert_eq!(findings(WORKSPACE, manifest, document), Vec::<String>::new());
    }

    #[test]
    fn versions_elsewhere_do_not() {
        let manifest = "[package]\nname = \"a\"\nversion = \"0.2.1\"\n[dependencies]\nnom = \"8\"\n\
                        [target.'cfg(unix)'.dev-dependencies]\nlibc = { version = \"0.2\" }\n";
        let document = "a = \"0.1\"\npip install numpy==2\n";
        assert_eq!(findings(WORKSPACE, manifest, document).len(), 5);
        let root = WORKSPACE.replace("crates/a\", version = \"0.2.1\"", "crates/a\", version = \"0.2.0\"");
        assert_eq!(findings(&root, "", "").len(), 1);
    }
}
