//! Each filter, and pipelines of them, on any bytes.
#![no_main]

use hdf5_pure::filters::Registry;
use hdf5_pure::structure::{FilterDescription, Pipeline};
use libfuzzer_sys::fuzz_target;
use sciformats_fuzz::bounded;

const FILTERS: [u16; 13] = [1, 2, 3, 4, 5, 6, 307, 32000, 32001, 32004, 32008, 32015, 32026];

/// The first byte says how many filters; each takes an identification and up to eight parameters.
fn pipeline(data: &[u8]) -> Option<(Pipeline, &[u8])> {
    let (&count, mut rest) = data.split_first()?;
    let mut filters = Vec::new();
    for _ in 0..1 + count % 3 {
        let (&[id, n], after) = rest.split_first_chunk::<2>()?;
        let (values, after) = after.split_at_checked(usize::from(n % 24) * 2)?;
        let values = values.chunks(2).map(|pair| u32::from(pair[0]) | u32::from(pair[1]) << 8).collect();
        filters.push(FilterDescription {
            id: FILTERS[usize::from(id) % FILTERS.len()],
            name: None,
            optional: false,
            values,
        });
        rest = after;
    }
    Some((Pipeline { filters }, rest))
}

fuzz_target!(|data: &[u8]| {
    let Some((pipeline, bytes)) = pipeline(data) else { return };
    bounded(data.len(), || {
        for len in [0, 1, 1000, 1 << 16] {
            if let Ok(decoded) = Registry::default().undo(&pipeline, 0, bytes, len) {
                assert_eq!(decoded.len(), len);
            }
        }
    });
});
