//! Tables as lists of records, and as groups of arrays.

use std::path::Path;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use sciformats_conventions::sciformats::hdf5_pure::values::{Empty, FixedString};
use sciformats_conventions::sciformats::hdf5_pure::{Datatype, ObjectId, Range, Slab, Writer};
use sciformats_conventions::sciformats::{Error, Result};

use super::cells::{Cell, Taste, is_name_of_pytables, named, notes, plain, texts};
use super::{Form, WriteOptions};
use crate::csv::of_arrow;
use crate::{Options, Scan};

/// The size of chunks, if there are so many rows.
const CHUNK: u64 = 1 << 18;

/// The size of the chunk of a table with few rows, which may grow later.
const SMALL_CHUNK: u64 = 1 << 12;

/// Writes a list of records.
pub(super) fn write(table: &dyn Scan, (file, place): (&Path, &str), options: &WriteOptions) -> Result<u64> {
    let schema = table.schema();
    if schema.fields().is_empty() {
        return Err(Error::usage("table", "has no columns, but a record needs a field"));
    }
    let taste = if options.form == Form::PyTables { Taste::PyTables } else { Taste::Plain };
    named(schema.fields(), taste)?;
    // What begins with `_i_` or `_p_` is hidden, and belongs to indexes.
    let unknown = |name: &&str| {
        !is_name_of_pytables(name) || ["_i_", "_p_"].iter().any(|start| name.starts_with(start))
    };
    if let (Taste::PyTables, Some(name)) = (taste, place.split('/').skip(1).find(unknown)) {
        return Err(Error::usage("path", format!("has the name {name:?}, which PyTables cannot open")));
    }
    let widths =
        if taste == Taste::PyTables { widths(table, &schema)? } else { vec![0; schema.fields().len()] };
    let fields = schema.fields().iter().zip(widths);
    let cells = fields.map(|(field, width)| Cell::new(field.name(), field.data_type(), taste, width));
    let cells = cells.collect::<Result<Vec<_>>>()?;
    let members = schema.fields().iter().zip(&cells);
    let datatype =
        Datatype::compound(members.map(|(field, cell)| (field.name().as_str(), cell.datatype.clone())));
    let mut writer = options.writer(file)?;
    parents(&mut writer, place, taste)?;
    let (few, batches) = batches(table)?;
    let id = started(&mut writer, (place, &datatype, &[]), few, options)?;
    let mut rows = 0u64;
    for batch in batches {
        let batch = batch?;
        let values = cells.iter().zip(batch.columns()).map(|(cell, column)| cell.values(column));
        let values = values.collect::<Result<Vec<_>>>()?;
        rows = append(&mut writer, id, (rows, batch.num_rows()), &[], |row, to| {
            values.iter().try_for_each(|of| of.append(row, to))
        })?;
    }
    for (at, field) in schema.fields().iter().enumerate() {
        if taste == Taste::PyTables {
            writer.attribute(id, &format!("FIELD_{at}_NAME"), FixedString(field.name()))?;
        }
        for (name, text) in notes(&format!("{}.", field.name()), field) {
            match taste {
                Taste::PyTables => writer.attribute(id, &name, FixedString(&text))?,
                Taste::Plain => writer.attribute(id, &name, text.as_str())?,
            }
        }
    }
    if taste == Taste::PyTables {
        let count = i64::try_from(rows).map_err(|_| Error::usage("rows", "are too many for PyTables"))?;
        writer.attribute(id, "NROWS", count)?;
        for (name, text) in [("CLASS", "TABLE"), ("VERSION", "2.7"), ("FLAVOR", "numpy")] {
            writer.attribute(id, name, FixedString(text))?;
        }
        writer.attribute(id, "TITLE", untitled())?;
    }
    writer.finish()?;
    Ok(rows)
}

/// Writes a group with an array for each column.
pub(super) fn columns(table: &dyn Scan, (file, place): (&Path, &str), options: &WriteOptions) -> Result<u64> {
    let schema = table.schema();
    let mut writer = options.writer(file)?;
    parents(&mut writer, place, Taste::Plain)?;
    writer.group(place)?;
    let (few, batches) = batches(table)?;
    let mut arrays = Vec::new();
    for field in schema.fields() {
        // Lists of one length are further dimensions.
        let (mut kind, mut sides) = (field.data_type(), Vec::new());
        while let DataType::FixedSizeList(item, side) = kind {
            sides.push(u64::try_from(*side).unwrap_or_default());
            kind = item.data_type();
        }
        if let DataType::Struct(fields) = kind {
            named(fields, Taste::Plain)?;
        }
        let cell = Cell::new(field.name(), kind, Taste::Plain, 0)?;
        let inner = format!("{place}/{}", field.name());
        let name = field.name();
        if name.contains(['/', '\0']) || matches!(name.as_str(), "" | "." | "..") {
            return Err(Error::unsupported(format!("the name {name:?} of a column as that of an array")));
        }
        let id = started(&mut writer, (&inner, &cell.datatype, &sides), few, options)?;
        for (name, text) in notes("", field) {
            writer.attribute(id, &name, text.as_str())?;
        }
        arrays.push((id, cell, sides));
    }
    let mut rows = 0u64;
    for batch in batches {
        let batch = batch?;
        for ((id, cell, sides), column) in arrays.iter().zip(batch.columns()) {
            let mut flat: ArrayRef = std::sync::Arc::clone(column);
            let mut inner = 1usize;
            for side in sides {
                use arrow_array::Array;
                use arrow_array::cast::AsArray;
                let lists = flat.as_fixed_size_list();
                if lists.null_count() > 0 {
                    return Err(Error::unsupported("a missing list in this form of a table"));
                }
                let side = usize::try_from(*side).unwrap_or_default();
                let start = lists.offset().saturating_mul(side); // a bound
                let next = lists.values().slice(start, lists.len().saturating_mul(side)); // a bound
                inner = inner.saturating_mul(side); // a bound
                flat = next;
            }
            let values = cell.values(&flat)?;
            append(&mut writer, *id, (rows, batch.num_rows()), sides, |row, to| {
                let start = row.saturating_mul(inner); // a bound
                (start..start.saturating_add(inner)).try_for_each(|at| values.append(at, to)) // a bound
            })?;
        }
        rows = rows.saturating_add(batch.num_rows() as u64); // a bound
    }
    writer.finish()?;
    Ok(rows)
}

/// Returns the rows of a table in batches, and how many there are if there is only one batch with rows.
fn batches(table: &dyn Scan) -> Result<(Option<u64>, impl Iterator<Item = Result<RecordBatch>>)> {
    let mut later = table.scan(&Options::default())?.map(|batch| batch.map_err(of_arrow));
    let mut first = later.by_ref().take(2).collect::<Result<Vec<_>>>()?.into_iter();
    let few = match first.as_slice() {
        [only] if only.num_rows() > 0 => Some(only.num_rows() as u64),
        _ => None,
    };
    Ok((few, std::iter::from_fn(move || first.next().map(Ok).or_else(|| later.next()))))
}

/// Starts a dataset without rows, which is going to have as many if they are `few`.
fn started(
    writer: &mut Writer,
    (place, datatype, sides): (&str, &Datatype, &[u64]),
    few: Option<u64>,
    options: &WriteOptions,
) -> Result<ObjectId> {
    let inner = sides.iter().fold(1u64, |all, side| all.saturating_mul(*side)); // a bound
    let row = inner.saturating_mul(datatype.size.into()).max(1); // a bound
    let with = |first: u64| -> Vec<u64> { std::iter::once(first).chain(sides.iter().copied()).collect() };
    let most = std::iter::once(None).chain(sides.iter().map(|side| Some(*side))).collect::<Vec<_>>();
    // The only chunk of a small table is not much larger than the table, and the file neither.
    let bytes = few.map_or(CHUNK, |few| few.saturating_mul(row).clamp(SMALL_CHUNK, CHUNK)); // a bound
    let chunk = (bytes / row).max(1);
    let mut builder =
        writer.dataset(place).datatype(datatype.clone()).shape(with(0)).max_shape(most).chunks(with(chunk));
    if options.level > 0 {
        builder = builder.shuffle().deflate(options.level);
    }
    Ok(builder.create_encoded()?.id())
}

/// Appends rows, and returns the number of all of them.
fn append(
    writer: &mut Writer,
    id: ObjectId,
    (before, count): (u64, usize),
    sides: &[u64],
    mut row: impl FnMut(
        usize,
        &mut sciformats_conventions::sciformats::hdf5_pure::values::Encoder<'_>,
    ) -> Result<()>,
) -> Result<u64> {
    let rows = before.checked_add(count as u64).ok_or_else(|| Error::usage("rows", "are more than 2^64"))?;
    if count == 0 {
        return Ok(rows);
    }
    let shape: Vec<u64> = std::iter::once(rows).chain(sides.iter().copied()).collect();
    let mut dataset = writer.open_id(id)?;
    dataset.resize(&shape)?;
    let ranges =
        std::iter::once(Range::new(before, count as u64)).chain(sides.iter().map(|side| Range::all(*side)));
    let slab = Slab::new(&shape, ranges.collect::<Vec<_>>())?;
    dataset.write_encoded(&slab, |to| (0..count).try_for_each(|at| row(at, to)))?;
    Ok(rows)
}

/// The empty title of `PyTables`, which only reads texts of variable length that are not empty.
fn untitled() -> Empty {
    Empty(Datatype::fixed_string(1))
}

/// Creates the groups above a table.
fn parents(writer: &mut Writer, place: &str, taste: Taste) -> Result<()> {
    let marked = |group: &mut sciformats_conventions::sciformats::hdf5_pure::GroupWriter<'_>| -> Result<()> {
        group.attribute("CLASS", FixedString("GROUP"))?.attribute("VERSION", FixedString("1.0"))?;
        group.attribute("TITLE", untitled())?;
        Ok(())
    };
    if taste == Taste::PyTables {
        let mut root = writer.root();
        marked(&mut root)?;
        root.attribute("PYTABLES_FORMAT_VERSION", FixedString("2.1"))?;
    }
    let ends = place.match_indices('/').map(|(at, _)| at).filter(|&at| at > 0);
    for end in ends {
        let mut group = writer.group(place.get(..end).unwrap_or_default())?;
        if taste == Taste::PyTables {
            marked(&mut group)?;
        }
    }
    Ok(())
}

/// Returns the size of the longest text of each column, for which the table is read.
fn widths(table: &dyn Scan, schema: &SchemaRef) -> Result<Vec<usize>> {
    fn is_text(kind: &DataType) -> bool {
        match kind {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
            DataType::Dictionary(_, values) => is_text(values),
            DataType::FixedSizeList(item, _) => is_text(item.data_type()),
            DataType::Struct(fields) => fields.iter().any(|field| is_text(field.data_type())),
            _ => false,
        }
    }
    fn longest(array: &ArrayRef) -> Result<usize> {
        use arrow_array::cast::AsArray;
        match array.data_type() {
            DataType::FixedSizeList(..) => longest(array.as_fixed_size_list().values()),
            DataType::Struct(_) => {
                array.as_struct().columns().iter().try_fold(0, |most, column| Ok(most.max(longest(column)?)))
            }
            kind if is_text(kind) => {
                Ok(texts(&plain(array)?)?.iter().map(Vec::len).max().unwrap_or_default())
            }
            _ => Ok(0),
        }
    }
    let mut widths = vec![0; schema.fields().len()];
    let places: Vec<usize> = schema
        .fields()
        .iter()
        .enumerate()
        .filter(|(_, field)| is_text(field.data_type()))
        .map(|(at, _)| at)
        .collect();
    if places.is_empty() {
        return Ok(widths);
    }
    let names: Vec<&str> =
        places.iter().filter_map(|&at| schema.fields().get(at)).map(|field| field.name().as_str()).collect();
    for batch in table.scan(&Options::default().with_columns(names))? {
        let batch = batch.map_err(of_arrow)?;
        for (&place, column) in places.iter().zip(batch.columns()) {
            let found = longest(column)?;
            if let Some(width) = widths.get_mut(place) {
                *width = (*width).max(found);
            }
        }
    }
    Ok(widths)
}
