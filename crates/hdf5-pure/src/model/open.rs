//! Opening: finding the superblock, putting the parts of a file together, and looking up paths.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use sciformats_core::commit::journal::{self, Interrupted};
use sciformats_core::fault::{FaultKind, locate};
use sciformats_core::storage::{Access, Overlay, Patch};
use sciformats_core::{Error, External, Fault, Limits, ReadAt, Result};

use super::chunk_cache::ChunkCache;
use super::context::Context;
use super::object::Object;
use super::{file_set, links};
use crate::model::filters::Registry;
use crate::spec::btree_v1::BtreeK;
use crate::spec::driver_info::DriverInfo;
use crate::spec::message::file_space_info::FileSpaceInfo;
use crate::spec::message::link::Target;
use crate::spec::message::{MessageType, small};
use crate::spec::object_header::WAS_UNKNOWN;
use crate::spec::superblock::{Rest, SIGNATURE, Superblock};
use crate::spec::{Address, cache_image, shared_table};

/// How a file is opened.
///
/// ```
/// use hdf5_pure::{Access, External, File, Limits, OpenOptions};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("weather.h5");
/// # let mut made = hdf5_pure::Writer::create(&path)?;
/// # made.root().attribute("title", "a week in May")?;
/// # let made_dataset = made.dataset("surface/temperature").shape([2, 3]).max_shape([None, Some(3)]);
/// # made_dataset.attribute("units", "K").write(&[281.5, 282.0, 282.5, 280.0, 280.5, 281.0])?;
/// # made.finish()?;
/// let options = OpenOptions::default()
///     .with_limits(Limits::default().with_memory(1 << 30))
///     .with_external(External::SameFolder)
///     .with_chunk_cache(256 << 20)
///     .with_access(Access::direct());
/// let file = File::open_with(&path, &options)?;
/// assert_eq!(file.dataset("surface/temperature")?.read::<f64>()?[0], 281.5);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenOptions {
    /// Bounds on what the file may ask for.
    pub limits: Limits,
    /// Filters of the caller's.
    pub registry: Registry,
    /// Which other files may be opened on its behalf.
    pub external: External,
    /// What becomes of elements whose sources are missing.
    pub missing: MissingSources,
    /// Threads that a read may use; 0 stands for as many as there are.
    pub threads: usize,
    /// How files are reached. Default: with the system's calls. Whoever knows that nobody changes the files can have them
    /// [mapped](Access::mapped) into memory; stored bytes need not be copied then.
    pub access: Access,
    /// Bytes of decoded chunks that are kept, all datasets of the file together: a chunk of which reads take a part at a
    /// time is decoded once. Default: 32 MiB, some dozens of chunks of a usual size. 0 keeps none.
    pub chunk_cache: usize,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            registry: Registry::default(),
            external: External::default(),
            missing: MissingSources::default(),
            threads: 0,
            access: Access::default(),
            chunk_cache: 32 << 20,
        }
    }
}

impl OpenOptions {
    /// The same with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The same with filters of the caller's.
    #[must_use]
    pub fn with_registry(self, registry: Registry) -> Self {
        Self { registry, ..self }
    }

    /// The same with another policy for other files.
    #[must_use]
    pub fn with_external(self, external: External) -> Self {
        Self { external, ..self }
    }

    /// The same with another answer to sources that are missing.
    #[must_use]
    pub fn with_missing(self, missing: MissingSources) -> Self {
        Self { missing, ..self }
    }

    /// The same with another number of threads.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// The same with another way to reach files.
    #[must_use]
    pub fn with_access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// The same with room for so many bytes of decoded chunks.
    #[must_use]
    pub fn with_chunk_cache(self, chunk_cache: usize) -> Self {
        Self { chunk_cache, ..self }
    }
}

/// What a read makes of elements that other files should have, and have not: those of a virtual dataset whose source is
/// missing, and those after the end of an external file. A missing external file is an error in any case.
///
/// ```
/// use hdf5_pure::{Error, External, File, MissingSources, OpenOptions, Slab, Writer};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("week.h5");
/// let mut file = Writer::create(&path)?;
/// let all = Slab::all(&[3])?;
/// file.dataset("week").shape([3]).fill(-1.0).map("monday.h5", "/temperature", &all, &all).create::<f64>()?;
/// file.finish()?;
///
/// let options = OpenOptions::default().with_external(External::SameFolder);
/// let file = File::open_with(&path, &options)?; // as the library does
/// assert_eq!(file.dataset("week")?.read::<f64>()?, [-1.0; 3]);
/// assert!(matches!(file.take_missing()[..], [Error::Missing { .. }]));
/// let file = File::open_with(&path, &options.with_missing(MissingSources::Refused))?;
/// assert!(matches!(file.dataset("week")?.read::<f64>(), Err(Error::Missing { .. })));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MissingSources {
    /// They read as the library has them: as fill values, and as zeros after the end of an external file.
    /// [`File::take_missing`](crate::File::take_missing) tells what was missing.
    #[default]
    Filled,
    /// Reading them is [`Error::Missing`].
    Refused,
}

/// What was missing of so many sources is remembered.
const REMEMBERED: usize = 1000;

/// Sources that were missing when they were read, each once.
#[derive(Debug, Default)]
pub(crate) struct Missed(Mutex<Vec<Error>>);

impl Missed {
    fn add(&self, error: Error) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = error.to_string();
        if all.len() < REMEMBERED && all.iter().all(|known| known.to_string() != text) {
            all.push(error);
        }
    }

    pub(crate) fn take(&self) -> Vec<Error> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// An open file.
pub(crate) struct Opened {
    pub(crate) context: Context,
    pub(crate) superblock: Superblock,
    pub(crate) root: Address,
    pub(crate) path: Option<PathBuf>,
    pub(crate) file_space: Option<FileSpaceInfo>,
    pub(crate) btree_k: BtreeK,
    pub(crate) options: OpenOptions,
    pub(crate) chunks: ChunkCache,
    /// What was missing, of this file and those that were opened on its behalf.
    pub(crate) missed: Arc<Missed>,
}

/// Soft links that lead to soft links are followed so often.
const MAX_LINKS: usize = 16;

impl Opened {
    /// Opens the file at `path`.
    pub(crate) fn open(path: &Path, options: &OpenOptions) -> Result<Self> {
        let storage = options.access.open(path)?;
        if superblock(&*storage).is_ok_and(|(_, superblock)| superblock.is_written()) {
            // What was read before would be shown beside what is read later.
            let options = options.clone().with_access(Access::direct());
            return Self::of(options.access.open(path)?, Some(path), &options);
        }
        Self::of(storage, Some(path), options)
    }

    /// Opens what `storage` holds: where a commit was cut, the file as the last one left it.
    pub(crate) fn of(storage: Arc<dyn ReadAt>, path: Option<&Path>, options: &OpenOptions) -> Result<Self> {
        if journal_of(&*storage)?.is_some() {
            return Self::plain(Arc::new(journal::view(storage)?), path, options);
        }
        Self::plain(storage, path, options)
    }

    /// Opens what `storage` holds, whatever it ends in.
    pub(crate) fn plain(
        storage: Arc<dyn ReadAt>,
        path: Option<&Path>,
        options: &OpenOptions,
    ) -> Result<Self> {
        let open = |path: &Path| options.access.open(path);
        let (position, superblock) = superblock(&*storage)?;
        let sizes = superblock.sizes;
        let mut context = Context {
            storage,
            base: position,
            sizes,
            limits: options.limits,
            registry: options.registry.clone(),
            shared: Vec::new(),
            verified: RwLock::default(),
        };
        let whole = match driver_info(&context, &superblock)? {
            Some((info, at)) => file_set::assemble(&context.storage, path, &info, at, &open)?,
            None => file_set::unannounced(&context.storage, path, superblock.end_of_file, &open)?,
        };
        if let Some(whole) = whole {
            context.storage = whole;
        }
        let mut file_space = None;
        let mut btree_k = match superblock.rest {
            Rest::Old { chunk_k, group_internal_k, group_leaf_k, .. } => {
                BtreeK { chunk: chunk_k, group_internal: group_internal_k, group_leaf: group_leaf_k }
            }
            Rest::New { .. } => BtreeK { chunk: 32, group_internal: 16, group_leaf: 4 },
        };
        if let Rest::New { extension: Some(extension), .. } = superblock.rest {
            file_space = read_extension(&mut context, extension)?;
            let object = Object::read(&context, extension)?;
            btree_k = object.parse(&context, MessageType::BtreeK, BtreeK::parse)?.unwrap_or(btree_k);
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
            btree_k,
            options: options.clone(),
            chunks: ChunkCache::new(options.chunk_cache),
            missed: Arc::default(),
        })
    }

    /// Opens another file in the same way.
    pub(crate) fn open_beside(&self, path: &Path) -> Result<Self> {
        let opened = Self::open(path, &self.options)?;
        Ok(Self { missed: Arc::clone(&self.missed), ..opened })
    }

    /// Notes that a source is missing, of which elements were wanted.
    ///
    /// # Errors
    /// The note itself, if the caller does not want what would stand for these elements.
    pub(crate) fn missing(&self, error: Error) -> Result<()> {
        match self.options.missing {
            MissingSources::Filled => self.missed.add(error),
            MissingSources::Refused => return Err(error),
        }
        Ok(())
    }

    /// The folder of the file.
    pub(crate) fn folder(&self) -> Option<&Path> {
        let parent = self.path.as_deref()?.parent()?;
        Some(if parent.as_os_str().is_empty() { Path::new(".") } else { parent })
    }

    /// Threads that a read may use.
    pub(crate) fn threads(&self) -> usize {
        // Asking takes longer than a small read.
        static AVAILABLE: OnceLock<usize> = OnceLock::new();
        match self.options.threads {
            0 => *AVAILABLE.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from)),
            threads => threads,
        }
    }
}

/// The journal that the file ends in, if a commit of an edit was cut.
///
/// # Errors
/// `Malformed` if it is damaged, or belongs to another state of the file: something else has written to it since.
pub(crate) fn journal_of(storage: &dyn ReadAt) -> Result<Option<Interrupted>> {
    let Some(found) = journal::interrupted(storage)? else { return Ok(None) };
    let (position, superblock) = superblock(storage)?;
    let end = superblock.end_of_file.saturating_sub(superblock.base).saturating_add(position);
    if end == found.old_len || end == found.new_len && found.committed {
        return Ok(Some(found));
    }
    if !found.committed {
        // It is about a commit that never took place, and may stay where it is.
        return Ok(None);
    }
    let rule =
        FaultKind::Rule("belongs to another state of the file, which was changed after an edit had been cut");
    Err(Fault::from(rule).at("journal", found.offset))
}

/// The superblock, and where it stands: at 0, 512, 1024 and so on.
pub(crate) fn superblock(storage: &dyn ReadAt) -> Result<(u64, Superblock)> {
    let mut position = 0u64;
    while position.checked_add(SIGNATURE.len() as u64).is_some_and(|end| end <= storage.len()) {
        if *storage.read_at(position, SIGNATURE.len())? == SIGNATURE {
            let len = storage.len().saturating_sub(position).min(Superblock::MAX_SIZE as u64);
            let bytes = storage.read_at(position, usize::try_from(len).unwrap_or(0))?;
            return Ok((position, locate("superblock", position, &bytes, Superblock::parse)?));
        }
        position = position.saturating_mul(2).max(512);
    }
    Err(Fault::from(FaultKind::Signature).at("superblock", 0))
}

/// The driver information, wherever the version of the superblock puts it, and its absolute offset.
fn driver_info(context: &Context, superblock: &Superblock) -> Result<Option<(DriverInfo, u64)>> {
    const BLOCK: &str = "driver information block";
    match superblock.rest {
        Rest::Old { driver_info: Some(at), .. } => {
            let bytes = context.read_some(BLOCK, at, 16 + 65_536)?;
            let info = locate(BLOCK, context.offset(at), &bytes, DriverInfo::parse_block)?;
            Ok(Some((info, context.offset(at).saturating_add(16))))
        }
        Rest::New { extension: Some(at), .. } => {
            let object = Object::read(context, at)?;
            let info = object.parse(context, MessageType::DriverInfo, DriverInfo::parse_message)?;
            Ok(info.zip(object.find(MessageType::DriverInfo).map(|message| message.offset)))
        }
        _ => Ok(None),
    }
}

/// What the superblock extension says of the whole file.
fn read_extension(context: &mut Context, at: Address) -> Result<Option<FileSpaceInfo>> {
    let sizes = context.sizes;
    let (image, table, file_space) = {
        let object = Object::read(context, at)?;
        let image =
            object.parse(context, MessageType::CacheImage, |i| cache_image::message(i, sizes))?.flatten();
        let table = object.parse(context, MessageType::SharedTable, |i| small::shared_table(i, sizes))?;
        // A message that another program left behind without understanding it says nothing.
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
        let size = context.storage.len();
        context.storage = Arc::new(Overlay::new(context.storage.clone(), size, patches));
    }
    if let Some((at, indexes)) = table {
        let len = shared_table::size(sizes, indexes) as u64;
        context.shared =
            context.parse("shared message table", at, len, |i| shared_table::table(i, sizes, indexes))?;
    }
    Ok(file_space)
}

/// What a metadata cache image lays over the file.
pub(crate) fn patches(context: &Context, at: Address, len: u64) -> Result<Vec<Patch>> {
    const IMAGE: &str = "metadata cache image";
    let bytes = context.read(IMAGE, at, len)?;
    let entries = locate(IMAGE, context.offset(at), &bytes, |i| cache_image::image(i, context.sizes))?;
    let patch = |entry: &cache_image::CacheEntry<'_>| Patch {
        offset: context.offset(entry.address),
        bytes: entry.bytes.to_vec(),
    };
    Ok(entries.iter().map(patch).collect())
}

/// Where a path leads.
pub(crate) enum Found {
    /// To an object of this file.
    Here(Address),
    /// Through an external link; `rest` is what of the path is left.
    Elsewhere { file: Vec<u8>, path: Vec<u8>, rest: Vec<u8> },
}

/// Follows `path` from the group `from`, or from the root if it begins with a slash.
pub(crate) fn resolve(
    opened: &Opened,
    from: Address,
    path: &[u8],
    followed: &mut usize,
) -> Result<Option<Found>> {
    let context = &opened.context;
    let mut at = if path.first() == Some(&b'/') { opened.root } else { from };
    let mut names = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty() && *name != b".");
    while let Some(name) = names.next() {
        let object = Object::read(context, at)?;
        let Some(link) = links::find(context, &object, name)? else { return Ok(None) };
        match link.target {
            Target::Hard(address) => at = address,
            Target::Soft(target) => {
                *followed = followed.saturating_add(1);
                if *followed > MAX_LINKS {
                    return Err(Error::LimitExceeded {
                        what: "soft links in a row",
                        declared: *followed as u64,
                        limit: MAX_LINKS as u64,
                    });
                }
                match resolve(opened, at, target.as_bytes(), followed)? {
                    Some(Found::Here(address)) => at = address,
                    Some(Found::Elsewhere { file, path, mut rest }) => {
                        rest.extend(names.flat_map(|name| [b"/", name].concat()));
                        return Ok(Some(Found::Elsewhere { file, path, rest }));
                    }
                    None => return Ok(None),
                }
            }
            Target::External { file, path } => {
                let rest = names.flat_map(|name| [b"/", name].concat()).collect();
                let (file, path) = (file.as_bytes().to_vec(), path.as_bytes().to_vec());
                return Ok(Some(Found::Elsewhere { file, path, rest }));
            }
            Target::User { class, .. } => {
                return Err(Error::unsupported(format!("a user-defined link of class {class}")));
            }
        }
    }
    Ok(Some(Found::Here(at)))
}
