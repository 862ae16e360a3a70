//! Scientific files behind HTTP servers and in object stores, read with few requests that are made side by side.
//!
//! [`open`] gives a [`Remote`], which is a [`ReadAt`](sciformats_core::ReadAt): every format crate reads it.
//!
//! ```no_run
//! let file = sciformats_remote::open("https://data.example/era5.h5", &Default::default())?;
//! let file = hdf5_pure::File::from_storage(file.clone(), &Default::default())?;
//! let pressure = file.dataset("surface/pressure")?.read::<f64>()?;
//! # Ok::<(), sciformats_core::Error>(())
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`http`] | servers that answer ranges: redirects, versions, retries, and everything that a server may get wrong |
//! | [`index`] | the structures of a file beside it, so that it opens without a request |

pub mod http;
pub mod index;

mod credentials;
mod options;
mod remote;
mod tls;
mod url;

pub use options::RemoteOptions;
pub use remote::{Remote, is_url, open, shown};

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
