//! Stores of Zarr 3 that are written and read again.

use std::fs;
use std::path::Path;

use sciformats::hdf5_pure::{CreateOptions, Writer};
use sciformats::{File, Limits, Object, Range, Slab};
use sciformats_references::zarr::{Store, StoredArray, WriteOptions, write};

fn sample() -> File {
    let mut writer = Writer::in_memory(&CreateOptions::default()).unwrap();
    let values: Vec<i32> = (0..70).collect();
    writer.dataset("chunked").shape([7, 10]).chunks([3, 4]).deflate(3).write(&values).unwrap();
    writer.dataset("plain").shape([2, 5, 7]).write(&values).unwrap();
    writer.dataset("zeros").shape([9]).chunks([4]).write(&[0u16; 9]).unwrap();
    writer.dataset("one").attribute("units", "K").write_scalar(2.5f64).unwrap();
    File::from_bytes(writer.into_bytes().unwrap()).unwrap()
}

fn stored<'s>(store: &'s Store, path: &str) -> &'s StoredArray {
    let node = store.nodes.iter().find(|node| node.path == path).unwrap();
    node.array.as_ref().unwrap().as_ref().unwrap()
}

fn read(array: &StoredArray, slab: &Slab) -> Vec<u8> {
    let mut out = Vec::new();
    array.read(slab, &Limits::default(), &mut out).unwrap();
    out
}

fn wanted(file: &File, path: &str, slab: &Slab) -> Vec<u8> {
    let mut out = Vec::new();
    file.read(file.resolve(path).unwrap(), slab, &mut out).unwrap();
    out
}

fn files_below(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { files_below(&path) } else { 1 }).sum()
}

#[test]
fn what_is_written_is_read_in_chunks_and_in_shards() {
    let file = sample();
    let whole = WriteOptions::default().with_filter("gzip");
    let shards = whole.clone().with_shards([5, 100]);
    let others = WriteOptions::default().with_filter("none").with_chunks([2, 3]).with_shards([4]);
    for (options, count) in [(&whole, 9), (&shards, 2), (&others, 2)] {
        let folder = tempfile::tempdir().unwrap();
        assert!(write(&file, folder.path(), options).unwrap().is_complete());
        let store = Store::open(folder.path()).unwrap();
        for path in ["/chunked", "/plain", "/zeros", "/one"] {
            let array = stored(&store, path);
            let Object::Array(info) = file.object(path).unwrap() else { panic!("{path}") };
            assert_eq!((&array.info().shape, &array.info().element), (&info.shape, &info.element), "{path}");
            let all = array.all().unwrap();
            assert_eq!(read(array, &all), wanted(&file, path, &all), "{path} {options:?}");
        }
        for ranges in [
            vec![Range::new(1, 5), Range::new(3, 4)],
            vec![Range::new(0, 3).by(3), Range::new(1, 4).by(2)],
            vec![Range::new(6, 1), Range::new(9, 1)],
            vec![Range::new(2, 0), Range::new(0, 10)],
        ] {
            let slab = Slab::new(&[7, 10], ranges).unwrap();
            let array = stored(&store, "/chunked");
            assert_eq!(read(array, &slab), wanted(&file, "/chunked", &slab), "{slab:?} {options:?}");
        }
        assert_eq!(files_below(&folder.path().join("chunked/c")), count, "{options:?}");
        assert!(!folder.path().join("zeros/c").exists(), "chunks of zeros are missing");
        let one = store.nodes.iter().find(|node| node.path == "/one").unwrap();
        assert_eq!(one.attributes["units"], "K");
    }
}

#[test]
fn of_a_shard_only_the_wanted_chunk_is_read() {
    let mut writer = Writer::in_memory(&CreateOptions::default()).unwrap();
    let values: Vec<u8> = (0..1u64 << 18).map(|n| (n * n / 7) as u8 | 1).collect();
    writer.dataset("long").shape([1 << 18]).chunks([1 << 12]).write(&values).unwrap();
    let file = File::from_bytes(writer.into_bytes().unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = WriteOptions::default().with_filter("none").with_shards([1 << 18]);
    assert!(write(&file, folder.path(), &options).unwrap().is_complete());
    let shard = folder.path().join("long/c/0");
    assert!(fs::metadata(&shard).unwrap().len() > 1 << 18);
    let store = Store::open(folder.path()).unwrap();
    let array = stored(&store, "/long");
    let little = Limits::default().with_memory(1 << 16);
    for start in [0, 5 << 12, 63 << 12] {
        let slab = Slab::new(&[1 << 18], [Range::new(start, 100)]).unwrap();
        let mut out = Vec::new();
        array.read(&slab, &little, &mut out).unwrap();
        assert_eq!(out, wanted(&file, "/long", &slab));
    }
    // A chunk that the index puts beyond the end is an error.
    let bytes = fs::read(&shard).unwrap();
    fs::write(&shard, &bytes[1 << 17..]).unwrap();
    let store = Store::open(folder.path()).unwrap();
    let slab = Slab::new(&[1 << 18], [Range::new(63 << 12, 100)]).unwrap();
    let error = stored(&store, "/long").read(&slab, &little, &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("outside of the shard"), "{error}");
}

#[test]
fn damaged_stores_are_refused_and_never_read_beyond_their_bytes() {
    let file = sample();
    let folder = tempfile::tempdir().unwrap();
    write(&file, folder.path(), &WriteOptions::default().with_filter("gzip").with_shards([100, 100]))
        .unwrap();
    let place = folder.path().join("chunked/c/0/0");
    let original = fs::read(&place).unwrap();
    for at in 0..original.len() {
        let mut bytes = original.clone();
        bytes[at] ^= 0x41;
        fs::write(&place, &bytes).unwrap();
        let store = Store::open(folder.path()).unwrap();
        let array = stored(&store, "/chunked");
        let mut out = Vec::new();
        // The index has a checksum, and gzip has one for each chunk; some bytes of its header mean nothing.
        if array.read(&array.all().unwrap(), &Limits::default(), &mut out).is_ok() {
            assert_eq!(out, wanted(&file, "/chunked", &array.all().unwrap()), "byte {at}");
        }
    }
    for len in 0..original.len() {
        fs::write(&place, &original[..len]).unwrap();
        let store = Store::open(folder.path()).unwrap();
        let array = stored(&store, "/chunked");
        assert!(
            array.read(&array.all().unwrap(), &Limits::default(), &mut Vec::new()).is_err(),
            "{len} bytes"
        );
    }
    // Metadata.
    let place = folder.path().join("chunked/zarr.json");
    let text = fs::read_to_string(&place).unwrap();
    for (from, to) in [
        ("\"gzip\"", "\"lzma\""),
        ("\"int32\"", "\"int33\""),
        ("\"regular\"", "\"rectilinear\""),
        ("\"attributes\"", "\"unknown\": 1, \"attributes\""),
        ("\"fill_value\": 0", "\"fill_value\": \"x\""),
    ] {
        assert!(text.contains(from), "{from} in {text}");
        fs::write(&place, text.replacen(from, to, 1)).unwrap();
        let store = Store::open(folder.path()).unwrap();
        let node = store.nodes.iter().find(|node| node.path == "/chunked").unwrap();
        assert!(node.array.as_ref().unwrap().is_err(), "{to}");
    }
    // A shape that nobody could hold is no reason to allocate it.
    let huge = text.replacen("7,\n    10", "4611686018427387904,\n    10", 1);
    assert_ne!(huge, text);
    fs::write(&place, huge).unwrap();
    let store = Store::open(folder.path()).unwrap();
    let array = stored(&store, "/chunked");
    if let Ok(all) = array.all() {
        assert!(array.read(&all, &Limits::default(), &mut Vec::new()).is_err());
    }
    fs::write(folder.path().join("zarr.json"), "[1").unwrap();
    assert!(Store::open(folder.path()).is_err());
    assert!(Store::open(folder.path().join("nothing")).is_err());
}

#[test]
fn chunks_of_blosc_are_read_and_damaged_ones_never_beyond_their_bytes() {
    use std::io::Read;

    use sciformats::cframe::{self, Filter, Params};

    let file = sample();
    let folder = tempfile::tempdir().unwrap();
    write(&file, folder.path(), &WriteOptions::default().with_filter("gzip")).unwrap();
    let array = folder.path().join("chunked");
    let metadata = fs::read_to_string(array.join("zarr.json")).unwrap();
    fs::write(array.join("zarr.json"), metadata.replacen("\"gzip\"", "\"blosc\"", 1)).unwrap();
    let mut places = Vec::new();
    for row in fs::read_dir(array.join("c")).unwrap() {
        places.extend(fs::read_dir(row.unwrap().path()).unwrap().map(|entry| entry.unwrap().path()));
    }
    assert_eq!(places.len(), 9);
    for place in &places {
        let stored = fs::read(place).unwrap();
        let mut values = Vec::new();
        flate2::read::GzDecoder::new(stored.as_slice()).read_to_end(&mut values).unwrap();
        let params = Params::new(4).with_filters(&[Filter::SHUFFLE]).unwrap().with_blosc1();
        fs::write(place, cframe::compress(&values, &params).unwrap()).unwrap();
    }
    let read_all = || {
        let store = Store::open(folder.path()).unwrap();
        let array = stored(&store, "/chunked");
        let (all, mut out) = (array.all().unwrap(), Vec::new());
        array.read(&all, &Limits::default(), &mut out).map(|()| out)
    };
    let all = Slab::all(&[7, 10]).unwrap();
    let right = wanted(&file, "/chunked", &all);
    assert_eq!(read_all().unwrap(), right);
    let original = fs::read(&places[0]).unwrap();
    for at in 0..original.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut damaged = original.clone();
            damaged[at] ^= change;
            fs::write(&places[0], damaged).unwrap();
            // Blosc has no checksum: values may differ, their number may not.
            if let Ok(found) = read_all() {
                assert_eq!(found.len(), right.len(), "byte {at}");
            }
        }
        fs::write(&places[0], &original[..at]).unwrap();
        assert!(read_all().is_err(), "{at} bytes");
    }
}

#[test]
fn texts_that_are_not_utf8_are_refused_by_name() {
    let mut writer = Writer::in_memory(&CreateOptions::default()).unwrap();
    writer.dataset("names").write(&["Altair", "Deneb"]).unwrap();
    writer.dataset("more").write(&["Vega"]).unwrap();
    let mut bytes = writer.into_bytes().unwrap();
    let at = bytes.windows(6).position(|part| part == b"Altair").unwrap();
    bytes[at] = 0xff;
    let folder = tempfile::tempdir().unwrap();
    let report = write(&File::from_bytes(bytes).unwrap(), folder.path(), &WriteOptions::default()).unwrap();
    let told: Vec<_> =
        report.entries.iter().map(|entry| (entry.path.as_str(), entry.treatment.word())).collect();
    assert_eq!(told, [("/more", "referenced"), ("/names", "refused")]);
    let store = Store::open(folder.path()).unwrap();
    assert!(store.nodes.iter().all(|node| node.path != "/names"));
}
