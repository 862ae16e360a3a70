//! Reads scientific files behind HTTP servers and in object stores with few simultaneous requests.
//!
//! [`open`] returns a [`Remote`], which is a [`ReadAt`](sciformats_core::ReadAt) that every format crate can
//! read.
//!
//! ```no_run
//! let file = sciformats_remote::open("https://data.example/era5.h5", &Default::default())?;
//! let file = hdf5_pure::File::from_storage(file.clone(), &Default::default())?;
//! let pressure = file.dataset("surface/pressure")?.read::<f64>()?;
//! # Ok::<(), sciformats_core::Error>(())
//! ```
//!
//! | module | what it contains |
//! |---|---|
//! | [`http`] | access to servers that support ranges: redirects, versions, retries, and the faults of servers |
//! | [`index`] | the structures of a remote file in a local file, so that it can be opened without a request |
//!
#![doc = include_str!("../README.md")]

pub mod http;
pub mod index;

mod cache;
mod cloud;
mod credentials;
mod options;
mod remote;
mod tls;
mod url;

pub use options::RemoteOptions;
pub use remote::{Existing, Remote, exists, is_url, open, shown, upload};
