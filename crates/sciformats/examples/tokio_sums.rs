//! Sums up the arrays of many files at the same time, in tasks of tokio: `tokio_sums FILE…`.
//!
//! Reading waits for the device, so it happens on those threads that tokio has for such work, and one slow file does not
//! keep the others waiting.
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::path::PathBuf;

use sciformats::{Array, Conversion, Error, Result};
use tokio::task::{JoinSet, spawn_blocking};

#[tokio::main]
async fn main() -> Result<()> {
    let mut tasks = JoinSet::new();
    for path in std::env::args_os().skip(1).map(PathBuf::from) {
        tasks.spawn(async move { (path.clone(), sums(path).await) });
    }
    while let Some(done) = tasks.join_next().await {
        let (file, sums) = done.map_err(|error| Error::io("join", error.into()))?;
        for (path, sum) in sums? {
            println!("{} {path} {sum}", file.display());
        }
    }
    Ok(())
}

/// Returns the path and the sum of each array of numbers.
pub(crate) async fn sums(path: PathBuf) -> Result<Vec<(String, f64)>> {
    let mut arrays = JoinSet::new();
    for array in blocking(move || numbers(path)).await? {
        arrays.spawn(blocking(move || Ok((array.path().to_owned(), sum(&array)?))));
    }
    let mut sums = arrays.join_all().await.into_iter().collect::<Result<Vec<_>>>()?;
    sums.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(sums)
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    spawn_blocking(work).await.map_err(|error| Error::io("join", error.into()))?
}

/// The arrays of numbers, which keep their file open.
fn numbers(path: PathBuf) -> Result<Vec<Array<'static>>> {
    let file = sciformats::open(path)?;
    let mut arrays = Vec::new();
    for array in file.arrays() {
        let array = array?.with_conversion(Conversion::Lossy); // integers beyond 2^53 are rounded
        if array.element().is_real() && !array.is_null() {
            arrays.push(array.into_owned());
        }
    }
    Ok(arrays)
}

/// Sums up an array that may be larger than memory.
fn sum(array: &Array<'_>) -> Result<f64> {
    array.pieces::<f64>(1 << 20)?.map(|piece| Ok(piece?.1.iter().sum::<f64>())).sum()
}
