//! Follows a file that is being written, and prints the chunks of each new frame: `follow FILE`.
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::time::Duration;

use gsd_rs::{Error, Reader, Result};

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).ok_or_else(|| Error::usage("arguments", "are a file"))?;
    let mut reader = Reader::open(path)?;
    let mut seen = 0;
    loop {
        for frame in seen..reader.frames() {
            let names: Vec<&str> =
                reader.chunks(frame).map(|chunk| Ok(chunk?.name)).collect::<Result<_>>()?;
            println!("frame {frame}: {}", names.join(", "));
        }
        seen = reader.frames();
        std::thread::sleep(Duration::from_millis(200));
        reader.refresh()?;
    }
}
