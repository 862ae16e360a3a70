//! What a format must tell about a file.

mod listing;
mod stored;

use std::any::Any;
use std::borrow::Cow;
use std::ops::ControlFlow;

use sciformats_core::{Error, Slab};

pub use self::listing::{Listed, Listing, Member, Members, Run, Runs};
pub use self::stored::{ReadStored, Stored, StoredPiece};

use crate::details::Details;
use crate::model::{Attribute, Name, Object, ObjectId, Target, Value};
use crate::pieces::copied;
use crate::{Format, Result};

/// Arrays of one name in many groups, summed up.
///
/// ```no_run
/// for summary in sciformats::open("run.gsd")?.source().summaries()? {
///     println!("{}: {} arrays, {} bytes, {:?}", summary.name, summary.arrays, summary.stored, summary.types);
/// }
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Their name.
    pub name: Name,
    /// Their types as people read them, each once, in the order they appear.
    pub types: Vec<String>,
    /// The smallest and the largest extent of each dimension, slowest first. Where the arrays have different numbers of
    /// dimensions, those with fewer count as having 1 in the last ones.
    pub shape: Vec<(u64, u64)>,
    /// How many there are.
    pub arrays: u64,
    /// Bytes that are stored for them.
    pub stored: u64,
}

/// The attributes of an object, in byte order of their names. After an error nothing more comes.
pub type Attributes<'a> = Box<dyn Iterator<Item = Result<Attribute>> + 'a>;

/// A fact about a file as a whole: what it is, and its value.
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
    /// The standard's name of it.
    pub name: Cow<'static, str>,
    /// Its first byte.
    pub offset: u64,
    /// Its bytes.
    pub size: u64,
    /// How deep it is nested in the structures before it.
    pub depth: usize,
    /// Its fields in the standard's order.
    pub fields: Vec<(Cow<'static, str>, Value)>,
}

/// Something wrong that a check of a file's structures found.
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
    /// The path of the object it concerns, where there is one.
    pub path: Option<String>,
    /// What is wrong, with its offset where it has one.
    pub error: Error,
}

/// A file of some format as one tree of objects. There is one adapter a format.
///
/// Nothing here is read before it is asked for: a file may hold millions of objects, and finding one of them lists
/// none of the others.
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

    /// What is known of the file as a whole, in the order to show it: version, writer, unusual features.
    fn facts(&self) -> Vec<Fact>;

    /// The few of these facts that tell one file from another at a glance: `2.1, hoomd 1.4, 3 frames`. May be empty.
    fn headline(&self) -> String {
        let version = self.facts().into_iter().find(|(key, _)| *key == "version");
        version.map(|(_, version)| version.to_string()).unwrap_or_default()
    }

    /// Further facts, for which the whole index of the file is looked at.
    ///
    /// # Errors
    /// If it cannot be read.
    fn measures(&self) -> Result<Vec<Fact>> {
        Ok(Vec::new())
    }

    /// What stands in many groups under the same name, in byte order of the names: the chunks of all frames. Empty
    /// where a format has nothing of the kind.
    ///
    /// # Errors
    /// If the index of the file cannot be read.
    fn summaries(&self) -> Result<Vec<Summary>> {
        Ok(Vec::new())
    }

    /// The object at `/`.
    fn root(&self) -> ObjectId;

    /// An object. What cannot be read is [`Object::Damaged`] as far as its kind is known.
    ///
    /// # Errors
    /// If nothing can be said of the object.
    fn object(&self, id: ObjectId) -> Result<Object>;

    /// The members of a group in byte order of their names.
    ///
    /// # Errors
    /// If they cannot be listed.
    fn members(&self, group: ObjectId) -> Result<Members<'_>>;

    /// The members of a group as people list them: numbers by value, and those marked that are like the one before.
    /// In byte order, none of them marked, unless the format knows better.
    ///
    /// # Errors
    /// As [`members`](Self::members).
    fn listing(&self, group: ObjectId) -> Result<Listing<'_>> {
        let members = self.members(group)?;
        Ok(Box::new(members.map(|member| member.map(|member| Listed { member, alike: false }))))
    }

    /// What one member of a group leads to; `None` if there is no such member. There may be names that
    /// [`members`](Self::members) does not list: views that the schema of a file gives of many objects at once.
    ///
    /// # Errors
    /// If the group cannot be searched.
    fn member(&self, group: ObjectId, name: &Name) -> Result<Option<Target>>;

    /// The attributes of an object in byte order of their names.
    ///
    /// # Errors
    /// If they cannot be listed.
    fn attributes(&self, _id: ObjectId) -> Result<Attributes<'_>> {
        Ok(Box::new(std::iter::empty()))
    }

    /// What an attribute of an object means, as JSON, where its elements are the bytes of an encoding.
    fn attribute_json(&self, _id: ObjectId, _attribute: &Attribute) -> Option<String> {
        None
    }

    /// What the format keeps of an object beside its contents, in words: how elements are stored, which orders are kept. Not
    /// where, nor in how many bytes.
    ///
    /// # Errors
    /// Those of reading the object.
    fn storage(&self, id: ObjectId) -> Result<Vec<(&'static str, String)>> {
        let Object::Array(info) = self.object(id)? else { return Ok(Vec::new()) };
        let chunks = info.chunks.map_or_else(|| "none".to_owned(), |chunks| format!("{chunks:?}"));
        Ok(vec![("chunks", chunks), ("filters", info.filters.join(", "))])
    }

    /// The elements of an array as they are stored, if they are stored in pieces or elsewhere: arrays of which this tells the same
    /// have the same elements.
    ///
    /// # Errors
    /// Those of reading what leads to the pieces.
    fn stored(&self, _array: ObjectId) -> Result<Option<Stored<'_>>> {
        Ok(None)
    }

    /// Appends the canonical bytes of the selected elements of an array to `out`, in C order;
    /// see [`ElementType`](crate::ElementType).
    ///
    /// # Errors
    /// If the elements cannot be read; `out` may then have grown.
    fn read(&self, array: ObjectId, slab: &Slab, out: &mut Vec<u8>) -> Result<()>;

    /// Reads the canonical bytes of the selected elements of an array into `out`, which has their total size: for elements of
    /// one size. A format that can put them there at once should; what is here reads them elsewhere first.
    ///
    /// # Errors
    /// As [`read`](Self::read); [`Error::Usage`] if `out` has another size. `out` may then hold anything.
    fn read_into(&self, array: ObjectId, slab: &Slab, out: &mut [u8]) -> Result<()> {
        let mut bytes = Vec::new();
        self.read(array, slab, &mut bytes)?;
        copied(&bytes, out)
    }

    /// The canonical bytes of an element of an array that was never written, where the format notes them and the array has
    /// elements of one size.
    fn fill(&self, _array: ObjectId) -> Option<Vec<u8>> {
        None
    }

    /// What the format has in a file beside its objects: the bytes after the elements of RawArray.
    ///
    /// # Errors
    /// If they cannot be read.
    fn metadata(&self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    /// The bytes that the file says it has, if it has fewer.
    fn cut_short(&self) -> Option<u64> {
        None
    }

    /// What may be lost or wrong of a file of which only a part was found, beyond what reading its elements shows:
    /// completes "it …".
    fn doubt(&self) -> Option<&'static str> {
        None
    }

    /// The object that a link of the group `from` into another file leads to. Its id is one of this source, whose other
    /// methods take it.
    ///
    /// # Errors
    /// [`Error::Missing`] if the file or the object is not there; [`Error::Forbidden`] if it may not be opened.
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

    /// What was missing of other files when elements were read since this was last asked, each once: see
    /// [`Missing::Filled`](crate::options::Missing::Filled).
    fn take_missing(&self) -> Vec<Error> {
        Vec::new()
    }

    /// What the format tells of its objects beyond what all formats share.
    fn details(&self) -> Option<&dyn Details> {
        None
    }

    /// The source itself, for those who know what it may be.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }

    /// Whether more than one hard link may lead to the object. Such objects are remembered during a walk, so a format
    /// without hard links says `false`.
    fn may_be_shared(&self, _id: ObjectId) -> bool {
        true
    }

    /// Whether names may hold a `/` of their own.
    fn slashes_in_names(&self) -> bool {
        false
    }

    /// Checks what reading all elements and attributes does not: structures that nothing leads to, checksums of
    /// indices, bytes after the end.
    fn check(&self, _visit: &mut dyn FnMut(Finding)) {}

    /// Goes through the structures in the file in order of their offsets, as far as the order is known.
    ///
    /// # Errors
    /// The first structure that cannot be read ends the walk.
    fn structures(&self, visit: &mut dyn FnMut(Structure) -> ControlFlow<()>) -> Result<()>;
}
