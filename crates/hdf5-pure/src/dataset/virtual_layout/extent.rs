//! Computes the shape of virtual datasets whose sources may grow.

use std::collections::HashMap;

use sciformats_core::{Error, Result};

use crate::dataset::read::{Content, Storage};
use crate::dataset::virtual_layout::{
    Nesting, Source, Sources, available, mappings, names, numbered, unlimited,
};
use crate::file::open::Opened;
use crate::spec::global_heap::GlobalId;
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::layout::Layout;
use crate::spec::selection::{Regular, Selection};
use crate::spec::virtual_mapping::Mapping;
use crate::value::region::Axis;

/// Gives a virtual dataset the shape that follows from its sources now. Other datasets do not change.
pub(crate) fn update(opened: &Opened, content: &mut Content, nesting: &Nesting) -> Result<()> {
    let Ok(Storage { layout: Layout::Virtual(id), .. }) = content.storage else { return Ok(()) };
    let mut lacks = None;
    let found = shape(opened, (content, id), nesting, &mut lacks)?;
    content.unsized_because = lacks;
    if let Dataspace::Simple { dimensions, .. } = &mut content.dataspace {
        let stored = std::mem::replace(dimensions, found);
        content.stored_shape = Some(stored);
    }
    Ok(())
}

/// Returns the shape of a virtual dataset whose sources may have grown. Unlimited mappings follow their sources, and the
/// elements of the other mappings always belong to the dataset. If missing sources are accepted, the last of them is in `lacks`.
fn shape(
    opened: &Opened,
    (content, id): (&Content, Option<GlobalId>),
    nesting: &Nesting,
    lacks: &mut Option<Error>,
) -> Result<Vec<u64>> {
    let mut shape = content.dataspace.shape().to_vec();
    let mappings = mappings(opened, id)?;
    if mappings.iter().all(|mapping| unlimited(&mapping.target).is_none()) {
        return Ok(shape);
    }
    let mut extents: HashMap<usize, u64> = HashMap::new();
    let sources = Sources::new(opened, content, nesting)?;
    for mapping in &mappings {
        let Some(axis) = unlimited(&mapping.target) else { continue };
        let Selection::Regular(target) = &mapping.target else { continue };
        let Some(target) = target.get(axis) else { continue };
        let extent = match unlimited(&mapping.source) {
            None => printf_extent(&sources, mapping, target, lacks)?,
            Some(from_axis) => {
                let (file, dataset) = names(mapping);
                match sources.open(&file, &dataset)? {
                    None => {
                        sources.missing(&file, &dataset)?;
                        *lacks = Some(Sources::lacks(&file, &dataset));
                        0
                    }
                    Some(source) => {
                        *lacks = source.content.unsized_because.clone().or(lacks.take());
                        unlimited_extent(mapping, &source, from_axis, target)
                            .ok_or_else(|| sources.too_far())?
                    }
                }
            }
        };
        let entry = extents.entry(axis).or_default();
        *entry = (*entry).max(extent);
    }
    for (axis, extent) in extents {
        if let Some(size) = shape.get_mut(axis) {
            let mut fixed = mappings.iter().map(|mapping| fixed_end(&mapping.target, axis));
            *size = fixed
                .try_fold(extent, |extent, end| Some(extent.max(end?)))
                .ok_or_else(|| sources.too_far())?;
        }
    }
    Ok(shape)
}

/// Returns where a target ends along a dimension in which it does not follow its source, or 0 if it sets no bound there.
/// The result is `None` if that exceeds 64 bits.
fn fixed_end(target: &Selection, axis: usize) -> Option<u64> {
    let last = match target {
        Selection::None | Selection::All => None,
        Selection::Points(points) => points.iter().filter_map(|point| point.get(axis)).max().copied(),
        Selection::Blocks(blocks) => blocks.iter().filter_map(|(_, last)| last.get(axis)).max().copied(),
        Selection::Regular(dimensions) => {
            let Some(&Regular { start, stride, count: Some(count), block: Some(block) }) =
                dimensions.get(axis)
            else {
                return Some(0);
            };
            let Some(before) = count.checked_sub(1).filter(|_| block > 0) else { return Some(0) };
            return start.checked_add(stride.checked_mul(before)?)?.checked_add(block);
        }
    };
    last.map_or(Some(0), |last| last.checked_add(1))
}

/// Returns where the last block of numbered sources ends.
fn printf_extent(
    sources: &Sources<'_>,
    mapping: &Mapping,
    target: &Regular,
    lacks: &mut Option<Error>,
) -> Result<u64> {
    let Some(last) = available(sources, mapping)?.checked_sub(1) else {
        // The blocks end at the first source that does not exist. Only if even the first source is missing is that an
        // error to report.
        let (file, dataset) = numbered(mapping, 0);
        sources.missing(&file, &dataset)?;
        *lacks = Some(Sources::lacks(&file, &dataset));
        return Ok(0);
    };
    block_end(target, last, target.block.unwrap_or(1)).ok_or_else(|| sources.too_far())
}

/// Returns where the first `len` elements of block number `block` of a target end, or `None` if that exceeds 64 bits.
fn block_end(target: &Regular, block: u64, len: u64) -> Option<u64> {
    target.start.checked_add(target.stride.checked_mul(block)?)?.checked_add(len)
}

/// Returns how far the target extends if it has as many elements as the source has along its unlimited dimension, or
/// `None` if that exceeds 64 bits.
fn unlimited_extent(mapping: &Mapping, source: &Source, axis: usize, target: &Regular) -> Option<u64> {
    let Selection::Regular(from) = &mapping.source else { return Some(0) };
    let shape = source.content.dataspace.shape();
    // A source without this dimension contributes no elements along it.
    let (Some(from), Some(&size)) = (from.get(axis), shape.get(axis)) else { return Some(0) };
    let elements = Axis::new(from, size).map_or(0, |axis| axis.len);
    if elements == 0 {
        return Some(0);
    }
    let Some(block) = target.block else { return target.start.checked_add(elements) };
    match (elements.checked_div(block)?, elements.checked_rem(block)?) {
        (whole, 0) => block_end(target, whole.checked_sub(1)?, block),
        (whole, part) => block_end(target, whole, part),
    }
}
