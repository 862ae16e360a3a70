//! Typed reads: which elements are converted because no value changes, and which are not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use gsd_rs::{Conversion, CreateOptions, Error, Number, Reader, Version, Writer};

fn reader() -> Reader {
    let options = CreateOptions::new("tests", "points", Version::new(1, 0));
    let mut writer = Writer::create_in(Vec::new(), &options).unwrap();
    writer.write("counts", 2, &[0i32, 1, 300, -1]).unwrap();
    writer.write("reals", 1, &[0.5f64, 0.1, f64::NAN]).unwrap();
    writer.write_text("note", "ok").unwrap();
    writer.end_frame().unwrap();
    Reader::from_bytes(writer.into_bytes().unwrap()).unwrap()
}

fn read<T: Number>(reader: &Reader, name: &str) -> Result<Vec<T>, Error> {
    Ok(reader.read::<T>(&reader.find(0, name)?.unwrap())?.into_owned())
}

#[track_caller]
fn misfit<T: std::fmt::Debug>(read: Result<T, Error>, shown: &str) {
    assert!(matches!(read, Err(Error::Misfit(_))), "{read:?}");
    assert_eq!(read.unwrap_err().to_string(), shown);
}

#[test]
fn text_that_is_not_utf8_is_an_error_with_its_byte() {
    let options = CreateOptions::new("tests", "points", Version::new(1, 0));
    let mut writer = Writer::create_in(Vec::new(), &options).unwrap();
    writer.write("old", 1, b"caf\xe9 noir\0").unwrap();
    writer.end_frame().unwrap();
    let reader = Reader::from_bytes(writer.into_bytes().unwrap()).unwrap();
    let chunk = reader.find(0, "old").unwrap().unwrap();
    misfit(reader.text(&chunk), r#"element 0 is "caf\xe9 noir", which is not UTF-8 from its byte 3 on"#);
}

#[test]
fn loss_is_an_error_with_index_and_value() {
    let reader = reader();
    misfit(read::<u8>(&reader, "counts"), "element 2 is 300, which u8 cannot hold");
    misfit(read::<u32>(&reader, "counts"), "element 3 is -1, which u32 cannot hold");
    misfit(read::<f32>(&reader, "reals"), "element 1 is 0.1, which f32 cannot hold");
    misfit(read::<i64>(&reader, "reals"), "element 0 is 0.5, which i64 cannot hold");
    let reals = reader.find(0, "reals").unwrap().unwrap();
    misfit(reader.read_rows::<i64>(&reals, 2..3), "element 0 is NaN, which i64 cannot hold");
    assert!(reader.read_rows::<f32>(&reals, 2..3).unwrap()[0].is_nan());
    assert_eq!(read::<f64>(&reader, "counts").unwrap(), [0.0, 1.0, 300.0, -1.0]);
    assert_eq!(read::<i128>(&reader, "counts").unwrap(), [0, 1, 300, -1]);
    let counts = reader.find(0, "counts").unwrap().unwrap();
    assert_eq!(*reader.read_rows::<bool>(&counts, 0..1).unwrap(), [false, true]);
    assert_eq!(read::<u32>(&reader, "note").unwrap(), [111, 107]);
}

#[test]
fn other_conversions_are_asked_for() {
    let lossy = reader().with_conversion(Conversion::Lossy);
    assert_eq!(read::<u8>(&lossy, "counts").unwrap(), [0, 1, 255, 0]);
    assert_eq!(read::<i8>(&lossy, "reals").unwrap(), [0, 0, 0]);
    assert_eq!(read::<f32>(&lossy, "reals").unwrap()[1], 0.1);
    let stored = reader().with_conversion(Conversion::None);
    assert_eq!(read::<i32>(&stored, "counts").unwrap(), [0, 1, 300, -1]);
    assert_eq!(
        (read::<u8>(&stored, "note").unwrap(), read::<i8>(&stored, "note").unwrap()),
        (b"ok".to_vec(), vec![111, 107])
    );
    for refused in [read::<i64>(&stored, "counts").err(), read::<u16>(&stored, "note").err()] {
        assert!(matches!(refused, Some(Error::Usage { argument: "element type", .. })), "{refused:?}");
    }
}

#[test]
fn a_writer_that_continues_names_the_file_that_it_cannot_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.gsd");
    let options = CreateOptions::new("tests", "points", Version::new(1, 0));
    let mut writer = Writer::create(&path, &options).unwrap();
    writer.write("a", 1, &[1.0f32, 2.0]).unwrap();
    writer.end_frame().unwrap();
    writer.finish().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..300]).unwrap();
    let error = Writer::append_to(&path).unwrap_err();
    assert!(matches!(&error, Error::Malformed { .. }), "{error}");
    assert_eq!(error.path(), Some(&*path));
}
