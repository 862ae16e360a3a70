//! Whether every byte of the file belongs to one structure at most.

use std::collections::BTreeSet;

use sciformats_core::Result;
use sciformats_core::fault::FaultKind;

use super::counts::datatypes;
use super::group::is_group;
use super::session::Session;
use crate::model::links;
use crate::model::object::Object;
use crate::spec::Address;
use crate::spec::message::link::Target;

impl Session {
    /// Bytes up to the end of the file that belong to no structure that is in use, and are not known to be free.
    ///
    /// # Errors
    /// `Malformed` if two structures share a byte, one of them lies in free space, or one cannot be read.
    pub(crate) fn unaccounted(&self) -> Result<u64> {
        let context = self.context();
        let mut superblock = Vec::new();
        self.superblock.encode(&mut superblock);
        let mut parts = vec![(0, superblock.len() as u64)];
        let managers: Vec<Address> = match (&self.opened.file_space, self.is_managed()) {
            (Some(info), true) => info.managers.iter().copied().flatten().collect(),
            _ => Vec::new(),
        };
        let found = self.extents(|extents| {
            managers.iter().try_for_each(|at| extents.free_space(*at))?;
            self.shared_table()?.map_or(Ok(()), |at| extents.shared_table(at))?;
            self.in_use()?.into_iter().try_for_each(|address| extents.object(address))
        })?;
        parts.extend(found.iter().map(|extent| (extent.at.0, extent.at.0.saturating_add(extent.len))));
        parts.extend(self.space.free_after().iter().map(|&(start, end, _)| (start, end)));
        parts.sort_unstable();
        let (mut end, mut lost) = (0u64, 0u64);
        for (start, stop) in parts {
            let gap = start.checked_sub(end).ok_or_else(|| {
                let rule = FaultKind::Rule("belongs to two structures, or is free");
                context.fault("file space", Address(start), rule)
            })?;
            lost = lost.saturating_add(gap);
            end = stop;
        }
        Ok(lost.saturating_add(self.space.trimmed_end().saturating_sub(end)))
    }

    /// All objects that links, datasets and attributes lead to.
    fn in_use(&self) -> Result<BTreeSet<Address>> {
        let context = self.context();
        let mut queue: Vec<Address> = self.extension().into_iter().chain([self.opened.root]).collect();
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
}
