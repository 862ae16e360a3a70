//! The positions of everything in the file.

use super::*;

#[test]
fn a_new_file_has_the_layout_that_others_write() {
    for (layer, names, size) in [(Version::new(2, 1), 16, 5376), (V1, 128, 12_544)] {
        let reader = memory_of(layer, |_| ());
        let header = reader.header();
        assert_eq!((header.index.location, header.index.allocated), (256, 128));
        assert_eq!((header.names.location, header.names.allocated), (4352, names));
        assert_eq!((header.version, header.schema_version), (layer, Version::new(1, 2)));
        assert_eq!(reader.space().unwrap().file, size);
        assert_eq!(reader.space().unwrap().unused(), 0);
    }
}

#[test]
fn entries_are_in_the_order_of_writing_before_2_0_and_of_ids_since() {
    for (layer, expected) in [(V1, ["b", "a"]), (Version::new(2, 1), ["a", "b"])] {
        let reader = memory_of(layer, |writer| {
            writer.write("a", 1, &[1u8]).unwrap();
            writer.end_frame().unwrap();
            writer.write("b", 1, &[2u8]).unwrap();
            writer.write("a", 1, &[3u8]).unwrap();
            writer.end_frame().unwrap();
        });
        let names: Vec<&str> = reader.chunks(1).map(|chunk| chunk.unwrap().name).collect();
        assert_eq!(names, expected, "{layer}");
        assert_eq!(read::<u8>(&reader, &reader.find(1, "a").unwrap().unwrap()), [3]);
    }
}

#[test]
fn a_full_index_moves_to_the_end_of_the_file() {
    let reader = memory(|writer| {
        for frame in 0..300u32 {
            writer.write("a", 1, &[frame]).unwrap();
            writer.end_frame().unwrap();
            writer.flush().unwrap();
        }
    });
    let header = reader.header();
    assert!(header.index.location > 5376);
    assert_eq!(header.index.allocated, 512);
    assert_eq!(reader.space().unwrap().index, 512 * 32);
    reader.verify().unwrap();
}

#[test]
fn a_full_name_list_moves_to_the_end_of_the_file() {
    for layer in [V1, Version::new(2, 1)] {
        let reader = memory_of(layer, |writer| {
            for frame in 0..200u32 {
                writer.write(&format!("{frame:050}"), 1, &[frame]).unwrap();
                writer.end_frame().unwrap();
                writer.flush().unwrap();
            }
        });
        assert!(reader.header().names.location > 5376, "{layer}");
        assert_eq!(reader.names().len(), 200);
        let chunk = reader.find(150, &format!("{:050}", 150)).unwrap().unwrap();
        assert_eq!((chunk.id, read::<u32>(&reader, &chunk)), (150, vec![150]));
        reader.verify().unwrap();
    }
}

#[test]
fn the_header_is_the_first_256_bytes_and_entries_have_32() {
    let mut writer = Writer::create_in(Vec::new(), &options()).unwrap();
    writer.write("chunk", 2, &[1u16, 2, 3, 4]).unwrap();
    writer.end_frame().unwrap();
    let file = writer.into_bytes().unwrap();
    let word = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
    assert_eq!(word(0), 0x65DF_65DF_65DF_65DF);
    assert_eq!([word(8), word(16), word(24), word(32)], [256, 128, 4352, 16]);
    assert_eq!(file[40..48], [2, 0, 1, 0, 1, 0, 2, 0]); // schema 1.2, layer 2.1
    assert_eq!((&file[48..53], &file[112..117]), (&b"test\0"[..], &b"none\0"[..]));
    assert!(file[176..256].iter().all(|&byte| byte == 0));
    // frame, N, location, M with id, type and flags
    assert_eq!([word(256), word(264), word(272)], [0, 2, 5376]);
    assert_eq!(file[280..288], [2, 0, 0, 0, 0, 0, 2, 0]);
    assert!(file[288..4352].iter().all(|&byte| byte == 0));
    assert_eq!(&file[4352..4359], b"chunk\0\0");
    assert_eq!(file[5376..], [1, 0, 2, 0, 3, 0, 4, 0]);
}

#[test]
fn a_file_of_layer_2_0_becomes_one_of_2_1_with_its_first_new_frame() {
    let of_2_0 = || {
        let mut file = Writer::create_in(Vec::new(), &options()).unwrap().into_bytes().unwrap();
        file[44] = 0;
        file
    };
    let untouched = Writer::append_in(of_2_0()).unwrap().into_bytes().unwrap();
    assert_eq!(untouched, of_2_0());
    let mut writer = Writer::append_in(of_2_0()).unwrap();
    writer.write_text("text", "needs 2.1").unwrap();
    writer.end_frame().unwrap();
    let reader = Reader::from_bytes(writer.into_bytes().unwrap()).unwrap();
    assert_eq!((reader.header().version, reader.frames()), (Version::new(2, 1), 1));
}
