//! Fractal heaps.
//!
//! | module | what it does |
//! |---|---|
//! | `read` | gives objects by their IDs |
//! | `build` | writes a heap of all its objects at once |
//! | `edit` | adds and takes out single objects |
//! | `blocks` | the blocks of a heap that is edited |
//! | `free` | what is free in direct blocks, and the manager that tells of it |

mod blocks;
mod build;
mod edit;
mod free;
mod read;

pub(crate) use self::build::{Builder, Kind, NODE_SIZE, build};
pub(crate) use self::edit::EditedHeap;
pub(crate) use self::read::Heap;
