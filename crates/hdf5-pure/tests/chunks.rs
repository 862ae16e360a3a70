//! Writes and reads the values of whole chunks, and opens files that are created if they do not exist.

use hdf5_pure::{CreateOptions, Editor, Error, File, Writer};

type Result<T = ()> = hdf5_pure::Result<T>;

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
    let failed = Editor::open_or_create(&path, |_| Err(Error::usage("this", "fails")));
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
