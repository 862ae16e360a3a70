//! Samples of the elements of a dataset, and what filters make of them.

use std::ops::ControlFlow;
use std::time::Instant;

use hdf5_pure::filters::Filters;
use hdf5_pure::structure::{Class, Layout};
use hdf5_pure::{CreateOptions, Dataset, Writer};
use sciformats_core::{Range, Slab, bound};

use super::{Candidate, Options, Profile};
use crate::repack::Rounder;
use crate::sink::{WriteOptions, hdf5_filters};
use sciformats::{Error, Result};

/// The largest number of bytes of the samples of a dataset.
const MOST: u64 = 32 << 20;
/// The largest number of stored chunks that one sample touches.
const TOUCHED: u64 = 512;

/// What the samples of a dataset tell.
#[derive(Debug, Default)]
pub(super) struct Sampled {
    /// The candidates in the order in which they were tried; the first is what the dataset has, if it has filters.
    pub(super) candidates: Vec<Candidate>,
    /// The number of samples, and of those whose elements are all equal.
    pub(super) count: u64,
    pub(super) constant: u64,
    /// Whether all numbers of 64 bits in the samples fit into 32 without a change.
    pub(super) narrow: bool,
    /// What rounding by information would do, if it changes numbers.
    pub(super) rounded: Option<Rounded>,
}

/// What rounding to the bits that hold the information of neighbours would do.
#[derive(Debug)]
pub(super) struct Rounded {
    /// The bits of the significand that are kept.
    pub(super) bits: u8,
    /// The best filter for the elements as they are, applied to the rounded ones.
    pub(super) candidate: Candidate,
}

/// The share of the information that is kept.
pub(super) const SHARE: f64 = 0.99;

/// The filters that are tried: their names, levels, and whether the HDF5 library has them without a plug-in.
const CANDIDATES: [(&str, Option<u32>, bool); 6] = [
    ("none", None, true),
    ("zlib", Some(4), true),
    ("zstd", Some(3), false),
    ("bitshuffle", Some(3), false),
    ("lz4", None, false),
    ("lzf", None, false),
];

/// Cuts a box to a part that touches at most [`TOUCHED`] chunks, along its slowest dimensions.
pub(super) fn part(sides: &[u64], chunk: &[u64]) -> Vec<u64> {
    let count = |(side, chunk): (&u64, &u64)| side.div_ceil((*chunk).max(1));
    let mut touched = sides.iter().zip(chunk).map(count).fold(1, bound::product);
    let mut part = sides.to_vec();
    for (side, chunk) in part.iter_mut().zip(chunk) {
        let own = count((side, chunk)).max(1);
        let kept = (own / touched.div_ceil(TOUCHED).max(1)).max(1);
        *side = (*side).min(bound::product(kept, *chunk));
        touched = bound::product(touched / own, kept);
    }
    part
}

/// Takes samples of a dataset in boxes of these sides, and encodes them.
///
/// # Errors
/// Those of reading the elements.
pub(super) fn sample(dataset: &Dataset, sides: &[u64], options: &Options) -> Result<Sampled> {
    let mut sampled = Sampled { narrow: true, ..Sampled::default() };
    let (shape, size) = (dataset.shape().to_vec(), u64::from(dataset.datatype().size));
    let each = super::shape::bytes(sides, size);
    let most = (MOST / each.max(1)).clamp(1, options.samples as u64);
    let boxes = places(dataset, sides, most)?;
    let mut samples = Vec::new();
    let mut decode = 0.0;
    for slab in &boxes {
        let start = Instant::now();
        let bytes = dataset.read_raw(slab)?;
        decode += start.elapsed().as_secs_f64();
        sampled.count += 1;
        let width = usize::try_from(size).unwrap_or(1).max(1);
        sampled.constant += u64::from(bytes.chunks_exact(width).all(|element| bytes.starts_with(element)));
        sampled.narrow &= is_narrow(dataset, &bytes);
        samples.push((slab.shape(), bytes));
    }
    let raw: u64 = samples.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    if raw == 0 {
        return Ok(sampled);
    }
    if let Layout::Chunked(chunked) = dataset.layout()? {
        // What the dataset has is known from its chunks.
        let (mut stored, mut count) = (0u64, 0u64);
        dataset.for_each_chunk(&Slab::all(&shape)?, &mut |chunk| {
            stored = bound::sum(stored, chunk.size);
            count += 1;
            Ok(ControlFlow::Continue(()))
        })?;
        let whole = bound::product(count, super::shape::bytes(&chunked.dimensions, size)).max(1);
        sampled.candidates.push(Candidate {
            filter: "as stored".into(),
            level: None,
            ratio: stored as f64 / whole as f64,
            encode: 0.0,
            decode: raw as f64 / decode.max(1e-9),
        });
    }
    for (name, level, builtin) in CANDIDATES {
        let fits =
            builtin || options.plugins && !matches!(options.profile, Profile::Cmip7 | Profile::Archive);
        if !fits {
            continue;
        }
        match tried(dataset, (name, level), &samples) {
            Ok(candidate) => sampled.candidates.push(candidate),
            // A codec that is not built in.
            Err(Error::Unsupported { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let filter = best(&sampled.candidates, options.profile).map(|best| (best.filter.clone(), best.level));
    if let Some((filter, level)) = filter {
        sampled.rounded = rounded(dataset, (&filter, level), samples)?;
    }
    Ok(sampled)
}

/// Rounds the samples to the bits that hold the information of neighbours, and encodes them. `None` if nothing is to be rounded.
fn rounded(
    dataset: &Dataset,
    filter: (&str, Option<u32>),
    mut samples: Vec<(Vec<u64>, Vec<u8>)>,
) -> Result<Option<Rounded>> {
    let Some(rounder) = Rounder::of_numbers(dataset)? else { return Ok(None) };
    let Some(mut information) = rounder.information(dataset.shape().len()) else { return Ok(None) };
    for (shape, bytes) in &samples {
        rounder.add(&mut bytes.clone(), shape, &mut information);
    }
    let Some(bits) = rounder.bits(&information, SHARE) else { return Ok(None) };
    let rounder = rounder.with_bits(bits);
    let mut changed = false;
    for (_, bytes) in &mut samples {
        let before = bytes.clone();
        rounder.round(bytes);
        changed |= before != *bytes;
    }
    if !changed {
        return Ok(None);
    }
    Ok(Some(Rounded { bits, candidate: tried(dataset, filter, &samples)? }))
}

/// Returns boxes that are spread over the stored part of a dataset.
fn places(dataset: &Dataset, sides: &[u64], most: u64) -> Result<Vec<Slab>> {
    let shape = dataset.shape();
    let boxed = |start: &[u64]| {
        let ranges = start.iter().zip(sides).zip(shape).map(|((at, side), n)| {
            let side = (*side).clamp(1, (*n).max(1));
            // A whole box, even at the end, if there is one.
            let start = (at / side).checked_mul(side).unwrap_or(0).min(bound::left(*n, side) / side * side); // a bound
            Range::new(start, side.min(bound::left(*n, start)))
        });
        Slab::new(shape, ranges.collect::<Vec<_>>())
    };
    let mut found: Vec<Slab> = Vec::new();
    if let Layout::Chunked(chunked) = dataset.layout()? {
        let mut count = 0u64;
        dataset.for_each_chunk(&Slab::all(shape)?, &mut |_| {
            count += 1;
            Ok(ControlFlow::Continue(()))
        })?;
        let step = (count / most).max(1);
        let mut number = 0u64;
        dataset.for_each_chunk(&Slab::all(shape)?, &mut |chunk| {
            if number % step == step / 2 {
                let start: Vec<u64> = chunk
                    .scaled
                    .iter()
                    .zip(&chunked.dimensions)
                    .map(|(at, side)| bound::product(*at, *side))
                    .collect();
                let slab = boxed(&start)?;
                if !found.contains(&slab) {
                    found.push(slab);
                }
            }
            number += 1;
            Ok(if found.len() as u64 >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        return Ok(found);
    }
    // Spread along a line through the array, in all dimensions at once.
    for number in 0..most {
        let start: Vec<u64> = shape.iter().map(|n| bound::product(*n, 2 * number + 1) / (2 * most)).collect();
        let slab = boxed(&start)?;
        if !found.contains(&slab) {
            found.push(slab);
        }
    }
    Ok(found)
}

/// Encodes the samples with a filter.
fn tried(
    dataset: &Dataset,
    (name, level): (&str, Option<u32>),
    samples: &[(Vec<u64>, Vec<u8>)],
) -> Result<Candidate> {
    let filters = match filters(name, level)? {
        Some(filters) => filters,
        None => {
            let rate = f64::INFINITY;
            return Ok(Candidate { filter: name.into(), level, ratio: 1.0, encode: rate, decode: rate });
        }
    };
    let (mut raw, mut stored, mut encoding, mut decoding) = (0u64, 0u64, 0.0, 0.0);
    for (shape, bytes) in samples {
        let options = CreateOptions::default().with_registry(sciformats::filters::hdf5()).with_threads(1);
        let mut writer = Writer::in_memory(&options)?;
        let builder = writer.dataset("sample").datatype(dataset.datatype().clone()).shape(shape.clone());
        let start = Instant::now();
        let mut made = builder.chunks(shape.clone()).filters(filters.clone()).create_encoded()?;
        made.write_encoded(&Slab::all(shape)?, |to| {
            to.bytes(bytes);
            Ok(())
        })?;
        let file = writer.into_bytes()?;
        encoding += start.elapsed().as_secs_f64();
        let reading =
            hdf5_pure::OpenOptions::default().with_registry(sciformats::filters::hdf5()).with_threads(1);
        let file = hdf5_pure::File::from_storage(file, &reading)?;
        let sample = file.dataset("sample")?;
        for chunk in sample.chunks()? {
            let chunk = chunk?;
            let start = Instant::now();
            let _ = sample.chunk_decoded(&chunk)?;
            decoding += start.elapsed().as_secs_f64();
            stored = bound::sum(stored, chunk.size);
        }
        raw = bound::sum(raw, bytes.len() as u64);
    }
    let rate = |seconds: f64| raw as f64 / seconds.max(1e-9);
    let ratio = stored as f64 / raw.max(1) as f64;
    Ok(Candidate { filter: name.into(), level, ratio, encode: rate(encoding), decode: rate(decoding) })
}

/// Returns the filters that `repack --filter` writes.
fn filters(name: &str, level: Option<u32>) -> Result<Option<Filters>> {
    let options = WriteOptions { filter: Some(name.into()), level, ..WriteOptions::default() };
    hdf5_filters(&options)
}

/// Returns whether elements are numbers of 64 bits, all of which fit into 32.
fn is_narrow(dataset: &Dataset, bytes: &[u8]) -> bool {
    let words = || bytes.chunks_exact(8).filter_map(|word| word.first_chunk::<8>());
    match &dataset.datatype().class {
        Class::FloatingPoint(float) if dataset.datatype().size == 8 => {
            let big = matches!(float.order, hdf5_pure::structure::FloatOrder::Big);
            words().all(|word| {
                let x = if big { f64::from_be_bytes(*word) } else { f64::from_le_bytes(*word) };
                // The cast rounds, which is what is looked for.
                f64::from(x as f32).to_bits() == x.to_bits() || x.is_nan()
            })
        }
        Class::FixedPoint(fixed) if dataset.datatype().size == 8 => {
            let big = matches!(fixed.order, hdf5_pure::structure::ByteOrder::Big);
            words().all(|word| {
                let n = if big { i64::from_be_bytes(*word) } else { i64::from_le_bytes(*word) };
                if fixed.signed { i32::try_from(n).is_ok() } else { u32::try_from(n.cast_unsigned()).is_ok() }
            })
        }
        _ => false,
    }
}

/// Returns the best candidate for a profile: the smallest one, unless one that is hardly larger is much faster or needs no plug-in.
pub(super) fn best(candidates: &[Candidate], profile: Profile) -> Option<&Candidate> {
    let tried = || candidates.iter().filter(|candidate| candidate.filter != "as stored");
    let smallest = tried().map(|candidate| candidate.ratio).min_by(f64::total_cmp)?;
    // On a disk, decoding counts more than size.
    let share = if profile == Profile::Local { 1.15 } else { 1.05 };
    let good = tried().filter(|candidate| candidate.ratio <= smallest * share);
    let builtin = |candidate: &Candidate| matches!(&*candidate.filter, "none" | "zlib");
    good.max_by(|a, b| match profile {
        Profile::Local => a.decode.total_cmp(&b.decode),
        _ => builtin(a).cmp(&builtin(b)).then(b.ratio.total_cmp(&a.ratio)),
    })
}
