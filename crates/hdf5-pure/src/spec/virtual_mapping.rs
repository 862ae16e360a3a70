//! The mappings of a virtual dataset, which are an object of a global heap ("Global Heap Block for Virtual Datasets").
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 1 | version: 0 or 1 |
//! | 1 | L | number of entries |
//! | 1 + L | | entries |
//! | | 4 | checksum |
//!
//! | offset | size | field of an entry |
//! |---|---|---|
//! | 0 | 1 | flags (version 1): file name (bit 0) or dataset name (1) of an earlier entry; the source is in this file (2) |
//! | | | source file name and NUL; or number of the earlier entry (L); or nothing |
//! | | | source dataset name and NUL; or number of the earlier entry (L) |
//! | | | source [selection](super::selection) |
//! | | | virtual selection |

use nom::Parser;
use nom::number::complete::u8 as byte;
use sciformats_core::Result;
use sciformats_core::fault::{FaultKind, Parsed, fail, field};

use super::selection::Selection;
use super::{Name, Sizes, length, put_checksum, put_length, sealed, until_nul};

/// A mapping, which shows elements of a source as elements of the virtual dataset.
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
    /// The elements of the source.
    pub source: Selection,
    /// The elements of the virtual dataset that show them.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::test::{SIZES, any_sizes, both_ways, near_sealed, seal};
    use super::*;

    /// A list without its checksum. The list of version 1 has no checksum either.
    const VERSION_0: [u8; 49] = [
        0, // version
        1, 0, 0, 0, 0, 0, 0, 0, // number of entries
        b'a', b'.', b'h', b'5', 0, // source file name
        b'/', b'd', 0, // source dataset name
        3, 0, 0, 0, // source selection: type all
        1, 0, 0, 0, // version
        0, 0, 0, 0, 0, 0, 0, 0, // reserved and length
        0, 0, 0, 0, // virtual selection: type none
        1, 0, 0, 0, // version
        0, 0, 0, 0, 0, 0, 0, 0, // reserved and length
    ];

    const VERSION_1: [u8; 94] = [
        1, // version
        2, 0, 0, 0, 0, 0, 0, 0, // number of entries
        4, // entry 0: flags: in this file
        b'/', b'd', 0, // source dataset name
        3, 0, 0, 0, // source selection: type all
        1, 0, 0, 0, // version
        0, 0, 0, 0, 0, 0, 0, 0, // reserved and length
        0, 0, 0, 0, // virtual selection: type none
        1, 0, 0, 0, // version
        0, 0, 0, 0, 0, 0, 0, 0, // reserved and length
        3, // entry 1: flags: names of an earlier entry
        0, 0, 0, 0, 0, 0, 0, 0, // number of the entry with the file name
        0, 0, 0, 0, 0, 0, 0, 0, // number of the entry with the dataset name
        3, 0, 0, 0, // source selection: type all
        1, 0, 0, 0, // version
        0, 0, 0, 0, 0, 0, 0, 0, // reserved and length
        3, 0, 0, 0, // virtual selection: type all
        1, 0, 0, 0, // version
        0, 0, 0, 0, 0, 0, 0, 0, // reserved and length
    ];

    #[test]
    fn both_versions() {
        let mapping = |file: &str, target| {
            vec![Mapping { file: file.into(), dataset: "/d".into(), source: Selection::All, target }]
        };
        let bytes = seal(VERSION_0.to_vec());
        let expected = mapping("a.h5", Selection::None);
        both_ways(&bytes, &expected, |i| mappings(i, SIZES), |mappings, out| encode(out, mappings, SIZES));
        let expected = [mapping(".", Selection::None), mapping(".", Selection::All)].concat();
        assert_eq!(mappings(&seal(VERSION_1.to_vec()), SIZES), Ok((&[][..], expected)));
        let mut wrong = VERSION_1;
        wrong[46] = 1; // the number of the entry itself
        assert!(mappings(&seal(wrong.to_vec()), SIZES).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(old in near_sealed(&VERSION_0), new in near_sealed(&VERSION_1), sizes in any_sizes()) {
            let _ = mappings(&old, sizes);
            let _ = mappings(&new, sizes);
        }
    }
}
