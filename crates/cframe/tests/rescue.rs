//! Frames by python-blosc2 are cut at many places. What is left is read with the right numbers, and nothing else is read.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

use std::borrow::Cow;
use std::path::PathBuf;

use cframe::{Array, Error, Frame, OpenOptions, Places, Result, SChunk};
use sciformats_core::ReadAt;

fn rescue() -> OpenOptions {
    OpenOptions::default().with_rescue(true)
}

/// Returns the contiguous frames among the fixtures, by name.
fn frames() -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/blosc2");
    let mut frames: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file() && path.extension().is_some_and(|name| name != "toml"))
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap()))
        .filter(|(_, bytes)| Frame::from_bytes(bytes.clone()).is_ok())
        .collect();
    frames.sort();
    assert!(frames.len() > 20);
    frames
}

/// Returns a decoded chunk, if the build can decode it.
fn decoded(frame: &Frame, index: u64) -> Result<Vec<u8>> {
    frame.chunk(index)?.decode()
}

#[test]
fn every_whole_chunk_of_a_cut_frame_is_read_at_its_place() {
    let (mut cuts, mut read, mut counted) = (0, 0u64, 0);
    for (name, bytes) in frames() {
        let whole = Frame::from_bytes(bytes.clone()).unwrap();
        let chunks = whole.chunks();
        let header = whole.header().header_len as usize;
        // Returns the ends of chunks, if every chunk is stored and they follow each other.
        let sizes: Option<Vec<u64>> = (0..chunks)
            .map(|index| whole.stored_bytes(index).unwrap().map(|stored| stored.len() as u64))
            .collect();
        let in_order =
            sizes.filter(|sizes| sizes.iter().sum::<u64>() == whole.cbytes() && name != "edited.b2frame");
        let truth: Vec<_> = (0..chunks).map(|index| decoded(&whole, index).ok()).collect();
        let step = ((bytes.len() - header) / 60).max(1);
        for len in (header..bytes.len()).step_by(step).chain(bytes.len() - 3..bytes.len()) {
            let cut = bytes[..len].to_vec();
            assert!(Frame::from_bytes(cut.clone()).is_err(), "{name} {len}");
            let frame =
                Frame::from_bytes_with(cut, &rescue()).unwrap_or_else(|e| panic!("{name} {len}: {e}"));
            let Some(left) = frame.rescued() else { panic!("{name} {len}") };
            assert_eq!(left.whole, bytes.len() as u64, "{name}");
            cuts += 1;
            if let Some(sizes) = &in_order {
                let mut end = header as u64;
                let there = sizes.iter().take_while(|&&size| {
                    end += size;
                    end <= len as u64
                });
                assert_eq!(left.chunks, there.count() as u64, "{name} {len}");
            }
            for index in 0..chunks {
                let found = decoded(&frame, index);
                let Some(Some(truth)) = truth.get(index as usize) else { continue };
                if index < left.chunks && (in_order.is_some() || left.places != Places::Assumed) {
                    assert_eq!(found.unwrap(), *truth, "{name} {len}: chunk {index}, {:?}", left.places);
                    read += 1;
                } else if index >= left.chunks {
                    let error = found.unwrap_err();
                    let shown = error.to_string();
                    assert!(matches!(error, Error::Malformed { .. }), "{name} {len}: {shown}");
                    assert!(
                        shown.contains("cut short: ") || left.places == Places::Unknown,
                        "{name}: {shown}"
                    );
                }
            }
            counted += usize::from(left.places == Places::Counted);
        }
        let frame = Frame::from_bytes_with(bytes, &rescue()).unwrap();
        assert_eq!(frame.rescued(), None, "{name}");
    }
    assert!(cuts > 500 && read > 500 && counted > 20, "{cuts} {read} {counted}");
}

#[test]
fn parts_of_an_array_that_lie_in_whole_chunks_are_read() {
    let data: Vec<u8> = (0..64u32 * 64).flat_map(|n| (n * 7919 % 1009).to_le_bytes()).collect();
    let params = cframe::ArrayParams::new(&[64, 64], "<u4").unwrap().with_chunks(&[16, 64]);
    let mut array = Array::new(&params).unwrap();
    array.write_slab_bytes(&cframe::Slab::all(&[64, 64]).unwrap(), &data).unwrap();
    let bytes = array.schunk().to_bytes().unwrap();
    let cut = bytes[..bytes.len() * 6 / 10].to_vec();
    let frame = Frame::from_bytes_with(cut, &rescue()).unwrap();
    assert_eq!(frame.rescued().unwrap().chunks, 2);
    let array = Array::from_frame(frame).unwrap();
    let rows =
        |from, count| cframe::Slab::new(&[64, 64], [cframe::Range::new(from, count), cframe::Range::all(64)]);
    assert_eq!(array.read_slab_bytes(&rows(3, 20).unwrap()).unwrap(), data[3 * 256..23 * 256]);
    assert!(array.read_slab_bytes(&rows(20, 20).unwrap()).is_err());
}

#[test]
fn what_is_left_of_a_frame_is_not_changed() {
    let mut schunk = SChunk::new(cframe::Params::new(4));
    (0..6u8).try_for_each(|n| schunk.append(&[n; 4000]).map(drop)).unwrap();
    let mut bytes = schunk.to_bytes().unwrap();
    let chunks = bytes.len() / 2;
    bytes.truncate(chunks);
    let mut schunk = SChunk::from_bytes_with(bytes, &rescue()).unwrap();
    assert!(schunk.append(&[1; 4000]).is_err() || schunk.to_bytes().is_err());
}

/// Half of a frame, which claims to have all bytes.
struct Half(Vec<u8>, usize);

impl ReadAt for Half {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, len: usize) -> sciformats_core::Result<Cow<'_, [u8]>> {
        self.0[..self.1].read_at(offset, len)
    }
}

#[test]
fn a_storage_that_stands_for_missing_bytes_is_read_as_far_as_it_goes() {
    let mut schunk = SChunk::new(cframe::Params::new(4));
    (0..6u8).try_for_each(|n| schunk.append(&[n; 4000]).map(drop)).unwrap();
    let bytes = schunk.to_bytes().unwrap();
    let at = bytes.len() / 2;
    let cut = Frame::from_bytes_with(bytes[..at].to_vec(), &rescue()).unwrap();
    let half = Frame::from_storage(Half(bytes, at), 0, &rescue()).unwrap();
    assert_eq!(cut.rescued(), half.rescued());
}
