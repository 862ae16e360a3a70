//! Copies the storage of datasets: the layout, and the elements.

use std::collections::HashSet;
use std::ops::ControlFlow;

use hdf5_pure::filters::Filters;
use hdf5_pure::options::Bound;
use hdf5_pure::structure::StoredChunk;
use hdf5_pure::structure::{Dataspace, Fill, FilterDescription, Layout, Pipeline};
use hdf5_pure::{Dataset, DatasetBuilder, DatasetWriter, Name, ObjectId};
use sciformats_core::arith::{fit, increase, present};
use sciformats_core::{Slab, bound};

use super::elements::Stored;
use super::regions::{Parts, Plan, Scratch, gather, plan};
use super::supplied::supplied;
use super::{Copy, Guess, Job};
use crate::sink::hdf5_encode::References;
use crate::sink::{WriteOptions, hdf5_filters};
use sciformats::formats::hdf5;
use sciformats::model::{ArrayInfo, ElementType};
use sciformats::pieces::grow;
use sciformats::pieces::{self, Pieces};
use sciformats::{Error, Result};

/// The number of the filter that adds a checksum to each chunk.
const FLETCHER32: u16 = 3;

/// Copies the fill value, and the times of allocation and filling if the elements are stored in the same way.
pub(super) fn filled<'w>(
    builder: DatasetBuilder<'w>,
    dataset: &Dataset,
    stored: &Stored,
    options: &WriteOptions,
) -> Result<DatasetBuilder<'w>> {
    let fill = dataset.fill_value()?;
    // Chunks stay chunks, whatever becomes of their shape and their filters.
    let chunked = matches!(dataset.layout()?, Layout::Chunked(_));
    let same = (chunked || options.chunks.is_none() && options.filter.is_none()) && !options.inline;
    // If the file does not store the times, the defaults of the library for this layout apply.
    let (allocation, write) = match (fill.allocation_time, dataset.layout()?) {
        (0, Layout::Compact(_)) => (1, 2),
        (0, Layout::Contiguous { .. }) => (2, 2),
        (0, _) => (3, 2),
        (allocation, _) => (allocation, fill.write_time),
    };
    let builder = match same {
        true => builder.storage_times(allocation, write),
        false => builder.fill_time(write),
    };
    Ok(match &fill.value {
        // The library treats a missing fill value message, and one of the oldest version, as an undefined fill value.
        Fill::Default if fill.allocation_time == 0 => builder.fill_undefined(),
        Fill::Default => builder,
        Fill::Undefined => builder.fill_undefined(),
        Fill::Value(element) if stored.is_direct() => builder.fill_raw(element),
        Fill::Value(raw) => {
            let canonical = dataset.fill_canonical()?.unwrap_or_default();
            builder.fill_encoded(|to| stored.encode((raw, &canonical), &References::new(), to))
        }
    })
}

/// Sets up a dataset whose elements stay in other files or datasets. If the elements are copied into the new file instead, the
/// unchanged builder is returned as the inner error.
pub(super) fn elsewhere<'w>(
    mut builder: DatasetBuilder<'w>,
    (path, dataset): (&str, &Dataset),
    job: &Job<'_>,
) -> Result<Result<DatasetBuilder<'w>, DatasetBuilder<'w>>> {
    let Dataspace::Simple { dimensions, maximum } = dataset.dataspace() else { return Ok(Err(builder)) };
    let (files, mappings) = (dataset.external_files()?, dataset.mappings()?);
    let is_virtual = matches!(dataset.layout()?, Layout::Virtual(_));
    if job.options.inline || files.is_empty() && !is_virtual {
        return Ok(Err(builder));
    }
    let names = files.iter().map(|(name, ..)| name).chain(mappings.iter().map(|mapping| &mapping.file));
    let relative = |name: &&Name| name.as_bytes() != b"." && !name.as_bytes().starts_with(b"/");
    if let (true, Some(name)) = (job.moved, names.into_iter().find(relative)) {
        let problem = format!(
            "repacking into another folder while elements of {path} are in {} beside it (`repack --inline` copies them)",
            super::shown(name.as_bytes())
        );
        return Err(Error::unsupported(problem));
    }
    // What a virtual dataset has of sources that changed is not stored.
    let stored = if is_virtual { dataset.stored_shape() } else { dimensions };
    builder = builder.shape(stored).max_shape(maximum.clone());
    if !files.is_empty() {
        return Ok(Ok(builder.external(files.iter().map(|(name, offset, size)| (name, *offset, *size)))));
    }
    builder = match job.wanted {
        Some(bound) if bound < Bound::V110 && mappings.is_empty() => {
            let problem = "does not allow virtual datasets, which need 1.10 or later";
            return Err(Error::usage("bound", problem));
        }
        // The writer checks the bound of mappings.
        Some(_) if !mappings.is_empty() => builder,
        _ => builder.virtual_layout(),
    };
    Ok(Ok(mappings.into_iter().fold(builder, DatasetBuilder::map_selection)))
}

/// Returns whether the chunks at the edges of the new dataset have no filters. Older releases do not know this; for them, the
/// chunks at the edges are like the others, which changes no value.
pub(super) fn edges(dataset: &Dataset, job: &Job<'_>) -> Result<bool> {
    let known = job.wanted.is_none_or(|bound| bound >= Bound::V110);
    Ok(known && has_plain_edges(dataset)?)
}

/// Returns whether the chunks at the edges of a dataset have no filters.
pub(super) fn has_plain_edges(dataset: &Dataset) -> Result<bool> {
    Ok(matches!(dataset.layout()?, Layout::Chunked(stored) if stored.unfiltered_edges))
}

/// Sets the shape, the chunks and the filters: those of the source, unless `options` names others. With `plain_edges`, the chunks
/// at the edges have no filters.
pub(super) fn placed<'w>(
    mut builder: DatasetBuilder<'w>,
    dataset: &Dataset,
    (options, plain_edges): (&WriteOptions, bool),
) -> Result<DatasetBuilder<'w>> {
    let layout = dataset.layout()?;
    let Dataspace::Simple { dimensions, maximum } = dataset.dataspace() else {
        return Ok(if matches!(layout, Layout::Compact(_)) { builder.compact() } else { builder });
    };
    builder = builder.shape(dimensions.clone());
    if dimensions.iter().zip(maximum).any(|(&length, most)| *most != Some(length)) {
        builder = builder.max_shape(maximum.clone());
    }
    let chunks = chunks(dataset, options)?;
    if matches!(layout, Layout::Compact(_)) && chunks.is_none() {
        return Ok(builder.compact());
    }
    if let Some(chunks) = &chunks {
        builder = builder.chunks(chunks.clone());
    }
    let stored = match layout {
        Layout::Chunked(chunked) => Some(chunked),
        _ => None,
    };
    let filters = match (&options.filter, stored) {
        (Some(word), _) if !dimensions.contains(&0) => {
            // Another compressor does not take the checksums away.
            let checked = dataset.filters()?.filters.iter().any(|filter| filter.id == FLETCHER32);
            let more = checked && word != "none" && !word.ends_with("fletcher32");
            hdf5_filters(options)?.map(|filters| if more { filters.fletcher32() } else { filters })
        }
        (None, Some(stored)) => {
            let same = chunks.as_ref() == Some(&stored.dimensions);
            Some(dataset.filters()?)
                .filter(|all| !all.filters.is_empty())
                .map(|all| kept(all, same))
                .transpose()?
        }
        _ => None,
    };
    builder = if plain_edges { builder.unfiltered_edges_at_any_bound() } else { builder };
    let Some(filters) = filters else { return Ok(builder) };
    builder = if chunks.is_none() { builder.automatic_chunks() } else { builder };
    Ok(builder.filters(filters))
}

/// Returns the shape of chunks: the requested one, cut to the dataset, or that of the source. Datasets with
/// fewer dimensions than requested keep theirs.
fn chunks(dataset: &Dataset, options: &WriteOptions) -> Result<Option<Vec<u64>>> {
    let shape = dataset.shape();
    match (&options.chunks, dataset.layout()?) {
        (Some(chunks), _) if chunks.len() <= shape.len() && !shape.contains(&0) => {
            let whole = std::iter::repeat(&u64::MAX);
            let cut = chunks.iter().chain(whole).zip(shape);
            Ok(Some(cut.map(|(&chunk, &length)| chunk.clamp(1, length)).collect()))
        }
        (_, Layout::Chunked(stored)) => Ok(Some(stored.dimensions.clone())),
        _ => Ok(None),
    }
}

/// Returns the filters of the source. Their parameters may depend on the size of the chunks.
fn kept(pipeline: &Pipeline, same_chunks: bool) -> Result<Filters> {
    if same_chunks {
        return Ok(Filters::stored(pipeline));
    }
    pipeline.filters.iter().try_fold(Filters::new(), |filters, filter| {
        let FilterDescription { id, values, .. } = filter;
        let filters = match id {
            2 if !values.is_empty() => filters.shuffle(),
            &FLETCHER32 => filters.fletcher32(),
            32000 => filters.lzf(),
            1 | 2 | 305 | 307 | 32003 | 32004 | 32008 | 32015 | 32020 => filters.custom(*id, values.clone()),
            _ => {
                let name = hdf5::filter(filter);
                let problem = format!(
                    "chunks of another shape with the filter {name}, unless another filter is chosen,"
                );
                return Err(Error::unsupported(problem));
            }
        };
        Ok(filters.described_as(filter))
    })
}

impl Copy<'_> {
    /// Writes the elements that are stored in the source.
    pub(super) fn elements(
        &mut self,
        id: ObjectId,
        dataset: &Dataset,
        references: &References,
    ) -> Result<()> {
        let job = self.job;
        let Some(shape) = dataset.dataspace().extent() else { return Ok(()) };
        let external = hdf5::is_external(job.source, dataset);
        if !external && matches!(dataset.layout()?, Layout::Contiguous { address: None }) {
            return Ok(());
        }
        let options = job.of(dataset)?;
        let stored = Stored::new(job.source, dataset.datatype())?;
        let rounder = job.measured.rounder(dataset, &options)?;
        let sparse = Sparse::of(dataset)?;
        let (mut writer, places) = (self.writer.open_id(id)?, self.places.as_ref());
        let plain_edges = edges(dataset, job)?;
        let stays = stored.is_direct()
            && rounder.is_none()
            && plain_edges == has_plain_edges(dataset)?
            && stays(dataset, writer.filters()?, &options)?;
        if let Some(guess) = job
            .hollow
            .filter(|_| stored.is_direct() || shape.iter().fold(1, |all, n| bound::product(all, *n)) > FEW)
        {
            return reserved(guess, dataset, (stays, plain_edges, &sparse), &mut writer);
        }
        if stays {
            // The bytes are equal, so nothing has to be decoded and encoded again.
            return copied(job, dataset, &mut writer);
        }
        if let (Some(supplier), true, None) = (job.supplier, stored.is_direct(), &rounder)
            && supplied(supplier, (job, dataset), &sparse, &mut writer)?
        {
            return Ok(());
        }
        let mut lost = 0u64;
        let size = u64::from(dataset.datatype().size);
        let mut info = ArrayInfo::new(ElementType::Opaque(size), shape);
        info.chunks = chunks(dataset, &options)?;
        let sides = info.chunks.clone();
        job.unfolding.add(sparse.elements().unwrap_or_else(|| info.elements().unwrap_or(u64::MAX)), &info)?; // a bound
        let mut write = |slab: &Slab, raw: &[u8]| {
            let canonical = if stored.is_direct() { Vec::new() } else { dataset.read_canonical(slab)? };
            let (canonical, count) = stored.leading(canonical, places)?;
            increase(&mut lost, count)?;
            writer.write_encoded(slab, |to| stored.encode((raw, &canonical), references, to))?;
            Ok::<(), Error>(())
        };
        let width = usize::try_from(size).unwrap_or(usize::MAX); // a bound
        // Chunks that the source does not store stay out of the new file.
        let mut put = |slab: &Slab, raw: &[u8]| match sides.as_deref().filter(|_| sparse.is_sparse()) {
            None => write(slab, raw).map(ControlFlow::Continue),
            Some(sides) => {
                let mut part = Vec::new();
                for chunk in Parts::inside(slab, sides).filter(|chunk| sparse.touches(chunk)) {
                    part.clear();
                    gather((&chunk, slab), width, raw, &mut part)?;
                    write(&chunk, &part)?;
                }
                Ok(ControlFlow::Continue(()))
            }
        };
        let read = |slab: &Slab, out: &mut Vec<u8>| {
            job.interrupted()?;
            let wide = || Error::usage("selection", "has more than 2^64 bytes");
            let bytes = slab.len().checked_mul(size).ok_or_else(wide)?;
            let bytes = job.file.limits().memory("bytes of the selected elements", bytes)?;
            let out = grow(out, bytes)?;
            dataset.read_raw_into(slab, out)?;
            if let Some(rounder) = &rounder {
                rounder.round(out);
            }
            job.file.count_read(bytes as u64);
            Ok(())
        };
        let threads = job.file.options().threads();
        let (is_direct, memory) = (stored.is_direct(), job.file.limits().memory);
        let from = match dataset.layout()? {
            Layout::Chunked(chunked) => Some(chunked.dimensions.as_slice()),
            _ => None,
        };
        match plan(shape, (from, sides.as_deref()), (size, memory)) {
            // Elements that are no longer than a piece, or lead elsewhere, need no regions.
            _ if !is_direct && !sparse.is_sparse() => {
                let pieces = Pieces::new(&info, &Slab::all(shape)?, memory);
                pieces::for_each(pieces, threads, &read, &mut put)?;
            }
            Plan::Scratch(reading, writing) if is_direct => {
                let mut scratch =
                    Scratch::beside(present(job.output, "place of the new file")?, shape, &writing, width)?;
                let mut take = |slab: &Slab, raw: &[u8]| scratch.put(slab, raw).map(ControlFlow::Continue);
                pieces::read_ahead(Parts::of(shape, &reading), threads != 1, &read, &mut take)?;
                scratch.each(|slab, raw| {
                    job.interrupted()?;
                    put(slab, raw).map(|_| ())
                })?;
            }
            Plan::Once(sides) | Plan::Scratch(_, sides) => {
                let several = sides.iter().zip(shape).any(|(side, n)| side < n);
                let regions = Parts::of(shape, &sides).filter(|region| sparse.touches(region));
                pieces::read_ahead(regions, several && threads != 1, &read, &mut put)?;
            }
        }
        self.lose(dataset.address(), None, lost)
    }
}

/// Texts and references up to this number are written even if only the places of elements are wanted, because they stand outside
/// of the elements.
const FEW: u64 = 1 << 18;

/// Allocates the space of elements without writing them.
fn reserved(
    guess: Guess<'_>,
    dataset: &Dataset,
    (stays, plain_edges, sparse): (bool, bool, &Sparse),
    writer: &mut DatasetWriter<'_>,
) -> Result<()> {
    let shape = dataset.shape();
    // With a filter, elements that were stored one after another get chunks.
    let Some(sides) = writer.chunk_shape()?.map(<[u64]>::to_vec) else {
        return writer.reserve().map(|_| ());
    };
    if stays {
        return dataset.for_each_chunk(&Slab::all(shape)?, &mut |chunk| {
            writer.reserve_chunk(&chunk.scaled, chunk.filter_mask, chunk.size)?;
            Ok(ControlFlow::Continue(()))
        });
    }
    let element = u64::from(dataset.datatype().size);
    let bytes = sides.iter().fold(element, |all, side| bound::product(all, *side));
    let filtered = !writer.filters()?.filters.is_empty();
    for chunk in Parts::of(shape, &sides).filter(|chunk| sparse.touches(chunk)) {
        // What a chunk at the edge has beyond the elements is equal, and nearly vanishes in a filter.
        let inside = bound::product(element, chunk.len());
        let plain = !filtered || plain_edges && inside < bytes;
        let size = if plain { bytes } else { guess(dataset, inside)?.clamp(1, bytes.max(1)) };
        let place = chunk.ranges().iter().zip(&sides).map(|(range, side)| range.start / (*side).max(1));
        writer.reserve_chunk(&place.collect::<Vec<_>>(), 0, size)?;
    }
    Ok(())
}

/// The number of stored bytes that are read at once, unless a chunk has more.
const AT_ONCE: u64 = 2 << 20;

/// Copies chunks as they are stored; the next ones are read while these are written.
fn copied(job: &Job<'_>, dataset: &Dataset, writer: &mut DatasetWriter<'_>) -> Result<()> {
    let chunks = dataset.chunks()?.into_iter().collect::<Result<Vec<_>>>()?;
    let mut parts: Vec<&[StoredChunk]> = Vec::new();
    let (mut start, mut size) = (0, 0u64);
    for (at, chunk) in chunks.iter().enumerate() {
        if at > start && size.checked_add(chunk.size).is_none_or(|size| size > AT_ONCE) {
            parts.extend(chunks.get(start..at));
            (start, size) = (at, 0);
        }
        size = size.checked_add(chunk.size).unwrap_or(AT_ONCE);
    }
    parts.extend(chunks.get(start..));
    let read = |part: &&[StoredChunk], out: &mut Vec<u8>| {
        job.interrupted()?;
        dataset.chunks_raw(part, out)?;
        job.file.count_read(out.len() as u64);
        Ok(())
    };
    let mut write = |part: &&[StoredChunk], bytes: &[u8]| {
        let mut rest = bytes;
        for chunk in *part {
            // The chunks together have as many bytes as were read, so a shortage is a fault of this library.
            let missing = || Error::internal("fewer bytes of chunks were read than they have");
            let (bytes, others) =
                rest.split_at_checked(fit(chunk.size, "size of a chunk")?).ok_or_else(missing)?;
            writer.write_chunk(&chunk.scaled, chunk.filter_mask, bytes)?;
            rest = others;
        }
        Ok(ControlFlow::Continue(()))
    };
    let ahead = parts.len() > 1 && job.file.options().threads() != 1;
    pieces::read_ahead(parts.into_iter(), ahead, &read, &mut write)
}

/// Returns whether chunks keep their shape and their filters.
fn stays(dataset: &Dataset, filters: &Pipeline, options: &WriteOptions) -> Result<bool> {
    let Layout::Chunked(stored) = dataset.layout()? else { return Ok(false) };
    let words = |pipeline: &Pipeline| -> Vec<(u16, Vec<u32>)> {
        pipeline.filters.iter().map(|filter| (filter.id, filter.values.clone())).collect()
    };
    let same = words(filters) == words(dataset.filters()?);
    Ok(same && chunks(dataset, options)?.as_ref() == Some(&stored.dimensions))
}

/// Which chunks of a dataset are stored, if some are not.
pub(super) struct Sparse {
    sides: Vec<u64>,
    /// The places of the stored chunks, and the number of their elements.
    stored: Option<(HashSet<Box<[u64]>>, u64)>,
}

impl Sparse {
    fn of(dataset: &Dataset) -> Result<Self> {
        let (Layout::Chunked(chunked), Some(shape)) = (dataset.layout()?, dataset.dataspace().extent())
        else {
            return Ok(Self { sides: Vec::new(), stored: None });
        };
        let sides = chunked.dimensions.clone();
        let counts = shape.iter().zip(&sides).map(|(length, side)| length.div_ceil((*side).max(1)));
        let all = counts.into_iter().try_fold(1u64, u64::checked_mul);
        let mut count = 0u64;
        dataset.for_each_chunk(&Slab::all(shape)?, &mut |_| {
            increase(&mut count, 1)?;
            Ok(ControlFlow::Continue(()))
        })?;
        if all == Some(count) {
            return Ok(Self { sides, stored: None });
        }
        let (mut stored, mut elements) = (HashSet::new(), 0u64);
        dataset.for_each_chunk(&Slab::all(shape)?, &mut |chunk| {
            elements = bound::sum(elements, dataset.chunk_slab(&chunk)?.len());
            stored.insert(chunk.scaled.into());
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(Self { sides, stored: Some((stored, elements)) })
    }

    fn is_sparse(&self) -> bool {
        self.stored.is_some()
    }

    /// Returns the number of stored elements, if some are not stored.
    fn elements(&self) -> Option<u64> {
        self.stored.as_ref().map(|(_, elements)| *elements)
    }

    /// Returns whether a box has elements of a stored chunk.
    pub(super) fn touches(&self, slab: &Slab) -> bool {
        let Some((stored, _)) = &self.stored else { return true };
        let places = slab.ranges().iter().zip(&self.sides).map(|(range, side)| {
            let side = (*side).max(1);
            (range.start / side, bound::left(bound::sum(range.start, range.count), 1) / side)
        });
        let places: Vec<(u64, u64)> = places.collect();
        let count = places
            .iter()
            .fold(1u64, |all, (first, last)| bound::product(all, bound::sum(bound::left(*last, *first), 1)));
        if count > stored.len() as u64 {
            let within =
                |at: &[u64]| at.iter().zip(&places).all(|(at, (first, last))| first <= at && at <= last);
            return stored.iter().any(|at| within(at));
        }
        let mut all = vec![Vec::new()];
        for (first, last) in places {
            let with = |start: Vec<u64>| (first..=last).map(move |at| [&start[..], &[at]].concat());
            all = all.into_iter().flat_map(with).collect();
        }
        all.iter().any(|at| stored.contains(at.as_slice()))
    }
}
