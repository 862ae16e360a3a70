//! Arrays of a document, which are added to its tree, and whose bytes are added to its blocks.

use std::sync::Arc;

use sciformats_core::endian::ByteOrder;
use sciformats_core::{Error, Misfit, Result, arith, bound};

use super::{BlockData, Document};
use crate::codec::Compression;
use crate::model::complex;
use crate::model::datatype::{self, Datatype, ScalarType};
use crate::new_array::{NewArray, NewMask, Storage};
use crate::spec::header_line::Version;
use crate::yaml::resolve::{self, float_text};
use crate::yaml::{ASDF_PREFIX, CollectionStyle, Content, Node, NodeId, ScalarStyle, Tree};

/// An array that is a view of an existing block.
///
/// ```
/// use asdf_core::{Asdf, ByteOrder, Document, NewArray, ScalarType, View};
///
/// let mut document = Document::new();
/// let image = NewArray::new(&[1u16, 2, 3, 4, 5, 6], &[2, 3])?;
/// document.set_array("image", image)?;
/// let (datatype, byteorder) = (ScalarType::UInt16.into(), ByteOrder::NATIVE);
/// let middle = View { block: 0, datatype, byteorder, shape: &[2], offset: 2, strides: Some(&[6]) };
/// let node = document.add_view(&middle)?;
/// document.tree_mut().put("middle", node)?;
/// let file = Asdf::from_bytes(document.to_bytes()?)?;
/// assert_eq!(file.array("middle")?.read::<u16>()?, [2, 5]);
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// The index of the block.
    pub block: usize,
    /// The type of the elements.
    pub datatype: Datatype,
    /// The byte order of the elements in the block.
    pub byteorder: ByteOrder,
    /// The dimensions, the slowest varying first.
    pub shape: &'a [u64],
    /// The offset of the first element in the block.
    pub offset: u64,
    /// The distance in bytes from one index to the next, for each dimension; `None` for C order without gaps.
    pub strides: Option<&'a [i64]>,
}

impl Document {
    /// Adds an array and puts it at a path of the tree, where it replaces the previous node. The block of a replaced array stays
    /// until [`drop_unused_blocks`](Self::drop_unused_blocks) is called.
    ///
    /// ```
    /// use asdf_core::{Asdf, Compression, Document, NewArray};
    ///
    /// let mut document = Document::new();
    /// let image = NewArray::new(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
    /// document.set_array("bands/red", image.with_compression(Compression::Zlib))?;
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(file.array("bands/red")?.shape(), [2, 2]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Tree::put`] and [`add_array`](Self::add_array).
    pub fn set_array(&mut self, path: &str, array: NewArray) -> Result<NodeId> {
        let node = self.add_array(array)?;
        self.tree.put(path, node)?;
        Ok(node)
    }

    /// Adds an array, and returns the node that describes it.
    ///
    /// ```
    /// use asdf_core::yaml::CollectionStyle;
    /// use asdf_core::{Asdf, Document, NewArray};
    ///
    /// let mut document = Document::new();
    /// let first = document.add_array(NewArray::new(&[1.0, 2.0], &[2])?)?;
    /// let second = document.add_array(NewArray::new(&[3.0, 4.0], &[2])?)?;
    /// let frames = document.tree_mut().add_sequence(vec![first, second], CollectionStyle::Block);
    /// document.tree_mut().put("frames", frames)?;
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(file.array("frames/1")?.read::<f64>()?, [3.0, 4.0]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if the mask has another size, if text cannot represent inline elements, or if the compression does not have the
    /// level.
    pub fn add_array(&mut self, array: NewArray) -> Result<NodeId> {
        match self.as_text(array, None)? {
            Ok(node) => Ok(node),
            Err(array) => self.add_nodes(array),
        }
    }

    /// Adds an array as the last entry of a mapping, which must not have the key yet; the node that describes the array is
    /// returned. Very many arrays take less memory this way than one by one.
    ///
    /// ```
    /// use asdf_core::{Asdf, Document, NewArray};
    ///
    /// let mut document = Document::new();
    /// let root = document.tree().root();
    /// for name in ["red", "blue"] {
    ///     document.push_array(root, name, NewArray::new(&[1.0f32, 2.0], &[2])?)?;
    /// }
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(file.array("blue")?.read::<f32>()?, [1.0, 2.0]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` if `mapping` is none; as [`add_array`](Self::add_array).
    pub fn push_array(&mut self, mapping: NodeId, key: &str, array: NewArray) -> Result<NodeId> {
        if self.tree.entries(mapping).is_none() {
            return Err(Error::usage("node", "is not a mapping, so no array can be put under a key of it"));
        }
        let (key, value) = match self.as_text(array, Some(key))? {
            Ok(key) => (key, self.tree.id(arith::add(key.number(), 1)?)),
            Err(array) => {
                let value = self.add_nodes(array)?;
                (self.tree.add_str(key), Some(value))
            }
        };
        let value = arith::present(value, "node of an array")?;
        self.tree.push_entry(mapping, key, value)?;
        Ok(value)
    }

    /// Adds an array as text, if it is simple: as an entry with a key, whose node is returned, or as an item. The array is
    /// given back if it is not simple.
    fn as_text(
        &mut self,
        array: NewArray,
        key: Option<&str>,
    ) -> Result<std::result::Result<NodeId, NewArray>> {
        let (Datatype::Scalar(scalar), Storage::Block, None) = (&array.datatype, array.storage, &array.mask)
        else {
            return Ok(Err(array));
        };
        // Where a streamed block stays last, the others are numbered anew.
        if self.streamed || key.is_some_and(|key| key.contains(['\'', '\n'])) {
            return Ok(Err(array));
        }
        let name = match scalar {
            ScalarType::Ascii(length) | ScalarType::Ucs4(length) => format!("[{}, {length}]", scalar.name()),
            scalar => scalar.name().into(),
        };
        array.compression.check_level(array.level)?;
        let begin = match key {
            Some(key) if resolve::is_plain_string(key) => format!("{key}:"),
            Some(key) => format!("'{key}':"),
            None => "-".into(),
        };
        let order = datatype::order_name(array.byteorder);
        let shape: Vec<String> = array.shape.iter().map(u64::to_string).collect();
        let (tag, index, shape) =
            (self.tree.short_tag(&self.array_tag()), self.blocks.len(), shape.join(", "));
        let text = format!(
            "{begin} {tag}\n  source: {index}\n  datatype: {name}\n  byteorder: {order}\n  shape: [{shape}]\n"
        );
        let Some(node) = self.tree.add_entry(&text, key.is_none()) else { return Ok(Err(array)) };
        let NewArray { data, compression, level, .. } = array;
        self.push_block(BlockData::New { data, compression, level });
        Ok(Ok(node))
    }

    /// Adds an array whose description becomes nodes.
    fn add_nodes(&mut self, array: NewArray) -> Result<NodeId> {
        let NewArray { datatype, byteorder, shape, data, storage, compression, level, mask } = array;
        compression.check_level(level)?;
        let mut pairs = Vec::new();
        match storage {
            Storage::Inline => {
                let size = usize::try_from(data.size())
                    .map_err(|_| Error::usage("data", "is too large for the tree"))?;
                let mut bytes = data.read_at(0, size)?.into_owned();
                datatype.swap_to_little(byteorder, &mut bytes);
                let mut rest = bytes.as_slice();
                let node = inline(&mut self.tree, &datatype, &shape, &mut rest)?;
                pairs.push(("data", node));
            }
            Storage::Block => {
                let index = self.push_block(BlockData::New { data, compression, level });
                pairs.push(("source", self.tree.add_plain(index.to_string())));
            }
        }
        pairs.extend(self.description(&datatype, byteorder, &shape));
        if let Some(mask) = mask {
            let node = match mask {
                NewMask::Value(value) => self.tree.add_plain(float_text(value)),
                NewMask::Elements(bytes) => {
                    let mask = NewArray::from_bytes(ScalarType::Bool8, ByteOrder::Big, &shape, bytes)?;
                    self.add_array(mask.with_storage(storage))?
                }
            };
            pairs.push(("mask", node));
        }
        Ok(self.ndarray_node(pairs))
    }

    /// Adds an array that is a view of an existing block. Its first element is at `offset`, and others are at `strides` from it.
    ///
    /// ```
    /// use asdf_core::{Asdf, ByteOrder, Document, NewArray, ScalarType, View};
    ///
    /// let mut document = Document::new();
    /// document.set_array("signal", NewArray::new(&[1.0, 2.0, 3.0, 4.0], &[4])?)?;
    /// let (datatype, byteorder) = (ScalarType::Float64.into(), ByteOrder::NATIVE);
    /// let second_half = View { block: 0, datatype, byteorder, shape: &[2], offset: 16, strides: None };
    /// let node = document.add_view(&second_half)?;
    /// document.tree_mut().put("late", node)?;
    /// let file = Asdf::from_bytes(document.to_bytes()?)?;
    /// assert_eq!(file.array("late")?.read::<f64>()?, [3.0, 4.0]);
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NotFound` if there is no such block; `Usage` if there are not as many `strides` as dimensions.
    pub fn add_view(&mut self, view: &View<'_>) -> Result<NodeId> {
        if view.block >= self.blocks.len() {
            return Err(Error::not_found("block", view.block.to_string()));
        }
        let mut pairs = vec![("source", self.tree.add_plain(view.block.to_string()))];
        pairs.extend(self.description(&view.datatype, view.byteorder, view.shape));
        if view.offset > 0 {
            pairs.push(("offset", self.tree.add_plain(view.offset.to_string())));
        }
        if let Some(strides) = view.strides {
            if strides.len() != view.shape.len() {
                return Err(Error::usage("strides", "must be as many as the array has dimensions"));
            }
            pairs.push(("strides", datatype::numbers_node(&mut self.tree, strides)));
        }
        Ok(self.ndarray_node(pairs))
    }

    /// Extends the last block to the end of the file, and adds an array with as many rows as it has space for; see
    /// [`StreamWriter`](crate::StreamWriter).
    ///
    /// # Errors
    /// `Usage` if there already is such a block.
    pub(crate) fn add_stream(
        &mut self,
        datatype: &Datatype,
        byteorder: ByteOrder,
        row: &[u64],
    ) -> Result<NodeId> {
        if self.streamed {
            return Err(Error::usage("document", "already has a streamed block"));
        }
        self.push_block(BlockData::New {
            data: Arc::new(Vec::new()),
            compression: Compression::None,
            level: None,
        });
        self.streamed = true;
        let mut pairs = vec![("source", self.tree.add_plain("-1"))];
        pairs.extend(self.description(datatype, byteorder, row));
        if let Some((_, shape)) = pairs.iter().find(|(key, _)| *key == "shape") {
            let star =
                self.tree.add(Node::new(Content::Scalar { text: "*".into(), style: ScalarStyle::Single }));
            if let Some(Node { content: Content::Sequence { items, .. }, .. }) = self.tree.node_mut(*shape) {
                items.insert(0, star);
            }
        }
        Ok(self.ndarray_node(pairs))
    }

    fn description(
        &mut self,
        datatype: &Datatype,
        byteorder: ByteOrder,
        shape: &[u64],
    ) -> [(&'static str, NodeId); 3] {
        let tree = &mut self.tree;
        [
            ("datatype", datatype.to_node(tree)),
            ("byteorder", tree.add_str(datatype::order_name(byteorder))),
            ("shape", datatype::numbers_node(tree, shape)),
        ]
    }

    fn ndarray_node(&mut self, pairs: Vec<(&'static str, NodeId)>) -> NodeId {
        let entries = pairs.into_iter().map(|(key, value)| (self.tree.add_str(key), value)).collect();
        let node = self.tree.add_mapping(entries, CollectionStyle::Block);
        self.tree.set_tag(node, self.array_tag());
        node
    }

    fn array_tag(&self) -> String {
        let version = if self.standard() < Version::new(1, 6, 0) { "1.0.0" } else { "1.1.0" };
        format!("{ASDF_PREFIX}core/ndarray-{version}")
    }
}

/// Adds nested sequences with the first elements of `bytes`.
fn inline(tree: &mut Tree, datatype: &Datatype, shape: &[u64], bytes: &mut &[u8]) -> Result<NodeId> {
    let Some((&dimension, rest)) = shape.split_first() else {
        return inline_element(tree, datatype, bytes);
    };
    let each: u64 = arith::product(rest.iter().copied())?;
    let items = (0..dimension).map(|index| {
        let before = bound::product(index, each); // a position in a message
        inline(tree, datatype, rest, bytes).map_err(|error| error.after(before))
    });
    let items = items.collect::<Result<Vec<_>>>()?;
    Ok(tree.add_sequence(items, CollectionStyle::Flow))
}

fn inline_element(tree: &mut Tree, datatype: &Datatype, bytes: &mut &[u8]) -> Result<NodeId> {
    let scalar = match datatype {
        Datatype::Struct(fields) => {
            let fields = fields.iter().map(|field| inline(tree, &field.datatype, &field.shape, bytes));
            let items = fields.collect::<Result<Vec<_>>>()?;
            return Ok(tree.add_sequence(items, CollectionStyle::Flow));
        }
        Datatype::Scalar(scalar) => *scalar,
    };
    let size = scalar.size().and_then(|size| usize::try_from(size).ok());
    let Some((element, rest)) = size.and_then(|size| bytes.split_at_checked(size)) else {
        return Err(Error::usage("data", "is shorter than its shape"));
    };
    *bytes = rest;
    let part = |range: std::ops::Range<usize>, scalar| {
        element.get(range).and_then(|part| crate::element::number(scalar, part)).unwrap_or(f64::NAN)
    };
    let integer = |signed: bool| {
        let mut wide = [if signed && element.last().is_some_and(|b| b & 0x80 != 0) { 0xFF } else { 0 }; 16];
        wide.iter_mut().zip(element).for_each(|(wide, byte)| *wide = *byte);
        i128::from_le_bytes(wide).to_string()
    };
    Ok(match scalar {
        ScalarType::Int8 | ScalarType::Int16 | ScalarType::Int32 | ScalarType::Int64 => {
            tree.add_plain(integer(true))
        }
        ScalarType::UInt8 | ScalarType::UInt16 | ScalarType::UInt32 | ScalarType::UInt64 => {
            tree.add_plain(integer(false))
        }
        ScalarType::Float16 | ScalarType::Float32 | ScalarType::Float64 => {
            tree.add_plain(float_text(part(0..element.len(), scalar)))
        }
        ScalarType::Bool8 => tree.add_plain(element.iter().any(|&b| b != 0).to_string()),
        ScalarType::Complex64 | ScalarType::Complex128 => {
            let half =
                if scalar == ScalarType::Complex64 { ScalarType::Float32 } else { ScalarType::Float64 };
            let middle = element.len() / 2;
            let node =
                tree.add_plain(complex::text(part(0..middle, half), part(middle..element.len(), half)));
            tree.set_tag(node, format!("{ASDF_PREFIX}core/complex-1.0.0"));
            node
        }
        ScalarType::Ascii(_) | ScalarType::Ucs4(_) => {
            let text = crate::array::text(scalar, 0, element)?;
            if scalar.name() == "ascii" && !text.is_ascii() {
                // A block may contain it, but no reader would accept it in the tree.
                return Err(Error::Misfit(Misfit::new(0, &format!("{text:?}"), "ascii")));
            }
            tree.add_str(text)
        }
    })
}
