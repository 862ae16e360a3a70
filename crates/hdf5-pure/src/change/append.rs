//! A file that is written while other processes read it (SWMR).
//!
//! The superblock is marked for as long as this lasts. There is no journal. Instead, writes are ordered so that readers
//! understand the file after each of them: data is complete before anything refers to it.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sciformats_core::arith::{add, sub};
use sciformats_core::storage::Durability;
use sciformats_core::{Error, ReadAt, Result, Slab, WriteAt, bound};

use crate::change::tree::clock;
use crate::chunk::index::Bounds;
use crate::dataset::append::{self, Series};
use crate::dataset::load;
use crate::file::open::Opened;
use crate::file::options::OpenOptions;
use crate::file::session::recover;
use crate::object::header::Object;
use crate::space::output::{Output, SIZES, Storage, Target};
use crate::spec::Address;
use crate::spec::message::MessageType;
use crate::spec::superblock::{Rest, Superblock};

/// The flag of a file that is open for writing, and the flag of one that SWMR readers may open meanwhile.
const WRITTEN: u32 = 1;
const FOLLOWED: u32 = 4;
/// The strategy that allocates space in pages.
const PAGED: u8 = 1;

/// The file.
pub(crate) struct LiveFile {
    pub(crate) output: Output,
    storage: Shared,
    superblock: Superblock,
    /// The file in the state in which it was opened, for objects that do not change.
    pub(crate) opened: Opened,
    series: Vec<(Address, Series)>,
    closed: bool,
}

impl LiveFile {
    /// Opens the file and marks it. If `take_over` is set, marks that a killed writer left behind are ignored.
    ///
    /// # Errors
    /// Returns `Io` or `Malformed`, [`Error::Usage`] if another program is writing the file, and `Unsupported` for
    /// files that readers could not follow.
    pub(crate) fn over(
        mut storage: Box<dyn Storage>,
        options: &OpenOptions,
        take_over: bool,
    ) -> Result<Self> {
        recover(&mut *storage)?;
        let storage = Shared(Arc::new(Mutex::new(storage)));
        let opened = Opened::of(Arc::new(storage.clone()), None, options)?;
        let superblock = opened.superblock.clone();
        if superblock.version < 3 || superblock.sizes != SIZES {
            return Err(Error::unsupported(
                "SWMR writing to a file without a superblock of version 3, or with addresses of other than 8 bytes",
            ));
        }
        if superblock.consistency_flags & (WRITTEN | FOLLOWED) != 0 && !take_over {
            return Err(Error::usage(
                "file",
                "is marked as open for writing: another program is writing it, or its writer was killed",
            ));
        }
        check(&opened)?;
        let base = opened.context.base;
        let stored = bound::left(superblock.end_of_file, superblock.base);
        let end = stored.max(bound::left(storage.size(), base));
        let target = Target::Other(Box::new(storage.clone()));
        let output = Output::behind(target, base, end);
        let mut live = Self { output, storage, superblock, opened, series: Vec::new(), closed: true };
        live.mark(WRITTEN | FOLLOWED)?;
        live.closed = false;
        Ok(live)
    }

    /// Writes the superblock with these flags and the end of the allocated space.
    fn mark(&mut self, flags: u32) -> Result<()> {
        self.superblock.consistency_flags = flags;
        self.superblock.end_of_file = add(self.superblock.base, self.output.end())?;
        let mut bytes = Vec::new();
        self.superblock.encode(&mut bytes)?;
        self.output.write_part(Address(0), &bytes)?;
        self.output.flush()
    }

    /// Opens the dataset with this header, and returns the number that stands for it.
    pub(crate) fn series(&mut self, address: Address) -> Result<usize> {
        if let Some(known) = self.series.iter().position(|(at, _)| *at == address) {
            return Ok(known);
        }
        let series = Series::open(&self.opened, address, &mut self.output)?;
        self.series.push((address, series));
        sub(self.series.len(), 1)
    }

    pub(crate) fn get(&self, number: usize) -> Result<&Series> {
        self.series.get(number).map(|(_, series)| series).ok_or_else(unknown)
    }

    /// Enlarges a dataset to `shape`.
    pub(crate) fn grow(&mut self, number: usize, shape: &[u64]) -> Result<()> {
        let (_, series) = self.series.get_mut(number).ok_or_else(unknown)?;
        if series.dataset.shape().iter().zip(shape).any(|(old, new)| new < old) {
            return Err(Error::unsupported("shrinking a dataset during SWMR writing"));
        }
        series.dataset.resize(&mut self.output, &self.opened.options.registry, shape)
    }

    /// Gives a dataset the smaller `shape` that it had before elements could not be appended. Readers have not seen the larger one.
    pub(crate) fn take_back(&mut self, number: usize, shape: &[u64]) -> Result<()> {
        let (_, series) = self.series.get_mut(number).ok_or_else(unknown)?;
        series.dataset.take_back(&mut self.output, &self.opened.options.registry, shape);
        Ok(())
    }

    /// Writes elements.
    pub(crate) fn write(&mut self, number: usize, slab: &Slab, bytes: &[u8]) -> Result<()> {
        let (address, series) = self.series.get_mut(number).ok_or_else(unknown)?;
        let (storage, options) = (&self.storage, &self.opened.options);
        let fetch = |bounds: &Bounds| {
            let now = Opened::of(Arc::new(storage.clone()), None, options)?;
            let content = append::content(&now, *address)?;
            load::chunks(&now.context, &content, bounds)
        };
        series.write(&mut self.output, &self.opened.options.registry, (slab, bytes), &fetch)
    }

    /// Makes everything that was written visible to readers.
    ///
    /// # Errors
    /// Returns [`Error::Conflict`] if another program has replaced, truncated or extended the file, and `Io`. Readers
    /// then see the previous state, or some of the new elements, and the next flush goes on where this one ended.
    pub(crate) fn flush(&mut self, durability: Durability) -> Result<()> {
        self.storage.check_unchanged()?;
        if !self.series.iter().any(|(_, series)| series.is_changed()) {
            self.output.flush()?;
            return self.sync(durability);
        }
        self.series.iter_mut().for_each(|(_, series)| series.begin());
        for (_, series) in &mut self.series {
            series.store(&mut self.output, &self.opened.options.registry)?;
        }
        self.output.flush()?;
        self.sync(durability)?;
        for (_, series) in &mut self.series {
            series.index(&mut self.output)?;
        }
        self.output.flush()?;
        self.output.extend()?;
        self.mark(WRITTEN | FOLLOWED)?;
        self.sync(durability)?;
        for (_, series) in &mut self.series {
            series.publish(&mut self.output, &clock)?;
        }
        self.output.flush()?;
        self.sync(durability)?;
        self.series.iter_mut().for_each(|(_, series)| series.end());
        Ok(())
    }

    fn sync(&mut self, durability: Durability) -> Result<()> {
        if durability == Durability::Power { self.storage.sync() } else { Ok(()) }
    }

    /// Flushes, and removes the marks.
    pub(crate) fn close(&mut self, durability: Durability) -> Result<()> {
        if std::mem::replace(&mut self.closed, true) {
            return Ok(());
        }
        self.flush(durability)?;
        self.mark(0)?;
        self.sync(durability)
    }
}

/// Fails for files in which new space does not simply come at the end, or whose bytes are not what readers see.
fn check(opened: &Opened) -> Result<()> {
    let no = |what: &str| Err(Error::unsupported(format!("SWMR writing to a file {what}")));
    if opened.file_space.as_ref().is_some_and(|info| info.strategy == PAGED || info.persist) {
        return no("whose space is allocated in pages, or whose free space is tracked");
    }
    let Rest::New { extension: Some(extension), .. } = opened.superblock.rest else { return Ok(()) };
    let object = Object::read(&opened.context, extension)?;
    if object.find(MessageType::DriverInfo).is_some() || object.find(MessageType::CacheImage).is_some() {
        return no("that has several parts or a metadata cache image");
    }
    Ok(())
}

fn unknown() -> Error {
    Error::usage("dataset", "was not opened by this writer")
}

/// A storage that this writer and its [`Opened`] share.
#[derive(Clone)]
struct Shared(Arc<Mutex<Box<dyn Storage>>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Box<dyn Storage>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReadAt for Shared {
    fn size(&self) -> u64 {
        self.lock().size()
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        Ok(Cow::Owned(self.lock().read_at(offset, len)?.into_owned()))
    }
}

impl WriteAt for Shared {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.lock().write_at(offset, bytes)
    }

    fn set_size(&mut self, size: u64) -> Result<()> {
        self.lock().set_size(size)
    }

    fn sync(&mut self) -> Result<()> {
        self.lock().sync()
    }

    fn check_unchanged(&self) -> Result<()> {
        self.lock().check_unchanged()
    }
}
