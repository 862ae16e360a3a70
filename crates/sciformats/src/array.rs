//! An array of an open file, which is read as a type of the caller.

use std::ops::{ControlFlow, Deref};

use sciformats_core::bound;
use sciformats_core::error::Within;
use sciformats_core::{Conversion, Error, IntoSelection, Slab};

use crate::Result;
use crate::file::File;
use crate::model::{ArrayInfo, Datum, Decoder, ElementType, ObjectId};
use crate::selection::Selection;
use crate::typed::{self, Element};

/// The number of canonical bytes that are read in one call before they are converted. Each call searches for
/// its chunks, so a few large calls are faster than many small ones.
const AT_ONCE: u64 = 64 << 20;

/// An array of an open file.
///
/// ```
/// use sciformats::ElementType;
///
/// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
/// # let fields = tree.group(tree.root(), "fields");
/// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
/// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
/// # let file = sciformats::File::from(tree);
/// let u = file.array("/fields/u")?;
/// assert_eq!((u.element(), u.shape()), (&ElementType::F64, &[2, 3][..]));
/// let values: Vec<i32> = u.read()?; // all of them are whole numbers
/// assert_eq!(values, [1, 2, 3, 4, 5, 6]);
/// # Ok::<(), sciformats::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Array<'f> {
    file: Held<'f>,
    id: ObjectId,
    path: String,
    info: ArrayInfo,
    conversion: Conversion,
}

/// The file that an array is read from, borrowed or shared.
#[derive(Clone, Debug)]
enum Held<'f> {
    Borrowed(&'f File),
    Owned(Box<File>),
}

impl Deref for Held<'_> {
    type Target = File;

    fn deref(&self) -> &File {
        match self {
            Self::Borrowed(file) => file,
            Self::Owned(file) => file,
        }
    }
}

impl<'f> Array<'f> {
    pub(crate) fn new(file: &'f File, id: ObjectId, (path, info): (String, ArrayInfo)) -> Self {
        Self { file: Held::Borrowed(file), id, path, info, conversion: Conversion::Exact }
    }

    /// Returns the array with shared ownership of its file, so that it can be sent to threads, or stored
    /// without the file.
    ///
    /// ```
    /// use sciformats::{Array, File, Result};
    ///
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # tree.array(tree.root(), "u", sciformats::memory::array::<f64>(&[2], &[1.0, 2.0]));
    /// # let file = sciformats::File::from(tree);
    /// fn first(file: File) -> Result<Array<'static>> {
    ///     Ok(file.array("/u")?.into_owned())
    /// }
    /// let u = first(file)?;
    /// let reading = std::thread::spawn(move || u.read::<f64>());
    /// assert_eq!(reading.join().unwrap()?, [1.0, 2.0]);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn into_owned(self) -> Array<'static> {
        let file = match self.file {
            Held::Borrowed(file) => Box::new(file.clone()),
            Held::Owned(file) => file,
        };
        let Self { id, path, info, conversion, .. } = self;
        Array { file: Held::Owned(file), id, path, info, conversion }
    }

    /// Returns the file that contains the array.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns the path by which the array was found.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the id of the array in the file.
    pub fn id(&self) -> ObjectId {
        self.id
    }

    /// Returns the description of the array, which is everything except its elements.
    pub fn info(&self) -> &ArrayInfo {
        &self.info
    }

    /// Returns the type of the elements.
    pub fn element(&self) -> &ElementType {
        &self.info.element
    }

    /// Returns the length of each dimension, slowest first. The list is empty for a single element, and for an
    /// array without elements, which [`is_null`](Self::is_null) tells apart.
    pub fn shape(&self) -> &[u64] {
        self.info.shape.as_deref().unwrap_or_default()
    }

    /// Returns whether the array has only a type but neither a shape nor elements, as a null dataspace of
    /// HDF5.
    pub fn is_null(&self) -> bool {
        self.info.shape.is_none()
    }

    /// Returns the whole array as a selection.
    ///
    /// ```
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// let u = file.array("/fields/u")?;
    /// assert_eq!(u.bytes(&u.all()?)?.len(), 6 * 8);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the array has more than 2^64 elements, or has none because its dataspace is null.
    pub fn all(&self) -> Result<Slab> {
        let shape = self
            .info
            .shape
            .as_deref()
            .ok_or_else(|| Error::usage("array", "has a null dataspace and no elements"))?;
        Slab::all(shape)
    }

    /// Returns the same array with another rule for the conversion of elements to the requested type.
    ///
    /// ```
    /// use sciformats::memory::{Memory, array};
    /// use sciformats::{Conversion, File, Format};
    ///
    /// let file = File::from(Memory::single(Format::Npy, array::<f64>(&[2], &[20.0, 300.5])));
    /// let counts = file.array("/")?;
    /// assert!(counts.read::<u8>().is_err());
    /// let counts = counts.with_conversion(Conversion::Lossy);
    /// assert_eq!(counts.read::<u8>()?, [20, 255]);
    /// let counts = counts.with_conversion(Conversion::None);
    /// assert!(counts.read::<f64>().is_ok() && counts.read::<f32>().is_err());
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    #[must_use]
    pub fn with_conversion(self, conversion: Conversion) -> Self {
        Self { conversion, ..self }
    }

    /// Reads all elements in C order. They are converted if nothing is lost; see [`Element`].
    ///
    /// ```
    /// use sciformats::memory::{Memory, array};
    /// use sciformats::{File, Format};
    ///
    /// let file = File::from(Memory::single(Format::Npy, array::<f64>(&[2], &[0.5, 300.0])));
    /// let array = file.array("/")?;
    /// assert_eq!(array.read::<f32>()?, [0.5, 300.0]);
    /// assert_eq!(
    ///     array.read::<u16>().unwrap_err().to_string(),
    ///     "element 0 is 0.5, which u16 cannot hold",
    /// );
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Misfit`] with the first element that `T` cannot hold; [`Error::Usage`] if `T` cannot hold
    /// elements of this kind; otherwise the error of reading the elements.
    pub fn read<T: Element>(&self) -> Result<Vec<T>> {
        self.read_slab(&self.all()?)
    }

    /// Reads the selected elements in C order. They are converted if nothing is lost.
    ///
    /// ```
    /// use sciformats::{Range, Slab};
    ///
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// let u = file.array("/fields/u")?;
    /// let last_column = Slab::new(&[2, 3], [Range::all(2), Range::new(2, 1)])?;
    /// assert_eq!(u.read_slab::<f64>(&last_column)?, [3.0, 6.0]);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn read_slab<T: Element>(&self, slab: &Slab) -> Result<Vec<T>> {
        self.slab_of(slab).within(self.file.path(), Some(&self.path))
    }

    fn slab_of<T: Element>(&self, slab: &Slab) -> Result<Vec<T>> {
        let len = self.room::<T>(slab)?;
        if T::in_place(&self.info.element, &mut []).is_some()
            && let Some(values) = T::zeroed(len)
        {
            let mut values = values?;
            self.read_slab_into(slab, &mut values)?;
            return Ok(values);
        }
        self.converted(slab)
    }

    /// Reads the selected elements in C order into `out`, which must have the same number of elements. They
    /// are converted if nothing is lost. If they are stored as `T`, they are read directly into `out`.
    ///
    /// ```
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # let file = sciformats::File::from(tree);
    /// let u = file.array("/fields/u")?;
    /// let mut values = [0.0f64; 6]; // to be used again for the next array
    /// u.read_slab_into(&u.all()?, &mut values)?;
    /// assert_eq!(values, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read); [`Error::Usage`] if `out` has another length. After an error, the contents of
    /// `out` are unspecified.
    pub fn read_slab_into<T: Element>(&self, slab: &Slab, out: &mut [T]) -> Result<()> {
        self.slab_into(slab, out).within(self.file.path(), Some(&self.path))
    }

    fn slab_into<T: Element>(&self, slab: &Slab, out: &mut [T]) -> Result<()> {
        if self.room::<T>(slab)? != out.len() {
            let problem = format!("has a length of {}, not {}", out.len(), slab.len());
            return Err(Error::usage("out", problem));
        }
        if let Some(bytes) = T::in_place(&self.info.element, out) {
            self.file.unfolding().add(slab.len(), &self.info)?;
            return self.file.read_into(self.id, slab, bytes);
        }
        out.iter_mut().zip(self.converted(slab)?).for_each(|(out, value)| *out = value);
        Ok(())
    }

    /// Reads the elements of a part in C order. The part consists of ranges and indices, one per dimension. Negative numbers
    /// count from the end, and dimensions that are not named are read whole. [`IntoSelection`] lists all forms of a part.
    ///
    /// ```
    /// use sciformats::by;
    ///
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # tree.array(tree.root(), "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # let file = sciformats::File::from(tree);
    /// let u = file.array("/u")?; // 2 × 3
    /// assert_eq!(u.read_slice::<f64>((0, ..))?, [1.0, 2.0, 3.0]);
    /// assert_eq!(u.read_slice::<f64>((.., -1))?, [3.0, 6.0]);
    /// assert_eq!(u.read_slice::<i32>((1, by(.., -2)))?, [6, 4]);
    /// assert_eq!(u.read_slice::<i32>("1, ::2")?, [4, 6]);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the part is not inside the array; otherwise as [`read`](Self::read).
    pub fn read_slice<T: Element>(&self, part: impl IntoSelection) -> Result<Vec<T>> {
        let selection = part.into_selection(self.all()?.of())?;
        let mut elements = self.read_slab(selection.slab())?;
        selection.turn(&mut elements);
        Ok(elements)
    }

    /// As [`read_slice`](Self::read_slice), but reads into `out`, which must have the same number of
    /// elements.
    ///
    /// # Errors
    ///
    /// As [`read_slice`](Self::read_slice); [`Error::Usage`] if `out` has another length.
    pub fn read_slice_into<T: Element>(&self, part: impl IntoSelection, out: &mut [T]) -> Result<()> {
        let selection = part.into_selection(self.all()?.of())?;
        self.read_slab_into(selection.slab(), out)?;
        selection.turn(out);
        Ok(())
    }

    /// As [`read_slice`](Self::read_slice), but returns an array; an index removes its dimension.
    ///
    /// ```
    /// use ndarray::{Array2, array, s};
    ///
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # tree.array(tree.root(), "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # let file = sciformats::File::from(tree);
    /// let part: Array2<f32> = file.array("/u")?.read_slice_ndarray(s![.., 1..;-1])?;
    /// assert_eq!(part, array![[3.0, 2.0], [6.0, 5.0]]);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`read_slice`](Self::read_slice); [`Error::Usage`] if the part has another number of dimensions
    /// than the returned array.
    #[cfg(feature = "ndarray")]
    pub fn read_slice_ndarray<T: Element, D: ndarray::Dimension>(
        &self,
        part: impl IntoSelection,
    ) -> Result<ndarray::Array<T, D>> {
        let selection = part.into_selection(self.all()?.of())?;
        sciformats_core::nd::array(self.read_slice(&selection)?, &selection.shape())
    }

    /// Returns the elements in C order, in pieces of at most `elements` elements (but at least one). This is
    /// for arrays that are larger than memory.
    ///
    /// ```
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # tree.array(tree.root(), "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # let file = sciformats::File::from(tree);
    /// let mut sum = 0.0;
    /// for piece in file.array("/u")?.pieces::<f64>(1 << 20)? {
    ///     let (_slab, values) = piece?;
    ///     sum += values.iter().sum::<f64>();
    /// }
    /// assert_eq!(sum, 21.0);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for a null dataspace. If a piece cannot be read, its item is the error.
    pub fn pieces<T: Element>(
        &self,
        elements: u64,
    ) -> Result<impl Iterator<Item = Result<(Slab, Vec<T>)>> + use<'_, 'f, T>> {
        let pieces = self.all()?.pieces(elements);
        Ok(pieces.map(|slab| self.read_slab(&slab).map(|values| (slab, values))))
    }

    fn room<T>(&self, slab: &Slab) -> Result<usize> {
        // If the number of bytes exceeds 64 bits, it exceeds every limit: a bound.
        let bytes = bound::product(slab.len(), size_of::<T>() as u64);
        self.file.limits().memory("bytes of the elements to read", bytes)?;
        let wide = || Error::usage("selection", "has more elements than this machine can count");
        usize::try_from(slab.len()).map_err(|_| wide())
    }

    /// Reads and converts the selected elements, in one call if there are few, and otherwise piece by piece.
    fn converted<T: Element>(&self, slab: &Slab) -> Result<Vec<T>> {
        let mut values = Vec::new();
        let bytes = self.info.element.size().and_then(|size| slab.len().checked_mul(size));
        if bytes.is_some_and(|bytes| bytes <= AT_ONCE.min(self.file.limits().memory)) {
            self.file.unfolding().add(slab.len(), &self.info)?;
            let mut bytes = Vec::new();
            self.file.read(self.id, slab, &mut bytes)?;
            typed::convert(&self.info.element, &bytes, self.conversion, &mut values)?;
            return Ok(values);
        }
        self.file.for_each_piece((self.id, &self.info), slab, &mut |_, bytes| {
            typed::convert(&self.info.element, bytes, self.conversion, &mut values)?;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(values)
    }

    /// Reads the canonical bytes of the selected elements.
    ///
    /// ```
    /// use sciformats::memory::{Memory, array};
    /// use sciformats::{File, Format, Selection};
    ///
    /// let file = File::from(Memory::single(Format::Npy, array::<u16>(&[3], &[1, 2, 300])));
    /// let selection = Selection::parse("1:", &[3])?;
    /// assert_eq!(file.array("/")?.bytes(selection.slab())?, [2, 0, 0x2c, 1]);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::LimitExceeded`] if there are too many bytes; otherwise the error of reading the elements.
    pub fn bytes(&self, slab: &Slab) -> Result<Vec<u8>> {
        self.bytes_of(slab).within(self.file.path(), Some(&self.path))
    }

    fn bytes_of(&self, slab: &Slab) -> Result<Vec<u8>> {
        let size = self.info.element.size().unwrap_or(1);
        self.file.limits().memory("bytes of the elements to read", bound::product(slab.len(), size))?;
        let mut bytes = Vec::new();
        self.file.read(self.id, slab, &mut bytes)?;
        Ok(bytes)
    }

    /// Calls `visit` with the canonical bytes of a selection, a few megabytes at a time, in the C order of
    /// the selection. Steps may be negative, as in NumPy.
    ///
    /// ```
    /// use sciformats::Selection;
    /// use std::ops::ControlFlow;
    ///
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// let u = file.array("/fields/u")?;
    /// let mut bytes = Vec::new();
    /// u.for_each_piece(&Selection::parse("::-1, 0", &[2, 3])?, &mut |piece| {
    ///     bytes.extend_from_slice(piece); // or into a file, a hash, a socket
    ///     Ok(ControlFlow::Continue(()))
    /// })?;
    /// assert_eq!(bytes, [4.0f64, 1.0].map(f64::to_le_bytes).concat());
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The error of reading the elements, and the errors of `visit`.
    pub fn for_each_piece(
        &self,
        selection: &Selection,
        visit: &mut dyn FnMut(&[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        if !selection.is_reversed() {
            let slab = selection.slab();
            return self.file.for_each_piece((self.id, &self.info), slab, &mut |_, bytes| visit(bytes));
        }
        let mut bytes = Vec::new();
        for piece in selection.reversed_pieces(&self.info, self.file.limits().memory)? {
            bytes.clear();
            self.file.read(self.id, &piece, &mut bytes)?;
            selection.turn(&self.info.element, &piece, &mut bytes)?;
            if visit(&bytes)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Calls `visit` for each element of a selection.
    ///
    /// ```
    /// use sciformats::Selection;
    /// use std::ops::ControlFlow;
    ///
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// let mut sum = 0.0;
    /// file.array("/fields/u")?.for_each(&Selection::all(&[2, 3])?, &mut |datum| {
    ///     sum += datum.to_f64().unwrap_or(f64::NAN);
    ///     Ok(ControlFlow::Continue(()))
    /// })?;
    /// assert_eq!(sum, 21.0);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`for_each_piece`](Self::for_each_piece).
    pub fn for_each(
        &self,
        selection: &Selection,
        visit: &mut dyn FnMut(Datum<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        self.for_each_piece(selection, &mut |bytes| {
            for datum in Decoder::new(&self.info.element, bytes) {
                if visit(datum?)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Reads all elements as an `ndarray` in C order.
    ///
    /// ```
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// let u = file.array("/fields/u")?.to_ndarray::<f32>()?;
    /// assert_eq!(u[[1, 2]], 6.0);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    #[cfg(feature = "ndarray")]
    pub fn to_ndarray<T: Element>(&self) -> Result<ndarray::ArrayD<T>> {
        let slab = self.all()?;
        sciformats_core::nd::array(self.read_slab(&slab)?, &slab.shape())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Memory, array, texts};
    use crate::{Format, Limits, Range};

    #[test]
    fn slabs_and_limits() {
        let memory = Memory::single(Format::RawArray, array::<u16>(&[2, 3], &[1, 2, 3, 4, 5, 6]));
        let file = File::from(memory);
        let array = file.array("/").unwrap();
        let slab = Slab::new(&[2, 3], [Range::all(2), Range::new(0, 2).by(2)]).unwrap();
        assert_eq!(array.read_slab::<u64>(&slab).unwrap(), [1, 3, 4, 6]);
        assert_eq!(array.bytes(&slab).unwrap(), [1, 0, 3, 0, 4, 0, 6, 0]);
        #[cfg(feature = "ndarray")]
        assert_eq!(array.to_ndarray::<i32>().unwrap()[[1, 2]], 6);

        let options = crate::OpenOptions::default().with_limits(Limits::default().with_memory(11));
        let file = file.with_options(options);
        let array = file.array("/").unwrap();
        assert!(matches!(array.read::<u16>(), Err(Error::LimitExceeded { .. })));
        assert!(matches!(array.bytes(&array.all().unwrap()), Err(Error::LimitExceeded { .. })));
        let mut count = 0;
        let all = Selection::all(&[2, 3]).unwrap();
        let counted = array.for_each(&all, &mut |_| {
            count += 1;
            Ok(ControlFlow::Continue(()))
        });
        assert!(counted.is_ok() && count == 6);
    }

    #[test]
    fn elements_one_by_one_until_enough() {
        let file = File::from(Memory::single(Format::Asdf, texts(&[3], &["a", "b", "c"])));
        let mut seen = Vec::new();
        let array = file.array("/").unwrap();
        let each = array.for_each(&Selection::all(&[3]).unwrap(), &mut |datum| {
            seen.push(datum.to_string());
            Ok(if seen.len() == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        });
        assert!(each.is_ok());
        assert_eq!(seen, ["a", "b"]);
    }
}
