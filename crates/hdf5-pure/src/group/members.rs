//! The links of groups that are being written.

use std::collections::{BTreeMap, HashMap};

use crate::group::edit::StoredGroup;
use crate::group::storage::{self, Order};
use crate::object::creation::{CreationOrder, LinkProperties};
use crate::object::id::{ObjectId, Resolve};
use crate::spec::message::link::{Link, Target};
use crate::spec::message::link_info::LinkInfo;
use crate::spec::message::small::SymbolTable;
use crate::spec::{Address, Name};
use sciformats_core::{Error, Result, bound};

/// The links of a group.
#[derive(Default)]
pub(crate) struct Group {
    /// The links by their creation order.
    members: BTreeMap<i64, Member>,
    names: HashMap<Box<[u8]>, i64>,
    /// The creation order of the next link.
    next: i64,
    /// What the file has of the group.
    pub(crate) stored: Option<Box<StoredGroup>>,
}

/// A link of a group.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) name: Name,
    pub(crate) to: Destination,
    /// Whether the name is stored as UTF-8, if the caller has chosen; by default it follows from the characters of the
    /// name.
    pub(crate) utf8: Option<bool>,
    /// The link message as the file stores it.
    pub(crate) message: Option<Vec<u8>>,
}

/// The target of a link.
#[derive(Clone, Debug)]
pub(crate) enum Destination {
    Object(ObjectId),
    /// An object of the file that is being edited.
    Stored(Address),
    Soft(Name),
    External {
        file: Name,
        path: Name,
    },
    /// A user-defined link: its class, and data that only its creator understands.
    User {
        class: u8,
        data: Vec<u8>,
    },
}

/// Where the links of a group are stored.
pub(crate) enum LinkStorage {
    Compact,
    Dense(LinkInfo),
    Table(SymbolTable),
}

impl Group {
    /// Returns the link of that name.
    pub(crate) fn get(&self, name: &[u8]) -> Option<&Member> {
        self.members.get(self.names.get(name)?)
    }

    pub(crate) fn holds(&self, name: &[u8]) -> bool {
        self.names.contains_key(name)
    }

    /// Returns whether a link with that creation order exists.
    pub(crate) fn is_taken(&self, number: i64) -> bool {
        self.members.contains_key(&number)
    }

    /// Adds a link, whose name must not exist yet.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the last possible creation order is in use.
    pub(crate) fn push(&mut self, name: Name, to: Destination) -> Result<()> {
        if self.is_taken(self.next) {
            return Err(Error::usage("group", "has no creation order number left for another link"));
        }
        self.insert(self.next, Member { name, to, utf8: None, message: None });
        Ok(())
    }

    /// Adds a link with a known creation order. Later links get larger numbers.
    pub(crate) fn insert(&mut self, number: i64, member: Member) {
        self.names.insert(member.name.as_bytes().into(), number);
        self.members.insert(number, member);
        // This saturates at the largest number. `push` then finds that number in use and reports it.
        self.start_at(bound::sum(number, 1));
    }

    /// Gives new links at least this creation order.
    pub(crate) fn start_at(&mut self, number: i64) {
        self.next = self.next.max(number);
    }

    /// Returns the link of that name in order to change it.
    pub(crate) fn get_mut(&mut self, name: &[u8]) -> Option<&mut Member> {
        self.members.get_mut(self.names.get(name)?)
    }

    pub(crate) fn remove(&mut self, name: &[u8]) -> Option<Member> {
        self.members.remove(&self.names.remove(name)?)
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    /// Returns the number of links in memory.
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns the links with their creation order.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (i64, &Member)> {
        self.members.iter().map(|(number, member)| (*number, member))
    }

    /// Returns how a new group stores the creation order of its links.
    pub(crate) fn order(&self, order: CreationOrder) -> Order {
        let next = order.is_tracked().then_some(self.next.cast_unsigned());
        Order { next, indexed: order.is_indexed() }
    }

    /// Returns the creation order of the next link.
    pub(crate) fn next(&self) -> i64 {
        self.next
    }

    /// Returns the links, with the addresses that `resolve` gives for their targets.
    pub(crate) fn resolved(&self, resolve: Resolve<'_>, tracked: bool) -> Result<Vec<Link>> {
        let target = |to: &Destination| match to {
            Destination::Object(id) => resolve(*id).map(Target::Hard),
            Destination::Stored(address) => Ok(Target::Hard(*address)),
            Destination::Soft(path) => Ok(Target::Soft(path.clone())),
            Destination::External { file, path } => {
                Ok(Target::External { file: file.clone(), path: path.clone() })
            }
            Destination::User { class, data } => Ok(Target::User { class: *class, data: data.clone() }),
        };
        let link = |(number, member): (&i64, &Member)| {
            Ok(Link {
                name: member.name.clone(),
                creation_order: tracked.then_some(*number),
                utf8: member.utf8.unwrap_or(!member.name.as_bytes().is_ascii()),
                target: target(&member.to)?,
            })
        };
        self.members.iter().map(link).collect()
    }

    /// Returns whether a link exists that a symbol table cannot hold.
    pub(crate) fn needs_messages(&self) -> bool {
        let others =
            |member: &Member| matches!(member.to, Destination::External { .. } | Destination::User { .. });
        self.members().any(others)
    }

    /// Decides where the links are stored according to `properties`, unless the group has a symbol table.
    pub(crate) fn storage(&self, properties: Option<&LinkProperties>) -> Result<LinkStorage> {
        if properties.is_none() && !self.needs_messages() {
            // This placeholder has the same length as the message that replaces it, so the size of the header is known.
            return Ok(LinkStorage::Table(SymbolTable { btree: Address(0), heap: Address(0) }));
        }
        let (most, order) = properties
            .map_or((storage::MAX_COMPACT, CreationOrder::Unknown), |links| (links.most(), links.order));
        if storage::is_compact(&self.resolved(&|_| Ok(Address(0)), false)?, most) {
            return Ok(LinkStorage::Compact);
        }
        // This placeholder has the same length as the message that replaces it.
        Ok(LinkStorage::Dense(self.order(order).info()))
    }
}
