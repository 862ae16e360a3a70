//! What a change of a file keeps: what other programs have written meanwhile, damage that can be noticed, and comments.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking"
)]

use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use asdf_core::{
    Asdf, Checksum, Compression, Document, Error, External, Limits, NewArray, OpenOptions, ScalarType,
    StreamWriter, Update,
};

/// A file with comments and two arrays, of which the first is in the second block.
fn commented(path: &Path) {
    let mut document = Document::new();
    let text = "%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n# about the tree\n--- !core/asdf-1.1.0\n\
                # about the exposure\nexposure: 30.0  # in seconds\ntitle: 'a # b'\n...\n";
    document.add_block(vec![9u8; 40], Compression::None); // nothing refers to it
    document.set_array("a", NewArray::new(&[1u16, 2, 3], &[3]).unwrap()).unwrap();
    let array = document.tree_text().unwrap();
    let array = array.split_once("a: ").unwrap().1.trim_end_matches("...\n").to_owned();
    document.set_tree_text(text.replace("...\n", &format!("a: {array}...\n"))).unwrap();
    document.options_mut().tree_padding = Some(0);
    document.save(path).unwrap();
}

fn text(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap();
    let end = bytes.windows(5).position(|part| part == b"\n...\n").unwrap();
    String::from_utf8(bytes[..end].to_vec()).unwrap()
}

/// Overwrites a byte of a block in place, as a program does that asks for no lock.
fn change(path: &Path, block: usize, value: u8) {
    let at = Asdf::open(path).unwrap().block(block).unwrap().entry().data_offset();
    let mut file = std::fs::File::options().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(&[value]).unwrap();
}

#[test]
fn elements_that_another_program_has_changed_are_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.asdf");
    for is_saved in [false, true] {
        commented(&path);
        let mut document = Document::open(&path).unwrap();
        document.set("exposure", &"x".repeat(9000)).unwrap();
        std::thread::sleep(Duration::from_millis(50)); // more than the clock of a file system is coarse
        change(&path, 1, 77);
        let there = std::fs::read(&path).unwrap();
        let done = if is_saved { document.save(&path) } else { document.update().map(drop) };
        assert!(matches!(done, Err(Error::Conflict { .. })), "{done:?}");
        assert_eq!(std::fs::read(&path).unwrap(), there);
    }
    // Elements that stay where they are may change.
    commented(&path);
    let mut document = Document::open(&path).unwrap();
    document.set("exposure", &12.5).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    change(&path, 1, 77);
    assert!(matches!(document.update().unwrap(), Update::InPlace { .. }));
    assert_eq!(Asdf::open(&path).unwrap().array("a").unwrap().read::<u16>().unwrap(), [77, 2, 3]);
}

#[test]
fn a_file_that_has_changed_since_it_was_opened_is_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.asdf");
    for is_saved in [false, true] {
        commented(&path);
        let file = Asdf::open(&path).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        let mut other = Document::open(&path).unwrap();
        other.set("exposure", &12.5).unwrap();
        assert!(matches!(other.update().unwrap(), Update::InPlace { .. }));
        let there = std::fs::read(&path).unwrap();
        let mut document = Document::from_file(file); // its tree is the old one
        document.set("exposure", &99.5).unwrap();
        let done = if is_saved { document.save(&path) } else { document.update().map(drop) };
        assert!(matches!(done, Err(Error::Conflict { .. })), "{done:?}");
        assert_eq!(std::fs::read(&path).unwrap(), there);
    }
}

#[test]
fn a_damaged_block_gets_no_new_checksum() {
    for (compression, size) in
        [(Compression::None, 900), (Compression::Zlib, 900), (Compression::None, 3 << 20)]
    {
        let mut document = Document::new();
        let values: Vec<u8> = (0..size).map(|i| (i % 251 * (i % 7)) as u8).collect();
        let array = NewArray::new(&values, &[values.len() as u64]).unwrap().with_compression(compression);
        document.set_array("a", array).unwrap();
        let mut bytes = document.to_bytes().unwrap();
        let entry = Asdf::from_bytes(bytes.clone()).unwrap().block(0).unwrap().entry();
        bytes[(entry.data_offset() + entry.stored / 2) as usize] ^= 1;
        let damaged = || Document::from_file(Asdf::from_bytes(bytes.clone()).unwrap());
        for to in [Compression::None, Compression::Zlib, Compression::Lz4] {
            let mut document = damaged();
            document.recompress(to, None).unwrap();
            let error = document.to_bytes().unwrap_err();
            assert!(matches!(error, Error::Malformed { .. }), "{error}");
            assert_eq!(error.object(), Some("block 0"));
        }
        // A copy that keeps the checksum keeps the damage noticeable.
        let copy = Asdf::from_bytes(damaged().to_bytes().unwrap()).unwrap();
        assert_eq!(copy.block(0).unwrap().checksum().unwrap(), Checksum::Wrong);
        assert!(copy.array("a").unwrap().check().is_err());
    }
}

#[test]
fn comments_stay_unless_the_structure_changes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.asdf");
    commented(&path);
    let before = text(&path);
    assert!(before.contains("# about the tree") && before.contains("30.0  # in seconds"));

    // Other blocks, and other numbers of blocks.
    let mut document = Document::open(&path).unwrap();
    assert_eq!(document.tree().get_as::<i64>("a/source").unwrap(), 1);
    document.drop_unused_blocks();
    document.recompress(Compression::Zlib, None).unwrap();
    assert!(!document.drops_comments().unwrap());
    document.save(&path).unwrap();
    assert_eq!(text(&path), before.replace("source: 1", "source: 0"));
    assert_eq!(Asdf::open(&path).unwrap().array("a").unwrap().read::<u16>().unwrap(), [1, 2, 3]);

    // A value that is longer than the space for it.
    let mut document = Document::open(&path).unwrap();
    document.set("exposure", &"x".repeat(50)).unwrap();
    document.set("title", &"c # d").unwrap();
    document.update().unwrap();
    let expected = before.replace("source: 1", "source: 0").replace("30.0", &"x".repeat(50));
    assert_eq!(text(&path), expected.replace("'a # b'", "'c # d'"));

    // A comment alone.
    let mut document = Document::open(&path).unwrap();
    let more = document.tree_text().unwrap().replace("# in seconds", "# in seconds, which are long");
    document.set_tree_text(more.clone()).unwrap();
    assert_ne!(document.update().unwrap(), Update::Unchanged);
    assert_eq!(text(&path) + "\n...\n", text_of(&path, &more));
    assert_eq!(document.update().unwrap(), Update::Unchanged);

    let parts = document.explode(dir.path().join("b.asdf")).unwrap();
    assert_eq!(parts.len(), 1);
    assert!(text(&dir.path().join("b.asdf")).contains("which are long"));

    let mut document = Document::open(&path).unwrap();
    document.set("new", &1).unwrap();
    assert!(document.drops_comments().unwrap());
    document.update().unwrap();
    assert!(!text(&path).contains("seconds"));
    let mut document = Document::open(&path).unwrap();
    document.set("newer", &1).unwrap();
    assert!(!document.drops_comments().unwrap()); // `#` is only in a text
}

/// The header of a file, and a tree after it.
fn text_of(path: &Path, tree: &str) -> String {
    let there = text(path);
    there[..there.find("%YAML").unwrap()].to_owned() + tree
}

#[test]
fn the_last_block_needs_no_room_to_grow() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.asdf");
    let mut document = Document::new();
    document.set_array("a", NewArray::new(&[1u8; 100], &[100]).unwrap()).unwrap();
    document.set_array("b", NewArray::new(&[2u8; 100], &[100]).unwrap()).unwrap();
    document.options_mut().block_padding = 5000;
    document.options_mut().index = false;
    document.save(&path).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let last = Asdf::open(&path).unwrap().block(1).unwrap().entry();
    let used = (last.data_offset() + last.stored) as usize;
    for end in [used, used + 1, whole.len() - 1] {
        std::fs::write(&path, &whole[..end]).unwrap();
        let file = Asdf::open(&path).unwrap();
        assert!(file.verify().unwrap().is_empty(), "{end}");
        assert_eq!(file.array("b").unwrap().read::<u8>().unwrap(), [2; 100]);
        let mut document = Document::open(&path).unwrap();
        document.set_array("c", NewArray::new(&[3u8; 9], &[9]).unwrap()).unwrap();
        document.update().unwrap();
        let file = Asdf::open(&path).unwrap();
        assert!(file.verify().unwrap().is_empty(), "{end}");
        for (name, values) in [("a", vec![1; 100]), ("b", vec![2; 100]), ("c", vec![3; 9])] {
            assert_eq!(file.array(name).unwrap().read::<u8>().unwrap(), values, "{name} {end}");
        }
    }
    assert!(Asdf::from_bytes(&whole[..used - 1]).is_err());
    // What follows may be a block that a damaged size hides.
    let mut document = Document::from_file(Asdf::from_bytes(whole).unwrap());
    document.set_array("c", NewArray::new(&[3u8; 9], &[9]).unwrap()).unwrap();
    let mut damaged = document.to_bytes().unwrap();
    let second = Asdf::from_bytes(damaged.clone()).unwrap().block(1).unwrap().entry();
    damaged[second.offset as usize + 15] = 1;
    assert!(Asdf::from_bytes(damaged).is_err());
}

/// A document with this many blocks of 100 bytes, the first of 1, the second of 2 and so on, which are arrays if `are_named` is true.
fn blocks(count: u8, are_named: bool) -> Document {
    let mut document = Document::new();
    for value in 1..=count {
        if are_named {
            let array = NewArray::new(&[value; 100], &[100]).unwrap();
            document.set_array(&format!("a{value}"), array).unwrap();
        } else {
            document.add_block(vec![value; 100], Compression::None);
        }
    }
    document.set("note", "x").unwrap();
    document
}

fn offset_of(bytes: &[u8], block: usize) -> usize {
    Asdf::from_bytes(bytes).unwrap().block(block).unwrap().entry().offset as usize
}

#[test]
fn blocks_from_a_damaged_header_on_are_not_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let (path, other) = (dir.path().join("a.asdf"), dir.path().join("b.asdf"));
    for (count, damaged) in [(1, 0), (3, 0), (3, 1), (3, 2)] {
        for (are_named, has_index) in [(false, false), (false, true), (true, false), (true, true)] {
            let what = format!("block {damaged} of {count}, {are_named} {has_index}");
            let mut document = blocks(count, are_named);
            document.options_mut().index = has_index;
            let mut bytes = document.to_bytes().unwrap();
            let at = offset_of(&bytes, damaged);
            bytes[at] ^= 1;
            std::fs::write(&path, &bytes).unwrap();
            for note in ["y".to_owned(), "y".repeat(9000)] {
                let mut document = Document::open(&path).unwrap();
                document.set("note", &note).unwrap();
                assert!(matches!(document.update(), Err(Error::Malformed { .. })), "{what}");
                assert!(matches!(document.save(&path), Err(Error::Malformed { .. })), "{what}");
                assert!(document.to_bytes().is_err() && document.explode(&other).is_err(), "{what}");
            }
            assert_eq!(std::fs::read(&path).unwrap(), bytes, "{what}");
        }
    }
    assert!(!other.exists());
}

/// Lets the array at a path refer to a block by this number.
fn refer(document: &mut Document, path: &str, number: i32) {
    let array = document.tree().get(path).unwrap();
    let node = document.tree_mut().add_plain(number.to_string());
    document.tree_mut().insert(array, "source", node).unwrap();
}

fn check_blocks(file: &Asdf) {
    for value in 1..=3u8 {
        assert_eq!(file.array(&format!("a{value}")).unwrap().read::<u8>().unwrap(), [value; 100]);
    }
}

#[test]
fn numbers_that_count_from_the_last_block_keep_their_meaning() {
    let mut document = blocks(3, true);
    for (path, number) in [("a1", -3), ("a3", -1)] {
        refer(&mut document, path, number);
    }
    let mut bytes = document.to_bytes().unwrap();
    let open = |bytes: &[u8]| Document::from_file(Asdf::from_bytes(bytes).unwrap());
    let mut document = open(&bytes);
    document.add_block(vec![9u8; 3], Compression::None);
    document.set_array("new", NewArray::new(&[9u8; 5], &[5]).unwrap()).unwrap();
    check_blocks(&Asdf::from_bytes(document.to_bytes().unwrap()).unwrap());

    // A streamed block stays the last one, and others are put before it.
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.asdf");
    let mut rows =
        StreamWriter::create(&path, open(&bytes), "rows", &ScalarType::UInt8.into(), &[2]).unwrap();
    rows.append(&[7u8; 4]).unwrap();
    rows.finish().unwrap();
    check_blocks(&Asdf::open(&path).unwrap());
    let mut document = Document::open(&path).unwrap();
    refer(&mut document, "a3", -2);
    document.update().unwrap();
    check_blocks(&Asdf::open(&path).unwrap());
    let mut document = Document::open(&path).unwrap();
    document.set_array("new", NewArray::new(&[9u8; 5], &[5]).unwrap()).unwrap();
    document.update().unwrap();
    let file = Asdf::open(&path).unwrap();
    check_blocks(&file);
    assert_eq!(file.array("rows").unwrap().read::<u8>().unwrap(), [7; 4]);

    // Which block is the last one is not known if one is missing.
    let at = offset_of(&bytes, 1);
    bytes[at] ^= 1;
    let damaged = Asdf::from_bytes(bytes).unwrap();
    assert!(matches!(damaged.array("a3"), Err(Error::Malformed { .. })));
}

#[test]
fn files_of_blocks_have_names_that_lead_to_them_and_replace_no_other_block() {
    let dir = tempfile::tempdir().unwrap();
    let options = OpenOptions::default().with_external(External::SameFolder);
    for stem in ["main", "a#b", "50%41", "run:3", "two words?", "größe"] {
        let path = dir.path().join(format!("{stem}.asdf"));
        let mut document =
            Document::from_file(Asdf::from_bytes(blocks(1, true).to_bytes().unwrap()).unwrap());
        document.recompress(Compression::Zlib, None).unwrap();
        let parts = document.explode(&path).unwrap();
        assert_eq!(parts, [dir.path().join(format!("{stem}0000.asdf"))]);
        let part = std::fs::read(&parts[0]).unwrap();
        assert_eq!(
            Asdf::from_bytes(part.clone()).unwrap().block(0).unwrap().compression(),
            Compression::Zlib
        );
        // One array is in a file already, and the other one is not.
        let mut document = Document::open_with(&path, &options).unwrap();
        for value in [2u8, 3] {
            let array = NewArray::new(&[value; 100], &[100]).unwrap();
            document.set_array(&format!("a{value}"), array).unwrap();
        }
        assert!(matches!(document.explode(&path), Err(Error::Usage { argument: "path", .. })), "{stem}");
        assert_eq!(std::fs::read(&parts[0]).unwrap(), part);
        let other = dir.path().join("other.asdf");
        document.explode(&other).unwrap();
        check_blocks(&Asdf::open_with(&other, &options).unwrap());
        // Blocks that are taken in get another compression like all others.
        document.implode().unwrap();
        document.recompress(Compression::Bzp2, None).unwrap();
        let whole = Asdf::from_bytes(document.to_bytes().unwrap()).unwrap();
        check_blocks(&whole);
        assert!(whole.blocks().all(|block| block.compression() == Compression::Bzp2));
        document.explode(&path).unwrap();
        check_blocks(&Asdf::open_with(&path, &options).unwrap());
    }
}

#[test]
fn an_update_that_cannot_be_read_again_has_happened_and_is_no_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.asdf");
    for padding in [1 << 16, 0] {
        let mut made = Document::new();
        made.set_array("a", NewArray::new(&[1u8; 100], &[100]).unwrap()).unwrap();
        made.options_mut().tree_padding = Some(padding);
        made.save(&path).unwrap();
        let options = OpenOptions::default().with_limits(Limits::default().with_memory(20_000));
        let mut document = Document::open_with(&path, &options).unwrap();
        document.set("note", &"x".repeat(30_000)).unwrap();
        assert_eq!(document.update().unwrap() == Update::Rewritten, padding == 0);
        assert!(Asdf::open_with(&path, &options).is_err());
        let file = Asdf::open(&path).unwrap();
        assert_eq!(file.array("a").unwrap().read::<u8>().unwrap(), [1; 100]);
        assert!(file.tree().get("note").is_some());
        // The document goes on with its own contents, and does not change the file that it has not read.
        let there = std::fs::read(&path).unwrap();
        document.set("note", &"y").unwrap();
        assert!(matches!(document.update(), Err(Error::Conflict { .. })));
        assert_eq!(std::fs::read(&path).unwrap(), there);
    }
}

#[cfg(unix)]
#[test]
fn an_exploded_set_stays_whole_if_a_new_one_cannot_be_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.asdf");
    let document = |value: u8| {
        let mut document = Document::new();
        for name in ["a", "b", "c"] {
            document.set_array(name, NewArray::new(&[value; 100], &[100]).unwrap()).unwrap();
        }
        document
    };
    let parts = document(1).explode(&path).unwrap();
    let all = || parts.iter().chain([&path]).map(|path| std::fs::read(path).unwrap()).collect::<Vec<_>>();
    let there = all();
    let held = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    held.try_lock().unwrap();
    assert!(matches!(document(2).explode(&path), Err(Error::Conflict { .. })));
    assert_eq!(all(), there);
    drop(held);
    // A part that cannot be replaced is noticed before the first one is.
    let last = parts.last().unwrap();
    std::fs::remove_file(last).unwrap();
    std::fs::create_dir(last).unwrap();
    assert!(document(2).explode(&path).is_err());
    std::fs::remove_dir(last).unwrap();
    std::fs::write(last, &there[2]).unwrap();
    assert_eq!(all(), there);
    document(2).explode(&path).unwrap();
    let options = OpenOptions::default().with_external(External::SameFolder);
    let file = Asdf::open_with(&path, &options).unwrap();
    assert_eq!(file.array("c").unwrap().read::<u8>().unwrap(), [2; 100]);
}

#[test]
fn an_older_exploded_set_is_never_mixed_with_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("set.asdf");
    let arrays = 260u16; // more than wait for each other
    let document = |seed: u16| {
        let mut document = Document::new();
        for number in 0..arrays {
            let array = NewArray::new(&[seed, number], &[2]).unwrap();
            document.set_array(&format!("a{number}"), array).unwrap();
        }
        document
    };
    let options = || OpenOptions::default().with_external(External::SameFolder);
    let seen = || {
        let file = Asdf::open_with(&path, &options()).unwrap();
        (0..arrays)
            .map(|n| file.array(&format!("a{n}")).unwrap().read::<u16>().unwrap()[0])
            .collect::<Vec<_>>()
    };
    let parts = document(1).explode(&path).unwrap();
    assert_eq!(seen(), vec![1; arrays.into()]);
    // The last blocks cannot be written.
    std::fs::remove_file(parts.last().unwrap()).unwrap();
    std::fs::create_dir(parts.last().unwrap()).unwrap();
    assert!(document(2).explode(&path).is_err());
    assert_eq!(seen(), vec![2; arrays.into()]);
    assert!(Document::open(&path).unwrap().other_files().is_empty());
    std::fs::remove_dir(parts.last().unwrap()).unwrap();
    document(3).explode(&path).unwrap();
    assert_eq!(seen(), vec![3; arrays.into()]);
    assert_eq!(Document::open(&path).unwrap().other_files().len(), usize::from(arrays));
}

#[test]
fn what_follows_the_last_block_of_a_file_is_not_removed_by_an_update() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.asdf");
    let mut document = Document::new();
    document.set_array("image", NewArray::new(&[1u16, 2, 3], &[3]).unwrap()).unwrap();
    document.options_mut().tree_padding = Some(2000);
    let whole = document.to_bytes().unwrap();
    let index = whole.windows(17).rposition(|part| part == b"#ASDF BLOCK INDEX").unwrap();
    for sound in [&whole[..], &whole[..index]] {
        let file = [sound, b"a signature of somebody else"].concat();
        std::fs::write(&path, &file).unwrap();
        let edits: [fn(&mut Document); 2] = [
            |d| d.set("observer", &"Vera").map(drop).unwrap(),
            |d| d.set_array("more", NewArray::new(&[1u8], &[1]).unwrap()).map(drop).unwrap(),
        ];
        for edit in edits {
            let mut document = Document::open(&path).unwrap();
            edit(&mut document);
            let error = document.update().unwrap_err();
            assert!(error.to_string().contains("file ends with 28 bytes"), "{error}");
            assert!(std::fs::read(&path).unwrap() == file);
        }
        let mut document = Document::open(&path).unwrap();
        document.set("observer", &"Vera").unwrap();
        document.save(&path).unwrap();
        let mut document = Document::open(&path).unwrap();
        document.set("observer", &"Cecilia Payne").unwrap();
        document.update().unwrap();
    }
}

/// A file that another program has updated: the tree has grown over the first block, and the index still lists it.
fn overgrown(left: usize) -> Vec<u8> {
    let mut document = Document::new();
    for name in ["first", "second"].iter().take(left + 1) {
        document.set_array(name, NewArray::new(&[7u16; 500], &[500]).unwrap()).unwrap();
    }
    let old = document.to_bytes().unwrap();
    let block = old.windows(4).position(|part| part == b"\xd3BLK").unwrap();
    let tree = format!("#ASDF 1.0.0\n%YAML 1.1\n---\nnote: {}\n...\n", "x".repeat(block));
    let mut bytes = tree.into_bytes();
    bytes.extend_from_slice(&old[bytes.len()..]);
    bytes
}

#[test]
fn an_index_of_blocks_that_the_tree_has_overwritten_is_named_and_goes_with_an_update() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.asdf");
    for left in [0, 1] {
        let bytes = overgrown(left);
        std::fs::write(&path, &bytes).unwrap();
        let file = Asdf::open(&path).unwrap();
        assert_eq!(file.blocks().len(), left);
        let findings = file.verify().unwrap();
        assert!(findings.iter().all(|finding| !finding.is_error()), "{findings:?}");
        let first = findings[0].to_string();
        assert!(first.contains("begins with blocks that the tree has overwritten"), "{first}");

        let mut document = Document::open(&path).unwrap();
        document.set("new", &"y".repeat(3)).unwrap();
        document.update().unwrap();
        let file = Asdf::open(&path).unwrap();
        assert!(file.verify().unwrap().is_empty());
        assert_eq!(file.tree().get_as::<String>("new").unwrap(), "yyy");
        assert_eq!(file.blocks().len(), left);
        for block in file.blocks() {
            assert_eq!(*block.data().unwrap(), 7u16.to_le_bytes().repeat(500)[..]);
        }

        // Bytes of somebody else at the end are still kept.
        std::fs::write(&path, [&bytes[..], b"a signature of somebody else"].concat()).unwrap();
        let mut document = Document::open(&path).unwrap();
        document.set("new", &"y".repeat(3)).unwrap();
        document.update().unwrap_err();
    }
    // An index that names a block behind the tree says that its header is damaged.
    let mut bytes = overgrown(1);
    let second = bytes.windows(4).rposition(|part| part == b"\xd3BLK").unwrap();
    bytes[second] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    assert!(Asdf::open(&path).unwrap().verify().unwrap().len() > 1);
    let mut document = Document::open(&path).unwrap();
    document.set("new", &"y".repeat(3)).unwrap();
    assert!(document.update().unwrap_err().to_string().contains("is damaged"));
    assert!(std::fs::read(&path).unwrap() == bytes);
}
