//! Any text that is a tree is written as a text that is the same tree.
#![no_main]

use asdf_core::{Limits, Tree};
use libfuzzer_sys::fuzz_target;
use sciformats_fuzz::bounded;

fuzz_target!(|data: &[u8]| {
    let limits = Limits::default().with_memory(1 << 20).with_items(5_000).with_depth(40);
    bounded(data.len(), || {
        let Ok(tree) = Tree::parse_at(data, 0, &limits) else { return };
        for node in tree.reachable() {
            let _ = tree.value(node);
            let _ = tree.pairs(node);
        }
        let _ = tree.deserialize::<()>(tree.root());
        let text = tree.to_text().expect("it was no deeper when it was read");
        let again = Tree::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert!(tree.is_same(&again), "{text}");
        assert_eq!(again.to_text().expect("as before"), text);
    });
});
