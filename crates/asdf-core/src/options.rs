//! Options for opening and writing files.

use std::path::{Path, PathBuf};

use sciformats_core::storage::Access;
use sciformats_core::storage::{Durability, machine_threads};
use sciformats_core::{Error, External, Limits, Result};

/// Options for opening a file.
///
/// ```
/// use asdf_core::{Access, Asdf, External, Limits, OpenOptions};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("image.asdf");
/// # asdf_core::Document::new().save(&path)?;
/// let limits = Limits::default().with_memory(1 << 30);
/// let options = OpenOptions::default()
///     .with_limits(limits)
///     .with_external(External::SameFolder)
///     .with_access(Access::direct())
///     .with_threads(4);
/// let file = Asdf::open_with(&path, &options)?;
/// assert!(file.has_tree());
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct OpenOptions {
    /// The limits on what a file may declare.
    pub limits: Limits,
    /// Which other files may be opened because the file refers to them.
    pub external: External,
    /// How files are accessed. The default is to use system calls. If it is certain that nobody changes the files, they can be
    /// [mapped](Access::mapped) into memory; stored bytes then need not be copied.
    pub access: Access,
    /// The number of threads for decoding; 0 means as many as the machine can run at once.
    pub threads: usize,
}

impl OpenOptions {
    /// Returns the same options with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Returns the same options with another policy for other files.
    #[must_use]
    pub fn with_external(self, external: External) -> Self {
        Self { external, ..self }
    }

    /// Returns the same options with another way to access files.
    #[must_use]
    pub fn with_access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// Returns the same options with another number of threads.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    pub(crate) fn thread_count(&self) -> usize {
        if self.threads == 0 { machine_threads() } else { self.threads }
    }
}

/// Options for writing files.
///
/// ```
/// use asdf_core::{Asdf, Document, WriteOptions};
///
/// let mut document = Document::new();
/// // Faster, but a flipped bit will go unnoticed; and the tree will grow.
/// *document.options_mut() = WriteOptions::default().with_checksums(false).with_tree_padding(1 << 16);
/// assert!(document.to_bytes()?.len() > 1 << 16);
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Whether blocks get an MD5 checksum. The default is true, as in other writers.
    pub checksums: bool,
    /// Whether a block index is written. The default is true.
    pub index: bool,
    /// The number of unused bytes between the tree and the first block, so that the tree can grow in place. The default is a
    /// sixteenth of the size of the blocks, but at most 4096.
    pub tree_padding: Option<u64>,
    /// The number of unused bytes in each block. The default is 0. Up to 15 more bytes align the data of the next block to a
    /// multiple of 16, so that its elements can be used without a copy.
    pub block_padding: u64,
    /// The number of threads for compression; 0 means as many as the machine can run at once.
    pub threads: usize,
    /// What a finished write must survive. The default is the end of the process.
    pub durability: Durability,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            checksums: true,
            index: true,
            tree_padding: None,
            block_padding: 0,
            threads: 0,
            durability: Durability::Process,
        }
    }
}

impl WriteOptions {
    /// Returns the same options; blocks get an MD5 checksum or not.
    #[must_use]
    pub fn with_checksums(self, checksums: bool) -> Self {
        Self { checksums, ..self }
    }

    /// Returns the same options; a block index is written or not.
    #[must_use]
    pub fn with_index(self, index: bool) -> Self {
        Self { index, ..self }
    }

    /// Returns the same options with this many unused bytes after the tree; `None` selects the default.
    #[must_use]
    pub fn with_tree_padding(self, tree_padding: impl Into<Option<u64>>) -> Self {
        Self { tree_padding: tree_padding.into(), ..self }
    }

    /// Returns the same options with this many unused bytes in each block.
    #[must_use]
    pub fn with_block_padding(self, block_padding: u64) -> Self {
        Self { block_padding, ..self }
    }

    /// Returns the same options with another number of threads.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Returns the same options with another durability.
    #[must_use]
    pub fn with_durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }
}

/// Returns the path of the file to which `uri`, without its fragment, refers in a file at `base`.
///
/// # Errors
/// `Usage` if the policy allows no file, or if the URI does not refer to this machine; `NotFound` if there is no such file in the
/// places that the policy allows.
pub(crate) fn resolve(policy: &External, base: Option<&Path>, uri: &str) -> Result<PathBuf> {
    let path = match scheme(uri) {
        None => uri,
        Some(("file", rest)) => {
            rest.strip_prefix("//localhost").or_else(|| rest.strip_prefix("//")).unwrap_or(rest)
        }
        Some(_) => return Err(Error::usage("external file", format!("{uri:?} is not on this machine"))),
    };
    let path = percent_decoded(path);
    let found = policy.find(base.and_then(Path::parent), &[Path::new(&path)])?;
    found.ok_or_else(|| Error::not_found("external file, where it may be opened,", uri))
}

/// Returns the scheme of a URI, and what follows it. A single letter is a drive.
pub(crate) fn scheme(uri: &str) -> Option<(&str, &str)> {
    uri.split_once(':').filter(|(scheme, _)| {
        scheme.len() > 1 && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
    })
}

/// Decodes percent escapes. A text that has none, or invalid ones, is returned unchanged.
pub(crate) fn percent_decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&b, tail)) = rest.split_first() {
        let escape = tail.get(..2).filter(|_| b == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match escape.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                out.push(b);
                rest = tail;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_policy_allows() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().join("in/main.asdf");
        std::fs::create_dir(dir.path().join("in")).unwrap();
        std::fs::write(dir.path().join("in/a b.asdf"), "").unwrap();
        std::fs::write(dir.path().join("out.asdf"), "").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(dir.path().join("out.asdf"), dir.path().join("in/link.asdf")).unwrap();
        let allowed = |policy: &External, uri: &str| resolve(policy, Some(&base), uri).is_ok();
        for uri in ["a b.asdf", "./a%20b.asdf", "../in/a b.asdf"] {
            assert!(allowed(&External::SameFolder, uri), "{uri}");
        }
        for uri in [
            "../out.asdf",
            "/etc/passwd",
            "file:///etc/passwd",
            "http://x/y",
            "link.asdf",
            "missing.asdf",
            "a%2F..%2F..%2Fout.asdf",
        ] {
            assert!(!allowed(&External::SameFolder, uri), "{uri}");
        }
        assert!(!allowed(&External::None, "a b.asdf"));
        assert!(resolve(&External::SameFolder, None, "a b.asdf").is_err());
        let (path, real) = (dir.path().join("out.asdf"), dir.path().canonicalize().unwrap());
        let uri = format!("file://{}", path.display());
        assert_eq!(resolve(&External::Anywhere, Some(&base), &uri).unwrap(), real.join("out.asdf"));
        assert!(!allowed(&External::Anywhere, "http://x/y"));
    }
}
