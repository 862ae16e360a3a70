//! Any tree that is written is read again, and what an editor then changes is as meant.
#![no_main]

#[path = "../../crates/hdf5-pure/tests/support/arbitrary.rs"]
mod arbitrary;
#[path = "../../crates/hdf5-pure/tests/support/array.rs"]
mod array;
#[path = "../bodies/hdf5_round_trip.rs"]
mod body;
#[path = "../../crates/hdf5-pure/tests/support/recorded.rs"]
#[allow(dead_code, reason = "room and steps are of use to tests")]
mod recorded;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| body::run(data));
