//! Finds the links of groups whose index is damaged: symbol table nodes that nothing leads to, and the heaps that hold their names.

use std::collections::BTreeSet;

use hdf5_pure::Address;
use hdf5_pure::structure::{Carver, FoundSymbol, Link, MessageType, Target};

use super::Work;
use crate::report::Confidence;

/// The names in a local heap begin at multiples of this.
const ALIGNMENT: u64 = 8;

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
        let mut made: Vec<(u64, Vec<Link>)> = Vec::new();
        for node in nodes {
            let Ok(symbols) = self.carver.symbols(Address(node)) else { continue };
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
                        match made.iter_mut().find(|(known, _)| known == heap) {
                            Some((_, all)) => all.extend(links.iter().cloned()),
                            None => made.push((*heap, links.clone())),
                        }
                    }
                }
                _ => {}
            }
        }
        // The heaps of two groups with the same names look alike. If a name occurs twice, one of the nodes is of another group.
        made.retain(|(_, links)| {
            let names: BTreeSet<&[u8]> = links.iter().map(|link| link.name.as_bytes()).collect();
            names.len() == links.len()
        });
        self.made = made;
    }

    pub(super) fn heap_of(&self, messages: &[hdf5_pure::structure::FoundMessage]) -> Option<Address> {
        let message = messages.iter().find(|message| message.kind == MessageType::SymbolTable)?;
        Some(self.carver.symbol_table(message)?.1)
    }
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
