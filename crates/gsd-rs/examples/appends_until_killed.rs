//! Appends frames until the process is killed, and prints the number of committed frames after each flush:
//! `appends_until_killed FILE`.
//!
//! `tests/kill.rs` starts and kills it.

#[path = "../tests/common/frames.rs"]
mod frames;

use std::io::Write;

use frames::write_frame;
use gsd_rs::storage::Durability;
use gsd_rs::{Error, Result, Writer};

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).ok_or_else(|| Error::usage("arguments", "must name a file"))?;
    let mut writer = Writer::append_to(&path)?;
    writer.set_durability(Durability::Process);
    writer.set_buffer(256);
    let mut out = std::io::stdout();
    for round in 0.. {
        for _ in 0..=round % 3 {
            write_frame(&mut writer)?;
        }
        writer.flush()?;
        writeln!(out, "committed {}", writer.committed()).map_err(|error| Error::io("print", error))?;
        if round % 50 == 49 {
            // Closing and opening a file can be interrupted too.
            drop(writer);
            writer = Writer::append_to(&path)?;
        }
    }
    Ok(())
}
