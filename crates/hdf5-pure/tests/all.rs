//! The integration tests, in one program, because each program is linked with everything.
//! Those that need a program of their own, for its memory or for its features, are beside it.

mod attributes;
mod chunk_cost;
mod chunk_edits;
mod chunk_places;
mod chunks;
mod commit_cost;
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
mod examples;
mod far;
mod headers;
mod reading;
mod refused;
mod rivals;
mod states;
mod swmr;
mod typed;
mod write;
