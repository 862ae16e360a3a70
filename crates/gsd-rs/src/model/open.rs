//! Opening a file: the header, the end of the index and the names are read as one consistent state.

use std::io;

use sciformats_core::fault::locate;
use sciformats_core::{Error, Fault, FaultKind, ReadAt, Result, bound};

use super::index::Index;
use super::is_readable;
use super::names::Names;
use crate::spec::{Header, IndexEntry};

/// The state of a file at one point in time.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    pub(crate) header: Header,
    pub(crate) index: Index,
    pub(crate) names: Names,
    pub(crate) frames: u64,
}

impl Opened {
    /// Returns a guess of where the entries of a frame are. It is exact if all frames have the same number of chunks.
    pub(crate) fn near(&self, frame: u64) -> u64 {
        // A search can begin at any number, so a sum or product that stops at its bound does no harm.
        let product = bound::product(u128::from(self.index.used), frame.into());
        let near = product.checked_div(self.frames.into()).and_then(|near| u64::try_from(near).ok());
        near.unwrap_or_default() // a bound
    }

    /// Checks that something can be appended without changing what is there: no block is written that is part of another one, and
    /// no new name is that of an old entry, whose name is lost.
    pub(crate) fn check_appendable(&self, storage: &dyn ReadAt) -> Result<()> {
        self.header.check_apart()?;
        let Some(last) = self.index.used.checked_sub(1) else { return Ok(()) };
        let entry = self.index.entry(storage, last)?;
        if usize::from(entry.id) >= self.names.len() {
            let at = bound::sum(self.index.offset(last)?, IndexEntry::ID_OFFSET);
            let kind = FaultKind::OutOfBounds { found: entry.id.into(), end: self.names.len() as u64 };
            return Err(Fault::new("id", kind).at("index entry", at));
        }
        Ok(())
    }
}

/// The number of times that the state is read again because a writer changed it in the meantime.
const ATTEMPTS: usize = 100;

/// Reads the state of a file to which another process may be appending.
///
/// A writer of this library fills the index only after the end that the header declares, and then moves this end. The number of
/// entries is therefore right if counting gives the same result before and after the header is read, and if the header did not
/// change. If the first count had included entries of an unfinished commit, the second count would have found more.
pub(crate) fn open(storage: &dyn ReadAt) -> Result<Opened> {
    let mut header = read_header(storage)?;
    let mut index = Index::new(storage, &header)?;
    for _ in 0..ATTEMPTS {
        let next_header = read_header(storage)?;
        let next_index = Index::new(storage, &next_header)?;
        if (&header, &index) == (&next_header, &next_index) {
            let names = Names::new(storage, &header)?;
            let frames = index.frames(storage)?;
            return Ok(Opened { header, index, names, frames });
        }
        (header, index) = (next_header, next_index);
    }
    Err(Error::io("read a file that changes all the time", io::ErrorKind::ResourceBusy.into()))
}

fn read_header(storage: &dyn ReadAt) -> Result<Header> {
    let size = storage.size().min(Header::SIZE as u64);
    let bytes = storage.read_at(0, usize::try_from(size).unwrap_or(Header::SIZE))?;
    if !Header::begins(&bytes) {
        return Err(Error::not_this_format("GSD", storage));
    }
    let header = locate("header", 0, &bytes, Header::parse)?;
    if is_readable(header.version) {
        return Ok(header);
    }
    Err(Error::unsupported_at(format!("GSD file layer {}", header.version), Header::VERSION_OFFSET))
}
