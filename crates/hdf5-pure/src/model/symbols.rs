//! Old-style groups: a B-tree of symbol table nodes, names in a local heap.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::ControlFlow;

use sciformats_core::Result;
use sciformats_core::fault::{Fault, FaultKind, locate};

use super::context::{Budget, Context};
use super::links::BrokenLink;
use crate::spec::btree_v1::{GroupNode, Prefix};
use crate::spec::local_heap::LocalHeap;
use crate::spec::message::link::{Link, Target};
use crate::spec::message::small::SymbolTable;
use crate::spec::symbol_table::{Cache, Entry, Node};
use crate::spec::{Address, Name, Sizes};

const TREE: &str = "group B-tree node";
const NODE: &str = "symbol table node";
const HEAP: &str = "local heap";

/// The names of a group, or of a list of external files.
pub(crate) struct Names<'a> {
    context: &'a Context,
    data: Address,
    bytes: Cow<'a, [u8]>,
}

impl<'a> Names<'a> {
    pub(crate) fn open(context: &'a Context, heap: Address) -> Result<Self> {
        let len = LocalHeap::size_of(context.sizes) as u64;
        let heap = context.parse(HEAP, heap, len, |i| LocalHeap::parse(i, context.sizes))?;
        let bytes = context.read("local heap data segment", heap.data, heap.size)?;
        Ok(Self { context, data: heap.data, bytes })
    }

    /// The bytes from `offset` to the next NUL.
    pub(crate) fn get(&self, offset: u64) -> Result<&[u8]> {
        let start = usize::try_from(offset).ok().and_then(|offset| self.bytes.get(offset..));
        let end = start.and_then(|start| start.iter().position(|&byte| byte == 0));
        start.zip(end).and_then(|(start, end)| start.get(..end)).ok_or_else(|| {
            let kind = FaultKind::OutOfBounds { found: offset, end: self.bytes.len() as u64 };
            self.context.fault(HEAP, self.data, Fault::new("name offset", kind))
        })
    }
}

/// An old-style group.
pub(crate) struct Symbols<'a> {
    context: &'a Context,
    btree: Address,
    names: Names<'a>,
}

impl<'a> Symbols<'a> {
    pub(crate) fn open(context: &'a Context, table: SymbolTable) -> Result<Self> {
        Ok(Self { context, btree: table.btree, names: Names::open(context, table.heap)? })
    }

    /// Visits all members; what cannot be read is an error beside its siblings.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(Result<Link, BrokenLink>) -> ControlFlow<()>) {
        let mut budget = Budget::new(self.context);
        let _ = self.descend(self.btree, None, &mut budget, visit);
    }

    fn descend(
        &self,
        at: Address,
        level: Option<u8>,
        budget: &mut Budget,
        visit: &mut dyn FnMut(Result<Link, BrokenLink>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let node = match self.node(at, level) {
            Ok(node) => node,
            Err(error) => return visit(Err(error.into())),
        };
        let visited = GroupNode::size(self.context.sizes, node.children.len())
            .and_then(|size| budget.visit(self.context, TREE, at, size as u64));
        if let Err(error) = visited {
            return visit(Err(error.into()));
        }
        for &child in &node.children {
            match node.level.checked_sub(1) {
                Some(below) => self.descend(child, Some(below), budget, visit)?,
                None => match self.leaf(child) {
                    Ok(leaf) => {
                        let size = leaf_size(self.context.sizes, leaf.entries.len()) as u64;
                        if let Err(error) = budget.visit(self.context, NODE, child, size) {
                            visit(Err(error.into()))?;
                            continue;
                        }
                        leaf.entries.iter().try_for_each(|entry| visit(self.link(child, entry)))?;
                    }
                    Err(error) => visit(Err(error.into()))?,
                },
            }
        }
        ControlFlow::Continue(())
    }

    fn node(&self, at: Address, level: Option<u8>) -> Result<GroupNode> {
        let sizes = self.context.sizes;
        let start = self.context.read(TREE, at, Prefix::size(sizes) as u64)?;
        let prefix = locate(TREE, self.context.offset(at), &start, |i| GroupNode::prefix(i, sizes))?;
        if let Some(expected) = level.filter(|&level| level != prefix.level) {
            let kind = FaultKind::Mismatch { expected: expected.into(), found: prefix.level.into() };
            return Err(self.context.fault(TREE, at, Fault::new("node level", kind)));
        }
        let len = GroupNode::size(sizes, prefix.entries.into())? as u64;
        self.context.parse(TREE, at, len, |i| GroupNode::parse(i, sizes))
    }

    fn leaf(&self, at: Address) -> Result<Node> {
        let sizes = self.context.sizes;
        let symbols = self.context.parse(NODE, at, Node::PREFIX as u64, Node::count)?;
        let len = leaf_size(sizes, symbols.into());
        self.context.parse(NODE, at, len as u64, |i| Node::parse(i, sizes))
    }

    fn link(&self, at: Address, entry: &Entry) -> Result<Link, BrokenLink> {
        let name = Name::from(self.names.get(entry.name)?);
        match self.target(at, entry) {
            Ok(target) => Ok(Link { name, creation_order: None, utf8: false, target }),
            Err(error) => Err(BrokenLink { name: Some(name), error }),
        }
    }

    fn target(&self, at: Address, entry: &Entry) -> Result<Target> {
        match (&entry.cache, entry.header) {
            (Cache::SoftLink { path }, _) => Ok(Target::Soft(self.names.get((*path).into())?.into())),
            (_, Some(address)) => Ok(Target::Hard(address)),
            (_, None) => {
                let fault = Fault::new("object header address", FaultKind::Rule("is the undefined address"));
                Err(self.context.fault(NODE, at, fault))
            }
        }
    }

    /// The member named `name`.
    pub(crate) fn find(&self, name: &[u8]) -> Result<Option<Link>> {
        let mut at = self.btree;
        let mut level = None;
        loop {
            let node = self.node(at, level)?;
            let Some(child) = self.child(&node, name)? else { return Ok(None) };
            match node.level.checked_sub(1) {
                Some(below) => (at, level) = (child, Some(below)),
                None => {
                    let leaf = self.leaf(child)?;
                    for entry in &leaf.entries {
                        if self.names.get(entry.name)? == name {
                            return self.link(child, entry).map(Some).map_err(|broken| broken.error);
                        }
                    }
                    return Ok(None);
                }
            }
        }
    }

    /// The child whose names are greater than its left key and not greater than its right one.
    fn child(&self, node: &GroupNode, name: &[u8]) -> Result<Option<Address>> {
        let (mut low, mut high) = (0, node.children.len());
        while low < high {
            let middle = low.midpoint(high);
            let right = node.keys.get(middle.saturating_add(1)).copied().unwrap_or(0);
            match self.names.get(right)?.cmp(name) {
                Ordering::Less => low = middle.saturating_add(1),
                _ => high = middle,
            }
        }
        Ok(node.children.get(low).copied())
    }
}

/// Bytes of a symbol table node as far as it is used.
fn leaf_size(sizes: Sizes, symbols: usize) -> usize {
    Entry::size(sizes).saturating_mul(symbols).saturating_add(Node::PREFIX)
}
