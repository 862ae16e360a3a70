//! Finds the root group of a file whose superblock does not lead to it.

use std::collections::BTreeSet;

use hdf5_pure::Address;
use hdf5_pure::structure::{Rest, Superblock};
use sciformats_core::{Result, bound};

use super::Work;
use super::reach::{Tree, is_group};
use crate::report::Confidence;

impl Work {
    /// Finds the root group, and everything to which its links lead.
    pub(super) fn find_root(&mut self) -> Result<()> {
        self.rootless = self.superblock.is_none();
        let told = self.superblock.as_ref().and_then(Superblock::root);
        if let Some(root) = told {
            self.root = root.0;
            self.drop_lost_parts(root.0)?;
            let walked = self.tree.walk(&self.carver, root.0, "/");
            if walked && self.is_root(root.0) {
                return self.repair_headers();
            }
            // A changed address leads to another object, or to bytes that look like one.
            self.tree = Tree::default();
        }
        if let Some(Superblock { rest: Rest::Old { root: entry, .. }, .. }) = &self.superblock
            && let hdf5_pure::structure::Cache::Group { btree: Some(btree), heap: Some(heap) } = entry.cache
        {
            return self.root_of(btree, heap);
        }
        if let Some((root, reason, confidence)) = self.guess_root() {
            self.root = root;
            self.act("lay a superblock over the file", 0, reason, confidence);
            self.rootless = true;
            self.tree.walk(&self.carver, root, "/");
            return self.repair_headers();
        }
        self.root = self.next;
        let messages = self.carver.group_messages(&[])?;
        let start = Address(bound::sum(self.next, 64));
        let patches = self.carver.object(Address(self.next), &messages, start)?;
        self.lay(patches);
        self.rootless = true;
        let reason = "no header of a root group is left".to_owned();
        self.mended.insert(self.root, Some(reason.clone()));
        self.act("make a superblock and an empty root group", 0, reason, Confidence::Speculative);
        self.tree.walk(&self.carver, self.root, "/");
        Ok(())
    }

    /// Returns whether an object that was reached is a group, and not another one than that whose B-tree and heap the superblock names.
    fn is_root(&self, at: u64) -> bool {
        let Some(node) = self.tree.nodes.get(&at).filter(|node| node.is_group()) else { return false };
        let Some(Superblock { rest: Rest::Old { root: entry, .. }, .. }) = &self.superblock else {
            return true;
        };
        let hdf5_pure::structure::Cache::Group { btree: Some(btree), heap: Some(heap) } = entry.cache else {
            return true;
        };
        let mut tables = node.header.messages.iter().filter_map(|message| self.carver.symbol_table(message));
        tables.next().is_none_or(|table| table == (btree, heap) || self.header_of(btree, heap).is_none())
    }

    /// Returns the address of the header that names this B-tree and this heap.
    fn header_of(&self, btree: Address, heap: Address) -> Option<u64> {
        self.addresses("object header").find(|at| {
            let header = self.carver.header(Address(*at)).ok();
            let messages = header.map(|header| header.messages).unwrap_or_default();
            messages.iter().find_map(|message| self.carver.symbol_table(message)) == Some((btree, heap))
        })
    }

    /// Takes the group as the root whose B-tree and heap the superblock names: the one whose header says so too, or a new one.
    fn root_of(&mut self, btree: Address, heap: Address) -> Result<()> {
        self.rootless = true;
        let reason = "the superblock names the B-tree and the heap of the root group".to_owned();
        match self.header_of(btree, heap) {
            Some(root) => {
                self.root = root;
                self.act("lay a superblock over the file", root, reason, Confidence::High);
            }
            None => {
                self.root = self.next;
                let message = self.carver.symbol_table_message(btree, heap)?;
                let end = Address(bound::sum(self.next, 64));
                let patches = self.carver.object(Address(self.next), &[message], end)?;
                self.lay(patches);
                let why = "attributes of the root group may be lost with its header".to_owned();
                self.mended.insert(self.root, Some(why));
                self.act("make the header of the root group", 0, reason, Confidence::High);
            }
        }
        self.tree.walk(&self.carver, self.root, "/");
        self.repair_headers()
    }

    /// Returns the group that is most likely the root of a file without a superblock.
    fn guess_root(&self) -> Option<(u64, String, Confidence)> {
        let mut groups = Vec::new();
        let mut children = BTreeSet::new();
        for at in self.addresses("object header") {
            let Ok(header) = self.carver.header(Address(at)) else { continue };
            if !is_group(&header) {
                continue;
            }
            let mut tree = Tree::default();
            tree.walk(&self.carver, at, "/");
            children.extend(tree.nodes.keys().copied().filter(|&child| child != at));
            groups.push((at, tree.nodes.len(), header.version));
        }
        groups.retain(|(at, ..)| !children.contains(at));
        let most = groups.iter().map(|&(_, objects, _)| objects).max()?;
        let mut best = groups.iter().filter(|&&(_, objects, _)| objects == most);
        let (&(root, ..), other) = (best.next()?, best.next());
        // Several groups that are alike, or a group without a member, are no evidence.
        if other.is_some() || most < 2 && groups.len() > 1 {
            return None;
        }
        let alone = groups.len() == 1;
        let confidence = if alone { Confidence::Medium } else { Confidence::Speculative };
        let reason = format!(
            "the group at {root} is in no other group, and {most} objects are reached from it, which is the largest number"
        );
        Some((root, reason, confidence))
    }
}
