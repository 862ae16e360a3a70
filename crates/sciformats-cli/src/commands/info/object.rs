//! `info FILE:/PATH`: describes an object on one screen.

use std::io::Write;
use std::sync::Arc;

use sciformats::{Error, File, Object as Found};

use super::{Counts, count, dataset};
use crate::args::Object;
use crate::commands::json::JsonObject;
use crate::commands::view::details::details;
use crate::commands::view::tree::Leads;
use crate::failure::{Failure, Outcome};
use crate::look::{self, Align, Cell, FAINT, PLAIN, TITLE, Table, WRONG};
use crate::meaning::View;
use crate::session::Session;

/// Describes an object, and of a group what it contains.
pub(super) fn write(
    out: &mut impl Write,
    (object, file): (&Object, &Arc<File>),
    session: &Session,
) -> Outcome<()> {
    let path = object.path.as_str();
    let id = file.resolve(path).map_err(|error| Failure::within(&object.file, file, &error))?;
    let found = file.source().measured(id).map_err(|error| Failure::of(&object.file, &error))?;
    let counts = match found {
        Found::Group => Some(session.watched("counting", &[file], || count(file, (path, id)))),
        _ => None,
    };
    if session.json {
        let unknown = match &found {
            Found::Array(_) => file.source().sized(id).err(),
            _ => None,
        };
        writeln!(out, "{}", json(object, (&found, unknown.as_ref()), counts.as_ref()))?;
        return Ok(());
    }
    let name = format!("{}:{path}", object.file.display());
    writeln!(out, "{TITLE}{}{TITLE:#}", look::safe(&name))?;
    let mut table = Table::new([Align::Left, Align::Left]).indented(2).fitted().wrapped();
    let mut row = |out: &mut _, key: &str, cell: Cell| table.row(out, vec![Cell::new(FAINT, key), cell]);
    row(out, "kind", Cell::new(PLAIN, found.kind().word()))?;
    let data = dataset(file);
    for said in details((&data, View::Words), path, Some(&Leads::To(id))).lines {
        row(out, &said.key, Cell::new(if said.wrong { WRONG } else { PLAIN }, said.value))?;
    }
    for (key, cell) in counts.iter().flat_map(Counts::rows) {
        row(out, key, cell)?;
    }
    table.flush(out)?;
    Ok(())
}

fn json(object: &Object, (found, unknown): (&Found, Option<&Error>), counts: Option<&Counts>) -> String {
    let mut line = JsonObject::new();
    line.value("file", object.file.display().to_string()).value("path", object.path.as_str());
    line.value("kind", found.kind().word());
    match found {
        Found::Array(info) => {
            match unknown {
                Some(error) => {
                    line.raw("type", &info.element.to_json()).value("unknown", error.to_string());
                }
                None => _ = line.array(info),
            }
            let mut facts = JsonObject::new();
            for (key, value) in &info.facts {
                facts.value(key, value.clone());
            }
            line.raw("facts", &facts.finish());
        }
        Found::Value(value) => _ = line.value("value", value.clone()),
        Found::Datatype(element) => _ = line.raw("type", &element.to_json()),
        Found::Damaged { error, .. } => _ = line.value("error", error.to_string()),
        Found::Group => {}
    }
    if let Some(counts) = counts {
        counts.json(&mut line);
    }
    line.finish()
}
