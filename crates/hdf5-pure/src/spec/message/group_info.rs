//! Group info message (IV.A.2.k): when the links of a group are moved to dense storage, and estimates of their number and length.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 1 | version: 0 |
//! | 1 | 1 | flags; bit 0: there are link phase change values, bit 1: there are estimates |
//! | 2 | 2 | link phase change: maximum compact value (with bit 0) |
//! | 4 | 2 | link phase change: minimum dense value (with bit 0) |
//! | | 2 | estimated number of entries (with bit 1) |
//! | | 2 | estimated link name length of entries (with bit 1) |

use nom::Parser;
use nom::combinator::cond;
use nom::number::complete::{le_u16, u8 as byte};
use sciformats_core::Result;
use sciformats_core::fault::{FaultKind, Parsed, checked, field};

use super::super::version;

/// The settings of a group.
///
/// ```no_run
/// let file = hdf5_pure::File::open("weather.h5")?;
/// let info = file.object_info(file.root()?.address())?.group;
/// if let Some((most, fewest)) = info.and_then(|info| info.phase_change) {
///     println!("dense storage from {most} links on, compact again below {fewest}");
/// }
/// # Ok::<(), hdf5_pure::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupInfo {
    /// The largest number of compact links and the smallest number of dense links; 8 and 6 if not stored.
    pub phase_change: Option<(u16, u16)>,
    /// The expected number of links and the expected length of their names; 4 and 8 if not stored.
    pub estimates: Option<(u16, u16)>,
}

impl GroupInfo {
    pub(crate) fn parse(i: &[u8]) -> Parsed<'_, Self> {
        let (i, _) = version(0)(i)?;
        let (i, flags) = checked("flags", byte, |&flags| {
            (flags > 3).then_some(FaultKind::Undefined { found: flags.into() })
        })(i)?;
        let (i, phase_change) =
            cond(flags & 1 != 0, field("link phase change", (le_u16, le_u16))).parse(i)?;
        let (i, estimates) = cond(flags & 2 != 0, field("estimates", (le_u16, le_u16))).parse(i)?;
        Ok((i, Self { phase_change, estimates }))
    }
}

impl GroupInfo {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) -> Result<()> {
        out.extend([0, u8::from(self.phase_change.is_some()) | u8::from(self.estimates.is_some()) << 1]);
        for (a, b) in self.phase_change.into_iter().chain(self.estimates) {
            out.extend(a.to_le_bytes());
            out.extend(b.to_le_bytes());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::test::{both_ways, near};
    use super::*;

    const BYTES: [u8; 10] = [
        0, // version
        3, // flags: phase change values and estimates
        8, 0, // maximum compact value
        6, 0, // minimum dense value
        0x28, 0, // estimated number of entries
        0x0c, 0, // estimated link name length
    ];

    #[test]
    fn with_and_without_values() {
        let all = GroupInfo { phase_change: Some((8, 6)), estimates: Some((40, 12)) };
        both_ways(&BYTES, &all, GroupInfo::parse, GroupInfo::encode);
        let none = GroupInfo { phase_change: None, estimates: None };
        both_ways(&[0, 0], &none, GroupInfo::parse, GroupInfo::encode);
        assert!(GroupInfo::parse(&[0, 4]).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in near(&BYTES)) {
            let _ = GroupInfo::parse(&bytes);
        }
    }
}
