//! "Not found" says that a name is not there, never that what leads to it cannot be read.

#![cfg(all(feature = "hdf5", feature = "asdf"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use sciformats::walk::{Found, breadth_first};
use sciformats::{Error, File, OpenOptions};

/// Cuts of each file, evenly spread over its bytes.
const CUTS: usize = 97;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name)
}

/// The paths of all objects of a file that can be found.
fn paths(file: &File) -> Vec<String> {
    let mut paths = Vec::new();
    let _ = breadth_first(file.source(), ("/", file.source().root()), file.limits(), &mut |entry| {
        if matches!(entry.what, Found::Object(..)) {
            paths.push(entry.path);
        }
        ControlFlow::Continue(())
    });
    paths.retain(|path| file.resolve(path).is_ok());
    paths
}

#[test]
fn what_is_cut_off_is_damaged_and_not_absent() {
    let options = OpenOptions::default().with_cut(true);
    let mut damaged = 0;
    for name in [
        "hdf5/links-earliest.h5",
        "hdf5/links-latest.h5",
        "hdf5/filters.h5",
        "hdf5/indexes-earliest.h5",
        "hdf5/indexes-latest.h5",
        "asdf/compression-zlib.asdf",
        "asdf/inline.asdf",
    ] {
        let bytes = fs::read(fixture(name)).unwrap();
        let paths = paths(&File::from_bytes(bytes.clone()).unwrap());
        assert!(!paths.is_empty(), "{name}");
        for cut in 1..CUTS {
            let left = &bytes[..bytes.len() * cut / CUTS];
            let Ok(file) = File::from_storage(left.to_vec(), &options) else { continue };
            for path in &paths {
                match file.resolve(path) {
                    Err(error @ (Error::NotFound { .. } | Error::Usage { .. })) => {
                        panic!("{name}, cut to {} bytes: {path}: {error}", left.len());
                    }
                    Err(_) => damaged += 1,
                    Ok(_) => {}
                }
            }
            // What never was there may still not be found.
            if let Err(error) = file.resolve("/what never was there/x") {
                assert!(matches!(error, Error::NotFound { .. } | Error::Malformed { .. }), "{name}: {error}");
            }
        }
    }
    assert!(damaged > 0);
}

#[test]
fn names_with_slashes_anywhere_are_found() {
    use sciformats::Format;
    use sciformats::memory::{Memory, array};

    let mut memory = Memory::new(Format::Gsd);
    let frame = memory.group(memory.root(), "frame");
    let names = ["a", "a/b", "a//d", "/lead", "e/", "f//", "/"];
    let ids = names.map(|name| memory.array(frame, name, array::<u8>(&[1], &[1])));
    let file = File::from(memory);
    for (name, id) in names.iter().zip(ids) {
        assert_eq!(file.resolve(&format!("/frame/{name}")).unwrap(), id, "{name}");
    }
    // Where no such name exists, slashes too many do not matter.
    for (path, index) in [("//frame///a", 0), ("/frame/./a/", 0), ("frame//a//", 0), ("/frame/a///b", 1)] {
        assert_eq!(file.resolve(path).unwrap(), ids[index], "{path}");
    }
    assert!(file.resolve("/frame/none/").is_err());
}
