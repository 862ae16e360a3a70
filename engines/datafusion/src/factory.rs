//! `CREATE EXTERNAL TABLE log STORED AS HDF5 LOCATION 'runs/*.h5' OPTIONS (path '/log')`.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory};
use datafusion::common::not_impl_err;
use datafusion::error::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::CreateExternalTable;

use crate::error::{external, usage};
use crate::table::{FileTable, TableOptions};

/// The words after `STORED AS`. The contents of a file decide its format, so all of them mean the same.
const WORDS: [&str; 7] = ["ANNDATA", "ASDF", "GSD", "HDF5", "NETCDF", "PYTABLES", "SCIFORMATS"];

/// The options of a table.
const OPTIONS: [&str; 5] = ["path", "file_column", "sorted", "piece_rows", "large"];

/// Creates tables of scientific files for statements of SQL.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileTableFactory;

/// Adds the words after `STORED AS` to a session.
pub fn with_formats(builder: SessionStateBuilder) -> SessionStateBuilder {
    WORDS.iter().fold(builder, |builder, word| {
        builder.with_table_factory((*word).to_owned(), Arc::new(FileTableFactory))
    })
}

#[async_trait]
impl TableProviderFactory for FileTableFactory {
    async fn create(&self, _: &dyn Session, command: &CreateExternalTable) -> Result<Arc<dyn TableProvider>> {
        let name = &command.name;
        if !command.schema.fields().is_empty() {
            return not_impl_err!("columns of {name}: those of the first file are used");
        }
        if !command.table_partition_cols.is_empty() {
            return not_impl_err!(
                "PARTITIONED BY of {name}: the option file_column names a column with the files"
            );
        }
        if !command.order_exprs.is_empty() {
            return not_impl_err!(
                "WITH ORDER of {name}: the option sorted names a column in ascending order"
            );
        }
        if command.unbounded || !command.constraints.is_empty() || !command.column_defaults.is_empty() {
            return not_impl_err!("unbounded tables, constraints and defaults of {name}");
        }
        let mut locations = command.locations.iter();
        let Some(first) = locations.next() else { return Err(usage("location", "is missing")) };
        let mut options =
            locations.fold(TableOptions::new(first), |options, more| options.with_location(more));
        for (key, value) in &command.options {
            let number = || {
                value
                    .parse::<u64>()
                    .map_err(|_| usage("options", format!("have {key} {value}, which is no number")))
            };
            options = match key.strip_prefix("format.").unwrap_or(key) {
                "path" => options.with_path(value),
                "file_column" => options.with_file_column(value),
                "sorted" => options.with_sorted(value),
                "piece_rows" => options.with_piece_rows(number()?),
                "large" => options.with_large(number()?),
                other => {
                    let known = OPTIONS.join(", ");
                    return Err(usage("options", format!("have {other}, but only {known} are known")));
                }
            };
        }
        let opened = tokio::task::spawn_blocking(move || FileTable::open(options)).await.map_err(external)?;
        Ok(Arc::new(opened?))
    }
}
