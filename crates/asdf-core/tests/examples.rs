//! The examples do what they say.

use asdf_core::Asdf;

#[allow(dead_code, reason = "its `main`")]
#[path = "../examples/roman.rs"]
mod roman;

#[test]
fn the_background_is_noted_and_nothing_else_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image.asdf");
    let made = Asdf::open_or_create(&path, roman::make).unwrap();
    let before: Vec<f32> = made.array("roman/data").unwrap().read().unwrap();
    assert_eq!(roman::note_background(made).unwrap(), 3.0);

    let file = Asdf::open(&path).unwrap();
    let noted = serde_json::json!({ "level": 3.0, "method": "median", "subtracted": false });
    assert_eq!(file.tree().get_as::<serde_json::Value>("roman/meta/background").unwrap(), noted);
    assert_eq!(file.array("roman/data").unwrap().read::<f32>().unwrap(), before);
    let tag = |path: &str| file.tree().tag(file.get(path).unwrap()).unwrap().to_owned();
    assert_eq!(tag("roman"), "asdf://stsci.edu/datamodels/roman/tags/wfi_image-1.2.0");
    assert_eq!(tag("roman/meta/instrument"), "asdf://stsci.edu/datamodels/roman/tags/wfi_mode-1.1.0");
    assert_eq!(file.history().unwrap().len(), 1);
}
