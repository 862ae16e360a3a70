//! Filters of datasets that are written, with the client values that the C library would give them.

use sciformats_core::arith::{fit, present};
use sciformats_core::endian::ByteOrder;
use sciformats_core::{Error, Result};

use crate::spec::message::datatype::{Class, Datatype, FloatOrder};
use crate::spec::message::fill_value::Fill;
use crate::spec::message::filter_pipeline::{FilterDescription, MAX_FILTER_NAME, MAX_FILTERS, Pipeline};
use crate::value::element_type::ElementType;

/// The levels of zstd, the default being 0 and 3 alike.
const ZSTD_LEVELS: [i64; 2] = [-131_072, 22];

/// The filters of a dataset, in the order in which they are applied.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Filters, Writer};
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
    /// The first setting that no filter knows: the argument, and what is wrong with it.
    wrong: Option<(&'static str, String)>,
}

/// The codecs that Blosc and Blosc2 share.
///
/// ```
/// use hdf5_pure::{BloscCodec, BloscShuffle, Filters};
///
/// let fast = Filters::new().blosc2(BloscCodec::Lz4, 5, BloscShuffle::Bytes);
/// let small = Filters::new().blosc2(BloscCodec::Zlib, 9, BloscShuffle::Bits);
/// # let _ = (fast, small);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum BloscCodec {
    /// Blosc's own.
    #[default]
    BloscLz,
    /// LZ4.
    Lz4,
    /// LZ4, slower and smaller.
    Lz4Hc,
    /// zlib.
    Zlib,
    /// Zstandard.
    Zstd,
}

/// What Blosc and Blosc2 do before they compress.
///
/// ```
/// use hdf5_pure::{BloscCodec, BloscShuffle, CreateOptions, Filters, Writer};
///
/// # #[cfg(feature = "blosc2")] {
/// // Small numbers in wide elements: of most bits only zeros are left.
/// let counts: Vec<u32> = (0..10_000).map(|i| i % 100).collect();
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// let filters = Filters::new().blosc2(BloscCodec::Lz4, 5, BloscShuffle::Bits);
/// file.dataset("counts").chunks([1000]).filters(filters).write(&counts)?;
/// assert!(file.into_bytes()?.len() < 20_000);
/// # }
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum BloscShuffle {
    /// Nothing.
    None,
    /// The bytes of elements come together, the first ones of all, then the second ones.
    #[default]
    Bytes,
    /// The bits do.
    Bits,
}

#[derive(Clone, Debug)]
enum Request {
    Shuffle,
    Lzf,
    Bitshuffle { codec: u32, level: Option<i32> },
    Szip { predict: bool, block: u32 },
    NBit,
    ScaleOffset { decimals: Option<i32> },
    Blosc { id: u16, codec: BloscCodec, level: u8, shuffle: BloscShuffle },
    Custom(FilterDescription),
}

/// What filters need to know of a dataset.
#[derive(Clone, Copy)]
pub(super) struct Filtered<'a> {
    pub(super) datatype: &'a Datatype,
    pub(super) fill: &'a Fill,
    pub(super) chunk: &'a [u64],
}

impl Filtered<'_> {
    fn elements(&self) -> Result<u32> {
        let elements = sciformats_core::slab::elements(self.chunk).and_then(|n| u32::try_from(n).ok());
        elements.ok_or_else(|| Error::usage("chunks", "have 2^32 elements or more"))
    }

    fn bytes(&self) -> Result<u32> {
        let bytes = self.elements()?.checked_mul(self.datatype.size);
        bytes.ok_or_else(|| Error::usage("chunks", "have 4 GiB or more, which the filter does not count"))
    }
}

impl Filters {
    /// No filters.
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

    /// Notes a level that a compressor does not have.
    fn level(mut self, filter: &'static str, level: impl Into<i64>, [lowest, highest]: [i64; 2]) -> Self {
        let level = level.into();
        if level < lowest || level > highest {
            let problem = format!("has levels {lowest} to {highest}, not {level}");
            self.wrong.get_or_insert((filter, problem));
        }
        self
    }

    fn known(self, id: u16, optional: bool, values: Vec<u32>) -> Self {
        self.with(Request::Custom(FilterDescription { id, name: None, optional, values }))
    }

    /// The bytes of elements, the first ones of all, then the second ones: before a compressor.
    #[must_use]
    pub fn shuffle(self) -> Self {
        self.with(Request::Shuffle)
    }

    /// Deflate at `level` 0 to 9. Another level is an error of the call that makes the dataset, as with every filter.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Filters, Writer};
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

    /// A checksum of the bytes that come before it.
    #[must_use]
    pub fn fletcher32(self) -> Self {
        self.known(3, false, Vec::new())
    }

    /// LZF, which h5py has.
    #[must_use]
    pub fn lzf(self) -> Self {
        self.with(Request::Lzf)
    }

    /// bzip2 with blocks of `level` times 100 kB, 1 to 9.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Filters, Writer};
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

    /// LZ4.
    #[must_use]
    pub fn lz4(self) -> Self {
        self.known(32004, true, Vec::new())
    }

    /// Zstandard.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Filters, Writer};
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

    /// The bits of elements, the first ones of all, then the second ones: before a compressor.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Filters, Writer};
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

    /// [`bitshuffle`](Self::bitshuffle) and LZ4 in one.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Filters, Writer};
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

    /// [`bitshuffle`](Self::bitshuffle) and Zstandard in one.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Filters, Writer};
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

    /// Blosc at `level` 0 to 9. Writing needs the feature `blosc2`.
    ///
    /// ```
    /// use hdf5_pure::{BloscCodec, BloscShuffle, CreateOptions, File, Filters, Writer};
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

    /// Blosc2 at `level` 0 to 9. Writing needs the feature `blosc2`.
    ///
    /// ```
    /// use hdf5_pure::{BloscCodec, BloscShuffle, CreateOptions, File, Filters, Writer};
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

    /// Szip: extended Rice coding of blocks of `block` elements, an even number of at most 32, of their differences if
    /// `predict`.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Filters, Writer};
    ///
    /// let counts: Vec<u16> = (0..1000).map(|i| 500 + i % 7).collect();
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").chunks([500]).filters(Filters::new().szip(true, 16)).write(&counts)?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("counts")?.read::<u16>()?, counts);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn szip(self, predict: bool, block: u32) -> Self {
        self.with(Request::Szip { predict, block })
    }

    /// Only the bits that count, of types that have others: see [`Datatype::with_precision`](crate::Datatype::with_precision).
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Filters, Writer};
    ///
    /// let twelve_bits = Datatype::integer(false, 2).with_precision(12, 0)?; // of a camera
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

    /// Integers as differences from the least of a chunk, in as few bits as they need.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Filters, Writer};
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
        self.with(Request::ScaleOffset { decimals: None })
    }

    /// Floating-point numbers rounded to `decimals` digits behind the point, as
    /// [`scale_offset`](Self::scale_offset). What is rounded off is lost.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Filters, Writer};
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
        self.with(Request::ScaleOffset { decimals: Some(decimals) })
    }

    /// A filter that the [`Registry`](crate::Registry) of the options holds, or one of the crate's, by its number and client
    /// values.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Filters, Writer};
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
        self.known(id, false, values)
    }

    /// The filters of another dataset, with the client values that they have there: those of some filters hold for chunks
    /// of one size alone.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Filters, Writer};
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

    /// The pipeline for the chunks of a dataset.
    ///
    /// # Errors
    /// [`Error::Usage`] if a filter does not apply, or has no place in a file.
    pub(super) fn pipeline(&self, of: Filtered<'_>) -> Result<Pipeline> {
        if let Some((filter, problem)) = &self.wrong {
            return Err(Error::usage(filter, problem.clone()));
        }
        if self.requests.len() > usize::from(MAX_FILTERS) {
            let problem =
                format!("are {}, more than the {MAX_FILTERS} that a dataset has", self.requests.len());
            return Err(Error::usage("filters", problem));
        }
        let filters: Vec<FilterDescription> =
            self.requests.iter().map(|request| describe(request, of)).collect::<Result<_>>()?;
        let long = |filter: &FilterDescription| {
            let name = filter.name.as_ref().map_or(0, |name| name.as_bytes().len());
            name > MAX_FILTER_NAME || filter.values.len() > usize::from(u16::MAX)
        };
        if filters.iter().any(long) {
            return Err(Error::usage("filter", "has a name or client data of 64 KiB or more"));
        }
        Ok(Pipeline { filters })
    }
}

fn describe(request: &Request, of: Filtered<'_>) -> Result<FilterDescription> {
    let size = of.datatype.size;
    let (id, optional, values) = match request {
        Request::Shuffle => (2, true, vec![size]),
        Request::Lzf => (32000, true, vec![4, 0x0105, of.bytes()?]),
        Request::Bitshuffle { codec, level } => {
            let values = [0, 4, size, 0, *codec].into_iter().chain(level.map(i32::cast_unsigned));
            (32008, *codec != 0, values.collect())
        }
        Request::Szip { predict, block } => (4, true, szip(of, *predict, *block)?),
        Request::NBit => (5, true, n_bit(of)?),
        Request::ScaleOffset { decimals } => (6, true, scale_offset(of, *decimals)?),
        Request::Blosc { id, codec, level, shuffle } => {
            let codec = match codec {
                BloscCodec::BloscLz => 0,
                BloscCodec::Lz4 => 1,
                BloscCodec::Lz4Hc => 2,
                BloscCodec::Zlib => 4,
                BloscCodec::Zstd => 5,
            };
            // Revision of the filter and format, or revision and a block size that is chosen.
            let (revision, format) = if *id == 32001 { (2, 2) } else { (1, 0) };
            let element = match &of.datatype.class {
                Class::Array { base, .. } => base.size,
                _ => size,
            };
            let element = if element > 255 { 1 } else { element };
            let level = u32::from(*level);
            (*id, true, vec![revision, format, element, of.bytes()?, level, *shuffle as u32, codec])
        }
        Request::Custom(filter) => return Ok(filter.clone()),
    };
    Ok(FilterDescription { id, name: None, optional, values })
}

/// Options mask, samples of a block, bits of a sample, samples of a scan line.
fn szip(of: Filtered<'_>, predict: bool, block: u32) -> Result<Vec<u32>> {
    const RAW: u32 = 128;
    let wrong = |problem: &'static str| Err(Error::usage("szip", problem));
    if !(2..=32).contains(&block) || block % 2 == 1 {
        return wrong("has blocks of an even number of elements, at most 32");
    }
    if !matches!(of.datatype.size, 1 | 2 | 4 | 8) {
        return wrong("packs elements of 1, 2, 4 or 8 bytes");
    }
    let (precision, offset, big) = match &of.datatype.class {
        Class::FixedPoint(fixed) => (fixed.precision, fixed.bit_offset, fixed.order == ByteOrder::Big),
        Class::FloatingPoint(float) => (float.precision, float.bit_offset, float.order == FloatOrder::Big),
        _ => return wrong("packs integers and floating-point numbers"),
    };
    let bits = match if offset == 0 { u32::from(precision) } else { of.datatype.size * 8 } {
        25..=32 => 32,
        33..=64 => 64,
        bits => bits,
    };
    let total = of.elements()?;
    let Some(&last) = of.chunk.last() else { return wrong("packs chunks") };
    let longest = block * 128;
    let line = match u32::try_from(last).unwrap_or(u32::MAX) /* a bound */ {
        last if last < block && total < block => return wrong("packs chunks of a block at least"),
        last if last < block => longest.min(total),
        last if last <= 4096 => longest.min(last),
        _ => longest,
    };
    let mask = RAW + 1 + if big { 16 } else { 8 } + if predict { 32 } else { 4 };
    Ok(vec![mask, block, bits, line])
}

/// Number of values, whether nothing is packed, elements, then the type as a tree.
fn n_bit(of: Filtered<'_>) -> Result<Vec<u32>> {
    let mut tree = Vec::new();
    let packs = n_bit_node(of.datatype, &mut tree)?;
    if matches!(tree.first(), Some(4)) {
        return Err(Error::usage(
            "n-bit filter",
            "packs integers, floating-point numbers, arrays and records",
        ));
    }
    let mut values = vec![0, u32::from(!packs), of.elements()?];
    values.extend(tree);
    if values.len() > 4096 {
        return Err(Error::usage("n-bit filter", "has no room for a type of so many parts"));
    }
    let count = fit(values.len(), "client data values of a filter")?;
    *present(values.first_mut(), "client data of a filter")? = count;
    Ok(values)
}

/// Appends the type; whether any of its numbers has bits that do not count.
fn n_bit_node(datatype: &Datatype, tree: &mut Vec<u32>) -> Result<bool> {
    let size = datatype.size;
    let mut number = |big: bool, precision: u16, offset: u16| {
        tree.extend([1, size, u32::from(big), precision.into(), offset.into()]);
        Ok(u64::from(precision) != u64::from(size) * 8 || offset != 0)
    };
    match &datatype.class {
        Class::FixedPoint(fixed) => number(fixed.order == ByteOrder::Big, fixed.precision, fixed.bit_offset),
        Class::FloatingPoint(float) if float.order == FloatOrder::Vax => {
            Err(Error::usage("n-bit filter", "has no VAX numbers"))
        }
        Class::FloatingPoint(float) => {
            number(float.order == FloatOrder::Big, float.precision, float.bit_offset)
        }
        Class::Array { base, .. } => {
            tree.extend([2, size]);
            n_bit_node(base, tree)
        }
        Class::Compound(members) => {
            tree.extend([3, size, fit(members.len(), "number of members")?]);
            let mut packs = false;
            for member in members {
                tree.push(member.offset);
                packs |= n_bit_node(&member.datatype, tree)?;
            }
            Ok(packs)
        }
        _ => {
            tree.extend([4, size]);
            Ok(false)
        }
    }
}

/// Kind, factor, elements, class, size, sign, order, whether there is a fill value, and its bits.
fn scale_offset(of: Filtered<'_>, decimals: Option<i32>) -> Result<Vec<u32>> {
    let wrong = |problem: &'static str| Err(Error::usage("scale-offset filter", problem));
    let size = of.datatype.size;
    let (kind, factor, class, signed, big) = match (&of.datatype.class, decimals) {
        (Class::FixedPoint(fixed), None) if matches!(size, 1 | 2 | 4 | 8) => {
            (2, 0, 0, u32::from(fixed.signed), fixed.order == ByteOrder::Big)
        }
        (Class::FloatingPoint(float), Some(decimals))
            if matches!(of.datatype.element_type()?, ElementType::Float(4 | 8)) =>
        {
            (0, decimals.cast_unsigned(), 1, 0, float.order == FloatOrder::Big)
        }
        (Class::FloatingPoint(_), None) => {
            return wrong("needs a number of decimals for floating-point numbers");
        }
        _ => return wrong("packs integers, and floating-point numbers of 4 or 8 bytes by decimals"),
    };
    let mut values = vec![kind, factor, of.elements()?, class, size, signed, u32::from(big)];
    values.push(u32::from(*of.fill != Fill::Undefined));
    if let Fill::Value(bytes) = of.fill {
        let mut word = [0u8; 8];
        word.iter_mut().zip(bytes).for_each(|(to, &from)| *to = from);
        if big && let Some(word) = word.get_mut(..bytes.len().min(8)) {
            word.reverse();
        }
        let bits = u64::from_le_bytes(word);
        values.extend([bits as u32, (bits >> 32) as u32]);
    }
    values.resize(20, 0);
    Ok(values)
}
