//! Iterates over everything that a file contains.

use super::File;
use crate::Result;
use crate::array::Array;
use crate::model::Object;
use crate::walk::{Entries, Found};

impl File {
    /// Returns the objects and links of the file in canonical order: breadth first, and the members of a
    /// group in byte order of their names. An object with several links occurs once. An object that cannot be
    /// read is an entry with the error.
    ///
    /// ```
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # tree.array(fields, "u", sciformats::memory::array::<f64>(&[2], &[1.0, 2.0]));
    /// # let file = sciformats::File::from(tree);
    /// let paths: Vec<String> = file.walk().map(|entry| entry.path).collect();
    /// assert_eq!(paths, ["/", "/fields", "/fields/u"]);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn walk(&self) -> Entries<'_> {
        Entries::new(self.source(), self.limits())
    }

    /// Returns the arrays of the file in the order of [`walk`](Self::walk). A damaged object is an error in
    /// its place, and the others follow.
    ///
    /// ```
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # tree.array(fields, "u", sciformats::memory::array::<f64>(&[2], &[1.0, 2.0]));
    /// # let file = sciformats::File::from(tree);
    /// for array in file.arrays() {
    ///     let array = array?;
    ///     println!("{} {} {:?}", array.path(), array.element(), array.shape());
    /// }
    /// assert_eq!(file.arrays().count(), 1);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn arrays(&self) -> impl Iterator<Item = Result<Array<'_>>> {
        self.walk().filter_map(|entry| match entry.what {
            Found::Object(id, Object::Array(info)) => Some(Ok(Array::new(self, id, (entry.path, *info)))),
            Found::Object(_, Object::Damaged { error, .. })
            | Found::Unreadable(error)
            | Found::Unlisted(error) => Some(Err(error)),
            _ => None,
        })
    }
}
