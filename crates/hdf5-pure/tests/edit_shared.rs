//! Edits files with shared messages. The messages stay shared, and the table counts every use exactly.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

use crate::description::describe;
use crate::recorded::Recorded;
use hdf5_pure::options::Flush;
use hdf5_pure::structure::SharedRecord;
use hdf5_pure::{EditOptions, Editor, File, Result};
use sciformats_core::commit::replay::{Cuts, every_cut};

const FIXTURES: [&str; 2] = ["shared-list.h5", "shared-tree.h5"];

fn fixture(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/hdf5/");
    std::fs::read(format!("{folder}{name}")).unwrap()
}

fn open(bytes: Vec<u8>) -> (Editor, Recorded) {
    let recorded = Recorded::new(bytes);
    (Editor::in_storage(Box::new(recorded.clone()), &EditOptions::default()).unwrap(), recorded)
}

fn edited(bytes: Vec<u8>, edit: impl FnOnce(&mut Editor) -> Result<()>) -> Vec<u8> {
    let (mut editor, recorded) = open(bytes);
    // The library has left some bytes unused.
    let lost = editor.unaccounted().unwrap();
    edit(&mut editor).unwrap();
    editor.commit().unwrap();
    assert_eq!(editor.unaccounted().unwrap(), lost, "bytes that nothing leads to");
    drop(editor);
    recorded.bytes()
}

/// Returns the uses that the table counts: for each index, the messages in headers, and the uses of messages in the heap.
fn uses(bytes: &[u8]) -> Vec<(usize, u32)> {
    let file = File::from_bytes(bytes.to_vec()).unwrap();
    let of = |records: Vec<SharedRecord>| {
        records.iter().fold((0, 0), |(headers, uses), record| match record {
            SharedRecord::Header { .. } => (headers + 1, uses),
            SharedRecord::Heap { references, .. } => (headers, uses + references),
        })
    };
    file.shared_indexes().iter().map(|index| of(file.shared_records(index).unwrap())).collect()
}

fn total(bytes: &[u8]) -> u32 {
    uses(bytes).iter().map(|&(headers, uses)| u32::try_from(headers).unwrap() + uses).sum()
}

fn messages(bytes: &[u8]) -> u32 {
    let file = File::from_bytes(bytes.to_vec()).unwrap();
    file.shared_indexes().iter().map(|index| u32::from(index.messages)).sum()
}

/// Removes everything from the file. If a use had been counted too often, a record would remain. If one had been counted too
/// seldom, the last message would have no record, which is an error.
fn emptied(bytes: Vec<u8>) -> Vec<u8> {
    edited(bytes, |editor| {
        let file = editor.file()?;
        for attribute in file.root()?.attributes()? {
            editor.root().remove_attribute(&attribute.name().unwrap().to_string())?;
        }
        file.root()?
            .links()?
            .iter()
            .try_for_each(|link| editor.unlink(&link.as_ref().unwrap().name.to_string()))
    })
}

fn assert_exact(bytes: &[u8], what: &str) {
    let file = File::from_bytes(emptied(bytes.to_vec())).unwrap();
    for index in file.shared_indexes() {
        assert_eq!((index.messages, index.index, index.heap), (0, None, None), "{what}");
    }
}

type Edit = fn(&mut Editor) -> Result<()>;

const EDITS: [(&str, Edit); 8] = [
    ("a shared attribute goes", |editor| editor.object("d0")?.remove_attribute("attribute 1").map(|_| ())),
    ("one is replaced, one is new", |editor| {
        editor.object("d1")?.attribute("attribute 0", 5.5)?.attribute("new", [1, 2]).map(|_| ())
    }),
    ("one has another name", |editor| {
        editor.object("d0")?.rename_attribute("attribute 2", "renamed")?.attribute("x", 1).map(|_| ())
    }),
    ("dense attributes turn compact", |editor| {
        (0..8).try_for_each(|i| {
            editor.object("dense")?.remove_attribute(&format!("attribute {i}"))?;
            editor
                .object("dense too")?
                .rename_attribute(&format!("attribute {i}"), &format!("r{i}"))
                .map(|_| ())
        })
    }),
    ("compact attributes turn dense", |editor| {
        (0..10).try_for_each(|i| editor.object("d5")?.attribute(&format!("n{i}"), i).map(|_| ()))
    }),
    ("datasets get another shape", |editor| {
        for name in ["d1", "d2", "d5"] {
            editor.open_dataset(name)?.resize(&[7, 3])?;
        }
        Ok(())
    }),
    ("objects go, whatever was pending for them", |editor| {
        editor.open_dataset("d4")?.resize(&[5, 1])?;
        editor.object("d3")?.attribute("short", 1)?;
        ["d0", "d4", "d3", "dense"].iter().try_for_each(|name| editor.unlink(name))
    }),
    ("new objects", |editor| {
        editor.dataset("d0").attribute("attribute 0", [7]).write(&[1.0, 2.0])?;
        editor.group("dense")?.attribute("attribute 1", [7, 38]).map(|_| ())
    }),
];

#[test]
fn every_use_is_counted_exactly() {
    for name in FIXTURES {
        let mut bytes = fixture(name);
        assert!(total(&bytes) > 40, "{name}: {:?}", uses(&bytes));
        assert_exact(&bytes, name);
        for (what, edit) in EDITS {
            let (mut editor, _) = open(bytes.clone());
            edit(&mut editor).unwrap();
            let expected = describe(&editor.file().unwrap());
            drop(editor);
            let after = edited(bytes.clone(), edit);
            assert_eq!(describe(&File::from_bytes(after.clone()).unwrap()), expected, "{name}: {what}");
            assert!(messages(&after) <= messages(&bytes), "{name}: {what}: nothing new is shared");
            assert_exact(&after, &format!("{name}: {what}"));
            bytes = after;
        }
    }
}

#[test]
fn what_is_not_touched_stays_shared() {
    for name in FIXTURES {
        let bytes = fixture(name);
        let after = edited(bytes.clone(), |editor| {
            editor.object("d0")?.attribute("new", 1)?;
            editor.object("dense")?.attribute("new", 1).map(|_| ())
        });
        assert_eq!(uses(&after), uses(&bytes), "{name}");
        let removed =
            edited(after, |editor| editor.object("dense")?.remove_attribute("attribute 11").map(|_| ()));
        assert!(total(&removed) < total(&bytes), "{name}");
    }
}

#[test]
fn a_tree_turns_into_a_list_at_the_number_that_its_index_says() {
    let kinds = |bytes: &[u8]| -> Vec<(u8, u16)> {
        let file = File::from_bytes(bytes.to_vec()).unwrap();
        file.shared_indexes().iter().map(|index| (index.kind, index.messages)).collect()
    };
    let mut bytes = fixture("shared-tree.h5");
    assert!(kinds(&bytes).iter().all(|&(kind, messages)| kind == 1 && messages > 8), "{:?}", kinds(&bytes));
    for object in ["dense", "dense too", "d5", "d4", "d3", "d2", "d1", "d0"] {
        bytes = edited(bytes, |editor| editor.unlink(object));
        let kinds = kinds(&bytes);
        assert!(kinds.iter().all(|&(kind, messages)| (kind == 0) == (messages < 6)), "{object}: {kinds:?}");
    }
}

#[test]
fn every_cut_leaves_the_last_commit_or_the_next() {
    let mut cuts = Cuts::default();
    for name in FIXTURES {
        let mut bytes = fixture(name);
        for (what, edit) in EDITS {
            let (mut editor, recorded) = open(bytes.clone());
            edit(&mut editor).unwrap();
            editor.commit_with(Flush::Durable).unwrap();
            drop(editor);
            let after = recorded.bytes();
            let seen = |bytes: &[u8]| (describe(&File::from_bytes(bytes.to_vec()).unwrap()), uses(bytes));
            let (old, new) = (seen(&bytes), seen(&after));
            cuts += every_cut(&bytes, &recorded.take_steps(), |cut, file| {
                let found = seen(file);
                assert!(found == old || found == new, "{name}, {what}: {cut:?} leaves neither");
            });
            bytes = after;
        }
    }
    assert!(cuts.torn > 50 && cuts.reordered > 50, "{cuts}");
}

#[test]
fn a_message_without_a_record_is_told() {
    let mut bytes = fixture("shared-list.h5");
    let list = bytes.windows(4).position(|part| part == b"SMLI").unwrap();
    let table = bytes.windows(4).position(|part| part == b"SMTB").unwrap();
    let messages = usize::from(bytes[table + 4 + 12]);
    // The heap IDs of all records are replaced by others.
    for record in
        bytes[list + 4..list + 4 + 17 * messages].chunks_exact_mut(17).filter(|record| record[0] == 0)
    {
        record[16] = 0xee;
    }
    let end = list + 4 + 17 * messages;
    let checksum = hdf5_pure::structure::checksum(&bytes[list..end]);
    bytes[end..end + 4].copy_from_slice(&checksum.to_le_bytes());
    let (mut editor, recorded) = open(bytes.clone());
    editor.object("d0").unwrap().remove_attribute("attribute 0").unwrap();
    let error = editor.commit().unwrap_err().to_string();
    assert!(error.contains("shared message index") && error.contains("heap ID"), "{error}");
    drop(editor);
    assert_eq!(
        describe(&File::from_bytes(recorded.bytes()).unwrap()),
        describe(&File::from_bytes(bytes).unwrap())
    );
}
