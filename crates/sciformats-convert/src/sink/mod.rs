//! Writes a file of any format: groups, arrays, attributes and links, as far as the format has them.
//!
//! A [`Sink`] is a file that is being written. Objects are described first. The elements of arrays are not
//! passed in but requested, slab by slab, when the file is written: each format requests them in the order
//! that suits it, and no array has to fit in memory. The file appears at its path when it is complete; if
//! something fails before that, it does not appear at all.
//!
//! Each format says in advance what it cannot hold: see [`Rules`]. A plan that follows the rules is not
//! refused later.
//!
//! ```
//! use sciformats::memory::array;
//! use sciformats_convert::sink::{self, Elements, New, Place, WriteOptions};
//! use sciformats::Format;
//!
//! # let dir = tempfile::tempdir().map_err(|e| sciformats::Error::io("create", e))?;
//! # let path = dir.path().join("u.npy");
//! let u = Elements::from(array::<f32>(&[2, 2], &[1.0, 2.0, 3.0, 4.0]));
//! let mut sink = sink::overwrite(&path, Format::Npy, &WriteOptions::default())?;
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
pub(crate) mod gsd;
#[cfg(feature = "hdf5")]
mod hdf5;
mod npy;
#[cfg(feature = "rawarray")]
pub(crate) mod rawarray;
mod rounding;
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
pub(crate) use elements::elements_of;
#[cfg(feature = "hdf5")]
pub(crate) use hdf5::{CHECKED, bound as hdf5_bound, encode as hdf5_encode, filters as hdf5_filters};
pub use rules::{Fit, Layout, Rules, rules};

use crate::compare::Pattern;
pub use rounding::Rounding;
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
/// let mut sink = sink::overwrite(&path, Format::Hdf5, &options)?;
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
    /// The shape of the chunks, if the format has chunks. It is cut to the array; dimensions that it does not
    /// name are whole. Without it the format chooses the chunks.
    pub chunks: Option<Vec<u64>>,
    /// The compression, in the terms of the format: `zlib`, `lz4`, `zstd`, `none`.
    pub filter: Option<String>,
    /// The compression level, on the scale of the compression.
    pub level: Option<u32>,
    /// The oldest release of the library of the format that must be able to read the file: for HDF5
    /// `earliest`, `1.8`, `1.10`, `1.12` or `2.0`. Other formats have one version.
    pub bound: Option<String>,
    /// Whether elements that an HDF5 file stores in other files or datasets are copied into the new file.
    /// Otherwise they stay where they are, as far as the format permits.
    pub inline: bool,
    /// The number of threads that one call may use; 0 means as many as the machine has.
    pub threads: usize,
    /// Limits of the memory that the writer may use.
    pub limits: Limits,
    /// What a format records about a file as a whole: its application and schema. See
    /// [`Source::facts`](sciformats::Source::facts) of the same format; other facts are ignored.
    pub facts: Vec<(String, Value)>,
    /// The bytes that follow the elements in RawArray; other formats ignore them.
    pub metadata: Vec<u8>,
    /// The bytes in front of the superblock of a new HDF5 file, which other programs put there: none, or 512, 1024, 2048 and so on.
    /// `repack` keeps those that the file has, and other formats ignore them.
    pub user_block: Vec<u8>,
    /// The size in bytes of the pages in which `repack` allocates an HDF5 file, from 512 bytes to 1 GiB. Without it, `repack`
    /// keeps what the file has.
    pub page_size: Option<u64>,
    /// Whether `repack` puts all structures of an HDF5 file before its elements.
    pub metadata_first: bool,
    /// How `repack` rounds the floating-point numbers of an HDF5 file. The new file does not have the same values then.
    pub rounding: Option<Rounding>,
    /// How `repack` stores single datasets of an HDF5 file. Of the rules whose pattern matches a dataset the first one holds, in
    /// place of `chunks`, `filter` and `level`.
    pub rules: Vec<Rule>,
}

/// How the datasets whose paths match a pattern are stored.
///
/// ```
/// use sciformats_convert::sink::{Rule, WriteOptions};
///
/// let rule = Rule { chunks: Some(vec![100, 10, 10]), ..Rule::of("/tas") };
/// assert_eq!(WriteOptions::default().with_rule(rule.clone()).rules, [rule]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The pattern of the paths.
    pub path: Pattern,
    /// The shape of the chunks. It is cut to the dataset; without it, the chunks stay as they are.
    pub chunks: Option<Vec<u64>>,
    /// The compression. Without it, the filters stay as they are.
    pub filter: Option<String>,
    /// The compression level.
    pub level: Option<u32>,
}

impl Rule {
    /// A rule that changes nothing.
    pub fn of(path: &str) -> Self {
        Self { path: path.into(), chunks: None, filter: None, level: None }
    }
}

impl WriteOptions {
    /// Sets the shape of the chunks.
    #[must_use]
    pub fn with_chunks(self, chunks: impl Into<Vec<u64>>) -> Self {
        Self { chunks: Some(chunks.into()), ..self }
    }

    /// Sets the compression.
    #[must_use]
    pub fn with_filter(self, filter: impl Into<String>) -> Self {
        Self { filter: Some(filter.into()), ..self }
    }

    /// Sets the compression level.
    #[must_use]
    pub fn with_level(self, level: u32) -> Self {
        Self { level: Some(level), ..self }
    }

    /// Sets the oldest release of the library that must be able to read the file.
    #[must_use]
    pub fn with_bound(self, bound: impl Into<String>) -> Self {
        Self { bound: Some(bound.into()), ..self }
    }

    /// Sets whether elements of other files are copied into the new file.
    #[must_use]
    pub fn with_inline(self, inline: bool) -> Self {
        Self { inline, ..self }
    }

    /// Sets the number of threads.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Sets the limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Sets the facts about the file as a whole.
    #[must_use]
    pub fn with_facts(self, facts: Vec<(String, Value)>) -> Self {
        Self { facts, ..self }
    }

    /// Sets the size of pages.
    #[must_use]
    pub fn with_page_size(self, bytes: u64) -> Self {
        Self { page_size: Some(bytes), ..self }
    }

    /// Sets whether structures are before elements.
    #[must_use]
    pub fn with_metadata_first(self, metadata_first: bool) -> Self {
        Self { metadata_first, ..self }
    }

    /// Sets how floating-point numbers are rounded.
    #[must_use]
    pub fn with_rounding(self, rounding: Rounding) -> Self {
        Self { rounding: Some(rounding), ..self }
    }

    /// Adds a rule for single datasets, after those that it has.
    #[must_use]
    pub fn with_rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Fails if there are options that only the repacking of HDF5 files knows.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub(crate) fn refuse_layout(&self, format: &str) -> Result<()> {
        let refuse =
            |argument: &'static str| Err(Error::usage(argument, format!("has no meaning in {format}")));
        match self {
            Self { inline: true, .. } => Err(Error::usage(
                "inline",
                format!(
                    "has no meaning in {format}; it copies elements that an HDF5 file stores in other files or datasets"
                ),
            )),
            Self { page_size: Some(_), .. } => refuse("page size"),
            Self { metadata_first: true, .. } => refuse("metadata first"),
            Self { rounding: Some(_), .. } => refuse("rounding"),
            Self { rules, .. } if !rules.is_empty() => refuse("rule"),
            _ => Ok(()),
        }
    }

    /// Returns whether there are options that may not fit the format or an object.
    pub(crate) fn chooses(&self) -> bool {
        self.chunks.is_some() || self.filter.is_some() || self.level.is_some() || self.bound.is_some()
    }

    /// Returns the fact with this key as text.
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
/// let mut sink = sink::overwrite(&path, Format::Hdf5, &WriteOptions::default())?;
/// let root = sink.add(Place::Root, New::Group)?;
/// let run = sink.add(Place::In(root, &"run".into()), New::Group)?; // in `root`
/// sink.add(Place::In(root, &"latest".into()), New::Hard(run))?;
/// sink.finish()?;
/// # }
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(pub u64);

/// The place of an object.
///
/// ```
/// # #[cfg(feature = "asdf")] {
/// use sciformats::Format;
/// use sciformats::memory::array;
/// use sciformats_convert::sink::{self, New, Place, WriteOptions};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("run.asdf");
/// let mut sink = sink::overwrite(&path, Format::Asdf, &WriteOptions::default())?;
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
    /// At `/`, which is the place of the first object of every file.
    Root,
    /// In a group, with a name that the group does not have yet.
    In(Handle, &'a Name),
}

/// An object to add.
///
/// ```
/// # #[cfg(feature = "asdf")] {
/// use sciformats_convert::sink::{self, New, Place, WriteOptions};
/// use sciformats::{Format, Object, Value};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("run.asdf");
/// let mut sink = sink::overwrite(&path, Format::Asdf, &WriteOptions::default())?;
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
    /// A scalar of a tree.
    Value(&'a Value),
    /// Another hard link to an object that was added before.
    Hard(Handle),
    /// A soft link to a path in the same file.
    Soft(&'a Name),
    /// A link to a path in another file.
    External {
        /// The file.
        file: &'a Name,
        /// The path in that file.
        target: &'a Name,
    },
}

/// A file that is being written. There is one adapter per format.
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
/// write_row(sink::overwrite(&path, Format::Npy, &WriteOptions::default())?, &[0.5, 1.5])?;
/// assert_eq!(sciformats::open(&path)?.array("/")?.read::<f64>()?, [0.5, 1.5]);
/// # Ok::<(), sciformats::Error>(())
/// ```
pub trait Sink {
    /// Says that the next object is the one at `address` of an HDF5 file. A new HDF5 file stores it in the same way, as far as it can.
    #[cfg(feature = "hdf5")]
    fn like(&mut self, file: &hdf5_pure::File, address: hdf5_pure::Address) {
        let _ = (file, address);
    }

    /// Returns what the last object does not keep of how the one that it is [like](Self::like) is stored.
    #[cfg(feature = "hdf5")]
    fn unlike(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Adds an object.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for what the [`Rules`] of the format exclude; [`Error::Usage`] for a place that
    /// is occupied or is not in a group; those of reading elements.
    fn add(&mut self, place: Place<'_>, object: New<'_>) -> Result<Handle>;

    /// Adds an attribute to an object.
    ///
    /// # Errors
    ///
    /// Those of [`add`](Self::add).
    fn attribute(&mut self, object: Handle, name: &Name, value: &AttributeValue) -> Result<()>;

    /// Writes everything that has not been written, and moves the file to its place.
    ///
    /// # Errors
    ///
    /// `Io`; those of reading elements. In that case there is no new file, and an existing file is unchanged.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Starts a file at `path`, which takes the place of an existing one when it is complete.
///
/// ```
/// use sciformats::Format;
/// use sciformats::memory::array;
/// use sciformats_convert::sink::{self, New, Place, WriteOptions};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("u.npy");
/// let mut sink = sink::overwrite(&path, Format::Npy, &WriteOptions::default())?;
/// sink.add(Place::Root, New::Array(array::<u8>(&[2], &[1, 2]).into()))?;
/// assert!(!path.exists()); // not before it is complete
/// sink.finish()?;
/// assert!(path.exists());
/// # Ok::<(), sciformats::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Unsupported`] for a format that is not built in; [`Error::Usage`] for options that the format
/// does not know; `Io`.
pub fn overwrite(path: impl AsRef<Path>, format: Format, options: &WriteOptions) -> Result<Box<dyn Sink>> {
    begin(Some(path.as_ref()), format, options)
}

/// Starts a file that is not written: the sink checks everything as that of [`overwrite`] does, and fails with the same errors if the
/// options do not fit the format or an object. It asks for no elements.
///
/// ```
/// use sciformats::Format;
/// use sciformats::memory::array;
/// use sciformats_convert::sink::{self, New, Place, WriteOptions};
///
/// assert!(sink::rehearsal(Format::Npy, &WriteOptions::default().with_filter("zlib")).is_err());
/// let mut sink = sink::rehearsal(Format::Npy, &WriteOptions::default())?;
/// sink.add(Place::Root, New::Array(array::<u8>(&[2], &[1, 2]).into()))?;
/// sink.finish()?;
/// # Ok::<(), sciformats::Error>(())
/// ```
///
/// # Errors
///
/// Those of [`overwrite`], apart from `Io`.
pub fn rehearsal(format: Format, options: &WriteOptions) -> Result<Box<dyn Sink>> {
    begin(None, format, options)
}

/// Starts a file; without a path, everything is checked, and nothing is written.
fn begin(path: Option<&Path>, format: Format, options: &WriteOptions) -> Result<Box<dyn Sink>> {
    options.refuse_layout("a file that is not repacked")?;
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

/// Returns the error for an object that the rules of a format exclude.
fn refused(format: Format, what: impl std::fmt::Display) -> Error {
    Error::unsupported(format!("{what} in {format}"))
}

/// The largest number of bytes of a chunk whose shape is taken from the source, because a whole chunk is in memory while it is
/// written.
#[cfg(any(feature = "blosc2", feature = "hdf5"))]
pub(crate) const CHUNK: u64 = 32 << 20;

/// Returns the shape of the source's chunks, if it has any. Its sides are halved, the slowest dimension first, until a chunk is
/// small enough. In the source, a large chunk may consist of a single repeated value.
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

/// Whether the arrays of a format without chunks can be compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filters {
    #[cfg_attr(
        not(any(feature = "asdf", feature = "rawarray")),
        allow(dead_code, reason = "only these formats have filters of their own")
    )]
    Possible,
    Meaningless,
}

/// Refuses options that have no meaning in a format, whose arrays have no chunks.
pub(crate) fn refuse_options(format: Format, options: &WriteOptions, filters: Filters) -> Result<()> {
    refuse_bound(format, options)?;
    if options.chunks.is_some() {
        return Err(Error::usage("chunks", format!("have no meaning in {format}")));
    }
    // No compression of these formats has levels.
    if options.level.is_some() && matches!(format, Format::Gsd | Format::Npy | Format::RawArray) {
        return Err(Error::usage("level", format!("has no meaning in {format}")));
    }
    let filter = options.filter.as_deref().filter(|filter| *filter != "none");
    if let (Some(filter), Filters::Meaningless) = (filter, filters) {
        return Err(Error::usage("filter", format!("{filter} has no meaning in {format}")));
    }
    if options.level.is_some() && filters == Filters::Meaningless {
        return Err(Error::usage("level", format!("has no meaning in {format}, which is not compressed")));
    }
    Ok(())
}

pub(crate) fn refuse_bound(format: Format, options: &WriteOptions) -> Result<()> {
    options.refuse_layout(format.word())?;
    match options.bound {
        Some(_) => Err(Error::usage("bound", format!("has no meaning in {format}"))),
        None => Ok(()),
    }
}

/// Returns the error for a file without contents.
fn empty() -> Error {
    Error::usage("file", "has no array")
}

/// A file that contains one array and nothing else.
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
