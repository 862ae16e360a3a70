//! Counts the hard links to each object, and finds the objects to which no link leads any more.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sciformats_core::arith::{add, fit, increase};
use sciformats_core::{Error, Result, bound};

use crate::change::objects::Objects;
use crate::change::tree::{Kind, Object};
use crate::file::session::Session;
use crate::group;
use crate::group::members::Destination;
use crate::object::attributes::{self, AttributeList};
use crate::object::committed::datatype_of;
use crate::object::header::Object as Stored;
use crate::object::id::Id;
use crate::object::shared::{Part, Shares};
use crate::space::context::Context;
use crate::spec::Address;
use crate::spec::message::MessageType;

/// The links to objects. A use of a committed datatype counts as a link to it.
#[derive(Default)]
pub(crate) struct Counts {
    /// The number of the first new object.
    first: usize,
    /// The number of links to each new object.
    new: Vec<u32>,
    /// The change in the number of links to each object of the file.
    more: BTreeMap<Address, i64>,
    /// The objects that are to be removed from the file.
    pub(crate) deleted: BTreeSet<Address>,
    /// The shared messages, without the uses that have ended.
    pub(crate) shares: Shares,
    /// The datasets whose use of a shared dataspace message has been given back already, because the message will be
    /// written again.
    reshaped: BTreeSet<Address>,
    /// The objects that have lost links and still have to be checked.
    lost: Vec<Lost>,
}

enum Lost {
    New(usize),
    Stored(Address),
}

impl Counts {
    /// Counts the links to the objects of a new file. `used` has the committed datatypes that objects use which have been
    /// written already, and the number of uses of each.
    pub(crate) fn of_new(objects: &Objects, used: &BTreeMap<Id, u32>) -> Result<Self> {
        let mut counts = Self::of_none(objects);
        for (id, uses) in used {
            counts.add(objects, &Destination::Object(*id), (*uses).into())?;
        }
        counts.add(objects, &Destination::Object(Id::ROOT), 1)?;
        counts.all(objects)?;
        counts.find_unlinked(objects);
        while let Some(lost) = counts.lost.pop() {
            if let Lost::New(index) = lost {
                counts.drop_new(objects, index)?;
            }
        }
        Ok(counts)
    }

    fn of_none(objects: &Objects) -> Self {
        let first = objects.settled();
        Self { first, new: vec![0; bound::left(objects.len(), first)], ..Self::default() }
    }

    /// Counts the links to the objects of a file that is being edited.
    ///
    /// # Errors
    /// Returns `Malformed` if an object that may have to be removed cannot be read.
    pub(crate) fn of_edited(objects: &Objects, session: &Session) -> Result<Self> {
        let mut counts = Self::of_none(objects);
        counts.all(objects)?;
        // New uses are counted before old uses are given back. Otherwise a part that is only moved would drop to zero
        // uses in between, and would be removed.
        let mut given_back: Vec<&Part> = Vec::new();
        for (_, object) in objects.iter() {
            if let Kind::Group(group) = &object.kind
                && let Some(stored) = &group.stored
            {
                stored.targets.iter().try_for_each(|target| counts.add_stored(*target, -1))?;
            }
            if let Some(stored) = object.origin.as_ref().and_then(|origin| origin.attributes.as_ref()) {
                counts.of_attributes(objects, session, &object.attributes, 1)?;
                given_back.extend(&stored.parts);
            }
            if let (Kind::Dataset(dataset), Some(origin)) = (&object.kind, &object.origin)
                && dataset.is_reshaped()
            {
                counts.reshape(session.context(), origin.address)?;
            }
        }
        given_back.into_iter().try_for_each(|part| counts.give_back(session.context(), *part))?;
        counts.find_unlinked(objects);
        let loaded: HashMap<Address, &Object> = objects
            .iter()
            .filter_map(|(_, object)| Some((object.origin.as_ref()?.address, object)))
            .collect();
        while let Some(lost) = counts.lost.pop() {
            match lost {
                Lost::New(index) => counts.drop_new(objects, index)?,
                Lost::Stored(address) => counts.drop_stored(objects, session, address, &loaded)?,
            }
        }
        Ok(counts)
    }

    /// Returns the number of links to the new object with this index.
    pub(crate) fn of(&self, index: usize) -> u32 {
        // Objects that the file has already are not in this list.
        let new = index.checked_sub(self.first).and_then(|at| self.new.get(at));
        new.copied().unwrap_or_default()
    }

    /// Returns what has to be added to the link count of each object that stays.
    pub(crate) fn changes(&self) -> impl Iterator<Item = (Address, i64)> {
        let stays = |(at, more): &(Address, i64)| *more != 0 && !self.deleted.contains(at);
        self.more.iter().map(|(at, more)| (*at, *more)).filter(stays)
    }

    fn add_stored(&mut self, address: Address, more: i64) -> Result<()> {
        increase(self.more.entry(address).or_default(), more)?;
        if more < 0 {
            self.lost.push(Lost::Stored(address));
        }
        Ok(())
    }

    fn add(&mut self, objects: &Objects, to: &Destination, more: i64) -> Result<()> {
        match to {
            Destination::Stored(address) => self.add_stored(*address, more)?,
            Destination::Object(id) => {
                let origin = objects.get(id.index()).and_then(|object| object.origin.as_ref());
                let new = id.index().checked_sub(self.first).and_then(|at| self.new.get_mut(at));
                match (origin, new) {
                    (Some(origin), _) => self.add_stored(origin.address, more)?,
                    (None, Some(count)) => {
                        *count = fit(add(i64::from(*count), more)?, "number of links to an object")?;
                        if more < 0 {
                            self.lost.push(Lost::New(id.index()));
                        }
                    }
                    (None, None) => return Err(Error::internal("the target of a link is missing")),
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Counts the links of all groups in memory, and the committed datatypes that datasets use.
    fn all(&mut self, objects: &Objects) -> Result<()> {
        objects.iter().try_for_each(|(_, object)| self.links_of(objects, object, 1))
    }

    fn links_of(&mut self, objects: &Objects, object: &Object, more: i64) -> Result<()> {
        if object.origin.is_none() {
            let mut committed = object.attributes.iter().filter_map(|attribute| attribute.committed);
            committed.try_for_each(|id| self.add(objects, &Destination::Object(id), more))?;
        }
        match &object.kind {
            Kind::Group(group) => group.members().try_for_each(|member| self.add(objects, &member.to, more)),
            Kind::Dataset(dataset) if object.origin.is_none() => {
                let committed = dataset.committed.map(Destination::Object);
                committed.iter().try_for_each(|to| self.add(objects, to, more))
            }
            _ => Ok(()),
        }
    }

    /// Collects the new objects to which nothing leads.
    fn find_unlinked(&mut self, objects: &Objects) {
        let new = objects.iter().filter(|(index, object)| *index >= self.first && object.origin.is_none());
        let unlinked: Vec<Lost> =
            new.filter(|(index, _)| self.of(*index) == 0).map(|(index, _)| Lost::New(index)).collect();
        self.lost.extend(unlinked);
    }

    /// Gives back the links of a new object if nothing leads to it. This happens once, when the object loses its last
    /// link.
    fn drop_new(&mut self, objects: &Objects, index: usize) -> Result<()> {
        let unlinked = objects.get(index).filter(|_| self.of(index) == 0);
        unlinked.map_or(Ok(()), |object| self.links_of(objects, object, -1))
    }

    /// Removes an object from the file if nothing leads to it any more. Objects that only it leads to are removed too.
    fn drop_stored(
        &mut self,
        objects: &Objects,
        session: &Session,
        address: Address,
        loaded: &HashMap<Address, &Object>,
    ) -> Result<()> {
        let context = session.context();
        let more = self.more.get(&address).copied().unwrap_or_default(); // none more
        let kept = Some(address) == session.extension() || address == session.opened.root;
        if more >= 0 || kept || self.deleted.contains(&address) {
            return Ok(());
        }
        if add(i64::from(session.header(address)?.references()), more)? > 0 {
            return Ok(());
        }
        self.deleted.insert(address);
        let stored = Stored::read(context, address)?;
        let loaded = loaded.get(&address).copied();
        match loaded {
            Some(Object { kind: Kind::Group(group), .. }) => {
                group.members().try_for_each(|member| self.add(objects, &member.to, -1))?;
                // Only links that are still in the file count here. Links that were removed before have been counted
                // already.
                let in_file = group.stored.as_ref().filter(|stored| stored.removed.is_some());
                if let Some(in_file) = in_file {
                    let whole = group::load(context, address)?;
                    let kept = whole.members().filter(|member| in_file.may_hold(member.name));
                    kept.into_iter().try_for_each(|member| self.add(objects, &member.to, -1))?;
                }
            }
            _ if group::is_group(&stored) => {
                let group = group::load(context, address)?;
                group.members().try_for_each(|member| self.add(objects, &member.to, -1))?;
            }
            _ => {}
        }
        match loaded.filter(|object| object.origin.as_ref().is_some_and(|o| o.attributes.is_some())) {
            Some(object) => {
                self.of_attributes(objects, session, &object.attributes, -1)?;
                // Only attributes that are still in the file count here. Attributes that were removed before have been
                // counted already.
                let stored = object.origin.as_ref().and_then(|origin| origin.attributes.as_ref());
                if let Some(stored) = stored.filter(|stored| stored.removed.is_some()) {
                    let mut in_file = attributes::load(context, address)?.0;
                    in_file.retain(|attribute| stored.may_hold(&attribute.name));
                    let parts = attributes::parts(context, &in_file)?;
                    parts.into_iter().try_for_each(|part| self.give_back(context, part))?;
                }
            }
            None => {
                let parts = attributes::parts(context, &attributes::load(context, address)?.0)?;
                parts.into_iter().try_for_each(|part| self.give_back(context, part))?;
            }
        }
        datatype_of(context, &stored)?.iter().try_for_each(|at| self.add_stored(*at, -1))?;
        for message in stored.messages() {
            let counted = message.kind == MessageType::Dataspace && self.reshaped.contains(&address);
            if message.kind != MessageType::Attribute && !counted {
                self.shares.give_back_message(context, &stored, message)?;
            }
        }
        Ok(())
    }

    /// Gives back the use of a shared dataspace message, because another message will be written in its place.
    fn reshape(&mut self, context: &Context, address: Address) -> Result<()> {
        let stored = Stored::read(context, address)?;
        let message = stored.find(MessageType::Dataspace);
        message.map_or(Ok(()), |message| self.shares.give_back_message(context, &stored, message))?;
        self.reshaped.insert(address);
        Ok(())
    }

    /// Counts one use less of a part of an attribute, and of everything that loses a use thereby.
    fn give_back(&mut self, context: &Context, part: Part) -> Result<()> {
        let mut parts = vec![part];
        while let Some(part) = parts.pop() {
            match part {
                Part::Committed(at) => self.add_stored(at, -1)?,
                Part::Shared(shared) => parts.extend(self.shares.give_back(context, shared)?),
            }
        }
        Ok(())
    }

    /// Counts what attributes use, once more or once less.
    fn of_attributes(
        &mut self,
        objects: &Objects,
        session: &Session,
        all: &AttributeList,
        more: i64,
    ) -> Result<()> {
        for attribute in all.iter() {
            match attribute.committed {
                Some(id) => self.add(objects, &Destination::Object(id), more)?,
                None => {
                    for part in attributes::parts(session.context(), std::slice::from_ref(attribute))? {
                        match part {
                            part if more < 0 => self.give_back(session.context(), part)?,
                            Part::Committed(at) => self.add_stored(at, more)?,
                            Part::Shared(shared) => self.shares.take(session.context(), shared)?,
                        }
                    }
                }
            }
        }
        Ok(())
    }
}
