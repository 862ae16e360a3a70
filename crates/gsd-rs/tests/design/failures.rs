//! Damaged files, and files of interrupted writers.

use super::*;

fn file() -> Vec<u8> {
    let mut writer = Writer::create_in(Vec::new(), &options()).unwrap();
    for frame in 0..3u32 {
        writer.write("a", 1, &[frame; 4]).unwrap();
        writer.write("b", 2, &[frame; 4]).unwrap();
        writer.end_frame().unwrap();
    }
    writer.into_bytes().unwrap()
}

fn damaged(at: usize, bytes: &[u8]) -> Result<Reader, String> {
    let mut file = file();
    file[at..at + bytes.len()].copy_from_slice(bytes);
    Reader::from_bytes(file).map_err(|e| e.to_string())
}

#[track_caller]
fn refused(at: usize, bytes: &[u8], expected: &str) {
    assert_eq!(damaged(at, bytes).unwrap_err(), expected);
}

#[test]
fn the_header_has_a_magic_number() {
    refused(0, &[0], "the file is not GSD");
    let error = Reader::from_bytes(file()[..100].to_vec()).unwrap_err();
    assert_eq!(error.to_string(), "malformed header at offset 0x30: application is truncated");
    assert!(Reader::from_bytes(Vec::<u8>::new()).is_err());
}

#[test]
fn only_known_layers_are_read() {
    let layer = |major: u16, minor: u16| [minor.to_le_bytes(), major.to_le_bytes()].concat();
    refused(44, &layer(3, 0), "GSD file layer 3.0 is not supported (at offset 0x2c)");
    refused(44, &layer(0, 2), "GSD file layer 0.2 is not supported (at offset 0x2c)");
    assert!(damaged(44, &layer(2, 7)).is_ok());
    // In older layers, the packed names of this file are read as one slot with the first name in it.
    assert!(damaged(44, &layer(1, 5)).is_ok());
    assert!(damaged(44, &layer(0, 3)).is_ok());
}

#[test]
fn the_index_block_is_inside_the_file() {
    let size = file().len();
    refused(
        16,
        &1000u64.to_le_bytes(),
        &format!("malformed header at offset 0x8: index block is 32256, out of bounds (end {size})"),
    );
    // Sizes that overflow to a small number.
    for entries in [1u64 << 60, (1 << 59) + 1, u64::MAX] {
        refused(16, &entries.to_le_bytes(), "malformed header at offset 0x8: index block overflows");
    }
    refused(8, &(u64::MAX - 10).to_le_bytes(), "malformed header at offset 0x8: index block overflows");
}

#[test]
fn the_name_list_is_inside_the_file_and_ends_in_a_zero() {
    refused(24, &u64::MAX.to_le_bytes(), "malformed header at offset 0x18: name list block overflows");
    refused(32, &(1u64 << 58).to_le_bytes(), "malformed header at offset 0x18: name list block overflows");
    let size = file().len();
    refused(
        32,
        &100u64.to_le_bytes(),
        &format!("malformed header at offset 0x18: name list block is 10752, out of bounds (end {size})"),
    );
    refused(5375, &[1], "malformed name list at offset 0x14ff: last byte is 1, expected 0");
}

#[test]
fn a_frame_that_was_not_ended_is_not_in_the_file() {
    let mut writer = Writer::append_in(file()).unwrap();
    writer.set_buffer(0);
    writer.write("a", 1, &[9u32; 4]).unwrap();
    writer.write("new", 1, &[9u32; 4]).unwrap();
    writer.flush().unwrap();
    writer.discard_frame();
    let left = writer.into_bytes().unwrap();
    assert!(left.len() > file().len());
    let reader = Reader::from_bytes(left.clone()).unwrap();
    assert_eq!((reader.frames(), reader.entries()), (3, 6));
    reader.verify().unwrap();
    assert_eq!(reader.space().unwrap().unused(), 32);
    let mut writer = Writer::append_in(left).unwrap();
    writer.write("new", 1, &[1u8]).unwrap();
    writer.end_frame().unwrap();
    let reader = Reader::from_bytes(writer.into_bytes().unwrap()).unwrap();
    assert_eq!(read::<u8>(&reader, &reader.find(3, "new").unwrap().unwrap()), [1]);
}

#[test]
fn a_chunk_past_the_end_of_the_file_is_an_error_of_reading_it() {
    let size = file().len();
    // N of the second entry.
    let reader = damaged(256 + 32 + 8, &1000u64.to_le_bytes()).unwrap();
    assert_eq!(read::<u32>(&reader, &reader.find(0, "a").unwrap().unwrap()), [0; 4]);
    let chunk = reader.find(0, "b").unwrap().unwrap();
    let expected = format!(
        "malformed index entry at offset 0x130: end of the data is {}, out of bounds (end {size})",
        chunk.location + 8000
    );
    assert_eq!(reader.read::<u32>(&chunk).unwrap_err().to_string(), expected);
    // Rows that the file has can be read: it may have been cut short.
    assert_eq!(*reader.read_rows::<u32>(&chunk, 0..1).unwrap(), [0; 2]);
    assert_eq!(reader.read_rows::<u32>(&chunk, 999..1000).unwrap_err().to_string(), expected);
    assert_eq!(reader.verify().unwrap_err().to_string(), expected);
}

#[test]
fn sizes_that_overflow_are_errors() {
    let reader = damaged(256 + 32 + 8, &(1u64 << 62).to_le_bytes()).unwrap();
    let chunk = reader.find(0, "b").unwrap().unwrap();
    assert_eq!(chunk.size(), None);
    assert_eq!(
        reader.read::<u32>(&chunk).unwrap_err().to_string(),
        "malformed index entry at offset 0x128: N × M overflows"
    );
    let reader = damaged(256 + 32 + 16, &i64::MAX.to_le_bytes()).unwrap();
    assert!(reader.read::<u32>(&reader.find(0, "b").unwrap().unwrap()).is_err());
}

#[test]
fn damaged_entries_are_errors_with_a_place() {
    let entry = 256 + 32; // the entry of chunk b in frame 0
    let find = |at: usize, bytes: &[u8]| {
        let reader = damaged(entry + at, bytes).unwrap();
        let found = reader.find(0, "b").map_err(|e| e.to_string());
        found.map(|chunk| chunk.map(|c| reader.read::<u32>(&c).unwrap_err().to_string()))
    };
    assert_eq!(
        find(16, &(-5i64).to_le_bytes()).unwrap_err(),
        "malformed index entry at offset 0x130: location is not positive"
    );
    assert_eq!(find(31, &[4]).unwrap_err(), "malformed index entry at offset 0x13f: flags is 4, expected 0");
    assert_eq!(find(30, &[12]).unwrap().unwrap(), "element type 12 is not supported (at offset 0x13e)");
    let reader = damaged(256 + 5 * 32 + 28, &9u16.to_le_bytes()).unwrap();
    assert_eq!(
        reader.verify().unwrap_err().to_string(),
        "malformed index entry at offset 0x1bc: id is 9, out of bounds (end 2)"
    );
    // Frames in the wrong order are found by every reader that encounters them.
    let reader = damaged(256 + 2 * 32, &7u64.to_le_bytes()).unwrap();
    let error = "malformed index entry at offset 0x160: frame is out of order";
    assert_eq!(reader.verify().unwrap_err().to_string(), error);
    assert_eq!(
        damaged(256 + 5 * 32, &u64::MAX.to_le_bytes()).unwrap_err(),
        "malformed index entry at offset 0x1a0: frame overflows"
    );
}

#[test]
fn a_name_that_is_no_text_hides_only_its_own_chunks() {
    let reader = damaged(4352, &[0xFF]).unwrap();
    assert_eq!(reader.names().collect::<Vec<_>>(), [&[0xFF][..], b"b"]);
    let chunks: Vec<_> = reader.chunks(0).map(|chunk| chunk.map_err(|e| e.to_string())).collect();
    assert_eq!(chunks[0], Err("malformed name list at offset 0x1100: name is not valid text".into()));
    assert_eq!(chunks[1].as_ref().unwrap().name, "b");
}

#[test]
fn what_others_left_wrong_is_read_all_the_same() {
    // If a name occurs twice in a frame, the first one in the index is found, and both are listed.
    let reader = damaged(256 + 32 + 28, &[0, 0]).unwrap();
    assert_eq!(reader.chunks(0).count(), 2);
    assert_eq!(reader.find(0, "a").unwrap().unwrap().m, 1);
    // If a name occurs twice in the list, chunks with either id are found.
    let reader = damaged(4354, b"a").unwrap();
    assert_eq!(reader.names().collect::<Vec<_>>(), [b"a", b"a"]);
    assert_eq!(reader.names_with_prefix("").count(), 1);
    assert_eq!(reader.find(1, "a").unwrap().unwrap().id, 0);
    assert_eq!(reader.history("a").count(), 6);
    // A full index, as other programs leave it.
    let reader = damaged(16, &6u64.to_le_bytes()).unwrap();
    assert_eq!(reader.frames(), 3);
}

#[test]
fn an_upgrade_keeps_the_chunks_of_a_name_that_is_stored_twice() {
    let old = Version::new(1, 0);
    let options = CreateOptions::new("tests", "points", old).with_layer(old);
    let mut writer = Writer::create_in(Vec::new(), &options).unwrap();
    for frame in 0..3u8 {
        let name = if frame == 1 { "b" } else { "a" };
        writer.write(name, 1, &[frame]).unwrap();
        writer.write("c", 1, &[frame]).unwrap();
        writer.end_frame().unwrap();
    }
    let mut file = writer.into_bytes().unwrap();
    let slot = file.windows(64).position(|slot| slot[0] == b'b' && slot[1..] == [0; 63]).unwrap();
    file[slot] = b'a';
    let seen = |file: Vec<u8>| {
        let reader = Reader::from_bytes(file).unwrap();
        let chunks: Vec<_> = reader.history("a").map(Result::unwrap).collect();
        let values: Vec<u8> =
            chunks.iter().flat_map(|chunk| reader.read::<u8>(chunk).unwrap().into_owned()).collect();
        let found: Vec<_> = (0..3).map(|frame| reader.find(frame, "a").unwrap().unwrap().id).collect();
        (values, found, reader.names().map(<[u8]>::to_vec).collect::<Vec<_>>())
    };
    let before = seen(file.clone());
    assert_eq!((before.0.len(), before.2.len()), (3, 3));
    let mut writer = Writer::append_in(file).unwrap();
    writer.upgrade().unwrap();
    assert_eq!(seen(writer.into_bytes().unwrap()), before);
}

#[test]
fn remains_behind_the_index_never_become_entries() {
    // After a loss of power, a gap may be followed by bytes of entries that were never committed.
    let mut file = file();
    file[256 + 40 * 32..256 + 41 * 32].fill(0x11);
    let mut writer = Writer::append_in(file).unwrap();
    for _ in 0..2 {
        writer.write("a", 1, &[1u8]).unwrap();
        writer.end_frame().unwrap();
        writer.flush().unwrap();
    }
    let reader = Reader::from_bytes(writer.into_bytes().unwrap()).unwrap();
    assert_eq!((reader.frames(), reader.entries()), (5, 8));
    reader.verify().unwrap();
    // The same can happen after the names.
    let mut file = self::file();
    file[4352 + 20..4352 + 30].fill(b'x');
    let mut writer = Writer::append_in(file).unwrap();
    writer.write("a name of some length", 1, &[1u8]).unwrap();
    writer.end_frame().unwrap();
    let reader = Reader::from_bytes(writer.into_bytes().unwrap()).unwrap();
    assert_eq!(reader.names().collect::<Vec<_>>(), [&b"a"[..], b"b", b"a name of some length"]);
}

#[test]
fn what_is_behind_the_names_stays() {
    let mut file = file();
    file[4352 + 20..4352 + 30].fill(b'x');
    let old = file.clone();
    let mut writer = Writer::append_in(file).unwrap();
    writer.write("c", 1, &[1u8]).unwrap();
    writer.end_frame().unwrap();
    let new = writer.into_bytes().unwrap();
    assert_eq!(new[4352..old.len()], old[4352..]);
    assert_eq!(Reader::from_bytes(new).unwrap().names().collect::<Vec<_>>(), [b"a", b"b", b"c"]);
}

#[test]
fn nothing_is_appended_where_blocks_overlap_or_names_are_lost() {
    let refused = |at: usize, bytes: &[u8]| {
        let mut file = file();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        let error = Writer::append_in(file.clone()).unwrap_err().to_string();
        (error, Reader::from_bytes(file).unwrap().verify().unwrap_err().to_string())
    };
    let overlap = "malformed header at offset 0x18: name list block overlaps the index block";
    for place in [256u64, 256 + 64 * 32] {
        assert_eq!(refused(24, &place.to_le_bytes()), (overlap.into(), overlap.into()));
    }
    let head = "malformed header at offset 0x18: name list block overlaps the header";
    assert_eq!(refused(24, &192u64.to_le_bytes()), (head.into(), head.into()));
    let head = "malformed header at offset 0x8: index block overlaps the header";
    assert_eq!(refused(8, &224u64.to_le_bytes()), (head.into(), head.into()));
    let (appending, verifying) = refused(4352, &[0; 4]);
    assert_eq!(appending, "malformed index entry at offset 0x1bc: id is 1, out of bounds (end 0)");
    assert!(verifying.ends_with("id is 0, out of bounds (end 0)"), "{verifying}");
}

#[test]
fn rows_before_a_cut_can_be_read() {
    let mut writer = Writer::create_in(Vec::new(), &options()).unwrap();
    writer.write("a", 2, &[7u32; 2000]).unwrap();
    writer.end_frame().unwrap();
    let whole = writer.into_bytes().unwrap();
    let reader = Reader::from_bytes(whole.clone()).unwrap();
    let start = usize::try_from(reader.find(0, "a").unwrap().unwrap().location).unwrap();
    // What leads to the data is before it, as in a file that was cut short.
    let cut = whole[..start + 8 * 600].to_vec();
    if let Ok(reader) = Reader::from_bytes(cut) {
        let chunk = reader.find(0, "a").unwrap().unwrap();
        assert_eq!(*reader.read_rows::<u32>(&chunk, 0..600).unwrap(), [7; 1200]);
        assert!(reader.read_rows::<u32>(&chunk, 0..601).is_err() && reader.read::<u32>(&chunk).is_err());
    } else {
        panic!("the structures are behind the data");
    }
}
