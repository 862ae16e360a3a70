//! Arrays that are written, read, appended to and overwritten are the arrays that were meant.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use rawarray::{
    ByteOrder, Editor, ElementType, Encoding, Range, Reader, Slab, StreamWriter, WriteOptions, Writer,
};
use sciformats_fuzz::{bounded, range};

#[derive(Arbitrary, Debug)]
struct Input {
    kind: u8,
    width: u8,
    dims: Vec<u8>,
    seed: Vec<u8>,
    big: bool,
    encoding: u8,
    metadata: Vec<u8>,
    rows: u8,
    ranges: Vec<(u8, u8, u8)>,
}

fuzz_target!(|input: Input| {
    let size = input.dims.len() + input.seed.len() + input.metadata.len();
    bounded(size, || run(&input));
});

fn run(input: &Input) {
    let element = element(input.kind % 7, u64::from(input.width % 24));
    let dims: Vec<u64> = input.dims.iter().take(6).map(|&dim| u64::from(dim % 12)).collect();
    let elements: u64 = dims.iter().product();
    // Rows are added to empty arrays too.
    if dims.iter().map(|&dim| dim.max(1)).product::<u64>() * element.size() > 1 << 16 {
        return;
    }
    let bytes = content(input, element, elements);
    let encoding = encoding(input.encoding, element);
    let metadata = if encoding == Encoding::Leb128 { &[] } else { &input.metadata[..] };
    let order = if input.big { ByteOrder::Big } else { ByteOrder::Little };
    let options = WriteOptions::default().with_byte_order(order).with_encoding(encoding);
    let writer = Writer::new(&dims[..]).with_metadata(metadata).with_options(options);
    let file = writer.encode_bytes(element, &bytes).expect("the bytes are the array's");
    is(&file, element, &dims, &bytes, metadata);
    if encoding == Encoding::Raw {
        edit(input, &file, (element, dims, bytes), options);
    }
}

fn element(kind: u8, size: u64) -> ElementType {
    match kind {
        0 => ElementType::Int(size + 1),
        1 => ElementType::UInt(size + 1),
        2 => ElementType::Float(size + 1),
        3 => ElementType::Complex(2 * size + 2),
        4 => ElementType::BFloat16,
        5 => ElementType::Bool,
        _ => ElementType::Opaque(size),
    }
}

fn encoding(choice: u8, element: ElementType) -> Encoding {
    match (choice % 3, element) {
        (1, _) => Encoding::Lz4,
        (2, ElementType::Int(1..=16) | ElementType::UInt(1..=16)) => Encoding::Leb128,
        (2, ElementType::Bool) => Encoding::Bits,
        _ => Encoding::Raw,
    }
}

/// The seed over and over; truth values are 0 or 1.
fn content(input: &Input, element: ElementType, elements: u64) -> Vec<u8> {
    let mask = if element == ElementType::Bool { 1 } else { 0xFF };
    let size = (elements * element.size()) as usize;
    let mut bytes: Vec<u8> = input.seed.iter().copied().chain([7]).cycle().take(size).collect();
    bytes.iter_mut().for_each(|byte| *byte &= mask);
    bytes
}

/// The file holds this array and no other.
fn is(file: &[u8], element: ElementType, dims: &[u64], bytes: &[u8], metadata: &[u8]) {
    let reader = Reader::from_bytes(file.to_vec()).expect("it was just written");
    assert_eq!((reader.element(), reader.dims()), (element, dims));
    assert_eq!(reader.read_bytes().expect("it was just written"), bytes);
    assert_eq!(*reader.metadata().expect("it was just written"), *metadata);
}

/// The same array, in the file and in memory, changed in the same ways.
fn edit(
    input: &Input,
    file: &[u8],
    (element, mut dims, mut bytes): (ElementType, Vec<u64>, Vec<u8>),
    options: WriteOptions,
) {
    let mut editor = Editor::in_storage(file.to_vec()).expect("it was just written");
    let row: u64 = dims.split_last().map_or(0, |(_, row)| row.iter().product::<u64>() * element.size());
    let mask = if element == ElementType::Bool { 1 } else { 0xFF };
    let rows = u64::from(input.rows % 8);
    let added = vec![0x55 & mask; (rows * row) as usize];
    if row > 0 {
        editor.append_bytes(&added).expect("whole rows");
        bytes.extend(&added);
        *dims.last_mut().expect("there is a row") += rows;
        let (_, row_dims) = dims.split_last().expect("there is a row");
        let mut stream =
            StreamWriter::in_storage(Vec::new(), element, row_dims, &options).expect("there is a row");
        stream.write_bytes(&bytes).expect("memory");
        let streamed = stream.finish().expect("whole rows");
        is(&streamed, element, &dims, &bytes, &[]);
    } else {
        assert!(editor.append_bytes(&added).is_err());
    }
    let shape = editor.shape();
    let chosen = input.ranges.iter().copied().chain(std::iter::repeat((0, 255, 1)));
    let ranges: Vec<Range> =
        shape.iter().zip(chosen).map(|(&length, choice)| range(length, choice)).collect();
    let slab = Slab::new(shape, ranges).expect("inside the shape");
    let width = element.size() as usize;
    let over: Vec<u8> = (0..slab.len() as usize * width).map(|i| i as u8 & mask).collect();
    editor.write_slab_bytes(&slab, &over).expect("the slab's size");
    let mut source = over.chunks(width.max(1));
    for run in slab.runs() {
        for i in 0..run.len {
            let at = (run.from + i * run.step) as usize * width;
            bytes[at..at + width].copy_from_slice(source.next().unwrap_or_default());
        }
    }
    editor.set_metadata(&input.seed).expect("raw arrays have metadata");
    is(&editor.into_storage(), element, &dims, &bytes, &input.seed);
}
