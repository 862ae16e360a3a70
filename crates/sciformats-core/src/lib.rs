//! The common basis of the `sciformats` format crates. It does not depend on any format.
//!
//! | module | what it contains |
//! |---|---|
//! | [`storage`] | [`ReadAt`] and [`WriteAt`]: positioned, cursor-free access to memory, files, maps, windows and overlays |
//! | [`fault`] | faults in bytes: nom parsers whose errors contain the name of a field and a position |
//! | [`error`] | one [`Error`] for all crates, with variants for the different causes |
//! | [`foreign`] | what a file is that a reader refuses, told by its first bytes |
//! | [`limits`] | limits that are checked before a declared size determines an allocation |
//! | [`literal`] | Python literals, in which NumPy writes types and shapes |
//! | [`slab`] | hyperslabs: selections of an n-dimensional array and the contiguous runs they consist of |
//! | [`select`] | selections in the notation of people: `(.., 3.., 0..=9, 5)` |
//! | [`endian`] | byte order of packed elements |
//! | [`number`] | reading of numbers as another type than the stored one: the rule of all typed reads |
//! | [`misfit`] | values that a type cannot hold |
//! | [`spelling`] | finds names that are similar to a misspelt one |
//! | [`external`] | decides which of the files that a file names may be opened |
//! | [`inflate`] | a decoder of deflate: for WebAssembly, and for streams that are mostly the same over and over |
//! | [`lz`] | copies of bytes that were decoded before, for all codecs of the family LZ77 |
//! | [`lz4`] | a decoder of LZ4 blocks |
//! | [`name`] | bytes of names |
//! | [`nd`] | arrays in memory as views and arrays of `ndarray` |
//! | [`order`] | sorting with little code, for WebAssembly |
//! | [`arith`] | exact arithmetic for what goes into a file, which otherwise returns an [`Error::Internal`] |
//! | [`bound`] | arithmetic for numbers that are only bounds, which stops at the limit of the type |
//! | [`commit`] | one writer's [`Session`](commit::Session) with a file; commits as plans, whose [`Step`]s are computed purely and then applied; a journal; crash replay |
//!
//! A format crate parses with the types of [`fault`], turns faults into errors where it knows the absolute
//! offset, reads through [`ReadAt`], and writes by planning [`Step`]s:
//!
//! ```
//! use sciformats_core::fault::{field, locate, Parsed};
//! use nom::number::complete::{le_u16, le_u32};
//!
//! /// A made-up structure: a version and a count.
//! fn header(i: &[u8]) -> Parsed<'_, (u16, u32)> {
//!     let (i, version) = field("version", le_u16)(i)?;
//!     let (i, count) = field("count", le_u32)(i)?;
//!     Ok((i, (version, count)))
//! }
//!
//! // The structure stands at offset 0x1000 of some file, which ends too early.
//! let error = locate("header", 0x1000, &[1, 0, 9], header).unwrap_err();
//! assert_eq!(error.to_string(), "malformed header at offset 0x1002: count is truncated");
//! ```
//!
#![doc = include_str!("../README.md")]

pub mod arith;
pub mod bound;
pub mod commit;
pub mod endian;
pub mod error;
pub mod external;
pub mod fault;
pub mod foreign;
pub mod inflate;
pub mod limits;
pub mod literal;
pub mod lz;
pub mod lz4;
pub mod misfit;
pub mod name;
#[cfg(feature = "ndarray")]
pub mod nd;
pub mod number;
pub mod order;
pub mod select;
pub mod slab;
pub mod spelling;
pub mod storage;

pub use commit::Step;
pub use error::{Blame, Clash, Error, Result};
pub use external::External;
pub use fault::{Fault, FaultKind};
pub use foreign::Foreign;
pub use limits::Limits;
pub use misfit::Misfit;
pub use number::Conversion;
pub use select::{Ellipsis, IntoSelection, by};
pub use slab::{Range, Slab};
pub use storage::{ReadAt, WriteAt};
