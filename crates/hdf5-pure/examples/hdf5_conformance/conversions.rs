//! Compares our conversions of numbers with those of the C library.

use std::fmt::Debug;

use hdf5_pure::{Conversion, Dataset, Element, Error, File};

use super::Outcome;

/// If `wanted` is an array that the C library converted, compares its elements with those of the array that it was converted
/// from.
pub(super) fn check(file: &File, wanted: &Dataset, path: &str) -> Outcome {
    let Some((source, kind)) = path.split_once("_as_") else { return Ok(0) };
    let source = file.dataset(source).map_err(|error| format!("{path}: {error}"))?;
    let done = match kind {
        "i1" => compare::<i8>(source, wanted),
        "i2" => compare::<i16>(source, wanted),
        "i4" => compare::<i32>(source, wanted),
        "i8" => compare::<i64>(source, wanted),
        "u1" => compare::<u8>(source, wanted),
        "u2" => compare::<u16>(source, wanted),
        "u4" => compare::<u32>(source, wanted),
        "u8" => compare::<u64>(source, wanted),
        "f4" => compare::<f32>(source, wanted),
        _ => compare::<f64>(source, wanted),
    };
    done.map_err(|why| format!("{path}: {why}"))
}

fn compare<T: Element + PartialEq + Debug>(source: Dataset, wanted: &Dataset) -> Outcome {
    let text = |error: Error| error.to_string();
    let wanted: Vec<T> = wanted.read().map_err(text)?;
    let exact = source.read::<T>();
    let lossy: Vec<T> = source.with_conversion(Conversion::Lossy).read().map_err(text)?;
    for (index, (lossy, wanted)) in lossy.iter().zip(&wanted).enumerate() {
        if lossy != wanted {
            return Err(format!("element {index} is {lossy:?}, which the C library reads as {wanted:?}"));
        }
    }
    match exact {
        Ok(exact) if exact != wanted => Err("differs from the result of an exact read".into()),
        Ok(_) | Err(Error::Misfit(_)) => Ok(1),
        Err(error) => Err(text(error)),
    }
}
