//! What `advise` measured, for people.

use std::io::Write;

use sciformats_convert::advise::{Advice, Candidate, Cost, DatasetFacts, Finding, Plan, Replayed, Weight};

use super::{Advise, command, seconds};
use crate::failure::Outcome;
use crate::look::{self, Align, Cell, FAINT, PLAIN, TITLE, Table, WELL, WRONG};

pub(super) fn text(out: &mut impl Write, advice: &Advice, args: &Advise) -> Outcome<()> {
    verdict(out, advice, args)?;
    findings(out, &advice.findings)?;
    for facts in advice.datasets.iter().filter(|facts| !facts.candidates.is_empty()) {
        dataset(out, facts)?;
    }
    accesses(out, &advice.accesses, args)?;
    if let Some(of) = &advice.plan {
        plan(out, (of, advice.size), args)?;
    }
    Ok(())
}

/// The file, whether it suits the profile, and where its structures are.
fn verdict(out: &mut impl Write, advice: &Advice, args: &Advise) -> Outcome<()> {
    let name = args.file.display().to_string();
    let (style, verdict) = if advice.suits() { (WELL, "suits it") } else { (WRONG, "does not suit it") };
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
    Ok(())
}

fn findings(out: &mut impl Write, all: &[Finding]) -> Outcome<()> {
    let mut findings = Table::new([Align::Left; 3]).fitted().wrapped();
    for finding in all {
        let style = if finding.weight == Weight::Failure { WRONG } else { FAINT };
        let what = format!("{}: {}", look::safe(&finding.path), look::safe(&finding.what));
        let found = [(style, finding.weight.word()), (PLAIN, finding.rule), (PLAIN, what.as_str())];
        findings.row(out, found.map(|(style, text)| Cell::new(style, text)).into())?;
        let advice = look::safe(&finding.advice);
        let then = [(PLAIN, ""), (PLAIN, ""), (FAINT, &*advice)];
        findings.row(out, then.map(|(style, text)| Cell::new(style, text)).into())?;
    }
    Ok(findings.flush(out)?)
}

/// The chunks of a dataset, and the filters that were tried on them.
fn dataset(out: &mut impl Write, facts: &DatasetFacts) -> Outcome<()> {
    writeln!(out, "{TITLE}{}{TITLE:#}  {}", look::safe(&facts.path), look::shape(Some(&facts.shape)))?;
    let chunks = |chunks: &Option<Vec<u64>>| {
        chunks.as_deref().map_or("none".into(), |chunks| look::shape(Some(chunks)))
    };
    let planned = facts.planned_chunks.as_ref().map(|_| format!(" → {}", chunks(&facts.planned_chunks)));
    writeln!(out, "  chunks {}{}", chunks(&facts.chunks), planned.unwrap_or_default())?;
    let rate = |rate: f64| {
        if rate.is_finite() && rate > 0.0 { format!("{:.0} MB/s", rate / 1e6) } else { "–".into() }
    };
    for Candidate { filter, level, ratio, encode, decode } in &facts.candidates {
        let level = level.map(|level| format!(" {level}")).unwrap_or_default();
        writeln!(
            out,
            "  {:16} {:5.1} %  encodes {:>10}  decodes {:>10}",
            format!("{filter}{level}"),
            ratio * 100.0,
            rate(*encode),
            rate(*decode)
        )?;
    }
    Ok(())
}

fn accesses(out: &mut impl Write, all: &[Replayed], args: &Advise) -> Outcome<()> {
    if !all.is_empty() {
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
    for access in all {
        let then = access.then.map(|then| format!("→  {}", cost(&then, args)));
        let cells = [Some(named(access)), Some(cost(&access.now, args)), then].into_iter().flatten();
        accesses.row(out, cells.map(|text| Cell::new(PLAIN, text)).collect())?;
    }
    Ok(accesses.flush(out)?)
}

fn cost(cost: &Cost, args: &Advise) -> String {
    let chunks =
        if cost.chunks > 0 { format!(", {}", look::count(cost.chunks, "chunk")) } else { String::new() };
    format!(
        "{} in {}, {}{chunks}, {:.2} s",
        look::count(cost.requests, "request"),
        look::count(cost.rounds, "round"),
        look::size(cost.bytes),
        seconds(cost, args)
    )
}

/// The command of the plan, and what it costs and gains.
fn plan(out: &mut impl Write, (plan, size): (&Plan, u64), args: &Advise) -> Outcome<()> {
    writeln!(out, "{TITLE}plan{TITLE:#}")?;
    writeln!(out, "  {}", look::safe(&command(args, &plan.arguments)))?;
    let first = if plan.structures > 0 {
        format!(", structures in the first {}", look::size(plan.structures))
    } else {
        String::new()
    };
    let work = if plan.recoded > 0 {
        format!("; {} are coded anew in about {:.1} s on one thread", look::size(plan.recoded), plan.seconds)
    } else {
        String::new()
    };
    let sizes = format!("{} → about {}", look::size(size), look::size(plan.size));
    let mut outcome = Table::new([Align::Left]).indented(2).fitted().wrapped();
    outcome.row(out, vec![Cell::new(PLAIN, format!("{sizes}{first}{work}"))])?;
    Ok(outcome.flush(out)?)
}
