//! Arrays whose codec or filter depends on the dimensions: ndlz, ndcell, ndmean.

use std::path::Path;

use cframe::{Array, ArrayParams, Codec, Filter, Params, Result, Slab};

use crate::{checked, compare};

const SHAPE: [u64; 2] = [60, 44];

/// Name, element type, its size, codec and its parameter, filter.
type Case = (&'static str, &'static str, u32, (Codec, u8), Option<Filter>);

const CASES: [Case; 5] = [
    ("ndlz-4", "|u1", 1, (Codec::NdLz, 4), None),
    ("ndlz-8", "|u1", 1, (Codec::NdLz, 8), None),
    ("ndcell", "<i4", 4, (Codec::Zlib, 0), Some(Filter::new(32, 3))),
    ("ndmean-4", "<f4", 4, (Codec::Lz4, 0), Some(Filter::new(33, 4))),
    ("ndmean-8", "<f8", 8, (Codec::Lz4, 0), Some(Filter::new(33, 4))),
];

/// Returns squares of four by four equal elements, so that their means lose nothing.
fn elements(dtype: &str) -> Vec<u8> {
    let number = |i: u64| i / 44 / 4 * 3 + i % 44 / 4;
    let numbers = (0..60 * 44).map(number);
    match dtype {
        "<f4" => numbers.flat_map(|n| (n as f32).to_le_bytes()).collect(),
        "<f8" => numbers.flat_map(|n| (n as f64).to_le_bytes()).collect(),
        "<i4" => numbers.flat_map(|n| (n as u32).to_le_bytes()).collect(),
        _ => numbers.map(|n| n as u8).collect(),
    }
}

pub(crate) fn write(folder: &Path) -> Result<()> {
    for (name, dtype, size, (codec, meta), filter) in CASES {
        let params =
            Params::new(size).with_codec(codec).with_codec_meta(meta).with_filters(filter.as_slice())?;
        let params = ArrayParams::new(&SHAPE, dtype)?
            .with_params(params)
            .with_chunks(&[32, 24])
            .with_blocks(&[16, 12]);
        let mut array = Array::create(folder.join(format!("cells-{name}.b2nd")), &params)?;
        array.write_slab_bytes(&Slab::all(&SHAPE)?, &elements(dtype))?;
        array.commit()?;
    }
    Ok(())
}

pub(crate) fn check(folder: &Path) {
    for (name, dtype, ..) in CASES {
        checked(&format!("cells: {name}"), || {
            let array = Array::open(folder.join(format!("cells-{name}.b2nd")))?;
            Ok(compare(&array.read_bytes()?, &elements(dtype)))
        });
    }
}
