//! The bytes of Blosc2, with one file per structure that contains both `parse` and `encode`. These are pure functions without a
//! storage.
//!
//! | structure | byte order | where |
//! |---|---|---|
//! | [`chunk_header`] | little | start of every chunk |
//! | [`block_starts`], [`stream`] | little | body of a chunk |
//! | [`frame_header`], [`metalayers`] | big (`MessagePack`) | start of a frame |
//! | [`offset`] | little | content of the offsets chunk |
//! | [`trailer`] | big (`MessagePack`) | end of a frame |
//! | [`b2nd`] | big (`MessagePack`) | the metalayer `b2nd` |
//! | [`type_text`] | text | the type of elements in `b2nd` |
//! | [`value`] | big (`MessagePack`) | metalayers that Python programs write |
//! | [`lock_file`] | little | a file beside a frame |
#![warn(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]
#![cfg_attr(
    test,
    allow(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_possible_wrap
    )
)]

pub(crate) mod b2nd;
pub(crate) mod block_starts;
pub(crate) mod chunk_header;
pub(crate) mod frame_header;
pub(crate) mod lock_file;
pub(crate) mod marker;
pub(crate) mod metalayers;
pub(crate) mod msgpack;
pub(crate) mod offset;
pub(crate) mod pipeline;
pub(crate) mod stream;
pub(crate) mod trailer;
pub(crate) mod type_text;
pub(crate) mod value;
