//! A writer is interrupted at every step, in every sector and with reordered writes, and a device is full or fails. No committed
//! frame is lost, no frame is incomplete, and the file can still be appended to.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

use std::borrow::Cow;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex};

use crate::common::{Recorder, check, examine, options, write_frame};
use gsd_rs::hoomd::{Frame, Trajectory, TrajectoryWriter};
use gsd_rs::{CreateOptions, Reader, Result, Version, Writer};
use sciformats_core::commit::replay::{Cut, Cuts, FailingDisk, FullDisk, every_cut};
use sciformats_core::{ReadAt, Step, WriteAt};

/// A device that the test keeps after the writer is dropped.
struct Kept<D>(Arc<Mutex<D>>);

impl<D> Kept<D> {
    fn new(device: D) -> (Self, Arc<Mutex<D>>) {
        let device = Arc::new(Mutex::new(device));
        (Self(device.clone()), device)
    }
}

trait Device: WriteAt + Send {
    fn bytes(&self) -> &Vec<u8>;
}
impl Device for Recorder {
    fn bytes(&self) -> &Vec<u8> {
        &self.bytes
    }
}
impl Device for FullDisk {
    fn bytes(&self) -> &Vec<u8> {
        &self.bytes
    }
}
impl Device for FailingDisk {
    fn bytes(&self) -> &Vec<u8> {
        &self.bytes
    }
}

impl<D: Device> ReadAt for Kept<D> {
    fn size(&self) -> u64 {
        self.0.lock().unwrap().bytes().len() as u64
    }
    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        let device = self.0.lock().unwrap();
        Ok(Cow::Owned(device.bytes().read_at(offset, len)?.into_owned()))
    }
}
impl<D: Device> WriteAt for Kept<D> {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.0.lock().unwrap().write_at(offset, bytes)
    }
    fn set_size(&mut self, size: u64) -> Result<()> {
        self.0.lock().unwrap().set_size(size)
    }
    fn sync(&mut self) -> Result<()> {
        self.0.lock().unwrap().sync()
    }
}

fn blank(layer: Version) -> Vec<u8> {
    let (kept, device) = Kept::new(Recorder::default());
    Writer::create_in(kept, &options().with_layer(layer)).unwrap().finish().unwrap();
    device.lock().unwrap().bytes.clone()
}

fn with_frames(layer: Version, frames: u64) -> Vec<u8> {
    let (kept, device) = Kept::new(Recorder { bytes: blank(layer), ..Recorder::default() });
    let mut writer = Writer::append_in(kept).unwrap();
    for _ in 0..frames {
        write_frame(&mut writer).unwrap();
    }
    writer.finish().unwrap();
    device.lock().unwrap().bytes.clone()
}

fn reader(file: &[u8]) -> Reader {
    Reader::from_bytes(file.to_vec()).unwrap()
}

/// Checks that the remaining file can be appended to, and then has one frame more.
fn append_one(file: &[u8], frames: u64) {
    let (kept, device) = Kept::new(Recorder { bytes: file.to_vec(), ..Recorder::default() });
    let mut writer = Writer::append_in(kept).unwrap();
    assert_eq!(writer.frames(), frames);
    write_frame(&mut writer).unwrap();
    writer.finish().unwrap();
    assert_eq!(check(&reader(&device.lock().unwrap().bytes)), frames + 1);
}

/// Returns the first step that may not have happened.
fn undone(cut: &Cut) -> usize {
    match cut {
        Cut::Prefix(done) => *done,
        Cut::Torn { step, .. } => *step,
        Cut::Reordered { since, .. } => *since,
    }
}

/// Appends `frames` frames to `initial` with a flush after every `group` frames, and interrupts this everywhere.
fn cut_session(initial: &[u8], frames: u64, group: u64) -> Cuts {
    let (kept, device) = Kept::new(Recorder { bytes: initial.to_vec(), ..Recorder::default() });
    let mut writer = Writer::append_in(kept).unwrap();
    writer.set_buffer(64); // so that some chunks are written at once
    let first = writer.frames();
    // Pairs: after this many steps, this many frames are committed.
    let mut commits = vec![(0, first)];
    for frame in first..first + frames {
        write_frame(&mut writer).unwrap();
        if (frame + 1) % group == 0 {
            writer.flush().unwrap();
            commits.push((device.lock().unwrap().steps.len(), writer.committed()));
        }
    }
    writer.finish().unwrap();
    let steps = device.lock().unwrap().steps.clone();
    commits.push((steps.len(), first + frames));

    every_cut(initial, &steps, |cut, file| {
        let seen = check(&reader(file));
        let safe = commits.iter().rfind(|(end, _)| *end <= undone(cut)).unwrap().1;
        let begun =
            commits.iter().find(|(end, _)| *end > undone(cut)).map_or(first + frames, |commit| commit.1);
        assert!(seen == safe || seen == begun, "{cut:?}: {seen} frames, {safe} committed, {begun} begun");
        append_one(file, seen);
    })
}

/// Prints the result. Writes are recorded by sectors, so a prefix may be a torn write.
fn tell(what: &str, cuts: Cuts) {
    println!("crash matrix: gsd: {what}: {cuts}");
}

#[test]
fn every_cut_leaves_whole_frames_and_a_file_to_append_to() {
    let mut cuts = Cuts::default();
    for layer in [Version::new(2, 1), Version::new(1, 0)] {
        // A new file, a file whose index and names grow, and a file that is opened in the middle.
        cuts += cut_session(&blank(layer), 4, 1);
        cuts += cut_session(&with_frames(layer, 21), 12, 4);
        cuts += cut_session(&with_frames(layer, 40), 3, 2);
        // The first entries of these sessions are in one sector or in two.
        for frames in 22..30 {
            cuts += cut_session(&with_frames(layer, frames), 2, 1);
        }
    }
    tell("appended frames", cuts);
    assert!(cuts.prefixes > 100 && cuts.reordered > 100, "{cuts:?}");
}

#[test]
fn a_cut_upgrade_leaves_the_old_layer_or_the_new_one() {
    let initial = with_frames(Version::new(1, 0), 30);
    let (kept, device) = Kept::new(Recorder { bytes: initial.clone(), ..Recorder::default() });
    let mut writer = Writer::append_in(kept).unwrap();
    writer.upgrade().unwrap();
    writer.finish().unwrap();
    let steps = device.lock().unwrap().steps.clone();
    let cuts = every_cut(&initial, &steps, |_, file| {
        assert_eq!(check(&reader(file)), 30);
        append_one(file, 30);
    });
    tell("upgrades to layer 2", cuts);
    let upgraded = reader(&device.lock().unwrap().bytes);
    assert_eq!(upgraded.header().version, Version::new(2, 1));
    let ids: Vec<u16> = upgraded.chunks(5).map(|chunk| chunk.unwrap().id).collect();
    assert!(ids.is_sorted() && ids.len() == 9, "{ids:?}");
}

#[test]
fn a_cut_truncation_leaves_all_frames_or_none() {
    let mut cuts = Cuts::default();
    for layer in [Version::new(1, 0), Version::new(2, 1)] {
        let initial = with_frames(layer, 30);
        let (kept, device) = Kept::new(Recorder { bytes: initial.clone(), ..Recorder::default() });
        let mut writer = Writer::append_in(kept).unwrap();
        writer.truncate().unwrap();
        writer.finish().unwrap();
        let steps = device.lock().unwrap().steps.clone();
        cuts += every_cut(&initial, &steps, |cut, file| {
            let frames = check(&reader(file));
            assert!(frames == 30 || frames == 0, "{cut:?}: {frames}");
            append_one(file, frames);
        });
        let bytes = device.lock().unwrap().bytes.clone();
        assert_eq!(bytes.len(), 5376);
        assert_eq!(bytes, blank(Version::new(2, 1)));
    }
    tell("truncations", cuts);
}

#[test]
fn a_full_device_costs_nothing_that_was_committed_and_can_be_freed() {
    let initial = with_frames(Version::new(2, 1), 25);
    let (mut tried, mut full) = (0, 0);
    // From no space at all to space for everything.
    for room in (0..20_000).step_by(97) {
        let disk = FullDisk { bytes: initial.clone(), capacity: initial.len() + room };
        let (kept, device) = Kept::new(disk);
        let mut writer = Writer::append_in(kept).unwrap();
        writer.set_buffer(100);
        let mut acknowledged = 25;
        let mut refused = false;
        while writer.frames() < 40 {
            if write_frame(&mut writer).is_err() {
                writer.discard_frame();
                refused = true;
                break;
            }
            match writer.flush() {
                Ok(()) => acknowledged = writer.committed(),
                Err(_) => {
                    refused = true;
                    break;
                }
            }
        }
        let now = reader(&device.lock().unwrap().bytes);
        assert_eq!(check(&now), acknowledged, "{room} bytes of room");
        append_one(&device.lock().unwrap().bytes, acknowledged);
        // With more space, the same writer continues.
        device.lock().unwrap().capacity = usize::MAX;
        let complete = writer.frames();
        assert!(refused || complete == 40);
        (tried, full) = (tried + 1, full + usize::from(refused));
        write_frame(&mut writer).unwrap();
        writer.finish().unwrap();
        assert_eq!(check(&reader(&device.lock().unwrap().bytes)), complete + 1);
    }
    println!("crash matrix: gsd: appended frames: {full} full disks");
    assert!(full > 50 && full < tried);
}

#[test]
fn a_full_device_leaves_the_file_byte_for_byte() {
    let initial = with_frames(Version::new(2, 1), 25);
    let mut refused = 0;
    for room in 0..1500 {
        for buffer in [16, 1 << 20] {
            let (kept, device) =
                Kept::new(FullDisk { bytes: initial.clone(), capacity: initial.len() + room });
            let mut writer = Writer::append_in(kept).unwrap();
            writer.set_buffer(buffer);
            let written = (0..8).try_for_each(|_| write_frame(&mut writer)).and_then(|()| writer.flush());
            drop(writer);
            if written.is_err() {
                refused += 1;
                let left = &device.lock().unwrap().bytes;
                assert!(*left == initial || check(&reader(left)) > 25, "{room} bytes of room");
                assert!(room > 500 || *left == initial, "{room} bytes of room");
            }
        }
    }
    assert!(refused > 200, "{refused}");
}

#[test]
fn frames_after_a_frame_0_that_did_not_fit_inherit_what_it_has() {
    let options = CreateOptions::new("test", "hoomd", Version::new(2, 0));
    let blank = Writer::create_in(Vec::new(), &options).unwrap().into_bytes().unwrap();
    let (kept, device) = Kept::new(FullDisk { capacity: blank.len(), bytes: blank });
    let mut writer = TrajectoryWriter::on(Writer::append_in(kept).unwrap()).unwrap();
    let mut heavy = Frame::new(2);
    heavy.particles.mass = vec![2.0f32; 2].into();
    assert!(writer.append(&heavy).is_err());
    assert!(writer.append(&Frame::new(2)).is_err());
    assert_eq!(writer.len(), 1); // it waits for space
    device.lock().unwrap().capacity = usize::MAX;
    // Its masses are the defaults of the schema, which are not those of frame 0.
    writer.append(&Frame::new(2)).unwrap();
    writer.finish().unwrap();
    let trajectory = Trajectory::new(reader(&device.lock().unwrap().bytes)).unwrap();
    assert_eq!(trajectory.len(), 2);
    assert_eq!(trajectory.frame(0).unwrap().particles.mass.to_f64(), [2.0; 2]);
    assert_eq!(trajectory.frame(1).unwrap().particles.mass.to_f64(), [1.0; 2]);
}

#[test]
fn a_file_that_another_program_changed_is_left_to_it() {
    type Change = fn(&mut std::fs::File);
    let changes: [Change; 3] = [
        |file| file.set_len(1 << 20).unwrap(),
        |file| file.write_all_at(b"another", 200).unwrap(),
        |file| file.write_all_at(&[1; 32], 256 + 32 * 128 - 32).unwrap(),
    ];
    for (at, change) in changes.into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file.gsd");
        // The last entry is the next one to be written.
        let mut writer = Writer::create(&path, &options()).unwrap();
        (0..127u64).for_each(|i| writer.write(&format!("n{i}"), 1, &[i]).unwrap());
        writer.end_frame().unwrap();
        writer.finish().unwrap();
        let mut writer = Writer::append_to(&path).unwrap();
        writer.write("n0", 1, &[1u8]).unwrap();
        writer.end_frame().unwrap();
        let mut other = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        change(&mut other);
        let there = std::fs::read(&path).unwrap();
        let refused = writer.flush();
        assert!(matches!(refused, Err(gsd_rs::Error::Conflict { .. })), "{at}: {refused:?}");
        drop(writer);
        assert_eq!(std::fs::read(&path).unwrap(), there, "{at}");
    }
}

#[test]
fn a_device_that_fails_keeps_what_was_committed() {
    let initial = with_frames(Version::new(2, 1), 25);
    for operations in 0..60 {
        let (kept, device) = Kept::new(FailingDisk { bytes: initial.clone(), operations });
        let mut writer = Writer::append_in(kept).unwrap();
        let mut acknowledged = 25;
        while writer.frames() < 40 && write_frame(&mut writer).is_ok() && writer.flush().is_ok() {
            acknowledged = writer.committed();
        }
        drop(writer);
        let bytes = device.lock().unwrap().bytes.clone();
        let seen = check(&reader(&bytes));
        // The header may have been written although the sync after it failed.
        assert!(seen == acknowledged || seen == acknowledged + 1, "{seen} {acknowledged}");
        append_one(&bytes, seen);
    }
    println!("crash matrix: gsd: appended frames: 60 failing devices");
}

#[test]
fn a_device_that_fails_keeps_all_frames_or_none_of_what_is_changed_as_a_whole() {
    let initial = with_frames(Version::new(1, 0), 25);
    type Change = fn(&mut Writer<Kept<FailingDisk>>) -> Result<()>;
    for (change, allowed) in [(Writer::upgrade as Change, [25, 25]), (Writer::truncate, [25, 0])] {
        for operations in 0..20 {
            let (kept, device) = Kept::new(FailingDisk { bytes: initial.clone(), operations });
            let mut writer = Writer::append_in(kept).unwrap();
            let changed = change(&mut writer).is_ok();
            // The device works again, and the writer continues or refuses to.
            device.lock().unwrap().operations = usize::MAX;
            let appended = write_frame(&mut writer).and_then(|()| writer.flush()).is_ok();
            drop(writer);
            let bytes = device.lock().unwrap().bytes.clone();
            let seen = check(&reader(&bytes)) - u64::from(appended);
            assert!(allowed.contains(&seen) && (!changed || seen == allowed[1]), "{operations}: {seen}");
            append_one(&bytes, seen + u64::from(appended));
        }
    }
}

#[test]
fn after_a_failed_sync_nothing_more_is_written() {
    struct NoSync(Vec<u8>);
    impl ReadAt for NoSync {
        fn size(&self) -> u64 {
            self.0.len() as u64
        }
        fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
            self.0.read_at(offset, len)
        }
    }
    impl WriteAt for NoSync {
        fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
            self.0.write_at(offset, bytes)
        }
        fn set_size(&mut self, size: u64) -> Result<()> {
            self.0.set_size(size)
        }
        fn sync(&mut self) -> Result<()> {
            Err(gsd_rs::Error::io("sync", std::io::Error::other("gone")))
        }
    }
    let mut writer = Writer::append_in(NoSync(with_frames(Version::new(2, 1), 3))).unwrap();
    write_frame(&mut writer).unwrap();
    assert_eq!(writer.flush().unwrap_err().to_string(), "cannot sync: gone");
    assert_eq!(
        writer.flush().unwrap_err().to_string(),
        "writer has lost bytes, because the device failed to sync them; open the file again"
    );
}

/// The order of a commit makes it safe: without its first sync, some interruption must show half a frame.
#[test]
fn the_test_itself_finds_a_wrong_order() {
    let initial = with_frames(Version::new(2, 1), 3);
    let (kept, device) = Kept::new(Recorder { bytes: initial.clone(), ..Recorder::default() });
    let mut writer = Writer::append_in(kept).unwrap();
    write_frame(&mut writer).unwrap();
    writer.finish().unwrap();
    let steps: Vec<Step<'_>> =
        device.lock().unwrap().steps.iter().filter(|step| **step != Step::Sync).cloned().collect();
    let mut broken = 0;
    every_cut(&initial, &steps, |_, file| {
        broken += usize::from(!matches!(examine(&reader(file)), Ok(3 | 4)));
    });
    assert!(broken > 0);
}
