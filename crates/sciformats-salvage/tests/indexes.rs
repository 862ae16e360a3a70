//! Indexes of chunks that are damaged, and chunks without any.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::expect_used)]

use hdf5_pure::options::Bound;
use hdf5_pure::{CreateOptions, File, Writer};
use sciformats_salvage::State;

use crate::damage::{ROWS, check, erased, examined, numbers, sample};

#[test]
fn an_index_without_its_root_is_made_anew_from_its_leaves() {
    let bytes = sample(Bound::Earliest);
    // The root of a chunk index of 200 entries is the node of type 1 at level 1.
    let root = bytes.windows(6).position(|six| six == b"TREE\x01\x01").unwrap();
    let mut damaged = bytes;
    damaged[root..root + 24].fill(0);
    let found = examined(damaged);
    let action = found.report().actions.iter().find(|action| action.kind == "make an index of chunks");
    assert!(action.is_some(), "{:#?}", found.report().actions);
    assert_eq!(check(&found).1, 6 * ROWS);
}

#[test]
fn a_leaf_whose_head_is_lost_is_read_entry_by_entry() {
    let bytes = sample(Bound::Earliest);
    let leaf = bytes.windows(6).position(|six| six == b"TREE\x01\x00").unwrap();
    for len in [24, 200] {
        let mut damaged = bytes.clone();
        damaged[leaf..leaf + len].fill(0);
        let found = examined(damaged);
        let equal = check(&found).1;
        // An entry has 32 bytes, and at most one more than those overwritten is lost.
        assert!(equal >= 6 * ROWS - (len - 24).div_ceil(32) - 1, "{equal} elements after {len} bytes");
    }
}

#[test]
fn entries_that_clash_are_not_relied_upon() {
    let bytes = sample(Bound::Earliest);
    let leaf = bytes.windows(6).position(|six| six == b"TREE\x01\x00").unwrap();
    let entry = |i: usize| leaf + 24 + i * 32;
    // Two entries at one place, two out of order, and two that lead to the same bytes.
    for (to, from, len) in
        [(entry(3) + 8, entry(2) + 8, 8), (entry(3) + 8, entry(9) + 8, 8), (entry(3) + 24, entry(4) + 24, 8)]
    {
        let mut damaged = bytes.clone();
        damaged.copy_within(from..from + len, to);
        let found = examined(damaged);
        assert!(found.report().objects.iter().any(|object| object.state == State::Partial));
        check(&found);
    }
}

#[test]
fn chunks_of_arrays_whose_headers_are_lost() {
    for (max, signature) in [(Some(ROWS as u64), &b"FAHD"[..]), (None, b"EAHD")] {
        let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::LATEST)).unwrap();
        for (name, seed) in [("a/chunked", 2), ("a/zipped", 3)] {
            let dataset = file.dataset(name).shape([ROWS as u64]).max_shape([max]).chunks([1]);
            let filters = hdf5_pure::filters::Filters::default().shuffle().deflate(6);
            let dataset = if seed == 3 { dataset.chunks([5]).filters(filters) } else { dataset };
            dataset.write(&numbers(seed, ROWS)).unwrap();
        }
        let (damaged, count) = erased(file.into_bytes().unwrap(), signature, 16);
        assert_eq!(count, 2);
        let found = examined(damaged);
        let (_, equal) = check(&found);
        assert_eq!(equal, 2 * ROWS, "{:#?}", found.report().actions);
    }
}

#[test]
fn chunks_without_any_index_are_placed_by_their_order_and_listed() {
    let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::Earliest)).unwrap();
    let filters = hdf5_pure::filters::Filters::default().shuffle().deflate(6);
    let dataset = file.dataset("a/zipped").shape([ROWS as u64]).chunks([50]).filters(filters);
    dataset.write(&numbers(3, ROWS)).unwrap();
    file.dataset("a/plain").write(&numbers(1, ROWS)).unwrap();
    let bytes = file.into_bytes().unwrap();
    let sound = File::from_bytes(bytes.clone()).unwrap();
    let hdf5_pure::structure::Layout::Chunked(layout) =
        sound.dataset("a/zipped").unwrap().layout().unwrap().clone()
    else {
        panic!("it has chunks")
    };
    let tree = layout.address.unwrap().0 as usize;
    let mut damaged = bytes;
    damaged[tree..tree + 400].fill(0);
    let found = examined(damaged);
    let (_, equal) = check(&found);
    assert_eq!(equal, 2 * ROWS, "{:#?}", found.report().actions);
    let zipped = found.report().objects.iter().find(|object| object.path == "/a/zipped").unwrap();
    assert_eq!((zipped.state, zipped.missing.len()), (State::Partial, 4));
}

#[test]
fn zeros_behind_the_edge_of_an_array_are_no_elements() {
    let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::LATEST)).unwrap();
    let chunked = file.dataset("chunked").shape([ROWS as u64]).max_shape([None]).chunks([5000]);
    chunked.write(&numbers(2, ROWS)).unwrap();
    let mut bytes = file.into_bytes().unwrap();
    bytes.extend([b'x'; 100]);
    let found = examined(bytes);
    assert!(!found.report().causes.is_empty());
    assert_eq!(check(&found), (1, ROWS), "{:#?}", found.report());
}

#[test]
fn many_datasets_whose_chunks_may_be_anywhere_take_no_longer_than_others() {
    let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::Earliest)).unwrap();
    for i in 0..2000 {
        file.dataset(&format!("{i}")).shape([8]).chunks([8]).write(&numbers(i, 8)).unwrap();
    }
    let (mut bytes, count) = erased(file.into_bytes().unwrap(), b"TREE\x01", 64);
    assert_eq!(count, 2000);
    bytes.extend((0..4u32 << 20).flat_map(|i| (i | 1).to_le_bytes()));
    let begin = std::time::Instant::now();
    let found = examined(bytes);
    assert!(found.report().actions.iter().all(|action| action.kind != "place chunks by their order"));
    assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
}
