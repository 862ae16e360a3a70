//! Cases besides the matrix: lengths, levels, typed metalayers, arrays and folders that both sides edit, and arrays of one value.

use std::path::Path;

use cframe::{Array, ArrayParams, Error, Filter, Frame, Params, Range, Result, SChunk, Slab, Value};

use crate::contents::{CODECS, FILTERS, content, elements, text};
use crate::{Finding, check_frame, checked, compare, save, went};

const LENGTHS: [usize; 5] = [0, 1, 13, 1001, 4099];

/// A single chunk whose length may not be a multiple of the item size.
struct Length {
    file: String,
    case: String,
    params: Params,
    data: Vec<u8>,
}

fn lengths() -> Result<Vec<Length>> {
    let mut out = Vec::new();
    for (codec, number) in CODECS {
        for (filters, slots) in FILTERS {
            for typesize in [1, 4, 8] {
                for len in LENGTHS {
                    // A single chunk does not contain the type size of its frame, which the other side needs to undo byte delta.
                    // It also does not write the bytes after the last item.
                    let odd = !len.is_multiple_of(typesize as usize);
                    if filters == "shuffle-bytedelta" || (filters.contains("delta") && odd) {
                        continue;
                    }
                    out.push(Length {
                        file: format!("length-{codec}-{filters}-{typesize}-{len}.chunk"),
                        case: format!("lengths: {codec} {filters} {typesize}, {len} bytes"),
                        params: Params::new(typesize).with_codec(number).with_filters(slots)?,
                        data: content("smooth", len as u64 % 7, len),
                    });
                }
            }
        }
    }
    Ok(out)
}

fn values() -> Vec<(&'static str, Value)> {
    let list =
        vec![1.into(), 2.5.into(), Value::Nil, true.into(), "text".into(), b"bytes"[..].into(), (-3).into()];
    let map = vec![("a".into(), Value::List(list)), ("b".into(), Value::Map(Vec::new()))];
    vec![
        ("map", Value::Map(map)),
        ("large", u64::MAX.into()),
        ("small", i64::MIN.into()),
        ("long", "x".repeat(300).into()),
        ("list", Value::List((0..40).map(Value::from).collect())),
    ]
}

/// An array of 4-byte integers in memory, which can be changed as in NumPy.
struct Plain {
    shape: [usize; 2],
    data: Vec<i32>,
}

impl Plain {
    fn resized(&self, shape: [usize; 2]) -> Self {
        let mut data = vec![0; shape[0] * shape[1]];
        for row in 0..shape[0].min(self.shape[0]) {
            let width = shape[1].min(self.shape[1]);
            let (to, from) = (row * shape[1], row * self.shape[1]);
            data[to..to + width].copy_from_slice(&self.data[from..from + width]);
        }
        Self { shape, data }
    }

    fn fill(mut self, rows: std::ops::Range<usize>, columns: std::ops::Range<usize>, value: i32) -> Self {
        for row in rows {
            let at = row * self.shape[1];
            self.data[at + columns.start..at + columns.end].fill(value);
        }
        self
    }
}

fn numbers(shape: [usize; 2]) -> Plain {
    let bytes = elements("<i4", 4, (shape[0] * shape[1]) as u64);
    let data = bytes.chunks_exact(4).map(|e| i32::from_le_bytes([e[0], e[1], e[2], e[3]])).collect();
    Plain { shape, data }
}

/// Returns the contents of the arrays "grown": created, cut, made wider, overwritten in part, and extended by two rows.
fn grown() -> Plain {
    let mut out = numbers([10, 11]).resized([13, 10]).fill(11..13, 2..10, 7).resized([15, 14]);
    out.data[13 * 14..].copy_from_slice(&numbers([2, 14]).data);
    out
}

fn folder_chunks() -> Vec<Vec<u8>> {
    let mut out: Vec<_> = (0..5).map(|i| content("random", i, 4000)).collect();
    out[1] = content("ramp", 20, 4000);
    out.insert(0, content("smooth", 21, 4000));
    out.remove(3);
    out.push(vec![0; 4000]);
    out
}

// --- write ---

pub(crate) fn write(folder: &Path) -> Result<()> {
    for Length { file, params, data, .. } in lengths()? {
        save(&folder.join(file), &cframe::compress(&data, &params)?)?;
    }
    for (name, codec) in CODECS {
        for level in 0..10 {
            let params =
                Params::new(1).with_codec(codec).with_level(level).with_filters(&[Filter::SHUFFLE])?;
            save(
                &folder.join(format!("level-{name}-{level}.chunk")),
                &cframe::compress(&text(70_000), &params)?,
            )?;
        }
    }
    let mut schunk = SChunk::create(folder.join("values.b2frame"), Params::new(1))?;
    schunk.append(&content("smooth", 0, 1000))?;
    values().iter().try_for_each(|(name, value)| schunk.set_vlmeta_value(name, value))?;
    schunk.commit()?;
    let mut schunk = SChunk::create(folder.join("vlmeta-40.b2frame"), Params::new(1))?;
    schunk.append(&content("smooth", 0, 1000))?;
    (0..40).try_for_each(|i| schunk.set_vlmeta_value(&format!("n{i}"), &Value::from(i)))?;
    schunk.commit()?;
    write_grown(&folder.join("grown.b2nd"))?;
    let mut sparse =
        SChunk::create_sparse(folder.join("sparse-edited.b2frame"), Params::new(4).with_codec(CODECS[3].1))?;
    (0..5).try_for_each(|i| sparse.append(&content("random", i, 4000)))?;
    sparse.commit()?;
    sparse.update(1, &content("ramp", 20, 4000))?;
    sparse.commit()?;
    sparse.insert(0, &content("smooth", 21, 4000))?;
    sparse.remove(3)?;
    sparse.append(&[0; 4000])?;
    sparse.commit()
}

fn write_grown(path: &Path) -> Result<()> {
    let spec = ArrayParams::of::<i32>(&[10, 11])?.with_chunks(&[4, 5]).with_blocks(&[3, 2]);
    let mut array = Array::create(path, &spec)?;
    array.write_slab(&Slab::all(&[10, 11])?, &numbers([10, 11]).data)?;
    array.commit()?;
    array.resize(&[13, 10])?;
    array.commit()?;
    array.write_slab(&Slab::new(&[13, 10], [Range::new(11, 2), Range::new(2, 8)])?, &[7; 16])?;
    array.resize(&[13, 14])?;
    array.commit()?;
    let rows: Vec<u8> = numbers([2, 14]).data.into_iter().flat_map(i32::to_le_bytes).collect();
    array.append_bytes(0, &rows)?;
    array.commit()
}

// --- check ---

pub(crate) fn check(folder: &Path) {
    check_chunks(folder);
    check_arrays(folder);
    checked("vlmeta: values", || {
        let found = SChunk::open(folder.join("values.b2frame"))?.vlmeta_values()?;
        let expected = values().into_iter().map(|(name, value)| (name.to_owned(), value));
        Ok(if found.iter().cloned().eq(expected) { Ok(()) } else { Err(format!("{found:?}")) })
    });
    let path = folder.join("sparse-edited.b2frame");
    went("edited there", "sparse: edited by Python", || check_frame(&Frame::open(&path)?, &folder_chunks()));
    went("edited here", "sparse: edited by Python, then here", || {
        let mut schunk = SChunk::open(&path)?;
        schunk.append(&content("smooth", 30, 4000))?;
        schunk.commit()?;
        schunk.remove(0)?;
        schunk.update(2, &content("ramp", 31, 4000))?;
        schunk.commit()?;
        let mut expected = folder_chunks();
        expected.remove(0);
        expected.push(content("smooth", 30, 4000));
        expected[2] = content("ramp", 31, 4000);
        check_frame(&Frame::open(&path)?, &expected)
    });
    for (name, element) in
        [("full", &7.5f64.to_le_bytes()[..]), ("zeros", &[0, 0]), ("nans", &f32::NAN.to_le_bytes())]
    {
        checked(&format!("arrays of one value: {name}"), || {
            let array = Array::open(folder.join(format!("value-{name}.b2nd")))?;
            Ok(compare(&array.read_bytes()?, &element.repeat(110)))
        });
    }
}

fn check_chunks(folder: &Path) {
    let bytes = |file: &str| {
        let path = folder.join(file);
        std::fs::read(&path).map_err(|e| Error::io("read", e).in_file(&path, None))
    };
    let cases = lengths().unwrap_or_else(|error| {
        checked("lengths: cases", || Err(error));
        Vec::new()
    });
    for Length { file, case, data, .. } in cases {
        checked(&case, || Ok(compare(&cframe::decompress(&bytes(&file)?)?, &data)));
    }
    for (name, _) in CODECS {
        for level in 0..10 {
            checked(&format!("levels: {name} {level}"), || {
                let chunk = bytes(&format!("level-{name}-{level}.chunk"))?;
                Ok(compare(&cframe::decompress(&chunk)?, &text(70_000)))
            });
        }
    }
}

fn check_arrays(folder: &Path) {
    let path = folder.join("grown.b2nd");
    went("edited there", "array edits: by Python", || all(&path, &grown()));
    went("edited here", "array edits: by Python, then here", || {
        let copy = path.with_extension("copy");
        std::fs::copy(&path, &copy).map_err(|e| Error::io("copy", e).in_file(&path, None))?;
        let mut array = Array::open(&copy)?;
        array.resize(&[6, 14])?;
        array.commit()?;
        array.resize(&[6, 20])?;
        array.write_slab(&Slab::new(&[6, 20], [Range::new(1, 2), Range::new(12, 8)])?, &[-5; 16])?;
        array.commit()?;
        all(&copy, &grown().resized([6, 14]).resized([6, 20]).fill(1..3, 12..20, -5))
    });
}

/// Compares an array: all of it, and every second row of every third column.
fn all(path: &Path, expected: &Plain) -> Result<Finding> {
    let array = Array::open(path)?;
    let shape = expected.shape.map(|n| n as u64);
    if array.shape() != shape {
        return Ok(Err(format!("shape {:?}, expected {shape:?}", array.shape())));
    }
    let whole = array.read_slab::<i32>(&Slab::all(&shape)?)? == expected.data;
    // Every second row of every third column.
    let ranges = [Range::new(0, shape[0].div_ceil(2)).by(2), Range::new(0, shape[1].div_ceil(3)).by(3)];
    let part = array.read_slab::<i32>(&Slab::new(&shape, ranges)?)?;
    let rows = expected.data.chunks(expected.shape[1]).step_by(2);
    let strided = part.iter().eq(rows.flat_map(|row| row.iter().step_by(3)));
    Ok(if whole && strided { Ok(()) } else { Err("values differ".to_owned()) })
}
