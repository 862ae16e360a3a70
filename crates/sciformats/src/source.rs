//! What a format must tell about a file.

use std::any::Any;
use std::borrow::Cow;
use std::iter::Peekable;
use std::ops::ControlFlow;

use sciformats_core::{Error, Slab};

use crate::model::{Attribute, Name, Object, ObjectId, Target, Value};
use crate::{Format, Result};

/// A member of a group.
///
/// ```
/// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
/// # let fields = tree.group(tree.root(), "fields");
/// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
/// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
/// # let file = sciformats::File::from(tree);
/// let source = file.source();
/// for member in source.members(source.root())? {
///     let member = member?;
///     println!("{} {:?}", member.name, member.target);
/// }
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Debug)]
pub struct Member {
    /// Its name, unique in the group.
    pub name: Name,
    /// What it leads to.
    pub target: Target,
}

/// The elements of an array as they are stored.
pub struct Stored<'a> {
    /// How they are stored: what a piece is, and what was done to it.
    pub how: String,
    /// How many pieces there are.
    pub pieces: usize,
    /// No piece has more bytes.
    pub largest: u64,
    /// Reads pieces that follow each other: appends their bytes, and tells of each where it belongs, what of `how` does not
    /// hold for it, and how many bytes it has.
    pub read: ReadStored<'a>,
}

/// See [`Stored`].
pub type ReadStored<'a> =
    Box<dyn Fn(std::ops::Range<usize>, &mut Vec<u8>) -> Result<Vec<StoredPiece>> + Send + Sync + 'a>;

/// See [`Stored`].
pub type StoredPiece = (Vec<u64>, u32, usize);

#[cfg(feature = "hdf5")]
impl<'a> Stored<'a> {
    /// How elements are stored that are in no pieces of their own.
    pub(crate) fn elsewhere(how: String) -> Self {
        Self { how, pieces: 0, largest: 0, read: Box::new(|_, _| Ok(Vec::new())) }
    }
}

impl std::fmt::Debug for Stored<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stored").field("how", &self.how).finish_non_exhaustive()
    }
}

/// The members of a group, in byte order of their names. After an error nothing more comes.
pub type Members<'a> = Box<dyn Iterator<Item = Result<Member>> + 'a>;

/// A member of a group as it is shown to people.
///
/// ```
/// use sciformats::Format;
/// use sciformats::memory::{Memory, array};
/// use sciformats::source::Source;
///
/// let mut tree = Memory::new(Format::Gsd);
/// for name in ["9", "10", "11"] {
///     tree.array(tree.root(), name, array::<f32>(&[3], &[0.5; 3]));
/// }
/// let alike: Result<Vec<bool>, _> = tree.listing(tree.root())?.map(|listed| listed.map(|l| l.alike)).collect();
/// assert_eq!(alike?, [false, true, true]); // 9, 10, 11
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Debug)]
pub struct Listed {
    /// The member.
    pub member: Member,
    /// Whether it is like the member before it. Its name is then the number after that one's; and below the two, names,
    /// kinds, types, shapes, sizes, filters and attributes are the same. Only values of elements may differ, and the
    /// fact `offset` of an array. Nothing below them can be reached by another hard link.
    pub alike: bool,
}

/// The members of a group in the order that people expect. After an error nothing more comes.
pub type Listing<'a> = Box<dyn Iterator<Item = Result<Listed>> + 'a>;

/// Members of a group one after another that are alike; often only one.
///
/// ```
/// use sciformats::Format;
/// use sciformats::memory::{Memory, array};
/// use sciformats::source::Runs;
///
/// let mut tree = Memory::new(Format::Gsd);
/// for i in 0..100 {
///     tree.array(tree.root(), &i.to_string(), array::<f32>(&[3], &[0.5; 3]));
/// }
/// for run in Runs::new(&tree, tree.root())? {
///     let run = run?;
///     assert_eq!((run.first.name, run.last, run.count), ("0".into(), Some("99".into()), 100));
/// }
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Debug)]
pub struct Run {
    /// The first of them.
    pub first: Member,
    /// The name of the last one, if there is more than the first.
    pub last: Option<Name>,
    /// How many there are.
    pub count: u64,
}

/// The members of a group, those that are alike taken together.
///
/// ```no_run
/// use sciformats::source::Runs;
///
/// let file = sciformats::open("run.gsd")?;
/// for run in Runs::new(file.source(), file.resolve("/frames")?)? {
///     let run = run?;
///     println!("{} and {} like it", run.first.name, run.count - 1);
/// }
/// # Ok::<(), sciformats::Error>(())
/// ```
pub struct Runs<'a>(Peekable<Listing<'a>>);

impl<'a> Runs<'a> {
    /// The members of `group`.
    ///
    /// ```
    /// use sciformats::source::Runs;
    ///
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// assert_eq!(Runs::new(file.source(), file.resolve("/fields")?)?.count(), 1);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Source::listing`].
    pub fn new(source: &'a dyn Source, group: ObjectId) -> Result<Self> {
        source.listing(group).map(|listing| Self(listing.peekable()))
    }
}

impl Iterator for Runs<'_> {
    type Item = Result<Run>;

    fn next(&mut self) -> Option<Self::Item> {
        let first = match self.0.next()? {
            Ok(listed) => listed.member,
            Err(error) => return Some(Err(error)),
        };
        let mut run = Run { first, last: None, count: 1 };
        while let Some(Ok(next)) = self.0.next_if(|next| next.as_ref().is_ok_and(|next| next.alike)) {
            run.last = Some(next.member.name);
            run.count = run.count.saturating_add(1);
        }
        Some(Ok(run))
    }
}

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
/// use sciformats::memory::Memory;
/// use sciformats::{File, Format, verify};
///
/// let mut tree = Memory::new(Format::Hdf5);
/// tree.damage(tree.root(), "u");
/// let mut lines = Vec::new();
/// verify::verify(&File::from(tree), &mut |finding| {
///     lines.push(format!("{}: {}", finding.path.unwrap_or_default(), finding.error));
/// });
/// assert_eq!(lines, ["/u: malformed object at offset 0x40: it is truncated"]);
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

    /// What was missing of other files when elements were read since this was last asked, each once: see
    /// [`Missing::Filled`](crate::options::Missing::Filled).
    fn take_missing(&self) -> Vec<Error> {
        Vec::new()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Memory, array};

    fn ranges(memory: &Memory, group: ObjectId) -> Vec<String> {
        let runs = Runs::new(memory, group).unwrap();
        let shown = runs.map(|run| {
            let run = run.unwrap();
            let last = run.last.map(|last| format!("…{last}")).unwrap_or_default();
            format!("{}{last} {}", run.first.name, run.count)
        });
        shown.collect()
    }

    #[test]
    fn numbers_in_their_order_and_equal_ones_together() {
        let mut memory = Memory::new(Format::Gsd);
        let frames = memory.group(memory.root(), "frames");
        for i in 0..12u8 {
            let frame = memory.group(frames, &i.to_string());
            let rows: &[f32] = if i < 3 { &[0.0] } else { &[f32::from(i), 1.0] };
            memory.array(frame, "x", array(&[rows.len() as u64], rows));
            if i == 10 {
                memory.attribute(frame, "note", array::<u8>(&[], &[1]));
            }
        }
        assert_eq!(ranges(&memory, frames), ["0…2 3", "3…9 7", "10 1", "11 1"]);
        assert_eq!(ranges(&memory, memory.root()), ["frames 1"]);
    }

    #[test]
    fn what_only_looks_alike_stays_apart() {
        let mut memory = Memory::new(Format::Hdf5);
        let root = memory.root();
        // Not one after the other.
        let x = memory.array(root, "1", array::<u8>(&[], &[1]));
        memory.array(root, "3", array::<u8>(&[], &[1]));
        // Equal but for its type; then a link to an array that has another name.
        memory.array(root, "4", array::<i8>(&[], &[1]));
        memory.hard_link(root, "5", x);
        memory.damage(root, "6");
        memory.damage(root, "7");
        // Groups that share an array.
        for name in ["10", "11"] {
            let group = memory.group(root, name);
            memory.hard_link(group, "x", x);
        }
        assert_eq!(ranges(&memory, root), ["1 1", "3 1", "4 1", "5 1", "6 1", "7 1", "10 1", "11 1"]);
        // One name that is no number, and all stand in byte order.
        memory.value(root, "a", 1u8);
        assert_eq!(ranges(&memory, root).first().map(String::as_str), Some("1 1"));
        assert_eq!(ranges(&memory, root).get(1).map(String::as_str), Some("10 1"));
    }
}
