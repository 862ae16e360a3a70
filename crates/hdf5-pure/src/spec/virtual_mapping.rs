//! The mappings of a virtual dataset: an object of a global heap.
//!
//! Version, number of entries (L), entries, checksum. Entry of version 0: file name, dataset name, both ending in NUL,
//! selection in the source, selection in the virtual dataset. Version 1 puts flags before: bit 0 the file name is that of
//! an earlier entry, bit 1 the dataset name is, bit 2 the source is this file.

use nom::Parser;
use nom::number::complete::u8 as byte;
use sciformats_core::Result;
use sciformats_core::fault::{FaultKind, Parsed, fail, field};

use super::selection::Selection;
use super::{Name, Sizes, length, put_checksum, put_length, sealed, until_nul};

/// A mapping: elements of a source appear as elements of the virtual dataset.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Slab, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// let all = Slab::all(&[24])?;
/// file.dataset("week").shape([24]).map("monday.h5", "/temperature", &all, &all).create::<f32>()?;
/// for mapping in File::from_bytes(file.into_bytes()?)?.dataset("week")?.mappings()? {
///     assert_eq!(mapping.dataset.to_text(), "/temperature");
///     println!("{:?} of {} are {:?}", mapping.source, mapping.file, mapping.target);
/// }
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The name of the source's file; `.` means the same file.
    pub file: Name,
    /// The path of the source in that file.
    pub dataset: Name,
    /// The selected elements of the source.
    pub source: Selection,
    /// The elements of the virtual dataset as which they appear.
    pub target: Selection,
}

/// Parses all mappings.
pub(crate) fn mappings(i: &[u8], sizes: Sizes) -> Parsed<'_, Vec<Mapping>> {
    sealed(|i| {
        let (at, version) = field("version", byte)(i)?;
        if version > 1 {
            return field("version", |i| fail(i, FaultKind::Undefined { found: version.into() }))(i);
        }
        let (mut i, entries) = field("number of entries", length(sizes))(at)?;
        let mut found: Vec<Mapping> = Vec::new();
        for _ in 0..entries {
            let (rest, mapping) = mapping(i, sizes, version, &found)?;
            found.push(mapping);
            i = rest;
        }
        Ok((i, found))
    })(i)
}

fn mapping<'a>(i: &'a [u8], sizes: Sizes, version: u8, earlier: &[Mapping]) -> Parsed<'a, Mapping> {
    let (i, flags) = match version {
        0 => (i, 0),
        _ => field("flags", byte)(i)?,
    };
    let (i, file) = match flags {
        flags if flags & 4 != 0 => (i, Name::from(".")),
        flags => name(i, sizes, flags & 1 != 0, |index| earlier.get(index).map(|entry| &entry.file))?,
    };
    let (i, dataset) =
        name(i, sizes, flags & 2 != 0, |index| earlier.get(index).map(|entry| &entry.dataset))?;
    let (i, source) = field("source selection", Selection::parse)(i)?;
    let (i, target) = field("virtual selection", Selection::parse)(i)?;
    Ok((i, Mapping { file, dataset, source, target }))
}

fn name<'a, 'b>(
    i: &'a [u8],
    sizes: Sizes,
    shared: bool,
    earlier: impl Fn(usize) -> Option<&'b Name>,
) -> Parsed<'a, Name> {
    if !shared {
        return field("source name", until_nul).map(Name::from).parse(i);
    }
    let (rest, index) = field("entry of the source name", length(sizes))(i)?;
    match usize::try_from(index).ok().and_then(earlier) {
        Some(name) => Ok((rest, name.clone())),
        None => {
            field("entry of the source name", |i| fail(i, FaultKind::OutOfBounds { found: index, end: 0 }))(i)
        }
    }
}

/// Appends a list of mappings in version 0.
pub(crate) fn encode(out: &mut Vec<u8>, mappings: &[Mapping], sizes: Sizes) -> Result<()> {
    let start = out.len();
    out.push(0);
    put_length(out, mappings.len() as u64, sizes)?;
    for mapping in mappings {
        for name in [&mapping.file, &mapping.dataset] {
            out.extend(name.as_bytes());
            out.push(0);
        }
        mapping.source.encode(out)?;
        mapping.target.encode(out)?;
    }
    put_checksum(out, start)?;
    Ok(())
}
