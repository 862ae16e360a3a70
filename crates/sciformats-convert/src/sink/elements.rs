//! The elements of an array that is to be written, which are requested slab by slab.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use sciformats_core::arith::sub;
use sciformats_core::{Error, Limits, Slab, bound};

use sciformats::VisitPiece;
use sciformats::memory::MemoryArray;
use sciformats::model::{ArrayInfo, ElementType, ObjectId};
use sciformats::pieces::{self, Pieces};
use sciformats::{File, Result};

/// Where elements come from.
#[derive(Clone)]
enum Origin {
    Function(Arc<dyn Fn(&Slab, &mut Vec<u8>) -> Result<()> + Send + Sync>),
    File(Arc<File>, ObjectId),
}

/// An array to be written: its type and shape, and a function that returns the canonical bytes of any part of
/// it.
///
/// ```
/// use sciformats::memory::array;
/// use sciformats_convert::sink::Elements;
///
/// let u = Elements::from(array::<f32>(&[2, 2], &[1.0, 2.0, 3.0, 4.0]));
/// assert_eq!(u.info().shape, Some(vec![2, 2]));
/// assert_eq!(u.to_bytes()?.len(), 16);
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone)]
pub struct Elements {
    pub(super) info: ArrayInfo,
    origin: Origin,
    pub(super) limits: Limits,
    threads: usize,
}

impl Elements {
    /// Creates an array whose elements come from `read`, which appends the canonical bytes of the selected
    /// elements in C order; see [`ElementType`](sciformats::ElementType). It may be called for any part, more
    /// than once, and from several threads.
    ///
    /// ```
    /// use sciformats_convert::sink::Elements;
    /// use sciformats::{ArrayInfo, ElementType};
    ///
    /// // A million squares, which nobody has to hold at a time.
    /// let info = ArrayInfo::new(ElementType::UInt(8), [1_000_000]);
    /// let squares = Elements::new(info, |slab, out| {
    ///     for run in slab.runs() {
    ///         let indices = (0..run.len).map(|i| run.from + i * run.step);
    ///         indices.for_each(|i| out.extend((i * i).to_le_bytes()));
    ///     }
    ///     Ok(())
    /// });
    /// assert_eq!(squares.info().elements(), Some(1_000_000));
    /// ```
    pub fn new(
        info: ArrayInfo,
        read: impl Fn(&Slab, &mut Vec<u8>) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        let origin = Origin::Function(Arc::new(read));
        Self { info, origin, limits: Limits::default(), threads: 1 }
    }

    /// Creates an array whose elements are read from an open file.
    ///
    /// ```
    /// use sciformats_convert::sink::Elements;
    /// use std::sync::Arc;
    ///
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// let file = Arc::new(file);
    /// let u = file.array("/fields/u")?;
    /// let elements = Elements::of(Arc::clone(&file), u.id(), u.info().clone());
    /// assert_eq!(elements.to_bytes()?, u.bytes(&u.all()?)?);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn of(file: Arc<File>, array: ObjectId, info: ArrayInfo) -> Self {
        let (limits, threads) = (*file.limits(), file.options().threads());
        Self { info, origin: Origin::File(file, array), limits, threads }
    }

    /// Returns the file and the object that the elements come from.
    #[cfg(feature = "asdf")]
    pub(super) fn file(&self) -> Option<(&Arc<File>, ObjectId)> {
        match &self.origin {
            Origin::File(file, array) => Some((file, *array)),
            Origin::Function(_) => None,
        }
    }

    /// Returns the description of the array. Its chunks are a hint about good parts to request.
    pub fn info(&self) -> &ArrayInfo {
        &self.info
    }

    /// Returns the dimensions.
    ///
    /// # Errors
    ///
    /// `Unsupported` for a null dataspace.
    pub(super) fn dimensions(&self) -> Result<&[u64]> {
        self.info.shape.as_deref().ok_or_else(|| Error::unsupported("an array with a null dataspace"))
    }

    /// Appends the canonical bytes of the selected elements.
    ///
    /// ```
    /// use sciformats::memory::array;
    /// use sciformats_convert::sink::Elements;
    /// use sciformats::{Range, Slab};
    ///
    /// let counts = Elements::from(array::<u16>(&[3], &[1, 2, 300]));
    /// let mut bytes = Vec::new();
    /// counts.read(&Slab::new(&[3], [Range::new(2, 1)])?, &mut bytes)?;
    /// assert_eq!(bytes, [0x2c, 1]);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The error of reading the elements; [`Error::Usage`] if their number is wrong.
    pub fn read(&self, slab: &Slab, out: &mut Vec<u8>) -> Result<()> {
        let before = out.len();
        match &self.origin {
            Origin::Function(read) => read(slab, out)?,
            Origin::File(file, array) => file.read(*array, slab, out)?,
        }
        check_size(&self.info.element, slab, sub(out.len(), before)?)
    }

    /// Calls `visit` with all elements in C order, a few megabytes at a time. A thread reads the next ones
    /// while `visit` works, if the file that they come from was opened for more than one thread.
    ///
    /// ```
    /// use sciformats::memory::array;
    /// use sciformats_convert::sink::Elements;
    /// use std::ops::ControlFlow;
    ///
    /// let counts = Elements::from(array::<u16>(&[3], &[1, 2, 300]));
    /// let mut elements = 0;
    /// counts.for_each_piece(&mut |slab, _bytes| {
    ///     elements += slab.len();
    ///     Ok(ControlFlow::Continue(()))
    /// })?;
    /// assert_eq!(elements, 3);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`read`](Self::read), and those of `visit`.
    pub fn for_each_piece(&self, visit: VisitPiece<'_>) -> Result<()> {
        let Some(shape) = self.info.shape.as_deref() else { return Ok(()) };
        let pieces = Pieces::new(&self.info, &Slab::all(shape)?, self.limits.memory);
        pieces::for_each(pieces, self.threads, &|slab, out| self.read(slab, out), visit)
    }

    /// Returns all canonical bytes at once.
    ///
    /// ```
    /// use sciformats::memory::array;
    /// use sciformats_convert::sink::Elements;
    ///
    /// assert_eq!(Elements::from(array::<u16>(&[2], &[1, 300])).to_bytes()?, [1, 0, 0x2c, 1]);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::LimitExceeded`] if they are larger than the limit; otherwise as [`read`](Self::read).
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.for_each_piece(&mut |_, piece| {
            let size = bound::sum(bytes.len() as u64, piece.len() as u64);
            self.limits.memory("bytes of an array that is written at once", size)?;
            bytes.extend_from_slice(piece);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(bytes)
    }

    /// Returns the same array, read in parts that match chunks of this shape.
    #[cfg(any(feature = "blosc2", feature = "hdf5"))]
    pub(super) fn in_chunks(self, chunks: Vec<u64>) -> Self {
        Self { info: ArrayInfo { chunks: Some(chunks), ..self.info }, ..self }
    }
}

impl fmt::Debug for Elements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elements").field("info", &self.info).finish_non_exhaustive()
    }
}

impl From<MemoryArray> for Elements {
    fn from(array: MemoryArray) -> Self {
        let MemoryArray { info, bytes } = array;
        let element = info.element.clone();
        Self::new(info, move |slab, out| selected(&element, &bytes, slab, out))
    }
}

/// Appends the selected elements of an array with these canonical bytes.
///
/// # Errors
///
/// [`Error::Usage`] if there are fewer elements than the selection needs.
pub(crate) fn elements_of(element: &ElementType, bytes: &[u8], slab: &Slab, out: &mut Vec<u8>) -> Result<()> {
    let before = out.len();
    selected(element, bytes, slab, out)?;
    check_size(element, slab, sub(out.len(), before)?)
}

fn selected(element: &ElementType, bytes: &[u8], slab: &Slab, out: &mut Vec<u8>) -> Result<()> {
    let spans = sciformats::model::canonical::spans(element, bytes)?;
    for run in slab.runs() {
        for i in 0..run.len {
            let index = run.step.checked_mul(i).and_then(|step| step.checked_add(run.from));
            let span = index.and_then(|index| spans.get(usize::try_from(index).ok()?));
            let missing = || Error::usage("array", "has fewer elements than its shape says");
            out.extend_from_slice(span.ok_or_else(missing)?);
        }
    }
    Ok(())
}

fn check_size(element: &ElementType, slab: &Slab, read: usize) -> Result<()> {
    let size = element.size().and_then(|size| size.checked_mul(slab.len()));
    if size.is_some_and(|size| size != read as u64) {
        return Err(Error::usage("elements", "are not as many as were requested"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sciformats::memory::{array, texts};

    #[test]
    fn elements_that_are_too_few_are_an_error() {
        let short = Elements::new(ArrayInfo::new(ElementType::UInt(1), [3]), |_, out| {
            out.extend([1, 2]);
            Ok(())
        });
        assert!(short.to_bytes().is_err());
        assert!(Elements::from(array::<u8>(&[3], &[1, 2])).to_bytes().is_err());
        let texts = Elements::from(texts(&[2], &["a", "bc"]));
        assert_eq!(texts.to_bytes().unwrap().len(), 8 + 1 + 8 + 2);
    }
}
