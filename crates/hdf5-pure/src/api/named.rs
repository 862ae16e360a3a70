//! Names and paths as callers give them.

use std::borrow::Cow;

use crate::spec::Name;

/// The name of a link or an attribute, or a path of such names: a text, or a [`Name`] in any encoding. In the format, names are
/// bytes, and programs have stored some that are not UTF-8.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Name, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// let latin = Name::from(&b"sizes/gr\xf6\xdfe"[..]); // Latin-1
/// file.dataset(&latin).write(&[281.5, 282.0])?;
/// file.dataset("sizes/größe").write(&[283.0])?; // UTF-8
/// let file = File::from_bytes(file.into_bytes()?)?;
/// assert_eq!(file.dataset(&latin)?.read::<f64>()?, [281.5, 282.0]);
/// assert_eq!(file.dataset("sizes/größe")?.read::<f64>()?, [283.0]);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
pub trait AsName {
    /// Returns the bytes as they are stored.
    fn name_bytes(&self) -> &[u8];
}

impl<T: AsRef<str> + ?Sized> AsName for T {
    fn name_bytes(&self) -> &[u8] {
        self.as_ref().as_bytes()
    }
}

impl AsName for Name {
    fn name_bytes(&self) -> &[u8] {
        self.as_bytes()
    }
}

/// Returns the text of a name for messages.
pub(crate) fn shown(name: &(impl AsName + ?Sized)) -> Cow<'_, str> {
    String::from_utf8_lossy(name.name_bytes())
}
