//! The files in `fixtures/`, which `xtask/python/FORMAT_fixtures.py` writes and `fixtures/MANIFEST.toml`
//! lists.
//!
//! A script prints one line `{"file":…,"exercises":…,"generator":…}` per file that it writes; the manifest
//! adds the size and the hash. Scripts write the same bytes in each run, so that `--check` can find out
//! whether anything would change.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::args::Args;
use crate::formats::{Format, with_script};
use crate::python::Python;
use crate::sh::{About, Failure, Result, output, root, target_folder};

/// The entry of a file in `MANIFEST.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) sha256: String,
    pub(crate) size: u64,
    pub(crate) generator: String,
    pub(crate) exercises: String,
}

/// The entries by path relative to `fixtures/`, with `/` between folders.
pub(crate) type Manifest = BTreeMap<String, Entry>;

const HEAD: &str = "# The fixtures: what wrote each file and what it exercises. Written by `cargo xtask fixtures`; not to be edited.\n";

/// The task.
pub(crate) fn task(mut args: Args) -> Result {
    let check = args.flag("--check");
    let format = args.word();
    args.end()?;
    if check { check_all(format.as_deref()) } else { write_all(format.as_deref()) }
}

/// Fails if running the scripts would change anything.
pub(crate) fn check_all(asked: Option<&str>) -> Result {
    let formats = with_script("fixtures", asked)?;
    let listed = read_manifest(&root().join("fixtures"))?;
    let mut differences = Vec::new();
    for format in formats {
        let made = generate(format)?;
        let before = differences.len();
        differences.extend(compare(format, &listed, &made)?);
        println!(
            "fixtures {}: {} files, {} differences",
            format.name,
            made.entries.len(),
            differences.len() - before
        );
    }
    if differences.is_empty() {
        return Ok(());
    }
    Err(format!("{}\n`cargo xtask fixtures` writes them anew", differences.join("\n")).into())
}

fn write_all(asked: Option<&str>) -> Result {
    let folder = root().join("fixtures");
    for format in with_script("fixtures", asked)? {
        let made = generate(format)?;
        let place = folder.join(format.name);
        if place.exists() {
            fs::remove_dir_all(&place).about(&place)?;
        }
        for path in made.entries.keys() {
            let to = folder.join(path);
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent).about(parent)?;
            }
            fs::copy(made.source(format, path), &to).about(&to)?;
        }
        let mut manifest = read_manifest(&folder)?;
        manifest.retain(|path, _| !belongs(path, format));
        let count = made.entries.len();
        manifest.extend(made.entries);
        let file = folder.join("MANIFEST.toml");
        fs::write(&file, render(&manifest)).about(&file)?;
        println!("fixtures {}: {count} files", format.name);
    }
    Ok(())
}

fn belongs(path: &str, format: Format) -> bool {
    path.split('/').next() == Some(format.name)
}

/// Files that a script has just written.
struct Made {
    folder: PathBuf,
    /// The keys begin with the name of the format, as in the manifest.
    entries: Manifest,
}

impl Made {
    fn source(&self, format: Format, path: &str) -> PathBuf {
        self.folder.join(path.strip_prefix(format.name).unwrap_or(path).trim_start_matches('/'))
    }
}

/// Runs the script of a format, with a separate folder for its output.
fn generate(format: Format) -> Result<Made> {
    let python = Python::prepare()?;
    if let Some(reason) = python.lacks(format) {
        return Err(Failure::setup(format!("fixtures {}: {reason}", format.name)));
    }
    let folder = target_folder()?.join("fixtures").join(format.name);
    if folder.exists() {
        fs::remove_dir_all(&folder).about(&folder)?;
    }
    fs::create_dir_all(&folder).about(&folder)?;
    let text = output(python.script(&format.script("fixtures")).arg(&folder))?;
    let entries = describe(format, &folder, &text)?;
    Ok(Made { folder, entries })
}

/// Combines what the script reported with the files that it wrote.
fn describe(format: Format, folder: &Path, text: &str) -> Result<Manifest> {
    let mut entries = Manifest::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let bad = || {
            format!(
                "{}_fixtures.py printed `{line}`, not {{\"file\",\"exercises\",\"generator\"}}",
                format.name
            )
        };
        let said: Value = serde_json::from_str(line).map_err(|_| bad())?;
        let word = |key: &str| said[key].as_str().map(str::to_owned).ok_or_else(bad);
        let file = word("file")?;
        let path = folder.join(&file);
        let bytes = fs::read(&path).about(&path)?;
        let entry = Entry {
            sha256: hex(&Sha256::digest(&bytes)),
            size: bytes.len() as u64,
            generator: word("generator")?,
            exercises: word("exercises")?,
        };
        if entries.insert(format!("{}/{file}", format.name), entry).is_some() {
            return Err(format!("{}_fixtures.py reported {file} twice", format.name).into());
        }
    }
    for file in files_below(folder)? {
        if !entries.contains_key(&format!("{}/{file}", format.name)) {
            return Err(format!("{}_fixtures.py wrote {file} but did not report it", format.name).into());
        }
    }
    Ok(entries)
}

/// Returns one line per file that differs from what the script writes.
fn compare(format: Format, listed: &Manifest, made: &Made) -> Result<Vec<String>> {
    let folder = root().join("fixtures");
    let mut differences = Vec::new();
    for (path, entry) in &made.entries {
        match listed.get(path) {
            None => differences.push(format!("fixtures/{path}: not in MANIFEST.toml")),
            Some(old) if old != entry => {
                differences.push(format!("fixtures/{path}: its entry in MANIFEST.toml differs"));
            }
            Some(_) => {}
        }
        if fs::read(folder.join(path)).ok() != Some(fs::read(made.source(format, path))?) {
            differences.push(format!("fixtures/{path}: differs from what the script writes"));
        }
    }
    for path in listed.keys().filter(|path| belongs(path, format) && !made.entries.contains_key(*path)) {
        differences.push(format!("fixtures/{path}: no longer written by the script"));
    }
    Ok(differences)
}

/// Reads `MANIFEST.toml` in the folder; a missing file is an empty manifest.
pub(crate) fn read_manifest(folder: &Path) -> Result<Manifest> {
    let file = folder.join("MANIFEST.toml");
    if !file.exists() {
        return Ok(Manifest::new());
    }
    let text = fs::read_to_string(&file).about(&file)?;
    parse_manifest(&text).about(&file)
}

/// Parses the entries of a `MANIFEST.toml`.
pub(crate) fn parse_manifest(text: &str) -> Result<Manifest> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
    let mut manifest = Manifest::new();
    for item in table.get("file").and_then(toml::Value::as_array).into_iter().flatten() {
        let word = |key: &str| {
            item.get(key)
                .and_then(toml::Value::as_str)
                .map(str::to_owned)
                .ok_or_else(|| format!("a [[file]] lacks {key}"))
        };
        let size =
            item.get("size").and_then(toml::Value::as_integer).and_then(|size| u64::try_from(size).ok());
        let entry = Entry {
            sha256: word("sha256")?,
            size: size.ok_or("a [[file]] lacks size")?,
            generator: word("generator")?,
            exercises: word("exercises")?,
        };
        let path = word("path")?;
        if manifest.insert(path.clone(), entry).is_some() {
            return Err(format!("{path} is listed twice").into());
        }
    }
    Ok(manifest)
}

fn render(manifest: &Manifest) -> String {
    let quoted = |text: &str| toml::Value::from(text).to_string();
    let mut text = HEAD.to_owned();
    for (path, entry) in manifest {
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n[[file]]\npath = {}\nsha256 = {}\nsize = {}\ngenerator = {}\nexercises = {}\n",
            quoted(path),
            quoted(&entry.sha256),
            entry.size,
            quoted(&entry.generator),
            quoted(&entry.exercises)
        );
    }
    text
}

/// Returns all files below a folder as sorted relative paths with `/`.
pub(crate) fn files_below(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut open = vec![(folder.to_path_buf(), String::new())];
    while let Some((folder, prefix)) = open.pop() {
        for entry in fs::read_dir(&folder).about(&folder)? {
            let entry = entry.about(&folder)?;
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type().about(&folder)?.is_dir() {
                open.push((entry.path(), format!("{path}/")));
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Formats bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RA: Format = Format { name: "rawarray", title: "RawArray", package: "rawarray", writes: true };

    #[test]
    fn a_manifest_reads_as_it_was_written() {
        let entry = Entry {
            sha256: hex(&[0xAB, 0x01]),
            size: 7,
            generator: "numpy 2".to_owned(),
            exercises: "a \"quoted\" word\nand a line".to_owned(),
        };
        let manifest = Manifest::from([
            ("gsd/a.gsd".to_owned(), entry.clone()),
            ("rawarray/hostile/b.ra".to_owned(), entry),
        ]);
        assert_eq!(parse_manifest(&render(&manifest)).unwrap(), manifest);
    }

    #[test]
    fn a_script_must_tell_of_each_file() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("hostile")).unwrap();
        fs::write(folder.path().join("hostile").join("x.ra"), b"abc").unwrap();
        let line = r#"{"file":"hostile/x.ra","exercises":"nothing","generator":"hand"}"#;
        let entries = describe(RA, folder.path(), line).unwrap();
        let entry = &entries["rawarray/hostile/x.ra"];
        assert_eq!(entry.size, 3);
        assert_eq!(entry.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");

        assert!(describe(RA, folder.path(), "").unwrap_err().message.contains("did not report it"));
        assert!(describe(RA, folder.path(), "hello").unwrap_err().message.contains("hello"));
        let twice = format!("{line}\n{line}");
        assert!(describe(RA, folder.path(), &twice).unwrap_err().message.contains("twice"));
    }

    #[test]
    fn a_path_belongs_to_the_format_of_its_first_folder() {
        assert!(belongs("rawarray/a.ra", RA));
        assert!(!belongs("rawarray2/a.ra", RA));
    }
}
