//! Interrupts edits, and checks that the file has the state of the last commit or of the one that was interrupted.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints what it counted"
)]

use std::time::{Duration, Instant};

use crate::description::{Description, describe};
use crate::recorded::Recorded;
use hdf5_pure::options::{Bound, Flush};
use hdf5_pure::{CreateOptions, EditOptions, Editor, File, Result, Writer};
use sciformats_core::Step;
use sciformats_core::commit::kill::{example, killed};
use sciformats_core::commit::replay::{Cuts, every_cut};

fn file(bound: Bound) -> Vec<u8> {
    let mut file = Writer::in_memory(&CreateOptions::default().with_bound(bound)).unwrap();
    file.root().attribute("title", "before").unwrap();
    file.dataset("d").attribute("units", "m/s").write(&[1, 2, 3]).unwrap();
    file.dataset("c").chunks([4]).max_shape([None]).write(&(0..20).collect::<Vec<i32>>()).unwrap();
    for i in 0..12 {
        file.group("many").unwrap().soft_link(&format!("s{i}"), "/d").unwrap();
        file.group("many").unwrap().attribute(&format!("a{i}"), i).unwrap();
    }
    file.into_bytes().unwrap()
}

/// The edits in the order in which they are tried. Each is one commit.
type Edit = fn(&mut Editor) -> Result<()>;

const EDITS: [(&str, Edit); 6] = [
    ("one attribute", |editor| editor.root().attribute("title", "after").map(|_| ())),
    ("attributes of several objects", |editor| {
        editor.object("d")?.remove_attribute("units")?.attribute("x", 1)?;
        for i in 0..5 {
            editor.object("many")?.remove_attribute(&format!("a{i}"))?;
        }
        editor.object("c")?.attribute("long", "text ".repeat(100).as_str()).map(|_| ())
    }),
    ("links", |editor| {
        editor.move_link("many/s3", "moved")?;
        editor.unlink("many/s4")?;
        editor.root().soft_link("soft", "/many/s1").map(|_| ())
    }),
    ("new objects", |editor| {
        editor.dataset("new/data").attribute("units", "K").write(&vec![7u8; 3000])?;
        editor.group("new/group")?.attribute("x", [1, 2, 3]).map(|_| ())
    }),
    ("space of before", |editor| editor.dataset("again").write(&[1u8; 700]).map(|_| ())),
    ("delete", |editor| {
        editor.unlink("many")?;
        editor.unlink("c")
    }),
];

fn seen(bytes: &[u8]) -> Description {
    describe(&File::from_bytes(bytes.to_vec()).unwrap())
}

/// Applies an edit. Returns the steps of its commit, and the file afterwards.
fn record(bytes: &[u8], flush: Flush, edit: Edit) -> (Vec<Step<'static>>, Vec<u8>) {
    let recorded = Recorded::new(bytes.to_vec());
    let mut editor = Editor::in_storage(Box::new(recorded.clone()), &EditOptions::default()).unwrap();
    edit(&mut editor).unwrap();
    editor.commit_with(flush).unwrap();
    drop(editor);
    (recorded.take_steps(), recorded.bytes())
}

#[test]
fn every_cut_leaves_the_last_commit_or_the_next() {
    let mut total = Cuts::default();
    for bound in [Bound::Earliest, Bound::V18, Bound::V110] {
        let mut bytes = file(bound);
        for (name, edit) in EDITS {
            let (steps, after) = record(&bytes, Flush::Durable, edit);
            let (old, new) = (seen(&bytes), seen(&after));
            assert_ne!(old, new);
            let cuts = every_cut(&bytes, &steps, |cut, cut_file| {
                let found = seen(cut_file);
                assert!(found == old || found == new, "{bound:?}, {name}: {cut:?} leaves neither");
                // The next editor finds the same state, and leaves a file without a journal.
                let recorded = Recorded::new(cut_file.to_vec());
                drop(Editor::in_storage(Box::new(recorded.clone()), &EditOptions::default()).unwrap());
                let recovered = recorded.bytes();
                assert_eq!(seen(&recovered), found, "{bound:?}, {name}: {cut:?}, recovered");
            });
            total += cuts;
            bytes = after;
        }
    }
    println!("crash matrix: hdf5: links, objects and attributes: {total}");
    assert!(total.torn > 50 && total.reordered > 50);
}

#[test]
fn a_journal_of_another_state_is_told_and_never_applied() {
    let bytes = file(Bound::V110);
    let mut cut = None;
    for (_, edit) in &EDITS[..4] {
        let (steps, _) = record(&bytes, Flush::Durable, *edit);
        // The commit is interrupted when the journal is complete and none of its changes has been applied yet.
        every_cut(&bytes, &steps, |_, file| {
            let told = sciformats_core::commit::journal::interrupted(file).unwrap();
            if told.is_some_and(|told| told.committed) {
                cut.get_or_insert_with(|| file.to_vec());
            }
        });
    }
    let cut = cut.unwrap();
    File::from_bytes(cut.clone()).unwrap();
    // Another program opens the file in this state, and changes its end.
    let mut changed = cut;
    let end = u64::from_le_bytes(changed[28..36].try_into().unwrap()) + 8;
    changed[28..36].copy_from_slice(&end.to_le_bytes());
    let checksum = hdf5_pure::structure::checksum(&changed[..44]);
    changed[44..48].copy_from_slice(&checksum.to_le_bytes());
    let error = File::from_bytes(changed.clone()).unwrap_err().to_string();
    assert!(error.contains("journal") && error.contains("earlier state"), "{error}");
    let recorded = Recorded::new(changed);
    assert!(Editor::in_storage(Box::new(recorded.clone()), &EditOptions::default()).is_err());
    assert!(recorded.take_steps().is_empty(), "nothing was written");
}

#[test]
fn a_full_disk_leaves_the_last_commit_and_the_commit_can_be_tried_again() {
    let mut refused = 0;
    for bound in [Bound::Earliest, Bound::V110] {
        let bytes = file(bound);
        let old = seen(&bytes);
        for (name, edit) in EDITS.iter().filter(|(name, _)| !name.starts_with("space")) {
            for room in (0..6000).step_by(500) {
                let disk = Recorded::with_room(bytes.clone(), (bytes.len() + room) as u64);
                let mut editor = Editor::in_storage(Box::new(disk.clone()), &EditOptions::default()).unwrap();
                let done = edit(&mut editor).and_then(|()| editor.commit());
                if done.is_err() {
                    refused += 1;
                    assert_eq!(seen(&disk.bytes()), old, "{bound:?}, {name}, room for {room}");
                } else {
                    assert_ne!(seen(&disk.bytes()), old);
                }
            }
        }
    }
    println!("crash matrix: hdf5: links, objects and attributes: {refused} full disks");
    assert!(refused > 20);
}

#[test]
fn killed_editors_lose_nothing_that_was_committed() {
    const KILLS: u64 = 200;
    let program = example("edit_until_killed").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let start = Instant::now();
    let (mut reported, mut journals) = (0, 0);
    let mut random = 0x9E37_79B9_7F4A_7C15u64;
    for bound in [Bound::Earliest, Bound::V110] {
        let path = folder.path().join(format!("{bound:?}.h5"));
        std::fs::write(&path, file(bound)).unwrap();
        let mut last = 0;
        for round in 0..KILLS / 2 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let committed =
                killed(&program, &path, Duration::from_micros(random % 8000), round % 2 == 0).unwrap();
            let bytes = std::fs::read(&path).unwrap();
            journals += u64::from(sciformats_core::commit::journal::is_interrupted(&bytes[..]).unwrap());
            let found = check(&File::from_bytes(bytes).unwrap());
            assert!(found >= committed.max(last), "kill {round}: {committed} reported, {found} found");
            reported += committed.saturating_sub(last);
            last = found;
        }
    }
    println!("crash matrix: hdf5: links, objects and attributes: {KILLS} kills");
    println!(
        "{KILLS} kills in {:.1} s, {journals} within a journal: {reported} commits reported, 0 lost",
        start.elapsed().as_secs_f64()
    );
    assert!(reported > 0);
}

/// The number of the last commit, whose every part must be there.
fn check(file: &File) -> u64 {
    describe(file);
    let root = file.root().unwrap();
    let Ok(attribute) = root.attribute("commit") else { return 0 };
    let n = attribute.read::<u64>().unwrap()[0];
    let links = file.group("log").unwrap();
    // The program keeps the last ten datasets, each with its own number in every element and in an attribute.
    for i in n.saturating_sub(9).max(1)..=n {
        let dataset = links.dataset(&format!("d{i}")).unwrap();
        assert!(dataset.read::<u64>().unwrap().iter().all(|&value| value == i));
        assert_eq!(dataset.attribute("number").unwrap().read::<u64>().unwrap(), [i]);
    }
    assert_eq!(links.links().unwrap().len() as u64, n.min(10));
    n
}
