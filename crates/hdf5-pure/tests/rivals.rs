//! Several processes edit one file. Every change that was reported as committed must be in the file at the end.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints what it counted"
)]
#![cfg(unix)]

use std::path::Path;

use hdf5_pure::options::Flush;
use hdf5_pure::{Editor, Error, File, Result, Writer};
use sciformats_core::commit::rivals::{PROCESSES, ROUNDS, is_rival, meet};

const TEST: &str = "rivals::no_writer_overwrites_another";
/// The groups among which the changes are divided, so that none becomes large.
const GROUPS: u64 = 64;
const MOST: u64 = ROUNDS * 4;

fn edit(path: &Path, kind: &str, number: u64) -> Result<()> {
    let mut editor = Editor::open(path)?;
    let group = format!("g{}", number % GROUPS);
    match kind {
        "attribute" => drop(editor.object(&group)?.attribute(&format!("n{number}"), number)?),
        "dataset" => drop(editor.dataset(&format!("{group}/n{number}")).write(&[number; 3])?),
        "link" => drop(editor.group(&group)?.soft_link(&format!("n{number}"), "/rows")?),
        "unlink" => editor.unlink(&format!("{group}/n{number}"))?,
        _ => drop(editor.open_dataset("rows")?.append(&[number + 1])?),
    }
    editor.commit_with(Flush::None)
}

fn create(path: &Path, kind: &str) {
    let mut file = Writer::create(path).unwrap();
    file.dataset("rows").shape([0]).max_shape([None]).chunks([64]).create::<u64>().unwrap();
    for group in 0..GROUPS {
        file.group(&format!("g{group}")).unwrap();
    }
    if kind == "unlink" {
        for number in 0..MOST {
            let mut group = file.group(&format!("g{}", number % GROUPS)).unwrap();
            group.soft_link(&format!("n{number}"), "/rows").unwrap();
        }
    }
    file.finish().unwrap();
}

fn there(path: &Path, kind: &str) -> Vec<u64> {
    let file = File::open(path).unwrap();
    if kind == "rows" {
        return file
            .dataset("rows")
            .unwrap()
            .read::<u64>()
            .unwrap()
            .iter()
            .map(|number| number - 1)
            .collect();
    }
    let mut numbers = Vec::new();
    for group in 0..GROUPS {
        let name = format!("g{group}");
        for number in (0..MOST).filter(|number| number % GROUPS == group) {
            let member = format!("n{number}");
            let found = match kind {
                "attribute" => {
                    let value = file.group(&name).unwrap().attribute(&member);
                    value.is_ok_and(|value| value.read::<u64>().unwrap() == [number])
                }
                "dataset" => {
                    let data = file.dataset(&format!("{name}/{member}"));
                    data.is_ok_and(|data| data.read::<u64>().unwrap() == [number; 3])
                }
                "link" => file.dataset(&format!("{name}/{member}")).is_ok(),
                _ => file.dataset(&format!("{name}/{member}")).is_err(),
            };
            numbers.extend(found.then_some(number));
        }
    }
    numbers
}

#[test]
fn no_writer_overwrites_another() {
    if is_rival(edit).unwrap() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for kind in ["attribute", "dataset", "link", "unlink", "rows"] {
        for processes in PROCESSES {
            let start = std::time::Instant::now();
            let path = folder.path().join(format!("{kind}-{processes}.h5"));
            create(&path, kind);
            let outcome = meet(TEST, kind, &path, processes).unwrap();
            let there = there(&path, kind);
            let lost: Vec<_> = outcome.kept.iter().filter(|number| !there.contains(number)).collect();
            assert!(lost.is_empty(), "{kind}: {lost:?}");
            assert_eq!(there.len(), outcome.kept.len(), "{kind}");
            let operation =
                if kind == "rows" { "elements and extents" } else { "links, objects and attributes" };
            println!("crash matrix: hdf5: {operation}: {} interleavings", outcome.rounds);
            println!("{kind}: {processes} processes took {:.1} s", start.elapsed().as_secs_f64());
        }
    }
}

/// Changes of a program that ignores the lock are detected, and none of our bytes remain in the file.
#[test]
fn a_file_that_another_program_changed_is_left_to_it() {
    use std::os::unix::fs::FileExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.h5");
    type Change = fn(&Path);
    let changes: [Change; 3] = [
        // The end of the file, where new space is allocated.
        |path| std::fs::OpenOptions::new().write(true).open(path).unwrap().set_len(1 << 20).unwrap(),
        // The consistency flags of the superblock.
        |path| std::fs::OpenOptions::new().write(true).open(path).unwrap().write_all_at(&[4], 11).unwrap(),
        |path| {
            std::fs::rename(path, path.with_extension("aside")).unwrap();
            create(path, "rows");
        },
    ];
    for (at, change) in changes.into_iter().enumerate() {
        create(&path, "rows");
        let mut editor = Editor::open(&path).unwrap();
        change(&path);
        let there = std::fs::read(&path).unwrap();
        editor.root().attribute("title", "ours").unwrap();
        let refused = editor.commit();
        assert!(matches!(refused, Err(Error::Conflict { .. })), "{at}: {refused:?}");
        drop(editor);
        // Our bytes may remain at the end if it is unknown whose they are.
        let left = std::fs::read(&path).unwrap();
        assert!(left == there || at == 1 && left.starts_with(&there), "{at}");
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn an_edit_that_is_not_committed_leaves_the_file_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.h5");
    create(&path, "unlink");
    let mut editor = Editor::open(&path).unwrap();
    // Free space inside the file, which is used again.
    editor.unlink("g7").unwrap();
    editor.commit().unwrap();
    let before = std::fs::read(&path).unwrap();
    editor.dataset("large").write(&vec![7u8; 100_000]).unwrap();
    editor.dataset("small").write(&[7u8; 100]).unwrap();
    editor.root().attribute("title", "refused").unwrap();
    editor.unlink("g8").unwrap();
    assert!(editor.file().unwrap().dataset("small").is_ok());
    drop(editor);
    assert!(std::fs::read(&path).unwrap() == before);
}
