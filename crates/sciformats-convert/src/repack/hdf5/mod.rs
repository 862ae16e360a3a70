//! HDF5 files written anew, object by object.
//!
//! | stays | changes |
//! |---|---|
//! | types as they are stored, byte order, padding and all; who shares a committed one | numbers of links and attributes are counted anew |
//! | fill values, when space is made and filled, what dimensions may grow to | messages that objects shared are their own |
//! | chunks and filters with their parameters, elements in other files and datasets | other sizes of addresses become 8 bytes |
//! | links of every class, their order and that of attributes, thresholds, character sets | |
//! | references to objects of the file, and into other files | references to objects that were removed become null, which is told |
//! | comments, times, versions of headers, the user block, sizes of nodes, the way in which free space is managed | |

mod elements;
mod storage;

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use hdf5_pure::structure::{
    CharacterSet, CreationOrder, Dataspace, FileSpaceInfo, Link, LinkProperties, Target,
};
use hdf5_pure::{
    Address, Attribute, Bound, CreateOptions, Dataset, FileSpace, MissingSources, Node, ObjectId, Writer,
};

use self::elements::{Kept, Stored};
use crate::compare::{Pattern, is_selected};
use crate::convert::Loss;
use crate::sink::WriteOptions;
use crate::sink::hdf5_encode::References;
use sciformats::options::Unfolding;
use sciformats::{Error, File, Result};

pub(super) fn rewrite(
    (file, input): (&File, &Path),
    output: &Path,
    (select, options): (&[Pattern], &WriteOptions),
    cancel: Option<&AtomicBool>,
) -> Result<Vec<Loss>> {
    let read = hdf5_pure::OpenOptions::default()
        .with_limits(*file.limits())
        .with_external(file.options().external.clone())
        // Nothing that is missing becomes values of the new file.
        .with_missing(MissingSources::Refused)
        .with_access(file.options().access)
        .with_threads(file.options().threads());
    let source = hdf5_pure::File::open_with(input, &read)?;
    let wanted = options.bound.as_deref().map(crate::sink::hdf5_bound).transpose()?;
    let old = source.object_info(source.root()?.address())?.header_version == 1;
    let bound = wanted.unwrap_or(match source.superblock().version {
        0 | 1 => Bound::Earliest,
        2 if old => Bound::Earliest,
        2 => Bound::V18,
        _ => Bound::V110,
    });
    let moved = is_moved(input, output);
    let unfolding = || file.writing();
    let job =
        || Job { file, source: &source, select, options, wanted, moved, cancel, unfolding: unfolding() };
    match job().run(input, output, bound) {
        // A file of an old kind may hold newer things, each of them in its own version.
        Err(Error::Usage { argument: "bound", .. }) if wanted.is_none() && bound < Bound::LATEST => {
            job().run(input, output, Bound::LATEST)
        }
        result => result,
    }
}

/// What is to be done.
struct Job<'a> {
    file: &'a File,
    source: &'a hdf5_pure::File,
    /// What is written; everything, if this is empty.
    select: &'a [Pattern],
    options: &'a WriteOptions,
    /// The bound that is asked for.
    wanted: Option<Bound>,
    /// Whether the new file lies in another folder.
    moved: bool,
    cancel: Option<&'a AtomicBool>,
    unfolding: Unfolding,
}

impl Job<'_> {
    fn run(&self, input: &Path, output: &Path, bound: Bound) -> Result<Vec<Loss>> {
        let create = CreateOptions::default()
            .with_bound(bound)
            .with_user_block(user_block(input, self.source.base())?)
            .with_threads(self.options.threads)
            .with_btree_k(self.source.btree_k())
            .with_file_space(self.source.file_space().map_or(FileSpace::Forgotten, file_space));
        let writer = Writer::create_with(output, &create)?;
        let copy = Copy {
            job: self,
            writer,
            objects: HashMap::new(),
            arrays: Vec::new(),
            attributes: Vec::new(),
            ways: HashSet::new(),
            places: None,
            lost: Vec::new(),
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

/// Whether names that are told from the folder of `input` mean something else in that of `output`.
fn is_moved(input: &Path, output: &Path) -> bool {
    let folder = |path: &Path| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::canonicalize(folder).ok()
    };
    folder(input) != folder(output)
}

fn user_block(input: &Path, len: u64) -> Result<Vec<u8>> {
    let mut block = Vec::new();
    if len > 0 {
        let file = fs::File::open(input).map_err(|error| Error::io("open", error))?;
        file.take(len).read_to_end(&mut block).map_err(|error| Error::io("read", error))?;
    }
    Ok(block)
}

fn file_space(info: &FileSpaceInfo) -> FileSpace {
    match (info.strategy, info.page_size) {
        (1, Some(size)) => FileSpace::Paged { size, kept: info.persist },
        (3, _) => FileSpace::Appended,
        _ if info.persist => FileSpace::Kept,
        _ => FileSpace::Forgotten,
    }
}

/// A file on its way.
struct Copy<'a> {
    job: &'a Job<'a>,
    writer: Writer,
    /// What became of each object.
    objects: HashMap<Address, ObjectId>,
    /// What refers to objects is written when all of them are there.
    arrays: Vec<(ObjectId, Dataset)>,
    attributes: Vec<(ObjectId, Address, Attribute)>,
    /// Groups that only lead to what is selected.
    ways: HashSet<Address>,
    /// Where references may lead, once everything is there and if not everything is.
    places: Option<HashSet<String>>,
    lost: Vec<Loss>,
}

impl Copy<'_> {
    fn all(mut self) -> Result<Vec<Loss>> {
        let root = self.job.source.root()?.address();
        let id = self.writer.root().id();
        self.objects.insert(root, id);
        self.properties(root, id)?;
        if self.job.is_selected("/") {
            self.belongings(root, id)?;
        }
        let mut groups = VecDeque::from([(root, String::new())]);
        let mut passed = HashSet::from([root]);
        while let Some((address, path)) = groups.pop_front() {
            let Node::Group(group) = self.job.source.object_at(address)? else { continue };
            let links: std::result::Result<Vec<Link>, _> = group.links()?.into_iter().collect();
            let mut links = links.map_err(|broken| broken.error)?;
            links.sort_by_key(|link| link.creation_order);
            for Link { name, target, utf8, .. } in links {
                self.job.interrupted()?;
                let (parent, name) = (path.as_str(), text(&name)?);
                let path = format!("{path}/{name}");
                if !self.job.is_selected(&path) {
                    if let Target::Hard(address) = target
                        && passed.insert(address)
                    {
                        groups.push_back((address, path));
                    }
                    continue;
                }
                self.reach(parent)?;
                if let Some(group) = self.link(&path, target)? {
                    groups.push_back((group, path.clone()));
                }
                if utf8 == name.is_ascii() {
                    let said = if utf8 { CharacterSet::Utf8 } else { CharacterSet::Ascii };
                    self.writer.group(parent)?.link_character_set(name, said)?;
                }
            }
        }
        self.refer()?;
        self.writer.finish()?;
        Ok(self.lost)
    }

    /// Makes the groups that lead to what is selected, without what belongs to them.
    fn reach(&mut self, parent: &str) -> Result<()> {
        let ends = parent.match_indices('/').map(|(at, _)| at).skip(1).chain([parent.len()]);
        for end in ends.filter(|_| !self.job.select.is_empty()) {
            let Some(path) = parent.get(..end).filter(|path| !path.is_empty()) else { continue };
            let group = self.job.source.group(path)?.address();
            if !self.objects.contains_key(&group) {
                let id = self.writer.group(path)?.id();
                self.objects.insert(group, id);
                self.ways.insert(group);
                self.properties(group, id)?;
            }
        }
        Ok(())
    }

    /// Makes a link, and what it leads to. The answer is a group whose links are still to be made.
    fn link(&mut self, path: &str, target: Target) -> Result<Option<Address>> {
        let mut root = self.writer.root();
        match target {
            Target::Soft(to) => root.soft_link(path, text(&to)?).map(|_| None),
            Target::External { file, path: to } => {
                root.external_link(path, text(&file)?, text(&to)?).map(|_| None)
            }
            Target::User { class, data } => root.user_link(path, class, &data).map(|_| None),
            Target::Hard(address) => {
                if self.ways.contains(&address) {
                    let problem =
                        format!("selecting {path}, a group that leads to what is selected by another path,");
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
                    Node::Dataset(dataset) => self.dataset(path, &dataset)?,
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

    /// What became of a committed datatype, which many objects may have.
    fn committed(&mut self, address: Address) -> Result<ObjectId> {
        if let Some(&id) = self.objects.get(&address) {
            return Ok(id);
        }
        let Node::Datatype(committed) = self.job.source.object_at(address)? else {
            return Err(Error::unsupported("the datatype of an object that is none"));
        };
        let stored = Stored::new(self.job.source, &committed.datatype()?)?;
        let id = self.writer.commit_unlinked(stored.datatype())?;
        self.objects.insert(address, id);
        self.properties(address, id)?;
        self.belongings(address, id)?;
        Ok(id)
    }

    /// Times, orders, thresholds and versions of an object.
    fn properties(&mut self, address: Address, id: ObjectId) -> Result<()> {
        let mut properties = self.job.source.creation_properties(address)?;
        if let Some(bound) = self.job.wanted {
            // The versions are those of the bound; what only the newer ones can say stays nevertheless.
            let ordered = properties.attribute_order != CreationOrder::Unknown;
            let links = properties.links.take();
            let said = links.as_ref().is_some_and(|links| *links != LinkProperties::default());
            properties.header_version = if bound == Bound::Earliest && !ordered { 1 } else { 2 };
            let new = bound > Bound::Earliest || said;
            properties.links = new.then(|| links.unwrap_or_default());
        }
        self.writer.creation_properties(id, &properties)
    }

    /// Attributes and comment of an object.
    fn belongings(&mut self, address: Address, id: ObjectId) -> Result<()> {
        let mut attributes = self.job.source.attributes_at(address)?;
        attributes.sort_by_key(Attribute::creation_order);
        for attribute in attributes {
            if Stored::new(self.job.source, attribute.datatype()?)?.refers() {
                self.attributes.push((id, address, attribute));
            } else {
                self.attribute((id, address), &attribute, &References::new())?;
            }
        }
        match self.job.source.object_info(address)?.comment {
            Some(comment) => self.writer.comment(id, text(&comment)?),
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
        let name = text(attribute.name().ok_or_else(unnamed)?)?;
        let stored = Stored::new(self.job.source, attribute.datatype()?)?;
        let shape = match attribute.dataspace()? {
            Dataspace::Null => None,
            other => Some(other.shape().unwrap_or_default().to_vec()),
        };
        let raw = attribute.raw()?;
        let canonical = if stored.is_direct() { Vec::new() } else { attribute.canonical()? };
        let (canonical, count) = stored.leading(canonical, self.places.as_ref())?;
        self.lose(of, Some(name), count)?;
        let committed = attribute.committed()?.map(|address| self.committed(address)).transpose()?;
        let characters = attribute.character_set()?;
        let bytes = (raw, &canonical[..]);
        let kept = Kept { stored: &stored, shape, bytes, references, committed, characters };
        self.writer.attribute(id, name, kept)
    }

    fn dataset(&mut self, path: &str, dataset: &Dataset) -> Result<ObjectId> {
        let stored = Stored::new(self.job.source, dataset.datatype())?;
        let committed = dataset.committed()?.map(|address| self.committed(address)).transpose()?;
        let builder = self.writer.dataset(path).datatype(stored.datatype().clone());
        let builder = match committed {
            Some(id) => builder.committed(id),
            None => builder,
        };
        let builder = storage::filled(builder, dataset, &stored, self.job.options)?;
        if *dataset.dataspace() == Dataspace::Null {
            return builder.write_null();
        }
        let elsewhere = storage::elsewhere(builder, (path, dataset), self.job)?;
        let builder = match elsewhere {
            Ok(kept) => return Ok(kept.create_encoded()?.id()),
            Err(builder) => storage::placed(builder, dataset, self.job.options)?,
        };
        let id = builder.create_encoded()?.id();
        if stored.refers() {
            self.arrays.push((id, dataset.clone()));
        } else {
            self.elements(id, dataset, &References::new())?;
        }
        Ok(id)
    }

    /// Tells that references of an object or its attribute lead to nothing that is selected.
    fn lose(&mut self, of: Address, attribute: Option<&str>, count: u64) -> Result<()> {
        if count > 0 {
            let path = self.job.source.path_of(of)?.map(|path| String::from_utf8_lossy(path).into_owned());
            let attribute = attribute.map(|name| format!("@{name}"));
            let path = path.unwrap_or_default() + attribute.as_deref().unwrap_or_default();
            self.lost.push(Loss::of_references(path, count));
        }
        Ok(())
    }

    /// Writes what refers to objects, now that all of them have their places.
    fn refer(&mut self) -> Result<()> {
        if self.arrays.is_empty() && self.attributes.is_empty() {
            return Ok(());
        }
        let mut references = References::new();
        for (address, id) in &self.objects {
            if let Some(path) = self.job.source.path_of(*address)? {
                let path = String::from_utf8_lossy(path).into_owned();
                references.insert(path, self.writer.reference(*id)?);
            }
        }
        self.places = (!self.job.select.is_empty()).then(|| references.keys().cloned().collect());
        for (id, dataset) in std::mem::take(&mut self.arrays) {
            self.elements(id, &dataset, &references)?;
        }
        for (id, of, attribute) in std::mem::take(&mut self.attributes) {
            self.attribute((id, of), &attribute, &references)?;
        }
        Ok(())
    }
}

fn text(name: &hdf5_pure::Name) -> Result<&str> {
    name.as_str().ok_or_else(|| Error::unsupported("writing names that are not UTF-8 in HDF5"))
}
