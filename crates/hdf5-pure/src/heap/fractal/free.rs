//! The free parts in the direct blocks of a heap that is being edited, and the free-space manager that lists them.
//!
//! The free-space manager of the heap lists free parts, so that later writers can use them. Each commit that changes
//! the list writes all of it, so the list has only the largest parts, as many as a small structure can hold. Other free
//! parts stay unused until the heap is written again, because the library takes everything for used that no section
//! lists.

use sciformats_core::arith::{sub, sum};
use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Error, Result};

use crate::space::context::Context;
use crate::space::output::Output;
use crate::space::pending::Use;
use crate::space::ranges::Ranges;
use crate::spec::Address;
use crate::spec::fractal_heap::DoublingTable;
use crate::spec::free_space::{self, FreeSpace, Section};

/// The largest list of another writer that is read. The free parts of a longer list stay unused.
const LONGEST_LIST: u64 = 16 << 10;
/// The largest number of free parts in the list.
const MOST: usize = 128;

/// The free parts of direct blocks.
#[derive(Default)]
pub(super) struct FreeParts {
    /// The start and the end of each part in the heap. Blocks start with a prefix, so parts of two blocks are never
    /// adjacent.
    parts: Ranges,
    manager: Option<Manager>,
    changed: bool,
}

/// The manager in the file.
#[derive(Clone, Copy)]
struct Manager {
    at: Address,
    list: Option<(Address, u64)>,
}

impl FreeParts {
    /// Loads what the manager at `at` manages.
    ///
    /// # Errors
    /// Returns `Malformed` if it cannot be read.
    pub(super) fn load(context: &Context, at: Option<Address>) -> Result<Self> {
        const HEADER: &str = "free-space header";
        const LIST: &str = "free-space section list";
        let Some(at) = at else { return Ok(Self::default()) };
        let sizes = context.sizes;
        let len = FreeSpace::size(sizes) as u64;
        let header = context.parse(HEADER, at, len, |i| FreeSpace::parse(i, sizes))?;
        let list = header.list.map(|list| (list, header.list_allocated));
        let mut free = Self { manager: Some(Manager { at, list }), ..Self::default() };
        if let Some((list, _)) = list.filter(|_| header.list_size <= LONGEST_LIST) {
            let bytes = context.read(LIST, list, header.list_size)?;
            let parse = |i| free_space::heap_sections(i, &header, sizes);
            for section in locate(LIST, context.offset(list), &bytes, parse)? {
                free.add(section.offset, section.size).ok_or_else(|| twice(context, list))?;
            }
        }
        free.changed = false;
        Ok(free)
    }

    /// Adds a part and joins it with adjacent parts. Returns `None` if one of its bytes is free already.
    pub(super) fn add(&mut self, start: u64, len: u64) -> Option<()> {
        self.changed = true;
        self.parts.insert(start, start.checked_add(len)?).then_some(())
    }

    /// Allocates `len` bytes in one of the smallest parts that are large enough and for which `fits` returns true.
    pub(super) fn take(&mut self, len: u64, fits: impl Fn(u64) -> bool) -> Option<u64> {
        let taken = self.parts.take(len, |start, _| Some(start).filter(|&start| fits(start)));
        self.changed |= taken.is_some();
        taken
    }

    /// Removes the parts from `start` to `end`.
    pub(super) fn forget(&mut self, start: u64, end: u64) {
        self.changed = true;
        self.parts.remove(start, end);
    }

    /// Writes the manager. Returns its address if there is something to manage.
    ///
    /// # Errors
    /// Returns the errors of the output.
    pub(super) fn write(&mut self, output: &mut Output, table: &DoublingTable) -> Result<Option<Address>> {
        if !std::mem::take(&mut self.changed) {
            return Ok(self.manager.map(|manager| manager.at));
        }
        let sizes = output.sizes;
        let mut sections = self
            .parts
            .iter()
            .map(|(offset, end)| Ok(Section { offset, size: sub(end, offset)?, class: 0 }))
            .collect::<Result<Vec<_>>>()?;
        sections.sort_unstable_by_key(|section| std::cmp::Reverse((section.size, section.offset)));
        sections.truncate(MOST);
        let before = self.manager.take();
        if let Some((list, len)) = before.and_then(|manager| manager.list) {
            output.free(list, len, Use::Metadata)?;
        }
        let header_size = FreeSpace::size(sizes) as u64;
        if sections.is_empty() {
            before.map_or(Ok(()), |manager| output.free(manager.at, header_size, Use::Metadata))?;
            return Ok(None);
        }
        let at = before.map_or_else(|| output.allocate(header_size), |manager| Ok(manager.at))?;
        let mut manager = FreeSpace {
            client: FreeSpace::HEAP,
            total: sum(sections.iter().map(|section| section.size))?,
            sections: sections.len() as u64,
            serialized: sections.len() as u64,
            address_bits: table.max_bits,
            max_section: table.max_direct,
            list: None,
            list_size: 0,
            list_allocated: 0,
        };
        let (mut header, mut list) = (Vec::new(), Vec::new());
        free_space::encode_sections(&mut list, &manager, at, &sections, sizes)?;
        let (len, place) = (list.len() as u64, output.put(&list)?);
        (manager.list, manager.list_size, manager.list_allocated) = (Some(place), len, len);
        manager.encode(&mut header, sizes)?;
        output.write(at, &header)?;
        self.manager = Some(Manager { at, list: Some((place, len)) });
        Ok(Some(at))
    }
}

/// Returns the error for a part of a heap that is freed twice.
pub(super) fn twice(context: &Context, at: Address) -> Error {
    let rule = FaultKind::Rule("is freed twice");
    context.fault("fractal heap", at, Fault::new("part of a direct block", rule))
}
