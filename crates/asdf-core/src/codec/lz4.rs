//! The framing that the label `lz4` stands for: chunks one after another.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | size of the rest of the chunk, big-endian |
//! | 4 | 4 | size of the chunk's data, little-endian |
//! | 8 | rest | one LZ4 block |
//!
//! Writers cut the data into chunks of 4 MiB; chunks of any size can be read.

use nom::bytes::complete::take;
use nom::number::complete::{be_u32, le_u32};
use sciformats_core::arith::{fit, present};
use sciformats_core::fault::{FaultKind, Parsed};
use sciformats_core::{Fault, Result, bound};

use super::{DecodeError, Sink, fault};
use crate::parallel::{in_order, in_parallel};

const CHUNK: usize = 4 << 20;
/// The number of chunks that a thread encodes at a time.
const RUN: usize = 4;
/// The first bytes of an LZ4 frame. They cannot be the size of a chunk.
const FRAME: [u8; 4] = [0x04, 0x22, 0x4D, 0x18];

/// Returns whether the stored bytes are an LZ4 frame, which one writer stores under this label.
pub(super) fn is_frame(stored: &[u8]) -> bool {
    stored.starts_with(&FRAME)
}

/// Parses a chunk without its length.
fn chunk(i: &[u8]) -> Parsed<'_, &[u8]> {
    let (i, length) = be_u32(i)?;
    take(length)(i)
}

/// Parses the size of a chunk's data, which precedes its block.
fn data_size(i: &[u8]) -> Parsed<'_, u32> {
    le_u32(i)
}

pub(super) fn decode(mut stored: &[u8], mut out: &mut [u8], threads: usize) -> Result<(), DecodeError> {
    let mut jobs = Vec::new();
    while !out.is_empty() {
        let Ok((rest, chunk)) = chunk(stored) else { return fault("ends early") };
        let Ok((block, size)) = data_size(chunk) else {
            return fault("has a chunk that lacks the length of its data");
        };
        let Some((part, left)) = out.split_at_mut_checked(bound::addressable(size.into())) else {
            return fault("continues after its data");
        };
        jobs.push((block, part));
        (stored, out) = (rest, left);
    }
    // A chunk after the data would contain more data.
    if stored.iter().any(|&b| b != 0) {
        return fault("continues after its data");
    }
    let threads = if jobs.len() > 1 { threads } else { 1 };
    in_parallel(jobs, threads, |(block, part)| {
        let size = part.len();
        match lz4_flex::block::decompress_into(block, part) {
            Ok(written) if written == size => Ok(()),
            _ => {
                let kind = FaultKind::Rule(
                    "has a chunk whose LZ4 block is damaged or does not have the declared length",
                );
                Err(DecodeError::Fault(Fault::new("compressed stream", kind)))
            }
        }
    })
    .into_iter()
    .collect()
}

pub(super) fn encode(data: &[u8], threads: usize, sink: &mut Sink<'_>) -> Result<()> {
    let run = |run: &[u8]| {
        let mut out = Vec::new();
        // The chunks of a run share a buffer of the size that an incompressible chunk needs.
        let mut room = vec![0; lz4_flex::block::get_maximum_output_size(run.len().min(CHUNK))];
        for chunk in run.chunks(CHUNK) {
            let size = lz4_flex::block::compress_into(chunk, &mut room).ok();
            let block = present(size.and_then(|size| room.get(..size)), "room for an LZ4 block")?;
            out.extend_from_slice(&fit::<u32, _>(block.len() + 4, "length of an LZ4 block")?.to_be_bytes());
            out.extend_from_slice(&fit::<u32, _>(chunk.len(), "length of an LZ4 chunk")?.to_le_bytes());
            out.extend_from_slice(block);
        }
        Ok(out)
    };
    in_order(data.chunks(RUN * CHUNK).collect(), threads, run, |run: Result<Vec<u8>>| sink(run?.into()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, lengths in any::<[u8; 2]>(), len in 0usize..300) {
            let framed = [&[0, 0, 0, lengths[0], lengths[1], 0, 0, 0], &bytes[..]].concat();
            for stored in [&bytes, &framed] {
                let _ = decode(stored, &mut vec![0; len], 1);
            }
        }
    }

    #[test]
    fn chunks_of_any_size() {
        let stored = [
            &[0, 0, 0, 8][..], // length of the chunk
            &[3, 0, 0, 0],     // length of its data
            &[0x30, 1, 2, 3],  // an LZ4 block of three literals
            &[0, 0, 0, 6],     // length of the next
            &[1, 0, 0, 0],     // length of its data
            &[0x10, 4],        // one literal
        ]
        .concat();
        let mut out = [0; 4];
        decode(&stored, &mut out, 2).unwrap();
        assert_eq!(out, [1, 2, 3, 4]);
        assert!(decode(&stored, &mut [0; 3], 1).is_err());
        assert!(decode(&stored, &mut [0; 5], 1).is_err());
        assert!(decode(&stored[..stored.len() - 1], &mut [0; 4], 1).is_err());
    }

    fn encoded(data: &[u8], threads: usize) -> Vec<u8> {
        super::super::encode(super::super::Compression::Lz4, None, data, threads).unwrap()
    }

    #[test]
    fn large_data_has_several_chunks() {
        let data: Vec<u8> = (0..5 * CHUNK as u32 + 5).map(|i| (i >> 10) as u8).collect();
        let stored = encoded(&data, 2);
        assert_eq!(stored, encoded(&data, 1));
        let mut out = vec![0; data.len()];
        decode(&stored, &mut out, 2).unwrap();
        assert!(out == data);
    }
}
