//! Any bytes as tables: every object of a file that is one is read as batches, by conditions, and as comma-separated values.
#![no_main]

use std::ops::ControlFlow;

use libfuzzer_sys::fuzz_target;
use sciformats::walk::{Found, breadth_first};
use sciformats::{File, Limits, OpenOptions};
use sciformats_arrow::arrow_array::{RecordBatch, RecordBatchReader};
use sciformats_arrow::sciformats_conventions::Dataset;
use sciformats_arrow::{Batches, Comparison, Csv, Options, Predicate, Scalar, write_csv};

/// The number of objects and of batches that are looked at.
const FEW: usize = 8;

fuzz_target!(|data: &[u8]| {
    let limits = Limits::default().with_memory(1 << 20).with_items(1 << 10);
    let options = OpenOptions::default().with_limits(limits).with_unfolded(1 << 20).with_threads(1);
    if let Ok(csv) = Csv::new(std::io::Cursor::new(data)) {
        let names = csv.schema().fields().len();
        assert!(csv.flatten().all(|batch| batch.num_columns() == names));
    }
    let Ok(file) = File::from_storage(data.to_vec(), &options) else { return };
    let mut paths = vec!["/".to_owned()];
    let _ = breadth_first(file.source(), ("/", file.source().root()), file.limits(), &mut |entry| {
        if let Found::Object(..) = &entry.what {
            paths.push(entry.path.clone());
        }
        if paths.len() < FEW { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let data = Dataset::new(file);
    for path in paths {
        let options = Options::default().with_batch_rows(100).with_threads(1);
        let Ok(batches) = Batches::open(&data, &path, &options) else { continue };
        let schema = batches.schema();
        let read: Vec<RecordBatch> = batches.take(FEW).map_while(Result::ok).collect();
        assert!(read.iter().all(|batch| batch.schema() == schema && batch.num_rows() <= 100));
        if let Some(field) = schema.fields().first() {
            let some = Predicate::new(field.name(), Comparison::Greater, Scalar::from(0));
            let options = options
                .with_columns([field.name()])
                .with_filter(some)
                .with_sorted(field.name())
                .with_limit(3);
            if let Ok(batches) = Batches::open(&data, &path, &options) {
                assert!(
                    batches.take(FEW).map_while(Result::ok).map(|batch| batch.num_rows()).sum::<usize>() <= 3
                );
            }
        }
        let few = Options::default().with_limit(50).with_threads(1);
        if let Ok(batches) = Batches::open(&data, &path, &few) {
            let _ = write_csv(batches, &mut std::io::sink());
        }
    }
});
