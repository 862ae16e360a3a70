//! Files that consist of several parts: families of equal members, and multi files with one member per kind of content.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::storage::Access;
use sciformats_core::{Error, External, ReadAt, Result, bound};

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
        sciformats_core::order::sort_by_key(&mut parts, |(start, _)| *start);
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

/// Where the parts of a file are.
pub(crate) struct Place<'a> {
    /// The path of the first part, whose name determines those of the others.
    pub(crate) path: Option<&'a Path>,
    pub(crate) external: &'a External,
    pub(crate) access: Access,
}

impl Place<'_> {
    fn open(&self, path: &Path) -> Result<Arc<dyn ReadAt>> {
        self.external.open(path, self.access)
    }
}

/// Assembles the whole file of which `first`, at a path, is a part according to its driver information. Returns `None`
/// if it is not a file of several parts.
pub(crate) fn assemble(
    first: &Arc<dyn ReadAt>,
    place: &Place<'_>,
    info: &DriverInfo,
    at: u64,
) -> Result<Option<Arc<dyn ReadAt>>> {
    let parts = match &info.identification {
        b"NCSAfami" => {
            let size = locate("family driver information", at, &info.information, family_member_size)?;
            family(first, place, size, at)?
        }
        b"NCSAmult" => {
            let info = locate("multi driver information", at, &info.information, MultiInfo::parse)?;
            multi(place, &info)?
        }
        b"Subfilin" => return striped(place).map(Some),
        _ => return Ok(None),
    };
    Ok(Some(Arc::new(parts)))
}

/// Assembles the family that starts with `first` if the file has no driver information, as old writers leave it. In
/// that case the file is shorter than its superblock says, and the next member lies beside it.
pub(crate) fn unannounced(
    first: &Arc<dyn ReadAt>,
    place: &Place<'_>,
    end_of_file: u64,
) -> Result<Option<Arc<dyn ReadAt>>> {
    let name = place.path.and_then(FamilyPath::of).filter(|_| first.size() < end_of_file);
    match name.map(|name| place.external.has(&name.member(1))).transpose()? {
        Some(true) => Ok(Some(Arc::new(family(first, place, first.size(), 0)?))),
        _ => Ok(None),
    }
}

fn family(first: &Arc<dyn ReadAt>, place: &Place<'_>, size: u64, at: u64) -> Result<Parts> {
    if size == 0 {
        return Err(Fault::new("size of member files", FaultKind::Undefined { found: 0 })
            .at("driver information", at));
    }
    let mut parts = vec![(0, first.clone())];
    if let Some(name) = place.path.and_then(FamilyPath::of) {
        for number in 1u64.. {
            let path = name.member(number);
            if !place.external.has(&path)? {
                break;
            }
            parts.push((bound::product(number, size), place.open(&path)?));
        }
    }
    Ok(Parts::new(parts))
}

/// The path of the first member of a family, whose digits are counted up for the next members.
///
/// ```
/// use std::path::Path;
///
/// use hdf5_pure::structure::FamilyPath;
///
/// let family = FamilyPath::of(Path::new("runs/day-08.h5")).expect("the name has digits");
/// assert_eq!(family.member(2), Path::new("runs/day-10.h5"));
/// assert!(FamilyPath::of(Path::new("runs/day.h5")).is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilyPath {
    folder: PathBuf,
    before: String,
    first: u64,
    width: usize,
    after: String,
}

impl FamilyPath {
    /// Divides the path of the first member. Its number is in the last digits before the extension, or at the end of the name.
    /// `None` if the name has no digits, or is not UTF-8.
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
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

    /// Returns the path of a member; 0 is the first one.
    pub fn member(&self, number: u64) -> PathBuf {
        let Self { before, after, width, .. } = self;
        let number = bound::sum(self.first, number);
        self.folder.join(format!("{before}{number:0width$}{after}"))
    }
}

/// Assembles as much of a multi file with a superblock of version 2 or 3 as is needed to read its driver information, which is at an
/// address in another part. The superblock does not say where that part is, so it must have the name and the addresses that the C
/// library gives it if it is not told others. Returns `None` if there is no such part.
pub(crate) fn parted(
    first: &Arc<dyn ReadAt>,
    place: &Place<'_>,
    address: u64,
) -> Result<Option<Arc<dyn ReadAt>>> {
    let name = place.path.and_then(Path::file_name).and_then(|name| name.to_str());
    let base = name.and_then(|name| name.strip_suffix("-s.h5"));
    let at = address.checked_div(SIXTH).unwrap_or_default(); // a bound: it is not 0
    let kind = PARTS.get(bound::addressable(at)).filter(|_| at > 0);
    let (Some(path), Some(base), Some(kind)) = (place.path, base, kind) else { return Ok(None) };
    let path = path.with_file_name(format!("{base}-{kind}.h5"));
    if !place.external.has(&path)? {
        return Ok(None);
    }
    let parts = vec![(0, Arc::clone(first)), (bound::product(at, SIXTH), place.open(&path)?)];
    Ok(Some(Arc::new(Parts::new(parts))))
}

/// The number of addresses that each part of a multi file has if the C library is not told another one.
const SIXTH: u64 = (u64::MAX - 1) / 6;

/// The letters in the usual names of the parts: superblock, B-trees, raw data, global heaps, local heaps, object headers.
const PARTS: [char; 6] = ['s', 'b', 'r', 'g', 'l', 'o'];

fn multi(place: &Place<'_>, info: &MultiInfo) -> Result<Parts> {
    let path = place
        .path
        .ok_or_else(|| Error::unsupported("a file of several parts that was not opened by a path"))?;
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
        if place.external.has(&path)? {
            parts.push((member.start, place.open(&path)?));
        }
    }
    Ok(Parts::new(parts))
}

/// The bytes of a file in stripes, which are in its subfiles in turn.
struct Striped {
    subfiles: Vec<Arc<dyn ReadAt>>,
    stripe: u64,
    len: u64,
}

impl Striped {
    fn new(subfiles: Vec<Arc<dyn ReadAt>>, stripe: u64) -> Self {
        let count = subfiles.len() as u64;
        // The end of the last byte that a subfile has.
        let end = |(i, size): (u64, u64)| {
            let last = size.checked_sub(1)?;
            let row = last.checked_div(stripe)?;
            let first = bound::product(bound::sum(bound::product(row, count), i), stripe);
            Some(bound::sum(bound::sum(first, last.checked_rem(stripe)?), 1))
        };
        let len = (0..).zip(subfiles.iter().map(ReadAt::size)).filter_map(end).max().unwrap_or(0); // a bound
        Self { subfiles, stripe, len }
    }
}

impl ReadAt for Striped {
    fn size(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        let end = sciformats_core::storage::check_range(self.len, offset, len as u64)?;
        let count = self.subfiles.len() as u64;
        let mut out = Vec::new();
        let mut at = offset;
        while at < end {
            let (number, within) =
                (at.checked_div(self.stripe).unwrap_or(0), at.checked_rem(self.stripe).unwrap_or(0)); // bounds: no stripe is empty // a bound: it is not 0
            let piece = bound::left(self.stripe, within).min(bound::left(end, at));
            let (row, which) =
                (number.checked_div(count).unwrap_or(0), number.checked_rem(count).unwrap_or(0)); // bounds: there are subfiles // a bound: it is not 0
            let from = bound::sum(bound::product(row, self.stripe), within);
            if let Some(subfile) = self.subfiles.get(bound::addressable(which)) {
                // A subfile ends where nothing was written behind.
                let there = bound::left(subfile.size(), from).min(piece);
                if there > 0 {
                    out.extend_from_slice(&subfile.read_at(from, bound::addressable(there))?);
                }
                out.resize(bound::sum(out.len(), bound::addressable(bound::left(piece, there))), 0);
            }
            at = bound::sum(at, piece);
        }
        Ok(Cow::Owned(out))
    }
}

/// Assembles a file whose data are striped over subfiles. A text file beside it says how many there are and how long a stripe is. Its
/// name has the number by which the file system knew the file when it was made, which a copy no longer has.
fn striped(place: &Place<'_>) -> Result<Arc<dyn ReadAt>> {
    const CONFIGURATION: &str = "subfiling configuration";
    let path =
        place.path.ok_or_else(|| Error::unsupported("a file of subfiles that was not opened by a path"))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let base = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let prefix = format!("{base}.subfile_");
    let mut found = place.external.names(folder, &prefix)?;
    found.retain(|name| name.ends_with(".config"));
    let [configuration] = found.as_slice() else {
        let what = match found.len() {
            0 => "a file of subfiles without the file that describes them, whose name ends with `.config`",
            _ => "a file of subfiles beside several files that describe them",
        };
        return Err(Error::unsupported(what));
    };
    let storage = place.open(&folder.join(configuration))?;
    let text = storage.read_at(0, bound::addressable(storage.size()).min(1 << 20))?;
    let text = String::from_utf8_lossy(&text);
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.and_then(|line| line.trim().parse::<u64>().ok()).filter(|&number| number > 0)
    };
    let missing = |field| Fault::new(field, FaultKind::Truncated).at(CONFIGURATION, 0);
    let stripe = value("stripe_size").ok_or_else(|| missing("stripe_size"))?;
    let count = value("subfile_count").or_else(|| value("aggregator_count"));
    let count = count.filter(|&count| count <= SUBFILES).ok_or_else(|| missing("subfile_count"))?;
    let stem = configuration.strip_suffix(".config").unwrap_or(configuration);
    let width = count.to_string().len();
    let mut subfiles = Vec::new();
    for number in 1..=count {
        subfiles.push(place.open(&folder.join(format!("{stem}_{number:0width$}_of_{count}")))?);
    }
    Ok(Arc::new(Striped::new(subfiles, stripe)))
}

/// The most subfiles.
const SUBFILES: u64 = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripes_of_subfiles() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = crate::Writer::in_memory(&crate::CreateOptions::default()).unwrap();
        file.dataset("a").write(&(0..5000u32).collect::<Vec<_>>()).unwrap();
        let bytes = file.into_bytes().unwrap();
        let (stripe, count) = (1000, 3);
        for i in 0..count {
            let own = bytes.chunks(stripe).skip(i).step_by(count).flatten().copied().collect::<Vec<u8>>();
            std::fs::write(folder.path().join(format!("run.h5.subfile_77_{}_of_{count}", i + 1)), own)
                .unwrap();
        }
        let text = format!(
            "stripe_size={stripe}\naggregator_count={count}\nsubfile_count={count}\nhdf5_file=/x/run.h5\n"
        );
        std::fs::write(folder.path().join("run.h5.subfile_77.config"), text).unwrap();
        let info = DriverInfo { identification: *b"Subfilin", information: Vec::new() };
        let first: Arc<dyn ReadAt> = Arc::new(bytes.get(..96).unwrap_or_default().to_vec());
        let path = folder.path().join("run.h5");
        let place = Place { path: Some(&path), external: &External::None, access: Access::default() };
        let whole = assemble(&first, &place, &info, 0).unwrap().unwrap();
        assert_eq!(*whole.read_at(0, bytes.len()).unwrap(), bytes);
        assert_eq!(*whole.read_at(990, 2020).unwrap(), bytes[990..3010]);
        assert_eq!(whole.size(), bytes.len() as u64);
        std::fs::remove_file(folder.path().join("run.h5.subfile_77_2_of_3")).unwrap();
        assert!(assemble(&first, &place, &info, 0).is_err());
    }

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
    fn the_part_with_object_headers_is_beside_the_superblock() {
        let folder = tempfile::tempdir().unwrap();
        let first: Arc<dyn ReadAt> = Arc::new(vec![1u8; 48]);
        let (path, access) = (folder.path().join("run-s.h5"), Access::default());
        let place = Place { path: Some(&path), external: &External::SameFolder, access };
        let address = 0xd555_5555_5555_5552; // five sixths of all addresses
        assert!(parted(&first, &place, address + 4).unwrap().is_none());
        std::fs::write(folder.path().join("run-o.h5"), [7u8, 8, 9]).unwrap();
        let whole = parted(&first, &place, address + 1).unwrap().unwrap();
        assert_eq!(*whole.read_at(address + 1, 2).unwrap(), [8, 9]);
        assert_eq!(*whole.read_at(47, 1).unwrap(), [1]);
        let path = folder.path().join("run.h5");
        assert!(parted(&first, &Place { path: Some(&path), ..place }, address).unwrap().is_none());
    }

    #[test]
    fn names_of_members() {
        let name = FamilyPath::of(Path::new("/x/family_v16-00000.h5")).unwrap();
        assert_eq!(name.member(12), Path::new("/x/family_v16-00012.h5"));
    }
}
