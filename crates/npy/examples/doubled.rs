//! Appends a copy of all elements to an array, and overwrites the first row with the last: `doubled FILE`.
//!
//! It works with elements of any type, because it handles them as bytes. An array in Fortran order grows along its last dimension.
#![allow(clippy::print_stdout, reason = "printing is the purpose of the example")]

use npy::{Editor, Error, Reader, Result};

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).ok_or_else(|| Error::usage("arguments", "must name a file"))?;
    let reader = Reader::open(&path)?;
    let (first, last) = if reader.header().fortran_order { ("..., 0", "..., -1") } else { ("0", "-1") };
    let (all, last) = (reader.read_slice_bytes(..)?, reader.read_slice_bytes(last)?);
    drop(reader);

    let mut editor = Editor::open(&path)?;
    editor.write_slice_bytes(first, &last)?;
    editor.append_bytes(&all)?;
    println!("{:?}", editor.shape());
    Ok(())
}
