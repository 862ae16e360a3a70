//! Frames that come one after another: streamed, the writer interrupted, and the rest appended.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use rawarray::{Editor, Reader, Result, StreamWriter, WriteOptions};

const FRAME: [u64; 2] = [320, 240];

fn frame(i: u16) -> Vec<u16> {
    vec![i; 320 * 240]
}

fn main() -> Result<()> {
    let mut stream = StreamWriter::create::<u16>("frames.ra", &FRAME, &WriteOptions::default())?;
    for i in 0..10 {
        stream.write(&frame(i))?;
    }
    stream.sync()?;
    drop(stream); // the program ends here, for whatever reason

    if let Err(error) = Reader::open("frames.ra") {
        println!("{error}");
    }
    let mut stream = StreamWriter::resume("frames.ra")?;
    println!("{} frames are there", stream.rows());
    stream.write(&frame(10))?;
    stream.finish()?;

    // Later, when the file is finished.
    let mut editor = Editor::open("frames.ra")?;
    editor.append(&frame(11))?;
    editor.set_metadata(b"camera 3")?;
    println!("{:?}", Reader::open("frames.ra")?.dims());
    Ok(())
}
