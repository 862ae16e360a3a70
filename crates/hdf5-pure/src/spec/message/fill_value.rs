//! Fill value messages (IV.A.2.e and f): the value of elements that were never written.
//!
//! | offset | size | field of the old message |
//! |---|---|---|
//! | 0 | 4 | size, n |
//! | 4 | n | fill value |
//!
//! | offset | size | field of versions 1 and 2 |
//! |---|---|---|
//! | 0 | 1 | version |
//! | 1 | 1 | space allocation time: 1 early, 2 late, 3 incremental |
//! | 2 | 1 | fill value write time: 0 on allocation, 1 never, 2 if the value was set |
//! | 3 | 1 | fill value defined: 0 or 1 |
//! | 4 | 4 | size, n; all bits are set if there is no value (in version 2 only if the value is defined) |
//! | 8 | n | fill value |
//!
//! | offset | size | field of version 3 |
//! |---|---|---|
//! | 0 | 1 | version: 3 |
//! | 1 | 1 | flags; bits 0–1: space allocation time, 2–3: fill value write time, 4: undefined, 5: defined |
//! | 2 | 4 | size, n (with bit 5) |
//! | 6 | n | fill value (with bit 5) |
//!
//! A value without bytes stands for zeros.

use nom::Parser;
use nom::bytes::complete::take;
use nom::number::complete::{le_u32, u8 as byte};
use sciformats_core::Result;
use sciformats_core::arith::fit;
use sciformats_core::fault::{FaultKind, Parsed, fail, field};

/// The value of elements that were never written.
///
/// ```
/// use hdf5_pure::structure::Fill;
/// use hdf5_pure::{CreateOptions, File, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// file.dataset("counts").shape([4]).fill(7u8).create::<u8>()?;
/// let counts = File::from_bytes(file.into_bytes()?)?.dataset("counts")?;
/// assert_eq!(counts.fill_value()?.value, Fill::Value(vec![7]));
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct FillValue {
    /// When space is allocated: 1 early, 2 late, 3 per chunk; 0 if not stored.
    pub allocation_time: u8,
    /// When the fill value is written: 0 on allocation, 1 never, 2 if the value was set.
    pub write_time: u8,
    /// The value.
    pub value: Fill,
}

/// The value of a [`FillValue`].
///
/// ```
/// use hdf5_pure::structure::Fill;
/// use hdf5_pure::{CreateOptions, File, Writer};
///
/// let mut file = Writer::in_memory(&CreateOptions::default())?;
/// file.dataset("zeros").shape([4]).create::<u8>()?;
/// file.dataset("anything").shape([4]).fill_undefined().create::<u8>()?;
/// let file = File::from_bytes(file.into_bytes()?)?;
/// assert_eq!(file.dataset("zeros")?.fill_value()?.value, Fill::Default);
/// assert_eq!(file.dataset("anything")?.fill_value()?.value, Fill::Undefined);
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Fill {
    /// All bytes are zero.
    #[default]
    Default,
    /// The value is not defined.
    Undefined,
    /// The bytes of one element as they are stored.
    Value(Vec<u8>),
}

impl FillValue {
    /// Parses the old message.
    pub(crate) fn parse_old(i: &[u8]) -> Parsed<'_, Self> {
        let (i, value) = value(i)?;
        Ok((i, Self { value, ..Self::default() }))
    }

    pub(crate) fn parse(i: &[u8]) -> Parsed<'_, Self> {
        let (at, version) = field("version", byte)(i)?;
        match version {
            1 | 2 => {
                let (at, allocation_time) = field("space allocation time", byte)(at)?;
                let (at, write_time) = field("fill value write time", byte)(at)?;
                let (at, defined) = field("fill value defined", byte)(at)?;
                let (at, value) = match (version, defined) {
                    (2, 0) => (at, Fill::Undefined),
                    (_, 0) => value(at).map(|(at, _)| (at, Fill::Undefined))?,
                    _ => value(at)?,
                };
                Ok((at, Self { allocation_time, write_time, value }))
            }
            3 => {
                let (at, flags) = field("flags", byte)(at)?;
                let (at, value) = match flags & 0x30 {
                    0x20 => value(at)?,
                    0x00 => (at, Fill::Default),
                    0x10 => (at, Fill::Undefined),
                    _ => return field("flags", |i| fail(i, FaultKind::Undefined { found: flags.into() }))(i),
                };
                Ok((at, Self { allocation_time: flags & 3, write_time: (flags >> 2) & 3, value }))
            }
            found => field("version", |i| fail(i, FaultKind::Undefined { found: found.into() }))(i),
        }
    }
}

fn value(i: &[u8]) -> Parsed<'_, Fill> {
    let (i, size) = field("size", le_u32)(i)?;
    if size == u32::MAX {
        return Ok((i, Fill::Undefined));
    }
    let (i, value) = field("fill value", take(size)).parse(i)?;
    Ok((i, if value.is_empty() { Fill::Default } else { Fill::Value(value.to_vec()) }))
}

impl FillValue {
    /// Appends a message of `version` 2 or 3.
    pub(crate) fn encode(&self, out: &mut Vec<u8>, version: u8) -> Result<()> {
        let value = match &self.value {
            Fill::Value(value) => Some(&value[..]),
            Fill::Default | Fill::Undefined => None,
        };
        let undefined = self.value == Fill::Undefined;
        if version < 3 {
            out.extend([2, self.allocation_time, self.write_time, u8::from(!undefined)]);
            if !undefined {
                // The default is stored as a defined value without bytes.
                put_value(out, value.unwrap_or(&[]))?;
            }
            return Ok(());
        }
        let state = match (value, undefined) {
            (Some(_), _) => 0x20,
            (None, true) => 0x10,
            (None, false) => 0,
        };
        out.extend([3, self.allocation_time & 3 | (self.write_time & 3) << 2 | state]);
        if let Some(value) = value {
            put_value(out, value)?;
        }
        Ok(())
    }
}

fn put_value(out: &mut Vec<u8>, value: &[u8]) -> Result<()> {
    out.extend(fit::<u32, _>(value.len(), "size of a fill value")?.to_le_bytes());
    out.extend(value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::test::{both_ways, hex, near};
    use super::*;

    const VERSION_2: [u8; 10] = [
        2, // version
        2, // space allocation time: late
        0, // fill value write time: with the allocation
        1, // fill value defined
        2, 0, 0, 0, // size
        7, 0, // fill value
    ];

    const VERSION_3: [u8; 7] = [
        3,    // version
        0x2b, // flags: bit by bit, if the value was set, defined
        1, 0, 0, 0, // size
        9, // fill value
    ];

    #[test]
    fn byte_by_byte() {
        let old = FillValue { allocation_time: 2, write_time: 0, value: Fill::Value(vec![7, 0]) };
        let new = FillValue { allocation_time: 3, write_time: 2, value: Fill::Value(vec![9]) };
        for (bytes, fill, version) in [(&VERSION_2[..], &old, 2), (&VERSION_3, &new, 3)] {
            both_ways(bytes, fill, FillValue::parse, |fill, out| fill.encode(out, version));
        }
        let value = FillValue { value: old.value, ..FillValue::default() };
        assert_eq!(FillValue::parse_old(&VERSION_2[4..]), Ok((&[][..], value)));
    }

    #[test]
    fn states_of_all_versions() {
        let parse = |text| FillValue::parse(&hex(text)).map(|(_, fill)| fill.value).ok();
        assert_eq!(parse("01 02 02 00 00000000"), Some(Fill::Undefined));
        assert_eq!(parse("02 02 02 01 00000000"), Some(Fill::Default));
        assert_eq!(parse("02 02 02 00"), Some(Fill::Undefined));
        assert_eq!(parse("02 02 02 01 ffffffff"), Some(Fill::Undefined));
        assert_eq!(parse("03 0a"), Some(Fill::Default));
        assert_eq!(parse("03 1a"), Some(Fill::Undefined));
        assert_eq!(parse("03 2b 02000000 09"), None);
        assert_eq!(parse("04 2b"), None);
    }

    #[test]
    fn encoded_and_parsed() {
        for value in [Fill::Default, Fill::Undefined, Fill::Value(vec![1, 2, 3, 4])] {
            for version in [2, 3] {
                let fill = FillValue { allocation_time: 3, write_time: 2, value: value.clone() };
                let mut bytes = Vec::new();
                fill.encode(&mut bytes, version).unwrap();
                assert_eq!(FillValue::parse(&bytes).unwrap(), (&[][..], fill));
            }
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(old in near(&VERSION_2), new in near(&VERSION_3)) {
            for bytes in [old, new] {
                let _ = FillValue::parse(&bytes);
                let _ = FillValue::parse_old(&bytes);
            }
        }
    }
}
