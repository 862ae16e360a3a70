//! What a plan tells: what is lost, what is held in another way, how much there is.

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
