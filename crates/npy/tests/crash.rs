//! Commits that are interrupted wherever a crash can interrupt them, and devices that fail.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests may fail like tests"
)]

use std::borrow::Cow;

use npy::{DType, Editor, Error, Header, Range, ReadAt, Reader, Result, Slab, WriteAt};
use sciformats_core::commit::replay::{Cuts, FailingDisk, FullDisk, every_cut};
use sciformats_core::commit::{Step, apply};

/// Records as steps what is written to it.
#[derive(Clone, Default)]
struct Recorder {
    bytes: Vec<u8>,
    steps: Vec<Step<'static>>,
}

impl ReadAt for Recorder {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }
    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        self.bytes.read_at(offset, len)
    }
}

impl WriteAt for Recorder {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.steps.push(Step::write(offset, bytes.to_vec()));
        self.bytes.write_at(offset, bytes)
    }
    fn set_size(&mut self, size: u64) -> Result<()> {
        self.steps.push(Step::SetSize { size });
        self.bytes.set_size(size)
    }
    fn sync(&mut self) -> Result<()> {
        self.steps.push(Step::Sync);
        Ok(())
    }
}

/// A device that fails on purpose, which can also be read.
struct Device<D>(D, fn(&D) -> &Vec<u8>);

impl<D: Send + Sync> ReadAt for Device<D> {
    fn size(&self) -> u64 {
        (self.1)(&self.0).as_slice().len() as u64
    }
    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        (self.1)(&self.0).read_at(offset, len)
    }
}

impl<D: WriteAt> WriteAt for Device<D> {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.0.write_at(offset, bytes)
    }
    fn set_size(&mut self, size: u64) -> Result<()> {
        self.0.set_size(size)
    }
    fn sync(&mut self) -> Result<()> {
        self.0.sync()
    }
}

type Edit = Box<dyn Fn(&mut dyn Change) -> Result<()>>;

/// An editor of any storage.
trait Change {
    fn append(&mut self, rows: &[u8]) -> Result<()>;
    fn overwrite(&mut self, slab: &Slab, elements: &[u8]) -> Result<()>;
}

impl<S: ReadAt + WriteAt> Change for Editor<S> {
    fn append(&mut self, rows: &[u8]) -> Result<()> {
        self.append_bytes(rows)
    }
    fn overwrite(&mut self, slab: &Slab, elements: &[u8]) -> Result<()> {
        self.write_slab_bytes(slab, elements)
    }
}

fn values(n: u64) -> Vec<u8> {
    (0..n as u32).flat_map(|i| ((i.wrapping_mul(40_503) >> 3) as u16).to_le_bytes()).collect()
}

fn array(descr: &str, shape: &[u64], fortran_order: bool, behind: &[u8]) -> Vec<u8> {
    let header = Header { dtype: DType::parse(descr).unwrap(), fortran_order, shape: shape.into() };
    let mut bytes = header.to_bytes().unwrap();
    let size = header.stored_size().unwrap();
    bytes.extend(values(size.div_ceil(2)).get(..size as usize).unwrap());
    bytes.extend(behind);
    bytes
}

/// Returns arrays, and edits of each that extend over several sectors.
fn scenarios() -> Vec<(&'static str, Vec<u8>, Edit)> {
    let rows = |n: u64| -> Edit { Box::new(move |editor| editor.append(&values(n))) };
    let overwrite = |shape: &'static [u64], ranges: &[Range]| -> Edit {
        let slab = Slab::new(shape, ranges).unwrap();
        Box::new(move |editor| editor.overwrite(&slab, &vec![0xEE; 2 * slab.len() as usize]))
    };
    vec![
        ("append to a vector", array("'<u2'", &[300], false, b""), rows(700)),
        ("append big-endian rows", array("'>u2'", &[30, 10], false, b""), rows(400)),
        ("append columns in Fortran order", array("'<u2'", &[10, 30], true, b""), rows(400)),
        ("append boxes in Fortran order", array("'<u2'", &[3, 5, 7], true, b""), rows(150)),
        ("append to nothing", array("'<u2'", &[0, 3], false, b""), rows(3)),
        ("append nothing", array("'<u2'", &[4, 3], false, b""), rows(0)),
        ("append a digit", array("'<u2'", &[99], false, b""), rows(1)),
        ("append records", array("[('a', '<u2'), ('b', '|S4')]", &[50], false, b""), rows(3 * 99)),
        // The length of the file before or after the edit is a multiple of the sector size.
        ("append to a whole number of sectors", array("'<u2'", &[192], false, b""), rows(256)),
        ("append up to a whole number of sectors", array("'<u2'", &[64], false, b""), rows(128)),
        (
            "overwrite a block",
            array("'<u2'", &[30, 40], false, b"tail"),
            overwrite(&[30, 40], &[Range::new(3, 20), Range::new(5, 17)]),
        ),
        (
            "overwrite a block in Fortran order",
            array("'>u2'", &[30, 40], true, b""),
            overwrite(&[30, 40], &[Range::new(3, 20), Range::new(5, 17)]),
        ),
        (
            "overwrite a column",
            array("'<u2'", &[30, 40], false, b""),
            overwrite(&[30, 40], &[Range::all(30), Range::new(39, 1)]),
        ),
        (
            "overwrite every third",
            array("'<u2'", &[900], false, &[7; 620]),
            overwrite(&[900], &[Range::new(0, 300).by(3)]),
        ),
        ("overwrite a scalar", array("'<u2'", &[], false, b""), overwrite(&[], &[])),
        ("overwrite nothing", array("'<u2'", &[9], false, b""), overwrite(&[9], &[Range::new(9, 0)])),
    ]
}

/// Returns what a reader sees of a file.
fn seen(file: &[u8]) -> (Header, Vec<u8>, u64) {
    let reader = Reader::from_bytes(file.to_vec()).unwrap();
    let all = Slab::all(reader.shape()).unwrap();
    (reader.header().clone(), reader.read_slab_bytes(&all).unwrap(), reader.leftover())
}

/// Returns what a program sees that does not know journals: the array, whatever follows it.
fn plainly(file: &[u8]) -> (Header, Vec<u8>) {
    let reader = Reader::from_bytes([file, b"no journal"].concat()).unwrap();
    let all = Slab::all(reader.shape()).unwrap();
    (reader.header().clone(), reader.read_slab_bytes(&all).unwrap())
}

#[test]
fn every_cut_of_an_edit_leaves_the_old_array_or_the_new_one() {
    let mut total = Cuts::default();
    for (name, file, edit) in scenarios() {
        let mut editor = Editor::in_storage(Recorder { bytes: file.clone(), steps: Vec::new() }).unwrap();
        edit(&mut editor).unwrap();
        let Recorder { bytes: after, mut steps } = editor.into_storage();
        steps.push(Step::Sync);
        let (old, new) = (seen(&file), seen(&after));
        assert!(name.ends_with("nothing") || old != new, "{name}");
        let mut old_seen = 0;
        let mut recoveries = Cuts::default();
        total += every_cut(&file, &steps, |cut, left| {
            let found = seen(left);
            assert!(found == old || found == new, "{name}, {cut:?}: neither the old array nor the new one");
            if name.starts_with("append") {
                let (header, bytes) = plainly(left);
                let plain = [&old, &new].iter().any(|state| state.0 == header && state.1 == bytes);
                assert!(plain, "{name}, {cut:?}: a program that knows no journals sees neither");
            }
            old_seen += usize::from(found == old);
            // The next editor completes or takes back the edit, and may be interrupted too.
            let editor = Editor::in_storage(Recorder { bytes: left.to_vec(), steps: Vec::new() }).unwrap();
            let Recorder { bytes: plain, steps } = editor.into_storage();
            assert!(plain == file || plain == after, "{name}, {cut:?}: recovery");
            recoveries += every_cut(left, &steps, |again, left| {
                assert!(seen(left) == found, "{name}, {cut:?}, then {again:?}");
            });
        });
        assert!(old_seen > 2, "{name}");
        total += recoveries;
    }
    println!("crash matrix: npy: edits in place: {total}");
    assert!(total.torn > 50 && total.reordered > 100);
}

#[test]
fn a_full_disk_leaves_the_old_array_or_the_new_one() {
    let mut failed = 0;
    for (name, file, edit) in scenarios() {
        let mut recorder = Editor::in_storage(Recorder { bytes: file.clone(), steps: Vec::new() }).unwrap();
        edit(&mut recorder).unwrap();
        let Recorder { bytes: after, steps } = recorder.into_storage();
        let most = steps.iter().map(|step| match step {
            Step::Write { offset, bytes } => *offset as usize + bytes.len(),
            _ => 0,
        });
        for capacity in (file.len()..most.max().unwrap_or(0)).step_by(97) {
            let disk = Device(FullDisk { bytes: file.clone(), capacity }, |disk| &disk.bytes);
            let mut editor = Editor::in_storage(disk).unwrap();
            let error = edit(&mut editor).unwrap_err();
            assert!(matches!(error, Error::Io { .. }), "{name}: {error}");
            // An edit that failed is taken back at once, so that the disk is not fuller than before.
            let disk = editor.into_storage().0;
            assert!(disk.bytes == file || disk.bytes == after, "{name}, {capacity} bytes");
            failed += 1;
        }
    }
    println!("crash matrix: npy: edits in place: {failed} full disks");
    assert!(failed > 100);
}

#[test]
fn a_failing_device_leaves_the_old_array_or_the_new_one() {
    let mut failed = 0;
    for (name, file, edit) in scenarios() {
        let (old, new) = {
            let mut editor = Editor::in_storage(file.clone()).unwrap();
            edit(&mut editor).unwrap();
            (seen(&file), seen(&editor.into_storage()))
        };
        for operations in 0.. {
            let disk = Device(FailingDisk { bytes: file.clone(), operations }, |disk| &disk.bytes);
            let mut editor = Editor::in_storage(disk).unwrap();
            let result = edit(&mut editor);
            let left = seen(&editor.into_storage().0.bytes);
            assert!(left == old || left == new, "{name}, {operations} operations");
            if result.is_ok() {
                assert!(left == new, "{name}");
                break;
            }
            failed += 1;
        }
    }
    println!("crash matrix: npy: edits in place: {failed} failing devices");
    assert!(failed > 100);
}

#[test]
fn after_a_failure_the_editor_goes_on() {
    let file = array("'<u2'", &[300], false, b"");
    let disk = Device(FullDisk { bytes: file, capacity: 2000 }, |disk| &disk.bytes);
    let mut editor = Editor::in_storage(disk).unwrap();
    assert!(editor.append_bytes(&values(900)).is_err());
    assert_eq!(editor.shape(), [300]);
    editor.append_bytes(&values(10)).unwrap();
    assert_eq!(seen(&editor.into_storage().0.bytes).1, [values(300), values(10)].concat());
}

#[test]
fn one_editor_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("array.npy");
    npy::write(&path, &[3], &[1u16, 2, 3]).unwrap();
    let editor = Editor::open(&path).unwrap();
    assert!(Editor::open(&path).unwrap_err().to_string().contains("another program has it locked"));
    drop(editor);
    let mut editor = Editor::open(&path).unwrap().with_durability(npy::Durability::Power);
    editor.append(&[4u16, 5]).unwrap();
    assert_eq!(Reader::open(&path).unwrap().read::<u16>().unwrap(), [1, 2, 3, 4, 5]);
    drop(editor);
    // A journal in a real file is found and recovered too.
    let mut interrupted = std::fs::read(&path).unwrap();
    let recorder = Recorder { bytes: interrupted.clone(), steps: Vec::new() };
    let mut recorder = Editor::in_storage(recorder).unwrap();
    recorder.append(&[6u16]).unwrap();
    let steps = recorder.into_storage().steps;
    let decided = steps.len().checked_sub(2).unwrap();
    apply(&steps[..decided], &mut interrupted).unwrap();
    std::fs::write(&path, &interrupted).unwrap();
    assert!(interrupted.len().is_multiple_of(512));
    assert_eq!(Reader::open(&path).unwrap().shape(), [6]);
    assert_eq!(Editor::open(&path).unwrap().shape(), [6]);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 128 + 12);
}
