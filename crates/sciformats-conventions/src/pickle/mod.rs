//! Reads lists of names that Python programs store as pickles, without running them.
//!
//! Source: the module `pickletools` of Python, which documents the arguments of each opcode. Here, opcodes
//! for data build data. Opcodes that name a class or call it are only recorded; nothing is looked up and
//! nothing is called.

mod arrays;
mod names;
mod objects;
mod opcodes;
mod periods;

use std::sync::Arc;

pub(crate) use self::arrays::{each_element, elements, sides};
pub(crate) use self::names::{label, name, names};
pub(crate) use self::opcodes::parse;
pub(crate) use self::periods::{period, period_of_type};

/// The contents of a pickle.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    /// `None`.
    Nothing,
    /// A text.
    Text(String),
    /// Bytes, which may form a text.
    Bytes(Vec<u8>),
    /// A truth value.
    Truth(bool),
    /// A floating-point number.
    Number(f64),
    /// An integer.
    Whole(i128),
    /// A list, a tuple, or the alternating keys and values of a dictionary.
    List(Vec<Arc<Item>>),
    /// An object of the class with this name: the arguments of its call, and its state.
    Object(String, Vec<Arc<Item>>),
    /// The start of a list.
    Mark,
}

impl Drop for Item {
    /// Drops what is nested in it one after another: items that are nested deeply would use up the stack otherwise.
    fn drop(&mut self) {
        let mut rest = Vec::new();
        if let Self::List(items) | Self::Object(_, items) = self {
            rest.append(items);
        }
        while let Some(item) = rest.pop() {
            if let Some(Self::List(items) | Self::Object(_, items)) = Arc::into_inner(item).as_mut() {
                rest.append(items);
            }
        }
    }
}

#[cfg(test)]
mod tests;
