//! Follows a file that is being written, and prints the chunks of each new frame: `follow FILE`. Without an argument, it writes a
//! file itself, and follows it to its end.
#![allow(clippy::print_stdout, reason = "printing is the purpose of the example")]

use std::path::Path;
use std::time::Duration;

use gsd_rs::{CreateOptions, Reader, Result, Version, Writer};

const FRAMES: u64 = 5;

fn main() -> Result<()> {
    if let Some(path) = std::env::args_os().nth(1) {
        return follow(Path::new(&path), u64::MAX);
    }
    let path = Path::new("followed.gsd");
    let mut writer = Writer::overwrite(path, &CreateOptions::new("follow", "walk", Version::new(1, 0)))?;
    let writing = std::thread::spawn(move || {
        for step in 0..FRAMES {
            writer.write("step", 1, &[step])?;
            writer.end_frame()?;
            writer.flush()?;
            std::thread::sleep(Duration::from_millis(50));
        }
        writer.finish().map(drop)
    });
    follow(path, FRAMES)?;
    writing.join().unwrap_or(Ok(()))
}

/// Prints the frames as they are committed, up to this number.
fn follow(path: &Path, until: u64) -> Result<()> {
    let mut reader = Reader::open(path)?;
    let mut seen = 0;
    while seen < until {
        for frame in seen..reader.frames() {
            let names: Vec<&str> =
                reader.chunks(frame).map(|chunk| Ok(chunk?.name)).collect::<Result<_>>()?;
            println!("frame {frame}: {}", names.join(", "));
        }
        seen = reader.frames();
        std::thread::sleep(Duration::from_millis(20));
        reader.refresh()?;
    }
    Ok(())
}
