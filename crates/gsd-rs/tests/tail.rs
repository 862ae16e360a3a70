//! A reader follows a file that another writer appends to.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{check, chunks_in, name, options, read, values, write_frame};
use gsd_rs::storage::Durability;
use gsd_rs::{Reader, Version, Writer};

const FRAMES: u64 = 2000;

fn follow(layer: Version) {
    let dir = tempfile::tempdir().unwrap();
    let path = &dir.path().join("tail.gsd");
    Writer::create(path, &options().with_layer(layer)).unwrap().finish().unwrap();
    let mut reader = Reader::open(path).unwrap();
    let done = AtomicBool::new(false);
    let mut seen = 0;
    let mut refreshes = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = Writer::append_to(path).unwrap();
            writer.set_durability(Durability::Process);
            writer.set_buffer(300);
            while writer.frames() < FRAMES {
                write_frame(&mut writer).unwrap();
                if writer.frames().is_multiple_of(3) {
                    writer.flush().unwrap();
                }
                if writer.frames().is_multiple_of(500) {
                    // With a new writer, the file is unsealed and sealed again.
                    drop(writer);
                    writer = Writer::append_to(path).unwrap();
                    writer.set_durability(Durability::Process);
                }
            }
            writer.finish().unwrap();
            done.store(true, Ordering::Release);
        });
        loop {
            let last = done.load(Ordering::Acquire);
            let frames = reader.refresh().unwrap();
            assert!(frames >= seen);
            for frame in seen..frames {
                // Only the newest frame could be incomplete.
                assert_eq!(
                    reader.chunks(frame).count() as u64,
                    chunks_in(frame),
                    "frame {frame} of {frames}"
                );
                for chunk in 0..chunks_in(frame) {
                    let found = reader.find(frame, &name(frame, chunk)).unwrap().unwrap();
                    assert_eq!(read::<u32>(&reader, &found), values(frame, chunk));
                }
            }
            refreshes += 1;
            seen = frames;
            if last {
                break;
            }
        }
    });
    assert_eq!(check(&reader), FRAMES);
    println!("layer {layer}: {refreshes} refreshes while {FRAMES} frames were written");
}

#[test]
fn a_reader_sees_new_frames_and_never_half_of_one() {
    follow(Version::new(2, 1));
    follow(Version::new(1, 0));
}

#[test]
fn a_reader_that_does_not_refresh_keeps_its_state() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("still.gsd");
    let mut writer = Writer::create(&path, &options()).unwrap();
    write_frame(&mut writer).unwrap();
    writer.flush().unwrap();
    let reader = Reader::open(&path).unwrap();
    for _ in 0..100 {
        write_frame(&mut writer).unwrap();
        writer.flush().unwrap();
    }
    assert_eq!(check(&reader), 1);
    writer.finish().unwrap();
    assert_eq!(check(&reader), 1);
}
