//! Comma-separated values (RFC 4180, lines ended by LF): one row of the last dimension a line; a list of compounds has
//! a line of field names first, and one compound a line.

use std::borrow::Cow;
use std::io::Write;

use sciformats::{Datum, ElementType};

use super::brackets::Place;
use super::{Part, Printed};

pub(super) fn print(part: &Part<'_>, out: &mut impl Write) -> Printed {
    if let ElementType::Compound(fields) = part.array.element() {
        let names: Vec<_> = fields.iter().map(|(name, _)| name.shown()).collect();
        let names: Vec<_> = names.iter().map(|name| quoted(name)).collect();
        writeln!(out, "{}", names.join(","))?;
        part.for_each(|datum| {
            let Datum::Record(fields) = datum else { return Ok(()) };
            let fields: Vec<_> = fields.iter().map(|(_, field)| value(field)).collect();
            writeln!(out, "{}", fields.join(","))
        })?;
        return Ok(out.flush()?);
    }
    let shape = part.selection.shape();
    // A one-dimensional array is a column.
    let rows = if shape.len() < 2 { vec![] } else { shape };
    let mut place = Place::new(&rows);
    part.for_each(|datum| {
        let end = if rows.is_empty() || place.closing() > 0 { "\n" } else { "," };
        place.advance();
        write!(out, "{}{end}", value(&datum))
    })?;
    Ok(out.flush()?)
}

fn value(datum: &Datum<'_>) -> String {
    quoted(&datum.to_string()).into_owned()
}

fn quoted(text: &str) -> Cow<'_, str> {
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
    fn quotes_where_they_are_needed() {
        assert_eq!(quoted("plain text"), "plain text");
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"x\"\n"), "\"say \"\"x\"\"\n\"");
    }
}
