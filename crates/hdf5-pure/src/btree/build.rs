//! Builds version 2 B-trees from sorted records.

use sciformats_core::arith::{add, div, fit, increase, present, rem, sub};
use sciformats_core::{Error, Result, bound};

use crate::space::output::Output;
use crate::spec::Address;
use crate::spec::btree_v2::{Child, Counted, Header, encode_node};

/// The largest depth. Deeper B-trees would hold more records than a file has bytes.
const MAX_DEPTH: u16 = 32;

/// The form and the number of the records of a B-tree that is built.
#[derive(Clone, Copy)]
pub(crate) struct Records {
    /// The type of the records.
    pub(crate) kind: u8,
    /// The number of bytes of a node.
    pub(crate) node_size: u32,
    /// The number of bytes of a record.
    pub(crate) size: u16,
    pub(crate) total: u64,
}

/// Appends the next record.
type Next<'n> = dyn FnMut(&mut Vec<u8>) -> Result<()> + 'n;

/// Writes a B-tree of `records`, each of `size` bytes, which are in order. Returns the address of its header.
pub(crate) fn build(
    output: &mut Output,
    kind: u8,
    node_size: u32,
    size: u16,
    records: &[u8],
) -> Result<Address> {
    let total = div(records.len() as u64, size.into())?;
    if total.checked_mul(size.into()) != Some(records.len() as u64) {
        return Err(Error::internal("records do not have the record size of their B-tree"));
    }
    let mut each = records.chunks_exact(size.into());
    build_of(output, Records { kind, node_size, size, total }, &mut |out| {
        out.extend_from_slice(present(each.next(), "record of a tree")?);
        Ok(())
    })
}

/// Does the same as [`build`], but gets the records one after another, and writes each node when it is full.
pub(crate) fn build_of(output: &mut Output, records: Records, next: &mut Next<'_>) -> Result<Address> {
    let Records { kind, node_size, size, total } = records;
    let mut header = Header {
        kind,
        node_size,
        record_size: size,
        depth: 0,
        root: None,
        root_records: 0,
        total_records: total,
    };
    let mut below = header.leaf_records();
    let mut most = vec![below];
    while below < total {
        increase(&mut header.depth, 1)?;
        if header.depth > MAX_DEPTH {
            return Err(Error::usage("records", "are too long for a node of their B-tree"));
        }
        let pointers = header.pointers(output.sizes);
        let own = present(pointers.last(), "pointers of a node")?.records(&header, output.sizes);
        // This saturates, because no B-tree has more records than 64 bits can count.
        below = bound::sum(bound::product(bound::sum(own, 1), below), own);
        most.push(below);
    }
    let at = output.allocate(Header::size(output.sizes) as u64)?;
    if total > 0 {
        let (root, _) = Builder { header, most, next }.node(output, header.depth, total)?;
        (header.root, header.root_records) = (Some(root.address), root.records);
    }
    let mut bytes = Vec::new();
    header.encode(&mut bytes, output.sizes)?;
    output.write(at, &bytes)?;
    Ok(at)
}

struct Builder<'b, 'n> {
    header: Header,
    /// The largest number of records of a B-tree, by its depth.
    most: Vec<u64>,
    next: &'b mut Next<'n>,
}

impl Builder<'_, '_> {
    /// Writes a node of `depth` with the next `n` records below and in it.
    fn node(&mut self, output: &mut Output, depth: u16, n: u64) -> Result<Counted> {
        let (mut bytes, mut own) = (Vec::new(), Vec::new());
        let Some(below) = depth.checked_sub(1) else {
            self.take(n, &mut own)?;
            encode_node(&mut bytes, &self.header, output.sizes, &own, None)?;
            let records = fit(n, "number of records of a node")?;
            let child = Child { address: output.put(&bytes)?, records };
            return Ok((child, n));
        };
        let room = *present(self.most.get(usize::from(below)), "room of a node")?;
        let children = bound::sum(n, 1).div_ceil(bound::sum(room, 1)).max(2);
        let separators = sub(children, 1)?;
        let rest = sub(n, separators)?;
        let (each, more) = (div(rest, children)?, rem(rest, children)?);
        let mut pointers = Vec::new();
        for i in 0..children {
            pointers.push(self.node(output, below, add(each, u64::from(i < more))?)?);
            if i < separators {
                self.take(1, &mut own)?;
            }
        }
        let header = Header { depth, ..self.header };
        if let Some(pointer) = header.pointers(output.sizes).last() {
            encode_node(&mut bytes, &header, output.sizes, &own, Some((*pointer, &pointers)))?;
        }
        let records = fit(separators, "number of records of a node")?;
        Ok((Child { address: output.put(&bytes)?, records }, n))
    }

    /// Appends the next `n` records.
    fn take(&mut self, n: u64, out: &mut Vec<u8>) -> Result<()> {
        for _ in 0..n {
            let end = add(out.len(), usize::from(self.header.record_size))?;
            (self.next)(out)?;
            if out.len() != end {
                return Err(Error::internal("a record does not have the record size of its B-tree"));
            }
        }
        Ok(())
    }
}
