//! How a node describes an array (ASDF standard, "ndarray").

use sciformats_core::arith::{present, sub};
use sciformats_core::endian::ByteOrder;
use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::{Error, Result, bound, slab};

use super::datatype::{self, Datatype};
use super::inline;
use crate::yaml::{ASDF_PREFIX, NodeId, Tree, Value};

/// Where the bytes of an array are.
///
/// ```
/// use asdf_core::structure::Source;
/// use asdf_core::{Asdf, Document, NewArray, Storage};
///
/// let mut document = Document::new();
/// document.set_array("stored", NewArray::new(&[1u8, 2], &[2])?)?;
/// document.set_array("written", NewArray::new(&[1u8, 2], &[2])?.with_storage(Storage::Inline))?;
/// let file = Asdf::from_bytes(document.to_bytes()?)?;
/// assert_eq!(file.array("stored")?.description().source, Source::Block(0));
/// assert_eq!(file.array("written")?.description().source, Source::Inline(vec![1, 2]));
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// In a block of the file. Negative numbers count from the last block.
    Block(i64),
    /// In the first block of another file.
    External(String),
    /// In the tree, as little-endian elements in C order.
    Inline(Vec<u8>),
}

/// Which elements are missing.
///
/// ```
/// use asdf_core::structure::Mask;
/// use asdf_core::{Asdf, Document, NewArray, NewMask};
///
/// let mut document = Document::new();
/// let flux = NewArray::new(&[1.5, -999.0], &[2])?;
/// document.set_array("flux", flux.with_mask(NewMask::Value(-999.0)))?;
/// let file = Asdf::from_bytes(document.to_bytes()?)?;
/// assert_eq!(file.array("flux")?.description().mask, Mask::Value(-999.0));
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Mask {
    /// No elements are missing.
    None,
    /// Elements that equal a number. Integers are compared exactly, and floats with the number that is nearest in their type. A
    /// not-a-number masks all not-a-numbers.
    Value(f64),
    /// Elements that equal an integer that is not exact as a float.
    Integer(i128),
    /// Elements for which the array at this node is not zero.
    Array(NodeId),
    /// Elements for which the byte is 1, because the inline data contains `null`.
    Inline(Vec<u8>),
}

/// An array as the tree describes it.
///
/// ```
/// # let mut document = asdf_core::Document::new();
/// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
/// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
/// let image = file.array("image")?;
/// let description = image.description();
/// assert_eq!(description.shape, [Some(2), Some(3)]);
/// assert_eq!((description.offset, &description.strides), (0, &None));
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NdArray {
    /// Where the bytes are.
    pub source: Source,
    /// The type of the elements.
    pub datatype: Datatype,
    /// Their stored byte order.
    pub byteorder: ByteOrder,
    /// The dimensions, the slowest varying first. The first is `None` if it follows from the length of the block (`*`).
    pub shape: Vec<Option<u64>>,
    /// The offset of the first element in the block.
    pub offset: u64,
    /// The distance in bytes from one index to the next, for each dimension; `None` for C order without gaps.
    pub strides: Option<Vec<i64>>,
    /// The missing elements.
    pub mask: Mask,
    /// The offset of the node in the file.
    pub at: u64,
}

/// Returns whether a node has the tag of an array.
pub(crate) fn is_ndarray(tree: &Tree, id: NodeId) -> bool {
    let is_array =
        |tag: &str| tag.strip_prefix(ASDF_PREFIX).is_some_and(|tag| tag.starts_with("core/ndarray-"));
    match tree.known_tag(id) {
        Some(tag) => tag.is_some_and(is_array),
        None => tree.with(id, |tree, id| tree.tag(id).is_some_and(is_array)),
    }
}

impl NdArray {
    /// Reads the node of an array, which is a mapping, or the elements themselves.
    ///
    /// ```
    /// use asdf_core::structure::NdArray;
    /// use asdf_core::{ScalarType, Tree};
    ///
    /// let tree = Tree::parse("{source: 0, datatype: float32, byteorder: little, shape: ['*', 3]}\n")?;
    /// let rows = NdArray::from_node(&tree, tree.root())?;
    /// assert_eq!((rows.datatype, rows.shape), (ScalarType::Float32.into(), vec![None, Some(3)]));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` at the node if it is not a valid description; `LimitExceeded`.
    pub fn from_node(tree: &Tree, id: NodeId) -> Result<Self> {
        let Some((apart, local)) = tree.apart(id) else { return Self::of_node(tree, id) };
        let mut array = Self::of_node(&apart, local)?;
        if let Mask::Array(mask) = &mut array.mask {
            // Both trees number the nodes of an entry in the order of its text.
            let number =
                mask.number().checked_sub(local.number()).and_then(|way| id.number().checked_add(way));
            *mask = present(number.and_then(|number| tree.id(number)), "node of a mask")?;
        }
        Ok(array)
    }

    fn of_node(tree: &Tree, id: NodeId) -> Result<Self> {
        let at = tree.node(id).offset;
        let fault = |field, rule| Fault::new(field, FaultKind::Rule(rule)).at("ndarray", at);
        if tree.items(id).is_some() {
            return Self::inline(tree, id, None, ByteOrder::Little);
        }
        if tree.entries(id).is_none() {
            return Err(fault("node", "is neither a mapping nor a sequence"));
        }
        tree.check_merges(id)?;
        let child = |key| tree.child(id, key);
        let byteorder = child("byteorder").map(|node| datatype::byte_order(tree, node)).transpose()?;
        let order = byteorder.unwrap_or(ByteOrder::Little);
        let datatype = child("datatype").map(|node| Datatype::from_node(tree, node, order)).transpose()?;
        let mask = Self::mask(tree, child("mask"))?;
        if let Some(data) = child("data") {
            if child("source").is_some() {
                return Err(fault("source", "is declared in addition to data"));
            }
            let mut array = Self::inline(tree, data, datatype, order)?;
            let declared = child("shape").map(|node| Self::shape(tree, node)).transpose()?;
            if let Some(declared) = declared {
                array.shape = Self::agreed(&declared, &array.shape)
                    .ok_or_else(|| fault("shape", "is not that of the data"))?;
            }
            if mask != Mask::None {
                array.mask = mask;
            }
            return Ok(array);
        }
        let source = child("source").ok_or_else(|| fault("source", "is missing, and so is data"))?;
        let source = match tree.value(source)? {
            Some(Value::Int(number)) => Source::Block(
                i64::try_from(number).map_err(|_| fault("source", "is not the index of a block"))?,
            ),
            Some(Value::Str(uri)) => Source::External(uri.into_owned()),
            _ => return Err(fault("source", "is neither an index nor a URI")),
        };
        let shape = child("shape").ok_or_else(|| fault("shape", "is missing"))?;
        let shape = Self::shape(tree, shape)?;
        let offset = match child("offset") {
            Some(node) => tree
                .value(node)?
                .and_then(|value| value.as_int())
                .ok_or_else(|| fault("offset", "is not a whole number of at least 0"))?,
            None => 0,
        };
        let strides = child("strides").map(|node| Self::strides(tree, node, shape.len())).transpose()?;
        let datatype = datatype.ok_or_else(|| fault("datatype", "is missing"))?;
        Ok(Self { source, datatype, byteorder: order, shape, offset, strides, mask, at })
    }

    /// Returns the shape of inline data that is also declared. If a dimension is empty, the data does not determine those after
    /// it.
    fn agreed(declared: &[Option<u64>], found: &[Option<u64>]) -> Option<Vec<Option<u64>>> {
        let (shown, hidden) = declared.split_at_checked(found.len())?;
        let alike = shown.iter().zip(found).all(|(declared, found)| declared.is_none() || declared == found);
        let empty = found.last() == Some(&Some(0)) && !hidden.contains(&None);
        (alike && (hidden.is_empty() || empty)).then(|| found.iter().chain(hidden).copied().collect())
    }

    fn inline(tree: &Tree, id: NodeId, datatype: Option<Datatype>, byteorder: ByteOrder) -> Result<Self> {
        let inline::Inline { datatype, shape, bytes, mask } = inline::read(tree, id, datatype)?;
        Ok(Self {
            source: Source::Inline(bytes),
            datatype,
            byteorder,
            shape: shape.into_iter().map(Some).collect(),
            offset: 0,
            strides: None,
            mask: mask.map_or(Mask::None, Mask::Inline),
            at: tree.node(id).offset,
        })
    }

    fn shape(tree: &Tree, id: NodeId) -> Result<Vec<Option<u64>>> {
        let fault = || {
            let kind = FaultKind::Rule("is not a list of whole numbers, of which the first may be `*`");
            Fault::new("shape", kind).at("ndarray", tree.node(id).offset)
        };
        let items = tree.items(id).ok_or_else(fault)?;
        let dimension = |(index, item): (usize, &NodeId)| match tree.value(*item)? {
            Some(Value::Str(text)) if text == "*" && index == 0 => Ok(None),
            Some(value) => value.as_int().map(Some).ok_or_else(fault),
            None => Err(fault()),
        };
        items.iter().enumerate().map(dimension).collect()
    }

    fn strides(tree: &Tree, id: NodeId, rank: usize) -> Result<Vec<i64>> {
        let fault = || {
            let kind = FaultKind::Rule("is not a list of whole numbers, one for each dimension");
            Fault::new("strides", kind).at("ndarray", tree.node(id).offset)
        };
        let items = tree.items(id).filter(|items| items.len() == rank).ok_or_else(fault)?;
        items
            .iter()
            .map(|item| tree.value(*item)?.and_then(|value| value.as_int()).ok_or_else(fault))
            .collect()
    }

    fn mask(tree: &Tree, id: Option<NodeId>) -> Result<Mask> {
        let Some(id) = id else { return Ok(Mask::None) };
        let fault = || {
            let kind = FaultKind::Rule("is neither a number nor an array");
            Fault::new("mask", kind).at("ndarray", tree.node(id).offset)
        };
        match tree.value(id)? {
            None => Ok(Mask::Array(id)),
            Some(Value::Null) => Ok(Mask::None),
            Some(_) if tree.asdf_tag(id).is_some_and(|tag| tag.starts_with("core/complex-")) => {
                Err(Error::unsupported("a mask that is a complex number"))
            }
            Some(Value::Int(value)) if exceeds_double(value) => Ok(Mask::Integer(value)),
            Some(value) => value.as_f64().map(Mask::Value).ok_or_else(fault),
        }
    }

    /// Returns the dimensions and the strides; `available` is the number of bytes that exist.
    ///
    /// ```
    /// use asdf_core::Tree;
    /// use asdf_core::structure::NdArray;
    ///
    /// let tree = Tree::parse("{source: 0, datatype: float32, byteorder: little, shape: ['*', 3]}\n")?;
    /// let rows = NdArray::from_node(&tree, tree.root())?;
    /// let (shape, strides) = rows.dimensions(60)?; // a block of 60 bytes
    /// assert_eq!((shape, strides), (vec![5, 3], vec![12, 4]));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` if a size or an extent exceeds the bytes or 64 bits.
    pub fn dimensions(&self, available: u64) -> Result<(Vec<u64>, Vec<i64>)> {
        let fault = |field, kind| Fault::new(field, kind).at("ndarray", self.at);
        let overflow = || fault("shape", FaultKind::Overflow);
        let size = self.datatype.size().ok_or_else(|| fault("datatype", FaultKind::Overflow))?;
        let rest: Option<Vec<u64>> = self.shape.iter().skip(1).copied().collect();
        let open = FaultKind::Rule("leaves another dimension open than the first");
        let rest = rest.ok_or_else(|| fault("shape", open))?;
        let shape: Vec<u64> = match self.shape.split_first() {
            None => Vec::new(),
            Some((Some(first), _)) => std::iter::once(*first).chain(rest).collect(),
            Some((None, _)) => {
                let row = slab::elements(&rest).and_then(|elements| elements.checked_mul(size));
                let rows = self.rows(row.ok_or_else(overflow)?, available)?;
                std::iter::once(rows).chain(rest).collect()
            }
        };
        let bytes =
            slab::elements(&shape).and_then(|elements| elements.checked_mul(size)).ok_or_else(overflow)?;
        let strides = match &self.strides {
            Some(strides) => strides.clone(),
            None => {
                let packed = packed(&shape, size);
                // An array without elements may have dimensions of any size.
                packed.or_else(|| (bytes == 0).then(|| vec![0; shape.len()])).ok_or_else(overflow)?
            }
        };
        if bytes > 0 {
            self.check_extent(&shape, &strides, size, available)?;
        }
        Ok((shape, strides))
    }

    /// Returns the number of rows of an array whose shape leaves it open, which is as many as there are bytes for.
    fn rows(&self, row: u64, available: u64) -> Result<u64> {
        let fault = |field, kind| Fault::new(field, kind).at("ndarray", self.at);
        let past = FaultKind::OutOfBounds { found: self.offset, end: bound::sum(available, 1) };
        let left = available.checked_sub(self.offset).ok_or_else(|| fault("offset", past))?;
        match self.strides.as_ref().and_then(|strides| strides.first()) {
            Some(stride) => {
                let unknown = FaultKind::Rule("do not determine the number of rows");
                left.checked_div(stride.unsigned_abs()).ok_or_else(|| fault("strides", unknown))
            }
            None => Ok(left.checked_div(row).unwrap_or_default()), // there are no rows without bytes
        }
    }

    /// Checks that every element is inside the bytes.
    fn check_extent(&self, shape: &[u64], strides: &[i64], size: u64, available: u64) -> Result<()> {
        let fault = |field, kind| Fault::new(field, kind).at("ndarray", self.at);
        let (mut low, mut high) =
            (i128::from(self.offset), i128::from(self.offset).saturating_add(size.into())); // a bound
        for (&dimension, &stride) in shape.iter().zip(strides) {
            let span = i128::from(sub(dimension, 1)?).saturating_mul(stride.into()); // a bound
            if span < 0 {
                low = low.saturating_add(span); // a bound
            } else {
                high = high.saturating_add(span); // a bound
            }
        }
        if low < 0 {
            return Err(fault("strides", FaultKind::Rule("lead to bytes before the start of the block")));
        }
        if high > i128::from(available) {
            let found = u64::try_from(high).unwrap_or(u64::MAX); // a position in a message
            return Err(fault(
                "end of the last element",
                FaultKind::OutOfBounds { found, end: bound::sum(available, 1) },
            ));
        }
        Ok(())
    }
}

/// Returns the strides of packed elements of `size` bytes; `None` if a stride does not fit its type.
fn packed(shape: &[u64], size: u64) -> Option<Vec<i64>> {
    let mut strides = Vec::with_capacity(shape.len());
    let mut stride = Some(size);
    for &dimension in shape.iter().rev() {
        strides.push(i64::try_from(stride?).ok()?);
        stride = stride?.checked_mul(dimension.max(1)); // the first dimension needs no further stride
    }
    strides.reverse();
    Some(strides)
}

/// Returns whether an integer has too many digits for a double.
fn exceeds_double(value: i128) -> bool {
    let bits = value.unsigned_abs();
    bits.checked_shr(bits.trailing_zeros()).is_some_and(|digits| digits >> f64::MANTISSA_DIGITS > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dimensions(text: &str, available: u64) -> Result<(Vec<u64>, Vec<i64>)> {
        let tree = Tree::parse(text)?;
        NdArray::from_node(&tree, tree.root())?.dimensions(available)
    }

    #[test]
    fn numbers_that_lead_nowhere_are_faults_of_the_file() {
        for (text, field) in [
            ("{source: 0, datatype: uint8, shape: [18446744073709551615, 2]}\n", "shape"),
            ("{source: 0, datatype: uint16, shape: [9223372036854775808]}\n", "shape"),
            ("{source: 0, datatype: uint8, shape: [1, 9223372036854775808]}\n", "shape"),
            ("{source: 0, datatype: uint8, shape: [18446744073709551615]}\n", "end of the last element"),
            (
                "{source: 0, datatype: uint8, shape: [2], offset: 18446744073709551615}\n",
                "end of the last element",
            ),
            ("{source: 0, datatype: uint8, shape: ['*'], offset: 18446744073709551615}\n", "offset"),
            ("{source: 0, datatype: uint8, shape: ['*'], strides: [0]}\n", "strides"),
            ("{source: 0, datatype: uint8, shape: [3], strides: [-9223372036854775808]}\n", "strides"),
        ] {
            let error = dimensions(text, 60).unwrap_err();
            assert!(matches!(error, Error::Malformed { .. }), "{text}: {error}");
            assert!(error.to_string().contains(&format!(": {field} ")), "{text}: {error}");
        }
    }

    #[test]
    fn what_has_no_elements_may_have_any_other_dimensions() {
        let text = "{source: 0, datatype: uint8, shape: [0, 9223372036854775808, 9223372036854775808]}\n";
        assert_eq!(dimensions(text, 0).unwrap(), (vec![0, 1 << 63, 1 << 63], vec![0, 0, 0]));
        let rows = "{source: 0, datatype: uint8, shape: ['*', 0]}\n";
        assert_eq!(dimensions(rows, 60).unwrap(), (vec![0, 0], vec![1, 1]));
    }
}
