//! Options for opening and creating files.

use sciformats_core::storage::Access;
use sciformats_core::{Error, Limits, Result};

use crate::model::commit::is_writable;
use crate::model::{CURRENT, LEGACY};
use crate::spec::Block;
use crate::{Header, Label, Version};

/// Options for opening a file.
///
/// ```
/// use gsd_rs::{Access, Limits, OpenOptions, Reader};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("walk.gsd");
/// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
/// # gsd_rs::Writer::create(&path, &options)?.finish()?;
/// let limits = Limits::default().with_memory(1 << 30);
/// let options = OpenOptions::default().with_access(Access::direct()).with_limits(limits);
/// assert_eq!(Reader::open_with(&path, &options)?.frames(), 0);
/// # Ok::<(), gsd_rs::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct OpenOptions {
    /// The limits on what a file may declare. The file layer returns stored bytes and needs few limits, but schemas fill in
    /// defaults that are not stored.
    pub limits: Limits,
    /// How files are accessed. The default is to use system calls. If it is certain that nobody changes the files, they can be
    /// [mapped](Access::mapped) into memory; stored bytes then need not be copied.
    pub access: Access,
}

impl OpenOptions {
    /// Returns the same options with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Returns the same options with another way to access files.
    #[must_use]
    pub fn with_access(self, access: Access) -> Self {
        Self { access, ..self }
    }
}

/// The contents of the header of a new file.
///
/// ```
/// use gsd_rs::{CreateOptions, Version};
/// let options = CreateOptions::new("my simulation", "hoomd", Version::new(1, 4)).with_layer(Version::new(1, 0));
/// ```
#[derive(Clone, Debug)]
pub struct CreateOptions {
    application: String,
    schema: String,
    schema_version: Version,
    layer: Version,
}

impl CreateOptions {
    /// Returns options for a file of the current layer. `application` is the program that creates it, and `schema` defines the
    /// meaning of its chunks. Both texts have at most 63 bytes and no NUL.
    ///
    /// ```
    /// use gsd_rs::{CreateOptions, Version, Writer};
    ///
    /// let options = CreateOptions::new("my program 3.1", "points", Version::new(1, 0));
    /// let writer = Writer::create_in(Vec::new(), &options)?;
    /// assert_eq!(writer.header().application.to_text(), "my program 3.1");
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    pub fn new(application: impl Into<String>, schema: impl Into<String>, schema_version: Version) -> Self {
        Self { application: application.into(), schema: schema.into(), schema_version, layer: CURRENT }
    }

    /// Returns the same options for another layer: 2.1, or 1.0 for old readers (names of at most 63 bytes, and no character
    /// chunks).
    #[must_use]
    pub fn with_layer(self, layer: Version) -> Self {
        Self { layer, ..self }
    }

    pub(crate) fn header(&self) -> Result<Header> {
        let label = |argument, text: &str| {
            let problem = "must have at most 63 bytes and no NUL";
            Label::new(text).ok_or_else(|| Error::usage(argument, problem))
        };
        if !is_writable(self.layer) {
            let problem = format!("{} cannot be written; choose {CURRENT} or {LEGACY}", self.layer);
            return Err(Error::usage("layer", problem));
        }
        let nowhere = Block { location: 0, allocated: 0 };
        Ok(Header {
            index: nowhere,
            names: nowhere,
            schema_version: self.schema_version,
            version: self.layer,
            application: label("application", &self.application)?,
            schema: label("schema", &self.schema)?,
            reserved: [0; 80],
        })
    }
}
