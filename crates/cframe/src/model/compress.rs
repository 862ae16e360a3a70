//! Writing of chunks.

use sciformats_core::arith::{add, fit, mul, present};
use sciformats_core::storage::zeroed;
use sciformats_core::{Error, Limits, Result, bound};

use super::chunk::{Chunk, Context, PLAIN};
use super::job::{Job, State, repeated};
use super::params::Params;
use crate::spec::block_starts;
use crate::spec::chunk_header::{ChunkHeader, MAX_NBYTES, Special};
use crate::spec::pipeline::{Codec, Pipeline};

/// The number of bytes by which a chunk can be larger than its data.
pub const MAX_OVERHEAD: usize = 32;

/// Smaller data is stored uncompressed.
const MIN_NBYTES: usize = 32;

/// Compresses `data` into a chunk.
///
/// # Errors
/// `Usage` if the data is too large for a chunk, or if the parameters contradict each other; `Unsupported` if this build does not
/// have the codec or a filter.
pub(crate) fn compress(data: &[u8], params: &Params, context: &Context) -> Result<Vec<u8>> {
    compress_as(data, params, context, true)
}

/// Returns an ordinary chunk with the same content as a chunk that stores nothing but its kind.
///
/// # Errors
/// `LimitExceeded`; those of decoding.
pub(crate) fn ordinary(chunk: &[u8], limits: &Limits) -> Result<Vec<u8>> {
    let chunk = Chunk::new(chunk)?;
    limits.memory("bytes of the decoded chunk", chunk.nbytes() as u64)?;
    let data = chunk.decode()?;
    let params = Params::new(1).with_codec(Codec::BloscLz).with_pipeline(Pipeline::default());
    compress_as(&data, &params, &PLAIN, false)
}

fn compress_as(data: &[u8], params: &Params, context: &Context, kinds: bool) -> Result<Vec<u8>> {
    // The system does not provide memory until it is written.
    let mut out = zeroed(add(data.len(), MAX_OVERHEAD)?)?;
    let len = write(data, params, (context, kinds), &mut out)?;
    out.truncate(len);
    out.shrink_to_fit();
    Ok(out)
}

/// Does the same as [`compress`], but writes to the front of `out`. Returns the size of the chunk.
///
/// # Errors
/// Those of [`compress`]; `Usage` if `out` does not have [`MAX_OVERHEAD`] bytes more than `data`.
pub(crate) fn compress_into(
    data: &[u8],
    params: &Params,
    context: &Context,
    out: &mut [u8],
) -> Result<usize> {
    if out.len() < bound::sum(data.len(), MAX_OVERHEAD) {
        let problem = format!("has {} bytes, but needs {MAX_OVERHEAD} bytes more than the data", out.len());
        return Err(Error::usage("out", problem));
    }
    write(data, params, (context, true), out)
}

/// Bytes of a chunk that cannot be compressed, which one of several threads copies at once. One thread alone copies all of them at
/// once, past the caches.
const SHARE: usize = 2 << 20;

fn write(data: &[u8], params: &Params, (context, kinds): (&Context, bool), out: &mut [u8]) -> Result<usize> {
    let nbytes = u32::try_from(data.len()).ok().filter(|&n| n <= MAX_NBYTES);
    let nbytes = nbytes.ok_or_else(|| Error::usage("data", format!("has more than {MAX_NBYTES} bytes")))?;
    if params.typesize == 0 {
        return Err(Error::usage("type size", "is 0"));
    }
    let job = Job::new(data, params, context)?;
    let header = job.header(nbytes)?;
    let start = header.size() as usize;
    let (head, body) = out.split_at_mut(start.min(out.len()));
    if kinds && !params.blosc1 && repeated(data) == Some(0) {
        return finish(header.special_kind(Special::Zeros), head, 0);
    }
    if params.level > 0 && data.len() >= MIN_NBYTES {
        let dictionary = if params.dictionary { job.dictionary(context)? } else { None };
        // A body that is not smaller than the data is useless.
        let room = present(body.get_mut(..bound::left(data.len(), 1)), "room for a body")?;
        if let Some(len) = job.write_body(start, dictionary.as_deref(), room, context)? {
            let header = if dictionary.is_some() { header.with_dictionary() } else { header };
            return finish(header, head, len);
        }
    }
    let body = present(body.get_mut(..data.len()), "room for a body")?;
    let size = if context.threads.0 == 1 { data.len() } else { SHARE };
    context.threads.each_piece(
        (body, size),
        &mut (),
        || (),
        |_, index, piece| {
            let at = mul(index, size)?;
            piece.copy_from_slice(present(data.get(at..add(at, piece.len())?), "part of the data")?);
            Ok(())
        },
    )?;
    finish(header.raw(), head, data.len())
}

/// Writes the header before a body of `len` bytes. Returns the size of the chunk.
fn finish(mut header: ChunkHeader, head: &mut [u8], len: usize) -> Result<usize> {
    header.cbytes = add(header.size(), fit(len, "compressed size")?)?;
    let mut bytes = Vec::new();
    header.encode(&mut bytes);
    if head.len() != bytes.len() {
        return Err(Error::internal("a chunk header has another size"));
    }
    head.copy_from_slice(&bytes);
    add(head.len(), len)
}

/// Returns a chunk of blocks with the given contents, which may differ in length.
///
/// # Errors
/// Those of [`compress`].
pub(crate) fn compress_blocks(blocks: &[&[u8]], params: &Params, context: &Context) -> Result<Vec<u8>> {
    // The sum is a bound, which exceeds the size of any chunk.
    let total = blocks.iter().fold(0, |sum, block| bound::sum(sum, block.len() as u64));
    let nbytes = u32::try_from(total).ok().filter(|&n| n <= MAX_NBYTES && n > 0);
    let nbytes = nbytes.ok_or_else(|| {
        Error::usage("blocks", format!("have {total} bytes, but only 1 to {MAX_NBYTES} fit into a chunk"))
    })?;
    let count = u32::try_from(blocks.len()).map_err(|_| Error::usage("blocks", "are 2^32 or more"))?;
    let job = Job::new(&[], params, context)?;
    let header = ChunkHeader { blocksize: count, ..job.header(nbytes)? }.with_vl_blocks();
    let encoded =
        context.threads.collect(blocks.len(), bound::addressable(total), State::default, |state, i| {
            job.encode_alone(state, present(blocks.get(i).copied(), "block of a chunk")?)
        })?;
    let too_large = || Error::usage("blocks", "have more than 2^32 bytes as they are stored");
    let starts_size = count.checked_mul(4).ok_or_else(too_large)?;
    let mut at = header.size().checked_add(starts_size).ok_or_else(too_large)?;
    let mut starts = Vec::with_capacity(encoded.len());
    for block in &encoded {
        starts.push(at);
        let len = u32::try_from(block.len()).map_err(|_| too_large())?;
        at = at.checked_add(len).ok_or_else(too_large)?;
    }
    let mut body = Vec::new();
    block_starts::encode(&starts, &mut body);
    encoded.iter().for_each(|block| body.extend_from_slice(block));
    finished(header, body)
}

/// Returns a chunk of `nbytes` bytes that stores nothing but its kind, or the repeated `value`.
///
/// # Errors
/// `Usage` if `nbytes` is not a multiple of the repeated value, or if NaN is requested for elements that are not floats.
pub(crate) fn special(
    kind: Special,
    value: &[u8],
    (typesize, blocksize): (u32, u32),
    nbytes: u32,
) -> Result<Vec<u8>> {
    // Larger types are stored as bytes.
    let typesize_stored = u8::try_from(typesize).unwrap_or(1).max(1);
    let width = match kind {
        Special::Value => value.len(),
        Special::Nan if !matches!(typesize, 4 | 8) => {
            return Err(Error::usage(
                "type size",
                format!("is {typesize}, but elements of a chunk of NaN have 4 or 8 bytes"),
            ));
        }
        Special::Zeros => 1,
        Special::Nan | Special::Uninit => typesize as usize,
    };
    let fits = usize::try_from(nbytes).is_ok_and(|n| n.checked_rem(width) == Some(0)) && nbytes <= MAX_NBYTES;
    if !fits {
        return Err(Error::usage(
            "size of the chunk",
            format!("is {nbytes}, which is not a multiple of {width} bytes"),
        ));
    }
    // Blocks of an array have their size here too, because the C library uses it to read a part.
    let blocksize = if blocksize == 0 { nbytes } else { nbytes.min(blocksize) };
    // It fills each block with whole elements.
    let part = u32::try_from(width).ok().and_then(|width| blocksize.checked_rem(width)).unwrap_or(0); // a bound
    let blocksize = match blocksize.checked_sub(part) {
        Some(whole @ 1..) => whole,
        _ => nbytes,
    };
    let header = ChunkHeader::plain(typesize_stored, nbytes, blocksize.max(1)).special_kind(kind);
    let body = if kind == Special::Value { value.to_vec() } else { Vec::new() };
    finished(header, body)
}

/// Writes the header before the body.
fn finished(mut header: ChunkHeader, body: Vec<u8>) -> Result<Vec<u8>> {
    header.cbytes = add(header.size(), fit(body.len(), "compressed size")?)?;
    let mut out = Vec::with_capacity(header.cbytes as usize);
    header.encode(&mut out);
    out.extend(body);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::codec::zstd;
    use crate::spec::pipeline::Filter;

    fn data(kind: u8, len: usize) -> Vec<u8> {
        let mut state = 7u64;
        (0..len)
            .map(|i| match kind {
                0 => (i / 40) as u8,
                1 => {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 56) as u8
                }
                2 => 0,
                3 => 7,
                _ => {
                    if i % 16 < 3 {
                        (i / 16) as u8
                    } else {
                        0
                    }
                }
            })
            .collect()
    }

    #[track_caller]
    fn round_trip(data: &[u8], params: &Params) -> usize {
        let bytes = compress(data, params, &PLAIN).unwrap();
        let chunk = Chunk::new(&bytes).unwrap();
        assert_eq!(chunk.cbytes(), bytes.len());
        assert!(chunk.decode().unwrap() == data, "{params:?}");
        if data.len() > 10 {
            let (from, to) = (data.len() / 3, data.len() - 2);
            let mut part = vec![0xEE; to - from];
            chunk.read_into(from, &mut part).unwrap();
            assert!(part == data[from..to], "a part, {params:?}");
        }
        bytes.len()
    }

    #[test]
    fn no_chunk_of_blosc_1_has_bitshuffle_if_its_last_block_ends_within_an_element_after_whole_octets() {
        let params = Params::new(4).with_codec(Codec::Lz4).with_filters(&[Filter::BITSHUFFLE]).unwrap();
        let params = params.with_blocksize(128).with_blosc1();
        for (len, expected) in [
            (256, Filter::BITSHUFFLE),
            (256 + 32, Filter::BITSHUFFLE),
            (256 + 33, Filter::SHUFFLE),
            (256 + 3, Filter::SHUFFLE),
            (256 + 37, Filter::BITSHUFFLE),
            (98, Filter::SHUFFLE),
        ] {
            let data = data(0, len);
            let bytes = compress(&data, &params, &PLAIN).unwrap();
            let chunk = Chunk::new(&bytes).unwrap();
            assert!(chunk.pipeline().filters().eq([expected]), "{len}");
            assert!(chunk.decode().unwrap() == data, "{len}");
        }
    }

    #[test]
    fn codecs_filters_sizes_and_splits() {
        let codecs = [Codec::BloscLz, Codec::Lz4, Codec::Lz4Hc, Codec::Zlib, Codec::Zstd];
        let pipelines: [&[Filter]; 8] = [
            &[],
            &[Filter::SHUFFLE],
            &[Filter::BITSHUFFLE],
            &[Filter::DELTA],
            &[Filter::DELTA, Filter::SHUFFLE],
            &[Filter::SHUFFLE, Filter::BYTEDELTA],
            &[Filter::BITSHUFFLE, Filter::DELTA],
            &[Filter::new(1, 3)],
        ];
        for codec in codecs.into_iter().filter(|codec| *codec != Codec::Zstd || zstd::WRITES) {
            for filters in pipelines {
                for typesize in [1, 2, 3, 4, 7, 8, 16, 255, 300] {
                    for split in [Split::Always, Split::Auto] {
                        let params = Params::new(typesize)
                            .with_codec(codec)
                            .with_filters(filters)
                            .unwrap()
                            .with_split(split);
                        for (kind, len) in
                            [(0, 5000), (1, 1000), (4, 10_007), (2, 777), (3, 4096), (0, 31), (0, 0)]
                        {
                            round_trip(&data(kind, len), &params.with_blocksize(2048));
                        }
                    }
                }
            }
        }
    }

    use super::super::params::Split;

    #[test]
    fn all_zeros_are_a_header_and_noise_is_raw() {
        assert_eq!(round_trip(&data(2, 100_000), &Params::new(8)), 32);
        assert_eq!(round_trip(&data(1, 100_000), &Params::new(8)), 100_032);
        assert_eq!(round_trip(&data(0, 100), &Params::new(8).with_level(0)), 132);
        assert!(round_trip(&data(3, 100_000), &Params::new(8)) < 200);
    }

    #[test]
    fn truncation_and_delta_agree_about_the_first_block() {
        let floats: Vec<u8> = (0..4000).flat_map(|i| (i as f32).sin().to_le_bytes()).collect();
        let params =
            Params::new(4).with_filters(&[Filter::trunc_prec(10), Filter::DELTA, Filter::SHUFFLE]).unwrap();
        let bytes = compress(&floats, &params.with_blocksize(4096), &PLAIN).unwrap();
        let out = Chunk::new(&bytes).unwrap().decode().unwrap();
        for (a, b) in floats.chunks_exact(4).zip(out.chunks_exact(4)) {
            let (a, b) =
                (u32::from_le_bytes(a.try_into().unwrap()), u32::from_le_bytes(b.try_into().unwrap()));
            assert_eq!(a & !0x1fff, b);
        }
    }

    #[test]
    fn dictionaries_serve_parts_too() {
        let text: Vec<u8> =
            (0..20_000u32).flat_map(|i| format!("record {} of many, ", i % 97).into_bytes()).collect();
        for codec in
            [Codec::Lz4, Codec::Zstd].into_iter().filter(|codec| *codec != Codec::Zstd || zstd::WRITES)
        {
            let params = Params::new(1).with_codec(codec).with_filters(&[]).unwrap().with_blocksize(1024);
            let plain = round_trip(&text, &params);
            let with = round_trip(&text, &params.with_dictionary(true));
            let bytes = compress(&text, &params.with_dictionary(true), &PLAIN).unwrap();
            assert!(Chunk::new(&bytes).unwrap().has_dictionary());
            assert!(with < plain, "{codec:?}: {with} {plain}");
        }
    }

    #[test]
    fn chunks_of_blosc1() {
        for filters in [&[][..], &[Filter::SHUFFLE], &[Filter::BITSHUFFLE]] {
            for typesize in [1, 4, 8, 17] {
                let params = Params::new(typesize).with_filters(filters).unwrap().with_blosc1();
                for (kind, len) in [(0, 5000), (1, 1000), (4, 10_007), (2, 777), (0, 31), (0, 0)] {
                    round_trip(&data(kind, len), &params.with_blocksize(2048));
                    let bytes = compress(&data(kind, len), &params, &PLAIN).unwrap();
                    assert_eq!(bytes[0], 2);
                }
            }
        }
        let two = Params::new(4).with_filters(&[Filter::DELTA, Filter::SHUFFLE]).unwrap().with_blosc1();
        assert!(compress(&[0; 99], &two, &PLAIN).is_err());
    }

    #[test]
    fn blocks_of_variable_length() {
        let (a, b) = (data(0, 3000), data(1, 100));
        let blocks: [&[u8]; 4] = [&a, b"x", &b, &a[..50]];
        let params = Params::new(4).with_filters(&[Filter::DELTA, Filter::SHUFFLE]).unwrap();
        let bytes = compress_blocks(&blocks, &params, &PLAIN).unwrap();
        let chunk = Chunk::new(&bytes).unwrap();
        assert_eq!((chunk.blocks(), chunk.blocksize(), chunk.version()), (4, None, 6));
        assert_eq!(chunk.decode().unwrap(), blocks.concat());
        let mut part = vec![0; 60];
        chunk.read_into(2990, &mut part).unwrap();
        assert_eq!(part, blocks.concat()[2990..3050]);
    }

    #[test]
    fn blocks_of_special_chunks_have_whole_elements() {
        // The C library refuses others.
        for (typesize, blocksize, nbytes, stored) in
            [(3u32, 64, 300, 63), (255, 64, 510, 510), (3, 0, 300, 300), (4, 64, 400, 64)]
        {
            let value = vec![7; typesize as usize];
            let bytes = special(Special::Value, &value, (typesize, blocksize), nbytes).unwrap();
            assert_eq!(Chunk::new(&bytes).unwrap().blocksize(), Some(stored));
        }
    }

    #[test]
    fn special_chunks() {
        let value: Vec<u8> = (0..=255).chain(0..44).map(|i: u32| i as u8).collect();
        let bytes = special(Special::Value, &value, (300, 0), 900).unwrap();
        assert_eq!(Chunk::new(&bytes).unwrap().decode().unwrap(), value.repeat(3));
        let bytes = special(Special::Nan, &[], (8, 0), 32).unwrap();
        let mut part = [0; 9];
        Chunk::new(&bytes).unwrap().read_into(7, &mut part).unwrap();
        assert_eq!(part, [0x7f, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f]);
        assert!(
            special(Special::Nan, &[], (2, 0), 32).is_err()
                && special(Special::Value, &[1, 2], (2, 0), 3).is_err()
        );
        assert_eq!(
            Chunk::new(&special(Special::Uninit, &[], (4, 0), 8).unwrap()).unwrap().decode().unwrap(),
            [0; 8]
        );
    }

    proptest! {
        #[test]
        fn no_bytes_panic(mut bytes in proptest::collection::vec(any::<u8>(), 32..200), vl: bool) {
            bytes[0] = 5;
            bytes[2] |= 5;
            bytes[4..16].fill(0);
            (bytes[4], bytes[8], bytes[12]) = (200, bytes[17].max(8), bytes.len() as u8);
            bytes[16..22].copy_from_slice(&[0, 0, 0, 0, 3, 1]);
            bytes[22..32].fill(0);
            bytes[30] = u8::from(vl);
            if let Ok(chunk) = Chunk::new(&bytes) {
                let _ = chunk.decode();
            }
        }

        #[test]
        fn a_changed_byte_never_panics(position in 0usize..400, value: u8, codec in 0u8..6) {
            let params = Params::new(4).with_codec(Codec::from_id(codec)).with_blocksize(512);
            prop_assume!(codec != 3 && (codec != 5 || zstd::WRITES));
            let mut bytes = compress(&data(4, 3000), &params, &PLAIN).unwrap();
            let position = position % bytes.len();
            bytes[position] = value;
            if let Ok(chunk) = Chunk::new(&bytes) && chunk.nbytes() < 1 << 20 {
                let _ = chunk.decode();
            }
        }
    }
}
