//! How a file is created.

use sciformats_core::{Error, Result};

use crate::model::commit::is_writable;
use crate::model::{CURRENT, LEGACY};
use crate::spec::Block;
use crate::{Header, Label, Version};

/// What the header of a new file says.
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
    /// A file of the current layer, made by `application`, with chunks as `schema` defines them. Both texts have at
    /// most 63 bytes and no NUL.
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

    /// The same, of another layer: 2.1, or 1.0 for old readers (names of at most 63 bytes, no character chunks).
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
            let problem = format!("{} cannot be written, only {CURRENT} and {LEGACY}", self.layer);
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
