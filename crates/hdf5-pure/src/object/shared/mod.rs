//! Messages that objects share: reading them, and removing them with their last use.

mod edit;
mod read;

pub(crate) use self::edit::{Part, Shares};
pub(crate) use self::read::{committed, from_table, index_of, records, resolve};
