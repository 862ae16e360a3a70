//! Extends files while others read them. After every single write a reader must understand the file.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

use std::time::Duration;

use crate::recorded::Recorded;
use hdf5_pure::swmr::{SwmrWriter, Tail};
use hdf5_pure::{ChunkIndex, CreateOptions, DatasetBuilder, Error, File, OpenOptions, Slab, Writer};

fn created(make: impl FnOnce(DatasetBuilder<'_>) -> DatasetBuilder<'_>) -> Vec<u8> {
    let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
    make(file.dataset("d")).create::<i32>().unwrap();
    file.into_bytes().unwrap()
}

/// Returns the element `row, column` of a dataset.
fn value(row: u64, column: u64) -> i32 {
    (row * 7 + column) as i32
}

fn rows(first: u64, count: u64, columns: u64) -> Vec<i32> {
    (first..first + count).flat_map(|row| (0..columns).map(move |column| value(row, column))).collect()
}

/// Appends rows with a flush after each of `parts`, and checks what a reader sees after every single write.
fn follow(file: Vec<u8>, columns: u64, parts: &[u64]) -> (usize, u64) {
    let recorded = Recorded::new(file.clone());
    let mut writer = SwmrWriter::in_storage(Box::new(recorded.clone()), &OpenOptions::default()).unwrap();
    let mut at = 0;
    for &part in parts {
        writer.dataset("d").unwrap().append(&rows(at, part, columns)).unwrap();
        writer.flush().unwrap();
        at += part;
    }
    writer.close().unwrap();
    let (whole, steps) = (recorded.bytes(), recorded.take_steps());
    let mut seen = file;
    let mut last = 0;
    for step in &steps {
        sciformats_core::commit::apply(std::slice::from_ref(step), &mut seen).unwrap();
        let dataset = File::from_bytes(seen.clone()).unwrap().dataset("d").unwrap();
        let count = dataset.shape()[0];
        assert!(count >= last);
        assert_eq!(dataset.read::<i32>().unwrap(), rows(0, count, columns));
        last = count;
    }
    assert!(seen == whole);
    assert_eq!(last, at);
    assert_eq!(File::from_bytes(whole).unwrap().superblock().consistency_flags, 0);
    (steps.len(), at)
}

#[test]
fn every_write_leaves_what_readers_understand() {
    let parts = [1, 3, 10, 2, 64, 1, 5, 30];
    let mut total = 0;
    for filtered in [false, true] {
        for index in [ChunkIndex::ExtensibleArray, ChunkIndex::BtreeV2, ChunkIndex::FixedArray] {
            for (columns, chunks) in [(1u64, [4u64, 1u64]), (5, [3, 2])] {
                let most = if index == ChunkIndex::FixedArray { Some(200) } else { None };
                let file = created(|dataset| {
                    let dataset = dataset.shape([0, columns]).max_shape([most, Some(columns)]);
                    let dataset = dataset.chunks(chunks).index(index);
                    if filtered { dataset.shuffle().fletcher32() } else { dataset }
                });
                let (steps, rows) = follow(file, columns, &parts);
                assert_eq!(rows, parts.iter().sum::<u64>());
                total += steps;
            }
        }
    }
    println!("{total} writes, and after each a reader found what the shape says");
}

#[test]
fn arrays_and_trees_grow_to_pages_and_levels() {
    for (index, most) in [
        (ChunkIndex::ExtensibleArray, None),
        (ChunkIndex::BtreeV2, None),
        (ChunkIndex::FixedArray, Some(150_000)),
    ] {
        let file = created(|dataset| dataset.shape([0]).max_shape([most]).chunks([1]).index(index));
        let recorded = Recorded::new(file);
        let mut writer = SwmrWriter::in_storage(Box::new(recorded.clone()), &OpenOptions::default()).unwrap();
        let mut at = 0u64;
        for part in [5, 3000, 2000, 130_000, 700] {
            writer.dataset("d").unwrap().append(&rows(at, part, 1)).unwrap();
            writer.flush().unwrap();
            at += part;
        }
        // Another reader sees everything, and another writer continues.
        let seen = File::from_bytes(recorded.bytes()).unwrap();
        assert_eq!(seen.superblock().consistency_flags, 5);
        assert_eq!(seen.dataset("d").unwrap().read::<i32>().unwrap(), rows(0, at, 1));
        drop(writer);
        let mut writer = SwmrWriter::in_storage(Box::new(recorded.clone()), &OpenOptions::default()).unwrap();
        writer.dataset("d").unwrap().append(&rows(at, 1300, 1)).unwrap();
        writer.close().unwrap();
        let seen = File::from_bytes(recorded.bytes()).unwrap();
        let dataset = seen.dataset("d").unwrap();
        assert_eq!(dataset.read::<i32>().unwrap(), rows(0, at + 1300, 1));
        assert_eq!(dataset.chunks().unwrap().len() as u64, at + 1300);
    }
}

#[test]
fn elements_that_readers_saw_change() {
    for filtered in [false, true] {
        let file = created(|dataset| {
            let dataset = dataset.shape([0, 4]).max_shape([None, Some(4)]).chunks([2, 3]);
            if filtered { dataset.shuffle() } else { dataset }
        });
        let recorded = Recorded::new(file);
        let mut writer = SwmrWriter::in_storage(Box::new(recorded.clone()), &OpenOptions::default()).unwrap();
        let mut expected = rows(0, 21, 4);
        writer.dataset("d").unwrap().append(&expected).unwrap();
        writer.flush().unwrap();
        let slab = Slab::new(&[21, 4], [(3..9).into(), (1..3).into()]).unwrap();
        writer.dataset("d").unwrap().write_slab(&slab, &[-1; 12]).unwrap();
        for row in 3..9 {
            expected[row * 4 + 1..row * 4 + 3].fill(-1);
        }
        writer.dataset("d").unwrap().append(&rows(21, 2, 4)).unwrap();
        expected.extend(rows(21, 2, 4));
        writer.close().unwrap();
        let seen = File::from_bytes(recorded.bytes()).unwrap();
        assert_eq!(seen.dataset("d").unwrap().read::<i32>().unwrap(), expected);
    }
}

#[test]
fn a_tail_starts_before_the_file_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.h5");
    let mut tail = Tail::new(&path, "/d").at_most(100);
    assert!(tail.poll::<i32>().unwrap().is_none() && tail.trouble().is_none());
    let writing = {
        let path = path.clone();
        std::thread::spawn(move || {
            let file = created(|dataset| dataset.shape([0]).max_shape([None]).chunks([64]));
            std::fs::write(path.with_extension("part"), file).unwrap();
            std::fs::rename(path.with_extension("part"), &path).unwrap();
            let mut writer = SwmrWriter::open(&path).unwrap();
            for at in 0..300 {
                writer.dataset("d").unwrap().append(&rows(at * 5, 5, 1)).unwrap();
                writer.flush().unwrap();
            }
            writer.close().unwrap();
        })
    };
    let mut found = Vec::new();
    while found.len() < 1500 {
        let (first, values) = tail.wait::<i32>(Duration::from_secs(60)).unwrap().expect("rows come");
        assert_eq!(first, found.len() as u64);
        assert!(values.len() <= 100);
        found.extend(values);
    }
    writing.join().unwrap();
    assert_eq!(found, rows(0, 1500, 1));
    assert_eq!((tail.next_row(), tail.poll::<i32>().unwrap()), (1500, None));
}

#[test]
fn a_dataset_is_refreshed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.h5");
    std::fs::write(&path, created(|dataset| dataset.shape([0]).max_shape([None]).chunks([8]))).unwrap();
    let mut dataset = File::open(&path).unwrap().dataset("d").unwrap();
    let mut writer = SwmrWriter::open(&path).unwrap();
    writer.dataset("d").unwrap().append(&rows(0, 9, 1)).unwrap();
    dataset.refresh().unwrap();
    assert_eq!(dataset.shape(), [0], "nothing is flushed yet");
    writer.flush().unwrap();
    dataset.refresh().unwrap();
    assert_eq!(dataset.read::<i32>().unwrap(), rows(0, 9, 1));
    drop(writer);
    assert!(
        File::from_bytes(created(|dataset| dataset.shape([1])))
            .unwrap()
            .dataset("d")
            .unwrap()
            .refresh()
            .is_err()
    );
}

#[test]
fn what_is_written_after_opening_is_no_fault() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.h5");
    std::fs::write(&path, created(|dataset| dataset.shape([0]).max_shape([None]).chunks([8]))).unwrap();
    let mut writer = SwmrWriter::open(&path).unwrap();
    writer.dataset("d").unwrap().append(&rows(0, 8, 1)).unwrap().resize(&[800]).unwrap();
    writer.flush().unwrap();
    let file = File::open(&path).unwrap();
    let dataset = file.dataset("d").unwrap();
    // The chunks, and the blocks of their index, are appended to the file.
    writer.dataset("d").unwrap().write_slab(&Slab::all(&[800]).unwrap(), &rows(0, 800, 1)).unwrap();
    writer.flush().unwrap();
    assert_eq!(dataset.read::<i32>().unwrap(), rows(0, 800, 1));
    let chunks = dataset.chunks().unwrap();
    assert_eq!(dataset.chunk_raw(chunks[99].as_ref().unwrap()).unwrap().len(), 32);
    assert!(!file.is_truncated() && file.check_space().is_ok());
}

#[test]
fn a_chunk_that_is_written_again_at_its_place_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.h5");
    let file = created(|dataset| dataset.shape([0]).max_shape([None]).chunks([8]).shuffle());
    std::fs::write(&path, file).unwrap();
    let mut writer = SwmrWriter::open(&path).unwrap();
    writer.dataset("d").unwrap().append(&rows(0, 4, 1)).unwrap();
    writer.flush().unwrap();
    let file = File::open(&path).unwrap();
    let dataset = file.dataset("d").unwrap();
    let first = Slab::new(&[4], [(0..2).into()]).unwrap();
    for _ in 0..2 {
        assert_eq!(dataset.read_slab::<i32>(&first).unwrap(), rows(0, 2, 1));
    }
    // The C library does so if the filtered chunk has the same size. The low bytes of all elements come first.
    let chunk = dataset.chunks().unwrap().remove(0).unwrap();
    let at = usize::try_from(file.base() + chunk.address.0).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes[at..at + 4], [0, 7, 14, 21]);
    bytes[at + 1] = 9;
    let mut written = std::fs::File::options().write(true).open(&path).unwrap();
    std::io::Write::write_all(&mut written, &bytes).unwrap();
    for _ in 0..2 {
        assert_eq!(dataset.read_slab::<i32>(&first).unwrap(), [0, 9]);
    }
}

#[test]
fn a_half_written_structure_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.h5");
    std::fs::write(&path, created(|dataset| dataset.shape([0]).max_shape([None]).chunks([8]))).unwrap();
    let mut writer = SwmrWriter::open(&path).unwrap();
    writer.dataset("d").unwrap().append(&rows(0, 80, 1)).unwrap();
    writer.flush().unwrap();
    let file = File::open(&path).unwrap();
    let dataset = file.dataset("d").unwrap();
    let sound = std::fs::read(&path).unwrap();
    for signature in [b"EAHD", b"OHDR"] {
        let at = sound.windows(4).rposition(|found| found == signature).unwrap() + 5;
        let put = |byte| {
            let mut bytes = sound.clone();
            bytes[at] ^= byte;
            // The file is written in place, as a writer does.
            let mut file = std::fs::File::options().write(true).open(&path).unwrap();
            std::io::Write::write_all(&mut file, &bytes).unwrap();
        };
        put(1);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                put(0);
            });
            match signature {
                b"EAHD" => assert_eq!(dataset.read::<i32>().unwrap(), rows(0, 80, 1)),
                _ => assert_eq!(file.dataset("d").unwrap().shape(), [80]),
            }
        });
        // A writer that died leaves its marks. A fault is then reported, and waited for only once.
        put(1);
        assert!(dataset.read::<i32>().is_err() || file.dataset("d").is_err());
        let start = std::time::Instant::now();
        (0..100).for_each(|_| assert!(dataset.read::<i32>().is_err() || file.dataset("d").is_err()));
        assert!(start.elapsed() < Duration::from_secs(10));
        put(0);
    }
}

#[test]
fn a_full_disk_leaves_what_readers_saw() {
    let file = created(|dataset| dataset.shape([0]).max_shape([None]).chunks([16]));
    let mut refused = 0;
    for room in (0..3000).step_by(100) {
        let disk = Recorded::with_room(file.clone(), file.len() as u64 + room);
        let mut writer = SwmrWriter::in_storage(Box::new(disk.clone()), &OpenOptions::default()).unwrap();
        let mut flushed = 0;
        for part in 0..20 {
            let appended = writer.dataset("d").unwrap().append(&rows(part * 10, 10, 1)).map(drop);
            if appended.and_then(|()| writer.flush()).is_err() {
                refused += 1;
                break;
            }
            flushed = (part + 1) * 10;
        }
        let bytes = disk.bytes();
        let found: Vec<i32> = File::from_bytes(bytes).unwrap().dataset("d").unwrap().read().unwrap();
        assert!(found.len() as u64 >= flushed, "{} of {flushed} rows", found.len());
        assert_eq!(found, rows(0, found.len() as u64, 1));
    }
    println!("crash matrix: hdf5: rows while others read: {refused} full disks");
    assert!(refused > 5, "{refused}");
}

#[test]
fn a_flush_that_failed_is_completed_by_the_next() {
    // A chunk that is not full, and so long that it is written alone.
    for (index, most) in [
        (ChunkIndex::ExtensibleArray, None),
        (ChunkIndex::BtreeV2, None),
        (ChunkIndex::FixedArray, Some(4_000_000)),
    ] {
        let file = created(|dataset| dataset.shape([0]).max_shape([most]).chunks([400_000]).index(index));
        let disk = Recorded::with_room(file.clone(), file.len() as u64 + 1000);
        let mut writer = SwmrWriter::in_storage(Box::new(disk.clone()), &OpenOptions::default()).unwrap();
        writer.dataset("d").unwrap().append(&rows(0, 300_000, 1)).unwrap();
        assert!(writer.flush().is_err(), "{index:?}");
        disk.set_room(u64::MAX);
        writer.flush().unwrap();
        let found = File::from_bytes(disk.bytes()).unwrap().dataset("d").unwrap();
        assert!(found.read::<i32>().unwrap() == rows(0, 300_000, 1), "{index:?}");
        writer.close().unwrap();
    }
}

#[test]
fn a_change_without_new_rows_is_completed_by_the_next_flush() {
    let file = created(|dataset| {
        let dataset = dataset.shape([0]).max_shape([None]).chunks([4]).index(ChunkIndex::BtreeV2);
        dataset.shuffle().fletcher32()
    });
    let disk = Recorded::new(file);
    let mut writer = SwmrWriter::in_storage(Box::new(disk.clone()), &OpenOptions::default()).unwrap();
    writer.dataset("d").unwrap().append(&rows(0, 100, 1)).unwrap();
    writer.close().unwrap();
    let file = disk.bytes();
    let mut expected = rows(0, 100, 1);
    expected[8..28].fill(-1);
    // The disk is full at each step of the flush: for the chunks, for the nodes of their index, and for the file's length.
    let mut failed = 0;
    for room in (0..4000).step_by(40) {
        let disk = Recorded::with_room(file.clone(), file.len() as u64 + room);
        let mut writer = SwmrWriter::in_storage(Box::new(disk.clone()), &OpenOptions::default()).unwrap();
        let slab = Slab::new(&[100], [(8..28).into()]).unwrap();
        writer.dataset("d").unwrap().write_slab(&slab, &[-1; 20]).unwrap();
        failed += usize::from(writer.flush().is_err());
        disk.set_room(u64::MAX);
        writer.close().unwrap();
        let found = File::from_bytes(disk.bytes()).unwrap().dataset("d").unwrap();
        assert_eq!(found.read::<i32>().unwrap(), expected, "{room}");
    }
    assert!(failed > 10, "{failed}");
}

#[test]
fn rows_that_could_not_be_appended_are_appended_again() {
    let file = created(|dataset| dataset.shape([0]).max_shape([None]).chunks([400_000]));
    let disk = Recorded::with_room(file.clone(), file.len() as u64 + 1000);
    let mut writer = SwmrWriter::in_storage(Box::new(disk.clone()), &OpenOptions::default()).unwrap();
    let mut dataset = writer.dataset("d").unwrap();
    dataset.append(&rows(0, 10, 1)).unwrap();
    assert!(dataset.append(&rows(10, 500_000, 1)).is_err());
    assert_eq!(dataset.shape(), [10]);
    disk.set_room(u64::MAX);
    dataset.append(&rows(10, 500_000, 1)).unwrap();
    writer.close().unwrap();
    let found = File::from_bytes(disk.bytes()).unwrap().dataset("d").unwrap();
    assert!(found.read::<i32>().unwrap() == rows(0, 500_010, 1));
}

#[test]
fn what_readers_could_not_follow_is_refused() {
    let unsupported = |file: Vec<u8>| {
        let recorded = Recorded::new(file);
        let mut writer = SwmrWriter::in_storage(Box::new(recorded), &OpenOptions::default())?;
        writer.dataset("d").map(drop)
    };
    let refused = |file: Vec<u8>| matches!(unsupported(file), Err(Error::Unsupported { .. }));
    assert!(refused(created(|dataset| dataset.shape([3]).compact())));
    assert!(refused(created(|dataset| dataset.shape([3]).chunks([3]).index(ChunkIndex::Single))));
    let old = CreateOptions::default().with_bound(hdf5_pure::options::Bound::V18);
    let mut file = Writer::in_memory(&old).unwrap();
    file.dataset("d").shape([0]).max_shape([None]).create::<i32>().unwrap();
    assert!(refused(file.into_bytes().unwrap()));
    let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
    file.dataset("d").shape([0]).max_shape([None]).create::<String>().unwrap();
    assert!(matches!(unsupported(file.into_bytes().unwrap()), Err(Error::Usage { .. })));

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.h5");
    std::fs::write(&path, created(|dataset| dataset.shape([0]).max_shape([None]).chunks([8]))).unwrap();
    let mut first = SwmrWriter::open(&path).unwrap();
    assert!(matches!(SwmrWriter::open(&path), Err(Error::Usage { .. })), "there is one writer");
    assert!(first.dataset("d").unwrap().resize(&[5]).is_ok());
    assert!(matches!(first.dataset("d").unwrap().resize(&[4]), Err(Error::Unsupported { .. })));
    std::mem::forget(first);
    assert!(SwmrWriter::open(&path).is_err());
    SwmrWriter::take_over(&path, &OpenOptions::default()).unwrap().close().unwrap();
    assert!(SwmrWriter::open(&path).is_ok());
}
