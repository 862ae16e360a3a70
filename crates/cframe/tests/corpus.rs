//! Chunks written by Blosc 1.3 to 2.0 decode to the size and hash that their writer recorded.
//!
//! The files are no part of the project; `SCIFORMATS_CORPUS` names the folder that holds them, and without it there
//! is nothing to test.

use std::path::PathBuf;

use sha2::{Digest, Sha256};

/// Two chunks of the same data whose last three bytes are no whole element. Blosc 1.18 stored these bytes; the library
/// that recorded the hashes does not copy them, so its hashes are over whatever its memory held, and differ. Read as
/// stored, both chunks end in the same bytes.
const TAIL_NOT_RECORDED: [&str; 2] =
    ["blosc-1.18.0-lz4-bitshuffle4-memcpy.cdata", "blosc-1.18.0-lz4-bitshuffle8-nomemcpy.cdata"];
const WITH_TAIL: &str = "b35f8458fb0c5ba0236a02cdec4bb4a41c547823aa306e0f5a5346196d4f5aca";

#[test]
#[ignore = "needs the corpus: set SCIFORMATS_CORPUS and run with --ignored"]
fn every_chunk_of_the_corpus_decodes() {
    let folder = PathBuf::from(std::env::var("SCIFORMATS_CORPUS").unwrap()).join("blosc2");
    let expected: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.join("expected.json")).unwrap()).unwrap();
    let expected = expected.as_object().unwrap();
    assert!(!expected.is_empty());
    for (name, facts) in expected {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let chunk = cframe::Chunk::new(&bytes).unwrap();
        let out = chunk.decode().unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(out.len() as u64, facts["nbytes"].as_u64().unwrap(), "{name}");
        let hash: String = Sha256::digest(&out).iter().map(|byte| format!("{byte:02x}")).collect();
        let recorded = facts["sha256"].as_str().unwrap();
        let right = if TAIL_NOT_RECORDED.contains(&name.as_str()) { WITH_TAIL } else { recorded };
        assert_eq!(hash, right, "{name}");
        let mut middle = vec![0; 1001];
        chunk.read_into(70_003, &mut middle).unwrap();
        assert!(middle == out[70_003..71_004], "{name}: a part");
    }
}
