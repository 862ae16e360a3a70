//! Commits that are interrupted wherever a crash can interrupt them, and devices that fail.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests may fail like tests"
)]

use std::borrow::Cow;

use rawarray::{
    ByteOrder, Editor, Error, Range, RawArray, ReadAt, Reader, Result, Slab, StreamWriter, WriteAt,
    WriteOptions, Writer,
};
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
    fn append(&mut self, rows: &[u16]) -> Result<()>;
    fn overwrite(&mut self, slab: &Slab, elements: &[u16]) -> Result<()>;
    fn metadata(&mut self, metadata: &[u8]) -> Result<()>;
}

impl<S: ReadAt + WriteAt> Change for Editor<S> {
    fn append(&mut self, rows: &[u16]) -> Result<()> {
        Editor::append(self, rows)
    }
    fn overwrite(&mut self, slab: &Slab, elements: &[u16]) -> Result<()> {
        self.write_slab(slab, elements)
    }
    fn metadata(&mut self, metadata: &[u8]) -> Result<()> {
        self.set_metadata(metadata)
    }
}

fn values(n: u64) -> Vec<u16> {
    (0..n as u32).map(|i| (i.wrapping_mul(40_503) >> 3) as u16).collect()
}

/// Returns arrays, and edits of each that extend over several sectors.
fn scenarios() -> Vec<(&'static str, Vec<u8>, Edit)> {
    let array = |dims: &[u64], metadata: &[u8], order| {
        let options = WriteOptions::default().with_byte_order(order);
        let data = values(dims.iter().product());
        Writer::new(dims).with_metadata(metadata).with_options(options).encode(&data).unwrap()
    };
    let rows = |n: u64| -> Edit { Box::new(move |editor| editor.append(&values(n))) };
    let overwrite = |shape: &'static [u64], ranges: &[Range]| -> Edit {
        let slab = Slab::new(shape, ranges).unwrap();
        Box::new(move |editor| editor.overwrite(&slab, &vec![0xEEEE; slab.len() as usize]))
    };
    let metadata = |bytes: Vec<u8>| -> Edit { Box::new(move |editor| editor.metadata(&bytes)) };
    let (little, big) = (ByteOrder::Little, ByteOrder::Big);
    let many_dims: Vec<u64> = [vec![1; 70], vec![2]].concat();
    vec![
        ("append to a vector", array(&[300], b"", little), rows(400)),
        ("append big-endian rows before metadata", array(&[10, 30], &[7; 100], big), rows(400)),
        ("append less than the metadata", array(&[10, 30], &[7; 1500], little), rows(20)),
        ("append to nothing", array(&[3, 0], b"", little), rows(3)),
        ("append nothing", array(&[3, 4], b"x", little), rows(0)),
        ("append along the 71st dimension", array(&many_dims, b"x", little), rows(5)),
        (
            "overwrite a block",
            array(&[40, 30], b"tail", big),
            overwrite(&[30, 40], &[Range::new(3, 20), Range::new(5, 17)]),
        ),
        (
            "overwrite a column",
            array(&[40, 30], b"", little),
            overwrite(&[30, 40], &[Range::all(30), Range::new(39, 1)]),
        ),
        ("overwrite every third", array(&[900], b"", little), overwrite(&[900], &[Range::new(0, 300).by(3)])),
        ("overwrite nothing", array(&[9], b"", little), overwrite(&[9], &[Range::new(9, 0)])),
        ("first metadata", array(&[300], b"", little), metadata(vec![5; 700])),
        ("longer metadata", array(&[300], &[1; 300], little), metadata(vec![5; 700])),
        ("shorter metadata", array(&[300], &[1; 700], little), metadata(vec![5; 300])),
        ("no metadata", array(&[300], &[1; 700], little), metadata(Vec::new())),
        // The length of the file before the edit is a multiple of the sector size.
        ("append to a whole number of sectors", array(&[228], b"", little), rows(256)),
        ("append up to a whole number of sectors", array(&[100], b"", little), rows(128)),
    ]
}

/// Returns what a reader sees of a file.
fn seen(file: &[u8]) -> (RawArray<u16>, ByteOrder) {
    let reader = Reader::from_bytes(file.to_vec()).unwrap();
    (RawArray::from_reader(&reader).unwrap(), reader.byte_order())
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
    println!("crash matrix: rawarray: edits in place: {total}");
    assert!(total.torn > 100 && total.reordered > 100);
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
    println!("crash matrix: rawarray: edits in place: {failed} full disks");
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
    println!("crash matrix: rawarray: edits in place: {failed} failing devices");
    assert!(failed > 100);
}

#[test]
fn after_a_failure_the_editor_goes_on() {
    let file = RawArray::from(values(300)).encode(&WriteOptions::default()).unwrap();
    let mut editor =
        Editor::in_storage(Device(FullDisk { bytes: file, capacity: 2000 }, |disk| &disk.bytes)).unwrap();
    assert!(editor.append(&values(900)).is_err());
    assert_eq!(editor.dims(), [300]);
    editor.append(&values(10)).unwrap();
    assert_eq!(seen(&editor.into_storage().0.bytes).0.data(), [values(300), values(10)].concat());
}

/// Returns a stream of rows as steps, and how many rows were passed to the writer before each step.
fn stream(options: &WriteOptions, row: &[u64], rows: u64) -> Vec<Step<'static>> {
    let mut stream =
        StreamWriter::in_storage(Recorder::default(), rawarray::ElementType::UInt(2), row, options).unwrap();
    let size: u64 = row.iter().product();
    for row in values(size * rows).chunks(size as usize) {
        stream.write(row).unwrap();
        stream.sync().unwrap();
    }
    stream.finish().unwrap().steps
}

#[test]
fn every_cut_of_a_stream_is_unfinished_or_whole() {
    let mut total = Cuts::default();
    let power = WriteOptions::default().with_durability(rawarray::Durability::Power);
    let many = [vec![1; 70], vec![300]].concat();
    for (row, options) in
        [(&[300][..], power), (&[10, 31], power.with_byte_order(ByteOrder::Big)), (&many, power)]
    {
        let steps = stream(&options, row, 4);
        let size: u64 = row.iter().product();
        let all = values(size * 4);
        let mut finished = 0;
        total += every_cut(&[], &steps, |cut, left| match Reader::from_bytes(left.to_vec()) {
            Ok(reader) => {
                assert_eq!(reader.read::<u16>().unwrap(), all, "{cut:?}");
                finished += 1;
            }
            Err(Error::Malformed { structure, fault, .. }) => {
                let header = 48 + 8 * (row.len() + 1);
                let unfinished = fault.to_string() == "size is unfinished: its writer stopped early";
                assert!(unfinished || left.len() < header, "{cut:?}: {structure} {fault}");
                if !unfinished {
                    return;
                }
                // The whole rows are still present, and the stream can continue.
                let mut stream = StreamWriter::resume_in(left.to_vec()).unwrap();
                let rows = stream.rows();
                stream.write(&all[(rows * size) as usize..]).unwrap();
                let (whole, _) = seen(&stream.finish().unwrap());
                assert_eq!(whole.data(), all, "{cut:?}");
                let (part, _) = seen(&StreamWriter::resume_in(left.to_vec()).unwrap().finish().unwrap());
                assert_eq!(part.dims(), [row, &[rows]].concat());
            }
            Err(Error::NotThisFormat { .. }) => assert!(left.len() < 8, "{cut:?}"),
            Err(error) => panic!("{cut:?}: {error}"),
        });
        assert!(finished > 0);
    }
    println!("crash matrix: rawarray: streams: {total}");
    assert!(total.total() > 50);
}

#[test]
fn a_stream_that_goes_on_is_as_durable_as_it_is_asked_to_be() {
    use rawarray::{Durability, Element};

    let mut bytes = Vec::new();
    StreamWriter::in_storage(&mut bytes, u16::TYPE, &[3], &WriteOptions::default()).unwrap();
    for (durability, syncs) in [(Durability::Process, 0), (Durability::Power, 2)] {
        let recorder = Recorder { bytes: bytes.clone(), steps: Vec::new() };
        let mut stream = StreamWriter::resume_in(recorder).unwrap().with_durability(durability);
        stream.write(&[1u16, 2, 3]).unwrap();
        let steps = stream.finish().unwrap().steps;
        assert_eq!(steps.iter().filter(|step| **step == Step::Sync).count(), syncs, "{durability:?}");
    }
}

#[test]
fn streams_of_rows() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("stream.ra");
    let options = WriteOptions::default().with_byte_order(ByteOrder::Big);
    let mut stream = StreamWriter::create::<f64>(&path, &[1000], &options).unwrap();
    assert!(StreamWriter::create::<f64>(&path, &[1000], &options).is_err());
    let data: Vec<f64> = (0..1_000_000).map(f64::from).collect();
    stream.write(&data[..1500]).unwrap();
    assert_eq!(stream.rows(), 1);
    assert!(stream.write(&[1u8]).is_err());
    stream.write(&data[1500..700_000]).unwrap(); // more than the buffer
    stream.write_bytes(&data[700_000].to_le_bytes()).unwrap();
    assert!(stream.write_bytes(&[0; 7]).is_err());
    drop(stream);

    let error = Reader::open(&path).unwrap_err().to_string();
    assert_eq!(error, "malformed header at offset 0x20: size is unfinished: its writer stopped early");
    let mut stream = StreamWriter::resume(&path).unwrap();
    let error = StreamWriter::resume(&path).unwrap_err().to_string();
    assert!(error.contains("another program has it locked"), "{error}");
    assert_eq!(stream.rows(), 700);
    stream.write(&data[700_000..]).unwrap();
    stream.finish().unwrap();
    let reader = Reader::open(&path).unwrap();
    assert_eq!((reader.dims(), reader.byte_order()), (&[1000, 1000][..], ByteOrder::Big));
    assert_eq!(reader.read::<f64>().unwrap(), data);
    assert!(StreamWriter::resume(&path).unwrap_err().to_string().contains("is finished"));

    let path = dir.path().join("part.ra");
    let mut stream = StreamWriter::create::<u8>(&path, &[4], &options).unwrap();
    stream.write(&[1u8; 6]).unwrap();
    assert_eq!(
        stream.finish().unwrap_err().to_string(),
        "elements end in the middle of a row, after 2 of its 4 bytes"
    );
    assert_eq!(StreamWriter::resume(&path).unwrap().rows(), 1);
    assert!(StreamWriter::create::<u8>(dir.path().join("none"), &[4, 0], &options).is_err());
    assert!(!dir.path().join("none").exists());
}

/// Returns a stream of two-byte elements on a disk of 3 MiB, after the first error.
fn stream_on_a_full_disk(row: u64) -> StreamWriter<FullDisk> {
    let disk = FullDisk { bytes: Vec::new(), capacity: 3 << 20 };
    let (element, options) = (rawarray::ElementType::UInt(2), WriteOptions::default());
    let mut stream = StreamWriter::in_storage(disk, element, &[row], &options).unwrap();
    let elements = values(row);
    let error = (0..100).find_map(|_| stream.write(&elements).err()).unwrap();
    assert!(matches!(error, Error::Io { .. }));
    stream
}

#[test]
fn rows_that_were_collected_for_a_full_disk_are_not_forgotten() {
    let mut stream = stream_on_a_full_disk(1 << 15);
    assert!(stream.rows() >= 47);
    assert!(stream.sync().is_err());
    assert!(stream.finish().is_err());
}

#[test]
fn a_stream_on_a_full_disk_can_be_finished_with_the_rows_that_it_took() {
    let stream = stream_on_a_full_disk(1 << 19);
    assert_eq!(stream.rows(), 2);
    let bytes = stream.finish().unwrap().bytes;
    let read = Reader::from_bytes(bytes).unwrap();
    assert_eq!((read.dims(), read.metadata_len()), (&[1 << 19, 2][..], 0));
    assert_eq!(read.read::<u16>().unwrap(), [values(1 << 19), values(1 << 19)].concat());
}

#[test]
fn edits_that_do_not_fit_are_refused_and_change_nothing() {
    let file = Writer::new(&[3, 2][..]).encode(&values(6)).unwrap();
    let mut julia = [&b"rawarray"[..], &[0; 48]].concat();
    for (at, byte) in [(8, 6), (16, 5), (24, 8), (32, 8), (40, 1), (48, 3)] {
        julia[at] = byte;
    }
    julia.extend([5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    let mut editor = Editor::in_storage(julia).unwrap();
    assert_eq!(editor.dims(), [3, 5]);
    assert!(
        editor.set_metadata(b"x").unwrap_err().to_string().starts_with("changing the metadata of a BitArray")
    );

    let mut editor = Editor::in_storage(Recorder { bytes: file, steps: Vec::new() }).unwrap();
    let slab = Slab::all(&[2, 3]).unwrap();
    let errors = [
        editor.append(&[1u8; 6]).unwrap_err().to_string(),
        editor.append(&[1u16; 4]).unwrap_err().to_string(),
        editor.write_slab(&slab, &[1u16; 5]).unwrap_err().to_string(),
        editor.write_slab(&Slab::all(&[3, 2]).unwrap(), &[1u16; 6]).unwrap_err().to_string(),
    ];
    let expected = [
        "element type is u1, but the elements of the array are u2",
        "rows have 8 bytes, which is not a multiple of the size of a row (6 bytes)",
        "elements have 10 bytes, but the slab selects 12 bytes",
        "slab selects from an array of [3, 2], but this array has the shape [2, 3]",
    ];
    assert_eq!(errors, expected);
    assert_eq!(editor.into_storage().steps, []);

    let scalar = Writer::new(&[][..]).encode(&[1u16]).unwrap();
    assert!(
        Editor::in_storage(scalar)
            .unwrap()
            .append(&[1u16])
            .unwrap_err()
            .to_string()
            .contains("no dimensions")
    );
    let bits = WriteOptions::default().with_encoding(rawarray::Encoding::Bits);
    let packed = RawArray::from(vec![true; 99]).encode(&bits).unwrap();
    let mut editor = Editor::in_storage(packed).unwrap();
    let error = editor.append(&[true]).unwrap_err().to_string();
    assert_eq!(error, "appending to an array encoded as bits is not supported");
    // Its metadata can be changed nevertheless.
    editor.set_metadata(b"new").unwrap();
    let array = RawArray::<bool>::from_bytes(editor.into_storage()).unwrap();
    assert_eq!((array.data(), array.metadata()), (&[true; 99][..], &b"new"[..]));
}

#[test]
fn one_editor_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("array.ra");
    RawArray::from(values(3)).write(&path).unwrap();
    let editor = Editor::open(&path).unwrap();
    assert!(Editor::open(&path).unwrap_err().to_string().contains("another program has it locked"));
    drop(editor);
    let mut editor = Editor::open(&path).unwrap().with_durability(rawarray::Durability::Power);
    editor.append(&values(2)).unwrap();
    assert_eq!(RawArray::<u16>::read(&path).unwrap().data(), [values(3), values(2)].concat());
    // A journal in a real file is found and recovered too.
    let mut interrupted = std::fs::read(&path).unwrap();
    let mut recorder =
        Editor::in_storage(Recorder { bytes: interrupted.clone(), steps: Vec::new() }).unwrap();
    recorder.append(&values(1)).unwrap();
    apply(&recorder.into_storage().steps[..8], &mut interrupted).unwrap();
    drop(editor);
    std::fs::write(&path, &interrupted).unwrap();
    assert_eq!(RawArray::<u16>::read(&path).unwrap().dims(), [6]);
    assert_eq!(Editor::open(&path).unwrap().dims(), [6]);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 56 + 12);
}
