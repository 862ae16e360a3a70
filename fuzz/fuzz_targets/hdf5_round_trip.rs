//! Any tree that is written is read again: every link, every element, every attribute.
#![no_main]

use std::collections::BTreeMap;

use hdf5_pure::{Bound, CreateOptions, File, Filters, Met, ObjectId, Range, Slab, Writer};
use libfuzzer_sys::fuzz_target;

const BOUNDS: [Bound; 5] = [Bound::Earliest, Bound::V18, Bound::V110, Bound::V112, Bound::V200];

/// Operations of a run: more would only repeat what these do.
const MOST: usize = 40;

/// What the file holds.
#[derive(Default)]
struct Model {
    arrays: BTreeMap<String, (ObjectId, [u64; 2], Vec<i32>)>,
    texts: BTreeMap<String, Vec<String>>,
    attributes: BTreeMap<(String, String), Vec<u16>>,
}

fuzz_target!(|data: &[u8]| {
    let Some((&first, operations)) = data.split_first() else { return };
    let options = CreateOptions {
        bound: BOUNDS[usize::from(first) % 5],
        track_order: first & 64 != 0,
        user_block: if first & 128 == 0 { Vec::new() } else { vec![0; 512] },
        threads: 1,
        ..CreateOptions::default()
    };
    let mut file = Writer::in_memory(&options).expect("memory does not fail");
    let mut model = Model::default();
    for operation in operations.chunks(4).take(MOST) {
        let &[what, where_, size, more] = operation else { break };
        let group = format!("g{}/h{}", where_ % 5, where_ / 64);
        match what % 8 {
            0 => drop(file.group(&group).expect("only groups are there")),
            1 | 2 => array(&mut file, &mut model, format!("{group}/a{where_}"), (what, size, more)),
            3 => append(&mut file, &mut model, usize::from(where_), more),
            4 => part(&mut file, &mut model, usize::from(where_), (size, more)),
            5 => texts(&mut file, &mut model, format!("{group}/t{where_}"), (size, more)),
            6 => {
                // A link of that name may be there already.
                let _ =
                    file.group(&group).expect("only groups are there").soft_link(&format!("s{size}"), "/g0");
            }
            _ => attribute(&mut file, &mut model, &group, (size, more)),
        }
    }
    let file = File::from_bytes(file.into_bytes().expect("memory does not fail")).expect("it was written");
    check(&file, &model);
});

fn array(file: &mut Writer, model: &mut Model, path: String, (what, size, more): (u8, u8, u8)) {
    let shape = [u64::from(size % 16), u64::from(more % 16)];
    let values: Vec<i32> = (0..shape[0] * shape[1]).map(|k| (k * 31 % 251) as i32).collect();
    let dataset = file.dataset(&path).shape(shape).fill(-1i32);
    let dataset = match (what >> 3) % 4 {
        0 => dataset,
        1 => dataset.compact(),
        2 => {
            dataset.max_shape([None, Some(shape[1])]).chunks([1 + u64::from(size / 16), shape[1].clamp(1, 3)])
        }
        _ => dataset.max_shape([None, None]).chunks([1 + u64::from(more / 16), 2]),
    };
    let chunked = (what >> 3) % 4 > 1;
    let dataset = match (what >> 5) % 4 {
        1 if chunked => dataset.filters(Filters::new().shuffle().deflate(1).fletcher32()),
        2 if chunked => dataset.filters(Filters::new().lzf()),
        3 if chunked => dataset.filters(Filters::new().scale_offset()),
        _ => dataset,
    };
    // The name may be taken.
    if let Ok(id) = dataset.write(&values) {
        model.arrays.insert(path, (id, shape, values));
    }
}

fn append(file: &mut Writer, model: &mut Model, which: usize, rows: u8) {
    let count = model.arrays.len().max(1);
    let Some((id, shape, values)) = model.arrays.values_mut().nth(which % count) else { return };
    let new: Vec<i32> = (0..u64::from(rows % 40) * shape[1]).map(|k| k as i32).collect();
    // Only datasets in chunks grow.
    if file.open(*id).expect("it is a dataset").append(&new).is_ok() && shape[1] > 0 {
        shape[0] += u64::from(rows % 40);
        values.extend(new);
    }
}

fn part(file: &mut Writer, model: &mut Model, which: usize, (size, more): (u8, u8)) {
    let count = model.arrays.len().max(1);
    let Some((id, shape, values)) = model.arrays.values_mut().nth(which % count) else { return };
    let range = |n: u64, seed: u8| {
        let start = u64::from(seed % 8).min(n);
        let step = 1 + u64::from(seed / 8 % 4);
        Range { start, count: (n - start).div_ceil(step), step }
    };
    let slab = Slab::new(shape, [range(shape[0], size), range(shape[1], more)]).expect("it lies inside");
    let new: Vec<i32> = (0..slab.len()).map(|k| 1000 + k as i32).collect();
    file.open(*id).expect("it is a dataset").write_slab(&slab, &new).expect("it fits");
    for run in slab.runs() {
        for i in 0..run.len {
            values[(run.from + i * run.step) as usize] = new[(run.to + i) as usize];
        }
    }
}

fn texts(file: &mut Writer, model: &mut Model, path: String, (size, more): (u8, u8)) {
    let all: Vec<String> = (0..usize::from(size)).map(|i| "x".repeat(i * usize::from(more) % 300)).collect();
    if file.dataset(&path).write(&all).is_ok() {
        model.texts.insert(path, all);
    }
}

fn attribute(file: &mut Writer, model: &mut Model, group: &str, (size, more): (u8, u8)) {
    let name = format!("a{}", size % 32);
    let len = if more == 255 { 40_000 } else { usize::from(more) };
    let values = vec![u16::from(size); len];
    file.group(group)
        .expect("only groups are there")
        .attribute(&name, &values)
        .expect("any attribute has a place");
    model.attributes.insert((group.to_owned(), name), values);
}

fn check(file: &File, model: &Model) {
    for visited in file.walk() {
        assert!(!matches!(visited.what, Met::Broken(_)), "{visited:?}");
    }
    for (path, (_, shape, values)) in &model.arrays {
        let dataset = file.dataset(path).expect("it was written");
        assert_eq!(dataset.shape(), Some(&shape[..]));
        assert_eq!(&dataset.read::<i32>().expect("it was written"), values, "{path}");
    }
    for (path, all) in &model.texts {
        assert_eq!(
            &file.dataset(path).expect("it was written").read::<String>().expect("it was written"),
            all
        );
    }
    for ((group, name), values) in &model.attributes {
        let group = file.group(group).expect("it was written");
        assert_eq!(
            &group.attribute(name).expect("it was written").read::<u16>().expect("it was written"),
            values
        );
    }
}
