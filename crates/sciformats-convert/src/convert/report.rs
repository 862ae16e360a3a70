//! What a plan reports: losses, changes of form, and counts.

/// Something that the target cannot hold.
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
    /// What happens to it.
    pub what: String,
    /// The elements that cannot be read, if the loss is about elements.
    pub lost: Option<Lost>,
}

/// What is said of an object that does not keep how it was stored.
const STORED: &str = "is stored without";

impl Loss {
    /// Creates the loss for an object that is whole, but does not keep everything of how it was stored.
    #[cfg(feature = "hdf5")]
    pub(crate) fn of_storage(path: String, lost: &[String]) -> Self {
        Self { path, what: format!("{STORED} {}", lost.join(", ")), lost: None }
    }

    /// Returns whether nothing of an object itself is lost, but only how it was stored.
    pub fn is_of_storage(&self) -> bool {
        self.lost.is_none() && self.what.starts_with(STORED)
    }

    /// Creates the loss for references to objects that the target does not have.
    pub(crate) fn of_references(path: String, count: u64) -> Self {
        let references = if count == 1 { "a reference".into() } else { format!("{count} references") };
        Self {
            path,
            what: format!("has {references} to missing objects, which become null in the target"),
            lost: None,
        }
    }
}

/// Elements that cannot be read. In the target they are fill values of the source, or zeros if it has none.
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
    /// The chunk that contains them, counted in chunks along each dimension, if the array has chunks.
    pub chunk: Option<Vec<u64>>,
    /// The index of the first of these elements.
    pub first: Vec<u64>,
    /// The number of elements.
    pub elements: u64,
    /// The number of their canonical bytes, if they have a fixed size.
    pub bytes: Option<u64>,
    /// The reason why they cannot be read.
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
            write!(f, " starting at element ({})", index(&self.first))?;
        }
        let comma = if self.chunk.is_some() { "," } else { "" };
        write!(f, "{comma} cannot be read: {}", self.reason)
    }
}

/// Something that the target holds in a different form, without a loss.
///
/// ```
/// use sciformats::Format;
/// use sciformats_convert::convert::{Options, Plan, Remark};
/// use std::sync::Arc;
///
/// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
/// # let fields = tree.group(tree.root(), "fields");
/// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
/// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
/// # let file = sciformats::File::from(tree);
/// let plan = Plan::new(&Arc::new(file), Format::Npy, &Options::default())?;
/// assert_eq!(plan.remarks(), [(Remark::Moved, 1)]); // from `/fields/u` to `/`
/// assert_eq!(Remark::Moved.text(), "arrays get another path");
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Remark {
    /// An array has another path.
    Moved,
    /// An attribute becomes a member.
    AttributeAsMember,
    /// A member becomes an attribute.
    MemberAsAttribute,
    /// A scalar becomes an array without dimensions.
    ScalarAsArray,
    /// An array of one text about the writer or the history of an ASDF file becomes a text of the tree.
    TextInTree,
    /// Truth values have another type.
    TruthValues,
    /// A name is escaped.
    Escaped,
    /// A name with escapes becomes the bytes that they stand for.
    Unescaped,
    /// Elements that are arrays themselves become further dimensions.
    ArrayAsDimensions,
    /// The bytes after the elements of a RawArray become an attribute, or the attribute becomes these bytes.
    Metadata,
    /// Floating-point numbers of a size that no other format has become bytes.
    NumbersAsBytes,
    /// Texts of a fixed number of characters get lengths of their own.
    TextsOfAnyLength,
    /// Texts of a fixed number of bytes get a fixed number of characters.
    BytesAsCharacters,
}

impl Remark {
    /// Returns the text for people.
    pub fn text(self) -> &'static str {
        match self {
            Self::Moved => "arrays get another path",
            Self::AttributeAsMember => {
                "attributes become members: `x@name` beside an array, and `@name` in a group"
            }
            Self::MemberAsAttribute => "members `x@name` become attributes",
            Self::ScalarAsArray => "scalars become arrays without dimensions",
            Self::TextInTree => {
                "arrays of one text about the writer and the history of the file become texts of the tree"
            }
            Self::TruthValues => "truth values are an enumeration in HDF5 and `bool` in other formats",
            Self::Escaped => "names are escaped",
            Self::Unescaped => r"names with escapes such as `\xe9` have the bytes that these stand for",
            Self::ArrayAsDimensions => "elements that are arrays become further dimensions",
            Self::Metadata => {
                "the bytes after the elements of a RawArray become the attribute `rawarray:metadata`"
            }
            Self::NumbersAsBytes => {
                "floating-point numbers of this size remain bytes, because the file does not say what they mean"
            }
            Self::TextsOfAnyLength => "texts of a fixed number of characters become texts of any length",
            Self::BytesAsCharacters => {
                "texts of a fixed number of bytes become texts of a fixed number of characters, because they are not ASCII"
            }
        }
    }
}

/// The number of things that a plan writes.
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
/// let counts = Plan::new(&Arc::new(file), Format::Npy, &Options::default())?.counts();
/// assert_eq!((counts.arrays, counts.bytes), (1, 48));
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Groups, including the root.
    pub groups: u64,
    /// Arrays.
    pub arrays: u64,
    /// Scalars and committed datatypes.
    pub values: u64,
    /// Additional hard links, and links by path.
    pub links: u64,
    /// Attributes.
    pub attributes: u64,
    /// The size of the elements of arrays in bytes, as far as it is fixed.
    pub bytes: u64,
}
