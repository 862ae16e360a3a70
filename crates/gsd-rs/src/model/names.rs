//! The names of a file, both by position, as index entries refer to them, and sorted for look-ups.

use std::cmp::Ordering;

use sciformats_core::arith::{add, fit, mul, sub, sum};
use sciformats_core::commit::Write;
use sciformats_core::fault::locate;
use sciformats_core::{Error, Fault, FaultKind, ReadAt, Result, bound};

use crate::spec::name_list::{Encoding, SLOT_TEXT, UNIT};
use crate::spec::{Block, Header};

/// The list of names. Old writers stored some names more than once.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    location: u64,
    encoding: Encoding,
    /// All names, one after another.
    bytes: Vec<u8>,
    /// The end of each name in `bytes`.
    ends: Vec<usize>,
    /// Ids sorted by name. Equal names are sorted by id.
    sorted: Vec<u16>,
    /// The number of names that are stored in the block.
    stored: usize,
    /// The end of the bytes in the block that are not zero. If they go on behind the list, they may be anything, and stay.
    soiled: u64,
}

/// The largest number of names that is written, because some readers use the id 65535 for "there is no such name".
const MAX_WRITTEN: usize = 65535;

impl Names {
    /// Reads the list to which the header refers.
    pub(crate) fn new(storage: &dyn ReadAt, header: &Header) -> Result<Self> {
        let fault = |kind| Fault::new("name list block", kind).at("header", Header::NAMES_OFFSET);
        let block = header.names;
        let size = block.allocated.checked_mul(UNIT).ok_or_else(|| fault(FaultKind::Overflow))?;
        let end = block.location.checked_add(size).ok_or_else(|| fault(FaultKind::Overflow))?;
        if end > storage.size() {
            return Err(fault(FaultKind::OutOfBounds { found: end, end: storage.size() }));
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
            stored: list.len(),
            soiled: stored.iter().rposition(|&byte| byte != 0).map_or(0, |last| bound::sum(last as u64, 1)),
        };
        for name in list {
            names.bytes.extend(name);
            names.ends.push(names.bytes.len());
        }
        let mut sorted = std::mem::take(&mut names.sorted);
        sciformats_core::order::sort_by(&mut sorted, |a, b| names.get(*a).cmp(&names.get(*b)).then(a.cmp(b)));
        names.sorted = sorted;
        Ok(names)
    }

    /// Returns an empty list in a block of zeros, in the encoding of the current layer.
    pub(crate) fn empty(block: Block) -> Self {
        Self {
            location: block.location,
            encoding: Encoding::Packed,
            bytes: Vec::new(),
            ends: Vec::new(),
            sorted: Vec::new(),
            stored: 0,
            soiled: 0,
        }
    }

    /// Returns the number of names.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns where the bytes of a name start. The name after the last one starts where all names end.
    fn start(&self, index: usize) -> usize {
        index.checked_sub(1).map_or(0, |before| self.ends.get(before).copied().unwrap_or(self.bytes.len()))
    }

    /// Returns the name at a position of the list.
    pub(crate) fn get(&self, id: u16) -> Option<&[u8]> {
        let end = *self.ends.get(usize::from(id))?;
        self.bytes.get(self.start(id.into())..end)
    }

    /// Returns all names in the order of their positions.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let name = self.bytes.get(start..end).unwrap_or_default();
            start = end;
            name
        })
    }

    /// Returns the offset in the file of the name at a position of the list. The position after the last name returns the end of
    /// the list.
    pub(crate) fn offset(&self, index: usize) -> u64 {
        let index_of_64 = index as u64;
        let within = match self.encoding {
            Encoding::Slots => bound::product(UNIT, index_of_64),
            Encoding::Packed => bound::sum(self.start(index) as u64, index_of_64),
        };
        // The block is or will be inside the storage, so no sum reaches its bound.
        bound::sum(self.location, within)
    }

    /// Returns the ids of the names for which `compare` returns `Equal`. `compare` must follow the order of names.
    fn range(&self, compare: impl Fn(&[u8]) -> Ordering) -> &[u16] {
        let of = |id: &u16| self.get(*id).map_or(Ordering::Greater, &compare);
        let start = self.sorted.partition_point(|id| of(id) == Ordering::Less);
        let rest = self.sorted.get(start..).unwrap_or_default();
        rest.get(..rest.partition_point(|id| of(id) == Ordering::Equal)).unwrap_or_default()
    }

    /// Returns the ids of a name.
    pub(crate) fn ids(&self, name: &[u8]) -> &[u16] {
        self.range(|other| other.cmp(name))
    }

    /// Returns the ids of the names that begin with `prefix`, in the order of the names.
    pub(crate) fn with_prefix(&self, prefix: &[u8]) -> &[u16] {
        self.range(|other| match other.starts_with(prefix) {
            true => Ordering::Equal,
            false => other.cmp(prefix),
        })
    }

    /// Returns the same names in the other encoding. None of them is stored yet.
    pub(crate) fn repacked(&self, encoding: Encoding) -> Self {
        Self { encoding, stored: 0, ..self.clone() }
    }

    /// Returns the id of a name. A new name is added to the list.
    pub(crate) fn intern(&mut self, name: &str) -> Result<u16> {
        if let Some(&id) = self.ids(name.as_bytes()).first() {
            return Ok(id);
        }
        self.check(name)?;
        let limit = || Error::limit_exceeded("names", bound::sum(self.len() as u64, 1), MAX_WRITTEN as u64);
        let id = u16::try_from(self.len()).ok().filter(|_| self.len() < MAX_WRITTEN).ok_or_else(limit)?;
        let place = self.sorted.partition_point(|&other| self.get(other) < Some(name.as_bytes()));
        self.bytes.extend(name.as_bytes());
        self.ends.push(self.bytes.len());
        self.sorted.insert(place, id);
        Ok(id)
    }

    fn check(&self, name: &str) -> Result<()> {
        let problem = if name.is_empty() {
            "is empty".into()
        } else if name.contains('\0') {
            format!("{name:?} contains a NUL")
        } else if self.encoding == Encoding::Slots && name.len() > SLOT_TEXT {
            format!("{name:?} has {} bytes, but layers before 2.0 store at most {SLOT_TEXT}", name.len())
        } else {
            return Ok(());
        };
        Err(Error::usage("chunk name", problem))
    }

    /// Plans to store the names that are not stored yet. They are written after the stored names, or if the block has no space
    /// for them, or other bytes than zeros there, all names are written to another block at `fresh`. Also returns the block to which
    /// the header must then refer.
    pub(crate) fn plan(&self, block: Block, fresh: u64) -> Result<(Option<Write<'static>>, Block)> {
        if self.stored == self.len() {
            return Ok((None, block));
        }
        let start = self.offset(self.stored);
        let mut bytes = self.encoded(self.stored)?;
        let end = sum([start, bytes.len() as u64, self.end_mark()?])?;
        let is_full = end > add(block.location, mul(block.allocated, UNIT)?)?;
        if is_full || add(block.location, self.soiled)? > start {
            let (step, block) = self.plan_block(block.allocated, fresh)?;
            return Ok((Some(step), block));
        }
        bytes.resize(fit(sub(end, start)?, "bytes of names")?, 0);
        Ok((Some(Write::new(start, bytes)), block))
    }

    /// Plans a block at `fresh` that has at least `allocated` units and contains all names.
    pub(crate) fn plan_block(&self, allocated: u64, fresh: u64) -> Result<(Write<'static>, Block)> {
        let mut bytes = self.encoded(0)?;
        let needed = add(bytes.len() as u64, self.end_mark()?)?;
        let mut allocated = allocated.max(1);
        while bound::product(allocated, UNIT) < needed {
            allocated = mul(allocated, 2)?;
        }
        bytes.resize(fit(mul(allocated, UNIT)?, "bytes of names")?, 0);
        Ok((Write::new(fresh, bytes), Block { location: fresh, allocated }))
    }

    fn end_mark(&self) -> Result<u64> {
        Ok(self.encoding.size(&[])? as u64)
    }

    /// Returns the encoded names, beginning with the id `first`.
    fn encoded(&self, first: usize) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.iter().skip(first).try_for_each(|name| self.encoding.encode(name, &mut out))?;
        Ok(out)
    }

    /// Records that all names are now stored in `block`.
    pub(crate) fn store(&mut self, block: Block) {
        if block.location != self.location {
            (self.location, self.soiled) = (block.location, 0);
        }
        self.stored = self.len();
        self.soiled = self.soiled.max(bound::left(self.offset(self.len()), block.location));
    }
}
