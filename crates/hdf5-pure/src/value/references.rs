//! References that elements can hold.

use std::collections::HashMap;

use sciformats_core::arith::present;
use sciformats_core::fault::locate;
use sciformats_core::{Result, Slab};

use crate::file::open::Opened;
use crate::heap::global::GlobalHeap;
use crate::object::bound::Bound;
use crate::object::header::Object;
use crate::spec::message::MessageType;
use crate::spec::message::dataspace::Dataspace;
use crate::spec::message::datatype::{Class, Datatype, ReferenceKind};
use crate::spec::reference::{self, Part};
use crate::spec::selection::Selection;
use crate::spec::{Address, Name, put_uint};
use crate::value::element::{Element, Values};
use crate::value::store::{Encoder, Store};

/// A reference to an object of the file, or a null reference. [`Writer::reference`](crate::Writer::reference) creates
/// one.
///
/// ```
/// use hdf5_pure::{Address, CreateOptions, File, Writer};
/// use hdf5_pure::references::Reference;
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// let temperature = file.dataset("temperature").write(&[281.5, 282.0])?;
/// let references = [file.reference(temperature)?, Reference::default()]; // the second leads nowhere
/// file.dataset("plotted").write(&references)?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// let plotted: Vec<Option<Address>> = file.dataset("plotted")?.read()?;
/// assert!(plotted[0].is_some() && plotted[1].is_none());
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Reference(pub(crate) Option<u64>);

impl Reference {
    pub(crate) fn to(address: u64) -> Self {
        Self(Some(address))
    }

    /// Returns the address of the object header that it leads to, or `None` for a null reference.
    ///
    /// ```
    /// use hdf5_pure::references::Reference;
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let temperature = file.dataset("temperature").write(&[281.5, 282.0])?;
    /// let reference = file.reference(temperature)?;
    /// file.root().attribute("default", reference)?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// let read: Reference = file.root()?.attr("default")?.unwrap_or_default();
    /// if let Some(address) = read.address() {
    ///     assert_eq!(file.dataset_at(address)?.read::<f64>()?, [281.5, 282.0]);
    /// }
    /// # assert!(read == reference && read.address().is_some());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn address(&self) -> Option<Address> {
        self.0.map(Address)
    }
}

/// Refers to the object whose header is at an address of the file.
impl From<Address> for Reference {
    fn from(address: Address) -> Self {
        Self::to(address.0)
    }
}

/// Reads object references.
impl Element for Reference {
    fn read(values: &Values<'_>) -> Result<Vec<Self>> {
        let all = <Option<Address> as Element>::read(values)?;
        Ok(all.into_iter().map(|address| Self(address.map(|address| address.0))).collect())
    }
}

impl Store for Reference {
    fn datatype() -> Datatype {
        Datatype { version: 1, size: 8, class: Class::Reference(ReferenceKind::Object) }
    }

    fn encode(values: &[Self], to: &mut Encoder<'_>) -> Result<()> {
        /// The address that stands for a null reference.
        const NULL: u64 = 0;
        values.iter().try_for_each(|reference| to.address(reference.0.unwrap_or(NULL)))
    }
}

/// A reference to a part of a dataset of the file.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Slab, Writer};
/// use hdf5_pure::references::RegionReference;
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// let temperature = file.dataset("temperature").write(&[281.5, 282.0, 282.5])?;
/// let warm = RegionReference::new(file.reference(temperature)?, Slab::new(&[3], [(1..3).into()])?);
/// file.root().attribute("warm", warm)?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// let warm: Option<RegionReference> = file.root()?.attr("warm")?;
/// # assert!(warm.as_ref().is_some_and(|warm| warm.dataset().address().is_some()));
/// if let Some(warm) = warm
///     && let Some(address) = warm.dataset().address()
/// {
///     assert_eq!(file.dataset_at(address)?.read_selection::<f64>(warm.selection())?, [282.0, 282.5]);
/// }
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionReference {
    object: Reference,
    selection: Selection,
    rank: usize,
}

impl RegionReference {
    /// Creates a reference to the elements of `slab` of the dataset that `dataset` refers to.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Slab, Writer};
    /// use hdf5_pure::references::RegionReference;
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let image = file.dataset("image").shape([4, 4]).write(&[0u8; 16])?;
    /// let corner = Slab::new(&[4, 4], [(0..2).into(), (0..2).into()])?;
    /// let corner = RegionReference::new(file.reference(image)?, corner);
    /// file.dataset("regions").write(&[corner])?;
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[allow(clippy::needless_pass_by_value, reason = "the reference stands for the slab")]
    pub fn new(dataset: Reference, slab: Slab) -> Self {
        Self::of(dataset, Selection::of(&slab), slab.of().len())
    }

    /// Creates a reference to the elements of any selection of the dataset that `dataset` refers to, which has `rank`
    /// dimensions.
    ///
    /// ```
    /// use hdf5_pure::structure::Selection;
    /// use hdf5_pure::{CreateOptions, Writer};
    /// use hdf5_pure::references::RegionReference;
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let image = file.dataset("image").shape([4, 4]).write(&[0u8; 16])?;
    /// let dead_pixels = Selection::Points(vec![vec![0, 3], vec![2, 2]]);
    /// let dead_pixels = RegionReference::of(file.reference(image)?, dead_pixels, 2);
    /// file.root().attribute("dead pixels", dead_pixels)?;
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn of(dataset: Reference, selection: Selection, rank: usize) -> Self {
        Self { object: dataset, selection, rank }
    }

    /// Returns the reference to the dataset, which is null if the reference to its part is null.
    pub fn dataset(&self) -> Reference {
        self.object
    }

    /// Returns which elements of the dataset are meant.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Returns the number of dimensions of the dataset, or 0 if the reference is null.
    pub fn rank(&self) -> usize {
        self.rank
    }

    fn null() -> Self {
        Self::of(Reference::default(), Selection::None, 0)
    }

    /// Returns the selection, if a file with this bound can hold it.
    fn within(&self, bound: Bound) -> Result<&Selection> {
        let narrow = |coordinates: &[u64]| coordinates.iter().all(|&at| u32::try_from(at).is_ok());
        let old = match &self.selection {
            Selection::None | Selection::All => true,
            Selection::Points(points) => points.iter().all(|point| narrow(point)),
            Selection::Blocks(blocks) => blocks.iter().all(|(first, last)| narrow(first) && narrow(last)),
            Selection::Regular(_) => {
                bound.needs(
                    Bound::V110,
                    "region references with steps, or with coordinates of 2^32 or more",
                )?;
                true
            }
        };
        if !old {
            bound.needs(
                Bound::V112,
                "region references of blocks or points with coordinates of 2^32 or more",
            )?;
        }
        Ok(&self.selection)
    }
}

/// The numbers of dimensions of datasets, which a selection of all elements or of none does not tell.
#[derive(Default)]
struct Ranks(HashMap<Address, usize>);

impl Ranks {
    /// Returns the reference that was found in a file.
    fn region(&mut self, opened: &Opened, object: Address, selection: Selection) -> Result<RegionReference> {
        let rank = match selection.rank() {
            Some(rank) => rank,
            None => self.of(opened, object)?,
        };
        Ok(RegionReference::of(Reference::to(object.0), selection, rank))
    }

    fn of(&mut self, opened: &Opened, object: Address) -> Result<usize> {
        if let Some(rank) = self.0.get(&object) {
            return Ok(*rank);
        }
        let context = &opened.context;
        let header = Object::read(context, object)?;
        let dataspace =
            header.parse(context, MessageType::Dataspace, |i| Dataspace::parse(i, context.sizes))?;
        let rank = dataspace.as_ref().map_or(0, |dataspace| dataspace.shape().len());
        self.0.insert(object, rank);
        Ok(rank)
    }
}

/// Reads region references, and references of the standard type that all lead to regions of this file.
impl Element for RegionReference {
    fn read(values: &Values<'_>) -> Result<Vec<Self>> {
        let mut ranks = Ranks::default();
        let all = <Option<reference::Reference> as Element>::read(values)?;
        all.into_iter()
            .map(|found| match found {
                None => Ok(Self::null()),
                Some(reference::Reference { file: None, object, part: Part::Region(selection) }) => {
                    ranks.region(values.opened(), object, selection)
                }
                Some(_) => Err(values.mismatch("RegionReference")),
            })
            .collect()
    }
}

impl Store for RegionReference {
    fn datatype() -> Datatype {
        Datatype { version: 1, size: 12, class: Class::Reference(ReferenceKind::Region) }
    }

    fn encode(values: &[Self], to: &mut Encoder<'_>) -> Result<()> {
        for value in values {
            let Some(object) = value.object.0 else {
                to.bytes(&vec![0; to.address_width() + 4]);
                continue;
            };
            let mut bytes = Vec::new();
            put_uint(&mut bytes, object, to.address_width())?;
            value.within(to.bound)?.encode(&mut bytes)?;
            to.heap_object(&bytes)?;
        }
        Ok(())
    }
}

/// A reference of the standard type, which came with [`Bound::V112`](crate::options::Bound::V112). It refers to an object, to a
/// part of a dataset, or to an attribute.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer};
/// use hdf5_pure::options::Bound;
/// use hdf5_pure::references::StandardReference;
///
/// let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::V112))?;
/// let temperature = file.dataset("temperature").attribute("units", "K").write(&[281.5, 282.0])?;
/// let units = StandardReference::Attribute(file.reference(temperature)?, "units".into());
/// file.dataset("references").write(&[units])?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// let found: Vec<StandardReference> = file.dataset("references")?.read()?;
/// assert!(matches!(&found[0], StandardReference::Attribute(_, name) if *name == *"units"));
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StandardReference {
    /// Refers to an object, or is null.
    Object(Reference),
    /// Refers to elements of a dataset.
    Region(RegionReference),
    /// Refers to the attribute of this name of an object.
    Attribute(Reference, Name),
    /// Refers into another file.
    External(ExternalReference),
}

/// A reference of the standard type into another file, in the form in which a file stores it: the name of the other
/// file, the address of the object there, and the region or attribute. It is written to a new file unchanged.
///
/// [`File::external_reference`](crate::File::external_reference) reads one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalReference {
    /// The kind of target: 2 for an object, 3 for a region, 4 for an attribute.
    kind: u8,
    blob: Vec<u8>,
}

impl ExternalReference {
    /// Returns the reference in an element if it leads into another file.
    pub(crate) fn read(opened: &Opened, element: &[u8]) -> Result<Option<Self>> {
        let context = &opened.context;
        let parsed = locate("reference", 0, element, |i| reference::element(i, context.sizes))?;
        let reference::Element::Blob { kind, external: true, id } = parsed else { return Ok(None) };
        let mut heap = GlobalHeap::new(context);
        let blob = heap.get(id)?;
        locate("reference", context.offset(id.collection), blob, |i| reference::blob(i, kind, true))?;
        Ok(Some(Self { kind, blob: blob.to_vec() }))
    }
}

impl StandardReference {
    /// Returns the object, and the selected part of it with its number of dimensions. Returns `None` if the reference
    /// is null or leads into another file.
    fn parts(&self, bound: Bound) -> Result<Option<(Address, Part, usize)>> {
        let (object, part, rank) = match self {
            Self::Object(object) => (object, Part::Object, 0),
            Self::Region(region) => {
                (&region.object, Part::Region(region.within(bound)?.clone()), region.rank)
            }
            Self::Attribute(object, name) => (object, Part::Attribute(name.clone()), 0),
            Self::External(_) => return Ok(None),
        };
        Ok(object.0.map(|address| (Address(address), part, rank)))
    }
}

/// Reads references of every type.
impl Element for StandardReference {
    fn read(values: &Values<'_>) -> Result<Vec<Self>> {
        let opened = values.opened();
        let mut ranks = Ranks::default();
        let all = <Option<reference::Reference> as Element>::read(values)?;
        let of = |(found, element): (Option<reference::Reference>, &[u8])| {
            let Some(reference::Reference { file, object, part }) = found else {
                return Ok(Self::Object(Reference::default()));
            };
            if file.is_some() {
                let external = ExternalReference::read(opened, element)?;
                return Ok(Self::External(present(external, "a reference into another file")?));
            }
            Ok(match part {
                Part::Object => Self::Object(Reference::to(object.0)),
                Part::Region(selection) => Self::Region(ranks.region(opened, object, selection)?),
                Part::Attribute(name) => Self::Attribute(Reference::to(object.0), name),
            })
        };
        all.into_iter().zip(values.elements()).map(of).collect()
    }
}

impl Store for StandardReference {
    fn datatype() -> Datatype {
        let size = reference::ELEMENT as u32;
        Datatype { version: 4, size, class: Class::Reference(ReferenceKind::Standard) }
    }

    fn encode(values: &[Self], to: &mut Encoder<'_>) -> Result<()> {
        for value in values {
            if let Self::External(ExternalReference { kind, blob }) = value {
                to.bytes(&reference::external_prefix(*kind, blob.len())?);
                to.heap_object(blob)?;
                continue;
            }
            let mut bytes = Vec::new();
            match value.parts(to.bound)? {
                None => to.bytes(&[0; reference::ELEMENT]),
                Some((object, Part::Object, _)) => {
                    reference::put_object(&mut bytes, object)?;
                    to.bytes(&bytes);
                }
                Some((object, part, rank)) => {
                    reference::put_blob(&mut bytes, object, &part, rank)?;
                    to.bytes(&reference::blob_prefix(&part, bytes.len())?);
                    to.heap_object(&bytes)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structure::{Part, Reference as Found};
    use crate::{CreateOptions, File, Writer};

    #[test]
    fn what_leads_into_another_file_is_written_as_it_was_stored() {
        #[rustfmt::skip]
        let blob = vec![
            8, 0x60, 1, 0, 0, 0, 0, 0, 0, // token: the object's address in the other file
            7, 0, b'r', b'u', b'n', b'2', b'.', b'h', b'5', // name of the file
            5, 0, b'u', b'n', b'i', b't', b's', // name of the attribute
        ];
        let stored = ExternalReference { kind: 4, blob };
        let options = CreateOptions::default().with_bound(Bound::V112);
        let mut file = Writer::in_memory(&options).unwrap();
        let root = file.root().id();
        let here = StandardReference::Object(file.reference(root).unwrap());
        file.dataset("links").write(&[StandardReference::External(stored.clone()), here]).unwrap();

        let file = File::from_bytes(file.into_bytes().unwrap()).unwrap();
        let links = file.dataset("links").unwrap();
        let found: Vec<Option<Found>> = links.read().unwrap();
        let expected = Found {
            file: Some("run2.h5".into()),
            object: Address(0x160),
            part: Part::Attribute("units".into()),
        };
        assert_eq!(found[0], Some(expected));
        assert_eq!(found[1].as_ref().and_then(|found| found.file.clone()), None);

        let elements = links.read_raw(&links.all().unwrap()).unwrap();
        let (first, second) = elements.split_at(reference::ELEMENT);
        assert_eq!(file.external_reference(first).unwrap(), Some(stored));
        assert_eq!(file.external_reference(second).unwrap(), None);
        assert!(file.external_reference(&first[..4]).is_err());
    }
}
