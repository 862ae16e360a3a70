//! Everything that can be asked of a GSD file, of any bytes.
#![no_main]

#[path = "../bodies/gsd_read.rs"]
mod body;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| body::run(data));
