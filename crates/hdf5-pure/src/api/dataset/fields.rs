//! Reads single members of compound elements.

use sciformats_core::storage::zeroed;
use sciformats_core::{Error, Result, Slab, bound};

use crate::api::dataset::Dataset;
use crate::dataset::parts;
use crate::dataset::read::Reader;
use crate::spec::message::datatype::Class;
use crate::value::canonical::Canonical;
use crate::value::element::Element;
use crate::value::record::Record;

impl Dataset {
    /// Reads one member of all elements, which must be compounds. The `name` may lead to a nested member, as in
    /// `position.x`.
    ///
    /// ```no_run
    /// let file = hdf5_pure::File::open("particles.h5")?;
    /// let energies: Vec<f64> = file.dataset("/particles")?.read_field("energy")?;
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`read`](Self::read), and [`Error::NotFound`] if there is no such member.
    pub fn read_field<T: Element>(&self, name: &str) -> Result<Vec<T>> {
        match self.dataspace().extent() {
            None => Ok(Vec::new()),
            Some(shape) => self.read_field_slab(name, &Slab::all(shape)?),
        }
    }

    /// Works like [`read_field`](Self::read_field), for the selected elements only.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Range, Slab, Writer};
    ///
    /// hdf5_pure::record! {
    ///     struct Particle { mass: f64, position: [f32; 3] }
    /// }
    /// let all: Vec<Particle> = (0..5).map(|i| Particle { mass: f64::from(i), position: [0.5; 3] }).collect();
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("particles").write(&all)?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// let some = Slab::new(&[5], [Range::new(2, 2)])?;
    /// assert_eq!(file.dataset("particles")?.read_field_slab::<f64>("mass", &some)?, [2.0, 3.0]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`read_field`](Self::read_field).
    pub fn read_field_slab<T: Element>(&self, name: &str, slab: &Slab) -> Result<Vec<T>> {
        let (offset, member) = self.datatype().member(name)?;
        let size = bound::addressable(member.size.into());
        self.raw_size(slab)?;
        let count = bound::addressable(slab.len());
        let part = offset..bound::sum(offset, size);
        let gather = |out: &mut [u8]| self.read_raw_part_into(slab, &part, out);
        if let Some(read) = T::read_direct(member, count, &mut |out| gather(out)) {
            return read;
        }
        let mut raw = zeroed(bound::product(count, size))?;
        gather(&mut raw)?;
        self.typed(member, &raw)
    }

    /// Reads all elements, which must be compounds, as the columns of a [`Record`]: a vector for each of its fields.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use hdf5_pure::{CreateOptions, File, Record, Writer};
    ///
    /// #[derive(Record)]
    /// struct Particle { mass: f64, charge: i8 }
    ///
    /// let all: Vec<Particle> = (0..5i8).map(|i| Particle { mass: f64::from(i), charge: -i }).collect();
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("particles").write(&all)?;
    /// let columns = File::from_bytes(file.into_bytes()?)?.dataset("particles")?.read_columns::<Particle>()?;
    /// assert_eq!((columns.mass[4], columns.charge), (4.0, vec![0, -1, -2, -3, -4]));
    /// # }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`read`](Self::read), and [`Error::NotFound`] if a member is missing.
    pub fn read_columns<T: Record>(&self) -> Result<T::Columns> {
        let raw = match self.is_null() {
            true => Vec::new(),
            false => self.read_raw(&self.all()?)?,
        };
        T::read_columns(&self.values(self.datatype(), &raw))
    }

    /// Returns an iterator over the elements in C order, which reads some megabytes at a time. Use it for tables that
    /// are larger than memory.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("energy").write(&[0.5, 0.25, 0.125])?;
    /// let energy = File::from_bytes(file.into_bytes()?)?.dataset("energy")?;
    /// let rows = energy.rows::<f64>()?.collect::<hdf5_pure::Result<Vec<_>>>()?;
    /// assert_eq!(rows, [0.5, 0.25, 0.125]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] for a null dataspace. If elements cannot be read, the item in their place is the error.
    pub fn rows<T: Element>(&self) -> Result<impl Iterator<Item = Result<T>> + use<'_, T>> {
        /// The size of a piece in bytes.
        const PIECE: u64 = 4 << 20;
        let steps = self.steps(&self.all()?, PIECE);
        let mut before = 0u64;
        let pieces = steps.map(move |piece| {
            let first = before;
            before = bound::sum(before, piece.len());
            self.read_slab(&piece).map_err(|error| error.after(first))
        });
        Ok(pieces.flat_map(|piece| {
            let (rows, error) = match piece {
                Ok(rows) => (rows, None),
                Err(error) => (Vec::new(), Some(Err(error))),
            };
            rows.into_iter().map(Ok).chain(error)
        }))
    }

    /// Returns whether a part of each element can be read without the rest of the elements: they are in this file, in one
    /// piece or in chunks of one dimension, and have no filters. [`read_raw_part_into`](Self::read_raw_part_into) reads
    /// all other elements as a whole.
    pub fn has_separate_parts(&self) -> bool {
        parts::are_apart(&self.content)
    }

    /// Fills `out` with the bytes `part` of each selected element, as they are stored. The rest of the elements is not read
    /// if it has more than 4 KiB per element and if the elements have [separate parts](Self::has_separate_parts).
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// hdf5_pure::record! {
    ///     struct Shot { number: i32, image: [u8; 5000] }
    /// }
    /// let shots: Vec<Shot> = (0..3).map(|number| Shot { number, image: [7; 5000] }).collect();
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("shots").write(&shots)?;
    /// let shots = File::from_bytes(file.into_bytes()?)?.dataset("shots")?;
    /// let mut numbers = [0; 12];
    /// shots.read_raw_part_into(&shots.all()?, &(0..4), &mut numbers)?;
    /// assert_eq!(numbers, [0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`read_raw`](Self::read_raw), and [`Error::Usage`] if the part is not within the elements or
    /// if `out` has another size.
    pub fn read_raw_part_into(
        &self,
        slab: &Slab,
        part: &std::ops::Range<usize>,
        out: &mut [u8],
    ) -> Result<()> {
        self.raw_size(slab)?;
        if part.start > part.end || part.end as u64 > self.element_size() {
            return Err(Error::usage("part", "must be within the elements"));
        }
        if bound::product(slab.len(), part.len() as u64) != out.len() as u64 {
            return Err(Error::usage("out", "must have room for the selected parts"));
        }
        if parts::is_worth(&self.content, part.len()) {
            let opened = self.file.opened();
            let reader = Reader::new(opened, &self.content, opened.threads());
            return self.within(opened.attempts(|| parts::read(&reader, slab, part, out)));
        }
        self.gather(slab, (part.start, part.len()), out)
    }

    /// Reads the member with this number of the selected elements, which must be compounds, in the form of
    /// [`read_canonical`](Self::read_canonical). The other members are neither converted nor, if the elements are long and
    /// have [separate parts](Self::has_separate_parts), read.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// hdf5_pure::record! {
    ///     struct Shot { number: i32, name: String }
    /// }
    /// let shot = |number| Shot { number, name: "K".into() };
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("shots").write(&[shot(7), shot(8)])?;
    /// let shots = File::from_bytes(file.into_bytes()?)?.dataset("shots")?;
    /// assert_eq!(shots.read_member_canonical(0, &shots.all()?)?, [7, 0, 0, 0, 8, 0, 0, 0]);
    /// assert_eq!(shots.read_member_canonical(1, &shots.all()?)?.len(), 2 * 9); // lengths and texts
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`read_canonical`](Self::read_canonical), and [`Error::Usage`] if there is no such member.
    pub fn read_member_canonical(&self, number: usize, slab: &Slab) -> Result<Vec<u8>> {
        let member = match &self.datatype().class {
            Class::Compound(members) => members.get(number),
            _ => None,
        };
        let member =
            member.ok_or_else(|| Error::usage("number", "must be that of a member of a compound"))?;
        let start = bound::addressable(member.offset.into());
        let size = bound::addressable(member.datatype.size.into());
        self.raw_size(slab)?;
        let mut raw = zeroed(bound::product(bound::addressable(slab.len()), size))?;
        self.read_raw_part_into(slab, &(start..bound::sum(start, size)), &mut raw)?;
        let canonical = Canonical::new(self.file.opened(), &member.datatype);
        self.within(canonical.and_then(|canonical| canonical.convert(raw, self.data_offset())))
    }

    /// Fills `out` with the `size` bytes at `offset` of each selected element. It reads one piece of whole elements at a
    /// time.
    fn gather(&self, slab: &Slab, (offset, size): (usize, usize), out: &mut [u8]) -> Result<()> {
        /// The size of a piece: small enough to stay in a processor's cache between reading and copying.
        const PIECE: u64 = 1 << 18;
        let step = bound::addressable(self.element_size());
        let mut rest = out;
        let mut raw = Vec::new();
        for piece in self.steps(slab, PIECE) {
            raw.resize(self.raw_size(&piece)?, 0);
            self.read_raw_into(&piece, &mut raw)?;
            rest = pick(&raw, step, (offset, size), rest)?;
        }
        Ok(())
    }
}

/// Copies one part of each element to `out`, and returns the rest of `out`.
fn pick<'o>(
    elements: &[u8],
    step: usize,
    (offset, size): (usize, usize),
    out: &'o mut [u8],
) -> Result<&'o mut [u8]> {
    let count = elements.len() / step.max(1);
    let room = bound::product(count, size);
    let Some((into, rest)) = out.split_at_mut_checked(room) else {
        return Err(Error::usage("out", "must have as many bytes as the selection"));
    };
    // With a size that is known at compile time, each copy becomes a single move instruction.
    match size {
        1 => parts::<1>(elements, step, offset, into),
        2 => parts::<2>(elements, step, offset, into),
        4 => parts::<4>(elements, step, offset, into),
        8 => parts::<8>(elements, step, offset, into),
        _ => {
            for (element, out) in elements.chunks_exact(step).zip(into.chunks_exact_mut(size.max(1))) {
                if let Some(part) = element.get(offset..bound::sum(offset, size)) {
                    out.copy_from_slice(part);
                }
            }
        }
    }
    Ok(rest)
}

fn parts<const N: usize>(elements: &[u8], step: usize, offset: usize, out: &mut [u8]) {
    let (out, _) = out.as_chunks_mut::<N>();
    for (element, out) in elements.chunks_exact(step).zip(out) {
        if let Some(part) = element.get(offset..).and_then(<[u8]>::first_chunk::<N>) {
            *out = *part;
        }
    }
}
