//! The kinds of objects, which are recognized by their messages.

use crate::object::header::Object;
use crate::spec::message::MessageType;

/// The kind of an object.
///
/// ```
/// use hdf5_pure::NodeKind;
///
/// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
/// # made.root().attribute("title", "a week in May")?;
/// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
/// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
/// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
/// assert_eq!(file.kind_at(file.root()?.address())?, NodeKind::Group);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A group.
    Group,
    /// A dataset.
    Dataset,
    /// A committed datatype.
    Datatype,
}

impl NodeKind {
    /// Returns the kind of the object, or `None` if it has the messages of no kind.
    pub(crate) fn of(object: &Object<'_>) -> Option<Self> {
        let has = |kind| object.find(kind).is_some();
        if has(MessageType::SymbolTable) || has(MessageType::LinkInfo) {
            Some(Self::Group)
        } else if has(MessageType::Layout) || has(MessageType::Dataspace) {
            Some(Self::Dataset)
        } else if has(MessageType::Datatype) {
            Some(Self::Datatype)
        } else if has(MessageType::Link) || has(MessageType::GroupInfo) {
            Some(Self::Group)
        } else {
            None
        }
    }
}
