//! One error type for all crates. Its variants are sorted by the cause of the error.

mod display;
mod place;

use std::borrow::Cow;
use std::io;
use std::panic::Location;
use std::path::Path;
use std::sync::Arc;

use crate::fault::Fault;
use crate::foreign::Foreign;
use crate::misfit::Misfit;
pub use place::{Place, Within};

/// A result whose error is [`Error`] by default.
///
/// ```
/// fn second(bytes: &[u8]) -> sciformats_core::Result<u8> {
///     bytes.get(1).copied().ok_or_else(|| sciformats_core::Error::usage("bytes", "are fewer than two"))
/// }
/// assert_eq!(second(b"ab")?, b'b');
/// # Ok::<(), sciformats_core::Error>(())
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The cause of an error, which shows who can do something about it.
///
/// ```
/// use sciformats_core::{Blame, Error};
///
/// assert_eq!(Error::not_found("chunk", "position").blame(), Blame::Caller);
/// assert_eq!(Error::unsupported("codec 99").blame(), Blame::Library);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blame {
    /// The operating system, the device, or another program that uses the file.
    Machine,
    /// The file: its bytes contradict the standard.
    File,
    /// This library, or the features that it was built with; the file and the call may be right.
    Library,
    /// The limits that the caller set.
    Limit,
    /// The caller's arguments.
    Caller,
    /// Another file, which this one names and needs, and which is missing or incomplete.
    Elsewhere,
}

impl Blame {
    /// Returns one word for it: `machine`, `file`, `program` for this library, `limit`, `caller`, or `missing` for another file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::File => "file",
            Self::Library => "program",
            Self::Limit => "limit",
            Self::Caller => "caller",
            Self::Elsewhere => "missing",
        }
    }
}

/// The reason why an operation failed. `Display` prints one line without a full stop. The line does not
/// repeat the file and the object of the error, which most programs print anyway; `{error:#}` adds them, and
/// [`path`](Self::path) and [`object`](Self::object) return them.
///
/// ```
/// use sciformats_core::{Error, Fault, FaultKind};
///
/// let error = Fault::new("version", FaultKind::Undefined { found: 9 }).at("superblock", 8);
/// assert_eq!(error.to_string(), "malformed superblock at offset 0x8: version is 9 (0x9), which is not defined");
/// assert_eq!(error.offset(), Some(8));
/// assert_eq!(Error::missing_feature("filter 32015 (zstd)", "zstd").offset(), None);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    Io {
        /// What was attempted, as a verb: `read`, `write`, `open`.
        action: &'static str,
        /// The file, if it is known.
        path: Option<Box<Path>>,
        /// The byte offset in it, if there is one.
        offset: Option<u64>,
        /// The system's reason.
        source: Arc<io::Error>,
    },
    /// The bytes contradict the standard.
    Malformed {
        /// The name of the structure in the standard.
        structure: &'static str,
        /// Absolute byte offset of the fault in the file.
        offset: u64,
        /// The field and what is wrong with it.
        fault: Fault,
        /// The file and the object, if they are known.
        place: Place,
    },
    /// The file does not begin like a file of this format, so it is probably one of another format.
    NotThisFormat {
        /// The format that was expected: its usual name; several formats are listed.
        expected: &'static str,
        /// What the file seems to be, if that is known.
        found: Option<Foreign>,
        /// The file, if it is known.
        place: Place,
    },
    /// The bytes may be right, but this library, as it was built, does not support them.
    Unsupported {
        /// The unsupported thing: `filter 32015 (zstd)`.
        what: Cow<'static, str>,
        /// The cargo feature that would help, if there is one.
        feature: Option<&'static str>,
        /// The absolute byte offset of the unsupported thing, if there is one.
        offset: Option<u64>,
        /// The file and the object, if they are known.
        place: Place,
    },
    /// A declared size exceeds a limit that the caller may raise.
    LimitExceeded {
        /// What was declared: `bytes of the decoded array`.
        what: &'static str,
        /// The declared size.
        declared: u64,
        /// The limit.
        limit: u64,
        /// The file and the object, if they are known.
        place: Place,
    },
    /// Another writer uses the file, or has changed it since it was opened. Nothing was written.
    Conflict {
        /// The file, if it is known.
        path: Option<Box<Path>>,
        /// The cause of the conflict.
        clash: Clash,
    },
    /// There is no object with this name.
    NotFound {
        /// The kind of object: `chunk`, `attribute`.
        what: &'static str,
        /// The requested name.
        name: Box<str>,
        /// Existing names that may have been meant, the most likely first.
        nearest: Box<[Box<str>]>,
    },
    /// The named object has another type than requested; the file may be right.
    WrongType {
        /// Its name or path.
        name: Box<str>,
        /// The requested type: `an array`.
        expected: &'static str,
        /// The type that was found: `a mapping with 3 keys`.
        found: Cow<'static, str>,
    },
    /// Another file, or an object in it, that the file names and needs is missing or incomplete.
    Missing {
        /// What the file needs it for: `external file`, `source of a virtual dataset`.
        what: &'static str,
        /// Its name, as the file contains it.
        name: Box<str>,
        /// What is wrong: the text completes "`what` `name` …".
        problem: Cow<'static, str>,
        /// The file that needs it and the object, if they are known.
        place: Place,
    },
    /// The file names another one, which the caller's [`External`](crate::External) does not permit to open.
    Forbidden {
        /// Its name, as the file contains it.
        name: Box<str>,
        /// Its path, if it was searched for.
        path: Option<Box<Path>>,
    },
    /// The requested type cannot hold an element without changing its value.
    Misfit(Misfit),
    /// The arguments do not fit the object, or each other.
    Usage {
        /// The argument.
        argument: &'static str,
        /// The reason why it does not fit: the text completes "`argument` …".
        problem: Cow<'static, str>,
    },
    /// This library found an impossible state, and stopped before it wrote anything of it. Please report
    /// this.
    Internal {
        /// The field or value, and what is wrong with it.
        problem: Cow<'static, str>,
        /// The line that found it.
        at: &'static Location<'static>,
    },
}

/// The reason why a writer cannot change a file.
///
/// ```
/// use sciformats_core::error::Clash;
/// use sciformats_core::storage::FileStorage;
/// use sciformats_core::{Error, WriteAt};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("run.bin");
/// let file = FileStorage::create_new(&path)?;
/// file.try_lock()?;
/// let second = FileStorage::edit(&path)?.try_lock();
/// assert!(matches!(second, Err(Error::Conflict { clash: Clash::Held, .. })));
/// std::fs::remove_file(&path).unwrap();
/// let refused = file.check_unchanged().unwrap_err();
/// assert!(matches!(refused, Error::Conflict { clash: Clash::Gone, .. }), "{refused}");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Clash {
    /// Another writer has the file open. Try again when it has finished.
    Held,
    /// The file is no longer where it was opened.
    Gone,
    /// Another file has taken its place.
    Replaced,
    /// Its length has changed.
    Resized {
        /// The length in bytes that this writer knows.
        known: u64,
        /// The present length.
        found: u64,
    },
    /// Bytes that a commit builds upon have changed since they were read.
    Changed {
        /// The offset of the first of these bytes.
        offset: u64,
    },
}

impl Error {
    /// Creates an [`Error::Conflict`] without a file; [`Error::in_file`] adds it.
    ///
    /// ```
    /// use sciformats_core::Error;
    /// use sciformats_core::error::Clash;
    ///
    /// let error = Error::conflict(Clash::Held).in_file("run.h5".as_ref(), None);
    /// assert_eq!(error.to_string(), "cannot change run.h5: another program has it locked; try again when it is done");
    /// ```
    pub fn conflict(clash: Clash) -> Self {
        Self::Conflict { path: None, clash }
    }

    /// Creates an [`Error::Io`] without a position; [`Error::in_file`] adds it.
    ///
    /// ```
    /// use sciformats_core::{Blame, Error};
    ///
    /// let error = Error::io("read", std::io::ErrorKind::UnexpectedEof.into());
    /// assert_eq!(error.blame(), Blame::Machine);
    /// ```
    pub fn io(action: &'static str, source: io::Error) -> Self {
        Self::Io { action, path: None, offset: None, source: Arc::new(source) }
    }

    /// Creates an [`Error::Unsupported`] that no cargo feature would avoid.
    ///
    /// ```
    /// use sciformats_core::Error;
    ///
    /// assert_eq!(Error::unsupported("filter 32017").to_string(), "filter 32017 is not supported");
    /// ```
    pub fn unsupported(what: impl Into<Cow<'static, str>>) -> Self {
        Self::Unsupported { what: what.into(), feature: None, offset: None, place: Place::default() }
    }

    /// Creates an [`Error::Unsupported`] for what is at an absolute byte offset of the file.
    pub fn unsupported_at(what: impl Into<Cow<'static, str>>, offset: u64) -> Self {
        Self::Unsupported { what: what.into(), feature: None, offset: Some(offset), place: Place::default() }
    }

    /// Creates an [`Error::Unsupported`] that the named cargo feature would avoid.
    pub fn missing_feature(what: impl Into<Cow<'static, str>>, feature: &'static str) -> Self {
        Self::Unsupported { what: what.into(), feature: Some(feature), offset: None, place: Place::default() }
    }

    /// Creates an [`Error::LimitExceeded`]; `what` is a plural, as in `bytes of the decoded array`.
    ///
    /// ```
    /// use sciformats_core::Error;
    ///
    /// assert_eq!(Error::limit_exceeded("names", 11, 10).to_string(), "11 names exceed the limit of 10");
    /// ```
    pub fn limit_exceeded(what: &'static str, declared: u64, limit: u64) -> Self {
        Self::LimitExceeded { what, declared, limit, place: Place::default() }
    }

    /// Creates an [`Error::Missing`]; `problem` completes "`what` `name` …".
    ///
    /// ```
    /// use sciformats_core::{Blame, Error};
    ///
    /// let error = Error::missing("external file", "raw.bin", "does not exist");
    /// assert_eq!(error.to_string(), "external file \"raw.bin\" does not exist");
    /// assert_eq!(error.blame(), Blame::Elsewhere);
    /// ```
    pub fn missing(
        what: &'static str,
        name: impl Into<Box<str>>,
        problem: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::Missing { what, name: name.into(), problem: problem.into(), place: Place::default() }
    }

    /// Creates an [`Error::NotFound`].
    ///
    /// ```
    /// use sciformats_core::Error;
    ///
    /// assert_eq!(Error::not_found("dataset", "pressure").to_string(), "no dataset named \"pressure\"");
    /// ```
    pub fn not_found(what: &'static str, name: impl Into<Box<str>>) -> Self {
        Self::NotFound { what, name: name.into(), nearest: Box::default() }
    }

    /// Adds names that may have been meant to an [`Error::NotFound`], the most likely first. Other errors are
    /// unchanged.
    ///
    /// ```
    /// use sciformats_core::{Error, spelling};
    ///
    /// let nearest = spelling::nearest("presure", ["pressure", "temperature"]);
    /// let error = Error::not_found("dataset", "presure").with_nearest(nearest);
    /// assert_eq!(error.to_string(), "no dataset named \"presure\" (did you mean \"pressure\"?)");
    /// ```
    #[must_use]
    pub fn with_nearest(mut self, names: impl IntoIterator<Item = impl Into<Box<str>>>) -> Self {
        if let Self::NotFound { nearest, .. } = &mut self {
            *nearest = names.into_iter().map(Into::into).collect();
        }
        self
    }

    /// Creates an [`Error::WrongType`].
    ///
    /// ```
    /// use sciformats_core::{Blame, Error};
    ///
    /// let error = Error::wrong_type("meta", "an array", "a mapping with 3 keys");
    /// assert_eq!(error.to_string(), "\"meta\" is a mapping with 3 keys, not an array");
    /// assert_eq!(error.blame(), Blame::Caller);
    /// ```
    pub fn wrong_type(
        name: impl Into<Box<str>>,
        expected: &'static str,
        found: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::WrongType { name: name.into(), expected, found: found.into() }
    }

    /// Creates an [`Error::Usage`]; `problem` completes "`argument` …", as in `"shape", "has 3 dimensions, but the array has 2"`.
    ///
    /// ```
    /// use sciformats_core::Error;
    ///
    /// let error = Error::usage("shape", "has 3 dimensions, but the array has 2");
    /// assert_eq!(error.to_string(), "shape has 3 dimensions, but the array has 2");
    /// ```
    pub fn usage(argument: &'static str, problem: impl Into<Cow<'static, str>>) -> Self {
        Self::Usage { argument, problem: problem.into() }
    }

    /// Creates an [`Error::Internal`] at the line of the caller; `problem` names the structure, the field and
    /// what is wrong, as in `address of an object is missing`.
    ///
    /// ```
    /// use sciformats_core::{Blame, Error};
    ///
    /// let error = Error::internal("count of links is out of range");
    /// assert_eq!(error.blame(), Blame::Library);
    /// assert!(error.to_string().starts_with("internal error: count of links is out of range ("));
    /// ```
    #[cold]
    #[track_caller]
    pub fn internal(problem: impl Into<Cow<'static, str>>) -> Self {
        Self::Internal { problem: problem.into(), at: Location::caller() }
    }

    /// Adds the file and the offset to an [`Error::Io`] without them, the file to an [`Error::Conflict`], and the file to the
    /// errors that have a [`place`](Self::place). Other errors are unchanged.
    ///
    /// ```
    /// use sciformats_core::Error;
    /// use std::path::Path;
    ///
    /// let error = Error::io("read", std::io::ErrorKind::UnexpectedEof.into());
    /// assert_eq!(error.in_file(Path::new("run.h5"), 2048).offset(), Some(2048));
    /// ```
    #[must_use]
    pub fn in_file(mut self, at: &Path, position: impl Into<Option<u64>>) -> Self {
        if let Self::Io { path, offset, .. } = &mut self {
            path.get_or_insert_with(|| at.into());
            *offset = offset.or(position.into());
        } else if let Self::Conflict { path, .. } = &mut self {
            path.get_or_insert_with(|| at.into());
        } else if let Some(place) = self.place_mut() {
            place.add(Some(at), None);
        }
        self
    }

    /// Returns the cause of the error.
    pub fn blame(&self) -> Blame {
        match self {
            Self::Io { .. } | Self::Conflict { .. } => Blame::Machine,
            Self::Malformed { .. } | Self::NotThisFormat { .. } => Blame::File,
            Self::Unsupported { .. } | Self::Internal { .. } => Blame::Library,
            Self::LimitExceeded { .. } | Self::Forbidden { .. } => Blame::Limit,
            Self::Missing { .. } => Blame::Elsewhere,
            Self::NotFound { .. } | Self::WrongType { .. } | Self::Misfit(_) | Self::Usage { .. } => {
                Blame::Caller
            }
        }
    }

    /// Returns the absolute byte offset that the error is about, if there is one.
    pub fn offset(&self) -> Option<u64> {
        match *self {
            Self::Malformed { offset, .. } => Some(offset),
            Self::Io { offset, .. } | Self::Unsupported { offset, .. } => offset,
            Self::Conflict { clash: Clash::Changed { offset }, .. } => Some(offset),
            Self::Conflict { .. }
            | Self::LimitExceeded { .. }
            | Self::NotThisFormat { .. }
            | Self::NotFound { .. }
            | Self::WrongType { .. }
            | Self::Missing { .. }
            | Self::Forbidden { .. }
            | Self::Misfit(_)
            | Self::Usage { .. }
            | Self::Internal { .. } => None,
        }
    }
}

/// Converts the error for `?` in functions that return [`io::Result`]. It keeps its kind and its text.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::Io { source, .. } => source.kind(),
            Error::Conflict { .. } => io::ErrorKind::ResourceBusy,
            Error::Malformed { .. } | Error::NotThisFormat { .. } => io::ErrorKind::InvalidData,
            Error::Unsupported { .. } => io::ErrorKind::Unsupported,
            Error::LimitExceeded { .. } => io::ErrorKind::OutOfMemory,
            Error::NotFound { .. } | Error::Missing { .. } => io::ErrorKind::NotFound,
            Error::Forbidden { .. } => io::ErrorKind::PermissionDenied,
            Error::WrongType { .. } | Error::Misfit(_) | Error::Usage { .. } => io::ErrorKind::InvalidInput,
            Error::Internal { .. } => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::FaultKind;

    #[test]
    fn one_line_that_says_what_where_and_why() {
        let io = Error::io("read", io::Error::other("gone")).in_file(Path::new("a.ra"), 16);
        assert_eq!(io.to_string(), "cannot read a.ra at offset 0x10: gone");
        let bad = Fault::new("M", FaultKind::Truncated).at("index entry", 0x1018);
        assert_eq!(bad.to_string(), "malformed index entry at offset 0x1018: M is truncated");
        assert_eq!(
            Error::missing_feature("compression zstd", "zstd").to_string(),
            "compression zstd is not supported without the cargo feature `zstd`"
        );
        assert_eq!(Error::not_found("chunk", "a\nb").to_string(), r#"no chunk named "a\nb""#);
    }

    #[test]
    fn an_error_is_small_and_its_place_costs_a_pointer() {
        assert!(size_of::<Error>() <= 80, "{}", size_of::<Error>());
        assert_eq!(size_of::<Place>(), size_of::<usize>());
    }

    #[test]
    fn a_copy_says_the_same() {
        let missing = io::Error::from_raw_os_error(2);
        let errors = [
            Error::io("open", missing).in_file(Path::new("a.ra"), None),
            Error::wrong_type("meta", "an array", "a mapping"),
            Error::not_found("chunk", "positon").with_nearest(["position"]),
        ];
        for error in errors {
            let copy = error.clone();
            assert_eq!(copy.to_string(), error.to_string());
            assert_eq!(io::Error::from(copy).kind(), io::Error::from(error).kind());
        }
    }

    #[test]
    fn blame_and_io_kind_agree() {
        let table = [
            (
                Error::io("read", io::ErrorKind::StorageFull.into()),
                Blame::Machine,
                io::ErrorKind::StorageFull,
            ),
            (Fault::from(FaultKind::Loop).at("chain", 0), Blame::File, io::ErrorKind::InvalidData),
            (Error::unsupported("x"), Blame::Library, io::ErrorKind::Unsupported),
            (Error::conflict(Clash::Held), Blame::Machine, io::ErrorKind::ResourceBusy),
            (Error::usage("shape", "is empty"), Blame::Caller, io::ErrorKind::InvalidInput),
            (Error::internal("a count is missing"), Blame::Library, io::ErrorKind::Other),
        ];
        for (error, blame, kind) in table {
            assert_eq!(error.blame(), blame);
            assert_eq!(io::Error::from(error).kind(), kind);
        }
    }
}
