//! What objects say of themselves beside their content, as they were made to.

use sciformats_core::Result;

use crate::object::header::Object;
use crate::space::context::Context;
use crate::spec::message::group_info::GroupInfo;
use crate::spec::message::link_info::LinkInfo;
use crate::spec::message::{MessageType, small};
use crate::spec::object_header::{Version, v2};

/// Whether the order in which links or attributes are made is kept.
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
    /// It is not.
    #[default]
    Unknown,
    /// Each has its number.
    Tracked,
    /// Each has its number, and where they are many, there is an index by it.
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

/// What an object says of itself beside its content: its creation property list, as far as that is the same for groups,
/// datasets and datatypes, and its times.
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
    /// Version of the object header, 1 or 2.
    pub header_version: u8,
    /// Access, modification, change and birth, in seconds of the Unix epoch, where the object keeps all of them.
    pub times: Option<[u32; 4]>,
    /// Time of the last modification, where it keeps that alone.
    pub modified: Option<u32>,
    /// The order of attributes.
    pub attribute_order: CreationOrder,
    /// Most attributes in the header, and fewest outside, where the object says so; 8 and 6 otherwise.
    pub attribute_phase_change: Option<(u16, u16)>,
    /// What a group of the new style says of its links; nothing for groups with symbol tables, and for other objects.
    pub links: Option<LinkProperties>,
}

/// What a group of the new style says of its links: see [`CreationProperties`], which has an example.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LinkProperties {
    /// Their order.
    pub order: CreationOrder,
    /// Most links in the header, and fewest outside, where the group says so; 8 and 6 otherwise.
    pub phase_change: Option<(u16, u16)>,
    /// How many links are expected, and how long their names, where the group says so; 4 and 8 otherwise.
    pub estimates: Option<(u16, u16)>,
}

impl CreationProperties {
    /// Those of an object that is made without more being said of it.
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

    /// Those of an object of a file.
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

    /// Most attributes in the header.
    pub(crate) fn most_attributes(&self) -> usize {
        self.attribute_phase_change.map_or(8, |(most, _)| most.into())
    }
}

impl LinkProperties {
    /// Most links in the header.
    pub(crate) fn most(&self) -> usize {
        self.phase_change.map_or(8, |(most, _)| most.into())
    }

    pub(crate) fn info(&self) -> GroupInfo {
        GroupInfo { phase_change: self.phase_change, estimates: self.estimates }
    }
}
