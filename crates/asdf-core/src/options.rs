//! How files are opened, and how they are written.

use std::path::{Component, Path, PathBuf};

use sciformats_core::storage::{Durability, machine_threads};
use sciformats_core::{Error, Limits, Result};

/// Which other files an array or a reference may lead to.
///
/// A file names others by URI. Whoever wrote the file chose the names, so none is opened unless the caller says so.
///
/// ```
/// use asdf_core::{Asdf, Document, External, NewArray, OpenOptions};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("image.asdf");
/// # let mut document = Document::new();
/// # document.set_array("image", NewArray::new(&[1u16, 2], &[2])?)?;
/// # document.explode(&path)?;
/// let file = Asdf::open(&path)?; // the image is in another file
/// assert!(file.array("image").is_err());
/// let beside = OpenOptions::default().with_external(External::Beside);
/// assert_eq!(Asdf::open_with(&path, &beside)?.array("image")?.shape(), [2]);
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum External {
    /// None.
    #[default]
    Deny,
    /// Those in the folder of the file and below it, by relative names without `..`; links are followed only if they
    /// stay there.
    Beside,
    /// Any that the process can read.
    Anywhere,
}

/// How a file is opened.
///
/// ```
/// use asdf_core::{Asdf, External, Limits, OpenOptions};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("image.asdf");
/// # asdf_core::Document::new().save(&path)?;
/// let limits = Limits::default().with_memory(1 << 30);
/// let options =
///     OpenOptions::default().with_limits(limits).with_external(External::Beside).with_mapped(true).with_threads(4);
/// let file = Asdf::open_with(&path, &options)?;
/// assert!(file.has_tree());
/// # Ok::<(), asdf_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct OpenOptions {
    /// What the file may ask of the machine.
    pub limits: Limits,
    /// Which other files may be opened on its behalf.
    pub external: External,
    /// Whether the file is mapped into memory: stored bytes are then borrowed rather than read. Default: no, since a file
    /// that is edited in place may become shorter, which ends a process that has it mapped.
    pub mapped: bool,
    /// Threads for decoding; 0 for as many as the machine runs at once.
    pub threads: usize,
}

impl OpenOptions {
    /// The same with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The same with another policy for other files.
    #[must_use]
    pub fn with_external(self, external: External) -> Self {
        Self { external, ..self }
    }

    /// The same, mapped into memory or not.
    #[must_use]
    pub fn with_mapped(self, mapped: bool) -> Self {
        Self { mapped, ..self }
    }

    /// The same with another number of threads.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    pub(crate) fn thread_count(&self) -> usize {
        if self.threads == 0 { machine_threads() } else { self.threads }
    }
}

/// How files are written.
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
    /// Whether blocks get their MD5. Default: yes, as other writers do.
    pub checksums: bool,
    /// Whether a block index is written. Default: yes.
    pub index: bool,
    /// Bytes kept free between the tree and the first block, so that the tree can grow in place. Default: a sixteenth
    /// of the bytes in the blocks, at most 4096.
    pub tree_padding: Option<u64>,
    /// Bytes kept free in each block. Default: 0. Up to 15 more make the data of the next begin at a multiple of 16, so that
    /// its elements can be used where they are.
    pub block_padding: u64,
    /// Threads for compression; 0 for as many as the machine runs at once.
    pub threads: usize,
    /// What a finished write must survive. Default: the end of the process.
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
    /// The same, with an MD5 of each block or without.
    #[must_use]
    pub fn with_checksums(self, checksums: bool) -> Self {
        Self { checksums, ..self }
    }

    /// The same, with a block index or without.
    #[must_use]
    pub fn with_index(self, index: bool) -> Self {
        Self { index, ..self }
    }

    /// The same with so many bytes kept free behind the tree; `None` for the default.
    #[must_use]
    pub fn with_tree_padding(self, tree_padding: impl Into<Option<u64>>) -> Self {
        Self { tree_padding: tree_padding.into(), ..self }
    }

    /// The same with so many bytes kept free in each block.
    #[must_use]
    pub fn with_block_padding(self, block_padding: u64) -> Self {
        Self { block_padding, ..self }
    }

    /// The same with another number of threads.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// The same with another durability.
    #[must_use]
    pub fn with_durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }
}

impl External {
    /// The file that `uri`, without its fragment, names from a file at `base`.
    pub(crate) fn resolve(self, base: Option<&Path>, uri: &str) -> Result<PathBuf> {
        let refused = |why: &'static str| Error::usage("external file", format!("{uri:?} {why}"));
        if self == Self::Deny {
            return Err(refused("is not opened: opening other files was not allowed"));
        }
        let folder = base.and_then(Path::parent);
        let folder = folder.ok_or_else(|| refused("cannot be resolved: the file itself has no path"))?;
        let (scheme, rest) = match uri.split_once(':') {
            Some((scheme, rest))
                if scheme.len() > 1
                    && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b)) =>
            {
                (Some(scheme), rest)
            }
            _ => (None, uri),
        };
        let path = match scheme {
            None => percent_decoded(rest),
            Some("file") => percent_decoded(
                rest.strip_prefix("//localhost").or_else(|| rest.strip_prefix("//")).unwrap_or(rest),
            ),
            Some(_) => return Err(refused("is not on this machine")),
        };
        let path = PathBuf::from(path);
        if self == Self::Anywhere {
            return Ok(folder.join(path));
        }
        let plain = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if scheme.is_some() || !plain {
            return Err(refused("is not opened: it does not name a file beside this one"));
        }
        let path = folder.join(path);
        let real =
            |path: &Path| std::fs::canonicalize(path).map_err(|e| Error::io("open", e).in_file(path, None));
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        if !real(&path)?.starts_with(real(folder)?) {
            return Err(refused("is not opened: it leads out of the folder of this one"));
        }
        Ok(path)
    }
}

/// Percent escapes as the characters that they stand for; a text that has none, or bad ones, is its own name.
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
        let beside = |uri: &str| External::Beside.resolve(Some(&base), uri).is_ok();
        assert!(beside("a b.asdf") && beside("./a%20b.asdf"));
        for uri in [
            "../out.asdf",
            "/etc/passwd",
            "file:///etc/passwd",
            "http://x/y",
            "link.asdf",
            "missing.asdf",
            "a%2F..%2F..%2Fout.asdf",
        ] {
            assert!(!beside(uri), "{uri}");
        }
        assert!(External::Deny.resolve(Some(&base), "a b.asdf").is_err());
        assert!(External::Beside.resolve(None, "a b.asdf").is_err());
        assert_eq!(External::Anywhere.resolve(Some(&base), "file:///x/y").unwrap(), Path::new("/x/y"));
        assert!(External::Anywhere.resolve(Some(&base), "http://x/y").is_err());
    }
}
