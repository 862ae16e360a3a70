//! Writes Blosc2: one array, as a contiguous frame with the metalayer `b2nd`. The attributes `meta:NAME` and
//! `vlmeta:NAME` are its metalayers.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use cframe::{Array, ArrayParams, Codec, Params};
use sciformats_core::Error;
use sciformats_core::arith::increase;
use sciformats_core::storage::{Durability, Scratch};

use super::{Elements, Handle, New, Place, Sink, WriteOptions, empty, moderate, refused, rules};
use crate::numpy;
use sciformats::model::{AttributeValue, ElementType, Name};
use sciformats::{Format, Result};

/// After this many bytes of elements, the compressed chunks are written to the file.
const COMMIT: u64 = 64 << 20;

struct Writing {
    /// The path of the new file; `None` if nothing is written.
    path: Option<PathBuf>,
    codec: Option<Codec>,
    level: Option<u8>,
    chunks: Option<Vec<u64>>,
    elements: Option<Elements>,
    /// The metalayers: whether each has variable length, its name, and its content.
    layers: Vec<(bool, String, Vec<u8>)>,
}

pub(super) fn create(path: Option<&Path>, options: &WriteOptions) -> Result<Box<dyn Sink>> {
    super::refuse_bound(Format::Blosc2, options)?;
    let level = options.level.map(|level| u8::try_from(level).ok().filter(|&level| level <= 9));
    if level == Some(None) {
        return Err(Error::usage("level", "must be between 0 and 9"));
    }
    Ok(Box::new(Writing {
        path: path.map(Path::to_owned),
        codec: options.filter.as_deref().map(codec).transpose()?,
        level: if options.filter.as_deref() == Some("none") { Some(0) } else { level.flatten() },
        chunks: options.chunks.clone(),
        elements: None,
        layers: Vec::new(),
    }))
}

/// Returns the codec with this name.
pub(crate) fn codec(word: &str) -> Result<Codec> {
    Ok(match word {
        "none" | "blosclz" => Codec::BloscLz,
        "lz4" => Codec::Lz4,
        "lz4hc" => Codec::Lz4Hc,
        "zlib" => Codec::Zlib,
        "zstd" => Codec::Zstd,
        other => {
            let problem = format!("{other} is unknown; choose none, blosclz, lz4, lz4hc, zlib or zstd");
            return Err(Error::usage("filter", problem));
        }
    })
}

impl Sink for Writing {
    fn add(&mut self, place: Place<'_>, object: New<'_>) -> Result<Handle> {
        match (place, object) {
            (Place::Root, New::Array(elements)) if self.elements.is_none() => {
                rules(Format::Blosc2)?.check(&elements)?;
                self.elements = Some(elements);
                Ok(Handle(0))
            }
            _ => Err(refused(Format::Blosc2, "anything but one array")),
        }
    }

    fn attribute(&mut self, _: Handle, name: &Name, value: &AttributeValue) -> Result<()> {
        let shown = name.shown();
        let layer = match (shown.strip_prefix("vlmeta:"), shown.strip_prefix("meta:")) {
            (Some(layer), _) => Some((true, layer)),
            (_, Some(layer)) => Some((false, layer)),
            _ => None,
        };
        match (layer, &value.element, &value.data) {
            (Some((long, layer)), ElementType::UInt(1), Ok(data)) => {
                self.layers.push((long, layer.into(), data.clone()));
                Ok(())
            }
            _ => Err(refused(Format::Blosc2, format!("an attribute such as {name}"))),
        }
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let elements = self.elements.clone().ok_or_else(empty)?;
        let shape = elements.dimensions()?.to_vec();
        let Some(path) = &self.path else { return self.check(&elements) };
        let forms = elements.info.texts.as_deref().unwrap_or_default();
        let mut fixed =
            numpy::Fixed::new(&elements.info.element).with_texts(forms).with_times(&elements.info);
        if !fixed.is_as_is() {
            elements.for_each_piece(&mut |_, bytes| {
                fixed.look(bytes)?;
                Ok(ControlFlow::Continue(()))
            })?;
        }
        let dtype = match fixed.dtype()?.to_string() {
            // An element has at least one byte.
            empty if empty == "'<U0'" => "'<U1'".into(),
            dtype => dtype,
        };
        // A type without parts is not quoted.
        let params = self.params(ArrayParams::new(&shape, dtype.trim_matches('\''))?, &elements)?;
        let scratch = Scratch::beside(path)?;
        let mut array = Array::create(scratch.path(), &params)?;
        for (long, name, content) in &self.layers {
            if *long {
                array.schunk_mut().set_vlmeta(name, content)?;
            } else {
                array.schunk_mut().set_metalayer(name, content)?;
            }
        }
        let chunks = array.chunk_shape().to_vec();
        let (mut waiting, mut piece) = (0u64, Vec::new());
        elements.in_chunks(chunks).for_each_piece(&mut |slab, bytes| {
            if fixed.is_as_is() {
                array.write_slab_bytes(slab, bytes)?;
            } else if dtype == "'<U1'" {
                array.write_slab_bytes(slab, &numpy::ucs4(bytes, 1)?)?;
            } else {
                piece.clear();
                fixed.encode(bytes, &mut piece)?;
                array.write_slab_bytes(slab, &piece)?;
            }
            increase(&mut waiting, bytes.len() as u64)?;
            if waiting >= COMMIT {
                array.commit()?;
                waiting = 0;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        array.commit()?;
        drop(array);
        scratch.finish(Durability::Process)
    }
}

impl Writing {
    /// Fails if the chunks are none for the array.
    fn check(&self, elements: &Elements) -> Result<()> {
        let fixed = numpy::Fixed::new(&elements.info.element);
        // The size of texts is only known when they are read.
        let dtype = if fixed.is_as_is() { fixed.dtype()?.to_string() } else { "|u1".into() };
        let params = ArrayParams::new(elements.dimensions()?, dtype.trim_matches('\''))?;
        Array::new(&self.params(params, elements)?).map(drop)
    }

    fn params(&self, params: ArrayParams, elements: &Elements) -> Result<ArrayParams> {
        let mut stored = Params::new(1);
        if let Some(codec) = self.codec {
            stored = stored.with_codec(codec);
        }
        if let Some(level) = self.level {
            stored = stored.with_level(level);
        }
        let params = params.with_params(stored);
        let shape = elements.dimensions()?;
        let Some(chunks) = self.chunks.clone().or_else(|| moderate(elements.info())) else {
            return Ok(params);
        };
        if self.chunks.is_some() && chunks.len() > shape.len() {
            return Err(Error::usage(
                "chunks",
                format!("have {} dimensions, but the array has {}", chunks.len(), shape.len()),
            ));
        }
        let missing = std::iter::repeat(&u64::MAX);
        let cut = shape.iter().zip(chunks.iter().chain(missing)).map(|(&length, &chunk)| length.min(chunk));
        let cut: Vec<u64> = cut.collect();
        let fits = cut.iter().all(|&length| u32::try_from(length).is_ok());
        // Chunks that the caller did not choose, and that the format cannot hold, are chosen by the format's crate.
        Ok(if fits || self.chunks.is_some() { params.with_chunks(&cut) } else { params })
    }
}
