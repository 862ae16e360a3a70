//! A reader of virtual arrays that shares nothing with the crate but the model.

use std::io::Read;

use sciformats::{File, Result};
use sciformats_references::{Options, Place, Report, Sink, VirtualArray, scan};
use serde_json::{Map, Value};

/// What a scan passes to its sink.
#[derive(Default)]
pub(crate) struct Collected {
    pub(crate) groups: Vec<String>,
    pub(crate) arrays: Vec<VirtualArray>,
}

impl Sink for Collected {
    fn group(&mut self, path: &str, _: &Map<String, Value>) -> Result<()> {
        self.groups.push(path.into());
        Ok(())
    }

    fn array(&mut self, array: &VirtualArray) -> Result<()> {
        self.arrays.push(array.clone());
        Ok(())
    }
}

pub(crate) fn collect(file: &File) -> (Collected, Report) {
    collect_with(file, &Options::new("file:///a.h5"))
}

pub(crate) fn collect_with(file: &File, options: &Options) -> (Collected, Report) {
    let mut found = Collected::default();
    let report = scan(file, options, &mut found).unwrap();
    (found, report)
}

/// The bytes of an element; texts of variable length have none.
pub(crate) fn width(dtype: &Value) -> Option<usize> {
    match dtype {
        Value::String(text) => text.get(2..).and_then(|digits| digits.parse().ok()),
        Value::Array(fields) => fields.iter().map(|field| width(&field[1])).sum(),
        _ => None,
    }
}

/// Puts the elements of an array together as they are stored. Missing chunks are `None`. An error says that a chunk cannot be decoded.
pub(crate) fn assemble(array: &VirtualArray, file: &[u8]) -> std::result::Result<Vec<Option<u8>>, String> {
    let width = width(&array.dtype).ok_or("no width")?;
    let elements: u64 = array.shape.iter().product();
    let mut out = vec![None; elements as usize * width];
    for (number, place) in array.chunks.iter() {
        let mut index = Vec::new();
        array.chunks.index(number, &mut index);
        let stored = match place {
            Place::Bytes(bytes) => bytes.to_vec(),
            Place::Range { offset, length, .. } => file[offset as usize..(offset + length) as usize].to_vec(),
        };
        let mut bytes = stored;
        for filter in array.filters.iter().rev() {
            bytes = decode(filter, bytes)?;
        }
        let inside: u64 = array.chunk_shape.iter().product();
        if bytes.len() as u64 != inside * width as u64 {
            return Err(format!("a chunk has {} bytes", bytes.len()));
        }
        for number in 0..inside {
            let (mut rest, mut at, mut unit, mut within) = (number, 0, 1, true);
            for axis in (0..array.shape.len()).rev() {
                let side = array.chunk_shape[axis];
                let place = index[axis] * side + rest % side;
                rest /= side;
                within &= place < array.shape[axis];
                at += place * unit;
                unit *= array.shape[axis];
            }
            if within {
                for byte in 0..width {
                    out[at as usize * width + byte] = Some(bytes[number as usize * width + byte]);
                }
            }
        }
    }
    Ok(out)
}

fn decode(filter: &Value, bytes: Vec<u8>) -> std::result::Result<Vec<u8>, String> {
    match filter["id"].as_str() {
        Some("zlib") => {
            let mut out = Vec::new();
            let mut decoder = flate2::read::ZlibDecoder::new(bytes.as_slice()).take(1 << 24);
            decoder.read_to_end(&mut out).map_err(|error| error.to_string())?;
            Ok(out)
        }
        Some("shuffle") => {
            let size = filter["elementsize"].as_u64().unwrap() as usize;
            let count = bytes.len() / size;
            let mut out = bytes.clone();
            for element in 0..count {
                for byte in 0..size {
                    out[element * size + byte] = bytes[byte * count + element];
                }
            }
            Ok(out)
        }
        Some("fletcher32") => {
            let end = bytes.len().checked_sub(4).ok_or("there is no checksum")?;
            let sum = u32::from_le_bytes(bytes[end..].try_into().unwrap());
            let mut out = bytes;
            out.truncate(end);
            if fletcher32(&out) == sum { Ok(out) } else { Err("the checksum is wrong".into()) }
        }
        other => panic!("{other:?} is not expected"),
    }
}

fn fletcher32(bytes: &[u8]) -> u32 {
    let (mut low, mut high) = (0u32, 0u32);
    for pair in bytes.chunks(2) {
        let word = u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |byte| u32::from(*byte));
        low = (low + word) % 65535;
        high = (high + low) % 65535;
    }
    high << 16 | low
}
