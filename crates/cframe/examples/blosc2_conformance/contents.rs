//! The cases and their contents.

use cframe::{Codec, Filter, Split};

pub(crate) const CODECS: [(&str, Codec); 5] = [
    ("blosclz", Codec::BloscLz),
    ("lz4", Codec::Lz4),
    ("lz4hc", Codec::Lz4Hc),
    ("zlib", Codec::Zlib),
    ("zstd", Codec::Zstd),
];

pub(crate) const FILTERS: [(&str, &[Filter]); 6] = [
    ("none", &[]),
    ("shuffle", &[Filter::SHUFFLE]),
    ("bitshuffle", &[Filter::BITSHUFFLE]),
    ("delta", &[Filter::DELTA]),
    ("delta-shuffle", &[Filter::DELTA, Filter::SHUFFLE]),
    ("shuffle-bytedelta", &[Filter::SHUFFLE, Filter::BYTEDELTA]),
];

pub(crate) const TYPE_SIZES: [u32; 8] = [1, 2, 3, 4, 7, 8, 16, 255];

/// Returns whether a case is part of the matrix. The other side cannot open byte delta of wider types, because it takes the type
/// size for a signed byte.
pub(crate) fn in_matrix(filters: &str, typesize: u32) -> bool {
    filters != "shuffle-bytedelta" || typesize <= 127
}

pub(crate) const KINDS: [&str; 7] = ["smooth", "random", "constant", "zeros", "sparse", "ramp", "nan"];

pub(crate) const SPLITS: [(u32, Split); 4] =
    [(1, Split::Always), (2, Split::Never), (3, Split::Auto), (4, Split::ForwardCompatible)];

/// The shapes of an array, a chunk and a block.
pub(crate) type Shapes = (&'static [u64], &'static [u64], &'static [u64]);

pub(crate) const ARRAYS: [Shapes; 11] = [
    (&[], &[], &[]),
    (&[17], &[5], &[3]),
    (&[10, 11], &[4, 5], &[3, 2]),
    (&[40, 30], &[40, 30], &[40, 30]),
    (&[5, 6, 7], &[5, 4, 3], &[2, 4, 2]),
    (&[3, 4, 3, 4], &[2, 2, 2, 3], &[1, 2, 2, 2]),
    (&[2, 3, 2, 3, 2], &[2, 2, 1, 2, 2], &[1, 2, 1, 2, 1]),
    (&[2, 2, 2, 2, 2, 3], &[1, 2, 1, 2, 1, 2], &[1, 1, 1, 2, 1, 2]),
    (&[2, 2, 2, 2, 2, 2, 3], &[2, 2, 1, 2, 1, 2, 2], &[1, 2, 1, 1, 1, 2, 2]),
    (&[2, 2, 2, 2, 2, 2, 2, 3], &[1, 2, 1, 2, 1, 2, 2, 2], &[1, 1, 1, 2, 1, 1, 2, 2]),
    (&[4, 0, 3], &[4, 1, 3], &[2, 1, 3]),
];

pub(crate) const DTYPES: [&str; 22] = [
    "|b1",
    "|i1",
    "|u1",
    "<i2",
    "<u2",
    "<i4",
    "<u4",
    "<i8",
    "<u8",
    "<f2",
    "<f4",
    "<f8",
    "<c8",
    "<c16",
    ">i4",
    ">f8",
    "|S7",
    "<U3",
    "<M8[ns]",
    "|V5",
    "[('a', '<i4'), ('b', '<f8')]",
    "[('x', '|u1'), ('y', '<i2', (3,)), ('z', [('p', '<f4'), ('q', '|S2')])]",
];

/// Returns `len` bytes of a kind.
pub(crate) fn content(kind: &str, seed: u64, len: usize) -> Vec<u8> {
    let byte = |i: u64| match kind {
        "smooth" => i / 50 + seed,
        "random" => {
            let v = (i.wrapping_mul(2_654_435_761) + seed * 40_503) & 0xFFFF_FFFF;
            let v = v ^ (v >> 15);
            (v.wrapping_mul(2_246_822_519) & 0xFFFF_FFFF) >> 24
        }
        "constant" => 7 + seed,
        "sparse" if i % 16 < 3 => i / 16 + seed,
        "ramp" => (i / 8 + seed) >> (8 * (i % 8)),
        "nan" if i % 8 == 7 => 0x7f,
        "nan" if i % 8 == 6 => 0xf8,
        _ => 0,
    };
    (0..len as u64).map(|i| byte(i) as u8).collect()
}

pub(crate) fn chunk_size(typesize: u32) -> usize {
    (5000 / typesize * typesize) as usize
}

/// Returns the chunks of a file of the matrix: one of each kind, and a shorter one.
pub(crate) fn chunks(typesize: u32) -> Vec<Vec<u8>> {
    let whole = KINDS.iter().zip(0..).map(|(kind, seed)| content(kind, seed, chunk_size(typesize)));
    whole.chain([content("smooth", 9, 40 * typesize as usize)]).collect()
}

pub(crate) fn elements(dtype: &str, size: usize, count: u64) -> Vec<u8> {
    let mut data = content("ramp", 3, count as usize * size);
    match dtype {
        "|b1" => data.iter_mut().for_each(|byte| *byte &= 1),
        "<U3" => data.chunks_mut(4).for_each(|character| character[1..].fill(0)),
        _ => {}
    }
    data
}

pub(crate) fn vlmeta(count: usize) -> Vec<(String, Vec<u8>)> {
    (0..count).map(|i| (format!("name {i}"), content("sparse", i as u64, i * 97 + 1))).collect()
}

/// Returns words that recur, so that a dictionary is useful.
pub(crate) fn text(len: usize) -> Vec<u8> {
    let words = (0..len / 14).flat_map(|i| format!("record {} of many, ", i * i % 97).into_bytes());
    words.take(len).collect()
}

/// Returns the contents of the file "edited" of both sides.
pub(crate) fn edited() -> Vec<Vec<u8>> {
    let mut out: Vec<_> = (0..6).map(|i| content("random", i, 4000)).collect();
    out[2] = content("smooth", 50, 4000);
    out.insert(1, content("ramp", 51, 4000));
    out.remove(4);
    out
}

/// Returns bytes as one object of `MessagePack`.
pub(crate) fn packed(bytes: &[u8]) -> Vec<u8> {
    let head = match u8::try_from(bytes.len()) {
        Ok(len) => vec![0xc4, len],
        Err(_) => [&[0xc5], &(bytes.len() as u16).to_be_bytes()[..]].concat(),
    };
    [head, bytes.to_vec()].concat()
}

/// Returns objects as blocks of two.
pub(crate) fn packed_blocks(kind: &str, count: u64) -> Vec<u8> {
    let objects: Vec<_> = (0..count).map(|i| packed(&content(kind, i, 50 * i as usize + 1))).collect();
    objects.chunks(2).flat_map(|pair| [vec![0x90 + pair.len() as u8], pair.concat()].concat()).collect()
}

pub(crate) fn array_file(shape: &[u64]) -> String {
    let sides: Vec<_> = shape.iter().map(u64::to_string).collect();
    format!("arrays-{}d-{}.b2nd", shape.len(), sides.join("x"))
}

pub(crate) fn buffer(i: usize) -> (Vec<u8>, u32) {
    (content(["smooth", "random"][i % 2], i as u64, 10_000 + i), [1, 4, 8, 3][i % 4])
}

pub(crate) fn codec(name: &str) -> Codec {
    CODECS.iter().find(|(known, _)| *known == name).map_or(Codec::Lz4, |(_, codec)| *codec)
}
