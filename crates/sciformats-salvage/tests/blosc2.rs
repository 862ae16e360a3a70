//! Frames of Blosc2 whose chunks vary in size.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::expect_used)]

use sciformats_salvage::{Options, State, examine};

use crate::others::{examined, saved};

/// Three chunks of various sizes.
fn append_various(schunk: &mut cframe::SChunk) {
    schunk.append(&[1; 4000]).unwrap();
    schunk.append_special(cframe::Special::Zeros, &[], 1200).unwrap();
    schunk.append(&[3; 800]).unwrap();
}

#[test]
fn chunks_of_blosc2_whose_size_is_lost_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("various.b2frame");
    let mut schunk = cframe::SChunk::create_sparse(&path, cframe::Params::new(4)).unwrap();
    append_various(&mut schunk);
    schunk.commit().unwrap();
    drop(schunk);
    let found = examine(&path, &Options::default()).unwrap();
    assert!(found.report().is_sound(), "{:#?}", found.report());
    let clean = saved(&found, folder.path(), "clean.b2frame").unwrap();
    let clean = cframe::Frame::open(&clean).unwrap();
    let sizes: Vec<usize> = (0..3).map(|i| clean.chunk(i).unwrap().decode().unwrap().len()).collect();
    assert_eq!(sizes, [4000, 1200, 800]);
    std::fs::write(path.join("00000000.chunk"), [0xee; 32]).unwrap();
    let folders = examine(&path, &Options::default()).unwrap();

    let mut schunk = cframe::SChunk::new(cframe::Params::new(4));
    append_various(&mut schunk);
    let mut bytes = schunk.to_bytes().unwrap();
    let frame = cframe::Frame::from_bytes(bytes.clone()).unwrap();
    let cframe::ChunkPlace::At(at) = frame.chunk_place(0).unwrap() else { panic!("it is stored") };
    bytes[at as usize..at as usize + 32].fill(0xee);
    for found in [folders, examined(&bytes).unwrap()] {
        assert_eq!(found.report().objects[0].state, State::Partial, "{:#?}", found.report());
        let path = folder.path().join("saved.b2frame");
        let losses = found.write(&path).unwrap();
        let told =
            |number| losses.iter().any(|loss| loss.what.starts_with(&format!("chunk {number} is left out")));
        assert!(told(0) && !told(2), "{losses:?}");
        let clean = cframe::Frame::open(&path).unwrap();
        // The size of a chunk that is not stored is what the others leave, so that it is lost with them.
        let second = if told(1) { 0 } else { 1 };
        assert_eq!(clean.chunks(), second + 1);
        assert_eq!(clean.chunk(second).unwrap().decode().unwrap(), [3; 800]);
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn metalayers_of_a_folder_that_cannot_be_read_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("layers.b2frame");
    let mut schunk = cframe::SChunk::create_sparse(&path, cframe::Params::new(4)).unwrap();
    schunk.append(&[1; 4000]).unwrap();
    schunk.set_vlmeta("units", b"kelvin, as measured").unwrap();
    schunk.set_vlmeta("place", b"a hill in the north").unwrap();
    schunk.commit().unwrap();
    drop(schunk);
    let index = path.join("chunks.b2frame");
    let mut bytes = std::fs::read(&index).unwrap();
    let at = bytes.windows(6).position(|six| six == b"kelvin").unwrap();
    bytes[at - 32..at - 20].fill(0xee);
    std::fs::write(&index, bytes).unwrap();
    let found = examine(&path, &Options::default()).unwrap();
    let object = &found.report().objects[0];
    assert_eq!(object.state, State::Partial);
    assert!(object.reasons.iter().any(|why| why.contains("the metalayer units")), "{:?}", object.reasons);
    let clean = saved(&found, folder.path(), "clean.b2frame").unwrap();
    assert_eq!(cframe::Frame::open(&clean).unwrap().vlmeta("place").unwrap(), b"a hill in the north");
}
