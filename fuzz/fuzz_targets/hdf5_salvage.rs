//! Everything that is looked for in a damaged HDF5 file, in any bytes.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use sciformats_core::ReadAt;
use sciformats_salvage::{Options, examine_storage};

/// Heap per byte of input: an object, a link or a part of the map is described in more bytes than it has in the file.
const PER_BYTE: usize = 64;

fuzz_target!(|data: &[u8]| {
    let storage: Arc<dyn ReadAt> = Arc::new(data.to_vec());
    sciformats_fuzz::bounded(data.len() * PER_BYTE, || {
        if let Ok(found) = examine_storage(&storage, &Options::default().with_threads(1)) {
            let report = found.report();
            assert!(report.map.parts().windows(2).all(|two| two[0].1 == two[1].0));
            let _ = report.json();
        }
    });
});
