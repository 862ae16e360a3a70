//! References as they are stored in elements.
//!
//! Old ones: an object's address (O), or the global heap object of a region: address and selection.
//! New ones (datatype version 4): kind (1), flags (1), then the object's token, or a blob in the global heap.

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

/// An old object reference; `None` if it is null.
pub(crate) fn object(i: &[u8], sizes: Sizes) -> Parsed<'_, Option<Address>> {
    let (i, address) = field("object address", address(sizes))(i)?;
    Ok((i, address.filter(|address| address.0 != 0)))
}

/// The heap object of an old region reference.
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
    /// No object.
    Null,
    /// An object of this file.
    Object(Address),
    /// A blob in the global heap.
    Blob { kind: u8, external: bool, id: GlobalId },
}

/// An element of the new reference type.
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

/// The blob of an [`Element::Blob`].
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

/// Bytes of an element of the new reference type.
pub(crate) const ELEMENT: usize = 18;

/// Appends an element that leads to an object of this file.
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

/// What stands before the heap ID in an element that leads into another file; the blob has `len` bytes.
pub(crate) fn external_prefix(kind: u8, len: usize) -> Result<[u8; 6]> {
    let [a, b, c, d] = fit::<u32, _>(len, "size of a blob")?.to_le_bytes();
    Ok([kind, 1, a, b, c, d])
}

/// What stands before the heap ID in an element that leads to a part of an object; the blob has `len` bytes.
pub(crate) fn blob_prefix(part: &Part, len: usize) -> Result<[u8; 6]> {
    let kind = match part {
        Part::Object => 2,
        Part::Region(_) => 3,
        Part::Attribute(_) => 4,
    };
    let [a, b, c, d] = fit::<u32, _>(len, "size of a blob")?.to_le_bytes();
    Ok([kind, 0, a, b, c, d])
}

/// Appends the blob of an element that leads to a part of an object of this file; a region has `rank` dimensions.
///
/// # Errors
/// [`Error::Usage`] for a name of 64 KiB or more, and for a region that is none of `rank` dimensions.
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
