//! `diff`: shows where two files differ.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::Arc;

use sciformats::{File, Format};
use sciformats_conventions::type_name;
use sciformats_convert::compare::{Difference, Elements, Options, Side, Summary, What, compare_objects};
use sciformats_convert::convert::{self, Plan};
use sciformats_core::bound;

use super::json::JsonObject;
use crate::args::Diff;
use crate::failure::{Answer, Failure, Outcome};
use crate::look::{self, FAINT, TITLE, WELL, WRONG};
use crate::session::Session;

pub(super) fn run(args: &Diff, session: &Session) -> Outcome {
    let named = [super::named(&args.a, session), super::named(&args.b, session)];
    let [in_a, in_b] = &named;
    let (a, b) = (Arc::new(session.open(&in_a.file)?), Arc::new(session.open(&in_b.file)?));
    let whole = named.iter().all(|object| object.path == "/");
    for (object, file) in named.iter().zip([&a, &b]) {
        file.resolve(&object.path).map_err(|error| Failure::within(&object.file, file, &error))?;
    }
    // Each format puts groups, names and attributes in its own places. One file is therefore compared as it
    // would be in the format of the other.
    let there = if whole { lossless(&a, b.format()) } else { None };
    let back = if whole && there.is_none() { lossless(&b, a.format()) } else { None };
    let (left, right) = (there.as_ref().map_or(&*a, Plan::tree), back.as_ref().map_or(&*b, Plan::tree));
    let options = Options::exact()
        .with_rtol(args.rtol)
        .with_atol(args.atol)
        .with_show(args.show)
        .with_storage(args.storage)
        .with_versions(args.storage)
        .with_ignore(args.ignore.iter().map(String::as_str))
        .with_only(args.only.iter().map(String::as_str));
    options.check_only(left, right).map_err(|error| {
        Failure::Input(format!("--only: {error}; neither file has a match, so nothing would be compared"))
    })?;
    let mut out = session.text();
    let mut failure = Ok(());
    let summary = session.watched("comparing", &[&a, &b], || {
        compare_objects((left, &in_a.path), (right, &in_b.path), &options, &mut |difference| {
            failure = if session.json {
                writeln!(out, "{}", json(&difference))
            } else {
                text(&mut out, &difference)
            };
            if failure.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
    });
    failure?;
    let summary = summary.map_err(|error| Failure::of(&in_a.file, &error))?;
    if session.json {
        writeln!(out, "{}", totals(&summary))?;
    } else if !session.quiet {
        conclude(&mut out, &summary)?;
    }
    out.flush()?;
    Ok(Answer::of(summary.is_same()))
}

/// Returns the conversion into another format, if it loses nothing.
fn lossless(file: &Arc<File>, target: Format) -> Option<Plan> {
    if file.format() == target {
        return None;
    }
    Plan::new(file, target, &convert::Options::default()).ok().filter(|plan| plan.losses().is_empty())
}

/// Prints one difference.
pub(in crate::commands) fn text(out: &mut impl Write, difference: &Difference) -> io::Result<()> {
    let path = look::safe(&difference.path);
    write!(out, "{TITLE}{path}{TITLE:#}  ")?;
    reason(out, &difference.what)
}

/// Prints what differs, to the end of the line.
pub(super) fn reason(out: &mut impl Write, what: &What) -> io::Result<()> {
    match what {
        What::Only(side, kind) => writeln!(out, "{kind} only in {side}"),
        What::Kind(a, b) => sides(out, "", (a, b)),
        What::Target(a, b) => sides(out, "leads to ", (a, b)),
        What::Type(a, b) => sides(out, "type ", (&type_name(a), &type_name(b))),
        What::Times(a, b) => sides(out, "type ", (a, b)),
        What::Shape(a, b) => sides(out, "shape ", (&look::shape(a.as_deref()), &look::shape(b.as_deref()))),
        What::Value(a, b) => sides(out, "value ", (a, b)),
        What::Incomparable(a, b) => sides(out, "cannot be compared: ", (&type_name(a), &type_name(b))),
        What::Unreadable(side, error) => {
            let error = error.to_string();
            writeln!(out, "cannot be read in {side}: {WRONG}{}{WRONG:#}", look::safe(&error))
        }
        What::Storage(what, a, b) => sides(out, &format!("{what} "), (a, b)),
        What::Elements(elements) => print_elements(out, elements),
        other => writeln!(out, "{}", other.word()),
    }
}

/// Prints the value in A and the value in B.
fn sides(out: &mut impl Write, what: &str, (a, b): (&str, &str)) -> io::Result<()> {
    writeln!(out, "{what}{} {FAINT}≠{FAINT:#} {}", look::safe(a), look::safe(b))
}

fn print_elements(out: &mut impl Write, elements: &Elements) -> io::Result<()> {
    let count = look::grouped(elements.different);
    let of = look::count(elements.compared, "element");
    let verb = if elements.different == 1 { "differs" } else { "differ" };
    write!(out, "{WRONG}{count}{WRONG:#} of {of} {verb}")?;
    if let Some(max) = elements.max_abs {
        write!(out, ", by up to {}", brief(max))?;
    }
    if let Some(max) = elements.max_rel {
        write!(out, " (relative {})", brief(max))?;
    }
    writeln!(out)?;
    for mismatch in &elements.first {
        let index: Vec<String> = mismatch.index.iter().map(u64::to_string).collect();
        let index = index.join(", ");
        let (a, b) = (look::clipped(&mismatch.a, 60), look::clipped(&mismatch.b, 60));
        // A scalar has no index.
        if index.is_empty() {
            write!(out, "  ")?;
        } else {
            write!(out, "  {FAINT}[{index}]{FAINT:#}  ")?;
        }
        sides(out, "", (&a, &b))?;
    }
    let hidden = bound::left(elements.different, elements.first.len() as u64);
    if hidden > 0 && !elements.first.is_empty() {
        writeln!(out, "  {FAINT}… {} more{FAINT:#}", look::grouped(hidden))?;
    }
    Ok(())
}

/// Formats a number with at most six significant digits.
fn brief(value: f64) -> String {
    if value == 0.0 || (1e-3..1e6).contains(&value) {
        // The number is rounded to six digits, and trailing zeros are removed.
        let digits = bound::left(5i32, value.abs().max(1e-3).log10().floor() as i32).clamp(0, 9) as usize;
        let text = format!("{value:.digits$}");
        match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => text,
        }
    } else {
        format!("{value:.3e}")
    }
}

fn conclude(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    let &Summary { same, different, incomparable } = summary;
    if summary.is_same() {
        return writeln!(out, "{WELL}same{WELL:#}  {FAINT}{} compared{FAINT:#}", look::count(same, "object"));
    }
    let counts = [(same, "same"), (different, "different"), (incomparable, "incomparable")];
    let shown: Vec<String> = counts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{} {word}", look::grouped(*n)))
        .collect();
    writeln!(out, "{WRONG}differ{WRONG:#}  {FAINT}{}{FAINT:#}", shown.join(", "))
}

pub(super) fn json(difference: &Difference) -> String {
    let mut object = JsonObject::new();
    object.value("path", difference.path.as_str()).value("difference", difference.what.word());
    match &difference.what {
        What::Only(side, kind) => {
            object.value("in", letter(*side)).value("kind", *kind);
        }
        What::Kind(a, b) => {
            object.value("a", *a).value("b", *b);
        }
        What::Target(a, b) | What::Value(a, b) | What::Times(a, b) => {
            object.value("a", a.as_str()).value("b", b.as_str());
        }
        What::Type(a, b) | What::Incomparable(a, b) => {
            object.raw("a", &a.to_json()).raw("b", &b.to_json());
        }
        What::Shape(a, b) => {
            object.list("a", a.as_deref()).list("b", b.as_deref());
        }
        What::Unreadable(side, error) => {
            object.value("in", letter(*side)).value("error", error.to_string());
        }
        What::Storage(what, a, b) => {
            object.value("what", *what).value("a", a.as_str()).value("b", b.as_str());
        }
        What::Elements(elements) => json_elements(&mut object, elements),
        _ => {}
    }
    object.finish()
}

fn letter(side: Side) -> String {
    side.to_string().to_lowercase()
}

fn json_elements(object: &mut JsonObject, elements: &Elements) {
    object.value("compared", elements.compared).value("different", elements.different);
    if let Some(max) = elements.max_abs {
        object.value("max_abs", max);
    }
    if let Some(max) = elements.max_rel {
        object.value("max_rel", max);
    }
    let first = elements.first.iter().map(|mismatch| {
        let mut one = JsonObject::new();
        one.list("index", Some(&mismatch.index))
            .value("a", mismatch.a.as_str())
            .value("b", mismatch.b.as_str());
        one.finish()
    });
    object.raw("first", &format!("[{}]", first.collect::<Vec<_>>().join(",")));
}

fn totals(summary: &Summary) -> String {
    let mut object = JsonObject::new();
    object.value("same", summary.same).value("different", summary.different);
    object.value("incomparable", summary.incomparable).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_brief() {
        for (value, text) in [
            (0.5, "0.5"),
            (1.0 / 3.0, "0.333333"),
            (100.0, "100"),
            (123_456.7, "123457"),
            (1e-7, "1.000e-7"),
            (2.5e9, "2.500e9"),
        ] {
            assert_eq!(brief(value), text);
        }
    }
}
