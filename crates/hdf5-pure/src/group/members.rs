//! Groups that are written.

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
    /// In the order in which they were made.
    members: BTreeMap<i64, Member>,
    names: HashMap<Box<[u8]>, i64>,
    /// The next number of that order.
    next: i64,
    /// What the file has of the group.
    pub(crate) stored: Option<Box<StoredGroup>>,
}

/// A link of a group.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) name: Name,
    pub(crate) to: Destination,
    /// Whether the name is said to be UTF-8, if that was said; by default, what its characters need.
    pub(crate) utf8: Option<bool>,
    /// The link message as the file has it.
    pub(crate) message: Option<Vec<u8>>,
}

/// Where a link leads to.
#[derive(Clone, Debug)]
pub(crate) enum Destination {
    Object(ObjectId),
    /// An object of the file that is edited.
    Stored(Address),
    Soft(Name),
    External {
        file: Name,
        path: Name,
    },
    /// What only its maker understands: its class and its data.
    User {
        class: u8,
        data: Vec<u8>,
    },
}

/// Where the links of a group are.
pub(crate) enum LinkStorage {
    Compact,
    Dense(LinkInfo),
    Table(SymbolTable),
}

impl Group {
    /// The link of that name.
    pub(crate) fn get(&self, name: &[u8]) -> Option<&Member> {
        self.members.get(self.names.get(name)?)
    }

    pub(crate) fn holds(&self, name: &[u8]) -> bool {
        self.names.contains_key(name)
    }

    /// Whether a link has that number.
    pub(crate) fn is_taken(&self, number: i64) -> bool {
        self.members.contains_key(&number)
    }

    /// Adds a link whose name is not taken.
    ///
    /// # Errors
    /// [`Error::Usage`] if the last number of all is taken.
    pub(crate) fn push(&mut self, name: Name, to: Destination) -> Result<()> {
        if self.is_taken(self.next) {
            return Err(Error::usage("group", "has no number left for a link"));
        }
        self.insert(self.next, Member { name, to, utf8: None, message: None });
        Ok(())
    }

    /// Adds a link with its number, and lets later ones have larger numbers.
    pub(crate) fn insert(&mut self, number: i64, member: Member) {
        self.names.insert(member.name.as_bytes().into(), number);
        self.members.insert(number, member);
        // A bound: after the last number of all there is none, and `push` finds it taken.
        self.start_at(bound::sum(number, 1));
    }

    /// Lets new links have at least this number.
    pub(crate) fn start_at(&mut self, number: i64) {
        self.next = self.next.max(number);
    }

    /// The link of that name, to be changed.
    pub(crate) fn get_mut(&mut self, name: &[u8]) -> Option<&mut Member> {
        self.members.get_mut(self.names.get(name)?)
    }

    pub(crate) fn remove(&mut self, name: &[u8]) -> Option<Member> {
        self.members.remove(&self.names.remove(name)?)
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    /// Links in memory.
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// The links with their numbers.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (i64, &Member)> {
        self.members.iter().map(|(number, member)| (*number, member))
    }

    /// What the group says of the order of its links, where it is new.
    pub(crate) fn order(&self, order: CreationOrder) -> Order {
        let next = order.is_tracked().then_some(self.next.cast_unsigned());
        Order { next, indexed: order.is_indexed() }
    }

    /// The number that the next link would have.
    pub(crate) fn next(&self) -> i64 {
        self.next
    }

    /// The links, those to objects leading where `resolve` says.
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

    /// Whether a symbol table has no place for the links.
    pub(crate) fn needs_messages(&self) -> bool {
        let others =
            |member: &Member| matches!(member.to, Destination::External { .. } | Destination::User { .. });
        self.members().any(others)
    }

    /// Where the links go that `properties` tells of, if they are not to be in a symbol table.
    pub(crate) fn storage(&self, properties: Option<&LinkProperties>) -> Result<LinkStorage> {
        if properties.is_none() && !self.needs_messages() {
            // As long as the one that takes its place.
            return Ok(LinkStorage::Table(SymbolTable { btree: Address(0), heap: Address(0) }));
        }
        let (most, order) = properties
            .map_or((storage::MAX_COMPACT, CreationOrder::Unknown), |links| (links.most(), links.order));
        if storage::is_compact(&self.resolved(&|_| Ok(Address(0)), false)?, most) {
            return Ok(LinkStorage::Compact);
        }
        // As long as the message that it stands for.
        Ok(LinkStorage::Dense(self.order(order).info()))
    }
}
