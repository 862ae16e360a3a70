//! Whether a file is complete, and what its bytes are used for.

use sciformats_core::arith::sub;
use sciformats_core::{Result, bound};

use super::Reader;
use crate::Header;
use crate::spec::IndexEntry;

impl Reader {
    /// Checks that the header, the index and the names have no bytes in common, and every entry of the index: that it is in order,
    /// that its name exists, and that its data is inside the file.
    ///
    /// ```no_run
    /// let reader = gsd_rs::Reader::open("trajectory.gsd")?;
    /// if let Err(error) = reader.verify() {
    ///     println!("do not trust it: {error}"); // names the field and its offset
    /// }
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first fault that is found.
    pub fn verify(&self) -> Result<()> {
        self.header().check_apart()?;
        self.all_chunks()
            .try_for_each(|chunk| chunk.and_then(|c| c.range(&(0..c.n), self.storage.size())).map(drop))
    }

    /// Returns the original length of a file that was cut short, which is the case if its index refers to data after its end.
    /// Reads every entry of the index. If the sizes of all chunks do not account for the length, it follows from a damaged entry
    /// and does not count.
    ///
    /// ```
    /// use gsd_rs::Reader;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write("position", 3, &[0.5f32; 3000])?;
    /// writer.end_frame()?;
    /// let mut bytes = writer.into_bytes()?;
    /// let whole = bytes.len();
    /// bytes.truncate(whole - 1000);
    /// assert_eq!(Reader::from_bytes(bytes)?.cut_short(), Some(whole as u64));
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    pub fn cut_short(&self) -> Option<u64> {
        let Header { index, names, .. } = self.header();
        let index = index.allocated.checked_mul(IndexEntry::SIZE as u64)?;
        let names = names.allocated.checked_mul(crate::spec::name_list::UNIT)?;
        let (mut data, mut end) = (0u64, 0);
        for chunk in self.all_chunks().flatten() {
            let Ok(range) = chunk.range(&(0..chunk.n), u64::MAX) else { continue };
            data = data.checked_add(range.end.checked_sub(range.start)?)?;
            end = range.end.max(end);
        }
        // Blocks that became too small are at most as large as the blocks that replaced them.
        let most = data.checked_add(index.checked_add(names)?.checked_mul(2)?)?.checked_add(4096)?;
        (end > self.storage.size() && end <= most.checked_mul(2)?).then_some(end)
    }

    /// Returns what the bytes of the file are used for. Reads every entry of the index.
    ///
    /// ```
    /// use gsd_rs::Reader;
    ///
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = gsd_rs::Writer::create_in(Vec::new(), &options)?;
    /// writer.write("position", 3, &[0.5f32; 30])?;
    /// writer.end_frame()?;
    /// # let reader = Reader::from_bytes(writer.into_bytes()?)?;
    /// let space = reader.space()?;
    /// assert_eq!(space.data, 120);
    /// assert!(space.file >= 256 + space.index + space.names + space.data);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`verify`](Self::verify).
    pub fn space(&self) -> Result<Space> {
        let mut data = 0u64;
        for chunk in self.all_chunks() {
            let chunk = chunk?;
            let range = chunk.range(&(0..chunk.n), self.storage.size())?;
            data = bound::sum(data, sub(range.end, range.start)?);
        }
        let Header { index, names, .. } = self.header();
        let index = bound::product(index.allocated, IndexEntry::SIZE as u64);
        let names = bound::product(names.allocated, crate::spec::name_list::UNIT);
        Ok(Space { file: self.storage.size(), index, names, data })
    }
}

/// What the bytes of a file are used for.
///
/// ```no_run
/// let space = gsd_rs::Reader::open("trajectory.gsd")?.space()?;
/// println!("{} of {} bytes are data, {} are in no use", space.data, space.file, space.unused());
/// # Ok::<(), gsd_rs::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// The size of the file.
    pub file: u64,
    /// The size of the index block, including unused entries.
    pub index: u64,
    /// The size of the name list block, including its unused space.
    pub names: u64,
    /// The size of the data of all chunks.
    pub data: u64,
}

impl Space {
    /// Returns the number of bytes that are not used: blocks that became too small, data of frames that were never finished, and
    /// gaps.
    pub fn unused(&self) -> u64 {
        let used = [256, self.index, self.names, self.data];
        used.iter().fold(self.file, |rest, part| bound::left(rest, *part))
    }
}
