//! Writes old-style groups: names in a local heap, members in symbol table nodes, and a version 1 B-tree above them.

use sciformats_core::arith::{add, increase, mul, present};
use sciformats_core::{Error, Result};

use crate::heap::local;
use crate::space::output::Output;
use crate::spec::btree_v1::{GroupNode, Place};
use crate::spec::message::link::{Link, Target};
use crate::spec::message::small::SymbolTable;
use crate::spec::symbol_table::{Cache, Entry, Node};
use crate::spec::{Address, pad8};

/// Writes the members of a group. An old-style group can hold only hard and soft links.
///
/// `k` is half the entries of a symbol table node, and half the children of a B-tree node. `places` gives addresses for
/// the root of the B-tree and the header of the heap. They are used if the structures must stay where they were,
/// because parent groups and the superblock may have copies of these addresses.
pub(crate) fn build(
    output: &mut Output,
    links: &[Link],
    k: (u16, u16),
    places: Option<SymbolTable>,
) -> Result<SymbolTable> {
    let mut sorted: Vec<&Link> = links.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    let mut heap = vec![0; pad8(1)?]; // the empty name, which is the first key
    let mut entries = Vec::with_capacity(sorted.len());
    for link in sorted {
        let name_at = local::push_name(&mut heap, link.name.as_bytes())?;
        let (header, cache) = match &link.target {
            Target::Hard(address) => (Some(*address), Cache::None),
            Target::Soft(path) => {
                let path = u32::try_from(local::push_name(&mut heap, path.as_bytes())?).map_err(|_| {
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
        entries.push(Entry { name: name_at, header, cache });
    }
    let heap = match places {
        None => local::build(output, &heap)?,
        Some(table) => {
            let data = output.put(&heap)?;
            output.write(table.heap, &local::encode_header(heap.len(), data, output.sizes)?)?;
            table.heap
        }
    };
    let btree = tree(output, &entries, k, places.map(|table| table.btree))?;
    Ok(SymbolTable { btree, heap })
}

/// Writes the symbol table nodes and the B-tree above them, whose root goes to `place`.
fn tree(
    output: &mut Output,
    entries: &[Entry],
    (leaf_k, internal_k): (u16, u16),
    place: Option<Address>,
) -> Result<Address> {
    let mut below = Vec::new();
    for part in entries.chunks((usize::from(leaf_k) * 2).max(1)) {
        let mut bytes = Vec::new();
        Node { entries: part.to_vec() }.encode(&mut bytes, output.sizes, leaf_k)?;
        below.push((output.put(&bytes)?, present(part.last(), "symbol of a node")?.name));
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
