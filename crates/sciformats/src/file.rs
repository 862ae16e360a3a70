//! An open file of any format.

use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sciformats_core::{Error, Limits, ReadAt, Slab};

use crate::array::Array;
use crate::cut::{self, Cut};
use crate::model::{ArrayInfo, Name, Object, ObjectId, Target};
use crate::options::{OpenOptions, Unfolding};
use crate::pieces::{self, Pieces};
use crate::source::Source;
use crate::{Format, Result, formats};

/// Soft links that are followed one after another before they are taken for a loop; HDF5's own library follows 16.
const LINKS: usize = 16;

/// Gets a piece of a selection and the canonical bytes of its elements; says whether to go on.
pub type VisitPiece<'a> = &'a mut dyn FnMut(&Slab, &[u8]) -> Result<ControlFlow<()>>;

/// The bytes of a file, shared by those who read it.
pub(crate) type Storage = Arc<dyn ReadAt>;

/// An open file: one tree of groups, arrays and attributes, whatever its format.
///
/// ```no_run
/// let file = sciformats::open("run.h5")?;
/// let u = file.array("/fields/u")?;
/// println!("{} {:?}", u.element(), u.shape());
/// let values: Vec<f64> = u.read()?;
/// # Ok::<(), sciformats::Error>(())
/// ```
pub struct File {
    source: Box<dyn Source>,
    path: Option<PathBuf>,
    size: u64,
    cut: Option<u64>,
    options: OpenOptions,
    read: AtomicU64,
}

impl File {
    /// Opens the file at `path`; see [`crate::open`].
    ///
    /// ```no_run
    /// let file = sciformats::File::open("run.h5")?;
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`crate::open_with`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// As [`open`](Self::open), with options.
    ///
    /// ```no_run
    /// use sciformats::{File, OpenOptions};
    ///
    /// let file = File::open_with("run.h5", &OpenOptions::default().with_threads(1))?;
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`crate::open_with`].
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        if path.is_dir() {
            let Some(format) = Format::of_path(path)? else {
                return Err(Error::io("open", std::io::ErrorKind::IsADirectory.into()).in_file(path, None));
            };
            let (source, size) = formats::open_folder(format, path, options)?;
            let path = Some(path.to_path_buf());
            return Ok(Self {
                source,
                path,
                size,
                cut: None,
                options: options.clone(),
                read: AtomicU64::new(0),
            });
        }
        Self::new(options.access.open(path)?, Some(path), options)
    }

    /// Opens a file that is in memory.
    ///
    /// ```
    /// use sciformats::File;
    ///
    /// let mut bytes = sciformats::npy::header("'<f4'", &[2]);
    /// bytes.extend([1.5f32, 2.5].map(f32::to_le_bytes).concat());
    /// assert_eq!(File::from_bytes(bytes)?.array("/")?.read::<f64>()?, [1.5, 2.5]);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`crate::open_with`].
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self> {
        Self::from_storage(bytes.into(), &OpenOptions::default())
    }

    /// Opens a file that is in a storage of the caller's: somewhere else, or in a part of another file.
    ///
    /// ```
    /// use sciformats::{File, OpenOptions};
    ///
    /// let mut bytes = sciformats::npy::header("'<f4'", &[2]);
    /// bytes.extend([1.5f32, 2.5].map(f32::to_le_bytes).concat());
    /// let file = File::from_storage(bytes, &OpenOptions::default().with_threads(1))?;
    /// assert_eq!(file.array("/")?.read::<f64>()?, [1.5, 2.5]);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`crate::open_with`].
    pub fn from_storage(storage: impl ReadAt + 'static, options: &OpenOptions) -> Result<Self> {
        Self::new(Arc::new(storage), None, options)
    }

    fn new(storage: Storage, path: Option<&Path>, options: &OpenOptions) -> Result<Self> {
        let format = Format::detect(&*storage)?.ok_or_else(|| {
            Error::unsupported("a file that is none of HDF5, ASDF, Blosc2, GSD, RawArray and npy")
        })?;
        let size = storage.len();
        let source = match formats::open(format, Arc::clone(&storage), path, options) {
            Err(error @ Error::Malformed { .. }) => {
                let whole = cut::whole(&*storage, format).filter(|&whole| whole > size).ok_or(error)?;
                if !options.cut {
                    return Err(cut::error(size, whole));
                }
                let source = Cut::open((format, storage), whole, options)?;
                let (path, options) = (path.map(Path::to_path_buf), options.clone());
                let read = AtomicU64::new(0);
                return Ok(Self { source, path, size, cut: Some(whole), options, read });
            }
            opened => opened?,
        };
        let path = path.map(Path::to_path_buf);
        Ok(Self { source, path, size, cut: None, options: options.clone(), read: AtomicU64::new(0) })
    }

    /// The bytes that the file has by its own account, if it was cut short.
    ///
    /// ```
    /// use sciformats::{File, OpenOptions};
    ///
    /// let mut bytes = sciformats::npy::header("'<u2'", &[4]);
    /// bytes.extend([1, 0, 2, 0, 3]); // of 8
    /// assert!(File::from_bytes(bytes.clone()).unwrap_err().to_string().ends_with("cut short: 133 of 136 bytes"));
    /// let file = File::from_storage(bytes, &OpenOptions::default().with_cut(true))?;
    /// assert_eq!(file.cut_short(), Some(136));
    /// assert!(file.array("/")?.read::<u16>().is_err());
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn cut_short(&self) -> Option<u64> {
        self.cut.or_else(|| self.source.cut_short())
    }

    /// As [`cut_short`](Self::cut_short), where a check of the format's structures does not tell of it.
    pub(crate) fn cut_by_opening(&self) -> Option<u64> {
        self.cut
    }

    /// The same file with other options. Limits of the format's own reader stay those it was opened with.
    ///
    /// ```
    /// use sciformats::{Limits, OpenOptions};
    ///
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// let small = OpenOptions::default().with_limits(Limits::default().with_memory(10));
    /// assert!(file.with_options(small).array("/fields/u")?.read::<f64>().is_err());
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    #[must_use]
    pub fn with_options(self, options: OpenOptions) -> Self {
        Self { options, ..self }
    }

    /// The tree behind it, for what the methods here do not do.
    ///
    /// ```
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// let source = file.source();
    /// for member in source.members(source.root())? {
    ///     assert_eq!(member?.name.to_string(), "fields");
    /// }
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn source(&self) -> &dyn Source {
        &*self.source
    }

    /// The format.
    pub fn format(&self) -> Format {
        self.source.format()
    }

    /// The path that it was opened by, if by one.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The number of bytes it has.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("u.npy");
    /// # let u = sciformats::memory::array::<f64>(&[2], &[1.0, 2.0]);
    /// # let mut sink = sciformats::sink::create(&path, sciformats::Format::Npy, &Default::default())?;
    /// # sink.add(sciformats::sink::Place::Root, sciformats::sink::New::Array(u.into()))?;
    /// # sink.finish()?;
    /// let file = sciformats::open(&path)?;
    /// assert_eq!((file.format().word(), file.size()), ("npy", 128 + 16));
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn size(&self) -> u64 {
        self.size
    }

    /// What it may ask of the machine.
    pub fn limits(&self) -> &Limits {
        &self.options.limits
    }

    /// The options it was opened with.
    pub fn options(&self) -> &OpenOptions {
        &self.options
    }

    /// Canonical bytes of elements that were read through this value so far: for progress shown by another thread.
    ///
    /// ```
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// file.array("/fields/u")?.read::<f64>()?;
    /// assert_eq!(file.bytes_read(), 48);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Notes that bytes of elements were read in another way.
    pub(crate) fn count(&self, bytes: u64) {
        self.read.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The object at `path`; soft links are followed, links into other files as [`OpenOptions::external`] allows.
    ///
    /// ```
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// let id = file.resolve("/fields/u")?;
    /// assert_eq!(file.resolve("fields/u")?, id);
    /// assert!(file.resolve("/fields/v").is_err());
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`]; whatever makes the way there unreadable; [`Error::Missing`] and [`Error::Forbidden`] of a link into
    /// another file.
    pub fn resolve(&self, path: &str) -> Result<ObjectId> {
        let mut links = LINKS;
        self.follow(path, &mut links)?.ok_or_else(|| Error::not_found("object", path))
    }

    fn follow(&self, path: &str, links: &mut usize) -> Result<Option<ObjectId>> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        self.descend(self.source.root(), "/", &parts, links)
    }

    /// The object that `parts` lead to from the group at `base`.
    fn descend(
        &self,
        group: ObjectId,
        base: &str,
        parts: &[&str],
        links: &mut usize,
    ) -> Result<Option<ObjectId>> {
        let longest = if self.source.slashes_in_names() { parts.len() } else { 1 };
        if parts.is_empty() {
            return Ok(Some(group));
        }
        if !matches!(self.source.object(group)?, Object::Group) {
            return Ok(None);
        }
        for count in 1..=longest {
            let (Some(first), Some(rest)) = (parts.get(..count), parts.get(count..)) else { break };
            let name = Name::from_shown(&first.join("/"));
            let Some(target) = self.source.member(group, &name)? else { continue };
            let at = crate::walk::join(base, &name);
            let Some(object) = self.target(group, target, (base, links))? else { continue };
            if let Some(found) = self.descend(object, &at, rest, links)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The object that a link in the group at `base` leads to.
    fn target(
        &self,
        group: ObjectId,
        target: Target,
        (base, links): (&str, &mut usize),
    ) -> Result<Option<ObjectId>> {
        match target {
            Target::Object(id) => Ok(Some(id)),
            Target::Soft(path) => {
                *links = links.checked_sub(1).ok_or_else(|| {
                    Error::usage("path", format!("leads through more than {LINKS} soft links"))
                })?;
                let path = path.shown();
                let absolute =
                    if path.starts_with('/') { path.into_owned() } else { format!("{base}/{path}") };
                self.follow(&absolute, links)
            }
            Target::External { file, target } => self.source.follow(group, &file, &target).map(Some),
            Target::User(class) => {
                Err(Error::unsupported(format!("a link of the user-defined class {class}")))
            }
            Target::Damaged(error) => Err(error),
        }
    }

    /// The object at `path`.
    ///
    /// ```
    /// use sciformats::{Kind, Object};
    ///
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// assert_eq!(file.object("/fields")?.kind(), Kind::Group);
    /// if let Object::Array(info) = file.object("/fields/u")? {
    ///     assert_eq!(info.elements(), Some(6));
    /// }
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve), and if the object cannot be read at all.
    pub fn object(&self, path: &str) -> Result<Object> {
        self.source.object(self.resolve(path)?)
    }

    /// The array at `path`.
    ///
    /// ```
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// assert_eq!(file.array("/fields/u")?.shape(), Some(&[2, 3][..]));
    /// assert_eq!(file.array("/fields").unwrap_err().to_string(), "path /fields is a group, not an array");
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`object`](Self::object); [`Error::Usage`] if it is no array.
    pub fn array(&self, path: &str) -> Result<Array<'_>> {
        let id = self.resolve(path)?;
        match self.source.object(id)? {
            Object::Array(info) => Ok(Array::new(self, id, *info)),
            Object::Damaged { error, .. } => Err(error),
            other => Err(Error::usage("path", format!("{path} is a {}, not an array", other.kind()))),
        }
    }

    /// Appends the canonical bytes of the selected elements of an array.
    ///
    /// ```
    /// use sciformats::Slab;
    ///
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// let mut bytes = Vec::new();
    /// file.read(file.resolve("/fields/u")?, &Slab::all(&[2, 3])?, &mut bytes)?;
    /// assert_eq!(bytes[..8], 1.0f64.to_le_bytes());
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Source::read`].
    pub fn read(&self, array: ObjectId, slab: &Slab, out: &mut Vec<u8>) -> Result<()> {
        let before = out.len();
        self.source.read(array, slab, out)?;
        self.read.fetch_add(out.len().saturating_sub(before) as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Goes through the selected elements of an array in C order, a few megabytes at a time. `visit` gets each piece of
    /// the selection and the canonical bytes of its elements.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// let u = file.array("/fields/u")?;
    /// let mut size = 0;
    /// file.for_each_piece((u.id(), u.info()), &u.all()?, &mut |slab, bytes| {
    ///     assert_eq!(slab.len() * 8, bytes.len() as u64);
    ///     size += bytes.len();
    ///     Ok(ControlFlow::Continue(()))
    /// })?;
    /// assert_eq!(size, 48);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Source::read`], and those of `visit`; [`Error::LimitExceeded`] for more bytes than [`OpenOptions::unfolded`] allows.
    pub fn for_each_piece(
        &self,
        (id, info): (ObjectId, &ArrayInfo),
        slab: &Slab,
        visit: VisitPiece<'_>,
    ) -> Result<()> {
        self.go_through(&self.unfolding(), (id, info), slab, visit)
    }

    /// As [`for_each_piece`](Self::for_each_piece), a part of an operation that goes through more.
    pub(crate) fn go_through(
        &self,
        unfolding: &Unfolding,
        (id, info): (ObjectId, &ArrayInfo),
        slab: &Slab,
        visit: VisitPiece<'_>,
    ) -> Result<()> {
        unfolding.add(slab.len(), info)?;
        let pieces = Pieces::new(info, slab, self.options.limits.memory);
        let read = |slab: &Slab, out: &mut Vec<u8>| self.read(id, slab, out);
        pieces::for_each(pieces, self.options.threads(), &read, visit)
    }

    /// The bound on what an operation goes through, which begins now.
    pub(crate) fn unfolding(&self) -> Unfolding {
        Unfolding::new(&self.options, self.size)
    }

    /// The same tree as of a file of so many bytes.
    pub(crate) fn of_size(self, size: u64) -> Self {
        Self { size, ..self }
    }
}

impl<S: Source + 'static> From<S> for File {
    fn from(source: S) -> Self {
        // What the caller has in memory is not doubted.
        let options = OpenOptions::default().with_unfolded(u64::MAX);
        Self { source: Box::new(source), path: None, size: 0, cut: None, options, read: AtomicU64::new(0) }
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File")
            .field("format", &self.format())
            .field("path", &self.path)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Memory, array};

    #[test]
    fn paths_names_with_slashes_and_links() {
        let mut memory = Memory::new(Format::Gsd);
        let root = memory.root();
        let a = memory.group(root, "a");
        let x = memory.array(a, "x", array::<u8>(&[1], &[1]));
        memory.soft_link(root, "abs", "/a/x");
        memory.soft_link(a, "rel", "./x");
        memory.soft_link(root, "group", "a");
        memory.soft_link(root, "loop", "/loop");
        memory.soft_link(root, "dangling", "nowhere");
        memory.external_link(root, "ext", "f.h5", "/q");
        let file = File::from(memory);
        for path in ["/a/x", "a/x", "//a/./x/", "/abs", "/a/rel", "/group/x", "/group/rel"] {
            assert_eq!(file.resolve(path).unwrap(), x, "{path}");
        }
        assert_eq!(file.resolve("/").unwrap(), root);
        for (path, message) in [
            ("/b", "no object named \"/b\""),
            ("/a/x/y", "no object named \"/a/x/y\""),
            ("/dangling", "no object named \"/dangling\""),
            ("/loop", "path leads through more than 16 soft links"),
            ("/ext", "following a link into another file (open f.h5 and look for /q there) is not supported"),
        ] {
            assert_eq!(file.resolve(path).unwrap_err().to_string(), message);
        }
        assert_eq!(file.array("/a").unwrap_err().to_string(), "path /a is a group, not an array");
    }

    #[test]
    fn unknown_bytes_are_refused() {
        let error = File::from_bytes([0u8; 9]).unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }));
        assert!(File::open("no such file").is_err());
    }

    #[test]
    fn reading_ahead_gives_the_same_pieces() {
        let values: Vec<u16> = (0..5_000_000).map(|i| i as u16).collect();
        for threads in [1, 2] {
            let memory = Memory::single(Format::Blosc2, array(&[5_000, 1_000], &values));
            let file = File::from(memory).with_options(OpenOptions::default().with_threads(threads));
            let array = file.array("/").unwrap();
            let (mut all, mut pieces) = (Vec::new(), 0);
            let slab = Slab::all(&[5_000, 1_000]).unwrap();
            file.for_each_piece((array.id(), array.info()), &slab, &mut |_, bytes| {
                all.extend_from_slice(bytes);
                pieces += 1;
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
            assert!(pieces > 1);
            assert!(all.chunks(2).zip(&values).all(|(b, v)| b == v.to_le_bytes()));
            let mut count = 0;
            file.for_each_piece((array.id(), array.info()), &slab, &mut |_, _| {
                count += 1;
                Ok(ControlFlow::Break(()))
            })
            .unwrap();
            assert_eq!(count, 1);
        }
    }
}
