//! JSON: nested lists, which are written while the elements are read.

use std::io::Write;

use sciformats_core::bound;

use super::brackets::Place;
use super::{Part, Printed};
use crate::look;

pub(in crate::commands) fn print(part: &Part<'_>, out: &mut impl Write) -> Printed {
    let shape = part.selection.shape();
    if shape.contains(&0) {
        // There may be elements that cannot be read.
        part.for_each(|_| Ok(()))?;
        // An array without elements becomes nested empty lists, as deep as the dimensions before the first
        // one of extent 0.
        writeln!(out, "{}", empty(&shape))?;
        return Ok(out.flush()?);
    }
    let mut place = Place::new(&shape);
    let mut text = String::new();
    part.for_each(|datum| {
        text.clear();
        if !place.is_first() {
            text.push(',');
        }
        text.extend(std::iter::repeat_n('[', place.opening()));
        datum.write_json(&mut text);
        text.extend(std::iter::repeat_n(']', place.closing()));
        place.advance();
        out.write_all(look::safe_json(&text).as_bytes())
    })?;
    writeln!(out)?;
    Ok(out.flush()?)
}

fn empty(shape: &[u64]) -> String {
    // A file of a few bytes can declare any number of empty rows, so the rows that are written have a limit.
    const ROWS: u64 = 1 << 16;
    match shape {
        [] | [0, ..] => "[]".into(),
        [count, rest @ ..] if *count <= ROWS => {
            let row = empty(rest);
            if bound::product(row.len(), *count as usize) > 1 << 24 {
                return "[]".into();
            }
            let rows: Vec<&str> = (0..*count).map(|_| row.as_str()).collect();
            format!("[{}]", rows.join(","))
        }
        _ => "[]".into(),
    }
}
