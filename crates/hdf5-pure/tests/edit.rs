//! Edits files of every bound, and checks that they have the intended contents afterwards.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::description::{Description, describe};
use hdf5_pure::options::{Bound, FileSpace};
use hdf5_pure::storage::Storage;
use hdf5_pure::values::Committed;
use hdf5_pure::{CreateOptions, Datatype, EditOptions, Editor, Error, File, Result, Writer};

const BOUNDS: [Bound; 3] = [Bound::Earliest, Bound::V18, Bound::V110];

/// Returns the bytes of a file with something of everything.
fn file(bound: Bound, track_order: bool) -> Vec<u8> {
    let options = CreateOptions::default().with_bound(bound).with_track_order(track_order);
    let mut file = Writer::in_memory(&options).unwrap();
    file.root().attribute("title", "before").unwrap();
    let u = file.dataset("fields/u").attribute("units", "m/s").write(&[1.5, 2.5, 3.5]).unwrap();
    file.dataset("fields/chunked")
        .chunks([3])
        .max_shape([None])
        .shape([10])
        .write(&(0..10).collect::<Vec<i32>>())
        .unwrap();
    file.dataset("fields/text").write(&["eins", "zwei"]).unwrap();
    file.root().hard_link("alias", u).unwrap().soft_link("soft", "/fields/u").unwrap();
    for i in 0..20 {
        file.group(&format!("many/g{i:02}")).unwrap().attribute("i", i).unwrap();
    }
    for i in 0..20 {
        file.group("described").unwrap().attribute(&format!("a{i:02}"), i).unwrap();
    }
    file.into_bytes().unwrap()
}

/// Edits bytes in a file of their own. Returns what the editor saw before the commit, and the file afterwards.
fn edited(bytes: Vec<u8>, edit: impl FnOnce(&mut Editor) -> Result<()>) -> (Description, Vec<u8>) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let mut editor = Editor::open(file.path()).unwrap();
    edit(&mut editor).unwrap();
    let pending = describe(&editor.file().unwrap());
    editor.commit().unwrap();
    drop(editor);
    let bytes = std::fs::read(file.path()).unwrap();
    assert_eq!(describe(&File::from_bytes(bytes.clone()).unwrap()), pending);
    (pending, bytes)
}

#[test]
fn links_and_attributes_of_files_of_every_bound() {
    for (bound, tracked) in BOUNDS.into_iter().flat_map(|bound| [(bound, false), (bound, true)]) {
        let bytes = file(bound, tracked);
        let mut expected = describe(&File::from_bytes(bytes.clone()).unwrap());
        let (found, _) = edited(bytes, |editor| {
            editor.root().attribute("title", "after")?.attribute("new", [1u8, 2])?;
            editor.object("fields/u")?.remove_attribute("units")?.attribute("long_name", "speed")?;
            editor.object("described")?.rename_attribute("a07", "seven")?.remove_attribute("a08")?;
            editor.move_link("many/g00", "first")?;
            editor.unlink("many/g01")?;
            editor.group("made")?.attribute("x", 3)?.soft_link("s", "/first")?;
            editor.dataset("made/data").attribute("y", 4).write(&[7i64])?;
            editor.unlink("alias")
        });
        let root = found["/"].clone();
        assert!(root.contains("new=Ok([1, 2])"), "{bound:?}: {root}");
        assert!(found["/described"].contains("seven=") && !found["/described"].contains("a08="), "{bound:?}");
        for gone in ["/", "/described", "/many/g00", "/many/g01", "/alias", "/fields/u"] {
            expected.remove(gone);
        }
        assert!(found["/fields/u"].starts_with("dataset 1"), "{}", found["/fields/u"]);
        assert!(found["/fields/u"].contains("long_name=") && !found["/fields/u"].contains("units="));
        for (path, text) in &expected {
            assert_eq!(found.get(path), Some(text), "{bound:?}: {path}");
        }
        assert!(found["/first"].starts_with("group 1 i="));
        assert_eq!(found["/made/s"], "soft /first");
        assert!(found["/made/data"].starts_with("dataset 1"));
        assert_eq!(found.len(), expected.len() + 7, "{bound:?}: {found:#?}");
    }
}

#[test]
fn groups_and_attributes_turn_dense_and_back() {
    for (bound, tracked) in BOUNDS.into_iter().flat_map(|bound| [(bound, false), (bound, true)]) {
        let bytes = file(bound, tracked);
        let (_, bytes) = edited(bytes, |editor| {
            for i in 0..1000 {
                editor.group("many")?.soft_link(&format!("s{i}"), &format!("/target {i}"))?;
                editor.object("fields/u")?.attribute(&format!("a{i}"), i)?;
            }
            Ok(())
        });
        let read = File::from_bytes(bytes.clone()).unwrap();
        assert_eq!(read.group("many").unwrap().links().unwrap().len(), 1020);
        assert_eq!(read.dataset("fields/u").unwrap().attributes().unwrap().len(), 1001);
        let (_, bytes) = edited(bytes, |editor| {
            for i in 0..1000 {
                editor.unlink(&format!("many/s{i}"))?;
                editor.object("fields/u")?.remove_attribute(&format!("a{i}"))?;
            }
            for i in 3..20 {
                editor.unlink(&format!("many/g{i:02}"))?;
            }
            Ok(())
        });
        let read = File::from_bytes(bytes).unwrap();
        let many = read.group("many").unwrap();
        assert_eq!(many.links().unwrap().len(), 3, "{bound:?}");
        let u = read.dataset("fields/u").unwrap();
        assert_eq!(u.attribute("units").unwrap().read::<String>().unwrap(), ["m/s"]);
        assert_eq!(u.attributes().unwrap().len(), 1);
    }
}

#[test]
fn an_attribute_of_any_size_has_a_place() {
    for bound in BOUNDS {
        let long: Vec<u32> = (0..50_000).collect();
        let (_, bytes) = edited(file(bound, false), |editor| {
            editor.object("fields/u")?.attribute("long", &long)?;
            editor.root().attribute("long", &long)?;
            Ok(())
        });
        let (_, bytes) = edited(bytes, |editor| editor.object("fields/u")?.attribute("short", 1).map(|_| ()));
        let read = File::from_bytes(bytes).unwrap();
        let u = read.dataset("fields/u").unwrap();
        assert_eq!(u.attribute("long").unwrap().read::<u32>().unwrap(), long, "{bound:?}");
        assert_eq!(u.attributes().unwrap().len(), 3, "no attribute is lost beside a long one");
        assert_eq!(read.root().unwrap().attribute("long").unwrap().read::<u32>().unwrap(), long);
    }
}

/// Committed datatypes count the attributes that use them as links, and are removed with the last one.
#[test]
fn attributes_of_a_committed_datatype() {
    for bound in BOUNDS {
        let (found, bytes) = edited(file(bound, false), |editor| {
            let seconds = editor.root().commit("seconds", &Datatype::float64())?;
            editor.object("fields/u")?.attribute("at", Committed { datatype: seconds, value: 1.5f32 })?;
            editor.commit()?;
            let seconds = editor.id("seconds")?;
            editor.root().attribute("at", Committed { datatype: seconds, value: [2i64, 3] })?;
            editor
                .dataset("new")
                .attribute("at", Committed { datatype: seconds, value: 4.0 })
                .write(&[1])
                .map(drop)
        });
        assert!(found["/seconds"].starts_with("datatype 4 "), "{bound:?}: {}", found["/seconds"]);
        let read = File::from_bytes(bytes.clone()).unwrap();
        assert_eq!(read.root().unwrap().attribute("at").unwrap().read::<f64>().unwrap(), [2.0, 3.0]);
        assert_eq!(read.dataset("new").unwrap().attribute("at").unwrap().read::<f64>().unwrap(), [4.0]);
        let (found, bytes) = edited(bytes, |editor| {
            editor.root().remove_attribute("at")?;
            editor.unlink("new")?;
            editor.object("fields/u")?.rename_attribute("at", "when").map(drop)
        });
        assert!(found["/seconds"].starts_with("datatype 2 "), "{bound:?}: {}", found["/seconds"]);
        let (_, bytes) = edited(bytes, |editor| editor.unlink("seconds"));
        let read = File::from_bytes(bytes.clone()).unwrap();
        let u = read.dataset("fields/u").unwrap();
        assert_eq!(u.attribute("when").unwrap().read::<f64>().unwrap(), [1.5], "{bound:?}");
        let mut editor = Editor::in_storage(storage(bytes), &EditOptions::default()).unwrap();
        let before = editor.unaccounted().unwrap();
        editor.object("fields/u").unwrap().remove_attribute("when").unwrap();
        editor.commit().unwrap();
        assert!(editor.unaccounted().unwrap() <= before, "{bound:?}: the datatype is gone");
    }
}

#[test]
fn soft_links_stay_soft_links() {
    for bound in BOUNDS {
        let (found, _) = edited(file(bound, false), |editor| {
            editor.move_link("soft", "elsewhere/still soft")?;
            editor.root().soft_link("dangling", "/nowhere")?.external_link("outside", "other.h5", "/x")?;
            Ok(())
        });
        assert_eq!(found["/elsewhere/still soft"], "soft /fields/u", "{bound:?}");
        assert_eq!(found["/dangling"], "soft /nowhere");
        assert_eq!(found["/outside"], "external other.h5 /x");
        assert!(found["/alias"].starts_with("dataset 2"));
    }
}

#[test]
fn objects_are_made_through_soft_links() {
    for bound in BOUNDS {
        let (found, _) = edited(file(bound, false), |editor| {
            editor.root().soft_link("to", "/fields")?.soft_link("nowhere", "/none")?;
            editor.group("to/inner/deep")?;
            editor.move_link("to/inner", "to/moved")?;
            assert!(matches!(editor.group("nowhere/x"), Err(Error::NotFound { .. })));
            Ok(())
        });
        assert!(found.contains_key("/fields/moved/deep"), "{bound:?}");
        assert!(!found.contains_key("/none"));
    }
}

#[test]
fn what_is_unlinked_gives_its_space_back() {
    for bound in BOUNDS {
        let mut file = Writer::in_memory(&CreateOptions::default().with_bound(bound)).unwrap();
        file.dataset("keep").write(&[1, 2, 3]).unwrap();
        let bytes = file.into_bytes().unwrap();
        let values: Vec<f64> = (0..100_000).map(f64::from).collect();
        let (_, large) = edited(bytes.clone(), |editor| {
            editor.dataset("a/contiguous").write(&values)?;
            editor.dataset("a/chunked").chunks([1000]).max_shape([None]).write(&values)?;
            for i in 0..100 {
                editor.group("a")?.attribute(&format!("{i}"), i)?.group(&format!("g{i}"))?;
            }
            Ok(())
        });
        assert!(large.len() > 1_600_000);
        // The new links of the root group are at the end of the file, until the next commit finds room before them.
        let (found, small) = edited(large, |editor| {
            editor.unlink("a")?;
            editor.commit()?;
            editor.root().soft_link("b", "keep").map(|_| ())
        });
        assert_eq!(found.len(), 3);
        assert!(small.len() < bytes.len() + 2048, "{bound:?}: {} after, {} before", small.len(), bytes.len());
    }
}

#[test]
fn space_is_used_again_within_a_session() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut writer = Writer::in_memory(&CreateOptions::default()).unwrap();
    writer.dataset("keep").write(&[1]).unwrap();
    std::fs::write(file.path(), writer.into_bytes().unwrap()).unwrap();
    let mut editor = Editor::open(file.path()).unwrap();
    let values = vec![7u8; 50_000];
    for round in 0..20 {
        editor.dataset("data").write(&values).unwrap();
        editor.commit().unwrap();
        editor.unlink("data").unwrap();
        if round % 2 == 0 {
            editor.commit().unwrap();
        }
    }
    let len = || file.as_file().metadata().unwrap().len();
    assert!(len() < 2000 + 2 * 50_000, "{}", len());
    editor.commit().unwrap();
    assert!(len() < 2000, "{}", len());
}

#[test]
fn texts_fill_their_heap_across_views_and_commits() {
    let bytes = Writer::in_memory(&CreateOptions::default()).unwrap().into_bytes().unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let mut editor = Editor::open(file.path()).unwrap();
    let text = |i: usize| if i.is_multiple_of(10) { "long".repeat(5000) } else { format!("text {i}") };
    for i in 0..200 {
        editor.root().attribute(&format!("a{i:03}"), text(i)).unwrap();
        match i % 2 {
            0 => assert_eq!(editor.file().unwrap().root().unwrap().attributes().unwrap().len(), i + 1),
            _ => editor.commit().unwrap(),
        }
    }
    editor.close().unwrap();
    let len = file.as_file().metadata().unwrap().len();
    assert!(len < 20 * 20_100 + 40_000, "{len}");
    let file = File::open(file.path()).unwrap();
    for i in 0..200 {
        let attribute = file.root().unwrap().attribute(&format!("a{i:03}")).unwrap();
        assert_eq!(attribute.read::<String>().unwrap(), [text(i)]);
    }
}

#[test]
fn an_editor_that_is_dropped_leaves_the_last_commit() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), self::file(Bound::V110, false)).unwrap();
    let before = describe(&File::open(file.path()).unwrap());
    let mut editor = Editor::open(file.path()).unwrap();
    editor.dataset("new").write(&vec![1u8; 100_000]).unwrap();
    editor.unlink("fields").unwrap();
    editor.file().unwrap();
    drop(editor);
    assert_eq!(describe(&File::open(file.path()).unwrap()), before);
    let mut editor = Editor::open(file.path()).unwrap();
    editor.root().attribute("x", 1).unwrap();
    editor.commit().unwrap();
    drop(editor);
    assert_eq!(describe(&File::open(file.path()).unwrap()).len(), before.len());
}

#[test]
fn what_cannot_be_done_is_an_error_before_anything_changes() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let bytes = self::file(Bound::V110, false);
    std::fs::write(file.path(), &bytes).unwrap();
    let mut editor = Editor::open(file.path()).unwrap();
    assert!(matches!(editor.unlink("nothing"), Err(Error::NotFound { .. })));
    assert!(matches!(editor.move_link("fields", "many"), Err(Error::Usage { .. })));
    for into_itself in ["fields/x", "/fields/new/x"] {
        assert!(matches!(editor.move_link("fields", into_itself), Err(Error::Usage { .. })));
    }
    assert!(matches!(editor.object("fields/u").unwrap().remove_attribute("x"), Err(Error::NotFound { .. })));
    assert!(matches!(editor.root().attribute("", 1), Err(Error::Usage { .. })));
    assert!(matches!(editor.root().soft_link("fields", "x"), Err(Error::Usage { .. })));
    assert!(editor.dataset("fields/u").write(&[1]).is_err());
    assert!(editor.dataset("fields/u/below").write(&[1]).is_err());
    editor.commit().unwrap();
    drop(editor);
    assert_eq!(std::fs::read(file.path()).unwrap(), bytes, "not a byte has changed");
}

#[test]
fn object_ids_outlive_commits_and_removed_ones_are_refused() {
    let mut editor = Editor::in_storage(storage(file(Bound::V110, true)), &EditOptions::default()).unwrap();
    let data = editor.dataset("d").write(&[1]).unwrap();
    editor.commit().unwrap();
    editor.attribute(data, "x", 1).unwrap();
    editor.root().hard_link("again", data).unwrap();
    editor.unlink("d").unwrap();
    editor.commit().unwrap();
    let file = editor.file().unwrap();
    assert_eq!(file.dataset("again").unwrap().attribute("x").unwrap().read::<i32>().unwrap(), [1]);
    editor.unlink("again").unwrap();
    editor.commit().unwrap();
    assert!(matches!(editor.attribute(data, "x", 2), Err(Error::Usage { .. })));
}

fn storage(bytes: Vec<u8>) -> Box<dyn Storage> {
    Box::new(bytes)
}

#[test]
fn a_user_block_stays() {
    let options = CreateOptions::default().with_user_block(vec![b'u'; 512]);
    let mut writer = Writer::in_memory(&options).unwrap();
    writer.dataset("d").write(&[1, 2]).unwrap();
    let (found, bytes) = edited(writer.into_bytes().unwrap(), |editor| {
        editor.dataset("e").write(&[3])?;
        editor.root().attribute("x", 1).map(|_| ())
    });
    assert_eq!(found.len(), 3);
    assert_eq!(bytes[..512], [b'u'; 512]);
}

#[test]
fn a_file_has_one_editor() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), self::file(Bound::V110, false)).unwrap();
    let first = Editor::open(file.path()).unwrap();
    assert!(matches!(Editor::open(file.path()), Err(Error::Conflict { .. })));
    drop(first);
    Editor::open(file.path()).unwrap();
}

/// Returns a file that tracks its free space, and whose superblock extension has a continuation, as the library often writes it.
fn with_continued_extension() -> Vec<u8> {
    let options = CreateOptions::default().with_file_space(FileSpace::Tracked);
    let mut file = Writer::in_memory(&options).unwrap();
    file.dataset("old").write(&[1u8; 3000]).unwrap();
    file.dataset("kept").write(&[1u8; 100]).unwrap();
    let mut bytes = file.into_bytes().unwrap();
    let number = |bytes: &[u8], at: usize, len: usize| {
        bytes[at..at + len].iter().rev().fold(0usize, |number, &byte| number << 8 | usize::from(byte))
    };
    let seal = |part: &mut Vec<u8>| part.extend(hdf5_pure::structure::checksum(part).to_le_bytes());
    // The prefix has seven bytes, and the first message is the one about free space.
    let first = number(&bytes, 20, 8) + 7;
    let message = bytes[first..first + 4 + number(&bytes, first + 1, 2)].to_vec();
    let mut more = b"OCHK".to_vec();
    more.extend(message);
    seal(&mut more);
    let (header, continuation) = (bytes.len(), bytes.len() + 31);
    let mut start = b"OHDR\x02\0\x14\x10\x10\0\0".to_vec();
    start.extend((continuation as u64).to_le_bytes());
    start.extend((more.len() as u64).to_le_bytes());
    seal(&mut start);
    bytes.extend([start, more].concat());
    let end = bytes.len() as u64;
    bytes[20..28].copy_from_slice(&(header as u64).to_le_bytes());
    bytes[28..36].copy_from_slice(&end.to_le_bytes());
    let sum = hdf5_pure::structure::checksum(&bytes[..44]);
    bytes[44..48].copy_from_slice(&sum.to_le_bytes());
    bytes
}

#[test]
fn what_is_told_to_be_free_is_not_in_use() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), with_continued_extension()).unwrap();
    let mut editor = Editor::open(file.path()).unwrap();
    editor.unlink("old").unwrap();
    editor.close().unwrap();
    for round in 0..3 {
        let mut editor = Editor::open(file.path()).unwrap();
        editor.root().attribute("touched", vec![17u8; 400 * (3 - round)]).unwrap();
        editor.close().unwrap();
        let file = File::open(file.path()).unwrap();
        file.check_space().unwrap();
        assert!(file.free_space().unwrap().iter().any(|section| section.size >= 1000));
    }
}

#[test]
fn a_group_is_not_moved_into_itself_along_a_soft_link() {
    let mut made = Writer::in_memory(&CreateOptions::default()).unwrap();
    made.dataset("a/inner/x").write(&[1, 2]).unwrap();
    made.root().soft_link("to a", "/a").unwrap();
    made.root().soft_link("further", "to a/./inner").unwrap();
    made.root().soft_link("round", "round").unwrap();
    let refused = |moved: Result<(), Error>| matches!(moved, Err(Error::Usage { argument: "path", .. }));
    let inside = ["to a/b", "further/b", "to a/new/b"];
    for to in inside {
        assert!(refused(made.root().move_link("a", to).map(drop)), "{to}");
    }
    let bytes = made.into_bytes().unwrap();
    let mut editor = Editor::in_storage(Box::new(bytes), &EditOptions::default()).unwrap();
    for to in inside {
        assert!(refused(editor.move_link("a", to)), "{to}");
    }
    assert!(editor.move_link("a", "round/b").is_err());
    editor.move_link("a/inner", "to a/within").unwrap();
    editor.commit().unwrap();
    let file = editor.file().unwrap();
    assert_eq!(file.dataset("a/within/x").unwrap().read::<i32>().unwrap(), [1, 2]);
}

#[test]
fn an_empty_comment_is_none() {
    let mut made = Writer::in_memory(&CreateOptions::default()).unwrap();
    made.dataset("x").comment("why").write(&[1]).unwrap();
    made.root().comment("what").unwrap().comment("").unwrap();
    let mut editor =
        Editor::in_storage(Box::new(made.into_bytes().unwrap()), &EditOptions::default()).unwrap();
    let comment = |editor: &mut Editor, path: &str| {
        let file = editor.file().unwrap();
        let node = file.object(path).unwrap();
        file.object_info(node.address()).unwrap().comment
    };
    assert_eq!(comment(&mut editor, "/"), None);
    assert_eq!(comment(&mut editor, "x"), Some("why".into()));
    editor.object("x").unwrap().comment("").unwrap();
    editor.commit().unwrap();
    assert_eq!(comment(&mut editor, "x"), None);
}

#[test]
fn an_identifier_never_means_another_object() {
    let made = Writer::in_memory(&CreateOptions::default()).unwrap().into_bytes().unwrap();
    let mut editor = Editor::in_storage(Box::new(made), &EditOptions::default()).unwrap();
    let mut removed = Vec::new();
    for round in 0..3 {
        // Of an object whose address was asked for, the space is used again.
        let a = editor.dataset("a").attribute("round", round).write(&[1, 2, 3]).unwrap();
        editor.reference(a).unwrap();
        let is_stored = round == 1;
        if is_stored {
            editor.commit().unwrap();
        }
        editor.unlink("a").unwrap();
        assert!(editor.dataset("b").shape([9]).write(&[1, 2, 3]).is_err());
        let b = editor.dataset("b").write(&[4, 5, 6]).unwrap();
        assert_ne!(a, b);
        if round == 2 {
            // Before the removal is written, the object may get a link again.
            editor.root().hard_link("again", a).unwrap();
        }
        editor.commit().unwrap();
        let c = editor.dataset("c").write(&[7, 8, 9]).unwrap();
        editor.reference(c).unwrap();
        if round < 2 {
            removed.push(a);
        }
        for &gone in &removed {
            let refused = [
                editor.attribute(gone, "x", 1),
                editor.comment(gone, "x"),
                editor.open_id(gone).map(drop),
                editor.reference(gone).map(drop),
                editor.root().hard_link("x", gone).map(drop),
            ];
            assert!(
                refused.iter().all(|one| matches!(one, Err(Error::Usage { .. }))),
                "{round}: {refused:?}"
            );
        }
        editor.commit().unwrap();
        let file = editor.file().unwrap();
        for (name, elements) in [("b", [4, 5, 6]), ("c", [7, 8, 9])] {
            let dataset = file.dataset(name).unwrap();
            assert_eq!(
                (dataset.read::<i32>().unwrap(), dataset.attributes().unwrap().len()),
                (elements.into(), 0)
            );
        }
        editor.unlink("b").unwrap();
        editor.unlink("c").unwrap();
        removed.extend([b, c]);
        editor.commit().unwrap();
    }
    let file = editor.file().unwrap();
    assert_eq!(file.dataset("again").unwrap().attribute("round").unwrap().read::<i32>().unwrap(), [2]);
    assert_eq!(file.root().unwrap().links().unwrap().len(), 1);
}

#[test]
fn an_attribute_with_another_value_keeps_its_place() {
    for count in [5, 40] {
        let options = CreateOptions::default().with_bound(Bound::LATEST).with_track_order(true);
        let mut file = Writer::in_memory(&options).unwrap();
        for i in 0..count {
            file.root().attribute(&format!("a{i:02}"), i).unwrap();
        }
        let order = |bytes: &[u8]| {
            let mut found = File::from_bytes(bytes.to_vec()).unwrap().root().unwrap().attributes().unwrap();
            found.sort_by_key(hdf5_pure::Attribute::creation_order);
            let of = |found: &hdf5_pure::Attribute| {
                (found.name().map(|name| name.as_bytes().to_vec()), found.creation_order())
            };
            found.iter().map(of).collect::<Vec<_>>()
        };
        let bytes = file.into_bytes().unwrap();
        let mut wanted = order(&bytes);
        let (_, bytes) = edited(bytes, |editor| {
            editor.root().attribute("a03", "a text")?.attribute("new", 1)?;
            Ok(())
        });
        wanted.push((Some(b"new".to_vec()), Some(u32::try_from(count).unwrap())));
        assert_eq!(order(&bytes), wanted);
    }
}

#[test]
fn an_attribute_is_replaced_any_number_of_times() {
    const TIMES: i32 = 66_000;
    for bound in [Bound::Earliest, Bound::V110] {
        let (_, bytes) = edited(file(bound, false), |editor| {
            for i in 0..TIMES {
                let mut u = editor.object("fields/u")?;
                u.attribute("again", i)?.remove_attribute("again")?;
            }
            editor.object("fields/u")?.attribute("again", TIMES).map(drop)
        });
        let u = File::from_bytes(bytes).unwrap().dataset("fields/u").unwrap();
        assert_eq!(u.attribute("again").unwrap().read::<i32>().unwrap(), [TIMES]);
    }
}
