//! The advice on HDF5 files: what they have, the plan, and the replay over both layouts.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::{ControlFlow, Range as Bytes};
use std::sync::{Arc, Mutex, PoisonError};

use hdf5_pure::structure::{IndexKind, Layout};
use hdf5_pure::walk::Found;
use hdf5_pure::{Dataset, Node};
use sciformats_core::{Range, ReadAt, Slab, bound};

use super::replay::counting;
use super::sample::{Sampled, best, part, sample};
use super::shape::{balanced, bytes, maps};
use super::{
    Advice, Cost, DatasetFacts, Finding, Opener, Options, Plan, Profile, Replayed, Structures, rules,
};
use crate::repack;
use crate::sink::{CHECKED, Rule, WriteOptions};
use sciformats::{File, Result};

/// The number of datasets that are sampled, the largest first.
const SAMPLED: usize = 24;
/// About how many bytes a filter takes in the structures of a dataset, and how many an index of chunks takes.
const FILTER: f64 = 512.0;
const INDEX: f64 = 8192.0;
/// The largest number of bytes of elements that a replay goes through; of larger datasets `all` is left out.
const WHOLE: u64 = 512 << 20;

/// The facts that the rules use and that are not part of the advice.
pub(super) struct Look {
    pub(super) structures: Structures,
    pub(super) datasets: Vec<Known>,
    /// The version of the superblock.
    pub(super) superblock: u8,
    /// The bytes of free space that the file keeps track of.
    pub(super) free: u64,
    /// The links and datasets that lead into other files.
    pub(super) elsewhere: Vec<String>,
    /// The number of objects.
    pub(super) objects: u64,
}

/// A dataset, and what was found out about it.
pub(super) struct Known {
    pub(super) dataset: Dataset,
    pub(super) facts: DatasetFacts,
    pub(super) sampled: Sampled,
    /// The number of chunks that skip filters, and of those whose stored size is not below that of their elements.
    pub(super) skipping: u64,
    pub(super) growing: u64,
    /// Whether it is a dimension scale.
    pub(super) scale: bool,
    pub(super) index: Option<IndexKind>,
}

pub(super) fn advise(file: &Arc<File>, open: Opener<'_>, options: &Options) -> Result<Advice> {
    let mut look = look(file, open)?;
    sampled(&mut look, options)?;
    if options.profile == Profile::Archive {
        checked(&mut look)?;
    }
    let mut findings = rules::all(&look, options.profile);
    findings.sort_by_key(|finding: &Finding| std::cmp::Reverse(finding.weight));
    let write = wanted(&look, options.profile, &findings);
    let mut plan = None;
    let mut hollow = None;
    if let (Some((write, arguments)), true) = (write, file.path().is_some() || file.storage().is_some()) {
        let ratios: HashMap<String, f64> = look
            .datasets
            .iter()
            .filter_map(|known| Some((known.facts.path.clone(), planned_ratio(&known.facts)?)))
            .collect();
        let guess = |dataset: &Dataset, raw: u64| {
            let path =
                dataset.file().path_of(dataset.address())?.map(String::from_utf8_lossy).unwrap_or_default();
            let ratio = ratios.get(path.as_ref()).copied().unwrap_or(1.0);
            // A cast of a positive number stops at the range.
            Ok((raw as f64 * ratio).ceil() as u64)
        };
        let (made, structures) = repack::planned(file, &[], &write, &guess)?;
        let (recoded, seconds) = effort(&look);
        plan = Some(Plan { options: write, arguments, size: made.size(), structures, recoded, seconds });
        hollow = Some(made);
    }
    let accesses = accesses(file, open, hollow.as_ref().map(|hollow| hollow as &dyn Stores), &look)?;
    Ok(Advice {
        profile: options.profile,
        size: file.size(),
        structures: Some(look.structures),
        datasets: look.datasets.into_iter().map(|known| known.facts).collect(),
        findings,
        accesses,
        plan,
    })
}

/// A planned file.
trait Stores {
    fn storage(&self) -> Arc<dyn ReadAt>;
}

impl Stores for repack::Hollow {
    fn storage(&self) -> Arc<dyn ReadAt> {
        Arc::new(self.clone())
    }
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

fn reading(file: &File) -> hdf5_pure::OpenOptions {
    hdf5_pure::OpenOptions::default()
        .with_limits(*file.limits())
        .with_registry(sciformats::filters::hdf5())
        .with_threads(1)
}

/// Reads all structures of a file.
fn look(file: &File, open: Opener<'_>) -> Result<Look> {
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
fn movable(known: &Known) -> bool {
    let facts = &known.facts;
    let here =
        matches!(known.dataset.layout(), Ok(Layout::Chunked(_) | Layout::Contiguous { address: Some(_) }));
    let fixed = !sciformats::formats::hdf5::leads_elsewhere(known.dataset.datatype());
    let external = known.dataset.external_files().is_ok_and(|files| !files.is_empty());
    here && fixed && !external && !facts.shape.is_empty() && !facts.shape.contains(&0)
}

/// Takes samples of the largest datasets, in chunks of the shape that is planned for them.
fn sampled(look: &mut Look, options: &Options) -> Result<()> {
    shapes(look, options.profile);
    let mut order: Vec<usize> = (0..look.datasets.len()).collect();
    let size =
        |at: &usize| look.datasets.get(*at).map_or(0, |known| bytes(&known.facts.shape, known.facts.element));
    order.sort_by_key(|at| std::cmp::Reverse(size(at)));
    let main = main_variable(look);
    for at in order.into_iter().take(SAMPLED) {
        let Some(known) = look.datasets.get_mut(at).filter(|known| movable(known)) else { continue };
        let sides = known.facts.planned_chunks.clone().or_else(|| known.facts.chunks.clone());
        let sides = sides.unwrap_or_else(|| balanced(&known.facts.shape, known.facts.element, 1 << 20, None));
        let sides = match &known.facts.chunks {
            Some(chunks) => part(&sides, chunks),
            None => sides,
        };
        let found = sample(&known.dataset, &sides, options)?;
        let best = best(&found.candidates, options.profile).cloned();
        let stored = found.candidates.iter().find(|candidate| candidate.filter == "as stored").cloned();
        if let Some(best) = best {
            let now = stored.as_ref().map_or(1.0, |stored| stored.ratio);
            // What gains less than a twentieth is not worth a change.
            let plugins = known.dataset.filters()?.filters.iter().any(|filter| filter.id > 6);
            let must = plugins && !options.plugins;
            let same = known.facts.filters.is_empty() && best.filter == "none";
            // Nor is what the structures of chunks and filters take again.
            let more = if known.facts.chunks.is_some() { FILTER } else { INDEX };
            let all = bytes(&known.facts.shape, known.facts.element);
            let gain = all as f64 * (now - best.ratio);
            if (best.ratio < now * 0.95 && gain > more || must) && !same {
                known.facts.planned_filter = Some((best.filter.clone(), best.level));
                // A filter needs chunks, which must suit the profile as well.
                if known.facts.chunks.is_none() && known.facts.planned_chunks.is_none() {
                    let main = Some(at) == main;
                    known.facts.planned_chunks = Some(divided(&known.facts, options.profile, main));
                }
            }
            let mut all = found.candidates.clone();
            all.sort_by(|a, b| {
                (a.filter != best.filter).cmp(&(b.filter != best.filter)).then(a.ratio.total_cmp(&b.ratio))
            });
            known.facts.candidates = all;
        }
        known.sampled = found;
    }
    Ok(())
}

/// Plans checksums for the chunks of large datasets, after the filter that is planned for them, or after one that compresses like their
/// own.
fn checked(look: &mut Look) -> Result<()> {
    let main = main_variable(look);
    for (at, known) in look.datasets.iter_mut().enumerate() {
        let pipeline = &known.dataset.filters()?.filters;
        let has = pipeline.iter().any(|filter| filter.id == 3);
        if has || !movable(known) || known.facts.stored.1 <= rules::UNCHECKED {
            continue;
        }
        let deflate = pipeline.iter().find(|filter| filter.id == 1);
        let facts = &mut known.facts;
        facts.planned_filter = Some(match facts.planned_filter.take().filter(|(name, _)| name != "none") {
            Some((name, level)) => (format!("{name}{CHECKED}"), level),
            None if facts.filters.is_empty() => ("fletcher32".into(), None),
            None => {
                let level = deflate.and_then(|filter| filter.values.first().copied());
                (format!("zlib{CHECKED}"), level.or(Some(4)))
            }
        });
        if facts.chunks.is_none() && facts.planned_chunks.is_none() {
            facts.planned_chunks = Some(divided(facts, Profile::Archive, Some(at) == main));
        }
    }
    Ok(())
}

/// Plans the shapes of chunks.
fn shapes(look: &mut Look, profile: Profile) {
    let main = main_variable(look);
    for (at, known) in look.datasets.iter_mut().enumerate() {
        known.facts.planned_chunks = None;
        if !movable(known) {
            continue;
        }
        let (shape, element) = (&known.facts.shape, known.facts.element);
        let all = bytes(shape, element);
        let (least, target, most) = limits(profile);
        let old = known.facts.chunks.as_deref();
        let count = old.map_or(1, |sides| {
            shape
                .iter()
                .zip(sides)
                .fold(1u64, |all, (n, side)| bound::product(all, n.div_ceil((*side).max(1))))
        });
        let each = old.map_or(all, |sides| bytes(sides, element));
        let wanted = match profile {
            // Coordinates in one piece, and whole maps of the data variable.
            Profile::Cmip7 if shape.len() <= 2 && Some(at) != main && all <= most => whole(shape, old, count),
            Profile::Cmip7 if Some(at) == main => {
                (count > 1 && each < least).then(|| maps(shape, element, target))
            }
            _ if all <= least => whole(shape, old, count),
            _ if old.is_none() => {
                (shape.len() > 1 && all > most).then(|| balanced(shape, element, target, None))
            }
            // Chunks along an axis that nobody reads alone stay, if they have a good size.
            _ if (each < least && count > 1) || each > most => Some(balanced(shape, element, target, old)),
            _ => None,
        };
        known.facts.planned_chunks = wanted.filter(|wanted| Some(wanted.as_slice()) != old);
    }
}

/// The shape of the chunks of elements that stand one after another and get a filter.
fn divided(facts: &DatasetFacts, profile: Profile, main: bool) -> Vec<u64> {
    let (shape, element) = (&facts.shape, facts.element);
    let (_, target, most) = limits(profile);
    let all = bytes(shape, element);
    match profile {
        _ if all <= target => shape.clone(),
        Profile::Cmip7 if main => maps(shape, element, target),
        Profile::Cmip7 if shape.len() <= 2 && all <= most => shape.clone(),
        _ => balanced(shape, element, target, None),
    }
}

/// One chunk in place of many.
fn whole(shape: &[u64], old: Option<&[u64]>, count: u64) -> Option<Vec<u64>> {
    (old.is_some() && count > 1).then(|| shape.to_vec())
}

/// The smallest, the best and the largest size of a chunk before compression.
pub(super) fn limits(profile: Profile) -> (u64, u64, u64) {
    match profile {
        Profile::Cloud | Profile::Archive => (512 << 10, 4 << 20, 32 << 20),
        Profile::Cmip7 => (4 << 20, 4 << 20, 256 << 20),
        Profile::Local => (32 << 10, 512 << 10, 4 << 20),
    }
}

/// The dataset that the file is about: the largest one.
pub(super) fn main_variable(look: &Look) -> Option<usize> {
    let size = |known: &Known| bytes(&known.facts.shape, known.facts.element);
    look.datasets
        .iter()
        .enumerate()
        .filter(|(_, known)| !known.scale)
        .max_by_key(|(_, known)| size(known))
        .map(|(at, _)| at)
}

/// The stored size of a planned chunk divided by that of its elements.
fn planned_ratio(facts: &DatasetFacts) -> Option<f64> {
    let named = |name: &str| {
        facts.candidates.iter().find(|candidate| candidate.filter == name).map(|candidate| candidate.ratio)
    };
    match &facts.planned_filter {
        Some((name, _)) => named(name.trim_end_matches(CHECKED)),
        None if facts.filters.is_empty() => Some(1.0),
        // The same filters in other chunks: the candidate of the same compressor tells.
        None => {
            let own = facts.filters.iter().find_map(|filter| {
                ["zlib", "zstd", "lz4", "lzf"]
                    .into_iter()
                    .find(|name| filter.contains(name) || *name == "zlib" && filter.contains("deflate"))
            });
            // The candidates shuffle first, which a dataset without a shuffle does not gain from.
            let shuffled = facts.filters.iter().any(|filter| filter.contains("shuffle"));
            let tried = own.filter(|_| facts.planned_chunks.is_some() && shuffled).and_then(named);
            tried.or_else(|| named("as stored"))
        }
    }
}

/// The options of `repack`, and the arguments for them; `None` if nothing is to be changed.
fn wanted(look: &Look, profile: Profile, findings: &[Finding]) -> Option<(WriteOptions, Vec<String>)> {
    let mut options = WriteOptions::default();
    let mut arguments = Vec::new();
    for known in &look.datasets {
        let facts = &known.facts;
        if facts.planned_chunks.is_none() && facts.planned_filter.is_none() {
            continue;
        }
        let mut rule = Rule::of(&facts.path);
        if let Some(chunks) = &facts.planned_chunks {
            let text: Vec<String> = chunks.iter().map(u64::to_string).collect();
            arguments.extend(["--chunk".into(), format!("{}={}", facts.path, text.join(","))]);
            rule.chunks = Some(chunks.clone());
        }
        if let Some((filter, level)) = &facts.planned_filter {
            let level = level.map(|level| format!(":{level}")).unwrap_or_default();
            arguments.extend(["--filter-of".into(), format!("{}={filter}{level}", facts.path)]);
            (rule.filter, rule.level) = (Some(filter.clone()), None);
            rule.level = facts.planned_filter.as_ref().and_then(|(_, level)| *level);
        }
        options.rules.push(rule);
    }
    let has = |rule: &str| findings.iter().any(|finding| finding.rule == rule);
    if matches!(profile, Profile::Cloud | Profile::Cmip7)
        && !look.structures.is_first()
        && look.structures.page_size.is_none()
        || has("cmip7-metadata")
        // Writing a file anew can move its structures behind the first elements.
        || profile == Profile::Cmip7 && (!arguments.is_empty() || has("page-size") || has("free-space"))
    {
        options.metadata_first = true;
        arguments.push("--metadata-first".into());
    }
    if has("page-size") {
        let size = page_size(look);
        options.page_size = Some(size);
        arguments.extend(["--page-size".into(), size.to_string()]);
    }
    if has("old-format") && !arguments.is_empty() {
        options.bound = Some("1.10".into());
        arguments.extend(["--bound".into(), "1.10".into()]);
    }
    if arguments.is_empty() && has("free-space") {
        // A copy without options leaves the free space out.
        return Some((options, arguments));
    }
    (!arguments.is_empty()).then_some((options, arguments))
}

/// A page that holds all structures, but no more than 8 MiB.
fn page_size(look: &Look) -> u64 {
    look.structures.bytes.max(4096).checked_next_power_of_two().unwrap_or(8 << 20).clamp(4096, 8 << 20)
}

/// The bytes that are coded anew, and about how long that takes on one thread.
fn effort(look: &Look) -> (u64, f64) {
    let mut total = (0u64, 0.0);
    for known in &look.datasets {
        let facts = &known.facts;
        if facts.planned_chunks.is_none() && facts.planned_filter.is_none() {
            continue;
        }
        let size = bytes(&facts.shape, facts.element);
        let rate = |of: Option<f64>| {
            of.filter(|rate| rate.is_finite() && *rate > 0.0).map_or(0.0, |rate| size as f64 / rate)
        };
        let decode = facts
            .candidates
            .iter()
            .find(|candidate| candidate.filter == "as stored")
            .map(|candidate| candidate.decode);
        let encode = facts.candidates.first().map(|candidate| candidate.encode);
        total = (bound::sum(total.0, size), total.1 + rate(decode) + rate(encode));
    }
    total
}

/// Replays accesses over the file as it is, and as it would be.
fn accesses(
    file: &File,
    open: Opener<'_>,
    planned: Option<&dyn Stores>,
    look: &Look,
) -> Result<Vec<Replayed>> {
    let both =
        |name: String, path: &str, work: &dyn Fn(&hdf5_pure::File) -> Result<Cost>| -> Result<Replayed> {
            let cost = |open: Opener<'_>| -> Result<Cost> {
                let storage = counting(open)?;
                let source = hdf5_pure::File::from_storage(storage.clone(), &reading(file))?;
                let counted = work(&source)?;
                let Cost { requests, rounds, bytes, .. } = Cost::of(storage.statistics());
                Ok(Cost { requests, rounds, bytes, ..counted })
            };
            let now = cost(open)?;
            let then = planned.map(|planned| cost(&|| Ok(planned.storage()))).transpose()?;
            Ok(Replayed { name, path: path.into(), now, then })
        };
    let mut found = vec![
        both("open".into(), "", &|source| {
            source.root()?;
            Ok(Cost::default())
        })?,
        both("list".into(), "", &|source| {
            for entry in source.walk() {
                if let Found::Object(address) = entry.what {
                    source.object_at(address)?;
                    source.attributes_at(address)?;
                }
            }
            Ok(Cost::default())
        })?,
    ];
    let Some(known) = main_variable(look).and_then(|at| look.datasets.get(at)).filter(|known| movable(known))
    else {
        return Ok(found);
    };
    let (path, shape) = (known.facts.path.clone(), known.facts.shape.clone());
    let mut boxes: Vec<(String, Vec<Range>)> = Vec::new();
    let middle = |n: u64| Range::new(n / 2, 1);
    boxes.push(("first".into(), shape.iter().map(|_| Range::new(0, 1)).collect()));
    for axis in 0..shape.len() {
        let along =
            shape.iter().enumerate().map(|(at, n)| if at == axis { Range::all(*n) } else { middle(*n) });
        boxes.push((format!("along {axis}"), along.collect()));
    }
    for axis in 0..if shape.len() > 2 { shape.len() } else { 0 } {
        let across =
            shape.iter().enumerate().map(|(at, n)| if at == axis { middle(*n) } else { Range::all(*n) });
        boxes.push((format!("across {axis}"), across.collect()));
    }
    boxes.push(("all".into(), shape.iter().map(|n| Range::all(*n)).collect()));
    for (name, ranges) in boxes {
        let slab = Slab::new(&shape, ranges)?;
        if bound::product(slab.len(), known.facts.element) > WHOLE {
            continue;
        }
        found.push(both(name, &path, &|source| touch(&source.dataset(&path)?, &slab))?);
    }
    Ok(found)
}

/// Fetches what a read of a box needs, without decoding it.
fn touch(dataset: &Dataset, slab: &Slab) -> Result<Cost> {
    let element = u64::from(dataset.datatype().size);
    let wanted = bound::product(slab.len(), element);
    let Layout::Chunked(chunked) = dataset.layout()? else {
        dataset.read_raw(slab)?;
        return Ok(Cost { wanted, decoded: wanted, ..Cost::default() });
    };
    let each = bytes(&chunked.dimensions, element);
    let mut chunks = Vec::new();
    dataset.for_each_chunk(slab, &mut |chunk| {
        chunks.push(chunk);
        Ok(ControlFlow::Continue(()))
    })?;
    let mut out = Vec::new();
    let mut rest = chunks.as_slice();
    while !rest.is_empty() {
        // As many as are fetched at once.
        let mut size = 0u64;
        let many = rest.iter().take_while(|chunk| {
            size = bound::sum(size, chunk.size);
            size <= 64 << 20
        });
        let (part, after) = rest.split_at(many.count().max(1));
        out.clear();
        dataset.chunks_raw(part, &mut out)?;
        rest = after;
    }
    let count = chunks.len() as u64;
    Ok(Cost { wanted, chunks: count, decoded: bound::product(count, each), ..Cost::default() })
}
