//! `stats`: describes the numbers of an array, or of all arrays of a file.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

use sciformats::walk::{Entry, Found, breadth_first};
use sciformats::{ElementType, Error, FloatKind, Kind as Objects, Object, Result, Value};
use sciformats_conventions::decoding::Decoding;
use sciformats_conventions::time::TimeUnits;
use sciformats_conventions::{Dataset, Variable};

use super::json::JsonObject;
use crate::args::Stats;
use crate::failure::{Answer, Failure, Outcome, remark};
use crate::figure::sample::{Quantiles, Statistics};
use crate::figure::ticks::brief;
use crate::gather::{Kind, Numbers, Subject, is_number};
use crate::look::{self, Align, Cell, FAINT, PLAIN, TITLE, Table, WRONG};
use crate::meaning::{Thing, View, along};
use crate::session::Session;

/// The quantiles that are shown beside the extremes.
const PARTS: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

/// From here on, not every integer has a binary64 that is equal to it.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The statistics of an array.
struct Told {
    /// Those of the values; for integers that would be rounded, those of what they exceed the least one by.
    statistics: Statistics,
    /// The least and the greatest of integers that would be rounded.
    ends: Option<(i128, i128)>,
    /// One value for each of [`PARTS`].
    quantiles: Vec<f64>,
    /// The largest possible error of the quantiles; 0 if they are exact.
    off: f64,
    units: Option<String>,
    /// What the values count, if they are dates.
    times: Option<TimeUnits>,
    label: String,
    /// Whether the values have four bytes, so that fewer digits tell them.
    single: bool,
}

impl Told {
    /// Formats a value with as many digits as distinguish it from other values of its type.
    fn shown(&self, value: f64) -> String {
        if let Some((least, _)) = self.ends {
            return raised(least, value);
        }
        self.plain(value)
    }

    /// As [`shown`](Self::shown), for a distance between values.
    fn plain(&self, value: f64) -> String {
        spelled(value, self.single)
    }

    fn greatest(&self) -> String {
        self.ends.map_or_else(|| self.shown(self.statistics.high), |(_, greatest)| greatest.to_string())
    }

    /// Returns the date that a value means, if values are dates.
    fn date(&self, value: f64) -> Option<String> {
        let units = self.times.as_ref()?;
        let moment = match self.ends {
            Some((least, _)) => units.moment_of_integer(least.checked_add(value.round() as i128)?),
            None => units.moment(value),
        };
        moment.map(|moment| along::date(&moment))
    }

    /// As [`date`](Self::date), for the greatest value.
    fn last_date(&self) -> Option<String> {
        match self.ends {
            Some((_, greatest)) => {
                self.times.as_ref()?.moment_of_integer(greatest).map(|moment| along::date(&moment))
            }
            None => self.date(self.statistics.high),
        }
    }

    /// Adds a value to an object. Rounding would make another integer of a large one.
    fn add(&self, object: &mut JsonObject, key: &str, value: f64) {
        match self.ends {
            Some(_) => object.raw(key, &self.shown(value)),
            None => object.value(key, value),
        };
    }
}

/// Formats a number with as many digits as distinguish it from others, as `cat` prints it, but whole numbers without a point.
fn spelled(value: f64, single: bool) -> String {
    let kind = if single && f64::from(value as f32) == value { FloatKind::F32 } else { FloatKind::F64 };
    let text = kind.digits(value);
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

/// Formats the sum of an integer and a number that is not negative, to a millionth.
fn raised(integer: i128, by: f64) -> String {
    const PARTS: i128 = 1_000_000;
    let by_parts = format!("{by:.6}").replace('.', "").parse::<i128>().ok();
    let sum = integer.checked_mul(PARTS).zip(by_parts).and_then(|(parts, by)| parts.checked_add(by));
    let Some(sum) = sum else { return (integer as f64 + by).to_string() };
    let (sign, sum) = (if sum < 0 { "-" } else { "" }, sum.unsigned_abs());
    let (whole, part) = (sum / PARTS.unsigned_abs(), sum % PARTS.unsigned_abs());
    let text = format!("{sign}{whole}.{part:06}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns the statistics of numbers. If they are integers that would be rounded, they are those of what the integers
/// exceed the least one by, and the least and the greatest one are returned too.
fn statistics(subject: &Subject<'_>, numbers: &Numbers) -> Result<(Statistics, Option<(i128, i128)>)> {
    let statistics = subject.statistics()?;
    let large = [statistics.low, statistics.high].iter().any(|end| end.is_finite() && end.abs() >= EXACT);
    if !numbers.are_whole() || !large {
        return Ok((statistics, None));
    }
    let (mut least, mut greatest) = (i128::MAX, i128::MIN);
    subject.for_each_integer(numbers, &mut |integer| {
        (least, greatest) = (least.min(integer), greatest.max(integer));
    })?;
    let mut statistics = Statistics::default();
    subject.for_each_integer(numbers, &mut |integer| statistics.add(integer.abs_diff(least) as f64))?;
    Ok((statistics, Some((least, greatest))))
}

pub(super) fn run(args: &Stats, session: &Session) -> Outcome {
    let objects = super::objects(&args.object, &args.more, session);
    let titles = !session.json;
    super::for_each_object(&objects, (titles, session), |object| {
        one_object(&Stats { object: object.clone(), ..args.clone() }, session)
    })
}

fn one_object(args: &Stats, session: &Session) -> Outcome {
    let path = &args.object.file;
    // Fill values in place of elements that are elsewhere would be counted like others.
    let file = session.open_whole(path)?;
    let id = file.resolve(&args.object.path).map_err(|error| Failure::within(path, &file, &error))?;
    let object = file.source().object(id);
    if let Ok(Object::Array(_)) = &object {
        file.source().sized(id).map_err(|error| Failure::of(path, &error))?;
    }
    let group = matches!(object, Ok(Object::Group));
    let data = Dataset::new(file);
    let data = if args.raw { data.raw() } else { data };
    let view = if args.raw { View::Stored } else { View::Numbers };
    let variable = Thing::find(&data, &args.object.path, view).is_ok_and(|thing| thing.array().is_ok());
    if group && !variable {
        if args.slice.is_some() || args.at.is_some() {
            return Err(Failure::Usage(format!(
                "{} is a group, but --slice and --at need an array",
                args.object.path
            )));
        }
        return all(&data, (path, &args.object.path, view), session);
    }
    let thing = Thing::find(&data, &args.object.path, view).map_err(|error| Failure::of(path, &error))?;
    let part = (args.slice.as_deref(), args.at.as_deref());
    let field = args.field.as_deref();
    let told = session.watched("reading", &[thing.source()], || told(&thing, part, field, session));
    let told = told.map_err(|error| Failure::of(path, &error))?;
    session.doubt(path, &thing);
    let mut out = session.text();
    if session.json {
        writeln!(out, "{}", json(thing.path(), &told))?;
    } else {
        text(&mut out, &thing, &told)?;
    }
    out.flush()?;
    Ok(Answer::Yes)
}

/// Reads the numbers once for everything except the quantiles, and a second time for these.
fn told(
    thing: &Thing,
    part: (Option<&str>, Option<&str>),
    field: Option<&str>,
    session: &Session,
) -> Result<Told> {
    let array = thing.array()?;
    let (mut subject, chosen) = Subject::new((thing, &array), part, Some(Kind::Histogram))?;
    if !session.quiet {
        chosen.iter().for_each(|chosen| remark(&look::safe(chosen)));
    }
    subject.field = field;
    let numbers = Numbers::new(array.element(), field)?;
    let (statistics, ends) = statistics(&subject, &numbers)?;
    let mut quantiles = Quantiles::new(&statistics);
    match ends {
        Some((least, _)) => {
            subject.for_each_integer(&numbers, &mut |integer| {
                quantiles.add(integer.abs_diff(least) as f64);
            })?;
        }
        None => {
            subject
                .for_each(&numbers, &mut |values| values.iter().for_each(|&value| quantiles.add(value)))?;
        }
    }
    let (values, off) = quantiles.finish(&PARTS);
    let variable = thing.variable();
    Ok(Told {
        statistics,
        ends,
        quantiles: values,
        off,
        units: variable.and_then(|variable| variable.units.clone()),
        times: times(thing),
        label: variable.and_then(|variable| variable.long_name.clone()).unwrap_or_default(),
        single: *array.element() == ElementType::F32,
    })
}

/// Returns what the numbers of an array count, if they are dates.
fn times(thing: &Thing) -> Option<TimeUnits> {
    match thing.data().variable(thing.path()).ok()?.decoding {
        Decoding::Time { units, .. } => Some(units),
        _ => None,
    }
}

fn text(out: &mut impl Write, thing: &Thing, told: &Told) -> Outcome<()> {
    let statistics = &told.statistics;
    let name = thing.variable().map_or_else(|| thing.path().to_owned(), Variable::signature);
    write!(out, "{TITLE}{}{TITLE:#}", look::safe(&name))?;
    writeln!(
        out,
        "{}",
        if told.label.is_empty() { String::new() } else { format!("  {}", look::safe(&told.label)) }
    )?;
    let mut table = Table::new([Align::Left, Align::Left]).indented(2).fitted();
    let units = told.units.as_ref().map(|units| format!(" {}", look::safe(units))).unwrap_or_default();
    let mut row = |out: &mut _, key: &str, value: String| {
        table.row(out, vec![Cell::new(FAINT, key), Cell::new(PLAIN, value)])
    };
    row(out, "values", look::grouped(statistics.count))?;
    let missing = if thing.is_meant() { "missing" } else { "not finite" };
    row(out, missing, look::grouped(statistics.left_out))?;
    if statistics.count > 0 {
        let number = |value: String| format!("{value}{units}");
        let shown = |value: f64| told.date(value).unwrap_or_else(|| number(told.shown(value)));
        // A distance between dates is counted from none.
        let step =
            told.times.as_ref().and(told.units.as_deref()).and_then(|units| units.split_once(" since "));
        let step = step.map_or_else(|| units.clone(), |(step, _)| format!(" {}", look::safe(step)));
        for (key, value) in [
            ("min", shown(statistics.low)),
            ("max", told.last_date().unwrap_or_else(|| number(told.greatest()))),
            ("mean", shown(statistics.mean())),
            ("deviation", format!("{}{step}", told.plain(statistics.deviation()))),
        ] {
            row(out, key, value)?;
        }
        for (part, value) in PARTS.iter().zip(&told.quantiles) {
            let unit = if told.times.is_some() { &step } else { "" };
            let near = if told.off > 0.0 { format!("  to {}{unit}", brief(told.off)) } else { String::new() };
            let key = if *part == 0.5 { "median".to_owned() } else { format!("{:.0} %", part * 100.0) };
            row(out, &key, format!("{}{near}", shown(*value)))?;
        }
    }
    table.flush(out)?;
    Ok(())
}

fn json(path: &str, told: &Told) -> String {
    let statistics = &told.statistics;
    let mut object = JsonObject::new();
    object.value("path", path).value("count", statistics.count).value("missing", statistics.left_out);
    if statistics.count > 0 {
        told.add(&mut object, "min", statistics.low);
        match told.ends {
            Some((_, greatest)) => object.value("max", greatest),
            None => object.value("max", statistics.high),
        };
        told.add(&mut object, "mean", statistics.mean());
        object.value("deviation", statistics.deviation());
        let mut inner = JsonObject::new();
        for (part, value) in PARTS.iter().zip(&told.quantiles) {
            told.add(&mut inner, &part.to_string(), *value);
        }
        object.raw("quantiles", &inner.finish()).value("quantiles_off_by", told.off);
        let dates = [
            ("min", told.date(statistics.low)),
            ("max", told.last_date()),
            ("mean", told.date(statistics.mean())),
        ];
        let mut inner = JsonObject::new();
        for (key, date) in dates {
            inner.value(key, date.map_or(Value::Null, Value::from));
        }
        if told.times.is_some() {
            object.raw("dates", &inner.finish());
        }
    }
    if let Some(units) = &told.units {
        object.value("units", units.as_str());
    }
    object.finish()
}

/// Prints one line for each array of numbers at and below a group.
fn all(data: &Dataset, (path, group, view): (&Path, &str, View), session: &Session) -> Outcome {
    let file = data.file();
    let root = file.resolve(group).map_err(|error| Failure::of(path, &error))?;
    let mut paths = Vec::new();
    let _ = breadth_first(file.source(), (group, root), file.limits(), &mut |Entry { path, what }| {
        match what {
            Found::Object(id, Object::Array(info)) if info.elements().is_some() => {
                let unknown = file.source().sized(id).err();
                if unknown.is_some() || info.elements() != Some(0) {
                    paths.push((path, unknown));
                }
            }
            // There may be numbers in it.
            Found::Unreadable(error)
            | Found::Unlisted(error)
            | Found::Object(
                _,
                Object::Damaged { kind: Objects::Group | Objects::Array | Objects::Unknown, error },
            ) => {
                paths.push((path, Some(error)));
            }
            Found::Object(id, Object::Group) if view != View::Stored => {
                let node = data.known(&path, id);
                // A group with these attributes stands for an array whose elements are all the same.
                if ["value", "shape"].iter().all(|name| node.has(name).unwrap_or(false)) {
                    paths.push((path.clone(), None));
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
    let mut out = session.text();
    let columns =
        [Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right, Align::Left];
    let mut table = Table::new(columns).fitted().grid();
    let heads = ["", "min", "max", "mean", "deviation", "missing", "units"];
    let mut headed = false;
    let mut answer = Answer::Yes;
    for (object, unknown) in paths {
        let found = unknown.map_or_else(|| one(data, (&object, view), session), Err);
        let row = match found {
            Ok(None) => continue,
            Ok(Some(told)) if session.json => {
                writeln!(out, "{}", json(&object, &told))?;
                continue;
            }
            Ok(Some(told)) => line(&object, &told),
            Err(error) if session.json => {
                answer = Answer::No;
                let mut failed = JsonObject::new();
                failed.value("path", object.as_str()).value("error", error.to_string());
                writeln!(out, "{}", failed.finish())?;
                continue;
            }
            Err(error) => {
                answer = Answer::No;
                vec![Cell::new(PLAIN, look::safe(&object)), Cell::new(WRONG, look::safe(&error.to_string()))]
            }
        };
        if !std::mem::replace(&mut headed, true) {
            table.row(&mut out, heads.iter().map(|head| Cell::new(FAINT, *head)).collect())?;
        }
        table.row(&mut out, row)?;
    }
    table.flush(&mut out)?;
    if !session.json {
        look::left_out(&mut out, &table, "--json")?;
    }
    out.flush()?;
    Ok(answer)
}

/// Returns the statistics of an array of numbers without quantiles; `None` if it holds something else.
fn one(
    data: &Dataset,
    (path, view): (&str, View),
    session: &Session,
) -> std::result::Result<Option<Told>, Error> {
    let thing = Thing::find(data, path, view)?;
    let array = thing.array()?;
    let empty = thing.variable().is_some_and(Variable::is_dimension);
    if !is_number(array.element()) || empty {
        return Ok(None);
    }
    let (subject, _) = Subject::new((&thing, &array), (None, None), Some(Kind::Histogram))?;
    let numbers = Numbers::new(array.element(), None)?;
    let (statistics, ends) =
        session.watched("reading", &[thing.source()], || statistics(&subject, &numbers))?;
    let units = thing.variable().and_then(|variable| variable.units.clone());
    let (quantiles, label) = (Vec::new(), String::new());
    let times = times(&thing);
    Ok(Some(Told { statistics, ends, quantiles, off: 0.0, units, times, label, single: false }))
}

fn line(path: &str, told: &Told) -> Vec<Cell> {
    let statistics = &told.statistics;
    let mut row = vec![Cell::new(PLAIN, look::safe(path))];
    let least = told.ends.map_or(0.0, |(least, _)| least as f64);
    // A line has room for days, and for times of day if they are all that differs.
    let (first, last) = (told.date(statistics.low), told.last_date());
    let day = |date: &Option<String>| {
        date.as_deref().map(|date| date.split_once('T').map_or(date, |(day, _)| day).to_owned())
    };
    let days = day(&first) != day(&last);
    let shown = |value: f64, date: Option<String>| match (statistics.count, date) {
        (0, _) => String::new(),
        (_, date @ Some(_)) if days => day(&date).unwrap_or_default(),
        (_, Some(date)) => date,
        (_, None) => brief(value),
    };
    for (value, date) in [
        (least + statistics.low, first),
        (least + statistics.high, last),
        (least + statistics.mean(), told.date(statistics.mean())),
        (statistics.deviation(), None),
    ] {
        row.push(Cell::new(PLAIN, shown(value, date)));
    }
    let missing = if statistics.left_out == 0 { String::new() } else { look::grouped(statistics.left_out) };
    row.push(Cell::new(PLAIN, missing));
    row.push(Cell::new(FAINT, look::safe(told.units.as_deref().unwrap_or_default())));
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_integers_keep_their_digits() {
        for (integer, by, expected) in [
            (1_600_000_000_000_000_000, 4.5, "1600000000000000004.5"),
            (1_600_000_000_000_000_000, 9.0, "1600000000000000009"),
            (-9_007_199_254_740_993, 0.25, "-9007199254740992.75"),
            (-9_007_199_254_740_993, 9_007_199_254_740_992.0, "-1"),
            (i128::MAX, 0.0, "170141183460469230000000000000000000000"),
        ] {
            assert_eq!(raised(integer, by), expected);
        }
    }

    #[test]
    fn large_and_small_numbers_have_powers_of_ten() {
        for (value, single, expected) in [
            (1e308, false, "1e308"),
            (-6.022e23, false, "-6.022e23"),
            (5e-324, false, "5e-324"),
            (f64::from(1.5e-30_f32), true, "1.5e-30"),
            (f64::from(0.1_f32), true, "0.1"),
            (1234567.25, false, "1234567.25"),
            (-0.0, false, "-0"),
            (0.0001, false, "0.0001"),
            (f64::INFINITY, false, "inf"),
        ] {
            assert_eq!(spelled(value, single), expected);
        }
    }
}
