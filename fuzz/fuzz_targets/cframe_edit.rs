//! A frame of any bytes is changed where that is possible; what is written then opens, and holds the change.
#![no_main]

use cframe::{Limits, OpenOptions, SChunk};
use libfuzzer_sys::fuzz_target;
use sciformats_fuzz::bounded;

/// Larger elements would only take memory of this target's own.
const LARGEST: u32 = 1 << 16;

fuzz_target!(|data: &[u8]| {
    let limits = Limits::default().with_memory(2 << 20).with_items(1 << 12);
    let options = OpenOptions::default().with_limits(limits).with_threads(1);
    let file = data.to_vec();
    bounded(8 * data.len(), || edit(file, &options));
});

fn edit(file: Vec<u8>, options: &OpenOptions) {
    let Ok(mut schunk) = SChunk::from_bytes_with(file, options) else { return };
    if schunk.typesize() > LARGEST {
        return;
    }
    let before = schunk.chunks();
    let element = vec![7; schunk.typesize() as usize];
    let appended = schunk.append(&element).is_ok();
    let removed = before > 0 && schunk.remove(0).is_ok();
    let named = schunk.set_vlmeta("fuzz", b"value").is_ok();
    let Ok(bytes) = schunk.to_bytes() else { return };
    let again = SChunk::from_bytes_with(bytes, options).expect("what was written can be opened");
    assert_eq!(again.chunks(), before + u64::from(appended) - u64::from(removed));
    if named {
        assert_eq!(again.vlmeta("fuzz").expect("it was set"), b"value");
    }
}
