//! The cases of the file layer.

use std::path::Path;

use gsd_rs::{CreateOptions, ElementType, Reader, Result, Version, Writer};

use crate::{Verdict, equal, went};

/// A chunk that a frame must have.
pub(crate) struct Expected {
    name: String,
    element: ElementType,
    columns: u32,
    bytes: Vec<u8>,
}

const NUMBERS: [&str; 10] = ["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64"];

/// Returns a 64-bit number for value `k` of chunk `j` in frame `i`.
fn word(i: u64, j: u64, k: u64) -> u64 {
    let seed = i * 1_000_003 + j * 10_007 + k * 101 + 12_345;
    let x = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x ^ x >> 29
}

fn value(element: ElementType, x: u64) -> Vec<u8> {
    let real = ((x % 2001) as f64 - 1000.0) / 8.0;
    match element {
        ElementType::F32 => (real as f32).to_le_bytes().to_vec(),
        ElementType::F64 => real.to_le_bytes().to_vec(),
        ElementType::Character => vec![b'a' + (x % 26) as u8],
        _ => x.to_le_bytes()[..element.size().unwrap_or(0)].to_vec(),
    }
}

/// Returns chunk `j` of frame `i`; `t` is the index of its type.
fn chunk(name: String, t: usize, (i, j): (u64, u64), (rows, columns): (u64, u32)) -> Expected {
    let element = ElementType::ALL[t];
    let bytes = (0..rows * u64::from(columns)).flat_map(|k| value(element, word(i, j, k))).collect();
    Expected { name, element, columns, bytes }
}

/// Returns the number of frames of a case.
fn frames(case: &str) -> u64 {
    match case {
        "types" => 3,
        "empty" | "names" => 1,
        "frames" => 100_000,
        "sparse" => 202,
        _ => 60,
    }
}

/// Returns the chunks of a frame of a case.
fn content(case: &str, i: u64) -> Vec<Expected> {
    match case {
        "types" => {
            let mut chunks: Vec<_> = (0..10)
                .map(|t| chunk(NUMBERS[t].into(), t, (i, t as u64), (2 + i, 1 + t as u32 % 4)))
                .collect();
            chunks.push(chunk("text".into(), 10, (i, 10), (5 + i, 1)));
            chunks
        }
        "empty" => {
            (0..10).map(|t| chunk(NUMBERS[t].into(), t, (i, t as u64), (0, 1 + t as u32 % 4))).collect()
        }
        "names" => (0..1000).map(|j| chunk(format!("name/{j}"), 2, (i, j), (1, 1))).collect(),
        "frames" => vec![chunk("step".into(), 3, (i, 0), (1, 1))],
        "sparse" if !i.is_multiple_of(201) => Vec::new(),
        "sparse" => vec![chunk("only".into(), 8, (i, 0), (4, 3))],
        _ => (0..1 + i * 7 % 9)
            .map(|j| {
                let name = match (j * 5 + i) % 9 {
                    8 => "n".repeat(63),
                    number => format!("chunk/{number}"),
                };
                chunk(name, ((i + j) % 10) as usize, (i, j), ((i + j) % 5, 1 + j as u32 % 3))
            })
            .collect(),
    }
}

pub(crate) fn write(folder: &Path) -> Result<()> {
    for case in [
        "types",
        "empty",
        "names",
        "frames",
        "sparse",
        "grown",
        "layer-1.0",
        "upgraded",
        "appended",
        "unclosed",
    ] {
        let layer = match case {
            "layer-1.0" | "upgraded" => Version::new(1, 0),
            _ => Version::new(2, 1),
        };
        let options = CreateOptions::new("conformance", case, Version::new(1, 2)).with_layer(layer);
        let path = folder.join(format!("{case}.gsd"));
        let mut writer = Writer::create(&path, &options)?;
        for i in 0..frames(case) {
            for expected in content(case, i) {
                writer.write_bytes(&expected.name, expected.element, expected.columns, &expected.bytes)?;
            }
            writer.end_frame()?;
            if i % 7 == 0 && case != "frames" {
                writer.flush()?;
            }
            if case == "appended" && i % 20 == 19 {
                writer.finish()?;
                writer = Writer::append_to(&path)?;
            }
        }
        match case {
            "upgraded" => writer.upgrade()?,
            // The file is left as a process leaves it that is killed.
            "unclosed" => {
                writer.flush()?;
                std::mem::forget(writer);
                continue;
            }
            _ => {}
        }
        writer.finish()?;
    }
    Ok(())
}

pub(crate) fn check(folder: &Path) {
    for case in ["types", "empty", "names", "frames", "sparse", "grown", "layer-1.0", "upgraded", "appended"]
    {
        let way = if ["upgraded", "appended"].contains(&case) { "edited there" } else { "we read theirs" };
        let reader = match Reader::open(folder.join(format!("{case}.gsd"))) {
            Ok(reader) => reader,
            Err(error) => {
                went(way, case, "open", Err(error.to_string()));
                continue;
            }
        };
        let step = frames(case).div_ceil(60);
        went(way, case, "header and index", header(&reader, case));
        for i in (0..frames(case)).step_by(step as usize) {
            let all = i..(i + step).min(frames(case));
            went(
                way,
                case,
                &format!("frame {i}"),
                all.clone().try_for_each(|i| frame(&reader, i, &content(case, i))),
            );
        }
    }
    went("edited here", "appended", "by us to theirs", append(folder));
}

fn header(reader: &Reader, case: &str) -> Verdict {
    reader.verify().map_err(|e| e.to_string())?;
    equal("number of frames", &reader.frames(), &frames(case))?;
    equal("schema", &&*reader.header().schema.to_text(), &case)?;
    equal("schema version", &reader.header().schema_version, &Version::new(1, 2))?;
    let layer = if case == "layer-1.0" { Version::new(1, 0) } else { Version::new(2, 1) };
    equal("layer", &reader.header().version, &layer)
}

fn frame(reader: &Reader, i: u64, expected: &[Expected]) -> Verdict {
    equal("number of chunks", &reader.chunks(i).count(), &expected.len())?;
    for want in expected {
        let found = reader.find(i, &want.name).map_err(|e| e.to_string())?;
        let found = found.ok_or_else(|| format!("chunk {} is missing", want.name))?;
        equal("type", &found.element, &want.element)?;
        equal("columns", &found.m, &want.columns)?;
        let bytes = reader.read_bytes(&found, 0..found.n).map_err(|e| e.to_string())?;
        equal(&want.name, &bytes.as_ref(), &want.bytes.as_slice())?;
    }
    Ok(())
}

/// Appends a frame to a file of the other side.
fn append(folder: &Path) -> Verdict {
    let path = folder.join("appended-by-us.gsd");
    let run = || -> Result<Reader> {
        std::fs::copy(folder.join("grown.gsd"), &path).map_err(|e| gsd_rs::Error::io("copy", e))?;
        let mut writer = Writer::append_to(&path)?;
        for expected in content("grown", 60) {
            writer.write_bytes(&expected.name, expected.element, expected.columns, &expected.bytes)?;
        }
        writer.end_frame()?;
        writer.finish()?;
        Reader::open(&path)
    };
    let reader = run().map_err(|e| e.to_string())?;
    (0..61).try_for_each(|i| frame(&reader, i, &content("grown", i)))
}
