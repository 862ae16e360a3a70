//! An array of an open file, read as the caller's type.

use std::ops::ControlFlow;

use sciformats_core::{Error, Slab};

use crate::Result;
use crate::file::File;
use crate::model::{ArrayInfo, Datum, Decoder, ElementType, ObjectId};
use crate::selection::Selection;
use crate::typed::{self, Element};

/// An array of an open file.
#[derive(Clone, Debug)]
pub struct Array<'f> {
    file: &'f File,
    id: ObjectId,
    info: ArrayInfo,
}

impl<'f> Array<'f> {
    pub(crate) fn new(file: &'f File, id: ObjectId, info: ArrayInfo) -> Self {
        Self { file, id, info }
    }

    /// Its id in the file.
    pub fn id(&self) -> ObjectId {
        self.id
    }

    /// Everything about it but its elements.
    pub fn info(&self) -> &ArrayInfo {
        &self.info
    }

    /// The type of its elements.
    pub fn element(&self) -> &ElementType {
        &self.info.element
    }

    /// Its dimensions, slowest first; `None` for a null dataspace.
    pub fn shape(&self) -> Option<&[u64]> {
        self.info.shape.as_deref()
    }

    /// The whole array as a selection.
    ///
    /// # Errors
    /// [`Error::Usage`] if it has more than 2^64 elements, or none because its dataspace is null.
    pub fn all(&self) -> Result<Slab> {
        let shape =
            self.shape().ok_or_else(|| Error::usage("array", "has a null dataspace and no elements"))?;
        Slab::all(shape)
    }

    /// All elements in C order, converted where that loses nothing; see [`Element`].
    ///
    /// # Errors
    /// [`Error::Usage`] naming the first element that `T` cannot hold; whatever keeps the elements from being read.
    pub fn read<T: Element>(&self) -> Result<Vec<T>> {
        self.read_slab(&self.all()?)
    }

    /// The selected elements in C order, converted where that loses nothing.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_slab<T: Element>(&self, slab: &Slab) -> Result<Vec<T>> {
        let count = slab.len().saturating_mul(size_of::<T>() as u64);
        self.file.limits().memory("bytes of the elements to read", count)?;
        let mut values = Vec::new();
        self.file.for_each_piece((self.id, &self.info), slab, &mut |_, bytes| {
            typed::convert(&self.info.element, bytes, &mut values)?;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(values)
    }

    /// The canonical bytes of the selected elements.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`]; whatever keeps the elements from being read.
    pub fn bytes(&self, slab: &Slab) -> Result<Vec<u8>> {
        let size = self.info.element.size().unwrap_or(1);
        self.file.limits().memory("bytes of the elements to read", slab.len().saturating_mul(size))?;
        let mut bytes = Vec::new();
        self.file.read(self.id, slab, &mut bytes)?;
        Ok(bytes)
    }

    /// Goes through a selection as NumPy makes it, negative steps and all, in its own C order and a few megabytes at a
    /// time. `visit` gets canonical bytes.
    ///
    /// # Errors
    /// Whatever keeps the elements from being read, and the errors of `visit`.
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
        for piece in selection.reversed_pieces(&self.info)? {
            bytes.clear();
            self.file.read(self.id, &piece, &mut bytes)?;
            selection.turn(&self.info.element, &piece, &mut bytes)?;
            if visit(&bytes)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Goes through the elements of a selection one by one.
    ///
    /// # Errors
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

    /// All elements as an `ndarray`, in C order.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    #[cfg(feature = "ndarray")]
    pub fn read_ndarray<T: Element>(&self) -> Result<ndarray::ArrayD<T>> {
        let slab = self.all()?;
        let wide = || Error::usage("shape", "is too large for this machine");
        let shape: Vec<usize> =
            slab.shape().iter().map(|&n| usize::try_from(n)).collect::<Result<_, _>>().map_err(|_| wide())?;
        ndarray::ArrayD::from_shape_vec(shape, self.read_slab(&slab)?).map_err(|_| wide())
    }
}
