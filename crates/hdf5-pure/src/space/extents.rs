//! Collects where the structures of an object are, so that their space can be freed.

use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::{Result, bound};

use crate::space::context::{Budget, Context};
use crate::space::pending::Use;
use crate::spec::Address;
use crate::spec::free_space::FreeSpace;

/// A part of the file that belongs to one structure alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) at: Address,
    pub(crate) len: u64,
    pub(crate) usage: Use,
}

/// Collects the extents of structures.
pub(crate) struct Extents<'a> {
    pub(crate) context: &'a Context,
    budget: Budget,
    found: Vec<Extent>,
}

impl<'a> Extents<'a> {
    pub(crate) fn new(context: &'a Context) -> Self {
        Self { context, budget: Budget::new(context), found: Vec::new() }
    }

    /// Returns what was found.
    pub(crate) fn into_found(self) -> Vec<Extent> {
        self.found
    }

    /// Adds a structure, which must lie in the file.
    pub(crate) fn add(&mut self, structure: &'static str, at: Address, len: u64, usage: Use) -> Result<()> {
        if len > self.context.available(at) {
            let kind =
                FaultKind::OutOfBounds { found: bound::sum(at.0, len), end: self.context.storage.size() };
            return Err(self.context.fault(structure, at, kind));
        }
        self.budget.visit(self.context, structure, at, len)?;
        if len > 0 {
            self.found.push(Extent { at, len, usage });
        }
        Ok(())
    }

    /// Fails if a node has more entries than the file's K values allow, because the C library refuses to read such a
    /// node.
    pub(crate) fn full(&self, structure: &'static str, at: Address, entries: u16, most: u32) -> Result<()> {
        if u32::from(entries) <= most {
            return Ok(());
        }
        let kind = FaultKind::OutOfBounds { found: entries.into(), end: u64::from(most) + 1 };
        Err(self.context.fault(structure, at, Fault::new("entries used", kind)))
    }

    /// Adds a free-space manager: its header and its list.
    pub(crate) fn free_space(&mut self, at: Address) -> Result<()> {
        const HEADER: &str = "free-space header";
        let sizes = self.context.sizes;
        let len = FreeSpace::size(sizes) as u64;
        let manager = self.context.parse(HEADER, at, len, |i| FreeSpace::parse(i, sizes))?;
        self.add(HEADER, at, len, Use::Metadata)?;
        let list = manager.list.map(|list| (list, manager.list_allocated));
        list.map_or(Ok(()), |(list, len)| self.add("free-space section list", list, len, Use::Metadata))
    }
}

/// Returns the extents of the structures that `collect` finds.
///
/// # Errors
/// Returns `Malformed` if one of the structures is damaged.
pub(crate) fn found(
    context: &Context,
    collect: impl FnOnce(&mut Extents<'_>) -> Result<()>,
) -> Result<Vec<Extent>> {
    let mut extents = Extents::new(context);
    collect(&mut extents)?;
    Ok(extents.into_found())
}
