//! Chunks that several threads or processes fill.

use std::path::Path;

use sciformats_core::endian::ByteOrder;
use sciformats_core::storage::FileStorage;
use sciformats_core::{Error, Result, WriteAt};

use crate::{Element, ElementType};

/// The position of a reserved chunk, which the process that [reserved](crate::Writer::reserve) it passes to the others.
///
/// ```
/// use gsd_rs::{ElementType, Writer};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("walk.gsd");
/// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
/// let mut writer = Writer::create(&path, &options)?;
/// let region = writer.reserve::<f64>("position", 8, 3)?;
/// assert_eq!((region.n, region.m, region.element), (8, 3, ElementType::F64)); // to be sent to the others
/// # writer.discard_frame();
/// # Ok::<(), gsd_rs::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The byte offset of the data in the file.
    pub location: u64,
    /// The number of rows.
    pub n: u64,
    /// The number of columns.
    pub m: u32,
    /// The type of its elements.
    pub element: ElementType,
}

/// Fills rows of a reserved chunk. Each thread or process opens its own writer. They can work in any order; when all are done,
/// the process that reserved the chunk commits the frame.
///
/// ```
/// # fn main() -> gsd_rs::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = &dir.path().join("shared.gsd");
/// use gsd_rs::{CreateOptions, Reader, RegionWriter, Version, Writer};
///
/// let mut writer = Writer::create(path, &CreateOptions::new("docs", "none", Version::new(1, 0)))?;
/// let region = writer.reserve::<f64>("position", 8, 3)?;
/// std::thread::scope(|scope| {
///     for part in 0..4 {
///         scope.spawn(move || -> gsd_rs::Result<()> {
///             RegionWriter::open(path, region)?.write(2 * part, &[part as f64; 6])
///         });
///     }
/// });
/// writer.end_frame()?;
/// writer.finish()?;
///
/// let reader = Reader::open(path)?;
/// let chunk = reader.find(0, "position")?.expect("it was reserved");
/// assert_eq!(reader.read_rows::<f64>(&chunk, 5..6)?, [2.0; 3].as_slice());
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct RegionWriter {
    storage: FileStorage,
    region: Region,
}

impl RegionWriter {
    /// Opens the file in order to fill a region of it.
    ///
    /// ```
    /// use gsd_rs::{Reader, RegionWriter, Writer};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("walk.gsd");
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// let mut writer = Writer::create(&path, &options)?;
    /// let region = writer.reserve::<f32>("mass", 4, 1)?;
    /// RegionWriter::open(&path, region)?.write(0, &[1.0f32; 2])?; // one does its half
    /// RegionWriter::open(&path, region)?.write(2, &[16.0f32; 2])?; // another the other
    /// writer.end_frame()?;
    /// writer.finish()?;
    /// assert_eq!(Reader::open(&path)?.frames(), 1);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Io`.
    pub fn open(path: impl AsRef<Path>, region: Region) -> Result<Self> {
        Ok(Self { storage: FileStorage::edit(path)?, region })
    }

    /// Writes whole rows, beginning with `row`.
    ///
    /// ```
    /// use gsd_rs::{Error, Reader, RegionWriter, Writer};
    ///
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("walk.gsd");
    /// # let options = gsd_rs::CreateOptions::new("docs", "points", gsd_rs::Version::new(1, 0));
    /// # let mut writer = Writer::create(&path, &options)?;
    /// let region = writer.reserve::<f64>("position", 3, 2)?;
    /// let mut part = RegionWriter::open(&path, region)?;
    /// part.write(1, &[0.1f64, 0.2, 0.3, 0.4])?; // rows 1 and 2
    /// assert!(part.write(2, &[0.1f64, 0.2, 0.3, 0.4]).is_err()); // there is no row 3
    /// # writer.end_frame()?;
    /// # writer.finish()?;
    /// # let reader = Reader::open(&path)?;
    /// # let chunk = reader.find(0, "position")?.ok_or(Error::not_found("chunk", "position"))?;
    /// # assert_eq!(*reader.read::<f64>(&chunk)?, [0.0, 0.0, 0.1, 0.2, 0.3, 0.4]);
    /// # Ok::<(), gsd_rs::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if `T` is not the type of the region, or if the values are not whole rows or do not fit the region; `Io`.
    pub fn write<T: Element>(&mut self, row: u64, values: &[T]) -> Result<()> {
        let Region { location, n, m, element } = self.region;
        if T::TYPE != element {
            return Err(Error::usage(
                "element type",
                format!("is {}, but the elements of the region are {element}", T::TYPE),
            ));
        }
        let count = values.len() as u64;
        let rows = match (count.checked_rem(m.into()), count.checked_div(m.into())) {
            (Some(0), Some(rows)) => rows,
            _ => {
                return Err(Error::usage(
                    "values",
                    format!("are {count} in number, which is not a multiple of the {m} columns"),
                ));
            }
        };
        if row.checked_add(rows).is_none_or(|end| end > n) {
            return Err(Error::usage(
                "rows",
                format!("{rows} from row {row} on do not fit the {n} rows of the region"),
            ));
        }
        let offset = row
            .checked_mul(m.into())
            .and_then(|elements| elements.checked_mul(size_of::<T>() as u64)?.checked_add(location));
        let offset = offset.ok_or_else(|| Error::usage("region", "extends beyond 2^64 bytes"))?;
        if ByteOrder::NATIVE == ByteOrder::Little {
            return self.storage.write_at(offset, bytemuck::cast_slice(values));
        }
        let mut bytes: Vec<u8> = bytemuck::cast_slice(values).to_vec();
        ByteOrder::NATIVE.convert(ByteOrder::Little, &mut bytes, size_of::<T>());
        self.storage.write_at(offset, &bytes)
    }

    /// Waits until the rows that were written here are durable. This is only necessary if the process that commits runs on
    /// another machine, because its own sync includes all writers on its machine.
    ///
    /// ```no_run
    /// use gsd_rs::{Region, RegionWriter, Result};
    ///
    /// /// What a process on another machine does with the region that it was told.
    /// fn fill(region: Region, first_row: u64, positions: &[f64]) -> Result<()> {
    ///     let mut part = RegionWriter::open("/shared/trajectory.gsd", region)?;
    ///     part.write(first_row, positions)?;
    ///     part.sync()
    /// }
    /// ```
    ///
    /// # Errors
    /// `Io`.
    pub fn sync(&mut self) -> Result<()> {
        self.storage.sync()
    }
}
