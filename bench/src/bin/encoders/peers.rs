//! The encoders of other libraries, each as a function from a level and a chunk to the number of bytes of its stream.

use flate2::{Compress, Compression, FlushCompress, Status};
use harness::Outcome;
use libdeflater::{CompressionLvl, Compressor};
use lz4::block::CompressionMode;

/// Encodes a chunk at a level into the front of a buffer. Returns the number of bytes.
pub(crate) type Encode = Box<dyn FnMut(u32, &[u8], &mut [u8]) -> Outcome<usize> + Send>;

/// An encoder and its levels, the weakest one first.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    pub(crate) levels: &'static [u32],
    pub(crate) encoder: fn() -> Encode,
}

pub(crate) const LIBDEFLATE: Peer = Peer {
    name: "libdeflater 1.26.1 (C)",
    levels: &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
    encoder: libdeflate,
};
pub(crate) const LZ4_FLEX: Peer = Peer { name: "lz4_flex 0.14.0", levels: &[1], encoder: lz4_flex };
/// Of the fast compressor, each level is an acceleration.
pub(crate) const C_LZ4: Peer =
    Peer { name: "lz4 1.28.1 (C)", levels: &[9, 8, 7, 6, 5, 4, 3, 2, 1], encoder: c_lz4 };
pub(crate) const C_LZ4HC: Peer =
    Peer { name: "lz4 1.28.1 (C)", levels: &[2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], encoder: c_lz4hc };

pub(crate) fn zlib_rs() -> Encode {
    Box::new(|level, chunk, out| {
        let mut encoder = Compress::new(Compression::new(level), true);
        match encoder.compress(chunk, out, FlushCompress::Finish)? {
            Status::StreamEnd => Ok(usize::try_from(encoder.total_out())?),
            status => Err(format!("{status:?}").into()),
        }
    })
}

fn libdeflate() -> Encode {
    Box::new(|level, chunk, out| {
        let level = CompressionLvl::new(level as i32).map_err(|error| format!("{error:?}"))?;
        Ok(Compressor::new(level).zlib_compress(chunk, out)?)
    })
}

fn lz4_flex() -> Encode {
    Box::new(|_, chunk, out| Ok(lz4_flex::block::compress_into(chunk, out)?))
}

fn c_lz4() -> Encode {
    c_block(CompressionMode::FAST)
}

fn c_lz4hc() -> Encode {
    c_block(CompressionMode::HIGHCOMPRESSION)
}

fn c_block(mode: fn(i32) -> CompressionMode) -> Encode {
    Box::new(move |level, chunk, out| {
        Ok(lz4::block::compress_to_buffer(chunk, Some(mode(level as i32)), false, out)?)
    })
}
