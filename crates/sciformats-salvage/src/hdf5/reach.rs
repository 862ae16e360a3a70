//! The objects to which links lead, in spite of gaps.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hdf5_pure::Address;
use hdf5_pure::structure::{Carver, FoundHeader, Link, MessageType, Target};
use sciformats_core::{Error, bound};

/// The most objects that are followed.
const OBJECTS: usize = 10_000_000;

/// An object whose header was found.
pub(super) struct Node {
    pub(super) path: String,
    pub(super) header: FoundHeader,
    pub(super) links: Vec<Link>,
    /// Why some of its links are unknown.
    pub(super) broken: Option<String>,
    /// Whether a link leads to an object that cannot be read.
    pub(super) has_dead: bool,
}

impl Node {
    pub(super) fn is_group(&self) -> bool {
        is_group(&self.header)
    }

    pub(super) fn is_dataset(&self) -> bool {
        self.header.has(MessageType::Layout)
    }

    pub(super) fn kind(&self) -> &'static str {
        if self.is_group() {
            "group"
        } else if self.is_dataset() {
            "dataset"
        } else if self.header.has(MessageType::Datatype) && !self.header.has(MessageType::Dataspace) {
            "datatype"
        } else {
            "object"
        }
    }
}

pub(super) fn is_group(header: &FoundHeader) -> bool {
    [MessageType::SymbolTable, MessageType::LinkInfo, MessageType::Link].iter().any(|&kind| header.has(kind))
}

/// All objects that were found, by their addresses.
#[derive(Default)]
pub(super) struct Tree {
    pub(super) nodes: BTreeMap<u64, Node>,
    /// What links lead to and what cannot be read: the path, the address and the reason.
    pub(super) lost: Vec<(String, u64, String)>,
    /// What is wrong with headers and with indexes of links.
    pub(super) faults: Vec<Error>,
}

impl Tree {
    /// Adds the object at `start` and everything to which its links lead. Returns whether the object itself can be read.
    pub(super) fn walk(&mut self, carver: &Carver, start: u64, path: &str) -> bool {
        let mut queue = VecDeque::from([(start, path.to_owned(), None)]);
        while let Some((address, path, parent)) = queue.pop_front() {
            if self.nodes.contains_key(&address) || self.nodes.len() >= OBJECTS {
                continue;
            }
            let header = match carver.header(Address(address)) {
                Ok(header) => header,
                Err(error) => {
                    self.lost.push((path, address, error.to_string()));
                    self.faults.push(error);
                    if let Some(parent) = parent.and_then(|parent| self.nodes.get_mut(&parent)) {
                        parent.has_dead = true;
                    }
                    continue;
                }
            };
            let (links, faults) = links(carver, address, &header);
            let broken = faults.first().map(ToString::to_string);
            self.faults.extend(header.lost.iter().cloned().chain(faults));
            for link in &links {
                if let Target::Hard(target) = link.target {
                    queue.push_back((target.0, join(&path, &link.name.to_string()), Some(address)));
                }
            }
            self.nodes.insert(address, Node { path, header, links, broken, has_dead: false });
        }
        self.nodes.contains_key(&start)
    }

    /// Adds links to a group, and everything to which they lead.
    pub(super) fn adopt(&mut self, carver: &Carver, group: u64, links: Vec<Link>) -> usize {
        let Some(node) = self.nodes.get_mut(&group) else { return 0 };
        let mut fresh = Vec::new();
        let mut names: BTreeSet<Vec<u8>> =
            node.links.iter().map(|link| link.name.as_bytes().to_vec()).collect();
        for link in links {
            if names.insert(link.name.as_bytes().to_vec()) {
                if let Target::Hard(target) = link.target {
                    fresh.push((target.0, join(&node.path, &link.name.to_string())));
                }
                node.links.push(link);
            }
        }
        for (target, path) in &fresh {
            if !self.walk(carver, *target, path)
                && let Some(node) = self.nodes.get_mut(&group)
            {
                node.has_dead = true;
            }
        }
        fresh.len()
    }
}

/// Returns the links of a group that can be read, and why others cannot.
fn links(carver: &Carver, address: u64, header: &FoundHeader) -> (Vec<Link>, Vec<Error>) {
    if !is_group(header) {
        return (Vec::new(), Vec::new());
    }
    let (mut links, mut faults) = (Vec::new(), Vec::new());
    match carver.links(Address(address)) {
        Ok(all) => {
            for link in all {
                match link {
                    Ok(link) => links.push(link),
                    Err(error) => faults.push(error),
                }
            }
        }
        Err(error) => faults.push(error),
    }
    if let Some(error) = nameless(&mut links) {
        faults.push(error);
    }
    (links, faults)
}

/// Takes links away whose names cannot be right, because they are empty or occur twice, as where the bytes of names are lost. What
/// they lead to is found as an object to which nothing leads.
fn nameless(links: &mut Vec<Link>) -> Option<Error> {
    let before = links.len();
    let mut counts: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    for link in links.iter() {
        let count = counts.entry(link.name.as_bytes().to_vec()).or_insert(0);
        *count = bound::sum(*count, 1);
    }
    links.retain(|link| {
        let name = link.name.as_bytes();
        !name.is_empty() && !name.contains(&b'/') && counts.get(name) == Some(&1)
    });
    let lost = bound::left(before, links.len());
    (lost > 0).then(|| {
        Error::unsupported(format!("telling {lost} links of a group by names that are empty or occur twice"))
    })
}

pub(super) fn join(path: &str, name: &str) -> String {
    format!("{}/{name}", path.trim_end_matches('/'))
}
