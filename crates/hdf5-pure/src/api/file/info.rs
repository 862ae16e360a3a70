//! Information about a file as a whole, and about its object headers.

use sciformats_core::fault::locate;
use sciformats_core::{Result, bound};

use crate::api::file::File;
use crate::audit::space;
use crate::audit::structures::{self, StructureInfo};
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
    /// Returns the superblock.
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

    /// Returns the offset of the superblock, to which all addresses are relative. This is the length of the user block.
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

    /// Returns whether the file is shorter than its superblock says, because its end was cut off.
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
        bound::left(context.storage.size(), context.base) < stored
    }

    /// Returns how the free space of the file is managed, if the file stores this.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::options::FileSpace;
    ///
    /// let options = CreateOptions::default().with_file_space(FileSpace::Paged { size: 4096, tracked: false });
    /// let file = File::from_bytes(Writer::in_memory(&options)?.into_bytes()?)?;
    /// assert_eq!(file.file_space().and_then(|info| info.page_size), Some(4096));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn file_space(&self) -> Option<&FileSpaceInfo> {
        self.opened().file_space.as_ref()
    }

    /// Returns the K values, which give the sizes of version 1 B-tree nodes. They come from the superblock or its
    /// extension.
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

    /// Returns the free sections that the file keeps track of.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::options::FileSpace;
    ///
    /// let options = CreateOptions::default().with_file_space(FileSpace::Tracked);
    /// let file = File::from_bytes(Writer::in_memory(&options)?.into_bytes()?)?;
    /// assert_eq!(file.free_space()?, []); // a new file has no holes
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if a free-space manager is damaged.
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

    /// Checks what reading elements and attributes does not show: that no two structures overlap, that no structure
    /// lies in free space, and that B-tree nodes have the size that the file's K values require. The C library refuses
    /// a file that breaks these rules, or overwrites parts of it.
    ///
    /// The check visits all structures that lead to elements, but does not read the elements.
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
    /// Returns `Malformed` with the offset of the first wrong structure.
    pub fn check_space(&self) -> Result<()> {
        self.opened().attempts(|| space::check(self.opened()))
    }

    /// Returns the indexes of messages that objects share.
    pub fn shared_indexes(&self) -> &[SharedIndex] {
        &self.opened().context.shared
    }

    /// Returns the records of an index of shared messages.
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
    /// Returns `Malformed` if the index is damaged.
    pub fn shared_records(&self, index: &SharedIndex) -> Result<Vec<SharedRecord>> {
        shared::records(&self.opened().context, index)
    }

    /// Returns what the header of the object at `address` says beside its content.
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
    /// Returns `Malformed` if the header cannot be read.
    pub fn object_info(&self, address: Address) -> Result<ObjectInfo> {
        let context = &self.opened().context;
        let object = self.opened().attempts(|| Object::read(context, address))?;
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
            blocks: object.blocks().collect(),
        })
    }

    /// Returns the creation properties and the times of the object at `address`.
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
    /// Returns `Malformed` if the header cannot be read.
    pub fn creation_properties(&self, address: Address) -> Result<CreationProperties> {
        let context = &self.opened().context;
        self.opened().attempts(|| CreationProperties::of(context, &Object::read(context, address)?))
    }

    /// Returns the heaps, B-trees and arrays that the object at `address` uses beside its header. If one of them cannot
    /// be read, its item is the error.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("temperature").max_shape([None]).chunks([2]).write(&[281.5, 282.0, 282.5])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// for place in file.structures_of(file.dataset("temperature")?.address())? {
    ///     let place = place?;
    ///     println!("{} at {}: {:?}", place.structure, place.offset, place.fields);
    /// }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if the header cannot be read.
    pub fn structures_of(&self, address: Address) -> Result<Vec<Result<StructureInfo>>> {
        let context = &self.opened().context;
        let object = self.opened().attempts(|| Object::read(context, address))?;
        Ok(structures::of(context, &object))
    }
}

/// What an object header says beside the content of the object.
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
    /// The version of the header: 1 or 2.
    pub header_version: u8,
    /// The number of hard links to the object, as the header counts them.
    pub references: u32,
    /// The times of access, modification, change and birth, in seconds since 1970.
    pub times: Option<[u32; 4]>,
    /// The time of the last modification, in seconds since 1970.
    pub modified: Option<u32>,
    /// The comment of the object.
    pub comment: Option<Name>,
    /// When the links of a group move to dense storage, if the group stores this.
    pub group: Option<GroupInfo>,
    /// All messages: the type, and the absolute offset and the size of each body.
    pub messages: Vec<(MessageType, u64, u64)>,
    /// The absolute offsets and sizes of the header's chunks: the first chunk, then its continuations.
    pub blocks: Vec<(u64, u64)>,
}
