//! The settings of filters that are one of a few: compressors, kinds of shuffling and of coding.

/// The compressors that Blosc and Blosc2 offer.
///
/// ```
/// use hdf5_pure::filters::{BloscCodec, BloscShuffle, Filters};
///
/// let fast = Filters::new().blosc2(BloscCodec::Lz4, 5, BloscShuffle::Bytes);
/// let small = Filters::new().blosc2(BloscCodec::Zlib, 9, BloscShuffle::Bits);
/// # let _ = (fast, small);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum BloscCodec {
    /// `BloscLZ`, Blosc's own compressor.
    #[default]
    BloscLz,
    /// LZ4.
    Lz4,
    /// LZ4 in its high-compression mode: slower, with smaller results.
    Lz4Hc,
    /// zlib.
    Zlib,
    /// Zstandard.
    Zstd,
}

/// How Blosc and Blosc2 rearrange the elements before compressing them.
///
/// ```
/// use hdf5_pure::{CreateOptions, Writer};
/// use hdf5_pure::filters::{BloscCodec, BloscShuffle, Filters};
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
    /// The elements stay as they are.
    None,
    /// The first bytes of all elements come first, then their second bytes, and so on.
    #[default]
    Bytes,
    /// The first bits of all elements come first, then their second bits, and so on.
    Bits,
}

/// What [szip](super::Filters::szip) codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SzipCoding {
    /// The elements as they are (`ec` in h5py), for values without an order.
    Elements,
    /// The differences between neighbours (`nn` in h5py), for values that change slowly.
    Differences,
}
