//! Blosc2: chunks of a frame, bytes, threads.

use std::path::{Path, PathBuf};

use cframe::{Codec, Frame, OpenOptions, Params, SChunk};
use harness::Growth::{Linear, Little};
use harness::{Outcome, Series};

use crate::{BYTES, MOST, expect, numbers, once};

const CHUNKS: (u64, &str) = (MOST, "chunks");
const BYTES_OF_CHUNK: usize = 256;

pub(crate) fn series() -> impl Iterator<Item = Series> {
    chunks().into_iter().chain(bytes_and_threads())
}

fn chunks() -> Vec<Series> {
    vec![
        Series::new("append chunks", CHUNKS, Linear, |folder, n, watch| {
            watch.time(|| write_chunks(&folder.join("written.b2frame"), n))
        }),
        Series::new("read all chunks", CHUNKS, Linear, |folder, n, watch| {
            let mut out = [0; BYTES_OF_CHUNK];
            watch.time(|| {
                let frame = Frame::open(chunked(folder, n))?;
                (0..n).try_for_each(|i| {
                    frame.chunk(i)?.decode_into(&mut out)?;
                    expect(out[..4] == (i as u32).to_le_bytes())
                })
            })
        })
        .prepare(prepare_chunks),
        Series::new("open, read one chunk", CHUNKS, Little, |folder, n, watch| {
            let mut out = [0; BYTES_OF_CHUNK];
            watch.time(|| Frame::open(chunked(folder, n))?.chunk(n / 2)?.decode_into(&mut out))?;
            expect(out[..4] == (n as u32 / 2).to_le_bytes())
        })
        .prepare(prepare_chunks),
        // The offsets of all chunks are written again: they are one compressed chunk themselves.
        Series::new("replace one chunk in place", CHUNKS, Linear, |folder, n, watch| {
            let path = folder.join("changed.b2frame");
            std::fs::copy(chunked(folder, n), &path)?;
            watch.time(|| {
                let mut schunk = SChunk::open(&path)?;
                schunk.update(n / 2, &chunk(7))?;
                Ok(schunk.commit()?)
            })
        })
        .prepare(prepare_chunks),
    ]
}

fn bytes_and_threads() -> Vec<Series> {
    vec![
        Series::new("compress bytes", BYTES, Linear, |_, n, watch| {
            let data = bytes(n);
            watch.time(|| cframe::compress(&data, &params())).map(drop).map_err(Into::into)
        }),
        Series::new("decompress bytes", BYTES, Linear, |folder, n, watch| {
            let chunk = std::fs::read(compressed(folder, n))?;
            expect(watch.time(|| cframe::decompress(&chunk))?.len() as u64 == n / 4 * 4)
        })
        .prepare(|folder, n| {
            once(compressed(folder, n), |path| {
                Ok(std::fs::write(path, cframe::compress(&bytes(n), &params())?)?)
            })
        }),
        Series::threads("compress 64 MiB", |_, threads, watch| {
            let data = bytes(1 << 26);
            let (params, options) = (params().with_codec(Codec::Zstd), options(threads));
            watch.time(|| cframe::compress_with(&data, &params, &options)).map(drop).map_err(Into::into)
        }),
        Series::threads("decompress 64 MiB", |folder, threads, watch| {
            let chunk = std::fs::read(folder.join("zstd"))?;
            expect(watch.time(|| cframe::decompress_with(&chunk, &options(threads)))?.len() == 1 << 26)
        })
        .prepare(|folder, _| {
            once(folder.join("zstd"), |path| {
                Ok(std::fs::write(
                    path,
                    cframe::compress(&bytes(1 << 26), &params().with_codec(Codec::Zstd))?,
                )?)
            })
        }),
    ]
}

/// One thread, or the pool, which has as many as the machine; between these there is nothing to choose here.
fn options(threads: u64) -> OpenOptions {
    OpenOptions::default().with_threads(threads as usize)
}

fn params() -> Params {
    Params::new(4).with_codec(Codec::Lz4)
}

fn bytes(n: u64) -> Vec<u8> {
    numbers(n / 4).into_iter().flat_map(f32::to_le_bytes).collect()
}

fn chunked(folder: &Path, n: u64) -> PathBuf {
    folder.join(format!("chunks-{n}.b2frame"))
}

fn compressed(folder: &Path, n: u64) -> PathBuf {
    folder.join(format!("bytes-{n}"))
}

fn prepare_chunks(folder: &Path, n: u64) -> Outcome {
    once(chunked(folder, n), |path| write_chunks(path, n))
}

fn chunk(i: u32) -> Vec<u8> {
    (0..BYTES_OF_CHUNK as u32 / 4).flat_map(|k| i.wrapping_mul(k + 1).to_le_bytes()).collect()
}

fn write_chunks(path: &Path, n: u64) -> Outcome {
    let mut schunk = SChunk::overwrite(path, params())?;
    (0..n as u32).try_for_each(|i| schunk.append(&chunk(i)))?;
    Ok(schunk.commit()?)
}
