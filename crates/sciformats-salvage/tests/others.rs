//! Damages files of ASDF, Blosc2, GSD and RawArray in memory, salvages them, and compares what was saved with what was there.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::expect_used)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use sciformats_core::ReadAt;
use sciformats_salvage::{Examination, Options, State, examine, examine_storage};

pub(crate) type Slabs = Vec<(Vec<u64>, Vec<u64>)>;

/// Numbers without zeros, so that a zero shows what is missing.
pub(crate) fn numbers(seed: u64, count: usize) -> Vec<u32> {
    (0..count as u64).map(|i| ((i * 2_654_435_761 + seed * 40_503) % 100_003 + 1) as u32).collect()
}

pub(crate) fn examined(bytes: &[u8]) -> Option<Examination> {
    let storage: Arc<dyn ReadAt> = Arc::new(bytes.to_vec());
    examine_storage(&storage, &Options::default().with_threads(1)).ok()
}

/// Damages that are the same in each run: cuts, lost sectors, changed bits, an overwritten head.
pub(crate) fn damages(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let len = bytes.len();
    for cut in (1..len).step_by((len / 40).max(1) | 1) {
        all.push((format!("cut at {cut}"), bytes[..cut].to_vec()));
    }
    for at in (0..len).step_by(512).step_by((len / 512 / 40).max(1)) {
        let mut damaged = bytes.to_vec();
        damaged[at..(at + 512).min(len)].fill(0);
        all.push((format!("zeros at {at}"), damaged));
    }
    let mut random = 88_172_645_463_325_252u64;
    for _ in 0..60 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // Half of the changes are in the first 400 bytes, where the descriptions are.
        let range = if random & 1 == 0 { len } else { len.min(400) };
        let (at, bit) = ((random >> 8) as usize % range, (random >> 3) % 8);
        let mut damaged = bytes.to_vec();
        damaged[at] ^= 1 << bit;
        all.push((format!("bit {bit} of byte {at}"), damaged));
    }
    for head in [8, 64, 300] {
        let mut damaged = bytes.to_vec();
        damaged[..head.min(len)].fill(0xA5);
        all.push((format!("{head} bytes of the head"), damaged));
    }
    all
}

pub(crate) fn is_missing(missing: &Slabs, index: &[u64]) -> bool {
    missing.iter().any(|(start, count)| {
        start.iter().zip(count).zip(index).all(|((start, count), at)| start <= at && *at < start + count)
    })
}

pub(crate) fn saved(found: &Examination, folder: &Path, name: &str) -> Option<std::path::PathBuf> {
    let path = folder.join(name);
    let _ = std::fs::remove_file(&path);
    found.write(&path).ok()?;
    Some(path)
}

/// What is claimed of a file, and how much of it is right.
#[derive(Default, Debug)]
struct Score {
    files: usize,
    right: usize,
    all: usize,
}

#[test]
fn raw_array() {
    let folder = tempfile::tempdir().unwrap();
    let data = numbers(3, 60 * 7 * 4);
    let bytes =
        rawarray::RawArray::new([7, 4, 60], data.clone()).unwrap().encode(&Default::default()).unwrap();
    let sound = examined(&bytes).unwrap();
    assert!(sound.report().is_sound(), "{:#?}", sound.report());
    let mut score = Score::default();
    for (name, damaged) in damages(&bytes) {
        let Some(found) = examined(&damaged) else { continue };
        if found.report().format != "rawarray" {
            continue;
        }
        let object = &found.report().objects[0];
        assert!(object.state > State::Whole, "{name}: nothing in RawArray is checked");
        let Some(path) = saved(&found, folder.path(), "saved.ra") else { continue };
        let reader = rawarray::Reader::open(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        score.files += 1;
        score.all += data.len();
        if reader.shape() != [60, 4, 7] || reader.element() != rawarray::ElementType::UInt(4) {
            continue;
        }
        let values = reader.read::<u32>().unwrap();
        for (i, (value, wanted)) in values.iter().zip(&data).enumerate() {
            let i = i as u64;
            let missing = is_missing(&object.missing, &[i / 28, i / 7 % 4, i % 7]);
            // Without a checksum, changed bits and lost sectors of a file that shows no other damage are not noticed.
            let noticed = name.starts_with("cut");
            assert!(value == wanted || missing || !noticed, "{name}: element {i}");
            score.right += usize::from(value == wanted);
        }
        if name.starts_with("cut") {
            let there = (damaged.len().saturating_sub(72) / 4).min(data.len());
            let kept = values.iter().zip(&data).filter(|(a, b)| a == b).count();
            // The rest of an element that was cut may happen to be zeros.
            assert!(kept >= there, "{name}: every element in the file is saved");
        }
    }
    assert!(score.files > 90 && score.right * 10 > score.all * 6, "{score:?}");
}

#[test]
fn raw_array_whose_size_is_wrong_or_whose_writer_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let data = numbers(3, 35);
    let bytes = rawarray::RawArray::new([7, 5], data.clone()).unwrap().encode(&Default::default()).unwrap();
    let with = |at: usize, value: u64| {
        let mut damaged = bytes.clone();
        damaged[at..at + 8].copy_from_slice(&value.to_le_bytes());
        damaged
    };
    // The size, the width of an element, the number of dimensions, and the mark of an unfinished file.
    for (at, value) in [(32, 139), (24, 2), (40, 1), (32, u64::MAX)] {
        let found = examined(&with(at, value)).unwrap();
        assert_eq!(found.report().actions.len(), 1, "{at}: {:#?}", found.report());
        let path = saved(&found, folder.path(), "saved.ra").unwrap();
        let reader = rawarray::Reader::open(&path).unwrap();
        assert_eq!(reader.shape(), [5, 7], "{at}");
        assert_eq!(reader.read::<u32>().unwrap(), data);
    }
    let mut damaged = bytes.clone();
    damaged[..8].fill(0);
    let found = examined(&damaged).unwrap();
    let path = saved(&found, folder.path(), "saved.ra").unwrap();
    assert_eq!(rawarray::Reader::open(&path).unwrap().read::<u32>().unwrap(), data);
}

#[test]
fn raw_array_without_the_first_fields_of_its_header() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.ra");
    let data = numbers(3, 35);
    let bytes = rawarray::RawArray::new([7, 5], data.clone()).unwrap().encode(&Default::default()).unwrap();
    let wanted: Vec<u8> = data.iter().flat_map(|number| number.to_le_bytes()).collect();
    // The zeros may go on over flags that say that the byte order is another one.
    for (lost, has_type, byte) in
        [(8, true, 0), (16, true, 0), (24, false, 0), (40, false, 0), (48, false, 0), (48, false, 0xa5)]
    {
        let mut damaged = bytes.clone();
        damaged[..lost].fill(byte);
        std::fs::write(&path, &damaged).unwrap();
        let found = sciformats_salvage::examine(&path, &Options::default()).unwrap();
        let object = &found.report().objects[0];
        assert_eq!((object.state, object.missing.len()), (State::Partial, 0), "{lost}: {object:?}");
        let clean = saved(&found, folder.path(), "saved.ra").unwrap();
        let reader = rawarray::Reader::open(&clean).unwrap();
        assert_eq!((reader.shape(), reader.read_bytes().unwrap()), (&[5, 7][..], wanted.clone()), "{lost}");
        assert_eq!(reader.element() == rawarray::ElementType::UInt(4), has_type, "{lost}");
    }
    // Without the dimensions, the bytes of the file are left, and the report does not call them an array.
    for (lost, byte) in [(64, 0xa5), (64, 0)] {
        let mut damaged = bytes.clone();
        damaged[..lost].fill(byte);
        std::fs::write(&path, &damaged).unwrap();
        let found = sciformats_salvage::examine(&path, &Options::default()).unwrap();
        let object = &found.report().objects[0];
        assert_eq!((object.state, object.kind), (State::Partial, "bytes"));
        assert_eq!(object.missing, [(vec![0], vec![48])]);
        let clean = saved(&found, folder.path(), "saved.ra").unwrap();
        let reader = rawarray::Reader::open(&clean).unwrap();
        assert_eq!(reader.read::<u8>().unwrap(), damaged);
    }
    std::fs::write(&path, vec![0; 4096]).unwrap();
    let found = sciformats_salvage::examine(&path, &Options::default()).unwrap();
    assert!(found.is_empty() && found.report().objects[0].state == State::Lost);
}

#[allow(clippy::type_complexity, reason = "the parts are named where they are used")]
pub(crate) fn trajectory() -> (Vec<u8>, BTreeMap<(u64, String), Vec<u32>>) {
    let options = gsd_rs::CreateOptions::new("test", "walk", gsd_rs::Version::new(1, 0));
    let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options).unwrap();
    let mut chunks = BTreeMap::new();
    for frame in 0..200 {
        for (i, name) in ["step", "particles/position", "log/energy"].into_iter().enumerate() {
            let data = numbers(frame * 10 + i as u64, [1, 30, 8][i]);
            writer.write(name, [1, 3, 1][i], &data).unwrap();
            chunks.insert((frame, name.to_owned()), data);
        }
        writer.end_frame().unwrap();
        writer.flush().unwrap();
    }
    (writer.into_bytes().unwrap(), chunks)
}

#[test]
fn gsd() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, chunks) = trajectory();
    let sound = examined(&bytes).unwrap();
    assert!(sound.report().is_sound(), "{:#?}", sound.report().causes);
    let mut score = Score::default();
    for (name, damaged) in damages(&bytes) {
        let Some(found) = examined(&damaged) else { continue };
        if found.report().format != "gsd" {
            continue;
        }
        assert!(found.report().objects.iter().all(|object| object.state > State::Whole), "{name}");
        let Some(path) = saved(&found, folder.path(), "saved.gsd") else { continue };
        let reader = gsd_rs::Reader::open(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        score.files += 1;
        score.all += chunks.len();
        let reports: BTreeMap<&str, _> =
            found.report().objects.iter().map(|object| (object.path.as_str(), object)).collect();
        for ((frame, chunk_name), data) in &chunks {
            let Ok(Some(chunk)) = reader.find(*frame, chunk_name) else { continue };
            let values = reader.read::<u32>(&chunk);
            let report = reports[format!("/frames/{frame}/{chunk_name}").as_str()];
            let Ok(values) = values else { continue };
            let whole = values.len() == data.len();
            for (i, (value, wanted)) in values.iter().zip(data).enumerate() {
                let missing = is_missing(
                    &report.missing,
                    &[i as u64 / u64::from(chunk.m), i as u64 % u64::from(chunk.m)],
                );
                let noticed = name.starts_with("cut");
                assert!(value == wanted || missing || !noticed, "{name}: {frame} {chunk_name} {i}");
            }
            score.right += usize::from(whole && *values == data[..]);
        }
        // An absent chunk means the one of frame 0 in some schemas, so a frame that lacks one says so.
        if name.starts_with("zeros") {
            for frame in 0..reader.frames() {
                let lacks = ["step", "particles/position", "log/energy"]
                    .iter()
                    .any(|chunk| reader.find(frame, chunk).unwrap().is_none());
                let says = reader.find(frame, "lost+found/damage").unwrap().is_some();
                assert!(!lacks || says, "{name}: frame {frame} lacks a chunk");
            }
        }
    }
    assert!(score.files > 100 && score.right * 10 > score.all * 6, "{score:?}");
}

#[test]
fn gsd_without_header_or_index() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, chunks) = trajectory();
    let mut damaged = bytes.clone();
    damaged[8..40].fill(0xFF);
    let found = examined(&damaged).unwrap();
    let path = saved(&found, folder.path(), "saved.gsd").unwrap();
    let reader = gsd_rs::Reader::open(&path).unwrap();
    // The names are where a new file has them, and the entries are found by what they look like.
    assert_eq!(reader.entries() as usize, chunks.len(), "{:#?}", found.report().actions);
    let step = reader.find(7, "step").unwrap().unwrap();
    assert_eq!(*reader.read::<u32>(&step).unwrap(), chunks[&(7, "step".to_owned())][..]);

    // Without one of the names, the others may have other numbers, so that none is used.
    let list = 256 + 128 * 32;
    assert_eq!(damaged[list..list + 5], *b"step\0");
    damaged[list + 4] = 1;
    let found = examined(&damaged).unwrap();
    let path = saved(&found, folder.path(), "nameless.gsd").unwrap();
    let reader = gsd_rs::Reader::open(&path).unwrap();
    let step = reader.find(7, "lost+found/name0").unwrap().unwrap();
    assert_eq!(*reader.read::<u32>(&step).unwrap(), chunks[&(7, "step".to_owned())][..]);
}

pub(crate) fn document() -> (Vec<u8>, BTreeMap<String, Vec<u32>>) {
    let mut document = asdf_core::Document::new();
    document.set("title", "salvage").unwrap();
    let mut arrays = BTreeMap::new();
    for (i, compression) in [
        asdf_core::Compression::None,
        asdf_core::Compression::Zlib,
        asdf_core::Compression::Lz4,
        asdf_core::Compression::None,
    ]
    .into_iter()
    .enumerate()
    {
        let data = numbers(i as u64, 400 * 3);
        let array = asdf_core::NewArray::new(&data, &[400, 3]).unwrap().with_compression(compression);
        document.set_array(&format!("group{}/a{i}", i / 2), array).unwrap();
        arrays.insert(format!("group{}/a{i}", i / 2), data);
    }
    document.options_mut().checksums = true;
    (document.to_bytes().unwrap(), arrays)
}

#[test]
fn asdf() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, arrays) = document();
    let sound = examined(&bytes).unwrap();
    assert!(sound.report().is_sound(), "{:#?}", sound.report());
    let whole = |found: &Examination| {
        found.report().objects.iter().filter(|object| object.state == State::Whole).count()
    };
    assert_eq!(whole(&sound), 4);
    let original = asdf_core::Asdf::from_bytes(bytes.clone()).unwrap();
    let blocks: Vec<Vec<u8>> = original.blocks().map(|block| block.data().unwrap().into_owned()).collect();
    let mut score = Score::default();
    for (name, damaged) in damages(&bytes) {
        let Some(found) = examined(&damaged) else { continue };
        if found.report().format != "asdf" {
            continue;
        }
        let Some(path) = saved(&found, folder.path(), "saved.asdf") else { continue };
        let saved = asdf_core::Asdf::open(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        score.files += 1;
        score.all += arrays.len();
        for object in &found.report().objects {
            if let Some(number) =
                object.path.strip_prefix("/blocks/").and_then(|number| number.parse::<usize>().ok())
            {
                let data = saved.block(number).unwrap().data().unwrap();
                if object.state == State::Whole {
                    assert_eq!(*data, blocks[number][..], "{name}: block {number} is claimed to be whole");
                }
                continue;
            }
            assert!(object.state > State::Whole, "{name}: the tree has no checksum");
            let Some(wanted) = arrays.get(object.path.trim_start_matches('/')) else { continue };
            let Ok(array) = saved.array(object.path.trim_start_matches('/')) else { continue };
            let Ok(values) = array.read::<u32>() else { continue };
            let in_tree = name.starts_with("bit") || name.ends_with("head");
            for (i, (value, wanted)) in values.iter().zip(wanted).enumerate() {
                let missing = is_missing(&object.missing, &[i as u64 / 3, i as u64 % 3]);
                assert!(
                    value == wanted
                        || missing
                        || in_tree
                        || object.state == State::Partial && object.unchecked && !name.starts_with("cut"),
                    "{name}: {} {i} {object:?}",
                    object.path
                );
            }
            score.right += usize::from(values == *wanted);
        }
    }
    assert!(score.files > 130 && score.right * 10 > score.all * 6, "{score:?}");
}

#[test]
fn blosc2_without_its_header() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, _) = frame(false);
    let original = cframe::Frame::from_bytes(bytes.clone()).unwrap();
    let first = bytes.len() - usize::try_from(original.header().header_len).unwrap();
    assert!(first > 1000 && original.chunks() == 12);
    // The header alone, and the header with the first chunk.
    for (end, lost) in [(64, 0), (300, 1)] {
        let mut damaged = bytes.clone();
        damaged[..end].fill(0);
        // Without a header, the name says what the file was.
        let path = folder.path().join("damaged.b2frame");
        std::fs::write(&path, &damaged).unwrap();
        let found = examine(&path, &Options::default().with_threads(1)).unwrap();
        let path = saved(&found, folder.path(), "saved.b2frame").unwrap();
        let kept = cframe::Frame::open(&path).unwrap();
        assert_eq!(kept.chunks(), 12, "{:#?}", found.report());
        for chunk in 0..12 {
            let right = kept.chunk(chunk).unwrap().decode().unwrap()
                == original.chunk(chunk).unwrap().decode().unwrap();
            assert_eq!(right, chunk >= lost, "chunk {chunk} of the file without {end} bytes");
        }
        let object = &found.report().objects[0];
        assert_eq!((object.state, object.chunks), (State::Partial, Some((12 - lost, 12))));
        let missing: Vec<_> = (0..lost).map(|_| (vec![0], vec![100])).collect();
        assert_eq!(object.missing, missing);
    }
}

#[test]
fn blosc2_without_its_header_and_without_chunks_between_others() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, _) = frame(false);
    let original = cframe::Frame::from_bytes(bytes.clone()).unwrap();
    let mut damaged = bytes;
    damaged[..64].fill(0);
    for chunk in [2, 5] {
        let Ok(cframe::ChunkPlace::At(at)) = original.chunk_place(chunk) else { panic!() };
        let at = usize::try_from(at).unwrap();
        // The head of one looks like that of a chunk that is larger than all that may be decoded.
        damaged[at..at + 32].fill(if chunk == 2 { 0 } else { 5 });
        damaged[at + 4..at + 8].copy_from_slice(&0x7000_0000u32.to_le_bytes());
        damaged[at + 12..at + 16].copy_from_slice(&64u32.to_le_bytes());
    }
    let path = folder.path().join("damaged.b2frame");
    std::fs::write(&path, &damaged).unwrap();
    let found = examine(&path, &Options::default().with_threads(1)).unwrap();
    let object = &found.report().objects[0];
    assert_eq!((object.state, object.chunks), (State::Partial, Some((10, 12))), "{object:?}");
    let kept = cframe::Frame::open(saved(&found, folder.path(), "saved.b2frame").unwrap()).unwrap();
    for chunk in (0..12).filter(|chunk| ![2, 5].contains(chunk)) {
        let right =
            kept.chunk(chunk).unwrap().decode().unwrap() == original.chunk(chunk).unwrap().decode().unwrap();
        assert!(right, "chunk {chunk}");
    }
}

#[test]
fn asdf_whose_first_block_has_a_damaged_header() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, arrays) = document();
    // No index tells where the blocks are, and zeros are between the tree and the first of them.
    let end = bytes.windows(5).position(|window| window == b"\n...\n").unwrap() + 5;
    let index = bytes.windows(18).position(|window| window == b"#ASDF BLOCK INDEX\n").unwrap();
    let first = end + bytes[end..].windows(4).position(|window| window == b"\xd3BLK").unwrap();
    let padded = [&bytes[..end], &[0; 300], &bytes[first..index]].concat();
    let first = end + 300;
    // The token, the size of the header, and the size of the room for the block.
    for at in (0..6).chain(14..22) {
        let mut damaged = padded.clone();
        damaged[first + at] ^= 0x81;
        let found = examined(&damaged).unwrap();
        let Some(path) = saved(&found, folder.path(), "first.asdf") else { continue };
        let saved = asdf_core::Asdf::open(&path).unwrap();
        for (name, wanted) in &arrays {
            let object =
                found.report().objects.iter().find(|object| object.path.trim_start_matches('/') == name);
            let missing = &object.unwrap().missing;
            let Ok(values) = saved.array(name).and_then(|array| array.read::<u32>()) else { continue };
            for (i, (value, wanted)) in values.iter().zip(wanted).enumerate() {
                let known = value == wanted || is_missing(missing, &[i as u64 / 3, i as u64 % 3]);
                assert!(known, "byte {at}: {name} {i}");
            }
        }
    }
}

#[test]
fn asdf_without_its_tree_or_its_index() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, arrays) = document();
    let first = bytes.windows(4).position(|four| four == b"\xd3BLK").unwrap();
    for with_index in [true, false] {
        let mut damaged = bytes.clone();
        damaged[..first].fill(0);
        if !with_index {
            let index = damaged.windows(6).rposition(|six| six == b"#ASDF ").unwrap();
            damaged.truncate(index);
        }
        let found = examined(&damaged).unwrap();
        let path = saved(&found, folder.path(), "saved.asdf").unwrap();
        let saved = asdf_core::Asdf::open(&path).unwrap();
        // Other readers know arrays by the tag that belongs to the version of the standard.
        let block = saved.tree().get("lost+found/block3").unwrap();
        let tag = if saved.standard().unwrap() < asdf_core::NEWEST { "1.0.0" } else { "1.1.0" };
        assert_eq!(saved.tree().tag(block).unwrap(), format!("tag:stsci.edu:asdf/core/ndarray-{tag}"));
        let data = saved.array("lost+found/block3").unwrap().read::<u8>().unwrap();
        let wanted: Vec<u8> = arrays["group1/a3"].iter().flat_map(|n| n.to_le_bytes()).collect();
        assert_eq!(data, wanted);
        let whole = found.report().objects.iter().filter(|object| object.state == State::Whole).count();
        assert_eq!(whole, if with_index { 4 } else { 0 }, "without the index the numbers are not sure");
    }
}

pub(crate) fn frame(zeros: bool) -> (Vec<u8>, Vec<u32>) {
    let params =
        cframe::ArrayParams::new(&[40, 30], "<u4").unwrap().with_chunks(&[10, 10]).with_blocks(&[5, 10]);
    let mut data = numbers(5, 1200);
    if zeros {
        data[..300].fill(0);
    }
    let bytes: Vec<u8> = data.iter().flat_map(|n| n.to_le_bytes()).collect();
    let mut array = cframe::Array::new(&params).unwrap();
    array.write_slab_bytes(&sciformats_core::Slab::all(&[40, 30]).unwrap(), &bytes).unwrap();
    array.schunk_mut().set_vlmeta("units", b"\xa1K").unwrap();
    (array.schunk().to_bytes().unwrap(), data)
}

#[test]
fn blosc2() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, data) = frame(false);
    let sound = examined(&bytes).unwrap();
    assert!(sound.report().is_sound(), "{:#?}", sound.report());
    let mut score = Score::default();
    for (name, damaged) in damages(&bytes) {
        let Some(found) = examined(&damaged) else { continue };
        if found.report().format != "blosc2" {
            continue;
        }
        let object = &found.report().objects.first();
        assert!(
            object.is_none_or(|object| object.state > State::Whole),
            "{name}: nothing in a frame is checked"
        );
        let Some(path) = saved(&found, folder.path(), "saved.b2nd") else { continue };
        let Some(object) = object else { continue };
        let frame = cframe::Frame::open(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        score.files += 1;
        score.all += data.len();
        let Ok(array) = cframe::Array::from_frame(frame) else { continue };
        if array.shape() != [40, 30] {
            continue;
        }
        let values = array.read_bytes().unwrap_or_else(|error| panic!("{name}: {error}"));
        for (i, (value, wanted)) in values.chunks(4).zip(&data).enumerate() {
            let missing = is_missing(&object.missing, &[i as u64 / 30, i as u64 % 30]);
            let equal = value == wanted.to_le_bytes();
            assert!(equal || missing || !name.starts_with("cut"), "{name}: element {i}");
            score.right += usize::from(equal);
        }
    }
    assert!(score.files > 80 && score.right * 10 > score.all * 5, "{score:?}");
}

#[test]
fn blosc2_is_sound_if_it_can_be_read() {
    let (sound, _) = frame(false);
    // The first side of the shape is made larger, so that it no longer fits the chunks.
    let side = b"\xd3\0\0\0\0\0\0\0\x28\xd3";
    let at = sound.windows(side.len()).position(|some| some == side).unwrap();
    let mut wrong = sound.clone();
    wrong[at + 3] = 0x20;
    let read = cframe::Frame::from_bytes(wrong.clone()).and_then(cframe::Array::from_frame);
    assert!(read.is_err());
    let found = examined(&wrong).unwrap();
    assert!(!found.report().is_sound(), "{:#?}", found.report());
    // The size of blocks of a chunk that is stored raw does not matter to the reader.
    let params = cframe::Params::new(4).with_level(0);
    let params = cframe::ArrayParams::new(&[7], "<u4").unwrap().with_params(params);
    let mut array = cframe::Array::new(&params).unwrap();
    let all = cframe::Slab::all(&[7]).unwrap();
    array.write_slab(&all, &[1u32, 2, 3, 4, 5, 6, 7]).unwrap();
    let mut odd = array.schunk().to_bytes().unwrap();
    let frame = cframe::Frame::from_bytes(odd.clone()).unwrap();
    let cframe::ChunkPlace::At(at) = frame.chunk_place(0).unwrap() else { panic!("there is no chunk") };
    odd[at as usize + 11] = 0x40;
    let read = cframe::Frame::from_bytes(odd.clone()).and_then(cframe::Array::from_frame).unwrap();
    assert_eq!(read.read::<u32>().unwrap(), [1, 2, 3, 4, 5, 6, 7]);
    let found = examined(&odd).unwrap();
    assert!(found.report().is_sound(), "{:#?}", found.report());
}

#[test]
fn blosc2_whose_chunks_of_zeros_are_not_stored() {
    let (bytes, _) = frame(true);
    let folder = tempfile::tempdir().unwrap();
    for cut in (bytes.len() / 2..bytes.len()).step_by(97) {
        let found = examined(&bytes[..cut]).unwrap();
        if saved(&found, folder.path(), "saved.b2nd").is_some() {
            // Chunks may have moved, and nothing may hide this.
            assert!(found.report().objects[0].state >= State::Partial, "cut at {cut}");
        }
    }
}

#[test]
fn blosc2_folders() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str| {
        let path = folder.path().join(name);
        let mut schunk = cframe::SChunk::create_sparse(&path, cframe::Params::new(4)).unwrap();
        for i in 0..5 {
            let bytes: Vec<u8> = numbers(i, 1000).iter().flat_map(|n| n.to_le_bytes()).collect();
            schunk.append(&bytes).unwrap();
        }
        schunk.commit().unwrap();
        path
    };
    let path = make("sound.b2frame");
    assert!(examine(&path, &Options::default()).unwrap().report().is_sound());

    let path = make("lost.b2frame");
    std::fs::remove_file(path.join("00000002.chunk")).unwrap();
    let found = examine(&path, &Options::default()).unwrap();
    assert_eq!(found.report().objects[0].chunks, Some((4, 5)));
    assert_eq!(found.report().objects[0].missing, [(vec![2000], vec![1000])]);
    let saved_path = saved(&found, folder.path(), "saved.b2frame").unwrap();
    let saved_frame = cframe::Frame::open(&saved_path).unwrap();
    assert_eq!(saved_frame.chunk(3).unwrap().decode().unwrap()[..4], numbers(3, 1)[0].to_le_bytes());

    let path = make("index.b2frame");
    std::fs::write(path.join("chunks.b2frame"), b"nothing").unwrap();
    let found = examine(&path, &Options::default()).unwrap();
    assert_eq!(found.report().objects[0].state, State::Partial);
    let saved_path = saved(&found, folder.path(), "saved2.b2frame").unwrap();
    let saved_frame = cframe::Frame::open(&saved_path).unwrap();
    assert_eq!((saved_frame.chunks(), saved_frame.typesize()), (5, 4));
}

#[test]
fn a_cut_index_of_a_blosc2_folder_keeps_the_shape() {
    let folder = tempfile::tempdir().unwrap();
    let values: Vec<u32> = (0..6000).map(|value| value * 7 + 1).collect();
    let make = |name: &str| {
        let path = folder.path().join(name);
        let params = cframe::ArrayParams::new(&[60, 100], "<u4").unwrap();
        let params = params.with_chunks(&[20, 50]).with_blocks(&[10, 10]);
        let mut array = cframe::Array::create_sparse(&path, &params).unwrap();
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        array.write_slab_bytes(&cframe::Slab::all(&[60, 100]).unwrap(), &bytes).unwrap();
        array.commit().unwrap();
        path
    };
    let length = std::fs::metadata(make("whole.b2nd").join("chunks.b2frame")).unwrap().len();
    for cut in [1, 20, 60] {
        let path = make(&format!("cut {cut}.b2nd"));
        let index = path.join("chunks.b2frame");
        let bytes = std::fs::read(&index).unwrap();
        std::fs::write(&index, &bytes[..(length - cut) as usize]).unwrap();
        let found = examine(&path, &Options::default()).unwrap();
        assert!(!found.report().is_sound(), "{cut}");
        assert_eq!(found.report().objects[0].chunks, Some((6, 6)), "{cut}");
        let saved = saved(&found, folder.path(), &format!("saved {cut}.b2nd")).unwrap();
        let saved = cframe::Array::open(&saved).unwrap();
        assert_eq!((saved.shape(), saved.read::<u32>().unwrap()), (&[60, 100][..], values.clone()), "{cut}");
    }
}

#[test]
fn maps_of_damaged_files_leave_nothing_out() {
    for bytes in [trajectory().0, document().0, frame(false).0] {
        for (name, damaged) in damages(&bytes).into_iter().step_by(5) {
            let Some(found) = examined(&damaged) else { continue };
            let parts = found.report().map.parts();
            assert!(parts.windows(2).all(|two| two[0].1 == two[1].0), "{name}");
            assert!(parts.first().is_none_or(|(start, ..)| *start == 0), "{name}");
            assert!(found.report().json()["objects"].is_array());
        }
    }
}
