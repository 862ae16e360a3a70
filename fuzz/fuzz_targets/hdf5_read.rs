//! Everything that can be asked of an HDF5 file, of any bytes.
#![no_main]

#[path = "../../crates/hdf5-pure/tests/support/exercise.rs"]
mod exercise;

use hdf5_pure::File;
use libfuzzer_sys::fuzz_target;
use sciformats_fuzz::bounded;

fuzz_target!(|data: &[u8]| {
    let bytes = data.to_vec();
    bounded(data.len(), || {
        if let Ok(file) = File::from_storage(bytes, &exercise::options()) {
            exercise::exercise(&file);
        }
    });
});
