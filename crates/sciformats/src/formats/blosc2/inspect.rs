//! Describes the structures of a Blosc2 frame for people.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};

use cframe::{Array, Chunk, ChunkPlace, ChunkSize, Codec, Filter, Frame, FrameType, Pipeline, Special};
use sciformats_core::Limits;
use sciformats_core::bound;

use crate::Result;
use crate::model::Value;
use crate::source::{Fact, Structure};

/// The name for bytes that are not part of the frame.
pub(super) const BEHIND: &str = "bytes after the frame";
/// The number of metalayers that are shown by name.
const NAMES: usize = 32;

fn filter(of: Filter) -> String {
    let name = match of.name() {
        "user" | "unknown" => format!("filter {}", of.id),
        name => name.to_owned(),
    };
    match of {
        Filter { meta: 0, .. } => name,
        // A positive number is the number of bits to keep, and a negative one the number of bits to remove.
        Filter { id: 4, meta } => format!("{name} {}", meta.cast_signed()),
        Filter { meta, .. } => format!("{name} {meta}"),
    }
}

fn codec(of: Codec) -> String {
    match of.name() {
        "user" | "unknown" => format!("codec {}", of.id()),
        name => name.to_owned(),
    }
}

fn filters(of: &Pipeline) -> Value {
    let names: Vec<Value> = of.filters().map(|of| filter(of).into()).collect();
    if names.is_empty() { "none".into() } else { Value::List(names) }
}

/// Returns the filters and the codec that bytes pass through, in this order.
pub(super) fn pipeline(frame: &Frame) -> Vec<String> {
    let mut names: Vec<String> = frame.pipeline().filters().map(filter).collect();
    names.push(format!("{} {}", codec(frame.codec()), frame.level()));
    names
}

fn shape(sizes: &[u64]) -> Value {
    Value::List(sizes.iter().copied().map(Value::from).collect())
}

/// Returns the metalayer of an array as JSON.
pub(super) fn shapes(array: &Array) -> String {
    let dtype = array.dtype().map_or(Value::Null, Value::from);
    format!(
        r#"{{"shape":{},"chunks":{},"blocks":{},"dtype":{}}}"#,
        shape(array.shape()).to_json(),
        shape(array.chunk_shape()).to_json(),
        shape(array.block_shape()).to_json(),
        dtype.to_json()
    )
}

fn names<'a>(of: impl ExactSizeIterator<Item = &'a str>) -> Option<Value> {
    let more = of.len() > NAMES;
    let mut names: Vec<Value> = of.take(NAMES).map(Value::from).collect();
    if more {
        names.push("…".into());
    }
    (!names.is_empty()).then_some(Value::List(names))
}

pub(super) fn headline(frame: &Frame) -> String {
    let sparse = if frame.frame_type() == FrameType::Sparse { "sparse, " } else { "" };
    match frame.chunks() {
        1 => format!("{sparse}1 chunk"),
        n => format!("{sparse}{n} chunks"),
    }
}

pub(super) fn facts(frame: &Frame, array: Option<&Array>) -> Vec<Fact> {
    let header = frame.header();
    let mut facts: Vec<Fact> = vec![
        ("version", (header.general_flags & 0x0f).into()),
        ("layout", layout(frame).into()),
        ("codec", codec(frame.codec()).into()),
        ("level", frame.level().into()),
        ("filters", filters(&frame.pipeline())),
        ("type size", frame.typesize().into()),
        ("chunks", frame.chunks().into()),
        ("chunk size", chunk_size(frame)),
        ("block size", if frame.block_size() == 0 { "not given".into() } else { frame.block_size().into() }),
        ("split", split(header.other_flags).into()),
    ];
    if let Some(array) = array {
        facts.push(("chunk shape", shape(array.chunk_shape())));
        facts.push(("block shape", shape(array.block_shape())));
        facts.extend(array.dtype().map(|text| ("dtype", text.into())));
    }
    if header.other_flags2 & 1 != 0 {
        facts.push(("dictionaries", true.into()));
    }
    facts.extend(names(frame.metalayers().map(|(name, _)| name)).map(|names| ("metalayers", names)));
    facts.extend(names(frame.vlmeta_names()).map(|names| ("variable metalayers", names)));
    let behind = frame.anatomy().behind;
    if !behind.is_empty() {
        facts.push((BEHIND, length(&behind).into()));
    }
    facts
}

fn layout(frame: &Frame) -> &'static str {
    match frame.frame_type() {
        FrameType::Contiguous => "contiguous",
        FrameType::Sparse => "sparse: one file per chunk",
    }
}

fn chunk_size(frame: &Frame) -> Value {
    match frame.chunk_size() {
        ChunkSize::Fixed(size) => size.into(),
        ChunkSize::Variable => "varies".into(),
        ChunkSize::Unknown => "not known yet".into(),
    }
}

fn split(other_flags: u8) -> &'static str {
    match other_flags & 3 {
        0 => "always",
        1 => "never",
        2 => "auto",
        _ => "forward-compatible",
    }
}

pub(super) fn special(of: Special) -> &'static str {
    match of {
        Special::Zeros => "zeros",
        Special::Nan => "NaN",
        Special::Value => "a repeated value",
        Special::Uninit => "uninitialised",
    }
}

fn length(range: &Range<u64>) -> u64 {
    bound::left(range.end, range.start)
}

/// Counts of what the chunks contain.
#[derive(Default)]
struct Counts {
    specials: BTreeMap<&'static str, u64>,
    codecs: BTreeMap<String, u64>,
    filters: BTreeMap<String, u64>,
    blocks: BTreeMap<u64, u64>,
    raw: u64,
    dictionaries: u64,
    unreadable: u64,
    /// The number of bytes of chunks, without holes.
    live: u64,
}

impl Counts {
    fn add(&mut self, chunk: &Chunk<'_>) {
        self.live = bound::sum(self.live, chunk.cbytes() as u64);
        if let Some(kind) = chunk.special() {
            one_more(self.specials.entry(special(kind)).or_default());
            return;
        }
        let header = chunk.cbytes().checked_sub(chunk.nbytes());
        if matches!(header, Some(16 | 32)) {
            one_more(&mut self.raw);
            return;
        }
        one_more(self.codecs.entry(codec(chunk.codec())).or_default());
        let names: Vec<String> = chunk.pipeline().filters().map(filter).collect();
        one_more(
            self.filters.entry(if names.is_empty() { "none".into() } else { names.join(" + ") }).or_default(),
        );
        one_more(self.blocks.entry(chunk.blocksize().unwrap_or_default() as u64).or_default()); // one without blocks
        self.dictionaries = bound::sum(self.dictionaries, chunk.has_dictionary().into());
    }
}

fn one_more(count: &mut u64) {
    *count = bound::sum(*count, 1);
}

/// Formats counts: `lz4, zstd (3)`.
fn ranked<K: ToString>(counts: &BTreeMap<K, u64>) -> Value {
    let shown = counts.iter().take(NAMES).map(|(name, count)| match count {
        1 => name.to_string().into(),
        n => format!("{} ({n})", name.to_string()).into(),
    });
    Value::List(shown.collect())
}

/// Returns facts that require reading the chunks.
pub(super) fn measures(frame: &Frame) -> Result<Vec<Fact>> {
    let mut counts = Counts::default();
    for index in 0..frame.chunks() {
        match frame.chunk_place(index)? {
            ChunkPlace::Nowhere(kind) => one_more(counts.specials.entry(special(kind)).or_default()),
            ChunkPlace::At(_) | ChunkPlace::File(_) => match frame.chunk(index) {
                Ok(chunk) => counts.add(&chunk),
                Err(_) => one_more(&mut counts.unreadable),
            },
        }
    }
    let mut facts: Vec<Fact> = Vec::new();
    for (name, counts) in [("codecs in chunks", &counts.codecs), ("filters in chunks", &counts.filters)] {
        if !counts.is_empty() {
            facts.push((name, ranked(counts)));
        }
    }
    if !counts.blocks.is_empty() {
        facts.push(("block sizes", ranked(&counts.blocks)));
    }
    if !counts.specials.is_empty() {
        facts.push(("special chunks", ranked(&counts.specials)));
    }
    for (name, count) in [
        ("raw chunks", counts.raw),
        ("chunks with a dictionary", counts.dictionaries),
        ("unreadable chunks", counts.unreadable),
    ] {
        if count > 0 {
            facts.push((name, count.into()));
        }
    }
    let holes = bound::left(frame.cbytes(), counts.live);
    if holes > 0 && counts.unreadable == 0 {
        facts.push(("bytes in holes", holes.into()));
    }
    let anatomy = frame.anatomy();
    facts.push(("index bytes", length(&anatomy.offsets).into()));
    if frame.nbytes() > 0 && frame.cbytes() > 0 {
        let ratio = frame.nbytes() as f64 / frame.cbytes() as f64;
        facts.push(("ratio", ((ratio * 100.0).round() / 100.0).into()));
    }
    Ok(facts)
}

/// Creates a structure with its fields.
fn structure(
    name: impl Into<std::borrow::Cow<'static, str>>,
    range: &Range<u64>,
    depth: usize,
    fields: Vec<(&'static str, Value)>,
) -> Structure {
    let fields = fields.into_iter().map(|(key, value)| (key.into(), value)).collect();
    Structure { name: name.into(), offset: range.start, size: length(range), depth, fields }
}

fn header_fields(frame: &Frame) -> Vec<(&'static str, Value)> {
    let header = frame.header();
    let slots = |of: fn(&Filter) -> u8| Value::List(header.pipeline.0.iter().map(|f| of(f).into()).collect());
    let layers = frame.metalayers().take(NAMES);
    let layers = layers.map(|(name, content)| format!("{name} ({} bytes)", content.len()).into());
    vec![
        ("header_size", header.header_len.into()),
        ("frame_size", header.frame_len.into()),
        ("general_flags", header.general_flags.into()),
        ("frame_type", header.frame_type.into()),
        ("codec_flags", header.codec_flags.into()),
        ("other_flags", header.other_flags.into()),
        ("uncompressed_size", header.nbytes.into()),
        ("compressed_size", header.cbytes.into()),
        ("type_size", header.typesize.into()),
        ("block_size", header.blocksize.into()),
        ("chunk_size", chunk_size(frame)),
        ("threads", Value::List(header.threads.iter().map(|&n| n.into()).collect())),
        ("has_vlmetalayers", header.has_vlmeta.into()),
        ("filters", slots(|filter| filter.id)),
        ("filters_meta", slots(|filter| filter.meta)),
        ("udcodec", header.codec.into()),
        ("codec_meta", header.codec_meta.into()),
        ("other_flags2", header.other_flags2.into()),
        ("metalayers", Value::List(layers.collect())),
    ]
}

fn chunk_fields(chunk: &Chunk<'_>) -> Vec<(&'static str, Value)> {
    let mut fields = vec![
        ("version", chunk.version().into()),
        ("typesize", chunk.typesize().into()),
        ("nbytes", chunk.nbytes().into()),
        ("blocksize", chunk.blocksize().map_or("varies".into(), Value::from)),
        ("cbytes", chunk.cbytes().into()),
        ("blocks", chunk.blocks().into()),
        ("codec", codec(chunk.codec()).into()),
        ("codec_meta", chunk.codec_meta().into()),
        ("filters", filters(&chunk.pipeline())),
        ("split", chunk.is_split().into()),
        ("dictionary", chunk.has_dictionary().into()),
    ];
    fields.extend(chunk.special().map(|kind| ("holds", special(kind).into())));
    fields
}

/// Describes a chunk, or what is wrong with it.
fn chunk(frame: &Frame, index: u64, (at, end): (u64, u64), name: String) -> Structure {
    match frame.chunk(index) {
        Ok(chunk) => {
            let range = at..bound::sum(at, chunk.cbytes() as u64);
            structure(name, &range, 1, chunk_fields(&chunk))
        }
        Err(error) => structure(name, &(at..end.max(at)), 1, vec![("error", error.to_string().into())]),
    }
}

pub(super) fn structures(
    frame: &Frame,
    limits: &Limits,
    visit: &mut dyn FnMut(Structure) -> ControlFlow<()>,
) -> Result<()> {
    let anatomy = frame.anatomy();
    let mut places = Vec::new();
    limits.items("chunks", frame.chunks())?;
    for index in 0..frame.chunks() {
        places.push((frame.chunk_place(index)?, index));
    }
    // Chunks are listed in the order of the file, which may differ from their numbers.
    sciformats_core::order::sort_by_key(&mut places, |(place, index)| {
        if let ChunkPlace::At(at) = place { (*at, *index) } else { (0, *index) }
    });
    let walk = &mut |visit: &mut dyn FnMut(Structure) -> ControlFlow<()>| -> ControlFlow<()> {
        visit(structure("frame header", &anatomy.header, 0, header_fields(frame)))?;
        visit(structure("chunks", &anatomy.chunks, 0, vec![("count", frame.chunks().into())]))?;
        let mut end = anatomy.chunks.start;
        for (place, index) in &places {
            let found = match place {
                ChunkPlace::Nowhere(kind) => {
                    structure(format!("chunk {index}"), &(0..0), 1, vec![("holds", special(*kind).into())])
                }
                ChunkPlace::File(name) => chunk(frame, *index, (0, 0), format!("chunk {index} in {name}")),
                ChunkPlace::At(at) => {
                    if *at > end {
                        visit(structure("hole", &(end..*at), 1, Vec::new()))?;
                    }
                    let found = chunk(frame, *index, (*at, anatomy.chunks.end), format!("chunk {index}"));
                    end = end.max(bound::sum(found.offset, found.size));
                    found
                }
            };
            visit(found)?;
        }
        if end < anatomy.chunks.end {
            visit(structure("hole", &(end..anatomy.chunks.end), 1, Vec::new()))?;
        }
        if !anatomy.offsets.is_empty() {
            visit(structure("offsets chunk", &anatomy.offsets, 0, vec![("entries", frame.chunks().into())]))?;
        }
        let layers = names(frame.vlmeta_names()).unwrap_or(Value::List(Vec::new()));
        visit(structure("trailer", &anatomy.trailer, 0, vec![("metalayers", layers)]))?;
        if !anatomy.behind.is_empty() {
            visit(structure(BEHIND, &anatomy.behind, 0, Vec::new()))?;
        }
        ControlFlow::Continue(())
    };
    // If the caller stops, nothing has to be cleaned up.
    let _ = walk(visit);
    Ok(())
}
