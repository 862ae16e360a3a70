//! Appends a copy of all elements to an array, and overwrites the first row with the last: `doubled FILE`.
//!
//! It works with elements of any type, because it handles them as bytes. An array in Fortran order grows along its last dimension.
#![allow(clippy::print_stdout, reason = "printing is the purpose of the example")]

use npy::{Editor, Error, Range, Reader, Result, Slab};

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).ok_or_else(|| Error::usage("arguments", "must name a file"))?;
    let reader = Reader::open(&path)?;
    let shape = reader.shape().to_vec();
    let all = reader.read_slab_bytes(&Slab::all(&shape)?)?;
    let axis = if reader.header().fortran_order { shape.len().saturating_sub(1) } else { 0 };
    let row = |at: u64| {
        let part = |(number, &length)| if number == axis { Range::new(at, 1) } else { Range::all(length) };
        Slab::new(&shape, shape.iter().enumerate().map(part).collect::<Vec<_>>())
    };
    let last = shape.get(axis).and_then(|length| length.checked_sub(1));
    let last = last.ok_or_else(|| Error::usage("array", "has no rows"))?;
    let last = reader.read_slab_bytes(&row(last)?)?;
    drop(reader);

    let mut editor = Editor::open(&path)?;
    editor.write_slab_bytes(&row(0)?, &last)?;
    editor.append_bytes(&all)?;
    println!("{:?}", editor.shape());
    Ok(())
}
