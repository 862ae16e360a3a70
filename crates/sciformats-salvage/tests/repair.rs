//! Faults that are mended without loss, in a copy and in place.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::expect_used)]

use hdf5_pure::options::Bound;
use hdf5_pure::structure::checksum;
use hdf5_pure::{CreateOptions, File, Writer};
use sciformats_salvage::RepairPlan;

fn sample(bound: Bound) -> Vec<u8> {
    let mut file = Writer::in_memory(&CreateOptions::default().with_bound(bound)).unwrap();
    file.dataset("a/energy").attribute("units", "K").write(&(0..500).collect::<Vec<i64>>()).unwrap();
    file.dataset("b/chunks").shape([500]).chunks([50]).write(&(0..500).collect::<Vec<i64>>()).unwrap();
    file.into_bytes().unwrap()
}

/// Mends `damaged` in a copy and in place; both must then be equal to `sound`.
fn mended(damaged: &[u8], sound: &[u8], kinds: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("damaged.h5"), folder.path().join("mended.h5"));
    std::fs::write(&path, damaged).unwrap();
    let plan = RepairPlan::of(&path).unwrap();
    let found: Vec<&str> = plan.repairs.iter().map(|repair| repair.kind).collect();
    assert_eq!(found, kinds, "{:#?}", plan.repairs);
    assert_eq!(plan.after, 0);
    plan.copy(&path, &copy).unwrap();
    assert!(std::fs::read(&copy).unwrap() == sound, "the copy is as it was before the damage");
    assert!(std::fs::read(&path).unwrap() == damaged, "the file itself is only read");
    plan.apply(&path).unwrap();
    assert!(std::fs::read(&path).unwrap() == sound, "the file is as it was before the damage");
    assert!(plan.apply(&path).is_err(), "what has changed is not changed again");
    let values = File::open(&path).unwrap().dataset("a/energy").unwrap().read::<i64>().unwrap();
    assert_eq!(values[499], 499);
}

#[test]
fn a_sound_file_needs_nothing() {
    for bound in [Bound::Earliest, Bound::LATEST] {
        let storage: std::sync::Arc<dyn sciformats_core::ReadAt> = std::sync::Arc::new(sample(bound));
        let plan = RepairPlan::of_storage(&storage).unwrap();
        assert_eq!((plan.repairs.len(), plan.before, plan.after), (0, 0, 0));
    }
}

#[test]
fn checksums_of_structures() {
    let sound = sample(Bound::LATEST);
    for at in [44, 46] {
        let mut damaged = sound.clone();
        damaged[at] ^= 8;
        mended(&damaged, &sound, &["correct a checksum"]);
    }
}

#[test]
fn flipped_bits_of_structures() {
    let sound = sample(Bound::LATEST);
    let headers: Vec<usize> = (0..sound.len() - 4).filter(|&at| sound[at..].starts_with(b"OHDR")).collect();
    assert_eq!(headers.len(), 5);
    // Behind the fields that say how long the header is.
    for at in headers.into_iter().flat_map(|at| [at + 30, at + 45]).chain([20, 29]) {
        let mut damaged = sound.clone();
        damaged[at] ^= 1;
        mended(&damaged, &sound, &["correct a flipped bit"]);
    }
}

#[test]
fn status_flags() {
    // Only version 3 of the superblock has flags; its other fields are those of version 2.
    let summed = |mut bytes: Vec<u8>| {
        let sum = checksum(&bytes[..44]).to_le_bytes();
        bytes[44..48].copy_from_slice(&sum);
        bytes
    };
    let mut sound = sample(Bound::LATEST);
    sound[8] = 3;
    let sound = summed(sound);
    let mut damaged = sound.clone();
    damaged[11] |= 1;
    let damaged = summed(damaged);
    mended(&damaged, &sound, &["clear the status flags", "correct a checksum"]);
}

/// A file of version 3 with this end and these flags in its superblock, and the checksum of the superblock.
fn of_version_3(mut bytes: Vec<u8>, end: u64, flags: u8) -> Vec<u8> {
    bytes[8] = 3;
    bytes[11] = flags;
    bytes[28..36].copy_from_slice(&end.to_le_bytes());
    let sum = checksum(&bytes[..44]).to_le_bytes();
    bytes[44..48].copy_from_slice(&sum);
    bytes
}

#[test]
fn the_end_of_a_file_that_was_not_closed() {
    let size = sample(Bound::LATEST).len() as u64;
    let sound = of_version_3(sample(Bound::LATEST), size, 0);
    let damaged = of_version_3(sound.clone(), 300, 5);
    let kinds = ["correct the end of the file", "clear the status flags", "correct a checksum"];
    mended(&damaged, &sound, &kinds);
    // An end that was changed without the checksum.
    let mut damaged = sound.clone();
    damaged[28..36].copy_from_slice(&(size - 1000).to_le_bytes());
    mended(&damaged, &sound, &["correct the end of the file"]);
}

#[test]
fn flags_stay_while_the_end_is_wrong() {
    // Something cannot be read, so that nothing is known to be behind the last structure but the end of the file itself.
    let size = sample(Bound::LATEST).len() as u64;
    let mut bytes = of_version_3(sample(Bound::LATEST), 300, 5);
    let last = (0..bytes.len() - 4).rfind(|&at| bytes[at..].starts_with(b"OHDR")).unwrap();
    bytes[last..last + 8].fill(0xee);
    let storage: std::sync::Arc<dyn sciformats_core::ReadAt> = std::sync::Arc::new(bytes.clone());
    let plan = RepairPlan::of_storage(&storage).unwrap();
    let end = plan.repairs.iter().find(|repair| repair.kind == "correct the end of the file").unwrap();
    assert_eq!(end.new, size.to_le_bytes());
    assert!(plan.repairs.iter().any(|repair| repair.kind == "clear the status flags"));
    // A file that was cut off has no right end.
    bytes.truncate(250);
    let storage: std::sync::Arc<dyn sciformats_core::ReadAt> = std::sync::Arc::new(bytes);
    let plan = RepairPlan::of_storage(&storage).unwrap();
    assert!(plan.repairs.iter().all(|repair| repair.kind != "clear the status flags"), "{plan:#?}");
}

#[test]
fn elements_are_never_taken_for_right() {
    let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::LATEST)).unwrap();
    let filters = hdf5_pure::filters::Filters::default().fletcher32();
    file.dataset("a")
        .shape([500])
        .chunks([500])
        .filters(filters)
        .write(&(1..501).collect::<Vec<i64>>())
        .unwrap();
    let mut bytes = file.into_bytes().unwrap();
    let at = (0..bytes.len() - 16).find(|&at| bytes[at..].starts_with(&[7, 0, 0, 0, 0, 0, 0, 0, 8])).unwrap();
    bytes[at] ^= 1;
    let storage: std::sync::Arc<dyn sciformats_core::ReadAt> = std::sync::Arc::new(bytes);
    let plan = RepairPlan::of_storage(&storage).unwrap();
    assert!(plan.repairs.is_empty() && plan.before > 0 && plan.after == plan.before, "{plan:#?}");
}

#[test]
fn a_repair_that_reveals_faults_undoes_no_other() {
    let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::LATEST)).unwrap();
    file.dataset("a/b/c/d/e/energy").write(&[1i64]).unwrap();
    // A group that is looked at after all others.
    let last = "z/z/z/z/z/z/z";
    for i in 0..4 {
        file.dataset(&format!("{last}/{i}")).write(&[i]).unwrap();
    }
    let sound = file.into_bytes().unwrap();
    let opened = File::from_bytes(sound.clone()).unwrap();
    let mut damaged = sound.clone();
    let header = |path: &str| opened.object(path).unwrap().address().0 as usize;
    let checksum_of = |path: &str| {
        let start = header(path);
        let flags = sound[start + 5];
        let at = start + 6 + if flags & 0x20 != 0 { 16 } else { 0 } + if flags & 0x10 != 0 { 4 } else { 0 };
        let width = 1 << (flags & 3);
        let len = sound[at..at + width].iter().rev().fold(0, |len, &byte| len << 8 | usize::from(byte));
        at + width + len
    };
    // Each of these is seen when the one before is mended.
    for path in ["a", "a/b", "a/b/c", "a/b/c/d", "a/b/c/d/e"] {
        damaged[checksum_of(path)] ^= 0xff;
    }
    // Its checksum would be that of links that lead to nothing.
    for i in 0..4 {
        let at = header(&format!("{last}/{i}")).to_le_bytes();
        let (start, end) = (header(last), checksum_of(last));
        let found = sound[start..end].windows(8).position(|eight| eight == at).unwrap();
        damaged[start + found] ^= 3;
    }
    let storage: std::sync::Arc<dyn sciformats_core::ReadAt> = std::sync::Arc::new(damaged);
    let plan = RepairPlan::of_storage(&storage).unwrap();
    let kinds: Vec<&str> = plan.repairs.iter().map(|repair| repair.kind).collect();
    assert_eq!(kinds, ["correct a checksum"; 5], "{plan:#?}");
    assert_eq!((plan.before, plan.after), (2, 1));
}

#[test]
fn a_block_index_and_the_size_of_an_array() {
    let mut document = asdf_core::Document::new();
    for i in 0..3 {
        let array = asdf_core::NewArray::new(&[i; 100], &[100]).unwrap();
        document.set_array(&format!("a{i}"), array).unwrap();
    }
    let sound = document.to_bytes().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.asdf");
    let mut damaged = sound.clone();
    let digit = (0..damaged.len()).rev().find(|&at| damaged[at].is_ascii_digit()).unwrap();
    damaged[digit] = if damaged[digit] == b'1' { b'2' } else { b'1' };
    std::fs::write(&path, &damaged).unwrap();
    let plan = RepairPlan::of(&path).unwrap();
    assert_eq!(plan.repairs.len(), 1, "{plan:#?}");
    plan.apply(&path).unwrap();
    assert!(std::fs::read(&path).unwrap() == sound);

    let sound = rawarray::RawArray::new([7, 5], (0..35u32).collect::<Vec<_>>())
        .unwrap()
        .encode(&Default::default())
        .unwrap();
    let path = folder.path().join("a.ra");
    let mut damaged = sound.clone();
    damaged[32] ^= 4;
    std::fs::write(&path, &damaged).unwrap();
    RepairPlan::of(&path).unwrap().apply(&path).unwrap();
    assert!(std::fs::read(&path).unwrap() == sound);
}

fn planned(bytes: &[u8]) -> RepairPlan {
    let storage: std::sync::Arc<dyn sciformats_core::ReadAt> = std::sync::Arc::new(bytes.to_vec());
    RepairPlan::of_storage(&storage).unwrap()
}

#[test]
fn bits_of_the_size_of_a_header() {
    let sound = sample(Bound::LATEST);
    let headers: Vec<usize> = (0..sound.len() - 4).filter(|&at| sound[at..].starts_with(b"OHDR")).collect();
    let mut mended = 0;
    for at in headers {
        // The flags, which say where the size is, and the size.
        let times = if sound[at + 5] & 0x20 != 0 { 16 } else { 0 };
        for (byte, bit) in
            [at + 5, at + 6 + times].into_iter().flat_map(|byte| (0..8).map(move |bit| (byte, bit)))
        {
            let mut damaged = sound.clone();
            damaged[byte] ^= 1 << bit;
            let plan = planned(&damaged);
            let changes: Vec<_> =
                plan.repairs.iter().map(|one| (one.kind, one.offset, one.new.clone())).collect();
            if changes.is_empty() {
                assert!(plan.after > 0, "{byte:#x}.{bit}");
                continue;
            }
            assert_eq!(
                changes,
                [("correct a flipped bit", byte as u64, vec![sound[byte]])],
                "{byte:#x}.{bit}"
            );
            assert_eq!(plan.after, 0);
            mended += 1;
        }
    }
    assert_eq!(mended, 5 * 16);
}

#[test]
fn a_structure_that_was_changed_keeps_its_checksum() {
    let sound = sample(Bound::LATEST);
    let name = (0..sound.len() - 5).find(|&at| sound[at..].starts_with(b"units")).unwrap();
    let mut damaged = sound.clone();
    // With the right checksum of these bytes, the header could be read.
    damaged[name] = b'v';
    let plan = planned(&damaged);
    assert!(plan.repairs.is_empty() && plan.after == plan.before && plan.before > 0, "{plan:#?}");
    assert!(plan.kept[0].contains("nothing tells which of its bytes were changed"), "{plan:#?}");
}

#[test]
fn blocks_and_dimensions_that_were_changed_change_nothing_else() {
    let mut document = asdf_core::Document::new();
    for i in 0..3 {
        let array = asdf_core::NewArray::new(&[i; 100], &[100]).unwrap();
        document.set_array(&format!("a{i}"), array).unwrap();
    }
    let mut damaged = document.to_bytes().unwrap();
    let blocks: Vec<usize> = (0..damaged.len()).filter(|&at| damaged[at..].starts_with(b"\xD3BLK")).collect();
    // The first block seems to have the second one among its bytes.
    let len = (blocks[2] - blocks[0] - 54) as u64;
    damaged[blocks[0] + 14..blocks[0] + 22].copy_from_slice(&len.to_be_bytes());
    let plan = planned(&damaged);
    assert!(plan.repairs.is_empty() && plan.kept[0].contains("may be right"), "{plan:#?}");

    let array = rawarray::RawArray::new([7, 5], (0..35u32).collect::<Vec<_>>()).unwrap();
    let mut damaged = array.encode(&Default::default()).unwrap();
    damaged.extend(b"what was measured");
    damaged[48] ^= 2;
    let plan = planned(&damaged);
    assert!(plan.repairs.is_empty() && plan.kept[0].contains("nothing tells"), "{plan:#?}");
}
