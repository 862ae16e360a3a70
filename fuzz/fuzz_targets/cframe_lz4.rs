//! Any bytes as a stream of lz4, and as data that it must give back.
#![no_main]

use cframe::Codec;
use libfuzzer_sys::fuzz_target;
use sciformats_fuzz::chunks;

fuzz_target!(|data: &[u8]| chunks::codec(Codec::Lz4, data));
