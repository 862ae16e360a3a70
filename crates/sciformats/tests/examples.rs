//! The examples do what they say.

use sciformats::memory::{Memory, array, texts};
use sciformats::{File, Format};

#[allow(dead_code, reason = "its `main`")]
#[path = "../examples/contents.rs"]
mod contents;
#[allow(dead_code, reason = "its `main`")]
#[path = "../examples/maximum.rs"]
mod maximum;

fn file() -> File {
    let mut tree = Memory::new(Format::Hdf5);
    let fields = tree.group(tree.root(), "fields");
    tree.array(fields, "u", array::<f64>(&[2, 2], &[1.0, 7.5, -2.0, 3.0]));
    tree.array(fields, "v", array::<u64>(&[2], &[3, u64::MAX]));
    tree.array(tree.root(), "names", texts(&[1], &["a"]));
    tree.soft_link(tree.root(), "latest", "/fields/u");
    File::from(tree)
}

#[test]
fn the_largest_numbers() {
    let expected = [("/fields/u".to_owned(), 7.5), ("/fields/v".to_owned(), u64::MAX as f64)];
    assert_eq!(maximum::maxima(&file()).unwrap(), expected);
}

#[test]
fn what_there_is() {
    let lines = contents::lines(&file());
    let expected = [
        "/ group",
        "/fields group",
        "/latest leads to /fields/u",
        "/names string [1]",
        "/fields/u float64 [2, 2]",
        "/fields/v uint64 [2]",
    ];
    assert_eq!(lines, expected);
}
