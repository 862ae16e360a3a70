//! Reads elements: whole selections in one call, or piece by piece.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use sciformats_core::Slab;
use sciformats_core::bound;

use super::File;
use crate::Result;
use crate::model::{ArrayInfo, ObjectId};
use crate::options::Unfolding;
use crate::pieces::{self, Pieces};
use crate::source::Derived;

/// Called with a piece of a selection and the canonical bytes of its elements; returns whether to continue.
pub type VisitPiece<'a> = &'a mut dyn FnMut(&Slab, &[u8]) -> Result<ControlFlow<()>>;

impl File {
    /// Returns the number of canonical bytes of elements that were read through this value, so that another
    /// thread can show the progress.
    ///
    /// ```
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// file.array("/fields/u")?.read::<f64>()?;
    /// assert_eq!(file.bytes_read(), 48);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    pub fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Adds to [`bytes_read`](Self::bytes_read) canonical bytes that were read in another way, for example by
    /// a program that reads stored chunks through the crate of the format.
    pub fn count_read(&self, bytes: u64) {
        self.read.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Appends the canonical bytes of the selected elements of an array.
    ///
    /// ```
    /// use sciformats::Slab;
    ///
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// let mut bytes = Vec::new();
    /// file.read(file.resolve("/fields/u")?, &Slab::all(&[2, 3])?, &mut bytes)?;
    /// assert_eq!(bytes[..8], 1.0f64.to_le_bytes());
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Source::read`](crate::Source::read).
    pub fn read(&self, array: ObjectId, slab: &Slab, out: &mut Vec<u8>) -> Result<()> {
        let before = out.len();
        self.source.read(array, slab, out)?;
        self.read.fetch_add(bound::left(out.len(), before) as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Reads the canonical bytes of the selected elements of an array into `out`, which must have exactly
    /// their size. All elements must have the same size.
    ///
    /// ```
    /// use sciformats::Slab;
    ///
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # let file = sciformats::File::from(tree);
    /// let mut bytes = [0; 48];
    /// file.read_into(file.resolve("/fields/u")?, &Slab::all(&[2, 3])?, &mut bytes)?;
    /// assert_eq!(bytes[..8], 1.0f64.to_le_bytes());
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Source::read_into`](crate::Source::read_into).
    pub fn read_into(&self, array: ObjectId, slab: &Slab, out: &mut [u8]) -> Result<()> {
        self.source.read_into(array, slab, out)?;
        self.read.fetch_add(out.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Calls `visit` for the selected elements of an array in C order, a few megabytes at a time. It receives
    /// each piece of the selection with the canonical bytes of its elements.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # tree.attribute(u, "unit", sciformats::memory::texts(&[], &["m/s"]));
    /// # let file = sciformats::File::from(tree);
    /// let u = file.array("/fields/u")?;
    /// let mut size = 0;
    /// file.for_each_piece((u.id(), u.info()), &u.all()?, &mut |slab, bytes| {
    ///     assert_eq!(slab.len() * 8, bytes.len() as u64);
    ///     size += bytes.len();
    ///     Ok(ControlFlow::Continue(()))
    /// })?;
    /// assert_eq!(size, 48);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Source::read`](crate::Source::read), and those of `visit`;
    /// [`Error::LimitExceeded`](crate::Error::LimitExceeded) if there are more bytes than
    /// [`OpenOptions::unfolded`](crate::OpenOptions::unfolded) permits.
    pub fn for_each_piece(
        &self,
        (id, info): (ObjectId, &ArrayInfo),
        slab: &Slab,
        visit: VisitPiece<'_>,
    ) -> Result<()> {
        self.go_through(&self.unfolding(), (id, info), slab, visit)
    }

    /// As [`for_each_piece`](Self::for_each_piece), as a part of an operation on several arrays, which
    /// `unfolding` limits together.
    ///
    /// ```
    /// use sciformats::Slab;
    /// use std::ops::ControlFlow;
    ///
    /// # let mut tree = sciformats::memory::Memory::new(sciformats::Format::Hdf5);
    /// # let fields = tree.group(tree.root(), "fields");
    /// # let u = tree.array(fields, "u", sciformats::memory::array::<f64>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    /// # let file = sciformats::File::from(tree);
    /// let (unfolding, mut size) = (file.unfolding(), 0);
    /// for path in ["/fields/u"] {
    ///     let array = file.array(path)?;
    ///     file.go_through(&unfolding, (array.id(), array.info()), &array.all()?, &mut |_, bytes| {
    ///         size += bytes.len();
    ///         Ok(ControlFlow::Continue(()))
    ///     })?;
    /// }
    /// assert_eq!(size, 48);
    /// # Ok::<(), sciformats::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`for_each_piece`](Self::for_each_piece).
    pub fn go_through(
        &self,
        unfolding: &Unfolding,
        (id, info): (ObjectId, &ArrayInfo),
        slab: &Slab,
        visit: VisitPiece<'_>,
    ) -> Result<()> {
        unfolding.add(slab.len(), info)?;
        let pieces = Pieces::new(info, slab, self.options.limits.memory);
        if let Some(derived) = self.source.derived(id) {
            let read = |slab: &Slab, out: &mut Vec<u8>| {
                out.resize(bound::addressable(bound::product(slab.len(), derived.size as u64)), 0);
                derived.read_into(slab, out)
            };
            return pieces::for_each_computed(pieces, self.options.threads(), &read, &mut |slab, bytes| {
                self.count_read(bytes.len() as u64);
                visit(slab, bytes)
            });
        }
        if slab.is_empty() {
            // No piece would tell that the elements cannot be read.
            return self.read(id, slab, &mut Vec::new());
        }
        let read = |slab: &Slab, out: &mut Vec<u8>| self.read(id, slab, out);
        pieces::for_each(pieces, self.options.threads(), &read, visit)
    }

    /// Reads elements that are computed from those of this file into `out`, which must have exactly their size. If there are several
    /// threads, each computes a part of them.
    ///
    /// # Errors
    ///
    /// As [`read_into`](Self::read_into), and those of computing.
    pub fn read_computed(
        &self,
        info: &ArrayInfo,
        derived: &Derived<'_>,
        slab: &Slab,
        out: &mut [u8],
    ) -> Result<()> {
        let pieces = Pieces::new(info, slab, self.options.limits.memory);
        let read = |slab: &Slab, part: &mut [u8]| derived.read_into(slab, part);
        pieces::fill((pieces, derived.size), self.options.threads(), out, &read)
    }

    /// Starts a new operation and returns its limit; see
    /// [`OpenOptions::unfolded`](crate::OpenOptions::unfolded).
    pub fn unfolding(&self) -> Unfolding {
        Unfolding::new(&self.options, self.options.stored.unwrap_or(self.size))
    }

    /// The bound on what an operation writes of this file, which begins now: see [`OpenOptions::written`](crate::OpenOptions::written).
    pub fn writing(&self) -> Unfolding {
        Unfolding::writing(&self.options, self.options.stored.unwrap_or(self.size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Memory, array};
    use crate::{Format, OpenOptions};

    #[test]
    fn reading_ahead_gives_the_same_pieces() {
        let values: Vec<u16> = (0..5_000_000).map(|i| i as u16).collect();
        for threads in [1, 2] {
            let memory = Memory::single(Format::Blosc2, array(&[5_000, 1_000], &values));
            let file = File::from(memory).with_options(OpenOptions::default().with_threads(threads));
            let array = file.array("/").unwrap();
            let (mut all, mut pieces) = (Vec::new(), 0);
            let slab = Slab::all(&[5_000, 1_000]).unwrap();
            file.for_each_piece((array.id(), array.info()), &slab, &mut |_, bytes| {
                all.extend_from_slice(bytes);
                pieces += 1;
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
            assert!(pieces > 1);
            assert!(all.chunks(2).zip(&values).all(|(b, v)| b == v.to_le_bytes()));
            let mut count = 0;
            file.for_each_piece((array.id(), array.info()), &slab, &mut |_, _| {
                count += 1;
                Ok(ControlFlow::Break(()))
            })
            .unwrap();
            assert_eq!(count, 1);
        }
    }
}
