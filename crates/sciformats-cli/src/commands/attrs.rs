//! `attrs`: prints the attributes of an object, and the value of a scalar.

use std::io::Write;

use sciformats::{Attribute, AttributeValue, Decoder, ElementType, Object};
use sciformats_conventions::type_name;

use super::json::JsonObject;
use crate::args;
use crate::failure::{Answer, Failure, Outcome};
use crate::look::{self, Align, Cell, FAINT, PLAIN, SHAPE, TITLE, TYPE, Table, WRONG};
use crate::session::Session;

/// The number of characters of a value that fit on one line beside others.
const SHOWN: usize = 60;

/// The number of characters of a value that are shown by itself.
const WHOLE: usize = 4096;

pub(super) fn run(args: &args::Object, session: &Session) -> Outcome {
    let file = session.open(&args.file)?;
    let fail = |error| Failure::of(&args.file, &error);
    let id = file.resolve(&args.path).map_err(|error| Failure::within(&args.file, &file, &error))?;
    let mut out = session.text();
    if let Object::Value(value) = file.source().object(id).map_err(fail)? {
        if session.json {
            let mut object = JsonObject::new();
            object.value("value", value);
            writeln!(out, "{}", object.finish())?;
        } else {
            writeln!(out, "{}", look::safe(&value.to_string()))?;
        }
    }
    let mut answer = Answer::Yes;
    let mut table = Table::new([Align::Left; 4]).fitted().wrapped();
    for attribute in file.source().attributes(id).map_err(fail)? {
        let attribute = attribute.map_err(fail)?;
        if !matches!(&attribute.value, Ok(value) if value.data.is_ok()) {
            answer = Answer::No;
        }
        let meaning = file.source().attribute_json(id, &attribute);
        if session.json {
            let mut line = JsonObject::new();
            describe(&mut line, &attribute, meaning.as_deref());
            writeln!(out, "{}", line.finish())?;
        } else {
            table.row(&mut out, row(&attribute, meaning.as_deref()))?;
        }
    }
    table.flush(&mut out)?;
    out.flush()?;
    Ok(answer)
}

/// Returns cells with the name, type, shape and value of an attribute. `meaning` replaces the value if the value
/// is encoded in bytes.
fn row(attribute: &Attribute, meaning: Option<&str>) -> Vec<Cell> {
    let name = Cell::new(TITLE, look::safe(&attribute.name.shown()));
    let text = match shown_value(attribute, meaning, WHOLE) {
        // The lines of a text remain lines.
        Ok(text) => {
            let lines: Vec<_> = text.trim_end_matches('\n').split('\n').map(look::safe).collect();
            Cell::new(PLAIN, lines.join("\n"))
        }
        Err(error) => Cell::new(WRONG, look::safe(&error)),
    };
    let Ok(value) = &attribute.value else {
        return vec![name, Cell::default(), Cell::default(), text];
    };
    let element = look::clipped(&type_name(&value.element), 32);
    vec![
        name,
        Cell::new(TYPE, look::safe(&element)),
        Cell::new(SHAPE, look::shape(value.shape.as_deref())),
        text,
    ]
}

/// Returns a cell with the name and the value of an attribute, and its type unless it is text.
pub(super) fn short(attribute: &Attribute, lead: &str, meaning: Option<&str>) -> Cell {
    let name = Cell::new(FAINT, lead).and(TITLE, look::safe(&attribute.name.shown())).and(FAINT, " = ");
    let cell = match shown_value(attribute, meaning, LINE) {
        Ok(text) => name.and(PLAIN, look::safe(&text)),
        Err(error) => name.and(WRONG, look::safe(&error)),
    };
    let Ok(AttributeValue { element, shape, .. }) = &attribute.value else { return cell };
    let scalar = shape.as_ref().is_some_and(Vec::is_empty);
    if *element == ElementType::Text && scalar {
        return cell;
    }
    let sides = if scalar { String::new() } else { format!(" {}", look::shape(shape.as_deref())) };
    let kind = format!("  {}{sides}", look::clipped(&type_name(element), 24));
    cell.and(FAINT, look::safe(&kind))
}

/// The number of characters of a value in a list of objects, unless the terminal is narrower.
const LINE: usize = 240;

/// Returns the value of an attribute in at most `most` characters, or the reason why it cannot be shown.
fn shown_value(attribute: &Attribute, meaning: Option<&str>, most: usize) -> Result<String, String> {
    let value = attribute.value.as_ref().map_err(ToString::to_string)?;
    let bytes = value.data.as_ref().map_err(ToString::to_string)?;
    if let Some(meaning) = meaning {
        return Ok(look::clipped(meaning, most));
    }
    let scalar = value.shape.as_ref().is_some_and(Vec::is_empty);
    Ok(brief(Decoder::new(&value.element, bytes), scalar, most))
}

/// Returns the value of an attribute on one line, or the reason why it cannot be shown.
pub(super) fn brief_value(attribute: &Attribute, meaning: Option<&str>) -> Result<String, String> {
    shown_value(attribute, meaning, SHOWN)
}

/// Formats as many elements as fit on a line; only those are decoded.
fn brief(elements: Decoder<'_>, scalar: bool, most: usize) -> String {
    let mut text = String::new();
    for element in elements {
        if !text.is_empty() {
            text.push_str(", ");
        }
        match element {
            Ok(element) => text.push_str(&element.to_string()),
            Err(error) => return error.to_string(),
        }
        if text.len() > most && text.chars().count() > most {
            break;
        }
    }
    let text = look::clipped(&text, most);
    if scalar { text } else { format!("[{text}]") }
}

/// Adds an attribute to its JSON line. If its bytes encode something, the decoded text becomes `meaning`.
pub(super) fn describe(object: &mut JsonObject, attribute: &Attribute, meaning: Option<&str>) {
    object.value("kind", "attribute").value("name", attribute.name.shown().as_ref());
    let value = match &attribute.value {
        Ok(value) => value,
        Err(error) => {
            object.value("error", error.to_string());
            return;
        }
    };
    object.raw("type", &value.element.to_json()).list("shape", value.shape.as_deref());
    let scalar = value.shape.as_ref().is_some_and(Vec::is_empty);
    let json = match &value.data {
        Ok(bytes) => elements(Decoder::new(&value.element, bytes), scalar).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match json {
        Ok(json) => object.raw("value", &json),
        Err(error) => object.value("error", error),
    };
    if let Some(meaning) = meaning {
        object.raw("meaning", meaning);
    }
}

fn elements(elements: Decoder<'_>, scalar: bool) -> sciformats::Result<String> {
    let mut out = String::new();
    for (i, element) in elements.enumerate() {
        if i > 0 {
            out.push(',');
        }
        element?.write_json(&mut out);
    }
    Ok(if scalar { out } else { format!("[{out}]") })
}
