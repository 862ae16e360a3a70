//! Objects that store times get new ones when they change, in the cases in which the C library renews them.

use std::time::SystemTime;

use hdf5_pure::options::Bound;
use hdf5_pure::structure::ObjectInfo;
use hdf5_pure::swmr::SwmrWriter;
use hdf5_pure::walk::Found;
use hdf5_pure::{CreateOptions, EditOptions, Editor, File, Result, Writer};

const BEFORE: u32 = 1_700_000_000;
const AFTER: u32 = BEFORE + 100;

/// Returns a file whose objects store when they were made.
fn file(bound: Bound) -> Vec<u8> {
    let options = CreateOptions::default().with_bound(bound).with_time(BEFORE);
    let mut file = Writer::in_memory(&options).unwrap();
    file.dataset("flat").attribute("a", 1).write(&[1i32; 100]).unwrap();
    file.dataset("small").compact().write(&[1i32; 4]).unwrap();
    file.dataset("rows").chunks([10]).max_shape([None]).shape([20]).write(&[1i32; 20]).unwrap();
    file.dataset("late").chunks([10]).shape([20]).create::<i32>().unwrap();
    let many = file.dataset("many").write(&[1i32]).unwrap();
    for i in 0..40 {
        file.attribute(many, &format!("a{i:02}"), i).unwrap();
    }
    let linked = file.dataset("group/linked").write(&[1i32]).unwrap();
    for name in ["group/second", "group/third"] {
        file.root().hard_link(name, linked).unwrap();
    }
    file.into_bytes().unwrap()
}

/// Returns the time of the last change of an object.
fn changed(info: &ObjectInfo) -> Option<u32> {
    match info.times {
        Some([_, _, change, _]) => Some(change),
        None => info.modified,
    }
}

/// Edits bytes, and returns the paths of the objects that have another time afterwards, and that time.
fn renewed(bytes: &[u8], time: Option<u32>, edit: &dyn Fn(&mut Editor) -> Result<()>) -> Vec<(String, u32)> {
    let path = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(path.path(), bytes).unwrap();
    let mut editor = Editor::open_with(path.path(), &EditOptions::default().with_time(time)).unwrap();
    edit(&mut editor).unwrap();
    editor.commit().unwrap();
    let before = File::from_bytes(bytes.to_vec()).unwrap();
    let file = File::open(path.path()).unwrap();
    file.check_space().unwrap();
    let mut found = Vec::new();
    for entry in before.walk() {
        let (Found::Object(old), path) = (entry.what, String::from_utf8(entry.path).unwrap()) else {
            continue;
        };
        let Ok(new) = file.object(&path) else { continue };
        let (old, new) = (before.object_info(old).unwrap(), file.object_info(new.address()).unwrap());
        if let (Some([_, modified, _, birth]), Some([access, .., change, _])) = (old.times, new.times) {
            assert_eq!(new.times, Some([access, modified, change, birth]), "{path}");
            assert!(access == change, "{path}");
        }
        if changed(&old) != changed(&new) {
            found.push((path, changed(&new).unwrap()));
        }
    }
    found
}

#[test]
fn what_changes_gets_a_new_time_and_nothing_else_does() {
    type Edit = &'static dyn Fn(&mut Editor) -> Result<()>;
    // Links of the oldest groups are no part of the object.
    let (all, new) = (true, false);
    let cases: [(&[&str], bool, Edit); 21] = [
        (&[], all, &|_| Ok(())),
        (&[], all, &|file| file.open_dataset("flat")?.write_slice(3..5, &[7i32; 2]).map(drop)),
        (&[], all, &|file| file.open_dataset("flat")?.write_all(&[7i32; 100]).map(drop)),
        (&["/small"], all, &|file| file.open_dataset("small")?.write_slice(3, &[7i32]).map(drop)),
        (&[], all, &|file| file.open_dataset("rows")?.write_slice(3, &[7i32]).map(drop)),
        (&["/late"], all, &|file| file.open_dataset("late")?.write_slice(3, &[7i32]).map(drop)),
        (&["/rows"], all, &|file| file.open_dataset("rows")?.resize(&[30]).map(drop)),
        (&["/rows"], all, &|file| file.open_dataset("rows")?.append(&[7i32]).map(drop)),
        (&[], all, &|file| file.open_dataset("rows")?.resize(&[20]).map(drop)),
        (&["/flat"], all, &|file| file.object("flat")?.attribute("b", 2).map(drop)),
        (&["/flat"], all, &|file| file.object("flat")?.attribute("a", 1).map(drop)),
        (&["/flat"], all, &|file| file.object("flat")?.rename_attribute("a", "c").map(drop)),
        (&["/flat"], all, &|file| file.object("flat")?.remove_attribute("a").map(drop)),
        (&["/many"], all, &|file| file.object("many")?.attribute("a07", 2).map(drop)),
        (&["/many"], all, &|file| file.object("many")?.remove_attribute("a08").map(drop)),
        (&["/flat"], all, &|file| file.object("flat")?.comment("new").map(drop)),
        (&["/group"], new, &|file| file.group("group")?.soft_link("soft", "/flat").map(drop)),
        (&["/group"], new, &|file| file.dataset("group/made").write(&[1i32]).map(drop)),
        (&["/group"], new, &|file| file.unlink("group/third")),
        (&["/group"], new, &|file| file.move_link("group/third", "group/last")),
        (&["/group", "/group/linked"], new, &|file| {
            file.unlink("group/second")?;
            file.unlink("group/third")
        }),
    ];
    for bound in [Bound::Earliest, Bound::V18, Bound::V110] {
        let bytes = file(bound);
        for (case, (paths, always, edit)) in cases.iter().enumerate() {
            let found = renewed(&bytes, Some(AFTER), edit);
            let expected = if *always || bound != Bound::Earliest { *paths } else { &[] };
            let expected: Vec<_> = expected.iter().map(|&path| (path.to_owned(), AFTER)).collect();
            assert_eq!(found, expected, "{bound:?}, case {case}");
        }
    }
}

#[test]
fn the_clock_is_asked_if_no_time_is_given() {
    for bound in [Bound::Earliest, Bound::V110] {
        let found = renewed(&file(bound), None, &|file| file.object("flat")?.attribute("b", 2).map(drop));
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
        assert!(
            matches!(&found[..], [(path, time)] if path == "/flat" && u64::from(*time).abs_diff(now) < 600)
        );
    }
}

#[test]
fn growing_beside_readers_renews_times() {
    let bytes = file(Bound::V110);
    let times = |bytes: &[u8], path: &str| {
        let file = File::from_bytes(bytes.to_vec()).unwrap();
        file.object_info(file.object(path).unwrap().address()).unwrap().times.unwrap()
    };
    let grown = |grow: &dyn Fn(&mut SwmrWriter) -> Result<()>| {
        let path = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(path.path(), &bytes).unwrap();
        let mut writer = SwmrWriter::open(path.path()).unwrap();
        grow(&mut writer).unwrap();
        writer.close().unwrap();
        let after = std::fs::read(path.path()).unwrap();
        File::from_bytes(after.clone()).unwrap().check_space().unwrap();
        assert_eq!(times(&after, "flat"), [BEFORE; 4]);
        after
    };
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let appended = grown(&|file| file.dataset("rows")?.append(&[7i32]).map(drop));
    let [access, modified, change, birth] = times(&appended, "rows");
    assert_eq!((modified, birth, access), (BEFORE, BEFORE, change));
    assert!(u64::from(change).abs_diff(now) < 600);
    // Other elements are no change of the object.
    let written = grown(&|file| file.dataset("rows")?.write_slice(3, &[7i32]).map(drop));
    assert_eq!(times(&written, "rows"), [BEFORE; 4]);
    // A file without times has none afterwards.
    let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::V110)).unwrap();
    file.dataset("rows").chunks([10]).max_shape([None]).shape([20]).write(&[1i32; 20]).unwrap();
    let path = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(path.path(), file.into_bytes().unwrap()).unwrap();
    let mut writer = SwmrWriter::open(path.path()).unwrap();
    writer.dataset("rows").unwrap().append(&[7i32]).unwrap();
    writer.close().unwrap();
    let file = File::open(path.path()).unwrap();
    let rows = file.dataset("rows").unwrap();
    assert_eq!((rows.shape(), file.object_info(rows.address()).unwrap().times), (&[21][..], None));
}

#[test]
fn objects_without_times_get_none() {
    for bound in [Bound::Earliest, Bound::V110] {
        let mut file = Writer::in_memory(&CreateOptions::default().with_bound(bound)).unwrap();
        file.dataset("flat").write(&[1i32; 4]).unwrap();
        let bytes = file.into_bytes().unwrap();
        let found = renewed(&bytes, Some(AFTER), &|file| file.object("flat")?.attribute("b", 2).map(drop));
        assert_eq!(found, []);
    }
}
