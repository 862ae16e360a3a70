//! pcodec, which compresses numbers of 16, 32 and 64 bits without loss, in the standalone form that numcodecs stores in Zarr. It has no
//! number in HDF5.

use half::f16;
use pco::data_types::Number;
use pco::errors::PcoError;
use pco::standalone::{DecompressorItem, FileDecompressor, simple_compress};
use pco::{ChunkConfig, FULL_BATCH_N};
use sciformats_core::{Fault, FaultKind};

use crate::filter::{rule, within};
use crate::{Element, Kind};

/// The numbers that are decoded at once.
const AT_ONCE: usize = 16 * FULL_BATCH_N;

/// The levels of compression; numcodecs takes 8.
pub const LEVELS: std::ops::RangeInclusive<u32> = 0..=12;

/// A type of numbers, and its little-endian bytes.
trait Plain: Number + Default {
    fn from_bytes(bytes: &[u8]) -> Self;
    fn put(self, out: &mut Vec<u8>);
}

macro_rules! plain {
    ($($number:ty)*) => {$(
        impl Plain for $number {
            fn from_bytes(bytes: &[u8]) -> Self {
                bytes.first_chunk().copied().map(Self::from_le_bytes).unwrap_or_default()
            }

            fn put(self, out: &mut Vec<u8>) {
                out.extend(self.to_le_bytes());
            }
        }
    )*};
}

plain!(u16 u32 u64 i16 i32 i64 f16 f32 f64);

/// Calls a function with the type of the elements.
macro_rules! typed {
    ($element:expr, $function:ident $arguments:tt) => {
        match ($element.kind, $element.size) {
            _ if $element.big_endian => Err(unfit()),
            (Kind::Unsigned, 2) => $function::<u16>$arguments,
            (Kind::Unsigned, 4) => $function::<u32>$arguments,
            (Kind::Unsigned, 8) => $function::<u64>$arguments,
            (Kind::Signed, 2) => $function::<i16>$arguments,
            (Kind::Signed, 4) => $function::<i32>$arguments,
            (Kind::Signed, 8) => $function::<i64>$arguments,
            (Kind::Float, 2) => $function::<f16>$arguments,
            (Kind::Float, 4) => $function::<f32>$arguments,
            (Kind::Float, 8) => $function::<f64>$arguments,
            _ => Err(unfit()),
        }
    };
}

fn unfit() -> Fault {
    rule("elements", "must be little-endian numbers of 16, 32 or 64 bits")
}

/// Compresses numbers.
///
/// ```
/// use sciformats_filters::{Element, pcodec};
///
/// let numbers: Vec<u8> = (0..1000i64).flat_map(|i| (i * i).to_le_bytes()).collect();
/// let stored = pcodec::encode(Element::signed(8), 8, &numbers)?;
/// assert!(stored.len() < numbers.len() / 20);
/// assert_eq!(pcodec::decode(Element::signed(8), &stored, 8000)?, numbers);
/// # Ok::<(), sciformats_filters::Fault>(())
/// ```
///
/// # Errors
/// Returns a fault if the elements are no little-endian numbers of 16, 32 or 64 bits, the bytes are not whole elements, or the level is
/// above 12.
pub fn encode(element: Element, level: u32, bytes: &[u8]) -> Result<Vec<u8>, Fault> {
    if !LEVELS.contains(&level) {
        return Err(rule("level", "must be at most 12"));
    }
    typed!(element, encode_typed(level, bytes))
}

fn encode_typed<T: Plain>(level: u32, bytes: &[u8]) -> Result<Vec<u8>, Fault> {
    let elements = bytes.chunks_exact(size_of::<T>());
    if !elements.remainder().is_empty() {
        return Err(rule("bytes", "must be whole elements"));
    }
    let numbers: Vec<T> = elements.map(T::from_bytes).collect();
    let level = usize::try_from(level).unwrap_or(usize::MAX); // a bound: it is at most 12
    let stored = simple_compress(&numbers, &ChunkConfig::default().with_compression_level(level));
    stored.map_err(|_| rule("numbers", "must be ones that pcodec compresses"))
}

/// Decompresses numbers, to at most `max` bytes.
///
/// # Errors
/// Returns a fault if the stream is damaged, holds numbers of another type, or unfolds to more.
pub fn decode(element: Element, input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
    typed!(element, decode_typed(input, max))
}

fn decode_typed<T: Plain>(input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
    let failed = |error: PcoError| match error.kind {
        pco::errors::ErrorKind::InsufficientData => Fault::new("stream of pcodec", FaultKind::Truncated),
        _ => rule("stream of pcodec", "must be a whole one of numbers of the type of the elements"),
    };
    let (file, mut rest) = FileDecompressor::new(input).map_err(failed)?;
    let mut out = Vec::new();
    let mut numbers =
        vec![T::default(); AT_ONCE.min(max / size_of::<T>() + FULL_BATCH_N).next_multiple_of(FULL_BATCH_N)];
    loop {
        let mut chunk = match file.chunk_decompressor::<T, _>(rest).map_err(failed)? {
            DecompressorItem::Chunk(chunk) => chunk,
            DecompressorItem::EndOfData(_) => return Ok(out),
        };
        loop {
            let progress = chunk.read(&mut numbers).map_err(failed)?;
            let more = progress.n_processed as u64 * size_of::<T>() as u64;
            within("decompressed bytes", (out.len() as u64).saturating_add(more), max)?; // a bound
            numbers.iter().take(progress.n_processed).for_each(|number| number.put(&mut out));
            if progress.finished {
                break;
            }
            if progress.n_processed == 0 {
                return Err(Fault::new("stream of pcodec", FaultKind::Truncated));
            }
        }
        rest = chunk.into_src();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn elements() -> Vec<Element> {
        let sizes = [2, 4, 8];
        [Element::signed, Element::unsigned, Element::float]
            .into_iter()
            .flat_map(|of| sizes.map(of))
            .collect()
    }

    /// Smooth numbers, jumps and noise, as bytes.
    fn numbers(element: Element, n: i32) -> Vec<u8> {
        let mut state = 9u64;
        (0..n)
            .flat_map(|i| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let wave = (f64::from(i) * 0.01).sin() * 3000.0 + (state >> 60) as f64;
                match (element.kind, element.size) {
                    (Kind::Float, 2) => f16::from_f64(wave).to_le_bytes().to_vec(),
                    (Kind::Float, 4) => (wave as f32).to_le_bytes().to_vec(),
                    (Kind::Float, _) => wave.to_le_bytes().to_vec(),
                    (_, size) => (wave as i64).to_le_bytes()[..size as usize].to_vec(),
                }
            })
            .collect()
    }

    #[test]
    fn numbers_of_all_types_come_back() {
        for element in elements() {
            for n in [0, 1, 255, 256, 257, 5000] {
                let bytes = numbers(element, n);
                for level in [0, 4, 8, 12] {
                    let stored = encode(element, level, &bytes).unwrap();
                    assert_eq!(decode(element, &stored, bytes.len()).unwrap(), bytes, "{element:?}, {n}");
                    if n > 0 {
                        let short = decode(element, &stored, bytes.len() - 1).unwrap_err();
                        assert!(matches!(short.kind, FaultKind::OutOfBounds { .. }), "{short:?}");
                        assert!(decode(element, &stored[..stored.len() - 1], bytes.len()).is_err());
                    }
                    // Level 0 only divides numbers into ranges.
                    assert!(n < 5000 || level < 8 || stored.len() < bytes.len());
                }
            }
        }
    }

    #[test]
    fn other_elements_are_refused() {
        let bytes = numbers(Element::float(8), 10);
        let stored = encode(Element::float(8), 8, &bytes).unwrap();
        assert!(
            decode(Element::signed(8), &stored, 100).is_err()
                && decode(Element::float(4), &stored, 100).is_err()
        );
        let big = Element { big_endian: true, ..Element::float(8) };
        assert!(encode(big, 8, &bytes).is_err() && encode(Element::signed(1), 8, &bytes).is_err());
        assert!(
            encode(Element::float(8), 13, &bytes).is_err()
                && encode(Element::float(8), 8, &bytes[1..]).is_err()
        );
    }

    #[test]
    fn a_long_run_of_one_number_is_bounded() {
        // Sixteen million numbers take few bytes, and are not unfolded beyond the limit.
        let bytes = vec![7u8; 8 << 18];
        let stored = encode(Element::unsigned(8), 0, &bytes).unwrap();
        assert!(stored.len() < 200, "{} bytes", stored.len());
        assert!(decode(Element::unsigned(8), &stored, 1 << 20).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, head in any::<bool>(), at in 0usize..9) {
            let element = elements()[at];
            let mut bytes = bytes;
            if head {
                bytes.splice(0..0, *b"pco!\x03\x00\x0c");
            }
            let _ = decode(element, &bytes, 10_000);
        }

        #[test]
        fn damaged_streams_unfold_to_no_more(at in 0usize..9, damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
            let element = elements()[at];
            let mut stored = encode(element, 8, &numbers(element, 700)).unwrap();
            for (place, byte) in damage {
                let place = place.index(stored.len());
                stored[place] = byte;
            }
            if let Ok(found) = decode(element, &stored, 6000) {
                prop_assert!(found.len() <= 6000);
            }
        }
    }
}
