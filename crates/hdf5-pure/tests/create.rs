//! Interrupts the creation of a file, and checks what is left.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout)]

use std::borrow::Cow;
use std::io::ErrorKind;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use crate::description::describe;
use crate::recorded::Recorded;
use hdf5_pure::options::{Bound, Durability};
use hdf5_pure::storage::ReadAt;
use hdf5_pure::{CreateOptions, EditOptions, Editor, Error, File, Result, Writer};
use sciformats_core::WriteAt;
use sciformats_core::commit::kill::example;
use sciformats_core::commit::replay::{Cuts, every_cut};

/// A disk with room for a limited number of bytes.
struct Full {
    bytes: Vec<u8>,
    capacity: u64,
}

impl ReadAt for Full {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        self.bytes.read_at(offset, len)
    }
}

impl WriteAt for Full {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        if offset + bytes.len() as u64 > self.capacity {
            return Err(Error::io("write", std::io::ErrorKind::StorageFull.into()));
        }
        self.bytes.write_at(offset, bytes)
    }

    fn set_size(&mut self, size: u64) -> Result<()> {
        if size > self.capacity {
            return Err(Error::io("resize", std::io::ErrorKind::StorageFull.into()));
        }
        self.bytes.set_size(size)
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }
}

fn fill(file: &mut Writer) -> Result<()> {
    let values: Vec<u64> = (0..20_000).collect();
    file.dataset("contiguous").write(&values)?;
    file.dataset("chunked").max_shape([None]).chunks([100]).shuffle().lzf().write(&values)?;
    for i in 0..50 {
        file.group("many")?.attribute(&format!("a{i}"), i)?.group(&format!("g{i}"))?;
    }
    Ok(())
}

#[test]
fn a_full_disk_is_an_error_at_every_size() {
    let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
    fill(&mut file).unwrap();
    let size = file.into_bytes().unwrap().len() as u64;
    let attempt = |capacity| -> Result<()> {
        let disk = Full { bytes: Vec::new(), capacity };
        let mut file = Writer::in_storage(Box::new(disk), &CreateOptions::default())?;
        fill(&mut file)?;
        file.finish()
    };
    attempt(size).unwrap();
    for part in 0..60 {
        let error = attempt(size * part / 60).unwrap_err();
        assert!(
            matches!(error, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull)
        );
    }
    println!("crash matrix: hdf5: files created: 60 full disks");
}

#[test]
fn an_editor_whose_disk_is_full_says_so_each_time() {
    let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
    file.dataset("kept").write(&[1]).unwrap();
    let bytes = file.into_bytes().unwrap();
    let capacity = bytes.len() as u64 + 1000;
    let disk = Box::new(Full { bytes, capacity });
    let mut editor = Editor::in_storage(disk, &EditOptions::default()).unwrap();
    for i in 0..1000 {
        if editor.group(&format!("g{i}")).is_err() {
            break;
        }
    }
    for _ in 0..3 {
        let error = editor.commit().unwrap_err();
        assert!(
            matches!(&error, Error::Io { source, .. } if source.kind() == ErrorKind::StorageFull),
            "{error}"
        );
    }
}

/// A disk that gets full after a number of writes, for good.
struct Filling {
    bytes: Vec<u8>,
    writes: Arc<AtomicUsize>,
}

impl Filling {
    fn spend(&self, what: &'static str) -> Result<()> {
        let spent = self.writes.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
        spent.map(drop).map_err(|_| Error::io(what, ErrorKind::StorageFull.into()))
    }
}

impl ReadAt for Filling {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        self.bytes.read_at(offset, len)
    }
}

impl WriteAt for Filling {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.spend("write")?;
        self.bytes.write_at(offset, bytes)
    }

    fn set_size(&mut self, size: u64) -> Result<()> {
        self.spend("resize")?;
        self.bytes.set_size(size)
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn a_commit_that_failed_half_way_says_why_each_time() {
    let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
    file.dataset("kept").write(&[1]).unwrap();
    let bytes = file.into_bytes().unwrap();
    let mut failed = 0;
    for allowed in 0.. {
        let writes = Arc::new(AtomicUsize::new(usize::MAX));
        let disk = Filling { bytes: bytes.clone(), writes: Arc::clone(&writes) };
        let mut editor = Editor::in_storage(Box::new(disk), &EditOptions::default()).unwrap();
        editor.open_dataset("kept").unwrap().write_all(&[2]).unwrap();
        for i in 0..20 {
            editor.group(&format!("g{i}")).unwrap();
        }
        writes.store(allowed, Relaxed);
        let Err(first) = editor.commit() else { break };
        failed += 1;
        for error in [first, editor.commit().unwrap_err(), editor.commit().unwrap_err()] {
            let full = matches!(&error, Error::Io { source, .. } if source.kind() == ErrorKind::StorageFull);
            assert!(full, "after {allowed} writes: {error}");
        }
    }
    assert!(failed > 3, "{failed}");
}

#[test]
fn every_cut_of_a_creation_leaves_the_whole_file_or_none() {
    let mut total = Cuts::default();
    for bound in [Bound::Earliest, Bound::V18, Bound::V110] {
        let disk = Recorded::new(Vec::new());
        let options = CreateOptions::default().with_bound(bound);
        let mut file = Writer::in_storage(Box::new(disk.clone()), &options).unwrap();
        fill(&mut file).unwrap();
        file.finish_with(Durability::Power).unwrap();
        let whole = describe(&File::from_bytes(disk.bytes()).unwrap());
        let mut found = 0;
        total += every_cut(&[], &disk.take_steps(), |cut, bytes| match File::from_bytes(bytes.to_vec()) {
            Ok(file) => {
                found += 1;
                assert_eq!(describe(&file), whole, "{bound:?}: {cut:?}");
            }
            // Before its signature is written, it is no HDF5 file at all.
            Err(error) => {
                let is_expected = matches!(error, Error::Malformed { .. } | Error::NotThisFormat { .. });
                assert!(is_expected, "{bound:?}: {cut:?}: {error}");
            }
        });
        assert!(found > 0, "{bound:?}: one of the cuts leaves the complete file");
    }
    println!("crash matrix: hdf5: files created: {total}");
}

#[test]
fn a_file_that_is_not_finished_leaves_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.h5");
    let mut file = Writer::create(&path).unwrap();
    file.dataset("old").write(&[1, 2, 3]).unwrap();
    file.finish().unwrap();
    let refused = Writer::create(&path).unwrap_err();
    assert!(
        matches!(&refused, Error::Io { source, .. } if source.kind() == ErrorKind::AlreadyExists),
        "{refused}"
    );
    let mut file = Writer::overwrite(&path).unwrap();
    fill(&mut file).unwrap();
    drop(file);
    assert_eq!(File::open(&path).unwrap().dataset("old").unwrap().read::<i32>().unwrap(), [1, 2, 3]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
}

#[test]
fn a_new_file_does_not_replace_one_that_appears_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.h5");
    let (mut first, mut second) = (Writer::create(&path).unwrap(), Writer::create(&path).unwrap());
    first.dataset("first").write(&[1]).unwrap();
    second.dataset("second").write(&[2]).unwrap();
    first.finish().unwrap();
    assert!(second.finish().is_err());
    assert_eq!(File::open(&path).unwrap().dataset("first").unwrap().read::<i32>().unwrap(), [1]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
}

#[test]
fn a_kill_leaves_a_whole_file() {
    const ROUNDS: u64 = 200;
    let program = example("keeps_creating").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.h5");
    for round in 0..ROUNDS {
        let mut child = Command::new(&program).arg(&path).stdin(Stdio::null()).spawn().unwrap();
        while !path.exists() {
            assert!(child.try_wait().unwrap().is_none(), "the writer ended by itself");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(700 * (round % 40)));
        child.kill().unwrap();
        child.wait().unwrap();
        let file = File::open(&path).unwrap();
        let state = file.dataset("d0").unwrap().attribute("state").unwrap().read::<u64>().unwrap();
        for i in 0..10 {
            let dataset = file.dataset(&format!("d{i}")).unwrap();
            assert_eq!(dataset.attribute("state").unwrap().read::<u64>().unwrap(), state);
            assert_eq!(dataset.read::<u64>().unwrap(), vec![state[0]; 500]);
        }
    }
    println!("crash matrix: hdf5: files created: {ROUNDS} kills");
}

#[test]
fn elements_do_not_use_up_the_room_for_structures() {
    const ROOM: u64 = 8192;
    let mut made = Writer::in_memory(&CreateOptions::default().with_metadata_room(ROOM)).unwrap();
    for number in 0..6u8 {
        made.dataset(&format!("flat {number}")).write(&[number; 3000]).unwrap();
        made.dataset(&format!("chunks {number}")).chunks([3000]).write(&[number; 3000]).unwrap();
    }
    let file = File::from_bytes(made.into_bytes().unwrap()).unwrap();
    for number in 0..6u8 {
        for name in ["flat", "chunks"] {
            let dataset = file.dataset(&format!("{name} {number}")).unwrap();
            assert!(dataset.address().0 < ROOM, "{name} {number}: {}", dataset.address());
            assert_eq!(dataset.read::<u8>().unwrap(), [number; 3000]);
        }
    }
}

#[test]
fn rows_that_could_not_be_appended_are_appended_again() -> Result<()> {
    // The last part is the first that is written: it fills a chunk, which is so long that it is written alone.
    for parts in [&[10, 899_990][..], &[10, 250_000, 150_000]] {
        let disk = Recorded::with_room(Vec::new(), 10_000);
        let mut file = Writer::in_storage(Box::new(disk.clone()), &CreateOptions::default())?;
        let mut rows = file.dataset("rows").rows([]).chunks([400_000]).create::<i32>()?;
        let all: Vec<i32> = (0..parts.iter().sum()).collect();
        let (held, last) = all.split_at(all.len() - parts[parts.len() - 1] as usize);
        let mut rest = held;
        for &part in &parts[..parts.len() - 1] {
            let (now, later) = rest.split_at(part as usize);
            rows.append(now)?;
            rest = later;
        }
        assert!(matches!(rows.append(last), Err(Error::Io { .. })));
        assert_eq!(rows.shape(), [held.len() as u64]);
        disk.set_room(u64::MAX);
        rows.append(last)?;
        file.finish()?;
        assert!(File::from_bytes(disk.bytes())?.dataset("rows")?.read::<i32>()? == all, "{parts:?}");
    }
    Ok(())
}
