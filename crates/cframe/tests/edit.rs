//! Frames in files, folders and memory are edited, and read again.

#![allow(clippy::unwrap_used, reason = "helpers of tests, too, fail by panicking")]

use cframe::{
    Array, ArrayParams, ChunkSize, Codec, Error, Filter, Frame, FrameType, Limits, OpenOptions, Params,
    Range, Repack, SChunk, Slab, Special, Value,
};

fn data(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * i / 7 + seed * 31 + i / 100) as u8).collect()
}

fn check(schunk: &SChunk, expected: &[Vec<u8>]) {
    assert_eq!(schunk.chunks(), expected.len() as u64);
    for (index, content) in (0..).zip(expected) {
        assert!(&schunk.chunk(index).unwrap().decode().unwrap() == content, "chunk {index}");
    }
    let whole = expected.concat();
    assert_eq!(schunk.nbytes(), whole.len() as u64);
    let mut out = vec![0; whole.len()];
    schunk.read_bytes(0, &mut out).unwrap();
    assert!(out == whole);
    if whole.len() > 100 {
        schunk.read_bytes(33, &mut out[..50]).unwrap();
        assert_eq!(out[..50], whole[33..83]);
    }
    assert!(schunk.read_bytes(1, &mut out).is_err() || whole.is_empty());
}

fn edits(mut schunk: SChunk, reopen: impl Fn() -> SChunk) {
    let mut expected: Vec<Vec<u8>> = Vec::new();
    let turn = |schunk: &mut SChunk, expected: &mut Vec<Vec<u8>>, step: usize| {
        let count = expected.len();
        match step % 7 {
            0 | 1 => {
                schunk.append(&data(step, 4000)).unwrap();
                expected.push(data(step, 4000));
            }
            2 => {
                schunk.insert(count as u64 / 2, &data(step, 4000)).unwrap();
                expected.insert(count / 2, data(step, 4000));
            }
            3 => {
                schunk.update(0, &data(step, 4000)).unwrap();
                expected[0] = data(step, 4000);
            }
            4 => {
                schunk.append_special(Special::Zeros, &[], 4000).unwrap();
                expected.push(vec![0; 4000]);
            }
            5 => {
                schunk.write_bytes(3990, &[9; 4020]).unwrap();
                expected[0][3990..].fill(9);
                expected[1].fill(9);
                expected[2][..10].fill(9);
            }
            _ => {
                schunk.remove(1).unwrap();
                expected.remove(1);
            }
        }
        let name = format!("step {}", step % 3);
        schunk.set_vlmeta(&name, &data(step, step * 40)).unwrap();
        check(schunk, expected);
        schunk.commit().unwrap();
        check(schunk, expected);
        assert_eq!(schunk.vlmeta(&name).unwrap(), data(step, step * 40));
    };
    for step in 0..30 {
        turn(&mut schunk, &mut expected, step);
        if step % 5 == 4 && schunk.frame().is_some() {
            let again = reopen();
            if again.chunks() > 0 {
                check(&again, &expected);
                schunk = again;
            }
        }
    }
    variable(schunk, expected);
}

/// Adds chunks of other sizes, so that the frame becomes one of variable chunks, and removes them again.
fn variable(mut schunk: SChunk, mut expected: Vec<Vec<u8>>) {
    schunk.append(&data(1, 5000)).unwrap();
    expected.push(data(1, 5000));
    schunk.append(&data(2, 10)).unwrap();
    expected.push(data(2, 10));
    schunk.commit().unwrap();
    assert_eq!(schunk.frame().unwrap().chunk_size(), ChunkSize::Variable);
    check(&schunk, &expected);
    schunk.remove_vlmeta("step 0").unwrap();
    assert!(schunk.remove_vlmeta("step 0").is_err());
    while schunk.chunks() > 0 {
        schunk.remove(0).unwrap();
    }
    schunk.commit().unwrap();
    check(&schunk, &[]);
    schunk.append(&data(3, 100)).unwrap();
    schunk.commit().unwrap();
    check(&schunk, &[data(3, 100)]);
    assert!(schunk.remove(1).is_err() && schunk.insert(2, &[]).is_err() && schunk.chunk(1).is_err());
}

#[test]
fn a_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.b2frame");
    edits(SChunk::create(&path, Params::new(4)).unwrap(), || SChunk::open(&path).unwrap());
    let mut schunk = SChunk::open(&path).unwrap();
    schunk.compact().unwrap();
    let len = std::fs::metadata(&path).unwrap().len();
    assert_eq!(schunk.frame().unwrap().frame_len(), len);
    assert_eq!(Frame::open(&path).unwrap().verify().unwrap(), 1);
}

#[test]
fn a_folder() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.b2frame");
    edits(SChunk::create_sparse(&path, Params::new(4)).unwrap(), || SChunk::open(&path).unwrap());
    let frame = Frame::open(&path).unwrap();
    assert_eq!((frame.frame_type(), frame.chunks()), (FrameType::Sparse, 1));
    assert_eq!(std::fs::read_dir(&path).unwrap().count(), 2);
}

#[test]
fn what_is_not_of_a_frame_stays_in_its_folder_and_fails_no_commit() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.b2frame");
    let mut schunk = SChunk::create_sparse(&path, Params::new(4)).unwrap();
    schunk.append(&data(1, 4000)).unwrap();
    schunk.commit().unwrap();
    let others = ["1.chunk", "bed.chunk", "0000001f.chunk", "+0000001.chunk"];
    others.iter().for_each(|name| std::fs::write(path.join(name), name).unwrap());
    // This has the name of a chunk, but cannot be removed as one.
    std::fs::create_dir(path.join("000000AA.chunk")).unwrap();
    for step in 2..5 {
        schunk.update(0, &data(step, 4000)).unwrap();
        schunk.commit().unwrap();
        check(&schunk, &[data(step, 4000)]);
    }
    assert_eq!(Frame::open(&path).unwrap().verify().unwrap(), 1);
    for name in others {
        assert_eq!(std::fs::read_to_string(path.join(name)).unwrap(), name);
    }
    // The index, a chunk, the others and the folder.
    assert_eq!(std::fs::read_dir(&path).unwrap().count(), 2 + others.len() + 1);
    Repack::new().run(&path, &path).unwrap();
    assert_eq!(std::fs::read_dir(&path).unwrap().count(), 2 + others.len() + 1);
}

#[test]
fn what_is_created_replaces_nothing_and_what_overwrites_does() {
    let dir = tempfile::tempdir().unwrap();
    let exists = |result: cframe::Result<()>| match result {
        Err(Error::Io { source, .. }) => source.kind() == std::io::ErrorKind::AlreadyExists,
        _ => false,
    };
    type Start = fn(std::path::PathBuf, Params) -> cframe::Result<SChunk>;
    let kinds: [(&str, Start, Start); 2] = [
        ("file", |path, params| SChunk::create(path, params), |path, params| SChunk::overwrite(path, params)),
        (
            "folder",
            |path, params| SChunk::create_sparse(path, params),
            |path, params| SChunk::overwrite_sparse(path, params),
        ),
    ];
    for (name, create, overwrite) in kinds {
        let path = dir.path().join(name);
        let mut first = create(path.clone(), Params::new(1)).unwrap();
        let mut late = create(path.clone(), Params::new(1)).unwrap();
        first.append(&[1; 100]).unwrap();
        first.commit().unwrap();
        first.append(&[1; 100]).unwrap();
        first.commit().unwrap(); // what it has made itself
        late.append(&[2; 100]).unwrap();
        assert!(exists(late.commit()), "{name}: it has appeared in the meantime");
        assert!(exists(create(path.clone(), Params::new(1)).map(drop)), "{name}");
        assert_eq!(SChunk::open(&path).unwrap().chunk(1).unwrap().decode().unwrap(), [1; 100]);
        let mut new = overwrite(path.clone(), Params::new(1)).unwrap();
        new.append(&[3; 100]).unwrap();
        assert_eq!(SChunk::open(&path).unwrap().chunks(), 2, "{name}: not before it is complete");
        new.commit().unwrap();
        assert_eq!(SChunk::open(&path).unwrap().chunks(), 1);
        assert_eq!(SChunk::open(&path).unwrap().chunk(0).unwrap().decode().unwrap(), [3; 100]);
    }
}

#[test]
fn memory() {
    edits(SChunk::new(Params::new(4)), || SChunk::new(Params::new(4)));
}

#[test]
fn another_writer_is_kept_out() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.b2frame");
    let mut schunk = SChunk::create(&path, Params::new(1)).unwrap();
    schunk.append(&[1; 50]).unwrap();
    schunk.commit().unwrap();
    let lock = std::fs::File::open(&path).unwrap();
    lock.lock().unwrap();
    schunk.append(&[2; 50]).unwrap();
    assert!(schunk.commit().unwrap_err().to_string().contains("another program has it locked"));
    drop(lock);
    schunk.commit().unwrap();
}

#[test]
fn items_and_values() {
    let mut schunk = SChunk::new(Params::new(4));
    (0..3).for_each(|i| schunk.append(&data(i, 4000)).unwrap());
    let before = schunk.read_items(0, 3000).unwrap();
    schunk.write_items(990, &[0xEE; 80]).unwrap();
    assert_eq!(
        schunk.read_items(989, 22).unwrap(),
        [&before[3956..3960], &[0xEE; 80], &before[4040..4044]].concat()
    );
    assert!(schunk.write_items(0, &[0; 3]).is_err() && schunk.read_items(2999, 2).is_err());
    assert_eq!(schunk.iter().map(|chunk| chunk.unwrap().nbytes()).collect::<Vec<_>>(), [4000; 3]);
    schunk.set_vlmeta_value("n", &Value::from(3)).unwrap();
    schunk.set_vlmeta("raw", b"\xc1").unwrap();
    schunk.set_metalayer_value("m", &Value::from("text")).unwrap();
    assert_eq!(schunk.metalayer_value("m").unwrap().as_str(), Some("text"));
    let values = schunk.vlmeta_values().unwrap();
    assert_eq!(values, [("n".to_owned(), 3.into()), ("raw".to_owned(), Value::Bytes(vec![0xc1]))]);
    assert!(schunk.vlmeta_value("raw").is_err() && schunk.metalayer_value("x").is_err());
}

#[test]
fn numbers_of_either_byte_order() {
    for dtype in ["<i2", ">i2"] {
        let mut array = Array::new(&ArrayParams::new(&[3, 4], dtype).unwrap()).unwrap();
        let all = Slab::all(&[3, 4]).unwrap();
        let values: Vec<i16> = (-6..6).collect();
        array.write_slab(&all, &values).unwrap();
        assert_eq!(array.read_slab::<i16>(&all).unwrap(), values);
        let first = if dtype == "<i2" { (-6i16).to_le_bytes() } else { (-6i16).to_be_bytes() };
        assert_eq!(array.read_bytes().unwrap()[..2], first);
        assert!(array.read_slab::<u16>(&all).is_err() && array.write_slab(&all, &[0f64; 12]).is_err());
    }
}

#[test]
fn a_frame_that_is_open_is_edited_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.b2frame");
    let mut schunk = SChunk::create(&path, Params::new(1)).unwrap();
    schunk.append(&[1; 500]).unwrap();
    schunk.commit().unwrap();
    let before = std::fs::read(&path).unwrap();
    let mut copy = SChunk::from_frame(Frame::open(&path).unwrap());
    copy.append(&[2; 500]).unwrap();
    copy.commit().unwrap();
    check(&copy, &[vec![1; 500], vec![2; 500]]);
    assert!(std::fs::read(&path).unwrap() == before);
}

#[test]
fn blocks_of_variable_length_and_repeated_values() {
    let mut schunk = SChunk::new(Params::new(1));
    schunk.append_blocks(&[b"one", b"two or three", &[7; 1000]]).unwrap();
    schunk.append_special(Special::Value, b"abc", 300).unwrap();
    let frame = Frame::from_bytes(schunk.to_bytes().unwrap()).unwrap();
    assert_eq!(frame.chunk(0).unwrap().blocks(), 3);
    assert_eq!(frame.chunk(1).unwrap().decode().unwrap(), b"abc".repeat(100));
    assert_eq!(frame.special(1).unwrap(), Some(Special::Value));
}

/// Returns elements of `size` bytes whose values are their numbers.
fn numbered(shape: &[u64], size: usize) -> Vec<u8> {
    let count: u64 = shape.iter().product();
    (0..count).flat_map(|i| (i + 1).to_le_bytes().into_iter().cycle().take(size)).collect()
}

#[test]
fn arrays_of_every_rank() {
    let cases: [(&[u64], &[u64], &[u64]); 7] = [
        (&[], &[], &[]),
        (&[17], &[5], &[3]),
        (&[10, 11], &[4, 5], &[3, 2]),
        (&[5, 6, 7], &[5, 4, 3], &[2, 4, 2]),
        (&[3, 4, 3, 4], &[2, 2, 2, 3], &[1, 2, 2, 2]),
        (&[2, 2, 2, 2, 2, 2, 2, 3], &[1, 2, 1, 2, 1, 2, 2, 2], &[1, 1, 1, 2, 1, 1, 2, 2]),
        (&[4, 0, 3], &[2, 1, 3], &[1, 1, 1]),
    ];
    for (shape, chunks, blocks) in cases {
        let params = Params::new(8).with_filters(&[Filter::DELTA, Filter::SHUFFLE]).unwrap();
        let spec = ArrayParams::new(shape, "<i8")
            .unwrap()
            .with_chunks(chunks)
            .with_blocks(blocks)
            .with_params(params);
        let mut array = Array::new(&spec).unwrap();
        let all = numbered(shape, 8);
        assert_eq!(array.read_bytes().unwrap(), vec![0; all.len()]);
        array.write_slab_bytes(&Slab::all(shape).unwrap(), &all).unwrap();
        let bytes = array.schunk().to_bytes().unwrap();
        let mut array = Array::from_schunk(SChunk::from_bytes(bytes).unwrap()).unwrap();
        assert!(array.read_bytes().unwrap() == all, "{shape:?}");
        if shape.contains(&0) {
            continue;
        }
        let ranges: Vec<Range> = shape
            .iter()
            .map(|&n| if n > 3 { Range::new(1, (n - 1).div_ceil(2)).by(2) } else { Range::new(n - 1, 1) })
            .collect();
        let slab = Slab::new(shape, ranges).unwrap();
        let expected: Vec<u8> = slab
            .runs()
            .flat_map(|run| (0..run.len).map(move |i| run.from + i * run.step))
            .flat_map(|i| all[i as usize * 8..i as usize * 8 + 8].to_vec())
            .collect();
        assert_eq!(array.read_slab_bytes(&slab).unwrap(), expected, "{shape:?}");
        array.write_slab_bytes(&slab, &vec![0xEE; expected.len()]).unwrap();
        assert_eq!(array.read_slab_bytes(&slab).unwrap(), vec![0xEE; expected.len()]);
        let touched = array.read_bytes().unwrap().chunks(8).filter(|e| e[..] == [0xEE; 8]).count();
        assert_eq!(touched as u64, slab.len());
    }
}

#[test]
fn arrays_grow_and_shrink() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.b2nd");
    let spec = ArrayParams::new(&[3, 4], "<u2").unwrap().with_chunks(&[2, 3]).with_blocks(&[2, 2]);
    let mut array =
        Array::create(&path, &spec.with_params(Params::new(2).with_codec(Codec::BloscLz))).unwrap();
    array.write_slab_bytes(&Slab::all(&[3, 4]).unwrap(), &numbered(&[3, 4], 2)).unwrap();
    array.commit().unwrap();
    array.append_bytes(0, &[0x11; 3 * 4 * 2]).unwrap();
    array.append_bytes(1, &[0x22; 6 * 2 * 2]).unwrap();
    array.commit().unwrap();
    let mut array = Array::open(&path).unwrap();
    assert_eq!(array.shape(), [6, 6]);
    let all = array.read_bytes().unwrap();
    assert_eq!(all[..8], numbered(&[4], 2)[..]);
    assert_eq!(all[8..12], [0x22; 4]);
    assert_eq!(all[5 * 12..5 * 12 + 8], [0x11; 8]);
    array.resize(&[2, 1]).unwrap();
    assert_eq!(array.read_bytes().unwrap(), [1, 0, 5, 0]);
    array.resize(&[3, 3]).unwrap();
    assert_eq!(array.read_bytes().unwrap(), [1, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    array.commit().unwrap();
    assert_eq!(Array::open(&path).unwrap().read_bytes().unwrap(), array.read_bytes().unwrap());
    assert!(
        array.resize(&[1]).is_err()
            && array.append_bytes(2, &[]).is_err()
            && array.append_bytes(0, &[1]).is_err()
    );
    assert_eq!(array.element().unwrap().size(), 2);
}

#[test]
fn chosen_shapes_fit() {
    let array = Array::new(&ArrayParams::new(&[3000, 5000], "<f8").unwrap()).unwrap();
    let chunk: u64 = array.chunk_shape().iter().product();
    assert!((1 << 16..=1 << 19).contains(&chunk), "{:?}", array.chunk_shape());
    assert!(array.block_shape().iter().zip(array.chunk_shape()).all(|(block, chunk)| block <= chunk));
    assert!(array.schunk().to_bytes().unwrap().len() < 400);
}

#[test]
fn chunks_that_are_only_their_kind_unfold_within_limits() {
    let mut schunk = SChunk::new(Params::new(1));
    schunk.append(&vec![0; 64 << 20]).unwrap();
    schunk.append(&[1; 10]).unwrap();
    let few = schunk.to_bytes().unwrap();
    assert!(few.len() < 1000, "{}", few.len());
    // With a longer chunk after a short one, sizes vary, and the zeros must be stored.
    let limits = Limits::default().with_memory(2 << 20);
    let mut schunk = SChunk::from_bytes_with(few, &OpenOptions::default().with_limits(limits)).unwrap();
    schunk.append(&[1; 100]).unwrap();
    let refused = schunk.to_bytes().unwrap_err();
    assert!(matches!(refused, Error::LimitExceeded { declared: 0x400_0000, .. }), "{refused}");
}

#[test]
fn names_that_their_map_does_not_count() {
    let mut schunk = SChunk::new(Params::new(1));
    let name = |number: usize| format!("{number:031}");
    let mut held = 0;
    let refused = loop {
        match schunk.set_vlmeta(&name(held), b"v") {
            Ok(()) => held += 1,
            Err(error) => break error,
        }
    };
    assert!(refused.to_string().contains("64 KiB"), "{refused}");
    assert_eq!(held, (65_535 - 7) / 37);
    // The existing metalayers can be written, and read again.
    let frame = cframe::Frame::from_bytes(schunk.to_bytes().unwrap()).unwrap();
    assert_eq!(frame.vlmeta_names().len(), held);
}

#[test]
fn levels_that_do_not_exist_are_refused_before_anything_is_written() {
    let dir = tempfile::tempdir().unwrap();
    for level in [10, 16, 99, 255] {
        let params = Params::new(4).with_level(level);
        let refused = |error: &Error| matches!(error, Error::Usage { argument: "level", .. });
        assert!(cframe::compress(&[1; 4000], &params).is_err_and(|error| refused(&error)));
        let path = dir.path().join("new.b2frame");
        assert!(SChunk::create(&path, params).is_err_and(|error| refused(&error)));
        assert!(SChunk::overwrite(&path, params).is_err_and(|error| refused(&error)));
        let mut schunk = SChunk::create(&path, Params::new(4)).unwrap();
        schunk.set_params(params);
        assert!(schunk.append(&[1; 4000]).is_err_and(|error| refused(&error)));
        assert!(schunk.commit().is_err_and(|error| refused(&error)) && !path.exists());
        assert!(SChunk::new(params).to_bytes().is_err_and(|error| refused(&error)));
        let folder = dir.path().join("new");
        assert!(
            SChunk::create_sparse(&folder, params).is_err_and(|error| refused(&error)) && !folder.exists()
        );
        let whole = SChunk::new(Params::new(4));
        let from = dir.path().join("from.b2frame");
        whole.save(&from).unwrap();
        let repacked = cframe::Repack::new().with_level(level).run(&from, &path);
        assert!(repacked.is_err_and(|error| refused(&error)) && !path.exists());
    }
}

#[test]
fn items_that_no_number_of_bytes_reaches_are_not_there() {
    let mut schunk = SChunk::new(Params::new(4));
    schunk.append(&[1; 4000]).unwrap();
    assert!(matches!(schunk.read_items(u64::MAX / 2, 0), Err(Error::Usage { .. })));
    assert!(schunk.read_items(1000, 1).is_err());
    assert_eq!(schunk.read_items(999, 1).unwrap(), [1; 4]);
}

#[test]
fn arrays_grow_by_zeros_whatever_was_in_their_chunks() {
    let all = |array: &Array| array.read::<u32>().unwrap();
    for value in [None, Some(5u32)] {
        let params = ArrayParams::of::<u32>(&[3, 5]).unwrap().with_chunks(&[4, 4]).with_blocks(&[2, 2]);
        let made = Array::new(&params).unwrap();
        // Chunks as other programs may write them: they contain the same elements beyond the array.
        let mut schunk = SChunk::new(made.schunk().params());
        schunk.set_metalayer("b2nd", made.schunk().metalayer("b2nd").unwrap()).unwrap();
        for chunk in 0..2 {
            match value {
                Some(value) => schunk.append_special(Special::Value, &value.to_le_bytes(), 64).unwrap(),
                None => schunk.append(&[chunk + 1; 64]).unwrap(),
            }
        }
        let mut array = Array::from_schunk(schunk).unwrap();
        let old = all(&array);
        assert!(old.iter().all(|&element| element != 0));
        array.resize(&[4, 7]).unwrap();
        let mut expected = [[0; 7]; 4];
        for (row, old) in expected.iter_mut().zip(old.chunks(5)) {
            row[..5].copy_from_slice(old);
        }
        assert_eq!(all(&array), expected.as_flattened());
        array.resize(&[2, 6]).unwrap();
        array.resize(&[6, 8]).unwrap();
        let kept =
            |index: usize| if index / 8 < 2 && index % 8 < 5 { old[index / 8 * 5 + index % 8] } else { 0 };
        assert_eq!(all(&array), (0..48).map(kept).collect::<Vec<_>>());
    }
}

#[test]
fn the_blocks_of_an_array_stay_when_it_is_compressed_otherwise() {
    let params = ArrayParams::of::<f32>(&[100, 100]).unwrap().with_chunks(&[100, 100]).with_blocks(&[10, 20]);
    let mut array = Array::new(&params).unwrap();
    array.schunk_mut().set_params(Params::new(4).with_codec(Codec::Zlib).with_level(9));
    array.fill_with(|[y, x]| (y * x) as f32).unwrap();
    let mut read =
        Array::from_schunk(SChunk::from_bytes(array.schunk().to_bytes().unwrap()).unwrap()).unwrap();
    read.schunk_mut().set_params(Params::new(4).with_codec(Codec::Lz4).with_blocksize(4000));
    read.write_slice(5, &[1.0f32; 100]).unwrap();
    for (array, codec) in [(&array, Codec::Zlib), (&read, Codec::Lz4)] {
        let chunk = array.schunk().chunk(0).unwrap();
        assert_eq!((chunk.codec(), chunk.blocksize()), (codec, Some(800)));
    }
    assert_eq!(read.read_slice::<f32>((6, 7)).unwrap(), [42.0]);
}

/// Edits a frame in a folder or a file when only `free` more files can be open, and checks that the old frame or the new one remains.
#[cfg(unix)]
fn edit_with_few_files(path: &std::path::Path, sparse: bool, free: usize) {
    let (old, new) = (data(1, 4000), data(2, 4000));
    let params = Params::new(4);
    let made = if sparse { SChunk::create_sparse(path, params) } else { SChunk::create(path, params) };
    let mut schunk = made.unwrap();
    (0..3).for_each(|_| schunk.append(&old).unwrap());
    schunk.commit().unwrap();
    (0..3).for_each(|index| schunk.update(index, &new).unwrap());
    schunk.set_metalayer("more", b"bytes").unwrap();
    let mut held = Vec::new();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        held.push(file);
    }
    held.truncate(held.len() - free);
    let done = schunk.commit();
    drop(held);
    let frame = Frame::open(path).unwrap();
    let chunks: Vec<_> = (0..3).map(|index| frame.chunk(index).unwrap().decode().unwrap()).collect();
    let is_new = frame.metalayer("more").is_some();
    assert!(is_new || done.is_err(), "{free}");
    assert!(chunks.iter().all(|chunk| *chunk == if is_new { new.clone() } else { old.clone() }), "{free}");
}

#[test]
#[cfg(unix)]
fn a_commit_that_can_open_no_more_files_leaves_the_old_frame_or_the_new_one() {
    const FOLDER: &str = "CFRAME_TEST_FOLDER";
    let Some(folder) = std::env::var_os(FOLDER) else {
        // The same test in a process that can have 64 open files.
        let dir = tempfile::tempdir().unwrap();
        let name = "edit::a_commit_that_can_open_no_more_files_leaves_the_old_frame_or_the_new_one";
        let again = format!("ulimit -n 64; exec \"$0\" --exact {name}");
        let mut command = std::process::Command::new("sh");
        let test = command.args(["-c", &again]).arg(std::env::current_exe().unwrap()).env(FOLDER, dir.path());
        let output = test.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    };
    let folder = std::path::Path::new(&folder);
    for free in 0..12 {
        edit_with_few_files(&folder.join(format!("folder {free}")), true, free);
        edit_with_few_files(&folder.join(format!("file {free}")), false, free);
    }
}

#[test]
fn an_append_or_a_resize_that_fails_in_the_middle_leaves_the_array_as_it_was() {
    let mut made = Array::new(&ArrayParams::new(&[3, 80], "|u1").unwrap().with_chunks(&[2, 40])).unwrap();
    made.write_slab_bytes(&Slab::all(&[3, 80]).unwrap(), &data(1, 240)).unwrap();
    let mut bytes = made.schunk().to_bytes().unwrap();
    let last = made.schunk().chunk(3).unwrap().stored().unwrap().into_owned();
    let at = bytes.windows(last.len()).position(|part| part == last).unwrap();
    bytes[at + 32..at + last.len()].fill(0xff); // the chunk of the last rows and columns
    let mut array = Array::from_schunk(SChunk::from_bytes(bytes).unwrap()).unwrap();
    assert!(array.schunk().chunk(3).is_err());
    let row = Slab::new(&[3, 80], [Range::new(2, 1), Range::new(0, 40)]).unwrap();
    let (before, chunk) =
        (array.read_slab_bytes(&row).unwrap(), array.schunk().chunk(2).unwrap().decode().unwrap());
    assert!(array.append_bytes(0, &[7; 80]).is_err());
    assert!(array.resize(&[4, 80]).is_err());
    let array = Array::from_schunk(array.into_schunk()).unwrap();
    assert_eq!(array.shape(), [3, 80]);
    assert_eq!(array.read_slab_bytes(&row).unwrap(), before);
    assert_eq!(array.schunk().chunk(2).unwrap().decode().unwrap(), chunk);
}

/// c-blosc2 compresses new chunks with what the header declares.
#[test]
fn a_header_declares_only_that_with_which_c_blosc2_can_compress() {
    let declared = |bytes: &[u8]| (u32::from_be_bytes(bytes[53..57].try_into().unwrap()), bytes[85] & 1);
    for (codec, flag) in [(Codec::BloscLz, 0), (Codec::Zlib, 0), (Codec::Lz4, 1), (Codec::Lz4Hc, 1)] {
        let params = Params::new(3).with_codec(codec).with_blocksize(64).with_dictionary(true);
        assert_eq!(declared(&SChunk::new(params).to_bytes().unwrap()), (63, flag), "{codec:?}");
        let mut other = SChunk::new(Params::new(3));
        assert_eq!(declared(&other.to_bytes().unwrap()), (0, 0));
        other.set_params(params);
        assert_eq!(declared(&other.to_bytes().unwrap()), (63, flag), "{codec:?}");
    }
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("a.b2frame"), dir.path().join("b.b2frame"));
    let made = Params::new(3).with_dictionary(true);
    SChunk::new(made).save(&from).unwrap();
    for (repack, expected) in [
        (Repack::new(), (0, 1)),
        (Repack::new().with_codec(Codec::Zlib), (0, 0)),
        (Repack::new().with_params(Params::new(1).with_blocksize(64)), (63, 0)),
    ] {
        repack.run(&from, &to).unwrap();
        assert_eq!(declared(&std::fs::read(&to).unwrap()), expected);
    }
}
