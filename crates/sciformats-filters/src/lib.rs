//! The filters and codecs that scientific files are compressed with, beyond those of the format crates.
//!
//! ```
//! use sciformats_filters::{Chunk, Element, find};
//!
//! // Noise of a nanopore, as 16-bit integers.
//! let samples: Vec<u8> = (0..1000i16).flat_map(|i| (400 + i % 7).to_le_bytes()).collect();
//! let vbz = find(32020).unwrap();
//! let chunk = Chunk { element: Element::signed(2), shape: &[1000] };
//! // The values of the original plug-in: version 1, two bytes per integer, differences, no Zstandard.
//! let values = vbz.configure(&[1, 2, 1, 0], &chunk)?;
//! let stored = vbz.encode(&values, &samples)?.unwrap();
//! assert!(stored.len() < 1300);
//! assert_eq!(vbz.decode(&values, &stored, 2000)?, samples);
//! # Ok::<(), sciformats_filters::Fault>(())
//! ```
//!
//! | to | use |
//! |---|---|
//! | find a filter by its number or name | [`find`], [`by_name`], [`all`] |
//! | apply or undo it | [`Filter`] |
//! | read and write HDF5 files with all of them | `hdf5::registry` (feature `hdf5`) |
//! | read and write Blosc2 frames of plug-in codecs | `blosc2::registry` (feature `blosc2`) |
//! | compress numbers as Zarr's pcodec does | `pcodec` (feature `pcodec`) |
//! | learn why a filter is refused, and what can read it | [`refused`] |
//!
#![doc = include_str!("../README.md")]

#[cfg(feature = "blosc2")]
pub mod blosc2;
mod cbf;
mod filter;
#[cfg(feature = "hdf5")]
pub mod hdf5;
#[cfg(feature = "jpeg")]
mod jpeg;
mod jpegls;
mod lzo;
#[cfg(feature = "pcodec")]
pub mod pcodec;
mod registry;
mod rounding;
#[cfg(feature = "snappy")]
mod snappy;
mod vbz;
#[cfg(feature = "zfp-decode")]
mod zfp;
mod zstd;

pub use filter::{Chunk, Element, Filter, Kind};
pub use registry::{Refused, all, by_name, find, refused};
pub use rounding::bits_to_keep;
pub use sciformats_core::{Fault, FaultKind};
