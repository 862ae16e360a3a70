//! The registries of filters and codecs with which the facade opens files. With the feature `filters-decode` they contain everything
//! that `sciformats-filters` has, and otherwise only what is part of the format crates.

/// Returns the filters of HDF5.
#[cfg(feature = "hdf5")]
pub fn hdf5() -> hdf5_pure::filters::Registry {
    #[cfg(feature = "filters-decode")]
    let registry = sciformats_filters::hdf5::registry();
    #[cfg(not(feature = "filters-decode"))]
    let registry = hdf5_pure::filters::Registry::default();
    registry
}

/// Returns the codecs of Blosc2.
#[cfg(feature = "blosc2")]
pub fn blosc2() -> cframe::Registry {
    #[cfg(feature = "filters-decode")]
    let registry = sciformats_filters::blosc2::registry();
    #[cfg(not(feature = "filters-decode"))]
    let registry = cframe::Registry::default();
    registry
}
