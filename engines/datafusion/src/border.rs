//! The border between two versions of Arrow: that of `sciformats-arrow` and the older one of DataFusion. Both describe data by the same C
//! interface, so arrays pass without a copy.

use datafusion::arrow::array::{Array, RecordBatch, RecordBatchOptions, StructArray};
use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::error::Result;
use sciformats_arrow::arrow_array::ffi as theirs;
use sciformats_arrow::{arrow_array as newer, arrow_schema as newer_schema};

use crate::error::external;

/// Translates a schema.
///
/// # Errors
///
/// If one of the versions does not know a type.
pub(crate) fn schema(of: &newer_schema::Schema) -> Result<Schema> {
    let mut given = theirs::FFI_ArrowSchema::try_from(of).map_err(external)?;
    // SAFETY: Both types are the `struct ArrowSchema` of the C interface, with `repr(C)` and all fields. `from_raw` moves the structure out
    // and leaves one without a `release`, so exactly one of them is released, by the function that its own library set.
    #[allow(unsafe_code, reason = "two versions of Arrow meet at its C interface")]
    let taken = unsafe { datafusion::arrow::ffi::FFI_ArrowSchema::from_raw((&raw mut given).cast()) };
    Ok(Schema::try_from(&taken)?)
}

/// Translates a batch whose schema is `schema` after [`schema()`].
///
/// # Errors
///
/// If the batch has other columns than the schema, which is an error of this library.
pub(crate) fn batch(of: newer::RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let rows = of.num_rows();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    if of.num_columns() != schema.fields().len() {
        return Err(external(format!(
            "{} columns were read instead of {}",
            of.num_columns(),
            schema.fields().len()
        )));
    }
    if of.num_columns() == 0 {
        return Ok(RecordBatch::try_new_with_options(SchemaRef::clone(schema), Vec::new(), &options)?);
    }
    let data = newer::Array::into_data(newer::StructArray::from(of));
    let (mut given, types) = theirs::to_ffi(&data).map_err(external)?;
    let kind = {
        let mut types = types;
        // SAFETY: As in `schema`.
        #[allow(unsafe_code, reason = "two versions of Arrow meet at its C interface")]
        let types = unsafe { datafusion::arrow::ffi::FFI_ArrowSchema::from_raw((&raw mut types).cast()) };
        DataType::try_from(&types)?
    };
    // SAFETY: Both types are the `struct ArrowArray` of the C interface, with `repr(C)` and all fields; `from_raw` moves it as above. Its
    // buffers were made by the newer Arrow from a checked batch, `kind` is the type that the newer Arrow states for them, and the buffers
    // live until the imported array calls the `release` of the library that made them.
    #[allow(unsafe_code, reason = "two versions of Arrow meet at its C interface")]
    let data = unsafe {
        let taken = datafusion::arrow::ffi::FFI_ArrowArray::from_raw((&raw mut given).cast());
        datafusion::arrow::ffi::from_ffi_and_data_type(taken, kind)?
    };
    let (_, columns, _) = StructArray::from(data).into_parts();
    for (column, field) in columns.iter().zip(schema.fields()) {
        if column.data_type() != field.data_type() {
            let (name, wanted, found) = (field.name(), field.data_type(), column.data_type());
            return Err(external(format!("the column {name} was read as {found} instead of {wanted}")));
        }
    }
    Ok(RecordBatch::try_new_with_options(SchemaRef::clone(schema), columns, &options)?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::AsArray;
    use datafusion::arrow::datatypes::{Int32Type, Int64Type};

    use super::*;

    /// Columns of every layout: with and without missing values, texts, codes with names, lists, and records.
    fn columns() -> newer::RecordBatch {
        use newer::types::Int64Type;
        let numbers = newer::Int64Array::from(vec![Some(1), None, Some(3), Some(4)]);
        let texts = newer::LargeStringArray::from(vec![Some("a"), Some(""), None, Some("ü")]);
        let codes: newer::DictionaryArray<newer::types::Int32Type> = {
            let names = newer::LargeStringArray::from(vec!["x", "y"]);
            let keys = newer::Int32Array::from(vec![Some(1), None, Some(0), Some(1)]);
            newer::DictionaryArray::try_new(keys, Arc::new(names)).unwrap()
        };
        let lists = newer::FixedSizeListArray::from_iter_primitive::<Int64Type, _, _>(
            (0..4).map(|at| Some(vec![Some(at), None])),
            2,
        );
        let truths = newer::BooleanArray::from(vec![true, false, true, true]);
        newer::RecordBatch::try_from_iter([
            ("number", Arc::new(numbers) as newer::ArrayRef),
            ("text", Arc::new(texts)),
            ("code", Arc::new(codes)),
            ("list", Arc::new(lists)),
            ("truth", Arc::new(truths)),
        ])
        .unwrap()
    }

    #[test]
    fn batches_pass_with_their_values() {
        let given = columns();
        let kind = Arc::new(schema(&given.schema()).unwrap());
        // A part of a batch begins within its buffers.
        for (first, rows) in [(0, 4), (1, 3), (2, 0)] {
            let taken = batch(given.slice(first, rows), &kind).unwrap();
            assert_eq!((taken.num_rows(), taken.schema()), (rows, Arc::clone(&kind)));
            let numbers: Vec<_> = taken.column(0).as_primitive::<Int64Type>().iter().collect();
            assert_eq!(numbers, [Some(1), None, Some(3), Some(4)][first..first + rows]);
            let texts: Vec<_> = taken.column(1).as_string::<i64>().iter().collect();
            assert_eq!(texts, [Some("a"), Some(""), None, Some("ü")][first..first + rows]);
            let codes = taken.column(2).as_dictionary::<Int32Type>();
            let codes: Vec<_> = codes
                .downcast_dict::<datafusion::arrow::array::LargeStringArray>()
                .unwrap()
                .into_iter()
                .collect();
            assert_eq!(codes, [Some("y"), None, Some("x"), Some("y")][first..first + rows]);
            assert_eq!(taken.column(3).as_fixed_size_list().value_length(), 2);
            assert_eq!(taken.column(4).as_boolean().true_count(), [3, 2, 0][first]);
        }
    }

    #[test]
    fn batches_outlive_what_they_were_made_of() {
        let given = columns();
        let kind = Arc::new(schema(&given.schema()).unwrap());
        let taken = batch(given.clone(), &kind).unwrap();
        drop(given);
        let copy = taken.clone();
        drop(taken);
        assert_eq!(copy.column(0).as_primitive::<Int64Type>().value(3), 4);
    }

    #[test]
    fn rows_are_counted_without_columns() {
        let options = newer::RecordBatchOptions::new().with_row_count(Some(17));
        let empty = Arc::new(newer_schema::Schema::empty());
        let given = newer::RecordBatch::try_new_with_options(empty, Vec::new(), &options).unwrap();
        assert_eq!(batch(given, &Arc::new(Schema::empty())).unwrap().num_rows(), 17);
    }

    #[test]
    fn other_columns_are_an_error() {
        let given = columns();
        let error =
            batch(given.project(&[0]).unwrap(), &Arc::new(schema(&given.schema()).unwrap())).unwrap_err();
        assert!(error.to_string().contains("1 columns were read instead of 5"), "{error}");
        let other = Arc::new(schema(&given.project(&[1]).unwrap().schema()).unwrap());
        let error = batch(given.project(&[0]).unwrap(), &other).unwrap_err();
        assert!(error.to_string().contains("Int64 instead of LargeUtf8"), "{error}");
    }
}
