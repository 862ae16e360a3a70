//! Changes elements and shapes of existing datasets, compares them with a plain model, and interrupts every step of a commit.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

use crate::array::Array as Model;
use crate::random::Random;
use crate::recorded::Recorded;
use hdf5_pure::filters::Filters;
use hdf5_pure::options::{Bound, External, Limits};
use hdf5_pure::swmr::SwmrWriter;
use hdf5_pure::{
    ChunkIndex, CreateOptions, DatasetBuilder, DatasetWriter, EditOptions, Editor, Error, File, OpenOptions,
    Range, Slab, Writer,
};
use sciformats_core::commit::replay::{self, Cuts};

type Make = for<'a> fn(DatasetBuilder<'a>) -> DatasetBuilder<'a>;

fn file(
    bound: Bound,
    make: impl FnOnce(DatasetBuilder<'_>) -> DatasetBuilder<'_>,
    model: Option<&Model>,
) -> Vec<u8> {
    let mut file = Writer::in_memory(&CreateOptions::default().with_bound(bound)).unwrap();
    file.dataset("beside/x").write(&[1u8, 2, 3]).unwrap();
    let builder = make(file.dataset("g/d"));
    let mut dataset = builder.create::<i32>().unwrap();
    if let Some(model) = model {
        dataset.write_all(&model.values).unwrap();
    }
    file.root().attribute("title", "text").unwrap();
    file.into_bytes().unwrap()
}

fn found(file: &[u8], fill: i32) -> Model {
    let file = File::from_bytes(file.to_vec()).unwrap();
    assert_eq!(file.dataset("beside/x").unwrap().read::<u8>().unwrap(), [1, 2, 3]);
    let dataset = file.dataset("g/d").unwrap();
    Model { shape: dataset.shape().to_vec(), values: dataset.read().unwrap(), fill }
}

/// Makes one edit of the dataset and of the model.
fn edit(dataset: &mut DatasetWriter<'_>, model: &mut Model, most: &[u64], random: &mut Random) {
    let grows = !most.is_empty();
    match random.below(if grows { 5 } else { 2 }) {
        0 if !model.shape.contains(&0) => {
            let slab = random.slab(&model.shape);
            let values = random.values(slab.len());
            dataset.write_slab(&slab, &values).unwrap();
            model.write(&slab, &values);
        }
        1 if !model.shape.contains(&0) => {
            let points = random.points(&model.shape, 3);
            let values = random.values(3);
            dataset.write_points(&points, &values).unwrap();
            model.write_points(&points, &values);
        }
        2 if model.shape[0] + 2 <= most[0] && model.shape[1] > 0 => {
            let values = random.values(2 * model.shape[1]);
            dataset.append(&values).unwrap();
            let mut shape = model.shape.clone();
            shape[0] += 2;
            model.resize(&shape);
            let ranges = vec![Range::new(shape[0] - 2, 2), Range::all(shape[1])];
            model.write(&Slab::new(&shape, ranges).unwrap(), &values);
        }
        3 | 4 => {
            let shape: Vec<u64> = most.iter().map(|&most| random.below(most + 1)).collect();
            dataset.resize(&shape).unwrap();
            model.resize(&shape);
        }
        _ => {}
    }
    assert_eq!(dataset.shape(), model.shape);
}

/// Edits and commits in turn, and compares the contents of the file with the model.
fn compare(
    bound: Bound,
    most: &[u64],
    fill: i32,
    make: impl Fn(DatasetBuilder<'_>) -> DatasetBuilder<'_>,
    seed: u64,
) -> u64 {
    let shape = vec![9, 10];
    let mut random = Random(seed);
    let mut model = Model { values: random.values(90), shape, fill };
    let written = random.below(4) > 0;
    if !written {
        model.values = vec![fill; 90];
    }
    let recorded =
        Recorded::new(file(bound, |dataset| make(dataset.shape([9, 10])), Some(&model).filter(|_| written)));
    let mut commits = 0;
    for _ in 0..2 {
        let mut editor = Editor::in_storage(Box::new(recorded.clone()), &EditOptions::default()).unwrap();
        for _ in 0..4 {
            for _ in 0..random.below(4) {
                let mut dataset = editor.open_dataset("g/d").unwrap();
                edit(&mut dataset, &mut model, most, &mut random);
            }
            editor.commit().unwrap();
            commits += 1;
            assert_eq!(found(&recorded.bytes(), fill), model);
        }
        // Uncommitted changes are lost with the editor.
        let mut lost = model.clone();
        edit(&mut editor.open_dataset("g/d").unwrap(), &mut lost, most, &mut random);
        drop(editor);
        assert_eq!(found(&recorded.bytes(), fill), model);
    }
    commits
}

#[test]
fn datasets_of_every_layout_change_as_a_plain_array_does() {
    let mut commits = 0;
    for (number, bound) in [Bound::Earliest, Bound::V18, Bound::V110, Bound::V200].into_iter().enumerate() {
        for seed in 1..4 {
            let seed = seed * 77 + number as u64;
            let flat: [Make; 3] = [|d| d.compact(), |d| d.contiguous(), |d| d.contiguous().fill(5)];
            for (fill, make) in [0, 0, 5].into_iter().zip(flat) {
                commits += compare(bound, &[], fill, make, seed);
            }
            for filtered in [false, true] {
                let made: [Make; 2] =
                    [|d| d.chunks([4, 3]).fill(-9), |d| d.chunks([4, 3]).fill(-9).shuffle().fletcher32()];
                let make = made[usize::from(filtered)];
                commits += compare(bound, &[14, 12], -9, |d| make(d).max_shape([Some(14), Some(12)]), seed);
                commits += compare(bound, &[15, 12], -9, |d| make(d).max_shape([None, Some(12)]), seed);
                commits += compare(bound, &[15, 15], -9, |d| make(d).max_shape([None, None]), seed);
            }
        }
    }
    for seed in 500..506 {
        fn fixed(d: DatasetBuilder<'_>, index: ChunkIndex) -> DatasetBuilder<'_> {
            d.max_shape([Some(14), Some(12)]).chunks([4, 3]).index(index)
        }
        commits += compare(Bound::V110, &[14, 12], 0, |d| fixed(d, ChunkIndex::Implicit), seed);
        commits += compare(Bound::V110, &[14, 12], 0, |d| fixed(d, ChunkIndex::BtreeV2).shuffle(), seed);
        commits += compare(Bound::V110, &[9, 10], 0, |d| d.chunks([9, 10]).index(ChunkIndex::Single), seed);
        commits += compare(Bound::V110, &[9, 10], 3, |d| d.chunks([9, 10]).fletcher32().fill(3), seed);
    }
    println!("{commits} commits of slabs, points, appends and new shapes hold what a plain array does");
}

/// Interrupts the commit that `change` makes at every point. Each must leave the old or the new dataset.
fn cut(initial: &[u8], change: impl Fn(&mut Editor)) -> Cuts {
    let recorded = Recorded::new(initial.to_vec());
    let mut editor = Editor::in_storage(Box::new(recorded.clone()), &EditOptions::default()).unwrap();
    change(&mut editor);
    editor.commit().unwrap();
    drop(editor);
    let steps = recorded.take_steps();
    let (before, after) = (found(initial, 0), found(&recorded.bytes(), 0));
    assert_ne!(before, after);
    let mut seen = [0, 0];
    let cuts = replay::every_cut(initial, &steps, |cut, file| {
        let now = found(file, 0);
        assert!(now == before || now == after, "{cut:?}");
        seen[usize::from(now == after)] += 1;
        // The next editor completes the commit or undoes it.
        let left = Recorded::new(file.to_vec());
        let mut editor = Editor::in_storage(Box::new(left.clone()), &EditOptions::default()).unwrap();
        editor.root().attribute("next", 1).unwrap();
        editor.commit().unwrap();
        assert_eq!(found(&left.bytes(), 0), now, "{cut:?}, recovered");
    });
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
    cuts
}

fn columns() -> Model {
    Model { shape: vec![6, 40], values: (0..240).collect(), fill: 0 }
}

#[test]
fn a_cut_commit_leaves_the_old_elements_or_the_new_ones() {
    let model = columns();
    let append = |editor: &mut Editor| {
        editor.open_dataset("g/d").unwrap().append(&[7; 80]).unwrap();
    };
    let slab = |editor: &mut Editor| {
        let slab = Slab::new(&[6, 40], [(1..5).into(), Range::new(3, 9).by(4)]).unwrap();
        editor.open_dataset("g/d").unwrap().write_slab(&slab, &[-1; 36]).unwrap();
    };
    let shrink = |editor: &mut Editor| {
        editor.open_dataset("g/d").unwrap().resize(&[5, 31]).unwrap();
    };
    let mut all = Cuts::default();
    for bound in [Bound::Earliest, Bound::V110] {
        for filtered in [false, true] {
            let chunked = file(
                bound,
                |d| {
                    let d = d.shape([6, 40]).max_shape([None, Some(40)]).chunks([4, 16]);
                    if filtered { d.shuffle().fletcher32() } else { d }
                },
                Some(&model),
            );
            let mut of = Cuts::default();
            of += cut(&chunked, append);
            of += cut(&chunked, slab);
            of += cut(&chunked, shrink);
            println!("chunks, {bound:?}, filters {filtered}: {of:?}, 0 losses");
            all += of;
        }
        let flat: [(&str, Make); 2] = [("in one piece", |d| d.contiguous()), ("compact", |d| d.compact())];
        for (name, flat) in flat {
            let flat = file(bound, |d: DatasetBuilder<'_>| flat(d.shape([6, 40])), Some(&model));
            let of = cut(&flat, slab);
            println!("{name}, {bound:?}: {of:?}, 0 losses");
            all += of;
        }
    }
    println!("crash matrix: hdf5: elements and extents: {all}");
    assert!(all.prefixes > 50 && all.torn > 10 && all.reordered > 50, "{all:?}");
}

#[test]
fn a_full_disk_leaves_extent_and_elements_of_the_last_commit() {
    let initial = file(Bound::V110, |d| d.shape([0, 40]).max_shape([None, Some(40)]).chunks([4, 16]), None);
    let mut refused = 0;
    for room in (0..12_000).step_by(400) {
        let disk = Recorded::with_room(initial.clone(), initial.len() as u64 + room);
        let mut rows = 0;
        for _ in 0..12 {
            let mut editor = Editor::in_storage(Box::new(disk.clone()), &EditOptions::default()).unwrap();
            let values: Vec<i32> = (rows * 40..(rows + 2) * 40).collect();
            let appended = editor.open_dataset("g/d").unwrap().append(&values).map(drop);
            if appended.and_then(|()| editor.commit()).is_err() {
                refused += 1;
                break;
            }
            rows += 2;
        }
        let left = found(&disk.bytes(), 0);
        assert_eq!((left.shape, left.values), (vec![rows as u64, 40], (0..rows * 40).collect()));
    }
    println!("crash matrix: hdf5: elements and extents: {refused} full disks");
    assert!(refused > 10, "{refused}");
}

#[test]
fn rewritten_chunks_take_the_place_of_freed_ones() {
    let model = columns();
    let layouts: [Make; 2] =
        [|d| d.max_shape([None, Some(40)]).chunks([4, 16]).shuffle(), |d| d.contiguous()];
    for make in layouts {
        let recorded =
            Recorded::new(file(Bound::V110, |d: DatasetBuilder<'_>| make(d.shape([6, 40])), Some(&model)));
        let mut editor = Editor::in_storage(Box::new(recorded.clone()), &EditOptions::default()).unwrap();
        let mut sizes = Vec::new();
        for round in 0..30 {
            editor.open_dataset("g/d").unwrap().write_all(&[round; 240]).unwrap();
            editor.commit().unwrap();
            sizes.push(recorded.bytes().len());
        }
        assert!(sizes[29] <= sizes[3], "{sizes:?}");
        assert_eq!(found(&recorded.bytes(), 0).values, [29; 240]);
    }
}

#[test]
fn many_small_appends_are_one_commit() {
    let recorded =
        Recorded::new(file(Bound::V110, |d| d.shape([0]).max_shape([None]).chunks([1000]).shuffle(), None));
    let mut editor = Editor::in_storage(Box::new(recorded.clone()), &EditOptions::default()).unwrap();
    let mut dataset = editor.open_dataset("g/d").unwrap();
    for row in 0..20_000 {
        dataset.append(&[row, row]).unwrap();
    }
    editor.commit().unwrap();
    let steps = recorded.take_steps();
    let expected: Vec<i32> = (0..20_000).flat_map(|row| [row, row]).collect();
    assert_eq!(found(&recorded.bytes(), 0).values, expected);
    assert!(steps.len() < 200, "{} steps", steps.len());
}

#[test]
fn elements_that_lead_elsewhere() {
    let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
    file.dataset("names").shape([2]).max_shape([None]).write(&["one", "two"]).unwrap();
    file.dataset("fixed")
        .datatype(hdf5_pure::Datatype::fixed_string(5))
        .shape([2])
        .write(&["a", "b"])
        .unwrap();
    file.dataset("lists").shape([1]).max_shape([None]).chunks([2]).write(&[vec![1, 2, 3]]).unwrap();
    let target = file.dataset("target").write(&[1.5]).unwrap();
    let reference = file.reference(target).unwrap();
    file.dataset("references").write(&[reference, hdf5_pure::references::Reference::default()]).unwrap();
    let recorded = Recorded::new(file.into_bytes().unwrap());
    let mut editor = Editor::in_storage(Box::new(recorded.clone()), &EditOptions::default()).unwrap();
    editor.open_dataset("names").unwrap().append(&["three", "a longer one"]).unwrap();
    editor.open_dataset("names").unwrap().write_points(&[vec![0]], &["zero"]).unwrap();
    editor.open_dataset("fixed").unwrap().write_points(&[vec![1]], &["two"]).unwrap();
    let refused = editor.open_dataset("fixed").unwrap().write_points(&[vec![1]], &["too long"]).map(drop);
    assert!(matches!(refused, Err(Error::Usage { .. })));
    editor.open_dataset("lists").unwrap().append(&[vec![4], Vec::new(), vec![5, 6]]).unwrap();
    let id = editor.id("target").unwrap();
    let reference = editor.reference(id).unwrap();
    editor.open_dataset("references").unwrap().write_points(&[vec![1]], &[reference]).unwrap();
    editor.commit().unwrap();
    let file = File::from_bytes(recorded.bytes()).unwrap();
    let strings = |name: &str| file.dataset(name).unwrap().read::<String>().unwrap();
    assert_eq!(strings("names"), ["zero", "two", "three", "a longer one"]);
    assert_eq!(strings("fixed"), ["a", "two"]);
    let lists: Vec<Vec<i32>> = file.dataset("lists").unwrap().read().unwrap();
    assert_eq!(lists, [vec![1, 2, 3], vec![4], vec![], vec![5, 6]]);
    let references = file.dataset("references").unwrap();
    let raw = references.read_raw(&references.all().unwrap()).unwrap();
    assert_eq!(raw[..8], raw[8..]);
}

#[test]
fn what_does_not_fit_changes_nothing() {
    let model = columns();
    let bytes =
        file(Bound::V110, |d| d.shape([6, 40]).max_shape([Some(9), Some(40)]).chunks([4, 16]), Some(&model));
    let recorded = Recorded::new(bytes);
    let mut editor = Editor::in_storage(Box::new(recorded.clone()), &EditOptions::default()).unwrap();
    let mut dataset = editor.open_dataset("g/d").unwrap();
    let usage =
        |result: hdf5_pure::Result<&mut DatasetWriter<'_>>| matches!(result, Err(Error::Usage { .. }));
    assert!(usage(dataset.resize(&[10, 40])), "the maximum");
    assert!(usage(dataset.resize(&[6])));
    assert!(usage(dataset.append(&[1; 39])));
    assert!(usage(dataset.append(&[1; 4 * 40])), "the maximum");
    assert!(usage(dataset.write_points(&[vec![0, 0], vec![6, 0]], &[1, 1])), "outside");
    assert!(usage(
        dataset.write_slab(&Slab::new(&[5, 40], vec![Range::all(5), Range::all(40)]).unwrap(), &[1; 200])
    ));
    assert!(usage(dataset.write_all(&[1; 239])));
    editor.commit().unwrap();
    assert_eq!(found(&recorded.bytes(), 0), model);
    assert!(matches!(editor.open_dataset("g/none"), Err(Error::NotFound { .. })));
    assert!(editor.open_dataset("g").is_err());
    let mut flat = editor.open_dataset("beside/x").unwrap();
    assert!(usage(flat.resize(&[4])), "only chunks grow");
}

#[test]
fn two_dimensions_without_a_maximum_grow() {
    let bytes = file(Bound::V110, |d| d.shape([0, 0]).max_shape([None, None]).chunks([4, 4]), None);
    let recorded = Recorded::new(bytes);
    let mut editor = Editor::in_storage(Box::new(recorded.clone()), &EditOptions::default()).unwrap();
    let mut model = Model { shape: vec![0, 0], values: Vec::new(), fill: 0 };
    let mut dataset = editor.open_dataset("g/d").unwrap();
    dataset.resize(&[1, 1]).unwrap();
    model.resize(&[1, 1]);
    for round in 1..12u64 {
        for axis in [0, 1] {
            let other = model.shape[1 - axis];
            let values: Vec<i32> = (0..other).map(|i| (round * 100 + i) as i32).collect();
            dataset.append_along(axis, &values).unwrap();
            let mut shape = model.shape.clone();
            shape[axis] += 1;
            model.resize(&shape);
            let mut ranges: Vec<Range> = shape.iter().map(|&n| Range::all(n)).collect();
            ranges[axis] = Range::new(shape[axis] - 1, 1);
            model.write(&Slab::new(&shape, ranges).unwrap(), &values);
        }
    }
    editor.commit().unwrap();
    assert_eq!(found(&recorded.bytes(), 0), model);
}

#[test]
fn elements_in_other_files_change_as_far_as_that_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole.h5");
    let numbers = |range: std::ops::Range<i32>| -> Vec<u8> { range.flat_map(i32::to_le_bytes).collect() };
    std::fs::write(folder.path().join("a.raw"), [&[9; 4][..], &numbers(0..10)].concat()).unwrap();
    std::fs::write(folder.path().join("b.raw"), numbers(10..20)).unwrap();
    let mut file = Writer::create(&path).unwrap();
    let parts = [("a.raw", 4, Some(40)), ("b.raw", 0, Some(40))];
    file.dataset("d").shape([20]).external(parts).create::<i32>().unwrap();
    file.finish().unwrap();

    let mut editor = Editor::open(&path).unwrap();
    assert!(matches!(editor.open_dataset("d"), Err(Error::Forbidden { .. })), "no other file may be opened");
    drop(editor);
    let reading = OpenOptions::default().with_external(External::SameFolder);
    let read = || File::open_with(&path, &reading).unwrap().dataset("d").unwrap().read::<i32>().unwrap();
    let options = EditOptions::default().with_reading(reading.clone());
    let mut editor = Editor::open_with(&path, &options).unwrap();
    let slab = Slab::new(&[20], [(8..12).into()]).unwrap();
    editor.open_dataset("d").unwrap().write_slab(&slab, &[-8, -9, -10, -11]).unwrap();
    assert_eq!(read(), (0..20).collect::<Vec<_>>(), "nothing is written before the commit");
    editor.commit().unwrap();
    let expected: Vec<i32> = (0..20).map(|n| if (8..12).contains(&n) { -n } else { n }).collect();
    assert_eq!(read(), expected);
    assert_eq!(std::fs::read(folder.path().join("a.raw")).unwrap()[..4], [9; 4]);
}

#[test]
fn writes_through_filters_that_are_not_there_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole.h5");
    let mut file = Writer::create(&path).unwrap();
    file.dataset("other").write(&[1]).unwrap();
    let filtered = file.dataset("d").shape([4]).chunks([2]).filters(Filters::new().custom(29_999, vec![]));
    filtered.create::<i32>().unwrap();
    file.finish().unwrap();
    let mut editor = Editor::open(&path).unwrap();
    let all = Slab::all(&[4]).unwrap();
    // A part of a chunk is refused at once too, and not when it is committed.
    let mut d = editor.open_dataset("d").unwrap();
    let one = Slab::new(&[4], [Range::new(0, 1)]).unwrap();
    for (slab, values) in [(&all, &[1, 2, 3, 4][..]), (&one, &[1])] {
        assert!(matches!(d.write_slab(slab, values), Err(Error::Unsupported { .. })));
    }
    editor.commit().unwrap();
    editor.open_dataset("other").unwrap().write_slab(&Slab::all(&[1]).unwrap(), &[7]).unwrap();
    editor.commit().unwrap();
    editor.dataset("e").write(&[8; 1000]).unwrap();
    editor.commit().unwrap();
    let file = File::open(&path).unwrap();
    let read = |name: &str| file.dataset(name).unwrap().read::<i32>().unwrap();
    assert_eq!((read("other"), read("d"), read("e")), (vec![7], vec![0; 4], vec![8; 1000]));
}

#[test]
fn a_dataset_of_which_a_write_failed_half_way_can_be_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole.h5");
    let mut file = Writer::create(&path).unwrap();
    file.dataset("other").write(&[1]).unwrap();
    // Bitshuffle does not work without its parameters, and may not be skipped.
    let filtered = file.dataset("d").shape([4]).chunks([2]).filters(Filters::new().custom(32_008, vec![]));
    filtered.create::<i32>().unwrap();
    file.finish().unwrap();
    let mut editor = Editor::open(&path).unwrap();
    assert!(editor.open_dataset("d").unwrap().write_slab(&Slab::all(&[4]).unwrap(), &[1, 2, 3, 4]).is_err());
    editor.unlink("d").unwrap();
    editor.open_dataset("other").unwrap().write_slab(&Slab::all(&[1]).unwrap(), &[7]).unwrap();
    editor.dataset("d").write(&[9]).unwrap();
    editor.commit().unwrap();
    editor.dataset("e").write(&[8; 1000]).unwrap();
    editor.commit().unwrap();
    let file = File::open(&path).unwrap();
    let read = |name: &str| file.dataset(name).unwrap().read::<i32>().unwrap();
    assert_eq!((read("other"), read("d"), read("e")), (vec![7], vec![9], vec![8; 1000]));
}

#[test]
fn elements_beyond_too_small_external_storage_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole.h5");
    std::fs::write(folder.path().join("a.raw"), [0; 44]).unwrap();
    std::fs::write(folder.path().join("b.raw"), [0; 36]).unwrap();
    let mut file = Writer::create_with(&path, &CreateOptions::default().with_bound(Bound::Earliest)).unwrap();
    file.dataset("d")
        .shape([20])
        .external([("a.raw", 0, Some(44)), ("b.raw", 0, Some(36))])
        .create::<i32>()
        .unwrap();
    file.dataset("far").shape([2]).external([("a.raw", 77, Some(8))]).create::<i32>().unwrap();
    file.dataset("other").write(&[1]).unwrap();
    file.finish().unwrap();
    // The storage is made too small for three elements, and the offset of the other file too large for one of two.
    let mut bytes = std::fs::read(&path).unwrap();
    let mut change = |from: [u64; 2], to: [u64; 2]| {
        let bytes_of = |pair: [u64; 2]| pair.map(u64::to_le_bytes).concat();
        let at = bytes.windows(16).position(|window| window == bytes_of(from)).unwrap();
        bytes[at..at + 16].copy_from_slice(&bytes_of(to));
    };
    change([0, 36], [0, 24]);
    change([77, 8], [u64::MAX - 4, 8]);
    std::fs::write(&path, &bytes).unwrap();

    let reading = OpenOptions::default().with_external(External::SameFolder);
    let options = EditOptions::default().with_reading(reading.clone());
    let mut editor = Editor::open_with(&path, &options).unwrap();
    let refused = |result: hdf5_pure::Result<()>| {
        let error = result.unwrap_err();
        assert!(error.to_string().contains("beyond the space"), "{error}");
    };
    let slab = |start, count| Slab::new(&[20], [Range::new(start, count)]).unwrap();
    let mut d = editor.open_dataset("d").unwrap();
    refused(d.write_slab(&slab(16, 2), &[1, 2]).map(drop));
    refused(d.write_slab(&slab(0, 20), &[3; 20]).map(drop));
    d.write_slab(&slab(15, 2), &[4, 5]).unwrap();
    refused(editor.open_dataset("far").unwrap().write_slab(&Slab::all(&[2]).unwrap(), &[1, 2]).map(drop));
    editor.open_dataset("other").unwrap().write_slab(&Slab::all(&[1]).unwrap(), &[7]).unwrap();
    editor.commit().unwrap();
    let file = File::open_with(&path, &reading).unwrap();
    assert_eq!(file.dataset("other").unwrap().read::<i32>().unwrap(), [7]);
    assert_eq!(file.dataset("d").unwrap().read_slab::<i32>(&slab(14, 3)).unwrap(), [0, 4, 5]);
}

/// Writing to a damaged file ends, and takes no more memory than the limits allow.
#[test]
fn damaged_files_are_edited_or_refused() {
    let model = columns();
    let reading = OpenOptions::default().with_limits(Limits::default().with_memory(1 << 20));
    let options = EditOptions::default().with_reading(reading.clone());
    let (mut edited, mut refused) = (0, 0);
    let layouts: [(Bound, Make); 3] = [
        (Bound::Earliest, |d| d.max_shape([None, Some(40)]).chunks([4, 16]).shuffle()),
        (Bound::V110, |d| d.max_shape([None, Some(40)]).chunks([4, 16])),
        (Bound::Earliest, |d| d.contiguous()),
    ];
    for (bound, make) in layouts {
        let bytes = file(bound, |d: DatasetBuilder<'_>| make(d.shape([6, 40])), Some(&model));
        for at in (0..bytes.len()).step_by(5) {
            let mut damaged = bytes.clone();
            damaged[at] ^= [0x01, 0x80, 0xff][at % 3];
            let storage = || Box::new(Recorded::with_room(damaged.clone(), 1 << 16));
            let edit = || -> hdf5_pure::Result<()> {
                let mut editor = Editor::in_storage(storage(), &options)?;
                let mut dataset = editor.open_dataset("g/d")?;
                let shape = dataset.shape().to_vec();
                let ranges: Vec<Range> = shape.iter().map(|&n| Range::new(0, n.min(7))).collect();
                let slab = Slab::new(&shape, ranges)?;
                dataset.write_slab(&slab, &vec![1; slab.len() as usize])?;
                let smaller: Vec<u64> = shape.iter().map(|n| n.div_ceil(2)).collect();
                dataset.resize(&smaller)?;
                editor.commit()
            };
            let follow = || -> hdf5_pure::Result<()> {
                let mut writer = SwmrWriter::in_storage(storage(), &reading)?;
                let mut dataset = writer.dataset("g/d")?;
                if dataset.shape().get(1) == Some(&40) {
                    dataset.append(&[3; 80])?;
                }
                writer.flush()
            };
            for result in [edit(), follow()] {
                *if result.is_ok() { &mut edited } else { &mut refused } += 1;
            }
        }
    }
    println!("{edited} damaged files were edited, {refused} refused");
    assert!(edited > 100 && refused > 100);
}

#[test]
fn reserved_space_is_kept_by_a_commit() {
    let recorded = Recorded::new(file(Bound::LATEST, |new| new.shape([1000]), None));
    let mut editor = Editor::in_storage(Box::new(recorded.clone()), &EditOptions::default()).unwrap();
    let lost = editor.unaccounted().unwrap();
    editor.open_dataset("g/d").unwrap().reserve().unwrap();
    editor.commit().unwrap();
    assert_eq!(editor.unaccounted().unwrap(), lost, "bytes that nothing leads to");
    drop(editor);
    let file = File::from_bytes(recorded.bytes()).unwrap();
    let dataset = file.dataset("g/d").unwrap();
    let layout = dataset.layout().unwrap();
    assert!(matches!(layout, hdf5_pure::structure::Layout::Contiguous { address: Some(_) }), "{layout:?}");
    assert_eq!(dataset.read::<i32>().unwrap(), [0; 1000]);
}
