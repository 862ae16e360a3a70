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
mod rescue;
mod scalar;
mod single;
mod tree;
mod view;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use self::rescue::Rescue;
use crate::compare::Pattern;
use crate::model::{Name, ObjectId, Value};
use crate::options::Unfolding;
use crate::sink::{self, Elements, Handle, New, Place, Sink, WriteOptions};
use crate::{Error, File, Format, Object, OpenOptions, Result, Target, manifest};

/// The attribute of the root that holds what a RawArray file has after its elements.
const METADATA: &str = "rawarray:metadata";

/// What is converted.
///
/// ```
/// use sciformats::Format;
/// use sciformats::convert::{Options, Plan};
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

/// Something that the target cannot hold.
///
/// ```
/// use sciformats::Format;
/// use sciformats::convert::{Options, Plan};
/// use std::sync::Arc;
///
/// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
/// # let fields = tree.group(tree.root(), "fields");
/// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
/// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
/// # let file = sciformats::File::from(tree);
/// let plan = Plan::new(&Arc::new(file), Format::Npy, &Options::default())?;
/// for loss in plan.losses() {
///     println!("{}: {}", loss.path, loss.what);
/// }
/// assert!(plan.losses().iter().any(|loss| loss.path == "/fields/u@unit"));
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The path of the object; `PATH@NAME` for an attribute.
    pub path: String,
    /// What becomes of it.
    pub what: String,
    /// The elements that cannot be read, where it is these.
    pub lost: Option<Lost>,
}

impl Loss {
    /// References that lead to nothing that the target has.
    pub(crate) fn of_references(path: String, count: u64) -> Self {
        let references = if count == 1 { "a reference".into() } else { format!("{count} references") };
        Self { path, what: format!("has {references} to what is not there, null in the target"), lost: None }
    }
}

/// Elements that cannot be read. In the target they are fill values of the source, zeros where it has none.
///
/// ```
/// use sciformats::convert::{Options, Plan};
/// use sciformats::memory::{Memory, array};
/// use sciformats::{File, Format, sink::WriteOptions};
/// use std::sync::Arc;
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("u.npy");
/// // Three elements, and a shape of four.
/// let file = Arc::new(File::from(Memory::single(Format::RawArray, array::<u8>(&[4], &[1, 2, 3]))));
/// let plan = Plan::new(&file, Format::Npy, &Options::default())?;
/// assert!(plan.write(&path, &WriteOptions::default()).is_err());
/// let losses = plan.rescue(&path, &WriteOptions::default())?;
/// let lost = losses[0].lost.as_ref().unwrap();
/// assert_eq!((&lost.first[..], lost.bytes), (&[3][..], Some(1)));
/// assert_eq!(sciformats::open(&path)?.array("/")?.read::<u8>()?, [1, 2, 3, 0]);
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lost {
    /// The chunk they are in, counted in chunks along each dimension, where the array has chunks.
    pub chunk: Option<Vec<u64>>,
    /// The index of the first of them.
    pub first: Vec<u64>,
    /// How many they are.
    pub elements: u64,
    /// Their canonical bytes, where they have a size.
    pub bytes: Option<u64>,
    /// Why they cannot be read.
    pub reason: String,
}

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let index = |at: &[u64]| at.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let (count, noun) = match self.bytes {
            Some(bytes) => (bytes, "byte"),
            None => (self.elements, "element"),
        };
        if let Some(chunk) = &self.chunk {
            write!(f, "chunk ({}), ", index(chunk))?;
        }
        write!(f, "{count} {noun}{}", if count == 1 { "" } else { "s" })?;
        if !self.first.is_empty() {
            write!(f, " from element ({}) on", index(&self.first))?;
        }
        let comma = if self.chunk.is_some() { "," } else { "" };
        write!(f, "{comma} cannot be read: {}", self.reason)
    }
}

/// Something that the target holds in its own way; nothing is lost.
///
/// ```
/// use sciformats::Format;
/// use sciformats::convert::{Options, Plan, Remark};
/// use std::sync::Arc;
///
/// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
/// # let fields = tree.group(tree.root(), "fields");
/// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
/// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
/// # let file = sciformats::File::from(tree);
/// let plan = Plan::new(&Arc::new(file), Format::Npy, &Options::default())?;
/// assert_eq!(plan.remarks(), [(Remark::Moved, 1)]); // from `/fields/u` to `/`
/// assert_eq!(Remark::Moved.text(), "arrays have another path");
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Remark {
    /// An array has another path.
    Moved,
    /// An attribute is a member.
    AttributeAsMember,
    /// A member is an attribute.
    MemberAsAttribute,
    /// A scalar is an array without dimensions.
    ScalarAsArray,
    /// Truth values are spelled in another way.
    TruthValues,
    /// A name is escaped.
    Escaped,
    /// Elements that are arrays themselves are further dimensions.
    ArrayAsDimensions,
    /// What a RawArray file has after its array is an attribute, or is that again.
    Metadata,
    /// Floating-point numbers of a size that no other format has are their bytes.
    NumbersAsBytes,
}

impl Remark {
    /// For people.
    pub fn text(self) -> &'static str {
        match self {
            Self::Moved => "arrays have another path",
            Self::AttributeAsMember => {
                "attributes become members, `x@name` of an array and `@name` in a group"
            }
            Self::MemberAsAttribute => "members `x@name` become attributes",
            Self::ScalarAsArray => "scalars become arrays without dimensions",
            Self::TruthValues => "truth values are an enumeration in HDF5, `bool` elsewhere",
            Self::Escaped => "names are escaped",
            Self::ArrayAsDimensions => "elements that are arrays become further dimensions",
            Self::Metadata => "the bytes after a RawArray's elements are the attribute `rawarray:metadata`",
            Self::NumbersAsBytes => {
                "floating-point numbers of this size stay bytes: the file does not say what they mean"
            }
        }
    }
}

/// How many things a plan writes.
///
/// ```
/// use sciformats::Format;
/// use sciformats::convert::{Options, Plan};
/// use std::sync::Arc;
///
/// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
/// # let fields = tree.group(tree.root(), "fields");
/// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
/// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
/// # let file = sciformats::File::from(tree);
/// let counts = Plan::new(&Arc::new(file), Format::Npy, &Options::default())?.counts();
/// assert_eq!((counts.arrays, counts.bytes), (1, 48));
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Groups, the root included.
    pub groups: u64,
    /// Arrays.
    pub arrays: u64,
    /// Scalars and committed datatypes.
    pub values: u64,
    /// Further hard links, and links by path.
    pub links: u64,
    /// Attributes.
    pub attributes: u64,
    /// Bytes of the elements of arrays, where they have a size.
    pub bytes: u64,
}

/// A conversion that has been thought through.
///
/// ```no_run
/// use sciformats::Format;
/// use sciformats::convert::{Options, Plan};
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
    /// use sciformats::convert::{Options, Plan};
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
    /// [`Error::Unsupported`] if the target cannot be written as built;
    /// [`Error::Usage`] if it holds one array, and the file none or several that are selected.
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
    /// use sciformats::convert::{Options, Plan};
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
    /// use sciformats::convert::{Options, Plan};
    /// use sciformats::sink::WriteOptions;
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
    /// use sciformats::convert::{Options, Plan};
    /// use sciformats::sink::WriteOptions;
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
    /// use sciformats::convert::{Options, Plan};
    /// use sciformats::memory::{Memory, array};
    /// use sciformats::{File, Format, sink::WriteOptions};
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
            unfolding: self.tree.unfolding(),
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
    /// use sciformats::convert::{Options, Plan};
    /// use sciformats::{OpenOptions, sink::WriteOptions};
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
            Ok::<_, crate::Error>(out)
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

/// A tree on its way into a sink.
struct Writing<'a> {
    tree: &'a Arc<File>,
    sink: Box<dyn Sink>,
    handles: HashMap<ObjectId, Handle>,
    unfolding: Unfolding,
    /// Where to tell of what cannot be written, if that ends nothing.
    rescue: Option<&'a Rescue>,
}

/// A group whose members are still to come.
struct Open {
    path: String,
    id: ObjectId,
    handle: Handle,
}

impl Writing<'_> {
    fn all(&mut self) -> Result<()> {
        let tree = self.tree;
        let root = tree.source().root();
        let mut groups: Vec<Open> = self.object(Place::Root, ("/", root))?.into_iter().collect();
        // Level by level, so that what is linked to several times stands where the manifest names it.
        while !groups.is_empty() {
            let mut deeper = Vec::new();
            for group in groups {
                for member in tree.source().members(group.id)? {
                    let member = member?;
                    let path = crate::walk::join(&group.path, &member.name);
                    let place = Place::In(group.handle, &member.name);
                    deeper.extend(self.member(place, (&path, &member.target))?);
                }
            }
            groups = deeper;
        }
        Ok(())
    }

    /// What came of writing one thing: `None` if it cannot be written, and that ends nothing.
    fn kept<T>(&self, path: &str, result: Result<T>) -> Result<Option<T>> {
        match (result, self.rescue) {
            (Ok(done), _) => Ok(Some(done)),
            (Err(error @ (Error::Io { .. } | Error::Conflict { .. })), _) | (Err(error), None) => Err(error),
            (Err(error), Some(rescue)) => {
                let what = format!("is left out: {error}");
                rescue.lose(Loss { path: path.into(), what, lost: None });
                Ok(None)
            }
        }
    }

    /// Adds what a member leads to. The answer is a group whose members are still to come.
    fn member(&mut self, place: Place<'_>, (path, target): (&str, &Target)) -> Result<Option<Open>> {
        let link = match target {
            Target::Object(id) => match self.handles.get(id) {
                Some(handle) => New::Hard(*handle),
                None => return self.object(place, (path, *id)),
            },
            Target::Soft(path) => New::Soft(path),
            Target::External { file, target } => New::External { file, target },
            // A plan has no others.
            Target::User(_) | Target::Damaged(_) => return Ok(None),
        };
        let added = self.sink.add(place, link);
        self.kept(path, added)?;
        Ok(None)
    }

    fn object(&mut self, place: Place<'_>, (path, id): (&str, ObjectId)) -> Result<Option<Open>> {
        let object = self.tree.source().object(id)?;
        let added = match &object {
            Object::Group => self.sink.add(place, New::Group),
            Object::Array(info) => {
                self.unfolding.add(info.elements().unwrap_or(u64::MAX), info).and_then(|()| {
                    let elements = Elements::of(Arc::clone(self.tree), id, (**info).clone());
                    self.sink.add(place, New::Array(elements))
                })
            }
            Object::Datatype(element) => self.sink.add(place, New::Datatype(element)),
            Object::Value(value) => self.sink.add(place, New::Value(value)),
            Object::Damaged { .. } => return Ok(None),
        };
        let Some(handle) = self.kept(path, added)? else { return Ok(None) };
        if self.tree.source().may_be_shared(id) {
            self.handles.insert(id, handle);
        }
        for attribute in self.tree.source().attributes(id)? {
            let attribute = attribute?;
            let path = format!("{path}@{}", attribute.name.shown());
            let added =
                attribute.value.and_then(|value| self.sink.attribute(handle, &attribute.name, &value));
            self.kept(&path, added)?;
        }
        Ok(matches!(object, Object::Group).then(|| Open { path: path.into(), id, handle }))
    }
}

/// The last part of a path and what comes before it: `/a/b` is `b` in `/a`.
fn split(path: &str) -> (&str, &str) {
    let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
    (if parent.is_empty() { "/" } else { parent }, name)
}

/// The path of `name` in the group at `path`.
fn within(path: &str, name: &str) -> String {
    crate::walk::join(path, &Name::from_shown(name))
}

#[cfg(test)]
mod tests;
