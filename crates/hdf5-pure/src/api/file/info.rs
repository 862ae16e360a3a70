//! What a file says of itself, and object headers of their objects.

use sciformats_core::fault::locate;
use sciformats_core::{Result, bound};

use crate::api::file::File;
use crate::audit::space;
use crate::audit::structures::{self, Place};
use crate::object::creation::CreationProperties;
use crate::object::header::Object;
use crate::object::shared;
use crate::spec::btree_v1::BtreeK;
use crate::spec::free_space::{self, FreeSpace, Section};
use crate::spec::message::file_space_info::FileSpaceInfo;
use crate::spec::message::group_info::GroupInfo;
use crate::spec::message::{MessageType, small};
use crate::spec::object_header::Version;
use crate::spec::shared_table::{SharedIndex, SharedRecord};
use crate::spec::superblock::Superblock;
use crate::spec::{Address, Name};

impl File {
    /// The superblock.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// assert_eq!((file.superblock().version, file.superblock().sizes.offsets), (3, 8));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn superblock(&self) -> &Superblock {
        &self.opened().superblock
    }

    /// Where the superblock stands, and what all addresses are relative to: the length of the user block.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let file = Writer::in_memory(&CreateOptions::default().with_user_block(vec![b' '; 512]))?;
    /// assert_eq!(File::from_bytes(file.into_bytes()?)?.base(), 512);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn base(&self) -> u64 {
        self.opened().context.base
    }

    /// Whether the file ends before its superblock says: something was cut off.
    ///
    /// ```
    /// use hdf5_pure::File;
    ///
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let bytes = made.into_bytes()?;
    /// let cut = bytes[..bytes.len() - 1].to_vec();
    /// assert!(File::from_bytes(cut)?.is_truncated() && !File::from_bytes(bytes)?.is_truncated());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn is_truncated(&self) -> bool {
        let context = &self.opened().context;
        let stored = bound::left(self.superblock().end_of_file, self.superblock().base);
        bound::left(context.storage.len(), context.base) < stored
    }

    /// How free space is managed, if the file says it.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, FileSpace, Writer};
    ///
    /// let options = CreateOptions::default().with_file_space(FileSpace::Paged { size: 4096, kept: false });
    /// let file = File::from_bytes(Writer::in_memory(&options)?.into_bytes()?)?;
    /// assert_eq!(file.file_space().and_then(|info| info.page_size), Some(4096));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn file_space(&self) -> Option<&FileSpaceInfo> {
        self.opened().file_space.as_ref()
    }

    /// The sizes of version 1 B-tree nodes: those of the superblock, or of its extension.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// assert_eq!(file.btree_k().chunk, 32); // as the library has it, where the file says nothing
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn btree_k(&self) -> BtreeK {
        self.opened().context.btree_k
    }

    /// The free parts that the file keeps account of.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, FileSpace, Writer};
    ///
    /// let options = CreateOptions::default().with_file_space(FileSpace::Kept);
    /// let file = File::from_bytes(Writer::in_memory(&options)?.into_bytes()?)?;
    /// assert_eq!(file.free_space()?, []); // a new file has no holes
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` if a free-space manager is.
    pub fn free_space(&self) -> Result<Vec<Section>> {
        let context = &self.opened().context;
        let mut found = Vec::new();
        for &at in self.file_space().into_iter().flat_map(|info| &info.managers).flatten() {
            let len = FreeSpace::size(context.sizes) as u64;
            let header =
                context.parse("free-space header", at, len, |i| FreeSpace::parse(i, context.sizes))?;
            let Some(list) = header.list else { continue };
            let bytes = context.read("free-space section list", list, header.list_size)?;
            let base = context.offset(list);
            found.extend(locate("free-space section list", base, &bytes, |i| {
                free_space::sections(i, &header, context.sizes)
            })?);
        }
        Ok(found)
    }

    /// Checks what reading elements and attributes does not show: that no two structures of the file share a byte, that none
    /// lies in space that the file says is free, and that the nodes of trees have the size that the file's K values give
    /// them. The C library refuses such a file sooner or later, or overwrites a part of it.
    ///
    /// Goes through all structures that lead to elements, not through the elements.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut made = Writer::in_memory(&CreateOptions::default())?;
    /// made.dataset("surface/temperature").write(&[281.5, 282.0])?;
    /// File::from_bytes(made.into_bytes()?)?.check_space()?;
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` with the place of the first structure that is wrong.
    pub fn check_space(&self) -> Result<()> {
        space::check(self.opened())
    }

    /// The indexes of messages that several objects share.
    pub fn shared_indexes(&self) -> &[SharedIndex] {
        &self.opened().context.shared
    }

    /// The messages of an index.
    ///
    /// ```no_run
    /// use hdf5_pure::File;
    ///
    /// let file = File::open("weather.h5")?;
    /// for index in file.shared_indexes() {
    ///     println!("{} messages are shared", file.shared_records(index)?.len());
    /// }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` if the index is.
    pub fn shared_records(&self, index: &SharedIndex) -> Result<Vec<SharedRecord>> {
        shared::records(&self.opened().context, index)
    }

    /// What the header of the object at `address` says beside its content.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// let info = file.object_info(file.dataset("surface/temperature")?.address())?;
    /// assert_eq!((info.header_version, info.references), (2, 1));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` if it cannot be read.
    pub fn object_info(&self, address: Address) -> Result<ObjectInfo> {
        let context = &self.opened().context;
        let object = Object::read(context, address)?;
        let count = object.parse(context, MessageType::ReferenceCount, small::reference_count)?;
        let modified = match object.parse(context, MessageType::ModificationTime, small::modification_time)? {
            Some(time) => Some(time),
            None => object.parse(context, MessageType::ModificationTimeOld, small::modification_time_old)?,
        };
        let (header_version, references, times) = match object.prefix.version {
            Version::V1 { references, .. } => (1, references, None),
            Version::V2 { times, .. } => (2, count.unwrap_or(1), times),
        };
        Ok(ObjectInfo {
            header_version,
            references,
            times,
            modified: times.map(|[_, modified, ..]| modified).or(modified),
            comment: object.parse(context, MessageType::Comment, small::comment)?,
            group: object.parse(context, MessageType::GroupInfo, GroupInfo::parse)?,
            messages: object.messages().iter().map(|m| (m.kind, m.offset, m.len())).collect(),
            blocks: object.blocks.into_vec(),
        })
    }

    /// What the object at `address` says of itself as it was made to: its creation properties and its times.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let file = Writer::in_memory(&CreateOptions::default().with_track_order(true))?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// let properties = file.creation_properties(file.root()?.address())?;
    /// assert_eq!(properties.links.map(|links| links.order), Some(properties.attribute_order));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` if it cannot be read.
    pub fn creation_properties(&self, address: Address) -> Result<CreationProperties> {
        let context = &self.opened().context;
        CreationProperties::of(context, &Object::read(context, address)?)
    }

    /// The heaps, trees and arrays that the object at `address` needs beside its header; those that cannot be read are
    /// items.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("temperature").max_shape([None]).chunks([2]).write(&[281.5, 282.0, 282.5])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// for place in file.places_of(file.dataset("temperature")?.address())? {
    ///     let place = place?;
    ///     println!("{} at {}: {:?}", place.structure, place.offset, place.fields);
    /// }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` if the header cannot be read.
    pub fn places_of(&self, address: Address) -> Result<Vec<Result<Place>>> {
        let context = &self.opened().context;
        Ok(structures::of(context, &Object::read(context, address)?))
    }
}

/// What an object's header says beside its content.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default().with_time(1_700_000_000))?;
/// file.dataset("temperature").comment("at noon").write(&[281.5, 282.0])?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// let info = file.object_info(file.dataset("temperature")?.address())?;
/// assert_eq!(info.modified, Some(1_700_000_000));
/// assert_eq!(info.comment.map(|text| text.to_string()).as_deref(), Some("at noon"));
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ObjectInfo {
    /// 1 or 2.
    pub header_version: u8,
    /// Hard links to the object, as it counts them.
    pub references: u32,
    /// Access, modification, change and birth, in seconds of the Unix epoch.
    pub times: Option<[u32; 4]>,
    /// Time of the last modification, in seconds of the Unix epoch.
    pub modified: Option<u32>,
    /// A comment.
    pub comment: Option<Name>,
    /// When a group's links move to dense storage, where the group says it.
    pub group: Option<GroupInfo>,
    /// All messages, the absolute offsets of their bodies, and the bytes of these.
    pub messages: Vec<(MessageType, u64, u64)>,
    /// Absolute offsets and bytes of the header's parts: the first one, and those where it continues.
    pub blocks: Vec<(u64, u64)>,
}
