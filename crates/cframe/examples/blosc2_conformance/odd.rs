//! Compresses the inputs of `blosc2_odd_conform.py`, which lets the C libraries decompress the results.
//!
//! An input is a line of JSON, which describes it, and then its bytes. A result is its length, as four bytes, and then its
//! bytes.

use std::borrow::Cow;
use std::path::Path;

use cframe::{Error, Filter, Params, Result, SChunk, Special, Split};
use serde_json::Value;

use crate::contents::{CODECS, FILTERS};

/// Writes the results of all inputs of the file `from` to the file `to`.
pub(crate) fn compress(from: &Path, to: &Path) -> Result<()> {
    let bytes = std::fs::read(from).map_err(|error| Error::io("read the inputs", error))?;
    let (mut rest, mut out) = (bytes.as_slice(), Vec::new());
    while !rest.is_empty() {
        let end = rest.iter().position(|&byte| byte == b'\n').ok_or_else(|| wrong("has no end"))?;
        let about: Value = serde_json::from_slice(&rest[..end]).map_err(|_| wrong("is not JSON"))?;
        let (data, more) = rest[end + 1..].split_at(number(&about, "length")?);
        let result = one(&about, data).map_err(|error| wrong(format!("{about} failed: {error}")))?;
        out.extend(u32::try_from(result.len()).map_err(|_| wrong("is too long"))?.to_le_bytes());
        out.extend(result);
        rest = more;
    }
    std::fs::write(to, out).map_err(|error| Error::io("write the results", error))
}

fn wrong(problem: impl Into<Cow<'static, str>>) -> Error {
    Error::usage("input", problem)
}

fn number(about: &Value, key: &str) -> Result<usize> {
    let found = about[key].as_u64().and_then(|number| usize::try_from(number).ok());
    found.ok_or_else(|| wrong(format!("{about} has no number {key}")))
}

/// Returns a chunk, or a frame if its `form` is one.
fn one(about: &Value, data: &[u8]) -> Result<Vec<u8>> {
    let params = params(about)?;
    match about["form"].as_str() {
        Some("chunk") => cframe::compress(data, &params),
        Some("blosc1") => cframe::compress(data, &params.with_blosc1()),
        Some("frame") => {
            let mut frame = SChunk::new(params);
            data.chunks(number(about, "chunk")?).try_for_each(|chunk| frame.append(chunk))?;
            frame.to_bytes()
        }
        Some(kind) => special(kind, params, about, data),
        None => Err(wrong("has no form")),
    }
}

fn params(about: &Value) -> Result<Params> {
    let typesize = u32::try_from(number(about, "typesize")?).map_err(|_| wrong("has a large type"))?;
    let blocksize = u32::try_from(number(about, "blocksize")?).map_err(|_| wrong("has large blocks"))?;
    let level = u8::try_from(number(about, "level")?).map_err(|_| wrong("has a large level"))?;
    let codec = CODECS.iter().find(|(name, _)| about["codec"] == *name);
    let (_, codec) = codec.ok_or_else(|| wrong("has an unknown codec"))?;
    let filters = FILTERS.iter().find(|(name, _)| about["filters"] == *name);
    let (_, filters): &(_, &[Filter]) = filters.ok_or_else(|| wrong("has unknown filters"))?;
    let split = match number(about, "split")? {
        1 => Split::Always,
        2 => Split::Never,
        3 => Split::Auto,
        _ => Split::ForwardCompatible,
    };
    // Where no frame declares the size of the elements, byte delta needs it.
    let sized = |filter: &Filter| match (*filter, u8::try_from(typesize)) {
        (Filter::BYTEDELTA, Ok(size)) => Filter::new(Filter::BYTEDELTA.id, size),
        (other, _) => other,
    };
    Params::new(typesize)
        .with_codec(*codec)
        .with_level(level)
        .with_split(split)
        .with_blocksize(blocksize)
        .with_filters(&filters.iter().map(sized).collect::<Vec<_>>())
}

/// Returns a frame whose chunks have no bytes; `data` is the value of all elements.
fn special(kind: &str, params: Params, about: &Value, data: &[u8]) -> Result<Vec<u8>> {
    let kind = match kind {
        "zeros" => Special::Zeros,
        "nan" => Special::Nan,
        "value" => Special::Value,
        _ => return Err(wrong("has an unknown form")),
    };
    let size = u32::try_from(number(about, "chunk")?).map_err(|_| wrong("has large chunks"))?;
    let last = u32::try_from(number(about, "last")?).map_err(|_| wrong("has large chunks"))?;
    let mut frame = SChunk::new(params);
    for size in [size, size, last] {
        frame.append_special(kind, data, size)?;
    }
    frame.to_bytes()
}
