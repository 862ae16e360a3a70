//! Tables as frames of `AnnData`.

use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types;
use arrow_array::{Array, ArrayRef, new_empty_array};
use arrow_schema::{DataType, SchemaRef};
use sciformats_conventions::sciformats::{Error, Result};
use sciformats_conventions::write::{AnnData, Frame};

use super::WriteOptions;
use super::cells::{plain, plain_bytes, texts};
use crate::csv::of_arrow;
use crate::{Options, Scan};

/// Writes a frame of the rows, and an empty one of the variables.
pub(super) fn write(table: &dyn Scan, (file, place): (&Path, &str), options: &WriteOptions) -> Result<u64> {
    let schema = table.schema();
    let place = place.trim_matches('/');
    let data = if options.overwrite { AnnData::overwrite(file)? } else { AnnData::create(file)? };
    let mut data = data.with_level(options.level);
    let (index, names) = index(table, &schema)?;
    let rows = names.len() as u64;
    let named: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut frame = match name_of(&schema, index) {
        Some(name) => data.frame_with_index(place, (name, &named))?,
        None => data.frame(place, &named)?,
    };
    drop(named);
    drop(names);
    for (at, field) in schema.fields().iter().enumerate() {
        if Some(at) != index {
            let ordered = field.dict_is_ordered().unwrap_or_default();
            column(&mut frame, (field.name(), ordered), &whole(table, field.name())?)?;
        }
    }
    for name in ["obs", "var"] {
        if name != place {
            data.frame(name, &[])?;
        }
    }
    data.finish()?;
    Ok(rows)
}

/// Returns the column that names the rows, and the names: those of the index, or numbers.
fn index(table: &dyn Scan, schema: &SchemaRef) -> Result<(Option<usize>, Vec<String>)> {
    let is_text = |kind: &DataType| matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let found = schema.fields().iter().position(|field| {
        let index = field.metadata().get("index").is_some_and(|is| is == "true");
        let named = matches!(field.name().as_str(), "_index" | "index" | "__index_level_0__");
        is_text(field.data_type()) && (index || named)
    });
    let mut names = Vec::new();
    let Some(field) = found.and_then(|at| schema.fields().get(at)) else {
        let none: [&str; 0] = [];
        for batch in table.scan(&Options::default().with_columns(none))? {
            let before = names.len();
            let count = batch.map_err(of_arrow)?.num_rows();
            names.extend((before..before.saturating_add(count)).map(|row| row.to_string())); // a bound
        }
        return Ok((None, names));
    };
    let array = whole(table, field.name())?;
    // A row needs a name. If one is missing, the column is one like others.
    if array.iter().any(|batch| batch.null_count() > 0) {
        let rows = array.iter().map(Array::len).sum::<usize>();
        return Ok((None, (0..rows).map(|row| row.to_string()).collect()));
    }
    for batch in &array {
        for text in texts(batch)? {
            names.push(
                String::from_utf8(text)
                    .map_err(|_| Error::unsupported("a name of a row that is not UTF-8"))?,
            );
        }
    }
    Ok((found, names))
}

/// Returns the name that the names of the rows have; `None` if it is only the name of every index.
fn name_of(schema: &SchemaRef, index: Option<usize>) -> Option<&str> {
    let name = schema.fields().get(index?)?.name().as_str();
    (!matches!(name, "" | "_index" | "__index_level_0__")).then_some(name)
}

/// Reads a column.
fn whole(table: &dyn Scan, name: &str) -> Result<Vec<ArrayRef>> {
    let mut arrays = Vec::new();
    for batch in table.scan(&Options::default().with_columns([name]))? {
        arrays.extend(batch.map_err(of_arrow)?.columns().first().cloned());
    }
    // A table without rows may have no batch, but its columns have types.
    if let ([], Ok(field)) = (arrays.as_slice(), table.schema().field_with_name(name)) {
        arrays.push(new_empty_array(field.data_type()));
    }
    Ok(arrays)
}

fn column(frame: &mut Frame<'_>, (name, ordered): (&str, bool), arrays: &[ArrayRef]) -> Result<()> {
    // Categories have names here; those that are numbers are stored as the numbers.
    let is_text = |kind: &DataType| matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let unnamed = |array: &ArrayRef| matches!(array.data_type(), DataType::Dictionary(_, of) if !is_text(of));
    if arrays.iter().any(unnamed) {
        return column(frame, (name, false), &arrays.iter().map(plain).collect::<Result<Vec<_>>>()?);
    }
    let Some(kind) = arrays.first().map(|array| array.data_type().clone()) else {
        return frame.column::<f64>(name, &[]).map(drop);
    };
    // A category that is missing itself is a missing value.
    let missing: Vec<bool> = arrays
        .iter()
        .flat_map(|array| {
            let nulls = array.logical_nulls();
            (0..array.len()).map(move |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)))
        })
        .collect();
    let any = missing.contains(&true);
    macro_rules! integers {
        ($number:ty, $width:literal) => {{
            let mut values: Vec<$number> = Vec::with_capacity(missing.len());
            for array in arrays {
                let bytes = plain_bytes(array, $width).ok_or_else(|| unsupported(name, &kind))?;
                values.extend(
                    bytes.as_chunks::<$width>().0.iter().map(|bytes| <$number>::from_le_bytes(*bytes)),
                );
            }
            if any {
                frame.nullable(name, "nullable-integer", &values, &missing)?;
            } else {
                frame.column(name, &values)?;
            }
        }};
    }
    match &kind {
        DataType::Int8 => integers!(i8, 1),
        DataType::Int16 => integers!(i16, 2),
        DataType::Int32 => integers!(i32, 4),
        DataType::Int64 => integers!(i64, 8),
        DataType::UInt8 => integers!(u8, 1),
        DataType::UInt16 => integers!(u16, 2),
        DataType::UInt32 => integers!(u32, 4),
        DataType::UInt64 => integers!(u64, 8),
        DataType::Float32 => {
            let of = |array: &ArrayRef| -> Vec<f32> {
                array
                    .as_primitive::<types::Float32Type>()
                    .iter()
                    .map(|value| value.unwrap_or(f32::NAN))
                    .collect()
            };
            frame.column(name, &arrays.iter().flat_map(of).collect::<Vec<_>>())?;
        }
        DataType::Float64 => {
            let of = |array: &ArrayRef| -> Vec<f64> {
                array
                    .as_primitive::<types::Float64Type>()
                    .iter()
                    .map(|value| value.unwrap_or(f64::NAN))
                    .collect()
            };
            frame.column(name, &arrays.iter().flat_map(of).collect::<Vec<_>>())?;
        }
        DataType::Boolean => {
            let of = |array: &ArrayRef| -> Vec<bool> {
                array.as_boolean().iter().map(std::option::Option::unwrap_or_default).collect()
            };
            let values: Vec<bool> = arrays.iter().flat_map(of).collect();
            if any {
                frame.nullable(name, "nullable-boolean", &values, &missing)?;
            } else {
                frame.column(name, &values)?;
            }
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            let texts = all_texts(arrays)?;
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            if any {
                frame.nullable(name, "nullable-string-array", &texts, &missing)?;
            } else {
                frame.texts(name, &texts)?;
            }
        }
        DataType::Dictionary(..) => categories(frame, (name, ordered), arrays, &missing)?,
        _ => return Err(unsupported(name, &kind)),
    }
    Ok(())
}

fn unsupported(name: &str, kind: &DataType) -> Error {
    Error::unsupported(format!("the column {name} of type {kind} in a frame of AnnData"))
}

fn all_texts(arrays: &[ArrayRef]) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for array in arrays {
        for text in texts(array)? {
            all.push(
                String::from_utf8(text)
                    .map_err(|_| Error::unsupported("a text that is not UTF-8 in AnnData"))?,
            );
        }
    }
    Ok(all)
}

/// Writes categories: their names in the order of the first dictionary, and those that come with others after them.
fn categories(
    frame: &mut Frame<'_>,
    (name, ordered): (&str, bool),
    arrays: &[ArrayRef],
    missing: &[bool],
) -> Result<()> {
    // Names that only come with a later dictionary have no place in the order of the first one.
    let first = arrays.first().map_or(0, |array| array.as_any_dictionary().values().len());
    let mut known: Vec<String> = Vec::new();
    let mut places = std::collections::HashMap::new();
    // Whether each dictionary has the order of the first one.
    let mut agree = true;
    for array in arrays {
        let values = array.as_any_dictionary().values();
        let mut last = 0;
        for (at, text) in all_texts(std::slice::from_ref(values))?.into_iter().enumerate() {
            if values.is_null(at) {
                continue;
            }
            let place = *places.entry(text.clone()).or_insert(known.len());
            if place == known.len() {
                known.push(text);
            }
            agree &= place >= last;
            last = place;
        }
    }
    let texts = all_texts(arrays)?;
    let codes = texts.iter().zip(missing).map(
        |(text, missing)| {
            if *missing { None } else { places.get(text).copied() }
        },
    );
    let codes: Vec<Option<usize>> = codes.collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    if ordered && agree && known.len() <= first {
        frame.ordered_categories(name, &known, &codes)?;
    } else {
        frame.categories(name, &known, &codes)?;
    }
    Ok(())
}
