//! Identifiers of objects, which are used before the objects have an address.

use sciformats_core::Result;

use crate::spec::Address;

/// An object of a file that is being written. It never means another object of that file: once the removal of its object has been
/// committed, every use of it is [`Error::Usage`](crate::Error::Usage).
///
/// ```
/// use hdf5_pure::{CreateOptions, File, ObjectId, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// let temperature: ObjectId = file.dataset("temperature").write(&[281.5, 282.0])?;
/// file.attribute(temperature, "units", "K")?;
/// file.root().hard_link("latest", temperature)?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// assert_eq!(file.dataset("latest")?.attribute("units")?.read::<String>()?, ["K"]);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(u32);

impl ObjectId {
    /// The root group.
    pub(crate) const ROOT: Self = Self(0);

    pub(crate) fn of(index: u32) -> Self {
        Self(index)
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn number(self) -> u32 {
        self.0
    }
}

/// A function that returns the address of an object's header.
pub(crate) type Resolve<'a> = &'a dyn Fn(ObjectId) -> Result<Address>;
