//! What is encoded: numbers as measurements and simulations make them, the same after the shuffle filter, and text.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use harness::Outcome;

/// Bytes of each kind.
const SIZE: usize = 2 << 20;
/// Bytes that are encoded, and shuffled, together.
pub(crate) const CHUNK: usize = 256 << 10;

pub(crate) const KINDS: [&str; 9] = [
    "counts f4 shuffled",
    "waves f8 shuffled",
    "noisy f4 shuffled",
    "walk i4 shuffled",
    "counts f4",
    "noisy f4",
    "walk i4",
    "records",
    "text",
];

fn file(folder: &Path, kind: &str) -> PathBuf {
    folder.join(format!("data {kind}"))
}

/// Writes the bytes of a kind into the folder.
pub(crate) fn write(folder: &Path, kind: &str) -> Outcome {
    let path = file(folder, kind);
    if path.exists() {
        return Ok(());
    }
    let bytes = match kind.strip_suffix(" shuffled") {
        Some(plain) => {
            let size = usize::from(plain.as_bytes().last().map_or(1, |digit| digit - b'0'));
            bytes(plain)?.chunks(CHUNK).flat_map(|chunk| shuffled(chunk, size)).collect()
        }
        None => bytes(kind)?,
    };
    Ok(std::fs::write(path, bytes)?)
}

/// Reads what [`write()`] has written. A worker has one kind.
pub(crate) fn read(folder: &Path, kind: &str) -> Outcome<&'static [u8]> {
    static DATA: OnceLock<Vec<u8>> = OnceLock::new();
    if let Some(data) = DATA.get() {
        return Ok(data);
    }
    let data = std::fs::read(file(folder, kind))?;
    Ok(DATA.get_or_init(|| data))
}

fn shuffled(chunk: &[u8], size: usize) -> Vec<u8> {
    let mut planes = vec![0; chunk.len()];
    cframe::shuffle::shuffle(chunk, size, &mut planes);
    planes
}

/// Pseudo-random numbers.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number that is distributed nearly normally around 0.
    fn normal(&mut self) -> f64 {
        (0..6).map(|_| (self.next() >> 40) as f64 / f64::from(1 << 24)).sum::<f64>() - 3.0
    }
}

fn bytes(kind: &str) -> Outcome<Vec<u8>> {
    let mut noise = Noise(0x9E37_79B9_7F4A_7C15);
    Ok(match kind {
        "counts f4" => numbers(|i| ((i >> 6) * 4 + (noise.next() >> 60)) as f32),
        "waves f8" => (0..SIZE as u64 / 8).flat_map(|i| (i as f64 / 500.0).sin().to_le_bytes()).collect(),
        "noisy f4" => numbers(|i| ((i as f64 / 900.0).sin() * 20.0 + noise.normal() * 0.5) as f32),
        "walk i4" => {
            let mut sum = 0i32;
            let mut step = |_| {
                sum += (noise.next() % 41) as i32 - 20;
                sum.to_le_bytes()
            };
            (0..SIZE / 4).flat_map(&mut step).collect()
        }
        "records" => records(&mut noise)?,
        "text" => text(&mut noise)?,
        _ => return Err(format!("no data of the kind {kind}").into()),
    })
}

fn numbers(mut number: impl FnMut(u64) -> f32) -> Vec<u8> {
    (0..SIZE as u64 / 4).flat_map(|i| number(i).to_le_bytes()).collect()
}

/// Compounds of an index, a coordinate, a label and a measured value.
fn records(noise: &mut Noise) -> Outcome<Vec<u8>> {
    let mut out = Vec::with_capacity(SIZE);
    for i in 0..SIZE as u32 / 16 {
        out.write_all(&i.to_le_bytes())?;
        out.write_all(&((i / 10) as f32).to_le_bytes())?;
        out.write_all(&(noise.next() as u32 % 7).to_le_bytes())?;
        out.write_all(&(noise.normal() as f32).to_le_bytes())?;
    }
    Ok(out)
}

/// Lines of a table, and sentences between them.
fn text(noise: &mut Noise) -> Outcome<Vec<u8>> {
    const WORDS: [&str; 16] = [
        "temperature",
        "pressure",
        "the",
        "of",
        "station",
        "wind",
        "sample",
        "and",
        "is",
        "quality",
        "ok",
        "flag",
        "north",
        "in",
        "value",
        "was",
    ];
    let mut out = Vec::with_capacity(SIZE + 200);
    for i in 0u32.. {
        if out.len() >= SIZE {
            break;
        }
        if noise.next().is_multiple_of(3) {
            for _ in 0..12 {
                write!(out, "{} ", WORDS[(noise.next() >> 60) as usize])?;
            }
            writeln!(out)?;
        } else {
            let (value, wave) = (noise.normal() * 10.0, (f64::from(i) / 100.0).sin() * 300.0);
            writeln!(out, "{i},{value:.3},{wave:.2},2024-03-{:02}", i / 3000 % 31)?;
        }
    }
    out.truncate(SIZE);
    Ok(out)
}
