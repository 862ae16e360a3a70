//! Reads old-style groups: a B-tree of symbol table nodes, and names in a local heap.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::ControlFlow;

use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Result, bound};

use crate::group::links::BrokenLink;
use crate::heap::local::{self, Names};
use crate::space::context::{Budget, Context};
use crate::spec::btree_v1::{GroupNode, Prefix};
use crate::spec::local_heap::LocalHeap;
use crate::spec::message::link::{Link, Target};
use crate::spec::message::small::SymbolTable;
use crate::spec::symbol_table::{Cache, Entry, Node};
use crate::spec::{Address, Name, Sizes};

const TREE: &str = "group B-tree node";
const NODE: &str = "symbol table node";

/// The number of bytes that are read first for a name. Most names are shorter.
const USUAL_NAME: u64 = 64;

/// The number of bytes of the header of a member that are expected to be read next.
const HEADER: u64 = 512;

/// The number of symbol table nodes that are fetched before it is known which of them is needed.
const FEW_NODES: usize = 8;

/// The number of nodes that are fetched together with the names of a group that is listed, because a list may end early.
const MANY_NODES: usize = 256;

/// Visits all members of an old-style group. A member that cannot be read is an error beside its siblings.
///
/// # Errors
/// Returns `Malformed` if the names cannot be read.
pub(crate) fn visit(
    context: &Context,
    table: SymbolTable,
    visit: &mut dyn FnMut(Result<Link, BrokenLink>) -> ControlFlow<()>,
) -> Result<()> {
    context.together(|| {
        drop(Names::open(context, table.heap));
        fetch_nodes(context, (table.btree, None), &mut 0);
    })?;
    let heap = Heap::All(Names::open(context, table.heap)?);
    let _ = Symbols { context, heap }.descend(table.btree, None, &mut Budget::new(context), visit);
    Ok(())
}

/// Returns the member `name` of an old-style group. Only the names that it is compared with are read. The structures on the way may
/// be anywhere in the file, so they are announced before they are read.
///
/// # Errors
/// Returns `Malformed` if a structure on the way to the member cannot be read.
pub(crate) fn find(context: &Context, table: SymbolTable, name: &[u8]) -> Result<Option<Link>> {
    context.expect_next(table.heap, LocalHeap::size_of(context.sizes) as u64)?;
    let heap = local::header(context, table.heap)?;
    context.checked("local heap data segment", heap.data, heap.size)?;
    let heap = Heap::Some(heap);
    let found = Symbols { context, heap }.find(table.btree, name)?;
    if let Some(Link { target: Target::Hard(at), .. }) = &found {
        context.expect_next(*at, HEADER)?;
    }
    Ok(found)
}

/// Reads the first nodes of a group, so that they are fetched.
fn fetch_nodes(context: &Context, (at, level): (Address, Option<u8>), count: &mut usize) {
    let Ok(node) = read_node(context, at, level) else { return };
    for &child in &node.children {
        *count = bound::sum(*count, 1);
        if *count > MANY_NODES {
            return;
        }
        match node.level.checked_sub(1) {
            Some(below) => fetch_nodes(context, (child, Some(below)), count),
            None => drop(read_leaf(context, child)),
        }
    }
}

/// The names of an old-style group.
enum Heap<'a> {
    /// All names are in memory.
    All(Names<'a>),
    /// A name is read when it is needed.
    Some(LocalHeap),
}

/// An old-style group.
struct Symbols<'a> {
    context: &'a Context,
    heap: Heap<'a>,
}

impl Symbols<'_> {
    fn name(&self, offset: u64) -> Result<Cow<'_, [u8]>> {
        let heap = match &self.heap {
            Heap::All(names) => return names.get(offset).map(Cow::Borrowed),
            Heap::Some(heap) => heap,
        };
        let outside = || local::outside(self.context, (heap.data, heap.size), offset);
        let left = heap.size.checked_sub(offset).ok_or_else(outside)?;
        let at = heap.data.0.checked_add(offset).map(Address).ok_or_else(outside)?;
        let mut len = left.min(USUAL_NAME);
        loop {
            let bytes = self.context.read("local heap data segment", at, len)?;
            if let Some(end) = bytes.iter().position(|&byte| byte == 0) {
                return Ok(match bytes {
                    Cow::Borrowed(bytes) => Cow::Borrowed(bytes.get(..end).unwrap_or_default()),
                    Cow::Owned(mut bytes) => {
                        bytes.truncate(end);
                        Cow::Owned(bytes)
                    }
                });
            }
            if len == left {
                return Err(outside());
            }
            // Each piece doubles the number of bytes read, so a long name takes few reads.
            len = left.min(bound::product(len, 2));
        }
    }

    fn descend(
        &self,
        at: Address,
        level: Option<u8>,
        budget: &mut Budget,
        visit: &mut dyn FnMut(Result<Link, BrokenLink>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let node = match read_node(self.context, at, level) {
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
                None => match read_leaf(self.context, child) {
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

    fn link(&self, at: Address, entry: &Entry) -> Result<Link, BrokenLink> {
        let name = Name::from(&*self.name(entry.name)?);
        match self.target(at, entry) {
            Ok(target) => Ok(Link { name, creation_order: None, utf8: false, target }),
            Err(error) => Err(BrokenLink { name: Some(name), error }),
        }
    }

    fn target(&self, at: Address, entry: &Entry) -> Result<Target> {
        match (&entry.cache, entry.header) {
            (Cache::SoftLink { path }, _) => Ok(Target::Soft(Name::from(&*self.name((*path).into())?))),
            (_, Some(address)) => Ok(Target::Hard(address)),
            (_, None) => {
                let fault = Fault::new("object header address", FaultKind::Rule("is the undefined address"));
                Err(self.context.fault(NODE, at, fault))
            }
        }
    }

    /// Fetches the names of the group, if each read costs a round trip, and with them the symbol table nodes below `node`, unless
    /// there are many: which of them is needed is only known when the names are here.
    fn ahead(&self, node: &GroupNode) -> Result<()> {
        let Heap::Some(heap) = &self.heap else { return Ok(()) };
        self.context.together(|| {
            let names = self.context.expect_next(heap.data, heap.size);
            if names.is_err() && node.level == 0 && node.children.len() <= FEW_NODES {
                node.children.iter().for_each(|&child| drop(read_leaf(self.context, child)));
            }
        })
    }

    fn find(&self, mut at: Address, name: &[u8]) -> Result<Option<Link>> {
        let mut level = None;
        loop {
            self.context.expect_next(at, Prefix::size(self.context.sizes) as u64)?;
            let node = read_node(self.context, at, level)?;
            self.ahead(&node)?;
            let Some(child) = self.child(&node, name)? else { return Ok(None) };
            match node.level.checked_sub(1) {
                Some(below) => (at, level) = (child, Some(below)),
                None => {
                    let leaf = read_leaf(self.context, child)?;
                    for entry in &leaf.entries {
                        if *self.name(entry.name)? == *name {
                            return self.link(child, entry).map(Some).map_err(|broken| broken.error);
                        }
                    }
                    return Ok(None);
                }
            }
        }
    }

    /// Returns the child for the name: names are greater than its left key and not greater than its right key.
    fn child(&self, node: &GroupNode, name: &[u8]) -> Result<Option<Address>> {
        let (mut low, mut high) = (0, node.children.len());
        while low < high {
            let middle = low.midpoint(high);
            let right = node.keys.get(bound::sum(middle, 1)).copied().unwrap_or_default();
            match (*self.name(right)?).cmp(name) {
                Ordering::Less => low = bound::sum(middle, 1),
                _ => high = middle,
            }
        }
        Ok(node.children.get(low).copied())
    }
}

fn read_node(context: &Context, at: Address, level: Option<u8>) -> Result<GroupNode> {
    let sizes = context.sizes;
    let start = context.read(TREE, at, Prefix::size(sizes) as u64)?;
    let prefix = locate(TREE, context.offset(at), &start, |i| GroupNode::prefix(i, sizes))?;
    if let Some(expected) = level.filter(|&level| level != prefix.level) {
        let kind = FaultKind::Mismatch { expected: expected.into(), found: prefix.level.into() };
        return Err(context.fault(TREE, at, Fault::new("node level", kind)));
    }
    let len = GroupNode::size(sizes, prefix.entries.into())? as u64;
    context.parse(TREE, at, len, |i| GroupNode::parse(i, sizes))
}

fn read_leaf(context: &Context, at: Address) -> Result<Node> {
    let sizes = context.sizes;
    let symbols = context.parse(NODE, at, Node::PREFIX as u64, Node::count)?;
    let len = leaf_size(sizes, symbols.into());
    context.parse(NODE, at, len as u64, |i| Node::parse(i, sizes))
}

/// Returns the number of bytes of a symbol table node that are in use.
fn leaf_size(sizes: Sizes, symbols: usize) -> usize {
    bound::sum(bound::product(Entry::size(sizes), symbols), Node::PREFIX)
}
