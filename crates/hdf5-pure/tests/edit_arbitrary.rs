//! Takes arbitrary steps. The file must have the same contents as a model, and no byte of it may belong to two structures.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "a test fails by panicking"
)]

use hdf5_pure::options::Flush;
use hdf5_pure::{CreateOptions, EditOptions, Editor, Writer};

use crate::arbitrary;

#[test]
fn arbitrary_steps_leave_what_was_meant_and_nothing_belongs_to_two() {
    let mut random = 0x9E37_79B9_7F4A_7C15u64;
    for bound in 0..5 {
        for _ in 0..30 {
            let mut steps = vec![bound];
            for _ in 0..100 {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                steps.extend(random.to_le_bytes());
            }
            arbitrary::run(&steps);
        }
    }
}

#[test]
fn a_new_dataset_that_shrinks_and_goes_leaves_nothing() {
    for shape in [[4, 9], [3, 4], [0, 0]] {
        let file = Writer::in_memory(&CreateOptions::default()).unwrap().into_bytes().unwrap();
        let mut editor = Editor::in_storage(Box::new(file), &EditOptions::default()).unwrap();
        let mut root = editor.root();
        let made = root.dataset("a").shape([9, 4]).max_shape([Some(20), Some(20)]).chunks([3, 3]);
        made.write(&[1; 36]).unwrap();
        editor.open_dataset("a").unwrap().resize(&shape).unwrap();
        editor.unlink("a").unwrap();
        editor.commit_with(Flush::None).unwrap();
        assert_eq!(editor.unaccounted().unwrap(), 0, "{shape:?}");
    }
}
