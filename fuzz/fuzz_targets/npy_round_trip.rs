//! npy files that are written, read, appended to and overwritten hold the arrays that were meant.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use npy::{DType, Editor, Field, Header, Kind, Range, Reader, Slab};
use sciformats_fuzz::{bounded, range};

#[derive(Arbitrary, Debug)]
struct Input {
    /// One field is the type itself, several are a record.
    fields: Vec<(u8, u8, u8)>,
    shape: Vec<u8>,
    seed: Vec<u8>,
    rows: u8,
    ranges: Vec<(u8, u8, u8)>,
}

fuzz_target!(|input: Input| {
    let size = input.fields.len() + input.shape.len() + input.seed.len();
    bounded(size, || run(&input));
});

fn run(input: &Input) {
    let dtype = dtype(&input.fields);
    let size = dtype.size().expect("its parts are small");
    let mut shape: Vec<u64> = input.shape.iter().take(6).map(|&length| u64::from(length % 12)).collect();
    if shape.iter().map(|&length| length.max(1)).product::<u64>() * size > 1 << 16 {
        return;
    }
    let mut bytes = content(input, shape.iter().product::<u64>() * size);
    let header = Header::new(dtype.clone(), shape.clone());
    let mut file = header.to_bytes().expect("the header is small");
    file.extend(&bytes);
    is(&file, &dtype, &shape, &bytes);

    let mut editor = Editor::in_storage(file).expect("it was just written");
    let row = shape.split_first().map_or(0, |(_, row)| row.iter().product::<u64>() * size);
    if row > 0 {
        let rows = u64::from(input.rows % 8);
        let added = vec![0x55; (rows * row) as usize];
        editor.append_bytes(&added).expect("whole rows, for which the header has room");
        bytes.extend(&added);
        shape[0] += rows;
        assert!(row == 1 || editor.append_bytes(&[0]).is_err());
    }
    let chosen = input.ranges.iter().copied().chain(std::iter::repeat((0, 255, 1)));
    let ranges: Vec<Range> =
        shape.iter().zip(chosen).map(|(&length, choice)| range(length, choice)).collect();
    let slab = Slab::new(&shape, ranges).expect("inside the shape");
    let width = size as usize;
    let over: Vec<u8> = (0..slab.len() as usize * width).map(|i| i as u8).collect();
    editor.write_slab_bytes(&slab, &over).expect("the slab's size");
    let mut source = over.chunks(width.max(1));
    for run in slab.runs() {
        for i in 0..run.len {
            let at = (run.from + i * run.step) as usize * width;
            bytes[at..at + width].copy_from_slice(source.next().unwrap_or_default());
        }
    }
    is(&editor.into_storage(), &dtype, &shape, &bytes);
}

fn dtype(fields: &[(u8, u8, u8)]) -> DType {
    match fields {
        [] => DType::scalar(Kind::Float, 8),
        [one] => scalar(*one),
        several => {
            let field = |(number, &of): (usize, &(u8, u8, u8))| {
                let item = scalar(of);
                let dtype = match of.2 % 5 {
                    0 => DType::Array { item: Box::new(item), shape: vec![2, u64::from(of.1 % 3) + 1] },
                    _ => item,
                };
                // Names are unique, and may need an escape.
                Field::new(format!("f'{number}\\"), dtype)
            };
            DType::Record(several.iter().take(8).enumerate().map(field).collect())
        }
    }
}

fn scalar((kind, size, unit): (u8, u8, u8)) -> DType {
    let unit: Box<str> = ["ns", "s", "D", "25us"][usize::from(unit % 4)].into();
    let power = 1 << (size % 4);
    let small = u64::from(size % 24);
    match kind % 10 {
        0 => DType::scalar(Kind::Bool, 1),
        1 => DType::scalar(Kind::Int, power),
        2 => DType::scalar(Kind::UInt, power),
        3 => DType::scalar(Kind::Float, power.max(2)),
        4 => DType::scalar(Kind::Complex, if size % 2 == 0 { 8 } else { 16 }),
        5 => DType::scalar(Kind::DateTime(unit), 8),
        6 => DType::scalar(Kind::TimeDelta(unit), 8),
        7 => DType::scalar(Kind::Bytes, small + 1),
        8 => DType::scalar(Kind::Text, 4 * (small + 1)),
        _ => DType::scalar(Kind::Void, small + 1),
    }
}

/// The seed over and over.
fn content(input: &Input, size: u64) -> Vec<u8> {
    input.seed.iter().copied().chain([7]).cycle().take(size as usize).collect()
}

/// The file holds this array and no other.
fn is(file: &[u8], dtype: &DType, shape: &[u64], bytes: &[u8]) {
    let reader = Reader::from_bytes(file.to_vec()).expect("it was just written");
    assert_eq!((reader.dtype(), reader.shape(), reader.leftover()), (dtype, shape, 0));
    let all = Slab::all(shape).expect("the shape is small");
    assert_eq!(reader.read_slab_bytes(&all).expect("it was just written"), bytes);
}
