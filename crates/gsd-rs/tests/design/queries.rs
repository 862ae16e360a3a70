//! Queries of files.

use std::ops::Range;

use super::*;

fn example() -> Reader {
    memory(|writer| {
        for frame in 0..50u32 {
            if frame % 3 != 1 {
                writer.write("log/b", 2, &[frame, 1, frame, 2, frame, 3]).unwrap();
            }
            writer.write("log/a", 1, &[f64::from(frame)]).unwrap();
            writer.write("other", 7, &[0i16; 0]).unwrap();
            writer.end_frame().unwrap();
        }
    })
}

#[test]
fn number_of_frames() {
    assert_eq!(example().frames(), 50);
    assert_eq!(memory(|_| ()).frames(), 0);
}

#[test]
fn is_named_chunk_present_in_frame_i() {
    let reader = example();
    for frame in 0..50 {
        assert_eq!(reader.find(frame, "log/b").unwrap().is_some(), frame % 3 != 1);
        assert!(reader.find(frame, "log/a").unwrap().is_some());
        assert!(reader.find(frame, "log").unwrap().is_none());
    }
    assert!(reader.find(50, "log/a").unwrap().is_none());
    assert!(reader.find(u64::MAX, "log/a").unwrap().is_none());
    assert!(reader.find(0, "").unwrap().is_none());
}

#[test]
fn type_and_size_of_named_chunk_in_frame_i() {
    let reader = example();
    let chunk = reader.find(8, "log/b").unwrap().unwrap();
    assert_eq!((chunk.element, chunk.n, chunk.m), (ElementType::U32, 3, 2));
    assert_eq!((chunk.elements(), chunk.size()), (Some(6), Some(24)));
    let empty = reader.find(8, "other").unwrap().unwrap();
    assert_eq!((empty.element, empty.n, empty.m), (ElementType::I16, 0, 7));
    assert!(read::<i16>(&reader, &empty).is_empty());
}

#[test]
fn read_data_for_named_chunk_in_frame_i() {
    let reader = example();
    assert_eq!(read::<u32>(&reader, &reader.find(8, "log/b").unwrap().unwrap()), [8, 1, 8, 2, 8, 3]);
}

#[test]
fn read_only_a_portion_of_a_chunk() {
    let reader = example();
    let chunk = reader.find(8, "log/b").unwrap().unwrap();
    assert_eq!(reader.read_rows::<u32>(&chunk, 1..3).unwrap(), [8, 2, 8, 3].as_slice());
    assert_eq!(reader.read_bytes(&chunk, 2..3).unwrap(), [8, 0, 0, 0, 3, 0, 0, 0].as_slice());
    assert!(reader.read_rows::<u32>(&chunk, 3..3).unwrap().is_empty());
    for rows in [2..4, Range { start: 3, end: 2 }, 0..u64::MAX] {
        let error = reader.read_rows::<u32>(&chunk, rows).unwrap_err();
        assert!(matches!(error, Error::Usage { argument: "rows", .. }), "{error}");
    }
}

#[test]
fn names_by_prefix_and_one_name_over_the_frames() {
    let reader = example();
    let names: Vec<&[u8]> = reader.names_with_prefix("log/").collect();
    assert_eq!(names, [&b"log/a"[..], b"log/b"]);
    assert_eq!(reader.names_with_prefix("").count(), 3);
    assert_eq!(reader.names_with_prefix("p").count(), 0);
    let frames: Vec<u64> = reader.history("log/b").map(|chunk| chunk.unwrap().frame).collect();
    assert_eq!(frames, (0..50).filter(|frame| frame % 3 != 1).collect::<Vec<_>>());
    assert_eq!(reader.history("nothing").count(), 0);
}
