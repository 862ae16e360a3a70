//! The machine of a measurement, and the versions of everything that takes part.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::results::{Facts, Row};
use crate::python::Python;
use crate::sh::{About, Result, output, root};

/// Returns the machine and the compiler.
pub(crate) fn machine() -> Facts {
    let mut facts = Facts::new();
    let mut add = |name: &str, value: Option<String>| {
        facts.insert(name.to_owned(), value.unwrap_or_else(|| "unknown".to_owned()));
    };
    let told = |path: &str, key: &str| value_of(&fs::read_to_string(path).ok()?, key);
    add("processor", told("/proc/cpuinfo", "model name"));
    add("cores", std::thread::available_parallelism().ok().map(|cores| cores.to_string()));
    let memory = told("/proc/meminfo", "MemTotal");
    add("memory", memory.as_deref().and_then(gibibytes));
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").ok();
    let release = release.map(|release| format!("{} {}", std::env::consts::OS, release.trim()));
    add("system", release.or_else(|| Some(std::env::consts::OS.to_owned())));
    let compiler = output(Command::new("rustc").arg("--version").current_dir(root())).ok();
    add("compiler", compiler.map(|line| line.trim().to_owned()));
    facts
}

/// Returns the text after the first line that begins with the key and a colon.
fn value_of(text: &str, key: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })
}

/// Converts the kilobytes that the kernel reports.
fn gibibytes(text: &str) -> Option<String> {
    let kilobytes: f64 = text.strip_suffix("kB")?.trim().parse().ok()?;
    Some(format!("{:.0} GiB", kilobytes / f64::from(1 << 20)))
}

/// Returns the peers of a bench: those that its script reports, and the crates that the rows name.
pub(crate) fn versions(bench: &str, python: Option<&Python>, rows: &[Row]) -> Result<Facts> {
    let mut facts = Facts::new();
    if let Some(python) = python {
        let script = root().join("bench").join("python").join("versions.py");
        let told: Value = serde_json::from_str(&output(python.script(&script).arg(bench))?).about(&script)?;
        for (name, version) in told.as_object().into_iter().flatten() {
            facts.insert(name.clone(), version.as_str().unwrap_or("unknown").to_owned());
        }
    }
    let manifest = root().join("bench").join("Cargo.toml");
    let table: toml::Table = fs::read_to_string(&manifest).about(&manifest)?.parse().about(&manifest)?;
    facts.extend(crates(&table, rows));
    Ok(facts)
}

/// Returns the dependencies with an exact version whose package occurs in the name of a peer.
fn crates(manifest: &toml::Table, rows: &[Row]) -> Facts {
    let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
    let pinned = dependencies.into_iter().flatten().filter_map(|(key, value)| {
        let of = |name: &str| value.get(name).and_then(toml::Value::as_str);
        let version = value.as_str().or_else(|| of("version"))?.strip_prefix('=')?;
        Some((of("package").unwrap_or(key).to_owned(), version.to_owned()))
    });
    let named = |package: &str| rows.iter().any(|row| row.peer.split(' ').next() == Some(package));
    pinned
        .filter(|(package, _)| named(package))
        .map(|(package, version)| (format!("crate {package}"), version))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_tells_in_lines() {
        let text = "processor\t: 0\nmodel name\t: A Chip: Fast\nmodel name\t: Another\n";
        assert_eq!(value_of(text, "model name").as_deref(), Some("A Chip: Fast"));
        assert_eq!(value_of(text, "model"), None);
        assert_eq!(gibibytes("24600000 kB").as_deref(), Some("23 GiB"));
        assert_eq!(gibibytes("much"), None);
    }

    #[test]
    fn a_crate_is_a_peer_if_a_row_names_it() {
        let manifest = "[dependencies]\na = \"=1.2.3\"\nold = { package = \"b\", version = \"=0.1.0\" }\nc = \"=9.0.0\"\nd = \"2\"\n";
        let outcome = Err(String::new());
        let row = |peer: &str| Row {
            case: String::new(),
            peer: peer.to_owned(),
            goal: 1.0,
            place: None,
            outcome: outcome.clone(),
            runs: Vec::new(),
        };
        let found = crates(&manifest.parse().unwrap(), &[row("a 1.2"), row("b 0.1.0"), row("d"), row("cc")]);
        let expected = [("crate a", "1.2.3"), ("crate b", "0.1.0")];
        assert_eq!(found, expected.map(|(name, version)| (name.to_owned(), version.to_owned())).into());
    }
}
