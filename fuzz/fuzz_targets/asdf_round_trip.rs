//! A file that can be read is, written again, the same file; and so it is after blocks are dropped or compressed anew.
#![no_main]

use asdf_core::{Asdf, Compression, Document, Limits, OpenOptions};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let limits = Limits::default().with_memory(1 << 20).with_items(5_000).with_depth(40);
    let options = OpenOptions::default().with_limits(limits).with_threads(1);
    let Ok(file) = Asdf::from_storage(data.to_vec(), &options) else { return };
    // Another style may take another level or another node.
    let options = options.with_limits(limits.with_items(20_000).with_depth(100));
    let open = |bytes: &[u8]| Asdf::from_storage(bytes.to_vec(), &options);
    let before = meaning(&file);
    let mut document = Document::from_file(file);
    document.options_mut().threads = 1;
    let Ok(written) = document.to_bytes() else { return };
    let again = open(&written).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(meaning(&again), before);
    assert!(again.tree().is_same(document.tree()));

    if let Ok(Some(steps)) = document.update_steps() {
        let mut changed = data.to_vec();
        if open(data).is_ok_and(|file| file.layout().len == data.len() as u64) {
            sciformats_core::commit::apply(&steps, &mut changed).expect("memory does not fail");
            assert_eq!(meaning(&open(&changed).unwrap_or_else(|e| panic!("{e}"))), before);
        }
    }
    document.recompress(Compression::Lz4, None).expect("no level is asked for");
    if let Ok(packed) = document.to_bytes() {
        assert_eq!(meaning(&open(&packed).unwrap_or_else(|e| panic!("{e}"))), before);
    }
    document.drop_unused_blocks();
    document.to_bytes().ok().map(|bytes| open(&bytes).unwrap_or_else(|e| panic!("{e}")));
});

/// The tree and the data of all blocks that can be decoded.
fn meaning(file: &Asdf) -> (String, Vec<Option<Vec<u8>>>) {
    let blocks = file.blocks().map(|block| block.data().ok().map(|data| data.into_owned())).collect();
    (file.tree().to_text().expect("it was no deeper when it was read"), blocks)
}
