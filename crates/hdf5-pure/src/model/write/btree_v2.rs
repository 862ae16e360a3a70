//! Version 2 B-trees, built at once from sorted records.

use sciformats_core::{Error, Result};

use super::output::Output;
use crate::spec::Address;
use crate::spec::btree_v2::{Child, Counted, Header, encode_node};

/// Trees of more levels than this hold more records than there are bytes.
const MAX_DEPTH: u16 = 32;

/// Writes a tree of `records`, each `size` bytes, in order; returns the address of its header.
pub(crate) fn build(
    output: &mut Output,
    kind: u8,
    node_size: u32,
    size: u16,
    records: &[u8],
) -> Result<Address> {
    let total = (records.len() as u64).checked_div(size.into()).unwrap_or(0);
    let mut header = Header {
        kind,
        node_size,
        record_size: size,
        depth: 0,
        root: None,
        root_records: 0,
        total_records: total,
    };
    let mut most = vec![header.leaf_records()];
    while most.last().is_some_and(|&most| most < total) {
        header.depth = header.depth.saturating_add(1);
        if header.depth > MAX_DEPTH {
            return Err(Error::usage("records", "are too long for a node of their tree"));
        }
        let below = most.last().copied().unwrap_or(0);
        let own =
            header.pointers(output.sizes).last().map_or(0, |pointer| pointer.records(&header, output.sizes));
        most.push(own.saturating_add(1).saturating_mul(below).saturating_add(own));
    }
    let at = output.allocate(Header::size(output.sizes) as u64)?;
    if total > 0 {
        let (root, _) = Builder { header, most, records }.node(output, header.depth, 0, total)?;
        (header.root, header.root_records) = (Some(root.address), root.records);
    }
    let mut bytes = Vec::new();
    header.encode(&mut bytes, output.sizes);
    output.write(at, &bytes)?;
    Ok(at)
}

struct Builder<'a> {
    header: Header,
    /// The most records of a tree, by its depth.
    most: Vec<u64>,
    records: &'a [u8],
}

impl Builder<'_> {
    /// Writes a node of `depth` with `n` records below and in it, the first being record `start`.
    fn node(&self, output: &mut Output, depth: u16, start: u64, n: u64) -> Result<Counted> {
        let mut bytes = Vec::new();
        let Some(below) = depth.checked_sub(1) else {
            encode_node(&mut bytes, &self.header, output.sizes, self.records(start, n), None);
            let child = Child { address: output.put(&bytes)?, records: u16::try_from(n).unwrap_or(u16::MAX) };
            return Ok((child, n));
        };
        let room = self.most.get(usize::from(below)).copied().unwrap_or(0).saturating_add(1);
        let children = n.saturating_add(1).div_ceil(room.max(1)).max(2);
        let separators = children.saturating_sub(1);
        let rest = n.saturating_sub(separators);
        let (each, more) = (rest.checked_div(children).unwrap_or(0), rest.checked_rem(children).unwrap_or(0));
        let mut at = start;
        let mut pointers = Vec::new();
        let mut own = Vec::new();
        for i in 0..children {
            let count = each.saturating_add(u64::from(i < more));
            pointers.push(self.node(output, below, at, count)?);
            at = at.saturating_add(count);
            if i < separators {
                own.extend_from_slice(self.records(at, 1));
                at = at.saturating_add(1);
            }
        }
        let header = Header { depth, ..self.header };
        if let Some(pointer) = header.pointers(output.sizes).last() {
            encode_node(&mut bytes, &header, output.sizes, &own, Some((*pointer, &pointers)));
        }
        let records = u16::try_from(separators).unwrap_or(u16::MAX);
        Ok((Child { address: output.put(&bytes)?, records }, n))
    }

    fn records(&self, start: u64, n: u64) -> &[u8] {
        let size = u64::from(self.header.record_size);
        let at = |record: u64| usize::try_from(record.saturating_mul(size)).unwrap_or(usize::MAX);
        self.records.get(at(start)..at(start.saturating_add(n))).unwrap_or_default()
    }
}
