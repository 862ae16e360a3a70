//! Writes an array into the folder it is started in, and looks at it in three ways.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use rawarray::{Range, RawArray, Reader, Result, Slab};

fn main() -> Result<()> {
    let samples: Vec<f64> = (0..12).map(f64::from).collect();
    RawArray::new([4, 3], samples)?.with_metadata(*b"recorded at noon").write("samples.ra")?;

    // Whole, of a type that is known.
    let array = RawArray::<f64>::read("samples.ra")?;
    println!("{:?}, the sum is {}", array.dims(), array.data().iter().sum::<f64>());

    // As a map, of which one column is looked at.
    let reader = Reader::open("samples.ra")?;
    let column = Slab::new(reader.shape(), [Range::all(3), Range::new(1, 1)])?;
    println!("{} elements of {}: {:?}", reader.len(), reader.element(), reader.read_slab::<f64>(&column)?);

    println!("{}", String::from_utf8_lossy(&reader.metadata()?));
    Ok(())
}
