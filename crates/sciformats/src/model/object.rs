//! Objects of a tree, and links to them.

use std::fmt;

use sciformats_core::Error;

use super::{ElementType, Name, TextForm, Value};
use crate::Result;

/// Identifies an object inside its file. Equal ids mean the same object, which is how several hard links to
/// one object are found.
///
/// ```
/// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
/// # let fields = tree.group(tree.root(), "fields");
/// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
/// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
/// # let file = sciformats::File::from(tree);
/// let id = file.resolve("/fields/u")?;
/// assert_eq!(file.array("/fields/u")?.id(), id);
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u64);

/// What kind of thing an object is.
///
/// ```
/// use sciformats::Kind;
///
/// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
/// # let fields = tree.group(tree.root(), "fields");
/// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
/// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
/// # let file = sciformats::File::from(tree);
/// assert_eq!(file.object("/fields/u")?.kind(), Kind::Array);
/// assert_eq!(Kind::Array.word(), "array");
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// It has members.
    Group,
    /// It has elements.
    Array,
    /// A datatype with a name.
    Datatype,
    /// A scalar of a tree.
    Value,
    /// The object is so damaged that its kind is unknown.
    Unknown,
}

impl Kind {
    /// Returns the word of the manifest: `group`, `array`, `datatype`, `value`, `unknown`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Group => "group",
            Self::Array => "array",
            Self::Datatype => "datatype",
            Self::Value => "value",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// An object of a tree.
///
/// ```
/// use sciformats::Object;
///
/// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
/// # let fields = tree.group(tree.root(), "fields");
/// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
/// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
/// # let file = sciformats::File::from(tree);
/// let shown = match file.object("/fields/u")? {
///     Object::Group => "a group".into(),
///     Object::Array(info) => format!("an array of {}", info.element),
///     Object::Datatype(element) => format!("the type {element}"),
///     Object::Value(value) => value.to_string(),
///     Object::Damaged { error, .. } => format!("damaged: {error}"),
/// };
/// assert_eq!(shown, "an array of float64");
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Debug)]
pub enum Object {
    /// A group; [`Source::members`](crate::Source::members) lists its members.
    Group,
    /// An array; [`Source::read`](crate::Source::read) reads its elements.
    Array(Box<ArrayInfo>),
    /// A committed datatype.
    Datatype(ElementType),
    /// A scalar.
    Value(Value),
    /// An object that cannot be read, and what is known about it.
    Damaged {
        /// The kind, if at least that could be read.
        kind: Kind,
        /// The reason why it cannot be read.
        error: Error,
    },
}

impl Object {
    /// Returns the kind of the object.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Group => Kind::Group,
            Self::Array(_) => Kind::Array,
            Self::Datatype(_) => Kind::Datatype,
            Self::Value(_) => Kind::Value,
            Self::Damaged { kind, .. } => *kind,
        }
    }
}

/// What a member of a group leads to.
///
/// ```
/// use sciformats::{Name, Target};
///
/// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
/// # let fields = tree.group(tree.root(), "fields");
/// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
/// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
/// # let file = sciformats::File::from(tree);
/// let source = file.source();
/// let target = source.member(source.root(), &Name::from("fields"))?;
/// assert!(matches!(target, Some(Target::Object(_))));
/// assert!(source.member(source.root(), &Name::from("mesh"))?.is_none());
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Debug)]
pub enum Target {
    /// An object of the same file, through a hard link.
    Object(ObjectId),
    /// A path in the same file, as it is stored.
    Soft(Name),
    /// A path in another file; both are given as they are stored.
    External {
        /// The file.
        file: Name,
        /// The path in that file.
        target: Name,
    },
    /// A link of a user-defined class.
    User(u64),
    /// A link that cannot be read.
    Damaged(Error),
}

/// The description of an array, which is everything except its elements.
///
/// ```
/// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
/// # let fields = tree.group(tree.root(), "fields");
/// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
/// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
/// # let file = sciformats::File::from(tree);
/// let u = file.array("/fields/u")?;
/// let info = u.info();
/// assert_eq!((info.elements(), info.logical()), (Some(6), Some(48)));
/// assert!(info.chunks.is_none() && info.filters.is_empty());
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayInfo {
    /// The type of its elements.
    pub element: ElementType,
    /// The dimensions, slowest first; `[]` for a scalar, `None` for a null dataspace, which has no elements.
    pub shape: Option<Vec<u64>>,
    /// The shape of the chunks, if the array has chunks.
    pub chunks: Option<Vec<u64>>,
    /// The filters that the bytes pass through when they are written, in order: `shuffle`, `zlib 6`.
    pub filters: Vec<String>,
    /// The number of bytes that are stored for the elements, if it is known. The chunks of HDF5 are only added up by
    /// [`Source::measured`](crate::Source::measured).
    pub stored: Option<u64>,
    /// Bytes that each element takes as it is stored, where that is the same for all of them; what texts of a fixed width mean has
    /// no size of its own, but what is gone through for them has.
    pub width: Option<u64>,
    /// How the texts in elements are stored: one entry for each text or reference in an element, in order, where an array counts
    /// once. It is `None` if this is not known, or if all of them have lengths of their own.
    pub texts: Option<Box<[TextForm]>>,
    /// Further facts: layout, byte order, fill value.
    pub facts: Vec<(&'static str, Value)>,
}

impl ArrayInfo {
    /// Describes an array that is stored in one piece without filters.
    ///
    /// ```
    /// use sciformats::{ArrayInfo, ElementType};
    ///
    /// let info = ArrayInfo::new(ElementType::F32, [100, 3]);
    /// assert_eq!((info.shape, info.chunks), (Some(vec![100, 3]), None));
    /// ```
    pub fn new(element: ElementType, shape: impl Into<Vec<u64>>) -> Self {
        Self {
            element,
            shape: Some(shape.into()),
            chunks: None,
            filters: Vec::new(),
            stored: None,
            width: None,
            texts: None,
            facts: Vec::new(),
        }
    }

    /// Sets how the texts in elements are stored.
    pub(crate) fn with_texts(mut self, forms: Vec<TextForm>) -> Self {
        let is_fixed = forms.iter().any(|form| *form != TextForm::Variable);
        self.texts = is_fixed.then(|| forms.into_boxed_slice());
        self
    }

    /// Returns the number of elements; `None` if it exceeds 64 bits.
    pub fn elements(&self) -> Option<u64> {
        self.shape.as_ref().map_or(Some(0), |shape| sciformats_core::slab::elements(shape))
    }

    /// The bytes that are gone through for one element: its own size or, where it has none, its width as it is stored.
    pub(crate) fn effort(&self) -> Option<u64> {
        self.element.size().or(self.width)
    }

    /// The bytes of its elements without compression, where every element has the same size.
    pub fn logical(&self) -> Option<u64> {
        self.elements()?.checked_mul(self.element.size()?)
    }
}

/// An attribute of an object.
///
/// ```
/// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
/// # let fields = tree.group(tree.root(), "fields");
/// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
/// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
/// # let file = sciformats::File::from(tree);
/// for attribute in file.source().attributes(file.resolve("/fields/u")?)? {
///     let attribute = attribute?;
///     assert_eq!((attribute.name.to_string(), attribute.value?.shape), ("unit".into(), Some(vec![])));
/// }
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Debug)]
pub struct Attribute {
    /// Its name.
    pub name: Name,
    /// Its type, shape and contents, or the reason why they cannot be read.
    pub value: Result<AttributeValue>,
}

/// The value of an attribute.
///
/// ```
/// use sciformats::{Datum, Decoder};
///
/// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
/// # let fields = tree.group(tree.root(), "fields");
/// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
/// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
/// # let file = sciformats::File::from(tree);
/// for attribute in file.source().attributes(file.resolve("/fields/u")?)? {
///     let value = attribute?.value?;
///     for datum in Decoder::new(&value.element, &value.data?) {
///         assert_eq!(datum?, Datum::Text(b"m/s"));
///     }
/// }
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Debug)]
pub struct AttributeValue {
    /// The type of its elements.
    pub element: ElementType,
    /// The dimensions, as in [`ArrayInfo::shape`].
    pub shape: Option<Vec<u64>>,
    /// The canonical bytes of the elements, or the reason why they cannot be read.
    pub data: Result<Vec<u8>>,
}
