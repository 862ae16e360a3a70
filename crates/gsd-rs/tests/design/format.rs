//! Where things are in the file.

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
