//! Damages files in memory, salvages them, and compares what was saved with what was there.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::expect_used)]

use std::sync::Arc;

use hdf5_pure::options::Bound;
use hdf5_pure::{CreateOptions, File, Writer};
use sciformats_core::ReadAt;
use sciformats_salvage::{Examination, Options, State, examine_storage};

pub(crate) const ROWS: usize = 200;

pub(crate) fn numbers(seed: i64, count: usize) -> Vec<i64> {
    (0..count as i64).map(|i| (i * 2_654_435_761 + seed * 40_503) % 100_003 + 1).collect()
}

/// A file with groups, contiguous elements, and chunks with and without checksums.
pub(crate) fn sample(bound: Bound) -> Vec<u8> {
    let mut file = Writer::in_memory(&CreateOptions::default().with_bound(bound)).unwrap();
    file.root().attribute("title", "sample").unwrap();
    for group in ["a", "b"] {
        file.dataset(&format!("{group}/plain")).attribute("units", "K").write(&numbers(1, ROWS)).unwrap();
        let chunked = file.dataset(&format!("{group}/chunked"));
        chunked.shape([ROWS as u64]).chunks([1]).write(&numbers(2, ROWS)).unwrap();
        let zipped = file.dataset(&format!("{group}/zipped"));
        let filters = hdf5_pure::filters::Filters::default().shuffle().deflate(6);
        zipped.shape([ROWS as u64]).chunks([50]).filters(filters).write(&numbers(3, ROWS)).unwrap();
    }
    file.into_bytes().unwrap()
}

pub(crate) fn examined(bytes: Vec<u8>) -> Examination {
    let storage: Arc<dyn ReadAt> = Arc::new(bytes);
    examine_storage(&storage, &Options::default().with_threads(2)).unwrap()
}

pub(crate) fn expected(path: &str) -> Option<Vec<i64>> {
    let seed = match path.rsplit('/').next()? {
        "plain" => 1,
        "chunked" => 2,
        "zipped" => 3,
        _ => return None,
    };
    Some(numbers(seed, ROWS))
}

/// Writes what was found, and checks every claim. Returns the numbers of complete datasets and of equal elements.
pub(crate) fn check(found: &Examination) -> (usize, usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("saved.h5");
    found.write(&path).unwrap();
    let saved = File::open(&path).unwrap();
    let (mut complete, mut equal) = (0, 0);
    for object in found.report().objects.iter().filter(|object| object.kind == "dataset") {
        let Ok(dataset) = saved.dataset(&object.path) else {
            assert!(
                object.state > State::Unchecked,
                "{} is {:?} and not in the file",
                object.path,
                object.state
            );
            continue;
        };
        let values = dataset.read::<i64>().unwrap();
        // Without a name the contents say which dataset it was.
        let wanted = expected(&object.path).unwrap_or_else(|| {
            (1..=3)
                .map(|seed| numbers(seed, ROWS))
                .max_by_key(|all| all.iter().zip(&values).filter(|(a, b)| a == b).count())
                .unwrap()
        });
        let missing =
            |i: u64| object.missing.iter().any(|(start, count)| start[0] <= i && i < start[0] + count[0]);
        for (i, (value, wanted)) in values.iter().zip(&wanted).enumerate() {
            assert!(value == wanted || missing(i as u64), "{} is wrong at {i}", object.path);
            equal += usize::from(value == wanted);
        }
        complete += usize::from(object.state <= State::Unchecked);
        assert_eq!(object.missing.is_empty(), dataset.attribute("missing").is_err(), "{}", object.path);
    }
    (complete, equal)
}

#[test]
fn a_sound_file_is_sound() {
    for bound in [Bound::Earliest, Bound::LATEST] {
        let found = examined(sample(bound));
        assert!(found.report().is_sound(), "{:#?}", found.report());
        assert_eq!(check(&found), (6, 6 * ROWS));
    }
    let found = examined(sample(Bound::LATEST));
    assert_eq!(
        found.report().objects.iter().find(|object| object.path == "/a/zipped").unwrap().state,
        State::Whole
    );
}

#[test]
fn no_cut_makes_a_wrong_claim() {
    for bound in [Bound::Earliest, Bound::LATEST] {
        let bytes = sample(bound);
        for end in (0..bytes.len()).step_by(997).skip(1) {
            let found = examined(bytes[..end].to_vec());
            assert_eq!(found.report().causes[0].kind, "cut off", "at {end}");
            check(&found);
        }
    }
}

#[test]
fn zeroed_sectors_make_no_wrong_claim_about_checked_elements() {
    for bound in [Bound::Earliest, Bound::LATEST] {
        let bytes = sample(bound);
        for sector in (0..bytes.len() / 512).step_by(3) {
            let mut damaged = bytes.clone();
            damaged[sector * 512..sector * 512 + 512].fill(0);
            let found = examined(damaged);
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("saved.h5");
            found.write(&path).unwrap();
            let saved = File::open(&path).unwrap();
            for object in found.report().objects.iter().filter(|object| object.state == State::Whole) {
                if let Some(wanted) = expected(&object.path) {
                    assert_eq!(
                        saved.dataset(&object.path).unwrap().read::<i64>().unwrap(),
                        wanted,
                        "{}",
                        object.path
                    );
                }
            }
        }
    }
}

#[test]
fn a_flipped_bit_of_a_structure_with_a_checksum_loses_nothing() {
    let bytes = sample(Bound::LATEST);
    let is_start = |at: &usize| {
        [b"\x89HDF", b"OHDR", b"FAHD", b"FADB"].iter().any(|signature| bytes[*at..].starts_with(*signature))
    };
    let starts: Vec<usize> = (0..bytes.len() - 4).filter(is_start).collect();
    assert!(starts.len() > 12, "{starts:?}");
    // The signature of a header, its length, messages; and the other structures behind their signatures.
    for (i, &start) in starts.iter().enumerate() {
        let bytes_of = match &bytes[start..start + 4] {
            b"OHDR" => 0..44,
            b"FAHD" => 6..28,
            b"FADB" => 6..44,
            _ => 0..48,
        };
        for at in bytes_of.step_by(3) {
            let mut damaged = bytes.clone();
            damaged[start + at] ^= 1 << ((at + i) % 8);
            let found = examined(damaged);
            let causes = &found.report().causes;
            let place = format!("byte {at} of the structure at {start}");
            assert!(causes.iter().any(|cause| cause.kind == "changed bytes"), "{place}: {causes:?}");
            assert_eq!(check(&found).0, 6, "{place}: {:#?}", found.report());
        }
    }
}

#[test]
fn a_lost_superblock_is_made_anew() {
    let mut bytes = sample(Bound::LATEST);
    bytes[..48].fill(0xee);
    let found = examined(bytes);
    assert_eq!(found.report().causes[0].kind, "overwritten head");
    assert_eq!(check(&found), (6, 6 * ROWS));
    assert!(found.report().objects.iter().any(|object| object.path == "/b/zipped"));
}

#[test]
fn a_group_without_its_tree_is_made_anew_from_symbols_and_names() {
    let bytes = sample(Bound::Earliest);
    let file = File::from_bytes(bytes.clone()).unwrap();
    let group = file.group("b").unwrap().address();
    let tree = file.structures_of(group).unwrap().into_iter().flatten().next().unwrap();
    let mut damaged = bytes;
    let at = usize::try_from(tree.offset).unwrap();
    damaged[at..at + 24].fill(0);
    let found = examined(damaged);
    let paths: Vec<&str> = found.report().objects.iter().map(|object| object.path.as_str()).collect();
    assert_eq!(check(&found).1, 6 * ROWS, "{paths:?}");
}

#[test]
fn the_map_covers_the_file_and_what_is_missing() {
    let mut bytes = sample(Bound::LATEST);
    let whole = bytes.len() as u64;
    bytes.truncate(bytes.len() / 2);
    let found = examined(bytes);
    let parts = found.report().map.parts();
    assert_eq!((parts[0].0, parts[parts.len() - 1].1), (0, whole));
    assert!(parts.windows(2).all(|two| two[0].1 == two[1].0));
    assert!(found.report().map.svg().contains("missing"));
}

/// Overwrites everything that begins with a signature with zeros.
pub(crate) fn erased(mut bytes: Vec<u8>, signature: &[u8], len: usize) -> (Vec<u8>, usize) {
    let places: Vec<usize> = (0..bytes.len() - 4).filter(|&at| bytes[at..].starts_with(signature)).collect();
    for &at in &places {
        let end = bytes.len().min(at + len);
        bytes[at..end].fill(0);
    }
    (bytes, places.len())
}

fn with_user_block(bound: Bound, len: usize) -> Vec<u8> {
    let options = CreateOptions::default().with_bound(bound).with_user_block(vec![b' '; len]);
    let mut file = Writer::in_memory(&options).unwrap();
    for name in ["a/plain", "b/plain", "plain"] {
        file.dataset(name).write(&numbers(1, ROWS)).unwrap();
    }
    file.dataset("a/chunked").shape([ROWS as u64]).chunks([20]).write(&numbers(2, ROWS)).unwrap();
    file.into_bytes().unwrap()
}

#[test]
fn addresses_count_from_where_the_lost_superblock_was() {
    for bound in [Bound::Earliest, Bound::LATEST] {
        for len in [512, 1024] {
            let mut bytes = with_user_block(bound, len);
            bytes[..len + 48].fill(0);
            let found = examined(bytes);
            assert_eq!(check(&found), (4, 4 * ROWS), "{:#?}", found.report());
        }
    }
}

#[test]
fn bytes_before_the_file_move_no_element() {
    for bound in [Bound::Earliest, Bound::LATEST] {
        for before in [3, 100, 512] {
            let file = with_user_block(bound, if before == 512 { 1024 } else { 0 });
            let found = examined([vec![b'.'; before], file].concat());
            assert_eq!(found.report().causes[0].kind, "bytes before the file");
            assert_eq!(check(&found), (4, 4 * ROWS), "{:#?}", found.report());
        }
    }
}

#[test]
fn elements_whose_place_nothing_tells_are_listed() {
    let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::LATEST)).unwrap();
    file.dataset("plain").write(&numbers(1, ROWS)).unwrap();
    let mut bytes = file.into_bytes().unwrap();
    let headers: Vec<usize> = (0..bytes.len() - 4).filter(|&at| bytes[at..].starts_with(b"OHDR")).collect();
    // Without the header of the root group, no structure names another one.
    bytes[..headers[1]].fill(0);
    let found = examined(bytes);
    check(&found);
    let object = found.report().objects.iter().find(|object| object.kind == "dataset").unwrap();
    assert_eq!((object.state, &object.missing), (State::Partial, &vec![(vec![0], vec![ROWS as u64])]));
    let root = found.report().objects.iter().find(|object| object.path == "/").unwrap();
    assert!(root.state >= State::Partial, "a root group that was made is not whole");
}

#[test]
fn a_superblock_that_leads_astray_is_replaced() {
    let bytes = sample(Bound::Earliest);
    // The address of the driver information, and that of the root group.
    for at in (48..56).chain(64..72) {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            let found = examined(damaged);
            assert_eq!(check(&found), (6, 6 * ROWS), "bit {bit} of byte {at}: {:#?}", found.report());
        }
    }
}

#[test]
fn parts_of_a_virtual_dataset_whose_sources_are_lost_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("virtual.h5");
    let mut file = Writer::create_with(&path, &CreateOptions::default().with_bound(Bound::LATEST)).unwrap();
    file.dataset("there").write(&numbers(1, 100)).unwrap();
    let part = |from: u64| hdf5_pure::Slab::new(&[200], vec![hdf5_pure::Range::new(from, 100)]).unwrap();
    let whole = hdf5_pure::Slab::all(&[100]).unwrap();
    let all = file.dataset("all").shape([200]).map(".", "/there", &whole, &part(0));
    all.map(".", "/nowhere", &whole, &part(100)).create::<i64>().unwrap();
    file.finish().unwrap();
    let found = examined(std::fs::read(&path).unwrap());
    let all = found.report().objects.iter().find(|object| object.path == "/all").unwrap();
    assert_eq!((all.state, &all.missing), (State::Partial, &vec![(vec![100], vec![100])]));
}

#[test]
fn names_are_found_without_their_index() {
    let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::LATEST)).unwrap();
    for i in 0..30 {
        file.dataset(&format!("g/name{i:02}")).write(&numbers(i, 10)).unwrap();
    }
    let (damaged, count) = erased(file.into_bytes().unwrap(), b"BTLF", 4);
    assert_eq!(count, 1);
    let found = examined(damaged);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("saved.h5");
    found.write(&path).unwrap();
    let saved = File::open(&path).unwrap();
    for i in 0..30 {
        let dataset = saved.dataset(&format!("g/name{i:02}")).unwrap();
        assert_eq!(dataset.read::<i64>().unwrap(), numbers(i, 10));
    }
}

#[test]
fn orphans_without_their_attributes_are_saved() {
    let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::LATEST)).unwrap();
    for i in 0..12 {
        // The first attribute makes room for the continuation, which holds it and the second one.
        file.dataset(&format!("x{i}")).attribute("first", "of some length").write(&numbers(i, 10)).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("continued.h5");
    std::fs::write(&path, file.into_bytes().unwrap()).unwrap();
    let mut editor = hdf5_pure::Editor::open(&path).unwrap();
    for i in 0..12 {
        let id = editor.id(&format!("x{i}")).unwrap();
        editor.attribute(id, "a", &numbers(1, 30)[..]).unwrap();
    }
    editor.close().unwrap();
    let (damaged, continued) = erased(std::fs::read(&path).unwrap(), b"OCHK", 12);
    let (damaged, heaps) = erased(damaged, b"FHDB", 4);
    assert!(continued > 0 && heaps == 1, "{continued} {heaps}");
    let found = examined(damaged);
    let output = folder.path().join("saved.h5");
    found.write(&output).unwrap();
    let saved = File::open(&output).unwrap();
    let names =
        saved.group("lost+found").unwrap().links().unwrap().into_iter().map(|link| link.unwrap().name);
    let values: Vec<Vec<i64>> =
        names.map(|name| saved.dataset(&format!("lost+found/{name}")).unwrap().read().unwrap()).collect();
    assert!((0..12).all(|i| values.contains(&numbers(i, 10))), "{continued}");
}

#[test]
fn links_whose_names_are_lost_lead_to_objects_nevertheless() {
    let mut bytes = sample(Bound::Earliest);
    // Two names of the first group are lost, so that they are empty. A group cannot hold either.
    for name in [&b"plain\0"[..], b"zipped\0"] {
        let at = bytes.windows(name.len()).position(|window| window == name).unwrap();
        bytes[at..at + name.len()].fill(0);
    }
    let found = examined(bytes);
    let group = found.report().objects.iter().find(|object| object.path == "/a").unwrap();
    assert_eq!(group.state, State::Partial, "{group:?}");
    assert!(found.report().objects.iter().any(|object| object.path == "/a/chunked"));
    let orphans = found.report().objects.iter().filter(|object| object.path.starts_with("/lost+found/"));
    assert_eq!(orphans.count(), 2);
    assert_eq!(check(&found), (6, 6 * ROWS));
}

#[test]
fn texts_in_sectors_of_zeros_are_missing_and_no_others() {
    let names: Vec<String> = (0..900).map(|i| format!("station {i} {}", "x".repeat(i % 37))).collect();
    let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
    file.dataset("text").write(&["one"]).unwrap();
    file.dataset("names").write(&names).unwrap();
    file.root().attribute("title", "T".repeat(40).as_str()).unwrap();
    file.dataset("numbers").write(&numbers(1, ROWS)).unwrap();
    let mut bytes = file.into_bytes().unwrap();
    let text = b"station 450 ";
    let at = bytes.windows(text.len()).position(|window| window == text).unwrap() / 512 * 512;
    bytes[at..at + 512].fill(0);
    // Zeros alone are no damage.
    let end = bytes.len() - 8;
    bytes.truncate(end);
    let found = examined(bytes);
    let object = found.report().objects.iter().find(|object| object.path == "/names").unwrap();
    assert_eq!(object.state, State::Partial);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("saved.h5");
    found.write(&path).unwrap();
    let saved = File::open(&path).unwrap().dataset("names").unwrap().read::<String>().unwrap();
    let missing =
        |i: u64| object.missing.iter().any(|(start, count)| start[0] <= i && i < start[0] + count[0]);
    let lost = (0..900).filter(|&i| missing(i)).count();
    // Those behind the zeros in the same collection are not found either.
    assert!((5..200).contains(&lost), "{lost} of 900 texts are in 512 bytes: {:?}", object.missing);
    for (i, (saved, name)) in (0..).zip(saved.iter().zip(&names)) {
        assert!(saved == name || missing(i), "{i}: {saved}");
    }
}

#[test]
fn references_to_what_is_lost_are_missing() {
    let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::V110)).unwrap();
    let [kept, lost] = ["kept", "lost"].map(|name| {
        let id = file.dataset(name).write(&numbers(1, 5)).unwrap();
        file.reference(id).unwrap()
    });
    file.dataset("plotted").write(&[kept, lost, lost, kept]).unwrap();
    file.dataset("axis").attribute("scale", &[lost][..]).write(&numbers(2, 5)).unwrap();
    let bytes = file.into_bytes().unwrap();
    let at = File::from_bytes(bytes.clone()).unwrap().dataset("lost").unwrap().address().0 as usize;
    let mut damaged = bytes;
    damaged[at..at + 16].fill(0x55);
    let found = examined(damaged);
    let object = |path: &str| found.report().objects.iter().find(|object| object.path == path).unwrap();
    assert_eq!(object("/plotted").missing, [(vec![1], vec![2])]);
    assert_eq!(object("/plotted").state, State::Partial);
    assert_eq!(object("/axis").state, State::Partial, "{:?}", object("/axis"));
    assert!(object("/axis").reasons.iter().any(|reason| reason.contains("scale")));
}

#[test]
fn nodes_and_heaps_that_all_fit_each_other_take_no_longer_than_others() {
    let mut bytes = sample(Bound::Earliest);
    // A heap with one name, and a symbol table node with one link. Comparing each node with each heap would take minutes.
    let header = bytes.len() as u64;
    for number in 0..16_000u64 {
        let at = bytes.len() as u64;
        bytes.extend(b"HEAP\0\0\0\0");
        bytes.extend([24, 1, at + 32].iter().flat_map(|field: &u64| field.to_le_bytes()));
        bytes.extend(b"\0\0\0\0\0\0\0\0name\0\0\0\0\0\0\0\0\0\0\0\0");
        bytes.extend(b"SNOD\x01\0\x01\0");
        bytes.extend([8, header + number, 0, 0, 0].iter().flat_map(|field| field.to_le_bytes()));
    }
    bytes.resize(bytes.len() + 512, 0x55);
    let found = examined(bytes);
    assert!(found.report().structures.get("local heap").is_some_and(|&count| count > 16_000));
    assert_eq!(check(&found).0, 6);
}

#[test]
fn elements_in_a_header_are_missing_in_sectors_of_zeros() {
    let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::Earliest)).unwrap();
    file.dataset("a/plain").compact().shape([ROWS as u64]).write(&numbers(1, ROWS)).unwrap();
    file.dataset("b/chunked").write(&numbers(2, ROWS)).unwrap();
    let mut bytes = file.into_bytes().unwrap();
    let first = numbers(1, 1)[0].to_le_bytes();
    let at = bytes.windows(8).position(|eight| eight == first).unwrap().next_multiple_of(512);
    bytes[at..at + 512].fill(0);
    bytes.truncate(bytes.len() - 100);
    let found = examined(bytes);
    assert!(check(&found).1 > ROWS);
    let compact = found.report().objects.iter().find(|object| object.path == "/a/plain").unwrap();
    assert_eq!(compact.state, State::Partial);
}
