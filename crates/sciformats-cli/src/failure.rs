//! How the program ends: with an answer, or with the reason why there is none.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sciformats::{Blame, Error, File};

use crate::strange;

/// The answer of a command that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Yes: nothing is wrong, and nothing differs.
    Yes,
    /// No: there is damage, or there are differences.
    No,
}

impl Answer {
    pub(crate) fn of(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }

    /// Returns the exit status for the answer.
    pub(crate) fn status(self) -> u8 {
        match self {
            Self::Yes => 0,
            Self::No => 1,
        }
    }
}

/// The reason why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line is wrong.
    Usage(String),
    /// The input cannot be read.
    Input(String),
    /// The contents of the file do not permit the request; the answer is no.
    Refused(String),
    /// Some input could not be read, and this has been reported already.
    Reported,
    /// The output on stdout cannot be written.
    Output(io::Error),
    /// A file cannot be written: its path, and the reason.
    Unwritten(PathBuf, String),
    /// The user interrupted the command.
    Interrupted,
}

/// The result of a command.
pub(crate) type Outcome<T = Answer> = Result<T, Failure>;

impl Failure {
    /// Creates the failure for an error about a file: a request that the contents of the file do not permit, wrong usage if the
    /// caller is to blame otherwise, and unreadable input in all other cases.
    pub(crate) fn of(path: &Path, error: &Error) -> Self {
        let text = explain(path, error);
        match error {
            // What an array or a path holds is a matter of the file: another one would permit the same request.
            Error::Usage { argument: "array" | "path", .. } => Self::Refused(text),
            Error::Usage { .. } => Self::Usage(text),
            _ => Self::Input(text),
        }
    }

    /// Creates the failure for a file that cannot be written. `path` is the path that the user gave, not that
    /// of a temporary file.
    pub(crate) fn unwritten(path: &Path, error: &Error) -> Self {
        match error {
            Error::Io { source, .. } => Self::Unwritten(path.into(), source.to_string()),
            Error::Conflict { .. } => Self::Unwritten(path.into(), error.to_string()),
            _ => Self::of(path, error),
        }
    }

    /// Creates the failure for a request that the contents of the file do not permit, whatever the command
    /// line.
    pub(crate) fn refused(path: &Path, error: &Error) -> Self {
        Self::Refused(explain(path, error))
    }

    /// As [`of`](Self::of), for an object in an open file; the failure names a similar path if the object
    /// does not exist.
    pub(crate) fn within(path: &Path, file: &File, error: &Error) -> Self {
        let Error::NotFound { what: "object", name, .. } = error else { return Self::of(path, error) };
        if let Some((link, to)) = file.broken_link(name) {
            return Self::Input(format!(
                "{}: the link {link} leads to {}, which does not exist",
                path.display(),
                to.shown()
            ));
        }
        if let Some(meant) = file.nearest(name) {
            // The error may already propose a name, but only from one group.
            return Self::Input(format!(
                "{}: no object named {name:?} (did you mean {meant}?)",
                path.display()
            ));
        }
        Self::of(path, error)
    }

    /// Writes the failure to stderr and returns the exit status.
    pub(crate) fn report(&self) -> u8 {
        if let Self::Output(error) = self
            && error.kind() == io::ErrorKind::BrokenPipe
        {
            // If the reader closed the pipe, it has read enough; this is not a failure.
            return 0;
        }
        if !matches!(self, Self::Reported) {
            complain(&self.to_string());
        }
        match self {
            Self::Refused(_) => 1,
            Self::Usage(_) => 2,
            Self::Input(_) | Self::Reported => 3,
            Self::Output(_) | Self::Unwritten(..) => 4,
            Self::Interrupted => crate::interrupt::STATUS,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Input(text) | Self::Refused(text) => f.write_str(text),
            Self::Reported => Ok(()),
            Self::Output(error) => write!(f, "the output cannot be written: {error}"),
            Self::Unwritten(path, error) => {
                write!(f, "{}: the file cannot be written: {error}", path.display())
            }
            Self::Interrupted => f.write_str("interrupted; nothing was written"),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Fails if the file exists, unless `force` is true.
pub(crate) fn free(output: &Path, force: bool) -> Outcome<()> {
    if !force && output.symlink_metadata().is_ok() {
        let text = format!("{}: the file exists already (--force overwrites it)", output.display());
        return Err(Failure::Usage(text));
    }
    Ok(())
}

/// Writes one line to stderr that does not report a problem.
pub(crate) fn remark(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// Writes one line to stderr that reports a problem.
pub(crate) fn complain(text: &str) {
    let style = anstyle::Style::new().bold().fg_color(Some(anstyle::AnsiColor::Red.into()));
    let text = crate::look::safe(text);
    // If stderr is closed, the message is lost.
    let _ = writeln!(anstream::stderr().lock(), "{style}sciformats:{style:#} {text}");
}

/// Describes what happened, where and why, and what to do about it if something helps.
pub(crate) fn explain(path: &Path, error: &Error) -> String {
    let none = match error {
        Error::NotThisFormat { .. } => true,
        // What a folder is says more than that it is no file.
        Error::Io { source, .. } => source.kind() == io::ErrorKind::IsADirectory,
        _ => false,
    };
    if let Some((what, step)) = strange::named(path).filter(|_| none) {
        return strange::told(path, &what, &step);
    }
    let text = match error {
        // The message already names the file.
        Error::Io { path: Some(_), .. } => error.to_string(),
        _ => format!("{}: {error}", path.display()),
    };
    match advice(path, error) {
        Some(advice) => format!("{text} ({advice})"),
        None => text,
    }
}

/// Returns advice for an error, if there is some.
pub(crate) fn advice(path: &Path, error: &Error) -> Option<String> {
    match (error, error.blame()) {
        (Error::Io { source, .. }, _) if source.kind() == io::ErrorKind::NotFound => whole_file(path),
        (Error::LimitExceeded { what: "bytes to go through" | "bytes to write", .. }, _) => {
            Some("if you trust the file, raise the limit with --limit-unfolded".into())
        }
        (Error::LimitExceeded { what, .. }, _) if what.starts_with("bytes") => {
            Some("if you trust the file, raise the limit with --limit-memory".into())
        }
        (Error::Forbidden { path: Some(found), .. }, _) => {
            let folder = found.parent().unwrap_or(found);
            Some(format!("`--external {}` allows it", folder.display()))
        }
        (Error::Forbidden { path: None, .. }, _) => {
            Some("`--external` says which files may be opened".into())
        }
        (Error::NotFound { what: "object", .. }, _) => {
            Some(format!("`sciformats ls -r {}` lists what there is", path.display()))
        }
        // The path is a group where an array is needed, or a group of several arrays where one is needed.
        (Error::Usage { argument: "path" | "file", problem }, _) if problem.contains("array") => {
            Some(format!("`sciformats ls -r {}` lists what there is", path.display()))
        }
        (Error::Io { source, .. }, _) if source.kind() == io::ErrorKind::IsADirectory => {
            Some(format!("`sciformats ls {}` lists the files in it", path.display()))
        }
        (Error::Unsupported { feature: Some(feature), .. }, _) => {
            Some(format!("build the program with `--features {feature}`"))
        }
        (Error::NotThisFormat { .. }, _) => None,
        (_, Blame::File) => Some(format!("`sciformats verify {}` reports every fault", path.display())),
        _ => None,
    }
}

/// Returns advice if a command that reads whole files was given `FILE:/PATH`.
fn whole_file(path: &Path) -> Option<String> {
    let is_file = |word: &OsStr| Path::new(word).exists();
    let [file, inside] = crate::words::separated(path.as_os_str(), &is_file)?;
    let (file, inside) = (Path::new(&file).display(), inside.to_string_lossy().into_owned());
    Some(format!("this command takes a whole file; write {file} without {inside}"))
}
