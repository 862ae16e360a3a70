//! The links of groups that are being written.

use std::borrow::Cow;
use std::collections::{BTreeMap, btree_map};

use crate::group::edit::StoredGroup;
use crate::group::plain::Plain;
use crate::group::storage::{self, Order};
use crate::object::creation::{CreationOrder, LinkProperties};
use crate::object::id::{Id, Resolve};
use crate::spec::message::dense::LinkInfo;
use crate::spec::message::link::{Link, Target};
use crate::spec::message::small::SymbolTable;
use crate::spec::{Address, Name, is_utf8};
use sciformats_core::arith::fit;
use sciformats_core::{Error, Result, bound};

/// The links of a group in the order in which they were created.
#[derive(Default)]
pub(crate) struct Group {
    /// The links to objects that have nothing but a name and a number.
    plain: Plain,
    /// All other links. Few groups have one, and there may be very many groups.
    others: Option<Box<Others>>,
    /// The creation order of the next link.
    next: i64,
    /// What the file has of the group.
    pub(crate) stored: Option<Box<StoredGroup>>,
}

/// The links of a group that are not plain.
#[derive(Default)]
struct Others {
    members: BTreeMap<i64, Member>,
    /// The numbers of the links by name.
    names: BTreeMap<Box<[u8]>, i64>,
}

impl Others {
    fn get(&self, name: &[u8]) -> Option<&Member> {
        self.members.get(self.names.get(name)?)
    }

    fn get_mut(&mut self, name: &[u8]) -> Option<&mut Member> {
        self.members.get_mut(self.names.get(name)?)
    }

    fn insert(&mut self, number: i64, member: Member) {
        self.names.insert(member.name.as_bytes().into(), number);
        self.members.insert(number, member);
    }

    fn remove(&mut self, name: &[u8]) -> bool {
        self.names.remove(name).and_then(|number| self.members.remove(&number)).is_some()
    }
}

/// A link of a group, borrowed from it.
pub(crate) struct Seen<'a> {
    pub(crate) number: i64,
    pub(crate) name: &'a [u8],
    pub(crate) to: Cow<'a, Destination>,
    utf8: Option<bool>,
    /// The link message as the file has it.
    pub(crate) message: Option<&'a [u8]>,
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

/// The number of bytes of a name and of what the link says of its target that fit into a message of a header together with the
/// other fields.
const LONGEST_COMPACT: usize = 65_000;

/// The target of a link.
#[derive(Clone, Debug)]
pub(crate) enum Destination {
    Object(Id),
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

impl Destination {
    /// Returns the number of bytes that a link stores of its target beside the address of an object.
    fn value_len(&self) -> usize {
        match self {
            Self::Object(_) | Self::Stored(_) => 0,
            Self::Soft(path) => path.as_bytes().len(),
            Self::External { file, path } => bound::sum(file.as_bytes().len(), path.as_bytes().len()),
            Self::User { data, .. } => data.len(),
        }
    }
}

/// Where the links of a group are stored.
pub(crate) enum LinkStorage {
    Compact,
    Dense(Box<LinkInfo>),
    Table(SymbolTable),
}

impl Seen<'_> {
    fn member(&self) -> Member {
        Member {
            name: self.name.into(),
            to: self.to.clone().into_owned(),
            utf8: self.utf8,
            message: self.message.map(<[u8]>::to_vec),
        }
    }

    /// Returns the address of the object that the link leads to.
    pub(crate) fn address(&self, resolve: Resolve<'_>) -> Result<Address> {
        match &*self.to {
            Destination::Object(id) => resolve(*id),
            Destination::Stored(address) => Ok(*address),
            _ => Err(Error::internal("a link leads to no object")),
        }
    }

    /// Returns the link in the form in which it is stored. `resolve` returns the addresses of objects.
    pub(crate) fn link(&self, resolve: Resolve<'_>, tracked: bool) -> Result<Link> {
        let target = match &*self.to {
            Destination::Object(_) | Destination::Stored(_) => Target::Hard(self.address(resolve)?),
            Destination::Soft(path) => Target::Soft(path.clone()),
            Destination::External { file, path } => {
                Target::External { file: file.clone(), path: path.clone() }
            }
            Destination::User { class, data } => Target::User { class: *class, data: data.clone() },
        };
        Ok(Link {
            name: self.name.into(),
            creation_order: tracked.then_some(self.number),
            utf8: self.utf8.unwrap_or_else(|| is_utf8(self.name)),
            target,
        })
    }
}

impl Group {
    /// Returns the destination of the link of that name.
    pub(crate) fn get(&self, name: &[u8]) -> Option<Destination> {
        match self.plain.find(name) {
            Some(place) => self.plain.at(place).map(|(_, object)| Destination::Object(object)),
            None => self.others.as_ref()?.get(name).map(|member| member.to.clone()),
        }
    }

    pub(crate) fn holds(&self, name: &[u8]) -> bool {
        self.plain.find(name).is_some()
            || self.others.as_ref().is_some_and(|others| others.get(name).is_some())
    }

    /// Returns whether a link with that creation order exists.
    pub(crate) fn is_taken(&self, number: i64) -> bool {
        self.plain.has(number)
            || self.others.as_ref().is_some_and(|others| others.members.contains_key(&number))
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
        // At most this many numbers before it belong to links that are not plain.
        let gap = self.others().len();
        let plain = match &member {
            Member { name, to: Destination::Object(id), utf8: None, message: None } => {
                self.plain.push(number, name.as_bytes(), *id, gap)
            }
            _ => false,
        };
        if !plain {
            self.others.get_or_insert_default().insert(number, member);
        }
        // A bound: after the largest number there is no other, and `push` then finds it in use.
        self.start_at(bound::sum(number, 1));
    }

    /// Gives new links at least this creation order.
    pub(crate) fn start_at(&mut self, number: i64) {
        self.next = self.next.max(number);
    }

    /// Returns the link of that name in order to change it.
    pub(crate) fn get_mut(&mut self, name: &[u8]) -> Option<&mut Member> {
        if let Some(place) = self.plain.find(name) {
            let (number, to) = (self.plain.number(place), self.plain.remove(place)?);
            let member = Member { name: name.into(), to: Destination::Object(to), utf8: None, message: None };
            self.others.get_or_insert_default().insert(number, member);
        }
        self.others.as_mut()?.get_mut(name)
    }

    /// Removes the link of that name. Returns `false` if there is none.
    pub(crate) fn remove(&mut self, name: &[u8]) -> bool {
        match self.plain.find(name) {
            Some(place) => self.plain.remove(place).is_some(),
            None => self.others.as_mut().is_some_and(|others| others.remove(name)),
        }
    }

    /// Returns the number of links in memory.
    pub(crate) fn len(&self) -> usize {
        bound::sum(self.plain.len(), self.others().len())
    }

    /// Returns the links that are not plain, in the order of their numbers.
    fn others(&self) -> btree_map::Iter<'_, i64, Member> {
        self.others.as_ref().map(|others| others.members.iter()).unwrap_or_default()
    }

    /// Returns the links in the order of their numbers.
    pub(crate) fn members(&self) -> impl Iterator<Item = Seen<'_>> {
        let mut plain = self.plain.iter().map(|link| self.seen(link)).peekable();
        let mut others = self.others().map(seen).peekable();
        std::iter::from_fn(move || match (plain.peek(), others.peek()) {
            (Some(link), Some(other)) if link.number > other.number => others.next(),
            (Some(_), _) => plain.next(),
            (None, _) => others.next(),
        })
    }

    /// Returns the link that was created last.
    pub(crate) fn last(&self) -> Option<Seen<'_>> {
        let plain = self.plain.iter().next_back().map(|link| self.seen(link));
        plain.into_iter().chain(self.others().next_back().map(seen)).max_by_key(|link| link.number)
    }

    fn seen<'a>(&self, (place, name, object): (usize, &'a [u8], Id)) -> Seen<'a> {
        let to = Cow::Owned(Destination::Object(object));
        Seen { number: self.plain.number(place), name, to, utf8: None, message: None }
    }

    /// Returns the links in the order of the bytes of their names.
    ///
    /// # Errors
    /// Returns `Internal` if there are more links than a group can hold.
    pub(crate) fn sorted(&self) -> Result<Sorted<'_>> {
        let others: Vec<(&i64, &Member)> = self.others().collect();
        let plain = self.plain.iter().map(|(place, ..)| place);
        let places = plain.chain((self.plain.places()..).take(others.len()));
        let mut sorted = Sorted { group: self, others, order: Vec::new() };
        // The first bytes of names decide most comparisons.
        let mut order: Vec<([u8; 8], u32)> = Vec::with_capacity(self.len());
        for place in places {
            order.push((sorted.head(place), fit(place, "place of a link")?));
        }
        let name = |place: u32| sorted.name(place as usize);
        order.sort_unstable_by(|(a, i), (b, j)| a.cmp(b).then_with(|| name(*i).cmp(name(*j))));
        sorted.order = order.into_iter().map(|(_, place)| place).collect();
        Ok(sorted)
    }

    /// Returns the links with their numbers, so that they can be added to another group.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (i64, Member)> {
        self.members().map(|link| (link.number, link.member()))
    }

    /// Frees the memory of the table that only makes finding names faster.
    pub(crate) fn forget_names(&mut self) {
        self.plain.forget_table();
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
        self.members().map(|link| link.link(resolve, tracked)).collect()
    }

    /// Returns whether a link exists that a symbol table cannot hold.
    pub(crate) fn needs_messages(&self) -> bool {
        let others =
            |member: &Member| matches!(member.to, Destination::External { .. } | Destination::User { .. });
        self.others().any(|(_, member)| others(member))
    }

    /// Returns whether the links stay in the header, which holds at most `most` links.
    fn is_compact(&self, most: usize) -> bool {
        // A link that is longer than a message can only be stored in a heap.
        let short = |link: Seen<'_>| bound::sum(link.name.len(), link.to.value_len()) < LONGEST_COMPACT;
        self.len() <= most && self.members().all(short)
    }

    /// Returns where the links are stored. `properties` describes a new-style group; without it, the links are in a symbol table
    /// if that can hold them.
    pub(crate) fn storage(&self, properties: Option<&LinkProperties>) -> LinkStorage {
        if properties.is_none() && !self.needs_messages() {
            // The message is as long as the final one, whose addresses replace these.
            return LinkStorage::Table(SymbolTable { btree: Address(0), heap: Address(0) });
        }
        let (most, order) = properties
            .map_or((storage::MAX_COMPACT, CreationOrder::Unknown), |links| (links.most(), links.order));
        if self.is_compact(most) {
            return LinkStorage::Compact;
        }
        // This message also has the length of the final one.
        LinkStorage::Dense(Box::new(self.order(order).info()))
    }
}

fn seen<'a>((number, member): (&i64, &'a Member)) -> Seen<'a> {
    Seen {
        number: *number,
        name: member.name.as_bytes(),
        to: Cow::Borrowed(&member.to),
        utf8: member.utf8,
        message: member.message.as_deref(),
    }
}

/// The links of a group in the order of the bytes of their names.
pub(crate) struct Sorted<'a> {
    group: &'a Group,
    others: Vec<(&'a i64, &'a Member)>,
    /// The places of plain links. Larger numbers stand for the other links.
    order: Vec<u32>,
}

impl<'a> Sorted<'a> {
    fn other(&self, place: usize) -> Option<&(&'a i64, &'a Member)> {
        self.others.get(place.checked_sub(self.group.plain.places())?)
    }

    fn name(&self, place: usize) -> &'a [u8] {
        let plain = self.group.plain.at(place).map(|(name, _)| name);
        plain.or_else(|| self.other(place).map(|(_, member)| member.name.as_bytes())).unwrap_or_default()
    }

    /// Returns the first bytes of a name.
    fn head(&self, place: usize) -> [u8; 8] {
        let mut first = [0u8; 8];
        first.iter_mut().zip(self.name(place)).for_each(|(to, &from)| *to = from);
        first
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Seen<'a>> {
        self.order.iter().filter_map(|&place| {
            let place = place as usize;
            match self.group.plain.at(place) {
                Some((name, object)) => Some(self.group.seen((place, name, object))),
                None => self.other(place).map(|&link| seen(link)),
            }
        })
    }
}
