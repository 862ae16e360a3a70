//! The source of the values of a frame, and their destination: inheritance and defaults in both directions.

use std::any::Any;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use sciformats_core::arith::{mul, present};
use sciformats_core::{Error, Fault, FaultKind, ReadAt, Result, WriteAt, bound, limits};

use super::List;
use super::values::{Values, read_texts, write_texts};
use crate::{Chunk, Reader, Writer};

/// The shape of a property, and its value if it is not stored.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) columns: u32,
    /// The default of a row. A single value stands for all columns.
    pub(crate) default: &'static [f64],
}

impl Shape {
    pub(crate) fn row(&self) -> Vec<f64> {
        let columns = bound::addressable(self.columns.into());
        self.default.iter().copied().cycle().take(columns).collect()
    }
}

/// The memory that a frame may use: the length of the file plus the limit. The length alone would not do, because chunks of a
/// damaged file may overlap, and defaults and inherited values are not stored at all.
pub(crate) struct Budget {
    limit: u64,
    spent: Cell<u64>,
}

impl Budget {
    pub(crate) fn new(reader: &Reader) -> Self {
        let limit = reader.options().limits.memory;
        let limit = bound::sum(limit, reader.file_size());
        Self { limit, spent: Cell::new(0) }
    }

    pub(crate) fn spend(&self, what: &'static str, bytes: u64) -> Result<()> {
        self.spent.set(bound::sum(self.spent.get(), bytes));
        limits::within(what, self.spent.get(), self.limit).map(drop)
    }

    /// Counts a chunk if its size is known. Otherwise, reading it will fail with the reason.
    pub(crate) fn spend_chunk(&self, chunk: &Chunk<'_>) -> Result<()> {
        self.spend("bytes of chunks", chunk.size().map_or(self.limit, |size| size.min(self.limit)))
    }
}

/// A frame of a file.
pub(crate) struct Source<'a> {
    pub(crate) reader: &'a Reader,
    pub(crate) frame: u64,
    pub(crate) budget: Budget,
    pub(crate) cache: Option<&'a Cache>,
}

/// Inherited values, which successive frames share. For each chunk there is one value, for the number of particles that was
/// requested last.
#[derive(Default)]
pub(crate) struct Cache(Mutex<HashMap<String, Kept>>);

struct Kept {
    n: u32,
    value: Box<dyn Any + Send>,
}

impl Cache {
    fn get<V: Values>(&self, name: &str, n: u32) -> Option<V> {
        let cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = cache.get(name).filter(|kept| kept.n == n)?;
        kept.value.downcast_ref::<V>().cloned()
    }

    fn put<V: Values>(&self, name: &str, n: u32, value: &V) {
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cache.insert(name.to_owned(), Kept { n, value: Box::new(value.clone()) });
    }
}

impl<'a> Source<'a> {
    pub(crate) fn new(reader: &'a Reader, frame: u64) -> Self {
        Self { reader, frame, budget: Budget::new(reader), cache: None }
    }

    /// Returns the chunk that contains the value: that of this frame, or if it has none, that of frame 0.
    pub(crate) fn chunk(&self, name: &str) -> Result<Option<Chunk<'a>>> {
        match self.reader.find(self.frame, name)? {
            None if self.frame > 0 => self.reader.find(0, name),
            found => Ok(found),
        }
    }

    /// Returns a list with one row per particle or bond; `n` is their number.
    pub(crate) fn rows<V: Values>(&self, name: &str, shape: Shape, n: u32) -> Result<V> {
        if let Some(chunk) = self.reader.find(self.frame, name)? {
            return self.stored(&chunk, shape, n);
        }
        if let Some(value) = self.cache.and_then(|cache| cache.get(name, n)) {
            return Ok(value);
        }
        // A value of frame 0 is not inherited if it is for another number of particles.
        let value = match self.reader.find(0, name)?.filter(|chunk| chunk.n == u64::from(n)) {
            Some(chunk) => self.stored(&chunk, shape, n)?,
            None => {
                let bytes = bound::product(bound::product(u64::from(n), u64::from(shape.columns)), V::SIZE);
                self.budget.spend("bytes of default values", bytes)?;
                V::filled(&shape.row(), bound::addressable(n.into()))
            }
        };
        if let Some(cache) = self.cache {
            cache.put(name, n, &value);
        }
        Ok(value)
    }

    fn stored<V: Values>(&self, chunk: &Chunk<'_>, shape: Shape, n: u32) -> Result<V> {
        expect(chunk, n.into(), shape.columns)?;
        self.budget.spend_chunk(chunk)?;
        V::read(self.reader, chunk)
    }

    /// Returns a value that does not depend on the number of particles: one row, or a column of `shape.columns` rows.
    pub(crate) fn fixed<V: Values>(&self, name: &str, shape: Shape) -> Result<V> {
        let Some(chunk) = self.chunk(name)? else { return Ok(V::filled(&shape.row(), 1)) };
        if chunk.elements() != Some(shape.columns.into()) {
            expect(&chunk, shape.columns.into(), 1)?;
        }
        V::read(self.reader, &chunk)
    }

    /// Returns a list of texts.
    pub(crate) fn texts(&self, name: &str, default: &[&str]) -> Result<Vec<String>> {
        match self.chunk(name)? {
            Some(chunk) => {
                // Each text is a separate allocation, even if it is short.
                let overhead = bound::product(chunk.n, size_of::<String>() as u64);
                self.budget.spend("bytes of texts", overhead)?;
                self.budget.spend_chunk(&chunk)?;
                read_texts(self.reader, &chunk)
            }
            None => Ok(default.iter().map(|&text| text.to_owned()).collect()),
        }
    }

    /// Returns the number of particles or bonds.
    pub(crate) fn count(&self, name: &str) -> Result<u32> {
        present(self.fixed::<List<u32>>(name, COUNT)?.first().copied(), "value of a count")
    }
}

const COUNT: Shape = Shape { columns: 1, default: &[0.0] };

/// Checks that a chunk has this many rows and columns.
///
/// # Errors
/// `Malformed` at its index entry.
pub(crate) fn expect(chunk: &Chunk<'_>, n: u64, m: u32) -> Result<()> {
    let fault = |field, expected, found, offset| {
        let kind = FaultKind::Mismatch { expected, found };
        Err(Fault::new(field, kind).at("index entry", bound::sum(chunk.entry, offset)))
    };
    match (chunk.n == n, chunk.m == m) {
        (true, true) => Ok(()),
        (false, _) => fault("N", n, chunk.n, 8),
        (_, false) => fault("M", m.into(), chunk.m.into(), 24),
    }
}

/// Frame 0 of the file that is being written, from which the other frames inherit.
pub(crate) struct Initial {
    /// A file in memory that contains only this frame.
    pub(crate) reader: Reader,
    pub(crate) cache: Cache,
}

/// The frame that is being written. A value is stored if a reader would not find the same value without it.
pub(crate) struct Sink<'a, S: ReadAt + WriteAt> {
    pub(crate) writer: &'a mut Writer<S>,
    /// Frame 0, or `None` while frame 0 is written.
    pub(crate) initial: Option<&'a Initial>,
    /// The number of chunks that were stored.
    pub(crate) stored: usize,
}

impl<S: ReadAt + WriteAt> Sink<'_, S> {
    /// Returns the source of what this frame does not store. A frame after the last one inherits everything.
    fn source(&self) -> Option<Source<'_>> {
        self.initial
            .map(|Initial { reader, cache }| Source { cache: Some(cache), ..Source::new(reader, u64::MAX) })
    }

    /// Stores a list with one row for each of `n` particles or bonds, unless it is inherited.
    pub(crate) fn rows<V: Values>(&mut self, name: &str, shape: Shape, n: u32, values: &V) -> Result<()> {
        let expected = mul(u64::from(n), shape.columns.into())?;
        if values.count() as u64 != expected {
            let problem =
                format!("of {name} are {} in number, expected {n} rows of {}", values.count(), shape.columns);
            return Err(Error::usage("values", problem));
        }
        let inherited = match self.source() {
            Some(source) => source.rows::<V>(name, shape, n)?,
            None => V::filled(&shape.row(), bound::addressable(n.into())),
        };
        self.store(values.same(&inherited), |writer| values.write(writer, name, shape.columns))
    }

    /// Stores a value that does not depend on the number of particles, as a column.
    pub(crate) fn fixed<V: Values>(&mut self, name: &str, shape: Shape, value: &V) -> Result<()> {
        if value.count() as u64 != u64::from(shape.columns) {
            let problem = format!("of {name} are {} in number, expected {}", value.count(), shape.columns);
            return Err(Error::usage("values", problem));
        }
        let inherited = match self.source() {
            Some(source) => source.fixed::<V>(name, shape)?,
            None => V::filled(&shape.row(), 1),
        };
        self.store(value.same(&inherited), |writer| value.write(writer, name, 1))
    }

    /// Stores a list of texts.
    pub(crate) fn texts(&mut self, name: &str, default: &[&str], texts: &[String]) -> Result<()> {
        let same = match self.source() {
            Some(source) => source.texts(name, default)? == texts,
            None => default.iter().eq(texts),
        };
        self.store(same, |writer| write_texts(writer, name, texts))
    }

    /// Stores a number of particles or bonds.
    pub(crate) fn count(&mut self, name: &str, n: u32) -> Result<()> {
        self.fixed(name, COUNT, &List::from(vec![n]))
    }

    pub(crate) fn store(
        &mut self,
        inherited: bool,
        write: impl FnOnce(&mut Writer<S>) -> Result<()>,
    ) -> Result<()> {
        if !inherited {
            write(self.writer)?;
            self.stored = bound::sum(self.stored, 1);
        }
        Ok(())
    }
}
