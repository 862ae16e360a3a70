//! From one format into another, with nothing lost in silence.
//!
//! A [`Plan`] is made first: the tree as the target will hold it, and a list of what the target cannot hold. Nothing is
//! written before. Elements are read when they are written, a few megabytes at a time.
//!
//! | what | goes where |
//! |---|---|
//! | an array at `/` | `/data` in a tree, `/frames/0/data` in GSD |
//! | the only array of a file, or the one that is selected | `/` in a format of one array |
//! | an array of a tree | frame 0 of GSD, under its path as a name; one at `/frames/i/…` stays there |
//! | a name with slashes, in GSD | groups in groups |
//! | an attribute, where there are none | a member: `x@name` beside the array `x`, `@name` in a group; and back |
//! | a scalar of a tree, where there are none | an array without dimensions |
//! | application and schema of GSD | attributes `gsd:application` and `gsd:schema` of the root; and back |
//! | truth values, where there are none | HDF5's enumeration of `FALSE` and `TRUE`; and back |
//!
//! All else that changes is a [`Loss`]: another type or shape, links and attributes that go missing.

mod frames;
mod plan;
pub(crate) mod references;
mod report;
mod rescue;
mod scalar;
mod single;
mod tree;
mod view;
mod write;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sciformats::model::{Name, Value};
use sciformats::{File, Format, OpenOptions, Result};

pub use self::report::{Counts, Loss, Lost, Remark};

use self::rescue::Rescue;
use self::write::Writing;
use crate::compare::Pattern;
use crate::manifest;
use crate::sink::{self, WriteOptions};

/// The attribute of the root that holds what a RawArray file has after its elements.
const METADATA: &str = "rawarray:metadata";

/// What is converted.
///
/// ```
/// use sciformats::Format;
/// use sciformats_convert::convert::{Options, Plan};
/// use std::sync::Arc;
///
/// # let mut tree = sciformats::memory::Memory::new(Format::Hdf5);
/// # for name in ["u", "v"] {
/// #     tree.array(tree.root(), name, sciformats::memory::array::<f64>(&[2], &[1.0, 2.0]));
/// # }
/// # let file = Arc::new(sciformats::File::from(tree));
/// assert!(Plan::new(&file, Format::Npy, &Options::default()).is_err()); // there are two arrays
/// let options = Options::default().with_select(["/u"]);
/// assert_eq!(Plan::new(&file, Format::Npy, &options)?.counts().arrays, 1);
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// Objects with such a path, with all that is in them; everything if there is no pattern.
    pub select: Vec<Pattern>,
    /// Ends the writing when it becomes true, as if by an error; the target is then as it was.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl Options {
    /// The same with other objects selected.
    #[must_use]
    pub fn with_select<P: Into<Pattern>>(self, select: impl IntoIterator<Item = P>) -> Self {
        Self { select: select.into_iter().map(Into::into).collect(), ..self }
    }

    /// The same with a flag that ends the writing.
    #[must_use]
    pub fn with_cancel(self, cancel: Arc<AtomicBool>) -> Self {
        Self { cancel: Some(cancel), ..self }
    }
}

/// A conversion that has been thought through.
///
/// ```no_run
/// use sciformats::Format;
/// use sciformats_convert::convert::{Options, Plan};
/// use std::sync::Arc;
///
/// let file = Arc::new(sciformats::open("run.h5")?);
/// let plan = Plan::new(&file, Format::Asdf, &Options::default())?;
/// for loss in plan.losses() {
///     println!("lost: {} {}", loss.path, loss.what);
/// }
/// plan.write("run.asdf", &Default::default())?;
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Debug)]
pub struct Plan {
    target: Format,
    tree: Arc<File>,
    losses: Vec<Loss>,
    remarks: Vec<(Remark, u64)>,
    counts: Counts,
    facts: Vec<(String, Value)>,
    metadata: Vec<u8>,
    rescue: Arc<Rescue>,
}

impl Plan {
    /// Thinks the conversion of `file` into `target` through.
    ///
    /// ```
    /// use sciformats::Format;
    /// use sciformats_convert::convert::{Options, Plan};
    /// use std::sync::Arc;
    ///
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// let plan = Plan::new(&Arc::new(file), Format::Npy, &Options::default())?;
    /// assert_eq!(plan.tree().array("/")?.shape(), Some(&[2, 3][..])); // nothing is written yet
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsupported`](sciformats::Error::Unsupported) if the target cannot be written as built;
    /// [`Error::Usage`](sciformats::Error::Usage) if it holds one array, and the file none or several that are selected.
    pub fn new(file: &Arc<File>, target: Format, options: &Options) -> Result<Self> {
        plan::make(file, target, options)
    }

    /// The format that is written.
    pub fn target(&self) -> Format {
        self.target
    }

    /// What the target cannot hold, in the order of the source. Empty if nothing is lost.
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }

    /// What the target holds in its own way, and how often.
    pub fn remarks(&self) -> &[(Remark, u64)] {
        &self.remarks
    }

    /// What is written.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The tree as the target will hold it; its elements are read from the source.
    ///
    /// ```
    /// use sciformats::Format;
    /// use sciformats_convert::convert::{Options, Plan};
    /// use std::sync::Arc;
    ///
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// let plan = Plan::new(&Arc::new(file), Format::Npy, &Options::default())?;
    /// assert_eq!(plan.tree().array("/")?.read::<f64>()?, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn tree(&self) -> &File {
        &self.tree
    }

    /// Writes the file, in place of one that may be there, when all is well.
    ///
    /// ```
    /// use sciformats::Format;
    /// use sciformats_convert::convert::{Options, Plan};
    /// use sciformats_convert::sink::WriteOptions;
    /// use std::sync::Arc;
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("u.npy");
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// let plan = Plan::new(&Arc::new(file), Format::Npy, &Options::default())?;
    /// plan.write(&path, &WriteOptions::default())?;
    /// assert_eq!(sciformats::open(&path)?.format(), Format::Npy);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sink`]; those of reading the source; `Io` of the kind `Interrupted` if it was cancelled.
    pub fn write(&self, path: impl AsRef<Path>, options: &WriteOptions) -> Result<()> {
        self.put(path.as_ref(), options, false)
    }

    /// As [`write`](Self::write), but goes on past what cannot be read or cannot be written, and answers with these losses:
    /// those that no plan can know, as nothing else tells of them than reading everything. Elements that are lost are fill
    /// values of the source, zeros where it has none; a plan that has rescued once has them from then on.
    ///
    /// ```
    /// use sciformats::Format;
    /// use sciformats_convert::convert::{Options, Plan};
    /// use sciformats_convert::sink::WriteOptions;
    /// use std::sync::Arc;
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("u.npy");
    /// # let u = sciformats::memory::array::<u8>(&[4], &[1, 2, 3]);
    /// # let file = sciformats::File::from(sciformats::memory::Memory::single(Format::RawArray, u));
    /// let plan = Plan::new(&Arc::new(file), Format::Npy, &Options::default())?;
    /// for loss in plan.rescue(&path, &WriteOptions::default())? {
    ///     println!("{} {}", loss.path, loss.what);
    /// }
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`sink`] that concern the whole file; `Io` of the kind `Interrupted` if it was cancelled.
    pub fn rescue(&self, path: impl AsRef<Path>, options: &WriteOptions) -> Result<Vec<Loss>> {
        self.rescue.go_on();
        self.put(path.as_ref(), options, true)?;
        Ok(self.rescue.take())
    }

    /// The path of the object whose elements could not be read, after [`write`](Self::write) has failed because of that.
    ///
    /// ```
    /// use sciformats_convert::convert::{Options, Plan};
    /// use sciformats::memory::{Memory, array};
    /// use sciformats::{File, Format};
    /// use sciformats_convert::sink::WriteOptions;
    /// use std::sync::Arc;
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("u.npy");
    /// let file = Arc::new(File::from(Memory::single(Format::RawArray, array::<u8>(&[4], &[1, 2, 3]))));
    /// let plan = Plan::new(&file, Format::Npy, &Options::default())?;
    /// assert!(plan.write(&path, &WriteOptions::default()).is_err());
    /// assert_eq!(plan.unread().as_deref(), Some("/"));
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn unread(&self) -> Option<String> {
        self.rescue.unread()
    }

    fn put(&self, path: &Path, options: &WriteOptions, rescue: bool) -> Result<()> {
        let mut options = options.clone();
        options.facts.extend(self.facts.iter().cloned());
        options.metadata.extend_from_slice(&self.metadata);
        let mut writing = Writing {
            tree: &self.tree,
            sink: sink::create(path, self.target, &options)?,
            handles: HashMap::new(),
            unfolding: self.tree.writing(),
            rescue: rescue.then_some(&*self.rescue),
        };
        writing.all()?;
        writing.sink.finish()
    }

    /// Compares the manifest of the file at `path` with that of the plan, and returns the first lines that differ: of the
    /// plan, and of the file. `None` if they agree.
    ///
    /// ```
    /// use sciformats::Format;
    /// use sciformats_convert::convert::{Options, Plan};
    /// use sciformats::OpenOptions;
    /// use sciformats_convert::sink::WriteOptions;
    /// use std::sync::Arc;
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("u.npy");
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// let plan = Plan::new(&Arc::new(file), Format::Npy, &Options::default())?;
    /// plan.write(&path, &WriteOptions::default())?;
    /// assert_eq!(plan.check(&path, &OpenOptions::default())?, None); // all is there
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn check(&self, path: impl AsRef<Path>, options: &OpenOptions) -> Result<Option<(String, String)>> {
        let written = File::open_with(path, options)?;
        let lines = |file: &File| {
            let mut out = Vec::new();
            manifest::write(file, &mut out)?;
            Ok::<_, sciformats::Error>(out)
        };
        let (planned, written) = (lines(&self.tree)?, lines(&written)?);
        // The first line names the format; both have it by then.
        let rest = |bytes: &[u8]| -> Vec<String> {
            let text = String::from_utf8_lossy(bytes);
            // Shape and type of a Blosc2 array are a metalayer too.
            let lines = text.lines().skip(1).filter(|line| !line.contains(r#""name":"meta:b2nd""#));
            lines.map(String::from).collect()
        };
        let (planned, written) = (rest(&planned), rest(&written));
        let longest = planned.len().max(written.len());
        let line = |lines: &[String], i: usize| lines.get(i).cloned().unwrap_or_default();
        let differ = (0..longest).find(|&i| planned.get(i) != written.get(i));
        Ok(differ.map(|i| (line(&planned, i), line(&written, i))))
    }
}

/// The last part of a path and what comes before it: `/a/b` is `b` in `/a`.
fn split(path: &str) -> (&str, &str) {
    let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
    (if parent.is_empty() { "/" } else { parent }, name)
}

/// The path of `name` in the group at `path`.
fn within(path: &str, name: &str) -> String {
    sciformats::walk::join(path, &Name::from_shown(name))
}

#[cfg(test)]
mod tests;
