//! The file and the object that an error is about.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::{Error, Result};

/// The file and the object in which an error was met. It takes one pointer, which is empty until a reader knows the place.
///
/// ```
/// use sciformats_core::{Fault, FaultKind, error::Place};
/// use std::path::Path;
///
/// let error = Fault::new("M", FaultKind::Truncated).at("index entry", 0x1018);
/// assert_eq!(error.place(), Some(&Place::default()));
/// let error = error.within(Some(Path::new("run.bin")), Some("particles/position"));
/// assert_eq!(error.path(), Some(Path::new("run.bin")));
/// assert_eq!(error.object(), Some("particles/position"));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Place(Option<Arc<Known>>);

#[derive(Clone, Default, PartialEq, Eq)]
struct Known {
    path: Option<Box<Path>>,
    object: Option<Box<str>>,
}

impl Place {
    /// Returns the file, if it is known.
    pub fn path(&self) -> Option<&Path> {
        self.0.as_ref()?.path.as_deref()
    }

    /// Returns the path of the object in the file, if it is known.
    pub fn object(&self) -> Option<&str> {
        self.0.as_ref()?.object.as_deref()
    }

    /// Adds what is not known yet. If the error was met in another file, its place is unchanged, because the object is not in
    /// that file.
    pub(super) fn add(&mut self, path: Option<&Path>, object: Option<&str>) {
        let old = self.0.as_deref();
        if old.is_some_and(|old| old.path.is_some() && old.path.as_deref() != path) {
            return;
        }
        let known = old.cloned().unwrap_or_default();
        let known = Known {
            path: known.path.or_else(|| path.map(Into::into)),
            object: known.object.or_else(|| object.map(Into::into)),
        };
        self.0 = (known != Known::default()).then(|| Arc::new(known));
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").field("path", &self.path()).field("object", &self.object()).finish()
    }
}

impl Error {
    /// Adds the file and the path of the object in it, unless the error has them already. A reader does this once, in the
    /// functions that its users call, so that the parsers beneath them need not know where they are.
    ///
    /// ```
    /// use sciformats_core::Error;
    /// use std::path::Path;
    ///
    /// let error = Error::unsupported("filter 32017").within(Some(Path::new("run.h5")), Some("/t"));
    /// assert_eq!(error.to_string(), "filter 32017 is not supported");
    /// assert_eq!(format!("{error:#}"), r#"filter 32017 is not supported (in "/t" of run.h5)"#);
    ///
    /// // The innermost place is the right one.
    /// let outer = error.within(Some(Path::new("all.h5")), Some("/week"));
    /// assert_eq!((outer.path(), outer.object()), (Some(Path::new("run.h5")), Some("/t")));
    /// ```
    #[must_use]
    pub fn within(mut self, path: Option<&Path>, object: Option<&str>) -> Self {
        if let Some(place) = self.place_mut() {
            place.add(path, object);
        }
        self
    }

    /// Returns the file and the object of an error that was met while an object was read. Errors of the caller and of the
    /// machine have none.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::Malformed { place, .. }
            | Self::NotThisFormat { place, .. }
            | Self::Unsupported { place, .. }
            | Self::LimitExceeded { place, .. }
            | Self::Missing { place, .. } => Some(place),
            Self::Misfit(misfit) => Some(&misfit.place),
            _ => None,
        }
    }

    pub(super) fn place_mut(&mut self) -> Option<&mut Place> {
        match self {
            Self::Malformed { place, .. }
            | Self::NotThisFormat { place, .. }
            | Self::Unsupported { place, .. }
            | Self::LimitExceeded { place, .. }
            | Self::Missing { place, .. } => Some(place),
            Self::Misfit(misfit) => Some(&mut misfit.place),
            _ => None,
        }
    }

    /// Returns the file that the error is about, if it is known.
    ///
    /// ```
    /// use sciformats_core::Error;
    /// use std::path::Path;
    ///
    /// let error = Error::io("open", std::io::ErrorKind::NotFound.into()).in_file(Path::new("run.h5"), None);
    /// assert_eq!(error.path(), Some(Path::new("run.h5")));
    /// ```
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Io { path, .. } | Self::Conflict { path, .. } | Self::Forbidden { path, .. } => {
                path.as_deref()
            }
            other => other.place()?.path(),
        }
    }

    /// Returns the path of the object that the error is about, if it is known.
    ///
    /// ```
    /// use sciformats_core::Error;
    ///
    /// assert_eq!(Error::wrong_type("/t", "a group", "a dataset").object(), Some("/t"));
    /// ```
    pub fn object(&self) -> Option<&str> {
        match self {
            Self::WrongType { name, .. } => Some(name),
            other => other.place()?.object(),
        }
    }
}

/// Adds the file and the object to the error of a result.
///
/// ```
/// use sciformats_core::error::Within;
/// use sciformats_core::{Error, Result};
///
/// let read: Result<()> = Err(Error::unsupported("element type 12"));
/// assert_eq!(read.within(None, Some("charge")).unwrap_err().object(), Some("charge"));
/// ```
pub trait Within: Sized {
    /// Does for the error what [`Error::within`] does.
    #[must_use]
    fn within(self, path: Option<&Path>, object: Option<&str>) -> Self;
}

impl<T> Within for Result<T> {
    fn within(self, path: Option<&Path>, object: Option<&str>) -> Self {
        self.map_err(|error| error.within(path, object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fault, FaultKind, Misfit};

    #[test]
    fn what_is_known_first_stays() {
        let bad = Fault::new("M", FaultKind::Truncated).at("index entry", 8);
        let (a, b) = (Path::new("a.h5"), Path::new("b.h5"));
        let of_file = bad.clone().in_file(a, None);
        let shown =
            |error: &Error| format!("{error:#}").split_off("malformed index entry at offset 0x8: ".len());
        assert_eq!(shown(&of_file), "M is truncated (in a.h5)");
        assert_eq!(shown(&of_file.clone().within(Some(b), Some("/x"))), "M is truncated (in a.h5)");
        assert_eq!(shown(&of_file.within(Some(a), Some("/x"))), r#"M is truncated (in "/x" of a.h5)"#);
        let of_object = bad.within(None, Some("/x"));
        assert_eq!(shown(&of_object), r#"M is truncated (in "/x")"#);
        assert_eq!(shown(&of_object.within(Some(a), Some("/y"))), r#"M is truncated (in "/x" of a.h5)"#);
    }

    #[test]
    fn errors_met_while_reading_have_a_place() {
        let place = |error: Error| format!("{:#}", error.within(Some(Path::new("a.h5")), Some("/x")));
        let suffix = r#" (in "/x" of a.h5)"#;
        for error in [
            Fault::from(FaultKind::Loop).at("chain", 0),
            Error::unsupported("filter 32017"),
            Error::limit_exceeded("bytes", 2, 1),
            Error::missing("external file", "raw.bin", "does not exist"),
            Error::Misfit(Misfit::new(0, &300, "u8")),
        ] {
            let reason = error.to_string();
            assert_eq!(place(error), format!("{reason}{suffix}"));
        }
        assert_eq!(place(Error::usage("shape", "is empty")), "shape is empty");
    }
}
