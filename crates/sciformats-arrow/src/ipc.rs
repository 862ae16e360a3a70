//! Files of Arrow: the file format, which is also Feather version 2, and the stream format.

use std::collections::HashMap;
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int32Array, RecordBatch, RecordBatchReader, UInt64Array,
};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions};
use arrow_schema::{DataType, Schema};
use sciformats_conventions::sciformats::{Error, Result};

use crate::Options;
use crate::csv::of_arrow;
use crate::guarded::{Part, Reader, guarded, of_reading};

/// The bytes with which the file format begins.
const MAGIC: &[u8; 6] = b"ARROW1";

/// What an error about such a file names.
const WHAT: &str = "file of Arrow";

/// Writes a table in Arrow's file format. Returns the number of rows.
///
/// # Errors
///
/// The error of reading or of writing.
pub fn write_ipc(table: impl RecordBatchReader, out: impl Write) -> Result<u64> {
    let schema = table.schema();
    let options = IpcWriteOptions::default().with_dictionary_handling(DictionaryHandling::Delta);
    let mut writer = FileWriter::try_new_with_options(out, &schema, options).map_err(written)?;
    let mut lists = listed(&schema);
    let mut rows = 0u64;
    for batch in table {
        let batch = batch.map_err(of_arrow)?;
        rows = rows.saturating_add(batch.num_rows() as u64); // a bound
        writer.write(&with_lists(&mut lists, &batch)?).map_err(written)?;
    }
    writer.finish().map_err(written)?;
    writer.get_mut().flush().map_err(|error| Error::io("write", error))?;
    Ok(rows)
}

/// The categories of a column that were written so far. A file has one list of them for all batches, to which batches can add.
struct Listed {
    names: ArrayRef,
    places: HashMap<String, i32>,
    /// The list of the last batch, and the place of each of its categories in the list of the file.
    last: Option<(ArrayRef, Vec<Option<i32>>)>,
}

/// Returns an empty list for each column of categories that have no order of their own. Two lists have no common order.
fn listed(schema: &Schema) -> Vec<Option<Listed>> {
    let columns = schema.fields().iter().map(|field| match field.data_type() {
        DataType::Dictionary(key, of)
            if **key == DataType::Int32
                && matches!(**of, DataType::Utf8 | DataType::LargeUtf8)
                && field.dict_is_ordered() != Some(true) =>
        {
            Some(Listed { names: arrow_array::new_empty_array(of), places: HashMap::new(), last: None })
        }
        _ => None,
    });
    columns.collect()
}

/// Returns a batch whose categories are those of the lists of the file.
fn with_lists(lists: &mut [Option<Listed>], batch: &RecordBatch) -> Result<RecordBatch> {
    let columns = batch.columns().iter().zip(lists).map(|(column, list)| match list {
        Some(list) => list.column(column),
        None => Ok(Arc::clone(column)),
    });
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns.collect::<Result<_>>()?, &options)
        .map_err(of_arrow)
}

impl Listed {
    fn column(&mut self, column: &ArrayRef) -> Result<ArrayRef> {
        let Some(column) = column.as_dictionary_opt::<Int32Type>() else { return Ok(Arc::clone(column)) };
        let own = column.values();
        let known = self.last.take().filter(|(last, _)| last.to_data().ptr_eq(&own.to_data()));
        let places = match known {
            Some((_, places)) => places,
            None => self.places(own)?,
        };
        let place = |key: i32| places.get(usize::try_from(key).ok()?).copied().flatten();
        let keys: Int32Array = column.keys().iter().map(|key| place(key?)).collect();
        self.last = Some((Arc::clone(own), places));
        let column = DictionaryArray::<Int32Type>::try_new(keys, Arc::clone(&self.names));
        Ok(Arc::new(column.map_err(of_arrow)?))
    }

    /// Returns the places of categories, and adds those that are new.
    fn places(&mut self, own: &ArrayRef) -> Result<Vec<Option<i32>>> {
        let (mut places, mut new) = (Vec::with_capacity(own.len()), Vec::new());
        let names: Vec<Option<&str>> = match own.data_type() {
            DataType::Utf8 => own.as_string::<i32>().iter().collect(),
            _ => own.as_string::<i64>().iter().collect(),
        };
        for (at, name) in names.into_iter().enumerate() {
            let Some(name) = name else {
                places.push(None);
                continue;
            };
            if let Some(place) = self.places.get(name) {
                places.push(Some(*place));
                continue;
            }
            let place = i32::try_from(self.places.len())
                .map_err(|_| Error::unsupported("a column with more than 2^31 categories in Arrow"))?;
            self.places.insert(name.to_owned(), place);
            places.push(Some(place));
            new.push(at as u64);
        }
        if !new.is_empty() {
            let new =
                arrow_select::take::take(own.as_ref(), &UInt64Array::from(new), None).map_err(of_arrow)?;
            let both = [self.names.as_ref(), new.as_ref()];
            self.names = arrow_select::concat::concat(&both).map_err(of_arrow)?;
        }
        Ok(places)
    }
}

fn written(error: arrow_schema::ArrowError) -> Error {
    match error {
        arrow_schema::ArrowError::IoError(_, source) => Error::io("write", source),
        other => of_arrow(other),
    }
}

/// Reads the part of a file of Arrow that options select; their number of rows per batch is that of the file.
///
/// # Errors
///
/// [`Error::NotFound`] if there is no such column; [`Error::Malformed`] or [`Error::Unsupported`] if the file is none
/// of Arrow.
pub fn read_ipc(mut file: impl Read + Seek + Send + 'static, options: &Options) -> Result<Reader> {
    let io = |error| Error::io("read", error);
    let damage = |error| of_reading(WHAT, error);
    let mut magic = Vec::new();
    (&mut file).take(MAGIC.len() as u64).read_to_end(&mut magic).map_err(io)?;
    file.seek(SeekFrom::Start(0)).map_err(io)?;
    let file = BufReader::with_capacity(1 << 18, file);
    if magic == MAGIC {
        let reader = guarded(WHAT, || FileReader::try_new(file, None).map_err(damage))?;
        return Ok(Box::new(Part::new(reader, WHAT, options)?));
    }
    let reader = guarded(WHAT, || StreamReader::try_new(file, None).map_err(damage))?;
    Ok(Box::new(Part::new(reader, WHAT, options)?))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use arrow_array::{LargeStringArray, RecordBatchIterator};
    use arrow_schema::Field;

    use super::*;

    #[test]
    fn batches_may_have_other_lists_of_categories() {
        let kind = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::LargeUtf8));
        let schema = Arc::new(Schema::new(vec![Field::new("k", kind, true)]));
        let batch = |names: &[Option<&str>], keys: &[Option<i32>]| {
            let names: ArrayRef = Arc::new(LargeStringArray::from(names.to_vec()));
            let column = DictionaryArray::<Int32Type>::try_new(Int32Array::from(keys.to_vec()), names);
            RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(column.unwrap())])
        };
        let batches = [
            batch(&[Some("a"), Some("b")], &[Some(1), None, Some(0)]),
            batch(&[Some("c"), None, Some("b")], &[Some(0), Some(1), Some(2)]),
            batch(&[], &[None]),
            batch(&[Some("b")], &[Some(0)]),
        ];
        let mut bytes = Vec::new();
        let table = RecordBatchIterator::new(batches, Arc::clone(&schema));
        assert_eq!(write_ipc(table, &mut bytes).unwrap(), 8);
        let mut found = String::new();
        for batch in read_ipc(Cursor::new(bytes), &Options::default()).unwrap() {
            let batch = batch.unwrap();
            for row in 0..batch.num_rows() {
                crate::write_cell(&mut found, crate::Style::Json, batch.column(0).as_ref(), row);
                found.push(' ');
            }
        }
        assert_eq!(found, "\"b\" null \"a\" \"c\" null \"b\" null \"b\" ");
    }
}
