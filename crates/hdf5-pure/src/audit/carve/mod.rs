//! Recognises structures at any place of a file, whether or not something leads to them, and makes the structures that lay a damaged
//! object over the file anew.

mod arrays;
mod header;
mod indexes;
mod loose;
mod rebuild;
mod recognise;

pub use self::arrays::IndexedDataset;
pub use self::header::{FoundHeader, FoundMessage};
pub use self::indexes::LooseIndex;
pub use self::loose::{LooseBytes, LooseNode};
pub use self::recognise::Carved;

use std::sync::atomic::{AtomicU64, Ordering};
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
use crate::spec::btree_v1::{BtreeK, ChunkKey, ChunkNode, Prefix};
use crate::spec::message::link::Link;
use crate::spec::superblock::Superblock;
use crate::spec::symbol_table::{Cache, Node};
use crate::spec::{self, Address, Name, Sizes};

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
    /// The bytes that may still be read to recognise structures.
    budget: AtomicU64,
}

/// The bytes that may be read to recognise structures: this many for each byte of the file, and [`BUDGET`] more. Without a bound,
/// overlapping structures that declare large sizes would take time that grows with the square of the size of the file.
const PER_BYTE: u64 = 32;
const BUDGET: u64 = 64 << 20;

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
        let budget = AtomicU64::new(bound::sum(BUDGET, bound::product(PER_BYTE, storage.size())));
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
        Self { context, budget }
    }

    /// Returns the offset of the superblock, and the superblock.
    ///
    /// # Errors
    /// Returns `Malformed` if there is none at 0, 512, 1024 and so on, or if it cannot be read.
    pub fn find_superblock(storage: &dyn ReadAt) -> Result<(u64, Superblock)> {
        superblock(storage)
    }

    /// Returns the structure at `address`, or `None` if none begins there. The whole structure must lie in the file and obey the
    /// rules of the format. A structure with a checksum must have the right one. Large structures are no longer recognised when many
    /// times the bytes of the file were read for this, which only happens if structures overlap.
    pub fn recognise(&self, address: Address) -> Option<Carved> {
        recognise::at(&self.context, address, &mut |len| self.spend(len))
    }

    /// Takes bytes from the budget. Returns whether it has so many.
    fn spend(&self, len: u64) -> bool {
        self.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(len)).is_ok()
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

    /// Reads the entries of a node at `address` of a version 1 B-tree of chunks one by one, whether or not the fields before them can
    /// be read. Entries that were overwritten with zeros are left out. Without the number of entries, the first one that cannot be
    /// an entry after one that can ends the node, because old entries may follow.
    pub fn chunk_entries(&self, address: Address, rank: usize) -> Vec<StoredChunk> {
        const NODE: &str = "chunk B-tree node";
        let sizes = self.context.sizes;
        let most = bound::product(2, u64::from(self.context.btree_k.chunk));
        let start = Prefix::size(sizes) as u64;
        let prefix = self.context.parse(NODE, address, start, |i| ChunkNode::prefix(i, sizes));
        let count = prefix.as_ref().map_or(most, |prefix| u64::from(prefix.entries).min(most));
        let known = prefix.is_ok();
        let len = bound::sum(bound::product(rank as u64, 8), bound::sum(16, sizes.bytes(1, 0, 0) as u64));
        let mut found: Vec<StoredChunk> = Vec::new();
        for i in 0..count {
            let at = Address(bound::sum(address.0, bound::sum(start, bound::product(i, len))));
            let entry = self.context.parse(NODE, at, len, |i| {
                let (i, key) = ChunkKey::parse(i, rank)?;
                let (i, child) = spec::address(sizes)(i)?;
                Ok((i, (key, child)))
            });
            let Ok((key, Some(child))) = entry else { break };
            let ascends = found.last().is_none_or(|last| last.scaled < key.offsets);
            if key.size == 0 || key.byte != 0 || child.0 == 0 || !ascends {
                if !known && !found.is_empty() {
                    break;
                }
                continue;
            }
            found.push(StoredChunk {
                scaled: key.offsets,
                address: child,
                size: key.size.into(),
                filter_mask: key.filter_mask,
            });
        }
        found
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
