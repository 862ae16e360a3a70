//! Recognises structures at any place of a file, whether or not something leads to them, and makes the structures that lay a damaged
//! object over the file anew.

mod header;
mod rebuild;
mod recognise;

pub use self::header::{FoundHeader, FoundMessage};
pub use self::recognise::Carved;

use std::sync::{Arc, RwLock};

use sciformats_core::fault::locate;
use sciformats_core::{Limits, ReadAt, Result, bound};

use crate::chunk::index::StoredChunk;
use crate::file::open::superblock;
use crate::group::links;
use crate::heap::local::Names;
use crate::object::header::Object;
use crate::space::context::Context;
use crate::space::extents::Extents;
use crate::space::pending::Use;
use crate::spec::btree_v1::{BtreeK, ChunkNode, Prefix};
use crate::spec::message::link::Link;
use crate::spec::superblock::Superblock;
use crate::spec::symbol_table::{Cache, Node};
use crate::spec::{Address, Name, Sizes};

/// Reads structures of a damaged file one by one, without the file having to be opened.
///
/// ```
/// use hdf5_pure::structure::{BtreeK, Carver, Sizes};
/// use hdf5_pure::{Address, CreateOptions, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// file.dataset("energy").write(&[0.5, 0.25])?;
/// let bytes = file.into_bytes()?;
/// let at = bytes.windows(4).position(|four| four == b"OHDR").unwrap();
/// let carver = Carver::new(std::sync::Arc::new(bytes), 0, Sizes { offsets: 8, lengths: 8 }, BtreeK::default());
/// let found = carver.recognise(Address(at as u64)).unwrap();
/// assert!(found.checked && found.structure == "object header");
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
pub struct Carver {
    context: Context,
}

/// What a symbol table node says about one link.
///
/// ```
/// use hdf5_pure::Address;
/// use hdf5_pure::structure::FoundSymbol;
///
/// let symbol = FoundSymbol { name: 8, header: Some(Address(800)), soft: None };
/// assert_eq!(symbol.name, 8); // the offset of the name in the heap of its group
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundSymbol {
    /// The offset of the name in the local heap of the group.
    pub name: u64,
    /// The address of the object; `None` for a soft link.
    pub header: Option<Address>,
    /// The offset of the path in the local heap, if it is a soft link.
    pub soft: Option<u64>,
}

/// A node of a version 1 B-tree of chunks.
///
/// ```
/// use hdf5_pure::structure::FoundNode;
///
/// let node = FoundNode { level: 1, siblings: [None, None], children: Vec::new(), chunks: Vec::new() };
/// assert!(node.chunks.is_empty()); // only leaves, at level 0, hold chunks
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundNode {
    /// The level; leaves are at level 0.
    pub level: u8,
    /// The nodes before and after this one in the same level.
    pub siblings: [Option<Address>; 2],
    /// The nodes below it.
    pub children: Vec<Address>,
    /// The chunks of a leaf, each with the index of its first element in place of the index of the chunk.
    pub chunks: Vec<StoredChunk>,
}

impl Carver {
    /// Reads structures of a file in `storage` whose addresses count from `base`.
    pub fn new(storage: Arc<dyn ReadAt>, base: u64, sizes: Sizes, btree_k: BtreeK) -> Self {
        let context = Context {
            storage,
            base,
            sizes,
            btree_k,
            limits: Limits::default(),
            registry: Default::default(),
            shared: Vec::new(),
            verified: RwLock::default(),
        };
        Self { context }
    }

    /// Returns the offset of the superblock, and the superblock.
    ///
    /// # Errors
    /// Returns `Malformed` if there is none at 0, 512, 1024 and so on, or if it cannot be read.
    pub fn find_superblock(storage: &dyn ReadAt) -> Result<(u64, Superblock)> {
        superblock(storage)
    }

    /// Returns the structure at `address`, or `None` if none begins there. The whole structure must lie in the file and obey the
    /// rules of the format. A structure with a checksum must have the right one.
    pub fn recognise(&self, address: Address) -> Option<Carved> {
        recognise::at(&self.context, address)
    }

    /// Reads the object header at `address` as far as possible. Parts to which continuations lead and that cannot be read are
    /// errors beside the messages.
    ///
    /// # Errors
    /// Returns `Malformed` if the first part cannot be read.
    pub fn header(&self, address: Address) -> Result<FoundHeader> {
        header::read(&self.context, address)
    }

    /// Returns the links of the group at `address`. A link that cannot be read is an error among them.
    ///
    /// # Errors
    /// Returns `Malformed` if the header or the index of the links cannot be read.
    pub fn links(&self, address: Address) -> Result<Vec<Result<Link>>> {
        let object = Object::read(&self.context, address)?;
        let links = links::all(&self.context, &object)?;
        Ok(links.into_iter().map(|link| link.map_err(|broken| broken.error)).collect())
    }

    /// Returns the absolute offsets and the lengths of the structures and elements that belong to the object at `address`, with
    /// true for elements, and the error at which the search ended, if it did not find all of them.
    pub fn extents_of(&self, address: Address) -> (Vec<(u64, u64, bool)>, Result<()>) {
        let mut extents = Extents::new(&self.context);
        let result = extents.object(address);
        let place = |at: Address| self.context.offset(at);
        let found = extents.into_found().into_iter();
        (found.map(|part| (place(part.at), part.len, part.usage != Use::Metadata)).collect(), result)
    }

    /// Returns the entries of the symbol table node at `address`.
    ///
    /// # Errors
    /// Returns `Malformed` if the node cannot be read.
    pub fn symbols(&self, address: Address) -> Result<Vec<FoundSymbol>> {
        const NODE: &str = "symbol table node";
        let len = Node::size(self.context.sizes, self.context.btree_k.group_leaf)? as u64;
        let bytes = self.context.read(NODE, address, len)?;
        let node =
            locate(NODE, self.context.offset(address), &bytes, |i| Node::parse(i, self.context.sizes))?;
        let found = node.entries.into_iter().map(|entry| match entry.cache {
            Cache::SoftLink { path } => {
                FoundSymbol { name: entry.name, header: None, soft: Some(path.into()) }
            }
            _ => FoundSymbol { name: entry.name, header: entry.header, soft: None },
        });
        Ok(found.collect())
    }

    /// Returns the texts of the local heap at `heap` that begin at the given offsets. An offset outside the heap is an error, and
    /// so is one that is not the start of a text.
    ///
    /// # Errors
    /// Returns `Malformed` if the heap cannot be read.
    pub fn names(&self, heap: Address, offsets: &[u64]) -> Result<Vec<Result<Name>>> {
        let names = Names::open(&self.context, heap)?;
        Ok(offsets.iter().map(|&offset| names.get(offset).map(Name::from)).collect())
    }

    /// Reads the node at `address` of a version 1 B-tree of chunks with `rank` dimensions.
    ///
    /// # Errors
    /// Returns `Malformed` if the node cannot be read.
    pub fn chunk_node(&self, address: Address, rank: usize) -> Result<FoundNode> {
        const NODE: &str = "chunk B-tree node";
        let sizes = self.context.sizes;
        let start = self.context.read(NODE, address, Prefix::size(sizes) as u64)?;
        let prefix = locate(NODE, self.context.offset(address), &start, |i| ChunkNode::prefix(i, sizes))?;
        let len = ChunkNode::size(sizes, prefix.entries.into(), rank)? as u64;
        let (node, place) =
            self.context.parse(NODE, address, len, |i| ChunkNode::parse_placed(i, sizes, rank))?;
        let pairs = || node.children.iter().zip(&node.keys).filter_map(|(at, key)| Some(((*at)?, key)));
        let chunks = pairs().map(|(address, key)| StoredChunk {
            scaled: key.offsets.clone(),
            address,
            size: key.size.into(),
            filter_mask: key.filter_mask,
        });
        Ok(FoundNode {
            level: node.level,
            siblings: [place.left, place.right],
            chunks: if node.level == 0 { chunks.collect() } else { Vec::new() },
            children: if node.level == 0 { Vec::new() } else { pairs().map(|(at, _)| at).collect() },
        })
    }

    /// Returns the number of bytes from `address` to the end of the file.
    pub fn available(&self, address: Address) -> u64 {
        self.context.available(address)
    }

    /// Returns the absolute offset of an address.
    pub fn offset(&self, address: Address) -> u64 {
        self.context.offset(address)
    }

    /// Returns the address of an absolute offset.
    pub fn address(&self, offset: u64) -> Address {
        Address(bound::left(offset, self.context.base))
    }
}
