//! Edits files of other writers. What is not edited must stay the same. Damaged files are refused or edited, but never cause a
//! panic.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

use crate::exercise;

use crate::description::describe;
use crate::fixtures::fixtures;
use crate::recorded::Recorded;
use hdf5_pure::walk::Found;
use hdf5_pure::{EditOptions, Editor, Error, File, Result};

fn editor(bytes: Vec<u8>) -> Result<(Editor, Recorded)> {
    let recorded = Recorded::new(bytes);
    let options = EditOptions::default().with_reading(exercise::options());
    Ok((Editor::in_storage(Box::new(recorded.clone()), &options)?, recorded))
}

/// Returns the paths of all objects, and the paths of all links that do not lead to objects.
fn paths(file: &File) -> (Vec<String>, Vec<String>) {
    let (mut objects, mut links) = (Vec::new(), Vec::new());
    for visited in file.walk() {
        let Ok(path) = String::from_utf8(visited.path) else { continue };
        if path == "/" {
            continue;
        }
        match visited.what {
            Found::Object(_) => objects.push(path),
            _ => links.push(path),
        }
    }
    (objects, links)
}

#[test]
fn everything_of_every_fixture_can_be_touched_and_nothing_else_changes() {
    let mut touched = 0;
    for path in fixtures(".") {
        let bytes = std::fs::read(&path).unwrap();
        let before = File::from_bytes(bytes.clone()).unwrap();
        let (objects, _) = paths(&before);
        let expected = describe(&before);
        let (mut editor, recorded) = editor(bytes).unwrap();
        for object in &objects {
            editor.object(object).unwrap().attribute("touched", 17u8).unwrap();
            touched += 1;
        }
        editor.group("a new group").unwrap().attribute("x", 1).unwrap();
        editor.dataset("a new dataset").write(&[1.5]).unwrap();
        editor.commit().unwrap();
        for object in &objects {
            editor.object(object).unwrap().remove_attribute("touched").unwrap();
        }
        editor.unlink("a new group").unwrap();
        editor.unlink("a new dataset").unwrap();
        editor.commit().unwrap();
        drop(editor);
        let found = describe(&File::from_bytes(recorded.bytes()).unwrap());
        for (at, text) in &expected {
            assert_eq!(found.get(at), Some(text), "{}: {at}", path.display());
        }
        assert_eq!(found.len(), expected.len(), "{}", path.display());
    }
    assert!(touched > 100, "{touched} objects");
}

#[test]
fn every_object_of_every_fixture_can_be_taken_out() {
    for path in fixtures(".") {
        let bytes = std::fs::read(&path).unwrap();
        let (mut editor, recorded) = editor(bytes).unwrap();
        let (objects, links) = paths(&editor.file().unwrap());
        let top = |path: &&String| path.matches('/').count() == 1;
        for link in objects.iter().chain(&links).filter(top) {
            editor.unlink(link).unwrap();
        }
        editor.commit().unwrap();
        editor.dataset("new").write(&vec![3u8; 10_000]).unwrap();
        editor.commit().unwrap();
        drop(editor);
        let file = File::from_bytes(recorded.bytes()).unwrap();
        assert_eq!(file.root().unwrap().links().unwrap().len(), 1, "{}", path.display());
        assert_eq!(file.dataset("new").unwrap().read::<u8>().unwrap(), [3; 10_000]);
    }
}

/// Makes edits of every kind. Every failure is an error.
fn exercise_editor(editor: &mut Editor) -> Result<()> {
    let (objects, links) = paths(&editor.file()?);
    for object in &objects {
        if let Ok(mut object) = editor.object(object) {
            let _ = object.attribute("touched", 1);
        }
    }
    let _ = editor.dataset("a new dataset").write(&[1.5]);
    editor.commit()?;
    for link in objects.iter().chain(&links).take(5) {
        let _ = editor.unlink(link);
    }
    editor.commit()
}

#[test]
fn hostile_files_are_refused_or_edited() {
    let mut refused = 0;
    for path in fixtures("hostile") {
        let done =
            editor(std::fs::read(&path).unwrap()).and_then(|(mut editor, _)| exercise_editor(&mut editor));
        refused += u32::from(done.is_err());
        assert!(!matches!(done, Err(Error::Io { .. })), "{}: {done:?}", path.display());
    }
    assert!(refused > 5, "{refused} files were refused");
}

#[test]
fn damaged_files_are_refused_or_edited() {
    let files: Vec<Vec<u8>> = fixtures(".").iter().map(|path| std::fs::read(path).unwrap()).collect();
    let mut random = 0x9E37_79B9_7F4A_7C15u64;
    let mut below = |n: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        ((random >> 1) % n as u64) as usize
    };
    let (mut edited, mut refused) = (0, 0);
    for number in 0..600 {
        let mut bytes = files[number % files.len()].clone();
        for _ in 0..1 + below(4) {
            let at = below(bytes.len());
            bytes[at] = [0, 1, 0x80, 0xff, below(256) as u8][below(5)];
        }
        let Ok((mut editor, recorded)) = editor(bytes) else { continue };
        match exercise_editor(&mut editor) {
            Ok(()) => edited += 1,
            Err(_) => refused += 1,
        }
        drop(editor);
        if let Ok(file) = File::from_storage(recorded.bytes(), &exercise::options()) {
            exercise::exercise(&file);
        }
    }
    assert!(edited > 100 && refused > 5, "{edited} edited, {refused} refused");
}

type Edit = fn(&mut Editor, &str) -> Result<()>;

/// Edits of each kind, for the object at a path.
const EDITS: [(&str, Edit); 8] = [
    ("attribute", |editor, path| editor.object(path)?.attribute("new", 17u8).map(drop)),
    ("comment", |editor, path| editor.object(path)?.comment("new").map(drop)),
    ("removed attribute", |editor, path| editor.object(path)?.remove_attribute("touched").map(drop)),
    ("group", |editor, path| editor.group(&format!("{path}/new")).map(drop)),
    ("dataset", |editor, path| {
        editor.dataset(&format!("{path}/new")).chunks([2]).write(&[1.5, 2.5, 3.5]).map(drop)
    }),
    ("elements", |editor, path| editor.open_dataset(path)?.append(&[7u8; 4]).map(drop)),
    ("unlinked", |editor, path| editor.unlink(path)),
    ("moved", |editor, path| editor.move_link(path, "/new/place")),
];

/// An edit that is refused leaves the file unchanged, byte for byte, no matter when the error occurs.
#[test]
fn a_refused_edit_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.h5");
    let (mut done, mut refused) = (0, 0);
    for fixture in fixtures("hostile").iter().chain(&fixtures(".")) {
        let before = std::fs::read(fixture).unwrap();
        let objects = File::from_storage(before.clone(), &exercise::options())
            .map_or_else(|_| Vec::new(), |file| paths(&file).0);
        let objects: Vec<String> = objects.into_iter().take(4).chain(["/".to_owned()]).collect();
        for object in &objects {
            for (name, edit) in EDITS {
                std::fs::write(&path, &before).unwrap();
                let options = EditOptions::default().with_reading(exercise::options());
                let edited = Editor::open_with(&path, &options).and_then(|mut editor| {
                    edit(&mut editor, object)?;
                    editor.close()
                });
                match edited {
                    Ok(()) => done += 1,
                    Err(error) => {
                        refused += 1;
                        let after = std::fs::read(&path).unwrap();
                        assert!(after == before, "{}: {name} of {object}: {error}", fixture.display());
                    }
                }
            }
        }
    }
    assert!(done > 500 && refused > 300, "{done} done, {refused} refused");
}
