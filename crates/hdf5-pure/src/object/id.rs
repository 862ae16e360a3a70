//! Identifiers of objects, which are used before the objects have an address.

use std::sync::atomic::{AtomicU32, Ordering};

use sciformats_core::{Error, Result};

use crate::spec::Address;

/// An object of a file that is being written. It never means another object of that file: once the removal of its object has been
/// committed, every use of it is [`Error::Usage`](crate::Error::Usage). So is every use with another [`Writer`](crate::Writer) or
/// [`Editor`](crate::Editor) than the one that returned it.
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
pub struct ObjectId {
    id: Id,
    owner: Owner,
}

/// What distinguishes the objects of one writer or editor from those of all others in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Owner(u32);

impl Owner {
    /// Returns a new one. The numbers only repeat after 2^32 of them.
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns the identifier of one of its objects for callers.
    pub(crate) fn name(self, id: Id) -> ObjectId {
        ObjectId { id, owner: self }
    }

    /// Returns which of its objects a caller means.
    ///
    /// # Errors
    /// [`Error::Usage`] if the identifier is of another writer or editor.
    pub(crate) fn find(self, object: ObjectId) -> Result<Id> {
        match object.owner == self {
            true => Ok(object.id),
            false => Err(Error::usage("object", "does not belong to this file")),
        }
    }
}

/// The number of an object among those of its [`Owner`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Id(u32);

impl Id {
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
pub(crate) type Resolve<'a> = &'a dyn Fn(Id) -> Result<Address>;
