//! The text of the tree: a lossless reader and writer of YAML 1.1.
//!
//! ASDF prescribes YAML 1.1, and existing files have the meaning that PyYAML gives them: `017` is fifteen, `1:30` is ninety,
//! `1e5` is a string, and `no` is false. This crate has its own parser because the format depends on this meaning, on shared and
//! cyclic nodes, on tags as they are written, on exact positions, and on limits of depth and size. Parsers of YAML 1.2 resolve
//! other types, and most of them replace aliases by copies. The parser is a cursor over lines and not a column of nom's
//! combinators, because the meaning of a byte depends on the indentation of earlier lines, and because an error reports the line
//! and the column.
//!
//! | module | what it contains |
//! |---|---|
//! | [`tree`], `mapping`, `keys`, `walk` | [`Tree`]: nodes in an arena, in which aliases are shared ids |
//! | `cursor`, `parse`, `properties`, `flow`, `scalar` | parsing text into nodes, in one pass |
//! | [`emit`], `anchors` | writing nodes as text |
//! | [`resolve`] | the meaning of a scalar |
//! | [`path`] | paths such as `a/b/0`, similar to JSON pointers |
//! | `de`, `ser`, `value` | conversion between a subtree and any serde type, or `serde_yaml::Value` |

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
mod node;
pub(crate) mod parse;
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
pub use node::{CollectionStyle, Content, Node, NodeId, ScalarStyle};
pub use resolve::Value;
pub use timestamp::Timestamp;
pub use tree::Tree;

/// The prefix of YAML's own tags, for which `!!` stands.
pub const YAML_PREFIX: &str = "tag:yaml.org,2002:";
/// The prefix of the standard's tags, for which `!` stands in its files.
pub const ASDF_PREFIX: &str = "tag:stsci.edu:asdf/";
