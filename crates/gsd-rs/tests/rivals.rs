//! Several processes write to one file. Every frame that was reported as committed to one of them is present at the end.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test fails by panicking")]
#![cfg(unix)]

use std::path::Path;

use gsd_rs::{CreateOptions, Reader, Result, Version, Writer};
use sciformats_core::commit::rivals::{PROCESSES, is_rival, meet};
use sciformats_core::storage::Durability;

const TEST: &str = "rivals::no_writer_overwrites_another";

/// Appends a frame that contains `number`, in one of the ways in which a file can be changed.
fn edit(path: &Path, kind: &str, number: u64) -> Result<()> {
    let mut writer = Writer::append_to(path)?;
    writer.set_durability(Durability::Process);
    match kind {
        "upgrade" if number.is_multiple_of(3) => writer.upgrade()?,
        // Chunks are written at once, before the frame is committed.
        "direct" => writer.set_buffer(16),
        _ => {}
    }
    writer.write("number", 1, &[number])?;
    writer.write(&format!("of {}", number % 40), 1, &[number as f64; 30])?;
    writer.end_frame()?;
    writer.finish()
}

#[test]
fn no_writer_overwrites_another() {
    if is_rival(edit).unwrap() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (kind, operation) in
        [("append", "appended frames"), ("direct", "appended frames"), ("upgrade", "upgrades to layer 2")]
    {
        for processes in PROCESSES {
            let path = folder.path().join(format!("{kind}-{processes}.gsd"));
            let layer = if kind == "upgrade" { Version::new(1, 0) } else { Version::new(2, 1) };
            let options = CreateOptions::new("test", "none", Version::new(1, 0)).with_layer(layer);
            Writer::create(&path, &options).unwrap().finish().unwrap();
            let outcome = meet(TEST, kind, &path, processes).unwrap();
            let reader = Reader::open(&path).unwrap();
            reader.verify().unwrap();
            let there: Vec<u64> = (0..reader.frames())
                .map(|frame| {
                    let chunk = |name: &str| reader.find(frame, name).unwrap().unwrap();
                    let number = reader.read::<u64>(&chunk("number")).unwrap()[0];
                    let values =
                        reader.read::<f64>(&chunk(&format!("of {}", number % 40))).unwrap().into_owned();
                    assert_eq!(values, [number as f64; 30]);
                    number
                })
                .collect();
            assert_eq!(there.len(), outcome.kept.len());
            assert!(outcome.kept.iter().all(|number| there.contains(number)), "{kind}");
            println!("crash matrix: gsd: {operation}: {} interleavings", outcome.rounds);
        }
    }
}
