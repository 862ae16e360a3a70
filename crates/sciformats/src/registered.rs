//! Formats that the caller defines.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use sciformats_core::ReadAt;

use crate::options::OpenOptions;
use crate::source::Source;
use crate::{Format, Result};

type Detect = dyn Fn(&dyn ReadAt) -> Result<bool> + Send + Sync;
type Open = dyn Fn(Opening<'_>) -> Result<Box<dyn Source>> + Send + Sync;

/// A format that the caller defines: how its files are recognised, and how a file becomes a tree.
///
/// Files of this format are opened, walked, read, compared and converted like those of the other formats. The
/// caller's formats are tried first, in the order in which they were registered, so that one may be a special
/// kind of another format.
///
/// ```
/// use sciformats::memory::{Memory, array};
/// use sciformats::{Error, File, Format, OpenOptions, Registered};
///
/// // Numbers in lines of text, after a first line that says so.
/// let numbers = Registered::new(
///     "numbers",
///     |storage| Ok(storage.size() >= 8 && *storage.read_at(0, 8)? == *b"numbers\n"),
///     |opening| {
///         let size = opening.options.limits.memory("bytes of numbers", opening.storage.size())?;
///         let bytes = opening.storage.read_at(0, size)?;
///         let lines = bytes.split(|&byte| byte == b'\n').skip(1).filter(|line| !line.is_empty());
///         let number = |line| std::str::from_utf8(line).ok()?.parse::<f64>().ok();
///         let numbers: Option<Vec<f64>> = lines.map(number).collect();
///         let numbers = numbers.ok_or_else(|| Error::unsupported("a line that is not a number"))?;
///         let array = array(&[numbers.len() as u64], &numbers);
///         // A small file may be a tree in memory; a large one is a `Source` of its own.
///         Ok(Box::new(Memory::single(Format::Other("numbers"), array)))
///     },
/// );
/// let options = OpenOptions::default().with_format(numbers);
/// let file = File::from_storage(b"numbers\n1.5\n2.5\n".to_vec(), &options)?;
/// assert_eq!((file.format(), file.format().to_string()), (Format::Other("numbers"), "numbers".into()));
/// assert_eq!(file.array("/")?.read::<f64>()?, [1.5, 2.5]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct Registered {
    word: &'static str,
    detect: Arc<Detect>,
    open: Arc<Open>,
}

/// What a format of the caller is given to open a file.
#[derive(Clone)]
pub struct Opening<'a> {
    /// The bytes of the file.
    pub storage: Arc<dyn ReadAt>,
    /// The path by which the file was opened, if there is one, to find files beside it.
    pub path: Option<&'a Path>,
    /// How the file is to be opened. The format must respect the limits and the number of threads.
    pub options: &'a OpenOptions,
}

impl Registered {
    /// Creates a format with the word `word`, which no other format may have. `detect` decides by the
    /// contents whether bytes are a file of this format. It should examine few bytes, because it is called
    /// for every file. `open` turns the bytes into a tree, whose [`Source::format`] must be [`Format::Other`]
    /// with the same word.
    pub fn new(
        word: &'static str,
        detect: impl Fn(&dyn ReadAt) -> Result<bool> + Send + Sync + 'static,
        open: impl Fn(Opening<'_>) -> Result<Box<dyn Source>> + Send + Sync + 'static,
    ) -> Self {
        Self { word, detect: Arc::new(detect), open: Arc::new(open) }
    }

    /// Returns the format.
    pub fn format(&self) -> Format {
        Format::Other(self.word)
    }

    pub(crate) fn detects(&self, storage: &dyn ReadAt) -> Result<bool> {
        (self.detect)(storage)
    }

    pub(crate) fn open(&self, opening: Opening<'_>) -> Result<Box<dyn Source>> {
        (self.open)(opening)
    }
}

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registered").field("word", &self.word).finish_non_exhaustive()
    }
}

impl fmt::Debug for Opening<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.storage.size();
        f.debug_struct("Opening").field("size", &size).field("path", &self.path).finish_non_exhaustive()
    }
}
