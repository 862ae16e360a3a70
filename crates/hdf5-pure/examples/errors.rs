//! Distinguishes the errors of reading by their types, not by their texts: `errors FILE PATH`.
#![allow(clippy::print_stdout, reason = "printing is the purpose of the example")]

use std::path::Path;

use hdf5_pure::{Error, File, Result};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [file, path] => println!("{}", told(bytes(file.as_ref(), path))),
        _ => println!("arguments: FILE PATH"),
    }
}

/// Returns the elements of a dataset as bytes.
pub(crate) fn bytes(file: &Path, path: &str) -> Result<Vec<u8>> {
    File::open(file)?.dataset(path)?.read()
}

/// Returns what the user can do about the error.
pub(crate) fn told(result: Result<Vec<u8>>) -> String {
    match result {
        Ok(bytes) => format!("{} bytes", bytes.len()),
        Err(Error::NotFound { name, .. }) => format!("look for another name than {name}"),
        Err(Error::Misfit(misfit)) => {
            format!("read a wider type: element {} is {}", misfit.index, misfit.value)
        }
        Err(Error::LimitExceeded { limit, .. }) => format!("raise the limit of {limit}"),
        Err(Error::Unsupported { feature: Some(feature), .. }) => format!("build with the feature {feature}"),
        Err(Error::NotThisFormat { .. }) => "name a file of HDF5".to_owned(),
        Err(Error::Malformed { offset, .. }) => format!("the file is damaged at byte {offset}"),
        Err(Error::Io { source, .. }) => format!("ask the system: {}", source.kind()),
        Err(other) => format!("{:?}: {other}", other.blame()),
    }
}
