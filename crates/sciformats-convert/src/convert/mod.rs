//! Converts files from one format to another, and lists everything that is lost.
//!
//! First a [`Plan`] is made: the tree as the target will hold it, and a list of what the target cannot hold.
//! Nothing is written until then. Elements are read when they are written, a few megabytes at a time.
//!
//! | what | where it goes |
//! |---|---|
//! | an array at `/` | `/data` in a tree, `/frames/0/data` in GSD |
//! | the only array of a file, or the selected one | `/` in a format of one array |
//! | an array of a tree, in GSD | frame 0, with its path as the name; an array at `/frames/i/…` keeps its frame |
//! | a name with slashes, from GSD | nested groups |
//! | an attribute, if the target has none | a member: `x@name` beside the array `x`, `@name` in a group; and back again |
//! | a scalar of a tree, if the target has none | an array without dimensions |
//! | the application and schema of GSD | the attributes `gsd:application` and `gsd:schema` of the root; and back again |
//! | truth values, in HDF5 | the enumeration of `FALSE` and `TRUE`; and back again |
//!
//! Every other change is a [`Loss`], such as a different type or shape, or a missing link or attribute.

mod frames;
mod plan;
pub(crate) mod references;
mod report;
mod rescue;
mod scalar;
mod single;
mod table;
mod tree;
mod view;
mod write;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sciformats::model::{Name, Value};
use sciformats::{Error, File, Format, OpenOptions, Opened, Result};

pub use self::report::{Counts, Loss, Lost, Remark};

use self::rescue::Rescue;
use self::write::Writing;
use crate::compare::Pattern;
use crate::manifest;
use crate::sink::{self, Sink, WriteOptions};

/// The attribute of the root that holds the bytes after the elements of a RawArray file.
const METADATA: &str = "rawarray:metadata";

/// Which objects are converted.
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
    /// Objects whose path matches are converted, with everything in them; without patterns, everything is.
    pub select: Vec<Pattern>,
    /// When this becomes true, writing ends with an error, and the target remains as it was.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl Options {
    /// Sets the patterns of the objects to convert.
    #[must_use]
    pub fn with_select<P: Into<Pattern>>(self, select: impl IntoIterator<Item = P>) -> Self {
        Self { select: select.into_iter().map(Into::into).collect(), ..self }
    }

    /// Sets a flag that cancels the writing.
    #[must_use]
    pub fn with_cancel(self, cancel: Arc<AtomicBool>) -> Self {
        Self { cancel: Some(cancel), ..self }
    }
}

/// A planned conversion.
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
    /// The file that is converted, as it was when it was opened.
    origin: Option<Opened>,
    losses: Vec<Loss>,
    remarks: Vec<(Remark, u64)>,
    counts: Counts,
    facts: Vec<(String, Value)>,
    metadata: Vec<u8>,
    rescue: Arc<Rescue>,
    unreached: Option<(String, Error)>,
}

impl Plan {
    /// Plans the conversion of `file` into `target`.
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
    /// assert_eq!(plan.tree().array("/")?.shape(), [2, 3]); // nothing is written yet
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if the target format is not built in;
    /// [`Error::NotFound`] if a pattern of the selection matches no object;
    /// [`Error::Usage`] if the target holds one array, but none or several are
    /// selected.
    pub fn new(file: &Arc<File>, target: Format, options: &Options) -> Result<Self> {
        plan::make(file, target, options)
    }

    /// Returns the format that is written.
    pub fn target(&self) -> Format {
        self.target
    }

    /// Returns what the target cannot hold, in the order of the source. The list is empty if nothing is lost.
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }

    /// Returns what the target holds in a different form, and how often.
    pub fn remarks(&self) -> &[(Remark, u64)] {
        &self.remarks
    }

    /// Returns how many things are written.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the tree as the target will hold it; its elements are read from the source.
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

    /// Writes the file. If it succeeds, the new file takes the place of an existing one.
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
    ///
    /// Those of [`sink`]; those of reading the source; `Io` of the kind `Interrupted` if it was cancelled.
    pub fn write(&self, path: impl AsRef<Path>, options: &WriteOptions) -> Result<()> {
        // Otherwise the last object could refuse them, after everything else was written.
        if options.chooses() {
            self.rehearse(options)?;
        }
        self.put(path.as_ref(), options, false)
    }

    /// Fails if [`write`](Self::write) would refuse the options: because the format does not know them, or because they do not fit an
    /// object. It reads no elements and writes nothing.
    ///
    /// ```
    /// use sciformats::Format;
    /// use sciformats_convert::convert::{Options, Plan};
    /// use sciformats_convert::sink::WriteOptions;
    /// use std::sync::Arc;
    ///
    /// # let u = sciformats::memory::array::<u8>(&[4], &[1, 2, 3, 4]);
    /// # let file = sciformats::File::from(sciformats::memory::Memory::single(Format::RawArray, u));
    /// let plan = Plan::new(&Arc::new(file), Format::Npy, &Options::default())?;
    /// assert!(plan.rehearse(&WriteOptions::default()).is_ok());
    /// assert!(plan.rehearse(&WriteOptions::default().with_filter("zlib")).is_err());
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`sink::rehearsal`]; those of reading attributes.
    pub fn rehearse(&self, options: &WriteOptions) -> Result<()> {
        self.rehearsed(sink::rehearsal(self.target, &self.completed(options))?, None)
    }

    /// Does the same as [`rehearse`](Self::rehearse) for [`rescue`](Self::rescue), and returns what would be left out because of the
    /// options.
    ///
    /// # Errors
    ///
    /// Those of [`rehearse`](Self::rehearse) that concern the whole file.
    pub fn rehearse_rescue(&self, options: &WriteOptions) -> Result<Vec<Loss>> {
        let sink = sink::rehearsal(self.target, &self.completed(options))?;
        // What is rescued of an HDF5 file is stored as it was, as far as it can be read, and options are fitted to it.
        #[cfg(feature = "hdf5")]
        if self.target == Format::Hdf5 && self.hdf5().is_some() {
            return Ok(Vec::new());
        }
        let rescue = Rescue::going_on();
        self.rehearsed(sink, Some(&rescue))?;
        Ok(rescue.take())
    }

    /// Takes all objects to a sink that writes nothing. With a rescue, those that it refuses are left out.
    fn rehearsed(&self, sink: Box<dyn Sink>, rescue: Option<&Rescue>) -> Result<()> {
        let mut writing = Writing {
            tree: &self.tree,
            sink,
            handles: HashMap::new(),
            unfolding: self.tree.writing(),
            rescue,
            #[cfg(feature = "hdf5")]
            like: None,
        };
        writing.all()?;
        writing.sink.finish()
    }

    /// Does the same as [`write`](Self::write), but continues past everything that cannot be read or written. Returns the
    /// losses that were found while doing so; no plan can know them, because only reading everything shows
    /// them. Lost elements become fill values of the source, or zeros if it has none; once a plan has rescued
    /// a file, its tree has these values too.
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
    ///
    /// Those of [`sink`] that concern the whole file; `Io` of the kind `Interrupted` if it was cancelled.
    pub fn rescue(&self, path: impl AsRef<Path>, options: &WriteOptions) -> Result<Vec<Loss>> {
        self.rescue.go_on();
        #[cfg(feature = "hdf5")]
        if let Some(losses) = self.rescued_as_stored(path.as_ref(), options)? {
            return Ok(losses);
        }
        self.put(path.as_ref(), options, true)?;
        Ok(self.rescue.take())
    }

    /// Returns the path of the object whose elements could not be read, if [`write`](Self::write) failed
    /// because of that.
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

    /// Returns the first array whose elements are in other files that are missing or may not be opened, and the error. Writing
    /// would end there; a rescue would continue without these elements.
    ///
    /// ```
    /// use sciformats::Format;
    /// use sciformats_convert::convert::{Options, Plan};
    /// use std::sync::Arc;
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("run.h5");
    /// # let mut made = hdf5_pure::Writer::create(&path)?;
    /// # let all = hdf5_pure::Slab::all(&[24])?;
    /// # made.dataset("week").shape([24]).map("monday.h5", "/t", &all, &all).create::<f32>()?;
    /// # made.finish()?;
    /// let plan = Plan::new(&Arc::new(sciformats::open(&path)?), Format::Npy, &Options::default())?;
    /// assert_eq!(plan.unreached().map(|(path, _)| path), Some("/week"));
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn unreached(&self) -> Option<(&str, &Error)> {
        self.unreached.as_ref().map(|(path, error)| (path.as_str(), error))
    }

    /// Rescues an HDF5 file into another one that stores every object as it was, as far as this can be read; `None` if the new file
    /// is another one, or could not be so.
    #[cfg(feature = "hdf5")]
    fn rescued_as_stored(&self, path: &Path, options: &WriteOptions) -> Result<Option<Vec<Loss>>> {
        let Some(file) = self.hdf5().filter(|_| self.target == Format::Hdf5) else { return Ok(None) };
        let bounds: &[&str] = match (&options.bound, file.superblock().version) {
            (Some(_), _) => &[""],
            (None, 0 | 1) => &["earliest", "2.0"],
            (None, 2) => &["1.8", "2.0"],
            (None, _) => &["1.10", "2.0"],
        };
        for bound in bounds {
            let bound = options.bound.clone().unwrap_or_else(|| (*bound).to_owned());
            let options = WriteOptions { bound: Some(bound), ..options.clone() };
            match self.put_like(path, &options, true, Some(file.clone())) {
                // An object needs structures that older programs do not know.
                Err(Error::Usage { argument: "bound", .. }) => self.rescue.forget(),
                done => return done.map(|()| Some(self.rescue.take())),
            }
        }
        Ok(None)
    }

    /// Returns the HDF5 file that is converted, if it is one.
    #[cfg(feature = "hdf5")]
    fn hdf5(&self) -> Option<hdf5_pure::File> {
        let view = self.tree.source().as_any().and_then(|any| any.downcast_ref::<view::View>())?;
        crate::repack::opened(&view.origin)
    }

    /// Returns options with what the plan knows of the file as a whole.
    fn completed(&self, options: &WriteOptions) -> WriteOptions {
        let mut options = options.clone();
        options.facts.extend(self.facts.iter().cloned());
        options.metadata.extend_from_slice(&self.metadata);
        options
    }

    fn put(&self, path: &Path, options: &WriteOptions, rescue: bool) -> Result<()> {
        self.put_like(
            path,
            options,
            rescue,
            #[cfg(feature = "hdf5")]
            None,
        )
    }

    fn put_like(
        &self,
        path: &Path,
        options: &WriteOptions,
        rescue: bool,
        #[cfg(feature = "hdf5")] like: Option<hdf5_pure::File>,
    ) -> Result<()> {
        let mut writing = Writing {
            tree: &self.tree,
            sink: sink::overwrite(path, self.target, &self.completed(options))?,
            handles: HashMap::new(),
            unfolding: self.tree.writing(),
            rescue: rescue.then_some(&*self.rescue),
            #[cfg(feature = "hdf5")]
            like,
        };
        writing.all()?;
        // Nothing is written that is partly old and partly new.
        self.origin.as_ref().map_or(Ok(()), Opened::check_unchanged)?;
        writing.sink.finish()
    }

    /// Compares the manifest of the file at `path` with that of the plan. Returns the first lines that
    /// differ, of the plan and of the file; `None` if the manifests agree.
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
    ///
    /// An error if the file cannot be opened.
    pub fn check(&self, path: impl AsRef<Path>, options: &OpenOptions) -> Result<Option<(String, String)>> {
        let written = File::open_with(path, options)?;
        let lines = |file: &File| {
            let mut out = Vec::new();
            manifest::write(file, &mut out)?;
            Ok::<_, sciformats::Error>(out)
        };
        let (planned, written) = (lines(&self.tree)?, lines(&written)?);
        // The first line names the format, which is the same by definition.
        let rest = |bytes: &[u8]| -> Vec<String> {
            let text = String::from_utf8_lossy(bytes);
            // In Blosc2, the shape and type of an array are also a metalayer.
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

/// Splits a path into the path of its group and its last part: `/a/b` is `b` in `/a`.
fn split(path: &str) -> (&str, &str) {
    let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
    (if parent.is_empty() { "/" } else { parent }, name)
}

/// Returns the bytes of a path that is shown as text.
fn stored(path: &str) -> Vec<u8> {
    let names: Vec<Name> = path.split('/').map(Name::from_shown).collect();
    names.iter().map(Name::as_bytes).collect::<Vec<_>>().join(&b'/')
}

/// Returns the path of `name` in the group at `path`.
fn within(path: &str, name: &str) -> String {
    sciformats::walk::join(path, &Name::from_shown(name))
}

#[cfg(test)]
mod tests;
