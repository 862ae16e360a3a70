//! Any tree that is written is read again: every link, every element, every attribute. What an editor then changes is as
//! meant, and no byte of the file belongs to two structures. The steps and the model are those of the crate's own test.
#![no_main]

#[path = "../../crates/hdf5-pure/tests/support/arbitrary.rs"]
mod arbitrary;
#[path = "../../crates/hdf5-pure/tests/support/array.rs"]
mod array;
#[path = "../../crates/hdf5-pure/tests/support/recorded.rs"]
#[allow(dead_code, reason = "room and steps are of use to tests")]
mod recorded;

use libfuzzer_sys::fuzz_target;

/// Bytes that are used: longer runs take longer and find no more.
const MOST: usize = 120;

fuzz_target!(|data: &[u8]| arbitrary::run(&data[..data.len().min(MOST)]));
