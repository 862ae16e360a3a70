//! Finds the links of groups whose index is damaged: symbol table nodes that nothing leads to, and the heaps that hold their names.

use std::collections::{BTreeMap, BTreeSet};

use hdf5_pure::Address;
use hdf5_pure::structure::{Carver, FoundMessage, FoundSymbol, Link, MessageType, Target};
use sciformats_core::{ReadAt, bound};

use super::Work;
use crate::report::Confidence;

/// The names in a local heap begin at multiples of this.
const ALIGNMENT: u64 = 8;
/// Where a direct block of a heap names the header of the heap.
const HEAP: usize = 5;
/// How often a node and a heap are compared at most.
const CHECKS: usize = 1 << 23;
/// The most bytes of a block in which links are looked for, and the longest name of one.
const BLOCK: u64 = 1 << 20;
const NAME: usize = 4096;

impl Work {
    /// Gives the groups whose links are partly unknown the symbol table nodes that fit their heaps and no other.
    pub(super) fn rebuild_groups(&mut self) {
        let broken: Vec<(u64, Address)> = self
            .tree
            .nodes
            .iter()
            .filter(|(_, node)| node.broken.is_some())
            .filter_map(|(&at, node)| Some((at, self.heap_of(&node.header.messages)?)))
            .collect();
        let heaps: BTreeSet<u64> = self
            .tree
            .nodes
            .values()
            .filter_map(|node| self.heap_of(&node.header.messages))
            .map(|heap| heap.0)
            .collect();
        let orphans: Vec<u64> = self.addresses("local heap").filter(|heap| !heaps.contains(heap)).collect();
        let nodes: Vec<u64> =
            self.addresses("symbol table node").filter(|&at| !self.is_reached(at)).collect();
        let mut made: BTreeMap<u64, Vec<Link>> = BTreeMap::new();
        let mut checks = CHECKS;
        for node in nodes {
            let Ok(symbols) = self.carver.symbols(Address(node)) else { continue };
            // Every node could belong to every heap.
            let Some(left) = checks.checked_sub(bound::sum(broken.len(), orphans.len())) else { break };
            checks = left;
            let fitting: Vec<(u64, Vec<Link>)> = broken
                .iter()
                .filter_map(|&(group, heap)| Some((group, fit(&self.carver, heap, &symbols)?)))
                .collect();
            match fitting.as_slice() {
                [(group, links)] => {
                    let group = *group;
                    let found = self.tree.adopt(&self.carver, group, links.clone());
                    if found > 0 {
                        let reason = format!(
                            "the names of {found} links of the symbol table node at {node} are in the heap of the group at {group} and in that of no other group"
                        );
                        self.act("add links to a group", group, reason, Confidence::Medium);
                    }
                }
                [] => {
                    let fitting: Vec<(u64, Vec<Link>)> = orphans
                        .iter()
                        .filter_map(|&heap| Some((heap, fit(&self.carver, Address(heap), &symbols)?)))
                        .collect();
                    if let [(heap, links)] = fitting.as_slice() {
                        made.entry(*heap).or_default().extend(links.iter().cloned());
                    }
                }
                _ => {}
            }
        }
        // The heaps of two groups with the same names look alike. If a name occurs twice, one of the nodes is of another group.
        made.retain(|_, links| {
            let names: BTreeSet<&[u8]> = links.iter().map(|link| link.name.as_bytes()).collect();
            names.len() == links.len()
        });
        self.made = made.into_iter().collect();
        self.links_in_heaps();
    }

    /// Adds the links to groups that are in the blocks of their heaps, whether or not an index leads to them.
    fn links_in_heaps(&mut self) {
        let headers: BTreeSet<u64> = self.addresses("object header").collect();
        let broken: Vec<(u64, u64)> = self
            .tree
            .nodes
            .iter()
            .filter(|(_, node)| node.broken.is_some())
            .filter_map(|(&at, node)| Some((at, self.link_heap(&node.header.messages)?)))
            .collect();
        if broken.is_empty() {
            return;
        }
        let known: BTreeSet<u64> = broken.iter().map(|&(_, heap)| heap).collect();
        let mut places: Vec<u64> = self.carved.iter().map(|carved| carved.address.0).collect();
        places.sort_unstable();
        let view = self.view();
        let mut of_heaps: BTreeMap<u64, Vec<Link>> = BTreeMap::new();
        for block in self.addresses("fractal heap direct block") {
            let start = self.carver.offset(Address(block));
            let next = places.get(places.partition_point(|&at| at <= block));
            let end = next.map_or(self.source.size(), |&next| self.carver.offset(Address(next)));
            let len = bound::left(end, start).min(BLOCK);
            let Ok(bytes) = view.read_at(start, bound::addressable(len)) else { continue };
            let heap = address(&bytes, HEAP, self.sizes.offsets);
            if let Some(heap) = heap.filter(|heap| known.contains(heap)) {
                let links = hard_links(&bytes, self.sizes.offsets, &headers);
                of_heaps.entry(heap).or_default().extend(links);
            }
        }
        for (group, heap) in broken {
            let mut found = of_heaps.get(&heap).cloned().unwrap_or_default();
            // A link that was removed may still be there. What has another name already gains nothing by it.
            found.retain(|link| match link.target {
                Target::Hard(target) => !self.tree.nodes.contains_key(&target.0),
                _ => false,
            });
            let added = self.tree.adopt(&self.carver, group, found);
            if added > 0 {
                let reason = format!(
                    "{added} links are in the blocks of its heap at {heap}, and lead to headers of objects"
                );
                self.act("add links to a group", group, reason, Confidence::Medium);
            }
        }
    }

    /// Returns the address of the heap in which a group has its links.
    fn link_heap(&self, messages: &[FoundMessage]) -> Option<u64> {
        let message = messages.iter().find(|message| message.kind == MessageType::LinkInfo)?;
        let at = if message.body.get(1)? & 1 != 0 { 10 } else { 2 };
        address(&message.body, at, self.sizes.offsets)
            .filter(|&heap| self.carver.available(Address(heap)) > 0)
    }

    pub(super) fn heap_of(&self, messages: &[FoundMessage]) -> Option<Address> {
        let message = messages.iter().find(|message| message.kind == MessageType::SymbolTable)?;
        Some(self.carver.symbol_table(message)?.1)
    }
}

/// Returns the address of so many bytes at a place.
fn address(bytes: &[u8], at: usize, size: u8) -> Option<u64> {
    let field = bytes.get(at..)?.get(..size.into())?;
    Some(field.iter().rev().take(8).fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

/// Returns the links among these bytes that lead to one of the known headers.
fn hard_links(bytes: &[u8], size: u8, headers: &BTreeSet<u64>) -> Vec<Link> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        match hard_link(rest, size, headers) {
            Some((link, len)) => {
                found.push(link);
                at = bound::sum(at, len);
            }
            None => at = bound::sum(at, 1),
        }
    }
    found
}

/// Returns the link with which these bytes begin, and its length.
fn hard_link(bytes: &[u8], size: u8, headers: &BTreeSet<u64>) -> Option<(Link, usize)> {
    let &[1, flags @ 0..=0x1f, ..] = bytes else { return None };
    let mut at = 2;
    if flags & 8 != 0 {
        // The type of the link, which is 0 if it is hard.
        (*bytes.get(at)? == 0).then_some(())?;
        at += 1;
    }
    let order = match flags & 4 {
        0 => None,
        _ => {
            let field = bytes.get(at..)?.first_chunk()?;
            at += 8;
            Some(i64::from_le_bytes(*field))
        }
    };
    let utf8 = flags & 16 != 0 && *bytes.get(at)? == 1;
    at += usize::from(flags & 16 != 0);
    let width = 1u8 << (flags & 3);
    let len = bound::addressable(address(bytes, at, width)?);
    if len == 0 || len > NAME {
        return None;
    }
    at += usize::from(width);
    let name = bytes.get(at..)?.get(..len)?;
    if name.iter().any(|&byte| byte < 0x20 || byte == b'/') {
        return None;
    }
    at += len;
    let target = address(bytes, at, size).filter(|target| headers.contains(target))?;
    let link = Link { name: name.into(), creation_order: order, utf8, target: Target::Hard(Address(target)) };
    Some((link, at + usize::from(size)))
}

/// Returns the links of a symbol table node, if all its names begin in the heap and are in the order that the format requires.
fn fit(carver: &Carver, heap: Address, symbols: &[FoundSymbol]) -> Option<Vec<Link>> {
    let offsets: Vec<u64> = symbols.iter().map(|symbol| symbol.name).collect();
    if offsets.is_empty() || offsets.iter().any(|offset| *offset == 0 || !offset.is_multiple_of(ALIGNMENT)) {
        return None;
    }
    let names: Vec<_> = carver.names(heap, &offsets).ok()?.into_iter().collect::<Result<_, _>>().ok()?;
    let fits = names.iter().all(|name| {
        let bytes = name.as_bytes();
        !bytes.is_empty() && bytes.len() < 1024 && bytes.iter().all(|&byte| byte >= 0x20 && byte != b'/')
    });
    if !fits || !names.is_sorted_by(|a, b| a.as_bytes() < b.as_bytes()) {
        return None;
    }
    let mut links = Vec::new();
    for (symbol, name) in symbols.iter().zip(names) {
        let target = match (symbol.header, symbol.soft) {
            (Some(header), _) => Target::Hard(header),
            (None, Some(path)) => Target::Soft(carver.names(heap, &[path]).ok()?.pop()?.ok()?),
            (None, None) => return None,
        };
        links.push(Link { name, creation_order: None, utf8: true, target });
    }
    // At least one link must lead to an object, or all of them are soft.
    let leads = |link: &Link| match link.target {
        Target::Hard(target) => carver.header(target).is_ok(),
        _ => true,
    };
    links.iter().any(leads).then_some(links)
}
