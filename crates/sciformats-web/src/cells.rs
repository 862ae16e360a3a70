//! Elements as people and other programs read them: the cells of a table, JSON, CSV and npy.

use std::ops::ControlFlow;

use sciformats::npy::Header;
use sciformats::{Array, Datum, ElementType, Error, Kind, Object, Result, Selection, Value};
use sciformats_convert::numpy::{self, Fixed};
use serde_json::json;

use crate::describe::clipped;
use crate::session::{Opened, Reply, Request};
use crate::thing::{Thing, bounded, selection, shape_of};

/// The number of characters of a cell.
const CELL: usize = 200;

/// The number of cells of a part of a table.
const CELLS: u64 = 1 << 18;

/// Answers what the cells of a selection are. The cells of compounds are those of their fields.
pub(crate) fn cells(opened: &Opened, request: &Request<'_>) -> Result<Reply> {
    if let Some(value) = scalar(opened, request)? {
        return Ok(json!({ "shape": [], "cells": [value.to_string()] }).into());
    }
    let thing = Thing::of(opened, request)?;
    let array = thing.array()?;
    let selection = selection(&array, request)?;
    bounded(&selection, array.element())?;
    if selection.slab().len() > CELLS {
        return Err(Error::limit_exceeded("cells of a part of a table", selection.slab().len(), CELLS));
    }
    let most = usize::try_from(request.maybe_number("most").unwrap_or(CELL as u64)).unwrap_or(CELL);
    let mut cells: Vec<String> = Vec::new();
    array.for_each(&selection, &mut |datum| {
        match datum {
            Datum::Record(fields) => {
                cells.extend(fields.iter().map(|(_, field)| clipped(&field.to_string(), most)));
            }
            other => cells.push(clipped(&other.to_string(), most)),
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let columns = match array.element() {
        ElementType::Compound(fields) => {
            Some(fields.iter().map(|(name, _)| name.shown().into_owned()).collect::<Vec<_>>())
        }
        _ => None,
    };
    let doubt = thing.doubt.as_ref().map(ToString::to_string);
    Ok(json!({ "shape": selection.shape(), "columns": columns, "cells": cells, "doubt": doubt, "decoded": thing.is_meant() })
        .into())
}

/// Returns the value of an object that is a single value and no array.
fn scalar(opened: &Opened, request: &Request<'_>) -> Result<Option<Value>> {
    let file = opened.file()?;
    let object = file.source().object(file.resolve(request.text("path")?)?)?;
    Ok(match object {
        Object::Value(value) => Some(value),
        Object::Damaged { error, kind: Kind::Array } => return Err(error),
        _ => None,
    })
}

/// Answers the selected elements as JSON: nested lists, as the program prints them.
pub(crate) fn json(opened: &Opened, request: &Request<'_>) -> Result<Reply> {
    if let Some(value) = scalar(opened, request)? {
        return Ok(Reply::with(&json!({ "shape": [] }), value.to_json().into_bytes()));
    }
    let thing = Thing::of(opened, request)?;
    let array = thing.array()?;
    let selection = selection(&array, request)?;
    bounded(&selection, array.element())?;
    let shape = selection.shape();
    let mut text = String::new();
    if shape.contains(&0) {
        empty(&shape, &mut text)?;
    } else {
        let mut at: u64 = 0;
        // How many elements the lists of each level have.
        let mut spans: Vec<u64> = Vec::with_capacity(shape.len());
        for &length in shape.iter().rev() {
            let inner = spans.last().copied().unwrap_or(1);
            spans.push(inner.checked_mul(length).ok_or_else(|| Error::usage("selection", "is too large"))?);
        }
        array.for_each(&selection, &mut |datum| {
            if at > 0 {
                text.push(',');
            }
            text.extend(spans.iter().filter(|&&span| at.is_multiple_of(span)).map(|_| '['));
            datum.write_json(&mut text);
            at += 1;
            text.extend(spans.iter().filter(|&&span| at.is_multiple_of(span)).map(|_| ']'));
            Ok(ControlFlow::Continue(()))
        })?;
    }
    Ok(Reply::with(&json!({ "shape": shape }), text.into_bytes()))
}

/// Writes the lists of an array without elements, as deep as the dimensions before the first one of length 0.
fn empty(shape: &[u64], out: &mut String) -> Result<()> {
    const MOST: usize = 1 << 20;
    let (Some(&count), rest) = (shape.first(), shape.get(1..).unwrap_or_default()) else {
        out.push_str("[]");
        return Ok(());
    };
    out.push('[');
    for at in 0..if rest.is_empty() { 0 } else { count } {
        if out.len() > MOST {
            return Err(Error::limit_exceeded("lists without elements", count, MOST as u64));
        }
        if at > 0 {
            out.push(',');
        }
        empty(rest, out)?;
    }
    out.push(']');
    Ok(())
}

/// Answers the selected elements as CSV: rows of the last dimension, or the fields of compounds.
pub(crate) fn csv(opened: &Opened, request: &Request<'_>) -> Result<Reply> {
    let thing = Thing::of(opened, request)?;
    let array = thing.array()?;
    let selection = selection(&array, request)?;
    bounded(&selection, array.element())?;
    let mut text = String::new();
    let shape = selection.shape();
    let across = if shape.len() < 2 { 1 } else { shape.last().copied().unwrap_or(1).max(1) };
    if let ElementType::Compound(fields) = array.element() {
        let names: Vec<String> = fields.iter().map(|(name, _)| quoted(&name.shown())).collect();
        text.push_str(&names.join(","));
        text.push('\n');
    }
    let mut at: u64 = 0;
    array.for_each(&selection, &mut |datum| {
        at += 1;
        match datum {
            Datum::Record(fields) => {
                let cells: Vec<String> = fields.iter().map(|(_, field)| quoted(&field.to_string())).collect();
                text.push_str(&cells.join(","));
                text.push('\n');
            }
            other => {
                text.push_str(&quoted(&other.to_string()));
                text.push(if at.is_multiple_of(across) { '\n' } else { ',' });
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(Reply::with(&json!({ "shape": shape }), text.into_bytes()))
}

/// Returns a cell as CSV contains it.
fn quoted(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// Answers the selected elements as a file of NumPy.
pub(crate) fn npy(opened: &Opened, request: &Request<'_>) -> Result<Reply> {
    let thing = Thing::of(opened, request)?;
    let array = thing.array()?;
    let selection = selection(&array, request)?;
    bounded(&selection, array.element())?;
    let (element, shape) = numpy::flat(array.element(), &selection.shape());
    let bytes = bytes_of(&array, &selection)?;
    let mut fixed = Fixed::new(element).with_times(array.info());
    let mut out;
    if fixed.is_as_is() {
        out = Header::new(fixed.dtype()?, shape).to_bytes()?;
        out.extend_from_slice(&bytes);
    } else {
        fixed.look(&bytes)?;
        out = Header::new(fixed.dtype()?, shape).to_bytes()?;
        fixed.encode(&bytes, &mut out)?;
    }
    Ok(Reply::with(&json!({ "shape": selection.shape() }), out))
}

/// Returns the canonical bytes of a selection. They are read at once, so that all of their ranges are fetched
/// together.
pub(crate) fn bytes_of(array: &Array<'_>, selection: &Selection) -> Result<Vec<u8>> {
    shape_of(array)?;
    if !selection.is_reversed() {
        return array.bytes(selection.slab());
    }
    let mut bytes = Vec::new();
    array.for_each_piece(selection, &mut |piece| {
        bytes.extend_from_slice(piece);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(bytes)
}
