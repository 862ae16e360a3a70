//! Element types (ASDF standard, "ndarray", `datatype`).

use sciformats_core::arith::add;
use sciformats_core::endian::ByteOrder;
use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::{Result, slab};

use crate::yaml::{CollectionStyle, NodeId, Tree, Value};

/// A type without parts.
///
/// ```
/// use asdf_core::ScalarType;
///
/// assert_eq!((ScalarType::Float64.name(), ScalarType::Float64.size()), ("float64", Some(8)));
/// assert_eq!(ScalarType::Ucs4(10).size(), Some(40)); // texts of ten characters
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names are the standard's.
pub enum ScalarType {
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Float16,
    Float32,
    Float64,
    Complex64,
    Complex128,
    /// One byte. Every value but 0 is true.
    Bool8,
    /// Text of this many bytes. Zeros at the end do not count.
    Ascii(u64),
    /// Text of this many code points of four bytes each. Zeros at the end do not count.
    Ucs4(u64),
}

/// The largest number of types of which a datatype may consist. Practical ones have a few hundred.
const MAX_PARTS: u64 = 1 << 16;

const NAMES: [(&str, ScalarType); 14] = [
    ("int8", ScalarType::Int8),
    ("int16", ScalarType::Int16),
    ("int32", ScalarType::Int32),
    ("int64", ScalarType::Int64),
    ("uint8", ScalarType::UInt8),
    ("uint16", ScalarType::UInt16),
    ("uint32", ScalarType::UInt32),
    ("uint64", ScalarType::UInt64),
    ("float16", ScalarType::Float16),
    ("float32", ScalarType::Float32),
    ("float64", ScalarType::Float64),
    ("complex64", ScalarType::Complex64),
    ("complex128", ScalarType::Complex128),
    ("bool8", ScalarType::Bool8),
];

impl ScalarType {
    /// Returns the size of an element in bytes, or `None` if it does not fit 64 bits.
    pub fn size(self) -> Option<u64> {
        match self {
            Self::Int8 | Self::UInt8 | Self::Bool8 => Some(1),
            Self::Int16 | Self::UInt16 | Self::Float16 => Some(2),
            Self::Int32 | Self::UInt32 | Self::Float32 => Some(4),
            Self::Int64 | Self::UInt64 | Self::Float64 | Self::Complex64 => Some(8),
            Self::Complex128 => Some(16),
            Self::Ascii(length) => Some(length),
            Self::Ucs4(length) => length.checked_mul(4),
        }
    }

    /// Returns the size in bytes of the units whose bytes are in one of the two orders.
    ///
    /// ```
    /// use asdf_core::ScalarType;
    ///
    /// assert_eq!(ScalarType::Complex128.word(), 8); // two floats of 8 bytes
    /// assert_eq!(ScalarType::Ascii(10).word(), 1);
    /// ```
    pub fn word(self) -> usize {
        match self {
            Self::Int16 | Self::UInt16 | Self::Float16 => 2,
            Self::Int32 | Self::UInt32 | Self::Float32 | Self::Complex64 | Self::Ucs4(_) => 4,
            Self::Int64 | Self::UInt64 | Self::Float64 | Self::Complex128 => 8,
            Self::Int8 | Self::UInt8 | Self::Bool8 | Self::Ascii(_) => 1,
        }
    }

    /// Returns the name in the standard, such as `float64`. For texts it is `ascii` or `ucs4`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ascii(_) => "ascii",
            Self::Ucs4(_) => "ucs4",
            other => NAMES.iter().find(|(_, scalar)| *scalar == other).map_or("", |(name, _)| name),
        }
    }
}

/// The type of an array's elements.
///
/// ```
/// use asdf_core::{ByteOrder, Datatype, Field, ScalarType};
///
/// let star = Datatype::Struct(vec![
///     Field::new("id", ScalarType::UInt32, ByteOrder::Little),
///     Field::new("flux", ScalarType::Float64, ByteOrder::Little),
/// ]);
/// assert_eq!((star.size(), star.scalar()), (Some(12), None));
/// assert_eq!(Datatype::from(ScalarType::Int16).scalar(), Some(ScalarType::Int16));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Datatype {
    /// A type without parts.
    Scalar(ScalarType),
    /// Fields one after another, without padding.
    Struct(Vec<Field>),
}

/// A field of a structured type.
///
/// ```
/// use asdf_core::{Asdf, ByteOrder, Datatype, Document, Field, NewArray, ScalarType};
///
/// let order = ByteOrder::Little;
/// let position = Field { shape: vec![3], ..Field::new("position", ScalarType::Float32, order) };
/// let particle = Datatype::Struct(vec![Field::new("id", ScalarType::UInt8, order), position]);
/// let mut document = Document::new();
/// document.set_array("particles", NewArray::from_bytes(particle.clone(), order, &[2], vec![0; 26])?)?;
/// let file = Asdf::from_bytes(document.to_bytes()?)?;
/// assert_eq!(file.array("particles")?.datatype(), &particle);
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// The name, which is `f0`, `f1`, … for fields without a name.
    pub name: String,
    /// The type of its elements.
    pub datatype: Datatype,
    /// Their stored byte order.
    pub byteorder: ByteOrder,
    /// The shape of the array in this field, which is empty for a single element.
    pub shape: Vec<u64>,
}

impl From<ScalarType> for Datatype {
    fn from(scalar: ScalarType) -> Self {
        Self::Scalar(scalar)
    }
}

impl Field {
    /// Creates a field of one element.
    ///
    /// ```
    /// use asdf_core::{ByteOrder, Datatype, Field, ScalarType};
    ///
    /// let id = Field::new("id", ScalarType::UInt32, ByteOrder::Little);
    /// assert_eq!((id.datatype, id.shape), (Datatype::Scalar(ScalarType::UInt32), vec![]));
    /// ```
    pub fn new(name: impl Into<String>, datatype: impl Into<Datatype>, byteorder: ByteOrder) -> Self {
        Self { name: name.into(), datatype: datatype.into(), byteorder, shape: Vec::new() }
    }

    fn size(&self) -> Option<u64> {
        slab::elements(&self.shape)?.checked_mul(self.datatype.size()?)
    }
}

impl Datatype {
    /// Returns the size of an element in bytes, or `None` if it does not fit 64 bits.
    pub fn size(&self) -> Option<u64> {
        match self {
            Self::Scalar(scalar) => scalar.size(),
            Self::Struct(fields) => fields.iter().try_fold(0u64, |sum, field| sum.checked_add(field.size()?)),
        }
    }

    /// Returns the scalar type, or `None` if it is a structured type.
    pub fn scalar(&self) -> Option<ScalarType> {
        match self {
            Self::Scalar(scalar) => Some(*scalar),
            Self::Struct(_) => None,
        }
    }

    /// Converts packed elements between the byte order `order` and little-endian, in place.
    ///
    /// ```
    /// use asdf_core::{ByteOrder, Datatype, ScalarType};
    ///
    /// let mut bytes = [0, 1, 0, 2];
    /// Datatype::from(ScalarType::UInt16).swap_to_little(ByteOrder::Big, &mut bytes);
    /// assert_eq!(bytes, [1, 0, 2, 0]);
    /// ```
    pub fn swap_to_little(&self, order: ByteOrder, bytes: &mut [u8]) {
        match self {
            Self::Scalar(scalar) => order.convert(ByteOrder::Little, bytes, scalar.word()),
            Self::Struct(fields) => {
                let Some(size) =
                    self.size().and_then(|size| usize::try_from(size).ok()).filter(|&size| size > 0)
                else {
                    return;
                };
                if self.is_little() {
                    return;
                }
                for element in bytes.chunks_exact_mut(size) {
                    let mut rest = element;
                    for field in fields {
                        // An element is as long as all its fields together, so each field is inside it.
                        let size = field.size().and_then(|size| usize::try_from(size).ok());
                        let cut = size.and_then(|size| std::mem::take(&mut rest).split_at_mut_checked(size));
                        let Some((part, tail)) = cut else { break };
                        field.datatype.swap_to_little(field.byteorder, part);
                        rest = tail;
                    }
                }
            }
        }
    }

    fn is_little(&self) -> bool {
        match self {
            Self::Scalar(_) => false,
            Self::Struct(fields) => fields.iter().all(|field| match &field.datatype {
                Self::Scalar(scalar) => scalar.word() == 1 || field.byteorder == ByteOrder::Little,
                nested @ Self::Struct(_) => nested.is_little(),
            }),
        }
    }

    /// Reads the node of a `datatype`. `order` is the byte order of fields that do not declare one.
    ///
    /// ```
    /// use asdf_core::{ByteOrder, Datatype, ScalarType, Tree};
    ///
    /// let tree = Tree::parse("[ascii, 12]\n")?;
    /// assert_eq!(Datatype::from_node(&tree, tree.root(), ByteOrder::Little)?, ScalarType::Ascii(12).into());
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` at the node.
    pub fn from_node(tree: &Tree, id: NodeId, order: ByteOrder) -> Result<Self> {
        Self::nested(tree, id, order, (0, &mut 0))
    }

    /// `level` is the nesting depth of this type, and `count` is the number of types so far, which is bounded because aliases
    /// could turn a few nodes into many types.
    fn nested(tree: &Tree, id: NodeId, order: ByteOrder, (level, count): (usize, &mut u64)) -> Result<Self> {
        tree.limits().depth("levels of the datatype", level)?;
        *count = add(*count, 1)?;
        sciformats_core::limits::within("parts of the datatype", *count, MAX_PARTS)?;
        let fault = |rule| Fault::new("datatype", FaultKind::Rule(rule)).at("ndarray", tree.node(id).offset);
        if let Some(name) = tree.node(id).text() {
            let scalar = NAMES.iter().find(|(known, _)| *known == name).map(|(_, scalar)| *scalar);
            return scalar
                .map(Self::Scalar)
                .ok_or_else(|| fault("has a name that the standard does not know"));
        }
        let items = tree.items(id).ok_or_else(|| fault("is neither a name nor a list"))?;
        if let [name, length] = items
            && let Some(kind @ ("ascii" | "ucs4")) = tree.node(*name).text()
            && let Ok(Some(length)) = tree.value(*length)
        {
            let length = length.as_int().ok_or_else(|| fault("has a length that is not a whole number"))?;
            return Ok(Self::Scalar(if kind == "ascii" {
                ScalarType::Ascii(length)
            } else {
                ScalarType::Ucs4(length)
            }));
        }
        let field =
            |(index, item): (usize, &NodeId)| Self::field(tree, *item, (index, order), (level, &mut *count));
        let fields = items.iter().enumerate().map(field).collect::<Result<Vec<_>>>()?;
        if fields.is_empty() {
            return Err(fault("has no fields"));
        }
        Ok(Self::Struct(fields))
    }

    fn field(
        tree: &Tree,
        id: NodeId,
        (index, order): (usize, ByteOrder),
        (level, count): (usize, &mut u64),
    ) -> Result<Field> {
        let fault = |rule| Fault::new("field", FaultKind::Rule(rule)).at("ndarray", tree.node(id).offset);
        let unnamed = || format!("f{index}");
        let level = add(level, 1)?;
        if tree.entries(id).is_none() {
            let datatype = Self::nested(tree, id, order, (level, count))?;
            return Ok(Field { name: unnamed(), datatype, byteorder: order, shape: Vec::new() });
        }
        let byteorder = match tree.child(id, "byteorder") {
            Some(node) => byte_order(tree, node)?,
            None => order,
        };
        let name = match tree.child(id, "name") {
            Some(name) => {
                tree.node(name).text().ok_or_else(|| fault("has a name that is not text"))?.to_owned()
            }
            None => unnamed(),
        };
        let datatype = tree.child(id, "datatype").ok_or_else(|| fault("lacks a datatype"))?;
        let datatype = Self::nested(tree, datatype, byteorder, (level, count))?;
        let shape = match tree.child(id, "shape") {
            Some(node) => whole_numbers(tree, node)?,
            None => Vec::new(),
        };
        Ok(Field { name, datatype, byteorder, shape })
    }

    /// Adds a node that describes this type.
    ///
    /// ```
    /// use asdf_core::{Datatype, ScalarType, Tree};
    ///
    /// let mut tree = Tree::new();
    /// let node = Datatype::from(ScalarType::Float64).to_node(&mut tree);
    /// assert_eq!(tree.node(node).text(), Some("float64"));
    /// ```
    pub fn to_node(&self, tree: &mut Tree) -> NodeId {
        match self {
            Self::Scalar(scalar @ (ScalarType::Ascii(length) | ScalarType::Ucs4(length))) => {
                let items = vec![tree.add_str(scalar.name()), tree.add_plain(length.to_string())];
                tree.add_sequence(items, CollectionStyle::Flow)
            }
            Self::Scalar(scalar) => tree.add_str(scalar.name()),
            Self::Struct(fields) => {
                let items = fields.iter().map(|field| field.to_node(tree)).collect();
                tree.add_sequence(items, CollectionStyle::Block)
            }
        }
    }
}

impl Field {
    fn to_node(&self, tree: &mut Tree) -> NodeId {
        let mut pairs = vec![
            ("name", tree.add_str(self.name.clone())),
            ("datatype", self.datatype.to_node(tree)),
            ("byteorder", tree.add_str(order_name(self.byteorder))),
        ];
        if !self.shape.is_empty() {
            pairs.push(("shape", numbers_node(tree, &self.shape)));
        }
        let entries = pairs.into_iter().map(|(key, value)| (tree.add_str(key), value)).collect();
        let flat = matches!(self.datatype, Datatype::Scalar(_));
        tree.add_mapping(entries, if flat { CollectionStyle::Flow } else { CollectionStyle::Block })
    }
}

/// Returns the name of a byte order.
pub(crate) fn order_name(order: ByteOrder) -> &'static str {
    match order {
        ByteOrder::Little => "little",
        ByteOrder::Big => "big",
    }
}

pub(super) fn byte_order(tree: &Tree, id: NodeId) -> Result<ByteOrder> {
    match tree.node(id).text() {
        Some("little") => Ok(ByteOrder::Little),
        Some("big") => Ok(ByteOrder::Big),
        _ => {
            let kind = FaultKind::Rule("is neither `big` nor `little`");
            Err(Fault::new("byteorder", kind).at("ndarray", tree.node(id).offset))
        }
    }
}

/// Returns a sequence of whole numbers that are not negative.
pub(super) fn whole_numbers(tree: &Tree, id: NodeId) -> Result<Vec<u64>> {
    let fault = || {
        let kind = FaultKind::Rule("is not a list of whole numbers");
        Fault::new("shape", kind).at("ndarray", tree.node(id).offset)
    };
    let number =
        |item: &NodeId| tree.value(*item)?.and_then(|value: Value<'_>| value.as_int()).ok_or_else(fault);
    tree.items(id).ok_or_else(fault)?.iter().map(number).collect()
}

pub(crate) fn numbers_node<N: ToString>(tree: &mut Tree, numbers: &[N]) -> NodeId {
    let items = numbers.iter().map(|number| tree.add_plain(number.to_string())).collect();
    tree.add_sequence(items, CollectionStyle::Flow)
}
