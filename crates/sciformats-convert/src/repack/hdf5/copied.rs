//! Copies the objects of a file one after another.

use std::collections::{HashMap, HashSet, VecDeque};

use hdf5_pure::options::Bound;
use hdf5_pure::structure::{CharacterSet, CreationOrder, Dataspace, Link, LinkProperties, Target};
use hdf5_pure::{Address, Attribute, Dataset, Name, Node, ObjectId, Writer};
use sciformats::{Error, Result};

use super::elements::{Kept, Stored};
use super::job::Job;
use super::{elements, shown, storage};
use crate::convert::Loss;
use crate::sink::Rounding;
use crate::sink::hdf5_encode::References;

/// A file that is being copied.
pub(super) struct Copy<'a> {
    pub(super) job: &'a Job<'a>,
    pub(super) writer: Writer,
    /// The new id of each object.
    pub(super) objects: HashMap<Address, ObjectId>,
    /// Datasets that refer to objects; they are written when all objects exist.
    pub(super) arrays: Vec<(ObjectId, Dataset)>,
    /// Attributes that refer to objects, and those after them.
    pub(super) attributes: Vec<(ObjectId, Address, Attribute)>,
    /// Groups that only lead to selected objects.
    pub(super) ways: HashSet<Address>,
    /// The paths that references may lead to; `None` until everything is written.
    pub(super) places: Option<HashSet<Vec<u8>>>,
    pub(super) lost: Vec<Loss>,
    /// Whether the path of each rule is that of a dataset.
    pub(super) matched: Vec<bool>,
    /// Whether each pattern selects an object.
    pub(super) found: Vec<bool>,
    /// The datasets that were rounded. Attributes that describe an earlier rounding are no longer true.
    pub(super) rounded: HashSet<Address>,
}

impl Copy<'_> {
    pub(super) fn all(mut self) -> Result<Vec<Loss>> {
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
    pub(super) fn committed(&mut self, address: Address) -> Result<ObjectId> {
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
    pub(super) fn lose(&mut self, of: Address, attribute: Option<&str>, count: u64) -> Result<()> {
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

/// Returns the character set of the name of a link, if it is not the one that new links get for these characters.
pub(super) fn unusual(name: &Name, utf8: bool) -> Option<CharacterSet> {
    let usual = name.as_str().is_some_and(|text| !text.is_ascii());
    (utf8 != usual).then_some(if utf8 { CharacterSet::Utf8 } else { CharacterSet::Ascii })
}
