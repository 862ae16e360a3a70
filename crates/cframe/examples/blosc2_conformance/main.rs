//! Our side of the conformance run. It writes files for another program to check, and checks the files of that program.
//!
//! `blosc2_conformance write DIR`, `blosc2_conformance check DIR`. Both sides list the same cases and compute the contents with
//! the same formula, so neither side compares only what it wrote itself. `blosc2_conformance compress INPUTS RESULTS` compresses what the
//! other side made.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the checks are printed")]

use std::path::Path;
use std::process::ExitCode;

use cframe::{Array, ArrayParams, Error, Frame, OpenOptions, Params, Range, Result, SChunk, Slab, Special};

mod cells;
mod contents;
mod more;
mod odd;
use contents::{
    ARRAYS, CODECS, DTYPES, FILTERS, SPLITS, Shapes, TYPE_SIZES, array_file, buffer, chunks, codec, content,
    edited, elements, in_matrix, packed, packed_blocks, text, vlmeta,
};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let result = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", folder] => write(Path::new(folder)),
        ["check", folder] => {
            check(Path::new(folder));
            Ok(())
        }
        ["compress", inputs, results] => odd::compress(Path::new(inputs), Path::new(results)),
        _ => Err(Error::usage("arguments", "must be `write DIR`, `check DIR` or `compress INPUTS RESULTS`")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

// --- write ---

fn write(folder: &Path) -> Result<()> {
    for (name, codec) in CODECS {
        for (filters_name, filters) in FILTERS {
            for typesize in TYPE_SIZES.into_iter().filter(|&size| in_matrix(filters_name, size)) {
                for (number, split) in SPLITS {
                    let blocksize = 2048 / typesize * typesize;
                    let params = Params::new(typesize)
                        .with_codec(codec)
                        .with_filters(filters)?
                        .with_split(split)
                        .with_blocksize(blocksize);
                    let file = format!("chunks-{name}-{filters_name}-{typesize}-{number}.b2frame");
                    put(SChunk::create(folder.join(file), params)?, &chunks(typesize))?;
                }
            }
        }
    }
    for (shape, chunks, blocks) in ARRAYS {
        write_array(&folder.join(array_file(shape)), "<i4", (shape, chunks, blocks))?;
    }
    for (number, dtype) in DTYPES.iter().enumerate() {
        write_array(&folder.join(format!("dtypes-{number}.b2nd")), dtype, (&[10, 11], &[4, 5], &[3, 2]))?;
    }
    write_frames(folder)?;
    write_buffers(folder)?;
    cells::write(folder)?;
    more::write(folder)
}

fn put(mut schunk: SChunk, chunks: &[Vec<u8>]) -> Result<()> {
    chunks.iter().try_for_each(|chunk| schunk.append(chunk))?;
    schunk.commit()
}

fn write_array(path: &Path, dtype: &str, (shape, chunks, blocks): Shapes) -> Result<()> {
    let mut array =
        Array::create(path, &ArrayParams::new(shape, dtype)?.with_chunks(chunks).with_blocks(blocks))?;
    let bytes = elements(dtype, array.typesize() as usize, array.len());
    array.write_slab_bytes(&Slab::all(shape)?, &bytes)?;
    array.commit()
}

fn write_frames(folder: &Path) -> Result<()> {
    let at = |name: &str| folder.join(name);
    let nan: Vec<u8> = f64::NAN.to_le_bytes().repeat(500);
    put(
        SChunk::create(at("special-kinds.b2frame"), Params::new(8))?,
        &[vec![0; 4000], content("smooth", 1, 4000), nan],
    )?;
    let value = content("random", 1, 8);
    for (name, kind) in [("zero", Special::Zeros), ("nan", Special::Nan), ("value", Special::Value)] {
        let mut schunk = SChunk::create(at(&format!("special-{name}.b2frame")), Params::new(8))?;
        for size in [4000, 4000, 234 * 8] {
            schunk.append_special(kind, &value, size)?;
        }
        schunk.commit()?;
    }
    for count in [0, 1, 5, 16] {
        let mut schunk = SChunk::create(at(&format!("vlmeta-{count}.b2frame")), Params::new(1))?;
        schunk.append(&content("smooth", 0, 1000))?;
        vlmeta(count).iter().try_for_each(|(name, value)| schunk.set_vlmeta(name, value))?;
        schunk.commit()?;
    }
    for (name, codec) in CODECS {
        let path = at(&format!("sparse-{name}.b2frame"));
        let mut schunk = SChunk::create_sparse(path, Params::new(4).with_codec(codec))?;
        for i in 0..5 {
            schunk.append(&content(if i % 2 == 1 { "smooth" } else { "zeros" }, i, 4000))?;
        }
        schunk.commit()?;
        schunk.remove(1)?;
        schunk.commit()?;
    }
    for size in [300, 70_000] {
        let chunks: Vec<_> = (0..3).map(|i| content("ramp", i, 3 * size as usize)).collect();
        put(SChunk::create(at(&format!("wide-{size}.b2frame")), Params::new(size))?, &chunks)?;
    }
    for name in ["lz4", "lz4hc", "zstd"] {
        let params = Params::new(1)
            .with_codec(codec(name))
            .with_filters(&[])?
            .with_blocksize(4000)
            .with_dictionary(true);
        put(SChunk::create(at(&format!("dictionary-{name}.b2frame")), params)?, &[text(200_000)])?;
    }
    write_edited(folder)
}

/// Writes chunks and blocks of different sizes, and a frame that was edited.
fn write_edited(folder: &Path) -> Result<()> {
    let at = |name: &str| folder.join(name);
    let variable: Vec<_> = (0..9).map(|i| content("smooth", i, 100 * i as usize + 1)).collect();
    put(SChunk::create(at("variable-chunks.b2frame"), Params::new(1))?, &variable)?;
    let mut schunk = SChunk::create(at("variable-blocks.b2frame"), Params::new(1))?;
    for (kind, count) in [("smooth", 7), ("random", 3)] {
        let blocks: Vec<_> = (0..count).map(|i| content(kind, i, 50 * i as usize + 1)).collect();
        schunk.append_blocks(&blocks.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
    }
    schunk.commit()?;
    let mut schunk = SChunk::create(at("edited.b2frame"), Params::new(4))?;
    for i in 0..6 {
        schunk.append(&content("random", i, 4000))?;
        schunk.commit()?;
    }
    schunk.update(2, &content("smooth", 50, 4000))?;
    schunk.commit()?;
    schunk.insert(1, &content("ramp", 51, 4000))?;
    schunk.commit()?;
    schunk.remove(4)?;
    schunk.commit()?;
    let mut behind = content("random", 5, 1001);
    behind.extend(schunk.to_bytes()?);
    save(&at("offset.b2frame"), &behind)
}

fn write_buffers(folder: &Path) -> Result<()> {
    for i in 0..8 {
        let (data, typesize) = buffer(i);
        let params = Params::new(typesize).with_codec(CODECS[i % 5].1);
        save(&folder.join(format!("buffer-{i}.chunk")), &cframe::compress(&data, &params)?)?;
        save(&folder.join(format!("blosc1-{i}.chunk")), &cframe::compress(&data, &params.with_blosc1())?)?;
    }
    Ok(())
}

fn save(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).map_err(|e| Error::io("write", e).in_file(path, None))
}

// --- check ---

/// The result of a check: nothing, or what is wrong.
type Finding = std::result::Result<(), String>;

fn checked(case: &str, run: impl FnOnce() -> Result<Finding>) {
    went("we read theirs", case, run);
}

/// Runs a check; `way` says which side wrote, changed and read the file.
fn went(way: &str, case: &str, run: impl FnOnce() -> Result<Finding>) {
    let finding = run().unwrap_or_else(|error| Err(error.to_string()));
    let line = match finding {
        Ok(()) => serde_json::json!({ "case": case, "way": way, "ok": true }),
        Err(why) => serde_json::json!({ "case": case, "way": way, "ok": false, "why": why }),
    };
    println!("{line}");
}

fn compare(found: &[u8], expected: &[u8]) -> Finding {
    if found == expected {
        return Ok(());
    }
    match found.iter().zip(expected).position(|(a, b)| a != b) {
        Some(at) => Err(format!("differs from byte {at} on")),
        None => Err(format!("{} bytes, expected {}", found.len(), expected.len())),
    }
}

fn check_frame(frame: &Frame, expected: &[Vec<u8>]) -> Result<Finding> {
    if frame.chunks() != expected.len() as u64 {
        return Ok(Err(format!("{} chunks, expected {}", frame.chunks(), expected.len())));
    }
    for (index, content) in (0..).zip(expected) {
        let finding = compare(&frame.chunk(index)?.decode()?, content);
        if finding.is_err() {
            return Ok(finding.map_err(|why| format!("chunk {index}: {why}")));
        }
    }
    // A part that extends over several chunks and begins inside a block.
    let whole = expected.concat();
    let (from, to) = (whole.len() / 3 + 1, whole.len() * 2 / 3);
    let mut part = vec![0; to.saturating_sub(from)];
    frame.read_bytes(from as u64, &mut part)?;
    Ok(compare(&part, &whole[from..from + part.len()]))
}

fn check(folder: &Path) {
    let open = |name: &str| Frame::open(folder.join(name));
    for (name, _) in CODECS {
        for (filters, _) in FILTERS {
            for typesize in TYPE_SIZES.into_iter().filter(|&size| in_matrix(filters, size)) {
                for (split, _) in SPLITS {
                    checked(&format!("{name}: {filters} {typesize} split {split}"), || {
                        let file = format!("chunks-{name}-{filters}-{typesize}-{split}.b2frame");
                        check_frame(&open(&file)?, &chunks(typesize))
                    });
                }
            }
        }
    }
    for (shape, ..) in ARRAYS {
        checked(&format!("arrays: {shape:?}"), || check_array(&folder.join(array_file(shape)), "<i4", shape));
    }
    for (number, dtype) in DTYPES.iter().enumerate() {
        checked(&format!("dtypes: {dtype}"), || {
            check_array(&folder.join(format!("dtypes-{number}.b2nd")), dtype, &[10, 11])
        });
    }
    check_frames(&open);
    for i in 0..8 {
        checked(&format!("buffer: {i}"), || {
            let path = folder.join(format!("buffer-{i}.chunk"));
            let bytes = std::fs::read(&path).map_err(|e| Error::io("read", e).in_file(&path, None))?;
            Ok(compare(&cframe::decompress(&bytes)?, &buffer(i).0))
        });
    }
    cells::check(folder);
    more::check(folder);
    went("edited here", "edited: by Python, then here", || check_edit(&folder.join("edited.b2frame")));
}

fn check_frames(open: &dyn Fn(&str) -> Result<Frame>) {
    let nan: Vec<u8> = f64::NAN.to_le_bytes().repeat(500);
    let kinds = [vec![0; 4000], content("smooth", 1, 4000), nan.clone()];
    checked("special: among others", || check_frame(&open("special-kinds.b2frame")?, &kinds));
    let value = content("random", 1, 8).repeat(500);
    for (name, chunk) in [("zero", vec![0; 4000]), ("uninit", vec![0; 4000]), ("nan", nan), ("value", value)]
    {
        checked(&format!("special: {name}"), || {
            let last = chunk[..234 * 8].to_vec();
            check_frame(&open(&format!("special-{name}.b2frame"))?, &[chunk.clone(), chunk, last])
        });
    }
    for count in [0, 1, 5, 16] {
        checked(&format!("vlmeta: {count}"), || {
            let frame = open(&format!("vlmeta-{count}.b2frame"))?;
            let names: Vec<_> = frame.vlmeta_names().map(str::to_owned).collect();
            let found: Result<Vec<_>> =
                names.into_iter().map(|name| Ok((name.clone(), frame.vlmeta(&name)?))).collect();
            Ok(if found? == vlmeta(count) { Ok(()) } else { Err("names or values differ".to_owned()) })
        });
    }
    for (name, _) in CODECS {
        checked(&format!("sparse: {name}"), || {
            let chunks = [0, 2, 3, 4].map(|i| content(if i % 2 == 1 { "smooth" } else { "zeros" }, i, 4000));
            check_frame(&open(&format!("sparse-{name}.b2frame"))?, &chunks)
        });
    }
    for size in [300, 70_000] {
        checked(&format!("wide types: {size}"), || {
            let chunks: Vec<_> = (0..3).map(|i| content("ramp", i, 3 * size)).collect();
            check_frame(&open(&format!("wide-{size}.b2frame"))?, &chunks)
        });
    }
    for name in ["lz4", "lz4hc", "zstd"] {
        checked(&format!("dictionary: {name}"), || {
            let frame = open(&format!("dictionary-{name}.b2frame"))?;
            if !frame.chunk(0)?.has_dictionary() {
                return Ok(Err("the other side made no dictionary".to_owned()));
            }
            check_frame(&frame, &[text(200_000)])
        });
    }
    went("edited there", "edited: by Python", || check_frame(&open("edited.b2frame")?, &edited()));
    checked("variable: objects", || {
        let chunks: Vec<_> = (0..9).map(|i| packed(&content("smooth", i, 100 * i as usize + 1))).collect();
        check_frame(&open("variable-objects.b2frame")?, &chunks)
    });
    checked("variable: batches", || {
        let chunks = [packed_blocks("smooth", 7), packed_blocks("random", 3)];
        check_frame(&open("variable-batches.b2b")?, &chunks)
    });
}

fn check_array(path: &Path, dtype: &str, shape: &[u64]) -> Result<Finding> {
    let array = Array::open(path)?;
    let size = array.typesize() as usize;
    let expected = elements(dtype, size, array.len());
    if array.shape() != shape || array.element()? != cframe::DType::parse(dtype)? {
        return Ok(Err(format!("{:?} {:?}", array.dtype(), array.shape())));
    }
    let finding = compare(&array.read_bytes()?, &expected);
    if finding.is_err() {
        return Ok(finding);
    }
    let ranges: Vec<_> = shape.iter().map(|&n| Range::new(n / 3, n.div_ceil(2))).collect();
    let slab = Slab::new(shape, ranges)?;
    let part: Vec<u8> = slab
        .runs()
        .flat_map(|run| (0..run.len).map(move |i| (run.from + i * run.step) as usize * size))
        .flat_map(|at| expected[at..at + size].to_vec())
        .collect();
    Ok(compare(&array.read_slab_bytes(&slab)?, &part))
}

/// Edits a copy of a file of the other side, and reads it again.
fn check_edit(path: &Path) -> Result<Finding> {
    let copy = path.with_extension("copy");
    std::fs::copy(path, &copy).map_err(|e| Error::io("copy", e).in_file(path, None))?;
    let mut schunk = SChunk::open_with(&copy, &OpenOptions::default())?;
    let mut expected = edited();
    schunk.append(&content("smooth", 70, 4000))?;
    schunk.commit()?;
    schunk.insert(0, &content("ramp", 71, 4000))?;
    schunk.update(3, &content("random", 72, 4000))?;
    schunk.remove(2)?;
    schunk.commit()?;
    expected.push(content("smooth", 70, 4000));
    expected.insert(0, content("ramp", 71, 4000));
    expected[3] = content("random", 72, 4000);
    expected.remove(2);
    check_frame(&Frame::open(&copy)?, &expected)
}
