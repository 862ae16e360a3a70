//! Copies objects of one HDF5 file into another one that is edited, or into the same one, as the library's `H5Ocopy` does.
//!
//! What stays and what changes is the same as for a whole file that is written anew, with one addition: references to objects
//! that are not copied keep their meaning in the same file, and become null in another one.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::ControlFlow;
use std::path::Path;

use hdf5_pure::structure::{Dataspace, Layout, Link, Target};
use hdf5_pure::walk::Found;
use hdf5_pure::{Address, Attribute, Dataset, DatasetBuilder, Editor, File, Group, Name, Node, ObjectId};
use sciformats_core::Slab;

use super::elements::{Kept, Stored, extents};
use super::{shown, storage, unusual};
use crate::sink::WriteOptions;
use crate::sink::hdf5_encode::References;
use hdf5_pure::references::Reference;
use sciformats::model::{ArrayInfo, ElementType};
use sciformats::pieces::Pieces;
use sciformats::{Error, Result};

/// What a copy of an object contains, and how it is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the library's function")]
pub struct CopyOptions {
    /// Whether the object belongs to the file that is edited.
    pub within: bool,
    /// Whether groups below the first one are copied without their members.
    pub shallow: bool,
    /// Whether soft links become the objects to which they lead.
    pub expand_soft: bool,
    /// Whether external links become the objects to which they lead.
    pub expand_external: bool,
    /// Whether attributes are left out.
    pub without_attributes: bool,
}

/// The number of bytes of elements that are in memory at once, unless a single one has more.
const AT_ONCE: u64 = 8 << 20;

pub(in crate::repack) fn copy(
    node: &Node,
    (editor, path): (&mut Editor, &(impl hdf5_pure::AsName + ?Sized)),
    options: CopyOptions,
) -> Result<()> {
    let edited = editor.file()?;
    let (offsets, folder) = (edited.superblock().sizes.offsets, edited.path().and_then(Path::parent));
    let path = &Name::from(path.name_bytes());
    let mut made = first_missing(editor, path)?.into_iter().collect::<Vec<_>>();
    let mut copy = Copy {
        editor,
        folder,
        options,
        offsets,
        objects: HashMap::new(),
        sources: Vec::new(),
        groups: VecDeque::new(),
        arrays: Vec::new(),
        attributes: Vec::new(),
    };
    let copied = copy.all(node, path, &mut made);
    if copied.is_err() {
        // Nothing that is incomplete stays. If a link cannot be removed, it is not there.
        for path in made {
            let _ = editor.unlink(&path);
        }
    }
    copied
}

/// Returns the first part of a path to which nothing leads yet.
fn first_missing(editor: &mut Editor, path: &Name) -> Result<Option<Name>> {
    let path = path.as_bytes();
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    let ends = slashes.skip(1).chain([path.len()]);
    for part in ends.filter_map(|end| path.get(..end)).filter(|part| part.len() > 1).map(Name::from) {
        if !editor.has_link(&part)? {
            return Ok(Some(part));
        }
    }
    Ok(None)
}

/// Returns the file of an object and its address.
fn place(node: &Node) -> (&File, Address) {
    match node {
        Node::Group(group) => (group.file(), group.address()),
        Node::Dataset(dataset) => (dataset.file(), dataset.address()),
        Node::Datatype(committed) => (committed.file(), committed.address()),
    }
}

/// An object by the number of its file, and its address.
type Key = (usize, Address);

/// A copy in progress.
struct Copy<'a> {
    editor: &'a mut Editor,
    /// The folder of the file that is edited.
    folder: Option<&'a Path>,
    options: CopyOptions,
    /// The width of addresses in the file that is edited.
    offsets: u8,
    /// The new id of each object.
    pub(super) objects: HashMap<Key, ObjectId>,
    /// The files from which objects are copied: the first one, and those to which external links lead.
    sources: Vec<File>,
    /// Groups whose members are still to be copied, and their new paths.
    groups: VecDeque<(usize, Group, Name)>,
    /// Datasets and attributes that refer to objects; they are written when all objects exist.
    pub(super) arrays: Vec<(usize, ObjectId, Dataset)>,
    pub(super) attributes: Vec<(usize, ObjectId, Attribute)>,
}

impl Copy<'_> {
    /// Copies an object. If there is a group at the path already, it gets the members and attributes of the object. The paths of
    /// the links that this makes in it are appended to `made`.
    fn all(&mut self, node: &Node, path: &Name, made: &mut Vec<Name>) -> Result<()> {
        match node {
            Node::Group(group) if made.is_empty() => {
                let id = self.editor.group(path)?.id();
                let source = self.source(group.file());
                self.objects.insert((source, group.address()), id);
                self.members(source, group, path, made)?;
                self.attributes_of((source, group.address()), id)?;
            }
            _ => {
                self.object(node, path)?;
                if let Some((source, group, path)) = self.groups.pop_front() {
                    self.members(source, &group, &path, &mut Vec::new())?;
                }
            }
        }
        if self.options.shallow {
            self.groups.clear();
        }
        while let Some((source, group, path)) = self.groups.pop_front() {
            self.members(source, &group, &path, &mut Vec::new())?;
        }
        self.refer()
    }

    /// Returns the number of a file.
    fn source(&mut self, file: &File) -> usize {
        if let Some(at) = self.sources.iter().position(|known| known.is_same(file)) {
            return at;
        }
        let at = self.sources.len();
        self.sources.push(file.clone());
        at
    }

    fn file(&self, source: usize) -> Result<&File> {
        self.sources.get(source).ok_or_else(|| Error::internal("a source of a copy is not known"))
    }

    /// Returns whether an object is in the file that is edited.
    fn is_within(&self, source: usize) -> bool {
        self.options.within && source == 0
    }

    /// Copies the links of a group, and the objects to which they lead.
    fn members(&mut self, source: usize, group: &Group, path: &Name, made: &mut Vec<Name>) -> Result<()> {
        let links: std::result::Result<Vec<Link>, _> = group.links()?.into_iter().collect();
        let mut links = links.map_err(|broken| broken.error)?;
        links.sort_by_key(|link| link.creation_order);
        for Link { name, target, utf8, .. } in links {
            let before = path.as_bytes().strip_suffix(b"/").unwrap_or(path.as_bytes());
            let new = Name::from([before, b"/", name.as_bytes()].concat().as_slice());
            if !self.editor.has_link(&new)? {
                made.push(new.clone());
            }
            self.link((source, group, &name), &new, target)?;
            if let Some(said) = unusual(&name, utf8) {
                self.editor.group(path)?.link_character_set(&name, said)?;
            }
        }
        Ok(())
    }

    fn link(
        &mut self,
        (source, group, name): (usize, &Group, &Name),
        path: &Name,
        target: Target,
    ) -> Result<()> {
        let follow = match &target {
            Target::Soft(_) => self.options.expand_soft,
            Target::External { .. } => self.options.expand_external,
            _ => false,
        };
        // As with the library, a link that leads nowhere stays a link.
        if follow && let Ok(node) = group.object(name) {
            return self.object(&node, path);
        }
        let mut root = self.editor.root();
        match target {
            Target::Soft(to) => root.soft_link(path, &to).map(drop),
            Target::External { file, path: to } => root.external_link(path, &file, &to).map(drop),
            Target::User { class, data } => root.user_link(path, class, &data).map(drop),
            Target::Hard(address) => {
                if let Some(&id) = self.objects.get(&(source, address)) {
                    return root.hard_link(path, id).map(drop);
                }
                let node = self.file(source)?.object_at(address)?;
                self.object(&node, path)
            }
        }
    }

    /// Copies an object to a path, or makes a link if it was copied already.
    fn object(&mut self, node: &Node, path: &Name) -> Result<()> {
        let (file, address) = place(node);
        let key = (self.source(file), address);
        if let Some(&id) = self.objects.get(&key) {
            return self.editor.root().hard_link(path, id).map(drop);
        }
        let id = match node {
            Node::Group(group) => {
                self.groups.push_back((key.0, group.clone(), path.clone()));
                self.editor.group(path)?.id()
            }
            Node::Dataset(dataset) => self.dataset(key.0, path, dataset)?,
            Node::Datatype(_) => {
                let id = self.committed(key)?;
                return self.editor.root().hard_link(path, id).map(drop);
            }
        };
        self.belongings(key, id)
    }

    /// Notes the new id of an object, and copies its properties, attributes and comment.
    fn belongings(&mut self, key: Key, id: ObjectId) -> Result<()> {
        self.objects.insert(key, id);
        let file = self.file(key.0)?.clone();
        self.editor.creation_properties(id, &file.creation_properties(key.1)?)?;
        self.attributes_of(key, id)?;
        match file.object_info(key.1)?.comment {
            Some(comment) => self.editor.comment(id, &comment),
            None => Ok(()),
        }
    }

    fn attributes_of(&mut self, (source, address): Key, id: ObjectId) -> Result<()> {
        if self.options.without_attributes {
            return Ok(());
        }
        let file = self.file(source)?.clone();
        let mut attributes = file.attributes_at(address)?;
        attributes.sort_by_key(Attribute::creation_order);
        // What follows an attribute with references waits with it, so that the order of attributes stays.
        let mut waits = false;
        for attribute in attributes {
            waits = waits || Stored::new(&file, attribute.datatype()?)?.refers();
            if waits {
                self.attributes.push((source, id, attribute));
            } else {
                self.attribute(source, id, &attribute, &Places::default())?;
            }
        }
        Ok(())
    }

    fn attribute(&mut self, source: usize, id: ObjectId, attribute: &Attribute, to: &Places) -> Result<()> {
        let unnamed = || Error::unsupported("an attribute without a name");
        let name = attribute.name().ok_or_else(unnamed)?;
        let stored = self.stored(source, attribute.datatype()?)?;
        let (shape, maximum) = extents(attribute.dataspace()?);
        let canonical = if stored.is_direct() { Vec::new() } else { attribute.canonical()? };
        let (canonical, _) = stored.leading(canonical, Some(&to.paths))?;
        let committed =
            attribute.committed()?.map(|address| self.committed((source, address))).transpose()?;
        let characters = attribute.character_set()?;
        let bytes = (attribute.raw()?, &canonical[..]);
        let references = &to.references;
        let kept = Kept { stored: &stored, shape, maximum, bytes, references, committed, characters };
        self.editor.attribute(id, name, kept)
    }

    fn stored(&self, source: usize, datatype: &hdf5_pure::Datatype) -> Result<Stored> {
        let stored = Stored::new(self.file(source)?, datatype)?;
        match stored.is_direct() || self.offsets == 8 {
            true => Ok(stored),
            false => Err(Error::unsupported(
                "copying elements that lead elsewhere into a file whose addresses do not have 8 bytes",
            )),
        }
    }

    /// Returns the new id of a committed datatype, which many objects may share.
    fn committed(&mut self, key: Key) -> Result<ObjectId> {
        if let Some(&id) = self.objects.get(&key) {
            return Ok(id);
        }
        let Node::Datatype(committed) = self.file(key.0)?.object_at(key.1)? else {
            return Err(Error::unsupported(
                "an object that names another object as its datatype, although that is not a datatype,",
            ));
        };
        let stored = self.stored(key.0, &committed.datatype()?)?;
        let id = self.editor.commit_unlinked(stored.datatype())?;
        self.belongings(key, id)?;
        Ok(id)
    }

    fn dataset(&mut self, source: usize, path: &Name, dataset: &Dataset) -> Result<ObjectId> {
        let stored = self.stored(source, dataset.datatype())?;
        let committed = dataset.committed()?.map(|address| self.committed((source, address))).transpose()?;
        let folder = self.folder;
        let builder = self.editor.dataset(path).datatype(stored.datatype().clone());
        let builder = match committed {
            Some(id) => builder.committed(id),
            None => builder,
        };
        let options = WriteOptions::default();
        let builder = storage::filled(builder, dataset, &stored, &options)?;
        if *dataset.dataspace() == Dataspace::Null {
            return builder.write_null();
        }
        let builder = match elsewhere(builder, (path, dataset), folder)? {
            Ok(kept) => return Ok(kept.create_encoded()?.id()),
            Err(builder) => {
                let plain_edges = storage::has_plain_edges(dataset)?;
                storage::placed(builder, dataset, (&options, plain_edges))?
            }
        };
        let id = builder.create_encoded()?.id();
        if stored.refers() {
            self.arrays.push((source, id, dataset.clone()));
        } else {
            self.elements(source, id, dataset, &Places::default())?;
        }
        Ok(id)
    }

    /// Writes the elements that are stored in the source.
    fn elements(&mut self, source: usize, id: ObjectId, dataset: &Dataset, to: &Places) -> Result<()> {
        let Some(shape) = dataset.dataspace().extent() else { return Ok(()) };
        let stored = self.stored(source, dataset.datatype())?;
        let mut writer = self.editor.open_id(id)?;
        let mut write = |slab: &Slab| {
            let raw = dataset.read_raw(slab)?;
            let canonical = if stored.is_direct() { Vec::new() } else { dataset.read_canonical(slab)? };
            let (canonical, _) = stored.leading(canonical, Some(&to.paths))?;
            writer.write_encoded(slab, |out| stored.encode((&raw, &canonical), &to.references, out))?;
            Ok(())
        };
        match dataset.layout()? {
            Layout::Contiguous { address: None } | Layout::Virtual(_) => Ok(()),
            Layout::Chunked(_) => {
                let all = Slab::all(shape)?;
                if stored.is_direct() {
                    // The bytes are equal, so nothing has to be decoded and encoded again.
                    return dataset.for_each_chunk(&all, &mut |chunk| {
                        writer.write_chunk(&chunk.scaled, chunk.filter_mask, &dataset.chunk_raw(&chunk)?)?;
                        Ok(ControlFlow::Continue(()))
                    });
                }
                dataset.for_each_chunk(&all, &mut |chunk| {
                    write(&dataset.chunk_slab(&chunk)?)?;
                    Ok(ControlFlow::Continue(()))
                })
            }
            _ => {
                let info = ArrayInfo::new(ElementType::Opaque(u64::from(dataset.datatype().size)), shape);
                Pieces::new(&info, &Slab::all(shape)?, AT_ONCE).try_for_each(|slab| write(&slab))
            }
        }
    }

    /// Writes the datasets and attributes that refer to objects, now that all objects exist.
    fn refer(&mut self) -> Result<()> {
        let (arrays, attributes) = (std::mem::take(&mut self.arrays), std::mem::take(&mut self.attributes));
        let sources =
            arrays.iter().map(|(source, ..)| *source).chain(attributes.iter().map(|(source, ..)| *source));
        let mut places = HashMap::new();
        for source in sources.collect::<HashSet<_>>() {
            places.insert(source, self.places(source)?);
        }
        let none = Places::default();
        for (source, id, dataset) in arrays {
            self.elements(source, id, &dataset, places.get(&source).unwrap_or(&none))?;
        }
        for (source, id, attribute) in attributes {
            self.attribute(source, id, &attribute, places.get(&source).unwrap_or(&none))?;
        }
        Ok(())
    }

    /// Returns where references of a file lead in the copy.
    fn places(&mut self, source: usize) -> Result<Places> {
        let file = self.file(source)?.clone();
        let mut references = References::new();
        let path =
            |address: Address| -> Result<Option<Vec<u8>>> { Ok(file.path_of(address)?.map(<[u8]>::to_vec)) };
        if self.is_within(source) {
            references.insert(b"?".to_vec(), Reference::default());
            for entry in file.walk() {
                if let Found::Object(address) = entry.what
                    && let Some(path) = path(address)?
                {
                    references.insert(path, address.into());
                }
            }
        } else {
            for (&(_, address), &id) in self.objects.iter().filter(|((of, _), _)| *of == source) {
                if let Some(path) = path(address)? {
                    references.insert(path, self.editor.reference(id)?);
                }
            }
        }
        Ok(Places { paths: references.keys().cloned().collect(), references })
    }
}

/// Where references lead in the copy.
#[derive(Default)]
struct Places {
    references: References,
    paths: HashSet<Vec<u8>>,
}

/// Sets up a dataset whose elements stay in other files or datasets. Otherwise, the unchanged builder is returned as the inner
/// error.
fn elsewhere<'w>(
    mut builder: DatasetBuilder<'w>,
    (path, dataset): (&Name, &Dataset),
    folder: Option<&Path>,
) -> Result<std::result::Result<DatasetBuilder<'w>, DatasetBuilder<'w>>> {
    let Dataspace::Simple { dimensions, maximum } = dataset.dataspace() else { return Ok(Err(builder)) };
    let (files, mappings) = (dataset.external_files()?, dataset.mappings()?);
    let is_virtual = matches!(dataset.layout()?, Layout::Virtual(_));
    if files.is_empty() && !is_virtual {
        return Ok(Err(builder));
    }
    let names = files.iter().map(|(name, ..)| name).chain(mappings.iter().map(|mapping| &mapping.file));
    let relative = |name: &&Name| name.as_bytes() != b"." && !name.as_bytes().starts_with(b"/");
    let folders = dataset.file().path().and_then(|path| Some((path.parent()?, folder?)));
    let real =
        |path: &Path| std::fs::canonicalize(if path.as_os_str().is_empty() { Path::new(".") } else { path });
    let same =
        folders.is_some_and(|(from, to)| matches!((real(from), real(to)), (Ok(from), Ok(to)) if from == to));
    if let (false, Some(name)) = (same, names.into_iter().find(relative)) {
        let problem = format!(
            "copying {} into a file in another folder, while its elements are in {} beside its own file,",
            shown(path.as_bytes()),
            shown(name.as_bytes())
        );
        return Err(Error::unsupported(problem));
    }
    let stored = if is_virtual { dataset.stored_shape() } else { dimensions };
    builder = builder.shape(stored).max_shape(maximum.clone());
    if !files.is_empty() {
        return Ok(Ok(builder.external(files.iter().map(|(name, offset, size)| (name, *offset, *size)))));
    }
    Ok(Ok(mappings.into_iter().fold(builder.virtual_layout(), DatasetBuilder::map_selection)))
}
