//! Comma-separated values (RFC 4180, with lines that end with LF). There is one line per row of the last
//! dimension. A list of compounds begins with a line of field names and has one line per compound. A field
//! that is a small array has one column per element. A field that is a sequence is empty if the sequence is
//! empty, and plain if it has one element.

use std::borrow::Cow;
use std::io::Write;

use sciformats::{Datum, ElementType};

use super::brackets::Place;
use super::{Part, Printed};

pub(in crate::commands) fn print(part: &Part<'_>, out: &mut impl Write) -> Printed {
    if let ElementType::Compound(fields) = part.array.element() {
        let names: Vec<_> = fields.iter().flat_map(|(name, field)| columns(&name.shown(), field)).collect();
        let names: Vec<_> = names.iter().map(|name| quoted(name)).collect();
        writeln!(out, "{}", names.join(","))?;
        part.for_each(|datum| {
            let Datum::Record(values) = datum else { return Ok(()) };
            let values: Vec<_> =
                values.iter().zip(fields).flat_map(|((_, value), (_, field))| cells(value, field)).collect();
            writeln!(out, "{}", row(values.join(",")))
        })?;
        return Ok(out.flush()?);
    }
    let shape = part.selection.shape();
    let alone = shape.len() < 2 || shape.last() == Some(&1);
    // A one-dimensional array becomes one column.
    let rows = if shape.len() < 2 { vec![] } else { shape };
    let mut place = Place::new(&rows);
    part.for_each(|datum| {
        let end = if rows.is_empty() || place.closing() > 0 { "\n" } else { "," };
        place.advance();
        let value = value(&datum);
        write!(out, "{}{end}", if alone { row(value) } else { value })
    })?;
    Ok(out.flush()?)
}

/// Returns a line. Readers skip one without characters, so an empty cell that is alone has quotes, as in Python.
fn row(line: String) -> String {
    if line.is_empty() { "\"\"".into() } else { line }
}

/// Arrays with more elements than this become a single cell.
const SPREAD: u64 = 64;

/// Returns the shape of a field that has one column per element.
fn spread(field: &ElementType) -> Option<&[u64]> {
    let ElementType::Array { shape, .. } = field else { return None };
    let elements = shape.iter().try_fold(1u64, |product, &n| product.checked_mul(n));
    elements.is_some_and(|n| (1..=SPREAD).contains(&n)).then_some(shape)
}

/// Returns the names of the columns of a field: its own name, `name[0][1]` for each element, or `name.inner` for each field of
/// records within records.
pub(in crate::commands) fn columns(name: &str, field: &ElementType) -> Vec<String> {
    if let ElementType::Compound(fields) = field {
        return fields
            .iter()
            .flat_map(|(inner, field)| columns(&format!("{name}.{}", inner.shown()), field))
            .collect();
    }
    let mut names = vec![name.to_owned()];
    for &count in spread(field).unwrap_or_default() {
        names = names.iter().flat_map(|name| (0..count).map(move |i| format!("{name}[{i}]"))).collect();
    }
    names
}

/// Returns the cells of a field, one per column.
pub(in crate::commands) fn cells(datum: &Datum<'_>, field: &ElementType) -> Vec<String> {
    match (datum, field) {
        (Datum::Record(values), ElementType::Compound(fields)) => {
            values.iter().zip(fields).flat_map(|((_, value), (_, field))| cells(value, field)).collect()
        }
        (Datum::List(elements), _) if spread(field).is_some() => elements.iter().map(value).collect(),
        (Datum::List(elements), ElementType::Vlen(_)) => vec![match elements.as_slice() {
            [] => String::new(),
            [one] => value(one),
            _ => value(datum),
        }],
        _ => vec![value(datum)],
    }
}

/// Returns an element as a cell.
pub(in crate::commands) fn value(datum: &Datum<'_>) -> String {
    quoted(&datum.to_string()).into_owned()
}

/// Returns a text as a cell.
pub(in crate::commands) fn quoted(text: &str) -> Cow<'_, str> {
    if text.contains(['"', ',', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_spread_and_sequences_as_short_as_they_can_be() {
        let array = |shape: &[u64]| ElementType::Array {
            element: Box::new(ElementType::UInt(1)),
            shape: shape.to_vec(),
        };
        assert_eq!(columns("s", &array(&[2, 2])), ["s[0][0]", "s[0][1]", "s[1][0]", "s[1][1]"]);
        assert_eq!(columns("long", &array(&[65])), ["long"]);
        assert_eq!(columns("none", &array(&[0])), ["none"]);
        let record = ElementType::Compound(vec![("x".into(), ElementType::F32), ("y".into(), array(&[2]))]);
        assert_eq!(columns("at", &record), ["at.x", "at.y[0]", "at.y[1]"]);
        let (x, y) = ("x".into(), "y".into());
        let pair = Datum::List(vec![Datum::UInt(1), Datum::UInt(2)]);
        assert_eq!(cells(&Datum::Record(vec![(&x, Datum::UInt(7)), (&y, pair)]), &record), ["7", "1", "2"]);
        let list = |count: u128| Datum::List((0..count).map(Datum::UInt).collect());
        assert_eq!(cells(&list(2), &array(&[2])), ["0", "1"]);
        assert_eq!(cells(&list(0), &array(&[0])), ["[]"]);
        let sequence = ElementType::Vlen(Box::new(ElementType::UInt(1)));
        assert_eq!(cells(&list(0), &sequence), [""]);
        assert_eq!(cells(&list(1), &sequence), ["0"]);
        assert_eq!(cells(&list(2), &sequence), ["\"[0, 1]\""]);
    }

    #[test]
    fn quotes_where_they_are_needed() {
        assert_eq!(quoted("plain text"), "plain text");
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"x\"\n"), "\"say \"\"x\"\"\n\"");
    }
}
