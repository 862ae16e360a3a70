//! What was requested of each filter, and how it becomes the description that is stored.

use sciformats_core::{Error, Fault, Result};

use super::client_data::{Factor, Filtered, n_bit, scale_offset, szip};
use super::{BloscCodec, BloscShuffle, Filters, SzipCoding};
use crate::filter::known;
use crate::spec::Name;
use crate::spec::message::datatype::Class;
use crate::spec::message::filter_pipeline::{FilterDescription, MAX_FILTER_NAME, MAX_FILTERS, Pipeline};

/// What was requested of a filter.
#[derive(Clone, Debug)]
pub(super) enum Request {
    Shuffle,
    Lzf,
    Bitshuffle {
        codec: u32,
        level: Option<i32>,
    },
    Szip {
        coding: SzipCoding,
        block: u32,
    },
    NBit,
    ScaleOffset {
        factor: Factor,
    },
    Blosc {
        id: u16,
        codec: BloscCodec,
        level: u8,
        shuffle: BloscShuffle,
    },
    /// A filter that is optional or mandatory, and has a name, as another file says.
    Described {
        request: Box<Request>,
        optional: bool,
        name: Option<Name>,
    },
    /// A filter whose values are complete.
    Custom(FilterDescription),
    /// A filter of the caller, which may complete its values.
    Asked(FilterDescription),
    /// The same, if it can be applied to the elements.
    Suitable(FilterDescription),
}

impl Filters {
    /// Returns the pipeline for the chunks of a dataset.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if a filter cannot be applied or cannot be stored.
    pub(in crate::api::writer) fn pipeline(&self, of: Filtered<'_>) -> Result<Pipeline> {
        if let Some((filter, problem)) = &self.wrong {
            return Err(Error::usage(filter, problem.clone()));
        }
        if self.requests.len() > usize::from(MAX_FILTERS) {
            let problem = format!("are {}, but a dataset has at most {MAX_FILTERS}", self.requests.len());
            return Err(Error::usage("filters", problem));
        }
        let filters: Vec<FilterDescription> = self
            .requests
            .iter()
            .filter_map(|request| asked(request, of).transpose())
            .map(|filter| filter.map(named))
            .collect::<Result<_>>()?;
        let long = |filter: &FilterDescription| {
            let name = filter.name.as_ref().map_or(0, |name| name.as_bytes().len());
            name > MAX_FILTER_NAME || filter.values.len() > usize::from(u16::MAX)
        };
        if filters.iter().any(long) {
            return Err(Error::usage(
                "filter",
                "cannot be stored: its name must have less than 64 KiB, and its client data fewer than 65,536 values",
            ));
        }
        Ok(Pipeline { filters })
    }
}

/// Gives a filter that is no part of the C library a name if it has none.
///
/// When the C library copies an object, it reserves as much space for the message as the original has, but adds the name that the
/// plug-in has. Without a name in the original it would write beyond that space.
fn named(mut filter: FilterDescription) -> FilterDescription {
    if filter.id >= 256 && filter.name.as_ref().is_none_or(|name| name.as_bytes().is_empty()) {
        let name = known(filter.id).map_or_else(|| format!("filter {}", filter.id), str::to_owned);
        filter.name = Some(name.as_str().into());
    }
    filter
}

/// Returns the client data values of a filter that may complete them.
fn configured(filter: &FilterDescription, of: Filtered<'_>) -> Result<Vec<u32>, Fault> {
    match of.registry.added(filter.id) {
        Some(added) => added.configure(&filter.values, of.datatype, of.chunk),
        None => Ok(filter.values.clone()),
    }
}

/// Describes a filter, or returns nothing if it is left out.
fn asked(request: &Request, of: Filtered<'_>) -> Result<Option<FilterDescription>> {
    match request {
        Request::Suitable(filter) if configured(filter, of).is_err() => Ok(None),
        request => describe(request, of).map(Some),
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
        Request::Szip { coding, block } => (4, true, szip(of, *coding, *block)?),
        Request::NBit => (5, true, n_bit(of)?),
        Request::ScaleOffset { factor } => (6, true, scale_offset(of, *factor)?),
        Request::Blosc { id, codec, level, shuffle } => {
            let codec = match codec {
                BloscCodec::BloscLz => 0,
                BloscCodec::Lz4 => 1,
                BloscCodec::Lz4Hc => 2,
                BloscCodec::Zlib => 4,
                BloscCodec::Zstd => 5,
            };
            // Blosc stores the revision of its filter and the format's. Blosc2 stores its revision and a block size, where
            // 0 lets it choose one.
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
        Request::Described { request, optional, name } => {
            let filter = describe(request, of)?;
            return Ok(FilterDescription { optional: *optional, name: name.clone(), ..filter });
        }
        Request::Asked(filter) | Request::Suitable(filter) => {
            let values = configured(filter, of)
                .map_err(|fault| Error::usage("filter", format!("{}: {fault}", filter.id)))?;
            return Ok(FilterDescription { values, ..filter.clone() });
        }
    };
    Ok(FilterDescription { id, name: None, optional, values })
}
