//! Any bytes as client data values and chunks of the filters of `sciformats-filters`.
#![no_main]

use libfuzzer_sys::fuzz_target;

/// The largest result in bytes.
const MAX: usize = 1 << 16;

// The first byte selects the filter, the second the number of client data values.
fuzz_target!(|data: &[u8]| {
    let [filter, count, rest @ ..] = data else { return };
    let all = sciformats_filters::all();
    let Some(filter) = all.get(usize::from(*filter) % all.len()) else { return };
    let (values, input) = rest.split_at(rest.len().min(usize::from(*count % 16) * 4));
    let values: Vec<u32> = values.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    sciformats_fuzz::bounded(data.len() + MAX, || {
        let decoded = filter.decode(&values, input, MAX);
        assert!(decoded.map_or(0, |decoded| decoded.len()) <= MAX);
    });
});
