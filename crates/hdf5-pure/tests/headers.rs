//! Checks that object headers contain what the C library needs to read them and to continue them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use hdf5_pure::options::Bound;
use hdf5_pure::structure::MessageType;
use hdf5_pure::walk::Found;
use hdf5_pure::{Address, CreateOptions, Datatype, Editor, File, Writer};

const BOUNDS: [Bound; 5] = [Bound::Earliest, Bound::V18, Bound::V110, Bound::V112, Bound::V200];

/// The number of bytes of the body of a continuation message.
const CONTINUATION: u64 = 16;

/// Fails if an object of the file has attributes that its header does not announce, or a header that the C library cannot
/// continue.
fn check(bytes: Vec<u8>, what: &str) {
    let file = File::from_bytes(bytes).unwrap();
    file.check_space().unwrap();
    for visited in file.walk() {
        let Found::Object(address) = visited.what else { continue };
        check_object(&file, address, &format!("{what}: {}", String::from_utf8_lossy(&visited.path)));
    }
}

fn check_object(file: &File, address: Address, what: &str) {
    let info = file.object_info(address).unwrap();
    let has = |kind| info.messages.iter().any(|&(found, ..)| found == kind);
    let attributes = match file.object_at(address).unwrap() {
        hdf5_pure::Node::Group(group) => group.attributes().unwrap().len(),
        hdf5_pure::Node::Dataset(dataset) => dataset.attributes().unwrap().len(),
        hdf5_pure::Node::Datatype(datatype) => datatype.attributes().unwrap().len(),
    };
    assert_eq!(
        has(MessageType::AttributeInfo),
        info.header_version == 2 && attributes > 0,
        "{what}: {info:?}"
    );
    let movable =
        info.messages.iter().any(|&(kind, _, len)| kind != MessageType::Continuation && len >= CONTINUATION);
    assert!(movable, "{what}: no message of the header can give way to a continuation: {info:?}");
}

/// Returns a file with the smallest possible objects of all kinds.
fn small(options: &CreateOptions) -> Vec<u8> {
    let mut file = Writer::in_memory(options).unwrap();
    file.root().commit("small type", &Datatype::signed(1)).unwrap();
    let described = file.root().commit("described type", &Datatype::unsigned(2)).unwrap();
    file.attribute(described, "why", 1i8).unwrap();
    file.dataset("compact").compact().write(&[1i8]).unwrap();
    file.dataset("scalar").attribute("a", 1i8).write(&[1i8]).unwrap();
    file.dataset("chunked").chunks([2]).max_shape([None]).write(&[1i8, 2, 3]).unwrap();
    file.group("empty").unwrap();
    let mut many = file.group("described").unwrap();
    for i in 0..12 {
        many.attribute(&format!("a{i}"), i).unwrap();
    }
    file.into_bytes().unwrap()
}

#[test]
fn headers_of_new_files() {
    for (bound, tracked) in BOUNDS.into_iter().flat_map(|bound| [(bound, false), (bound, true)]) {
        let options = CreateOptions::default().with_bound(bound).with_track_order(tracked);
        check(small(&options), &format!("{bound:?}, tracked: {tracked}"));
    }
}

#[test]
fn headers_of_edited_files() {
    for (bound, tracked) in BOUNDS.into_iter().flat_map(|bound| [(bound, false), (bound, true)]) {
        let options = CreateOptions::default().with_bound(bound).with_track_order(tracked);
        let place = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(place.path(), small(&options)).unwrap();
        let mut editor = Editor::open(place.path()).unwrap();
        let step = |editor: &mut Editor, what: &str| {
            editor.commit().unwrap();
            check(std::fs::read(place.path()).unwrap(), &format!("{bound:?}, tracked: {tracked}, {what}"));
        };
        for path in ["empty", "compact", "small type", "chunked"] {
            editor.object(path).unwrap().attribute("first", 1i8).unwrap();
        }
        step(&mut editor, "first attributes");
        for path in ["empty", "compact", "small type", "chunked"] {
            for i in 0..10 {
                editor.object(path).unwrap().attribute(&format!("more {i}"), i).unwrap();
            }
        }
        step(&mut editor, "dense attributes");
        for path in ["empty", "compact", "small type", "chunked"] {
            for i in 0..10 {
                editor.object(path).unwrap().remove_attribute(&format!("more {i}")).unwrap();
            }
        }
        step(&mut editor, "compact attributes again");
        for path in ["empty", "compact", "small type", "chunked"] {
            editor.object(path).unwrap().remove_attribute("first").unwrap();
        }
        step(&mut editor, "no attributes");
    }
}
