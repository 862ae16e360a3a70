//! Writes the tree of a plan into a sink.

use std::collections::HashMap;
use std::sync::Arc;

#[cfg(feature = "hdf5")]
use sciformats::Attribute;
use sciformats::model::ObjectId;
use sciformats::options::Unfolding;
use sciformats::source::Member;
use sciformats::{Error, File, Object, Result, Target};

use super::Loss;
use super::rescue::Rescue;
use crate::sink::{Elements, Handle, New, Place, Sink};

/// A tree that is being written into a sink.
pub(super) struct Writing<'a> {
    pub(super) tree: &'a Arc<File>,
    pub(super) sink: Box<dyn Sink>,
    pub(super) handles: HashMap<ObjectId, Handle>,
    pub(super) unfolding: Unfolding,
    /// Records what cannot be written, if writing continues after that.
    pub(super) rescue: Option<&'a Rescue>,
    /// The HDF5 file that an HDF5 file is rescued from: its objects are stored as they were.
    #[cfg(feature = "hdf5")]
    pub(super) like: Option<hdf5_pure::File>,
}

/// A group whose members have not been written yet.
struct Open {
    path: String,
    id: ObjectId,
    handle: Handle,
}

impl Writing<'_> {
    /// Writes everything.
    pub(super) fn all(&mut self) -> Result<()> {
        let tree = self.tree;
        let root = tree.source().root();
        let mut groups: Vec<Open> = self.object(Place::Root, ("/", root))?.into_iter().collect();
        // The tree is written level by level, so that an object with several links is written at the path
        // that the manifest names.
        while !groups.is_empty() {
            let mut deeper = Vec::new();
            for group in groups {
                let members = tree.source().members(group.id)?.collect::<Result<Vec<_>>>()?;
                for member in self.in_order(&group.path, members) {
                    let path = sciformats::walk::join(&group.path, &member.name);
                    let place = Place::In(group.handle, &member.name);
                    deeper.extend(self.member(place, (&path, &member.target))?);
                }
            }
            groups = deeper;
        }
        Ok(())
    }

    /// Returns what was written; `None` if it cannot be written and writing continues.
    fn kept<T>(&self, path: &str, result: Result<T>) -> Result<Option<T>> {
        match (result, self.rescue) {
            (Ok(done), _) => Ok(Some(done)),
            (Err(error @ (Error::Io { .. } | Error::Conflict { .. })), _) | (Err(error), None) => Err(error),
            (Err(error), Some(rescue)) => {
                let what = format!("is left out: {error}");
                rescue.lose(Loss { path: path.into(), what, lost: None });
                Ok(None)
            }
        }
    }

    /// Writes the object that a member leads to. If it is a group, it is returned, because its members are
    /// still to be written.
    fn member(&mut self, place: Place<'_>, (path, target): (&str, &Target)) -> Result<Option<Open>> {
        let link = match target {
            Target::Object(id) => match self.handles.get(id) {
                Some(handle) => New::Hard(*handle),
                None => return self.object(place, (path, *id)),
            },
            Target::Soft(path) => New::Soft(path),
            Target::External { file, target } => New::External { file, target },
            // A plan has no other kinds of links.
            Target::User(_) | Target::Damaged(_) => return Ok(None),
        };
        let added = self.sink.add(place, link);
        self.kept(path, added)?;
        Ok(None)
    }

    /// Returns members in the order in which they were created, if that is known.
    #[cfg(feature = "hdf5")]
    fn in_order(&self, path: &str, mut members: Vec<Member>) -> Vec<Member> {
        if let Some(links) = self.like.as_ref().and_then(|file| file.group(&name(path)).ok()?.links().ok()) {
            let orders: HashMap<Vec<u8>, u64> = links
                .into_iter()
                .flatten()
                .filter_map(|link| {
                    Some((link.name.as_bytes().to_vec(), link.creation_order?.try_into().ok()?))
                })
                .collect();
            members.sort_by_key(|member| orders.get(member.name.as_bytes()).copied());
        }
        members
    }

    #[cfg(not(feature = "hdf5"))]
    fn in_order(&self, _: &str, members: Vec<Member>) -> Vec<Member> {
        members
    }

    /// Tells the sink how the next object is stored in the file that it comes from, if that is known.
    #[cfg(feature = "hdf5")]
    fn like(&mut self, path: &str) -> Option<hdf5_pure::Address> {
        let file = self.like.as_ref()?;
        let address = match file.object(&name(path)).ok()? {
            hdf5_pure::Node::Group(group) => group.address(),
            hdf5_pure::Node::Dataset(dataset) => dataset.address(),
            hdf5_pure::Node::Datatype(datatype) => datatype.address(),
        };
        self.sink.like(file, address);
        Some(address)
    }

    /// Returns attributes in the order in which they were created, if that is known.
    #[cfg(feature = "hdf5")]
    fn attributes_in_order(
        &self,
        of: Option<hdf5_pure::Address>,
        mut attributes: Vec<Attribute>,
    ) -> Vec<Attribute> {
        let file = self.like.as_ref().filter(|_| attributes.len() > 1);
        if let Some(stored) = file.zip(of).and_then(|(file, address)| file.attributes_at(address).ok()) {
            let orders: HashMap<Vec<u8>, u64> = stored
                .iter()
                .filter_map(|stored| {
                    Some((stored.name()?.as_bytes().to_vec(), stored.creation_order()?.into()))
                })
                .collect();
            attributes.sort_by_key(|attribute| orders.get(attribute.name.as_bytes()).copied());
        }
        attributes
    }

    /// Reports what an object does not keep of how it was stored.
    #[cfg(feature = "hdf5")]
    fn unlike(&mut self, path: &str) {
        let lost = self.sink.unlike();
        if let (Some(rescue), false) = (self.rescue, lost.is_empty()) {
            rescue.lose(Loss::of_storage(path.into(), &lost));
        }
    }

    fn object(&mut self, place: Place<'_>, (path, id): (&str, ObjectId)) -> Result<Option<Open>> {
        let object = self.tree.source().object(id)?;
        #[cfg(feature = "hdf5")]
        let like = self.like(path);
        let added = match &object {
            Object::Group => self.sink.add(place, New::Group),
            Object::Array(info) => {
                let elements = info.elements().unwrap_or(u64::MAX); // a bound: more than any limit
                self.unfolding.add(elements, info).and_then(|()| {
                    let elements = Elements::of(Arc::clone(self.tree), id, (**info).clone());
                    self.sink.add(place, New::Array(elements))
                })
            }
            Object::Datatype(element) => self.sink.add(place, New::Datatype(element)),
            Object::Value(value) => self.sink.add(place, New::Value(value)),
            Object::Damaged { .. } => return Ok(None),
        };
        #[cfg(feature = "hdf5")]
        self.unlike(path);
        let Some(handle) = self.kept(path, added)? else { return Ok(None) };
        if self.tree.source().may_be_shared(id) {
            self.handles.insert(id, handle);
        }
        let attributes = self.tree.source().attributes(id)?.collect::<Result<Vec<_>>>()?;
        #[cfg(feature = "hdf5")]
        let attributes = self.attributes_in_order(like, attributes);
        for attribute in attributes {
            let path = format!("{path}@{}", attribute.name.shown());
            let added =
                attribute.value.and_then(|value| self.sink.attribute(handle, &attribute.name, &value));
            self.kept(&path, added)?;
        }
        Ok(matches!(object, Object::Group).then(|| Open { path: path.into(), id, handle }))
    }
}

/// Returns the path that is shown as text.
#[cfg(feature = "hdf5")]
fn name(path: &str) -> hdf5_pure::Name {
    super::stored(path)[..].into()
}
