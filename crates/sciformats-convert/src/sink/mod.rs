//! Writing a file of any format: groups, arrays, attributes and links, as far as the format has them.
//!
//! A [`Sink`] is a file in the making. What is added is described first; the elements of arrays are not handed over but
//! asked for, slab by slab, when the file is written: each format asks in the order that suits it, and no array has to
//! fit in memory. The file appears at its path when it is complete, and not at all if something goes wrong before.
//!
//! What a format cannot hold it says in advance: see [`Rules`]. A plan that goes by the rules meets no refusal later.
//!
//! ```
//! use sciformats::memory::array;
//! use sciformats_convert::sink::{self, Elements, New, Place, WriteOptions};
//! use sciformats::Format;
//!
//! # let dir = tempfile::tempdir().map_err(|e| sciformats::Error::io("create", e))?;
//! # let path = dir.path().join("u.npy");
//! let u = Elements::from(array::<f32>(&[2, 2], &[1.0, 2.0, 3.0, 4.0]));
//! let mut sink = sink::create(&path, Format::Npy, &WriteOptions::default())?;
//! sink.add(Place::Root, New::Array(u))?;
//! sink.finish()?;
//! assert_eq!(sciformats::open(&path)?.array("/")?.read::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
//! # Ok::<(), sciformats::Error>(())
//! ```

#[cfg(feature = "asdf")]
mod asdf;
#[cfg(feature = "blosc2")]
mod blosc2;
mod elements;
#[cfg(feature = "gsd")]
mod gsd;
#[cfg(feature = "hdf5")]
mod hdf5;
mod npy;
#[cfg(feature = "rawarray")]
mod rawarray;
mod rules;
#[cfg(feature = "asdf")]
mod stream;

use std::path::Path;

#[cfg(any(feature = "blosc2", feature = "hdf5"))]
use sciformats_core::bound;
use sciformats_core::{Error, Limits};

#[cfg(feature = "asdf")]
pub(crate) use asdf::compression as asdf_compression;
#[cfg(feature = "blosc2")]
pub(crate) use blosc2::codec as blosc2_codec;
pub use elements::Elements;
#[cfg(feature = "hdf5")]
pub(crate) use hdf5::{bound as hdf5_bound, encode as hdf5_encode, filters as hdf5_filters};
pub use rules::{Fit, Layout, Rules, rules};

use sciformats::model::{AttributeValue, ElementType, Name, Value};
use sciformats::{Format, Result};

/// How a file is written.
///
/// ```
/// # #[cfg(feature = "hdf5")] {
/// use sciformats::Format;
/// use sciformats::memory::array;
/// use sciformats_convert::sink::{self, New, Place, WriteOptions};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("dark.h5");
/// let options = WriteOptions::default().with_chunks([10, 100]).with_filter("zlib");
/// let mut sink = sink::create(&path, Format::Hdf5, &options)?;
/// let root = sink.add(Place::Root, New::Group)?;
/// sink.add(Place::In(root, &"dark".into()), New::Array(array::<f32>(&[100, 100], &[0.5; 10_000]).into()))?;
/// sink.finish()?;
/// assert_eq!(sciformats::open(&path)?.array("/dark")?.info().chunks, Some(vec![10, 100]));
/// # }
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WriteOptions {
    /// The shape of the chunks, where a format has chunks; cut to the array, and whole in dimensions that it does not
    /// name. Chosen by the format unless given.
    pub chunks: Option<Vec<u64>>,
    /// What the elements pass through, in the format's own words: `zlib`, `lz4`, `zstd`, `none`.
    pub filter: Option<String>,
    /// How hard to compress, on the filter's own scale.
    pub level: Option<u32>,
    /// The oldest release of the format's library that must be able to read the file: of HDF5 `earliest`, `1.8`, `1.10`, `1.12`
    /// or `2.0`. Other formats have one version.
    pub bound: Option<String>,
    /// Whether elements that an HDF5 file has in other files and datasets come into the new file; where they are kept apart
    /// otherwise, they stay there.
    pub inline: bool,
    /// Threads that one call may use; 0 for as many as the machine has.
    pub threads: usize,
    /// What the writer may hold in memory at a time.
    pub limits: Limits,
    /// What a format notes about a file as a whole: its application and schema. See
    /// [`Source::facts`](sciformats::Source::facts) of the same format; others are ignored.
    pub facts: Vec<(String, Value)>,
    /// What follows the elements in RawArray; other formats have no place for it and ignore it.
    pub metadata: Vec<u8>,
}

impl WriteOptions {
    /// The same with another shape of the chunks.
    #[must_use]
    pub fn with_chunks(self, chunks: impl Into<Vec<u64>>) -> Self {
        Self { chunks: Some(chunks.into()), ..self }
    }

    /// The same with another filter.
    #[must_use]
    pub fn with_filter(self, filter: impl Into<String>) -> Self {
        Self { filter: Some(filter.into()), ..self }
    }

    /// The same with another level.
    #[must_use]
    pub fn with_level(self, level: u32) -> Self {
        Self { level: Some(level), ..self }
    }

    /// The same for another oldest release of the format's library.
    #[must_use]
    pub fn with_bound(self, bound: impl Into<String>) -> Self {
        Self { bound: Some(bound.into()), ..self }
    }

    /// The same with elements of other files in the new one, or without.
    #[must_use]
    pub fn with_inline(self, inline: bool) -> Self {
        Self { inline, ..self }
    }

    /// The same with another number of threads.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The same with other facts about the file as a whole.
    #[must_use]
    pub fn with_facts(self, facts: Vec<(String, Value)>) -> Self {
        Self { facts, ..self }
    }

    /// What a file notes under `key`, as text.
    #[cfg_attr(not(feature = "gsd"), allow(dead_code, reason = "only GSD has facts of its own"))]
    fn fact(&self, key: &str) -> Option<String> {
        self.facts.iter().find(|(name, _)| name == key).map(|(_, value)| value.to_string())
    }
}

/// An object of a file that is being written.
///
/// ```
/// # #[cfg(feature = "hdf5")] {
/// use sciformats::Format;
/// use sciformats_convert::sink::{self, New, Place, WriteOptions};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("run.h5");
/// let mut sink = sink::create(&path, Format::Hdf5, &WriteOptions::default())?;
/// let root = sink.add(Place::Root, New::Group)?;
/// let run = sink.add(Place::In(root, &"run".into()), New::Group)?; // in `root`
/// sink.add(Place::In(root, &"latest".into()), New::Hard(run))?;
/// sink.finish()?;
/// # }
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(pub u64);

/// Where an object is to stand.
///
/// ```
/// # #[cfg(feature = "asdf")] {
/// use sciformats::Format;
/// use sciformats::memory::array;
/// use sciformats_convert::sink::{self, New, Place, WriteOptions};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("run.asdf");
/// let mut sink = sink::create(&path, Format::Asdf, &WriteOptions::default())?;
/// let root = sink.add(Place::Root, New::Group)?;
/// let u = array::<f32>(&[2], &[1.0, 2.0]);
/// sink.add(Place::In(root, &"u".into()), New::Array(u.into()))?;
/// sink.finish()?;
/// assert_eq!(sciformats::open(&path)?.array("/u")?.read::<f32>()?, [1.0, 2.0]);
/// # }
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// At `/`. The first object of every file.
    Root,
    /// In a group, under a name that the group does not have yet.
    In(Handle, &'a Name),
}

/// What is added.
///
/// ```
/// # #[cfg(feature = "asdf")] {
/// use sciformats_convert::sink::{self, New, Place, WriteOptions};
/// use sciformats::{Format, Object, Value};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("run.asdf");
/// let mut sink = sink::create(&path, Format::Asdf, &WriteOptions::default())?;
/// let root = sink.add(Place::Root, New::Group)?;
/// sink.add(Place::In(root, &"exposure".into()), New::Value(&Value::from(30.0)))?;
/// sink.finish()?;
/// assert!(matches!(sciformats::open(&path)?.object("/exposure")?, Object::Value(Value::Float(30.0))));
/// # }
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum New<'a> {
    /// A group without members.
    Group,
    /// An array.
    Array(Elements),
    /// A committed datatype.
    Datatype(&'a ElementType),
    /// A scalar of the tree.
    Value(&'a Value),
    /// Another link to an object that was added before.
    Hard(Handle),
    /// A path in the same file.
    Soft(&'a Name),
    /// A path in another file.
    External {
        /// The file.
        file: &'a Name,
        /// The path in it.
        target: &'a Name,
    },
}

/// A file that is being written. There is one adapter a format.
///
/// ```
/// use sciformats::memory::array;
/// use sciformats_convert::sink::{self, New, Place, Sink, WriteOptions};
/// use sciformats::{Format, Result};
///
/// /// Writes a row of numbers, whatever the format.
/// fn write_row(mut sink: Box<dyn Sink>, values: &[f64]) -> Result<()> {
///     sink.add(Place::Root, New::Array(array(&[values.len() as u64], values).into()))?;
///     sink.finish()
/// }
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("row.npy");
/// write_row(sink::create(&path, Format::Npy, &WriteOptions::default())?, &[0.5, 1.5])?;
/// assert_eq!(sciformats::open(&path)?.array("/")?.read::<f64>()?, [0.5, 1.5]);
/// # Ok::<(), sciformats::Error>(())
/// ```
pub trait Sink {
    /// Adds an object.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for what the [`Rules`] of the format rule out; [`Error::Usage`] for a place that is taken
    /// or is not in a group; those of reading elements.
    fn add(&mut self, place: Place<'_>, object: New<'_>) -> Result<Handle>;

    /// Adds an attribute to an object.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    fn attribute(&mut self, object: Handle, name: &Name, value: &AttributeValue) -> Result<()>;

    /// Writes what has not been written and puts the file in its place.
    ///
    /// # Errors
    /// `Io`; those of reading elements. There is then no new file, and one that was there before is as it was.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Begins a file at `path`, to take the place of one that may be there.
///
/// ```
/// use sciformats::Format;
/// use sciformats::memory::array;
/// use sciformats_convert::sink::{self, New, Place, WriteOptions};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("u.npy");
/// let mut sink = sink::create(&path, Format::Npy, &WriteOptions::default())?;
/// sink.add(Place::Root, New::Array(array::<u8>(&[2], &[1, 2]).into()))?;
/// assert!(!path.exists()); // not before it is complete
/// sink.finish()?;
/// assert!(path.exists());
/// # Ok::<(), sciformats::Error>(())
/// ```
///
/// # Errors
/// [`Error::Unsupported`] for a format that cannot be written as built; [`Error::Usage`] for options that the format
/// does not know; `Io`.
pub fn create(path: impl AsRef<Path>, format: Format, options: &WriteOptions) -> Result<Box<dyn Sink>> {
    let path = path.as_ref();
    match format {
        #[cfg(feature = "asdf")]
        Format::Asdf => asdf::create(path, options),
        #[cfg(feature = "blosc2")]
        Format::Blosc2 => blosc2::create(path, options),
        #[cfg(feature = "gsd")]
        Format::Gsd => gsd::create(path, options),
        #[cfg(feature = "hdf5")]
        Format::Hdf5 => hdf5::create(path, options),
        Format::Npy => npy::create(path, options),
        #[cfg(feature = "rawarray")]
        Format::RawArray => rawarray::create(path, options),
        #[allow(unreachable_patterns, reason = "with all formats built in, none is absent")]
        other => Err(rules::absent(other)),
    }
}

/// The error for an object that the rules of a format rule out.
fn refused(format: Format, what: impl std::fmt::Display) -> Error {
    Error::unsupported(format!("{what} in {format}"))
}

/// Refuses options that a format knows nothing of.
/// Bytes of a chunk whose shape a target takes from the source: a chunk is in memory as a whole while it is written.
#[cfg(any(feature = "blosc2", feature = "hdf5"))]
const CHUNK: u64 = 32 << 20;

/// The shape of the source's chunks, if it has any, halved from the slowest dimension on until a chunk is no larger than it
/// has to be: in the source it may be a single value.
#[cfg(any(feature = "blosc2", feature = "hdf5"))]
fn moderate(info: &sciformats::ArrayInfo) -> Option<Vec<u64>> {
    let mut chunks = info.chunks.clone()?;
    let size = info.element.size().or(info.width).unwrap_or(1);
    for axis in 0..chunks.len() {
        while chunks.iter().fold(size, |bytes, &side| bound::product(bytes, side)) > CHUNK {
            match chunks.get_mut(axis) {
                Some(side) if *side > 1 => *side = side.div_ceil(2),
                _ => break,
            }
        }
    }
    Some(chunks)
}

fn refuse_options(format: Format, options: &WriteOptions, (chunks, filters): (bool, bool)) -> Result<()> {
    refuse_bound(format, options)?;
    if options.chunks.is_some() && !chunks {
        return Err(Error::usage("chunks", format!("mean nothing in {format}")));
    }
    let filter = options.filter.as_deref().filter(|filter| *filter != "none");
    if let (Some(filter), false) = (filter, filters) {
        return Err(Error::usage("filter", format!("{filter} means nothing in {format}")));
    }
    Ok(())
}

pub(crate) fn refuse_bound(format: Format, options: &WriteOptions) -> Result<()> {
    match options.bound {
        Some(_) => Err(Error::usage("bound", format!("means nothing in {format}"))),
        None => Ok(()),
    }
}

/// The error for a file without anything in it.
fn empty() -> Error {
    Error::usage("file", "has no array yet")
}

/// A file that holds one array and nothing else.
struct Single<W> {
    format: Format,
    elements: Option<Elements>,
    write: W,
}

impl<W: FnOnce(Elements) -> Result<()>> Single<W> {
    fn new(format: Format, write: W) -> Self {
        Self { format, elements: None, write }
    }
}

impl<W: FnOnce(Elements) -> Result<()>> Sink for Single<W> {
    fn add(&mut self, place: Place<'_>, object: New<'_>) -> Result<Handle> {
        match (place, object) {
            (Place::Root, New::Array(elements)) if self.elements.is_none() => {
                rules(self.format)?.check(&elements)?;
                self.elements = Some(elements);
                Ok(Handle(0))
            }
            _ => Err(refused(self.format, "anything but one array")),
        }
    }

    fn attribute(&mut self, _: Handle, name: &Name, _: &AttributeValue) -> Result<()> {
        Err(refused(self.format, format!("an attribute such as {name}")))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self { elements, write, .. } = *self;
        write(elements.ok_or_else(empty)?)
    }
}

#[cfg(test)]
mod tests;
