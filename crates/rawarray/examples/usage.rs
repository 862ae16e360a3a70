//! Writes an array into the current folder, and reads it in two ways.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use rawarray::{Range, RawArray, Reader, Result, Slab};

fn main() -> Result<()> {
    let samples: Vec<f64> = (0..12).map(f64::from).collect();
    RawArray::new([4, 3], samples)?.with_metadata(*b"recorded at noon").write("samples.ra")?;

    // Read the whole array as a type that is known.
    let array = RawArray::<f64>::read("samples.ra")?;
    println!("{:?}, the sum is {}", array.dims(), array.data().iter().sum::<f64>());

    // Read one column of an array whose type is not known.
    let reader = Reader::open("samples.ra")?;
    let column = Slab::new(&reader.shape(), [Range::all(3), Range::new(1, 1)])?;
    println!("{} elements of {}: {:?}", reader.len(), reader.element(), reader.read_slab::<f64>(&column)?);

    println!("{}", String::from_utf8_lossy(&reader.metadata()?));
    Ok(())
}
