//! The chunks of the frame that is being written. They are collected in memory, or written at once.

use std::borrow::Cow;

use sciformats_core::arith::{add, fit, increase, present, sub};
use sciformats_core::endian::ByteOrder;
use sciformats_core::{Error, ReadAt, Result, WriteAt, bound};

use super::Writer;
use crate::spec::{IndexEntry, name_list};
use crate::{Element, ElementType, Region};

impl Writer {
    /// Reserves a chunk of `n` rows and `m` columns in the current frame for other threads, or for processes that call
    /// [`RegionWriter::open`](crate::RegionWriter::open). All of them must be done before the frame is committed.
    ///
    /// ```
    /// use gsd_rs::{Reader, RegionWriter, Writer};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("walk.gsd");
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// let mut writer = Writer::create(&path, &options)?;
    /// let region = writer.reserve::<f32>("mass", 2, 1)?;
    /// RegionWriter::open(&path, region)?.write(0, &[1.0f32, 16.0])?; // in as many processes as there are
    /// writer.end_frame()?;
    /// writer.finish()?;
    /// assert_eq!(Reader::open(&path)?.find(0, "mass")?.map(|chunk| chunk.n), Some(2));
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    pub fn reserve<T: Element>(&mut self, name: &str, n: u64, m: u32) -> Result<Region> {
        let size = self.checked_size(name, T::TYPE, n, m)?;
        self.drain()?;
        let location = self.place(T::TYPE)?;
        let end = location.checked_add(size).ok_or_else(too_long)?;
        self.session.extend_to(end)?;
        self.record(name, T::TYPE, (n, m), location)?;
        self.buffer_at = end;
        Ok(Region { location, n, m, element: T::TYPE })
    }
}

impl<S: ReadAt + WriteAt> Writer<S> {
    /// Writes an N×M chunk to the current frame; `values` are given row by row, with `columns` values per row.
    ///
    /// ```
    /// use gsd_rs::Reader;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write("step", 1, &[1000u64])?;
    /// writer.write("position", 3, &[0.5f32; 30])?; // 10 rows of 3
    /// assert!(writer.write("velocity", 3, &[0.5f32; 31]).is_err());
    /// writer.end_frame()?;
    /// let reader = Reader::from_bytes(writer.into_bytes()?)?;
    /// assert_eq!(reader.find(0, "position")?.map(|chunk| (chunk.n, chunk.m)), Some((10, 3)));
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if the values are not whole rows, if `columns` is 0, or if the name is empty, contains a NUL or is
    /// already used in this frame; [`Error::LimitExceeded`] for the 65,536th name; `Io`.
    pub fn write<T: Element>(&mut self, name: &str, columns: u32, values: &[T]) -> Result<()> {
        let width = columns as usize;
        let rows = match values.len().checked_rem(width) {
            Some(0) => values.len() / width,
            Some(_) => return Err(no_whole_rows(values.len(), columns)),
            None => return Err(Error::usage("columns", "must not be 0")),
        };
        let mut bytes = Cow::Borrowed(bytemuck::cast_slice(values));
        if ByteOrder::NATIVE != ByteOrder::Little {
            ByteOrder::NATIVE.convert(ByteOrder::Little, bytes.to_mut(), size_of::<T>());
        }
        self.put(name, T::TYPE, (rows as u64, columns), &bytes)
    }

    /// Writes text as a chunk of characters, one per row.
    ///
    /// ```
    /// use gsd_rs::Reader;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write_text("note", "heated to 350 K")?;
    /// writer.end_frame()?;
    /// let reader = Reader::from_bytes(writer.into_bytes()?)?;
    /// assert_eq!(reader.find(0, "note")?.map(|chunk| chunk.n), Some(15));
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`write`](Self::write); [`Error::Usage`] in a file of a layer before 2.0.
    pub fn write_text(&mut self, name: &str, text: &str) -> Result<()> {
        self.put(name, ElementType::Character, (text.len() as u64, 1), text.as_bytes())
    }

    /// Writes a chunk of any type; `bytes` are those of the file: little-endian, row by row.
    ///
    /// ```
    /// use gsd_rs::{ElementType, Error, Reader};
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write_bytes("counts", ElementType::U16, 1, &[1, 0, 0x2c, 1])?;
    /// writer.end_frame()?;
    /// # let reader = Reader::from_bytes(writer.into_bytes()?)?;
    /// let chunk = reader.find(0, "counts")?.ok_or(Error::not_found("chunk", "counts"))?;
    /// assert_eq!(*reader.read::<u16>(&chunk)?, [1, 300]);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`write`](Self::write); [`Error::Usage`] if the type is unknown.
    pub fn write_bytes(
        &mut self,
        name: &str,
        element: ElementType,
        columns: u32,
        bytes: &[u8],
    ) -> Result<()> {
        let row = element.size().and_then(|size| usize::try_from(columns).ok()?.checked_mul(size));
        let rows =
            match row.and_then(|row| Some((bytes.len().checked_rem(row)?, bytes.len().checked_div(row)?))) {
                Some((0, rows)) => rows as u64,
                Some(_) => return Err(no_whole_rows(bytes.len(), columns)),
                None => 0,
            };
        self.put(name, element, (rows, columns), bytes)
    }

    fn put(&mut self, name: &str, element: ElementType, shape: (u64, u32), bytes: &[u8]) -> Result<()> {
        self.checked_size(name, element, shape.0, shape.1)?;
        if bound::sum(self.buffer.len(), bytes.len()) > self.buffer_size {
            self.drain()?;
        }
        let location = self.place(element)?;
        let end = location.checked_add(bytes.len() as u64).filter(|&end| i64::try_from(end).is_ok());
        let end = end.ok_or_else(too_long)?;
        if bytes.len() >= self.buffer_size {
            // The buffer was written, and contains at most the gap before this chunk.
            self.session.write_fresh(location, bytes)?;
            self.record(name, element, shape, location)?;
            self.buffer.clear();
            self.buffer_at = end;
        } else {
            self.record(name, element, shape, location)?;
            self.buffer.resize(fit(sub(location, self.buffer_at)?, "gap before a chunk")?, 0);
            self.buffer.extend(bytes);
        }
        Ok(())
    }

    /// Returns the size of a chunk if it may be written.
    fn checked_size(&self, name: &str, element: ElementType, n: u64, m: u32) -> Result<u64> {
        self.check_open()?;
        if m == 0 {
            return Err(Error::usage("columns", "must not be 0"));
        }
        if element == ElementType::Character && self.state.header.encoding() == name_list::Encoding::Slots {
            let problem =
                format!("character needs layer 2.1, but the file has layer {}", self.state.header.version);
            return Err(Error::usage("element type", problem));
        }
        let size = element.size().ok_or_else(|| Error::usage("element type", "is unknown"))?;
        let taken = self.names.ids(name.as_bytes()).iter().any(|id| self.present.contains(id));
        if taken {
            return Err(Error::usage("chunk name", format!("{name:?} is already in frame {}", self.frame)));
        }
        n.checked_mul(m.into()).and_then(|count| count.checked_mul(size as u64)).ok_or_else(too_long)
    }

    /// Returns the position of the next chunk. It is a multiple of the element size, so that elements of a mapped file can be
    /// borrowed.
    fn place(&self, element: ElementType) -> Result<u64> {
        let end = add(self.buffer_at, self.buffer.len() as u64)?;
        let size = present(element.size(), "size of an element")? as u64;
        end.checked_next_multiple_of(size).ok_or_else(too_long)
    }

    fn record(&mut self, name: &str, element: ElementType, (n, m): (u64, u32), location: u64) -> Result<()> {
        let location = i64::try_from(location).map_err(|_| too_long())?;
        let id = self.names.intern(name)?;
        self.present.insert(id);
        self.entries.push(IndexEntry { frame: self.frame, n, location, m, id, element });
        Ok(())
    }

    /// Writes the data that was collected.
    fn drain(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            self.session.write_fresh(self.buffer_at, &self.buffer)?;
            increase(&mut self.buffer_at, self.buffer.len() as u64)?;
            self.buffer.clear();
        }
        Ok(())
    }
}

fn no_whole_rows(values: usize, columns: u32) -> Error {
    Error::usage(
        "values",
        format!("are {values} in number, which is not a multiple of the {columns} columns"),
    )
}

fn too_long() -> Error {
    Error::usage("chunk", "would end beyond 2^63 bytes")
}
