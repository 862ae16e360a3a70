//! What is planned: the shapes of chunks, their filters, and the options of `repack` that bring this about.

use super::look::{Look, main_variable, movable};
use crate::advise::sample::{best, part, sample};
use crate::advise::shape::{balanced, bytes, maps};
use crate::advise::{DatasetFacts, Finding, Options, Profile, rules};
use crate::sink::{CHECKED, Rule, WriteOptions};
use sciformats::Result;
use sciformats_core::bound;

/// The number of datasets that are sampled, the largest first.
const SAMPLED: usize = 24;
/// About how many bytes a filter takes in the structures of a dataset, and how many an index of chunks takes.
const FILTER: f64 = 512.0;
const INDEX: f64 = 8192.0;

/// Takes samples of the largest datasets, in chunks of the shape that is planned for them.
pub(super) fn sampled(look: &mut Look, options: &Options) -> Result<()> {
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
pub(super) fn checked(look: &mut Look) -> Result<()> {
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
pub(in crate::advise) fn limits(profile: Profile) -> (u64, u64, u64) {
    match profile {
        Profile::Cloud | Profile::Archive => (512 << 10, 4 << 20, 32 << 20),
        Profile::Cmip7 => (4 << 20, 4 << 20, 256 << 20),
        Profile::Local => (32 << 10, 512 << 10, 4 << 20),
    }
}

/// The stored size of a planned chunk divided by that of its elements.
pub(super) fn planned_ratio(facts: &DatasetFacts) -> Option<f64> {
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
pub(super) fn wanted(
    look: &Look,
    profile: Profile,
    findings: &[Finding],
) -> Option<(WriteOptions, Vec<String>)> {
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
pub(super) fn effort(look: &Look) -> (u64, f64) {
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
