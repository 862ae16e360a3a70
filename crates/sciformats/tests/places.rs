//! An error of a damaged file names the file, the object, the structure, the field and the offset, in each format.
#![cfg(all(feature = "hdf5", feature = "asdf", feature = "blosc2", feature = "gsd", feature = "rawarray"))]
#![allow(clippy::panic, reason = "helpers of tests may fail like tests")]

use std::fs;
use std::path::{Path, PathBuf};

use sciformats::{Error, Result};

fn hostile(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name)
}

/// What an error says about a damage, apart from the file: the object, the structure, the field, and the offset.
type Damage<'a> = (Option<&'a str>, &'a str, Option<&'a str>, u64);

#[track_caller]
fn names<T>(read: Result<T>, path: &Path, (object, structure, field, offset): Damage<'_>) {
    let Some(error) = read.err() else { panic!("{} can be read", path.display()) };
    let copy = error.clone();
    assert_eq!((copy.path(), copy.object()), (Some(path), object), "{error:#}");
    let Error::Malformed { structure: found, offset: at, fault, .. } = copy else { panic!("{error:#}") };
    assert_eq!((found, fault.field, at), (structure, field, offset), "{error:#}");
    let place = match object {
        Some(object) => format!(" (in {object:?} of {})", path.display()),
        None => format!(" (in {})", path.display()),
    };
    assert_eq!(format!("{error:#}"), format!("{error}{place}"));
}

#[test]
fn a_dataset_of_hdf5() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.h5");
    let mut file = hdf5_pure::Writer::create(&path).unwrap();
    file.dataset("grid/t").shape([4]).chunks([4]).deflate(6).write(&[1.0, 2.0, 3.0, 4.0]).unwrap();
    file.finish().unwrap();
    let stored = {
        let dataset = hdf5_pure::File::open(&path).unwrap().dataset("grid/t").unwrap();
        dataset.chunk_at(&[0]).unwrap().unwrap().address.0
    };
    let mut bytes = fs::read(&path).unwrap();
    bytes[usize::try_from(stored).unwrap()] ^= 0xff;
    fs::write(&path, bytes).unwrap();

    let damage = (Some("/grid/t"), "deflate filter", Some("zlib stream"), stored);
    let file = hdf5_pure::File::open(&path).unwrap();
    names(file.dataset("grid/t").unwrap().read::<f64>(), &path, damage);
    names(file.group("grid").unwrap().dataset("t").unwrap().read::<f64>(), &path, damage);
    let file = sciformats::open(&path).unwrap();
    names(file.array("/grid/t").unwrap().read::<f64>(), &path, damage);
}

#[test]
fn an_array_of_asdf() {
    let path = hostile("asdf/hostile/source.asdf");
    let file = asdf_core::Asdf::open(&path).unwrap();
    let Err(error) = file.array("a") else { panic!("it can be read") };
    let at = error.offset().unwrap();
    names::<()>(Err(error), &path, (Some("a"), "ndarray", Some("source"), at));
    assert!(at > 0 && at < fs::metadata(&path).unwrap().len());
}

#[test]
fn a_frame_of_blosc2() {
    let path = hostile("blosc2/hostile/frame-length.b2frame");
    let damage = (None, "frame header", Some("frame length"), 15);
    names(cframe::Frame::open(&path), &path, damage);
    names(cframe::SChunk::open(&path), &path, damage);
}

#[test]
fn a_chunk_of_gsd() {
    let path = hostile("gsd/hostile/chunk-past-the-end.gsd");
    let reader = gsd_rs::Reader::open(&path).unwrap();
    let read = |chunk: Result<gsd_rs::Chunk<'_>>| {
        let chunk = chunk?;
        reader.read_bytes(&chunk, 0..chunk.n).map(drop)
    };
    let error = reader.all_chunks().find_map(|chunk| read(chunk).err()).unwrap();
    let name = error.object().unwrap_or_default().to_owned();
    assert!(reader.names().any(|known| known == name.as_bytes()), "{error:#}");
    names::<()>(Err(error), &path, (Some(&*name), "index entry", Some("end of the data"), 0x130));
}

#[test]
fn a_rawarray() {
    let path = hostile("rawarray/hostile/bool-of-2.ra");
    let damage = |object| (object, "array", Some("element"), 0x38);
    names(rawarray::Reader::open(&path).unwrap().read::<bool>(), &path, damage(None));
    let path = hostile("rawarray/hostile/size-above-dims.ra");
    names(rawarray::Reader::open(&path), &path, (None, "header", Some("size"), 0x20));
    names(sciformats::open(&path), &path, (None, "header", Some("size"), 0x20));
}

#[test]
fn a_file_of_numpy() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cut.npy");
    let mut bytes = b"\x93NUMPY\x01\0\x76\0".to_vec();
    bytes.extend(format!("{:<117}\n", "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }").bytes());
    bytes.extend([0; 7]);
    fs::write(&path, &bytes).unwrap();
    names(npy::Reader::open(&path), &path, (None, "array", Some("elements"), 128 + 7));
}

#[test]
fn a_file_of_another_format() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("old.nc");
    fs::write(&path, b"CDF\x01\0\0\0\0\0\0\0\0\0\0\0\0").unwrap();
    let refused = [
        sciformats::open(&path).err(),
        hdf5_pure::File::open(&path).err(),
        asdf_core::Asdf::open(&path).err(),
        cframe::Frame::open(&path).err(),
        cframe::Array::open(&path).err(),
        gsd_rs::Reader::open(&path).err(),
        rawarray::Reader::open(&path).err(),
        npy::Reader::open(&path).err(),
    ];
    for error in refused.map(Option::unwrap) {
        let Error::NotThisFormat { found: Some(found), .. } = &error else { panic!("{error:#}") };
        assert_eq!((found.what, error.path()), ("classic netCDF", Some(&*path)), "{error:#}");
    }
    let error = gsd_rs::Reader::open(hostile("rawarray/hostile/data-cut.ra")).unwrap_err();
    assert_eq!(error.to_string(), "the file is not GSD; it is RawArray");
}
