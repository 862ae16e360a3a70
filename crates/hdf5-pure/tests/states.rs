//! Passes values that a file cannot hold. They must be refused at once, without being written in full or in part.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, too, fail by panicking")]

use std::path::Path;

use hdf5_pure::filters::Filters;
use hdf5_pure::options::Bound;
use hdf5_pure::{ChunkIndex, CreateOptions, DatasetBuilder, Datatype, Editor, Error, File, Result, Writer};

/// Fails unless the result is a usage error whose text contains `problem`.
#[track_caller]
fn refused<T>(result: Result<T>, problem: &str) {
    let Err(error) = result else { panic!("it is not refused: {problem}") };
    assert!(matches!(error, Error::Usage { .. }), "{error}");
    assert!(error.to_string().contains(problem), "{error}");
}

fn folder() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weather.h5");
    (folder, path)
}

/// Edits an existing file, which must stay unchanged.
fn unchanged(path: &Path, edit: impl FnOnce(&mut Editor) -> Result<()>, problem: &str) {
    let before = std::fs::read(path).unwrap();
    let mut file = Editor::open(path).unwrap();
    let done = edit(&mut file).and_then(|()| file.commit());
    refused(done, problem);
    drop(file);
    assert!(std::fs::read(path).unwrap() == before, "{problem}");
}

#[test]
fn as_many_filters_as_are_read_and_no_more() {
    let filters = |n: usize| (0..n).fold(Filters::new(), |filters, _| filters.shuffle());
    for bound in [Bound::Earliest, Bound::LATEST] {
        let (_folder, path) = folder();
        let mut file = Writer::create_with(&path, &CreateOptions::default().with_bound(bound)).unwrap();
        file.dataset("most").chunks([4]).filters(filters(32)).write(&[1u16, 2, 3, 4]).unwrap();
        refused(
            file.dataset("more").chunks([4]).filters(filters(33)).write(&[1u16, 2, 3, 4]),
            "filters are 33, but a dataset has at most 32",
        );
        file.finish().unwrap();
        let file = File::open(&path).unwrap();
        assert_eq!(file.dataset("most").unwrap().read::<u16>().unwrap(), [1, 2, 3, 4]);
        assert_eq!(file.dataset("most").unwrap().filters().unwrap().filters.len(), 32);
        assert!(file.dataset("more").is_err());
        drop(file);
        let more = |file: &mut Editor| {
            file.dataset("more").chunks([4]).filters(filters(33)).write(&[1u16, 2, 3, 4]).map(drop)
        };
        unchanged(&path, more, "filters are 33");
    }
}

#[test]
fn a_filtered_chunk_that_its_index_does_not_count() {
    // The index has two bytes for the sizes of chunks of 4 bytes.
    for (len, fits) in [(65_535, true), (65_536, false), (70_000, false)] {
        for grows in [false, true] {
            let (_folder, path) = folder();
            let mut file = Writer::create(&path).unwrap();
            let dataset = file.dataset("counts").shape([8]).chunks([4]).filters(Filters::new().lzf());
            let dataset = if grows { dataset.max_shape([None]) } else { dataset };
            let put = dataset.create::<u8>().unwrap().write_chunk(&[0], 0, &vec![7; len]).map(drop);
            let done = put.and_then(|()| file.finish());
            if fits {
                done.unwrap();
                let file = File::open(&path).unwrap();
                let chunks = file.dataset("counts").unwrap().chunks().unwrap();
                assert_eq!(chunks[0].as_ref().unwrap().size, len as u64);
            } else {
                refused(done, "bytes after filtering");
                assert!(!path.exists());
            }
        }
    }
    // The index of a dataset that exists already is known when the chunk is written.
    for (bound, fits) in [(Bound::V18, true), (Bound::V110, false)] {
        let (_folder, path) = folder();
        let mut file = Writer::create_with(&path, &CreateOptions::default().with_bound(bound)).unwrap();
        file.dataset("counts").shape([8]).chunks([4]).filters(Filters::new().lzf()).write(&[1u8; 8]).unwrap();
        file.finish().unwrap();
        let before = std::fs::read(&path).unwrap();
        let mut file = Editor::open(&path).unwrap();
        let put = file.open_dataset("counts").unwrap().write_chunk(&[0], 0, &vec![7; 70_000]).map(drop);
        if fits {
            put.unwrap();
            file.commit().unwrap();
            let size =
                File::open(&path).unwrap().dataset("counts").unwrap().chunk_at(&[0]).unwrap().unwrap().size;
            assert_eq!(size, 70_000);
        } else {
            refused(put, "does not fit into the index");
            drop(file);
            assert_eq!(std::fs::read(&path).unwrap(), before);
        }
    }
    // Version 1 B-trees have four bytes for the size.
    let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::V18)).unwrap();
    let dataset = file.dataset("counts").shape([8]).chunks([4]).filters(Filters::new().lzf());
    dataset.create::<u8>().unwrap().write_chunk(&[0], 0, &vec![7; 70_000]).unwrap();
    file.into_bytes().unwrap();
}

#[test]
fn more_attributes_than_their_order_counts() {
    let options = CreateOptions::default().with_track_order(true);
    let (_folder, path) = folder();
    let mut file = Writer::create_with(&path, &options).unwrap();
    for number in 0..65_535u32 {
        file.root().attribute(&number.to_string(), 0u8).unwrap();
    }
    file.finish().unwrap();
    assert_eq!(File::open(&path).unwrap().root().unwrap().attributes().unwrap().len(), 65_535);
    unchanged(&path, |file| file.root().attribute("one more", 0u8).map(drop), "attributes");
    // What came before is not lost.
    let mut file = Writer::overwrite_with(&path, &options).unwrap();
    for number in 0..65_535u32 {
        file.root().attribute(&number.to_string(), 1u8).unwrap();
    }
    refused(file.root().attribute("one more", 1u8), "more attributes than creation order numbers");
    file.root().attribute("0", 2u8).unwrap();
    file.finish().unwrap();
    let mut file = Editor::open(&path).unwrap();
    refused(file.root().attribute("one more", 1u8), "more attributes than creation order numbers");
    file.root().attribute("1", 3u8).unwrap();
    file.commit().unwrap();
    let file = File::open(&path).unwrap();
    assert_eq!(file.root().unwrap().attributes().unwrap().len(), 65_535);
    let of = |name| file.root().unwrap().attribute(name).unwrap().read::<u8>().unwrap();
    assert_eq!((of("0"), of("1"), of("2")), (vec![2], vec![3], vec![1]));
}

#[test]
fn more_attributes_than_an_old_header_counts() {
    let options = CreateOptions::default().with_bound(Bound::Earliest);
    let (_folder, path) = folder();
    let mut file = Writer::create_with(&path, &options).unwrap();
    let most = (0..70_000u32).find(|n| file.root().attribute(&n.to_string(), 0u8).is_err()).unwrap();
    assert!(most >= 64_000);
    refused(file.root().attribute("one more", 1u8), "its header of version 1 holds");
    // A header of version 2 has room for all.
    let days = file.group("days").unwrap().id();
    let mut properties =
        File::from_bytes(Writer::in_memory(&CreateOptions::default()).unwrap().into_bytes().unwrap())
            .and_then(|file| file.creation_properties(file.root()?.address()))
            .unwrap();
    file.creation_properties(days, &properties).unwrap();
    for number in 0..70_000u32 {
        file.attribute(days, &number.to_string(), 1u8).unwrap();
    }
    properties.header_version = 1;
    refused(file.creation_properties(days, &properties), "its header of version 1 holds");
    file.finish().unwrap();
    let count =
        |path: &str, file: &Path| File::open(file).unwrap().group(path).unwrap().attributes().unwrap().len();
    assert_eq!((count("/", &path), count("days", &path)), (most as usize, 70_000));
    let mut file = Editor::open(&path).unwrap();
    refused(file.root().attribute("one more", 1u8), "its header of version 1 holds");
    file.root().attribute("0", 3u8).unwrap();
    file.commit().unwrap();
    assert_eq!(count("/", &path), most as usize);
}

#[test]
fn datatypes_that_no_field_holds() {
    let names: Vec<String> = (0..65_536).map(|n| n.to_string()).collect();
    let members = |n: usize| names.iter().take(n).map(|name| (name.as_str(), 0i64)).collect::<Vec<_>>();
    let byte = Datatype::unsigned(1);
    let types = [
        (Datatype::enumeration(&byte, members(65_536)).unwrap(), "65,535"),
        (Datatype::compound([("a", Datatype::opaque(u32::MAX, "")), ("b", byte.clone())]), "4 GiB"),
        (Datatype::array(&[1 << 16, 1 << 16], &byte), "4 GiB"),
        (Datatype::array(&[1; 33], &byte), "32"),
        (Datatype::signed(10_000), "precision"),
        (Datatype::bits(10_000), "precision"),
        (Datatype::time(10_000), "precision"),
        (Datatype::signed(0), "0 bytes"),
    ];
    let (_folder, path) = folder();
    let mut file = Writer::create(&path).unwrap();
    file.root().attribute("title", "a week in May").unwrap();
    file.finish().unwrap();
    for (datatype, problem) in types {
        let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
        refused(file.dataset("x").datatype(datatype.clone()).shape([0]).write_raw(&[]), problem);
        let attribute = |file: &mut Editor| {
            file.root().attribute("x", hdf5_pure::values::Empty(datatype.clone())).map(drop)
        };
        unchanged(&path, attribute, problem);
    }
    assert!(Datatype::enumeration(&Datatype::signed(0), [("a", 0)]).is_err());
}

#[test]
fn names_and_values_that_no_field_holds() {
    let long = "x".repeat(65_536);
    let (_folder, path) = folder();
    let mut file = Writer::create(&path).unwrap();
    file.dataset("t").write(&[281.5]).unwrap();
    file.finish().unwrap();
    unchanged(&path, |file| file.root().attribute(&long, 1u8).map(drop), "64 KiB");
    unchanged(&path, |file| file.root().soft_link("a", &long).map(drop), "too long");
    unchanged(&path, |file| file.root().external_link("a", "b.h5", &long).map(drop), "too long");
    unchanged(&path, |file| file.root().user_link("a", 70, long.as_bytes()).map(drop), "64 KiB");
    let named = |file: &mut Editor| {
        file.root().attribute("unit", "K").map(drop)?;
        file.root().rename_attribute("unit", &long).map(drop)
    };
    unchanged(&path, named, "too long");
}

#[test]
fn chunks_of_4_gib_that_a_filter_does_not_count() {
    let newest = CreateOptions::default().with_bound(Bound::V200);
    let mut file = Writer::in_memory(&newest).unwrap();
    let large = file.dataset("large").shape([1 << 30]).chunks([1 << 29]).filters(Filters::new().lzf());
    refused(large.create::<f64>(), "4 GiB");
    // With an older bound such chunks are refused as well.
    let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
    refused(file.dataset("large").shape([1 << 30]).chunks([1 << 29]).create::<f64>(), "4 GiB");
}

#[test]
fn options_that_would_have_no_effect() {
    let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
    fn indexed(file: &mut Writer) -> DatasetBuilder<'_> {
        file.dataset("x").index(ChunkIndex::Implicit)
    }
    refused(indexed(&mut file).contiguous().write(&[1u8, 2]), "Implicit was asked for");
    refused(indexed(&mut file).compact().write(&[1u8, 2]), "not stored in chunks");
    refused(
        indexed(&mut file).external([("x.raw", 0, None::<u64>)]).write(&[1u8, 2]),
        "not stored in chunks",
    );
    refused(indexed(&mut file).virtual_layout().write(&[1u8, 2]), "not stored in chunks");
    refused(file.dataset("x").index(ChunkIndex::Single).write_scalar(1u8), "not stored in chunks");

    let byte = Datatype::unsigned(1);
    let grows = file.dataset("x").datatype(byte.clone()).max_shape([None]);
    refused(grows.create_encoded(), "maximum shape was given for a dataset without dimensions");
    refused(file.dataset("x").datatype(byte.clone()).unlimited().create_encoded(), "maximum shape");
    refused(file.dataset("x").datatype(byte.clone()).unlimited().write_null(), "maximum shape");
    refused(file.dataset("x").datatype(byte.clone()).shape([2]).write_null(), "null dataspace");
    file.dataset("x").datatype(byte).max_shape(Vec::new()).create_encoded().unwrap();

    // The file stores this number for a dimension without a limit.
    refused(file.dataset("y").shape([1]).max_shape([Some(u64::MAX)]).create::<u8>(), "without a limit");
    file.into_bytes().unwrap();
}

#[test]
fn shapes_that_the_lengths_of_the_file_cannot_express() {
    for name in ["narrow-earliest.h5", "narrow-latest.h5"] {
        let (_folder, path) = folder();
        std::fs::copy(format!("{}/../../fixtures/hdf5/{name}", env!("CARGO_MANIFEST_DIR")), &path).unwrap();
        let mut file = Editor::open(&path).unwrap();
        file.dataset("rows").shape([0]).unlimited().chunks([4]).write(&[0u8; 0]).unwrap();
        let wide = |file: &mut Editor, most: Option<u64>| {
            let new = file.dataset("wide").shape([1 << 33]).max_shape([most]).chunks([1 << 20]);
            new.create::<u8>().map(drop)
        };
        refused(wide(&mut file, None), "lengths in 4 bytes");
        refused(wide(&mut file, Some(1 << 34)), "lengths in 4 bytes");
        let large = file.dataset("large").shape([1 << 31]);
        refused(large.create::<u64>(), "lengths in 4 bytes");
        let far = file.dataset("far").shape([1]).max_shape([Some(u32::MAX.into())]);
        refused(far.create::<u8>(), "lengths in 4 bytes");
        let mut rows = file.open_dataset("rows").unwrap();
        refused(rows.resize(&[1 << 32]), "lengths in 4 bytes");
        rows.append(&[7u8]).unwrap();
        file.commit().unwrap();
        let file = File::open(&path).unwrap();
        assert_eq!(file.dataset("rows").unwrap().read::<u8>().unwrap(), [7]);
        assert!(file.dataset("wide").is_err() && file.dataset("far").is_err());
    }
}
