//! Creation properties: what objects say about themselves beside their content.

use sciformats_core::{Error, Result};

use crate::object::header::Object;
use crate::space::context::Context;
use crate::spec::message::dense::LinkInfo;
use crate::spec::message::group_info::GroupInfo;
use crate::spec::message::{MessageType, small};
use crate::spec::object_header::{Version, v2};

/// Whether the creation order of links or attributes is tracked.
///
/// ```
/// use hdf5_pure::structure::CreationOrder;
/// use hdf5_pure::{CreateOptions, File, Writer};
///
/// let file = Writer::in_memory(&CreateOptions::default().with_track_order(true))?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// let root = file.creation_properties(file.root()?.address())?;
/// assert_eq!(root.attribute_order, CreationOrder::Indexed);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum CreationOrder {
    /// It is not tracked.
    #[default]
    Unknown,
    /// Each link or attribute has a creation order number.
    Tracked,
    /// Each link or attribute has a creation order number, and dense storage has an index by it.
    Indexed,
}

impl CreationOrder {
    fn of(tracked: bool, indexed: bool) -> Self {
        match (tracked, indexed) {
            (false, _) => Self::Unknown,
            (true, false) => Self::Tracked,
            (true, true) => Self::Indexed,
        }
    }

    pub(crate) fn is_tracked(self) -> bool {
        self != Self::Unknown
    }

    pub(crate) fn is_indexed(self) -> bool {
        self == Self::Indexed
    }
}

/// What an object says about itself beside its content: the part of its creation property list that groups, datasets
/// and datatypes have in common, and its times.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer};
///
/// let source = Writer::in_memory(&CreateOptions::default().with_track_order(true).with_time(1_700_000_000))?;
/// let source = File::from_bytes(source.into_bytes()?)?;
/// let properties = source.creation_properties(source.root()?.address())?;
///
/// let mut copy = Writer::in_memory(&CreateOptions::default())?;
/// let root = copy.root().id();
/// copy.creation_properties(root, &properties)?;
/// let copy = File::from_bytes(copy.into_bytes()?)?;
/// assert_eq!(copy.creation_properties(copy.root()?.address())?, properties);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CreationProperties {
    /// The version of the object header: 1 or 2.
    pub header_version: u8,
    /// The times of access, modification, change and birth, in seconds since 1970, if the object stores all of them.
    pub times: Option<[u32; 4]>,
    /// The time of the last modification, if the object stores only this one.
    pub modified: Option<u32>,
    /// The creation order of attributes.
    pub attribute_order: CreationOrder,
    /// The largest number of attributes in the header and the smallest number in dense storage, if the object stores
    /// them; otherwise 8 and 6 apply.
    pub attribute_phase_change: Option<(u16, u16)>,
    /// The link properties of a new-style group; `None` for groups with symbol tables and for other objects.
    pub links: Option<LinkProperties>,
}

/// What a new-style group says about its links. [`CreationProperties`] has an example.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LinkProperties {
    /// The creation order of the links.
    pub order: CreationOrder,
    /// The largest number of links in the header and the smallest number in dense storage, if the group stores them;
    /// otherwise 8 and 6 apply.
    pub phase_change: Option<(u16, u16)>,
    /// The expected number of links and the expected length of their names, if the group stores them; otherwise 4 and 8
    /// apply.
    pub estimates: Option<(u16, u16)>,
}

impl CreationProperties {
    /// Checks that an object with these properties can be written.
    pub(crate) fn check(&self) -> Result<()> {
        match (self.header_version, self.attribute_order) {
            (1, CreationOrder::Unknown) | (2, _) => Ok(()),
            _ => Err(Error::usage(
                "header version",
                "must be 1 or 2, and must be 2 if the creation order of attributes is tracked",
            )),
        }
    }

    /// Returns the properties of a new object for which nothing else was requested.
    pub(crate) fn of_new(old: bool, tracked: bool, modified: Option<u32>) -> Self {
        let order = CreationOrder::of(tracked, tracked);
        let is_old = old && !tracked;
        Self {
            header_version: if is_old { 1 } else { 2 },
            modified,
            attribute_order: order,
            links: (!is_old).then(|| LinkProperties { order, ..LinkProperties::default() }),
            ..Self::default()
        }
    }

    /// Returns the properties of an object of a file.
    pub(crate) fn of(context: &Context, object: &Object<'_>) -> Result<Self> {
        let group = object.parse(context, MessageType::GroupInfo, GroupInfo::parse)?;
        let sizes = context.sizes;
        let info = object.parse(context, MessageType::LinkInfo, |i| LinkInfo::parse(i, sizes))?;
        let links = info.map(|info| LinkProperties {
            order: CreationOrder::of(info.max_creation_index.is_some(), info.by_creation_order.is_some()),
            phase_change: group.and_then(|group| group.phase_change),
            estimates: group.and_then(|group| group.estimates),
        });
        let modified = object.parse(context, MessageType::ModificationTime, small::modification_time)?;
        Ok(match object.prefix.version {
            Version::V1 { .. } => Self { header_version: 1, modified, links, ..Self::default() },
            Version::V2 { flags, times, phase_change } => Self {
                header_version: 2,
                times,
                modified,
                attribute_order: CreationOrder::of(flags & v2::TRACKED != 0, flags & v2::INDEXED != 0),
                attribute_phase_change: phase_change,
                links,
            },
        })
    }

    /// Returns whether the header has version 1, and whether it numbers its attributes.
    pub(crate) fn form(&self) -> (bool, bool) {
        (self.header_version == 1, self.attribute_order.is_tracked())
    }

    /// Returns the largest number of attributes in the header.
    pub(crate) fn most_attributes(&self) -> usize {
        self.attribute_phase_change.map_or(8, |(most, _)| most.into())
    }
}

impl LinkProperties {
    /// Returns the largest number of links in the header.
    pub(crate) fn most(&self) -> usize {
        self.phase_change.map_or(8, |(most, _)| most.into())
    }

    pub(crate) fn info(&self) -> GroupInfo {
        GroupInfo { phase_change: self.phase_change, estimates: self.estimates }
    }
}
