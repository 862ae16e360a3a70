//! What a file says about its free space after it was edited.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use hdf5_pure::options::FileSpace;
use hdf5_pure::{CreateOptions, Editor, File, Writer};

/// Reads the free-space manager at `manager` like the C library, and returns the parts that are free and the end of the list. The
/// sizes must be those that the library computes from the sections.
fn listed(bytes: &[u8], manager: usize) -> (Vec<(u64, u64)>, u64) {
    let number = |at: usize, len: usize| {
        bytes[at..at + len].iter().rev().fold(0u64, |number, &byte| number << 8 | u64::from(byte))
    };
    assert_eq!(bytes[manager..manager + 6], *b"FSHD\0\x01");
    let [total, sections, serialized, ghosts] = [6, 14, 22, 30].map(|at| number(manager + at, 8));
    let [classes, bits] = [38, 44].map(|at| number(manager + at, 2));
    let [most, list, used, allocated] = [46, 54, 62, 70].map(|at| number(manager + at, 8));
    assert_eq!((classes, bits, most), (3, 63, i64::MAX as u64));
    assert_eq!((serialized, ghosts, allocated), (sections, 0, used));
    let (mut at, mut found) = (list as usize, Vec::new());
    assert_eq!(bytes[at..at + 5], *b"FSSE\0");
    assert_eq!(number(at + 5, 8), manager as u64);
    at += 13;
    let width = (64 - serialized.leading_zeros()).div_ceil(8) as usize;
    let mut last = 0;
    while found.len() < serialized as usize {
        let (count, size) = (number(at, width), number(at + width, 8));
        assert!(count > 0 && size > last, "each size has one group");
        (at, last) = (at + width + 8, size);
        for _ in 0..count {
            found.push((number(at, 8), number(at, 8) + size));
            assert_eq!(bytes[at + 8], 0, "a simple section");
            at += 9;
        }
    }
    found.sort_unstable();
    assert_eq!(at as u64 + 4, list + used);
    assert_eq!(total, found.iter().map(|(start, end)| end - start).sum::<u64>());
    // Adjacent sections are one section.
    assert!(found.windows(2).all(|pair| pair[0].1 < pair[1].0), "{found:?}");
    (found, list + used)
}

#[test]
fn the_list_of_free_space_is_what_the_library_computes() {
    let options = CreateOptions::default().with_file_space(FileSpace::Tracked);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tracked.h5");
    let mut made = Writer::create_with(&path, &options).unwrap();
    for index in 0..40 {
        made.dataset(&format!("d{index}")).write(&vec![index; 3 + index as usize % 7]).unwrap();
    }
    made.finish().unwrap();
    for round in 0..12 {
        let mut editor = Editor::open(&path).unwrap();
        for index in (0..3).map(|step| (round * 7 + step * 11) % 40) {
            let name = format!("d{index}");
            editor.unlink(&name).unwrap();
            editor.dataset(&name).write(&vec![round; 1 + (round * 5 + index) as usize % 9]).unwrap();
        }
        editor.root().attribute(&format!("a{}", round % 5), vec![round; 3 * round as usize]).unwrap();
        if round % 3 == 0 {
            editor.commit().unwrap();
            editor.unlink(&format!("d{}", (round + 3) % 40)).unwrap();
            editor.dataset(&format!("d{}", (round + 3) % 40)).write(&[round]).unwrap();
        }
        editor.close().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let open = File::open(&path).unwrap();
        open.check_space().unwrap();
        let managers: Vec<_> = open.file_space().unwrap().managers.iter().flatten().copied().collect();
        let [manager] = managers[..] else { panic!("{managers:?}") };
        let (found, end) = listed(&bytes, manager.0 as usize);
        // The manager is behind everything else, where the library cuts it off before it uses the file.
        assert!(found.iter().all(|&(_, end)| end < manager.0), "{found:?}");
        assert_eq!(end, bytes.len() as u64);
        let sections = open.free_space().unwrap();
        assert_eq!(sections.len(), found.len());
    }
}
