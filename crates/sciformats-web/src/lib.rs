//! The readers of sciformats in WebAssembly.
//!
//! A browser cannot wait for bytes in the middle of a computation. A request therefore runs until bytes are
//! missing, says which, and runs again when the caller has supplied them. Everything that was fetched for it
//! stays until it is answered, so each run gets further than the one before.
//!
//! ```text
//!  page.js ── message ──▶ worker.js ── room, call ──▶ this module
//!                            │  ▲                        │
//!                     fetch, │  │ supply                 │ 1: these ranges are missing
//!                File.slice  ▼  │  ◀─────────────────────┘ 0: the answer, 2: an error
//!                          bytes
//! ```
//!
//! | module | what it contains |
//! |---|---|
//! | [`abi`] | the exported functions |
//! | [`session`] | open files, and requests as JSON |
//! | [`store`] | the bytes of a file that the caller supplies |
//! | `beside` | the files that a file names, which the caller lends |
//!
#![doc = include_str!("../README.md")]

#[allow(unsafe_code)] // The border to JavaScript: exported names. There is no unsafe block.
pub mod abi;
mod along;
mod beside;
mod cells;
mod describe;
mod grid;
mod numbers;
pub mod session;
pub mod store;
mod thing;
mod whole;
