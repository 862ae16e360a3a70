//! Filters of new datasets, with the client data values that the C library gives them.

mod client_data;
mod request;
mod settings;

pub(super) use client_data::Filtered;
pub use settings::{BloscCodec, BloscShuffle, SzipCoding};

use client_data::Factor;
use request::Request;

use crate::spec::message::filter_pipeline::{FilterDescription, Pipeline};

/// The levels of zstd. The levels 0 and 3 both mean its default.
const ZSTD_LEVELS: [i64; 2] = [-131_072, 22];

/// The filters of a dataset, in the order in which they are applied.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer};
/// use hdf5_pure::filters::Filters;
///
/// let filters = Filters::new().shuffle().lzf().fletcher32();
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// file.dataset("counts").chunks([1000]).filters(filters).write(&[7u32; 10_000])?;
/// let bytes = file.into_bytes()?;
/// assert!(bytes.len() < 4000);
/// assert_eq!(File::from_bytes(bytes)?.dataset("counts")?.read::<u32>()?, [7; 10_000]);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Filters {
    requests: Vec<Request>,
    /// The first setting that a filter does not support: the argument, and what is wrong with it.
    wrong: Option<(&'static str, String)>,
}

impl Filters {
    /// Creates an empty list of filters.
    pub fn new() -> Self {
        Self::default()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    fn with(mut self, request: Request) -> Self {
        self.requests.push(request);
        self
    }

    /// Remembers a level that the compressor does not support.
    fn level(mut self, filter: &'static str, level: impl Into<i64>, [lowest, highest]: [i64; 2]) -> Self {
        let level = level.into();
        if level < lowest || level > highest {
            let problem = format!("level is {level}, but it must be between {lowest} and {highest}");
            self.wrong.get_or_insert((filter, problem));
        }
        self
    }

    fn known(self, id: u16, optional: bool, values: Vec<u32>) -> Self {
        self.with(Request::Custom(FilterDescription { id, name: None, optional, values }))
    }

    /// Adds the shuffle filter: the first bytes of all elements come first, then their second bytes, and so on. Put it
    /// before a compressor.
    #[must_use]
    pub fn shuffle(self) -> Self {
        self.with(Request::Shuffle)
    }

    /// Adds deflate at a `level` of 0 to 9. As with every filter, the call that creates the dataset reports another
    /// level as an error.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::filters::Filters;
    ///
    /// # #[cfg(feature = "deflate")] {
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").chunks([1000]).filters(Filters::new().shuffle().deflate(9)).write(&[7u32; 1000])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("counts")?.read::<u32>()?, [7; 1000]);
    /// # }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn deflate(self, level: u32) -> Self {
        self.level("deflate", level, [0, 9]).known(1, true, vec![level])
    }

    /// Adds a Fletcher-32 checksum of the bytes that come out of the filters before it.
    #[must_use]
    pub fn fletcher32(self) -> Self {
        self.known(3, false, Vec::new())
    }

    /// Adds LZF, the compressor that comes with h5py.
    #[must_use]
    pub fn lzf(self) -> Self {
        self.with(Request::Lzf)
    }

    /// Adds bzip2. The `level` is 1 to 9, and the block size is `level` times 100 kB.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::filters::Filters;
    ///
    /// # #[cfg(feature = "bzip2")] {
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").chunks([1000]).filters(Filters::new().bzip2(9)).write(&[7u32; 1000])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("counts")?.read::<u32>()?, [7; 1000]);
    /// # }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn bzip2(self, level: u32) -> Self {
        self.level("bzip2", level, [1, 9]).known(307, true, vec![level])
    }

    /// Adds LZ4.
    #[must_use]
    pub fn lz4(self) -> Self {
        self.known(32004, true, Vec::new())
    }

    /// Adds Zstandard.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::filters::Filters;
    ///
    /// # #[cfg(feature = "zstd")] {
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").chunks([1000]).filters(Filters::new().shuffle().zstd(3)).write(&[7u32; 1000])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("counts")?.read::<u32>()?, [7; 1000]);
    /// # }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn zstd(self, level: i32) -> Self {
        self.level("zstd", level, ZSTD_LEVELS).known(32015, true, vec![level.cast_unsigned()])
    }

    /// Adds the bitshuffle filter: the first bits of all elements come first, then their second bits, and so on. Put it
    /// before a compressor.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::filters::Filters;
    ///
    /// let counts: Vec<u32> = (0..1000).map(|i| i % 100).collect();
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").chunks([1000]).filters(Filters::new().bitshuffle().lzf()).write(&counts)?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("counts")?.read::<u32>()?, counts);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn bitshuffle(self) -> Self {
        self.with(Request::Bitshuffle { codec: 0, level: None })
    }

    /// Adds [`bitshuffle`](Self::bitshuffle) and LZ4 as one filter.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::filters::Filters;
    ///
    /// # #[cfg(feature = "lz4")] {
    /// let frame: Vec<u16> = (0..4096).map(|i| 500 + i % 7).collect(); // as detectors write them
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let frames = file.dataset("frames").shape([1, 64, 64]).chunks([1, 64, 64]);
    /// frames.filters(Filters::new().bitshuffle_lz4()).write(&frame)?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("frames")?.read::<u16>()?, frame);
    /// # }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn bitshuffle_lz4(self) -> Self {
        self.with(Request::Bitshuffle { codec: 2, level: None })
    }

    /// Adds [`bitshuffle`](Self::bitshuffle) and Zstandard as one filter.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::filters::Filters;
    ///
    /// # #[cfg(feature = "zstd")] {
    /// let frame: Vec<u16> = (0..4096).map(|i| 500 + i % 7).collect(); // as detectors write them
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let frames = file.dataset("frames").shape([1, 64, 64]).chunks([1, 64, 64]);
    /// frames.filters(Filters::new().bitshuffle_zstd(3)).write(&frame)?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("frames")?.read::<u16>()?, frame);
    /// # }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn bitshuffle_zstd(self, level: i32) -> Self {
        let checked = self.level("zstd", level, ZSTD_LEVELS);
        checked.with(Request::Bitshuffle { codec: 3, level: Some(level) })
    }

    /// Adds Blosc at a `level` of 0 to 9. Writing needs the feature `blosc2`.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::filters::{BloscCodec, BloscShuffle, Filters};
    ///
    /// # #[cfg(feature = "blosc2")] {
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let filters = Filters::new().blosc(BloscCodec::BloscLz, 5, BloscShuffle::Bytes);
    /// file.dataset("temperature").chunks([1000]).filters(filters).write(&[281.5; 3000])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("temperature")?.read::<f64>()?, [281.5; 3000]);
    /// # }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn blosc(self, codec: BloscCodec, level: u8, shuffle: BloscShuffle) -> Self {
        self.level("blosc", level, [0, 9]).with(Request::Blosc { id: 32001, codec, level, shuffle })
    }

    /// Adds Blosc2 at a `level` of 0 to 9. Writing needs the feature `blosc2`.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::filters::{BloscCodec, BloscShuffle, Filters};
    ///
    /// # #[cfg(feature = "blosc2")] {
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let filters = Filters::new().blosc2(BloscCodec::Lz4, 5, BloscShuffle::Bytes);
    /// file.dataset("temperature").chunks([1000]).filters(filters).write(&[281.5; 3000])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("temperature")?.read::<f64>()?, [281.5; 3000]);
    /// # }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn blosc2(self, codec: BloscCodec, level: u8, shuffle: BloscShuffle) -> Self {
        self.level("blosc2", level, [0, 9]).with(Request::Blosc { id: 32026, codec, level, shuffle })
    }

    /// Adds szip, which is extended Rice coding. A block has `block` elements, an even number of at most 32.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::filters::{Filters, SzipCoding};
    ///
    /// let counts: Vec<u16> = (0..1000).map(|i| 500 + i % 7).collect();
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").chunks([500]).filters(Filters::new().szip(SzipCoding::Differences, 16)).write(&counts)?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("counts")?.read::<u16>()?, counts);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn szip(self, coding: SzipCoding, block: u32) -> Self {
        self.with(Request::Szip { coding, block })
    }

    /// Adds the N-bit filter, which stores only the significant bits of each element; see
    /// [`Datatype::with_precision`](crate::Datatype::with_precision).
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    /// use hdf5_pure::filters::Filters;
    ///
    /// let twelve_bits = Datatype::unsigned(2).with_precision(12, 0)?; // of a camera
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let image = file.dataset("image").datatype(twelve_bits).chunks([1000]).filters(Filters::new().n_bit());
    /// image.write(&[4095u16; 1000])?;
    /// let image = File::from_bytes(file.into_bytes()?)?.dataset("image")?;
    /// assert_eq!(image.read::<u16>()?, [4095; 1000]);
    /// assert!(image.chunks()?.into_iter().flatten().all(|chunk| chunk.size < 1600));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn n_bit(self) -> Self {
        self.with(Request::NBit)
    }

    /// Adds the scale-offset filter for integers, which stores their differences from the smallest value of the chunk
    /// in as few bits as possible.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::filters::Filters;
    ///
    /// let seconds: Vec<i64> = (1_700_000_000..1_700_001_000).collect();
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("time").chunks([1000]).filters(Filters::new().scale_offset()).write(&seconds)?;
    /// let time = File::from_bytes(file.into_bytes()?)?.dataset("time")?;
    /// assert_eq!(time.read::<i64>()?, seconds);
    /// assert!(time.chunks()?.into_iter().flatten().all(|chunk| chunk.size < 1400)); // ten bits each
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn scale_offset(self) -> Self {
        self.with(Request::ScaleOffset { factor: Factor::Bits(0) })
    }

    /// Adds the scale-offset filter for integers, which stores `bits` bits of each, or as many as are needed if `bits` is 0. Chunks whose
    /// integers need more bits get them, so that no integer is changed.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::filters::Filters;
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("a").chunks([4]).filters(Filters::new().scale_offset_bits(2)).write(&[1i32, 2, 1000, 3])?;
    /// let found = File::from_bytes(file.into_bytes()?)?.dataset("a")?;
    /// assert_eq!(found.filters()?.filters[0].values[1], 2);
    /// assert_eq!(found.read::<i32>()?, [1, 2, 1000, 3]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn scale_offset_bits(self, bits: u32) -> Self {
        self.with(Request::ScaleOffset { factor: Factor::Bits(bits) })
    }

    /// Adds the scale-offset filter for floating-point numbers, which are rounded to `decimals` decimal digits and
    /// stored as in [`scale_offset`](Self::scale_offset). The digits that are rounded off are lost.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::filters::Filters;
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let filters = Filters::new().scale_offset_decimals(1);
    /// file.dataset("temperature").chunks([4]).filters(filters).write(&[281.53, 282.0, 282.49, 280.0])?;
    /// let found = File::from_bytes(file.into_bytes()?)?.dataset("temperature")?.read::<f64>()?;
    /// assert!(found.iter().zip([281.5, 282.0, 282.5, 280.0]).all(|(a, b)| (a - b).abs() < 1e-9));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn scale_offset_decimals(self, decimals: i32) -> Self {
        self.with(Request::ScaleOffset { factor: Factor::Decimals(decimals) })
    }

    /// Adds a filter by its number and client data values: one that the [`Registry`](crate::filters::Registry) of the options
    /// holds, or one that this crate implements.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::filters::Filters;
    ///
    /// // Fletcher32, by its number.
    /// let filters = Filters::new().shuffle().custom(3, vec![]);
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").chunks([4]).filters(filters).write(&[1u16, 2, 3, 4])?;
    /// let counts = File::from_bytes(file.into_bytes()?)?.dataset("counts")?;
    /// assert_eq!(counts.filters()?.filters[1].id, 3);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn custom(self, id: u16, values: Vec<u32>) -> Self {
        self.with(Request::Asked(FilterDescription { id, name: None, optional: false, values }))
    }

    /// Adds a filter as [`custom`](Self::custom) does, but leaves it out if it cannot be applied to the elements or the chunks.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use hdf5_pure::filters::{Filter, Filters, Registry};
    /// use hdf5_pure::error::{Fault, FaultKind};
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    ///
    /// /// Leaves bytes as they are.
    /// struct Bytes;
    /// impl Filter for Bytes {
    ///     fn decode(&self, _: &[u32], input: &[u8], _: usize) -> Result<Vec<u8>, Fault> {
    ///         Ok(input.to_vec())
    ///     }
    ///     fn encode(&self, _: &[u32], input: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
    ///         Ok(Some(input.to_vec()))
    ///     }
    ///     fn configure(&self, values: &[u32], datatype: &Datatype, _: &[u64]) -> Result<Vec<u32>, Fault> {
    ///         if datatype.size == 1 { Ok(values.to_vec()) } else { Err(FaultKind::Rule("must be bytes").into()) }
    ///     }
    /// }
    ///
    /// let registry = Registry::default().with(300, Arc::new(Bytes));
    /// let mut file = Writer::in_memory(&CreateOptions::default().with_registry(registry))?;
    /// let filters = Filters::new().suitable(300, vec![]);
    /// file.dataset("bytes").chunks([2]).filters(filters.clone()).write(&[1u8, 2])?;
    /// file.dataset("counts").chunks([2]).filters(filters).write(&[1u16, 2])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("bytes")?.filters()?.filters.len(), 1);
    /// assert_eq!(file.dataset("counts")?.read::<u16>()?, [1, 2]); // without a filter
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn suitable(self, id: u16, values: Vec<u32>) -> Self {
        self.with(Request::Suitable(FilterDescription { id, name: None, optional: false, values }))
    }

    /// Uses the filters of another dataset with their stored client data values. The values of some filters are valid
    /// for one chunk size only.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::filters::Filters;
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").chunks([4]).shuffle().lzf().write(&[1u16, 2, 3, 4])?;
    /// let counts = File::from_bytes(file.into_bytes()?)?.dataset("counts")?;
    ///
    /// let mut copy = Writer::in_memory(&CreateOptions::default())?;
    /// let filters = Filters::stored(counts.filters()?);
    /// copy.dataset("counts").chunks([4]).filters(filters).write(&counts.read::<u16>()?)?;
    /// let copy = File::from_bytes(copy.into_bytes()?)?.dataset("counts")?;
    /// assert_eq!(copy.filters()?, counts.filters()?);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn stored(pipeline: &Pipeline) -> Self {
        Self { requests: pipeline.filters.iter().cloned().map(Request::Custom).collect(), wrong: None }
    }

    /// Makes the last filter optional or mandatory, and gives it the name, as `filter` has them in another file. If an optional filter
    /// cannot be applied to a chunk, the chunk is stored without it.
    ///
    /// ```
    /// use hdf5_pure::filters::Filters;
    /// use hdf5_pure::{CreateOptions, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("old").chunks([100]).filters(Filters::new().custom(32000, Vec::new())).write(&[7u8; 200])?;
    /// let old = File::from_bytes(file.into_bytes()?)?.dataset("old")?;
    /// let mandatory = &old.filters()?.filters[0];
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("new").chunks([50]).filters(Filters::new().lzf().described_as(mandatory)).write(&[7u8; 200])?;
    /// let new = File::from_bytes(file.into_bytes()?)?.dataset("new")?;
    /// assert!(!new.filters()?.filters[0].optional);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn described_as(mut self, filter: &FilterDescription) -> Self {
        if let Some(request) = self.requests.pop() {
            let (request, name) = (Box::new(request), filter.name.clone());
            self.requests.push(Request::Described { request, optional: filter.optional, name });
        }
        self
    }
}
