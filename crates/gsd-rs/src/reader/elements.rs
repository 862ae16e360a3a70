//! Reading the elements, bytes and texts of chunks.

use std::borrow::Cow;
use std::ops::Range;

use sciformats_core::endian::ByteOrder;
use sciformats_core::number::{Number, not_stored_as};
use sciformats_core::storage::{machine_threads, read_into_threads, zeroed};
use sciformats_core::{Conversion, Error, Misfit, Result};

use super::Reader;
use crate::chunk::size_of_range;
use crate::element::number;
use crate::{Chunk, ElementType};

impl Reader {
    /// Returns the same reader with other rules for the conversion of elements to a type.
    ///
    /// ```
    /// use gsd_rs::{Conversion, Error, Reader};
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write("counts", 1, &[20u16, 300])?;
    /// writer.end_frame()?;
    /// # let bytes = writer.into_bytes()?;
    /// let read = |conversion, wanted: fn(&Reader, &gsd_rs::Chunk<'_>) -> Result<Vec<u8>, Error>| {
    ///     let reader = Reader::from_bytes(bytes.clone())?.with_conversion(conversion);
    ///     let chunk = reader.find(0, "counts")?.ok_or(Error::not_found("chunk", "counts"))?;
    ///     wanted(&reader, &chunk)
    /// };
    /// let narrow = |reader: &Reader, chunk: &gsd_rs::Chunk<'_>| Ok(reader.read::<u8>(chunk)?.into_owned());
    /// assert!(matches!(read(Conversion::Exact, narrow), Err(Error::Misfit(misfit)) if misfit.index == 1));
    /// assert_eq!(read(Conversion::Lossy, narrow)?, [20, 255]);
    /// assert!(matches!(read(Conversion::None, narrow), Err(Error::Usage { .. }))); // these are u16
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn with_conversion(self, conversion: Conversion) -> Self {
        Self { conversion, ..self }
    }

    /// Returns the elements of a chunk, row by row. They are converted if no value changes: 300 can be read as `f32`, but not as
    /// `u8`. They are borrowed from a mapped file if they are aligned, and copied otherwise.
    ///
    /// ```
    /// use gsd_rs::{Error, Reader};
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write("temperature", 1, &[20.5f32, 20.6])?;
    /// writer.end_frame()?;
    /// # let reader = Reader::from_bytes(writer.into_bytes()?)?;
    /// let chunk = reader.find(0, "temperature")?.ok_or(Error::not_found("chunk", "temperature"))?;
    /// assert_eq!(*reader.read::<f32>(&chunk)?, [20.5, 20.6]);
    /// assert_eq!(reader.read::<f64>(&chunk)?[0], 20.5);
    /// assert!(reader.read::<i32>(&chunk).is_err()); // 20.5 is no integer
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Misfit`] with the first element that `T` cannot hold (text can be read as numbers, or by [`text`](Self::text));
    /// [`Error::Malformed`] if the data is outside the file; [`Error::Unsupported`] if the type is unknown; `Io`.
    pub fn read<T: Number>(&self, chunk: &Chunk<'_>) -> Result<Cow<'_, [T]>> {
        self.read_rows(chunk, 0..chunk.n)
    }

    /// Returns the elements of some rows of a chunk. No other rows are read.
    ///
    /// ```
    /// use gsd_rs::{Error, Reader};
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write("position", 3, &[0.0f64, 0.1, 0.2, 1.0, 1.1, 1.2, 2.0, 2.1, 2.2])?;
    /// writer.end_frame()?;
    /// # let reader = Reader::from_bytes(writer.into_bytes()?)?;
    /// let chunk = reader.find(0, "position")?.ok_or(Error::not_found("chunk", "position"))?;
    /// assert_eq!(*reader.read_rows::<f64>(&chunk, 1..2)?, [1.0, 1.1, 1.2]); // of the second particle
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read`](Self::read); [`Error::Usage`] if the rows are out of range.
    pub fn read_rows<T: Number>(&self, chunk: &Chunk<'_>, rows: Range<u64>) -> Result<Cow<'_, [T]>> {
        self.within(chunk.name, self.rows_of(chunk, rows))
    }

    fn rows_of<T: Number>(&self, chunk: &Chunk<'_>, rows: Range<u64>) -> Result<Cow<'_, [T]>> {
        let range = chunk.range(&rows, self.storage.size())?;
        let stored = number(chunk.element, T::STORED)
            .ok_or_else(|| not_stored_as(T::NAME, format!("{} in {:?}", chunk.element, chunk.name)))?;
        let size = size_of_range(&range)?;
        if T::STORED != Some(stored) {
            let bytes = self.storage.read_at(range.start, size)?;
            let mut elements = T::zeroed(size / stored.size())?;
            T::read(stored, ByteOrder::Little, &bytes, self.conversion, &mut elements)?;
            return Ok(Cow::Owned(elements));
        }
        if self.storage.as_slice().is_some() {
            let bytes = self.storage.read_at(range.start, size)?;
            if let Cow::Borrowed(bytes) = bytes
                && ByteOrder::NATIVE == ByteOrder::Little
                && let Some(elements) = T::view(bytes)
            {
                return Ok(Cow::Borrowed(elements));
            }
        }
        let mut elements = T::zeroed(size / stored.size())?;
        let bytes = T::bytes_mut(&mut elements).unwrap_or_default();
        read_into_threads(&*self.storage, range.start, bytes, machine_threads())?;
        ByteOrder::Little.convert(ByteOrder::NATIVE, bytes, size_of::<T>());
        Ok(Cow::Owned(elements))
    }

    /// Returns the bytes of some rows of a chunk as they are stored, which is little-endian.
    ///
    /// ```
    /// use gsd_rs::{Error, Reader};
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write("counts", 1, &[1u16, 2, 300])?;
    /// writer.end_frame()?;
    /// # let reader = Reader::from_bytes(writer.into_bytes()?)?;
    /// let chunk = reader.find(0, "counts")?.ok_or(Error::not_found("chunk", "counts"))?;
    /// assert_eq!(*reader.read_bytes(&chunk, 1..3)?, [2, 0, 0x2c, 1]);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read_rows`](Self::read_rows).
    pub fn read_bytes(&self, chunk: &Chunk<'_>, rows: Range<u64>) -> Result<Cow<'_, [u8]>> {
        self.within(chunk.name, self.bytes_of(chunk, rows))
    }

    fn bytes_of(&self, chunk: &Chunk<'_>, rows: Range<u64>) -> Result<Cow<'_, [u8]>> {
        let range = chunk.range(&rows, self.storage.size())?;
        let size = size_of_range(&range)?;
        if self.storage.as_slice().is_some() {
            return self.storage.read_at(range.start, size);
        }
        let mut bytes = zeroed(size)?;
        self.storage.read_into(range.start, &mut bytes)?;
        Ok(Cow::Owned(bytes))
    }

    /// Returns the text of a chunk of characters, or of bytes, as which older writers store text. Zeros at its end are removed.
    ///
    /// ```
    /// use gsd_rs::{Error, Reader};
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write_text("note", "heated to 350 K")?;
    /// writer.end_frame()?;
    /// # let reader = Reader::from_bytes(writer.into_bytes()?)?;
    /// let chunk = reader.find(0, "note")?.ok_or(Error::not_found("chunk", "note"))?;
    /// assert_eq!(reader.text(&chunk)?, "heated to 350 K");
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read`](Self::read); [`Error::Misfit`] with the first byte that is not UTF-8. The text counts as one element
    /// with the index 0.
    pub fn text(&self, chunk: &Chunk<'_>) -> Result<Cow<'_, str>> {
        self.within(chunk.name, self.text_of(chunk))
    }

    fn text_of(&self, chunk: &Chunk<'_>) -> Result<Cow<'_, str>> {
        if !matches!(chunk.element, ElementType::Character | ElementType::U8 | ElementType::I8) {
            return Err(Error::usage(
                "chunk",
                format!("{:?} contains elements of type {}, which are not text", chunk.name, chunk.element),
            ));
        }
        let misfit = |bytes: &[u8]| Error::Misfit(Misfit::text(0, bytes));
        match self.read_bytes(chunk, 0..chunk.n)? {
            Cow::Borrowed(bytes) => {
                let bytes = trim_zeros(bytes);
                std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| misfit(bytes))
            }
            Cow::Owned(mut bytes) => {
                bytes.truncate(trim_zeros(&bytes).len());
                String::from_utf8(bytes).map(Cow::Owned).map_err(|error| misfit(error.as_bytes()))
            }
        }
    }
}

fn trim_zeros(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    bytes.get(..end).unwrap_or_default()
}
