//! Which chunks exist: those of a frame, those with a name, or all of them.

use sciformats_core::Result;

use super::Reader;
use crate::Chunk;
use crate::spec::IndexEntry;

impl Reader {
    /// Returns the chunks of a frame in the order of the index: since layer 2.0 sorted by id, before that in the order of
    /// writing.
    ///
    /// ```
    /// use gsd_rs::Reader;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write("step", 1, &[1000u64])?;
    /// writer.write("position", 3, &[0.5f32; 30])?;
    /// writer.end_frame()?;
    /// # let reader = Reader::from_bytes(writer.into_bytes()?)?;
    /// let mut shapes = Vec::new();
    /// for chunk in reader.chunks(0) {
    ///     let chunk = chunk?;
    ///     shapes.push((chunk.name, chunk.n, chunk.m));
    /// }
    /// assert_eq!(shapes, [("step", 1, 1), ("position", 10, 3)]);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    pub fn chunks(&self, frame: u64) -> impl Iterator<Item = Result<Chunk<'_>>> {
        let (entries, error) =
            match self.opened.index.of_frame(&*self.storage, frame, self.opened.near(frame)) {
                Ok(entries) => (Some(entries), None),
                Err(error) => (None, Some(Err(error))),
            };
        let chunks = entries.into_iter().flatten();
        chunks.map(|item| item.and_then(|(position, entry)| self.chunk(position, &entry))).chain(error)
    }

    /// Returns all chunks of all frames, in the order of the index.
    ///
    /// ```
    /// use gsd_rs::Reader;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// for step in 0..3u64 {
    ///     writer.write("step", 1, &[step])?;
    ///     writer.end_frame()?;
    /// }
    /// # let reader = Reader::from_bytes(writer.into_bytes()?)?;
    /// let mut bytes = 0;
    /// for chunk in reader.all_chunks() {
    ///     bytes += chunk?.size().unwrap_or(0);
    /// }
    /// assert_eq!(bytes, 24);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    pub fn all_chunks(&self) -> impl Iterator<Item = Result<Chunk<'_>>> {
        let index = self.opened.index;
        let entries = index.entries(&*self.storage, 0..index.used);
        entries.map(|item| item.and_then(|(position, entry)| self.chunk(position, &entry)))
    }

    /// Returns the chunks with this name in all frames.
    ///
    /// ```
    /// use gsd_rs::Reader;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// for step in 0..100u64 {
    ///     writer.write("step", 1, &[step])?;
    ///     if step % 50 == 0 {
    ///         writer.write("velocity", 3, &[0.5f32; 30])?;
    ///     }
    ///     writer.end_frame()?;
    /// }
    /// # let reader = Reader::from_bytes(writer.into_bytes()?)?;
    /// let frames: Result<Vec<u64>, _> = reader.history("velocity").map(|chunk| chunk.map(|c| c.frame)).collect();
    /// assert_eq!(frames?, [0, 50]);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    pub fn history(&self, name: &str) -> impl Iterator<Item = Result<Chunk<'_>>> {
        let ids = self.opened.names.ids(name.as_bytes());
        let index = self.opened.index;
        let end = if ids.is_empty() { 0 } else { index.used };
        index
            .entries(&*self.storage, 0..end)
            .filter(move |item| !item.as_ref().is_ok_and(|(_, entry)| !ids.contains(&entry.id)))
            .map(|item| item.and_then(|(position, entry)| self.chunk(position, &entry)))
    }

    /// Returns the chunk with this name in a frame, or `None` if the frame has no such chunk. The time grows with the logarithm
    /// of the number of entries (before layer 2.0, also with the number of chunks of the frame).
    ///
    /// ```
    /// use gsd_rs::Reader;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write("position", 3, &[0.5f32; 30])?;
    /// writer.end_frame()?;
    /// # let reader = Reader::from_bytes(writer.into_bytes()?)?;
    /// if let Some(chunk) = reader.find(0, "position")? {
    ///     assert_eq!(reader.read::<f32>(&chunk)?.len(), 30);
    /// }
    /// assert_eq!(reader.find(0, "velocity")?, None);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) if an entry that is read during the search is damaged or out of order.
    pub fn find(&self, frame: u64, name: &str) -> Result<Option<Chunk<'_>>> {
        let ids = self.opened.names.ids(name.as_bytes());
        if ids.is_empty() || frame >= self.opened.frames {
            return Ok(None);
        }
        let found = self.opened.index.find(&*self.storage, frame, ids, self.opened.near(frame))?;
        found.map(|(position, entry)| self.chunk(position, &entry)).transpose()
    }

    pub(crate) fn file_size(&self) -> u64 {
        self.storage.size()
    }

    fn chunk(&self, position: u64, entry: &IndexEntry) -> Result<Chunk<'_>> {
        let name = self.name(entry.id).map(String::from_utf8_lossy).unwrap_or_default();
        self.within(&name, Chunk::new(&self.opened, position, entry))
    }
}
