//! Makes many small edits that `hdf5_many_conform.py` describes. Each edit is a line, whose words are separated by tabs.

use std::path::Path;

use hdf5_pure::options::Flush;
use hdf5_pure::{Editor, Error, File, Result};

/// Edits the file at `path` as the lines of the file `script` describe, and checks that no byte belongs to two structures.
pub(crate) fn run(path: &Path, script: &Path) -> Result<()> {
    let text = std::fs::read_to_string(script).map_err(|error| Error::io("read the script", error))?;
    let mut editor = Editor::open(path)?;
    for line in text.lines() {
        step(&mut editor, &line.split('\t').collect::<Vec<_>>())?;
    }
    editor.close_with(Flush::None)?;
    File::open(path)?.check_space()
}

fn step(editor: &mut Editor, words: &[&str]) -> Result<()> {
    match *words {
        ["commit"] => editor.commit_with(Flush::None),
        ["group", path] => editor.group(path).map(drop),
        ["soft", path, target] => editor.root().soft_link(path, target).map(drop),
        ["hard", path, target] => {
            let target = editor.id(target)?;
            editor.root().hard_link(path, target).map(drop)
        }
        ["unlink", path] => editor.unlink(path),
        ["move", path, to] => editor.move_link(path, to),
        ["attribute", object, name, count] => {
            editor.object(object)?.attribute(name, vec![17i32; number(count)?]).map(drop)
        }
        ["remove", object, name] => editor.object(object)?.remove_attribute(name).map(drop),
        ["rename", object, name, to] => editor.object(object)?.rename_attribute(name, to).map(drop),
        ["comment", object, text] => editor.object(object)?.comment(text).map(drop),
        ["write", dataset, first, count] => {
            let (first, count) = (number(first)?, number(count)?);
            let last = first.saturating_add(count);
            editor.open_dataset(dataset)?.write_slice(first..last, &vec![17i32; count]).map(drop)
        }
        ["resize", dataset, rows] => editor.open_dataset(dataset)?.resize(&[number(rows)? as u64]).map(drop),
        _ => Err(Error::usage("script", "has a line with an unknown command")),
    }
}

fn number(word: &str) -> Result<usize> {
    word.parse().map_err(|_| Error::usage("script", "has a line without a number"))
}
