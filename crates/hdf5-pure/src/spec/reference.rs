//! References as elements contain them: old references, which lead to their object in one or two steps, and those of datatype
//! version 4 ("Reference Encoding").
//!
//! | offset | size | field of an old object reference |
//! |---|---|---|
//! | 0 | O | object address; 0 or none if the reference is null |
//!
//! | offset | size | field of the global heap object of an old region reference |
//! |---|---|---|
//! | 0 | O | object address |
//! | O | | [selection](super::selection) |
//!
//! | offset | size | field of an element of datatype version 4 |
//! |---|---|---|
//! | 0 | 1 | reference type: 0 null, 2 object, 3 region, 4 attribute |
//! | 1 | 1 | flags; bit 0: the object is in another file |
//! | 2 | 1, n | if the object is in this file: token size, token |
//! | 2 | 4 | otherwise: blob size |
//! | 6 | O + 4 | otherwise: [ID](super::global_heap) of the blob in the global heap |
//!
//! Elements have O + 10 bytes. The C library declares sequences of them with the size that they have in its memory, 64 bytes.
//! It stores as many bytes for each item, but the items follow each other without gaps at the front, and the rest is
//! meaningless.
//!
//! | offset | size | field of a blob |
//! |---|---|---|
//! | 0 | 1, n | token size, token: the object's address |
//! | | 2, n | name length, name of the file (for objects in another file) |
//! | | 4 | selection length (for regions) |
//! | | 4 | rank (for regions) |
//! | | | selection (for regions) |
//! | | 2, n | name length, name of the attribute (for attributes) |

use nom::Parser;
use nom::bytes::complete::take;
use nom::number::complete::{le_u16, le_u32, u8 as byte};
use sciformats_core::arith::fit;
use sciformats_core::fault::{FaultKind, Parsed, fail, field};
use sciformats_core::{Error, Result};

use super::global_heap::GlobalId;
use super::selection::Selection;
use super::{Address, Name, Sizes, address, put_padding};

/// The target of a reference.
///
/// ```
/// use hdf5_pure::structure::{Part, Reference};
/// use hdf5_pure::{CreateOptions, File, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// let temperature = file.dataset("temperature").write(&[281.5, 282.0])?;
/// let reference = file.reference(temperature)?;
/// file.root().attribute("main", reference)?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// let main: Vec<Option<Reference>> = file.root()?.attribute("main")?.read()?;
/// let object = file.dataset("temperature")?.address();
/// assert_eq!(main, [Some(Reference { file: None, object, part: Part::Object })]);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The name of the other file, if the target is in another file.
    pub file: Option<Name>,
    /// The address of the object.
    pub object: Address,
    /// The part of the object.
    pub part: Part,
}

/// The part of an object to which a reference leads.
///
/// ```
/// use hdf5_pure::structure::{Part, Reference};
/// use hdf5_pure::{CreateOptions, File, Slab, Writer};
/// use hdf5_pure::references::RegionReference;
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// let temperature = file.dataset("temperature").write(&[281.5, 282.0, 282.5])?;
/// let warm = RegionReference::new(file.reference(temperature)?, Slab::new(&[3], [(1..3).into()])?);
/// file.root().attribute("warm", warm)?;
/// let warm: Vec<Option<Reference>> = File::from_bytes(file.into_bytes()?)?.root()?.attribute("warm")?.read()?;
/// let part = warm[0].as_ref().map(|reference| &reference.part);
/// assert!(matches!(part, Some(Part::Region(selection)) if selection.rank() == Some(1)));
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The object itself.
    Object,
    /// Elements of the dataset.
    Region(Selection),
    /// An attribute.
    Attribute(Name),
}

/// Parses an old object reference; the result is `None` if it is null.
pub(crate) fn object(i: &[u8], sizes: Sizes) -> Parsed<'_, Option<Address>> {
    let (i, address) = field("object address", address(sizes))(i)?;
    Ok((i, address.filter(|address| address.0 != 0)))
}

/// Parses the heap object of an old region reference.
pub(crate) fn region(i: &[u8], sizes: Sizes) -> Parsed<'_, Option<(Address, Selection)>> {
    let (i, object) = object(i, sizes)?;
    match object {
        None => Ok((i, None)),
        Some(object) => Selection::parse.map(|selection| Some((object, selection))).parse(i),
    }
}

/// An element of the new reference type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    /// A null reference.
    Null,
    /// A reference to an object of this file.
    Object(Address),
    /// A reference whose target is described by a blob in the global heap.
    Blob { kind: u8, external: bool, id: GlobalId },
}

/// Parses an element of the new reference type.
pub(crate) fn element(i: &[u8], sizes: Sizes) -> Parsed<'_, Element> {
    let (at, kind) = field("reference type", byte)(i)?;
    let (at, flags) = field("flags", byte)(at)?;
    let external = flags & 1 != 0;
    match kind {
        0 => Ok((&[], Element::Null)),
        2 if !external => {
            let (_, token) = token(at)?;
            Ok((&[], token.map_or(Element::Null, Element::Object)))
        }
        2..=4 => {
            let (at, _) = field("blob size", le_u32)(at)?;
            let (_, id) = GlobalId::parse(at, sizes)?;
            Ok((&[], Element::Blob { kind, external, id }))
        }
        found => field("reference type", |i| fail(i, FaultKind::Undefined { found: found.into() }))(i),
    }
}

fn token(i: &[u8]) -> Parsed<'_, Option<Address>> {
    let (i, len) = field("token size", byte)(i)?;
    let (i, value) = field("token", super::uint(len.into()))(i)?;
    Ok((i, (value != 0).then_some(Address(value))))
}

/// Parses the blob of an [`Element::Blob`].
pub(crate) fn blob(i: &[u8], kind: u8, external: bool) -> Parsed<'_, Option<Reference>> {
    let (i, object) = token(i)?;
    let (i, file) = if external { sized_name(i).map(|(i, name)| (i, Some(name)))? } else { (i, None) };
    let (i, part) = match kind {
        3 => {
            let (i, _) = field("selection length", le_u32)(i)?;
            let (i, _) = field("rank", le_u32)(i)?;
            Selection::parse.map(Part::Region).parse(i)?
        }
        4 => sized_name(i).map(|(i, name)| (i, Part::Attribute(name)))?,
        _ => (i, Part::Object),
    };
    Ok((i, object.map(|object| Reference { file, object, part })))
}

/// The size of an element of the new reference type in bytes, in a file whose addresses have 8 bytes.
pub(crate) const ELEMENT: usize = 18;

/// Returns the size of an element of the new reference type in bytes.
pub(crate) fn element_size(sizes: Sizes) -> usize {
    sizes.bytes(1, 0, 10)
}

/// Appends an element that refers to an object of this file.
pub(crate) fn put_object(out: &mut Vec<u8>, object: Address) -> Result<()> {
    let start = out.len();
    out.extend([2, 0]);
    put_token(out, object)?;
    put_padding(out, start, ELEMENT)?;
    Ok(())
}

fn put_token(out: &mut Vec<u8>, object: Address) -> Result<()> {
    out.push(8);
    out.extend(object.0.to_le_bytes());
    Ok(())
}

/// Returns the fields before the heap ID in an element that refers to another file; the blob has `len` bytes.
pub(crate) fn external_prefix(kind: u8, len: usize) -> Result<[u8; 6]> {
    let [a, b, c, d] = fit::<u32, _>(len, "size of a blob")?.to_le_bytes();
    Ok([kind, 1, a, b, c, d])
}

/// Returns the fields before the heap ID in an element that refers to a part of an object; the blob has `len` bytes.
pub(crate) fn blob_prefix(part: &Part, len: usize) -> Result<[u8; 6]> {
    let kind = match part {
        Part::Object => 2,
        Part::Region(_) => 3,
        Part::Attribute(_) => 4,
    };
    let [a, b, c, d] = fit::<u32, _>(len, "size of a blob")?.to_le_bytes();
    Ok([kind, 0, a, b, c, d])
}

/// Appends the blob of an element that refers to a part of an object of this file; a region has `rank` dimensions.
///
/// # Errors
/// [`Error::Usage`] if a name has 64 KiB or more, or if the region does not have `rank` dimensions.
pub(crate) fn put_blob(out: &mut Vec<u8>, object: Address, part: &Part, rank: usize) -> Result<()> {
    put_token(out, object)?;
    match part {
        Part::Object => {}
        Part::Region(selection) => {
            if !selection.is_of_rank(rank) {
                return Err(Error::usage(
                    "reference",
                    "selects a region with another number of dimensions than the dataset",
                ));
            }
            let mut bytes = Vec::new();
            selection.encode(&mut bytes)?;
            out.extend(fit::<u32, _>(bytes.len(), "size of a selection")?.to_le_bytes());
            out.extend(fit::<u32, _>(rank, "rank of a region")?.to_le_bytes());
            out.extend(bytes);
        }
        Part::Attribute(name) => {
            let len = u16::try_from(name.as_bytes().len())
                .map_err(|_| Error::usage("reference", "names an attribute of 64 KiB or more"))?;
            out.extend(len.to_le_bytes());
            out.extend(name.as_bytes());
        }
    }
    Ok(())
}

fn sized_name(i: &[u8]) -> Parsed<'_, Name> {
    let (i, len) = field("name length", le_u16)(i)?;
    let (i, name) = field("name", take(len)).parse(i)?;
    Ok((i, name.into()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::test::{SIZES, any_sizes, near};
    use super::*;

    const REGION: [u8; 24] = [
        0x20, 3, 0, 0, 0, 0, 0, 0, // object address
        3, 0, 0, 0, // selection type: all
        1, 0, 0, 0, // version
        0, 0, 0, 0, 0, 0, 0, 0, // reserved and length
    ];

    const TO_OBJECT: [u8; 18] = [
        2, // reference type: object
        0, // flags
        8, // token size
        0x20, 3, 0, 0, 0, 0, 0, 0, // token
        0, 0, 0, 0, 0, 0, 0, // zeros
    ];

    const TO_REGION: [u8; 18] = [
        3, // reference type: region
        0, // flags
        0x21, 0, 0, 0, // blob size
        0, 0x10, 0, 0, 0, 0, 0, 0, // collection address
        1, 0, 0, 0, // object index
    ];

    const REGION_BLOB: [u8; 33] = [
        8, // token size
        0x20, 3, 0, 0, 0, 0, 0, 0, // token
        0x10, 0, 0, 0, // selection length
        2, 0, 0, 0, // rank
        3, 0, 0, 0, // selection type: all
        1, 0, 0, 0, // version
        0, 0, 0, 0, 0, 0, 0, 0, // reserved and length
    ];

    const ATTRIBUTE_BLOB: [u8; 16] = [
        8, // token size
        0x20, 3, 0, 0, 0, 0, 0, 0, // token
        5, 0, // name length
        b'u', b'n', b'i', b't', b's', // name of the attribute
    ];

    const FOREIGN_BLOB: [u8; 15] = [
        8, // token size
        0x20, 3, 0, 0, 0, 0, 0, 0, // token
        4, 0, // name length
        b'a', b'.', b'h', b'5', // name of the file
    ];

    const OBJECT: Address = Address(0x320);

    #[test]
    fn old_references() {
        assert_eq!(object(&REGION, SIZES), Ok((&REGION[8..], Some(OBJECT))));
        assert_eq!(object(&[0; 8], SIZES).unwrap().1, None);
        assert_eq!(region(&REGION, SIZES), Ok((&[][..], Some((OBJECT, Selection::All)))));
        assert_eq!(region(&[0xff; 8], SIZES).unwrap().1, None);
    }

    #[test]
    fn elements() {
        assert_eq!(element(&TO_OBJECT, SIZES), Ok((&[][..], Element::Object(OBJECT))));
        let mut out = Vec::new();
        put_object(&mut out, OBJECT).unwrap();
        assert_eq!(out, TO_OBJECT);
        let id = GlobalId { collection: Address(0x1000), index: 1 };
        let blob = Element::Blob { kind: 3, external: false, id };
        assert_eq!(element(&TO_REGION, SIZES), Ok((&[][..], blob)));
        assert_eq!(blob_prefix(&Part::Region(Selection::All), 33).unwrap(), TO_REGION[..6]);
        assert_eq!(external_prefix(2, 33).unwrap(), [2, 1, 33, 0, 0, 0]);
        assert_eq!(element(&[0; 18], SIZES).unwrap().1, Element::Null);
        assert!(element(&[1; 18], SIZES).is_err());
    }

    #[test]
    fn blobs() {
        let parts = [
            (&REGION_BLOB[..], 3, Part::Region(Selection::All)),
            (&ATTRIBUTE_BLOB, 4, Part::Attribute("units".into())),
        ];
        for (bytes, kind, part) in parts {
            let reference = Reference { file: None, object: OBJECT, part };
            let mut out = Vec::new();
            put_blob(&mut out, OBJECT, &reference.part, 2).unwrap();
            assert_eq!(out, bytes);
            assert_eq!(blob(bytes, kind, false), Ok((&[][..], Some(reference))));
        }
        let foreign = Reference { file: Some("a.h5".into()), object: OBJECT, part: Part::Object };
        assert_eq!(blob(&FOREIGN_BLOB, 2, true), Ok((&[][..], Some(foreign))));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            old in near(&REGION),
            to_object in near(&TO_OBJECT),
            to_region in near(&TO_REGION),
            region_blob in near(&REGION_BLOB),
            attribute_blob in near(&ATTRIBUTE_BLOB),
            foreign_blob in near(&FOREIGN_BLOB),
            sizes in any_sizes(),
            (kind, external) in (2u8..5, any::<bool>()),
        ) {
            let _ = object(&old, sizes);
            let _ = region(&old, sizes);
            let _ = element(&to_object, sizes);
            let _ = element(&to_region, sizes);
            for bytes in [&region_blob, &attribute_blob, &foreign_blob] {
                let _ = blob(bytes, kind, external);
            }
        }
    }
}
