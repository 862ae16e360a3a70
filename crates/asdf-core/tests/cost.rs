//! The cost of opening, reading and changing files. Reads are counted in files of two sizes, and a result must not depend on
//! what was left unread or unparsed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use asdf_core::structure::IndexState;
use asdf_core::yaml::CollectionStyle;
use asdf_core::*;
use proptest::prelude::*;

/// Bytes that count how often and how many of them are read.
#[derive(Clone, Default)]
struct Counted {
    bytes: Arc<Vec<u8>>,
    reads: Arc<AtomicU64>,
    read: Arc<AtomicU64>,
}

impl Counted {
    fn new(bytes: Vec<u8>) -> Self {
        Self { bytes: Arc::new(bytes), ..Self::default() }
    }

    fn open(&self) -> Result<Asdf> {
        Asdf::from_storage(self.clone(), &OpenOptions::default())
    }
}

impl ReadAt for Counted {
    fn size(&self) -> u64 {
        ReadAt::size(&*self.bytes)
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        self.reads.fetch_add(1, Relaxed);
        self.read.fetch_add(len as u64, Relaxed);
        Ok(Cow::Owned(self.bytes.read_at(offset, len)?.into_owned()))
    }
}

fn blocks(count: u32) -> Vec<u8> {
    let mut document = Document::new();
    for block in 0..count {
        document.add_block(block.to_le_bytes().repeat(25), Compression::None);
    }
    document.to_bytes().unwrap()
}

fn offsets(bytes: &[u8]) -> Vec<usize> {
    Asdf::from_bytes(bytes).unwrap().layout().blocks.iter().map(|b| b.offset as usize).collect()
}

#[test]
fn one_block_of_many_is_read_without_the_headers_of_the_others() {
    let costs = [1_000, 20_000].map(|count| {
        let storage = Counted::new(blocks(count));
        let file = storage.open().unwrap();
        assert_eq!(file.block_count(), count as usize);
        let middle = count / 2;
        assert_eq!(*file.block(middle as usize).unwrap().data().unwrap(), middle.to_le_bytes().repeat(25));
        let first = storage.reads.load(Relaxed);
        assert!(file.block(count as usize).is_err());
        // All headers are read if all are requested.
        assert_eq!(file.layout().blocks.len(), count as usize);
        assert!(matches!(file.layout().index, IndexState::Valid(_)));
        assert!(storage.reads.load(Relaxed) > first + u64::from(count));
        first
    });
    // The second index is longer than the first piece that is read; its text is read in pieces that double in size.
    assert!(costs[0] < 80 && costs[1] <= costs[0] + 3, "{costs:?}");
}

#[test]
fn an_index_that_is_wrong_somewhere_is_not_followed() {
    let bytes = blocks(100);
    let places = offsets(&bytes);
    let text = String::from_utf8_lossy(&bytes[places[99] + 54..]).into_owned();
    let replaced = |from: String, to: String| {
        assert_eq!(from.len(), to.len());
        let at = bytes.len() - text.len() + text.find(&from).unwrap();
        let mut bytes = bytes.clone();
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        bytes
    };
    let entry = |i: usize| format!("- {}\n", places[i]);
    let moved = |i: usize, by: usize| format!("- {}\n", places[i] + by);
    for (what, wrong) in [
        ("first", replaced(entry(0), moved(0, 1))),
        ("walked", replaced(entry(20), moved(20, 1))),
        ("middle", replaced(entry(60), moved(60, 1))),
        ("last", replaced(entry(99), moved(99, 1))),
        ("descending", replaced(entry(50), entry(49))),
    ] {
        let file = Asdf::from_bytes(wrong).unwrap();
        for block in [0, 60, 59, 99] {
            let data = file.block(block).unwrap().data().unwrap().into_owned();
            assert_eq!(data, (block as u32).to_le_bytes().repeat(25), "{what}");
        }
        assert!(matches!(file.layout().index, IndexState::Rejected { .. }), "{what}");
        assert!(!file.verify().unwrap().is_empty(), "{what}");
    }
    // An entry that is missing, and an additional entry.
    let at = bytes.len() - text.len() + text.find(&entry(60)).unwrap();
    let cut = [&bytes[..at], &bytes[at + entry(60).len()..]].concat();
    let file = Asdf::from_bytes(cut).unwrap();
    assert_eq!(*file.block(70).unwrap().data().unwrap(), 71u32.to_le_bytes().repeat(25)[..]);
    // Block 59 does not end where the index says that the next block begins, so the headers count from now on.
    assert_eq!(*file.block(59).unwrap().data().unwrap(), 59u32.to_le_bytes().repeat(25)[..]);
    assert_eq!(*file.block(70).unwrap().data().unwrap(), 70u32.to_le_bytes().repeat(25)[..]);
    assert_eq!(file.block_count(), 100);
}

#[test]
fn a_bad_header_among_many_blocks_is_found_where_it_is_used_and_by_verify() {
    let mut bytes = blocks(100);
    let bad = offsets(&bytes)[60];
    bytes[bad + 5] = 0; // the size of the header
    let file = Asdf::from_bytes(bytes).unwrap();
    assert_eq!(*file.block(80).unwrap().data().unwrap(), 80u32.to_le_bytes().repeat(25)[..]);
    let findings: Vec<String> = file.verify().unwrap().iter().map(ToString::to_string).collect();
    assert!(
        findings.iter().any(|finding| finding.contains("block 60: malformed block header")),
        "{findings:?}"
    );
    assert_eq!(file.layout().blocks.len(), 60);
    assert_eq!(file.layout().unexplained, Some(bad as u64));
    assert!(file.block(60).is_err());
    assert!(Document::from_file(file).to_bytes().is_err());
}

/// Returns a file with keys on lines of their own, and other things that a tree may contain.
fn keys(count: u32) -> Vec<u8> {
    let mut document = Document::new();
    document.set_array("a", NewArray::new(&[1u8, 2, 3], &[3]).unwrap()).unwrap();
    for key in 0..count {
        document.set(&format!("map/key {key}"), &(key + 100_000)).unwrap();
    }
    document.set("after", &["x", "y"]).unwrap();
    document.to_bytes().unwrap()
}

#[test]
fn one_key_of_many_is_written_over_its_old_text_alone() {
    let folder = tempfile::tempdir().unwrap();
    for count in [200, 5_000] {
        let path = folder.path().join("keys.asdf");
        std::fs::write(&path, keys(count)).unwrap();
        let before = std::fs::read(&path).unwrap();
        let mut document = Document::open(&path).unwrap();
        for (key, value) in [("key 150", "7"), ("key 150", "654321"), ("key 3", "q r"), ("key 199", "1")] {
            let node = document.tree_mut().add_plain(value);
            document.tree_mut().put(&format!("map/{key}"), node).unwrap();
            let update = document.update().unwrap();
            assert!(matches!(update, Update::InPlace { bytes } if bytes < 16), "{key}: {update:?}");
        }
        let after = std::fs::read(&path).unwrap();
        assert_eq!(after.len(), before.len());
        let file = Asdf::open(&path).unwrap();
        assert_eq!(file.tree().get_as::<u32>("map/key 150").unwrap(), 654_321);
        assert_eq!(file.tree().get_as::<u32>("map/key 199").unwrap(), 1);
        assert_eq!(file.tree().get_as::<u32>("map/key 198").unwrap(), 100_198);
        assert_eq!(document.update().unwrap(), Update::Unchanged);
        // A longer text is written like all other changes.
        document.set("map/key 7", "a text that is longer than the number was").unwrap();
        document.set("map/key 8", &8).unwrap();
        assert_ne!(document.update().unwrap(), Update::Unchanged);
        let file = Asdf::open(&path).unwrap();
        assert_eq!(file.tree().get_as::<u32>("map/key 8").unwrap(), 8);
        assert_eq!(file.array("a").unwrap().read::<u8>().unwrap(), [1, 2, 3]);
    }
}

#[test]
fn comments_stay_where_a_value_is_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("comments.asdf");
    let text =
        "#ASDF 1.0.0\n%YAML 1.1\n---\na: 12345 # pixels\nb: [1000, 'two' , \"three\"]\nc: &x 1\nd: *x\n...\n";
    std::fs::write(&path, text).unwrap();
    let mut document = Document::open(&path).unwrap();
    document.set("a", &9).unwrap();
    document.set("b/0", &17).unwrap();
    document.set("b/1", "2").unwrap();
    document.set("b/2", &3).unwrap();
    assert!(matches!(document.update().unwrap(), Update::InPlace { .. }));
    let expected =
        "#ASDF 1.0.0\n%YAML 1.1\n---\na: 9     # pixels\nb: [17  , '2'   , 3      ]\nc: &x 1\nd: *x\n...\n";
    assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
    // A node with an anchor is also the value of another key.
    document.set("c", &2).unwrap();
    document.update().unwrap();
    let file = Asdf::open(&path).unwrap();
    assert_eq!(file.tree().get_as::<u8>("c").unwrap(), 2);
    assert_eq!(file.tree().get_as::<u8>("d").unwrap(), 1);
}

#[test]
fn another_tree_in_the_place_of_the_one_that_was_read_is_written_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.asdf");
    std::fs::write(&path, keys(100)).unwrap();
    let mut document = Document::open(&path).unwrap();
    let copy = document.tree().clone();
    document.set("map/key 1", &1).unwrap();
    document.update().unwrap();
    *document.tree_mut() = copy;
    document.update().unwrap();
    assert_eq!(Asdf::open(&path).unwrap().tree().get_as::<u32>("map/key 1").unwrap(), 100_001);
    *document.tree_mut() = Tree::parse("only: this\n").unwrap();
    document.update().unwrap();
    assert_eq!(Asdf::open(&path).unwrap().tree().get_as::<String>("only").unwrap(), "this");
}

#[test]
fn a_node_put_in_two_places_is_shared_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shared.asdf");
    std::fs::write(&path, keys(100)).unwrap();
    let mut document = Document::open(&path).unwrap();
    let node = document.tree_mut().add_plain("1");
    document.tree_mut().put("map/key 1", node).unwrap();
    document.tree_mut().put("map/key 2", node).unwrap();
    document.update().unwrap();
    let file = Asdf::open(&path).unwrap();
    assert_eq!(file.get("map/key 1"), file.get("map/key 2"));
}

#[test]
fn a_change_by_somebody_else_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("raced.asdf");
    std::fs::write(&path, keys(300)).unwrap();
    let mut document = Document::open(&path).unwrap();
    document.set("map/key 1", &1).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(7).position(|window| window == b"key 250").unwrap();
    bytes[at + 4] = b'9';
    std::fs::write(&path, bytes).unwrap();
    assert!(matches!(document.update(), Err(Error::Conflict { .. })));
}

/// Returns a line of a mapping, which is nearly always a simple key and value.
fn line() -> impl Strategy<Value = String> {
    let key = prop_oneof!["[a-z][a-z0-9 ]{0,6}[a-z]", "[0-9]{1,3}", "[A-Z_][-./+a-z]{1,5}"];
    let value = prop_oneof![
        20 => "[a-z0-9][a-z0-9,.{}* -]{0,9}".prop_map(|text| text.trim_end().to_owned()),
        10 => "-?[0-9]{1,9}(\\.[0-9]+)?",
        5 => "'[a-z#: ]{0,9}'",
        1 => "\"[a-z]{0,9}\"",
        1 => Just("[1, 2]".to_owned()),
        1 => Just("~".to_owned()),
        1 => Just("x # comment".to_owned()),
        1 => Just("a:b".to_owned()),
        1 => Just("first\n    second".to_owned()),
        1 => Just("\n    inner: 1".to_owned()),
    ];
    (key, value, 0..3usize).prop_map(|(key, value, blanks)| format!("{key}: {value}{}\n", " ".repeat(blanks)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn lines_that_are_not_made_to_nodes_give_what_nodes_give(
        lines in prop::collection::vec(line(), 60..400),
        indent in 0..3usize,
        tail in prop_oneof![Just(""), Just("end: 1\n"), Just("# comment\n"), Just("\n\n")],
    ) {
        let blanks = " ".repeat(indent);
        let body: String = lines.iter().map(|line| format!("{blanks}{line}")).collect();
        let text = match indent {
            0 => format!("{body}{tail}"),
            _ => format!("map:\n{body}{tail}"),
        };
        // The parser that creates nodes at once reads an escaped quote.
        let slow = text.replacen(": ", ":  ", usize::MAX).replace(":  '", ":  !!str '");
        let (Ok(fast), Ok(slow)) = (Tree::parse(&text), Tree::parse(&slow)) else { return Ok(()) };
        prop_assert!(fast.is_same(&slow) || text.contains('\''));
        for id in fast.reachable() {
            let node = fast.node(id);
            let at = node.offset as usize;
            if let Some(written) = node.text().filter(|written| !written.is_empty() && !written.contains(' ')) {
                let here = text[at..].trim_start_matches(['\'', '"']);
                prop_assert!(here.starts_with(written), "{written:?} at {at}");
            }
        }
        prop_assert!(Tree::parse(fast.to_text().unwrap()).unwrap().is_same(&fast));
    }

    #[test]
    fn what_is_written_over_is_what_a_new_file_would_say(
        old in prop::collection::vec("[a-z0-9' ]{1,12}", 1..20),
        changes in prop::collection::vec((any::<prop::sample::Index>(), "[ -~]{0,12}"), 1..4),
        style in prop_oneof![Just(CollectionStyle::Flow), Just(CollectionStyle::Block)],
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("texts.asdf");
        let mut document = Document::new();
        let items = old.iter().map(|text| document.tree_mut().add_str(text.as_str())).collect();
        let list = document.tree_mut().add_sequence(items, style);
        document.tree_mut().put("list", list).unwrap();
        document.save(&path).unwrap();
        let mut document = Document::open(&path).unwrap();
        let mut expected = old.clone();
        for (index, text) in changes {
            let place = index.index(old.len());
            document.set(&format!("list/{place}"), &text).unwrap();
            expected[place] = text;
            document.update().unwrap();
            let file = Asdf::open(&path).unwrap();
            prop_assert_eq!(&file.tree().get_as::<Vec<String>>("list").unwrap(), &expected);
        }
    }
}
