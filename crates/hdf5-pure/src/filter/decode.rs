//! Knows what each filter does, and undoes pipelines of filters.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use sciformats_core::error::Place;
use sciformats_core::storage::Buffer;
use sciformats_core::{Error, Fault, FaultKind, Result, bound};

use crate::codec;
use crate::spec::message::datatype::Datatype;
use crate::spec::message::filter_pipeline::{FilterDescription, Pipeline};

/// A filter that the caller implements.
///
/// ```
/// use std::sync::Arc;
///
/// use hdf5_pure::{CreateOptions, File, OpenOptions, Writer};
/// use hdf5_pure::error::Fault;
/// use hdf5_pure::filters::{Filter, Filters, Registry};
///
/// /// Turns every bit.
/// struct Turn;
/// impl Filter for Turn {
///     fn decode(&self, _values: &[u32], input: &[u8], _expected: usize) -> Result<Vec<u8>, Fault> {
///         Ok(input.iter().map(|byte| !byte).collect())
///     }
///     fn encode(&self, values: &[u32], input: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
///         self.decode(values, input, input.len()).map(Some)
///     }
/// }
///
/// let registry = Registry::default().with(300, Arc::new(Turn));
/// let mut file = Writer::in_memory(&CreateOptions::default().with_registry(registry.clone()))?;
/// file.dataset("counts").chunks([4]).filters(Filters::new().custom(300, vec![])).write(&[1u8, 2, 3, 4])?;
/// let file = File::from_storage(file.into_bytes()?, &OpenOptions::default().with_registry(registry))?;
/// assert_eq!(file.dataset("counts")?.read::<u8>()?, [1, 2, 3, 4]);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
pub trait Filter: Send + Sync {
    /// Undoes the filter. `values` are the client data values of the dataset, and `expected` is the approximate number
    /// of bytes that should come out.
    ///
    /// # Errors
    /// Returns what is wrong with the bytes.
    fn decode(&self, values: &[u32], input: &[u8], expected: usize) -> Result<Vec<u8>, Fault>;

    /// Applies the filter to the bytes of a chunk. `None` means that the filter gains nothing; this is an error unless
    /// the filter is optional.
    ///
    /// # Errors
    /// The default implementation returns the error that the filter can only decode.
    fn encode(&self, _values: &[u32], _input: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        Err(Fault::from(FaultKind::Rule("can only decode, so it cannot write chunks")))
    }

    /// Returns the client data values to store with a new dataset, for those that the caller of
    /// [`Filters::custom`](crate::filters::Filters::custom) gives. Some filters add the type of the elements and the shape of chunks.
    ///
    /// # Errors
    /// Returns why the filter cannot be applied to these elements. The default implementation returns `values`.
    fn configure(&self, values: &[u32], datatype: &Datatype, chunk: &[u64]) -> Result<Vec<u32>, Fault> {
        let _ = (datatype, chunk);
        Ok(values.to_vec())
    }

    /// Returns whether undoing the filter changes nothing, so that stored elements can be used as they are. Filters that round are
    /// of this kind. The default implementation returns false.
    fn is_identity(&self) -> bool {
        false
    }
}

/// The filters that can be used for reading and writing: those of this crate and those that the caller adds.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use hdf5_pure::{File, OpenOptions, Result};
/// use hdf5_pure::filters::{Filter, Registry};
///
/// fn open(filter: impl Filter + 'static) -> Result<File> {
///     let filters = Registry::default().with(300, Arc::new(filter));
///     File::open_with("frames.h5", &OpenOptions::default().with_registry(filters))
/// }
/// ```
#[derive(Clone, Default)]
pub struct Registry {
    added: HashMap<u16, Arc<dyn Filter>>,
    /// What can undo filters that are not here.
    elsewhere: HashMap<u16, &'static str>,
    /// The codecs and filters of the plug-ins of Blosc.
    #[cfg(feature = "blosc2")]
    blosc: cframe::Registry,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("added", &self.added.keys()).finish()
    }
}

impl Registry {
    /// Adds a filter, or replaces the filter with this number.
    #[must_use]
    pub fn with(mut self, id: u16, filter: Arc<dyn Filter>) -> Self {
        self.added.insert(id, filter);
        self
    }

    /// Says in errors what can undo a filter that this registry does not have: `Python's hdf5plugin`.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, OpenOptions, Writer};
    /// use hdf5_pure::filters::{Filters, Registry};
    ///
    /// let registry = Registry::default().with_elsewhere(32017, "Python's hdf5plugin");
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let filters = Filters::new().custom(32017, Vec::new());
    /// file.dataset("flow").shape([2]).chunks([2]).filters(filters).create::<u8>()?.write_chunk(&[0], 0, &[1, 2])?;
    /// let file = File::from_storage(file.into_bytes()?, &OpenOptions::default().with_registry(registry))?;
    /// let error = file.dataset("flow")?.read::<u8>().unwrap_err();
    /// assert!(error.to_string().starts_with("filter 32017 (sz), which Python's hdf5plugin can undo, is not supported"));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn with_elsewhere(mut self, id: u16, elsewhere: &'static str) -> Self {
        self.elsewhere.insert(id, elsewhere);
        self
    }

    /// Sets the codecs and filters that the chunks of the filters blosc and blosc2 may use besides those of `cframe`.
    #[cfg(feature = "blosc2")]
    #[must_use]
    pub fn with_blosc(self, blosc: cframe::Registry) -> Self {
        Self { blosc, ..self }
    }

    #[cfg(feature = "blosc2")]
    pub(crate) fn blosc(&self) -> &cframe::Registry {
        &self.blosc
    }

    /// Returns the filter that was added with this number.
    pub(crate) fn added(&self, id: u16) -> Option<&dyn Filter> {
        self.added.get(&id).map(|filter| &**filter)
    }

    /// Undoes the filters of the bytes of a chunk, except those whose bit is set in `mask`. The result has `len` bytes.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::filters::Registry;
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").chunks([2]).shuffle().write(&[1u16, 515])?;
    /// let counts = File::from_bytes(file.into_bytes()?)?.dataset("counts")?;
    /// // The bytes may come from anywhere, as those of a store of chunks.
    /// let elements = Registry::default().undo(counts.filters()?, 0, &[1, 3, 0, 2], 4)?;
    /// assert_eq!(elements, [1, 0, 3, 2]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Malformed`, with offset 0, if the bytes do not decode to `len` bytes, and `Unsupported` for an unknown
    /// filter.
    pub fn undo(&self, pipeline: &Pipeline, mask: u32, bytes: &[u8], len: usize) -> Result<Vec<u8>> {
        self.decode(pipeline, mask, Cow::Borrowed(bytes), len, 0).map(Cow::into_owned)
    }

    /// Applies the filters of a dataset to the bytes of a chunk, which are its elements. Returns the filtered bytes and the mask of
    /// the filters that were skipped, as [`DatasetWriter::write_chunk`](crate::DatasetWriter::write_chunk) takes them.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, File, Writer};
    /// use hdf5_pure::filters::Registry;
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").chunks([2]).shuffle().write(&[1u16, 515])?;
    /// let counts = File::from_bytes(file.into_bytes()?)?.dataset("counts")?;
    /// let filtered = Registry::default().apply(counts.filters()?, vec![1, 0, 3, 2])?;
    /// assert_eq!(filtered, (vec![1, 3, 0, 2], 0));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns `Usage` if a filter cannot be applied to these bytes, and `Unsupported` for one that cannot be written.
    pub fn apply(&self, pipeline: &Pipeline, bytes: Vec<u8>) -> Result<(Vec<u8>, u32)> {
        let (bytes, mask) = super::encode::encode(pipeline, self, Cow::Owned(bytes))?;
        Ok((bytes.into_owned(), mask))
    }

    /// Undoes the filters of `bytes`, which stand at `offset`, except those whose bit is set in `mask`. The result has
    /// `len` bytes; if more come out, the rest is cut off, and fewer bytes are an error.
    pub(crate) fn decode<'a>(
        &self,
        pipeline: &Pipeline,
        mask: u32,
        bytes: Cow<'a, [u8]>,
        len: usize,
        offset: u64,
    ) -> Result<Cow<'a, [u8]>> {
        let filtered = Filtered { pipeline, mask, len, offset };
        let mut buffers = Buffers::default();
        if self.steps(&filtered, &bytes, &mut buffers)? {
            let mut decoded = std::mem::take(&mut *buffers.now);
            decoded.truncate(len);
            return Ok(Cow::Owned(decoded));
        }
        Ok(match bytes {
            Cow::Borrowed(bytes) => Cow::Borrowed(bytes.get(..len).unwrap_or(bytes)),
            Cow::Owned(mut bytes) => {
                bytes.truncate(len);
                Cow::Owned(bytes)
            }
        })
    }

    /// Works like [`decode`](Self::decode), with buffers that are reused from chunk to chunk.
    pub(crate) fn decode_with<'s>(
        &self,
        filtered: &Filtered<'_>,
        bytes: &'s [u8],
        buffers: &'s mut Buffers,
    ) -> Result<&'s [u8]> {
        let decoded = if self.steps(filtered, bytes, buffers)? { &buffers.now } else { bytes };
        Ok(decoded.get(..filtered.len).unwrap_or_default())
    }

    /// Works like [`decode_with`](Self::decode_with), and leaves the result in `out`, which has exactly as many bytes as are wanted.
    pub(crate) fn decode_into(
        &self,
        filtered: &Filtered<'_>,
        bytes: &[u8],
        buffers: &mut Buffers,
        out: &mut [u8],
    ) -> Result<()> {
        // What was shuffled is put in order where it is wanted, which saves a copy.
        let filters = &filtered.pipeline.filters;
        let last = filters.iter().enumerate().find(|(i, filter)| self.is_undone(filtered, *i, filter));
        if let Some((i, FilterDescription { id: 2, values, .. })) = last
            && !self.added.contains_key(&2)
            && let [size] = **values
            && size > 0
        {
            let any = self.undo_from(bound::sum(i, 1), filtered, bytes, buffers)?;
            let shuffled = if any { &buffers.now[..] } else { bytes };
            if shuffled.len() == out.len() {
                codec::shuffle::decode_to(bound::addressable(size.into()), shuffled, out);
                return Ok(());
            }
        }
        out.copy_from_slice(self.decode_with(filtered, bytes, buffers)?);
        Ok(())
    }

    /// Returns whether the filter at the place `i` of the pipeline has to be undone.
    fn is_undone(&self, filtered: &Filtered<'_>, i: usize, filter: &FilterDescription) -> bool {
        let bits = u32::try_from(i).ok().and_then(|i| filtered.mask.checked_shr(i));
        bits.is_none_or(|bits| bits & 1 == 0) && !self.keeps(filter)
    }

    /// Undoes the filters from the place `first` of the pipeline on. Leaves the result in the buffer `now`, and returns whether there
    /// were any.
    fn undo_from(
        &self,
        first: usize,
        filtered: &Filtered<'_>,
        bytes: &[u8],
        buffers: &mut Buffers,
    ) -> Result<bool> {
        let mut any = false;
        for (i, filter) in filtered.pipeline.filters.iter().enumerate().skip(first).rev() {
            if !self.is_undone(filtered, i, filter) {
                continue;
            }
            if any {
                self.undo_one(filter, &buffers.now, filtered, &mut buffers.next)?;
                std::mem::swap(&mut buffers.now, &mut buffers.next);
            } else {
                self.undo_one(filter, bytes, filtered, &mut buffers.now)?;
                any = true;
            }
        }
        Ok(any)
    }

    /// Leaves the result in the buffer `now`, and returns whether any filter was undone. There are at least as many
    /// bytes as are wanted.
    fn steps(&self, filtered: &Filtered<'_>, bytes: &[u8], buffers: &mut Buffers) -> Result<bool> {
        let any = self.undo_from(0, filtered, bytes, buffers)?;
        let (len, found) = (filtered.len as u64, if any { buffers.now.len() } else { bytes.len() } as u64);
        if found < len {
            let kind = FaultKind::Mismatch { expected: len, found };
            return Err(Fault::new("decoded length", kind).at("chunk", filtered.offset));
        }
        Ok(any)
    }

    /// Returns whether decoding the filter changes nothing. Filters that round lose bits only when they write.
    fn keeps(&self, filter: &FilterDescription) -> bool {
        match self.added.get(&filter.id) {
            Some(added) => added.is_identity(),
            None => matches!(filter.id, 32022 | 32023 | 32032),
        }
    }

    fn undo_one(
        &self,
        filter: &FilterDescription,
        bytes: &[u8],
        filtered: &Filtered<'_>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let (values, len, offset) = (&filter.values[..], filtered.len, filtered.offset);
        // A filter may add something, such as a checksum, so its input can be longer than the chunk. This bound allows
        // twice the chunk and some bytes more.
        let max = bound::sum(bound::product(len, 2), 4096);
        if let Some(added) = self.added.get(&filter.id) {
            *out = added.decode(values, bytes, len).map_err(|fault| fault.at("filtered chunk", offset))?;
            return Ok(());
        }
        #[cfg(feature = "blosc2")]
        if let 32001 | 32026 = filter.id {
            let container = if filter.id == 32001 { codec::blosc::chunk } else { codec::blosc::frame };
            *out = container(bytes, max, &self.blosc).map_err(|error| moved(error, offset))?;
            return Ok(());
        }
        let (structure, decoded): (&'static str, Result<(), Fault>) = match filter.id {
            #[cfg(feature = "deflate")]
            1 => ("deflate filter", codec::deflate::decode(bytes, len, max, out)),
            2 => {
                let size = match *values {
                    [size] if size > 0 => Ok(bound::addressable(size.into())),
                    _ => Err(Fault::new("client data", FaultKind::Rule("is not the size of an element"))),
                };
                ("shuffle filter", size.map(|size| codec::shuffle::decode(size, bytes, out)))
            }
            3 => ("fletcher32 filter", codec::fletcher32::decode(bytes).map(|data| data.clone_into(out))),
            4 => ("szip filter", codec::szip::decode(values, bytes, max).map(|data| *out = data)),
            5 => ("n-bit filter", codec::nbit::decode(values, bytes, max).map(|data| *out = data)),
            6 => (
                "scale-offset filter",
                codec::scale_offset::decode(values, bytes, max).map(|data| *out = data),
            ),
            #[cfg(feature = "bzip2")]
            307 => ("bzip2 filter", codec::bzip2::decode(bytes, max).map(|data| *out = data)),
            32000 => ("lzf filter", codec::lzf::decode(bytes, len, max).map(|data| *out = data)),
            #[cfg(feature = "lz4")]
            32004 => {
                ("lz4 filter", codec::lz4::decode(std::mem::take(out), bytes, max).map(|data| *out = data))
            }
            32008 => {
                ("bitshuffle filter", codec::bitshuffle::decode(values, bytes, max).map(|data| *out = data))
            }
            #[cfg(any(feature = "zstd", feature = "ruzstd"))]
            32015 => (
                "zstd filter",
                codec::zstd::decode(std::mem::take(out), bytes, (len, max)).map(|data| *out = data),
            ),
            _ => return Err(self.unsupported(filter, offset)),
        };
        decoded.map_err(|fault| fault.at(structure, offset))
    }

    fn unsupported(&self, filter: &FilterDescription, offset: u64) -> Error {
        let id = filter.id;
        let name = known(id)
            .map(str::to_owned)
            .or_else(|| filter.name.as_ref().map(|name| name.to_text().into_owned()));
        let mut what = format!("filter {id}");
        if let Some(name) = name {
            what.push_str(&format!(" ({name})"));
        }
        if let Some(elsewhere) = self.elsewhere.get(&id) {
            what.push_str(&format!(", which {elsewhere} can undo,"));
        }
        let feature = super::feature(id);
        Error::Unsupported { what: what.into(), feature, offset: Some(offset), place: Place::default() }
    }
}

/// What is known about filtered bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filtered<'p> {
    pub(crate) pipeline: &'p Pipeline,
    /// The filters that were skipped, one bit per filter.
    pub(crate) mask: u32,
    /// The number of bytes that should come out.
    pub(crate) len: usize,
    /// The offset of the bytes, for errors.
    pub(crate) offset: u64,
}

/// The buffers for the steps of a pipeline.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    now: Buffer,
    next: Buffer,
}

/// Adds the offset of a container inside the file to the offset of an error in it.
#[cfg(feature = "blosc2")]
fn moved(mut error: Error, by: u64) -> Error {
    match &mut error {
        Error::Malformed { offset, .. } => *offset = bound::sum(*offset, by),
        Error::Unsupported { offset, .. } | Error::Io { offset, .. } => {
            *offset = Some(offset.map_or(by, |offset| bound::sum(offset, by)));
        }
        _ => {}
    }
    error
}

/// Returns the name of a registered filter in lower case.
///
/// ```
/// use hdf5_pure::filters::known;
///
/// assert_eq!(known(32024), Some("sz3"));
/// assert_eq!(known(299), None);
/// ```
pub fn known(id: u16) -> Option<&'static str> {
    Some(match id {
        1 => "deflate",
        2 => "shuffle",
        3 => "fletcher32",
        4 => "szip",
        5 => "n-bit",
        6 => "scale-offset",
        257 => "hzip",
        258 | 32014 => "fpzip",
        305 => "lzo",
        307 => "bzip2",
        32000 => "lzf",
        32001 => "blosc",
        32002 => "mafisc",
        32003 => "snappy",
        32004 => "lz4",
        32005 => "apax",
        32006 => "cbf",
        32007 => "jpeg-xr",
        32008 => "bitshuffle",
        32009 => "spdp",
        32010 => "lpc-rice",
        32011 => "ccsds-123",
        32012 => "jpeg-ls",
        32013 => "zfp",
        32015 => "zstd",
        32016 => "b3d",
        32017 => "sz",
        32018 => "fcidecomp",
        32019 => "jpeg",
        32020 => "vbz",
        32021 => "fapec",
        32022 => "bitgroom",
        32023 => "granular bitround",
        32024 => "sz3",
        32025 => "delta-rice",
        32026 => "blosc2",
        32027 => "flac",
        32028 => "sperr",
        32029 => "terse",
        32030 => "ffmpeg",
        32031 => "jpeg2000",
        32032 => "bitround",
        32033 => "htj2k",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::shuffle;

    fn filter(id: u16, values: &[u32]) -> FilterDescription {
        FilterDescription { id, name: None, optional: false, values: values.to_vec() }
    }

    #[test]
    fn chunks_decode_to_their_places_as_they_do_to_buffers() {
        // A checksum of 4 bytes after what was shuffled, as elements of 4 bytes and with bytes that are left over.
        let elements: Vec<u8> = (0..102u8).collect();
        let registry = Registry::default();
        for (filters, mask) in [
            (vec![filter(2, &[4])], 0),
            (vec![filter(2, &[4]), filter(3, &[])], 0),
            (vec![filter(2, &[4]), filter(3, &[])], 1),
            (vec![filter(2, &[4]), filter(3, &[])], 2),
            (vec![filter(3, &[]), filter(2, &[4])], 0),
            (vec![filter(32023, &[]), filter(2, &[4]), filter(2, &[8])], 0),
            (vec![filter(3, &[])], 0),
        ] {
            let pipeline = Pipeline { filters };
            // What was skipped, and what only rounds, is not undone.
            let filters = pipeline.filters.iter().enumerate();
            let applied = filters.filter(|(i, filter)| mask >> i & 1 == 0 && filter.id != 32023);
            let applied = Pipeline { filters: applied.map(|(_, filter)| filter.clone()).collect() };
            let stored = registry.apply(&applied, elements.clone()).unwrap().0;
            let filtered = Filtered { pipeline: &pipeline, mask, len: elements.len(), offset: 7 };
            let mut out = vec![9; elements.len()];
            registry.decode_into(&filtered, &stored, &mut Buffers::default(), &mut out).unwrap();
            assert_eq!(out, elements, "{pipeline:?}");
            let mut buffers = Buffers::default();
            assert_eq!(registry.decode_with(&filtered, &stored, &mut buffers).unwrap(), elements);
            // What is too short is the same error, and of what is too long the rest is cut off.
            let long = Filtered { len: 200, ..filtered };
            let error = |error: Error| error.to_string();
            let into = registry.decode_into(&long, &stored, &mut Buffers::default(), &mut [0; 200]);
            let with = registry.decode_with(&long, &stored, &mut buffers).map(drop);
            assert_eq!(into.map_err(error).unwrap_err(), with.map_err(error).unwrap_err());
            let short = Filtered { len: 50, ..filtered };
            registry.decode_into(&short, &stored, &mut Buffers::default(), &mut out[..50]).unwrap();
            assert_eq!(out[..50], elements[..50]);
        }
        let mut moved = Vec::new();
        shuffle::decode(4, &elements, &mut moved);
        assert_ne!(moved, elements);
    }
}
