//! Tells which structure begins at a place.

use sciformats_core::bound;
use sciformats_core::fault::Parsed;

use crate::space::context::Context;
use crate::spec::btree_v1::{ChunkNode, GroupNode, Prefix as NodePrefix};
use crate::spec::btree_v2::Header as TreeHeader;
use crate::spec::extensible_array::ExtensibleArray;
use crate::spec::fixed_array::FixedArray;
use crate::spec::fractal_heap::FractalHeap;
use crate::spec::global_heap::CollectionHeader;
use crate::spec::local_heap::LocalHeap;
use crate::spec::message::MessageType;
use crate::spec::object_header::{Prefix, RawMessage, Version, v1};
use crate::spec::symbol_table::Node;
use crate::spec::{Address, lookup3};

/// A structure that was found by what it looks like.
///
/// ```
/// use hdf5_pure::Address;
/// use hdf5_pure::structure::Carved;
///
/// let found = Carved { structure: "local heap", address: Address(680), len: 32, checked: false };
/// assert_eq!(found.address.0 + found.len, 712);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carved {
    /// The name of the structure in the standard.
    pub structure: &'static str,
    /// The address of its first byte.
    pub address: Address,
    /// The length that its own fields declare; the length of the signature if they declare none.
    pub len: u64,
    /// Whether a checksum says that its bytes are as they were written.
    pub checked: bool,
}

/// Takes bytes from a budget, and returns whether it has so many.
type Spend<'a> = &'a mut dyn FnMut(u64) -> bool;

pub(super) fn at(context: &Context, address: Address, spend: Spend<'_>) -> Option<Carved> {
    let start = context.read_some("structure", address, 64).ok()?;
    let found = |structure, len: u64, checked| Carved { structure, address, len, checked };
    let sizes = context.sizes;
    match start.get(..4)? {
        b"OHDR" => version_2(context, address, spend).map(|len| found("object header", len, true)),
        b"OCHK" => Some(found("object header continuation", 4, false)),
        b"TREE" => tree(context, address, &start, spend),
        b"SNOD" => {
            let len = Node::size(sizes, context.btree_k.group_leaf).ok()? as u64;
            let most = u32::from(context.btree_k.group_leaf).checked_mul(2)?;
            let entries = Node::count(&start).ok()?.1;
            if u32::from(entries) > most || !spend(len) {
                return None;
            }
            parsed(context, address, len, |i| Node::parse(i, sizes))?;
            Some(found("symbol table node", len, false))
        }
        b"HEAP" => {
            let len = LocalHeap::size_of(sizes) as u64;
            let heap = parsed(context, address, len, |i| LocalHeap::parse(i, sizes))?;
            context.checked("local heap data segment", heap.data, heap.size).ok()?;
            Some(found("local heap", len, false))
        }
        b"GCOL" => {
            let len = CollectionHeader::size_of(sizes) as u64;
            let collection = parsed(context, address, len, |i| CollectionHeader::parse(i, sizes))?;
            context.checked("global heap collection", address, collection.size).ok()?;
            (collection.size >= len).then(|| found("global heap collection", collection.size, false))
        }
        b"FRHP" => {
            if !spend(FractalHeap::MAX_SIZE as u64) {
                return None;
            }
            let bytes = context.read_some("fractal heap header", address, FractalHeap::MAX_SIZE).ok()?;
            let len = FractalHeap::size(&bytes, sizes).ok()?.1 as u64;
            parsed(context, address, len, |i| FractalHeap::parse(i, sizes))?;
            Some(found("fractal heap header", len, true))
        }
        b"BTHD" => {
            let len = TreeHeader::size(sizes) as u64;
            parsed(context, address, len, |i| TreeHeader::parse(i, sizes))?;
            Some(found("version 2 B-tree header", len, true))
        }
        b"FAHD" => {
            let len = FixedArray::size(sizes) as u64;
            parsed(context, address, len, |i| FixedArray::parse(i, sizes))?;
            Some(found("fixed array header", len, true))
        }
        b"EAHD" => {
            let len = ExtensibleArray::size(sizes) as u64;
            parsed(context, address, len, |i| ExtensibleArray::parse(i, sizes))?;
            Some(found("extensible array header", len, true))
        }
        b"BTIN" => Some(found("version 2 B-tree internal node", 4, false)),
        b"BTLF" => Some(found("version 2 B-tree leaf node", 4, false)),
        b"FHDB" => Some(found("fractal heap direct block", 4, false)),
        b"FHIB" => Some(found("fractal heap indirect block", 4, false)),
        b"FADB" => Some(found("fixed array data block", 4, false)),
        b"EAIB" => Some(found("extensible array index block", 4, false)),
        b"EASB" => Some(found("extensible array secondary block", 4, false)),
        b"EADB" => Some(found("extensible array data block", 4, false)),
        b"FSHD" => Some(found("free-space header", 4, false)),
        b"FSSE" => Some(found("free-space section list", 4, false)),
        b"SMTB" => Some(found("shared message table", 4, false)),
        b"SMLI" => Some(found("shared message list", 4, false)),
        [1, 0, ..] => version_1(context, address, spend).map(|len| found("object header", len, false)),
        _ => None,
    }
}

fn parsed<T>(
    context: &Context,
    at: Address,
    len: u64,
    parser: impl for<'a> FnMut(&'a [u8]) -> Parsed<'a, T>,
) -> Option<T> {
    context.parse("structure", at, len, parser).ok()
}

fn tree(context: &Context, address: Address, start: &[u8], spend: Spend<'_>) -> Option<Carved> {
    let sizes = context.sizes;
    let found = |structure, len: usize| Carved { structure, address, len: len as u64, checked: false };
    if let Ok((_, prefix)) = GroupNode::prefix(start, sizes) {
        let len = GroupNode::size(sizes, prefix.entries.into()).ok()?;
        let most = u32::from(context.btree_k.group_internal).checked_mul(2)?;
        if u32::from(prefix.entries) > most || !spend(len as u64) {
            return None;
        }
        parsed(context, address, len as u64, |i| GroupNode::parse(i, sizes))?;
        return Some(found("group B-tree node", len));
    }
    let prefix = ChunkNode::prefix(start, sizes).ok()?.1;
    let most = u32::from(context.btree_k.chunk).checked_mul(2)?;
    (u32::from(prefix.entries) <= most).then(|| found("chunk B-tree node", NodePrefix::size(sizes)))
}

/// Returns the length of the header of version 2 at `address`, if its checksum is right.
fn version_2(context: &Context, address: Address, spend: Spend<'_>) -> Option<u64> {
    let start = context.read_some("object header", address, 64).ok()?;
    let prefix = Prefix::parse(&start).ok()?.1;
    let len = bound::sum(bound::sum(prefix.chunk_size, prefix.len as u64), 4);
    if len > context.available(address) || !spend(len) {
        return None;
    }
    let bytes = context.read("object header", address, len).ok()?;
    let (body, stored) = bytes.split_at_checked(bytes.len().checked_sub(4)?)?;
    (stored == lookup3::hash(body, 0).to_le_bytes()).then_some(len)
}

/// Returns the length of the header of version 1 at `address`. Such a header has no signature, so its messages must fill its size,
/// and their types must be ones that make an object.
fn version_1(context: &Context, address: Address, spend: Spend<'_>) -> Option<u64> {
    let start = context.read_some("object header", address, 16).ok()?;
    let prefix = Prefix::parse(&start).ok()?.1;
    let Version::V1 { messages, references } = prefix.version else { return None };
    let size = prefix.chunk_size;
    if messages == 0
        || references == 0
        || references > 0xffff
        || size < 16
        || !size.is_multiple_of(8)
        || size > 1 << 20
    {
        return None;
    }
    if start.get(12..16)? != [0; 4] {
        return None;
    }
    let len = bound::sum(size, prefix.len as u64);
    if len > context.available(address) || !spend(len) {
        return None;
    }
    let bytes = context.read("object header", address, len).ok()?;
    let (mut count, mut known, mut makes) = (0u32, true, false);
    v1::messages(&bytes, prefix.len, &mut |raw: RawMessage<'_>| {
        count = bound::sum(count, 1);
        known &= !matches!(raw.kind, MessageType::Unknown(_) | MessageType::Bogus)
            && raw.body.len().is_multiple_of(8);
        makes |= matches!(
            raw.kind,
            MessageType::Dataspace
                | MessageType::Datatype
                | MessageType::SymbolTable
                | MessageType::LinkInfo
                | MessageType::Continuation
        );
    })
    .ok()?;
    (known && makes && count <= messages.into()).then_some(len)
}
