//! What a chunk's header says about its body, and where the parts of the body are.

use std::ops::Range;

use sciformats_core::arith::{add, mul, sub};
use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Result, bound};

use super::{Body, Coding, Context, HEADER, VlPart, to_usize};
use crate::model::coder::Coder;
use crate::model::source::Source;
use crate::model::stages::Stages;
use crate::spec::block_starts;
use crate::spec::chunk_header::{
    ChunkHeader, MAX_BLOCKSIZE, Special, VERSION_BLOSC1, dictionary_size, vl_block_size,
};

const BLOCK_STARTS: &str = "block starts";

impl Body {
    pub(super) fn read(source: &Source<'_>, header: &ChunkHeader, context: &Context) -> Result<Self> {
        let at = |offset: u64| bound::sum(source.base(), offset);
        if let Some(special) = header.special() {
            return Ok(Self::Special { value: special_value(source, header, special)? });
        }
        if header.nbytes == 0 {
            return Ok(Self::Raw);
        }
        if header.is_raw() {
            let expected = add(u64::from(header.nbytes), header.size().into())?;
            if u64::from(header.cbytes) != expected {
                let kind = FaultKind::Mismatch { expected, found: header.cbytes.into() };
                return Err(Fault::new("cbytes", kind).at(HEADER, at(12)));
            }
            return Ok(Self::Raw);
        }
        let blocksize = header.blocksize.min(header.nbytes);
        if header.blocksize == 0 || blocksize > MAX_BLOCKSIZE {
            let kind = FaultKind::OutOfBounds { found: header.blocksize.into(), end: MAX_BLOCKSIZE.into() };
            return Err(Fault::new("blocksize", kind).at(HEADER, at(8)));
        }
        let vl = header.has_vl_blocks();
        let count = if vl { header.blocksize } else { header.nbytes.div_ceil(blocksize.max(1)) };
        let starts = read_starts(source, header, count)?;
        let split = !vl && header.is_split(blocksize);
        if split && !blocksize.is_multiple_of(header.typesize.into()) {
            let kind = FaultKind::Rule("is not a multiple of the type size, by which blocks are split");
            return Err(Fault::new("blocksize", kind).at(HEADER, at(8)));
        }
        let behind = add(u64::from(header.size()), mul(u64::from(count), 4)?)?;
        let dictionary = if header.has_dictionary() { Some(read_dictionary(source, behind)?) } else { None };
        let size = usize::from(header.typesize);
        let blosc1 = header.version <= VERSION_BLOSC1;
        let coding = Coding {
            coder: Coder::reading(header.codec(), header.codec_meta(), size, context)?,
            stages: Stages::new(&header.pipeline(), size, blosc1, context)?,
            dictionary,
            split,
        };
        if vl {
            return Ok(Self::VlBlocks { parts: vl_parts(source, header, &starts)?, coding });
        }
        let ends = block_starts::ends(&starts, header.cbytes);
        let parts = starts.into_iter().zip(ends).map(|(start, end)| start..end).collect();
        Ok(Self::Blocks { parts, coding })
    }
}

fn read_starts(source: &Source<'_>, header: &ChunkHeader, count: u32) -> Result<Vec<u32>> {
    let at = bound::sum(source.base(), header.size().into());
    let room = bound::left(header.cbytes, header.size()) / 4;
    if count > room {
        let kind = FaultKind::OutOfBounds { found: count.into(), end: bound::sum(u64::from(room), 1) };
        return Err(Fault::new("number of blocks", kind).at(BLOCK_STARTS, at));
    }
    let len = mul(u64::from(count), 4)?;
    let bytes = source.read(header.size().into(), len)?;
    let first = add(header.size(), mul(count, 4)?)?;
    locate(BLOCK_STARTS, at, &bytes, |i| block_starts::parse(i, first, header.cbytes))
}

fn read_dictionary(source: &Source<'_>, at: u64) -> Result<Range<u32>> {
    let base = bound::sum(source.base(), at);
    let head = source.read(at, bound::left(source.len(), at).min(4))?;
    let size = locate("dictionary", base, &head, dictionary_size)?;
    let range = || {
        let start = u32::try_from(at).ok()?.checked_add(4)?;
        let end = start.checked_add(size)?;
        (u64::from(end) <= source.len()).then_some(start..end)
    };
    range().ok_or_else(|| {
        let kind = FaultKind::OutOfBounds { found: size.into(), end: bound::left(source.len(), at) };
        Fault::new("size of the dictionary", kind).at("dictionary", base)
    })
}

fn vl_parts(source: &Source<'_>, header: &ChunkHeader, starts: &[u32]) -> Result<Vec<VlPart>> {
    let mut parts = Vec::with_capacity(starts.len());
    let mut total = 0u32;
    let ends = starts.iter().skip(1).copied().chain([header.cbytes]);
    for (&start, end) in starts.iter().zip(ends) {
        let at = bound::sum(source.base(), start.into());
        if start >= end {
            return Err(Fault::new("block start", FaultKind::Order).at(BLOCK_STARTS, at));
        }
        let head = source.read(start.into(), u64::from(sub(end, start)?.min(4)))?;
        let len = locate("block", at, &head, vl_block_size)?;
        let next = total
            .checked_add(len)
            .ok_or_else(|| Fault::new("size of a block", FaultKind::Overflow).at("block", at))?;
        parts.push(VlPart { stored: add(start, 4)?..end, decoded: total..next });
        total = next;
    }
    if total != header.nbytes {
        let kind = FaultKind::Mismatch { expected: total.into(), found: header.nbytes.into() };
        return Err(Fault::new("nbytes", kind).at(HEADER, bound::sum(source.base(), 4)));
    }
    Ok(parts)
}

/// Returns the bytes that a special chunk repeats.
fn special_value(source: &Source<'_>, header: &ChunkHeader, special: Special) -> Result<Vec<u8>> {
    let fault = |name, kind, offset| Fault::new(name, kind).at(HEADER, bound::sum(source.base(), offset));
    let value = match special {
        Special::Zeros | Special::Uninit => return Ok(vec![0]),
        Special::Nan => match header.typesize {
            4 => f32::NAN.to_le_bytes().to_vec(),
            8 => f64::NAN.to_le_bytes().to_vec(),
            other => return Err(fault("typesize of NaN", FaultKind::Undefined { found: other.into() }, 3)),
        },
        Special::Value => {
            let len = bound::left(header.cbytes, header.size());
            if len == 0 {
                return Err(fault("cbytes", FaultKind::Rule("leaves no space for the repeated value"), 12));
            }
            source.read(header.size().into(), len.into())?.into_owned()
        }
    };
    if !to_usize(header.nbytes).is_multiple_of(value.len()) {
        return Err(fault("nbytes", FaultKind::Rule("is not a multiple of the repeated value"), 4));
    }
    Ok(value)
}
