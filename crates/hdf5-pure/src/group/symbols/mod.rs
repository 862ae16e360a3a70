//! Old-style groups: a version 1 B-tree of symbol table nodes, and names in a local heap.

mod build;
mod edit;
mod read;

pub(crate) use self::build::{Plan, build};
pub(crate) use self::edit::{EditedTable, estimate};
pub(crate) use self::read::{find, visit};
