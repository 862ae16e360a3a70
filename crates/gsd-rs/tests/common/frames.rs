//! Frames whose contents follow from their number.
#![allow(dead_code, reason = "the examples only write them")]

use gsd_rs::{Result, Writer};
use sciformats_core::{ReadAt, WriteAt};

/// Returns the number of chunks in a frame: 1 to 9, so that frames end at positions of all kinds.
pub(crate) fn chunks_in(frame: u64) -> u64 {
    1 + frame * 7 % 9
}

/// Returns the name of a frame's chunk. Ids are assigned in the order of first use, so the ids in a frame are not ascending.
pub(crate) fn name(frame: u64, chunk: u64) -> String {
    format!("chunk/{}", (chunk * 5 + frame) % 9)
}

/// Returns the values of a chunk: 0 to 4 rows with 2 columns.
pub(crate) fn values(frame: u64, chunk: u64) -> Vec<u32> {
    (0..(frame + chunk) % 5 * 2).map(|i| (frame * 1000 + chunk * 10 + i) as u32).collect()
}

pub(crate) fn write_frame<S: ReadAt + WriteAt>(writer: &mut Writer<S>) -> Result<()> {
    let frame = writer.frames();
    for chunk in 0..chunks_in(frame) {
        writer.write(&name(frame, chunk), 2, &values(frame, chunk))?;
    }
    writer.end_frame()
}
