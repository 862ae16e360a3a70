//! Files as NumPy writes them: types, orders, and damaged files.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use npy::{
    Conversion, DType, Element, Error, Limits, OpenOptions, Range, ReadAt, Reader, Result, Slab, Writer,
};
use proptest::prelude::*;

/// Returns a file of version 1.0 with a header as NumPy writes it.
fn bytes(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let dictionary = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\0".to_vec();
    bytes.extend(u16::try_from(dictionary.len()).unwrap().to_le_bytes());
    bytes.extend(dictionary.as_bytes());
    bytes.extend(data);
    bytes
}

#[test]
fn numbers_in_both_byte_orders_and_as_other_types() {
    let reader =
        Reader::from_bytes(bytes("'>i2'", "False", "(2, 2)", &[0, 1, 0, 2, 0, 3, 255, 252])).unwrap();
    assert_eq!(reader.read::<i16>().unwrap(), [1, 2, 3, -4]);
    assert_eq!(reader.read::<f64>().unwrap(), [1.0, 2.0, 3.0, -4.0]);
    assert!(matches!(reader.read::<u8>(), Err(Error::Misfit(misfit)) if misfit.index == 3));
    let stored = reader.with_conversion(Conversion::None);
    assert!(stored.read::<i16>().is_ok() && stored.read::<i32>().is_err());

    let reader = Reader::from_bytes(bytes("'|b1'", "False", "(3,)", &[0, 1, 7])).unwrap();
    assert_eq!(reader.read::<bool>().unwrap(), [false, true, true]);
    assert_eq!(reader.read::<u8>().unwrap(), [0, 1, 1]);
    let reader = Reader::from_bytes(bytes("'<M8[ns]'", "False", "()", &[9, 0, 0, 0, 0, 0, 0, 0])).unwrap();
    assert_eq!(reader.read::<i64>().unwrap(), [9]);
    let reader = Reader::from_bytes(bytes("'|S2'", "False", "()", b"ab")).unwrap();
    assert!(matches!(reader.read::<u8>(), Err(Error::Usage { argument: "element type", .. })));
}

#[test]
fn columns_first() {
    // The columns one after another: 1 3 5, 2 4 6.
    let reader = Reader::from_bytes(bytes("'|u1'", "True", "(3, 2)", &[1, 3, 5, 2, 4, 6])).unwrap();
    assert_eq!(reader.read::<u8>().unwrap(), [1, 2, 3, 4, 5, 6]);
    let slab = Slab::new(&[3, 2], [Range::new(0, 2).by(2), Range::new(1, 1)]).unwrap();
    assert_eq!(reader.read_slab::<u8>(&slab).unwrap(), [2, 6]);
    assert!(matches!(reader.read_slab::<u8>(&Slab::all(&[2, 3]).unwrap()), Err(Error::Usage { .. })));
}

/// A storage that counts the bytes that are read, and lends none.
struct Counting(Vec<u8>, Arc<AtomicU64>);

impl ReadAt for Counting {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        self.1.fetch_add(len as u64, Ordering::Relaxed);
        (*self.0).read_at(offset, len)
    }
}

#[test]
fn little_is_read_of_what_is_not_selected() {
    let shape = [20_000u64, 50];
    let value = |[i, j]: [u64; 2]| (i * shape[1] + j) as u32;
    let all: Vec<u32> = (0..shape[0] * shape[1]).map(|n| n as u32).collect();
    let rows = npy::to_bytes(&shape, &all).unwrap();
    let columns = (0..shape[1]).flat_map(|j| (0..shape[0]).flat_map(move |i| value([i, j]).to_le_bytes()));
    let columns = bytes("'<u4'", "True", "(20000, 50)", &columns.collect::<Vec<u8>>());
    let count = Arc::new(AtomicU64::new(0));
    let open = |file: &Vec<u8>, memory| {
        let options = OpenOptions::default().with_limits(Limits::default().with_memory(memory));
        Reader::from_storage(Counting(file.clone(), Arc::clone(&count)), &options).unwrap()
    };
    let [i, j] = shape.map(Range::all);
    // What is selected, and how many bytes more than these are read at most, of rows and of columns.
    for (ranges, most) in [
        ([Range::new(7, 1), j], [0, 0]),
        ([i, Range::new(7, 1)], [4_000_000, 0]),
        ([Range::new(3, 19).by(1000), Range::new(1, 7).by(7)], [20_000, 600_000]),
        ([Range::new(100, 19_000), Range::new(3, 40)], [1_000_000, 1_000_000]),
        ([Range::new(0, 6_000).by(3), Range::new(0, 25).by(2)], [4_000_000, 4_000_000]),
        ([Range::new(5, 2).by(14_000), j], [0, 2_800_000]),
        ([Range::new(5, 2).by(19_000), j], [0, 0]),
        ([i, j], [0, 0]),
    ] {
        let slab = Slab::new(&shape, ranges).unwrap();
        let indices = |range: Range| (0..range.count).map(move |n| range.start + n * range.step);
        let wanted: Vec<u32> =
            indices(ranges[0]).flat_map(|i| indices(ranges[1]).map(move |j| value([i, j]))).collect();
        for (file, most) in [&rows, &columns].into_iter().zip(most) {
            for memory in [4 * slab.len(), 1 << 34] {
                let reader = open(file, memory.max(1000));
                count.store(0, Ordering::Relaxed);
                assert!(reader.read_slab::<u32>(&slab).unwrap() == wanted, "{ranges:?}");
                let more = count.load(Ordering::Relaxed) - 4 * slab.len();
                assert!(more <= most, "{ranges:?}, {}: {more}", reader.header().fortran_order);
            }
            assert!(Reader::from_bytes(file.clone()).unwrap().read_slab::<u32>(&slab).unwrap() == wanted);
        }
    }
}

#[test]
fn selections_of_three_dimensions_are_divided_along_each() {
    let shape = [200u64, 30, 300];
    let at = |[i, j, k]: [u64; 3]| (i * shape[1] + j) * shape[2] + k;
    let values: Vec<u16> = (0..shape.iter().product::<u64>()).map(|n| (n ^ n >> 16) as u16).collect();
    let rows = npy::to_bytes(&shape, &values).unwrap();
    let mut columns = Vec::with_capacity(2 * values.len());
    for (k, j) in (0..shape[2]).flat_map(|k| (0..shape[1]).map(move |j| (k, j))) {
        columns.extend((0..shape[0]).flat_map(|i| values[at([i, j, k]) as usize].to_le_bytes()));
    }
    let columns = bytes("'<u2'", "True", "(200, 30, 300)", &columns);
    for ranges in [
        [Range::new(1, 4).by(60), Range::new(2, 4).by(9), Range::new(3, 3).by(140)],
        [Range::new(7, 1), Range::new(0, 30), Range::new(11, 25).by(11)],
        [Range::new(0, 200), Range::new(29, 1), Range::new(0, 150).by(2)],
        [Range::new(10, 180), Range::new(3, 20), Range::new(299, 1)],
        [Range::new(0, 2).by(199), Range::new(0, 2).by(29), Range::new(0, 2).by(299)],
    ] {
        let slab = Slab::new(&shape, ranges).unwrap();
        let indices = |range: Range| (0..range.count).map(move |n| range.start + n * range.step);
        let wanted = indices(ranges[0])
            .flat_map(|i| indices(ranges[1]).flat_map(move |j| indices(ranges[2]).map(move |k| [i, j, k])));
        let wanted: Vec<u16> = wanted.map(|place| values[at(place) as usize]).collect();
        for file in [&rows, &columns] {
            let counting = Counting(file.clone(), Arc::default());
            let reader = Reader::from_storage(counting, &OpenOptions::default()).unwrap();
            assert!(reader.read_slab::<u16>(&slab).unwrap() == wanted, "{ranges:?}");
        }
    }
}

#[test]
fn what_is_wrong_is_told() {
    for (file, message) in [
        (bytes("'<i4'", "False", "(2,)", &[0; 7]), "malformed array at offset 0x4b: elements is truncated"),
        (bytes("'|O8'", "False", "()", &[0; 8]), "an array of Python objects is not supported"),
        (
            bytes("'<i4'", "7", "()", &[0; 8]),
            "malformed header at offset 0xa: header lacks the key fortran_order, or its value is neither True nor False",
        ),
        (
            bytes("'<i4'", "False", "(9999999999, 9999999999)", &[]),
            "malformed array at offset 0x58: elements is truncated",
        ),
        (b"\x93NUMPY\x01\0\xff\xff".to_vec(), "malformed header at offset 0xa: header is truncated"),
        (b"\x93NUMPY\x02\0\xff\xff\xff\xff".to_vec(), "malformed header at offset 0xc: header is truncated"),
        (b"".to_vec(), "the file is not npy; it is empty"),
    ] {
        assert_eq!(Reader::from_bytes(file).unwrap_err().to_string(), message);
    }
    let mut file = bytes("'|u1'", "False", "(1,)", &[7]);
    file.extend([1, 2]);
    assert_eq!(Reader::from_bytes(file).unwrap().leftover(), 2);
}

#[test]
fn a_writer_wants_all_elements_and_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("u.npy");
    let mut writer = Writer::create(&path, u16::dtype(), &[3]).unwrap();
    writer.write(&[1u16, 2]).unwrap();
    assert!(writer.write(&[1u8]).is_err() && writer.write(&[3u16, 4]).is_err());
    assert_eq!(writer.finish().unwrap_err().to_string(), "elements are incomplete: 2 bytes are missing");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    assert!(Writer::create(&path, DType::parse("'|O8'").unwrap(), &[1]).is_err());

    let values: Vec<u64> = (0..100_000).collect();
    npy::write(&path, &[100_000], &values).unwrap();
    assert_eq!(Reader::open(&path).unwrap().read::<u64>().unwrap(), values);
    assert!(npy::to_bytes(&[3], &[1u8]).is_err());

    // An existing file stays, unless it is to be replaced.
    let refused = Writer::create(&path, u8::dtype(), &[1]).unwrap_err();
    assert!(matches!(refused, npy::Error::Io { action: "create", .. }), "{refused}");
    let mut writer = Writer::overwrite(&path, u8::dtype(), &[1]).unwrap();
    writer.write(&[1u8]).unwrap();
    assert_eq!(Reader::open(&path).unwrap().len(), 100_000); // the old file, until the new one is complete
    writer.finish().unwrap();
    assert_eq!(Reader::open(&path).unwrap().read::<u8>().unwrap(), [1]);
}

proptest! {
    #[test]
    fn no_bytes_panic(mut tail in prop::collection::vec(any::<u8>(), 0..200), version in 0u8..5) {
        let mut file = vec![0x93, b'N', b'U', b'M', b'P', b'Y', version, 0];
        file.append(&mut tail);
        let _ = npy::whole_size(&file);
        if let Ok(reader) = Reader::from_bytes(file) {
            let _ = reader.read::<f64>();
        }
    }

    #[test]
    fn selections_of_both_orders_are_the_same(
        shape in prop::collection::vec(1u64..5, 1..4),
        picks in prop::collection::vec((0u64..4, 1u64..4, 1u64..3), 3),
    ) {
        let count: u64 = shape.iter().product();
        let ranges: Vec<Range> = shape.iter().zip(picks).map(|(&length, (start, count, step))| {
            let start = start.min(length - 1);
            Range { start, count: count.min((length - start).div_ceil(step)), step }
        }).collect();
        let values: Vec<u16> = (0..count as u16).collect();
        let c = Reader::from_bytes(npy::to_bytes(&shape, &values).unwrap()).unwrap();
        // The same array, whose first index varies fastest.
        let mut fortran = vec![0u16; values.len()];
        for (at, value) in values.iter().enumerate() {
            let (mut rest, mut place) = (at as u64, 0);
            for axis in (0..shape.len()).rev() {
                let stride: u64 = shape[..axis].iter().product();
                place += rest % shape[axis] * stride;
                rest /= shape[axis];
            }
            fortran[place as usize] = *value;
        }
        let text: Vec<String> = shape.iter().map(|n| format!("{n},")).collect();
        let data: Vec<u8> = fortran.iter().flat_map(|value| value.to_le_bytes()).collect();
        let fortran = Reader::from_bytes(bytes("'<u2'", "True", &format!("({})", text.concat()), &data)).unwrap();
        let slab = Slab::new(&shape, ranges).unwrap();
        prop_assert_eq!(c.read_slab::<u16>(&slab).unwrap(), fortran.read_slab::<u16>(&slab).unwrap());
    }
}

#[test]
#[cfg(unix)]
fn elements_that_did_not_arrive_are_missing() {
    const FOLDER: &str = "NPY_TEST_FOLDER";
    let Some(folder) = std::env::var_os(FOLDER) else {
        // The same test in a process whose files can have 1 MiB at most, as on a full disk.
        let dir = tempfile::tempdir().unwrap();
        let name = "files::elements_that_did_not_arrive_are_missing";
        let again = format!("trap '' XFSZ; ulimit -f 1024; exec \"$0\" --exact {name}");
        let mut command = std::process::Command::new("sh");
        let test = command.args(["-c", &again]).arg(std::env::current_exe().unwrap()).env(FOLDER, dir.path());
        let output = test.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    };
    let path = std::path::Path::new(&folder).join("a.npy");
    npy::write(&path, &[2], &[1u8, 2]).unwrap();
    let mut writer = Writer::overwrite(&path, DType::parse("'|u1'").unwrap(), &[1 << 20]).unwrap();
    assert!(matches!(writer.write_bytes(&vec![7; 1 << 20]), Err(Error::Io { .. })));
    assert!(matches!(writer.finish(), Err(Error::Usage { argument: "elements", .. })));
    assert_eq!(Reader::open(&path).unwrap().read::<u8>().unwrap(), [1, 2]);
}
