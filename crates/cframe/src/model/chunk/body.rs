//! What a chunk's header says about its body, and where the body's parts are.

use std::ops::Range;

use sciformats_core::Result;
use sciformats_core::fault::{Fault, FaultKind, locate};

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
        let at = |offset: u64| source.base().saturating_add(offset);
        if let Some(special) = header.special() {
            return Ok(Self::Special { value: special_value(source, header, special)? });
        }
        if header.nbytes == 0 {
            return Ok(Self::Raw);
        }
        if header.is_raw() {
            let expected = header.nbytes.saturating_add(header.size());
            if header.cbytes != expected {
                let kind = FaultKind::Mismatch { expected: expected.into(), found: header.cbytes.into() };
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
            let kind = FaultKind::Rule("is no multiple of the type size, by which blocks are split");
            return Err(Fault::new("blocksize", kind).at(HEADER, at(8)));
        }
        let behind = u64::from(header.size()).saturating_add(u64::from(count).saturating_mul(4));
        let dictionary = if header.has_dictionary() { Some(read_dictionary(source, behind)?) } else { None };
        let size = usize::from(header.typesize);
        let blosc1 = header.version <= VERSION_BLOSC1;
        let coding = Coding {
            coder: Coder::reading(header.codec(), header.codec_meta(), &context.registry)?,
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
    let at = source.base().saturating_add(header.size().into());
    let room = header.cbytes.saturating_sub(header.size()) / 4;
    if count > room {
        let kind = FaultKind::OutOfBounds { found: count.into(), end: u64::from(room).saturating_add(1) };
        return Err(Fault::new("number of blocks", kind).at(BLOCK_STARTS, at));
    }
    let len = u64::from(count).saturating_mul(4);
    let bytes = source.read(header.size().into(), len)?;
    let first = header.size().saturating_add(count.saturating_mul(4));
    locate(BLOCK_STARTS, at, &bytes, |i| block_starts::parse(i, first, header.cbytes))
}

fn read_dictionary(source: &Source<'_>, at: u64) -> Result<Range<u32>> {
    let base = source.base().saturating_add(at);
    let head = source.read(at, source.len().saturating_sub(at).min(4))?;
    let size = locate("dictionary", base, &head, dictionary_size)?;
    let range = || {
        let start = u32::try_from(at).ok()?.checked_add(4)?;
        let end = start.checked_add(size)?;
        (u64::from(end) <= source.len()).then_some(start..end)
    };
    range().ok_or_else(|| {
        let kind = FaultKind::OutOfBounds { found: size.into(), end: source.len().saturating_sub(at) };
        Fault::new("size of the dictionary", kind).at("dictionary", base)
    })
}

fn vl_parts(source: &Source<'_>, header: &ChunkHeader, starts: &[u32]) -> Result<Vec<VlPart>> {
    let mut parts = Vec::with_capacity(starts.len());
    let mut total = 0u32;
    let ends = starts.iter().skip(1).copied().chain([header.cbytes]);
    for (&start, end) in starts.iter().zip(ends) {
        let at = source.base().saturating_add(start.into());
        if start >= end {
            return Err(Fault::new("block start", FaultKind::Order).at(BLOCK_STARTS, at));
        }
        let head = source.read(start.into(), u64::from(end.saturating_sub(start).min(4)))?;
        let len = locate("block", at, &head, vl_block_size)?;
        let decoded = total..total.saturating_add(len);
        total = decoded.end;
        parts.push(VlPart { stored: start.saturating_add(4)..end, decoded });
    }
    if total != header.nbytes {
        let kind = FaultKind::Mismatch { expected: total.into(), found: header.nbytes.into() };
        return Err(Fault::new("nbytes", kind).at(HEADER, source.base().saturating_add(4)));
    }
    Ok(parts)
}

/// The bytes that a special chunk repeats.
fn special_value(source: &Source<'_>, header: &ChunkHeader, special: Special) -> Result<Vec<u8>> {
    let fault = |name, kind, offset| Fault::new(name, kind).at(HEADER, source.base().saturating_add(offset));
    let value = match special {
        Special::Zeros | Special::Uninit => return Ok(vec![0]),
        Special::Nan => match header.typesize {
            4 => f32::NAN.to_le_bytes().to_vec(),
            8 => f64::NAN.to_le_bytes().to_vec(),
            other => return Err(fault("typesize of NaN", FaultKind::Undefined { found: other.into() }, 3)),
        },
        Special::Value => {
            let len = header.cbytes.saturating_sub(header.size());
            if len == 0 {
                return Err(fault("cbytes", FaultKind::Rule("has no room for the repeated value"), 12));
            }
            source.read(header.size().into(), len.into())?.into_owned()
        }
    };
    if !to_usize(header.nbytes).is_multiple_of(value.len()) {
        return Err(fault("nbytes", FaultKind::Rule("is no multiple of the repeated value"), 4));
    }
    Ok(value)
}
