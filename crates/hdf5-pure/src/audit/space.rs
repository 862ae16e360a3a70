//! Checks that every byte of the file belongs to at most one structure.

use std::collections::BTreeSet;

use sciformats_core::arith::{add, increase};
use sciformats_core::fault::FaultKind;
use sciformats_core::{Result, bound};

use crate::file::open::Opened;
use crate::file::session::{Session, shared_table};
use crate::group::edit::is_group;
use crate::group::links;
use crate::object::committed::datatypes;
use crate::object::header::Object;
use crate::space::context::Context;
use crate::space::extents::Extents;
use crate::space::free::sections;
use crate::spec::Address;
use crate::spec::message::link::Target;
use crate::spec::superblock::{Rest, Superblock};

/// The start and the end of a structure, relative to the base of the file.
type Part = (u64, u64);

impl Session {
    /// Returns the number of bytes up to the end of the file that belong to no structure in use and are not known to be
    /// free.
    ///
    /// # Errors
    /// Returns `Malformed` if two structures overlap, a structure lies in free space, or a structure cannot be read.
    pub(crate) fn unaccounted(&self) -> Result<u64> {
        let mut parts = structures(&self.opened, &self.superblock, self.is_managed())?;
        parts.extend(self.space.free_after().iter().map(|&(start, end, _)| (start, end)));
        let (lost, end) = gaps(self.context(), parts)?;
        add(lost, bound::left(self.space.trimmed_end(), end))
    }
}

/// Fails if two structures of a file overlap, a structure lies in space that the file lists as free, or a node does not
/// have the size that the file's K values require. The C library refuses such a file, or overwrites parts of it.
///
/// # Errors
/// Returns `Malformed` with the offset, and any error of reading the structures.
pub(crate) fn check(opened: &Opened) -> Result<()> {
    let context = &opened.context;
    let mut parts = structures(opened, &opened.superblock, true)?;
    for at in managers(opened) {
        parts.extend(
            sections(context, at)?
                .iter()
                .map(|section| (section.offset, bound::sum(section.offset, section.size))),
        );
    }
    gaps(context, parts).map(drop)
}

fn managers(opened: &Opened) -> Vec<Address> {
    opened.file_space.iter().flat_map(|info| &info.managers).copied().flatten().collect()
}

/// Returns the parts of the structures in use. If `managed` is set, free-space managers are included.
fn structures(opened: &Opened, superblock: &Superblock, managed: bool) -> Result<Vec<Part>> {
    let mut encoded = Vec::new();
    superblock.encode(&mut encoded)?;
    let mut extents = Extents::new(&opened.context);
    if managed {
        managers(opened).into_iter().try_for_each(|at| extents.free_space(at))?;
    }
    let extension = match superblock.rest {
        Rest::New { extension, .. } => extension,
        Rest::Old { .. } => None,
    };
    shared_table(&opened.context, extension)?.map_or(Ok(()), |at| extents.shared_table(at))?;
    let roots = extension.into_iter().chain([opened.root]).collect();
    in_use(&opened.context, roots)?.into_iter().try_for_each(|address| extents.object(address))?;
    let found = extents.into_found();
    let parts = found.iter().map(|extent| (extent.at.0, bound::sum(extent.at.0, extent.len)));
    Ok(std::iter::once((0, encoded.len() as u64)).chain(parts).collect())
}

/// Returns the number of bytes between the parts, and the end of the last part.
fn gaps(context: &Context, mut parts: Vec<Part>) -> Result<(u64, u64)> {
    sciformats_core::order::sort(&mut parts);
    let (mut end, mut lost) = (0u64, 0u64);
    for (start, stop) in parts {
        let gap = start.checked_sub(end).ok_or_else(|| {
            let rule = FaultKind::Rule("belongs to two structures, or to one structure and the free space");
            context.fault("file space", Address(start), rule)
        })?;
        increase(&mut lost, gap)?;
        end = stop;
    }
    Ok((lost, end))
}

/// Returns all objects to which links, datasets and attributes lead, starting with those in `queue`.
fn in_use(context: &Context, mut queue: Vec<Address>) -> Result<BTreeSet<Address>> {
    let mut found = BTreeSet::new();
    while let Some(address) = queue.pop() {
        if !found.insert(address) {
            continue;
        }
        let object = Object::read(context, address)?;
        queue.extend(datatypes(context, address, &object)?);
        if !is_group(&object) {
            continue;
        }
        for link in links::all(context, &object)? {
            if let Target::Hard(target) = link.map_err(|broken| broken.error)?.target {
                queue.push(target);
            }
        }
    }
    Ok(found)
}
