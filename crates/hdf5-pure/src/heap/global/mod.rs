//! Global heap collections, which hold elements of variable length.

mod read;
mod write;

pub(crate) use self::read::GlobalHeap;
pub(crate) use self::write::GlobalHeapWriter;
