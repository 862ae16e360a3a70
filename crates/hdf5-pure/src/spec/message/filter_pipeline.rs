//! Filter pipeline message (IV.A.2.l): the filters that are applied to chunks before they are stored.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 1 | version: 1 or 2 |
//! | 1 | 1 | number of filters: at most 32 |
//! | 2 | 6 | reserved (version 1) |
//! | 8 or 2 | | filters, in the order in which a writer applies them |
//!
//! | offset | size | field of a filter |
//! |---|---|---|
//! | 0 | 2 | filter identification value |
//! | 2 | 2 | name length, n (in version 2 only if the identification value is at least 256) |
//! | | 2 | flags; bit 0: the filter is optional |
//! | | 2 | number of client data values, m |
//! | | n | name and NUL; in version 1 also zeros up to a multiple of 8 |
//! | | 4·m | client data |
//! | | 4 | padding (in version 1, if m is odd) |

use nom::Parser;
use nom::bytes::complete::take;
use nom::multi::count;
use nom::number::complete::{le_u16, le_u32, u8 as byte};
use sciformats_core::arith::fit;
use sciformats_core::fault::{FaultKind, Parsed, checked, fail, field};
use sciformats_core::{Error, Result};

use super::super::{Name, pad8, short, trimmed};

/// The filters of a dataset, in the order in which they are applied.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// file.dataset("counts").chunks([100]).shuffle().fletcher32().write(&[7u16; 1000])?;
/// let counts = File::from_bytes(file.into_bytes()?)?.dataset("counts")?;
/// let numbers: Vec<u16> = counts.filters()?.filters.iter().map(|filter| filter.id).collect();
/// assert_eq!(numbers, [2, 3]);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Pipeline {
    /// The filters. The first one receives the elements.
    pub filters: Vec<FilterDescription>,
}

/// A filter of a pipeline.
///
/// ```
/// use hdf5_pure::{CreateOptions, File, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// file.dataset("counts").chunks([100]).shuffle().write(&[7u16; 1000])?;
/// let counts = File::from_bytes(file.into_bytes()?)?.dataset("counts")?;
/// let shuffle = &counts.filters()?.filters[0];
/// assert_eq!((shuffle.id, &shuffle.values[..]), (2, &[2][..])); // elements of two bytes
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterDescription {
    /// The number of the filter.
    pub id: u16,
    /// The name of the filter, if it is stored.
    pub name: Option<Name>,
    /// Whether a chunk is stored without the filter if the filter cannot be applied to it.
    pub optional: bool,
    /// The client data values, which are the parameters of the filter.
    pub values: Vec<u32>,
}

/// The largest number of filters of a dataset, because each filter has a bit in the mask of those that were skipped.
pub(crate) const MAX_FILTERS: u8 = 32;

/// The size of the longest name of a filter in bytes. It is stored with a NUL, and padded to a multiple of 8 bytes.
pub(crate) const MAX_FILTER_NAME: usize = 65_527;

impl Pipeline {
    pub(crate) fn parse(i: &[u8]) -> Parsed<'_, Self> {
        let (at, version) = field("version", byte)(i)?;
        let (at, filters) = checked("number of filters", byte, |&n| {
            (n > MAX_FILTERS).then_some(FaultKind::OutOfBounds { found: n.into(), end: 33 })
        })(at)?;
        let (at, padded) = match version {
            1 => (field("reserved", take(6usize)).parse(at)?.0, true),
            2 => (at, false),
            found => return field("version", |i| fail(i, FaultKind::Undefined { found: found.into() }))(i),
        };
        let (at, filters) = count(|i| filter(i, padded), usize::from(filters)).parse(at)?;
        Ok((at, Self { filters }))
    }
}

fn filter(i: &[u8], padded: bool) -> Parsed<'_, FilterDescription> {
    let (i, id) = field("filter identification value", le_u16)(i)?;
    let (i, name_len) = match id {
        0..256 if !padded => (i, 0),
        _ => field("name length", le_u16)(i)?,
    };
    let (i, flags) = field("flags", le_u16)(i)?;
    let (i, n) = field("number of client data values", le_u16)(i)?;
    let name_len = usize::from(name_len);
    let (i, name) =
        field("name", take(if padded { name_len.next_multiple_of(8) } else { name_len })).parse(i)?;
    let (i, values) = field("client data", count(le_u32, usize::from(n))).parse(i)?;
    // The padding of the last filter of a message may be missing.
    let padding = if padded && n % 2 == 1 { 4.min(i.len()) } else { 0 };
    let (i, _) = take(padding)(i)?;
    let name = (name_len > 0).then(|| trimmed(name).into());
    Ok((i, FilterDescription { id, name, optional: flags & 1 == 1, values }))
}

impl Pipeline {
    /// Appends a message of `version` 1 or 2.
    pub(crate) fn encode(&self, out: &mut Vec<u8>, version: u8) -> Result<()> {
        if self.filters.len() > usize::from(MAX_FILTERS) {
            return Err(Error::internal("number of filters is out of range"));
        }
        out.extend([version, fit(self.filters.len(), "number of filters")?]);
        if version == 1 {
            out.extend([0; 6]);
        }
        for filter in &self.filters {
            filter.encode(out, version)?;
        }
        Ok(())
    }
}

/// Returns the name that the C library gives to a filter that is part of it.
fn standard_name(id: u16) -> Option<&'static str> {
    Some(match id {
        1 => "deflate",
        2 => "shuffle",
        3 => "fletcher32",
        4 => "szip",
        5 => "nbit",
        6 => "scaleoffset",
        _ => return None,
    })
}

impl FilterDescription {
    fn encode(&self, out: &mut Vec<u8>, version: u8) -> Result<()> {
        let mut name = Vec::new();
        // In messages of version 1, the C library stores the names of its own filters. In other versions it does not.
        let own = standard_name(self.id).filter(|_| version == 1).map(str::as_bytes);
        if let Some(text) = self.name.as_ref().map(Name::as_bytes).or(own) {
            name.extend(text);
            name.push(0);
        }
        if version == 1 {
            name.resize(pad8(name.len())?, 0);
        }
        out.extend(self.id.to_le_bytes());
        let named = version == 1 || self.id >= 256;
        if named {
            out.extend(short(name.len(), "length of a filter's name")?.to_le_bytes());
        }
        out.extend(u16::from(self.optional).to_le_bytes());
        out.extend(short(self.values.len(), "client data values of a filter")?.to_le_bytes());
        if named {
            out.extend(name);
        }
        self.values.iter().for_each(|value| out.extend(value.to_le_bytes()));
        if version == 1 && self.values.len() % 2 == 1 {
            out.extend([0; 4]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::test::{both_ways, near};
    use super::*;

    const VERSION_1: [u8; 32] = [
        1, // version
        1, // number of filters
        0, 0, 0, 0, 0, 0, // reserved
        1, 0, // filter identification value: deflate
        8, 0, // name length
        0, 0, // flags
        1, 0, // number of client data values
        b'd', b'e', b'f', b'l', b'a', b't', b'e', 0, // name
        6, 0, 0, 0, // client data: level
        0, 0, 0, 0, // padding
    ];

    const VERSION_2: [u8; 28] = [
        2, // version
        2, // number of filters
        1, 0, // filter identification value: deflate
        1, 0, // flags: optional
        1, 0, // number of client data values
        6, 0, 0, 0, // client data: level
        0, 0x7d, // filter identification value: LZF
        4, 0, // name length
        0, 0, // flags
        1, 0, // number of client data values
        b'l', b'z', b'f', 0, // name
        4, 0, 0, 0, // client data
    ];

    fn filter(id: u16, name: Option<&str>, optional: bool, values: &[u32]) -> FilterDescription {
        FilterDescription { id, name: name.map(Into::into), optional, values: values.to_vec() }
    }

    #[test]
    fn both_versions() {
        let old = Pipeline { filters: vec![filter(1, Some("deflate"), false, &[6])] };
        let new =
            Pipeline { filters: vec![filter(1, None, true, &[6]), filter(32000, Some("lzf"), false, &[4])] };
        for (bytes, pipeline, version) in [(&VERSION_1[..], old, 1), (&VERSION_2, new, 2)] {
            both_ways(bytes, &pipeline, Pipeline::parse, |pipeline, out| pipeline.encode(out, version));
        }
        // The padding of the last filter may be missing, and so may the name of any filter.
        let mut bytes = VERSION_1.to_vec();
        bytes.truncate(36 - 4);
        bytes.splice(16..24, []);
        bytes[10] = 0;
        assert_eq!(Pipeline::parse(&bytes).unwrap().1.filters, [filter(1, None, false, &[6])]);
    }

    #[test]
    fn encoded_and_parsed() {
        let filters = vec![
            filter(2, None, true, &[4]),
            filter(1, None, true, &[6]),
            filter(32000, Some("lzf"), false, &[4, 5]),
        ];
        for version in [1, 2] {
            let mut pipeline = Pipeline { filters: filters.clone() };
            let mut bytes = Vec::new();
            pipeline.encode(&mut bytes, version).unwrap();
            if version == 1 {
                pipeline.filters[0].name = Some("shuffle".into());
                pipeline.filters[1].name = Some("deflate".into());
            }
            assert_eq!(Pipeline::parse(&bytes).unwrap(), (&[][..], pipeline));
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(old in near(&VERSION_1), new in near(&VERSION_2)) {
            let _ = Pipeline::parse(&old);
            let _ = Pipeline::parse(&new);
        }
    }
}
