//! Reads version 2 B-trees: visits all records, or those that a comparison selects.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Error, Result, bound};

use crate::space::context::{Budget, Context};
use crate::spec::Address;
use crate::spec::btree_v2::{Child, Header, Node, Pointer};

const HEADER: &str = "version 2 B-tree header";
const NODE: &str = "version 2 B-tree node";

/// A B-tree, whose nodes are not read yet.
pub(crate) struct Tree<'a> {
    context: &'a Context,
    address: Address,
    header: Header,
    pointers: Vec<Pointer>,
}

/// The function that a visit calls with each record, or with the error of a node that cannot be read.
pub(crate) type Visit<'v> = dyn FnMut(Result<&[u8]>) -> Result<ControlFlow<()>> + 'v;

impl<'a> Tree<'a> {
    /// Opens the B-tree at `address`, whose records must have one of the types `kinds`.
    pub(crate) fn open(context: &'a Context, address: Address, kinds: &[u8]) -> Result<Self> {
        let len = Header::size(context.sizes) as u64;
        let header = context.parse(HEADER, address, len, |i| Header::parse(i, context.sizes))?;
        if !kinds.contains(&header.kind) {
            let kind = FaultKind::Undefined { found: header.kind.into() };
            return Err(context.fault(HEADER, address, Fault::new("type", kind)));
        }
        context.limits.depth("levels of a B-tree", header.depth.into())?;
        let pointers = header.pointers(context.sizes);
        Ok(Self { context, address, header, pointers })
    }

    /// Returns the type of the records.
    pub(crate) fn kind(&self) -> u8 {
        self.header.kind
    }

    /// Returns the size of a record.
    pub(crate) fn record_size(&self) -> usize {
        self.header.record_size.into()
    }

    fn root(&self) -> Option<Child> {
        self.header.root.map(|address| Child { address, records: self.header.root_records })
    }

    /// Returns the size of a node.
    pub(crate) fn node_size(&self) -> u64 {
        self.header.node_size.into()
    }

    /// Returns the addresses of all nodes.
    pub(crate) fn nodes(&self) -> Result<Vec<Address>> {
        let mut budget = Budget::new(self.context);
        let mut level = usize::from(self.header.depth);
        let mut row: Vec<Child> = self.root().into_iter().collect();
        let mut nodes = Vec::new();
        loop {
            let mut below = Vec::new();
            for &node in &row {
                budget.visit(self.context, NODE, node.address, self.node_size())?;
                nodes.push(node.address);
                if level > 0 {
                    let bytes = self.context.read(NODE, node.address, self.node_size())?;
                    below.extend(self.parse(&bytes, node, level)?.children);
                }
            }
            let Some(next) = level.checked_sub(1) else { return Ok(nodes) };
            (level, row) = (next, below);
        }
    }

    /// Visits all records in order. A node that cannot be read is reported as one error, and its siblings are visited
    /// all the same. If the number of records differs from the one in the header, this is an error too.
    pub(crate) fn visit(&self, visit: &mut Visit<'_>) -> Result<()> {
        let (mut found, mut whole) = (0u64, true);
        self.visit_range(&mut |_| Ok(Ordering::Equal), &mut |record| {
            match record {
                Ok(_) => found = bound::sum(found, 1),
                Err(_) => whole = false,
            }
            let flow = visit(record)?;
            whole &= flow.is_continue();
            Ok(flow)
        })?;
        if whole && found != self.header.total_records {
            let kind = FaultKind::Mismatch { expected: self.header.total_records, found };
            let fault = Fault::new("total number of records in B-tree", kind);
            let _ = visit(Err(self.context.fault(HEADER, self.address, fault)))?;
        }
        Ok(())
    }

    /// Visits the records for which `compare` returns `Equal`, in order. It must return `Less` for all records before
    /// them and `Greater` for all records after them.
    pub(crate) fn visit_range(
        &self,
        compare: &mut dyn FnMut(&[u8]) -> Result<Ordering>,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let Some(root) = self.root() else { return Ok(()) };
        let mut budget = Budget::new(self.context);
        self.descend(root, usize::from(self.header.depth), &mut budget, compare, visit).map(drop)
    }

    /// Works like [`visit_range`](Self::visit_range), but the first error ends the search.
    pub(crate) fn search(
        &self,
        mut compare: impl FnMut(&[u8]) -> Result<Ordering>,
        mut found: impl FnMut(&[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        self.visit_range(&mut compare, &mut |record| found(record?))
    }

    fn descend(
        &self,
        node: Child,
        level: usize,
        budget: &mut Budget,
        compare: &mut dyn FnMut(&[u8]) -> Result<Ordering>,
        visit: &mut Visit<'_>,
    ) -> Result<ControlFlow<()>> {
        if let Err(error) = budget.visit(self.context, NODE, node.address, self.header.node_size.into()) {
            return visit(Err(error));
        }
        let bytes = match self.context.read(NODE, node.address, self.header.node_size.into()) {
            Ok(bytes) => bytes,
            Err(error) => return visit(Err(error)),
        };
        let parsed = match self.parse(&bytes, node, level) {
            Ok(parsed) => parsed,
            Err(error) => return visit(Err(error)),
        };
        let mut children = parsed.children.iter();
        // The child to the left of a record is skipped if the record is `Less`, because all records in the child are
        // then less as well.
        for record in parsed.records.chunks_exact(self.record_size()) {
            let order = compare(record)?;
            let left = children.next();
            if let (Some(&left), Ordering::Equal | Ordering::Greater) = (left, order)
                && self.descend(left, bound::left(level, 1), budget, compare, visit)?.is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
            match order {
                Ordering::Equal if visit(Ok(record))?.is_break() => return Ok(ControlFlow::Break(())),
                Ordering::Greater => return Ok(ControlFlow::Continue(())),
                _ => {}
            }
        }
        match children.next() {
            Some(&right) => self.descend(right, bound::left(level, 1), budget, compare, visit),
            None => Ok(ControlFlow::Continue(())),
        }
    }

    fn parse<'b>(&self, bytes: &'b [u8], node: Child, level: usize) -> Result<Node<'b>, Error> {
        let base = self.context.offset(node.address);
        match level.checked_sub(1).and_then(|below| self.pointers.get(below)) {
            None => locate(NODE, base, bytes, |i| Node::leaf(i, &self.header, node.records)),
            Some(&pointer) => locate(NODE, base, bytes, |i| {
                Node::internal(i, &self.header, self.context.sizes, pointer, node.records)
            }),
        }
    }
}
