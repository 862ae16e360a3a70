//! Our side of the conformance run. It writes files for another program to check, and checks the files of that program.
//!
//! `rawarray_conformance write DIR`, `rawarray_conformance check DIR`. Both sides list the same cases and compute the contents
//! with the same formula, so neither side compares only what it wrote itself.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the checks are printed")]

use std::path::Path;
use std::process::ExitCode;

use rawarray::{
    Access, ByteOrder, Editor, ElementType, Encoding, Error, OpenOptions, Range, Reader, Result, Slab,
    StreamWriter, WriteOptions, Writer,
};

/// A type: its name in the cases, the element type, and the kind of its components.
type Type = (&'static str, ElementType, Component);

#[derive(Clone, Copy, PartialEq)]
enum Component {
    Int,
    Float,
    Brain,
    Bool,
    Opaque,
}

const TYPES: [Type; 20] = {
    use ElementType as T;
    [
        ("i1", T::Int(1), Component::Int),
        ("i2", T::Int(2), Component::Int),
        ("i4", T::Int(4), Component::Int),
        ("i8", T::Int(8), Component::Int),
        ("i16", T::Int(16), Component::Int),
        ("u1", T::UInt(1), Component::Int),
        ("u2", T::UInt(2), Component::Int),
        ("u4", T::UInt(4), Component::Int),
        ("u8", T::UInt(8), Component::Int),
        ("u16", T::UInt(16), Component::Int),
        ("f2", T::Float(2), Component::Float),
        ("f4", T::Float(4), Component::Float),
        ("f8", T::Float(8), Component::Float),
        ("c4", T::Complex(4), Component::Float),
        ("c8", T::Complex(8), Component::Float),
        ("c16", T::Complex(16), Component::Float),
        ("bf2", T::BFloat16, Component::Brain),
        ("bool", T::Bool, Component::Bool),
        ("o3", T::Opaque(3), Component::Opaque),
        ("o80", T::Opaque(80), Component::Opaque),
    ]
};

const DIMS: [&[u64]; 6] = [&[], &[7], &[3, 5], &[2, 3, 4], &[2, 3, 2, 2], &[2, 1, 3, 2, 2]];
const LARGER: [&[u64]; 2] = [&[300], &[10, 6, 5]];
const ORDERS: [ByteOrder; 2] = [ByteOrder::Little, ByteOrder::Big];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let result = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", folder] => write(Path::new(folder)),
        ["check", folder] => {
            check(Path::new(folder));
            Ok(())
        }
        _ => Err(Error::usage("arguments", "must be `write DIR` or `check DIR`")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

// --- contents ---

/// Returns a 64-bit number for component `k` of element `i`.
fn word(i: u64, k: u64) -> u64 {
    let x = i.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add((k + 1).wrapping_mul(0xC2B2_AE3D_27D4_EB4F));
    (x ^ x >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

/// Appends the little-endian bytes of one component.
fn component(kind: Component, width: usize, (i, k): (u64, u64), out: &mut Vec<u8>) {
    let x = word(i, k);
    match kind {
        Component::Int => {
            let wide = u128::from(x) << 64 | u128::from(!x);
            out.extend(&wide.to_le_bytes()[16 - width..]);
        }
        Component::Float => {
            let value = ((x % 2001) as f64 - 1000.0) / 8.0;
            match width {
                2 => out.extend(half::f16::from_f64(value).to_le_bytes()),
                4 => out.extend((value as f32).to_le_bytes()),
                _ => out.extend(value.to_le_bytes()),
            }
        }
        Component::Brain => out.extend(half::bf16::from_f64((x % 255) as f64 - 127.0).to_le_bytes()),
        Component::Bool => out.push((x >> 40 & 1) as u8),
        Component::Opaque => out.extend((0..width).map(|j| (x >> (8 * (j % 8))) as u8 ^ j as u8)),
    }
}

/// Returns `count` elements from number `first` on, each repeated `repeat` times.
fn content((_, element, kind): Type, first: u64, count: u64, repeat: u64) -> Vec<u8> {
    let width = element.size() as usize;
    let components = if matches!(element, ElementType::Complex(_)) { 2 } else { 1 };
    let mut out = Vec::new();
    for i in first..first + count {
        for k in 0..components {
            component(kind, width / components as usize, (i / repeat, k), &mut out);
        }
    }
    out
}

/// Returns integers that LEB128 makes shorter, followed by the smallest and the largest integer.
fn small_content((_, element, _): Type, count: u64) -> Vec<u8> {
    let width = element.size() as usize;
    let signed = matches!(element, ElementType::Int(_));
    let unused = 128 - 8 * width as u32;
    let (least, most) =
        if signed { (i128::MIN >> unused, i128::MAX >> unused) } else { (0, (u128::MAX >> unused) as i128) };
    (0..count)
        .map(|i| match count - i {
            2 => least,
            1 => most,
            _ => i128::from((i * 5) % 100) - if signed { 50 } else { 0 },
        })
        .flat_map(|value| value.to_le_bytes()[..width].to_vec())
        .collect()
}

fn tail(size: usize) -> Vec<u8> {
    (0..size).map(|i| (7 * i + 3) as u8).collect()
}

// --- cases ---

struct Case {
    file: String,
    group: &'static str,
    detail: String,
    element: ElementType,
    dims: Vec<u64>,
    order: ByteOrder,
    encoding: Encoding,
    bytes: Vec<u8>,
    metadata: Vec<u8>,
}

fn case(
    group: &'static str,
    kind: Type,
    dims: &[u64],
    (order, encoding): (ByteOrder, Encoding),
    (bytes, metadata): (Vec<u8>, Vec<u8>),
) -> Case {
    let (name, element, _) = kind;
    let (end, long) = if order == ByteOrder::Big { ("be", "big") } else { ("le", "little") };
    let file = format!("{group}-{name}-{}d-{end}-{}.ra", dims.len(), metadata.len());
    let mut detail = format!("{name} {}d {long}", dims.len());
    if !metadata.is_empty() {
        detail += &format!(" {} bytes", metadata.len());
    }
    Case { file, group, detail, element, dims: dims.to_vec(), order, encoding, bytes, metadata }
}

fn count(dims: &[u64]) -> u64 {
    dims.iter().product()
}

fn named(name: &str) -> Type {
    TYPES.into_iter().find(|(found, ..)| *found == name).unwrap_or(TYPES[0])
}

fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for kind in TYPES {
        let plain = |dims: &[u64]| (content(kind, 0, count(dims), 1), Vec::new());
        for dims in DIMS {
            all.extend(ORDERS.map(|order| case("types", kind, dims, (order, Encoding::Raw), plain(dims))));
        }
        all.push(case("empty", kind, &[4, 0, 3], (ByteOrder::Little, Encoding::Raw), plain(&[0])));
        for dims in LARGER {
            let repeated = || (content(kind, 0, count(dims), 30), tail(5));
            all.extend(ORDERS.map(|order| case("lz4", kind, dims, (order, Encoding::Lz4), repeated())));
        }
        if matches!(kind.1, ElementType::Int(_) | ElementType::UInt(_)) {
            all.extend(DIMS[1..4].iter().map(|dims| {
                let small = (small_content(kind, count(dims)), Vec::new());
                case("leb128", kind, dims, (ByteOrder::Little, Encoding::Leb128), small)
            }));
        }
    }
    for dims in DIMS.into_iter().chain([&[64][..], &[65], &[5, 13, 2]]) {
        all.extend(ORDERS.map(|order| {
            let kind = named("bool");
            let bits = (content(kind, 0, count(dims), 1), tail(3));
            let bits = case("bits", kind, dims, (order, Encoding::Bits), bits);
            Case { file: format!("{}-{}", count(dims), bits.file), ..bits }
        }));
    }
    all.extend([1, 100, 512, 5000].map(|size| {
        let kind = named("f4");
        let elements = (content(kind, 0, 15, 1), tail(size));
        case("metadata", kind, &[3, 5], (ByteOrder::Little, Encoding::Raw), elements)
    }));
    all
}

/// Returns the cases that only the other side writes, in the way of the Julia package.
fn from_julia() -> Vec<Case> {
    let order = (ByteOrder::Little, Encoding::Bits);
    let bits = |dims: &[u64]| {
        let elements = (content(named("bool"), 0, count(dims), 1), Vec::new());
        let bits = case("julia", named("bool"), dims, order, elements);
        Case { file: format!("julia-bits-{}d.ra", dims.len()), ..bits }
    };
    let floats = (content(named("f4"), 0, 15, 1), Vec::new());
    let floats = case("julia", named("f4"), &[3, 5], (ByteOrder::Little, Encoding::Raw), floats);
    vec![bits(&[3, 5]), bits(&[20, 10, 2]), Case { file: "julia-floats.ra".into(), ..floats }]
}

// --- the two commands ---

fn write(folder: &Path) -> Result<()> {
    for case in cases() {
        let options = WriteOptions::default().with_byte_order(case.order).with_encoding(case.encoding);
        Writer::new(&case.dims[..]).with_metadata(&case.metadata).with_options(options).write_bytes(
            folder.join(&case.file),
            case.element,
            &case.bytes,
        )?;
    }
    edits(folder)
}

/// Writes files that are the result of appending, overwriting and streaming.
fn edits(folder: &Path) -> Result<()> {
    for (order, end) in ORDERS.into_iter().zip(["le", "be"]) {
        let options = WriteOptions::default().with_byte_order(order);
        let writer = |dims: &'static [u64]| Writer::new(dims).with_options(options);

        let path = folder.join(format!("append-{end}.ra"));
        let all = content(named("i4"), 0, 27, 1);
        writer(&[3, 2]).with_metadata(&tail(9)).write_bytes(&path, ElementType::Int(4), &all[..24])?;
        let mut editor = Editor::open(&path)?;
        editor.append_bytes(&all[24..60])?;
        editor.append_bytes(&all[60..])?;

        let path = folder.join(format!("overwrite-{end}.ra"));
        let kind = named("f8");
        writer(&[5, 8]).with_metadata(&tail(4)).write_bytes(&path, kind.1, &content(kind, 0, 40, 1))?;
        let slab = Slab::new(&[8, 5], [Range::new(1, 3).by(3), Range::new(0, 3).by(2)])?;
        let over: Vec<u8> = [1, 4, 7]
            .into_iter()
            .flat_map(|i| [0, 2, 4].map(|j| content(kind, 100 + 5 * i + j, 1, 1)).concat())
            .collect();
        Editor::open(&path)?.write_slab_bytes(&slab, &over)?;

        let all = content(named("c8"), 0, 72, 1);
        let path = folder.join(format!("stream-{end}.ra"));
        // An earlier run may have left the file, and a stream needs a new one.
        let _ = std::fs::remove_file(&path);
        let mut stream = StreamWriter::create::<num_complex::Complex<f32>>(&path, &[4, 3], &options)?;
        stream.write_bytes(&all[..40])?;
        stream.write_bytes(&all[40..])?;
        stream.finish()?;
    }
    let path = folder.join("metadata-changed.ra");
    let kind = named("u2");
    Writer::new(&[10][..]).with_metadata(&tail(20)).write_bytes(&path, kind.1, &content(kind, 0, 10, 1))?;
    Editor::open(&path)?.set_metadata(&tail(700))?;

    let inner = |i: u64| Writer::new(&[4][..]).encode_bytes(kind.1, &content(kind, 4 * i, 4, 1));
    let inner = [inner(0)?, inner(1)?, inner(2)?].concat();
    Writer::new(&[3][..]).write_bytes(folder.join("nested.ra"), ElementType::Opaque(64), &inner)
}

fn check(folder: &Path) {
    for case in cases().into_iter().chain(from_julia()) {
        let name = format!("{}: {}", case.group, case.detail);
        match differs(&folder.join(&case.file), &case) {
            Ok(None) => println!(r#"{{"case":{name:?},"ok":true}}"#),
            Ok(Some(why)) => println!(r#"{{"case":{name:?},"ok":false,"why":{why:?}}}"#),
            Err(error) => println!(r#"{{"case":{name:?},"ok":false,"why":{:?}}}"#, error.to_string()),
        }
    }
}

/// Returns how a file differs from its case. The file is read in pages and directly, as a whole and in pieces.
fn differs(path: &Path, case: &Case) -> Result<Option<String>> {
    for reader in
        [Reader::open(path)?, Reader::open_with(path, &OpenOptions::default().with_access(Access::direct()))?]
    {
        let found = (reader.element(), reader.dims(), reader.byte_order(), reader.encoding());
        let expected = (case.element, &case.dims[..], case.order, case.encoding);
        if found != expected {
            return Ok(Some(format!("expected {expected:?}, found {found:?}")));
        }
        if reader.read_bytes()? != case.bytes {
            return Ok(Some("the elements differ".into()));
        }
        if *reader.metadata()? != case.metadata {
            return Ok(Some("the metadata differ".into()));
        }
        let mut rest = &case.bytes[..];
        for piece in Slab::all(reader.shape())?.pieces(5) {
            let size = (piece.len() * case.element.size()) as usize;
            let mut out = vec![0; size];
            reader.read_slab_bytes_into(&piece, &mut out)?;
            if rest.split_off(..size) != Some(&out[..]) {
                return Ok(Some("the elements of a slab differ".into()));
            }
        }
        if !rest.is_empty() {
            return Ok(Some("the slabs have too few elements".into()));
        }
    }
    Ok(None)
}
