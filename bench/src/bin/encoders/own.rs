//! The encoders that we use: zlib-rs for deflate, and our own for LZ4. These are private to their crate, so their files are
//! compiled here a second time.

use sciformats_core::{FaultKind, lz};

use super::Ours;
use super::peers::{C_LZ4, C_LZ4HC, Encode, LIBDEFLATE, LZ4_FLEX, zlib_rs};

#[allow(dead_code)]
#[path = "../../../../crates/cframe/src/codec/lz4.rs"]
mod lz4;
#[path = "../../../../crates/cframe/src/codec/lz4hc.rs"]
mod lz4hc;
#[path = "../../../../crates/cframe/src/codec/lz4mid.rs"]
mod lz4mid;

// What the files of cframe expect beside them.
type Outcome = Result<(), FaultKind>;
const CORRUPT: FaultKind = FaultKind::Rule("cannot be decoded");
fn exact(made: usize, expected: usize) -> Outcome {
    if made == expected { Ok(()) } else { Err(CORRUPT) }
}

/// An encoder of our own is worth its lines if it takes at most this share of the time of each peer.
const WINS: f64 = 0.9;
/// An encoder from another crate is good enough if it takes at most this share.
const EQUALS: f64 = 1.2;

pub(crate) const ENCODERS: &[Ours] = &[
    Ours {
        name: "deflate",
        levels: &[1, 4, 6, 9],
        goal: EQUALS,
        encoder: zlib_rs,
        peers: &[LIBDEFLATE],
        with_zlib_ng: true,
    },
    Ours {
        name: "lz4",
        levels: &[1, 5, 9],
        goal: WINS,
        encoder: fast,
        peers: &[LZ4_FLEX, C_LZ4],
        with_zlib_ng: false,
    },
    Ours {
        name: "lz4hc",
        levels: &[1, 5, 9],
        goal: WINS,
        encoder: strong,
        peers: &[LZ4_FLEX, C_LZ4HC],
        with_zlib_ng: false,
    },
];

fn fast() -> Encode {
    let mut encoder = lz4::Encoder::default();
    Box::new(move |level, chunk, out| made(encoder.encode(chunk, level as u8, false, out)))
}

/// With the levels of Blosc2, as cframe uses them.
fn strong() -> Encode {
    let mut encoders = (lz4mid::Encoder::default(), lz4hc::Encoder::default());
    Box::new(move |level, chunk, out| {
        made(if level <= 2 {
            encoders.0.encode(chunk, out)
        } else {
            encoders.1.encode(chunk, level as u8, out)
        })
    })
}

fn made(size: Option<usize>) -> harness::Outcome<usize> {
    size.ok_or_else(|| "the stream does not fit its buffer".into())
}
