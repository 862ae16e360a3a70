//! What some formats record about their objects beyond the common model. Conventions that build on a format
//! need it.

use crate::Result;
use crate::model::{Attribute, Name, ObjectId};

/// Facts about single objects that the common model leaves out.
///
/// Every method has an implementation for formats without such facts.
///
/// ```no_run
/// let file = sciformats::open("weather.nc")?;
/// if let Some(details) = file.source().details() {
///     // The members of the root group as they were made, one after the other.
///     println!("{:?}", details.created(file.source().root())?);
/// }
/// # Ok::<(), sciformats::Error>(())
/// ```
pub trait Details: Send + Sync {
    /// Returns one attribute of an object without reading the others; `None` if there is no attribute with
    /// this name.
    ///
    /// # Errors
    ///
    /// An error if the attributes of the object cannot be searched.
    fn attribute(&self, id: ObjectId, name: &Name) -> Result<Option<Attribute>>;

    /// Returns the names of an object's attributes in the order of creation if it is recorded, and otherwise
    /// in byte order.
    ///
    /// # Errors
    ///
    /// An error if they cannot be listed.
    fn attribute_names(&self, id: ObjectId) -> Result<Vec<Name>>;

    /// Returns the names of an object's attributes in no particular order, without reading values; `None` if there are
    /// more than `most`, or if asking for each name costs no more.
    ///
    /// # Errors
    ///
    /// An error if one of the names cannot be read.
    fn few_attribute_names(&self, _id: ObjectId, _most: usize) -> Result<Option<Vec<Name>>> {
        Ok(None)
    }

    /// Returns the names of a group's members in the order of creation; `None` if it is not recorded.
    ///
    /// # Errors
    ///
    /// An error if they cannot be listed.
    fn created(&self, group: ObjectId) -> Result<Option<Vec<Name>>>;

    /// Returns the number of bytes that every text of an array, or of one of its attributes, has; `None` if
    /// texts have individual lengths, or if the elements are not texts.
    ///
    /// # Errors
    ///
    /// An error if the type of the elements cannot be read.
    fn text_width(&self, _id: ObjectId, _attribute: Option<&Name>) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Returns the objects that the references in an attribute lead to, as one list per element. Unlike for
    /// the paths of references, the tree is not searched.
    ///
    /// # Errors
    ///
    /// An error if the attribute contains no references or cannot be read.
    fn references(&self, _id: ObjectId, _attribute: &Name) -> Result<Vec<Vec<ObjectId>>> {
        Ok(Vec::new())
    }

    /// Returns the committed datatype of an array's elements.
    ///
    /// # Errors
    ///
    /// An error if the object cannot be read.
    fn committed(&self, _id: ObjectId) -> Result<Option<ObjectId>> {
        Ok(None)
    }

    /// Returns the tag of a node, which names its type in a schema.
    fn tag(&self, _id: ObjectId) -> Option<String> {
        None
    }
}
