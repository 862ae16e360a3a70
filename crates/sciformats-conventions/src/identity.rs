//! What a file is, and what to look at first.

use std::fmt;

/// The convention that a file follows, and how that is known.
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
    /// The name of the convention, as its makers write it.
    pub convention: &'static str,
    /// The version that the file says it follows.
    pub version: Option<String>,
    /// The program that wrote the file, as far as the file says.
    pub writer: Option<String>,
    /// What in the file shows it: attributes and members by their names.
    pub evidence: Vec<String>,
}

impl Identity {
    /// A convention that is known by what stands in the file.
    pub fn new(convention: &'static str, evidence: impl Into<String>) -> Self {
        Self { convention, version: None, writer: None, evidence: vec![evidence.into()] }
    }

    /// The same, of a version.
    #[must_use]
    pub fn with_version(self, version: Option<String>) -> Self {
        Self { version, ..self }
    }

    /// The same, written by a program.
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
    /// What the file is called in itself.
    pub title: Option<String>,
    /// The objects that hold what the file is about, the most telling first.
    pub highlights: Vec<Highlight>,
}

/// An object that is worth a look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Highlight {
    /// Its path.
    pub path: String,
    /// What it is: `signal`, `cells`, `layer dense_1`.
    pub what: String,
}

impl Outline {
    /// The same with one more object.
    #[must_use]
    pub fn with(mut self, path: impl Into<String>, what: impl Into<String>) -> Self {
        self.highlights.push(Highlight { path: path.into(), what: what.into() });
        self
    }
}
