//! The caller's own codecs and filters.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A codec of the caller. Decoding must be the inverse of encoding for every input, and must not panic on any bytes.
///
/// ```
/// use cframe::{Codec, OpenOptions, Params, Registry, UserCodec};
///
/// /// Keeps one byte, where all are equal.
/// struct Same;
/// impl UserCodec for Same {
///     fn decode(&self, input: &[u8], _meta: u8, out: &mut [u8]) -> bool {
///         input.first().is_some_and(|&byte| { out.fill(byte); input.len() == 1 })
///     }
///     fn encode(&self, input: &[u8], _level: u8, _meta: u8, out: &mut Vec<u8>) -> bool {
///         out.extend(input.first());
///         input.windows(2).all(|pair| pair[0] == pair[1])
///     }
/// }
///
/// let options = OpenOptions::default().with_registry(Registry::default().with_codec(160, Same));
/// let params = Params::new(1).with_codec(Codec::Other(160));
/// let chunk = cframe::compress_with(&[7; 5000], &params, &options)?;
/// assert_eq!(cframe::decompress_with(&chunk, &options)?, [7; 5000]);
/// # Ok::<(), cframe::Error>(())
/// ```
pub trait UserCodec: Send + Sync {
    /// Decodes `input` into all of `out`. Returns `false` if it does not decode to exactly this many bytes.
    fn decode(&self, input: &[u8], meta: u8, out: &mut [u8]) -> bool;

    /// Appends the encoded `input` to `out`. Returns `false` if it does not become smaller; it is then stored uncompressed.
    fn encode(&self, input: &[u8], level: u8, meta: u8, out: &mut Vec<u8>) -> bool;

    /// Does the same as [`decode`](Self::decode), for codecs that depend on the block.
    fn decode_block(&self, input: &[u8], block: &BlockOf<'_>, out: &mut [u8]) -> bool {
        self.decode(input, block.meta, out)
    }

    /// Does the same as [`encode`](Self::encode), for codecs that depend on the block.
    fn encode_block(&self, input: &[u8], level: u8, block: &BlockOf<'_>, out: &mut Vec<u8>) -> bool {
        self.encode(input, level, block.meta, out)
    }
}

/// What a codec may want to know about a block besides its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockOf<'a> {
    /// The parameter of the codec.
    pub meta: u8,
    /// The size of an element in bytes.
    pub typesize: usize,
    /// The shape of the block, the slowest dimension first. It is empty if the chunk does not belong to an array.
    pub shape: &'a [u32],
}

/// A filter of the caller, which converts blocks to blocks of equal size. It must not panic on any bytes.
///
/// ```
/// use cframe::{Filter, OpenOptions, Params, Registry, UserFilter};
///
/// /// Adds the parameter to every byte.
/// struct Shift;
/// impl UserFilter for Shift {
///     fn decode(&self, input: &[u8], _typesize: usize, meta: u8, out: &mut [u8]) -> bool {
///         out.iter_mut().zip(input).for_each(|(out, byte)| *out = byte.wrapping_sub(meta));
///         true
///     }
///     fn encode(&self, input: &[u8], _typesize: usize, meta: u8, out: &mut [u8]) -> bool {
///         out.iter_mut().zip(input).for_each(|(out, byte)| *out = byte.wrapping_add(meta));
///         true
///     }
/// }
///
/// let options = OpenOptions::default().with_registry(Registry::default().with_filter(200, Shift));
/// let params = Params::new(1).with_filters(&[Filter::new(200, 40)])?;
/// let chunk = cframe::compress_with(&[7; 5000], &params, &options)?;
/// assert_eq!(cframe::decompress_with(&chunk, &options)?, [7; 5000]);
/// assert!(cframe::decompress(&chunk).is_err()); // nobody else has the filter
/// # Ok::<(), cframe::Error>(())
/// ```
pub trait UserFilter: Send + Sync {
    /// Reverses the filter; `input` and `out` have the same length. Returns `false` if this is impossible.
    fn decode(&self, input: &[u8], typesize: usize, meta: u8, out: &mut [u8]) -> bool;

    /// Applies the filter; `input` and `out` have the same length. Returns `false` if this is impossible.
    fn encode(&self, input: &[u8], typesize: usize, meta: u8, out: &mut [u8]) -> bool;
}

/// Codecs and filters by number. Built-in ones cannot be replaced.
///
/// ```no_run
/// use cframe::{Frame, OpenOptions, Registry, UserCodec};
///
/// fn open(codec: impl UserCodec + 'static) -> cframe::Result<Frame> {
///     let registry = Registry::default().with_codec(160, codec);
///     Frame::open_with("frames.b2frame", &OpenOptions::default().with_registry(registry))
/// }
/// ```
#[derive(Clone, Default)]
pub struct Registry {
    codecs: BTreeMap<u8, Arc<dyn UserCodec>>,
    filters: BTreeMap<u8, Arc<dyn UserFilter>>,
}

impl Registry {
    /// Adds a codec. Numbers from 160 on are reserved for users, those from 32 on for registered plug-ins, and 3 is Snappy.
    #[must_use]
    pub fn with_codec(mut self, id: u8, codec: impl UserCodec + 'static) -> Self {
        self.codecs.insert(id, Arc::new(codec));
        self
    }

    /// Adds a filter. Numbers from 160 on are reserved for users.
    #[must_use]
    pub fn with_filter(mut self, id: u8, filter: impl UserFilter + 'static) -> Self {
        self.filters.insert(id, Arc::new(filter));
        self
    }

    pub(crate) fn codec(&self, id: u8) -> Option<&Arc<dyn UserCodec>> {
        self.codecs.get(&id)
    }

    pub(crate) fn filter(&self, id: u8) -> Option<&Arc<dyn UserFilter>> {
        self.filters.get(&id)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("codecs", &self.codecs.keys())
            .field("filters", &self.filters.keys())
            .finish()
    }
}
