//! What the format is used for.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gsd_rs::{OpenOptions, Result};
use sciformats_core::endian::ByteOrder;
use sciformats_core::storage::Window;
use sciformats_core::{ReadAt, WriteAt};

use super::*;

#[test]
fn efficiently_store_many_frames_of_data() {
    let frames = 30_000u64;
    let reader = memory(|writer| {
        for frame in 0..frames {
            writer.write("step", 1, &[frame]).unwrap();
            writer.end_frame().unwrap();
        }
    });
    assert_eq!(reader.frames(), frames);
    for frame in (0..frames).step_by(997) {
        let chunk = reader.find(frame, "step").unwrap().unwrap();
        assert_eq!(read::<u64>(&reader, &chunk), [frame]);
    }
    // 32 bytes of index and 8 bytes of data per frame; the index is at most doubled, and so are its abandoned blocks.
    assert!(reader.space().unwrap().file < frames * (8 + 4 * 32), "{:?}", reader.space());
}

/// Counts its calls.
#[derive(Default)]
struct Counting {
    bytes: Vec<u8>,
    calls: Arc<AtomicUsize>,
}

impl ReadAt for Counting {
    fn size(&self) -> u64 {
        ReadAt::size(&self.bytes)
    }
    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Ok(Cow::Owned(self.bytes.read_at(offset, len)?.into_owned()))
    }
}

impl WriteAt for Counting {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.bytes.write_at(offset, bytes)
    }
    fn set_size(&mut self, size: u64) -> Result<()> {
        self.bytes.set_size(size)
    }
    fn sync(&mut self) -> Result<()> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

#[test]
fn high_performance_file_write_collects_chunks() {
    let storage = Counting::default();
    let calls = storage.calls.clone();
    let mut writer = Writer::create_in(storage, &options()).unwrap();
    let before = calls.load(Ordering::Relaxed);
    for frame in 0..10_000u64 {
        writer.write("step", 1, &[frame]).unwrap();
        writer.write("energy", 1, &[0.5f64]).unwrap();
        writer.end_frame().unwrap();
    }
    writer.finish().unwrap();
    // Twenty thousand chunks, and the index that grows for them.
    assert!(calls.load(Ordering::Relaxed) - before < 40, "{calls:?}");
}

#[test]
fn high_performance_file_read_takes_few_steps() {
    let bytes = {
        let mut writer = Writer::create_in(Vec::new(), &options()).unwrap();
        for frame in 0..20_000u64 {
            writer.write("step", 1, &[frame]).unwrap();
            writer.end_frame().unwrap();
        }
        writer.into_bytes().unwrap()
    };
    let storage = Counting { bytes, ..Counting::default() };
    let calls = storage.calls.clone();
    let reader = Reader::from_storage(storage, &OpenOptions::default()).unwrap();
    assert!(calls.swap(0, Ordering::Relaxed) < 60, "opening");
    reader.find(12_345, "step").unwrap().unwrap();
    assert!(calls.swap(0, Ordering::Relaxed) < 20, "looking up a chunk");
    assert_eq!(reader.all_chunks().count(), 20_000);
    assert!(calls.load(Ordering::Relaxed) < 200, "passing all");
}

#[test]
fn can_be_integrated_into_other_tools() {
    fn for_threads<T: Send + Sync>() {}
    for_threads::<Reader>();
    for_threads::<Writer>();
    for_threads::<gsd_rs::hoomd::Trajectory>();
    // Reading works on any storage that can be read at a position, here on one that contains the file in its middle.
    let mut whole = vec![0xAA; 100];
    let mut writer = Writer::create_in(Vec::new(), &options()).unwrap();
    writer.write("a", 1, &[1u8]).unwrap();
    writer.end_frame().unwrap();
    let file = writer.into_bytes().unwrap();
    let size = file.len() as u64;
    whole.extend(file);
    whole.extend([0xBB; 100]);
    let reader =
        Reader::from_storage(Window::new(whole, 100, size).unwrap(), &OpenOptions::default()).unwrap();
    assert_eq!(read::<u8>(&reader, &reader.find(0, "a").unwrap().unwrap()), [1]);
}

#[test]
fn reading_lends_the_bytes_that_are_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lend.gsd");
    let mut writer = Writer::create(&path, &options()).unwrap();
    writer.write("odd", 1, &[1u8; 3]).unwrap();
    writer.write("position", 3, &[0.5f64; 300]).unwrap();
    writer.end_frame().unwrap();
    writer.finish().unwrap();
    let reader = Reader::from_bytes(std::fs::read(&path).unwrap()).unwrap();
    let chunk = reader.find(0, "position").unwrap().unwrap();
    // Elements can only be borrowed if the byte order of the machine is that of the file.
    let is_lent = matches!(reader.read::<f64>(&chunk).unwrap(), Cow::Borrowed(_));
    assert_eq!(is_lent, cfg!(target_endian = "little"));
    assert!(matches!(reader.read_bytes(&chunk, 0..chunk.n).unwrap(), Cow::Borrowed(_)));
    let copied = Reader::from_storage(FileStorage::open(&path).unwrap(), &OpenOptions::default()).unwrap();
    assert!(matches!(copied.read::<f64>(&chunk).unwrap(), Cow::Owned(_)));
    assert_eq!(copied.read::<f64>(&chunk).unwrap(), reader.read::<f64>(&chunk).unwrap());
}

#[test]
fn arbitrary_chunks_of_data_in_each_frame() {
    let reader = memory(|writer| {
        writer.write("position", 3, &[1.5f32; 6]).unwrap();
        writer.write("orientation", 4, &[1.0f32, 0.0, 0.0, 0.0]).unwrap();
        writer.write("type", 1, &[3u32]).unwrap();
        writer.end_frame().unwrap();
    });
    let names: Vec<&str> = reader.chunks(0).map(|chunk| chunk.unwrap().name).collect();
    assert_eq!(names, ["position", "orientation", "type"]);
}

#[test]
fn variable_number_and_size_of_chunks_in_each_frame() {
    let reader = memory(|writer| {
        for frame in 0..20u32 {
            for chunk in 0..frame {
                writer.write(&chunk.to_string(), 1, &vec![frame; (frame + chunk) as usize]).unwrap();
            }
            writer.end_frame().unwrap();
        }
        writer.write("last", 1, &[1u8]).unwrap();
        writer.end_frame().unwrap();
    });
    for frame in 0..20u64 {
        assert_eq!(reader.chunks(frame).count() as u64, frame);
        for chunk in 0..frame {
            let found = reader.find(frame, &chunk.to_string()).unwrap().unwrap();
            assert_eq!(read::<u32>(&reader, &found), vec![frame as u32; (frame + chunk) as usize]);
        }
    }
    assert_eq!(reader.frames(), 21);
}

fn one_type<T: gsd_rs::Element + std::fmt::Debug>(values: &[T; 6]) {
    let reader = memory(|writer| {
        writer.write("a", 2, values).unwrap();
        writer.write_bytes("b", T::TYPE, 3, &bytes_of(values)).unwrap();
        writer.end_frame().unwrap();
    });
    for (name, n, m) in [("a", 3, 2), ("b", 2, 3)] {
        let chunk = reader.find(0, name).unwrap().unwrap();
        assert_eq!((chunk.element, chunk.n, chunk.m), (T::TYPE, n, m));
        assert_eq!(read::<T>(&reader, &chunk), values);
    }
}

/// Returns the bytes of elements as they are in the file.
fn bytes_of<T: gsd_rs::Element>(values: &[T]) -> Vec<u8> {
    let mut bytes = bytemuck::cast_slice(values).to_vec();
    ByteOrder::NATIVE.convert(ByteOrder::Little, &mut bytes, size_of::<T>());
    bytes
}

#[test]
fn each_chunk_identifies_its_data_type() {
    one_type(&[0u8, 1, 2, 3, 254, 255]);
    one_type(&[0u16, 1, 2, 3, 4, u16::MAX]);
    one_type(&[0u32, 1, 2, 3, 4, u32::MAX]);
    one_type(&[0u64, 1, 2, 3, 4, u64::MAX]);
    one_type(&[i8::MIN, -1, 0, 1, 2, i8::MAX]);
    one_type(&[i16::MIN, -1, 0, 1, 2, i16::MAX]);
    one_type(&[i32::MIN, -1, 0, 1, 2, i32::MAX]);
    one_type(&[i64::MIN, -1, 0, 1, 2, i64::MAX]);
    one_type(&[f32::MIN, -0.0, 0.5, f32::MIN_POSITIVE, f32::MAX, f32::INFINITY]);
    one_type(&[f64::MIN, -0.0, 0.5, f64::MIN_POSITIVE, f64::MAX, f64::INFINITY]);
    let reader = memory(|writer| {
        writer.write_text("text", "αβγ").unwrap();
        writer.write("i8", 4, &[97i8, 98, 0, 0]).unwrap();
        writer.end_frame().unwrap();
    });
    let chunk = reader.find(0, "text").unwrap().unwrap();
    assert_eq!((chunk.element, chunk.n, chunk.m), (ElementType::Character, 6, 1));
    assert_eq!(reader.text(&chunk).unwrap(), "αβγ");
    assert_eq!(reader.read::<u8>(&chunk).unwrap(), "αβγ".as_bytes());
    assert_eq!(reader.text(&reader.find(0, "i8").unwrap().unwrap()).unwrap(), "ab");
    assert_eq!(*reader.read::<f32>(&chunk).unwrap(), [206.0, 177.0, 206.0, 178.0, 206.0, 179.0]);
}

#[test]
fn binary_blob_of_n_bytes() {
    let blob: Vec<u8> = (0..3_000_001u32).map(|i| (i % 251) as u8).collect(); // more than the buffer holds
    let reader = memory(|writer| {
        writer.write("small", 1, &[7u8]).unwrap();
        writer.write("blob", 1, &blob).unwrap();
        writer.write("after", 1, &[8u64]).unwrap();
        writer.end_frame().unwrap();
    });
    let chunk = reader.find(0, "blob").unwrap().unwrap();
    assert!(read::<u8>(&reader, &chunk) == blob);
    assert_eq!(read::<u64>(&reader, &reader.find(0, "after").unwrap().unwrap()), [8]);
}

#[test]
fn append_frames_to_an_existing_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("append.gsd");
    Writer::create(&path, &options()).unwrap().finish().unwrap();
    for session in 0..10u64 {
        let mut writer = Writer::append_to(&path).unwrap();
        assert_eq!(writer.frames(), session * 2);
        for _ in 0..2 {
            writer.write("frame", 1, &[writer.frames()]).unwrap();
            writer.end_frame().unwrap();
        }
        writer.finish().unwrap();
    }
    let reader = Reader::open(&path).unwrap();
    let frames: Vec<u64> = reader.all_chunks().map(|chunk| chunk.unwrap().frame).collect();
    assert_eq!(frames, (0..20).collect::<Vec<_>>());
    assert!(reader.history("frame").all(|c| read::<u64>(&reader, &c.unwrap()).len() == 1));
    // Twenty entries fit the first block, so ten sessions did not abandon a block.
    assert_eq!(reader.space().unwrap().unused(), 0);
}
