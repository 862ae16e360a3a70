//! What is to be done to write a file anew, and how the new file is created.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use hdf5_pure::options::{Bound, FileSpace};
use hdf5_pure::structure::FileSpaceInfo;
use hdf5_pure::{Address, CreateOptions, Dataset, Writer};
use sciformats::options::Unfolding;
use sciformats::{Error, File, Result};
use sciformats_core::arith::fit;

use super::copied::Copy;
use super::hollow::Hollow;
use super::joined::Joined;
use super::rounder::Measured;
use super::supplied::ChunkSupplier;
use super::{FAR, Guess, shown};
use crate::compare::{Pattern, is_selected};
use crate::convert::Loss;
use crate::repack::Input;
use crate::sink::WriteOptions;

/// What is to be done.
pub(super) struct Job<'a> {
    /// How many bits of datasets are kept.
    pub(super) measured: &'a Measured,
    pub(super) file: &'a File,
    pub(super) source: &'a hdf5_pure::File,
    /// The patterns of the objects to write; everything is written if there are none.
    pub(super) select: &'a [Pattern],
    pub(super) options: &'a WriteOptions,
    /// The requested version bound.
    pub(super) wanted: Option<Bound>,
    /// The bound of the indexes of chunks, if an object needs a newer one.
    pub(super) indexes: Option<Bound>,
    /// Whether the new file is in another folder.
    pub(super) moved: bool,
    pub(super) cancel: Option<&'a AtomicBool>,
    pub(super) unfolding: &'a Unfolding,
    /// Where the new file will be, if elements are written.
    pub(super) output: Option<&'a Path>,
    /// How large chunks will be, if no elements are written.
    pub(super) hollow: Option<Guess<'a>>,
    /// Encodes chunks elsewhere.
    pub(super) supplier: Option<&'a dyn ChunkSupplier>,
    /// The datasets that show those of several files.
    pub(super) joined: &'a [Joined],
    /// The paths of objects that are left out.
    pub(super) without: &'a [&'a str],
}

impl Job<'_> {
    /// How the new file is created.
    pub(super) fn create(&self, input: Input<'_>, bound: Bound) -> Result<CreateOptions> {
        let space = match (self.options.page_size, self.source.file_space()) {
            (Some(size), info) => FileSpace::Paged { size, tracked: info.is_some_and(|info| info.persist) },
            (None, Some(info)) => file_space(info),
            (None, None) => FileSpace::Untracked,
        };
        let create = CreateOptions::default()
            .with_bound(bound)
            .with_user_block(user_block(input, self.source.base())?)
            .with_threads(self.options.threads)
            .with_registry(sciformats::filters::hdf5())
            .with_btree_k(self.source.btree_k())
            .with_file_space(space);
        let create = match self.source.file_space() {
            Some(info) => create.with_free_space_threshold(info.threshold),
            None => create,
        };
        let create = match self.source.file_space().and_then(|info| info.page_size) {
            Some(size) => create.with_stated_page_size(size),
            None => create,
        };
        let create = match self.indexes {
            Some(bound) => create.with_index_bound(bound),
            None => create,
        };
        Ok(match self.wanted {
            Some(_) => create,
            None => create.with_superblock(self.source.superblock().version),
        })
    }

    /// Returns how many bytes all structures of the new file take, which is found by writing them without the elements.
    pub(super) fn room(&self, input: Input<'_>, bound: Bound) -> Result<u64> {
        /// The size of the smallest superblock, which stands before the room.
        const SUPERBLOCK: u64 = 48;
        /// The bytes that are read of an object header at first.
        const FIRST_READ: u64 = 512;
        let hollow = Hollow::new(FAR / 2);
        let job = Job { hollow: Some(&|_, bytes| Ok(bytes)), ..*self };
        let create = job.create(input, bound)?.with_metadata_room(FAR / 2);
        job.run(Writer::in_storage(Box::new(hollow.clone()), &create)?)?;
        // A bound: what does not fit is written behind. The first read of an object header takes more than a short one has, and must
        // not reach the elements.
        let used = hollow.front().saturating_sub(self.source.base()).saturating_sub(SUPERBLOCK); // a bound
        Ok(used.saturating_add(FIRST_READ)) // a bound
    }

    /// Returns the options for a dataset: those of the rule for it, if there is one.
    pub(super) fn of(&self, dataset: &Dataset) -> Result<Cow<'_, WriteOptions>> {
        if self.options.rules.is_empty() {
            return Ok(Cow::Borrowed(self.options));
        }
        let path = self.path(dataset)?;
        let rule = self.options.rules.iter().find(|rule| rule.path.matches(&path));
        Ok(rule.map_or(Cow::Borrowed(self.options), |rule| {
            let (chunks, filter) = (rule.chunks.clone(), rule.filter.clone());
            Cow::Owned(WriteOptions { chunks, filter, level: rule.level, ..self.options.clone() })
        }))
    }

    /// Returns the path that rules mean: the first one that leads to the dataset.
    pub(super) fn path(&self, dataset: &Dataset) -> Result<String> {
        Ok(self.source.path_of(dataset.address())?.map(shown).unwrap_or_default())
    }

    /// Returns the first path that leads to an object, for messages.
    pub(super) fn shown(&self, address: Address) -> String {
        // If the paths cannot be found, the message has one less fact.
        let path = self.source.path_of(address).ok().flatten();
        path.map(shown).unwrap_or_default()
    }

    pub(super) fn run(&self, writer: Writer) -> Result<Vec<Loss>> {
        let copy = Copy {
            job: self,
            writer,
            objects: HashMap::new(),
            arrays: Vec::new(),
            attributes: Vec::new(),
            ways: HashSet::new(),
            places: None,
            lost: Vec::new(),
            matched: vec![false; self.options.rules.len()],
            found: vec![false; self.select.len()],
            rounded: HashSet::new(),
        };
        copy.all()
    }

    pub(super) fn is_selected(&self, path: &str) -> bool {
        is_selected(path, self.select)
    }

    pub(super) fn interrupted(&self) -> Result<()> {
        match self.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            true => Err(Error::io("repack", std::io::ErrorKind::Interrupted.into())),
            false => Ok(()),
        }
    }
}

fn user_block(input: Input<'_>, len: u64) -> Result<Vec<u8>> {
    let mut block = Vec::new();
    let path = match input {
        Input::Path(path) => path,
        Input::Storage(storage) => {
            return Ok(storage.read_at(0, fit(len, "size of the user block")?)?.into_owned());
        }
    };
    if len > 0 {
        let file = fs::File::open(path).map_err(|error| Error::io("open", error))?;
        file.take(len).read_to_end(&mut block).map_err(|error| Error::io("read", error))?;
    }
    Ok(block)
}

fn file_space(info: &FileSpaceInfo) -> FileSpace {
    match (info.strategy, info.page_size) {
        (1, Some(size)) => FileSpace::Paged { size, tracked: info.persist },
        (2, _) => FileSpace::Aggregated,
        (3, _) => FileSpace::AppendOnly,
        _ if info.persist => FileSpace::Tracked,
        _ => FileSpace::Untracked,
    }
}
