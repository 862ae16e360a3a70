//! Compares content manifests line by line, as JSON.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::matrix::Check;
use crate::fixtures::files_below;
use crate::sh::{About, Result};

/// Checks for each `NAME.jsonl` beside a file NAME whether the program prints the same manifest for NAME.
pub(crate) fn check_all(program: &Path, folder: &Path) -> Result<Vec<Check>> {
    let mut checks = Vec::new();
    for expected in files_below(folder)? {
        let Some(name) = expected.strip_suffix(".jsonl") else { continue };
        let file = folder.join(name);
        if !file.exists() {
            checks.push(Check::failed(&format!("manifest: {name}"), "there is a manifest but no file"));
            continue;
        }
        let path = folder.join(&expected);
        let expected = fs::read_to_string(&path).about(&path)?;
        let case = format!("manifest: {name}");
        let run =
            Command::new(program).arg("manifest").arg(&file).stdin(Stdio::null()).output().about(program)?;
        let said = String::from_utf8_lossy(&run.stdout);
        checks.push(match differences(&expected, &said).as_slice() {
            [] => Check::passed(&case),
            all => {
                let complaint = String::from_utf8_lossy(&run.stderr);
                let more =
                    if all.len() > 3 { format!("; and {} more", all.len() - 3) } else { String::new() };
                let shown: Vec<&str> = all.iter().take(3).map(String::as_str).collect();
                Check::failed(&case, format!("{}{more} {}", shown.join("; "), complaint.trim()).trim_end())
            }
        });
    }
    Ok(checks)
}

/// The object or attribute that a line is about: the path, and the name of the attribute.
type Subject<'a> = (Option<&'a str>, Option<&'a str>);

fn subject(line: &Value) -> Subject<'_> {
    (line["path"].as_str(), line["name"].as_str())
}

/// Every expected line that is not marked as unchecked must occur, equal as JSON and in the same order. Other
/// lines may only be about the objects of unchecked lines.
fn differences(expected: &str, said: &str) -> Vec<String> {
    let parse =
        |text: &str| text.lines().map(serde_json::from_str).collect::<std::result::Result<Vec<Value>, _>>();
    let expected = match parse(expected) {
        Ok(lines) if !lines.is_empty() => lines,
        Ok(_) => return vec!["the expected manifest is empty".to_owned()],
        Err(error) => return vec![format!("the expected manifest is not valid JSON Lines: {error}")],
    };
    let said = match parse(said) {
        Ok(lines) => lines,
        Err(error) => return vec![format!("the output is not valid JSON Lines: {error}")],
    };
    let mut differences = Vec::new();
    let found: BTreeMap<Subject<'_>, (usize, &Value)> =
        said.iter().enumerate().map(|(at, line)| (subject(line), (at, line))).collect();
    let mut last = None;
    for line in expected.iter().filter(|line| line["unchecked"] != true) {
        match found.get(&subject(line)) {
            None => differences.push(format!("missing {line}")),
            Some((_, other)) if *other != line => differences.push(format!("expected {line}, got {other}")),
            Some((at, _)) if last.is_some_and(|last| *at < last) => {
                differences.push(format!("out of order: {line}"));
            }
            Some((at, _)) => last = Some(*at),
        }
    }
    let known: BTreeMap<Subject<'_>, ()> = expected.iter().map(|line| (subject(line), ())).collect();
    differences.extend(
        said.iter()
            .filter(|line| !known.contains_key(&subject(line)))
            .map(|line| format!("unexpected {line}")),
    );
    if found.len() < said.len() {
        differences.push("something is listed twice".to_owned());
    }
    differences
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = r#"{"manifest":1,"format":"gsd"}"#;
    const A: &str = r#"{"path":"/a","kind":"array","type":"u1","shape":[1],"sha256":"00"}"#;
    const UNITS: &str =
        r#"{"path":"/a","kind":"attribute","name":"units","type":"str","shape":[],"sha256":"01"}"#;
    const B: &str = r#"{"path":"/b","kind":"group"}"#;

    fn lines(lines: &[&str]) -> String {
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn the_same_lines_agree() {
        let text = lines(&[HEAD, A, UNITS, B]);
        assert!(differences(&text, &text).is_empty());
    }

    #[test]
    fn the_order_of_keys_does_not_matter() {
        let other = r#"{"kind":"group","path":"/b"}"#;
        assert!(differences(&lines(&[HEAD, B]), &lines(&[HEAD, other])).is_empty());
    }

    #[test]
    fn missing_different_unexpected_twice_and_out_of_order_differ() {
        let expected = lines(&[HEAD, A, B]);
        let changed = A.replace("\"00\"", "\"ff\"");
        for said in
            [&[HEAD, A][..], &[HEAD, &changed, B], &[HEAD, A, UNITS, B], &[HEAD, A, B, B], &[HEAD, B, A], &[]]
        {
            assert!(!differences(&expected, &lines(said)).is_empty(), "{said:?}");
        }
        assert!(!differences("", "").is_empty());
        assert!(!differences(&expected, "no json").is_empty());
    }

    #[test]
    fn an_unchecked_line_may_say_anything_or_nothing() {
        let unchecked = r#"{"path":"/a","unchecked":true}"#;
        let expected = lines(&[HEAD, unchecked, B]);
        assert!(differences(&expected, &lines(&[HEAD, A, B])).is_empty());
        assert!(differences(&expected, &lines(&[HEAD, B])).is_empty());
    }
}
