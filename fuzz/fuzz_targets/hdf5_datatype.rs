//! Datatype messages, of any bytes.
#![no_main]

use hdf5_pure::Datatype;
use libfuzzer_sys::fuzz_target;
use sciformats_fuzz::bounded;

fuzz_target!(|data: &[u8]| {
    // A type is a tree of small nodes: the bounds count every message as the kilobyte that its nodes may take.
    bounded(data.len() * 256, || {
        if let Ok(datatype) = Datatype::from_bytes(data) {
            assert!(datatype.size > 0);
            let _ = datatype.element_type();
        }
    });
});
