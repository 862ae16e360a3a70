//! The examples do what they say.

use rawarray::{Editor, Reader};

#[allow(dead_code, reason = "its `main`")]
#[path = "../examples/usage.rs"]
mod usage;

#[test]
fn rows_of_the_last_frame() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("frames.ra");
    usage::make(&path).unwrap();
    assert_eq!(usage::means(&path).unwrap(), [0.0, 0.0]);
    Editor::open(&path).unwrap().append(&[1u16, 2, 3, 10, 20, 30]).unwrap();
    assert_eq!(usage::means(&path).unwrap(), [2.0, 20.0]);
    assert_eq!(Reader::open(&path).unwrap().metadata().unwrap(), &b"camera 3"[..]);
}
