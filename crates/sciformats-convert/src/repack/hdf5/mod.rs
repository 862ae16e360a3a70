//! Writes HDF5 files anew, object by object.
//!
//! | what stays | what changes |
//! |---|---|
//! | types as they are stored, including byte order and padding; which objects share a committed type | links and attributes are numbered anew |
//! | fill values, when space is allocated and filled, maximum extents | messages that objects shared are copied into each object |
//! | chunks and filters with their parameters, elements in other files and datasets | addresses and lengths become 8 bytes wide |
//! | links of every class, the order of links and attributes, thresholds, character sets | |
//! | references to objects of the file, and into other files | references to objects that were removed become null, which is reported |
//! | comments, times, versions of headers, the user block, sizes of nodes, the free-space strategy | |

mod elements;
mod hollow;
mod joined;
mod object;
mod regions;
mod rounder;
mod storage;
mod structures;
mod supplied;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hdf5_pure::options::{Bound, FileSpace, MissingSources};
use hdf5_pure::structure::{
    CharacterSet, CreationOrder, Dataspace, FileSpaceInfo, Link, LinkProperties, Target,
};
use hdf5_pure::{Address, Attribute, CreateOptions, Dataset, Name, Node, ObjectId, Writer};

pub(crate) use self::elements::{Kept, Stored, extents};
pub use self::hollow::Hollow;
pub use self::joined::Joined;
pub use self::object::CopyOptions;
pub(super) use self::object::copy;
use self::rounder::Measured;
pub(crate) use self::rounder::Rounder;
pub(super) use self::structures::changes;
pub use self::supplied::{ChunkSupplier, PutChunk, WantedChunks};
use super::Input;
use crate::compare::{Pattern, is_selected};
use crate::convert::Loss;
use crate::sink::hdf5_encode::References;
use crate::sink::{Rounding, WriteOptions};
use sciformats::options::Unfolding;
use sciformats::{Error, File, Result};
use sciformats_core::arith::fit;

/// Returns the size of a chunk of the new file after its filters, from the dataset and the size before them.
pub(in crate::repack) type Guess<'a> = &'a (dyn Fn(&Dataset, u64) -> Result<u64> + Sync);

/// Twice the room for structures in a file whose structures are counted, which is more than any file has.
const FAR: u64 = 1 << 46;

pub(super) fn rewrite(
    (file, input): (&File, Input<'_>),
    output: &Path,
    (select, options): (&[Pattern], &WriteOptions),
    supplier: Option<&dyn ChunkSupplier>,
    cancel: Option<&AtomicBool>,
) -> Result<Vec<Loss>> {
    let source = source((file, input), options.inline)?;
    attempt((file, &source), (input, Some(output)), (select, options), cancel, &|job, bound| {
        let job = Job { supplier, ..*job };
        let room = if options.metadata_first { job.room(input, bound)? } else { 0 };
        job.run(Writer::overwrite_with(output, &job.create(input, bound)?.with_metadata_room(room))?)
    })
}

/// Writes a copy of a file in which some datasets show those of several files.
pub(super) fn join(
    (file, input): (&File, Input<'_>),
    output: &Path,
    ((joined, without), options): ((&[Joined], &[&str]), &WriteOptions),
    cancel: Option<&AtomicBool>,
) -> Result<Vec<Loss>> {
    let source = source((file, input), true)?;
    attempt((file, &source), (input, Some(output)), (&[], options), cancel, &|job, bound| {
        let job = Job { joined, without, ..*job };
        job.run(Writer::overwrite_with(output, &job.create(input, bound)?)?)
    })
}

/// Returns what the repacked file would be, with zeros in place of its elements, and the size of the room for structures before
/// the elements. `guess` tells the sizes of chunks.
pub(super) fn planned(
    (file, input): (&File, Input<'_>),
    (select, options): (&[Pattern], &WriteOptions),
    guess: Guess<'_>,
) -> Result<(Hollow, u64)> {
    let source = source((file, input), options.inline)?;
    attempt((file, &source), (input, None), (select, options), None, &|job, bound| {
        let room = if options.metadata_first { job.room(input, bound)? } else { 0 };
        let hollow = Hollow::new(room);
        let job = Job { hollow: Some(guess), ..*job };
        let create = job.create(input, bound)?.with_metadata_room(room);
        job.run(Writer::in_storage(Box::new(hollow.clone()), &create)?)?;
        Ok((hollow, room))
    })
}

/// Returns the HDF5 file behind a file of the common tree, if it is one that can be opened again.
pub(crate) fn opened(file: &File) -> Option<hdf5_pure::File> {
    let input = Input::of(file).filter(|_| file.format() == sciformats::Format::Hdf5)?;
    source((file, input), true).ok()
}

/// Opens the file to read it once more. With `elements`, those of other files and datasets are read.
fn source((file, input): (&File, Input<'_>), elements: bool) -> Result<hdf5_pure::File> {
    // Missing elements must never become values in the new file. Where they are not read, it does not matter whether they exist.
    let missing = if elements { MissingSources::Refused } else { MissingSources::Filled };
    let read = hdf5_pure::OpenOptions::default()
        .with_limits(*file.limits())
        .with_external(file.options().external.clone())
        .with_missing(missing)
        .with_access(file.options().access)
        .with_registry(sciformats::filters::hdf5())
        .with_threads(file.options().threads());
    match input {
        Input::Path(path) => hdf5_pure::File::open_with(path, &read),
        Input::Storage(storage) => hdf5_pure::File::from_storage(Arc::clone(storage), &read),
    }
}

/// Fails if filters do not exist, or if levels are given without a filter that they apply to.
fn filters(options: &WriteOptions) -> Result<()> {
    crate::sink::hdf5_filters(options)?;
    options.rules.iter().try_for_each(|rule| {
        let of = WriteOptions { filter: rule.filter.clone(), level: rule.level, ..WriteOptions::default() };
        crate::sink::hdf5_filters(&of).map(drop)
    })
}

/// Does `work` with the bound that the file seems to have, or if that does not suffice with the latest one.
fn attempt<T>(
    (file, source): (&File, &hdf5_pure::File),
    (input, output): (Input<'_>, Option<&Path>),
    (select, options): (&[Pattern], &WriteOptions),
    cancel: Option<&AtomicBool>,
    work: &dyn Fn(&Job<'_>, Bound) -> Result<T>,
) -> Result<T> {
    let wanted = options.bound.as_deref().map(crate::sink::hdf5_bound).transpose()?;
    options.rounding.map_or(Ok(()), Rounding::check)?;
    filters(options)?;
    let old = source.object_info(source.root()?.address())?.header_version == 1;
    let bound = wanted.unwrap_or(match source.superblock().version {
        0 | 1 => Bound::Earliest,
        2 if old => Bound::Earliest,
        2 => Bound::V18,
        _ => Bound::V110,
    });
    // Without a new file, nothing moves.
    let moved = output.is_some_and(|output| input.is_moved(output));
    let unfolding = file.writing();
    let measured = Measured::default();
    let job = Job {
        measured: &measured,
        file,
        source,
        select,
        options,
        wanted,
        indexes: None,
        moved,
        cancel,
        unfolding: &unfolding,
        output,
        hollow: None,
        supplier: None,
        joined: &[],
        without: &[],
    };
    match work(&job, bound) {
        // A file with an old superblock may contain newer structures, each with its own version. Older programs must be able to
        // read the other objects all the same.
        Err(Error::Usage { argument: "bound", .. }) if wanted.is_none() && bound < Bound::LATEST => {
            let unfolding = file.writing();
            work(&Job { unfolding: &unfolding, indexes: Some(bound), ..job }, Bound::LATEST)
        }
        result => result,
    }
}

/// What is to be done.
struct Job<'a> {
    /// How many bits of datasets are kept.
    measured: &'a Measured,
    file: &'a File,
    source: &'a hdf5_pure::File,
    /// The patterns of the objects to write; everything is written if there are none.
    select: &'a [Pattern],
    options: &'a WriteOptions,
    /// The requested version bound.
    wanted: Option<Bound>,
    /// The bound of the indexes of chunks, if an object needs a newer one.
    indexes: Option<Bound>,
    /// Whether the new file is in another folder.
    moved: bool,
    cancel: Option<&'a AtomicBool>,
    unfolding: &'a Unfolding,
    /// Where the new file will be, if elements are written.
    output: Option<&'a Path>,
    /// How large chunks will be, if no elements are written.
    hollow: Option<Guess<'a>>,
    /// Encodes chunks elsewhere.
    supplier: Option<&'a dyn ChunkSupplier>,
    /// The datasets that show those of several files.
    joined: &'a [Joined],
    /// The paths of objects that are left out.
    without: &'a [&'a str],
}

impl Job<'_> {
    /// How the new file is created.
    fn create(&self, input: Input<'_>, bound: Bound) -> Result<CreateOptions> {
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
    fn room(&self, input: Input<'_>, bound: Bound) -> Result<u64> {
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
    fn of(&self, dataset: &Dataset) -> Result<Cow<'_, WriteOptions>> {
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
    fn path(&self, dataset: &Dataset) -> Result<String> {
        Ok(self.source.path_of(dataset.address())?.map(shown).unwrap_or_default())
    }

    /// Returns the first path that leads to an object, for messages.
    fn shown(&self, address: Address) -> String {
        // If the paths cannot be found, the message has one less fact.
        let path = self.source.path_of(address).ok().flatten();
        path.map(shown).unwrap_or_default()
    }

    fn run(&self, writer: Writer) -> Result<Vec<Loss>> {
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

    fn is_selected(&self, path: &str) -> bool {
        is_selected(path, self.select)
    }

    fn interrupted(&self) -> Result<()> {
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

/// A file that is being copied.
struct Copy<'a> {
    job: &'a Job<'a>,
    writer: Writer,
    /// The new id of each object.
    objects: HashMap<Address, ObjectId>,
    /// Datasets that refer to objects; they are written when all objects exist.
    arrays: Vec<(ObjectId, Dataset)>,
    /// Attributes that refer to objects, and those after them.
    attributes: Vec<(ObjectId, Address, Attribute)>,
    /// Groups that only lead to selected objects.
    ways: HashSet<Address>,
    /// The paths that references may lead to; `None` until everything is written.
    places: Option<HashSet<Vec<u8>>>,
    lost: Vec<Loss>,
    /// Whether the path of each rule is that of a dataset.
    matched: Vec<bool>,
    /// Whether each pattern selects an object.
    found: Vec<bool>,
    /// The datasets that were rounded. Attributes that describe an earlier rounding are no longer true.
    rounded: HashSet<Address>,
}

impl Copy<'_> {
    fn all(mut self) -> Result<Vec<Loss>> {
        let root = self.job.source.root()?.address();
        let id = self.writer.root().id();
        self.objects.insert(root, id);
        self.properties(root, id)?;
        self.find("/");
        if self.job.is_selected("/") {
            self.belongings(root, id)?;
        }
        let mut groups = VecDeque::from([(root, Vec::new())]);
        let mut passed = HashSet::from([root]);
        while let Some((address, path)) = groups.pop_front() {
            let Node::Group(group) = self.job.source.object_at(address)? else { continue };
            let links: std::result::Result<Vec<Link>, _> = group.links()?.into_iter().collect();
            let mut links = links.map_err(|broken| broken.error)?;
            links.sort_by_key(|link| link.creation_order);
            for Link { name, target, utf8, .. } in links {
                self.job.interrupted()?;
                let parent = path.as_slice();
                let path = [parent, b"/", name.as_bytes()].concat();
                let text = shown(&path);
                if self.job.without.contains(&text.as_str()) {
                    continue;
                }
                self.find(&text);
                if !self.job.is_selected(&text) {
                    if let Target::Hard(address) = target
                        && passed.insert(address)
                    {
                        groups.push_back((address, path));
                    }
                    continue;
                }
                self.reach(parent)?;
                if let Some(group) = self.link((&Name::from(path.as_slice()), &text), target)? {
                    groups.push_back((group, path));
                }
                if let Some(said) = unusual(&name, utf8) {
                    self.writer.group(&Name::from(parent))?.link_character_set(&name, said)?;
                }
            }
        }
        let mut rules = self.job.options.rules.iter().zip(&self.matched);
        if let Some((rule, _)) = rules.find(|(_, matched)| !**matched) {
            let problem = format!("are given for {}, which is no dataset of the new file", rule.path);
            return Err(Error::usage("chunks or filter", problem));
        }
        let mut patterns = self.job.select.iter().zip(&self.found);
        if let Some((pattern, _)) = patterns.find(|(_, found)| !**found) {
            return Err(Error::not_found("object", pattern.to_string()));
        }
        self.refer()?;
        self.writer.finish()?;
        Ok(self.lost)
    }

    /// Notes which patterns select the object at `path`.
    fn find(&mut self, path: &str) {
        for (pattern, found) in self.job.select.iter().zip(&mut self.found) {
            *found = *found || pattern.matches(path);
        }
    }

    /// Creates the groups that lead to selected objects, without their attributes and other members.
    fn reach(&mut self, parent: &[u8]) -> Result<()> {
        let slashes = parent.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        let ends = slashes.skip(1).chain([parent.len()]);
        for end in ends.filter(|_| !self.job.select.is_empty()) {
            let Some(path) = parent.get(..end).filter(|path| !path.is_empty()) else { continue };
            let path = Name::from(path);
            let group = self.job.source.group(&path)?.address();
            if !self.objects.contains_key(&group) {
                let id = self.writer.group(&path)?.id();
                self.objects.insert(group, id);
                self.ways.insert(group);
                self.properties(group, id)?;
            }
        }
        Ok(())
    }

    /// Creates a link and the object that it leads to. The path is followed by its text. If the object is a group, its address is
    /// returned, because its links are still to be created.
    fn link(&mut self, (path, text): (&Name, &str), target: Target) -> Result<Option<Address>> {
        let mut root = self.writer.root();
        match target {
            Target::Soft(to) => root.soft_link(path, &to).map(|_| None),
            Target::External { file, path: to } => root.external_link(path, &file, &to).map(|_| None),
            Target::User { class, data } => root.user_link(path, class, &data).map(|_| None),
            Target::Hard(address) => {
                if self.ways.contains(&address) {
                    let problem = format!(
                        "selecting {text}, which is a group that also leads to selected objects by another path,"
                    );
                    return Err(Error::unsupported(problem));
                }
                if let Some(&id) = self.objects.get(&address) {
                    root.hard_link(path, id)?;
                    return Ok(None);
                }
                let node = self.job.source.object_at(address)?;
                let group = matches!(node, Node::Group(_));
                let id = match node {
                    Node::Group(_) => self.writer.group(path)?.id(),
                    Node::Dataset(dataset) => self
                        .dataset((path, text), &dataset)
                        .map_err(|error| needed(error, || text.to_owned()))?,
                    Node::Datatype(_) => {
                        let id = self.committed(address)?;
                        self.writer.root().hard_link(path, id)?;
                        return Ok(None);
                    }
                };
                self.objects.insert(address, id);
                self.properties(address, id)?;
                self.belongings(address, id)?;
                Ok(group.then_some(address))
            }
        }
    }

    /// Returns the new id of a committed datatype, which many objects may share.
    fn committed(&mut self, address: Address) -> Result<ObjectId> {
        if let Some(&id) = self.objects.get(&address) {
            return Ok(id);
        }
        let Node::Datatype(committed) = self.job.source.object_at(address)? else {
            return Err(Error::unsupported(
                "an object that names another object as its datatype, although that is not a datatype,",
            ));
        };
        let stored = Stored::new(self.job.source, &committed.datatype()?)?;
        let id = self.writer.commit_unlinked(stored.datatype());
        let id = id.map_err(|error| needed(error, || self.job.shown(address)))?;
        self.objects.insert(address, id);
        self.properties(address, id)?;
        self.belongings(address, id)?;
        Ok(id)
    }

    /// Copies the times, orders, thresholds and versions of an object.
    fn properties(&mut self, address: Address, id: ObjectId) -> Result<()> {
        let mut properties = self.job.source.creation_properties(address)?;
        if let Some(bound) = self.job.wanted {
            // The versions follow from the bound, unless the object contains something that only newer
            // versions can hold.
            let ordered = properties.attribute_order != CreationOrder::Unknown;
            let links = properties.links.take();
            let said = links.as_ref().is_some_and(|links| *links != LinkProperties::default());
            properties.header_version = if bound == Bound::Earliest && !ordered { 1 } else { 2 };
            let new = bound > Bound::Earliest || said;
            properties.links = new.then(|| links.unwrap_or_default());
        }
        self.writer.creation_properties(id, &properties)
    }

    /// Copies the attributes and the comment of an object.
    fn belongings(&mut self, address: Address, id: ObjectId) -> Result<()> {
        let mut attributes = self.job.source.attributes_at(address)?;
        attributes.sort_by_key(Attribute::creation_order);
        // What follows an attribute with references waits with it, so that the order of attributes stays.
        let mut waits = false;
        for attribute in attributes {
            waits = waits || Stored::new(self.job.source, attribute.datatype()?)?.refers();
            if waits {
                self.attributes.push((id, address, attribute));
            } else {
                self.attribute((id, address), &attribute, &References::new())?;
            }
        }
        match self.job.source.object_info(address)?.comment {
            Some(comment) => self.writer.comment(id, &comment),
            None => Ok(()),
        }
    }

    fn attribute(
        &mut self,
        (id, of): (ObjectId, Address),
        attribute: &Attribute,
        references: &References,
    ) -> Result<()> {
        let unnamed = || Error::unsupported("an attribute without a name");
        let name = attribute.name().ok_or_else(unnamed)?;
        let told = name.as_str().is_some_and(|name| Rounding::ATTRIBUTES.contains(&name));
        if told && self.rounded.contains(&of) {
            return Ok(());
        }
        let stored = Stored::new(self.job.source, attribute.datatype()?)?;
        let (shape, maximum) = elements::extents(attribute.dataspace()?);
        let raw = attribute.raw()?;
        let canonical = if stored.is_direct() { Vec::new() } else { attribute.canonical()? };
        let (canonical, count) = stored.leading(canonical, self.places.as_ref())?;
        let text = shown(name.as_bytes());
        self.lose(of, Some(&text), count)?;
        let committed = attribute.committed()?.map(|address| self.committed(address)).transpose()?;
        let characters = attribute.character_set()?;
        let bytes = (raw, &canonical[..]);
        let kept = Kept { stored: &stored, shape, maximum, bytes, references, committed, characters };
        let written = self.writer.attribute(id, name, kept);
        written.map_err(|error| needed(error, || format!("{}@{text}", self.job.shown(of))))
    }

    fn dataset(&mut self, (path, text): (&Name, &str), dataset: &Dataset) -> Result<ObjectId> {
        let job = self.job;
        if let Some(joined) = job.joined.iter().find(|joined| joined.path == text) {
            return self.joined((path, text), dataset, joined);
        }
        let stored = Stored::new(self.job.source, dataset.datatype())?;
        let committed = dataset.committed()?.map(|address| self.committed(address)).transpose()?;
        let builder = self.writer.dataset(path).datatype(stored.datatype().clone());
        let builder = match committed {
            Some(id) => builder.committed(id),
            None => builder,
        };
        let options = job.of(dataset)?;
        if !job.options.rules.is_empty() {
            let path = job.path(dataset)?;
            for (rule, matched) in job.options.rules.iter().zip(&mut self.matched) {
                *matched = *matched || rule.path.matches(&path);
            }
        }
        let builder = storage::filled(builder, dataset, &stored, &options)?;
        if *dataset.dataspace() == Dataspace::Null {
            return builder.write_null();
        }
        let elsewhere = storage::elsewhere(builder, (text, dataset), self.job)?;
        let builder = match elsewhere {
            Ok(kept) => return Ok(kept.create_encoded()?.id()),
            Err(builder) => {
                let plain_edges = storage::edges(dataset, self.job)?;
                storage::placed(builder, dataset, (&options, plain_edges))?
            }
        };
        let id = builder.create_encoded()?.id();
        if let Some(rounder) = job.measured.rounder(dataset, &options)? {
            let rounding = rounder.rounding();
            if let Rounding::Bits(number) | Rounding::Digits(number) = rounding {
                self.writer.attribute(id, rounding.attribute(), i32::from(number))?;
            }
            self.rounded.insert(dataset.address());
        }
        if stored.refers() {
            self.arrays.push((id, dataset.clone()));
        } else {
            self.elements(id, dataset, &References::new())?;
        }
        Ok(id)
    }

    /// Reports that references of an object or its attribute lead to objects that are not in the new file.
    fn lose(&mut self, of: Address, attribute: Option<&str>, count: u64) -> Result<()> {
        if count > 0 {
            let attribute = attribute.map(|name| format!("@{name}"));
            let path = self.job.shown(of) + attribute.as_deref().unwrap_or_default();
            self.lost.push(Loss::of_references(path, count));
        }
        Ok(())
    }

    /// Writes the datasets and attributes that refer to objects, now that all objects exist.
    fn refer(&mut self) -> Result<()> {
        if self.arrays.is_empty() && self.attributes.is_empty() {
            return Ok(());
        }
        let mut references = References::new();
        for (address, id) in &self.objects {
            if let Some(path) = self.job.source.path_of(*address)? {
                references.insert(path.to_vec(), self.writer.reference(*id)?);
            }
        }
        self.places = Some(references.keys().cloned().collect());
        for (id, dataset) in std::mem::take(&mut self.arrays) {
            self.elements(id, &dataset, &references)?;
        }
        for (id, of, attribute) in std::mem::take(&mut self.attributes) {
            self.attribute((id, of), &attribute, &references)?;
        }
        Ok(())
    }
}

/// Adds to the error about a bound which object needs another one.
fn needed(error: Error, path: impl FnOnce() -> String) -> Error {
    match error {
        Error::Usage { argument: "bound", problem } => {
            Error::usage("bound", format!("{problem}; {} needs it", path()))
        }
        other => other,
    }
}

/// Returns the text of a path or a name, as lists show it.
fn shown(path: &[u8]) -> String {
    match std::str::from_utf8(path) {
        Ok(text) if !text.contains(r"\x") => text.to_owned(),
        _ => {
            let names = path.split(|byte| *byte == b'/');
            let names = names.map(|name| sciformats::Name::from(name).shown().into_owned());
            names.collect::<Vec<_>>().join("/")
        }
    }
}

/// Returns the character set of the name of a link, if it is not the one that new links get for these characters.
fn unusual(name: &Name, utf8: bool) -> Option<CharacterSet> {
    let usual = name.as_str().is_some_and(|text| !text.is_ascii());
    (utf8 != usual).then_some(if utf8 { CharacterSet::Utf8 } else { CharacterSet::Ascii })
}
