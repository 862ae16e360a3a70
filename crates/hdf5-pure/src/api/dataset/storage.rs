//! How the elements of a dataset are stored: its layout, filters and fill value, and other files and datasets.

use sciformats_core::Result;

use super::Dataset;
use crate::dataset::external;
use crate::dataset::virtual_layout::{self, Nesting};
use crate::object::header::Object;
use crate::object::shared;
use crate::spec::message::MessageType;
use crate::spec::message::fill_value::{Fill, FillValue};
use crate::spec::message::filter_pipeline::Pipeline;
use crate::spec::message::layout::Layout;
use crate::spec::virtual_mapping::Mapping;
use crate::spec::{Address, Name};
use crate::value::canonical::Canonical;

impl Dataset {
    /// Returns where and how the elements are stored.
    ///
    /// ```
    /// use hdf5_pure::structure::Layout;
    ///
    /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
    /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
    /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
    /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
    /// # let temperature = file.dataset("surface/temperature")?;
    /// assert!(matches!(temperature.layout()?, Layout::Contiguous { address: Some(_) }));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if the messages that describe the storage are damaged.
    pub fn layout(&self) -> Result<&Layout> {
        self.within(self.content.storage().map(|storage| &storage.layout))
    }

    /// Returns the filters of the chunks.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").chunks([100]).shuffle().lzf().write(&[7u16; 1000])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// let numbers: Vec<u16> = file.dataset("counts")?.filters()?.filters.iter().map(|filter| filter.id).collect();
    /// assert_eq!(numbers, [2, 32000]); // shuffle, LZF
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if the messages that describe the storage are damaged.
    pub fn filters(&self) -> Result<&Pipeline> {
        self.within(self.content.storage().map(|storage| &storage.pipeline))
    }

    /// Returns the value of elements that were never written.
    ///
    /// ```
    /// use hdf5_pure::structure::Fill;
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").shape([4]).fill(-1i16).create::<i16>()?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("counts")?.fill_value()?.value, Fill::Value(vec![255, 255]));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if the messages that describe the storage are damaged.
    pub fn fill_value(&self) -> Result<&FillValue> {
        self.within(self.content.storage().map(|storage| &storage.fill))
    }

    /// Returns the address of the dataset's datatype if that is a committed datatype.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let kelvin = file.root().commit("kelvin", &Datatype::float32())?;
    /// file.dataset("temperature").committed(kelvin).shape([2]).create_encoded()?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert!(file.dataset("temperature")?.committed()?.is_some());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if the object header cannot be read.
    pub fn committed(&self) -> Result<Option<Address>> {
        let context = &self.file.opened().context;
        let object = Object::read(context, self.address())?;
        let message = object.find(MessageType::Datatype).filter(|message| message.is_shared());
        message.map_or(Ok(None), |message| shared::committed(context, message.offset, object.body(message)))
    }

    /// Returns the external files that hold the elements one after another. Each item has the name of the file, the
    /// offset of the first byte in it, and the number of bytes it holds; `None` means all remaining bytes. The list is
    /// empty if the dataset stores its elements in this file.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("frames").shape([8]).external([("frames.raw", 0, Some(8))]).create::<u8>()?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("frames")?.external_files()?, [("frames.raw".into(), 0, Some(8))]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if the list of external files is damaged.
    pub fn external_files(&self) -> Result<Vec<(Name, u64, Option<u64>)>> {
        match &self.content.storage()?.external {
            Some(files) => external::list(&self.file.opened().context, files),
            None => Ok(Vec::new()),
        }
    }

    /// Returns the value of elements that were never written, in the form that [`canonical`](crate::value::canonical)
    /// describes, or `None` if the file does not store one.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let counts = file.dataset("counts").datatype(Datatype::unsigned(2).big_endian()).shape([4]);
    /// counts.fill(7u16).create_encoded()?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("counts")?.fill_canonical()?, Some(vec![7, 0]));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if the fill value, or the data it refers to, cannot be read.
    pub fn fill_canonical(&self) -> Result<Option<Vec<u8>>> {
        match &self.fill_value()?.value {
            Fill::Value(raw) => {
                let convert = Canonical::new(self.file.opened(), &self.content.datatype)?;
                convert.convert(raw.clone(), self.data_offset()).map(Some)
            }
            Fill::Default | Fill::Undefined => Ok(None),
        }
    }

    /// Returns the mappings of a virtual dataset, which tell where its elements come from. The list is empty for other
    /// datasets.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Slab, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let all = Slab::all(&[24])?;
    /// file.dataset("week").shape([24]).map("monday.h5", "/temperature", &all, &all).create::<f32>()?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("week")?.mappings()?[0].file.to_text(), "monday.h5");
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed` if the mappings are damaged.
    pub fn mappings(&self) -> Result<Vec<Mapping>> {
        match *self.layout()? {
            Layout::Virtual(id) => virtual_layout::mappings(self.file.opened(), id),
            _ => Ok(Vec::new()),
        }
    }

    /// Checks that the other files and datasets that hold the elements of this dataset exist and may be opened. No elements are
    /// read.
    ///
    /// ```
    /// use hdf5_pure::options::MissingSources;
    /// use hdf5_pure::{CreateOptions, File, OpenOptions, Slab, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("monday").write(&[1.0f32; 24])?;
    /// let all = Slab::all(&[24])?;
    /// file.dataset("week").shape([24]).map(".", "/monday", &all, &all).create::<f32>()?;
    /// file.dataset("year").shape([24]).map(".", "/tuesday", &all, &all).create::<f32>()?;
    /// let options = OpenOptions::default().with_missing(MissingSources::Refused);
    /// let file = File::from_storage(file.into_bytes()?, &options)?;
    /// assert!(file.dataset("week")?.check_elsewhere().is_ok());
    /// assert!(file.dataset("year")?.check_elsewhere().is_err());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Missing`](crate::Error::Missing) if one of them does not exist and
    /// [`MissingSources::Refused`](crate::options::MissingSources::Refused) is set, and
    /// [`Error::Forbidden`](crate::Error::Forbidden) if one may not be opened.
    pub fn check_elsewhere(&self) -> Result<()> {
        external::reach(self.file.opened(), &self.content)?;
        virtual_layout::reach(self.file.opened(), &self.content, &Nesting::default())
    }
}
