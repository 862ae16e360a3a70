//! Codecs and filters that the caller brings.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A codec of the caller's. It must be the inverse of itself for every input, and must not panic on any bytes.
pub trait UserCodec: Send + Sync {
    /// Decodes `input` into all of `out`; `false` if it does not decode to exactly so many bytes.
    fn decode(&self, input: &[u8], meta: u8, out: &mut [u8]) -> bool;

    /// Appends to `out` what `input` becomes; `false` if it does not become smaller, in which case it is stored as it is.
    fn encode(&self, input: &[u8], level: u8, meta: u8, out: &mut Vec<u8>) -> bool;
}

/// A filter of the caller's: a map of blocks to blocks of equal size. It must not panic on any bytes.
pub trait UserFilter: Send + Sync {
    /// Undoes the filter; `input` and `out` are equally long. `false` if it cannot.
    fn decode(&self, input: &[u8], typesize: usize, meta: u8, out: &mut [u8]) -> bool;

    /// Applies the filter; `input` and `out` are equally long. `false` if it cannot.
    fn encode(&self, input: &[u8], typesize: usize, meta: u8, out: &mut [u8]) -> bool;
}

/// Codecs and filters by number. Built-in ones cannot be replaced.
#[derive(Clone, Default)]
pub struct Registry {
    codecs: BTreeMap<u8, Arc<dyn UserCodec>>,
    filters: BTreeMap<u8, Arc<dyn UserFilter>>,
}

impl Registry {
    /// Adds a codec; numbers from 160 on are the user's.
    #[must_use]
    pub fn with_codec(mut self, id: u8, codec: impl UserCodec + 'static) -> Self {
        self.codecs.insert(id, Arc::new(codec));
        self
    }

    /// Adds a filter; numbers from 160 on are the user's.
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
