//! Walks over all objects that links lead to.

use sciformats_core::Result;

use crate::api::file::File;
use crate::group::walk::{Entry, Walker, path_of};
use crate::spec::Address;

impl File {
    /// Returns an iterator over all links, breadth first. The members of a group come in byte order of their names.
    /// Each object is reported once, with the path by which it is first reached; further hard links to it are reported
    /// as repeated.
    ///
    /// ```
    /// use hdf5_pure::walk::Found;
    ///
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// for visited in file.walk() {
    ///     let path = String::from_utf8_lossy(&visited.path).into_owned();
    ///     match visited.what {
    ///         Found::Object(address) => println!("{path}: {:?}", file.kind_at(address)?),
    ///         Found::Broken(error) => println!("{path}: {error}"),
    ///         other => println!("{path}: {other:?}"),
    ///     }
    /// }
    /// assert_eq!(file.walk().filter(|visited| matches!(visited.what, Found::Object(_))).count(), 3);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn walk(&self) -> Walk {
        Walk { file: self.clone(), steps: Walker::new(self.opened().root) }
    }

    /// Returns the path by which a [`walk`](Self::walk) first reaches the object at `address`, or `None` if no link
    /// leads to it.
    ///
    /// ```
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # made.root().attribute("title", "a week in May")?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// let address = file.dataset("surface/temperature")?.address();
    /// assert_eq!(file.path_of(address)?, Some(&b"/surface/temperature"[..]));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns no error at present: a link that cannot be read leads nowhere.
    pub fn path_of(&self, address: Address) -> Result<Option<&[u8]>> {
        Ok(path_of(self.opened(), address))
    }
}

/// The iterator that [`File::walk`] returns.
///
/// ```
/// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
/// # made.root().attribute("title", "a week in May")?;
/// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
/// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
/// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
/// let mut walk = file.walk();
/// assert_eq!(walk.next().map(|visited| visited.path), Some(b"/".to_vec()));
/// assert_eq!(walk.count(), 2);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Debug)]
pub struct Walk {
    file: File,
    steps: Walker,
}

impl Iterator for Walk {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        self.steps.next(self.file.opened())
    }
}
