//! The text of an error.

use std::fmt;
use std::path::Path;

use super::{Clash, Error};

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason(f)?;
        let Some(place) = self.place().filter(|_| f.alternate()) else { return Ok(()) };
        match (place.object(), place.path()) {
            (None, None) => Ok(()),
            (Some(object), None) => write!(f, " (in {object:?})"),
            (None, Some(path)) => write!(f, " (in {})", path.display()),
            (Some(object), Some(path)) => write!(f, " (in {object:?} of {})", path.display()),
        }
    }
}

impl Error {
    fn reason(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { action, path, offset, source } => {
                write!(f, "cannot {action}")?;
                if let Some(path) = path {
                    write!(f, " {}", path.display())?;
                }
                if let Some(offset) = offset {
                    write!(f, " at offset {offset:#x}")?;
                }
                write!(f, ": {source}")
            }
            Error::Malformed { structure, offset, fault, .. } => {
                write!(f, "malformed {structure} at offset {offset:#x}: {fault}")
            }
            Error::NotThisFormat { expected, found, .. } => {
                write!(f, "the file is not {expected}")?;
                found.as_ref().map_or(Ok(()), |found| write!(f, "; it is {}", found.what))
            }
            Error::Unsupported { what, feature, offset, .. } => {
                write!(f, "{what} is not supported")?;
                if let Some(feature) = feature {
                    write!(f, " without the cargo feature `{feature}`")?;
                }
                offset.map_or(Ok(()), |offset| write!(f, " (at offset {offset:#x})"))
            }
            Error::LimitExceeded { what, declared, limit, .. } => {
                write!(f, "{declared} {what} exceed the limit of {limit}")
            }
            Error::Conflict { path, clash } => conflict(path.as_deref(), *clash, f),
            Error::NotFound { what, name, nearest } => {
                write!(f, "no {what} named {name:?}")?;
                for (number, meant) in nearest.iter().enumerate() {
                    write!(f, "{}{meant:?}", if number == 0 { " (did you mean " } else { " or " })?;
                }
                if nearest.is_empty() { Ok(()) } else { f.write_str("?)") }
            }
            Error::WrongType { name, expected, found } => write!(f, "{name:?} is {found}, not {expected}"),
            Error::Missing { what, name, problem, .. } => write!(f, "{what} {name:?} {problem}"),
            Error::Forbidden { name, path } => {
                write!(f, "the file names another one, {name:?}")?;
                match path {
                    Some(path) if **path != *Path::new(&**name) => {
                        write!(f, " ({}), which may not be opened", path.display())
                    }
                    _ => f.write_str(", which may not be opened"),
                }
            }
            Error::Misfit(misfit) => write!(f, "{misfit}"),
            Error::Usage { argument, problem } => write!(f, "{argument} {problem}"),
            Error::Internal { problem, at } => {
                write!(f, "internal error: {problem} ({at}); nothing was written; please report this")
            }
        }
    }
}

fn conflict(path: Option<&Path>, clash: Clash, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const AGAIN: &str = "nothing was written: open it again and repeat the change";
    match path {
        Some(path) => write!(f, "cannot change {}: ", path.display())?,
        None => f.write_str("cannot change the file: ")?,
    }
    match clash {
        Clash::Held => f.write_str("another program has it locked; try again when it is done"),
        Clash::Gone => f.write_str("it was removed or renamed since it was opened; nothing was written"),
        Clash::Replaced => write!(f, "another file has taken its place since it was opened; {AGAIN}"),
        Clash::Resized { known, found } => write!(
            f,
            "another program changed it since it was opened: it has {found} bytes instead of {known}; {AGAIN}"
        ),
        Clash::Changed { offset } => {
            write!(f, "another program changed it since it was opened, at offset {offset:#x}; {AGAIN}")
        }
    }
}
