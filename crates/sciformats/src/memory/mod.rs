//! A tree in memory, for tests and for programs that generate data. It can express everything that the five
//! formats can, without a file.

mod tree;

use std::collections::BTreeMap;

use sciformats_core::Error;
use sciformats_core::bound;

use crate::model::{ArrayInfo, ElementType, Name, ObjectId, Value};
use crate::source::Fact;
use crate::{Format, Result};

/// A tree of objects that was built in memory.
///
/// ```
/// use sciformats::memory::{Memory, array};
/// use sciformats::{File, Format};
///
/// let mut tree = Memory::new(Format::Hdf5);
/// let fields = tree.group(tree.root(), "fields");
/// tree.array(fields, "u", array::<f64>(&[2, 2], &[1.0, 2.0, 3.0, 4.0]));
///
/// let file = File::from(tree);
/// assert_eq!(file.array("/fields/u")?.read::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Debug)]
pub struct Memory {
    format: Format,
    facts: Vec<Fact>,
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    body: Body,
    attributes: BTreeMap<Name, MemoryArray>,
    /// The number of hard links that lead to the object.
    links: u32,
}

#[derive(Debug)]
enum Body {
    Group(BTreeMap<Name, Link>),
    Array(MemoryArray),
    Datatype(ElementType),
    Value(Value),
    Damaged,
}

#[derive(Debug)]
enum Link {
    Hard(ObjectId),
    Soft(Name),
    External(Name, Name),
    User(u64),
}

/// An array in memory: its description, and the canonical bytes of its elements.
///
/// ```
/// use sciformats::ElementType;
/// use sciformats::memory::array;
///
/// let array = array::<u16>(&[2], &[1, 300]);
/// assert_eq!((array.info.element, array.bytes), (ElementType::UInt(2), vec![1, 0, 0x2c, 1]));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryArray {
    /// The description of the array, which is everything except its elements.
    pub info: ArrayInfo,
    /// The canonical bytes of all elements, in C order.
    pub bytes: Vec<u8>,
}

/// A type of number that an array in memory can be created from.
///
/// ```
/// use sciformats::memory::{MemoryArray, Number, array};
///
/// fn row<T: Number>(values: &[T]) -> MemoryArray {
///     array(&[1, values.len() as u64], values)
/// }
/// assert_eq!(row(&[0.5f32, 1.5]).info.shape, Some(vec![1, 2]));
/// ```
pub trait Number: Copy {
    /// The element type.
    const ELEMENT: ElementType;
    /// Appends the canonical bytes of the number.
    fn write(self, out: &mut Vec<u8>);
}

macro_rules! number {
    ($($type:ty => $element:expr),* $(,)?) => {$(
        impl Number for $type {
            const ELEMENT: ElementType = $element;
            fn write(self, out: &mut Vec<u8>) {
                out.extend(self.to_le_bytes());
            }
        }
    )*};
}
number! {
    i8 => ElementType::Int(1), i16 => ElementType::Int(2), i32 => ElementType::Int(4), i64 => ElementType::Int(8),
    i128 => ElementType::Int(16),
    u8 => ElementType::UInt(1), u16 => ElementType::UInt(2), u32 => ElementType::UInt(4), u64 => ElementType::UInt(8),
    u128 => ElementType::UInt(16),
    f32 => ElementType::F32, f64 => ElementType::F64,
}

/// Creates an array of numbers with this shape. If there are fewer `values`, reading the missing elements is
/// an error.
///
/// ```
/// use sciformats::memory::{Memory, array};
/// use sciformats::{File, Format};
///
/// let file = File::from(Memory::single(Format::Npy, array::<f32>(&[2, 2], &[1.0, 2.0, 3.0, 4.0])));
/// assert_eq!(file.array("/")?.read::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
/// # Ok::<(), sciformats::Error>(())
/// ```
pub fn array<T: Number>(shape: &[u64], values: &[T]) -> MemoryArray {
    let mut bytes = Vec::new();
    values.iter().for_each(|value| value.write(&mut bytes));
    MemoryArray { info: ArrayInfo::new(T::ELEMENT, shape), bytes }
}

/// Creates an array of strings.
///
/// ```
/// use sciformats::memory::{Memory, texts};
/// use sciformats::{File, Format};
///
/// let file = File::from(Memory::single(Format::Hdf5, texts(&[2], &["Vega", "Deneb"])));
/// assert_eq!(file.array("/")?.read::<String>()?, ["Vega", "Deneb"]);
/// # Ok::<(), sciformats::Error>(())
/// ```
pub fn texts(shape: &[u64], values: &[&str]) -> MemoryArray {
    let mut bytes = Vec::new();
    for value in values {
        bytes.extend((value.len() as u64).to_le_bytes());
        bytes.extend(value.as_bytes());
    }
    MemoryArray { info: ArrayInfo::new(ElementType::Text, shape), bytes }
}

impl Memory {
    /// Creates an empty tree that is presented as a file of `format`.
    ///
    /// ```
    /// use sciformats::memory::Memory;
    /// use sciformats::{File, Format};
    ///
    /// assert_eq!(File::from(Memory::new(Format::Asdf)).format(), Format::Asdf);
    /// ```
    pub fn new(format: Format) -> Self {
        let root = Node { body: Body::Group(BTreeMap::new()), attributes: BTreeMap::new(), links: 1 };
        Self { format, facts: Vec::new(), nodes: vec![root] }
    }

    /// Creates a tree that is a single array.
    ///
    /// ```
    /// use sciformats::memory::{Memory, array};
    /// use sciformats::{File, Format};
    ///
    /// let file = File::from(Memory::single(Format::RawArray, array::<u8>(&[3], &[1, 2, 3])));
    /// assert_eq!(file.array("/")?.shape(), [3]);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn single(format: Format, array: MemoryArray) -> Self {
        let root = Node { body: Body::Array(array), attributes: BTreeMap::new(), links: 1 };
        Self { format, facts: Vec::new(), nodes: vec![root] }
    }

    /// Returns the object at `/`.
    pub fn root(&self) -> ObjectId {
        ObjectId(0)
    }

    /// Adds a fact about the file as a whole.
    ///
    /// ```
    /// use sciformats::Format;
    /// use sciformats::memory::Memory;
    ///
    /// let mut tree = Memory::new(Format::Gsd);
    /// tree.fact("schema", "hoomd 1.4");
    /// ```
    pub fn fact(&mut self, key: &'static str, value: impl Into<Value>) {
        self.facts.push((key, value.into()));
    }

    /// Adds a group to a group. Like every function that adds a member, it replaces an existing member of the
    /// same name.
    ///
    /// ```
    /// use sciformats::memory::Memory;
    /// use sciformats::{File, Format, Kind};
    ///
    /// let mut tree = Memory::new(Format::Hdf5);
    /// let run = tree.group(tree.root(), "run");
    /// tree.group(run, "fields");
    /// assert_eq!(File::from(tree).object("/run/fields")?.kind(), Kind::Group);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn group(&mut self, parent: ObjectId, name: &str) -> ObjectId {
        self.add(parent, name, Body::Group(BTreeMap::new()))
    }

    /// Adds an array.
    ///
    /// ```
    /// use sciformats::memory::{Memory, array};
    /// use sciformats::{File, Format};
    ///
    /// let mut tree = Memory::new(Format::Hdf5);
    /// tree.array(tree.root(), "temperature", array::<f64>(&[2], &[20.5, 20.6]));
    /// assert_eq!(File::from(tree).array("/temperature")?.read::<f64>()?, [20.5, 20.6]);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn array(&mut self, parent: ObjectId, name: &str, array: MemoryArray) -> ObjectId {
        self.add(parent, name, Body::Array(array))
    }

    /// Adds a scalar.
    ///
    /// ```
    /// use sciformats::memory::Memory;
    /// use sciformats::{File, Format, Object};
    ///
    /// let mut tree = Memory::new(Format::Asdf);
    /// tree.value(tree.root(), "exposure", 30.0);
    /// let file = File::from(tree);
    /// assert!(matches!(file.object("/exposure")?, Object::Value(value) if value.to_string() == "30.0"));
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn value(&mut self, parent: ObjectId, name: &str, value: impl Into<Value>) -> ObjectId {
        self.add(parent, name, Body::Value(value.into()))
    }

    /// Adds a committed datatype.
    ///
    /// ```
    /// use sciformats::memory::Memory;
    /// use sciformats::{ElementType, File, Format, Kind};
    ///
    /// let mut tree = Memory::new(Format::Hdf5);
    /// let point = ElementType::Compound(vec![("x".into(), ElementType::F64), ("y".into(), ElementType::F64)]);
    /// tree.datatype(tree.root(), "point", point);
    /// assert_eq!(File::from(tree).object("/point")?.kind(), Kind::Datatype);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn datatype(&mut self, parent: ObjectId, name: &str, element: ElementType) -> ObjectId {
        self.add(parent, name, Body::Datatype(element))
    }

    /// Adds an array that cannot be read.
    ///
    /// ```
    /// use sciformats::memory::Memory;
    /// use sciformats::{File, Format};
    ///
    /// let mut tree = Memory::new(Format::Hdf5);
    /// tree.damage(tree.root(), "u");
    /// let file = File::from(tree); // to see what a program makes of it
    /// assert!(file.array("/u").is_err());
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn damage(&mut self, parent: ObjectId, name: &str) -> ObjectId {
        self.add(parent, name, Body::Damaged)
    }

    /// Adds another link to an object.
    ///
    /// ```
    /// use sciformats::memory::{Memory, array};
    /// use sciformats::{File, Format};
    ///
    /// let mut tree = Memory::new(Format::Hdf5);
    /// let u = tree.array(tree.root(), "u", array::<u8>(&[1], &[7]));
    /// tree.hard_link(tree.root(), "also u", u);
    /// assert_eq!(File::from(tree).resolve("/also u")?, u);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn hard_link(&mut self, parent: ObjectId, name: &str, target: ObjectId) {
        self.link(parent, name, Link::Hard(target));
    }

    /// Adds a soft link.
    ///
    /// ```
    /// use sciformats::memory::{Memory, array};
    /// use sciformats::{File, Format};
    ///
    /// let mut tree = Memory::new(Format::Hdf5);
    /// let u = tree.array(tree.root(), "u", array::<u8>(&[1], &[7]));
    /// tree.soft_link(tree.root(), "latest", "/u");
    /// assert_eq!(File::from(tree).resolve("/latest")?, u);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn soft_link(&mut self, parent: ObjectId, name: &str, target: &str) {
        self.link(parent, name, Link::Soft(target.into()));
    }

    /// Adds a link into another file.
    ///
    /// ```
    /// use sciformats::memory::Memory;
    /// use sciformats::{File, Format};
    ///
    /// let mut tree = Memory::new(Format::Hdf5);
    /// tree.external_link(tree.root(), "mesh", "mesh.h5", "/nodes");
    /// assert!(File::from(tree).array("/mesh").is_err()); // other files are not opened
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn external_link(&mut self, parent: ObjectId, name: &str, file: &str, target: &str) {
        self.link(parent, name, Link::External(file.into(), target.into()));
    }

    /// Adds a user-defined link.
    ///
    /// ```
    /// use sciformats::memory::Memory;
    /// use sciformats::{File, Format};
    ///
    /// let mut tree = Memory::new(Format::Hdf5);
    /// tree.user_link(tree.root(), "elsewhere", 187);
    /// assert!(File::from(tree).resolve("/elsewhere").is_err());
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn user_link(&mut self, parent: ObjectId, name: &str, class: u64) {
        self.link(parent, name, Link::User(class));
    }

    /// Adds an attribute to an object.
    ///
    /// ```
    /// use sciformats::memory::{Memory, array, texts};
    /// use sciformats::{File, Format};
    ///
    /// let mut tree = Memory::new(Format::Hdf5);
    /// let u = tree.array(tree.root(), "u", array::<u8>(&[1], &[7]));
    /// tree.attribute(u, "unit", texts(&[], &["m/s"]));
    /// assert_eq!(File::from(tree).source().attributes(u)?.count(), 1);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn attribute(&mut self, object: ObjectId, name: &str, array: MemoryArray) {
        if let Some(node) = self.index(object).and_then(|i| self.nodes.get_mut(i)) {
            node.attributes.insert(name.into(), array);
        }
    }

    fn index(&self, id: ObjectId) -> Option<usize> {
        usize::try_from(id.0).ok()
    }

    fn node(&self, id: ObjectId) -> Result<&Node> {
        let node = self.index(id).and_then(|i| self.nodes.get(i));
        node.ok_or_else(|| Error::not_found("object", id.0.to_string()))
    }

    fn add(&mut self, parent: ObjectId, name: &str, body: Body) -> ObjectId {
        let id = ObjectId(self.nodes.len() as u64);
        self.nodes.push(Node { body, attributes: BTreeMap::new(), links: 0 });
        self.link(parent, name, Link::Hard(id));
        id
    }

    fn link(&mut self, parent: ObjectId, name: &str, link: Link) {
        if let Some(Node { body: Body::Group(members), .. }) =
            self.index(parent).and_then(|i| self.nodes.get_mut(i))
        {
            let target = match link {
                Link::Hard(id) => Some(id),
                _ => None,
            };
            members.insert(name.into(), link);
            let target = target.and_then(|id| self.index(id));
            if let Some(node) = target.and_then(|i| self.nodes.get_mut(i)) {
                node.links = bound::sum(node.links, 1);
            }
        }
    }
}
