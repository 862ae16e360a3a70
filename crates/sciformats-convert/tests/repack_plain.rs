//! Repacks npy, RawArray and GSD files, and checks that everything that the common tree does not describe stays too.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
#[cfg(any(feature = "gsd", feature = "rawarray"))]
use std::path::PathBuf;
use std::sync::Arc;

#[cfg(feature = "gsd")]
use sciformats_convert::repack::changes;
use sciformats_convert::repack::rewrite;
use sciformats_convert::sink::WriteOptions;

fn repacked(input: &Path, output: &Path, options: &WriteOptions) -> sciformats::Result<()> {
    rewrite(&Arc::new(sciformats::open(input)?), output, options, None)
}

#[cfg(any(feature = "gsd", feature = "rawarray"))]
fn fixtures(format: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(format);
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file() && path.extension().is_some_and(|ending| ending != "toml"));
    files.sort();
    files
}

/// Returns the bytes of a file as NumPy writes it.
fn numpy(header: &str, elements: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    let len = (10 + header.len() + 1).next_multiple_of(64) - 10;
    bytes.extend(u16::try_from(len).unwrap().to_le_bytes());
    bytes.extend(format!("{header:<width$}\n", width = len - 1).bytes());
    bytes.extend(elements);
    bytes
}

#[test]
fn npy_files_stay_byte_for_byte() {
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join("in.npy"), dir.path().join("out.npy"));
    for (descr, fortran, shape, size) in [
        ("'>f8'", "False", "(6,)", 48),
        ("'<f8'", "True", "(3, 4)", 96),
        ("'>i2'", "True", "(3, 4)", 24),
        ("'<M8[D]'", "False", "(2,)", 16),
        ("'<m8[ns]'", "False", "(2,)", 16),
        ("'<f16'", "False", "(3,)", 48),
        ("'<c32'", "False", "(2,)", 64),
        ("'<U7'", "False", "(2,)", 56),
        ("'>U7'", "False", "(2,)", 56),
        ("'|S5'", "False", "(2,)", 10),
        ("[('a', '>i4'), ('b', '|S9'), ('c', '<f4', (2,))]", "False", "(2,)", 42),
        ("[('a', '|i1'), ('', '|V7'), ('b', '<f8')]", "False", "(2,)", 32),
        ("'<f8'", "False", "(0, 3)", 0),
    ] {
        let header = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}");
        let bytes = numpy(&header, &vec![0; size]);
        fs::write(&input, &bytes).unwrap();
        repacked(&input, &output, &WriteOptions::default()).unwrap();
        assert_eq!(fs::read(&output).unwrap(), bytes, "{descr}");
    }
    let zlib = WriteOptions::default().with_filter("zlib");
    assert!(repacked(&input, &output, &zlib).is_err());
}

#[cfg(feature = "rawarray")]
#[test]
fn rawarray_files_stay_byte_for_byte() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.ra");
    let mut whole = 0;
    for path in fixtures("rawarray") {
        let bytes = fs::read(&path).unwrap();
        repacked(&path, &output, &WriteOptions::default()).unwrap();
        let found = fs::read(&output).unwrap();
        let read = |path: &Path| rawarray::Reader::open(path).unwrap();
        let (old, new) = (read(&path), read(&output));
        assert_eq!(old.header(), new.header(), "{}", path.display());
        assert_eq!(old.metadata().unwrap(), new.metadata().unwrap(), "{}", path.display());
        // The journal that an interrupted edit left at the end is not copied.
        let is_cut = path.to_string_lossy().contains("interrupted");
        assert!(is_cut || found == bytes, "{}", path.display());
        whole += usize::from(!is_cut);
    }
    assert!(whole > 30, "{whole}");
}

#[cfg(feature = "rawarray")]
#[test]
fn another_encoding_changes_nothing_else_of_a_rawarray_file() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.ra");
    for (filter, encoding) in [("lz4", rawarray::Encoding::Lz4), ("none", rawarray::Encoding::Raw)] {
        let options = WriteOptions::default().with_filter(filter);
        let mut written = 0;
        for path in fixtures("rawarray") {
            let old = rawarray::Reader::open(&path).unwrap();
            match repacked(&path, &output, &options) {
                Ok(()) => {}
                Err(error) => {
                    assert!(old.element().kind() != old.header().eltype, "{}: {error}", path.display());
                    continue;
                }
            }
            let new = rawarray::Reader::open(&output).unwrap();
            // An array that would not become shorter is stored raw.
            assert!(new.encoding() == encoding || new.encoding() == rawarray::Encoding::Raw);
            assert_eq!(old.element(), new.element(), "{}", path.display());
            assert_eq!(old.byte_order(), new.byte_order(), "{}", path.display());
            assert_eq!(old.dims(), new.dims(), "{}", path.display());
            assert_eq!(old.metadata().unwrap(), new.metadata().unwrap(), "{}", path.display());
            assert_eq!(old.read_bytes().unwrap(), new.read_bytes().unwrap(), "{}", path.display());
            written += 1;
        }
        assert!(written > 30, "{written}");
    }
}

#[cfg(feature = "gsd")]
#[test]
fn gsd_files_keep_their_chunks_and_the_order_of_names() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.gsd");
    for path in fixtures("gsd") {
        repacked(&path, &output, &WriteOptions::default()).unwrap();
        let (old, new) = (gsd_rs::Reader::open(&path).unwrap(), gsd_rs::Reader::open(&output).unwrap());
        assert_eq!(old.frames(), new.frames(), "{}", path.display());
        let headers = (old.header(), new.header());
        assert_eq!(headers.0.application, headers.1.application, "{}", path.display());
        assert_eq!(
            (&headers.0.schema, headers.0.schema_version),
            (&headers.1.schema, headers.1.schema_version)
        );
        let told = changes(
            &sciformats::open(&path).unwrap(),
            &sciformats::open(&output).unwrap(),
            &WriteOptions::default(),
        );
        assert_eq!(told.unwrap().is_empty(), headers.0.version == headers.1.version, "{}", path.display());
        let mut names: Vec<&str> = Vec::new();
        for chunk in old.all_chunks() {
            let chunk = chunk.unwrap();
            if !names.contains(&chunk.name) {
                names.push(chunk.name);
            }
            let other = new.find(chunk.frame, chunk.name).unwrap().unwrap();
            assert_eq!(
                (chunk.element, chunk.n, chunk.m),
                (other.element, other.n, other.m),
                "{}",
                chunk.name
            );
            let bytes =
                |reader: &gsd_rs::Reader, chunk| reader.read_bytes(chunk, 0..chunk.n).unwrap().into_owned();
            assert_eq!(bytes(&old, &chunk), bytes(&new, &other), "{}", chunk.name);
        }
        let found: Vec<&[u8]> = new.names().collect();
        assert_eq!(found, names.iter().map(|name| name.as_bytes()).collect::<Vec<_>>(), "{}", path.display());
        assert_eq!(old.entries(), new.entries(), "{}", path.display());
    }
}

#[cfg(feature = "gsd")]
#[test]
fn gsd_frames_without_chunks_take_no_time() {
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join("in.gsd"), dir.path().join("out.gsd"));
    let options = gsd_rs::CreateOptions::new("test", "steps", gsd_rs::Version::new(1, 0));
    let mut writer = gsd_rs::Writer::create(&input, &options).unwrap();
    writer.write("step", 1, &[0u64]).unwrap();
    writer.end_frames(1 << 40).unwrap();
    writer.write("step", 1, &[1u64]).unwrap();
    writer.end_frame().unwrap();
    writer.finish().unwrap();
    repacked(&input, &output, &WriteOptions::default()).unwrap();
    let (old, new) = (gsd_rs::Reader::open(&input).unwrap(), gsd_rs::Reader::open(&output).unwrap());
    assert_eq!((old.frames(), new.frames()), ((1 << 40) + 1, (1 << 40) + 1));
    let step = new.find(1 << 40, "step").unwrap().unwrap();
    assert_eq!(*new.read::<u64>(&step).unwrap(), [1]);
}

#[cfg(feature = "gsd")]
#[test]
fn files_without_a_path_stay_what_they_are() {
    use sciformats::File;

    let dir = tempfile::tempdir().unwrap();
    let (near, far) = (dir.path().join("near"), dir.path().join("far"));
    let formats = [
        ("gsd", true),
        ("rawarray", cfg!(feature = "rawarray")),
        ("asdf", cfg!(feature = "asdf")),
        ("blosc2", cfg!(feature = "blosc2")),
    ];
    let mut written = 0;
    for path in formats.iter().filter(|(_, is_built)| *is_built).flat_map(|(name, _)| fixtures(name)) {
        let Ok(file) = File::from_bytes(fs::read(&path).unwrap()) else { continue };
        let result = rewrite(&Arc::new(file), &far, &WriteOptions::default(), None);
        // Arrays may be in files beside this one.
        if repacked(&path, &near, &WriteOptions::default()).is_ok() && result.is_ok() {
            assert_eq!(fs::read(&near).unwrap(), fs::read(&far).unwrap(), "{}", path.display());
            written += 1;
        }
    }
    assert!(written >= 30, "{written}");
}
