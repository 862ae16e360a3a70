//! Blosc2 against the C library (called from Python without anything in between) and against the crate
//! `blosc2-pure-rs`.
//!
//! The buffers are smaller than they could be, and smallest for the slowest codecs, so that all rows together take some
//! minutes. Each is one chunk, with the block size that its writer chooses. Time is taken of the library alone: buffers
//! are there before and have been touched.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use blosc2_pure_rs as pure;
use cframe::{Array, ArrayParams, Codec, Filter, Frame, OpenOptions, Params, Range, SChunk, Slab};
use harness::{Bench, Case, Outcome, Watch};

const C: &str = "c-blosc2";
const PURE: &str = "blosc2-pure-rs 0.2.4";

/// Kinds of data, and the size of their elements.
const KINDS: [(&str, u32); 3] = [("smooth f4", 4), ("ramp i8", 8), ("incompressible", 4)];
const CODECS: [(&str, Codec); 5] = [
    ("blosclz", Codec::BloscLz),
    ("lz4", Codec::Lz4),
    ("lz4hc", Codec::Lz4Hc),
    ("zlib", Codec::Zlib),
    ("zstd", Codec::Zstd),
];
const FILTERS: [(&str, Filter); 2] = [("shuffle", Filter::SHUFFLE), ("bitshuffle", Filter::BITSHUFFLE)];
const LEVELS: [u8; 3] = [1, 5, 9];
/// The level of which two threads and the other crate are rows too.
const MIDDLE: u8 = 5;

/// Bytes of each kind of data.
const LARGEST: usize = 32 << 20;
/// Our compressed size may be larger than that of the C library by so much.
const SIZE: f64 = 1.02;
/// Bytes that a kernel sees at once, as a block, and how often.
const BLOCK: usize = 64 << 10;
const TIMES: usize = 400;
/// Chunks of the frame, and bytes of each.
const CHUNKS: u64 = 100_000;
const CHUNK: usize = 256;
/// 400 MB of `f4`.
const SHAPE: [u64; 2] = [6400, 16_384];
/// How often a part is read in one round.
const READS: u64 = 100;

fn main() -> ExitCode {
    let mut bench = Bench::new("blosc2", "python/blosc2.py");
    for (kind, typesize) in KINDS {
        for codec in CODECS {
            for filter in FILTERS {
                for (level, threads) in [(1, 1), (5, 1), (9, 1), (MIDDLE, 2)] {
                    debug_assert!(LEVELS.contains(&level));
                    let job = Job { kind, typesize, codec, filter, level, threads };
                    bench = bench.case(job.decompress()).case(job.compress());
                }
            }
        }
    }
    for size in [2, 4, 8, 12, 16] {
        bench = kernels(bench, size);
    }
    bench
        .case(
            Case::new("open 100,000 chunks, read one", 0.4)
                .prepare(prepare_frame)
                .ours(open)
                .python(C)
                .rust(PURE, pure_open),
        )
        .case(
            Case::new("10 x 10 of a 400 MB array", 1.0)
                .prepare(prepare_array)
                .ours(|folder, watch| slices(folder, watch, corner))
                .python(C),
        )
        .case(
            Case::new("row of a 400 MB array", 0.8)
                .prepare(prepare_array)
                .ours(|folder, watch| slices(folder, watch, row))
                .python(C),
        )
        .main()
}

/// One way to compress one kind of data.
#[derive(Clone, Copy)]
struct Job {
    kind: &'static str,
    typesize: u32,
    codec: (&'static str, Codec),
    filter: (&'static str, Filter),
    level: u8,
    threads: usize,
}

impl Job {
    fn case(self, verb: &str, goal: f64) -> Case {
        let Self { kind, codec: (codec, _), filter: (filter, _), level, threads, .. } = self;
        let threads = if threads == 1 { String::new() } else { format!(" {threads} threads") };
        // The name lives as long as the program.
        let name = format!("{verb} {kind} {codec} {level} {filter}{threads}").leak();
        let case = Case::new(name, goal)
            .cell(format!("{verb} {kind}"), format!("{codec}, {filter}"), format!("level {level}{threads}"))
            .prepare(move |folder| write_data(folder, kind));
        if self.threads == 1 { case.by_processor() } else { case }
    }

    fn decompress(self) -> Case {
        let case = self.case("decompress", 1.0).ours(move |folder, watch| self.run_decompress(folder, watch));
        let case = case.python(C);
        if self.is_middle() {
            case.rust(PURE, move |folder, watch| self.pure_decompress(folder, watch))
        } else {
            case
        }
    }

    fn compress(self) -> Case {
        let case =
            self.case("compress", 1.0 / 0.9).ours(move |folder, watch| self.run_compress(folder, watch));
        let case = case.python(C);
        if self.is_middle() {
            case.rust(PURE, move |folder, watch| self.pure_compress(folder, watch))
        } else {
            case
        }
    }

    fn is_middle(self) -> bool {
        self.level == MIDDLE && self.threads == 1
    }

    /// Bytes of the data that are used: as many as take a slow codec a good part of a second.
    fn len(self) -> usize {
        match (self.codec.1, self.level) {
            (Codec::BloscLz | Codec::Lz4, _) => LARGEST,
            (Codec::Zstd, 9) => LARGEST / 16,
            _ => LARGEST / 8,
        }
    }

    fn params(self) -> Outcome<Params> {
        let params = Params::new(self.typesize).with_codec(self.codec.1).with_level(self.level);
        Ok(params.with_filters(&[self.filter.1])?)
    }

    fn options(self) -> OpenOptions {
        OpenOptions::default().with_threads(self.threads)
    }

    fn data(self, folder: &Path) -> Outcome<Vec<u8>> {
        let mut data = std::fs::read(data_file(folder, self.kind))?;
        data.truncate(self.len());
        Ok(data)
    }

    fn run_decompress(self, folder: &Path, watch: &mut Watch) -> Outcome {
        kept(
            || {
                let data = self.data(folder)?;
                let chunk = cframe::compress_with(&data, &self.params()?, &self.options())?;
                Ok((chunk, data))
            },
            |chunk, data| {
                data[7] ^= 1;
                let right = data[7] ^ 1;
                watch.each(|| cframe::decompress_into(chunk, &self.options(), data))?;
                expect(data[7] == right)
            },
        )
    }

    fn run_compress(self, folder: &Path, watch: &mut Watch) -> Outcome {
        kept(
            || {
                let data = self.data(folder)?;
                Ok((vec![1; data.len() + cframe::MAX_OVERHEAD], data))
            },
            |chunk, data| {
                let (params, options) = (self.params()?, self.options());
                let len = watch.each(|| cframe::compress_into(data, &params, &options, chunk))?;
                // What the C library has made of it, if it has been asked already.
                let theirs: f64 = match std::fs::read_to_string(self.size_file(folder)) {
                    Ok(size) => size.trim().parse()?,
                    Err(_) => return Ok(()),
                };
                if len as f64 > SIZE * theirs {
                    Err(format!("{len} bytes, of {C} {theirs}").into())
                } else {
                    Ok(())
                }
            },
        )
    }

    fn size_file(self, folder: &Path) -> PathBuf {
        let Self { kind, codec: (codec, _), filter: (filter, _), level, .. } = self;
        folder.join(format!("size {kind} {codec} {level} {filter}"))
    }

    fn pure_shuffle(self) -> u8 {
        if self.filter.1 == Filter::SHUFFLE { 1 } else { 2 }
    }

    fn pure_run(self, data: &[u8], chunk: &mut [u8]) -> Outcome<usize> {
        pure::blosc2_set_nthreads(1);
        pure::blosc1_set_compressor(self.codec.0)?;
        Ok(pure::blosc1_compress(self.level, self.pure_shuffle(), self.typesize as i32, data, chunk)?)
    }

    fn pure_decompress(self, folder: &Path, watch: &mut Watch) -> Outcome {
        kept(
            || {
                let data = self.data(folder)?;
                let mut chunk = vec![1; data.len() + 4096];
                let len = self.pure_run(&data, &mut chunk)?;
                chunk.truncate(len);
                Ok((chunk, data))
            },
            |chunk, data| Ok(watch.each(|| pure::blosc1_decompress(chunk, data)).map(drop)?),
        )
    }

    fn pure_compress(self, folder: &Path, watch: &mut Watch) -> Outcome {
        kept(
            || {
                let data = self.data(folder)?;
                Ok((vec![1; data.len() + 4096], data))
            },
            |chunk, data| watch.each(|| self.pure_run(data, chunk)).map(drop),
        )
    }
}

type Pair = (Vec<u8>, Vec<u8>);

/// A chunk and its data, kept between the rounds of a case; a worker has one case.
fn kept(
    make: impl FnOnce() -> Outcome<Pair>,
    work: impl FnOnce(&mut Vec<u8>, &mut Vec<u8>) -> Outcome,
) -> Outcome {
    static KEPT: Mutex<Option<Pair>> = Mutex::new(None);
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if kept.is_none() {
        *kept = Some(make()?);
    }
    match kept.as_mut() {
        Some((chunk, data)) => work(chunk, data),
        None => Err("nothing was kept".into()),
    }
}

fn data_file(folder: &Path, kind: &str) -> PathBuf {
    folder.join(format!("data {kind}"))
}

fn write_data(folder: &Path, kind: &str) -> Outcome {
    let path = data_file(folder, kind);
    if path.exists() {
        return Ok(());
    }
    let mut state = 7u64;
    let mut noise = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_F491_4F6C_DD1D).to_le_bytes()
    };
    let words = LARGEST / 8;
    let bytes: Vec<u8> = match kind {
        "smooth f4" => (0..2 * words).flat_map(|i| ((i as f64 * 1e-4).sin() as f32).to_le_bytes()).collect(),
        "ramp i8" => (0..words).flat_map(|i| (i as i64).to_le_bytes()).collect(),
        _ => (0..words).flat_map(|_| noise()).collect(),
    };
    Ok(std::fs::write(path, bytes)?)
}

fn expect(right: bool) -> Outcome {
    if right { Ok(()) } else { Err("other values".into()) }
}

/// A rearrangement of a block of elements of a size.
type Kernel = fn(&[u8], usize, &mut [u8]);

fn kernels(mut bench: Bench, size: usize) -> Bench {
    let all: [(&str, Kernel); 4] = [
        ("shuffle", cframe::shuffle::shuffle),
        ("unshuffle", cframe::shuffle::unshuffle),
        ("bitshuffle", cframe::shuffle::bitshuffle),
        ("bitunshuffle", cframe::shuffle::bitunshuffle),
    ];
    for (name, kernel) in all {
        let case = Case::new(format!("kernel {name} {size}").leak(), 1.0);
        let case = case.cell("kernels alone", name, format!("{size} bytes")).by_processor();
        bench = bench.case(case.python(C).ours(move |_, watch| {
            let input: Vec<u8> = (0..BLOCK / size * size).map(|i| (i * 7 + i / 251) as u8).collect();
            let mut out = vec![1; input.len()];
            watch.each(|| {
                (0..TIMES).for_each(|_| kernel(black_box(&input), size, black_box(&mut out)));
                Ok(())
            })
        }));
    }
    bench
}

fn prepare_frame(folder: &Path) -> Outcome {
    let mut schunk = SChunk::overwrite(folder.join("many.b2frame"), Params::new(4).with_codec(Codec::Lz4))?;
    for index in 0..CHUNKS {
        let word = |i: usize| (index as u32).wrapping_mul(i as u32 + 1).to_le_bytes();
        schunk.append(&(0..CHUNK / 4).flat_map(word).collect::<Vec<u8>>())?;
    }
    Ok(schunk.commit()?)
}

fn open(folder: &Path, watch: &mut Watch) -> Outcome {
    let path = folder.join("many.b2frame");
    let mut out = [0; CHUNK];
    for round in 0..READS {
        let index = round * 977;
        watch.time(|| Frame::open(&path)?.chunk(index)?.decode_into(&mut out))?;
        expect(out[..4] == (index as u32).to_le_bytes())?;
    }
    Ok(())
}

fn pure_open(folder: &Path, watch: &mut Watch) -> Outcome {
    let path = folder.join("many.b2frame");
    for round in 0..READS / 50 {
        let schunk = |index| -> Outcome<Vec<u8>> {
            Ok(pure::schunk::Schunk::open_frame_at(&path, 0)?.decompress_chunk(index)?)
        };
        let index = round as i64 * 977;
        // A fiftieth of the work, fifty times the time: it would take long otherwise.
        let out = watch.time(|| schunk(index))?;
        expect(out[..4] == (index as u32).to_le_bytes())?;
    }
    Ok(())
}

fn prepare_array(folder: &Path) -> Outcome {
    let path = folder.join("array.b2nd");
    if path.exists() {
        return Ok(());
    }
    let params = ArrayParams::new(&SHAPE, "<f4")?;
    let mut array = Array::overwrite(path, &params)?;
    let rows = array.chunk_shape()[0];
    let mut at = 0;
    while at < SHAPE[0] {
        let count = rows.min(SHAPE[0] - at);
        let first = at * SHAPE[1];
        let bytes: Vec<u8> =
            (first..first + count * SHAPE[1]).flat_map(|i| ((i % 100_000) as f32).to_le_bytes()).collect();
        array.write_slab_bytes(&Slab::new(&SHAPE, [Range::new(at, count), Range::all(SHAPE[1])])?, &bytes)?;
        at += count;
    }
    Ok(array.commit()?)
}

/// The first row and column of a part, and how many it has.
type Part = ([u64; 2], [u64; 2]);

fn corner(round: u64) -> Part {
    ([round * 61 % 6300, round * 157 % 16_000], [10, 10])
}

fn row(round: u64) -> Part {
    ([round * 61 % 6300, 0], [1, SHAPE[1]])
}

/// With one thread, as the C library reads unless it is told otherwise.
fn slices(folder: &Path, watch: &mut Watch, part: fn(u64) -> Part) -> Outcome {
    let options = OpenOptions::default().with_threads(1);
    let array = Array::open_with(folder.join("array.b2nd"), &options)?;
    for round in 0..READS {
        let (start, count) = part(round);
        let mut out = vec![0; (count[0] * count[1] * 4) as usize];
        watch.time(|| -> Outcome {
            let ranges = [Range::new(start[0], count[0]), Range::new(start[1], count[1])];
            Ok(array.read_slab_bytes_into(&Slab::new(&SHAPE, ranges)?, &mut out)?)
        })?;
        let first = ((start[0] * SHAPE[1] + start[1]) % 100_000) as f32;
        expect(out[..4] == first.to_le_bytes())?;
    }
    Ok(())
}
