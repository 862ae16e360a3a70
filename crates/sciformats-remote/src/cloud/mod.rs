//! Files in object stores: S3, Google Cloud Storage and Azure Blob Storage, by the crate `object_store`.
//!
//! That crate signs the requests and finds the credentials. They travel over the same connections as those of
//! [`http`](crate::http), with the same encryption and timeouts. Each thread that fetches drives its own request
//! with a small runtime, so no caller needs a runtime.

mod address;
#[cfg(feature = "cloud")]
mod connector;
#[cfg(feature = "cloud")]
mod crypto;
#[cfg(feature = "cloud")]
mod object;
#[cfg(feature = "cloud")]
mod upload;

pub(crate) use address::Address;
#[cfg(feature = "cloud")]
pub(crate) use object::Object;
#[cfg(feature = "cloud")]
pub(crate) use upload::{is_occupied, upload};
