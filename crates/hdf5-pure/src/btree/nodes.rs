//! The nodes of a B-tree that is being edited. Nodes that were read stay in memory together with their changes.
//!
//! A node has at most as many records as the split percent of its room allows, and every node except the root has at
//! least as many as the merge percent requires. The C library merges a node before it becomes smaller, and relies on
//! this. The room differs from level to level, because nodes above the leaves also hold pointers.

use std::cmp::Ordering;

use sciformats_core::arith::{add, fit, mul, present, sub, sum};
use sciformats_core::fault::{Fault, FaultKind, locate};
use sciformats_core::{Error, Result, bound};

use crate::space::context::Context;
use crate::space::output::Output;
use crate::spec::btree_v2::{Child, Counted, Header, Node as Stored, Percents, Pointer};
use crate::spec::{Address, Sizes};

pub(super) const NODE: &str = "version 2 B-tree node";
/// The largest depth. Deeper B-trees would hold more records than a file has bytes.
pub(super) const MAX_DEPTH: u16 = 32;
/// The smallest number of records that a node must have room for, because smaller nodes could not be split.
const LEAST: u64 = 3;
/// The largest node that is edited, because each change writes at least one node.
const LARGEST: u32 = 1 << 20;

/// A comparison with the record that is looked for. It returns `Less` for records before it, `Greater` for records
/// after it, and `Equal` for the record itself.
pub(crate) type Order<'o> = dyn FnMut(&[u8]) -> Result<Ordering> + 'o;

/// The source from which nodes are read. It includes everything that was written before.
pub(crate) trait Source {
    fn sizes(&self) -> Sizes;
    /// Returns the absolute offset of an address.
    fn offset_of(&self, at: Address) -> Result<u64>;
    /// Returns the `len` bytes of a structure.
    fn bytes(&mut self, structure: &'static str, at: Address, len: u64) -> Result<Vec<u8>>;
}

impl Source for Output {
    fn sizes(&self) -> Sizes {
        self.sizes
    }

    fn offset_of(&self, at: Address) -> Result<u64> {
        add(self.base(), at.0)
    }

    fn bytes(&mut self, _: &'static str, at: Address, len: u64) -> Result<Vec<u8>> {
        self.read(at, fit(len, "size of a node")?)
    }
}

impl Source for &Context {
    fn sizes(&self) -> Sizes {
        self.sizes
    }

    fn offset_of(&self, at: Address) -> Result<u64> {
        Ok(self.offset(at))
    }

    fn bytes(&mut self, structure: &'static str, at: Address, len: u64) -> Result<Vec<u8>> {
        Ok(self.read(structure, at, len)?.into_owned())
    }
}

/// A node, and the number of records in it and below it.
pub(super) struct Branch {
    pub(super) place: Place,
    pub(super) total: u64,
}

pub(super) enum Place {
    /// In the file, and not read yet.
    File(Child),
    /// In memory.
    Memory(Box<Node>),
}

pub(super) struct Node {
    pub(super) level: u16,
    pub(super) records: Vec<Vec<u8>>,
    /// The children: none in a leaf, otherwise one more than records.
    pub(super) children: Vec<Branch>,
    /// The place of the node in the file.
    pub(super) from: Option<Address>,
    /// Whether the node differs from the file.
    pub(super) changed: bool,
}

impl Node {
    /// Creates a node that is not in the file yet.
    pub(super) fn new(level: u16, records: Vec<Vec<u8>>, children: Vec<Branch>) -> Self {
        Self { level, records, children, from: None, changed: true }
    }

    /// Returns the number of records in the node and below it.
    fn total(&self) -> Result<u64> {
        add(sum(self.children.iter().map(|child| child.total))?, self.records.len() as u64)
    }

    /// Returns the position of the record that is looked for, or the position at which it would be inserted, and
    /// whether it exists.
    pub(super) fn position(&self, order: &mut Order<'_>) -> Result<(usize, bool)> {
        let (mut low, mut high) = (0, self.records.len());
        while low < high {
            let middle = low.midpoint(high);
            match order(present(self.records.get(middle), "record of a node")?)? {
                Ordering::Less => low = add(middle, 1)?,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Ok((middle, true)),
            }
        }
        Ok((low, false))
    }

    pub(super) fn child(&mut self, number: usize) -> Result<&mut Branch> {
        present(self.children.get_mut(number), "child of a node")
    }

    /// Replaces a record.
    pub(super) fn replace(&mut self, number: usize, record: Vec<u8>) -> Result<Vec<u8>> {
        self.changed = true;
        Ok(std::mem::replace(present(self.records.get_mut(number), "record of a node")?, record))
    }
}

impl Branch {
    pub(super) fn of(node: Node) -> Result<Self> {
        let total = node.total()?;
        Ok(Self { place: Place::Memory(Box::new(node)), total })
    }

    /// Returns the number of records in the node itself.
    pub(super) fn len(&self) -> u64 {
        match &self.place {
            Place::File(child) => child.records.into(),
            Place::Memory(node) => node.records.len() as u64,
        }
    }
}

/// The sizes of the nodes of a B-tree.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) header: Header,
    pub(super) percents: Percents,
    pub(super) sizes: Sizes,
}

impl Shape {
    /// Returns the shape of the B-tree whose header, at `at`, was read.
    ///
    /// # Errors
    /// Returns `Malformed` if nodes would have to be merged right after a split, and `Unsupported` if nodes hold too
    /// few or too many records.
    pub(super) fn new((header, percents): (Header, Percents), sizes: Sizes, offset: u64) -> Result<Self> {
        let shape = Self { header, percents, sizes };
        let Percents { split, merge } = percents;
        if split > 100 || merge >= split / 2 {
            let rule = FaultKind::Rule("must leave room between merging and splitting nodes");
            return Err(Fault::new("split and merge percent", rule).at("version 2 B-tree header", offset));
        }
        let fits = header.depth <= MAX_DEPTH && header.node_size <= LARGEST;
        if !fits || shape.most(0)?.min(shape.most(1)?) < LEAST {
            return Err(Error::unsupported(
                "editing a B-tree whose depth or node size this library does not use",
            ));
        }
        Ok(shape)
    }

    /// Returns the header for a root at `level`, and the form of the pointers in such a root.
    pub(super) fn at(&self, level: u16) -> (Header, Option<Pointer>) {
        let header = Header { depth: level, ..self.header };
        (header, header.pointers(self.sizes).last().copied())
    }

    /// Returns the number of records for which a node has room.
    fn room(&self, level: u16) -> u64 {
        let (header, pointer) = self.at(level);
        let room = pointer.map_or(header.leaf_records(), |pointer| pointer.records(&header, self.sizes));
        room.min(u16::MAX.into()) // a bound: no field counts more
    }

    /// Returns the largest number of records of a node.
    pub(super) fn most(&self, level: u16) -> Result<u64> {
        Ok(mul(self.room(level), u64::from(self.percents.split))? / 100)
    }

    /// Returns the smallest number of records of a node other than the root.
    fn fewest(&self, level: u16) -> Result<u64> {
        Ok(mul(self.room(level), u64::from(self.percents.merge))? / 100)
    }
}

/// One operation on a B-tree.
pub(super) struct Work<'w> {
    pub(super) shape: Shape,
    pub(super) source: &'w mut dyn Source,
    /// The nodes of the file that the tree does not need any more.
    pub(super) outgrown: &'w mut Vec<Address>,
}

impl Work<'_> {
    /// Returns the node of a branch. It is read if it is not in memory.
    pub(super) fn load<'b>(&mut self, branch: &'b mut Branch, level: u16) -> Result<&'b mut Node> {
        if let Place::File(child) = branch.place {
            branch.place = Place::Memory(Box::new(self.read(child, level)?));
        }
        match &mut branch.place {
            Place::Memory(node) => Ok(node),
            Place::File(_) => Err(Error::internal("a B-tree node is not in memory after it was read")),
        }
    }

    fn read(&mut self, child: Child, level: u16) -> Result<Node> {
        let (header, pointer) = self.shape.at(level);
        let bytes = self.source.bytes(NODE, child.address, header.node_size.into())?;
        let (base, sizes) = (self.source.offset_of(child.address)?, self.shape.sizes);
        let (records, children) = match pointer {
            None => {
                let leaf = locate(NODE, base, &bytes, |i| Stored::leaf(i, &header, child.records))?;
                (leaf.records.to_vec(), Vec::new())
            }
            Some(pointer) => {
                let counted = |i| Stored::counted(i, &header, sizes, pointer, child.records);
                let (records, children) = locate(NODE, base, &bytes, |i| {
                    counted(i).map(|(rest, (records, children))| (rest, (records.to_vec(), children)))
                })?;
                (records, children)
            }
        };
        let size = usize::from(header.record_size).max(1);
        let branch = |(child, total): Counted| Branch { place: Place::File(child), total };
        Ok(Node {
            level,
            records: records.chunks_exact(size).map(<[u8]>::to_vec).collect(),
            children: children.into_iter().map(branch).collect(),
            from: Some(child.address),
            changed: false,
        })
    }

    /// Relieves a child that has one record too many: records move to a neighbour with room, or the child is split.
    pub(super) fn relieve(&mut self, node: &mut Node, number: usize) -> Result<()> {
        let below = sub(node.level, 1)?;
        let most = self.shape.most(below)?;
        // A neighbour that is nearly full would soon have to be relieved itself.
        let nearly = sub(most, (most / 4).max(1))?;
        let roomy = |node: &Node, number: Option<usize>| {
            number.and_then(|number| node.children.get(number)).is_some_and(|other| other.len() <= nearly)
        };
        let (left, right) = (number.checked_sub(1), number.checked_add(1));
        if let Some(left) = left.filter(|_| roomy(node, left)) {
            return self.even_out(node, left);
        }
        if roomy(node, right) {
            return self.even_out(node, number);
        }
        let full = self.load(node.child(number)?, below)?;
        let (records, children) = (std::mem::take(&mut full.records), std::mem::take(&mut full.children));
        let (left, separator, right) = halves(records, children)?;
        (full.records, full.children, full.changed) = (left.0, left.1, true);
        let total = full.total()?;
        node.child(number)?.total = total;
        let next = add(number, 1)?;
        node.records.insert(number, separator);
        node.children.insert(next, Branch::of(Node::new(below, right.0, right.1))?);
        node.changed = true;
        Ok(())
    }

    /// Brings a child with too few records back to enough records: some move over from a neighbour, or the two are
    /// merged.
    pub(super) fn fill(&mut self, node: &mut Node, number: usize) -> Result<()> {
        let below = sub(node.level, 1)?;
        if node.child(number)?.len() >= self.shape.fewest(below)?.max(1) {
            return Ok(());
        }
        let left = number.checked_sub(1).unwrap_or(number); // the first has only a right neighbour
        let len = |number| node.children.get(number).map(Branch::len);
        let (Some(a), Some(b)) = (len(left), len(add(left, 1)?)) else { return Ok(()) };
        if sum([a, b, 1])? > self.shape.most(below)? {
            return self.even_out(node, left);
        }
        let (records, children) = self.join(node, left)?;
        let right = node.children.remove(add(left, 1)?);
        if let Place::Memory(emptied) = right.place {
            self.outgrown.extend(emptied.from);
        }
        node.records.remove(left);
        self.store(node, left, (records, children))
    }

    /// Divides the records of two neighbours evenly.
    fn even_out(&mut self, node: &mut Node, left: usize) -> Result<()> {
        let (records, children) = self.join(node, left)?;
        let (first, separator, second) = halves(records, children)?;
        node.replace(left, separator)?;
        self.store(node, left, first)?;
        self.store(node, add(left, 1)?, second)
    }

    /// Takes the records and children out of two neighbours, together with the record between them.
    fn join(&mut self, node: &mut Node, left: usize) -> Result<Content> {
        let below = sub(node.level, 1)?;
        let separator = present(node.records.get(left), "record between two nodes")?.clone();
        let mut taken = Vec::new();
        for number in [left, add(left, 1)?] {
            let child = self.load(node.child(number)?, below)?;
            taken.push((std::mem::take(&mut child.records), std::mem::take(&mut child.children)));
        }
        let mut taken = taken.into_iter();
        let (mut records, mut children) = taken.next().unwrap_or_default();
        let (more, below) = taken.next().unwrap_or_default();
        records.push(separator);
        records.extend(more);
        children.extend(below);
        Ok((records, children))
    }

    /// Gives a child, which is in memory, other records and children.
    fn store(&mut self, node: &mut Node, number: usize, content: Content) -> Result<()> {
        let below = sub(node.level, 1)?;
        node.changed = true;
        let branch = node.child(number)?;
        let child = self.load(branch, below)?;
        (child.records, child.children, child.changed) = (content.0, content.1, true);
        branch.total = child.total()?;
        Ok(())
    }
}

/// The records of a node, and its children.
type Content = (Vec<Vec<u8>>, Vec<Branch>);

/// Returns the lower half, the record in the middle, and the upper half.
pub(super) fn halves(
    mut records: Vec<Vec<u8>>,
    mut children: Vec<Branch>,
) -> Result<(Content, Vec<u8>, Content)> {
    let middle = bound::left(records.len(), 1) / 2;
    let mut upper = records.split_off(middle);
    if upper.is_empty() {
        return Err(Error::internal("a B-tree node without records is split"));
    }
    let separator = upper.remove(0);
    let right = match children.is_empty() {
        true => Vec::new(),
        false => children.split_off(add(middle, 1)?.min(children.len())),
    };
    Ok(((records, children), separator, (upper, right)))
}
