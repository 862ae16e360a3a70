//! Plans the conversion into a format that holds one array.

use std::sync::Arc;

use sciformats_core::Error;

use super::plan::Builder;
use super::view::peeled;
use super::{METADATA, Remark};
use crate::sink::Fit;
use sciformats::memory::MemoryArray;
use sciformats::model::{ArrayInfo, ElementType, Name, Object, Value};
use sciformats::walk::{Entry, Found};
use sciformats::{Format, Result};

pub(super) fn arrange(builder: &mut Builder, entries: Vec<Entry>) -> Result<()> {
    let format = builder.rules.format;
    let meant = meant(format, &entries)?;
    for (place, Entry { path, what }) in entries.into_iter().enumerate() {
        match what {
            Found::Object(_, Object::Array(info)) if place != meant => {
                let what = if info.shape.is_none() { "an array without elements" } else { "a single value" };
                builder.lose(&path, format!("is left out: it is {what}"));
            }
            Found::Object(id, Object::Array(info)) => {
                let Some(body) = builder.array(&path, id, &info) else {
                    if let Some(error) = builder.limit.take() {
                        return Err(error);
                    }
                    let problem = match builder.rules.element(peeled(&info.element).0) {
                        Fit::No => {
                            format!("holds elements of type {}, which {format} cannot hold", info.element)
                        }
                        _ => builder.last_loss(),
                    };
                    return Err(Error::usage("array", problem));
                };
                if path != "/" {
                    builder.remark(Remark::Moved);
                }
                let node = builder.view.table.add(body);
                if path != "/" {
                    builder.remember(node, &path);
                }
                for (name, array) in builder.attributes(&path, id) {
                    if builder.rules.attribute(&name, &array.info, info.shape.as_deref()) {
                        builder.attach(node, name, array);
                    } else {
                        builder.lose(&format!("{path}@{}", name.shown()), "is left out: it is an attribute");
                    }
                }
            }
            Found::Object(id, Object::Group) => {
                for (name, array) in builder.attributes(&path, id) {
                    if path == "/" && metadata(builder, &name, array) {
                        continue;
                    }
                    builder.lose(&format!("{path}@{}", name.shown()), "is left out: it is an attribute");
                }
            }
            Found::Object(_, Object::Value(Value::Text(text)))
                if format == Format::RawArray && path.strip_prefix("/@") == Some(METADATA) =>
            {
                builder.remark(Remark::Metadata);
                builder.metadata = text.into_bytes();
            }
            other => builder.leave_out(&path, &other),
        }
    }
    left_behind(builder);
    Ok(())
}

/// Returns the place of the array that is meant: the only one, or the only one with dimensions, or the only one that is no single
/// text. Scalars of a tree, such as what is known about the writer of an ASDF file, are arrays without dimensions in HDF5.
fn meant(format: Format, entries: &[Entry]) -> Result<usize> {
    let arrays = entries.iter().enumerate().filter_map(|(place, entry)| match &entry.what {
        Found::Object(_, Object::Array(info)) => Some((place, &**info)),
        _ => None,
    });
    let arrays: Vec<(usize, &ArrayInfo)> = arrays.collect();
    let has_dimensions = |info: &ArrayInfo| info.shape.as_ref().is_some_and(|shape| !shape.is_empty());
    let is_value = |info: &ArrayInfo| info.shape.is_some() && info.element != ElementType::Text;
    let only = |wanted: &dyn Fn(&ArrayInfo) -> bool| {
        let mut wanted = arrays.iter().filter(|(_, info)| wanted(info));
        wanted.next().filter(|_| wanted.next().is_none()).map(|(place, _)| *place)
    };
    let is_array = arrays.iter().any(|(_, info)| has_dimensions(info));
    let found = only(&|_| true).or_else(|| if is_array { only(&has_dimensions) } else { only(&is_value) });
    found.ok_or_else(|| {
        let problem = match arrays.len() {
            0 => format!("has no array that {format} can hold"),
            n => format!("holds {n} arrays, but {format} holds only one; select one by its path"),
        };
        Error::usage("file", problem)
    })
}

/// Handles the bytes after the elements of a RawArray file: they are kept in RawArray, and lost in other
/// formats.
fn left_behind(builder: &mut Builder) {
    let origin = Arc::clone(&builder.view.origin);
    match origin.source().metadata() {
        Ok(bytes) if bytes.is_empty() => {}
        Ok(bytes) if builder.rules.format == Format::RawArray => builder.metadata = bytes,
        Ok(_) => builder.lose("/", "has bytes after its array, which are left out"),
        Err(error) => builder.lose("/", format!("has bytes after its array that cannot be read: {error}")),
    }
}

/// Takes over the bytes that a RawArray file had after its elements, before it was converted to another
/// format.
fn metadata(builder: &mut Builder, name: &Name, array: MemoryArray) -> bool {
    if builder.rules.format != Format::RawArray || name.as_bytes() != METADATA.as_bytes() {
        return false;
    }
    let bytes = match &array.info.element {
        ElementType::UInt(1) => array.bytes,
        // The bytes follow the length of the text.
        ElementType::Text if array.info.shape.as_deref() == Some(&[]) => {
            array.bytes.get(8..).unwrap_or_default().to_vec()
        }
        _ => return false,
    };
    builder.remark(Remark::Metadata);
    builder.metadata = bytes;
    true
}
