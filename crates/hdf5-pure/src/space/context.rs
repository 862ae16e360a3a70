//! What every reader of a file's structures needs: the bytes, the sizes of addresses and lengths, and the limits.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, RwLock};

use sciformats_core::fault::{Fault, FaultKind, Parsed, locate};
use sciformats_core::storage::{self, Purpose};
use sciformats_core::{Error, Limits, ReadAt, Result, bound};

use crate::filter::Registry;
use crate::space::hash::Seed;
use crate::spec::btree_v1::BtreeK;
use crate::spec::message::filter_pipeline::Pipeline;
use crate::spec::shared_table::SharedIndex;
use crate::spec::{Address, Sizes};

/// A map by address.
pub(crate) type AddressMap<T> = HashMap<Address, T, Seed>;

/// A set of addresses, hashed as in [`AddressMap`].
pub(crate) type AddressSet = HashSet<Address, Seed>;

/// An open file, below the level of objects.
pub(crate) struct Context {
    pub(crate) storage: Arc<dyn ReadAt>,
    /// The offset to which addresses are relative.
    pub(crate) base: u64,
    pub(crate) sizes: Sizes,
    /// Half the entries of nodes of version 1 B-trees.
    pub(crate) btree_k: BtreeK,
    pub(crate) limits: Limits,
    pub(crate) registry: Registry,
    /// The indexes of shared messages.
    pub(crate) shared: Vec<SharedIndex>,
    /// The blocks of fractal heaps whose checksums were verified. Without this set, every lookup of a name in a large
    /// group would verify a block again.
    pub(crate) verified: RwLock<AddressSet>,
}

/// The number of bytes of which [`Context::read_some`] always has to find the first.
const SHORTEST: u64 = 16;

/// The longest structure that [`Context::expect`] fetches, in bytes.
const LONGEST_HINT: u64 = 16 << 10;

impl Context {
    /// Returns a context for the same file that can be kept for lookups. It has no shared messages.
    pub(crate) fn for_lookups(&self) -> Self {
        Self {
            storage: self.storage.clone(),
            registry: self.registry.clone(),
            shared: Vec::new(),
            verified: RwLock::default(),
            ..*self
        }
    }

    /// Returns the absolute offset of an address.
    pub(crate) fn offset(&self, at: Address) -> u64 {
        bound::sum(self.base, at.0)
    }

    /// Returns the number of bytes from `at` to the end of the file.
    pub(crate) fn available(&self, at: Address) -> u64 {
        self.base.checked_add(at.0).map_or(0, |offset| bound::left(self.storage.size(), offset))
    }

    /// Returns the `len` bytes of `structure` at `at`.
    pub(crate) fn read(&self, structure: &'static str, at: Address, len: u64) -> Result<Cow<'_, [u8]>> {
        let len = self.checked(structure, at, len)?;
        self.storage.read_at(self.offset(at), len)
    }

    /// Works like [`read`](Self::read), but uses `buffer` if the storage does not have the bytes in memory.
    pub(crate) fn read_with<'s>(
        &'s self,
        structure: &'static str,
        at: Address,
        len: u64,
        buffer: &'s mut Vec<u8>,
    ) -> Result<&'s [u8]> {
        let len = self.checked(structure, at, len)?;
        self.storage.read_with(self.offset(at), len, buffer)
    }

    /// Works like [`read`](Self::read), and fills `out`.
    pub(crate) fn read_into(&self, structure: &'static str, at: Address, out: &mut [u8]) -> Result<()> {
        self.checked(structure, at, out.len() as u64)?;
        self.storage.read_into(self.offset(at), out)
    }

    /// Checks that `len` bytes at `at` lie in the file.
    pub(crate) fn checked(&self, structure: &'static str, at: Address, len: u64) -> Result<usize> {
        let end = self.base.checked_add(at.0).and_then(|offset| offset.checked_add(len));
        let size = self.storage.size();
        match (end, usize::try_from(len)) {
            (Some(end), Ok(len)) if end <= size => Ok(len),
            _ => {
                let found = end.unwrap_or(u64::MAX); // a bound, in a message
                let fault =
                    Fault::new("the end of the structure", FaultKind::OutOfBounds { found, end: size });
                Err(fault.at(structure, self.offset(at)))
            }
        }
    }

    /// Returns at most `len` bytes from `at` on, and at least one.
    pub(crate) fn read_some(
        &self,
        structure: &'static str,
        at: Address,
        len: usize,
    ) -> Result<Cow<'_, [u8]>> {
        let mut len = self.available(at).clamp(1, len as u64);
        loop {
            match self.read(structure, at, len) {
                // A storage with holes may lack the bytes after a structure.
                Err(Error::Malformed { .. }) if len > SHORTEST => len = (len / 2).max(SHORTEST),
                result => return result,
            }
        }
    }

    /// Reads `len` bytes at `at` and parses them.
    pub(crate) fn parse<T>(
        &self,
        structure: &'static str,
        at: Address,
        len: u64,
        parser: impl for<'a> FnMut(&'a [u8]) -> Parsed<'a, T>,
    ) -> Result<T> {
        locate(structure, self.offset(at), &self.read(structure, at, len)?, parser)
    }

    /// Returns the error of a fault in `structure` at `at`.
    pub(crate) fn fault(&self, structure: &'static str, at: Address, fault: impl Into<Fault>) -> Error {
        fault.into().at(structure, self.offset(at))
    }

    /// Lets `work` perform reads ahead of the real ones, if each read costs a round trip: reads that do not depend on
    /// each other are fetched in one batch. For other storages `work` is not called.
    pub(crate) fn together(&self, work: impl FnMut()) -> Result<()> {
        if self.storage.read_ahead() == 0 { Ok(()) } else { storage::together(work) }
    }

    /// Fetches a structure of which the beginning is read first, if each read costs a round trip. For other storages nothing
    /// happens. Structures that are longer than [`LONGEST_HINT`] are not fetched, because a file may declare any length.
    pub(crate) fn expect(&self, at: Address, len: u64) -> Result<()> {
        self.expect_for(Purpose::Structure, at, len)
    }

    /// Works like [`expect`](Self::expect), for a structure on the way to an object, which may be anywhere in the file.
    pub(crate) fn expect_next(&self, at: Address, len: u64) -> Result<()> {
        self.expect_for(Purpose::Chain, at, len)
    }

    fn expect_for(&self, purpose: Purpose, at: Address, len: u64) -> Result<()> {
        if self.storage.read_ahead() == 0 || len > LONGEST_HINT {
            return Ok(());
        }
        let start = self.offset(at);
        let end = bound::sum(start, len).min(self.storage.size());
        self.storage.prefetch(std::slice::from_ref(&(start..end)), purpose)
    }

    /// Announces the addresses and lengths of elements that will be read.
    pub(crate) fn announce(&self, places: impl Iterator<Item = (Address, u64)>) -> Result<()> {
        if self.storage.read_ahead() == 0 {
            return Ok(());
        }
        let range = |(at, len): (Address, u64)| {
            let start = self.offset(at);
            start..bound::sum(start, len)
        };
        self.storage.prefetch(&places.map(range).collect::<Vec<_>>(), Purpose::Elements)
    }

    /// Undoes the filters of `bytes`, which stand at `at` and unfold to at least `len` bytes.
    pub(crate) fn unfilter<'a>(
        &self,
        pipeline: &Pipeline,
        mask: u32,
        at: Address,
        bytes: Cow<'a, [u8]>,
        len: usize,
    ) -> Result<Cow<'a, [u8]>> {
        self.registry.decode(pipeline, mask, bytes, len, self.offset(at))
    }
}

/// Counts the nodes of a tree that are visited. If a node is visited twice, or the nodes together are larger than the
/// file, they lead back to each other.
pub(crate) struct Budget {
    bytes: u64,
    seen: AddressSet,
}

impl Budget {
    pub(crate) fn new(context: &Context) -> Self {
        Self { bytes: context.storage.size(), seen: AddressSet::default() }
    }

    /// Counts a node of `size` bytes at `at`.
    pub(crate) fn visit(
        &mut self,
        context: &Context,
        structure: &'static str,
        at: Address,
        size: u64,
    ) -> Result<()> {
        match self.bytes.checked_sub(size.max(1)) {
            Some(left) if self.seen.insert(at) => {
                self.bytes = left;
                Ok(())
            }
            _ => Err(context.fault(structure, at, FaultKind::Loop)),
        }
    }
}
