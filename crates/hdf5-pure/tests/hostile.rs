//! Reads files that are damaged on purpose. Errors name the structure, the field and the offset, and the rest can be read.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

#[path = "support/memory.rs"]
mod memory;

use std::path::{Path, PathBuf};

use hdf5_pure::options::{External, Limits};
use hdf5_pure::walk::Found;
use hdf5_pure::{Address, Error, File, Node, OpenOptions, Result};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hdf5/hostile")
}

/// The number of bytes that a read may take.
const MEMORY: u64 = 64 << 20;

/// What was found in a file: the number of things that could be read, and the errors.
#[derive(Default)]
struct Report {
    whole: usize,
    errors: Vec<String>,
    /// The size of the largest result that was requested.
    asked: u64,
}

impl Report {
    fn note<T>(&mut self, result: Result<T>) -> Option<T> {
        match result {
            Ok(value) => {
                self.whole += 1;
                Some(value)
            }
            Err(error) => {
                let text = error.to_string();
                if !self.errors.contains(&text) {
                    self.errors.push(text);
                }
                None
            }
        }
    }

    fn file(&mut self, path: &Path) {
        let limits = Limits::default().with_memory(MEMORY);
        let options = OpenOptions::default().with_limits(limits).with_external(External::SameFolder);
        let Some(file) = self.note(File::open_with(path, &options)) else { return };
        if file.file_space().is_some() {
            self.note(file.free_space());
        }
        for index in file.shared_indexes() {
            self.note(file.shared_records(index));
        }
        self.note(file.root());
        for visited in file.walk() {
            match visited.what {
                Found::Object(address) => self.object(&file, address),
                Found::Broken(error) => drop(self.note::<()>(Err(error))),
                // The external links of the fixtures lead nowhere, which is not an error of the file.
                _ => {
                    self.whole += 1;
                    let object = file.object(std::str::from_utf8(&visited.path).unwrap());
                    if !matches!(object, Err(Error::NotFound { .. })) {
                        self.note(object);
                    }
                }
            }
        }
    }

    fn object(&mut self, file: &File, address: Address) {
        let node = self.note(file.object_at(address));
        for attribute in self.note(file.attributes_at(address)).unwrap_or_default() {
            self.note(attribute.canonical());
        }
        if let Some(Node::Dataset(dataset)) = node {
            if let Ok(chunks) = dataset.chunks() {
                chunks.into_iter().for_each(|chunk| drop(self.note(chunk)));
            }
            if let Some(all) = self.note(dataset.all()) {
                let bytes = all.len().saturating_mul(dataset.datatype().size.into());
                // Larger results are refused, and nothing is read.
                if bytes <= MEMORY {
                    self.asked = self.asked.max(bytes);
                }
                self.note(dataset.read_canonical(&all));
            }
        }
    }
}

/// The file, the number of things that can be read, and the errors.
const EXPECTED: &[(&str, usize, &[&str])] = &include!("hostile.in");

#[test]
fn each_file_gives_its_errors_and_all_that_is_whole() {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".h5"))
        .collect();
    names.sort();
    let mut found = String::new();
    for name in &names {
        let mut met = Report::default();
        let before = memory::resident("VmRSS:");
        met.file(&folder().join(name));
        // This is the maximum of all files so far, so the present file took at most this much.
        let most =
            memory::resident("VmHWM:").zip(before).map_or(0, |(most, before)| most.saturating_sub(before));
        assert!(most <= (64 << 20) + met.asked, "{name} takes {most} bytes, {} were requested", met.asked);
        found += &format!("    ({name:?}, {}, &{:?}),\n", met.whole, met.errors);
    }
    println!("{found}");
    for line in found.lines() {
        assert!(wanted().contains(&line.to_owned()), "{line}");
    }
    assert_eq!(names.len(), EXPECTED.len());
}

fn wanted() -> Vec<String> {
    let line =
        |(name, whole, errors): &(&str, usize, &[&str])| format!("    ({name:?}, {whole}, &{errors:?}),");
    EXPECTED.iter().map(line).collect()
}
