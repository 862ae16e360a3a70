//! The rules that a file is held against. Their names stay the same.

use hdf5_pure::structure::{Class, IndexKind};
use sciformats_core::bound;

use super::hdf5::{Known, Look, limits, main_variable};
use super::sample::{Rounded, SHARE};
use super::shape::bytes;
use super::{Finding, Profile, Weight};

/// The largest dataset whose chunks need no checksum in an archive, in stored bytes.
pub(super) const UNCHECKED: u64 = 1 << 20;

/// Whether a rule fails a profile.
fn weight(rule: &str, profile: Profile) -> Weight {
    let fails = match rule {
        "tiny-chunks" | "large-chunks" | "metadata-strewn" | "elsewhere" => {
            profile == Profile::Cloud || rule == "elsewhere" && profile == Profile::Archive
        }
        "plugin-filter" => matches!(profile, Profile::Archive | Profile::Cmip7),
        "no-checksum" => profile == Profile::Archive,
        _ => rule.starts_with("cmip7-"),
    };
    let notes = ["fletcher32", "unlimited", "wide-type", "old-format", "constant-chunks", "rounding"];
    match (fails, notes.contains(&rule)) {
        (true, _) => Weight::Failure,
        (_, true) => Weight::Note,
        _ => Weight::Warning,
    }
}

pub(super) fn all(look: &Look, profile: Profile) -> Vec<Finding> {
    let mut found = Found { findings: Vec::new(), profile };
    let (least, _, most) = limits(profile);
    for known in &look.datasets {
        dataset(known, &mut found, (least, most));
    }
    file(look, &mut found);
    if profile == Profile::Cmip7 {
        cmip7(look, &mut found);
    }
    found.findings
}

struct Found {
    findings: Vec<Finding>,
    profile: Profile,
}

impl Found {
    fn add(&mut self, rule: &'static str, path: &str, what: String, advice: impl Into<String>) {
        let weight = weight(rule, self.profile);
        self.findings.push(Finding { rule, weight, path: path.into(), what, advice: advice.into() });
    }
}

fn sides(of: &[u64]) -> String {
    of.iter().map(u64::to_string).collect::<Vec<_>>().join("×")
}

fn mib(bytes: u64) -> String {
    if bytes < 1 << 20 {
        format!("{:.1} KiB", bytes as f64 / 1024.0)
    } else {
        format!("{:.1} MiB", bytes as f64 / 1_048_576.0)
    }
}

/// The rules for one dataset.
fn dataset(known: &Known, found: &mut Found, sizes: (u64, u64)) {
    chunks(known, found, sizes);
    filters(known, found);
    skipped(known, found);
    better_filter(known, found);
    rounding(known, found);
    sampled(known, found);
    let facts = &known.facts;
    let (path, (count, _)) = (facts.path.as_str(), facts.stored);
    if matches!(known.index, Some(IndexKind::BtreeV2)) && count > 1000 {
        let what = format!("several unlimited dimensions need an index of {count} records in a tree");
        found.add("unlimited", path, what, "fixed dimensions, or one that grows, have arrays as indexes");
    }
    if let Class::VariableLength(_) = &known.dataset.datatype().class
        && bytes(&facts.shape, 1) > 1000
    {
        let what = "texts or lists of variable length stand outside of the elements, uncompressed".to_owned();
        found.add("variable-length", path, what, "a fixed length, or an array of bytes with offsets");
    }
}

/// The sizes of chunks, which are to be within those of the profile.
fn chunks(known: &Known, found: &mut Found, (least, most): (u64, u64)) {
    let facts = &known.facts;
    let path = facts.path.as_str();
    let all = bytes(&facts.shape, facts.element);
    let (count, _) = facts.stored;
    let planned = |fallback: &str| match &facts.planned_chunks {
        Some(chunks) => format!("chunks of {}", sides(chunks)),
        None => fallback.to_owned(),
    };
    if let Some(chunks) = &facts.chunks {
        let each = bytes(chunks, facts.element);
        if each < least.min(64 << 10) && count > 1000
            || count > 1 && facts.planned_chunks.is_some() && each < least
        {
            let what = format!("{count} chunks of {} have {} of elements each", sides(chunks), mib(each));
            found.add("tiny-chunks", path, what, planned("larger chunks"));
        }
        if each > most {
            let what = format!(
                "a chunk of {} has {} of elements, all of which are decoded to read one",
                sides(chunks),
                mib(each)
            );
            found.add("large-chunks", path, what, planned("smaller chunks"));
        }
    } else if all > most && facts.shape.len() > 1 && facts.planned_chunks.is_some() {
        let what = format!(
            "{} stand one after another, so a column is read in {} pieces",
            mib(all),
            facts.shape.first().unwrap_or(&1)
        );
        found.add("contiguous", path, what, planned("chunks"));
    }
}

/// Chunks that are stored without the filters of their dataset.
fn skipped(known: &Known, found: &mut Found) {
    if known.skipping > 0 {
        let (count, _) = known.facts.stored;
        let what = format!("{} of {count} chunks skip filters", known.skipping);
        found.add(
            "skipped-filters",
            &known.facts.path,
            what,
            "`repack` with the same filters; programs that make references leave such datasets out",
        );
    }
}

/// Another filter, if it makes the elements smaller.
fn better_filter(known: &Known, found: &mut Found) {
    let facts = &known.facts;
    let path = facts.path.as_str();
    let (all, (_, stored)) = (bytes(&facts.shape, facts.element), facts.stored);
    let now = if facts.filters.is_empty() { 1.0 } else { stored as f64 / all.max(1) as f64 };
    // A checksum alone gains no space, and has a finding of its own.
    let gains = |(filter, _): &&(String, Option<u32>)| {
        let best = facts.candidates.first();
        !filter.ends_with("fletcher32") || best.is_some_and(|best| best.ratio < now)
    };
    if let (Some((filter, _)), Some(best)) =
        (facts.planned_filter.as_ref().filter(gains), facts.candidates.first())
    {
        let what = format!(
            "its elements take {:.0} % of their size, and with {filter} {:.0} %",
            now * 100.0,
            best.ratio * 100.0
        );
        let chunks = facts.planned_chunks.as_ref().filter(|_| facts.chunks.is_none());
        let chunks = chunks.map(|chunks| {
            let sides: Vec<String> = chunks.iter().map(u64::to_string).collect();
            format!("--chunk {path}={} ", sides.join(","))
        });
        let advice = format!("`{}--filter-of {path}={filter}`", chunks.unwrap_or_default());
        found.add("filter", path, what, advice);
    }
}

/// Rounding changes numbers. It is only mentioned if it gains much, and is never part of a plan.
fn rounding(known: &Known, found: &mut Found) {
    let Some(Rounded { bits, candidate }) = &known.sampled.rounded else { return };
    let facts = &known.facts;
    let same = |other: &&super::Candidate| other.filter == candidate.filter;
    let now = facts.candidates.iter().find(same).map_or(1.0, |other| other.ratio);
    if candidate.ratio < now * 0.8 {
        let what = format!(
            "{bits} bits of the significand hold {:.0} % of what neighbours tell about each other; rounded to them, its elements take \
             {:.0} % of their size with {}, in place of {:.0} %",
            SHARE * 100.0,
            candidate.ratio * 100.0,
            candidate.filter,
            now * 100.0
        );
        let advice = format!(
            "`--keep-bits auto`, if numbers may change by a part of {:.1e}",
            crate::sink::Rounding::Bits(*bits).relative_error()
        );
        found.add("rounding", &facts.path, what, advice);
    }
}

/// What the values of some chunks tell.
fn sampled(known: &Known, found: &mut Found) {
    let (path, sampled) = (known.facts.path.as_str(), &known.sampled);
    if sampled.count > 3 && bound::product(sampled.constant, 2) > sampled.count {
        let what = format!("{} of {} sampled chunks have one value only", sampled.constant, sampled.count);
        found.add("constant-chunks", path, what, "chunks that are not written take no space");
    }
    if sampled.count > 0 && sampled.narrow {
        found.add(
            "wide-type",
            path,
            "all sampled numbers of 64 bits fit into 32".into(),
            "a narrower type, if later values fit too",
        );
    }
}

/// The filters that a dataset has.
fn filters(known: &Known, found: &mut Found) {
    let facts = &known.facts;
    let path = facts.path.as_str();
    let Ok(pipeline) = known.dataset.filters() else { return };
    let ids: Vec<u16> = pipeline.filters.iter().map(|filter| filter.id).collect();
    let numbers = matches!(known.dataset.datatype().class, Class::FixedPoint(_) | Class::FloatingPoint(_));
    if ids.contains(&1) && !ids.contains(&2) && !ids.contains(&32008) && numbers && facts.element > 1 {
        found.add(
            "no-shuffle",
            path,
            "deflate works on numbers of several bytes without a shuffle".into(),
            "`--filter zlib` shuffles first",
        );
    }
    if let Some(level) = pipeline
        .filters
        .iter()
        .find(|filter| filter.id == 1)
        .and_then(|filter| filter.values.first())
        .filter(|level| **level > 6)
    {
        let what = format!("deflate has level {level}, which takes long to encode");
        found.add("deflate-level", path, what, "level 4, or zstd");
    }
    if let Some(id) = ids.iter().find(|id| **id > 6) {
        // Their descriptions stand in the order of the filters.
        let at = ids.iter().position(|other| other == id).unwrap_or_default(); // a bound: it is one of them
        let name = facts.filters.get(at).cloned().unwrap_or_default();
        let what = format!("filter {id} ({name}) is a plug-in of the HDF5 library, which readers need");
        found.add("plugin-filter", path, what, "`--filter zlib` is in every library");
    }
    if !ids.is_empty() && facts.stored.0 > 0 && bound::product(known.growing, 2) > facts.stored.0 {
        let what =
            format!("{} of {} chunks are not smaller than their elements", known.growing, facts.stored.0);
        found.add("growing-filter", path, what, "`--filter none`");
    }
    if ids.contains(&3) {
        found.add(
            "fletcher32",
            path,
            "chunks have checksums".into(),
            "they cost 4 bytes a chunk; kerchunk 0.2 leaves such datasets out",
        );
    } else if found.profile == Profile::Archive && facts.stored.1 > UNCHECKED {
        found.add(
            "no-checksum",
            path,
            "chunks have no checksum, so damage is not noticed".into(),
            "`--filter zlib+fletcher32`, or a checksum of the file beside it",
        );
    }
}

fn file(look: &Look, found: &mut Found) {
    let structures = &look.structures;
    if !structures.is_first() && structures.page_size.is_none() && structures.blocks > 2 {
        let what =
            format!("{} of structures are in {} blocks of 1 MiB", mib(structures.bytes), structures.blocks);
        found.add("metadata-strewn", "/", what, "`--metadata-first` puts them into one block");
    }
    if let Some(page) = structures.page_size {
        let strewn = structures.bytes / page.max(1) > 8;
        if strewn {
            let what =
                format!("pages of {} hold {} of structures in many pieces", mib(page), mib(structures.bytes));
            found.add("page-size", "/", what, "a page that holds all structures, up to 8 MiB");
        }
    }
    if look.superblock < 2 && look.structures.bytes > 1 << 20 {
        found.add(
            "old-format",
            "/",
            format!(
                "the file has superblock {}, whose indexes take 24 bytes or more a chunk",
                look.superblock
            ),
            "`--bound 1.10`",
        );
    }
    if !look.elsewhere.is_empty() {
        let what = format!(
            "{} objects lead into other files, the first is {}",
            look.elsewhere.len(),
            look.elsewhere.first().map_or("", String::as_str)
        );
        found.add("elsewhere", "/", what, "`repack --inline`, or references");
    }
    if look.free > 1 << 20 {
        found.add("free-space", "/", format!("{} are free", mib(look.free)), "`repack` leaves them out");
    }
    let small = look.datasets.iter().filter(|known| known.facts.stored.1 < 8 << 10).count() as u64;
    if small > 1000 && bound::product(small, 2) > look.objects {
        let what = format!("{small} of {} objects are datasets of less than 8 KiB", look.objects);
        found.add("many-small", "/", what, "columns of one table, or one array with a dimension more");
    }
}

/// The four rules of the archive of CMIP7.
fn cmip7(look: &Look, found: &mut Found) {
    let named =
        |name: &str| look.datasets.iter().find(|known| known.facts.path.rsplit('/').next() == Some(name));
    let pieces = |known: &Known| {
        known.facts.chunks.as_ref().map_or(1, |chunks| {
            known
                .facts
                .shape
                .iter()
                .zip(chunks)
                .fold(1u64, |all, (n, side)| bound::product(all, n.div_ceil((*side).max(1))))
        })
    };
    let time = named("time");
    if let Some(time) = time.filter(|time| pieces(time) > 1) {
        found.add("cmip7-time", &time.facts.path, format!("it has {} chunks", pieces(time)), "one chunk");
    }
    let bounds = time.and_then(|time| time.dataset.attr::<String>("bounds").ok().flatten());
    if let Some(bounds) = bounds.and_then(|name| named(&name)).filter(|bounds| pieces(bounds) > 1) {
        found.add(
            "cmip7-bounds",
            &bounds.facts.path,
            format!("it has {} chunks", pieces(bounds)),
            "one chunk",
        );
    }
    let main = main_variable(look).and_then(|at| look.datasets.get(at));
    if let Some((main, chunks)) = main.and_then(|main| Some((main, main.facts.chunks.as_ref()?))) {
        // One more step along the slowest dimension counts as reached.
        let mut more = chunks.clone();
        if let Some(first) = more.first_mut() {
            *first = bound::sum(*first, 1);
        }
        if pieces(main) > 1 && bytes(&more, main.facts.element) < 4 << 20 {
            let what = format!(
                "its chunks of {} have {} of elements",
                sides(chunks),
                mib(bytes(chunks, main.facts.element))
            );
            found.add("cmip7-data", &main.facts.path, what, "chunks of 4 MiB or more");
        }
    }
    if !look.structures.is_first() {
        let what = format!(
            "structures end at byte {}, and elements begin at {}",
            look.structures.end,
            look.structures.first_element.unwrap_or(0) // a bound
        );
        found.add("cmip7-metadata", "/", what, "`--metadata-first`");
    }
}
