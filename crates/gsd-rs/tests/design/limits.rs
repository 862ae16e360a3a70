//! Limits of the format.

use super::*;

#[test]
fn chunk_names_up_to_63_bytes_before_2_0_and_longer_since() {
    let long = "n".repeat(64);
    let most = "m".repeat(63);
    let mut writer = Writer::create_in(Vec::new(), &options().with_layer(V1)).unwrap();
    assert_eq!(
        writer.write(&long, 1, &[1u8]).unwrap_err().to_string(),
        format!("chunk name {long:?} has 64 bytes, but layers before 2.0 store at most 63")
    );
    assert_eq!(
        writer.write_text("text", "t").unwrap_err().to_string(),
        "element type character needs layer 2.1, but the file has layer 1.0"
    );
    writer.write(&most, 1, &[1u8]).unwrap();
    writer.end_frame().unwrap();
    let reader = Reader::from_bytes(writer.into_bytes().unwrap()).unwrap();
    assert!(reader.find(0, &most).unwrap().is_some());

    let huge = "x".repeat(5000);
    let reader = memory(|writer| {
        writer.write(&huge, 1, &[1u8]).unwrap();
        writer.end_frame().unwrap();
    });
    assert_eq!(reader.find(0, &huge).unwrap().unwrap().name, huge);
}

#[test]
fn as_many_names_as_ids_but_one() {
    for layer in [V1, Version::new(2, 1)] {
        let mut writer = Writer::create_in(Vec::new(), &options().with_layer(layer)).unwrap();
        for i in 0..65_535u32 {
            writer.write(&format!("name {i}"), 1, &[i]).unwrap();
            if i % 1000 == 0 {
                writer.end_frame().unwrap();
                writer.flush().unwrap();
            }
        }
        assert_eq!(
            writer.write("one more", 1, &[0u8]).unwrap_err().to_string(),
            "65536 names exceed the limit of 65535"
        );
        writer.end_frame().unwrap();
        let reader = Reader::from_bytes(writer.into_bytes().unwrap()).unwrap();
        reader.verify().unwrap();
        assert_eq!(reader.names().len(), 65_535);
        let chunk = reader.find(66, "name 65534").unwrap().unwrap();
        assert_eq!((chunk.id, read::<u32>(&reader, &chunk)), (65_534, vec![65_534]));
    }
}

#[test]
fn up_to_65536_names_are_read() {
    // One name more than this library writes: the block of a file without frames, filled by hand.
    let mut file = Writer::create_in(Vec::new(), &options()).unwrap().into_bytes().unwrap();
    let at = file.len() as u64;
    let mut block: Vec<u8> = (0..65_536u32).flat_map(|i| format!("n{i}\0").into_bytes()).collect();
    block.resize(block.len().next_multiple_of(64) + 64, 0);
    file[24..32].copy_from_slice(&at.to_le_bytes());
    file[32..40].copy_from_slice(&(block.len() as u64 / 64).to_le_bytes());
    file.extend(block);
    let reader = Reader::from_bytes(file).unwrap();
    assert_eq!(reader.names().len(), 65_536);
    assert_eq!(reader.name(u16::MAX), Some(&b"n65535"[..]));
}

#[test]
fn application_and_schema_names_up_to_63_bytes() {
    let most = "a".repeat(63);
    let version = Version::new(1, 0);
    let writer = Writer::create_in(Vec::new(), &CreateOptions::new(&most, &most, version)).unwrap();
    let reader = Reader::from_bytes(writer.into_bytes().unwrap()).unwrap();
    assert_eq!(reader.header().application.to_text(), most);
    for bad in ["a".repeat(64), "a\0".into()] {
        for options in [CreateOptions::new(&bad, "s", version), CreateOptions::new("a", &bad, version)] {
            let error = Writer::create_in(Vec::new(), &options).unwrap_err();
            assert!(matches!(error, Error::Usage { .. }), "{error}");
        }
    }
    let old = options().with_layer(Version::new(0, 3));
    assert!(Writer::create_in(Vec::new(), &old).is_err());
}

// On other systems, not every file system leaves out bytes that were never written.
#[cfg(target_os = "linux")]
#[test]
fn chunks_up_to_64_bit_by_32_bit_elements() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sparse.gsd");
    let mut writer = Writer::create(&path, &options()).unwrap();
    // The system stores only the written part of these 8 GiB.
    let tall = writer.reserve::<u16>("tall", (1 << 32) + 3, 1).unwrap();
    RegionWriter::open(&path, tall).unwrap().write((1 << 32) + 1, &[7u16, 8]).unwrap();
    let wide = writer.reserve::<u8>("wide", 1, u32::MAX).unwrap();
    assert!(wide.location > 1 << 33);
    assert!(writer.reserve::<u64>("beyond", u64::MAX, 3).is_err());
    assert!(writer.reserve::<u8>("beyond", 1 << 63, 1).is_err());
    writer.end_frame().unwrap();
    writer.finish().unwrap();
    let reader = Reader::open(&path).unwrap();
    reader.verify().unwrap();
    let chunk = reader.find(0, "tall").unwrap().unwrap();
    assert_eq!(chunk.n, (1 << 32) + 3);
    assert_eq!(reader.read_rows::<u16>(&chunk, (1 << 32)..(1 << 32) + 3).unwrap(), [0, 7, 8].as_slice());
    assert_eq!(reader.find(0, "wide").unwrap().unwrap().m, u32::MAX);
}

#[test]
fn frames_beyond_the_allocated_entries() {
    let reader = memory(|writer| {
        writer.write("a", 1, &[1u8]).unwrap();
        (0..201).for_each(|_| writer.end_frame().unwrap());
        writer.write("a", 1, &[2u8]).unwrap();
        writer.end_frame().unwrap();
        // Empty frames at the end count while the file is open, and leave no trace in it.
        writer.end_frame().unwrap();
        assert_eq!(writer.frames(), 203);
    });
    assert_eq!(reader.frames(), 202);
    assert!(reader.header().index.allocated > 202, "other readers refuse a frame beyond the entries");
    assert_eq!(read::<u8>(&reader, &reader.find(201, "a").unwrap().unwrap()), [2]);
    assert_eq!(reader.chunks(100).count(), 0);
}
