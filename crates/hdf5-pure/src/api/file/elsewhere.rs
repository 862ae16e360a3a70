//! Other files and other places that a file refers to.

use std::path::Path;
use std::sync::Arc;

use sciformats_core::{Error, Result};

use crate::api::file::{File, Node};
use crate::dataset::external;
use crate::heap::global::GlobalHeap;
use crate::spec::Address;
use crate::value::canonical;
use crate::value::references::ExternalReference;

impl File {
    /// Returns the bytes of an element of variable length as they are stored. `element` is the element as the dataset
    /// stores it, and `size` is the size in bytes of each of its items.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("visits").write(&[vec![3u16, 5]])?;
    /// let visits = File::from_bytes(file.into_bytes()?)?.dataset("visits")?;
    /// let element = visits.read_raw(&visits.all()?)?;
    /// assert_eq!(visits.file().sequence_bytes(&element, 2)?, [3, 0, 5, 0]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if the element refers to data that does not exist.
    pub fn sequence_bytes(&self, element: &[u8], size: usize) -> Result<Vec<u8>> {
        let mut heap = GlobalHeap::new(&self.opened().context);
        canonical::sequence(self.opened(), &mut heap, element, size, 0).map(<[u8]>::to_vec)
    }

    /// Returns whether an element of variable length is null: it has neither an address nor items. The C library stores
    /// empty sequences like that, and strings whose pointer is null, but not empty strings. `element` is the element as the
    /// dataset stores it.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("visits").write(&[vec![3u16, 5], vec![]])?;
    /// file.dataset("names").write(&[""])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// let (visits, names) = (file.dataset("visits")?, file.dataset("names")?);
    /// let null = |element: &[u8]| file.is_null(element);
    /// let elements = visits.read_raw(&visits.all()?)?;
    /// assert!(!null(&elements[..16])? && null(&elements[16..])?);
    /// assert!(!null(&names.read_raw(&names.all()?)?)?);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if the element has too few bytes.
    pub fn is_null(&self, element: &[u8]) -> Result<bool> {
        canonical::stored(self.opened(), element, 0).map(|(_, id)| id.collection.0 == 0)
    }

    /// Returns the reference in an element of the standard reference type if it leads into another file. A
    /// [`Writer`](crate::Writer) accepts it as a [`StandardReference::External`](crate::references::StandardReference::External).
    ///
    /// ```no_run
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::options::Bound;
    /// use hdf5_pure::references::StandardReference;
    ///
    /// let old = File::open("old.h5")?;
    /// let links = old.dataset("links")?;
    /// let element = links.read_raw(&links.all()?)?;
    /// if let Some(reference) = old.external_reference(&element)? {
    ///     let mut new = Writer::create_with("new.h5", &CreateOptions::default().with_bound(Bound::V112))?;
    ///     new.dataset("links").write(&[StandardReference::External(reference)])?;
    ///     new.finish()?;
    /// }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if the element is not a reference or refers to data that does not exist.
    pub fn external_reference(&self, element: &[u8]) -> Result<Option<ExternalReference>> {
        ExternalReference::read(self.opened(), element)
    }

    /// Returns the sources and external files that were missing in reads since the last call, each of them once.
    /// [`MissingSources`](crate::options::MissingSources) has an example.
    pub fn take_missing(&self) -> Vec<Error> {
        self.opened().missing_list.take()
    }

    /// Opens the file that an external link of this file names, if [`OpenOptions`](crate::OpenOptions) allows it.
    ///
    /// ```no_run
    /// use hdf5_pure::{File, OpenOptions};
    /// use hdf5_pure::options::External;
    ///
    /// let options = OpenOptions::default().with_external(External::SameFolder);
    /// let master = File::open_with("master.h5", &options)?;
    /// let data = master.open_external(b"data_000001.h5")?;
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Missing`], [`Error::Forbidden`], and the errors of opening the file.
    pub fn open_external(&self, name: &[u8]) -> Result<Self> {
        let opened = self.opened();
        match external::find(opened, name)? {
            Some(found) => opened.open_beside(&found).map(Self::new),
            None => Err(Error::missing(
                "file of an external link",
                String::from_utf8_lossy(name),
                "does not exist",
            )),
        }
    }

    /// Returns whether both values are clones of the same open file.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// assert!(file.is_same(file.root()?.file()));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the path by which the file was opened, if it was opened by a path.
    pub fn path(&self) -> Option<&Path> {
        self.opened().path.as_deref()
    }
}

impl Node {
    /// Returns the file that holds the object. Behind an external link, this is another file.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.dataset("surface/temperature").write(&[281.5, 282.0])?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// let node = file.object("surface")?;
    /// assert_eq!(node.file().object_at(node.address())?.address(), node.address());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn file(&self) -> &File {
        match self {
            Self::Group(group) => group.file(),
            Self::Dataset(dataset) => dataset.file(),
            Self::Datatype(datatype) => datatype.file(),
        }
    }

    /// Returns the address of the object header in that file.
    pub fn address(&self) -> Address {
        match self {
            Self::Group(group) => group.address(),
            Self::Dataset(dataset) => dataset.address(),
            Self::Datatype(datatype) => datatype.address(),
        }
    }
}
