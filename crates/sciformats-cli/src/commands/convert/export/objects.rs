//! Arrays with their dimensions and units as JSON.

use std::io::Write;

use sciformats::model::write_text;
use sciformats_conventions::Dataset;

use crate::commands::cat::{Part, Stop, json};
use crate::commands::json::JsonObject;
use crate::look;
use crate::meaning::Thing;

/// Writes one JSON object with the arrays by their paths: dimensions, units and values.
pub(super) fn objects(data: &Dataset, things: &[(String, Thing)], out: &mut impl Write) -> Result<(), Stop> {
    let mut head = JsonObject::new();
    // What is wrong with it has been told with the arrays, of which the stored values are written.
    if let Ok(Some(identity)) = data.identity() {
        head.value("convention", identity.to_string());
    }
    let head = head.finish();
    let head = head.trim_end_matches('}');
    write!(out, "{head}{}\"arrays\":{{", if head.len() > 1 { "," } else { "" })?;
    for (at, (path, thing)) in things.iter().enumerate() {
        let array = thing.array()?;
        let mut object = JsonObject::new();
        if let Some(variable) = thing.variable() {
            if variable.has_names() {
                let names = variable.dimensions.iter().map(|dimension| {
                    dimension.name.as_deref().map_or(sciformats::Value::Null, sciformats::Value::from)
                });
                object.value("dimensions", sciformats::Value::List(names.collect()));
            }
            for (key, text) in [("units", &variable.units), ("long_name", &variable.long_name)] {
                if let Some(text) = text {
                    object.value(key, text.as_str());
                }
            }
        }
        object.raw("type", &array.element().to_json()).list("shape", Some(array.shape()));
        let object = object.finish();
        let mut key = String::new();
        write_text(&mut key, path);
        let comma = if at > 0 { "," } else { "" };
        write!(out, "{comma}\n{}:{},\"values\":", look::safe_json(&key), object.trim_end_matches('}'))?;
        json::print(&Part::whole(&array, false)?, out)?;
        write!(out, "}}")?;
    }
    Ok(writeln!(out, "}}}}")?)
}
