//! Objects that nothing leads to any more, and the groups that lead to them in the copy.

use std::collections::{BTreeMap, BTreeSet};

use hdf5_pure::structure::{FoundMessage, Link, MessageType, Target};
use hdf5_pure::{Address, Name};
use sciformats_core::{Result, bound};

use super::reach::{Tree, is_group};
use super::{Work, reach};
use crate::report::Confidence;

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
        if let Some(superblock) = &self.superblock {
            let len = if superblock.version < 2 { 96 } else { 48 };
            self.reached.insert(self.base, (bound::sum(self.base, len), false));
        }
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
        let made = std::mem::take(&mut self.made);
        children.extend(made.iter().flat_map(|(_, links)| links).filter_map(|link| match link.target {
            Target::Hard(target) => Some(target.0),
            _ => None,
        }));
        for (heap, links) in made {
            if let Err(error) = self.make_group(heap, &links, &mut found) {
                self.act("leave out a group", heap, error.to_string(), Confidence::High);
            }
        }
        let roots: Vec<u64> = trees.keys().copied().filter(|at| !children.contains(at)).collect();
        // Groups that contain each other have no root; the first of them is as good as any.
        for at in roots.into_iter().chain(trees.into_keys()) {
            if self.tree.nodes.contains_key(&at) {
                continue;
            }
            let path = format!("/lost+found/{at:#x}");
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

    /// Makes a group of the links that were found with their names and without their group.
    fn make_group(&mut self, heap: u64, links: &[Link], found: &mut Vec<(u64, String)>) -> Result<()> {
        let at = self.next;
        let messages = self.carver.group_messages(links)?;
        let patches = self.carver.object(Address(at), &messages, Address(bound::sum(at, 64)))?;
        self.lay(patches);
        let path = format!("/lost+found/{heap:#x}");
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

    /// Writes the links of groups anew that lead to nothing, or to more than before.
    pub(super) fn rewrite_groups(&mut self, orphans: &[(u64, String)]) -> Result<()> {
        let dead: BTreeSet<u64> = self.tree.lost.iter().map(|&(_, at, _)| at).collect();
        let mut extra = None;
        if !orphans.is_empty() {
            let links: Vec<Link> = orphans
                .iter()
                .map(|(at, path)| link(path.rsplit('/').next().unwrap_or_default(), *at))
                .collect();
            let at = self.next;
            let messages = self.carver.group_messages(&links)?;
            let patches = self.carver.object(Address(at), &messages, Address(bound::sum(at, 64)))?;
            self.lay(patches);
            extra = Some(link("lost+found", at));
        }
        let groups: Vec<u64> = self
            .tree
            .nodes
            .iter()
            .filter(|(_, node)| node.is_group() && (node.broken.is_some() || node.has_dead))
            .map(|(&at, _)| at)
            .chain(extra.is_some().then_some(self.root))
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        for at in groups {
            let Some(node) = self.tree.nodes.get(&at) else { continue };
            let mut links = node.links.clone();
            links.retain(|link| !matches!(link.target, Target::Hard(target) if dead.contains(&target.0)));
            if at == self.root {
                links.retain(|known| extra.as_ref().is_none_or(|extra| known.name != extra.name));
                links.extend(extra.clone());
            }
            let of_links =
                [MessageType::SymbolTable, MessageType::LinkInfo, MessageType::Link, MessageType::GroupInfo];
            let mut messages: Vec<FoundMessage> = self.carver.group_messages(&links)?;
            messages.extend(node.header.messages.iter().filter(|m| !of_links.contains(&m.kind)).cloned());
            let patches = self.carver.object(Address(at), &messages, Address(self.next))?;
            self.lay(patches);
        }
        Ok(())
    }
}

fn link(name: &str, at: u64) -> Link {
    Link { name: Name::from(name), creation_order: None, utf8: true, target: Target::Hard(Address(at)) }
}
