//! Frames that python-blosc2 writes for elements that are not in them.

use sciformats_core::{Error, Result};

/// The metalayers that mark such frames, and where the elements are.
const MARKS: [(&str, &str); 3] = [
    (
        "b2o",
        "says how python-blosc2 computes the elements or where it finds them, but they are not in this frame",
    ),
    (
        "LazyArray",
        "says that python-blosc2 computes the elements with a function of Python, but they are not in this frame",
    ),
    (
        "proxy-source",
        "says that the elements are elsewhere, and that this frame keeps copies of those that were read once; only the proxy of \
         python-blosc2 tells which these are",
    ),
];

/// Fails if a metalayer says that elements are not in the chunks, which are then empty and would be read as zeros.
///
/// # Errors
/// `Missing` with the name of the metalayer.
pub(crate) fn check<'a>(metalayers: impl Iterator<Item = (&'a str, &'a [u8])>) -> Result<()> {
    for (name, _) in metalayers {
        if let Some((mark, problem)) = MARKS.iter().find(|(mark, _)| *mark == name) {
            return Err(Error::missing("metalayer", *mark, *problem));
        }
    }
    Ok(())
}
