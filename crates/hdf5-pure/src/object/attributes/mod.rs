//! Attributes: messages of a header, or of a fractal heap with B-trees.

mod build;
mod dense;
mod edit;
mod list;
mod read;

pub(crate) use self::build::{
    Attribute, MAX_MESSAGE, Order, are_compact, build, compact, fit, info_message, number,
};
pub(crate) use self::edit::{Changed, Removed, datatypes, find_to_change, load, next_if_dense, parts, store};
pub(crate) use self::list::AttributeList;
pub(crate) use self::read::{Content, Found, all, find, names};
