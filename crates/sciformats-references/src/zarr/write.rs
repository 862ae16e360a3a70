//! A store of Zarr with the elements of a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sciformats::{ArrayInfo, ElementType, Error, File, Object, ObjectId, Range, Result, Slab};
use serde_json::{Map, Value, json};

use super::codec::{Codec, Numbers};
use super::metadata::{data_type, element, without_arrays};
use super::{METADATA, io};
use crate::attributes::{self, Elements};
use crate::bare;
use crate::chunks::Chunks;
use crate::inline::vlen_utf8;
use crate::model::{Options, Report, Sink, Treatment, VirtualArray};
use crate::scan::{describe, nested_path};

/// The largest chunk whose shape nobody chose, in bytes.
const CHUNK: u64 = 4 << 20;

/// The largest chunk or shard, of which one is in memory at a time.
const LARGEST: u64 = 1 << 30;

/// How a store is written.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// The shape of the chunks, cut to each array; dimensions that it does not name are whole. Without it, chunks are as in the file,
    /// or of up to 4 MiB.
    pub chunks: Option<Vec<u64>>,
    /// The shape of the shards, each a file of many chunks. It is rounded up to whole chunks, and dimensions that it does not name are
    /// whole. Without it, each chunk is a file.
    pub shards: Option<Vec<u64>>,
    /// The compression: `zstd`, `gzip` or `none`. Without it, Zstandard if this build has it, and otherwise gzip.
    pub filter: Option<String>,
    /// The level of the compression.
    pub level: Option<u32>,
    /// When this becomes true, writing ends with an error before the next file.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl WriteOptions {
    /// Sets the shape of the chunks.
    #[must_use]
    pub fn with_chunks(self, chunks: impl Into<Vec<u64>>) -> Self {
        Self { chunks: Some(chunks.into()), ..self }
    }

    /// Sets the shape of the shards.
    #[must_use]
    pub fn with_shards(self, shards: impl Into<Vec<u64>>) -> Self {
        Self { shards: Some(shards.into()), ..self }
    }

    /// Sets the compression.
    #[must_use]
    pub fn with_filter(self, filter: impl Into<String>) -> Self {
        Self { filter: Some(filter.into()), ..self }
    }

    /// Sets a flag that cancels the writing.
    #[must_use]
    pub fn with_cancel(self, cancel: Arc<AtomicBool>) -> Self {
        Self { cancel: Some(cancel), ..self }
    }

    /// Fails if the writing was cancelled.
    fn go_on(&self) -> Result<()> {
        match &self.cancel {
            Some(cancel) if cancel.load(Ordering::Relaxed) => {
                Err(Error::io("write", std::io::ErrorKind::Interrupted.into()))
            }
            _ => Ok(()),
        }
    }

    fn codec(&self) -> Result<Option<Codec>> {
        let usual = if cfg!(feature = "zstd") { "zstd" } else { "gzip" };
        let level = |most: u32, usual: u32| match self.level {
            Some(level) if level > most => {
                Err(Error::usage("level", format!("is {level}, but at most {most} is possible")))
            }
            level => Ok(level.unwrap_or(usual)),
        };
        Ok(match self.filter.as_deref().unwrap_or(usual) {
            "none" => None,
            "gzip" | "zlib" | "deflate" => Some(Codec::Gzip(level(9, 5)?)),
            "zstd" if cfg!(feature = "zstd") => Some(Codec::Zstd(i32::try_from(level(22, 3)?).unwrap_or(3))),
            // The numbers are those of each array.
            "pcodec" if cfg!(feature = "pcodec") => numbers(&"float64".into())
                .map(|any| level(12, 8).map(|level| Codec::Pcodec(any, level)))
                .transpose()?,
            other => {
                return Err(Error::usage(
                    "filter",
                    format!("{other} is unknown in a store of Zarr; choose none, gzip, zstd or pcodec"),
                ));
            }
        })
    }
}

/// Writes the groups, arrays and attributes of a file into an existing, empty folder. Memory holds one chunk, or one shard.
///
/// # Errors
/// `Io` if the folder cannot be written, and of the kind `Interrupted` if the writing was cancelled; `Usage` for options that are
/// wrong, and those of reading elements. What Zarr cannot hold is an entry of the report.
pub fn write(file: &File, folder: &Path, options: &WriteOptions) -> Result<Report> {
    make(file, Some(folder), options)
}

/// Returns the report of [`write()`] without writing anything. Of the elements only texts are read, because Zarr has no texts that are
/// not UTF-8.
///
/// # Errors
/// Those of [`write()`], apart from those of reading elements and of writing.
pub fn rehearse(file: &File, options: &WriteOptions) -> Result<Report> {
    make(file, None, options)
}

fn make(file: &File, folder: Option<&Path>, options: &WriteOptions) -> Result<Report> {
    let mut writer = Writer { file, folder, options, codec: options.codec()?, notes: Vec::new() };
    let make = |id: ObjectId, info: &ArrayInfo| {
        let (array, treatment) = described(info, options)?;
        Reading { file, id, info, array: &array }.are_utf8()?;
        Ok((array, treatment))
    };
    let mut report = describe(file, &Options::new(""), &mut writer, &make)?;
    report.notes.append(&mut writer.notes);
    Ok(report)
}

/// Returns an array without its chunks. Its dtype is the type in the words of Zarr 3.
fn described(
    info: &ArrayInfo,
    options: &WriteOptions,
) -> std::result::Result<(VirtualArray, Treatment), String> {
    let shape = info.shape.clone().ok_or("a null dataspace has no elements")?;
    let (element, more) = without_arrays(&info.element);
    let (dtype, fill) = data_type(element)?;
    if *element == ElementType::Text && !more.is_empty() {
        return Err("its elements are arrays of texts".into());
    }
    let size = element.size().or(info.width).unwrap_or(16).max(1);
    let mut chunk_shape: Vec<u64> = match (&options.chunks, &info.chunks) {
        (Some(wanted), _) => shape
            .iter()
            .enumerate()
            .map(|(axis, n)| wanted.get(axis).map_or(*n, |side| (*side).min(*n)).max(1))
            .collect(),
        (None, Some(own)) if own.len() == shape.len() => own.iter().map(|side| (*side).max(1)).collect(),
        (None, _) => shape.iter().map(|n| (*n).max(1)).collect(),
    };
    chunk_shape.extend(more.iter().map(|n| (*n).max(1)));
    let bytes = |sides: &[u64]| sides.iter().try_fold(size, |all, n| all.checked_mul(*n)).unwrap_or(u64::MAX);
    let most = if options.chunks.is_some() || info.chunks.is_some() { LARGEST } else { CHUNK };
    for axis in 0..shape.len() {
        while bytes(&chunk_shape) > most && chunk_shape.get(axis).is_some_and(|side| *side > 1) {
            if let Some(side) = chunk_shape.get_mut(axis) {
                *side = side.div_ceil(2);
            }
        }
    }
    let shape: Vec<u64> = shape.into_iter().chain(more).collect();
    let grid = crate::extent::grid(&shape, &chunk_shape);
    let count = crate::extent::count(&grid)?;
    let array = VirtualArray {
        path: String::new(),
        shape,
        chunk_shape,
        dtype,
        fill,
        marked: false,
        columns: false,
        filters: Vec::new(),
        attributes: Map::new(),
        dimensions: Vec::new(),
        chunks: Chunks::new(grid),
    };
    Ok((array, Treatment::Referenced { chunks: count }))
}

struct Writer<'a> {
    file: &'a File,
    /// The folder of the store; `None` if nothing is written.
    folder: Option<&'a Path>,
    options: &'a WriteOptions,
    codec: Option<Codec>,
    /// What readers see in another way.
    notes: Vec<(String, String)>,
}

impl Writer<'_> {
    fn place(&self, path: &str) -> Option<PathBuf> {
        // No part of the path leads out of the folder: the scan refuses such names.
        let parts = path.split('/').filter(|part| !part.is_empty());
        Some(parts.fold(self.folder?.to_owned(), |place, part| place.join(part)))
    }

    /// Writes the metadata of an object, and returns its folder; `None` if nothing is written.
    fn metadata(&self, path: &str, metadata: &Value) -> Result<Option<PathBuf>> {
        self.options.go_on()?;
        let Some(folder) = self.place(path) else { return Ok(None) };
        fs::create_dir_all(&folder).map_err(|error| io("create", &folder, error))?;
        let place = folder.join(METADATA);
        let text = serde_json::to_string_pretty(metadata)
            .map_err(|error| Error::io("write", std::io::Error::other(error)))?;
        fs::write(&place, bare::text(&text)).map_err(|error| io("write", &place, error))?;
        Ok(Some(folder))
    }

    /// The shape of the shards, if there are any.
    fn shards(&self, array: &VirtualArray) -> Option<Vec<u64>> {
        let wanted = self.options.shards.as_ref()?;
        let side = |(axis, inner): (usize, &u64)| {
            let length = array.shape.get(axis).copied().unwrap_or(1).max(1);
            let side = wanted.get(axis).copied().unwrap_or(length).clamp(1, length);
            side.div_ceil(*inner).saturating_mul(*inner) // a bound: one chunk longer than the array at most
        };
        Some(array.chunk_shape.iter().enumerate().map(side).collect())
    }

    /// The codec of the chunks of an array; `None` if it has none, or elements that the codec does not compress.
    fn codec_of(&self, array: &VirtualArray) -> Option<Codec> {
        match self.codec {
            Some(Codec::Pcodec(_, level)) => {
                numbers(&array.dtype).map(|numbers| Codec::Pcodec(numbers, level))
            }
            codec => codec,
        }
    }

    fn codecs(&self, array: &VirtualArray) -> Vec<Value> {
        let first = match array.dtype.as_str() == Some("string") {
            true => json!({"name": "vlen-utf8"}),
            false => json!({"name": "bytes", "configuration": {"endian": "little"}}),
        };
        let codec = self.codec_of(array);
        if let Some(Codec::Pcodec(_, level)) = codec {
            let configuration = json!({
                "level": level,
                "mode_spec": "auto",
                "delta_spec": "auto",
                "paging_spec": "equal_pages_up_to",
                "delta_encoding_order": null,
                "equal_pages_up_to": 262_144,
            });
            return vec![json!({"name": "numcodecs.pcodec", "configuration": configuration})];
        }
        let second = codec.map(|codec| match codec {
            Codec::Gzip(level) => json!({"name": "gzip", "configuration": {"level": level}}),
            Codec::Zstd(level) => {
                json!({"name": "zstd", "configuration": {"level": level, "checksum": false}})
            }
            Codec::Crc32c => json!({"name": "crc32c"}),
            Codec::Blosc => json!({"name": "blosc"}),
            Codec::Pcodec(..) => json!({"name": "numcodecs.pcodec"}),
        });
        std::iter::once(first).chain(second).collect()
    }

    /// Writes the chunks or shards of an array, one file after another.
    fn chunks(&self, array: &VirtualArray, folder: &Path, shards: Option<&[u64]>) -> Result<()> {
        if array.shape.contains(&0) {
            return Ok(());
        }
        let path = nested_path(self.file, &array.path);
        let id = self.file.resolve(path)?;
        let Object::Array(info) = self.file.source().object(id)? else {
            return Err(Error::internal("an array of the plan is no longer an array"));
        };
        let reading = Reading { file: self.file, id, info: &info, array };
        let sides = shards.unwrap_or(&array.chunk_shape);
        let grid = Chunks::new(crate::extent::grid(&array.shape, sides));
        let count = crate::extent::count(grid.grid()).map_err(Error::unsupported)?;
        let mut index = Vec::new();
        for number in 0..count {
            index.clear();
            grid.index(number, &mut index);
            let bytes = match shards {
                None => reading.chunk(&index)?.map(|bytes| self.encoded(array, bytes)).transpose()?,
                Some(shards) => self.shard(&reading, &index, shards)?,
            };
            self.options.go_on()?;
            let Some(bytes) = bytes else { continue };
            let key = index.iter().fold(folder.join("c"), |place, at| place.join(at.to_string()));
            if let Some(parent) = key.parent() {
                fs::create_dir_all(parent).map_err(|error| io("create", parent, error))?;
            }
            fs::write(&key, bytes).map_err(|error| io("write", &key, error))?;
        }
        Ok(())
    }

    fn encoded(&self, array: &VirtualArray, bytes: Vec<u8>) -> Result<Vec<u8>> {
        match self.codec_of(array) {
            Some(codec) => codec.encode(bytes),
            None => Ok(bytes),
        }
    }

    /// The chunks of a shard one after another, and where each of them is; `None` if all are missing.
    fn shard(&self, reading: &Reading<'_>, index: &[u64], shards: &[u64]) -> Result<Option<Vec<u8>>> {
        let inner = &reading.array.chunk_shape;
        let grid = Chunks::new(shards.iter().zip(inner).map(|(outer, inner)| outer / inner).collect());
        let count = crate::extent::count(grid.grid()).map_err(Error::unsupported)?;
        let (mut out, mut table, mut own, mut any) = (Vec::new(), Vec::new(), Vec::new(), false);
        for number in 0..count {
            own.clear();
            grid.index(number, &mut own);
            let place = own.iter().zip(index).zip(grid.grid());
            let place: Option<Vec<u64>> =
                place.map(|((own, shard), count)| shard.checked_mul(*count)?.checked_add(*own)).collect();
            let place = place
                .ok_or_else(|| Error::unsupported("an array with more chunks than 64 bits can count"))?;
            self.options.go_on()?;
            let outside = place.iter().zip(inner).zip(&reading.array.shape);
            let outside = outside.clone().any(|((at, side), length)| at.saturating_mul(*side) >= *length); // a bound
            let bytes = if outside { None } else { reading.chunk(&place)? };
            match bytes.map(|bytes| self.encoded(reading.array, bytes)).transpose()? {
                Some(bytes) => {
                    table.extend((out.len() as u64).to_le_bytes());
                    table.extend((bytes.len() as u64).to_le_bytes());
                    out.extend(bytes);
                    any = true;
                }
                None => table.extend([0xff; 16]),
            }
        }
        out.extend(Codec::Crc32c.encode(table)?);
        Ok(any.then_some(out))
    }
}

impl Sink for Writer<'_> {
    fn group(&mut self, path: &str, attributes: &Map<String, Value>) -> Result<()> {
        let metadata = json!({"zarr_format": 3, "node_type": "group", "attributes": attributes});
        self.metadata(path, &metadata).map(|_| ())
    }

    fn array(&mut self, array: &VirtualArray) -> Result<()> {
        let shards = self.shards(array);
        let mut attributes = array.attributes.clone();
        if let Some(told) = attributes::mark_in_zarr3(&mut attributes, elements(&array.dtype)) {
            self.notes.push((array.path.clone(), told));
        }
        let codecs = match &shards {
            None => self.codecs(array),
            Some(_) => vec![json!({"name": "sharding_indexed", "configuration": {
                "chunk_shape": array.chunk_shape,
                "codecs": self.codecs(array),
                "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
                "index_location": "end",
            }})],
        };
        let metadata = json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": array.shape,
            "data_type": array.dtype,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shards.as_ref().unwrap_or(&array.chunk_shape)}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": array.fill,
            "codecs": codecs,
            "attributes": attributes,
            "dimension_names": array.dimensions,
        });
        match self.metadata(&array.path, &metadata)? {
            Some(folder) => self.chunks(array, &folder, shards.as_deref()),
            None => Ok(()),
        }
    }
}

/// Returns the numbers of a data type; `None` if pcodec does not compress them.
fn numbers(dtype: &Value) -> Option<Numbers> {
    element(dtype).ok().and_then(|element| Numbers::of(&element))
}

fn elements(dtype: &Value) -> Elements {
    match dtype.as_str() {
        Some("float32") => Elements::Floats(4),
        Some(name) if name.starts_with("float") => Elements::Floats(8),
        Some(name) if name.starts_with("complex") => Elements::Complex,
        Some(name) if name != "string" => Elements::Whole,
        _ => Elements::Others,
    }
}

/// An array that is read chunk by chunk.
struct Reading<'a> {
    file: &'a File,
    id: ObjectId,
    info: &'a ArrayInfo,
    array: &'a VirtualArray,
}

impl Reading<'_> {
    /// Whether all elements are UTF-8, if they are texts. What else is wrong with them is found when they are written.
    fn are_utf8(&self) -> std::result::Result<(), String> {
        let grid = self.array.chunks.grid();
        if self.info.element != ElementType::Text || grid.contains(&0) {
            return Ok(());
        }
        let mut index = Vec::new();
        for number in 0..crate::extent::count(grid)? {
            index.clear();
            self.array.chunks.index(number, &mut index);
            let slab = self.slab(&index).map_err(|error| error.to_string())?;
            let mut bytes = Vec::new();
            if self.file.read(self.id, &slab, &mut bytes).is_ok() {
                vlen_utf8(&bytes, slab.len())?;
            }
        }
        Ok(())
    }

    /// The elements of a chunk.
    fn slab(&self, index: &[u64]) -> Result<Slab> {
        let shape = self.info.shape.as_deref().unwrap_or_default();
        // Dimensions that the type adds are whole.
        let mut ranges = Vec::new();
        for ((at, side), length) in index.iter().zip(&self.array.chunk_shape).zip(shape) {
            let start = at.checked_mul(*side).filter(|start| start < length);
            let start = start.ok_or_else(|| Error::internal("a chunk is outside of its array"))?;
            ranges.push(Range::new(start, (*side).min(length - start)));
        }
        Slab::new(shape, ranges)
    }

    /// Reads a chunk, with zeros beyond the end of the array; `None` if it is all zeros.
    fn chunk(&self, index: &[u64]) -> Result<Option<Vec<u8>>> {
        let shape = self.info.shape.as_deref().unwrap_or_default();
        let slab = self.slab(index)?;
        let mut bytes = Vec::new();
        self.file.read(self.id, &slab, &mut bytes)?;
        let found = slab.shape();
        let more = self.array.chunk_shape.get(shape.len()..).unwrap_or_default();
        let found: Vec<u64> = found.iter().chain(more).copied().collect();
        if self.info.element == ElementType::Text {
            return self.texts(&bytes, &found).map(Some);
        }
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        if found == self.array.chunk_shape {
            return Ok(Some(bytes));
        }
        let count = found.iter().product::<u64>().max(1);
        let width = bytes.len() as u64 / count;
        padded(&bytes, (&found, &self.array.chunk_shape), width).map(Some)
    }

    /// Texts in the form of the codec `vlen-utf8`, with empty ones beyond the end of the array.
    fn texts(&self, bytes: &[u8], found: &[u64]) -> Result<Vec<u8>> {
        let sides = &self.array.chunk_shape;
        let whole: u64 = sides.iter().product();
        let mut all: Vec<&[u8]> = Vec::new();
        let mut rest = bytes;
        let short = || Error::internal("texts are shorter than they say");
        while let Some((length, after)) = rest.split_first_chunk::<8>() {
            let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| short())?;
            all.push(rest.get(..length.saturating_add(8)).ok_or_else(short)?);
            rest = after.get(length..).ok_or_else(short)?;
        }
        let mut out = Vec::new();
        let (grid, inside) = (Chunks::new(sides.clone()), Chunks::new(found.to_vec()));
        let mut index = Vec::new();
        for number in 0..whole {
            index.clear();
            grid.index(number, &mut index);
            let text = inside.number(&index).and_then(|number| usize::try_from(number).ok());
            out.extend_from_slice(text.and_then(|number| all.get(number)).copied().unwrap_or(&[0; 8]));
        }
        vlen_utf8(&out, whole).map_err(Error::unsupported)
    }
}

/// Copies rows of elements into the front of a larger chunk of zeros.
fn padded(bytes: &[u8], (found, sides): (&[u64], &[u64]), width: u64) -> Result<Vec<u8>> {
    let large = || Error::unsupported("a chunk that is larger than memory");
    let size = sides.iter().try_fold(width, |all, n| all.checked_mul(*n)).filter(|size| *size <= LARGEST);
    let mut out = vec![0; usize::try_from(size.ok_or_else(large)?).map_err(|_| large())?];
    let (Some((run, rows)), Some((_, outer))) = (found.split_last(), sides.split_last()) else {
        return Ok(bytes.to_vec());
    };
    let run = usize::try_from(run.checked_mul(width).ok_or_else(large)?).map_err(|_| large())?;
    let line = usize::try_from(sides.last().copied().unwrap_or(1).checked_mul(width).ok_or_else(large)?)
        .map_err(|_| large())?;
    let (grid, inside) = (Chunks::new(outer.to_vec()), Chunks::new(rows.to_vec()));
    let mut index = Vec::new();
    for (number, row) in bytes.chunks_exact(run.max(1)).enumerate() {
        index.clear();
        inside.index(number as u64, &mut index);
        let place = grid.number(&index).and_then(|place| usize::try_from(place).ok()?.checked_mul(line));
        let target = place.and_then(|place| out.get_mut(place..)?.get_mut(..run));
        target.ok_or_else(|| Error::internal("a row is outside of its chunk"))?.copy_from_slice(row);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_at_the_front_of_a_chunk() {
        let bytes = [1, 2, 3, 4];
        assert_eq!(padded(&bytes, (&[2, 2], &[3, 3]), 1).unwrap(), [1, 2, 0, 3, 4, 0, 0, 0, 0]);
        assert_eq!(padded(&bytes, (&[1], &[2]), 4).unwrap(), [1, 2, 3, 4, 0, 0, 0, 0]);
    }
}
