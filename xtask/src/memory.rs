//! Measures how much memory the program needs for large files: `cargo xtask memory`.
//!
//! `convert` creates a file of each format that is many times as large as the permitted memory. Every command
//! that reads all elements runs on each file. The result is the largest resident memory of its process.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::args::Args;
use crate::conform::Programs;
use crate::reliability;
use crate::sh::{About, Failure, Result, target_folder};

/// The size of the elements in each file, in bytes.
const SIZE: u64 = 3 << 30;

/// The number of four-byte elements in a row.
const ROW: u64 = 1024;

/// The size of a chunk, in files that have chunks, in bytes.
const CHUNK: u64 = 1 << 20;

/// The memory that a command may use, besides one chunk per thread (of two).
const LIMIT: u64 = 256 << 20;

/// The formats, the endings of their files, and the arguments of `convert` that create them.
const FORMATS: &[(&str, &str, &[&str])] = &[
    ("HDF5", "h5", &["--chunks", "256,1024", "--filter", "zlib", "--level", "1"]),
    ("ASDF", "asdf", &[]),
    ("Blosc2", "b2nd", &["--chunks", "256,1024", "--filter", "lz4"]),
    ("GSD", "gsd", &[]),
    ("RawArray", "ra", &[]),
    ("npy", "npy", &[]),
];

/// The commands, with `FILE` and `NEW` in place of file names, and the formats that they apply to; an empty
/// list means all formats.
const COMMANDS: &[(&str, &[&str], &[&str])] = &[
    ("manifest", &["manifest", "FILE"], &[]),
    ("verify", &["verify", "FILE"], &[]),
    ("diff", &["diff", "FILE", "FILE"], &[]),
    ("plot", &["plot", "FILE", "PATH", "--kind", "histogram", "--output", "picture.png", "--force"], &[]),
    ("repack", &["repack", "FILE", "NEW", "--force"], &[]),
    ("repack --chunks", &["repack", "FILE", "NEW", "--force", "--chunks", "1024,256"], &["HDF5", "Blosc2"]),
    ("repack --filter", &["repack", "FILE", "NEW", "--force", "--filter", "lz4"], &["HDF5", "Blosc2"]),
    ("convert to HDF5", &["convert", "FILE", "new.h5", "--force", "--lossy", "--select", "PATH"], &[]),
    ("convert to ASDF", &["convert", "FILE", "new.asdf", "--force", "--lossy", "--select", "PATH"], &[]),
    ("convert to Blosc2", &["convert", "FILE", "new.b2nd", "--force", "--lossy", "--select", "PATH"], &[]),
    ("convert to GSD", &["convert", "FILE", "new.gsd", "--force", "--lossy", "--select", "PATH"], &[]),
    ("convert to RawArray", &["convert", "FILE", "new.ra", "--force", "--lossy", "--select", "PATH"], &[]),
    ("convert to npy", &["convert", "FILE", "new.npy", "--force", "--lossy", "--select", "PATH"], &[]),
];

/// The task.
pub(crate) fn task(mut args: Args) -> Result {
    let asked = args.word();
    args.end()?;
    if !cfg!(target_os = "linux") {
        return Err(Failure::setup(
            "this task reads the memory of a process from /proc, which only Linux has",
        ));
    }
    let place = target_folder()?.join("memory");
    fs::create_dir_all(&place).about(&place)?;
    let program = Programs::build()?.copy("sciformats", &place)?;
    let allowed = LIMIT + 2 * CHUNK;
    base(&place.join("base.npy"))?;
    let mut table: Vec<Vec<Option<u64>>> = vec![vec![None; FORMATS.len()]; COMMANDS.len()];
    let mut over = Vec::new();
    for (column, (format, ending, how)) in FORMATS.iter().enumerate() {
        if asked.as_ref().is_some_and(|asked| !asked.eq_ignore_ascii_case(format)) {
            continue;
        }
        let file = format!("file.{ending}");
        let made = [&["convert", "base.npy", &file, "--force", "--lossy"], *how].concat();
        let mut lines = vec![(None, format!("converted from npy to {format}"), made)];
        for (row, (name, words, only)) in COMMANDS.iter().enumerate() {
            if only.is_empty() || only.contains(format) {
                lines.push((Some(row), format!("{name}, {format}"), words.to_vec()));
            }
        }
        for (row, name, words) in lines {
            let path = match *format {
                "HDF5" | "ASDF" => "/data",
                "GSD" => "/frames/0/data",
                _ => "/",
            };
            let new = format!("new.{ending}");
            let word = |word: &&str| match *word {
                "FILE" => file.clone(),
                "NEW" => new.clone(),
                "PATH" => path.to_owned(),
                other => other.to_owned(),
            };
            let begin = Instant::now();
            let taken = taken(Command::new(&program).args(words.iter().map(word)).current_dir(&place))?;
            println!("{name}: {} MiB, {:.1?}", taken >> 20, begin.elapsed());
            if taken > allowed {
                over.push(name);
            }
            if let Some(cell) = row.and_then(|row| table.get_mut(row)?.get_mut(column)) {
                *cell = Some(taken);
            }
        }
    }
    fs::remove_dir_all(&place).about(&place)?;
    if asked.is_none() {
        reliability::publish_memory(&section(&table, allowed))?;
    }
    if over.is_empty() {
        Ok(())
    } else {
        Err(format!("these commands used more than {} MiB: {}", allowed >> 20, over.join("; ")).into())
    }
}

/// Writes an `.npy` array in which each page has a different number.
fn base(path: &Path) -> Result {
    const HEADER: u64 = 128;
    let rows = SIZE / 4 / ROW;
    let mut header = b"\x93NUMPY\x01\0v\0".to_vec();
    header.extend(format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {ROW}), }}").bytes());
    header.resize(127, b' ');
    header.push(b'\n');
    let mut file = File::create(path).about(path)?;
    file.write_all(&header).about(path)?;
    file.set_len(HEADER + SIZE).about(path)?;
    for page in 0..SIZE >> 16 {
        file.seek(SeekFrom::Start(HEADER + (page << 16))).about(path)?;
        // A number that fits is written.
        file.write_all(&(page as f32).to_le_bytes()).about(path)?;
    }
    Ok(())
}

/// Runs a command and returns the largest resident memory of its process.
fn taken(command: &mut Command) -> Result<u64> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut highest = 0;
    let ended = loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        highest = resident(&text).unwrap_or(0).max(highest);
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        thread::sleep(Duration::from_millis(1));
    };
    if ended.success() { Ok(highest) } else { Err(format!("{command:?} ended with {ended}").into()) }
}

/// Returns the largest resident memory of a process from its status.
fn resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the section of the document.
fn section(table: &[Vec<Option<u64>>], allowed: u64) -> String {
    let mut text = format!(
        "{}\n\n\
         This table shows the largest resident memory of the program in MiB. Each file contained {} GiB of elements, in chunks of {} MiB (HDF5\n\
         and Blosc2) or in one piece. `cargo xtask memory` measures this and fails above {} MiB, which is 256 MiB and one chunk per thread.\n\n\
         | command |",
        reliability::MEMORY,
        SIZE >> 30,
        CHUNK >> 20,
        allowed >> 20,
    );
    for (format, ..) in FORMATS {
        // Writing to a String cannot fail.
        let _ = write!(text, " {format} |");
    }
    let _ = writeln!(text, "\n|---|{}", "--:|".repeat(FORMATS.len()));
    for ((name, ..), cells) in COMMANDS.iter().zip(table) {
        let _ = write!(text, "| `{name}` |");
        for cell in cells {
            let _ = match cell {
                Some(bytes) => write!(text, " {} |", bytes.div_ceil(1 << 20)),
                None => write!(text, " · |"),
            };
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_memory_is_found_in_a_status() {
        assert_eq!(resident("Name:\tx\nVmHWM:\t    1234 kB\nVmRSS:\t 7 kB\n"), Some(1234 * 1024));
        assert_eq!(resident("Name:\tx\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_process_takes_is_seen() {
        let taken = |script: &str| taken(Command::new("sh").args(["-c", script]));
        assert!(taken("sleep 0.1").unwrap() > 100_000);
        assert!(taken("exit 3").is_err());
    }

    #[test]
    fn the_section_has_a_row_for_each_command() {
        let mut table = vec![vec![None; FORMATS.len()]; COMMANDS.len()];
        table[0][0] = Some(10 << 20);
        let text = section(&table, 258 << 20);
        assert!(text.starts_with(reliability::MEMORY));
        assert!(text.contains("| `manifest` | 10 | · | · | · | · | · |"));
        assert_eq!(text.matches("\n| `").count(), COMMANDS.len());
    }
}
