//! How the program ends: the answer, or why there is none.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sciformats::{Blame, Error, File};

use crate::strange;

/// The answer of a command that was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Yes: nothing is wrong, nothing differs.
    Yes,
    /// No: there is damage, there are differences.
    No,
}

impl Answer {
    pub(crate) fn of(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }

    /// The exit status that says so.
    pub(crate) fn status(self) -> u8 {
        match self {
            Self::Yes => 0,
            Self::No => 1,
        }
    }
}

/// Why a command could not be carried out.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line is wrong.
    Usage(String),
    /// The input cannot be read.
    Input(String),
    /// What was asked for cannot be done with this content: the answer is no.
    Refused(String),
    /// Some input could not be read, and that was reported already.
    Reported,
    /// What goes to stdout cannot be written.
    Output(io::Error),
    /// A file cannot be written: which, and why.
    Unwritten(PathBuf, String),
    /// The user stopped it.
    Interrupted,
}

/// The result of a command.
pub(crate) type Outcome<T = Answer> = Result<T, Failure>;

impl Failure {
    /// A failure about a file: wrong usage if the caller is to blame, unreadable input otherwise.
    pub(crate) fn of(path: &Path, error: &Error) -> Self {
        let text = explain(path, error);
        match error {
            Error::Usage { .. } => Self::Usage(text),
            _ => Self::Input(text),
        }
    }

    /// A failure to write the file at `path`: the path of the caller's, whatever the name of a temporary one.
    pub(crate) fn unwritten(path: &Path, error: &Error) -> Self {
        match error {
            Error::Io { source, .. } => Self::Unwritten(path.into(), source.to_string()),
            Error::Conflict { .. } => Self::Unwritten(path.into(), error.to_string()),
            _ => Self::of(path, error),
        }
    }

    /// A failure that comes from what the file holds, however the command is spelled.
    pub(crate) fn refused(path: &Path, error: &Error) -> Self {
        Self::Refused(explain(path, error))
    }

    /// As [`of`](Self::of), of an object in a file that is open: another one may have been meant.
    pub(crate) fn within(path: &Path, file: &File, error: &Error) -> Self {
        if let Error::NotFound { what: "object", name, .. } = error
            && let Some(meant) = file.nearest(name)
        {
            // The error may have a proposal of its own, of one group alone.
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
            // The reader has seen enough; that is not a failure.
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
            Self::Output(error) => write!(f, "cannot write the output: {error}"),
            Self::Unwritten(path, error) => write!(f, "{}: cannot be written: {error}", path.display()),
            Self::Interrupted => f.write_str("interrupted; nothing was written"),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Refuses to overwrite a file unless that is wanted.
pub(crate) fn free(output: &Path, force: bool) -> Outcome<()> {
    if !force && output.symlink_metadata().is_ok() {
        let text = format!("{}: is there already (--force takes its place)", output.display());
        return Err(Failure::Usage(text));
    }
    Ok(())
}

/// Writes one line to stderr that is no complaint.
pub(crate) fn remark(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// Writes one line to stderr.
pub(crate) fn complain(text: &str) {
    let style = anstyle::Style::new().bold().fg_color(Some(anstyle::AnsiColor::Red.into()));
    let text = crate::look::safe(text);
    // Nobody is left to be told if stderr is gone.
    let _ = writeln!(anstream::stderr().lock(), "{style}sciformats:{style:#} {text}");
}

/// What, where and why, and what to do about it where something can be done.
pub(crate) fn explain(path: &Path, error: &Error) -> String {
    let none = matches!(error, Error::Unsupported { .. }) && error.to_string().contains("that is none of");
    if let Some((what, step)) = strange::named(path).filter(|_| none || path.is_dir()) {
        return strange::told(path, &what, &step);
    }
    let text = match error {
        // Names the file itself.
        Error::Io { path: Some(_), .. } => error.to_string(),
        _ => format!("{}: {error}", path.display()),
    };
    match advice(path, error) {
        Some(advice) => format!("{text} ({advice})"),
        None => text,
    }
}

/// What helps.
pub(crate) fn advice(path: &Path, error: &Error) -> Option<String> {
    match (error, error.blame()) {
        (Error::LimitExceeded { what: "bytes to go through" | "bytes to write", .. }, _) => {
            Some("raise it with --limit-unfolded if you trust the file".into())
        }
        (Error::LimitExceeded { what, .. }, _) if what.starts_with("bytes") => {
            Some("raise it with --limit-memory if you trust the file".into())
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
        // A group where an array was wanted, or several arrays where one was.
        (Error::Usage { argument: "path" | "file", problem }, _) if problem.contains("array") => {
            Some(format!("`sciformats ls -r {}` lists what there is", path.display()))
        }
        (Error::Io { source, .. }, _) if source.kind() == io::ErrorKind::IsADirectory => {
            Some(format!("`sciformats ls {}` lists the files in it", path.display()))
        }
        (Error::Unsupported { feature: Some(feature), .. }, _) => {
            Some(format!("build the program with `--features {feature}`"))
        }
        (_, Blame::File) => Some(format!("`sciformats verify {}` tells every fault", path.display())),
        _ => None,
    }
}
