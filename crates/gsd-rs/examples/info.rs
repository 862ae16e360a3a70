//! Prints what is in a GSD file (`info FILE`), or without an argument, in one of the fixtures.
#![allow(clippy::print_stdout, reason = "printing is the purpose of the example")]

use gsd_rs::{Reader, Result};

fn main() -> Result<()> {
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/gsd/hoomd-log.gsd");
    let path = std::env::args_os().nth(1).unwrap_or_else(|| fixture.into());
    let reader = Reader::open(path)?;
    let header = reader.header();
    println!("layer {}, schema {} {}", header.version, header.schema, header.schema_version);
    println!("written by {}", header.application);
    println!("{} frames, {} chunks, {} names", reader.frames(), reader.entries(), reader.names().len());
    println!("{} of {} bytes are unused", reader.space()?.unused(), reader.space()?.file);
    for chunk in reader.chunks(0) {
        let chunk = chunk?;
        println!("frame 0: {} {} {} × {}", chunk.name, chunk.element, chunk.n, chunk.m);
    }
    Ok(())
}
