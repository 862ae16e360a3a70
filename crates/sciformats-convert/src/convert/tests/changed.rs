//! Another program overwrites a file while it is converted.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::SystemTime;

use super::*;
use sciformats::model::{Object, ObjectId, Target};
use sciformats::source::{Fact, Members, Source, Structure};
use sciformats::{Registered, Result, Slab};

/// An array in a file that is overwritten whenever its elements are read.
struct Overwritten(PathBuf);

const NUMBERS: Format = Format::Other("numbers");

impl Source for Overwritten {
    fn format(&self) -> Format {
        NUMBERS
    }
    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }
    fn root(&self) -> ObjectId {
        ObjectId(0)
    }
    fn object(&self, _: ObjectId) -> Result<Object> {
        Ok(Object::Array(Box::new(ArrayInfo::new(ElementType::F64, [2]))))
    }
    fn members(&self, _: ObjectId) -> Result<Members<'_>> {
        Ok(Box::new(std::iter::empty()))
    }
    fn member(&self, _: ObjectId, _: &Name) -> Result<Option<Target>> {
        Ok(None)
    }
    fn read(&self, _: ObjectId, slab: &Slab, out: &mut Vec<u8>) -> Result<()> {
        (0..slab.len()).for_each(|_| out.extend(0.5f64.to_le_bytes()));
        std::fs::write(&self.0, b"NUMBERS").map_err(|error| Error::io("write", error))
    }
    fn structures(&self, _: &mut dyn FnMut(Structure) -> ControlFlow<()>) -> Result<()> {
        Ok(())
    }
}

#[test]
fn nothing_is_written_of_a_file_that_changes_while_its_elements_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join("in"), dir.path().join("out"));
    let numbers = Registered::new(
        "numbers",
        |storage| Ok(*storage.read_at(0, 7)? == *b"numbers"),
        |opening| Ok(Box::new(Overwritten(opening.path.unwrap().to_owned()))),
    );
    let options = OpenOptions::default().with_format(numbers);
    for target in Format::ALL.into_iter().filter(|&target| writable(target)) {
        std::fs::write(&input, b"numbers").unwrap();
        // As if the file had been written long ago: clocks of file systems are coarse.
        let written = std::fs::File::options().write(true).open(&input).unwrap();
        written.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        let source = Arc::new(File::open_with(&input, &options).unwrap());
        let plan = Plan::new(&source, target, &Options::default()).unwrap();
        let error = plan.write(&output, &WriteOptions::default()).unwrap_err().to_string();
        assert!(error.contains("another program changed it"), "{target}: {error}");
        assert!(!output.exists(), "{target}");
    }
}
