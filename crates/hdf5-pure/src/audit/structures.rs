//! The heaps, B-trees and arrays to which the messages of an object lead: where they are, and what their headers say.

use sciformats_core::Result;
use sciformats_core::fault::locate;

use crate::object::header::Object;
use crate::space::context::Context;
use crate::spec::Address;
use crate::spec::btree_v1::{ChunkNode, GroupNode, Prefix};
use crate::spec::btree_v2::Header;
use crate::spec::extensible_array::ExtensibleArray;
use crate::spec::fixed_array::FixedArray;
use crate::spec::fractal_heap::FractalHeap;
use crate::spec::local_heap::LocalHeap;
use crate::spec::message::MessageType;
use crate::spec::message::dense::{AttributeInfo, LinkInfo};
use crate::spec::message::layout::{IndexKind, Layout};
use crate::spec::message::small::SymbolTable;

/// A structure that an object uses beside its header.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// file.dataset("energy").max_shape([None]).chunks([2]).write(&[0.5, 0.25, 0.125])?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// for place in file.structures_of(file.dataset("energy")?.address())?.into_iter().flatten() {
///     assert!(place.structure.contains("extensible array"), "{}", place.structure);
/// }
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructureInfo {
    /// The name of the structure in the standard.
    pub structure: &'static str,
    /// The absolute offset of its first byte.
    pub offset: u64,
    /// The size in bytes of its header or node.
    pub size: u64,
    /// The values of its fields, by their names in the standard.
    pub fields: Vec<(&'static str, u64)>,
}

/// Returns the structures of an object. A structure that cannot be read is an error beside the others.
pub(crate) fn of(context: &Context, object: &Object<'_>) -> Vec<Result<StructureInfo>> {
    let sizes = context.sizes;
    let mut places = Vec::new();
    match object.parse(context, MessageType::SymbolTable, |i| SymbolTable::parse(i, sizes)) {
        Ok(Some(table)) => {
            places.push(group_tree(context, table.btree));
            places.extend(local_heap(context, table.heap));
        }
        Ok(None) => {}
        Err(error) => places.push(Err(error)),
    }
    match object.parse(context, MessageType::LinkInfo, |i| LinkInfo::parse(i, sizes)) {
        Ok(Some(info)) => {
            places.extend(dense(context, info.heap, [info.by_name, info.by_creation_order.flatten()]));
        }
        Ok(None) => {}
        Err(error) => places.push(Err(error)),
    }
    match object.parse(context, MessageType::AttributeInfo, |i| AttributeInfo::parse(i, sizes)) {
        Ok(Some(info)) => {
            places.extend(dense(context, info.heap, [info.by_name, info.by_creation_order.flatten()]));
        }
        Ok(None) => {}
        Err(error) => places.push(Err(error)),
    }
    match object.parse(context, MessageType::Layout, |i| Layout::parse(i, sizes)) {
        Ok(Some(Layout::Chunked(layout))) => {
            let rank = layout.dimensions.len();
            places.extend(layout.address.and_then(|at| chunk_index(context, layout.index, at, rank)));
        }
        Ok(_) => {}
        Err(error) => places.push(Err(error)),
    }
    places
}

fn place(
    context: &Context,
    structure: &'static str,
    at: Address,
    size: u64,
    fields: Vec<(&'static str, u64)>,
) -> StructureInfo {
    StructureInfo { structure, offset: context.offset(at), size, fields }
}

/// Adds the heap and the B-trees of links or attributes in dense storage.
fn dense(
    context: &Context,
    heap: Option<Address>,
    trees: [Option<Address>; 2],
) -> Vec<Result<StructureInfo>> {
    let heap = heap.map(|at| fractal_heap(context, at));
    heap.into_iter().chain(trees.into_iter().flatten().map(|at| tree(context, at))).collect()
}

fn group_tree(context: &Context, at: Address) -> Result<StructureInfo> {
    const NODE: &str = "group B-tree node";
    let start = context.read(NODE, at, Prefix::size(context.sizes) as u64)?;
    let prefix = locate(NODE, context.offset(at), &start, |i| GroupNode::prefix(i, context.sizes))?;
    let size = GroupNode::size(context.sizes, prefix.entries.into())? as u64;
    let fields = vec![("node level", prefix.level.into()), ("entries used", prefix.entries.into())];
    Ok(place(context, NODE, at, size, fields))
}

fn local_heap(context: &Context, at: Address) -> Vec<Result<StructureInfo>> {
    const HEAP: &str = "local heap";
    let len = LocalHeap::size_of(context.sizes) as u64;
    match context.parse(HEAP, at, len, |i| LocalHeap::parse(i, context.sizes)) {
        Ok(heap) => {
            let fields =
                vec![("data segment size", heap.size), ("offset to head of free-list", heap.free_list)];
            let data = place(context, "local heap data segment", heap.data, heap.size, Vec::new());
            vec![Ok(place(context, HEAP, at, len, fields)), Ok(data)]
        }
        Err(error) => vec![Err(error)],
    }
}

fn fractal_heap(context: &Context, at: Address) -> Result<StructureInfo> {
    const HEAP: &str = "fractal heap header";
    let start = context.read_some(HEAP, at, FractalHeap::MAX_SIZE)?;
    let size = locate(HEAP, context.offset(at), &start, |i| FractalHeap::size(i, context.sizes))? as u64;
    let heap = context.parse(HEAP, at, size, |i| FractalHeap::parse(i, context.sizes))?;
    let [space, allocated, _, objects, huge_size, huge, tiny_size, tiny] = heap.statistics;
    let mut fields = vec![
        ("heap ID length", heap.id_len.into()),
        ("maximum size of managed objects", heap.max_managed.into()),
        ("amount of managed space", space),
        ("amount of allocated managed space", allocated),
        ("free space in managed blocks", heap.free_space),
        ("number of managed objects", objects),
        ("size of huge objects", huge_size),
        ("number of huge objects", huge),
        ("size of tiny objects", tiny_size),
        ("number of tiny objects", tiny),
        ("table width", heap.table.width.into()),
        ("starting block size", heap.table.start),
        ("maximum direct block size", heap.table.max_direct),
        ("current rows in root indirect block", heap.root_rows.into()),
    ];
    fields.extend(heap.root.map(|root| ("root block", context.offset(root))));
    Ok(place(context, HEAP, at, size, fields))
}

fn tree(context: &Context, at: Address) -> Result<StructureInfo> {
    const TREE: &str = "version 2 B-tree header";
    let size = Header::size(context.sizes) as u64;
    let tree = context.parse(TREE, at, size, |i| Header::parse(i, context.sizes))?;
    let mut fields = vec![
        ("type", tree.kind.into()),
        ("node size", tree.node_size.into()),
        ("record size", tree.record_size.into()),
        ("depth", tree.depth.into()),
        ("total number of records", tree.total_records),
    ];
    fields.extend(tree.root.map(|root| ("root node", context.offset(root))));
    Ok(place(context, TREE, at, size, fields))
}

/// Returns the topmost structure of a chunk index, or `None` if the index has no structure of its own.
fn chunk_index(
    context: &Context,
    index: IndexKind,
    at: Address,
    rank: usize,
) -> Option<Result<StructureInfo>> {
    match index {
        IndexKind::Single(_) | IndexKind::Implicit => None,
        IndexKind::BtreeV1 => Some(chunk_tree(context, at, rank)),
        IndexKind::BtreeV2 => Some(tree(context, at)),
        IndexKind::FixedArray => Some(fixed_array(context, at)),
        IndexKind::ExtensibleArray => Some(extensible_array(context, at)),
    }
}

fn chunk_tree(context: &Context, at: Address, rank: usize) -> Result<StructureInfo> {
    const NODE: &str = "chunk B-tree node";
    let start = context.read(NODE, at, Prefix::size(context.sizes) as u64)?;
    let prefix = locate(NODE, context.offset(at), &start, |i| ChunkNode::prefix(i, context.sizes))?;
    let size = ChunkNode::size(context.sizes, prefix.entries.into(), rank)? as u64;
    let fields = vec![("node level", prefix.level.into()), ("entries used", prefix.entries.into())];
    Ok(place(context, NODE, at, size, fields))
}

fn fixed_array(context: &Context, at: Address) -> Result<StructureInfo> {
    const ARRAY: &str = "fixed array header";
    let size = FixedArray::size(context.sizes) as u64;
    let array = context.parse(ARRAY, at, size, |i| FixedArray::parse(i, context.sizes))?;
    let mut fields = vec![
        ("element size", array.element_size.into()),
        ("page bits", array.page_bits.into()),
        ("number of elements", array.elements),
    ];
    fields.extend(array.block.map(|block| ("data block", context.offset(block))));
    Ok(place(context, ARRAY, at, size, fields))
}

fn extensible_array(context: &Context, at: Address) -> Result<StructureInfo> {
    const ARRAY: &str = "extensible array header";
    let size = ExtensibleArray::size(context.sizes) as u64;
    let array = context.parse(ARRAY, at, size, |i| ExtensibleArray::parse(i, context.sizes))?;
    let mut fields = vec![
        ("element size", array.element_size.into()),
        ("elements in the index block", array.index_elements.into()),
        ("maximum index set", array.max_index_set),
    ];
    fields.extend(array.index_block.map(|block| ("index block", context.offset(block))));
    Ok(place(context, ARRAY, at, size, fields))
}
