//! The integration tests, in one program, because each program is linked with everything.
//! Those that need a program of their own, for its memory or for its features, are beside it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

#[path = "common/mod.rs"]
mod common;

mod crash;
mod examples;
mod fixtures;
mod hoomd;
mod kill;
mod rivals;
mod tail;
mod typed;
