//! Arrays of an open file.

mod bytes;
mod elements;
mod mask;
mod texts;

use std::sync::Arc;

use sciformats_core::arith::present;
use sciformats_core::fault::{Fault, FaultKind};
use sciformats_core::{Conversion, Error, Result, slab};

pub(crate) use texts::text;

use crate::model::datatype::Datatype;
use crate::model::ndarray::{Mask, NdArray, Source, is_ndarray};
use crate::reader::{Asdf, Checksum};
use crate::yaml::NodeId;

/// An array: its type and its shape. Elements are read on demand.
///
/// ```
/// use asdf_core::ScalarType;
///
/// # let mut document = asdf_core::Document::new();
/// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
/// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
/// let image = file.array("image")?;
/// assert_eq!((image.shape(), image.len()), (&[2, 3][..], 6));
/// assert_eq!(image.datatype().scalar(), Some(ScalarType::Float32));
/// assert_eq!(image.read::<f32>()?, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Array<'a> {
    file: &'a Asdf,
    node: NodeId,
    description: NdArray,
    shape: Vec<u64>,
    len: u64,
    strides: Vec<i64>,
    place: Place,
    conversion: Conversion,
}

#[derive(Debug)]
enum Place {
    /// A block of the file itself.
    Block(usize),
    /// The first block of another file.
    Other(Arc<Asdf>),
    Inline,
}

impl<'a> Array<'a> {
    pub(crate) fn new(file: &'a Asdf, node: NodeId) -> Result<Self> {
        let description = file.described(node);
        let description = description.map_err(|error| match error {
            // Without the tag of an array, the node need not describe one, so this is not a fault of the file.
            Error::Malformed { .. } if !is_ndarray(&file.tree, node) => {
                Error::wrong_type(file.tree.path_of(node), "an array", file.tree.told(node))
            }
            error => error,
        })?;
        let blocks = file.block_count();
        let place = match &description.source {
            Source::Inline(_) => Place::Inline,
            Source::Block(index) => {
                let index = i128::from(*index);
                if index < 0 {
                    // Which block is the last one is only known if none is missing.
                    file.check_last()?;
                }
                let from_start = if index < 0 { index.checked_add(blocks as i128) } else { Some(index) };
                let found = from_start.and_then(|index| usize::try_from(index).ok());
                let found = found.filter(|&index| index < blocks);
                Place::Block(found.ok_or_else(|| {
                    let kind = FaultKind::Rule("is the index of a block that does not exist");
                    Fault::new("source", kind).at("ndarray", description.at)
                })?)
            }
            Source::External(uri) => match uri.split('#').next().unwrap_or_default() {
                "" => Place::Block(0),
                name => Place::Other(file.external(name)?),
            },
        };
        let available = match (&place, &description.source) {
            (Place::Block(index), _) => file.block(*index)?.data_size(),
            (Place::Other(other), _) => other.block(0)?.data_size(),
            (Place::Inline, Source::Inline(bytes)) => bytes.len() as u64,
            (Place::Inline, _) => 0,
        };
        let (shape, strides) = description.dimensions(available)?;
        let len = present(slab::elements(&shape), "number of elements of an array")?;
        Ok(Self { file, node, description, shape, len, strides, place, conversion: Conversion::Exact })
    }

    /// Returns the node that describes it.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Returns how the tree describes it.
    ///
    /// ```
    /// use asdf_core::structure::Source;
    ///
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// let image = file.array("image")?;
    /// assert_eq!((&image.description().source, image.block()), (&Source::Block(0), Some(0)));
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    pub fn description(&self) -> &NdArray {
        &self.description
    }

    /// Returns the type of its elements.
    pub fn datatype(&self) -> &Datatype {
        &self.description.datatype
    }

    /// Returns its dimensions, the slowest varying first. For a streamed array, the number of rows follows from the size of the
    /// block.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Returns the number of elements.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the index of its block in the file; `None` if it is inline or in another file.
    pub fn block(&self) -> Option<usize> {
        match self.place {
            Place::Block(index) => Some(index),
            _ => None,
        }
    }

    /// Compares the checksum of the block that contains the elements with the block, if it has a checksum; and the same for the array
    /// that is its mask. Reading elements does not do this, because it would read the whole block. Whoever copies all elements to a
    /// place with another checksum should do it first.
    ///
    /// ```
    /// use asdf_core::Asdf;
    ///
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// # let mut bytes = document.to_bytes()?;
    /// # let at = file.block(0)?.entry().data_offset() as usize;
    /// bytes[at] ^= 1; // a flipped bit in the data of the block
    /// let damaged = Asdf::from_bytes(bytes)?;
    /// assert!(damaged.array("image")?.read::<f32>().is_ok());
    /// assert!(damaged.array("image")?.check().is_err());
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Malformed` if they differ; `Io`.
    pub fn check(&self) -> Result<()> {
        match &self.place {
            Place::Block(index) => self.file.check_block(*index)?,
            Place::Other(other) => other.check_block(0)?,
            Place::Inline => Checksum::Absent,
        };
        match self.description.mask {
            Mask::Array(mask) if mask != self.node => Array::new(self.file, mask)?.check(),
            _ => Ok(()),
        }
    }
}
