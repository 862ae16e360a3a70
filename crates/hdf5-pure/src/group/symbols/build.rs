//! Writes old-style groups: names in a local heap, members in symbol table nodes, and a version 1 B-tree above them.

use sciformats_core::arith::{add, fit, increase, mul};
use sciformats_core::{Error, Result};

use crate::group::members::{Destination, Group};
use crate::heap::local;
use crate::object::id::Resolve;
use crate::space::output::Output;
use crate::spec::btree_v1::{GroupNode, Place};
use crate::spec::message::small::SymbolTable;
use crate::spec::symbol_table::{Cache, Entry, Node};
use crate::spec::{Address, pad8};

/// How a symbol table is built.
#[derive(Clone, Copy)]
pub(crate) struct Plan<'a> {
    /// Half the entries of a node, and half the children of a node of the tree.
    pub(crate) k: (u16, u16),
    /// The addresses of the root of the tree and of the header of the heap, if they must not change, because parents and the
    /// superblock may have copies of these addresses.
    pub(crate) places: Option<SymbolTable>,
    /// Returns the addresses of objects.
    pub(crate) resolve: Resolve<'a>,
}

/// Writes the members of a group. Only hard and soft links can be members of an old-style group.
pub(crate) fn build(output: &mut Output, group: &Group, plan: Plan<'_>) -> Result<SymbolTable> {
    let links = group.sorted()?;
    let path = |to: &Destination| match to {
        Destination::Object(_) | Destination::Stored(_) => Ok(None),
        Destination::Soft(path) => Ok(Some(path.clone())),
        _ => {
            Err(Error::usage("link", "cannot be stored in an old-style group: only hard and soft links can"))
        }
    };
    let first = pad8(1)?; // the empty name, which is the first key
    let mut len = first;
    for link in links.iter() {
        increase(&mut len, local::name_size(link.name)?)?;
        if let Some(path) = path(&link.to)? {
            u32::try_from(len)
                .map_err(|_| Error::usage("soft links", "are too long for an old-style group"))?;
            increase(&mut len, local::name_size(path.as_bytes())?)?;
        }
    }
    let mut heap = local::Builder::new(output, len, plan.places.map(|table| table.heap))?;
    heap.put(output, &vec![0; first])?;
    for link in links.iter() {
        heap.push_name(output, link.name)?;
        if let Some(path) = path(&link.to)? {
            heap.push_name(output, path.as_bytes())?;
        }
    }
    let heap = heap.finish(output)?;
    let mut at = first;
    let entries = links.iter().map(|link| {
        let name = at as u64;
        increase(&mut at, local::name_size(link.name)?)?;
        let (header, cache) = match path(&link.to)? {
            None => (Some(link.address(plan.resolve)?), Cache::None),
            Some(path) => {
                let cache = Cache::SoftLink { path: fit(at, "place of a soft link")? };
                increase(&mut at, local::name_size(path.as_bytes())?)?;
                (None, cache)
            }
        };
        Ok(Entry { name, header, cache })
    });
    let btree = tree(output, entries, plan.k, plan.places.map(|table| table.btree))?;
    Ok(SymbolTable { btree, heap })
}

/// Writes the symbol table nodes and the B-tree above them, whose root goes to `place`.
fn tree(
    output: &mut Output,
    mut entries: impl Iterator<Item = Result<Entry>>,
    (leaf_k, internal_k): (u16, u16),
    place: Option<Address>,
) -> Result<Address> {
    let mut below = Vec::new();
    let room = (usize::from(leaf_k) * 2).max(1);
    let (mut bytes, mut node) = (Vec::new(), Node { entries: Vec::with_capacity(room) });
    loop {
        node.entries.clear();
        for entry in entries.by_ref().take(room) {
            node.entries.push(entry?);
        }
        let Some(last) = node.entries.last().map(|entry| entry.name) else { break };
        bytes.clear();
        node.encode(&mut bytes, output.sizes, leaf_k)?;
        below.push((output.put(&bytes)?, last));
    }
    let size = GroupNode::size(output.sizes, usize::from(internal_k) * 2)? as u64;
    let mut level = 0u8;
    loop {
        let parts: Vec<&[(Address, u64)]> = match below.is_empty() {
            true => vec![&[]],
            false => below.chunks((usize::from(internal_k) * 2).max(1)).collect(),
        };
        let first = match place.filter(|_| parts.len() == 1) {
            Some(place) => place,
            None => output.allocate(mul(size, parts.len() as u64)?)?,
        };
        let at = |i: u64| Ok(Address(add(first.0, mul(size, i)?)?));
        let mut above = Vec::new();
        let mut key = 0;
        for (i, part) in (0u64..).zip(&parts) {
            let keys = std::iter::once(key).chain(part.iter().map(|&(_, last)| last)).collect();
            let node = GroupNode { level, keys, children: part.iter().map(|&(child, _)| child).collect() };
            let right = i.checked_add(1).filter(|&next| next < parts.len() as u64).map(at).transpose()?;
            let mut bytes = Vec::new();
            let place = Place { level, left: i.checked_sub(1).map(at).transpose()?, right };
            node.encode(&mut bytes, output.sizes, internal_k, place)?;
            output.write(at(i)?, &bytes)?;
            // A node without children has only the empty name as its key.
            key = part.last().map_or(0, |&(_, last)| last);
            above.push((at(i)?, key));
        }
        if above.len() <= 1 {
            return Ok(first);
        }
        below = above;
        increase(&mut level, 1)?;
    }
}
