//! What a file has: its structures, its datasets, and where they lead.

use std::borrow::Cow;
use std::ops::{ControlFlow, Range as Bytes};
use std::sync::{Arc, Mutex, PoisonError};

use hdf5_pure::structure::{IndexKind, Layout};
use hdf5_pure::walk::Found;
use hdf5_pure::{Dataset, Node};
use sciformats_core::{ReadAt, bound};

use crate::advise::sample::Sampled;
use crate::advise::shape::bytes;
use crate::advise::{DatasetFacts, Opener, Structures};
use sciformats::{File, Result};

/// The facts that the rules use and that are not part of the advice.
pub(in crate::advise) struct Look {
    pub(in crate::advise) structures: Structures,
    pub(in crate::advise) datasets: Vec<Known>,
    /// The version of the superblock.
    pub(in crate::advise) superblock: u8,
    /// The bytes of free space that the file keeps track of.
    pub(in crate::advise) free: u64,
    /// The links and datasets that lead into other files.
    pub(in crate::advise) elsewhere: Vec<String>,
    /// The number of objects.
    pub(in crate::advise) objects: u64,
}

/// A dataset, and what was found out about it.
pub(in crate::advise) struct Known {
    pub(in crate::advise) dataset: Dataset,
    pub(in crate::advise) facts: DatasetFacts,
    pub(in crate::advise) sampled: Sampled,
    /// The number of chunks that skip filters, and of those whose stored size is not below that of their elements.
    pub(in crate::advise) skipping: u64,
    pub(in crate::advise) growing: u64,
    /// Whether it is a dimension scale.
    pub(in crate::advise) scale: bool,
    pub(in crate::advise) index: Option<IndexKind>,
}

/// Records which bytes are read.
struct Recorder {
    storage: Arc<dyn ReadAt>,
    read: Arc<Mutex<Vec<Bytes<u64>>>>,
}

impl ReadAt for Recorder {
    fn size(&self) -> u64 {
        self.storage.size()
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner).push(offset..bound::sum(offset, len as u64));
        self.storage.read_at(offset, len)
    }
}

pub(super) fn reading(file: &File) -> hdf5_pure::OpenOptions {
    hdf5_pure::OpenOptions::default()
        .with_limits(*file.limits())
        .with_registry(sciformats::filters::hdf5())
        .with_threads(1)
}

/// Reads all structures of a file.
pub(super) fn look(file: &File, open: Opener<'_>) -> Result<Look> {
    let read = Arc::new(Mutex::new(Vec::new()));
    let recorder = Recorder { storage: open()?, read: read.clone() };
    let size = recorder.size();
    let source = hdf5_pure::File::from_storage(recorder, &reading(file))?;
    // Opening looks for an unfinished commit at the end of the file, which is no structure.
    read.lock().unwrap_or_else(PoisonError::into_inner).retain(|range| range.end < size || range.start == 0);
    let base = source.base();
    let (mut found, mut elsewhere, mut objects) = (Vec::new(), Vec::new(), 0u64);
    let mut first_element: Option<u64> = None;
    for entry in source.walk() {
        let path = String::from_utf8_lossy(&entry.path).into_owned();
        let address = match entry.what {
            Found::Object(address) => address,
            Found::ExternalLink { .. } => {
                elsewhere.push(path);
                continue;
            }
            _ => continue,
        };
        objects += 1;
        let Node::Dataset(dataset) = source.object_at(address)? else {
            source.attributes_at(address)?;
            continue;
        };
        let known = known(path, dataset)?;
        let dataset = &known.dataset;
        let places = match dataset.layout()? {
            Layout::Chunked(_) => {
                let mut first = None;
                dataset.for_each_chunk(&dataset.all()?, &mut |chunk| {
                    first = Some(first.map_or(chunk.address.0, |first: u64| first.min(chunk.address.0)));
                    Ok(ControlFlow::Continue(()))
                })?;
                first
            }
            Layout::Contiguous { address } => address.map(|at| at.0),
            Layout::Virtual(_) => {
                elsewhere.push(known.facts.path.clone());
                None
            }
            Layout::Compact(_) => None,
        };
        if !dataset.external_files()?.is_empty() {
            elsewhere.push(known.facts.path.clone());
        }
        let place = places.map(|at| bound::sum(base, at));
        first_element = [first_element, place].into_iter().flatten().min();
        found.push(known);
    }
    let ranges = std::mem::take(&mut *read.lock().unwrap_or_else(PoisonError::into_inner));
    let structures = Structures {
        first_element,
        page_size: source.file_space().filter(|info| info.strategy == 1).and_then(|info| info.page_size),
        ..measured(ranges)
    };
    let free = source
        .free_space()
        .map(|sections| sections.iter().fold(0, |all, section| bound::sum(all, section.size)));
    Ok(Look {
        structures,
        datasets: found,
        superblock: source.superblock().version,
        free: free.unwrap_or(0), // a bound
        elsewhere,
        objects,
    })
}

/// The number of bytes, and of blocks of 1 MiB.
fn measured(mut ranges: Vec<Bytes<u64>>) -> Structures {
    const BLOCK: u64 = 1 << 20;
    ranges.sort_by_key(|range| range.start);
    let mut structures = Structures::default();
    let (mut end, mut next_block) = (0u64, 0u64);
    for range in ranges {
        let start = range.start.max(end);
        if start < range.end {
            structures.bytes = bound::sum(structures.bytes, bound::left(range.end, start));
            end = range.end;
            let (first, last) = ((start / BLOCK).max(next_block), (range.end - 1) / BLOCK);
            if first <= last {
                structures.blocks = bound::sum(structures.blocks, bound::sum(bound::left(last, first), 1));
                next_block = last + 1;
            }
        }
    }
    structures.end = end;
    structures
}

fn known(path: String, dataset: Dataset) -> Result<Known> {
    let element = u64::from(dataset.datatype().size);
    let (mut count, mut size, mut skipping, mut growing) = (0u64, 0u64, 0u64, 0u64);
    let mut index = None;
    let chunks = match dataset.layout()? {
        Layout::Chunked(chunked) => {
            let whole = bytes(&chunked.dimensions, element);
            index = Some(chunked.index);
            dataset.for_each_chunk(&dataset.all()?, &mut |chunk| {
                (count, size) = (count + 1, bound::sum(size, chunk.size));
                skipping += u64::from(chunk.filter_mask != 0);
                growing += u64::from(chunk.size >= whole);
                Ok(ControlFlow::Continue(()))
            })?;
            Some(chunked.dimensions.clone())
        }
        Layout::Contiguous { address: Some(_) } | Layout::Compact(_) => {
            (count, size) = (1, if dataset.is_null() { 0 } else { bytes(dataset.shape(), element) });
            None
        }
        _ => None,
    };
    let scale =
        dataset.attr::<String>("CLASS").ok().flatten().is_some_and(|class| class == "DIMENSION_SCALE");
    let filters = dataset.filters()?.filters.iter().map(sciformats::formats::hdf5::filter).collect();
    let facts = DatasetFacts {
        path,
        shape: dataset.shape().to_vec(),
        element,
        chunks,
        stored: (count, size),
        filters,
        candidates: Vec::new(),
        planned_chunks: None,
        planned_filter: None,
    };
    Ok(Known { dataset, facts, sampled: Sampled::default(), skipping, growing, scale, index })
}

/// Whether the elements of a dataset can be stored in another way.
pub(super) fn movable(known: &Known) -> bool {
    let facts = &known.facts;
    let here =
        matches!(known.dataset.layout(), Ok(Layout::Chunked(_) | Layout::Contiguous { address: Some(_) }));
    let fixed = !sciformats::formats::hdf5::leads_elsewhere(known.dataset.datatype());
    let external = known.dataset.external_files().is_ok_and(|files| !files.is_empty());
    here && fixed && !external && !facts.shape.is_empty() && !facts.shape.contains(&0)
}

/// The dataset that the file is about: the largest one.
pub(in crate::advise) fn main_variable(look: &Look) -> Option<usize> {
    let size = |known: &Known| bytes(&known.facts.shape, known.facts.element);
    look.datasets
        .iter()
        .enumerate()
        .filter(|(_, known)| !known.scale)
        .max_by_key(|(_, known)| size(known))
        .map(|(at, _)| at)
}
