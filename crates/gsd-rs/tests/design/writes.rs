//! Writes by one or several writers.

use sciformats_core::commit::kill;

use super::*;

#[test]
fn write_a_single_data_chunk_from_multiple_processes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ranks.gsd");
    let mut writer = Writer::create(&path, &options()).unwrap();
    writer.write("before", 1, &[1u8]).unwrap();
    let region = writer.reserve::<f64>("position", 400, 3).unwrap();
    writer.write("after", 1, &[2u8]).unwrap();
    let children: Vec<_> = (0..4)
        .map(|part| {
            let Region { location, n, m, .. } = region;
            let numbers = [part, location, n, u64::from(m)].map(|number| number.to_string());
            Command::new(kill::example("fills_a_part").unwrap()).arg(&path).args(numbers).output()
        })
        .collect();
    assert!(children.into_iter().all(|child| child.unwrap().status.success()));
    writer.end_frame().unwrap();
    writer.finish().unwrap();
    let reader = Reader::open(&path).unwrap();
    let chunk = reader.find(0, "position").unwrap().unwrap();
    assert_eq!(read::<f64>(&reader, &chunk), (0..1200).map(f64::from).collect::<Vec<_>>());
    assert_eq!(read::<u8>(&reader, &reader.find(0, "after").unwrap().unwrap()), [2]);
}

#[test]
fn write_a_single_data_chunk_from_multiple_threads() {
    let dir = tempfile::tempdir().unwrap();
    let path = &dir.path().join("threads.gsd");
    let mut writer = Writer::create(path, &options()).unwrap();
    for frame in 0..5u64 {
        let region = writer.reserve::<u64>("position", 800, 3).unwrap();
        std::thread::scope(|scope| {
            for part in 0..8 {
                scope.spawn(move || {
                    let values: Vec<u64> = (300 * part..300 * (part + 1)).map(|i| i + frame).collect();
                    RegionWriter::open(path, region).unwrap().write(100 * part, &values).unwrap();
                });
            }
        });
        writer.end_frame().unwrap();
        writer.flush().unwrap();
    }
    writer.finish().unwrap();
    let reader = Reader::open(path).unwrap();
    for frame in 0..5 {
        let chunk = reader.find(frame, "position").unwrap().unwrap();
        assert_eq!(read::<u64>(&reader, &chunk), (frame..2400 + frame).collect::<Vec<_>>());
    }
}

#[test]
fn write_data_to_named_chunk_in_the_current_frame() {
    let mut writer = Writer::create_in(Vec::new(), &options()).unwrap();
    writer.write("a", 3, &[1i16, 2, 3, 4, 5, 6]).unwrap();
    writer.end_frame().unwrap();
    writer.write("b", 1, &[0.5f32]).unwrap();
    writer.write("a", 1, &[7i16]).unwrap();
    writer.end_frame().unwrap();
    let reader = Reader::from_bytes(writer.into_bytes().unwrap()).unwrap();
    let of = |frame, name| {
        let chunk = reader.find(frame, name).unwrap()?;
        Some((chunk.n, chunk.m, read::<i16>(&reader, &chunk)))
    };
    assert_eq!(of(0, "a"), Some((2, 3, vec![1, 2, 3, 4, 5, 6])));
    assert_eq!(of(1, "a"), Some((1, 1, vec![7])));
    assert!(reader.find(0, "b").unwrap().is_none());
    assert_eq!(read::<f32>(&reader, &reader.find(1, "b").unwrap().unwrap()), [0.5]);
}

#[test]
fn a_region_keeps_to_itself() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("region.gsd");
    let mut writer = Writer::create(&path, &options()).unwrap();
    let region = writer.reserve::<u16>("a", 4, 2).unwrap();
    let mut part = RegionWriter::open(&path, region).unwrap();
    assert!(part.write(0, &[0u16; 3]).is_err());
    assert!(part.write(3, &[0u16; 4]).is_err());
    assert!(part.write(u64::MAX, &[0u16; 2]).is_err());
    assert!(part.write(0, &[0i16; 2]).is_err());
    assert!(part.write(3, &[9u16; 2]).is_ok());
    // Nothing of the frame is visible before it is committed.
    assert_eq!(Reader::open(&path).unwrap().frames(), 0);
    writer.end_frame().unwrap();
    writer.finish().unwrap();
    let reader = Reader::open(&path).unwrap();
    assert_eq!(read::<u16>(&reader, &reader.find(0, "a").unwrap().unwrap()), [0, 0, 0, 0, 0, 0, 9, 9]);
}

#[test]
fn end_frame_and_commit_to_disk() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("commit.gsd");
    let mut writer = Writer::create(&path, &options()).unwrap();
    let frames = || Reader::open(&path).unwrap().frames();
    writer.write("a", 1, &[1u8]).unwrap();
    writer.flush().unwrap();
    assert_eq!(frames(), 0);
    writer.end_frame().unwrap();
    assert_eq!((frames(), writer.frames(), writer.committed()), (0, 1, 0));
    writer.write("a", 1, &[2u8]).unwrap();
    writer.flush().unwrap();
    assert_eq!((frames(), writer.committed()), (1, 1));
    writer.end_frame().unwrap();
    drop(writer);
    assert_eq!(frames(), 2);
    let mut writer = Writer::append_to(&path).unwrap();
    writer.write("a", 1, &[3u8]).unwrap();
    assert_eq!(writer.finish().unwrap_err().to_string(), "frame has been begun, but was not ended");
    assert_eq!(frames(), 2);
}

#[test]
fn what_a_frame_cannot_hold_is_refused() {
    let mut writer = Writer::create_in(Vec::new(), &options()).unwrap();
    let mut refused =
        |name: &str, columns, values: &[u8]| writer.write(name, columns, values).unwrap_err().to_string();
    assert_eq!(refused("a", 0, &[]), "columns must not be 0");
    assert_eq!(refused("a", 2, &[1]), "values are 1 in number, which is not a multiple of the 2 columns");
    assert_eq!(refused("", 1, &[1]), "chunk name is empty");
    assert_eq!(refused("a\0b", 1, &[1]), r#"chunk name "a\0b" contains a NUL"#);
    writer.write("a", 1, &[1u8]).unwrap();
    let error = writer.write("a", 1, &[1u8]).unwrap_err();
    assert_eq!(error.to_string(), r#"chunk name "a" is already in frame 0"#);
    writer.discard_frame();
    writer.write("a", 1, &[2u8]).unwrap();
    writer.end_frame().unwrap();
    writer.write("a", 1, &[3u8]).unwrap();
    writer.end_frame().unwrap();
    let reader = Reader::from_bytes(writer.into_bytes().unwrap()).unwrap();
    let values: Vec<u8> = reader.history("a").map(|chunk| read::<u8>(&reader, &chunk.unwrap())[0]).collect();
    assert_eq!(values, [2, 3]);
}

#[test]
fn one_writer_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lock.gsd");
    let writer = Writer::create(&path, &options()).unwrap();
    assert!(matches!(Writer::append_to(&path), Err(Error::Conflict { .. })));
    assert!(matches!(Writer::overwrite(&path, &options()), Err(Error::Conflict { .. })));
    assert!(matches!(Writer::create(&path, &options()), Err(Error::Io { .. })));
    writer.finish().unwrap();
    let mut writer = Writer::overwrite(&path, &CreateOptions::new("b", "c", Version::new(3, 4))).unwrap();
    writer.write("x", 1, &[1u8]).unwrap();
    writer.end_frame().unwrap();
    writer.finish().unwrap();
    let reader = Reader::open(&path).unwrap();
    assert_eq!((reader.frames(), reader.header().application.to_text()), (1, "b".into()));
    assert_eq!(reader.header().schema_version, Version::new(3, 4));
}
