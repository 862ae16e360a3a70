//! Makes arbitrary edits of datasets with many chunks and every kind of index. The file must hold the same elements as a plain
//! array, and no byte of it may belong to two structures.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

use crate::array::Array;
use crate::random::Random;
use crate::recorded::Recorded;
use hdf5_pure::options::{Bound, Flush};
use hdf5_pure::structure::{BtreeK, IndexKind, Layout};
use hdf5_pure::{ChunkIndex, CreateOptions, DatasetWriter, EditOptions, Editor, File, Range, Slab, Writer};
use sciformats_core::commit::replay::{self, Cuts};

const MOST: [u64; 2] = [120, 24];
const CHUNK: [u64; 2] = [2, 2];

/// How a dataset is created.
#[derive(Clone, Copy, Debug)]
struct Made {
    /// Half the children of a node of a version 1 B-tree, if the index is one.
    k: Option<u16>,
    index: Option<ChunkIndex>,
    maximum: [Option<u64>; 2],
    filtered: bool,
}

fn kinds() -> Vec<Made> {
    let fixed = MOST.map(Some);
    let (rows, columns) = ([None, Some(MOST[1])], [Some(MOST[0]), None]);
    let all = [
        (Some(1), None, rows),
        (Some(2), None, [None, None]),
        (Some(32), None, fixed),
        (None, Some(ChunkIndex::BtreeV2), rows),
        (None, Some(ChunkIndex::FixedArray), fixed),
        (None, Some(ChunkIndex::ExtensibleArray), rows),
        (None, Some(ChunkIndex::ExtensibleArray), columns),
        (None, Some(ChunkIndex::Implicit), fixed),
        (None, None, [None, None]),
    ];
    let mut kinds = Vec::new();
    for (k, index, maximum) in all {
        for filtered in [false, true] {
            if !filtered || index != Some(ChunkIndex::Implicit) {
                kinds.push(Made { k, index, maximum, filtered });
            }
        }
    }
    kinds
}

fn file(made: Made, model: &Array, written: bool) -> Vec<u8> {
    let options = match made.k {
        Some(chunk) => {
            let k = BtreeK { chunk, ..BtreeK::default() };
            CreateOptions::default().with_bound(Bound::Earliest).with_btree_k(k)
        }
        None => CreateOptions::default().with_bound(Bound::V110),
    };
    let mut file = Writer::in_memory(&options).unwrap();
    let dataset = file.dataset("d").shape(&model.shape[..]).max_shape(made.maximum).chunks(CHUNK);
    let dataset = match made.index {
        Some(index) => dataset.index(index),
        None => dataset,
    };
    let dataset = if made.filtered { dataset.shuffle().fletcher32() } else { dataset };
    let mut dataset = dataset.fill(model.fill).create::<i32>().unwrap();
    if written {
        dataset.write_all(&model.values).unwrap();
    }
    file.dataset("beside").write(&[1u8, 2, 3]).unwrap();
    file.into_bytes().unwrap()
}

fn check(bytes: &[u8], model: &Array) {
    let file = File::from_bytes(bytes.to_vec()).unwrap();
    let dataset = file.dataset("d").unwrap();
    assert_eq!(dataset.shape(), model.shape);
    assert!(dataset.read::<i32>().unwrap() == model.values, "the elements differ");
    // The index must name only chunks inside the shape, and each of them once.
    let mut chunks: Vec<Vec<u64>> =
        dataset.chunks().unwrap().into_iter().map(|chunk| chunk.unwrap().scaled).collect();
    let count = chunks.len();
    chunks.sort();
    chunks.dedup();
    assert_eq!(chunks.len(), count);
    assert_eq!(file.dataset("beside").unwrap().read::<u8>().unwrap(), [1, 2, 3]);
}

/// Returns a chunk with the elements of `slab`, and the fill value beyond the edges of the dataset.
fn chunk_of(slab: &Slab, values: &[i32], fill: i32) -> [i32; 4] {
    let mut chunk = [fill; 4];
    let columns = slab.ranges()[1].count;
    for (index, &value) in (0..).zip(values) {
        chunk[(index / columns * CHUNK[1] + index % columns) as usize] = value;
    }
    chunk
}

/// Stores a chunk past the filters, of which all or only the checksum are skipped.
fn store(dataset: &mut DatasetWriter<'_>, model: &mut Array, random: &mut Random, filtered: bool) {
    let scaled: Vec<u64> =
        model.shape.iter().zip(CHUNK).map(|(&n, side)| random.below(n.div_ceil(side))).collect();
    let sides = model.shape.iter().zip(CHUNK).zip(&scaled);
    let ranges: Vec<Range> =
        sides.map(|((&n, side), &at)| Range::new(at * side, side.min(n - at * side))).collect();
    let slab = Slab::new(&model.shape, ranges).unwrap();
    let values = random.values(slab.len());
    let chunk = chunk_of(&slab, &values, model.fill).map(i32::to_le_bytes);
    let plain = chunk.concat();
    let shuffled: Vec<u8> = (0..4).flat_map(|byte| chunk.map(|element| element[byte])).collect();
    let (mask, bytes) = match (filtered, random.below(2)) {
        (false, _) => (0, plain),
        (true, 0) => (0b11, plain),
        (true, _) => (0b10, shuffled),
    };
    dataset.write_chunk(&scaled, mask, &bytes).unwrap();
    model.write(&slab, &values);
}

fn edit(editor: &mut Editor, model: &mut Array, random: &mut Random, made: Made) {
    let mut dataset = editor.open_dataset("d").unwrap();
    let empty = model.shape.contains(&0);
    match random.below(10) {
        0..=2 if !empty => {
            let slab = random.slab(&model.shape);
            let values = random.values(slab.len());
            dataset.write_slab(&slab, &values).unwrap();
            model.write(&slab, &values);
        }
        3 if !empty => {
            let points = random.points(&model.shape, 4);
            let values = random.values(4);
            dataset.write_points(&points, &values).unwrap();
            model.write_points(&points, &values);
        }
        4 | 5 if model.shape[0] < MOST[0] && model.shape[1] > 0 => {
            let more = 1 + random.below((MOST[0] - model.shape[0]).min(9));
            let values = random.values(more * model.shape[1]);
            dataset.append(&values).unwrap();
            let shape = [model.shape[0] + more, model.shape[1]];
            model.resize(&shape);
            let ranges = vec![Range::new(shape[0] - more, more), Range::all(shape[1])];
            model.write(&Slab::new(&shape, ranges).unwrap(), &values);
        }
        6 => {
            let shape = [random.below(MOST[0] + 1), random.below(MOST[1] + 1)];
            dataset.resize(&shape).unwrap();
            model.resize(&shape);
        }
        7 | 8 if !empty => store(&mut dataset, model, random, made.filtered),
        _ => {
            let shape = [model.shape[0] - random.below(5).min(model.shape[0]), model.shape[1]];
            dataset.resize(&shape).unwrap();
            model.resize(&shape);
        }
    }
}

#[test]
fn arbitrary_edits_of_many_chunks() {
    let mut commits = 0;
    for made in kinds() {
        for seed in 1..5u64 {
            let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let shape = vec![60, 20];
            let mut model = Array { values: random.values(1200), shape, fill: -5 };
            let written = seed != 2;
            if !written {
                model.values.fill(-5);
            }
            let recorded = Recorded::new(file(made, &model, written));
            let mut editor = Editor::in_storage(Box::new(recorded.clone()), &EditOptions::default()).unwrap();
            let mut lost = editor.unaccounted().unwrap();
            let mut last = model.clone();
            for _ in 0..60 {
                edit(&mut editor, &mut model, &mut random, made);
                match random.below(6) {
                    0..=2 => {
                        editor.commit_with([Flush::None, Flush::Ordered][random.below(2) as usize]).unwrap();
                        last = model.clone();
                        commits += 1;
                        check(&recorded.bytes(), &model);
                        assert!(editor.unaccounted().unwrap() <= lost, "{made:?}, {seed}: bytes are lost");
                    }
                    3 => {
                        let seen = editor.file().unwrap().dataset("d").unwrap();
                        assert!(seen.read::<i32>().unwrap() == model.values, "{made:?}, {seed}: pending");
                    }
                    4 => {
                        drop(editor);
                        model = last.clone();
                        check(&recorded.bytes(), &model);
                        let disk = Box::new(recorded.clone());
                        editor = Editor::in_storage(disk, &EditOptions::default()).unwrap();
                        // Only the editor knew which space was free.
                        lost = editor.unaccounted().unwrap();
                    }
                    _ => {}
                }
            }
            editor.unlink("d").unwrap();
            editor.commit().unwrap();
            assert!(editor.unaccounted().unwrap() <= lost, "{made:?}, {seed}: bytes are lost at the end");
        }
    }
    println!("{commits} commits hold what a plain array does");
}

/// Interrupts the commits of the edits. Every interruption must leave either the old or the new dataset.
#[test]
fn every_cut_of_a_commit_leaves_the_old_chunks_or_the_new_ones() {
    let mut all = Cuts::default();
    for made in kinds() {
        let mut random = Random(77);
        let shape = vec![16, 10];
        let mut model = Array { values: random.values(160), shape, fill: -5 };
        let mut bytes = file(made, &model, true);
        for _ in 0..5 {
            let recorded = Recorded::new(bytes.clone());
            let mut editor = Editor::in_storage(Box::new(recorded.clone()), &EditOptions::default()).unwrap();
            let before = model.clone();
            edit(&mut editor, &mut model, &mut random, made);
            editor.commit_with(Flush::Durable).unwrap();
            drop(editor);
            let after = recorded.bytes();
            let (mut old, mut new) = (0, 0);
            all += replay::every_cut(&bytes, &recorded.take_steps(), |cut, file| {
                let file = File::from_bytes(file.to_vec()).unwrap();
                let dataset = file.dataset("d").unwrap();
                let found = Array {
                    shape: dataset.shape().to_vec(),
                    values: dataset.read().unwrap(),
                    fill: model.fill,
                };
                assert!(found == before || found == model, "{made:?}: {cut:?} leaves neither");
                *if found == before { &mut old } else { &mut new } += 1;
            });
            check(&after, &model);
            bytes = after;
        }
    }
    println!("crash matrix: hdf5: chunks and their indexes: {all}");
    assert!(all.torn > 50 && all.reordered > 50, "{all:?}");
}

#[test]
fn an_index_stays_of_its_kind() {
    for made in kinds() {
        let mut random = Random(5);
        let mut model = Array { values: random.values(160), shape: vec![16, 10], fill: -5 };
        let recorded = Recorded::new(file(made, &model, true));
        let kind = |bytes: Vec<u8>| -> IndexKind {
            match File::from_bytes(bytes).unwrap().dataset("d").unwrap().layout().unwrap() {
                Layout::Chunked(chunked) => chunked.index,
                other => panic!("{other:?}"),
            }
        };
        let before = kind(recorded.bytes());
        let mut editor = Editor::in_storage(Box::new(recorded.clone()), &EditOptions::default()).unwrap();
        for _ in 0..10 {
            edit(&mut editor, &mut model, &mut random, made);
            editor.commit().unwrap();
        }
        assert_eq!(kind(recorded.bytes()), before, "{made:?}");
    }
}

/// The size of a chunk that takes more bytes than the index has for it must be refused before anything is pending.
#[test]
fn a_size_that_the_index_cannot_hold_is_refused() {
    let made = Made { k: None, index: Some(ChunkIndex::FixedArray), maximum: MOST.map(Some), filtered: true };
    let model = Array { values: vec![3; 160], shape: vec![16, 10], fill: -5 };
    let recorded = Recorded::new(file(made, &model, true));
    let mut editor = Editor::in_storage(Box::new(recorded.clone()), &EditOptions::default()).unwrap();
    // A chunk has 16 bytes without filters, so the index has two bytes for the stored size.
    let problem = editor.open_dataset("d").unwrap().write_chunk(&[0, 0], 0, &vec![0; 1 << 16]).unwrap_err();
    assert!(problem.to_string().contains("does not fit into the index"), "{problem}");
    editor.commit().unwrap();
    check(&recorded.bytes(), &model);
}
