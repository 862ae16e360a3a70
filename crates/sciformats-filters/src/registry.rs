//! The table of all filters, and of those that are refused.

use crate::Filter;

/// Every filter of this crate that this build has.
static ALL: &[&dyn Filter] = &[
    #[cfg(feature = "snappy")]
    &crate::snappy::Snappy,
    #[cfg(feature = "zfp-decode")]
    &crate::zfp::Zfp,
    &crate::vbz::Vbz,
    &crate::lzo::Lzo,
    &crate::cbf::Cbf,
    &crate::jpegls::JpegLs { id: 32018 },
    &crate::jpegls::JpegLs { id: 32012 },
    #[cfg(feature = "jpeg")]
    &crate::jpeg::Jpeg,
    &crate::rounding::Rounding::Groom,
    &crate::rounding::Rounding::Granular,
    &crate::rounding::Rounding::Round,
];

/// Returns every filter of this build.
///
/// ```
/// assert!(sciformats_filters::all().iter().any(|filter| filter.name() == "vbz"));
/// ```
pub fn all() -> &'static [&'static dyn Filter] {
    ALL
}

/// Returns the filter with a number of HDF5.
///
/// ```
/// assert_eq!(sciformats_filters::find(32020).unwrap().name(), "vbz");
/// assert!(sciformats_filters::find(1).is_none()); // deflate is part of the format crates
/// ```
pub fn find(id: u16) -> Option<&'static dyn Filter> {
    ALL.iter().copied().find(|filter| filter.id() == id)
}

/// Returns the filter with a name.
///
/// ```
/// assert_eq!(sciformats_filters::by_name("vbz").unwrap().id(), 32020);
/// ```
pub fn by_name(name: &str) -> Option<&'static dyn Filter> {
    ALL.iter().copied().find(|filter| filter.name() == name)
}

/// A registered filter that this crate does not have: its number, its name, and what can read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The number in HDF5.
    pub id: u16,
    /// The registered name in lower case.
    pub name: &'static str,
    /// A program or library that can undo the filter.
    pub elsewhere: &'static str,
}

const REFUSED: &[Refused] = &[
    refusal(257, "hzip", "the plug-in of HZIP"),
    refusal(258, "fpzip", "the plug-in H5Z-FPZIP"),
    refusal(32002, "mafisc", "the plug-in MAFISC of the DKRZ"),
    refusal(32005, "apax", "the library of Samplify Systems"),
    refusal(32007, "jpeg-xr", "the library jxrlib"),
    refusal(32009, "spdp", "the plug-in SPDP"),
    refusal(32010, "lpc-rice", "the plug-in LPC-Rice"),
    refusal(32011, "ccsds-123", "the plug-in of the Universitat Autònoma de Barcelona"),
    refusal(32014, "fpzip", "the plug-in H5Z-FPZIP"),
    refusal(32016, "b3d", "the plug-in B³D on a GPU of NVIDIA"),
    refusal(32017, "sz", "Python's hdf5plugin"),
    refusal(32021, "fapec", "the library of DAPCOM"),
    refusal(32024, "sz3", "Python's hdf5plugin"),
    refusal(32025, "delta-rice", "the plug-in deltaRice"),
    refusal(32027, "flac", "the plug-in hdf5-flac"),
    refusal(32028, "sperr", "Python's hdf5plugin"),
    refusal(32029, "terse", "the library of Senik Matinyan and Jan Pieter Abrahams"),
    refusal(32030, "ffmpeg", "the plug-in FFMPEG HDF5"),
    refusal(32031, "jpeg2000", "the plug-in hdf5_jpeg2000"),
    refusal(32033, "htj2k", "Python's hdf5plugin"),
];

const fn refusal(id: u16, name: &'static str, elsewhere: &'static str) -> Refused {
    Refused { id, name, elsewhere }
}

/// Returns every filter that is refused.
#[cfg(feature = "hdf5")]
pub(crate) fn all_refused() -> &'static [Refused] {
    REFUSED
}

/// Returns what is known about a registered filter that this crate does not have.
///
/// ```
/// assert_eq!(sciformats_filters::refused(32024).unwrap().name, "sz3");
/// ```
pub fn refused(id: u16) -> Option<Refused> {
    REFUSED.iter().copied().find(|filter| filter.id == id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn numbers_are_used_once() {
        let ids: BTreeSet<u16> = all().iter().map(|filter| filter.id()).collect();
        assert_eq!(ids.len(), all().len());
        assert!(REFUSED.iter().all(|refused| !ids.contains(&refused.id)));
    }
}
