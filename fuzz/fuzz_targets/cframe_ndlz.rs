//! Any bytes as a stream of ndlz, which is only read.
#![no_main]

use cframe::Codec;
use libfuzzer_sys::fuzz_target;
use sciformats_fuzz::chunks;

fuzz_target!(|data: &[u8]| chunks::codec(Codec::NdLz, data));
