//! Chunks whose dataset is lost: their bytes come out, once, and nothing else does.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::expect_used)]

use hdf5_pure::filters::Filters;
use hdf5_pure::options::Bound;
use hdf5_pure::{CreateOptions, Dataset, File, Writer};
use sciformats_salvage::{Examination, ObjectReport, State};

use crate::damage::{examined, sample};

const SHAPE: [u64; 2] = [200, 6];
const CHUNK: [u64; 2] = [50, 4];
const WIDTH: usize = 8;
const BYTES: usize = 50 * 4 * WIDTH;

/// A file with a dataset in chunks, and one beside it.
fn file(filters: Filters) -> Vec<u8> {
    let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::Earliest)).unwrap();
    file.dataset("kept").shape([30]).chunks([10]).write(&(0..30).collect::<Vec<i64>>()).unwrap();
    let values: Vec<f64> = (0..1200).map(|i| f64::from(i * 7919 % 1009) + 0.5).collect();
    file.dataset("lost").shape(SHAPE).chunks(CHUNK).filters(filters).write(&values).unwrap();
    file.into_bytes().unwrap()
}

/// Overwrites the header of the dataset with zeros.
fn headless(mut bytes: Vec<u8>, path: &str) -> Vec<u8> {
    let at = File::from_bytes(bytes.clone()).unwrap().dataset(path).unwrap().address().0 as usize;
    bytes[at..at + 16].fill(0);
    bytes
}

fn pieces(found: &Examination) -> Vec<&ObjectReport> {
    found.report().objects.iter().filter(|object| object.kind == "chunks").collect()
}

fn saved(found: &Examination) -> File {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("saved.h5");
    let losses = found.write(&path).unwrap();
    assert!(losses.iter().all(|loss| loss.lost.is_some()), "{losses:?}");
    File::from_bytes(std::fs::read(&path).unwrap()).unwrap()
}

/// Undoes the filter shuffle.
fn unshuffled(bytes: &[u8]) -> Vec<u8> {
    let count = bytes.len() / WIDTH;
    (0..bytes.len()).map(|i| bytes[i % WIDTH * count + i / WIDTH]).collect()
}

/// The elements of each chunk as bytes, and the index of the chunk.
fn chunks(bytes: &[u8]) -> Vec<(Vec<u64>, Vec<u8>, Vec<u8>)> {
    let dataset = File::from_bytes(bytes.to_vec()).unwrap().dataset("lost").unwrap();
    let all = dataset.chunks().unwrap().into_iter().map(|chunk| chunk.unwrap());
    let parts = all.map(|chunk| {
        let (decoded, raw) =
            (dataset.chunk_decoded(&chunk).unwrap(), dataset.chunk_raw(&chunk).unwrap().to_vec());
        (chunk.scaled, decoded, raw)
    });
    parts.collect()
}

/// Checks that a dataset has the bytes of all chunks of the lost one, and that the other dataset of the file is whole.
fn check_bytes(file: &File, dataset: &Dataset, bytes: &[u8], shuffled: bool) {
    let all = dataset.read::<u8>().unwrap();
    for (place, wanted, _) in chunks(bytes) {
        let at = (place[0] * 2 + place[1]) as usize * BYTES;
        let one = &all[at..at + BYTES];
        assert!(if shuffled { unshuffled(one) == wanted } else { one == wanted }, "{place:?}");
    }
    assert_eq!(file.dataset("kept").unwrap().read::<i64>().unwrap(), (0..30).collect::<Vec<i64>>());
}

#[test]
fn the_bytes_of_chunks_without_their_dataset_come_out() {
    for (filters, shuffled, undone) in [
        (Filters::new(), false, "as they were stored"),
        (Filters::new().deflate(6), false, "deflate is undone"),
        (Filters::new().shuffle().deflate(6), true, "deflate is undone, and the bytes may be shuffled"),
    ] {
        let bytes = file(filters);
        let found = examined(headless(bytes.clone(), "lost"));
        let [piece] = pieces(&found)[..] else { panic!("{:#?}", found.report()) };
        assert!(piece.path.starts_with("/lost+found/chunks_0x"), "{}", piece.path);
        assert_eq!((piece.state, piece.unchecked, piece.chunks), (State::Partial, true, Some((8, 8))));
        assert!(piece.missing.is_empty() && piece.reasons[0].contains(undone), "{:?}", piece.reasons);
        let file = saved(&found);
        let dataset = file.dataset(&piece.path).unwrap();
        assert_eq!(dataset.shape(), [4, 2, BYTES as u64]);
        let numbers = |name: &str| dataset.attribute(name).unwrap().read::<u64>().unwrap();
        assert_eq!((numbers("chunk_shape"), numbers("element_size")), (CHUNK.to_vec(), vec![WIDTH as u64]));
        assert_eq!((numbers("first_element"), numbers("chunk_step")), (vec![0, 0], CHUNK.to_vec()));
        assert_eq!(piece.path, format!("/lost+found/chunks_{:#x}", numbers("index")[0]));
        assert!(dataset.attribute("damage").is_ok());
        check_bytes(&file, &dataset, &bytes, shuffled);
    }
}

#[test]
fn chunks_of_unknown_filters_are_as_they_were_stored() {
    let bytes = file(Filters::new().deflate(6));
    let mut damaged = headless(bytes.clone(), "lost");
    let dataset = File::from_bytes(bytes.clone()).unwrap().dataset("lost").unwrap();
    for chunk in dataset.chunks().unwrap() {
        // No stream of deflate begins so.
        damaged[chunk.unwrap().address.0 as usize] = 0x5a;
    }
    let found = examined(damaged);
    let pieces = pieces(&found);
    assert_eq!(pieces.len(), 8, "{:#?}", found.report());
    let file = saved(&found);
    for (place, _, mut raw) in chunks(&bytes) {
        raw[0] = 0x5a;
        let name = format!("{}_{}", place[0] * CHUNK[0], place[1] * CHUNK[1]);
        let piece = pieces.iter().find(|piece| piece.path.ends_with(&format!("/{name}"))).unwrap();
        assert_eq!((piece.state, piece.unchecked), (State::Partial, true));
        assert_eq!(file.dataset(&piece.path).unwrap().read::<u8>().unwrap(), raw);
    }
}

#[test]
fn a_chunk_that_is_lost_as_well_is_listed() {
    let bytes = file(Filters::new().shuffle().deflate(6));
    let mut damaged = headless(bytes.clone(), "lost");
    let dataset = File::from_bytes(bytes).unwrap().dataset("lost").unwrap();
    let chunk = dataset.chunks().unwrap().into_iter().nth(3).unwrap().unwrap();
    let at = chunk.address.0 as usize + 10;
    damaged[at..at + 20].fill(0xaa);
    let found = examined(damaged);
    let [piece] = pieces(&found)[..] else { panic!("{:#?}", found.report()) };
    assert_eq!(piece.missing, [(vec![1, 1, 0], vec![1, 1, BYTES as u64])]);
    assert_eq!(piece.chunks, Some((7, 8)));
    saved(&found);
}

#[test]
fn chunks_that_a_dataset_has_come_out_once() {
    // The header of another dataset is lost, and the root of an index, which is made anew from its leaves.
    let bytes = headless(sample(Bound::Earliest), "a/plain");
    let root = bytes.windows(6).position(|six| six == b"TREE\x01\x01").unwrap();
    let mut damaged = bytes.clone();
    damaged[root..root + 24].fill(0);
    for bytes in [bytes, damaged] {
        let found = examined(bytes);
        assert!(!found.report().is_sound());
        assert!(pieces(&found).is_empty(), "{:#?}", pieces(&found));
    }
}

#[test]
fn chunks_of_an_index_without_its_root_and_its_dataset_come_out() {
    let bytes = sample(Bound::Earliest);
    let mut damaged = headless(bytes.clone(), "a/chunked");
    let root = damaged.windows(6).position(|six| six == b"TREE\x01\x01").unwrap();
    damaged[root..root + 24].fill(0);
    let found = examined(damaged);
    let pieces = pieces(&found);
    let file = saved(&found);
    let wanted = File::from_bytes(bytes).unwrap().dataset("a/chunked").unwrap().read::<i64>().unwrap();
    let mut values = Vec::new();
    for piece in &pieces {
        let all = file.dataset(&piece.path).unwrap().read::<u8>().unwrap();
        values.extend(all.chunks_exact(8).map(|eight| i64::from_le_bytes(eight.try_into().unwrap())));
    }
    assert_eq!(values.len(), wanted.len(), "{pieces:#?}");
    values.sort_unstable();
    let mut wanted = wanted;
    wanted.sort_unstable();
    assert_eq!(values, wanted);
}

/// A leaf of a tree of chunks in one dimension: the first element, the address and the size of each.
fn leaf(chunks: &[(u64, u64, u32)], end: u64) -> Vec<u8> {
    let mut node = b"TREE\x01\x00".to_vec();
    node.extend((chunks.len() as u16).to_le_bytes());
    node.extend([0xff; 16]);
    let key = |size: u32, first: u64, byte: u64| {
        [u64::from(size).to_le_bytes(), first.to_le_bytes(), byte.to_le_bytes()].concat()
    };
    for &(first, address, size) in chunks {
        node.extend(key(size, first, 0));
        node.extend(address.to_le_bytes());
    }
    node.extend(key(0, end, 4));
    node
}

#[test]
fn chunks_that_overlap_or_cannot_be_are_left_out() {
    let kept = headless(sample(Bound::Earliest), "a/plain");
    let free = kept.len() as u64;
    let mut bytes = kept;
    bytes.extend((0..4096u32).flat_map(|i| (i.wrapping_mul(2_654_435_761) | 1).to_le_bytes()));
    let end = bytes.len() as u64;
    let good = [(0, free, 400), (100, free + 400, 400)];
    for chunks in [
        vec![(200, free + 1000, 400), (300, free + 1100, 400)], // two that overlap
        vec![(200, end - 100, 4000)],                           // behind the end of the file
        vec![(200, u64::MAX - 100, 400)],                       // at no address
        vec![(200, 0x40, 400)],                                 // over the superblock
        vec![(200, end, 60)],                                   // over the node itself
    ] {
        let all = [&good[..], &chunks].concat();
        let mut damaged = bytes.clone();
        damaged.extend(leaf(&all, all[all.len() - 1].0 + 100));
        damaged.extend([0x55; 600]);
        let found = examined(damaged);
        let [piece] = pieces(&found)[..] else { panic!("{chunks:?}: {:#?}", found.report()) };
        assert_eq!(piece.chunks, Some((2, 2)), "{chunks:?}");
        assert!(piece.reasons[0].contains(&format!("{} more", chunks.len())), "{:?}", piece.reasons);
        let all = saved(&found).dataset(&piece.path).unwrap().read::<u8>().unwrap();
        assert_eq!(all, bytes[free as usize..free as usize + 800]);
    }
    // Places so far apart that an array of them would be empty.
    let mut damaged = bytes.clone();
    let far = [(0, free, 400), (1 << 40, free + 400, 400), ((1 << 61) + 7, free + 800, 400)];
    damaged.extend(leaf(&far, (1 << 61) + 107));
    damaged.extend([0x55; 600]);
    let found = examined(damaged);
    assert_eq!(pieces(&found).len(), 3);
    saved(&found);
}

#[test]
fn many_nodes_without_datasets_take_no_longer_than_others() {
    let mut bytes = headless(sample(Bound::Earliest), "a/plain");
    let free = bytes.len() as u64;
    bytes.extend([0x55; 4096]);
    // Each names the same chunks, and begins in the one before.
    for number in 0..20_000 {
        let node = leaf(&[(0, free, 400), (100, free + 400 + number % 7, 400)], 200);
        bytes.extend(&node[..if number % 2 == 0 { node.len() } else { 40 }]);
    }
    let begin = std::time::Instant::now();
    let found = examined(bytes);
    assert!(pieces(&found).is_empty());
    assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
}

#[test]
fn what_was_found_stays_when_it_is_salvaged_again() {
    let found = examined(headless(file(Filters::new().shuffle().deflate(6)), "lost"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("saved.h5");
    found.write(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let again = examined(bytes.clone());
    assert!(again.report().is_sound(), "{:#?}", again.report());
    // Damaged again, the bytes are elements of a dataset like others.
    let cut = examined(bytes[..bytes.len() - 50].to_vec());
    assert!(pieces(&cut).is_empty(), "{:#?}", pieces(&cut));
}

#[test]
fn streams_tell_from_where_addresses_count() {
    let sound = file(Filters::new().shuffle().deflate(6));
    // Nothing but the trees and the chunks is left, with a user block before the file and without.
    let mut bytes = sound.clone();
    let headers: Vec<u64> = ["kept", "lost"]
        .map(|name| File::from_bytes(sound.clone()).unwrap().dataset(name).unwrap().address().0)
        .to_vec();
    for at in headers {
        bytes[at as usize..at as usize + 16].fill(0);
    }
    for signature in [&b"TREE\x00"[..], b"SNOD", b"HEAP"] {
        while let Some(at) = bytes.windows(signature.len()).position(|window| window == signature) {
            bytes[at..at + 8].fill(0);
        }
    }
    bytes[..96].fill(0);
    let root = File::from_bytes(sound.clone()).unwrap().root().unwrap().address().0 as usize;
    bytes[root..root + 16].fill(0);
    for before in [0, 1024] {
        let found = examined([vec![0; before], bytes.clone()].concat());
        let pieces = pieces(&found);
        assert_eq!(pieces.len(), 2, "{:#?}", found.report());
        let file = saved(&found);
        let (_, wanted, _) = chunks(&sound).remove(0);
        let all: Vec<Vec<u8>> =
            pieces.iter().map(|piece| file.dataset(&piece.path).unwrap().read().unwrap()).collect();
        assert!(all.iter().any(|all| all.len() == 8 * BYTES && unshuffled(&all[..BYTES]) == wanted));
    }
}

/// A file with a dataset in chunks that the newest indexes lead to, and one beside it.
fn new_file(maximum: [Option<u64>; 2], filters: Filters) -> Vec<u8> {
    let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::LATEST)).unwrap();
    file.dataset("kept").shape([30]).chunks([10]).write(&(0..30).collect::<Vec<i64>>()).unwrap();
    let values: Vec<f64> = (0..1200).map(|i| f64::from(i * 7919 % 1009) + 0.5).collect();
    let lost = file.dataset("lost").shape(SHAPE).max_shape(maximum).chunks(CHUNK).filters(filters);
    lost.write(&values).unwrap();
    file.into_bytes().unwrap()
}

#[test]
fn chunks_of_newer_indexes_come_out_by_their_positions() {
    let [rows, columns] = SHAPE;
    for (maximum, grid) in
        [([None, None], &[4, 2][..]), ([Some(rows), Some(columns)], &[8]), ([None, Some(columns)], &[8])]
    {
        for (filters, shuffled, undone) in [
            (Filters::new(), false, "chunks have no filters"),
            (Filters::new().deflate(6), false, "deflate is undone"),
            (Filters::new().shuffle().deflate(6), true, "deflate is undone, and the bytes may be shuffled"),
        ] {
            let bytes = new_file(maximum, filters);
            let found = examined(headless(bytes.clone(), "lost"));
            let [piece] = pieces(&found)[..] else { panic!("{:#?}", found.report()) };
            assert!(piece.path.starts_with("/lost+found/chunks_0x"), "{}", piece.path);
            assert_eq!((piece.state, piece.unchecked, piece.chunks), (State::Partial, true, Some((8, 8))));
            assert!(piece.missing.is_empty() && piece.reasons[0].contains(undone), "{:?}", piece.reasons);
            let file = saved(&found);
            let dataset = file.dataset(&piece.path).unwrap();
            assert_eq!(dataset.shape(), [grid, &[BYTES as u64]].concat());
            let first = dataset.attribute("first_chunk").unwrap().read::<u64>().unwrap();
            assert_eq!(first, vec![0; grid.len()]);
            // Nothing that only the dataset has said.
            for name in ["chunk_shape", "element_size", "first_element", "chunk_step"] {
                assert!(dataset.attribute(name).is_err(), "{name}");
            }
            check_bytes(&file, &dataset, &bytes, shuffled);
        }
    }
}

#[test]
fn chunks_in_lost_nodes_of_newer_indexes_are_counted() {
    let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::LATEST)).unwrap();
    let values: Vec<i64> = (0..1000).collect();
    file.dataset("kept").write(&values).unwrap();
    let lost = file.dataset("lost").shape([500, 2]).max_shape([None, None]).chunks([1, 2]);
    lost.write(&values).unwrap();
    let mut damaged = headless(file.into_bytes().unwrap(), "lost");
    let leaf = damaged.windows(4).position(|four| four == b"BTLF").unwrap();
    damaged[leaf..leaf + 8].fill(0);
    let found = examined(damaged);
    let [piece] = pieces(&found)[..] else { panic!("{:#?}", found.report()) };
    let Some((left, _)) = piece.chunks else { panic!("{piece:#?}") };
    assert!((300..500).contains(&left), "{left}");
    assert!(piece.reasons[0].contains(&format!("and {} more whose", 500 - left)), "{:?}", piece.reasons);
    // Each pair of numbers is in the place that its row has.
    let dataset = saved(&found).dataset(&piece.path).unwrap();
    let first = dataset.attribute("first_chunk").unwrap().read::<u64>().unwrap()[0] as usize;
    let all = dataset.read::<u8>().unwrap();
    let rows = all.chunks_exact(16).enumerate().filter(|(_, row)| row.iter().any(|&byte| byte > 0));
    for (i, row) in rows {
        let number = |at: usize| i64::from_le_bytes(row[at..at + 8].try_into().unwrap()) as usize;
        assert_eq!((number(0), number(8)), (2 * (first + i), 2 * (first + i) + 1));
    }
}

#[test]
fn chunks_of_newer_indexes_that_a_dataset_has_come_out_once() {
    for maximum in [[None, None], [Some(SHAPE[0]), Some(SHAPE[1])], [None, Some(SHAPE[1])]] {
        // The header of another dataset is lost, and a part of the index.
        let bytes = headless(new_file(maximum, Filters::new()), "kept");
        for mark in [&b"BTLF"[..], b"FADB", b"EAIB"] {
            let mut damaged = bytes.clone();
            let Some(at) = damaged.windows(4).rposition(|four| four == mark) else { continue };
            damaged[at + 30..at + 34].fill(0x77);
            let found = examined(damaged);
            let lost = pieces(&found).iter().any(|piece| piece.chunks.is_some_and(|(_, all)| all > 3));
            assert!(!lost, "{mark:?}: {:#?}", pieces(&found));
        }
    }
}

#[test]
fn many_headers_of_one_index_take_no_longer_than_others() {
    let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::LATEST)).unwrap();
    let values: Vec<i64> = (0..4000).collect();
    let lost = file.dataset("lost").shape([2000, 2]).max_shape([None, None]).chunks([1, 2]);
    lost.write(&values).unwrap();
    let mut bytes = headless(file.into_bytes().unwrap(), "lost");
    let header = bytes.windows(4).position(|four| four == b"BTHD").unwrap();
    let header = bytes[header..header + 38].to_vec();
    for _ in 0..5000 {
        bytes.extend(&header);
    }
    let begin = std::time::Instant::now();
    let found = examined(bytes);
    // Headers that share nodes are one index.
    let [piece] = pieces(&found)[..] else { panic!("{:#?}", found.report()) };
    assert_eq!(piece.chunks, Some((2000, 2000)));
    assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
}
