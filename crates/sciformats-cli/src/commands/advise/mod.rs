//! `advise`: measures what reading a file costs, and tells how to repack it.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use sciformats::Value;
use sciformats_convert::advise::{self, Advice, Candidate, Cost, Options, Profile, Replayed, Weight};

use super::json::JsonObject;
use crate::failure::{Answer, Failure, Outcome};
use crate::look::{self, Align, Cell, FAINT, PLAIN, TITLE, Table, WELL, WRONG};
use crate::output::named;
use crate::session::Session;

/// The arguments of `advise`.
#[derive(Debug, Args)]
pub(crate) struct Advise {
    /// The file, or its URL
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// What the file is for
    #[arg(long, value_enum, default_value_t = For::Cloud)]
    profile: For,
    /// The number of chunks of each dataset that are encoded with each filter
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024))]
    samples: u16,
    /// Plan no filter that the HDF5 library only has as a plug-in
    #[arg(long)]
    no_plugins: bool,
    /// The time of a round trip in milliseconds, from which the time of accesses is worked out
    #[arg(long, value_name = "MS", default_value_t = 60.0)]
    latency: f64,
    /// The number of MB that a connection transfers in a second
    #[arg(long, value_name = "MB", default_value_t = 100.0)]
    bandwidth: f64,
}

/// What a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum For {
    /// Reading from an object store
    Cloud,
    /// The archive of CMIP7
    Cmip7,
    /// Reading from a disk
    Local,
    /// Keeping it for decades
    Archive,
}

pub(super) fn run(args: &Advise, session: &Session) -> Outcome {
    if !(args.latency >= 0.0 && args.bandwidth > 0.0) {
        return Err(Failure::Usage("--latency is at least 0, and --bandwidth above it".into()));
    }
    named(&args.file, "advise")?;
    let file = Arc::new(session.open_whole(&args.file)?);
    let profile = match args.profile {
        For::Cloud => Profile::Cloud,
        For::Cmip7 => Profile::Cmip7,
        For::Local => Profile::Local,
        For::Archive => Profile::Archive,
    };
    let mut options = Options::of(profile).with_samples(args.samples.into());
    if args.no_plugins {
        options = options.with_plugins(false);
    }
    let failed = |error: sciformats::Error| Failure::of(&args.file, &error);
    let storage = session.far().storage(&args.file).map_err(failed)?;
    let open = || match &storage {
        Some(storage) => Ok(storage.clone()),
        None => {
            let storage = sciformats_core::storage::FileStorage::open(&args.file)?;
            Ok(Arc::new(storage) as Arc<dyn sciformats_core::ReadAt>)
        }
    };
    let advice =
        session.watched("measuring", &[&file], || advise::advise(&file, &open, &options)).map_err(failed)?;
    let mut out = session.text();
    if session.json {
        writeln!(out, "{}", json(&advice, args))?;
    } else {
        text(&mut out, &advice, args)?;
    }
    out.flush()?;
    Ok(Answer::of(advice.suits()))
}

/// The command that carries out the plan.
fn command(args: &Advise, arguments: &[String]) -> String {
    let word = |text: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-=,:+@%".contains(c);
        if !text.is_empty() && text.chars().all(plain) {
            text.to_owned()
        } else {
            format!("'{}'", text.replace('\'', "'\\''"))
        }
    };
    let file = args.file.display().to_string();
    let words = ["sciformats", "repack", file.as_str(), "OUT"]
        .into_iter()
        .chain(arguments.iter().map(String::as_str));
    words.map(word).collect::<Vec<_>>().join(" ")
}

fn text(out: &mut impl Write, advice: &Advice, args: &Advise) -> Outcome<()> {
    let name = args.file.display().to_string();
    let verdict = if advice.suits() { (WELL, "suits it") } else { (WRONG, "does not suit it") };
    let (style, verdict) = verdict;
    writeln!(
        out,
        "{TITLE}{}{TITLE:#}  {}, profile {}: {style}{verdict}{style:#}",
        look::safe(&name),
        look::size(advice.size),
        advice.profile.word()
    )?;
    if let Some(structures) = &advice.structures {
        let place = if structures.is_first() { "before all elements" } else { "between the elements" };
        let blocks = look::count(structures.blocks, "block");
        writeln!(out, "  {} of structures {place}, in {blocks} of 1 MiB", look::size(structures.bytes))?;
    }
    let mut findings = Table::new([Align::Left; 3]).fitted().wrapped();
    for finding in &advice.findings {
        let style = if finding.weight == Weight::Failure { WRONG } else { FAINT };
        let what = format!("{}: {}", look::safe(&finding.path), look::safe(&finding.what));
        let found = [(style, finding.weight.word()), (PLAIN, finding.rule), (PLAIN, what.as_str())];
        findings.row(out, found.map(|(style, text)| Cell::new(style, text)).into())?;
        let advice = look::safe(&finding.advice);
        let then = [(PLAIN, ""), (PLAIN, ""), (FAINT, &*advice)];
        findings.row(out, then.map(|(style, text)| Cell::new(style, text)).into())?;
    }
    findings.flush(out)?;
    for facts in advice.datasets.iter().filter(|facts| !facts.candidates.is_empty()) {
        writeln!(out, "{TITLE}{}{TITLE:#}  {}", look::safe(&facts.path), look::shape(Some(&facts.shape)))?;
        let chunks = |chunks: &Option<Vec<u64>>| {
            chunks.as_deref().map_or("none".into(), |chunks| look::shape(Some(chunks)))
        };
        let planned = facts.planned_chunks.as_ref().map(|_| format!(" → {}", chunks(&facts.planned_chunks)));
        writeln!(out, "  chunks {}{}", chunks(&facts.chunks), planned.unwrap_or_default())?;
        for Candidate { filter, level, ratio, encode, decode } in &facts.candidates {
            let level = level.map(|level| format!(" {level}")).unwrap_or_default();
            let rate = |rate: f64| {
                if rate.is_finite() && rate > 0.0 { format!("{:.0} MB/s", rate / 1e6) } else { "–".into() }
            };
            writeln!(
                out,
                "  {:16} {:5.1} %  encodes {:>10}  decodes {:>10}",
                format!("{filter}{level}"),
                ratio * 100.0,
                rate(*encode),
                rate(*decode)
            )?;
        }
    }
    if !advice.accesses.is_empty() {
        writeln!(
            out,
            "{TITLE}accesses{TITLE:#}  {FAINT}a round trip of {} ms, {} MB/s{FAINT:#}",
            args.latency, args.bandwidth
        )?;
    }
    let named = |access: &Replayed| {
        let path = if access.path.is_empty() { String::new() } else { format!(" {}", access.path) };
        look::safe(&format!("{}{path}", access.name)).into_owned()
    };
    let mut accesses = Table::new([Align::Left; 3]).indented(2).fitted().wrapped();
    for access in &advice.accesses {
        let then = access.then.map(|then| format!("→  {}", cost(&then, args)));
        let cells = [Some(named(access)), Some(cost(&access.now, args)), then].into_iter().flatten();
        accesses.row(out, cells.map(|text| Cell::new(PLAIN, text)).collect())?;
    }
    accesses.flush(out)?;
    if let Some(plan) = &advice.plan {
        writeln!(out, "{TITLE}plan{TITLE:#}")?;
        writeln!(out, "  {}", look::safe(&command(args, &plan.arguments)))?;
        let first = if plan.structures > 0 {
            format!(", structures in the first {}", look::size(plan.structures))
        } else {
            String::new()
        };
        let work = if plan.recoded > 0 {
            format!(
                "; {} are coded anew in about {:.1} s on one thread",
                look::size(plan.recoded),
                plan.seconds
            )
        } else {
            String::new()
        };
        let sizes = format!("{} → about {}", look::size(advice.size), look::size(plan.size));
        let mut outcome = Table::new([Align::Left]).indented(2).fitted().wrapped();
        outcome.row(out, vec![Cell::new(PLAIN, format!("{sizes}{first}{work}"))])?;
        outcome.flush(out)?;
    }
    Ok(())
}

fn cost(cost: &Cost, args: &Advise) -> String {
    let chunks =
        if cost.chunks > 0 { format!(", {}", look::count(cost.chunks, "chunk")) } else { String::new() };
    format!(
        "{} in {}, {}{chunks}, {:.2} s",
        look::count(cost.requests, "request"),
        look::count(cost.rounds, "round"),
        look::size(cost.bytes),
        cost.seconds(args.latency / 1e3, args.bandwidth * 1e6)
    )
}

fn json(advice: &Advice, args: &Advise) -> String {
    let list = |items: Vec<String>| format!("[{}]", items.join(","));
    let costs = |cost: &Cost| {
        let mut object = JsonObject::new();
        object.value("requests", cost.requests).value("rounds", cost.rounds).value("bytes", cost.bytes);
        object.value("chunks", cost.chunks).value("decoded", cost.decoded).value("wanted", cost.wanted);
        object.value("seconds", cost.seconds(args.latency / 1e3, args.bandwidth * 1e6));
        object.finish()
    };
    let mut all = JsonObject::new();
    all.value("file", args.file.display().to_string().as_str()).value("profile", advice.profile.word());
    all.value("suits", advice.suits()).value("size", advice.size);
    if let Some(structures) = &advice.structures {
        let mut object = JsonObject::new();
        object
            .value("bytes", structures.bytes)
            .value("blocks", structures.blocks)
            .value("end", structures.end);
        object.value("first", structures.is_first());
        if let Some(first) = structures.first_element {
            object.value("first_element", first);
        }
        if let Some(page) = structures.page_size {
            object.value("page_size", page);
        }
        all.raw("structures", &object.finish());
    }
    let findings = advice.findings.iter().map(|finding| {
        let mut object = JsonObject::new();
        object
            .value("rule", finding.rule)
            .value("weight", finding.weight.word())
            .value("path", finding.path.as_str());
        object.value("what", finding.what.as_str()).value("advice", finding.advice.as_str());
        object.finish()
    });
    all.raw("findings", &list(findings.collect()));
    let datasets = advice.datasets.iter().map(|facts| {
        let mut object = JsonObject::new();
        object.value("path", facts.path.as_str()).list("shape", Some(&facts.shape));
        object.list("chunks", facts.chunks.as_deref()).value("stored_chunks", facts.stored.0);
        object.value("stored_bytes", facts.stored.1);
        object.value(
            "filters",
            Value::List(facts.filters.iter().map(|filter| filter.as_str().into()).collect()),
        );
        if let Some(chunks) = &facts.planned_chunks {
            object.list("planned_chunks", Some(chunks));
        }
        if let Some((filter, _)) = &facts.planned_filter {
            object.value("planned_filter", filter.as_str());
        }
        let candidates = facts.candidates.iter().map(|candidate| {
            let mut object = JsonObject::new();
            object.value("filter", candidate.filter.as_str());
            if let Some(level) = candidate.level {
                object.value("level", level);
            }
            object.value("ratio", candidate.ratio);
            for (name, rate) in [("encode", candidate.encode), ("decode", candidate.decode)] {
                if rate.is_finite() && rate > 0.0 {
                    object.value(name, rate);
                }
            }
            object.finish()
        });
        object.raw("candidates", &list(candidates.collect()));
        object.finish()
    });
    all.raw("datasets", &list(datasets.collect()));
    let accesses = advice.accesses.iter().map(|access| {
        let mut object = JsonObject::new();
        object.value("name", access.name.as_str()).value("path", access.path.as_str());
        object.raw("now", &costs(&access.now));
        if let Some(then) = &access.then {
            object.raw("then", &costs(then));
        }
        object.finish()
    });
    all.raw("accesses", &list(accesses.collect()));
    if let Some(plan) = &advice.plan {
        let mut object = JsonObject::new();
        object.value(
            "arguments",
            Value::List(plan.arguments.iter().map(|word| word.as_str().into()).collect()),
        );
        object.value("command", command(args, &plan.arguments).as_str()).value("size", plan.size);
        object
            .value("structures", plan.structures)
            .value("recoded", plan.recoded)
            .value("seconds", plan.seconds);
        all.raw("plan", &object.finish());
    }
    all.finish()
}
