//! What follows a frame in its file, and what an edit leaves that fails in the middle.

#![allow(clippy::unwrap_used, reason = "helpers of tests, too, fail by panicking")]

use std::path::Path;

use cframe::{Array, ArrayParams, Codec, Error, Frame, Params, Range, Repack, SChunk, Slab, Special};

fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed;
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .collect()
}

fn made(path: &Path) -> Vec<u8> {
    let mut schunk = SChunk::overwrite(path, Params::new(4).with_codec(Codec::BloscLz)).unwrap();
    (0..3).for_each(|seed| schunk.append(&noise(seed, 800)).unwrap());
    schunk.commit().unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn bytes_after_a_frame_that_are_not_its_own_are_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.b2frame");
    let frame = made(&path);
    let edits: [fn(&mut SChunk); 4] = [
        |s| s.append(&noise(9, 800)).unwrap(),
        |s| s.set_vlmeta("note", b"new").unwrap(),
        |s| s.set_metalayer("note", b"new").unwrap(),
        |s| (0..3).for_each(|_| s.remove(0).unwrap()),
    ];
    let others = [
        b"\n".to_vec(),
        b"a signature of somebody else".to_vec(),
        noise(77, 5000),
        frame.clone(),
        [vec![0; 100], frame.clone()].concat(),
        [frame.clone(), b"end".to_vec()].concat(),
    ];
    for other in &others {
        for edit in edits {
            let file = [&frame[..], other].concat();
            std::fs::write(&path, &file).unwrap();
            let mut schunk = SChunk::open(&path).unwrap();
            edit(&mut schunk);
            let error = schunk.commit().unwrap_err();
            assert!(matches!(error, Error::Usage { argument: "frame", .. }), "{error}");
            assert!(error.to_string().contains(&format!("followed by {} bytes", other.len())), "{error}");
            assert!(std::fs::read(&path).unwrap() == file);
            schunk.compact().unwrap();
            let len = std::fs::metadata(&path).unwrap().len();
            assert_eq!(Frame::open(&path).unwrap().frame_len(), len);
        }
    }
}

#[test]
fn bytes_behind_the_index_of_a_folder_are_not_dropped_by_a_commit() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("a.b2frame");
    let mut schunk = SChunk::create_sparse(&folder, Params::new(4)).unwrap();
    (0..3).for_each(|seed| schunk.append(&noise(seed, 800)).unwrap());
    schunk.commit().unwrap();
    let index = folder.join("chunks.b2frame");
    let own = std::fs::read(&index).unwrap();
    for other in [b"a signature of somebody else".to_vec(), noise(77, 5000)] {
        let file = [&own[..], &other].concat();
        std::fs::write(&index, &file).unwrap();
        let mut schunk = SChunk::open(&folder).unwrap();
        schunk.set_vlmeta("note", b"new").unwrap();
        let error = schunk.commit().unwrap_err();
        assert!(matches!(error, Error::Usage { argument: "frame", .. }), "{error}");
        assert!(error.to_string().contains(&format!("followed by {} bytes", other.len())), "{error}");
        assert!(std::fs::read(&index).unwrap() == file);
    }
    // Without a change, too, it is removed on request.
    let mut schunk = SChunk::open(&folder).unwrap();
    schunk.compact().unwrap();
    assert_eq!(std::fs::read(&index).unwrap(), own);
    schunk.set_vlmeta("note", b"new").unwrap();
    schunk.commit().unwrap();
    assert_eq!(Frame::open(&folder).unwrap().verify().unwrap(), 3);
}

#[test]
fn what_commits_leave_after_a_frame_does_not_keep_the_next_one_from_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.b2frame");
    let old = made(&path);
    let mut schunk = SChunk::open(&path).unwrap();
    (4..7).for_each(|seed| schunk.append(&noise(seed, 700)).unwrap());
    schunk.set_vlmeta("note", &noise(8, 900)).unwrap();
    schunk.commit().unwrap();
    let new = std::fs::read(&path).unwrap();
    // A process that was killed before the header named the new chunks, and space that was reserved.
    let cuts = (old.len()..=new.len()).filter(|cut| *cut == old.len() || *cut >= old.len() + 32);
    let mut files: Vec<_> = cuts.step_by(97).map(|cut| [&old[..], &new[old.len()..cut]].concat()).collect();
    files.push([&old[..], &new[old.len()..]].concat());
    files.push([&old[..], &[0; 70_000]].concat());
    // The device kept only the front of what was written, and zeros in the place of the rest.
    let rest = vec![0; new.len() - old.len() - 1000];
    files.push([&old[..], &new[old.len()..old.len() + 1000], &rest].concat());
    for file in files {
        std::fs::write(&path, &file).unwrap();
        let before = Frame::open(&path).unwrap();
        assert_eq!(before.chunks(), 3);
        for seed in 20..23 {
            let mut schunk = SChunk::open(&path).unwrap();
            schunk.append(&noise(seed, 60)).unwrap();
            schunk.commit().unwrap();
            assert_eq!(Frame::open(&path).unwrap().verify().unwrap(), seed - 16);
        }
    }
    // Each commit of one editor may leave an index behind, and the next editor may, too.
    made(&path);
    for round in 0..6usize {
        let mut schunk = SChunk::open(&path).unwrap();
        for len in [3000, 10, 600, 0, 40, 2000, 30, 20, 5] {
            schunk.set_vlmeta("note", &noise(7, len + round)).unwrap();
            schunk.commit().unwrap();
            let mut other = SChunk::open(&path).unwrap();
            other.set_vlmeta("note", &noise(8, len)).unwrap();
            other.commit().unwrap();
            schunk = SChunk::open(&path).unwrap();
            schunk.set_vlmeta("more", &noise(9, len / 2)).unwrap();
            schunk.commit().unwrap();
            schunk.set_vlmeta("more", &noise(9, 3)).unwrap();
            schunk.commit().unwrap();
        }
    }
    let mut schunk = SChunk::open(&path).unwrap();
    (0..3).for_each(|_| schunk.remove(0).unwrap());
    schunk.commit().unwrap();
    let mut schunk = SChunk::open(&path).unwrap();
    schunk.append(&noise(3, 60)).unwrap();
    schunk.commit().unwrap();
    assert_eq!(Frame::open(&path).unwrap().verify().unwrap(), 1);
}

#[test]
fn a_write_that_fails_in_the_middle_leaves_all_chunks_as_they_were() {
    let mut made = Array::new(&ArrayParams::new(&[300], "|u1").unwrap().with_chunks(&[100])).unwrap();
    made.write_slab_bytes(&Slab::all(&[300]).unwrap(), &noise(1, 300)).unwrap();
    let mut bytes = made.schunk().to_bytes().unwrap();
    let last = made.schunk().chunk(2).unwrap().stored().unwrap().into_owned();
    let at = bytes.windows(last.len()).position(|part| part == last).unwrap();
    bytes[at + 12..at + 16].fill(0xff); // the stored size
    for is_edited in [false, true] {
        let mut array = Array::from_schunk(SChunk::from_bytes(bytes.clone()).unwrap()).unwrap();
        assert!(array.schunk().chunk(2).is_err());
        let most = Slab::new(&[300], [Range::new(0, 200)]).unwrap();
        if is_edited {
            array.write_slab_bytes(&Slab::new(&[300], [Range::new(90, 20)]).unwrap(), &[5; 20]).unwrap();
        }
        let before = array.read_slab_bytes(&most).unwrap();
        let slab = Slab::new(&[300], [Range::new(50, 200)]).unwrap();
        assert!(array.write_slab_bytes(&slab, &[7; 200]).is_err());
        assert!(array.schunk_mut().write_bytes(50, &[7; 200]).is_err());
        assert!(array.read_slab_bytes(&most).unwrap() == before, "{is_edited}");
        // A chunk that is overwritten as a whole need not be read.
        let slab = Slab::new(&[300], [Range::new(50, 250)]).unwrap();
        array.write_slab_bytes(&slab, &[7; 250]).unwrap();
        assert_eq!(array.read_bytes().unwrap()[50..], [7; 250]);
    }
}

#[test]
fn both_metalayers_of_the_shape_follow_it() {
    let params = ArrayParams::new(&[3, 4], "|u1").unwrap().with_chunks(&[2, 2]).with_blocks(&[1, 2]);
    let array = Array::new(&params).unwrap();
    let b2nd = array.schunk().metalayer("b2nd").unwrap().to_vec();
    // The first arrays have no element type in it.
    let mut caterva = b2nd[..b2nd.len() - 9].to_vec();
    caterva[0] = 0x95;
    for names in [&["caterva"][..], &["caterva", "b2nd"], &["b2nd", "caterva"]] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.b2nd");
        let mut schunk = SChunk::create(&path, array.schunk().params()).unwrap();
        for name in names {
            schunk.set_metalayer(name, if *name == "b2nd" { &b2nd } else { &caterva }).unwrap();
        }
        (0..4).for_each(|_| schunk.append_special(Special::Zeros, &[], 4).unwrap());
        schunk.commit().unwrap();
        let mut array = Array::open(&path).unwrap();
        array.append_bytes(0, &[6; 8]).unwrap();
        array.resize(&[5, 3]).unwrap();
        array.commit().unwrap();
        let schunk = SChunk::open(&path).unwrap();
        assert_eq!(schunk.metalayers().map(|(name, _)| name).collect::<Vec<_>>(), names);
        for (_, content) in schunk.metalayers() {
            assert_eq!((content[12], content[21]), (5, 3)); // the last bytes of both dimensions
        }
        let lengths: Vec<_> = schunk.metalayers().map(|(_, content)| content.len()).collect();
        let of = |name: &&str| if *name == "b2nd" { b2nd.len() } else { caterva.len() };
        assert_eq!(lengths, names.iter().map(of).collect::<Vec<_>>());
        assert_eq!(Array::open(&path).unwrap().read_bytes().unwrap()[9..], [6; 6]);
        Repack::new().with_chunks(&[3, 3]).run(&path, &path).unwrap();
        let repacked = Array::open(&path).unwrap();
        assert_eq!(
            (repacked.chunk_shape(), &repacked.read_bytes().unwrap()[9..]),
            (&[3, 3][..], &[6; 6][..])
        );
        // Of both layers, the lengths of the chunks follow those of the array.
        for (_, content) in repacked.schunk().metalayers() {
            assert_eq!((content[27], content[32]), (3, 3));
        }
        // Layers that differ in what does not change belong to no array.
        let mut schunk = SChunk::open(&path).unwrap();
        let mut other = schunk.metalayer("caterva").unwrap().to_vec();
        let last = other.len() - 1;
        other[last] += 7;
        schunk.set_metalayer("caterva", &other).unwrap();
        if names.len() == 2 {
            assert!(Array::from_schunk(schunk).unwrap().resize(&[4, 3]).is_err());
        }
    }
}

#[test]
fn a_folder_with_the_lock_file_of_other_writers_is_replaced() {
    use sciformats_core::storage::{Durability, Scratch};

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.b2frame");
    let make = |path: &Path, byte: u8| {
        let mut schunk = SChunk::create_sparse(path, Params::new(1)).unwrap();
        schunk.append(&[byte; 100]).unwrap();
        schunk.commit().unwrap();
    };
    make(&path, 1);
    std::fs::write(path.join(".b2lock"), [0; 16]).unwrap();
    let scratch = Scratch::sibling(&path, cframe::is_part_of_folder).unwrap();
    make(scratch.path(), 2);
    scratch.finish(Durability::Process).unwrap();
    assert_eq!(Frame::open(&path).unwrap().chunk(0).unwrap().decode().unwrap(), [2; 100]);
}

#[test]
fn blocks_that_vary_in_length_keep_their_lengths() {
    let blocks: [&[u8]; 3] = [b"Monday", b"a line about Tuesday", b"Wednesday"];
    let mut schunk = SChunk::new(Params::new(1));
    schunk.append_blocks(&blocks).unwrap();
    schunk.append_blocks(&blocks[..1]).unwrap();
    let mut copy = SChunk::new(Params::new(1));
    for chunk in schunk.iter() {
        copy.insert_chunk(copy.chunks(), chunk.unwrap().stored().unwrap().into_owned()).unwrap();
    }
    let flags =
        |schunk: &SChunk| Frame::from_bytes(schunk.to_bytes().unwrap()).unwrap().header().general_flags;
    assert_eq!(flags(&copy), flags(&schunk));
    copy.write_bytes(0, b"Sun").unwrap();
    copy.write_bytes(35, b"Mon").unwrap();
    assert_eq!((copy.chunk(0).unwrap().blocks(), copy.chunk(1).unwrap().blocks()), (3, 1));
    let mut all = vec![0; 41];
    copy.read_bytes(0, &mut all).unwrap();
    assert_eq!(all, b"Sundaya line about TuesdayWednesdayMonday");
    let chunk = copy.chunk(0).unwrap();
    assert_eq!((chunk.blocksize(), chunk.version()), (None, 6));
}
