//! Objects of MATLAB as record batches.
#![cfg(feature = "hdf5")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use sciformats_arrow::arrow_array::cast::AsArray;
use sciformats_arrow::arrow_array::types::{Float64Type, Int32Type, TimestampMicrosecondType};
use sciformats_arrow::arrow_array::{Array, RecordBatchReader};
use sciformats_arrow::arrow_schema::{DataType, TimeUnit};
use sciformats_arrow::sciformats_conventions::Dataset;
use sciformats_arrow::sciformats_conventions::sciformats::{File, hdf5_pure};
use sciformats_arrow::{Batches, Options, table};

#[path = "../../sciformats-cli/tests/common/matlab.rs"]
mod matlab;

#[test]
fn a_table_with_columns_of_every_class() {
    let data = Dataset::new(File::from_bytes(matlab::runs()).unwrap());
    let table = table(&data, "/runs").unwrap();
    let mut batches = Batches::new(&table, &Options::default()).unwrap();
    let schema = batches.schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["run", "speed", "when", "took", "place", "state"]);
    let told = |name: &str, key: &str| schema.field_with_name(name).unwrap().metadata().get(key).cloned();
    assert_eq!(told("speed", "units").as_deref(), Some("m/s"));
    assert_eq!(told("speed", "description").as_deref(), Some("at the inlet"));
    assert_eq!(told("took", "units").as_deref(), Some("h"));
    let when = schema.field_with_name("when").unwrap().data_type();
    assert_eq!(*when, DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())));
    let batch = batches.next().unwrap().unwrap();
    assert_eq!(batch.num_rows(), 3);
    let column = |name: &str| batch.column_by_name(name).unwrap();
    let speed = column("speed").as_primitive::<Float64Type>();
    assert!(
        speed.value(0) == 1.5 && speed.value(2) == -3.25 && (speed.is_null(1) || speed.value(1).is_nan())
    );
    let when = column("when").as_primitive::<TimestampMicrosecondType>();
    assert_eq!((when.value(0), when.value(1)), (1_704_110_400_000_000, 1_704_110_400_125_000));
    assert!(when.is_null(2));
    assert_eq!(column("took").as_primitive::<Float64Type>().values(), &[1.5, 1.0, 0.0]);
    let place = column("place").as_string::<i64>();
    assert_eq!((place.value(1), place.is_null(2)), ("größer", true));
    let state = column("state").as_dictionary::<Int32Type>();
    assert_eq!(state.keys().iter().collect::<Vec<_>>(), [Some(0), None, Some(1)]);
    assert_eq!(state.values().as_string::<i64>().value(1), "bad");
    assert_eq!(column("run").as_string::<i64>().value(2), "r3");
    assert!(batches.next().is_none());
}
