//! Changes the members of an old-style group one by one.
//!
//! Nodes are written in place, because the nodes of a level refer to their neighbours; the changes go through the
//! journal. New nodes go to fresh space. The root stays at its address, because the symbol table message of the group
//! and copies of it refer to the root.
//!
//! The keys of a node are names in the heap: the right key of a child is the name of its last member. If the last
//! member of a child is removed, its name must therefore be removed from the keys above it and from the left key of the
//! neighbour, before the name itself is removed from the heap.

use std::cmp::Ordering;

use sciformats_core::arith::{add, mul, present};
use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Error, Result, bound};

use crate::heap::local::EditedNames;
use crate::space::context::Context;
use crate::space::output::Output;
use crate::space::pending::Use;
use crate::spec::Address;
use crate::spec::btree_v1::{GroupNode, Place, Prefix};
use crate::spec::message::link::{Link, Target};
use crate::spec::message::small::SymbolTable;
use crate::spec::symbol_table::{Cache, Entry, Node};

const TREE: &str = "group B-tree node";
const NODE: &str = "symbol table node";

/// Estimates the number of members of a group from its root node.
///
/// # Errors
/// Returns `Malformed` if the root cannot be read.
pub(crate) fn estimate(context: &Context, table: SymbolTable) -> Result<u64> {
    let (at, sizes) = (table.btree, context.sizes);
    let start = context.read(TREE, at, Prefix::size(sizes) as u64)?;
    let prefix = locate(TREE, context.offset(at), &start, |i| GroupNode::prefix(i, sizes))?;
    let (below, leaf) = (u64::from(context.btree_k.group_internal), u64::from(context.btree_k.group_leaf));
    let below = below.max(2);
    // Nodes are at least half full, so this estimate is a lower bound.
    let leaves =
        bound::product(prefix.entries.into(), below.checked_pow(prefix.level.into()).unwrap_or(u64::MAX)); // a bound
    Ok(bound::product(leaves, leaf))
}

/// The members of a group that is being edited.
pub(crate) struct EditedTable<'c, 'o> {
    context: &'c Context,
    output: &'o mut Output,
    root: Address,
    names: EditedNames<'c>,
}

/// A node of the B-tree, its address and its neighbours.
struct Placed {
    at: Address,
    node: GroupNode,
    place: Place,
}

/// The last key of a node that was split, and the address of the new node after it.
type Divided = Option<(u64, Address)>;

/// The effect of a removal on a node.
struct Removed {
    /// The name of its last member, if that has changed.
    right: Option<u64>,
    /// Whether the node is empty now.
    emptied: bool,
}

impl<'c, 'o> EditedTable<'c, 'o> {
    /// Opens the table.
    ///
    /// # Errors
    /// Returns `Malformed` if its heap is damaged.
    pub(crate) fn open(context: &'c Context, output: &'o mut Output, table: SymbolTable) -> Result<Self> {
        output.flush()?;
        let names = EditedNames::open(context, table.heap)?;
        Ok(Self { context, output, root: table.btree, names })
    }

    /// Adds a member, whose name must not exist yet.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if a symbol table cannot hold the link, `Malformed`, and the errors of the output.
    /// After an error nothing must be committed.
    pub(crate) fn insert(&mut self, link: &Link) -> Result<()> {
        let name = link.name.as_bytes();
        let offset = self.names.insert(self.output, name)?;
        let (header, cache) = match &link.target {
            Target::Hard(address) => (Some(*address), Cache::None),
            Target::Soft(path) => {
                let path = u32::try_from(self.names.insert(self.output, path.as_bytes())?).map_err(|_| {
                    Error::usage("soft links", "take more space than an old-style group can hold")
                })?;
                (None, Cache::SoftLink { path })
            }
            _ => {
                return Err(Error::usage(
                    "link",
                    "cannot be stored in an old-style group: only hard and soft links can",
                ));
            }
        };
        let entry = Entry { name: offset, header, cache };
        self.insert_below(self.root, None, name, entry)?.map_or(Ok(()), |(key, new)| self.raise(key, new))?;
        self.output.flush()
    }

    /// Removes a member.
    ///
    /// # Errors
    /// Returns `Malformed` if there is no such member, and the errors of the output. After an error nothing must be
    /// committed.
    pub(crate) fn remove(&mut self, name: &[u8]) -> Result<()> {
        let (_, entry) = self.remove_below(self.root, None, name)?;
        self.output.flush()?;
        if let Cache::SoftLink { path } = entry.cache {
            self.names.remove(self.output, path.into())?;
        }
        self.names.remove(self.output, entry.name)
    }

    /// Adds a level after the root was split. The old root moves to a new address, and a new root above both halves
    /// takes its place.
    fn raise(&mut self, key: u64, new: Address) -> Result<()> {
        let mut left = self.node(self.root, None)?;
        let mut right = self.node(new, Some(left.place.level))?;
        let keys = [left.node.keys.first(), Some(&key), right.node.keys.last()];
        let keys =
            keys.into_iter().map(|key| present(key.copied(), "key of a node")).collect::<Result<_>>()?;
        left.at = self.output.allocate(self.node_size()?)?;
        right.place.left = Some(left.at);
        let level = add(left.place.level, 1)?;
        let node = GroupNode { level, keys, children: vec![left.at, right.at] };
        self.write(&left)?;
        self.write(&right)?;
        self.write(&Placed { at: self.root, node, place: Place { level, left: None, right: None } })
    }

    fn node_size(&self) -> Result<u64> {
        let entries = mul(usize::from(self.context.btree_k.group_internal), 2)?;
        Ok(GroupNode::size(self.context.sizes, entries)? as u64)
    }

    fn fault(&self, structure: &'static str, at: Address, field: &'static str, rule: &'static str) -> Error {
        self.context.fault(structure, at, Fault::new(field, FaultKind::Rule(rule)))
    }

    /// Reads the node at `at`, which must have the given level.
    fn node(&mut self, at: Address, level: Option<u8>) -> Result<Placed> {
        self.output.flush()?;
        let sizes = self.context.sizes;
        let bytes = self.context.read(TREE, at, self.node_size()?)?;
        let base = self.context.offset(at);
        let place = locate(TREE, base, &bytes, |i| Place::parse(i, sizes))?;
        let node = locate(TREE, base, &bytes, |i| GroupNode::parse(i, sizes))?;
        if level.is_some_and(|level| level != place.level) {
            return Err(self.fault(
                TREE,
                at,
                "node level",
                "does not match the level that its parent requires",
            ));
        }
        Ok(Placed { at, node, place })
    }

    fn write(&mut self, placed: &Placed) -> Result<()> {
        let mut bytes = Vec::new();
        let (sizes, k) = (self.context.sizes, self.context.btree_k.group_internal);
        placed.node.encode(&mut bytes, sizes, k, placed.place)?;
        self.output.write(placed.at, &bytes)
    }

    fn leaf(&mut self, at: Address) -> Result<Node> {
        self.output.flush()?;
        let sizes = self.context.sizes;
        let len = Node::size(sizes, self.context.btree_k.group_leaf)? as u64;
        self.context.parse(NODE, at, len, |i| Node::parse(i, sizes))
    }

    fn write_leaf(&mut self, at: Option<Address>, entries: Vec<Entry>) -> Result<Address> {
        let mut bytes = Vec::new();
        Node { entries }.encode(&mut bytes, self.context.sizes, self.context.btree_k.group_leaf)?;
        match at {
            None => self.output.put(&bytes),
            Some(at) => self.output.write(at, &bytes).map(|()| at),
        }
    }

    /// Returns how many of `len` ordered names come before `name`, and whether the next one is equal.
    fn position(
        &self,
        name: &[u8],
        len: usize,
        offset: impl Fn(usize) -> Option<u64>,
    ) -> Result<(usize, bool)> {
        let (mut low, mut high) = (0, len);
        while low < high {
            let middle = low.midpoint(high);
            let other = self.names.get(present(offset(middle), "name in a node")?)?;
            match other[..].cmp(name) {
                Ordering::Less => low = add(middle, 1)?,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Ok((middle, true)),
            }
        }
        Ok((low, false))
    }

    /// Returns the number of the child that holds names up to its right key, or the number of children if the name is
    /// beyond all.
    fn child(&self, node: &GroupNode, name: &[u8]) -> Result<usize> {
        let right = |number: usize| node.keys.get(number.checked_add(1)?).copied();
        Ok(self.position(name, node.children.len(), right)?.0)
    }

    fn insert_below(&mut self, at: Address, level: Option<u8>, name: &[u8], entry: Entry) -> Result<Divided> {
        let mut placed = self.node(at, level)?;
        let Some(last) = placed.node.children.len().checked_sub(1) else {
            // A B-tree without members gets its first node.
            let first = placed.node.keys.first().copied().unwrap_or_default(); // the empty name
            placed.node.keys = vec![first, entry.name];
            placed.node.children = vec![self.write_leaf(None, vec![entry])?];
            (placed.node.level, placed.place.level) = (0, 0);
            return self.write(&placed).map(|()| None);
        };
        let number = self.child(&placed.node, name)?;
        // A name beyond all others goes to the last child and becomes its right key.
        let beyond = number > last;
        let number = number.min(last);
        let next = add(number, 1)?;
        let below = *present(placed.node.children.get(number), "child of a node")?;
        let offset = entry.name;
        let divided = match placed.place.level.checked_sub(1) {
            Some(level) => self.insert_below(below, Some(level), name, entry)?,
            None => self.insert_leaf(below, name, entry)?,
        };
        if beyond {
            *present(placed.node.keys.get_mut(next), "key of a node")? = offset;
        }
        if let Some((key, new)) = divided {
            placed.node.keys.insert(next, key);
            placed.node.children.insert(next, new);
        }
        let most = mul(usize::from(self.context.btree_k.group_internal), 2)?;
        let above = match placed.node.children.len() > most {
            true => Some(self.divide(&mut placed)?),
            false => None,
        };
        if beyond || divided.is_some() {
            self.write(&placed)?;
        }
        Ok(above)
    }

    /// Moves the upper half of a node to a new node. Returns the key between the two, and the new node.
    fn divide(&mut self, placed: &mut Placed) -> Result<(u64, Address)> {
        let middle = placed.node.children.len() / 2;
        let key = *present(placed.node.keys.get(middle), "key of a node")?;
        let children = placed.node.children.split_off(middle);
        let mut keys = placed.node.keys.split_off(middle);
        placed.node.keys.push(key);
        *present(keys.first_mut(), "key of a node")? = key;
        let new = self.output.allocate(self.node_size()?)?;
        let level = placed.place.level;
        if let Some(right) = placed.place.right {
            let mut neighbour = self.node(right, Some(level))?;
            neighbour.place.left = Some(new);
            self.write(&neighbour)?;
        }
        let place = Place { level, left: Some(placed.at), right: placed.place.right };
        placed.place.right = Some(new);
        self.write(&Placed { at: new, node: GroupNode { level, keys, children }, place })?;
        Ok((key, new))
    }

    fn insert_leaf(&mut self, at: Address, name: &[u8], entry: Entry) -> Result<Divided> {
        let mut entries = self.leaf(at)?.entries;
        let (number, found) =
            self.position(name, entries.len(), |number| entries.get(number).map(|entry| entry.name))?;
        if found {
            return Err(self.fault(NODE, at, "name of a link", "belongs to two links"));
        }
        entries.insert(number, entry);
        if entries.len() <= mul(usize::from(self.context.btree_k.group_leaf), 2)? {
            return self.write_leaf(Some(at), entries).map(|_| None);
        }
        let upper = entries.split_off(entries.len() / 2);
        let key = present(entries.last(), "entry of a node")?.name;
        let new = self.write_leaf(None, upper)?;
        self.write_leaf(Some(at), entries)?;
        Ok(Some((key, new)))
    }

    fn remove_below(&mut self, at: Address, level: Option<u8>, name: &[u8]) -> Result<(Removed, Entry)> {
        let mut placed = self.node(at, level)?;
        let number = self.child(&placed.node, name)?;
        let missing =
            || self.fault(TREE, at, "name of a link", "is not in the group although its B-tree leads to it");
        let below = *placed.node.children.get(number).ok_or_else(missing)?;
        let (removed, entry) = match placed.place.level.checked_sub(1) {
            Some(level) => self.remove_below(below, Some(level), name)?,
            None => self.remove_from_leaf(below, name)?,
        };
        let next = add(number, 1)?;
        let last = next == placed.node.children.len();
        if removed.emptied {
            placed.node.children.remove(number);
            // The next child now starts at the left key of the removed one.
            placed.node.keys.remove(next);
        } else if let Some(right) = removed.right {
            *present(placed.node.keys.get_mut(next), "key of a node")? = right;
        } else {
            return Ok((Removed { right: None, emptied: false }, entry));
        }
        let right = *present(placed.node.keys.last(), "key of a node")?;
        let emptied = placed.node.children.is_empty();
        if emptied && level.is_some() {
            self.unlink(&placed, right)?;
        } else {
            if emptied {
                (placed.node.level, placed.place.level) = (0, 0);
            }
            self.write(&placed)?;
            if last && let Some(neighbour) = placed.place.right {
                self.begin_with(neighbour, placed.place.level, right)?;
            }
        }
        Ok((Removed { right: last.then_some(right), emptied: emptied && level.is_some() }, entry))
    }

    /// Changes the first key of a node.
    fn begin_with(&mut self, at: Address, level: u8, key: u64) -> Result<()> {
        let mut neighbour = self.node(at, Some(level))?;
        *present(neighbour.node.keys.first_mut(), "key of a node")? = key;
        self.write(&neighbour)
    }

    /// Frees a node without children, and makes its neighbours refer to each other.
    fn unlink(&mut self, placed: &Placed, key: u64) -> Result<()> {
        let Place { level, left, right } = placed.place;
        if let Some(at) = left {
            let mut neighbour = self.node(at, Some(level))?;
            neighbour.place.right = right;
            self.write(&neighbour)?;
        }
        if let Some(at) = right {
            let mut neighbour = self.node(at, Some(level))?;
            neighbour.place.left = left;
            *present(neighbour.node.keys.first_mut(), "key of a node")? = key;
            self.write(&neighbour)?;
        }
        self.output.free(placed.at, self.node_size()?, Use::Metadata)
    }

    fn remove_from_leaf(&mut self, at: Address, name: &[u8]) -> Result<(Removed, Entry)> {
        let mut entries = self.leaf(at)?.entries;
        let (number, found) =
            self.position(name, entries.len(), |number| entries.get(number).map(|entry| entry.name))?;
        if !found {
            return Err(self.fault(
                NODE,
                at,
                "name of a link",
                "is not in the node although the B-tree leads to it",
            ));
        }
        let entry = entries.remove(number);
        let Some(last) = entries.last().map(|entry| entry.name) else {
            let len = Node::size(self.context.sizes, self.context.btree_k.group_leaf)? as u64;
            self.output.free(at, len, Use::Metadata)?;
            return Ok((Removed { right: None, emptied: true }, entry));
        };
        let right = (number == entries.len()).then_some(last);
        self.write_leaf(Some(at), entries)?;
        Ok((Removed { right, emptied: false }, entry))
    }
}
