//! What some formats tell of their objects beside what all of them share: conventions that stand on a format need it.

use crate::Result;
use crate::model::{Attribute, Name, ObjectId};

/// Facts of single objects that the common model leaves out.
///
/// Each has an answer for formats that know nothing of the kind.
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
    /// One attribute of an object, without reading the others; `None` if there is none of that name.
    ///
    /// # Errors
    /// If the attributes of the object cannot be searched.
    fn attribute(&self, id: ObjectId, name: &Name) -> Result<Option<Attribute>>;

    /// The names of an object's attributes, in the order in which they were made where that is kept, and otherwise in byte order.
    ///
    /// # Errors
    /// If they cannot be listed.
    fn attribute_names(&self, id: ObjectId) -> Result<Vec<Name>>;

    /// The names of a group's members in the order in which they were made; `None` if that is not kept.
    ///
    /// # Errors
    /// If they cannot be listed.
    fn created(&self, group: ObjectId) -> Result<Option<Vec<Name>>>;

    /// The bytes that every text of an array, or of one of its attributes, takes; `None` if texts have lengths of their own, and
    /// for elements that are no texts.
    ///
    /// # Errors
    /// If the type of the elements cannot be read.
    fn text_width(&self, _id: ObjectId, _attribute: Option<&Name>) -> Result<Option<u64>> {
        Ok(None)
    }

    /// The objects that the references in an attribute lead to, a list for each of its elements. Nothing is looked for in the tree
    /// for them, as is for their paths.
    ///
    /// # Errors
    /// If the attribute holds no references or cannot be read.
    fn references(&self, _id: ObjectId, _attribute: &Name) -> Result<Vec<Vec<ObjectId>>> {
        Ok(Vec::new())
    }

    /// The committed datatype that an array has for its elements.
    ///
    /// # Errors
    /// If the object cannot be read.
    fn committed(&self, _id: ObjectId) -> Result<Option<ObjectId>> {
        Ok(None)
    }

    /// The tag of a node: what it is in a schema.
    fn tag(&self, _id: ObjectId) -> Option<String> {
        None
    }
}
