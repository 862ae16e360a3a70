//! Writes and reads the values of whole chunks, and opens files that are created if they do not exist.

use std::borrow::Cow;

use hdf5_pure::options::Bound;
use hdf5_pure::storage::ReadAt;
use hdf5_pure::structure::{Chunked, IndexKind, Layout};
use hdf5_pure::{
    ChunkIndex, CreateOptions, Dataset, EditOptions, Editor, Error, File, OpenOptions, Slab, Writer,
};

type Result<T = ()> = hdf5_pure::Result<T>;

/// A file with a byte that cannot be read.
struct Bad {
    bytes: Vec<u8>,
    at: u64,
}

impl ReadAt for Bad {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        if (offset..offset + len as u64).contains(&self.at) {
            let source = std::io::Error::other("a bad sector").into();
            return Err(Error::Io { action: "read", path: None, offset: Some(offset), source });
        }
        self.bytes.read_at(offset, len)
    }
}

#[test]
fn each_chunk_has_its_part_and_its_elements() -> Result {
    let all: Vec<i32> = (0..35).collect();
    for filtered in [false, true] {
        let mut file = Writer::in_memory(&CreateOptions::default())?;
        let dataset = file.dataset("x").shape([5, 7]).chunks([2, 3]);
        if filtered { dataset.shuffle().lzf() } else { dataset }.write(&all)?;
        let x = File::from_bytes(file.into_bytes()?)?.dataset("x")?;
        let mut joined = vec![-1i64; 35];
        let mut count = 0;
        for chunk in x.read_chunks::<i64>()? {
            let (slab, values) = chunk?;
            assert_eq!(values, x.read_slab::<i64>(&slab)?);
            let places = slab.runs().flat_map(|run| (0..run.len).map(move |i| run.from + i * run.step));
            places.zip(values).for_each(|(at, value)| joined[at as usize] = value);
            count += 1;
        }
        assert_eq!((count, joined), (9, (0..35).collect::<Vec<i64>>()));
        let corner = x.chunk_at(&[4, 6])?.unwrap();
        assert_eq!((&corner.scaled[..], x.read_chunk::<u8>(&corner)?), (&[2, 2][..], vec![34]));
        assert!(matches!(x.chunk_at(&[5, 0]), Err(Error::Usage { .. })));
        assert!(matches!(x.chunk_at(&[0]), Err(Error::Usage { .. })));
    }
    Ok(())
}

#[test]
fn chunks_that_follow_each_other_are_read_together_and_say_which_one_is_cut() -> Result {
    let all: Vec<i32> = (0..3 * 1001).collect();
    let mut file = Writer::in_memory(&CreateOptions::default())?;
    file.dataset("x").chunks([2, 3]).shape([1001, 3]).write(&all)?;
    let bytes = file.into_bytes()?;
    let read = File::from_bytes(bytes.clone())?.dataset("x")?;
    assert_eq!(read.read::<i32>()?, all);
    // Rows from the middle of a chunk on, some of the rows, and a part of each row.
    assert_eq!(read.read_slice::<i32>((7..1000, ..))?, all[21..3000]);
    let some: Vec<i32> = all.chunks(3).step_by(2).flatten().copied().collect();
    assert_eq!(read.read_slice::<i32>((hdf5_pure::selection::by(.., 2), ..))?, some);
    let last: Vec<i32> = all.iter().skip(2).step_by(3).copied().collect();
    assert_eq!(read.read_slice::<i32>((.., 2))?, last);
    // A byte of one of the chunks that one read would bring cannot be read.
    let chunk = read.chunk_at(&[900, 0])?.unwrap();
    let bad =
        File::from_storage(Bad { bytes, at: chunk.address.0 + 5 }, &OpenOptions::default())?.dataset("x")?;
    assert_eq!(bad.read_slice::<i32>((..900, ..))?, all[..2700]);
    match bad.read::<i32>() {
        Err(Error::Io { offset, .. }) => assert_eq!(offset, Some(chunk.address.0)),
        other => panic!("{other:?}"),
    }
    Ok(())
}

#[test]
fn what_was_never_written_is_no_chunk() -> Result {
    let mut file = Writer::in_memory(&CreateOptions::default())?;
    let mut x = file.dataset("x").shape([5, 7]).chunks([2, 3]).lzf().fill(9).create::<i32>()?;
    x.write_chunk_values(&[2, 2], &[34])?;
    assert!(matches!(x.write_chunk_values(&[3, 0], &[1]), Err(Error::Usage { .. })));
    assert!(x.write_chunk_values(&[0, 0], &[1, 2, 3]).is_err(), "six elements");
    x.write_slice((4, 3..6), &[1, 2, 3])?;
    assert!(matches!(x.write_slice(hdf5_pure::selection::by(.., -1), &[0; 35]), Err(Error::Usage { .. })));
    let file = File::from_bytes(file.into_bytes()?)?;
    let x = file.dataset("x")?;
    assert_eq!(x.chunk_at(&[0, 0])?, None);
    assert_eq!(x.chunks()?.len(), 2);
    assert_eq!(x.read_slice::<i32>((-1, ..))?, [9, 9, 9, 1, 2, 3, 34]);
    Ok(())
}

#[test]
fn texts_too() -> Result {
    let texts = ["a", "", "ccc", "d", "e"];
    let mut file = Writer::in_memory(&CreateOptions::default())?;
    file.dataset("texts").chunks([2]).write(&texts)?;
    file.dataset("flat").write(&[1, 2])?;
    let file = File::from_bytes(file.into_bytes()?)?;
    let mut read = Vec::new();
    for chunk in file.dataset("texts")?.read_chunks::<String>()? {
        read.extend(chunk?.1);
    }
    assert_eq!(read, texts);
    assert!(matches!(file.dataset("flat")?.read_chunks::<i32>().map(drop), Err(Error::Usage { .. })));
    Ok(())
}

#[test]
fn open_or_create_makes_a_file_once() -> Result {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.h5");
    let failed = Editor::open_or_create(&path, |_| Err::<(), _>(Error::usage("this", "fails")));
    assert!(failed.is_err() && !path.exists());
    for day in 0..3 {
        let mut made = false;
        let mut file = Editor::open_or_create(&path, |new| {
            made = true;
            new.dataset("days").shape([0]).max_shape([None]).create::<i32>().map(drop)
        })?;
        assert_eq!(made, day == 0);
        file.open_dataset("days")?.append(&[day])?;
        file.commit()?;
    }
    assert_eq!(File::open(&path)?.dataset("days")?.read::<i32>()?, [0, 1, 2]);
    std::fs::write(&path, b"no HDF5").unwrap();
    assert!(Editor::open_or_create(&path, |_| Ok(())).is_err(), "an existing file is never overwritten");
    assert_eq!(std::fs::read(&path).unwrap(), b"no HDF5");
    Ok(())
}

#[test]
fn chunks_that_skip_all_filters_are_not_decoded() -> Result {
    let values: Vec<u16> = (0..8).map(|i| i * 300).collect();
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    // All bits of the mask are set, also those that belong to no filter.
    let masks =
        |x: &Dataset| x.chunks().map(|all| all.into_iter().flatten().map(|c| c.filter_mask).collect());
    for (index, most, side) in [
        (ChunkIndex::Single, Some(8), 8),
        (ChunkIndex::FixedArray, Some(8), 4),
        (ChunkIndex::ExtensibleArray, None, 4),
        (ChunkIndex::BtreeV2, None, 4),
    ] {
        let mut file = Writer::in_memory(&CreateOptions::default())?;
        let made = file.dataset("x").shape([8]).max_shape([most]).chunks([side]).index(index).shuffle();
        let mut x = made.create::<u16>()?;
        let last = 8 / side - 1;
        let part = &bytes[last as usize * side as usize * 2..];
        x.write_all(&values)?.write_chunk(&[0], u32::MAX, &bytes[..side as usize * 2])?;
        let file = file.into_bytes()?;
        let x = File::from_bytes(file.clone())?.dataset("x")?;
        assert_eq!(x.read::<u16>()?, values, "{index:?}");
        let found: Vec<u32> = masks(&x)?;
        assert_eq!(found[0], u32::MAX, "{index:?}");
        let mut editor = Editor::in_storage(Box::new(file), &EditOptions::default())?;
        editor.open_dataset("x")?.write_chunk(&[last], u32::MAX, part)?;
        editor.commit()?;
        let x = editor.file()?.dataset("x")?;
        assert_eq!(x.read::<u16>()?, values, "{index:?}");
        let found: Vec<u32> = masks(&x)?;
        assert!(found.iter().all(|&mask| mask == u32::MAX), "{index:?}");
    }
    Ok(())
}

#[test]
fn chunks_of_an_implicit_index_without_space_get_another_index() -> Result {
    let options = CreateOptions::default().with_bound(Bound::Earliest).with_index_bound(Bound::V110);
    let mut file = Writer::in_memory(&options)?;
    file.dataset("x").shape([10]).chunks([3]).index(ChunkIndex::Implicit).create::<u8>()?;
    let mut bytes = file.into_bytes()?;
    let layout = File::from_bytes(bytes.clone())?.dataset("x")?.layout()?.clone();
    assert!(matches!(layout, Layout::Chunked(Chunked { index: IndexKind::Implicit, .. })));
    let Layout::Chunked(Chunked { address: Some(address), .. }) = layout else { return Ok(()) };
    // Headers of this version have no checksum.
    let after_kind = |found: &[u8]| found[0] == 2 && found[1..] == address.0.to_le_bytes();
    let at = bytes.windows(9).position(after_kind).unwrap() + 1;
    bytes[at..at + 8].fill(0xff);
    let mut editor = Editor::in_storage(Box::new(bytes), &EditOptions::default())?;
    let slab = Slab::new(&[10], [(4..10).into()])?;
    editor.open_dataset("x")?.write_slab(&slab, &[4u8, 5, 6, 7, 8, 9])?;
    editor.commit()?;
    assert_eq!(editor.file()?.dataset("x")?.read::<u8>()?, [0, 0, 0, 0, 4, 5, 6, 7, 8, 9]);
    Ok(())
}
