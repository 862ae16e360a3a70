//! Opens files: finds the superblock, assembles the parts of a file, and reads what holds for the whole file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, RwLock};

use sciformats_core::commit::journal::{self, Interrupted};
use sciformats_core::fault::{FaultKind, locate};
use sciformats_core::storage::{Access, Overlay};
use sciformats_core::{Error, External, Fault, ReadAt, Result, bound};

use crate::chunk::cache::ChunkCache;
use crate::file::cache_image::patches;
use crate::file::live::{Growing, Live};
use crate::file::missing::MissingList;
use crate::file::options::{MissingSources, OpenOptions};
use crate::file::set;
use crate::object::header::Object;
use crate::space::context::Context;
use crate::spec::btree_v1::BtreeK;
use crate::spec::driver_info::DriverInfo;
use crate::spec::message::file_space_info::FileSpaceInfo;
use crate::spec::message::{MessageType, small};
use crate::spec::object_header::WAS_UNKNOWN;
use crate::spec::superblock::{Rest, SIGNATURE, Superblock};
use crate::spec::{Address, cache_image, shared_table};

/// An open file.
pub(crate) struct Opened {
    pub(crate) context: Context,
    pub(crate) superblock: Superblock,
    pub(crate) root: Address,
    pub(crate) path: Option<PathBuf>,
    pub(crate) file_space: Option<FileSpaceInfo>,
    pub(crate) options: OpenOptions,
    pub(crate) chunks: ChunkCache,
    /// Whether nobody changes the file while it is open, as far as this is known.
    pub(crate) unchanging: bool,
    /// How reads are repeated, if another program is writing the file.
    pub(crate) live: Option<Live>,
    /// The path by which a walk first reaches each object. It is computed when it is first needed.
    pub(crate) paths: OnceLock<HashMap<Address, Box<[u8]>>>,
    /// The sources that were missing, for this file and for the files that were opened on its behalf.
    pub(crate) missing_list: Arc<MissingList>,
}

impl Opened {
    /// Opens the file at `path`.
    pub(crate) fn open(path: &Path, options: &OpenOptions) -> Result<Self> {
        Self::of_path(path, options).map_err(|error| error.in_file(path, None))
    }

    fn of_path(path: &Path, options: &OpenOptions) -> Result<Self> {
        let storage = options.external.open(path, options.access)?;
        if superblock(&*storage).is_ok_and(|(_, superblock)| superblock.is_written()) {
            // Another program is writing the file. A map or a buffer could mix what was read before with what is read
            // later, so every read asks the system.
            let options = options.clone().with_access(Access::direct());
            if let External::Lent(_) = options.external {
                return Self::of(options.external.open(path, options.access)?, Some(path), &options);
            }
            let live = Live::new(path);
            let opened = live.attempts(|| Self::of(Arc::new(Growing::open(path)?), Some(path), &options))?;
            return Ok(Self { live: Some(live), ..opened });
        }
        Self::of(storage, Some(path), options)
    }

    /// Opens the file in `storage`. If a commit was interrupted, the file appears in the state of its last effective
    /// commit.
    pub(crate) fn of(storage: Arc<dyn ReadAt>, path: Option<&Path>, options: &OpenOptions) -> Result<Self> {
        if journal_of(&*storage)?.is_some() {
            return Self::plain(Arc::new(journal::view(storage)?), path, options);
        }
        Self::plain(storage, path, options)
    }

    /// Opens the file in `storage`, and ignores a journal at its end.
    pub(crate) fn plain(
        storage: Arc<dyn ReadAt>,
        path: Option<&Path>,
        options: &OpenOptions,
    ) -> Result<Self> {
        let (position, superblock) = superblock(&*storage)?;
        let sizes = superblock.sizes;
        let btree_k = match superblock.rest {
            Rest::Old { chunk_k, group_internal_k, group_leaf_k, .. } => {
                BtreeK { chunk: chunk_k, group_internal: group_internal_k, group_leaf: group_leaf_k }
            }
            Rest::New { .. } => BtreeK { chunk: 32, group_internal: 16, group_leaf: 4 },
        };
        let mut context = Context {
            btree_k,
            storage,
            base: position,
            sizes,
            limits: options.limits,
            registry: options.registry.clone(),
            shared: Vec::new(),
            verified: RwLock::default(),
        };
        // Whoever lends the file without a path may know its name.
        let own = options.external.own_name().filter(|_| path.is_none());
        let (external, access) = (&options.external, options.access);
        let place = set::Place { path: path.or(own.as_deref()), external, access };
        if let Rest::New { extension: Some(Address(at)), .. } = superblock.rest
            && at > MOST_BYTES
        {
            context.storage = set::parted(&context.storage, &place, at)?.ok_or_else(|| {
                Error::unsupported(
                    "a file of several parts by kind of content whose part with object headers is not beside it as `NAME-o.h5`, where NAME-s.h5 is the file that was opened",
                )
            })?;
        }
        let whole = match driver_info(&context, &superblock)? {
            Some((info, at)) => set::assemble(&context.storage, &place, &info, at)?,
            None => set::unannounced(&context.storage, &place, superblock.end_of_file)?,
        };
        if let Some(whole) = whole {
            context.storage = whole;
        }
        let mut file_space = None;
        if let Rest::New { extension: Some(extension), .. } = superblock.rest {
            file_space = read_extension(&mut context, extension)?;
            let btree_k =
                Object::read(&context, extension)?.parse(&context, MessageType::BtreeK, BtreeK::parse)?;
            context.btree_k = btree_k.unwrap_or(context.btree_k);
        }
        let root = superblock.root().ok_or_else(|| {
            let kind = FaultKind::Rule("is the undefined address");
            Fault::new("root group object header address", kind).at("superblock", position)
        })?;
        Ok(Self {
            context,
            superblock,
            root,
            path: path.map(Path::to_path_buf),
            file_space,
            options: options.clone(),
            chunks: ChunkCache::new(options.chunk_cache),
            unchanging: options.access != Access::direct(),
            live: None,
            paths: OnceLock::new(),
            missing_list: Arc::default(),
        })
    }

    /// Opens another file in the same way.
    pub(crate) fn open_beside(&self, path: &Path) -> Result<Self> {
        let opened = Self::open(path, &self.options)?;
        Ok(Self { missing_list: Arc::clone(&self.missing_list), ..opened })
    }

    /// Reads, and repeats a read that failed if another program is writing the file, because a structure may be half written.
    pub(crate) fn attempts<T>(&self, mut read: impl FnMut() -> Result<T>) -> Result<T> {
        match &self.live {
            Some(live) => live.attempts(read),
            None => read(),
        }
    }

    /// Records that a source of wanted elements is missing.
    ///
    /// # Errors
    /// Returns the same error if the caller does not accept substitutes for these elements.
    pub(crate) fn missing(&self, error: Error) -> Result<()> {
        match self.options.missing {
            MissingSources::Filled => self.missing_list.add(error),
            MissingSources::Refused => return Err(error),
        }
        Ok(())
    }

    /// Returns the folder of the file.
    pub(crate) fn folder(&self) -> Option<&Path> {
        let parent = self.path.as_deref()?.parent()?;
        Some(if parent.as_os_str().is_empty() { Path::new(".") } else { parent })
    }

    /// Returns the number of threads that a read may use.
    pub(crate) fn threads(&self) -> usize {
        // Asking the system takes longer than a small read, so it is asked only once.
        static AVAILABLE: OnceLock<usize> = OnceLock::new();
        match self.options.threads {
            0 => *AVAILABLE.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from)),
            threads => threads,
        }
    }
}

/// Returns the journal at the end of the file if a commit was interrupted.
///
/// # Errors
/// Returns `Malformed` if the journal is damaged, or if it belongs to an earlier state of the file because another
/// program has written to it since.
pub(crate) fn journal_of(storage: &dyn ReadAt) -> Result<Option<Interrupted>> {
    let Some(found) = journal::interrupted(storage)? else { return Ok(None) };
    let (position, superblock) = superblock(storage)?;
    let end = bound::sum(bound::left(superblock.end_of_file, superblock.base), position);
    if end == found.old_len || end == found.new_len && found.committed {
        return Ok(Some(found));
    }
    if !found.committed {
        // The commit of this journal never became effective, so the journal can be ignored.
        return Ok(None);
    }
    let rule = FaultKind::Rule(
        "belongs to an earlier state of the file: another program changed the file after an edit was interrupted",
    );
    Err(Fault::from(rule).at("journal", found.offset))
}

/// Returns the superblock and its offset, which is 0, 512, 1024, or the next power of two.
pub(crate) fn superblock(storage: &dyn ReadAt) -> Result<(u64, Superblock)> {
    let mut position = 0u64;
    while position.checked_add(SIGNATURE.len() as u64).is_some_and(|end| end <= storage.size()) {
        if *storage.read_at(position, SIGNATURE.len())? == SIGNATURE {
            let len = bound::left(storage.size(), position).min(Superblock::MAX_SIZE as u64);
            let bytes = storage.read_at(position, bound::addressable(len))?;
            return Ok((position, locate("superblock", position, &bytes, Superblock::parse)?));
        }
        position = bound::product(position, 2).max(512);
    }
    Err(Error::not_this_format("HDF5", storage))
}

/// More bytes than any file has. The multi driver gives each kind of content a sixth of all addresses, so with a new superblock the part
/// with object headers tells where the parts are, and the first part does not tell where that one is.
pub(crate) const MOST_BYTES: u64 = 1 << 60;

/// Returns the driver information and its absolute offset. Its place depends on the version of the superblock.
fn driver_info(context: &Context, superblock: &Superblock) -> Result<Option<(DriverInfo, u64)>> {
    const BLOCK: &str = "driver information block";
    match superblock.rest {
        Rest::Old { driver_info: Some(at), .. } => {
            let bytes = context.read_some(BLOCK, at, 16 + 65_536)?;
            let info = locate(BLOCK, context.offset(at), &bytes, DriverInfo::parse_block)?;
            Ok(Some((info, bound::sum(context.offset(at), 16))))
        }
        Rest::New { extension: Some(at), .. } => {
            let object = Object::read(context, at)?;
            let info = object.parse(context, MessageType::DriverInfo, DriverInfo::parse_message)?;
            Ok(info.zip(object.find(MessageType::DriverInfo).map(|message| message.offset)))
        }
        _ => Ok(None),
    }
}

/// Reads what the superblock extension says about the whole file.
fn read_extension(context: &mut Context, at: Address) -> Result<Option<FileSpaceInfo>> {
    let sizes = context.sizes;
    let (image, table, file_space) = {
        let object = Object::read(context, at)?;
        let image =
            object.parse(context, MessageType::CacheImage, |i| cache_image::message(i, sizes))?.flatten();
        let table = object.parse(context, MessageType::SharedTable, |i| small::shared_table(i, sizes))?;
        // If another program has changed the file without understanding this message, the message is out of date.
        let stale =
            object.find(MessageType::FileSpaceInfo).is_some_and(|message| message.flags & WAS_UNKNOWN != 0);
        let file_space = match stale {
            true => None,
            false => object.parse(context, MessageType::FileSpaceInfo, |i| FileSpaceInfo::parse(i, sizes))?,
        };
        (image, table, file_space)
    };
    if let Some((at, len)) = image {
        let patches = patches(context, at, len)?;
        let size = context.storage.size();
        context.storage = Arc::new(Overlay::new(context.storage.clone(), size, patches));
    }
    if let Some((at, indexes)) = table {
        let len = shared_table::size(sizes, indexes) as u64;
        context.shared =
            context.parse("shared message table", at, len, |i| shared_table::table(i, sizes, indexes))?;
    }
    Ok(file_space)
}
