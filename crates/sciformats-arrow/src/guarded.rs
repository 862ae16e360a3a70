//! Streams of record batches that come from other libraries.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once};

use arrow_array::{BooleanArray, RecordBatch, RecordBatchReader};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{ArrowError, SchemaRef};
use sciformats_conventions::sciformats::{Error, Result};

use crate::Options;
use crate::csv::of_arrow;

/// A stream of record batches of any origin.
pub type Reader = Box<dyn RecordBatchReader + Send>;

thread_local! {
    /// Whether this thread calls a library whose panics are errors about a file.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Calls a library that may not expect every damage; a panic in it is an error about the file, and is not printed.
pub(crate) fn guarded<T>(what: &'static str, call: impl FnOnce() -> Result<T>) -> Result<T> {
    // A panic is printed before it can be caught, so the hook of the process is wrapped, once. It only leaves out panics of threads
    // that are in such a call.
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !GUARDED.get() {
                before(panic);
            }
        }));
    });
    let outer = GUARDED.replace(true);
    let found = catch_unwind(AssertUnwindSafe(call));
    GUARDED.set(outer);
    found.unwrap_or_else(|_| Err(damaged(what)))
}

/// The error for a file that its library cannot read.
pub(crate) fn damaged(what: &'static str) -> Error {
    use sciformats_core::{Fault, FaultKind};
    Fault::from(FaultKind::Rule("contradicts itself")).at(what, 0)
}

/// Returns the error of a library that reads files of a format: one about the file, unless the library says that it lacks something.
pub(crate) fn of_reading(what: &'static str, error: ArrowError) -> Error {
    match error {
        ArrowError::ExternalError(_) | ArrowError::NotYetImplemented(_) => of_arrow(error),
        ArrowError::IoError(_, source) => of_io(what, source),
        other => of_text(what, &other.to_string()),
    }
}

/// As [`of_reading`], for an error of reading the bytes.
pub(crate) fn of_io(what: &'static str, source: std::io::Error) -> Error {
    use sciformats_core::{Fault, FaultKind};
    match source.kind() {
        std::io::ErrorKind::UnexpectedEof => Fault::from(FaultKind::Truncated).at(what, 0),
        _ => Error::io("read", source),
    }
}

/// As [`of_reading`], for what the library says of a file.
pub(crate) fn of_text(what: &'static str, text: &str) -> Error {
    use sciformats_core::{Fault, FaultKind};
    /// What a library says of a file that it would read if it were another version, or built otherwise.
    const LACKS: [&str; 5] = ["nyi", "not yet implemented", "not implemented", "support", "feature"];
    let small = text.to_lowercase();
    if LACKS.iter().any(|word| small.contains(word)) {
        return Error::unsupported(text.to_owned());
    }
    let encoding = ["utf-8", "utf8"].iter().any(|word| small.contains(word));
    let kind = if encoding { FaultKind::Encoding } else { FaultKind::Rule("contradicts itself") };
    Fault::from(kind).at(what, 0)
}

/// The part of a stream that options select.
pub(crate) struct Part<R> {
    from: R,
    what: &'static str,
    schema: SchemaRef,
    /// The places of the columns that are kept.
    places: Vec<usize>,
    options: Options,
    /// The places of the columns of the conditions.
    tests: Vec<usize>,
    /// The number of rows that were read.
    at: u64,
    left: u64,
    over: bool,
}

impl<R: RecordBatchReader> Part<R> {
    /// Selects a part; `what` names the format of the stream.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if there is no such column.
    pub(crate) fn new(from: R, what: &'static str, options: &Options) -> Result<Self> {
        let whole = from.schema();
        let place = |name: &String| {
            whole.fields().iter().position(|field| field.name() == name).ok_or_else(|| {
                let known = whole.fields().iter().map(|field| field.name().as_str());
                Error::not_found("column", name.as_str()).with_nearest(known)
            })
        };
        let places = match &options.columns {
            None => (0..whole.fields().len()).collect(),
            Some(names) => names.iter().map(place).collect::<Result<Vec<_>>>()?,
        };
        let tests = options.filter.iter().map(|test| place(&test.column)).collect::<Result<Vec<_>>>()?;
        let schema = Arc::new(whole.project(&places).map_err(of_arrow)?);
        let left = options.limit.unwrap_or(u64::MAX);
        Ok(Self { from, what, schema, places, options: options.clone(), tests, at: 0, left, over: false })
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if self.left == 0 {
                return Ok(None);
            }
            let Some(mut batch) = guarded(self.what, || {
                let batch = self.from.next().transpose();
                batch.map_err(|error| of_reading(self.what, error))
            })?
            else {
                return Ok(None);
            };
            if let Some(rows) = &self.options.rows {
                let (first, count) = (self.at, batch.num_rows() as u64);
                self.at = first.saturating_add(count); // a bound
                let start = rows.start.clamp(first, self.at);
                let end = rows.end.clamp(start, self.at);
                let place = |row: u64| usize::try_from(row.saturating_sub(first)).unwrap_or(usize::MAX);
                batch = batch.slice(place(start), place(end).saturating_sub(place(start)));
                if first >= rows.end {
                    return Ok(None);
                }
            }
            let mut mask: Option<BooleanBuffer> = None;
            for (test, place) in self.options.filter.iter().zip(&self.tests) {
                // A batch lists the categories as they come, whatever their order is.
                let found = test.mask(batch.column(*place).as_ref(), false)?;
                mask = Some(match mask {
                    Some(mask) => &mask & &found,
                    None => found,
                });
            }
            let mut batch = batch.project(&self.places).map_err(of_arrow)?;
            if let Some(mask) = mask {
                let mask = BooleanArray::new(mask, None);
                batch = arrow_select::filter::filter_record_batch(&batch, &mask).map_err(of_arrow)?;
            }
            let kept = (batch.num_rows() as u64).min(self.left);
            self.left -= kept;
            if kept > 0 {
                let kept = usize::try_from(kept).unwrap_or(usize::MAX);
                return RecordBatch::try_new_with_options(
                    Arc::clone(&self.schema),
                    batch.slice(0, kept).columns().to_vec(),
                    &arrow_array::RecordBatchOptions::new().with_row_count(Some(kept)),
                )
                .map(Some)
                .map_err(of_arrow);
            }
        }
    }
}

impl<R: RecordBatchReader> Iterator for Part<R> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let batch = self.batch();
        self.over = !matches!(batch, Ok(Some(_)));
        batch.map_err(|error| ArrowError::ExternalError(Box::new(error))).transpose()
    }
}

impl<R: RecordBatchReader> RecordBatchReader for Part<R> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
