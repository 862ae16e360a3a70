//! All checks of a file.

use sciformats_core::{Error, Result};

use crate::codec::Compression;
use crate::model::layout::IndexState;
use crate::reader::{Asdf, Checksum};

/// Something in a file that is wrong or unusual.
///
/// ```
/// use asdf_core::{Asdf, Finding};
///
/// # let mut document = asdf_core::Document::new();
/// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
/// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
/// # let mut bytes = document.to_bytes()?;
/// # let at = file.block(0)?.entry().data_offset() as usize;
/// bytes[at] ^= 1; // a flipped bit in the data of the block
/// let findings = Asdf::from_bytes(bytes)?.verify()?;
/// assert!(matches!(findings[..], [Finding::Block { block: 0, .. }]));
/// assert!(findings[0].is_error());
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Finding {
    /// The block index is ignored.
    Index {
        /// The offset of the index.
        offset: u64,
        /// The reason, which completes the sentence "the block index …".
        reason: &'static str,
    },
    /// Bytes after the content that have no meaning.
    Unexplained {
        /// The offset of the first of them.
        offset: u64,
    },
    /// A block whose checksum is that of its decoded bytes, as older writers computed it.
    OldChecksum {
        /// The index of the block.
        block: usize,
    },
    /// A block that is damaged, or cannot be decoded.
    Block {
        /// The index of the block.
        block: usize,
        /// The reason.
        error: Error,
    },
    /// An array that cannot be read.
    Array {
        /// The offset of its node.
        offset: u64,
        /// The reason.
        error: Error,
    },
    /// A reference whose target does not exist, or is in a file that may not be opened.
    Reference {
        /// The offset of its node.
        offset: u64,
        /// The reason.
        error: Error,
    },
}

impl Finding {
    /// Returns whether data is lost or wrong. Other findings have no consequences for readers.
    pub fn is_error(&self) -> bool {
        matches!(self, Self::Block { .. } | Self::Array { .. } | Self::Reference { .. })
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Index { offset, reason } => write!(f, "the block index at offset {offset:#x} {reason}"),
            Self::Unexplained { offset } => write!(f, "the bytes from offset {offset:#x} on have no meaning"),
            Self::OldChecksum { block } => write!(f, "the checksum of block {block} is of its decoded bytes"),
            Self::Block { block, error } => write!(f, "block {block}: {error}"),
            Self::Array { offset, error } => write!(f, "array at offset {offset:#x}: {error}"),
            Self::Reference { offset, error } => write!(f, "reference at offset {offset:#x}: {error}"),
        }
    }
}

impl Asdf {
    /// Reads the whole file, and returns what is wrong with it: the index, checksums, blocks, arrays, and references.
    ///
    /// ```
    /// # let mut document = asdf_core::Document::new();
    /// # document.set_array("image", asdf_core::NewArray::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?)?;
    /// # let file = asdf_core::Asdf::from_bytes(document.to_bytes()?)?;
    /// let findings = file.verify()?;
    /// for finding in &findings {
    ///     println!("{finding}"); // says where it is
    /// }
    /// assert!(findings.is_empty());
    /// # Ok::<(), asdf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`. Errors in the file are findings.
    pub fn verify(&self) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        let damage = match self.located.all(&*self.storage).and_then(|_| self.check_first()) {
            Ok(()) => None,
            Err(error @ Error::Io { .. }) => return Err(error),
            Err(error) => Some(Finding::Block { block: self.layout().blocks.len(), error }),
        };
        if let IndexState::Rejected { offset, reason } = self.layout().index {
            findings.push(Finding::Index { offset, reason });
        }
        if let Some(offset) = self.layout().unexplained {
            findings.push(Finding::Unexplained { offset });
        }
        for block in self.blocks() {
            let index = block.index();
            match block.check() {
                Ok(Checksum::Decoded) => findings.push(Finding::OldChecksum { block: index }),
                Ok(_) => {}
                Err(error @ Error::Io { .. }) => return Err(error),
                Err(error) => findings.push(Finding::Block { block: index, error }),
            }
            if block.compression() != Compression::None
                && let Err(error) = block.for_each_piece(|_| Ok(()))
            {
                findings.push(Finding::Block { block: index, error });
            }
        }
        findings.extend(damage);
        for node in self.tree().visible() {
            let (offset, refers) = self
                .tree()
                .with(node, |tree, node| (tree.node(node).offset, tree.child(node, "$ref").is_some()));
            if self.is_array(node) {
                if let Err(error) = self.array_at(node) {
                    findings.push(Finding::Array { offset, error });
                }
            } else if refers && let Err(error) = self.reference(node) {
                findings.push(Finding::Reference { offset, error });
            }
        }
        Ok(findings)
    }
}
