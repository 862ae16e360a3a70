//! Measures what a commit reads and writes, which must depend on the paths to the changes and not on the number of entries.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints what it measured"
)]

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use hdf5_pure::options::Bound;
use hdf5_pure::storage::{ReadAt, WriteAt};
use hdf5_pure::{CreateOptions, EditOptions, Editor, File, Result, Writer};

/// A file in memory that counts the bytes that are read and written.
#[derive(Clone, Default)]
struct Counted(Arc<State>);

#[derive(Default)]
struct State {
    bytes: Mutex<Vec<u8>>,
    read: AtomicU64,
    written: AtomicU64,
}

impl ReadAt for Counted {
    fn size(&self) -> u64 {
        self.0.bytes.lock().unwrap().len() as u64
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        self.0.read.fetch_add(len as u64, Ordering::Relaxed);
        Ok(Cow::Owned(self.0.bytes.lock().unwrap().read_at(offset, len)?.into_owned()))
    }
}

impl WriteAt for Counted {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.0.written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.0.bytes.lock().unwrap().write_at(offset, bytes)
    }

    fn set_size(&mut self, size: u64) -> Result<()> {
        self.0.bytes.lock().unwrap().set_size(size)
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }
}

type Edit = fn(&mut Editor, usize) -> Result<()>;

/// The edits, each of which is one commit. The number is the number of entries at the start.
const EDITS: [(&str, Edit); 7] = [
    ("insert", |editor, _| editor.dataset("many/new").write(&[1u8]).map(drop)),
    ("insert again", |editor, _| editor.root().soft_link("many/soft", "/x").map(drop)),
    ("remove", |editor, n| editor.unlink(&format!("many/entry {}", n / 2))),
    ("rename", |editor, n| editor.move_link(&format!("many/entry {}", n / 3), "many/renamed")),
    ("attribute", |editor, _| editor.object("described")?.attribute("new", 17u8).map(drop)),
    ("changed attribute", |editor, n| {
        editor.object("described")?.attribute(&format!("entry {}", n / 2), [7u32; 30]).map(drop)
    }),
    ("removed attribute", |editor, n| {
        editor.object("described")?.remove_attribute(&format!("entry {}", n / 3)).map(drop)
    }),
];

fn file(n: usize, bound: Bound, tracked: bool) -> Vec<u8> {
    let options = CreateOptions::default().with_bound(bound).with_track_order(tracked);
    let mut file = Writer::in_memory(&options).unwrap();
    let target = file.dataset("target").write(&[1u8]).unwrap();
    let mut many = file.group("many").unwrap();
    for i in 0..n {
        many.hard_link(&format!("entry {i}"), target).unwrap();
    }
    let mut described = file.group("described").unwrap();
    for i in 0..described_by(n, bound, tracked) {
        described.attribute(&format!("entry {i}"), i as u32).unwrap();
    }
    file.into_bytes().unwrap()
}

/// Returns the number of attributes of the object beside the group of `n` links.
fn described_by(n: usize, bound: Bound, tracked: bool) -> usize {
    match bound {
        // Headers of version 1 hold all attributes themselves.
        Bound::Earliest => 20,
        // There are no numbers for more attributes than this.
        _ if tracked => n.min(60_000),
        _ => n,
    }
}

/// Returns the bytes that each edit reads and writes.
fn costs(n: usize, bound: Bound, tracked: bool) -> Vec<(u64, u64)> {
    let counted = Counted::default();
    *counted.0.bytes.lock().unwrap() = file(n, bound, tracked);
    let mut editor = Editor::in_storage(Box::new(counted.clone()), &EditOptions::default()).unwrap();
    let count = |counter: &AtomicU64| counter.swap(0, Ordering::Relaxed);
    let described = described_by(n, bound, tracked);
    // The names of a new old-style group fill its heap, so the first link that is added doubles the heap. It is not measured.
    editor.root().soft_link("many/first", "/x").unwrap();
    editor.commit().unwrap();
    let unused = editor.unaccounted().unwrap();
    let mut all = Vec::new();
    for (name, edit) in EDITS {
        let of = if name.contains("attribute") { described } else { n };
        count(&counted.0.read);
        count(&counted.0.written);
        edit(&mut editor, of).unwrap();
        editor.commit().unwrap();
        let cost = (count(&counted.0.read), count(&counted.0.written));
        println!(
            "{bound:?}, tracked {tracked}, {n} entries, {name}: {} bytes read, {} written",
            cost.0, cost.1
        );
        all.push(cost);
    }
    let lost = editor.unaccounted().unwrap();
    assert!(lost <= unused, "{bound:?}, {n}: {lost} bytes belong to no structure, {unused} before");
    drop(editor);
    let bytes = counted.0.bytes.lock().unwrap().clone();
    let file = File::from_bytes(bytes).unwrap();
    file.check_space().unwrap();
    let many = file.group("many").unwrap();
    assert_eq!(many.links().unwrap().iter().filter(|link| link.is_ok()).count(), n + 2);
    assert_eq!(many.dataset("new").unwrap().read::<u8>().unwrap(), [1]);
    assert!(many.link("renamed").unwrap().is_some() && many.link("soft").unwrap().is_some());
    for gone in [n / 2, n / 3] {
        assert!(many.link(&format!("entry {gone}")).unwrap().is_none());
    }
    assert_eq!(file.group("described").unwrap().attributes().unwrap().len(), described);
    all
}

#[test]
fn commits_cost_what_they_change() {
    for (bound, tracked) in [(Bound::V110, false), (Bound::V110, true), (Bound::Earliest, false)] {
        let few = costs(100, bound, tracked);
        let more = costs(10_000, bound, tracked);
        let many = costs(100_000, bound, tracked);
        for (i, (name, _)) in EDITS.iter().enumerate() {
            for (read, written) in [more[i], many[i]] {
                assert!(read < 64 << 10, "{name}: {read} bytes are read");
                assert!(written < 64 << 10, "{name}: {written} bytes are written");
            }
            // There are a thousand times as many entries, and the cost may grow with at most the fourth root of their number.
            let most = 1000f64.powf(0.25);
            for (few, many) in [(few[i].0, many[i].0), (few[i].1, many[i].1)] {
                let ratio = many as f64 / few as f64;
                assert!(ratio <= most, "{name}: {few} bytes for 100 entries, {many} for 100000");
            }
        }
    }
}
