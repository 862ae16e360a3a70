//! A store of Zarr 3 in a folder, read chunk by chunk.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sciformats::{ArrayInfo, ElementType, Error, Limits, Range, Result, Slab};
use sciformats_core::storage::FileStorage;
use sciformats_core::{Fault, FaultKind, ReadAt};
use serde_json::{Map, Value};

use super::codec::{Codec, wrong};
use super::metadata::{Described, mark, parse};
use super::{METADATA, io};
use crate::bare;
use crate::chunks::Chunks;

/// The largest metadata, in bytes.
const LARGEST_METADATA: u64 = 16 << 20;

/// How deep groups are nested at most.
const DEEPEST: usize = 64;

/// A group or an array of a store.
#[derive(Clone, Debug)]
pub struct Node {
    /// The path, which begins with `/`.
    pub path: String,
    /// The attributes.
    pub attributes: Map<String, Value>,
    /// The array, or what is wrong with it or unknown; `None` for a group.
    pub array: Option<std::result::Result<StoredArray, String>>,
}

/// The groups and arrays of a store.
#[derive(Clone, Debug)]
pub struct Store {
    /// Each group before its members, sorted by path.
    pub nodes: Vec<Node>,
}

impl Store {
    /// Reads the metadata of all groups and arrays in a folder. Links to other places of the disk are not followed.
    ///
    /// # Errors
    /// `Io` if the folder cannot be read, `Malformed` if metadata are not JSON, and `Unsupported` if it is no store of Zarr 3, or is
    /// nested too deeply.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        if !folder.join(METADATA).is_file() {
            let old = folder.join(".zgroup").is_file() || folder.join(".zarray").is_file();
            let what = if old { "a store of Zarr 2" } else { "a folder without zarr.json" };
            return Err(Error::unsupported(format!("{what} (only stores of Zarr 3 can be read)")));
        }
        let mut nodes = Vec::new();
        walk(folder, "", 0, &mut nodes)?;
        nodes.sort_by(|a: &Node, b: &Node| a.path.cmp(&b.path));
        Ok(Self { nodes })
    }
}

fn walk(folder: &Path, path: &str, depth: usize, nodes: &mut Vec<Node>) -> Result<()> {
    if depth > DEEPEST {
        return Err(Error::unsupported(format!("a group that is nested more than {DEEPEST} levels deep")));
    }
    let place = folder.join(METADATA);
    let size = fs::metadata(&place).map_err(|error| io("read", &place, error))?.len();
    if size > LARGEST_METADATA {
        return Err(Error::unsupported(format!(
            "a metadata file of more than {LARGEST_METADATA} bytes ({})",
            place.display()
        )));
    }
    let text = fs::read(&place).map_err(|error| io("read", &place, error))?;
    let json = bare::parse(&text).map_err(|error| {
        let at = offset(&text, error.line(), error.column());
        Fault::new("text", FaultKind::Rule("is not JSON")).at("metadata of Zarr", at).in_file(&place, None)
    })?;
    if json.get("zarr_format").and_then(Value::as_u64) != Some(3) {
        return Err(Error::unsupported(format!("a version of Zarr other than 3 ({})", place.display())));
    }
    let attributes = json.get("attributes").and_then(Value::as_object).cloned().unwrap_or_default();
    let shown = if path.is_empty() { "/".to_owned() } else { path.to_owned() };
    if json.get("node_type").and_then(Value::as_str) == Some("array") {
        let array = parse(&json).map(|described| StoredArray {
            folder: folder.to_owned(),
            described,
            last: Arc::default(),
        });
        nodes.push(Node { path: shown, attributes, array: Some(array) });
        return Ok(());
    }
    nodes.push(Node { path: shown, attributes, array: None });
    let entries = fs::read_dir(folder).map_err(|error| io("read", folder, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| io("read", folder, error))?;
        let inside = entry.path();
        let real = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if let (true, Some(name)) = (real && inside.join(METADATA).is_file(), entry.file_name().to_str()) {
            walk(&inside, &format!("{path}/{name}"), depth + 1, nodes)?;
        }
    }
    Ok(())
}

/// Returns the offset of a column of a line; both are counted from 1.
fn offset(text: &[u8], line: usize, column: usize) -> u64 {
    let before = text.split_inclusive(|byte| *byte == b'\n').take(line.saturating_sub(1)); // a bound
    let start: usize = before.map(<[u8]>::len).sum();
    start.saturating_add(column.saturating_sub(1)).min(text.len()) as u64 // a bound
}

/// A shard by its place, and its index.
type Indexed = (Vec<u64>, Arc<[u8]>);

/// An array of a store.
#[derive(Clone, Debug)]
pub struct StoredArray {
    folder: PathBuf,
    described: Described,
    /// The shard of which a chunk was read last, and its index.
    last: Arc<Mutex<Option<Indexed>>>,
}

impl StoredArray {
    /// Returns its type, shape and chunks.
    pub fn info(&self) -> ArrayInfo {
        let mut info = ArrayInfo::new(self.described.element.clone(), self.described.shape.clone());
        info.chunks = Some(self.chunk_shape().to_vec());
        info
    }

    /// Returns the names of its dimensions; those without a name are empty.
    pub fn dimensions(&self) -> Option<&[String]> {
        self.described.dimensions.as_deref()
    }

    /// Returns the value of its attribute `_FillValue` as the bytes of one element; `None` if it is no such element.
    pub fn mark(&self, value: &Value) -> Option<Vec<u8>> {
        mark(value, &self.described.element)
    }

    /// Returns the first text for which `fits` is false, if the elements are texts. All chunks are decoded.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn unfit_text(&self, limits: &Limits, fits: impl Fn(&[u8]) -> bool) -> Result<Option<Vec<u8>>> {
        let described = &self.described;
        if described.element != ElementType::Text || described.shape.contains(&0) {
            return Ok(None);
        }
        let grid = Chunks::new(crate::extent::grid(&described.shape, self.chunk_shape()));
        let side = self.chunk_shape().to_vec();
        let mut index = Vec::new();
        for number in 0..crate::extent::count(grid.grid()).map_err(Error::unsupported)? {
            index.clear();
            grid.index(number, &mut index);
            let ranges = index.iter().zip(&side).zip(&described.shape).map(|((at, side), length)| {
                let start = at.saturating_mul(*side).min(*length); // a bound: it is in the shape
                Range::new(start, (*side).min(length - start))
            });
            let slab = Slab::new(&described.shape, ranges.collect::<Vec<_>>())?;
            let mut bytes = Vec::new();
            self.read(&slab, limits, &mut bytes)?;
            let mut rest = bytes.as_slice();
            while let Some((length, after)) = rest.split_first_chunk::<8>() {
                let (text, after) =
                    after.split_at_checked(memory(Some(u64::from_le_bytes(*length)))?).ok_or_else(outside)?;
                if !fits(text) {
                    return Ok(Some(text.to_vec()));
                }
                rest = after;
            }
        }
        Ok(None)
    }

    /// Returns the selection of all elements.
    ///
    /// # Errors
    /// `Usage` if there are more than 64 bits can count.
    pub fn all(&self) -> Result<Slab> {
        Slab::all(&self.described.shape)
    }

    fn chunk_shape(&self) -> &[u64] {
        self.described.inner.as_ref().map_or(self.described.file_shape.as_slice(), |(inner, _)| inner)
    }

    /// Appends the canonical bytes of the selected elements. Each chunk is decoded once.
    ///
    /// # Errors
    /// `Io` if a chunk cannot be read, `Malformed` if it cannot be decoded, and `LimitExceeded` if a chunk needs more memory than the limits permit.
    pub fn read(&self, slab: &Slab, limits: &Limits, out: &mut Vec<u8>) -> Result<()> {
        if slab.is_empty() {
            return Ok(());
        }
        let sides = self.chunk_shape();
        let counted = sides.iter().try_fold(1u64, |all, side| all.checked_mul(*side));
        let elements =
            counted.ok_or_else(|| Error::unsupported("a chunk of more elements than 64 bits can count"))?;
        let width = self.described.element.size();
        limits.memory("a chunk of a store of Zarr", elements.saturating_mul(width.unwrap_or(16)))?; // a bound
        // The chunks that the selection touches.
        let spans: Vec<(u64, u64)> = slab
            .ranges()
            .iter()
            .zip(sides)
            .map(|(range, side)| {
                let last =
                    range.start.saturating_add(range.count.saturating_sub(1).saturating_mul(range.step)); // a bound: it is in the shape
                (range.start / side, last / side - range.start / side + 1)
            })
            .collect();
        let touched = Chunks::new(spans.iter().map(|(_, count)| *count).collect());
        let count = crate::extent::count(touched.grid()).map_err(Error::unsupported)?;
        // A bound too: a text that is read takes at least its own description.
        limits.memory("elements of a store of Zarr", slab.len().saturating_mul(width.unwrap_or(24)))?;
        let mut target = match width {
            Some(width) => {
                Target::Fixed(vec![0; memory(slab.len().checked_mul(width))?], memory(Some(width))?)
            }
            None => Target::Texts(vec![Vec::new(); memory(Some(slab.len()))?]),
        };
        let mut index = Vec::new();
        for number in 0..count {
            index.clear();
            touched.index(number, &mut index);
            index.iter_mut().zip(&spans).for_each(|(at, (first, _))| *at = at.saturating_add(*first)); // a bound: it is in the grid
            let chunk = self.chunk(&index, elements, limits);
            let chunk = chunk.map_err(|error| error.in_file(&self.place_of(&self.file_of(&index)), None))?;
            self.place(&chunk, &index, slab, &mut target)?;
        }
        match target {
            Target::Fixed(bytes, _) => out.extend(bytes),
            Target::Texts(texts) => texts.into_iter().for_each(|text| {
                out.extend((text.len() as u64).to_le_bytes());
                out.extend(text);
            }),
        }
        Ok(())
    }

    /// Copies the selected elements of a chunk.
    fn place(&self, chunk: &Elements, index: &[u64], slab: &Slab, target: &mut Target) -> Result<()> {
        let sides = self.chunk_shape();
        // For each dimension: the positions in the selection and in the chunk of its first element, how many, and the step.
        let mut axes = Vec::new();
        for ((range, side), at) in slab.ranges().iter().zip(sides).zip(index) {
            let begin = at.checked_mul(*side).ok_or_else(outside)?;
            let end = begin.saturating_add(*side); // a bound: compared with only
            let step = range.step.max(1);
            let skip = begin.saturating_sub(range.start).div_ceil(step); // a bound: 0 if the selection begins later
            let first =
                range.start.checked_add(skip.checked_mul(step).ok_or_else(outside)?).ok_or_else(outside)?;
            let left = range.count.saturating_sub(skip); // a bound
            let count = if first >= end { 0 } else { left.min((end - first).div_ceil(step)) };
            if count == 0 {
                return Ok(());
            }
            axes.push((skip, first - begin, count, step));
        }
        let part = Chunks::new(axes.iter().map(|(_, _, count, _)| *count).collect());
        let (wide, narrow) = (Chunks::new(slab.shape()), Chunks::new(sides.to_vec()));
        let total = crate::extent::count(part.grid()).map_err(Error::unsupported)?;
        let (mut to, mut from, mut at) = (Vec::new(), Vec::new(), Vec::new());
        // Runs of the last dimension are copied at once, unless elements are skipped.
        let run = axes.last().filter(|(.., step)| *step == 1).map_or(1, |(_, _, count, _)| *count).max(1);
        let mut number = 0;
        while number < total {
            at.clear();
            part.index(number, &mut at);
            to.clear();
            from.clear();
            for (own, (skip, first, _, step)) in at.iter().zip(&axes) {
                to.push(own.saturating_add(*skip)); // a bound: they are in the selection and in the chunk
                from.push(own.saturating_mul(*step).saturating_add(*first));
            }
            let (Some(to), Some(from)) = (wide.number(&to), narrow.number(&from)) else {
                return Err(outside());
            };
            target.copy(chunk, (from, to, run))?;
            number = number.saturating_add(run); // a bound
        }
        Ok(())
    }

    /// The decoded elements of a chunk.
    fn chunk(&self, index: &[u64], elements: u64, limits: &Limits) -> Result<Elements> {
        let described = &self.described;
        let width = described.element.size();
        // Texts may be as long as the limits permit.
        let most = match width {
            Some(width) => elements.checked_mul(width).ok_or_else(outside)?,
            None => limits.memory,
        };
        // Checksums of four bytes may follow.
        let most = most.saturating_add(64); // a bound
        let Some(mut bytes) = self.stored(index, limits)? else {
            return Ok(Elements::Missing(described.fill.clone()));
        };
        for codec in described.codecs.iter().rev() {
            bytes = codec.decode(bytes, most)?;
        }
        let Some(width) = width else { return texts(&bytes, elements).map(Elements::Texts) };
        if bytes.len() as u64 != elements.checked_mul(width).ok_or_else(outside)? {
            return Err(wrong("bytes", "are not as many as the elements take"));
        }
        if described.big {
            let each = match &described.element {
                ElementType::Complex(n) => u64::from(n / 2),
                _ => width,
            };
            bytes.chunks_exact_mut(memory(Some(each.max(1)))?).for_each(<[u8]>::reverse);
        }
        Ok(Elements::Fixed(bytes))
    }

    /// The stored bytes of a chunk, if it is not missing. Of a shard, only its index and the chunk are read, unless the shard is
    /// encoded as a whole.
    fn stored(&self, index: &[u64], limits: &Limits) -> Result<Option<Vec<u8>>> {
        let Some((inner, _)) = &self.described.inner else { return self.file(index, limits) };
        let per: Vec<u64> =
            self.described.file_shape.iter().zip(inner).map(|(outer, inner)| outer / inner).collect();
        let shard = self.file_of(index);
        let own: Vec<u64> = index.iter().zip(&per).map(|(at, count)| at % count).collect();
        let Some(storage) = self.shard(&shard, limits)? else { return Ok(None) };
        let grid = Chunks::new(per);
        let table = self.table(&shard, &*storage, (&grid, limits))?;
        let entry = memory(grid.number(&own).ok_or_else(outside)?.checked_mul(16))?;
        let short = || wrong("index of the shard", "is longer than the shard");
        let entry = table.get(entry..).and_then(|rest| rest.get(..16)).ok_or_else(short)?;
        let word = |bytes: &[u8]| bytes.first_chunk().copied().map(u64::from_le_bytes).unwrap_or(u64::MAX);
        let (offset, length) = (word(entry), word(entry.get(8..).unwrap_or_default()));
        if (offset, length) == (u64::MAX, u64::MAX) {
            return Ok(None);
        }
        if offset.checked_add(length).is_none_or(|end| end > storage.size()) {
            return Err(wrong("index of the shard", "names a chunk outside of the shard"));
        }
        let length = limits.memory("a chunk of a store of Zarr", length)?;
        Ok(Some(storage.read_at(offset, length)?.into_owned()))
    }

    /// The bytes of a shard, if there is one.
    fn shard(&self, shard: &[u64], limits: &Limits) -> Result<Option<Box<dyn ReadAt>>> {
        if self.described.outer.is_empty() {
            return match FileStorage::open(self.place_of(shard)) {
                Ok(file) => Ok(Some(Box::new(file))),
                Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            };
        }
        let Some(mut bytes) = self.file(shard, limits)? else { return Ok(None) };
        for codec in self.described.outer.iter().rev() {
            bytes = codec.decode(bytes, limits.memory)?;
        }
        Ok(Some(Box::new(bytes)))
    }

    /// The index of a shard. That of the last one is kept, because many chunks in a row are in one shard.
    fn table(
        &self,
        shard: &[u64],
        storage: &dyn ReadAt,
        (grid, limits): (&Chunks, &Limits),
    ) -> Result<Arc<[u8]>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, table)) = last.as_ref().filter(|(known, _)| known == shard) {
            return Ok(Arc::clone(table));
        }
        let count = crate::extent::count(grid.grid()).map_err(Error::unsupported)?;
        let sums = self.described.index.iter().filter(|codec| **codec == Codec::Crc32c).count() as u64;
        let size = count.checked_mul(16).and_then(|size| size.checked_add(sums.checked_mul(4)?));
        let size = size.ok_or_else(outside)?;
        let start = storage.size().checked_sub(size);
        let start = start.ok_or_else(|| wrong("index of the shard", "is longer than the shard"))?;
        let at_end = self.described.inner.as_ref().is_some_and(|(_, end)| *end);
        let length = limits.memory("the index of a shard of a store of Zarr", size)?;
        let mut table = storage.read_at(if at_end { start } else { 0 }, length)?.into_owned();
        for codec in self.described.index.iter().rev() {
            table = codec.decode(table, size)?;
        }
        let table: Arc<[u8]> = table.into();
        *last = Some((shard.to_vec(), Arc::clone(&table)));
        Ok(table)
    }

    /// Returns the index of the file in which a chunk is.
    fn file_of(&self, index: &[u64]) -> Vec<u64> {
        match &self.described.inner {
            None => index.to_vec(),
            Some((inner, _)) => {
                let files = self.described.file_shape.iter().zip(inner);
                index.iter().zip(files).map(|(at, (outer, inner))| at / (outer / inner).max(1)).collect()
            }
        }
    }

    /// Returns the place of a file of the array.
    fn place_of(&self, index: &[u64]) -> PathBuf {
        let parts: Vec<String> = index.iter().map(u64::to_string).collect();
        let separator = self.described.separator.to_string();
        self.folder.join(match (self.described.prefixed, parts.is_empty()) {
            (true, true) => "c".to_owned(),
            (true, false) => format!("c{separator}{}", parts.join(&separator)),
            (false, true) => "0".to_owned(),
            (false, false) => parts.join(&separator),
        })
    }

    /// The bytes of a file of the array, if there is one.
    fn file(&self, index: &[u64], limits: &Limits) -> Result<Option<Vec<u8>>> {
        let place = self.place_of(index);
        let size = match fs::metadata(&place) {
            Ok(data) => data.len(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io("read", &place, error)),
        };
        limits.memory("a chunk or shard of a store of Zarr", size)?;
        fs::read(&place).map(Some).map_err(|error| io("read", &place, error))
    }
}

/// The decoded elements of a chunk.
enum Elements {
    Missing(Vec<u8>),
    Fixed(Vec<u8>),
    Texts(Vec<Vec<u8>>),
}

/// Selected elements.
enum Target {
    Fixed(Vec<u8>, usize),
    Texts(Vec<Vec<u8>>),
}

impl Target {
    /// Copies so many elements, one after another in both.
    fn copy(&mut self, chunk: &Elements, (from, to, count): (u64, u64, u64)) -> Result<()> {
        let (from, to, count) = (memory(Some(from))?, memory(Some(to))?, memory(Some(count))?);
        match (self, chunk) {
            (Self::Fixed(out, width), Elements::Fixed(bytes)) => {
                let span =
                    |at: usize| Some(at.checked_mul(*width)?..at.checked_add(count)?.checked_mul(*width)?);
                let source = span(from).and_then(|span| bytes.get(span)).ok_or_else(outside)?;
                span(to).and_then(|span| out.get_mut(span)).ok_or_else(outside)?.copy_from_slice(source);
            }
            (Self::Fixed(out, width), Elements::Missing(fill)) => {
                let span =
                    to.checked_mul(*width).zip(to.checked_add(count).and_then(|end| end.checked_mul(*width)));
                let target = span.and_then(|(start, end)| out.get_mut(start..end)).ok_or_else(outside)?;
                target.chunks_exact_mut((*width).max(1)).for_each(|element| element.copy_from_slice(fill));
            }
            (Self::Texts(out), chunk) => {
                let target = out.get_mut(to..).and_then(|rest| rest.get_mut(..count)).ok_or_else(outside)?;
                for (number, text) in target.iter_mut().enumerate() {
                    *text = match chunk {
                        Elements::Texts(all) => {
                            all.get(from.saturating_add(number)).ok_or_else(outside)?.clone()
                        } // a bound
                        Elements::Missing(fill) => fill.get(8..).unwrap_or_default().to_vec(),
                        Elements::Fixed(_) => return Err(outside()),
                    };
                }
            }
            (Self::Fixed(..), Elements::Texts(_)) => return Err(outside()),
        }
        Ok(())
    }
}

/// Texts in the form of the codec `vlen-utf8`.
fn texts(bytes: &[u8], elements: u64) -> Result<Vec<Vec<u8>>> {
    let short = || wrong("texts", "end early");
    let (count, mut rest) = bytes.split_first_chunk::<4>().ok_or_else(short)?;
    if u64::from(u32::from_le_bytes(*count)) != elements {
        return Err(wrong("number of texts", "is not the number of elements"));
    }
    let mut all = Vec::new();
    for _ in 0..elements {
        let (length, after) = rest.split_first_chunk::<4>().ok_or_else(short)?;
        let length = memory(Some(u32::from_le_bytes(*length).into()))?;
        let (text, after) = after.split_at_checked(length).ok_or_else(short)?;
        if std::str::from_utf8(text).is_err() {
            return Err(wrong("text", "is not UTF-8"));
        }
        all.push(text.to_vec());
        rest = after;
    }
    if rest.is_empty() { Ok(all) } else { Err(wrong("texts", "end before the chunk")) }
}

fn memory(size: Option<u64>) -> Result<usize> {
    let fits = size.and_then(|size| usize::try_from(size).ok());
    fits.ok_or_else(|| Error::unsupported("a part of a store of Zarr that is larger than memory"))
}

fn outside() -> Error {
    Error::internal("an element is outside of its chunk")
}
