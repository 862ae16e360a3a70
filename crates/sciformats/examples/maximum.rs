//! Prints the largest number of every array of a file, whatever its format: `maximum FILE`.
#![allow(clippy::print_stdout, reason = "printing is the purpose of the example")]

use sciformats::{Conversion, Error, File, Result};

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).ok_or_else(|| Error::usage("arguments", "name no file"))?;
    for (path, maximum) in maxima(&sciformats::open(path)?)? {
        println!("{path} {maximum}");
    }
    Ok(())
}

/// Returns the path of each array of numbers, and its largest number.
pub(crate) fn maxima(file: &File) -> Result<Vec<(String, f64)>> {
    let mut maxima = Vec::new();
    for array in file.arrays() {
        let array = array?.with_conversion(Conversion::Lossy); // integers beyond 2^53 are rounded
        if array.element().is_real() && !array.is_null() {
            let pieces = array.pieces::<f64>(1 << 20)?;
            let mut largest = pieces.map(|piece| Ok(piece?.1.into_iter().fold(f64::NEG_INFINITY, f64::max)));
            let maximum =
                largest.try_fold(f64::NEG_INFINITY, |a, b: Result<f64>| Ok::<_, Error>(a.max(b?)))?;
            maxima.push((array.path().to_owned(), maximum));
        }
    }
    Ok(maxima)
}
