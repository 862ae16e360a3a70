//! Fractal heaps.
//!
//! | module | purpose |
//! |---|---|
//! | `read` | returns objects by their heap IDs |
//! | `build` | writes a heap from all its objects |
//! | `edit` | adds and removes single objects |
//! | `blocks` | the blocks of a heap that is being edited |
//! | `free` | the free parts of direct blocks, and the manager that lists them |

mod blocks;
mod build;
mod edit;
mod free;
mod read;

pub(crate) use self::build::{Builder, Kind, NODE_SIZE, build};
pub(crate) use self::edit::EditedHeap;
pub(crate) use self::read::Heap;
