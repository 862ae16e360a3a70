//! Damages files in many ways, lets the program salvage them, and compares what was saved with the undamaged files. A claim that
//! an object is whole, or that a part of it was checked, although a byte of it differs, is a failure; so is a file that cannot be salvaged.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::args::Args;
use crate::conform::BUILT;
use crate::counts::Counts;
use crate::python::Python;
use crate::sh::{About, Result, cargo, root, run, shown, target_folder};

const DOCUMENT: &str = "docs/salvage.md";
const HEADING: &str = "## Measured";

/// The damaged files per writer and kind of damage.
const COUNT: u64 = 12;
/// The writers that are killed, per kind.
const KILLS: u64 = 6;
/// After so many minutes no more files are damaged. Each kind of damage has its share of this time, and one file at least.
const MINUTES: u64 = 6;

/// The task. The last line is `N passed, N failed, N skipped`, with one check per damaged file.
pub(crate) fn task(mut args: Args) -> Result {
    let publish = args.flag("--publish");
    let count = args.number("--count")?.unwrap_or(COUNT);
    let kills = args.number("--kills")?.unwrap_or(KILLS);
    let minutes = args.number("--minutes")?.unwrap_or(MINUTES);
    args.end()?;
    let rows = measure(count, kills, minutes)?;
    if publish {
        let path = root().join(DOCUMENT);
        let text = fs::read_to_string(&path).about(&path)?;
        let before = text.find(HEADING).and_then(|at| text.get(..at)).unwrap_or(&text);
        fs::write(&path, format!("{before}{}", render(&rows))).about(&path)?;
    }
    let failed: u64 =
        rows.iter().map(|row| number(row, "failed") + claims(row, "whole") + claims(row, "partial")).sum();
    let files: u64 = rows.iter().map(|row| number(row, "files")).sum();
    let counts = Counts { passed: files.saturating_sub(failed), failed, skipped: 0 };
    println!("{counts}");
    counts.verdict(false)
}

/// Builds the program, and lets the script damage files.
fn measure(count: u64, kills: u64, minutes: u64) -> Result<Vec<Value>> {
    let python = Python::prepare()?;
    run(cargo().args(BUILT))?;
    let target = target_folder()?;
    let program = target.join("debug").join(format!("sciformats{}", std::env::consts::EXE_SUFFIX));
    let place = target.join("salvage");
    fs::create_dir_all(&place).about(&place)?;
    let rows = place.join("rows.json");
    let mut script = python.script(&root().join("xtask").join("python").join("salvage_damage.py"));
    script
        .arg("run")
        .arg(&program)
        .arg(&place)
        .arg(&rows)
        .args([count, kills, minutes].map(|number| number.to_string()));
    eprintln!("$ {}", shown(&script));
    let done = script.stdin(Stdio::null()).status().about(Path::new("the script"))?;
    if !done.success() {
        return Err(format!("`{}` failed ({done})", shown(&script)).into());
    }
    let text = fs::read_to_string(&rows).about(&rows)?;
    serde_json::from_str(&text).about(&rows)
}

fn number(row: &Value, key: &str) -> u64 {
    row.get(key).and_then(Value::as_u64).unwrap_or(0)
}

/// Returns how many objects had a state although they differ from the undamaged ones.
fn claims(row: &Value, state: &str) -> u64 {
    let wrong = row.get("wrong").and_then(Value::as_array);
    wrong.into_iter().flatten().filter(|claim| claim.get(0).and_then(Value::as_str) == Some(state)).count()
        as u64
}

fn render(rows: &[Value]) -> String {
    let mut out = format!(
        "{HEADING}\n\n| writer | damage | files | pieces there | salvage | with description | with description and lead | right, listed as missing | bytes alone | h5py | h5clear, h5py | files h5dump reads | wrong: whole, partial | differ: unchecked |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n"
    );
    for row in rows {
        let text = |key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default();
        // The other formats have no programs to compare with.
        let peer = |key: &str| match row.get(key) {
            Some(Value::Null) => "·".to_owned(),
            _ => number(row, key).to_string(),
        };
        let there = match number(row, "there") {
            0 => "·".to_owned(),
            there => there.to_string(),
        };
        let share = match number(row, "there") {
            0 => String::new(),
            there => format!(" ({:.1} %)", number(row, "saved") as f64 * 100.0 / there as f64),
        };
        let of = |all: &str, good: &str| match (number(row, all), number(row, good)) {
            (0, _) => "·".to_owned(),
            (all, good) => format!("{good} of {all} ({:.1} %)", good as f64 * 100.0 / all as f64),
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {there} | {}{share} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            text("writer"),
            text("damage"),
            number(row, "files"),
            number(row, "saved"),
            of("described", "described_good"),
            of("led", "led_good"),
            number(row, "doubted"),
            number(row, "bare"),
            peer("h5py"),
            peer("h5clear"),
            peer("h5dump"),
            claims(row, "whole") + claims(row, "partial"),
            claims(row, "unchecked") + claims(row, "partial, unchecked"),
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_rendered_and_false_claims_are_counted() {
        let row = serde_json::json!({
            "writer": "h5py", "damage": "cut", "files": 2, "there": 200, "saved": 199, "doubted": 1,
            "described": 160, "described_good": 160, "led": 150, "led_good": 147, "bare": 2, "h5py": 0, "h5clear": 3, "h5dump": 1,
            "failed": 0, "wrong": [["unchecked", "a", "elements"], ["whole", "b", "elements"], ["partial", "c", "1"]],
        });
        assert_eq!((claims(&row, "whole"), claims(&row, "unchecked"), claims(&row, "partial")), (1, 1, 1));
        let other = serde_json::json!({"writer": "GSD", "damage": "cut", "files": 1, "there": 4, "saved": 4, "h5py": null, "h5clear": null, "h5dump": null});
        assert!(
            render(&[other])
                .ends_with("| GSD | cut | 1 | 4 | 4 (100.0 %) | · | · | 0 | 0 | · | · | · | 0 | 0 |\n")
        );
        assert!(render(&[row]).ends_with(
            "| h5py | cut | 2 | 200 | 199 (99.5 %) | 160 of 160 (100.0 %) | 147 of 150 (98.0 %) | 1 | 2 | 0 | 3 | 1 | 2 | 1 |\n"
        ));
    }
}
