//! The convention of a file, and what to look at first.

use std::fmt;

/// The convention that a file follows, and the evidence for it.
///
/// ```no_run
/// let data = sciformats_conventions::Dataset::open("weather.nc")?;
/// if let Some(identity) = data.identity()? {
///     println!("{identity}, written by {}", identity.writer.as_deref().unwrap_or("nobody knows what"));
/// }
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Identity {
    /// The name of the convention, as its authors write it.
    pub convention: &'static str,
    /// The version that the file declares.
    pub version: Option<String>,
    /// The program that wrote the file, if the file names it.
    pub writer: Option<String>,
    /// The attributes and members that identify the convention, by name.
    pub evidence: Vec<String>,
}

impl Identity {
    /// Creates the identity of a convention that was recognised by the contents of a file.
    pub fn new(convention: &'static str, evidence: impl Into<String>) -> Self {
        Self { convention, version: None, writer: None, evidence: vec![evidence.into()] }
    }

    /// Sets the version.
    #[must_use]
    pub fn with_version(self, version: Option<String>) -> Self {
        Self { version, ..self }
    }

    /// Sets the program that wrote the file.
    #[must_use]
    pub fn with_writer(self, writer: Option<String>) -> Self {
        Self { writer, ..self }
    }
}

/// `CF 1.11`, `AnnData 0.1.0`.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.version {
            Some(version) => write!(f, "{} {version}", self.convention),
            None => f.write_str(self.convention),
        }
    }
}

/// What to look at first in a file.
///
/// ```no_run
/// let data = sciformats_conventions::Dataset::open("cells.h5ad")?;
/// for highlight in data.outline()?.highlights {
///     println!("{}: {}", highlight.path, highlight.what);
/// }
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outline {
    /// The title of the file.
    pub title: Option<String>,
    /// The objects that the file is about, the most important first.
    pub highlights: Vec<Highlight>,
}

/// An object to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Highlight {
    /// Its path.
    pub path: String,
    /// What it is: `signal`, `cells`, `layer dense_1`.
    pub what: String,
}

impl Outline {
    /// Adds an object.
    #[must_use]
    pub fn with(mut self, path: impl Into<String>, what: impl Into<String>) -> Self {
        self.highlights.push(Highlight { path: path.into(), what: what.into() });
        self
    }
}
