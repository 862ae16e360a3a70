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

#[path = "support/arbitrary.rs"]
mod arbitrary;
#[path = "support/array.rs"]
mod array;
#[path = "support/counted.rs"]
mod counted;
#[path = "support/description.rs"]
mod description;
#[path = "support/exercise.rs"]
mod exercise;
#[path = "support/fixtures.rs"]
mod fixtures;
#[path = "support/random.rs"]
mod random;
#[path = "support/recorded.rs"]
mod recorded;

mod attributes;
mod chunk_cost;
mod chunk_edits;
mod chunk_places;
mod chunks;
mod commit_cost;
mod contiguous_runs;
mod create;
mod create_early;
mod derive;
mod edit;
mod edit_arbitrary;
mod edit_crash;
mod edit_data;
mod edit_data_kill;
mod edit_fixtures;
mod edit_many;
mod edit_shared;
mod edit_space;
mod edit_times;
mod examples;
mod far;
mod headers;
mod names;
mod reading;
mod refused;
mod rivals;
mod states;
mod swmr;
mod typed;
mod virtual_values;
mod write;
