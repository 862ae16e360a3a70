//! Many small reads of one dataset: after a few of them, the index is not read any more.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking"
)]

use crate::counted::Counted;
use hdf5_pure::options::Bound;
use hdf5_pure::{ChunkIndex, CreateOptions, Dataset, File, OpenOptions, Slab, Writer};

/// The number of chunks along each dimension, and the number of elements of a chunk along each.
const CHUNKS: u64 = 40;
const SIDE: u64 = 4;
const ALL: u64 = CHUNKS * SIDE;

/// Returns a file with a dataset of two dimensions, of which only the upper left half of the chunks is written.
fn file(index: Option<ChunkIndex>) -> Vec<u8> {
    let bound = if index.is_some() { Bound::V110 } else { Bound::Earliest };
    let mut file = Writer::in_memory(&CreateOptions::default().with_bound(bound)).unwrap();
    let most = match index {
        Some(ChunkIndex::BtreeV2) => [None, None],
        Some(ChunkIndex::ExtensibleArray) => [None, Some(ALL)],
        _ => [Some(ALL), Some(ALL)],
    };
    let mut made = file.dataset("d").shape([ALL, ALL]).max_shape(most).chunks([SIDE, SIDE]).fill(-1i32);
    if let Some(index) = index {
        made = made.index(index);
    }
    let mut made = made.create::<i32>().unwrap();
    for (row, column) in (0..CHUNKS).flat_map(|row| (0..CHUNKS - row).map(move |column| (row, column))) {
        let ranges = [row, column].map(|at| (at * SIDE..(at + 1) * SIDE).into());
        let values: Vec<i32> = (0..SIDE * SIDE)
            .map(|i| ((row * SIDE + i / SIDE) * ALL + column * SIDE + i % SIDE) as i32)
            .collect();
        made.write_slab(&Slab::new(&[ALL, ALL], ranges).unwrap(), &values).unwrap();
    }
    file.into_bytes().unwrap()
}

/// Reads a part that lies in up to four chunks, and checks its elements.
fn read(dataset: &Dataset, row: u64, column: u64) -> hdf5_pure::Result<()> {
    let ranges = [row, column].map(|at| (at..at + SIDE).into());
    let values = dataset.read_slab::<i32>(&Slab::new(&[ALL, ALL], ranges)?)?;
    for (i, value) in (0..).zip(values) {
        let at = (row + i / SIDE, column + i % SIDE);
        let written = at.0 / SIDE + at.1 / SIDE < CHUNKS;
        let expected = if written { (at.0 * ALL + at.1) as i32 } else { -1 };
        assert_eq!(value, expected, "{at:?}");
    }
    Ok(())
}

fn places() -> impl Iterator<Item = (u64, u64)> {
    (0..400u64).map(|i| (i * 7919 % (ALL - SIDE), i * 104_729 % (ALL - SIDE)))
}

#[test]
fn many_small_reads_do_not_read_the_index_again() {
    let kinds =
        [None, Some(ChunkIndex::BtreeV2), Some(ChunkIndex::FixedArray), Some(ChunkIndex::ExtensibleArray)];
    for kind in kinds {
        let counted = Counted::new(file(kind));
        let opened = File::from_storage(counted.clone(), &OpenOptions::default()).unwrap();
        let dataset = opened.dataset("d").unwrap();
        let mut costs = Vec::new();
        for (row, column) in places() {
            counted.take();
            read(&dataset, row, column).unwrap();
            costs.push(counted.take().read);
        }
        // Four chunks of 64 bytes, and nothing else.
        assert!(costs[100..].iter().all(|&read| read <= 256), "{kind:?}: {costs:?}");
        assert!(costs[0] > 256, "{kind:?}: the first read uses the index");
        // Another handle of the same dataset begins anew, and clones share the table.
        let (again, clone) = (opened.dataset("d").unwrap(), dataset.clone());
        counted.take();
        read(&clone, 5, 5).unwrap();
        assert!(counted.take().read <= 256);
        read(&again, 5, 5).unwrap();
        assert!(counted.take().read > 256);
    }
}

#[test]
fn a_damaged_node_concerns_its_own_chunks_only() {
    let bytes = file(None);
    // The leaves of the version 1 B-tree, by their signature, their type and their level.
    let leaves: Vec<usize> =
        (0..bytes.len() - 6).filter(|&at| &bytes[at..at + 6] == b"TREE\x01\x00").collect();
    assert!(leaves.len() > 3);
    let mut damaged = bytes;
    damaged[leaves[leaves.len() / 2]] = b'?';
    let dataset = File::from_bytes(damaged).unwrap().dataset("d").unwrap();
    let outcomes: Vec<bool> =
        places().chain(places()).map(|(row, column)| read(&dataset, row, column).is_ok()).collect();
    let (first, second) = outcomes.split_at(outcomes.len() / 2);
    assert_eq!(first, second, "the same reads fail, whether they are the first ones or not");
    assert!(first.contains(&true) && first.contains(&false));
}

#[test]
fn a_file_that_changes_has_no_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("growing.h5");
    let mut made = Writer::create_with(&path, &CreateOptions::default().with_bound(Bound::V110)).unwrap();
    made.dataset("d").shape([0]).max_shape([None]).chunks([2]).create::<i32>().unwrap();
    made.finish().unwrap();
    let mut writer = hdf5_pure::swmr::SwmrWriter::open(&path).unwrap();
    let mut reader = File::open(&path).unwrap().dataset("d").unwrap();
    for i in 0..200 {
        writer.dataset("d").unwrap().append(&[i, i + 1]).unwrap();
        writer.flush().unwrap();
        reader.refresh().unwrap();
        for at in 0..8.min(reader.shape()[0]) {
            let slab = Slab::new(reader.shape(), [(at..at + 1).into()]).unwrap();
            reader.read_slab::<i32>(&slab).unwrap();
        }
        let last = reader.shape()[0] - 2;
        let slab = Slab::new(reader.shape(), [(last..last + 2).into()]).unwrap();
        assert_eq!(reader.read_slab::<i32>(&slab).unwrap(), [i, i + 1]);
    }
}
