//! Our side of the conformance run of conventions.
//!
//! `check DIR` reads every `NAME.expected.json` in a folder, which contains what another program decodes from
//! the file that it names. The values are beside it in `.npy` files, or in it as texts. `write DIR` writes
//! files for other programs to read.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use sciformats::Slab;
use sciformats_conventions::time::{Calendar, DateTime, TimeUnits};
use sciformats_conventions::write::{AnnData, NeXus, NetCdf};
use sciformats_conventions::{Dataset, Meaning, Values};
use serde_json::{Value, json};

type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["check", folder] => check(Path::new(folder)),
        ["write", folder] => write(Path::new(folder)).map_err(shown),
        _ => Err("usage: conventions_conformance write|check DIR".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

/// Writes netCDF-4 files with every kind of dimension.
fn write(folder: &Path) -> sciformats::Result<()> {
    let mut file = NetCdf::create(folder.join("written.nc"))?;
    file.global("Conventions", "CF-1.11")?;
    let time = file.unlimited("time", 2)?;
    let place = file.dimension("place", 3)?;
    let hours = file.variable("time", &[time], &[0.0, 6.0], None)?;
    file.attribute(hours, "units", "hours since 2001-01-01")?;
    let values = [281.5, 282.0, f64::NAN, 280.0, 280.5, 281.0];
    let tas = file.packed("tas", &[time, place], (&values, 0.01, 273.15))?;
    file.attribute(tas, "units", "K")?;
    file.variable("count", &[place], &[1i32, 2, 3], None)?;
    file.variable("few", &[place], &[1.5f32, -9.0, 2.5], Some(-9.0))?;
    file.finish()?;
    nexus(&folder.join("written.nxs"))?;
    anndata(&folder.join("written.h5ad"))
}

/// Writes a signal with errors, an axis of positions and one of edges, and a dimension without an axis.
fn nexus(path: &Path) -> sciformats::Result<()> {
    let mut file = NeXus::create(path)?;
    let mut data = file.data("entry", "data")?;
    let counts: Vec<i32> = (0..12).collect();
    data.signal("counts", &[2, 3, 2], &counts)?.title("größer")?;
    data.errors(&counts.iter().map(|&count| f64::from(count).sqrt()).collect::<Vec<_>>())?;
    data.axis(0, "angle", &[10.0f32, 20.0])?.axis(1, "energy", &[1.0, 2.0, 4.0, 8.0])?;
    data.attribute("angle", "units", "degree")?.attribute("counts", "long_name", "counts of the detector")?;
    data.finish()?;
    let mut other = file.data("entry", "sum")?;
    other.signal("total", &[2], &[15.0, 51.0])?.axis(0, "angle", &[10.0f32, 20.0])?;
    other.finish()?;
    file.finish()
}

/// Writes a data frame with a column of every kind, and matrices of every kind.
fn anndata(path: &Path) -> sciformats::Result<()> {
    let mut file = AnnData::create(path)?;
    file.csr("X", [3, 2], (&[0, 1, 1, 3], &[1, 0, 1], &[5.0f32, 1.0, 7.0]))?;
    file.csc("layers/turned", [3, 2], (&[0, 1, 3], &[2, 0, 2], &[1i64, 5, 7]))?;
    file.dense("obsm/X_pca", &[3, 2], &[0.5, 1.0, 1.5, 2.0, 2.5, 3.0])?;
    let mut cells = file.frame("obs", &["c1", "c2", "größer"])?;
    cells.categories("kind", &["T cell", "B cell"], &[Some(0), None, Some(1)])?;
    cells.ordered_categories("stage", &["early", "late"], &[Some(1), Some(0), Some(1)])?;
    cells.column("depth", &[0.5, 1.5, f64::NAN])?.column("count", &[1i64, 2, 3])?;
    cells.column("good", &[true, false, true])?.texts("batch", &["a", "b", ""])?;
    file.frame("var", &["g1", "g2"])?;
    file.frame("uns/log", &["first"])?;
    file.finish()
}

fn shown(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Prints a line of the run.
fn line(case: &str, outcome: Outcome) {
    println!(
        "{}",
        match outcome {
            Ok(()) => json!({ "case": case, "ok": true }),
            Err(why) => json!({ "case": case, "ok": false, "why": why }),
        }
    );
}

fn check(folder: &Path) -> Outcome {
    let mut files: Vec<_> =
        fs::read_dir(folder).map_err(shown)?.flatten().map(|entry| entry.path()).collect();
    files.sort();
    for path in files.iter().filter(|path| path.to_string_lossy().ends_with(".expected.json")) {
        let text = fs::read_to_string(path).map_err(shown)?;
        let expected: Value = serde_json::from_str(&text).map_err(shown)?;
        if let Some(moments) = expected["moments"].as_array() {
            moments.iter().for_each(|one| line("time: moments of cftime", of_moments(one)));
            continue;
        }
        let file = folder.join(expected["file"].as_str().unwrap_or_default());
        let group = expected["group"].as_str().unwrap_or_default();
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let data = match Dataset::open(&file) {
            Ok(data) => data,
            Err(error) => {
                line(&format!("{group}: {name}"), Err(error.to_string()));
                continue;
            }
        };
        line(&format!("{group}: {name} is {}", expected["identity"]), of_identity(&data, &expected));
        for object in expected["objects"].as_array().into_iter().flatten() {
            let case = format!("{group}: {name} {}", object["path"].as_str().unwrap_or_default());
            line(&case, of_object(&data, object, folder));
        }
    }
    Ok(())
}

fn of_identity(data: &Dataset, expected: &Value) -> Outcome {
    let found: Vec<String> = data.identities().map_err(shown)?.iter().map(ToString::to_string).collect();
    let Some(wanted) = expected["identity"].as_str() else {
        return if found.is_empty() {
            Ok(())
        } else {
            Err(format!("it is {found:?}, but should be nothing"))
        };
    };
    if !found.iter().any(|found| found == wanted) {
        return Err(format!("it is {found:?}, not {wanted:?}"));
    }
    let Some(highlights) = expected["highlights"].as_array() else { return Ok(()) };
    let outline = data.outline().map_err(shown)?;
    let found: Vec<&str> = outline.highlights.iter().map(|highlight| highlight.path.as_str()).collect();
    let wanted: Vec<&str> = highlights.iter().filter_map(Value::as_str).collect();
    if found == wanted { Ok(()) } else { Err(format!("it is about {found:?}, not {wanted:?}")) }
}

fn of_object(data: &Dataset, expected: &Value, folder: &Path) -> Outcome {
    let path = expected["path"].as_str().unwrap_or_default();
    let meaning = data.meaning(path).map_err(shown)?.ok_or("it has no meaning")?;
    match meaning {
        Meaning::Variable(variable) => {
            let names: Vec<Value> =
                variable.dimensions.iter().map(|dimension| json!(dimension.name)).collect();
            let shape = json!(variable.shape());
            let unlimited: Vec<bool> =
                variable.dimensions.iter().map(|dimension| dimension.unlimited).collect();
            let found = json!({ "dims": names, "shape": shape, "unlimited": unlimited, "units": variable.units,
                "long_name": variable.long_name });
            for key in ["dims", "shape", "unlimited", "units", "long_name"] {
                let wanted = &expected[key];
                if !wanted.is_null() && *wanted != found[key] {
                    return Err(format!("{key} are {}, not {wanted}", found[key]));
                }
            }
            values(&variable.read().map_err(shown)?, &expected["values"], folder)?;
            // A part of the values is read separately.
            let shape = variable.shape();
            if let (Some(wanted), false) = (expected["last"].as_str(), shape.contains(&0)) {
                let last =
                    shape.iter().map(|&length| sciformats::Range::new(length - 1, 1)).collect::<Vec<_>>();
                let part = variable.read_slab(&Slab::new(&shape, last).map_err(shown)?).map_err(shown)?;
                let cells = part.cells().map_err(shown)?;
                if cells.first().cloned().flatten().unwrap_or_default() != wanted {
                    return Err(format!("the last value is {cells:?}, not {wanted}"));
                }
            }
            Ok(())
        }
        Meaning::Table(table) => of_table(&table, expected, folder),
        Meaning::Sparse(matrix) => {
            if json!(matrix.shape) != expected["shape"] {
                return Err(format!("its shape is {:?}, not {}", matrix.shape, expected["shape"]));
            }
            let dense = matrix.dense(0, matrix.lines()).map_err(shown)?;
            let bytes = dense.into_iter().flat_map(f64::to_le_bytes).collect();
            values(&Values::plain(sciformats::ElementType::F64, bytes), &expected["values"], folder)
        }
        _ => Err("it has an unknown kind of meaning".into()),
    }
}

fn of_table(table: &sciformats_conventions::Table, expected: &Value, folder: &Path) -> Outcome {
    let columns: BTreeMap<&str, &sciformats_conventions::Column> = table
        .index
        .iter()
        .map(|column| (column, true))
        .chain(table.columns.iter().map(|column| (column, false)))
        .map(|(column, _)| (column.name.as_str(), column))
        .collect();
    if json!(table.rows) != expected["rows"] {
        return Err(format!("it has {} rows, not {}", table.rows, expected["rows"]));
    }
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    if !expected["columns"].is_null() && json!(names) != expected["columns"] {
        return Err(format!("its columns are {names:?}, not {}", expected["columns"]));
    }
    for (name, wanted) in expected["cells"].as_object().into_iter().flatten() {
        let column = columns.get(name.as_str()).ok_or_else(|| format!("there is no column {name}"))?;
        let found = column.read(0, table.rows).map_err(|error| format!("{name}: {error}"))?;
        values(&found, wanted, folder).map_err(|why| format!("{name}: {why}"))?;
    }
    for key in ["units_of", "descriptions"] {
        for (name, wanted) in expected[key].as_object().into_iter().flatten() {
            let column = columns.get(name.as_str()).ok_or_else(|| format!("there is no column {name}"))?;
            let found = if key == "descriptions" { &column.description } else { &column.units };
            if json!(found.clone().unwrap_or_default()) != *wanted {
                return Err(format!("{key} {name}: it is {found:?}, not {wanted}"));
            }
        }
    }
    Ok(())
}

/// Compares values with those in an `.npy` file, or with texts.
fn values(found: &Values, expected: &Value, folder: &Path) -> Outcome {
    if let Some(texts) = expected.as_array() {
        let cells = found.cells().map_err(shown)?;
        let wanted: Vec<Option<String>> = texts.iter().map(|text| text.as_str().map(str::to_owned)).collect();
        for (at, (cell, wanted)) in cells.iter().zip(&wanted).enumerate() {
            let (cell_of, wanted_of) =
                (cell.as_deref().unwrap_or_default(), wanted.as_deref().unwrap_or_default());
            // The end of such a text is not determined.
            let begins = wanted_of.strip_suffix('…').is_some_and(|start| cell_of.starts_with(start));
            if cell_of != wanted_of && !begins {
                return Err(format!("element {at} is {cell:?}, not {wanted:?}"));
            }
        }
        return if cells.len() == wanted.len() {
            Ok(())
        } else {
            Err(format!("there are {} values, not {}", cells.len(), wanted.len()))
        };
    }
    let Some(name) = expected.as_str() else { return Ok(()) };
    let file = sciformats::open(folder.join(name)).map_err(shown)?;
    let array = file.array("/").map_err(shown)?;
    let wanted = array.bytes(&array.all().map_err(shown)?).map_err(shown)?;
    let (mut element, bytes) = found.clone().into_canonical().map_err(shown)?;
    // A column with several elements in each row has the type of an array.
    while let sciformats::ElementType::Array { element: inner, .. } = element {
        element = *inner;
    }
    if element != *array.element() {
        return Err(format!("its type is {element}, not {}", array.element()));
    }
    let size = element.size().and_then(|size| usize::try_from(size).ok()).unwrap_or(1);
    if bytes.len() != wanted.len() {
        return Err(format!("there are {} values, not {}", bytes.len() / size, wanted.len() / size));
    }
    let nan = |bytes: &[u8]| {
        let datum = sciformats::Decoder::new(&element, bytes).next();
        datum.and_then(Result::ok).and_then(|datum| datum.to_f64()).is_some_and(f64::is_nan)
    };
    for (at, (found, wanted)) in bytes.chunks(size).zip(wanted.chunks(size)).enumerate() {
        if found != wanted && !(nan(found) && nan(wanted)) {
            let show = |bytes: &[u8]| {
                let datum = sciformats::Decoder::new(&element, bytes).next();
                datum.and_then(Result::ok).map(|datum| datum.to_string()).unwrap_or_default()
            };
            return Err(format!("element {at} is {}, not {}", show(found), show(wanted)));
        }
    }
    Ok(())
}

/// Compares a date that cftime computed from a number: `[units, calendar, number, moment]`.
fn of_moments(expected: &Value) -> Outcome {
    let text = |at: usize| expected[at].as_str().unwrap_or_default();
    let calendar = Calendar::parse(text(1)).ok_or("it has no calendar")?;
    let units = TimeUnits::parse(text(0), calendar).ok_or_else(|| format!("{} are no units", text(0)))?;
    let found = match expected[2].as_i64() {
        Some(number) => units.moment_of_integer(number.into()),
        None => units.moment(expected[2].as_f64().unwrap_or(f64::NAN)),
    };
    let found = found.ok_or_else(|| format!("{expected}: it is too far"))?;
    if found.to_string() == text(3) {
        return Ok(());
    }
    // The product of floats is exact here. cftime rounds it more than once, and may differ by one
    // microsecond.
    let theirs = DateTime::parse(text(3), calendar).ok_or("cftime gives no date")?;
    let apart = (found.nanoseconds(calendar) - theirs.nanoseconds(calendar)).unsigned_abs();
    let near = expected[2].is_f64() && apart <= 1000;
    if near { Ok(()) } else { Err(format!("{expected}: it is {found}")) }
}
