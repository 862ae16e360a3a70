//! The contents of the files.

use asdf_core::yaml::Integer;
use asdf_core::*;

pub(crate) const SHAPE: [u64; 3] = [3, 4, 2];
pub(crate) const TYPES: [ScalarType; 16] = [
    ScalarType::Int8,
    ScalarType::Int16,
    ScalarType::Int32,
    ScalarType::Int64,
    ScalarType::UInt8,
    ScalarType::UInt16,
    ScalarType::UInt32,
    ScalarType::UInt64,
    ScalarType::Float16,
    ScalarType::Float32,
    ScalarType::Float64,
    ScalarType::Complex64,
    ScalarType::Complex128,
    ScalarType::Bool8,
    ScalarType::Ascii(5),
    ScalarType::Ucs4(3),
];
pub(crate) const ORDERS: [(&str, ByteOrder); 2] = [("little", ByteOrder::Little), ("big", ByteOrder::Big)];
pub(crate) const LABELS: [(&str, Compression); 7] = [
    ("none", Compression::None),
    ("zlib", Compression::Zlib),
    ("bzp2", Compression::Bzp2),
    ("lz4", Compression::Lz4),
    ("lz4f", Compression::Lz4Frame),
    ("zstd", Compression::Zstd),
    ("blsc", Compression::Blosc),
];

pub(crate) fn real(i: usize) -> f64 {
    match i {
        0 => f64::INFINITY,
        1 => -0.0,
        2 => f64::NAN,
        _ => (i as f64 * 3.0 - 20.0) / 8.0,
    }
}

pub(crate) fn integer(i: usize, bits: u32, signed: bool) -> i128 {
    let bits = bits.min(if signed { 63 } else { 62 });
    match (i, signed) {
        (0, true) => (1 << (bits - 1)) - 1,
        (1, true) => -(1 << (bits - 1)),
        (0, false) => (1 << bits) - 1,
        (1, false) => 0,
        _ => ((i * i * 7 + i * 31 + 5) % 120) as i128 - if signed { 60 } else { 0 },
    }
}

/// Returns the elements of a type, little-endian.
pub(crate) fn elements(scalar: ScalarType, count: usize) -> Vec<u8> {
    let size = scalar.size().unwrap() as usize;
    let signed = scalar.name().starts_with("int");
    let padded = |text: Vec<u8>| text.into_iter().chain(std::iter::repeat(0)).take(size).collect::<Vec<u8>>();
    let element = |i: usize| match scalar {
        ScalarType::Float16 => half::f16::from_f64(real(i)).to_le_bytes().to_vec(),
        ScalarType::Float32 => (real(i) as f32).to_le_bytes().to_vec(),
        ScalarType::Float64 => real(i).to_le_bytes().to_vec(),
        ScalarType::Complex64 => {
            [real(i), real(i + 3)].iter().flat_map(|part| (*part as f32).to_le_bytes()).collect()
        }
        ScalarType::Complex128 => [real(i), real(i + 3)].iter().flat_map(|part| part.to_le_bytes()).collect(),
        ScalarType::Bool8 => vec![u8::from(i.is_multiple_of(3))],
        ScalarType::Ascii(_) => padded(format!("a{i}").into_bytes()),
        ScalarType::Ucs4(_) => {
            let text = if i == 0 { "\u{1F600}".to_owned() } else { format!("\u{e9}{i}") };
            padded(text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect())
        }
        _ => integer(i, size as u32 * 8, signed).to_le_bytes()[..size].to_vec(),
    };
    (0..count).flat_map(element).collect()
}

pub(crate) fn array(scalar: ScalarType, order: ByteOrder) -> Result<NewArray> {
    NewArray::from_bytes(scalar, ByteOrder::Little, &SHAPE, elements(scalar, 24))?.in_order(order)
}

pub(crate) fn large_bytes() -> Vec<u8> {
    (0..300_000u32).map(|i| (i % 251) as u8).collect()
}

pub(crate) fn large_floats() -> Vec<f64> {
    (0..300_000u32).map(|i| f64::from(i / 7) * 0.5).collect()
}

pub(crate) type Viewed = (&'static str, Vec<u64>, u64, Vec<i64>, Vec<u16>);

/// Returns views of a 4 × 6 array of consecutive numbers: name, shape, offset, strides, elements.
pub(crate) fn views() -> Vec<Viewed> {
    vec![
        ("base", vec![4, 6], 0, vec![12, 2], (0..24).collect()),
        (
            "fortran",
            vec![6, 4],
            0,
            vec![2, 12],
            (0..6).flat_map(|i| (0..4).map(move |j| i + 6 * j)).collect(),
        ),
        ("reversed", vec![24], 46, vec![-2], (0..24).rev().collect()),
        ("tail", vec![2, 6], 24, vec![12, 2], (12..24).collect()),
        ("columns", vec![4, 3], 2, vec![12, 4], (0..4).flat_map(|i| [1, 3, 5].map(|j| 6 * i + j)).collect()),
    ]
}

pub(crate) fn structured(order: ByteOrder) -> Result<(Datatype, Vec<u8>, NewArray)> {
    let nested = Datatype::Struct(vec![
        Field::new("d", ScalarType::Ascii(3), ByteOrder::Big),
        Field::new("e", ScalarType::Float32, order),
    ]);
    let datatype = Datatype::Struct(vec![
        Field::new("a", ScalarType::UInt8, ByteOrder::Big),
        Field { shape: vec![2], ..Field::new("b", ScalarType::Int16, order) },
        Field::new("c", nested, ByteOrder::Big),
    ]);
    let mut little = Vec::new();
    for i in 0..5u8 {
        little.push(i);
        little.extend((i16::from(i) * 5).to_le_bytes());
        little.extend((-i16::from(i)).to_le_bytes());
        little.extend([b'x', b'0' + i, 0]);
        little.extend((f32::from(i) / 4.0).to_le_bytes());
    }
    let mut stored = little.clone();
    datatype.swap_to_little(order, &mut stored);
    let array = NewArray::from_bytes(datatype.clone(), ByteOrder::Big, &[5], stored)?;
    Ok((datatype, little, array))
}

/// Does the same as [`structured`], for fields without parts.
pub(crate) fn flat(order: ByteOrder) -> Result<(Vec<u8>, NewArray)> {
    let datatype = Datatype::Struct(vec![
        Field::new("a", ScalarType::UInt8, ByteOrder::Big),
        Field::new("b", ScalarType::Int16, order),
        Field::new("d", ScalarType::Ascii(3), ByteOrder::Big),
        Field::new("e", ScalarType::Float32, order),
    ]);
    let mut little = Vec::new();
    for i in 0..5u8 {
        little.push(i);
        little.extend((-i16::from(i)).to_le_bytes());
        little.extend([b'x', b'0' + i, 0]);
        little.extend((f32::from(i) / 4.0).to_le_bytes());
    }
    let mut stored = little.clone();
    datatype.swap_to_little(order, &mut stored);
    Ok((little, NewArray::from_bytes(datatype, ByteOrder::Big, &[5], stored)?))
}

pub(crate) fn scalars() -> serde_json::Value {
    serde_json::json!({
        "int": 42, "negative": -7, "large": 1i64 << 62, "float": 3.5, "tiny": 1e-300, "huge": 1e300, "true": true,
        "false": false, "null": null, "string": "foo", "empty": "", "number like": "1e5", "octal like": "0o17",
        "bool like": "yes", "y": "y", "date like": "2001-12-14", "spaces": " a ", "lines": "a\nb\n\nc\n",
        "quotes": "it's \"x\"", "unicode": "\u{e9}\u{4e2d}\u{1F600}", "control": "\0\u{7}\u{1b}\u{85}\u{2028}",
        "colon": "a: b", "hash": "a #b",
        "nested": {"list": [1, [2, [3, {"x": []}]], {}], "map": {"a": {"b": {"c": "d"}}}},
        "tilde": "~", "merge": "<<", "equals": "=", "dash": "-", "question": "? a", "star": "*a", "anchor": "&a",
        "tag": "!a",
    })
}

pub(crate) fn big() -> Integer {
    Integer::from_digits(true, "10000000000000000000000000000000000000000", 10).unwrap()
}
