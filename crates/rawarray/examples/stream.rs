//! Writes frames one after another as a stream, interrupts the writer, resumes the stream, and appends to the finished file.
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
    drop(stream); // the program ends here unexpectedly

    if let Err(error) = Reader::open("frames.ra") {
        println!("{error}");
    }
    let mut stream = StreamWriter::resume("frames.ra")?;
    println!("{} frames are there", stream.rows());
    stream.write(&frame(10))?;
    stream.finish()?;

    // Rows are appended after the file was finished.
    let mut editor = Editor::open("frames.ra")?;
    editor.append(&frame(11))?;
    editor.set_metadata(b"camera 3")?;
    println!("{:?}", Reader::open("frames.ra")?.dims());
    Ok(())
}
