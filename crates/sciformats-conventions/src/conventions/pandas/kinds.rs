//! Kinds of values that the attributes of pandas name: dates, spans, periods, texts.

use sciformats::{ElementType, Error, Result};

use super::attributes::pickled;
use super::tables::told;
use crate::conventions::plain;
use crate::decoding::{Decoding, Numbers};
use crate::node::Node;
use crate::pickle::{self, Item};
use crate::time::{Calendar, Period, TimeUnits};

/// The unit of a kind such as `datetime64[us]` in a word of CF and in seconds; without a unit it is nanoseconds.
fn unit(kind: &str) -> (&'static str, f64) {
    match kind.split_once('[').map(|(_, unit)| unit.trim_end_matches(']')) {
        Some("s") => ("seconds", 1.0),
        Some("ms") => ("milliseconds", 1e-3),
        Some("us") => ("microseconds", 1e-6),
        _ => ("nanoseconds", 1e-9),
    }
}

/// Returns the decoding for a kind of date: `datetime64[ns]`. In a time zone, moments are stored in UTC.
fn moments(kind: &str, zoned: bool) -> Option<Decoding> {
    let units = format!("{} since 1970-01-01", unit(kind).0);
    let units = TimeUnits::parse(&units, Calendar::ProlepticGregorian)?;
    let units = if zoned { units.in_utc() } else { units };
    let mut numbers = Numbers::new(ElementType::Int(8));
    numbers.fill = vec![NOT_A_TIME];
    Some(Decoding::Time { numbers, units })
}

/// Returns the decoding for a kind of span, `timedelta64[ns]`: a number of seconds.
fn spans(kind: &str) -> Decoding {
    let mut numbers = Numbers::new(ElementType::Int(8));
    numbers.fill = vec![NOT_A_TIME];
    numbers.scale = Some(unit(kind).1);
    numbers.divides = true;
    numbers.to = Some(ElementType::F64);
    Decoding::Numbers(numbers)
}

/// The integer that means a missing date or span.
const NOT_A_TIME: f64 = i64::MIN as f64;

/// How the bytes of texts in fields are characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    Latin1,
    Other,
}

impl Encoding {
    pub(super) fn of(group: &Node) -> Result<Self> {
        let name = group.text("encoding")?.unwrap_or_default().to_ascii_lowercase().replace('_', "-");
        Ok(match name.as_str() {
            "" | "n." | "utf-8" | "utf8" | "ascii" | "us-ascii" => Self::Utf8,
            "latin-1" | "latin1" | "iso-8859-1" | "iso8859-1" | "l1" => Self::Latin1,
            _ => Self::Other,
        })
    }
}

/// What the attributes of an array or a field say about its values.
#[derive(Default)]
pub(super) struct Said {
    /// The type of NumPy or pandas.
    pub(super) kind: Option<String>,
    /// Whether the dates belong to a time zone.
    pub(super) zoned: bool,
    /// The length of the periods that are counted.
    pub(super) period: Option<Period>,
}

impl Said {
    /// What the attributes of an array say, of which `kind` names the type.
    pub(super) fn of(node: &Node, kind: &str) -> Result<Self> {
        let kind = node.text(kind)?;
        let periods = node.text("index_class")?.as_deref() == Some("period");
        let freq = if periods { pickled(node, "freq")? } else { None };
        let zoned = match pickled(node, "tz")? {
            Some(zone) => *zone != Item::Nothing,
            None => node.text("tz")?.is_some_and(|zone| !zone.is_empty()),
        };
        let period = freq.map(|freq| counted(&freq)).transpose()?.or(of_type(kind.as_deref())?);
        Ok(Self { kind, zoned, period })
    }

    /// What is said about a field of a table: by an attribute of its records, and by the dictionary of its group.
    pub(super) fn of_field(group: &Node, (node, kind): (&Node, &str), field: &str) -> Result<Self> {
        let zone = told(group, field, "tz")?;
        let zoned = zone.is_some_and(|zone| *zone != Item::Nothing);
        let kind = node.text(kind)?;
        // The spacing of dates is described as the length of periods is.
        let integers = field == "index" && kind.as_deref() == Some("integer");
        let freq = if integers { told(group, field, "freq")? } else { None };
        let freq = freq.filter(|freq| **freq != Item::Nothing);
        let period = freq.map(|freq| counted(&freq)).transpose()?.or(of_type(kind.as_deref())?);
        Ok(Self { kind, zoned, period })
    }

    /// The units of the decoded values.
    pub(super) fn units(&self) -> Option<String> {
        let span = self.kind.as_ref().is_some_and(|kind| kind.starts_with("timedelta64"));
        span.then(|| "s".to_owned())
    }
}

/// Returns the length of periods; an unknown one is an error, since their numbers alone say nothing.
fn counted(freq: &Item) -> Result<Period> {
    pickle::period(freq).ok_or_else(|| {
        let class = match freq {
            Item::Object(class, _) => class.as_str(),
            _ => "unknown",
        };
        Error::unsupported(format!("an index of periods of the length {class}"))
    })
}

/// Returns the length of periods that the name of a type contains.
fn of_type(kind: Option<&str>) -> Result<Option<Period>> {
    let Some(kind) = kind.filter(|kind| kind.starts_with("period")) else { return Ok(None) };
    pickle::period_of_type(kind)
        .map(Some)
        .ok_or_else(|| Error::unsupported(format!("a column of the type {kind}")))
}

/// Returns how elements become values; `missing` is the text that means a missing text, if there is one.
pub(super) fn decoding(
    element: &ElementType,
    said: &Said,
    (missing, encoding): (Option<String>, Encoding),
) -> Result<Decoding> {
    if let (ElementType::Int(8), Some(period)) = (element, said.period) {
        return Ok(Decoding::Periods(period));
    }
    Ok(match (element, said.kind.as_deref()) {
        (ElementType::Int(8), Some(kind)) if kind.starts_with("datetime64") => {
            moments(kind, said.zoned).unwrap_or(Decoding::Stored)
        }
        (ElementType::Int(8), Some(kind)) if kind.starts_with("timedelta64") => spans(kind),
        // The days of Python are counted from the first one of the year 1, which is the first.
        (ElementType::Int(4) | ElementType::Time(4), Some("date")) => {
            match TimeUnits::parse("days since 0000-12-31", Calendar::ProlepticGregorian) {
                Some(units) => Decoding::Time { numbers: Numbers::new(ElementType::Int(4)), units },
                None => Decoding::Stored,
            }
        }
        (ElementType::UInt(1) | ElementType::Bits(1), Some("bool")) => Decoding::Truth,
        (ElementType::Text, _) => match (encoding, missing) {
            (Encoding::Utf8, Some(missing)) => Decoding::Text { missing },
            (Encoding::Utf8, None) => Decoding::Stored,
            (Encoding::Latin1, missing) => Decoding::Latin1Text { missing },
            (Encoding::Other, _) => {
                return Err(Error::unsupported("the encoding of the texts of this frame"));
            }
        },
        (element, _) => plain::natural(element),
    })
}
