//! Objects that nothing leads to any more, and the groups that lead to them in the copy.

use std::collections::{BTreeMap, BTreeSet};

use hdf5_pure::structure::{FoundHeader, FoundMessage, Link, MessageType, Target};
use hdf5_pure::{Address, Name};
use sciformats_core::{Result, bound};

use super::reach::{Tree, is_group};
use super::{Work, reach};
use crate::earlier::free;
use crate::report::Confidence;

/// The group with what nothing leads to.
const SHELF: &str = "lost+found";

impl Work {
    /// Leaves the parts of a header out that cannot be read, so that the other parts can.
    pub(super) fn drop_lost_parts(&mut self, at: u64) -> Result<()> {
        let Ok(header) = self.carver.header(Address(at)) else { return Ok(()) };
        if header.lost.is_empty() || header.messages.is_empty() {
            return Ok(());
        }
        let reason = header.lost.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        let patches = self.carver.object(Address(at), &header.messages, Address(self.next))?;
        self.lay(patches);
        self.mended.insert(at, Some(format!("a part of the header is lost: {reason}")));
        self.act("leave out the lost part of an object header", at, reason, Confidence::High);
        Ok(())
    }

    /// Does the same for all objects that are known, and follows the links that this brings.
    pub(super) fn repair_headers(&mut self) -> Result<()> {
        let broken: Vec<u64> = self
            .tree
            .nodes
            .iter()
            .filter(|(_, node)| !node.header.lost.is_empty())
            .map(|(&at, _)| at)
            .collect();
        for at in broken {
            self.drop_lost_parts(at)?;
            let is_group = self.tree.nodes.get(&at).is_some_and(reach::Node::is_group);
            if !is_group {
                continue;
            }
            let Ok(all) = self.carver.links(Address(at)) else { continue };
            let links: Vec<Link> = all.into_iter().flatten().collect();
            self.tree.adopt(&self.carver, at, links);
            if let Some(node) = self.tree.nodes.get_mut(&at) {
                node.broken = Some("a part of the header is lost".into());
            }
        }
        Ok(())
    }

    /// Notes which bytes belong to the objects that are known.
    pub(super) fn note_reached(&mut self) {
        for (&at, node) in &self.tree.nodes {
            let (parts, _) = self.carver.extents_of(Address(at));
            let blocks = node.header.blocks.iter().map(|&(start, len)| (start, len, false));
            for (start, len, elements) in parts.into_iter().chain(blocks) {
                self.reached.insert(start, (bound::sum(start, len), elements));
            }
        }
        if self.superblock.is_some() {
            self.reached.insert(self.base, (self.end_of_superblock(), false));
        }
    }

    /// Returns the offset behind the superblock; of the smallest one, if it is lost.
    pub(super) fn end_of_superblock(&self) -> u64 {
        let is_old = self.superblock.as_ref().is_some_and(|found| found.version < 2);
        bound::sum(self.base, if is_old { 96 } else { 48 })
    }

    /// Returns whether an address lies in something that belongs to a known object.
    pub(super) fn is_reached(&self, address: u64) -> bool {
        let offset = self.carver.offset(Address(address));
        self.reached.range(..=offset).next_back().is_some_and(|(_, (end, _))| offset < *end)
    }

    /// Returns objects to which nothing leads, and which no other such object leads to.
    pub(super) fn orphans(&mut self) -> Vec<(u64, String)> {
        let mut found = Vec::new();
        let candidates: Vec<u64> = self
            .addresses("object header")
            .filter(|at| !self.tree.nodes.contains_key(at) && !self.is_reached(*at))
            .collect();
        let mut trees = BTreeMap::new();
        let mut children = BTreeSet::new();
        for &at in &candidates {
            let Ok(header) = self.carver.header(Address(at)) else { continue };
            let is_object = is_group(&header)
                || header.has(MessageType::Layout) && header.has(MessageType::Datatype)
                || header.has(MessageType::Datatype) && header.messages.len() <= 3;
            if !is_object {
                continue;
            }
            let mut tree = Tree::default();
            tree.walk(&self.carver, at, "/");
            children.extend(tree.nodes.keys().copied().filter(|&child| child != at));
            trees.insert(at, tree);
        }
        let mut place = self.places("", &[]);
        let made = std::mem::take(&mut self.made);
        children.extend(made.iter().flat_map(|(_, links)| links).filter_map(|link| match link.target {
            Target::Hard(target) => Some(target.0),
            _ => None,
        }));
        for (heap, links) in made {
            if let Err(error) = self.make_group((heap, place(heap)), &links, &mut found) {
                self.act("leave out a group", heap, error.to_string(), Confidence::High);
            }
        }
        let roots: Vec<u64> = trees.keys().copied().filter(|at| !children.contains(at)).collect();
        // Groups that contain each other have no root; the first of them is as good as any.
        for at in roots.into_iter().chain(trees.into_keys()) {
            if self.tree.nodes.contains_key(&at) {
                continue;
            }
            let path = place(at);
            if self.tree.walk(&self.carver, at, &path) {
                let reason = "nothing leads to this object".to_owned();
                let checked = self.carved.iter().any(|carved| carved.address.0 == at && carved.checked);
                let confidence = if checked { Confidence::High } else { Confidence::Medium };
                self.act("link an object below /lost+found", at, reason, confidence);
                found.push((at, path));
            }
        }
        found
    }

    /// Returns the name of the group of the root with what nothing leads to, and the names that an earlier salvage has used in it. What
    /// else has that name keeps it.
    fn shelf(&self) -> (String, BTreeSet<Vec<u8>>) {
        let links = self.tree.nodes.get(&self.root).map_or(&[][..], |root| &root.links);
        let taken = |name: &str| links.iter().any(|link| link.name.as_bytes() == name.as_bytes());
        match self.group_of_root(SHELF).and_then(|at| self.tree.nodes.get(&at)) {
            Some(node) => {
                (SHELF.to_owned(), node.links.iter().map(|link| link.name.as_bytes().to_vec()).collect())
            }
            None => (free(SHELF, taken), BTreeSet::new()),
        }
    }

    /// Returns what makes paths below the group with what nothing leads to: of an address behind this prefix. Objects have some of
    /// them already.
    pub(super) fn places(
        &self,
        prefix: &'static str,
        known: &[(u64, String)],
    ) -> impl FnMut(u64) -> String + use<> {
        let (mut shelf, mut taken) = self.shelf();
        for (_, path) in known {
            if let Some((group, name)) = path.trim_start_matches('/').split_once('/') {
                shelf = group.to_owned();
                taken.insert(name.as_bytes().to_vec());
            }
        }
        move |at| {
            let name = free(&format!("{prefix}{at:#x}"), |name| taken.contains(name.as_bytes()));
            taken.insert(name.clone().into_bytes());
            format!("/{shelf}/{name}")
        }
    }

    /// Returns the group of this name to which the root leads.
    fn group_of_root(&self, name: &str) -> Option<u64> {
        let links = &self.tree.nodes.get(&self.root)?.links;
        let link = links.iter().find(|link| link.name.as_bytes() == name.as_bytes())?;
        let Target::Hard(Address(at)) = link.target else { return None };
        let node = self.tree.nodes.get(&at)?;
        (at != self.root && node.is_group() && node.path == format!("/{name}")).then_some(at)
    }

    /// Makes a group of the links that were found with their names and without their group.
    fn make_group(
        &mut self,
        (heap, path): (u64, String),
        links: &[Link],
        found: &mut Vec<(u64, String)>,
    ) -> Result<()> {
        let at = self.next;
        let messages = self.carver.group_messages(links)?;
        let patches = self.carver.object(Address(at), &messages, Address(bound::sum(at, 64)))?;
        self.lay(patches);
        let reason = format!(
            "{} names of symbol table nodes that nothing leads to are in the heap at {heap}, whose group is lost",
            links.len()
        );
        self.mended.insert(at, None);
        self.act("make a group", heap, reason, Confidence::Medium);
        self.tree.walk(&self.carver, at, &path);
        found.push((at, path));
        Ok(())
    }

    /// Returns the messages of a group with these links. If the group knows in which order they were created, it still does, and new
    /// ones are behind the others.
    fn ordered(&self, header: &FoundHeader, mut links: Vec<Link>) -> Result<Vec<FoundMessage>> {
        let Some((flags, next)) = order(header) else { return self.carver.group_messages(&links) };
        let last = links.iter().filter_map(|link| link.creation_order).max();
        let mut next = last.map_or(0, |last| bound::sum(last, 1)).max(next);
        for link in links.iter_mut().filter(|link| link.creation_order.is_none()) {
            link.creation_order = Some(next);
            next = bound::sum(next, 1);
        }
        let mut messages = self.carver.group_messages(&links)?;
        if let Some(info) = messages.first_mut() {
            let addresses = usize::from(self.sizes.offsets) * if flags & 2 == 0 { 2 } else { 3 };
            // The links are in the header, so that no heap and no index has an address.
            info.body = [&[0, flags][..], &next.to_le_bytes(), &vec![0xff; addresses]].concat();
        }
        Ok(messages)
    }

    /// Writes the links of groups anew that lead to nothing, or to more than before.
    pub(super) fn rewrite_groups(&mut self, orphans: &[(u64, String)]) -> Result<()> {
        let dead: BTreeSet<u64> = self.tree.lost.iter().map(|&(_, at, _)| at).collect();
        let mut extra: BTreeMap<u64, Vec<Link>> = BTreeMap::new();
        if let Some(shelf) = orphans.first().and_then(|(_, path)| path.split('/').nth(1)) {
            let links: Vec<Link> = orphans
                .iter()
                .map(|(at, path)| link(path.rsplit('/').next().unwrap_or_default(), *at))
                .collect();
            match self.group_of_root(shelf) {
                Some(group) => extra.insert(group, links),
                None => {
                    let at = self.next;
                    let messages = self.carver.group_messages(&links)?;
                    let patches = self.carver.object(Address(at), &messages, Address(bound::sum(at, 64)))?;
                    self.lay(patches);
                    extra.insert(self.root, vec![link(shelf, at)])
                }
            };
        }
        let groups: BTreeSet<u64> = self
            .tree
            .nodes
            .iter()
            .filter(|(_, node)| node.is_group() && (node.broken.is_some() || node.has_dead))
            .map(|(&at, _)| at)
            .chain(extra.keys().copied())
            .collect();
        for at in groups {
            let Some(node) = self.tree.nodes.get(&at) else { continue };
            let mut links = node.links.clone();
            links.retain(|link| !matches!(link.target, Target::Hard(target) if dead.contains(&target.0)));
            for mut more in extra.remove(&at).unwrap_or_default() {
                let taken = |name: &str| links.iter().any(|known| known.name.as_bytes() == name.as_bytes());
                more.name = Name::from(free(&more.name.to_string(), taken).as_str());
                links.push(more);
            }
            let of_links =
                [MessageType::SymbolTable, MessageType::LinkInfo, MessageType::Link, MessageType::GroupInfo];
            let mut messages = self.ordered(&node.header, links)?;
            messages.extend(node.header.messages.iter().filter(|m| !of_links.contains(&m.kind)).cloned());
            let patches = self.carver.object(Address(at), &messages, Address(self.next))?;
            self.lay(patches);
        }
        Ok(())
    }
}

/// Returns the fields of the message by which a group says that its links have an order: the flags, and the next number.
fn order(header: &FoundHeader) -> Option<(u8, i64)> {
    let info = header.messages.iter().find(|message| message.kind == MessageType::LinkInfo)?;
    let flags = info.body.get(1)? & 3;
    let next = info.body.get(2..)?.first_chunk()?;
    (flags & 1 != 0).then_some((flags, i64::from_le_bytes(*next)))
}

pub(super) fn link(name: &str, at: u64) -> Link {
    Link { name: Name::from(name), creation_order: None, utf8: true, target: Target::Hard(Address(at)) }
}
