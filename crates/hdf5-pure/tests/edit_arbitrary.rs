//! Takes arbitrary steps. The file must have the same contents as a model, and no byte of it may belong to two structures.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "a test fails by panicking"
)]

use crate::arbitrary;

#[test]
fn arbitrary_steps_leave_what_was_meant_and_nothing_belongs_to_two() {
    let mut random = 0x9E37_79B9_7F4A_7C15u64;
    for bound in 0..5 {
        for _ in 0..30 {
            let mut steps = vec![bound];
            for _ in 0..100 {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                steps.extend(random.to_le_bytes());
            }
            arbitrary::run(&steps);
        }
    }
}
