//! The tree as text: a lossless YAML 1.1 reader and writer.
//!
//! ASDF prescribes YAML 1.1, and the files in the world mean by it what PyYAML reads: `017` is fifteen, `1:30` ninety,
//! `1e5` a string, `no` false. The parser here is the crate's own because that meaning, shared and cyclic nodes, tags as
//! written, exact positions, and bounds on depth and size are the point of the format; parsers of YAML 1.2 resolve other
//! types, and most resolve aliases away. It is a cursor over lines and no column of nom's combinators: what a byte means
//! depends on the indentation of the lines before it, and a fault tells line and column.
//!
//! | module | what it holds |
//! |---|---|
//! | [`tree`], `mapping`, `keys`, `walk` | [`Tree`]: nodes in an arena, aliases as shared ids |
//! | `cursor`, `parse`, `properties`, `flow`, `scalar` | text to nodes, in one pass |
//! | [`emit`], `anchors` | nodes to text |
//! | [`resolve`] | what a scalar means |
//! | [`path`] | `a/b/0`, as in JSON pointers |
//! | `de`, `ser`, `value` | any serde type from and to a subtree, `serde_yaml::Value` |

#![warn(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]

mod anchors;
mod arena;
mod cursor;
mod de;
pub(crate) mod edits;
pub mod emit;
mod entries;
mod flow;
pub mod integer;
mod keys;
mod mapping;
mod parse;
pub mod path;
mod properties;
pub mod resolve;
mod scalar;
mod ser;
mod simple;
pub mod timestamp;
pub mod tree;
#[cfg(feature = "serde_yaml")]
mod value;
mod walk;

pub use integer::Integer;
pub use resolve::Value;
pub use timestamp::Timestamp;
pub use tree::{CollectionStyle, Content, Node, NodeId, ScalarStyle, Tree};

/// The prefix of YAML's own tags, which `!!` stands for.
pub const YAML_PREFIX: &str = "tag:yaml.org,2002:";
/// The prefix of the standard's tags, which `!` stands for in its files.
pub const ASDF_PREFIX: &str = "tag:stsci.edu:asdf/";
