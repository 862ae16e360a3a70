//! Prints what is in a GSD file: `info FILE`.
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use gsd_rs::{Error, Reader, Result};

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).ok_or_else(|| Error::usage("arguments", "are a file"))?;
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
