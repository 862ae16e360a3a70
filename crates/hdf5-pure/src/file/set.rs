//! Files that consist of several parts: families of equal members, and multi files with one member per kind of content.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Error, ReadAt, Result, bound};

use crate::spec::driver_info::{DriverInfo, MultiInfo, family_member_size};

/// The storages of a file of several parts, each with its range of addresses.
pub(crate) struct Parts {
    /// The first address and the storage of each part, in ascending order. A part starts at its own address, whatever
    /// the length of the earlier parts.
    parts: Vec<(u64, Arc<dyn ReadAt>)>,
    len: u64,
}

impl Parts {
    fn new(mut parts: Vec<(u64, Arc<dyn ReadAt>)>) -> Self {
        parts.sort_by_key(|(start, _)| *start);
        let len = parts.iter().map(|(start, part)| bound::sum(*start, part.size())).max().unwrap_or(0); // a bound
        Self { parts, len }
    }
}

impl ReadAt for Parts {
    fn size(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        sciformats_core::storage::check_range(self.len, offset, len as u64)?;
        let at = bound::left(self.parts.partition_point(|(start, _)| *start <= offset), 1);
        let end = self.parts.get(bound::sum(at, 1)).map_or(u64::MAX, |(start, _)| *start);
        if let Some((start, part)) = self.parts.get(at)
            && bound::sum(offset, len as u64) <= end
        {
            return part.read_at(bound::left(offset, *start), len);
        }
        let mut out = vec![0; len];
        self.read_into(offset, &mut out)?;
        Ok(Cow::Owned(out))
    }

    fn read_into(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        sciformats_core::storage::check_range(self.len, offset, out.len() as u64)?;
        let mut at = bound::left(self.parts.partition_point(|(start, _)| *start <= offset), 1);
        let (mut offset, mut out) = (offset, out);
        while !out.is_empty() {
            let Some((start, part)) = self.parts.get(at) else { break };
            at = bound::sum(at, 1);
            let end = self.parts.get(at).map_or(u64::MAX, |(start, _)| *start);
            let room = bound::addressable(bound::left(end, offset)).min(out.len());
            let (now, later) = out.split_at_mut(room);
            part.read_into(bound::left(offset, *start), now)?;
            offset = bound::sum(offset, room as u64);
            out = later;
        }
        Ok(())
    }
}

/// Assembles the whole file of which `first`, at `path`, is a part according to its driver information. Returns `None`
/// if it is not a file of several parts.
pub(crate) fn assemble(
    first: &Arc<dyn ReadAt>,
    path: Option<&Path>,
    info: &DriverInfo,
    at: u64,
    open: &dyn Fn(&Path) -> Result<Arc<dyn ReadAt>>,
) -> Result<Option<Arc<dyn ReadAt>>> {
    let parts = match &info.identification {
        b"NCSAfami" => {
            let size = locate("family driver information", at, &info.information, family_member_size)?;
            family(first, path, size, at, open)?
        }
        b"NCSAmult" => {
            let info = locate("multi driver information", at, &info.information, MultiInfo::parse)?;
            multi(path, &info, open)?
        }
        b"Subfilin" => return Err(Error::unsupported("a file whose data are striped over subfiles")),
        _ => return Ok(None),
    };
    Ok(Some(Arc::new(parts)))
}

/// Assembles the family that starts with `first` if the file has no driver information, as old writers leave it. In
/// that case the file is shorter than its superblock says, and the next member lies beside it.
pub(crate) fn unannounced(
    first: &Arc<dyn ReadAt>,
    path: Option<&Path>,
    end_of_file: u64,
    open: &dyn Fn(&Path) -> Result<Arc<dyn ReadAt>>,
) -> Result<Option<Arc<dyn ReadAt>>> {
    let next = path.and_then(Name::of).is_some_and(|name| name.member(1).is_file());
    if first.size() >= end_of_file || !next {
        return Ok(None);
    }
    Ok(Some(Arc::new(family(first, path, first.size(), 0, open)?)))
}

fn family(
    first: &Arc<dyn ReadAt>,
    path: Option<&Path>,
    size: u64,
    at: u64,
    open: &dyn Fn(&Path) -> Result<Arc<dyn ReadAt>>,
) -> Result<Parts> {
    if size == 0 {
        return Err(Fault::new("size of member files", FaultKind::Undefined { found: 0 })
            .at("driver information", at));
    }
    let mut parts = vec![(0, first.clone())];
    if let Some(name) = path.and_then(Name::of) {
        for number in 1u64.. {
            let path = name.member(number);
            if !path.is_file() {
                break;
            }
            parts.push((bound::product(number, size), open(&path)?));
        }
    }
    Ok(Parts::new(parts))
}

/// The name of the first member of a family, whose digits are counted up for the next members.
struct Name {
    folder: PathBuf,
    before: String,
    first: u64,
    width: usize,
    after: String,
}

impl Name {
    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        // The number is in the last digits before the extension, or at the end of the name.
        let stem = name.rfind('.').unwrap_or(name.len());
        let digits_end = name.get(..stem)?.rfind(|c: char| c.is_ascii_digit())?.checked_add(1)?;
        let digits = name.get(..digits_end)?.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let number = name.get(digits..digits_end)?;
        Some(Self {
            folder: path.parent()?.to_path_buf(),
            before: name.get(..digits)?.to_owned(),
            first: number.parse().ok()?,
            width: number.len(),
            after: name.get(digits_end..)?.to_owned(),
        })
    }

    fn member(&self, number: u64) -> PathBuf {
        let Self { before, after, width, .. } = self;
        let number = bound::sum(self.first, number);
        self.folder.join(format!("{before}{number:0width$}{after}"))
    }
}

fn multi(
    path: Option<&Path>,
    info: &MultiInfo,
    open: &dyn Fn(&Path) -> Result<Arc<dyn ReadAt>>,
) -> Result<Parts> {
    let path =
        path.ok_or_else(|| Error::unsupported("a file of several parts that was not opened by a path"))?;
    let (folder, file) =
        (path.parent().unwrap_or(Path::new("")), path.file_name().and_then(|name| name.to_str()));
    // `%s` in the name of a member stands for the base name. The name by which the file was opened reveals it.
    let base = info.members.iter().find_map(|member| {
        let (before, after) = member.name.as_str()?.split_once("%s")?;
        file?.strip_prefix(before)?.strip_suffix(after)
    });
    let base = base.ok_or_else(|| {
        Error::unsupported("a file of several parts that was opened by a name that is not the name of a part")
    })?;
    let mut parts = Vec::new();
    for member in &info.members {
        let name = member.name.as_str().unwrap_or_default().replace("%s", base);
        // The name comes from the file and could contain a path, so only its last component is used and looked up in
        // this folder.
        let Some(name) = Path::new(&name).file_name() else { continue };
        let path = folder.join(name);
        if path.is_file() {
            parts.push((member.start, open(&path)?));
        }
    }
    Ok(Parts::new(parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_cross_parts() {
        let parts: Vec<(u64, Arc<dyn ReadAt>)> =
            vec![(4, Arc::new(vec![5u8, 6])), (0, Arc::new(vec![1u8, 2, 3, 4]))];
        let parts = Parts::new(parts);
        assert_eq!(parts.size(), 6);
        assert_eq!(&*parts.read_at(2, 4).unwrap(), [3, 4, 5, 6]);
        assert!(parts.read_at(4, 3).is_err());
    }

    #[test]
    fn names_of_members() {
        let name = Name::of(Path::new("/x/family_v16-00000.h5")).unwrap();
        assert_eq!(name.member(12), Path::new("/x/family_v16-00012.h5"));
    }
}
