//! Any bytes as a file that is referenced: every reference lies within the file, and references that are read again are the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sciformats::{File, Limits, OpenOptions};
use sciformats_references::{Options, kerchunk};

fuzz_target!(|data: &[u8]| {
    let limits = Limits::default().with_memory(1 << 20).with_items(1 << 10);
    let options = OpenOptions::default().with_limits(limits).with_unfolded(1 << 20).with_threads(1);
    // References of others are read too.
    let _ = kerchunk::read(data);
    let Ok(file) = File::from_storage(data.to_vec(), &options) else { return };
    for codecs in [false, true] {
        let mut options = Options::new("file:///a").with_codecs(codecs);
        options.inline = 1 << 12;
        let mut json = Vec::new();
        kerchunk::write(&file, &options, &mut json).expect("memory takes everything");
        let told: serde_json::Value = serde_json::from_slice(&json).expect("what is written is JSON");
        let refs = told.get("refs").and_then(serde_json::Value::as_object).expect("references");
        for (key, place) in refs {
            let Some(place) = place.as_array() else { continue };
            let number = |at: usize| place.get(at).and_then(serde_json::Value::as_u64).expect("a number");
            let end = number(1).checked_add(number(2)).expect("an end");
            assert!(end <= data.len() as u64, "{key} is outside of the file");
        }
        kerchunk::read(&json).expect("what is written is read");
    }
});
