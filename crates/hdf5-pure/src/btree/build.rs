//! Builds version 2 B-trees from sorted records.

use sciformats_core::arith::{add, div, fit, increase, mul, present, rem, sub};
use sciformats_core::{Error, Result, bound};

use crate::space::output::Output;
use crate::spec::Address;
use crate::spec::btree_v2::{Child, Counted, Header, encode_node};

/// The largest depth. Deeper B-trees would hold more records than a file has bytes.
const MAX_DEPTH: u16 = 32;

/// Writes a B-tree of the sorted `records`, which have `size` bytes each. Returns the address of its header.
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
        let (root, _) = Builder { header, most, records }.node(output, header.depth, 0, total)?;
        (header.root, header.root_records) = (Some(root.address), root.records);
    }
    let mut bytes = Vec::new();
    header.encode(&mut bytes, output.sizes)?;
    output.write(at, &bytes)?;
    Ok(at)
}

struct Builder<'a> {
    header: Header,
    /// The largest number of records of a B-tree, by its depth.
    most: Vec<u64>,
    records: &'a [u8],
}

impl Builder<'_> {
    /// Writes a node of the level `depth`, with `n` records in it and below it, starting with the record `start`.
    fn node(&self, output: &mut Output, depth: u16, start: u64, n: u64) -> Result<Counted> {
        let mut bytes = Vec::new();
        let Some(below) = depth.checked_sub(1) else {
            encode_node(&mut bytes, &self.header, output.sizes, self.records(start, n)?, None)?;
            let records = fit(n, "number of records of a node")?;
            let child = Child { address: output.put(&bytes)?, records };
            return Ok((child, n));
        };
        let room = *present(self.most.get(usize::from(below)), "room of a node")?;
        let children = bound::sum(n, 1).div_ceil(bound::sum(room, 1)).max(2);
        let separators = sub(children, 1)?;
        let rest = sub(n, separators)?;
        let (each, more) = (div(rest, children)?, rem(rest, children)?);
        let mut at = start;
        let mut pointers = Vec::new();
        let mut own = Vec::new();
        for i in 0..children {
            let count = add(each, u64::from(i < more))?;
            pointers.push(self.node(output, below, at, count)?);
            increase(&mut at, count)?;
            if i < separators {
                own.extend_from_slice(self.records(at, 1)?);
                increase(&mut at, 1)?;
            }
        }
        let header = Header { depth, ..self.header };
        if let Some(pointer) = header.pointers(output.sizes).last() {
            encode_node(&mut bytes, &header, output.sizes, &own, Some((*pointer, &pointers)))?;
        }
        let records = fit(separators, "number of records of a node")?;
        Ok((Child { address: output.put(&bytes)?, records }, n))
    }

    fn records(&self, start: u64, n: u64) -> Result<&[u8]> {
        let at =
            |record: u64| fit::<usize, _>(mul(record, self.header.record_size.into())?, "place of a record");
        present(self.records.get(at(start)?..at(add(start, n)?)?), "records of a node")
    }
}
