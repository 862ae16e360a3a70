//! The integration tests, in one program, because each program is linked with everything.

mod deviations;
mod edit;
mod examples;
mod fixtures;
mod numbers;
mod repack;
mod rescue;
mod rivals;
mod tails;
mod typed;
mod unfolding;
