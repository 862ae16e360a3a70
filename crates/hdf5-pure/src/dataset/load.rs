//! Loads datasets of a file into the form that writing uses.

use std::collections::BTreeMap;

use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::{Error, Result};

use crate::chunk::index::build::Stored;
use crate::chunk::index::{Bounds, Index, StoredChunk};
use crate::chunk::write::Chunked;
use crate::dataset::read::Content;
use crate::dataset::write::{Data, Dataset};
use crate::space::context::Context;
use crate::spec::message::MessageType;
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::fill_value::Fill;
use crate::spec::message::layout::{IndexKind, Layout};

/// Returns the dataset without its chunks. `k` is half the children of a node of a version 1 B-tree of chunks.
///
/// # Errors
/// Returns the errors of the messages that describe it, and `Malformed` if they contradict each other.
pub(crate) fn dataset(context: &Context, content: Content, k: u16) -> Result<Dataset> {
    check(context, &content)?;
    let storage = content.storage?;
    let data = match (storage.layout, storage.external) {
        (_, Some(files)) => Data::External(files),
        (Layout::Compact(bytes), _) => Data::Compact(bytes),
        (Layout::Contiguous { address }, _) => Data::Contiguous(address),
        (Layout::Virtual(Some(id)), _) => Data::Virtual(id),
        (Layout::Virtual(None), _) => {
            return Err(Error::unsupported("writing to a virtual dataset without sources"));
        }
        (Layout::Chunked(layout), _) => Data::Chunked(Chunked {
            overwrites: layout.index == IndexKind::Implicit && layout.address.is_some(),
            implicit: layout.address.filter(|_| layout.index == IndexKind::Implicit),
            dimensions: layout.dimensions,
            // Without space for all chunks, their numbers do not say where they are, so that they need another index.
            index: Some(layout.index)
                .filter(|index| *index != IndexKind::Implicit || layout.address.is_some()),
            wide: layout.wide_sizes,
            unfiltered_edges: false,
            stored: BTreeMap::new(),
            open: BTreeMap::new(),
            k,
            left: Vec::new(),
            before: None,
        }),
    };
    Ok(Dataset {
        datatype: content.datatype,
        committed: None,
        dataspace: content.dataspace,
        fill: storage.fill,
        pipeline: storage.pipeline,
        data,
        edited: None,
        tail: Vec::new(),
    })
}

/// Checks that the messages that describe a dataset agree with each other.
///
/// # Errors
/// Returns `Malformed` if they contradict each other.
fn check(context: &Context, content: &Content) -> Result<()> {
    let storage = content.storage()?;
    let size = u64::from(content.datatype.size);
    let wrong =
        |message: MessageType, fault: Fault| Err(context.fault(message.name(), content.address, fault));
    let differs = |message, field, expected, found| {
        if expected == found {
            return Ok(());
        }
        wrong(message, Fault::new(field, FaultKind::Mismatch { expected, found }))
    };
    if let Fill::Value(value) = &storage.fill.value {
        differs(MessageType::FillValue, "size", size, value.len() as u64)?;
    }
    match &storage.layout {
        Layout::Compact(data) => match content.dataspace.elements().and_then(|n| n.checked_mul(size)) {
            Some(bytes) => differs(MessageType::Layout, "size of the compact data", bytes, data.len() as u64),
            None => wrong(MessageType::Dataspace, Fault::new("number of elements", FaultKind::Overflow)),
        },
        Layout::Chunked(layout) => {
            let rank = content.dataspace.shape().len() as u64;
            let found = layout.dimensions.len() as u64;
            differs(MessageType::Layout, "dimensionality of the chunks", rank, found)?;
            differs(MessageType::Layout, "element size", size, layout.element_size)
        }
        Layout::Contiguous { .. } | Layout::Virtual(_) => Ok(()),
    }
}

/// Returns the chunks in `bounds`.
///
/// # Errors
/// Returns the first error of a part of the index that cannot be read.
pub(crate) fn chunks(context: &Context, content: &Content, bounds: &Bounds) -> Result<Vec<StoredChunk>> {
    let storage = content.storage()?;
    let (Layout::Chunked(layout), Dataspace::Simple { dimensions, maximum }) =
        (&storage.layout, &content.dataspace)
    else {
        return Ok(Vec::new());
    };
    let filtered = !storage.pipeline.filters.is_empty();
    let index = Index { context, layout, dimensions, maximum, filtered };
    index.collect(bounds, |chunk| chunk)
}

/// Returns a chunk that the file leads to.
pub(crate) fn stored(chunk: &StoredChunk) -> Stored {
    Stored { address: chunk.address, size: chunk.size, mask: Some(chunk.filter_mask), live: true }
}
