//! What an editor does and what it refuses, apart from crashes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use npy::{DType, Editor, Error, Header, Range, Reader, Slab};
use proptest::prelude::*;

fn file(descr: &str, shape: &[u64], fortran_order: bool) -> Vec<u8> {
    let header = Header { dtype: DType::parse(descr).unwrap(), fortran_order, shape: shape.into() };
    let mut bytes = header.to_bytes().unwrap();
    bytes.extend(vec![0; header.stored_size().unwrap() as usize]);
    bytes
}

/// Returns a file of version 1.0 whose header is exactly this text.
fn told(dictionary: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\0".to_vec();
    bytes.extend(u16::try_from(dictionary.len()).unwrap().to_le_bytes());
    bytes.extend(dictionary.as_bytes());
    bytes.extend(data);
    bytes
}

#[test]
fn elements_are_written_in_the_byte_order_of_the_file() {
    let mut editor = Editor::in_storage(file("'>i4'", &[2], false)).unwrap();
    editor.write_slab(&Slab::new(&[2], [Range::new(1, 1)]).unwrap(), &[-2i32]).unwrap();
    editor.append(&[7i32, 300]).unwrap();
    let bytes = editor.into_storage();
    assert_eq!(bytes[bytes.len() - 4..], [0, 0, 1, 44]);
    assert_eq!(Reader::from_bytes(bytes).unwrap().read::<i32>().unwrap(), [0, -2, 7, 300]);
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let before = file("'<u2'", &[2, 3], false);
    let mut editor = Editor::in_storage(before.clone()).unwrap();
    let all = Slab::all(&[2, 3]).unwrap();
    let errors = [
        editor.append(&[1u8; 6]).unwrap_err(),
        editor.append(&[1u16; 4]).unwrap_err(),
        editor.write_slab(&all, &[1u16; 5]).unwrap_err(),
        editor.write_slab(&Slab::all(&[3, 2]).unwrap(), &[1u16; 6]).unwrap_err(),
    ]
    .map(|error| error.to_string());
    let expected = [
        "element type is '|u1', but the elements of the array are '<u2'",
        "rows have 8 bytes, which is not a multiple of the size of a row (6 bytes)",
        "elements have 10 bytes, but the slab selects 12 bytes",
        "slab selects from an array of [3, 2], but this array has the shape [2, 3]",
    ];
    assert_eq!(errors, expected);
    assert_eq!(editor.into_storage(), before);

    let refused = |bytes: Vec<u8>, rows: &[u8]| {
        let mut editor = Editor::in_storage(bytes.clone()).unwrap();
        let error = editor.append_bytes(rows).unwrap_err().to_string();
        assert_eq!(editor.into_storage(), bytes);
        error
    };
    assert_eq!(refused(file("'<u2'", &[], false), &[1, 2]), "array has no dimensions, so it cannot grow");
    assert_eq!(
        refused(file("'<u2'", &[3, 0], false), &[]),
        "array has rows without bytes, so it cannot grow"
    );
    // A second array in the same file, as repeated calls of `numpy.save` write it.
    let two = [file("'<u2'", &[1], false), file("'<u2'", &[1], false)].concat();
    assert_eq!(refused(two, &[1, 2]), "array is followed by 130 other bytes, which new rows would overwrite");
    let tight = "{'descr': '|u1', 'fortran_order': False, 'shape': (9,), }\n";
    assert_eq!(refused(told(tight, &[7; 9]), &[1]), "a shape that does not fit the header is not supported");
    let bare = "{'descr': '|u1', 'fortran_order': False, 'shape': 9, }    \n";
    assert!(refused(told(bare, &[7; 9]), &[1]).contains("writes the shape in an unusual form"));
    assert!(
        Editor::in_storage(told("{'descr': '|O', 'fortran_order': False, 'shape': ()}\n", &[0; 8])).is_err()
    );
}

#[test]
fn a_shape_that_stands_in_two_sectors_is_refused() {
    let mut seen = [false; 2];
    for length in 400..520 {
        let name = "x".repeat(length);
        let before = file(&format!("[('{name}', '|u1')]"), &[9], false);
        let mut editor = Editor::in_storage(before.clone()).unwrap();
        match editor.append_bytes(&[1]) {
            Ok(()) => {
                let reader = Reader::from_bytes(editor.into_storage()).unwrap();
                assert_eq!(reader.shape(), [10]);
                seen[0] = true;
            }
            Err(Error::Unsupported { .. }) => {
                assert_eq!(editor.into_storage(), before);
                seen[1] = true;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(seen, [true, true]);
}

#[test]
fn a_header_of_others_stays_but_for_the_shape() {
    // This is how NumPy writes it, with space for 21 digits.
    let text = "{'descr': [(('a title', 'a'), '<u2')], 'fortran_order': False, 'shape': (9,), }                    \n";
    let plain = "{'shape':(9L,), 'descr':'<u2','fortran_order':False}  \n";
    for dictionary in [text, plain] {
        let bytes = told(dictionary, &[7; 18]);
        let Ok(mut editor) = Editor::in_storage(bytes.clone()) else {
            assert!(dictionary.contains("title"), "{dictionary}");
            continue;
        };
        editor.append_bytes(&[1, 2]).unwrap();
        let after = editor.into_storage();
        let changed = dictionary.replacen("9", "10", 1).replacen(" \n", "\n", 1);
        assert_eq!(after, [told(&changed, &[7; 18]), vec![1, 2]].concat());
    }
}

proptest! {
    #[test]
    fn an_edited_array_is_the_array_that_it_should_be(
        shape in prop::collection::vec(1u64..6, 1..4),
        picks in prop::collection::vec((0u64..5, 1u64..4, 1u64..3), 3),
        fortran: bool,
        more in 0u64..4,
    ) {
        let mut editor = Editor::in_storage(file("'<u2'", &shape, fortran)).unwrap();
        let ranges: Vec<Range> = shape.iter().zip(picks).map(|(&length, (start, count, step))| {
            let start = start.min(length - 1);
            Range { start, count: count.min((length - start).div_ceil(step)), step }
        }).collect();
        let slab = Slab::new(&shape, ranges).unwrap();
        let values: Vec<u16> = (1..).take(slab.len() as usize).collect();
        editor.write_slab(&slab, &values).unwrap();
        let axis = if fortran { shape.len() - 1 } else { 0 };
        let mut rows = shape.clone();
        rows[axis] = more;
        let appended: Vec<u16> = (1000..).take(rows.iter().product::<u64>() as usize).collect();
        editor.append(&appended).unwrap();
        let reader = Reader::from_bytes(editor.into_storage()).unwrap();
        let mut grown = shape.clone();
        grown[axis] += more;
        prop_assert_eq!(reader.shape(), &grown[..]);
        let same = Slab::new(&grown, slab.ranges()).unwrap();
        prop_assert_eq!(reader.read_slab::<u16>(&same).unwrap(), values);
        let mut behind: Vec<Range> = grown.iter().map(|&length| Range::all(length)).collect();
        behind[axis] = Range::new(shape[axis], more);
        prop_assert_eq!(reader.read_slab::<u16>(&Slab::new(&grown, behind).unwrap()).unwrap(), appended);
        let sum = reader.read::<u16>().unwrap().iter().filter(|&&value| value != 0).count();
        prop_assert_eq!(sum, values_len(&slab) + rows.iter().product::<u64>() as usize);
    }
}

fn values_len(slab: &Slab) -> usize {
    slab.len() as usize
}

#[test]
fn an_editor_names_the_file_that_it_cannot_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    std::fs::write(&path, told("{'descr': '<i4', 'fortran_order': Perhaps, 'shape': (1,)}", &[0; 4]))
        .unwrap();
    let error = Editor::open(&path).unwrap_err();
    assert!(matches!(&error, Error::Malformed { .. }), "{error}");
    assert_eq!(error.path(), Some(&*path));
}
