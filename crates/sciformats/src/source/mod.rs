//! The interface between a format and the facade.

mod derived;
mod listing;
mod stored;

use std::any::Any;
use std::borrow::Cow;
use std::ops::ControlFlow;

use sciformats_core::{Error, Slab};

pub use self::derived::{Compute, Derived};
pub use self::listing::{Listed, Listing, Member, Members, Run, Runs};
pub use self::stored::{Extent, ReadStored, Stored, StoredPiece};

use crate::details::Details;
use crate::model::{Attribute, Name, Object, ObjectId, Target, Value};
use crate::pieces::copied;
use crate::{Format, Result};

/// A summary of the arrays with one name in many groups.
///
/// ```no_run
/// for summary in sciformats::open("run.gsd")?.source().summaries()? {
///     println!("{}: {} arrays, {} bytes, {:?}", summary.name, summary.arrays, summary.stored, summary.types);
/// }
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The name of the arrays.
    pub name: Name,
    /// The types of the arrays by their names for people, each once, in the order of occurrence.
    pub types: Vec<String>,
    /// The smallest and the largest extent of each dimension, slowest first. If the arrays have different
    /// numbers of dimensions, missing last dimensions count as 1.
    pub shape: Vec<(u64, u64)>,
    /// The number of arrays.
    pub arrays: u64,
    /// The number of bytes that are stored for them.
    pub stored: u64,
}

/// The attributes of an object, in byte order of their names. After an error the iteration ends.
pub type Attributes<'a> = Box<dyn Iterator<Item = Result<Attribute>> + 'a>;

/// A fact about a file as a whole: its key and its value.
pub type Fact = (&'static str, Value);

/// One structure in a file, for people who debug formats.
///
/// ```no_run
/// use std::ops::ControlFlow;
///
/// sciformats::open("run.h5")?.source().structures(&mut |structure| {
///     println!("{:#10x} {:indent$}{}", structure.offset, "", structure.name, indent = 2 * structure.depth);
///     for (field, value) in structure.fields {
///         println!("{field}: {value}");
///     }
///     ControlFlow::Continue(())
/// })?;
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Debug)]
pub struct Structure {
    /// The name of the structure in the standard.
    pub name: Cow<'static, str>,
    /// The offset of its first byte.
    pub offset: u64,
    /// The number of its bytes.
    pub size: u64,
    /// The number of structures that contain it.
    pub depth: usize,
    /// Its fields, in the order of the standard.
    pub fields: Vec<(Cow<'static, str>, Value)>,
}

/// A fault that a check of the structures of a file found.
///
/// ```
/// use sciformats::File;
///
/// let mut bytes = sciformats::npy::to_bytes(&[2], &[1.0f32, 2.0])?;
/// bytes.extend([0; 3]); // more than two numbers have
/// let mut lines = Vec::new();
/// File::from_bytes(bytes)?.source().check(&mut |finding| lines.push(finding.error.to_string()));
/// assert_eq!(lines, ["malformed array at offset 0x88: elements leaves 3 bytes unread"]);
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Debug)]
pub struct Finding {
    /// The path of the object that is concerned, if there is one.
    pub path: Option<String>,
    /// What is wrong, with its offset if there is one.
    pub error: Error,
}

/// A file of some format as one tree of objects. There is one adapter per format.
///
/// Nothing is read until it is requested. A file may have millions of objects, and finding one of them does
/// not list the others.
///
/// ```
/// use sciformats::Source;
///
/// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
/// # let fields = tree.group(tree.root(), "fields");
/// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
/// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
/// # let file = sciformats::File::from(tree);
/// let source: &dyn Source = file.source();
/// for member in source.members(file.resolve("/fields")?)? {
///     let name = member?.name;
///     println!("{name} has {} attributes", source.attributes(file.resolve(&format!("/fields/{name}"))?)?.count());
/// }
/// # Ok::<(), sciformats::Error>(())
/// ```
pub trait Source: Send + Sync {
    /// The format.
    fn format(&self) -> Format;

    /// Returns what is known about the file as a whole, in the order in which it is shown: version, writer,
    /// unusual features.
    fn facts(&self) -> Vec<Fact>;

    /// Returns the few of these facts that distinguish one file from another at a glance: `2.1, hoomd 1.4, 3
    /// frames`. The text may be empty.
    fn headline(&self) -> String {
        let version = self.facts().into_iter().find(|(key, _)| *key == "version");
        version.map(|(_, version)| version.to_string()).unwrap_or_default()
    }

    /// Returns further facts, for which the whole index of the file is read.
    ///
    /// # Errors
    ///
    /// An error if the index cannot be read.
    fn measures(&self) -> Result<Vec<Fact>> {
        Ok(Vec::new())
    }

    /// Returns a summary of the arrays that many groups have under the same name, such as the chunks of all
    /// frames, in byte order of the names. The list is empty if the format has no such groups.
    ///
    /// # Errors
    ///
    /// An error if the index of the file cannot be read.
    fn summaries(&self) -> Result<Vec<Summary>> {
        Ok(Vec::new())
    }

    /// Returns the object at `/`.
    fn root(&self) -> ObjectId;

    /// Returns an object. If it cannot be read but its kind is known, the result is [`Object::Damaged`].
    ///
    /// # Errors
    ///
    /// An error if nothing is known about the object.
    fn object(&self, id: ObjectId) -> Result<Object>;

    /// Returns an object with what [`object`](Self::object) leaves out, because it takes longer the more chunks an array has: how
    /// many bytes are stored in them, and how many chunks there are. If they are very many, they are not counted here either.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Writer};
    /// use sciformats::{File, Object};
    ///
    /// let mut writer = Writer::in_memory(&CreateOptions::default())?;
    /// writer.dataset("u").shape([6]).chunks([2]).write(&[1u8, 2, 3, 4, 5, 6])?;
    /// let file = File::from_bytes(writer.into_bytes()?)?;
    /// let u = file.resolve("/u")?;
    /// let Object::Array(info) = file.source().object(u)? else { panic!("it is an array") };
    /// let Object::Array(measured) = file.source().measured(u)? else { panic!("it is an array") };
    /// assert_eq!((info.stored, measured.stored), (None, Some(6)));
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`object`](Self::object).
    fn measured(&self, id: ObjectId) -> Result<Object> {
        self.object(id)
    }

    /// Returns the members of a group in byte order of their names.
    ///
    /// # Errors
    ///
    /// An error if they cannot be listed.
    fn members(&self, group: ObjectId) -> Result<Members<'_>>;

    /// Returns the members of a group as people list them: numbers are sorted by value, and members that are
    /// like the previous one are marked. By default they are in byte order and none is marked.
    ///
    /// # Errors
    ///
    /// As [`members`](Self::members).
    fn listing(&self, group: ObjectId) -> Result<Listing<'_>> {
        let members = self.members(group)?;
        Ok(Box::new(members.map(|member| member.map(|member| Listed { member, alike: false }))))
    }

    /// Returns the target of one member of a group; `None` if there is no such member. Some names may not be
    /// listed by [`members`](Self::members): views of many objects that the schema of a file defines.
    ///
    /// # Errors
    ///
    /// An error if the group cannot be searched.
    fn member(&self, group: ObjectId, name: &Name) -> Result<Option<Target>>;

    /// Returns the attributes of an object in byte order of their names.
    ///
    /// # Errors
    ///
    /// An error if they cannot be listed.
    fn attributes(&self, _id: ObjectId) -> Result<Attributes<'_>> {
        Ok(Box::new(std::iter::empty()))
    }

    /// Returns the meaning of an attribute as JSON, if its elements are encoded bytes.
    fn attribute_json(&self, _id: ObjectId, _attribute: &Attribute) -> Option<String> {
        None
    }

    /// Returns in words what the format records about an object besides its contents: how elements are
    /// stored, and which orders are recorded. It does not include positions and stored sizes.
    ///
    /// # Errors
    ///
    /// Those of reading the object.
    fn storage(&self, id: ObjectId) -> Result<Vec<(&'static str, String)>> {
        let Object::Array(info) = self.object(id)? else { return Ok(Vec::new()) };
        let by = |lengths: Vec<u64>| lengths.iter().map(u64::to_string).collect::<Vec<_>>().join(" × ");
        let chunks = info.chunks.map_or_else(|| "none".to_owned(), by);
        Ok(vec![("chunks", chunks), ("filters", info.filters.join(", "))])
    }

    /// Returns the elements of an array as they are stored, if they are in pieces or in other places. If the
    /// result is equal for two arrays, their elements are equal.
    ///
    /// # Errors
    ///
    /// Those of reading the structures that lead to the pieces.
    fn stored(&self, _array: ObjectId) -> Result<Option<Stored<'_>>> {
        Ok(None)
    }

    /// Returns where the elements of an array are, if they are numbers or opaque bytes that are stored one after another.
    ///
    /// # Errors
    ///
    /// Those of reading the structures that lead to the elements.
    fn extent(&self, _array: ObjectId) -> Result<Option<Extent>> {
        Ok(None)
    }

    /// Appends the canonical bytes of the selected elements of an array to `out`, in C order; see
    /// [`ElementType`](crate::ElementType).
    ///
    /// # Errors
    ///
    /// An error if the elements cannot be read; `out` may then have grown.
    fn read(&self, array: ObjectId, slab: &Slab, out: &mut Vec<u8>) -> Result<()>;

    /// Reads the canonical bytes of the selected elements of an array into `out`, which must have exactly
    /// their size. All elements must have the same size. A format should implement this if it can read
    /// directly into `out`; the default implementation copies.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read); [`Error::Usage`] if `out` has another size. After an error, the contents of
    /// `out` are unspecified.
    fn read_into(&self, array: ObjectId, slab: &Slab, out: &mut [u8]) -> Result<()> {
        let mut bytes = Vec::new();
        self.read(array, slab, &mut bytes)?;
        copied(&bytes, out)
    }

    /// Returns how the elements of an array are computed one by one from those of an array of another file, if they are. Whoever
    /// goes through all of them then computes several parts of them at the same time, each by the thread that has read it.
    fn derived(&self, _array: ObjectId) -> Option<Derived<'_>> {
        None
    }

    /// Returns the canonical bytes of an element that was never written, if the format records them and all
    /// elements have one size.
    fn fill(&self, _array: ObjectId) -> Option<Vec<u8>> {
        None
    }

    /// Returns the bytes that a file contains besides its objects: those after the elements of RawArray.
    ///
    /// # Errors
    ///
    /// An error if they cannot be read.
    fn metadata(&self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    /// Returns whether a program has marked the file as one that it is writing, so that it may change at any time.
    fn is_being_written(&self) -> bool {
        false
    }

    /// Returns the number of bytes that the file should have, if it has fewer.
    fn cut_short(&self) -> Option<u64> {
        None
    }

    /// Returns what may be lost or wrong in a file that was found only in part, beyond what reading its
    /// elements shows. The text completes a sentence that begins with "it".
    fn doubt(&self) -> Option<&'static str> {
        None
    }

    /// Returns the object that a link of the group `from` into another file leads to. All methods of this
    /// source accept its id.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] if the file or the object does not exist; [`Error::Forbidden`] if the file may not
    /// be opened.
    fn follow(&self, _from: ObjectId, file: &Name, target: &Name) -> Result<ObjectId> {
        Err(Error::unsupported(format!(
            "following a link into another file (open {file} and look for {target} there)"
        )))
    }

    /// Whether the other files that hold elements of an array are there and may be opened. No elements are read.
    ///
    /// # Errors
    /// [`Error::Missing`] of the first that is missing; [`Error::Forbidden`] of one that may not be opened.
    fn reach(&self, _array: ObjectId) -> Result<()> {
        Ok(())
    }

    /// Whether the lengths of an array are known. They are not if they follow from other files that cannot be asked, whatever the
    /// description of the array says then.
    ///
    /// # Errors
    /// [`Error::Missing`] of a file that is missing; [`Error::Forbidden`] of one that may not be opened.
    fn sized(&self, _array: ObjectId) -> Result<()> {
        Ok(())
    }

    /// Checks what reading the elements of an array does not, because the format has one checksum for all that is stored together: the
    /// checksum of a block of ASDF. Whoever copies elements calls this first, because the copy will have a checksum of its own. Each
    /// block is gone through once.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the checksum is another one; `Io`.
    fn sound(&self, _array: ObjectId) -> Result<()> {
        Ok(())
    }

    /// What was missing of other files when elements were read since this was last asked, each once: see
    /// [`Missing::Filled`](crate::options::Missing::Filled).
    fn take_missing(&self) -> Vec<Error> {
        Vec::new()
    }

    /// Returns what the format records about its objects beyond the common model.
    fn details(&self) -> Option<&dyn Details> {
        None
    }

    /// Returns the source itself, for code that knows its type.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }

    /// Returns whether more than one hard link may lead to the object. A walk remembers such objects, so a
    /// format without hard links returns `false`.
    fn may_be_shared(&self, _id: ObjectId) -> bool {
        true
    }

    /// Returns whether names may contain a `/`.
    fn slashes_in_names(&self) -> bool {
        false
    }

    /// Checks what reading all elements and attributes does not: structures that nothing leads to, checksums
    /// of indexes, bytes after the end.
    fn check(&self, _visit: &mut dyn FnMut(Finding)) {}

    /// Visits the structures of the file in the order of their offsets, as far as the order is known.
    ///
    /// # Errors
    ///
    /// The error of the first structure that cannot be read, which ends the walk.
    fn structures(&self, visit: &mut dyn FnMut(Structure) -> ControlFlow<()>) -> Result<()>;
}
