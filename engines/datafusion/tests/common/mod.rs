//! Files for tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::prelude::SessionContext;
use sciformats_arrow::sciformats_conventions::Dataset;
use sciformats_arrow::write::{Form, WriteOptions, write_hdf5};
use sciformats_arrow::{Open, open_file};

/// Writes lines of comma-separated values to an HDF5 file, as a table at `/log`.
pub fn write(at: &Path, form: Form, lines: &str) {
    let text = at.with_extension("csv");
    std::fs::write(&text, lines).unwrap();
    let open: Open = Arc::new(|path| Dataset::open(path));
    let table = open_file(&text, None, &open).unwrap();
    let mut options = WriteOptions::default().with_form(form).with_path("/log").with_overwrite(true);
    options.threads = 1;
    write_hdf5(table.as_ref(), at, &options).unwrap();
    std::fs::remove_file(text).unwrap();
}

/// The rows of each file in [`folder_of_runs`].
pub const ROWS: i64 = 7;

/// Writes as many files, of `ROWS` rows each: the number of the row in all files, its remainder by 13, half of it, and a name.
pub fn folder_of_runs(folder: &Path, files: i64) {
    for file in 0..files {
        let mut lines = "number,kind,half,name\n".to_owned();
        for row in file * ROWS..(file + 1) * ROWS {
            lines += &format!("{row},{},{:?},n{}\n", row % 13, row as f64 / 2.0, row % 3);
        }
        write(&run(folder, file), Form::Records, &lines);
    }
}

/// The path of a file in [`folder_of_runs`].
pub fn run(folder: &Path, file: i64) -> PathBuf {
    folder.join(format!("run{file:04}.h5"))
}

/// Runs a query.
#[allow(dead_code, reason = "each test program has these functions")]
pub async fn collected(context: &SessionContext, query: &str) -> Vec<RecordBatch> {
    context.sql(query).await.unwrap().collect().await.unwrap()
}

/// The rows of a query as text.
#[allow(dead_code, reason = "each test program has these functions")]
pub async fn shown(context: &SessionContext, query: &str) -> String {
    pretty_format_batches(&collected(context, query).await).unwrap().to_string()
}
