//! Measures the cost of changing one chunk of many, which must depend only on the path to the chunk in the index.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;

use crate::counted::{Cost, Counted};
use hdf5_pure::options::Bound;
use hdf5_pure::swmr::SwmrWriter;
use hdf5_pure::{ChunkIndex, CreateOptions, EditOptions, Editor, File, OpenOptions, Slab, Writer};

/// The number of elements of a chunk.
const SIDE: u64 = 4;

/// A chunk index, with or without filters.
#[derive(Clone, Copy, Debug)]
struct Kind {
    /// The index, or `None` for a version 1 B-tree.
    index: Option<ChunkIndex>,
    filtered: bool,
}

fn kinds() -> Vec<Kind> {
    let all = [
        None,
        Some(ChunkIndex::BtreeV2),
        Some(ChunkIndex::FixedArray),
        Some(ChunkIndex::ExtensibleArray),
        Some(ChunkIndex::Implicit),
    ];
    let both = all.into_iter().flat_map(|index| [false, true].map(|filtered| Kind { index, filtered }));
    both.filter(|kind| !kind.filtered || kind.index != Some(ChunkIndex::Implicit)).collect()
}

/// Returns a file with a dataset of `n` chunks, which can grow.
fn file(kind: Kind, n: u64) -> Vec<u8> {
    let bound = if kind.index.is_some() { Bound::V110 } else { Bound::Earliest };
    let mut file = Writer::in_memory(&CreateOptions::default().with_bound(bound)).unwrap();
    let most = match kind.index {
        Some(ChunkIndex::FixedArray | ChunkIndex::Implicit) => Some((n + 50) * SIDE),
        _ => None,
    };
    let made = file.dataset("d").shape([n * SIDE]).max_shape([most]).chunks([SIDE]);
    let made = match kind.index {
        Some(index) => made.index(index),
        None => made,
    };
    let made = if kind.filtered { made.fletcher32() } else { made };
    let values: Vec<i32> = (0..(n * SIDE) as i32).collect();
    made.write(&values).unwrap();
    file.into_bytes().unwrap()
}

/// Returns the cost of several edits, each from opening the dataset to the end of the commit.
fn costs(kind: Kind, n: u64) -> Vec<(&'static str, Cost)> {
    let counted = Counted::new(file(kind, n));
    let mut editor = Editor::in_storage(Box::new(counted.clone()), &EditOptions::default()).unwrap();
    let mut found = Vec::new();
    let mut expected: Vec<i32> = (0..(n * SIDE) as i32).collect();
    counted.take();
    for round in 0..3 {
        let value = -1 - round;
        editor.open_dataset("d").unwrap().append(&[value; SIDE as usize]).unwrap();
        expected.extend([value; SIDE as usize]);
        editor.commit().unwrap();
        found.push(("append a chunk", counted.take()));

        let len = expected.len() as u64;
        let at = [0, len / 2 / SIDE * SIDE, len - SIDE][round as usize];
        let slab = Slab::new(&[len], [(at..at + SIDE).into()]).unwrap();
        editor.open_dataset("d").unwrap().write_slab(&slab, &[value; SIDE as usize]).unwrap();
        expected[at as usize..(at + SIDE) as usize].fill(value);
        editor.commit().unwrap();
        found.push(("replace a chunk", counted.take()));

        editor.open_dataset("d").unwrap().write_points(&[vec![at + 1]], &[7]).unwrap();
        expected[at as usize + 1] = 7;
        editor.commit().unwrap();
        found.push(("change an element", counted.take()));

        editor.open_dataset("d").unwrap().resize(&[len - SIDE]).unwrap();
        expected.truncate((len - SIDE) as usize);
        editor.commit().unwrap();
        found.push(("remove a chunk", counted.take()));

        editor.open_dataset("d").unwrap().append(&[value]).unwrap();
        expected.push(value);
        editor.commit().unwrap();
        found.push(("append a row", counted.take()));

        let seen = editor.file().unwrap().dataset("d").unwrap();
        let slab = Slab::new(seen.shape(), [(5..7).into()]).unwrap();
        assert_eq!(seen.read_slab::<i32>(&slab).unwrap(), expected[5..7]);
        found.push(("read an element", counted.take()));
        editor.open_dataset("d").unwrap().resize(&[len - SIDE]).unwrap();
        expected.truncate((len - SIDE) as usize);
        editor.commit().unwrap();
        counted.take();
    }
    editor.unaccounted().unwrap();
    drop(editor);
    let found_values: Vec<i32> =
        File::from_bytes(counted.bytes()).unwrap().dataset("d").unwrap().read().unwrap();
    assert!(found_values == expected, "{kind:?} of {n} chunks");
    found
}

#[test]
fn one_chunk_of_many_costs_what_leads_to_it() {
    for kind in kinds() {
        let few = costs(kind, 100);
        let some = costs(kind, 10_000);
        let many = costs(kind, 100_000);
        let mut all: BTreeMap<&str, (Cost, Cost)> = BTreeMap::new();
        for ((what, few), ((_, some), (_, many))) in few.iter().zip(some.iter().zip(&many)) {
            println!("{kind:?}, {what}: {few:?} of 100, {some:?} of 10,000, {many:?} of 100,000");
            for cost in [some, many] {
                assert!(cost.read < 64 << 10 && cost.written < 16 << 10, "{kind:?}, {what}: {cost:?}");
            }
            let (of_few, of_many) = all.entry(what).or_default();
            *of_few += *few;
            *of_many += *many;
        }
        // The cost of a single commit varies by chance, because it depends on which free space the commit finds.
        for (what, (few, many)) in all {
            let exponent = (many.bytes() / few.bytes()).log10() / 3.0;
            println!("{kind:?}, {what}: exponent {exponent:.2}");
            assert!(exponent <= 0.25, "{kind:?}, {what}: {few:?}, then {many:?}: exponent {exponent:.2}");
        }
    }
}

#[test]
fn rows_that_others_read_cost_what_leads_to_them() {
    for kind in kinds().into_iter().filter(|kind| !matches!(kind.index, None | Some(ChunkIndex::Implicit))) {
        let counted = Counted::new(file(kind, 100_000));
        let mut writer = SwmrWriter::in_storage(Box::new(counted.clone()), &OpenOptions::default()).unwrap();
        writer.dataset("d").unwrap();
        counted.take();
        for round in 0..5 {
            writer.dataset("d").unwrap().append(&[round; SIDE as usize]).unwrap();
            writer.flush().unwrap();
            let cost = counted.take();
            println!("{kind:?}, a flush: {cost:?}");
            // A page is written as a whole, because readers may look at it at any moment.
            assert!(cost.read < 64 << 10 && cost.written < 24 << 10, "{kind:?}: {cost:?}");
        }
        writer.close().unwrap();
    }
}
