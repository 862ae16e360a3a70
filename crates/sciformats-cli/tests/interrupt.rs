//! Ctrl-C ends every command soon and leaves what was there; long work shows how far it is.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::Program;
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use sciformats::gsd_rs;
use sciformats::hdf5_pure::filters::Filters;
use sciformats::hdf5_pure::{File, Writer};

/// How long a command may go on.
const SOON: Duration = Duration::from_millis(300);

/// An array of zeros that takes no room on the device.
fn sparse(path: &Path, elements: u64) {
    let mut header = b"rawarray".to_vec();
    for word in [0u64, 3, 8, 8 * elements, 1, elements] {
        header.extend(word.to_le_bytes());
    }
    let mut file = fs::File::create(path).unwrap();
    file.write_all(&header).unwrap();
    file.set_len(header.len() as u64 + 8 * elements).unwrap();
}

/// A GSD file with such an array.
fn reserved(path: &Path, elements: u64) {
    let options = gsd_rs::CreateOptions::new("tests", "zeros", gsd_rs::Version::new(1, 0));
    let mut file = gsd_rs::Writer::create(path, &options).unwrap();
    file.reserve::<f64>("a", elements, 1).unwrap();
    file.end_frame().unwrap();
    file.finish().unwrap();
}

/// A dataset without elements, which reads as fill values, and one of 2 GiB of zeros, which are stored in 256 chunks.
fn zeros(path: &Path) {
    const CHUNK: u64 = 1 << 20;
    let filters = || Filters::new().deflate(9);
    let one = path.with_extension("one");
    let mut file = Writer::create(&one).unwrap();
    let flat = vec![0.0; CHUNK as usize];
    file.dataset("one").shape([CHUNK]).chunks([CHUNK]).filters(filters()).write(&flat).unwrap();
    file.finish().unwrap();
    let stored = File::open(&one).unwrap().dataset("one").unwrap();
    let first = stored.chunks().unwrap().into_iter().next().unwrap().unwrap();
    let chunk = stored.chunk_raw(&first).unwrap();
    fs::remove_file(&one).unwrap();

    let mut file = Writer::create(path).unwrap();
    file.dataset("flat").shape([1 << 28]).create::<f64>().unwrap();
    let many = file.dataset("one").shape([256 * CHUNK]).chunks([CHUNK]).filters(filters());
    let mut many = many.create::<f64>().unwrap();
    for index in 0..256 {
        many.write_chunk(&[index], 0, &chunk).unwrap();
    }
    file.finish().unwrap();
}

/// What is in the folder, and when it was written.
fn contents(folder: &Path) -> Vec<(std::ffi::OsString, u64, std::time::SystemTime)> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let mut all: Vec<_> = entries
        .map(|entry| {
            let about = entry.metadata().unwrap();
            (entry.file_name(), about.len(), about.modified().unwrap())
        })
        .collect();
    all.sort();
    all
}

fn interrupt(child: &Child) {
    signal(child, "-INT");
}

fn signal(child: &Child, name: &str) {
    Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
}

/// The time that a command takes to end after a Ctrl-C, which comes when it is at work: earlier where the machine is fast.
fn ends_after(folder: &Path, args: &[&str]) -> Duration {
    let instants = [600, 300, 150, 75, 40, 20, 10].map(Duration::from_millis);
    let ended = instants.into_iter().find_map(|instant| interrupted_after(instant, folder, args));
    ended.unwrap_or_else(|| panic!("{args:?} is done before it can be interrupted"))
}

/// The same for a Ctrl-C at `instant`; nothing, if the command has ended by then.
fn interrupted_after(instant: Duration, folder: &Path, args: &[&str]) -> Option<Duration> {
    let mut command = Program::at(folder).command();
    // Output that nobody takes makes the program wait.
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    std::thread::sleep(instant);
    if let Some(status) = child.try_wait().unwrap() {
        assert!(status.success(), "{args:?}: {status}");
        return None;
    }
    let start = Instant::now();
    interrupt(&child);
    let status = child.wait().unwrap();
    if status.success() {
        // It was done in that very moment.
        return None;
    }
    assert!(status.code().is_none_or(|code| code == 130), "{args:?}: {status}");
    Some(start.elapsed())
}

#[test]
fn every_command_ends_soon_and_leaves_what_was_there() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    for name in ["a.ra", "b.ra"] {
        sparse(&folder.join(name), 1 << 29);
    }
    zeros(&folder.join("a.h5"));
    reserved(&folder.join("a.gsd"), 1 << 29);
    for name in ["o.npy", "o.h5", "o.asdf", "o.ra", "o.b2nd", "o.gsd"] {
        fs::write(folder.join(name), "what was there").unwrap();
    }
    let before = contents(folder);
    for args in [
        &["manifest", "a.ra"][..],
        &["verify", "a.ra"],
        &["verify", "a.h5"],
        &["diff", "a.ra", "b.ra"],
        &["cat", "a.ra", "--format", "raw"],
        &["cat", "a.ra", "--all"],
        &["cat", "a.h5", "/flat", "--csv"],
        &["plot", "a.ra", "-k", "histogram"],
        &["convert", "a.ra", "o.npy", "--force"],
        &["convert", "a.ra", "o.h5", "--force", "--filter", "zlib", "--level", "9"],
        &["convert", "a.ra", "o.asdf", "--force"],
        &["convert", "a.ra", "o.b2nd", "--force", "--filter", "zstd", "--level", "9"],
        &["repack", "a.ra", "o.ra", "--force", "--filter", "lz4"],
        &["repack", "a.gsd", "o.gsd", "--force"],
        &["repack", "a.h5", "o.h5", "--force", "--chunks", "16777216", "--filter", "zlib", "--level", "9"],
    ] {
        // The machine may be busy with something else.
        let soon = (0..6).map(|_| ends_after(folder, args)).find(|took| *took <= SOON);
        assert!(soon.is_some(), "{args:?} goes on after a Ctrl-C");
        assert_eq!(contents(folder), before, "{args:?}");
    }
}

/// A dataset of chunks that have room in the file and no elements.
fn allocated(path: &Path, chunks: u64) {
    let mut file = Writer::create(path).unwrap();
    let mut made = file.dataset("a").shape([chunks]).chunks([1]).create::<u8>().unwrap();
    for index in 0..chunks {
        made.reserve_chunk(&[index], 0, 1).unwrap();
    }
    file.finish().unwrap();
}

#[test]
fn nothing_is_left_of_folders_and_of_files_that_belong_together() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    sparse(&folder.join("a.ra"), 1 << 29);
    zeros(&folder.join("a.h5"));
    allocated(&folder.join("many.h5"), 1 << 20);
    let mut blocks = sciformats::asdf_core::Document::new();
    for number in 0..24u64 {
        let elements: Vec<u64> = (0..1 << 20).map(|i| i * number).collect();
        let array = sciformats::asdf_core::NewArray::new(&elements, &[1 << 20]).unwrap();
        blocks.set_array(format!("a{number}").as_str(), array).unwrap();
    }
    blocks.save(folder.join("a.asdf")).unwrap();
    fs::create_dir(folder.join("old.zarr")).unwrap();
    fs::write(folder.join("old.zarr/zarr.json"), "{}").unwrap();
    let before = contents(folder);
    for args in [
        &["convert", "a.h5", "o.zarr"][..],
        &["convert", "a.h5", "old.zarr", "--force"],
        &["references", "many.h5", "-o", "o.parquet"],
        &["explode", "a.asdf", "o.asdf"],
    ] {
        for name in ["-INT", "-TERM"] {
            for instant in [400, 200, 100, 50, 25, 12, 6] {
                let mut command = Program::at(folder).command();
                let mut child =
                    command.args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
                std::thread::sleep(Duration::from_millis(instant));
                signal(&child, name);
                let status = child.wait().unwrap();
                if status.success() {
                    // It was done before.
                    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                        let made = entry.file_name().unwrap().to_string_lossy().starts_with("o.")
                            || entry.extension().is_some_and(|end| end == "asdf")
                                && !entry.ends_with("a.asdf");
                        if made && entry.is_dir() {
                            fs::remove_dir_all(&entry).unwrap();
                        } else if made {
                            fs::remove_file(&entry).unwrap();
                        }
                    }
                }
                assert_eq!(contents(folder), before, "{args:?} {name} after {instant} ms: {status}");
                assert_eq!(fs::read(folder.join("old.zarr/zarr.json")).unwrap(), b"{}");
            }
        }
    }
}

#[test]
fn long_work_shows_how_far_it_is() {
    let place = tempfile::tempdir().unwrap();
    sparse(&place.path().join("a.ra"), 1 << 29);
    let size = PtySize { rows: 24, cols: 100, pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_sciformats"));
    command.cwd(place.path());
    command.env("TERM", "xterm-256color");
    command.args(["verify", "a.ra", "--threads", "1", "--limit-unfolded", "1T"]);
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().unwrap();
    let mut writer = pair.master.take_writer().unwrap();
    let mut shown = String::new();
    let mut buffer = [0; 4096];
    while !(shown.contains(" of 4.0 GiB (") && shown.contains("/s, ") && shown.contains(" left")) {
        let count = reader.read(&mut buffer).unwrap_or(0);
        assert!(count > 0, "it is done, and has shown {shown:?}");
        shown.push_str(&String::from_utf8_lossy(buffer.get(..count).unwrap()));
    }
    assert!(shown.contains("verifying: "), "{shown:?}");
    writer.write_all(b"\x03").unwrap();
    let start = Instant::now();
    let status = child.wait().unwrap();
    assert!(!status.success());
    assert!(start.elapsed() <= SOON * 3, "{:?}", start.elapsed());
}
