//! Edits files that h5py has created, as `hdf5_edit_conform.py` expects.

use std::path::Path;

use hdf5_pure::options::Flush;
use hdf5_pure::{Editor, Error, Result};

/// Makes the first edits.
pub(crate) fn edit(path: &Path) -> Result<()> {
    let mut editor = Editor::open(path)?;
    editor.root().attribute("title", "edited")?.attribute("numbers", [1.5, -2.0])?.attribute("größe", 3u8)?;
    let long: Vec<u32> = (0..25_000).collect();
    editor.object("data")?.remove_attribute("units")?.rename_attribute("a", "b")?.attribute("long", &long)?;
    for i in 0..48 {
        editor.object("described")?.remove_attribute(&format!("a{i:02}"))?;
    }
    for i in 0..60 {
        editor.object("plain")?.attribute(&format!("n{i}"), i)?;
    }
    for i in 0..50 {
        editor.unlink(&format!("big/g{i:03}"))?;
    }
    for i in 0..200 {
        editor.group("big")?.soft_link(&format!("s{i}"), "/data")?;
    }
    for i in 0..7 {
        editor.unlink(&format!("ten/t{i}"))?;
    }
    editor.move_link("group/x", "moved/deep/x")?;
    editor.move_link("soft", "still soft")?;
    editor.unlink("typed")?;
    if editor.object("common").is_ok() {
        // These objects only exist in files with shared messages.
        editor.object("common/c0")?.remove_attribute("kind")?.attribute("large", "is short")?;
        editor.object("common/c1")?.rename_attribute("kind", "sort")?.rename_attribute("large", "larger")?;
        editor.unlink("common/c2")?;
        editor.open_dataset("common/c3")?.resize(&[9, 2])?;
        editor.move_link("common/c4", "common/moved")?;
    }
    editor.commit_with(Flush::None)?;
    // This commit uses the space that the first commit has freed.
    editor.unlink("chunked")?;
    let data = editor.id("data")?;
    editor.root().hard_link("alias", data)?.external_link("outside", "other.h5", "/y")?;
    let reference = editor.reference(data)?;
    editor.group("new")?.attribute("to", reference)?;
    editor.dataset("new/plain").attribute("units", "K").write(&[7i64, 8, 9])?;
    let rows: Vec<i32> = (0..60 * 40).collect();
    editor
        .dataset("new/chunked")
        .shape([60, 40])
        .chunks([16, 16])
        .max_shape([None, Some(40)])
        .lzf()
        .write(&rows)?;
    editor.dataset("new/strings").write(&["eins", "", "drei"])?;
    editor.close()
}

/// Makes the edits that follow after h5py has edited the file itself.
pub(crate) fn edit_again(path: &Path) -> Result<()> {
    let mut editor = Editor::open(path)?;
    let file = editor.file()?;
    let expect = |found: bool, what: &'static str| match found {
        true => Ok(()),
        false => Err(Error::usage("file", format!("does not have {what}"))),
    };
    let after = file.dataset("after")?;
    expect(after.read::<i32>()? == [4, 5, 6], "what h5py wrote")?;
    expect(after.attribute("x")?.read::<String>()? == ["by h5py"], "the attribute that h5py wrote")?;
    expect(file.group("big")?.links()?.len() == 100 + 200 + 30, "the links that h5py made")?;
    expect(file.group("new")?.link("plain")?.is_none(), "a group without what h5py took away")?;
    expect(file.group("plain")?.attributes()?.len() == 61, "the attributes that h5py made")?;
    editor.unlink("after")?;
    for i in 0..30 {
        editor.move_link(&format!("big/p{i}"), &format!("new/p{i}"))?;
    }
    for i in 0..58 {
        editor.object("plain")?.remove_attribute(&format!("n{i}"))?;
    }
    editor.object("data")?.remove_attribute("long")?;
    editor.dataset("last").write(&[1u8; 5000])?;
    editor.close()
}

/// Removes everything that the root group leads to, and its attributes.
pub(crate) fn empty(path: &Path) -> Result<()> {
    let mut editor = Editor::open(path)?;
    let root = editor.file()?.root()?;
    for attribute in root.attributes()? {
        if let Some(name) = attribute.name() {
            editor.root().remove_attribute(&name.to_string())?;
        }
    }
    for link in root.links()?.iter().flatten() {
        editor.unlink(&link.name.to_string())?;
    }
    editor.close()
}
