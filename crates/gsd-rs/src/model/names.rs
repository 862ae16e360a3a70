//! The names of a file: by position, as index entries refer to them, and sorted, for look-ups.

use std::cmp::Ordering;

use sciformats_core::fault::locate;
use sciformats_core::{Fault, FaultKind, ReadAt, Result};

use crate::spec::Header;
use crate::spec::name_list::{Encoding, UNIT};

/// The list of names. A name may occur more than once: old writers did that.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    location: u64,
    encoding: Encoding,
    /// The names one after another.
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
    /// Ids in the order of their names; equal names in the order of their ids.
    sorted: Vec<u16>,
}

impl Names {
    /// Reads the list that the header names.
    pub(crate) fn new(storage: &dyn ReadAt, header: &Header) -> Result<Self> {
        let fault = |kind| Fault::new("name list block", kind).at("header", Header::NAMES_OFFSET);
        let block = header.names;
        let size = block.allocated.checked_mul(UNIT).ok_or_else(|| fault(FaultKind::Overflow))?;
        let end = block.location.checked_add(size).ok_or_else(|| fault(FaultKind::Overflow))?;
        if end > storage.len() {
            return Err(fault(FaultKind::OutOfBounds { found: end, end: storage.len() }));
        }
        let size = sciformats_core::limits::within("bytes of names", size, u64::MAX)?;
        let stored = storage.read_at(block.location, size)?;
        let encoding = header.encoding();
        let list = locate("name list", block.location, &stored, |i| encoding.parse(i))?;

        let mut names = Self {
            location: block.location,
            encoding,
            bytes: Vec::new(),
            ends: Vec::with_capacity(list.len()),
            sorted: (0..=u16::MAX).take(list.len()).collect(),
        };
        for name in list {
            names.bytes.extend(name);
            names.ends.push(names.bytes.len());
        }
        let mut sorted = std::mem::take(&mut names.sorted);
        sorted.sort_unstable_by(|a, b| names.get(*a).cmp(&names.get(*b)).then(a.cmp(b)));
        names.sorted = sorted;
        Ok(names)
    }

    /// The number of names.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    fn start(&self, id: u16) -> usize {
        let before = usize::from(id).checked_sub(1).and_then(|i| self.ends.get(i));
        before.copied().unwrap_or(0)
    }

    /// The name at a position of the list.
    pub(crate) fn get(&self, id: u16) -> Option<&[u8]> {
        let end = *self.ends.get(usize::from(id))?;
        self.bytes.get(self.start(id)..end)
    }

    /// All names, by position.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let name = self.bytes.get(start..end).unwrap_or_default();
            start = end;
            name
        })
    }

    /// The byte offset of a name in the file.
    pub(crate) fn offset(&self, id: u16) -> u64 {
        let within = match self.encoding {
            Encoding::Slots => UNIT.saturating_mul(id.into()),
            Encoding::Packed => (self.start(id) as u64).saturating_add(id.into()),
        };
        self.location.saturating_add(within)
    }

    /// The ids whose name compares as `Equal`, given that `compare` follows the order of names.
    fn range(&self, compare: impl Fn(&[u8]) -> Ordering) -> &[u16] {
        let of = |id: &u16| self.get(*id).map_or(Ordering::Greater, &compare);
        let start = self.sorted.partition_point(|id| of(id) == Ordering::Less);
        let rest = self.sorted.get(start..).unwrap_or_default();
        rest.get(..rest.partition_point(|id| of(id) == Ordering::Equal)).unwrap_or_default()
    }

    /// The ids of a name.
    pub(crate) fn ids(&self, name: &[u8]) -> &[u16] {
        self.range(|other| other.cmp(name))
    }

    /// The ids of the names that begin with `prefix`, in the order of the names.
    pub(crate) fn with_prefix(&self, prefix: &[u8]) -> &[u16] {
        self.range(|other| match other.starts_with(prefix) {
            true => Ordering::Equal,
            false => other.cmp(prefix),
        })
    }
}
