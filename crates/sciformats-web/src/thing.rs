//! An object as its convention defines it, or as it is stored.

use sciformats::{Array, ElementType, Error, File, Result, Selection};
use sciformats_conventions::decoding::Decoding;
use sciformats_conventions::{For, Meaning, Variable};

use crate::session::{Opened, Request};

/// How an object is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    /// As it is stored.
    Stored,
    /// Decoded, with words for flags.
    Words,
    /// Decoded.
    Values,
    /// Decoded, but times remain numbers.
    Numbers,
}

/// An array to read.
pub(crate) struct Thing<'a> {
    file: &'a File,
    path: String,
    meant: Option<File>,
    /// Why the object is shown as it is stored, although its convention defines more.
    pub(crate) doubt: Option<Error>,
}

impl<'a> Thing<'a> {
    /// Finds what a request is about: its `path`, in its `view`: `stored`, `words`, `values` or `numbers`.
    pub(crate) fn of(opened: &'a Opened, request: &Request<'_>) -> Result<Self> {
        let view = match request.maybe_text("view").unwrap_or("values") {
            "stored" => View::Stored,
            "words" => View::Words,
            "numbers" => View::Numbers,
            _ => View::Values,
        };
        Self::find(opened, request.text("path")?, view)
    }

    fn find(opened: &'a Opened, path: &str, view: View) -> Result<Self> {
        let (data, file) = (opened.data()?, opened.file()?.as_ref());
        let stored = |doubt| Self { file, path: path.to_owned(), meant: None, doubt };
        if view == View::Stored {
            return Ok(stored(None));
        }
        match data.meaning(path) {
            Ok(None) => Ok(stored(None)),
            Ok(Some(mut meaning)) => {
                if let (Meaning::Variable(variable), View::Numbers) = (&mut meaning, view) {
                    as_numbers(variable);
                }
                let variable = match &meaning {
                    Meaning::Variable(variable) => Some((**variable).clone()),
                    _ => None,
                };
                let of = variable.as_ref().map_or(path, Variable::path).to_owned();
                let flagged = variable.as_ref().is_some_and(|variable| variable.flags.is_some());
                let same = meaning.is_stored() && !(view == View::Words && flagged);
                let whom = if view == View::Words { For::People } else { For::Programs };
                match if same { Ok(None) } else { meaning.into_file(whom).map(Some) } {
                    Ok(meant) => Ok(Self { file, path: of, meant, doubt: None }),
                    Err(doubt) => Ok(stored(Some(doubt))),
                }
            }
            Err(doubt) => {
                // A path that cannot be shown in either way is reported once.
                file.array(path)?;
                Ok(stored(Some(doubt)))
            }
        }
    }

    /// Returns the array.
    pub(crate) fn array(&self) -> Result<Array<'_>> {
        match &self.meant {
            Some(meant) => meant.array("/"),
            None => self.file.array(&self.path),
        }
    }

    /// Returns whether the values differ from the stored elements.
    pub(crate) fn is_meant(&self) -> bool {
        self.meant.is_some()
    }
}

/// Lets times be the numbers that are stored.
fn as_numbers(variable: &mut Variable) {
    if let Decoding::Time { numbers, .. } = &variable.decoding {
        let plain = numbers.to.is_none() && numbers.from == variable.stored().element;
        variable.decoding = if plain { Decoding::Stored } else { Decoding::Numbers(numbers.clone()) };
    }
}

/// Returns the shape of an array; an error if it has none.
pub(crate) fn shape_of<'a>(array: &'a Array<'_>) -> Result<&'a [u64]> {
    let shape = array.info().shape.as_deref();
    shape.ok_or_else(|| Error::usage("array", "has a null dataspace and no elements"))
}

/// Returns what the `slice` of a request selects; everything if there is none.
pub(crate) fn selection(array: &Array<'_>, request: &Request<'_>) -> Result<Selection> {
    let shape = shape_of(array)?;
    match request.maybe_text("slice").filter(|slice| !slice.trim().is_empty()) {
        Some(slice) => Selection::parse(slice, shape),
        None => Selection::all(shape),
    }
}

/// The number of elements that one request may read.
pub(crate) const MOST: u64 = 32 << 20;

/// Checks that a request does not read more elements than the page can hold.
pub(crate) fn bounded(selection: &Selection, element: &ElementType) -> Result<()> {
    let count = selection.slab().len();
    let bytes = count.saturating_mul(element.size().unwrap_or(8).max(1));
    if count > MOST || bytes > 8 * MOST {
        return Err(Error::limit_exceeded("elements that one request reads", count, MOST));
    }
    Ok(())
}
